//! The monitor of a run: samples devices, processors, pressure, control group and workers, interval after interval.
//!
//! Owns what is read and when it costs too much. Leaves the shapes to `model`, what lies under a path to `stack`, and
//! the facts of targets to `targets`.

use crate::counters::{DeviceCounters, OperationCounters};
use crate::cpu::CpuCounters;
use crate::stack::{self, Watched};
use crate::targets::{self, Target};
use measure::{Histogram, Nanos};
use model::{
    CpuTicks, DeviceGain, GroupGain, Interval, LatencyCounts, Monitored, PressureGain, RequestGain, WorkerGain,
};
use std::path::{Path, PathBuf};
use sys::cgroup::{Counters, Groups};
use sys::host::{Pressure, Resource, pressure};

/// Most intervals that are kept: at this number two become one, and the next ones last twice as long.
const INTERVALS_MAX: usize = 512;
/// Workers whose main threads are looked at.
const WORKERS_MAX: usize = 64;
/// A sample that took a certain CPU time is followed by a pause of so many times that: less than 0.2 % of a processor.
const PAUSE_PER_COST: u64 = 1000;

/// Whose account in /proc is a worker's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Account {
    /// Its process has it alone.
    Process,
    /// It shares its process with others.
    Thread,
}

/// What the parent knows of a worker at a sample.
#[derive(Clone, Copy, Debug)]
pub struct WorkerSeen {
    /// Its thread; `None` before it runs.
    pub thread: Option<u32>,
    /// Whose account is its own.
    pub account: Account,
    /// Whether it is in the measured part of its I/O.
    pub measuring: bool,
    /// Bytes of its finished I/O so far: read, written, trimmed.
    pub bytes: [u64; 3],
    /// Its finished I/Os so far.
    pub ios: [u64; 3],
}

/// Samples a run from beside it.
#[derive(Debug)]
pub struct Recorder {
    root: PathBuf,
    began: Nanos,
    pause: Nanos,
    due: Nanos,
    /// Those of the workers, each once; of this process until a worker is known to be elsewhere.
    groups: Vec<Groups>,
    devices: Vec<Watched>,
    last: Readings,
    workers: Vec<WorkerReading>,
    worker_groups: Vec<Groups>,
    totals: ([u64; 3], [u64; 3]),
    latencies: LatenciesRead,
    found: Monitored,
}

/// The machine's counters as they were read last.
#[derive(Debug, Default)]
struct Readings {
    cpu: Option<CpuCounters>,
    pressures: [Option<Pressure>; 3],
    group: Counters,
}

/// The workers' latencies so far, as of the last sample and for the next one.
#[derive(Debug, Default)]
struct LatenciesRead {
    then: Option<Box<[Histogram; 3]>>,
    now: Option<Box<[Histogram; 3]>>,
    cost: Nanos,
}

impl LatenciesRead {
    fn gain(&mut self) -> [LatencyCounts; 3] {
        let Some(now) = self.now.take() else { return Default::default() };
        let gained = match &self.then {
            Some(then) => std::array::from_fn(|at| LatencyCounts::gained(&now[at], &then[at])),
            None => now.each_ref().map(|now| LatencyCounts::gained(now, &Histogram::new())),
        };
        self.then = Some(now);
        gained
    }
}

/// A worker's counters, as of the last interval and as of the last look.
#[derive(Clone, Copy, Debug, Default)]
struct WorkerReading {
    told: WorkerGain,
    latest: WorkerGain,
}

