//! Other processes that have a block device open for writing: a server that exports it, a virtual machine, a program
//! that writes to it.

use crate::devices::claims::Claim;
use crate::devices::identity::{BlockDevice, DeviceNumber};
use std::collections::BTreeSet;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

/// Looks until a process that has a device open in passing has closed it, also on a busy machine.
const PASSING: [Duration; 10] = [Duration::from_millis(100); 10];

/// A claim for each other process that has the device, its disk or a partition of it open for writing. Not counted are
/// this process, those that started it, and those of the same program, as several jobs may share a device. A process that
/// has it open only in passing, as losetup(8) looks for a free device, does not count either.
/// Processes whose descriptors /proc hides are not seen.
pub(super) fn of(root: &Path, device: &BlockDevice) -> Vec<Claim> {
    let around = device.partitions().into_iter().chain([device.clone(), device.whole()]);
    let numbers: BTreeSet<DeviceNumber> = around.filter_map(|device| device.number()).collect();
    let processes = root.join("proc");
    let ours = ours(&processes);
    let program = |process: u32| {
        let found = std::fs::metadata(processes.join(process.to_string()).join("exe")).ok()?;
        Some((found.dev(), found.ino()))
    };
    let own_program = program(std::process::id());
    let entries = std::fs::read_dir(&processes).into_iter().flatten().flatten();
    let mut others: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    others.sort_unstable();
    others.retain(|process| !ours.contains(process));
    let writes = |process: &u32| writes_to(&processes.join(process.to_string()), &numbers);
    let foreign = |process: &u32| own_program.is_none() || program(*process) != own_program;
    others.retain(|process| writes(process) && foreign(process));
    for look in PASSING {
        if others.is_empty() {
            break;
        }
        std::thread::sleep(look);
        others.retain(writes);
    }
    others.into_iter().map(|process| claim(&processes, process)).collect()
}

/// This process and those that started it.
fn ours(processes: &Path) -> BTreeSet<u32> {
    let mut ours = BTreeSet::new();
    let mut next = Some(std::process::id());
    while let Some(process) = next.filter(|&process| process > 0 && ours.insert(process)) {
        next = parent(&processes.join(process.to_string()));
    }
    ours
}

/// The parent in /proc/PID/stat: the second number after the name, which is in parentheses and may have blanks.
fn parent(process: &Path) -> Option<u32> {
    let text = std::fs::read_to_string(process.join("stat")).ok()?;
    text.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

fn writes_to(process: &Path, numbers: &BTreeSet<DeviceNumber>) -> bool {
    let entries = std::fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| {
        let is_it = std::fs::metadata(entry.path()).is_ok_and(|found| {
            found.file_type().is_block_device() && numbers.contains(&DeviceNumber::from_stat(found.rdev()))
        });
        is_it && is_writable(&process.join("fdinfo").join(entry.file_name()))
    })
}

/// True if the flags of a descriptor, in octal, say that it was opened for writing.
fn is_writable(information: &Path) -> bool {
    let text = std::fs::read_to_string(information).unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| i32::from_str_radix(flags.trim(), 8).ok()).unwrap_or(libc::O_RDONLY);
    flags & libc::O_PATH == 0 && matches!(flags & libc::O_ACCMODE, libc::O_WRONLY | libc::O_RDWR)
}

fn claim(processes: &Path, process: u32) -> Claim {
    let name = std::fs::read(processes.join(process.to_string()).join("comm")).unwrap_or_default();
    let program = String::from_utf8_lossy(&name).trim().chars().filter(|letter| !letter.is_control()).collect();
    Claim::OpenForWriting { program, process }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
    use std::fs;
    use std::os::unix::fs::symlink;

    /// A tree in which process 4000001 has `8:MINOR` open with these flags, and another program than ours.
    fn opened(minor: u32, flags: &str) -> Option<tempfile::TempDir> {
        let root = crate::devices::identity::tests::recorded();
        let own = root.path().join(format!("proc/{}", std::process::id()));
        let other = root.path().join("proc/4000001");
        for folder in [&own, &other.join("fd"), &other.join("fdinfo")] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(own.join("stat"), format!("{} (a (b) c) S 1 1 1", std::process::id())).unwrap();
        let node = root.path().join("node");
        mknodat(CWD, &node, FileType::BlockDevice, Mode::RUSR, makedev(8, minor)).ok()?;
        for (process, program) in [(&own, "ours"), (&other, "theirs")] {
            fs::write(root.path().join(program), program).unwrap();
            symlink(root.path().join(program), process.join("exe")).unwrap();
        }
        symlink(&node, other.join("fd/3")).unwrap();
        fs::write(other.join("fdinfo/3"), format!("pos:\t0\nflags:\t{flags}\nmnt_id:\t1\n")).unwrap();
        fs::write(other.join("comm"), "nbd-server\n").unwrap();
        Some(root)
    }

    fn found(root: &tempfile::TempDir) -> Vec<String> {
        let disk = BlockDevice::by_name(root.path(), "sda").unwrap();
        of(root.path(), &disk).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_writer_of_the_disk_or_of_a_partition_is_named() {
        for (minor, flags, writes) in
            [(0, "0100002", true), (1, "01", true), (0, "0100000", false), (16, "02", false), (0, "010000002", false)]
        {
            let Some(root) = opened(minor, flags) else { return };
            let said: &[&str] = if writes { &["is open for writing by nbd-server (process 4000001)"] } else { &[] };
            assert_eq!(found(&root), said, "8:{minor} with flags {flags}");
        }
    }

    #[test]
    fn who_started_us_and_our_own_program_may_share_the_device() {
        let Some(root) = opened(0, "0100002") else { return };
        let own = root.path().join(format!("proc/{}/stat", std::process::id()));
        fs::write(&own, "1 (a) S 4000001 1 1").unwrap();
        assert_eq!(found(&root), [""; 0], "the parent");
        fs::write(&own, "1 (a) S 1 1 1").unwrap();
        fs::remove_file(root.path().join("proc/4000001/exe")).unwrap();
        symlink(root.path().join("ours"), root.path().join("proc/4000001/exe")).unwrap();
        assert_eq!(found(&root), [""; 0], "the same program");
    }
}
