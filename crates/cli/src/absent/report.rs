//! `plumb report` and `plumb plot` in a build without the feature `report`: every use is refused by name. Has the same
//! interface as `report/mod.rs`, so that callers do not depend on the build.

use crate::failure::Failure;
use crate::features::Feature;
use std::ffi::OsString;
use std::path::Path;

/// Make a report of results (not in this build: feature `report`)
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    words: Vec<OsString>,
}

/// Refuses the command.
pub(crate) fn run(_: &Args) -> Result<u8, Failure> {
    refuse("plumb report").map(|()| 1)
}

/// After a survey: the line that says why there is no page.
pub(crate) fn after_survey(_result: &Path) -> String {
    refuse("No report").err().map(|failure| format!("{}\n", failure.message())).unwrap_or_default()
}

/// Refuses charts before anything is measured.
pub(crate) fn place_for(path: &Path) -> Result<(), Failure> {
    refuse(&path.display().to_string())
}

/// Refuses the charts of a text.
pub(crate) fn of_text(_name: &str, _text: &[u8], path: &Path) -> Result<(), Failure> {
    place_for(path)
}

fn refuse(what: &str) -> Result<(), Failure> {
    Feature::Report.require(what)
}

/// `plumb plot`.
pub(crate) mod plot {
    use super::{Failure, OsString, refuse};

    /// Draw a picture of results (not in this build: feature `report`)
    #[derive(Debug, clap::Args)]
    #[command(disable_help_flag = true)]
    pub(crate) struct Args {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        words: Vec<OsString>,
    }

    /// Refuses the command.
    pub(crate) fn run(_: &Args) -> Result<u8, Failure> {
        refuse("plumb plot").map(|()| 1)
    }
}
