//! Reader of iozone's tables and throughput text → rows.
//!
//! Values are read by column, because unselected tests are blank and wide values leave no blank between.

use super::read_report::ReportReader;
use super::{KIB, TESTS};
use crate::event::{Event, Line, Sink};
use crate::read_number::{leading, whole};
use model::reading::{Content, IozoneHead, IozoneRow, IozoneThroughput, IozoneUnit, Reading};

/// End position of the file size column.
const SIZE_END: usize = 16;
const RECORD_END: usize = 24;

/// A line of the head that states a number: its start, the unit and the field.
type HeadLine = (&'static str, f64, fn(&mut IozoneHead) -> &mut Option<f64>);

const HEAD_LINES: &[HeadLine] = &[
    ("Record Size ", KIB, |head| &mut head.record_bytes),
    ("File size set to ", KIB, |head| &mut head.file_bytes),
    ("Time Resolution = ", 1.0, |head| &mut head.resolution_s),
    ("Processor cache size set to ", KIB, |head| &mut head.cache_bytes),
    ("Processor cache line size set to ", 1.0, |head| &mut head.cache_line_bytes),
    ("File stride size set to ", 1.0, |head| &mut head.stride_records),
    ("Throughput test with ", 1.0, |head| &mut head.workers),
    ("Each process writes a ", KIB, |head| &mut head.file_bytes),
    ("Each thread writes a ", KIB, |head| &mut head.file_bytes),
];

/// A line of a throughput block: its start and the field.
type BlockLine = (&'static str, fn(&mut IozoneThroughput) -> &mut Option<f64>);

const BLOCK_LINES: &[BlockLine] = &[
    ("Parent sees throughput for", |block| &mut block.parent),
    ("Min throughput per", |block| &mut block.min),
    ("Max throughput per", |block| &mut block.max),
    ("Avg throughput per", |block| &mut block.mean),
    ("Min xfer", |block| &mut block.min_transfer),
];

/// State of the reader between lines.
#[derive(Debug, Default)]
pub(crate) struct IozoneReader {
    head: Option<IozoneHead>,
    /// Columns by which the table is indented compared with iozone's output; `None` outside of a table.
    table_shift: Option<isize>,
    block: Option<(u64, IozoneThroughput)>,
    report: ReportReader,
    line: u64,
    complete: bool,
    found: bool,
}

impl IozoneReader {
    /// True if a table or block is open, so a line that does not look like iozone's may belong to it.
    pub(crate) fn is_open(&self) -> bool {
        self.head.is_some() || self.table_shift.is_some() || self.block.is_some()
    }

    /// Consumes a line if it is iozone's; returns true if it did.
    pub(crate) fn line(&mut self, line: Line<'_>, sink: &mut Sink<'_>) -> bool {
        let Line { number, whole, text, .. } = line;
        self.line = number;
        let begins = text.starts_with(['I', 'i', 'k', 'C', 'E', '"']);
        if !begins && !self.is_open() {
            return false;
        }
        if text.starts_with("Iozone: Performance Test of File I/O") {
            self.finish(sink);
            self.head = Some(IozoneHead::default());
            self.found = true;
            return true;
        }
        if text.starts_with("kB") && text.split_whitespace().nth(1) == Some("reclen") {
            let at = whole.find("reclen").unwrap_or_default();
            self.table_shift = isize::try_from(at + "reclen".len()).ok().map(|end| end - 24);
            self.found = true;
            return true;
        }
        if text.starts_with("iozone test complete") {
            self.close_block(sink);
            self.table_shift = None;
            self.complete = true;
            return true;
        }
        self.row(line, sink)
            || self.throughput(number, text, sink)
            || self.report.line(number, text, self.head.as_ref(), sink)
            || self.head_line(text)
    }

    /// Passes on the open run; a run without its last line was interrupted.
    pub(crate) fn finish(&mut self, sink: &mut Sink<'_>) {
        self.close_block(sink);
        if self.found && self.head.is_some() && !self.complete {
            sink(Event::damage(self.line, "iozone's output ends here, before `iozone test complete.`"));
        }
        *self = IozoneReader::default();
    }

    fn head_line(&mut self, text: &str) -> bool {
        let Some(head) = &mut self.head else { return false };
        let after = |name: &str| text.strip_prefix(name).map(str::trim);
        let number = |&(name, unit, slot): &HeadLine| Some((slot, after(name).and_then(leading)?.0 * unit));
        if let Some((slot, value)) = HEAD_LINES.iter().find_map(number) {
            *slot(head) = Some(value);
            let record = text.split_once("file in ").and_then(|(_, rest)| leading(rest));
            head.record_bytes = record.map(|(size, _)| size * KIB).or(head.record_bytes);
        } else if let Some(rest) = after("Version $Revision:") {
            head.version = Some(rest.trim_end_matches(['$', ' ']).to_owned());
        } else if let Some(date) = after("Run began:") {
            head.began = Some(date.to_owned());
        } else if let Some(words) = after("Command line used:") {
            head.command = Some(words.to_owned());
        } else if text.starts_with("OPS Mode.") {
            head.unit = IozoneUnit::OperationsPerSecond;
        } else if text.starts_with("Microseconds/op Mode.") {
            head.unit = IozoneUnit::MicrosecondsPerOperation;
        } else {
            return false;
        }
        true
    }

    fn row(&mut self, line: Line<'_>, sink: &mut Sink<'_>) -> bool {
        let Line { number, whole: line, unended, .. } = line;
        let Some(shift) = self.table_shift else { return false };
        let digits = line.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b' ' | b'\t'));
        if line.trim().is_empty() {
            return false;
        }
        if !digits {
            // iozone prints messages between rows; a text line that does not start with a digit does not end the table.
            let mut words = line.split_whitespace();
            if words.next().and_then(whole).is_some() && words.next().and_then(whole).is_some() {
                sink(Event::damage(number, "damaged row of iozone's table"));
                return true;
            }
            return false;
        }
        if unended && isize::try_from(line.len()).is_ok_and(|length| length - shift < RECORD_END.cast_signed()) {
            sink(Event::damage(number, "iozone's output ends here, within a number"));
            return true;
        }
        match read_row(line, shift) {
            Some((file, record, mut values)) => {
                if unended && !values.is_empty() && !ends_with_a_column(line, shift) {
                    values.pop();
                    sink(Event::damage(number, "iozone's output ends here, within a number"));
                }
                self.report.seen_row(file, record, &values);
                let row = IozoneRow {
                    head: self.head.clone().unwrap_or_default(),
                    file_bytes: file * KIB,
                    record_bytes: record * KIB,
                    values,
                    ..IozoneRow::default()
                };
                sink(Event::Reading(Reading::new("iozone", number, Content::Iozone(Box::new(row)))));
            }
            None => {
                sink(Event::damage(number, "damaged row of iozone's table: its values do not stand under the heading"))
            }
        }
        true
    }

    fn throughput(&mut self, number: u64, text: &str, sink: &mut Sink<'_>) -> bool {
        let value = |text: &str| text.split_once('=').and_then(|(_, rest)| leading(rest)).map(|(value, _)| value);
        if let Some(rest) = text.strip_prefix("Children see throughput for") {
            self.close_block(sink);
            let Some((workers, test)) = leading(rest) else {
                sink(Event::damage(number, "damaged throughput line of iozone"));
                return true;
            };
            let test = test.split('=').next().unwrap_or_default().trim().to_owned();
            let head = self.head.clone().unwrap_or_default();
            self.found = true;
            self.report.seen_block(value(text));
            let workers = Some(workers);
            self.block = Some((
                number,
                IozoneThroughput { head, test, workers, children: value(text), ..IozoneThroughput::default() },
            ));
            if value(text).is_none() {
                sink(Event::damage(number, "a throughput line of iozone without its value"));
            }
            return true;
        }
        let Some((_, block)) = &mut self.block else { return false };
        let slot = if let Some((_, slot)) = BLOCK_LINES.iter().find(|(start, _)| text.starts_with(*start)) {
            slot(block)
        } else if text.starts_with("Child[") {
            let moved = value(text);
            let rate = text.split_once("Throughput =").and_then(|(_, rest)| leading(rest)).map(|(value, _)| value);
            block.per_child.extend(moved.zip(rate));
            return true;
        } else if text.starts_with("CPU Utilization: Wall time") || text.starts_with("CPU utilization: Wall time") {
            if !processor_time(block, text) {
                sink(Event::damage(number, "damaged processor time of iozone"));
            }
            return true;
        } else {
            return false;
        };
        *slot = value(text);
        if slot.is_none() {
            sink(Event::damage(number, "a throughput line of iozone without its value"));
        }
        true
    }

    fn close_block(&mut self, sink: &mut Sink<'_>) {
        if let Some((line, block)) = self.block.take() {
            if block.min_transfer.is_none() {
                sink(Event::damage(self.line, format!("the block of `{}` of iozone is cut short", block.test)));
            }
            sink(Event::Reading(Reading::new("iozone", line, Content::Throughput(Box::new(block)))));
        }
    }
}

