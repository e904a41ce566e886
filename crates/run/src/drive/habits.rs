//! The loop of a pass that does something beside each of its records: locks, reads elsewhere, computing, other memory.

use super::Drive;
use engine::{Engine, EngineError, Operation};
use job::plan::{Habits, Listed, Strays};
use load::Request;
use measure::Clock;
use sys::range_lock::RangeLock;

/// Stray reads are so far apart.
const PAGE: u64 = 4096;

impl<'w, E: Engine, const LATENCY: bool> Drive<'w, E, LATENCY> {
    /// What the pass does beside each record; most do nothing.
    pub(super) fn habits(&self) -> Option<(&'w Habits, &'w [Listed])> {
        self.pass.as_ref().and_then(super::Pass::habits)
    }

    /// One record at a time, each with what belongs to it.
    pub(super) fn run_with_habits(&mut self) -> Result<(), EngineError> {
        let Some((habits, list)) = self.habits() else { return Ok(()) };
        let (mut records, slots) = (0, u64::from(self.memory.slots()));
        let mut now = self.clock.now();
        while let Some((request, present)) = self.next_alone(now)? {
            now = present;
            if request.direction().is_some() {
                self.before_record(habits, list, records);
                now = self.clock.now();
                records += 1;
            }
            let slot = u32::try_from(u64::saturating_sub(records, 1) % slots).unwrap_or(0);
            if habits.locks
                && let Err(error) = self.lock_bytes(&request, taken(&request))
            {
                self.fault(&request, -i64::from(error.raw_os_error().unwrap_or(libc::EIO)));
                continue;
            }
            let done = self.by_itself(slot, &request, now);
            if habits.locks {
                // What was locked a moment ago can be let go.
                let _ = self.lock_bytes(&request, RangeLock::Released);
            }
            now = done?;
        }
        self.count_calls();
        Ok(())
    }

    /// What comes before the record with this number.
    fn before_record(&mut self, habits: &Habits, list: &[Listed], number: u64) {
        if let Some(strays) = habits.strays.filter(|strays| number.is_multiple_of(strays.every.max(1))) {
            self.stray(strays);
        }
        let listed = usize::try_from(number).ok().and_then(|number| list.get(number));
        if let Some(compute) = listed.map(|listed| listed.compute).filter(|time| habits.computes && !time.is_zero()) {
            self.spin_until(self.clock.now().saturating_add(compute));
        }
    }

    /// Reads elsewhere, beside the engine. Nobody asks what came back.
    fn stray(&mut self, strays: Strays) {
        let bytes = strays.bytes.min(self.job.load.largest());
        for page in 0..u64::from(strays.count) {
            // What cannot be read here is no part of the pass.
            let _ = self.files.peek(0, page * PAGE, self.memory.slot(0, bytes));
        }
    }

    fn lock_bytes(&self, request: &Request, lock: RangeLock) -> std::io::Result<()> {
        self.files.lock_bytes(request.target, lock, request.offset, u64::from(request.length))
    }
}

/// The lock that an I/O needs.
fn taken(request: &Request) -> RangeLock {
    if request.operation == Operation::Read { RangeLock::Shared } else { RangeLock::Exclusive }
}
