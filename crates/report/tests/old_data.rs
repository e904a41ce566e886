//! The eleven published data sets of fio_scripts as sweeps and report cards.

use formats::stream::parse;
use model::reading::Measurement;
use plumb_report::data::{Card, Sweep, card, sweeps};
use plumb_report::{Chart, Easel, Look, png};
use serde::Serialize;

const SYSTEMS: [&str; 11] =
    ["colorado", "dtv", "emc", "mlna", "pg512", "pg8", "pharos", "phs", "ptsmt", "skytap", "ssd"];

/// The rows of one data set.
fn rows(system: &str) -> Vec<Measurement> {
    let path = format!("{}/tests/data/data_{system}.csv", env!("CARGO_MANIFEST_DIR"));
    let (found, damages) = parse(&std::fs::read(path).unwrap());
    assert!(damages.is_empty(), "{system}: {damages:?}");
    found.iter().flat_map(|reading| formats::sweep::measurements(reading, None)).collect()
}

fn sweeps_of(system: &str) -> Vec<Sweep> {
    sweeps(system, &rows(system), 10e6)
}

fn card_of(system: &str) -> Card {
    card(system, &rows(system), analysis::report_card::profile("oracle-2012").unwrap())
}

fn sweep_of(system: &str, workload: &str) -> Sweep {
    let found = sweeps_of(system).into_iter().find(|sweep| sweep.title.contains(workload));
    found.unwrap_or_else(|| panic!("{system} has {workload}"))
}

fn drawn(easel: &Easel, name: &str, data: &impl Serialize) -> String {
    let chart = Chart::named(name).unwrap();
    easel.svg(chart, data, &Look::of(chart)).unwrap()
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

/// Writes `docs/gallery` when PLUMB_GALLERY names it.
#[test]
fn the_gallery_is_drawn() {
    let Some(place) = std::env::var_os("PLUMB_GALLERY").map(std::path::PathBuf::from) else { return };
    let easel = Easel::new().unwrap();
    let only = std::env::var("PLUMB_ONLY").unwrap_or_default();
    for system in SYSTEMS.into_iter().filter(|system| system.contains(&only)) {
        let write = |kind: &str, svg: &str| {
            std::fs::write(place.join(format!("{system}-{kind}.png")), png(svg, 1.0).unwrap()).unwrap()
        };
        write("card", &drawn(&easel, "card", &card_of(system)));
        for (kind, workload) in [
            ("random-read", "random read 8 KiB"),
            ("read", "sequential read 1 MiB"),
            ("write", "sequential write 8 KiB"),
        ] {
            write(kind, &drawn(&easel, "sweep", &sweep_of(system, workload)));
        }
    }
}
