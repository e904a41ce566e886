//! One number: decimal or hexadecimal, with units of data or time.

use crate::error::Complaint;
use measure::Nanos;
use measure::text::{self, NumberError};
pub(crate) use measure::text::{TimeUnit, UnitBase};
use plan::Extent;

/// An amount of data, absolute or relative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Amount {
    /// Bytes.
    Bytes(u64),
    /// Percent of the file's size.
    Percent(u32),
    /// Number of zones.
    Zones(u64),
}

impl Default for Amount {
    fn default() -> Self {
        Amount::Bytes(0)
    }
}

impl From<Extent> for Amount {
    fn from(extent: Extent) -> Self {
        match extent {
            Extent::Bytes(bytes) => Amount::Bytes(bytes),
            Extent::Percent(percent) => Amount::Percent(percent),
            Extent::Zones(zones) => Amount::Zones(zones),
        }
    }
}

const NOT_A_SIZE: &str = "write it like 4k, 1m or 4096";

/// Parses an integer with an optional unit of data: `4096`, `0x1000`, `4k`, `(4*1k)`.
pub(crate) fn integer(text: &str, base: UnitBase) -> Result<i64, Complaint> {
    number(text, base, "is not a size", NOT_A_SIZE)
}

/// Parses an integer that is a count and not an amount of data.
pub(crate) fn count(text: &str, base: UnitBase) -> Result<i64, Complaint> {
    number(text, base, "is not a whole number", "write it like 1 or 4096")
}

/// The limit is i64::MAX for every option, so that messages can name it.
const TOO_LARGE: &str = "is above the largest number, 9223372036854775807";

fn number(text: &str, base: UnitBase, not_one: &str, help: &str) -> Result<i64, Complaint> {
    text::integer(text, base).map_err(|error| match error {
        NumberError::Empty => Complaint::new("needs a number", help),
        NumberError::NotANumber => Complaint::new("is not a number", help),
        NumberError::UnknownUnit => Complaint::new(not_one, help),
        NumberError::TooLarge => Complaint::plain(TOO_LARGE),
        NumberError::TooSmall => Complaint::plain("is below the smallest number, -9223372036854775808"),
    })
}

/// Parses an amount of data: `4k`, `10%` or `3z`.
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

/// Parses a time: `10`, `90s`, `5m`, `20us`; a number without a unit is in `bare`.
pub(crate) fn span_of_time(text: &str, bare: TimeUnit) -> Result<Nanos, Complaint> {
    let help = || format!("write it like 10s, 5m or 500ms; a bare number means {}", time_unit(bare));
    text::duration(text, bare).map_err(|error| match error {
        NumberError::Empty => Complaint::new("needs a time", help()),
        NumberError::NotANumber | NumberError::UnknownUnit => Complaint::new("is not a time", help()),
        NumberError::TooLarge => Complaint::plain("is longer than 500 years"),
        NumberError::TooSmall => Complaint::new("is negative", help()),
    })
}

/// Name of a unit in help and messages.
pub(crate) const fn time_unit(unit: TimeUnit) -> &'static str {
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
            ("64.0", Some(64)),
            ("64.000k", Some(65536)),
            ("64.01", None),
            ("64.", None),
            ("128*1", Some(128)),
            ("4k*2+1", Some(8193)),
            ("+5", Some(5)),
            ("4*", None),
            ("8k-4k", None),
            ("8k/2", None),
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
            ("100*4", TimeUnit::Seconds, Some(400_000_000_000)),
            ("100*4s", TimeUnit::Seconds, None),
            ("2.0m", TimeUnit::Seconds, Some(120_000_000_000)),
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
