//! The monitor of a run: samples devices, CPUs, pressure, control groups and workers once per interval.
//!
//! Owns the schedule of samples, their cost, and the series of intervals. Leaves the counters to `devices`, `machine`
//! and `workers`, the facts about targets to `targets`, and the data types to `model`.

use crate::devices::Devices;
use crate::machine::{MachineCounters, group_counters};
use crate::surroundings::Processors;
use crate::targets::{self, Target};
use crate::workers::{WorkerCounters, WorkerSeen};
use measure::{Histogram, Nanos, unix_ms};
use model::{DeviceUsage, Interval, LatencyCounts, LimitChange, LowestTraffic, Monitored};
use std::path::{Path, PathBuf};
use sys::processes::cgroup::Groups;

/// Most intervals kept: when the limit is reached, adjacent intervals are merged, and later ones are twice as long.
const INTERVALS_MAX: usize = 512;
/// Most changes of limits that are kept.
const CHANGES_MAX: usize = 64;
/// Limits of a control group are read again after this time: they are a dozen files.
const LIMITS_PAUSE: Nanos = Nanos::from_secs(5);
/// Most workers whose main threads are sampled, which bounds the duration of a sample.
const WORKERS_MAX: usize = 64;
/// Pause after a sample, in multiples of its CPU time: together with the reads between samples, the monitor uses less
/// than 0.2 % of a CPU, even on machines with many devices.
const PAUSE_PER_COST: u64 = 1000;

/// How the time between samples goes on in a long run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// It doubles whenever kept intervals are merged: a day needs no more samples than an hour.
    #[default]
    Stretching,
    /// It stays, for those who follow the run while it goes on. What is kept is the same.
    Constant,
}

/// Samples a run from the parent process. Times are those of the run's clock.
#[derive(Debug)]
pub struct Recorder {
    root: PathBuf,
    began: Nanos,
    pause: Nanos,
    pace: Pace,
    /// Least length of a kept interval.
    length: Nanos,
    due: Nanos,
    /// The last interval as it was sampled, whatever it is merged with.
    latest: Interval,
    /// Time from which on the limits of the control group are read again.
    limits_due: Nanos,
    /// Control groups of the workers, each once; that of this process until a worker is found in another.
    groups: Vec<Groups>,
    devices: Devices,
    processors: Processors,
    last: MachineCounters,
    workers: Vec<WorkerCounters>,
    worker_groups: Vec<Groups>,
    /// Bytes and I/Os of all workers at the last sample, per direction.
    totals: ([u64; 3], [u64; 3]),
    latencies: LatencyReadings,
    found: Monitored,
}

/// Everything recorded during a run: three views of the same samples of devices, and the other signals.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRecording {
    /// Use of each device, as in [`Recorder::device_usage`].
    pub devices: Vec<DeviceUsage>,
    /// Bytes transferred by the devices at the bottom of the stacks, for any process. `None` if the device of a path is
    /// unknown.
    pub lowest_traffic: Option<LowestTraffic>,
    /// The series of intervals, with the facts about devices and targets.
    pub monitored: Monitored,
    /// The last interval, as [`Recorder::latest`].
    pub latest: Interval,
}

/// Latencies of all workers since their start, at the last sample and for the next one.
#[derive(Debug, Default)]
struct LatencyReadings {
    then: Option<Box<[Histogram; 4]>>,
    now: Option<Box<[Histogram; 4]>>,
    cost: Nanos,
}

impl LatencyReadings {
    fn gain(&mut self) -> [LatencyCounts; 4] {
        let Some(now) = self.now.take() else { return Default::default() };
        let gained = match &self.then {
            Some(then) => std::array::from_fn(|at| LatencyCounts::gained(&now[at], &then[at])),
            None => now.each_ref().map(|now| LatencyCounts::gained(now, &Histogram::new())),
        };
        self.then = Some(now);
        gained
    }
}

