//! One run with known properties per verdict.

use super::limited_by;
use crate::fixtures::{closed_loop, workload};
use measure::{Moments, Nanos};
use model::{
    CpuTicks, DeviceFacts, DeviceGain, GroupGain, GroupLimits, Interval, IoCap, Limiter, Monitored, MountFacts,
    RequestGain, RunResult, TargetFacts, WorkerGain,
};

/// Ten seconds of 2,000 reads of 8 KiB per second by 8 users, with 4 ms latency each; the disk is busy for `busy_ms` of
/// each one-second interval, with a mean queue of `queue`.
fn run(busy_ms: u64, queue: u64) -> RunResult {
    let mut result = closed_loop(8, 20_000, Nanos::from_millis(4), Nanos::from_secs(10));
    result.jobs[0].runtime = Nanos::from_secs(80);
    let interval = |second: u64| Interval {
        until: Nanos::from_secs(second),
        measuring: 8,
        bytes: [2_000 * 8192, 0, 0],
        ios: [2_000 + second % 3 * 40, 0, 0],
        devices: vec![DeviceGain {
            reads: RequestGain { ios: 2_000, merges: 0, sectors: 32_000, ticks_ms: 8_000 },
            busy_ms,
            in_queue_ms: queue * 1000,
            flushes: Some((0, 0)),
            ..DeviceGain::default()
        }],
        cpu: Some(CpuTicks { user: 10, system: 10, idle: 180, ..CpuTicks::default() }),
        workers: vec![
            WorkerGain {
                on_cpu: Some(Nanos::from_millis(50)),
                run_delay: Some(Nanos::from_millis(1)),
                switches: Some(500),
                io_bytes: Some([0, 0, 250 * 8192, 0]),
                ios: 250,
            };
            8
        ],
        ..Interval::default()
    };
    result.monitored = Some(Monitored {
        devices: vec![DeviceFacts { name: "sda".into(), leaf: true, top: true, ..DeviceFacts::default() }],
        targets: vec![TargetFacts { path: "a".into(), mount: Some(MountFacts::default()), ..TargetFacts::default() }],
        intervals: (1..=10).map(interval).collect(),
        ..Monitored::default()
    });
    result
}

fn monitored(result: &mut RunResult) -> &mut Monitored {
    result.monitored.as_mut().unwrap()
}

fn each(result: &mut RunResult, change: impl Fn(&mut Interval)) {
    monitored(result).intervals.iter_mut().for_each(change);
}

fn check(result: &RunResult, limiter: Limiter, share: std::ops::RangeInclusive<f64>, says: &str) {
    let found = limited_by(result).unwrap_or_else(|| panic!("{limiter:?} expected, nothing said"));
    assert_eq!(found.limiter, limiter, "{found:?}");
    assert!(share.contains(&found.share_percent), "{found:?}");
    assert!(found.sentence.contains(says), "{}", found.sentence);
}

#[test]
fn a_device_at_work_all_the_time_with_a_queue_is_the_limit() {
    check(&run(990, 8), Limiter::Device, 98.9..=99.1, "sda was at work 99 % of the time, with 8.0 requests");
}

#[test]
fn a_disk_with_moving_parts_is_the_limit_with_one_request_too() {
    let mut result = run(990, 1);
    monitored(&mut result).devices[0].rotational = Some(true);
    check(&result, Limiter::Device, 98.9..=99.1, "at work");
}

#[test]
fn few_requests_at_a_device_that_takes_many_are_the_depth() {
    let mut result = run(990, 1);
    result.jobs[0].workers = 1;
    check(&result, Limiter::Depth, 90.0..=100.0, "one I/O in flight at most");
}

