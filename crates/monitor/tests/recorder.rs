//! The monitor of a run over recorded trees: what changes between two recordings is what it reports.

use measure::{Histogram, Nanos};
use model::{CpuTicks, GroupGain, PressureGain, RequestGain, TargetAccess};
use monitor::{Account, Recorder, Target, WorkerSeen};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A machine whose one disk holds the directory of this test, so that a path of it leads there.
struct RecordedRoot(tempfile::TempDir);

impl RecordedRoot {
    fn new() -> Self {
        let recorded = RecordedRoot(tempfile::tempdir().unwrap());
        let number = std::fs::metadata(recorded.path()).unwrap().dev();
        let number = format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number));
        let disk = recorded.path().join("sys/devices/sda");
        recorded.write("sys/devices/sda/dev", &number);
        for (file, text) in [
            ("queue/rotational", "1\n"),
            ("queue/scheduler", "none [mq-deadline]\n"),
            ("queue/write_cache", "write back\n"),
            ("queue/max_sectors_kb", "1280\n"),
            ("queue/read_ahead_kb", "128\n"),
            ("size", "2048\n"),
            ("device/model", "Fast 9000\n"),
        ] {
            recorded.write(&format!("sys/devices/sda/{file}"), text);
        }
        std::fs::create_dir_all(recorded.path().join("sys/dev/block")).unwrap();
        std::os::unix::fs::symlink(disk, recorded.path().join(format!("sys/dev/block/{number}"))).unwrap();
        recorded.write("proc/self/cgroup", "0::/job\n");
        recorded.write("proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        recorded.write("sys/fs/cgroup/job/io.max", &format!("{number} rbps=max wbps=max riops=500 wiops=max\n"));
        recorded.write("sys/fs/cgroup/job/cpu.max", "150000 100000\n");
        recorded.at(1);
        recorded
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// The machine's counters after this number of units of work.
    fn at(&self, n: u64) {
        let stat =
            format!("{} 0 {} {} 0 0 0 0 0 {} {} 0 0 0 0 {n} {}\n", 100 * n, 800 * n, 50 * n, 40 * n, 60 * n, 3 * n);
        self.write("sys/devices/sda/stat", &stat);
        self.write("proc/stat", &format!("cpu  {} 0 {} {} {} 0 0 {} 0 0\n", 10 * n, 20 * n, 60 * n, 5 * n, 5 * n));
        let pressure = |total: u64| format!("some avg10=0.00 total={total}\nfull avg10=0.00 total={}\n", total / 2);
        self.write("proc/pressure/io", &pressure(1000 * n));
        let group = format!("usage_usec {}\nnr_throttled {n}\nthrottled_usec {}\n", 900 * n, 70 * n);
        self.write("sys/fs/cgroup/job/cpu.stat", &group);
        self.write(
            "sys/fs/cgroup/job/io.stat",
            &format!("8:0 rbytes={} wbytes=0 rios={} wios=0\n", 409_600 * n, 100 * n),
        );
        self.write("proc/77/task/77/schedstat", &format!("{} {} {}\n", 3_000 * n, 500 * n, 7 * n));
        let io = format!("rchar: {}\nwchar: 0\nread_bytes: {}\nwrite_bytes: 0\n", 4096 * n, 8192 * n);
        self.write("proc/77/io", &io);
    }
}

fn worker(ios: u64, measuring: bool) -> WorkerSeen {
    WorkerSeen { thread: Some(77), account: Account::Process, measuring, bytes: [ios * 4096, 0, 0], ios: [ios, 0, 0] }
}

