//! CPUs, priority, memory policy, user and clock of a worker.

/// CPUs, priority, memory policy, user and clock of a worker.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlacePlan {
    /// CPUs the worker may use; empty for all.
    pub cpus: Vec<u32>,
    /// Assign one CPU of `cpus` to each clone instead of all of them.
    pub split_cpus: bool,
    /// Increment of the nice value.
    pub nice: i32,
    /// I/O priority class (0–3) and level (0–7); `None` to leave it unchanged.
    pub io_priority: Option<(u8, u8)>,
    /// Bytes of memory to lock before the run (mlock(2)).
    pub lock_memory: u64,
    /// The worker's name in process lists.
    pub name: Option<String>,
    /// Hint of the I/O priority, 0 to 1023 (linux/ioprio.h).
    pub io_hint: u16,
    /// NUMA nodes whose CPUs the worker may use; empty for all.
    pub nodes: Vec<u32>,
    /// NUMA memory policy; `None` for the kernel's default.
    pub memory: Option<MemoryPolicy>,
    /// Control group that the worker joins.
    pub cgroup: Option<CgroupPlan>,
    /// User ID that it runs as.
    pub user: Option<u32>,
    /// Group ID that it runs as.
    pub group: Option<u32>,
    /// Clock that it reads.
    pub clock: Option<ClockChoice>,
}

/// NUMA memory policy (set_mempolicy(2)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryPolicy {
    /// MPOL_DEFAULT.
    Default,
    /// MPOL_PREFERRED: from this node if it has free memory.
    Prefer(u32),
    /// MPOL_BIND: from these nodes only.
    Bind(Vec<u32>),
    /// MPOL_INTERLEAVE: from these nodes in turn.
    Interleave(Vec<u32>),
    /// MPOL_LOCAL: from the node of the CPU.
    Local,
}

/// A control group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CgroupPlan {
    /// Path relative to the root of the hierarchy.
    pub name: String,
    /// I/O weight, 100 to 1000.
    pub weight: Option<u32>,
    /// True to keep the group after the run.
    pub keep: bool,
}

/// Clock that a worker reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockChoice {
    /// The system clock, by a call.
    System,
    /// The CPU's time stamp counter; fail without one.
    Counter,
}
