//! Ring setup: the best flags that the kernel accepts, a probe of its opcodes, registration of buffers and files.

use super::NAME;
use super::settings::{RingSettings, TaskWork};
use super::waits::Waits;
use crate::call;
use crate::contract::{EngineError, Setup, Slots, descriptors};
use ::io_uring::{IoUring, Parameters, Probe, opcode};
use measure::Nanos;
use rustix::io_uring::IoringSetupFlags as Flags;
use rustix::io_uring::{IoringEnterFlags, io_uring_enter, io_uring_params, io_uring_setup};
use std::os::fd::{AsRawFd, BorrowedFd, IntoRawFd, RawFd};
use std::path::PathBuf;

/// Operation name in errors of io_uring_setup(2).
pub(super) const SETUP: &str = "io_uring_setup";

/// The kernel's polling thread sleeps after this time without work.
const POLLER_IDLE_MS: u32 = 1000;

/// Work of completions that is done in calls of the worker; the ring says that there is some.
const DEFER: Flags = Flags::DEFER_TASKRUN.union(Flags::TASKRUN_FLAG);
const COOP: Flags = Flags::COOP_TASKRUN.union(Flags::TASKRUN_FLAG);
/// IORING_SETUP_HYBRID_IOPOLL (Linux 6.13).
const HYBRID_IOPOLL: Flags = Flags::from_bits_retain(1 << 17);

/// The flags of all rings of newer kernels, and those of the newest.
const ONE: Flags = Flags::SUBMIT_ALL.union(Flags::SINGLE_ISSUER);
const NEWEST: Flags = ONE.union(Flags::NO_SQARRAY);

/// Rings whose I/Os are finished when the worker submits or waits; first supported in Linux 6.6 and 6.1.
const DEFERRED: &[Flags] = &[NEWEST.union(DEFER), ONE.union(DEFER)];

/// Rings whose I/Os are finished in any system call of the worker; Linux 6.6, 6.0 and 5.19.
const COOPERATIVE: &[Flags] = &[NEWEST.union(COOP), ONE.union(COOP), Flags::SUBMIT_ALL.union(COOP)];

/// Rings whose I/Os are finished at once, or by a polling thread; Linux 6.6, 6.0, 5.18, and any.
const INTERRUPTING: &[Flags] = &[NEWEST, ONE, Flags::SUBMIT_ALL, Flags::empty()];

/// Flags that notes name.
const NAMES: [(Flags, &str); 9] = [
    (Flags::IOPOLL, "IOPOLL"),
    (HYBRID_IOPOLL, "HYBRID_IOPOLL"),
    (Flags::SQPOLL, "SQPOLL"),
    (Flags::SQ_AFF, "SQ_AFF"),
    (Flags::SINGLE_ISSUER, "SINGLE_ISSUER"),
    (Flags::DEFER_TASKRUN, "DEFER_TASKRUN"),
    (Flags::COOP_TASKRUN, "COOP_TASKRUN"),
    (Flags::NO_SQARRAY, "NO_SQARRAY"),
    (Flags::SUBMIT_ALL, "SUBMIT_ALL"),
];

/// The sets of flags to try, from the newest kernel to the oldest, and an error for a kernel that has none of them.
fn candidates(settings: &RingSettings) -> (Vec<Flags>, &'static str) {
    let any = "the kernel does not know what the options ask for";
    match settings.task_work {
        _ if settings.poller => (INTERRUPTING.to_vec(), any),
        TaskWork::Latest => ([DEFERRED, COOPERATIVE, INTERRUPTING].concat(), any),
        TaskWork::Deferred => (DEFERRED.to_vec(), "taskrun=defer needs Linux 6.1"),
        TaskWork::Cooperative => (COOPERATIVE.to_vec(), "taskrun=coop needs Linux 5.19"),
        TaskWork::Interrupting => (INTERRUPTING.to_vec(), any),
    }
}

/// A ring that takes entries, the names of its flags, and the times of its waits.
pub(super) struct Built {
    pub(super) ring: IoUring,
    pub(super) flags: String,
    pub(super) waits: Waits,
}

