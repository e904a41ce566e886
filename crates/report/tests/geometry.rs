//! The sweep's SVG measured: bars at true edges, shares as widths, slices, colours, queueing, and words apart.

use super::words::{Place, faults, said, words};
use analysis::Load;
use report::data::{AtWork, Axis, Bin, Level, Sweep, Table};
use report::{Chart, ChartEngine, Look, Medium, Theme};
use resvg::usvg::roxmltree::Document;

/// Rectangles by their colour, in the order of drawing.
fn rectangles(svg: &str) -> Vec<(String, Place)> {
    let document = Document::parse(svg).expect("a test's own data");
    let paths = document.descendants().filter(|node| node.has_tag_name("path"));
    paths
        .filter_map(|node| {
            let d = node.attribute("d")?;
            // `Mx ylw 0l0 hl-w 0Z`, as a rectangle is written.
            let parts: Vec<f64> = d
                .replace(['M', 'L', 'l', 'Z'], " ")
                .split([' ', ','])
                .filter(|part| !part.is_empty())
                .map(str::parse)
                .collect::<Result<_, _>>()
                .ok()?;
            let [x, y, w, zero, also, h, back, flat] = parts[..] else { return None };
            let closed =
                zero == 0.0 && also == 0.0 && flat == 0.0 && (back + w).abs() < 1e-6 && d.matches('l').count() == 3;
            let transform = node.attribute("transform").is_some();
            let place = Place { left: x, right: x + w, top: y.min(y + h), bottom: y.max(y + h) };
            (closed && !transform).then(|| (said(&node, "fill").unwrap_or_default(), place))
        })
        .collect()
}

fn measured(users: u64, average_ns: f64, rate: f64, bins: Vec<Bin>) -> Level {
    Level {
        load: users as f64,
        average_ns,
        p95_ns: Some(average_ns * 1.7),
        p99_ns: Some(average_ns * 4.0),
        p9999_ns: Some(average_ns * 60.0),
        max_ns: Some(average_ns * 80.0),
        bins,
        rate,
        iops: rate / 8192.0,
        ..Level::default()
    }
}

fn sweep_of(levels: Vec<Level>) -> Sweep {
    Sweep::of(Table {
        system: "truth".into(),
        workload: "random read 8 KiB".into(),
        plural: "8 KiB random reads".into(),
        axis: Axis::Load(Load::Users),
        elsewhere: analysis::Elsewhere::Nothing,
        target_ns: Some(10e6),
        levels,
        notes: Vec::new(),
    })
}

fn svg_of(engine: &ChartEngine, sweep: &Sweep) -> (String, Look) {
    let chart = Chart::named("sweep").expect("a test's own data");
    let look = Look::of(chart);
    (engine.svg(chart, sweep, &look).expect("a test's own data"), look)
}

const EDGES: [f64; 18] = [0.0, 1e4, 2e4, 5e4, 1e5, 2.5e5, 5e5, 1e6, 2e6, 4e6, 1e7, 2e7, 5e7, 1e8, 2.5e8, 5e8, 1e9, 2e9];

/// Shares around a latency.
fn bins(average_ns: f64) -> Vec<Bin> {
    let middle = EDGES.iter().rposition(|&edge| edge <= average_ns).expect("a test's own data");
    let edge = |at: usize| EDGES.get(at).copied().unwrap_or(4e10);
    let bin = |(at, share): (usize, f64)| Bin { from_ns: edge(at), to_ns: edge(at + 1), share };
    [(middle.wrapping_sub(1), 0.23), (middle, 0.61), (middle + 1, 0.11), (middle + 2, 0.05)]
        .into_iter()
        .filter(|&(at, _)| at < EDGES.len())
        .map(bin)
        .collect()
}

/// How far the percentiles of a level lie from each other.
#[derive(Clone, Copy, PartialEq)]
enum Spacing {
    Tight,
    Wide,
}

