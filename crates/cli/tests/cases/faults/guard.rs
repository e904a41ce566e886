//! Devices that must not be written to: not a byte of them changes, whatever the words are, unless they name the
//! device.

use super::devices::Device;
use super::{Bench, Row, Shown, run_tool};
use house::Run;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

const MIB: u64 = 1 << 20;

/// Something that is on a device.
struct Mark {
    fault: &'static str,
    injected: &'static str,
    bytes: u64,
    put: fn(&Path) -> Result<(), String>,
    /// What the refusal calls it.
    called: &'static str,
}

#[rustfmt::skip]
const MARKS: &[Mark] = &[
    Mark { fault: "guard: ext4", injected: "mkfs.ext4", bytes: 16 * MIB, put: ext4, called: "ext4" },
    Mark { fault: "guard: xfs", injected: "mkfs.xfs", bytes: 320 * MIB, put: xfs, called: "xfs" },
    Mark { fault: "guard: swap", injected: "mkswap", bytes: 16 * MIB, put: swap, called: "swap" },
    Mark { fault: "guard: GPT", injected: "sfdisk, label: gpt", bytes: 16 * MIB, put: gpt, called: "gpt" },
    Mark { fault: "guard: MBR", injected: "sfdisk, label: dos", bytes: 16 * MIB, put: mbr, called: "dos" },
    Mark { fault: "guard: LVM", injected: "a label of LVM2", bytes: 16 * MIB, put: lvm, called: "LVM2_member" },
    Mark { fault: "guard: LUKS", injected: "a header of LUKS 1", bytes: 16 * MIB, put: luks, called: "crypto_LUKS" },
    Mark { fault: "guard: FAT", injected: "a boot sector of FAT16", bytes: 16 * MIB, put: fat, called: "vfat" },
    Mark { fault: "guard: ISO 9660", injected: "a volume descriptor", bytes: 16 * MIB, put: iso, called: "iso9660" },
    Mark { fault: "guard: squashfs", injected: "a superblock of squashfs 4", bytes: 16 * MIB, put: squashfs, called: "squashfs" },
    Mark { fault: "guard: md", injected: "a superblock of md 1.2", bytes: 16 * MIB, put: md, called: "linux_raid_member" },
];

fn text(path: &Path) -> String {
    path.display().to_string()
}

pub(crate) fn ext4(path: &Path) -> Result<(), String> {
    run_tool("mkfs.ext4", &["-q", &text(path)]).map(drop)
}

fn xfs(path: &Path) -> Result<(), String> {
    run_tool("mkfs.xfs", &["-q", &text(path)]).map(drop)
}

fn swap(path: &Path) -> Result<(), String> {
    run_tool("mkswap", &[&text(path)]).map(drop)
}

fn gpt(path: &Path) -> Result<(), String> {
    table(path, "label: gpt\nstart=2048, size=8192\n")
}

fn mbr(path: &Path) -> Result<(), String> {
    table(path, "label: dos\nstart=2048, size=8192, type=83\n")
}

fn table(path: &Path, script: &str) -> Result<(), String> {
    let ended = Run::new("sfdisk", &std::env::temp_dir()).words(["--quiet", &text(path)]).input(script).end();
    if ended.status == Some(0) { Ok(()) } else { Err(ended.to_string()) }
}

fn put(path: &Path, offset: u64, bytes: &[u8]) -> Result<(), String> {
    let mut file = std::fs::File::options().write(true).open(path).map_err(|error| error.to_string())?;
    file.seek(SeekFrom::Start(offset)).and_then(|_| file.write_all(bytes)).map_err(|error| error.to_string())
}

