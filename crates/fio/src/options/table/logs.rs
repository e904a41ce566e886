//! Options about logs written during the run.

use super::row::{rows, words};
use crate::error::Complaint;
use crate::options::values::cpu_list;
use measure::Nanos;
use plan::WindowValue;

words!(WINDOW_VALUE, window_value -> WindowValue {
    "avg" => WindowValue::Average, "the mean";
    "max" => WindowValue::Largest, "the largest";
    "both" => WindowValue::Both, "both, in two columns";
    "0" => WindowValue::Average, "same as avg";
    "1" => WindowValue::Largest, "same as max";
});

fn piece(bytes: u64) -> Result<Option<u64>, Complaint> {
    match bytes {
        0x400..=0x2000_0000 => Ok(Some(bytes)),
        _ => Err(Complaint::new(format!("is {bytes} bytes"), "give 1k to 512m")),
    }
}

/// A system-wide clock of clock_gettime(2), as opposed to that of a process or thread.
fn clock(clock: u32) -> Result<u32, Complaint> {
    match clock {
        0 | 1 | 4..=7 => Ok(clock),
        _ => {
            let what = format!("clock {clock} is not one that log_alternate_epoch can read");
            Err(Complaint::new(what, "use 0 (real time), 1 (monotonic) or 4 to 7"))
        }
    }
}

rows! {
    "per_job_logs": BOOL, "1" => Switch(job.record.logs.per_job);
        "Write one log file per job, with its number in the name";
    "write_bw_log": TEXT => Text(job.record.logs.bandwidth); "Write a bandwidth log with this file name prefix";
    "write_lat_log": TEXT => Text(job.record.logs.latency); "Write latency logs with this file name prefix";
    "write_iops_log": TEXT => Text(job.record.logs.iops); "Write an IOPS log with this file name prefix";
    "write_hist_log": TEXT => Text(job.record.logs.histogram);
        "Write a log of latency histograms with this file name prefix";
    "log_entries": between(1024, 1 << 20), "1024" => Count(job.record.logs.entries);
        "Number of log entries to collect before they are written";
    "log_avg_msec": COUNT, "0" => Count(job.record.logs.average, |ms| Nanos::from_millis(ms.into()));
        "Average log entries over this interval, ms; 0 logs each I/O";
    "log_hist_msec": COUNT, "0" => Count(job.record.logs.histogram_interval, |ms| Nanos::from_millis(ms.into()));
        "Interval of histogram logs, ms; 0 for one at the end";
    "log_hist_coarseness": between(0, 6), "0" => Count(job.record.logs.coarseness);
        "Merge 2^N adjacent bins in histogram logs";
    "log_window_value" | "log_max_value": WINDOW_VALUE, "avg" => Word(job.record.logs.window_value, window_value);
        "Value to log for an interval";
    "log_offset": BOOL, "0" => Switch(job.record.logs.offset); "Include offsets in logs";
    "log_prio": BOOL, "0" => Switch(job.record.logs.priority); "Include I/O priorities in logs";
    "log_issue_time": BOOL, "0" => Switch(job.record.logs.issue_time); "Include issue times in logs";
    "log_compression": BYTES => Number(job.record.logs.piece, piece);
        "Compress logs in chunks of this size";
    "log_compression_cpus": TEXT => Text(job.record.logs.cpus, |text, context| cpu_list(text, context.cpus)?);
        "CPUs of the thread that compresses and writes logs";
    "log_store_compressed": BOOL => Switch(job.record.logs.packed); "Store log files compressed";
    "log_alternate_epoch" | "log_unix_epoch": BOOL => Switch(job.record.logs.alternate_epoch);
        "Log times of another clock instead of times since the start";
    "log_alternate_epoch_clock_id": COUNT => Count(job.record.logs.epoch_clock, clock);
        "Clock of log_alternate_epoch, as an ID of clock_gettime(2)";
}
