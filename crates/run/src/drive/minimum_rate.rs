//! Minimum rates of a job: `rate_min` and `rate_iops_min`.

use measure::{Direction, Nanos};
use plan::JobPlan;

/// Time after the start in which rates are not checked.
const GRACE: Nanos = Nanos::from_secs(2);

/// Bytes and I/Os completed so far, by direction.
pub(super) type Amounts = ([u64; 3], [u64; 3]);

/// The minimum rates of a job, and the cycle over which they are averaged.
#[derive(Clone, Debug)]
pub(super) struct MinimumRate {
    least: [(Option<u64>, Option<u64>); 3],
    cycle: Nanos,
    /// Start of the current cycle, and the amounts at that moment; `None` during the grace period.
    began: Option<(Nanos, Amounts)>,
    due: Nanos,
}

impl MinimumRate {
    pub(super) fn new(job: &JobPlan, now: Nanos) -> Option<MinimumRate> {
        let of = |direction: Direction| {
            let moves = job.load.mix.contains(direction);
            let rate = job.pace.least_rate[direction].map(measure::BytesPerSecond::get);
            (rate.filter(|_| moves), job.pace.least_iops[direction].filter(|_| moves))
        };
        let least = Direction::ALL.map(of);
        if least.iter().all(|(rate, iops)| rate.is_none() && iops.is_none()) {
            return None;
        }
        let cycle = job.pace.rate_cycle.max(Nanos::from_millis(1));
        Some(MinimumRate { least, cycle, began: None, due: now.saturating_add(GRACE) })
    }

    pub(super) const fn due(&self) -> Nanos {
        self.due
    }

    /// Checks the cycle that ends at `now`: a message if a minimum was not met.
    pub(super) fn check(&mut self, now: Nanos, amounts: Amounts) -> Option<String> {
        self.due = now.saturating_add(self.cycle);
        let (began, before) = self.began.replace((now, amounts))?;
        let elapsed = u128::from(now.saturating_sub(began).get().max(1));
        let rate = |now: u64, before: u64| {
            let moved = u128::from(now.saturating_sub(before)) * u128::from(Nanos::SECOND.get());
            u64::try_from(moved / elapsed).unwrap_or(u64::MAX)
        };
        (0..3).find_map(|at| {
            let bytes = rate(amounts.0[at], before.0[at]);
            let ios = rate(amounts.1[at], before.1[at]);
            match self.least[at] {
                (Some(least), _) if bytes < least => Some(format!("rate_min={least}B/s not met, got {bytes}B/s")),
                (_, Some(least)) if ios < least => Some(format!("rate_iops_min={least} not met, got {ios} IOPS")),
                _ => None,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::BytesPerSecond;

    fn floor(change: impl FnOnce(&mut JobPlan)) -> MinimumRate {
        let mut job = JobPlan::with_defaults("a", "test", "null");
        change(&mut job);
        MinimumRate::new(&job, Nanos::ZERO).unwrap()
    }

    // After 2 s, averaged over rate_cycle.
    #[test]
    fn a_floor_is_judged_after_the_grace_over_whole_cycles() {
        let mut floor = floor(|job| job.pace.least_iops.read = Some(90));
        assert_eq!(floor.due(), Nanos::from_secs(2));
        assert_eq!(floor.check(Nanos::from_secs(2), ([0; 3], [0; 3])), None);
        assert_eq!(floor.due(), Nanos::from_secs(3));
        assert_eq!(floor.check(Nanos::from_secs(3), ([0; 3], [90, 0, 0])), None);
        let said = floor.check(Nanos::from_secs(4), ([0; 3], [179, 0, 0]));
        assert_eq!(said.as_deref(), Some("rate_iops_min=90 not met, got 89 IOPS"));
    }

    #[test]
    fn a_direction_that_does_not_move_has_no_floor() {
        let mut job = JobPlan::with_defaults("a", "test", "null");
        job.pace.least_rate.write = Some(BytesPerSecond(1));
        assert!(MinimumRate::new(&job, Nanos::ZERO).is_none());
        let mut floor = floor(|job| job.pace.least_rate.read = Some(BytesPerSecond(1000)));
        floor.check(Nanos::from_secs(2), ([0; 3], [0; 3]));
        let said = floor.check(Nanos::from_secs(3), ([999, 0, 0], [1, 0, 0]));
        assert_eq!(said.as_deref(), Some("rate_min=1000B/s not met, got 999B/s"));
    }
}
