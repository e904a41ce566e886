//! Metrics of runs for Prometheus: the text format of exposition files, and OpenMetrics with times for backfill.
//!
//! Owns the names, units and labels of the families ([`FAMILIES`]; docs/metrics.md explains them). Leaves to `cli` when
//! a file is written. No library writes both: `prometheus-client` writes OpenMetrics without time stamps only.

use measure::{Direction, Nanos};
use model::{Grade, Interval, LatencyCounts, Monitored, RunResult};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A family of metrics.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Its name; the samples of a counter have `_total` after it.
    pub name: &'static str,
    /// `gauge`, `counter` or `histogram`.
    pub kind: &'static str,
    /// Its meaning, with its unit.
    pub help: &'static str,
}

const fn family(name: &'static str, kind: &'static str, help: &'static str) -> Family {
    Family { name, kind, help }
}

/// All families, in the order of the text.
pub const FAMILIES: &[Family] = &[
    family("plumb_run_info", "gauge", "What runs: always 1, the facts are its labels."),
    family("plumb_run_state", "gauge", "1 for the state that the run is in: running, ended or failed."),
    family("plumb_run_start_timestamp_seconds", "gauge", "When the run began, in seconds since 1970 UTC."),
    family("plumb_io_bytes", "counter", "Bytes of completed I/Os, the ramp included."),
    family("plumb_ios", "counter", "Completed I/Os, the ramp included."),
    family("plumb_io_errors", "counter", "I/O errors, once the run has ended."),
    family("plumb_io_latency_seconds", "histogram", "Latency in the measured part; the sum is within 1/32."),
    family(
        "plumb_io_latency_quantile_seconds",
        "gauge",
        "Latency that this share of the I/Os does not exceed, of the whole run.",
    ),
    family(
        "plumb_device_busy_ratio",
        "gauge",
        "Share of the last interval in which the device had a request in flight.",
    ),
    family("plumb_cpu_seconds", "counter", "Time of all processors during the run."),
    family("plumb_check_state", "gauge", "0 trusted, 1 valid with limits, 2 not a storage result, -1 not checked."),
];

const INFO: usize = 0;
const STATE: usize = 1;
const START: usize = 2;
const BYTES: usize = 3;
const IOS: usize = 4;
const ERRORS: usize = 5;
const LATENCY: usize = 6;
const QUANTILE: usize = 7;
const BUSY: usize = 8;
const CPU: usize = 9;
const CHECK: usize = 10;

/// Bounds of the latency buckets: powers of two from 128 ns to 69 s.
const BUCKETS: std::ops::RangeInclusive<u32> = 7..=36;
/// The quantiles of a run that has ended, in percent and as their label.
const QUANTILES: [(f64, &str); 4] = [(50.0, "0.5"), (90.0, "0.9"), (99.0, "0.99"), (99.9, "0.999")];
/// Ticks of CPU time per second (USER_HZ of Linux on all of its architectures but alpha and ia64).
const TICKS: u64 = 100;
const STATES: [&str; 3] = ["running", "ended", "failed"];

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) family: usize,
    pub(crate) suffix: &'static str,
    pub(crate) labels: Vec<(&'static str, String)>,
    /// Of a bucket its upper bound in seconds, or `+Inf`.
    pub(crate) bound: Option<String>,
    pub(crate) value: String,
    at_ms: Option<u64>,
}

