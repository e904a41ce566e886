//! The rows: devices of the guest, and what is done with them.

use super::{guard, why, zones};

/// A device of the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Device {
    /// Namespace with blocks of 512 bytes.
    Nvme512,
    /// Namespace with blocks of 4096 bytes.
    Nvme4096,
    /// Namespace with 8 bytes of protection information per block of 512.
    NvmeProtected,
    /// Namespace with 64 bytes of metadata per block of 4096.
    NvmeMetadata,
    /// Namespace with 8 bytes of protection information behind each block of 512, in the same buffer.
    NvmeExtended,
    /// Namespace with 64 bytes of metadata per block of 4096, the last 8 of them protection information.
    NvmeTail,
    /// Namespace with two controllers.
    Paths,
    /// Namespace of flexible data placement, with 8 handles.
    Placing,
    /// SCSI disk with blocks of 512 bytes and a write cache.
    Scsi512,
    /// SCSI disk with blocks of 4096 bytes.
    Scsi4096,
    /// SATA disk.
    Sata,
    /// USB stick.
    Usb,
    /// Disk of a virtual machine.
    Virtio,
    /// null_blk in memory.
    Memory,
    /// null_blk of which 16 blocks of 512 bytes from 64 KiB on cannot be read or written.
    Bad,
    /// The same blocks, by device-mapper.
    Error,
    /// Raw flash in memory, with blocks of 64 KiB.
    Flash,
    /// Namespace of zones of 4 MiB of which 3 MiB can be written, 8 open at once.
    Zoned,
    /// null_blk with zones of 4 MiB, the first two of them conventional.
    ZonedMemory,
}

impl Device {
    /// Its name in the names of rows.
    pub(super) fn name(self) -> &'static str {
        match self {
            Device::Nvme512 => "nvme_512",
            Device::Nvme4096 => "nvme_4096",
            Device::NvmeProtected => "nvme_protected",
            Device::NvmeMetadata => "nvme_metadata",
            Device::NvmeExtended => "nvme_extended",
            Device::NvmeTail => "nvme_tail",
            Device::Paths => "paths",
            Device::Placing => "placing",
            Device::Scsi512 => "scsi_512",
            Device::Scsi4096 => "scsi_4096",
            Device::Sata => "sata",
            Device::Usb => "usb",
            Device::Virtio => "virtio",
            Device::Memory => "memory",
            Device::Bad => "bad",
            Device::Error => "error",
            Device::Flash => "flash",
            Device::Zoned => "zoned",
            Device::ZonedMemory => "zoned_memory",
        }
    }

    /// The hardware of `tools/guest` that has it; `None` for a device that the guest's kernel makes.
    pub(super) fn hardware(self) -> Option<&'static str> {
        match self {
            Device::Nvme512
            | Device::Nvme4096
            | Device::NvmeProtected
            | Device::NvmeMetadata
            | Device::NvmeExtended
            | Device::NvmeTail => Some("nvme"),
            Device::Paths => Some("paths"),
            Device::Placing => Some("fdp"),
            Device::Zoned => Some("zns"),
            Device::Scsi512 | Device::Scsi4096 => Some("scsi"),
            Device::Sata => Some("sata"),
            Device::Usb => Some("usb"),
            Device::Virtio => Some("virtio"),
            Device::Memory | Device::Bad | Device::Error | Device::Flash | Device::ZonedMemory => None,
        }
    }

    /// The line of the script that finds or makes it.
    pub(super) fn found(self) -> String {
        let name = self.name();
        let found = match self {
            Device::Nvme512 => "namespace PLUMBNVME 1",
            Device::Nvme4096 => "namespace PLUMBNVME 2",
            Device::NvmeProtected => "namespace PLUMBNVME 3",
            Device::NvmeMetadata => "namespace PLUMBNVME 4",
            Device::NvmeExtended => "namespace PLUMBNVME 5",
            Device::NvmeTail => "namespace PLUMBNVME 6",
            Device::Paths => "namespace PLUMBPATHS 1",
            Device::Placing => "namespace PLUMBFDP 1",
            Device::Zoned => "namespace PLUMBZNS 1",
            Device::Scsi512 => "disk PLUMBSCSI1",
            Device::Scsi4096 => "disk PLUMBSCSI2",
            Device::Sata => "disk PLUMBSATA",
            Device::Usb => "usb",
            Device::Virtio => "disk PLUMBVIRTIO",
            Device::Memory => return format!("memory {name}"),
            Device::Bad => return format!("memory {name} badblocks=+128-143\n{}", consent(name)),
            Device::ZonedMemory => return format!("memory {name} zoned=1 zone_size=4 zone_nr_conv=2 zone_max_open=6"),
            Device::Error => return format!("mapped {name}\n{}", consent(name)),
            Device::Flash => return format!("modprobe mtdram total_size=4096 erase_size=64\ndevice[{name}]=/dev/mtd0"),
        };
        let place = format!("place {name} \"$({found})\"");
        // Blocks that cannot be read, as those with protection information that were never written, may hold data: a
        // write needs consent.
        let is_protected = [Device::NvmeProtected, Device::NvmeExtended, Device::NvmeTail].contains(&self);
        if is_protected { format!("{place}\nfill {name}") } else { place }
    }
}

