//! fio's bandwidth, IOPS, latency and histogram logs → a summary per direction, in bounded memory.

use crate::event::{Event, Line, Sink};
use crate::read_number::leading;
use measure::{Histogram, Nanos};
use model::reading::{Content, LogDirection, LogSummary, ReadKind, Reading};

/// Fields of a histogram line: time, direction, size and the bins, at each `log_hist_coarseness` from 0 to 6.
const HISTOGRAM_FIELDS: [usize; 7] = [3 + 1856, 3 + 928, 3 + 464, 3 + 232, 3 + 116, 3 + 58, 3 + 29];
/// Fewest and most fields of any other log line.
const FIELDS: std::ops::RangeInclusive<usize> = 4..=8;

/// An empty bin, with the separator before the next bin.
const EMPTY_BIN: &str = "0, ";

/// Totals of one direction.
#[derive(Debug, Default)]
struct Tally {
    count: f64,
    min: f64,
    max: f64,
    sum: f64,
    bytes: f64,
    histogram: Option<Box<Histogram>>,
}

/// State of the reader between lines.
#[derive(Debug, Default)]
pub(crate) struct LogReader {
    first_line: u64,
    rows: u64,
    span_ms: (f64, f64),
    directions: [Tally; 3],
    histograms: bool,
    fields: Vec<f64>,
}

impl LogReader {
    /// Consumes a line if it is a log row; returns true if it did.
    pub(crate) fn line(&mut self, line: Line<'_>, sink: &mut Sink<'_>) -> bool {
        let Line { number, text, .. } = line;
        if !line.first().is_ascii_digit() {
            if !text.is_empty() {
                self.end(sink);
            }
            return false;
        }
        let mut fields = std::mem::take(&mut self.fields);
        let taken = if read_fields(text, &mut fields) && is_row(&fields) {
            self.row(number, &fields);
            true
        } else if self.rows > 0 && text.contains(',') {
            sink(Event::damage(number, "damaged line of a log"));
            true
        } else {
            false
        };
        self.fields = fields;
        taken
    }

    /// Fast path: consumes the next row of an open log if it has only digits, blanks and commas, as nearly all.
    pub(crate) fn goes_on(&mut self, line: Line<'_>) -> bool {
        if self.rows == 0 || !line.first().is_ascii_digit() {
            return false;
        }
        let mut fields = [0.0; *FIELDS.end()];
        let read = short_row(line.text.as_bytes(), &mut fields).filter(|fields| is_row(fields));
        if let Some(fields) = read {
            self.row(line.number, fields);
        }
        read.is_some()
    }

    fn row(&mut self, number: u64, fields: &[f64]) {
        let histogram = fields.len() > *FIELDS.end();
        if self.rows == 0 {
            self.first_line = number;
            self.span_ms.0 = fields[0];
            self.histograms = histogram;
        }
        self.rows += 1;
        self.span_ms.1 = self.span_ms.1.max(fields[0]);
        let direction = fields[direction_at(fields)];
        let at = [0.0, 1.0, 2.0].iter().position(|&known| (known - direction).abs() < 0.1).unwrap_or(0);
        let tally = &mut self.directions[at];
        if histogram {
            tally.bytes += fields[2];
            tally.histogram(&fields[3..]);
        } else {
            let at = direction_at(fields);
            // With `log_window_value=both` the largest of the window stands behind its mean.
            let largest = if at == 3 { fields[2].max(fields[1]) } else { fields[1] };
            tally.value(fields[1], largest, fields[at + 1]);
        }
    }

    /// Reports the summary of the lines read.
    pub(crate) fn end(&mut self, sink: &mut Sink<'_>) {
        if self.rows == 0 {
            return;
        }
        let log = std::mem::take(self);
        self.fields = log.fields;
        let kinds = [ReadKind::Read, ReadKind::Write, ReadKind::Trim];
        let directions =
            kinds.into_iter().zip(log.directions).filter_map(|(kind, tally)| tally.summary(kind)).collect();
        let summary = LogSummary { rows: log.rows, span_ms: log.span_ms, directions, histograms: log.histograms };
        sink(Event::Reading(Reading::new("fio-log", log.first_line, Content::Log(Box::new(summary)))));
    }
}

/// A row of a bandwidth, IOPS or latency log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Milliseconds since the start of the log.
    pub at_ms: f64,
    /// The value of the I/O, or the mean of the window.
    pub value: f64,
    /// 0 for reads, 1 for writes, 2 for trims.
    pub direction: usize,
}

