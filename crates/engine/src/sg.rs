//! `sg`: SCSI commands with SG_IO on a generic device (/dev/sgN) or a SCSI disk, one at a time.

use crate::call;
use crate::contract::{Completion, Engine, EngineError, Io, Operation, Setup, Slots, Submitted, Target};
use crate::psync::SYNCHRONOUS;
use measure::SystemClock;
use plan::option::{Effect, Kind, OptionSpec};
use plan::{Capabilities, EngineSpec, KeepsFiles, options};
use std::os::fd::RawFd;

const NAME: &str = "sg";

/// `struct sg_io_hdr` of scsi/sg.h.
#[repr(C)]
struct Header {
    interface: i32,
    direction: i32,
    command_length: u8,
    sense_room: u8,
    vectors: u16,
    length: u32,
    data: *mut libc::c_void,
    command: *const u8,
    sense: *mut u8,
    timeout_ms: u32,
    flags: u32,
    pack: i32,
    user: *mut libc::c_void,
    status: u8,
    masked_status: u8,
    message_status: u8,
    sense_length: u8,
    host_status: u16,
    driver_status: u16,
    residual: i32,
    duration: u32,
    info: u32,
}

const SG_IO: libc::c_ulong = 0x2285;
/// Values of dxfer_direction: no data, to the device, from the device.
const NONE: i32 = -1;
const OUT: i32 = -2;
const IN: i32 = -3;
const TIMEOUT_MS: u32 = 60_000;
/// Bits of byte 1: FUA of a read or write, NDOB of WRITE SAME, BYTCHK of VERIFY.
const FUA: u8 = 8;
const NO_DATA_OUT: u8 = 1;
const COMPARE_ALL: u8 = 2;
const COMPARE_ONE: u8 = 6;
/// Opcodes, of 16 bytes where nothing else is said; SYNCHRONIZE CACHE and UNMAP have 10, READ CAPACITY(16) a service
/// action.
const READ_16: u8 = 0x88;
const WRITE_16: u8 = 0x8a;
const WRITE_VERIFY_16: u8 = 0x8e;
const VERIFY_16: u8 = 0x8f;
const WRITE_SAME_16: u8 = 0x93;
const WRITE_STREAM_16: u8 = 0x9a;
const SYNCHRONIZE: u8 = 0x35;
const UNMAP: u8 = 0x42;
const SERVICE_ACTION_IN: u8 = 0x9e;
const READ_CAPACITY: u8 = 0x10;

/// The SCSI devices of a job.
#[derive(Debug)]
pub(crate) struct Sg {
    slots: Slots,
    devices: Box<[Device]>,
    /// Byte 1 of a read.
    read_flags: u8,
    /// The command of a write.
    write: Command,
    /// Stream of WRITE STREAM.
    stream: u16,
}

/// A command on a range of blocks.
#[derive(Clone, Copy, Debug)]
struct Command {
    operation: u8,
    /// Byte 1.
    flags: u8,
    data: Data,
}

/// The data of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Data {
    /// Nothing.
    None,
    /// One block, for all blocks of the range.
    OneBlock,
    /// The range, to the device.
    Out,
    /// The range, from the device.
    In,
}

/// The commands of `sg_write_mode`. Only WRITE and WRITE STREAM have a FUA bit.
fn command_of_mode(mode: &str, fua: u8) -> Command {
    let (operation, flags, data) = match mode {
        "write_and_verify" | "verify" => (WRITE_VERIFY_16, 0, Data::Out),
        "write_same" | "same" => (WRITE_SAME_16, 0, Data::OneBlock),
        "write_same_ndob" => (WRITE_SAME_16, NO_DATA_OUT, Data::None),
        "verify_bytchk_00" => (VERIFY_16, 0, Data::None),
        "verify_bytchk_01" => (VERIFY_16, COMPARE_ALL, Data::Out),
        "verify_bytchk_11" => (VERIFY_16, COMPARE_ONE, Data::OneBlock),
        "write_stream" => (WRITE_STREAM_16, fua, Data::Out),
        _ => (WRITE_16, fua, Data::Out),
    };
    Command { operation, flags, data }
}

