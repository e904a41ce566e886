//! fio's logs: a row per I/O or per window as text, rows packed for compressed logs, and rows of histograms.
//!
//! Owns columns and spelling, and unpacking (`--inflate-log`). Leaves what is logged, and files, to others.

mod histogram;
mod packed;

pub use histogram::{COLUMNS, coarser, fold, push_histogram};
pub use packed::{InflateError, Packer, inflate};

use measure::Direction;
use std::io::Write;

/// The bits of a priority that hold its class; the rest is the level.
const CLASS_SHIFT: u32 = 13;
/// The real-time class.
const REAL_TIME: u16 = 1;

/// One row of a log of bandwidth, IOPS or latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRow {
    /// Milliseconds since the log began, or since its epoch.
    pub at_ms: u64,
    /// Latency in ns, bandwidth in KiB/s, or I/Os per second.
    pub value: u64,
    /// The largest of the window; shown where the layout has it.
    pub largest: u64,
    /// Which way.
    pub direction: Direction,
    /// Bytes of the I/O; 0 for a window of several sizes.
    pub block: u64,
    /// Where in the file; 0 for a window.
    pub offset: u64,
    /// Class and level as the kernel packs them.
    pub priority: u16,
    /// When the I/O was issued, ns since the log began; 0 for a window.
    pub issued_ns: u64,
}

/// Which columns a log has beside time, value, direction, size and priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogLayout {
    /// The largest value of the window, behind the mean.
    pub largest: bool,
    /// The offset, behind the size.
    pub offset: bool,
    /// The priority in full, rather than whether it is the real-time class.
    pub priority: bool,
    /// The moment of issue, last.
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

/// Class and level of a priority as the kernel, and a log, packs them.
pub fn packed_priority(class: u8, level: u8) -> u16 {
    (u16::from(class) << CLASS_SHIFT) | u16::from(level)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