#[test]
fn a_limit_of_the_control_group_that_is_reached_is_a_cap() {
    let mut result = run(300, 1);
    let cap = IoCap { device: "sda".into(), read_iops: Some(2_000), ..IoCap::default() };
    monitored(&mut result).group_limits = Some(GroupLimits { io: vec![cap], ..GroupLimits::default() });
    check(&result, Limiter::Cap, 99.9..=100.0, "limit of 2,000 reads/s on sda: 2,000, 100 % of it");
    monitored(&mut result).group_limits.as_mut().unwrap().io[0].read_iops = Some(4_000);
    assert_ne!(limited_by(&result).map(|found| found.limiter), Some(Limiter::Cap), "half of it is not reached");
    let of = |group: &str, read_iops| IoCap {
        group: Some(group.into()),
        device: "sda".into(),
        read_iops: Some(read_iops),
        ..IoCap::default()
    };
    let limits = |io| Some(GroupLimits { io, ..GroupLimits::default() });
    monitored(&mut result).group_limits = limits(vec![of("/a.slice/b.scope", 9_000), of("/a.slice", 2_000)]);
    check(
        &result,
        Limiter::Cap,
        99.9..=100.0,
        "the limit of control group /a.slice, 2,000 reads/s on sda: 2,000, 100 %",
    );
    let said = |result: &RunResult| super::group_limits_ios(result);
    assert_eq!(said(&result).as_deref(), Some("control group /a.slice/b.scope limits sda to 9000 reads/s"));
    let elsewhere = IoCap { device: "sdb".into(), ..of("/a.slice", 9_000) };
    monitored(&mut result).group_limits = limits(vec![elsewhere, IoCap { device: "sda".into(), ..IoCap::default() }]);
    assert_eq!(said(&result), None, "of another device, and none");
    monitored(&mut result).group_limits = limits(vec![of("/a.slice", 200)]);
    assert_ne!(limited_by(&result).map(|found| found.limiter), Some(Limiter::Cap), "it does not hold this run back");
}

#[test]
fn the_plans_own_rate_is_a_cap() {
    let mut result = run(300, 1);
    workload(&mut result).pace.iops.read = Some(250);
    check(&result, Limiter::Cap, 99.9..=100.0, "rate_iops: 2,000 of 2,000");
    workload(&mut result).pace.iops.read = Some(900);
    assert_ne!(limited_by(&result).map(|found| found.limiter), Some(Limiter::Cap));
    workload(&mut result).pace.think = Nanos::MILLISECOND;
    check(&result, Limiter::Cap, 100.0..=100.0, "thinktime=1ms");
}

#[test]
fn a_flat_rate_at_a_round_number_is_a_cap() {
    let mut result = run(990, 8);
    each(&mut result, |interval| interval.ios = [3_001, 0, 0]);
    check(&result, Limiter::Cap, 99.9..=100.0, "plateau of 3,001 IOPS ± 0");
    each(&mut result, |interval| interval.ios = [3_071, 0, 0]);
    check(&result, Limiter::Device, 98.9..=99.1, "at work");
}

#[test]
fn a_worker_that_computes_longer_than_it_waits_is_the_limit() {
    let busy = |depth: u32| {
        let mut result = run(400, 1);
        result.jobs[0].echo.iodepth = depth;
        result.jobs[0].depth.level[0] = 1;
        each(&mut result, |interval| {
            interval.workers.iter_mut().for_each(|worker| {
                worker.on_cpu = Some(Nanos::from_millis(400));
                worker.run_delay = Some(Nanos::from_millis(200));
            });
            interval.devices[0].reads.ticks_ms = 8_000;
        });
        result
    };
    check(&busy(1), Limiter::ClientCpu, 59.9..=60.1, "(33 % of it waiting), longer than they waited for I/O");
    let mut short = busy(1);
    each(&mut short, |interval| interval.until = Nanos(interval.until.get() / 50));
    let workers = |interval: &mut Interval| {
        interval.workers.iter_mut().for_each(|worker| {
            (worker.on_cpu, worker.run_delay) = (Some(Nanos::from_millis(8)), Some(Nanos::from_millis(4)));
        })
    };
    each(&mut short, workers);
    assert_ne!(limited_by(&short).map(|found| found.limiter), Some(Limiter::ClientCpu), "0.2 s");
    let mut deep = busy(8);
    deep.jobs[0].depth.level = [0, 0, 0, 1, 0, 0, 0];
    assert_ne!(limited_by(&deep).map(|found| found.limiter), Some(Limiter::ClientCpu), "I/Os go on meanwhile");
}