/// The line that gives consent to write to a device that has nothing but its size.
fn consent(name: &str) -> String {
    format!("consent[{name}]=$(blockdev --getsize64 \"${{device[{name}]}}\")")
}

/// What is done in a row, and what must come of it.
#[derive(Clone, Debug)]
pub(super) enum Work {
    /// Words of a job, to which status, keys and counts are those of fio; `{dev}`, `{char}` and `{sg}` are the device's
    /// nodes.
    Alike(String),
    /// Words of a job to which the answers differ for a reason.
    Differs {
        words: String,
        why: &'static str,
        /// Each difference is in one of these keys.
        only: &'static [&'static str],
    },
    /// A script in which plumb runs alone, with `$dev`, `$char` and `$sg`.
    Own {
        script: String,
        /// What it prints, among other things.
        says: &'static [&'static str],
    },
}

/// What is done with a device.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) device: Device,
    pub(super) work: Work,
}

impl Row {
    fn new(device: Device, name: &str, words: &str) -> Row {
        let target = if words.contains("--filename") { "" } else { "--filename={dev} --direct=1 " };
        let words = format!("{target}--size=1m --bs=4k {words}");
        Row { name: format!("{}::{name}", device.name()), device, work: Work::Alike(words) }
    }

    fn differs(self, why: &'static str, only: &'static [&'static str]) -> Row {
        match self.work {
            Work::Alike(words) => Row { work: Work::Differs { words, why, only }, ..self },
            _ => self,
        }
    }

    pub(super) fn own(device: Device, name: &str, script: impl Into<String>, says: &'static [&'static str]) -> Row {
        Row { name: format!("{}::{name}", device.name()), device, work: Work::Own { script: script.into(), says } }
    }

    /// Its line in the guest's script.
    pub(super) fn line(&self) -> String {
        let (name, device) = (&self.name, self.device.name());
        match &self.work {
            Work::Alike(words) | Work::Differs { words, .. } => {
                // Trims, flushes and FUA came to this engine after Debian's stable fio.
                let fio = if words.contains("io_uring_cmd") { "$newest" } else { "fio" };
                format!("row '{name}' {device} {fio} {words}")
            }
            // A document, so that a script may have any quotes.
            Work::Own { script, .. } => format!("own '{name}' {device} <<'END'\n{script}\nEND"),
        }
    }
}

/// Engines with their depths.
const ENGINES: &[(&str, &str)] = &[
    ("psync", "--ioengine=psync"),
    ("pvsync2", "--ioengine=pvsync2"),
    ("libaio", "--ioengine=libaio --iodepth=16"),
    ("posixaio", "--ioengine=posixaio --iodepth=4"),
    ("io_uring", "--ioengine=io_uring --iodepth=16"),
];

