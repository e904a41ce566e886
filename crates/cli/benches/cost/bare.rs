//! The bare loops: the same I/O as plumb and fio do in the bench, with no accounting at all. They read the processor's
//! counter where a latency needs it: before and after an I/O, or after a batch was submitted and after some of it have
//! completed. What is left is what the kernel and the processor ask for; no program can be cheaper.
//!
//! They run in a separate process (`cost --bare KIND PATH IOS`), so that their CPU time is counted as the others'.
//! `unsafe` here is the system call itself; the engines of the program are not used, they are what is measured.

use io_uring::{IoUring, opcode, types};
use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Instant;

/// Bytes per I/O.
const BLOCK: usize = 4096;
/// In flight at most, and how many are submitted and reaped at once.
const DEPTH: usize = 32;
const BATCH: usize = 8;
/// Alignment of buffers for O_DIRECT.
const PAGE: usize = 4096;

/// Does `ios` random reads the way `kind` says, or takes as many digests of a block, and returns the seconds they took.
pub(crate) fn run(kind: &str, path: &Path, bytes: u64, ios: u64) -> io::Result<f64> {
    let offsets = Offsets { state: 0x9e37_79b9_7f4a_7c15, blocks: bytes / BLOCK as u64 };
    let direct = || OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path);
    let started = Instant::now();
    match kind {
        "null" => null(offsets, ios),
        "psync" => psync(&File::open(path)?, offsets, ios)?,
        "libaio" => libaio(&direct()?, offsets, ios)?,
        "io_uring" => uring(&direct()?, offsets, ios, Calls::SubmitThenWait)?,
        "io_uring, one call" => uring(&direct()?, offsets, ios, Calls::SubmitAndWait)?,
        "posixaio" => posixaio(&File::open(path)?, offsets, ios)?,
        "mmap 4096" => mmap(&File::open(path)?, offsets, ios, 4096)?,
        "mmap 65536" => mmap(&File::open(path)?, offsets, ios, 65_536)?,
        "md5" => digest::<md5::Md5>(ios),
        "sha512" => digest::<sha2::Sha512>(ios),
        _ => return Err(io::Error::other(format!("no bare loop is called {kind}"))),
    }
    Ok(started.elapsed().as_secs_f64())
}

/// Random offsets: xorshift, bounded by a multiplication.
struct Offsets {
    state: u64,
    blocks: u64,
}

impl Offsets {
    fn draw(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let block = (u128::from(self.state) * u128::from(self.blocks)) >> 64;
        u64::try_from(block).unwrap_or(0) * BLOCK as u64
    }
}

fn null(mut offsets: Offsets, ios: u64) {
    for _ in 0..ios {
        black_box(counter());
        black_box(offsets.draw());
        black_box(counter());
    }
}

fn psync(file: &File, mut offsets: Offsets, ios: u64) -> io::Result<()> {
    let mut buffer = vec![0_u8; BLOCK];
    for _ in 0..ios {
        black_box(counter());
        file.read_exact_at(&mut buffer, offsets.draw())?;
        black_box(counter());
    }
    Ok(())
}

#[cfg(target_arch = "x86_64")]
fn counter() -> u64 {
    // SAFETY: every x86_64 processor has RDTSC, which only reads a register.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn counter() -> Instant {
    Instant::now()
}

#[cfg(target_arch = "x86_64")]
fn wait_for_loads() {
    // SAFETY: every x86_64 processor has LFENCE, which changes no register and no memory.
    unsafe { core::arch::x86_64::_mm_lfence() };
}