impl Recorder {
    /// Takes the first reading of all counters at `now`. `paths` are the files whose devices are recorded. A sample is
    /// due every `interval`, or less often on a machine on which sampling is expensive.
    pub fn start(root: &Path, paths: &[&Path], interval: Nanos, now: Nanos) -> Self {
        let cost = Cost::begin();
        let devices = Devices::start(root, paths, now);
        let groups = vec![Groups::own(root).unwrap_or_default()];
        let found = Monitored {
            began_unix_ms: unix_ms(),
            devices: devices.facts().cloned().collect(),
            group_limits: targets::group_limits(root, &groups[0]),
            hypervisor: sys::machine::host::hypervisor(root),
            ..Monitored::default()
        };
        let processors = Processors::find(root);
        let last = MachineCounters::read(root, &groups, &processors);
        let mut recorder = Recorder {
            root: root.to_owned(),
            began: now,
            pause: interval,
            pace: Pace::default(),
            length: interval,
            latest: Interval::default(),
            limits_due: now.saturating_add(LIMITS_PAUSE),
            due: now.saturating_add(interval),
            groups,
            devices,
            processors,
            last,
            workers: Vec::new(),
            worker_groups: Vec::new(),
            totals: Default::default(),
            latencies: LatencyReadings::default(),
            found,
        };
        recorder.found.own_cpu = cost.taken();
        recorder
    }

    /// The same with this pace.
    #[must_use]
    pub fn at(self, pace: Pace) -> Self {
        Recorder { pace, ..self }
    }

    /// Reads the facts about targets whose I/O is about to begin; those already known are not read again.
    pub fn begin_targets(&mut self, targets: &[Target]) {
        let cost = Cost::begin();
        targets::begin(&self.root, targets, &mut self.found.targets);
        self.found.own_cpu = self.found.own_cpu.saturating_add(cost.taken());
    }

    /// Finds the control groups of workers that are not in the group of this process. From here on, their groups
    /// provide the counters and, if all workers are in the same group, the limits.
    pub fn begin_workers(&mut self, workers: &[WorkerSeen]) {
        let cost = Cost::begin();
        let mut found: Vec<Groups> = std::mem::take(&mut self.worker_groups);
        let threads = workers.iter().take(WORKERS_MAX).filter_map(|worker| worker.thread);
        for groups in threads.filter_map(|thread| Groups::of_thread(&self.root, thread).ok()) {
            if !found.contains(&groups) {
                found.push(groups);
            }
        }
        self.worker_groups.clone_from(&found);
        if !found.is_empty() && found != self.groups {
            self.groups = found;
            // The next interval is the difference to this reading: counters of other groups must not be subtracted.
            self.last.group = group_counters(&self.groups);
            self.found.group_limits = match self.groups.as_slice() {
                [one] => targets::group_limits(&self.root, one),
                _ => None,
            };
            self.found.limit_changes.clear();
        }
        self.found.own_cpu = self.found.own_cpu.saturating_add(cost.taken());
    }

    /// Stores the latencies returned by `read`, per direction and then of syncs, since the workers' start, for the next
    /// sample. The CPU time of `read` is added to that sample's cost.
    pub fn read_latencies(&mut self, read: impl FnOnce() -> Option<Box<[Histogram; 4]>>) {
        let cost = Cost::begin();
        self.latencies.now = read();
        self.latencies.cost = cost.taken();
    }

    /// True if a sample is due at `now`.
    pub fn is_due(&self, now: Nanos) -> bool {
        now >= self.due
    }

    /// Reads all counters at `now`, which ends the interval.
    pub fn sample(&mut self, now: Nanos, workers: &[WorkerSeen]) {
        let cost = Cost::begin();
        // Devices are read first, as close to `now` as possible: utilization is their busy time divided by the elapsed
        // time.
        self.devices.read(now);
        for (index, worker) in workers.iter().take(WORKERS_MAX).enumerate() {
            self.read_worker(index, worker);
        }
        self.read_limits(now);
        self.latest = self.gained(now, workers);
        self.keep();
        // The interval's length, which doubles with each merge, and the pause after expensive samples both bound the
        // cost.
        let taken = cost.taken().saturating_add(std::mem::take(&mut self.latencies.cost));
        self.found.own_cpu = self.found.own_cpu.saturating_add(taken);
        self.due = now.saturating_add(self.pause.max(Nanos(taken.get().saturating_mul(PAUSE_PER_COST))));
    }

    /// Notes a change of the control group's limits. If the workers are in several groups, there is no limit of all.
    fn read_limits(&mut self, now: Nanos) {
        if now < self.limits_due {
            return;
        }
        self.limits_due = now.saturating_add(LIMITS_PAUSE);
        let [one] = self.groups.as_slice() else { return };
        let known = self.found.limit_changes.last().map(|change| &change.limits).or(self.found.group_limits.as_ref());
        let Some(limits) = targets::group_limits(&self.root, one) else { return };
        if known != Some(&limits) && self.found.limit_changes.len() < CHANGES_MAX {
            self.found.limit_changes.push(LimitChange { at: now.saturating_sub(self.began), limits });
        }
    }

