//! Surveys: tests at several load levels, the Plan of each, and the target on which they run.
//!
//! Owns the types of tests, their default levels, the axes of a sweep, the survey file (TOML), the options of fio.sh
//! and the estimate of a dry run. Identifies the target, decides if it may be written to, and creates, marks and
//! removes its work file. Decides which test is next, when a rate is steady, and what the results say. Leaves running
//! tests and showing results to others.
//!
//! ```
//! use survey::{SurveyRequest, Writes, suite};
//!
//! // Random reads at three user counts, twice, on a target that must not be written to.
//! let request = SurveyRequest::from_toml("tests = ['randread']\nusers = '1,2,4'\nrepeat = 2")?;
//! let suite = suite(&request, Writes::Forbidden)?;
//! assert_eq!(suite.tests.len(), 6);
//! assert_eq!(suite.tests[0].describe(), "8k rand read, 1 user");
//! # Ok::<(), survey::SurveyError>(())
//! ```

#![forbid(unsafe_code)]

mod axis;
mod conclusions;
mod custom_tests;
mod error;
mod fio_sh_options;
mod growth;
mod job_plans;
mod kind;
#[cfg(test)]
mod no_files;
mod open_loop;
mod parse_values;
mod preconditioning;
mod preparation;
mod profile;
mod request;
mod suite;
mod target;
mod test;
mod work_file;

pub use axis::Axis;
pub use conclusions::spread;
pub use custom_tests::{CustomTest, CustomTests};
pub use error::SurveyError;
pub use fio_sh_options::{FioShOptions, fio_sh_usage, fio_sh_written_options};
pub use growth::{Knee, doubling};
pub use job_plans::{Access, CostReads, Layout, ReadWay, Setup, SurveyTarget, TargetKind, rounds_plan};
pub use kind::TestKind;
pub use measure::push_new;
pub use open_loop::{Arrivals, OPEN_LOOP_ENGINES, OpenLoad, OpenRun, Sending, added_option};
pub use parse_values::{block_sizes, patience, room, seconds, short_size, size, user_counts, warm_up};
pub use preconditioning::{Precondition, PreconditionResult, Rounds, Steadiness};
pub use preparation::{Preparation, Reach};
pub use profile::{PROFILES, Profile, ProfileRule, ProfileTest, SentenceNumber, profiles_like};
pub use request::{SurveyRequest, WarmUp};
pub use suite::{Suite, Writes, suite};
pub use target::{FoundTarget, OpenTarget, check_unused, consented_writes, own_words};
pub use test::{Estimate, FinishedTest, SurveyTest, TestTime};
pub use work_file::WorkFile;
