//! `mtd`: raw flash by its character device: pread(2), pwrite(2), and MEMERASE for trims.

use crate::call;
use crate::contract::{Completion, Engine, EngineError, Io, Operation, Setup, Slots, Submitted, Target, descriptors};
use crate::psync::SYNCHRONOUS;
use measure::SystemClock;
use plan::option::OptionSpec;
use plan::{Capabilities, EngineSpec, KeepsFiles, options};
use std::os::fd::RawFd;

const NAME: &str = "mtd";

/// `struct mtd_info_user` of mtd/mtd-abi.h.
#[derive(Default)]
#[repr(C)]
struct Info {
    kind: u8,
    flags: u32,
    size: u32,
    erase_size: u32,
    write_size: u32,
    spare_size: u32,
    reserved: u64,
}

/// `_IOR('M', 1, struct mtd_info_user)`, `_IOW('M', 2, struct erase_info_user)`, `_IOW('M', 11, loff_t)` of
/// mtd/mtd-abi.h.
const MEMGETINFO: libc::c_ulong = 0x8020_4d01;
const MEMERASE: libc::c_ulong = 0x4008_4d02;
const MEMGETBADBLOCK: libc::c_ulong = 0x4008_4d0b;

/// The flash devices of a job.
#[derive(Debug)]
pub(crate) struct Mtd {
    slots: Slots,
    descriptors: Box<[RawFd]>,
    erase_sizes: Box<[u64]>,
    skips_bad: bool,
}

impl Engine for Mtd {
    type Clock = SystemClock;

    const SPEC: EngineSpec = EngineSpec {
        name: NAME,
        help: "Raw flash (/dev/mtdN); a trim erases",
        capabilities: Capabilities {
            keeps_files: KeepsFiles::Always,
            unrecorded: Some("uses flash memory, which has no block layer"),
            ..SYNCHRONOUS
        },
        options: OPTIONS,
    };

    fn open(setup: Setup<'_, SystemClock>) -> Result<Self, EngineError> {
        Ok(Mtd {
            slots: Slots::new(&setup),
            descriptors: descriptors(setup.targets),
            erase_sizes: setup.targets.iter().map(erase_size).collect::<Result<_, _>>()?,
            skips_bad: setup.options.is_on("skip_bad"),
        })
    }

    fn submit(&mut self, io: Io) -> Submitted {
        let descriptor = self.descriptors[io.target as usize];
        let (length, offset) = (io.length as usize, call::signed(io.offset));
        let memory = || self.slots.address(&io).cast();
        let result = match io.operation {
            // With `skip_bad`, I/Os on bad blocks complete without a call: their errors say nothing about the other
            // blocks.
            Operation::Read | Operation::Write | Operation::Trim if self.skips_bad && self.is_bad(&io) => length as i64,
            // SAFETY: the slot's buffer is the worker's until the engine is dropped and nothing else uses it while
            // this I/O is in flight, that is until this call returns (contract of Setup and Io).
            Operation::Read => call::finish(|| unsafe { libc::pread64(descriptor, memory(), length, offset) }),
            // SAFETY: as for the read.
            Operation::Write => call::finish(|| unsafe { libc::pwrite64(descriptor, memory(), length, offset) }),
            Operation::Trim => erase(descriptor, &io),
            // Flash has no cache, and fsync(2) of its node is EINVAL.
            Operation::Sync | Operation::DataSync => 0,
        };
        Submitted::Done(Completion { slot: io.slot, result })
    }
}

impl Mtd {
    fn is_bad(&self, io: &Io) -> bool {
        let erase_size = self.erase_sizes[io.target as usize];
        let block = call::signed(io.offset / erase_size * erase_size);
        // SAFETY: the call reads one offset, which outlives it.
        let answer = unsafe { libc::ioctl(self.descriptors[io.target as usize], MEMGETBADBLOCK, &raw const block) };
        answer > 0
    }
}

fn erase(descriptor: RawFd, io: &Io) -> i64 {
    let Ok(start) = u32::try_from(io.offset) else { return -i64::from(libc::EINVAL) };
    let range = [start, io.length];
    // SAFETY: the call reads two u32, which outlive it.
    let result = call::finish(|| unsafe { libc::ioctl(descriptor, MEMERASE, range.as_ptr()) as isize });
    if result == 0 { i64::from(io.length) } else { result }
}

/// Erase block size in bytes; an error if the target is not a flash device.
fn erase_size(target: &Target) -> Result<u64, EngineError> {
    let mut info = Info::default();
    // SAFETY: the call writes one `mtd_info_user`, which outlives it.
    let answer = unsafe { libc::ioctl(target.raw(), MEMGETINFO, &raw mut info) };
    if answer == 0 && info.erase_size > 0 {
        return Ok(u64::from(info.erase_size));
    }
    let message = format!("{} is not a raw flash device; name one with filename=/dev/mtd0", target.path.display());
    Err(EngineError { engine: NAME, operation: "MEMGETINFO", message, errno: libc::ENODEV })
}

const OPTIONS: &[OptionSpec] = options! {
    "skip_bad": BOOL, "0"; "I/O on blocks that are marked bad counts as done";
};
