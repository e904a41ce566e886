//! The words by which a user names a device, in recorded trees of a guest with NVMe namespaces, SCSI, SATA, USB and
//! virtio disks, partitions, md and dm: each word opens one device and no other, also after names have moved.

#![expect(clippy::unwrap_used, reason = "a test's helper fails as the test does")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use sys::devices::identity::BlockDevice;
use sys::devices::own_words::OwnWords;

const BOOTS: [&str; 2] = [include_str!("recorded/guest-multipath.txt"), include_str!("recorded/guest-paths.txt")];

/// Makes a recorded tree. Its lines: `device PATH`, then its files as `text` or `bytes` (in hexadecimal) and its links;
/// the `usb` device above it with its serial number; a `name` in /dev/disk and where it leads to.
fn tree(recorded: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let at = |path: &str| root.path().join(path);
    let put = |path: &Path, bytes: &[u8]| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    let mut device = PathBuf::new();
    // Links first: files are written through them.
    for links in [true, false] {
        for line in recorded.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.splitn(3, ' ');
            let (kind, first, rest) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap_or_default());
            match kind {
                "device" => device = at(first),
                "link" if links => {
                    fs::create_dir_all(&device).unwrap();
                    fs::create_dir_all(at(rest)).unwrap();
                    symlink(at(rest), device.join(first)).unwrap();
                }
                "text" if !links => put(&device.join(first), format!("{}\n", rest.replace('|', "\n")).as_bytes()),
                "bytes" if !links => put(&device.join(first), &bytes(rest)),
                "usb" if !links => {
                    put(&at(first).join("idVendor"), b"46f4\n");
                    put(&at(first).join("serial"), format!("{rest}\n").as_bytes());
                }
                "name" if !links => {
                    fs::create_dir_all(at(first).parent().unwrap()).unwrap();
                    symlink(rest, at(first)).unwrap();
                }
                _ => {}
            }
        }
    }
    list(root.path(), recorded);
    root
}

/// Makes the lists of devices, by name and by number.
fn list(root: &Path, recorded: &str) {
    for folder in ["sys/block", "sys/dev/block"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    for path in recorded.lines().filter_map(|line| line.strip_prefix("device ")) {
        let device = root.join(path);
        let name = device.file_name().unwrap();
        if !device.join("partition").exists() {
            symlink(&device, root.join("sys/block").join(name)).unwrap();
        }
        if let Ok(number) = fs::read_to_string(device.join("dev")) {
            symlink(&device, root.join("sys/dev/block").join(number.trim())).unwrap();
        }
    }
}

fn bytes(digits: &str) -> Vec<u8> {
    (0..digits.len() / 2).map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap()).collect()
}

fn devices(root: &Path) -> Vec<BlockDevice> {
    let disks = sys::devices::identity::all(root).unwrap();
    disks.into_iter().flat_map(|disk| disk.partitions().into_iter().chain([disk])).collect()
}

/// Names of all devices that a word opens.
fn opened(root: &Path, word: &str) -> Vec<String> {
    let fits = |device: &BlockDevice| OwnWords::of(root, device).fits(word);
    devices(root).iter().filter(|device| fits(device)).map(|device| device.name().to_owned()).collect()
}

fn words(root: &Path, name: &str) -> OwnWords {
    let devices = devices(root);
    OwnWords::of(root, devices.iter().find(|device| device.name() == name).unwrap())
}

#[test]
fn each_word_opens_one_device_also_after_names_have_moved() {
    let [first, second] = BOOTS.map(tree);
    for (word, before, after) in [
        ("nvme.1b36-4245444e564d4530-51454d55204e564d65204374726c-00000002", "nvme1n3", "nvme1n3"),
        ("nvme.1b36-4245444e564d4530-51454d55204e564d65204374726c-00000003", "nvme1n4", "nvme1n2"),
        ("BEDNVME0-ns3", "nvme1n4", "nvme1n2"),
        ("BEDNVME0-ns4", "nvme1n2", "nvme1n4"),
        ("BEDFDP0-ns1", "nvme2n1", "nvme2n1"),
        ("BEDSCSI0", "sda", "sdb"),
        ("naa.5000c500a1b2c3d4", "sda", "sdb"),
        ("BEDSCSI1", "sdb", "sdc"),
        ("BEDSCSI2", "sdd", "sdd"),
        ("BEDSATA0", "sdc", "sda"),
        ("0x5000c500a1b2c3d5", "sdc", "sda"),
        ("BEDUSB0", "sde", "sde"),
        ("BEDUSB0-0:0", "sde", "sde"),
        ("BEDVIRTIO0", "vdb", "vdb"),
        ("BEDVIRTIO0-part3", "vdb3", "vdb3"),
        ("MYUUID-1", "dm-1", "dm-1"),
        // These have no identity.
        ("loop0:33554432", "loop0", "loop0"),
        ("dm-0:4194304", "dm-0", "dm-0"),
    ] {
        assert_eq!(opened(first.path(), word), [before], "{word}");
        assert_eq!(opened(second.path(), word), [after], "{word} after names have moved");
    }
}

#[test]
fn the_best_word_of_each_device_opens_it_and_no_other() {
    for root in BOOTS.map(tree) {
        let all = devices(root.path());
        assert!(all.len() >= 18, "{all:?}");
        for device in &all {
            let words = OwnWords::of(root.path(), device);
            let best = words.best();
            let best = best.split(" (").next().unwrap();
            assert_eq!(opened(root.path(), best), [device.name()], "{best}");
        }
    }
}

