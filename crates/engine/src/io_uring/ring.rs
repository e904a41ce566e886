//! Drives a ring: submits entries and reaps completions with as few system calls as possible.

use super::NAME;
use super::mapping::{Completions, Submissions};
use super::requests::{Registered, Requests, Transfer};
use super::settings::RingSettings;
use super::setup::{self, ENTER_GETEVENTS, ENTER_SQ_WAKEUP, Handle, PollerCpu};
use super::waits::{Until, Waits};
use crate::contract::{Completion, EngineError, Io, Operation, Setup, Submitted};
use ::io_uring::IoUring;
use ::io_uring::squeue::Entry;
use measure::Nanos;

/// Number of times that the completion ring is polled before a wait, while a kernel thread takes submissions: about 100
/// µs, within which most devices complete without a system call.
const LOOKS_BEFORE_WAIT: u32 = 10_000;

/// A ring and its I/Os.
pub(super) struct Ring {
    ring: IoUring,
    submissions: Submissions,
    completions: Completions,
    handle: Handle,
    settings: RingSettings,
    waits: Waits,
    setup_flags: String,
    requests: Requests,
    /// CPU time of the kernel's polling thread, if there is one and it was found.
    poller: Option<PollerCpu>,
    /// In the submission ring, not yet submitted.
    queued: u32,
    /// Submitted, not yet reaped.
    in_flight: u32,
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Ring").field("note", &self.note()).field("in_flight", &self.in_flight).finish()
    }
}

impl Ring {
    pub(super) fn open<C>(setup: &Setup<'_, C>) -> Result<Self, EngineError> {
        let options = setup.options;
        let settings = RingSettings::from_options(options)?;
        let built = setup::build(setup.depth, &settings)?;
        let transfer = Transfer::choose(&built.ring, setup)?;
        if transfer == Transfer::Fixed {
            setup::register_buffers(&built.ring, setup)?;
        }
        if options.is_on("registerfiles") {
            setup::register_files(&built.ring, setup)?;
        }
        let (submissions, completions) = (Submissions::of(&built.ring)?, Completions::of(&built.ring)?);
        let requests = Requests::new(setup, transfer, Registered::default())?;
        Ok(Ring {
            handle: if settings.registered_ring { Handle::register(&built.ring) } else { Handle::plain(&built.ring) },
            submissions,
            completions,
            poller: settings.poller.then(|| PollerCpu::find(&built.ring)).flatten(),
            ring: built.ring,
            waits: built.waits,
            setup_flags: built.flags,
            settings,
            requests,
            queued: 0,
            in_flight: 0,
        })
    }

    /// Makes NOPs of all reads and writes from now on.
    pub(super) fn do_nothing(&mut self) {
        self.requests.do_nothing();
    }

    pub(super) fn priorities(&self) -> &[u16] {
        self.requests.priorities()
    }

    pub(super) fn priority_of(&self, slot: u32) -> usize {
        self.requests.priority_of(slot)
    }

    /// CPU time of the kernel's polling thread.
    pub(super) fn poller_cpu(&self) -> Option<Nanos> {
        self.poller.as_ref()?.read()
    }

    /// True if a kernel thread takes submissions from the ring (SQPOLL).
    pub(super) fn is_polled_by_kernel(&self) -> bool {
        self.settings.poller
    }

    /// True if entries that are submitted right before a wait are submitted by the call that waits, at a moment that is
    /// not seen.
    pub(super) fn joins_calls(&self) -> bool {
        self.settings.joins_calls
    }

