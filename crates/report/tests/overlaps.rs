//! No word over another and none outside of the picture, for every kind of chart, from few values to many, from 2 µs to
//! 20 s and from 0.1 to 50,000 MiB/s. (The sweep has its own, larger test in geometry.rs.)

use analysis::Load;
use analysis::compare::Verdict;
use report::data::{
    Axis, Band, BarOfParts, Bin, Blocks, Capacity, Card, CardRow, Cdf, ChangedTest, Changes, Curve, DeviceRow, Devices,
    Distribution, KindOfIo, Level, LimitedRound, LimitedRule, Limits, Line, Mark, NumberChange, Overlay, Panel, Parts,
    Quantity, RateTrial, ResponseLimit, Rounds, Scaling, Series, SlowIo, Surface, Sweep, Table, Unit,
};
use report::{Chart, ChartEngine, Look, Medium, Theme};
use serde::Serialize;

const MIB: f64 = 1048576.0;
/// How many of everything.
const COUNTS: [usize; 5] = [1, 3, 5, 8, 12];
/// From and to, in nanoseconds.
const LATENCIES: [(f64, f64); 4] = [(2e3, 2e3), (2e3, 2e10), (4.9e5, 6.1e6), (9.3e9, 2e10)];
/// From and to, in MiB/s.
const RATES: [(f64, f64); 4] = [(0.1, 0.1), (0.1, 50_000.0), (148.0, 575.0), (50_000.0, 48_000.0)];

/// Every count with half of the ranges of latency and of throughput: every range is met at some counts.
fn check(chart: &str, data: impl Fn(usize, (f64, f64), (f64, f64)) -> serde_json::Value) {
    let engine = ChartEngine::new().expect("the engine starts");
    let chart = Chart::named(chart).expect("there is such a chart");
    let mut found = Vec::new();
    for (at, count) in COUNTS.into_iter().enumerate() {
        for (latency, rate) in LATENCIES.into_iter().zip(RATES).skip(at % 2).step_by(2) {
            let data = data(count, latency, rate);
            for look in looks(chart) {
                let svg = engine.svg(chart, &data, &look).expect("is drawn");
                let faults = super::words::faults(&svg).into_iter().chain(super::contrast::faint(&svg, look.theme));
                let width = look.width;
                found.extend(
                    faults.take(3).map(|fault| format!("{width}: {count}, {latency:?} ns, {rate:?} MiB/s: {fault}")),
                );
            }
        }
    }
    assert!(found.is_empty(), "{}: {} faults\n{}", chart.name, found.len(), found[..found.len().min(20)].join("\n"));
}

/// The usual size, that of a telephone, and that of paper.
fn looks(chart: &Chart) -> [Look; 3] {
    let usual = Look::of(chart);
    let (width, height) = chart.paper;
    let narrow = Look { width: 376, height: None, theme: Theme::Dark, ..usual.clone() };
    [usual.clone(), narrow, Look { width, height, medium: Medium::Paper, ..usual }]
}

fn value(data: impl Serialize) -> serde_json::Value {
    serde_json::to_value(data).expect("plain data")
}

/// Evenly on a log scale.
fn between((from, to): (f64, f64), at: usize, count: usize) -> f64 {
    from * (to / from).powf(at as f64 / (count.max(2) - 1) as f64)
}

fn sweep(system: &str, count: usize, latency: (f64, f64), rate: (f64, f64)) -> Sweep {
    let level = |at: usize| {
        let average_ns = between(latency, at, count);
        let rate = between(rate, at, count) * MIB;
        Level {
            load: f64::from(1 << at),
            average_ns,
            p95_ns: Some(average_ns * 1.7),
            p99_ns: Some(average_ns * 4.0),
            max_ns: Some(average_ns * 80.0),
            rate,
            iops: rate / 8192.0,
            ..Level::default()
        }
    };
    Sweep::of(Table {
        system: system.into(),
        workload: "random read 8 KiB".into(),
        plural: "8 KiB random reads".into(),
        axis: Axis::Load(Load::Users),
        elsewhere: analysis::Elsewhere::Nothing,
        target_ns: Some(10e6),
        levels: (0..count).map(level).collect(),
        notes: vec!["What is known about the data, in a sentence that is long enough to be broken.".into(); 3],
    })
}

