//! The surroundings of a run: which machine, devices and file systems it was, and the settings of these that change
//! results.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Surroundings of a run, read right after it. A result without them states neither the machine nor permanent
/// identifiers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Surroundings {
    /// The epoch of the plumb that measured: the number of changes that shifted numbers until then.
    pub epoch: Option<u32>,
    /// Hash of the machine's ID.
    pub machine: Option<String>,
    /// Settings of the machine and its devices, by name.
    pub facts: Vec<Fact>,
    /// Serial numbers or other permanent identifiers, by kernel name.
    pub serials: BTreeMap<String, String>,
    /// UUIDs of file systems, by mount point.
    pub file_systems: BTreeMap<String, String>,
    /// The directory that relative paths start from.
    pub directory: Option<String>,
}

/// One fact about the surroundings of a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fact {
    /// Name for people: `scheduler`.
    pub key: String,
    /// Value for people: `mq-deadline`.
    pub value: String,
    /// Its kind.
    pub kind: FactKind,
}

/// Kind of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FactKind {
    /// Says which machine and device it is.
    Identity,
    /// Can be changed on the same machine and device.
    Condition,
}

impl Fact {
    /// A fact that identifies.
    pub fn identity(key: &str, value: impl Into<String>) -> Self {
        Fact { key: key.to_owned(), value: value.into(), kind: FactKind::Identity }
    }

    /// A fact that can change.
    pub fn condition(key: &str, value: impl Into<String>) -> Self {
        Fact { key: key.to_owned(), value: value.into(), kind: FactKind::Condition }
    }
}
