//! One number: decimal or hexadecimal, with units of data or time.

use super::arithmetic;
use crate::error::Complaint;
use crate::option::TimeUnit;
use measure::Nanos;

/// Which of `k` and `ki` is 1024 (the option `kb_base`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum UnitBase {
    /// `k` is 1024 and `ki` is 1000, fio's habit.
    #[default]
    Binary,
    /// `k` is 1000 and `ki` is 1024, as the standards write it.
    Decimal,
}

/// An amount that may be relative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Amount {
    /// So many bytes.
    Bytes(u64),
    /// So many hundredths of a file's size.
    Percent(u32),
    /// So many zones.
    Zones(u64),
}

const NOT_A_SIZE: &str = "write it like 4k, 1m or 4096";

/// The factor of a unit of data, or `None` for no such unit.
fn factor(unit: &str, base: UnitBase) -> Option<i128> {
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

/// Splits `10k` into `10` and `k`, `0x10` into its value and nothing; `None` where no number starts the text.
fn leading_number(text: &str) -> Option<(i128, &str)> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let hexadecimal = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X"));
    let (digits, radix) = hexadecimal.map_or((rest, 10), |digits| (digits, 16));
    let end = digits.find(|letter: char| !letter.is_digit(radix)).unwrap_or(digits.len());
    let value = i128::from_str_radix(digits.get(..end)?, radix).ok()?;
    Some((sign * value, &digits[end..]))
}

/// A whole number with an optional unit of data: `4096`, `0x1000`, `4k`, `(4*1k)`.
pub(crate) fn integer(text: &str, base: UnitBase) -> Result<i64, Complaint> {
    number(text, base, ("is not a size", NOT_A_SIZE))
}

/// The same where it counts something that is no data.
pub(crate) fn count(text: &str, base: UnitBase) -> Result<i64, Complaint> {
    number(text, base, ("is not a whole number", "write it like 1 or 4096"))
}

/// The largest value, whatever the option; it is what messages name.
const TOO_LARGE: &str = "is above the largest number, 9223372036854775807";

fn number(text: &str, base: UnitBase, (not_one, help): (&str, &str)) -> Result<i64, Complaint> {
    let text = text.trim();
    let not_a_number = || Complaint::new("is not a number", help);
    if text.is_empty() {
        return Err(Complaint::new("needs a number", help));
    }
    let value = if text.contains('(') {
        arithmetic::evaluate(text, &|unit| factor(unit, base)).ok_or_else(not_a_number)?
    } else {
        let (value, unit) = leading_number(text).ok_or_else(not_a_number)?;
        let factor = factor(unit, base).ok_or_else(|| Complaint::new(not_one, help))?;
        value.checked_mul(factor).ok_or_else(|| Complaint::plain(TOO_LARGE))?
    };
    i64::try_from(value).map_err(|_| match value < 0 {
        true => Complaint::plain("is below the smallest number, -9223372036854775808"),
        false => Complaint::plain(TOO_LARGE),
    })
}

/// An amount of data: `4k`, `10%`, `3z`, or with percentages excluded just `4k`.
pub(crate) fn amount(text: &str, base: UnitBase) -> Result<Amount, Complaint> {
    let text = text.trim();
    if let Some(share) = text.strip_suffix('%') {
        return share
            .parse::<u32>()
            .map(Amount::Percent)
            .map_err(|_| Complaint::new("is not a percentage", "write it like 10%"));
    }
    if let Some(zones) = text.strip_suffix(['z', 'Z']) {
        return zones
            .parse::<u64>()
            .map(Amount::Zones)
            .map_err(|_| Complaint::new("is not a number of zones", "write it like 4z"));
    }
    let bytes = integer(text, base)?;
    u64::try_from(bytes).map(Amount::Bytes).map_err(|_| Complaint::new("is negative", NOT_A_SIZE))
}

/// A span of time: `10`, `90s`, `5m`, `20us`; a bare number is in `bare`.
pub(crate) fn span_of_time(text: &str, bare: TimeUnit) -> Result<Nanos, Complaint> {
    let text = text.trim();
    let help = || format!("write it like 10s, 5m or 500ms; a bare number means {}", word(bare));
    if text.is_empty() {
        return Err(Complaint::new("needs a time", help()));
    }
    let value = if text.contains('(') {
        // Inside a sum everything counts in microseconds, as in fio.
        let micros = |unit: &str| nanos_per(unit, TimeUnit::Microseconds).map(|nanos| nanos / 1_000);
        let sum = arithmetic::evaluate(text, &micros).and_then(|sum| sum.checked_mul(1_000));
        sum.ok_or_else(|| Complaint::new("is not a time", help()))?
    } else {
        let (value, unit) = leading_number(text).ok_or_else(|| Complaint::new("is not a time", help()))?;
        let factor = nanos_per(unit, bare).ok_or_else(|| Complaint::new("is not a time", help()))?;
        value.checked_mul(factor).ok_or_else(|| Complaint::plain("is longer than 500 years"))?
    };
    if value < 0 {
        return Err(Complaint::new("is negative", help()));
    }
    u64::try_from(value).map(Nanos).map_err(|_| Complaint::plain("is longer than 500 years"))
}

