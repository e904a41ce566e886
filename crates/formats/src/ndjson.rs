//! The lines of a stream (`--stream`): one JSON object each. docs/streams.md and stream.schema.json describe them.
//!
//! Owns the names and the shape of the lines. Leaves when they are written, and to where, to `cli`.

use measure::{Nanos, PerDirection};
use model::{DeviceLatency, Environment, Grade, Interval, JobError, Note};
use plan::Workload;
use serde::Serialize;
use serde_with::skip_serializing_none;

/// Number of the schema, in each `start` line. It changes if a program that reads older streams would be misled.
pub const SCHEMA: u32 = 1;

/// One line.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Line<'a> {
    /// A run begins: what is going to run, and on which machine.
    Start(Box<Start<'a>>),
    /// Everything that was counted since the interval before.
    Interval(IntervalLine<'a>),
    /// A sentence: that of a check, or about something that happened during the run.
    Remark(Remark<'a>),
    /// The grade of one check.
    Check {
        /// Number of the run.
        run: u32,
        /// ID of the check.
        check: &'a str,
        /// Its grade.
        grade: Grade,
    },
    /// The run has ended.
    End(Box<End<'a>>),
}

impl Line<'_> {
    /// The line with its line break.
    ///
    /// # Errors
    /// If a number is not finite, which no count and no rate of a run is.
    pub fn text(&self) -> serde_json::Result<String> {
        serde_json::to_string(self).map(|text| text + "\n")
    }
}

/// The beginning of a run.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize)]
pub struct Start<'a> {
    /// [`SCHEMA`].
    pub stream_schema: u32,
    /// `plumb` and its version.
    pub program: &'a str,
    /// The command line.
    pub command: &'a [String],
    /// Number of the run in the stream, from 1.
    pub run: u32,
    /// The test, warm-up or filling of a survey, or pass of iozone that it is; `None` if the command has one run.
    pub title: Option<&'a str>,
    /// Time of this line, in milliseconds since 1970 UTC.
    pub unix_ms: u64,
    /// The machine.
    pub environment: &'a Environment,
    /// The jobs; none for `plumb watch`.
    pub jobs: Vec<StartedJob<'a>>,
}

/// A job that is going to run.
#[derive(Clone, Debug, Serialize)]
pub struct StartedJob<'a> {
    /// Its name.
    pub name: &'a str,
    /// Number of workers.
    pub workers: u32,
    /// Engine.
    pub engine: &'a str,
    /// I/Os in flight of each worker, as asked for.
    pub iodepth: u32,
    /// True if O_DIRECT is asked for.
    pub direct: bool,
    /// Block sizes (smallest, largest) per direction, in bytes.
    pub block_sizes: PerDirection<(u32, u32)>,
    /// The work that it is asked to do, as in the native result.
    pub workload: Option<Workload>,
}

/// Times of the I/Os of the devices of an interval (`plumb watch --latency`).
#[derive(Clone, Debug, Serialize)]
pub struct IntervalLatencies {
    /// Of each device, in the order of `device_names`.
    pub latency: Vec<DeviceLatency>,
    /// Events that the kernel could not keep.
    pub latency_events_lost: u64,
    /// I/Os without an end because of that, at least.
    pub latency_ios_left_out: u64,
}

/// An interval, as in the native result.
#[derive(Clone, Debug, Serialize)]
pub struct IntervalLine<'a> {
    /// Number of the run.
    pub run: u32,
    /// End of the interval, in milliseconds since 1970 UTC.
    pub unix_ms: u64,
    /// Its start, since the monitoring of the run started, in nanoseconds.
    pub from: Nanos,
    /// Kernel names of the devices, in the order of `devices`.
    pub device_names: Vec<&'a str>,
    /// Its end and all that was counted.
    #[serde(flatten)]
    pub interval: &'a Interval,
    /// Times of the I/Os of its devices, if they were asked for.
    #[serde(flatten)]
    pub latencies: Option<IntervalLatencies>,
}

