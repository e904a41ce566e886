//! Files through `execute`: their names, sizes and contents, next to what fio makes of the same words.

use crate::support::{Blind, job, options, run_jobs, run_one};
use measure::Direction;
use plan::{Allocate, Extent, JobPlan, LaidOutBy, Mix};
use plan::{Plan, Work};
use std::path::Path;
use std::process::Command;

const WRITE: Mix = Mix::Only(Direction::Write);

fn in_directory(directory: &Path, mut job: JobPlan) -> JobPlan {
    job.files.directories = vec![directory.to_owned()];
    job
}

/// Names and sizes of all files in a directory, by name.
fn listing(directory: &Path) -> Vec<(String, u64)> {
    let entries = std::fs::read_dir(directory).unwrap().flatten();
    let mut files: Vec<(String, u64)> =
        entries.map(|entry| (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len())).collect();
    files.sort();
    files
}

#[test]
fn a_read_job_makes_its_file_and_reads_all_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let result = run_one(in_directory(directory.path(), job("reader", "psync")));
    assert_eq!((result.directions.read.bytes, result.directions.read.ios), (1 << 20, 256));
    let content = std::fs::read(directory.path().join("reader.0.0")).unwrap();
    assert_eq!(content.len(), 1 << 20);
    assert!(content.chunks(512).all(|sector| sector.iter().any(|&byte| byte != 0)));
}

/// Engines that move blocks in any order, and that need no special device.
fn moves_blocks(spec: &plan::EngineSpec) -> bool {
    matches!(spec.capabilities.work, Work::Data | Work::Null) && !["sg", "mtd", "io_uring_cmd"].contains(&spec.name)
}

#[test]
fn every_engine_moves_every_byte_also_without_latencies() {
    let directory = tempfile::tempdir().unwrap();
    for spec in engine::ENGINES.iter().filter(|spec| moves_blocks(spec)) {
        let mut job = in_directory(directory.path(), job("each", spec.name));
        (job.record.total_latency, job.record.completion_latency, job.record.submission_latency) =
            (false, false, false);
        job.load.random = true;
        crate::support::depth(&mut job, 8);
        (job.depth.batch, job.depth.reap_min, job.depth.reap_max, job.depth.low) = (3, 2, 4, 5);
        let result = run_one(job);
        assert_eq!(result.directions.read.bytes, 1 << 20, "{}", spec.name);
        assert_eq!(result.directions.read.completion, None);
    }
}

#[test]
fn every_engine_on_files_moves_every_byte() {
    let directory = tempfile::tempdir().unwrap();
    for spec in engine::ENGINES.iter().filter(|spec| moves_blocks(spec) && spec.capabilities.needs_files) {
        for (mix, direction) in [(WRITE, Direction::Write), (Mix::Only(Direction::Read), Direction::Read)] {
            let mut job = in_directory(directory.path(), job("each", spec.name));
            job.load.mix = mix;
            if spec.capabilities.submission == plan::Submission::Asynchronous {
                crate::support::depth(&mut job, 8);
            }
            let result = run_one(job);
            assert_eq!(result.directions[direction].bytes, 1 << 20, "{}", spec.name);
            let completion = result.directions[direction].completion.as_ref().unwrap();
            assert_eq!(completion.moments.count(), 256, "{}", spec.name);
        }
    }
}

/// A change to a job, and the same in fio's words.
struct Case {
    change: fn(&mut JobPlan),
    words: &'static [&'static str],
}

