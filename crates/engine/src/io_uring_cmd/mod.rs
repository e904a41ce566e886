//! `io_uring_cmd`: NVMe passthrough commands with io_uring to the generic character device of a namespace (/dev/ngXnY),
//! which bypass the block layer. Linux 5.19 and later.

mod command;
mod namespace;
mod placement;
mod protection;
mod requests;
mod settings;

use crate::call;
use crate::contract::{Completion, Engine, EngineError, Io, Operation, Setup, Slots, Submitted, Target, descriptors};
use crate::libaio::ASYNCHRONOUS;
use crate::polling::without_device;
use ::io_uring::cqueue::Entry32;
use ::io_uring::squeue::{Entry128, Flags};
use ::io_uring::types::{Fd, Fixed, SubmitArgs, Timespec};
use ::io_uring::{IoUring, opcode};
use command::{URING_IO, URING_IO_VECTORED};
use measure::{Nanos, SystemClock};
use namespace::Namespace;
use plan::option::{Effect, Kind, OptionSpec};
use plan::{Capabilities, EngineSpec, KeepsFiles, KeepsOrder, options};
use requests::Requests;
use settings::Transfer;
use std::num::NonZeroU64;
use std::os::fd::RawFd;
use std::path::Path;

const NAME: &str = "io_uring_cmd";

/// The kernel's polling thread sleeps after this time without work.
const POLLER_IDLE_MS: u32 = 1000;

/// A ring with 128-byte entries, and the namespaces that its commands go to.
pub(crate) struct IoUringCmd {
    ring: IoUring<Entry128, Entry32>,
    requests: Requests,
    descriptors: Box<[RawFd]>,
    registered: bool,
    /// Every Nth entry is passed to a kernel worker at once (`force_async=N`, IOSQE_ASYNC).
    force_async: Option<NonZeroU64>,
    /// Entries built so far.
    entries: u64,
    /// The I/O of each slot.
    ios: Box<[Option<Io>]>,
    queued: u32,
    in_flight: u32,
    remark: Option<String>,
}

impl std::fmt::Debug for IoUringCmd {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("IoUringCmd").field("requests", &self.requests).finish_non_exhaustive()
    }
}

impl Engine for IoUringCmd {
    type Clock = SystemClock;

    const SPEC: EngineSpec = EngineSpec {
        name: NAME,
        help: "NVMe commands through io_uring, on /dev/ngXnY",
        capabilities: Capabilities {
            raw_commands: true,
            places_writes: true,
            keeps_files: KeepsFiles::Always,
            one_queue_options: &["sqthread_poll"],
            keeps_order: KeepsOrder::InZones { option: "write_mode", word: settings::APPEND },
            unrecorded: Some("sends commands to the device, which are not followed"),
            ..ASYNCHRONOUS
        },
        options: OPTIONS,
    };

    fn open(setup: Setup<'_, SystemClock>) -> Result<Self, EngineError> {
        let options = setup.options;
        if options.text("cmd_type") == Some("bsg") {
            return Err(failed("options", format!("cmd_type=bsg: {NO_BSG}"), libc::EOPNOTSUPP));
        }
        let targets = setup.targets.iter().map(look_at).collect::<Result<Box<[_]>, _>>()?;
        let requests = Requests::new(&setup, &targets).map_err(|what| {
            let path = setup.targets.first().map(|target| target.path.display().to_string()).unwrap_or_default();
            failed("options", format!("{path}: {what}"), libc::EINVAL)
        })?;
        let mut builder = IoUring::<Entry128, Entry32>::builder();
        builder.dontfork();
        if options.is_on("hipri") {
            builder.setup_iopoll();
        }
        if options.is_on("sqthread_poll") {
            builder.setup_sqpoll(POLLER_IDLE_MS);
            if let Some(cpu) = options.integer("sqthread_poll_cpu").and_then(|cpu| u32::try_from(cpu).ok()) {
                builder.setup_sqpoll_cpu(cpu);
            }
        }
        // The polling thread takes entries at its own pace: with room for just the depth, the queue would sometimes be
        // full.
        let ring = builder.build(setup.depth.saturating_mul(2)).map_err(|error| broken("io_uring_setup", &error))?;
        let descriptors = descriptors(setup.targets);
        let registered = options.is_on("registerfiles");
        if registered {
            ring.submitter().register_files(&descriptors).map_err(|error| broken("io_uring_register", &error))?;
        }
        if requests.transfer() == Transfer::Fixed {
            let slots = Slots::new(&setup);
            let buffers: Vec<_> = (0..setup.depth).map(|slot| slots.whole(slot)).collect();
            // SAFETY: the worker owns the buffers and frees them only after the engine, and with it the ring, is dropped
            // (contract of Setup).
            unsafe { ring.submitter().register_buffers(&buffers) }.map_err(|error| {
                let what = "the buffers cannot be registered; raise ulimit -l, lower the depth or drop fixedbufs";
                failed("fixedbufs", format!("{error}: {what}"), error.raw_os_error().unwrap_or(libc::EIO))
            })?;
        }
        Ok(IoUringCmd {
            ring,
            requests,
            descriptors,
            registered,
            force_async: options.integer("force_async").and_then(|n| u64::try_from(n).ok()).and_then(NonZeroU64::new),
            entries: 0,
            ios: vec![None; setup.depth as usize].into(),
            queued: 0,
            in_flight: 0,
            remark: if options.is_on("hipri") { without_device(setup.targets, Path::new("/")) } else { None },
        })
    }