/// What is done with each device by each engine.
const OPERATIONS: &[(&str, &str)] = &[
    ("read", "--rw=randread"),
    ("write", "--rw=randwrite"),
    ("trim", "--rw=randtrim"),
    ("verify", "--rw=randwrite --verify=crc32c"),
    ("flush", "--rw=write --fsync=32"),
];

/// Devices on which all engines and operations are tried.
const DEVICES: &[Device] = &[
    Device::Nvme512,
    Device::Nvme4096,
    Device::NvmeProtected,
    Device::NvmeMetadata,
    Device::Scsi512,
    Device::Scsi4096,
    Device::Sata,
    Device::Usb,
    Device::Virtio,
    Device::Memory,
];

/// The rows of `make test`: each device and each engine once, each kind of operation, a fault.
pub(super) fn short() -> Vec<Row> {
    let row = Row::new;
    vec![
        row(Device::Nvme512, "io_uring::verify", "--rw=randwrite --verify=crc32c --ioengine=io_uring --iodepth=16"),
        row(Device::Nvme4096, "libaio::flush", "--rw=write --fsync=32 --ioengine=libaio --iodepth=16"),
        row(Device::NvmeProtected, "psync::write", "--rw=randwrite --ioengine=psync"),
        row(Device::Scsi512, "io_uring::trim", "--rw=randtrim --ioengine=io_uring --iodepth=16"),
        row(Device::Sata, "posixaio::read", "--rw=randread --ioengine=posixaio --iodepth=4"),
        row(Device::Virtio, "pvsync2::verify", "--rw=randwrite --verify=md5 --ioengine=pvsync2"),
        row(Device::Bad, "psync::read", "--rw=read --ioengine=psync"),
    ]
}

/// Words of passthrough, on the namespaces with blocks of 512 and 4096 bytes.
const COMMANDS: &[(&str, &str)] = &[
    ("read", "--rw=read"),
    ("randread", "--rw=randread --iodepth=32"),
    ("write", "--rw=write"),
    ("randwrite", "--rw=randwrite --iodepth=32"),
    ("trim", "--rw=randtrim --iodepth=8"),
    ("trimwrite", "--rw=trimwrite"),
    ("verify", "--rw=randwrite --iodepth=16 --verify=crc32c"),
    ("fua", "--rw=write --writefua=1"),
    ("flush", "--rw=write --fsync=32"),
    ("poll", "--rw=randread --iodepth=8 --hipri"),
    ("files", "--rw=randread --iodepth=8 --registerfiles"),
    ("thread", "--rw=randread --iodepth=8 --sqthread_poll"),
    ("large", "--rw=read --bs=256k --iodepth=2"),
    ("share", "--rw=randread --size=25% --number_ios=64"),
    ("half", "--rw=write --offset=50% --size=1m"),
    ("beyond", "--rw=read --offset=255m --size=2m"),
    ("fixed", "--rw=randread --iodepth=8 --fixedbufs"),
    ("fixed_verify", "--rw=randwrite --iodepth=8 --fixedbufs --registerfiles --verify=crc32c"),
    ("vectored", "--rw=randwrite --iodepth=8 --nonvectored=0 --verify=crc32c"),
    ("scalar", "--rw=randread --iodepth=8 --nonvectored=1"),
    ("async", "--rw=randread --iodepth=8 --force_async=4"),
    ("zeroes", "--rw=write --write_mode=zeroes"),
    ("zeroes_deac", "--rw=write --write_mode=zeroes --deac=1 --writefua=1"),
    ("verify_command", "--rw=write --write_mode=verify"),
    ("no_mode", "--rw=write --write_mode=nosuch"),
    ("compare", "--rw=write --verify=pattern --verify_pattern=0x5a --verify_mode=compare"),
    ("uncor", "--rw=write --write_mode=uncor"),
    ("uncor_read", "--rw=read"),
    ("restored", "--rw=write"),
];

/// Memory for the metadata of 8 blocks of 512 bytes, which the program makes and checks.
const OWN_METADATA: &str = "--pi_act=0 --md_per_io_size=64";

