//! Parsers of sizes, times and lists in user input.

use crate::error::SurveyError;
use crate::request::WarmUp;
use measure::push_new;
use measure::text::{SizeStyle, TimeUnit, binary_size, duration, exact_size};

const MIB: u64 = 1 << 20;
/// Smallest target: 8 sequential users get separate blocks of 1 MiB.
const LEAST_SIZE: u64 = 16 * MIB;
/// Largest block: well within the 32 bits of a request's length, and far above the limits of any disk.
const MOST_BLOCK: u64 = 1 << 30;
const MOST_USERS: u64 = 4096;
const MOST_VALUES: usize = 1024;

/// Parses the size of a target: digits and k, M, G or T, at least 16M, rounded down to whole MiB. Returns bytes.
///
/// # Errors
/// The text is invalid; the message gives a valid example.
pub fn size(text: &str) -> Result<u64, SurveyError> {
    let wrong = || SurveyError(format!("`{text}` is not a size; write it like 512M or 16G"));
    let bytes = binary_size(text).ok_or_else(wrong)? / MIB * MIB;
    if bytes < LEAST_SIZE || bytes > i64::MAX as u64 {
        let which = if bytes < LEAST_SIZE { "small" } else { "large" };
        return Err(SurveyError(format!("`{text}` is too {which}; a survey takes 16M and more")));
    }
    Ok(bytes)
}

/// Parses the space to leave free: any size. Returns bytes.
///
/// # Errors
/// The text is invalid; the message gives a valid example.
pub fn room(text: &str) -> Result<u64, SurveyError> {
    let wrong = || SurveyError(format!("`{text}` is not a size; write it like 0, 512M or 16G"));
    binary_size(text).filter(|&bytes| i64::try_from(bytes).is_ok()).ok_or_else(wrong)
}

/// Parses the seconds after which an I/O is reported as stuck: a number, or one with s, m or h; 0 for never.
///
/// # Errors
/// The text is invalid; the message gives a valid example.
pub fn patience(text: &str) -> Result<u64, SurveyError> {
    let wrong = || SurveyError(format!("`{text}` is not a time; write it like 10s or 2m, up to 24h, or 0 for never"));
    span(text).filter(|seconds| *seconds <= 86_400).ok_or_else(wrong)
}

/// Parses a measured time: seconds, or a number with s, m or h, from a second to a day. Returns seconds.
///
/// # Errors
/// The text is invalid; the message gives a valid example.
pub fn seconds(text: &str) -> Result<u64, SurveyError> {
    let wrong = || SurveyError(format!("`{text}` is not a time; write it like 10s or 2m, up to 24h"));
    span(text).filter(|seconds| (1..=86_400).contains(seconds)).ok_or_else(wrong)
}

/// Parses a time into whole seconds.
fn span(text: &str) -> Option<u64> {
    let nanos = duration(text, TimeUnit::Seconds).ok()?.get();
    nanos.is_multiple_of(1_000_000_000).then_some(nanos / 1_000_000_000)
}

/// Parses a warm-up: a time of I/O that is not measured, or `steady`.
///
/// # Errors
/// The text is invalid; the message gives a valid example.
pub fn warm_up(text: &str) -> Result<WarmUp, SurveyError> {
    if text.trim() == "steady" {
        return Ok(WarmUp::Steady);
    }
    let wrong =
        || SurveyError(format!("`{text}` is neither a time nor `steady`; write it like 0, 5s or 1m, up to 24h"));
    span(text).filter(|seconds| *seconds <= 86_400).map(WarmUp::Seconds).ok_or_else(wrong)
}

/// Parses block sizes: `8k,1m` or `512..16m`. Returns bytes.
///
/// # Errors
/// A value is invalid; the message gives a valid example.
pub fn block_sizes(text: &str) -> Result<Vec<u32>, SurveyError> {
    numbers(text, MOST_BLOCK, "a block size from 512 to 1G, like 8k, 1m or 512..16m").and_then(|sizes| {
        match sizes.iter().find(|size| !size.is_multiple_of(512)) {
            Some(odd) => Err(SurveyError(format!("{odd} is not a multiple of 512, and disks have no smaller pieces"))),
            None => Ok(sizes),
        }
    })
}

/// Parses user counts: `1,8,16` or `1..64`.
///
/// # Errors
/// A value is invalid; the message gives a valid example.
pub fn user_counts(text: &str) -> Result<Vec<u32>, SurveyError> {
    numbers(text, MOST_USERS, "a number of users from 1 to 4096, like 1,8,16 or 1..64")
}

fn numbers(text: &str, most: u64, what: &str) -> Result<Vec<u32>, SurveyError> {
    let within = |number: &u64| (1..=most).contains(number);
    // Only the ends of a range were typed by the user; messages must not mention the values in between.
    for word in text.split(',').map(str::trim) {
        let Some((from, to)) = word.split_once("..") else { continue };
        let to = to.split_once('+').map_or(to, |(to, _)| to);
        if let Some(end) = [from, to].into_iter().find(|end| binary_size(end).is_some_and(|number| !within(&number))) {
            return Err(SurveyError(format!("`{end}` in `{word}` is not {what}")));
        }
    }
    let values = values(text)?;
    let number = |value: &String| {
        let found = binary_size(value).filter(within);
        found
            .and_then(|number| u32::try_from(number).ok())
            .ok_or_else(|| SurveyError(format!("`{value}` is not {what}")))
    };
    values.iter().map(number).collect()
}

