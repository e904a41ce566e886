//! The rows: devices of the guest, and what is done with them.

use super::{guard, zones};

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
            Device::Nvme512 | Device::Nvme4096 | Device::NvmeProtected | Device::NvmeMetadata => Some("nvme"),
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
            Device::Zoned => "namespace PLUMBZNS 1",
            Device::Scsi512 => "disk PLUMBSCSI1",
            Device::Scsi4096 => "disk PLUMBSCSI2",
            Device::Sata => "disk PLUMBSATA",
            Device::Usb => "usb",
            Device::Virtio => "disk PLUMBVIRTIO",
            Device::Memory => return format!("memory {name}"),
            Device::Bad => return format!("memory {name} badblocks=+128-143"),
            Device::ZonedMemory => return format!("memory {name} zoned=1 zone_size=4 zone_nr_conv=2 zone_max_open=6"),
            Device::Error => return format!("mapped {name}"),
            Device::Flash => return format!("modprobe mtdram total_size=4096 erase_size=64\ndevice[{name}]=/dev/mtd0"),
        };
        let place = format!("place {name} \"$({found})\"");
        // Blocks with protection information that were never written cannot be read, so a write to them needs consent.
        if self == Device::NvmeProtected { format!("{place}\nfill {name}") } else { place }
    }
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

    pub(super) fn own(device: Device, name: &str, script: &str, says: &'static [&'static str]) -> Row {
        Row::script(device, name, script.to_owned(), says)
    }

    pub(super) fn script(device: Device, name: &str, script: String, says: &'static [&'static str]) -> Row {
        Row { name: format!("{}::{name}", device.name()), device, work: Work::Own { script, says } }
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
    ("large", "--rw=read --bs=512k --iodepth=2"),
];

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
        let row = |(name, what): &(&str, &str)| Row::new(device, &format!("{kind}{name}"), &format!("{words} {what}"));
        table.iter().map(row).collect()
    };
    for device in [Device::Nvme512, Device::Nvme4096] {
        let words = "--filename={char} --ioengine=io_uring_cmd --cmd_type=nvme";
        rows.extend(each(device, "io_uring_cmd::", COMMANDS, words));
        let mix = Row::new(device, "io_uring_cmd::mix", &format!("{words} --rw=randrw --iodepth=8"));
        let counts = &["io_bytes", "io_kbytes", "total_ios", ".N"];
        rows.push(mix.differs("the directions of a mix are drawn at random", counts));
    }
    for device in [Device::Scsi512, Device::Scsi4096, Device::Sata] {
        let words = "--filename={sg} --ioengine=sg";
        let generic = each(device, "sg::", GENERIC, words).into_iter();
        rows.extend(generic.map(|row| row.differs("SG_IO is one call: it has no time of submission", &["slat_ns.N"])));
    }
    for device in [Device::Zoned, Device::ZonedMemory] {
        let words = "--filename={dev} --direct=1 --zonemode=zbd --offset=16m --size=16m --bs=64k";
        rows.extend(each(device, "zbd::", ZONES, words));
        let sizes = "--rw=randwrite --ioengine=psync --bsrange=4k-64k --bs_unaligned=0 --verify=crc32c";
        let sizes = Row::new(device, "zbd::sizes", &format!("{words} {sizes}"));
        rows.push(sizes.differs("sizes are drawn at random", &["total_ios", ".N"]));
    }
    rows.extend(each(Device::Flash, "mtd::", FLASH, "--filename={dev} --ioengine=mtd --bs=64k"));
    rows.extend(each(Device::Nvme512, "", OPTIONS, ""));
    rows.extend(each(Device::Bad, "", FAULTS, ""));
    rows.extend(each(Device::Error, "", FAULTS, ""));
    for &device in DEVICES {
        for (engine, words) in ENGINES {
            for (operation, what) in OPERATIONS {
                rows.push(Row::new(device, &format!("{engine}::{operation}"), &format!("{what} {words}")));
            }
        }
    }
    rows
}

/// Rows of plumb alone.
fn own() -> Vec<Row> {
    let mut rows = [guard::rows(), zones::rows()].concat();
    rows.extend([
        Row::own(
            Device::Nvme512,
            "poll::no_interrupts",
            // What plumb reads before and after is not polled.
            "before=$(interrupts); plumb fio --name=a --filename=$dev --rw=randread --bs=4k --direct=1 --size=100% \
             --number_ios=10000 --ioengine=io_uring --iodepth=8 --hipri --minimal >/tmp/out; echo \"status $?\"; \
             [ $(($(interrupts) - before)) -lt 50 ] && echo polled",
            &["status 0\npolled"],
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
