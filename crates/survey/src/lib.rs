//! What a survey is: tests times levels, and the Plan of each. Pure: from wishes to what is to be done.
//!
//! Owns the kinds of tests, their usual levels, the axes of a sweep, the survey file (TOML), the letters of fio.sh and
//! the arithmetic of a dry run. Leaves finding out about disks, running and showing to others.

#![forbid(unsafe_code)]

mod axis;
mod kind;
mod letters;
mod matrix;
mod outline;
mod own;
mod plan;
mod test;
mod untrusted;
mod wishes;
mod word;

pub use axis::Axis;
pub use kind::Kind;
pub use letters::{Letters, letters};
pub use matrix::{Suite, Writes, suite};
pub use outline::Outline;
pub use own::{OwnTest, OwnTests};
pub use plan::{Access, Layout, Nature, Target, fill_plan};
pub use test::{Pace, Test};
pub use wishes::{WarmUp, Wishes};
pub use word::{block_sizes, patience, room, seconds, short_size, size, user_counts, warm_up};
