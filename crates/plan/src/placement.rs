//! Placement of writes: NVMe devices keep apart what is written with different identifiers.

/// Placement of a job's writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacementPlan {
    /// Meaning of the identifiers.
    pub kind: PlacementKind,
    /// Identifiers that the job uses; empty for all that the device has.
    pub identifiers: Vec<u16>,
    /// Choice of the identifier of a write.
    pub choice: PlacementChoice,
}

/// Meaning of placement identifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacementKind {
    /// Indices of the reclaim unit handles of a namespace (flexible data placement).
    Handles,
    /// Streams.
    Streams,
}

/// Choice of the identifier of a write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PlacementChoice {
    /// One after another.
    #[default]
    InTurn,
    /// At random.
    AtRandom,
    /// By the offset, as a file says.
    ByOffset(String),
}
