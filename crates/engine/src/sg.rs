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
/// FUA bit in byte 1 of a read or write.
const FUA: u8 = 8;
/// Opcodes: READ(16), WRITE(16), WRITE AND VERIFY(16), SYNCHRONIZE CACHE(10), and READ CAPACITY(16) with its service
/// action.
const READ_16: u8 = 0x88;
const WRITE_16: u8 = 0x8a;
const WRITE_VERIFY_16: u8 = 0x8e;
const SYNCHRONIZE: u8 = 0x35;
const SERVICE_ACTION_IN: u8 = 0x9e;
const READ_CAPACITY: u8 = 0x10;

/// The SCSI devices of a job.
#[derive(Debug)]
pub(crate) struct Sg {
    slots: Slots,
    devices: Box<[Device]>,
    /// Byte 1 of a read.
    read_flags: u8,
    /// Opcode and byte 1 of a write.
    write: (u8, u8),
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
        capabilities: Capabilities { trim: false, raw_commands: true, keeps_files: KeepsFiles::Always, ..SYNCHRONOUS },
        options: OPTIONS,
    };

    fn open(setup: Setup<'_, SystemClock>) -> Result<Self, EngineError> {
        let options = setup.options;
        let fua = |name: &str| if options.is_on(name) { FUA } else { 0 };
        let verifies = match options.text("sg_write_mode") {
            None | Some("write") => false,
            Some("write_and_verify" | "verify") => true,
            Some(mode) => {
                let message =
                    format!("sg_write_mode={mode}: {NO_DEVICE}; give write or write_and_verify, or leave it out");
                return Err(EngineError { engine: NAME, operation: "options", message, errno: libc::EOPNOTSUPP });
            }
        };
        Ok(Sg {
            slots: Slots::new(&setup),
            devices: setup.targets.iter().map(look_at).collect::<Result<_, _>>()?,
            read_flags: fua("readfua"),
            // WRITE AND VERIFY always writes to the medium and has no FUA bit.
            write: if verifies { (WRITE_VERIFY_16, 0) } else { (WRITE_16, fua("writefua")) },
        })
    }

    fn submit(&mut self, io: Io) -> Submitted {
        let device = &self.devices[io.target as usize];
        let result = match io.operation {
            Operation::Read => device.transfer(&io, READ_16, self.read_flags, IN, self.slots.address(&io)),
            Operation::Write => device.transfer(&io, self.write.0, self.write.1, OUT, self.slots.address(&io)),
            Operation::Sync | Operation::DataSync => {
                let command = [SYNCHRONIZE, 0, 0, 0, 0, 0, 0, 0, 0, 0];
                command_of(device.descriptor, &command, NONE, std::ptr::null_mut(), 0)
            }
            Operation::Trim => -i64::from(libc::EOPNOTSUPP),
        };
        Submitted::Done(Completion { slot: io.slot, result })
    }
}

impl Device {
    fn transfer(&self, io: &Io, operation: u8, flags: u8, direction: i32, memory: *mut u8) -> i64 {
        let length = u64::from(io.length);
        if !io.offset.is_multiple_of(self.block) || !length.is_multiple_of(self.block) {
            return -i64::from(libc::EINVAL);
        }
        let mut command = [0u8; 16];
        (command[0], command[1]) = (operation, flags);
        command[2..10].copy_from_slice(&(io.offset / self.block).to_be_bytes());
        let Ok(blocks) = u32::try_from(length / self.block) else { return -i64::from(libc::EINVAL) };
        command[10..14].copy_from_slice(&blocks.to_be_bytes());
        command_of(self.descriptor, &command, direction, memory, io.length)
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

/// Reason for commands that are known but never sent.
const NO_DEVICE: &str = "no device was at hand to prove this command on";

const WRITE_MODES: Kind = Kind::Word(&[
    ("write", "WRITE"),
    ("write_and_verify", "WRITE AND VERIFY"),
    ("verify", "the same, its old name"),
    ("write_same", "WRITE SAME (refused when it would run, as all below)"),
    ("same", "the same, its old name"),
    ("write_same_ndob", "WRITE SAME(16) without data"),
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
    "stream_id": between(0, u16::MAX as i64), "0" => refused(NO_DEVICE); "The stream of WRITE STREAM";
};
