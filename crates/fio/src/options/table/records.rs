//! Options about measurements, reports, and logs written during the run.

use super::row::{Context, Outcome, rows, words};
use crate::error::Complaint;
use crate::options::draft::Draft;
use crate::options::values::{cpu_list, floats};
use measure::Nanos;
use plan::{Unified, WindowValue};

words!(UNIFIED, unified -> Unified {
    "none" => Unified::None, "each direction separately";
    "mixed" => Unified::Mixed, "only the sum";
    "both" => Unified::Both, "each direction, and the sum";
    "0" => Unified::None, "same as none";
    "1" => Unified::Mixed, "same as mixed";
    "2" => Unified::Both, "same as both";
});

/// fio's default percentiles.
const PERCENTILES: &str = "1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99";

fn percentiles(draft: &mut Draft, text: &str, _: &Context<'_>) -> Outcome {
    let mut values = floats(text, 20)?;
    if let Some(wrong) = values.iter().find(|&&value| !(0.0..=100.0).contains(&value)) {
        return Err(Complaint::new(format!("has a percentile of {wrong}"), "give values from 0 to 100"));
    }
    values.sort_by(f64::total_cmp);
    let digits = |part: &str| part.trim().split_once('.').map_or(0, |(_, digits)| digits.len());
    draft.job.record.percentile_digits = text.split(':').map(digits).max().unwrap_or(0);
    draft.job.record.percentiles = values;
    Ok(())
}

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
    "stats": BOOL, "1" => Switch(job.record.shown); "Include the job in the report";
    "bwavgtime": COUNT, "500" => Count(job.record.bandwidth_interval, |ms| Nanos::from_millis(ms.into()));
        "Interval of bandwidth samples, ms";
    "iopsavgtime": COUNT, "500" => Count(job.record.iops_interval, |ms| Nanos::from_millis(ms.into()));
        "Interval of IOPS samples, ms";
    "disk_util": BOOL, "1" => Switch(job.record.disk_usage); "Report disk utilization";
    "disable_lat": BOOL, "0" => Switch(job.record.total_latency, |off| !off); "Do not measure total latency";
    "disable_clat": BOOL, "0" => Switch(job.record.completion_latency, |off| !off); "Do not measure completion latency";
    "disable_slat": BOOL, "0" => Switch(job.record.submission_latency, |off| !off); "Do not measure submission latency";
    "disable_bw_measurement" | "disable_bw": BOOL, "0" => Switch(job.record.samples, |off| !off);
        "Do not sample bandwidth and IOPS";
    "clat_percentiles": BOOL, "1" => Switch(job.record.completion_percentiles);
        "Report percentiles of completion latency";
    "lat_percentiles": BOOL, "0" => Switch(job.record.total_percentiles); "Report percentiles of total latency";
    "slat_percentiles": BOOL, "0" => Switch(job.record.submission_percentiles);
        "Report percentiles of submission latency";
    "percentile_list": floats(20), PERCENTILES => Text(fn percentiles); "Percentiles to report";
    "significant_figures": between(1, 10), "4"
        => Count(job.record.significant_figures, |digits| usize::try_from(digits).unwrap_or(4));
        "Significant figures of numbers in normal output";
    "unified_rw_reporting": UNIFIED, "none" => Word(job.record.unified, unified);
        "Report reads, writes and trims together";
    "block_error_percentiles": BOOL, "0" => Switch(job.record.block_lives);
        "Track the state of each block of a job that trims, and report after how many trims blocks failed";
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
    "log_compression": BYTES => Number(job.record.logs.piece, piece); "Compress logs in chunks of this size";
    "log_compression_cpus": TEXT => Text(job.record.logs.cpus, |text, context| cpu_list(text, context.cpus)?);
        "CPUs of the thread that compresses and writes logs";
    "log_store_compressed": BOOL => Switch(job.record.logs.packed); "Store log files compressed";
    "log_alternate_epoch" | "log_unix_epoch": BOOL => Switch(job.record.logs.alternate_epoch);
        "Log times of another clock instead of times since the start";
    "log_alternate_epoch_clock_id": COUNT => Count(job.record.logs.epoch_clock, clock);
        "Clock of log_alternate_epoch, as an ID of clock_gettime(2)";
}
