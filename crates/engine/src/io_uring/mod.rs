//! `io_uring`: the kernel's submission and completion rings, with the best setup that the kernel supports.
//!
//! If io_uring is forbidden (containers, `kernel.io_uring_disabled`), the engine uses libaio instead, or psync if that
//! is forbidden too, and says so in its note. Options that only io_uring supports make this an error.

mod entry;
mod mapping;
mod nothing;
mod requests;
mod ring;
mod settings;
mod setup;
mod shared_ring;
mod waits;

use crate::contract::{Completion, Engine, EngineError, Io, Setup, Submitted};
use crate::libaio::{self, ASYNCHRONOUS, Libaio};
use crate::polling::without_device;
use crate::priority::PRIORITY_OPTIONS;
use crate::psync::Psync;
use measure::{Nanos, SystemClock};
pub(crate) use nothing::{Nops, Timeouts};
use plan::option::{Effect, Kind, OptionSpec};
use plan::{Capabilities, EngineOptions, EngineSpec, KeepsFiles, KeepsOrder, options};
use ring::Ring;
use settings::TaskWork;
pub(crate) use shared_ring::SharedRing;
use std::path::Path;

const NAME: &str = "io_uring";

/// The engine: a ring, or its fallback.
#[derive(Debug)]
pub(crate) struct IoUring {
    interface: Interface,
    note: String,
    remark: Option<String>,
}

/// Interface through which I/Os reach the kernel.
#[derive(Debug)]
enum Interface {
    Ring(Box<Ring>),
    Libaio(Box<Libaio>),
    Psync(Psync),
}

impl Engine for IoUring {
    type Clock = SystemClock;

    const OWN_LOOP: bool = true;

    const SPEC: EngineSpec = EngineSpec {
        name: NAME,
        help: "Linux io_uring: submission and completion rings shared with the kernel",
        capabilities: Capabilities {
            atomic_writes: true,
            keeps_order: KeepsOrder::TakenAtOnce,
            keeps_files: KeepsFiles::WithOption("registerfiles"),
            one_queue_options: &["cmdprio_percentage", "cmdprio_bssplit", "sqthread_poll"],
            shares_queue: true,
            alone_options: &[
                "hipri",
                "hipri_hybrid",
                "sqthread_poll",
                "sqthread_poll_cpu",
                "submit_and_wait",
                "batch_wait",
                "busy_poll",
            ],
            ..ASYNCHRONOUS
        },
        options: OPTIONS,
    };

    fn open(setup: Setup<'_, SystemClock>) -> Result<Self, EngineError> {
        match Ring::open(&setup) {
            Ok(ring) => {
                let polls = setup.options.is_on("hipri");
                let remark = if polls { without_device(setup.targets, Path::new("/")) } else { None };
                Ok(IoUring { note: ring.note(), interface: Interface::Ring(Box::new(ring)), remark })
            }
            Err(error) if is_forbidden(&error) => stand_in(setup, &error),
            Err(error) => Err(error),
        }
    }

    // Inlined by force, here and below: the I/O then reaches the ring in registers instead of through memory, and the
    // system call is part of the loop.
    #[inline(always)]
    fn submit(&mut self, io: Io) -> Submitted {
        match &mut self.interface {
            Interface::Ring(ring) => ring.submit(io),
            other => other.submit(io.rebuilt()),
        }
    }

    #[inline(always)]
    fn flush(&mut self) -> Result<u32, EngineError> {
        match &mut self.interface {
            Interface::Ring(ring) => ring.flush(),
            other => other.flush(),
        }
    }

    #[inline(always)]
    fn reap(&mut self, min: u32, max: u32, done: &mut Vec<Completion>) -> Result<u32, EngineError> {
        match &mut self.interface {
            Interface::Ring(ring) => ring.reap(min, max, done),
            other => other.reap(min, max, done),
        }
    }

    #[inline(always)]
    fn flush_and_reap(&mut self, min: u32, max: u32, done: &mut Vec<Completion>) -> Result<(u32, u32), EngineError> {
        match &mut self.interface {
            Interface::Ring(ring) => ring.flush_and_reap(min, max, done),
            other => Ok((other.flush()?, other.reap(min, max, done)?)),
        }
    }

