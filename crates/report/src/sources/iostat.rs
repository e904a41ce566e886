//! iostat's reports as a run over time: a line per device in each panel.

use crate::data::{Line, Panel, Series, Ticks, Unit};
use model::reading::IostatRow;

/// Most devices with a line; the busiest are chosen.
const MOST_DEVICES: usize = 6;
const MOST_REPORTS: usize = 5000;
const DAY: f64 = 86_400.0;

/// The reports of one file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Iostat {
    reports: Vec<Report>,
    /// True if the next line starts a new report.
    open: bool,
}

#[derive(Clone, Debug, Default)]
struct Report {
    date: Option<String>,
    processors: Option<IostatRow>,
    devices: Vec<IostatRow>,
}

impl Iostat {
    /// Adds a CPU line, which starts a report.
    /// True if there is no report.
    pub(super) fn is_empty(&self) -> bool {
        self.reports.is_empty()
    }

    pub(super) fn processors(&mut self, row: IostatRow) {
        self.open = true;
        if let Some(report) = self.report(row.date.clone()) {
            report.processors = Some(row);
        }
    }

    /// Adds a device line; a device that is already in the report starts a new one.
    pub(super) fn device(&mut self, row: IostatRow) {
        let again = |report: &Report| report.devices.iter().any(|known| known.device == row.device);
        self.open |= self.reports.last().is_none_or(again);
        if let Some(report) = self.report(row.date.clone()) {
            report.devices.push(row);
        }
    }

    fn report(&mut self, date: Option<String>) -> Option<&mut Report> {
        if std::mem::take(&mut self.open) {
            if self.reports.len() >= MOST_REPORTS {
                self.open = true;
                return None;
            }
            self.reports.push(Report { date, ..Report::default() });
        }
        self.reports.last_mut()
    }

    /// Builds the chart data; `None` with fewer than two reports.
    pub(super) fn series(&self, title: &str) -> Option<Series> {
        let reports: Vec<&Report> = self.reports.iter().filter(|report| !report.devices.is_empty()).collect();
        if reports.len() < 2 {
            return None;
        }
        let (times, ticks) = times(&reports);
        let names = busiest(&reports);
        let panel = |name: &str, unit, of: &dyn Fn(&IostatRow) -> Option<f64>| {
            let line = |device: &String| {
                let point = |(report, &at): (&&Report, &f64)| {
                    (at, report.devices.iter().find(|row| row.device == *device).and_then(of))
                };
                Line { name: device.clone(), points: reports.iter().zip(&times).map(point).collect() }
            };
            Panel { name: name.to_owned(), unit, lines: names.iter().map(line).collect() }
        };
        let mut panels = vec![
            panel("IOPS", Unit::Count, &|row| total(row).0),
            panel("throughput", Unit::Rate, &|row| total(row).1),
            panel("latency", Unit::Latency, &|row| total(row).2.filter(|&ns| ns > 0.0)),
            panel("device queue", Unit::Count, &|row| row.value(&["aqu-sz", "avgqu-sz"])),
            panel("utilisation", Unit::Share, &|row| Some(row.value(&["%util", "util"])? / 100.0)),
            processors(&reports, &times),
        ];
        let known = |line: &Line| line.points.iter().any(|point| point.1.is_some());
        panels.retain(|panel| panel.lines.iter().any(known));
        let note = "Reads and writes together. iostat's first report is the mean since the machine started, unless it ran with -y.";
        let mut series = Series { ticks, ..Series::of(title, panels, vec![note.to_owned()]) };
        if ticks == Ticks::Reports {
            // These sentences mention seconds, but the axis counts reports.
            series.sentences.clear();
        }
        Some(series)
    }
}

/// IOPS, bytes per second and mean wait in nanoseconds, summed over all operations in a line.
fn total(row: &IostatRow) -> (Option<f64>, Option<f64>, Option<f64>) {
    let reading = |letter: &str, word: &str| {
        let iops = row.value(&[&format!("{letter}/s")]);
        let size = |unit: &str, bytes: f64| {
            row.value(&[&format!("{letter}{unit}/s"), &format!("{unit}_{word}/s")]).map(|value| value * bytes)
        };
        let blocks = row.value(&[&format!("Blk_{word}/s")]).map(|value| value * 512.0);
        let rate =
            size("GB", 1073741824.0).or(size("MB", 1048576.0)).or(size("kB", 1024.0)).or(size("sec", 512.0)).or(blocks);
        (iops, rate, row.value(&[&format!("{letter}_await")]))
    };
    let (reads, writes) = (reading("r", "read"), reading("w", "wrtn"));
    let sum = |one: Option<f64>, other: Option<f64>| match (one, other) {
        (None, None) => None,
        (one, other) => Some(one.unwrap_or(0.0) + other.unwrap_or(0.0)),
    };
    let iops = sum(reads.0, writes.0).or(row.value(&["tps"]));
    // `-s` has reads, and writes with discards, or all in one number.
    let units = [("GB", 1073741824.0), ("MB", 1048576.0), ("kB", 1024.0), ("sec", 512.0), ("Blk", 512.0)];
    let short =
        |name: &str| units.iter().find_map(|(unit, bytes)| Some(row.value(&[&format!("{unit}{name}")])? * bytes));
    let rate = sum(reads.1, writes.1.or(short("_w+d/s"))).or(short("/s"));
    let waited = |of: (Option<f64>, Option<f64>, Option<f64>)| Some(of.0? * of.2?);
    let weighted = sum(waited(reads), waited(writes)).zip(iops).filter(|&(_, iops)| iops > 0.0);
    let wait = weighted.map(|(sum, iops)| sum / iops).or(row.value(&["await"]));
    (iops, rate, wait.map(|ms| ms * 1e6))
}

