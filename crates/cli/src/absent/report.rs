//! `plumb report` and `plumb plot` in a build without the feature `report`: every use is refused by name. Has the same
//! interface as `report/mod.rs`, so that callers do not depend on the build.

use crate::failure::Failure;
use crate::features::Feature;
use std::ffi::OsString;
use std::path::Path;

/// Make a report of results (not in this build: feature `report`)
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct ReportArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    words: Vec<OsString>,
}

/// Help text of an `--output`.
pub(crate) const DRAWN: &str = "Refused: this build draws nothing (feature `report`)";

/// Refuses the command.
pub(crate) fn run(_: &ReportArgs) -> Result<u8, Failure> {
    Feature::Report.require("plumb report").map(|()| 1)
}

/// After a survey: the line that says why there is no page.
pub(crate) fn after_survey(_result: &Path) -> String {
    Feature::Report.require("No report").err().map(|failure| format!("{}\n", failure.message())).unwrap_or_default()
}

/// Refuses charts before anything is measured.
pub(crate) fn check_output(path: &Path) -> Result<(), Failure> {
    Feature::Report.require(&path.display().to_string())
}

/// Refuses a page.
pub(crate) fn drawn(path: &Path, _page: &report::page::Page) -> Result<(), Failure> {
    check_output(path)
}

/// Refuses a drawing.
pub(crate) fn svg_of(_page: &report::page::Page) -> Result<String, Failure> {
    Feature::Report.require("-o -").map(|()| String::new())
}

/// Refuses the charts of a text.
pub(crate) fn of_text(_name: &str, _text: &[u8], path: &Path) -> Result<(), Failure> {
    check_output(path)
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
