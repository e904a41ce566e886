//! What a reader finds in a text: a reading, or damage.

pub use crate::printed::{
    IostatRow, IozoneHead, IozoneRow, IozoneThroughput, IozoneUnit, LatencyShare, LogDirection, LogSummary,
    PriorityTime, ReadDirection, ReadDisk, ReadGroup, ReadJob, ReadKind, ReadLatency, ReadPriority, ReadProgress,
    ReadRun, ReadSamples,
};

use crate::{Measurement, RunResult};
use serde::Serialize;

/// One parsed result, and its position.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reading {
    /// Its format, by its name in the table of formats.
    pub format: &'static str,
    /// Its first line, from 1.
    pub line: u64,
    /// The result.
    #[serde(flatten)]
    pub found: Content,
    /// All that a document states of a run, which is more than is printed; only if results were asked for.
    #[serde(skip)]
    pub result: Option<Box<RunResult>>,
}

impl Reading {
    /// A reading without a result of a run.
    pub const fn new(format: &'static str, line: u64, found: Content) -> Self {
        Reading { format, line, found, result: None }
    }
}

/// Kinds of results.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// A report of fio.
    Run(Box<ReadRun>),
    /// A row of a table of measurements: of fioparse.sh, an R matrix, or a CSV file.
    Row(Box<Measurement>),
    /// A row of iozone's table.
    Iozone(Box<IozoneRow>),
    /// A block of iozone's throughput mode.
    Throughput(Box<IozoneThroughput>),
    /// A device line of iostat.
    Device(Box<IostatRow>),
    /// A CPU line of iostat.
    Processors(Box<IostatRow>),
    /// All of one log file.
    Log(Box<LogSummary>),
}

/// A part of the text that looks like a result but cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// Its line, from 1.
    pub line: u64,
    /// The problem with it.
    pub what: String,
}
