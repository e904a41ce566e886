//! Numbers as plumb prints them for people: on terminals and pages, in pictures and sentences. The charts have the same
//! rules in JavaScript (`crates/report/charts/text.js`), and a test of `report` compares the two.
//!
//! A number has three significant digits, no zeros at the end, and the unit that fits. Halfway between two numbers it
//! is the even one, as in C's printf. The formats of other programs, with their own digits, are in `formats`.

use std::time::Duration;

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

/// Prints a size in the unit that fits: `4 KiB`, `1.25 GiB`.
pub fn rounded_size(bytes: f64) -> String {
    scaled(bytes, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB"])
}

/// Prints a throughput: `52 KiB/s`, `575 MiB/s`, `13,517 MiB/s`. MiB/s is the largest unit, because throughputs are
/// compared with one another, and with tables and axes that are in MiB/s.
pub fn rate(bytes_per_second: f64) -> String {
    scaled(bytes_per_second, 1024.0, &["B/s", "KiB/s", "MiB/s"])
}

/// Prints a throughput in powers of ten, as links and cameras are sold: `125 MB/s`.
pub fn decimal_rate(bytes_per_second: f64) -> String {
    scaled(bytes_per_second, 1000.0, &["B/s", "kB/s", "MB/s"])
}

/// Prints a time in the unit that fits: `500 ns`, `84.1 µs`, `1 ms`, `2.5 s`.
///
/// ```
/// use measure::text::time;
///
/// assert_eq!([1e6, 1_714_000.0, 84_123.0].map(time), ["1 ms", "1.71 ms", "84.1 µs"]);
/// ```
pub fn time(ns: f64) -> String {
    scaled(ns, 1000.0, &["ns", "µs", "ms", "s"])
}

/// Prints how long something lasts, with at most two significant digits: `400 ms`, `3.2 s`, `41 s`, `7 min`, `2.5 h`.
pub fn span(seconds: f64) -> String {
    let (value, unit) = match seconds {
        _ if seconds < 0.95 => return time(two_digits(seconds * 1e9)),
        _ if seconds < 119.5 => (seconds, "s"),
        _ if seconds < 119.5 * 60.0 => (seconds / 60.0, "min"),
        _ => (seconds / 3600.0, "h"),
    };
    format!("{} {unit}", fixed(value, usize::from(value < 9.95 && unit != "min")))
}

/// Rounds to two significant digits.
fn two_digits(value: f64) -> f64 {
    let step = 10_f64.powf(value.max(1.0).log10().floor() - 1.0);
    (value / step).round() * step
}

/// Prints a time that is counted down, rounded up: `4:30` minutes, or `1:02:03` hours.
pub fn countdown(left: Duration) -> String {
    let seconds = left.as_secs() + u64::from(left.subsec_nanos() > 0);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// Prints a time that something will take, by the second: `45 s`, `4:30 min`, `1:02:03 h`.
pub fn clock(time: Duration) -> String {
    if time <= Duration::from_secs(59) {
        return format!("{} s", time.as_secs_f64().ceil());
    }
    format!("{} {}", countdown(time), if time > Duration::from_secs(3599) { "h" } else { "min" })
}

/// Prints a number: `0.0841`, `7.5`, `73.6`, `73,634`; a dash for what is none.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let decimals = match value.abs() {
        size if size < 0.099_95 => 4,
        size if size < 0.9995 => 3,
        size if size < 9.995 => 2,
        size if size < 99.95 => 1,
        _ => return grouped(value),
    };
    fixed(value, decimals)
}

/// Prints a number shortly, where there is little room: `945`, `42.1k`, `1.2M`.
pub fn short_number(value: f64) -> String {
    scaled(value, 1000.0, &["", "k", "M", "G"]).replace(' ', "")
}

/// Prints a number in at most six columns, with all digits where they fit, so that numbers add up: `0.57`, `123k`.
pub fn narrow_number(value: f64) -> String {
    if value.abs() < 99_999.5 { number(value) } else { short_number(value) }
}

/// Prints a size shortly, where there is little room: `512B`, `4K`, `1.23M`.
pub fn short_bytes(bytes: f64) -> String {
    scaled(bytes, 1024.0, &["B", "K", "M", "G", "T", "P"]).replace(' ', "")
}

/// Prints a number rounded to an integer, with digits in groups of three: `73,634`.
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

/// Prints a share in percent: whole from 10 % on, below with two significant digits. It is 0 or 100 only if the share
/// is none or all: `63 %`, `6.9 %`, `0.46 %`, `< 0.001 %`, `99.97 %`.
pub fn percent(share: f64) -> String {
    /// Error of sums of floats, in percent.
    const NOISE: f64 = 1e-9;
    let percent = 100.0 * share;
    let (shown, decimals) = match percent.abs() {
        size if size < NOISE => (0.0, 0),
        size if size < 0.0005 => return "< 0.001 %".to_owned(),
        size if size < 0.0995 => (percent, 3),
        size if size < 0.995 => (percent, 2),
        size if size < 9.95 => (percent, 1),
        size if size < 99.5 => (percent, 0),
        size if size < 99.95 => (percent, 1),
        size if size < 100.0 - NOISE => (percent.clamp(-99.99, 99.99), 2),
        _ => return format!("{} %", grouped(percent)),
    };
    format!("{} %", fixed(shown, decimals))
}

