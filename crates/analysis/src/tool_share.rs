//! The tool's own share of latencies in words, and where it is large enough to matter.

use measure::{Direction, float, text};
use model::{Calibration, ErrorBar, JobResult, Span};

/// The calibration of a worker in sentences, without the parts that were not measured.
///
/// ```
/// let tool = model::Calibration {
///     total_ns: Some([400, 2_100]),
///     wake_ns: Some([3_000, 51_000]),
///     histogram_relative: 0.0078,
///     ..model::Calibration::default()
/// };
/// assert_eq!(
///     analysis::tool_share::sentence(&tool),
///     "an I/O that takes no time would show 400 ns (p99 2.1 µs); waking up costs 3 µs (p99 51 µs). Latencies are true to -400 ns / +0 ns ± 0.78 %; of a worker that slept, to -53.1 µs at p99."
/// );
/// ```
pub fn sentence(tool: &Calibration) -> String {
    let mut parts = Vec::new();
    if let Some([middle, slow]) = tool.total_ns {
        let borrowed = match &tool.by {
            Some(by) if tool.borrowed => format!(", as measured by {by}: its own engine has no I/O that does nothing"),
            _ => String::new(),
        };
        parts.push(format!(
            "an I/O that takes no time would show {} (p99 {}{borrowed})",
            text::time(float(middle)),
            text::time(float(slow))
        ));
    }
    if let Some(reap) = tool.reap_ns.filter(|&reap| reap >= 1.0) {
        parts.push(format!("completions waited {} for the worker", text::time(reap)));
    }
    if let Some([middle, slow]) = tool.wake_ns {
        parts.push(format!("waking up costs {} (p99 {})", text::time(float(middle)), text::time(float(slow))));
    }
    parts.extend(tool.not_measured.iter().map(|part| match part.split_once(": ") {
        Some((part, why)) => format!("{part}: not measured: {why}"),
        None => format!("{part}: not measured"),
    }));
    let either = text::percent(tool.histogram_relative);
    let end = match tool.total_ns {
        Some([middle, slow]) => {
            let reap = tool.reap_ns.unwrap_or(0.0);
            // On a busy machine this is most of it: other programs have the processor when the I/O is complete.
            let asleep = tool.wake_ns.filter(|wake| wake[1] > 0).map(|wake| float(slow) + reap + float(wake[1]));
            let asleep = asleep.map_or_else(String::new, |share| {
                format!("; of a worker that slept, to -{} at p99", text::time(share))
            });
            format!("Latencies are true to -{} / +0 ns ± {either}{asleep}.", text::time(float(middle) + reap))
        }
        None => format!("Latencies are true to ± {either}, and too long by an unknown share of the tool."),
    };
    format!("{}. {end}", parts.join("; "))
}

/// The error bar of a percentile of latency; `None` if there is no percentile, or if the loop was not measured.
pub fn bar(job: &JobResult, direction: Direction, percent: f64) -> Option<ErrorBar> {
    let (tool, found) = (job.calibration.as_ref()?, &job.directions[direction]);
    let span = match &found.total {
        Some(total) if total.histogram.is_some() => Span::Total,
        _ => Span::Completion,
    };
    let latency = found.latency_distribution()?.histogram.as_ref()?.percentile(percent)?;
    tool.bar(span, percent, latency.as_f64())
}
