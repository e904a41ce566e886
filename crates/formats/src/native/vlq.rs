//! Whole numbers as text: the Base64 VLQ of source maps (ECMA-426), which has libraries in many languages.
//!
//! Owns both directions. A number is its size times two, plus one if it is negative, in digits of five bits, the lowest first; a sixth bit says
//! that another digit follows. Most counts of a histogram are one or two letters, where decimal digits and commas are three to five.

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BITS: u32 = 5;
const MORE: u8 = 1 << BITS;
/// Bits of the largest number: 64 and the sign.
const MOST_BITS: u32 = 65;

/// Appends a number of at most 64 bits and a sign.
pub(super) fn push(text: &mut String, number: i128) {
    let mut rest = number.unsigned_abs() << 1 | u128::from(number < 0);
    loop {
        let digit = rest.to_le_bytes()[0] & (MORE - 1);
        rest >>= BITS;
        let more = if rest > 0 { MORE } else { 0 };
        text.push(char::from(LETTERS[usize::from(digit | more)]));
        if rest == 0 {
            return;
        }
    }
}

/// The numbers of a text; `None` if it is none, or if one is larger than 64 bits.
pub(super) fn numbers(text: &str) -> Option<Vec<i128>> {
    let mut numbers = Vec::with_capacity(text.len() / 2);
    let (mut number, mut shift) = (0_u128, 0);
    for letter in text.bytes() {
        let digit = value_of(letter)?;
        if shift >= MOST_BITS {
            return None;
        }
        number |= u128::from(digit & (MORE - 1)) << shift;
        shift += BITS;
        if digit & MORE == 0 {
            let size = i128::try_from(number >> 1).ok()?;
            numbers.push(if number & 1 == 1 { -size } else { size });
            (number, shift) = (0, 0);
        }
    }
    (shift == 0).then_some(numbers)
}

/// The six bits that a letter stands for.
const fn value_of(letter: u8) -> Option<u8> {
    match letter {
        b'A'..=b'Z' => Some(letter - b'A'),
        b'a'..=b'z' => Some(letter - b'a' + 26),
        b'0'..=b'9' => Some(letter - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_written_as_in_source_maps() {
        // As the package vlq of npm writes them.
        for (number, expected) in
            [(0, "A"), (1, "C"), (-1, "D"), (15, "e"), (16, "gB"), (-17, "jB"), (123, "2H"), (123_456_789, "qxmvrH")]
        {
            let mut text = String::new();
            push(&mut text, number);
            assert_eq!(text, expected);
            assert_eq!(numbers(&text), Some(vec![number]));
        }
        for wrong in ["g", "A g", "=", "A,B", "\u{e9}", "gggggggggggggC", "gggggggggggggggA"] {
            assert_eq!(numbers(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn numbers_read_back_are_those_that_were_written(sizes in prop::collection::vec((any::<u64>(), 0..64_u32, any::<bool>()), 0..30)) {
            let written: Vec<i128> = sizes.iter().map(|&(size, shift, negative)| {
                let size = i128::from(size >> shift);
                if negative { -size } else { size }
            }).collect();
            let mut text = String::new();
            written.iter().for_each(|&number| push(&mut text, number));
            prop_assert_eq!(numbers(&text), Some(written));
        }

        #[test]
        fn any_text_is_numbers_or_none(text in "\\PC{0,60}|[A-Za-z+/]{0,60}") {
            let _ = numbers(&text);
        }
    }
}