/// `CPU utilization: Wall time    0.001    CPU time    0.001    CPU utilization 102.59 %`.
fn processor_time(block: &mut IozoneThroughput, text: &str) -> bool {
    let after = |name: &str| text.rsplit_once(name).and_then(|(_, rest)| leading(rest)).map(|(value, _)| value);
    block.wall_s = after("Wall time");
    block.processor_s = after("CPU time");
    block.processor_percent = after("CPU utilization");
    block.wall_s.and(block.processor_s).and(block.processor_percent).is_some()
}

/// True if the last value of a row ends where its column does.
fn ends_with_a_column(line: &str, shift: isize) -> bool {
    let end = isize::try_from(line.trim_end().len()).unwrap_or(isize::MAX) - shift;
    TESTS.iter().any(|&(column, _, _)| isize::try_from(column) == Ok(end))
}

type Row = (f64, f64, Vec<(&'static str, f64)>);

/// Parses file size, record size and the values of a row by column position.
fn read_row(line: &str, shift: isize) -> Option<Row> {
    let place = |end: usize| usize::try_from(isize::try_from(end).ok()? + shift).ok();
    let cell = |from: usize, to: usize| line.get(place(from)?.min(line.len())..place(to)?.min(line.len()));
    let from_start = line.get(..place(SIZE_END)?.min(line.len()))?;
    // A tab before the first column indents the whole table.
    let (file, record) = (whole(from_start.trim_start())?, whole(cell(SIZE_END, RECORD_END)?)?);
    let mut values = Vec::new();
    let mut from = RECORD_END;
    for &(to, test, _) in TESTS {
        let text = cell(from, to)?;
        if !text.trim().is_empty() {
            values.push((test, whole(text)?));
        }
        from = to;
    }
    cell(from, line.len())?.trim().is_empty().then_some((file, record, values))
}
