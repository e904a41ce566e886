//! Options that end a job when its rate or latency is steady.

use super::row::{Row, Set, put, works};
use crate::error::Complaint;
use crate::options::values::{UnitBase, integer, span_of_time};
use measure::Nanos;
use plan::option::{Kind, TimeUnit};
use plan::{SteadyCriterion, SteadyMeasure, SteadyPlan};

const SECONDS: Kind = Kind::Time(TimeUnit::Seconds);

/// Replaces the criterion of `plan` by this one, such as `iops:5%` or `bw_slope:300`.
pub(crate) fn criterion(text: &str, plan: SteadyPlan) -> Result<SteadyPlan, Complaint> {
    let wrong = |what: &str| Complaint::new(what, "write it like iops:2% or bw_slope:0.3%");
    let (word, limit) = text.split_once(':').ok_or_else(|| wrong("has no limit"))?;
    let (measure, criterion) = match word.trim() {
        "iops" => (SteadyMeasure::Iops, SteadyCriterion::Deviation),
        "iops_slope" => (SteadyMeasure::Iops, SteadyCriterion::Slope),
        "bw" => (SteadyMeasure::Bandwidth, SteadyCriterion::Deviation),
        "bw_slope" => (SteadyMeasure::Bandwidth, SteadyCriterion::Slope),
        "lat" => (SteadyMeasure::Latency, SteadyCriterion::Deviation),
        "lat_slope" => (SteadyMeasure::Latency, SteadyCriterion::Slope),
        _ => return Err(wrong("is none of iops, iops_slope, bw, bw_slope, lat, lat_slope")),
    };
    // fio reads nothing behind the first percent sign: some programs write `5%%`.
    let (number, relative) = limit.split_once('%').map_or((limit, false), |(number, _)| (number, true));
    let number = number.trim();
    let limit = match (number.parse::<f64>(), measure) {
        (Ok(limit), _) => limit,
        (Err(_), SteadyMeasure::Bandwidth) if !relative => integer(number, UnitBase::Binary)? as f64,
        (Err(_), SteadyMeasure::Latency) if !relative => span_of_time(number, TimeUnit::Microseconds)?.get() as f64,
        (Err(_), _) => return Err(wrong("has a limit that is not a number")),
    };
    if !limit.is_finite() || limit < 0.0 {
        return Err(wrong("has a limit that is negative or not finite"));
    }
    Ok(SteadyPlan { measure, criterion, limit, relative, ..plan })
}

pub(super) const ROWS: &[Row] = &[
    works(
        "steadystate",
        Kind::Text,
        Set::Text(|draft, text, _| {
            draft.steady = criterion(text, draft.steady)?;
            Ok(())
        }),
        "Criterion of steady state: iops, bw, lat or one of them with _slope, and its limit",
    )
    .default("iops_slope:0.01%")
    .alias(&["ss"]),
    works(
        "steadystate_duration",
        SECONDS,
        put!(Time, steady.duration),
        "Duration for which the criterion must hold; the job then ends",
    )
    .default("0")
    .alias(&["ss_dur"]),
    works(
        "steadystate_ramp_time",
        SECONDS,
        put!(Time, steady.ramp),
        "Time to wait before steady-state detection starts",
    )
    .default("0")
    .alias(&["ss_ramp"]),
    works(
        "steadystate_check_interval",
        SECONDS,
        Set::Time(|draft, interval| {
            if interval < Nanos::SECOND {
                return Err(Complaint::new("is shorter than a second", "give 1 or more seconds"));
            }
            draft.steady.interval = interval;
            Ok(())
        }),
        "Interval of steady-state samples",
    )
    .default("1")
    .alias(&["ss_interval"]),
];
