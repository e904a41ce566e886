//! Options that plumb's own commands share: JSON on standard output, quiet, and a file for the output.
//!
//! docs/scripts.md has the table of what each command does with them.

use crate::failure::Failure;
use crate::output::{Output, Verbosity};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Form of the output.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Streams {
    /// Print the result as JSON on standard output, and nothing else there
    #[arg(long, global = true)]
    pub json: bool,
    /// Print only the result and errors: no progress, no headings, no remarks on what was read
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

/// Use of standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text for people.
    Text,
    /// The result as JSON alone.
    Json,
}

impl Form {
    /// JSON if this is so.
    pub fn json_if(is_json: bool) -> Self {
        if is_json { Form::Json } else { Form::Text }
    }
}

impl Streams {
    /// Amount of text besides the result and errors.
    pub fn verbosity(&self) -> Verbosity {
        Verbosity::quiet_if(self.quiet)
    }
}

/// Form and place of the output.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct OutputArgs {
    #[command(flatten)]
    /// Its form.
    pub streams: Streams,
    /// File for the output; - is standard output [default: standard output]
    #[arg(long, short, value_name = "FILE", global = true)]
    pub output: Option<PathBuf>,
}

impl OutputArgs {
    /// Opens the output, before anything is read.
    pub fn open(&self) -> Result<Output, Failure> {
        Output::asked(self.output.as_deref())
    }
}

/// True for `-`, which is standard output.
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// A document of a command as text: its schema under a name of its command, the program, then its own parts.
pub fn document(command: &str, parts: Value) -> Result<String, Failure> {
    let mut root = serde_json::Map::new();
    root.insert(format!("{command}_schema"), Value::from(1));
    root.insert("program".to_owned(), Value::from(concat!("plumb ", env!("CARGO_PKG_VERSION"))));
    if let Value::Object(parts) = parts {
        root.extend(parts);
    }
    Ok(serde_json::to_string_pretty(&root)? + "\n")
}

/// Why a command has not this option, if other commands have it.
pub fn not_of_all(option: &str) -> Option<&'static str> {
    match option {
        "--no-report" => Some("only plumb survey, plumb knee and plumb capacity write a page next to their result"),
        "--stream" | "--metrics" | "--metrics-listen" | "--metrics-linger" | "--otlp" => Some(
            "only commands that do I/O, and plumb watch, have --stream, --metrics, --metrics-listen and --otlp (cluster, why: --stream)",
        ),
        "--accept" => {
            Some("only commands that do I/O, compare and gate have --accept: it is about findings on results")
        }
        "--strict" => {
            Some("only commands that do I/O, and plumb check, have --strict: it is about findings on results")
        }
        "--host" | "--no-calibrate" | "--store" | "--no-store" => {
            Some("only commands that do I/O have --host, --no-calibrate, --store and --no-store: they are of a run")
        }
        _ => None,
    }
}