#[test]
fn ios_that_an_idle_raw_device_lacks_are_held_by_a_limit() {
    let held = || {
        let mut result = run(100, 1);
        result.jobs[0].workers = 1;
        (result.jobs[0].echo.iodepth, result.jobs[0].echo.direct) = (8, true);
        result.jobs[0].depth.level[3] = 1;
        result.jobs[0].directions.read.submission = result.jobs[0].directions.read.total.clone();
        result.jobs[0].directions.read.submission.as_mut().unwrap().moments =
            Moments::from_parts(20_000, 10_000, 10_000, 10_000 * 20_000, 0);
        monitored(&mut result).targets[0].mount = None;
        result
    };
    check(
        &held(),
        Limiter::Cap,
        80.0..=90.0,
        "8.0 I/Os were in flight and 1.0 of them at the device, which was idle 90 %",
    );
    type Change = fn(&mut RunResult);
    let unlike: [(&str, Change); 5] = [
        ("a device at work", |result| each(result, |interval| interval.devices[0].busy_ms = 600)),
        ("a file system in between", |result| monitored(result).targets[0].mount = Some(MountFacts::default())),
        ("a cache in between", |result| result.jobs[0].echo.direct = false),
        ("reaps that wait", |result| workload(result).reap_min = 8),
        ("answers from elsewhere", |result| each(result, |interval| interval.devices[0].reads.sectors = 100)),
    ];
    for (name, change) in unlike {
        let mut result = held();
        change(&mut result);
        assert_ne!(limited_by(&result).map(|found| found.limiter), Some(Limiter::Cap), "{name}");
    }
}

#[test]
fn workers_on_the_processor_are_the_limit_themselves() {
    let mut result = run(100, 1);
    each(&mut result, |interval| {
        interval.workers.iter_mut().for_each(|worker| {
            worker.on_cpu = Some(Nanos::from_millis(700));
            worker.run_delay = Some(Nanos::from_millis(270));
        });
    });
    check(&result, Limiter::ClientCpu, 96.9..=97.1, "or waited for one 97 % of the time (28 % of it waiting)");
    workload(&mut result).polls = true;
    assert_ne!(limited_by(&result).map(|found| found.limiter), Some(Limiter::ClientCpu), "polling is waiting");
}

#[test]
fn a_full_machine_limits_those_who_wait_for_it() {
    let mut result = run(100, 1);
    each(&mut result, |interval| {
        interval.cpu = Some(CpuTicks { user: 90, system: 90, steal: 20, ..CpuTicks::default() });
        interval.workers.iter_mut().for_each(|worker| worker.run_delay = Some(Nanos::from_millis(400)));
    });
    check(&result, Limiter::ClientCpu, 100.0..=100.0, "10 % taken by the hypervisor");
}

#[test]
fn a_quota_on_processors_is_the_clients_limit() {
    let mut result = run(100, 1);
    monitored(&mut result).group_limits = Some(GroupLimits { cpus: Some(0.5), ..GroupLimits::default() });
    each(&mut result, |interval| {
        interval.group = Some(GroupGain { throttled_us: Some(380_000), ..GroupGain::default() });
    });
    check(&result, Limiter::ClientCpu, 37.9..=38.1, "quota of 0.5 processors held the workers back 38 %");
}

#[test]
fn flushes_that_take_most_of_the_time_are_the_limit() {
    let mut result = run(600, 1);
    let ns = 900_000;
    let count = 8 * 10_000_u64 * 7 / 9;
    let sum = u128::from(ns) * u128::from(count);
    result.jobs[0].sync.count = count;
    result.jobs[0].sync.latency.moments = Moments::from_parts(count, ns, ns, sum, sum * u128::from(ns));
    check(&result, Limiter::Flush, 69.0..=71.0, "waited for flushes 70 %");
    let mut synchronous = run(600, 1);
    synchronous.jobs[0].workers = 1;
    each(&mut synchronous, |interval| interval.devices[0].flushes = Some((900, 800)));
    check(&synchronous, Limiter::Flush, 79.9..=80.1, "80 %");
}