/// The label of an LVM2 physical volume, in sector 1 (lib/format_text/layout.h): its checksum covers it from byte 20.
fn lvm(path: &Path) -> Result<(), String> {
    let mut sector = vec![0; 512];
    sector[..8].copy_from_slice(b"LABELONE");
    sector[8..16].copy_from_slice(&1_u64.to_le_bytes());
    sector[20..24].copy_from_slice(&32_u32.to_le_bytes());
    sector[24..32].copy_from_slice(b"LVM2 001");
    sector[32..64].copy_from_slice(b"abcdefghijklmnopqrstuvwxyz012345");
    sector[64..72].copy_from_slice(&(16 * MIB).to_le_bytes());
    let mut crc = 0xf597_a6cf_u32;
    for &byte in &sector[20..] {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    sector[16..20].copy_from_slice(&crc.to_le_bytes());
    put(path, 512, &sector)
}

/// The head of an encrypted volume (LUKS on-disk format 1.2.3, 2.1): magic, version, and where the data begin.
fn luks(path: &Path) -> Result<(), String> {
    let mut head = vec![0; 592];
    head[..8].copy_from_slice(b"LUKS\xba\xbe\x00\x01");
    head[8..11].copy_from_slice(b"aes");
    head[104..108].copy_from_slice(&4096_u32.to_be_bytes());
    head[168..204].copy_from_slice(b"01234567-89ab-cdef-0123-456789abcdef");
    put(path, 0, &head)
}

/// A boot sector (Microsoft's FAT specification of 2000): sectors of 512 bytes, clusters of 2 KiB, two FATs of 32
/// sectors.
fn fat(path: &Path) -> Result<(), String> {
    let mut sector = vec![0; 512];
    sector[..11].copy_from_slice(b"\xeb\x3c\x90mkfs.fat");
    sector[11..13].copy_from_slice(&512_u16.to_le_bytes());
    sector[13] = 4;
    sector[14..16].copy_from_slice(&4_u16.to_le_bytes());
    sector[16] = 2;
    sector[17..19].copy_from_slice(&512_u16.to_le_bytes());
    sector[19..21].copy_from_slice(&32_768_u16.to_le_bytes());
    sector[21] = 0xf8;
    sector[22..24].copy_from_slice(&32_u16.to_le_bytes());
    sector[36] = 0x80;
    sector[38] = 0x29;
    sector[43..62].copy_from_slice(b"NO NAME    FAT16   ");
    sector[510..].copy_from_slice(b"\x55\xaa");
    put(path, 0, &sector)
}

/// A primary volume descriptor (ECMA-119), and the one that ends the set.
fn iso(path: &Path) -> Result<(), String> {
    put(path, 32_768, b"\x01CD001\x01")?;
    put(path, 34_816, b"\xffCD001\x01")
}

/// A superblock of squashfs 4.0 (fs/squashfs/squashfs_fs.h).
fn squashfs(path: &Path) -> Result<(), String> {
    let mut block = vec![0; 96];
    block[..4].copy_from_slice(b"hsqs");
    block[28..30].copy_from_slice(&4_u16.to_le_bytes());
    block[40..48].copy_from_slice(&4096_u64.to_le_bytes());
    put(path, 0, &block)
}

/// The superblock of an md array of version 1.2, at 4 KiB (md_p.h).
fn md(path: &Path) -> Result<(), String> {
    let mut block = vec![0; 256];
    block[..4].copy_from_slice(&0xa92b_4efc_u32.to_le_bytes());
    block[4..8].copy_from_slice(&1_u32.to_le_bytes());
    block[16..32].copy_from_slice(b"0123456789abcdef");
    block[144..152].copy_from_slice(&8_u64.to_le_bytes());
    let sum: u64 =
        block.chunks(4).map(|word| u64::from(u32::from_le_bytes([word[0], word[1], word[2], word[3]]))).sum();
    let folded = u32::try_from((sum & 0xffff_ffff) + (sum >> 32)).map_err(|error| error.to_string())?;
    block[216..220].copy_from_slice(&folded.to_le_bytes());
    put(path, 4096, &block)
}

/// Every way to write that has its own path to the device; refused, and not a byte is changed.
fn refused(bench: &Bench, device: &Device, target: &str, ways: &[&str], says: &[&str]) -> Result<Shown, String> {
    let before = device.hash()?;
    let mut shown = None;
    for way in ways {
        let words = format!("--name=a --filename={target} --size=1m {way}");
        let ran = bench.run(bench.fio(&words))?;
        let mut said = ran.expect(1, says).map_err(|why| format!("{way}: {why}"))?;
        for direction in ["write", "trim"] {
            ran.expect_ios(direction, 0..=0)?;
        }
        said.kept = "not a byte changed (sha256)".into();
        shown = shown.or(Some(said));
    }
    let after = device.hash()?;
    if before != after {
        return Err(format!("bytes of {target} have changed"));
    }
    shown.ok_or_else(|| "no way was tried".into())
}

const WAYS: &[&str] = &[
    "--rw=write",
    "--rw=randrw --ioengine=libaio --iodepth=4",
    "--rw=trim",
    "--rw=write --filetype=file",
    "--rw=write --allow_mounted_write=1",
    "--rw=write --write_consent=1",
    "--rw=randtrim --verify=crc32c --verify_only",
    "--ioengine=ftruncate --rw=read",
];

fn marked(bench: &Bench, mark: &Mark) -> Result<Shown, String> {
    let device = Device::over(bench, mark.bytes, mark.put)?;
    let consent = format!("write_consent={}", mark.bytes);
    let shown = refused(bench, &device, &device.name(), WAYS, &[mark.called, &consent])?;
    let ran = bench.run(bench.fio(&format!("--name=a --filename={} --size=1m --rw=read", device.name())))?;
    ran.expect(0, &[])?;
    Ok(shown)
}

/// A file system mounted for a row.
struct Mounted(String);

impl Mounted {
    fn new(bench: &Bench, device: &str) -> Result<Mounted, String> {
        let point = bench.file("mnt");
        std::fs::create_dir_all(&point).map_err(|error| error.to_string())?;
        // Nothing changes on a device that is mounted like this.
        run_tool("mount", &["-o", "ro,noload", device, &text(&point)])?;
        Ok(Mounted(text(&point)))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = run_tool("umount", &[&self.0]);
    }
}

fn partitioned(bench: &Bench) -> Result<Device, String> {
    let mut device = Device::over(bench, 16 * MIB, |_| Ok(()))?;
    run_tool("addpart", &[&device.name(), "1", "2048", "8192"])?;
    let partition = device.partition()?;
    ext4(&partition)?;
    Ok(device)
}

/// A trace of blktrace that writes 4 KiB at the start of a device.
fn trace(device: &Device) -> Result<Vec<u8>, String> {
    let name = device.path.file_name().and_then(|name| name.to_str()).ok_or("a name")?;
    let number = std::fs::read_to_string(format!("/sys/block/{name}/dev")).map_err(|error| error.to_string())?;
    let (major, minor) = number.trim().split_once(':').ok_or("a number")?;
    let part = |text: &str| text.parse::<u32>().map_err(|error| error.to_string());
    let number = (part(major)? << 20) | part(minor)?;
    let queued_write = 1_u32 | (((1 << 1) | (1 << 4)) << 16);
    let mut bytes = Vec::new();
    bytes.extend(0x6561_7407_u32.to_le_bytes());
    bytes.extend(1_u32.to_le_bytes());
    bytes.extend(1000_u64.to_le_bytes());
    bytes.extend(0_u64.to_le_bytes());
    for word in [4096, queued_write, 1, number, 0, 0] {
        bytes.extend(word.to_le_bytes());
    }
    Ok(bytes)
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows: Vec<Row> =
        MARKS.iter().map(|mark| Row::new(mark.fault, mark.injected, move |bench| marked(bench, mark))).collect();
    rows.extend(used());
    rows.extend(otherwise());
    rows.push(swapped());
    rows.extend(named());
    rows.extend(allowed());
    rows.extend(shared());
    rows
}

fn used() -> Vec<Row> {
    vec![
        Row::new("guard: mounted", "mount of an ext4", |bench| {
            let device = Device::over(bench, 16 * MIB, ext4)?;
            let _mounted = Mounted::new(bench, &device.name())?;
            let consent = format!("--rw=write --write_consent={}", 16 * MIB);
            let ways: Vec<&str> = WAYS.iter().copied().chain([consent.as_str()]).collect();
            refused(bench, &device, &device.name(), &ways, &["is mounted at", "allow_mounted_write=1"])
        }),
        Row::new("guard: a partition is mounted", "write to its disk", |bench| {
            let mut device = partitioned(bench)?;
            let partition = device.partition()?;
            let mounted = Mounted::new(bench, &text(&partition))?;
            let shown = refused(bench, &device, &device.name(), WAYS, &["is mounted at"]);
            drop(mounted);
            let _ = run_tool("delpart", &[&device.name(), "1"]);
            shown
        }),
        Row::new("guard: the disk is mounted", "write to a partition of it", |bench| {
            let mut device = Device::over(bench, 16 * MIB, ext4)?;
            // A partition in the middle of a file system that was made on the whole disk.
            let name = device.name();
            run_tool("addpart", &[&name, "1", "2048", "8192"])?;
            let partition = device.partition()?;
            let mounted = Mounted::new(bench, &name)?;
            let shown = refused(bench, &device, &text(&partition), WAYS, &["is mounted at"]);
            drop(mounted);
            let _ = run_tool("delpart", &[&name, "1"]);
            shown
        }),
        Row::new("guard: mounted in another namespace", "unshare --mount", |bench| {
            let device = Device::over(bench, 16 * MIB, ext4)?;
            let point = bench.file("mnt");
            std::fs::create_dir_all(&point).map_err(|error| error.to_string())?;
            let script = format!("mount -o ro,noload {} {} && echo mounted && cat", device.name(), text(&point));
            let (waits, ends) = std::io::pipe().map_err(|error| error.to_string())?;
            let other = Run::new("sh", bench.path()).words(["-c", &script]).input_from(waits);
            let mut other = other.under("unshare --mount --propagation private").start();
            let line = other.line();
            let shown = if line.trim() == "mounted" {
                refused(bench, &device, &device.name(), WAYS, &["in the mount namespace of process"])
            } else {
                Err("the other namespace has not mounted it".to_owned())
            };
            drop(ends);
            other.end();
            shown
        }),
        Row::new("guard: held", "open with O_EXCL", |bench| {
            let device = Device::over(bench, 16 * MIB, |_| Ok(()))?;
            let mut options = std::fs::File::options();
            std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_EXCL);
            let _holder = options.read(true).write(true).open(&device.path).map_err(|error| error.to_string())?;
            refused(bench, &device, &device.name(), WAYS, &["is in use"])
        }),
        Row::new("guard: idle partitions", "a partition that only the kernel knows", |bench| {
            let device = Device::over(bench, 16 * MIB, |_| Ok(()))?;
            run_tool("addpart", &[&device.name(), "1", "2048", "8192"])?;
            let shown = refused(bench, &device, &device.name(), WAYS, &["has the partition"]);
            let _ = run_tool("delpart", &[&device.name(), "1"]);
            shown
        }),
    ]
}

