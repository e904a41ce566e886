//! The Python module of the wheel against the program that is tested: under every Python that is found, and its types.

use crate::context::PLUMB;
use house::Run;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const MODULE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python");

/// The Python that has pandas and mypy (tools/readers.txt).
fn of_readers() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("../oracles/readers/bin/python")
}

/// A Python per version that this machine has, oldest first: Debian's, those in PATH, and those of pyenv.
fn pythons() -> BTreeMap<(u32, u32), PathBuf> {
    let home = std::env::var("HOME").unwrap_or_default();
    let mut candidates = vec![PathBuf::from("/usr/bin/python3"), of_readers()];
    candidates.extend((8..30).map(|minor| PathBuf::from(format!("python3.{minor}"))));
    let of_pyenv = std::fs::read_dir(format!("{home}/.pyenv/versions")).into_iter().flatten();
    candidates.extend(of_pyenv.map(|entry| entry.unwrap().path().join("bin/python3")));
    let version = |python: &Path| -> Option<(u32, u32)> {
        let script = "import sys; print(*sys.version_info[:2])";
        let output =
            Command::new(python).args(["-c", script]).output().ok().filter(|output| output.status.success())?;
        let text = String::from_utf8(output.stdout).ok()?;
        let (major, minor) = text.trim().split_once(' ')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    let found = candidates.into_iter().filter_map(|python| Some((version(&python)?, python)));
    // The module says that it needs 3.8.
    found.filter(|&(version, _)| version >= (3, 8)).collect()
}

/// Runs the tests of the module; asserts that there were some, and that all passed.
fn passes(python: &Path) {
    let run = Run::new(python, Path::new(MODULE)).words("-W error -m unittest discover -s tests");
    let run = run.env("PYTHONPATH", ".").env("PYTHONDONTWRITEBYTECODE", "1").env("PLUMB", PLUMB);
    run.succeeds().complains("Ran 9 tests");
}

#[test]
fn the_module_runs_plumb_with_the_oldest_and_newest_python() {
    let pythons = pythons();
    let (oldest, newest) = (pythons.first_key_value().unwrap(), pythons.last_key_value().unwrap());
    passes(oldest.1);
    if newest.0 != oldest.0 {
        passes(newest.1);
    }
}

#[test]
fn the_module_makes_frames_where_pandas_is() {
    passes(&of_readers());
}

#[test]
fn the_types_of_the_module_are_consistent() {
    let words = "-m mypy --strict --cache-dir=/dev/null plumb_bench";
    let run = Run::new(of_readers(), Path::new(MODULE)).words(words).succeeds();
    run.prints("no issues found in 3 source files");
}