/// The busiest devices, in the order of the reports.
fn busiest(reports: &[&Report]) -> Vec<String> {
    let mut devices: Vec<(String, f64)> = Vec::new();
    for row in reports.iter().flat_map(|report| &report.devices) {
        let (iops, rate, _) = total(row);
        // Basic reports also list idle devices.
        let moved = rate.or(iops).unwrap_or(0.0);
        match devices.iter_mut().find(|(name, _)| *name == row.device) {
            Some((_, sum)) => *sum += moved,
            None => devices.push((row.device.clone(), moved)),
        }
    }
    let mut order: Vec<usize> = (0..devices.len()).filter(|&at| devices[at].1 > 0.0).collect();
    order.sort_by(|&one, &other| devices[other].1.total_cmp(&devices[one].1));
    order.truncate(MOST_DEVICES);
    order.sort_unstable();
    order.into_iter().map(|at| devices[at].0.clone()).collect()
}

fn processors(reports: &[&Report], times: &[f64]) -> Panel {
    let line = |name: &str| {
        let share = |row: &IostatRow| Some(row.value(&[&format!("%{name}"), name])? / 100.0);
        let point = |(report, &at): (&&Report, &f64)| (at, report.processors.as_ref().and_then(share));
        Line { name: name.to_owned(), points: reports.iter().zip(times).map(point).collect() }
    };
    Panel { name: "processors".to_owned(), unit: Unit::Share, lines: ["user", "system", "iowait"].map(line).into() }
}

/// Time of each report: seconds since the first, or the report's number if no time was printed.
fn times(reports: &[&Report]) -> (Vec<f64>, Ticks) {
    let mut days = 0.0;
    let mut clocks: Vec<f64> = Vec::new();
    for report in reports {
        let Some(clock) = report.date.as_deref().and_then(clock) else { break };
        // The clock passed midnight.
        if clocks.last().is_some_and(|&last| clock + days < last) {
            days += DAY;
        }
        clocks.push(clock + days);
    }
    if clocks.len() == reports.len() && clocks.windows(2).all(|pair| pair[0] < pair[1]) {
        return (clocks.iter().map(|clock| clock - clocks[0]).collect(), Ticks::Seconds);
    }
    ((1..=reports.len()).map(|number| number as f64).collect(), Ticks::Reports)
}

/// Seconds since midnight in a text like `11/20/2026 05:09:06 PM` or `2026-11-20T17:09:06+0000`.
fn clock(date: &str) -> Option<f64> {
    let at = date.find(':')?;
    let part = |from: usize| date.get(from..from + 2)?.parse::<u32>().ok();
    let (hours, minutes, seconds) = (part(at.checked_sub(2)?)?, part(at + 1)?, part(at + 4)?);
    let hours = match date.get(at + 6..).unwrap_or_default().trim() {
        "PM" => hours % 12 + 12,
        "AM" => hours % 12,
        _ => hours,
    };
    Some(f64::from(hours * 3600 + minutes * 60 + seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(device: &str, date: Option<&str>, reads: f64) -> IostatRow {
        let columns = ["r/s", "rkB/s", "r_await", "w/s", "wkB/s", "w_await", "aqu-sz", "%util"].map(str::to_owned);
        IostatRow {
            device: device.to_owned(),
            date: date.map(str::to_owned),
            columns: columns.into(),
            values: vec![reads, reads * 8.0, 2.0, reads, reads * 8.0, 4.0, 1.5, 50.0],
        }
    }

    #[test]
    fn reports_are_lines_over_time_and_units_are_base_units() {
        let mut found = Iostat::default();
        for (date, reads) in [("11/20/2026 11:59:59 PM", 10.0), ("11/21/2026 12:00:04 AM", 30.0)] {
            found.device(row("sda", Some(date), reads));
            found.device(row("idle", Some(date), 0.0));
        }
        let series = found.series("x").unwrap();
        let names: Vec<&str> = series.panels.iter().map(|panel| panel.name.as_str()).collect();
        assert_eq!(names, ["IOPS", "throughput", "latency", "device queue", "utilisation"]);
        let points = |at: usize| series.panels[at].lines[0].points.clone();
        assert_eq!(points(0), [(0.0, Some(20.0)), (5.0, Some(60.0))]);
        assert_eq!((points(1)[1].1, points(2)[1].1), (Some(60.0 * 8192.0), Some(3e6)));
        assert_eq!((points(3)[0].1, points(4)[0].1), (Some(1.5), Some(0.5)));
        assert_eq!((series.ticks, series.panels[0].lines.len()), (Ticks::Seconds, 1));
    }

    #[test]
    fn without_a_clock_reports_are_counted() {
        let mut found = Iostat::default();
        (0..3).for_each(|_| found.device(row("sda", None, 5.0)));
        let series = found.series("x").unwrap();
        assert_eq!((series.ticks, series.panels[0].lines[0].points[2].0), (Ticks::Reports, 3.0));
        assert_eq!(Iostat::default().series("x"), None);
    }
}
