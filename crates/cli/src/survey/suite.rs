//! The tests of a survey and their Plans. Pure: from a target and a time to what is to be done.

use job::Plan;
use job::plan::{
    Allocate, BlockSize, Extent, FilePlan, Generator, JobPlan, Limits, LoadPlan, LogPlan, Mix, RecordPlan, SyncMode,
};
use measure::{Direction, Nanos, PerDirection};
use std::path::PathBuf;

const KIB: u32 = 1 << 10;
const MIB: u32 = 1 << 20;

/// What a test does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// 8 KiB reads at random offsets over the whole target.
    RandomRead,
    /// 1 MiB reads in order, each user in its own part.
    SequentialRead,
    /// 8 KiB writes in order, each on stable storage before the next, each user in its own part: a database's log.
    LogWrite,
}

/// One test: a kind at a number of users. A user is a process with one request at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Test {
    /// What it does.
    pub(crate) kind: Kind,
    /// How many at once.
    pub(crate) users: u32,
}

/// Where a survey measures.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// The work file or the device.
    pub(crate) path: PathBuf,
    /// Its size in bytes.
    pub(crate) size: u64,
    /// O_DIRECT, or through the page cache.
    pub(crate) access: Access,
    /// A work file of ours may be written, a device never.
    pub(crate) nature: Nature,
}

/// With or without the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// O_DIRECT: past the page cache.
    Direct,
    /// Through the page cache.
    Buffered,
}

/// What a survey measures on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nature {
    /// A file that the survey made.
    WorkFile,
    /// A block device with data of others: read only.
    Device,
}

const SUITE: [Test; 9] = [
    Test { kind: Kind::RandomRead, users: 1 },
    Test { kind: Kind::RandomRead, users: 8 },
    Test { kind: Kind::RandomRead, users: 16 },
    Test { kind: Kind::RandomRead, users: 32 },
    Test { kind: Kind::RandomRead, users: 64 },
    Test { kind: Kind::SequentialRead, users: 1 },
    Test { kind: Kind::SequentialRead, users: 8 },
    Test { kind: Kind::LogWrite, users: 1 },
    Test { kind: Kind::LogWrite, users: 4 },
];

/// The tests that a target allows, in the order in which they run.
pub(crate) fn suite(nature: Nature) -> Vec<Test> {
    let allowed = |test: &Test| test.kind != Kind::LogWrite || nature == Nature::WorkFile;
    SUITE.into_iter().filter(allowed).collect()
}

impl Kind {
    /// Name for tables.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Kind::RandomRead => "rand read",
            Kind::SequentialRead => "seq read",
            Kind::LogWrite => "log write",
        }
    }

    /// Name for files.
    pub(crate) const fn id(self) -> &'static str {
        match self {
            Kind::RandomRead => "random_read",
            Kind::SequentialRead => "sequential_read",
            Kind::LogWrite => "log_write",
        }
    }

    /// Bytes per request.
    pub(crate) const fn block_size(self) -> u32 {
        match self {
            Kind::RandomRead | Kind::LogWrite => 8 * KIB,
            Kind::SequentialRead => MIB,
        }
    }

    /// Which way the data goes.
    pub(crate) const fn direction(self) -> Direction {
        match self {
            Kind::RandomRead | Kind::SequentialRead => Direction::Read,
            Kind::LogWrite => Direction::Write,
        }
    }
}

impl Test {
    /// A line for progress: `8k random read, 16 users`.
    pub(crate) fn describe(&self) -> String {
        let users = if self.users == 1 { "1 user".to_owned() } else { format!("{} users", self.users) };
        format!("{} {}, {users}", short_size(u64::from(self.kind.block_size())), self.kind.title())
    }

    /// The Plan of this test on `target` for `time`.
    pub(crate) fn plan(&self, target: &Target, time: Nanos) -> Plan {
        let block = self.kind.block_size();
        let random = self.kind == Kind::RandomRead;
        // Random users share the whole target; sequential ones get a part each, so that none rereads another's blocks.
        let part = if random {
            target.size
        } else {
            let blocks = target.size / u64::from(block) / u64::from(self.users);
            blocks.max(1) * u64::from(block)
        };
        let mut job = base_job(self.kind.id(), target);
        job.clones = self.users;
        job.limits = Limits { runtime: Some(time), time_based: true, ..Limits::default() };
        job.files.size = Some(Extent::Bytes(part));
        job.files.offset_increment = Extent::Bytes(if random { 0 } else { part });
        if self.kind == Kind::LogWrite {
            job.files.sync = SyncMode::DataSync;
        }
        job.load.mix = Mix::Only(self.kind.direction());
        job.load.random = random;
        job.load.block_size = PerDirection::all(BlockSize::Fixed(block));
        Plan { jobs: vec![job], global_options: Vec::new() }
    }
}