/// A sentence.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize)]
pub struct Remark<'a> {
    /// Number of the run.
    pub run: u32,
    /// ID of the check that made it; `None` for something that happened during the run.
    pub check: Option<&'a str>,
    /// Its grade.
    pub grade: Option<Grade>,
    /// The sentence.
    pub sentence: &'a str,
    /// Numbers, with units in their names.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub evidence: &'a [(String, f64)],
}

impl<'a> Remark<'a> {
    /// The remark of a check.
    pub fn of(run: u32, note: &'a Note) -> Self {
        Remark {
            run,
            check: Some(&note.check),
            grade: Some(note.grade),
            sentence: &note.sentence,
            evidence: &note.evidence,
        }
    }
}

/// The end of a run.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize)]
pub struct End<'a> {
    /// Number of the run.
    pub run: u32,
    /// Time of this line, in milliseconds since 1970 UTC.
    pub unix_ms: u64,
    /// Number of its intervals, also of those whose lines are lost.
    pub intervals: u64,
    /// Bytes of all its intervals: read, written, trimmed. They include the ramp.
    pub bytes: [u64; 3],
    /// I/Os of all its intervals: reads, writes, trims.
    pub ios: [u64; 3],
    /// The measured part, by job as in reports.
    pub jobs: Vec<EndedJob<'a>>,
    /// The limiting resource, in a sentence.
    pub limited_by: Option<&'a str>,
    /// The signal that ended it early.
    pub ended_by_signal: Option<i32>,
    /// Lines that were lost since the beginning of the stream, because its reader was too slow.
    pub lost_lines: u64,
}

/// The measured part of a job.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize)]
pub struct EndedJob<'a> {
    /// Its name.
    pub name: &'a str,
    /// Number of workers.
    pub workers: u32,
    /// The error that ended it early.
    pub error: Option<&'a JobError>,
    /// I/O errors that did not end it.
    pub forgiven_errors: u64,
    /// Reads; `None` if there were none. The same for writes and trims.
    pub read: Option<EndedDirection>,
    /// Writes.
    pub write: Option<EndedDirection>,
    /// Trims.
    pub trim: Option<EndedDirection>,
}

/// The measured part of one direction of a job.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EndedDirection {
    /// Bytes.
    pub bytes: u64,
    /// I/Os.
    pub ios: u64,
    /// Time of the measured part, in nanoseconds.
    pub runtime: Nanos,
    /// Bytes per second.
    pub bytes_per_second: Option<u64>,
    /// I/Os per second.
    pub iops: Option<f64>,
    /// Mean latency: total if it is measured, else completion latency.
    pub latency_mean_ns: Option<f64>,
    /// Longest latency.
    pub latency_max_ns: Option<u64>,
    /// Percentiles that there are enough I/Os for: percent and nanoseconds.
    pub latency_percentiles_ns: Vec<(f64, u64)>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn a_line_has_its_type_first_and_an_interval_all_of_the_result() {
        let interval = Interval { until: Nanos(700), ios: [3, 0, 0], ..Interval::default() };
        let native = serde_json::to_value(&interval).unwrap();
        let sampled = IntervalLine {
            run: 2,
            unix_ms: 5,
            from: Nanos(200),
            device_names: vec!["sda"],
            interval: &interval,
            latencies: None,
        };
        let text = Line::Interval(sampled).text().unwrap();
        assert!(text.starts_with("{\"type\":\"interval\",\"run\":2,") && text.ends_with("}\n"), "{text}");
        assert_eq!(text.lines().count(), 1);
        let line: Value = serde_json::from_str(&text).unwrap();
        for (name, value) in native.as_object().unwrap() {
            assert_eq!(&line[name], value, "{name}");
        }
    }

    #[test]
    fn a_line_break_in_a_sentence_stays_within_its_line() {
        let remark = Remark { run: 1, check: None, grade: None, sentence: "one\ntwo", evidence: &[] };
        let text = Line::Remark(remark).text().unwrap();
        assert_eq!(text, "{\"type\":\"remark\",\"run\":1,\"sentence\":\"one\\ntwo\"}\n");
    }
}