impl Point {
    /// Reads a row; `None` if it is not one, and for the row of a histogram.
    pub fn of(text: &str) -> Option<Point> {
        let (mut few, mut any) = ([0.0; *FIELDS.end()], Vec::new());
        let text = text.trim();
        let fields = match short_row(text.as_bytes(), &mut few) {
            Some(fields) => fields,
            None if read_fields(text, &mut any) => &any,
            None => return None,
        };
        if !FIELDS.contains(&fields.len()) || !is_row(fields) {
            return None;
        }
        let direction = fields[direction_at(fields)];
        let direction = [0.0, 1.0, 2.0].iter().position(|known| (known - direction).abs() < 0.1)?;
        Some(Point { at_ms: fields[0], value: fields[1], direction })
    }
}

/// A row of a histogram log.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramRow {
    /// Milliseconds since the start of the log: the end of the window.
    pub at_ms: f64,
    /// 0 for reads, 1 for writes, 2 for trims.
    pub direction: usize,
    /// The completion latencies of the window.
    pub histogram: Box<Histogram>,
}

impl HistogramRow {
    /// Reads a row of any coarseness; `None` if it is not one.
    pub fn of(text: &str) -> Option<HistogramRow> {
        let mut fields = Vec::new();
        if !read_fields(text.trim(), &mut fields) || !HISTOGRAM_FIELDS.contains(&fields.len()) || !is_row(&fields) {
            return None;
        }
        let direction = [0.0, 1.0, 2.0].iter().position(|known| (known - fields[1]).abs() < 0.1)?;
        let mut tally = Tally::default();
        tally.histogram(&fields[3..]);
        Some(HistogramRow { at_ms: fields[0], direction, histogram: tally.histogram? })
    }
}

/// Parses a natural number of at most 15 digits at the start; returns it and its length.
fn natural(bytes: &[u8]) -> Option<(f64, usize)> {
    const MOST: usize = 15;
    let (mut value, mut digits) = (0_u64, 0);
    while let Some(digit @ b'0'..=b'9') = bytes.get(digits) {
        if digits == MOST {
            return None;
        }
        value = value * 10 + u64::from(digit - b'0');
        digits += 1;
    }
    (digits > 0).then_some((value as f64, digits))
}

fn blanks(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|&&byte| byte == b' ').count()
}

/// Parses a priority as logs print it, `0x2003`; returns it and its length.
fn priority(bytes: &[u8]) -> Option<(f64, usize)> {
    const MOST: usize = 4;
    let digits = bytes.strip_prefix(b"0x")?;
    let count = digits.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let text = std::str::from_utf8(&digits[..count.min(MOST)]).ok()?;
    let value = u16::from_str_radix(text, 16).ok().filter(|_| count <= MOST)?;
    Some((f64::from(value), "0x".len() + count))
}

/// Parses comma-separated natural numbers; `None` for anything else, even if the slower path would accept the row.
fn short_row<'fields>(mut bytes: &[u8], fields: &'fields mut [f64]) -> Option<&'fields [f64]> {
    let mut count = 0;
    loop {
        let (value, digits) = if bytes.starts_with(b"0x") { priority(bytes)? } else { natural(bytes)? };
        *fields.get_mut(count)? = value;
        count += 1;
        bytes = &bytes[digits..];
        bytes = &bytes[blanks(bytes)..];
        match bytes.split_first() {
            None => return Some(&fields[..count]),
            Some((b',', rest)) => bytes = &rest[blanks(rest)..],
            Some(_) => return None,
        }
    }
}

/// Parses comma-separated natural numbers; false if there is anything else.
fn read_fields(text: &str, fields: &mut Vec<f64>) -> bool {
    fields.clear();
    let mut rest = text;
    loop {
        rest = &rest[blanks(rest.as_bytes())..];
        // Nearly all bins of a histogram row are empty.
        while let Some(next) = rest.strip_prefix(EMPTY_BIN) {
            fields.push(0.0);
            rest = next;
        }
        let (value, after) = match natural(rest.as_bytes()) {
            // The number ends here only if a comma or a blank follows its digits.
            Some((value, digits)) if matches!(rest.as_bytes().get(digits), None | Some(b',' | b' ')) => {
                (value, &rest[digits..])
            }
            _ => match odd_field(rest) {
                Some(found) => found,
                None => return false,
            },
        };
        fields.push(value);
        let after = after.trim_start();
        match after.strip_prefix(',') {
            Some(next) => rest = next.trim_start(),
            None => return after.is_empty(),
        }
        if rest.is_empty() {
            return true;
        }
    }
}

/// Parses a field that is not plain digits: `0x2003`, `1e5`, `7.0`, or one surrounded by other blanks.
fn odd_field(rest: &str) -> Option<(f64, &str)> {
    let rest = rest.trim_start();
    let Some(digits) = rest.strip_prefix("0x") else {
        return leading(rest).filter(|(value, _)| *value >= 0.0 && value.fract() == 0.0);
    };
    let end = digits.find(|letter: char| !letter.is_ascii_hexdigit()).unwrap_or(digits.len());
    Some((f64::from(u32::from_str_radix(&digits[..end], 16).ok()?), &digits[end..]))
}

