//! Which command runs, and what help, version and mistakes look like.

use crate::context::{PLUMB, place, plumb};
use house::Run;

#[test]
fn a_link_named_fio_is_fio() {
    let place = place();
    std::os::unix::fs::symlink(PLUMB, place.file("fio")).unwrap();
    let linked = Run::new(place.file("fio"), &place).words("--version").succeeds().stdout;
    assert_eq!(linked, format!("fio-3.42-plumb-{}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(plumb(&place, "fio --version").succeeds().stdout, linked);
}

#[test]
fn iozone_without_words_points_to_its_help_by_either_name() {
    let place = place();
    std::os::unix::fs::symlink(PLUMB, place.file("iozone")).unwrap();
    for run in [Run::new(place.file("iozone"), &place), plumb(&place, "iozone")] {
        run.exits(255).silent().prints("iozone -h");
    }
}

#[test]
fn version_names_the_program() {
    let otlp = if cfg!(feature = "otlp") { '+' } else { '-' };
    let features = format!("features: +report +pdf +parquet +workbook +live +store {otlp}otlp");
    let shown = plumb(place(), "--version").succeeds().silent().stdout;
    assert_eq!(shown, format!("plumb {}\n{features}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn every_native_help_has_examples() {
    for words in ["--help", "survey --help"] {
        plumb(place(), words).succeeds().silent().prints("Examples:\n  plumb survey");
    }
}

#[test]
fn mistakes_end_with_status_one_and_a_hint() {
    for (words, hint) in [
        ("surwey .", "survey"),
        ("survey", "PATH|DEVICE"),
        ("survey --size 4q .", "write it like 512M or 16G"),
        ("survey --time 0 .", "write it like 10s or 2m"),
        ("survey --qick .", "--quick"),
    ] {
        let run = plumb(place(), words).exits(1).complains(hint);
        assert_eq!(run.stdout, "", "{run}");
    }
}

#[test]
fn a_closed_pipe_is_not_a_panic() {
    let shell = format!("{PLUMB} --help | true; exit ${{PIPESTATUS[0]}}");
    Run::new("bash", place()).words(["-c", &shell]).end().silent();
}

#[test]
fn the_program_alone_says_what_to_type_first() {
    let text = plumb(place(), "").succeeds().stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() == 10 && lines[0].starts_with("plumb survey . "), "{text}");
    assert!(lines.iter().all(|line| line.len() <= 80), "{text}");
}
