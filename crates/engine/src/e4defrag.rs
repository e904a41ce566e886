//! `e4defrag`: each write swaps its blocks with those of a donor file (EXT4_IOC_MOVE_EXT); the data stays the same.

use crate::call;
use crate::contract::{Completion, Engine, EngineError, Io, Operation, Setup, Submitted, Target};
use crate::falloc::ON_SPACE;
use measure::SystemClock;
use plan::option::OptionSpec;
use plan::{Capabilities, EngineSpec, KeepsFiles, options};
use rustix::fs::{FallocateFlags, Mode, OFlags};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::Path;

const NAME: &str = "e4defrag";

/// `struct move_extent` of fs/ext4/ext4.h.
#[repr(C)]
struct MoveExtent {
    reserved: u32,
    donor: u32,
    original_start: u64,
    donor_start: u64,
    blocks: u64,
    moved: u64,
}

/// EXT4_IOC_MOVE_EXT: `_IOWR('f', 15, struct move_extent)`.
const MOVE_EXTENT: libc::c_ulong = 0xc028_660f;

/// The files and the donor file.
#[derive(Debug)]
pub(crate) struct E4Defrag {
    files: Box<[File]>,
    donor: OwnedFd,
    /// `inplace=1`: blocks of the donor are allocated and freed with each I/O.
    in_place: bool,
}

#[derive(Debug)]
struct File {
    descriptor: RawFd,
    block: u64,
}

impl Engine for E4Defrag {
    type Clock = SystemClock;

    const SPEC: EngineSpec = EngineSpec {
        name: NAME,
        help: "EXT4_IOC_MOVE_EXT: each write swaps its blocks for those of a donor file; ext4 only",
        capabilities: Capabilities { keeps_files: KeepsFiles::Always, ..ON_SPACE },
        options: OPTIONS,
    };

    fn open(setup: Setup<'_, SystemClock>) -> Result<Self, EngineError> {
        let Some(name) = setup.options.text("donorname").filter(|name| !name.is_empty()) else {
            return Err(failed("options", libc::EINVAL, "give donorname=, a file on the same ext4"));
        };
        let in_place = setup.options.is_on("inplace");
        let at = |operation, error: rustix::io::Errno| {
            failed(operation, error.raw_os_error(), &format!("{name}: {}", std::io::Error::from(error)))
        };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
        let donor = rustix::fs::open(Path::new(name), flags, Mode::from_raw_mode(0o644));
        let donor = donor.map_err(|error| at("donorname", error))?;
        let files = setup.targets.iter().map(look_at).collect::<Result<Box<[File]>, _>>()?;
        if !in_place {
            let size = setup.targets.iter().map(|target| target.size).max().unwrap_or(0);
            rustix::fs::fallocate(&donor, FallocateFlags::empty(), 0, size).map_err(|error| at("fallocate", error))?;
        }
        Ok(E4Defrag { files, donor, in_place })
    }

    fn submit(&mut self, io: Io) -> Submitted {
        let result = match io.operation {
            Operation::Write => self.swap(&io).unwrap_or_else(|error| -i64::from(error)),
            Operation::Read | Operation::Trim => -i64::from(libc::EINVAL),
            _ => call::without_data(self.files[io.target as usize].descriptor, &io),
        };
        Submitted::Done(Completion { slot: io.slot, result })
    }
}

impl E4Defrag {
    /// Swaps the blocks of an I/O. Returns the bytes swapped, or errno.
    fn swap(&mut self, io: &Io) -> Result<i64, i32> {
        let File { descriptor, block } = self.files[io.target as usize];
        let length = u64::from(io.length);
        if !io.offset.is_multiple_of(block) || !length.is_multiple_of(block) {
            return Err(libc::EINVAL);
        }
        if self.in_place {
            let reserved = rustix::fs::fallocate(&self.donor, FallocateFlags::empty(), io.offset, length);
            reserved.map_err(|error| error.raw_os_error())?;
        }
        let mut extent = MoveExtent {
            reserved: 0,
            donor: self.donor.as_raw_fd().cast_unsigned(),
            original_start: io.offset / block,
            donor_start: io.offset / block,
            blocks: length / block,
            moved: 0,
        };
        // SAFETY: the call reads and writes one `move_extent`, which outlives it.
        let result = call::finish(|| unsafe { libc::ioctl(descriptor, MOVE_EXTENT, &raw mut extent) as isize });
        if self.in_place {
            rustix::fs::ftruncate(&self.donor, 0).map_err(|error| error.raw_os_error())?;
        }
        let moved = i64::try_from(extent.moved.saturating_mul(block)).unwrap_or(i64::MAX);
        if result < 0 { i32::try_from(-result).map_or(Err(libc::EIO), Err) } else { Ok(moved) }
    }
}

/// Returns the descriptor and block size of a file on ext4.
fn look_at(target: &Target) -> Result<File, EngineError> {
    // SAFETY: the target's descriptor is open as long as the engine lives (contract of Target).
    let descriptor = unsafe { BorrowedFd::borrow_raw(target.raw()) };
    let wrong = |errno, what: &str| failed("open", errno, &format!("{}: {what}", target.path.display()));
    let found = rustix::fs::fstatfs(descriptor).map_err(|error| wrong(error.raw_os_error(), "no file system"))?;
    // ext2, ext3 and ext4 share one magic number.
    if found.f_type != 0xef53 {
        return Err(wrong(libc::EOPNOTSUPP, "its file system is not ext4"));
    }
    let block = u64::try_from(found.f_bsize).ok().filter(|&block| block > 0);
    Ok(File { descriptor: target.raw(), block: block.ok_or_else(|| wrong(libc::EINVAL, "it has no blocks"))? })
}

fn failed(operation: &'static str, errno: i32, message: &str) -> EngineError {
    EngineError { engine: NAME, operation, message: message.to_owned(), errno }
}

const OPTIONS: &[OptionSpec] = options! {
    "donorname": TEXT; "The file whose blocks are taken; on the same file system";
    "inplace": BOOL, "0"; "1: reserve and free the donor's blocks with each I/O; 0: all at the start";
};