/// Nanoseconds in a unit of time.
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

/// The unit's name in messages.
const fn word(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Seconds => "seconds",
        TimeUnit::Milliseconds => "milliseconds",
        TimeUnit::Microseconds => "microseconds",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_as_fio_reads_them() {
        let table: &[(&str, Option<i64>)] = &[
            ("4096", Some(4096)),
            ("4k", Some(4096)),
            ("4K", Some(4096)),
            ("4kb", Some(4096)),
            ("4ki", Some(4000)),
            ("4KiB", Some(4000)),
            ("1m", Some(1 << 20)),
            ("1g", Some(1 << 30)),
            ("1t", Some(1 << 40)),
            ("2p", Some(1 << 51)),
            ("4096b", Some(4096)),
            ("0x1000", Some(4096)),
            ("0x10k", Some(16384)),
            ("010", Some(10)),
            ("-5", Some(-5)),
            ("(4*1k)", Some(4096)),
            ("(1+2*3)", Some(7)),
            ("(2^10)k", None),
            ("((1m-1k)/2)", Some(523_776)),
            ("(7%4)", Some(3)),
            ("(1/0)", None),
            ("4q", None),
            ("4kk", None),
            ("1.5m", None),
            ("", None),
            ("k", None),
            ("(", None),
            ("99999999999999999999", None),
            ("9999999p", None),
        ];
        for &(text, expected) in table {
            assert_eq!(integer(text, UnitBase::Binary).ok(), expected, "{text}");
        }
    }

    #[test]
    fn kb_base_1000_swaps_k_and_ki() {
        assert_eq!(integer("4k", UnitBase::Decimal), Ok(4000));
        assert_eq!(integer("4ki", UnitBase::Decimal), Ok(4096));
        assert_eq!(integer("4mib", UnitBase::Decimal), Ok(4 << 20));
    }

    #[test]
    fn amounts_may_be_relative() {
        let table: &[(&str, Option<Amount>)] = &[
            ("10%", Some(Amount::Percent(10))),
            ("3z", Some(Amount::Zones(3))),
            ("1k", Some(Amount::Bytes(1024))),
            ("-1", None),
            ("x%", None),
            ("z", None),
        ];
        for &(text, expected) in table {
            assert_eq!(amount(text, UnitBase::Binary).ok(), expected, "{text}");
        }
    }

    #[test]
    fn times_read_as_fio_reads_them() {
        let table: &[(&str, TimeUnit, Option<u64>)] = &[
            ("10", TimeUnit::Seconds, Some(10_000_000_000)),
            ("10", TimeUnit::Milliseconds, Some(10_000_000)),
            ("10", TimeUnit::Microseconds, Some(10_000)),
            ("10S", TimeUnit::Microseconds, Some(10_000_000_000)),
            ("5us", TimeUnit::Seconds, Some(5_000)),
            ("5usec", TimeUnit::Seconds, Some(5_000)),
            ("5ms", TimeUnit::Seconds, Some(5_000_000)),
            ("5msec", TimeUnit::Seconds, Some(5_000_000)),
            ("2m", TimeUnit::Seconds, Some(120_000_000_000)),
            ("1h", TimeUnit::Seconds, Some(3_600_000_000_000)),
            ("1d", TimeUnit::Seconds, Some(86_400_000_000_000)),
            ("(2*3s)", TimeUnit::Seconds, Some(6_000_000_000)),
            ("(5)", TimeUnit::Seconds, Some(5_000)),
            ("5sec", TimeUnit::Seconds, None),
            ("5x", TimeUnit::Seconds, None),
            ("1.5", TimeUnit::Seconds, None),
            ("-1", TimeUnit::Seconds, None),
            ("", TimeUnit::Seconds, None),
            ("99999999d", TimeUnit::Seconds, None),
        ];
        for &(text, bare, expected) in table {
            assert_eq!(span_of_time(text, bare).ok().map(Nanos::get), expected, "{text}");
        }
    }
}