#[cfg(not(target_arch = "x86_64"))]
fn wait_for_loads() {
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

/// Copies from a mapped file. The second read of the counter waits for the copy: without that the
/// processor begins the next copy before this one has ended, which takes 100 ns off 4 KiB and which no loop can have
/// that does a hundred instructions in between.
fn mmap(file: &File, mut offsets: Offsets, ios: u64, block: usize) -> io::Result<()> {
    let length = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
    let mut buffer = vec![0_u8; block];
    // SAFETY: a new mapping at an address that the kernel chooses; it changes no existing memory.
    let map =
        unsafe { libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if map == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    offsets.blocks = (length / block) as u64;
    for _ in 0..ios {
        let at = usize::try_from(offsets.draw()).map_err(io::Error::other)? / BLOCK * block;
        black_box(counter());
        // SAFETY: the block is inside of the mapping, the buffer is as long, and the file keeps its length.
        unsafe { std::ptr::copy_nonoverlapping(map.cast::<u8>().add(at), buffer.as_mut_ptr(), block) };
        black_box(&mut buffer);
        wait_for_loads();
        black_box(counter());
    }
    // SAFETY: the mapping is our own, and nothing points into it any more.
    unsafe { libc::munmap(map, length) };
    Ok(())
}

/// Eight in flight through the C library, which does those of one file in their order: waits for the oldest, then
/// starts another.
fn posixaio(file: &File, mut offsets: Offsets, ios: u64) -> io::Result<()> {
    let mut buffers = Buffers::new();
    // SAFETY: aiocb is a C structure of integers and pointers, for which zeros are valid.
    let mut blocks: [libc::aiocb; BATCH] = unsafe { std::mem::zeroed() };
    for (slot, block) in blocks.iter_mut().enumerate() {
        (block.aio_fildes, block.aio_nbytes) = (file.as_raw_fd(), BLOCK);
        block.aio_sigevent.sigev_notify = libc::SIGEV_NONE;
        block.aio_buf = buffers.slot(slot).cast();
    }
    let blocks = blocks.as_mut_ptr();
    let in_flight = BATCH as u64;
    for io in 0..ios + in_flight {
        // SAFETY: the index is below their number.
        let block = unsafe { blocks.add(usize::try_from(io % in_flight).unwrap_or(0)) };
        if io >= in_flight {
            let list = [block.cast_const()];
            // SAFETY: the block was given to aio_read before, and stays in its place until the end.
            unsafe {
                while libc::aio_error(block) == libc::EINPROGRESS {
                    libc::aio_suspend(list.as_ptr(), 1, std::ptr::null());
                }
                if libc::aio_return(block) != BLOCK as isize {
                    return Err(io::Error::other("a read by aio_read was short"));
                }
            }
            black_box(counter());
        }
        if io < ios {
            black_box(counter());
            // SAFETY: the block is not in flight; its buffer is its own and stays until the end.
            unsafe {
                (*block).aio_offset = i64::try_from(offsets.draw()).map_err(io::Error::other)?;
                checked(i64::from(libc::aio_read(block)))?;
            }
        }
    }
    Ok(())
}

/// The digest of one block again and again.
fn digest<D: md5::Digest>(ios: u64) {
    let mut buffer = vec![7_u8; BLOCK];
    for _ in 0..ios {
        black_box(D::digest(black_box(&mut buffer)));
    }
}

/// Buffers for the whole depth, aligned for O_DIRECT.
struct Buffers {
    memory: Vec<u8>,
    start: usize,
}

impl Buffers {
    fn new() -> Self {
        let memory = vec![0_u8; DEPTH * BLOCK + PAGE];
        let start = memory.as_ptr().align_offset(PAGE);
        Buffers { memory, start }
    }

    fn slot(&mut self, slot: usize) -> *mut u8 {
        self.memory[self.start + slot * BLOCK..].as_mut_ptr()
    }
}

/// `struct iocb` of linux/aio_abi.h, little endian.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Iocb {
    data: u64,
    key: u32,
    rw_flags: u32,
    opcode: u16,
    priority: i16,
    descriptor: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_descriptor: u32,
}

/// `struct io_event` of linux/aio_abi.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct IoEvent {
    data: u64,
    iocb: u64,
    result: i64,
    result2: i64,
}

