//! Pages of the kernel's ring buffer, as `per_cpu/cpuN/trace_pipe_raw` returns them.
//!
//! A page has the time of its first record, the number of bytes in use, and records. A record has a head of 32 bits: its
//! length or kind, and the time since the record before (kernel doc: trace/ring-buffer-design; events/header_event).

use crate::format::{Field, Format};
use measure::Nanos;

/// Set in the number of bytes in use if records were lost before the page.
const LOST: u64 = 1 << 31;
/// Set if their number is behind the last record.
const LOST_COUNT: u64 = 1 << 30;

/// Kinds of records in the lowest 5 bits of the head; less than these are lengths in words.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;

/// Places in the head of a page, from `events/header_page`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageLayout {
    time: Field,
    used: Field,
    data: Field,
}

/// A record with its time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Record<'page> {
    pub(crate) time: Nanos,
    pub(crate) bytes: &'page [u8],
}

/// The contents of a page.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Page<'page> {
    /// Time of the page.
    pub(crate) begin: Nanos,
    pub(crate) records: Vec<Record<'page>>,
    /// Records that were lost before it; `Some(0)` if the kernel does not say how many.
    pub(crate) lost: Option<u64>,
}

impl PageLayout {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let format = Format::parse(text);
        Some(PageLayout {
            time: format.field("timestamp")?,
            used: format.field("commit")?,
            data: format.field("data")?,
        })
    }

    /// Bytes of a page.
    pub(crate) fn size(&self) -> usize {
        self.data.offset.saturating_add(self.data.size)
    }

    /// Reads a page; `None` if it is not one.
    pub(crate) fn read<'page>(&self, page: &'page [u8]) -> Option<Page<'page>> {
        let begin = self.time.unsigned(page)?;
        let used = self.used.unsigned(page)?;
        let length = usize::try_from(used & (LOST_COUNT - 1)).ok()?;
        let data = page.get(self.data.offset..)?;
        let lost = (used & LOST != 0).then(|| {
            let count = data.get(length..length.saturating_add(8)).filter(|_| used & LOST_COUNT != 0);
            count.and_then(|bytes| Some(u64::from_ne_bytes(bytes.try_into().ok()?))).unwrap_or(0)
        });
        Some(Page { begin: Nanos(begin), records: records(data.get(..length)?, begin)?, lost })
    }
}

fn records(data: &[u8], begin: u64) -> Option<Vec<Record<'_>>> {
    let (mut found, mut rest, mut time) = (Vec::new(), data, begin);
    while let Some(head) = word(rest, 0) {
        let (kind, delta) = (head & 31, u64::from(head >> 5));
        let first = word(rest, 4);
        let step = match kind {
            PADDING if delta == 0 => break,
            PADDING => usize::try_from(first?).ok()?.checked_add(4)?,
            TIME_EXTEND => 8,
            TIME_STAMP => 8,
            0 => usize::try_from(first?).ok()?.checked_add(4)?,
            words => 4 + 4 * usize::try_from(words).ok()?,
        };
        let wide = (u64::from(first.unwrap_or(0)) << 27) | delta;
        match kind {
            TIME_EXTEND => time = time.wrapping_add(wide),
            // The upper 5 bits are those of the time before.
            TIME_STAMP => time = wide | (time & (0x1f << 59)),
            _ => time = time.wrapping_add(delta),
        }
        if kind < PADDING {
            let start = if kind == 0 { 8 } else { 4 };
            found.push(Record { time: Nanos(time), bytes: rest.get(start..step)? });
        }
        rest = rest.get(step.next_multiple_of(4)..)?;
    }
    Some(found)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
pub(crate) const HEADER_PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
    \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
    \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
    \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

#[cfg(test)]
mod tests {
    use super::*;

    fn page(used: u64, words: &[u32]) -> Vec<u8> {
        let mut page = [1000u64.to_ne_bytes(), used.to_ne_bytes()].concat();
        page.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        page.resize(4096, 0);
        page
    }

    fn layout() -> PageLayout {
        PageLayout::parse(HEADER_PAGE).unwrap()
    }

    #[test]
    fn records_have_their_times_and_lengths() {
        let words = [
            (5 << 5) | 2,
            7,
            8,
            // 2^27 × 3 + 1 later.
            (1 << 5) | TIME_EXTEND,
            3,
            // 12 bytes, of which 4 are the length.
            2 << 5,
            12,
            9,
            10,
            (1 << 5) | PADDING,
            4,
            (4 << 5) | 1,
            11,
            PADDING,
            99,
        ];
        let bytes = page(4 * 15, &words);
        let found = layout().read(&bytes).unwrap();
        let last = 1005 + (3 << 27) + 1 + 2 + 1 + 4;
        let times: Vec<u64> = found.records.iter().map(|record| record.time.0).collect();
        assert_eq!(times, [1005, 1005 + (3 << 27) + 3, last]);
        assert_eq!(found.records[0].bytes, [7u32.to_ne_bytes(), 8u32.to_ne_bytes()].concat());
        assert_eq!(found.records[1].bytes.len(), 8);
        assert_eq!(found.records[2].bytes, 11u32.to_ne_bytes());
        assert_eq!((found.begin, found.lost), (Nanos(1000), None));
    }

    #[test]
    fn a_time_stamp_replaces_the_time() {
        let bytes = page(16, &[(7 << 5) | TIME_STAMP, 2, (1 << 5) | 1, 3]);
        assert_eq!(layout().read(&bytes).unwrap().records[0].time, Nanos((2 << 27) + 8));
    }

    #[test]
    fn a_page_says_that_records_before_it_were_lost() {
        assert_eq!(layout().read(&page(8 | LOST, &[1, 2])).unwrap().lost, Some(0));
        assert_eq!(layout().read(&page(8 | LOST | LOST_COUNT, &[1, 2, 40, 0])).unwrap().lost, Some(40));
    }

    #[test]
    fn a_record_longer_than_its_page_makes_it_no_page() {
        assert_eq!(layout().read(&page(8, &[28, 2])), None);
        assert_eq!(layout().read(&page(5000, &[])), None);
        assert_eq!(layout().read(&[0; 12]), None);
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_break_the_reader(used in 0u64..5000, words in proptest::collection::vec(0u32.., 0..64)) {
            let _ = layout().read(&page(used, &words));
        }
    }
}
