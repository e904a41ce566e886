//! BPF programs on tracepoints of the kernel, memory that they share with this process, and their ring of records
//! (bpf(2); kernel doc: bpf/ringbuf).
//!
//! Programs and maps are descriptors: the kernel removes them with the process, however it ends. The verifier of the
//! kernel checks what a program does, and programs see no memory of this process but their maps.

use crate::SysError;
use crate::machine::mapping::Mapping;
use rustix::mm::MapFlags;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Numbers of linux/bpf.h.
const MAP_CREATE: i32 = 0;
const PROG_LOAD: i32 = 5;
const OBJ_GET_INFO_BY_FD: i32 = 15;
const RAW_TRACEPOINT_OPEN: i32 = 17;
const MAP_TYPE_ARRAY: u32 = 2;
const MAP_TYPE_RINGBUF: u32 = 27;
const MAP_MMAPABLE: u32 = 1 << 10;
const PROG_TYPE_RAW_TRACEPOINT: u32 = 17;
const PROG_TYPE_TRACING: u32 = 26;
const ATTACH_RAW_TRACEPOINT: u32 = 23;

/// The kernel gives fields of its structures only to programs whose licence is compatible with its own. plumb's
/// programs are its instructions alone, which anyone may use under both.
const LICENCE: &std::ffi::CStr = c"Dual MIT/GPL";
/// Name that the kernel lists.
const NAME: &[u8] = b"plumb";

/// The argument of bpf(2): fields at fixed places, of which those that are not set are zero.
#[repr(C, align(8))]
struct Attributes([u8; 128]);

impl Attributes {
    fn new() -> Self {
        Attributes([0; 128])
    }

    fn with(mut self, at: usize, bytes: &[u8]) -> Self {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }

    fn word(self, at: usize, value: u32) -> Self {
        self.with(at, &value.to_ne_bytes())
    }

    fn address<T>(self, at: usize, start: *const T) -> Self {
        self.with(at, &(start.addr() as u64).to_ne_bytes())
    }

    /// Calls the kernel. What addresses point to outlives the call.
    fn call(&mut self, command: i32) -> io::Result<i32> {
        // SAFETY: the kernel reads the attributes, and what their addresses point to, within the call alone; it writes
        // to buffers whose sizes are next to their addresses.
        let result = unsafe { libc::syscall(libc::SYS_bpf, command, self.0.as_mut_ptr(), self.0.len()) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(i32::try_from(result).unwrap_or(0)) }
    }

    /// Calls the kernel for a new descriptor.
    fn open(&mut self, command: i32) -> io::Result<OwnedFd> {
        // SAFETY: the call returned a new descriptor, which has no other owner.
        self.call(command).map(|descriptor| unsafe { OwnedFd::from_raw_fd(descriptor) })
    }
}

fn new_map(kind: u32, value: u32, entries: u32, flags: u32) -> Result<OwnedFd, SysError> {
    let key = if kind == MAP_TYPE_ARRAY { 4 } else { 0 };
    let attributes = Attributes::new().word(0, kind).word(4, key).word(8, value).word(12, entries).word(16, flags);
    let made = attributes.with(28, NAME).open(MAP_CREATE);
    made.map_err(|error| SysError::call("bpf(BPF_MAP_CREATE)", error))
}

/// Words that programs and this process share: an array of one value.
#[derive(Debug)]
pub struct SharedWords {
    map: OwnedFd,
    memory: Mapping,
    words: usize,
}

impl SharedWords {
    /// Makes words of zero.
    ///
    /// # Errors
    /// The kernel has no BPF, or this process may not use it.
    pub fn new(words: u32) -> Result<Self, SysError> {
        let bytes = words.saturating_mul(8);
        let map = new_map(MAP_TYPE_ARRAY, bytes, 1, MAP_MMAPABLE)?;
        let memory = Mapping::of_file(map.as_fd(), bytes as usize, MapFlags::SHARED);
        let memory = memory.map_err(|error| SysError::call("mmap of a BPF array", error))?;
        Ok(SharedWords { map, memory, words: words as usize })
    }

    /// The words.
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping has that many bytes, is aligned to a page, lives as long as `self`, and is only used by
        // atomic operations, here and in the kernel.
        unsafe { std::slice::from_raw_parts(self.memory.start().cast().as_ptr(), self.words) }
    }

    /// The number by which a program names it.
    pub fn number(&self) -> i32 {
        self.map.as_raw_fd()
    }
}

/// Head of a record in the ring: its length, and whether it is being written, or was given up.
const BUSY: u32 = 1 << 31;
const GIVEN_UP: u32 = 1 << 30;
/// Bytes of a head.
const HEAD: u64 = 8;

/// The ring into which programs put records.
#[derive(Debug)]
pub struct Ring {
    map: OwnedFd,
    consumed: Mapping,
    /// The kernel's position, then the records twice, so that each is in one piece.
    produced: Mapping,
    page: usize,
    size: u64,
}

impl Ring {
    /// Makes a ring of `bytes`: a power of two, at least a page.
    ///
    /// # Errors
    /// The kernel has no such rings (before Linux 5.8), or this process may not use them.
    pub fn new(bytes: u32) -> Result<Self, SysError> {
        let map = new_map(MAP_TYPE_RINGBUF, 0, bytes, 0)?;
        let page = rustix::param::page_size();
        let consumed = Mapping::of_file(map.as_fd(), page, MapFlags::SHARED);
        let length = page + 2 * bytes as usize;
        let mapped = consumed.and_then(|one| Ok((one, Mapping::of_readable(map.as_fd(), length, page as u64)?)));
        let (consumed, produced) = mapped.map_err(|error| SysError::call("mmap of a BPF ring", error))?;
        Ok(Ring { map, consumed, produced, page, size: u64::from(bytes) })
    }

