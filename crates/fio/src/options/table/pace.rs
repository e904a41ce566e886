//! Options about when a job starts and ends, its rates and think time.

use super::row::{Outcome, rows, words};
use crate::error::Complaint;
use crate::options::draft::Draft;
use crate::options::values::{rate_profile, span_of_time};
use measure::{BytesPerSecond, Nanos};
use plan::option::{Kind, TimeUnit};
use plan::{ClockChoice, ThinkCount};

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

words!(COUNTED, counted -> ThinkCount {
    "complete" => ThinkCount::Completed, "completed blocks";
    "issue" => ThinkCount::Issued, "issued blocks";
});

const PROCESS: Kind = Kind::Word(&[("linear", "equal intervals"), ("poisson", "exponentially distributed intervals")]);

rows! {
    "runtime" | "timeout": SECONDS, "0" => Time(job.limits.runtime, |time| (!time.is_zero()).then_some(time));
        "Time limit of the job, excluding the ramp; 0 for no limit";
    "time_based": FLAG => Switch(job.limits.time_based); "Repeat the I/O until runtime has passed";
    "startdelay": SECONDS, "0" => Text(job.start.delay, delay); "Delay of the start; a range a-b for a random delay";
    "ramp_time": SECONDS => Time(job.limits.ramp); "Time of I/O before the measurement starts";
    "ramp_size": BYTES => Number(job.limits.ramp_bytes); "Amount of I/O before the measurement starts";
    "clocksource": CLOCK => Word(job.place.clock, |word| Some(clock(word)?));
        "Clock to read; by default the CPU clock if it is reliable, otherwise clock_gettime";
    "gtod_reduce": BOOL, "0" => Switch(fn no_latencies); "Reduce clock reads: no latencies";
    "gtod_cpu": COUNT => Refused("reading the clock costs plumb less than reading another CPU's copy of it would");
        "CPU that only reads the clock";
    "job_start_clock_id": COUNT => Count(job.start.clock_id);
        "Clock of the start time in JSON, as an ID of clock_gettime(2)";
    "thinktime": MICROSECONDS, "0" => Time(job.pace.think); "Pause between I/Os";
    "thinktime_spin": MICROSECONDS, "0" => Time(job.pace.think_spin); "Part of thinktime that is spent burning CPU";
    "thinkcycles": COUNT, "0" => Count(job.pace.think_cycles); "Iterations of an empty loop before each pause";
    "thinktime_blocks": COUNT, "1" => Count(job.pace.think_blocks); "Number of blocks between pauses";
    "thinktime_blocks_type": COUNTED, "complete" => Word(job.pace.think_counts, counted);
        "Blocks that count towards thinktime_blocks";
    "thinktime_iotime": SECONDS, "0" => Time(job.pace.think_io_time); "Pause also after this time of I/O";
    "rate": THREE => Three(job.pace.rate, |rate| (rate > 0).then_some(BytesPerSecond(rate)));
        "Limit of bandwidth in bytes per second, for reads, writes, trims; excludes rate_iops";
    "rate_min" | "ratemin": THREE => Three(job.pace.least_rate, |rate| (rate > 0).then_some(BytesPerSecond(rate)));
        "Minimum bandwidth in bytes per second, below which the job fails";
    "rate_iops": THREE => Three(job.pace.iops, |iops| (iops > 0).then_some(iops));
        "Limit of IOPS, for reads, writes, trims; excludes rate";
    "rate_iops_min": THREE => Three(job.pace.least_iops, |iops| (iops > 0).then_some(iops));
        "Minimum IOPS, below which the job fails";
    "rate_process": PROCESS, "linear" => Word(job.pace.poisson, |word| word == "poisson");
        "Distribution of the intervals between I/Os of a limited rate";
    "rate_profile": TEXT => Text(job.pace.profile, |text, context| rate_profile(text, context.read)?);
        "File with the rate over time: lines of seconds since the start and I/Os per second; excludes rate and \
         rate_iops";
    "rate_cycle" | "ratecycle": COUNT, "1000" => Count(job.pace.rate_cycle, |ms| Nanos::from_millis(ms.into()));
        "Interval over which rate_min and rate_iops_min are averaged, ms";
    "rate_ignore_thinktime": BOOL => Switch(job.pace.rate_ignores_think);
        "Do not catch up on the rate after a thinktime pause";
    "flow_id": COUNT, "0" => Count(flow.id); "ID of the flow that the job belongs to";
    "flow": between(0, 1000), "0" => Count(flow.weight); "Weight of the job in its flow; 0 for no flow";
    "flow_sleep": COUNT, "0" => Count(flow.pause, |us| Nanos::from_micros(us.into()));
        "Time to sleep for a job that is ahead of its share of the flow, us";
    "flow_watermark": TEXT => NoEffect(); "Withdrawn: flows have weights";
}
