//! A block device's counters, as /sys/block/*/stat prints them, and their differences.
//!
//! Source: Documentation/block/stat.rst and ABI/stable/sysfs-block of Linux: 11 fields, 15 with discards since 4.18,
//! 17 with flushes since 5.5.

/// Reads, writes or discards since the device appeared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationCounters {
    /// Finished requests.
    pub ios: u64,
    /// Requests merged into others before they were issued.
    pub merges: u64,
    /// Sectors of 512 bytes, whatever the device's own are.
    pub sectors: u64,
    /// Milliseconds that requests took, all together.
    pub ticks_ms: u64,
}

/// Flushes since the device appeared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlushCounters {
    /// Finished flushes.
    pub ios: u64,
    /// Milliseconds they took, all together.
    pub ticks_ms: u64,
}

/// One reading of a device's counters, or the difference of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Reads.
    pub reads: OperationCounters,
    /// Writes.
    pub writes: OperationCounters,
    /// Discards; `None` on kernels that do not count them.
    pub discards: Option<OperationCounters>,
    /// Flushes; `None` on kernels that do not count them.
    pub flushes: Option<FlushCounters>,
    /// Requests in flight: not a counter, a difference holds the later reading.
    pub in_flight: u64,
    /// Milliseconds with at least one request in flight.
    pub busy_ms: u64,
    /// Milliseconds weighted by the requests in flight.
    pub in_queue_ms: u64,
}

impl DeviceCounters {
    /// Reads the text of a `stat` file. `None` when it is not one: too few fields, or something that is no number.
    /// Fields that newer kernels may add are left alone.
    pub fn parse(text: &str) -> Option<Self> {
        let fields = text.split_ascii_whitespace().map(|field| field.parse().ok()).collect::<Option<Vec<u64>>>()?;
        let operation = |first: usize| {
            let [ios, merges, sectors, ticks_ms] = *fields.get(first..first + 4)?.first_chunk()?;
            Some(OperationCounters { ios, merges, sectors, ticks_ms })
        };
        let [in_flight, busy_ms, in_queue_ms] = *fields.get(8..11)?.first_chunk()?;
        let flush = |fields: &[u64]| Some(FlushCounters { ios: *fields.first()?, ticks_ms: *fields.get(1)? });
        Some(DeviceCounters {
            reads: operation(0)?,
            writes: operation(4)?,
            discards: operation(11),
            flushes: fields.get(15..).and_then(flush),
            in_flight,
            busy_ms,
            in_queue_ms,
        })
    }

    /// What was added since `earlier`. A counter that wrapped is mended; a device that was plugged in anew in between
    /// counts from zero.
    pub fn since(&self, earlier: &DeviceCounters) -> DeviceCounters {
        let earlier = if self.is_younger_than(earlier) { &DeviceCounters::default() } else { earlier };
        let operation = |now: OperationCounters, then: OperationCounters| OperationCounters {
            ios: grown(then.ios, now.ios),
            merges: grown(then.merges, now.merges),
            sectors: grown(then.sectors, now.sectors),
            ticks_ms: grown(then.ticks_ms, now.ticks_ms),
        };
        DeviceCounters {
            reads: operation(self.reads, earlier.reads),
            writes: operation(self.writes, earlier.writes),
            discards: self.discards.map(|now| operation(now, earlier.discards.unwrap_or_default())),
            flushes: self.flushes.map(|now| {
                let then = earlier.flushes.unwrap_or_default();
                FlushCounters { ios: grown(then.ios, now.ios), ticks_ms: grown(then.ticks_ms, now.ticks_ms) }
            }),
            in_flight: self.in_flight,
            busy_ms: grown(earlier.busy_ms, self.busy_ms),
            in_queue_ms: grown(earlier.in_queue_ms, self.in_queue_ms),
        }
    }

    /// Adds a difference to another.
    pub fn add(&mut self, more: &DeviceCounters) {
        let operation = |mine: &mut OperationCounters, more: OperationCounters| {
            mine.ios = mine.ios.saturating_add(more.ios);
            mine.merges = mine.merges.saturating_add(more.merges);
            mine.sectors = mine.sectors.saturating_add(more.sectors);
            mine.ticks_ms = mine.ticks_ms.saturating_add(more.ticks_ms);
        };
        operation(&mut self.reads, more.reads);
        operation(&mut self.writes, more.writes);
        if let Some(more) = more.discards {
            operation(self.discards.get_or_insert_default(), more);
        }
        if let Some(more) = more.flushes {
            let mine = self.flushes.get_or_insert_default();
            mine.ios = mine.ios.saturating_add(more.ios);
            mine.ticks_ms = mine.ticks_ms.saturating_add(more.ticks_ms);
        }
        self.in_flight = more.in_flight;
        self.busy_ms = self.busy_ms.saturating_add(more.busy_ms);
        self.in_queue_ms = self.in_queue_ms.saturating_add(more.in_queue_ms);
    }

