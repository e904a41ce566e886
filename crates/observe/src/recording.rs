//! A recording: events of the watched threads and of the block layer, read into I/Os.

use crate::ObserveError;
use crate::block::DeviceBusy;
use crate::calls::{Call, Does};
use crate::event::{Event, Thread, What};
use crate::events::{Events, Way};
use crate::io::{Direction, Io, Part, Reach};
use crate::join::{Counts, Joiner, Scope, Stream};
use crate::process::{self, Behind, OpenFile, now};
use measure::Nanos;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use sys::devices::identity::{BlockDevice, DeviceNumber};
use sys::processes::cgroup::{Groups, IoLimit, PageCache};
use sys::processes::{placement, usage};

/// I/Os that are kept; a recording ends there.
const MOST_IOS: usize = 1_000_000;

/// State of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Going {
    /// The target is there.
    On,
    /// The target has ended.
    Ended,
    /// There is no room for more I/Os.
    Full,
}

/// Costs of the recording, and its gaps.
#[derive(Clone, Debug, Default)]
pub struct Cost {
    /// Time from the first to the last moment.
    pub time: Nanos,
    /// Processor time of the thread that recorded.
    pub processor: Nanos,
    /// Events that were read.
    pub events: u64,
    /// Events that the kernel could not keep.
    pub lost: u64,
    /// Time without events because of that, of the processor that lost most.
    pub unrecorded: Nanos,
    /// Calls that are left out because of lost events.
    pub broken: u64,
    /// The way by which the events were read; `None` if that is not known.
    pub way: Option<Way>,
    /// Why BPF was not that way.
    pub why_not_bpf: Option<String>,
}

/// A finished recording.
#[derive(Debug, Default)]
pub struct Seen {
    /// I/Os, in the order of their ends.
    pub ios: Vec<Io>,
    /// Its costs.
    pub cost: Cost,
    /// Calls on storage that had not ended at the end.
    pub open_calls: u64,
    /// I/Os of the block layer outside of calls that are recorded.
    pub outside: u64,
    /// Calls of sendfile, splice and copy_file_range, and commands of io_uring, which are not followed.
    pub not_followed: u64,
    /// Calls on descriptors that were gone before it was known what they are.
    pub unknown: u64,
    /// Requests of io_uring and libaio that were complete before their thread asked: they end there.
    pub ended_before: u64,
    /// Requests of libaio that could not be separated.
    pub unclear: u64,
    /// Events that this kernel has not.
    pub missing: Vec<String>,
    /// Limits of control groups that held I/Os back.
    pub limits: Vec<IoLimit>,
    /// How long each disk had requests.
    pub busy: Vec<DeviceBusy>,
    /// The page cache that the target uses, at the end.
    pub cache: Option<PageCache>,
    /// Names of threads that made calls or ended waits; empty if they were gone.
    pub names: HashMap<Thread, String>,
    /// Processes of threads.
    pub processes: HashMap<Thread, u32>,
    /// Files of calls; `None` for one that was not found before its descriptor was closed.
    pub files: Vec<Option<OpenFile>>,
    /// Its begin, on the clock of the I/Os.
    pub begun: Nanos,
    /// Status of the command as of wait(2), if one was recorded and has ended.
    pub status: Option<i32>,
}

/// The processes or devices that are recorded.
#[derive(Debug)]
enum Target {
    Process(u32),
    Command(Child),
    Group(PathBuf),
    Device,
    /// All that a thread of this process starts.
    Started,
}

/// Facts about the threads of the I/Os.
#[derive(Debug, Default)]
struct Facts {
    processes: FxHashMap<Thread, Option<u32>>,
    behind: FxHashMap<Descriptor, Looked>,
    /// Closes that were read, and are not joined yet: until then /proc has another file, or none.
    closing: FxHashMap<Descriptor, u32>,
    files: Vec<Option<OpenFile>>,
    limits: FxHashMap<Thread, Vec<IoLimit>>,
    names: FxHashMap<Thread, String>,
    /// Threads of the kernel that take requests from a ring: whether it is of a watched process.
    pollers: FxHashMap<Thread, bool>,
}

