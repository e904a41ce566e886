//! Option values in iozone's syntax: numbers as with atoi(3), sizes in kB.

use measure::Nanos;

/// Parses the time of an option: whole seconds, up to a day; `None` for 0.
pub(crate) fn seconds(option: &str, text: &str) -> Result<Option<Nanos>, Refusal> {
    let seconds = text.parse::<u64>().ok().filter(|&seconds| seconds <= 86_400);
    let wrong = || format!("{option}={text}: not a number of seconds from 0 to 86400");
    let limit = Nanos::from_secs(seconds.ok_or_else(|| Refusal::NotBuilt(wrong()))?);
    Ok(Some(limit).filter(|limit| !limit.is_zero()))
}

/// Parses a burst: a size, a comma, and the pause in milliseconds. `None` if one of them is missing or not above 0.
pub(crate) fn burst(text: &str) -> Option<(u64, Nanos)> {
    let (size, rest) = text.split_once(',')?;
    let rest = number(rest).max(0).unsigned_abs();
    Some((kilobytes(size), Nanos::from_millis(rest))).filter(|(kb, _)| *kb > 0 && rest > 0)
}

/// Parses a depth of at least 1.
pub(crate) fn depth(value: &str) -> u32 {
    u32::try_from(number(value).max(1)).unwrap_or(1)
}

/// Parses the leading digits, like atoi(3); 0 if there are none.
pub(crate) fn number(text: &str) -> i64 {
    let text = text.trim_start();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse::<i64>().map_or(0, |value| sign * value)
}

/// Parses a size in kB: digits, then k, m or g.
pub(crate) fn kilobytes(text: &str) -> u64 {
    let count = number(text).max(0).unsigned_abs();
    match text.chars().last() {
        Some('m' | 'M') => count.saturating_mul(1 << 10),
        Some('g' | 'G') => count.saturating_mul(1 << 20),
        _ => count,
    }
}

/// Clamps a number to 32 bits: a negative one and one that is too large become 0.
pub(crate) fn clamped(number: i64) -> u32 {
    u32::try_from(number.max(0)).unwrap_or(0)
}

/// Why nothing is run, or what is printed instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// iozone's own words to standard output, and getopt's to standard error, with a status.
    Original {
        /// The status.
        status: u8,
        /// To standard output.
        out: String,
        /// To standard error.
        err: String,
    },
    /// plumb does not do it: a message.
    NotBuilt(String),
    /// This process is a member of a cluster: the rest comes through standard input.
    Member,
    /// The help was asked for.
    Help,
    /// The version was asked for.
    Version,
}
