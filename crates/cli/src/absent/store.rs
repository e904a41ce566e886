//! `plumb store`, `plumb history` and `plumb trend` in a build without the feature `store`: every use is refused by name. Has the
//! same interface as `store/mod.rs`, so that callers do not depend on the build.

use crate::failure::Failure;
use crate::features::Feature;
use model::RunResult;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Look after the store of results (not in this build: feature `store`)
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct StoreArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    words: Vec<OsString>,
}

/// Options of commands that measure.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct KeepArgs {
    /// Refused: this build has no store
    #[arg(long, value_name = "FILE", value_parser = refused)]
    store: Option<PathBuf>,
    /// No effect: this build has no store
    #[arg(long)]
    no_store: bool,
}

impl KeepArgs {
    /// Refuses a store that was named.
    pub(crate) fn in_file(store: Option<&Path>) -> Result<Self, Failure> {
        store.map_or(Ok(()), |_| Feature::Store.require("--store")).map(|()| KeepArgs::default())
    }
}

fn refused(_: &str) -> Result<PathBuf, String> {
    Feature::Store.require("--store").map(|()| PathBuf::new()).map_err(|failure| failure.message().to_owned())
}

/// When a command keeps its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeping {
    /// Unless it is asked not to.
    Unasked,
    /// Only if it is asked to.
    Asked,
}

/// Refuses the command.
pub(crate) fn run(_: &StoreArgs) -> Result<u8, Failure> {
    Feature::Store.require("plumb store").map(|()| 1)
}

/// Keeps nothing.
pub(crate) fn keep_file(_path: &Path, _args: &KeepArgs, _keeping: Keeping) -> String {
    String::new()
}

/// Keeps nothing.
pub(crate) fn keep_result(_result: &RunResult, _args: &KeepArgs, _keeping: Keeping) -> String {
    String::new()
}

/// Finds nothing.
pub(crate) fn stored(_word: &Path) -> Result<Option<Vec<u8>>, Failure> {
    Ok(None)
}

pub(crate) mod history {
    use super::{Failure, Feature, StoreArgs};

    /// Show earlier runs of the same test (not in this build: feature `store`)
    #[derive(Debug, clap::Args)]
    pub(crate) struct HistoryArgs {
        #[command(flatten)]
        _words: StoreArgs,
    }

    /// Refuses the command.
    pub(crate) fn run(_: &HistoryArgs) -> Result<u8, Failure> {
        Feature::Store.require("plumb history").map(|()| 1)
    }
}

pub(crate) mod trend {
    use super::{Failure, Feature, StoreArgs};

    /// Show since when a test is faster or slower (not in this build: feature `store`)
    #[derive(Debug, clap::Args)]
    pub(crate) struct TrendArgs {
        #[command(flatten)]
        _words: StoreArgs,
    }

    /// Refuses the command.
    pub(crate) fn run(_: &TrendArgs) -> Result<u8, Failure> {
        Feature::Store.require("plumb trend").map(|()| 1)
    }
}
