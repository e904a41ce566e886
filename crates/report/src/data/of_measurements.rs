//! Rows of imported tables → sweeps and a report card.

use super::measured::size;
use super::{Axis, Band, Card, Letters, Measured, Sweep, Table, Workload};
use analysis::Load;
use analysis::report_card::{self, GRADES, Marks, Metric, Profile, Test};
use model::Measurement;
use model::measurement::{AccessOrder, AccessPattern, TestName};
use model::reading::ReadKind;

/// The sweeps in the rows of one system: each pattern and block size by users, then each single-user pattern by block
/// size if there are at least three sizes.
pub fn sweeps(system: &str, rows: &[Measurement], target_ns: f64) -> Vec<Sweep> {
    let mut found = tables(system, rows, target_ns);
    // A load sweep needs two levels, a curve over block sizes three.
    let enough = |table: &Table| table.levels.len() >= if table.axis == Axis::BlockSize { 3 } else { 2 };
    found.retain(enough);
    found.sort_by_key(|table| table.axis == Axis::BlockSize);
    found.into_iter().map(Sweep::of).collect()
}

/// The workloads in the rows of one system that were measured at a single load, as sweeps of one level each.
pub fn singles(system: &str, rows: &[Measurement], target_ns: f64) -> Vec<Sweep> {
    let mut found = tables(system, rows, target_ns);
    found.retain(|table| table.axis != Axis::BlockSize && table.levels.len() == 1);
    found.into_iter().map(Sweep::of).collect()
}

fn tables(system: &str, rows: &[Measurement], target_ns: f64) -> Vec<Table> {
    let mut found: Vec<Table> = Vec::new();
    let mut add = |axis: Axis, workload: String, plural: String, level: Option<Measured>| {
        let Some(level) = level else { return };
        match found.iter_mut().find(|table| table.axis == axis && table.workload == workload) {
            Some(table) => table.levels.push(level),
            None => found.push(Table {
                system: system.to_owned(),
                workload,
                plural,
                axis,
                target_ns,
                levels: vec![level],
                notes: notes(rows),
            }),
        }
    };
    for row in rows {
        let test = test_in_words(&row.test);
        let shown = block_in_words(row);
        add(
            Axis::Load(Load::Users),
            format!("{} {shown}", test).trim_end().to_owned(),
            format!("{shown} {}s", test).trim_start().to_owned(),
            level(row, users(row)),
        );
        if users(row) == Some(1) {
            add(Axis::BlockSize, format!("{}, 1 user", test), format!("{}s", test), level(row, middle_block(row)));
        }
    }
    found
}

/// Builds the report card of one system.
pub fn card(system: &str, rows: &[Measurement], profile: &'static Profile) -> Card {
    let judged = report_card::card(system, rows, profile);
    let workloads: Vec<Workload> =
        profile.tests.iter().zip(&judged.lines).filter_map(|(test, line)| workload(rows, test, &line.marks)).collect();
    let mut all = vec![
        format!("Thresholds: profile {} ({}); a bound belongs to the better grade. A grade says how the storage felt to one workload on one day, not how good it is in general.", profile.name, profile.help),
        "Scaling: 5, 10, 20, 30, 40, 60 and 90 % of the added load queued, the same bounds for every workload. A run whose users were not all busy is not graded.".to_owned(),
    ];
    all.extend(notes(rows));
    let missing: Vec<String> =
        profile.tests.iter().filter(|test| run(rows, test, test.users).is_none()).map(Test::shown).collect();
    if !missing.is_empty() {
        all.push(format!("Not measured: {}.", missing.join(", ")));
    }
    Card::of(system, &workloads, all)
}

