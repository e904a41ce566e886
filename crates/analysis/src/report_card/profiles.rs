//! The tests of a card, and profiles: sets of bounds of their grades per kind of disk and period.

use measure::text::{SizeStyle, exact_size};
use model::Measurement;
use model::measurement::{AccessOrder, AccessPattern};
use model::reading::ReadKind;

/// Grades from best to worst; the last has no upper bound.
pub const GRADES: [&str; 8] = ["A+", "A", "A-", "B", "B-", "C", "C-", "D"];
/// Upper bounds of all grades but the last; a value equal to the bound has the better grade.
pub type Bounds = [f64; 7];

/// A test without which a card has a gap, or one that a card has only where it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The default survey measures it.
    Always,
    /// A card without it is complete.
    IfMeasured,
}

/// A test of a card: what it stands for, and the runs that fit it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// Name of the workload, for example `Index lookups`.
    pub workload: &'static str,
    /// Its name without the block size, for example `random read`.
    pub title: &'static str,
    /// Access pattern.
    pub pattern: AccessPattern,
    /// The block size that its bounds were made for, in bytes.
    pub block_bytes: u64,
    /// Smallest and largest block size of a run that fits, in bytes.
    pub fits: (u64, u64),
    /// Number of users that its bounds were made for.
    pub users: u32,
    /// Number of users of the run with more load.
    pub more_users: u32,
    /// If a card needs it.
    pub need: Need,
}

impl Test {
    /// Name with this block size: `log write 8K`.
    pub fn named(&self, block_bytes: u64) -> String {
        format!("{} {}", self.title, size(block_bytes))
    }

    /// The runs that fit: `random read 2K to 32K by 8 to 32 users`.
    pub fn range(&self) -> String {
        let (least, most) = self.fits;
        let ([first, last], title) = (Test::loads(self.users), self.title);
        let users = match first {
            1 => format!("{first} or {last} users"),
            _ => format!("{first} to {last} users"),
        };
        format!("{title} {} to {} by {users}", size(least), size(most))
    }

    /// Least and most users of the run with more load.
    pub(super) const fn more_loads(&self) -> [u32; 2] {
        Test::loads(self.more_users)
    }

    /// Least and most users that stand for this number: half and twice as many.
    pub(super) const fn loads(users: u32) -> [u32; 2] {
        [users.div_ceil(2), 2 * users]
    }

    /// True if a row has its pattern and a block size that fits.
    pub fn takes(&self, row: &Measurement) -> bool {
        let (least, most) = self.fits;
        let one_size = row.block.filter(|(low, high)| low == high);
        row.test.pattern() == Some(self.pattern) && one_size.is_some_and(|(size, _)| (least..=most).contains(&size))
    }
}

fn size(bytes: u64) -> String {
    exact_size(bytes, SizeStyle::Table)
}

const RANDOM_READ: AccessPattern = AccessPattern { order: AccessOrder::Random, kind: ReadKind::Read };
const READ: AccessPattern = AccessPattern { order: AccessOrder::Sequential, kind: ReadKind::Read };
const WRITE: AccessPattern = AccessPattern { order: AccessOrder::Sequential, kind: ReadKind::Write };
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The tests in the order of the card.
pub static TESTS: [Test; 4] = [
    Test {
        workload: "Index lookups",
        title: "random read",
        pattern: RANDOM_READ,
        block_bytes: 8 * KIB,
        fits: (2 * KIB, 32 * KIB),
        users: 16,
        more_users: 32,
        need: Need::Always,
    },
    Test {
        workload: "Full scans",
        title: "sequential read",
        pattern: READ,
        block_bytes: MIB,
        fits: (256 * KIB, 4 * MIB),
        users: 1,
        more_users: 8,
        need: Need::Always,
    },
    Test {
        workload: "Small commits",
        title: "log write",
        pattern: WRITE,
        block_bytes: KIB,
        fits: (512, 32 * KIB),
        users: 4,
        more_users: 16,
        need: Need::Always,
    },
    Test {
        workload: "Bulk commits",
        title: "log write",
        pattern: WRITE,
        block_bytes: 128 * KIB,
        fits: (64 * KIB, 512 * KIB),
        users: 4,
        more_users: 16,
        need: Need::IfMeasured,
    },
];

/// Bounds of the latency of a test at a block size, in milliseconds.
#[derive(Clone, Debug, PartialEq)]
struct Point {
    block_bytes: u64,
    bounds_ms: Bounds,
}

/// The bounds of one test at two block sizes: those of others lie on the line through them, as the time of an I/O is
/// that of the access and that of its bytes.
type Line = [Point; 2];

