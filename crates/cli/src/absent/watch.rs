//! `plumb watch` in a build without the feature `live`: refused by name, with a command that works in its place.

use crate::failure::Failure;
use crate::features::Feature;
use std::ffi::OsString;

/// Watch the disks live (not in this build: feature `live`; plumb iostat -x 1 prints the numbers)
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct WatchArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    words: Vec<OsString>,
}

/// Refuses the command.
pub(crate) fn run(_: &WatchArgs) -> Result<u8, Failure> {
    Feature::Live.require("plumb watch (plumb iostat -x 1 prints the same numbers)").map(|()| 1)
}
