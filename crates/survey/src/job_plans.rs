//! Tests → Plans: literals for the options that a survey fixes, with the swept options applied by fio's parser.
//!
//! Sequential users have separate regions of a path, so that none reads data that another just brought into a cache.

use crate::error::SurveyError;
use crate::kind::TestKind;
use crate::parse_values::short_size;
use crate::test::{SurveyTest, TestTime};
use fio::{Parser, Surroundings};
use measure::{Direction, Nanos, PerDirection};
use plan::{
    Allocate, BlockSize, Extent, FilePlan, Generator, JobPlan, Limits, LoadPlan, Mix, Plan, RecordPlan, SyncMode, Work,
    ZonePlan, Zoned,
};
use std::fmt::Display;
use std::path::{Path, PathBuf};

const MIB: u32 = 1 << 20;

/// Target of a survey.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SurveyTarget {
    /// Paths of the work files or devices.
    pub paths: Vec<PathBuf>,
    /// Bytes used of each path.
    pub size: u64,
    /// Direct or buffered I/O.
    pub access: Access,
    /// Type of the target, which decides the allowed operations.
    pub kind: TargetKind,
    /// Assignment of paths to users.
    pub layout: Layout,
    /// Alignment that O_DIRECT requires, in bytes.
    pub direct_multiple: u32,
    /// Size of the zones of a zoned device that is written; `None` for any other target.
    pub zone: Option<u64>,
}

/// Direct or buffered I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// O_DIRECT: bypasses the page cache.
    Direct,
    /// Through the page cache, which is dropped before each test.
    Buffered,
}

/// Type of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// Files created by the survey.
    WorkFile,
    /// An existing file with user data: read only.
    ForeignFile,
    /// Block devices.
    Device,
}

/// Assignment of paths to users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// All users use all paths equally.
    Shared,
    /// Each user has a separate path.
    PerUser,
}

impl SurveyTarget {
    /// Total bytes over all paths.
    pub fn total(&self) -> u64 {
        self.size.saturating_mul(self.paths.len() as u64)
    }

    /// Zones in which jobs work on it.
    fn zones(&self) -> ZonePlan {
        self.zone.map_or(ZonePlan::None, |_| ZonePlan::Zoned(Zoned::default()))
    }
}

/// Values that all tests of a survey share.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The target.
    pub target: &'a SurveyTarget,
    /// Times of a test.
    pub time: TestTime,
    /// The I/O engine.
    pub engine: &'a str,
}

/// The region of each path used by the first user, and the distance to the next user's region, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Region {
    size: u64,
    step: u64,
}

impl SurveyTest {
    /// Checks that the target has room for the users' regions and that the block size is aligned for O_DIRECT.
    ///
    /// # Errors
    /// The target is too small for the users' regions, or the block size is not aligned.
    pub fn check(&self, target: &SurveyTarget) -> Result<(), SurveyError> {
        let block = u64::from(self.block);
        let shared = self.set.unwrap_or(target.size).min(target.size);
        if self.set.is_some_and(|set| set > target.total()) {
            let total = short_size(target.total());
            return Err(self.error(format!("the target has only {total}; give it a larger --size")));
        }
        let sharers = match (target.layout, self.kind.is_random()) {
            (Layout::Shared, false) => u64::from(self.users),
            _ => 1,
        };
        let needed = target.zone.unwrap_or(block).saturating_mul(sharers);
        if needed > shared {
            let needed = short_size(needed.next_multiple_of(u64::from(MIB)));
            return Err(self.error(format!("needs a --size of {needed} and more")));
        }
        let through_cache = self.goes_through_cache(target);
        if target.access == Access::Direct && !through_cache && !self.block.is_multiple_of(target.direct_multiple) {
            let buffered = if target.zone.is_some() { "" } else { ", or measure with --buffered" };
            let multiple = target.direct_multiple;
            return Err(
                self.error(format!("O_DIRECT takes multiples of {multiple} bytes here; leave the size out{buffered}"))
            );
        }
        Ok(())
    }

    /// True if log writes are too small for O_DIRECT: they go through the page cache, and O_DSYNC to the device. Zones
    /// are not written that way.
    pub fn goes_through_cache(&self, target: &SurveyTarget) -> bool {
        let is_small = !self.block.is_multiple_of(target.direct_multiple);
        self.kind == TestKind::LogWrite && is_small && target.zone.is_none()
    }

