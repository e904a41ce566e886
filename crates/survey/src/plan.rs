//! Tests as Plans: fio's words for what is swept, and regions that no two sequential users share.

use crate::kind::Kind;
use crate::test::{Pace, Test};
use crate::word::short_size;
use job::plan::{Allocate, BlockSize, Extent, FilePlan, Generator, JobPlan, LoadPlan, Mix};
use job::{Action, Parser, Plan, Surroundings, Work};
use measure::{Direction, PerDirection};
use std::path::PathBuf;

const MIB: u32 = 1 << 20;

/// Where a survey measures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The work files, or the devices.
    pub paths: Vec<PathBuf>,
    /// Bytes that are used of each.
    pub size: u64,
    /// O_DIRECT, or through the page cache.
    pub access: Access,
    /// What it is, and so what may be done to it.
    pub nature: Nature,
    /// Who uses which path.
    pub layout: Layout,
    /// O_DIRECT takes multiples of so many bytes.
    pub direct_multiple: u32,
}

/// With or without the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// O_DIRECT: past the page cache.
    Direct,
    /// Through the page cache, which is dropped before each test.
    Buffered,
}

/// What a survey measures on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// Files that the survey made.
    WorkFile,
    /// A file with data of others: read only.
    ForeignFile,
    /// Block devices.
    Device,
}

/// Who uses which path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// All users use all paths, each path alike.
    Shared,
    /// Each user has a path of its own.
    PerUser,
}

impl Target {
    /// All bytes together.
    pub fn total(&self) -> u64 {
        self.size.saturating_mul(self.paths.len() as u64)
    }
}

/// The part of each path that one user works on, and how far the next user's lies behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Region {
    size: u64,
    step: u64,
}

impl Test {
    /// What must be true of the target; why not, and what would work.
    ///
    /// # Errors
    /// When the target has no room for the users' regions, or O_DIRECT no such blocks.
    pub fn check(&self, target: &Target) -> Result<(), String> {
        let block = u64::from(self.block);
        let shared = self.set.unwrap_or(target.size).min(target.size);
        if self.set.is_some_and(|set| set > target.total()) {
            let total = short_size(target.total());
            return Err(format!("{}: the target has only {total}; give it a larger --size", self.describe()));
        }
        let sharers = match (target.layout, self.kind.is_random()) {
            (Layout::Shared, false) => u64::from(self.users),
            _ => 1,
        };
        let needed = block.saturating_mul(sharers);
        if needed > shared {
            let needed = short_size(needed.next_multiple_of(u64::from(MIB)));
            return Err(format!("{}: needs a --size of {needed} and more", self.describe()));
        }
        let through_cache = self.goes_through_cache(target);
        if target.access == Access::Direct && !through_cache && !self.block.is_multiple_of(target.direct_multiple) {
            return Err(format!(
                "{}: O_DIRECT takes multiples of {} bytes here; leave the size out, or measure with --buffered",
                self.describe(),
                target.direct_multiple
            ));
        }
        Ok(())
    }

    /// Whether log writes that are smaller than what O_DIRECT takes go through the page cache, which O_DSYNC empties.
    pub fn goes_through_cache(&self, target: &Target) -> bool {
        self.kind == Kind::LogWrite && !self.block.is_multiple_of(target.direct_multiple)
    }

    fn region(&self, target: &Target) -> Region {
        let paths = target.paths.len() as u64;
        let block = u64::from(self.block);
        let share = |whole: u64, parts: u64| (whole / parts.max(1) / block).max(1) * block;
        match (target.layout, self.set) {
            (Layout::PerUser, set) => {
                let users = u64::from(self.users);
                Region { size: set.map_or(target.size, |set| share(set, users).min(target.size)), step: 0 }
            }
            (Layout::Shared, set) => {
                // Random users share the whole; sequential ones get a part each, so that none rereads another's blocks.
                let whole = set.map_or(target.size, |set| share(set, paths).min(target.size));
                if self.kind.is_random() {
                    return Region { size: whole, step: 0 };
                }
                let part = share(whole, u64::from(self.users));
                Region { size: part, step: part }
            }
        }
    }

    /// fio's words for this test: what `plumb fio` would be given, but for the names of the files.
    pub fn words(&self, target: &Target, pace: Pace, engine: &str) -> Vec<(String, String)> {
        let region = self.region(target);
        let files = if target.layout == Layout::Shared { target.paths.len() as u64 } else { 1 };
        let direct = target.access == Access::Direct && !self.goes_through_cache(target);
        let clones = if target.layout == Layout::Shared { self.users } else { 1 };
        let mut words: Vec<(String, String)> =
            self.kind.words().iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let mut add = |name: &str, value: String| words.push((name.to_owned(), value));
        add("ioengine", engine.to_owned());
        add("bs", self.block.to_string());
        add("numjobs", clones.to_string());
        add("size", (region.size * files).to_string());
        add("offset_increment", region.step.to_string());
        add("direct", u8::from(direct).to_string());
        add("time_based", "1".into());
        add("runtime", format!("{}us", pace.time.get() / 1000));
        if pace.ramp.get() > 0 {
            add("ramp_time", format!("{}us", pace.ramp.get() / 1000));
        }
        // A fresh seed each time, and no map: no cache below may know the order of a previous survey.
        add("randrepeat", "0".into());
        add("norandommap", "1".into());
        add("random_generator", "tausworthe64".into());
        add("group_reporting", "1".into());
        add("fallocate", "none".into());
        add("create_fsync", "0".into());
        add("allow_file_create", "0".into());
        words.extend(self.extras.iter().cloned());
        words
    }

