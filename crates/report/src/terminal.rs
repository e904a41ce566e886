//! A sweep as a text chart, as wide as the terminal, without colour.

use crate::data::{Bin, Level, Overlay, Sweep};
use formats::printable;
use measure::text;

/// Least and most columns of a chart; a terminal may have fewer or more.
const COLUMNS: (usize, usize) = (40, 120);
/// Width of the latency labels on the left, in columns.
const LEFT: usize = 10;
/// Most levels drawn; if there are more, some are omitted and named.
const MOST_LEVELS: usize = 7;
/// Columns of a level: a bar and its share.
const LEVEL: usize = 10;
/// Block characters of 0 to 8 eighths of a cell.
const EIGHTHS: [char; 9] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The chart: a line with the rates, the latency histogram with one bar per level and bucket, and two lines of numbers.
pub(crate) fn sketch(sweep: &Sweep, columns: usize) -> String {
    sketch_over_time(sweep, &[], columns)
}

/// The chart of one run, with a sparkline of its IOPS over time.
pub(crate) fn sketch_over_time(sweep: &Sweep, over_time: &[f64], columns: usize) -> String {
    let width = columns.clamp(COLUMNS.0, COLUMNS.1);
    let shown = evenly(&sweep.levels.iter().collect::<Vec<_>>(), (width - LEFT) / LEVEL);
    if shown.is_empty() {
        return String::new();
    }
    let column = (width - LEFT) / shown.len().max(3);
    let mut text = format!("{}\n", cut(&printable::line(&sweep.title), width));
    if let Some(flag) = &sweep.flag {
        text.push_str(&format!("! {}\n", cut(&printable::line(flag), width - 2)));
    }
    // A histogram log states no rates.
    if shown.iter().any(|level| level.iops > 0.0) {
        text.push_str(&format!("{}\n", cut(&rates(&sweep.levels, over_time), width)));
    }
    text.push('\n');
    let row = |name: &str, cells: Vec<String>| {
        let cells: String = cells.iter().map(|cell| padded(cell, column)).collect();
        format!("{}\n", format!("{name:>left$}  {cells}", left = LEFT - 2).trim_end())
    };
    text.push_str(&row("", shown.iter().map(|level| cut(&printable::line(&level.label), column - 1)).collect()));
    for (name, step) in steps(&shown) {
        text.push_str(&row(&name, shown.iter().map(|level| bar(share(level, step), column - 1)).collect()));
    }
    text.push_str(&row("avg", shown.iter().map(|level| text::time(level.average_ns)).collect()));
    if shown.iter().any(|level| level.p99_ns.is_some()) {
        text.push_str(&row("p99", shown.iter().map(|level| level.p99_ns.map_or("-".into(), text::time)).collect()));
    }
    let omitted: Vec<&str> = sweep
        .levels
        .iter()
        .filter(|level| !shown.iter().any(|one| std::ptr::eq(*one, *level)))
        .map(|level| level.label.as_str())
        .collect();
    if !omitted.is_empty() {
        text.push_str(&row(
            "",
            vec![cut(&printable::line(&format!("not shown: {}", omitted.join(", "))), width - LEFT)],
        ));
    }
    text
}

/// Widest name of a system in an overlay, and most values of its curve, in columns.
const OVERLAY: (usize, usize) = (22, 16);

/// Several sweeps over one another: a line per system with a sparkline of its IOPS, and its numbers at each level.
pub(crate) fn overlay(overlay: &Overlay, columns: usize) -> String {
    let width = columns.clamp(COLUMNS.0, COLUMNS.1);
    type Value = fn(&Level) -> Option<String>;
    const ROWS: [(&str, Value); 3] = [
        ("IOPS", |level| Some(text::short_number(level.iops))),
        ("avg", |level| Some(text::time(level.average_ns))),
        ("p99", |level| level.p99_ns.map(text::time)),
    ];
    let mut all: Vec<&Level> = overlay.systems.iter().flat_map(|(_, sweep)| &sweep.levels).collect();
    all.sort_by(|one, other| one.load.total_cmp(&other.load));
    all.dedup_by(|one, other| one.load.total_cmp(&other.load).is_eq());
    let most = overlay.systems.iter().flat_map(|(_, sweep)| &sweep.levels).map(|level| level.iops).fold(0.0, f64::max);
    let names: Vec<String> = overlay.systems.iter().map(|(name, _)| cut(&printable::line(name), OVERLAY.0)).collect();
    let wide = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let spark = all.len().min(OVERLAY.1);
    let room = width - wide - spark - 4;
    let shown = evenly(&all, room / LEVEL);
    let column = (room / shown.len().max(1)).min(18);
    let mut text = format!("{}\n", cut(&printable::line(&overlay.title), width));
    let heads = shown.iter().map(|level| format!("{:>column$}", cut(&printable::line(&level.label), column - 1)));
    let heads: String = heads.collect();
    for (what, value) in ROWS {
        let known = |sweep: &Sweep| sweep.levels.iter().any(|level| value(level).is_some());
        if !overlay.systems.iter().any(|(_, sweep)| known(sweep)) {
            continue;
        }
        text.push_str(&format!("\n{}{heads}\n", padded(what, wide + spark + 4)));
        for ((_, sweep), name) in overlay.systems.iter().zip(&names) {
            let iops = all.iter().take(spark).map(|level| at(sweep, level.load).map(|level| level.iops));
            let curve: String = iops.map(|iops| iops.map_or(' ', |iops| height(iops, most))).collect();
            let cell = |level: &&Level| at(sweep, level.load).and_then(value).unwrap_or_else(|| "-".to_owned());
            let cells: String = shown.iter().map(|level| format!("{:>column$}", cell(level))).collect();
            let curve = if what == "IOPS" { curve } else { String::new() };
            text.push_str(&format!("  {}  {}{cells}\n", padded(name, wide), padded(&curve, spark)));
        }
    }
    text
}

