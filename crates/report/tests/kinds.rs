//! Each kind of chart drawn from data with a known truth.

use analysis::Load;
use analysis::compare::Verdict;
use measure::{Histogram, Nanos};
use report::data::{
    Axis, Blocks, Cdf, ChangedTest, Changes, Curve, DeviceRow, Devices, Distribution, Level, Line, NumberChange,
    Overlay, Panel, Quantity, Rounds, Series, Surface, Sweep, Table, Unit,
};
use report::{CHARTS, Chart, ChartEngine, LatencySeries, Look, Scale, Theme, png};
use serde::Serialize;

/// Draws, and writes the picture where PLUMB_GALLERY names a directory.
fn drawn(file: &str, name: &str, data: &impl Serialize, look: &Look) -> String {
    let svg = ChartEngine::new()
        .expect("a test's own data")
        .svg(Chart::named(name).expect("a test's own data"), data, look)
        .expect("a test's own data");
    if let Some(place) = std::env::var_os("PLUMB_GALLERY") {
        std::fs::write(
            std::path::Path::new(&place).join(format!("chart-{file}.png")),
            png(&svg, 1.0).expect("a test's own data"),
        )
        .expect("a test's own data");
    }
    svg
}

fn plain(name: &str) -> Look {
    Look::of(Chart::named(name).expect("a test's own data"))
}

fn has(svg: &str, words: &[&str]) {
    for word in words {
        assert!(svg.contains(&format!(">{word}</text>")), "{word}");
    }
}

/// A closed loop: latency flat up to `knee` users, then in step with them.
fn sweep(system: &str, alone_us: f64, knee: f64) -> Sweep {
    let level = |users: u64| {
        let average_ns = alone_us * 1e3 * (users as f64 / knee).max(1.0);
        let iops = users as f64 * 1e9 / average_ns;
        Level {
            load: users as f64,
            average_ns,
            p95_ns: Some(average_ns * 1.6),
            p99_ns: Some(average_ns * 2.5),
            max_ns: Some(average_ns * 40.0),
            rate: iops * 8192.0,
            iops,
            ..Level::default()
        }
    };
    Sweep::of(Table {
        system: system.into(),
        workload: "random read 8 KiB".into(),
        plural: "8 KiB random reads".into(),
        axis: Axis::Load(Load::Users),
        elsewhere: analysis::Elsewhere::Nothing,
        target_ns: Some(1e6),
        levels: [1, 2, 4, 8, 16, 32, 64].into_iter().map(level).collect(),
        notes: Vec::new(),
    })
}

#[test]
fn a_rate_halfway_is_the_same_in_sentence_and_picture() {
    let level = |users: u64, mib: f64| Level {
        load: users as f64,
        average_ns: 100e3,
        rate: mib * 1_048_576.0,
        iops: mib * 256.0,
        ..Level::default()
    };
    let data = Sweep::of(Table {
        system: "disk".into(),
        plural: "4 KiB random reads".into(),
        axis: Axis::Load(Load::Users),
        levels: vec![level(1, 156.5), level(8, 312.5)],
        ..Table::default()
    });
    assert!(data.sentences[0].contains("(312 MiB/s)"), "{:?}", data.sentences);
    let svg = drawn("halfway", "sweep", &data, &plain("sweep"));
    has(&svg, &["312 MiB/s", "156 MiB/s"]);
}

