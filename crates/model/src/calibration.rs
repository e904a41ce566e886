//! The tool's own share of the latencies of a run, and the error bar that follows from it.

use measure::{ClockCost, Nanos};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Half a bucket of the latency histogram, relative to the latency: 64 buckets per power of two.
const HALF_A_BUCKET: f64 = 1.0 / 128.0;

/// The tool's share in the latencies of a worker, measured just before its I/O at its own engine, batch and processors.
///
/// ```
/// use model::{Calibration, Span};
///
/// let tool = Calibration {
///     total_ns: Some([400, 2_100]),
///     completion_ns: Some([300, 1_900]),
///     reap_ns: Some(100.0),
///     histogram_relative: 0.0078,
///     ..Calibration::default()
/// };
/// let bar = tool.bar(Span::Total, 50.0, 100_000.0).unwrap();
/// assert_eq!((bar.tool_ns, bar.below_ns, bar.above_ns), (500.0, 1280.0, 780.0));
/// assert_eq!(tool.bar(Span::Completion, 99.0, 100_000.0).unwrap().tool_ns, 2000.0);
/// assert_eq!(Calibration::default().bar(Span::Total, 50.0, 100_000.0), None, "the loop was not measured");
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Total latency that an I/O without a duration would show: p50 and p99. `None` if it was not measured.
    #[serde(rename = "loop_ns")]
    pub total_ns: Option<[u64; 2]>,
    /// Completion latency that it would show: 50th and 99th percentile.
    #[serde(rename = "loop_completion_ns")]
    pub completion_ns: Option<[u64; 2]>,
    /// The call or operation that was measured in place of I/Os: `io_uring NOP`, `pread of 0 bytes`.
    #[serde(rename = "loop_by")]
    pub by: Option<String>,
    /// True if the engine has no I/O that does nothing, so that of another engine was measured.
    #[serde(rename = "loop_borrowed", default, skip_serializing_if = "std::ops::Not::not")]
    pub borrowed: bool,
    /// Mean number of I/Os per reap call that this is of.
    pub batch: f64,
    /// Time by which a worker that slept woke up late: 50th and 99th percentile.
    pub wake_ns: Option<[u64; 2]>,
    /// Mean time that an I/O was complete while the worker was busy with others; `None` if it is not known.
    pub reap_ns: Option<f64>,
    /// Smallest step of the clock.
    pub clock_ns: u64,
    /// Time that a read of the clock takes.
    pub clock_read_ns: u64,
    /// Longest time between two reads of the clock in a row.
    pub clock_gap_ns: u64,
    /// Half a bucket of the histogram, relative to a latency.
    pub histogram_relative: f64,
    /// Parts that were not measured, each with its reason: `loop: ...`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_measured: Vec<String>,
}

/// From where to where a latency is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// From the decision to issue the I/O.
    Total,
    /// From its acceptance by the kernel.
    Completion,
}

/// The error bar of a latency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorBar {
    /// The tool's part of the latency in ns: the loop, and completions that waited for it.
    pub tool_ns: f64,
    /// By how much the true latency may be lower, in ns.
    pub below_ns: f64,
    /// By how much it may be higher, in ns.
    pub above_ns: f64,
}

impl Calibration {
    /// A calibration with the parts that follow from the clock and the histogram.
    pub fn of_clock(cost: ClockCost) -> Self {
        Calibration {
            clock_ns: cost.resolution.get(),
            clock_read_ns: cost.read.get(),
            clock_gap_ns: cost.worst_gap.get(),
            histogram_relative: HALF_A_BUCKET,
            ..Calibration::default()
        }
    }

    /// The error bar of a latency: below p99 with the loop's median, from p99 on with its p99, if it was measured.
    pub fn bar(&self, span: Span, percent: f64, latency_ns: f64) -> Option<ErrorBar> {
        let [middle, slow] = match span {
            Span::Total => self.total_ns,
            Span::Completion => self.completion_ns,
        }?;
        let of_loop = Nanos(if percent < 99.0 { middle } else { slow }).as_f64();
        let tool_ns = (of_loop + self.reap_ns.unwrap_or(0.0)).min(latency_ns);
        let above_ns = latency_ns * self.histogram_relative + Nanos(self.clock_ns).as_f64();
        Some(ErrorBar { tool_ns, below_ns: (tool_ns + above_ns).min(latency_ns), above_ns })
    }

    /// Keeps the larger share of each part: that of a group of workers.
    pub(crate) fn merge(&mut self, other: &Calibration) {
        let larger = |mine: &mut Option<[u64; 2]>, theirs: Option<[u64; 2]>| {
            *mine = match (*mine, theirs) {
                (Some(mine), Some(theirs)) => Some([mine[0].max(theirs[0]), mine[1].max(theirs[1])]),
                (mine, theirs) => mine.or(theirs),
            };
        };
        larger(&mut self.total_ns, other.total_ns);
        larger(&mut self.completion_ns, other.completion_ns);
        larger(&mut self.wake_ns, other.wake_ns);
        self.reap_ns = match (self.reap_ns, other.reap_ns) {
            (Some(mine), Some(theirs)) => Some(mine.max(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
        self.batch = self.batch.max(other.batch);
        self.by = self.by.take().or_else(|| other.by.clone());
        self.borrowed |= other.borrowed;
        self.clock_ns = self.clock_ns.max(other.clock_ns);
        self.clock_read_ns = self.clock_read_ns.max(other.clock_read_ns);
        self.clock_gap_ns = self.clock_gap_ns.max(other.clock_gap_ns);
        self.histogram_relative = self.histogram_relative.max(other.histogram_relative);
        other.not_measured.iter().for_each(|reason| measure::push_new(&mut self.not_measured, reason.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(total: u64, reap: f64) -> Calibration {
        let cost = ClockCost { resolution: Nanos(10), read: Nanos(12), worst_gap: Nanos(400) };
        Calibration { total_ns: Some([total, 5 * total]), reap_ns: Some(reap), ..Calibration::of_clock(cost) }
    }

    #[test]
    fn the_tool_cannot_take_longer_than_the_io() {
        let bar = tool(400, 200.0).bar(Span::Total, 50.0, 300.0).unwrap();
        assert_eq!((bar.tool_ns, bar.below_ns), (300.0, 300.0));
        assert_eq!(tool(400, 200.0).bar(Span::Completion, 50.0, 300.0), None);
    }

    #[test]
    fn a_group_has_the_largest_share_of_its_workers_in_any_order() {
        let all =
            [tool(400, 9.0), tool(700, 1.0), Calibration { not_measured: vec!["loop: why".into()], ..tool(1, 0.0) }];
        let (mut forward, mut backward) = (all[0].clone(), all[2].clone());
        [1, 2].iter().for_each(|&at: &usize| forward.merge(&all[at]));
        [1, 0].iter().for_each(|&at: &usize| backward.merge(&all[at]));
        assert_eq!(forward, backward);
        assert_eq!((forward.total_ns, forward.reap_ns), (Some([700, 3500]), Some(9.0)));
    }

    #[test]
    fn what_was_not_measured_is_absent_and_not_zero() {
        let text = serde_json::to_string(&Calibration::of_clock(ClockCost::default())).unwrap();
        assert!(
            !text.contains("loop_ns") && !text.contains("reap_ns") && text.contains("histogram_relative"),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Calibration>(&text).unwrap().total_ns, None);
    }
}
