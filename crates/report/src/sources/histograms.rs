//! fio's histogram logs: the distribution of the whole log, and percentiles over time, in bounded memory.

use super::time::{LEAST_BEYOND, PERCENTILES};
use super::{PageRequest, Source};
use crate::data::{Bin, Cdf, Distribution, Level, Line, Panel, Sweep, Unit};
use crate::terminal;
use analysis::measured::shares;
use formats::fio::log::HistogramRow;
use measure::{Direction, Histogram, text};

/// Windows to which a log is reduced when it has twice as many; each takes 18 kB.
const MOST_WINDOWS: usize = 240;

/// The histograms of one log: of reads, writes and trims.
#[derive(Clone, Debug, Default)]
pub(super) struct Histograms {
    windows: [Windows; 3],
}

/// Windows of equally many rows of a log.
#[derive(Clone, Debug, Default)]
struct Windows {
    /// The end of each in seconds, and its latencies.
    all: Vec<(f64, Box<Histogram>)>,
    /// Rows in each, and rows in the last.
    each: usize,
    in_last: usize,
}

impl Windows {
    fn add(&mut self, row: HistogramRow) {
        self.each = self.each.max(1);
        let seconds = row.at_ms / 1000.0;
        match self.all.last_mut().filter(|_| self.in_last < self.each) {
            Some((end, histogram)) => {
                *end = seconds;
                histogram.merge(&row.histogram);
                self.in_last += 1;
            }
            None => {
                self.all.push((seconds, row.histogram));
                self.in_last = 1;
            }
        }
        // Where there are too many, each two become one.
        if self.all.len() >= 2 * MOST_WINDOWS && self.in_last == self.each {
            self.all = self.all.chunks(2).map(merged).collect();
            self.each *= 2;
            self.in_last = self.each;
        }
    }
}

impl Histograms {
    pub(super) fn is_empty(&self) -> bool {
        self.windows.iter().all(|windows| windows.all.is_empty())
    }

    pub(super) fn add(&mut self, row: HistogramRow) {
        self.windows[row.direction].add(row);
    }

    /// The percentiles of each window.
    pub(super) fn panel(&self) -> Panel {
        let several = self.directions().count() > 1;
        let line = |at: usize, (name, percent): (&str, f64)| {
            let value = |histogram: &Histogram| {
                let beyond = histogram.total() as f64 * (100.0 - percent) / 100.0;
                histogram.percentile(percent).filter(|_| beyond >= LEAST_BEYOND).map(|ns| ns.as_f64())
            };
            let name = if several { format!("{} {name}", Direction::ALL[at].plural()) } else { name.to_owned() };
            let points = self.windows[at].all.iter().map(|(seconds, histogram)| (*seconds, value(histogram)));
            Line { name, points: points.collect() }
        };
        let lines = self.directions().flat_map(|at| PERCENTILES.map(|percentile| line(at, percentile)));
        let known = |line: &Line| line.points.iter().any(|point| point.1.is_some());
        Panel { name: "completion latency".to_owned(), unit: Unit::Latency, lines: lines.filter(known).collect() }
    }

    fn directions(&self) -> impl Iterator<Item = usize> {
        (0..self.windows.len()).filter(|&at| !self.windows[at].all.is_empty())
    }

    /// The whole log, by direction.
    fn totals(&self) -> Vec<(&'static str, Histogram)> {
        let sum = |at: usize| {
            let mut all = Histogram::new();
            self.windows[at].all.iter().for_each(|(_, histogram)| all.merge(histogram));
            (Direction::ALL[at].plural(), all)
        };
        self.directions().map(sum).filter(|(_, histogram)| histogram.total() > 0).collect()
    }
}

/// One window of one or two; its time is the end of the last.
fn merged(pair: &[(f64, Box<Histogram>)]) -> (f64, Box<Histogram>) {
    let mut all = Box::new(Histogram::new());
    pair.iter().for_each(|(_, histogram)| all.merge(histogram));
    (pair.last().map_or(0.0, |(seconds, _)| *seconds), all)
}

