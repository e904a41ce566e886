//! Choice of the profile: by the kind of the disk, or, where that says nothing of what stores the bytes, by what it does.

use super::profiles::{NVME, Profile, ROTATING, SATA, TESTS, Test};
use super::runs::Run;
use measure::text;
use model::{Measurement, RunResult};

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

/// A profile and the reason for it, or the reason why there is none.
#[derive(Clone, Debug)]
pub struct ProfileChoice {
    /// The profile; `None` if no public bounds are known for what the disk does.
    pub profile: Option<&'static Profile>,
    /// Reason, for example `nvme0n1 is NVMe flash`; `None` if it was asked for.
    pub reason: Option<String>,
}

impl ProfileChoice {
    /// The profile that was asked for.
    pub fn asked(profile: &'static Profile) -> ProfileChoice {
        ProfileChoice { profile: Some(profile), reason: None }
    }

    /// The profile with its reason and how to choose another; `None` if it was asked for.
    pub fn because(&self) -> Option<String> {
        let reason = self.reason.as_ref()?;
        Some(match self.profile {
            Some(profile) => format!("Profile {}, because {reason}; --profile chooses another.", profile.name),
            None => format!("No profile, so latencies have no grade: {reason}; --profile chooses one."),
        })
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

    /// The profile of disks that are of this kind, and its words; `None` in place of it where what they do decides.
    const fn profile(self) -> (Option<&'static Profile>, &'static str) {
        match self {
            Kind::Nvme => (Some(NVME), "NVMe flash"),
            Kind::Flash => (Some(SATA), "flash"),
            Kind::Rotating => (Some(ROTATING), "a rotating disk"),
            Kind::Virtual => (None, "virtual"),
            Kind::Unknown => (None, "of a kind that is not known"),
        }
    }
}

/// Kernel names of devices that are made by a hypervisor, by the kernel or by a program, or are behind a network.
const VIRTUAL_NAMES: [&str; 12] =
    ["vd", "xvd", "loop", "zram", "nbd", "ram", "rbd", "drbd", "nullb", "ublk", "zd", "pmem"];
/// Beginnings of the models that hypervisors and clouds give to volumes that look like SCSI or NVMe disks.
const VIRTUAL_MODELS: [&str; 14] = [
    "QEMU",
    "VBOX",
    "ORCL-VBOX",
    "VMware",
    "Virtual disk",
    "Virtual Disk",
    "Virtual_disk",
    "Amazon Elastic Block Store",
    "Alibaba Cloud Elastic Block Storage",
    "PersistentDisk",
    "nvme_card-pd",
    "MSFT NVMe Accelerator",
    "BlockVolume",
    "LIO-ORG",
];

/// Behaviour of a disk, by the latency of one random read at a time and by its highest rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Nvme,
    Sata,
    Rotating,
    Network,
}

impl Class {
    const fn words(self) -> (Option<&'static Profile>, &'static str) {
        match self {
            Class::Nvme => (Some(NVME), "it does what NVMe flash does"),
            Class::Sata => (Some(SATA), "it does what flash behind SATA does"),
            Class::Rotating => (Some(ROTATING), "it does what a rotating disk does"),
            Class::Network => {
                (None, "it does what storage behind a network does, for which no public bounds are known")
            }
        }
    }
}

/// Most that one random read of flash takes, in ns. Data sheets state 92 to 150 µs (Micron 9200: "latency to media,
/// QD 1"), to which a hypervisor adds; volumes behind a network are above it ("under 500 µs", Amazon EBS io2).
const FLASH_NS: f64 = 250_000.0;
/// Least that one random read of a rotating disk takes, in ns: half a turn at 15,000 per minute.
const ROTATING_NS: f64 = 2_000_000.0;
/// Most that SATA carries (6 Gb/s in a code of 8 of 10 bits), in bytes per second.
const SATA_RATE: f64 = 600e6;
/// More random reads per second than any data sheet of SATA flash states (Micron 5400: 95,000).
const SATA_IOPS: f64 = 100_000.0;

