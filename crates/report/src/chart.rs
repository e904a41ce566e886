//! The list of charts: one row each.

/// A chart: a file in `charts/` that registers a builder of ECharts options under `name`.
#[derive(Clone, Copy, Debug)]
pub struct Chart {
    /// What `plumb plot` calls it, and the name under which its file registers itself.
    pub name: &'static str,
    /// What it shows, in one line.
    pub title: &'static str,
    /// Its definition.
    pub(crate) source: &'static str,
    /// Pixels at scale 1.
    pub size: (u32, u32),
}

/// What every chart shares: colours, sizes of type, how numbers are written, how labels are kept apart.
pub(crate) const SHARED: &[&str] = &[include_str!("../charts/look.js"), include_str!("../charts/labels.js")];

/// All charts.
pub const CHARTS: &[Chart] = &[
    Chart {
        name: "sweep",
        title: "Latency, queueing and throughput over the load: three panels on one axis",
        source: include_str!("../charts/sweep.js"),
        size: (1040, 1190),
    },
    Chart {
        name: "card",
        title: "The report card: a grade for each workload",
        source: include_str!("../charts/card.js"),
        size: (1320, 910),
    },
];

impl Chart {
    /// The chart with this name.
    pub fn named(name: &str) -> Option<&'static Chart> {
        CHARTS.iter().find(|chart| chart.name == name)
    }
}
