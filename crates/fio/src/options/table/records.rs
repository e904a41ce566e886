//! Options about measurements and reports.

use super::row::{Context, Outcome, rows, words};
use crate::error::Complaint;
use crate::options::draft::Draft;
use crate::options::values::floats;
use measure::Nanos;
use plan::Unified;

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

rows! {
    "stats": BOOL, "1" => Switch(job.record.shown); "Include the job in the report";
    "bwavgtime": COUNT, "500" => Count(job.record.bandwidth_interval, |ms| Nanos::from_millis(ms.into()));
        "Interval of bandwidth samples, ms";
    "iopsavgtime": COUNT, "500" => Count(job.record.iops_interval, |ms| Nanos::from_millis(ms.into()));
        "Interval of IOPS samples, ms";
    "disk_util": BOOL, "1" => Switch(job.record.disk_usage); "Report disk utilization";
    "disable_lat": BOOL, "0" => Switch(job.record.total_latency, |off| !off); "Do not measure total latency";
    "disable_clat": BOOL, "0" => Switch(job.record.completion_latency, |off| !off);
        "Do not measure completion latency";
    "disable_slat": BOOL, "0" => Switch(job.record.submission_latency, |off| !off);
        "Do not measure submission latency";
    "disable_bw_measurement" | "disable_bw": BOOL, "0" => Switch(job.record.samples, |off| !off);
        "Do not sample bandwidth and IOPS";
    "clat_percentiles": BOOL, "1" => Switch(job.record.completion_percentiles);
        "Report percentiles of completion latency";
    "lat_percentiles": BOOL, "0" => Switch(job.record.total_percentiles); "Report percentiles of total latency";
    "slat_percentiles": BOOL, "0" => Switch(job.record.submission_percentiles);
        "Report percentiles of submission latency";
    "percentile_list": floats(20), PERCENTILES => Text(fn percentiles);
        "Percentiles to report";
    "significant_figures": between(1, 10), "4"
        => Count(job.record.significant_figures, |digits| usize::try_from(digits).unwrap_or(4));
        "Significant figures of numbers in normal output";
    "unified_rw_reporting": UNIFIED, "none" => Word(job.record.unified, unified);
        "Report reads, writes and trims together";
    "block_error_percentiles": BOOL, "0" => Switch(job.record.block_lives);
        "Track the state of each block of a job that trims, and report after how many trims blocks failed";
}
