//! A failed pass: iozone's message and exit status, and the kernel's error.

use crate::modes::Test;
use crate::passes::Pass;
use model::JobError;
use plan::JobPlan;

/// Reason why a pass ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// An I/O or a worker failed.
    Error,
    /// The cluster member with this rank says nothing any more.
    Lost(u32),
    /// A signal ended the run.
    Signal,
}

/// A failed pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassFailure {
    /// iozone's exit status for this failure.
    pub status: u8,
    /// iozone's message, for standard output.
    pub out: String,
    /// The kernel's error and plumb's message, for standard error.
    pub err: String,
    /// Reason why the pass ended.
    pub cause: Cause,
}

impl PassFailure {
    /// The failure for a run ended by a signal.
    pub fn interrupted(signal: i32) -> PassFailure {
        let status = u8::try_from(128 + signal).unwrap_or(u8::MAX);
        PassFailure {
            status,
            out: "\niozone: interrupted\n\nexiting iozone\n\n".into(),
            err: String::new(),
            cause: Cause::Signal,
        }
    }

    /// The failure of a pass whose worker ended with `error`, with iozone's message and exit status.
    pub fn of(pass: Pass, error: &JobError, job: &JobPlan) -> PassFailure {
        let file = job.files.names.first().map(|path| path.display().to_string()).unwrap_or_default();
        let kernel = std::io::Error::from_raw_os_error(error.errno);
        let kernel = kernel.to_string();
        let kernel = kernel.split(" (os error").next().unwrap_or_default();
        let operation = error.operation.as_str();
        let reads = job.load.mix == plan::Mix::Only(measure::Direction::Read);
        let [cannot_open, too_short, wrong] = statuses(pass.test);
        // iozone's messages name the call: `Error fwriting block`.
        let call = match pass.test {
            Test::Fwrite | Test::Fread => "f",
            Test::Pwrite => "p",
            _ => "",
        };
        let (status, out) = match operation {
            _ if error.signal.is_some() => (1, String::new()),
            "verify" => (wrong, format!("\n\nError in file: {file}\n")),
            "write" | "fsync" => (
                if pass.test == Test::Rewrite { 84 } else { 74 },
                format!("\nError {call}writing block of {file}\n\niozone: interrupted\n\nexiting iozone\n\n"),
            ),
            "prime" => (60, format!("\nError reading block 0 of {file}\n")),
            "read" => (too_short, format!("\nError {call}reading block of {file}\n")),
            _ if reads && pass.test != Test::Random => {
                (cannot_open, format!("\nCan not open temporary file {file} for read\n"))
            }
            _ => (cannot_open, format!("\nCan not open temp file: {file}\n")),
        };
        let mut err = String::new();
        if matches!(operation, "open" | "create" | "unlink") {
            err = format!("open: {kernel}\n");
        }
        err.push_str(&format!("plumb: iozone: {}\n", error.message));
        PassFailure { status, out, err, cause: Cause::Error }
    }

    /// The failure of a cluster member.
    pub fn of_member(place: &str, why: &str) -> PassFailure {
        let err = format!("plumb: iozone: {place}: {why}\n");
        PassFailure { status: 1, out: String::new(), err, cause: Cause::Error }
    }
}

/// iozone's exit statuses for a test whose file cannot be opened, is too short, or holds wrong data.
fn statuses(test: Test) -> [u8; 3] {
    match test {
        Test::Read => [58, 61, 63],
        Test::Random => [66, 70, 72],
        Test::Backward => [75, 79, 81],
        Test::Rewrite => [84, 61, 63],
        Test::Stride => [86, 88, 90],
        Test::Fwrite => [49, 61, 63],
        Test::Fread => [52, 54, 55],
        Test::Pwrite => [97, 61, 63],
        Test::Pread => [101, 103, 104],
        Test::Write | Test::Mix | Test::Nothing => [44, 61, 63],
    }
}
