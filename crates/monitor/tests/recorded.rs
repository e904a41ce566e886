//! Recorded sysfs trees in, usage out.

#![expect(clippy::unwrap_used, reason = "a tree that cannot be built fails the test")]

use measure::Nanos;
use plumb_monitor::{DeviceWatch, TrafficWatch};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use sys::device::{BlockDevice, DeviceNumber};

/// A sysfs that a test builds and changes.
struct Recorded {
    root: tempfile::TempDir,
}

impl Recorded {
    fn new() -> Self {
        Recorded { root: tempfile::tempdir().unwrap() }
    }

    fn root(&self) -> &Path {
        self.root.path()
    }

    fn folder(&self, path: &str) -> PathBuf {
        self.root().join("sys/devices").join(path)
    }

    /// A device at `path` below sys/devices.
    fn device(&self, path: &str, number: &str) -> &Self {
        let folder = self.folder(path);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("dev"), format!("{number}\n")).unwrap();
        for (place, name) in [("dev/block", number), ("block", path.rsplit('/').next().unwrap())] {
            let place = self.root().join("sys").join(place);
            fs::create_dir_all(&place).unwrap();
            symlink(&folder, place.join(name)).unwrap();
        }
        self.stat(path, "0 0 0 0 0 0 0 0 0 0 0")
    }

    fn stat(&self, path: &str, text: &str) -> &Self {
        fs::write(self.folder(path).join("stat"), text).unwrap();
        self
    }

    fn partition(&self, path: &str, number: &str) -> &Self {
        self.device(path, number);
        fs::write(self.folder(path).join("partition"), "1\n").unwrap();
        self
    }

    fn member(&self, stacked: &str, member: &str) -> &Self {
        let slaves = self.folder(stacked).join("slaves");
        fs::create_dir_all(&slaves).unwrap();
        symlink(self.folder(member), slaves.join(member.rsplit('/').next().unwrap())).unwrap();
        self
    }

    fn find(&self, name: &str) -> BlockDevice {
        BlockDevice::by_name(self.root(), name).unwrap()
    }

    /// Gives the device under `path` of this machine the place of the recorded device `name`.
    fn put_under(&self, path: &Path, name: &str) {
        let number: DeviceNumber = sys::device::number_under(path).unwrap();
        let link = self.root().join("sys/dev/block").join(number.to_string());
        symlink(self.folder(name), link).unwrap();
    }
}

fn at(seconds: u64) -> Nanos {
    Nanos::from_secs(seconds)
}

#[test]
fn a_file_on_a_partition_is_watched_as_its_disk() {
    let recorded = Recorded::new();
    recorded.device("pci/sda", "8:0").partition("pci/sda/sda1", "8:1");
    let folder = tempfile::tempdir().unwrap();
    recorded.put_under(folder.path(), "pci/sda/sda1");
    recorded.stat("pci/sda", "100 1 800 50 10 2 80 5 0 40 55");
    let files = [folder.path().join("a"), folder.path().join("b")];
    let watch = DeviceWatch::start(recorded.root(), &files, at(10));
    recorded.stat("pci/sda", "350 3 2800 150 30 6 240 9 1 90 160");
    let [disk] = &watch.finish(at(12))[..] else { panic!("one disk, once") };
    assert_eq!(disk.name, "sda");
    assert_eq!((disk.ios, disk.merges, disk.sectors), ([250, 20], [2, 4], [2000, 160]));
    assert_eq!((disk.ticks_ms, disk.in_queue_ms, disk.busy_ms, disk.elapsed_ms), ([100, 4], 105, 50, 2000));
    assert_eq!(disk.utilisation_percent(), Some(2.5));
    assert!(disk.members.is_empty());
}