#[test]
fn a_link_that_is_full_is_the_limit() {
    let mut result = run(990, 8);
    monitored(&mut result).devices[0].link_bytes_per_second = Some(17_000_000);
    check(&result, Limiter::Link, 96.0..=96.8, "carries 17 MB/s at most, and 16.4 MB/s went over it");
}

#[test]
fn a_half_duplex_link_is_full_with_the_sum_of_both() {
    let mut result = run(990, 8);
    monitored(&mut result).devices[0].link_bytes_per_second = Some(34_000_000);
    result.jobs[0].directions.write.bytes = 10 * 2_000 * 8192;
    each(&mut result, |interval| {
        interval.bytes[1] = interval.bytes[0];
        interval.devices[0].writes.sectors = 32_000;
    });
    let limiter = |result: &RunResult| limited_by(result).map(|found| found.limiter);
    assert_ne!(limiter(&result), Some(Limiter::Link), "PCIe carries as much in each direction");
    monitored(&mut result).devices[0].link_half_duplex = true;
    check(&result, Limiter::Link, 96.0..=96.8, "carries 34 MB/s at most, and 32.8 MB/s went over it");
}

#[test]
fn others_on_the_device_are_named_with_their_share() {
    let mut result = run(990, 8);
    each(&mut result, |interval| interval.devices[0].writes.sectors = 32_000);
    check(&result, Limiter::Neighbour, 49.9..=50.1, "other programs made 50 % of the traffic of sda");
    each(&mut result, |interval| interval.devices[0].writes.sectors = 3_000);
    check(&result, Limiter::Device, 98.9..=99.1, "at work");
}

#[test]
fn a_neighbour_below_a_loop_device_is_seen_too() {
    let mut result = run(990, 8);
    let lower = DeviceFacts { name: "sdb".into(), leaf: true, ..DeviceFacts::default() };
    let upper = &mut monitored(&mut result).devices;
    (upper[0].leaf, upper[0].below) = (false, vec!["sdb".into()]);
    upper.push(lower);
    each(&mut result, |interval| {
        let mut gain = interval.devices[0];
        gain.reads.sectors *= 4;
        interval.devices.push(gain);
    });
    check(&result, Limiter::Neighbour, 74.9..=75.1, "other programs made 75 % of the traffic of sdb");
    // The loop device answers from memory, where others read it too; the disk below has next to nothing to do.
    each(&mut result, |interval| {
        interval.devices[0].reads.sectors *= 4;
        (interval.devices[1].reads.sectors, interval.devices[1].writes.sectors) = (0, 8);
    });
    check(&result, Limiter::Neighbour, 74.9..=75.1, "other programs made 75 % of the traffic of sda");
}

#[test]
fn a_group_limit_that_holds_ios_back_late_is_a_cap() {
    // The kernel's throttle let 2,000 of 3,000 go, because its timer was late; the I/Os waited for it above the device.
    let limited = |busy_ms, queue| {
        let mut result = run(busy_ms, queue);
        each(&mut result, |interval| interval.devices[0].reads.ticks_ms = 500);
        let cap = IoCap { device: "sda".into(), read_iops: Some(3_000), ..IoCap::default() };
        monitored(&mut result).group_limits = Some(GroupLimits { io: vec![cap], ..GroupLimits::default() });
        result
    };
    let says = "limit of 3,000 reads/s on sda: 2,000, 67 % of it; of 8 I/Os in flight, 1 were at the device";
    check(&limited(200, 1), Limiter::Cap, 87.0..=88.0, says);
    let named = |result: &RunResult| limited_by(result).map(|found| found.limiter);
    assert_ne!(named(&limited(200, 4)), Some(Limiter::Cap), "half of the I/Os are at the device");
    assert_ne!(named(&limited(900, 1)), Some(Limiter::Cap), "the device is at work");
    let mut busy = limited(200, 1);
    each(&mut busy, |interval| {
        interval.workers.iter_mut().for_each(|worker| worker.on_cpu = Some(Nanos::from_millis(700)))
    });
    assert_ne!(named(&busy), Some(Limiter::Cap), "the workers are at work");
}

