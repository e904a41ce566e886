//! fio's logs of bandwidth, IOPS, latency and histograms → a summary per direction, whatever their length.

use crate::numeral::leading;
use crate::stream::{Event, Sink};
use measure::{Histogram, Nanos};
use model::reading::{Found, LogDirection, LogSummary, ReadKind, Reading};

/// Fields of a line with a histogram: time, direction, size and the bins.
const HISTOGRAM_FIELDS: [usize; 4] = [3 + 1856, 3 + 928, 3 + 464, 3 + 232];
/// Fewest and most fields of another line.
const FIELDS: std::ops::RangeInclusive<usize> = 4..=8;

/// One direction so far.
#[derive(Debug, Default)]
struct Tally {
    count: f64,
    min: f64,
    max: f64,
    sum: f64,
    bytes: f64,
    histogram: Option<Box<Histogram>>,
}

/// The reader's state between lines.
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
    /// Takes a line if it is one of a log.
    pub(crate) fn line(&mut self, number: u64, line: &str, sink: &mut Sink<'_>) -> bool {
        let text = line.trim();
        if !text.starts_with(|letter: char| letter.is_ascii_digit()) {
            if !text.is_empty() {
                self.end(sink);
            }
            return false;
        }
        let mut fields = std::mem::take(&mut self.fields);
        let read = read_fields(text, &mut fields);
        let taken = if read && is_row(&fields) {
            self.row(number, &fields);
            true
        } else if self.rows > 0 && text.contains(',') {
            sink(Event::damage(number, "damaged line of a log".to_owned()));
            true
        } else {
            false
        };
        self.fields = fields;
        taken
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
        let direction = fields[if histogram { 1 } else { 2 }];
        let at = [0.0, 1.0, 2.0].iter().position(|&known| (known - direction).abs() < 0.1).unwrap_or(0);
        let tally = &mut self.directions[at];
        if histogram {
            tally.bytes += fields[2];
            tally.histogram(&fields[3..]);
        } else {
            tally.value(fields[1], fields[3]);
        }
    }

    /// Hands on the summary of the lines so far.
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
        sink(Event::Reading(Reading { format: "fio-log", line: log.first_line, found: Found::Log(Box::new(summary)) }));
    }
}

/// Numbers with commas between them; false if anything else stands there.
fn read_fields(text: &str, fields: &mut Vec<f64>) -> bool {
    fields.clear();
    let mut rest = text;
    loop {
        let rest_of = rest.trim_start();
        let hexadecimal = rest_of.strip_prefix("0x");
        let (value, after) = match hexadecimal {
            Some(digits) => {
                let end = digits.find(|letter: char| !letter.is_ascii_hexdigit()).unwrap_or(digits.len());
                match u32::from_str_radix(&digits[..end], 16) {
                    Ok(value) => (f64::from(value), &digits[end..]),
                    Err(_) => return false,
                }
            }
            None => match leading(rest_of) {
                Some(found) => found,
                None => return false,
            },
        };
        fields.push(value);
        match after.trim_start().strip_prefix(',') {
            Some(next) if next.trim().is_empty() => return true,
            Some(next) => rest = next,
            None => return after.trim().is_empty(),
        }
    }
}

/// Whether these can be the fields of a log's line: a direction of 0, 1 or 2 where it belongs, nothing negative.
fn is_row(fields: &[f64]) -> bool {
    let histogram = HISTOGRAM_FIELDS.contains(&fields.len());
    let direction = if histogram { fields.get(1) } else { fields.get(2) };
    (histogram || FIELDS.contains(&fields.len()))
        && fields.iter().all(|&field| field >= 0.0 && field.fract() == 0.0)
        && direction.is_some_and(|&direction| direction <= 2.0)
}

impl Tally {
    fn value(&mut self, value: f64, bytes: f64) {
        self.min = if self.count == 0.0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.count += 1.0;
        self.sum += value;
        self.bytes += bytes;
    }

    fn histogram(&mut self, bins: &[f64]) {
        let histogram = self.histogram.get_or_insert_with(|| Box::new(Histogram::new()));
        let step = 1856 / bins.len().max(1);
        for (bin, &count) in bins.iter().enumerate().filter(|(_, count)| **count > 0.0) {
            histogram.add_to_bucket(bin * step, crate::inverse::rounded(count));
        }
    }

    fn summary(mut self, kind: ReadKind) -> Option<LogDirection> {
        let mut bins = Vec::new();
        if let Some(histogram) = self.histogram.take() {
            for (bucket, count) in histogram.iter() {
                let (value, count) = (Histogram::bucket_value(bucket), crate::exact::float(count));
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
