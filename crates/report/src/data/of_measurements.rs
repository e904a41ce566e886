//! Rows of imported tables → sweeps and a report card.

use super::measured::size;
use super::placed::{self, ChartRow, Coordinate, ENGINE, Subject, Value};
use super::{Axis, Band, Card, Distribution, Letters, Level, NO_GRADE, Sweep, Workload};
use analysis::Load;
use analysis::report_card::{self, GRADES, Metric, ProfileChoice, Run, Runs, TESTS, Test};
use model::Measurement;
use model::measurement::{AccessOrder, AccessPattern, TestName};
use model::reading::ReadKind;

/// The sweeps in the rows of one system: over users, depth, another option, and block size.
pub fn sweeps(system: &str, rows: &[Measurement], target_ns: Option<f64>) -> Vec<Sweep> {
    let notes = notes(rows);
    let row =
        |(run, numbers): (usize, &Measurement)| MeasuredRow { numbers: numbers.clone(), run, ..MeasuredRow::default() };
    let mut rows: Vec<MeasuredRow> = rows.iter().enumerate().map(row).collect();
    by_direction(&mut rows);
    let placed: Vec<ChartRow> = rows.into_iter().filter_map(|row| place(system, row, Subject::default())).collect();
    let drawn = placed::sweeps(&placed, target_ns).sweeps;
    drawn.into_iter().map(|one| with_notes(one.sweep, &notes)).collect()
}

/// Adds remarks on the data to a sweep, before its own.
pub(crate) fn with_notes(mut sweep: Sweep, notes: &[String]) -> Sweep {
    sweep.notes.splice(0..0, notes.iter().cloned());
    sweep
}

/// A measured row, and what else is known of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct MeasuredRow {
    pub(crate) numbers: Measurement,
    pub(crate) run: usize,
    pub(crate) distribution: Option<Distribution>,
    /// The distribution of its response time, if it had a rate.
    pub(crate) response: Option<Distribution>,
    /// Median and 99th percentile of that in nanoseconds, each if it had enough I/Os.
    pub(crate) response_ns: [Option<f64>; 2],
    /// The tool's share in the median and in the 99th percentile of its latency in µs, each if known.
    pub(crate) tool_us: [Option<f64>; 2],
    /// Number of I/Os that its percentiles are of, if a report states it.
    pub(crate) count: Option<f64>,
    /// Size of the data in bytes, if its result states it.
    pub(crate) region_bytes: Option<u64>,
}

/// True if the row states its users, its depth or its block size.
pub(crate) fn has_place(row: &Measurement) -> bool {
    row.block.is_some() || users(row).is_some() || whole(row.depth).is_some()
}

/// A row with its place on all axes; `None` without a mean latency, a throughput and IOPS.
pub(crate) fn place(system: &str, row: MeasuredRow, subject: Subject) -> Option<ChartRow> {
    let test = test_in_words(&row.numbers.test).to_owned();
    Some(ChartRow {
        system: system.to_owned(),
        plural: in_plural(&test),
        test,
        coordinates: coordinates(&row.numbers),
        level: facts_only(Level::of_row(1.0, &row.numbers)?, row.count),
        run: row.run,
        region_bytes: row.region_bytes,
        subject,
        distribution: row.distribution,
        response: row.response,
    })
}

/// Without the percentiles for which this number of I/Os is too small.
fn facts_only(level: Level, count: Option<f64>) -> Level {
    let is_fact = |percent: f64| count.is_none_or(|count| count >= analysis::samples_needed(percent) as f64);
    Level {
        p95_ns: level.p95_ns.filter(|_| is_fact(95.0)),
        p99_ns: level.p99_ns.filter(|_| is_fact(99.0)),
        p9999_ns: level.p9999_ns.filter(|_| is_fact(99.99)),
        ..level
    }
}

/// The values of a row on the axes that it states.
pub(crate) fn coordinates(row: &Measurement) -> Vec<Coordinate> {
    let block = row.block.map(|(low, high)| if low == high { Value::Number(low) } else { Value::Range(low, high) });
    let engine = row.engine.clone().map(Value::Word);
    let depth = whole(row.depth).map(Value::Number);
    let axes = [
        (Axis::Load(Load::Users), users(row).map(Value::Number)),
        (Axis::Load(Load::Depth), depth),
        (Axis::BlockSize, block),
        (Axis::Option(ENGINE.to_owned()), engine),
    ];
    axes.into_iter().filter_map(|(axis, value)| Some(Coordinate { axis, value: value? })).collect()
}