fn libaio(file: &File, mut offsets: Offsets, ios: u64) -> io::Result<()> {
    let mut buffers = Buffers::new();
    let mut context: libc::c_ulong = 0;
    // SAFETY: io_setup writes the context's handle to `context`, which is valid for the call.
    checked(unsafe { libc::syscall(libc::SYS_io_setup, DEPTH, &raw mut context) })?;
    let descriptor = u32::try_from(file.as_raw_fd()).map_err(io::Error::other)?;
    let mut requests: Vec<Iocb> = (0..DEPTH)
        .map(|slot| Iocb {
            data: slot as u64,
            descriptor,
            buffer: buffers.slot(slot) as u64,
            bytes: BLOCK as u64,
            ..Iocb::default()
        })
        .collect();
    let mut events = [IoEvent::default(); DEPTH];
    let mut free: Vec<usize> = (0..DEPTH).collect();
    let (mut issued, mut done) = (0_u64, 0_u64);
    while done < ios {
        while issued < ios && free.len() >= BATCH {
            let mut batch = [std::ptr::null_mut::<Iocb>(); BATCH];
            for (pointer, slot) in batch.iter_mut().zip(free.drain(free.len() - BATCH..)) {
                requests[slot].offset = i64::try_from(offsets.draw()).map_err(io::Error::other)?;
                *pointer = &raw mut requests[slot];
            }
            // SAFETY: `batch` holds pointers into `requests`, which neither moves nor is dropped while anything is in
            // flight: the loop ends only when all is reaped. Each buffer belongs to one slot and lives as long.
            let taken = checked(unsafe { libc::syscall(libc::SYS_io_submit, context, BATCH, batch.as_mut_ptr()) })?;
            if taken != BATCH as i64 {
                return Err(io::Error::other("io_submit took fewer than the batch"));
            }
            black_box(counter());
            issued += BATCH as u64;
        }
        // The last ones may be fewer than a batch.
        let least = (issued - done).min(BATCH as u64);
        // SAFETY: the kernel writes at most DEPTH events into `events`, which has room for them.
        let got = checked(unsafe {
            libc::syscall(libc::SYS_io_getevents, context, least, DEPTH, events.as_mut_ptr(), std::ptr::null::<()>())
        })?;
        black_box(counter());
        for event in events.iter().take(usize::try_from(got).unwrap_or(0)) {
            free.push(usize::try_from(event.data).map_err(io::Error::other)?);
            if event.result != BLOCK as i64 {
                return Err(io::Error::other("a read was short"));
            }
            done += 1;
        }
    }
    // SAFETY: nothing is in flight any more and the context is not used again.
    checked(unsafe { libc::syscall(libc::SYS_io_destroy, context) })?;
    Ok(())
}

fn checked(result: i64) -> io::Result<i64> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// How a batch goes to a ring and another completes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Calls {
    /// A submission has an end, which its latency needs.
    SubmitThenWait,
    SubmitAndWait,
}

fn uring(file: &File, mut offsets: Offsets, ios: u64, calls: Calls) -> io::Result<()> {
    let entries = u32::try_from(DEPTH).map_err(io::Error::other)?;
    let mut ring = match IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(entries) {
        Ok(ring) => ring,
        Err(_) => IoUring::new(entries)?,
    };
    let mut buffers = Buffers::new();
    let block = u32::try_from(BLOCK).map_err(io::Error::other)?;
    let vectors: Vec<libc::iovec> =
        (0..DEPTH).map(|slot| libc::iovec { iov_base: buffers.slot(slot).cast(), iov_len: BLOCK }).collect();
    ring.submitter().register_files(&[file.as_raw_fd()])?;
    // SAFETY: `buffers` outlives the ring's last use below and does not move.
    unsafe { ring.submitter().register_buffers(&vectors) }?;
    let mut free: Vec<u16> = (0..u16::try_from(DEPTH).map_err(io::Error::other)?).collect();
    let (mut issued, mut done) = (0_u64, 0_u64);
    while done < ios {
        while issued < ios && free.len() >= BATCH {
            for slot in free.drain(free.len() - BATCH..) {
                let entry = opcode::ReadFixed::new(types::Fixed(0), buffers.slot(usize::from(slot)), block, slot)
                    .offset(offsets.draw())
                    .build()
                    .user_data(u64::from(slot));
                // SAFETY: the entry's buffer is registered, belongs to this slot alone and lives until the loop has
                // reaped everything.
                unsafe { ring.submission().push(&entry) }.map_err(io::Error::other)?;
            }
            issued += BATCH as u64;
            if calls == Calls::SubmitThenWait || free.len() >= BATCH {
                ring.submit()?;
            }
            black_box(counter());
        }
        // The last ones may be fewer than a batch.
        let least = usize::try_from(issued - done).unwrap_or(BATCH).min(BATCH);
        if calls == Calls::SubmitAndWait || ring.completion().len() < least {
            ring.submit_and_wait(least)?;
        }
        black_box(counter());
        for completion in ring.completion() {
            free.push(u16::try_from(completion.user_data()).map_err(io::Error::other)?);
            if completion.result() != i32::try_from(BLOCK).map_err(io::Error::other)? {
                return Err(io::Error::other(format!("a read ended with {}", completion.result())));
            }
            done += 1;
        }
    }
    Ok(())
}
