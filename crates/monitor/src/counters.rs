//! Counters of a block device as in /sys/block/*/stat, the difference of two readings, and its rates, computed as in
//! iostat.
//!
//! Source: Documentation/block/stat.rst and Documentation/ABI/stable/sysfs-block of Linux: 11 fields, 15 with discards
//! since 4.18, 17 with flushes since 5.5.

use measure::float;
use model::{DeviceActivity, DeviceGain, FlushActivity, OperationActivity, RequestGain};

/// Parses a `stat` file. `None` if there are too few fields or one is not a number. Additional fields of newer kernels
/// are ignored.
pub fn parse(text: &str) -> Option<DeviceGain> {
    let fields = text.split_ascii_whitespace().map(|field| field.parse().ok()).collect::<Option<Vec<u64>>>()?;
    let requests = |first: usize| {
        let [ios, merges, sectors, ticks_ms] = *fields.get(first..first + 4)?.first_chunk()?;
        Some(RequestGain { ios, merges, sectors, ticks_ms })
    };
    let [in_flight, busy_ms, in_queue_ms] = *fields.get(8..11)?.first_chunk()?;
    Some(DeviceGain {
        reads: requests(0)?,
        writes: requests(4)?,
        discards: requests(11),
        flushes: fields.get(15).copied().zip(fields.get(16).copied()),
        in_flight,
        busy_ms,
        in_queue_ms,
        ..DeviceGain::default()
    })
}

/// Difference of a device's counters between the readings `earlier` and `now`. `None` if a counter was set back in
/// between: then what the device did is unknown. `in_flight` is a gauge, not a counter: the difference contains its
/// value in `now`.
///
/// ```
/// use monitor::counters::{parse, since};
///
/// // The milliseconds of reads wrapped at 32 bits in between.
/// let earlier = parse("100 0 800 4294967290 0 0 0 0 0 500 600").expect("a stat file");
/// let now = parse("110 0 880 4 0 0 0 0 1 510 610").expect("a stat file");
/// let gained = since(&now, &earlier).expect("the counters went on");
/// assert_eq!((gained.reads.ios, gained.reads.sectors, gained.reads.ticks_ms), (10, 80, 10));
/// assert_eq!((gained.busy_ms, gained.in_flight, gained.discards), (10, 1, None));
/// let set_back = parse("97 0 800 4294967290 0 0 0 0 0 500 600").expect("a stat file");
/// assert_eq!(since(&set_back, &earlier), None);
/// ```
pub fn since(now: &DeviceGain, earlier: &DeviceGain) -> Option<DeviceGain> {
    let earlier = if is_younger(now, earlier) { &DeviceGain::default() } else { earlier };
    let requests = |now: RequestGain, then: RequestGain| {
        Some(RequestGain {
            ios: grown(then.ios, now.ios)?,
            merges: grown(then.merges, now.merges)?,
            sectors: grown(then.sectors, now.sectors)?,
            ticks_ms: grown(then.ticks_ms, now.ticks_ms)?,
        })
    };
    let discards = match now.discards {
        Some(now) => Some(requests(now, earlier.discards.unwrap_or_default())?),
        None => None,
    };
    let flushes = match (now.flushes, earlier.flushes.unwrap_or_default()) {
        (Some(now), then) => Some((grown(then.0, now.0)?, grown(then.1, now.1)?)),
        (None, _) => None,
    };
    Some(DeviceGain {
        reads: requests(now.reads, earlier.reads)?,
        writes: requests(now.writes, earlier.writes)?,
        discards,
        flushes,
        in_flight: now.in_flight,
        temperature_millidegrees: now.temperature_millidegrees,
        busy_ms: grown(earlier.busy_ms, now.busy_ms)?,
        in_queue_ms: grown(earlier.in_queue_ms, now.in_queue_ms)?,
    })
}

