//! Reader of iostat's text and JSON of any version → rows of named values.

use crate::event::{Event, Line, Sink};
use crate::read_number::{Era, Heading, Suffix};
use crate::tree::Tree;
use model::reading::{Content, IostatRow, Reading};
use std::sync::Arc;

/// The columns of a heading line.
#[derive(Clone, Debug)]
struct Table {
    columns: Arc<[String]>,
    /// True if the device name is the last column, as with `-h`.
    device_last: bool,
    /// Length of the heading: no whole row is shorter.
    width: usize,
    rows: u64,
}

/// State of the reader between lines.
#[derive(Debug, Default)]
pub(crate) struct IostatReader {
    devices: Option<Table>,
    processors: Option<Table>,
    date: Option<String>,
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
        let begins = matches!(line.first(), b'a' | b'D' | b'0'..=b'9') || text.ends_with("Device");
        if !begins && !self.is_open() {
            return false;
        }
        if let Some(rest) = text.strip_prefix("avg-cpu:") {
            self.end(sink);
            self.processors = Some(Table { width: text.len(), ..table(rest) });
            return true;
        }
        let first = if text.starts_with("Device") { text.split_whitespace().next().unwrap_or_default() } else { "" };
        if (first == "Device:" || first == "Device") && (text.contains("/s") || text.contains("tps")) {
            self.end(sink);
            self.devices = Some(Table { width: text.len(), ..table(&text[first.len()..]) });
            self.heading = number;
            return true;
        }
        if text.ends_with(" Device") && text.contains("tps") || text.ends_with("%util Device") {
            self.end(sink);
            self.devices = Some(Table { device_last: true, ..table(&text[..text.len() - "Device".len()]) });
            self.heading = number;
            return true;
        }
        let open = self.devices.as_ref().or(self.processors.as_ref());
        if unended && open.is_some_and(|table| whole.trim_end().len() < table.width) {
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
        false
    }

    /// Ends the input.
    pub(crate) fn finish(&mut self, sink: &mut Sink<'_>) {
        self.end(sink);
    }

    fn end(&mut self, sink: &mut Sink<'_>) {
        if self.devices.take().is_some_and(|table| table.rows == 0) {
            sink(Event::damage(self.heading, "a heading of iostat without a device under it"));
        }
        if self.processors.take().is_some() {
            sink(Event::damage(self.heading, "a processor heading of iostat without its line"));
        }
    }

    fn processor_line(number: u64, text: &str, table: &Table, date: Option<&String>, sink: &mut Sink<'_>) -> bool {
        let values: Option<Vec<f64>> = text.split_whitespace().map(value).collect();
        match values.filter(|values| values.len() == table.columns.len()) {
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
        let device = if table.device_last { words.pop() } else { (!words.is_empty()).then(|| words.remove(0)) };
        let values: Option<Vec<f64>> = words.iter().copied().map(value).collect();
        // Text after a table that is not terminated by an empty line.
        let Some(device) = device.filter(|_| words.first().is_some_and(|word| value(word).is_some())) else {
            // A device name alone is a truncated row; anything else is not iostat's.
            let is_name =
                text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'/' | b':'));
            let cut = words.is_empty()
                && table.rows > 0
                && is_name
                && text.starts_with(|letter: char| letter.is_ascii_lowercase());
            self.end(sink);
            if cut {
                sink(Event::damage(number, "damaged device line of iostat"));
            }
            return cut;
        };
        table.rows += 1;
        match values.filter(|values| values.len() == table.columns.len()) {
            Some(values) => {
                let row = IostatRow {
                    device: device.to_owned(),
                    date: self.date.clone(),
                    columns: Arc::clone(&table.columns),
                    values,
                };
                sink(reading(number, Content::Device(Box::new(row))));
            }
            None => sink(Event::damage(
                number,
                format!("damaged line of iostat: {} values under {} headings", words.len(), table.columns.len()),
            )),
        }
        true
    }
}

fn table(columns: &str) -> Table {
    Table { columns: columns.split_whitespace().map(str::to_owned).collect(), device_last: false, width: 0, rows: 0 }
}

/// Parses `12.50`, `12,50` of some locales, `1.2k` of `-h`, `3.1%`.
fn value(text: &str) -> Option<f64> {
    const PLAIN: Heading = Heading { unit: 1.0, suffix: Suffix::Replaces(Era::Binary) };
    let text = text.strip_suffix('%').unwrap_or(text);
    if memchr::memchr(b',', text.as_bytes()).is_some() {
        return PLAIN.value(&text.replace(',', "."));
    }
    PLAIN.value(text)
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