/// Prints a share that the user chose in percent, with up to two decimals: `5 %`, `0.25 %`.
pub fn chosen_percent(share: f64) -> String {
    format!("{} %", fixed(100.0 * share, 2))
}

/// Prints a difference in percent with one decimal and without the sign of percent: `−11.6`, `+5.0`, `0.0`, `> 999`.
pub fn signed(percent: f64) -> String {
    if percent > 999.0 {
        return "> 999".to_owned();
    }
    let digits = format!("{:.1}", percent.abs());
    match digits.as_str() {
        "0.0" => digits,
        _ if percent < 0.0 => format!("−{digits}"),
        _ => format!("+{digits}"),
    }
}

/// Prints a change as a factor from two on, otherwise in percent: a share of 14 is `15 times more`, of −0.825 `−82.5 %`.
pub fn change(share: f64) -> String {
    if share >= 1.0 && share.is_finite() {
        format!("{} times more", number(1.0 + share))
    } else {
        signed(100.0 * share) + " %"
    }
}

/// The number in the largest unit in which it is 1 or more when it is rounded; a unit has `step` of the one before it.
fn scaled(value: f64, step: f64, units: &[&str]) -> String {
    let (mut value, mut unit) = (value, 0);
    while value.abs() >= step - 0.5 && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    format!("{} {}", number(value), units[unit])
}

/// A number with at most this many decimals.
fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let short = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if short == "-0" { "0".to_owned() } else { short.to_owned() }
}

/// A count with its noun, which is given in the singular: `1 user`, `8 users`.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", plural(count))
}