    /// Whether these are the counters of a device that was plugged in after `earlier` was read: fewer requests in
    /// all, and of reads, writes and discards none has moved more than before. A single counter that fell is a wrap.
    fn is_younger_than(&self, earlier: &DeviceCounters) -> bool {
        let requests = |counters: &DeviceCounters| {
            [counters.reads.ios, counters.writes.ios]
                .into_iter()
                .chain(counters.discards.map(|discards| discards.ios))
                .chain(counters.flushes.map(|flushes| flushes.ios))
                .fold(0, u64::saturating_add)
        };
        let fell = |now: OperationCounters, then: OperationCounters| now.sectors == 0 || now.sectors < then.sectors;
        requests(self) < requests(earlier)
            && fell(self.reads, earlier.reads)
            && fell(self.writes, earlier.writes)
            && fell(self.discards.unwrap_or_default(), earlier.discards.unwrap_or_default())
    }
}

/// What a counter gained. The kernel's milliseconds are 32 bits wide, and all its counters are on 32-bit kernels; a
/// 64-bit one does not wrap in a machine's life, so one that fell was reset and counts from zero.
fn grown(then: u64, now: u64) -> u64 {
    const WRAP: u64 = 1 << 32;
    match now.checked_sub(then) {
        Some(gained) => gained,
        None if then < WRAP => WRAP - then + now,
        None => now,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINUX_6: &str = "   51023     7612  3765914     9719    10907    12249  1041544     2144        0     5280 \
                           12133     3752       64   227032      231      954       39\n";

    #[test]
    fn stat_files_of_every_age_are_read() {
        let newest = DeviceCounters::parse(LINUX_6).unwrap();
        assert_eq!(newest.reads, OperationCounters { ios: 51023, merges: 7612, sectors: 3_765_914, ticks_ms: 9719 });
        assert_eq!(newest.writes, OperationCounters { ios: 10907, merges: 12249, sectors: 1_041_544, ticks_ms: 2144 });
        assert_eq!((newest.in_flight, newest.busy_ms, newest.in_queue_ms), (0, 5280, 12133));
        let discards = OperationCounters { ios: 3752, merges: 64, sectors: 227_032, ticks_ms: 231 };
        assert_eq!((newest.discards, newest.flushes), (Some(discards), Some(FlushCounters { ios: 954, ticks_ms: 39 })));
        let eleven = DeviceCounters::parse("1 2 3 4 5 6 7 8 9 10 11").unwrap();
        assert_eq!((eleven.in_queue_ms, eleven.discards, eleven.flushes), (11, None, None));
        let fifteen = DeviceCounters::parse("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15").unwrap();
        assert_eq!((fifteen.discards.unwrap().ticks_ms, fifteen.flushes), (15, None));
        let future = DeviceCounters::parse(&format!("{} 18 19", LINUX_6.trim_end())).unwrap();
        assert_eq!(future, newest);
    }

    #[test]
    fn text_that_is_no_stat_file_is_refused() {
        for text in ["", "1 2 3 4", "1 2 3 4 5 6 7 8 9 10", "1 2 3 4 5 6 7 8 9 10 x", "-1 2 3 4 5 6 7 8 9 10 11"] {
            assert_eq!(DeviceCounters::parse(text), None, "{text:?}");
        }
        assert_eq!(DeviceCounters::parse(&"99999999999999999999 ".repeat(11)), None);
    }

    /// Gains of (reads' ios, reads' sectors, reads' ticks, busy, in queue) between two stat texts.
    fn check(before: &str, after: &str) -> (u64, u64, u64, u64, u64) {
        let (before, after) = (DeviceCounters::parse(before).unwrap(), DeviceCounters::parse(after).unwrap());
        let gained = after.since(&before);
        (gained.reads.ios, gained.reads.sectors, gained.reads.ticks_ms, gained.busy_ms, gained.in_queue_ms)
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
    fn a_device_plugged_in_anew_counts_from_zero() {
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
        let all: Vec<_> = texts.iter().map(|text| DeviceCounters::parse(text).unwrap()).collect();
        let mut sum = DeviceCounters::default();
        for pair in all.windows(2) {
            sum.add(&pair[1].since(&pair[0]));
        }
        assert_eq!(sum, all[2].since(&all[0]));
    }
}
