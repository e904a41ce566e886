//! What charts draw, as plain data: every number is in base units (nanoseconds, bytes, bytes per second) or a share of 1.
//!
//! The same JSON lies in a report's page for its reader to download; docs/report.md names the fields.

mod card;
mod sweep;

pub use card::{Band, Card, Mark, Row, Scaling};
pub use sweep::{Bin, Level, Step, Sweep};