/// What is done with protection information: device, name, words.
const PROTECTED: &[(Device, &str, &str)] = &[
    (Device::NvmeProtected, "made", "--rw=randwrite --verify=crc32c"),
    (Device::NvmeProtected, "checked", "--rw=randwrite --verify=crc32c --pi_chk=GUARD,REFTAG,APPTAG"),
    (Device::NvmeProtected, "own", "OWN --rw=randwrite --verify=crc32c --iodepth=8 --pi_chk=GUARD,REFTAG,APPTAG"),
    (Device::NvmeProtected, "tags", "OWN --rw=write --apptag=0x77 --pi_chk=GUARD,APPTAG"),
    (Device::NvmeProtected, "right_tag", "OWN --rw=read --apptag=0x77 --pi_chk=GUARD,APPTAG"),
    (Device::NvmeProtected, "wrong_tag", "OWN --rw=read --apptag=0x78 --pi_chk=APPTAG"),
    (Device::NvmeProtected, "masked_tag", "OWN --rw=read --apptag=0x78 --apptag_mask=0xfff0 --pi_chk=APPTAG"),
    (Device::NvmeProtected, "no_memory", "--rw=write --pi_act=0"),
    (Device::NvmeProtected, "small_memory", "--rw=write --pi_act=0 --md_per_io_size=32"),
    (Device::NvmeProtected, "zeroes", "--rw=write --write_mode=zeroes"),
    (Device::NvmeMetadata, "missing", "--rw=write"),
    (Device::NvmeMetadata, "given", "--rw=randwrite --md_per_io_size=64 --verify=crc32c"),
    (Device::NvmeExtended, "made", "--rw=randwrite --verify=crc32c --pi_chk=GUARD,REFTAG"),
    (Device::NvmeExtended, "own", "--rw=write --bs=4160 --size=1040k --pi_act=0 --pi_chk=GUARD,REFTAG"),
    (Device::NvmeExtended, "own_read", "--rw=read --bs=4160 --size=1040k --pi_act=0 --pi_chk=GUARD,REFTAG"),
    (Device::NvmeExtended, "wrong_size", "--rw=write --pi_act=0"),
    (Device::NvmeTail, "made", "--rw=randwrite --verify=crc32c --md_per_io_size=64 --pi_chk=GUARD,REFTAG"),
    (Device::NvmeTail, "own", "OWN --rw=randwrite --verify=crc32c --pi_chk=GUARD,REFTAG,APPTAG"),
];

/// Rows, by the ends of their names, in whose answers these differ, with the reason.
const DIFFER: &[(&str, &str, &[&str])] = &[
    ("nvme_protected::protected::wrong_tag", STATUS_OF_COMMAND, &["error", "slat_ns.N"]),
    ("nvme_protected::protected::no_memory", NEVER_BEGAN, &["latency_"]),
    ("nvme_protected::protected::small_memory", NEVER_BEGAN, &["latency_"]),
    ("nvme_metadata::protected::missing", NEVER_BEGAN, &["latency_"]),
    ("nvme_extended::protected::wrong_size", "fio counts the I/O that it does not send", &["total_ios"]),
    ("io_uring_cmd::uncor", STATUS_OF_COMMAND, &["error", "slat_ns.N"]),
    ("placing::outside", "fio's JSON has no error of a job that never began", &["error"]),
    ("placing::no_scheme", "fio has no JSON of a job that it refuses", &["only ours has JSON"]),
    ("placing::no_streams", "plumb refuses the job before any begins", &["only fio has JSON"]),
    ("io_uring_cmd::no_mode", "fio has no JSON of a job that it refuses", &["only ours has JSON"]),
    ("io_uring_cmd::mix", "the directions of a mix are drawn at random", &["io_bytes", "io_kbytes", "total_ios", ".N"]),
    ("mixed::blocks", RANDOM_SIZES, &["total_ios", ".N"]),
    ("zbd::sizes", RANDOM_SIZES, &["total_ios", ".N"]),
    ("nvme_512::mmap::verify", "fio 3.33 does not find what it wrote: it reads zeros", &["status", "error", "read."]),
    ("nvme_512::vsync::write", "fio ends with writes that it has not given to the kernel", &["write."]),
    ("posixaio::flush", FLUSHES_AGAIN, &["sync"]),
    ("io_uring::flush", FLUSHES_AGAIN, &["sync"]),
    ("io_uring::read", FAILED, &["slat_ns.N"]),
    ("libaio::read", FAILED, &["slat_ns.N"]),
    ("libaio::continued", FAILED, &["slat_ns.N"]),
    ("posixaio::write", FAILED, &["slat_ns.N"]),
    ("psync::verified", "fio verifies up to the first block that was not written, plumb all others", &["read."]),
    ("mmap::read", "fio dies of the signal that a bad block of a mapped file gives", &["status", "error", "read."]),
];

