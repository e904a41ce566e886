//! Reader of iostat's text and JSON of any version → rows of named values.

use super::columns::bytes_of_unit;
use crate::event::{Event, Line, Sink};
use crate::read_number::{Era, Heading, Suffix, leading};
use crate::tree::Tree;
use model::reading::{Content, IostatRow, Reading};
use std::sync::Arc;

/// The columns of a heading line.
#[derive(Clone, Debug)]
struct Table {
    columns: Arc<[String]>,
    /// The bytes of each column's unit, if it has one.
    units: Vec<Option<f64>>,
    /// True if the device name is the last column, as with `-h`.
    device_last: bool,
    /// Length of the heading: no whole row is shorter. 0 if the device name is last.
    width: usize,
    rows: u64,
    named: Option<Named>,
}

/// A device that is alone on its line, as with `-h` of sysstat up to 11: its numbers are in the next line.
#[derive(Clone, Debug)]
struct Named {
    line: u64,
    device: String,
}

impl Named {
    /// Without numbers after it, it is a row that was cut, if it looks like a name of the kernel.
    fn without_numbers(&self, sink: &mut Sink<'_>) {
        if self.device.starts_with(|letter: char| letter.is_ascii_lowercase()) {
            sink(Event::damage(self.line, "damaged device line of iostat"));
        }
    }
}

impl Table {
    fn new(columns: &str) -> Self {
        let columns: Arc<[String]> = columns.split_whitespace().map(str::to_owned).collect();
        let units = columns.iter().map(|column| bytes_of_unit(column)).collect();
        Table { columns, units, device_last: false, width: 0, rows: 0, named: None }
    }

    /// True if a row ends before the heading does. A long name moves its numbers.
    fn is_short(&self, row: &str) -> bool {
        const NAME: usize = 13;
        let name = row.split_whitespace().next().map_or(0, |name| name.chars().count());
        let is_narrow = row.trim_end().chars().count() < self.width + name.saturating_sub(NAME);
        self.width > 0 && (is_narrow || self.ends_early(row))
    }

    /// True if the last number of a row has fewer decimals than the first one, as it may where a wide value has moved
    /// it beyond the heading. Sums have none.
    fn ends_early(&self, row: &str) -> bool {
        let decimals = |word: &str| word.rsplit_once(DECIMAL_SIGNS).map_or(0, |(_, rest)| rest.chars().count());
        let mut numbers = row.split_whitespace().filter(|word| is_number(word));
        let (first, last) = (numbers.next(), numbers.next_back());
        let has_decimals = self.columns.last().is_some_and(|column| !column.contains('_') || column.ends_with("await"));
        let is_bare =
            |word: &str| word.ends_with(|letter: char| letter.is_ascii_digit() || DECIMAL_SIGNS.contains(&letter));
        has_decimals && first.zip(last).is_some_and(|(first, last)| is_bare(last) && decimals(last) < decimals(first))
    }

    /// The values of a row; `None` if their number or one of them is wrong.
    fn values(&self, words: &[&str]) -> Option<Vec<f64>> {
        let whole = words.len() == self.columns.len();
        whole.then(|| words.iter().zip(&self.units).map(|(word, unit)| value(word, *unit)).collect()).flatten()
    }
}

/// The rows of a report that `-x --pretty` cuts into a table each for reads, writes, discards and the rest.
#[derive(Debug, Default)]
struct CutReport {
    columns: Vec<String>,
    /// Columns of the tables before the last one.
    before: usize,
    rows: Vec<(u64, IostatRow)>,
    /// The row that the next line probably continues.
    next: usize,
}

impl CutReport {
    /// Most devices of a report; a text with more of them is read table by table.
    const MOST: usize = 1 << 16;

    /// Takes the heading of a table.
    fn open(&mut self, columns: &[String]) {
        (self.before, self.next) = (self.columns.len(), 0);
        self.columns.extend_from_slice(columns);
    }

    /// Adds a line; false if no line before it was of this device.
    fn add(&mut self, number: u64, mut row: IostatRow) -> bool {
        if self.before == 0 {
            self.rows.push((number, row));
            return true;
        }
        let is_it = |found: &IostatRow| found.device == row.device && found.values.len() == self.before;
        let mut rest = self.rows.iter_mut().skip(self.next).enumerate();
        let Some((skipped, (_, found))) = rest.find(|(_, (_, found))| is_it(found)) else { return false };
        self.next += skipped + 1;
        found.values.append(&mut row.values);
        true
    }
}