    fn reap_within(&mut self, longest: Nanos, max: u32, done: &mut Vec<Completion>) -> Result<u32, EngineError> {
        match &mut self.interface {
            Interface::Ring(ring) => ring.reap_within(longest, max, done),
            Interface::Libaio(libaio) => libaio.reap_within(longest, max, done),
            Interface::Psync(psync) => psync.reap_within(longest, max, done),
        }
    }

    fn sees_submission(&self) -> bool {
        !matches!(&self.interface, Interface::Ring(ring) if ring.is_polled_by_kernel() || ring.joins_calls())
    }

    fn priorities(&self) -> &[u16] {
        match &self.interface {
            Interface::Ring(ring) => ring.priorities(),
            Interface::Libaio(libaio) => libaio.priorities(),
            Interface::Psync(_) => &[],
        }
    }

    fn priority_of(&self, slot: u32) -> usize {
        match &self.interface {
            Interface::Ring(ring) => ring.priority_of(slot),
            Interface::Libaio(libaio) => libaio.priority_of(slot),
            Interface::Psync(_) => 0,
        }
    }

    fn kernel_cpu(&self) -> Option<Nanos> {
        match &self.interface {
            Interface::Ring(ring) => ring.poller_cpu(),
            Interface::Libaio(_) | Interface::Psync(_) => None,
        }
    }

    fn note(&self) -> Option<String> {
        Some(self.note.clone())
    }

    fn remark(&self) -> Option<String> {
        self.remark.clone()
    }
}

/// The fallbacks, kept out of the loop.
impl Interface {
    #[cold]
    #[inline(never)]
    fn submit(&mut self, io: Io) -> Submitted {
        match self {
            Interface::Ring(ring) => ring.submit(io),
            Interface::Libaio(libaio) => libaio.submit(io),
            Interface::Psync(psync) => psync.submit(io),
        }
    }

    #[cold]
    #[inline(never)]
    fn flush(&mut self) -> Result<u32, EngineError> {
        match self {
            Interface::Ring(ring) => ring.flush(),
            Interface::Libaio(libaio) => libaio.flush(),
            Interface::Psync(psync) => psync.flush(),
        }
    }

    #[cold]
    #[inline(never)]
    fn reap(&mut self, min: u32, max: u32, done: &mut Vec<Completion>) -> Result<u32, EngineError> {
        match self {
            Interface::Ring(ring) => ring.reap(min, max, done),
            Interface::Libaio(libaio) => libaio.reap(min, max, done),
            Interface::Psync(psync) => psync.reap(min, max, done),
        }
    }
}

/// True if the kernel or a sandbox forbids io_uring; false if the request was wrong.
fn is_forbidden(error: &EngineError) -> bool {
    error.operation == setup::SETUP && matches!(error.errno, libc::EPERM | libc::ENOSYS | libc::EACCES)
}

/// Opens the fallback for a forbidden ring.
fn stand_in(setup: Setup<'_, SystemClock>, forbidden: &EngineError) -> Result<IoUring, EngineError> {
    // These change how the kernel works or how long it waits; no other interface can imitate them.
    if let Some(option) =
        ["hipri", "sqthread_poll", "batch_wait", "busy_poll"].into_iter().find(|option| setup.options.is_on(option))
    {
        let message = format!("{}; nothing can stand in for {option}", forbidden.message);
        return Err(EngineError { message, ..forbidden.clone() });
    }
    let mut kept = EngineOptions::default();
    for name in LIBAIO_HAS {
        if let Some(value) = setup.options.get(name) {
            kept.set(name, value.clone());
        }
    }
    let lost: Vec<&str> = OPTIONS
        .iter()
        .map(|option| option.name)
        .filter(|name| !LIBAIO_HAS.contains(name) && setup.options.get(name).is_some())
        .collect();
    let (name, interface) = match Libaio::open(Setup { options: &kept, ..setup_again(&setup) }) {
        Ok(libaio) => (libaio::NAME, Interface::Libaio(Box::new(libaio))),
        Err(error)
            if matches!(error.errno, libc::EPERM | libc::ENOSYS)
                && LIBAIO_HAS.iter().all(|name| kept.get(name).is_none()) =>
        {
            ("psync", Interface::Psync(Psync::open(setup)?))
        }
        Err(error) => return Err(error),
    };
    let mut note = format!("io_uring is forbidden here ({}): using {name}'s path instead", forbidden.message);
    if !lost.is_empty() {
        note.push_str(&format!("; without effect: {}", lost.join(", ")));
    }
    Ok(IoUring { interface, note, remark: None })
}