#[test]
fn a_recorded_machine_gives_its_gains() {
    let machine = RecordedRoot::new();
    let paths = [machine.path()];
    let mut recorder = Recorder::start(machine.path(), &paths, Nanos::from_millis(500), Nanos::ZERO);
    assert!(!recorder.is_due(Nanos::from_millis(499)) && recorder.is_due(Nanos::from_millis(500)));
    machine.at(2);
    recorder.sample(Nanos::from_millis(500), &[worker(100, true)]);
    machine.at(5);
    let found = recorder.finish(Nanos::from_millis(1000), &[worker(400, false)]).monitored;

    let [disk] = &found.devices[..] else { panic!("{:?}", found.devices) };
    assert_eq!((disk.name.as_str(), disk.leaf, disk.top, disk.size_bytes), ("sda", true, true, Some(1 << 20)));
    assert_eq!((disk.rotational, disk.write_back), (Some(true), Some(true)));
    assert_eq!((disk.request_max_bytes, disk.read_ahead_bytes), (Some(1280 << 10), Some(128 << 10)));
    assert_eq!((disk.scheduler.as_deref(), disk.model.as_deref()), (Some("mq-deadline"), Some("Fast 9000")));
    let limits = found.group_limits.as_ref().unwrap();
    assert_eq!((limits.cpus, limits.io[0].read_iops, limits.io[0].device.as_str()), (Some(1.5), Some(500), "sda"));

    let [first, second] = &found.intervals[..] else { panic!("{:?}", found.intervals) };
    assert_eq!((first.measuring, first.ios[0], second.measuring, second.ios[0]), (1, 100, 0, 300));
    let reads = RequestGain { ios: 300, merges: 0, sectors: 2400, ticks_ms: 150 };
    assert_eq!((second.devices[0].reads, second.devices[0].flushes), (reads, Some((3, 9))));
    let cpu = CpuTicks { user: 30, system: 60, idle: 180, iowait: 15, steal: 15 };
    assert_eq!(second.cpu, Some(cpu));
    assert_eq!(second.pressure, Some(PressureGain { io_us: Some((3000, 1500)), ..PressureGain::default() }));
    let group = GroupGain {
        cpu_us: Some(2700),
        throttled_periods: Some(3),
        throttled_us: Some(210),
        io_bytes: Some((1_228_800, 0)),
        io_requests: Some((300, 0)),
    };
    assert_eq!(second.group, Some(group));
    let one = second.workers[0];
    assert_eq!(
        (one.on_cpu, one.run_delay, one.switches, one.ios),
        (Some(Nanos(9_000)), Some(Nanos(1_500)), Some(21), 300)
    );
    assert_eq!(one.io_bytes, Some([12_288, 0, 24_576, 0]));
    assert_eq!(found.whole().devices[0].reads.ios, 400);
}

#[test]
fn heat_and_limits_that_change_are_recorded() {
    let machine = RecordedRoot::new();
    let number = std::fs::metadata(machine.path()).unwrap().dev();
    let number = format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number));
    let warm = |millidegrees: i64| {
        machine.write("sys/devices/sda/device/hwmon/hwmon3/temp1_input", &format!("{millidegrees}\n"));
    };
    machine.write("sys/devices/sda/device/hwmon/hwmon3/name", "nvme\n");
    machine.write("sys/devices/sda/device/hwmon/hwmon3/temp1_max", "83850\n");
    let throttled = |package: u64, core: u64| {
        for cpu in 0..4 {
            let own = format!("sys/devices/system/cpu/cpu{cpu}");
            machine.write(&format!("{own}/topology/physical_package_id"), "0\n");
            machine.write(&format!("{own}/topology/core_id"), &format!("{}\n", cpu / 2));
            machine.write(&format!("{own}/thermal_throttle/package_throttle_count"), &format!("{package}\n"));
            machine.write(&format!("{own}/thermal_throttle/core_throttle_count"), &format!("{core}\n"));
        }
    };
    warm(60_850);
    throttled(5, 7);
    let mut recorder = Recorder::start(machine.path(), &[machine.path()], Nanos::from_millis(500), Nanos::ZERO);
    recorder.sample(Nanos::from_millis(500), &[]);
    warm(84_850);
    throttled(6, 9);
    machine.write("sys/fs/cgroup/job/io.max", &format!("{number} rbps=max wbps=max riops=100 wiops=max\n"));
    // Limits are looked at every five seconds.
    recorder.sample(Nanos::from_millis(5500), &[]);
    let found = recorder.finish(Nanos::from_millis(6000), &[]).monitored;
    assert_eq!(found.devices[0].warning_millidegrees, Some(83_850));
    let degrees: Vec<_> = found.intervals.iter().map(|one| one.devices[0].temperature_millidegrees).collect();
    assert_eq!(degrees, [Some(60_850), Some(84_850), Some(84_850)]);
    // One package, and two cores of two threads each.
    let throttles: Vec<_> = found.intervals.iter().map(|one| one.processor_throttles).collect();
    assert_eq!(throttles, [Some(0), Some(1 + 2 * 2), Some(0)]);
    assert_eq!(found.group_limits.unwrap().io[0].read_iops, Some(500), "at the begin");
    let [change] = &found.limit_changes[..] else { panic!("{:?}", found.limit_changes) };
    assert_eq!((change.at, change.limits.io[0].read_iops), (Nanos::from_millis(5500), Some(100)));
    // A disk whose driver would interrupt the I/Os is not asked.
    machine.write("sys/devices/sda/device/hwmon/hwmon3/name", "drivetemp\n");
    let recorder = Recorder::start(machine.path(), &[machine.path()], Nanos::from_millis(500), Nanos::ZERO);
    let found = recorder.finish(Nanos::from_millis(500), &[]).monitored;
    assert_eq!(found.intervals[0].devices[0].temperature_millidegrees, None);
}