/// A sweep from one latency and throughput to another; the slowest of it reaches 20 s.
fn spread(count: usize, latency: (f64, f64), rate: (f64, f64), spacing: Spacing) -> Sweep {
    let level = |at: usize| {
        let part = at as f64 / (count.max(2) - 1) as f64;
        let average_ns = latency.0 * (latency.1 / latency.0).powf(part);
        let rate = rate.0 * f64::from(1 << 20) * (rate.1 / rate.0).powf(part);
        let mut level = measured(1 << at, average_ns, rate, bins(average_ns));
        if spacing == Spacing::Tight {
            // Percentiles that would all stand in one place.
            level.p95_ns = Some(average_ns * 1.02);
            level.p99_ns = Some(average_ns * 1.05);
            level.p9999_ns = Some(average_ns * 1.1);
            level.max_ns = Some(average_ns * 1.2);
        }
        level.at_work = (spacing == Spacing::Tight && at % 3 == 1).then_some(AtWork { busy: 53.0, asked: 64.0 });
        level
    };
    sweep_of((0..count).map(level).collect())
}

#[test]
fn no_word_lies_over_another_or_leaves_the_picture() {
    let engine = ChartEngine::new().unwrap();
    let chart = Chart::named("sweep").expect("a test's own data");
    let mut found = Vec::new();
    let latencies = [(2e3_f64, 2e3_f64), (2e3, 2e6), (5e5, 6e6), (8e6, 9e6), (3e6, 2.5e8), (2e3, 2.5e8), (9e4, 1e5)];
    let rates = [(0.1_f64, 0.1_f64), (0.1, 50_000.0), (148.0, 575.0), (50_000.0, 48_000.0)];
    for count in [1usize, 3, 5, 8, 12] {
        for (at, &latency) in latencies.iter().enumerate() {
            // The panels do not touch each other: every range of each is met at every count.
            let rate = rates[at % rates.len()];
            let sweep = spread(count, latency, rate, if at % 2 == 1 { Spacing::Tight } else { Spacing::Wide });
            let usual = Look::of(chart);
            let narrow = Look { width: 376, theme: Theme::Dark, ..usual.clone() };
            let width = if count <= 4 { 520 } else { 1040 };
            let paper = Look { medium: Medium::Paper, width, ..usual.clone() };
            for look in [usual, narrow, paper] {
                let svg = engine.svg(chart, &sweep, &look).expect("a test's own data");
                let faults = faults(&svg).into_iter().chain(super::contrast::faint(&svg, look.theme));
                let of = format!("{} {:?}, {count} levels, {latency:?} ns, {rate:?} MiB/s", look.width, look.medium);
                found.extend(faults.take(3).map(|fault| format!("{of}: {fault}")));
            }
        }
    }
    assert!(found.is_empty(), "{} faults\n{}", found.len(), found[..found.len().min(25)].join("\n"));
}

/// One level whose bars are known.
fn known() -> Sweep {
    let bin = |from_ns: f64, to_ns: f64, share: f64| Bin { from_ns, to_ns, share };
    sweep_of(vec![
        measured(1, 1e5, 200e6, vec![bin(5e4, 1e5, 0.5), bin(1e5, 2.5e5, 0.25), bin(1e6, 2e6, 0.25)]),
        measured(2, 1.5e5, 300e6, vec![bin(1e5, 2.5e5, 1.0)]),
        measured(4, 3.3e5, 290e6, vec![bin(2.5e5, 5e5, 1.0)]),
        measured(8, 1e5, 600e6, vec![bin(5e4, 1e5, 1.0)]),
    ])
}

/// Pixel of a latency, from two words on the axis.
fn axis(svg: &str) -> impl Fn(f64) -> f64 {
    let middle = |text: &str| {
        let words = words(svg);
        let (_, place) =
            words.iter().find(|(word, place)| word == text && place.right < 90.0).expect("a test's own data");
        (place.top + place.bottom) / 2.0
    };
    let (low, high) = (middle("100 µs"), middle("1 ms"));
    move |ns: f64| low + (high - low) * (ns / 1e5).log10()
}