/// A line that may be a time.
#[derive(Debug)]
struct Moment {
    line: u64,
    text: String,
}

/// State of the reader between lines.
#[derive(Debug, Default)]
pub(crate) struct IostatReader {
    devices: Option<Table>,
    processors: Option<Table>,
    cut: Option<CutReport>,
    date: Option<String>,
    /// A line that is the time of a report if its heading is the next line.
    moment: Option<Moment>,
    heading: u64,
}

impl IostatReader {
    /// True if a table is open, so a line that does not look like iostat's may be one of its rows.
    pub(crate) fn is_open(&self) -> bool {
        self.devices.is_some() || self.processors.is_some()
    }

    /// Consumes a line if it is iostat's; returns true if it did.
    pub(crate) fn line(&mut self, line: Line<'_>, sink: &mut Sink<'_>) -> bool {
        let Line { number, text, whole, unended, .. } = line;
        if text.is_empty() {
            self.end(sink);
            return false;
        }
        if text.starts_with("Linux ") {
            self.date = None;
        }
        let begins = matches!(line.first(), b'a' | b'D' | b'0'..=b'9') || text.ends_with("Device");
        if !begins && !self.is_open() {
            self.keep_moment(number, text);
            return false;
        }
        if self.heading(number, whole, sink) {
            return true;
        }
        let open = self.devices.as_ref().or(self.processors.as_ref());
        if unended && open.is_some_and(|table| table.is_short(whole)) {
            (self.devices, self.processors) = (None, None);
            sink(Event::damage(number, "iostat's output ends here, within a line"));
            return true;
        }
        if let Some(processors) = self.processors.take() {
            return Self::processor_line(number, text, &processors, self.date.as_ref(), sink);
        }
        if self.devices.is_some() {
            return self.device_line(number, text, sink);
        }
        if is_date(text) || is_epoch(text) {
            self.date = Some(text.to_owned());
            return true;
        }
        self.keep_moment(number, text);
        false
    }

    /// Ends the input.
    pub(crate) fn finish(&mut self, sink: &mut Sink<'_>) {
        self.end(sink);
        self.end_cut(sink);
    }

    fn end(&mut self, sink: &mut Sink<'_>) {
        if let Some(table) = self.devices.take() {
            if table.rows == 0 {
                sink(Event::damage(self.heading, "a heading of iostat without a device under it"));
            } else if let Some(named) = &table.named {
                named.without_numbers(sink);
            }
            if table.columns.iter().any(|column| column == "%util") {
                self.end_cut(sink);
            }
        }
        if self.processors.take().is_some() {
            sink(Event::damage(self.heading, "a processor heading of iostat without its line"));
        }
    }

    /// Passes on the rows of a report of several tables. A row that ends early keeps what it has.
    fn end_cut(&mut self, sink: &mut Sink<'_>) {
        let Some(report) = self.cut.take() else { return };
        let whole = report.columns.iter().any(|column| column == "%util");
        let columns: Arc<[String]> = report.columns.into();
        for (number, mut row) in report.rows {
            let length = row.values.len();
            row.columns = if length == columns.len() { Arc::clone(&columns) } else { columns[..length].into() };
            if length < columns.len() {
                sink(Event::damage(
                    number,
                    format!("a device of iostat that is missing in the table of `{}`", columns[length]),
                ));
            }
            sink(reading(number, Content::Device(Box::new(row))));
        }
        if !whole {
            let last = columns.last().map_or("", String::as_str);
            sink(Event::damage(self.heading, format!("a report of iostat ends here, after the table with `{last}`")));
        }
    }

