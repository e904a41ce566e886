//! Why a pass failed: iozone's words and status for it, and ours.

use iozone::Pass;
use job::plan::JobPlan;
use model::JobError;

/// A failed pass.
#[derive(Debug)]
pub(crate) struct Ill {
    /// iozone's status for it.
    pub(crate) status: u8,
    /// iozone's words, to standard output.
    pub(crate) out: String,
    /// The kernel's word and the whole story, to standard error.
    pub(crate) err: String,
    /// It did not fail: a signal ended the run.
    pub(crate) is_interruption: bool,
}

impl Ill {
    /// The run was cut short from outside.
    pub(crate) fn interrupted(signal: i32) -> Ill {
        let status = u8::try_from(128 + signal).unwrap_or(u8::MAX);
        Ill {
            status,
            out: "\niozone: interrupted\n\nexiting iozone\n\n".into(),
            err: String::new(),
            is_interruption: true,
        }
    }
}

/// The failure of a pass as iozone has it.
pub(crate) fn of(pass: Pass, error: &JobError, job: &JobPlan) -> Ill {
    let file = job.files.names.first().map(|path| path.display().to_string()).unwrap_or_default();
    let kernel = std::io::Error::from_raw_os_error(error.errno);
    let kernel = kernel.to_string();
    let kernel = kernel.split(" (os error").next().unwrap_or_default();
    let operation = error.operation.as_str();
    let reads = job.load.mix == job::plan::Mix::Only(measure::Direction::Read);
    let (status, out) = match operation {
        _ if error.signal.is_some() => (1, String::new()),
        "verify" => (63, format!("\n\nError in file: {file}\n")),
        "write" | "fsync" => (
            if pass.test == 4 { 84 } else { 74 },
            format!("\nError writing file {file}\n\niozone: interrupted\n\nexiting iozone\n\n"),
        ),
        "prime" => (60, format!("\nError reading block 0 of {file}\n")),
        "read" => (of_reading(pass), "\nError reading block\n".to_owned()),
        _ if reads && pass.test != 2 => (of_opening(pass), format!("\nCan not open temporary file {file} for read\n")),
        _ => (of_opening(pass), format!("\nCan not open temp file: {file}\n")),
    };
    let mut err = String::new();
    if matches!(operation, "open" | "create" | "unlink") {
        err = format!("open: {kernel}\n");
    }
    err.push_str(&format!("plumb: iozone: {}\n", error.message));
    Ill { status, out, err, is_interruption: false }
}

fn of_opening(pass: Pass) -> u8 {
    match pass.test {
        2 => 66,
        3 => 75,
        4 => 84,
        5 => 86,
        6 => 49,
        7 => 52,
        1 | 10 => 58,
        _ => 44,
    }
}

fn of_reading(pass: Pass) -> u8 {
    match pass.test {
        2 => 70,
        3 => 79,
        5 => 88,
        _ => 61,
    }
}
