//! What every test of the program shares: a directory to run in, a line for a run, and a disk whose rate is known.

use house::{Directory, Place, Run, Words, wait_for};
use serde_json::Value;
use std::path::Path;

/// The program that is tested.
pub(crate) const PLUMB: &str = env!("CARGO_BIN_EXE_plumb");

/// The words of a job on a simulated disk. An I/O takes 100 µs, so it does exactly 10,000 of them per second for each
/// that it may have in flight, up to `--sim_parallelism`.
pub(crate) const SIMULATED_JOB: &str = "--name=s --ioengine=sim --sim_service_time=100us --rw=randread --bs=4k --size=1g \
                                        --time_based --runtime=1";

/// The words of a survey of the same disk: each user does exactly 10,000 IOPS.
pub(crate) const SIMULATED_SURVEY: &str =
    "--engine sim --vary sim_service_time=100us --tests randread --time 1 --warm-up 0 --size 16M";

/// A new directory next to the build, which is a real disk more often than /tmp is.
#[track_caller]
pub(crate) fn place() -> Place {
    Place::below(env!("CARGO_TARGET_TMPDIR"))
}

/// A run of plumb in a directory. It sees no store and no secret of the person who runs the tests.
pub(crate) fn plumb(directory: impl Directory, words: impl Words) -> Run {
    alone(Run::new(PLUMB, directory)).words(words)
}

fn alone(run: Run) -> Run {
    let nowhere = concat!(env!("CARGO_TARGET_TMPDIR"), "/no-data");
    run.env("PLUMB_STORE", "off").env("XDG_DATA_HOME", nowhere).without_env("PLUMB_SECRET_FILE")
}

/// A run of the program that a measurement wants: the release build, if PLUMB_LOAD_PROGRAM names it.
pub(crate) fn measured_plumb(directory: impl Directory, words: impl Words) -> Run {
    let program = std::env::var_os("PLUMB_LOAD_PROGRAM").unwrap_or_else(|| PLUMB.into());
    alone(Run::new(program, directory)).words(words)
}

/// A run of `plumb cluster` in a directory.
pub(crate) fn cluster(directory: impl Directory, words: impl Words) -> Run {
    plumb(directory, "cluster").words(words)
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

/// A run of `plumb fio` with these words and a job file, `job.fio`, of this text.
#[track_caller]
pub(crate) fn job_file(directory: &Place, text: &str, words: impl Words) -> Run {
    directory.write("job.fio", text);
    fio(directory, words).words("job.fio")
}

/// Waits until a command has written the first interval of one of its measurements into the file of its `--stream`;
/// they are counted from 1.
#[track_caller]
pub(crate) fn wait_for_interval(stream: &Path, run: u32) {
    let begin = format!("{{\"type\":\"interval\",\"run\":{run},");
    let is_there = || std::fs::read_to_string(stream).is_ok_and(|lines| lines.contains(&begin));
    wait_for(&format!("an interval of measurement {run}"), || is_there().then_some(()));
}