/// What fio and we leave in two directories after the same words.
fn compare(case: &Case) {
    let (ours, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut plan = in_directory(ours.path(), job("j", "psync"));
    (case.change)(&mut plan);
    run_jobs(vec![plan]);
    let done = Command::new("timeout")
        .args(["--kill-after=1", "60", "fio", "--name=j", "--bs=4k"])
        .arg(format!("--directory={}", theirs.path().display()))
        .args(case.words)
        .output()
        .expect("fio: make oracles");
    assert!(done.status.success(), "{:?}: {done:?}", case.words);
    assert_eq!(listing(ours.path()), listing(theirs.path()), "{:?}", case.words);
}

fn bytes(size: u64) -> Option<Extent> {
    Some(Extent::Bytes(size))
}

#[test]
fn files_are_called_and_sized_as_fio_has_it() {
    let cases = [
        Case { change: |job| job.files.size = bytes(16 << 10), words: &["--rw=read", "--size=16k"] },
        Case {
            change: |job| (job.clones, job.files.count, job.files.size) = (3, 2, bytes(32 << 10)),
            words: &["--rw=read", "--size=32k", "--nrfiles=2", "--numjobs=3"],
        },
        Case {
            change: |job| (job.files.count, job.files.size) = (3, bytes(20 << 10)),
            words: &["--rw=read", "--size=20k", "--nrfiles=3"],
        },
        Case {
            change: |job| (job.files.size, job.files.offset) = (bytes(16 << 10), Extent::Bytes(8 << 10)),
            words: &["--rw=read", "--size=16k", "--offset=8k"],
        },
        Case {
            change: |job| (job.files.size, job.files.offset) = (bytes(16 << 10), Extent::Percent(50)),
            words: &["--rw=read", "--size=16k", "--offset=50%"],
        },
        Case {
            change: |job| {
                (job.load.mix, job.clones) = (WRITE, 4);
                (job.files.size, job.files.offset_increment) = (bytes(8 << 10), Extent::Bytes(16 << 10));
            },
            words: &["--rw=write", "--size=8k", "--numjobs=4", "--offset_increment=16k"],
        },
        Case {
            change: |job| (job.files.count, job.files.file_size, job.files.size) = (2, Some((8 << 10, 8 << 10)), None),
            words: &["--rw=read", "--filesize=8k", "--nrfiles=2"],
        },
        Case {
            change: |job| (job.load.mix, job.files.size, job.files.io_size) = (WRITE, bytes(32 << 10), bytes(8 << 10)),
            words: &["--rw=write", "--size=32k", "--io_size=8k"],
        },
        Case {
            change: |job| {
                (job.load.mix, job.files.size, job.files.io_size) = (WRITE, bytes(32 << 10), bytes(8 << 10));
                job.files.allocate = Allocate::None;
            },
            words: &["--rw=write", "--size=32k", "--io_size=8k", "--fallocate=none"],
        },
        Case {
            change: |job| {
                (job.load.mix, job.files.size, job.files.io_size) = (WRITE, bytes(32 << 10), bytes(8 << 10));
                job.files.allocate = Allocate::KeepSize;
            },
            words: &["--rw=write", "--size=32k", "--io_size=8k", "--fallocate=keep"],
        },
        Case { change: |job| job.files.unlink = true, words: &["--rw=read", "--size=1m", "--unlink=1"] },
        Case { change: |job| job.files.create_only = true, words: &["--rw=read", "--size=1m", "--create_only=1"] },
    ];
    cases.iter().for_each(compare);
}

#[test]
fn a_large_file_is_left_alone_and_a_small_one_is_recreated() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("j.0.0");
    std::fs::write(&path, vec![7; 64 << 10]).unwrap();
    let mut reads = in_directory(directory.path(), job("j", "psync"));
    reads.files.size = bytes(32 << 10);
    run_one(reads.clone());
    assert_eq!(std::fs::read(&path).unwrap(), vec![7; 64 << 10]);
    reads.files.size = bytes(128 << 10);
    run_one(reads);
    let content = std::fs::read(&path).unwrap();
    assert_eq!(content.len(), 128 << 10);
    assert!(content.chunks(512).all(|sector| sector != [7; 512] && sector.iter().any(|&byte| byte != 0)));
}

#[test]
fn overwrite_lays_the_file_out_in_full_before_it_is_written() {
    for (overwrite, written) in [(false, 0), (true, 64 << 10)] {
        let directory = tempfile::tempdir().unwrap();
        let mut plan = in_directory(directory.path(), job("j", "psync"));
        (plan.load.mix, plan.files.size, plan.files.create_only) = (WRITE, bytes(64 << 10), true);
        plan.files.overwrite = overwrite;
        run_one(plan);
        let content = std::fs::read(directory.path().join("j.0.0")).unwrap();
        let sectors = content.chunks(512).filter(|sector| sector.iter().any(|&byte| byte != 0)).count();
        assert_eq!((content.len(), sectors * 512), (64 << 10, written));
    }
}

#[test]
fn missing_directories_of_a_file_are_made() {
    let directory = tempfile::tempdir().unwrap();
    let mut plan = job("j", "psync");
    plan.files.names = vec![directory.path().join("a/b/c")];
    run_one(plan);
    assert_eq!(std::fs::metadata(directory.path().join("a/b/c")).unwrap().len(), 1 << 20);
}

fn error_of(plan: JobPlan) -> String {
    run_jobs(vec![plan]).jobs.remove(0).error.unwrap().message
}

