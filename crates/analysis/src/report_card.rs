//! Report card: grades of latency and scaling for the tests of a sweep.
//!
//! Owns choice of tests, thresholds, grades and their verdict. A run is graded only if its users were busy.

mod profiles;

use crate::checks::{LEAST_BUSY_SHARE, MOST_BUSY_SHARE};
use measure::text;
use model::Measurement;
use model::measurement::ms;
pub use profiles::{Disk, PROFILES, Profile, ProfileChoice, Test, disks_of, profile, profile_of};
use serde::Serialize;

/// Grades from best to worst; the last has no upper bound.
pub const GRADES: [&str; 8] = ["A+", "A", "A-", "B", "B-", "C", "C-", "D"];
/// Upper bounds of all grades but the last; a value equal to the bound has the better grade.
pub type Bounds = [f64; 7];

/// Bounds of queueing: 0 if latency does not change with load, 1 for a device that serves one user at a time.
pub const SCALING: Bounds = [0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.9];

/// Latency metric that is graded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// The mean.
    Mean,
    /// The 95th percentile.
    P95,
    /// The 99th percentile.
    P99,
}

impl Metric {
    /// All metrics, in the order of the card.
    pub const ALL: [Metric; 3] = [Metric::Mean, Metric::P95, Metric::P99];

    /// Its value in a row in milliseconds, or the reason for which there is none.
    fn value(self, row: &Measurement) -> Result<f64, String> {
        self.of(row).ok_or_else(|| {
            let name = match self {
                Metric::Mean => return "this latency was not measured".to_owned(),
                Metric::P95 => "95 %",
                Metric::P99 => "99 %",
            };
            format!("the result has no {name} percentile: there were too few I/Os for it, or it was not measured")
        })
    }

    /// Its value in a row in milliseconds, the unit of the bounds.
    fn of(self, row: &Measurement) -> Option<f64> {
        match self {
            Metric::Mean => ms(row.mean_ns),
            Metric::P95 => ms(row.percentiles_ns[0]),
            Metric::P99 => ms(row.percentiles_ns[1]),
        }
    }
}

/// A grade with its value, or the reason for a missing grade.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// The grade and its value.
    Graded {
        /// One of [`GRADES`].
        grade: &'static str,
        /// Latency in milliseconds, or queueing.
        value: f64,
    },
    /// Not graded.
    Unknown {
        /// Reason, as a sentence.
        reason: String,
    },
}

/// Marks for one metric of one test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Marks {
    /// Latency metric.
    pub metric: Metric,
    /// Mark for the latency in milliseconds, at the base number of users.
    pub latency: Mark,
    /// Mark for queueing from the base to the higher number of users.
    pub scaling: Mark,
}

/// One test on a card.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// Name of the test.
    pub test: String,
    /// Number of users in the base run.
    pub users: u32,
    /// Number of users in the run with more load.
    pub more_users: u32,
    /// True if a run of this test by these users exists, graded or not.
    pub measured: bool,
    /// Marks for the mean, 95th and 99th percentile.
    pub marks: Vec<Marks>,
}

/// Card for one sweep.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Card {
    /// Name of the system or sweep.
    pub system: String,
    /// Name of the profile with the bounds.
    pub profile: &'static str,
    /// One line per test.
    pub lines: Vec<Line>,
    /// Runs whose grades are of averages over phases that differ, and for each its rate that lasts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lasting: Vec<(String, String)>,
}

impl Card {
    /// True if a run is one of its tests, graded or not.
    pub fn is_measured(&self) -> bool {
        self.lines.iter().any(|line| line.measured)
    }

