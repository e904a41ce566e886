//! Recorded trees: each target, and the ways down from it.

use super::*;
use model::ways_down;
use std::fs;
use std::os::unix::fs::symlink;

/// A recorded system, which is also asked about its paths.
struct RecordedTree {
    root: tempfile::TempDir,
    /// Paths that do not exist there.
    missing: Vec<&'static str>,
    /// Devices of the backing files of loop devices, as the kernel would answer.
    backing: Vec<(&'static str, &'static str)>,
}

impl RecordedTree {
    fn with_mounts(table: &[&str]) -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("proc/self")).unwrap();
        fs::create_dir_all(root.path().join("sys/block")).unwrap();
        fs::create_dir_all(root.path().join("sys/dev/block")).unwrap();
        fs::write(root.path().join("proc/self/mountinfo"), table.join("\n") + "\n").unwrap();
        RecordedTree { root, missing: Vec::new(), backing: Vec::new() }
    }

    fn device(self, name: &str, number: &str, files: &[(&str, &str)]) -> Self {
        let parent = if files.iter().any(|(file, _)| *file == "partition") {
            name.trim_end_matches(char::is_numeric)
        } else {
            ""
        };
        let sys = self.root.path().join("sys");
        let folder = sys.join("devices").join(parent).join(name);
        for (file, text) in files.iter().chain(&[("dev", number)]) {
            let file = folder.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, format!("{text}\n")).unwrap();
        }
        symlink(&folder, sys.join("dev/block").join(number)).unwrap();
        if parent.is_empty() {
            symlink(&folder, sys.join("block").join(name)).unwrap();
        }
        self
    }

    fn built_on(self, name: &str, members: &[&str]) -> Self {
        let sys = self.root.path().join("sys");
        let slaves = sys.join("block").join(name).join("slaves");
        fs::create_dir_all(&slaves).unwrap();
        for member in members {
            symlink(fs::canonicalize(sys.join("block").join(member)).unwrap(), slaves.join(member)).unwrap();
        }
        self
    }

    fn without(mut self, path: &'static str) -> Self {
        self.missing.push(path);
        self
    }

    fn with_backing(mut self, name: &'static str, device: &'static str) -> Self {
        self.backing.push((name, device));
        self
    }

    /// The ways down from a path, such as `/ ext4 > vda disk: disk`.
    fn ways(&self, path: &str) -> Vec<String> {
        let layers = Layers::new(self.root.path(), self).under(Path::new(path));
        let way = |way: &Vec<usize>| {
            let names = way.iter().map(|&at| format!("{} {}", layers[at].name, layers[at].kind));
            let bottom = match &layers[*way.last().unwrap()].bottom {
                Some(Bottom::Disk) => "disk".to_owned(),
                Some(Bottom::Memory) => "memory".to_owned(),
                Some(Bottom::Unknown(why)) => format!("unknown, {why}"),
                None => "nothing".to_owned(),
            };
            format!("{}: {bottom}", names.collect::<Vec<_>>().join(" > "))
        };
        ways_down(&layers).iter().map(way).collect()
    }
}

impl Lookup for RecordedTree {
    fn place(&self, path: &Path) -> Option<PathTarget> {
        if self.missing.iter().any(|missing| path.starts_with(missing)) {
            return None;
        }
        if let Ok(name) = path.strip_prefix("/dev") {
            let links = fs::read_dir(self.root.path().join("sys/dev/block")).unwrap().flatten();
            let mut devices = links.filter_map(|link| BlockDevice::of_link(&link.path()));
            return devices.find(|device| Some(device.name()) == name.to_str())?.number().map(PathTarget::Block);
        }
        let mounts = mounts::read(self.root.path()).unwrap();
        let holds = mounts.iter().filter(|mount| path.starts_with(&mount.point));
        let mount = holds.max_by_key(|mount| mount.point.as_os_str().len())?;
        // A subvolume of btrfs has a device number that is not in the table.
        let device = DeviceNumber { minor: mount.device.minor + u32::from(mount.kind == "btrfs"), ..mount.device };
        Some(PathTarget::File(Place { id: Some(mount.id), device }))
    }

