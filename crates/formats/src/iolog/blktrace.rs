//! blktrace's binary trace: records of 48 bytes in the byte order of the recorder, each followed by its payload.
//!
//! Source: linux/blktrace_api.h. Only queue records (`BLK_TA_QUEUE`) are I/Os; others are later stages.

use super::{At, Event, Operation, Places, bounded, unreadable};
use crate::FormatError;
use measure::Nanos;
use std::io::{self, BufRead};

/// Bytes of a record without its payload.
pub const BYTES_PER_RECORD: usize = 48;

const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 0x07;
const QUEUED: u32 = 1;
const SECTOR: u64 = 512;

/// Category bits in the upper half of a record's action.
mod category {
    pub(super) const WRITE: u32 = 1 << 1;
    pub(super) const FLUSH: u32 = 1 << 2;
    pub(super) const NOTIFY: u32 = 1 << 10;
    pub(super) const DISCARD: u32 = 1 << 13;
}

/// The byte order of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endian {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl Endian {
    /// Detects the byte order from blktrace's magic number, of any version.
    pub fn of_magic(bytes: [u8; 4]) -> Option<Endian> {
        let is_magic = |number: u32| number & 0xffff_ff00 == MAGIC;
        match () {
            () if is_magic(u32::from_le_bytes(bytes)) => Some(Endian::Little),
            () if is_magic(u32::from_be_bytes(bytes)) => Some(Endian::Big),
            () => None,
        }
    }

    fn u16(self, bytes: &Record, at: usize) -> u16 {
        let bytes = [bytes[at], bytes[at + 1]];
        if self == Endian::Little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) }
    }

    fn u32(self, bytes: &Record, at: usize) -> u32 {
        let bytes = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        if self == Endian::Little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) }
    }

    fn u64(self, bytes: &Record, at: usize) -> u64 {
        let (first, second) = (u64::from(self.u32(bytes, at)), u64::from(self.u32(bytes, at + 4)));
        if self == Endian::Little { second << 32 | first } else { first << 32 | second }
    }
}

/// A record as stored in the file.
pub(super) type Record = [u8; BYTES_PER_RECORD];

/// The fields of a queue record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Queued {
    pub(super) time_ns: u64,
    pub(super) sector: u64,
    pub(super) bytes: u32,
    pub(super) action: u32,
    pub(super) pid: u32,
    pub(super) device: u32,
    pub(super) cpu: u32,
}

impl Queued {
    fn operation(self) -> Operation {
        let categories = self.action >> 16;
        match () {
            () if categories & category::DISCARD != 0 => Operation::Trim,
            // A flush without data is a sync; one with data is the write that follows the flush.
            () if categories & category::FLUSH != 0 && self.bytes == 0 => Operation::Sync,
            () if categories & category::WRITE != 0 => Operation::Write,
            () => Operation::Read,
        }
    }

    /// Encodes the record without payload, in little-endian order.
    pub(super) fn record(self, sequence: u32) -> Record {
        let mut record = [0; BYTES_PER_RECORD];
        record[0..4].copy_from_slice(&(MAGIC | VERSION).to_le_bytes());
        record[4..8].copy_from_slice(&sequence.to_le_bytes());
        record[8..16].copy_from_slice(&self.time_ns.to_le_bytes());
        record[16..24].copy_from_slice(&self.sector.to_le_bytes());
        for (at, field) in (24..).step_by(4).zip([self.bytes, self.action, self.pid, self.device, self.cpu]) {
            record[at..at + 4].copy_from_slice(&field.to_le_bytes());
        }
        record
    }
}

/// State of a trace reader.
#[derive(Debug)]
pub(super) struct Binary {
    endian: Endian,
    offset: u64,
    first_ns: Option<u64>,
}

impl Binary {
    pub(super) fn new(endian: Endian) -> Self {
        Binary { endian, offset: 0, first_ns: None }
    }

    pub(super) fn next(
        &mut self,
        name: &str,
        input: &mut impl BufRead,
        places: &mut Places,
    ) -> Result<Option<Event>, FormatError> {
        loop {
            let offset = self.offset;
            let Some(queued) = self.next_queued(name, input)? else { return Ok(None) };
            let operation = queued.operation();
            if queued.bytes == 0 && operation != Operation::Sync {
                continue;
            }
            let at = At::Byte(name, offset);
            let first = *self.first_ns.get_or_insert(queued.time_ns);
            let start = queued.sector.checked_mul(SECTOR).ok_or_else(|| at.wrong("the sector is out of range"))?;
            let start = if operation == Operation::Sync { 0 } else { start };
            let length = bounded(operation, start, u64::from(queued.bytes), at)?;
            // `MINORBITS` of the kernel: 20 bits of the device number are the minor number.
            let (major, minor) = (queued.device >> 20, queued.device & 0xf_ffff);
            let place = places.add_device(major, minor, at)?;
            let since = Nanos(queued.time_ns.saturating_sub(first));
            return Ok(Some(Event { at: since, place, operation, offset: start, length }));
        }
    }

    /// Reads up to the next queue record.
    pub(super) fn next_queued(&mut self, name: &str, input: &mut impl BufRead) -> Result<Option<Queued>, FormatError> {
        loop {
            let Some(record) = self.record(name, input)? else { return Ok(None) };
            let endian = self.endian;
            let action = endian.u32(&record, 28);
            if action & 0xffff == QUEUED && (action >> 16) & category::NOTIFY == 0 {
                return Ok(Some(Queued {
                    time_ns: endian.u64(&record, 8),
                    sector: endian.u64(&record, 16),
                    bytes: endian.u32(&record, 24),
                    action,
                    pid: endian.u32(&record, 32),
                    device: endian.u32(&record, 36),
                    cpu: endian.u32(&record, 40),
                }));
            }
        }
    }

    /// Reads the next record and skips its payload.
    fn record(&mut self, name: &str, input: &mut impl BufRead) -> Result<Option<Record>, FormatError> {
        let at = At::Byte(name, self.offset);
        let mut record = [0; BYTES_PER_RECORD];
        let got = fill(input, &mut record).map_err(unreadable(name))?;
        if got == 0 {
            return Ok(None);
        }
        if got < BYTES_PER_RECORD {
            return Err(at.wrong(format!("the trace is cut off: {got} of {BYTES_PER_RECORD} bytes of a record")));
        }
        let magic = self.endian.u32(&record, 0);
        if magic != MAGIC | VERSION {
            return Err(at.wrong(format!(
                "no record begins here: {magic:#010x} is not blktrace's magic number {:#010x} (version {VERSION})",
                MAGIC | VERSION
            )));
        }
        let payload = u64::from(self.endian.u16(&record, 46));
        let skipped = io::copy(&mut io::Read::take(&mut *input, payload), &mut io::sink()).map_err(unreadable(name))?;
        if skipped < payload {
            return Err(at.wrong(format!("the trace is cut off: {skipped} of {payload} bytes behind a record")));
        }
        self.offset += BYTES_PER_RECORD as u64 + payload;
        Ok(Some(record))
    }
}

/// Reads until the buffer is full or the input ends; returns the bytes read.
fn fill(input: &mut impl BufRead, buffer: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match input.read(&mut buffer[got..]) {
            Ok(0) => break,
            Ok(bytes) => got += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}