    fn region(&self, target: &SurveyTarget) -> Region {
        let paths = target.paths.len() as u64;
        let unit = target.zone.unwrap_or(u64::from(self.block));
        let share = |whole: u64, parts: u64| (whole / parts.max(1) / unit).max(1) * unit;
        match (target.layout, self.set) {
            (Layout::PerUser, set) => {
                let users = u64::from(self.users);
                Region { size: set.map_or(target.size, |set| share(set, users).min(target.size)), step: 0 }
            }
            (Layout::Shared, set) => {
                // Random users share the whole range; sequential users get parts, so that none rereads another's block.
                let whole = set.map_or(target.size, |set| share(set, paths).min(target.size));
                // Users that write to zones share them: more users than zones that may be open could not write at all.
                if self.kind.is_random() || (target.zone.is_some() && self.kind.writes()) {
                    return Region { size: whole, step: 0 };
                }
                let part = share(whole, u64::from(self.users));
                Region { size: part, step: part }
            }
        }
    }

    fn uses_direct(&self, target: &SurveyTarget) -> bool {
        target.access == Access::Direct && !self.goes_through_cache(target)
    }

    /// Number of workers of the job; with a file per user there is one job per user instead.
    fn clones(&self, target: &SurveyTarget) -> u32 {
        if target.layout == Layout::Shared { self.users } else { 1 }
    }

    /// Total bytes of all files of a job, as in fio's `size`.
    fn job_size(&self, target: &SurveyTarget) -> u64 {
        let files = if target.layout == Layout::Shared { target.paths.len() as u64 } else { 1 };
        self.region(target).size * files
    }

    /// Options that repeat this test with `plumb fio`, without the names of its files.
    pub fn options(&self, setup: Setup<'_>) -> Vec<(String, String)> {
        let mut options = self.fixed_options(setup);
        options.extend(self.extras.iter().cloned());
        options
    }

    /// The settings of [`SurveyTest::literal`] as fio options.
    fn fixed_options(&self, Setup { target, time, engine }: Setup<'_>) -> Vec<(String, String)> {
        let mut options: Vec<(String, String)> =
            self.kind.options().iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let mut add = |name: &str, value: String| options.push((name.to_owned(), value));
        add("ioengine", engine.to_owned());
        add("bs", self.block.to_string());
        add("numjobs", self.clones(target).to_string());
        add("size", self.job_size(target).to_string());
        add("offset_increment", self.region(target).step.to_string());
        add("direct", u8::from(self.uses_direct(target)).to_string());
        add("time_based", "1".into());
        add("runtime", format!("{}us", time.time.get() / 1000));
        if time.ramp.get() > 0 {
            add("ramp_time", format!("{}us", time.ramp.get() / 1000));
        }
        add("randrepeat", "0".into());
        add("norandommap", "1".into());
        add("random_generator", "tausworthe64".into());
        add("group_reporting", "1".into());
        add("fallocate", "none".into());
        add("create_fsync", "0".into());
        add("allow_file_create", "0".into());
        if target.zone.is_some() {
            add("zonemode", "zbd".into());
        }
        options
    }

    /// The job before swept options are applied.
    fn literal(&self, Setup { target, time, .. }: Setup<'_>) -> JobPlan {
        let mix = self.kind.mix();
        let mut job = JobPlan::with_defaults(self.kind.id(), "survey", plan::DEFAULT_ENGINE);
        job.clones = self.clones(target);
        job.limits = Limits {
            runtime: Some(time.time),
            time_based: true,
            ramp: time.ramp,
            error_dump: true,
            ..Limits::default()
        };
        job.files = FilePlan {
            names: target.paths.clone(),
            size: Some(Extent::Bytes(self.job_size(target))),
            offset_increment: Extent::Bytes(self.region(target).step),
            direct: self.uses_direct(target),
            sync: if self.kind == TestKind::LogWrite { SyncMode::DataSync } else { SyncMode::None },
            allocate: Allocate::None,
            overwrite: mix.contains(Direction::Read),
            create_fsync: false,
            may_create: false,
            ..FilePlan::default()
        };
        job.load = LoadPlan {
            mix,
            random: self.kind.is_random(),
            read_percent: if self.kind.is_mixed() { SurveyTest::USUAL_READS } else { LoadPlan::default().read_percent },
            block_size: PerDirection::all(BlockSize::Fixed(self.block)),
            end_fsync: self.kind.writes() && self.kind != TestKind::LogWrite,
            // A new seed each time and no random map: no cache below may benefit from the order of an earlier survey.
            seed: None,
            repeat_per_loop: false,
            cover_all: false,
            generator: Generator::Tausworthe64,
            zones: target.zones(),
            ..LoadPlan::default()
        };
        job.record = RecordPlan {
            group_reporting: true,
            completion_percentiles: false,
            total_percentiles: true,
            // The table prints a percentile only if there are enough I/Os for it.
            percentiles: Vec::new(),
            percentile_digits: 1,
            ..RecordPlan::default()
        };
        job
    }

