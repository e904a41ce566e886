//! Counter differences → rates, computed as in iostat.

use measure::float;
use model::{DeviceActivity, DeviceGain, FlushActivity, OperationActivity, RequestGain};

/// Rates of the counter increase `gained` in an interval of `centiseconds` hundredths of a second, for one device or,
/// for the sum of a group, for `members` devices. The kernel reports uptime in hundredths, so a shorter interval
/// appears as 0; it is taken as 1.
///
/// ```
/// use monitor::{counters, device_activity};
///
/// // 250 reads of 8 sectors in 5 seconds, which took 500 ms all together.
/// let gained = counters::parse("250 0 2000 500 0 0 0 0 0 450 500").expect("a stat file");
/// let activity = device_activity("sda", &gained, 500, 1);
/// assert_eq!((activity.reads.per_second, activity.reads.await_ms), (50.0, Some(2.0)));
/// assert_eq!((activity.queue, activity.utilisation_percent), (0.1, 9.0));
/// assert_eq!(activity.writes.await_ms, None);
/// ```
pub fn device_activity(name: &str, gained: &DeviceGain, centiseconds: u64, members: usize) -> DeviceActivity {
    let interval = Interval(centiseconds.max(1));
    let discards = gained.discards.unwrap_or_default();
    let (flushes, flush_ms) = gained.flushes.unwrap_or_default();
    DeviceActivity {
        name: name.to_owned(),
        reads: interval.operation(&gained.reads),
        writes: interval.operation(&gained.writes),
        discards: interval.operation(&discards),
        together: interval.operation(&sum(&[gained.reads, gained.writes, discards])),
        flushes: FlushActivity { per_second: interval.rate(flushes), await_ms: mean(flush_ms, flushes) },
        queue: interval.rate(gained.in_queue_ms) / 1000.0,
        utilisation_percent: interval.rate(gained.busy_ms) / 10.0 / float(members.max(1) as u64),
    }
}

/// Interval in hundredths of a second, at least one.
struct Interval(u64);

impl Interval {
    fn rate(&self, gained: u64) -> f64 {
        float(gained) / float(self.0) * 100.0
    }

    fn operation(&self, gained: &RequestGain) -> OperationActivity {
        OperationActivity {
            per_second: self.rate(gained.ios),
            sectors: gained.sectors,
            sectors_per_second: self.rate(gained.sectors),
            merges_per_second: self.rate(gained.merges),
            merged_percent: mean(gained.merges, gained.merges.saturating_add(gained.ios)).map(|part| part * 100.0),
            await_ms: mean(gained.ticks_ms, gained.ios),
            request_sectors: mean(gained.sectors, gained.ios),
        }
    }
}

fn sum(operations: &[RequestGain]) -> RequestGain {
    operations.iter().fold(RequestGain::default(), |sum, more| RequestGain {
        ios: sum.ios.saturating_add(more.ios),
        merges: sum.merges.saturating_add(more.merges),
        sectors: sum.sectors.saturating_add(more.sectors),
        ticks_ms: sum.ticks_ms.saturating_add(more.ticks_ms),
    })
}

fn mean(total: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| float(total) / float(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_seconds_of_known_work_give_its_rates() {
        let gained = crate::counters::parse("100 25 800 50 40 60 3200 200 0 1500 250 10 0 160 5 4 8").unwrap();
        let activity = device_activity("sda", &gained, 200, 1);
        let reads = activity.reads;
        assert_eq!((reads.per_second, reads.merges_per_second, reads.merged_percent), (50.0, 12.5, Some(20.0)));
        assert_eq!((reads.sectors_per_second, reads.await_ms, reads.request_sectors), (400.0, Some(0.5), Some(8.0)));
        assert_eq!((activity.writes.merged_percent, activity.writes.await_ms), (Some(60.0), Some(5.0)));
        assert_eq!((activity.together.per_second, activity.together.await_ms), (75.0, Some(1.7)));
        assert_eq!((activity.flushes.per_second, activity.flushes.await_ms), (2.0, Some(2.0)));
        assert_eq!((activity.queue, activity.utilisation_percent), (0.125, 75.0));
    }

    #[test]
    fn an_interval_of_zero_counts_as_a_hundredth() {
        let gained = crate::counters::parse("3 0 24 6 0 0 0 0 0 0 0").unwrap();
        assert_eq!(device_activity("sda", &gained, 0, 1), device_activity("sda", &gained, 1, 1));
        let idle = device_activity("sda", &DeviceGain::default(), 100, 1);
        assert_eq!((idle.reads.await_ms, idle.reads.merged_percent, idle.reads.request_sectors), (None, None, None));
    }

    #[test]
    fn a_group_is_as_busy_as_its_members_are_on_average() {
        let gained = crate::counters::parse("0 0 0 0 0 0 0 0 0 1500 2000").unwrap();
        let group = device_activity(" g", &gained, 100, 2);
        assert_eq!((group.utilisation_percent, group.queue), (75.0, 2.0));
    }
}
