//! Errors of the store.

use std::path::{Path, PathBuf};

/// Reason why the store could not do what it was asked for; the paths are those of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database failed, for this reason, with a suggestion where there is one.
    #[error("{}: {}", .0.display(), .1)]
    Database(PathBuf, String),
    /// Another program has locked it for longer than the patience of this one.
    #[error("{}: another program has it locked; try again when that has ended", .0.display())]
    Busy(PathBuf),
    /// The file has other contents.
    #[error("{}: is not a store of plumb; name another file with --store or PLUMB_STORE", .0.display())]
    NotAStore(PathBuf),
    /// A newer plumb made the file: its format, and the newest that is known here.
    #[error(
        "{}: has format {}, and this plumb knows {}: it is only read; use the newer plumb, or name another file with --store",
        .0.display(),
        .1,
        .2
    )]
    Newer(PathBuf, i64, i64),
    /// The tables were derived by another version of plumb.
    #[error("{}: its tables are those of another version of plumb; make them again: plumb store rebuild", .0.display())]
    OtherTables(PathBuf),
    /// There is no such directory, and it cannot be made.
    #[error("{}: cannot be made: {}", .0.display(), .1)]
    Directory(PathBuf, std::io::Error),
    /// The word is not a run.
    #[error("there is no run `{}` in {}; plumb store list shows those that there are", .1, .0.display())]
    NoRun(PathBuf, String),
    /// The word cannot be a name.
    #[error("`{0}` cannot be the name of a run: {1}")]
    BadName(String, &'static str),
    /// The document is not a result.
    #[error(
        "is not a result of plumb: {0}; give the JSON of plumb survey, plumb knee, plumb iozone --json or plumb fio --result"
    )]
    NotAResult(String),
    /// The kept result of a run is not what was kept.
    #[error("{}: the result of run {} is damaged: {}", .0.display(), .1, .2)]
    Damaged(PathBuf, String, String),
}

/// Explains an error of the database.
pub(crate) fn explained(path: &Path, error: &rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    let why = match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => return StoreError::NotAStore(path),
        Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => {
            return StoreError::Busy(path);
        }
        Some(rusqlite::ErrorCode::DiskFull) => "no space left; free some, or name another file with --store".to_owned(),
        Some(rusqlite::ErrorCode::ReadOnly | rusqlite::ErrorCode::PermissionDenied) => {
            "cannot be written; name another file with --store or PLUMB_STORE".to_owned()
        }
        _ => error.to_string(),
    };
    StoreError::Database(path, why)
}
