//! The verify state file, which records how far the writes got: `local-NAME-INDEX-verify.state`.
//!
//! All numbers are little endian. The file begins with a header of three u64: version, number of bytes that follow,
//! their CRC-32C. Version 7 (fio 3.42) continues with: depth u32, padding u32, writes u64, index u64, 56 bytes of the
//! generator's state, the name in 64 bytes, and per slot the number of the write in flight, or all ones for none.
//! Version 3 (fio 3.33): completions u64, depth u32, files u32, writes u64, index u64, the same 56 and 64 bytes, and
//! per completion, the latest first, the file number u64 and the offset u64.

use super::digest::crc32c;
use plan::VerifyFormat;

const HEADER: usize = 24;
const GENERATOR: usize = 56;
const NAME: usize = 64;
const IDLE: u64 = u64::MAX;
/// Marks a random order of plumb: fio draws a different one from the same seed.
const OURS: &[u8; 8] = b"plumb\0\0\0";

/// The progress of a job's writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Number of writes issued.
    pub writes: u64,
    /// The worker's number over the whole run, from 0.
    pub index: u64,
    /// The job's name.
    pub name: String,
    /// I/Os in flight at a time.
    pub depth: u32,
    /// Numbers, from 0, of writes that did not complete.
    pub in_flight: Vec<u64>,
    /// File numbers and offsets of the last completed writes, the latest first.
    pub completed: Vec<(u64, u64)>,
    /// Origin of the order of writes.
    pub order: WriteOrder,
}

/// The origin of the order of writes that a state counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteOrder {
    /// None: they were sequential.
    #[default]
    Sequential,
    /// plumb, with this seed.
    Ours(u64),
    /// Another program, whose order cannot be generated again.
    Foreign,
}

/// Errors of a state file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// The file is too short.
    #[error("it has {0} bytes, fewer than a state takes")]
    Short(usize),
    /// Unknown version.
    #[error("it is of version {0}; versions 3 (fio 3.33) and 7 (fio 3.42) can be read")]
    Version(u64),
    /// The checksum differs.
    #[error("its checksum is {found:#x} and must be {expected:#x}")]
    Checksum {
        /// The stored checksum.
        found: u64,
        /// The computed checksum.
        expected: u64,
    },
}

impl State {
    /// The file name of a worker's state; `index` is its number from 0.
    pub fn file_name(job: &str, index: u64) -> String {
        format!("local-{}-{index}-verify.state", job.replace('/', "."))
    }

    /// The content of the file.
    pub fn to_bytes(&self, format: VerifyFormat) -> Vec<u8> {
        let mut body = Vec::new();
        let mut word = |value: u64| body.extend(value.to_le_bytes());
        match format {
            VerifyFormat::Fio3_42 => word(u64::from(self.depth)),
            VerifyFormat::Fio3_33 => {
                word(self.completed.len() as u64);
                word(u64::from(self.depth) | 1 << 32);
            }
        }
        word(self.writes);
        word(self.index);
        let mut generator = [0; GENERATOR];
        if let WriteOrder::Ours(seed) = self.order {
            generator[..8].copy_from_slice(OURS);
            generator[8..16].copy_from_slice(&seed.to_le_bytes());
        }
        body.extend(generator);
        let mut name = [0; NAME];
        let length = self.name.len().min(NAME - 1);
        name[..length].copy_from_slice(&self.name.as_bytes()[..length]);
        body.extend(name);
        match format {
            VerifyFormat::Fio3_42 => {
                let idle = std::iter::repeat(IDLE);
                let slots = self.in_flight.iter().copied().chain(idle).take(self.depth as usize);
                slots.for_each(|number| body.extend(number.to_le_bytes()));
            }
            VerifyFormat::Fio3_33 => {
                self.completed.iter().flat_map(|&(file, offset)| [file, offset]).for_each(|value| {
                    body.extend(value.to_le_bytes());
                });
            }
        }
        let version: u64 = if format == VerifyFormat::Fio3_42 { 7 } else { 3 };
        let head = [version, body.len() as u64, u64::from(crc32c(&body))];
        head.iter().flat_map(|value| value.to_le_bytes()).chain(body).collect()
    }

