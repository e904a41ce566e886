//! Numbers, sizes and times as text: the one definition of unit suffixes, and the one writer for people.
//!
//! What is read has fio's grammar, because most of the text that plumb reads is written for fio; [`binary_size`] reads
//! the sizes of tables and of plumb's own options, where K is always 1024. Callers write the error messages, because
//! they know the option, file and line.

mod arithmetic;
mod numbers;

pub use arithmetic::evaluate;
pub use numbers::{
    SizeStyle, aligned, capitalised, change, chosen_percent, clock, countdown, counted, decimal_rate, exact_size,
    grouped, listed, listed_up_to, narrow_number, number, percent, plural, rate, rounded_size, shell_quoted,
    shell_word, short_bytes, short_number, signed, span, time,
};

use crate::Nanos;

/// Meaning of `k` and `ki` (fio's option `kb_base`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnitBase {
    /// `k` is 1024 and `ki` is 1000, fio's default.
    #[default]
    Binary,
    /// `k` is 1000 and `ki` is 1024, as IEC 80000-13 defines them.
    Decimal,
}

/// Unit of a number without a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
}

/// Reason why a text is not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberError {
    /// The text is empty.
    Empty,
    /// It does not start with a number, or its arithmetic cannot be evaluated.
    NotANumber,
    /// The letters after the number are not a unit.
    UnknownUnit,
    /// The value is too large.
    TooLarge,
    /// The value is too small.
    TooSmall,
}

/// Parses a whole number with an optional unit of data: `4096`, `0x1000`, `4k`, `(4*1k)`. It may be negative.
///
/// # Errors
/// If the text is not such a number, or does not fit into 63 bits.
///
/// ```
/// use measure::text::{UnitBase, exact_size, integer, SizeStyle};
///
/// assert_eq!(integer("(4*1k)", UnitBase::Binary), Ok(4096));
/// assert_eq!(integer("4k", UnitBase::Decimal), Ok(4000));
/// assert_eq!(exact_size(8192, SizeStyle::Spelled), "8 KiB");
/// ```
pub fn integer(text: &str, base: UnitBase) -> Result<i64, NumberError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(NumberError::Empty);
    }
    let value = if text.contains('(') || is_arithmetic(text) {
        evaluate(text, &|unit| bytes_per(unit, base)).ok_or(NumberError::NotANumber)?
    } else {
        let (value, unit) = leading_number(text).ok_or(NumberError::NotANumber)?;
        let factor = bytes_per(unit, base).ok_or(NumberError::UnknownUnit)?;
        value.checked_mul(factor).ok_or(NumberError::TooLarge)?
    };
    i64::try_from(value).map_err(|_| if value < 0 { NumberError::TooSmall } else { NumberError::TooLarge })
}

/// Parses a number of bytes in fio's grammar: `4k`, `1m`, `4096`; `None` for anything else, including negative numbers.
pub fn bytes(text: &str) -> Option<u64> {
    integer(text, UnitBase::Binary).ok().and_then(|bytes| u64::try_from(bytes).ok())
}

/// Parses bytes with units in powers of 1024 in any spelling: `8K`, `8k`, `8KB`, `8KiB`, `512B`; else `None`.
pub fn binary_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let unit = unit.to_ascii_lowercase();
    let letter = unit.strip_suffix("ib").or_else(|| unit.strip_suffix('b')).unwrap_or(&unit);
    // `ki` is 1000 in fio's grammar, and `bb` is not a unit.
    let factor = bytes_per(letter, UnitBase::Binary).filter(|_| letter.len() < 2 && letter != "b")?;
    u64::try_from(digits.parse::<i128>().ok()?.checked_mul(factor)?).ok()
}