const NO_DATA: &str = "fio gives memory to a command without data, and newer kernels refuse it (EFAULT)";
const STATUS_OF_COMMAND: &str = "fio's error is the status of the command, ours EIO";
const NEVER_BEGAN: &str = "fio has latencies of a job that never began";
const RANDOM_SIZES: &str = "sizes are drawn at random";
const FAILED: &str = "no latency is kept of an I/O that failed, and fio has that of its submission";
/// 27 to 112 flushes reach a disk of which fio 3.41 and plumb flush 7.
const FLUSHES_AGAIN: &str = "fio 3.33 flushes again while it waits for the writes before a flush";

/// The row, with what is known to differ in it. Only faulty devices fail reads.
fn known(row: Row) -> Row {
    let is_faulty = [Device::Bad, Device::Error].contains(&row.device);
    let of_row = |(name, why, _): &&(&str, &str, &[&str])| row.name.ends_with(name) && (is_faulty || *why != FAILED);
    match DIFFER.iter().find(of_row) {
        Some((_, why, only)) => row.differs(why, only),
        None => row,
    }
}

/// Words of jobs of which fio and plumb send the same commands.
const TRACED: &[(Device, &str, &str)] = &[
    (Device::Nvme512, "write", "commands_alike --rw=write --writefua=1"),
    (Device::Nvme512, "read", "commands_alike --rw=read --readfua=1"),
    (Device::Nvme512, "verify", "commands_alike --rw=write --write_mode=verify --writefua=1"),
    (Device::Nvme512, "uncor", "commands_alike --rw=write --write_mode=uncor; commands_alike --rw=write"),
    (Device::NvmeProtected, "made", "commands_alike --rw=write --pi_chk=GUARD,REFTAG"),
    (
        Device::NvmeProtected,
        "own",
        "commands_alike --rw=write --pi_act=0 --md_per_io_size=64 --pi_chk=GUARD,REFTAG,APPTAG",
    ),
];

/// Jobs that say where writes are placed.
const PLACED: &[(&str, &str)] = &[
    ("all", "--rw=randwrite --fdp=1 --iodepth=8"),
    ("some", "--rw=write --fdp=1 --fdp_pli=0,3-5"),
    ("random", "--rw=randwrite --dataplacement=fdp --plids=1,2 --plid_select=random"),
    ("outside", "--rw=write --dataplacement=fdp --plids=8"),
    ("scheme", "--rw=write --fdp=1 --plid_select=scheme --dp_scheme=/tmp/scheme"),
    ("no_scheme", "--rw=write --fdp=1 --plid_select=scheme --dp_scheme=/tmp/nosuch"),
    ("verify", "--rw=randwrite --fdp=1 --verify=crc32c"),
    ("read", "--rw=read --fdp=1"),
    ("none", "--rw=write --dataplacement=none"),
    ("streams", "--rw=write --dataplacement=streams --plids=1,2"),
    ("no_streams", "--rw=write --dataplacement=streams"),
];

