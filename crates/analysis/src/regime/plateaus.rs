//! Rates that providers publish for their volumes. A flat rate of a virtual disk that is one of them is called *like*
//! such a volume, never more: other limits have the same numbers.
//!
//! Each row has the public page that states it and the month in which it was read. A plateau whose page could not be
//! read is not here: pd-balanced and pd-ssd (their pages state a baseline per instance since), Premium SSD v2,
//! Hyperdisk.

use crate::run_facts::float;
use measure::text;
use model::{Like, Monitored};

/// A rate is a published one within this share.
const NEAR: f64 = 0.01;
/// Bursts are at the published rate within this share.
const NEAR_BURST: f64 = 0.02;
/// Most deviation of a rate that a limit sets.
pub(super) const FLAT: f64 = 0.01;
const GIB: f64 = 1_073_741_824.0;

/// Seller of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Provider {
    Amazon,
    Azure,
    Google,
}

/// A public page and the month in which it was read.
type Source = (&'static str, &'static str);

/// gp3 has 3,000 IOPS; gp2 3 IOPS per GiB, 100 to 16,000, bursts to 3,000, 5.4 million credits.
const GENERAL_PURPOSE: Source = (
    "https://github.com/awsdocs/amazon-ec2-user-guide/blob/0147f878dcbad26b1151a12701a773743f0cd496/doc_source/general-purpose.md",
    "2026-11",
);
/// Maxima per volume: io1 64,000 IOPS and 1,000 MiB/s, io2 Block Express 256,000 and 4,000.
const VOLUME_TYPES: Source = (
    "https://github.com/awsdocs/amazon-ec2-user-guide/blob/0147f878dcbad26b1151a12701a773743f0cd496/doc_source/ebs-volume-types.md",
    "2026-11",
);
/// Base and burst of each size of Premium SSD.
const PREMIUM_SSD: Source = (
    "https://github.com/MicrosoftDocs/azure-docs/blob/1d25717f1a22291b7eb95f47321b70e81cec4841/includes/disk-storage-premium-ssd-sizes.md",
    "2026-11",
);
/// Standard persistent disk: 0.75 reads and 1.5 writes per second and GiB.
const PERSISTENT_DISK: Source = ("https://cloud.google.com/compute/docs/disks/performance", "2026-11");

