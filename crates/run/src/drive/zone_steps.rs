//! Steps of the load that act on a zone: it is reset, finished, or asked for its write pointer.

use super::calls::Calls;
use super::job_loop::{Drive, is_synchronous};
use super::slots::IoTimes;
use engine::EngineError;
use load::{Request, ZoneAction};
use measure::Clock;
use std::io::Error;

impl<E: Calls, const LATENCY: bool> Drive<'_, E, LATENCY> {
    /// Acts on a zone of `length` bytes, whatever else is in flight. A trim counts as an I/O.
    #[cold]
    pub(super) fn act_on_zone(
        &mut self,
        request: &Request,
        length: u64,
        action: ZoneAction,
    ) -> Result<(), EngineError> {
        let issued = self.clock.now();
        let result = self.files.open.act_on_zone(request.target, action, request.offset, length);
        let reaped = self.clock.now();
        self.load.zone_done(request, action, result);
        if action.is_trim() {
            if !is_synchronous(self.engine.spec(), self.job) {
                self.statistics.record.submitted(1, self.slots.busy() + 1);
                self.statistics.record.reaped(1);
            }
            let result = result.map_or_else(|errno| -i64::from(errno), |_| i64::from(request.length));
            self.watch_time(reaped);
            self.finish_alone(0, request, IoTimes { issued, accepted: issued, reaped }, result)?;
        } else if let Err(errno) = result {
            let what = match action {
                ZoneAction::Finish => "finish",
                ZoneAction::Report => "report",
                _ => "reset",
            };
            let error = Error::from_raw_os_error(errno);
            let message = format!("{what} of the zone at offset {} of {}: {error}", request.offset, self.path(request));
            self.statistics.record.fault.keep_first(errno, "zone", &message);
            self.ended_by_fault = true;
            self.load.stop();
        }
        Ok(())
    }
}
