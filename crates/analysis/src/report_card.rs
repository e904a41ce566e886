//! Report card: grades of latency and scaling for the tests of a sweep.
//!
//! Owns choice of tests, thresholds, grades and their verdict. A run is graded only if its users were busy.

mod devices;
mod profiles;
mod runs;

pub use devices::{Disk, ProfileChoice, disks_of, profile_of};
use measure::text;
use model::Measurement;
use model::measurement::ms;
pub use profiles::{Bounds, GRADES, Need, PROFILES, Profile, TESTS, Test, profile};
pub use runs::{Run, Runs, mark_unstable_writes, runs};
use serde::Serialize;

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
    /// Measured, but the card has no profile, so there are no bounds.
    Measured {
        /// Latency in milliseconds.
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
    /// Name of the run, for example `log write 8K`; without one, the runs that would fit.
    pub test: String,
    /// Block size of the run in bytes; `None` if no run is this test.
    pub block_bytes: Option<u64>,
    /// Number of users in the base run, or of I/Os in flight.
    pub users: u32,
    /// The same in the run with more load.
    pub more_users: u32,
    /// True if a card needs this test.
    #[serde(skip)]
    pub need: Need,
    /// The bounds of the latency grades in milliseconds; `None` without a run or a profile.
    pub bounds_ms: Option<Bounds>,
    /// Marks for the mean, 95th and 99th percentile.
    pub marks: Vec<Marks>,
}

/// Card for one sweep.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Card {
    /// Name of the system or sweep.
    pub system: String,
    /// Name of the profile with the bounds; `None` if none fits what was measured.
    pub profile: Option<&'static str>,
    /// One line per test of [`TESTS`].
    pub lines: Vec<Line>,
    /// Runs whose grades are of averages over phases that differ, and for each its rate that lasts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lasting: Vec<(String, String)>,
}

impl Card {
    /// True if a run is one of its tests, graded or not.
    pub fn is_measured(&self) -> bool {
        self.lines.iter().any(|line| line.block_bytes.is_some())
    }

    /// The whole card in a line if no latency has a grade: why, and what to run.
    ///
    /// ```
    /// use analysis::report_card::card;
    ///
    /// assert_eq!(
    ///     card("sda", &[], None).without_grades().as_deref(),
    ///     Some("sda: no grades, because no run is a test of the report card: plumb survey PATH measures them")
    /// );
    /// ```
    pub fn without_grades(&self) -> Option<String> {
        // A finding is one reason, for whatever number of users it holds and with whatever numbers: `by 16 users the
        // hypervisor took 13 %`.
        let cause = |reason: &str| {
            let found = reason.split_once(" users ").map_or(reason, |(_, found)| found);
            found.split(|one: char| one.is_ascii_digit()).next().unwrap_or_default().to_owned()
        };
        let mut reasons: Vec<&str> = Vec::new();
        for line in self.lines.iter().filter(|line| line.block_bytes.is_some()) {
            for marks in &line.marks {
                match &marks.latency {
                    Mark::Graded { .. } | Mark::Measured { .. } => return None,
                    Mark::Unknown { reason } if reasons.iter().any(|known| cause(known) == cause(reason)) => {}
                    Mark::Unknown { reason } => reasons.push(reason),
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

impl Line {
    /// The missing runs, if the card needs them: those that would fit.
    pub fn missing(&self) -> Option<&str> {
        (self.block_bytes.is_none() && self.need == Need::Always).then_some(self.test.as_str())
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
pub fn card(system: &str, rows: &[Measurement], profile: Option<&'static Profile>) -> Card {
    let found: Vec<Runs<'_>> = TESTS.iter().map(|test| runs(rows, test)).collect();
    let lines = found.iter().enumerate().map(|(at, runs)| line(at, runs, profile)).collect();
    let all = TESTS.iter().zip(&found).flat_map(|(test, runs)| [runs.base, runs.more].map(|run| (test, run)));
    let lasting = all.filter_map(|(test, run)| {
        let run = run.filter(|run| run.usable().is_ok())?;
        let lasting = run.row.lasting.as_ref()?;
        Some((format!("{} by {}", test.named(run.block_bytes), run.load), lasting.sentence.clone()))
    });
    Card { system: system.to_owned(), profile: profile.map(|profile| profile.name), lines, lasting: lasting.collect() }
}

/// The line of one of [`TESTS`].
fn line(at: usize, runs: &Runs<'_>, profile: Option<&Profile>) -> Line {
    let test = &TESTS[at];
    let Runs { base, more } = runs;
    let bounds_ms = base.as_ref().zip(profile);
    let bounds_ms = bounds_ms.map(|(run, profile)| profile.bounds_ms(at, run.block_bytes, run.load.into()));
    let marks = Metric::ALL.into_iter().map(|metric| {
        let unknown = |reason| Mark::Unknown { reason };
        let latency = value(test, base.as_ref(), metric).map(|value| match &bounds_ms {
            Some(bounds) => Mark::Graded { grade: grade_of(value, bounds), value },
            None => Mark::Measured { value },
        });
        let scaling = scaling(test, runs, metric);
        Marks { metric, latency: latency.unwrap_or_else(unknown), scaling: scaling.unwrap_or_else(unknown) }
    });
    Line {
        test: base.map_or_else(|| test.range(), |run| test.named(run.block_bytes)),
        block_bytes: base.map(|run| run.block_bytes),
        users: base.map_or(test.users, |run| run.load),
        more_users: more.map_or(test.more_users, |run| run.load),
        need: test.need,
        marks: marks.collect(),
        bounds_ms,
    }
}

/// The latency of the base run in milliseconds, or why it has no grade.
fn value(test: &Test, base: Option<&Run<'_>>, metric: Metric) -> Result<f64, String> {
    let run = base.ok_or_else(|| format!("there is no run of {}", test.range()))?;
    run.usable()?;
    metric.value(run.row)
}

fn scaling(test: &Test, runs: &Runs<'_>, metric: Metric) -> Result<Mark, String> {
    let from = value(test, runs.base.as_ref(), metric)?;
    let (Some(base), Some(more)) = (&runs.base, &runs.more) else {
        let (size, [least, most]) = (runs.base.map_or(test.block_bytes, |run| run.block_bytes), test.more_loads());
        return Err(format!("there is no run of {} by {least} to {most} users", test.named(size)));
    };
    more.usable()?;
    let to = metric.value(more.row)?;
    if from <= 0.0 {
        return Err("the base latency is 0: no ratio".to_owned());
    }
    let value = queueing(to / from, f64::from(more.load) / f64::from(base.load));
    Ok(Mark::Graded { grade: grade_of(value, &SCALING), value })
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
