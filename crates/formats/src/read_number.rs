//! Parsing of numbers in imported text: fast, exact, with the units of all fio versions.

/// Powers of ten that are exact as floats.
const TENS: [f64; 16] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// Parses the number at the start, after blanks, and returns the text after it; `None` if there is none.
pub(crate) fn leading(text: &str) -> Option<(f64, &str)> {
    let text = &text[text.bytes().take_while(|&byte| byte == b' ').count()..];
    let bytes = text.as_bytes();
    let negative = bytes.first() == Some(&b'-');
    let sign = usize::from(negative);
    let (mut mantissa, mut decimals) = (0, None);
    let mut digits = take_digits(&bytes[sign..], &mut mantissa);
    let mut at = sign + digits;
    if let [b'.', fraction @ ..] = &bytes[at..]
        && fraction.first().is_some_and(u8::is_ascii_digit)
    {
        let count = take_digits(fraction, &mut mantissa);
        decimals = Some(count);
        digits += count;
        at += 1 + count;
    }
    if digits == 0 {
        return None;
    }
    let exponent = bytes.get(at).is_some_and(|byte| matches!(byte, b'e' | b'E'))
        && bytes.get(at + 1).is_some_and(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-'))
        && bytes.get(at + 2).is_some_and(u8::is_ascii_digit);
    if exponent || digits > 15 {
        if exponent {
            at += 2;
            while bytes.get(at).is_some_and(u8::is_ascii_digit) {
                at += 1;
            }
        }
        let value: f64 = text[..at].parse().ok()?;
        return value.is_finite().then_some((value, &text[at..]));
    }
    // Numerator and denominator are exact, so the quotient is the nearest float.
    let value = decimals.map_or(mantissa as f64, |decimals| mantissa as f64 / TENS[decimals]);
    Some((if negative { -value } else { value }, &text[at..]))
}

/// Appends the digits at the start to a number, and returns how many they are.
fn take_digits(bytes: &[u8], number: &mut u64) -> usize {
    let mut count = 0;
    for digit in bytes.iter().map(|byte| byte.wrapping_sub(b'0')).take_while(|digit| *digit < 10) {
        *number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        count += 1;
    }
    count
}

/// Parses a number that may be surrounded by blanks only.
pub(crate) fn whole(text: &str) -> Option<f64> {
    // Most fields of a table are a few digits.
    let mut digits = 0;
    if (1..=15).contains(&text.len()) && take_digits(text.as_bytes(), &mut digits) == text.len() {
        return Some(digits as f64);
    }
    leading(text).filter(|(_, rest)| rest.is_empty() || rest.trim().is_empty()).map(|(value, _)| value)
}

/// Parses a number with an optional `%`.
pub(crate) fn percent(text: &str) -> Option<f64> {
    leading(text).filter(|(_, rest)| *rest == "%" || matches!(rest.trim(), "" | "%")).map(|(value, _)| value)
}

/// Meaning of `K`, `M` and `KB` in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// Up to fio 2: KB is 1024 bytes.
    Binary,
    /// Since fio 3: kB is 1000 bytes, KiB is 1024.
    Decimal,
}

/// Factor of `KB/s`, `KiB`, `MB/s`, `Kibit/s`, `B`, `K` or an empty unit; `None` for an unknown unit.
pub(crate) fn unit(text: &str, era: Era) -> Option<f64> {
    if text.is_empty() {
        return Some(1.0);
    }
    let text = text.trim();
    let text = text.strip_suffix("/s").unwrap_or(text).trim_end();
    let (prefix, bits) = match text.strip_suffix("bit") {
        Some(prefix) => (prefix, true),
        None => (text.strip_suffix('B').unwrap_or(text), false),
    };
    let (letter, binary) = match prefix.strip_suffix('i') {
        Some(letter) => (letter, true),
        // fio prints `kB` only for 1000 bytes.
        None => (prefix, era == Era::Binary && text != "kB"),
    };
    let power = match letter {
        "" => 0,
        "k" | "K" => 1,
        "m" | "M" => 2,
        "g" | "G" => 3,
        "t" | "T" => 4,
        "p" | "P" => 5,
        _ => return None,
    };
    let step: f64 = if binary { 1024.0 } else { 1000.0 };
    Some(step.powi(power) / if bits { 8.0 } else { 1.0 })
}

/// `112297KB/s`, `17.8MiB/s` or `4096B` in bytes.
pub(crate) fn bytes(text: &str, era: Era) -> Option<f64> {
    let (value, rest) = leading(text)?;
    Some(value * unit(rest, era)?)
}

/// The unit that the heading of a column or line states for its values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Heading {
    /// One of its unit in base units: 1024 under `rkB/s`, 1,000 under `(usec)`.
    pub(crate) unit: f64,
    pub(crate) suffix: Suffix,
}

/// Meaning of the suffix of a value under a heading with a unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Suffix {
    /// A factor of the heading's unit: fio's `max=1423K` under `(usec)` is 1.423 s.
    Multiplies,
    /// A unit in place of the heading's: iostat's `1.5M` under `rkB/s` is 1.5 MiB/s.
    Replaces(Era),
}

impl Heading {
    /// A value of this column in base units.
    pub(crate) fn value(self, text: &str) -> Option<f64> {
        let (value, rest) = leading(text)?;
        match self.suffix {
            Suffix::Multiplies => Some(value * unit(rest, Era::Decimal)? * self.unit),
            Suffix::Replaces(_) if trimmed(rest).is_empty() => Some(value * self.unit),
            Suffix::Replaces(era) => Some(value * unit(rest, era)?),
        }
    }
}

/// `28074`, `22.4K`: a count with a decimal prefix.
pub(crate) fn count(text: &str) -> Option<f64> {
    bytes(text, Era::Decimal)
}

