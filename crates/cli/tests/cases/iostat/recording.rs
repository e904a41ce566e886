//! Machines that never were: trees of /proc and /sys, one for each sample.

use std::fs;
use std::path::Path;

/// One moment of a machine.
pub(crate) struct Moment {
    pub(crate) uptime: &'static str,
    pub(crate) cpu: &'static str,
    /// Name and counters; a name with a slash is a partition of what stands before it.
    pub(crate) devices: Vec<(String, String)>,
    /// Links below /dev and what they lead to. One in `mapper` gives a device-mapper device its name.
    pub(crate) links: Vec<(&'static str, &'static str)>,
    /// Devices in user space, whose files are in /mnt.
    pub(crate) in_user_space: Vec<(String, String)>,
}

fn device(name: &str, counters: &str) -> (String, String) {
    (name.to_owned(), counters.to_owned())
}

/// A server with disks of every age: partitions, wraps at 32 bits, one that is plugged in again, one that vanishes and
/// returns, one that comes late, idle ones, ticks that fall, and an interval of nothing.
pub(crate) fn server() -> Vec<Moment> {
    let always = |reads: u64| {
        vec![
            device(
                "sda",
                &format!(
                    "{} 811 {} 2312 {reads} 512 {} 4411 3 {} {} 77 5 90112 31 {} 45",
                    9000 + reads * 3,
                    72_000 + reads * 24,
                    reads * 16,
                    5000 + reads,
                    9000 + reads * 7,
                    300 + reads
                ),
            ),
            device(
                "sda/sda1",
                &format!("{} 11 {} 812 0 0 0 0 0 {} 812 0 0 0 0 0 0", 4000 + reads, 32_000 + reads * 8, 700 + reads),
            ),
            device("sda/sda10", "5 0 40 2 0 0 0 0 0 2 2 0 0 0 0 0 0"),
            device("sda/sda2", "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"),
            device(
                "sdb",
                &format!("120 3 960 44 {} 6 {} 99 0 {} 143", 40 + reads * 2, 320 + reads * 2048, 80 + reads * 9),
            ),
            device(
                "nvme0n1",
                &format!(
                    "7 0 56 1 {} 900 {} {} 0 {} {} {} 0 {} 12",
                    reads * 100,
                    reads * 800,
                    reads * 13,
                    reads * 10,
                    reads * 1300,
                    10 + reads,
                    2048 * reads
                ),
            ),
            device("loop0", "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"),
            device("dm-flush", &format!("0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 {reads} {}", reads * 3)),
            device("a-name-of-20-letters", "3 0 24 1 0 0 0 0 0 1 1 0 0 0 0 0 0"),
        ]
    };
    let wrapping = [
        "500 0 4000 4294967000 100 0 5000000000 40 0 4294967290 4294960000",
        "510 0 4160 204 120 0 5000000600 60 0 494 3000",
    ];
    let replugged = ["800000 5 6400000 9000 70000 10 560000 800 0 900 9800", "12 0 96 5 3 0 24 2 0 6 7"];
    let vanishing = ["60 0 480 30 0 0 0 0 0 30 30", "9 0 72 6 0 0 0 0 0 6 6"];
    let mut moments = Vec::new();
    for (number, (uptime, cpu)) in [
        ("1000.00 1900.00", "cpu  40000 1000 20000 130000 5000 300 700 3000 0 0"),
        ("1010.37 1915.00", "cpu  41800 1000 20100 130100 5050 310 720 3001 0 0"),
        ("1020.37 1930.00", "cpu  42000 1003 20200 131900 5040 310 720 3002 0 0"),
        ("1020.37 1930.00", "cpu  42000 1003 20200 131900 5040 310 720 3002 0 0"),
    ]
    .into_iter()
    .enumerate()
    {
        let mut devices = always([100, 350, 351, 360][number]);
        devices.push(device("sdw", wrapping[number.min(1)]));
        devices.push(device("sdr", replugged[number.min(1)]));
        if number != 1 {
            devices.push(device("sdv", vanishing[number.min(1)]));
        }
        if number > 0 {
            devices.push(device("sdn", "33 1 264 20 44 2 352 30 0 50 50 0 0 0 0 0 0"));
        }
        moments.push(Moment { uptime, cpu, devices, links: Vec::new(), in_user_space: Vec::new() });
    }
    moments
}

/// The server without the disks whose counters wrap, vanish or begin again.
pub(crate) fn calm_server() -> Vec<Moment> {
    let mut moments = server();
    for moment in &mut moments {
        moment.devices.retain(|(name, _)| !["sdw", "sdr", "sdv"].contains(&name.as_str()));
    }
    moments
}

