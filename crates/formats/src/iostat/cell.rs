//! Formatting of one number in an iostat report: width, unit letter and colour in text, and its form in JSON.

use super::{Layout, Spelling, Unit};

/// The percentages that are marked by a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thresholds {
    /// Every percentage from 50 and from 75 on.
    Sysstat12_6,
    /// Of idle time and merged requests up to 25 and up to 10, of other percentages from 75 and from 90 on.
    Sysstat12_8,
}

/// SGR codes (ECMA-48, console_codes(4)) by kind of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Colours {
    thresholds: Thresholds,
    /// Percentages that need attention more than others.
    high: String,
    /// Percentages that need attention.
    medium: String,
    number: String,
    zero: String,
    name: String,
}

impl Colours {
    /// The default colours, changed by a list like `H=31;1:I=32;22` (`S_COLORS_SGR`). Invalid text is ignored.
    pub fn chosen(thresholds: Thresholds, list: &str) -> Self {
        let mut colours = Colours {
            thresholds,
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
            let place = match (key, thresholds) {
                ("H", _) | ("X", Thresholds::Sysstat12_8) => &mut colours.high,
                ("M", _) | ("W", Thresholds::Sysstat12_8) => &mut colours.medium,
                ("N", _) => &mut colours.number,
                ("Z", _) => &mut colours.zero,
                ("I", _) => &mut colours.name,
                _ => continue,
            };
            codes.clone_into(place);
        }
        colours
    }
}

/// A number with its quantity, which decides its format. A mean is `None` if there was no request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    /// Requests per second.
    Requests(f64),
    /// Sectors per second, printed in the report's unit.
    SectorRate(f64),
    /// Sectors in the interval, printed in the report's unit.
    SectorCount(u64),
    /// Merged requests per second.
    Merges(f64),
    /// Merged requests in percent of all requests.
    MergedPercent(Option<f64>),
    /// A mean time in milliseconds.
    Milliseconds(Option<f64>),
    /// Sectors per request, printed in kB.
    RequestSize(Option<f64>),
    /// Sectors per request, printed as a number of sectors.
    Sectors(Option<f64>),
    /// Mean queue length.
    Length(f64),
    /// Percentage of time.
    Percent(f64),
    /// Percentage of idle time.
    IdlePercent(f64),
}

/// Numeric form in which a value is printed.
enum Form {
    Plain(f64),
    Percent(f64),
    /// Sectors, converted to the report's unit.
    Amount(f64),
    /// The same, without decimals.
    Count(u64),
    /// Sectors in kB.
    Kilobytes(f64),
}

impl Value {
    /// A mean without requests is printed as 0 in text and JSON, as in iostat.
    fn form(self) -> Form {
        match self {
            Value::Requests(number) | Value::Merges(number) | Value::Length(number) => Form::Plain(number),
            Value::Milliseconds(mean) | Value::Sectors(mean) => Form::Plain(mean.unwrap_or(0.0)),
            Value::Percent(share) | Value::IdlePercent(share) => Form::Percent(share),
            Value::MergedPercent(share) => Form::Percent(share.unwrap_or(0.0)),
            Value::SectorRate(sectors) => Form::Amount(sectors),
            Value::SectorCount(sectors) => Form::Count(sectors),
            Value::RequestSize(sectors) => Form::Kilobytes(sectors.unwrap_or(0.0)),
        }
    }

    /// Sort key of the member in a JSON device object, where sysstat groups columns by quantity.
    pub(super) fn json_position(self) -> usize {
        match self {
            Value::Requests(_) => 0,
            Value::SectorRate(_) => 1,
            Value::SectorCount(_) => 2,
            Value::Merges(_) => 3,
            Value::MergedPercent(_) => 4,
            Value::Milliseconds(_) => 5,
            Value::RequestSize(_) | Value::Sectors(_) => 6,
            Value::Length(_) => 7,
            Value::Percent(_) | Value::IdlePercent(_) => 8,
        }
    }

    /// The colour of this percentage.
    fn share_kind(self, share: f64, decimals: usize, layout: &Layout) -> Kind {
        let zero = prints_as_zero(share, decimals);
        let (high, medium) = match (layout.colours.as_ref().map(|colours| colours.thresholds), self) {
            (Some(Thresholds::Sysstat12_8), Value::MergedPercent(_)) => {
                (!zero && share <= 10.0, !zero && share <= 25.0)
            }
            (Some(Thresholds::Sysstat12_8), Value::IdlePercent(_)) => (share <= 10.0, share <= 25.0),
            (Some(Thresholds::Sysstat12_8), _) => (share >= 90.0, share >= 75.0),
            (Some(Thresholds::Sysstat12_6) | None, _) => (share >= 75.0, share >= 50.0),
        };
        match (high, medium, zero) {
            (true, _, _) => Kind::High,
            (false, true, _) => Kind::Medium,
            (false, false, true) => Kind::Zero,
            (false, false, false) => Kind::Number,
        }
    }

    /// The number in JSON: always two decimals, regardless of the layout.
    pub(super) fn in_json(self, unit: Unit) -> String {
        match self.form() {
            Form::Plain(number) | Form::Percent(number) => format!("{number:.2}"),
            Form::Amount(sectors) => format!("{:.2}", sectors / factor(unit)),
            Form::Count(sectors) => (sectors / divisor(unit)).to_string(),
            Form::Kilobytes(sectors) => format!("{:.2}", sectors / 2.0),
        }
    }
}

