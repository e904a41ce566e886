//! I/Os that go on without their thread: requests of io_uring and libaio.
//!
//! A request begins when it is handed over. One of io_uring has a number, by which its completion names it; one of
//! libaio is complete with its I/Os of the block layer. It ends with the call in which its thread waits for
//! completions. If the thread is in none then, or sleeps on for others, it ends at its completion.

use crate::block::{BioId, Track};
use crate::calls::Call;
use crate::event::{Op, Thread};
use crate::io::{Direction, Io, Part, Parts, Reach};
use measure::Nanos;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use sys::devices::identity::DeviceNumber;

/// Requests that are this old and not complete are forgotten.
const FORGOTTEN: Nanos = Nanos(300_000_000_000);
/// I/Os of threads of the kernel that may be of a request.
const MOST_LOOSE: usize = 1024;
/// Begin of the names of threads of the kernel that queue I/Os for others: after a limit, and of io_uring.
const THROTTLED: &[u8] = b"kworker";
const WORKER: &[u8] = b"iou-wrk";

/// A request by its number here: older ones have smaller ones.
type Number = u64;

/// Work of an entry of io_uring (io_uring_enter(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asks {
    Io(Direction),
    /// Moves data, and is counted only: splice, commands of a driver.
    Counted,
    /// Something without storage, or without waiting.
    Other,
}

impl Asks {
    pub(crate) fn of(opcode: u64) -> Self {
        match opcode {
            // READV, READ_FIXED, READ, READ_MULTISHOT, READV_FIXED.
            1 | 4 | 22 | 49 | 60 => Asks::Io(Direction::Read),
            // WRITEV, WRITE_FIXED, WRITE, WRITEV_FIXED.
            2 | 5 | 23 | 61 => Asks::Io(Direction::Write),
            // FSYNC, SYNC_FILE_RANGE.
            3 | 8 => Asks::Io(Direction::Sync),
            // SPLICE, URING_CMD.
            30 | 46 => Asks::Counted,
            _ => Asks::Other,
        }
    }
}

#[derive(Debug)]
struct Request {
    call: &'static Call,
    thread: Thread,
    begin: Nanos,
    /// From here on its thread did something else.
    issued: Option<Nanos>,
    /// Of libaio, only its I/Os say it.
    direction: Option<Direction>,
    descriptor: Option<i32>,
    bytes: Option<u64>,
    /// Its I/Os that are not done.
    pending: usize,
    tracks: Vec<Arc<Track>>,
    used_cache: bool,
    completed: Option<Nanos>,
    has_failed: bool,
}

/// Requests that one call of libaio handed over.
pub(crate) struct Batch<'call> {
    pub(crate) call: &'static Call,
    pub(crate) thread: Thread,
    pub(crate) begin: Nanos,
    pub(crate) end: Nanos,
    pub(crate) count: usize,
    pub(crate) starts: &'call [Start],
    /// All of its I/Os, and those that are done.
    pub(crate) own: &'call [BioId],
    pub(crate) tracks: &'call [Arc<Track>],
}

/// Begin of a direct I/O of a file system.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    pub(crate) at: Nanos,
    pub(crate) bytes: u64,
    /// Number of I/Os that the call had queued before.
    pub(crate) queued: usize,
}

/// Requests in progress.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    open: BTreeMap<Number, Request>,
    next: Number,
    /// By io_uring's number.
    named: FxHashMap<u64, Number>,
    /// The request that a thread hands over now.
    current: FxHashMap<Thread, Number>,
    /// The first of the linked requests that a thread hands over: it goes first.
    chains: FxHashMap<Thread, Number>,
    owners: FxHashMap<BioId, Number>,
    /// Threads in a call that waits for completions.
    waits: FxHashSet<Thread>,
    /// When they went on running.
    ran: FxHashMap<Thread, Nanos>,
    /// Complete, and their thread is in such a call.
    ready: FxHashMap<Thread, Vec<Number>>,
    loose: VecDeque<Arc<Track>>,
    /// Device of the last I/O that a thread queued for a request: I/Os below it, of a loop device, are not of requests.
    devices: FxHashMap<Thread, DeviceNumber>,
    pub(crate) done: Vec<Io>,
    /// Those that were complete before their thread asked.
    pub(crate) ended_before: u64,
    /// Those of libaio that cannot be separated, and those that were forgotten.
    pub(crate) unclear: u64,
    /// True once an event of io_uring's requests was there.
    pub(crate) has_rings: bool,
}

