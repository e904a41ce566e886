//! Events → I/Os: a pure function of the events, in the order of their times.
//!
//! A call is an I/O from its entry to its exit. At each moment of it the thread runs, sleeps, or waits for a processor,
//! and I/Os of the block layer that it queued are somewhere. Where it sleeps without one of them, what woke it says
//! for what: a completion on the same processor directly before, a thread that commits, or another thread.

use crate::block::{BioId, Block, DeviceBusy, Track};
use crate::calls::{Call, Does, FAULT};
use crate::event::{Event, Name, Thread, What};
use crate::io::{Direction, Io, Part, Parts, Reach};
use crate::requests::{Asks, Batch, NewRequest, Requests, Start};
use measure::Nanos;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use sys::devices::identity::DeviceNumber;

/// A wake-up that is later after a completion on its processor is not by it.
const DIRECTLY: Nanos = Nanos(1_000_000);

/// Which I/Os become results.
#[derive(Clone, Debug)]
pub(crate) enum Scope {
    /// Calls of watched threads.
    Calls,
    /// I/Os of the block layer on these devices: a disk with its partitions, or one partition.
    Devices(FxHashSet<DeviceNumber>),
}

/// Numbers of what is not an I/O, or not a whole one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Calls whose events were lost in part.
    pub(crate) broken: u64,
    /// I/Os of the block layer outside of calls that are recorded.
    pub(crate) outside: u64,
    /// Calls that move data and are not followed: sendfile, splice, copy_file_range; commands of io_uring.
    pub(crate) not_followed: u64,
}

/// Why a sleep ended.
#[derive(Clone, Debug)]
enum Why {
    NotSeen,
    Completion(Arc<Track>),
    Commit,
    /// An event directly before said that it would wait for this.
    Announced(Part),
    By(Thread),
}

/// A wake-up.
#[derive(Clone, Debug)]
struct Woken {
    at: Nanos,
    why: Why,
}

#[derive(Debug)]
struct Sleep {
    from: Nanos,
    /// Time of the wake-up; `from` if the thread could have gone on.
    waking: Option<Nanos>,
    to: Option<Nanos>,
    why: Why,
    is_runnable: bool,
}

/// A call that has not ended.
#[derive(Debug)]
struct Open {
    call: &'static Call,
    begin: Nanos,
    descriptor: Option<i32>,
    offset: Option<u64>,
    own: Vec<BioId>,
    tracks: Vec<Arc<Track>>,
    sleeps: Vec<Sleep>,
    /// The last wake-up while it was not asleep: another processor wakes a thread that is about to sleep, and its
    /// switch comes directly after.
    early: Option<Woken>,
    used_cache: bool,
    /// True if it gave data to the page cache.
    fills_cache: bool,
    /// Its next sleep is in this part: an event said so.
    announced: Option<Part>,
    /// Direct I/Os that the call began.
    starts: Vec<Start>,
}

impl Open {
    fn new(call: &'static Call, begin: Nanos) -> Self {
        Open {
            call,
            begin,
            descriptor: None,
            offset: None,
            own: Vec::new(),
            tracks: Vec::new(),
            sleeps: Vec::new(),
            early: None,
            used_cache: false,
            fills_cache: false,
            announced: None,
            starts: Vec::new(),
        }
    }

    /// True of a fault that slept for something else, or too often: what follows is of the program.
    fn is_over(&self) -> bool {
        let slept_otherwise = |sleep: &Sleep| !sleep.is_runnable && !matches!(sleep.why, Why::Completion(_));
        let is_over = self.sleeps.len() >= SLEEPS_OF_FAULT || self.sleeps.last().is_some_and(slept_otherwise);
        self.call.does == Does::Fault && is_over
    }
}

/// Sleeps of one fault at most.
const SLEEPS_OF_FAULT: usize = 8;

/// The last completion on a processor.
#[derive(Debug)]
struct Completed {
    during: Thread,
    context: u64,
    track: Arc<Track>,
}

/// A descriptor of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Stream {
    pub(crate) thread: Thread,
    pub(crate) descriptor: i32,
}

