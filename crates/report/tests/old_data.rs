//! The eleven published data sets of fio_scripts as sweeps and report cards.

use analysis::report_card::{self, ProfileChoice, profile};
use formats::stream::parse;
use model::Measurement;
use model::measurement::ms;
use report::data::{Card, Sweep, card, sweeps};
use report::{Chart, ChartEngine, Look, png};
use serde::Serialize;

const SYSTEMS: [&str; 11] =
    ["colorado", "dtv", "emc", "mlna", "pg512", "pg8", "pharos", "phs", "ptsmt", "skytap", "ssd"];

/// The rows of one data set.
fn rows(system: &str) -> Vec<Measurement> {
    let path = format!("{}/tests/data/data_{system}.csv", env!("CARGO_MANIFEST_DIR"));
    let (found, damages) = parse(&std::fs::read(path).expect("a test's own data"));
    assert!(damages.is_empty(), "{system}: {damages:?}");
    found.iter().flat_map(|reading| formats::sweep::measurements(reading, None)).collect()
}

fn sweeps_of(system: &str) -> Vec<Sweep> {
    sweeps(system, &rows(system), None)
}

fn card_of(system: &str) -> Card {
    let (rows, chosen) = (rows(system), profile("oracle-2012").map(ProfileChoice::asked).expect("a test's own data"));
    card(&report_card::card(system, &rows, chosen.profile), &rows, &chosen)
}

fn sweep_of(system: &str, workload: &str) -> Sweep {
    let found = sweeps_of(system).into_iter().find(|sweep| sweep.title.contains(workload));
    found.unwrap_or_else(|| panic!("{system} has {workload}"))
}

fn drawn(engine: &ChartEngine, name: &str, data: &impl Serialize) -> String {
    let chart = Chart::named(name).expect("a test's own data");
    engine.svg(chart, data, &Look::of(chart)).expect("a test's own data")
}

#[test]
fn every_data_set_has_its_sweeps_and_its_card() {
    for system in SYSTEMS {
        let sweeps = sweeps_of(system);
        assert!(sweeps.len() >= 5, "{system}: {}", sweeps.len());
        assert!(sweeps.iter().all(|sweep| sweep.sentences.len() == 2), "{system}");
        assert_eq!(card_of(system).rows.len(), 4, "{system}");
    }
}

#[test]
fn only_the_valid_data_set_has_no_flag_over_users() {
    let flagged = |system: &str| sweeps_of(system).iter().filter(|sweep| sweep.flag.is_some()).count();
    assert_eq!(flagged("colorado"), 0);
    for system in SYSTEMS.into_iter().filter(|&system| system != "colorado") {
        assert!(flagged(system) > 0, "{system}");
    }
}

/// The numbers that are written with this unit: (value, half of the last digit).
fn written(svg: &str, unit: &str) -> Vec<(f64, f64)> {
    let texts = svg.split("</text>").filter_map(|part| part.rsplit_once('>').map(|(_, text)| text));
    let of_unit = texts.filter_map(|text| text.strip_suffix(unit));
    of_unit
        .filter_map(|text| {
            let digits = text.trim().replace(',', "");
            let (digits, factor) = digits.strip_suffix('k').map_or((digits.as_str(), 1.0), |digits| (digits, 1e3));
            let decimals = digits.split_once('.').map_or(0, |(_, after)| after.len());
            Some((
                digits.parse::<f64>().ok()? * factor,
                0.5 * factor * 0.1_f64.powi(i32::try_from(decimals).expect("a test's own data")),
            ))
        })
        .collect()
}

#[test]
fn the_values_labelled_for_the_valid_set_are_those_of_its_csv() {
    let engine = ChartEngine::new().unwrap();
    let rows = rows("colorado");
    assert_eq!(rows.len(), 22);
    let mut compared = 0;
    for (workload, name, block) in [
        ("random read 8 KiB", "randread", "8K"),
        ("sequential read 1 MiB", "read", "1M"),
        ("sequential write 8 KiB", "write", "8K"),
    ] {
        let svg = drawn(&engine, "sweep", &sweep_of("colorado", workload));
        let times: Vec<(f64, f64)> = [(" µs", 1e-3), (" ms", 1.0), (" s", 1e3)]
            .iter()
            .flat_map(|(unit, ms)| written(&svg, unit).into_iter().map(move |(value, half)| (value * ms, half * ms)))
            .collect();
        let (rates, counts) = (written(&svg, " MiB/s"), written(&svg.replace("  ★ peak", ""), " IOPS"));
        let mut check = |wanted: Option<f64>, among: &[(f64, f64)], what: &str| {
            let wanted = wanted.unwrap();
            let found = among.iter().any(|(value, half)| (value - wanted).abs() <= half * 1.0001);
            assert!(found, "{workload}: {what} {wanted} is not among {among:?}");
            compared += 1;
        };
        for row in rows.iter().filter(|row| row.test.as_str() == name && row.block_text().as_deref() == Some(block)) {
            check(ms(row.mean_ns), &times, "avg");
            check(ms(row.max_ns), &times, "max");
            check(ms(row.percentiles_ns[0]), &times, "p95");
            check(ms(row.percentiles_ns[1]), &times, "p99");
            check(row.mib_per_second(), &rates, "MiB/s");
            check(row.iops, &counts, "IOPS");
        }
    }
    assert_eq!(compared, 6 * (5 + 5 + 3));
}