/// The class of the disk that these runs were on, and the numbers that show it; `None` if no run does.
fn class_of(rows: &[Measurement]) -> Option<(Class, String)> {
    let [random_read, ..] = &TESTS;
    let reads = rows.iter().rev().filter(|row| random_read.takes(row)).filter_map(Run::of);
    let lightest = reads.filter(|run| run.usable().is_ok()).min_by_key(|run| run.load)?;
    // More users never do less than one, and never more than as many times as much: one read at a time takes between a
    // share of this latency and all of it.
    let most = lightest.row.mean_ns?;
    let least = most / f64::from(lightest.load);
    let took = format!(
        "{} takes {} by {}",
        random_read.named(lightest.block_bytes),
        text::time(most),
        text::counted(lightest.load.into(), "user")
    );
    if most <= FLASH_NS {
        return Some(match faster_than_sata(rows) {
            Some(rate) => (Class::Nvme, format!("{took}, and {rate}, more than flash behind SATA does")),
            None => (Class::Sata, format!("{took}, and no run is faster than SATA")),
        });
    }
    let class = match () {
        () if least >= ROTATING_NS => Class::Rotating,
        () if least > FLASH_NS && most < ROTATING_NS => Class::Network,
        () => return None,
    };
    Some((class, took))
}

/// The fastest read that SATA does not carry: `sequential read 1M by 8 users moves 1,250 MiB/s`.
fn faster_than_sata(rows: &[Measurement]) -> Option<String> {
    let [random, sequential, ..] = &TESTS;
    let of = |test: &'static Test| rows.iter().filter(|row| test.takes(row)).filter_map(Run::of);
    let usable = |run: &Run<'_>| run.usable().is_ok();
    let rate = |run: &Run<'_>| run.row.bytes_per_second.unwrap_or(0.0);
    let iops = |run: &Run<'_>| run.row.iops.unwrap_or(0.0);
    let said = |test: &Test, run: &Run<'_>, does: String| {
        format!("{} by {} {does}", test.named(run.block_bytes), text::counted(run.load.into(), "user"))
    };
    let moves = |test: &'static Test| {
        let most = of(test).filter(usable).max_by(|one, other| rate(one).total_cmp(&rate(other)))?;
        (rate(&most) > SATA_RATE).then(|| said(test, &most, format!("moves {}", text::rate(rate(&most)))))
    };
    let reaches = || {
        let most = of(random).filter(usable).max_by(|one, other| iops(one).total_cmp(&iops(other)))?;
        (iops(&most) > SATA_IOPS).then(|| said(random, &most, format!("reaches {} IOPS", text::number(iops(&most)))))
    };
    moves(sequential).or_else(|| moves(random)).or_else(reaches)
}

/// Chooses the profile for these runs on these disks: of their kind if it is known, otherwise by what they do.
///
/// ```
/// use analysis::report_card::{Disk, profile_of};
///
/// let chosen = profile_of(&[Disk { name: "sda".into(), rotational: Some(false), ..Disk::default() }], &[]);
/// assert_eq!(chosen.profile.map(|profile| profile.name), Some("ssd-2026"));
/// assert_eq!(chosen.reason.as_deref(), Some("sda is flash"));
/// ```
pub fn profile_of(disks: &[Disk], rows: &[Measurement]) -> ProfileChoice {
    let names: Vec<&str> = disks.iter().map(|disk| disk.name.as_str()).collect();
    let kinds: Vec<Kind> = disks.iter().map(Kind::of).collect();
    let (profile, kind) = match kinds.split_first() {
        None => Kind::Unknown.profile(),
        Some((first, rest)) if rest.iter().all(|kind| kind == first) => first.profile(),
        Some(_) => (None, "of several kinds"),
    };
    let subject = if names.is_empty() { "the disk".to_owned() } else { names.join(", ") };
    let verb = if names.len() > 1 { "are" } else { "is" };
    let reason = format!("{subject} {verb} {kind}");
    if profile.is_some() {
        return ProfileChoice { profile, reason: Some(reason) };
    }
    let Some((class, numbers)) = class_of(rows) else {
        let reason = format!("{reason}, and no random read by 1 user shows what it does");
        return ProfileChoice { profile: None, reason: Some(reason) };
    };
    let (profile, does) = class.words();
    ProfileChoice { profile, reason: Some(format!("{reason}, and {does}: {numbers}")) }
}
