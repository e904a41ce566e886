//! From the rows of old tables to sweeps and a report card.

use super::measured::size;
use super::{AtWork, Axis, Band, Bin, Card, Letters, Measured, Sweep, Table, Workload};
use analysis::report_card::{self, GRADES, Marks, Metric, Profile, Test};
use analysis::{Load, contradiction};
use model::reading::{BUCKETS, Measurement};

/// Upper edges of the rows' buckets in nanoseconds; the last is open.
const EDGES: [f64; BUCKETS - 1] = [5e4, 1e5, 2.5e5, 5e5, 1e6, 2e6, 4e6, 1e7, 2e7, 5e7, 1e8, 2.5e8, 5e8, 1e9, 2e9];

/// The sweeps in rows of one system: each pattern and block size over users, then each pattern of one user over block
/// sizes where there are at least three.
pub fn sweeps(system: &str, rows: &[Measurement], target_ns: f64) -> Vec<Sweep> {
    let mut found = tables(system, rows, target_ns);
    // One level is no sweep, two sizes no curve.
    let enough = |table: &Table| table.levels.len() >= if table.axis == Axis::BlockSize { 3 } else { 2 };
    found.retain(enough);
    found.sort_by_key(|table| table.axis == Axis::BlockSize);
    found.into_iter().map(Sweep::of).collect()
}

/// The workloads in rows of one system that were measured at one load only, a picture of one level each.
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
        let block = row.block_size.as_deref().and_then(bytes);
        let shown = block.map_or_else(|| row.block_size.clone().unwrap_or_default(), size);
        add(
            Axis::Load(Load::Users),
            format!("{} {shown}", pattern(&row.name)).trim_end().to_owned(),
            format!("{shown} {}s", pattern(&row.name)).trim_start().to_owned(),
            level(row, users(row)),
        );
        if users(row) == Some(1) {
            add(
                Axis::BlockSize,
                format!("{}, 1 user", pattern(&row.name)),
                format!("{}s", pattern(&row.name)),
                level(row, block),
            );
        }
    }
    found
}

/// The report card of rows of one system.
pub fn card(system: &str, rows: &[Measurement], profile: &'static Profile) -> Card {
    let judged = report_card::card(system, rows, profile);
    let workloads: Vec<Workload> =
        profile.tests.iter().zip(&judged.lines).filter_map(|(test, line)| workload(rows, test, &line.marks)).collect();
    let mut all = vec![
        format!("Thresholds: profile {} ({}); a bound belongs to the better grade. A grade says how the storage felt to one workload on one day, not how good it is in general.", profile.name, profile.help),
        "Scaling: 5, 10, 20, 30, 40, 60 and 90 % of the added load queued, the same bounds for every workload. A run whose users were not all busy is not graded.".to_owned(),
    ];
    all.extend(notes(rows));
    let missing: Vec<&str> =
        profile.tests.iter().filter(|test| run(rows, test, test.users).is_none()).map(|test| test.shown).collect();
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
        detail: test
            .shown
            .replace("8K", "8 KiB")
            .replace("128K", "128 KiB")
            .replace("1K", "1 KiB")
            .replace("1M", "1 MiB"),
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

/// What a test stands for.
fn name(test: &Test) -> &'static str {
    match (test.pattern, test.block_size) {
        ("randread", _) => "Index lookups",
        ("read", _) => "Full scans",
        ("write", "1K") => "Small commits",
        ("write", _) => "Bulk commits",
        _ => test.shown,
    }
}

fn run<'rows>(rows: &'rows [Measurement], test: &Test, wanted: u32) -> Option<&'rows Measurement> {
    let fits = |row: &&Measurement| row.name == test.pattern && row.block_size.as_deref() == Some(test.block_size);
    rows.iter().rev().filter(fits).find(|row| users(row) == Some(u64::from(wanted)))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count; saturates")]
fn users(row: &Measurement) -> Option<u64> {
    row.users.filter(|&users| users >= 1.0).map(|users| users.round() as u64)
}

fn level(row: &Measurement, load: Option<u64>) -> Option<Measured> {
    let (mean_ms, iops) = (row.mean_ms.filter(|&ms| ms > 0.0)?, row.iops?);
    let asked = row.users.unwrap_or(1.0) * row.depth.unwrap_or(1.0).max(1.0);
    let percentile = |at: usize| row.percentiles_ms[at].filter(|&ms| ms > 0.0).map(|ms| ms * 1e6);
    let max_ns = row.max_ms.filter(|&ms| ms > 0.0).map(|ms| ms * 1e6);
    Some(Measured {
        load: load?,
        average_ns: mean_ms * 1e6,
        p95_ns: percentile(0),
        p99_ns: percentile(1),
        p9999_ns: percentile(5),
        max_ns,
        bins: row.buckets.map(|shares| bins(&shares, max_ns)).unwrap_or_default(),
        rate: row.mib_per_second? * f64::from(1 << 20),
        iops,
        at_work: contradiction(iops, mean_ms * 1e6, asked).map(|busy| AtWork { busy, asked }),
        from_memory: false,
    })
}

fn bins(shares: &[f64; BUCKETS], max_ns: Option<f64>) -> Vec<Bin> {
    let open = max_ns.unwrap_or(0.0).max(4e9);
    let edge = |at: usize| EDGES.get(at).copied().unwrap_or(open);
    let bin = |(at, &percent): (usize, &f64)| Bin {
        from_ns: at.checked_sub(1).map_or(0.0, edge),
        to_ns: edge(at),
        share: percent / 100.0,
    };
    shares.iter().enumerate().filter(|&(_, &percent)| percent > 0.0).map(bin).collect()
}

/// What the rows do not say, or say only roughly.
fn notes(rows: &[Measurement]) -> Vec<String> {
    let sums = rows.iter().filter_map(|row| row.buckets).map(|buckets| buckets.iter().sum::<f64>());
    let (low, high) = sums.fold((f64::INFINITY, 0.0_f64), |(low, high), sum| (low.min(sum), high.max(sum)));
    if low < 99.5 {
        vec![format!("The shares in this data are cut to whole percents: they add up to {low:.0}–{high:.0} %.")]
    } else {
        Vec::new()
    }
}

fn pattern(name: &str) -> &str {
    match name {
        "randread" => "random read",
        "randwrite" => "random write",
        "read" => "sequential read",
        "write" => "sequential write",
        other => other,
    }
}

/// `8K` in bytes.
fn bytes(text: &str) -> Option<u64> {
    let (digits, shift) = match text.trim().to_ascii_lowercase() {
        text if text.ends_with('k') => (text[..text.len() - 1].to_owned(), 10),
        text if text.ends_with('m') => (text[..text.len() - 1].to_owned(), 20),
        text => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}
