//! Requests of the parent for a progress report from a running worker.

use super::job_loop::{Drive, is_synchronous};
use crate::shared::control::REPORT;
use crate::shared::usage::used_since;
use engine::Engine;
use measure::Clock;
use plan::Isolation;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Release;

impl<E: Engine, const LATENCY: bool> Drive<'_, E, LATENCY> {
    /// Updates the record if the parent has asked for it.
    #[inline]
    pub(super) fn answer_report_request(&mut self) {
        if self.tally.control.report_wanted() {
            self.publish();
        }
    }

    /// Brings the record up to date. A worker that is a thread leaves a copy in its mailbox, because the parent must
    /// not read the record while the thread writes it.
    #[cold]
    fn publish(&mut self) {
        let now = self.clock.now();
        self.watch_time(now);
        if is_synchronous::<E>(self.job) {
            self.count_calls();
        }
        self.keep_steadiness();
        let used = self.usage();
        let record = &mut *self.tally.record;
        record.publish(self.tally.control, now);
        // While the worker runs, `usage` holds the CPU usage before the measured part.
        record.usage_so_far = used_since(used, record.usage);
        if self.job.isolation == Isolation::Thread {
            *self.tally.mailbox.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(record.clone()));
        }
        // Release: the parent reads the record only after it has seen this bit cleared.
        self.tally.control.stop.fetch_and(!REPORT, Release);
    }
}
