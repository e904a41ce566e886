//! Judgements on a result, as pure functions: is this number true, and what does it say?
//!
//! Owns the checks, the verdict on what held a run back, and the sentences of a survey. Leaves measuring to `run` and showing to `cli`.

#![forbid(unsafe_code)]

mod checks;
pub mod costs;
mod evidence;
mod identities;
mod limiter;
mod regime;
pub mod report_card;
mod samples;
mod scaling;
mod summary;
mod verdict;

pub use checks::{CHECKS, Check, Needs, grade, grade_title, is_finding, judge, unchecked};
pub use identities::{Identity, Side, Verdict, identities, sides};
pub use limiter::limited_by;
pub use regime::changes;
pub use samples::{percentile_as_fact, samples_needed};
pub use scaling::{contradiction, growth_ends, knee, queueing};
pub use summary::{Load, Point, sentences, sentences_over, thousands};
pub use verdict::{Judged, verdict};

#[cfg(test)]
mod fixtures;