#[test]
fn waiting_for_neither_cpu_nor_device_is_waiting_for_each_other() {
    let mut result = run(200, 1);
    each(&mut result, |interval| interval.devices[0].reads.ticks_ms = 500);
    check(&result, Limiter::FileSystemLock, 85.0..=90.0, "for each other, in the file system");
    let mut extending = result.clone();
    monitored(&mut extending).targets[0].past_end_bytes = Some(1 << 40);
    let job = &mut extending.jobs[0];
    job.directions.write = std::mem::take(&mut job.directions.read);
    check(&extending, Limiter::FileSystemLock, 85.0..=90.0, "in the file system, which extends a file write by write");
    monitored(&mut result).targets[0].mount = None;
    assert_ne!(limited_by(&result).map(|found| found.limiter), Some(Limiter::FileSystemLock), "no file system");
}

#[test]
fn nothing_is_said_of_nothing_and_of_virtual_time() {
    assert_eq!(limited_by(&RunResult::default()), None);
    let mut virtual_time = run(990, 8);
    workload(&mut virtual_time).virtual_time = true;
    assert_eq!(limited_by(&virtual_time), None);
}

#[test]
fn a_foreign_result_is_judged_by_what_it_says() {
    let mut result = run(990, 8);
    result.monitored = None;
    assert_eq!(limited_by(&result), None);
    result.jobs[0].cpu.system = Nanos::from_secs(78);
    check(&result, Limiter::ClientCpu, 97.0..=98.0, "on a processor");
}

#[test]
fn a_rate_in_bytes_is_the_plans_own_limit() {
    let mut result = run(990, 8);
    workload(&mut result).pace.rate.read = Some(measure::BytesPerSecond(2_048_000));
    check(&result, Limiter::Cap, 99.9..=100.1, "the plan's own rate: 15.6 MiB/s of 15.6 MiB/s");
    workload(&mut result).pace.rate.read = Some(measure::BytesPerSecond(20_480_000));
    check(&result, Limiter::Device, 98.9..=99.1, "at work");
}

#[test]
fn a_rate_more_even_than_its_latencies_is_an_unseen_limit() {
    let mut result = run(400, 8);
    monitored(&mut result).intervals.iter_mut().enumerate().for_each(|(at, interval)| {
        interval.ios = [1_537 + at as u64 % 2 * 3, 0, 0];
    });
    let uneven = |result: &mut RunResult| {
        let (mean, count) = (4_000_000_u128, 20_000_u128);
        // Half of them at once, half after twice the mean.
        let moments = Moments::from_parts(20_000, 1, 8_000_000, mean * count, 2 * mean * mean * count);
        result.jobs[0].directions.read.total.as_mut().unwrap().moments = moments;
    };
    let steady_latency = limited_by(&result);
    assert!(steady_latency.is_none_or(|found| found.limiter != Limiter::Cap), "as even as its latencies");
    uneven(&mut result);
    check(
        &result,
        Limiter::Cap,
        99.9..=100.1,
        "a plateau of 1,540 IOPS ± 0.14 %, where its latencies would make it ± 2.5 %",
    );
    each(&mut result, |interval| {
        interval.workers.iter_mut().for_each(|worker| worker.on_cpu = Some(Nanos::from_millis(700)))
    });
    assert!(limited_by(&result).is_none_or(|found| found.limiter != Limiter::Cap), "the tester is busy");
}

#[test]
fn durable_writes_one_at_a_time_wait_for_the_flush() {
    let mut result = run(700, 1);
    let job = &mut result.jobs[0];
    job.directions.write = std::mem::take(&mut job.directions.read);
    workload(&mut result).flushes.by_each_write = true;
    check(&result, Limiter::Flush, 94.0..=96.0, "each write waits until it is durable, 95 % of the time");
    each(&mut result, |interval| {
        interval.devices[0].in_queue_ms = 8_000;
        interval.devices[0].busy_ms = 990;
    });
    check(&result, Limiter::Device, 98.0..=100.0, "at work");
}

#[test]
fn what_serves_the_file_system_is_named() {
    let mut result = run(0, 0);
    let mount = MountFacts { point: "/remote".into(), kind: "fuse.sshfs".into(), ..MountFacts::default() };
    monitored(&mut result).targets[0].mount = Some(mount);
    check(&result, Limiter::Server, 94.0..=96.0, "for the server of fuse.sshfs at /remote");
    monitored(&mut result).targets[0].mount.as_mut().unwrap().kind = "ext4".into();
    assert!(limited_by(&result).is_none_or(|found| found.limiter != Limiter::Server));
}