#[test]
fn a_group_of_the_workers_own_is_counted_in_place_of_ours() {
    let machine = RecordedRoot::new();
    let number = std::fs::metadata(machine.path()).unwrap().dev();
    let number = format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number));
    machine.write("proc/77/cgroup", "0::/job/workers\n");
    machine.write("sys/fs/cgroup/job/workers/io.max", &format!("{number} rbps=max wbps=max riops=200 wiops=max\n"));
    let theirs = |reads: u64| {
        let text = format!("8:0 rbytes={} wbytes=0 rios={reads} wios=0\n", reads * 4096);
        machine.write("sys/fs/cgroup/job/workers/io.stat", &text);
    };
    theirs(1000);
    let mut recorder = Recorder::start(machine.path(), &[machine.path()], Nanos::from_millis(500), Nanos::ZERO);
    recorder.begin_workers(&[worker(0, false), worker(0, false)]);
    theirs(1077);
    machine.at(9);
    let found = recorder.finish(Nanos::SECOND, &[worker(77, true)]).monitored;
    let group = found.intervals[0].group.unwrap();
    assert_eq!((group.io_requests, group.io_bytes), (Some((77, 0)), Some((77 * 4096, 0))));
    assert_eq!(found.group_limits.unwrap().io[0].read_iops, Some(200), "the tighter of both");
}

/// Adds a device to a recorded machine: its number, counters, and what it is made of.
fn add_device(machine: &RecordedRoot, path: &str, number: &str, members: &[&str]) {
    let folder = machine.path().join("sys/devices").join(path);
    machine.write(&format!("sys/devices/{path}/dev"), number);
    machine.write(&format!("sys/devices/{path}/stat"), "1 0 8 1 1 0 8 1 0 1 1\n");
    let link = machine.path().join(format!("sys/dev/block/{number}"));
    if !link.exists() {
        std::os::unix::fs::symlink(&folder, link).unwrap();
    }
    for member in members {
        let slaves = folder.join("slaves");
        std::fs::create_dir_all(&slaves).unwrap();
        let name = member.rsplit('/').next().unwrap();
        std::os::unix::fs::symlink(machine.path().join("sys/devices").join(member), slaves.join(name)).unwrap();
    }
}