/// What is known of a device by another name of it.
fn otherwise() -> Vec<Row> {
    vec![
        Row::new("guard: its file is mounted otherwise", "another loop device on the same file", |bench| {
            let device = Device::over(bench, 16 * MIB, ext4)?;
            let twin = run_tool("losetup", &["--find", "--show", &text(&device.backing)])?;
            let mounted = Mounted::new(bench, &twin);
            let consent = format!("--rw=write --write_consent={}", 16 * MIB);
            let ways: Vec<&str> = WAYS.iter().copied().chain([consent.as_str()]).collect();
            let name = twin.trim_start_matches("/dev/");
            let wanted = format!("is on the same file as {name}, which is mounted at");
            let shown = mounted
                .as_ref()
                .map_err(Clone::clone)
                .and_then(|_| refused(bench, &device, &device.name(), &ways, &[&wanted]));
            drop(mounted);
            run_tool("losetup", &["--detach", &twin])?;
            shown
        }),
        Row::new("guard: its node is not removed", "the engine filedelete", |bench| {
            let device = Device::over(bench, 16 * MIB, ext4)?;
            let before = device.hash()?;
            let words = format!("--name=a --filename={} --ioengine=filedelete --size=4k", device.name());
            let mut shown = bench.run(bench.fio(&words))?.expect(1, &["is not a regular file"])?;
            if device.hash()? != before {
                return Err("it was written to".into());
            }
            shown.kept = "the node, and every byte (sha256)".into();
            Ok(shown)
        }),
    ]
}

