//! What every test of the program shares: a directory to run in, and one line for a run.

use house::{Directory, Place, Run, Words};
use serde_json::Value;

/// The program that is tested.
pub(crate) const PLUMB: &str = env!("CARGO_BIN_EXE_plumb");

/// A new directory next to the build, which is a real disk more often than /tmp is.
#[track_caller]
pub(crate) fn place() -> Place {
    Place::below(env!("CARGO_TARGET_TMPDIR"))
}

/// A run of plumb in a directory.
pub(crate) fn plumb(directory: impl Directory, words: impl Words) -> Run {
    Run::new(PLUMB, directory).words(words)
}

/// A run of `plumb fio` in a directory.
pub(crate) fn fio(directory: impl Directory, words: impl Words) -> Run {
    plumb(directory, "fio").words(words)
}

/// The JSON of a run of `plumb fio` that must succeed.
#[track_caller]
pub(crate) fn fio_json(directory: impl Directory, words: impl Words) -> Value {
    fio(directory, "--output-format=json").words(words).json()
}
