//! What of acknowledged writes is there after a power cut: the records that are written, the acknowledgements that a
//! witness keeps, and the judgement of what was read back.
//!
//! Writes, sends and reads nothing: `plumb durable` does.

mod judge;
mod log;
#[cfg(test)]
mod simulated;
mod ways;

pub use judge::{Answer, Cut, Kept, Loss, Lost, Survivors, answer, kept};
pub use log::{Acknowledged, Acknowledgements, Line, SCHEMA, Started, acknowledgement, line};
pub use ways::{Place, Promise, RECORD, SLOTS, Shape, WAYS, Way, fill, is_record};
