//! Rare operations on files in the loop: exchanging them, locking them, syncing a part of one or a whole file system.

use super::calls::Calls;
use super::job_loop::{Drive, first_io};
use super::slots::IoTimes;
use crate::files::FileLocks;
use engine::EngineError;
use load::Request;
use measure::{Clock, Nanos};
use model::JobError;
use plan::Operation;

impl<E: Calls, const LATENCY: bool> Drive<'_, E, LATENCY> {
    /// Replaces the file of a target by another, with nothing in flight.
    #[cold]
    pub(super) fn replace_file(&mut self, target: u32, file: u32) -> Result<(), EngineError> {
        let engine = self.engine.spec().name;
        let closed = Request::on_target(Operation::Sync, self.files.open.file_of(target), target);
        self.files.open.replace(self.job, target as usize, file as usize).map_err(|error| failed(engine, error))?;
        let now = self.clock.now();
        if self.job.load.fsync_on_close || self.job.load.end_fsync {
            self.load.note_issued(now, &closed);
            self.load.note_synced(closed.file);
        }
        self.load.note_closed(now, closed.file);
        if self.is_reviewing() { self.flush_for_review(target) } else { Ok(()) }
    }

    /// Recreates the files between two passes, for a job that removes them after each.
    #[cold]
    pub(super) fn recreate_files(&mut self) -> Result<(), EngineError> {
        let engine = self.engine.spec().name;
        self.files.open.recreate(self.job).map_err(|error| failed(engine, error))
    }

    /// Calls sync_file_range(2) on what was written since the last call; it counts as a sync.
    #[cold]
    pub(super) fn sync_range(&mut self, request: &Request, length: u64) {
        let Some(how) = self.job.load.range_sync else { return };
        let issued = self.clock.now();
        let result = self.files.open.sync_range(request.target, request.offset, length, how);
        let reaped = self.clock.now();
        if result < 0 {
            return self.fault(request, result);
        }
        self.statistics.synchronised(IoTimes { issued, accepted: issued, reaped });
    }

    /// Calls syncfs(2) at the end of a pass. As with end_fsync, its time counts as run time, but its latency is not
    /// recorded.
    #[cold]
    pub(super) fn sync_file_systems(&mut self) {
        let result = self.files.open.sync_file_systems();
        if result < 0 {
            self.fault(&Request::new(Operation::Sync, 0, 0, 0), result);
        }
    }

    /// The loop of a job that locks its files: one I/O at a time, each under the lock of its file. Time spent waiting
    /// for the lock counts as latency.
    pub(super) fn run_locked(&mut self, locks: &FileLocks) -> Result<(), EngineError> {
        let mut now = self.clock.now();
        while let Some((request, present)) = self.next_alone(now)? {
            now = present;
            let taken = match self.files.open.paths.get(request.target as usize) {
                Some(path) => locks.acquire(request.target, path, request.operation),
                None => Ok(()),
            };
            if let Err(error) = taken {
                self.fault(&request, -i64::from(error.raw_os_error()));
                continue;
            }
            let done = self.perform_alone(0, &request, now);
            let released = locks.release(request.target);
            now = done?;
            if let Err(error) = released {
                self.fault(&request, -i64::from(error.raw_os_error()));
            }
        }
        // Each I/O took one submit call and one reap call.
        self.count_calls();
        Ok(())
    }

    /// Performs one I/O with nothing else in flight, and counts it.
    pub(super) fn perform_alone(&mut self, slot: u32, request: &Request, decided: Nanos) -> Result<Nanos, EngineError> {
        self.prepare(slot, request, decided);
        let accepted = self.clock.now();
        let result = self.alone_io(first_io(slot, request))?;
        let reaped = self.clock.now();
        self.watch_time(reaped);
        let times = IoTimes { issued: decided, accepted, reaped };
        self.finish_alone(slot, request, times, result)
    }
}

/// The engine error for a file that cannot be opened; it ends the loop.
fn failed(engine: &'static str, error: JobError) -> EngineError {
    EngineError { engine, operation: "open", message: error.message, errno: error.errno }
}
