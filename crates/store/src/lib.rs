//! The store: the results of all runs in one SQLite file, and the history of each series of equal tests.
//!
//! Owns the file with its tables, the series that a test belongs to, and the facts about the surroundings of a run.
//! Leaves statistics to `analysis`; where the file is, and what is printed, to `cli`. It is the only crate that names
//! rusqlite.
//!
//! A result is kept whole, packed, as it was written; all else in the file is derived from it and can be made again:
//! [`Store::rebuild`].

#![forbid(unsafe_code)]

mod derive;
mod document;
mod error;
mod facts;
mod history;
mod packed;
mod redact;
mod runs;
mod schema;
#[cfg(test)]
mod tests;

pub use document::{Document, TestResult};
pub use error::StoreError;
pub use facts::{Change, changes};
pub use history::{Decision, Point, Series};
pub use redact::{redacted, redacted_text};
pub use runs::{AddedRun, Checked, Rebuilt, RunLine};
pub use schema::Store;
