//! Connections between machines that no shell and no MPI carries: sockets, the secret that protects them, what a
//! connection begins with, a member whose input and output is one, and the logs that such a member keeps until they are
//! sent.
//!
//! `plumb fio --client` and `--server` use it, `plumb cluster --lead` and `--join`, and `plumb durable`. Who may do what
//! is decided there.

pub(crate) mod greeting;
pub(crate) mod joining;
pub(crate) mod log_folders;
pub(crate) mod secret;
pub(crate) mod served_process;
pub(crate) mod socket;

use crate::failure::Failure;
use std::path::PathBuf;

/// Absolute paths of what a client or leader without trust may use.
pub(crate) fn allowed_paths(paths: impl Iterator<Item = PathBuf>) -> Result<Vec<String>, Failure> {
    let absolute = |path: PathBuf| {
        let wrong = |error| Failure::new(format!("--allow={}: {error}", path.display()));
        let path = std::fs::canonicalize(&path).map_err(wrong)?;
        path.to_str().map(str::to_owned).ok_or_else(|| Failure::at(&path, "is not UTF-8, so no job can name it"))
    };
    paths.map(absolute).collect()
}