    /// The Plan of this test on `target`.
    ///
    /// # Errors
    /// When a swept option or the engine is not known, refused, or does not take its value.
    pub fn plan(
        &self,
        target: &Target,
        pace: Pace,
        engine: &str,
        parser: &Parser,
        surroundings: &Surroundings<'_>,
    ) -> Result<Plan, String> {
        self.check(target)?;
        let mut line = vec![format!("--name={}", self.kind.id()), "--filename=target".to_owned()];
        line.extend(self.words(target, pace, engine).into_iter().map(|(name, value)| format!("--{name}={value}")));
        let told = |error: &dyn std::fmt::Display| format!("{}: {error}", self.describe());
        let invocation = parser.command_line(&line, surroundings).map_err(|error| told(&error))?;
        let Action::Run(mut plan) = invocation.action else {
            return Err(told(&"nothing to run"));
        };
        if let Some(job) = plan.jobs.first() {
            self.must_hold(&plan, job)?;
        }
        plan.jobs.iter_mut().for_each(|job| stamp(job, target));
        if target.layout == Layout::PerUser {
            plan.jobs = spread(&plan.jobs, target, self.users);
        }
        Ok(plan)
    }

    /// Nothing of a sweep may turn a test into another one.
    fn must_hold(&self, plan: &Plan, job: &JobPlan) -> Result<(), String> {
        if let Some(what) = does_otherwise(job.work) {
            return Err(format!(
                "{}: the engine {} {what}; a survey's engine moves the data of its target: name one like psync, libaio or \
                 io_uring",
                self.describe(),
                job.engine
            ));
        }
        let (asked, used) = (plan.asked_depth(job), job.depth.depth);
        if asked > used {
            return Err(format!(
                "{}: the engine {} keeps {used} I/O in flight; name one that takes more with --engine libaio or io_uring",
                self.describe(),
                job.engine
            ));
        }
        let mix = match self.kind.directions() {
            [only] => Mix::Only(*only),
            _ => Mix::ReadWrite,
        };
        if job.load.mix != mix {
            return Err(format!("{}: an option of the sweep changes which way the data goes", self.describe()));
        }
        Ok(())
    }
}

/// What an engine does that would not measure the target, or harm it. One that only pretends shows what the tester costs.
fn does_otherwise(work: Work) -> Option<&'static str> {
    match work {
        Work::Data | Work::Pretence => None,
        Work::Stream => Some("sends data to a peer or takes it from one"),
        Work::Space => Some("reserves, cuts or moves the space of files"),
        Work::Names => Some("makes, looks up or removes names of files"),
        Work::Company => Some("does no I/O"),
    }
}

/// What a survey's jobs have, whatever the words say.
fn stamp(job: &mut JobPlan, target: &Target) {
    job.origin = "survey".to_owned();
    job.files.names.clone_from(&target.paths);
    job.record.completion_percentiles = false;
    job.record.total_percentiles = true;
    job.record.percentiles = vec![50.0, 95.0, 99.0, 99.9];
    job.record.percentile_digits = 1;
    // What the words hold in place of a name is nobody's.
    job.written.retain(|(name, _)| name != "filename");
}

/// A job for each user, with its own file.
fn spread(jobs: &[JobPlan], target: &Target, users: u32) -> Vec<JobPlan> {
    let Some(first) = jobs.first() else { return Vec::new() };
    let own = target.paths.iter().take(users as usize);
    own.map(|path| {
        let mut job = first.clone();
        job.files.names = vec![path.clone()];
        job
    })
    .collect()
}

/// The Plan that writes every byte of the target once, in order, with random data.
pub fn fill_plan(target: &Target) -> Plan {
    let mut job = JobPlan::with_defaults("fill", "survey", "psync");
    job.files = FilePlan {
        names: target.paths.clone(),
        direct: target.access == Access::Direct,
        size: Some(Extent::Bytes(target.total())),
        // A work file has its full size and its space before it is filled.
        allocate: Allocate::None,
        create_fsync: false,
        may_create: false,
        ..FilePlan::default()
    };
    job.load = LoadPlan {
        mix: Mix::Only(Direction::Write),
        block_size: PerDirection::all(BlockSize::Fixed(MIB)),
        end_fsync: true,
        cover_all: false,
        generator: Generator::Tausworthe64,
        seed: None,
        repeat_per_loop: false,
        ..LoadPlan::default()
    };
    job.buffers.refill = true;
    Plan { jobs: vec![job], global_options: Vec::new() }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