/// Rows of a guest with a newer kernel and a newer qemu (`GUEST=newer`).
pub(super) fn newer() -> Vec<Row> {
    let words = "--filename={char} --ioengine=io_uring_cmd --cmd_type=nvme";
    let placed = PLACED.iter().map(|(name, what)| known(Row::new(Device::Placing, name, &format!("{words} {what}"))));
    let traced = |name, script| Row::own(Device::Placing, name, script, &["258 commands alike"]);
    let mut rows: Vec<Row> = placed.collect();
    rows.extend([
        traced("commands::in_turn", "commands_alike --rw=write --fdp=1 --fdp_pli=0,3-5"),
        traced("commands::all", "commands_alike --rw=write --fdp=1"),
        traced("commands::scheme", "commands_alike --rw=write --fdp=1 --plid_select=scheme --dp_scheme=/tmp/scheme"),
    ]);
    rows.extend(protected().into_iter().map(|row| match row.name.ends_with("::zeroes") {
        true => row.differs(NO_DATA, &["status", "error", "write."]),
        false => row,
    }));
    rows.extend(polling());
    rows
}

/// The rows of protection information.
fn protected() -> Vec<Row> {
    let row = |(device, name, what): &(Device, &str, &str)| {
        let words = format!("--filename={{char}} --ioengine=io_uring_cmd --cmd_type=nvme {what}");
        known(Row::new(*device, &format!("protected::{name}"), &words.replace("OWN", OWN_METADATA)))
    };
    PROTECTED.iter().map(row).collect()
}

/// Rows of polled completions. What plumb reads before and after is not polled.
fn polling() -> Vec<Row> {
    let polled = |name, engine: &str, says| {
        let job = format!("{engine} --hipri --rw=randread --bs=4k --size=100% --number_ios=10000 --minimal");
        let script = format!(
            "before=$(interrupts); plumb fio --name=a {job} 2>&1 >/tmp/out; echo \"status $?\"; \
             [ $(($(interrupts) - before)) -lt 50 ] && echo polled || echo interrupted"
        );
        Row::own(Device::Nvme512, name, script, says)
    };
    let named = |device, name, engine: &str, says| {
        let job = format!("{engine} --hipri --filename=$dev --rw=randread --direct=1 --bs=4k --size=64k --minimal");
        Row::own(device, name, format!("plumb fio --name=a --numjobs=2 {job} 2>&1 >/tmp/out"), says)
    };
    const RING: &str = "--ioengine=io_uring --iodepth=8 --direct=1 --filename=$dev";
    vec![
        polled("poll::io_uring", RING, &["status 0\npolled"]),
        polled("poll::io_uring_cmd", "--ioengine=io_uring_cmd --iodepth=8 --filename=$char", &["status 0\npolled"]),
        polled(
            "poll::pvsync2",
            "--ioengine=pvsync2 --direct=1 --filename=$dev",
            &["ignores RWF_HIPRI (since 5.19)", "status 0\ninterrupted"],
        ),
        named(
            Device::Virtio,
            "poll::no_queue",
            "--ioengine=io_uring",
            &["is 0); give the kernel or its module virtio_blk.poll_queues=1"],
        ),
        named(Device::Sata, "poll::no_driver", "--ioengine=io_uring", &["its driver has none"]),
    ]
}

/// Rows of the commands that reach a namespace.
fn traced() -> Vec<Row> {
    let row = |(device, name, script): &(Device, &str, &'static str)| {
        Row::own(*device, &format!("commands::{name}"), *script, &[" commands alike"])
    };
    TRACED.iter().map(row).collect()
}

/// Options of block engines, on the namespace with blocks of 512 bytes.
const OPTIONS: &[(&str, &str)] = &[
    ("pvsync2::poll", "--rw=randread --ioengine=pvsync2 --hipri"),
    ("io_uring::poll", "--rw=randread --ioengine=io_uring --iodepth=8 --hipri"),
    ("io_uring::fixed", "--rw=randread --ioengine=io_uring --iodepth=8 --registerfiles --fixedbufs"),
    ("io_uring::poll_fixed", "--rw=randread --ioengine=io_uring --iodepth=8 --hipri --registerfiles --fixedbufs"),
    ("io_uring::thread", "--rw=randread --ioengine=io_uring --iodepth=8 --sqthread_poll"),
    ("io_uring::scalar", "--rw=randread --ioengine=io_uring --iodepth=8 --nonvectored"),
    ("io_uring::async", "--rw=randread --ioengine=io_uring --iodepth=8 --force_async=4"),
    ("libaio::vectored", "--rw=randread --ioengine=libaio --iodepth=8 --libaio_vectored"),
    ("mmap::verify", "--rw=write --direct=0 --ioengine=mmap --verify=crc32c"),
    ("splice::read", "--rw=read --direct=0 --ioengine=splice"),
    ("vsync::write", "--rw=write --ioengine=vsync --iodepth=8"),
    ("sync::verify", "--rw=randwrite --ioengine=sync --verify=sha256"),
    ("zones::strided", "--rw=write --ioengine=psync --zonemode=strided --zonesize=64k --zoneskip=64k"),
    ("zones::emulated", "--rw=write --ioengine=psync --zonemode=zbd --zonesize=256k"),
    ("small::blocks", "--rw=randwrite --bs=512 --ioengine=libaio --iodepth=8"),
    ("mixed::blocks", "--rw=randwrite --bsrange=512-16k --ioengine=libaio --iodepth=8 --verify=crc32c"),
];