#[derive(Debug)]
struct Device {
    descriptor: RawFd,
    /// Size of a logical block in bytes.
    block: u64,
}

impl Engine for Sg {
    type Clock = SystemClock;

    const SPEC: EngineSpec = EngineSpec {
        name: NAME,
        help: "SCSI commands through SG_IO, on /dev/sgN or a SCSI disk",
        capabilities: Capabilities {
            raw_commands: true,
            keeps_files: KeepsFiles::Always,
            unrecorded: Some("sends commands to the device, which are not followed"),
            ..SYNCHRONOUS
        },
        options: OPTIONS,
    };

    fn open(setup: Setup<'_, SystemClock>) -> Result<Self, EngineError> {
        let options = setup.options;
        let fua = |name: &str| if options.is_on(name) { FUA } else { 0 };
        Ok(Sg {
            slots: Slots::new(&setup),
            devices: setup.targets.iter().map(look_at).collect::<Result<_, _>>()?,
            read_flags: fua("readfua"),
            write: command_of_mode(options.text("sg_write_mode").unwrap_or("write"), fua("writefua")),
            stream: options.integer("stream_id").and_then(|id| u16::try_from(id).ok()).unwrap_or(0),
        })
    }

    fn submit(&mut self, io: Io) -> Submitted {
        let device = &self.devices[io.target as usize];
        let result = match io.operation {
            Operation::Read => {
                let read = Command { operation: READ_16, flags: self.read_flags, data: Data::In };
                device.execute(&io, read, 0, self.slots.address(&io))
            }
            Operation::Write => device.execute(&io, self.write, self.stream, self.slots.address(&io)),
            Operation::Sync | Operation::DataSync => {
                let command = [SYNCHRONIZE, 0, 0, 0, 0, 0, 0, 0, 0, 0];
                command_of(device.descriptor, &command, NONE, std::ptr::null_mut(), 0)
            }
            Operation::Trim => device.unmap(&io),
        };
        Submitted::Done(Completion { slot: io.slot, result })
    }
}

impl Device {
    /// First block and blocks of an I/O; `None` if it is not made of whole ones.
    fn range(&self, io: &Io) -> Option<(u64, u32)> {
        let length = u64::from(io.length);
        let whole = io.offset.is_multiple_of(self.block) && length.is_multiple_of(self.block);
        Some((io.offset / self.block, u32::try_from(length / self.block).ok()?)).filter(|_| whole)
    }

    /// Executes a command on the range of an I/O. Returns the bytes of the range that are done, or -errno.
    fn execute(&self, io: &Io, command: Command, stream: u16, memory: *mut u8) -> i64 {
        let Some((first, blocks)) = self.range(io) else { return -i64::from(libc::EINVAL) };
        let mut bytes = [0u8; 16];
        (bytes[0], bytes[1]) = (command.operation, command.flags);
        bytes[2..10].copy_from_slice(&first.to_be_bytes());
        if command.operation == WRITE_STREAM_16 {
            let Ok(blocks) = u16::try_from(blocks) else { return -i64::from(libc::EINVAL) };
            bytes[10..12].copy_from_slice(&stream.to_be_bytes());
            bytes[12..14].copy_from_slice(&blocks.to_be_bytes());
        } else {
            bytes[10..14].copy_from_slice(&blocks.to_be_bytes());
        }
        let one_block = u32::try_from(self.block).unwrap_or(u32::MAX).min(io.length);
        let (direction, length) = match command.data {
            Data::None => (NONE, 0),
            Data::OneBlock => (OUT, one_block),
            Data::Out => (OUT, io.length),
            Data::In => (IN, io.length),
        };
        match command_of(self.descriptor, &bytes, direction, memory, length) {
            done if done == i64::from(length) => i64::from(io.length),
            part_or_errno => part_or_errno,
        }
    }

