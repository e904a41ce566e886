//! Options that end a job when its rate or latency is steady.

use super::row::{Context, Outcome, rows};
use crate::error::Complaint;
use crate::options::draft::Draft;
use crate::options::values::{UnitBase, integer, span_of_time};
use measure::Nanos;
use plan::option::TimeUnit;
use plan::{SteadyCriterion, SteadyMeasure, SteadyPlan};

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

fn steady_state(draft: &mut Draft, text: &str, _: &Context<'_>) -> Outcome {
    draft.steady = criterion(text, draft.steady)?;
    Ok(())
}

fn interval(interval: Nanos) -> Result<Nanos, Complaint> {
    if interval < Nanos::SECOND {
        return Err(Complaint::new("is shorter than a second", "give 1 or more seconds"));
    }
    Ok(interval)
}

rows! {
    "steadystate" | "ss": TEXT, "iops_slope:0.01%" => Text(fn steady_state);
        "Criterion of steady state: iops, bw, lat or one of them with _slope, and its limit";
    "steadystate_duration" | "ss_dur": SECONDS, "0" => Time(steady.duration);
        "Duration for which the criterion must hold; the job then ends";
    "steadystate_ramp_time" | "ss_ramp": SECONDS, "0" => Time(steady.ramp);
        "Time to wait before steady-state detection starts";
    "steadystate_check_interval" | "ss_interval": SECONDS, "1" => Time(steady.interval, interval);
        "Interval of steady-state samples";
}
