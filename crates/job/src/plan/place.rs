//! Where and how a worker runs.

/// Where and how a worker runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlacePlan {
    /// CPUs the worker may use; empty for all.
    pub cpus: Vec<u32>,
    /// Give each clone one CPU of `cpus` instead of all of them.
    pub split_cpus: bool,
    /// Change of the nice value.
    pub nice: i32,
    /// I/O priority class (0–3) and level (0–7); `None` leaves it alone.
    pub io_priority: Option<(u8, u8)>,
    /// Pin this much memory before the run.
    pub lock_memory: u64,
}