#[test]
fn a_stacked_device_brings_its_disks_inside_and_behind() {
    let recorded = Recorded::new();
    recorded.device("pci/sda", "8:0").partition("pci/sda/sda1", "8:1").device("pci/sdb", "8:16");
    recorded.device("virtual/dm-0", "253:0").member("virtual/dm-0", "pci/sda/sda1").member("virtual/dm-0", "pci/sdb");
    let watch = DeviceWatch::of_devices([recorded.find("dm-0"), recorded.find("sdb")], at(0));
    recorded.stat("virtual/dm-0", "8 0 64 8 0 0 0 0 0 8 8");
    recorded.stat("pci/sda", "5 0 40 5 0 0 0 0 0 5 5").stat("pci/sdb", "3 0 24 3 0 0 0 0 0 3 3");
    let usage = watch.finish(at(1));
    let names: Vec<_> = usage.iter().map(|device| (device.name.as_str(), device.ios[0])).collect();
    assert_eq!(names, [("dm-0", 8), ("sda", 5), ("sdb", 3)]);
    assert_eq!(usage[0].members, usage[1..]);
}

#[test]
fn a_device_that_vanishes_leaves_what_was_read() {
    let recorded = Recorded::new();
    recorded.device("pci/sda", "8:0");
    let mut watch = DeviceWatch::of_devices([recorded.find("sda")], at(0));
    recorded.stat("pci/sda", "7 0 56 3 0 0 0 0 0 2 3");
    watch.sample(at(1));
    fs::remove_dir_all(recorded.folder("pci/sda")).unwrap();
    watch.sample(at(2));
    let usage = watch.finish(at(3));
    assert_eq!((usage[0].ios, usage[0].elapsed_ms), ([7, 0], 1000));
}

#[test]
fn counters_that_wrap_or_restart_between_samples_still_add_up() {
    let recorded = Recorded::new();
    recorded.device("pci/sda", "8:0").stat("pci/sda", "100 0 800 4294967200 0 0 0 0 0 4294967200 4294967200");
    let mut watch = DeviceWatch::of_devices([recorded.find("sda")], at(0));
    recorded.stat("pci/sda", "200 0 1600 104 0 0 0 0 0 104 104");
    watch.sample(at(1));
    recorded.stat("pci/sda", "5 0 40 2 0 0 0 0 0 2 2");
    let usage = watch.finish(at(2));
    assert_eq!((usage[0].ios[0], usage[0].ticks_ms[0], usage[0].busy_ms), (105, 202, 202));
}

#[test]
fn traffic_is_counted_at_the_leaves_once() {
    let recorded = Recorded::new();
    recorded.device("pci/sda", "8:0").partition("pci/sda/sda1", "8:1").device("pci/sdb", "8:16");
    recorded.device("virtual/md0", "9:0").member("virtual/md0", "pci/sda/sda1").member("virtual/md0", "pci/sdb");
    recorded.device("virtual/loop0", "7:0");
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(recorded.folder("virtual/loop0/loop")).unwrap();
    let image = folder.path().join("image");
    fs::write(recorded.folder("virtual/loop0/loop/backing_file"), format!("{}\n", image.display())).unwrap();
    recorded.put_under(folder.path(), "virtual/md0");
    let leaves: Vec<_> =
        recorded.find("loop0").leaves(recorded.root()).iter().map(|disk| disk.name().to_owned()).collect();
    assert_eq!(leaves, ["sda", "sdb"]);
    let mut watch = TrafficWatch::start(recorded.root(), &[image, folder.path().to_owned(), "/proc/version".into()]);
    assert_eq!(watch.without_disk(), [PathBuf::from("/proc/version")]);
    recorded.stat("virtual/md0", "9 9 9 9 9 9 9 9 9 9 9");
    recorded.stat("pci/sda", "2 0 16 1 1 0 8 1 0 1 1 0 0 0 0 3 1").stat("pci/sdb", "1 0 8 1 0 0 0 0 0 1 1");
    let traffic = watch.traffic();
    assert_eq!((traffic.read_bytes, traffic.written_bytes), (24 * 512, 8 * 512));
    assert_eq!((traffic.reads, traffic.writes, traffic.flushes), (3, 1, 3));
    assert_eq!(watch.traffic(), traffic);
    assert_eq!(watch.disks().count(), 2);
}
