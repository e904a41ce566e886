//! Zones: windows with gaps over a region, or the zones of a zoned device, emulated on an ordinary one.

use smart_default::SmartDefault;

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
    /// Size of a zone in bytes.
    pub size: u64,
    /// Writable bytes of a zone.
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
}