impl Requests {
    /// A thread hands a request to io_uring.
    pub(crate) fn submit(&mut self, name: u64, is_linked: bool, request: NewRequest) {
        let NewRequest { call, thread, at, asks } = request;
        self.issued(thread, at);
        self.has_rings = true;
        let number = if let Asks::Io(direction) = asks {
            let number = self.add(Request::new(call, thread, at, Some(direction)));
            self.named.insert(name, number);
            Some(number)
        } else {
            None
        };
        let chain = self.chains.get(&thread).copied().or(number);
        match (is_linked, chain) {
            (true, Some(first)) => drop(self.chains.insert(thread, first)),
            (false, Some(first)) => {
                self.chains.remove(&thread);
                self.current.insert(thread, first);
            }
            (_, None) => {}
        }
    }

    fn add(&mut self, request: Request) -> Number {
        let number = self.next;
        self.next += 1;
        self.open.insert(number, request);
        number
    }

    /// The descriptor that a request of io_uring uses.
    pub(crate) fn uses(&mut self, name: u64, descriptor: i32) {
        if let Some(request) = self.named.get(&name).and_then(|number| self.open.get_mut(number)) {
            request.descriptor = Some(descriptor);
        }
    }

    /// The thread hands over something else, or nothing more.
    fn issued(&mut self, thread: Thread, at: Nanos) {
        let current = self.current.remove(&thread);
        if let Some(request) = current.and_then(|number| self.open.get_mut(&number)) {
            request.issued.get_or_insert(at);
        }
    }

    /// The thread asks the page cache.
    pub(crate) fn asks_cache(&mut self, thread: Thread) {
        if let Some(request) = self.current.get(&thread).and_then(|number| self.open.get_mut(number)) {
            request.used_cache = true;
        }
    }

    /// A thread queued an I/O; true if it is of a request.
    pub(crate) fn queued(&mut self, id: BioId, thread: Thread) -> bool {
        let Some(number) = self.current.get(&thread).copied() else { return false };
        self.owns(number, id);
        true
    }

    fn owns(&mut self, number: Number, id: BioId) {
        if let Some(request) = self.open.get_mut(&number) {
            request.pending += 1;
            self.owners.insert(id, number);
        }
    }

    /// A call of libaio ended, and its requests go on.
    pub(crate) fn submit_batch(&mut self, batch: &Batch<'_>) {
        let Batch { count, starts, own, .. } = *batch;
        // Their begins among the I/Os of the call.
        let from: Vec<usize> = match own.len() {
            _ if starts.len() == count => starts.iter().map(|start| start.queued).collect(),
            length if length <= count => (0..count).map(|index| index.min(length)).collect(),
            length if length % count == 0 => (0..count).map(|index| index * (length / count)).collect(),
            _ => {
                self.unclear += count as u64;
                return;
            }
        };
        for (index, first) in from.iter().copied().enumerate() {
            let until = from.get(index + 1).copied().unwrap_or(own.len()).max(first);
            let start = starts.get(index).filter(|_| starts.len() == count);
            let begin = start.filter(|_| index > 0).map_or(batch.begin, |start| start.at);
            let number = self.add(Request {
                issued: Some(batch.end),
                bytes: start.map(|start| start.bytes),
                ..Request::new(batch.call, batch.thread, begin, None)
            });
            own[first..until].iter().for_each(|id| self.owns(number, *id));
        }
        // Once all are owned.
        for track in batch.tracks {
            self.finished(track);
        }
    }

