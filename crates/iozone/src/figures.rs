//! iozone's arithmetic: from the bytes and time of a pass to the printed numbers.

use crate::modes::Unit;
use measure::{Direction, Nanos};
use model::JobResult;
use plan::Listed;

/// Compute time of a worker in a pass, which is subtracted from the measured time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Computing<'a> {
    /// Time between two records.
    pub each: Nanos,
    /// Time before each record of a telemetry file.
    pub listed: &'a [Listed],
}

impl Computing<'_> {
    /// Total compute time for this number of records.
    fn of(self, records: u64) -> Nanos {
        let listed = usize::try_from(records).unwrap_or(usize::MAX).min(self.listed.len());
        let listed: Nanos = self.listed[..listed].iter().map(|listed| listed.compute).sum();
        Nanos(self.each.get().saturating_mul(records.saturating_sub(1))).saturating_add(listed)
    }
}

/// Bytes, records and time of one worker in a pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassTime {
    /// Bytes transferred.
    pub bytes: u64,
    /// Number of records.
    pub records: u64,
    /// Elapsed time without compute time.
    pub time: Nanos,
}

impl PassTime {
    /// CPU time of a worker in percent of the time from the start of its pass to the close of its file.
    pub fn cpu_percent(job: &JobResult) -> f64 {
        let wall = job.pass.map_or(job.runtime, |pass| pass.closed.saturating_sub(pass.from));
        let cpu = job.cpu.user.saturating_add(job.cpu.system);
        // Of a pass of some microseconds, what begins and ends the count is a part.
        (100.0 * seconds(cpu) / seconds(wall.max(Nanos(1)))).min(100.0)
    }

    /// The worker's totals up to the end of the first worker (stonewall), without compute time.
    pub fn of(job: &JobResult, computing: Computing<'_>) -> PassTime {
        let moved = |direction: Direction| (job.directions[direction].bytes, job.directions[direction].ios);
        let (bytes, records) =
            Direction::ALL.into_iter().map(moved).fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        let Some(pass) = job.pass else { return PassTime { bytes, records, time: job.runtime } };
        let (bytes, records, until) = match pass.mark {
            Some(mark) => (mark.bytes, mark.ios, mark.at),
            None => (bytes, records, pass.until),
        };
        let spent = computing.of(records);
        PassTime { bytes, records, time: until.saturating_sub(pass.from).saturating_sub(spent) }
    }

    fn seconds(self) -> f64 {
        seconds(self.time.max(Nanos(1)))
    }
}

fn seconds(time: Nanos) -> f64 {
    time.get() as f64 / 1e9
}

/// The integer in a row's column.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate")]
pub fn rate(pass: PassTime, unit: Unit) -> u64 {
    match unit {
        Unit::Rate => (pass.bytes as f64 / pass.seconds()) as u64 >> 10,
        Unit::Operations => operations(pass) as u64,
        Unit::Microseconds if pass.records == 0 => 0,
        Unit::Microseconds => (1e6 * pass.seconds() / pass.records as f64) as u64,
    }
}

/// Records per second.
pub fn operations(pass: PassTime) -> f64 {
    pass.records as f64 / pass.seconds()
}

/// Results of one child of a throughput test.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Child {
    /// kB or operations transferred before the first child finished.
    pub amount: f32,
    /// `amount` per second of the child's own time.
    pub throughput: f32,
    /// Wall time of the measured part in seconds.
    pub wall_s: f64,
    /// CPU time of the measured part in seconds.
    pub cpu_s: f64,
}

/// Results of a throughput test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Results of each child.
    pub children: Vec<Child>,
    /// Total amount divided by the time from the first release to the last end: the parent's throughput.
    pub parent: f64,
}