fn workload(rows: &[Measurement], test: &Test, marks: &[Marks]) -> Option<Workload> {
    let base = level(run(rows, test, test.users)?, Some(u64::from(test.users)))?;
    let more = run(rows, test, test.more_users).and_then(|row| level(row, Some(u64::from(test.more_users))));
    let of = |metric: Metric| marks.iter().find(|marks| marks.metric == metric);
    let letter = |metric: Metric| graded(&of(metric)?.latency).ok();
    let scaling = of(Metric::P95).map(|marks| graded(&marks.scaling));
    let bounds = test.bounds_ms.iter().map(|ms| Some(ms * 1e6)).chain([None]);
    Some(Workload {
        name: name(test).to_owned(),
        detail: format!("{} {}", test.title, size(test.block_bytes)),
        axis: Axis::Load(Load::Users),
        base,
        more,
        bands: GRADES.iter().zip(bounds).map(|(letter, to_ns)| Band { letter: (*letter).to_owned(), to_ns }).collect(),
        letters: Letters {
            average: letter(Metric::Mean),
            p95: letter(Metric::P95),
            p99: letter(Metric::P99),
            scaling: scaling.clone().and_then(Result::ok),
            reason: scaling.and_then(Result::err).map(|reason| format!("not graded: {reason}")),
        },
    })
}

fn graded(mark: &report_card::Mark) -> Result<String, String> {
    match mark {
        report_card::Mark::Graded { grade, .. } => Ok((*grade).to_owned()),
        report_card::Mark::Unknown { reason } => Err(reason.clone()),
    }
}

/// Name of the workload that a test represents.
fn name(test: &Test) -> &'static str {
    match (test.pattern.word(), test.block_bytes) {
        ("randread", _) => "Index lookups",
        ("read", _) => "Full scans",
        ("write", 1024) => "Small commits",
        ("write", _) => "Bulk commits",
        _ => test.title,
    }
}

fn run<'rows>(rows: &'rows [Measurement], test: &Test, wanted: u32) -> Option<&'rows Measurement> {
    let fits = |row: &&Measurement| test.fits(row);
    rows.iter().rev().filter(fits).find(|row| users(row) == Some(u64::from(wanted)))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count; saturates")]
fn users(row: &Measurement) -> Option<u64> {
    row.users.filter(|&users| users >= 1.0).map(|users| users.round() as u64)
}

fn level(row: &Measurement, load: Option<u64>) -> Option<Measured> {
    Measured::of_row(load?, row)
}

/// `8 KiB`, `4K-16K`; empty if the size is unknown.
fn block_in_words(row: &Measurement) -> String {
    match row.block {
        Some((low, high)) if low == high => size(low),
        _ => row.block_text().unwrap_or_default(),
    }
}

/// Position on the block size axis: for a range of block sizes, its middle, which is also their mean.
fn middle_block(row: &Measurement) -> Option<u64> {
    row.block.map(|(low, high)| low.midpoint(high))
}

/// Remarks on data that the rows lack or have only approximately.
fn notes(rows: &[Measurement]) -> Vec<String> {
    let sums = rows.iter().filter_map(Measurement::buckets).map(|buckets| buckets.iter().sum::<f64>());
    let (low, high) = sums.fold((f64::INFINITY, 0.0_f64), |(low, high), sum| (low.min(sum), high.max(sum)));
    if low < 99.5 {
        vec![format!("The shares in this data are cut to whole percents: they add up to {low:.0}–{high:.0} %.")]
    } else {
        Vec::new()
    }
}

/// `random read`; a name that is not a pattern stays unchanged.
pub(crate) fn test_in_words(test: &TestName) -> &str {
    match test {
        TestName::Pattern(pattern) => pattern_in_words(*pattern),
        TestName::Other(name) => name,
    }
}

/// `random read`, `sequential mix`.
const fn pattern_in_words(pattern: AccessPattern) -> &'static str {
    match (pattern.order, pattern.kind) {
        (AccessOrder::Sequential, ReadKind::Read) => "sequential read",
        (AccessOrder::Sequential, ReadKind::Write) => "sequential write",
        (AccessOrder::Sequential, ReadKind::Trim) => "sequential trim",
        (AccessOrder::Sequential, ReadKind::Mixed) => "sequential mix",
        (AccessOrder::Random, ReadKind::Read) => "random read",
        (AccessOrder::Random, ReadKind::Write) => "random write",
        (AccessOrder::Random, ReadKind::Trim) => "random trim",
        (AccessOrder::Random, ReadKind::Mixed) => "random mix",
    }
}