#[test]
fn leaves_are_found_through_all_kinds_of_layers() {
    let machine = RecordedRoot::new();
    for (path, number) in [("p/sdb", "8:16"), ("p/sdc", "8:32"), ("p/sdd", "8:48"), ("p/sdd/sdd1", "8:49")] {
        add_device(&machine, path, number, &[]);
    }
    machine.write("sys/devices/p/sdd/sdd1/partition", "1\n");
    // A volume on a mirror of a multipath disk's two paths and of a partition.
    add_device(&machine, "v/dm-0", "253:0", &["p/sdb", "p/sdc"]);
    add_device(&machine, "v/md0", "9:0", &["v/dm-0", "p/sdd/sdd1"]);
    add_device(&machine, "v/dm-1", "253:1", &["v/md0"]);
    let below = tempfile::tempdir().unwrap();
    // A loop device over a file on the volume, and a file system on the loop device: two paths of this machine stand
    // in.
    let place = |path: &Path, device: &str| {
        let number = std::fs::metadata(path).unwrap().dev();
        let number = format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number));
        let link = machine.path().join(format!("sys/dev/block/{number}"));
        std::fs::remove_file(&link).ok();
        std::os::unix::fs::symlink(machine.path().join("sys/devices").join(device), link).unwrap();
    };
    let image = below.path().join("image");
    std::fs::write(&image, "").unwrap();
    place(&image, "v/dm-1");
    add_device(&machine, "v/loop0", "7:0", &[]);
    machine.write("sys/devices/v/loop0/loop/backing_file", &format!("{}\n", image.display()));
    let on_the_loop = Path::new("/proc/version");
    place(on_the_loop, "v/loop0");
    let recorder = Recorder::start(machine.path(), &[on_the_loop], Nanos::SECOND, Nanos::ZERO);
    let found = recorder.finish(Nanos::SECOND, &[]).monitored;
    let mut message: Vec<String> = found
        .devices
        .iter()
        .map(|device| {
            let mut below = device.below.clone();
            below.sort();
            let role = match (device.top, device.leaf) {
                (true, _) => "top",
                (_, true) => "leaf",
                _ => "between",
            };
            format!("{}: {role}, over {}", device.name, below.join(" "))
        })
        .collect();
    message.sort();
    assert_eq!(
        message,
        [
            "dm-0: between, over sdb sdc",
            "dm-1: between, over md0",
            "loop0: top, over dm-1",
            "md0: between, over dm-0 sdd",
            "sdb: leaf, over ",
            "sdc: leaf, over ",
            "sdd: leaf, over ",
        ]
    );
}

#[test]
fn latencies_of_an_interval_are_what_came_since_the_last() {
    let machine = RecordedRoot::new();
    let mut recorder = Recorder::start(machine.path(), &[], Nanos::from_millis(500), Nanos::ZERO);
    let mut histograms = Box::new([const { Histogram::new() }; 4]);
    histograms[0].record_many(Nanos(100_000), 10);
    recorder.read_latencies(|| Some(histograms.clone()));
    recorder.sample(Nanos::from_millis(500), &[worker(10, true)]);
    histograms[0].record_many(Nanos(4_000_000), 5);
    histograms[3].record_many(Nanos(9_000_000), 2);
    recorder.read_latencies(|| Some(histograms.clone()));
    recorder.sample(Nanos::from_millis(1000), &[worker(15, true)]);
    let found = recorder.finish(Nanos::from_millis(1500), &[worker(15, false)]).monitored;
    let median = |at: usize| found.intervals[at].latencies[0].percentile(50.0).map(|ns| ns.as_f64() / 1e6);
    assert!((median(0).unwrap() / 0.1 - 1.0).abs() < 0.04 && (median(1).unwrap() / 4.0 - 1.0).abs() < 0.04);
    assert_eq!((median(2), found.intervals[1].latencies[0].total()), (None, 5));
    assert_eq!(found.whole().latencies[0].total(), 15);
    let syncs = found.intervals.iter().map(|interval| interval.sync_latencies.total());
    assert_eq!(syncs.collect::<Vec<_>>(), [0, 2, 0]);
}