/// Treats reads and writes of one test as separate tests.
pub(crate) fn by_direction(rows: &mut [MeasuredRow]) {
    let mixed = |row: &MeasuredRow| {
        let of_test = || rows.iter().map(|row| &row.numbers).filter(|other| other.test == row.numbers.test);
        [ReadKind::Read, ReadKind::Write].into_iter().all(|kind| of_test().any(|other| other.kind == Some(kind)))
    };
    let both: Vec<bool> = rows.iter().map(mixed).collect();
    for (row, both) in rows.iter_mut().map(|row| &mut row.numbers).zip(both) {
        if let (true, Some(kind)) = (both, row.kind) {
            row.test = TestName::Other(format!("{}, {}s", test_in_words(&row.test), kind.word()));
        }
    }
}

/// Draws a report card of these rows.
pub fn card(judged: &report_card::Card, rows: &[Measurement], choice: &ProfileChoice) -> Card {
    let lines = TESTS.iter().zip(&judged.lines);
    let workloads: Vec<Workload> =
        lines.filter_map(|(test, line)| workload(test, line, &report_card::runs(rows, test))).collect();
    let mut all: Vec<String> = choice.because().into_iter().collect();
    all.extend(choice.profile.map(|profile| format!("Thresholds: profile {} ({}); a bound belongs to the better grade. A grade says how the storage felt to one workload on one day, not how good it is in general.", profile.name, profile.help)));
    all.push("Scaling: 5, 10, 20, 30, 40, 60 and 90 % of the added load queued, the same bounds for every workload. A run whose users were not all busy is not graded.".to_owned());
    all.extend(notes(rows));
    all.extend(
        judged.lasting.iter().map(|(of, sentence)| format!("An average over phases that differ: {of}: {sentence}.")),
    );
    let missing: Vec<&str> = judged.lines.iter().filter_map(report_card::Line::missing).collect();
    if !missing.is_empty() {
        all.push(format!("Not measured: {}; plumb survey PATH measures all.", missing.join(", ")));
    }
    Card::of(&judged.system, &workloads, all)
}

fn workload(test: &Test, line: &report_card::Line, runs: &Runs<'_>) -> Option<Workload> {
    let run = runs.base?;
    let level = |run: Run<'_>| Level::of_row(run.load.into(), run.row);
    let of = |metric: Metric| line.marks.iter().find(|marks| marks.metric == metric);
    let letter = |metric: Metric| graded(&of(metric)?.latency).ok();
    let scaling = of(Metric::P95).map(|marks| graded(&marks.scaling));
    let not_graded = |reason: String| format!("not graded: {reason}");
    let bands = line.bounds_ms.iter().flat_map(|bounds| {
        let bounds = bounds.iter().map(|ms| Some(ms * 1e6)).chain([None]);
        GRADES.iter().zip(bounds).map(|(letter, to_ns)| Band { letter: (*letter).to_owned(), to_ns })
    });
    Some(Workload {
        name: test.workload.to_owned(),
        detail: format!("{} {}", test.title, size(run.block_bytes)),
        axis: Axis::Load(if run.depth() > 1.0 { Load::Depth } else { Load::Users }),
        base: level(run)?,
        more: runs.more.and_then(level),
        bands: bands.collect(),
        letters: Letters {
            average: letter(Metric::Mean),
            p95: letter(Metric::P95),
            p99: letter(Metric::P99),
            scaling: scaling.clone().and_then(Result::ok),
            reason: scaling.and_then(Result::err).map(not_graded),
            latency_reason: of(Metric::P95).and_then(|marks| graded(&marks.latency).err()).map(not_graded),
        },
    })
}

fn graded(mark: &report_card::Mark) -> Result<String, String> {
    match mark {
        report_card::Mark::Graded { grade, .. } => Ok((*grade).to_owned()),
        report_card::Mark::Measured { .. } => Ok(NO_GRADE.to_owned()),
        report_card::Mark::Unknown { reason } => Err(reason.clone()),
    }
}

fn users(row: &Measurement) -> Option<u64> {
    whole(row.users)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count; saturates")]
fn whole(count: Option<f64>) -> Option<u64> {
    count.filter(|&count| count >= 1.0).map(|count| count.round() as u64)
}

/// Remarks on data that the rows lack or have only approximately.
pub(crate) fn notes<'rows>(rows: impl IntoIterator<Item = &'rows Measurement>) -> Vec<String> {
    let sums = rows.into_iter().filter_map(Measurement::buckets).map(|buckets| buckets.iter().sum::<f64>());
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

/// `random reads`, `sequential mixes`; `reads of random mixes` of one direction of a mix.
pub(crate) fn in_plural(test: &str) -> String {
    match test.split_once(", ") {
        Some((mix, of)) if mix.ends_with("mix") => format!("{of} of {mix}es"),
        _ if test.ends_with("mix") => format!("{test}es"),
        _ => format!("{test}s"),
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
