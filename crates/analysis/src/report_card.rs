//! The report card: grades of latency and of scaling for the tests of a sweep.
//!
//! Owns selection, bounds and the arithmetic of grades. A grade is given only to a run whose users were busy; where
//! there is none, the card says why.

mod profiles;

pub use profiles::{PROFILES, Profile, Test, profile};

use crate::checks::{LEAST_BUSY_SHARE, MOST_BUSY_SHARE};
use model::reading::Measurement;
use serde::Serialize;

/// The grades from best to worst; the last has no bound.
pub const GRADES: [&str; 8] = ["A+", "A", "A-", "B", "B-", "C", "C-", "D"];
/// Bounds of grades: all but the last grade have one, and it belongs to the better grade.
pub type Bounds = [f64; 7];

/// Bounds of queueing: of (latency ratio − 1) ÷ (user ratio − 1), 0 for a device that does not notice, 1 for one
/// that serves one user at a time.
pub const SCALING: Bounds = [0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.9];

/// Which latency is graded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// The mean.
    Mean,
    /// The 95 % point.
    P95,
    /// The 99 % point.
    P99,
}

impl Metric {
    /// All of them, in the card's order.
    pub const ALL: [Metric; 3] = [Metric::Mean, Metric::P95, Metric::P99];

    fn of(self, row: &Measurement) -> Option<f64> {
        match self {
            Metric::Mean => row.mean_ms,
            Metric::P95 => row.percentiles_ms[0],
            Metric::P99 => row.percentiles_ms[1],
        }
    }
}

/// A grade with its number, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// The grade and the value it is for.
    Graded {
        /// One of [`GRADES`].
        grade: &'static str,
        /// Milliseconds, or queueing.
        value: f64,
    },
    /// Why not.
    Unknown {
        /// A sentence.
        reason: String,
    },
}

/// The marks of one metric of one test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Marks {
    /// Which latency.
    pub metric: Metric,
    /// Of the latency with the base number of users, in milliseconds.
    pub latency: Mark,
    /// Of queueing from there to more users.
    pub scaling: Mark,
}

/// One test of a card.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// What it is.
    pub test: &'static str,
    /// Users of the base run.
    pub users: u32,
    /// Users of the run that it is compared with.
    pub more_users: u32,
    /// Grades for mean, 95 % and 99 %.
    pub marks: Vec<Marks>,
}

/// The card of one sweep.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Card {
    /// Which sweep.
    pub system: String,
    /// Whose bounds.
    pub profile: &'static str,
    /// A line per test.
    pub lines: Vec<Line>,
}

/// The grade of a value: that of the first bound it does not exceed.
pub fn grade_of(value: f64, bounds: &Bounds) -> &'static str {
    GRADES[bounds.iter().position(|&bound| value <= bound).unwrap_or(bounds.len())]
}

/// How much of added users turned into waiting.
pub fn queueing(latency_ratio: f64, user_ratio: f64) -> f64 {
    (latency_ratio - 1.0) / (user_ratio - 1.0)
}

/// The card of a sweep. Of several runs of a kind the last counts.
pub fn card(system: &str, rows: &[Measurement], profile: &'static Profile) -> Card {
    let lines = profile.tests.iter().map(|test| line(rows, test)).collect();
    Card { system: system.to_owned(), profile: profile.name, lines }
}

fn line(rows: &[Measurement], test: &'static Test) -> Line {
    let (base, more) = (run_of(rows, test, test.users), run_of(rows, test, test.more_users));
    let marks = Metric::ALL
        .into_iter()
        .map(|metric| {
            let latency = base.as_ref().map_err(Clone::clone).and_then(|row| {
                let value = metric.of(row).ok_or_else(|| "this latency was not measured".to_owned())?;
                Ok(Mark::Graded { grade: grade_of(value, &test.bounds_ms), value })
            });
            let scaling = scaling(&base, &more, metric, f64::from(test.more_users) / f64::from(test.users));
            let unknown = |reason| Mark::Unknown { reason };
            Marks { metric, latency: latency.unwrap_or_else(unknown), scaling: scaling.unwrap_or_else(unknown) }
        })
        .collect();
    Line { test: test.shown, users: test.users, more_users: test.more_users, marks }
}

type Run<'rows> = Result<&'rows Measurement, String>;

fn scaling(base: &Run<'_>, more: &Run<'_>, metric: Metric, users: f64) -> Result<Mark, String> {
    let value = |run: &Run<'_>| -> Result<f64, String> {
        metric.of(run.clone()?).ok_or_else(|| "this latency was not measured".to_owned())
    };
    let (from, to) = (value(base)?, value(more)?);
    if from <= 0.0 {
        return Err("the base latency is 0: no ratio".to_owned());
    }
    let value = queueing(to / from, users);
    Ok(Mark::Graded { grade: grade_of(value, &SCALING), value })
}

/// The run of a test with so many users, if its users were busy.
fn run_of<'rows>(rows: &'rows [Measurement], test: &Test, users: u32) -> Run<'rows> {
    let wanted = |row: &&Measurement| {
        row.name == test.pattern
            && row.block_size.as_deref() == Some(test.block_size)
            && row.users.is_some_and(|found| (found - f64::from(users)).abs() < 0.5)
    };
    let row = rows.iter().rev().find(wanted);
    let row = row.ok_or_else(|| format!("there is no run of {} {} by {users}", test.pattern, test.block_size))?;
    if let Some(errno) = row.errno {
        return Err(format!("the run by {users} ended with error {errno:.0}"));
    }
    busy(row, users)?;
    Ok(row)
}

/// Little's law: IOPS × mean latency is the number of users at work.
fn busy(row: &Measurement, users: u32) -> Result<(), String> {
    let (Some(iops), Some(mean_ms)) = (row.iops, row.mean_ms) else {
        return Err("IOPS or mean latency are not known, so nobody can tell whether the users were busy".to_owned());
    };
    let asked = f64::from(users) * row.depth.unwrap_or(1.0).max(1.0);
    let busy = iops * mean_ms / 1000.0;
    if (LEAST_BUSY_SHARE..=MOST_BUSY_SHARE).contains(&(busy / asked)) {
        return Ok(());
    }
    Err(format!("IOPS × latency says that {busy:.1} of {asked:.0} users were busy"))
}

#[cfg(test)]
mod tests;
