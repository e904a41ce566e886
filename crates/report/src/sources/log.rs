//! fio's logs as points over time, in bounded memory: adjacent points are averaged when there are too many.

use super::histograms::Histograms;
use crate::data::{Line, Panel, Unit};
use formats::fio::log::{HistogramRow, Point};
use formats::sweep::LogKind;
use measure::Direction;

/// Points to which a line is reduced when it has twice as many; about the number of columns on a screen.
const MOST_POINTS: usize = 2000;
/// Longest possible log line in bytes: a histogram of 1,856 counts.
const LONGEST: usize = 64 << 10;

#[derive(Clone, Debug)]
pub(crate) struct Log {
    kind: LogKind,
    /// Points of reads, writes and trims.
    lines: [Thinned; 3],
    /// The windows of a histogram log, which has no points.
    histograms: Histograms,
    rest: Vec<u8>,
}

/// (seconds, value) of a line, fewer than twice `MOST_POINTS`.
#[derive(Clone, Debug, Default)]
struct Thinned {
    points: Vec<(f64, f64)>,
    /// Number of log rows averaged into one point.
    each: usize,
    open: (f64, f64, usize),
}

impl Thinned {
    fn add(&mut self, at: f64, value: f64) {
        self.each = self.each.max(1);
        self.open = (self.open.0 + at, self.open.1 + value, self.open.2 + 1);
        if self.open.2 >= self.each {
            self.close();
        }
        // Merging pairs at twice the limit keeps between MOST_POINTS and 2 · MOST_POINTS points in one pass over a log
        // of any length. Each later point then averages twice as many rows.
        if self.points.len() >= 2 * MOST_POINTS {
            let pair = |pair: &[(f64, f64)]| {
                let count = pair.len() as f64;
                let sum = pair.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
                (sum.0 / count, sum.1 / count)
            };
            self.points = self.points.chunks(2).map(pair).collect();
            self.each *= 2;
        }
    }

    fn close(&mut self) {
        let (at, value, count) = std::mem::take(&mut self.open);
        if count > 0 {
            self.points.push((at / count as f64, value / count as f64));
        }
    }
}

impl Log {
    pub(super) fn new(kind: LogKind) -> Log {
        Log { kind, lines: Default::default(), histograms: Histograms::default(), rest: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.iter().all(|line| line.points.is_empty() && line.open.2 == 0) && self.histograms.is_empty()
    }

    pub(super) fn histograms(&self) -> &Histograms {
        &self.histograms
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        let mut parts = bytes.split(|&byte| byte == b'\n').peekable();
        while let Some(part) = parts.next() {
            if self.rest.len() + part.len() <= LONGEST {
                self.rest.extend_from_slice(part);
            }
            if parts.peek().is_some() {
                let line = std::mem::take(&mut self.rest);
                self.line(&String::from_utf8_lossy(&line));
            }
        }
    }

    /// Adds a row; other lines are ignored.
    fn line(&mut self, line: &str) {
        let Some(point) = Point::of(line) else {
            if let Some(row) = HistogramRow::of(line) {
                self.histograms.add(row);
            }
            return;
        };
        let unit = if self.kind == LogKind::Bandwidth { 1024.0 } else { 1.0 };
        self.lines[point.direction].add(point.at_ms / 1000.0, point.value * unit);
    }

    pub(super) fn panel(&self) -> Panel {
        if !self.histograms.is_empty() {
            return self.histograms.panel();
        }
        let (name, unit) = match self.kind {
            LogKind::Bandwidth => ("throughput", Unit::Rate),
            LogKind::Iops => ("IOPS", Unit::Count),
            LogKind::Total => ("latency", Unit::Latency),
            LogKind::Part => ("part of the latency", Unit::Latency),
        };
        let mut lines = Vec::new();
        for (line, direction) in self.lines.iter().zip(Direction::ALL) {
            let mut line = line.clone();
            line.close();
            if !line.points.is_empty() {
                let points = line.points.iter().map(|&(at, value)| (at, Some(value))).collect();
                lines.push(Line { name: direction.plural().to_owned(), points });
            }
        }
        Panel { name: name.to_owned(), unit, lines }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_log_keeps_its_mean_in_few_points() {
        let mut log = Log::new(LogKind::Iops);
        let text: String = (0..50_000).map(|at| format!("{at}, {}, 0, 4096\n", 100 + at % 2)).collect();
        text.as_bytes().chunks(777).for_each(|chunk| log.feed(chunk));
        let panel = log.panel();
        let points = &panel.lines[0].points;
        assert!(points.len() <= 2 * MOST_POINTS, "{}", points.len());
        let mean = points.iter().filter_map(|point| point.1).sum::<f64>() / points.len() as f64;
        assert!((mean - 100.5).abs() < 0.01, "{mean}");
    }

    #[test]
    fn rows_with_both_values_of_a_window_have_their_direction() {
        let mut log = Log::new(LogKind::Part);
        log.feed(b"127, 77607, 3383936, 0, 0, 0\n127, 3333, 70915, 1, 0, 0\n200, 90146, 3883768, 0, 0, 0\n");
        let counts = |name: &str| {
            let panel = log.panel();
            panel.lines.iter().find(|line| line.name == name).map_or(0, |line| line.points.len())
        };
        assert_eq!((counts("reads"), counts("writes"), counts("trims")), (2, 1, 0));
    }

    #[test]
    fn a_histogram_log_is_percentiles_over_time() {
        let mut log = Log::new(LogKind::Part);
        // 2,000 windows of reads, of which the last half is slower; each joined of several, none lost.
        let text: String = (0..2000_u32)
            .map(|at| {
                let bins = (0..29).map(|bin| if bin == 9 + at / 1000 * 4 { ", 50" } else { ", 0" });
                format!("{}, 0, 4096{}\n", at * 100, bins.collect::<String>())
            })
            .collect();
        text.as_bytes().chunks(777).for_each(|chunk| log.feed(chunk));
        let panel = log.panel();
        let names: Vec<&str> = panel.lines.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(names, ["p50", "p95"], "four hundred I/Os of a window have no p99: {names:?}");
        let points = &panel.lines[0].points;
        // Windows of eight rows, the last one, too.
        assert_eq!((points.len(), points[0].0, points[points.len() - 1].0), (250, 0.7, 199.9));
        let (first, last) = (points[0].1.expect("known"), points[points.len() - 1].1.expect("known"));
        assert!((last / first - 16.0).abs() < 0.1, "{first} {last}");
    }

    #[test]
    fn what_does_not_parse_as_a_log_line_is_nothing() {
        let mut log = Log::new(LogKind::Iops);
        log.feed(b"# head\nnan, 1, 0\n1, x, 0\n");
        assert!(log.is_empty());
    }
}