/// Splits at the first occurrence of an ASCII character; faster than `split_once` if it is near the start.
pub(crate) fn split_at(text: &str, letter: u8) -> Option<(&str, &str)> {
    debug_assert!(letter.is_ascii());
    let at = text.as_bytes().iter().position(|byte| *byte == letter)?;
    Some((&text[..at], &text[at + 1..]))
}

/// The text after the first occurrence of a key that ends in `=`; faster than `split_once` on short text.
pub(crate) fn after_key<'text>(text: &'text str, key: &str) -> Option<&'text str> {
    debug_assert!(key.find('=') == Some(key.len() - 1));
    let bytes = text.as_bytes();
    let at = memchr::memchr_iter(b'=', bytes).find(|&at| bytes[..=at].ends_with(key.as_bytes()))?;
    Some(&text[at + 1..])
}

/// `split_once(": ")`.
pub(crate) fn split_at_colon(text: &str) -> Option<(&str, &str)> {
    let bytes = text.as_bytes();
    let at = memchr::memchr_iter(b':', bytes).find(|&at| bytes.get(at + 1) == Some(&b' '))?;
    Some((&text[..at], &text[at + 2..]))
}

/// True if `text` contains `before` immediately followed by `rest`; fast if the first character of `rest` is rare.
pub(crate) fn contains(text: &str, before: &str, rest: &str) -> bool {
    let (bytes, rest) = (text.as_bytes(), rest.as_bytes());
    let Some(&first) = rest.first() else { return text.contains(before) };
    memchr::memchr_iter(first, bytes)
        .any(|at| bytes[at..].starts_with(rest) && bytes[..at].ends_with(before.as_bytes()))
}

/// `trim`, fast if the blanks are ASCII.
pub(crate) fn trimmed(text: &str) -> &str {
    let inner = text.trim_ascii();
    match inner.as_bytes() {
        // The remaining text may still end in blanks that are not ASCII.
        [first, .., last] if first.is_ascii_graphic() && last.is_ascii_graphic() => inner,
        [only] if only.is_ascii_graphic() => inner,
        [] => inner,
        _ => inner.trim(),
    }
}

/// `split_once` at a pattern that begins with `: (`, which few lines contain.
pub(crate) fn split_at_parenthesis<'text>(text: &'text str, pattern: &str) -> Option<(&'text str, &'text str)> {
    debug_assert!(pattern.starts_with(": ("));
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'(', bytes).filter_map(|at| at.checked_sub(2)).find_map(|at| {
        let rest = text.get(at..)?.strip_prefix(pattern)?;
        Some((&text[..at], rest))
    })
}

/// Iterates over consecutive `key=value` pairs, separated by commas, blanks or both.
pub(crate) struct Pairs<'line>(pub(crate) &'line str);

impl<'line> Iterator for Pairs<'line> {
    type Item = (&'line str, &'line str);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, rest) = split_at(self.0, b'=')?;
        let (value, rest) = split_at(rest, b',').unwrap_or((rest, ""));
        self.0 = rest;
        Some((trimmed(key), trimmed(value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suffix_multiplies_or_replaces_the_unit_of_its_heading() {
        let fio = Heading { unit: 1e3, suffix: Suffix::Multiplies };
        let iostat = Heading { unit: 1024.0, suffix: Suffix::Replaces(Era::Binary) };
        for (heading, text, expected) in [
            (fio, "36 ", Some(36e3)),
            (fio, "1423K", Some(1.423e9)),
            (fio, "nan", None),
            (iostat, "12.50", Some(12_800.0)),
            (iostat, "12.5k", Some(12_800.0)),
            (iostat, "1.5M", Some(1_572_864.0)),
            (iostat, "1.5X", None),
        ] {
            assert_eq!(heading.value(text), expected, "{text}");
        }
    }

    #[test]
    fn numbers_and_units_of_every_generation() {
        for (text, era, expected) in [
            ("112297KB/s", Era::Binary, Some(112_297.0 * 1024.0)),
            ("4213.1KB/s", Era::Binary, Some(4213.1 * 1024.0)),
            ("718776 B/s", Era::Binary, Some(718_776.0)),
            ("6580.3MB", Era::Binary, Some(6580.3 * 1_048_576.0)),
            ("17.8MiB/s", Era::Decimal, Some(17.8 * 1_048_576.0)),
            ("3965kB", Era::Decimal, Some(3_965_000.0)),
            ("80kbit/s", Era::Decimal, Some(10_000.0)),
            ("  12", Era::Decimal, Some(12.0)),
            ("1x", Era::Decimal, None),
            ("KB", Era::Binary, None),
        ] {
            assert_eq!(bytes(text, era), expected, "{text}");
        }
        assert_eq!(count("22.4K"), Some(22_400.0));
        assert_eq!((bytes("65.5kB", Era::Binary), bytes("64k", Era::Binary)), (Some(65_500.0), Some(65_536.0)));
        assert_eq!(whole("12345678901234567890"), Some(12_345_678_901_234_567_890.0));
        assert_eq!((whole("1e+05"), whole("-3"), whole("1.5.2"), whole("-")), (Some(1e5), Some(-3.0), None, None));
        assert_eq!(after_key("total=1 mytotal=2, err= 0", "err="), Some(" 0"));
        assert_eq!(after_key("jobs=8): err", "err="), None);
        assert_eq!(split_at_colon("12:59:35: a: b"), Some(("12:59:35", "a: b")));
        assert!(contains("x,users,bs,MB,lat", "users,bs,", "MB,lat") && !contains("MB,lat", "bs,", "MB,lat"));
        assert_eq!(Pairs("min=36 , max=  5, x").collect::<Vec<_>>(), [("min", "36"), ("max", "5")]);
    }
}
