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
    /// The worker's name in process lists.
    pub name: Option<String>,
    /// Hint that goes with the I/O priority, 0 to 1023.
    pub io_hint: u16,
    /// Run on the CPUs of these NUMA nodes; empty for all.
    pub nodes: Vec<u32>,
    /// Where memory comes from; `None` leaves it to the kernel.
    pub memory: Option<MemoryPolicy>,
    /// The control group that the worker joins.
    pub cgroup: Option<CgroupPlan>,
    /// The user it runs as.
    pub user: Option<u32>,
    /// The group it runs as.
    pub group: Option<u32>,
    /// Which clock it reads.
    pub clock: Option<ClockChoice>,
}

/// Where memory comes from, set_mempolicy(2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryPolicy {
    /// As the kernel does by itself.
    Default,
    /// From this node while it has some.
    Prefer(u32),
    /// From these nodes only.
    Bind(Vec<u32>),
    /// From these nodes in turn.
    Interleave(Vec<u32>),
    /// From the node of the CPU.
    Local,
}

/// A control group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CgroupPlan {
    /// Its path below the root of the hierarchy.
    pub name: String,
    /// Its weight for I/O, 100 to 1000.
    pub weight: Option<u32>,
    /// Whether it stays when the run is over.
    pub keep: bool,
}

/// Which clock a worker reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockChoice {
    /// The system's, by a call.
    System,
    /// The processor's counter, or none.
    Counter,
}