/// A workstation with device-mapper devices and links of several types. After the first moment a disk, a partition
/// of an old disk and links are added; in the third another disk is away.
pub(crate) fn plugged() -> Vec<Moment> {
    let counters = |factor: u64| (1..=17).map(|field| (field * factor).to_string()).collect::<Vec<_>>().join(" ");
    let moment = |number: u64| {
        let mut devices: Vec<_> = [
            ("sdb", 2),
            ("sdb/sdb2", 1),
            ("sdb/sdb1", 1),
            ("sdr", 3),
            ("dm-1", 4),
            ("dm-2", 5),
            ("nvme0n1", 6),
            ("nvme0n1/nvme0n1p1", 5),
            ("sda", 7),
            ("sda/sda1", 2),
            ("loop0", 0),
        ]
        .into_iter()
        .map(|(name, factor)| device(name, &counters(factor * (100 + number * 30))))
        .collect();
        let mut links = vec![
            ("mapper/vg-root", "../dm-1"),
            ("mapper/a-swap", "../dm-2"),
            ("disk/by-id/nvme-Z", "../../nvme0n1"),
            ("disk/by-id/nvme-X", "../../nvme0n1"),
            ("disk/by-id/wwn-b", "../../sdb"),
            ("disk/by-id/wwn-b-part1", "../../sdb1"),
            ("disk/by-id/dm-name-root", "../../dm-1"),
            ("disk/by-id/zz", "../../sda"),
            ("disk/by-label/my\\x20disk", "../../sda1"),
            ("disk/by-path/pci-1", "../../sda"),
        ];
        if number > 0 {
            devices.insert(2, device("sdc", &counters(100 + number * 30)));
            devices.insert(3, device("sdc/sdc1", &counters(50 + number * 30)));
            devices.insert(4, device("sda/sda0", &counters(20 + number * 30)));
            links.extend([("disk/by-id/aa", "../../sda"), ("disk/by-id/late", "../../sdr")]);
        }
        // It counts from zero when it returns.
        devices.retain(|(name, _)| number < 2 || name != "sdr");
        if number == 3 {
            devices.insert(1, device("sdr", &counters(15)));
        }
        (devices, links)
    };
    let times = [
        ("1000.00 1900.00", "cpu  40000 1000 20000 130000 5000 300 700 3000 0 0"),
        ("1010.00 1915.00", "cpu  41800 1000 20100 130100 5050 310 720 3001 0 0"),
        ("1020.00 1930.00", "cpu  42000 1003 20200 131900 5040 310 720 3002 0 0"),
        ("1030.00 1945.00", "cpu  42200 1006 20300 132900 5060 310 720 3002 0 0"),
    ];
    (0..)
        .zip(times)
        .map(|(number, (uptime, cpu))| {
            let (devices, links) = moment(number);
            let mut in_user_space =
                vec![("spdk0", 2), ("spdk0/spdk0p1", 1), ("sda", 10), ("sda/sda1", 9), ("aspdk", 3), ("idle", 0)];
            if number > 0 {
                in_user_space.insert(0, ("zlate", 7));
            }
            let named =
                in_user_space.into_iter().map(|(name, factor)| device(name, &counters(factor * (10 + number * 20))));
            Moment { uptime, cpu, devices, links, in_user_space: named.collect() }
        })
        .collect()
}

/// Disks of old kernels, whose partitions have lines of four numbers, and names with `/`; paths of NVMe multipath.
pub(crate) fn old_disks() -> Vec<Moment> {
    let counters =
        |fields: u64, factor: u64| (1..=fields).map(|field| (field * factor).to_string()).collect::<Vec<_>>().join(" ");
    let moment = |uptime, factor: u64| Moment {
        uptime,
        cpu: "cpu  40000 1000 20000 130000 5000 300 700 3000 0 0",
        devices: vec![
            device("hda", &counters(11, 3 * factor)),
            device("hda/hda1", &format!("{} 560 20 {}", 70 * factor, 160 * factor)),
            device("hda/hda2", "0 0 0 0"),
            device("nvme10n1", &counters(17, 5 * factor)),
            device("nvme10n1/nvme10n1p12", &counters(17, 4 * factor)),
            device("nvme10n1/nvme10n1p2", &counters(15, 2 * factor)),
            device("sda", &counters(17, 7 * factor)),
            device("sda/sda1", &counters(17, 2 * factor)),
            device("sda/sda12", &counters(17, 3 * factor)),
            device("sda/sda2", "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"),
            device("sdb", &counters(17, 6 * factor)),
            device("cciss!c0d0", &counters(11, 9 * factor)),
            device("loop0", "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"),
            device("dm-0", &counters(17, 10 * factor)),
            device("dm-1", &counters(17, 11 * factor)),
            device("nvme0c0n1", &counters(17, 12 * factor)),
            device("nvme0n1", &counters(17, 13 * factor)),
        ],
        links: vec![("mapper/vg-root", "../dm-0"), ("mapper/a-swap", "../dm-1")],
        in_user_space: Vec::new(),
    };
    vec![moment("1000.00 1900.00", 10), moment("1001.00 1900.00", 17)]
}