/// The metrics of one run, interval by interval.
#[derive(Clone, Debug, Default)]
pub struct RunMetrics {
    labels: Vec<(&'static str, String)>,
    facts: Vec<(&'static str, String)>,
    state: usize,
    pub(crate) began_unix_ms: u64,
    pub(crate) until: Nanos,
    bytes: [u64; 3],
    ios: [u64; 3],
    latencies: [LatencyCounts; 3],
    busy: BTreeMap<String, f64>,
    ticks: Option<[u64; 5]>,
    errors: BTreeMap<i32, u64>,
    quantiles: Vec<(Direction, &'static str, Nanos)>,
    checks: Vec<(String, i32)>,
    /// Samples with time stamps, if they are collected.
    history: Option<Vec<Sample>>,
}

impl RunMetrics {
    /// The metrics of a run with this name and these jobs. `facts` are the labels of its `plumb_run_info`.
    pub fn new(run: &str, job: &str, facts: Vec<(&'static str, String)>) -> Self {
        let labels = vec![("run", run.to_owned()), ("job", job.to_owned())];
        RunMetrics { labels, facts, ..RunMetrics::default() }
    }

    /// The same, which keeps the numbers after each interval with their times.
    #[must_use]
    pub fn with_history(self) -> Self {
        RunMetrics { history: Some(Vec::new()), ..self }
    }

    /// Adds an interval. `monitored` has the devices, and the time at which monitoring began.
    pub fn interval(&mut self, monitored: &Monitored, interval: &Interval) {
        if self.began_unix_ms == 0 {
            self.began_unix_ms = monitored.began_unix_ms;
            if let [first, others @ ..] = monitored.targets.as_slice() {
                let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
                let kind = first.mount.as_ref().map_or("", |mount| mount.kind.as_str());
                self.facts.push(("target", first.path.clone() + &more));
                self.facts.push(("file_system", kind.to_owned()));
            }
            self.remember();
        }
        let length = interval.until.saturating_sub(self.until);
        self.until = interval.until;
        for direction in 0..3 {
            self.bytes[direction] = self.bytes[direction].saturating_add(interval.bytes[direction]);
            self.ios[direction] = self.ios[direction].saturating_add(interval.ios[direction]);
            self.latencies[direction].add(&interval.latencies[direction]);
        }
        let length_ms = length.as_f64() / 1e6;
        for (device, gain) in monitored.devices.iter().zip(&interval.devices).filter(|_| length_ms > 0.0) {
            // The kernel counts in milliseconds, so the quotient may exceed 1 by a rounding.
            self.busy.insert(device.name.clone(), (measure::float(gain.busy_ms) / length_ms).min(1.0));
        }
        if let Some(cpu) = interval.cpu {
            let ticks = self.ticks.get_or_insert_default();
            for (sum, gained) in ticks.iter_mut().zip([cpu.user, cpu.system, cpu.iowait, cpu.steal, cpu.idle]) {
                *sum = sum.saturating_add(gained);
            }
        }
        self.remember();
    }

    /// Adds what is known when the run has ended: errors, quantiles, and the grades of the checks.
    pub fn ended<'check>(&mut self, result: &RunResult, checks: impl Iterator<Item = (&'check str, Grade)>) {
        let failed = result.jobs.iter().any(|job| job.error.is_some()) || result.ended_by_signal.is_some();
        self.state = if failed { 2 } else { 1 };
        for job in &result.jobs {
            let errnos =
                job.error.iter().map(|error| (error.errno, 1)).chain([(job.first_forgiven_errno, job.forgiven_errors)]);
            for (errno, count) in errnos.filter(|&(_, count)| count > 0) {
                *self.errors.entry(errno).or_default() += count;
            }
        }
        for direction in Direction::ALL {
            let found = result
                .jobs
                .iter()
                .filter_map(|job| job.directions[direction].latency_distribution()?.histogram.as_ref());
            let whole = found.fold(None, |whole: Option<Box<measure::Histogram>>, histogram| match whole {
                None => Some(histogram.clone()),
                Some(mut whole) => {
                    whole.merge(histogram);
                    Some(whole)
                }
            });
            let Some(whole) = whole else { continue };
            let known =
                QUANTILES.iter().filter_map(|&(percent, label)| Some((direction, label, whole.percentile(percent)?)));
            self.quantiles.extend(known);
        }
        let number = |grade| match grade {
            Grade::NotChecked => -1,
            Grade::Trusted => 0,
            Grade::ValidWithLimits => 1,
            Grade::NotAStorageResult => 2,
        };
        self.checks = checks.map(|(check, grade)| (check.to_owned(), number(grade))).collect();
        // In the place of the last interval: two samples of one time would contradict each other.
        if let Some(history) = &mut self.history {
            let last = Some(self.began_unix_ms + self.until.get() / 1_000_000);
            history.retain(|sample| sample.at_ms != last);
        }
        self.remember();
    }

    fn remember(&mut self) {
        let at_ms = self.began_unix_ms + self.until.get() / 1_000_000;
        let Some(mut history) = self.history.take() else { return };
        history.extend(self.samples(Some(at_ms)));
        self.history = Some(history);
    }

    /// All numbers as they are now.
    pub(crate) fn samples(&self, at_ms: Option<u64>) -> Vec<Sample> {
        let mut out = Samples { run: self, at_ms, found: Vec::new() };
        let facts: Vec<(&'static str, &str)> = self.facts.iter().map(|(name, value)| (*name, value.as_str())).collect();
        out.add(INFO, &facts, "1");
        for (number, state) in STATES.iter().enumerate() {
            out.add(STATE, &[("state", state)], if number == self.state { "1" } else { "0" });
        }
        if self.began_unix_ms > 0 {
            out.add(START, &[], &thousandths(self.began_unix_ms));
        }
        for direction in Direction::ALL {
            let (at, labels) = (direction as usize, [("direction", direction.word())]);
            out.add(BYTES, &labels, &self.bytes[at].to_string());
            out.add(IOS, &labels, &self.ios[at].to_string());
            out.histogram(direction, &self.latencies[at]);
        }
        for (errno, count) in &self.errors {
            out.add(ERRORS, &[("errno", &errno.to_string())], &count.to_string());
        }
        for (direction, quantile, value) in &self.quantiles {
            out.add(QUANTILE, &[("direction", direction.word()), ("q", quantile)], &seconds(value.get()));
        }
        for (device, busy) in &self.busy {
            out.add(BUSY, &[("device", device)], &busy.to_string());
        }
        let modes = ["user", "system", "iowait", "steal", "idle"];
        for (mode, ticks) in modes.iter().zip(self.ticks.iter().flatten()) {
            out.add(CPU, &[("mode", mode)], &format!("{}.{:02}", ticks / TICKS, ticks % TICKS));
        }
        for (check, state) in &self.checks {
            out.add(CHECK, &[("check", check)], &state.to_string());
        }
        out.found
    }
}

struct Samples<'run> {
    run: &'run RunMetrics,
    at_ms: Option<u64>,
    found: Vec<Sample>,
}

impl Samples<'_> {
    fn add(&mut self, family: usize, labels: &[(&'static str, &str)], value: &str) {
        let suffix = if FAMILIES[family].kind == "counter" { "_total" } else { "" };
        self.push(family, suffix, labels, None, value.to_owned());
    }

    fn push(
        &mut self,
        family: usize,
        suffix: &'static str,
        labels: &[(&'static str, &str)],
        bound: Option<String>,
        value: String,
    ) {
        let more = labels.iter().map(|(name, value)| (*name, (*value).to_owned()));
        let labels = self.run.labels.iter().cloned().chain(more).collect();
        self.found.push(Sample { family, suffix, labels, bound, value, at_ms: self.at_ms });
    }

    fn histogram(&mut self, direction: Direction, counts: &LatencyCounts) {
        let total = counts.total();
        if total == 0 {
            return;
        }
        let labels = [("direction", direction.word())];
        for power in BUCKETS {
            let bound = 1_u64 << power;
            let count = total - counts.slower_than(Nanos(bound));
            self.push(LATENCY, "_bucket", &labels, Some(seconds(bound)), count.to_string());
        }
        self.push(LATENCY, "_bucket", &labels, Some("+Inf".to_owned()), total.to_string());
        let sum = counts.mean().unwrap_or(0.0) * measure::float(total) / 1e9;
        self.push(LATENCY, "_sum", &labels, None, sum.to_string());
        self.push(LATENCY, "_count", &labels, None, total.to_string());
    }
}

/// The text format of Prometheus, without time stamps: for the textfile collector and for scraping.
pub fn exposition<'runs>(runs: impl IntoIterator<Item = &'runs RunMetrics>) -> String {
    let samples: Vec<Sample> = runs.into_iter().flat_map(|run| run.samples(None)).collect();
    text(
        samples,
        |family| if family.kind == "counter" { format!("{}_total", family.name) } else { family.name.to_owned() },
    )
}

/// OpenMetrics with the time of each number, of runs with history: `promtool tsdb create-blocks-from openmetrics`.
pub fn open_metrics<'runs>(runs: impl IntoIterator<Item = &'runs RunMetrics>) -> String {
    let samples: Vec<Sample> = runs.into_iter().flat_map(|run| run.history.clone().unwrap_or_default()).collect();
    text(samples, |family| family.name.to_owned()) + "# EOF\n"
}

/// The samples by family and by metric, each in the order of time.
fn text(mut samples: Vec<Sample>, name: impl Fn(&Family) -> String) -> String {
    samples.sort_by(|one, other| (one.family, &one.labels).cmp(&(other.family, &other.labels)));
    let mut text = String::new();
    let mut family = None;
    for sample in &samples {
        let known = &FAMILIES[sample.family];
        if family != Some(sample.family) {
            family = Some(sample.family);
            // Writing to a String cannot fail.
            let _ = write!(text, "# HELP {0} {1}\n# TYPE {0} {2}\n", name(known), known.help, known.kind);
        }
        let bound = sample.bound.as_ref().map(|bound| label("le", bound));
        let labels = sample.labels.iter().map(|(name, value)| label(name, value)).chain(bound);
        let labels = labels.collect::<Vec<_>>().join(",");
        let _ = write!(text, "{}{}{{{labels}}} {}", known.name, sample.suffix, sample.value);
        if let Some(at_ms) = sample.at_ms {
            let _ = write!(text, " {}", thousandths(at_ms));
        }
        text.push('\n');
    }
    text
}

fn label(name: &str, value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("{name}=\"{value}\"")
}

/// Milliseconds in seconds, exactly.
fn thousandths(ms: u64) -> String {
    format!("{}.{:03}", ms / 1000, ms % 1000)
}

/// Nanoseconds in seconds, exactly and without zeros at the end.
fn seconds(ns: u64) -> String {
    let text = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Histogram;
    use model::{CpuTicks, DeviceFacts, DeviceGain};

    fn counts(latencies: &[(u64, u64)]) -> LatencyCounts {
        let mut histogram = Histogram::new();
        latencies.iter().for_each(|&(ns, count)| histogram.record_many(Nanos(ns), count));
        LatencyCounts::gained(&histogram, &Histogram::new())
    }

    fn run() -> RunMetrics {
        let devices = vec![DeviceFacts { name: "sda".into(), ..DeviceFacts::default() }];
        let monitored = Monitored { began_unix_ms: 1_700_000_000_123, devices, ..Monitored::default() };
        let mut run = RunMetrics::new("r.json", "a \"b\"", vec![("engine", "psync".into())]).with_history();
        for n in 1..=2 {
            run.interval(
                &monitored,
                &Interval {
                    until: Nanos::from_millis(500 * n),
                    bytes: [4096 * n, 0, 0],
                    ios: [n, 0, 0],
                    latencies: [counts(&[(100_000, n)]), LatencyCounts::default(), LatencyCounts::default()],
                    devices: vec![DeviceGain { busy_ms: 250, ..DeviceGain::default() }],
                    cpu: Some(CpuTicks { user: 7, ..CpuTicks::default() }),
                    ..Interval::default()
                },
            );
        }
        run
    }

    #[test]
    fn the_text_has_sums_without_time_stamps() {
        let text = exposition([&run()]);
        for line in [
            "# TYPE plumb_io_bytes_total counter",
            "plumb_io_bytes_total{run=\"r.json\",job=\"a \\\"b\\\"\",direction=\"read\"} 12288",
            "plumb_ios_total{run=\"r.json\",job=\"a \\\"b\\\"\",direction=\"read\"} 3",
            "plumb_io_latency_seconds_bucket{run=\"r.json\",job=\"a \\\"b\\\"\",direction=\"read\",le=\"0.000065536\"} 0",
            "plumb_io_latency_seconds_bucket{run=\"r.json\",job=\"a \\\"b\\\"\",direction=\"read\",le=\"0.000131072\"} 3",
            "plumb_io_latency_seconds_count{run=\"r.json\",job=\"a \\\"b\\\"\",direction=\"read\"} 3",
            "plumb_device_busy_ratio{run=\"r.json\",job=\"a \\\"b\\\"\",device=\"sda\"} 0.5",
            "plumb_cpu_seconds_total{run=\"r.json\",job=\"a \\\"b\\\"\",mode=\"user\"} 0.14",
            "plumb_run_state{run=\"r.json\",job=\"a \\\"b\\\"\",state=\"running\"} 1",
            "plumb_run_start_timestamp_seconds{run=\"r.json\",job=\"a \\\"b\\\"\"} 1700000000.123",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(!text.contains("# EOF"), "that is of OpenMetrics");
    }

    #[test]
    fn backfill_has_each_interval_at_its_time_and_zero_at_the_start() {
        let mut run = run();
        run.ended(&RunResult::default(), [("cache", Grade::ValidWithLimits)].into_iter());
        let text = open_metrics([&run]);
        let read = "plumb_ios_total{run=\"r.json\",job=\"a \\\"b\\\"\",direction=\"read\"}";
        let found: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix(read)).collect();
        assert_eq!(found, [" 0 1700000000.123", " 1 1700000000.623", " 3 1700000001.123"]);
        assert!(text.contains("\n# TYPE plumb_ios counter\n") && text.ends_with("\n# EOF\n"));
        assert!(text.contains("check=\"cache\"} 1 1700000001.123\n"), "{text}");
        let families = text.lines().filter(|line| line.starts_with("# TYPE"));
        assert!(families.clone().count() <= FAMILIES.len(), "each family once");
        assert_eq!(
            families.map(str::to_owned).collect::<std::collections::BTreeSet<_>>().len(),
            text.matches("# TYPE").count()
        );
    }

    #[test]
    fn numbers_are_exact() {
        assert_eq!([1, 1_000_000_000, 2_500_000_000, 128].map(seconds), ["0.000000001", "1", "2.5", "0.000000128"]);
        assert_eq!(thousandths(1_700_000_000_005), "1700000000.005");
    }

    #[test]
    fn every_line_belongs_to_a_family() {
        let mut run = run();
        run.ended(&RunResult::default(), std::iter::empty());
        for line in exposition([&run]).lines().filter(|line| !line.starts_with('#')) {
            let name = line.split('{').next().unwrap();
            assert!(FAMILIES.iter().any(|family| name.starts_with(family.name)), "{line}");
        }
    }
}
