//! One ring for the jobs of a thread: one io_uring_enter(2) submits the I/Os of all of them and waits for the first
//! completion.

use super::mapping::Submissions;
use super::requests::{Registered, Requests, Transfer};
use super::ring::broken;
use super::settings::RingSettings;
use super::setup::{self, Built, ENTER_GETEVENTS, Handle};
use super::waits::{Until, Waits};
use super::{IoUring as Alone, NAME};
use crate::contract::{Engine, EngineError, Io, Operation, Setup, Submitted};
use crate::turns::{SharedQueue, Tag, Wait};
use ::io_uring::IoUring;
use plan::EngineSpec;

/// Registered buffers that a ring can have (IORING_MAX_REG_BUFFERS of linux/io_uring.h).
const MOST_BUFFERS: u32 = 1 << 14;

/// The ring. Its buffers and files are registered job by job.
pub(crate) struct SharedRing {
    ring: IoUring,
    submissions: Submissions,
    handle: Handle,
    waits: Waits,
    setup_flags: String,
    /// In the submission ring, not yet submitted.
    queued: u32,
    /// Submitted, not yet taken.
    in_flight: u32,
}

impl std::fmt::Debug for SharedRing {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SharedRing").field("queued", &self.queued).field("in_flight", &self.in_flight).finish()
    }
}

impl SharedQueue for SharedRing {
    const SPEC: EngineSpec = Alone::SPEC;
    type Requests = Requests;

    fn open<C>(setup: &Setup<'_, C>, jobs: u32) -> Result<Self, EngineError> {
        let settings = RingSettings::from_options(setup.options)?;
        let depth = setup.depth.saturating_mul(jobs);
        let Built { ring, flags, waits } = setup::build(depth, &settings)?;
        if !ring.params().is_feature_ext_arg() {
            let advice = "one call that submits and waits until a moment needs Linux 5.11; leave jobs_per_thread out";
            return Err(setup::failed(setup::SETUP, libc::EOPNOTSUPP, advice));
        }
        if setup.options.is_on("fixedbufs") {
            if depth > MOST_BUFFERS {
                let advice =
                    format!("{depth} buffers; a ring registers {MOST_BUFFERS}: lower jobs_per_thread or iodepth");
                return Err(setup::failed("fixedbufs", libc::EINVAL, &advice));
            }
            let room = ring.submitter().register_buffers_sparse(depth);
            room.map_err(|error| refused("fixedbufs", &error))?;
        }
        if setup.options.is_on("registerfiles") {
            let files = u32::try_from(setup.targets.len()).unwrap_or(u32::MAX).saturating_mul(jobs);
            let room = ring.submitter().register_files_sparse(files);
            room.map_err(|error| refused("registerfiles", &error))?;
        }
        let handle = if settings.registered_ring { Handle::register(&ring) } else { Handle::plain(&ring) };
        let submissions = Submissions::of(&ring)?;
        Ok(SharedRing { handle, submissions, ring, waits, setup_flags: flags, queued: 0, in_flight: 0 })
    }

    fn add<C>(&mut self, setup: &Setup<'_, C>, job: u32) -> Result<Requests, EngineError> {
        let transfer = Transfer::choose(&self.ring, setup)?;
        let mut registered = Registered::default();
        if transfer == Transfer::Fixed {
            let first = job.saturating_mul(setup.depth);
            registered.first_buffer = u16::try_from(first).unwrap_or(u16::MAX);
            setup::register_buffers_from(&self.ring, setup, first)?;
        }
        if setup.options.is_on("registerfiles") {
            let first = u32::try_from(setup.targets.len()).unwrap_or(u32::MAX).saturating_mul(job);
            registered.first_file = i32::try_from(first).unwrap_or(i32::MAX);
            setup::register_files_from(&self.ring, setup, first)?;
        }
        Requests::new(setup, transfer, registered)
    }

    fn submit(&mut self, requests: &mut Requests, job: u32, io: Io) -> Submitted {
        let entry = match io.operation {
            Operation::Read | Operation::Write if requests.are_alike(&io) => requests.transfer(&io).into(),
            Operation::Read | Operation::Write => requests.varied(&io.rebuilt()).into(),
            Operation::Sync | Operation::DataSync => requests.sync(&io.rebuilt()),
            // A plain call, which must not overtake I/Os that are queued.
            Operation::Trim if self.queued > 0 => return Submitted::Full,
            Operation::Trim => return Submitted::Done(requests.carry_out(&io.rebuilt())),
        };
        let entry = entry.user_data(Tag { job, slot: io.slot }.packed());
        // SAFETY: the entry points to the slot's buffer, or to its iovec, which does: the worker keeps the buffer, and
        // the lane the iovec, until the I/O is reaped, and a lane that is dropped reaps all that are in flight.
        if !unsafe { self.submissions.push(entry) } {
            return Submitted::Full;
        }
        self.queued += 1;
        Submitted::Queued
    }

    fn is_busy(&self) -> bool {
        self.queued > 0 || self.in_flight > 0
    }

    fn enter(&mut self, wait: Wait) -> Result<u32, EngineError> {
        self.submissions.publish();
        let entered = match wait {
            Wait::No if self.queued == 0 && !self.has_hidden_completions() => return Ok(0),
            Wait::No => self.handle.enter(self.queued, 0, ENTER_GETEVENTS),
            Wait::ForOne => self.handle.enter(self.queued, 1, ENTER_GETEVENTS),
            Wait::Within(longest) => {
                self.waits.set_moment(longest);
                self.waits.enter(self.handle, self.queued, 1, Until::Moment)
            }
        };
        let taken = match entered {
            Ok(taken) => taken.min(self.queued),
            // Nothing was submitted: the time has passed, a signal arrived, or there is no room before completions are
            // taken.
            Err(libc::ETIME | libc::EINTR) => 0,
            Err(libc::EAGAIN | libc::EBUSY) if self.in_flight > 0 => 0,
            Err(errno) => return Err(broken(errno)),
        };
        self.queued -= taken;
        self.in_flight += taken;
        Ok(taken)
    }

    fn take(&mut self, each: &mut dyn FnMut(Tag, i64)) {
        for entry in self.ring.completion() {
            self.in_flight -= 1;
            each(Tag::of(entry.user_data()), i64::from(entry.result()));
        }
    }

    fn note(&self, requests: &Requests) -> Option<String> {
        let mut note = format!("{NAME}: {}", self.setup_flags);
        let registered =
            [(self.handle.is_registered(), "registered ring"), (self.waits.are_registered(), "registered waits")];
        let of_the_ring = registered.into_iter().filter_map(|(has, what)| has.then_some(what));
        for what in of_the_ring.chain(requests.features()) {
            note.push_str(", ");
            note.push_str(what);
        }
        Some(note)
    }

    fn priorities(requests: &Requests) -> &[u16] {
        requests.priorities()
    }

    fn priority_of(requests: &Requests, slot: u32) -> usize {
        requests.priority_of(slot)
    }
}

impl SharedRing {
    /// True if only a system call can bring completions to the ring: deferred ones (DEFER_TASKRUN), and those of an
    /// overflow.
    fn has_hidden_completions(&self) -> bool {
        self.submissions.hide_completions()
    }
}

impl Drop for SharedRing {
    fn drop(&mut self) {
        self.handle.unregister(&self.ring);
    }
}

fn refused(what: &'static str, error: &std::io::Error) -> EngineError {
    let errno = error.raw_os_error().unwrap_or(libc::EIO);
    setup::failed(what, errno, "a ring that jobs share registers them one by one, which needs Linux 5.19; leave it out")
}
