//! Which I/Os, in which order: mix, sizes, offsets, syncs.

use super::ZonePlan;
use measure::{Direction, PerDirection};

/// What moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// One direction only.
    Only(Direction),
    /// Reads and writes.
    ReadWrite,
    /// Each block trimmed, then written.
    TrimWrite,
}

impl Mix {
    /// Whether the mix contains this direction.
    pub const fn contains(self, direction: Direction) -> bool {
        match self {
            Mix::Only(only) => only as u8 == direction as u8,
            Mix::ReadWrite => matches!(direction, Direction::Read | Direction::Write),
            Mix::TrimWrite => matches!(direction, Direction::Trim | Direction::Write),
        }
    }
}

/// Which I/Os, in which order.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadPlan {
    /// What moves.
    pub mix: Mix,
    /// Offsets are drawn rather than counted up.
    pub random: bool,
    /// Share of reads in a read-write mix, 0–100.
    pub read_percent: u8,
    /// Sizes of single I/Os.
    pub block_size: PerDirection<BlockSize>,
    /// Sizes need not be multiples of the smallest.
    pub unaligned_sizes: bool,
    /// How random offsets are spread over the region.
    pub distribution: Distribution,
    /// What follows an I/O, where it is not simply the next block or the next draw.
    pub step: Step,
    /// Share of I/Os that are random rather than sequential, 0–100, in a random job.
    pub percent_random: PerDirection<u8>,
    /// Each block once per pass (the random map); off with norandommap.
    pub cover_all: bool,
    /// Where random numbers come from.
    pub generator: Generator,
    /// The seed; `None` takes one from the system.
    pub seed: Option<u64>,
    /// Start the same sequence again in each loop.
    pub repeat_per_loop: bool,
    /// fsync after so many writes; 0 never.
    pub fsync_every: u64,
    /// fdatasync after so many writes; 0 never.
    pub fdatasync_every: u64,
    /// fsync at the end of the job.
    pub end_fsync: bool,
    /// fsync whenever a file is closed.
    pub fsync_on_close: bool,
    /// syncfs at the end of the job.
    pub end_syncfs: bool,
    /// sync_file_range after so many writes.
    pub range_sync: Option<RangeSync>,
    /// What random offsets are multiples of, where it is not the smallest size.
    pub align: PerDirection<Option<u32>>,
    /// Sequential I/Os have the sizes of reads, random ones those of writes, whichever way they go.
    pub sizes_by_order: bool,
    /// Go on without the random map where there is no memory for it.
    pub soft_map: bool,
    /// Zones.
    pub zones: ZonePlan,
}

impl LoadPlan {
    /// The directions whose sizes occur: those that move, or those that stand for sequential and random I/O.
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

    /// The smallest size that may occur.
    pub fn smallest(&self) -> u32 {
        self.sized_by().map(|direction| self.block_size[direction].smallest()).min().unwrap_or(1).max(1)
    }

    /// The largest size that may occur.
    pub fn largest(&self) -> u32 {
        self.sized_by().map(|direction| self.block_size[direction].largest()).max().unwrap_or(1).max(1)
    }
}

/// sync_file_range after so many writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeSync {
    /// After so many writes.
    pub every: u64,
    /// Wait for writeback of the range that is under way.
    pub wait_before: bool,
    /// Begin writeback of the range.
    pub write: bool,
    /// Wait for it.
    pub wait_after: bool,
}

/// What follows an I/O (`rw=...:N`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Step {
    /// The next block, or the next draw.
    #[default]
    Plain,
    /// Sequential: so many bytes further (or back) than the next block.
    Skip(i64),
    /// Random: so many consecutive blocks per draw.
    Run(u32),
    /// Random: the same block so many times per draw.
    Repeat(u32),
}

/// Sizes of single I/Os in one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockSize {
    /// Always this.
    Fixed(u32),
    /// Between the two, in multiples of the first.
    Range(u32, u32),
    /// Sizes with their shares in percent; the shares sum to 100.
    Split(Vec<(u32, u8)>),
}

impl BlockSize {
    /// The smallest size that may occur.
    pub fn smallest(&self) -> u32 {
        match self {
            BlockSize::Fixed(size) | BlockSize::Range(size, _) => *size,
            BlockSize::Split(parts) => parts.iter().map(|&(size, _)| size).min().unwrap_or(0),
        }
    }

    /// The largest size that may occur.
    pub fn largest(&self) -> u32 {
        match self {
            BlockSize::Fixed(size) | BlockSize::Range(_, size) => *size,
            BlockSize::Split(parts) => parts.iter().map(|&(size, _)| size).max().unwrap_or(0),
        }
    }
}

/// How random offsets are spread.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Distribution {
    /// Every block alike.
    #[default]
    Uniform,
    /// Zipf with this exponent, and the centre as a share of the region (scattered when absent).
    Zipf(f64, Option<f64>),
    /// Pareto with this shape, and the centre.
    Pareto(f64, Option<f64>),
    /// Normal with this deviation in percent, and the centre.
    Normal(f64, Option<f64>),
    /// Shares of I/O (percent) for shares of the region (percent), per direction.
    Zoned(PerDirection<Vec<(u8, u8)>>),
    /// Shares of I/O (percent) for sizes of the region (bytes), per direction.
    ZonedAbsolute(PerDirection<Vec<(u8, u64)>>),
}

/// Which generator draws random offsets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Generator {
    /// Three-component Tausworthe, 32 bits, or its 64-bit form where the region needs it.
    #[default]
    Tausworthe,
    /// The 64-bit form always.
    Tausworthe64,
    /// A linear-feedback shift register: a permutation without a map.
    Lfsr,
}

impl Default for LoadPlan {
    fn default() -> Self {
        LoadPlan {
            mix: Mix::Only(Direction::Read),
            random: false,
            read_percent: 50,
            block_size: PerDirection::all(BlockSize::Fixed(4096)),
            unaligned_sizes: false,
            distribution: Distribution::Uniform,
            step: Step::Plain,
            percent_random: PerDirection::all(100),
            cover_all: true,
            generator: Generator::Tausworthe,
            seed: Some(0x89),
            repeat_per_loop: true,
            fsync_every: 0,
            fdatasync_every: 0,
            end_fsync: false,
            fsync_on_close: false,
            end_syncfs: false,
            range_sync: None,
            align: PerDirection::all(None),
            sizes_by_order: false,
            soft_map: false,
            zones: ZonePlan::None,
        }
    }
}