/// The state of the joining.
#[derive(Debug)]
pub(crate) struct Joiner {
    scope: Scope,
    block: Block,
    /// Threads with a call, if they are in one.
    calls: FxHashMap<Thread, Option<Open>>,
    completed: FxHashMap<u32, Completed>,
    commits: FxHashSet<Thread>,
    /// Where the next byte of a stream is, if that is known.
    ends: FxHashMap<Stream, Option<u64>>,
    /// Calls that hand over I/Os of unknown requests, by the I/O.
    submitted: FxHashMap<BioId, &'static str>,
    pub(crate) requests: Requests,
    pub(crate) done: Vec<Io>,
    /// Descriptors that were closed, or are now of another file.
    pub(crate) closed: Vec<Stream>,
    pub(crate) counts: Counts,
}

impl Joiner {
    pub(crate) fn new(scope: Scope, wholes: FxHashMap<DeviceNumber, DeviceNumber>) -> Self {
        Joiner {
            scope,
            block: Block::new(wholes),
            calls: FxHashMap::default(),
            completed: FxHashMap::default(),
            commits: FxHashSet::default(),
            ends: FxHashMap::default(),
            submitted: FxHashMap::default(),
            requests: Requests::default(),
            done: Vec::new(),
            closed: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// Takes the next event; none may be before the one before.
    pub(crate) fn take(&mut self, event: &Event) {
        let Event { time, thread, what, .. } = *event;
        match what {
            What::Enter { call, descriptor, offset } => self.enter(call, descriptor, offset, event),
            What::Exit { call, result } => self.exit(call, result, event),
            What::Switch { from, is_runnable, to } => self.switch(from, is_runnable, to, time),
            What::Waking { thread } => self.waking(thread, event),
            What::DirtyPause => self.of_call(thread, |open| open.announced = Some(Part::DirtyLimit)),
            What::LogWait => self.of_call(thread, |open| open.announced = Some(Part::Journal)),
            What::PageCache | What::CacheWrite => {
                self.requests.asks_cache(thread);
                self.of_call(thread, |open| {
                    open.used_cache = true;
                    open.fills_cache |= matches!(what, What::CacheWrite);
                });
            }
            What::Fault => self.fault(event),
            What::DirectBegin { bytes } => self.of_call(thread, |open| {
                open.starts.push(Start { at: time, bytes, queued: open.own.len() });
            }),
            What::RingSubmit { request, opcode, is_linked } => self.ring_submit(request, opcode, is_linked, event),
            What::RingFile { request, descriptor } => self.requests.uses(request, descriptor),
            What::RingComplete { request, result } => self.requests.completed(request, result, time),
            What::Commits => drop(self.commits.insert(thread)),
            What::Queue { span, name } => {
                let queued = self.block.queue(span, name, time, thread);
                if queued.is_first {
                    self.owned(queued.id, thread);
                }
            }
            What::Request(span) | What::Merge(span) => self.block.request(span, Name::default(), time, thread),
            What::Issue(span) => self.block.issue(span, time),
            What::Requeue(span) => self.block.requeue(span, time),
            What::Remap { to, from, from_sector } => self.block.remap(to, from, from_sector, time),
            What::Complete(span) => {
                for track in self.block.complete(span, time) {
                    self.finished(track, event);
                }
            }
            What::BioComplete(span) => {
                if let Some(track) = self.block.bio_complete(span, time) {
                    self.finished(track, event);
                }
            }
            What::Lost => self.lost(),
        }
        self.done.append(&mut self.requests.done);
    }

    /// Of a thread that is not watched, another program's ring gets it; but one that polls a ring has no calls.
    fn ring_submit(&mut self, name: u64, opcode: u64, is_linked: bool, event: &Event) {
        let (thread, asks) = (event.thread, Asks::of(opcode));
        self.counts.not_followed += u64::from(asks == Asks::Counted);
        self.requests.submit(name, is_linked, NewRequest { call: &RING, thread, at: event.time, asks });
    }

    fn of_call(&mut self, thread: Thread, change: impl FnOnce(&mut Open)) {
        if let Some(Some(open)) = self.calls.get_mut(&thread) {
            change(open);
        }
    }

    /// Forgets what is so old that its end will not come.
    pub(crate) fn forget(&mut self, now: Nanos) {
        self.block.forget(now);
        self.requests.forget(now);
    }

    /// How long each device had a request until now.
    pub(crate) fn busy(&self, now: Nanos) -> Vec<DeviceBusy> {
        let busy = self.block.busy.iter().map(|(device, busy)| DeviceBusy { device: *device, time: busy.until(now) });
        let mut busy: Vec<DeviceBusy> = busy.collect();
        busy.sort_by_key(|busy| busy.device.to_string());
        busy
    }

    /// True if this thread made a call.
    pub(crate) fn knows(&self, thread: Thread) -> bool {
        self.calls.contains_key(&thread)
    }

    /// Descriptors of the calls that have begun and not ended; of a call without one, −1.
    pub(crate) fn open_calls(&self) -> Vec<Stream> {
        let of_call = |(thread, call): (&Thread, &Option<Open>)| {
            let open = call.as_ref().filter(|open| matches!(open.call.does, Does::Read | Does::Write | Does::Sync))?;
            Some(Stream { thread: *thread, descriptor: open.descriptor.unwrap_or(-1) })
        };
        self.calls.iter().filter_map(of_call).collect()
    }

    /// Events are missing: no call and no I/O that is in progress can be trusted.
    fn lost(&mut self) {
        let broken = self.calls.values_mut().filter_map(Option::take).count();
        self.counts.broken += broken as u64 + self.requests.clear();
        self.block.clear();
        self.completed.clear();
        self.ends.clear();
        self.submitted.clear();
    }

    fn enter(&mut self, call: &'static Call, descriptor: Option<i32>, offset: Option<u64>, event: &Event) {
        let thread = event.thread;
        let is_followed = match call.does {
            Does::Read | Does::Write | Does::Sync | Does::Submit => true,
            Does::Ring | Does::Await => {
                self.requests.enter(thread);
                true
            }
            Does::Counted => {
                self.counts.not_followed += 1;
                false
            }
            Does::Fault => false,
            Does::Seek | Does::Close => {
                if let Some(descriptor) = descriptor {
                    let stream = Stream { thread, descriptor };
                    self.ends.remove(&stream);
                    if call.does == Does::Close {
                        self.closed.push(stream);
                    }
                }
                false
            }
        };
        self.end_fault(thread);
        let open = Open { descriptor, offset, ..Open::new(call, event.time) };
        self.calls.insert(thread, is_followed.then_some(open));
    }

    /// A thread needs a page. In a call, this is of the call.
    fn fault(&mut self, event: &Event) {
        self.end_fault(event.thread);
        if !matches!(self.calls.get(&event.thread), Some(Some(_))) {
            self.calls.insert(event.thread, Some(Open::new(&FAULT, event.time)));
        }
    }

    /// Nothing says that a fault is over. It is with its read, or with the last sleep that a read ended, if the thread
    /// fell asleep directly.
    fn end_fault(&mut self, thread: Thread) {
        let is_fault = |call: &Open| call.call.does == Does::Fault;
        let Some(mut open) = self.calls.get_mut(&thread).and_then(|call| call.take_if(|open| is_fault(open))) else {
            return;
        };
        let is_of_fault = |sleep: &Sleep| match &sleep.why {
            Why::Completion(track) => track.direction() == Direction::Read,
            _ => sleep.is_runnable,
        };
        let (mut ran_from, mut slept) = (open.begin, 0);
        for (index, sleep) in open.sleeps.iter().enumerate() {
            let is_direct = sleep.from.saturating_sub(ran_from) <= DIRECTLY;
            let Some(to) = sleep.to.filter(|_| is_direct && is_of_fault(sleep)) else { break };
            ran_from = to;
            if !sleep.is_runnable {
                slept = index + 1;
            }
        }
        open.sleeps.truncate(slept);
        let is_needed = |track: &&Arc<Track>| {
            let is_read = track.direction() == Direction::Read && !track.span.is_ahead;
            is_read && track.queued.saturating_sub(open.begin) <= DIRECTLY
        };
        // A fast device is done before the thread would sleep.
        let read = open.tracks.iter().filter(is_needed).map(|track| track.done).max();
        if let Some(end) = open.sleeps.last().and_then(|sleep| sleep.to).max(read) {
            self.done.push(io_of(&open, thread, end, Direction::Fault));
        }
    }

    /// Ends what has no event of its end.
    pub(crate) fn end(&mut self) {
        let threads: Vec<Thread> = self.calls.keys().copied().collect();
        threads.into_iter().for_each(|thread| self.end_fault(thread));
    }

    /// An I/O of the block layer that a thread queued.
    fn owned(&mut self, id: BioId, thread: Thread) {
        if self.requests.queued(id, thread) {
            return;
        }
        match self.calls.get_mut(&thread) {
            Some(Some(open)) if open.call.does == Does::Ring && !self.requests.has_rings => {
                self.submitted.insert(id, open.call.name);
            }
            // A request that goes on there.
            Some(Some(open)) if matches!(open.call.does, Does::Ring | Does::Await) => {}
            Some(Some(open)) => open.own.push(id),
            Some(None) if self.requests.has_of(thread) => {}
            Some(None) => self.counts.outside += 1,
            None => {}
        }
    }

    fn finished(&mut self, track: Arc<Track>, event: &Event) {
        let handed = self.submitted.remove(&track.id);
        let is_in_scope = match &self.scope {
            Scope::Calls => handed.is_some(),
            Scope::Devices(devices) => devices.contains(&track.span.device),
        };
        if is_in_scope {
            self.done.push(of_track(&track, handed.unwrap_or_default()));
        }
        if !self.requests.finished(&track) {
            let call = self.calls.get_mut(&track.by).and_then(Option::as_mut);
            match call.filter(|open| open.own.contains(&track.id)) {
                Some(open) => open.tracks.push(Arc::clone(&track)),
                None => self.requests.finished_loose(&track),
            }
        }
        let Event { cpu, thread, context, .. } = *event;
        self.completed.insert(cpu, Completed { during: thread, context, track });
    }

    fn switch(&mut self, from: Thread, is_runnable: bool, to: Thread, at: Nanos) {
        if !is_runnable {
            self.requests.sleeps(from, at);
        }
        // A thread that computes for long is in no fault any more.
        if self.calls.get(&from).and_then(Option::as_ref).is_some_and(Open::is_over) {
            self.end_fault(from);
        }
        self.requests.runs(to, at);
        self.of_call(from, |open| {
            let announced = open.announced.take_if(|_| !is_runnable);
            let why = announced.map_or(Why::NotSeen, Why::Announced);
            let waking = is_runnable.then_some(at);
            open.sleeps.push(Sleep { from: at, waking, to: None, why, is_runnable });
        });
        self.of_call(to, |open| {
            let early = open.early.take();
            let Some(sleep) = open.sleeps.last_mut().filter(|sleep| sleep.to.is_none()) else { return };
            sleep.to = Some(at);
            let is_of_sleep = |woken: &Woken| sleep.from.saturating_sub(woken.at) <= DIRECTLY;
            if let Some(woken) = early.filter(is_of_sleep).filter(|_| sleep.waking.is_none()) {
                sleep.waking = Some(sleep.from);
                if !matches!(sleep.why, Why::Announced(_)) {
                    sleep.why = woken.why;
                }
            }
        });
    }

    fn waking(&mut self, thread: Thread, event: &Event) {
        let is_by = |done: &&Completed| {
            let is_same = done.during == event.thread && done.context == event.context;
            is_same && event.time.saturating_sub(done.track.done) <= DIRECTLY
        };
        let why = match self.completed.get(&event.cpu).filter(is_by) {
            Some(done) => Why::Completion(Arc::clone(&done.track)),
            _ if self.commits.contains(&event.thread) => Why::Commit,
            _ => Why::By(event.thread),
        };
        self.of_call(thread, |open| {
            let Some(sleep) = open.sleeps.last_mut().filter(|sleep| sleep.to.is_none() && sleep.waking.is_none())
            else {
                open.early = Some(Woken { at: event.time, why });
                return;
            };
            sleep.waking = Some(event.time);
            let is_of_sleep = match &why {
                Why::Completion(track) => track.done >= sleep.from,
                _ => true,
            };
            if !matches!(sleep.why, Why::Announced(_)) {
                sleep.why = if is_of_sleep { why } else { Why::By(event.thread) };
            }
        });
    }

    fn exit(&mut self, call: &'static Call, result: i64, event: &Event) {
        let thread = event.thread;
        let Some(open) = self.calls.insert(thread, None).flatten().filter(|open| open.call == call) else { return };
        let direction = match call.does {
            Does::Read => Direction::Read,
            Does::Write => Direction::Write,
            Does::Sync => Direction::Sync,
            Does::Submit => return self.batch(&open, result, event),
            Does::Ring | Does::Await => return self.requests.exit(thread, event.time),
            Does::Counted | Does::Seek | Does::Close | Does::Fault => return,
        };
        let bytes = if direction == Direction::Sync { 0 } else { u64::try_from(result).unwrap_or(0) };
        let is_sequential = self.follows(&open, thread, bytes);
        if matches!(self.scope, Scope::Calls) {
            let io = io_of(&open, thread, event.time, direction);
            self.done.push(Io { bytes, has_failed: result < 0, is_sequential, ..io });
        }
    }

    /// Requests of libaio were handed over. Buffered ones are done with the call, and their sizes are not known.
    fn batch(&mut self, open: &Open, result: i64, event: &Event) {
        let (count, thread) = (usize::try_from(result).unwrap_or(0), event.thread);
        if open.used_cache && open.starts.is_empty() {
            let direction = if open.fills_cache { Direction::Write } else { Direction::Read };
            let io = io_of(open, thread, event.time, direction);
            self.done.extend(std::iter::repeat_n(io, count));
        } else if count > 0 {
            let Open { call, begin, starts, own, tracks, .. } = open;
            let (call, begin, end) = (*call, *begin, event.time);
            self.requests.submit_batch(&Batch { call, thread, begin, end, count, starts, own, tracks });
        }
    }

    /// Remembers where the call ended; says if it began where the one before ended.
    fn follows(&mut self, open: &Open, thread: Thread, bytes: u64) -> Option<bool> {
        let stream = Stream { thread, descriptor: open.descriptor? };
        if !matches!(open.call.does, Does::Read | Does::Write) {
            return None;
        }
        if open.call.offset.is_empty() {
            // At the position of the file, which only lseek moves otherwise.
            return self.ends.insert(stream, None).map(|_| true);
        }
        let offset = open.offset?;
        let before = self.ends.insert(stream, Some(offset.saturating_add(bytes))).flatten();
        before.map(|end| end == offset)
    }
}

/// The call of io_uring that hands over requests.
static RING: Call =
    Call { name: "io_uring_enter", number: libc::SYS_io_uring_enter, does: Does::Ring, descriptor: "", offset: "" };

/// The I/O that a call was, without what only its result says.
fn io_of(open: &Open, thread: Thread, end: Nanos, direction: Direction) -> Io {
    let waited: Vec<&Arc<Track>> = waited_for(open).collect();
    let is_of_storage = direction == Direction::Sync
        || open.used_cache
        || !open.tracks.is_empty()
        || open.sleeps.iter().any(|sleep| matches!(sleep.why, Why::Completion(_) | Why::Announced(_)));
    Io {
        begin: open.begin,
        time: end.saturating_sub(open.begin),
        thread,
        program: None,
        direction,
        reach: Reach::Call,
        call: open.call.name,
        descriptor: open.descriptor,
        file: None,
        offset: open.offset,
        bytes: 0,
        has_failed: false,
        is_sequential: None,
        is_of_storage,
        waited_for: u32::try_from(waited.len()).unwrap_or(u32::MAX),
        device: waited.iter().max_by_key(|track| track.done).map(|track| track.span.device),
        waker: waker(open),
        parts: Timeline::of(open, thread, end).parts(),
    }
}

/// I/Os of the block layer that the call waited for.
fn waited_for(open: &Open) -> impl Iterator<Item = &Arc<Track>> {
    let own = open.tracks.iter().filter(|track| !track.span.is_ahead);
    let of_sleeps = open.sleeps.iter().filter_map(|sleep| match &sleep.why {
        Why::Completion(track) if track.span.is_ahead || !open.own.contains(&track.id) => Some(track),
        _ => None,
    });
    own.chain(of_sleeps)
}

/// The thread that ended the longest sleep without another reason.
fn waker(open: &Open) -> Option<Thread> {
    let by = open.sleeps.iter().filter_map(|sleep| match sleep.why {
        Why::By(thread) if !sleep.is_runnable => Some((sleep.waking?.saturating_sub(sleep.from), thread)),
        _ => None,
    });
    by.max().map(|(_, thread)| thread)
}

/// An I/O of the block layer by itself.
fn of_track(track: &Track, call: &'static str) -> Io {
    let mut parts = Parts::default();
    let ends = track.marks.iter().skip(1).map(|mark| mark.at).chain([track.done]);
    for (mark, end) in track.marks.iter().zip(ends) {
        parts[mark.part] += end.saturating_sub(mark.at);
    }
    let end = track.name.iter().position(|letter| *letter == 0).unwrap_or(track.name.len());
    Io {
        begin: track.queued,
        time: track.done.saturating_sub(track.queued),
        thread: track.by,
        program: Some(String::from_utf8_lossy(&track.name[..end]).into_owned()),
        direction: track.direction(),
        reach: Reach::Block,
        call,
        descriptor: None,
        file: None,
        offset: Some(track.span.sector.saturating_mul(512)),
        bytes: track.bytes(),
        has_failed: false,
        is_sequential: None,
        is_of_storage: true,
        waited_for: 1,
        device: Some(track.span.device),
        waker: None,
        parts,
    }
}

/// A call whose time is to be divided.
struct Timeline<'call> {
    open: &'call Open,
    thread: Thread,
    end: Nanos,
    /// Those that the call waited for from their begin on, by the time of their begin.
    own: Vec<&'call Track>,
    /// Running after this is copying and returning.
    last_wait: Nanos,
    is_cached: bool,
}

impl<'call> Timeline<'call> {
    fn of(open: &'call Open, thread: Thread, end: Nanos) -> Self {
        let mut own: Vec<&Track> = open.tracks.iter().map(Arc::as_ref).filter(|track| !track.span.is_ahead).collect();
        own.sort_by_key(|track| track.queued);
        let sleeps = open.sleeps.iter().filter(|sleep| !sleep.is_runnable);
        let waits = sleeps.filter_map(|sleep| sleep.to).chain(own.iter().map(|track| track.done));
        let last_wait = waits.max().unwrap_or(Nanos::ZERO);
        // Readahead that is done before the thread would have slept for it is of a read that memory did not answer.
        let asked_none = last_wait.is_zero() && open.tracks.is_empty();
        let is_cached = asked_none && matches!(open.call.does, Does::Read | Does::Write | Does::Submit);
        Timeline { open, thread, end, own, last_wait, is_cached }
    }