    /// Features that the kernel granted.
    pub(super) fn note(&self) -> String {
        let mut note = format!("{NAME}: {}", self.setup_flags);
        let idle = self.settings.poller_cpu.is_some() && !self.settings.poller;
        let of_the_ring = [
            (self.handle.is_registered(), "registered ring"),
            (self.waits.are_registered(), "registered waits"),
            (self.settings.joins_calls, "submits and waits in one call"),
        ];
        let of_the_ring = of_the_ring.into_iter().filter_map(|(has, what)| has.then_some(what));
        let idle = idle.then_some("sqthread_poll_cpu idle without sqthread_poll");
        for what in of_the_ring.chain(self.requests.features()).chain(idle) {
            note.push_str(", ");
            note.push_str(what);
        }
        if !self.settings.busy_poll.is_zero() {
            note.push_str(&format!(", polls for {} ns before a wait", self.settings.busy_poll.get()));
        }
        if self.waits.have_batch_time() {
            note.push_str(&format!(", waits {} us for a batch", self.settings.batch_us));
        }
        note
    }

    #[inline(always)]
    pub(super) fn submit(&mut self, io: Io) -> Submitted {
        if !self.requests.are_alike(&io) {
            return self.submit_otherwise(&io.rebuilt());
        }
        let entry = self.requests.transfer(&io).into();
        self.push(entry)
    }

    /// Submits any I/O.
    #[inline(never)]
    fn submit_otherwise(&mut self, io: &Io) -> Submitted {
        let entry = match io.operation {
            Operation::Read | Operation::Write => self.requests.varied(io).into(),
            // A ring with IOPOLL takes only reads and writes.
            Operation::Sync | Operation::DataSync if !self.settings.polled => self.requests.sync(io),
            Operation::Trim if !self.settings.polled => match self.requests.trim(io) {
                Some(entry) => return self.push_trim(io, entry),
                None => return self.carry_out(io),
            },
            Operation::Sync | Operation::DataSync | Operation::Trim => return self.carry_out(io),
        };
        self.push(entry)
    }

    #[inline(always)]
    pub(super) fn flush(&mut self) -> Result<u32, EngineError> {
        let mut taken = 0;
        while self.queued > 0 {
            let now = self.hand_over(0)?;
            if now == 0 {
                break;
            }
            taken += now;
        }
        Ok(taken)
    }

    #[inline(always)]
    pub(super) fn reap(&mut self, min: u32, max: u32, done: &mut Vec<Completion>) -> Result<u32, EngineError> {
        let needed = min.min(max).min(self.in_flight);
        let count = self.take(max, done);
        if count > 0 && count >= needed { Ok(count) } else { self.reap_rest(count, needed, max, done) }
    }

    /// Goes on after `count` completions, which are too few or none.
    // Not inlined, so that the loop around it is short: a system call leaves little of it in the nearest cache.
    #[inline(never)]
    fn reap_rest(
        &mut self,
        mut count: u32,
        needed: u32,
        max: u32,
        done: &mut Vec<Completion>,
    ) -> Result<u32, EngineError> {
        // A poll that finds nothing enters the kernel if completions are hidden from user space.
        if count == 0 && needed == 0 && max > 0 && self.has_hidden_completions() {
            self.wait(0)?;
            count = self.take(max, done);
        }
        if count < needed && !self.settings.busy_poll.is_zero() {
            count += self.poll_for(needed - count, max - count, done)?;
        }
        if count < needed && self.waits.have_batch_time() {
            return self.reap_batch(count, needed, max, done);
        }
        // With SQPOLL, polling the ring in memory first usually saves the system call.
        if count < needed && self.settings.poller {
            count += self.look_for(needed - count, max - count, done);
        }
        while count < needed {
            let Waited::Through = self.wait(needed - count)? else {
                count += self.take(max - count, done);
                break;
            };
            count += self.take(max - count, done);
        }
        Ok(count)
    }

    /// Polls for completions before a wait in which the worker would sleep, for as long as `busy_poll` says.
    #[inline(never)]
    fn poll_for(&mut self, needed: u32, max: u32, done: &mut Vec<Completion>) -> Result<u32, EngineError> {
        let began = std::time::Instant::now();
        let mut count = 0;
        loop {
            // A system call only where the kernel says that it has completions which it has not posted.
            if self.has_hidden_completions() {
                self.wait(0)?;
            }
            count += self.take(max - count, done);
            if count >= needed || began.elapsed().as_nanos() >= u128::from(self.settings.busy_poll.get()) {
                return Ok(count);
            }
            std::hint::spin_loop();
        }
    }

