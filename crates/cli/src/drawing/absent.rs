//! Files with charts in a build without the feature `report`: every use is refused by name. Has the same interface as
//! `drawing/mod.rs`, so that callers do not depend on the build.

use crate::failure::Failure;
use crate::features::Feature;
use std::path::Path;

pub(crate) const DRAWN: &str = "Refused: this build draws nothing (feature `report`)";

/// After a survey: the line that says why there is no page.
pub(crate) fn after_survey(_result: &Path) -> String {
    Feature::Report.require("No report").err().map(|failure| format!("{}\n", failure.message())).unwrap_or_default()
}

/// Refuses charts before anything is measured.
pub(crate) fn check_output(path: &Path) -> Result<(), Failure> {
    Feature::Report.require(&path.display().to_string())
}

pub(crate) fn drawn(path: &Path, _page: &report::page::Page) -> Result<(), Failure> {
    check_output(path)
}

pub(crate) fn svg_of(_page: &report::page::Page) -> Result<String, Failure> {
    Feature::Report.require("-o -").map(|()| String::new())
}

/// Refuses the charts of a text.
pub(crate) fn of_text(_name: &str, _text: &[u8], path: &Path) -> Result<(), Failure> {
    check_output(path)
}