/// The distribution of each direction of each histogram log: its name, what it counts, and its counts.
fn distributions(sources: &[Source]) -> Vec<(String, &'static str, Histogram)> {
    let logs = || sources.iter().filter_map(|source| Some((source, source.log.as_ref()?.histograms())));
    let several = logs().filter(|(_, log)| !log.is_empty()).count() > 1;
    let mut found = Vec::new();
    for (source, log) in logs() {
        let totals = log.totals();
        let alone = totals.len() == 1;
        // Logs of two runs often have one name.
        let is_known = sources.iter().filter(|other| other.name == source.name).count() == 1;
        let system = source.given.as_ref().unwrap_or(if is_known { &source.name } else { &source.path });
        found.extend(totals.into_iter().map(|(direction, histogram)| {
            let name = match (several, alone) {
                (false, _) => direction.to_owned(),
                (true, true) => system.clone(),
                (true, false) => format!("{system}, {direction}"),
            };
            (name, direction, histogram)
        }));
    }
    found
}

/// Name of the picture: that of the only log, or of the first of several.
fn title(sources: &[Source]) -> String {
    let logs: Vec<&Source> =
        sources.iter().filter(|source| source.log.as_ref().is_some_and(|log| !log.histograms().is_empty())).collect();
    let first = logs.first().map_or("", |source| source.shown_name());
    let more = if logs.len() > 1 { format!(" and {} more", logs.len() - 1) } else { String::new() };
    format!("{first}{more} · distribution of completion latency")
}

/// The distributions of all histogram logs over one another; `None` if there is none.
pub(super) fn picture(sources: &[Source], request: &PageRequest) -> Option<Cdf> {
    let all = distributions(sources);
    let several = all.len() > 1;
    let sentence = |(name, direction, histogram): &(String, &str, Histogram)| {
        let whose = if several && name != direction { format!("{name}: half") } else { "Half".to_owned() };
        let within = |percent: f64| Some(text::time(fact(histogram, percent)?));
        let most = within(99.0).map(|most| format!(", 99 % within {most}")).unwrap_or_default();
        let count = text::number(histogram.total() as f64);
        Some(format!("{whose} of the {count} {direction} completed within {}{most}.", within(50.0)?))
    };
    let mut systems: Vec<Distribution> =
        all.iter().map(|(name, _, histogram)| Distribution::of(name, histogram)).collect();
    systems.retain(|one| one.points.len() > 2);
    (!systems.is_empty()).then(|| Cdf {
        title: title(sources),
        sentences: all.iter().filter_map(sentence).collect(),
        target_ns: request.target_ns,
        systems,
        notes: vec!["Histogram logs have completion latencies, and neither rates nor loads.".to_owned()],
    })
}

/// A percentile, if it has enough I/Os for a fact.
fn fact(histogram: &Histogram, percent: f64) -> Option<f64> {
    let settled = histogram.total() >= analysis::samples_needed(percent);
    settled.then(|| histogram.percentile(percent))?.map(|ns| ns.as_f64())
}

/// The same for a terminal; empty if there is none.
pub(super) fn sketch(sources: &[Source], columns: usize) -> String {
    let level = |(label, _, histogram): (String, &str, Histogram)| {
        let counted: f64 = histogram.iter().map(|(_, count)| count as f64).sum();
        let value = |(bucket, count)| Histogram::bucket_value(bucket).as_f64() * count as f64;
        let max_ns = histogram.percentile(100.0).map(|ns| ns.as_f64());
        Level {
            label,
            average_ns: histogram.iter().map(value).sum::<f64>() / counted,
            p99_ns: fact(&histogram, 99.0),
            bins: Bin::of_shares(&shares(&histogram), max_ns),
            ..Level::default()
        }
    };
    let levels = distributions(sources).into_iter().map(level).collect();
    terminal::sketch(&Sweep { title: title(sources), levels, ..Sweep::default() }, columns)
}
