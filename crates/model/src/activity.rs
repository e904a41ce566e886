//! Rates of a device and of the CPUs in one interval: the numbers of iostat's report.

/// CPU time by use, in percent of the time of all CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuActivity {
    /// User mode.
    pub user: f64,
    /// User mode at low priority.
    pub nice: f64,
    /// Kernel, including interrupts.
    pub system: f64,
    /// Idle with I/O outstanding.
    pub iowait: f64,
    /// Taken by the hypervisor.
    pub steal: f64,
    /// Idle.
    pub idle: f64,
}

/// Rates of reads, writes or discards, or of all three together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OperationActivity {
    /// Completed requests per second.
    pub per_second: f64,
    /// Sectors of 512 bytes that were transferred.
    pub sectors: u64,
    /// Sectors per second.
    pub sectors_per_second: f64,
    /// Merged requests per second.
    pub merges_per_second: f64,
    /// Merged requests in percent of all submitted ones; `None` if there were none.
    pub merged_percent: Option<f64>,
    /// Mean time of a request in milliseconds, including the queue; `None` if none completed.
    pub await_ms: Option<f64>,
    /// Mean size of a request in sectors; `None` if none completed.
    pub request_sectors: Option<f64>,
}

/// Rates of flushes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlushActivity {
    /// Completed flushes per second.
    pub per_second: f64,
    /// Mean time of a flush in milliseconds; `None` if none completed.
    pub await_ms: Option<f64>,
}

/// Activity of a device, or of a group of devices, in one interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceActivity {
    /// Name to print; iostat puts a space before the name of a group.
    pub name: String,
    /// Reads.
    pub reads: OperationActivity,
    /// Writes.
    pub writes: OperationActivity,
    /// Discards.
    pub discards: OperationActivity,
    /// Reads, writes and discards together.
    pub together: OperationActivity,
    /// Flushes, which are not counted in the others.
    pub flushes: FlushActivity,
    /// Mean number of requests queued and in flight.
    pub queue: f64,
    /// Time with a request in flight in percent of the interval, not limited to 100.
    pub utilisation_percent: f64,
}
