//! The table of charts: one row each.

use crate::packed::{Packed, packed};

/// A chart: a file in `charts/` that registers a builder of ECharts options under `name`.
#[derive(Clone, Copy, Debug)]
pub struct Chart {
    /// Name given to `plumb plot`, under which the chart's file registers itself.
    pub name: &'static str,
    /// Title in one line.
    pub title: &'static str,
    /// JavaScript source.
    #[cfg_attr(not(feature = "draw"), expect(dead_code, reason = "only drawing reads it"))]
    pub(crate) source: Packed,
    /// Width and height in pixels at scale 1; a height of `None` depends on the data.
    pub size: (u32, Option<u32>),
    /// The same on a page of A4.
    pub paper: (u32, Option<u32>),
}

/// Scripts shared by charts: colours, font sizes, number formats, placement of labels, rows of intervals.
#[cfg(feature = "draw")]
pub(crate) const SHARED: [Packed; 5] =
    [packed!("text.js"), packed!("look.js"), packed!("labels.js"), packed!("frame.js"), packed!("intervals.js")];

/// All charts.
pub const CHARTS: &[Chart] = &[
    Chart {
        name: "sweep",
        title: "Latency, queueing and throughput over the load: three panels on one axis",
        source: packed!("sweep.js"),
        size: (1040, None),
        paper: (1040, None),
    },
    Chart {
        name: "overlay",
        title: "Several sweeps over each other: latency and throughput over the load",
        source: packed!("overlay.js"),
        size: (1040, None),
        paper: (1040, None),
    },
    Chart {
        name: "card",
        title: "The report card: a grade for each workload",
        source: packed!("card.js"),
        size: (1320, None),
        paper: (1320, None),
    },
    Chart {
        name: "series",
        title: "A run over time: rate, latency, queue and utilisation on one time axis",
        source: packed!("series.js"),
        size: (1200, None),
        paper: (520, None),
    },
    Chart {
        name: "cdf",
        title: "The latency distribution on a percentile axis",
        source: packed!("cdf.js"),
        size: (1040, Some(620)),
        paper: (520, None),
    },
    Chart {
        name: "curve",
        title: "What latency a rate costs, and where the knee is",
        source: packed!("curve.js"),
        size: (1040, Some(620)),
        paper: (520, None),
    },
    Chart {
        name: "blocks",
        title: "Time over block size, with the fitted cost model and its errors",
        source: packed!("blocks.js"),
        size: (1040, Some(760)),
        paper: (520, None),
    },
    Chart {
        name: "devices",
        title: "What the program and its devices counted",
        source: packed!("devices.js"),
        size: (1040, None),
        paper: (520, None),
    },
    Chart {
        name: "changes",
        title: "What changed between two sets of results, with intervals (plumb compare --output)",
        source: packed!("changes.js"),
        size: (1040, None),
        paper: (708, None),
    },
    Chart {
        name: "capacity",
        title: "Response times over the rate of arrivals, with a limit (plumb capacity --picture)",
        source: packed!("capacity.js"),
        size: (1040, Some(620)),
        paper: (520, None),
    },
    Chart {
        name: "limits",
        title: "Rounds against limits (plumb ask --page)",
        source: packed!("limits.js"),
        size: (1040, None),
        paper: (708, None),
    },
    Chart {
        name: "surface",
        title: "Throughput over file size and record size",
        source: packed!("surface.js"),
        size: (1040, None),
        paper: (1040, None),
    },
];

impl Chart {
    /// Returns the chart with this name.
    pub fn named(name: &str) -> Option<&'static Chart> {
        CHARTS.iter().find(|chart| chart.name == name)
    }
}
