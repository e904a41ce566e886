//! The load of a job: I/O direction, block sizes, offsets and syncs.

use measure::{Direction, PerDirection};
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

/// I/O directions of a job (`rw`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mix {
    /// One direction only.
    Only(Direction),
    /// Reads and writes.
    ReadWrite,
    /// Each block trimmed, then written.
    TrimWrite,
}

impl Mix {
    /// True if the mix contains this direction.
    pub const fn contains(self, direction: Direction) -> bool {
        match self {
            Mix::Only(only) => only as u8 == direction as u8,
            Mix::ReadWrite => matches!(direction, Direction::Read | Direction::Write),
            Mix::TrimWrite => matches!(direction, Direction::Trim | Direction::Write),
        }
    }
}

/// The load of a job.
#[derive(Clone, Debug, PartialEq, SmartDefault)]
pub struct LoadPlan {
    /// I/O directions.
    #[default(Mix::Only(Direction::Read))]
    pub mix: Mix,
    /// Offsets are random instead of sequential.
    pub random: bool,
    /// Percentage of reads in a read-write mix, 0–100.
    #[default(50)]
    pub read_percent: u8,
    /// Block sizes.
    #[default(PerDirection::all(BlockSize::Fixed(4096)))]
    pub block_size: PerDirection<BlockSize>,
    /// Block sizes need not be multiples of the smallest.
    pub unaligned_sizes: bool,
    /// Distribution of random offsets over the region.
    #[default(Distribution::Uniform)]
    pub distribution: Distribution,
    /// Each round of a [`Distribution::Sequence`] goes on after the last one (`random_sequence_stride`).
    pub sequence_strides: bool,
    /// Writes each region of an SSD's flash so that it is in the state of long random writing.
    pub sprandom: Option<SprandomPlan>,
    /// Modifier of the order of I/Os (`rw=...:N`).
    #[default(Step::Plain)]
    pub step: Step,
    /// Percentage of random instead of sequential I/Os in a random job, 0–100.
    #[default(PerDirection::all(100))]
    pub percent_random: PerDirection<u8>,
    /// Each block is used once per pass (random map); off with norandommap.
    #[default(true)]
    pub cover_all: bool,
    /// Random number generator.
    #[default(Generator::Tausworthe)]
    pub generator: Generator,
    /// Seed; `None` for one from the system.
    #[default(Some(0x89))]
    pub seed: Option<u64>,
    /// Each loop repeats the same sequence.
    #[default(true)]
    pub repeat_per_loop: bool,
    /// Writes between two calls of fsync; 0 for none.
    pub fsync_every: u64,
    /// Writes between two calls of fdatasync; 0 for none.
    pub fdatasync_every: u64,
    /// fsync at the end of the job.
    pub end_fsync: bool,
    /// fsync when a file is closed.
    pub fsync_on_close: bool,
    /// syncfs at the end of the job.
    pub end_syncfs: bool,
    /// sync_file_range, if used.
    pub range_sync: Option<RangeSync>,
    /// Alignment of random offsets in bytes, if it differs from the smallest block size.
    #[default(PerDirection::all(None))]
    pub align: PerDirection<Option<u32>>,
    /// Sequential I/Os use the read block size and random ones the write block size, in either direction
    /// (`bs_is_seq_rand`).
    pub sizes_by_order: bool,
    /// Continue without the random map if there is not enough memory for it.
    pub soft_map: bool,
    /// Zones.
    #[default(ZonePlan::None)]
    pub zones: ZonePlan,
}

impl LoadPlan {
    /// The directions whose block sizes are used: those of the mix or, with `sizes_by_order`, those that stand for
    /// sequential and random I/O.
    pub fn sized_by(&self) -> impl Iterator<Item = Direction> + use<> {
        let mix = self.mix;
        let all_random = Direction::ALL.into_iter().all(|each| !mix.contains(each) || self.percent_random[each] >= 100);
        let plain = self.random && all_random && self.step == Step::Plain;
        let (by_order, random) = (self.sizes_by_order, self.random);
        Direction::ALL.into_iter().filter(move |&direction| match direction {
            _ if !by_order => mix.contains(direction),
            Direction::Read => !plain,
            Direction::Write => random,
            Direction::Trim => false,
        })
    }

    /// The smallest and largest block size of each direction, in bytes.
    pub fn size_ranges(&self) -> PerDirection<(u32, u32)> {
        let range = |direction: Direction| {
            let size = &self.block_size[direction];
            (size.smallest(), size.largest())
        };
        PerDirection { read: range(Direction::Read), write: range(Direction::Write), trim: range(Direction::Trim) }
    }

