//! Zones: strides over a region, or the zones of a zoned device kept on an ordinary one.

/// Whether a job works in zones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ZonePlan {
    /// No zones.
    #[default]
    None,
    /// Windows with gaps between them.
    Strided(Strides),
    /// Zones that are written in order and reset as a whole.
    Zoned(Zoned),
}

/// Windows with gaps between them: `amount` bytes of I/O inside a window, then on to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strides {
    /// Bytes of I/O per window.
    pub amount: u64,
    /// Size of a window in bytes.
    pub window: u64,
    /// What is left out between two windows.
    pub skip: Gap,
}

/// A gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// So many bytes.
    Bytes(u64),
    /// So many hundredths of the region.
    Percent(u32),
}

/// Zones that are written in order and reset as a whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zoned {
    /// Size of a zone in bytes.
    pub size: u64,
    /// Bytes of a zone that can be written.
    pub capacity: u64,
    /// Zones that may be open (begun and not full) at a time; `None` for any number.
    pub open_most: Option<u32>,
    /// Reads may go beyond what is written.
    pub reads_anywhere: bool,
    /// Resets begin once this share of the region is written; `None` resets a zone only when it is written again.
    pub reset_threshold: Option<f64>,
    /// Share of writes that a reset goes before, beyond the threshold.
    pub reset_frequency: f64,
    /// The rest of a zone that is smaller than a block is written, too.
    pub writes_remainder: bool,
}
