//! The surroundings of a run: which machine, devices and file systems, and settings of these that matter.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::collections::BTreeMap;

/// Surroundings of a run, read right after it. Without them, neither machine nor permanent identifiers are known.
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

// Layers between a target and the place that stores its bytes.

/// A file system or device between a target and the place that stores its bytes.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// Mount point of a file system, or kernel name of a device.
    pub name: String,
    /// Type of the file system (`ext4`, `overlay`), or of the device (`loop`, `partition`, `dm`, `md`, `disk`).
    pub kind: String,
    /// True for a device.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub device: bool,
    /// The file or directory below that holds this layer: the backing file of a loop device, a directory of an overlay.
    pub held_by: Option<String>,
    /// Options of the mount and of the file system.
    pub options: Option<String>,
    /// True if a loop device bypasses the page cache of its backing file.
    pub bypasses_page_cache: Option<bool>,
    /// Position of a loop device's or partition's first byte in the file or device below.
    pub first_byte: Option<u64>,
    /// Positions of the layers directly below, in the same list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub below: Vec<usize>,
    /// The place that stores the bytes, if there is no layer below.
    pub bottom: Option<Bottom>,
}

/// The place that stores the bytes of a layer without layers below.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bottom {
    /// A disk, as far as this machine can see.
    Disk,
    /// Memory of this machine.
    Memory,
    /// Not visible from here, for this reason.
    Unknown(String),
}

/// The layers from the first down to each bottom, a list of positions per way, which ends where it would repeat.
///
/// ```
/// use model::{Bottom, Layer, ways_down};
///
/// let image = Layer { name: "loop0".into(), below: vec![1], ..Layer::default() };
/// let memory = Layer { name: "/tmp".into(), kind: "tmpfs".into(), bottom: Some(Bottom::Memory), ..Layer::default() };
/// assert_eq!(ways_down(&[image, memory]), [[0, 1]]);
/// assert!(ways_down(&[]).is_empty());
/// ```
pub fn ways_down(layers: &[Layer]) -> Vec<Vec<usize>> {
    /// Most ways that are followed; a damaged recording can contain very many.
    const WAYS_MAX: usize = 64;
    /// Most layers of a way.
    const LENGTH_MAX: usize = 64;
    let mut found = Vec::new();
    let mut open = if layers.is_empty() { Vec::new() } else { vec![vec![0]] };
    while let Some(way) = open.pop() {
        let below = way.last().and_then(|&at| layers.get(at)).map_or(&[][..], |layer| &layer.below);
        let next: Vec<usize> = below.iter().copied().filter(|at| *at < layers.len() && !way.contains(at)).collect();
        if next.is_empty() || way.len() >= LENGTH_MAX {
            found.push(way);
        } else if found.len() + open.len() < WAYS_MAX {
            open.extend(next.into_iter().rev().map(|at| way.iter().copied().chain([at]).collect()));
        }
    }
    found
}