    /// The smallest block size in use, in bytes.
    pub fn smallest(&self) -> u32 {
        self.sized_by().map(|direction| self.block_size[direction].smallest()).min().unwrap_or(1).max(1)
    }

    /// The largest block size in use, in bytes.
    pub fn largest(&self) -> u32 {
        self.sized_by().map(|direction| self.block_size[direction].largest()).max().unwrap_or(1).max(1)
    }
}

/// Use of sync_file_range(2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RangeSync {
    /// Writes between two calls.
    pub every: u64,
    /// SYNC_FILE_RANGE_WAIT_BEFORE: wait for writeback in progress.
    pub wait_before: bool,
    /// SYNC_FILE_RANGE_WRITE: start writeback.
    pub write: bool,
    /// SYNC_FILE_RANGE_WAIT_AFTER: wait for that writeback.
    pub wait_after: bool,
}

/// Modifier of the order of I/Os (`rw=...:N`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The next block, or the next random offset.
    #[default]
    Plain,
    /// Sequential: skip this many bytes forward, or backward if negative, from the next block.
    Skip(i64),
    /// Random: this many consecutive blocks per random offset.
    Run(u32),
    /// Random: this many I/Os at each random offset.
    Repeat(u32),
}

/// Block size in one direction, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockSize {
    /// A fixed size.
    Fixed(u32),
    /// Between the two, in multiples of the first.
    Range(u32, u32),
    /// Sizes and their percentages, which sum to 100.
    Split(Vec<(u32, u8)>),
}

impl BlockSize {
    /// The smallest size in bytes.
    pub fn smallest(&self) -> u32 {
        match self {
            BlockSize::Fixed(size) | BlockSize::Range(size, _) => *size,
            BlockSize::Split(parts) => parts.iter().map(|&(size, _)| size).min().unwrap_or(0),
        }
    }

    /// The largest size in bytes.
    pub fn largest(&self) -> u32 {
        match self {
            BlockSize::Fixed(size) | BlockSize::Range(_, size) => *size,
            BlockSize::Split(parts) => parts.iter().map(|&(size, _)| size).max().unwrap_or(0),
        }
    }
}

/// Distribution of random offsets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Uniform.
    #[default]
    Uniform,
    /// Zipf with this exponent, and the centre as a fraction of the region (hashed over the region if absent).
    Zipf(f64, Option<f64>),
    /// Pareto with this shape, and the centre.
    Pareto(f64, Option<f64>),
    /// Normal with this deviation in percent, and the centre.
    Normal(f64, Option<f64>),
    /// Percentages of I/O for percentages of the region, per direction.
    Zoned(PerDirection<Vec<(u8, u8)>>),
    /// Percentages of I/O for ranges of the region in bytes, per direction.
    ZonedAbsolute(PerDirection<Vec<(u8, u64)>>),
    /// These blocks, by number, again and again.
    Sequence(Vec<u64>),
}

/// Random writes that bring an SSD into the state of long random writing in one pass (`sprandom`).
#[derive(Clone, Copy, Debug, PartialEq, SmartDefault)]
pub struct SprandomPlan {
    /// Flash beyond the size that the device shows, as a fraction of that size.
    #[default(0.15)]
    pub over_provisioning: f64,
    /// Number of regions that the flash is written in.
    #[default(100)]
    pub regions: u32,
    /// Size of the device's write cache in bytes; 0 for none.
    pub cache_bytes: u64,
}

impl SprandomPlan {
    /// Size of a region in bytes, on a device that shows `size` bytes.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a byte more or less")]
    pub fn region_bytes(&self, size: u64) -> u64 {
        (size as f64 * (1.0 + self.over_provisioning) / f64::from(self.regions.max(1))) as u64
    }
}

/// Random number generator for offsets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Generator {
    /// Tausworthe with three components, 32 bits, or 64 bits if the region is large.
    #[default]
    Tausworthe,
    /// Tausworthe, always 64 bits.
    Tausworthe64,
    /// Linear-feedback shift register: a permutation, which needs no random map.
    Lfsr,
}

/// The operation of a single I/O.
///
/// ```
/// use measure::Direction;
/// use plan::Operation;
///
/// assert_eq!(Operation::of(Direction::Write), Operation::Write);
/// assert_eq!(Operation::Sync.direction(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Operation {
    /// Device to memory.
    Read,
    /// Memory to device.
    Write,
    /// Discard the range.
    Trim,
    /// fsync(2) of the file.
    Sync,
    /// fdatasync(2) of the file.
    DataSync,
}

