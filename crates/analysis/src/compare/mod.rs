//! Comparison of two sets of results: which tests were the same, what differed around them, and how they changed.
//!
//! Owns the pairing of tests, the verdicts, and the standing of two sides that are measured in turns. Leaves reading of
//! files and display to `cli`, and the mathematics to `statistics`.

mod observation;
mod pairing;
mod rows;
mod sentences;
mod surroundings;
mod turns;

pub use observation::{Metric, Missing, Observation, RequestedWork, StatedFacts, Within, observe};
pub use pairing::{Design, Matches, RunOrder, Test, TestPair, order_of, pair};
#[cfg(test)]
pub(crate) use rows::verdict;
pub use rows::{ComparedTest, MetricRow, RowDocument, Verdict, compare, compare_usual, percent_of, share_of, table};
pub use sentences::{Summary, is_one_run_each, summary};
pub use surroundings::{Difference, FactSet, follows_another, moved_little};
pub use turns::{Goal, OrderEffect, Question, Round, Standing, TurnsError, standing, turns_progress, turns_sentences};

#[cfg(test)]
mod tests;