/// The Plan that fills a work file of `target.size` bytes with random data.
pub(crate) fn fill_plan(target: &Target) -> Plan {
    let mut job = base_job("fill", target);
    job.files.size = Some(Extent::Bytes(target.size));
    job.load.mix = Mix::Only(Direction::Write);
    job.load.block_size = PerDirection::all(BlockSize::Fixed(MIB));
    job.load.end_fsync = true;
    job.buffers.refill = true;
    Plan { jobs: vec![job], global_options: Vec::new() }
}

/// Everything that the survey's jobs have in common: one request at a time by psync, one process per user.
fn base_job(name: &str, target: &Target) -> JobPlan {
    let mut job = JobPlan::with_defaults(name, "survey", "psync");
    job.files = FilePlan {
        names: vec![target.path.clone()],
        direct: target.access == Access::Direct,
        // The work file has its full size and its space before it is filled.
        allocate: Allocate::None,
        create_fsync: false,
        may_create: false,
        ..FilePlan::default()
    };
    // A fresh seed each time, and no map: no cache below may know the order of a previous survey.
    job.load = LoadPlan {
        cover_all: false,
        generator: Generator::Tausworthe64,
        seed: None,
        repeat_per_loop: false,
        ..LoadPlan::default()
    };
    job.record = RecordPlan {
        group_reporting: true,
        completion_percentiles: false,
        total_percentiles: true,
        percentiles: vec![50.0, 95.0, 99.0, 99.9],
        percentile_digits: 1,
        logs: LogPlan::default(),
        ..RecordPlan::default()
    };
    job
}

/// A size in the field's short form: `8k`, `1M`, `16G`; bytes where no unit fits.
pub(crate) fn short_size(bytes: u64) -> String {
    for (shift, unit) in [(40, "T"), (30, "G"), (20, "M"), (10, "k")] {
        if bytes >= 1 << shift && bytes.is_multiple_of(1 << shift) {
            return format!("{}{unit}", bytes >> shift);
        }
    }
    bytes.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(nature: Nature) -> Target {
        Target { path: "/data/w".into(), size: 1 << 30, access: Access::Direct, nature }
    }

    #[test]
    fn a_device_is_only_read() {
        for test in suite(Nature::Device) {
            let plan = test.plan(&target(Nature::Device), Nanos::SECOND);
            assert_eq!(plan.jobs[0].load.mix, Mix::Only(Direction::Read), "{}", test.describe());
        }
        assert!(suite(Nature::WorkFile).iter().any(|test| test.kind == Kind::LogWrite));
    }

    #[test]
    fn sequential_users_never_share_a_block() {
        for test in suite(Nature::WorkFile).into_iter().filter(|test| test.kind != Kind::RandomRead) {
            let plan = test.plan(&target(Nature::WorkFile), Nanos::SECOND);
            let files = &plan.jobs[0].files;
            let (Some(Extent::Bytes(part)), Extent::Bytes(step)) = (files.size, files.offset_increment) else {
                panic!("sizes are in bytes");
            };
            assert_eq!(part, step, "{}", test.describe());
            assert!(part * u64::from(test.users) <= 1 << 30 && part > 0, "{}", test.describe());
            assert_eq!(part % u64::from(test.kind.block_size()), 0, "{}", test.describe());
        }
    }

    #[test]
    fn quick_measuring_ends_within_forty_seconds() {
        let tests = suite(Nature::WorkFile).len() as u64;
        assert!(crate::survey::QUICK_TIME.get() * tests <= Nanos::from_secs(40).get());
    }

    #[test]
    fn log_writes_wait_for_stable_storage() {
        let log = Test { kind: Kind::LogWrite, users: 4 }.plan(&target(Nature::WorkFile), Nanos::SECOND);
        assert_eq!(log.jobs[0].files.sync, SyncMode::DataSync);
    }

    #[test]
    fn sizes_are_short() {
        for (bytes, text) in [(8192, "8k"), (1 << 20, "1M"), (3 << 30, "3G"), (1000, "1000"), (1536 << 20, "1536M")] {
            assert_eq!(short_size(bytes), text);
        }
    }
}