/// Column of the direction: the second of a histogram, the third of other rows, the fourth where the largest value of a
/// window is behind the mean (`log_window_value=both`). That one is 0 in rows of single I/Os, whose size is never 0.
fn direction_at(fields: &[f64]) -> usize {
    match *fields {
        _ if fields.len() > *FIELDS.end() => 1,
        [_, _, third, fourth, fifth, _, ..] if fourth <= 2.0 && (third > 2.0 || fifth > 0.0) => 3,
        _ => 2,
    }
}

/// True if these can be the fields of a log row: the direction field is 0, 1 or 2.
fn is_row(fields: &[f64]) -> bool {
    let histogram = HISTOGRAM_FIELDS.contains(&fields.len());
    let direction = fields.get(direction_at(fields));
    (histogram || FIELDS.contains(&fields.len())) && direction.is_some_and(|&direction| direction <= 2.0)
}

impl Tally {
    fn value(&mut self, value: f64, largest: f64, bytes: f64) {
        self.min = if self.count == 0.0 { value } else { self.min.min(value) };
        self.max = self.max.max(largest);
        self.count += 1.0;
        self.sum += value;
        self.bytes += bytes;
    }

    fn histogram(&mut self, bins: &[f64]) {
        let histogram = self.histogram.get_or_insert_with(|| Box::new(Histogram::new()));
        // The latencies of a coarse bin lie in the middle of those that it joins.
        let step = 1856 / bins.len().max(1);
        for (bin, &count) in bins.iter().enumerate().filter(|(_, count)| **count > 0.0) {
            histogram.add_to_bucket(bin * step + step / 2, crate::from_printed::rounded(count));
        }
    }

    fn summary(mut self, kind: ReadKind) -> Option<LogDirection> {
        let mut bins = Vec::new();
        if let Some(histogram) = self.histogram.take() {
            for (bucket, count) in histogram.iter() {
                let (value, count) = (Histogram::bucket_value(bucket), crate::result_as_reading::float(count));
                let value: Nanos = value;
                bins.push((value.as_f64(), count));
                self.min = if self.count == 0.0 { value.as_f64() } else { self.min };
                self.max = value.as_f64();
                self.sum += value.as_f64() * count;
                self.count += count;
            }
        }
        (self.count > 0.0).then(|| LogDirection {
            kind,
            count: self.count,
            min: self.min,
            max: self.max,
            mean: self.sum / self.count,
            bytes: self.bytes,
            bins,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_a_histogram_has_its_latencies_however_coarse() {
        for (bins, place) in [(1856, 448), (464, 112), (29, 7)] {
            let counts: Vec<String> = (0..bins).map(|bin| if bin == place { "5".into() } else { "0".into() }).collect();
            let row = HistogramRow::of(&format!("500, 1, 4096, {}", counts.join(", "))).expect("a row");
            assert_eq!((row.at_ms, row.direction, row.histogram.total()), (500.0, 1, 5));
            // The bucket 448 begins at 4,096 ns, and its group ends at twice that.
            let found = row.histogram.percentile(50.0).expect("a latency").as_f64();
            assert!((4096.0..8192.0).contains(&found), "{bins}: {found}");
        }
        assert_eq!(HistogramRow::of("500, 1, 4096, 0"), None);
        assert_eq!(HistogramRow::of(&format!("500, 7, 4096{}", ", 1".repeat(29))), None);
    }

    #[test]
    fn the_direction_is_found_in_every_layout() {
        for (row, at) in [
            (&[7.0, 900.0, 1.0, 4096.0][..], 2),
            (&[7.0, 900.0, 1.0, 4096.0, 0.0], 2),
            (&[7.0, 900.0, 1.0, 4096.0, 8192.0, 0.0], 2),
            (&[100.0, 900.0, 1.0, 0.0, 0.0, 0.0], 2),
            // The largest value of a window, which is 0 for a single I/O.
            (&[100.0, 900.0, 5000.0, 1.0, 0.0, 0.0], 3),
            (&[100.0, 900.0, 5000.0, 1.0, 0.0, 0.0, 0.0, 0.0], 3),
            (&[7.0, 900.0, 0.0, 1.0, 4096.0, 0.0], 3),
            (&[7.0, 900.0, 0.0, 1.0, 4096.0, 8192.0, 0.0, 6_999_123.0], 3),
        ] {
            assert_eq!(direction_at(row), at, "{row:?}");
            assert!(is_row(row), "{row:?}");
        }
    }
}