    /// Keeps the last interval: as it is, or merged into one that is too short as yet.
    fn keep(&mut self) {
        let kept = &mut self.found.intervals;
        let began = kept.iter().rev().nth(1).map_or(Nanos::ZERO, |before| before.until);
        match kept.last_mut().filter(|last| last.until.saturating_sub(began) < self.length) {
            Some(last) if self.pace == Pace::Constant => last.append(&self.latest),
            _ => kept.push(self.latest.clone()),
        }
        if kept.len() >= INTERVALS_MAX {
            halve(kept);
            self.length = self.length.saturating_add(self.length);
            if self.pace == Pace::Stretching {
                self.pause = self.length;
            }
        }
    }

    /// The interval that the last sample ended.
    pub fn latest(&self) -> &Interval {
        &self.latest
    }

    /// Everything recorded up to the last sample, except for what targets are like at the end.
    pub fn so_far(&self) -> &Monitored {
        &self.found
    }

    /// Reads a worker's counters between two samples, because they disappear from /proc when it exits.
    pub fn read_worker(&mut self, index: usize, worker: &WorkerSeen) {
        let Some(thread) = worker.thread.filter(|_| index < WORKERS_MAX) else { return };
        if self.workers.len() <= index {
            self.workers.resize(index + 1, WorkerCounters::default());
        }
        self.workers[index].read(&self.root, thread, worker);
    }

    /// Reads the devices' counters between two samples, for an intermediate report; the interval continues.
    pub fn read_devices(&mut self, now: Nanos) {
        let cost = Cost::begin();
        self.devices.read(now);
        self.found.own_cpu = self.found.own_cpu.saturating_add(cost.taken());
    }

    /// Use of each device under the paths from the start to its last reading: the devices that hold a path, each
    /// followed by its member devices.
    pub fn device_usage(&self) -> Vec<DeviceUsage> {
        self.devices.usage()
    }

    /// Ends the last interval at `now` and returns everything that was recorded.
    pub fn finish(mut self, now: Nanos, workers: &[WorkerSeen]) -> RunRecording {
        self.sample(now, workers);
        targets::end(&mut self.found.targets);
        RunRecording {
            devices: self.devices.usage(),
            lowest_traffic: self.devices.lowest_traffic(),
            monitored: self.found,
            latest: self.latest,
        }
    }

    fn gained(&mut self, now: Nanos, workers: &[WorkerSeen]) -> Interval {
        let mut totals = <([u64; 3], [u64; 3])>::default();
        for worker in workers {
            for direction in 0..3 {
                totals.0[direction] += worker.bytes[direction];
                totals.1[direction] += worker.ios[direction];
            }
        }
        let since =
            |now: &[u64; 3], then: &[u64; 3]| std::array::from_fn(|index| now[index].saturating_sub(then[index]));
        let read = MachineCounters::read(&self.root, &self.groups, &self.processors);
        let [reads, writes, trims, sync_latencies] = self.latencies.gain();
        let interval = Interval {
            until: now.saturating_sub(self.began),
            measuring: u32::try_from(workers.iter().filter(|worker| worker.measuring).count()).unwrap_or(u32::MAX),
            bytes: since(&totals.0, &self.totals.0),
            ios: since(&totals.1, &self.totals.1),
            latencies: [reads, writes, trims],
            sync_latencies,
            devices: self.devices.end_interval(),
            cpu: read.cpu_since(&self.last),
            pressure: read.pressure_since(&self.last),
            group: read.group_since(&self.last),
            processor_throttles: read.throttles_since(&self.last),
            workers: self.workers.iter_mut().map(WorkerCounters::end_interval).collect(),
        };
        (self.last, self.totals) = (read, totals);
        interval
    }
}

/// CPU time of this thread, measured from [`Cost::begin`].
struct Cost(u64);

impl Cost {
    fn begin() -> Self {
        Cost(sys::processes::usage::thread_cpu_ns())
    }

    fn taken(&self) -> Nanos {
        Nanos(sys::processes::usage::thread_cpu_ns().saturating_sub(self.0))
    }
}

/// Merges adjacent pairs of intervals. This loses no counts: intervals hold differences of counters, which add up.
fn halve(intervals: &mut Vec<Interval>) {
    let pairs = std::mem::take(intervals);
    for (index, interval) in pairs.into_iter().enumerate() {
        match intervals.last_mut().filter(|_| index % 2 == 1) {
            Some(first) => first.append(&interval),
            None => intervals.push(interval),
        }
    }
}