/// A published rate that does not depend on the size: name, I/Os per second, bytes per second.
type Fixed = (&'static str, Option<f64>, Option<f64>, Source);

const MIB: f64 = 1_048_576.0;
const AMAZON: [Fixed; 7] = [
    ("EBS gp3 as sold without more", Some(3_000.0), Some(125.0 * MIB), GENERAL_PURPOSE),
    ("the most of EBS gp3", Some(16_000.0), Some(1_000.0 * MIB), GENERAL_PURPOSE),
    ("the most of EBS gp2", Some(16_000.0), Some(250.0 * MIB), GENERAL_PURPOSE),
    ("EBS gp2 of up to 170 GiB", None, Some(128.0 * MIB), GENERAL_PURPOSE),
    ("the least of EBS gp2 (up to 33 GiB)", Some(100.0), None, GENERAL_PURPOSE),
    ("the most of EBS io1", Some(64_000.0), Some(1_000.0 * MIB), VOLUME_TYPES),
    ("the most of EBS io2 Block Express", Some(256_000.0), Some(4_000.0 * MIB), VOLUME_TYPES),
];

/// A size of Azure's Premium SSD: name, largest GiB, base I/Os per second, base MB per second.
const AZURE: [(&str, f64, f64, f64); 11] = [
    ("P1 to P4", 32.0, 120.0, 25.0),
    ("P6", 64.0, 240.0, 50.0),
    ("P10", 128.0, 500.0, 100.0),
    ("P15", 256.0, 1_100.0, 125.0),
    ("P20", 512.0, 2_300.0, 150.0),
    ("P30", 1_024.0, 5_000.0, 200.0),
    ("P40", 2_048.0, 7_500.0, 250.0),
    ("P50", 4_096.0, 7_500.0, 250.0),
    ("P60", 8_192.0, 16_000.0, 500.0),
    ("P70", 16_384.0, 18_000.0, 750.0),
    ("P80", 32_767.0, 20_000.0, 900.0),
];
/// Bursts of the sizes up to P20.
const AZURE_BURST: f64 = 3_500.0;
const AZURE_BURST_GIB: f64 = 512.0;
/// Bursts, credits and I/Os per second and GiB of gp2.
const GP2_BURST: f64 = 3_000.0;
const GP2_CREDITS: f64 = 5_400_000.0;
const GP2_PER_GIB: f64 = 3.0;
const GP2_LEAST: f64 = 100.0;
const GP2_MOST: f64 = 16_000.0;

/// The disk of a run, as far as it says who sells it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SoldVolume {
    /// `None` if any of them may be it.
    provider: Option<Provider>,
    gib: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rate {
    pub(super) iops: f64,
    pub(super) bytes_per_second: f64,
    /// True if most bytes were written.
    pub(super) writes: bool,
}

impl SoldVolume {
    /// The disk below a run; `None` if there are several, or if it is not one that a provider sells.
    pub(crate) fn of(monitored: &Monitored) -> Option<SoldVolume> {
        let mut leaves = monitored.devices.iter().filter(|device| device.leaf);
        let (device, None) = (leaves.next()?, leaves.next()) else { return None };
        let gib = device.size_bytes.map(|bytes| float(bytes) / GIB);
        let provider = match device.model.as_deref().map(str::trim).unwrap_or_default() {
            "" => {
                // Xen and virtio disks have no model. A loop device is not one of them.
                let is_sold = ["xvd", "vd"].iter().any(|begin| device.name.starts_with(begin));
                return (is_sold && monitored.hypervisor.is_some()).then_some(SoldVolume { provider: None, gib });
            }
            "Amazon Elastic Block Store" => Provider::Amazon,
            "PersistentDisk" | "nvme_card-pd" => Provider::Google,
            model if model.starts_with("Virtual Disk") || model.starts_with("MSFT NVMe") => Provider::Azure,
            _ => return None,
        };
        Some(SoldVolume { provider: Some(provider), gib })
    }

    fn may_be(&self, provider: Provider) -> bool {
        self.provider.is_none_or(|known| known == provider)
    }

    /// True if a volume of this size may be the disk.
    fn fits(&self, gib: f64) -> bool {
        self.gib.is_none_or(|known| near(known, gib, NEAR_BURST))
    }

    /// The volumes that this rate is like.
    pub(super) fn like(&self, rate: &Rate) -> Vec<Like> {
        let mut found = Vec::new();
        if self.may_be(Provider::Amazon) {
            for (name, iops, bytes, source) in AMAZON {
                found.extend(matched(name, iops, bytes, rate, source));
            }
            let by_size = self.gib.map(|gib| (gib, (GP2_PER_GIB * gib).clamp(GP2_LEAST, GP2_MOST)));
            if let Some((gib, base)) = by_size.filter(|(_, base)| *base > GP2_LEAST && *base < GP2_MOST) {
                found.extend(matched(&format!("EBS gp2 of {gib:.0} GiB"), Some(base), None, rate, GENERAL_PURPOSE));
            }
        }
        if self.may_be(Provider::Azure) {
            let sizes = std::iter::once(0.0).chain(AZURE.iter().map(|size| size.1)).zip(AZURE);
            for (smaller, (name, gib, iops, megabytes)) in sizes {
                let fits = self.gib.is_none_or(|known| known > smaller && known <= gib);
                let name = format!("Azure Premium SSD {name}");
                found.extend(matched(&name, Some(iops), Some(1e6 * megabytes), rate, PREMIUM_SSD).filter(|_| fits));
            }
        }
        if let Some(gib) = self.gib.filter(|_| self.may_be(Provider::Google)) {
            let each = if rate.writes { 1.5 } else { 0.75 };
            let name = format!("standard persistent disk of {gib:.0} GiB");
            found.extend(matched(&name, Some(each * gib), None, rate, PERSISTENT_DISK));
        }
        found
    }

    /// The volumes whose credits these may be: I/Os per second before and after, and the I/Os that they were worth.
    pub(super) fn like_burst(&self, plateau: f64, base: f64, credits: f64) -> Vec<Like> {
        let mut found = Vec::new();
        let gib = base / GP2_PER_GIB;
        let is_whole = near(gib, gib.round(), NEAR);
        let is_gp2 = near(plateau, GP2_BURST, NEAR_BURST) && credits <= GP2_CREDITS * (1.0 + NEAR_BURST);
        if self.may_be(Provider::Amazon) && is_gp2 && base < GP2_BURST {
            if near(base, GP2_LEAST, NEAR) && self.gib.is_none_or(|gib| gib <= GP2_LEAST / GP2_PER_GIB) {
                found.push(named("EBS gp2 of up to 33 GiB".to_owned(), GENERAL_PURPOSE));
            } else if base > GP2_LEAST && is_whole && self.fits(gib) {
                found.push(named(format!("EBS gp2 of {} GiB", text::number(gib.round())), GENERAL_PURPOSE));
            }
        }
        if self.may_be(Provider::Azure) && near(plateau, AZURE_BURST, NEAR_BURST) {
            let small = AZURE.iter().filter(|size| size.1 <= AZURE_BURST_GIB && near(base, size.2, NEAR));
            found.extend(small.map(|size| named(format!("Azure Premium SSD {}", size.0), PREMIUM_SSD)));
        }
        found
    }
}

fn near(value: f64, published: f64, share: f64) -> bool {
    published > 0.0 && (value / published - 1.0).abs() <= share
}

/// The volume, if the rate is at its I/Os or at its bytes per second.
fn matched(name: &str, iops: Option<f64>, bytes: Option<f64>, rate: &Rate, source: Source) -> Option<Like> {
    if iops.is_some_and(|iops| near(rate.iops, iops, NEAR)) {
        return iops.map(|iops| named(format!("{name} ({} IOPS)", text::number(iops)), source));
    }
    let bytes = bytes.filter(|&bytes| near(rate.bytes_per_second, bytes, NEAR))?;
    Some(named(format!("{name} ({})", text::rate(bytes)), source))
}

fn named(name: String, (source, read): Source) -> Like {
    Like { name, source: source.to_owned(), read: read.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::DeviceFacts;

    fn place(name: &str, model: Option<&str>, gib: u64) -> Option<SoldVolume> {
        let device = DeviceFacts {
            name: name.into(),
            leaf: true,
            model: model.map(str::to_owned),
            size_bytes: Some(gib << 30),
            ..DeviceFacts::default()
        };
        SoldVolume::of(&Monitored { devices: vec![device], hypervisor: Some("kvm".into()), ..Monitored::default() })
    }

    fn names(all: &[Like]) -> Vec<&str> {
        all.iter().map(|like| like.name.as_str()).collect()
    }

    fn rate(iops: f64, block: f64) -> Rate {
        Rate { iops, bytes_per_second: iops * block, writes: false }
    }

    #[test]
    fn a_flat_rate_is_like_the_volumes_of_its_provider_and_size() {
        let ebs = place("nvme1n1", Some("Amazon Elastic Block Store              "), 500).unwrap();
        assert_eq!(names(&ebs.like(&rate(3_004.0, 4096.0))), ["EBS gp3 as sold without more (3,000 IOPS)"]);
        assert_eq!(names(&ebs.like(&rate(1_497.0, 4096.0))), ["EBS gp2 of 500 GiB (1,500 IOPS)"]);
        assert_eq!(names(&ebs.like(&rate(125.2, 1_048_576.0))), ["EBS gp3 as sold without more (125 MiB/s)"]);
        assert_eq!(names(&ebs.like(&rate(3_100.0, 4096.0))), [""; 0]);
        let azure = place("sda", Some("Virtual Disk"), 1_024).unwrap();
        assert_eq!(names(&azure.like(&rate(5_010.0, 4096.0))), ["Azure Premium SSD P30 (5,000 IOPS)"]);
        assert_eq!(names(&azure.like(&rate(2_300.0, 4096.0))), [""; 0], "that is a P20, which is smaller");
        assert_eq!(names(&azure.like(&rate(200.0, 1e6))), ["Azure Premium SSD P30 (191 MiB/s)"]);
        let google = place("sdb", Some("PersistentDisk"), 400).unwrap();
        assert_eq!(names(&google.like(&rate(300.0, 4096.0))), ["standard persistent disk of 400 GiB (300 IOPS)"]);
        let written = Rate { writes: true, ..rate(600.0, 4096.0) };
        assert_eq!(names(&google.like(&written)), ["standard persistent disk of 400 GiB (600 IOPS)"]);
        for like in ebs.like(&rate(3_000.0, 4096.0)) {
            assert!(like.source.starts_with("https://") && like.read == "2026-11", "{like:?}");
        }
    }

    #[test]
    fn credits_are_those_of_a_volume_of_that_size() {
        let of = |place: Option<SoldVolume>, plateau, base| {
            let found = place.unwrap().like_burst(plateau, base, 5.4e6);
            found.into_iter().map(|like| like.name).collect::<Vec<_>>()
        };
        let ebs = |gib| place("xvdf", None, gib);
        assert_eq!(of(ebs(100), 3_010.0, 301.0), ["EBS gp2 of 100 GiB"]);
        assert_eq!(of(ebs(20), 2_990.0, 100.0), ["EBS gp2 of up to 33 GiB"]);
        assert_eq!(of(ebs(500), 3_000.0, 300.0), [""; 0], "a volume of that size has 1,500 IOPS");
        assert_eq!(of(ebs(100), 2_500.0, 300.0), [""; 0]);
        assert_eq!(ebs(100).unwrap().like_burst(3_000.0, 300.0, 9e6), [], "more credits than there are");
        assert_eq!(of(place("sda", Some("Virtual Disk"), 128), 3_490.0, 500.0), ["Azure Premium SSD P10"]);
    }

    #[test]
    fn a_disk_that_is_not_rented_by_the_hour_is_like_none() {
        for (name, model) in [
            ("nvme0n1", Some("Samsung SSD 990 PRO")),
            ("nvme1n1", Some("Amazon EC2 NVMe Instance Storage")),
            ("sda", Some("QEMU HARDDISK")),
            ("loop0", None),
            ("sda", None),
        ] {
            assert_eq!(place(name, model, 100), None, "{name} {model:?}");
        }
        assert!(place("vda", None, 100).is_some());
        assert_eq!(SoldVolume::of(&Monitored::default()), None);
    }
}
