//! Compressed logs (`.fz`): rows in a fixed layout inside consecutive zlib streams; both the writer and the reader.
//!
//! The layout is that of fio 3.33, little endian: time (ms), value, a word whose low bits are the direction and whose
//! high bits are flags for the optional fields, priority and padding, block size, then the offset if present. plumb
//! appends two optional fields: the window's largest value and the issue time. fio's own reader can decompress logs
//! that have neither of the two.

use super::{LogLayout, LogRow, push_row};
use crate::FormatError;
use flate2::bufread::ZlibDecoder;
use flate2::{Compression, write::ZlibEncoder};
use measure::Direction;
use std::fmt::Display;
use std::io::{BufRead, Read, Write};

const HAS_OFFSET: u32 = 1 << 31;
const HAS_PRIORITY: u32 = 1 << 30;
const HAS_LARGEST: u32 = 1 << 29;
const HAS_ISSUED: u32 = 1 << 28;
const FLAGS: u32 = HAS_OFFSET | HAS_PRIORITY | HAS_LARGEST | HAS_ISSUED;
/// Bytes of a row without any optional field.
const LEAST: usize = 32;

/// Compresses rows into zlib streams of a given input size.
#[derive(Debug)]
pub struct Packer {
    layout: LogLayout,
    /// Uncompressed bytes per zlib stream.
    piece: usize,
    packed: Vec<u8>,
}

impl Packer {
    /// Creates a packer whose streams hold `piece` bytes of rows each (the last one may hold fewer).
    pub fn new(layout: LogLayout, piece: usize) -> Packer {
        Packer { layout, piece: piece.max(LEAST), packed: Vec::new() }
    }

    /// Adds a row; each completed stream is appended to `compressed`.
    pub fn push(&mut self, row: &LogRow, compressed: &mut Vec<u8>) {
        push_packed(&mut self.packed, self.layout, row);
        if self.packed.len() >= self.piece {
            self.finish(compressed);
        }
    }

    /// Appends the remaining rows to `compressed`.
    pub fn finish(&mut self, compressed: &mut Vec<u8>) {
        if self.packed.is_empty() {
            return;
        }
        let mut encoder = ZlibEncoder::new(&mut *compressed, Compression::default());
        // Writing to a vector cannot fail.
        let _ = encoder.write_all(&self.packed).and_then(|()| encoder.try_finish());
        self.packed.clear();
    }
}

fn push_packed(bytes: &mut Vec<u8>, layout: LogLayout, row: &LogRow) {
    let flag = |wanted: bool, flag: u32| if wanted { flag } else { 0 };
    let word = row.direction as u32
        | flag(layout.offset, HAS_OFFSET)
        | flag(layout.priority, HAS_PRIORITY)
        | flag(layout.largest, HAS_LARGEST)
        | flag(layout.issued, HAS_ISSUED);
    bytes.extend_from_slice(&row.at_ms.to_le_bytes());
    bytes.extend_from_slice(&row.value.to_le_bytes());
    bytes.extend_from_slice(&word.to_le_bytes());
    bytes.extend_from_slice(&u32::from(row.priority).to_le_bytes());
    bytes.extend_from_slice(&row.block.to_le_bytes());
    for (wanted, value) in [(layout.offset, row.offset), (layout.largest, row.largest), (layout.issued, row.issued_ns)]
    {
        if wanted {
            bytes.extend_from_slice(&value.to_le_bytes());
        }
    }
}

fn damaged(rows: u64, what: impl Display) -> FormatError {
    FormatError::Damaged(format!("not a compressed log, or damaged: after {rows} rows {what}"))
}

/// Decompresses a log and writes its rows as text; returns the number of rows. Memory use does not grow with the log.
///
/// # Errors
/// [`FormatError::Io`] and [`FormatError::Damaged`]; the rows before the damage have been written.
pub fn inflate(mut compressed: impl BufRead, mut text: impl Write) -> Result<u64, FormatError> {
    let mut rows = 0;
    let (mut waiting, mut lines) = (Vec::new(), Vec::new());
    let mut block = vec![0; 64 << 10];
    while !compressed.fill_buf()?.is_empty() {
        let mut stream = ZlibDecoder::new(&mut compressed);
        loop {
            let count = match stream.read(&mut block) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) => return Err(damaged(rows, error)),
            };
            // A row may be split between two reads or zlib streams: its first part waits here for the rest.
            waiting.extend_from_slice(&block[..count]);
            let used = unpack(&waiting, &mut lines, &mut rows)?;
            waiting.drain(..used);
            text.write_all(&lines)?;
            lines.clear();
        }
    }
    if !waiting.is_empty() {
        return Err(damaged(rows, format!("{} bytes are left, less than a row", waiting.len())));
    }
    text.flush()?;
    Ok(rows)
}

/// Decodes the complete rows in `bytes`; returns the number of bytes consumed.
fn unpack(bytes: &[u8], lines: &mut Vec<u8>, rows: &mut u64) -> Result<usize, FormatError> {
    let mut used = 0;
    while let Some((row, layout, length)) = first_row(&bytes[used..], *rows)? {
        push_row(lines, layout, &row);
        used += length;
        *rows += 1;
    }
    Ok(used)
}