    /// Divides the time at each moment at which something changed.
    fn parts(&self) -> Parts {
        let sleeps = self.open.sleeps.iter().flat_map(|sleep| [Some(sleep.from), sleep.waking, sleep.to]);
        let of_track = |track: &'call Track| track.marks.iter().map(|mark| mark.at).chain([track.queued, track.done]);
        let causes = waited_for(self.open).flat_map(|track| of_track(track));
        let is_within = |time: &Nanos| *time > self.open.begin && *time < self.end;
        let mut times: Vec<Nanos> = sleeps.flatten().chain(causes).filter(is_within).collect();
        times.extend([self.open.begin, self.end]);
        times.sort_unstable();
        times.dedup();
        let (mut parts, mut next, mut latest) = (Parts::default(), 0, None::<&Track>);
        for pair in times.windows(2) {
            let &[at, until] = pair else { continue };
            while let Some(track) = self.own.get(next).filter(|track| track.queued <= at) {
                next += 1;
                if latest.is_none_or(|latest| track.done > latest.done) {
                    latest = Some(track);
                }
            }
            let in_flight = latest.filter(|track| at < track.done);
            parts[self.part(at, in_flight)] += until - at;
        }
        parts
    }

    fn part(&self, at: Nanos, own: Option<&Track>) -> Part {
        let sleeps = &self.open.sleeps;
        let index = sleeps.partition_point(|sleep| sleep.from <= at).checked_sub(1);
        let sleep = index.map(|index| &sleeps[index]).filter(|sleep| sleep.to.is_none_or(|to| at < to));
        let of_own = own.map(|track| track.part(at));
        match (of_own, sleep) {
            // What it has not handed over yet waits with it for a processor.
            (Some(Part::Tags | Part::Scheduler), Some(sleep)) if sleep.is_runnable => Part::WakingUp,
            (Some(part), _) => part,
            (None, Some(sleep)) if sleep.waking.is_some_and(|waking| waking <= at) => Part::WakingUp,
            (None, Some(sleep)) => self.asleep(sleep, at),
            (None, None) if self.is_cached => Part::Cache,
            (None, None) if at >= self.last_wait && !self.last_wait.is_zero() => Part::CopyAndReturn,
            (None, None) => Part::FileSystem,
        }
    }

    fn asleep(&self, sleep: &Sleep, at: Nanos) -> Part {
        match &sleep.why {
            Why::NotSeen => Part::NotSeen,
            Why::Commit => Part::Journal,
            Why::Announced(part) => *part,
            Why::By(_) => Part::Wait,
            Why::Completion(track) if at >= track.done => Part::WakingUp,
            Why::Completion(track) if at >= track.queued => track.part(at),
            // Another thread queued it for this one, while it slept: so a limit of a group lets it go on.
            Why::Completion(track) if track.by != self.thread && track.queued > sleep.from => Part::Throttle,
            Why::Completion(_) => Part::Wait,
        }
    }
}

#[cfg(test)]
#[path = "join_tests.rs"]
mod tests;
