//! Recorded sysfs trees in, the use of devices and the traffic at the bottom out.

use measure::Nanos;
use model::DeviceUsage;
use monitor::{Recorder, RunRecording};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use sys::devices::identity::DeviceNumber;

/// A sysfs that a test builds and changes.
struct Tree {
    root: tempfile::TempDir,
}

impl Tree {
    fn new() -> Self {
        Tree { root: tempfile::tempdir().unwrap() }
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

    /// Gives the device under `path` of this machine the place of the recorded device `name`.
    fn put_under(&self, path: &Path, name: &str) {
        let number: DeviceNumber = sys::devices::identity::number_under(path).unwrap();
        let link = self.root().join("sys/dev/block").join(number.to_string());
        symlink(self.folder(name), link).unwrap();
    }

    fn record(&self, paths: &[&Path], now: Nanos) -> Recorder {
        Recorder::start(self.root(), paths, Nanos::SECOND, now)
    }
}

/// A path on another file system than temporary files, so that it can stand for another device.
const ELSEWHERE: &str = "/proc/version";

fn usage(recorder: Recorder, now: Nanos) -> Vec<DeviceUsage> {
    recorder.finish(now, &[]).devices
}

fn at(seconds: u64) -> Nanos {
    Nanos::from_secs(seconds)
}

/// A tree with the disk sda alone, which holds the directory that is returned.
fn one_disk(stat: &str) -> (Tree, tempfile::TempDir) {
    let (tree, folder) = (Tree::new(), tempfile::tempdir().unwrap());
    tree.device("pci/sda", "8:0").stat("pci/sda", stat);
    tree.put_under(folder.path(), "pci/sda");
    (tree, folder)
}

#[test]
fn a_file_on_a_partition_counts_for_its_disk() {
    let tree = Tree::new();
    tree.device("pci/sda", "8:0").partition("pci/sda/sda1", "8:1");
    let folder = tempfile::tempdir().unwrap();
    tree.put_under(folder.path(), "pci/sda/sda1");
    tree.stat("pci/sda", "100 1 800 50 10 2 80 5 0 40 55");
    let files = [folder.path().join("a"), folder.path().join("b")];
    let recorder = tree.record(&files.each_ref().map(PathBuf::as_path), at(10));
    tree.stat("pci/sda", "350 3 2800 150 30 6 240 9 1 90 160");
    let [disk] = &usage(recorder, at(12))[..] else { panic!("one disk, once") };
    assert_eq!(disk.name, "sda");
    assert_eq!((disk.ios, disk.merges, disk.sectors), ([250, 20], [2, 4], Some([2000, 160])));
    assert_eq!((disk.ticks_ms, disk.in_queue_ms, disk.busy_ms, disk.elapsed_ms), ([100, 4], 105, 50, Some(2000)));
    assert_eq!(disk.utilisation_percent(), Some(2.5));
    assert!(disk.members.is_empty());
}

#[test]
fn a_stacked_device_has_its_disks_inside_and_after_it() {
    let tree = Tree::new();
    tree.device("pci/sda", "8:0").partition("pci/sda/sda1", "8:1").device("pci/sdb", "8:16");
    tree.device("virtual/dm-0", "253:0").member("virtual/dm-0", "pci/sda/sda1").member("virtual/dm-0", "pci/sdb");
    let folder = tempfile::tempdir().unwrap();
    tree.put_under(folder.path(), "virtual/dm-0");
    tree.put_under(Path::new(ELSEWHERE), "pci/sdb");
    let names =
        |usage: &[DeviceUsage]| usage.iter().map(|device| (device.name.clone(), device.ios[0])).collect::<Vec<_>>();
    let pair = |name: &str, ios| (name.to_owned(), ios);
    let recorders = [[folder.path(), Path::new(ELSEWHERE)], [Path::new(ELSEWHERE), folder.path()]]
        .map(|paths| tree.record(&paths, at(0)));
    tree.stat("virtual/dm-0", "8 0 64 8 0 0 0 0 0 8 8");
    tree.stat("pci/sda", "5 0 40 5 0 0 0 0 0 5 5").stat("pci/sdb", "3 0 24 3 0 0 0 0 0 3 3");
    let [stack_first, disk_first] = recorders.map(|recorder| usage(recorder, at(1)));
    assert_eq!(names(&stack_first), [pair("dm-0", 8), pair("sda", 5), pair("sdb", 3)]);
    assert_eq!(stack_first[0].members, stack_first[1..]);
    assert_eq!(names(&disk_first), [pair("sdb", 3), pair("dm-0", 8), pair("sda", 5)]);
    assert_eq!(names(&disk_first[1].members), [pair("sda", 5), pair("sdb", 3)]);
}

#[test]
fn a_device_that_vanishes_keeps_what_was_read_last() {
    let (tree, folder) = one_disk("0 0 0 0 0 0 0 0 0 0 0");
    let mut recorder = tree.record(&[folder.path()], at(0));
    tree.stat("pci/sda", "7 0 56 3 0 0 0 0 0 2 3");
    recorder.read_devices(at(1));
    fs::remove_dir_all(tree.folder("pci/sda")).unwrap();
    recorder.sample(at(2), &[]);
    let RunRecording { devices, lowest_traffic, monitored, .. } = recorder.finish(at(3), &[]);
    assert_eq!((devices[0].ios, devices[0].elapsed_ms), ([7, 0], Some(1000)));
    assert_eq!(lowest_traffic.unwrap().read_bytes, 56 * 512);
    let gained: Vec<_> = monitored.intervals.iter().map(|interval| interval.devices[0].reads.ios).collect();
    assert_eq!(gained, [7, 0]);
}

#[test]
fn counters_that_wrap_or_restart_between_samples_still_add_up() {
    let (tree, folder) = one_disk("100 0 800 4294967200 0 0 0 0 0 4294967200 4294967200");
    let mut recorder = tree.record(&[folder.path()], at(0));
    tree.stat("pci/sda", "200 0 1600 104 0 0 0 0 0 104 104");
    recorder.sample(at(1), &[]);
    tree.stat("pci/sda", "5 0 40 2 0 0 0 0 0 2 2");
    let RunRecording { devices, lowest_traffic, monitored, .. } = recorder.finish(at(2), &[]);
    assert_eq!((devices[0].ios[0], devices[0].ticks_ms[0], devices[0].busy_ms), (105, 202, 202));
    assert_eq!(lowest_traffic.unwrap().read_bytes, 840 * 512);
    assert_eq!(monitored.whole().devices[0].reads.ios, 105);
}

#[test]
fn traffic_is_counted_once_at_the_bottom_of_the_stacks() {
    let tree = Tree::new();
    tree.device("pci/sda", "8:0").partition("pci/sda/sda1", "8:1").device("pci/sdb", "8:16");
    tree.device("virtual/md0", "9:0").member("virtual/md0", "pci/sda/sda1").member("virtual/md0", "pci/sdb");
    tree.device("virtual/loop0", "7:0");
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(tree.folder("virtual/loop0/loop")).unwrap();
    let image = folder.path().join("image");
    fs::write(&image, "").unwrap();
    fs::write(tree.folder("virtual/loop0/loop/backing_file"), format!("{}\n", image.display())).unwrap();
    tree.put_under(folder.path(), "virtual/md0");
    let unseen = tree.record(&[&image, Path::new(ELSEWHERE)], at(0));
    tree.put_under(Path::new(ELSEWHERE), "virtual/loop0");
    let recorder = tree.record(&[folder.path(), Path::new(ELSEWHERE)], at(0));
    tree.stat("virtual/md0", "9 9 9 9 9 9 9 9 9 9 9");
    tree.stat("pci/sda", "2 0 16 1 1 0 8 1 0 1 1 0 0 0 0 3 1").stat("pci/sdb", "1 0 8 1 0 0 0 0 0 1 1");
    let RunRecording { devices, lowest_traffic, .. } = recorder.finish(at(1), &[]);
    let traffic = lowest_traffic.unwrap();
    assert_eq!((traffic.read_bytes, traffic.written_bytes), (24 * 512, 8 * 512));
    assert_eq!(traffic.disks, ["sda", "sdb"]);
    // fio's statistics do not look below a loop device.
    let names: Vec<_> = devices.iter().map(|device| (device.name.as_str(), device.members.len())).collect();
    assert_eq!(names, [("md0", 2), ("sda", 0), ("sdb", 0), ("loop0", 0)]);
    let without = unseen.finish(at(1), &[]);
    assert_eq!((without.devices.len(), without.lowest_traffic), (3, None), "one path's device was not found");
    assert_eq!(tree.record(&[], at(0)).finish(at(1), &[]).lowest_traffic, None);
}

#[test]
fn three_views_are_of_one_reading_per_sample() {
    let (tree, folder) = one_disk("0 0 0 0 0 0 0 0 0 0 0");
    // A pipe in place of the file: each time it is opened it shows one more I/O, so that two views of one moment would
    // differ if each read for itself.
    let stat = tree.folder("pci/sda/stat");
    let place_pipe = {
        let (stat, new) = (stat.clone(), tree.folder("pci/sda/new"));
        move || {
            rustix::fs::mknodat(rustix::fs::CWD, &new, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
            fs::rename(&new, &stat).unwrap();
        }
    };
    place_pipe();
    let opened = Arc::new(AtomicU64::new(0));
    let writer = std::thread::spawn({
        let (stat, opened) = (stat.clone(), Arc::clone(&opened));
        move || {
            // To open a pipe for writing waits for its reader.
            while let Ok(mut pipe) = fs::OpenOptions::new().write(true).open(&stat) {
                let n = opened.fetch_add(1, SeqCst) + 1;
                if n > 5 {
                    return;
                }
                // A new pipe for the next reader, before this one can see the end of its text.
                place_pipe();
                std::io::Write::write_all(&mut pipe, format!("{n} 0 {n} {n} 0 0 0 0 0 {n} {n}\n").as_bytes()).unwrap();
            }
        }
    });
    let mut recorder = tree.record(&[folder.path()], at(0));
    recorder.sample(at(1), &[]);
    recorder.read_devices(at(2));
    recorder.sample(at(3), &[]);
    let RunRecording { devices, lowest_traffic, monitored, .. } = recorder.finish(at(4), &[]);
    assert_eq!(opened.load(SeqCst), 5, "start, two samples, a report in between, end");
    assert_eq!((devices[0].ios[0], lowest_traffic.unwrap().read_bytes), (4, 4 * 512));
    let gained: Vec<_> = monitored.intervals.iter().map(|interval| interval.devices[0].reads.ios).collect();
    assert_eq!(gained, [1, 2, 1]);
    drop(fs::File::open(&stat).unwrap());
    writer.join().unwrap();
}