/// Formats `value` in `width` characters, preceded by a space.
pub(super) fn cell(value: Value, width: usize, layout: &Layout) -> String {
    match (layout.spelling, value.form()) {
        (_, Form::Plain(number)) => plain(number, width, layout),
        (Spelling::Plain, Form::Percent(share)) => {
            let kind = value.share_kind(share, layout.decimals, layout);
            paint(&fixed(share, width, layout.decimals, layout), kind, layout)
        }
        (Spelling::Plain, Form::Amount(sectors)) => plain(sectors / factor(layout.unit), width, layout),
        (Spelling::Plain, Form::Count(sectors)) => {
            let count = sectors / divisor(layout.unit);
            let kind = if count == 0 { Kind::Zero } else { Kind::Number };
            paint(&format!(" {count:width$}"), kind, layout)
        }
        (Spelling::Plain, Form::Kilobytes(sectors)) => plain(sectors / 2.0, width, layout),
        (Spelling::Human, Form::Percent(share)) => {
            let decimals = layout.decimals.min(1);
            let kind = value.share_kind(share, decimals, layout);
            paint(&fixed(share, width - 1, decimals, layout), kind, layout) + "%"
        }
        // As in iostat, an amount is zero by its sectors, and the size of a request by its kilobytes.
        (Spelling::Human, Form::Amount(sectors)) => size(sectors, number_kind(sectors, layout), width, layout),
        (Spelling::Human, Form::Kilobytes(sectors)) => size(sectors, number_kind(sectors / 2.0, layout), width, layout),
        (Spelling::Human, Form::Count(sectors)) => {
            size(whole(sectors), number_kind(whole(sectors), layout), width, layout)
        }
    }
}

/// A device name in its colour.
pub(super) fn name(text: &str, layout: &Layout) -> String {
    paint(text, Kind::Name, layout)
}

fn plain(number: f64, width: usize, layout: &Layout) -> String {
    paint(&fixed(number, width, layout.decimals, layout), number_kind(number, layout), layout)
}

/// Formats a number in `width` characters, preceded by a space.
fn fixed(number: f64, width: usize, decimals: usize, layout: &Layout) -> String {
    format!(" {number:width$.decimals$}").replace('.', &layout.decimal_point)
}

/// Formats sectors with a unit letter, in the unit that leaves at most four digits before the point (`-h`).
fn size(sectors: f64, kind: Kind, width: usize, layout: &Layout) -> String {
    const LETTERS: [char; 5] = ['k', 'M', 'G', 'T', 'P'];
    let (mut number, mut letter) = (sectors / 2.0, 0);
    while number >= 1024.0 && letter < LETTERS.len() - 1 {
        number /= 1024.0;
        letter += 1;
    }
    let decimals = layout.decimals.min(1);
    let mut shown = paint(&fixed(number, width - 1, decimals, layout), kind, layout);
    shown.push(LETTERS[letter]);
    shown
}

fn factor(unit: Unit) -> f64 {
    whole(divisor(unit))
}

/// Sectors per `unit`.
fn divisor(unit: Unit) -> u64 {
    match unit {
        Unit::Kilobytes => 2,
        Unit::Megabytes => 2 << 10,
        Unit::Gigabytes => 2 << 20,
        Unit::Blocks => 1,
    }
}

fn whole(count: u64) -> f64 {
    count as f64
}

/// Kinds of text, each with its own colour.
enum Kind {
    High,
    Medium,
    Number,
    Zero,
    Name,
}

fn number_kind(number: f64, layout: &Layout) -> Kind {
    if prints_as_zero(number, layout.decimals) { Kind::Zero } else { Kind::Number }
}

/// True if the number is printed with zero digits only.
fn prints_as_zero(number: f64, decimals: usize) -> bool {
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
            (Value::RequestSize(Some(21.6)), "     10.8k"),
            (Value::Percent(44.46), "     44.5%"),
            (Value::Requests(3.0), "      3.00"),
        ] {
            assert_eq!(cell(value, 9, &human), expected, "{value:?}");
        }
        let coarse = Layout { decimals: 0, ..human };
        assert_eq!(cell(Value::SectorCount(72_704), 9, &coarse), "       36M");
    }

    #[test]
    fn colours_stand_round_the_number_and_before_its_unit() {
        let mut layout = Layout {
            colours: Some(Colours::chosen(Thresholds::Sysstat12_6, "Z=9:H=:M=x:Q=1:W=2:junk")),
            ..Layout::default()
        };
        assert_eq!(cell(Value::Percent(75.0), 6, &layout), "\u{1b}[31;1m  75.00\u{1b}[0m");
        assert_eq!(cell(Value::Percent(50.0), 6, &layout), "\u{1b}[35;1m  50.00\u{1b}[0m");
        assert_eq!(cell(Value::Length(0.004), 6, &layout), "\u{1b}[9m   0.00\u{1b}[0m");
        layout.spelling = Spelling::Human;
        assert_eq!(cell(Value::Percent(0.2), 6, &layout), "\u{1b}[34;1m   0.2\u{1b}[0m%");
        // 0.0045 kB: an amount is zero by its sectors, the size of a request by its kilobytes.
        assert_eq!(cell(Value::RequestSize(Some(0.009)), 6, &layout), "\u{1b}[9m   0.0\u{1b}[0mk");
        assert_eq!(cell(Value::SectorRate(0.009), 6, &layout), "\u{1b}[34;1m   0.0\u{1b}[0mk");
    }
}
