//! Charts drawn and looked at by a program.

use report::data::{Band, Bin, Card, CardRow, Level, Mark, Scaling, Step, Sweep};
use report::{Chart, ChartEngine, Look, png};

fn level(users: f64, average_us: f64, rate_mib: f64, shares: &[(f64, f64, f64)]) -> Level {
    Level {
        label: if users == 1.0 { "1 user".into() } else { format!("{users} users") },
        load: users,
        average_ns: average_us * 1e3,
        p95_ns: Some(average_us * 1.5e3),
        p99_ns: Some(average_us * 4e3),
        p9999_ns: Some(average_us * 100e3),
        max_ns: Some(average_us * 300e3),
        bins: shares.iter().map(|&(from, to, share)| Bin { from_ns: from * 1e3, to_ns: to * 1e3, share }).collect(),
        rate: rate_mib * 1048576.0,
        iops: rate_mib * 128.0,
        ..Level::default()
    }
}

fn sweep() -> Sweep {
    let mut levels = vec![
        level(1.0, 50.0, 148.0, &[(0.0, 50.0, 0.63), (50.0, 100.0, 0.36)]),
        level(8.0, 115.0, 528.0, &[(50.0, 100.0, 0.49), (100.0, 250.0, 0.48), (250.0, 500.0, 0.01)]),
        level(16.0, 239.0, 513.0, &[(50.0, 100.0, 0.37), (100.0, 250.0, 0.57), (250.0, 500.0, 0.01)]),
        level(
            32.0,
            428.0,
            562.0,
            &[(50.0, 100.0, 0.11), (100.0, 250.0, 0.74), (250.0, 500.0, 0.05), (1000.0, 2000.0, 0.01)],
        ),
        level(64.0, 778.0, 575.0, &[(50.0, 100.0, 0.20), (100.0, 250.0, 0.67), (250.0, 500.0, 0.07)]),
    ];
    for at in 0..4 {
        let (here, there) = (levels[at].clone(), levels[at + 1].clone());
        let load_ratio = there.load / here.load;
        let queueing = (there.average_ns / here.average_ns - 1.0) / (load_ratio - 1.0);
        levels[at].step = Some(Step { load_ratio, rate_ratio: there.rate / here.rate, queueing: Some(queueing) });
    }
    Sweep {
        title: "ssd · random read 8 KiB · 1–64 users".into(),
        sentences: vec![
            "Reaches 575 MiB/s (73,634 IOPS) at 64 users; 92 % of that is already there at 8 users.".into(),
        ],
        flag: None,
        load: "users".into(),
        target_ns: Some(10e6),
        levels,
        notes: vec![
            "Bars in the top panel stand at their true latency edges; their width is the share of I/Os.".into(),
        ],
    }
}

#[test]
fn a_sweep_becomes_svg_and_png() {
    let chart = Chart::named("sweep").unwrap();
    let svg = ChartEngine::new().unwrap().svg(chart, &sweep(), &Look::of(chart)).unwrap();
    assert!(svg.starts_with("<svg"), "{}", &svg[..200.min(svg.len())]);
    for word in ["575 MiB/s", "79 % queueing", "36 %", "colour key"] {
        assert!(svg.contains(word), "{word}");
    }
    let picture = png(&svg, 1.0).unwrap();
    assert_eq!(&picture[1..4], b"PNG");
    if let Some(path) = std::env::var_os("PLUMB_PICTURE") {
        std::fs::write(path, picture).unwrap();
    }
}

#[test]
fn a_report_card_shows_letters_and_why_one_is_missing() {
    let bands = [("A+", 2.0), ("A", 4.0), ("A-", 6.0), ("B+", 8.0), ("B", 10.0), ("B-", 12.0), ("C", 14.0)];
    let mut bands: Vec<Band> =
        bands.iter().map(|&(letter, ms)| Band { letter: letter.into(), to_ns: Some(ms * 1e6) }).collect();
    bands.push(Band { letter: "D".into(), to_ns: None });
    let mark = |letter: &str, us: f64| Some(Mark { letter: letter.into(), ns: us * 1e3 });
    let row = |workload: &str, letter: &str, reason: Option<&str>| CardRow {
        workload: workload.into(),
        detail: "random read 8 KiB".into(),
        load: "16 users → 32 users".into(),
        bins: sweep().levels[2].bins.clone(),
        bands: bands.clone(),
        p95: mark("A+", 262.0),
        average: mark("A+", 239.0),
        p99: mark("A", 2200.0),
        rate: 513.0 * 1048576.0,
        iops: 65_711.0,
        scaling: Some(Scaling {
            letter: letter.into(),
            queueing: 2.34,
            load_ratio: 2.0,
            rate_ratio: 1.1,
            reason: reason.map(str::to_owned),
            load: "users".into(),
        }),
        reason: reason.map(|_| "not graded: the latency of the base level is not known".to_owned()),
    };
    // As long as the sentence of a check can be.
    let long = "not graded: the tester was the limit by 32: processors were full or hosts took them away for 97 % of the time, and \
                workers waited 31 % of theirs for one of the two processors";
    let card = Card {
        title: "ssd: storage report card".into(),
        sentences: vec!["Latency: all tests are in the A range.".into(), "Scaling: saturated: index lookups.".into()],
        rows: vec![row("Index lookups", "D", None), row("Full scans", "?", Some(long))],
        notes: vec!["Thresholds: profile oracle-2012.".into()],
    };
    let chart = Chart::named("card").unwrap();
    let svg = ChartEngine::new().unwrap().svg(chart, &card, &Look::of(chart)).unwrap();
    for word in ["Index lookups", "234 % queued", "65,711 IOPS"] {
        assert!(svg.contains(word), "{word}");
    }
    // Reasons are broken into lines and never cut, at any width.
    for width in [chart.size.0, 376] {
        let look = Look { width, height: None, ..Look::of(chart) };
        let svg = ChartEngine::new().unwrap().svg(chart, &card, &look).unwrap();
        let document = resvg::usvg::roxmltree::Document::parse(&svg).unwrap();
        let texts = document.descendants().filter(|node| node.has_tag_name("text")).filter_map(|node| node.text());
        let all = texts.collect::<Vec<_>>().join(" ");
        for reason in [long, "not graded: the latency of the base level is not known"] {
            let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(all.contains(&format!("⚠ {reason}")), "{width}: {all}");
        }
    }
    if let Some(path) = std::env::var_os("PLUMB_CARD") {
        std::fs::write(path, png(&svg, 1.0).unwrap()).unwrap();
    }
}