#[test]
fn a_run_over_time_marks_the_end_of_the_write_cache() {
    let wave = |at: u32, value: f64| value * (1.0 + 0.03 * f64::from(at * 7919 % 17) / 8.0);
    let iops = |at: u32| wave(at, if at < 60 { 90_000.0 } else { 12_000.0 });
    let line = |name: &str, of: &dyn Fn(u32) -> f64| Line {
        name: name.into(),
        points: (0..180).map(|at| (f64::from(at), Some(of(at)))).collect(),
    };
    let panel = |name: &str, unit, lines| Panel { name: name.into(), unit, lines };
    let data = Series::of(
        "fill.fio · 180 s",
        vec![
            panel("IOPS", Unit::Count, vec![line("write", &iops)]),
            panel("throughput", Unit::Rate, vec![line("write", &|at| iops(at) * 8192.0)]),
            panel(
                "latency",
                Unit::Latency,
                vec![line("avg", &|at| 32e9 / iops(at)), line("p99", &|at| 90e9 / iops(at))],
            ),
            panel("device queue", Unit::Count, vec![line("sda", &|at| wave(at, 31.0))]),
            panel("utilisation", Unit::Share, vec![line("sda", &|at| wave(at, 0.93).min(1.0))]),
            panel(
                "CPU",
                Unit::Share,
                vec![line("user", &|at| wave(at, 0.08)), line("system", &|at| iops(at) / 300_000.0)],
            ),
        ],
        Vec::new(),
    );
    assert_eq!(data.changes.len(), 1);
    assert_eq!(data.changes[0].at_s, 60.0);
    let svg = drawn("series", "series", &data, &plain("series"));
    has(&svg, &["▼ 60 s", "utilisation", "device queue", "10 ms"]);
}

#[test]
fn a_distribution_ends_where_its_samples_end() {
    let histogram = |scale: u64| {
        let mut histogram = Histogram::new();
        for (us, count) in [(80, 700_000), (120, 250_000), (300, 45_000), (2_000, 4_900), (15_000, 90), (60_000, 10)] {
            histogram.record_many(Nanos::from_micros(us * scale), count);
        }
        histogram
    };
    let one = Distribution::of("ssd", &histogram(1));
    assert_eq!(one.points.last().unwrap().0, 99.99);
    assert!((one.points.iter().find(|point| point.0 == 50.0).unwrap().1 / 80e3 - 1.0).abs() < 0.02);
    let mut few = Histogram::new();
    few.record_many(Nanos(100), 1_000);
    assert_eq!(Distribution::of("few", &few).points.last().unwrap().0, 90.0);
    let mut data =
        Cdf { title: "ssd · random read 8 KiB".into(), target_ns: Some(10e6), systems: vec![one], ..Cdf::default() };
    has(&drawn("cdf", "cdf", &data, &plain("cdf")), &["99.99 %", "50 %", "target 10 ms"]);
    data.systems.push(Distribution::of("ssd, other scheduler", &histogram(3)));
    has(&drawn("cdf-two", "cdf", &data, &plain("cdf")), &["ssd, other scheduler"]);
}

#[test]
fn a_curve_names_its_knee() {
    let (ssd, disk) = (sweep("ssd", 90.0, 8.0), sweep("array", 400.0, 16.0));
    let data = Curve::of("random read 8 KiB", &[("ssd".into(), &ssd), ("array".into(), &disk)]);
    assert_eq!(data.systems.iter().map(|system| system.knee).collect::<Vec<_>>(), [Some(3), Some(4)]);
    has(&drawn("curve", "curve", &data, &plain("curve")), &["knee: 8 users", "knee: 16 users", "I/Os per second"]);
}

#[test]
fn block_sizes_show_the_model_and_its_errors() {
    let measured: Vec<(u64, f64, f64)> = (12..23)
        .map(|power| {
            let bytes = 1u64 << power;
            let off = if power == 17 { 1.25 } else { 1.0 + 0.01 * f64::from(power % 3) };
            let time = (85e3 + 0.45 * bytes as f64) * off;
            (bytes, time, bytes as f64 * 1e9 / time)
        })
        .collect();
    let data = Blocks::of("nvme0 · sequential read · 4 KiB to 4 MiB", &measured, Vec::new());
    let worst = data.points.iter().max_by(|a, b| a.error.unwrap().abs().total_cmp(&b.error.unwrap().abs())).unwrap();
    assert_eq!(worst.label, "128 KiB");
    assert!((-0.22..-0.15).contains(&worst.error.unwrap()), "{worst:?}");
    has(&drawn("blocks", "blocks", &data, &plain("blocks")), &["4 KiB", "4 MiB", "model", "measured"]);
}