    /// An I/O is done; true if it is of a request.
    pub(crate) fn finished(&mut self, track: &Arc<Track>) -> bool {
        let Some(number) = self.owners.remove(&track.id) else { return false };
        if track.span.is_ahead {
            self.keep(track);
        }
        let Some(request) = self.open.get_mut(&number) else { return true };
        request.pending -= 1;
        request.tracks.push(Arc::clone(track));
        self.devices.insert(request.thread, track.span.device);
        if request.direction.is_none() && request.pending == 0 {
            let at = request.tracks.iter().map(|track| track.done).max().unwrap_or(track.done);
            self.complete(number, at);
        }
        true
    }

    /// An I/O is done that neither a call nor a request queued.
    pub(crate) fn finished_loose(&mut self, track: &Arc<Track>) {
        let bytes = track.bytes();
        let waits = |request: &Request| {
            let left = request.bytes.map(|all| all.saturating_sub(request.transferred()));
            request.direction.is_none() && request.pending == 0 && left.is_none_or(|left| left >= bytes)
        };
        let is_of_kernel = track.name.starts_with(THROTTLED);
        let devices = &self.devices;
        let is_there = |request: &Request| devices.get(&request.thread).is_none_or(|one| *one == track.span.device);
        let is_within =
            |request: &Request| request.completed.is_none() && request.begin <= track.queued && is_there(request);
        let waiting = self.open.iter_mut().find(|(_, request)| is_of_kernel && is_within(request) && waits(request));
        let Some((number, request)) = waiting else { return self.keep(track) };
        request.tracks.push(Arc::clone(track));
        let number = *number;
        if request.bytes.is_none_or(|all| request.transferred() >= all) {
            self.complete(number, track.done);
        }
    }

    fn keep(&mut self, track: &Arc<Track>) {
        if !self.open.is_empty() {
            self.loose.push_back(Arc::clone(track));
            if self.loose.len() > MOST_LOOSE {
                self.loose.pop_front();
            }
        }
    }

    /// A request of io_uring is complete.
    pub(crate) fn completed(&mut self, name: u64, result: i64, at: Nanos) {
        let Some(number) = self.named.remove(&name) else { return };
        let is_current = |current: &Number| *current == number;
        let Some(thread) = self.open.get(&number).map(|request| request.thread) else { return };
        let is_at_once = self.current.get(&thread).is_some_and(is_current);
        let Some(request) = self.open.get_mut(&number) else { return };
        request.has_failed = result < 0;
        let is_sync = request.direction == Some(Direction::Sync);
        request.bytes = Some(if is_sync { 0 } else { u64::try_from(result).unwrap_or(0) });
        request.tracks.retain(|track| !track.span.is_ahead);
        // A worker may be done with it before the thread that handed it over does anything else.
        if request.tracks.is_empty() && !(is_at_once && (is_sync || request.used_cache)) {
            request.tracks = claimed(request, at, self.devices.get(&thread).copied(), &mut self.loose);
        }
        if is_at_once && request.tracks.is_empty() {
            request.issued = Some(at);
        }
        self.complete(number, at);
    }

    fn complete(&mut self, number: Number, at: Nanos) {
        let Some(request) = self.open.get_mut(&number) else { return };
        request.completed = Some(at);
        let thread = request.thread;
        if self.waits.contains(&thread) {
            self.ready.entry(thread).or_default().push(number);
        } else {
            self.ended_before += 1;
            self.end(number, at, None);
        }
    }

    /// A thread begins a call that waits for completions.
    pub(crate) fn enter(&mut self, thread: Thread) {
        self.waits.insert(thread);
    }

