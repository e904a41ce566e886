//! Machines that never were: trees of /proc and /sys, one for each sample.

use std::fs;
use std::path::Path;

/// One moment of a machine.
pub(crate) struct Moment {
    pub(crate) uptime: &'static str,
    pub(crate) cpu: &'static str,
    /// Name and counters; a name with a slash is a partition of what stands before it.
    pub(crate) devices: Vec<(String, String)>,
}

fn device(name: &str, counters: &str) -> (String, String) {
    (name.to_owned(), counters.to_owned())
}

/// A server with disks of every age: partitions, wraps at 32 bits, one that is plugged in anew, one that vanishes and
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
    let vanishing = ["60 0 480 30 0 0 0 0 0 30 30", "90 0 720 60 0 0 0 0 0 60 60"];
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
        moments.push(Moment { uptime, cpu, devices });
    }
    moments
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
                    work % 1000,
                    work * 3
                ),
            )
        })
    };
    let moment = |uptime, cpu, factor| Moment { uptime, cpu, devices: devices(factor).collect() };
    vec![
        moment("86400.01 1.00", "cpu  1 2 3 4 5 6 7 8 9 10", 100),
        moment("86401.02 1.00", "cpu  1 2 3 104 5 6 7 8 9 10", 113),
    ]
}

impl Moment {
    /// Puts the moment under `root`, in place of what may be there.
    pub(crate) fn record(&self, root: &Path) {
        for directory in
            ["proc", "sys/block", "sys/dev/block", "sys/devices/system/cpu/cpu0", "sys/devices/system/cpu/cpu1"]
        {
            fs::create_dir_all(root.join(directory)).expect("a tree of our own");
        }
        for entry in fs::read_dir(root.join("sys/block")).expect("a tree of our own") {
            fs::remove_dir_all(entry.expect("an entry").path()).expect("a tree of our own");
        }
        let mut diskstats = String::new();
        for (minor, (name, counters)) in self.devices.iter().enumerate() {
            let directory = root.join("sys/block").join(name);
            fs::create_dir_all(&directory).expect("a tree of our own");
            fs::write(directory.join("stat"), counters).expect("a tree of our own");
            let short = name.rsplit('/').next().unwrap_or(name);
            diskstats += &format!("   8 {minor:7} {short} {counters}\n");
        }
        fs::write(root.join("proc/diskstats"), diskstats).expect("a tree of our own");
        fs::write(root.join("proc/stat"), format!("{}\ncpu0 1 1 1 1\ncpu1 1 1 1 1\nintr 1\n", self.cpu))
            .expect("a tree of our own");
        fs::write(root.join("proc/uptime"), self.uptime).expect("a tree of our own");
    }
}
