//! Writes fio's record, version 3: lines are appended to a text that the caller keeps.

use super::Operation;
use measure::Nanos;
use std::io::Write;

/// What happens to a file as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAction {
    /// It will be named.
    Add,
    /// It is opened.
    Open,
    /// It is closed.
    Close,
}

/// The first line.
pub fn header(text: &mut Vec<u8>) {
    text.extend_from_slice(b"fio version 3 iolog\n");
}

/// Whether a name can stand in a record: lines end at line breaks and begin and end without blanks.
pub fn is_writable_name(name: &str) -> bool {
    !name.is_empty() && name.trim() == name && !name.contains(['\n', '\r'])
}

/// A line about a file.
pub fn file_line(text: &mut Vec<u8>, at: Nanos, name: &str, action: FileAction) {
    let word = match action {
        FileAction::Add => "add",
        FileAction::Open => "open",
        FileAction::Close => "close",
    };
    // Writing to a vector cannot fail.
    let _ = writeln!(text, "{} {name} {word}", at.get() / 1000);
}

/// A line about an I/O.
pub fn operation_line(text: &mut Vec<u8>, at: Nanos, name: &str, operation: Operation, range: (u64, u32)) {
    let word = match operation {
        Operation::Read => "read",
        Operation::Write => "write",
        Operation::Trim => "trim",
        Operation::Sync => "sync",
        Operation::DataSync => "datasync",
    };
    let (offset, length) = range;
    // Writing to a vector cannot fail.
    let _ = writeln!(text, "{} {name} {word} {offset} {length}", at.get() / 1000);
}
