//! Options about when a job starts and ends.

use super::row::{Row, Set, kind, put, refused, words, works};
use crate::options::values::span_of_time;
use plan::ClockChoice;
use plan::option::{Kind, TimeUnit};

const SECONDS: Kind = Kind::Time(TimeUnit::Seconds);

words!(CLOCK, clock -> ClockChoice {
    "gettimeofday" => ClockChoice::System, "system call";
    "clock_gettime" => ClockChoice::System, "same as gettimeofday";
    "cpu" => ClockChoice::Counter, "the CPU's time stamp counter";
});

pub(super) const ROWS: &[Row] = &[
    works(
        "runtime",
        SECONDS,
        put!(Time, job.limits.runtime, |time| (!time.is_zero()).then_some(time)),
        "Time limit of the job, excluding the ramp; 0 for no limit",
    )
    .default("0")
    .alias(&["timeout"]),
    works("time_based", Kind::Flag, put!(Switch, job.limits.time_based), "Repeat the I/O until runtime has passed"),
    works(
        "startdelay",
        SECONDS,
        Set::Text(|draft, text, _| {
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            let ends = [span_of_time(first, TimeUnit::Seconds)?, span_of_time(last, TimeUnit::Seconds)?];
            draft.job.start.delay = (ends[0].min(ends[1]), ends[0].max(ends[1]));
            Ok(())
        }),
        "Delay of the start; a range a-b for a random delay",
    )
    .default("0"),
    works("ramp_time", SECONDS, put!(Time, job.limits.ramp), "Time of I/O before the measurement starts"),
    works("ramp_size", kind::BYTES, put!(Number, job.limits.ramp_bytes), "Amount of I/O before the measurement starts"),
    works(
        "clocksource",
        CLOCK,
        put!(Word, job.place.clock, |word| Some(clock(word)?)),
        "Clock to read; by default the CPU clock if it is reliable, otherwise clock_gettime",
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
                record.completion_percentiles = false;
                record.total_percentiles = false;
                record.submission_percentiles = false;
            }
            Ok(())
        }),
        "Reduce clock reads: no latencies",
    )
    .default("0"),
    refused(
        "gtod_cpu",
        kind::COUNT,
        "reading the clock costs plumb less than reading another CPU's copy of it would",
        "CPU that only reads the clock",
    ),
    works(
        "job_start_clock_id",
        kind::COUNT,
        put!(Count, job.start.clock_id),
        "Clock of the start time in JSON, as an ID of clock_gettime(2)",
    ),
];