#[test]
fn refusals_say_what_would_work() {
    let directory = tempfile::tempdir().unwrap();
    let base = || in_directory(directory.path(), job("j", "psync"));
    let check = |change: fn(&mut JobPlan), expected: &[&str]| {
        let mut plan = base();
        change(&mut plan);
        let message = error_of(plan);
        assert!(expected.iter().all(|part| message.contains(part)), "{message}");
    };
    check(|job| job.files.size = None, &["no size yet", "give size="]);
    check(|job| job.files.size = bytes(1024), &["size=1024", "4096", "smaller bs="]);
    check(|job| job.files.may_create = false, &["allow_file_create=0"]);
    check(|job| job.files.names = vec!["/".into()], &["is a directory", "directory="]);
    check(|job| job.files.size = bytes(1 << 60), &["free", "smaller size="]);
    check(|job| job.place.cpus = vec![1000], &["cpus_allowed", "can be had"]);
    check(|job| job.load.mix = Mix::Only(Direction::Trim), &["trim", "block devices"]);
}

#[test]
fn a_plan_that_writes_is_refused_where_only_reading_is_allowed() {
    let mut plan = job("j", "psync");
    plan.load.mix = WRITE;
    let plan = Plan { jobs: vec![plan], global_options: Vec::new() };
    let options = run::RunOptions { read_only: true, ..options() };
    let refused = run::execute(&plan, &options, &mut Blind).unwrap_err();
    assert!(refused.to_string().contains("--readonly"), "{refused}");
}

/// A loop device over a file, detached at the end.
struct Loop {
    path: String,
    _file: tempfile::NamedTempFile,
}

impl Loop {
    /// Needs root.
    fn attach(bytes: u64) -> Self {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(bytes).unwrap();
        let output = Command::new("losetup").args(["--find", "--show"]).arg(file.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        Loop { path: String::from_utf8(output.stdout).unwrap().trim().to_owned(), _file: file }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.path]).status();
    }
}

#[test]
fn a_block_device_gives_its_size_and_is_guarded_while_held() {
    let device = Loop::attach(8 << 20);
    let on_device = |mix: Mix| {
        let mut plan = job("j", "psync");
        plan.files.names = vec![device.path.clone().into()];
        (plan.files.size, plan.load.mix) = (None, mix);
        plan
    };
    assert_eq!(run_one(on_device(Mix::Only(Direction::Read))).directions.read.bytes, 8 << 20);
    let mut half = on_device(WRITE);
    (half.files.size, half.files.offset) = (Some(Extent::Percent(50)), Extent::Percent(75));
    assert_eq!(run_one(half).directions.write.bytes, 2 << 20, "the region ends with the device");
    assert_eq!(run_one(on_device(Mix::Only(Direction::Trim))).directions.trim.bytes, 8 << 20);
    let holder = rustix::fs::open(
        device.path.as_str(),
        rustix::fs::OFlags::RDWR | rustix::fs::OFlags::EXCL,
        rustix::fs::Mode::empty(),
    );
    let message = error_of(on_device(WRITE));
    assert!(message.contains("in use") && message.contains("allow_mounted_write=1"), "{message}");
    assert!(message.contains("write_consent=8388608"), "{message}");
    assert_eq!(run_one(on_device(Mix::Only(Direction::Read))).directions.read.bytes, 8 << 20);
    drop(holder);
    run_one(on_device(WRITE));
}

#[test]
fn a_file_shared_by_members_grows_in_place_and_never_shrinks() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("shared");
    for (laid_out_by, mix, allocate) in [
        (LaidOutBy::ThisRun, WRITE, Allocate::Native),
        (LaidOutBy::Members, WRITE, Allocate::Native),
        (LaidOutBy::Members, WRITE, Allocate::Truncate),
        (LaidOutBy::Members, Mix::Only(Direction::Read), Allocate::Truncate),
    ] {
        std::fs::write(&path, [1; 4096]).unwrap();
        let opened = std::fs::File::open(&path).unwrap();
        let mut job = job("w", "psync");
        job.files.names = vec![path.clone()];
        (job.files.laid_out_by, job.load.mix, job.files.allocate) = (laid_out_by, mix, allocate);
        assert_eq!(run_one(job).directions.iter().map(|(_, found)| found.bytes).sum::<u64>(), 1 << 20);
        let seen = opened.metadata().unwrap().len();
        let expected = if laid_out_by == LaidOutBy::Members { 1 << 20 } else { 4096 };
        assert_eq!(seen, expected, "{laid_out_by:?} {mix:?} {allocate:?}: what another member has open");
        std::fs::remove_file(&path).unwrap();
    }
}