impl Operation {
    /// The operation that moves data in this direction.
    #[inline]
    pub const fn of(direction: Direction) -> Self {
        match direction {
            Direction::Read => Operation::Read,
            Direction::Write => Operation::Write,
            Direction::Trim => Operation::Trim,
        }
    }

    /// The direction in which the I/O is counted; `None` for syncs.
    #[inline]
    pub const fn direction(self) -> Option<Direction> {
        match self {
            Operation::Read => Some(Direction::Read),
            Operation::Write => Some(Direction::Write),
            Operation::Trim => Some(Direction::Trim),
            Operation::Sync | Operation::DataSync => None,
        }
    }
}

/// An access pattern: the directions of I/O, and sequential or random offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RwPattern {
    /// I/O directions.
    pub mix: Mix,
    /// Offsets are random instead of sequential.
    pub random: bool,
}

const fn sequential(mix: Mix) -> RwPattern {
    RwPattern { mix, random: false }
}

const fn random(mix: Mix) -> RwPattern {
    RwPattern { mix, random: true }
}

/// All words. Of two with the same meaning the preferred one comes first.
const WORDS: [(&str, RwPattern); 11] = [
    ("read", sequential(Mix::Only(Direction::Read))),
    ("write", sequential(Mix::Only(Direction::Write))),
    ("trim", sequential(Mix::Only(Direction::Trim))),
    ("randread", random(Mix::Only(Direction::Read))),
    ("randwrite", random(Mix::Only(Direction::Write))),
    ("randtrim", random(Mix::Only(Direction::Trim))),
    ("rw", sequential(Mix::ReadWrite)),
    ("readwrite", sequential(Mix::ReadWrite)),
    ("randrw", random(Mix::ReadWrite)),
    ("trimwrite", sequential(Mix::TrimWrite)),
    ("randtrimwrite", random(Mix::TrimWrite)),
];

impl RwPattern {
    /// Returns the pattern with this name; `None` for any other text.
    pub fn parse(word: &str) -> Option<Self> {
        WORDS.iter().find(|(known, _)| *known == word).map(|&(_, pattern)| pattern)
    }

    /// Name of the pattern, such as `randread`.
    pub fn name(self) -> &'static str {
        WORDS.iter().find(|(_, pattern)| *pattern == self).map_or("", |(word, _)| word)
    }
}

/// Zone mode of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ZonePlan {
    /// No zones.
    #[default]
    None,
    /// Windows with gaps between them.
    Strided(Strides),
    /// Zones that are written sequentially and reset as a whole.
    Zoned(Zoned),
}

/// Windows with gaps between them: after `amount` bytes of I/O in a window, the next window follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strides {
    /// Bytes of I/O per window.
    pub amount: u64,
    /// Size of a window in bytes.
    pub window: u64,
    /// Gap between two windows.
    pub skip: Gap,
}

/// Size of a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// Bytes.
    Bytes(u64),
    /// Percent of the region.
    Percent(u32),
}

/// Zones are smaller than this, in bytes (16 TiB).
pub const ZONE_BYTES_MAX: u64 = 1 << 44;

/// Zones that are written sequentially and reset as a whole.
#[derive(Clone, Copy, Debug, PartialEq, SmartDefault)]
pub struct Zoned {
    /// Size of a zone in bytes; 0 for that of the zoned device.
    pub size: u64,
    /// Writable bytes of an emulated zone.
    pub capacity: u64,
    /// Maximum number of zones of a file or device that all jobs may have open (partly written); `None` for no limit.
    pub open_most: Option<u32>,
    /// Maximum number of zones that this job may have open; `None` for no limit.
    pub opened_by_job_most: Option<u32>,
    /// Reads may go beyond the write pointer.
    pub reads_anywhere: bool,
    /// Fraction of the region after which resets begin; `None` to reset a zone only when it is written again.
    pub reset_threshold: Option<f64>,
    /// Fraction of writes that are preceded by a reset, beyond the threshold.
    #[default(1.0)]
    pub reset_frequency: f64,
    /// The remainder of a zone that is smaller than a block is written, too.
    pub writes_remainder: bool,
    /// The limits of open zones that a device states do not apply.
    pub ignores_limits: bool,
    /// After a failed write the device is asked for the zone's write pointer, and the job goes on there.
    pub recovers: bool,
}
