//! The end of a runtime that is not the end of a job: the worker waits, with nothing in flight, until it is known how
//! many I/Os the fastest worker of all machines has done, and goes on to that number.

use super::calls::Calls;
use super::job_loop::Drive;
use crate::files::FileLocks;
use engine::{EngineClock, EngineError};
use measure::{Clock, Nanos};
use plan::AfterRuntime;
use std::sync::atomic::Ordering::{Acquire, Release};

/// Sleep between two looks for the number. Only workers whose runtime is over sleep so.
const NAP: Nanos = Nanos::MILLISECOND;

impl<E: Calls, const LATENCY: bool> Drive<'_, E, LATENCY> {
    /// Goes on after the runtime, if the job is to.
    pub(super) fn wear_out(&mut self, locks: Option<&FileLocks>) -> Result<(), EngineError> {
        let over_at = self.clock.now();
        let waits = self.job.limits.after_runtime == AfterRuntime::WaitForOthers
            && self.load.is_out_of_time(over_at)
            && !self.ended_by_fault
            && !self.statistics.control.stop_requested();
        if !waits {
            return Ok(());
        }
        let done = self.statistics.control.measured_ios();
        let Some(until) = self.wait_for_the_number(done) else { return Ok(()) };
        let now = self.clock.now();
        match until.saturating_sub(done) {
            // The fastest one ends with its last I/O: it only waited since.
            0 => self.timing.waited = now.saturating_sub(over_at),
            further => {
                self.load.go_on(further, now);
                self.timing.stride.restart();
                self.arrivals.ready = now;
                return self.run_loop(locks);
            }
        }
        Ok(())
    }

    /// The number of I/Os; `None` if the worker is to end instead.
    fn wait_for_the_number(&mut self, done: u64) -> Option<u64> {
        self.statistics.control.out_of_time.store(done.saturating_add(1), Release);
        let until = loop {
            if self.statistics.control.stop_requested() {
                break None;
            }
            if let Some(until) = self.statistics.control.until_ios.load(Acquire).checked_sub(1) {
                break Some(until);
            }
            self.answer_report_request();
            match E::Clock::TAKES_TURNS {
                true => self.clock.sleep_until(self.clock.now().saturating_add(NAP)),
                false => std::thread::sleep(NAP.as_duration()),
            }
        };
        self.statistics.control.out_of_time.store(0, Release);
        until
    }
}