/// Held while there is swap space, or a row that makes the kernel look for some.
pub(crate) static SWAP: Mutex<()> = Mutex::new(());

fn swapped() -> Row {
    Row::new("guard: swap in use", "swapon", |bench| {
        let _alone = SWAP.lock().unwrap_or_else(PoisonError::into_inner);
        let mut shown = Err("was not tried".to_owned());
        // Where memory is short elsewhere on the machine, the kernel itself writes to swap space: then once more.
        for _ in 0..4 {
            let before = pages_swapped_out()?;
            shown = refused_as_swap(bench);
            if shown.is_ok() || pages_swapped_out()? == before {
                break;
            }
        }
        shown
    })
}

fn refused_as_swap(bench: &Bench) -> Result<Shown, String> {
    let device = Device::over(bench, 16 * MIB, swap)?;
    run_tool("swapon", &[&device.name()])?;
    let consent = format!("--rw=write --write_consent={}", 16 * MIB);
    let ways: Vec<&str> = WAYS.iter().copied().chain([consent.as_str()]).collect();
    let shown = refused(bench, &device, &device.name(), &ways, &["is swap space in use"]);
    let off = run_tool("swapoff", &[&device.name()]);
    off.and(shown)
}

/// What the kernel has written to swap space since it started.
fn pages_swapped_out() -> Result<u64, String> {
    let counters = std::fs::read_to_string("/proc/vmstat").map_err(|error| error.to_string())?;
    let line = counters.lines().find_map(|line| line.strip_prefix("pswpout "));
    line.and_then(|number| number.parse().ok()).ok_or_else(|| "/proc/vmstat has no pswpout".to_owned())
}