#[test]
fn small_and_ranged_blocks_are_in_the_chart_over_block_sizes() {
    let row = |size: &str, iops: f64, mib: f64| {
        format!("lab,randread,1,{size},{mib},{},0.01,1,0.1,{iops}{}\n", 1000.0 / iops, ",".repeat(22))
    };
    let table = format!(
        "system,name,users,bs,MB,lat,min,max,std,iops,us50,us100,us250,us500,ms1,ms2,ms4,ms10,ms20,ms50,ms100,ms250,\
         ms500,s1,s2,s5,p95_00,p99_00,p99_50,p99_90,p99_95,p99_99\n{}{}{}{}",
        row("512B", 10_000.0, 4.9),
        row("4K", 9_000.0, 35.2),
        row("4K-16K", 8_000.0, 78.1),
        row("64K", 4_000.0, 250.0)
    );
    let (found, damages) = parse(table.as_bytes());
    assert!(damages.is_empty(), "{damages:?}");
    let rows: Vec<Measurement> = found.iter().flat_map(|reading| formats::sweep::measurements(reading, None)).collect();
    let sweeps = sweeps("lab", &rows, None);
    let labels: Vec<&str> = sweeps.iter().flat_map(|sweep| &sweep.levels).map(|level| level.label.as_str()).collect();
    assert_eq!(labels, ["512 B", "4 KiB", "10 KiB", "64 KiB"]);
}

/// What the gallery shows of each system.
const SHOWN: [(&str, &str); 3] =
    [("random-read", "random read 8 KiB"), ("read", "sequential read 1 MiB"), ("write", "sequential write 8 KiB")];

#[test]
fn the_gallery_has_a_picture_of_every_data_set_and_no_other() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
    let page = std::fs::read_to_string(format!("{docs}/gallery.md")).unwrap();
    let mut wanted: Vec<String> = SYSTEMS
        .iter()
        .flat_map(|system| {
            ["card"].into_iter().chain(SHOWN.map(|(kind, _)| kind)).map(move |kind| format!("{system}-{kind}.png"))
        })
        .collect();
    wanted.sort();
    let mut there: Vec<String> = std::fs::read_dir(format!("{docs}/gallery"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| SYSTEMS.iter().any(|system| name.starts_with(&format!("{system}-"))))
        .collect();
    there.sort();
    assert_eq!(there, wanted);
    for name in &wanted {
        assert!(page.contains(&format!("(gallery/{name})")), "gallery.md shows {name}");
    }
}

/// Draws one system's pictures, or all where PLUMB_GALLERY says where they go: `make gallery`.
#[test]
fn the_gallery_is_drawn() {
    let wanted = std::env::var_os("PLUMB_GALLERY").map(std::path::PathBuf::from);
    let systems = if wanted.is_some() { &SYSTEMS[..] } else { &SYSTEMS[10..] };
    let place = wanted.unwrap_or_else(|| std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("gallery"));
    std::fs::create_dir_all(&place).unwrap();
    let engine = ChartEngine::new().unwrap();
    for system in systems {
        let write = |kind: &str, svg: &str| {
            std::fs::write(place.join(format!("{system}-{kind}.png")), png(svg, 1.0).unwrap()).unwrap()
        };
        write("card", &drawn(&engine, "card", &card_of(system)));
        for (kind, workload) in SHOWN {
            write(kind, &drawn(&engine, "sweep", &sweep_of(system, workload)));
        }
    }
    let drawn = std::fs::read_dir(&place).unwrap().count();
    assert!(drawn > SHOWN.len(), "{drawn} pictures");
}
