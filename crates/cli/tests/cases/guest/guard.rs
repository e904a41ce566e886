//! The write guard (docs/safety.md) with a real device for each claim.

use super::rows::{Device, Row};

/// The device was not touched.
const KEPT: &str = "status 1, unchanged";
/// It was written.
const WRITTEN: &str = "status 0, changed";
const SCSI: Device = Device::Scsi512;
const NVME: Device = Device::Nvme512;

pub(super) fn rows() -> Vec<Row> {
    [marks(), uses()].concat()
}

/// Data on a device that nothing uses, however the device is called, and consent.
fn marks() -> Vec<Row> {
    let row = Row::own;
    vec![
        row(SCSI, "guard::blank", "guarded $dev", &[WRITTEN]),
        row(SCSI, "guard::ext4", "mkfs.ext4 -qF $dev; guarded $dev", &[KEPT, "ext4"]),
        row(SCSI, "guard::ext4_trim", "mkfs.ext4 -qF $dev; guarded $dev --rw=trim", &[KEPT, "ext4"]),
        row(SCSI, "guard::xfs", "mkfs.xfs -qf $dev; guarded $dev", &[KEPT, "xfs"]),
        row(SCSI, "guard::btrfs", "mkfs.btrfs -qf $dev; guarded $dev", &[KEPT, "btrfs"]),
        row(SCSI, "guard::swap", "mkswap -q $dev; guarded $dev", &[KEPT, "swap"]),
        row(SCSI, "guard::generic_node", "mkfs.ext4 -qF $dev; guarded $sg --ioengine=sg --direct=0", &[KEPT, "ext4"]),
        row(SCSI, "guard::link", "mkfs.ext4 -qF $dev; ln -sf $dev /tmp/link; guarded /tmp/link", &[KEPT, "ext4"]),
        row(
            SCSI,
            "guard::other_node",
            "mkfs.ext4 -qF $dev; mknod /tmp/node b $(stat -c '0x%t 0x%T' $dev); guarded /tmp/node",
            &[KEPT, "ext4"],
        ),
        row(
            SCSI,
            "guard::consent",
            "mkfs.ext4 -qF $dev; guarded $dev --write_consent=PLUMBSCSI2; guarded $dev --write_consent=PLUMBSCSI1",
            &["another device", KEPT, WRITTEN],
        ),
        row(Device::Sata, "guard::ext4", "mkfs.ext4 -qF $dev; guarded $dev", &[KEPT, "PLUMBSATA"]),
        row(
            NVME,
            "guard::command_node",
            "mkfs.ext4 -qF $dev; guarded $char --ioengine=io_uring_cmd --cmd_type=nvme --direct=0",
            &[KEPT, "ext4"],
        ),
        row(
            NVME,
            "guard::serial_of_the_controller",
            "mkfs.ext4 -qF $dev; guarded $dev --write_consent=PLUMBNVME; guarded $dev --write_consent=PLUMBNVME-ns2",
            &["another device", KEPT],
        ),
        row(
            Device::Nvme4096,
            "guard::namespace",
            "mkfs.ext4 -qF $dev; guarded $dev --write_consent=PLUMBNVME-ns2",
            &[WRITTEN],
        ),
    ]
}

/// Devices in use.
fn uses() -> Vec<Row> {
    let row = Row::own;
    vec![
        row(SCSI, "guard::swap_in_use", "mkswap -q $dev; swapon $dev; guarded $dev; swapoff $dev", &[KEPT, "swap"]),
        row(
            SCSI,
            "guard::mounted",
            "mkfs.ext4 -qF $dev; mount $dev /mnt; guarded $dev; guarded $dev --allow_mounted_write=1; umount /mnt",
            &["is mounted", KEPT],
        ),
        row(
            SCSI,
            "guard::mounted_elsewhere",
            "mkfs.ext4 -qF $dev; unshare -m sh -c \"mount --make-rprivate /; mount $dev /mnt; touch /tmp/ready; exec sleep 60\" & \
             until [ -e /tmp/ready ]; do sleep 0.1; done; wipefs -qaf $dev; guarded $dev; kill $!; wait",
            &["mounted", KEPT],
        ),
        row(
            SCSI,
            "guard::mapped",
            "dmsetup create top --table \"0 2048 linear $dev 0\"; guarded $dev; dmsetup remove top",
            &[KEPT],
        ),
        row(SCSI, "guard::loop", "losetup /dev/loop3 $dev; guarded $dev; losetup -d /dev/loop3", &[KEPT, "loop3"]),
        row(
            SCSI,
            "guard::writer",
            "sleep 60 9<>$dev & sleep 0.5; guarded $dev; kill $!; wait",
            &["sleep (process", KEPT],
        ),
        row(
            Device::Virtio,
            "guard::partitions",
            "echo ',32M,L' | sfdisk -q $dev; guarded $dev; mkfs.ext4 -qF ${dev}1; mount ${dev}1 /mnt; guarded $dev; \
             guarded ${dev}1; umount /mnt; sfdisk --delete -q $dev",
            &["partition", "is mounted", KEPT],
        ),
        row(
            NVME,
            "guard::exported",
            "modprobe nvmet; target=/sys/kernel/config/nvmet/subsystems/plumb; mkdir -p $target/namespaces/1; \
             echo $dev >$target/namespaces/1/device_path; echo 1 >$target/namespaces/1/enable; guarded $dev; \
             echo 0 >$target/namespaces/1/enable; rmdir $target/namespaces/1 $target",
            &[KEPT],
        ),
    ]
}