/// What the generic SCSI node is asked for.
const GENERIC: &[(&str, &str)] = &[
    ("read", "--rw=read"),
    ("randread", "--rw=randread"),
    ("write", "--rw=write"),
    ("randwrite", "--rw=randwrite"),
    ("verify", "--rw=randwrite --verify=crc32c"),
    ("flush", "--rw=write --fsync=32"),
    ("fua", "--rw=write --writefua=1"),
    ("write_and_verify", "--rw=write --sg_write_mode=verify"),
    ("write_same", "--rw=write --sg_write_mode=same"),
    ("write_same_ndob", "--rw=write --sg_write_mode=write_same_ndob"),
    ("verify_bytchk_00", "--rw=write --sg_write_mode=verify_bytchk_00"),
    ("verify_bytchk_01", "--rw=write --sg_write_mode=verify_bytchk_01"),
    ("verify_bytchk_11", "--rw=write --sg_write_mode=verify_bytchk_11"),
    ("write_stream", "--rw=write --sg_write_mode=write_stream --stream_id=1"),
    ("trim", "--rw=randtrim"),
    ("trim_write", "--rw=trimwrite"),
    ("share", "--rw=randread --size=25% --number_ios=64"),
    ("half", "--rw=write --offset=50% --size=1m"),
];

/// Jobs on zones; each program begins with empty ones.
const ZONES: &[(&str, &str)] = &[
    ("write", "--rw=write --ioengine=psync"),
    ("write_large", "--rw=write --ioengine=libaio --iodepth=8 --bs=512k"),
    ("randwrite", "--rw=randwrite --ioengine=psync"),
    ("randwrite_deep", "--rw=randwrite --ioengine=io_uring --iodepth=8"),
    ("verify", "--rw=randwrite --ioengine=libaio --iodepth=8 --verify=crc32c"),
    ("open_most", "--rw=randwrite --ioengine=psync --max_open_zones=2"),
    ("jobs", "--rw=randwrite --ioengine=psync --numjobs=4 --group_reporting --size=4m"),
    ("again", "--rw=write --ioengine=psync --loops=2"),
    ("read_unwritten", "--rw=read --ioengine=psync"),
    ("read_beyond", "--rw=read --ioengine=psync --read_beyond_wp=1"),
];

/// What is done with raw flash.
const FLASH: &[(&str, &str)] = &[
    ("trim", "--rw=trim"),
    ("write", "--rw=trimwrite"),
    ("read", "--rw=randread"),
    ("verify", "--rw=trimwrite --verify=crc32c"),
    ("flush", "--rw=write --fsync=4"),
];

/// What happens where blocks are bad.
const FAULTS: &[(&str, &str)] = &[
    ("psync::read", "--rw=read --ioengine=psync"),
    ("psync::write", "--rw=write --ioengine=psync"),
    ("psync::large", "--rw=read --bs=128k --ioengine=psync"),
    ("psync::ignored", "--rw=read --ioengine=psync --ignore_error=EIO,EIO"),
    ("psync::continued", "--rw=read --ioengine=psync --continue_on_error=read"),
    ("psync::verified", "--rw=write --ioengine=psync --verify=crc32c --continue_on_error=all"),
    ("pvsync2::read", "--rw=read --ioengine=pvsync2"),
    ("io_uring::read", "--rw=read --ioengine=io_uring"),
    ("libaio::read", "--rw=read --ioengine=libaio"),
    ("libaio::continued", "--rw=randread --ioengine=libaio --iodepth=8 --continue_on_error=all"),
    ("posixaio::write", "--rw=write --ioengine=posixaio --continue_on_error=write"),
    ("mmap::read", "--rw=read --direct=0 --ioengine=mmap"),
];