/// Builds the best ring that the kernel supports. Fails if the kernel has no rings, forbids them, or lacks what an
/// option asks for.
pub(super) fn build(depth: u32, settings: &RingSettings) -> Result<Built, EngineError> {
    // The polling thread takes entries at its own pace: with room for just the depth, the queue would sometimes be
    // full.
    let entries = if settings.poller { depth.saturating_mul(2) } else { depth };
    let mut errno = libc::EINVAL;
    let (candidates, too_old) = candidates(settings);
    for flags in candidates {
        let flags = flags | asked(settings);
        match build_with(entries, settings, flags) {
            Ok(ring) => return enabled(ring, names(flags), settings),
            Err(error) => errno = error.raw_os_error().unwrap_or(libc::EIO),
        }
        // EINVAL: the kernel is too old for one of the flags. Fewer flags do not help against any other error.
        if errno != libc::EINVAL {
            break;
        }
    }
    let without_hybrid = RingSettings { hybrid: false, ..*settings };
    if errno == libc::EINVAL && settings.hybrid && build(depth, &without_hybrid).is_ok() {
        return Err(failed(SETUP, errno, "hipri_hybrid needs Linux 6.13"));
    }
    Err(refused(errno, too_old))
}

/// Gives a new ring what must precede its first entry.
fn enabled(ring: IoUring, flags: String, settings: &RingSettings) -> Result<Built, EngineError> {
    if settings.batch_us > 0 && !ring.params().is_feature_min_timeout() {
        return Err(failed("batch_wait", libc::EINVAL, "batch_wait needs Linux 6.12"));
    }
    let mut waits = Waits::new(settings.batch_us);
    if settings.registered_waits {
        waits.register(&ring)?;
        ring.submitter().register_enable_rings().map_err(|error| {
            let errno = error.raw_os_error().unwrap_or(libc::EIO);
            failed("registerwaits", errno, "the ring cannot be enabled; drop registerwaits")
        })?;
    }
    Ok(Built { ring, flags, waits })
}

/// The flags that the options ask for.
fn asked(settings: &RingSettings) -> Flags {
    let asked = [
        (settings.polled, Flags::IOPOLL),
        (settings.hybrid, HYBRID_IOPOLL),
        (settings.poller, Flags::SQPOLL),
        (settings.poller && settings.poller_cpu.is_some(), Flags::SQ_AFF),
        // Memory for waits is registered before the ring is enabled.
        (settings.registered_waits, Flags::R_DISABLED),
    ];
    asked.into_iter().filter(|(set, _)| *set).map(|(_, flag)| flag).collect()
}

/// The builder of the io-uring crate does not have all flags, so the ring comes from its system call.
fn build_with(entries: u32, settings: &RingSettings, flags: Flags) -> std::io::Result<IoUring> {
    let mut params = io_uring_params::default();
    params.flags = flags | Flags::CLAMP;
    if settings.poller {
        (params.sq_thread_idle, params.sq_thread_cpu) = (POLLER_IDLE_MS, settings.poller_cpu.unwrap_or(0));
    }
    // SAFETY: no memory is given to the kernel other than the parameters.
    let descriptor = unsafe { io_uring_setup(entries, &mut params) }?;
    // SAFETY: both are the kernel's `struct io_uring_params`, plain integers, as the kernel filled it in.
    let params = unsafe { std::mem::transmute::<io_uring_params, Parameters>(params) };
    // SAFETY: the descriptor is that of a new ring that nothing else owns, and the parameters are its own.
    unsafe { IoUring::from_fd(descriptor.into_raw_fd(), params) }
}

fn names(flags: Flags) -> String {
    let set: Vec<&str> = NAMES.iter().filter(|(flag, _)| flags.contains(*flag)).map(|(_, name)| *name).collect();
    if set.is_empty() { "no setup flags".to_owned() } else { set.join("|") }
}

fn refused(errno: i32, too_old: &'static str) -> EngineError {
    let advice = match errno {
        libc::EPERM => "kernel.io_uring_disabled or a sandbox forbids it",
        libc::ENOSYS => "the kernel does not have it or a sandbox hides it",
        libc::EACCES => "a security module forbids it",
        libc::ENOMEM => "too little lockable memory: raise ulimit -l or lower the depth",
        libc::EINVAL => too_old,
        _ => "try ioengine=libaio",
    };
    failed(SETUP, errno, advice)
}

/// Error of this engine: the kernel's message, then advice.
pub(super) fn failed(operation: &'static str, errno: i32, advice: &str) -> EngineError {
    let message = format!("{}: {advice}", std::io::Error::from_raw_os_error(errno));
    EngineError { engine: NAME, operation, message, errno }
}

/// True if the kernel has reads and writes without iovecs (Linux 5.6).
pub(super) fn has_plain_transfers(ring: &IoUring) -> bool {
    let mut probe = Probe::new();
    ring.submitter().register_probe(&mut probe).is_ok() && probe.is_supported(opcode::Read::CODE)
}

