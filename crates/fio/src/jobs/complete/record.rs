//! Measurements and logs of a job: percentiles, logs, units.

use super::Findings;
use crate::options::draft::Draft;
use measure::Nanos;
use plan::{EngineSpec, LogPlan, RecordPlan};

/// Builds the record plan of a draft.
pub(super) fn plan(draft: &Draft, engine: &EngineSpec) -> RecordPlan {
    let record = &draft.job.record;
    let named = |stem: &Option<String>| stem.as_ref().map(|stem| or_name(stem, &draft.job.name));
    RecordPlan {
        completion_percentiles: record.completion_percentiles && record.completion_latency,
        total_percentiles: record.total_percentiles && record.total_latency,
        submission_percentiles: record.submission_percentiles && record.submission_latency,
        bandwidth_interval: sampled(record.bandwidth_interval, &record.logs.bandwidth, &record.logs),
        iops_interval: sampled(record.iops_interval, &record.logs.iops, &record.logs),
        bits: record.bits || (engine.capabilities.rates_in_bits && !draft.given("unit_base")),
        logs: LogPlan {
            histogram: named(&record.logs.histogram),
            bandwidth: named(&record.logs.bandwidth),
            latency: named(&record.logs.latency),
            iops: named(&record.logs.iops),
            ..record.logs.clone()
        },
        ..record.clone()
    }
}

/// Interval of the bandwidth or IOPS samples in the report. If the rate is also logged as averages (`log_avg_msec`),
/// the report uses the interval of the log.
fn sampled(interval: Nanos, log: &Option<String>, logs: &LogPlan) -> Nanos {
    if log.is_some() && !logs.average.is_zero() { logs.average } else { interval }
}

/// Stem of a log's file name: the given one, or the job's name, which may be a path.
fn or_name(stem: &str, name: &str) -> String {
    if stem.is_empty() { name.to_owned() } else { stem.to_owned() }
}

/// Rejects logs that cannot be written, and block lifetimes of several files.
pub(super) fn check(draft: &Draft, findings: &mut Findings<'_>) {
    check_logs(draft, findings);
    check_block_lives(draft, findings);
}

/// log_issue_time adds a column to latency logs that also have offsets, and to no other log.
fn check_logs(draft: &Draft, findings: &mut Findings<'_>) {
    let logs = &draft.job.record.logs;
    if logs.issue_time && !(logs.offset && logs.latency.is_some()) {
        findings.reject(
            &["log_issue_time"],
            "log_issue_time has no log to go to",
            "give write_lat_log and log_offset=1 as well",
        );
    }
}

/// Block lifetimes are recorded for a single file only.
fn check_block_lives(draft: &Draft, findings: &mut Findings<'_>) {
    if draft.job.record.block_lives && (draft.job.files.count > 1 || draft.job.files.names.len() > 1) {
        let count = draft.job.files.names.len().max(draft.job.files.count as usize);
        let what = format!("block_error_percentiles tracks the blocks of one file, and the job has {count}");
        findings.reject(&["block_error_percentiles", "nrfiles", "filename"], what, "use one job per file");
    }
}
