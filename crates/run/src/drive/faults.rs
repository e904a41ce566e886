//! Short transfers and errors: how an I/O is handled that did not complete in full at once.

use super::calls::Calls;
use super::job_loop::Drive;
use engine::{Completion, EngineError, Io, Submitted};
use load::Request;
use plan::{ContinueOnError, Operation};
use std::io::Error;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use sys::devices::identity::BlockDevice;

/// The result of an I/O that did not fail but moved no byte.
const NOTHING_MOVED: i64 = 0;

/// The next step for a completed I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// All bytes were transferred.
    Whole,
    /// Some bytes are missing: issue this I/O for the rest.
    Rest(Io),
    /// It failed.
    Failed,
}

// A short transfer is continued, as a careful program would, and counted in `short_ios`. The I/O keeps its slot, its
// start time and its place in the statistics until its last byte is there.
impl<E: Calls, const LATENCY: bool> Drive<'_, E, LATENCY> {
    /// Classifies a completion of `request` in `slot`, of which `moved` bytes had been transferred before. `result` is
    /// the number of bytes or -errno.
    pub(super) fn classify(&mut self, slot: u32, request: &Request, moved: &mut u32, result: i64) -> Outcome {
        let missing = request.length - *moved;
        match u32::try_from(result) {
            Ok(bytes) if bytes >= missing => {
                *moved = request.length;
                Outcome::Whole
            }
            // No byte was transferred, and none will be: the file ends before the job's region does (it was truncated),
            // or the device accepts no more. Retrying would measure nothing, very fast.
            Ok(0) => {
                self.fault(request, NOTHING_MOVED);
                Outcome::Failed
            }
            Ok(bytes) => {
                *moved += bytes;
                if let Some(direction) = request.direction() {
                    self.statistics.record.short_ios[direction as usize] += 1;
                }
                Outcome::Rest(Io {
                    slot,
                    operation: request.operation,
                    target: request.target,
                    offset: request.offset + u64::from(*moved),
                    length: request.length - *moved,
                    buffer_offset: *moved,
                })
            }
            Err(_) => {
                self.fault(request, result);
                Outcome::Failed
            }
        }
    }

    /// Ignores an error if the plan says so; otherwise the job ends with it. `result` is -errno, or [`NOTHING_MOVED`].
    #[cold]
    pub(super) fn fault(&mut self, request: &Request, result: i64) {
        let errno = match result {
            NOTHING_MOVED => libc::EIO,
            _ => i32::try_from(result.saturating_neg()).unwrap_or(libc::EIO),
        };
        // The file system is full, which is the purpose of a job with `fill_device`.
        let full = matches!(errno, libc::ENOSPC | libc::EDQUOT);
        if full && self.job.files.handling.fill && request.operation == Operation::Write {
            self.load.stop();
            return;
        }
        let forgiving = self.job.limits.continue_on_error;
        let class = if request.operation == Operation::Read { forgiving.read } else { forgiving.write };
        // By default only errors of the medium (EIO, EILSEQ) are ignored: a job whose every I/O is rejected (EINVAL)
        // would never end. A job that ignores some errors counts all of them, including the one that ends it.
        if forgiving != ContinueOnError::default() {
            self.statistics.record.forgive(errno);
        }
        let ignored = &self.job.limits.ignored;
        let listed = if request.operation == Operation::Read { &ignored.read } else { &ignored.write };
        let operation = word(request.operation);
        let path = self.path(request);
        self.load.failed(request);
        if class && is_forgiven(listed, errno) {
            if self.job.limits.error_dump {
                let error = Error::from_raw_os_error(errno);
                let (offset, length) = (request.offset, request.length);
                let place = format!("{operation} offset={offset}, buflen={length}");
                self.statistics.control.notices.send(&format!("fio: io_u error on file {path}: {error}: {place}"));
            }
            return;
        }
        let hint = match self.files.open.path_of(request.file) {
            Some(file) if errno == libc::ENOSPC => what_is_full(file),
            _ => advice(self.job, request, result).to_owned(),
        };
        let message = format!(
            "{operation} of {} bytes at offset {} of {path}: {}{hint}",
            request.length,
            request.offset,
            Error::from_raw_os_error(errno),
        );
        self.statistics.record.fault.keep_first(errno, operation, &message);
        self.ended_by_fault = true;
        self.load.stop();
    }

    /// The path of a request's file, for messages.
    pub(super) fn path(&self, request: &Request) -> String {
        self.files.open.path_of(request.file).map(|path| path.display().to_string()).unwrap_or_default()
    }

    /// Performs one I/O with nothing else in flight and returns its result: bytes, or -errno.
    pub(super) fn alone(&mut self, request: &Request) -> Result<i64, EngineError> {
        self.alone_io(super::job_loop::first_io(0, request))
    }

    /// The same for an I/O that continues a short transfer.
    pub(super) fn alone_io(&mut self, io: Io) -> Result<i64, EngineError> {
        loop {
            match self.submit_apart(io) {
                Submitted::Done(Completion { result, .. }) => return Ok(result),
                Submitted::Queued => break,
                Submitted::Full => {
                    self.engine.flush()?;
                }
            }
        }
        let mut done = self.slots.take_done();
        self.engine.flush()?;
        while done.is_empty() {
            self.engine.reap(1, 1, &mut done)?;
        }
        let result = done[0].result;
        self.slots.give_back(done);
        Ok(result)
    }
}

/// True if a class of errors is ignored: those listed, or if none is listed, errors of the medium (EIO, EILSEQ).
pub(super) fn is_forgiven(listed: &[i32], errno: i32) -> bool {
    if listed.is_empty() { matches!(errno, libc::EIO | libc::EILSEQ) } else { listed.contains(&errno) }
}

/// A hint for an error that the kernel's own text does not explain.
fn advice(job: &plan::JobPlan, request: &Request, result: i64) -> &'static str {
    match i32::try_from(result.saturating_neg()).unwrap_or(0) {
        0 if request.operation == Operation::Read => " (nothing was read: the file ends before the job's region does)",
        0 => " (nothing moved)",
        libc::EINVAL if job.files.direct => {
            " (with direct=1 block size, offset and memory must be multiples of the device's logical block)"
        }
        libc::ENOTTY | libc::EOPNOTSUPP if request.operation == Operation::Trim => {
            " (only block devices that support discard can be trimmed)"
        }
        _ => "",
    }
}

/// Names what is full: a file system, or what a thin volume takes its blocks from.
fn what_is_full(file: &Path) -> String {
    let is_device = std::fs::metadata(file).is_ok_and(|found| found.file_type().is_block_device());
    let device = is_device.then(|| BlockDevice::under(Path::new("/"), file).ok().flatten());
    let Some(device) = device else { return " (the file system is full)".to_owned() };
    let below = device.map(|device| device.members()).unwrap_or_default();
    let below: Vec<String> =
        below.iter().map(|member| member.model().unwrap_or_else(|| member.name().to_owned())).collect();
    match below.as_slice() {
        [] => " (the device has no room left)".to_owned(),
        names => format!(" (the device takes its blocks from {}, which is full)", names.join(", ")),
    }
}

const fn word(operation: Operation) -> &'static str {
    match operation {
        Operation::Read => "read",
        Operation::Write => "write",
        Operation::Trim => "trim",
        Operation::Sync => "fsync",
        Operation::DataSync => "fdatasync",
    }
}
