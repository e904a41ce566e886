//! Response time and lateness of I/Os with a rate: both are counted from the moment at which an I/O was due, so an I/O
//! that had to wait before it was issued has waited. Also counts the I/Os that the worker itself issued late.
//!
//! A job without a rate has no part in this. What follows a completion is reached by the branch of the loop that
//! inspects each I/O, and what follows an issue by one comparison for I/Os that were not planned ahead; a job with a
//! rate plans none ahead.

use super::calls::Calls;
use super::job_loop::Drive;
use super::slots::IoTimes;
use load::Request;
use measure::Nanos;

/// An I/O that is issued later than this after it was due, and after there was room for it, was issued late by the
/// worker. A worker that sleeps until a moment wakes up within this: the timer slack of Linux is 50 µs (prctl(2)).
const LATE: Nanos = Nanos::from_micros(50);

/// Since when the queue of a job with a rate has had room.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// An I/O could be issued from here on: until then the queue was full, or the job did something else.
    pub(super) ready: Nanos,
    /// True while a queue that was full is drained to its low mark.
    draining: bool,
}

impl<E: Calls, const LATENCY: bool> Drive<'_, E, LATENCY> {
    /// Notes that an I/O is issued, which could be issued from `ready` on.
    #[inline(always)]
    pub(super) fn note_issued(&mut self, request: &Request, ready: Nanos, issued: Nanos) {
        if request.due.is_some() {
            self.note_arrival(request, ready, issued);
        }
    }

    #[inline(never)]
    fn note_arrival(&mut self, request: &Request, ready: Nanos, issued: Nanos) {
        let (Some(due), Some(direction)) = (request.due, request.direction()) else { return };
        if issued.saturating_sub(ready.max(due.moment())) > LATE {
            self.statistics.record.sent_late[direction as usize] += 1;
        }
    }

    /// Records how an I/O that completed in full responded.
    #[inline]
    pub(super) fn note_response(&mut self, request: &Request, times: IoTimes) {
        self.note_room(times.reaped);
        let (Some(due), Some(direction)) = (request.due, request.direction()) else { return };
        let (response, lateness) =
            (times.reaped.saturating_sub(due.moment()), times.issued.saturating_sub(due.moment()));
        let (record, at) = (&mut *self.statistics.record, direction as usize);
        record.response[at].record(response);
        record.histograms.response[at].record(response);
        record.lateness[at].record(lateness);
        record.histograms.lateness[at].record(lateness);
    }

    /// Notes, before the slot of an I/O that was reaped is free, when a full queue got room.
    #[inline]
    pub(super) fn note_room(&mut self, reaped: Nanos) {
        if self.slots.is_full() || self.arrivals.draining {
            self.arrivals.ready = reaped;
            self.arrivals.draining = self.slots.busy() > self.job.depth.low + 1;
        }
    }
}