#[test]
fn bars_stand_at_their_true_edges_as_wide_as_their_share() {
    let (svg, _) = svg_of(&ChartEngine::new().unwrap(), &known());
    let at = axis(&svg);
    let rectangles = rectangles(&svg);
    let bar = |from_ns: f64, to_ns: f64, fill: &str| {
        let fits = |(colour, place): &&(String, Place)| {
            colour == fill
                && (place.top - at(to_ns)).abs() < 0.2
                && (place.bottom - at(from_ns)).abs() < 0.2
                && place.left > 100.0
                && place.left < 900.0
        };
        let found = rectangles.iter().find(fits);
        found.unwrap_or_else(|| panic!("no bar {from_ns}..{to_ns} {fill}: {rectangles:?}")).1
    };
    let half = bar(5e4, 1e5, "#0b559f");
    let quarter = bar(1e5, 2.5e5, "#2b7bba");
    let slow = bar(1e6, 2e6, "#1f8765");
    assert!((half.left - quarter.left).abs() < 0.01 && (half.left - slow.left).abs() < 0.01);
    let ratio = (half.right - half.left) / (quarter.right - quarter.left);
    assert!((ratio - 2.0).abs() < 0.01, "{ratio}");
    assert!((slow.right - quarter.right).abs() < 0.01);
}

#[test]
fn queueing_bars_are_as_high_as_the_formula_says() {
    let sweep = known();
    let queueing: Vec<f64> = sweep.levels.iter().filter_map(|level| level.step?.queueing).collect();
    let by_hand = [(1.5 - 1.0) / (2.0 - 1.0), (3.3 / 1.5 - 1.0) / (2.0 - 1.0), (1.0 / 3.3 - 1.0) / (2.0 - 1.0)];
    assert!(queueing.iter().zip(by_hand).all(|(found, wanted)| (found - wanted).abs() < 1e-9), "{queueing:?}");
    let (svg, _) = svg_of(&ChartEngine::new().unwrap(), &sweep);
    let one = |fill: &str| {
        rectangles(&svg)
            .into_iter()
            .find(|(colour, place)| colour == fill && place.right - place.left > 50.0)
            .unwrap()
            .1
    };
    let (slower, falling, faster) = (one("#f6cfcf"), one("#dfa1a3"), one("#cfe1f5"));
    let high = |place: Place| place.bottom - place.top;
    let ratio = high(falling) / high(slower);
    assert!((ratio - by_hand[1] / by_hand[0]).abs() < 0.01, "{ratio}");
    assert!((high(faster) - 6.0).abs() < 0.1);
    // The axis at the right is that of the bars.
    let words = words(&svg);
    let tick = |text: &str| {
        let (_, place) = words.iter().find(|(word, place)| word == text && place.left > 900.0).unwrap();
        (place.top + place.bottom) / 2.0
    };
    let whole = tick("0 %") - tick("100 %");
    assert!((high(slower) / whole - by_hand[0]).abs() < 0.01, "{} of {whole}", high(slower));
}

#[test]
fn slices_add_up_to_the_throughput_on_its_axis() {
    let (svg, _) = svg_of(&ChartEngine::new().unwrap(), &known());
    let words = words(&svg);
    let tick = |text: &str| {
        let (_, place) = words.iter().rev().find(|(word, place)| word == text && place.right < 90.0).unwrap();
        (place.top + place.bottom) / 2.0
    };
    let pixel = (tick("0") - tick("200")) / 200.0;
    let base = tick("0");
    let slices: Vec<Place> = rectangles(&svg)
        .into_iter()
        .filter(|(_, place)| place.bottom <= base + 0.1 && place.top > 930.0 && place.right - place.left > 90.0)
        .map(|(_, place)| place)
        .collect();
    let first: Vec<&Place> = slices.iter().filter(|place| (place.left - slices[0].left).abs() < 0.1).collect();
    assert_eq!(first.len(), 3, "{slices:?}");
    let mib = |place: &Place| (place.bottom - place.top) / pixel;
    let whole = 200e6 / 1048576.0;
    for (place, share) in first.iter().zip([0.5, 0.25, 0.25]) {
        assert!((mib(place) - share * whole).abs() < 0.01 * whole, "{} for {share}", mib(place));
    }
}

#[test]
fn words_over_each_other_are_noticed() {
    let svg = r#"<svg xmlns="http://www.w3.org/2000/svg"><text x="10" y="20" style="font-size:12px">one</text><text x="20" y="22" style="font-size:12px">two</text></svg>"#;
    let words = words(svg);
    assert!(words[0].1.right > words[1].1.left && words[0].1.bottom > words[1].1.top);
}
