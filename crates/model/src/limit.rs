//! What held a run back.

use serde::{Deserialize, Serialize};

/// The kinds of things that can hold a run back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limiter {
    /// The processors of the machine that tests.
    ClientCpu,
    /// More I/Os in flight would have brought more.
    Depth,
    /// The link to the device.
    Link,
    /// A rate that somebody set: a control group, the plan itself, a service level of the device.
    Cap,
    /// The device, at work all the time.
    Device,
    /// Waiting for flushes.
    Flush,
    /// Workers that wait for each other inside the file system.
    FileSystemLock,
    /// Somebody else's I/O on the same device.
    Neighbour,
}

impl Limiter {
    /// Its name in a sentence.
    pub fn title(self) -> &'static str {
        match self {
            Limiter::ClientCpu => "client CPU",
            Limiter::Depth => "depth",
            Limiter::Link => "link",
            Limiter::Cap => "cap",
            Limiter::Device => "device",
            Limiter::Flush => "flush",
            Limiter::FileSystemLock => "file-system lock",
            Limiter::Neighbour => "neighbour",
        }
    }
}

/// The verdict on what held a run back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitedBy {
    /// What it was.
    pub limiter: Limiter,
    /// Its share in percent; what it is a share of, the sentence says.
    pub share_percent: f64,
    /// The sentence.
    pub sentence: String,
    /// The numbers behind it, with units in their names.
    pub evidence: Vec<(String, f64)>,
}