/// Registers the buffer of each slot, with the slot as index.
pub(super) fn register_buffers<C>(ring: &IoUring, setup: &Setup<'_, C>) -> Result<(), EngineError> {
    // SAFETY: the worker owns the buffers and frees them only after the engine, and with it the ring, is dropped
    // (contract of Setup).
    let registered = unsafe { ring.submitter().register_buffers(&buffers(setup)) };
    registered.map_err(no_buffers)
}

/// Registers the buffers of one job of several, with indices from `first` on, where the table is empty.
pub(super) fn register_buffers_from<C>(ring: &IoUring, setup: &Setup<'_, C>, first: u32) -> Result<(), EngineError> {
    // SAFETY: the worker owns the buffers and frees them only after its lane is dropped, which has none of its I/Os in
    // flight then. The kernel keeps the pages until the ring is closed, and only entries of that lane name them.
    let registered = unsafe { ring.submitter().register_buffers_update(first, &buffers(setup), None) };
    registered.map_err(no_buffers)
}

/// The buffer of each slot.
fn buffers<C>(setup: &Setup<'_, C>) -> Vec<libc::iovec> {
    let slots = Slots::new(setup);
    (0..setup.depth).map(|slot| slots.whole(slot)).collect()
}

fn no_buffers(error: std::io::Error) -> EngineError {
    let errno = error.raw_os_error().unwrap_or(libc::EIO);
    failed("fixedbufs", errno, "the buffers cannot be registered; raise ulimit -l, lower the depth or drop fixedbufs")
}

/// Registers all files, with the index of their target.
pub(super) fn register_files<C>(ring: &IoUring, setup: &Setup<'_, C>) -> Result<(), EngineError> {
    ring.submitter().register_files(&descriptors(setup.targets)).map_err(no_files)
}

/// Registers the files of one job of several, with indices from `first` on, where the table is empty.
pub(super) fn register_files_from<C>(ring: &IoUring, setup: &Setup<'_, C>, first: u32) -> Result<(), EngineError> {
    let registered = ring.submitter().register_files_update(first, &descriptors(setup.targets));
    registered.map(drop).map_err(no_files)
}

fn no_files(error: std::io::Error) -> EngineError {
    let errno = error.raw_os_error().unwrap_or(libc::EIO);
    failed("registerfiles", errno, "the files cannot be registered; raise ulimit -n or drop registerfiles")
}

/// Where the CPU time of the kernel's polling thread of a ring stands.
#[derive(Debug)]
pub(super) enum PollerCpu {
    /// fdinfo of the ring's descriptor, with `SqTotalTime` in µs (Linux 6.9). True in any PID namespace.
    Ring(PathBuf),
    /// schedstat of the thread in /proc, whose first number is in ns (kernel doc: scheduler/sched-stats).
    Thread(PathBuf),
}

impl PollerCpu {
    /// Of the ring that was just built. `None` where an older kernel does not say which thread is the ring's.
    pub(super) fn find(ring: &IoUring) -> Option<Self> {
        let ring = PollerCpu::Ring(format!("/proc/self/fdinfo/{}", ring.as_raw_fd()).into());
        if ring.read().is_some() { Some(ring) } else { find_poller() }
    }

    /// CPU time until now.
    pub(super) fn read(&self) -> Option<Nanos> {
        let (PollerCpu::Ring(path) | PollerCpu::Thread(path)) = self;
        let text = std::fs::read_to_string(path).ok()?;
        match self {
            PollerCpu::Ring(_) => {
                let micros: u64 =
                    text.lines().find_map(|line| line.strip_prefix("SqTotalTime:"))?.trim().parse().ok()?;
                Some(Nanos(micros.saturating_mul(1000)))
            }
            PollerCpu::Thread(_) => text.split_whitespace().next()?.parse().ok().map(Nanos),
        }
    }
}

/// Finds the polling thread by its name. Threads of this name belong to rings of this thread, but nothing says to which
/// one, so with more than one it returns `None`. The number in the name is none of a PID namespace's own.
///
/// The polling thread sets its name when it first runs, which takes a moment: this retries for up to 100 ms.
fn find_poller() -> Option<PollerCpu> {
    (0..100).find_map(|_| {
        let found = named_poller();
        if found.is_none() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        found.map(|thread| PollerCpu::Thread(thread.join("schedstat")))
    })
}