/// The letter that a noun gets if there are several of it, or none.
pub const fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// A list in a sentence: `a`, `a and b`, `a, b and c`.
pub fn listed<Word: AsRef<str>>(words: &[Word]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.as_slice() {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

/// The first of a list, up to `most`, and how many more there are: `a, b and 3 more`.
pub fn listed_up_to<Word: AsRef<str>>(words: &[Word], most: usize) -> String {
    match words.get(most..) {
        None | Some([]) => listed(words),
        Some(more) => {
            let shown: Vec<&str> = words[..most].iter().map(AsRef::as_ref).collect();
            format!("{} and {} more", shown.join(", "), more.len())
        }
    }
}

/// A text that begins with a capital letter.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// A word as a POSIX shell reads it back, always in quotes.
pub fn shell_quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A word as a POSIX shell reads it back, in quotes only if it needs them.
pub fn shell_word(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,+@%".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) { word.to_owned() } else { shell_quoted(word) }
}

/// Lines in columns: those of words to the left, all others, which are numbers, to the right.
pub fn aligned<const COLUMNS: usize>(lines: &[[String; COLUMNS]], words: &[usize]) -> String {
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    let mut text = String::new();
    for line in lines {
        let mut row = String::from(" ");
        for (column, cell) in line.iter().enumerate() {
            let pad = " ".repeat(widths[column].saturating_sub(cell.chars().count()));
            row.push_str(&if words.contains(&column) { format!(" {cell}{pad} ") } else { format!(" {pad}{cell} ") });
        }
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares texts of numbers with what is expected.
    fn check<const COUNT: usize>(text: impl Fn(f64) -> String, table: [(f64, &str); COUNT]) {
        for (value, expected) in table {
            assert_eq!(text(value), expected, "{value}");
        }
    }

    #[test]
    fn numbers_have_three_digits_and_no_zeros_at_the_end() {
        check(
            number,
            [
                (0.0, "0"),
                (-0.000_01, "0"),
                (0.00004, "0"),
                (0.084_123, "0.0841"),
                (0.5, "0.5"),
                (0.9996, "1"),
                (7.0, "7"),
                (9.994, "9.99"),
                (9.996, "10"),
                (73.62, "73.6"),
                (99.96, "100"),
                (312.5, "312"),
                (73_634.2, "73,634"),
                (-2.5, "-2.5"),
                (f64::NAN, "–"),
            ],
        );
        check(short_number, [(945.0, "945"), (9999.0, "10k"), (42_123.0, "42.1k"), (999_600.0, "1M"), (2e9, "2G")]);
        check(narrow_number, [(0.012, "0.012"), (1246.0, "1,246"), (99_999.4, "99,999"), (99_999.6, "100k")]);
    }

    #[test]
    fn times_have_the_unit_that_fits() {
        check(
            time,
            [
                (0.0, "0 ns"),
                (0.381, "0.381 ns"),
                (500.0, "500 ns"),
                (999.6, "1 µs"),
                (84_123.0, "84.1 µs"),
                (999_600.0, "1 ms"),
                (1e6, "1 ms"),
                (1_714_000.0, "1.71 ms"),
                (-6e9, "-6 s"),
                (3.6e12, "3,600 s"),
            ],
        );
        check(
            span,
            [
                (0.0, "0 ns"),
                (0.0598, "60 ms"),
                (0.909, "910 ms"),
                (0.96, "1 s"),
                (3.25, "3.2 s"),
                (9.96, "10 s"),
                (119.0, "119 s"),
                (120.0, "2 min"),
                (417.0, "7 min"),
                (7200.0, "2 h"),
                (9000.0, "2.5 h"),
                (360_000.0, "100 h"),
            ],
        );
        for (ms, text) in [(0, "0:00"), (1, "0:01"), (59_001, "1:00"), (3_723_000, "1:02:03")] {
            assert_eq!(countdown(Duration::from_millis(ms)), text);
        }
        assert_eq!(
            [59, 61, 3600].map(|seconds| clock(Duration::from_secs(seconds))),
            ["59 s", "1:01 min", "1:00:00 h"]
        );
    }

    #[test]
    fn sizes_and_rates_have_the_unit_that_fits() {
        check(
            rounded_size,
            [
                (312.5, "312 B"),
                (4096.0, "4 KiB"),
                (1000.5 * 1024.0, "1,000 KiB"),
                (1280.0 * 1024.0, "1.25 MiB"),
                (64.0 * 1024.0 * 1024.0 * 1024.0, "64 GiB"),
            ],
        );
        check(
            rate,
            [
                (575.25 * 1_048_576.0, "575 MiB/s"),
                (1234.0 * 1_048_576.0, "1,234 MiB/s"),
                (53_248.0, "52 KiB/s"),
                (0.0, "0 B/s"),
            ],
        );
        check(short_bytes, [(512.0, "512B"), (4096.0, "4K"), (1_289_748.0, "1.23M")]);
        check(decimal_rate, [(125e6, "125 MB/s"), (1.25e9, "1,250 MB/s")]);
    }

    #[test]
    fn a_share_is_0_or_100_only_if_it_is_none_or_all() {
        check(
            percent,
            [
                (0.0, "0 %"),
                (1e-13, "0 %"),
                (0.000_004, "< 0.001 %"),
                (0.000_132, "0.013 %"),
                (0.0046, "0.46 %"),
                (0.01, "1 %"),
                (0.0694, "6.9 %"),
                (0.0999, "10 %"),
                (0.634, "63 %"),
                (0.996, "99.6 %"),
                (0.9997, "99.97 %"),
                (0.999_999, "99.99 %"),
                (1.0 - 1e-14, "100 %"),
                (12.345, "1,234 %"),
            ],
        );
        check(chosen_percent, [(0.05, "5 %"), (0.0025, "0.25 %"), (1.0, "100 %"), (0.001_25, "0.12 %")]);
        check(signed, [(-11.64, "−11.6"), (5.0, "+5.0"), (-0.04, "0.0"), (1000.0, "> 999")]);
    }

    #[test]
    fn numbers_halfway_between_two_are_printed_as_the_even_one() {
        check(
            grouped,
            [
                (312.5, "312"),
                (313.5, "314"),
                (73_634.5, "73,634"),
                (-2000.0, "-2,000"),
                (-300_000.0, "-300,000"),
                (-0.4, "0"),
            ],
        );
    }

    #[test]
    fn sizes_are_written_in_the_largest_unit_that_divides_them() {
        use SizeStyle::{Option, Spelled, Table};
        for (bytes, spelled, option, table) in [
            (0, "0 B", "0", "0B"),
            (512, "512 B", "512", "512B"),
            (8192, "8 KiB", "8k", "8K"),
            (1 << 20, "1 MiB", "1M", "1M"),
            (3 << 30, "3 GiB", "3G", "3072M"),
            (1 << 41, "2048 GiB", "2T", "2097152M"),
            (10_000, "10000 B", "10000", "10000B"),
        ] {
            let written = [Spelled, Option, Table].map(|style| exact_size(bytes, style));
            assert_eq!(written, [spelled, option, table], "{bytes}");
        }
    }

    #[test]
    fn lists_end_with_and() {
        let words = ["a", "b", "c"];
        assert_eq!([0, 1, 2, 3].map(|count| listed(&words[..count])), ["", "a", "a and b", "a, b and c"]);
        assert_eq!([1, 2, 3].map(|most| listed_up_to(&words, most)), ["a and 2 more", "a, b and 1 more", "a, b and c"]);
        assert_eq!([0, 1, 2].map(|count| counted(count, "user")), ["0 users", "1 user", "2 users"]);
        assert_eq!(["", "é", "two words"].map(capitalised), ["", "É", "Two words"]);
    }

    #[test]
    fn a_shell_reads_words_back() {
        for (word, expected) in [("a/b-c=1", "a/b-c=1"), ("", "''"), ("my disk", "'my disk'"), ("it's", r"'it'\''s'")] {
            assert_eq!(shell_word(word), expected);
        }
        assert_eq!(shell_quoted("a"), "'a'");
    }

    #[test]
    fn columns_of_words_are_to_the_left_and_of_numbers_to_the_right() {
        let lines = [["", "old"], ["IOPS", "1"]].map(|line| line.map(str::to_owned));
        assert_eq!(aligned(&lines, &[0]), "        old\n  IOPS    1\n");
    }
}