    /// The number by which a program names it.
    pub fn number(&self) -> i32 {
        self.map.as_raw_fd()
    }

    /// Takes records up to the first that is not complete; true if there is none of these.
    pub fn read(&mut self, mut each: impl FnMut(&[u8])) -> bool {
        // SAFETY: the mappings begin with these positions, are aligned to pages, and live as long as `self`.
        let (consumed, produced) = unsafe {
            (self.consumed.start().cast::<AtomicU64>().as_ref(), self.produced.start().cast::<AtomicU64>().as_ref())
        };
        let (mut at, end) = (consumed.load(Ordering::Relaxed), produced.load(Ordering::Acquire));
        while at < end {
            let place = self.page + usize::try_from(at & (self.size - 1)).unwrap_or(0);
            // SAFETY: heads are aligned to 8 bytes and within the first copy of the records.
            let head = unsafe { self.produced.start().add(place).cast::<AtomicU32>().as_ref() };
            let head = head.load(Ordering::Acquire);
            let bytes = head & (GIVEN_UP - 1);
            let length = u64::from(bytes);
            if head & BUSY != 0 || length > self.size - HEAD {
                return false;
            }
            if head & GIVEN_UP == 0 {
                let start = self.produced.start();
                // SAFETY: the record is behind its head, at most a ring long, and so within the two copies. The kernel
                // writes there no more until it is consumed, below.
                each(unsafe { std::slice::from_raw_parts(start.add(place + 8).as_ptr(), bytes as usize) });
            }
            at += (length + HEAD).next_multiple_of(8);
            consumed.store(at, Ordering::Release);
        }
        true
    }
}

/// A tracepoint for a program.
#[derive(Clone, Copy, Debug)]
pub enum Hook<'name> {
    /// By its name: the program may not follow its arguments.
    Named(&'name str),
    /// By the number of its type in the kernel's BTF: the verifier knows the types of its arguments.
    Typed(u32),
}

/// A program that runs at a tracepoint, for as long as this lives.
#[derive(Debug)]
pub struct Program {
    program: OwnedFd,
    _link: OwnedFd,
}

impl Program {
    /// Loads a program of these instructions, each of 64 bits, and attaches it.
    ///
    /// # Errors
    /// The kernel refuses it, with the last words of its verifier; ENOENT if there is no such tracepoint.
    pub fn attach(hook: Hook<'_>, instructions: &[u64]) -> Result<Self, SysError> {
        let (kind, attach, type_number) = match hook {
            Hook::Named(_) => (PROG_TYPE_RAW_TRACEPOINT, 0, 0),
            Hook::Typed(number) => (PROG_TYPE_TRACING, ATTACH_RAW_TRACEPOINT, number),
        };
        let count = u32::try_from(instructions.len()).unwrap_or(u32::MAX);
        let wanted = || {
            let attributes = Attributes::new().word(0, kind).word(4, count).with(48, NAME).word(68, attach);
            attributes.address(8, instructions.as_ptr()).address(16, LICENCE.as_ptr()).word(108, type_number)
        };
        let program = wanted().open(PROG_LOAD).map_err(|error| {
            let mut log = vec![0u8; 1 << 16];
            let explained = wanted().word(24, 1).word(28, 1 << 16).address(32, log.as_mut_ptr()).call(PROG_LOAD);
            let text = String::from_utf8_lossy(&log);
            let lines: Vec<&str> = text.trim_end_matches('\0').lines().rev().take(3).collect();
            match (explained, lines.last()) {
                (Err(_), Some(_)) => SysError::call_but("bpf(BPF_PROG_LOAD)", error, &lines.join(" / ")),
                _ => SysError::call("bpf(BPF_PROG_LOAD)", error),
            }
        })?;
        let name = match hook {
            Hook::Named(name) => CString::new(name).ok(),
            Hook::Typed(_) => None,
        };
        let start = name.as_ref().map_or(std::ptr::null(), |name| name.as_ptr());
        let number = u32::try_from(program.as_raw_fd()).unwrap_or(0);
        let link = Attributes::new().address(0, start).word(8, number).open(RAW_TRACEPOINT_OPEN);
        let link = link.map_err(|error| SysError::call("bpf(BPF_RAW_TRACEPOINT_OPEN)", error))?;
        Ok(Program { program, _link: link })
    }

    /// How often it did not run because it ran on that processor already (Linux 5.12).
    pub fn missed(&self) -> u64 {
        /// Place of `recursion_misses` in `struct bpf_prog_info`.
        const MISSES: usize = 208;
        let mut info = [0u8; MISSES + 8];
        let number = u32::try_from(self.program.as_raw_fd()).unwrap_or(0);
        let length = u32::try_from(info.len()).unwrap_or(0);
        let _ =
            Attributes::new().word(0, number).word(4, length).address(8, info.as_mut_ptr()).call(OBJ_GET_INFO_BY_FD);
        let [.., a, b, c, d, e, f, g, h] = info;
        u64::from_ne_bytes([a, b, c, d, e, f, g, h])
    }
}
