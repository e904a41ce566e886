//! Options about when a job starts and ends.

use super::row::{Row, Set, kind, put};
use crate::values::span_of_time;
use plan::ClockChoice;
use plan::option::{Kind, TimeUnit};

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
    works("ramp_size", kind::BYTES, put!(Number, ramp_bytes), "I/O of so many bytes before anything counts"),
    works(
        "clocksource",
        Kind::Word(&[
            ("gettimeofday", "a call to the system"),
            ("clock_gettime", "the same"),
            ("cpu", "the processor's counter"),
        ]),
        Set::Word(|draft, word, _| {
            draft.place.clock = Some(if word == "cpu" { ClockChoice::Counter } else { ClockChoice::System });
            Ok(())
        }),
        "Which clock is read; without it the counter where it can be trusted, else a call",
    ),
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
    refused(
        "gtod_cpu",
        kind::COUNT,
        "reading the clock costs plumb less than reading another CPU's copy of it would",
        "CPU that does nothing but read the clock",
    ),
    works(
        "job_start_clock_id",
        kind::COUNT,
        Set::Count(|draft, id| {
            draft.clock_id = Some(id);
            Ok(())
        }),
        "Clock of the job's start in JSON, a number of clock_gettime(2)",
    ),
];
