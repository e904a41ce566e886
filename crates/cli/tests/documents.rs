//! The commands of the documents: each block that is marked as shell runs as it stands, with sizes and times cut.

use crate::context::{PLUMB, place};
use house::{Run, names};
use std::path::Path;

/// The blocks of a document that are shell.
fn blocks(document: &str) -> Vec<String> {
    document.split("```sh\n").skip(1).filter_map(|rest| Some(rest.split("```").next()?.to_owned())).collect()
}

/// The same commands on small files for a short time, in directories of the test.
fn cut(block: &str, place: &Path) -> String {
    let mut text = block.to_owned();
    for (long, short) in [
        ("--time 10s", "--time 1s --warm-up 0"),
        ("--tests randread,write", "--tests randread,write --block-sizes 8k"),
        ("--users 1,4,16", "--users 1,4"),
        ("--repeat 3", "--repeat 2"),
        ("--size 4G", "--size 64M"),
        ("--size=1g", "--size=16m"),
        ("-s 256m -r 4k -t 8", "-s 1m -r 4k -t 2"),
        ("--runtime=10", "--runtime=1"),
        ("--strict=cache,errors", "--strict=errors"),
    ] {
        text = text.replace(long, short);
    }
    for directory in ["/data", "/mnt/a", "/mnt/b"] {
        text = text.replace(directory, &place.join(directory.trim_start_matches('/')).display().to_string());
    }
    text
}

/// Runs all blocks of a document, one after the other, in one directory; each must end with status 0. Returns the names
/// of the files that they leave. Others may take the processors, here or on the host: grades are then refused, and all
/// of it runs again, three times at most; the last time such a refusal is the right answer.
fn run(document: &str) -> Vec<String> {
    for _ in 0..3 {
        match attempt(document, false) {
            Ok(files) => return files,
            Err(text) => assert!(is_of_machine(&text), "{text}"),
        }
    }
    attempt(document, true).unwrap_or_else(|text| panic!("{text}"))
}

/// True if a block has no grades because the machine was busy.
fn is_of_machine(text: &str) -> bool {
    let limits = ["the tester, not the disk, was the limit", "the tester was the limit", "the hypervisor took"];
    limits.iter().any(|limit| text.contains(limit))
}

/// The same once; the error is the block with its output.
fn attempt(document: &str, may_be_refused: bool) -> Result<Vec<String>, String> {
    let place = place();
    for directory in ["data", "mnt/a", "mnt/b", "bin", "work"] {
        std::fs::create_dir_all(place.file(directory)).unwrap();
    }
    std::os::unix::fs::symlink(PLUMB, place.file("bin/plumb")).unwrap();
    let path = format!("{}:{}", place.word("bin"), std::env::var("PATH").unwrap());
    let blocks = blocks(document);
    assert!(!blocks.is_empty());
    for block in blocks {
        let script = format!("set -euo pipefail\n{}", cut(&block, place.path()));
        let run = Run::new("bash", &place.file("work")).words(["-c", &script]).env("PATH", &path);
        // What a person who follows a document finds in a new home.
        let run = run.env("HOME", place.path()).without_env("XDG_DATA_HOME").end();
        let is_refused = may_be_refused && is_of_machine(&run.to_string());
        if run.status != Some(0) && !is_refused {
            return Err(run.to_string());
        }
    }
    Ok(names(&place.file("work")))
}

#[test]
fn the_document_of_results_names_what_is_known_of_the_machine() {
    let environment =
        serde_json::to_value(model::Environment { host: Some("a".into()), ..Default::default() }).unwrap();
    let document = include_str!("../../../docs/result.md");
    for name in environment.as_object().unwrap().keys() {
        assert!(document.contains(&format!("`{name}`")), "docs/result.md has no {name}");
    }
}

#[test]
fn the_commands_about_man_pages_and_completions_run() {
    let files = run(include_str!("../../../docs/install.md"));
    for name in ["plumb-survey.1", "man1", "bash-completions", "zsh-functions", "fish-completions"] {
        assert!(files.contains(&name.to_owned()), "{files:?}");
    }
}

#[test]
fn the_commands_of_a_depth_sweep_run() {
    let files = run(include_str!("../../../docs/depth-sweep.md"));
    for name in ["depth.json", "depth.html", "depth.svg", "depth-64.json", "fio-depth.svg"] {
        assert!(files.iter().any(|file| file == name), "{name} is not in {files:?}");
    }
}

#[test]
fn the_commands_of_two_disks_run() {
    let files = run(include_str!("../../../docs/two-disks.md"));
    for name in ["old.json", "new.json", "disks.svg", "disks.html", "disks.csv"] {
        assert!(files.iter().any(|file| file == name), "{name} is not in {files:?}");
    }
}

#[test]
fn the_commands_of_a_job_in_continuous_integration_run() {
    let files = run(include_str!("../../../docs/ci.md"));
    assert_eq!(
        files,
        ["findings.json", "summary.md", "today-readings.json", "today.csv", "today.html", "today.json"],
        "and no page of the survey"
    );
}

#[test]
fn the_commands_in_a_container_run() {
    let files = run(include_str!("../../../docs/container.md"));
    assert_eq!(files, ["findings.json", "result-2.json", "result.html", "result.json"]);
}

#[test]
fn the_commands_in_scripts_run() {
    let files = run(include_str!("../../../docs/scripts.md"));
    assert!(files.contains(&"disk.html".to_owned()), "{files:?}");
}

#[test]
fn the_commands_of_streams_run() {
    let files = run(include_str!("../../../docs/streams.md"));
    assert!(["lines.ndjson", "devices.ndjson"].iter().all(|name| files.iter().any(|file| file == name)), "{files:?}");
}

#[test]
fn the_commands_of_metrics_run() {
    let files = run(include_str!("../../../docs/metrics.md"));
    assert!(["plumb.prom", "history.om"].iter().all(|name| files.iter().any(|file| file == name)), "{files:?}");
}

#[test]
fn the_document_of_metrics_has_every_family() {
    let document = include_str!("../../../docs/metrics.md");
    for family in formats::openmetrics::FAMILIES {
        let name = if family.kind == "counter" { format!("{}_total", family.name) } else { family.name.to_owned() };
        assert!(document.contains(&format!("`{name}`")), "docs/metrics.md has no {name}");
    }
}
