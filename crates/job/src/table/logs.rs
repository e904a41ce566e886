//! Options about logs written during the run.

use super::row::{NOT_YET, Row, Set, kind, put};
use crate::option::Kind;
use measure::Nanos;

const GROUP: &str = "Logs";

const fn works(name: &'static str, kind: Kind, set: Set, help: &'static str) -> Row {
    Row::works(GROUP, name, kind, set, help)
}

const fn refused(name: &'static str, kind: Kind, reason: &'static str, help: &'static str) -> Row {
    Row::refused(GROUP, name, kind, reason, help)
}

pub(super) const ROWS: &[Row] = &[
    works("per_job_logs", Kind::Bool, put!(Switch, record.logs.per_job), "Put the job's number into the log's name")
        .default("1"),
    works(
        "write_bw_log",
        Kind::Text,
        Set::Text(|draft, stem, _| {
            draft.record.logs.bandwidth = Some(stem.to_owned());
            Ok(())
        }),
        "Write bandwidth over time to files of this stem",
    )
    .refuse(NOT_YET),
    works(
        "write_lat_log",
        Kind::Text,
        Set::Text(|draft, stem, _| {
            draft.record.logs.latency = Some(stem.to_owned());
            Ok(())
        }),
        "Write latencies over time to files of this stem",
    )
    .refuse(NOT_YET),
    works(
        "write_iops_log",
        Kind::Text,
        Set::Text(|draft, stem, _| {
            draft.record.logs.iops = Some(stem.to_owned());
            Ok(())
        }),
        "Write IOPS over time to files of this stem",
    )
    .refuse(NOT_YET),
    refused("write_hist_log", Kind::Text, NOT_YET, "Write latency histograms over time to files of this stem"),
    refused("log_entries", kind::COUNT, NOT_YET, "Entries of a log at the start").default("1024"),
    works(
        "log_avg_msec",
        kind::COUNT,
        Set::Count(|draft, ms| {
            draft.record.logs.average = Nanos::from_millis(ms.into());
            Ok(())
        }),
        "Average logs over so many ms",
    )
    .default("0")
    .refuse(NOT_YET),
    refused("log_hist_msec", kind::COUNT, NOT_YET, "Write histograms every so many ms").default("0"),
    refused("log_hist_coarseness", kind::COUNT, NOT_YET, "Fewer bins in histogram logs").default("0"),
    refused("log_window_value", Kind::Text, NOT_YET, "What a log keeps of a window")
        .default("avg")
        .alias(&["log_max_value"]),
    refused("log_offset", Kind::Bool, NOT_YET, "Log offsets too").default("0"),
    refused("log_prio", Kind::Bool, NOT_YET, "Log I/O priorities too").default("0"),
    refused("log_issue_time", Kind::Bool, NOT_YET, "Log issue times too").default("0"),
    refused("log_compression", kind::COUNT, NOT_YET, "Compress logs in pieces of this size"),
    refused("log_compression_cpus", Kind::Text, NOT_YET, "CPUs that compress logs"),
    refused("log_store_compressed", Kind::Bool, NOT_YET, "Keep logs compressed on disk"),
    refused("log_alternate_epoch", Kind::Bool, NOT_YET, "Log times of another clock").alias(&["log_unix_epoch"]),
    refused("log_alternate_epoch_clock_id", kind::COUNT, NOT_YET, "Which clock that is"),
];