/// Options that libaio supports as well.
const LIBAIO_HAS: [&str; 6] =
    ["nowait", "cmdprio_percentage", "cmdprio_class", "cmdprio_hint", "cmdprio", "cmdprio_bssplit"];

/// Copies a setup.
fn setup_again<'a>(setup: &Setup<'a, SystemClock>) -> Setup<'a, SystemClock> {
    Setup {
        options: setup.options,
        job: setup.job,
        targets: setup.targets,
        depth: setup.depth,
        buffers: setup.buffers,
        buffer_stride: setup.buffer_stride,
        clock: setup.clock,
    }
}

/// Reason to refuse options of protection information and passthrough commands, which plain reads and writes of a block
/// device lack.
const OF_COMMANDS: &str = "it needs an NVMe namespace formatted with metadata and the engine io_uring_cmd";

const OPTIONS: &[OptionSpec] = options! {
    "hipri": FLAG, "0" => with(Effect::Polls); "Poll the device for completions (IORING_SETUP_IOPOLL); direct I/O only";
    "fixedbufs": FLAG, "0"; "Register the buffers with the kernel once instead of mapping them per I/O";
    "registerfiles": FLAG, "0"; "Register the files with the kernel once instead of finding them per I/O";
    "sqthread_poll": FLAG, "0" => with(Effect::Polls); "A kernel thread takes submissions: no system call to submit";
    "sqthread_poll_cpu": between(0, 1 << 20); "The CPU of that kernel thread; without it any";
    "nonvectored": between(-1, 1), "-1"; "Read and write without vectors: 1 always, 0 never, -1 where the kernel can";
    "hipri_hybrid": FLAG, "0"; "With hipri: sleep for a part of the latency, then poll (Linux 6.13)";
    "submit_and_wait": FLAG, "0"; "The call that waits submits the last batch before it; latencies are total only";
    "batch_wait": MICROSECONDS, "0";
        "Longest wait for iodepth_batch_complete_min, then one is enough (Linux 6.12); 0 for no end";
    "busy_poll": MICROSECONDS, "0" => with(Effect::Polls);
        "Poll for completions for this time before a wait sleeps; 0 to sleep at once";
    "registerwaits": FLAG, "0"; "Register the times of waits with the kernel once (Linux 6.13)";
    "registerring": BOOL, "1"; "Register the ring with the thread instead of finding it per call";
    "taskrun": Kind::Word(TaskWork::WORDS), "latest"; "Where the kernel finishes I/Os of the device";
    "uncached": BOOL, "0"; "RWF_DONTCACHE: buffered I/O that leaves nothing in the page cache";
    "nowait": BOOL, "0"; "RWF_NOWAIT: an I/O that would block ends with EAGAIN";
    "force_async": between(0, i32::MAX as i64), "0";
        "Set IOSQE_ASYNC on every Nth I/O, which a kernel worker then issues at once; 0 for none";
    "md_per_io_size": TEXT, "0" => refused(OF_COMMANDS); "Bytes of metadata with each I/O";
    "pi_act": TEXT, "1" => refused(OF_COMMANDS); "The device makes and takes away protection information itself";
    "pi_chk": TEXT => refused(OF_COMMANDS); "What of the protection information is checked";
    "apptag": TEXT, "0x1234" => refused(OF_COMMANDS); "Application tag of the protection information";
    "apptag_mask": TEXT, "0xffff" => refused(OF_COMMANDS); "Which bits of it count";
    "cmd_type": TEXT, "nvme" => refused(OF_COMMANDS); "Kind of commands";
    with PRIORITY_OPTIONS[0], PRIORITY_OPTIONS[1], PRIORITY_OPTIONS[2], PRIORITY_OPTIONS[3], PRIORITY_OPTIONS[4];
};
