//! Analysis of results as pure functions: is a number valid, and what does it mean?
//!
//! Owns the checks, the verdict on the bottleneck of a run, the summary sentences of a survey, statistics of repeated
//! results and the comparison of two sets of them. Leaves measuring to `run` and display to `cli`.

#![forbid(unsafe_code)]

pub mod capacity;
mod checks;
mod closed_loop;
pub mod compare;
pub mod costs;
pub mod durability;
pub mod fidelity;
mod findings;
mod identities;
mod level;
mod limiter;
pub mod measured;
mod not_storage;
pub mod parts;
pub mod question;
pub mod regime;
pub mod report_card;
mod run_facts;
pub mod statistics;
mod summary;
pub mod tool_share;
pub mod units;

#[cfg(test)]
mod fixtures;

pub use checks::{
    CHECKS, Check, Needs, advice, check, check_iozone_row, grade, grade_title, is_finding, is_shown, mark, unchecked,
};
pub use findings::{
    FindingGroup, Strictness, StrictnessError, by_check, check_named, check_word, check_words, verdict_line,
};
pub use identities::{Identity, Side, Verdict, identities, sides};
pub use level::{
    AtWork, Bin, Difference, Level, RateInterval, Rounds, Step, contradiction, difference, growth_ends, has_stalled,
    interval, knee, median_round, queueing,
};
pub use limiter::parts::limited_by_part;
pub use limiter::{group_limits_ios, limited_by_group};
use model::RunResult;
pub use model::{percentile_as_fact, samples_needed};
pub use not_storage::{Cause, NotStorage, denies_storage, disturbed, not_storage};
pub use report_card::{WorkloadGrades, verdict};
pub use summary::{Elsewhere, Load, Rank, best_system, best_value, no_answer, sentences, sentences_over};

/// Runs the checks on a result, and determines its limiting resource and its phases. All are stored in the result, and
/// so in its JSON. A limit and phases that the run itself found stay if its samples are not in the result.
///
/// ```
/// let mut result = model::RunResult::default();
/// analysis::judge(&mut result);
/// assert_eq!((result.limited_by, result.lasting), (None, None));
/// ```
pub fn judge(result: &mut RunResult) {
    if !result.is_judged() {
        result.limited_by = limiter::limited_by(result);
    }
    regime::describe(result);
    result.notes = checks::check(result);
}
