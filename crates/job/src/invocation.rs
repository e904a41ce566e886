//! What a command line asks for.

use crate::error::Warning;
use crate::plan::{Digest, Plan};
use crate::table;
use measure::Nanos;
use std::path::PathBuf;

/// What a command line asks for, complete and checked.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// What to do.
    pub action: Action,
    /// Where results go, and in which formats.
    pub output: OutputRequest,
    /// The live status line.
    pub eta: EtaRequest,
    /// What is shown and written beside the results.
    pub beside: BesideRequest,
    /// Nothing may be written or trimmed.
    pub read_only: bool,
    /// Idle CPU is measured.
    pub idle: Option<IdleProfile>,
    /// What ends the run from outside.
    pub trigger: TriggerRequest,
    /// Options as they were read, where that shall be told: sections, names, values.
    pub parsed: Vec<String>,
    /// What was doubtful, in the order of the text.
    pub warnings: Vec<Warning>,
}

/// What to do. Texts are to be printed as they are; they end in a line break.
#[derive(Clone, Debug)]
pub enum Action {
    /// Run this.
    Run(Plan),
    /// Merge the traces of its jobs; nothing is run.
    MergeTraces(Plan),
    /// Everything could be read; nothing is run.
    ParseOnly,
    /// Print the version.
    Version(String),
    /// Print the usage.
    Help(String),
    /// Print help on options.
    CmdHelp(String),
    /// Print help on engines.
    EngHelp(String),
    /// Print the equal command line.
    ShowCmd(String),
    /// Unpack this compressed log.
    InflateLog(PathBuf),
    /// Try something on this machine and run nothing.
    Try(Trial),
    /// Time the unit of work by which idle CPU is told, and run nothing.
    CalibrateIdle,
}

/// Something that is tried on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trial {
    /// How fast these digests are, with the words they were asked for by.
    Digests(Vec<(&'static str, Digest)>),
    /// How fast these ways to copy memory are.
    Copies(Vec<Copying>),
    /// Whether the CPU's clock can be trusted.
    Clock,
}

/// A way to copy memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copying {
    /// As memcpy does.
    Apart,
    /// As memmove does.
    Overlapping,
    /// Byte by byte.
    Simple,
}

impl Copying {
    /// All of them.
    pub const ALL: [Copying; 3] = [Copying::Apart, Copying::Overlapping, Copying::Simple];

    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Copying::Apart => "memcpy",
            Copying::Overlapping => "memmove",
            Copying::Simple => "simple",
        }
    }
}

impl Trial {
    /// The digests of a list; all of them for an empty one.
    pub(crate) fn digests(list: &str) -> Result<Trial, (String, String)> {
        let known: Vec<&'static str> = table::digest_words().collect();
        let words = named("crctest", list, &known)?;
        let of = |word| table::digest(word).map(|digest| (word, digest));
        Ok(Trial::Digests(words.into_iter().filter_map(of).collect()))
    }

    /// The ways to copy of a list; all of them for an empty one.
    pub(crate) fn copies(list: &str) -> Result<Trial, (String, String)> {
        let words = named("memcpytest", list, &Copying::ALL.map(Copying::word))?;
        Ok(Trial::Copies(Copying::ALL.into_iter().filter(|way| words.contains(&way.word())).collect()))
    }
}

/// The words of a list, each one of those that are known; all of these for an empty list.
fn named(option: &str, list: &str, known: &[&'static str]) -> Result<Vec<&'static str>, (String, String)> {
    if list.is_empty() {
        return Ok(known.to_vec());
    }
    let find = |word: &str| {
        let found = known.iter().find(|&&one| one == word).copied();
        found.ok_or_else(|| {
            (format!("{option}={word} is nothing it can time"), format!("it takes {}", known.join(", ")))
        })
    };
    list.split(',').map(str::trim).map(find).collect()
}

/// How idle CPU is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleProfile {
    /// Of all CPUs together.
    System,
    /// Of each CPU, too.
    PerCpu,
    /// Not at all: only its unit of work is timed.
    Calibrate,
}

/// What ends a run from outside, and what is run then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TriggerRequest {
    /// The trigger is pulled when this file appears.
    pub file: Option<PathBuf>,
    /// It is pulled after so long.
    pub timeout: Option<Nanos>,
    /// A shell command; without one the jobs just end.
    pub command: Option<String>,
}

/// Where results go, and in which formats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputRequest {
    /// The file; `None` for standard output.
    pub file: Option<PathBuf>,
    /// Each format once, in the order in which they are printed: terse, JSON, normal.
    pub formats: Vec<OutputFormat>,
    /// Which terse one.
    pub terse_version: TerseVersion,
}

/// A format of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutputFormat {
    /// One line of fields per job.
    Terse,
    /// JSON.
    Json,
    /// JSON with the bins of the histograms.
    JsonPlus,
    /// Text.
    Normal,
}

/// A version of terse output: which fields a line has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TerseVersion {
    /// Three directions, no program version, no disks.
    V2,
    /// Reads and writes only, with the program's version and the disks.
    #[default]
    V3,
    /// As 3, with trims.
    V4,
    /// As 4, with the numbers of samples and IOPS samples.
    V5,
}

impl TerseVersion {
    /// All of them.
    pub const ALL: [TerseVersion; 4] = [TerseVersion::V2, TerseVersion::V3, TerseVersion::V4, TerseVersion::V5];

    /// Its number as it is written, in options and in front of every line.
    pub const fn word(self) -> &'static str {
        match self {
            TerseVersion::V2 => "2",
            TerseVersion::V3 => "3",
            TerseVersion::V4 => "4",
            TerseVersion::V5 => "5",
        }
    }

    /// The version of this number.
    pub fn of_word(word: &str) -> Option<TerseVersion> {
        TerseVersion::ALL.into_iter().find(|version| version.word() == word)
    }
}

/// The live status line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EtaRequest {
    /// Whether there is one.
    pub when: EtaWhen,
    /// A new line after so long; `None` keeps to one line.
    pub newline: Option<Nanos>,
    /// Renewed after so long.
    pub interval: Nanos,
}

impl Default for EtaRequest {
    fn default() -> Self {
        EtaRequest { when: EtaWhen::Auto, newline: None, interval: Nanos::SECOND }
    }
}

/// What is shown and written beside the results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BesideRequest {
    /// A report of the run so far, so often.
    pub status_interval: Option<Nanos>,
    /// Logs of what all jobs move together: the first part of their names.
    pub bandwidth_log: Option<String>,
    /// plumb's own result goes to this file, while the run lasts and after it (a word of plumb's own).
    pub result: Option<PathBuf>,
    /// A finding of a check is a failure (a word of plumb's own).
    pub strict: bool,
}

/// Whether there is a live status line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EtaWhen {
    /// On a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}
