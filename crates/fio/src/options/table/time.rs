//! Options about when a job starts and ends.

use super::row::{Outcome, rows, words};
use crate::error::Complaint;
use crate::options::draft::Draft;
use crate::options::values::span_of_time;
use measure::Nanos;
use plan::ClockChoice;
use plan::option::TimeUnit;

words!(CLOCK, clock -> ClockChoice {
    "gettimeofday" => ClockChoice::System, "system call";
    "clock_gettime" => ClockChoice::System, "same as gettimeofday";
    "cpu" => ClockChoice::Counter, "the CPU's time stamp counter";
});

fn delay(text: &str) -> Result<(Nanos, Nanos), Complaint> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (span_of_time(first, TimeUnit::Seconds)?, span_of_time(last, TimeUnit::Seconds)?);
    Ok((first.min(last), first.max(last)))
}

fn no_latencies(draft: &mut Draft, on: bool) -> Outcome {
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
}

rows! {
    "runtime" | "timeout": SECONDS, "0" => Time(job.limits.runtime, |time| (!time.is_zero()).then_some(time));
        "Time limit of the job, excluding the ramp; 0 for no limit";
    "time_based": FLAG => Switch(job.limits.time_based); "Repeat the I/O until runtime has passed";
    "startdelay": SECONDS, "0" => Text(job.start.delay, delay);
        "Delay of the start; a range a-b for a random delay";
    "ramp_time": SECONDS => Time(job.limits.ramp); "Time of I/O before the measurement starts";
    "ramp_size": BYTES => Number(job.limits.ramp_bytes); "Amount of I/O before the measurement starts";
    "clocksource": CLOCK => Word(job.place.clock, |word| Some(clock(word)?));
        "Clock to read; by default the CPU clock if it is reliable, otherwise clock_gettime";
    "gtod_reduce": BOOL, "0" => Switch(fn no_latencies);
        "Reduce clock reads: no latencies";
    "gtod_cpu": COUNT => Refused("reading the clock costs plumb less than reading another CPU's copy of it would");
        "CPU that only reads the clock";
    "job_start_clock_id": COUNT => Count(job.start.clock_id);
        "Clock of the start time in JSON, as an ID of clock_gettime(2)";
}
