//! Buffer patterns: `0xdeadbeef`, `"text"`, `'file'` and decimal numbers, concatenated.

use crate::error::Complaint;
use plan::Pattern;

/// Maximum length in bytes.
pub(crate) const LONGEST: usize = 1 << 20;

/// Parses a pattern. `read` returns the content of a file.
pub(crate) fn pattern(text: &str, read: &dyn Fn(&str) -> Option<Vec<u8>>) -> Result<Vec<u8>, Complaint> {
    let whole = pattern_with_offsets(text, read)?;
    if !whole.offsets.is_empty() {
        return Err(Complaint::new("holds %o, which only verify_pattern knows", "leave %o out"));
    }
    Ok(whole.bytes)
}

/// Parses a pattern in which `%o` stands for the offset of the block that it fills.
pub(crate) fn pattern_with_offsets(text: &str, read: &dyn Fn(&str) -> Option<Vec<u8>>) -> Result<Pattern, Complaint> {
    let help = r#"write it like 0xdeadbeef, "text", 'file' or 42"#;
    let wrong = || Complaint::new("is not a pattern", help);
    let mut bytes = Vec::new();
    let mut offsets = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (part, after) = match rest.as_bytes()[0] {
            b'"' => {
                let (inside, after) = rest[1..].split_once('"').ok_or_else(wrong)?;
                (inside.as_bytes().to_vec(), after)
            }
            b'\'' => {
                let (file, after) = rest[1..].split_once('\'').ok_or_else(wrong)?;
                let content = read(file)
                    .ok_or_else(|| Complaint::plain(format!("names the file `{file}`, which cannot be read")))?;
                (content, after)
            }
            b'%' => {
                offsets.push(bytes.len());
                (vec![0; 8], rest.strip_prefix("%o").ok_or_else(wrong)?)
            }
            _ => number(rest).ok_or_else(wrong)?,
        };
        if part.is_empty() {
            return Err(Complaint::new("has a part without bytes", help));
        }
        bytes.extend(part);
        rest = after.trim_start();
    }
    if bytes.is_empty() {
        return Err(wrong());
    }
    if bytes.len() > LONGEST {
        return Err(Complaint::plain(format!("is longer than {} MiB", LONGEST >> 20)));
    }
    Ok(Pattern { bytes, offsets })
}

/// The largest decimal number, as in fio.
const LARGEST: i64 = 4_294_967_293;

/// Parses hexadecimal digits in the order written, or a decimal number as little-endian bytes. A decimal number ends
/// before the 0 of a `0x` that follows.
fn number(text: &str) -> Option<(Vec<u8>, &str)> {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let end = digits.find(|letter: char| !letter.is_ascii_hexdigit()).unwrap_or(digits.len());
        let padded = if end % 2 == 1 { format!("0{}", &digits[..end]) } else { digits[..end].to_owned() };
        let bytes = (0..padded.len()).step_by(2).map(|at| u8::from_str_radix(&padded[at..at + 2], 16).ok());
        return Some((bytes.collect::<Option<Vec<u8>>>().filter(|bytes| !bytes.is_empty())?, &digits[end..]));
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let sign = text.len() - unsigned.len();
    let mut end = sign + unsigned.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(unsigned.len());
    if end > sign + 1 && text[..end].ends_with('0') && text[end..].starts_with(['x', 'X']) {
        end -= 1;
    }
    let value: i64 = text[..end].parse().ok().filter(|&value| value <= LARGEST)?;
    let mut bytes = value.to_le_bytes().to_vec();
    while bytes.len() > 1 && bytes.last() == Some(&0) {
        bytes.pop();
    }
    if value < 0 {
        bytes = i32::try_from(value).ok()?.to_le_bytes().to_vec();
    }
    Some((bytes, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_bytes_one_after_the_other() {
        let read = |file: &str| match file {
            "f" => Some(b"inside".to_vec()),
            "empty" => Some(Vec::new()),
            _ => None,
        };
        let table: &[(&str, Option<&[u8]>)] = &[
            ("0xdeadbeef", Some(&[0xde, 0xad, 0xbe, 0xef])),
            ("0xf", Some(&[0x0f])),
            (r#""abc""#, Some(b"abc")),
            (r#""abc"0xff"#, Some(b"abc\xff")),
            ("'f'", Some(b"inside")),
            ("'missing'", None),
            ("42", Some(&[42])),
            ("258", Some(&[2, 1])),
            ("-1", Some(&[255, 255, 255, 255])),
            ("0", Some(&[0])),
            (r#""abcd"-120xdeadface"#, Some(b"abcd\xf4\xff\xff\xff\xde\xad\xfa\xce")),
            ("-120xff", Some(b"\xf4\xff\xff\xff\xff")),
            ("0xdeadface-12", Some(b"\xde\xad\xfa\xce\xf4\xff\xff\xff")),
            ("+5", Some(&[5])),
            ("12+5", Some(&[12, 5])),
            ("0x123", Some(&[1, 0x23])),
            ("65535", Some(&[0xff, 0xff])),
            ("-2147483648", Some(&[0, 0, 0, 0x80])),
            ("-2147483649", None),
            ("4294967294", None),
            ("0xzz", None),
            ("1-", None),
            ("1--2", None),
            (r#""""#, None),
            (r#"""0xff"#, None),
            ("'empty'", None),
            ("0x", None),
            ("abc", None),
            ("", None),
            (r#""abc"#, None),
        ];
        for &(text, expected) in table {
            assert_eq!(pattern(text, &read).ok().as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn an_offset_stands_where_it_is_written_in_verify_patterns_only() {
        let read = |_: &str| None;
        let found = pattern_with_offsets(r#"0xaabb%o"x"%o"#, &read).unwrap();
        assert_eq!(found.offsets, [2, 11]);
        assert_eq!(found.bytes, b"\xaa\xbb\0\0\0\0\0\0\0\0x\0\0\0\0\0\0\0\0");
        assert!(pattern("%o", &read).is_err());
        assert!(pattern_with_offsets("%d", &read).is_err());
    }
}
