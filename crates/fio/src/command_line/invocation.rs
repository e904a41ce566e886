//! A parsed command line: the action, the plan and the outputs.

use crate::command_line::network::{ClientRequest, ServerRequest};
use crate::error::Warning;
use crate::options::table;
use measure::Nanos;
use plan::{Digest, Plan};
use std::path::PathBuf;

/// A parsed command line, complete and checked.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The action to take.
    pub action: Action,
    /// Where results go, and in which formats.
    pub output: OutputRequest,
    /// The live status line.
    pub eta: EtaRequest,
    /// Output in addition to the results.
    pub side: SideOutputs,
    /// True if nothing may be written or trimmed (`--readonly`).
    pub read_only: bool,
    /// Idle CPU measurement (`--idle-prof`).
    pub idle: Option<IdleProfile>,
    /// External condition that ends the run.
    pub trigger: TriggerRequest,
    /// One line for each subject of `--debug`.
    pub announced: Vec<String>,
    /// Parsed options for `--debug=parse`: sections, names, values. Empty without it.
    pub parsed: Vec<String>,
    /// Warnings, in the order of the text.
    pub warnings: Vec<Warning>,
}

/// The action of a command line. Texts are printed unchanged; they end with a line break.
#[derive(Clone, Debug)]
pub enum Action {
    /// Run this.
    Run(Plan),
    /// Run jobs on servers.
    Client(ClientRequest),
    /// Run the jobs of clients.
    Server(ServerRequest),
    /// Merge the block traces of the plan's jobs without running them.
    MergeTraces(Plan),
    /// Parse only; nothing is run.
    ParseOnly,
    /// Print the version.
    Version(String),
    /// Print the usage.
    Help(String),
    /// Print help on options.
    CmdHelp(String),
    /// Print help on engines.
    EngHelp(String),
    /// Print the command line that is equivalent to the job files.
    ShowCmd(String),
    /// Unpack this compressed log.
    InflateLog(PathBuf),
    /// Run a test of this machine in place of jobs.
    Try(Trial),
    /// Time the unit of work of idle CPU measurement, in place of jobs.
    CalibrateIdle,
}

/// A test of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trial {
    /// Speed of these digests (`--crctest`), each with the word that selects it.
    Digests(Vec<(&'static str, Digest)>),
    /// Speed of these ways to copy memory (`--memcpytest`).
    Copies(Vec<Copying>),
    /// Test if the CPU's clock can be trusted (`--cpuclock-test`).
    Clock,
}

/// A way to copy memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copying {
    /// Copies between separate buffers, like memcpy(3).
    Apart,
    /// Copies between buffers that may overlap, like memmove(3).
    Overlapping,
    /// Copies byte by byte.
    Simple,
}

impl Copying {
    /// All ways to copy.
    pub const ALL: [Copying; 3] = [Copying::Apart, Copying::Overlapping, Copying::Simple];

    /// The word that selects it.
    pub const fn word(self) -> &'static str {
        match self {
            Copying::Apart => "memcpy",
            Copying::Overlapping => "memmove",
            Copying::Simple => "simple",
        }
    }
}

impl Trial {
    /// Parses a list of digests; an empty list means all of them.
    pub(crate) fn digests(list: &str) -> Result<Trial, (String, String)> {
        let known: Vec<&'static str> = table::digest_words().collect();
        let words = named("crctest", list, &known)?;
        let of = |word| table::digest(word).map(|digest| (word, digest));
        Ok(Trial::Digests(words.into_iter().filter_map(of).collect()))
    }

    /// Parses a list of ways to copy; an empty list means all of them.
    pub(crate) fn copies(list: &str) -> Result<Trial, (String, String)> {
        let words = named("memcpytest", list, &Copying::ALL.map(Copying::word))?;
        Ok(Trial::Copies(Copying::ALL.into_iter().filter(|way| words.contains(&way.word())).collect()))
    }
}

/// Splits a list into words and rejects those that are not in `known`; an empty list means all known words.
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
    /// Average over all CPUs.
    System,
    /// The average and each CPU.
    PerCpu,
    /// None: only the unit of work is timed.
    Calibrate,
}

/// External condition that ends a run, and the command that is then executed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TriggerRequest {
    /// The trigger fires when this file appears.
    pub file: Option<PathBuf>,
    /// The trigger fires after this time.
    pub timeout: Option<Nanos>,
    /// Shell command to execute; without one the jobs are just terminated.
    pub command: Option<String>,
}