#[test]
fn the_device_table_shows_ratios() {
    let row = |what: &str, quantity, program, value: f64| DeviceRow {
        what: what.into(),
        quantity,
        program,
        devices: vec![("nvme0n1".into(), value), ("nvme1n1".into(), value / 2.0)],
        ratio: program.map(|program: f64| 1.5 * value / program),
    };
    let data = Devices {
        title: "mixed.fio · the program and the devices".into(),
        sentences: vec!["read throughput: the devices moved only 43 % of what the program counted.".into()],
        rows: vec![
            row("reads", Quantity::Iops, Some(70_000.0), 46_700.0),
            row("read throughput", Quantity::Rate, Some(573e6), 164e6),
            row("read latency", Quantity::Latency, None, 110e3),
            row("queue", Quantity::Queue, None, 7.9),
            row("utilisation", Quantity::Utilisation, None, 0.98),
        ],
        notes: vec!["A ratio under 1: the page cache served the rest.".into()],
    };
    has(
        &drawn("devices", "devices", &data, &plain("devices")),
        &["×0.429", "×1", "98 %", "nvme1n1", "70,000 /s", "110 µs"],
    );
}

#[test]
fn a_surface_has_a_number_in_each_cell() {
    let sizes =
        |from: u32, count: u32| (from..from + count).map(|power| format!("{} KiB", 1u64 << power)).collect::<Vec<_>>();
    let rates = |file: u32| {
        (0..9)
            .map(|record| {
                (record <= file + 2)
                    .then(|| 1048576.0 * (800.0 + 300.0 * f64::from(record) - 30.0 * f64::from(file * record)))
            })
            .collect()
    };
    let data = Surface {
        title: "iozone · random read".into(),
        sentences: vec!["The highest is 1,880 MiB/s with records of 256 KiB in a file of 1024 KiB.".into()],
        records: sizes(2, 9),
        files: sizes(6, 8),
        rates: (0..8).map(rates).collect(),
        notes: Vec::new(),
    };
    has(&drawn("surface", "surface", &data, &plain("surface")), &["800", "1,880", "8192 KiB", "record size"]);
}

#[test]
fn an_overlay_draws_each_system_in_three_panels() {
    let data = Overlay::of(
        "random read 8 KiB",
        vec![("ssd".into(), sweep("ssd", 90.0, 8.0)), ("array".into(), sweep("array", 400.0, 16.0))],
    );
    has(&drawn("overlay", "overlay", &data, &plain("overlay")), &["ssd", "array", "64 users", "target 1 ms"]);
}