    /// Consumes a heading, which opens a table.
    fn heading(&mut self, number: u64, whole: &str, sink: &mut Sink<'_>) -> bool {
        let text = whole.trim();
        let width = || whole.trim_end().chars().count();
        let table = if let Some(rest) = text.strip_prefix("avg-cpu:") {
            Table { width: width(), ..Table::new(rest) }
        } else if let Some(rest) =
            text.strip_prefix("Device").filter(|rest| rest.contains("/s") || rest.contains("tps"))
        {
            let rest = rest.strip_prefix(':').unwrap_or(rest);
            if !rest.starts_with(char::is_whitespace) {
                return false;
            }
            Table { width: width(), ..Table::new(rest) }
        } else if let Some(rest) = text.strip_suffix(" Device").filter(|rest| is_first_column(rest)) {
            Table { device_last: true, ..Table::new(rest) }
        } else {
            return false;
        };
        self.end(sink);
        if let Some(moment) = self.moment.take().filter(|moment| moment.line + 1 == number) {
            self.date = Some(moment.text);
        }
        self.heading = number;
        let first = table.columns.first().map_or("", String::as_str);
        let continues = table.device_last && self.cut.is_some() && matches!(first, "w/s" | "d/s" | "f/s");
        if !continues {
            self.end_cut(sink);
        }
        if text.starts_with("avg-cpu:") {
            self.processors = Some(table);
            return true;
        }
        // The whole of `-x` in one line has the busy time, too.
        if continues || table.device_last && first == "r/s" && !text.contains("%util") {
            self.cut.get_or_insert_default().open(&table.columns);
        }
        self.devices = Some(table);
        true
    }

    /// Keeps a line that may be the time of the report after it: it has the numbers of one, in any language.
    fn keep_moment(&mut self, line: u64, text: &str) {
        const LONGEST: usize = 80;
        let is_of_time =
            |letter: char| !letter.is_ascii_punctuation() || matches!(letter, '.' | ':' | '/' | '-' | ',' | '+');
        let numbers =
            |text: &str| text.split(|letter: char| !letter.is_numeric()).filter(|part| !part.is_empty()).count();
        if text.len() > LONGEST || !text.chars().all(is_of_time) {
            return;
        }
        // A date and a time of day; sysstat 9 has the time alone.
        let is_time = (5..=7).contains(&numbers(text)) || text.matches(':').count() == 3 && numbers(text) == 3;
        if is_time && text.split_whitespace().count() <= 7 {
            self.moment = Some(Moment { line, text: text.to_owned() });
        }
    }

    fn processor_line(number: u64, text: &str, table: &Table, date: Option<&String>, sink: &mut Sink<'_>) -> bool {
        let words: Vec<&str> = text.split_whitespace().collect();
        match table.values(&words) {
            Some(values) => {
                let row = IostatRow {
                    device: String::new(),
                    date: date.cloned(),
                    columns: Arc::clone(&table.columns),
                    values,
                };
                sink(reading(number, Content::Processors(Box::new(row))));
            }
            None => sink(Event::damage(number, "damaged processor line of iostat")),
        }
        true
    }

    fn device_line(&mut self, number: u64, text: &str, sink: &mut Sink<'_>) -> bool {
        let Some(table) = &mut self.devices else { return false };
        let mut words: Vec<&str> = text.split_whitespace().collect();
        let named = table.named.take();
        let device = match &named {
            Some(named) if words.iter().all(|word| is_number(word)) => Some(named.device.as_str()),
            Some(named) => {
                named.without_numbers(sink);
                (!words.is_empty()).then(|| words.remove(0))
            }
            None if table.device_last => words.pop(),
            None => (!words.is_empty()).then(|| words.remove(0)),
        };
        let Some(device) = device.filter(|_| words.first().is_some_and(|word| is_number(word))) else {
            return self.not_a_row(number, text, sink);
        };
        table.rows += 1;
        let Some(values) = table.values(&words) else {
            let what = format!("damaged line of iostat: {} values under {} headings", words.len(), table.columns.len());
            sink(Event::damage(number, what));
            return true;
        };
        let (device, date) = (device.to_owned(), self.date.clone());
        let row = IostatRow { device, date, columns: Arc::clone(&table.columns), values };
        match &mut self.cut {
            Some(report) if report.rows.len() < CutReport::MOST => {
                if !report.add(number, row) {
                    sink(Event::damage(number, "a device of iostat that is missing in the tables before this one"));
                }
            }
            _ => sink(reading(number, Content::Device(Box::new(row)))),
        }
        true
    }

