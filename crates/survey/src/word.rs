//! Sizes, times and lists as people write them.

use crate::wishes::WarmUp;

const MIB: u64 = 1 << 20;
/// The smallest target: 8 sequential users of 1 MiB find blocks of their own.
const LEAST_SIZE: u64 = 16 * MIB;
/// The largest block: what 32 bits of a request's length hold in whole MiB, and far beyond what any disk takes.
const MOST_BLOCK: u64 = 1 << 30;
/// As many users as may run at once.
const MOST_USERS: u64 = 4096;
/// Values of one list.
const MOST_VALUES: usize = 1024;

/// Digits and k, M, G or T, with or without B or iB; always powers of two.
pub(crate) fn amount(text: &str) -> Option<u64> {
    let lower = text.trim().to_ascii_lowercase();
    let plain = lower.strip_suffix("ib").or_else(|| lower.strip_suffix('b')).unwrap_or(&lower);
    let (digits, shift) = match plain.char_indices().last() {
        Some((at, 'k')) => (&plain[..at], 10),
        Some((at, 'm')) => (&plain[..at], 20),
        Some((at, 'g')) => (&plain[..at], 30),
        Some((at, 't')) => (&plain[..at], 40),
        _ => (plain, 0),
    };
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// The size of a target: digits and k, M, G or T, at least 16M, cut to whole MiB.
///
/// # Errors
/// What is wrong with it and what would work.
pub fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a size; write it like 512M or 16G");
    let bytes = amount(text).ok_or_else(wrong)? / MIB * MIB;
    if bytes < LEAST_SIZE || bytes > i64::MAX as u64 {
        let which = if bytes < LEAST_SIZE { "small" } else { "large" };
        return Err(format!("`{text}` is too {which}; a survey takes 16M and more"));
    }
    Ok(bytes)
}

/// A room that stays free: any size, in bytes.
///
/// # Errors
/// What is wrong with it and what would work.
pub fn room(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a size; write it like 0, 512M or 16G");
    amount(text).filter(|&bytes| i64::try_from(bytes).is_ok()).ok_or_else(wrong)
}

/// How long an I/O may take before it is told: seconds, or a number with s, m or h; 0 for ever. In seconds.
///
/// # Errors
/// What is wrong with it and what would work.
pub fn patience(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a time; write it like 10s or 2m, up to 24h, or 0 for never");
    span(text).filter(|seconds| *seconds <= 86_400).ok_or_else(wrong)
}

/// A measuring time: seconds, or a number with s, m or h; a second to a day. In seconds.
///
/// # Errors
/// What is wrong with it and what would work.
pub fn seconds(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a time; write it like 10s or 2m, up to 24h");
    span(text).filter(|seconds| (1..=86_400).contains(seconds)).ok_or_else(wrong)
}

fn span(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, scale) = match text.char_indices().last() {
        Some((at, 's')) => (&text[..at], 1),
        Some((at, 'm')) => (&text[..at], 60),
        Some((at, 'h')) => (&text[..at], 3600),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(scale)
}

/// What goes before each test: a time of I/O that does not count, or `steady`.
///
/// # Errors
/// What is wrong with it and what would work.
pub fn warm_up(text: &str) -> Result<WarmUp, String> {
    if text.trim() == "steady" {
        return Ok(WarmUp::Steady);
    }
    let wrong = || format!("`{text}` is neither a time nor `steady`; write it like 0, 5s or 1m, up to 24h");
    span(text).filter(|seconds| *seconds <= 86_400).map(WarmUp::Seconds).ok_or_else(wrong)
}

/// Block sizes: `8k,1m` or `512..16m`.
///
/// # Errors
/// What is wrong with them and what would work.
pub fn block_sizes(text: &str) -> Result<Vec<u32>, String> {
    numbers(text, MOST_BLOCK, "a block size from 512 to 1G, like 8k, 1m or 512..16m").and_then(|sizes| {
        match sizes.iter().find(|size| !size.is_multiple_of(512)) {
            Some(odd) => Err(format!("{odd} is not a multiple of 512, and disks have no smaller pieces")),
            None => Ok(sizes),
        }
    })
}

/// User counts: `1,8,16` or `1..64`.
///
/// # Errors
/// What is wrong with them and what would work.
pub fn user_counts(text: &str) -> Result<Vec<u32>, String> {
    numbers(text, MOST_USERS, "a number of users from 1 to 4096, like 1,8,16 or 1..64")
}

fn numbers(text: &str, most: u64, what: &str) -> Result<Vec<u32>, String> {
    let within = |number: &u64| (1..=most).contains(number);
    // The ends of a range are what was written; what lies between them was not.
    for word in text.split(',').map(str::trim) {
        let Some((from, to)) = word.split_once("..") else { continue };
        let to = to.split_once('+').map_or(to, |(to, _)| to);
        if let Some(end) = [from, to].into_iter().find(|end| amount(end).is_some_and(|number| !within(&number))) {
            return Err(format!("`{end}` in `{word}` is not {what}"));
        }
    }
    let values = values(text)?;
    let number = |value: &String| {
        let found = amount(value).filter(within);
        found.and_then(|number| u32::try_from(number).ok()).ok_or_else(|| format!("`{value}` is not {what}"))
    };
    values.iter().map(number).collect()
}

