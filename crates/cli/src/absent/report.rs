//! `plumb report` and `plumb plot` in a build without the feature `report`: every use is refused by name. Has the same
//! interface as `report/mod.rs`, so that callers do not depend on the build.

use crate::failure::Failure;
use crate::features::Feature;
use std::ffi::OsString;

/// Make a report of results (not in this build: feature `report`)
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct ReportArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    words: Vec<OsString>,
}

/// Refuses the command.
pub(crate) fn run(_: &ReportArgs) -> Result<u8, Failure> {
    Feature::Report.require("plumb report").map(|()| 1)
}

pub(crate) mod plot {
    use super::{Failure, Feature, ReportArgs};

    /// Draw a chart of results (not in this build: feature `report`)
    #[derive(Debug, clap::Args)]
    pub(crate) struct PlotArgs {
        #[command(flatten)]
        _words: ReportArgs,
    }

    /// Refuses the command.
    pub(crate) fn run(_: &PlotArgs) -> Result<u8, Failure> {
        Feature::Report.require("plumb plot").map(|()| 1)
    }
}