/// 8 workers write one file from its end, with direct=1.
fn extending(busy_ms: u64) -> RunResult {
    let mut result = run(busy_ms, 1);
    let job = &mut result.jobs[0];
    (job.echo.direct, job.echo.paths) = (true, vec!["a".into()]);
    job.directions.write = std::mem::take(&mut job.directions.read);
    job.directions.write.bytes = 20_000 * 8192;
    each(&mut result, |interval| {
        interval.bytes.swap(0, 1);
        interval.ios.swap(0, 1);
        let device = &mut interval.devices[0];
        device.writes = std::mem::take(&mut device.reads);
        device.writes.ticks_ms = 980;
    });
    monitored(&mut result).targets[0].past_end_bytes = Some(20_000 * 8192);
    result
}

#[test]
fn writers_that_extend_a_file_wait_for_each_other() {
    let lock = "for each other, in the file system, which extends a file write by write";
    check(&extending(970), Limiter::FileSystemLock, 80.0..=95.0, lock);
    check(&extending(700), Limiter::FileSystemLock, 80.0..=95.0, lock);
    let mut into_holes = extending(970);
    let target = &mut monitored(&mut into_holes).targets[0];
    (target.past_end_bytes, target.unwritten_bytes) = (Some(0), Some(20_000 * 8192));
    check(&into_holes, Limiter::FileSystemLock, 80.0..=95.0, "for each other, in the file system");
    let mut overwrites = extending(970);
    monitored(&mut overwrites).targets[0].past_end_bytes = Some(0);
    check(&overwrites, Limiter::Device, 96.9..=97.1, "1 of 8 I/Os in flight at a time: the others waited for it");
}

#[test]
fn a_device_that_does_one_at_a_time_is_the_limit_of_a_queue() {
    let with = |busy_ms, queue| {
        let mut result = run(busy_ms, queue);
        result.jobs[0].echo.direct = true;
        result
    };
    check(&with(980, 1), Limiter::Device, 97.9..=98.1, "had 1 of 8 I/Os in flight at a time");
    check(&with(700, 1), Limiter::Depth, 90.0..=100.0, "more could bring more");
    let mut two = with(980, 1);
    monitored(&mut two).devices.push(DeviceFacts {
        name: "sdb".into(),
        top: true,
        leaf: true,
        ..DeviceFacts::default()
    });
    each(&mut two, |interval| interval.devices.push(DeviceGain::default()));
    check(&two, Limiter::Depth, 90.0..=100.0, "more could bring more");
    let mut buffered = with(980, 1);
    buffered.jobs[0].echo.direct = false;
    check(&buffered, Limiter::Depth, 90.0..=100.0, "more could bring more");
    let mut shallow = with(980, 1);
    (shallow.jobs[0].workers, shallow.jobs[0].directions.read.total.as_mut().unwrap().moments) =
        (1, Moments::from_parts(20_000, 490_000, 490_000, 490_000 * 20_000, 490_000 * 490_000 * 20_000));
    check(&shallow, Limiter::Depth, 90.0..=100.0, "one I/O in flight at most");
}

/// The run with all of its 80 s of I/Os recorded, as percent of their time by part.
fn recorded(mut result: RunResult, parts: &[(&str, u64)]) -> RunResult {
    let time = |(name, percent): &(&str, u64)| ((*name).to_owned(), Nanos::from_millis(800 * percent));
    result.layers = Some(Box::new(model::Layers {
        recorded: Nanos::from_secs(10),
        ios: 20_000,
        parts: model::Named(parts.iter().map(time).collect()),
        ..model::Layers::default()
    }));
    result
}