fn named() -> Vec<Row> {
    vec![
        Row::new("guard: a trace's own number", "a blktrace that writes", |bench| {
            let device = Device::over(bench, 16 * MIB, |_| Ok(()))?;
            bench.write("t.bin", trace(&device)?)?;
            let before = device.hash()?;
            let ran = bench.run(bench.fio("--name=a --read_iolog=t.bin"))?;
            let mut shown = ran.expect(1, &["replay_redirect=", "write_consent="])?;
            if device.hash()? != before {
                return Err("the trace was played on this machine's device".into());
            }
            for words in [format!("--replay_redirect={}", device.name()), format!("--write_consent={}", 16 * MIB)] {
                let ran = bench.run(bench.fio(&format!("--name=a --read_iolog=t.bin {words}")))?;
                ran.expect(0, &[])?;
                ran.expect_ios("write", 1..=1)?;
            }
            shown.kept = "not a byte changed (sha256); redirected or consented it plays".into();
            Ok(shown)
        }),
        Row::new("guard: a report on a device", "--output=DEVICE, write_iolog=DEVICE", |bench| {
            let device = Device::over(bench, 16 * MIB, ext4)?;
            let before = device.hash()?;
            let name = device.name();
            let words = format!("--name=a --size=64k --rw=read --write_iolog={name}");
            let mut shown = bench.run(bench.fio(&words))?.expect(1, &["is a block device"])?;
            let words = format!("--output={name} --name=a --size=64k --rw=read");
            bench.run(bench.fio(&words))?.expect(1, &["is a block device"])?;
            if device.hash()? != before {
                return Err("the report overwrote the device".into());
            }
            shown.kept = "not a byte changed (sha256)".into();
            Ok(shown)
        }),
        Row::new("guard: a link to the device", "ln -s", |bench| {
            let device = Device::over(bench, 16 * MIB, ext4)?;
            std::os::unix::fs::symlink(&device.path, bench.file("disk")).map_err(|error| error.to_string())?;
            refused(bench, &device, "disk", WAYS, &["ext4"])
        }),
        Row::new("guard: no tool to look", "PATH and chroot without wipefs: strace answers ENOENT", |bench| {
            let device = Device::over(bench, 16 * MIB, ext4)?;
            let before = device.hash()?;
            let strace = ["strace", "-f", "-qq", "-o", "trace.txt", "-e", "trace=execve", "-e"];
            let mut strace: Vec<String> = strace.map(str::to_owned).into();
            strace.push("inject=execve:error=ENOENT:when=1+".into());
            let words = format!("--name=a --filename={} --rw=write --size=1m", device.name());
            // strace counts per process, and its own start of plumb is not counted.
            let ran = bench.run(bench.fio_under(&strace, &words))?;
            let mut shown = ran.expect(1, &["wipefs"])?;
            if device.hash()? != before {
                return Err("it was written to".into());
            }
            shown.kept = "not a byte changed (sha256)".into();
            Ok(shown)
        }),
    ]
}

