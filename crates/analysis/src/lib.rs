//! Judgements on a result, as pure functions: is this number true, and what does it say?
//!
//! Owns the checks, the verdict on what held a run back, and the sentences of a survey. Leaves measuring to `run` and showing to `cli`.

#![forbid(unsafe_code)]

mod checks;
mod evidence;
mod limiter;
pub mod report_card;
mod samples;
mod summary;

pub use checks::{CHECKS, Check, grade, judge};
pub use limiter::limited_by;
pub use samples::{percentile_as_fact, samples_needed};
pub use summary::{Point, sentences, thousands};

#[cfg(test)]
mod fixtures;
