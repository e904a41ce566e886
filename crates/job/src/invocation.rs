//! What a command line asks for.

use crate::error::Warning;
use crate::plan::Plan;
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
    /// Nothing may be written or trimmed.
    pub read_only: bool,
    /// What was doubtful, in the order of the text.
    pub warnings: Vec<Warning>,
}

/// What to do. Texts are to be printed as they are; they end in a line break.
#[derive(Clone, Debug)]
pub enum Action {
    /// Run this.
    Run(Plan),
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
}

/// Where results go, and in which formats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputRequest {
    /// The file; `None` for standard output.
    pub file: Option<PathBuf>,
    /// Each format once, in the order in which they are printed: JSON before normal.
    pub formats: Vec<OutputFormat>,
}

/// A format of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutputFormat {
    /// JSON.
    Json,
    /// JSON with the bins of the histograms.
    JsonPlus,
    /// Text.
    Normal,
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