    fn remark(&self) -> Option<String> {
        self.remark.clone()
    }

    fn submit(&mut self, io: Io) -> Submitted {
        let Some((command, vectored)) = self.requests.command(&io) else {
            return Submitted::Done(Completion { slot: io.slot, result: -i64::from(libc::EINVAL) });
        };
        let fixed = self.requests.transfer() == Transfer::Fixed && command.address != 0;
        // A trim has an address, too, which is not in a registered buffer.
        let fixed = fixed && matches!(io.operation, Operation::Read | Operation::Write);
        let buffer = if fixed { u16::try_from(io.slot).ok() } else { None };
        let request = if vectored { URING_IO_VECTORED } else { URING_IO };
        let entry = if self.registered {
            opcode::UringCmd80::new(Fixed(io.target), request).cmd(command.bytes()).buf_index(buffer).build()
        } else {
            let file = Fd(self.descriptors[io.target as usize]);
            opcode::UringCmd80::new(file, request).cmd(command.bytes()).buf_index(buffer).build()
        };
        let entry = entry.user_data(u64::from(io.slot)).flags(self.next_flags());
        // SAFETY: the command points to the slot's buffer, iovec, metadata or range, all of which outlive the I/O: `drop`
        // waits for the I/Os in flight, and the worker does not touch a slot until its I/O is reaped.
        if unsafe { self.ring.submission().push(&entry) }.is_err() {
            return Submitted::Full;
        }
        self.ios[io.slot as usize] = Some(io);
        self.queued += 1;
        Submitted::Queued
    }

    fn sees_submission(&self) -> bool {
        !self.ring.params().is_setup_sqpoll()
    }

    fn flush(&mut self) -> Result<u32, EngineError> {
        if self.queued == 0 {
            return Ok(0);
        }
        match self.ring.submit() {
            Ok(taken) => {
                let taken = u32::try_from(taken).unwrap_or(u32::MAX).min(self.queued);
                self.queued -= taken;
                self.in_flight += taken;
                Ok(taken)
            }
            Err(error) if interrupted(&error) => Ok(0),
            Err(error) => Err(broken("io_uring_enter", &error)),
        }
    }

    fn reap(&mut self, min: u32, max: u32, done: &mut Vec<Completion>) -> Result<u32, EngineError> {
        let mut count = self.take(max, done);
        let least = min.min(max).min(count + self.in_flight);
        while count < least {
            match self.ring.submitter().submit_and_wait((least - count) as usize) {
                Ok(_) => {}
                Err(error) if interrupted(&error) => break,
                Err(error) => return Err(broken("io_uring_enter", &error)),
            }
            count += self.take(max - count, done);
        }
        Ok(count)
    }

    fn reap_within(&mut self, longest: Nanos, max: u32, done: &mut Vec<Completion>) -> Result<u32, EngineError> {
        let count = self.take(max, done);
        if count > 0 || self.in_flight == 0 {
            return Ok(count);
        }
        let span = Timespec::from(std::time::Duration::from_nanos(longest.get()));
        let arguments = SubmitArgs::new().timespec(&span);
        match self.ring.submitter().submit_with_args(1, &arguments) {
            Ok(_) => {}
            Err(error) if interrupted(&error) || error.raw_os_error() == Some(libc::ETIME) => {}
            Err(error) => return Err(broken("io_uring_enter", &error)),
        }
        Ok(self.take(max, done))
    }
}

impl IoUringCmd {
    fn next_flags(&mut self) -> Flags {
        self.entries += 1;
        let apart = self.force_async.is_some_and(|every| self.entries.is_multiple_of(every.get()));
        if apart { Flags::ASYNC } else { Flags::empty() }
    }

