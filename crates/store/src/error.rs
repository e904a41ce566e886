//! Errors of the store.

use std::path::{Path, PathBuf};

/// Reason why the store could not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database failed.
    #[error("{}: {message}", path.display())]
    Database {
        /// The store.
        path: PathBuf,
        /// The reason, and a suggestion where there is one.
        message: String,
    },
    /// Another program has locked it for longer than the patience of this one.
    #[error("{}: another program has it locked; try again when that has ended", path.display())]
    Busy {
        /// The store.
        path: PathBuf,
    },
    /// The file has other contents.
    #[error("{}: is not a store of plumb; name another file with --store or PLUMB_STORE", path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
    },
    /// A newer plumb made the file.
    #[error(
        "{}: has format {found}, and this plumb knows {known}: it is only read; use the newer plumb, or name another file with --store",
        path.display()
    )]
    Newer {
        /// The store.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The newest format that is known here.
        known: i64,
    },
    /// The tables were derived by another version of plumb.
    #[error("{}: its tables are those of another version of plumb; make them again: plumb store rebuild", path.display())]
    OtherTables {
        /// The store.
        path: PathBuf,
    },
    /// There is no such directory, and it cannot be made.
    #[error("{}: cannot be made: {why}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The reason.
        why: std::io::Error,
    },
    /// The word is not a run.
    #[error("there is no run `{word}` in {}; plumb store list shows those that there are", path.display())]
    NoRun {
        /// The word.
        word: String,
        /// The store.
        path: PathBuf,
    },
    /// The word cannot be a name.
    #[error("`{word}` cannot be the name of a run: {why}")]
    BadName {
        /// The word.
        word: String,
        /// The reason.
        why: &'static str,
    },
    /// The document is not a result.
    #[error(
        "is not a result of plumb: {why}; give the JSON of plumb survey, plumb knee, plumb iozone --json or plumb fio --result"
    )]
    NotAResult {
        /// The reason.
        why: String,
    },
    /// The kept result is not what was kept.
    #[error("{}: the result of run {id} is damaged: {why}", path.display())]
    Damaged {
        /// The run.
        id: String,
        /// The reason.
        why: String,
        /// The store.
        path: PathBuf,
    },
}

/// Explains an error of the database.
pub(crate) fn explained(path: &Path, error: &rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    let why = match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => return StoreError::NotAStore { path },
        Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => {
            return StoreError::Busy { path };
        }
        Some(rusqlite::ErrorCode::DiskFull) => "no space left; free some, or name another file with --store".to_owned(),
        Some(rusqlite::ErrorCode::ReadOnly | rusqlite::ErrorCode::PermissionDenied) => {
            "cannot be written; name another file with --store or PLUMB_STORE".to_owned()
        }
        _ => error.to_string(),
    };
    StoreError::Database { path, message: why }
}