fn at(sweep: &Sweep, load: f64) -> Option<&Level> {
    sweep.levels.iter().find(|level| level.load.total_cmp(&load).is_eq())
}

/// The first and the last level, and evenly spaced ones in between, if there is room for no more.
fn evenly<'levels>(levels: &[&'levels Level], room: usize) -> Vec<&'levels Level> {
    let count = levels.len().min(room.min(MOST_LEVELS));
    let at = |index: usize| if count < 2 { 0 } else { index * (levels.len() - 1) / (count - 1) };
    (0..count).map(|index| levels[at(index)]).collect()
}

/// Formats `IOPS ▂▆▆▇█ 18.9k to 73.6k, most with 64 users: 575 MiB/s`.
fn rates(levels: &[Level], over_time: &[f64]) -> String {
    let most = levels.iter().map(|level| level.iops).fold(0.0, f64::max);
    let least = levels.iter().map(|level| level.iops).fold(f64::INFINITY, f64::min);
    let Some(peak) = levels.iter().find(|level| level.iops >= most) else { return String::new() };
    let rate = text::rate(peak.rate);
    if levels.len() == 1 {
        let sentence = format!("{} IOPS, {rate}", text::short_number(most));
        let curve = curve(over_time.iter().copied());
        return if over_time.len() < 3 { sentence } else { format!("{sentence}, over time {curve}") };
    }
    let spark = curve(levels.iter().take(24).map(|level| level.iops));
    let label = printable::line(&peak.label);
    format!("IOPS {spark} {} to {}, most with {label}: {rate}", text::short_number(least), text::short_number(most))
}

/// A sparkline, scaled from 0 to the largest value.
fn curve(values: impl Iterator<Item = f64> + Clone) -> String {
    let most = values.clone().fold(0.0, f64::max);
    values.map(|value| height(value, most)).collect()
}

/// The sign of a value in a curve up to `most`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in a list of eight")]
fn height(value: f64, most: f64) -> char {
    HEIGHTS[((value / most.max(1e-9) * 7.0).round().clamp(0.0, 7.0)) as usize]
}

/// Rows of the histogram that have I/Os in any of these levels, slowest first: label and bucket edges.
fn steps(levels: &[&Level]) -> Vec<(String, Bin)> {
    let mut steps: Vec<Bin> = levels.iter().flat_map(|level| level.bins.iter().copied()).collect();
    steps.retain(|bin| bin.share > 0.0);
    steps.sort_by(|one, other| other.to_ns.total_cmp(&one.to_ns));
    steps.dedup_by(|one, other| (one.to_ns - other.to_ns).abs() < 0.5);
    let open =
        |bin: &Bin| levels.iter().any(|level| level.bins.iter().any(|one| (one.from_ns - bin.to_ns).abs() < 0.5));
    let last = steps.first().filter(|bin| bin.to_ns > 2.5e9 && !open(bin)).map(|bin| bin.to_ns);
    let name = |bin: &Bin| {
        if last == Some(bin.to_ns) {
            format!(">{}", text::time(bin.from_ns))
        } else {
            format!("≤{}", text::time(bin.to_ns))
        }
    };
    steps.into_iter().map(|bin| (name(&bin), bin)).collect()
}

fn share(level: &Level, step: Bin) -> f64 {
    level.bins.iter().filter(|bin| (bin.to_ns - step.to_ns).abs() < 0.5).map(|bin| bin.share).sum()
}