/// A name that is longer than there is room for, in part of the cases.
fn name(at: usize) -> String {
    let long = if at % 3 == 1 { ", with a scheduler of which the name is much longer than it should be" } else { "" };
    format!("system {at}{long}")
}

#[test]
fn overlays() {
    check("overlay", |count, latency, rate| {
        let other = |at: usize| (latency.0 * (1.0 + at as f64 / 10.0), latency.1 * (1.0 + at as f64 / 10.0));
        let systems = (0..count).map(|at| (name(at), sweep(&name(at), count, other(at), rate))).collect();
        value(Overlay::of("random read 8 KiB", systems))
    });
}

/// Several systems of one level: bars, with and without rounds.
#[test]
fn bars() {
    check("overlay", |count, latency, rate| {
        let systems = (0..count).map(|at| {
            let factor = 1.0 + at as f64;
            let mut sweep = sweep(&name(at), 1, (latency.0 * factor, 0.0), (rate.1 / factor, 0.0));
            let level = &mut sweep.levels[0];
            let (low_iops, high_iops) = (level.iops * 0.8, level.iops * 1.3);
            level.rounds = (at % 2 == 0).then_some(Rounds { count: 3, low_iops, high_iops });
            (name(at), sweep)
        });
        value(Overlay::of("random read 8 KiB", systems.collect()))
    });
}

#[test]
fn curves() {
    check("curve", |count, latency, rate| {
        let systems: Vec<(String, Sweep)> = (0..count.min(8))
            .map(|at| (name(at), sweep("x", count, latency, (rate.0, rate.1 * (1.0 + at as f64)))))
            .collect();
        let named: Vec<(String, &Sweep)> = systems.iter().map(|(name, sweep)| (name.clone(), sweep)).collect();
        value(Curve::of("latency over IOPS", &named))
    });
}

#[test]
fn distributions() {
    const PERCENTS: [f64; 8] = [0.0, 50.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999];
    check("cdf", |count, latency, _| {
        let points = |of: usize| {
            let at = |(at, &percent): (usize, &f64)| {
                (percent, between(latency, at, PERCENTS.len()) * (1.0 + of as f64 / 5.0))
            };
            PERCENTS.iter().enumerate().map(at).collect()
        };
        let systems = (0..count).map(|at| Distribution { name: name(at), points: points(at) }).collect();
        value(Cdf { title: "latency distribution".into(), target_ns: Some(10e6), systems, ..Cdf::default() })
    });
}

#[test]
fn runs_over_time() {
    check("series", |count, latency, rate| {
        let line = |at: usize, of: &dyn Fn(usize) -> f64| Line {
            name: name(at),
            points: (0..240).map(|second| (second as f64 * 1.37, Some(of(second)))).collect(),
        };
        // As many regimes as there are lines, up to where every jump is still one.
        let regime = |range: (f64, f64), second: usize| {
            let of = count.min(6);
            let jitter = 1.0 + 0.01 * ((second * 7919 % 17) as f64 / 17.0);
            between(range, second * of / 240, of) * jitter
        };
        let panel = |name: &str, unit, lines| Panel { name: name.into(), unit, lines };
        let panels = vec![
            panel("IOPS", Unit::Count, vec![line(0, &|at| regime(rate, at) * MIB / 8192.0)]),
            panel("throughput", Unit::Rate, vec![line(0, &|at| regime(rate, at) * MIB)]),
            panel(
                "latency",
                Unit::Latency,
                (0..count).map(|of| line(of, &|at| regime(latency, at) * (1.0 + of as f64))).collect(),
            ),
            panel("device queue", Unit::Count, vec![line(1, &|at| at as f64)]),
            panel("utilisation", Unit::Share, vec![line(1, &|_| 1.0)]),
        ];
        value(Series::of("a run", panels, vec!["A note.".into()]))
    });
}

#[test]
fn block_sizes() {
    check("blocks", |count, latency, _| {
        let time = |at: usize| between(latency, at, count) * if at % 4 == 2 { 1.4 } else { 1.0 };
        let measured: Vec<(u64, f64, f64)> = (0..count)
            .map(|at| (512_u64 << (2 * at), time(at), (512_u64 << (2 * at)) as f64 * 1e9 / time(at)))
            .collect();
        value(Blocks::of("cost of an I/O", &measured, vec!["A note.".into()]))
    });
}

