//! What the parent may wish of a worker at work: that it says how far it is.

use super::{Drive, is_synchronous};
use crate::worker::record::REPORT;
use crate::worker::used_since;
use engine::Engine;
use job::plan::Isolation;
use measure::Clock;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::{Relaxed, Release};

impl<E: Engine, const LATENCY: bool> Drive<'_, E, LATENCY> {
    /// Says how far it is, where the parent asks for that.
    #[inline]
    pub(super) fn heed_report(&mut self) {
        if self.tally.control.report_wanted() {
            self.publish();
        }
    }

    /// Brings the record up to date; a thread leaves a copy, because its parent may not read what it writes.
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
        record.settle();
        record.measured_until = now.get();
        record.bytes_so_far = self.tally.control.bytes.each_ref().map(|bytes| bytes.load(Relaxed));
        record.ios_so_far = self.tally.control.ios.each_ref().map(|ios| ios.load(Relaxed));
        // Until the worker has ended, `usage` is what was used before the measured part.
        record.usage_so_far = used_since(used, record.usage);
        if self.job.isolation == Isolation::Thread {
            *self.mailbox.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(record.clone()));
        }
        self.tally.control.stop.fetch_and(!REPORT, Release);
    }
}
