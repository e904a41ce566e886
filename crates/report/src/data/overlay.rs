//! The data of several sweeps over each other.

use super::Sweep;
use serde::{Deserialize, Serialize};

/// Several results of the same kind of sweep; the legend switches them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overlay {
    /// `before and after · random read 8 KiB`.
    pub title: String,
    /// Plain sentences under the title.
    pub sentences: Vec<String>,
    /// What the levels count, in the plural.
    pub load: String,
    /// The latency to stay under, in nanoseconds.
    pub target_ns: f64,
    /// Name in the legend, and what was measured.
    pub systems: Vec<(String, Sweep)>,
    /// In small type below.
    pub notes: Vec<String>,
}

impl Overlay {
    /// Sweeps over each other, each with its name.
    pub fn of(title: &str, systems: Vec<(String, Sweep)>) -> Overlay {
        let first = systems.first().map(|(_, sweep)| sweep);
        Overlay {
            title: title.to_owned(),
            sentences: systems
                .iter()
                .filter_map(|(name, sweep)| Some(format!("{name}: {}", sweep.sentences.first()?)))
                .collect(),
            load: first.map(|sweep| sweep.load.clone()).unwrap_or_default(),
            target_ns: first.map_or(0.0, |sweep| sweep.target_ns),
            notes: systems
                .iter()
                .filter_map(|(name, sweep)| Some(format!("⚠ {name}: {}", sweep.flag.as_ref()?)))
                .collect(),
            systems,
        }
    }
}