/// Devices that may be written to.
fn allowed() -> Vec<Row> {
    vec![
        Row::new("guard: consent", "write_consent=SIZE on an ext4", |bench| {
            let device = Device::over(bench, 16 * MIB, ext4)?;
            let before = device.hash()?;
            let words =
                format!("--name=a --filename={} --size=1m --rw=write --write_consent=x,{}", device.name(), 16 * MIB);
            let ran = bench.run(bench.fio(&words))?;
            let shown = ran.expect(0, &[])?;
            ran.expect_ios("write", 256..=256)?;
            if device.hash()? == before { Err("nothing was written".into()) } else { Ok(shown) }
        }),
        Row::new("guard: a fresh device", "losetup, nothing on it", |bench| {
            let device = Device::over(bench, 16 * MIB, |_| Ok(()))?;
            let words = format!("--name=a --filename={} --size=1m --rw=write", device.name());
            let ran = bench.run(bench.fio(&words))?;
            let shown = ran.expect(0, &[])?;
            ran.expect_ios("write", 256..=256)?;
            Ok(shown)
        }),
    ]
}

/// A plain file that is a mounted device, too, and a device that another process writes to.
fn shared() -> Vec<Row> {
    vec![
        Row::new("guard: a plain file that is mounted", "mount of its loop device", |bench| {
            let device = Device::over(bench, 16 * MIB, ext4)?;
            let _mounted = Mounted::new(bench, &device.name())?;
            let name = device.name();
            let wanted = format!("is what {} shows, which is mounted at", name.trim_start_matches("/dev/"));
            let link = bench.file("link");
            std::fs::hard_link(&device.backing, &link).map_err(|error| error.to_string())?;
            refused(bench, &device, &text(&link), &file_ways(&link).each_ref().map(String::as_str), &[&wanted])?;
            let ways = file_ways(&device.backing);
            refused(bench, &device, &text(&device.backing), &ways.each_ref().map(String::as_str), &[&wanted])
        }),
        Row::new("guard: a plain file below two devices", "losetup over its loop device, mounted", |bench| {
            let device = Device::over(bench, 16 * MIB, ext4)?;
            let upper = run_tool("losetup", &["--find", "--show", &device.name()])?;
            let mounted = Mounted::new(bench, &upper);
            let ways = file_ways(&device.backing);
            let shown = mounted.as_ref().map_err(Clone::clone).and_then(|_| {
                refused(
                    bench,
                    &device,
                    &text(&device.backing),
                    &ways.each_ref().map(String::as_str),
                    &["is built on it"],
                )
            });
            drop(mounted);
            run_tool("losetup", &["--detach", &upper])?;
            shown
        }),
        Row::new("guard: a plain file of an idle loop device", "losetup, not in use", |bench| {
            let device = Device::over(bench, 16 * MIB, ext4)?;
            let words = format!("--name=a --filename={} --size=1m --rw=write", text(&device.backing));
            let ran = bench.run(bench.fio(&words))?;
            let shown = ran.expect(0, &[])?;
            ran.expect_ios("write", 256..=256)?;
            Ok(shown)
        }),
        Row::new("guard: another process writes to it", "a shell that has it open", |bench| {
            let device = Device::over(bench, 16 * MIB, |_| Ok(()))?;
            let reader = Opened::new(&device.name(), "<")?;
            let words = format!("--name=a --filename={} --size=4k --rw=write", device.name());
            bench.run(bench.fio(&words))?.expect(0, &[]).map_err(|why| format!("a reader: {why}"))?;
            drop(reader);
            let writer = Opened::new(&device.name(), "<>")?;
            let wanted = format!("is open for writing by sh (process {})", writer.0.id());
            refused(bench, &device, &device.name(), WAYS, &[&wanted, "allow_mounted_write=1"])
        }),
        Row::new("guard: a partition goes by its own UUID", "write_consent=PARTUUID on an ext4", |bench| {
            let script = "label: dos\nlabel-id: 0xcafe0141\nstart=2048, size=8192, type=83\n";
            let mut device = Device::over(bench, 16 * MIB, |path| table(path, script))?;
            // Where the kernel has not found it itself.
            let _ = run_tool("addpart", &[&device.name(), "1", "2048", "8192"]);
            let partition = text(&device.partition()?);
            let wrong =
                ["1", "4194304", "cafe0141", "cafe0141-02"].map(|word| format!("--rw=write --write_consent={word}"));
            ext4(Path::new(&partition))?;
            let says = &["ext4", "write_consent=cafe0141-01"];
            refused(bench, &device, &partition, &wrong.each_ref().map(String::as_str), says)?;
            let words = format!("--name=a --filename={partition} --size=1m --rw=write --write_consent=cafe0141-01");
            let ran = bench.run(bench.fio(&words))?;
            ran.expect_ios("write", 256..=256)?;
            ran.expect(0, &[])
        }),
    ]
}

/// Ways to write to a plain file, of which the last is a job that reads more than there is.
fn file_ways(file: &Path) -> [String; 6] {
    [
        "--rw=write".to_owned(),
        "--rw=randrw --ioengine=libaio --iodepth=4 --allow_mounted_write=1".to_owned(),
        format!("--rw=write --allow_mounted_write=1 --write_consent={}", 16 * MIB),
        format!("--rw=write --write_consent={}", file.display()),
        "--rw=write --ioengine=mmap".to_owned(),
        "--rw=read --size=17m".to_owned(),
    ]
}

/// A process that has a device open.
struct Opened(std::process::Child);

impl Opened {
    fn new(device: &str, how: &str) -> Result<Opened, String> {
        let failed = |error: std::io::Error| error.to_string();
        let script = format!("exec 9{how} {device}; echo open; read line");
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &script]).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut process = shell.spawn().map_err(failed)?;
        let mut line = [0; 5];
        let shown = process.stdout.take().ok_or("no output")?.read_exact(&mut line);
        let opened = Opened(process);
        shown.map(|()| opened).map_err(failed)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
