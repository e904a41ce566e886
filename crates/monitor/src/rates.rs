//! Differences of counters to rates, with iostat's arithmetic.

use crate::counters::{DeviceCounters, OperationCounters};
use model::{DeviceActivity, FlushActivity, OperationActivity};

/// Rates of what was `gained` in an interval of so many hundredths of a second (0 counts as 1), by one device or, for
/// the sum of a group, by `members` devices.
pub fn device_activity(name: &str, gained: &DeviceCounters, centiseconds: u64, members: usize) -> DeviceActivity {
    let interval = Interval(centiseconds.max(1));
    let discards = gained.discards.unwrap_or_default();
    let flushes = gained.flushes.unwrap_or_default();
    DeviceActivity {
        name: name.to_owned(),
        reads: interval.operation(&gained.reads),
        writes: interval.operation(&gained.writes),
        discards: interval.operation(&discards),
        together: interval.operation(&sum(&[gained.reads, gained.writes, discards])),
        flushes: FlushActivity {
            per_second: interval.rate(flushes.ios),
            await_ms: mean(flushes.ticks_ms, flushes.ios),
        },
        queue: interval.rate(gained.in_queue_ms) / 1000.0,
        utilisation_percent: interval.rate(gained.busy_ms) / 10.0 / float(members.max(1) as u64),
    }
}

/// Hundredths of a second, at least one.
struct Interval(u64);

impl Interval {
    fn rate(&self, gained: u64) -> f64 {
        float(gained) / float(self.0) * 100.0
    }

    fn operation(&self, gained: &OperationCounters) -> OperationActivity {
        OperationActivity {
            per_second: self.rate(gained.ios),
            sectors: gained.sectors,
            sectors_per_second: self.rate(gained.sectors),
            merges_per_second: self.rate(gained.merges),
            merged_percent: mean(gained.merges, gained.merges.saturating_add(gained.ios)) * 100.0,
            await_ms: mean(gained.ticks_ms, gained.ios),
            request_sectors: mean(gained.sectors, gained.ios),
        }
    }
}

fn sum(operations: &[OperationCounters]) -> OperationCounters {
    operations.iter().fold(OperationCounters::default(), |sum, more| OperationCounters {
        ios: sum.ios.saturating_add(more.ios),
        merges: sum.merges.saturating_add(more.merges),
        sectors: sum.sectors.saturating_add(more.sectors),
        ticks_ms: sum.ticks_ms.saturating_add(more.ticks_ms),
    })
}

/// 0 where there is nothing to share among.
fn mean(total: u64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { float(total) / float(count) }
}

#[expect(clippy::cast_precision_loss, reason = "rates are shown with two decimals; counters stay below 2^53")]
fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_seconds_of_known_work_give_its_rates() {
        let gained = DeviceCounters::parse("100 25 800 50 40 60 3200 200 0 1500 250 10 0 160 5 4 8").unwrap();
        let activity = device_activity("sda", &gained, 200, 1);
        let reads = activity.reads;
        assert_eq!((reads.per_second, reads.merges_per_second, reads.merged_percent), (50.0, 12.5, 20.0));
        assert_eq!((reads.sectors_per_second, reads.await_ms, reads.request_sectors), (400.0, 0.5, 8.0));
        assert_eq!((activity.writes.merged_percent, activity.writes.await_ms), (60.0, 5.0));
        assert_eq!((activity.together.per_second, activity.together.await_ms), (75.0, 1.7));
        assert_eq!((activity.flushes.per_second, activity.flushes.await_ms), (2.0, 2.0));
        assert_eq!((activity.queue, activity.utilisation_percent), (0.125, 75.0));
    }

    #[test]
    fn an_interval_of_nothing_counts_as_a_hundredth() {
        let gained = DeviceCounters::parse("3 0 24 6 0 0 0 0 0 0 0").unwrap();
        assert_eq!(device_activity("sda", &gained, 0, 1), device_activity("sda", &gained, 1, 1));
        let idle = device_activity("sda", &DeviceCounters::default(), 100, 1);
        assert_eq!((idle.reads.await_ms, idle.reads.merged_percent, idle.reads.request_sectors), (0.0, 0.0, 0.0));
    }

    #[test]
    fn a_group_is_as_busy_as_its_members_are_on_average() {
        let gained = DeviceCounters::parse("0 0 0 0 0 0 0 0 0 1500 2000").unwrap();
        let group = device_activity(" g", &gained, 100, 2);
        assert_eq!((group.utilisation_percent, group.queue), (75.0, 2.0));
    }
}
