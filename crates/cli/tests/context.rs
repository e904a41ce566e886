//! What every test of the program shares: a directory to run in, and one line for a run.

use house::{Place, Run, Words};
use std::path::Path;

/// The program that is tested.
pub(crate) const PLUMB: &str = env!("CARGO_BIN_EXE_plumb");

/// A new directory next to the build, which is a real disk more often than /tmp is.
#[track_caller]
pub(crate) fn place() -> Place {
    Place::below(env!("CARGO_TARGET_TMPDIR"))
}

/// A run of plumb in a directory.
pub(crate) fn plumb(directory: impl AsRef<Path>, words: impl Words) -> Run {
    Run::new(PLUMB, directory).words(words)
}

/// A run of `plumb fio` in a directory.
pub(crate) fn fio(directory: impl AsRef<Path>, words: impl Words) -> Run {
    plumb(directory, "fio").words(words)
}