    /// Builds the Plan of this test.
    ///
    /// # Errors
    /// The target is too small, an option or the engine is unknown or rejected, or the engine moves no data of it.
    pub fn plan(
        &self,
        setup: Setup<'_>,
        parser: &Parser,
        surroundings: &Surroundings<'_>,
    ) -> Result<Plan, SurveyError> {
        let Setup { target, engine, .. } = setup;
        self.check(target)?;
        let mut options = vec![("ioengine".to_owned(), engine.to_owned())];
        options.extend(self.extras.iter().cloned());
        let mut job =
            parser.apply(&self.literal(setup), &options, surroundings).map_err(|error| self.error(error.mistakes()))?;
        // The options echoed in JSON describe the whole test, in the order of a job file that repeats it.
        let mut written = vec![("name".to_owned(), self.kind.id().to_owned())];
        written.extend(self.fixed_options(setup));
        written.extend(job.written.drain(..).skip(1));
        job.written = written;
        let mut plan = Plan { jobs: vec![job], global_options: Vec::new() };
        self.check_swept(&plan)?;
        if target.layout == Layout::PerUser {
            plan.jobs = job_per_user(&plan.jobs, target, self.users);
        }
        Ok(plan)
    }

    /// Rejects a sweep with which the test would measure something other than its row in the table says.
    fn check_swept(&self, plan: &Plan) -> Result<(), SurveyError> {
        let Some(job) = plan.jobs.first() else { return Ok(()) };
        if let Some(what) = unsuitable(job.work) {
            return Err(self.error(format!(
                "the engine {} {what}; a survey's engine moves the data of its target: name one like psync, libaio or \
                 io_uring",
                job.engine
            )));
        }
        let (asked, used) = (job.depth.asked(), job.depth.depth);
        if asked > used {
            return Err(self.error(format!(
                "the engine {} keeps {used} I/O in flight; name one that takes more with --engine libaio or io_uring",
                job.engine
            )));
        }
        if job.load.mix != self.kind.mix() {
            return Err(self.error("an option of the sweep changes which way the data goes".to_owned()));
        }
        Ok(())
    }

    fn error(&self, why: impl Display) -> SurveyError {
        SurveyError(format!("{}: {why}", self.describe()))
    }
}

/// Why an engine of this type cannot measure the target, or harms it. Null engines may: they measure plumb.
fn unsuitable(work: Work) -> Option<&'static str> {
    match work {
        Work::Data | Work::Null => None,
        Work::Stream => Some("sends data to a peer or takes it from one"),
        Work::Allocation => Some("reserves, cuts or moves the space of files"),
        Work::Metadata => Some("makes, looks up or removes names of files"),
        Work::Background => Some("does no I/O"),
    }
}

/// Makes one job per user, each with a separate file.
fn job_per_user(jobs: &[JobPlan], target: &SurveyTarget, users: u32) -> Vec<JobPlan> {
    let Some(first) = jobs.first() else { return Vec::new() };
    let own = target.paths.iter().take(users as usize);
    own.map(|path| {
        let mut job = first.clone();
        job.files.names = vec![path.clone()];
        job
    })
    .collect()
}

/// Plan that writes every byte of the target once, sequentially, with random data.
pub(crate) fn fill_plan(target: &SurveyTarget) -> Plan {
    let mut job = JobPlan::with_defaults("fill", "survey", plan::DEFAULT_ENGINE);
    job.files = FilePlan {
        names: target.paths.clone(),
        direct: target.access == Access::Direct,
        size: Some(Extent::Bytes(target.total())),
        // The work file already has its full size and its reserved space.
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
        zones: target.zones(),
        generator: Generator::Tausworthe64,
        seed: None,
        repeat_per_loop: false,
        ..LoadPlan::default()
    };
    job.buffers.refill = true;
    Plan { jobs: vec![job], global_options: Vec::new() }
}

