//! Bottleneck of a run.

use serde::{Deserialize, Serialize};

/// Kinds of bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limiter {
    /// The CPUs of the machine that runs the benchmark.
    ClientCpu,
    /// The queue depth: more I/Os in flight would be faster.
    Depth,
    /// The link to the device.
    Link,
    /// A configured limit: of a control group, of the plan, or of the device's service level.
    Cap,
    /// The device, which is busy all the time.
    Device,
    /// Flushes that the workers wait for.
    Flush,
    /// The process or machine that serves the file system (FUSE, network).
    Server,
    /// Locks of the file system that workers wait for.
    FileSystemLock,
    /// I/O of other processes on the same device.
    Neighbour,
}

impl Limiter {
    /// Name for use in a sentence.
    pub fn title(self) -> &'static str {
        match self {
            Limiter::ClientCpu => "client CPU",
            Limiter::Depth => "depth",
            Limiter::Link => "link",
            Limiter::Cap => "cap",
            Limiter::Device => "device",
            Limiter::Flush => "flush",
            Limiter::Server => "file-system server",
            Limiter::FileSystemLock => "file-system lock",
            Limiter::Neighbour => "neighbour",
        }
    }
}

/// The bottleneck that was found in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitedBy {
    /// Kind of bottleneck.
    pub limiter: Limiter,
    /// Percentage; the sentence says of what.
    pub share_percent: f64,
    /// Explanation in one sentence.
    pub sentence: String,
    /// Supporting numbers, with units in their names.
    pub evidence: Vec<(String, f64)>,
}