    /// Moves up to `max` completions to `done`. Positive results are NVMe status codes and become EIO, and so do
    /// protection information that is wrong, and an append that is in another zone.
    fn take(&mut self, max: u32, done: &mut Vec<Completion>) -> u32 {
        let mut count = 0;
        let mut completions = self.ring.completion();
        while count < max {
            let Some(entry) = completions.next() else { break };
            #[expect(clippy::cast_possible_truncation, reason = "the data is the slot that we gave, a u32")]
            let slot = entry.user_data() as u32;
            let result = match entry.result() {
                0 => self.ios[slot as usize].map_or(0, |io| match self.requests.holds(&io, entry.big_cqe()[0]) {
                    true => i64::from(io.length),
                    false => -i64::from(libc::EIO),
                }),
                errno @ ..0 => i64::from(errno),
                1.. => -i64::from(libc::EIO),
            };
            done.push(Completion { slot, result });
            count += 1;
        }
        self.in_flight -= count;
        count
    }
}

impl Drop for IoUringCmd {
    /// Waits for the commands in flight, because the device writes to the buffers until then.
    fn drop(&mut self) {
        let mut done = Vec::new();
        while self.in_flight > 0 {
            if self.reap(1, u32::MAX, &mut done).is_err() {
                break;
            }
        }
    }
}

fn look_at(target: &Target) -> Result<(RawFd, Namespace), EngineError> {
    Namespace::of(target.raw()).map(|namespace| (target.raw(), namespace)).map_err(|what| {
        let message = format!(
            "{} {what}; name the generic device of one with filename=/dev/ng0n1, or use io_uring on the block device",
            target.path.display()
        );
        failed("probe", message, libc::ENODEV)
    })
}

fn interrupted(error: &std::io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EBUSY | libc::EAGAIN))
}

fn broken(operation: &'static str, error: &std::io::Error) -> EngineError {
    failed(operation, error.to_string(), error.raw_os_error().unwrap_or_else(call::errno))
}

fn failed(operation: &'static str, message: String, errno: i32) -> EngineError {
    EngineError { engine: NAME, operation, message, errno }
}

/// Reason for options of SCSI commands.
const NO_BSG: &str =
    "SCSI commands through /dev/bsg are for UFS devices; the engine sg sends SCSI commands, with filename=/dev/sg0";

const COMMANDS: Kind =
    Kind::Word(&[("nvme", "NVMe commands"), ("bsg", "SCSI commands of UFS devices (refused when they would run)")]);

const VERIFY_MODE: Kind = Kind::Word(&[("read", "Read"), ("compare", "Compare")]);

const OPTIONS: &[OptionSpec] = options! {
    "hipri": FLAG, "0" => with(Effect::Polls); "Poll the device for completions (IORING_SETUP_IOPOLL)";
    "registerfiles": FLAG, "0"; "Register the files with the kernel once";
    "sqthread_poll": FLAG, "0" => with(Effect::Polls); "A kernel thread takes submissions: no system call to submit";
    "sqthread_poll_cpu": between(0, 1 << 20); "The CPU of that kernel thread";
    "nonvectored": between(-1, 1), "-1"; "A command has one buffer: 1, or -1";
    "cmd_type": COMMANDS, "nvme"; "Kind of commands";
    "readfua": BOOL, "0"; "Reads come from the medium, not from the device's cache (FUA)";
    "writefua": BOOL, "0" => with(Effect::DurableWrites); "Writes reach the medium before they are done (FUA)";
    "fixedbufs": FLAG, "0"; "Register the buffers with the kernel once (Linux 6.1)";
    "force_async": COUNT, "0"; "Every Nth command is passed to a kernel worker at once";
    "write_mode": TEXT, "write"; "write, zeroes, uncor, verify, zone_append, or a mix: write/50:zeroes/50";
    "verify_mode": VERIFY_MODE, "read"; "The command that verifies";
    "deac": BOOL, "0"; "write_mode=zeroes may deallocate the blocks";
    "md_per_io_size": BYTES, "0"; "Memory for the metadata of each I/O, where they are apart from the data";
    "pi_act": BOOL, "1"; "The device makes and takes away protection information itself";
    "pi_chk": TEXT; "What of it is checked: GUARD, REFTAG, APPTAG";
    "apptag": COUNT, "0x1234"; "Application tag of the protection information";
    "apptag_mask": COUNT, "0xffff"; "Which bits of the application tag are checked";
    "cdb_len": COUNT, "0" => refused(NO_BSG); "Length of SCSI commands";
    "read_mode": TEXT, "read" => refused(NO_BSG); "The command that reads";
    "verify_bytchk": COUNT => refused(NO_BSG); "What a SCSI VERIFY compares";
};