    /// Waits for the rest of a batch, of which `count` are taken: for all that are needed as long as the time of a
    /// batch lasts, then for one.
    #[inline(never)]
    fn reap_batch(
        &mut self,
        mut count: u32,
        needed: u32,
        max: u32,
        done: &mut Vec<Completion>,
    ) -> Result<u32, EngineError> {
        loop {
            let until = if count == 0 { Until::Batch } else { Until::Rest };
            let waited = waited(self.waits.enter(self.handle, 0, needed - count, until))?;
            count += self.take(max - count, done);
            if count > 0 || waited == Waited::Interrupted {
                return Ok(count);
            }
        }
    }

    /// Waits for one completion, at most `longest`.
    #[cold]
    pub(super) fn reap_within(
        &mut self,
        longest: Nanos,
        max: u32,
        done: &mut Vec<Completion>,
    ) -> Result<u32, EngineError> {
        let count = self.reap(0, max, done)?;
        if count > 0 || self.in_flight == 0 {
            return Ok(count);
        }
        if self.settings.polled {
            return self.poll_within(longest, max, done);
        }
        self.waits.set_moment(longest);
        match self.waits.enter(self.handle, 0, 1, Until::Moment) {
            Ok(_) | Err(libc::ETIME | libc::EINTR | libc::EAGAIN | libc::EBUSY) => Ok(self.take(max, done)),
            // Before Linux 5.11 there is no timeout: waits for one completion.
            Err(libc::EINVAL) => self.reap(1, max, done),
            Err(errno) => Err(broken(errno)),
        }
    }

    /// With IOPOLL a device raises no interrupt that could end a wait, so this polls in a loop.
    fn poll_within(&mut self, longest: Nanos, max: u32, done: &mut Vec<Completion>) -> Result<u32, EngineError> {
        let began = std::time::Instant::now();
        loop {
            let count = self.reap(0, max, done)?;
            if count > 0 || began.elapsed().as_nanos() >= u128::from(longest.get()) {
                return Ok(count);
            }
        }
    }

    #[inline(always)]
    pub(super) fn flush_and_reap(
        &mut self,
        min: u32,
        max: u32,
        done: &mut Vec<Completion>,
    ) -> Result<(u32, u32), EngineError> {
        if self.queued == 0 || self.settings.poller {
            let taken = self.flush()?;
            return Ok((taken, self.reap(min, max, done)?));
        }
        let wanted = self.queued;
        // The kernel counts completions that are already in the ring, so nothing has to be reaped before.
        let taken = self.hand_over(min.min(max).min(self.in_flight + wanted))?;
        if taken < wanted {
            // A partial submission does not wait.
            return Ok((taken, self.reap(min, max, done)?));
        }
        Ok((taken, self.take(max, done)))
    }

    /// Puts an entry into the submission ring.
    #[inline(always)]
    pub(super) fn push(&mut self, entry: Entry) -> Submitted {
        // SAFETY: the entry points to the slot's buffer, or to its iovec, which does: the worker keeps the buffer, and
        // the engine the iovec, until the I/O is reaped, and `drop` reaps all I/Os that are in flight. That of a
        // timeout points to a span that its engine keeps as long.
        if !unsafe { self.submissions.push(entry) } {
            return Submitted::Full;
        }
        self.queued += 1;
        Submitted::Queued
    }

    fn push_trim(&mut self, io: &Io, entry: Entry) -> Submitted {
        let submitted = self.push(entry);
        if submitted == Submitted::Queued {
            self.requests.trim_queued(io);
        }
        submitted
    }

    /// Does a trim, or a sync on a ring with IOPOLL, as a plain call. It must not overtake I/Os queued before it.
    #[cold]
    fn carry_out(&self, io: &Io) -> Submitted {
        if self.queued > 0 {
            return Submitted::Full;
        }
        Submitted::Done(self.requests.carry_out(io))
    }

