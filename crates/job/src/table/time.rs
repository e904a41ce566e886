//! Options about when a job starts and ends.

use super::row::{NOT_YET, Row, Set, kind, put};
use crate::option::{Kind, TimeUnit};
use crate::values::span_of_time;

const GROUP: &str = "Time";

const fn works(name: &'static str, kind: Kind, set: Set, help: &'static str) -> Row {
    Row::works(GROUP, name, kind, set, help)
}

const fn refused(name: &'static str, kind: Kind, reason: &'static str, help: &'static str) -> Row {
    Row::refused(GROUP, name, kind, reason, help)
}

const SECONDS: Kind = Kind::Time(TimeUnit::Seconds);

pub(super) const ROWS: &[Row] = &[
    works("runtime", SECONDS, put!(Time, runtime), "End after so long, the ramp not counted; 0 for no limit")
        .default("0")
        .alias(&["timeout"]),
    works(
        "time_based",
        Kind::Flag,
        put!(Switch, time_based),
        "Start over at the end of the data until runtime is over",
    ),
    works(
        "startdelay",
        SECONDS,
        Set::Text(|draft, text, _| {
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            let ends = [span_of_time(first, TimeUnit::Seconds)?, span_of_time(last, TimeUnit::Seconds)?];
            draft.start_delay = (ends[0].min(ends[1]), ends[0].max(ends[1]));
            Ok(())
        }),
        "Start so much later; a range a-b is drawn from",
    )
    .default("0"),
    works("ramp_time", SECONDS, put!(Time, ramp), "I/O for so long before anything counts"),
    refused("ramp_size", kind::BYTES, NOT_YET, "I/O of so many bytes before anything counts"),
    refused("clocksource", Kind::Text, "plumb chooses and checks the clock itself", "Which clock is read"),
    works(
        "gtod_reduce",
        Kind::Bool,
        Set::Switch(|draft, on| {
            let record = &mut draft.record;
            if on {
                record.total_latency = false;
                record.completion_latency = false;
                record.submission_latency = false;
                record.samples = false;
                record.completion_percentiles = false;
                record.total_percentiles = false;
                record.submission_percentiles = false;
            }
            Ok(())
        }),
        "Read the clock rarely: no latencies, no bandwidth samples",
    )
    .default("0"),
    refused("gtod_cpu", kind::COUNT, NOT_YET, "CPU that does nothing but read the clock"),
    refused("job_start_clock_id", kind::COUNT, NOT_YET, "Clock of the job's start in JSON"),
];