#[test]
fn a_machine_without_counters_gives_nothing_not_zeros() {
    let bare = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(bare.path(), &[bare.path()], Nanos::from_millis(500), Nanos::ZERO);
    let found = recorder.finish(Nanos::SECOND, &[worker(5, true)]).monitored;
    let [only] = &found.intervals[..] else { panic!("{:?}", found.intervals) };
    assert_eq!((only.cpu, only.pressure, only.group, only.devices.len()), (None, None, None, 0));
    assert_eq!((only.workers[0].on_cpu, only.workers[0].io_bytes, only.ios[0]), (None, None, 5));
    assert_eq!((found.group_limits, found.hypervisor), (None, None));
}

#[test]
fn a_run_of_any_length_keeps_a_bounded_number_of_intervals() {
    let machine = RecordedRoot::new();
    let mut recorder = Recorder::start(machine.path(), &[], Nanos::from_millis(1), Nanos::ZERO);
    for n in 1..=1500u64 {
        recorder.sample(Nanos::from_millis(n), &[worker(n * 10, true)]);
    }
    let found = recorder.finish(Nanos::from_millis(1501), &[worker(15_010, true)]).monitored;
    assert!((200..512).contains(&found.intervals.len()), "{}", found.intervals.len());
    assert!(found.intervals.windows(2).all(|pair| pair[0].until < pair[1].until));
    assert_eq!((found.whole().ios[0], found.whole().until), (15_010, Nanos::from_millis(1501)));
}

#[test]
fn a_follower_of_a_run_gets_every_interval() {
    let machine = RecordedRoot::new();
    let start = Recorder::start(machine.path(), &[], Nanos::from_millis(1), Nanos::ZERO);
    let mut recorder = start.at(monitor::Pace::Constant);
    let mut followed = model::Interval::default();
    for n in 1..=1500u64 {
        recorder.sample(Nanos::from_millis(n), &[worker(n * 10, true)]);
        assert_eq!((recorder.latest().until, recorder.latest().ios[0]), (Nanos::from_millis(n), 10));
        followed.append(recorder.latest());
    }
    let found = recorder.finish(Nanos::from_millis(1501), &[worker(15_010, true)]);
    followed.append(&found.latest);
    assert_eq!((found.latest.ios[0], followed.ios[0]), (10, 15_010));
    let kept = &found.monitored.intervals;
    assert!((200..512).contains(&kept.len()), "{}", kept.len());
    assert_eq!((found.monitored.whole().ios[0], found.monitored.whole().until), (15_010, Nanos::from_millis(1501)));
    let lengths = kept.windows(2).map(|pair| pair[1].until.saturating_sub(pair[0].until));
    let short = lengths.filter(|&length| length < Nanos::from_millis(4)).count();
    assert!(short <= 1, "{short} intervals are shorter than the others, of which only the last may be");
}

#[test]
fn a_sparse_file_is_known_to_be_one_before_the_run_begins() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let path = folder.path().join("sparse");
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(1 << 20).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &[1; 65_536], 0).unwrap();
    file.sync_all().unwrap();
    let root = Path::new("/");
    let mut recorder = Recorder::start(root, &[&path], Nanos::SECOND, Nanos::ZERO);
    let target = Target { path: path.clone(), start: 0, end: 1 << 20, access: TargetAccess::Reads };
    recorder.begin_targets(&[target.clone(), target]);
    let found = recorder.finish(Nanos::SECOND, &[]).monitored;
    let [facts] = &found.targets[..] else { panic!("{:?}", found.targets) };
    assert_eq!((facts.size_bytes, facts.region_bytes), (1 << 20, 1 << 20));
    assert!(facts.mount.is_some() && facts.cached_after.is_some());
    assert_eq!(facts.cached_before.unwrap().bytes, 65_536);
    // A file system without FIEMAP shows nothing.
    if let Some(unwritten) = facts.unwritten_bytes {
        assert_eq!(unwritten, (1 << 20) - 65_536);
    }
}