#[test]
fn ten_systems_are_ten_lines_of_ten_colours_and_one_answer() {
    let systems: Vec<_> = (0..10)
        .map(|at| (format!("disk{at}"), sweep(&format!("disk{at}"), 90.0 + 10.0 * f64::from(at), 8.0)))
        .collect();
    let data = Overlay::of("random read 8 KiB", systems);
    let sentences = data.sentences.join(" ");
    assert!(
        sentences.starts_with("Which of the 10 is best is not known from one round each; the highest peak"),
        "{sentences}"
    );
    assert!((1..10).all(|at| sentences.contains(&format!("disk{at} "))), "{sentences}");
    let svg = drawn("ten", "overlay", &data, &plain("overlay"));
    let strokes: std::collections::BTreeSet<&str> =
        svg.split("stroke=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let colours =
        ["#0072b2", "#d55e00", "#00845f", "#b8508f", "#a87400", "#2d8cc4", "#7a4fbf", "#6f7a8a", "#4d7c0f", "#c04a62"];
    assert!(colours.iter().all(|colour| strokes.contains(colour)), "{strokes:?}");
    assert_eq!(svg.matches("stroke-dasharray=\"7,4\"").count(), 0, "no line of a p99");
}

#[test]
fn engines_of_one_round_have_no_star_and_no_line_between() {
    let of = |rounds: Option<[f64; 2]>| {
        let mut data = sweep("ssd", 90.0, 8.0);
        data.load = "engine".into();
        data.levels.truncate(2);
        for (level, word) in data.levels.iter_mut().zip(["psync", "io_uring"]) {
            level.word = Some(word.to_owned());
            let iops = level.iops;
            let [low_iops, high_iops] = rounds.unwrap_or_default().map(|part| part * iops);
            level.rounds = rounds.map(|_| Rounds { count: 5, low_iops, high_iops });
        }
        drawn("engines", "sweep", &data, &plain("sweep"))
    };
    assert!(!of(None).contains('★'));
    assert!(of(Some([0.99, 1.01])).contains('★'));
    assert!(!of(Some([0.1, 9.0])).contains('★'), "within the noise");
}

#[test]
fn systems_of_one_level_have_a_bar_each_with_its_interval() {
    let one = |name: &str, alone_us: f64, rounds: &[f64]| {
        let mut sweep = sweep(name, alone_us, 8.0);
        sweep.levels.truncate(1);
        // They are of all levels.
        sweep.sentences.clear();
        let level = &mut sweep.levels[0];
        let iops = level.iops;
        level.rounds = (!rounds.is_empty()).then(|| {
            let low_iops = rounds.iter().fold(f64::INFINITY, |low, &part| low.min(part)) * iops;
            let high_iops = rounds.iter().fold(0.0, |high: f64, &part| high.max(part)) * iops;
            Rounds { count: 5, low_iops, high_iops }
        });
        (name.to_owned(), sweep)
    };
    let systems =
        vec![one("nvme0n1", 90.0, &[0.97, 1.02]), one("dm-crypt", 140.0, &[0.9, 1.11]), one("sda", 400.0, &[])];
    let data = Overlay::of("nvme0n1, dm-crypt and sda · random read 8 KiB · 1 user", systems);
    let svg = drawn("bars", "overlay", &data, &plain("overlay"));
    has(&svg, &["nvme0n1", "dm-crypt", "sda", "1 user", "11.1k IOPS", "2.5k IOPS", "avg 90 µs", "target 1 ms"]);
    // Nothing is as high as the picture of a sweep.
    let height: f64 = svg.split("height=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
    assert!((250.0..400.0).contains(&height), "{height}");
}

#[test]
fn changes_stand_between_no_change_and_the_tolerance() {
    let row = |name: &str, (change, low, high): (f64, f64, f64), verdict: Verdict| NumberChange {
        name: name.into(),
        unit: if name == "IOPS" { Unit::Count } else { Unit::Latency },
        old: Some(80_000.0),
        new: Some(80_000.0 * (1.0 + change)),
        change: Some(change),
        low: Some(low),
        high: Some(high),
        verdict,
    };
    let rows = vec![
        row("IOPS", (-0.116, -0.131, -0.101), Verdict::Worse),
        row("mean", (0.01, -0.02, 0.03), Verdict::Same),
        row("p50", (0.02, 0.01, 0.03), Verdict::Slight),
        row("p99", (-0.3, -0.4, -0.2), Verdict::Better),
        row("p99.9", (0.1, -0.6, 9.0), Verdict::CannotTell),
        row("response p50", (0.06, 0.02, 0.1), Verdict::Differs),
    ];
    let data = Changes {
        title: "before.json → after.json".into(),
        sentences: vec!["Worse: random reads 8K ×16 (IOPS −11.6 %).".into()],
        tolerance: 0.05,
        tests: vec![ChangedTest { label: "random reads 8K ×16".into(), runs: "5 and 5 runs".into(), rows }],
        notes: vec!["Intervals: 95 % each.".into()],
    };
    let words = [
        "random reads 8K ×16",
        "5 and 5 runs",
        "80k → 70.7k",
        "−11.6 % (−13.1 to −10.1)  worse",
        "+10.0 % (−60.0 to +900.0)  cannot tell",
        "+6.0 % (+2.0 to +10.0)  differs",
        "tolerance 5 %",
        "0",
    ];
    has(&drawn("changes", "changes", &data, &plain("changes")), &words);
    let narrow = Look { width: 376, height: None, theme: Theme::Dark, ..plain("changes") };
    let svg = ChartEngine::new().unwrap().svg(Chart::named("changes").unwrap(), &data, &narrow).unwrap();
    has(&svg, &["−11.6 % (−13.1 to −10.1)", "80k → 70.7k"]);
}

#[test]
fn a_look_chooses_theme_scale_lines_target_and_title() {
    let mut look = plain("sweep");
    look.theme = Theme::Dark;
    look.scale = Scale::Linear;
    look.lines = vec![LatencySeries::Average, LatencySeries::P99];
    look.target_ns = Some(5e5);
    look.title = Some("mine".into());
    let svg = drawn("sweep-dark", "sweep", &sweep("ssd", 90.0, 8.0), &look);
    has(&svg, &["mine", "500 µs", "p99"]);
    assert!(!svg.contains(">p95</text>") && !svg.contains(">max</text>") && svg.contains("#141a22"));
    assert!(svg.contains("latency (linear, from 0)"));
}

#[test]
fn every_chart_is_drawn_in_the_dark_and_without_data() {
    let engine = ChartEngine::new().unwrap();
    for chart in CHARTS {
        let empty = match chart.name {
            "sweep" => serde_json::to_value(Sweep::default()),
            "overlay" => serde_json::to_value(Overlay::default()),
            "card" => serde_json::to_value(report::data::Card::default()),
            "series" => serde_json::to_value(Series::default()),
            "cdf" => serde_json::to_value(Cdf::default()),
            "curve" => serde_json::to_value(Curve::default()),
            "blocks" => serde_json::to_value(Blocks::default()),
            "devices" => serde_json::to_value(Devices::default()),
            "changes" => serde_json::to_value(report::data::Changes::default()),
            "capacity" => serde_json::to_value(report::data::Capacity::default()),
            "limits" => serde_json::to_value(report::data::Limits::default()),
            "parts" => serde_json::to_value(report::data::Parts::default()),
            "surface" => serde_json::to_value(Surface::default()),
            other => panic!("{other} has no data here"),
        };
        let look = Look { theme: Theme::Dark, ..Look::of(chart) };
        let svg = engine.svg(chart, &empty.unwrap(), &look).unwrap();
        assert!(!svg.contains("NaN") && !svg.contains("Infinity"), "{}", chart.name);
        png(&svg, 0.2).unwrap();
    }
}

#[test]
fn hostile_names_are_harmless() {
    let names = [
        "<script>alert(1)</script>".to_owned(),
        "x".repeat(100_000),
        "\u{202e}drow\u{1}\u{0}\u{ffff}".into(),
        "🦀 عربى".into(),
        "a\nb".into(),
    ];
    let engine = ChartEngine::new().unwrap();
    for name in names {
        let mut data = sweep(&name, 90.0, 8.0);
        data.load = name.clone();
        data.levels.iter_mut().for_each(|level| level.label = name.clone());
        let curve = Curve::of(&name, &[(name.clone(), &data), ("other".into(), &data)]);
        let overlay = Overlay::of(&name, vec![(name.clone(), data.clone()), ("other".into(), data.clone())]);
        let draw = |chart: &str, svg: Result<String, report::DrawError>| {
            let svg = svg.unwrap();
            assert!(!svg.contains("<script") && svg.len() < 3_000_000, "{chart}: {}", svg.len());
            png(&svg, 0.2).unwrap();
        };
        draw("sweep", engine.svg(Chart::named("sweep").unwrap(), &data, &plain("sweep")));
        draw("curve", engine.svg(Chart::named("curve").unwrap(), &curve, &plain("curve")));
        draw("overlay", engine.svg(Chart::named("overlay").unwrap(), &overlay, &plain("overlay")));
    }
}
