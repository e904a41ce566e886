//! Latency lines: one line of statistics, and the percentile table.

use crate::write_number::{Step, digits, scaled};
use measure::{Histogram, Moments, Nanos};
use model::ReportStyle;
use std::fmt::Write;

/// The unit in which a latency is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Nanoseconds,
    Microseconds,
    Milliseconds,
}

impl Unit {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Unit::Nanoseconds => "nsec",
            Unit::Microseconds => "usec",
            Unit::Milliseconds => "msec",
        }
    }

    const fn nanos(self) -> u64 {
        match self {
            Unit::Nanoseconds => 1,
            Unit::Microseconds => 1_000,
            Unit::Milliseconds => 1_000_000,
        }
    }

    /// The largest unit in which values from `least` to `most` keep enough digits.
    const fn of_range(least: Nanos, most: Nanos) -> Unit {
        if least.get() > 2_000_000 && most.get() > 99_999_999 {
            Unit::Milliseconds
        } else if least.get() > 2_000 && most.get() > 99_999 {
            Unit::Microseconds
        } else {
            Unit::Nanoseconds
        }
    }

    /// The same for a line of statistics, where the deviation must also stay above 1.
    fn of_moments(least: Nanos, most: Nanos, deviation: f64) -> Unit {
        match Unit::of_range(least, most) {
            Unit::Milliseconds if deviation > 1e6 => Unit::Milliseconds,
            Unit::Milliseconds | Unit::Microseconds if deviation > 1e3 => Unit::Microseconds,
            _ => Unit::Nanoseconds,
        }
    }
}

/// Significant digits of a minimum or maximum.
const FIGURES: usize = 6;
/// Width of the table, and the characters taken by its frame and the text around a name and a value.
const COLUMNS: usize = 80;
const FRAME: usize = 7;
const AROUND: usize = 10;
/// Minimum width of a value in characters.
const LEAST_VALUE_WIDTH: usize = 5;

/// Appends `    clat (usec): min=.., max=.., avg=.., stdev=..`, or nothing without samples.
pub(super) fn write_line(text: &mut String, name: &str, moments: &Moments) {
    let (Some(least), Some(most), Some(mean), Some(deviation)) =
        (moments.minimum(), moments.maximum(), moments.mean(), moments.deviation())
    else {
        return;
    };
    let unit = Unit::of_moments(least, most, deviation);
    let bound = |value: Nanos| scaled(value.get() / unit.nanos(), FIGURES, Step::Decimal, "");
    let scale = unit.nanos() as f64;
    let _ = writeln!(
        text,
        "    {name} ({}): min={}, max={}, avg={:5.2}, stdev={:5.2}",
        unit.word(),
        bound(least),
        bound(most),
        mean / scale,
        deviation / scale
    );
}

/// Appends `    clat percentiles (usec):` and its rows, or nothing for an empty histogram.
pub(super) fn write_percentiles(text: &mut String, name: &str, histogram: &Histogram, style: &ReportStyle) {
    let Some(values) = histogram.percentiles(&style.percentiles) else { return };
    let (Some(&least), Some(&most)) = (values.first(), values.last()) else { return };
    let unit = Unit::of_range(least, most);
    let in_unit = |value: Nanos| value.get().div_ceil(unit.nanos());
    let value_width = digits(in_unit(most)).max(LEAST_VALUE_WIDTH);
    let name_width = style.percentile_digits + 3;
    let per_row = ((COLUMNS - FRAME) / (style.percentile_digits + AROUND + value_width)).max(1);
    let _ = writeln!(text, "    {name} percentiles ({}):", unit.word());
    let last = values.len() - 1;
    for (index, (percent, &value)) in style.percentiles.iter().zip(&values).enumerate() {
        text.push_str(if index % per_row == 0 { "     | " } else { " " });
        let _ = write!(
            text,
            "{percent:name_width$.digits$}th=[{:value_width$}]",
            in_unit(value),
            digits = style.percentile_digits
        );
        text.push_str(match index {
            index if index == last => "\n",
            index if index % per_row == per_row - 1 => ",\n",
            _ => ",",
        });
    }
}