/// The file behind a descriptor, and when it was found.
#[derive(Clone, Copy, Debug)]
struct Looked {
    kind: Kind,
    at: Nanos,
    file: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Storage,
    Other,
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Descriptor {
    process: u32,
    number: i32,
}

/// A recording in progress.
#[derive(Debug)]
pub struct Recording {
    events: Events,
    target: Target,
    joiner: Joiner,
    /// Events that are too young.
    waiting: Vec<Event>,
    facts: Facts,
    wholes: FxHashMap<DeviceNumber, DeviceNumber>,
    ios: Vec<Io>,
    unknown: u64,
    /// Control groups of the target, which has them until it ends.
    groups: Groups,
    /// True if this kernel has the events of the page cache.
    sees_cache: bool,
    held_by: Vec<IoLimit>,
    begun: Nanos,
    used: u64,
    /// The thread that starts what is recorded. Its own calls are not.
    starter: Option<Thread>,
    /// Threads that it started, as far as they are followed.
    followed: FxHashSet<Thread>,
}

impl Recording {
    /// Records all that the calling thread starts from now on, once [`Recording::go_on`] is called: not the thread's
    /// own I/O. It and the other calls are made by this thread.
    ///
    /// # Errors
    /// The kernel gives no events.
    pub fn of_started() -> Result<Self, ObserveError> {
        let mut recording = Self::of_calls(Some(Way::Tracefs))?;
        let own = Thread(i32::try_from(placement::thread_id()).unwrap_or(0));
        recording.events.stop()?;
        recording.target = Target::Started;
        recording.starter = Some(own);
        Ok(recording)
    }

    /// This moment on the clock of the I/Os.
    pub fn now() -> Nanos {
        now()
    }

    /// Begins a recording of what this thread starts. Returns its begin, on the clock of the I/Os.
    ///
    /// # Errors
    /// A file of the kernel cannot be written.
    pub fn go_on(&mut self) -> Result<Nanos, ObserveError> {
        self.follow_started()?;
        (self.begun, self.used) = (now(), usage::thread_cpu_ns());
        self.events.go_on()?;
        Ok(self.begun)
    }

    /// Follows what the starter has started, and not the starter: to read events makes events, too.
    fn follow_started(&mut self) -> Result<(), ObserveError> {
        let (own, starter) = (std::process::id(), self.starter);
        let others = |threads: Vec<Thread>| threads.into_iter().filter(move |thread| Some(*thread) != starter);
        if self.followed.is_empty() || others(process::threads(own)).any(|one| !self.followed.contains(&one)) {
            self.followed = others(process::family(own)).collect();
            let followed: Vec<Thread> = self.followed.iter().copied().collect();
            self.events.follow(&followed)?;
        }
        Ok(())
    }

    /// Records a process with its threads and descendants.
    ///
    /// # Errors
    /// There is no such process, or the kernel gives no events.
    pub fn of_process(number: u32, way: Option<Way>) -> Result<Self, ObserveError> {
        if !Path::new(&format!("/proc/{number}")).exists() {
            return Err(ObserveError::NoTarget(format!("there is no process {number}")));
        }
        let process = process::of_thread(Thread(i32::try_from(number).unwrap_or(0))).unwrap_or(number);
        Self::of_threads(Target::Process(process), way, || process::family(process))
    }

    /// Records the processes of a control group and of those below it, by its directory.
    ///
    /// # Errors
    /// It has no processes, or the kernel gives no events.
    pub fn of_group(directory: &Path, way: Option<Way>) -> Result<Self, ObserveError> {
        if processes_of(directory).is_empty() {
            return Err(ObserveError::NoTarget(format!("{}: there is no process in it", directory.display())));
        }
        Self::of_threads(Target::Group(directory.to_owned()), way, || {
            processes_of(directory).into_iter().flat_map(process::family).collect()
        })
    }

    /// Starts a command and records it with all that it starts.
    ///
    /// # Errors
    /// It cannot be started, or the kernel gives no events.
    pub fn of_command(mut command: Command, way: Option<Way>) -> Result<Self, ObserveError> {
        let mut recording = Self::of_calls(way)?;
        let events = &mut recording.events;
        // What this thread starts is recorded from its first call on; the thread itself ends.
        let started = std::thread::scope(|scope| {
            let starter = scope.spawn(|| {
                let own = Thread(i32::try_from(placement::thread_id()).unwrap_or(0));
                events.follow(&[own])?;
                let program = command.get_program().to_owned();
                let child = command.spawn().map_err(|error| ObserveError::file(Path::new(&program), error))?;
                Ok::<Started, ObserveError>(Started { child, starter: own })
            });
            starter.join().unwrap_or_else(|_| Err(ObserveError::NoTarget("the command was not started".to_owned())))
        })?;
        recording.target = Target::Command(started.child);
        recording.starter = Some(started.starter);
        Ok(recording)
    }

