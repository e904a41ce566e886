//! Profiles: sets of grade bounds per device type and period.

use super::Bounds;
use measure::text::{SizeStyle, exact_size};
use model::Measurement;
use model::measurement::{AccessOrder, AccessPattern};
use model::reading::ReadKind;

/// One test of a profile.
#[derive(Clone, Debug)]
pub struct Test {
    /// Name on the card, without the block size.
    pub title: &'static str,
    /// Access pattern.
    pub pattern: AccessPattern,
    /// Block size in bytes.
    pub block_bytes: u64,
    /// Number of users in the base run.
    pub users: u32,
    /// Number of users in the run with more load.
    pub more_users: u32,
    /// Bounds for the latency of the base run, in milliseconds.
    pub bounds_ms: Bounds,
}

impl Test {
    /// For example `random read 8K`.
    pub fn shown(&self) -> String {
        format!("{} {}", self.title, self.block())
    }

    /// For example `8K`.
    pub(super) fn block(&self) -> String {
        exact_size(self.block_bytes, SizeStyle::Table)
    }

    /// True if a row has this pattern and block size.
    pub fn fits(&self, row: &Measurement) -> bool {
        row.test.pattern() == Some(self.pattern) && row.block == Some((self.block_bytes, self.block_bytes))
    }
}

/// A set of bounds.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Name on the command line.
    pub name: &'static str,
    /// Purpose and origin.
    pub help: &'static str,
    /// Tests in the order of the card.
    pub tests: [Test; 4],
}

const RANDOM_READ: AccessPattern = AccessPattern { order: AccessOrder::Random, kind: ReadKind::Read };
const READ: AccessPattern = AccessPattern { order: AccessOrder::Sequential, kind: ReadKind::Read };
const WRITE: AccessPattern = AccessPattern { order: AccessOrder::Sequential, kind: ReadKind::Write };

const fn tests(bounds_ms: [Bounds; 4]) -> [Test; 4] {
    let [random_read, read, log_write, write] = bounds_ms;
    [
        Test {
            title: "random read",
            pattern: RANDOM_READ,
            block_bytes: 8 << 10,
            users: 16,
            more_users: 32,
            bounds_ms: random_read,
        },
        Test {
            title: "sequential read",
            pattern: READ,
            block_bytes: 1 << 20,
            users: 1,
            more_users: 8,
            bounds_ms: read,
        },
        Test {
            title: "log write",
            pattern: WRITE,
            block_bytes: 1 << 10,
            users: 4,
            more_users: 16,
            bounds_ms: log_write,
        },
        Test { title: "log write", pattern: WRITE, block_bytes: 128 << 10, users: 4, more_users: 16, bounds_ms: write },
    ]
}

/// All profiles. The bounds for current devices are derived from their maximum throughput at the base load: A+ is the
/// time needed to transfer the blocks of all users at the interface's full rate (SATA 550 MB/s; NVMe 3 GB/s and 500,000
/// reads/s) with a margin, and C- is about ten times that, at which such a device is useless for a database.
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

/// Returns the profile with this name.
pub fn profile(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}

/// A disk, as far as its kind is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    /// Kernel name, such as `sda`.
    pub name: String,
    /// True if it reports itself as rotational; `None` if it is not known.
    pub rotational: Option<bool>,
}

/// A profile and the reason for it.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The profile.
    pub profile: &'static Profile,
    /// Reason, for example `nvme0n1 is NVMe flash`; `None` if it was asked for.
    pub reason: Option<String>,
}

/// Chooses the profile for results on these disks: of their kind if it is known, otherwise the first.
///
/// ```
/// use analysis::report_card::{Disk, profile_of};
///
/// let chosen = profile_of(&[Disk { name: "sda".into(), rotational: Some(false) }]);
/// assert_eq!((chosen.profile.name, chosen.reason.as_deref()), ("ssd-2026", Some("sda is flash")));
/// ```
pub fn profile_of(disks: &[Disk]) -> Chosen {
    let names: Vec<&str> = disks.iter().map(|disk| disk.name.as_str()).collect();
    let all = |is: fn(&Disk) -> bool| !disks.is_empty() && disks.iter().all(is);
    let (name, kind) = if all(|disk| disk.name.starts_with("nvme")) {
        ("nvme-2026", "NVMe flash")
    } else if all(|disk| disk.rotational == Some(false) && !is_virtual(&disk.name)) {
        ("ssd-2026", "flash")
    } else if all(|disk| disk.rotational == Some(true) && !is_virtual(&disk.name)) {
        ("oracle-2012", "a rotating disk")
    } else {
        ("oracle-2012", "of a kind that is not known")
    };
    let subject = if names.is_empty() { "the disk".to_owned() } else { names.join(", ") };
    let verb = if names.len() > 1 { "are" } else { "is" };
    let profile = profile(name).unwrap_or(&PROFILES[0]);
    Chosen { profile, reason: Some(format!("{subject} {verb} {kind}")) }
}

/// True if a hypervisor or the kernel makes this device: it reports a kind that says nothing of what stores the bytes.
fn is_virtual(name: &str) -> bool {
    ["vd", "xvd", "loop", "zram", "nbd", "ram"].iter().any(|begin| name.starts_with(begin))
}