    fn loop_backing(&self, name: &str) -> Option<DeviceNumber> {
        let found = self.backing.iter().find(|(device, _)| *device == name)?;
        DeviceNumber::parse(found.1)
    }
}

const ROOT: &str = "27 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw";
const TMP: &str = "28 27 0:30 / /tmp rw - tmpfs tmpfs rw";

fn disk(recorded: RecordedTree) -> RecordedTree {
    recorded.device("sda", "8:0", &[]).device("sda1", "8:1", &[("partition", "1")])
}

#[test]
fn a_file_is_on_its_file_system_its_partition_and_its_disk() {
    let recorded = disk(RecordedTree::with_mounts(&[ROOT, TMP]));
    assert_eq!(recorded.ways("/data/file"), ["/ ext4 > sda1 partition > sda disk: disk"]);
    assert_eq!(recorded.ways("/dev/sda1"), ["sda1 partition > sda disk: disk"]);
    assert_eq!(recorded.ways("/tmp/file"), ["/tmp tmpfs: memory"]);
}

#[test]
fn a_loop_device_leads_to_the_file_system_of_its_file() {
    let mounts = [ROOT, TMP, "40 27 7:1 / /mnt/l rw - xfs /dev/loop1 rw"];
    let recorded = disk(RecordedTree::with_mounts(&mounts))
        .device("loop0", "7:0", &[("loop/backing_file", "/data/image"), ("loop/dio", "1"), ("loop/offset", "512")])
        .device("loop1", "7:1", &[("loop/backing_file", "/tmp/image")])
        .device("loop2", "7:2", &[]);
    assert_eq!(recorded.ways("/dev/loop0"), ["loop0 loop > / ext4 > sda1 partition > sda disk: disk"]);
    assert_eq!(recorded.ways("/mnt/l/file"), ["/mnt/l xfs > loop1 loop > /tmp tmpfs: memory"]);
    assert_eq!(recorded.ways("/dev/loop2"), ["loop2 loop: unknown, it has no backing file"]);
    let layers = Layers::new(recorded.root.path(), &recorded).under(Path::new("/dev/loop0"));
    assert_eq!((layers[0].bypasses_page_cache, layers[0].held_by.as_deref()), (Some(true), Some("/data/image")));
    assert_eq!(layers[0].first_byte, Some(512));
}

#[test]
fn the_kernel_knows_the_device_of_a_missing_backing_file() {
    let gone = "/tmp/image (deleted)";
    let recorded = disk(RecordedTree::with_mounts(&[ROOT, TMP])).device("loop0", "7:0", &[("loop/backing_file", gone)]);
    let recorded = recorded.without(gone);
    assert_eq!(recorded.ways("/dev/loop0"), ["loop0 loop: unknown, /tmp/image (deleted) is not visible from here"]);
    assert_eq!(recorded.with_backing("loop0", "0:30").ways("/dev/loop0"), ["loop0 loop > /tmp tmpfs: memory"]);
    let elsewhere = disk(RecordedTree::with_mounts(&[ROOT]))
        .device("loop0", "7:0", &[("loop/backing_file", "/hidden/image")])
        .without("/hidden")
        .with_backing("loop0", "0:77");
    let ways = ["loop0 loop > /hidden/image not mounted here: unknown, no device below it is visible here"];
    assert_eq!(elsewhere.ways("/dev/loop0"), ways);
    // The path is of another mount namespace: here it is on tmpfs, there it is not.
    let other = disk(RecordedTree::with_mounts(&[ROOT, TMP]))
        .device("loop0", "7:0", &[("loop/backing_file", "/tmp/image")])
        .with_backing("loop0", "8:1");
    assert_eq!(other.ways("/dev/loop0"), ["loop0 loop > / ext4 > sda1 partition > sda disk: disk"]);
}

