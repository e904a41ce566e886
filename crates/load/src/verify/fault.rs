//! A block that is not what was written, and how that is told.

use std::fmt::Write;

/// A block that is not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Where in the file, in bytes.
    pub offset: u64,
    /// How long the block is, in bytes.
    pub length: u64,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What is wrong with a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A field of the header does not hold what it must.
    Header {
        /// Name of the field.
        field: &'static str,
        /// What it holds.
        found: u64,
        /// What it must hold.
        expected: u64,
    },
    /// The digest over the payload does not agree with the header's.
    Digest {
        /// Name of the digest.
        name: &'static str,
        /// As stored, in hex.
        stored: String,
        /// As computed from what was read, in hex.
        computed: String,
    },
    /// A byte differs from the pattern.
    Pattern {
        /// Where in the I/O.
        at: usize,
        /// What was read.
        found: u8,
        /// What was written.
        expected: u8,
    },
    /// A block that was trimmed is not zero.
    Trimmed {
        /// Where in the I/O.
        at: usize,
        /// What was read.
        found: u8,
    },
}

impl Mismatch {
    /// The judgement over a trimmed block: the first byte that is not zero.
    ///
    /// # Errors
    /// When there is one.
    pub fn unless_zero(buffer: &[u8], offset: u64) -> Result<(), Mismatch> {
        match buffer.iter().position(|&byte| byte != 0) {
            None => Ok(()),
            Some(at) => {
                let fault = Fault::Trimmed { at, found: buffer[at] };
                Err(Mismatch { offset, length: buffer.len() as u64, fault })
            }
        }
    }

    /// The whole story: a first line as fio's, with the file, then what was found.
    pub fn describe(&self, file: &str, request: (u64, u32)) -> String {
        let mut text = String::new();
        let (offset, length) = (self.offset, self.length);
        let place = format!(
            "at file {file} offset {offset}, length {length} (requested block: offset={}, length={})",
            request.0, request.1
        );
        let _ = match &self.fault {
            Fault::Header { field, found, expected } => {
                let shown = |value: &u64| {
                    if *field == "length" || *field == "offset" { value.to_string() } else { format!("{value:x}") }
                };
                write!(text, "verify: bad header {field} {}, wanted {} {place}", shown(found), shown(expected))
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

    /// Whether the header is what is wrong.
    pub const fn is_header(&self) -> bool {
        matches!(self.fault, Fault::Header { .. })
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