    /// Records all I/Os of a device.
    ///
    /// # Errors
    /// It is not a block device, or the kernel gives no events.
    pub fn of_device(name: &Path, way: Option<Way>) -> Result<Self, ObserveError> {
        let root = Path::new("/");
        let shown = name.display();
        let none =
            || ObserveError::NoTarget(format!("{shown}: there is no such block device; lsblk lists those that are"));
        let short = name.to_str().unwrap_or_default();
        let device = if name.exists() && name.is_absolute() {
            let kind = std::fs::metadata(name).map_err(|error| ObserveError::file(name, error))?.file_type();
            if !std::os::unix::fs::FileTypeExt::is_block_device(&kind) {
                return Err(none());
            }
            BlockDevice::under(root, name)?
        } else {
            let class = root.join("sys/class/block").join(short);
            if short.is_empty() { None } else { BlockDevice::of_link(&class) }
        };
        let device = device.ok_or_else(none)?;
        let own: FxHashSet<DeviceNumber> =
            [&device].into_iter().chain(&device.partitions()).filter_map(BlockDevice::number).collect();
        let mut events = Events::of_block(way, "block")?;
        events.record_devices(&with_below(device))?;
        Ok(Self::begin(Scope::Devices(own), events))
    }

    /// Records these threads, but those of this process: to read events makes events, too.
    fn of_threads(target: Target, way: Option<Way>, threads: impl Fn() -> Vec<Thread>) -> Result<Self, ObserveError> {
        let mut recording = Self::of_calls(way)?;
        // Those that were started while they were listed.
        let mut known = Vec::new();
        loop {
            let own = process::threads(std::process::id());
            let mut now = threads();
            now.retain(|thread| !own.contains(thread));
            now.sort_unstable();
            if now.is_empty() {
                return Err(ObserveError::NoTarget("no other process than this one is left to record".to_owned()));
            }
            if now == known {
                break;
            }
            recording.events.follow(&now)?;
            known = now;
        }
        let of_target = |number| Groups::of_thread(Path::new("/"), number).ok();
        recording.groups = known.iter().find_map(|thread| of_target(u32::try_from(thread.0).ok()?)).unwrap_or_default();
        recording.target = target;
        Ok(recording)
    }

    fn of_calls(way: Option<Way>) -> Result<Self, ObserveError> {
        Ok(Self::begin(Scope::Calls, Events::of_calls(way)?))
    }

    fn begin(scope: Scope, events: Events) -> Self {
        let wholes = process::wholes();
        Recording {
            sees_cache: events.sees_cache(),
            events,
            target: Target::Device,
            joiner: Joiner::new(scope, wholes.clone()),
            waiting: Vec::new(),
            facts: Facts::default(),
            wholes,
            ios: Vec::new(),
            unknown: 0,
            groups: Groups::own(Path::new("/")).unwrap_or_default(),
            held_by: Vec::new(),
            begun: now(),
            used: usage::thread_cpu_ns(),
            starter: None,
            followed: FxHashSet::default(),
        }
    }

    /// Takes the events that there are.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn step(&mut self) -> Result<Going, ObserveError> {
        let going = self.going();
        if matches!(self.target, Target::Started) {
            self.follow_started()?;
        }
        let (before, known) = (now(), self.waiting.len());
        let complete = self.events.read(&mut self.waiting)?;
        self.sort(known);
        self.join(complete);
        self.joiner.forget(before);
        Ok(if self.ios.len() >= MOST_IOS { Going::Full } else { going })
    }

    /// The I/Os that have ended so far; more are only added.
    pub fn ios(&self) -> &[Io] {
        &self.ios
    }

    /// Events so far: those that were read, and those that the kernel could not keep.
    pub fn so_far(&self) -> Cost {
        Cost { events: self.events.count(), lost: self.events.lost(), ..Cost::default() }
    }

    fn going(&mut self) -> Going {
        let is_there = match &mut self.target {
            Target::Process(process) => process::is_running(*process),
            Target::Command(child) => matches!(child.try_wait(), Ok(None)),
            Target::Group(directory) => !processes_of(directory).is_empty(),
            Target::Device | Target::Started => true,
        };
        if is_there { Going::On } else { Going::Ended }
    }

