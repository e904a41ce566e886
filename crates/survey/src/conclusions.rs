//! The two sentences at the end: about the sweep over users if there is one, otherwise about the swept option.

use crate::finished::FinishedTest;
use crate::kind::TestKind;
use crate::parse_values::short_size;
use crate::test::SurveyTest;
use analysis::{Point, thousands};

/// Returns the concluding sentences of a survey; empty if nothing was measured.
pub(crate) fn conclusions(rows: &[FinishedTest]) -> Vec<String> {
    let Some(first) = best_sweep(rows) else { return Vec::new() };
    let group: Vec<&FinishedTest> = rows.iter().filter(|row| same_but_users(&row.test, first)).collect();
    let users = medians(&group);
    if users.len() > 1 || rows.iter().all(|row| same_but_users(&row.test, first)) {
        return analysis::sentences(&plural(first), &users);
    }
    let alike: Vec<&FinishedTest> = rows.iter().filter(|row| row.test.is_like(first)).collect();
    of_sweep(first.title(), &alike)
}

/// The tests as the subject of a sentence: `8k random reads`.
fn plural(test: &SurveyTest) -> String {
    let block = short_size(u64::from(test.block));
    let what = match &test.name {
        Some(name) => format!("{}s of {name}", if test.kind.writes() { "I/O" } else { "read" }),
        None => kinds(test.kind).to_owned(),
    };
    let extras: Vec<String> = test
        .extras
        .iter()
        .filter(|(name, _)| !["sync", "direct"].contains(&name.as_str()))
        .map(|(name, value)| format!(" {name}={value}"))
        .collect();
    format!("{block} {what}{}", extras.concat())
}

/// The I/Os of a kind, in the plural.
pub(crate) const fn kinds(kind: TestKind) -> &'static str {
    match kind {
        TestKind::RandomRead => "random reads",
        TestKind::SequentialRead => "sequential reads",
        TestKind::LogWrite => "log writes",
        TestKind::SequentialWrite => "sequential writes",
        TestKind::RandomWrite => "random writes",
        TestKind::Mixed => "mixed random reads",
        TestKind::SequentialMixed => "mixed sequential reads",
    }
}

/// Returns a test of the group with the most user counts; random reads are preferred among equals.
fn best_sweep(rows: &[FinishedTest]) -> Option<&SurveyTest> {
    let levels = |test: &SurveyTest| {
        let mut users: Vec<u32> =
            rows.iter().filter(|row| same_but_users(&row.test, test)).map(|row| row.test.users).collect();
        users.sort_unstable();
        users.dedup();
        users.len()
    };
    // The first few hundred of thousands of tests are enough to find the sweep, and the search below is quadratic.
    let candidates = rows.iter().take(500).map(|row| &row.test);
    let mut best: Option<(usize, &SurveyTest)> = None;
    for test in candidates {
        let found = (levels(test), test);
        let better = |(count, kept): (usize, &SurveyTest)| {
            found.0 > count
                || (found.0 == count && kept.kind != TestKind::RandomRead && test.kind == TestKind::RandomRead)
        };
        if best.is_none_or(better) {
            best = Some(found);
        }
    }
    best.map(|(_, test)| test)
}

fn same_but_users(a: &SurveyTest, b: &SurveyTest) -> bool {
    a.is_like(b) && a.block == b.block && a.set == b.set && a.extras == b.extras
}

/// One point per user count: the median of its repetitions.
fn medians(rows: &[&FinishedTest]) -> Vec<Point> {
    let mut users: Vec<u32> = rows.iter().map(|row| row.test.users).collect();
    users.sort_unstable();
    users.dedup();
    let middle = |users: u32| {
        let of = rows.iter().filter(|row| row.test.users == users);
        let mut points: Vec<Point> = of.filter_map(|row| point(row)).collect();
        points.sort_by(|a, b| a.iops.total_cmp(&b.iops));
        let at = points.len().checked_sub(1)? / 2;
        points.into_iter().nth(at)
    };
    users.into_iter().filter_map(middle).collect()
}

fn point(row: &FinishedTest) -> Option<Point> {
    let direction = *row.test.kind.directions().first()?;
    Point::of(row.test.users, &row.result, direction, &row.result.notes)
}

/// Without a sweep over users: the levels with the most IOPS and with the highest bandwidth.
fn of_sweep(title: &str, rows: &[&FinishedTest]) -> Vec<String> {
    let points: Vec<(&FinishedTest, Point)> = rows.iter().filter_map(|row| Some((*row, point(row)?))).collect();
    let most_ios = points.iter().max_by(|(_, a), (_, b)| a.iops.total_cmp(&b.iops));
    let most_bytes = points.iter().max_by(|(_, a), (_, b)| a.bytes_per_second.total_cmp(&b.bytes_per_second));
    let (Some((ios_row, ios)), Some((bytes_row, bytes))) = (most_ios, most_bytes) else { return Vec::new() };
    let memory = if points.iter().any(|(_, point)| point.from_memory) { " These are numbers of memory." } else { "" };
    let mean = |point: &Point| format!("{:.3} ms", point.mean_ns / 1e6);
    vec![
        format!(
            "The most requests per second of {} levels of {}: {} IOPS at {}, {} each on average.{memory}",
            points.len(),
            title,
            thousands(ios.iops),
            ios_row.test.describe(),
            mean(ios)
        ),
        format!(
            "The highest rate: {} MiB/s at {}, {} each on average.",
            thousands(bytes.bytes_per_second / f64::from(1 << 20)),
            bytes_row.test.describe(),
            mean(bytes)
        ),
    ]
}

/// Returns the sentence on the test with the widest spread between its repetitions; `None` if no test was repeated.
pub fn spread(rows: &[FinishedTest]) -> Option<String> {
    let firsts = rows.iter().filter(|row| row.test.round == 1);
    let spreads = firsts.filter_map(|first| {
        let rates: Vec<f64> = rows
            .iter()
            .filter(|row| row.test.repeats(&first.test))
            .filter_map(|row| point(row).map(|point| point.iops))
            .collect();
        let (least, most) = rates.iter().fold((f64::MAX, 0.0_f64), |(a, b), &rate| (a.min(rate), b.max(rate)));
        (rates.len() > 1 && most > 0.0).then(|| ((most - least) / most * 100.0, rates.len(), first))
    });
    let (widest, rounds, row) = spreads.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let test = row.test.describe();
    Some(format!("The rates of {rounds} repetitions of one test differ by {widest:.0} % at most ({test})."))
}
