//! Where the time of I/Os went, by events of the kernel.

use measure::Nanos;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;

/// Where the time of a run's I/Os went (`--layers`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Layers {
    /// Time that was recorded: from the first to the last measured moment of the jobs.
    #[serde(rename = "recorded_ns")]
    pub recorded: Nanos,
    /// Number of I/Os.
    pub ios: u64,
    /// I/Os of one direction.
    pub groups: Vec<IoGroup>,
    /// Time of all I/Os by part.
    #[serde(rename = "parts_ns")]
    pub parts: Named<Nanos>,
    /// Limits of control groups that held I/Os back.
    pub limits: Vec<GroupLimit>,
    /// Costs of the recording.
    pub cost: RecordingCost,
    /// I/Os that are in no group, and other gaps.
    pub remarks: Vec<String>,
}

/// A limit of a control group on the I/O of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupLimit {
    /// Name of the group.
    pub group: String,
    /// Device as `MAJOR:MINOR`.
    pub device: String,
    /// Most reads per second.
    pub reads_per_second: Option<u64>,
    /// Most writes per second.
    pub writes_per_second: Option<u64>,
    /// Most bytes that are read per second.
    pub bytes_read_per_second: Option<u64>,
    /// Most bytes that are written per second.
    pub bytes_written_per_second: Option<u64>,
}

/// Costs of a recording, and its gaps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingCost {
    /// Processor time of plumb.
    #[serde(rename = "processor_ns")]
    pub processor: Nanos,
    /// Events that were read.
    pub events: u64,
    /// Events that the kernel could not keep.
    #[serde(rename = "events_lost")]
    pub lost: u64,
    /// Time without events because of that.
    #[serde(rename = "unrecorded_ns")]
    pub unrecorded: Nanos,
    /// Calls that are left out because of lost events.
    pub broken_calls: u64,
    /// Way by which the events were read: `bpf` or `tracefs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events_by: Option<String>,
    /// Why that was not BPF.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_by_bpf: Option<String>,
}

/// I/Os that do the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IoGroup {
    /// `read`, `write`, `sync` or `page fault`.
    pub direction: String,
    /// `call` or `block layer`.
    pub reach: String,
    /// Number of I/Os.
    pub count: u64,
    /// Those that failed.
    pub failed: u64,
    /// Bytes of all.
    pub bytes: u64,
    /// Calls, those with the most time first.
    pub calls: Vec<IoSum>,
    /// The most frequent size, if they have one.
    pub frequent_bytes: Option<u64>,
    /// Number of I/Os of that size.
    pub frequent_count: Option<u64>,
    /// Mean number in flight at the begin of one, with it.
    pub mean_depth: f64,
    /// The number in flight that 99 of 100 begin with at most.
    pub p99_depth: u64,
    /// Share that begins where the one before ended, of those where that is known.
    pub sequential_share: Option<f64>,
    /// Those that memory answered.
    pub from_memory: u64,
    /// Percentiles of their time; `None` if no I/O is beyond one.
    #[serde(rename = "time_ns")]
    pub times: Named<Option<Nanos>>,
    /// Time of all by part.
    #[serde(rename = "parts_ns")]
    pub parts: Named<Nanos>,
    /// Those around percentiles.
    pub around: Named<SomeIos>,
    /// Those around the median: from 45 to 55 % of them.
    pub middle: SomeIos,
    /// The slowest 1 of 100, at least one.
    pub slowest: SomeIos,
}

/// Sums over the I/Os with a name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoSum {
    /// The name of a call or a program.
    pub name: String,
    /// Number of I/Os.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their time.
    #[serde(rename = "time_ns")]
    pub time: Nanos,
}

/// Some I/Os between two ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SomeIos {
    /// Their number.
    pub count: u64,
    /// The shortest.
    #[serde(rename = "least_ns")]
    pub least: Nanos,
    /// Sum of their times.
    #[serde(rename = "time_ns")]
    pub time: Nanos,
    /// The same by part.
    #[serde(rename = "parts_ns")]
    pub parts: Named<Nanos>,
    /// How many have which part as their largest, the most frequent first.
    pub largest: Named<u64>,
}

impl IoGroup {
    /// True if its I/Os are seen from the block layer's queue to completion.
    pub fn is_of_block_layer(&self) -> bool {
        self.reach == "block layer"
    }

    /// True for fsync and its like.
    pub fn is_of_syncs(&self) -> bool {
        self.direction == "sync"
    }
}

/// Rates of a disk at one pattern, by a kept result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DiskRates {
    /// `read` or `write`.
    pub direction: String,
    /// Bytes of an I/O.
    pub block_bytes: u64,
    /// True of sequential I/O.
    pub is_sequential: bool,
    /// At depth 1.
    pub alone: DiskRate,
    /// At the best depth.
    pub best: DiskRate,
    /// At all depths, the least first; empty in recordings of before.
    #[serde(default)]
    pub rates: Vec<DiskRate>,
    /// The command that measured.
    pub command: String,
    /// When it measured.
    pub began_unix_ms: u64,
}

/// A rate at a depth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DiskRate {
    /// I/Os in flight.
    pub depth: u32,
    /// I/Os per second.
    pub per_second: f64,
    /// True if the tester was the limit: the disk may do more.
    pub at_least: bool,
    /// Ends of its 95 % interval.
    pub within: Option<[f64; 2]>,
}

/// Values by name, in an order; an object in JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named<Value>(pub Vec<(String, Value)>);

impl<Value> Default for Named<Value> {
    fn default() -> Self {
        Named(Vec::new())
    }
}

impl<Value> Named<Value> {
    /// The value of this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(one, _)| one == name).map(|(_, value)| value)
    }
}

impl<Value: Serialize> Serialize for Named<Value> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<'de, Value: Deserialize<'de>> Deserialize<'de> for Named<Value> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<Value>(PhantomData<Value>);
        impl<'de, Value: Deserialize<'de>> Visitor<'de> for Members<Value> {
            type Value = Named<Value>;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("an object")
            }

            fn visit_map<Map: MapAccess<'de>>(self, mut map: Map) -> Result<Named<Value>, Map::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Named(members))
            }
        }
        deserializer.deserialize_map(Members(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_order_through_json() {
        let parts = Named(vec![("tags".to_owned(), Nanos(3)), ("device".to_owned(), Nanos(5))]);
        let text = serde_json::to_string(&parts).unwrap();
        assert_eq!(text, r#"{"tags":3,"device":5}"#);
        assert_eq!(serde_json::from_str::<Named<Nanos>>(&text).unwrap(), parts);
        assert_eq!((parts.get("device"), parts.get("cache")), (Some(&Nanos(5)), None));
    }
}
