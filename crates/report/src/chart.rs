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

const fn chart(
    name: &'static str,
    title: &'static str,
    source: Packed,
    width: u32,
    height: Option<u32>,
    paper_width: u32,
) -> Chart {
    Chart { name, title, source, size: (width, height), paper: (paper_width, None) }
}

/// All charts.
pub const CHARTS: &[Chart] = &[
    chart(
        "sweep",
        "Latency, queueing and throughput over the load: three panels on one axis",
        packed!("sweep.js"),
        1040,
        None,
        1040,
    ),
    chart(
        "overlay",
        "Several sweeps over each other: latency and throughput over the load",
        packed!("overlay.js"),
        1040,
        None,
        1040,
    ),
    chart("card", "The report card: a grade for each workload", packed!("card.js"), 1320, None, 1320),
    chart(
        "series",
        "A run over time: rate, latency, queue and utilisation on one time axis",
        packed!("series.js"),
        1200,
        None,
        520,
    ),
    chart("cdf", "The latency distribution on a percentile axis", packed!("cdf.js"), 1040, Some(620), 520),
    chart("curve", "What latency a rate costs, and where the knee is", packed!("curve.js"), 1040, Some(620), 520),
    chart(
        "blocks",
        "Time over block size, with the fitted cost model and its errors",
        packed!("blocks.js"),
        1040,
        Some(760),
        520,
    ),
    chart("devices", "What the program and its devices counted", packed!("devices.js"), 1040, None, 520),
    chart(
        "changes",
        "What changed between two sets of results, with intervals (plumb compare --output)",
        packed!("changes.js"),
        1040,
        None,
        708,
    ),
    chart(
        "capacity",
        "Response times over the rate of arrivals, with a limit (plumb capacity --picture)",
        packed!("capacity.js"),
        1040,
        Some(620),
        520,
    ),
    chart("limits", "Rounds against limits (plumb ask --page)", packed!("limits.js"), 1040, None, 708),
    chart("parts", "Where the time of I/Os goes (plumb why --output)", packed!("parts.js"), 1040, None, 708),
    chart("surface", "Throughput over file size and record size", packed!("surface.js"), 1040, None, 1040),
];

impl Chart {
    /// Returns the chart with this name.
    pub fn named(name: &str) -> Option<&'static Chart> {
        CHARTS.iter().find(|chart| chart.name == name)
    }
}
