//! Records of I/Os as their users meet them: fio's are replayed by plumb and plumb's by fio, with the same I/Os; and
//! every way to name a record, to change it and to get it wrong.

mod names;
mod oracle;

use std::path::Path;
use std::process::{Command, Output};

/// Runs `plumb fio` in a directory.
fn plumb(directory: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plumb"));
    command.arg("fio").args(words).current_dir(directory).output().expect("plumb runs")
}

/// Runs `plumb fio`, which must succeed, and gives its standard output.
fn succeed(directory: &Path, words: &[&str]) -> String {
    let output = plumb(directory, words);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs `plumb fio`, which must fail, and gives its standard error.
fn fail(directory: &Path, words: &[&str]) -> String {
    let output = plumb(directory, words);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{words:?} succeeded");
    assert!(!errors.contains("panicked"), "{errors}");
    errors
}

/// The I/Os of a record: `FILE ACTION OFFSET LENGTH`, without their times.
fn ios(directory: &Path, log: &str) -> Vec<String> {
    let text = std::fs::read_to_string(directory.join(log)).expect("a record");
    let io = |line: &str| {
        let words: Vec<&str> = line.split(' ').skip(1).collect();
        (words.len() == 4).then(|| words.join(" "))
    };
    text.lines().skip(1).filter_map(io).collect()
}

/// A directory for one test, next to the build.
fn place() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory")
}