impl Recorder {
    /// Reads everything for the first time, at `now`. `interval` is how often samples are due; a machine on which
    /// they cost too much is looked at less often.
    pub fn start(root: &Path, paths: &[&Path], interval: Nanos, now: Nanos) -> Self {
        let cost = Cost::begin();
        let devices = stack::under(root, paths);
        let groups = vec![Groups::own(root).unwrap_or_default()];
        let found = Monitored {
            began_unix_ms: unix_ms(),
            devices: devices.iter().map(|watched| watched.facts.clone()).collect(),
            group_limits: targets::group_limits(root, &groups[0]),
            hypervisor: sys::host::hypervisor(root),
            ..Monitored::default()
        };
        let mut recorder = Recorder {
            root: root.to_owned(),
            began: now,
            pause: interval,
            due: now.saturating_add(interval),
            groups,
            devices,
            last: Readings::default(),
            workers: Vec::new(),
            worker_groups: Vec::new(),
            totals: Default::default(),
            latencies: LatenciesRead::default(),
            found,
        };
        recorder.last = recorder.read();
        recorder.found.own_cpu = cost.taken();
        recorder
    }

    /// Looks at targets whose I/O is about to begin; those that are known already stay as they were.
    pub fn begin_targets(&mut self, targets: &[Target]) {
        let cost = Cost::begin();
        targets::begin(&self.root, targets, &mut self.found.targets);
        self.found.own_cpu = self.found.own_cpu.saturating_add(cost.taken());
    }

    /// Looks for the control groups of workers that joined one of their own: from here on theirs are the counters and,
    /// where all are in the same, the limits.
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
            self.last.group = group_counters(&self.groups);
            self.found.group_limits = match self.groups.as_slice() {
                [one] => targets::group_limits(&self.root, one),
                _ => None,
            };
        }
        self.found.own_cpu = self.found.own_cpu.saturating_add(cost.taken());
    }

    /// Takes the workers' latencies so far, per direction, for the next sample; `read` gives them, and its cost counts
    /// with that of the sample.
    pub fn read_latencies(&mut self, read: impl FnOnce() -> Option<Box<[Histogram; 3]>>) {
        let cost = Cost::begin();
        self.latencies.now = read();
        self.latencies.cost = cost.taken();
    }

    /// Whether a sample is due at `now`.
    pub fn is_due(&self, now: Nanos) -> bool {
        now >= self.due
    }

    /// Ends an interval at `now`.
    pub fn sample(&mut self, now: Nanos, workers: &[WorkerSeen]) {
        let cost = Cost::begin();
        for (index, worker) in workers.iter().take(WORKERS_MAX).enumerate() {
            self.look_at(index, worker);
        }
        let interval = self.gained(now, workers);
        self.found.intervals.push(interval);
        if self.found.intervals.len() >= INTERVALS_MAX {
            halve(&mut self.found.intervals);
            self.pause = self.pause.saturating_add(self.pause);
        }
        let taken = cost.taken().saturating_add(std::mem::take(&mut self.latencies.cost));
        self.found.own_cpu = self.found.own_cpu.saturating_add(taken);
        self.due = now.saturating_add(self.pause.max(Nanos(taken.get().saturating_mul(PAUSE_PER_COST))));
    }

    /// Looks at a worker once more before it goes: its account goes with it.
    pub fn look_at(&mut self, index: usize, worker: &WorkerSeen) {
        let Some(thread) = worker.thread.filter(|_| index < WORKERS_MAX) else { return };
        if self.workers.len() <= index {
            self.workers.resize(index + 1, WorkerReading::default());
        }
        let mut latest = worker_reading(&self.root, thread, worker.account);
        latest.ios = worker.ios.iter().sum();
        let before = self.workers[index].latest;
        // What cannot be read any more stays as it was.
        latest.on_cpu = latest.on_cpu.or(before.on_cpu);
        latest.run_delay = latest.run_delay.or(before.run_delay);
        latest.switches = latest.switches.or(before.switches);
        latest.io_bytes = latest.io_bytes.or(before.io_bytes);
        self.workers[index].latest = latest;
    }

    /// Ends the last interval and gives everything that was seen.
    pub fn finish(mut self, now: Nanos, workers: &[WorkerSeen]) -> Monitored {
        self.sample(now, workers);
        targets::end(&mut self.found.targets);
        self.found
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
        let read = self.read();
        let interval = Interval {
            until: now.saturating_sub(self.began),
            measuring: u32::try_from(workers.iter().filter(|worker| worker.measuring).count()).unwrap_or(u32::MAX),
            bytes: since(&totals.0, &self.totals.0),
            ios: since(&totals.1, &self.totals.1),
            latencies: self.latencies.gain(),
            devices: self.devices.iter_mut().map(gain_of).collect(),
            cpu: read.cpu.zip(self.last.cpu).map(|(now, then)| ticks(&now, &then)),
            pressure: pressure_gain(&read.pressures, &self.last.pressures),
            group: group_gain(&read.group, &self.last.group),
            workers: self.workers.iter_mut().map(WorkerReading::gain).collect(),
        };
        (self.last, self.totals) = (read, totals);
        interval
    }

    fn read(&self) -> Readings {
        let stat = std::fs::read_to_string(self.root.join("proc/stat")).unwrap_or_default();
        let resources = [Resource::Cpu, Resource::Memory, Resource::Io];
        Readings {
            cpu: CpuCounters::parse(&stat),
            pressures: resources.map(|resource| pressure(&self.root, resource)),
            group: group_counters(&self.groups),
        }
    }
}

