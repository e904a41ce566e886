//! Reader of iozone's spreadsheet reports (`-R`) → rows.
//!
//! iozone prints its table first and repeats the values in one report per test; values already read from the table are
//! skipped. Reports without the table, as saved from spreadsheets, yield the same rows as the table. A 0 means that
//! nothing was measured, and is skipped.

use super::{KIB, TESTS};
use crate::event::{Event, Line, Sink};
use crate::read_number::whole;
use model::reading::{Content, IozoneHead, IozoneRow, IozoneThroughput, IozoneUnit, Reading};
use std::collections::HashSet;

/// Most table values remembered for this comparison; a larger table's reports are read as additional rows.
const MOST_KNOWN: usize = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    Rate,
    ProcessorPercent,
}

#[derive(Debug)]
enum Open {
    /// Values by file size and record size.
    Matrix { test: &'static str, quantity: Quantity, records: Vec<f64> },
    /// Values by test and number of processes.
    Throughput(Throughput),
}

/// A block of values by test, as far as its lines have said what they are.
#[derive(Debug)]
struct Throughput {
    quantity: Quantity,
    unit: IozoneUnit,
    record_bytes: Option<f64>,
}

/// State of the reader between lines.
#[derive(Debug, Default)]
pub(crate) struct ReportReader {
    open: Option<Open>,
    /// Values of the table: the bits of file size, record size and value, and the test.
    rows: HashSet<(u64, u64, u64, &'static str)>,
    /// The bits of the throughput blocks' rates.
    blocks: HashSet<u64>,
}

impl ReportReader {
    /// Remembers a row of the table.
    pub(crate) fn seen_row(&mut self, file: f64, record: f64, values: &[(&'static str, f64)]) {
        if self.rows.len() + values.len() <= MOST_KNOWN {
            self.rows.extend(values.iter().map(|&(test, value)| cell(file, record, value, test)));
        }
    }

    /// Remembers the rate of a throughput block.
    pub(crate) fn seen_block(&mut self, children: Option<f64>) {
        if self.blocks.len() < MOST_KNOWN {
            self.blocks.extend(children.map(f64::to_bits));
        }
    }

    /// Consumes a line if it belongs to a report; returns true if it did.
    pub(crate) fn line(&mut self, line: Line<'_>, head: Option<&IozoneHead>, sink: &mut Sink<'_>) -> bool {
        let Line { number, text, .. } = line;
        if !text.starts_with('"') {
            return text == "Excel output is below:";
        }
        if let Some(open) = opened(text) {
            self.open = Some(open);
            return true;
        }
        if self.open.is_some() && may_be_cut(line) {
            sink(Event::damage(number, "iozone's report ends here, within a number"));
            return true;
        }
        match &mut self.open {
            None => false,
            Some(Open::Matrix { records, .. }) if records.is_empty() => {
                *records = sizes(text).unwrap_or_default();
                if records.is_empty() {
                    damaged(number, "the heading of a report", sink);
                    self.open = None;
                }
                true
            }
            Some(Open::Matrix { test, quantity, records }) => {
                let Some((file, values)) = row(text).filter(|(file, values)| is_whole(*file, values, records)) else {
                    damaged(number, "row of a report", sink);
                    return true;
                };
                for (&record, value) in records.iter().zip(values).filter(|(_, value)| *value != 0.0) {
                    if *quantity == Quantity::Rate && self.rows.contains(&cell(file, record, value, test)) {
                        continue;
                    }
                    sink(Event::Reading(row_of(number, head, file, record, test, *quantity, value)));
                }
                true
            }
            Some(Open::Throughput(block)) => throughput(number, text, head, block, &self.blocks, sink),
        }
    }
}

/// True if the last number of the input may go on: after a rate there is a blank, and a share has two decimals.
fn may_be_cut(Line { whole, text, unended, .. }: Line<'_>) -> bool {
    let decimals = text.rsplit_once('.').filter(|(_, rest)| rest.bytes().all(|byte| byte.is_ascii_digit()));
    unended
        && whole.ends_with(|letter: char| letter.is_ascii_digit())
        && decimals.is_none_or(|(_, rest)| rest.len() < 2)
}

fn cell(file: f64, record: f64, value: f64, test: &'static str) -> (u64, u64, u64, &'static str) {
    (file.to_bits(), record.to_bits(), value.to_bits(), test)
}

fn damaged(number: u64, what: &str, sink: &mut Sink<'_>) {
    sink(Event::damage(number, format!("damaged {what} of iozone")));
}

/// Parses a heading: `"Writer report"`, `"Throughput report Y-axis ..."`, `"Reader CPU utilization report (..)"`.
fn opened(text: &str) -> Option<Open> {
    let title = text.strip_prefix('"')?.split('"').next()?;
    let (name, _) = title.split_once(" report")?;
    if title.contains("Y-axis is type of test") {
        let quantity = match name {
            "Throughput" => Quantity::Rate,
            "CPU utilization" => Quantity::ProcessorPercent,
            _ => return None,
        };
        return Some(Open::Throughput(Throughput { quantity, unit: IozoneUnit::default(), record_bytes: None }));
    }
    let (name, quantity) = match name.strip_suffix(" CPU utilization") {
        Some(name) => (name, Quantity::ProcessorPercent),
        None => (name, Quantity::Rate),
    };
    let (_, test, _) = TESTS.iter().find(|(_, _, report)| report.eq_ignore_ascii_case(name))?;
    Some(Open::Matrix { test, quantity, records: Vec::new() })
}

/// `"4"  "8"  "16"`.
fn sizes(text: &str) -> Option<Vec<f64>> {
    text.split_whitespace().map(|word| whole(word.strip_prefix('"')?.strip_suffix('"')?)).collect()
}

/// `"64"   955947  2203800`: file size and values.
fn row(text: &str) -> Option<(f64, Vec<f64>)> {
    let (size, values) = text.strip_prefix('"')?.split_once('"')?;
    Some((whole(size.trim())?, values.split_whitespace().map(whole).collect::<Option<_>>()?))
}

/// True if a row has a value for each record size, or for each that is not larger than the file.
fn is_whole(file: f64, values: &[f64], records: &[f64]) -> bool {
    let fitting = records.iter().filter(|record| **record <= file).count();
    values.len() == records.len() || (values.len() == fitting && fitting > 0)
}

fn row_of(
    line: u64,
    head: Option<&IozoneHead>,
    file: f64,
    record: f64,
    test: &'static str,
    quantity: Quantity,
    value: f64,
) -> Reading {
    let mut row = IozoneRow {
        head: head.cloned().unwrap_or_default(),
        file_bytes: file * KIB,
        record_bytes: record * KIB,
        ..IozoneRow::default()
    };
    match quantity {
        Quantity::Rate => row.values.push((test, value)),
        Quantity::ProcessorPercent => row.processor_percent.push((test, value)),
    }
    Reading::new("iozone", line, Content::Iozone(Box::new(row)))
}

/// Parses a line of a throughput report: its heading, or a test and its values.
fn throughput(
    number: u64,
    text: &str,
    head: Option<&IozoneHead>,
    block: &mut Throughput,
    known: &HashSet<u64>,
    sink: &mut Sink<'_>,
) -> bool {
    let inner = text.trim_matches('"').trim();
    if let Some(size) = inner.strip_prefix("Record size = ") {
        block.record_bytes = size.split(' ').next().and_then(whole).map(|size| size * KIB);
        return true;
    }
    if let Some(word) = inner.strip_prefix("Output is in ") {
        block.unit = match word {
            "ops/sec" => IozoneUnit::OperationsPerSecond,
            "usec/op" | "microseconds/op" => IozoneUnit::MicrosecondsPerOperation,
            _ => IozoneUnit::KibPerSecond,
        };
        return true;
    }
    let Some((name, values)) = text.strip_prefix('"').and_then(|rest| rest.split_once('"')) else { return false };
    let Some(values) = values.split_whitespace().map(whole).collect::<Option<Vec<f64>>>().filter(|all| !all.is_empty())
    else {
        damaged(number, "row of a report", sink);
        return true;
    };
    for value in values.into_iter().filter(|value| *value != 0.0) {
        if block.quantity == Quantity::Rate && known.contains(&value.to_bits()) {
            continue;
        }
        let mut head = head.cloned().unwrap_or_default();
        head.unit = block.unit;
        head.record_bytes = block.record_bytes.or(head.record_bytes);
        let mut row = IozoneThroughput { head, test: name.trim().to_owned(), ..IozoneThroughput::default() };
        match block.quantity {
            Quantity::Rate => row.children = Some(value),
            Quantity::ProcessorPercent => row.processor_percent = Some(value),
        }
        let found = Content::Throughput(Box::new(row));
        sink(Event::Reading(Reading::new("iozone", number, found)));
    }
    true
}