impl Figures {
    /// Computes the results from those of the children; `computing` gives the compute time of the child with a number.
    #[expect(clippy::cast_possible_truncation, reason = "iozone keeps 32-bit floats")]
    pub fn of<'a>(jobs: &[JobResult], unit: Unit, computing: impl Fn(u32) -> Computing<'a>) -> Figures {
        let child = |(index, job): (u32, &JobResult)| {
            let pass = PassTime::of(job, computing(index));
            let amount = match unit {
                Unit::Operations => pass.records as f64,
                Unit::Rate | Unit::Microseconds => pass.bytes as f64 / 1024.0,
            };
            let throughput = if pass.records == 0 { 0.0 } else { amount / pass.seconds() };
            let cpu = job.cpu.user.saturating_add(job.cpu.system);
            Child { amount: amount as f32, throughput: throughput as f32, wall_s: pass.seconds(), cpu_s: seconds(cpu) }
        };
        let children: Vec<Child> = (0..).zip(jobs).map(child).collect();
        let passes = || jobs.iter().filter_map(|job| job.pass);
        let from = passes().map(|pass| pass.from).filter(|from| !from.is_zero()).min().unwrap_or_default();
        let to = passes().map(|pass| pass.closed).max().unwrap_or_default();
        let wall_s = seconds(to.saturating_sub(from).max(Nanos(1)));
        let all: f64 = children.iter().map(|child| f64::from(child.amount)).sum();
        Figures { children, parent: all / wall_s }
    }

    /// Sum of the children's throughput.
    pub fn together(&self) -> f64 {
        self.children.iter().map(|child| f64::from(child.throughput)).sum()
    }

    /// Mean throughput per child.
    pub fn mean(&self) -> f64 {
        self.together() / self.children.len().max(1) as f64
    }

    /// Largest throughput of a child.
    pub fn most(&self) -> f64 {
        self.children.iter().map(|child| f64::from(child.throughput)).fold(0.0, f64::max)
    }

    /// Smallest throughput of a child, computed as iozone does.
    pub fn least(&self) -> f64 {
        running_least(self.children.iter().map(|child| child.throughput))
    }

    /// Smallest amount of a child, computed as iozone does.
    pub fn least_amount(&self) -> f64 {
        running_least(self.children.iter().map(|child| child.amount))
    }

    /// Wall time of the slowest child in seconds.
    pub fn wall_s(&self) -> f64 {
        self.children.iter().map(|child| child.wall_s).fold(0.0, f64::max)
    }

    /// CPU time of all children.
    pub fn cpu_s(&self) -> f64 {
        self.children.iter().map(|child| child.cpu_s).sum()
    }
}

/// The minimum as iozone computes it: a minimum of 0 counts as not set yet, so later values replace it.
fn running_least(values: impl Iterator<Item = f32>) -> f64 {
    let step = |least: f64, value: f64| if least == 0.0 || value < least { value } else { least };
    values
        .map(f64::from)
        .fold(None, |least: Option<f64>, value| Some(least.map_or(value, |least| step(least, value))))
        .unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_whole_kib_of_whole_bytes() {
        let pass = PassTime { bytes: 1 << 20, records: 256, time: Nanos::from_millis(3) };
        assert_eq!(rate(pass, Unit::Rate), 341_333);
        assert_eq!(rate(pass, Unit::Operations), 85_333);
        assert_eq!(rate(pass, Unit::Microseconds), 11);
        assert_eq!(rate(PassTime::default(), Unit::Microseconds), 0);
    }

    #[test]
    fn computing_is_what_the_records_that_were_moved_cost() {
        let listed = [3, 0, 5].map(|ms| Listed { offset: 0, length: 1, compute: Nanos::from_millis(ms) });
        let computing = Computing { each: Nanos::ZERO, listed: &listed };
        assert_eq!([0, 1, 3, 9].map(|records| computing.of(records).get() / 1_000_000), [0, 3, 8, 8]);
        let computing = Computing { each: Nanos::from_millis(2), listed: &[] };
        assert_eq!([0, 1, 3].map(|records| computing.of(records).get() / 1_000_000), [0, 0, 4]);
    }

    #[test]
    fn the_processor_is_used_by_all_children_while_the_slowest_runs() {
        let child = |wall_s, cpu_s| Child { wall_s, cpu_s, ..Child::default() };
        let figures = Figures { children: vec![child(1.0, 1.0), child(3.0, 2.5)], parent: 0.0 };
        assert_eq!((figures.wall_s(), figures.cpu_s()), (3.0, 3.5));
    }

    #[test]
    fn a_zero_at_the_beginning_gives_way_and_a_later_one_stays() {
        assert_eq!(running_least([0.0, 5.0, 3.0].into_iter()), 3.0);
        assert_eq!(running_least([4.0, 0.0].into_iter()), 0.0);
        assert_eq!(running_least([0.0].into_iter()), 0.0);
    }
}