/// Destination and formats of results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputRequest {
    /// The output file; `None` for standard output.
    pub file: Option<PathBuf>,
    /// The format names, each once, in the order of the parser's list ([`crate::Parser::with_formats`]).
    pub formats: Vec<&'static str>,
    /// Version of terse output.
    pub terse_version: TerseVersion,
}

/// A format of results, as `--output-format` names it. The crate that writes formats passes a list of these to the
/// parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputFormat {
    /// The name on the command line.
    pub word: &'static str,
    /// Other names of the same format.
    pub aliases: &'static [&'static str],
    /// The names of formats that are not printed in addition to this one, because this one contains them.
    pub includes: &'static [&'static str],
}

impl OutputFormat {
    /// The name of the default format.
    pub const NORMAL: &'static str = "normal";
    /// The name of the format that `--minimal` and `--append-terse` select.
    pub const TERSE: &'static str = "terse";

    /// True if `word` names this format.
    pub(crate) fn is_named(&self, word: &str) -> bool {
        self.word == word || self.aliases.contains(&word)
    }

    /// The names of these formats as help and messages list them, the default first.
    pub(crate) fn words(formats: &[OutputFormat]) -> Vec<&'static str> {
        let others = formats.iter().map(|format| format.word).filter(|&word| word != Self::NORMAL);
        std::iter::once(Self::NORMAL).chain(others).collect()
    }
}

impl OutputRequest {
    /// Sorts the formats into the order of `known`, without duplicates; adds the default if there are none.
    pub(crate) fn complete(&mut self, known: &[OutputFormat]) {
        if self.formats.is_empty() {
            self.formats.push(OutputFormat::NORMAL);
        }
        let rank = |word: &str| known.iter().position(|format| format.word == word);
        self.formats.sort_by_key(|word| rank(word));
        self.formats.dedup();
        let asked = self.formats.clone();
        let included = known.iter().filter(|format| asked.contains(&format.word)).flat_map(|format| format.includes);
        included.for_each(|part| self.formats.retain(|word| word != part));
    }
}

/// Version of terse output, which determines the fields of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TerseVersion {
    /// Three directions, no program version, no disks.
    V2,
    /// Reads and writes only, with the program's version and the disks.
    #[default]
    V3,
    /// As version 3, with trims.
    V4,
    /// As version 4, with the number of samples and the IOPS samples.
    V5,
}

impl TerseVersion {
    /// All versions.
    pub const ALL: [TerseVersion; 4] = [TerseVersion::V2, TerseVersion::V3, TerseVersion::V4, TerseVersion::V5];

    /// The version number as written in options and as the first field of every line.
    pub const fn word(self) -> &'static str {
        match self {
            TerseVersion::V2 => "2",
            TerseVersion::V3 => "3",
            TerseVersion::V4 => "4",
            TerseVersion::V5 => "5",
        }
    }

    /// Returns the version with this number.
    pub fn of_word(word: &str) -> Option<TerseVersion> {
        TerseVersion::ALL.into_iter().find(|version| version.word() == word)
    }
}

/// The live status line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EtaRequest {
    /// When the line is shown.
    pub when: EtaWhen,
    /// Interval after which a new line is started; `None` keeps updating one line.
    pub newline: Option<Nanos>,
    /// Interval between updates.
    pub interval: Nanos,
}

impl Default for EtaRequest {
    fn default() -> Self {
        EtaRequest { when: EtaWhen::Auto, newline: None, interval: Nanos::SECOND }
    }
}

/// Output in addition to the results: interim reports, logs over all jobs, a result file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SideOutputs {
    /// Interval between reports of the run so far (`--status-interval`).
    pub status_interval: Option<Nanos>,
    /// Prefix of the log files of aggregate bandwidth (`--bandwidth-log`).
    pub bandwidth_log: Option<String>,
    /// File for plumb's own result, written during and after the run (plumb only).
    pub result: Option<PathBuf>,
    /// Options of plumb's sessions, `--NAME` or `--NAME=VALUE` (plumb only).
    pub session: Vec<String>,
    /// Event that ends the run before its time: `change`, `settled` (plumb only).
    pub until_regime: Option<String>,
    /// Where the time of the I/Os goes is recorded (plumb only).
    pub layers: bool,
}

/// When the live status line is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EtaWhen {
    /// If the output is a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}