#[test]
fn a_wait_that_was_measured_is_the_limit() {
    for (part, limiter) in [
        ("throttle", Limiter::Cap),
        ("lock or other wait", Limiter::FileSystemLock),
        ("journal", Limiter::Flush),
        ("dirty limit", Limiter::Device),
        ("waking up", Limiter::ClientCpu),
    ] {
        let said = format!("{part} had 60 % of the time of the I/Os, measured");
        check(&recorded(run(990, 8), &[("device", 40), (part, 60)]), limiter, 60.0..=60.0, &said);
    }
    let mut throttled = recorded(run(300, 1), &[("throttle", 97), ("device", 3)]);
    let limit = model::GroupLimit {
        group: "/a".into(),
        device: "8:0".into(),
        reads_per_second: Some(300),
        ..Default::default()
    };
    throttled.layers.as_mut().unwrap().limits = vec![limit];
    let said =
        "throttle had 97 % of the time of the I/Os, measured: control group /a, device 8:0, 300 reads per second";
    check(&throttled, Limiter::Cap, 97.0..=97.0, said);
    workload(&mut throttled).pace.iops.read = Some(250);
    check(&throttled, Limiter::Cap, 99.9..=100.0, "the plan's own rate_iops");
}

#[test]
fn what_is_inferred_agrees_with_what_was_measured() {
    let said = "on average; device had 92 % of the time of the I/Os, measured";
    check(&recorded(run(990, 8), &[("device", 92), ("waking up", 8)]), Limiter::Device, 98.9..=99.1, said);
    let mut elsewhere = run(200, 1);
    each(&mut elsewhere, |interval| interval.devices[0].reads.ticks_ms = 500);
    let lock = |parts| recorded(elsewhere.clone(), parts);
    let some = lock(&[("lock or other wait", 45), ("device", 30), ("file system", 25)]);
    check(&some, Limiter::FileSystemLock, 50.0..=100.0, "file system; lock or other wait had 45 % of the time");
    let none = lock(&[("device", 90), ("lock or other wait", 10)]);
    assert_ne!(limited_by(&none).map(|found| found.limiter), Some(Limiter::FileSystemLock));
    let mut flat = run(990, 8);
    each(&mut flat, |interval| interval.ios = [3_001, 0, 0]);
    check(&flat, Limiter::Cap, 99.9..=100.0, "plateau");
    check(&recorded(flat, &[("lock or other wait", 90), ("device", 10)]), Limiter::FileSystemLock, 90.0..=90.0, "lock");
}

#[test]
fn a_recording_of_a_part_of_the_run_decides_nothing() {
    let parts = [("waking up", 90), ("device", 10)];
    let mut result = recorded(run(990, 8), &parts);
    result.layers.as_mut().unwrap().ios = 17_000;
    check(&result, Limiter::Device, 98.9..=99.1, "at work");
    assert!(!limited_by(&result).unwrap().sentence.contains("measured"), "15 % of the I/Os are not known");
    let mut idle = recorded(run(990, 8), &parts);
    for (_, time) in &mut idle.layers.as_mut().unwrap().parts.0 {
        *time = Nanos(time.get() / 4);
    }
    assert_ne!(
        limited_by(&idle).map(|found| found.limiter),
        Some(Limiter::ClientCpu),
        "I/Os are a quarter of the time"
    );
    assert_eq!(crate::limited_by_part(&idle).map(|found| found.limiter), Some(Limiter::ClientCpu));
}

#[test]
fn checks_say_what_was_measured() {
    let notes = |result: &RunResult, id: &str| -> Vec<String> {
        let notes = crate::check(result).into_iter().filter(|note| note.check == id);
        notes.map(|note| note.sentence).collect()
    };
    let throttled = recorded(run(300, 1), &[("throttle", 97), ("device", 3)]);
    let said = "throttle had 97 % of the time of the I/Os, measured: a limiter, not a device";
    assert_eq!(notes(&throttled, "limiter"), [said]);
    let waking = recorded(run(300, 1), &[("waking up", 70), ("device", 30)]);
    let said = "waking up had 70 % of the time of the I/Os, measured: the tester, not the disk, was the limit";
    assert_eq!(notes(&waking, "client CPU"), [said]);
    let clean = recorded(run(990, 8), &[("device", 95), ("waking up", 5)]);
    assert_eq!([notes(&clean, "limiter"), notes(&clean, "client CPU")], [Vec::<String>::new(), Vec::new()]);
}