/// A bar like `████▌48%`: its length is the share of the width that remains next to the number.
fn bar(share: f64, width: usize) -> String {
    if share <= 0.0 {
        return String::new();
    }
    let number = text::percent(share).replace(' ', "");
    let room = width.saturating_sub(6);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most eight times the width")]
    let eighths = ((share.min(1.0) * room as f64 * 8.0).round() as usize).max(1);
    let mut bar: String = std::iter::repeat_n(EIGHTHS[8], eighths / 8).collect();
    if !eighths.is_multiple_of(8) {
        bar.push(EIGHTHS[eighths % 8]);
    }
    format!("{bar}{number}")
}

fn padded(text: &str, width: usize) -> String {
    let length = text.chars().count();
    format!("{text}{}", " ".repeat(width.saturating_sub(length)))
}

fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let short: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{short}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(users: u32, iops: f64, bins: &[(f64, f64, f64)]) -> Level {
        Level {
            label: format!("{users} users"),
            load: f64::from(users),
            average_ns: 115e3,
            p99_ns: Some(2.16e6),
            bins: bins.iter().map(|&(from_ns, to_ns, share)| Bin { from_ns, to_ns, share }).collect(),
            rate: iops * 8192.0,
            iops,
            ..Level::default()
        }
    }

    #[test]
    fn a_sketch_fits_its_columns_with_the_slowest_on_top() {
        let levels: Vec<Level> = (1..=12)
            .map(|at| level(at * 1000, f64::from(at) * 1e4, &[(5e4, 1e5, 0.5), (1e5, 2.5e5, 0.49), (2e9, 4e9, 0.0004)]))
            .collect();
        let sweep = Sweep { title: "\u{1b}[31m".repeat(60), levels, ..Sweep::default() };
        for columns in [40, 60, 80, 200] {
            let text = sketch(&sweep, columns);
            assert!(text.lines().all(|line| line.chars().count() <= columns), "{columns}:\n{text}");
            assert!(text.contains("1000 us") && text.contains("12000 us"), "the first and the last level:\n{text}");
        }
        let text = sketch(&sweep, 80);
        assert!(!text.contains('\u{1b}'), "{text}");
        let lines: Vec<&str> = text.lines().collect();
        let at = |word: &str| lines.iter().position(|line| line.trim_start().starts_with(word)).unwrap();
        assert!(at(">2 s") < at("≤250 µs") && at("≤250 µs") < at("≤100 µs") && at("≤100 µs") < at("avg"), "{text}");
        assert!(text.contains("IOPS ▂▂▃▃▄▅▅▆▆▇▇█ 10k to 120k"), "{text}");
        assert!(text.ends_with("not shown: 3000 users, 5000 users, 7000 users, 9000 users, 11000 users\n"), "{text}");
        assert_eq!(lines[at("≤100 µs")].matches("50%").count(), MOST_LEVELS);
    }

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        let cells = |share| bar(share, 26).chars().filter(|&cell| cell == '█').count();
        assert_eq!((cells(1.0), cells(0.5), cells(0.25)), (20, 10, 5));
    }

    #[test]
    fn one_run_shows_its_rate_over_time() {
        let sweep = Sweep { levels: vec![level(1, 2e4, &[(5e4, 1e5, 1.0)])], ..Sweep::default() };
        let text = sketch_over_time(&sweep, &[2e4, 1e4, 2e4, 0.0], 80);
        assert!(text.contains("20k IOPS, 156 MiB/s, over time █▅█▁\n"), "{text}");
        assert!(!sketch_over_time(&sweep, &[2e4], 80).contains("over time"));
    }

    #[test]
    fn stacked_curves_share_a_scale_and_have_gaps() {
        let sweep = |levels: &[(u32, f64)]| Sweep {
            levels: levels.iter().map(|&(users, iops)| level(users, iops, &[])).collect(),
            ..Sweep::default()
        };
        let systems = vec![
            ("\u{1b}[31mfast".to_owned(), sweep(&[(1, 1e4), (8, 4e4), (64, 8e4)])),
            ("a name that is much longer than its column".to_owned(), sweep(&[(1, 1e4), (64, 2e4)])),
        ];
        let both = Overlay { title: "both".into(), systems, ..Overlay::default() };
        let narrow = overlay(&both, 60);
        assert!(narrow.lines().all(|line| line.chars().count() <= 60) && narrow.contains("64 users"), "{narrow}");
        let text = overlay(&both, 80);
        assert!(text.lines().all(|line| line.chars().count() <= 80) && !text.contains('\u{1b}'), "{text}");
        let line = |word: &str| text.lines().find(|line| line.trim_start().contains(word)).unwrap();
        assert!(line("fast").contains("▂▅█") && line("fast").ends_with("80k"), "{text}");
        assert!(line("a name").contains("▂ ▃") && line("a name").contains(" - "), "{text}");
        assert_eq!(text.matches("1 users").count(), 3, "IOPS, avg and p99: {text}");
    }

    #[test]
    fn nothing_measured_gives_no_picture() {
        assert_eq!(sketch(&Sweep::default(), 80), "");
    }
}