/// The values of a list: words between commas, `a..b` doubled from a to b, `a..b+c` in steps of c. None twice.
///
/// # Errors
/// What is wrong with it and what would work.
pub(crate) fn values(text: &str) -> Result<Vec<String>, String> {
    let mut values: Vec<String> = Vec::new();
    for word in text.split(',').map(str::trim) {
        if word.is_empty() {
            return Err(format!("`{text}` has an empty value; write it like 1,2,4..64"));
        }
        let found = match word.split_once("..") {
            Some((from, to)) => range(word, from, to)?,
            None => vec![word.to_owned()],
        };
        for value in found {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        if values.len() > MOST_VALUES {
            return Err(format!("`{text}` has more than {MOST_VALUES} values"));
        }
    }
    Ok(values)
}

fn range(word: &str, from: &str, to: &str) -> Result<Vec<String>, String> {
    let wrong = || format!("`{word}` is not a range; write it like 4..64 (doubled) or 10..100+10 (in steps)");
    let (to, step) = match to.split_once('+') {
        Some((to, step)) => (to, Some(amount(step).filter(|step| *step > 0).ok_or_else(wrong)?)),
        None => (to, None),
    };
    let (from, to) = (amount(from).ok_or_else(wrong)?, amount(to).ok_or_else(wrong)?);
    if from > to || (from == 0 && step.is_none()) {
        return Err(wrong());
    }
    let mut found = Vec::new();
    let mut at = from;
    while at < to {
        if found.len() > MOST_VALUES {
            return Err(format!("`{word}` has more than {MOST_VALUES} values"));
        }
        found.push(short_size(at));
        at = step.map_or_else(|| at.saturating_mul(2), |step| at.saturating_add(step));
    }
    // The end is always measured, also where no step meets it.
    if at == to || step.is_none() {
        found.push(short_size(to));
    }
    Ok(found)
}

/// A size in the field's short form: `8k`, `1M`, `16G`; bytes where no unit fits.
pub fn short_size(bytes: u64) -> String {
    for (shift, unit) in [(40, "T"), (30, "G"), (20, "M"), (10, "k")] {
        if bytes >= 1 << shift && bytes.is_multiple_of(1 << shift) {
            return format!("{}{unit}", bytes >> shift);
        }
    }
    bytes.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserve_may_be_any_size_and_none() {
        assert_eq!([room("0"), room("10M"), room("4097")], [Ok(0), Ok(10 << 20), Ok(4097)]);
        assert!(room("-1").is_err() && room("16E").is_err());
        assert!(room("9223372036854775808").is_err());
    }

    #[test]
    fn patience_has_no_least_and_zero_is_for_ever() {
        assert_eq!([patience("0"), patience("10"), patience("2m")], [Ok(0), Ok(10), Ok(120)]);
        assert!(patience("25h").is_err() && patience("soon").is_err());
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("16M", 16 << 20),
            ("1g", 1 << 30),
            ("2GiB", 2 << 30),
            ("1T", 1 << 40),
            ("16777217", 16 << 20),
            ("512mb", 512 << 20),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "M", "15M", "-1G", "1.5G", "99999999999T", "8E", "1bbb", "+5G"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_are_read_as_people_write_them() {
        for (text, expected) in [("1", 1), ("30s", 30), ("2m", 120), ("1h", 3600)] {
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
        for text in ["", "0", "25h", "-1", "1.5", "s"] {
            assert!(seconds(text).is_err(), "{text}");
        }
        assert_eq!(warm_up("0"), Ok(WarmUp::Seconds(0)));
        assert_eq!(warm_up("steady"), Ok(WarmUp::Steady));
        assert!(warm_up("long").is_err());
    }

    #[test]
    fn lists_hold_words_doublings_and_steps() {
        for (text, expected) in [
            ("1,2,4..64", &["1", "2", "4", "8", "16", "32", "64"][..]),
            ("512..3k", &["512", "1k", "2k", "3k"]),
            ("10..40+10", &["10", "20", "30", "40"]),
            ("0..25+10", &["0", "10", "20"]),
            ("psync,libaio", &["psync", "libaio"]),
            ("4,4..8", &["4", "8"]),
            ("8..8", &["8"]),
        ] {
            assert_eq!(values(text).unwrap(), expected, "{text}");
        }
        for text in ["", "1,,2", "8..4", "0..4", "1..9+0", "a..b", "1..", "0..100000+1"] {
            assert!(values(text).is_err(), "{text}");
        }
    }

    #[test]
    fn blocks_and_users_have_their_bounds() {
        assert_eq!(block_sizes("512,4k..16k").unwrap(), [512, 4096, 8192, 16384]);
        assert_eq!(user_counts("1..4").unwrap(), [1, 2, 4]);
        for text in ["0", "100", "2T", "x"] {
            assert!(block_sizes(text).is_err(), "{text}");
        }
        for text in ["0", "4097", "-1", "many"] {
            assert!(user_counts(text).is_err(), "{text}");
        }
        let told = user_counts("1..999999999999999999").unwrap_err();
        assert!(told.starts_with("`999999999999999999` in `1..999999999999999999` is not a number of users"), "{told}");
        let told = block_sizes("4k,512..9223372036854775807").unwrap_err();
        assert!(told.starts_with("`9223372036854775807` in `512..9223372036854775807` is not a block size"), "{told}");
    }

    #[test]
    fn sizes_are_short() {
        for (bytes, text) in [(8192, "8k"), (1 << 20, "1M"), (3 << 30, "3G"), (1000, "1000"), (1536 << 20, "1536M")] {
            assert_eq!(short_size(bytes), text);
        }
    }
}
