//! A verify mismatch and its message.

use std::fmt::Write;

/// A block that does not hold what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Length of the block in bytes.
    pub length: u64,
    /// The difference.
    pub fault: Fault,
}

/// The kind of difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A field of the header has an unexpected value.
    Header {
        /// Name of the field.
        field: &'static str,
        /// Value that was read.
        found: u64,
        /// Value that was expected.
        expected: u64,
    },
    /// The digest of the payload differs from the one in the header.
    Digest {
        /// Name of the digest.
        name: &'static str,
        /// The stored digest in hex.
        stored: String,
        /// The digest of the data that was read, in hex.
        computed: String,
    },
    /// A byte differs from the pattern.
    Pattern {
        /// Offset in the I/O.
        at: usize,
        /// Value that was read.
        found: u8,
        /// Value that was written.
        expected: u8,
    },
    /// A trimmed block is not zero.
    Trimmed {
        /// Offset in the I/O.
        at: usize,
        /// Value that was read.
        found: u8,
    },
}

impl Mismatch {
    /// Checks that a trimmed block is all zeros.
    ///
    /// # Errors
    /// The first byte that is not zero.
    pub fn unless_zero(buffer: &[u8], offset: u64) -> Result<(), Mismatch> {
        match buffer.iter().position(|&byte| byte != 0) {
            None => Ok(()),
            Some(at) => {
                let fault = Fault::Trimmed { at, found: buffer[at] };
                Err(Mismatch { offset, length: buffer.len() as u64, fault })
            }
        }
    }

    /// The message: a first line in fio's format, with the file, then the details.
    pub fn describe(&self, file: &str, asked_offset: u64, asked_length: u32) -> String {
        let mut text = String::new();
        let (offset, length) = (self.offset, self.length);
        let place = format!(
            "at file {file} offset {offset}, length {length} (requested block: offset={asked_offset}, length={asked_length})"
        );
        let _ = match &self.fault {
            Fault::Header { field, found, expected } => {
                write!(text, "verify: {} {place}", header_words(field, *found, *expected))
            }
            Fault::Digest { name, stored, computed } => write!(
                text,
                "{name}: verify failed {place}\n       Expected CRC: {stored}\n       Received CRC: {computed}"
            ),
            Fault::Pattern { at, found, expected } => write!(
                text,
                "pattern: verify failed {place}\n       byte {at} of the requested block is {found:#04x}, wanted {expected:#04x}"
            ),
            Fault::Trimmed { at, found } => write!(
                text,
                "trim: verify failed {place}\n       byte {at} of the requested block is {found:#04x}: trimmed blocks must be zero"
            ),
        };
        text
    }

    /// True if the header is damaged.
    pub const fn is_header(&self) -> bool {
        matches!(self.fault, Fault::Header { .. })
    }
}

/// The difference in a header, in fio's words: numbers are decimal, except of what has no meaning as a number.
fn header_words(field: &str, found: u64, expected: u64) -> String {
    match field {
        "magic" => format!("bad magic header {found:x}, wanted {expected:x}"),
        "version" => format!(
            "unsupported header version {found:x}, wanted {expected:x}. Are you trying to verify across versions of fio?"
        ),
        "crc" => format!("bad header crc {found:x}, calculated {expected:x}"),
        _ => format!("bad header {field} {found}, wanted {expected}"),
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
