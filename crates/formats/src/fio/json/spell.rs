//! fio's JSON layout: two spaces of indent, `"key" : value`, floats with six decimals.

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};
use std::io::{self, Write};

/// Formats `value` as fio prints it, without a trailing newline.
pub(super) fn spelled(value: &Value) -> String {
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, FioFormatter::default());
    // A serializer fails on I/O errors and on keys that are not text; a `Value` written into memory has neither.
    match value.serialize(&mut serializer) {
        Ok(()) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => String::new(),
    }
}

#[derive(Default)]
struct FioFormatter {
    depth: usize,
    compact: CompactFormatter,
}

impl FioFormatter {
    fn break_line<W: ?Sized + Write>(&self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| writer.write_all(b"  "))
    }

    fn open<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        writer.write_all(bracket)
    }

    fn close<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        self.break_line(writer)?;
        writer.write_all(bracket)
    }

    fn begin_item<W: ?Sized + Write>(&self, writer: &mut W, position: Position) -> io::Result<()> {
        if position == Position::Later {
            writer.write_all(b",")?;
        }
        self.break_line(writer)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    First,
    Later,
}

impl From<bool> for Position {
    fn from(first: bool) -> Self {
        if first { Position::First } else { Position::Later }
    }
}

impl Formatter for FioFormatter {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        write!(writer, "{value:.6}")
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.begin_item(writer, first.into())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.begin_item(writer, first.into())
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.compact.begin_object_value(writer).and_then(|()| writer.write_all(b" "))
    }

    fn end_object_key<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b" ")
    }
}