    /// Puts new events among those that wait.
    fn sort(&mut self, known: usize) {
        // Those of the starter are not joined.
        for event in self.waiting[known..].iter().filter(|event| Some(event.thread) != self.starter) {
            if let What::Enter { call: Call { does: Does::Close, .. }, descriptor: Some(descriptor), .. } = event.what {
                self.facts.closes(Stream { thread: event.thread, descriptor });
            }
        }
        // Events of one time and processor keep their order.
        self.waiting.sort_by_key(|event| event.time);
    }

    fn join(&mut self, until: Nanos) {
        let ready = self.waiting.partition_point(|event| event.time < until);
        let events: Vec<Event> = self.waiting.drain(..ready).collect();
        for event in events {
            let is_watched = match event.what {
                What::RingSubmit { .. } => {
                    self.joiner.knows(event.thread) || self.facts.serves(event.thread, &self.events)
                }
                // Its other events are of those that it wakes and that follow it on a processor.
                What::Enter { .. } | What::Exit { .. } | What::Fault => Some(event.thread) != self.starter,
                _ => true,
            };
            if is_watched {
                self.joiner.take(&event);
            }
            self.settle_all();
            for closed in std::mem::take(&mut self.joiner.closed) {
                self.facts.close(closed, event.time);
            }
        }
    }

    fn settle_all(&mut self) {
        for io in std::mem::take(&mut self.joiner.done) {
            self.settle(io);
        }
    }

    /// Keeps an I/O of storage, with what only /proc knows.
    fn settle(&mut self, mut io: Io) {
        if io.reach == Reach::Call && (io.descriptor.is_some() || !io.is_of_storage) {
            let found = self.facts.behind(Stream { thread: io.thread, descriptor: io.descriptor.unwrap_or(-1) });
            io.file = found.file;
            match found.kind {
                Kind::Storage => io.is_of_storage = true,
                _ if io.is_of_storage => {}
                Kind::Other => return,
                // A read of a file would have asked the page cache, and been seen.
                Kind::Gone if io.direction == Direction::Read && io.descriptor.is_some() && self.sees_cache => return,
                Kind::Gone => {
                    self.unknown += 1;
                    return;
                }
            }
        }
        if io.reach == Reach::Call {
            self.facts.name(io.thread);
        }
        self.facts.process(io.thread);
        if !io.parts[Part::Throttle].is_zero() {
            let disk = io.device.map(|device| self.wholes.get(&device).copied().unwrap_or(device));
            let limits = self.facts.limits(io.thread);
            match limits.iter().find(|limit| Some(limit.device) == disk) {
                Some(limit) if self.held_by.contains(limit) => {}
                Some(limit) => self.held_by.push(limit.clone()),
                // Another thread queued its I/O for another reason.
                None => {
                    let held = std::mem::take(&mut io.parts[Part::Throttle]);
                    io.parts[Part::Wait] += held;
                }
            }
        }
        if let Some(waker) = io.waker {
            self.facts.name(waker);
        }
        self.ios.push(io);
    }

    /// Ends the recording, and removes what it made.
    ///
    /// # Errors
    /// The last events cannot be read.
    pub fn end(mut self) -> Result<Seen, ObserveError> {
        let end = now();
        self.events.stop()?;
        let known = self.waiting.len();
        self.events.read_rest(&mut self.waiting)?;
        self.sort(known);
        self.join(Nanos::MAX);
        self.joiner.end();
        self.settle_all();
        let open = self.joiner.open_calls();
        let open_calls = open.into_iter().filter(|open| self.facts.behind(*open).kind != Kind::Other).count() as u64;
        let open_calls = open_calls + self.joiner.requests.count();
        let Counts { broken, outside, not_followed } = self.joiner.counts;
        let status = match &mut self.target {
            Target::Command(child) => child.try_wait().ok().flatten().map(ExitStatus::into_raw),
            _ => None,
        };
        let cost = Cost {
            time: end.saturating_sub(self.begun),
            processor: Nanos(usage::thread_cpu_ns().saturating_sub(self.used)),
            events: self.events.count(),
            lost: self.events.lost(),
            unrecorded: self.events.unrecorded(),
            broken,
            way: Some(self.events.way()),
            why_not_bpf: self.events.why_not.take(),
        };
        Ok(Seen {
            ios: self.ios,
            cost,
            open_calls,
            outside,
            not_followed,
            unknown: self.unknown,
            ended_before: self.joiner.requests.ended_before,
            unclear: self.joiner.requests.unclear,
            missing: self.events.missing(),
            limits: self.held_by,
            busy: self.joiner.busy(end),
            cache: self.groups.page_cache(Path::new("/")),
            names: self.facts.names.into_iter().collect(),
            processes: self.facts.processes.into_iter().filter_map(|(thread, of)| Some((thread, of?))).collect(),
            files: self.facts.files,
            begun: self.begun,
            status,
        })
    }
}

