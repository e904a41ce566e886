//! Profiles: sets of grade bounds per device type and period.

use super::Bounds;
use measure::text::{SizeStyle, exact_size};
use model::measurement::{AccessOrder, AccessPattern};
use model::reading::ReadKind;
use model::{Measurement, RunResult};

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
    /// Model as it reports itself.
    pub model: Option<String>,
    /// True if it reports itself as rotational; `None` if it is not known.
    pub rotational: Option<bool>,
}

/// The disks under the files of a result: those at the bottom of all monitored layers, or those that a report names.
pub fn disks_of(result: &RunResult) -> Vec<Disk> {
    match &result.monitored {
        Some(monitored) => monitored
            .devices
            .iter()
            .filter(|device| device.leaf)
            .map(|device| Disk {
                name: device.name.clone(),
                model: device.model.clone(),
                rotational: device.rotational,
            })
            .collect(),
        None => result.devices.iter().map(|device| Disk { name: device.name.clone(), ..Disk::default() }).collect(),
    }
}

/// A profile and the reason for it.
#[derive(Clone, Debug)]
pub struct ProfileChoice {
    /// The profile.
    pub profile: &'static Profile,
    /// Reason, for example `nvme0n1 is NVMe flash`; `None` if it was asked for.
    pub reason: Option<String>,
}

impl ProfileChoice {
    /// The profile with its reason and how to choose another; `None` if it was asked for.
    pub fn because(&self) -> Option<String> {
        let reason = self.reason.as_ref()?;
        Some(format!("Profile {}, because {reason}; --profile chooses another.", self.profile.name))
    }
}

/// Kind of a disk, as far as its name, its model and its own report say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Nvme,
    Flash,
    Rotating,
    /// A hypervisor, a cloud or the kernel makes it: it reports a kind that says nothing of what stores the bytes.
    Virtual,
    Unknown,
}

impl Kind {
    const fn profile(self) -> (&'static str, &'static str) {
        match self {
            Kind::Nvme => ("nvme-2026", "NVMe flash"),
            Kind::Flash => ("ssd-2026", "flash"),
            Kind::Rotating => ("oracle-2012", "a rotating disk"),
            Kind::Virtual => ("oracle-2012", "virtual, so the kind of what stores the bytes is not known"),
            Kind::Unknown => ("oracle-2012", "of a kind that is not known"),
        }
    }

    fn of(disk: &Disk) -> Kind {
        let model = disk.model.as_deref().unwrap_or_default();
        if VIRTUAL_NAMES.iter().any(|begin| disk.name.starts_with(begin))
            || VIRTUAL_MODELS.iter().any(|begin| model.starts_with(begin))
        {
            return Kind::Virtual;
        }
        match disk.rotational {
            _ if disk.name.starts_with("nvme") => Kind::Nvme,
            Some(false) => Kind::Flash,
            Some(true) => Kind::Rotating,
            None => Kind::Unknown,
        }
    }
}

/// Kernel names of devices that are made by a hypervisor or by the kernel.
const VIRTUAL_NAMES: [&str; 6] = ["vd", "xvd", "loop", "zram", "nbd", "ram"];
/// Beginnings of the models that hypervisors and clouds give to volumes that look like SCSI or NVMe disks.
const VIRTUAL_MODELS: [&str; 10] = [
    "QEMU",
    "VBOX",
    "VMware",
    "Virtual disk",
    "Virtual Disk",
    "Amazon Elastic Block Store",
    "PersistentDisk",
    "nvme_card-pd",
    "MSFT NVMe Accelerator",
    "BlockVolume",
];

/// Chooses the profile for results on these disks: of their kind if it is known, otherwise the first.
///
/// ```
/// use analysis::report_card::{Disk, profile_of};
///
/// let chosen = profile_of(&[Disk { name: "sda".into(), rotational: Some(false), ..Disk::default() }]);
/// assert_eq!((chosen.profile.name, chosen.reason.as_deref()), ("ssd-2026", Some("sda is flash")));
/// ```
pub fn profile_of(disks: &[Disk]) -> ProfileChoice {
    let names: Vec<&str> = disks.iter().map(|disk| disk.name.as_str()).collect();
    let kinds: Vec<Kind> = disks.iter().map(Kind::of).collect();
    let (name, kind) = match kinds.split_first() {
        None => Kind::Unknown.profile(),
        Some((first, rest)) if rest.iter().all(|kind| kind == first) => first.profile(),
        Some(_) => (Kind::Unknown.profile().0, "of several kinds"),
    };
    let subject = if names.is_empty() { "the disk".to_owned() } else { names.join(", ") };
    let verb = if names.len() > 1 { "are" } else { "is" };
    let profile = profile(name).unwrap_or(&PROFILES[0]);
    ProfileChoice { profile, reason: Some(format!("{subject} {verb} {kind}")) }
}