    /// The whole card in a line if no latency has a grade: why, and what to run.
    ///
    /// ```
    /// use analysis::report_card::{PROFILES, card};
    ///
    /// assert_eq!(
    ///     card("sda", &[], &PROFILES[0]).without_grades().as_deref(),
    ///     Some("sda: no grades, because no run is a test of the report card: plumb survey PATH measures them")
    /// );
    /// ```
    pub fn without_grades(&self) -> Option<String> {
        let mut reasons: Vec<&str> = Vec::new();
        for line in self.lines.iter().filter(|line| line.measured) {
            for marks in &line.marks {
                match &marks.latency {
                    Mark::Graded { .. } => return None,
                    Mark::Unknown { reason } => measure::push_new(&mut reasons, reason.as_str()),
                }
            }
        }
        let why = match reasons.as_slice() {
            [] => "no run is a test of the report card: plumb survey PATH measures them".to_owned(),
            [only] => (*only).to_owned(),
            [first, rest @ ..] => format!("{first}; {}", text::counted(rest.len() as u64, "more reason")),
        };
        Some(format!("{}: no grades, because {why}", self.system))
    }
}

/// Grade of a value: that of the first bound it does not exceed.
pub fn grade_of(value: f64, bounds: &Bounds) -> &'static str {
    GRADES[bounds.iter().position(|&bound| value <= bound).unwrap_or(bounds.len())]
}

/// Fraction of the added users that only queued.
pub fn queueing(latency_ratio: f64, user_ratio: f64) -> f64 {
    (latency_ratio - 1.0) / (user_ratio - 1.0)
}

/// Builds the card of a sweep. If a test was run several times, the last run counts.
pub fn card(system: &str, rows: &[Measurement], profile: &'static Profile) -> Card {
    let lines = profile.tests.iter().map(|test| line(rows, test)).collect();
    let runs = profile.tests.iter().flat_map(|test| [(test, test.users), (test, test.more_users)]);
    let lasting = runs.filter_map(|(test, users)| {
        let lasting = run_of(rows, test, users).ok()?.lasting.as_ref()?;
        Some((format!("{} by {users}", test.shown()), lasting.sentence.clone()))
    });
    Card { system: system.to_owned(), profile: profile.name, lines, lasting: lasting.collect() }
}

fn line(rows: &[Measurement], test: &'static Test) -> Line {
    let (base, more) = (run_of(rows, test, test.users), run_of(rows, test, test.more_users));
    let marks = Metric::ALL
        .into_iter()
        .map(|metric| {
            let latency = base.as_ref().map_err(Clone::clone).and_then(|row| {
                let value = metric.value(row)?;
                Ok(Mark::Graded { grade: grade_of(value, &test.bounds_ms), value })
            });
            let scaling = scaling(&base, &more, metric, f64::from(test.more_users) / f64::from(test.users));
            let unknown = |reason| Mark::Unknown { reason };
            Marks { metric, latency: latency.unwrap_or_else(unknown), scaling: scaling.unwrap_or_else(unknown) }
        })
        .collect();
    let measured = fitting(rows, test, test.users).is_some();
    Line { test: test.shown(), users: test.users, more_users: test.more_users, measured, marks }
}

type Run<'rows> = Result<&'rows Measurement, String>;

fn scaling(base: &Run<'_>, more: &Run<'_>, metric: Metric, users: f64) -> Result<Mark, String> {
    let value = |run: &Run<'_>| -> Result<f64, String> { metric.value(run.clone()?) };
    let (from, to) = (value(base)?, value(more)?);
    if from <= 0.0 {
        return Err("the base latency is 0: no ratio".to_owned());
    }
    let value = queueing(to / from, users);
    Ok(Mark::Graded { grade: grade_of(value, &SCALING), value })
}

/// The run of a test with this number of users: each a user with one I/O in flight, or, where there is no such run, as
/// many I/Os in flight of fewer users. A sweep over depth is graded like a sweep over users.
fn fitting<'rows>(rows: &'rows [Measurement], test: &Test, users: u32) -> Option<&'rows Measurement> {
    let is = |found: f64| (found - f64::from(users)).abs() < 0.5;
    let by_users = |row: &&Measurement| test.fits(row) && row.users.is_some_and(is);
    let in_flight = |row: &&Measurement| {
        test.fits(row) && row.users.is_some_and(|users| is(users * row.depth.unwrap_or(1.0).max(1.0)))
    };
    let one_each = |row: &&Measurement| by_users(row) && in_flight(row);
    let newest = || rows.iter().rev();
    newest().find(one_each).or_else(|| newest().find(in_flight)).or_else(|| newest().find(by_users))
}