fn first_row(bytes: &[u8], rows: u64) -> Result<Option<(LogRow, LogLayout, usize)>, FormatError> {
    let long = |at: usize| bytes.get(at..at + 8).and_then(|part| part.try_into().ok()).map(u64::from_le_bytes);
    let (Some(at_ms), Some(value), Some(words), Some(block)) = (long(0), long(8), long(16), long(24)) else {
        return Ok(None);
    };
    // The low 32 bits of `words` hold direction and flags, the next 16 bits the priority.
    let word = u32::try_from(words & 0xffff_ffff).unwrap_or(0);
    let priority = u16::try_from((words >> 32) & 0xffff).unwrap_or(0);
    let Some(&direction) = usize::try_from(word & !FLAGS).ok().and_then(|index| Direction::ALL.get(index)) else {
        return Err(damaged(rows, format!("direction {} does not exist", word & !FLAGS)));
    };
    let has = |flag: u32| word & flag != 0;
    let layout = LogLayout {
        largest: has(HAS_LARGEST),
        offset: has(HAS_OFFSET),
        priority: has(HAS_PRIORITY),
        issued: has(HAS_ISSUED),
    };
    let mut length = LEAST;
    let mut part = |wanted: bool| {
        if !wanted {
            return Some(0);
        }
        length += 8;
        long(length - 8)
    };
    let (Some(offset), Some(largest), Some(issued_ns)) =
        (part(layout.offset), part(layout.largest), part(layout.issued))
    else {
        return Ok(None);
    };
    Ok(Some((LogRow { at_ms, value, largest, direction, block, offset, priority, issued_ns }, layout, length)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row() -> impl Strategy<Value = LogRow> {
        (any::<[u64; 6]>(), 0..3usize, any::<u16>()).prop_map(|(numbers, direction, priority)| {
            let [at_ms, value, largest, block, offset, issued_ns] = numbers;
            LogRow { at_ms, value, largest, direction: Direction::ALL[direction], block, offset, priority, issued_ns }
        })
    }

    fn layout() -> impl Strategy<Value = LogLayout> {
        any::<[bool; 4]>().prop_map(|[largest, offset, priority, issued]| LogLayout {
            largest,
            offset,
            priority,
            issued,
        })
    }

    fn packed(rows: &[LogRow], layout: LogLayout, piece: usize) -> Vec<u8> {
        let (mut packer, mut compressed) = (Packer::new(layout, piece), Vec::new());
        rows.iter().for_each(|row| packer.push(row, &mut compressed));
        packer.finish(&mut compressed);
        compressed
    }

    proptest! {
        #[test]
        fn packed_rows_unpack_to_their_text(
            rows in prop::collection::vec(row(), 0..60), layout in layout(), piece in 1usize..400,
        ) {
            let mut expected = Vec::new();
            rows.iter().for_each(|row| push_row(&mut expected, layout, row));
            let mut text = Vec::new();
            let count = inflate(packed(&rows, layout, piece).as_slice(), &mut text).unwrap();
            prop_assert_eq!(count, rows.len() as u64);
            prop_assert_eq!(String::from_utf8(text), String::from_utf8(expected));
        }

        #[test]
        fn foreign_bytes_are_refused_and_never_panic(bytes in prop::collection::vec(any::<u8>(), 1..200)) {
            let _ = inflate(bytes.as_slice(), std::io::sink());
        }
    }

    #[test]
    fn a_cut_log_says_how_far_it_went() {
        let row = LogRow {
            at_ms: 1,
            value: 2,
            largest: 0,
            direction: Direction::Read,
            block: 4096,
            offset: 0,
            priority: 0,
            issued_ns: 0,
        };
        let whole = packed(&[row; 100], LogLayout::default(), 32 * 10);
        for cut in [whole.len() - 3, whole.len() / 2 + 1] {
            let error = inflate(&whole[..cut], std::io::sink()).unwrap_err().to_string();
            assert!(error.contains("damaged: after"), "{error}");
        }
        assert!(inflate(&b"x"[..], std::io::sink()).unwrap_err().to_string().contains("after 0 rows"));
        assert_eq!(inflate(&b""[..], std::io::sink()).unwrap(), 0);
    }

    #[test]
    fn a_row_of_fio_3_33_is_read() {
        // Value 220,405 ns, offset 0, priority 0x2003: bytes written by the fio 3.33 of Debian.
        let mut bytes = vec![0; 8];
        bytes.extend(220_405u64.to_le_bytes());
        bytes.extend([0, 0, 0, 0xc0, 0x03, 0x20, 0, 0]);
        bytes.extend(4096u64.to_le_bytes());
        bytes.extend(0u64.to_le_bytes());
        let mut compressed = Vec::new();
        let mut encoder = ZlibEncoder::new(&mut compressed, Compression::default());
        encoder.write_all(&bytes).unwrap();
        encoder.try_finish().unwrap();
        drop(encoder);
        let mut text = Vec::new();
        inflate(compressed.as_slice(), &mut text).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "0, 220405, 0, 4096, 0, 0x2003\n");
    }
}
