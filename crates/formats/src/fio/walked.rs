//! Writes that `verify_only` walks through without I/O: fio's formats count them as if they were done.
//!
//! A result holds them separately from what was done; the writers add them here, and the reader of JSON takes them out.

use measure::Nanos;
use model::{JobResult, LatencyStatistics, RunResult, WalkedWrites};

/// The rows of a report in fio's formats: with the writes that were walked through, which took no time.
pub(crate) fn rows(result: &RunResult) -> Vec<JobResult> {
    let mut rows = result.reported_jobs();
    for row in &mut rows {
        if let Some(walked) = row.walked {
            add(row, walked);
        }
    }
    rows
}

fn add(row: &mut JobResult, walked: WalkedWrites) {
    let style = &row.style;
    let percentiles = [style.completion_percentiles, style.total_percentiles];
    let writes = &mut row.directions.write;
    writes.ios = writes.ios.saturating_add(walked.ios);
    writes.bytes = writes.bytes.saturating_add(walked.bytes);
    for (latency, shown) in [&mut writes.completion, &mut writes.total].into_iter().zip(percentiles) {
        let Some(latency) = latency else { continue };
        let mut in_no_time = LatencyStatistics::default();
        in_no_time.moments.record_many(Nanos::ZERO, walked.ios);
        if shown {
            in_no_time.histogram.get_or_insert_default().record_many(Nanos::ZERO, walked.ios);
        }
        latency.merge(&in_no_time);
    }
}

/// The I/Os of a row that were done.
pub(crate) fn done(row: &JobResult) -> u64 {
    row.ios().saturating_sub(row.walked.map_or(0, |walked| walked.ios))
}