/// True if `now` belongs to a device that was plugged in under the same name after `earlier` was read.
///
/// A single counter that decreased has wrapped, or was set back. On a new device all counters restart at zero, so they
/// decrease together: the number of requests is smaller by far, and so are the sectors of reads, writes and discards,
/// unless they are zero.
fn is_younger(now: &DeviceGain, earlier: &DeviceGain) -> bool {
    let requests = |counters: &DeviceGain| {
        [counters.reads.ios, counters.writes.ios]
            .into_iter()
            .chain(counters.discards.map(|discards| discards.ios))
            .chain(counters.flushes.map(|(flushes, _)| flushes))
            .fold(0, u64::saturating_add)
    };
    let fell = |now: RequestGain, then: RequestGain| now.sectors == 0 || now.sectors < then.sectors / 2;
    // All conditions are required: if a single wrapped counter made the device look new, everything that it did since
    // boot would be counted as part of this interval.
    requests(now) < requests(earlier).div_ceil(2)
        && fell(now.reads, earlier.reads)
        && fell(now.writes, earlier.writes)
        && fell(now.discards.unwrap_or_default(), earlier.discards.unwrap_or_default())
}

/// Increase of one counter; `None` if it was set back.
///
/// The kernel prints milliseconds as 32-bit numbers, and on 32-bit kernels all counters. A counter that wrapped has
/// fallen by more than half of its range, unless it gained more than that between two readings. A 64-bit counter does
/// not wrap within a machine's lifetime. More than one wrap between two readings cannot be detected.
fn grown(then: u64, now: u64) -> Option<u64> {
    const WRAP: u64 = 1 << 32;
    match now.checked_sub(then) {
        None if then < WRAP && then - now > WRAP / 2 => Some(WRAP - then + now),
        gained => gained,
    }
}

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
    let [reads, writes] = [&gained.reads, &gained.writes].map(|gained| interval.operation(gained));
    let discards = gained.discards.unwrap_or_default();
    let (flushes, flush_ms) = gained.flushes.unwrap_or_default();
    let together = interval.operation(&sum(&[gained.reads, gained.writes, discards]));
    let discards = interval.operation(&discards);
    // iostat adds the rates, which it rounds to other digits than the rate of the sum.
    let rates = [reads, writes, discards].map(|operation| operation.sectors_per_second);
    DeviceActivity {
        name: name.to_owned(),
        reads,
        writes,
        discards,
        together: OperationActivity { sectors_per_second: rates.iter().sum(), ..together },
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

    const LINUX_6: &str = "   51023     7612  3765914     9719    10907    12249  1041544     2144        0     5280 \
                           12133     3752       64   227032      231      954       39\n";

    #[test]
    fn stat_files_of_every_age_are_read() {
        let newest = parse(LINUX_6).unwrap();
        assert_eq!(newest.reads, RequestGain { ios: 51023, merges: 7612, sectors: 3_765_914, ticks_ms: 9719 });
        assert_eq!(newest.writes, RequestGain { ios: 10907, merges: 12249, sectors: 1_041_544, ticks_ms: 2144 });
        assert_eq!((newest.in_flight, newest.busy_ms, newest.in_queue_ms), (0, 5280, 12133));
        let discards = RequestGain { ios: 3752, merges: 64, sectors: 227_032, ticks_ms: 231 };
        assert_eq!((newest.discards, newest.flushes), (Some(discards), Some((954, 39))));
        let eleven = parse("1 2 3 4 5 6 7 8 9 10 11").unwrap();
        assert_eq!((eleven.in_queue_ms, eleven.discards, eleven.flushes), (11, None, None));
        let fifteen = parse("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15").unwrap();
        assert_eq!((fifteen.discards.unwrap().ticks_ms, fifteen.flushes), (15, None));
        let future = parse(&format!("{} 18 19", LINUX_6.trim_end())).unwrap();
        assert_eq!(future, newest);
    }

    #[test]
    fn text_that_is_not_a_stat_file_is_refused() {
        for text in ["", "1 2 3 4", "1 2 3 4 5 6 7 8 9 10", "1 2 3 4 5 6 7 8 9 10 x", "-1 2 3 4 5 6 7 8 9 10 11"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
        assert_eq!(parse(&"99999999999999999999 ".repeat(11)), None);
    }

    /// Differences of (reads' ios, reads' sectors, reads' ticks, busy, in queue) between two stat texts.
    fn check(before: &str, after: &str) -> (u64, u64, u64, u64, u64) {
        let (before, after) = (parse(before).unwrap(), parse(after).unwrap());
        let gained = since(&after, &before).expect("the counters went on");
        (gained.reads.ios, gained.reads.sectors, gained.reads.ticks_ms, gained.busy_ms, gained.in_queue_ms)
    }

    #[test]
    fn a_counter_that_was_set_back_leaves_nothing_to_say() {
        const FIELDS: usize = 17;
        let line = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        for start in [1000, (1 << 31) + 5, 5_000_000_000_000] {
            // A gauge is not a counter.
            for field in (0..FIELDS).filter(|&field| field != 8) {
                let before = vec![start; FIELDS];
                let mut after: Vec<u64> = before.iter().map(|number| number + 100).collect();
                after[field] = start - 3;
                let [before, after] = [before, after].map(|numbers| parse(&line(&numbers)).unwrap());
                assert_eq!(since(&after, &before), None, "field {field} from {start}");
            }
        }
        let disk = |text| parse(text).unwrap();
        let before = disk("1000 0 8000 50 0 0 0 0 0 40 50");
        assert_eq!(since(&disk("997 0 7976 50 0 0 0 0 0 40 50"), &before), None, "all of its reads, by little");
    }

    #[test]
    fn growth_is_the_difference() {
        assert_eq!(check("10 0 80 5 0 0 0 0 0 7 9", "30 0 240 6 0 0 0 0 2 17 19"), (20, 160, 1, 10, 10));
    }

    #[test]
    fn milliseconds_wrap_at_32_bits() {
        let before = "10 0 80 4294967290 0 0 0 0 0 4294967295 4294967000";
        assert_eq!(check(before, "20 0 160 4 0 0 0 0 0 1 704"), (10, 80, 10, 2, 1000));
    }

    #[test]
    fn sectors_of_a_32_bit_kernel_wrap() {
        assert_eq!(check("10 0 4294967288 0 0 0 0 0 0 0 0", "12 0 8 1 0 0 0 0 0 1 1"), (2, 16, 1, 1, 1));
    }

    #[test]
    fn a_device_that_was_plugged_in_again_counts_from_zero() {
        let before = "5000000000 0 40000000000 900 100 0 800 5 0 600 900";
        assert_eq!(check(before, "7 0 56 3 0 0 0 0 0 2 3"), (7, 56, 3, 2, 3));
    }

    #[test]
    fn differences_add_up_to_the_whole() {
        let texts = [
            "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
            "5 1 40 2 3 0 24 1 1 2 3 1 0 8 1 2 1",
            "9 1 72 4 6 2 48 3 0 4 7 1 0 8 1 4 2",
        ];
        let all: Vec<_> = texts.iter().map(|text| parse(text).unwrap()).collect();
        let mut sum = DeviceGain::default();
        for pair in all.windows(2) {
            sum.add(since(&pair[1], &pair[0]).unwrap());
        }
        assert_eq!(Some(sum), since(&all[2], &all[0]));
    }

    #[test]
    fn two_seconds_of_known_work_give_its_rates() {
        let gained = parse("100 25 800 50 40 60 3200 200 0 1500 250 10 0 160 5 4 8").unwrap();
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
        let gained = parse("3 0 24 6 0 0 0 0 0 0 0").unwrap();
        assert_eq!(device_activity("sda", &gained, 0, 1), device_activity("sda", &gained, 1, 1));
        let idle = device_activity("sda", &DeviceGain::default(), 100, 1);
        assert_eq!((idle.reads.await_ms, idle.reads.merged_percent, idle.reads.request_sectors), (None, None, None));
    }

    #[test]
    fn a_group_is_as_busy_as_its_members_are_on_average() {
        let gained = parse("0 0 0 0 0 0 0 0 0 1500 2000").unwrap();
        let group = device_activity(" g", &gained, 100, 2);
        assert_eq!((group.utilisation_percent, group.queue), (75.0, 2.0));
    }
}
