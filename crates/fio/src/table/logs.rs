//! Options about logs written during the run.

use super::row::{Row, Set, kind, put, works};
use crate::error::Complaint;
use crate::values::cpu_list;
use measure::Nanos;
use plan::WindowValue;
use plan::option::Kind;

pub(super) const ROWS: &[Row] = &[
    works(
        "per_job_logs",
        Kind::Bool,
        put!(Switch, job.record.logs.per_job),
        "Put the job's number into the log's name",
    )
    .default("1"),
    works(
        "write_bw_log",
        Kind::Text,
        put!(Text, job.record.logs.bandwidth),
        "Write bandwidth over time to files of this stem",
    ),
    works(
        "write_lat_log",
        Kind::Text,
        put!(Text, job.record.logs.latency),
        "Write latencies over time to files of this stem",
    ),
    works("write_iops_log", Kind::Text, put!(Text, job.record.logs.iops), "Write IOPS over time to files of this stem"),
    works(
        "write_hist_log",
        Kind::Text,
        put!(Text, job.record.logs.histogram),
        "Write latency histograms over time to files of this stem",
    ),
    works(
        "log_entries",
        Kind::Integer { least: 1024, most: 1 << 20 },
        put!(Count, job.record.logs.entries),
        "Rows that are collected before they are written",
    )
    .default("1024"),
    works(
        "log_avg_msec",
        kind::COUNT,
        put!(Count, job.record.logs.average, |ms| Nanos::from_millis(ms.into())),
        "Average logs over so many ms",
    )
    .default("0"),
    works(
        "log_hist_msec",
        kind::COUNT,
        put!(Count, job.record.logs.histogram_interval, |ms| Nanos::from_millis(ms.into())),
        "Write histograms every so many ms; 0 only at the end",
    )
    .default("0"),
    works(
        "log_hist_coarseness",
        Kind::Integer { least: 0, most: 6 },
        put!(Count, job.record.logs.coarseness),
        "Fewer bins in histogram logs: 2^N are summed",
    )
    .default("0"),
    works(
        "log_window_value",
        Kind::Word(&[
            ("avg", "the mean"),
            ("max", "the largest"),
            ("both", "both, in two columns"),
            ("0", "as avg"),
            ("1", "as max"),
        ]),
        put!(Word, job.record.logs.window_value, |word| match word {
            "max" | "1" => WindowValue::Largest,
            "both" => WindowValue::Both,
            _ => WindowValue::Average,
        }),
        "What a log keeps of a window",
    )
    .default("avg")
    .alias(&["log_max_value"]),
    works("log_offset", Kind::Bool, put!(Switch, job.record.logs.offset), "Log offsets too").default("0"),
    works("log_prio", Kind::Bool, put!(Switch, job.record.logs.priority), "Log I/O priorities in full").default("0"),
    works("log_issue_time", Kind::Bool, put!(Switch, job.record.logs.issue_time), "Log issue times too").default("0"),
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
        "Hand over, and compress, logs in pieces of this size",
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
    works("log_store_compressed", Kind::Bool, put!(Switch, job.record.logs.packed), "Keep logs compressed on disk"),
    works(
        "log_alternate_epoch",
        Kind::Bool,
        put!(Switch, job.record.logs.alternate_epoch),
        "Log times of another clock rather than since the start",
    )
    .alias(&["log_unix_epoch"]),
    works(
        "log_alternate_epoch_clock_id",
        kind::COUNT,
        Set::Count(|draft, clock| {
            if !KNOWN_CLOCKS.contains(&clock) {
                let what = format!("clock {clock} is none that log_alternate_epoch can read");
                return Err(Complaint::new(what, "use 0 (real time), 1 (monotonic) or 4 to 7"));
            }
            draft.job.record.logs.epoch_clock = clock;
            Ok(())
        }),
        "Which clock that is, as clock_gettime(2) numbers them",
    ),
];

/// System-wide clocks of clock_gettime(2), as opposed to those of a process or thread.
const KNOWN_CLOCKS: &[u32] = &[0, 1, 4, 5, 6, 7];