#[test]
fn devices() {
    check("devices", |count, latency, rate| {
        let row = |(at, quantity): (usize, Quantity)| {
            let program = match quantity {
                Quantity::Iops | Quantity::Rate => rate.1 * MIB,
                Quantity::Latency => latency.1,
                _ => 0.97,
            };
            DeviceRow {
                what: format!("quantity {at}"),
                quantity,
                program: Some(program),
                devices: (0..count).map(|device| (format!("nvme{device}n1p{device}"), program / 2.0)).collect(),
                ratio: Some([0.004, 1.0, 312.5][at % 3]),
            }
        };
        let kinds = [Quantity::Iops, Quantity::Rate, Quantity::Latency, Quantity::Queue, Quantity::Utilisation];
        let rows = kinds.into_iter().enumerate().map(row).collect();
        value(Devices { title: "the program and its devices".into(), rows, ..Devices::default() })
    });
}

#[test]
fn surfaces() {
    check("surface", |count, _, rate| {
        let sizes =
            |from: usize, count: usize| (from..from + count).map(|power| format!("{} KiB", 1_u64 << power)).collect();
        let rates = (0..count)
            .map(|file| (0..count + 1).map(|at| (at <= file + 2).then(|| between(rate, at, count) * MIB)).collect());
        value(Surface {
            title: "iozone · random read".into(),
            sentences: vec!["The highest is one of these.".into()],
            records: sizes(2, count + 1),
            files: sizes(6, count),
            rates: rates.collect(),
            notes: Vec::new(),
        })
    });
}

#[test]
fn changes() {
    const VERDICTS: [Verdict; 6] =
        [Verdict::Worse, Verdict::Same, Verdict::Slight, Verdict::CannotTell, Verdict::Better, Verdict::Differs];
    check("changes", |count, latency, rate| {
        let row = |at: usize| {
            // From a fiftieth to seventy times, with intervals of all widths; some without an interval, some unknown.
            let change = between((0.02, 70.0), at, count) - 1.0;
            let width = between((1.001, 20.0), at, count);
            NumberChange {
                name: if at.is_multiple_of(2) { "IOPS".into() } else { "p99.9".into() },
                unit: if at.is_multiple_of(2) { Unit::Count } else { Unit::Latency },
                old: (at % 4 != 3).then(|| between(if at.is_multiple_of(2) { rate } else { latency }, at, count)),
                new: Some(between(if at.is_multiple_of(2) { rate } else { latency }, at, count) * (1.0 + change)),
                change: (at % 4 != 3).then_some(change),
                low: (at % 3 != 2).then_some((1.0 + change) / width - 1.0),
                high: (at % 3 != 2).then_some((1.0 + change) * width - 1.0),
                verdict: VERDICTS[at % VERDICTS.len()],
            }
        };
        let test = |at: usize| ChangedTest {
            label: name(at),
            runs: "5 and 5 runs, in turns".into(),
            rows: (0..count.min(5)).map(row).collect(),
        };
        value(Changes {
            title: "before.json → after.json".into(),
            sentences: vec!["Nothing changed by more than 5 %.".into(), "A change of 3 % would have been seen.".into()],
            tolerance: [0.005, 0.05, 0.5][count % 3],
            tests: (0..count).map(test).collect(),
            notes: vec!["Intervals: 95 % each.".into(); 2],
        })
    });
}

#[test]
fn capacities() {
    check("capacity", |count, latency, rate| {
        let trial = |at: usize| RateTrial {
            offered: between(rate, at, count),
            done: between(rate, at, count),
            over: between((0.0001, 0.9), at, count),
            p50_ns: Some(between(latency, at, count)),
            p99_ns: Some(between(latency, at, count) * 4.0),
            p99_9_ns: (at % 3 != 2).then(|| between(latency, at, count) * 9.0),
        };
        let middle = between(rate, count / 2, count);
        value(Capacity {
            title: "/data · 8K random reads".into(),
            sentences: vec!["/data holds 42.1k IOPS with p99 < 2 ms (40.9k to 43.0k).".into()],
            trials: (0..count).map(trial).collect(),
            limits: vec![ResponseLimit {
                label: "p99 < 2 ms".into(),
                limit_ns: between(latency, count / 2, count) * 3.0,
            }],
            capacity: (count % 2 == 0).then_some(middle),
            low: (count % 2 == 0).then_some(middle * 0.97),
            high: (count % 2 == 0).then_some(middle * 1.03),
            notes: Vec::new(),
        })
    });
}