    /// Such a call ends: what is complete, its thread sees.
    pub(crate) fn exit(&mut self, thread: Thread, at: Nanos) {
        self.issued(thread, at);
        self.waits.remove(&thread);
        let ran = self.ran.remove(&thread);
        for number in self.ready.remove(&thread).unwrap_or_default() {
            self.end(number, at, ran);
        }
    }

    /// A thread falls asleep. In such a call it waits for more.
    pub(crate) fn sleeps(&mut self, thread: Thread, at: Nanos) {
        self.issued(thread, at);
        for number in self.ready.remove(&thread).unwrap_or_default() {
            let completed = self.open.get(&number).and_then(|request| request.completed);
            self.ended_before += 1;
            self.end(number, completed.unwrap_or(Nanos::ZERO), None);
        }
    }

    /// A thread runs again.
    pub(crate) fn runs(&mut self, thread: Thread, at: Nanos) {
        if self.waits.contains(&thread) {
            self.ran.insert(thread, at);
        }
    }

    fn end(&mut self, number: Number, at: Nanos, ran: Option<Nanos>) {
        if let Some(request) = self.open.remove(&number) {
            self.done.push(request.io(at, ran));
        }
    }

    /// True if a thread has requests in progress.
    pub(crate) fn has_of(&self, thread: Thread) -> bool {
        self.open.values().any(|request| request.thread == thread)
    }

    /// Number of those in progress.
    pub(crate) fn count(&self) -> u64 {
        self.open.len() as u64
    }

    /// Forgets all: events are missing. Returns their number.
    pub(crate) fn clear(&mut self) -> u64 {
        let count = self.count();
        self.open.clear();
        self.named.clear();
        self.current.clear();
        self.chains.clear();
        self.owners.clear();
        self.ready.clear();
        self.loose.clear();
        count
    }

    pub(crate) fn forget(&mut self, now: Nanos) {
        let count = self.open.len();
        self.open.retain(|_, request| now.saturating_sub(request.begin) <= FORGOTTEN);
        let gone = (count - self.open.len()) as u64;
        if gone > 0 {
            self.unclear += gone;
            self.named.retain(|_, number| self.open.contains_key(number));
            self.owners.retain(|_, number| self.open.contains_key(number));
        }
        if self.open.is_empty() {
            self.loose.clear();
        }
    }
}

/// I/Os for a request that its thread did not queue: those of a thread of the kernel which have its size; or else
/// readahead that was done last before it.
fn claimed(
    request: &Request,
    at: Nanos,
    device: Option<DeviceNumber>,
    loose: &mut VecDeque<Arc<Track>>,
) -> Vec<Arc<Track>> {
    let is_there = |track: &Track| device.is_none_or(|device| device == track.span.device);
    let is_within = |track: &Track| track.queued >= request.begin && track.done <= at && is_there(track);
    let is_sync = request.direction == Some(Direction::Sync);
    let is_of_kind = |track: &Track| match request.direction {
        Some(Direction::Read) => track.span.op == Op::Read,
        Some(Direction::Write) => track.span.op == Op::Write,
        _ => track.name.starts_with(WORKER),
    };
    let is_for_it = |track: &Track| {
        track.by == request.thread || track.name.starts_with(THROTTLED) || track.name.starts_with(WORKER)
    };
    let mut left = request.bytes.unwrap_or(0);
    let mut found = Vec::new();
    for track in loose.iter().filter(|track| !track.span.is_ahead && is_within(track) && is_of_kind(track)) {
        if is_sync || (is_for_it(track) && track.bytes() <= left) {
            left = left.saturating_sub(track.bytes());
            found.push(Arc::clone(track));
        }
    }
    if left == 0 && !found.is_empty() {
        loose.retain(|track| found.iter().all(|taken| taken.id != track.id));
        return found;
    }
    let ahead = loose.iter().filter(|track| track.span.is_ahead && track.by == request.thread && track.done <= at);
    let last = ahead.filter(|track| track.done > request.begin).max_by_key(|track| track.done);
    last.filter(|_| request.direction == Some(Direction::Read)).cloned().into_iter().collect()
}