/// What several groups did together; an account that two of them share counts once.
fn group_counters(groups: &[Groups]) -> Counters {
    let both = |one: Option<(u64, u64)>, other: Option<(u64, u64)>| match (one, other) {
        (Some(one), Some(other)) => Some((one.0.saturating_add(other.0), one.1.saturating_add(other.1))),
        (one, other) => one.or(other),
    };
    let sum = |one: Option<u64>, other: Option<u64>| both(one.map(|one| (one, 0)), other.map(|other| (other, 0)));
    let sum = |one, other| sum(one, other).map(|(sum, _)| sum);
    let mut all = Counters::default();
    for (at, one) in groups.iter().enumerate() {
        let found = one.counters();
        if !groups[..at].iter().any(|other| other.share_devices(one)) {
            all.io_bytes = both(all.io_bytes, found.io_bytes);
            all.io_requests = both(all.io_requests, found.io_requests);
        }
        if !groups[..at].iter().any(|other| other.share_processors(one)) {
            all.cpu_us = sum(all.cpu_us, found.cpu_us);
            all.throttled_periods = sum(all.throttled_periods, found.throttled_periods);
            all.throttled_us = sum(all.throttled_us, found.throttled_us);
        }
    }
    all
}

/// CPU time that something takes.
struct Cost(u64);

impl Cost {
    fn begin() -> Self {
        Cost(sys::usage::thread_cpu_ns())
    }

    fn taken(&self) -> Nanos {
        Nanos(sys::usage::thread_cpu_ns().saturating_sub(self.0))
    }
}

fn unix_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Makes two neighbours one, all along.
fn halve(intervals: &mut Vec<Interval>) {
    let pairs = std::mem::take(intervals);
    for (index, interval) in pairs.into_iter().enumerate() {
        match intervals.last_mut().filter(|_| index % 2 == 1) {
            Some(first) => first.append(&interval),
            None => intervals.push(interval),
        }
    }
}

fn gain_of(watched: &mut Watched) -> DeviceGain {
    let read = watched.device.counters().and_then(|text| DeviceCounters::parse(&text));
    let Some(counters) = read else { return DeviceGain::default() };
    let gained = counters.since(&watched.last);
    watched.last = counters;
    DeviceGain::from(&gained)
}

impl From<&OperationCounters> for RequestGain {
    fn from(gained: &OperationCounters) -> Self {
        let OperationCounters { ios, merges, sectors, ticks_ms } = *gained;
        RequestGain { ios, merges, sectors, ticks_ms }
    }
}

impl From<&DeviceCounters> for DeviceGain {
    fn from(gained: &DeviceCounters) -> Self {
        DeviceGain {
            reads: (&gained.reads).into(),
            writes: (&gained.writes).into(),
            discards: gained.discards.as_ref().map(RequestGain::from),
            flushes: gained.flushes.map(|flushes| (flushes.ios, flushes.ticks_ms)),
            in_flight: gained.in_flight,
            busy_ms: gained.busy_ms,
            in_queue_ms: gained.in_queue_ms,
        }
    }
}

