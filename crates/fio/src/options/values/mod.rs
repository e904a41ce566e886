//! Option values: from the text after `=` to numbers, amounts, times and lists, with the message for each mistake.

mod lists;
mod number;
mod pattern;

pub use lists::split_escaped;
pub(crate) use lists::{Triple, block_splits, cpu_list, distribution, floats, ranges, rate_profile, skewed, triple};
pub(crate) use measure::text::evaluate;
pub(crate) use number::{Amount, UnitBase, amount, count, integer, span_of_time, time_unit};
pub(crate) use pattern::{LONGEST as LONGEST_PATTERN, pattern, pattern_with_offsets};