    /// Reads a state of either version.
    ///
    /// # Errors
    /// If the bytes are not a valid state.
    pub fn from_bytes(bytes: &[u8]) -> Result<State, StateError> {
        let word = |at: usize| {
            let eight = bytes.get(at..at + 8).and_then(|eight| eight.try_into().ok());
            eight.map(u64::from_le_bytes).ok_or(StateError::Short(bytes.len()))
        };
        let version = word(0)?;
        let format = match version {
            3 => VerifyFormat::Fio3_33,
            7 => VerifyFormat::Fio3_42,
            other => return Err(StateError::Version(other)),
        };
        let size = usize::try_from(word(8)?).unwrap_or(usize::MAX);
        let body = bytes.get(HEADER..).and_then(|body| body.get(..size)).ok_or(StateError::Short(bytes.len()))?;
        let (found, expected) = (word(16)?, u64::from(crc32c(body)));
        if found != expected {
            return Err(StateError::Checksum { found, expected });
        }
        let mut at = if format == VerifyFormat::Fio3_33 { HEADER + 8 } else { HEADER };
        let depth = u32::try_from(word(at)? & u64::from(u32::MAX)).unwrap_or(0);
        let (writes, index) = (word(at + 8)?, word(at + 16)?);
        at += 24;
        let short = || StateError::Short(bytes.len());
        let generator = bytes.get(at..at + GENERATOR).ok_or_else(short)?;
        let name = bytes.get(at + GENERATOR..at + GENERATOR + NAME).ok_or_else(short)?;
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        at += GENERATOR + NAME;
        let rest = bytes.get(at..HEADER + size).ok_or_else(short)?.as_chunks::<8>().0;
        let rest: Vec<u64> = rest.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        let mut state = State {
            writes,
            index,
            name: String::from_utf8_lossy(name).into_owned(),
            depth,
            order: order_of(generator),
            ..State::default()
        };
        match format {
            VerifyFormat::Fio3_42 => state.in_flight = rest.into_iter().filter(|&number| number != IDLE).collect(),
            VerifyFormat::Fio3_33 => {
                state.completed = rest.as_chunks::<2>().0.iter().map(|pair| (pair[0], pair[1])).collect()
            }
        }
        Ok(state)
    }

    /// True if write `number`, counted from 0, is known to have completed.
    pub fn has(&self, number: u64) -> bool {
        number < self.writes && !self.in_flight.contains(&number)
    }
}

fn order_of(generator: &[u8]) -> WriteOrder {
    match generator {
        _ if generator.iter().all(|&byte| byte == 0) => WriteOrder::Sequential,
        [b'p', b'l', b'u', b'm', b'b', 0, 0, 0, seed @ ..] => {
            WriteOrder::Ours(seed[..8].iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
        }
        _ => WriteOrder::Foreign,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        State {
            writes: 16,
            index: 2,
            name: "a".into(),
            depth: 4,
            in_flight: vec![13, 15],
            completed: vec![(0, 0xc000), (0, 0x9000)],
            order: WriteOrder::Ours(0x89),
        }
    }

    #[test]
    fn both_versions_are_read_as_they_were_written() {
        let (new, old) = (VerifyFormat::Fio3_42, VerifyFormat::Fio3_33);
        let read = State::from_bytes(&state().to_bytes(new)).unwrap();
        assert_eq!(read, State { completed: Vec::new(), ..state() });
        let read = State::from_bytes(&state().to_bytes(old)).unwrap();
        assert_eq!(read, State { in_flight: Vec::new(), ..state() });
        assert_eq!(state().to_bytes(new).len(), HEADER + 8 + 16 + 56 + 64 + 4 * 8);
    }

    #[test]
    fn a_changed_or_shortened_state_is_refused() {
        let bytes = state().to_bytes(VerifyFormat::Fio3_42);
        for at in HEADER..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(matches!(State::from_bytes(&changed), Err(StateError::Checksum { .. })), "byte {at}");
        }
        for length in 0..bytes.len() {
            assert!(State::from_bytes(&bytes[..length]).is_err(), "{length} bytes");
        }
        // A body with a correct checksum that is too short for its fields.
        let mut tiny: Vec<u8> =
            [7u64, 8, u64::from(crc32c(&[0; 8]))].iter().flat_map(|word| word.to_le_bytes()).collect();
        tiny.extend([0; 8]);
        assert!(State::from_bytes(&tiny).is_err());
    }

    #[test]
    fn a_write_counts_once_it_completed() {
        let has = |number| state().has(number);
        assert!(has(0) && has(14) && !has(13) && !has(15) && !has(16));
    }
}
