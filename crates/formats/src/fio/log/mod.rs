//! fio's log files: text rows per I/O or per averaging window, packed rows of compressed logs, and rows of histograms.
//!
//! Owns columns and number formats, and decompression (`--inflate-log`). Leaves what is logged to others.

mod packed;
mod summary;

use measure::{Direction, Histogram};
pub use packed::{Packer, inflate};
use std::io::Write;
pub(crate) use summary::LogReader;
pub use summary::{HistogramRow, Point};

/// Number of the lowest bit of the I/O class in a priority; the bits below it are the level. Source: ioprio_set(2).
const CLASS_SHIFT: u32 = 13;
/// The real-time I/O class, `IOPRIO_CLASS_RT`.
const REAL_TIME: u16 = 1;

/// One row of a bandwidth, IOPS or latency log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRow {
    /// Milliseconds since the start of the log, or since its epoch (`log_unix_epoch`).
    pub at_ms: u64,
    /// Latency in ns, bandwidth in KiB/s, or I/Os per second.
    pub value: u64,
    /// The largest value of the window; printed only if the layout has this column.
    pub largest: u64,
    /// Direction of the I/O.
    pub direction: Direction,
    /// Bytes of the I/O; 0 for a window.
    pub block: u64,
    /// Offset in the file in bytes; 0 for a window.
    pub offset: u64,
    /// Priority class and level, packed as the kernel packs them.
    pub priority: u16,
    /// Issue time in ns since the start of the log; 0 for a window, and in logs other than of clat and slat.
    pub issued_ns: u64,
}

/// Optional columns of a log, in addition to time, value, direction, size and priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogLayout {
    /// The largest value of the window, after the mean (`log_window_value=both`).
    pub largest: bool,
    /// The offset, after the size (`log_offset`).
    pub offset: bool,
    /// The full priority (`log_prio`) instead of a flag for the real-time class.
    pub priority: bool,
    /// The issue time, last (`log_issue_time`).
    pub issued: bool,
}

/// Appends a row as a line of text.
pub fn push_row(text: &mut Vec<u8>, layout: LogLayout, row: &LogRow) {
    // Writing to a vector cannot fail.
    let _ = write!(text, "{}, {}, ", row.at_ms, row.value);
    if layout.largest {
        let _ = write!(text, "{}, ", row.largest);
    }
    let _ = write!(text, "{}, {}, ", row.direction as u8, row.block);
    if layout.offset {
        let _ = write!(text, "{}, ", row.offset);
    }
    let _ = if layout.priority {
        write!(text, "{:#06x}", row.priority)
    } else {
        write!(text, "{}", u8::from(row.priority >> CLASS_SHIFT == REAL_TIME))
    };
    if layout.issued {
        let _ = write!(text, ", {}", row.issued_ns);
    }
    text.push(b'\n');
}

/// Packs a priority's class and level as the kernel and the logs do.
pub fn packed_priority(class: u8, level: u8) -> u16 {
    (u16::from(class) << CLASS_SHIFT) | u16::from(level)
}

// Rows of histogram logs: `time, direction, size, bins...`.

/// Bins in a row at full resolution: 29 groups of 64; the last bin also collects all longer latencies.
pub const COLUMNS: usize = 1856;

/// Converts a histogram to the bins of a row; latencies above the range of fio's go to the last bin.
pub fn fold(histogram: &Histogram, bins: &mut [u64; COLUMNS]) {
    let counts = histogram.counts();
    bins.copy_from_slice(&counts[..COLUMNS]);
    let beyond = counts[COLUMNS..].iter().copied().fold(0, u64::saturating_add);
    bins[COLUMNS - 1] = bins[COLUMNS - 1].saturating_add(beyond);
}

/// Reduces the resolution: each bin becomes the sum of 2^`coarseness` adjacent bins (`log_hist_coarseness`).
pub fn coarser(bins: &[u64; COLUMNS], coarseness: u32) -> impl Iterator<Item = u64> {
    bins.chunks(1 << coarseness.min(6)).map(|chunk| chunk.iter().sum())
}

/// Appends a row as a line of text.
pub fn push_histogram(
    text: &mut Vec<u8>,
    at_ms: u64,
    direction: Direction,
    block: u64,
    bins: impl Iterator<Item = u64>,
) {
    // Writing to a vector cannot fail.
    let _ = write!(text, "{at_ms}, {}, {block}", direction as u8);
    for bin in bins {
        let _ = write!(text, ", {bin}");
    }
    text.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Nanos;

    const ROW: LogRow = LogRow {
        at_ms: 7,
        value: 900,
        largest: 1200,
        direction: Direction::Write,
        block: 4096,
        offset: 8192,
        priority: 0x2003,
        issued_ns: 6_999_123,
    };

    #[test]
    fn columns_come_in_fios_order() {
        let all = LogLayout { largest: true, offset: true, priority: true, issued: true };
        for (layout, line) in [
            (LogLayout::default(), "7, 900, 1, 4096, 1\n"),
            (LogLayout { largest: true, ..LogLayout::default() }, "7, 900, 1200, 1, 4096, 1\n"),
            (LogLayout { offset: true, ..LogLayout::default() }, "7, 900, 1, 4096, 8192, 1\n"),
            (LogLayout { priority: true, ..LogLayout::default() }, "7, 900, 1, 4096, 0x2003\n"),
            (all, "7, 900, 1200, 1, 4096, 8192, 0x2003, 6999123\n"),
        ] {
            let mut text = Vec::new();
            push_row(&mut text, layout, &ROW);
            assert_eq!(String::from_utf8(text).unwrap(), line);
        }
    }

    #[test]
    fn only_the_real_time_class_is_one() {
        for (class, column) in [(0, "0\n"), (1, "1\n"), (2, "0\n"), (3, "0\n")] {
            let mut text = Vec::new();
            push_row(&mut text, LogLayout::default(), &LogRow { priority: packed_priority(class, 7), ..ROW });
            assert!(String::from_utf8(text).unwrap().ends_with(column), "class {class}");
        }
    }

    #[test]
    fn a_row_keeps_every_count_at_any_coarseness_and_latency() {
        let mut histogram = Histogram::new();
        for latency in [3, 127, 5_000, 20_000_000_000, 900_000_000_000] {
            histogram.record(Nanos(latency));
        }
        let mut bins = [0; COLUMNS];
        fold(&histogram, &mut bins);
        assert_eq!((bins[3], bins[127], bins[COLUMNS - 1]), (1, 1, 2));
        for coarseness in 0..=6 {
            let row: Vec<u64> = coarser(&bins, coarseness).collect();
            assert_eq!((row.len(), row.iter().sum::<u64>()), (COLUMNS >> coarseness, 5), "coarseness {coarseness}");
        }
    }

    #[test]
    fn a_row_is_time_direction_size_and_bins() {
        let mut text = Vec::new();
        push_histogram(&mut text, 100, Direction::Trim, 4096, [0, 7].into_iter());
        assert_eq!(String::from_utf8(text).unwrap(), "100, 2, 4096, 0, 7\n");
    }
}