/// A set of bounds.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Name on the command line.
    pub name: &'static str,
    /// Purpose and origin.
    pub help: &'static str,
    /// Bounds of each of [`TESTS`].
    lines: [Line; 4],
}

impl Profile {
    /// The bounds of one of [`TESTS`] for this block size and number of users.
    ///
    /// Fewer users than the bounds were made for have as much less time, more have no more: the grade is never better
    /// than with that number of users.
    pub fn bounds_ms(&self, test: usize, block_bytes: u64, users: f64) -> Bounds {
        let [near, far] = &self.lines[test];
        let along = (block_bytes as f64 - near.block_bytes as f64) / (far.block_bytes as f64 - near.block_bytes as f64);
        let share = (users / f64::from(TESTS[test].users)).min(1.0);
        let mut bounds = near.bounds_ms;
        for (bound, far) in bounds.iter_mut().zip(far.bounds_ms) {
            *bound = share * (*bound + along * (far - *bound));
        }
        bounds
    }
}

/// Bounds for this share of the time of an I/O that is the transfer of its bytes; the rest does not grow with them.
const fn growing(block_bytes: u64, bounds_ms: Bounds, transfer: f64) -> Line {
    let mut far = bounds_ms;
    let mut at = 0;
    while at < far.len() {
        far[at] *= 1.0 + 3.0 * transfer;
        at += 1;
    }
    [Point { block_bytes, bounds_ms }, Point { block_bytes: 4 * block_bytes, bounds_ms: far }]
}

/// The lines of all tests; both log writes lie on one. `transfer` is that of random reads and of sequential ones.
const fn lines([random, read, small, bulk]: [Bounds; 4], transfer: [f64; 2]) -> [Line; 4] {
    [
        growing(8 * KIB, random, transfer[0]),
        growing(MIB, read, transfer[1]),
        [Point { block_bytes: KIB, bounds_ms: small }, Point { block_bytes: 128 * KIB, bounds_ms: bulk }],
        [Point { block_bytes: KIB, bounds_ms: small }, Point { block_bytes: 128 * KIB, bounds_ms: bulk }],
    ]
}

/// Share of transfer in the bound of A+ for this many bytes at once, at the interface's full rate.
const fn transfer(bytes: u64, bytes_per_second: f64, bound_ms: f64) -> f64 {
    1000.0 * bytes as f64 / bytes_per_second / bound_ms
}

const SATA_RATE: f64 = 550e6;
const NVME_RATE: f64 = 3e9;

/// All profiles. The bounds for current devices are derived from their maximum throughput at the base load: A+ is the
/// time needed to transfer the blocks of all users at the interface's full rate (SATA 550 MB/s; NVMe 3 GB/s and 500,000
/// reads/s) with a margin, and C- is about ten times that, at which such a device is useless for a database. Reads of
/// another block size have as much more or less time as the transfer of their bytes takes; on a rotating disk a random
/// read is all access, and a sequential one all transfer.
pub const PROFILES: &[Profile] = &[
    Profile {
        name: "oracle-2012",
        help: "databases on the disks and arrays of 2012 (the bounds of grade.r)",
        lines: lines(
            [
                [2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0],
                [12.0, 14.0, 16.0, 18.0, 20.0, 22.0, 24.0],
                [0.2, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0],
                [2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0],
            ],
            [0.0, 1.0],
        ),
    },
    Profile {
        name: "ssd-2026",
        help: "SATA and SAS flash of 2026",
        lines: lines(
            [
                [0.3, 0.4, 0.6, 0.8, 1.0, 1.5, 2.5],
                [2.2, 2.6, 3.2, 4.0, 6.0, 10.0, 20.0],
                [0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 1.0],
                [1.1, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0],
            ],
            [transfer(16 * 8 * KIB, SATA_RATE, 0.3), transfer(MIB, SATA_RATE, 2.2)],
        ),
    },
    Profile {
        name: "nvme-2026",
        help: "NVMe flash of 2026",
        lines: lines(
            [
                [0.12, 0.16, 0.2, 0.3, 0.4, 0.6, 1.0],
                [0.4, 0.5, 0.7, 1.0, 1.5, 2.5, 4.0],
                [0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5],
                [0.2, 0.3, 0.4, 0.6, 0.9, 1.4, 2.0],
            ],
            [transfer(16 * 8 * KIB, NVME_RATE, 0.12), transfer(MIB, NVME_RATE, 0.4)],
        ),
    },
];

/// That of rotating disks.
pub(super) const ROTATING: &Profile = &PROFILES[0];
/// That of flash behind SATA or SAS.
pub(super) const SATA: &Profile = &PROFILES[1];
/// That of NVMe flash.
pub(super) const NVME: &Profile = &PROFILES[2];

/// Returns the profile with this name.
pub fn profile(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}
