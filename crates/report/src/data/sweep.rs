//! Data of the three-panel chart: one workload at increasing load.

use analysis::{Level, best_system};
use serde::{Deserialize, Serialize};

/// One workload at several load levels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// For example `ssd · random read 8 KiB · 1–64 users`.
    pub title: String,
    /// Sentences under the title.
    pub sentences: Vec<String>,
    /// Reason for which the numbers are not credible, if any: drawn in red, and scaling is not graded.
    pub flag: Option<String>,
    /// Name of the axis: `users`, `depth`, `block size`, or the name of an option.
    pub load: String,
    /// The latency target in nanoseconds, if one was asked for.
    pub target_ns: Option<f64>,
    /// Levels in ascending order.
    pub levels: Vec<Level>,
    /// Footnotes.
    pub notes: Vec<String>,
}

// Data of overlaid sweeps.

/// Several results of the same kind of sweep; the legend shows and hides them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overlay {
    /// For example `before and after · random read 8 KiB`.
    pub title: String,
    /// Sentences under the title.
    pub sentences: Vec<String>,
    /// Unit of the load, in the plural.
    pub load: String,
    /// The latency target in nanoseconds, if one was asked for.
    pub target_ns: Option<f64>,
    /// Name in the legend, and the sweep.
    pub systems: Vec<(String, Sweep)>,
    /// Number of the colour of each, which is the same in all pictures of a page.
    #[serde(default)]
    pub colours: Vec<usize>,
    /// Footnotes.
    pub notes: Vec<String>,
}

/// Most systems that have a sentence each; of more, only their comparison is stated.
pub(crate) const MOST_IN_WORDS: usize = 3;

impl Overlay {
    /// Overlays named sweeps.
    pub fn of(title: &str, systems: Vec<(String, Sweep)>) -> Overlay {
        let first = systems.first().map(|(_, sweep)| sweep);
        let mut sentences = best_system(&peaks(&systems));
        if systems.len() <= MOST_IN_WORDS {
            sentences.extend(
                systems.iter().filter_map(|(name, sweep)| Some(format!("{name}: {}", sweep.sentences.first()?))),
            );
        }
        Overlay {
            title: title.to_owned(),
            sentences,
            load: first.map(|sweep| sweep.load.clone()).unwrap_or_default(),
            target_ns: first.and_then(|sweep| sweep.target_ns),
            colours: (0..systems.len()).collect(),
            notes: systems
                .iter()
                .filter_map(|(name, sweep)| Some(format!("⚠ {name}: {}", sweep.flag.as_ref()?)))
                .collect(),
            systems,
        }
    }
}

/// The level of each system with the most IOPS, without those that are not of its storage or contradict themselves.
fn peaks(systems: &[(String, Sweep)]) -> Vec<(String, Level)> {
    let peak = |(name, sweep): &(String, Sweep)| {
        let credible = sweep.levels.iter().filter(|level| level.at_work.is_none() && level.not_storage.is_none());
        let level = credible.max_by(|one, other| one.iops.total_cmp(&other.iops))?;
        Some((name.clone(), level.clone()))
    };
    systems.iter().filter_map(peak).collect()
}
