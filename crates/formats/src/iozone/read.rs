//! Reader of iozone's tables and throughput text → rows.

use super::KIB;
use super::read_report::ReportReader;
use super::read_table::{Columns, Found};
use crate::event::{Event, Line, Sink};
use crate::read_number::{leading, whole};
use model::reading::{Content, IozoneHead, IozoneRow, IozoneThroughput, IozoneUnit, Reading};

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
    /// The columns of the open table.
    columns: Option<Columns>,
    block: Option<(u64, IozoneThroughput)>,
    report: ReportReader,
    line: u64,
    complete: bool,
    found: bool,
}

impl IozoneReader {
    /// True if a table or block is open, so a line that does not look like iozone's may belong to it.
    pub(crate) fn is_open(&self) -> bool {
        self.head.is_some() || self.columns.is_some() || self.block.is_some()
    }

    /// Consumes a line if it is iozone's; returns true if it did.
    pub(crate) fn line(&mut self, line: Line<'_>, sink: &mut Sink<'_>) -> bool {
        let Line { number, whole, text, unended } = line;
        self.line = number;
        let begins = text.starts_with(['I', 'i', 'k', 'K', 'C', 'E', '"']);
        if !begins && !self.is_open() {
            return false;
        }
        if text.starts_with("Iozone: Performance Test of File I/O") {
            self.finish(sink);
            self.head = Some(IozoneHead::default());
            self.found = true;
            return true;
        }
        if let Some(columns) =
            Some(text).filter(|text| text.starts_with(['k', 'K'])).and_then(|_| Columns::of_heading(whole))
        {
            self.close_table(sink);
            self.columns = Some(columns);
            self.found = true;
            return true;
        }
        if text.starts_with("iozone test complete") {
            self.close_block(sink);
            self.close_table(sink);
            self.complete = true;
            return true;
        }
        self.row(line, sink)
            || self.throughput(number, text, sink)
            || self.report.line(line, self.head.as_ref(), sink)
            || self.head_line(text, unended)
    }

    /// Passes on the open run; a run without its last line was interrupted.
    pub(crate) fn finish(&mut self, sink: &mut Sink<'_>) {
        self.close_block(sink);
        self.close_table(sink);
        if self.found && self.head.is_some() && !self.complete {
            sink(Event::damage(self.line, "iozone's output ends here, before `iozone test complete.`"));
        }
        *self = IozoneReader::default();
    }

    fn head_line(&mut self, text: &str, unended: bool) -> bool {
        let Some(head) = &mut self.head else { return false };
        let after = |name: &str| text.strip_prefix(name).map(str::trim);
        // All of these numbers have a unit or a word after them.
        let stated = |text| leading(text).filter(|(_, rest)| !unended || !rest.trim_matches('.').is_empty());
        let number = |&(name, unit, slot): &HeadLine| Some((slot, after(name).and_then(stated)?.0 * unit));
        if let Some((slot, value)) = HEAD_LINES.iter().find_map(number) {
            *slot(head) = Some(value);
            let record = text.split_once("file in ").and_then(|(_, rest)| stated(rest));
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
        let Some(columns) = &mut self.columns else { return false };
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
            return columns.goes_on(line);
        }
        if unended && columns.is_short(line) {
            sink(Event::damage(number, "iozone's output ends here, within a number"));
            return true;
        }
        let Found::TableRow(number, row) = columns.numbers(number, line) else { return true };
        let Some(mut row) = row else {
            sink(Event::damage(number, "damaged row of iozone's table: its values do not stand under the heading"));
            return true;
        };
        if row.gap > 1 || unended && (row.gap > 0 || columns.is_in_order()) {
            row.values.pop();
            let what = if unended { "output ends here, within a number" } else { "row ends here, within a number" };
            sink(Event::damage(number, format!("iozone's {what}")));
        }
        self.report.seen_row(row.file, row.record, &row.values);
        let row = IozoneRow {
            head: self.head.clone().unwrap_or_default(),
            file_bytes: row.file * KIB,
            record_bytes: row.record * KIB,
            values: row.values,
            ..IozoneRow::default()
        };
        sink(Event::Reading(Reading::new("iozone", number, Content::Iozone(Box::new(row)))));
        true
    }

    /// Ends the table. A row of which a part is missing is damaged.
    fn close_table(&mut self, sink: &mut Sink<'_>) {
        if let Some(number) = self.columns.take().and_then(|mut columns| columns.left()) {
            sink(Event::damage(number, "damaged row of iozone's table: its rest is missing"));
        }
    }

    fn throughput(&mut self, number: u64, text: &str, sink: &mut Sink<'_>) -> bool {
        let value = |text: &str| stated(text.split_once('=')?.1, Decimals(2));
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
            let rate = text.split_once("Throughput =").and_then(|(_, rest)| stated(rest, Decimals(2)));
            block.per_child.extend(moved.zip(rate));
            if moved.zip(rate).is_none() {
                sink(Event::damage(number, "a line of a child of iozone without its value"));
            }
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
    let after = |name: &str, decimals| stated(text.rsplit_once(name)?.1, decimals);
    block.wall_s = after("Wall time", Decimals(3));
    block.processor_s = after("CPU time", Decimals(3));
    block.processor_percent = after("CPU utilization", Decimals(2));
    block.wall_s.and(block.processor_s).and(block.processor_percent).is_some()
}

/// The decimals that a number has.
#[derive(Clone, Copy)]
struct Decimals(usize);

/// The number at the start of a text, if it is whole: a unit is after it, or it has all of its decimals. `= 15` of
/// `= 151721.80 kB/sec` is another number.
fn stated(text: &str, Decimals(decimals): Decimals) -> Option<f64> {
    let (value, rest) = leading(text)?;
    let shown = text[..text.len() - rest.len()].split_once('.').map_or(0, |(_, shown)| shown.len());
    let has_unit = rest.trim_start().starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '%');
    (shown == decimals || has_unit).then_some(value)
}
