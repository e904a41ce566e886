//! `plumb store`, `plumb history` and `plumb trend` in a build without the feature `store`: every use is refused by name. Has the
//! same interface as `store/mod.rs`, so that callers do not depend on the build.

use crate::failure::Failure;
use crate::features::Feature;
use std::ffi::OsString;
use std::path::Path;

/// Look after the store of results (not in this build: feature `store`)
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct StoreArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    words: Vec<OsString>,
}

/// Refuses the command.
pub(crate) fn run(_: &StoreArgs) -> Result<u8, Failure> {
    Feature::Store.require("plumb store").map(|()| 1)
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
