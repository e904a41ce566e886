//! Recordings of `plumb why --record` as traces: the I/Os of one level, calls or the block layer.

use super::{RECORDING, Sink, Wrong, checked};
use crate::FormatError;
use crate::columnar::{Cells, TableReader};
use measure::Nanos;
use model::{Level, TraceIo};
use parquet::file::reader::ChunkReader;
use plan::Operation;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A column of a group, by its name.
type ColumnOf = Box<dyn Fn(usize, &str) -> Result<Option<Cells>, FormatError>>;

/// State of a reader.
pub(super) struct Recording {
    column: ColumnOf,
    groups: usize,
    next: usize,
    rows_before: usize,
    pub(super) level: Level,
    /// I/Os of the other level, which are left out.
    pub(super) others: u64,
}

/// The columns that are read.
struct Group([Cells; 10]);

const COLUMNS: [&str; 10] =
    ["begin_ns", "time_ns", "thread", "direction", "reach", "call", "offset_bytes", "bytes", "path", "device"];

impl Recording {
    /// Opens a Parquet file. Without a wish for a level it is that of what was recorded: a device, or calls.
    pub(super) fn open<R: ChunkReader + 'static>(
        file: R,
        wanted: Option<Level>,
        to: &mut Sink,
    ) -> Result<Self, FormatError> {
        let table = whole_or_damaged(|| TableReader::open(file, RECORDING))?;
        let table = table.ok_or_else(|| damaged("is a Parquet file, but not a recording of plumb why"))?;
        let head: serde_json::Value =
            serde_json::from_str(table.head()).map_err(|error| damaged(&format!("its head is damaged: {error}")))?;
        if head["recording_schema"].as_u64() != Some(1) {
            let found = &head["recording_schema"];
            return Err(damaged(&format!("is a recording with schema {found}; this plumb reads schema 1")));
        }
        to.lost += head["events_lost"].as_u64().unwrap_or_default();
        to.events += head["events"].as_u64().unwrap_or_default();
        let usual = if head["is_device"] == true { Level::Device } else { Level::Call };
        let groups = table.groups();
        let column: ColumnOf = Box::new(move |group, name: &str| whole_or_damaged(|| table.column(group, name)));
        Ok(Recording { column, groups, next: 0, rows_before: 0, level: wanted.unwrap_or(usual), others: 0 })
    }

    /// Reads the next group; `false` behind the last one.
    pub(super) fn group(&mut self, to: &mut Sink) -> Result<bool, FormatError> {
        if self.next == self.groups {
            return Ok(false);
        }
        let mut columns = Vec::with_capacity(COLUMNS.len());
        for name in COLUMNS {
            let cells = (self.column)(self.next, name)?;
            columns.push(cells.ok_or_else(|| damaged(&format!("is damaged: it has no column {name}")))?);
        }
        let group = Group(columns.try_into().map_err(|_| damaged("is damaged: columns are missing"))?);
        let rows = group.rows();
        for row in 0..rows {
            let row_of_file = self.rows_before + row + 1;
            let at = |Wrong(what)| FormatError::Damaged(format!("row {row_of_file}: {what}"));
            match group.io(row, self.level, to).map_err(at)? {
                Some(io) => to.order.extend(checked(io).map_err(at)?),
                None => self.others += 1,
            }
        }
        self.rows_before += rows;
        self.next += 1;
        Ok(true)
    }
}

impl Group {
    fn rows(&self) -> usize {
        match &self.0[0] {
            Cells::Whole(cells) => cells.len(),
            _ => 0,
        }
    }

    fn number(&self, column: usize, row: usize) -> Option<u64> {
        match &self.0[column] {
            Cells::Whole(cells) => cells.get(row).copied().flatten().and_then(|cell| u64::try_from(cell).ok()),
            _ => None,
        }
    }

    fn text(&self, column: usize, row: usize) -> &str {
        match &self.0[column] {
            Cells::Text(cells) => cells.get(row).and_then(Option::as_deref).unwrap_or_default(),
            _ => "",
        }
    }

    /// The I/O of a row; `None` if it is of the other level.
    fn io(&self, row: usize, level: Level, to: &mut Sink) -> Result<Option<TraceIo>, Wrong> {
        let known = |column: usize| {
            self.number(column, row).ok_or_else(|| Wrong(format!("it has no known {}", COLUMNS[column])))
        };
        let is_call = match self.text(4, row) {
            "call" => true,
            "block layer" => false,
            other => return Err(Wrong(format!("its reach `{}` is not known", crate::printable::line(other)))),
        };
        if is_call != (level == Level::Call) {
            return Ok(None);
        }
        let operation = match self.text(3, row) {
            "read" | "page fault" => Operation::Read,
            "write" => Operation::Write,
            "sync" if self.text(5, row) == "fdatasync" => Operation::DataSync,
            "sync" => Operation::Sync,
            other => return Err(Wrong(format!("its direction `{}` is not known", crate::printable::line(other)))),
        };
        let is_sync = matches!(operation, Operation::Sync | Operation::DataSync);
        Ok(Some(TraceIo {
            begin: Nanos(known(0)?),
            operation,
            offset: self.number(6, row).filter(|_| !is_sync),
            bytes: if is_sync { 0 } else { known(7)? },
            target: to.target(self.text(if is_call { 8 } else { 9 }, row).as_bytes())?,
            latency: Some(Nanos(known(1)?)),
            thread: self.number(2, row).and_then(|thread| u32::try_from(thread).ok()),
        }))
    }
}

fn damaged(what: &str) -> FormatError {
    FormatError::Damaged(what.to_owned())
}

/// The library panics on some damaged files.
fn whole_or_damaged<T>(read: impl FnOnce() -> Result<T, FormatError>) -> Result<T, FormatError> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let found = catch_unwind(AssertUnwindSafe(read));
    std::panic::set_hook(hook);
    found.unwrap_or_else(|_| Err(damaged("is damaged: it is not whole Parquet")))
}
