//! Whose bounds: a profile per time and kind of device.

use super::Bounds;

/// One test of a profile.
#[derive(Clone, Debug)]
pub struct Test {
    /// As the card names it.
    pub shown: &'static str,
    /// The pattern of its runs.
    pub pattern: &'static str,
    /// Their block size.
    pub block_size: &'static str,
    /// Users of the base run.
    pub users: u32,
    /// Users of the run that it is compared with.
    pub more_users: u32,
    /// Bounds of the base run's latency.
    pub bounds_ms: Bounds,
}

/// A set of bounds.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Its name in commands.
    pub name: &'static str,
    /// What it is for, and since when.
    pub help: &'static str,
    /// The tests in the card's order.
    pub tests: [Test; 4],
}

const fn tests(bounds_ms: [Bounds; 4]) -> [Test; 4] {
    let [random_read, read, log_write, write] = bounds_ms;
    [
        Test {
            shown: "random read 8K",
            pattern: "randread",
            block_size: "8K",
            users: 16,
            more_users: 32,
            bounds_ms: random_read,
        },
        Test {
            shown: "sequential read 1M",
            pattern: "read",
            block_size: "1M",
            users: 1,
            more_users: 8,
            bounds_ms: read,
        },
        Test {
            shown: "log write 1K",
            pattern: "write",
            block_size: "1K",
            users: 4,
            more_users: 16,
            bounds_ms: log_write,
        },
        Test {
            shown: "log write 128K",
            pattern: "write",
            block_size: "128K",
            users: 4,
            more_users: 16,
            bounds_ms: write,
        },
    ]
}

/// Every profile. The bounds of today's devices follow from what they can move at the base load: A+ is the time that
/// the users' blocks take at the interface's full rate (SATA 550 MB/s; NVMe 3 GB/s and 500,000 reads/s) with a margin,
/// and C- is about ten times that, where a device of the kind is of no use to a database.
pub const PROFILES: &[Profile] = &[
    Profile {
        name: "oracle-2012",
        help: "databases on the disks and arrays of 2012 (the bounds of grade.r)",
        tests: tests([
            [2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0],
            [12.0, 14.0, 16.0, 18.0, 20.0, 22.0, 24.0],
            [0.2, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0],
            [2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0],
        ]),
    },
    Profile {
        name: "ssd-2026",
        help: "SATA and SAS flash of 2026",
        tests: tests([
            [0.3, 0.4, 0.6, 0.8, 1.0, 1.5, 2.5],
            [2.2, 2.6, 3.2, 4.0, 6.0, 10.0, 20.0],
            [0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 1.0],
            [1.1, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0],
        ]),
    },
    Profile {
        name: "nvme-2026",
        help: "NVMe flash of 2026",
        tests: tests([
            [0.12, 0.16, 0.2, 0.3, 0.4, 0.6, 1.0],
            [0.4, 0.5, 0.7, 1.0, 1.5, 2.5, 4.0],
            [0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5],
            [0.2, 0.3, 0.4, 0.6, 0.9, 1.4, 2.0],
        ]),
    },
];

/// The profile of this name.
pub fn profile(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}
