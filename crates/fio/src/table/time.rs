//! Options about when a job starts and ends.

use super::row::{Row, Set, kind, put, refused, works};
use crate::values::span_of_time;
use plan::ClockChoice;
use plan::option::{Kind, TimeUnit};

const SECONDS: Kind = Kind::Time(TimeUnit::Seconds);

pub(super) const ROWS: &[Row] = &[
    works(
        "runtime",
        SECONDS,
        put!(Time, job.limits.runtime, |time| (!time.is_zero()).then_some(time)),
        "End after so long, the ramp not counted; 0 for no limit",
    )
    .default("0")
    .alias(&["timeout"]),
    works(
        "time_based",
        Kind::Flag,
        put!(Switch, job.limits.time_based),
        "Start over at the end of the data until runtime is over",
    ),
    works(
        "startdelay",
        SECONDS,
        Set::Text(|draft, text, _| {
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            let ends = [span_of_time(first, TimeUnit::Seconds)?, span_of_time(last, TimeUnit::Seconds)?];
            draft.job.start.delay = (ends[0].min(ends[1]), ends[0].max(ends[1]));
            Ok(())
        }),
        "Start so much later; a range a-b is drawn from",
    )
    .default("0"),
    works("ramp_time", SECONDS, put!(Time, job.limits.ramp), "I/O for so long before anything counts"),
    works("ramp_size", kind::BYTES, put!(Number, job.limits.ramp_bytes), "I/O of so many bytes before anything counts"),
    works(
        "clocksource",
        Kind::Word(&[
            ("gettimeofday", "a call to the system"),
            ("clock_gettime", "the same"),
            ("cpu", "the processor's counter"),
        ]),
        put!(Word, job.place.clock, |word| Some(match word {
            "cpu" => ClockChoice::Counter,
            _ => ClockChoice::System,
        })),
        "Which clock is read; without it the counter where it can be trusted, else a call",
    ),
    works(
        "gtod_reduce",
        Kind::Bool,
        Set::Switch(|draft, on| {
            let record = &mut draft.job.record;
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
        put!(Count, job.start.clock_id),
        "Clock of the job's start in JSON, a number of clock_gettime(2)",
    ),
];