#[test]
fn an_overlay_leads_to_the_directory_that_has_the_file() {
    let overlay =
        "50 27 0:50 / /mnt/o rw - overlay overlay rw,lowerdir=/lower1:/tmp/lower2,upperdir=/tmp/up,workdir=/tmp/w";
    let recorded = || {
        disk(RecordedTree::with_mounts(&[ROOT, TMP, overlay]))
            .device("loop0", "7:0", &[("loop/backing_file", "/mnt/o/image")])
            .without("/tmp/up/old")
            .without("/lower1/image")
    };
    let on_disk = "/mnt/o overlay > / ext4 > sda1 partition > sda disk: disk";
    assert_eq!(recorded().ways("/mnt/o/new"), ["/mnt/o overlay > /tmp tmpfs: memory"]);
    assert_eq!(recorded().ways("/mnt/o/old"), [on_disk]);
    assert_eq!(recorded().ways("/dev/loop0"), ["loop0 loop > /mnt/o overlay > /tmp tmpfs: memory"]);
    let hidden = recorded().without("/tmp").without("/lower1");
    assert_eq!(hidden.ways("/mnt/o/new"), ["/mnt/o overlay: unknown, its directories are not visible from here"]);
    // In a container the directories are paths of the host, which can be paths in the overlay itself.
    let own = "27 1 0:50 / / rw - overlay overlay rw,lowerdir=/l,upperdir=/up";
    let inside = RecordedTree::with_mounts(&[own]);
    assert_eq!(inside.ways("/data"), ["/ overlay: unknown, its directories are not visible from here"]);
}

#[test]
fn stacked_devices_lead_to_all_their_members() {
    let dm = "60 27 253:0 / /mnt/d rw - ext4 /dev/mapper/data rw";
    let recorded = disk(RecordedTree::with_mounts(&[ROOT, TMP, dm]))
        .device("loop0", "7:0", &[("loop/backing_file", "/tmp/image")])
        .device("sdb", "8:16", &[])
        .device("dm-0", "253:0", &[("dm/name", "data")])
        .device("dm-1", "253:1", &[("dm/name", "zero")])
        .device("md127", "9:127", &[("md/level", "raid1")])
        .built_on("md127", &["sdb", "loop0"])
        .built_on("dm-0", &["md127"]);
    let ways = [
        "/mnt/d ext4 > dm-0 dm > md127 md > loop0 loop > /tmp tmpfs: memory",
        "/mnt/d ext4 > dm-0 dm > md127 md > sdb disk: disk",
    ];
    assert_eq!(recorded.ways("/mnt/d/file"), ways);
    assert_eq!(recorded.ways("/dev/dm-1"), ["dm-1 dm: unknown, the device mapper shows no device below it"]);
    let mut layers = Layers::new(recorded.root.path(), &recorded);
    let under = layers.under(Path::new("/mnt/d/file"));
    let names = |devices: Vec<BlockDevice>| devices.iter().map(|device| device.name().to_owned()).collect::<Vec<_>>();
    assert_eq!(names(layers.highest_devices(&under)), ["dm-0"]);
    let below = layers.devices_with_below(&under).into_iter().find(|(upper, _)| upper.name() == "md127");
    assert_eq!(names(below.unwrap().1), ["sdb", "loop0"]);
}

