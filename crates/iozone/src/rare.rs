//! Rarely used options: record locks, multiple buffers, extra reads, madvise(2), data for deduplication tests, per-byte
//! verification.

use crate::modes::Test;
use crate::telemetry;
use plan::{ExtraReads, Listed, MapAdvice, PlacedBytes, PlacedCheck, RecordExtras};

/// Size of the memory area cycled through with -m, in bytes.
const AREA: usize = 16 << 20;

/// Settings of rarely used options.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rare {
    /// Lock the byte range of each record during its I/O.
    pub(crate) record_locks: bool,
    /// Use a separate buffer for each record.
    pub(crate) many_buffers: bool,
    /// Read at other offsets between the records of test 1.
    pub(crate) strays: bool,
    /// Write one page with write(2) before test 0, regardless of the engine.
    pub(crate) touches: bool,
    /// madvise(2) advice for mapped files.
    pub(crate) map_advice: Option<MapAdvice>,
    /// Make every byte depend on its offset, and verify it.
    pub(crate) diagnoses: bool,
    /// Truncate the file before a sequential mixed write.
    pub(crate) empties: bool,
    /// Percentage of the data that is duplicated in other files.
    pub(crate) duplicates: Option<u32>,
    /// Percentage of the duplicated data that is common to all records.
    pub(crate) interior: u32,
    /// Percentage of the common data that is duplicated within one file only.
    pub(crate) within: u32,
    /// Number of the set of files with shared data.
    pub(crate) set: i64,
    /// Offset added to the child's number.
    pub(crate) skew: i64,
    /// Fill whole records, without zeros at the end.
    pub(crate) dense: bool,
    /// Percentage of zero words in dense data.
    pub(crate) zero_percent: i64,
}

/// Returns a percentage. iozone uses the lowest byte of the number, with a sign: 101 becomes 100, and 200 becomes 0.
#[expect(clippy::cast_possible_truncation, reason = "the lowest byte, as iozone takes it")]
pub(crate) fn percent(number: i64) -> u32 {
    u32::from((number as i8).clamp(0, 100).unsigned_abs())
}

/// The madvise(2) advice for a value of `-+A`.
pub(crate) fn map_advice(number: i64) -> Option<MapAdvice> {
    match number {
        0 => Some(MapAdvice::Normal),
        1 => Some(MapAdvice::Random),
        2 => Some(MapAdvice::Sequential),
        3 => Some(MapAdvice::DontNeed),
        4 => Some(MapAdvice::WillNeed),
        _ => None,
    }
}

/// Contents of a record, if they depend on its offset. Each child has its own file.
pub(crate) fn placed(rare: &Rare, record: u32, child: u32) -> Option<PlacedBytes> {
    let child = i64::from(child).wrapping_add(rare.skew).cast_unsigned();
    let Some(duplicates) = rare.duplicates else {
        let plan = PlacedBytes { own: child, record, ..PlacedBytes::default() };
        return rare.diagnoses.then_some(plan);
    };
    // `interior` bytes are duplicated data. Half of the rest is zeros, and of its data the requested percentage is
    // shared.
    let share = |of: u64, percent: u32| of * u64::from(percent) / 100;
    let asked = share(u64::from(record), duplicates);
    let interior = share(asked, rare.interior);
    let within = share(interior, rare.within);
    let whole_words = |bytes: u64| u32::try_from(bytes / 8 * 8).unwrap_or(record);
    let half = (u64::from(record) - interior) / 2;
    Some(PlacedBytes {
        own: (rare.set.cast_unsigned() << 32).wrapping_add(child).wrapping_add(1),
        set: rare.set.cast_unsigned(),
        record,
        everywhere: whole_words(interior - within),
        within: whole_words(within),
        across: whole_words(if rare.dense { asked - interior } else { (asked - interior) / 2 }),
        zeros: if rare.dense { 0 } else { whole_words(half) },
        zero_words_percent: if rare.dense { u8::try_from(rare.zero_percent).unwrap_or(0) } else { 0 },
        check: PlacedCheck::None,
    })
}

/// Operations in addition to the I/O of each record of a test.
pub(crate) fn extras(rare: &Rare, test: Test, list: Option<&[Listed]>, stray_bytes: u32) -> Option<Box<RecordExtras>> {
    let stdio = test.is_stdio();
    let extras = RecordExtras {
        locks: rare.record_locks && !stdio,
        area_bytes: if rare.many_buffers { AREA } else { 0 },
        extra_reads: (rare.strays && test == Test::Read).then_some(ExtraReads {
            every: 100,
            count: 2,
            bytes: stray_bytes,
        }),
        computes: list.is_some_and(telemetry::computes),
    };
    (extras != RecordExtras::default()).then(|| Box::new(extras))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(duplicates: u32, interior: u32, within: u32) -> PlacedBytes {
        let rare = Rare { duplicates: Some(duplicates), interior, within, ..Rare::default() };
        placed(&rare, 16384, 0).unwrap()
    }

    fn parts(plan: PlacedBytes) -> [u32; 4] {
        [plan.everywhere, plan.within, plan.across, plan.zeros]
    }

    /// Expected layout as written by iozone 3.489.
    #[test]
    fn a_record_has_the_parts_of_the_original() {
        assert_eq!(parts(of(0, 0, 0)), [0, 0, 0, 8192]);
        assert_eq!(parts(of(50, 0, 0)), [0, 0, 4096, 8192]);
        assert_eq!(parts(of(100, 50, 0)), [8192, 0, 4096, 4096]);
        assert_eq!(parts(of(50, 40, 30)), [2288, 976, 2456, 6552]);
        assert_eq!(parts(of(0, 50, 50)), [0, 0, 0, 8192], "without duplicates there is no interior");
        let dense = Rare { duplicates: Some(50), dense: true, ..Rare::default() };
        assert_eq!(parts(placed(&dense, 16384, 0).unwrap()), [0, 0, 8192, 0]);
    }

    #[test]
    fn without_options_nothing_is_placed() {
        assert_eq!(placed(&Rare::default(), 4096, 0), None);
        assert_eq!(placed(&Rare { interior: 30, dense: true, zero_percent: 9, ..Rare::default() }, 4096, 0), None);
        assert_eq!(extras(&Rare::default(), Test::Read, None, 1), None);
    }
}
