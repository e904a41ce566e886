//! Options about measurements and reports.

use super::row::{Row, Set, kind, put, works};
use crate::error::Complaint;
use crate::values::floats;
use measure::Nanos;
use plan::Unified;
use plan::option::Kind;

pub(super) const ROWS: &[Row] = &[
    works("stats", Kind::Bool, put!(Switch, job.record.shown), "Report this job").default("1"),
    works(
        "bwavgtime",
        kind::COUNT,
        put!(Count, job.record.bandwidth_interval, |ms| Nanos::from_millis(ms.into())),
        "Interval of bandwidth samples, ms",
    )
    .default("500"),
    works(
        "iopsavgtime",
        kind::COUNT,
        put!(Count, job.record.iops_interval, |ms| Nanos::from_millis(ms.into())),
        "Interval of IOPS samples, ms",
    )
    .default("500"),
    works("disk_util", Kind::Bool, put!(Switch, job.record.disk_usage), "Report what the disks did").default("1"),
    works(
        "disable_lat",
        Kind::Bool,
        put!(Switch, job.record.total_latency, |off| !off),
        "Do not measure total latency",
    )
    .default("0"),
    works(
        "disable_clat",
        Kind::Bool,
        put!(Switch, job.record.completion_latency, |off| !off),
        "Do not measure completion latency",
    )
    .default("0"),
    works(
        "disable_slat",
        Kind::Bool,
        put!(Switch, job.record.submission_latency, |off| !off),
        "Do not measure submission latency",
    )
    .default("0"),
    works(
        "disable_bw_measurement",
        Kind::Bool,
        put!(Switch, job.record.samples, |off| !off),
        "Take no bandwidth and IOPS samples",
    )
    .default("0")
    .alias(&["disable_bw"]),
    works(
        "clat_percentiles",
        Kind::Bool,
        put!(Switch, job.record.completion_percentiles),
        "Percentiles of completion latency",
    )
    .default("1"),
    works("lat_percentiles", Kind::Bool, put!(Switch, job.record.total_percentiles), "Percentiles of total latency")
        .default("0"),
    works(
        "slat_percentiles",
        Kind::Bool,
        put!(Switch, job.record.submission_percentiles),
        "Percentiles of submission latency",
    )
    .default("0"),
    works(
        "percentile_list",
        Kind::Floats { most: 20 },
        Set::Text(|draft, text, _| {
            let mut values = floats(text, 20)?;
            if let Some(wrong) = values.iter().find(|&&value| !(0.0..=100.0).contains(&value)) {
                return Err(Complaint::new(format!("has a percentile of {wrong}"), "give values from 0 to 100"));
            }
            values.sort_by(f64::total_cmp);
            let digits = |part: &str| part.trim().split_once('.').map_or(0, |(_, digits)| digits.len());
            draft.job.record.percentile_digits = text.split(':').map(digits).max().unwrap_or(0);
            draft.job.record.percentiles = values;
            Ok(())
        }),
        "Which percentiles are reported",
    )
    .default("1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99"),
    works(
        "significant_figures",
        Kind::Integer { least: 1, most: 10 },
        put!(Count, job.record.significant_figures, |digits| usize::try_from(digits).unwrap_or(4)),
        "Digits of numbers in the text report",
    )
    .default("4"),
    works(
        "unified_rw_reporting",
        Kind::Word(&[
            ("none", "each direction by itself"),
            ("mixed", "only their sum"),
            ("both", "each, and their sum"),
            ("0", "as none"),
            ("1", "as mixed"),
            ("2", "as both"),
        ]),
        put!(Word, job.record.unified, |word| match word {
            "mixed" | "1" => Unified::Mixed,
            "both" | "2" => Unified::Both,
            _ => Unified::None,
        }),
        "Report reads, writes and trims together",
    )
    .default("none"),
    works(
        "block_error_percentiles",
        Kind::Bool,
        put!(Switch, job.record.block_lives),
        "What became of each block of a job that trims, and after how many trims it failed",
    )
    .default("0"),
];
