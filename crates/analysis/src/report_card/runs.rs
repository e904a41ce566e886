//! Which run of a sweep is which test of a card, and whether it says something of the storage.

use super::profiles::Test;
use crate::checks::{LEAST_BUSY_SHARE, MOST_BUSY_SHARE};
use measure::text;
use model::measurement::BusyUsers;
use model::reading::ReadKind;
use model::{JobResult, Measurement, RunResult};

/// A run of a test.
#[derive(Clone, Copy, Debug)]
pub struct Run<'rows> {
    /// Its numbers.
    pub row: &'rows Measurement,
    /// Block size in bytes.
    pub block_bytes: u64,
    /// I/Os in flight: users × depth. A sweep over depth is graded like one over users.
    pub load: u32,
}

/// The runs of a test: those nearest to what its bounds were made for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Runs<'rows> {
    /// The run whose latency is graded.
    pub base: Option<Run<'rows>>,
    /// A run of the same block size with more load.
    pub more: Option<Run<'rows>>,
}

/// The runs of a test in a sweep. Of equal ones the last counts.
pub fn runs<'rows>(rows: &'rows [Measurement], test: &Test) -> Runs<'rows> {
    let all = || rows.iter().rev().filter(|row| test.takes(row)).filter_map(Run::of);
    let stands_for = |run: &Run<'_>, users: u32| {
        let [least, most] = Test::loads(users);
        (least..=most).contains(&run.load)
    };
    let Some(base) = nearest(all().filter(|run| stands_for(run, test.users)), test, test.users) else {
        return Runs::default();
    };
    let heavier = all().filter(|run| run.block_bytes == base.block_bytes && run.load > base.load);
    let more = nearest(heavier.filter(|run| stands_for(run, test.more_users)), test, test.more_users);
    Runs { base: Some(base), more }
}

/// The run with the least ratio of its block size and load to those of the test; of equal ones the lighter, then the
/// one with more users and less depth.
fn nearest<'rows>(all: impl Iterator<Item = Run<'rows>>, test: &Test, users: u32) -> Option<Run<'rows>> {
    let ratio = |one: f64, other: f64| (one / other).log2().abs();
    let distance = |run: &Run<'_>| {
        ratio(run.block_bytes as f64, test.block_bytes as f64) + ratio(f64::from(run.load), f64::from(users))
    };
    let order = |one: &Run<'_>, other: &Run<'_>| {
        let by_distance = distance(one).total_cmp(&distance(other));
        by_distance.then(one.load.cmp(&other.load)).then(one.depth().total_cmp(&other.depth()))
    };
    all.min_by(order)
}

impl<'rows> Run<'rows> {
    /// The run of a row; `None` if its users or its block size are not known.
    pub(super) fn of(row: &'rows Measurement) -> Option<Run<'rows>> {
        let run = Run { row, block_bytes: row.block?.0, load: 0 };
        let load = row.users? * run.depth();
        (load >= 1.0).then(|| Run { load: whole(load), ..run })
    }

    /// I/Os in flight of each user.
    pub fn depth(&self) -> f64 {
        self.row.depth.unwrap_or(1.0).max(1.0)
    }

    /// Why it has no grade, if so: an error, what a check found, or idle users.
    pub(super) fn usable(&self) -> Result<(), String> {
        let (row, load) = (self.row, self.load);
        if let Some(errno) = row.errno {
            return Err(format!("the run by {load} ended with error {errno:.0}"));
        }
        if let Some(reason) = &row.no_grade {
            return Err(format!("by {} {reason}", text::counted(load.into(), "user")));
        }
        self.busy()
    }

    /// Checks by Little's law that the users were busy: IOPS × mean latency is the number of busy users.
    fn busy(&self) -> Result<(), String> {
        let of =
            |busy: f64, asked: f64| Err(format!("IOPS × latency says that {busy:.1} of {asked:.0} users were busy"));
        match self.row.busy_users {
            Some(BusyUsers::Fit) => return Ok(()),
            Some(BusyUsers::Odd { busy, asked }) => return of(busy, asked),
            None => {}
        }
        let (Some(iops), Some(mean_ns)) = (self.row.iops, self.row.mean_ns) else {
            return Err("IOPS or mean latency are not known, so it is not known whether the users were busy".to_owned());
        };
        let asked = f64::from(self.load);
        let busy = iops * mean_ns / 1e9;
        if (LEAST_BUSY_SHARE..=MOST_BUSY_SHARE).contains(&(busy / asked)) {
            return Ok(());
        }
        of(busy, asked)
    }
}

/// Why such writes have no grade.
const UNSTABLE: &str =
    "the writes do not wait for stable storage, so they are not commits (sync=dsync makes them wait)";

/// Takes writes of a result that do not wait for stable storage off the card: they are not commits. `result` is one of
/// plumb, which states how each job writes.
pub fn mark_unstable_writes<'rows>(result: &RunResult, rows: impl Iterator<Item = &'rows mut Measurement>) {
    let unstable = |job: &JobResult| {
        job.directions.write.ios > 0 && job.workload.as_ref().is_some_and(|load| !load.flushes.by_each_write)
    };
    if !result.jobs.iter().any(unstable) {
        return;
    }
    for row in rows.filter(|row| row.kind == Some(ReadKind::Write)) {
        row.no_grade.get_or_insert_with(|| UNSTABLE.to_owned());
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count; saturates")]
fn whole(count: f64) -> u32 {
    count.round() as u32
}