/// All rows.
pub(super) fn all() -> Vec<Row> {
    let mut rows = own();
    let each = |device: Device, kind: &str, table: &[(&str, &str)], words: &str| -> Vec<Row> {
        let row =
            |(name, what): &(&str, &str)| known(Row::new(device, &format!("{kind}{name}"), &format!("{words} {what}")));
        table.iter().map(row).collect()
    };
    for device in [Device::Nvme512, Device::Nvme4096] {
        let words = "--filename={char} --ioengine=io_uring_cmd --cmd_type=nvme";
        rows.extend(each(device, "io_uring_cmd::", COMMANDS, words));
        rows.push(known(Row::new(device, "io_uring_cmd::mix", &format!("{words} --rw=randrw --iodepth=8"))));
    }
    rows.extend(protected());
    for device in [Device::Scsi512, Device::Scsi4096, Device::Sata] {
        let generic = each(device, "sg::", GENERIC, "--filename={sg} --ioengine=sg").into_iter();
        rows.extend(generic.map(|row| row.differs("SG_IO is one call: it has no time of submission", &["slat_ns.N"])));
    }
    for device in [Device::Zoned, Device::ZonedMemory] {
        let words = "--filename={dev} --direct=1 --zonemode=zbd --offset=16m --size=16m --bs=64k";
        rows.extend(each(device, "zbd::", ZONES, words));
        let sizes = "--rw=randwrite --ioengine=psync --bsrange=4k-64k --bs_unaligned=0 --verify=crc32c";
        rows.push(known(Row::new(device, "zbd::sizes", &format!("{words} {sizes}"))));
    }
    rows.extend(each(Device::Flash, "mtd::", FLASH, "--filename={dev} --ioengine=mtd --bs=64k"));
    rows.extend(each(Device::Nvme512, "", OPTIONS, ""));
    rows.extend(each(Device::Bad, "", FAULTS, ""));
    rows.extend(each(Device::Error, "", FAULTS, ""));
    for &device in DEVICES {
        for (engine, words) in ENGINES {
            for (operation, what) in OPERATIONS {
                rows.push(known(Row::new(device, &format!("{engine}::{operation}"), &format!("{what} {words}"))));
            }
        }
    }
    rows
}

/// Rows of plumb alone.
fn own() -> Vec<Row> {
    let mut rows = [guard::rows(), zones::rows(), why::rows(), polling(), traced()].concat();
    rows.extend([
        Row::own(
            Device::Nvme512,
            "io_uring_cmd::bsg",
            "plumb fio --name=a --ioengine=io_uring_cmd --cmd_type=bsg --filename=$char --size=4k; echo \"status $?\"",
            &["cmd_type=bsg: SCSI commands through /dev/bsg are for UFS devices", "status 1"],
        ),
        Row::own(
            Device::Paths,
            "each_has_its_reads",
            "plumb fio --name=a --filename=$dev --rw=randread --direct=1 --bs=4k --ioengine=libaio --iodepth=8 \
             --number_ios=1000 --size=100% --output-format=json-full --output=/tmp/out; read_of /tmp/out",
            &["paths 2, reads of both 1000\n", "no cache"],
        ),
        Row::own(
            Device::Virtio,
            "iostat::never_used",
            "names() { awk 'NF > 5 { print $1 }'; }; iostat -dxp ALL | names >/tmp/theirs; \
             plumb iostat -dxp ALL | names >/tmp/ours; diff /tmp/theirs /tmp/ours && echo alike",
            &["alike"],
        ),
    ]);
    rows
}