    /// Submits the queued entries, waits for `wait` completions, and returns how many entries the kernel took: 0 only
    /// if it has no room until completions are reaped.
    #[inline(always)]
    fn hand_over(&mut self, wait: u32) -> Result<u32, EngineError> {
        let taken = if self.settings.poller {
            if self.submissions.publish_to_poller() {
                self.handle.enter(self.queued, 0, ENTER_SQ_WAKEUP).map_err(broken)?;
            }
            self.queued
        } else {
            self.submissions.publish();
            loop {
                match self.enter(self.queued, wait) {
                    Ok(taken) => break taken,
                    Err(libc::EINTR) => {}
                    // The kernel has no memory, or the completion ring has overflowed: the caller reaps first.
                    Err(libc::EAGAIN | libc::EBUSY) if self.in_flight > 0 => break 0,
                    Err(errno) => return Err(broken(errno)),
                }
            }
        };
        self.queued -= taken;
        self.in_flight += taken;
        Ok(taken)
    }

    /// Moves up to `max` completions from the ring to `done`.
    #[inline(always)]
    fn take(&mut self, max: u32, done: &mut Vec<Completion>) -> u32 {
        let count = self.completions.take(max, done);
        self.in_flight -= count;
        if self.requests.has_trims() {
            let first = done.len() - count as usize;
            self.requests.finish_trims(&mut done[first..]);
        }
        count
    }

    /// True if only a system call can bring completions to the ring: those of a device with IOPOLL, deferred ones
    /// (DEFER_TASKRUN), and those of an overflow.
    #[inline]
    fn has_hidden_completions(&mut self) -> bool {
        if self.in_flight == 0 {
            return false;
        }
        if self.settings.polled && !self.settings.poller {
            return true;
        }
        self.submissions.hide_completions()
    }

    /// Polls the completion ring for a while without a system call.
    fn look_for(&mut self, needed: u32, max: u32, done: &mut Vec<Completion>) -> u32 {
        let mut count = 0;
        for _ in 0..LOOKS_BEFORE_WAIT {
            count += self.take(max - count, done);
            if count >= needed {
                break;
            }
            std::hint::spin_loop();
        }
        count
    }

    /// Submits entries and waits for completions, if more than none are wanted.
    #[inline(always)]
    fn enter(&self, submit: u32, wait: u32) -> Result<u32, i32> {
        if wait > 0 && self.waits.have_batch_time() {
            return self.waits.enter(self.handle, submit, wait, Until::Batch);
        }
        // GETEVENTS also makes the kernel post completions that it deferred (DEFER_TASKRUN).
        self.handle.enter(submit, wait, ENTER_GETEVENTS)
    }

    /// Waits until `count` completions are in the ring.
    #[inline(always)]
    fn wait(&mut self, count: u32) -> Result<Waited, EngineError> {
        waited(self.handle.enter(0, count, ENTER_GETEVENTS))
    }
}

/// How a wait ended.
#[inline(always)]
fn waited(entered: Result<u32, i32>) -> Result<Waited, EngineError> {
    match entered {
        Ok(_) | Err(libc::EAGAIN | libc::EBUSY | libc::ETIME) => Ok(Waited::Through),
        Err(libc::EINTR) => Ok(Waited::Interrupted),
        Err(errno) => Err(broken(errno)),
    }
}

/// Result of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waited {
    Through,
    Interrupted,
}

impl Drop for Ring {
    /// Waits for all I/Os in flight, because the kernel writes to their buffers until then and the worker frees the
    /// buffers next.
    fn drop(&mut self) {
        let mut done = Vec::new();
        while self.in_flight > 0 && (self.take(u32::MAX, &mut done) > 0 || self.wait(1).is_ok()) {}
        self.handle.unregister(&self.ring);
    }
}

#[cold]
pub(super) fn broken(errno: i32) -> EngineError {
    setup::failed("io_uring_enter", errno, "the ring cannot be used any more")
}
