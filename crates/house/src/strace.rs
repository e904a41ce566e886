//! System calls of a run, recorded by strace.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Traces a program; returns one log per thread, in the order of their thread ids. `calls` is strace's list of system
/// calls, `more` are additional strace options; the log files are in `place`, the program's working directory.
pub fn traced(calls: &str, more: &[&str], (program, words): (&[&str], &[&str]), place: &Path) -> Vec<String> {
    let status = Command::new("strace")
        .args(["-ff", "-qq", "-e", "signal=none", "-e", &format!("trace={calls}")])
        .args(more)
        .arg("-o")
        .arg(place.join("strace"))
        .args(program)
        .args(words)
        .current_dir(place)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("strace, which tools/oracles installs");
    assert!(status.success(), "{program:?} {words:?}: {status}");
    let entries = std::fs::read_dir(place).expect("as made before").flatten().map(|entry| entry.path());
    let logs = entries.filter(|path| path.file_stem().is_some_and(|stem| stem == "strace"));
    let number = |path: &Path| path.extension()?.to_str()?.parse::<u32>().ok();
    let mut logs: Vec<(u32, PathBuf)> = logs.filter_map(|path| Some((number(&path)?, path))).collect();
    logs.sort();
    logs.iter().map(|(_, path)| std::fs::read_to_string(path).expect("a log")).collect()
}
