//! Options of the store in a build without the feature `store`: refused by name. Has the same interface as `keep.rs`, so that
//! callers do not depend on the build.

use crate::failure::Failure;
use model::RunResult;
use std::path::{Path, PathBuf};

/// Options of commands that measure.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct KeepArgs {
    /// Refused: this build has no store
    #[arg(long, value_name = "FILE", value_parser = refused)]
    store: Option<PathBuf>,
    /// No effect: this build has no store
    #[arg(long)]
    no_store: bool,
}

impl KeepArgs {
    /// The option that was given, if one was.
    pub fn given(&self) -> Option<&'static str> {
        self.store.as_ref().map(|_| "--store").or(self.no_store.then_some("--no-store"))
    }

    /// Refuses a store that was named.
    pub fn in_file(store: Option<&Path>) -> Result<Self, Failure> {
        store.map_or(Ok(KeepArgs::default()), |_| Err(not_here()))
    }
}

fn refused(_: &str) -> Result<PathBuf, String> {
    Err(not_here().message().to_owned())
}

/// When a command keeps its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeping {
    /// Unless it is asked not to.
    Unasked,
    /// Only if it is asked to.
    Asked,
}

/// Keeps nothing.
pub fn keep_file(_path: &Path, _args: &KeepArgs, _keeping: Keeping) -> String {
    String::new()
}

/// Keeps nothing.
pub fn keep_result(_result: &RunResult, _args: &KeepArgs, _keeping: Keeping) -> String {
    String::new()
}

fn not_here() -> Failure {
    Failure::not_built("--store", "store")
}