/// Expands a list: comma-separated words, `a..b` doubling from a to b, `a..b+c` in steps of c. Duplicates are dropped.
///
/// # Errors
/// The text is invalid; the message gives a valid example.
pub(crate) fn values(text: &str) -> Result<Vec<String>, SurveyError> {
    let mut values: Vec<String> = Vec::new();
    for word in text.split(',').map(str::trim) {
        if word.is_empty() {
            return Err(SurveyError(format!("`{text}` has an empty value; write it like 1,2,4..64")));
        }
        let found = match word.split_once("..") {
            Some((from, to)) => range(word, from, to)?,
            None => vec![word.to_owned()],
        };
        found.into_iter().for_each(|value| push_new(&mut values, value));
        if values.len() > MOST_VALUES {
            return Err(SurveyError(format!("`{text}` has more than {MOST_VALUES} values")));
        }
    }
    Ok(values)
}

fn range(word: &str, from: &str, to: &str) -> Result<Vec<String>, SurveyError> {
    let wrong =
        || SurveyError(format!("`{word}` is not a range; write it like 4..64 (doubled) or 10..100+10 (in steps)"));
    let (to, step) = match to.split_once('+') {
        Some((to, step)) => (to, Some(binary_size(step).filter(|step| *step > 0).ok_or_else(wrong)?)),
        None => (to, None),
    };
    let (from, to) = (binary_size(from).ok_or_else(wrong)?, binary_size(to).ok_or_else(wrong)?);
    if from > to || (from == 0 && step.is_none()) {
        return Err(wrong());
    }
    let mut found = Vec::new();
    let mut at = from;
    while at < to {
        if found.len() > MOST_VALUES {
            return Err(SurveyError(format!("`{word}` has more than {MOST_VALUES} values")));
        }
        found.push(short_size(at));
        at = step.map_or_else(|| at.saturating_mul(2), |step| at.saturating_add(step));
    }
    // The end is always measured, even if no step reaches it.
    if at == to || step.is_none() {
        found.push(short_size(to));
    }
    Ok(found)
}

/// Formats a size as in options: `8k`, `1M`, `16G`; in bytes if it is not a multiple of a unit.
pub fn short_size(bytes: u64) -> String {
    exact_size(bytes, SizeStyle::Option)
}

/// The largest size that people would write and that is at most this: `16G` for 17,139 MiB, `9800M` for 9,876 MiB.
pub(crate) fn written_size(bytes: u64) -> String {
    // Ten of a unit and more: less than a tenth is cut off.
    let shift = [40, 30, 20].into_iter().find(|&shift| bytes >> shift >= 10).unwrap_or(20);
    let whole = bytes >> shift;
    let step = if whole >= 1000 { 100 } else { 1 };
    short_size((whole / step * step) << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserve_may_be_any_size_and_none() {
        assert_eq!(["0", "10M", "4097"].map(|text| room(text).unwrap()), [0, 10 << 20, 4097]);
        assert!(room("-1").is_err() && room("16E").is_err());
        assert!(room("9223372036854775808").is_err());
    }

    #[test]
    fn patience_has_no_least_and_zero_is_for_ever() {
        assert_eq!(["0", "10", "2m"].map(|text| patience(text).unwrap()), [0, 10, 120]);
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
            assert_eq!(size(text).unwrap(), bytes, "{text}");
        }
        for text in ["", "M", "15M", "-1G", "1.5G", "99999999999T", "8E", "1bbb", "+5G"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_are_read_as_people_write_them() {
        for (text, expected) in [("1", 1), ("30s", 30), ("2m", 120), ("1h", 3600)] {
            assert_eq!(seconds(text).unwrap(), expected, "{text}");
        }
        for text in ["", "0", "25h", "-1", "1.5", "s"] {
            assert!(seconds(text).is_err(), "{text}");
        }
        assert_eq!(warm_up("0").unwrap(), WarmUp::Seconds(0));
        assert_eq!(warm_up("steady").unwrap(), WarmUp::Steady);
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
        let printed = user_counts("1..999999999999999999").unwrap_err().to_string();
        assert!(
            printed.starts_with("`999999999999999999` in `1..999999999999999999` is not a number of users"),
            "{printed}"
        );
        let printed = block_sizes("4k,512..9223372036854775807").unwrap_err().to_string();
        assert!(
            printed.starts_with("`9223372036854775807` in `512..9223372036854775807` is not a block size"),
            "{printed}"
        );
    }

    #[test]
    fn the_most_that_fits_is_a_size_that_people_write() {
        for (mib, text) in [
            (17_139, "16G"),
            (9_876, "9800M"),
            (450, "450M"),
            (9, "9M"),
            (85 << 10, "85G"),
            (11 << 20, "11T"),
            (20_000_000, "19T"),
        ] {
            assert_eq!(written_size((mib << 20) + 4097), text);
            assert!(binary_size(text).is_some(), "{text}");
        }
    }

    #[test]
    fn sizes_are_short() {
        for (bytes, text) in [(8192, "8k"), (1 << 20, "1M"), (3 << 30, "3G"), (1000, "1000"), (1536 << 20, "1536M")] {
            assert_eq!(short_size(bytes), text);
        }
    }
}
