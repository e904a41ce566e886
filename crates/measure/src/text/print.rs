//! Sizes as plumb prints them, with units in powers of 1024.
//!
//! The numbers of fio's text output, with their significant figures, are in `formats`.

/// Style in which a size is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeStyle {
    /// `8 KiB`, `1 GiB`, `1000 B`: for sentences and charts.
    Spelled,
    /// `8k`, `1M`, `16G`, `1000`: for options.
    Option,
    /// `8K`, `1M`, `512B`: for tables of measurements, as in fioparse.sh.
    Table,
}

impl SizeStyle {
    /// Exponent of two and name of each unit, the largest first.
    const fn units(self) -> &'static [(u32, &'static str)] {
        match self {
            SizeStyle::Spelled => &[(30, " GiB"), (20, " MiB"), (10, " KiB"), (0, " B")],
            SizeStyle::Option => &[(40, "T"), (30, "G"), (20, "M"), (10, "k"), (0, "")],
            SizeStyle::Table => &[(20, "M"), (10, "K"), (0, "B")],
        }
    }
}

/// Prints a size in the largest unit that divides it.
pub fn exact_size(bytes: u64, style: SizeStyle) -> String {
    let divides = |&&(shift, _): &&(u32, &str)| shift == 0 || (bytes > 0 && bytes.trailing_zeros() >= shift);
    let (shift, name) = style.units().iter().find(divides).copied().unwrap_or((0, ""));
    format!("{}{name}", bytes >> shift)
}

/// Prints a size with at most one decimal: `4 KiB`, `1.2 GiB`. KiB are used up to 9,999, so that 1,280 KiB is not
/// rounded to 1.2 MiB.
pub fn rounded_size(bytes: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (bytes, 0);
    while value >= 1024.0 && unit + 1 < UNITS.len() && (unit != 1 || value >= 10_000.0 || value % 1024.0 == 0.0) {
        value /= 1024.0;
        unit += 1;
    }
    if value.fract().abs() < 0.005 || value >= 100.0 {
        format!("{} {}", grouped(value), UNITS[unit])
    } else {
        format!("{value:.1} {}", UNITS[unit])
    }
}

/// Prints a number rounded to an integer, with digits in groups of three: `73,634`. Halfway between two integers it is
/// the even one, as in C's printf; the charts round so, too (`plumb.fixed`).
pub fn grouped(number: f64) -> String {
    let digits = format!("{:.0}", number.abs());
    let mut text = if number < -0.5 { "-".to_owned() } else { String::new() };
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Prints a number with digits in groups of three, `73,634`; below ten with one decimal.
pub fn thousands(number: f64) -> String {
    if number < 9.95 { format!("{number:.1}") } else { grouped(number) }
}

/// Prints a share that the user chose in percent, with up to two decimals: `5 %`, `0.25 %`.
pub fn chosen_percent(share: f64) -> String {
    let digits = format!("{:.2}", 100.0 * share);
    format!("{} %", digits.trim_end_matches('0').trim_end_matches('.'))
}