    /// A line under a heading without numbers: a device alone, or text after a table that no empty line ends.
    fn not_a_row(&mut self, number: u64, text: &str, sink: &mut Sink<'_>) -> bool {
        let is_name = text.starts_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '/')
            && !text.contains(char::is_whitespace)
            && !text.ends_with(['.', ':', '!', ';', ')']);
        match &mut self.devices {
            Some(table) if is_name && !table.device_last => {
                table.named = Some(Named { line: number, device: text.to_owned() });
                true
            }
            _ => {
                self.end(sink);
                false
            }
        }
    }
}

/// True if a heading begins with a column that is the first of one of iostat's tables.
fn is_first_column(heading: &str) -> bool {
    let first = heading.split_whitespace().next().unwrap_or_default();
    first == "tps" || first.ends_with("/s") && heading.split_whitespace().nth(1).is_some()
}

/// Parses `12.50`, `12,50` of some locales, `3.1%`; and `1.2k` of `-h`, whose own unit replaces that of the heading.
fn value(text: &str, unit: Option<f64>) -> Option<f64> {
    let text = text.strip_suffix('%').unwrap_or(text).replace([',', '\u{66b}'], ".");
    match unit {
        Some(unit) => Some(Heading { unit, suffix: Suffix::Replaces(Era::Binary) }.value(&text)? / unit),
        // A count has no unit, and no time or share has one.
        None => leading(&text).filter(|(_, rest)| rest.is_empty()).map(|(value, _)| value),
    }
}

/// Signs before decimals in all languages.
const DECIMAL_SIGNS: [char; 3] = ['.', ',', '\u{66b}'];

/// True if a word is a number, with a unit or not.
fn is_number(text: &str) -> bool {
    value(text, Some(1.0)).is_some()
}

/// True for a line that is a date and time, as `11/20/2026 12:00:01 PM` or `2026-11-20T12:00:01+0000`.
fn is_date(text: &str) -> bool {
    const LONGEST: usize = 40;
    text.len() <= LONGEST
        && text.starts_with(|letter: char| letter.is_ascii_digit())
        && text.matches(':').count() >= 2
        && (['/', '.'].iter().any(|sign| text.matches(*sign).count() == 2) || text.matches('-').count() >= 2)
        && text.split_whitespace().count() <= 3
}

/// True for the seconds since 1970 of `iostat -U`, from 2001 on.
fn is_epoch(text: &str) -> bool {
    text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0')
}

/// Reports every device row in a document of `iostat -o JSON`.
pub(crate) fn from_json(root: &Tree<'_>, line: u64, sink: &mut Sink<'_>) {
    let mut found = false;
    for host in root.get("sysstat").map(|root| list(root, "hosts")).unwrap_or_default() {
        for statistics in list(host, "statistics") {
            let date = statistics.get("timestamp").and_then(Tree::as_text).map(str::to_owned);
            if let Some(row) = statistics.get("avg-cpu").and_then(|processors| row(processors, date.clone())) {
                sink(reading(line, Content::Processors(Box::new(row))));
                found = true;
            }
            for disk in list(statistics, "disk") {
                found |= device_from_json(disk, date.clone(), line, sink);
            }
        }
    }
    if !found {
        sink(Event::damage(line, "a JSON document of iostat without a line"));
    }
}

fn list<'tree, 'text>(value: &'tree Tree<'text>, key: &str) -> &'tree [Tree<'text>] {
    value.get(key).and_then(Tree::as_list).unwrap_or_default()
}

/// Reports one device; false if the value is not a device.
pub(crate) fn device_from_json(value: &Tree<'_>, date: Option<String>, line: u64, sink: &mut Sink<'_>) -> bool {
    let row = row(value, date);
    row.map(|row| sink(reading(line, Content::Device(Box::new(row))))).is_some()
}

fn reading(line: u64, found: Content) -> Event {
    Event::Reading(Reading::new("iostat", line, found))
}

fn row(value: &Tree<'_>, date: Option<String>) -> Option<IostatRow> {
    let object = value.as_object()?;
    let numbers = object.iter().filter_map(|(name, value)| Some((name.to_owned(), value.as_number()?)));
    let (columns, values): (Vec<String>, Vec<f64>) = numbers.unzip();
    let device = object.get("disk_device").and_then(Tree::as_text).unwrap_or_default().to_owned();
    (!values.is_empty()).then(|| IostatRow { device, date, columns: columns.into(), values })
}
