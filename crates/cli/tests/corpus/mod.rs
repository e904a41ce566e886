//! The inputs that fuzzing kept (`fuzz/corpus`), each through its reader: no panic, and an end within its time.

#[expect(unreachable_pub, reason = "the fuzz targets need it public")]
#[path = "../../../../fuzz/readers.rs"]
mod readers;

use readers::READERS;
use std::collections::BTreeSet;
use std::fs;
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// A thousand times what the slowest of them needs.
const LONGEST: Duration = Duration::from_secs(30);

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn inputs(reader: &str) -> Vec<PathBuf> {
    let directory = fuzz().join("corpus").join(reader);
    let entries = fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut inputs: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable entry").path()).collect();
    inputs.sort();
    inputs
}

/// What went wrong; nothing if the reader returned.
fn finding(read: fn(&[u8]), bytes: Vec<u8>) -> Option<&'static str> {
    let (done, end) = channel();
    // A reader that hangs keeps its thread; the test ends without it.
    thread::spawn(move || {
        let outcome = panic::catch_unwind(|| read(&bytes));
        let _ = done.send(outcome.is_ok());
    });
    match end.recv_timeout(LONGEST) {
        Ok(true) => None,
        Ok(false) => Some("panicked"),
        Err(RecvTimeoutError::Timeout) => Some("did not return"),
        Err(RecvTimeoutError::Disconnected) => Some("died"),
    }
}

#[test]
fn every_reader_returns_from_every_kept_input() {
    let mut findings = Vec::new();
    for reader in READERS {
        let inputs = inputs(reader.name);
        assert!(!inputs.is_empty(), "{} has no kept inputs", reader.name);
        for path in inputs {
            let bytes = fs::read(&path).expect("a readable input");
            findings.extend(finding(reader.read, bytes).map(|what| format!("{}: {what}", path.display())));
        }
    }
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

#[test]
fn every_reader_has_its_target_and_every_directory_its_reader() {
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).expect("the manifest of the targets");
    let bins = manifest.split("[[bin]]\nname = \"").skip(1).filter_map(|rest| rest.split('"').next());
    let targets: BTreeSet<&str> = bins.collect();
    let names: BTreeSet<&str> = READERS.iter().map(|reader| reader.name).collect();
    assert_eq!(targets, names);
    let kept = fs::read_dir(fuzz().join("corpus")).expect("the kept inputs");
    let kept: BTreeSet<String> =
        kept.map(|entry| entry.expect("a readable entry").file_name().to_string_lossy().into_owned()).collect();
    assert_eq!(kept, names.iter().map(|name| (*name).to_owned()).collect());
}

#[test]
fn a_reader_that_panics_or_is_unknown_is_a_finding() {
    assert_eq!(finding(|bytes| assert!(bytes[0] < u8::MAX), Vec::new()), Some("panicked"));
    assert_eq!(finding(|bytes| readers::read("nothing", bytes), Vec::new()), Some("panicked"));
    assert_eq!(finding(|bytes| readers::read("any", bytes), Vec::new()), None);
}