#[test]
fn neither_a_controller_nor_a_size_nor_a_name_is_a_word() {
    let [first, second] = BOOTS.map(tree);
    for root in [first.path(), second.path()] {
        // The serial number of a controller with four namespaces, and of one with one; sizes of disks and partitions.
        for word in ["BEDNVME0", "BEDZNS0", "268435456", "134217728", "67108864", "sda", "/dev/sda", "nvme1n1", "1", ""]
        {
            assert_eq!(opened(root, word), [""; 0], "{word:?}");
        }
    }
    let namespace = words(first.path(), "nvme1n2");
    assert!(namespace.why_not("BEDNVME0").contains("which all namespaces have"));
    assert_eq!(words(first.path(), "sda").why_not("268435456"), "268435456 is its size, which fits other devices, too");
    assert_eq!(words(first.path(), "sda").why_not("BEDSCSI1"), "BEDSCSI1 is another device");
    assert_eq!(
        words(first.path(), "loop0").best(),
        "33554432 (only its size: it has no serial number, WWID or UUID, so the word fits others, too)"
    );
}

#[test]
fn a_partition_goes_by_its_uuid_and_an_array_by_its_own() {
    let root = tree(BOOTS[1]);
    for (word, name) in [
        ("37e5791a-9e63-4b3e-ac76-bb70b194a58f", "vdb3"),
        ("dc10642f-925d-4ae6-96b0-68059f1f914b", "vdb1"),
        ("c48f4330-897f-9b18-2474-5303aadf3039", "md0"),
        ("c48f4330:897f9b18:24745303:aadf3039", "md0"),
    ] {
        assert_eq!(opened(root.path(), word), [name], "{word}");
    }
    assert_eq!(words(root.path(), "vdb1").best(), "dc10642f-925d-4ae6-96b0-68059f1f914b");
    // Newer kernels show it themselves; older ones show no UUID of an array.
    let partition = root.path().join("sys/dev/block/254:17/uevent");
    fs::write(&partition, "DEVTYPE=partition\nPARTUUID=0badcafe-01\n").unwrap();
    assert_eq!(words(root.path(), "vdb1").best(), "0badcafe-01");
    fs::remove_file(root.path().join("sys/block/md0/md/uuid")).unwrap();
    assert_eq!(words(root.path(), "md0").best(), "c48f4330:897f9b18:24745303:aadf3039");
}

#[test]
fn an_identity_of_two_devices_opens_neither() {
    let root = tree(BOOTS[1]);
    // A copy of a disk behind an adapter, and a copy of a table.
    fs::write(root.path().join("sys/block/sdd/device/vpd_pg80"), b"\0\x80\0\x08BEDSCSI1").unwrap();
    assert_eq!(opened(root.path(), "BEDSCSI1"), [""; 0]);
    let best = words(root.path(), "sdc").best();
    assert_eq!(best, "(none: no word names it alone, for sdd has the identity BEDSCSI1, too)");
    assert_eq!(opened(root.path(), "134217728"), [""; 0], "its size does not name it either");
    for partition in ["254:17", "254:18"] {
        fs::write(root.path().join(format!("sys/dev/block/{partition}/uevent")), "PARTUUID=aa-01\n").unwrap();
    }
    assert_eq!(opened(root.path(), "aa-01"), [""; 0]);
    assert_eq!(words(root.path(), "vdb2").best(), "BEDVIRTIO0-part2");
    // Two paths to one unit are one storage.
    for path in ["sdc", "sdd"] {
        let holders = root.path().join("sys/block").join(path).join("holders");
        fs::create_dir_all(&holders).unwrap();
        symlink(root.path().join("sys/devices/virtual/block/dm-1"), holders.join("dm-1")).unwrap();
    }
    fs::write(root.path().join("sys/block/dm-1/dm/uuid"), "mpath-0QEMU\n").unwrap();
    assert_eq!(opened(root.path(), "BEDSCSI1"), ["sdc", "sdd"]);
}

#[test]
fn damaged_pages_and_odd_bytes_are_no_words() {
    let root = tree(BOOTS[1]);
    let put = |name: &str, bytes: &[u8]| fs::write(root.path().join("sys/block/sdc/device").join(name), bytes).unwrap();
    put("vpd_pg83", b"");
    for page in [
        &b""[..],
        b"\0",
        b"\0\x80\0",
        b"\0\x80\xff\xff",
        b"\0\x83\0\x01A",
        b"\0\x80\0\x0400 0",
        b"\0\x80\0\x03\0\xff\n",
    ] {
        put("vpd_pg80", page);
        assert!(words(root.path(), "sdc").best().starts_with("134217728 (only its size"), "{page:?}");
    }
    put("vpd_pg80", b"\0\x80\xff\xff  S4 EV,1\xff\0");
    assert_eq!(words(root.path(), "sdc").best(), "S4-EV-1");
    assert!(words(root.path(), "sdc").fits("S4 EV-1"));
    put("vpd_pg80", b"");
    // Names of the unit: NAA, and an EUI-64 whose length reaches past the end; a name of the port is none.
    put("vpd_pg83", b"\0\x83\0\x10\x01\x93\0\x02\xaa\xbb\x01\x03\0\x02\x12\x34\x01\x02\0\xffA");
    assert_eq!(words(root.path(), "sdc").all(), "naa.1234 or 0x1234");
    for length in 0..20 {
        put("vpd_pg83", &b"\0\x83\xff\xff\x01\x03\0\x08\x50\0\xc5\0\xa1\xb2\xc3\xd4\x01\x02\0\x01"[..length]);
        words(root.path(), "sdc");
    }
}
