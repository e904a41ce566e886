//! Members: what leads them and what they are, whatever program their tasks are of.
//!
//! `program` says what a program of members is, and what their leader may do. Of the leader, `carrier` and `relayed`
//! carry messages, `lead` carries out what the leader decides, and `screen` shows the members. Of a member, `member`
//! serves, and `listener` reads orders and answers during a run. The crate `cluster` decides.

pub(crate) mod carrier;
pub(crate) mod lead;
pub(crate) mod listener;
pub(crate) mod member;
pub(crate) mod program;
mod relayed;
pub(crate) mod screen;

use cluster::{MemberResult, Summary};
use measure::Nanos;
use measure::text::{TimeUnit, duration};
use model::{JudgedByMembers, Origin, RunResult};
pub(crate) use relayed::{World, become_relay, world};
use std::time::Duration;

/// Silence after which a member is given up.
pub(crate) const SILENCE: Nanos = Nanos::from_secs(60);
/// How far apart the starts may be.
pub(crate) const START_WITHIN: Nanos = Nanos::from_millis(10);
/// Name and version of this program, which all members must have.
pub(crate) const PROGRAM: &str = concat!("plumb ", env!("CARGO_PKG_VERSION"));

/// The time until a moment of the monotonic clock.
pub(crate) fn until(at: Nanos, now: Nanos) -> Duration {
    at.saturating_sub(now).as_duration()
}

/// Time of CLOCK_MONOTONIC.
pub(crate) fn now() -> Nanos {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Nanos::from_secs(seconds).saturating_add(Nanos(u64::try_from(time.tv_nsec).unwrap_or_default()))
}

/// Reads the value of an option that is a time.
pub(crate) fn time(text: &str) -> Result<Nanos, String> {
    duration(text, TimeUnit::Seconds).map_err(|_| format!("`{text}` is not a time; write it like 10ms or 2s"))
}

/// Gives the result of all members the remarks of the cluster and of the members, which have judged their own results
/// by samples that it does not have.
pub(crate) fn judge(all: &mut RunResult, members: &[MemberResult], summary: &Summary) {
    all.notes = cluster::remarks(members, summary);
    let mut not_checked: Vec<String> = Vec::new();
    for id in members.iter().flat_map(|member| &member.result).flat_map(analysis::unchecked) {
        survey::push_new(&mut not_checked, id.to_owned());
    }
    all.origin = Origin::Members(JudgedByMembers { not_checked });
}
