//! Numbers as fio's text prints them: a number of significant digits, then a unit prefix.
//!
//! Owns scaling and rounding. Leaves the choice of numbers and units to the formats.

use model::ReportStyle;

/// Factor between unit prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// 1000: k, M, G.
    Decimal,
    /// 1024: Ki, Mi, Gi.
    Binary,
}

/// Index of the largest prefix.
const LAST_PREFIX: usize = 5;

impl Step {
    pub(crate) const fn factor(self) -> u64 {
        match self {
            Step::Decimal => 1000,
            Step::Binary => 1024,
        }
    }

    const fn prefix(self, index: usize) -> &'static str {
        const DECIMAL: [&str; 6] = ["", "k", "M", "G", "T", "P"];
        const BINARY: [&str; 6] = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];
        match self {
            Step::Decimal => DECIMAL[index],
            Step::Binary => BINARY[index],
        }
    }

    pub(crate) const fn other(self) -> Step {
        match self {
            Step::Decimal => Step::Binary,
            Step::Binary => Step::Decimal,
        }
    }

    /// The step selected by a job's `kb_base`.
    pub(crate) const fn of_base(unit_base: u32) -> Step {
        if unit_base == 1000 { Step::Decimal } else { Step::Binary }
    }
}

/// Formats `value` in at most `figures` characters (the point is one), followed by prefix and unit.
pub(crate) fn scaled(value: u64, figures: usize, step: Step, unit: &str) -> String {
    scaled_from(0, value, figures, step, unit)
}

/// The same for a value already in the unit of the prefix with this index: 1 for k or Ki.
///
/// Divides until the number fits; the last remainder becomes decimals where there is room, or rounds.
pub(crate) fn scaled_from(prefix: usize, value: u64, figures: usize, step: Step, unit: &str) -> String {
    let (mut whole, mut rest, mut index) = (value, None, prefix);
    while digits(whole) > figures && index < LAST_PREFIX {
        rest = Some(whole % step.factor());
        whole /= step.factor();
        index += 1;
    }
    let prefix = step.prefix(index);
    let room = figures.saturating_sub(digits(whole));
    match rest {
        Some(rest) if room > 1 => {
            let decimals = format!("{:.*}", room - 1, rest as f64 / step.factor() as f64);
            let carry = u64::from(decimals.starts_with('1'));
            format!("{}{}{prefix}{unit}", whole + carry, &decimals[1..])
        }
        rest => {
            let carry = u64::from(rest.is_some_and(|rest| rest >= step.factor() / 2));
            format!("{}{prefix}{unit}", whole + carry)
        }
    }
}

/// Formats a rate with its unit: bytes, or bits with `unit_base=1`.
pub(crate) fn rate(bytes_per_second: u64, style: &ReportStyle, step: Step) -> String {
    let figures = style.significant_figures;
    if style.bits {
        scaled(bytes_per_second.saturating_mul(8), figures, step, "bit/s")
    } else {
        scaled(bytes_per_second, figures, step, "B/s")
    }
}

pub(crate) fn digits(value: u64) -> usize {
    value.checked_ilog10().map_or(1, |power| power as usize + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_spelled_as_fio_3_33_spells_them() {
        // (value, figures, step, unit, text) as printed in job lines of fio 3.33 for these block sizes.
        let seen = [
            (4096, 4, Step::Binary, "B", "4096B"),
            (65536, 4, Step::Binary, "B", "64.0KiB"),
            (1048575, 4, Step::Binary, "B", "1024KiB"),
            (8945664000, 4, Step::Binary, "B/s", "8531MiB/s"),
            (8945664000, 4, Step::Decimal, "B/s", "8946MB/s"),
            (102_153_846, 4, Step::Binary, "B/s", "97.4MiB/s"),
            (42_226, 4, Step::Decimal, "", "42.2k"),
            (182_255, 6, Step::Decimal, "", "182255"),
            (4_352_400, 6, Step::Decimal, "", "4352.4k"),
            (12_712_345, 6, Step::Decimal, "", "12712k"),
            (45_563, 1, Step::Decimal, "", "0M"),
            (4096, 1, Step::Binary, "B", "4KiB"),
            (0, 4, Step::Binary, "B", "0B"),
        ];
        for (value, figures, step, unit, text) in seen {
            assert_eq!(scaled(value, figures, step, unit), text, "{value} with {figures} figures");
        }
    }

    #[test]
    fn rounding_up_carries_into_the_whole_part() {
        assert_eq!(scaled(102_390, 4, Step::Binary, "B"), "100.0KiB");
        assert_eq!(scaled(99_960, 4, Step::Decimal, ""), "100.0k");
        assert_eq!(scaled(u64::MAX, 1, Step::Decimal, ""), "18447P");
    }
}