/// A request that io_uring gets.
#[derive(Clone, Copy)]
pub(crate) struct NewRequest {
    pub(crate) call: &'static Call,
    pub(crate) thread: Thread,
    pub(crate) at: Nanos,
    pub(crate) asks: Asks,
}

impl Request {
    fn new(call: &'static Call, thread: Thread, begin: Nanos, direction: Option<Direction>) -> Self {
        Request {
            call,
            thread,
            begin,
            issued: None,
            direction,
            descriptor: None,
            bytes: None,
            pending: 0,
            tracks: Vec::new(),
            used_cache: false,
            completed: None,
            has_failed: false,
        }
    }

    /// Bytes of its I/Os.
    fn transferred(&self) -> u64 {
        self.tracks.iter().map(|track| track.bytes()).sum()
    }

    fn io(&self, end: Nanos, ran: Option<Nanos>) -> Io {
        Io {
            begin: self.begin,
            time: end.saturating_sub(self.begin),
            thread: self.thread,
            program: None,
            direction: self
                .direction
                .unwrap_or_else(|| self.tracks.first().map_or(Direction::Sync, |track| track.direction())),
            reach: Reach::Call,
            call: self.call.name,
            descriptor: self.descriptor,
            file: None,
            // That of its file is in no event.
            offset: None,
            bytes: self.bytes.unwrap_or_else(|| self.transferred()),
            has_failed: self.has_failed,
            is_sequential: None,
            is_of_storage: self.used_cache || !self.tracks.is_empty() || self.direction == Some(Direction::Sync),
            waited_for: u32::try_from(self.tracks.len()).unwrap_or(u32::MAX),
            device: self.tracks.iter().max_by_key(|track| track.done).map(|track| track.span.device),
            waker: None,
            parts: self.parts(end, ran),
        }
    }

    /// Divides the time at each moment at which something changed. `ran` is when the thread that waited ran again.
    fn parts(&self, end: Nanos, ran: Option<Nanos>) -> Parts {
        let of_track = |track: &Arc<Track>| {
            let marks: Vec<Nanos> = track.marks.iter().map(|mark| mark.at).chain([track.queued, track.done]).collect();
            marks
        };
        let mut times: Vec<Nanos> = self.tracks.iter().flat_map(of_track).chain(self.issued).collect();
        times.extend(self.completed.into_iter().chain(ran));
        times.retain(|time| *time > self.begin && *time < end);
        times.extend([self.begin, end]);
        times.sort_unstable();
        times.dedup();
        let mut parts = Parts::default();
        for pair in times.windows(2) {
            if let &[at, until] = pair {
                parts[self.part(at, ran)] += until - at;
            }
        }
        parts
    }

    fn part(&self, at: Nanos, ran: Option<Nanos>) -> Part {
        let in_flight = self.tracks.iter().filter(|track| track.queued <= at && at < track.done);
        let is_issued = self.issued.is_some_and(|issued| issued <= at);
        let (is_at_once, is_sync) = (self.completed <= self.issued, self.direction == Some(Direction::Sync));
        match in_flight.max_by_key(|track| track.done) {
            Some(track) => track.part(at),
            None if self.tracks.is_empty() && is_at_once && !is_sync => Part::Cache,
            None if self.completed.is_some_and(|completed| completed.max(ran.unwrap_or(completed)) <= at) => {
                Part::CopyAndReturn
            }
            None if !is_sync && !self.tracks.is_empty() && self.tracks.iter().all(|track| track.done <= at) => {
                Part::WakingUp
            }
            None if !is_issued => Part::FileSystem,
            // Another thread queued it: a limit of a group let it go on. Without one, that is not known.
            None if self.tracks.iter().any(|track| track.queued > at && track.name.starts_with(THROTTLED)) => {
                Part::Throttle
            }
            None => Part::Wait,
        }
    }
}