/// Parses a duration: `10`, `90s`, `5m`, `20us`. A number without a unit is in `bare`.
///
/// # Errors
/// If the text is not a duration, is negative, or exceeds 64 bits of nanoseconds (584 years).
///
/// ```
/// use measure::Nanos;
/// use measure::text::{NumberError, TimeUnit, duration};
///
/// assert_eq!(duration("1m", TimeUnit::Seconds), Ok(Nanos::from_secs(60)));
/// assert_eq!(duration("250", TimeUnit::Microseconds), Ok(Nanos::from_micros(250)));
/// assert_eq!(duration("10 parsecs", TimeUnit::Seconds), Err(NumberError::UnknownUnit));
/// ```
pub fn duration(text: &str, bare: TimeUnit) -> Result<Nanos, NumberError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(NumberError::Empty);
    }
    let value = if text.contains('(') {
        // Inside parentheses fio counts in microseconds, whatever the unit of the option.
        let micros = |unit: &str| nanos_per(unit, TimeUnit::Microseconds).map(|nanos| nanos / 1_000);
        let sum = evaluate(text, &micros).and_then(|sum| sum.checked_mul(1_000));
        sum.ok_or(NumberError::NotANumber)?
    } else if is_arithmetic(text) {
        let factor = nanos_per("", bare).and_then(|factor| Some((evaluate(text, &plain)?, factor)));
        factor.and_then(|(sum, factor)| sum.checked_mul(factor)).ok_or(NumberError::NotANumber)?
    } else {
        let (value, unit) = leading_number(text).ok_or(NumberError::NotANumber)?;
        let factor = nanos_per(unit, bare).ok_or(NumberError::UnknownUnit)?;
        value.checked_mul(factor).ok_or(NumberError::TooLarge)?
    };
    if value < 0 {
        return Err(NumberError::TooSmall);
    }
    u64::try_from(value).map(Nanos).map_err(|_| NumberError::TooLarge)
}

/// True for a product or sum without parentheses, `128*1`; other operators are of values with parts: `4k-8k`, `4k/60`.
fn is_arithmetic(text: &str) -> bool {
    text.contains('*') || text.trim_start_matches('+').contains('+')
}

/// The factor of a number without a unit; `None` for any unit.
fn plain(unit: &str) -> Option<i128> {
    unit.is_empty().then_some(1)
}

/// Bytes in a unit of data, upper or lower case; `None` for an unknown unit.
fn bytes_per(unit: &str, base: UnitBase) -> Option<i128> {
    let unit = unit.to_ascii_lowercase();
    if unit.is_empty() || unit == "b" {
        return Some(1);
    }
    let power = match unit.as_bytes()[0] {
        b'k' => 1,
        b'm' => 2,
        b'g' => 3,
        b't' => 4,
        b'p' => 5,
        _ => return None,
    };
    let step: i128 = match (&unit[1..], base) {
        ("" | "b", UnitBase::Binary) | ("i" | "ib", UnitBase::Decimal) => 1024,
        ("" | "b", UnitBase::Decimal) | ("i" | "ib", UnitBase::Binary) => 1000,
        _ => return None,
    };
    Some(step.pow(power))
}

/// Nanoseconds in a unit of time, upper or lower case; `None` for an unknown unit.
fn nanos_per(unit: &str, bare: TimeUnit) -> Option<i128> {
    let unit = unit.to_ascii_lowercase();
    Some(match (unit.as_str(), bare) {
        ("us" | "usec", _) | ("", TimeUnit::Microseconds) => 1_000,
        ("ms" | "msec", _) | ("", TimeUnit::Milliseconds) => 1_000_000,
        ("s", _) | ("", TimeUnit::Seconds) => 1_000_000_000,
        ("m", _) => 60_000_000_000,
        ("h", _) => 3_600_000_000_000,
        ("d", _) => 86_400_000_000_000,
        _ => return None,
    })
}

/// Splits `10k` and `10.0k` into 10 and `k`; `0x10` is 16 without a unit. `None` without a number at the start.
fn leading_number(text: &str) -> Option<(i128, &str)> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let hexadecimal = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X"));
    let (digits, radix) = hexadecimal.map_or((rest, 10), |digits| (digits, 16));
    let end = digits.find(|letter: char| !letter.is_digit(radix)).unwrap_or(digits.len());
    let value = i128::from_str_radix(digits.get(..end)?, radix).ok()?;
    let unit = &digits[end..];
    let zeros = if radix == 10 { unit.strip_prefix(".0") } else { None };
    Some((sign * value, zeros.map_or(unit, |zeros| zeros.trim_start_matches('0'))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_tables_are_powers_of_1024_in_every_spelling() {
        for (text, bytes) in [
            ("8K", Some(8192)),
            (" 8k ", Some(8192)),
            ("8KB", Some(8192)),
            ("8KiB", Some(8192)),
            ("512", Some(512)),
            ("512B", Some(512)),
            ("1T", Some(1 << 40)),
            ("8ki", None),
            ("8bb", None),
            ("K", None),
            ("", None),
            ("-8K", None),
            ("+8K", None),
            ("1.5K", None),
            ("4k,8k", None),
            ("10%", None),
            ("16E", None),
            ("18446744073709551616", None),
            ("99999999999T", None),
        ] {
            assert_eq!(binary_size(text), bytes, "{text:?}");
        }
    }
}