    /// Gives the range of an I/O back to the device: UNMAP with one descriptor.
    fn unmap(&self, io: &Io) -> i64 {
        /// Bytes of the parameter list: its own lengths, then first block and blocks of the only range.
        const LIST: u8 = 24;
        let Some((first, blocks)) = self.range(io) else { return -i64::from(libc::EINVAL) };
        let mut list = [0u8; LIST as usize];
        (list[1], list[3]) = (LIST - 2, 16);
        list[8..16].copy_from_slice(&first.to_be_bytes());
        list[16..20].copy_from_slice(&blocks.to_be_bytes());
        let command = [UNMAP, 0, 0, 0, 0, 0, 0, 0, LIST, 0];
        match command_of(self.descriptor, &command, OUT, list.as_mut_ptr(), u32::from(LIST)) {
            0.. => i64::from(io.length),
            errno => errno,
        }
    }
}

/// Executes one command. Returns the bytes moved, or -errno.
fn command_of(descriptor: RawFd, command: &[u8], direction: i32, memory: *mut u8, length: u32) -> i64 {
    let mut sense = [0u8; 32];
    let mut header = Header {
        interface: i32::from(b'S'),
        direction,
        command_length: u8::try_from(command.len()).unwrap_or(0),
        sense_room: 32,
        vectors: 0,
        length,
        data: memory.cast(),
        command: command.as_ptr(),
        sense: sense.as_mut_ptr(),
        timeout_ms: TIMEOUT_MS,
        flags: 0,
        pack: 0,
        user: std::ptr::null_mut(),
        status: 0,
        masked_status: 0,
        message_status: 0,
        sense_length: 0,
        host_status: 0,
        driver_status: 0,
        residual: 0,
        duration: 0,
        info: 0,
    };
    // SAFETY: the header, the command and the sense buffer outlive the call; `memory` is `length` bytes of the slot's
    // buffer (or of the caller's), which nothing else uses until this call returns.
    let result = call::finish(|| unsafe { libc::ioctl(descriptor, SG_IO, &raw mut header) as isize });
    match (result, header.status, header.host_status) {
        (..0, _, _) => result,
        (_, 0, 0) => i64::from(length) - i64::from(header.residual),
        _ => -i64::from(libc::EIO),
    }
}

/// Reads the block size of a device with READ CAPACITY(16); an error if it takes no SCSI commands.
fn look_at(target: &Target) -> Result<Device, EngineError> {
    let mut answer = [0u8; 32];
    let mut command = [0u8; 16];
    (command[0], command[1], command[13]) = (SERVICE_ACTION_IN, READ_CAPACITY, 32);
    let result = command_of(target.raw(), &command, IN, answer.as_mut_ptr(), 32);
    let block = u32::from_be_bytes([answer[8], answer[9], answer[10], answer[11]]);
    if result > 0 && block > 0 {
        return Ok(Device { descriptor: target.raw(), block: u64::from(block) });
    }
    let message = format!(
        "{} does not answer READ CAPACITY(16): it is not a SCSI device; name one with filename=/dev/sg0",
        target.path.display()
    );
    Err(EngineError { engine: NAME, operation: "SG_IO", message, errno: libc::ENODEV })
}

const WRITE_MODES: Kind = Kind::Word(&[
    ("write", "WRITE"),
    ("write_and_verify", "WRITE AND VERIFY"),
    ("verify", "the same, its old name"),
    ("write_same", "WRITE SAME, one block for all of the I/O"),
    ("same", "the same, its old name"),
    ("write_same_ndob", "WRITE SAME without data: zeros"),
    ("verify_bytchk_00", "VERIFY, the medium alone"),
    ("verify_bytchk_01", "VERIFY, against the data"),
    ("verify_bytchk_11", "VERIFY, each block against the same data"),
    ("write_stream", "WRITE STREAM(16)"),
]);

const OPTIONS: &[OptionSpec] = options! {
    "hipri": FLAG, "0" => refused("SG_IO waits in the kernel and cannot be polled"); "Poll for completions";
    "readfua": BOOL, "0"; "Reads come from the medium, not from the device's cache (FUA)";
    "writefua": BOOL, "0" => with(Effect::DurableWrites); "Writes reach the medium before they are done (FUA)";
    "sg_write_mode": WRITE_MODES, "write"; "The command that writes";
    "stream_id": between(0, u16::MAX as i64), "0"; "The stream of WRITE STREAM";
};