fn named_poller() -> Option<PathBuf> {
    let name = format!("iou-sqp-{}", rustix::thread::gettid().as_raw_nonzero());
    let threads = std::fs::read_dir("/proc/self/task").ok()?;
    let of_ours = |path: &PathBuf| std::fs::read_to_string(path.join("comm")).is_ok_and(|comm| comm.trim() == name);
    let mut found = threads.filter_map(|thread| thread.ok().map(|thread| thread.path())).filter(of_ours);
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// The ring as io_uring_enter(2) identifies it: a descriptor, or the index of a registered one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handle {
    descriptor: RawFd,
    flags: u32,
}

/// Constants of linux/io_uring.h.
pub(super) const ENTER_GETEVENTS: u32 = 1;
pub(super) const ENTER_SQ_WAKEUP: u32 = 2;
const ENTER_REGISTERED_RING: u32 = 16;
const REGISTER_RING_FDS: libc::c_uint = 20;
const UNREGISTER_RING_FDS: libc::c_uint = 21;

/// `struct io_uring_rsrc_update`.
#[repr(C)]
struct Update {
    offset: u32,
    reserved: u32,
    data: u64,
}

impl Handle {
    /// The ring by its descriptor.
    pub(super) fn plain(ring: &IoUring) -> Handle {
        Handle { descriptor: ring.as_raw_fd(), flags: 0 }
    }

    /// Registers the descriptor of the ring with the thread, so that calls do not have to look it up (Linux 5.18);
    /// falls back to the plain descriptor. The io-uring crate offers this only on a `Submitter`, which borrows the
    /// ring, so this makes the calls itself.
    pub(super) fn register(ring: &IoUring) -> Handle {
        let plain = Handle::plain(ring);
        let mut update = Update { offset: u32::MAX, reserved: 0, data: u64::from(plain.descriptor.cast_unsigned()) };
        // SAFETY: the kernel reads and writes one `update`, which outlives the call.
        let count = unsafe {
            libc::syscall(libc::SYS_io_uring_register, plain.descriptor, REGISTER_RING_FDS, &raw mut update, 1)
        };
        if count == 1 {
            Handle { descriptor: update.offset.cast_signed(), flags: ENTER_REGISTERED_RING }
        } else {
            plain
        }
    }

    pub(super) fn is_registered(self) -> bool {
        self.flags != 0
    }

    /// Undoes [`Handle::register`]: without it, a registered ring outlives its descriptor until the thread ends.
    pub(super) fn unregister(self, ring: &IoUring) {
        if self.is_registered() {
            let update = Update { offset: self.descriptor.cast_unsigned(), reserved: 0, data: 0 };
            // SAFETY: the kernel reads one `update`, which outlives the call.
            unsafe {
                libc::syscall(libc::SYS_io_uring_register, ring.as_raw_fd(), UNREGISTER_RING_FDS, &raw const update, 1)
            };
        }
    }

    /// io_uring_enter(2): submits `submit` entries and waits for `wait` completions. Returns the number submitted, or
    /// errno.
    #[inline(always)]
    pub(super) fn enter(self, submit: u32, wait: u32, flags: u32) -> Result<u32, i32> {
        let flags = IoringEnterFlags::from_bits_retain(flags | self.flags);
        // SAFETY: the descriptor, or the index of the registered one, is open as long as the ring, which outlives every
        // use of the handle. The call reads and writes no memory of ours except the rings; the caller that pushed an
        // entry answers for the memory it points to.
        let taken = unsafe { io_uring_enter(BorrowedFd::borrow_raw(self.descriptor), submit, wait, flags) };
        taken.map_err(|errno| errno.raw_os_error())
    }
    /// The same with an argument of this many bytes (IORING_ENTER_EXT_ARG), in a form that `flags` says.
    ///
    /// # Safety
    /// The argument is as `flags` say, and is readable for the length of the call, as is what it points to.
    #[inline(always)]
    pub(super) unsafe fn enter_with(
        self,
        submit: u32,
        wait: u32,
        flags: u32,
        argument: usize,
        bytes: usize,
    ) -> Result<u32, i32> {
        let flags = (flags | self.flags) as usize;
        let descriptor = self.descriptor.cast_unsigned() as usize;
        let arguments = [descriptor, submit as usize, wait as usize, flags, argument, bytes];
        // SAFETY: as in `enter`; the caller answers for the argument.
        let taken = unsafe { call::system_call(libc::SYS_io_uring_enter, arguments) };
        taken.map(|taken| u32::try_from(taken).unwrap_or(u32::MAX))
    }
}