/// The same, if it says something of the storage and the users were busy.
fn run_of<'rows>(rows: &'rows [Measurement], test: &Test, users: u32) -> Run<'rows> {
    let row = fitting(rows, test, users);
    let row = row.ok_or_else(|| format!("there is no run of {} {} by {users}", test.pattern.word(), test.block()))?;
    if let Some(errno) = row.errno {
        return Err(format!("the run by {users} ended with error {errno:.0}"));
    }
    if let Some(reason) = &row.no_grade {
        return Err(format!("by {users} users {reason}"));
    }
    busy(row, users)?;
    Ok(row)
}

/// Checks by Little's law that the users were busy: IOPS × mean latency is the number of busy users.
fn busy(row: &Measurement, users: u32) -> Result<(), String> {
    let (Some(iops), Some(mean_ns)) = (row.iops, row.mean_ns) else {
        return Err("IOPS or mean latency are not known, so it is not known whether the users were busy".to_owned());
    };
    let asked = row.users.unwrap_or(f64::from(users)) * row.depth.unwrap_or(1.0).max(1.0);
    let busy = iops * mean_ns / 1e9;
    if (LEAST_BUSY_SHARE..=MOST_BUSY_SHARE).contains(&(busy / asked)) {
        return Ok(());
    }
    Err(format!("IOPS × latency says that {busy:.1} of {asked:.0} users were busy"))
}

/// Grades of one workload, `A+` to `D`; `None` if not graded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkloadGrades {
    /// For example `index lookups`.
    pub workload: String,
    /// Grade of its latency.
    pub latency: Option<String>,
    /// Grade of its scaling.
    pub scaling: Option<String>,
}

/// The two sentences of a card; empty for a card without rows.
pub fn verdict(rows: &[WorkloadGrades]) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let latency = of(
        rows,
        |row| row.latency.as_deref(),
        |first| match first {
            'A' => "good",
            'B' => "fair",
            'C' => "slow",
            _ => "too slow",
        },
    );
    let scaling = of(
        rows,
        |row| row.scaling.as_deref(),
        |first| match first {
            'A' => "takes more load",
            'B' => "queues in part",
            'C' => "mostly queues",
            _ => "saturated",
        },
    );
    vec![format!("Latency: {latency}"), format!("Scaling: {scaling}")]
}

/// For example `good (A+, A) for index lookups and full scans; 2 of 4 not graded.`
fn of<'rows>(
    rows: &'rows [WorkloadGrades],
    letter: impl Fn(&'rows WorkloadGrades) -> Option<&'rows str>,
    words: impl Fn(char) -> &'static str,
) -> String {
    let mut parts = Vec::new();
    for range in ['A', 'B', 'C', 'D'] {
        let graded =
            |row: &'rows WorkloadGrades| Some((letter(row).filter(|it| it.starts_with(range))?, row.workload.as_str()));
        let (mut letters, names): (Vec<&str>, Vec<&str>) = rows.iter().filter_map(graded).unzip();
        // A+ before A before A-, as on the card.
        letters.sort_by_key(|letter| ["+", "", "-"].iter().position(|sign| *sign == &letter[1..]));
        letters.dedup();
        let word = format!("{} ({})", words(range), letters.join(", "));
        match names.as_slice() {
            [] => {}
            [_] if rows.len() == 1 => parts.push(word),
            [_, _] if rows.len() == 2 => parts.push(format!("{word} for both")),
            all if all.len() == rows.len() => parts.push(format!("{word} for all {}", all.len())),
            names => parts.push(format!("{word} for {}", text::listed(names))),
        }
    }
    let open = rows.iter().filter(|row| letter(row).is_none()).count();
    match open {
        0 => {}
        all if all == rows.len() => parts.push("not graded, for the reasons below".to_owned()),
        open => parts.push(format!("{open} of {} not graded", rows.len())),
    }
    format!("{}.", parts.join("; "))
}

#[cfg(test)]
mod tests;
