//! Response time and lateness of I/Os with a rate: both are counted from the moment at which an I/O was due, so an I/O
//! that had to wait before it was issued has waited. Also counts the I/Os that the worker itself issued late.
//!
//! A job without a rate has no part in this. What follows a completion is reached by the branch of the loop that
//! inspects each I/O, and what follows an issue by one comparison for I/Os that are not planned ahead without a rate.

use super::calls::Calls;
use super::job_loop::Drive;
use super::slots::IoTimes;
use load::Request;
use measure::Nanos;

/// An I/O that is issued later than this after it was due, and after there was room for it, was issued late by the
/// worker. A worker with a processor to run on wakes up sooner: its timer slack is 1 ns (`sys::processes::placement`).
const LATE: Nanos = Nanos::from_micros(50);

/// Since when the queue of a job with a rate has had room.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// An I/O could be issued from here on: until then the queue was full, or the job did something else.
    pub(super) ready: Nanos,
    /// True while a queue that was full is drained to its low mark.
    draining: bool,
    /// The last time in which I/Os were due, the queue had room, and the worker issued none. All that were due in it
    /// are late, also those that find the queue full of the others afterwards.
    absent: (Nanos, Nanos),
}

impl Arrivals {
    /// True if an I/O that is issued now was made late by the worker. I/Os come in the order in which they were due.
    #[inline(always)]
    fn is_late(&mut self, due: Nanos, ready: Nanos, issued: Nanos) -> bool {
        let possible = ready.max(due);
        let (from, until) = self.absent;
        let of_absence = from <= due && until.saturating_sub(due) > LATE;
        if issued.saturating_sub(possible) > LATE {
            self.absent = (if of_absence { from } else { possible }, issued);
            return true;
        }
        of_absence
    }
}

impl<E: Calls, const LATENCY: bool> Drive<'_, E, LATENCY> {
    /// Notes that an I/O is issued, which could be issued from `ready` on.
    #[inline(always)]
    pub(super) fn note_issued(&mut self, request: &Request, ready: Nanos, issued: Nanos) {
        if request.due.is_some() {
            self.note_arrival(request, ready, issued);
        }
    }

    #[inline(always)]
    pub(super) fn note_arrival(&mut self, request: &Request, ready: Nanos, issued: Nanos) {
        let (Some(due), Some(direction)) = (request.due, request.direction()) else { return };
        if self.arrivals.is_late(due.moment(), ready, issued) {
            self.statistics.record.sent_late[direction as usize] += 1;
        }
    }

    /// Records how an I/O that completed in full responded.
    #[inline(always)]
    pub(super) fn note_response(&mut self, request: &Request, times: IoTimes) {
        self.note_room(times.reaped);
        let (Some(due), Some(direction)) = (request.due, request.direction()) else { return };
        let (response, lateness) =
            (times.reaped.saturating_sub(due.moment()), times.issued.saturating_sub(due.moment()));
        self.statistics.record.response(direction, response, lateness);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// I/Os by (due, ready, issued) in µs: which of them are late.
    fn late(ios: &[(u64, u64, u64)]) -> Vec<bool> {
        let mut arrivals = Arrivals::default();
        let micros = Nanos::from_micros;
        ios.iter().map(|&(due, ready, issued)| arrivals.is_late(micros(due), micros(ready), micros(issued))).collect()
    }

    #[test]
    fn an_io_is_late_if_it_waited_for_the_worker_and_not_for_room() {
        assert_eq!(late(&[(100, 0, 100), (200, 0, 250), (300, 0, 351), (400, 0, 400)]), [false, false, true, false]);
        assert_eq!(late(&[(100, 900, 900), (200, 950, 1000), (300, 1000, 1051)]), [false, false, true]);
    }

    #[test]
    fn ios_due_while_the_worker_was_away_are_late() {
        // Away from 1000 to 9000 µs; afterwards each waits for the one before.
        let ios = [(1000, 0, 9000), (3000, 9100, 9100), (8940, 9200, 9200), (8960, 9300, 9300), (9500, 9400, 9500)];
        assert_eq!(late(&ios), [true, true, true, false, false]);
        // In a backlog, those that were due before the worker was away had to wait anyway.
        let ios = [(100, 5000, 6000), (200, 6100, 6100), (4990, 6200, 6200), (5000, 6300, 6300), (6100, 6400, 6400)];
        assert_eq!(late(&ios), [true, false, false, true, false]);
        // Away again before all of the first time are issued.
        let ios = [(1000, 0, 2000), (1100, 2100, 3000), (1200, 3000, 3000), (2900, 3000, 3000)];
        assert_eq!(late(&ios), [true, true, true, true]);
    }
}