/// Plan of the writes of `--precondition=steady`: for this time, over and over again, without a pause between rounds.
/// They are random if a test writes at random, with its block size, otherwise sequential.
pub fn rounds_plan(target: &SurveyTarget, tests: &[SurveyTest], longest: Nanos) -> Plan {
    /// Concurrent writers of random blocks.
    const WRITERS: u32 = 8;
    /// Bytes after which buffered writes are flushed, so that their rate is that of the disk.
    const FLUSHED: u64 = 16 << 20;
    let random = tests.iter().find(|test| test.kind.writes() && test.kind.is_random());
    let block = random.map_or(MIB, |test| test.block);
    let mut plan = fill_plan(target);
    for job in &mut plan.jobs {
        job.name = "precondition".to_owned();
        job.limits = Limits { runtime: Some(longest), time_based: true, ..Limits::default() };
        job.load.block_size = PerDirection::all(BlockSize::Fixed(block));
        if random.is_some() {
            (job.load.random, job.clones) = (true, WRITERS);
        }
        if target.access == Access::Buffered {
            job.load.fdatasync_every = (FLUSHED / u64::from(block.max(1))).max(1);
        }
    }
    plan
}

// Plans of `plumb model --run`: reads of one size, from the device or from memory.

/// Reads of one measurement.
#[derive(Clone, Debug)]
pub struct CostReads {
    /// Name of the job.
    pub name: String,
    /// Bytes of a read.
    pub block: u64,
    /// At least 1; with several, each is a worker.
    pub users: u32,
    /// In milliseconds; `None` for one pass over the target.
    pub time: Option<u64>,
    /// Their order, and what they find in memory.
    pub way: ReadWay,
}

/// Order of the reads, and what they find in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadWay {
    /// At random, with O_DIRECT.
    Device,
    /// In order, from an empty page cache.
    Cold,
    /// In order, from the page cache as it is.
    Cached,
}

impl CostReads {
    /// The Plan of the options that it states.
    pub fn plan(&self, path: &Path, size: u64) -> Plan {
        let mut job = JobPlan::with_defaults(&self.name, "model", plan::DEFAULT_ENGINE);
        let is_direct = self.way == ReadWay::Device;
        job.clones = self.users;
        job.limits = Limits {
            runtime: self.time.map(Nanos::from_millis),
            time_based: self.time.is_some(),
            error_dump: true,
            ..Limits::default()
        };
        job.files = FilePlan {
            names: vec![path.to_owned()],
            size: Some(Extent::Bytes(size)),
            direct: is_direct,
            invalidate: self.way != ReadWay::Cached,
            // Files that are read are laid out with data.
            overwrite: true,
            ..FilePlan::default()
        };
        // At most the largest of the block sizes.
        let block = BlockSize::Fixed(u32::try_from(self.block).unwrap_or(u32::MAX));
        let mix = Mix::Only(Direction::Read);
        job.load = LoadPlan { mix, random: is_direct, block_size: PerDirection::all(block), ..LoadPlan::default() };
        job.record.completion_percentiles = false;
        job.record.group_reporting = self.users > 1;
        job.written = self.options(path, size);
        Plan { jobs: vec![job], global_options: Vec::new() }
    }

    /// The options of a job file that does the same.
    fn options(&self, path: &Path, size: u64) -> Vec<(String, String)> {
        let escaped = path.display().to_string().replace(':', "\\:");
        let mut options = vec![("name", self.name.clone()), ("filename", escaped), ("size", size.to_string())];
        options.extend([("ioengine", plan::DEFAULT_ENGINE.to_owned()), ("clat_percentiles", "0".to_owned())]);
        match self.way {
            ReadWay::Device => options.extend([("direct", "1".to_owned()), ("rw", "randread".to_owned())]),
            ReadWay::Cold => options.push(("rw", "read".to_owned())),
            ReadWay::Cached => options.extend([("invalidate", "0".to_owned()), ("rw", "read".to_owned())]),
        }
        options.push(("bs", self.block.to_string()));
        if self.users > 1 {
            options.extend([("numjobs", self.users.to_string()), ("group_reporting", "1".to_owned())]);
        }
        if let Some(time) = self.time {
            options.extend([("runtime", format!("{time}ms")), ("time_based", "1".to_owned())]);
        }
        options.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

#[cfg(test)]
#[path = "job_plans_tests.rs"]
mod tests;
