//! One number of a report: its width, its unit's letter, its colour.

use super::{Layout, Spelling, Unit};

/// SGR codes, one for each kind of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Colours {
    /// Percentages from 75 on.
    high: String,
    /// Percentages from 50 on.
    medium: String,
    /// Other numbers.
    number: String,
    /// Nothing.
    zero: String,
    /// Names.
    name: String,
}

impl Colours {
    /// The usual colours, changed by a list like `H=31;1:I=32;22`. What does not read like that is passed over.
    pub fn chosen(list: &str) -> Self {
        let mut colours = Colours {
            high: "31;1".into(),
            medium: "35;1".into(),
            number: "34;1".into(),
            zero: "34;22".into(),
            name: "32;22".into(),
        };
        for item in list.split(':') {
            let Some((key, codes)) = item.split_once('=') else { continue };
            if codes.is_empty() || codes.len() > 8 || !codes.bytes().all(|byte| byte.is_ascii_digit() || byte == b';') {
                continue;
            }
            let place = match key {
                "H" => &mut colours.high,
                "M" => &mut colours.medium,
                "N" => &mut colours.number,
                "Z" => &mut colours.zero,
                "I" => &mut colours.name,
                _ => continue,
            };
            codes.clone_into(place);
        }
        colours
    }
}

/// A number and what it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    /// A rate of requests, a time, a length of a queue.
    Plain(f64),
    /// A share.
    Percent(f64),
    /// Sectors per second, shown in the unit of the report.
    SectorRate(f64),
    /// Sectors in all, shown in the unit of the report.
    SectorCount(u64),
    /// Sectors per request, always shown in kB.
    RequestSize(f64),
}

/// `value` in `width` characters behind a blank.
pub(super) fn cell(value: Value, width: usize, layout: &Layout) -> String {
    match (layout.spelling, value) {
        (_, Value::Plain(number)) => plain(number, width, layout),
        (Spelling::Plain, Value::Percent(share)) => {
            let shown = format!(" {share:width$.*}", layout.decimals);
            paint(&shown, share_colour(share, layout.decimals), layout)
        }
        (Spelling::Plain, Value::SectorRate(sectors)) => plain(sectors / factor(layout.unit), width, layout),
        (Spelling::Plain, Value::SectorCount(sectors)) => {
            let count = sectors / divisor(layout.unit);
            let kind = if count == 0 { Kind::Zero } else { Kind::Number };
            paint(&format!(" {count:width$}"), kind, layout)
        }
        (Spelling::Plain, Value::RequestSize(sectors)) => plain(sectors / 2.0, width, layout),
        (Spelling::Human, Value::Percent(share)) => {
            let decimals = layout.decimals.min(1);
            let shown = format!(" {share:width$.decimals$}", width = width - 1);
            paint(&shown, share_colour(share, decimals), layout) + "%"
        }
        (Spelling::Human, Value::SectorRate(sectors) | Value::RequestSize(sectors)) => size(sectors, width, layout),
        (Spelling::Human, Value::SectorCount(sectors)) => size(whole(sectors), width, layout),
    }
}

/// A device's name in its colour.
pub(super) fn name(text: &str, layout: &Layout) -> String {
    paint(text, Kind::Name, layout)
}

fn plain(number: f64, width: usize, layout: &Layout) -> String {
    let kind = if is_nothing(number, layout.decimals) { Kind::Zero } else { Kind::Number };
    paint(&format!(" {number:width$.*}", layout.decimals), kind, layout)
}

/// Sectors with the letter that leaves fewer than four figures before the point.
fn size(sectors: f64, width: usize, layout: &Layout) -> String {
    const LETTERS: [char; 5] = ['k', 'M', 'G', 'T', 'P'];
    let (mut number, mut letter) = (sectors / 2.0, 0);
    while number >= 1024.0 && letter < LETTERS.len() - 1 {
        number /= 1024.0;
        letter += 1;
    }
    let decimals = layout.decimals.min(1);
    let kind = if is_nothing(sectors, layout.decimals) { Kind::Zero } else { Kind::Number };
    let shown = format!(" {number:width$.decimals$}", width = width - 1);
    let mut shown = paint(&shown, kind, layout);
    shown.push(LETTERS[letter]);
    shown
}

fn factor(unit: Unit) -> f64 {
    whole(divisor(unit))
}

/// Sectors in one of the unit.
fn divisor(unit: Unit) -> u64 {
    match unit {
        Unit::Kilobytes => 2,
        Unit::Megabytes => 2048,
        Unit::Blocks => 1,
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
fn whole(count: u64) -> f64 {
    count as f64
}

/// What a text is, for its colour.
enum Kind {
    High,
    Medium,
    Number,
    Zero,
    Name,
}

fn share_colour(share: f64, decimals: usize) -> Kind {
    if share >= 75.0 {
        Kind::High
    } else if share >= 50.0 {
        Kind::Medium
    } else if is_nothing(share, decimals) {
        Kind::Zero
    } else {
        Kind::Number
    }
}

/// Whether a number is shown as zeros only.
fn is_nothing(number: f64, decimals: usize) -> bool {
    match decimals {
        0 => number.abs() <= 0.5,
        1 => number.abs() < 0.05,
        _ => number.abs() < 0.005,
    }
}

fn paint(text: &str, kind: Kind, layout: &Layout) -> String {
    let Some(colours) = &layout.colours else { return text.to_owned() };
    let codes = match kind {
        Kind::High => &colours.high,
        Kind::Medium => &colours.medium,
        Kind::Number => &colours.number,
        Kind::Zero => &colours.zero,
        Kind::Name => &colours.name,
    };
    format!("\u{1b}[{codes}m{text}\u{1b}[0m")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_get_the_letter_that_keeps_them_short() {
        let human = Layout { spelling: Spelling::Human, ..Layout::default() };
        for (value, expected) in [
            (Value::SectorRate(0.0), "      0.0k"),
            (Value::SectorRate(2047.0), "   1023.5k"),
            (Value::SectorCount(2048), "      1.0M"),
            (Value::RequestSize(21.6), "     10.8k"),
            (Value::Percent(44.46), "     44.5%"),
            (Value::Plain(3.0), "      3.00"),
        ] {
            assert_eq!(cell(value, 9, &human), expected, "{value:?}");
        }
        let coarse = Layout { decimals: 0, ..human };
        assert_eq!(cell(Value::SectorCount(72_704), 9, &coarse), "       36M");
    }

    #[test]
    fn colours_stand_round_the_number_and_before_its_unit() {
        let mut layout = Layout { colours: Some(Colours::chosen("Z=9:H=:M=x:Q=1:junk")), ..Layout::default() };
        assert_eq!(cell(Value::Percent(75.0), 6, &layout), "\u{1b}[31;1m  75.00\u{1b}[0m");
        assert_eq!(cell(Value::Percent(50.0), 6, &layout), "\u{1b}[35;1m  50.00\u{1b}[0m");
        assert_eq!(cell(Value::Plain(0.004), 6, &layout), "\u{1b}[9m   0.00\u{1b}[0m");
        layout.spelling = Spelling::Human;
        assert_eq!(cell(Value::Percent(0.2), 6, &layout), "\u{1b}[34;1m   0.2\u{1b}[0m%");
    }
}
