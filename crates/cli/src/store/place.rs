//! Where the store is: `--store`, then PLUMB_STORE, then the directory for data of the user.

use crate::failure::Failure;
use std::path::{Path, PathBuf};

/// The variable that names the store, or says `off`.
const VARIABLE: &str = "PLUMB_STORE";

/// Options of commands that measure.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct KeepArgs {
    /// Keep the result in this store [default: PLUMB_STORE, or plumb/plumb.db in the user's directory for data]
    #[arg(long, value_name = "FILE", conflicts_with = "no_store")]
    pub(super) store: Option<PathBuf>,
    /// Do not keep the result in the store
    #[arg(long)]
    pub(super) no_store: bool,
}

impl KeepArgs {
    /// The store that was named, if one was.
    pub(crate) fn in_file(store: Option<&Path>) -> Result<Self, Failure> {
        Ok(KeepArgs { store: store.map(Path::to_owned), no_store: false })
    }
}

/// When a command keeps its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeping {
    /// Unless it is asked not to: plumb's own commands.
    Unasked,
    /// Only if it is asked to: programs that plumb replaces leave no files.
    Asked,
}

/// The store of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// None: the result is not kept.
    Nowhere,
    /// Named by an option or the variable.
    Named(PathBuf),
    /// The usual one, unless that says that it keeps nothing.
    Usual(PathBuf),
}

/// Returns the place where a command keeps its result.
pub(super) fn of_command(args: &KeepArgs, keeping: Keeping) -> Place {
    if args.no_store {
        return Place::Nowhere;
    }
    if let Some(file) = &args.store {
        return Place::Named(file.clone());
    }
    match std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        Some(value) if value == "off" => Place::Nowhere,
        Some(value) => Place::Named(value.into()),
        None if keeping == Keeping::Asked => Place::Nowhere,
        None => usual().map_or(Place::Nowhere, Place::Usual),
    }
}

/// Returns the store that a command reads or changes.
pub(super) fn of_option(store: Option<&Path>) -> Result<PathBuf, Failure> {
    let of_variable = || std::env::var_os(VARIABLE).filter(|value| !value.is_empty() && value != "off");
    let found = store.map(Path::to_owned).or_else(|| of_variable().map(PathBuf::from)).or_else(usual);
    found
        .ok_or_else(|| Failure::new("neither XDG_DATA_HOME nor HOME is set; name a store: --store FILE or PLUMB_STORE"))
}

fn usual() -> Option<PathBuf> {
    // A relative directory is to be ignored (XDG Base Directory Specification).
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")))?;
    Some(data.join("plumb/plumb.db"))
}