#[test]
fn limits() {
    check("limits", |count, latency, rate| {
        let round = |at: usize| {
            let times = between((0.01, 50.0), at, count);
            LimitedRound {
                value: format!("{} µs", between(latency, at, count).round()),
                times: Some(times),
                low: (at % 3 != 2).then_some(times * 0.9),
                high: (at % 3 != 2).then_some(times * 1.1),
                answer: ["yes", "no", "cannot tell"][at % 3].into(),
            }
        };
        let rule = |at: usize| LimitedRule {
            label: format!("mixed {}: read iops, {} or more", name(at), between(rate, at, count).round()),
            answer: ["cannot tell", "yes", "no"][at % 3].into(),
            is_advice: at % 2 == 1,
            rounds: (0..3).map(|number| round((at + number) % count.max(1))).collect(),
        };
        value(Limits {
            title: "etcd · /var/lib/etcd".into(),
            sentences: vec!["Will etcd be happy here? Cannot tell, on /var/lib/etcd.".into()],
            rules: (0..count.min(12)).map(rule).collect(),
            notes: Vec::new(),
        })
    });
}

#[test]
fn parts_of_time() {
    check("parts", |count, latency, _| {
        let names = ["cache", "file system", "lock or other wait", "throttle", "device", "waking up", "not seen"];
        let bar = |at: usize| BarOfParts {
            label: ["p50", "p90", "p99", "p99.9", "max"][at].into(),
            time_ns: between(latency, at, 5),
            shares: (0..names.len()).map(|part| if part == at { 0.7 } else { 0.05 }).collect(),
        };
        let slow = |at: usize| SlowIo {
            at_s: at as f64 * 0.7,
            time_ns: between(latency, at % 7, 7),
            part: at % names.len(),
            says: name(at),
        };
        value(Parts {
            title: "postgres (process 4711) · 30 s".into(),
            sentences: vec!["81 % of the time of its I/Os is in the device.".into()],
            parts: names.map(str::to_owned).into(),
            kinds: (0..count.min(6))
                .map(|at| KindOfIo { label: format!("12,040 reads by {}", name(at)), bars: (0..5).map(bar).collect() })
                .collect(),
            slow: (0..count * 9).map(slow).collect(),
            depth: (0..count * 20).map(|at| between(latency, at % 7, 7) / 1e5).collect(),
            until_s: count as f64 * 7.0,
            notes: vec!["A bar is the mean of the I/Os around a percentile.".into()],
        })
    });
}

#[test]
fn cards() {
    check("card", |count, latency, rate| {
        let row = |at: usize| {
            let average = between(latency, at, count);
            let mark = |factor: f64, letter: &str| Some(Mark { letter: letter.into(), ns: average * factor });
            CardRow {
                workload: format!("Index lookups {}", name(at)),
                detail: "random read 8 KiB".into(),
                load: "1024 users → 2048 users".into(),
                bins: vec![Bin { from_ns: average / 2.0, to_ns: average * 2.0, share: 0.97 }],
                bands: [("A+", Some(2e6)), ("B", Some(2.1e6)), ("C", Some(2.2e6)), ("D", None)]
                    .map(|(letter, to_ns)| Band { letter: letter.into(), to_ns })
                    .into(),
                p95: mark(1.05, "A+"),
                average: mark(1.0, "B-"),
                p99: mark(1.1, "D"),
                rate: between(rate, at, count) * MIB,
                iops: between(rate, at, count) * MIB / 512.0,
                scaling: at.is_multiple_of(2).then(|| Scaling {
                    letter: "?".into(),
                    queueing: 9.9,
                    load_ratio: 2.0,
                    rate_ratio: 0.01,
                    reason: Some("not graded: only 512.3 of 1024 users were at work all the time".into()),
                    load: "users".into(),
                }),
                reason: (at % 3 == 2).then(|| "not graded: the tester was the limit by 1024: processors were full for 97 % of the time, and workers waited for one".into()),
            }
        };
        value(Card {
            title: "storage report card".into(),
            sentences: vec!["Latency: good (A+, A) for both.".into(), "Scaling: saturated (D) for both.".into()],
            rows: (0..count).map(row).collect(),
            notes: vec!["Thresholds: a profile.".into()],
        })
    });
}
