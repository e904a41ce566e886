//! Analysis of results as pure functions: is a number valid, and what does it mean?
//!
//! Owns the checks, the verdict on the bottleneck of a run, the summary sentences of a survey, statistics of repeated results and the
//! comparison of two sets of them. Leaves measuring to
//! `run` and display to `cli`.

#![forbid(unsafe_code)]

pub mod capacity;
mod checks;
mod closed_loop;
pub mod compare;
pub mod costs;
mod findings;
mod identities;
mod judgement;
mod level;
mod limiter;
pub mod measured;
pub mod question;
pub mod regime;
pub mod report_card;
mod rounds;
mod run_facts;
mod scaling;
pub mod statistics;
mod summary;
pub mod tool_share;
pub mod units;
mod verdict;

pub use checks::{
    CHECKS, Check, Needs, advice, check, grade, grade_title, is_finding, is_of_memory, is_shown, limit_of_tester,
    unchecked,
};
pub use findings::{FindingGroup, Strictness, StrictnessError, by_check, verdict_line};
pub use identities::{Identity, Side, Verdict, identities, sides};
pub use judgement::judge;
pub use level::{AtWork, Bin, Level, Rounds, Step};
pub use limiter::{group_limits_ios, limited_by_group};
pub use model::{percentile_as_fact, samples_needed};
pub use rounds::{Difference, RateInterval, difference, interval, median_round};
pub use scaling::{contradiction, growth_ends, knee, queueing};
pub use summary::{Elsewhere, Load, Rank, best_value, sentences, sentences_over};
pub use verdict::{WorkloadGrades, verdict};

#[cfg(test)]
mod fixtures;