#[test]
fn devices_that_only_look_like_disks_are_memory_or_unknown() {
    let recorded = RecordedTree::with_mounts(&[ROOT])
        .device("zram0", "253:0", &[])
        .device("ram0", "1:0", &[])
        .device("nullb0", "252:0", &[])
        .device("fast", "251:7", &[])
        .device("sdc", "8:32", &[("device/model", "scsi_debug      ")])
        .device("dm-0", "253:1", &[("dm/uuid", "VDO-5a8f"), ("dm/name", "vdo")])
        .device("nbd0", "43:0", &[])
        .device("vda", "254:0", &[])
        .device("nvme0n1", "259:0", &[("device/model", "ACME 1 TB")]);
    let drivers = "Character devices:\n254 nullb\n\nBlock devices:\n  7 loop\n251 nullb\n254 virtblk\n";
    fs::write(recorded.root.path().join("proc/devices"), drivers).unwrap();
    for (device, expected) in [
        ("zram0", "zram0 zram: memory"),
        ("ram0", "ram0 brd: memory"),
        ("nullb0", "nullb0 null_blk: memory"),
        ("fast", "fast null_blk: memory"),
        ("sdc", "sdc disk: memory"),
        ("dm-0", "dm-0 vdo: unknown, the device mapper shows no device below it"),
        ("nbd0", "nbd0 nbd: unknown, a server answers over a network or a socket"),
        ("vda", "vda disk: disk"),
        ("nvme0n1", "nvme0n1 disk: disk"),
    ] {
        assert_eq!(recorded.ways(&format!("/dev/{device}")), [expected]);
    }
}

#[test]
fn a_subvolume_of_btrfs_is_on_all_devices_of_its_file_system() {
    let mounts = [ROOT, "70 27 0:70 /home /mnt/b rw - btrfs /dev/sdb rw,compress=zstd:3,subvol=/home"];
    let recorded = disk(RecordedTree::with_mounts(&mounts)).device("sdb", "8:16", &[]).device("sdc", "8:32", &[]);
    let sys = recorded.root.path().join("sys");
    let devices = sys.join("fs/btrfs/uuid/devices");
    fs::create_dir_all(&devices).unwrap();
    for name in ["sdb", "sdc"] {
        symlink(fs::canonicalize(sys.join("block").join(name)).unwrap(), devices.join(name)).unwrap();
    }
    assert_eq!(recorded.ways("/mnt/b/file"), ["/mnt/b btrfs > sdb disk: disk", "/mnt/b btrfs > sdc disk: disk"]);
}

#[test]
fn file_systems_that_others_serve_are_unknown() {
    let recorded = RecordedTree::with_mounts(&[
        "80 27 0:80 / /mnt/s rw - fuse.sshfs host:/ rw",
        "81 27 0:81 / /mnt/n rw - nfs4 host:/export rw",
        "82 27 0:82 / /mnt/z rw - zfs tank/data rw",
        "83 27 0:83 / /mnt/u rw - unheard-of none rw",
        "84 27 8:16 / /mnt/w rw - fuseblk /dev/sdb rw",
    ])
    .device("sdb", "8:16", &[]);
    for (path, expected) in [
        ("/mnt/s", "fuse.sshfs: unknown, a program outside of the kernel answers"),
        ("/mnt/n", "nfs4: unknown, a server answers"),
        ("/mnt/z", "zfs: unknown, ZFS does not show the devices of its pool to the kernel"),
        ("/mnt/u", "unheard-of: unknown, no device below it is visible here"),
        ("/mnt/w", "fuseblk > sdb disk: disk"),
    ] {
        assert_eq!(recorded.ways(path), [format!("{path} {expected}")]);
    }
}

#[test]
fn the_files_of_one_mount_are_looked_for_once() {
    let recorded = disk(RecordedTree::with_mounts(&[ROOT]));
    let mut layers = Layers::new(recorded.root.path(), &recorded);
    let first = layers.under(Path::new("/a"));
    fs::remove_dir_all(recorded.root.path().join("sys")).unwrap();
    assert_eq!(layers.under(Path::new("/b/c")), first);
}

#[test]
fn this_machine_is_followed_to_its_bottom() {
    let live = Live(Path::new("/"));
    let mut layers = Layers::new(Path::new("/"), &live);
    let under = layers.under(Path::new(env!("CARGO_MANIFEST_DIR")));
    assert!(ways_down(&under).iter().all(|way| under[*way.last().unwrap()].bottom.is_some()), "{under:?}");
    assert_eq!(layers.under(Path::new("/proc/self/status")).len(), 1);
}