struct Started {
    child: Child,
    starter: Thread,
}

impl Facts {
    fn process(&mut self, thread: Thread) -> Option<u32> {
        *self.processes.entry(thread).or_insert_with(|| process::of_thread(thread))
    }

    /// True if a thread of the kernel takes requests from a ring of a process that is recorded.
    fn serves(&mut self, thread: Thread, events: &Events) -> bool {
        let process = self.process(thread).and_then(|process| i32::try_from(process).ok());
        let is_followed = || process.is_some_and(|process| events.follows(Thread(process)));
        *self.pollers.entry(thread).or_insert_with(is_followed)
    }

    fn behind(&mut self, stream: Stream) -> Looked {
        let gone = Looked { kind: Kind::Gone, at: Nanos::ZERO, file: None };
        let (Some(process), number) = (self.process(stream.thread), stream.descriptor) else { return gone };
        let key = Descriptor { process, number };
        if let Some(known) = self.behind.get(&key) {
            return *known;
        }
        if self.closing.contains_key(&key) {
            return gone;
        }
        let found = match process::behind(process, number) {
            Behind::Storage(file) => {
                self.files.push(Some(file));
                Looked { kind: Kind::Storage, at: now(), file: Some(self.files.len() - 1) }
            }
            Behind::Other => Looked { kind: Kind::Other, at: now(), file: None },
            Behind::Gone => return gone,
        };
        self.behind.insert(key, found);
        found
    }

    /// A descriptor will be closed by an event that is read.
    fn closes(&mut self, stream: Stream) {
        let Some(process) = self.process(stream.thread) else { return };
        *self.closing.entry(Descriptor { process, number: stream.descriptor }).or_default() += 1;
    }

    /// A descriptor was closed: what is behind it now is another file, and may be what was found.
    fn close(&mut self, stream: Stream, at: Nanos) {
        let Some(process) = self.process(stream.thread) else { return };
        let key = Descriptor { process, number: stream.descriptor };
        if let Entry::Occupied(mut left) = self.closing.entry(key) {
            *left.get_mut() -= 1;
            if *left.get() == 0 {
                left.remove();
            }
        }
        let found = self.behind.remove(&key);
        if let Some(Looked { file: Some(file), .. }) = found.filter(|found| at < found.at) {
            self.files[file] = None;
        }
    }

    fn name(&mut self, thread: Thread) {
        self.names.entry(thread).or_insert_with(|| process::name(thread).unwrap_or_default());
    }

    fn limits(&mut self, thread: Thread) -> &[IoLimit] {
        self.limits.entry(thread).or_insert_with(|| process::limits(thread))
    }
}

/// A device, its partitions, and those below it.
pub(crate) fn with_below(device: BlockDevice) -> Vec<DeviceNumber> {
    let mut found: FxHashSet<DeviceNumber> = device.partitions().iter().filter_map(BlockDevice::number).collect();
    let mut open = vec![device];
    while let Some(next) = open.pop() {
        found.extend(next.number());
        // What is below a loop device belongs to other I/Os.
        open.extend(if next.backing_file().is_some() { Vec::new() } else { next.below(Path::new("/")) });
    }
    found.into_iter().collect()
}

/// Processes of a group and of those below it.
fn processes_of(group: &Path) -> Vec<u32> {
    let (mut processes, mut open) = (Vec::new(), vec![group.to_owned()]);
    while let Some(directory) = open.pop() {
        let text = std::fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
        processes.extend(text.lines().filter_map(|line| line.parse::<u32>().ok()));
        let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
        open.extend(
            entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()),
        );
    }
    processes
}
