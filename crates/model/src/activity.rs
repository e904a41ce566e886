//! What a device and the processors did in one interval, as rates: the numbers behind every iostat line.

/// Shares of processor time in percent of all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuActivity {
    /// In programs.
    pub user: f64,
    /// In programs of lower priority.
    pub nice: f64,
    /// In the kernel, interrupts included.
    pub system: f64,
    /// Idle while I/O was under way.
    pub iowait: f64,
    /// Taken by the hypervisor.
    pub steal: f64,
    /// Idle.
    pub idle: f64,
}

/// What reads, writes or discards did, or all three together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OperationActivity {
    /// Finished requests per second.
    pub per_second: f64,
    /// Sectors of 512 bytes that were moved.
    pub sectors: u64,
    /// The same per second.
    pub sectors_per_second: f64,
    /// Merged requests per second.
    pub merges_per_second: f64,
    /// Merged requests in percent of all that were asked for.
    pub merged_percent: f64,
    /// Mean time of a request in milliseconds, queue included; 0 without requests.
    pub await_ms: f64,
    /// Mean size of a request in sectors; 0 without requests.
    pub request_sectors: f64,
}

/// What flushes did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlushActivity {
    /// Finished flushes per second.
    pub per_second: f64,
    /// Mean time of a flush in milliseconds; 0 without flushes.
    pub await_ms: f64,
}

/// One device, or a group of them, in one interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceActivity {
    /// The name to show; a group's begins with a blank.
    pub name: String,
    /// Reads.
    pub reads: OperationActivity,
    /// Writes.
    pub writes: OperationActivity,
    /// Discards.
    pub discards: OperationActivity,
    /// Reads, writes and discards together.
    pub together: OperationActivity,
    /// Flushes, which are in none of the others.
    pub flushes: FlushActivity,
    /// Mean number of requests queued and in flight.
    pub queue: f64,
    /// Time with a request in flight in percent of the interval, not capped.
    pub utilisation_percent: f64,
}
