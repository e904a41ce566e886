//! Options about logs written during the run.

use super::row::{Row, Set, kind, put, words, works};
use crate::error::Complaint;
use crate::options::values::cpu_list;
use measure::Nanos;
use plan::WindowValue;
use plan::option::Kind;

words!(WINDOW_VALUE, window_value -> WindowValue {
    "avg" => WindowValue::Average, "the mean";
    "max" => WindowValue::Largest, "the largest";
    "both" => WindowValue::Both, "both, in two columns";
    "0" => WindowValue::Average, "same as avg";
    "1" => WindowValue::Largest, "same as max";
});

pub(super) const ROWS: &[Row] = &[
    works(
        "per_job_logs",
        Kind::Bool,
        put!(Switch, job.record.logs.per_job),
        "Write one log file per job, with its number in the name",
    )
    .default("1"),
    works(
        "write_bw_log",
        Kind::Text,
        put!(Text, job.record.logs.bandwidth),
        "Write a bandwidth log with this file name prefix",
    ),
    works(
        "write_lat_log",
        Kind::Text,
        put!(Text, job.record.logs.latency),
        "Write latency logs with this file name prefix",
    ),
    works(
        "write_iops_log",
        Kind::Text,
        put!(Text, job.record.logs.iops),
        "Write an IOPS log with this file name prefix",
    ),
    works(
        "write_hist_log",
        Kind::Text,
        put!(Text, job.record.logs.histogram),
        "Write a log of latency histograms with this file name prefix",
    ),
    works(
        "log_entries",
        Kind::Integer { least: 1024, most: 1 << 20 },
        put!(Count, job.record.logs.entries),
        "Number of log entries to collect before they are written",
    )
    .default("1024"),
    works(
        "log_avg_msec",
        kind::COUNT,
        put!(Count, job.record.logs.average, |ms| Nanos::from_millis(ms.into())),
        "Average log entries over this interval, ms; 0 logs each I/O",
    )
    .default("0"),
    works(
        "log_hist_msec",
        kind::COUNT,
        put!(Count, job.record.logs.histogram_interval, |ms| Nanos::from_millis(ms.into())),
        "Interval of histogram logs, ms; 0 for one at the end",
    )
    .default("0"),
    works(
        "log_hist_coarseness",
        Kind::Integer { least: 0, most: 6 },
        put!(Count, job.record.logs.coarseness),
        "Merge 2^N adjacent bins in histogram logs",
    )
    .default("0"),
    works(
        "log_window_value",
        WINDOW_VALUE,
        put!(Word, job.record.logs.window_value, |word| window_value(word)?),
        "Value to log for an interval",
    )
    .default("avg")
    .alias(&["log_max_value"]),
    works("log_offset", Kind::Bool, put!(Switch, job.record.logs.offset), "Include offsets in logs").default("0"),
    works("log_prio", Kind::Bool, put!(Switch, job.record.logs.priority), "Include I/O priorities in logs")
        .default("0"),
    works("log_issue_time", Kind::Bool, put!(Switch, job.record.logs.issue_time), "Include issue times in logs")
        .default("0"),
    works(
        "log_compression",
        Kind::Size { percent: false },
        Set::Number(|draft, bytes| {
            if !(1 << 10..=512 << 20).contains(&bytes) {
                return Err(Complaint::new(format!("is {bytes} bytes"), "give 1k to 512m"));
            }
            draft.job.record.logs.piece = Some(bytes);
            Ok(())
        }),
        "Compress logs in chunks of this size",
    ),
    works(
        "log_compression_cpus",
        Kind::Text,
        Set::Text(|draft, text, context| {
            draft.job.record.logs.cpus = cpu_list(text, context.cpus)?;
            Ok(())
        }),
        "CPUs of the thread that compresses and writes logs",
    ),
    works("log_store_compressed", Kind::Bool, put!(Switch, job.record.logs.packed), "Store log files compressed"),
    works(
        "log_alternate_epoch",
        Kind::Bool,
        put!(Switch, job.record.logs.alternate_epoch),
        "Log times of another clock instead of times since the start",
    )
    .alias(&["log_unix_epoch"]),
    works(
        "log_alternate_epoch_clock_id",
        kind::COUNT,
        Set::Count(|draft, clock| {
            if !KNOWN_CLOCKS.contains(&clock) {
                let what = format!("clock {clock} is not one that log_alternate_epoch can read");
                return Err(Complaint::new(what, "use 0 (real time), 1 (monotonic) or 4 to 7"));
            }
            draft.job.record.logs.epoch_clock = clock;
            Ok(())
        }),
        "Clock of log_alternate_epoch, as an ID of clock_gettime(2)",
    ),
];

/// System-wide clocks of clock_gettime(2), as opposed to those of a process or thread.
const KNOWN_CLOCKS: &[u32] = &[0, 1, 4, 5, 6, 7];
