//! `io_uring_cmd`: NVMe passthrough commands with io_uring to the generic character device of a namespace (/dev/ngXnY),
//! which bypass the block layer. Linux 5.19 and later.

mod command;

use crate::call;
use crate::contract::{Completion, Engine, EngineError, Io, Operation, Setup, Slots, Submitted, Target, descriptors};
use crate::libaio::ASYNCHRONOUS;
use ::io_uring::cqueue::Entry32;
use ::io_uring::squeue::Entry128;
use ::io_uring::types::{Fd, Fixed, SubmitArgs, Timespec};
use ::io_uring::{IoUring, opcode};
use command::{FUA, Namespace, Range, URING_IO};
use measure::{Nanos, SystemClock};
use plan::option::{Effect, Kind, OptionSpec};
use plan::{Capabilities, EngineSpec, KeepsFiles, options};
use std::os::fd::RawFd;

const NAME: &str = "io_uring_cmd";

/// The kernel's polling thread sleeps after this time without work.
const POLLER_IDLE_MS: u32 = 1000;

/// A ring with 128-byte entries, and the namespaces that its commands go to.
pub(crate) struct IoUringCmd {
    ring: IoUring<Entry128, Entry32>,
    slots: Slots,
    descriptors: Box<[RawFd]>,
    namespaces: Box<[Namespace]>,
    registered: bool,
    /// Dword 12 of reads and of writes, without the number of blocks.
    flags: [u32; 2],
    /// Dataset Management range of each slot's trim, and the length of each slot's I/O.
    ranges: Box<[Range]>,
    lengths: Box<[u32]>,
    queued: u32,
    in_flight: u32,
}

impl std::fmt::Debug for IoUringCmd {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("IoUringCmd").field("namespaces", &self.namespaces).finish_non_exhaustive()
    }
}

impl Engine for IoUringCmd {
    type Clock = SystemClock;

    const SPEC: EngineSpec = EngineSpec {
        name: NAME,
        help: "NVMe commands through io_uring, on /dev/ngXnY; give size=",
        capabilities: Capabilities {
            raw_commands: true,
            keeps_files: KeepsFiles::Always,
            one_queue_options: &["sqthread_poll"],
            ..ASYNCHRONOUS
        },
        options: OPTIONS,
    };

    fn open(setup: Setup<'_, SystemClock>) -> Result<Self, EngineError> {
        let options = setup.options;
        if options.integer("nonvectored") == Some(0) {
            return Err(failed(
                "options",
                "nonvectored=0: a command has one buffer; leave it out".to_owned(),
                libc::EINVAL,
            ));
        }
        if options.text("cmd_type") == Some("bsg") {
            let message = format!("cmd_type=bsg: {NO_DEVICE}; use the engine sg for SCSI commands");
            return Err(failed("options", message, libc::EOPNOTSUPP));
        }
        let namespaces = setup.targets.iter().map(look_at).collect::<Result<_, _>>()?;
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
        let fua = |name: &str| if options.is_on(name) { FUA } else { 0 };
        Ok(IoUringCmd {
            ring,
            slots: Slots::new(&setup),
            descriptors,
            namespaces,
            registered,
            flags: [fua("readfua"), fua("writefua")],
            ranges: vec![Range::default(); setup.depth as usize].into(),
            lengths: vec![0; setup.depth as usize].into(),
            queued: 0,
            in_flight: 0,
        })
    }

    fn submit(&mut self, io: Io) -> Submitted {
        let (slot, target) = (io.slot as usize, io.target as usize);
        let flags = self.flags[usize::from(io.operation == Operation::Write)];
        let memory = match io.operation {
            Operation::Read | Operation::Write => self.slots.address(&io).expose_provenance() as u64,
            // These do not use the slot's buffer, and a trim may be longer than it.
            Operation::Trim | Operation::Sync | Operation::DataSync => 0,
        };
        let Some(command) = self.namespaces[target].command(&io, memory, flags, &mut self.ranges[slot]) else {
            return Submitted::Done(Completion { slot: io.slot, result: -i64::from(libc::EINVAL) });
        };
        let entry = if self.registered {
            opcode::UringCmd80::new(Fixed(io.target), URING_IO).cmd(command.bytes()).build()
        } else {
            opcode::UringCmd80::new(Fd(self.descriptors[target]), URING_IO).cmd(command.bytes()).build()
        };
        let entry = entry.user_data(u64::from(io.slot));
        // SAFETY: the command points to the slot's buffer or the slot's range, both of which outlive the I/O: `drop`
        // waits for the I/Os in flight, and the worker does not touch a slot until its I/O is reaped.
        if unsafe { self.ring.submission().push(&entry) }.is_err() {
            return Submitted::Full;
        }
        self.lengths[slot] = io.length;
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
    /// Moves up to `max` completions to `done`. Positive results are NVMe status codes and become EIO.
    fn take(&mut self, max: u32, done: &mut Vec<Completion>) -> u32 {
        let mut count = 0;
        let mut completions = self.ring.completion();
        while count < max {
            let Some(entry) = completions.next() else { break };
            #[expect(clippy::cast_possible_truncation, reason = "the data is the slot that we gave, a u32")]
            let slot = entry.user_data() as u32;
            let result = match entry.result() {
                0 => i64::from(self.lengths[slot as usize]),
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

fn look_at(target: &Target) -> Result<Namespace, EngineError> {
    Namespace::of(target.raw()).map_err(|what| {
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

/// Reason for options of commands that are never sent.
const NO_DEVICE: &str =
    "plain reads, writes, trims and flushes are all that is sent: no device was at hand to prove more on";

const COMMANDS: Kind = Kind::Word(&[("nvme", "NVMe commands"), ("bsg", "SCSI commands (refused when they would run)")]);

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
    "fixedbufs": FLAG, "0" => refused(NO_DEVICE); "Register the buffers with the kernel once";
    "cdb_len": COUNT, "0" => refused(NO_DEVICE); "Length of SCSI commands";
    "write_mode": TEXT, "write" => refused(NO_DEVICE); "The command that writes";
    "read_mode": TEXT, "read" => refused(NO_DEVICE); "The command that reads";
    "verify_mode": VERIFY_MODE, "read" => refused(NO_DEVICE); "The command that verifies";
    "verify_bytchk": COUNT => refused(NO_DEVICE); "What a SCSI VERIFY compares";
    "deac": BOOL, "0" => refused(NO_DEVICE); "Deallocate with Write Zeroes";
    "md_per_io_size": COUNT, "0" => refused(NO_DEVICE); "Bytes of metadata with each I/O";
    "pi_act": BOOL, "1" => refused(NO_DEVICE); "The device makes and takes away protection information itself";
    "pi_chk": TEXT => refused(NO_DEVICE); "What of the protection information is checked";
    "apptag": COUNT, "0x1234" => refused(NO_DEVICE); "Application tag of the protection information";
    "apptag_mask": COUNT, "0xffff" => refused(NO_DEVICE); "Which bits of it count";
};
