//! Polled completions: whether the kernel and the devices of a job have them.

use crate::contract::Target;
use crate::kernel_version::KernelVersion;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Says that a synchronous engine does not poll on this kernel, whatever the device has.
pub(crate) fn without_queue(kernel: KernelVersion) -> Option<String> {
    let KernelVersion(major, minor) = kernel;
    (kernel >= KernelVersion(5, 19)).then(|| {
        format!(
            "hipri has no effect: Linux {major}.{minor} ignores RWF_HIPRI (since 5.19) and waits for interrupts; \
             ioengine=io_uring with hipri polls"
        )
    })
}

/// Says that the device of a target has no queue that is polled, and which parameter gives it one.
pub(crate) fn without_device(targets: &[Target], root: &Path) -> Option<String> {
    targets.iter().find_map(|target| {
        let queue = queue_of(target, root)?;
        let polls = std::fs::read_to_string(queue.join("io_poll")).ok()?;
        let disk = queue.parent()?.file_name()?.to_str()?.to_owned();
        (polls.trim() == "0").then(|| unpolled(&disk))
    })
}

fn unpolled(disk: &str) -> String {
    let drivers = [("nvme", "nvme"), ("vd", "virtio_blk"), ("nullb", "null_blk")];
    let driver = drivers.iter().find(|(prefix, _)| disk.starts_with(prefix));
    let advice = driver.map_or_else(
        || "its driver has none".to_owned(),
        |(_, driver)| format!("give the kernel or its module {driver}.poll_queues=1"),
    );
    format!("hipri has no effect: no queue of {disk} is polled ({disk}/queue/io_poll is 0); {advice}")
}

/// The folder `queue` of the disk below a target, in /sys.
fn queue_of(target: &Target, root: &Path) -> Option<PathBuf> {
    let path = sys::devices::claims::behind(root, &target.path).unwrap_or_else(|| target.path.clone());
    let found = std::fs::metadata(path).ok()?;
    let number = if found.file_type().is_block_device() { found.rdev() } else { found.dev() };
    let (major, minor) = (libc::major(number), libc::minor(number));
    let device = std::fs::canonicalize(root.join(format!("sys/dev/block/{major}:{minor}"))).ok()?;
    // That of a partition is the disk's.
    let folders = [device.join("queue"), device.parent()?.join("queue")];
    folders.into_iter().find(|folder| folder.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_that_poll_synchronous_calls_are_not_named() {
        assert_eq!((without_queue(KernelVersion(5, 18)), without_queue(KernelVersion(4, 19))), (None, None));
        assert!(without_queue(KernelVersion(6, 1)).unwrap().contains("Linux 6.1 ignores RWF_HIPRI"));
    }

    #[test]
    fn the_parameter_that_gives_polled_queues_is_the_drivers() {
        assert!(unpolled("nvme0n1").ends_with("nvme.poll_queues=1"));
        assert!(unpolled("vda").contains("virtio_blk.poll_queues"));
        assert!(unpolled("sda").ends_with("its driver has none"));
    }

    #[test]
    fn a_queue_is_that_of_the_disk_below_a_file() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        std::fs::write(&file, "x").unwrap();
        let number = std::fs::metadata(&file).unwrap().dev();
        let disk = root.path().join("sys/devices/nvme7n1");
        std::fs::create_dir_all(disk.join("nvme7n1p1")).unwrap();
        std::fs::create_dir_all(disk.join("queue")).unwrap();
        std::fs::create_dir_all(root.path().join("sys/dev/block")).unwrap();
        let link = root.path().join(format!("sys/dev/block/{}:{}", libc::major(number), libc::minor(number)));
        std::os::unix::fs::symlink(disk.join("nvme7n1p1"), link).unwrap();
        let targets =
            [Target { path: file, descriptor: None, size: 1, block_device: false, writable: false, zone_size: None }];
        for (value, named) in [("0\n", true), ("1\n", false)] {
            std::fs::write(disk.join("queue/io_poll"), value).unwrap();
            let found = without_device(&targets, root.path());
            assert_eq!(found.is_some_and(|text| text.contains("no queue of nvme7n1 is polled")), named);
        }
    }
}
