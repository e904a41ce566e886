//! Writer of fio's iolog, version 3; lines are appended to the caller's buffer.

use super::Operation;
use measure::Nanos;
use std::io::Write;

/// Action on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAction {
    /// Declares the file (`add`).
    Add,
    /// It is opened.
    Open,
    /// It is closed.
    Close,
}

/// Appends the header line.
pub fn header(text: &mut Vec<u8>) {
    text.extend_from_slice(b"fio version 3 iolog\n");
}

/// True if a file name can be written to an iolog: it has no line break, and no blank at its start or end.
pub fn is_writable_name(name: &str) -> bool {
    !name.is_empty() && name.trim() == name && !name.contains(['\n', '\r'])
}

/// Appends a line for a file action.
pub fn file_line(text: &mut Vec<u8>, at: Nanos, name: &str, action: FileAction) {
    let word = match action {
        FileAction::Add => "add",
        FileAction::Open => "open",
        FileAction::Close => "close",
    };
    // Writing to a vector cannot fail.
    let _ = writeln!(text, "{} {name} {word}", at.get() / 1000);
}

/// Appends a line for an I/O.
pub fn operation_line(text: &mut Vec<u8>, at: Nanos, name: &str, operation: Operation, offset: u64, length: u32) {
    let word = match operation {
        Operation::Read => "read",
        Operation::Write => "write",
        Operation::Trim => "trim",
        Operation::Sync => "sync",
        Operation::DataSync => "datasync",
    };
    // Writing to a vector cannot fail.
    let _ = writeln!(text, "{} {name} {word} {offset} {length}", at.get() / 1000);
}