/// A disk that is away for two samples and returns with its counters, which have gone on.
pub(crate) fn away() -> Vec<Moment> {
    let moment = |uptime, reads: u64, is_there: bool| {
        let disk = |name, reads: u64| {
            device(name, &format!("{reads} 3 {} 50 20 4 160 5 0 {} 55 7 0 56 3 2 1", reads * 8, 40 + reads))
        };
        let all = [disk("sda", reads), disk("sdb", reads / 2)];
        let devices = all.into_iter().take(if is_there { 2 } else { 1 }).collect();
        let cpu = "cpu  40000 1000 20000 130000 5000 300 700 3000 0 0";
        Moment { uptime, cpu, devices, links: Vec::new(), in_user_space: Vec::new() }
    };
    vec![
        moment("1000.00 1.00", 46, true),
        moment("1001.00 1.00", 48, false),
        moment("1002.00 1.00", 50, false),
        moment("1003.00 1.00", 52, true),
    ]
}

/// Two hundred disks.
pub(crate) fn many() -> Vec<Moment> {
    let devices = |factor: u64| {
        (0..200_u64).map(move |number| {
            let work = number * factor;
            device(
                &format!("sd{number}"),
                &format!(
                    "{work} {number} {} {} {work} 0 {} {work} 0 {} {}",
                    work * 8,
                    work * 2,
                    work * 64,
                    work / 3,
                    work * 3
                ),
            )
        })
    };
    let moment = |uptime, cpu, factor| Moment {
        uptime,
        cpu,
        devices: devices(factor).collect(),
        links: Vec::new(),
        in_user_space: Vec::new(),
    };
    vec![
        moment("86400.01 1.00", "cpu  1 2 3 4 5 6 7 8 9 10", 100),
        moment("86401.02 1.00", "cpu  1 2 3 104 5 6 7 8 9 10", 113),
    ]
}

/// The number of a device, the same in all moments. Majors from 60 to 63 are for local use: no driver answers if such a
/// node is opened.
fn number(name: &str) -> (u32, u32) {
    let minor = name.bytes().fold(0, |number, byte| (number * 31 + u32::from(byte)) % 1_000_003);
    (if name.starts_with("dm-") { 61 } else { 60 }, minor)
}

impl Moment {
    /// Puts the moment under `root`, in place of what may be there.
    pub(crate) fn record(&self, root: &Path) {
        for directory in ["proc", "sys/devices/system/cpu/cpu0", "sys/devices/system/cpu/cpu1"] {
            fs::create_dir_all(root.join(directory)).expect("our own tree");
        }
        // These are mounted elsewhere while they change, so they are emptied and not replaced.
        for directory in ["sys/block", "sys/dev/block", "dev", "mnt"] {
            fs::create_dir_all(root.join(directory)).expect("our own tree");
            for entry in fs::read_dir(root.join(directory)).expect("our own tree") {
                let entry = entry.expect("an entry");
                let is_directory = entry.file_type().expect("a type").is_dir();
                let remove =
                    if is_directory { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) };
                remove.expect("our own tree");
            }
        }
        record_devices(&self.devices, root, ["sys/block", "sys/dev/block", "proc/diskstats"]);
        record_devices(&self.in_user_space, root, ["mnt/block", "mnt/dev/block", "mnt/diskstats"]);
        for (path, target) in &self.links {
            link(target, &root.join("dev").join(path));
            if let (Some(name), Some(device)) = (path.strip_prefix("mapper/"), target.strip_prefix("../")) {
                let directory = root.join("sys/block").join(device).join("dm");
                fs::create_dir(&directory).expect("our own tree");
                fs::write(directory.join("name"), format!("{name}\n")).expect("our own tree");
            }
        }
        let processors = format!("{}\ncpu0 1 1 1 1\ncpu1 1 1 1 1\nintr 1\n", self.cpu);
        let majors = "Block devices:\n 60 sd\n 61 device-mapper\n".to_owned();
        let uptime = self.uptime.to_owned();
        for (file, text) in [("stat", processors), ("devices", majors), ("uptime", uptime)] {
            fs::write(root.join("proc").join(file), text).expect("our own tree");
        }
    }
}

/// Writes the counters of devices, the links from their numbers, and their nodes.
fn record_devices(devices: &[(String, String)], root: &Path, [block, numbers, diskstats]: [&str; 3]) {
    let mut lines = String::new();
    for (name, counters) in devices {
        let directory = root.join(block).join(name);
        fs::create_dir_all(&directory).expect("our own tree");
        fs::write(directory.join("stat"), counters).expect("our own tree");
        let file = name.rsplit('/').next().unwrap_or(name);
        let short = &file.replace('!', "/");
        let (major, minor) = number(short);
        lines += &format!("{major:4} {minor:7} {short} {counters}\n");
        link(&format!("../../block/{name}"), &root.join(format!("{numbers}/{major}:{minor}")));
        let node = root.join("dev").join(short);
        if !node.exists() {
            fs::create_dir_all(node.parent().expect("below a root")).expect("our own tree");
            let block = (rustix::fs::FileType::BlockDevice, rustix::fs::Mode::empty());
            rustix::fs::mknodat(rustix::fs::CWD, node, block.0, block.1, rustix::fs::makedev(major, minor))
                .expect("a node: are we root?");
        }
    }
    fs::write(root.join(diskstats), lines).expect("our own tree");
}

fn link(target: &str, path: &Path) {
    fs::create_dir_all(path.parent().expect("below a root")).expect("our own tree");
    std::os::unix::fs::symlink(target, path).expect("our own tree");
}
