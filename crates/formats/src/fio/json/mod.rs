//! fio's JSON output: the writer and the reader.
//!
//! Owns key names, their order and their units. Strings are escaped, which fio itself does not do.

mod clients;
mod own;
mod read;
mod steer;
mod write;

pub(crate) use clients::of_clients;
pub(crate) use read::Reader;
pub use read::{last_document, read};
pub(crate) use write::Detail;
pub use write::{write, write_in_full, write_with_bins};