/// A share whose ticks fell (iowait may, see proc(5)) gained nothing.
fn ticks(now: &CpuCounters, then: &CpuCounters) -> CpuTicks {
    let gained = |of: fn(&CpuCounters) -> u64| of(now).saturating_sub(of(then));
    CpuTicks {
        user: gained(|cpu| cpu.user) + gained(|cpu| cpu.nice),
        system: gained(|cpu| cpu.system) + gained(|cpu| cpu.irq) + gained(|cpu| cpu.softirq),
        iowait: gained(|cpu| cpu.iowait),
        steal: gained(|cpu| cpu.steal),
        idle: gained(|cpu| cpu.idle),
    }
}

fn pressure_gain(now: &[Option<Pressure>; 3], then: &[Option<Pressure>; 3]) -> Option<PressureGain> {
    let gained = |index: usize| {
        let (now, then) = (now[index]?, then[index]?);
        let full = now.full_us.unwrap_or(0).saturating_sub(then.full_us.unwrap_or(0));
        Some((now.some_us.saturating_sub(then.some_us), full))
    };
    let found = PressureGain { cpu_us: gained(0), memory_us: gained(1), io_us: gained(2) };
    (found != PressureGain::default()).then_some(found)
}

fn group_gain(now: &Counters, then: &Counters) -> Option<GroupGain> {
    let since = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
    let both = |now: Option<(u64, u64)>, then: Option<(u64, u64)>| {
        let (now, then) = (now?, then?);
        Some((now.0.saturating_sub(then.0), now.1.saturating_sub(then.1)))
    };
    let found = GroupGain {
        cpu_us: since(now.cpu_us, then.cpu_us),
        throttled_periods: since(now.throttled_periods, then.throttled_periods),
        throttled_us: since(now.throttled_us, then.throttled_us),
        io_bytes: both(now.io_bytes, then.io_bytes),
        io_requests: both(now.io_requests, then.io_requests),
    };
    (found != GroupGain::default()).then_some(found)
}

impl WorkerReading {
    /// What came since the last interval; counters of a new worker begin at 0.
    fn gain(&mut self) -> WorkerGain {
        let (now, then) = (self.latest, std::mem::replace(&mut self.told, self.latest));
        let time = |now: Option<Nanos>, then: Option<Nanos>| Some(now?.saturating_sub(then.unwrap_or_default()));
        WorkerGain {
            on_cpu: time(now.on_cpu, then.on_cpu),
            run_delay: time(now.run_delay, then.run_delay),
            switches: now.switches.map(|switches| switches.saturating_sub(then.switches.unwrap_or(0))),
            io_bytes: now.io_bytes.map(|now| {
                let then = then.io_bytes.unwrap_or_default();
                std::array::from_fn(|index| now[index].saturating_sub(then[index]))
            }),
            ios: now.ios.saturating_sub(then.ios),
        }
    }
}

/// A worker's counters since it began, `ios` apart.
fn worker_reading(root: &Path, thread: u32, account: Account) -> WorkerGain {
    let process = root.join(format!("proc/{thread}"));
    let own = process.join(format!("task/{thread}"));
    let schedstat = std::fs::read_to_string(own.join("schedstat")).unwrap_or_default();
    let mut numbers = schedstat.split_ascii_whitespace().map_while(|field| field.parse::<u64>().ok());
    let (on_cpu, run_delay, switches) = (numbers.next(), numbers.next(), numbers.next());
    let io = match account {
        Account::Process => process.join("io"),
        Account::Thread => own.join("io"),
    };
    let io = std::fs::read_to_string(io).unwrap_or_default();
    WorkerGain {
        on_cpu: on_cpu.map(Nanos),
        run_delay: run_delay.map(Nanos),
        switches,
        io_bytes: crate::process::io_bytes(&io),
        ios: 0,
    }
}
