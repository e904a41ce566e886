//! Trials of a capacity: a rate of arrivals → the Plan of a run in an open loop.
//!
//! An I/O is sent when it is due, whether earlier ones have ended or not. A mix is two jobs, each with its part of the
//! rate: two Poisson processes together are one of the whole rate.

use crate::error::SurveyError;
use crate::job_plans::{Access, SurveyTarget};
use crate::test::TestTime;
use fio::{Parser, Surroundings};
use measure::{Direction, Nanos, SplitMix};
use plan::{JobPlan, Plan};

/// Engines of an open loop: the usual one, and the one where the kernel refuses it.
pub const OPEN_LOOP_ENGINES: [&str; 2] = ["io_uring", "libaio"];
/// I/Os per second that one worker sends.
const MOST_OF_A_WORKER: f64 = 200_000.0;
/// Smallest and largest depth of all workers of a job.
const LEAST_DEPTH: f64 = 64.0;
const MOST_DEPTH: f64 = 4096.0;
/// The depth has room for this many times the I/Os that are in flight if each takes as long as the limit.
const ROOM: f64 = 4.0;

/// I/O that all trials of a capacity have in common.
#[derive(Clone, Debug)]
pub struct OpenLoad {
    /// Bytes of an I/O.
    pub block: u32,
    /// Share of reads, in percent; the others are writes.
    pub read_percent: u32,
    /// How arrivals are spread.
    pub arrivals: Arrivals,
    /// The I/O engine.
    pub engine: String,
    /// Options of fio that the user adds; `{run}` in a value is the number of the run.
    pub added: Vec<(String, String)>,
    /// Seed of arrivals and offsets; each run has another one that follows from it.
    pub seed: u64,
    /// Longest response time that counts as in time.
    pub limit: Nanos,
}

/// How arrivals are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// Random, as of many independent users.
    Poisson,
    /// Equally spaced.
    Even,
}

/// When the I/Os of a run are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sending {
    /// Each one when the one before has ended.
    Alone,
    /// At this rate per second.
    Rate(f64),
}

/// A run: when I/Os are sent, for how long, and its number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpenRun {
    /// When I/Os are sent.
    pub sending: Sending,
    /// Its time; the ramp is not counted.
    pub time: TestTime,
    /// Its number, from 1.
    pub number: u64,
}

impl OpenLoad {
    /// Directions of the jobs, each with its share of the I/Os.
    pub fn parts(&self) -> impl Iterator<Item = (Direction, f64)> {
        let reads = f64::from(self.read_percent) / 100.0;
        [(Direction::Read, reads), (Direction::Write, 1.0 - reads)].into_iter().filter(|(_, part)| *part > 0.0)
    }

    /// Share of all I/Os that go in this direction; 1 for `None`, which means both.
    pub fn part(&self, direction: Option<Direction>) -> f64 {
        self.parts().filter(|(own, _)| direction.is_none_or(|wanted| wanted == *own)).map(|(_, part)| part).sum()
    }

    /// The Plan of a run, and its exact rate per second (0 for [`Sending::Alone`]): rates of jobs are whole numbers.
    ///
    /// # Errors
    /// The engine or an added option is unknown or refused, or the block has not the alignment of O_DIRECT.
    pub fn plan(
        &self,
        target: &SurveyTarget,
        run: &OpenRun,
        parser: &Parser,
        surroundings: &Surroundings<'_>,
    ) -> Result<(Plan, f64), SurveyError> {
        if target.access == Access::Direct && !self.block.is_multiple_of(target.direct_multiple) {
            let multiple = target.direct_multiple;
            return Err(SurveyError(format!("--bs={}: O_DIRECT takes multiples of {multiple} bytes here", self.block)));
        }
        let mut jobs = Vec::new();
        let mut total = 0.0;
        let mut add = |name: &str, own: Vec<(&str, String)>| -> Result<(), SurveyError> {
            let mut base = JobPlan::with_defaults(name, "capacity", plan::DEFAULT_ENGINE);
            base.files.names.clone_from(&target.paths);
            base.written = vec![("name".to_owned(), name.to_owned())];
            let mut options = self.options(target, run);
            options.extend(own.into_iter().map(|(name, value)| (name.to_owned(), value)));
            let job = parser.apply(&base, &options, surroundings);
            jobs.push(job.map_err(|error| SurveyError(format!("plumb capacity: {}", error.mistakes())))?);
            Ok(())
        };
        match run.sending {
            Sending::Alone => {
                let mix = ["randwrite", "randrw", "randread"]
                    [usize::from(self.read_percent > 0) + usize::from(self.read_percent == 100)];
                add("alone", vec![("rw", mix.to_owned()), ("rwmixread", self.read_percent.to_string())])?;
            }
            Sending::Rate(wanted) => {
                for (direction, part) in self.parts() {
                    let (name, mix) = match direction {
                        Direction::Read => ("reads", "randread"),
                        Direction::Write | Direction::Trim => ("writes", "randwrite"),
                    };
                    let (rate, mut own) = self.pace(wanted * part);
                    own.push(("rw", mix.to_owned()));
                    add(name, own)?;
                    total += rate;
                }
            }
        }
        Ok((Plan { jobs, global_options: Vec::new() }, total))
    }

    fn options(&self, target: &SurveyTarget, run: &OpenRun) -> Vec<(String, String)> {
        let micros = |time: Nanos| format!("{}us", time.get() / 1000);
        // Below 2^53, so that every JSON reader can represent the seed exactly.
        let seed = SplitMix::new(self.seed.wrapping_add(run.number)).next_word() >> 11;
        let fixed = [
            ("ioengine", self.engine.clone()),
            ("size", target.total().to_string()),
            ("direct", u8::from(target.access == Access::Direct).to_string()),
            ("bs", self.block.to_string()),
            ("time_based", "1".to_owned()),
            ("ramp_time", micros(run.time.ramp)),
            ("runtime", micros(run.time.time)),
            ("randrepeat", "0".to_owned()),
            ("randseed", seed.to_string()),
            ("norandommap", "1".to_owned()),
            ("random_generator", "tausworthe64".to_owned()),
            ("fallocate", "none".to_owned()),
            ("create_fsync", "0".to_owned()),
            ("allow_file_create", "0".to_owned()),
            // A run without a rate has no response times; its total latency takes their place.
            ("clat_percentiles", "0".to_owned()),
            ("lat_percentiles", "1".to_owned()),
        ];
        let added =
            self.added.iter().map(|(name, value)| (name.clone(), value.replace("{run}", &run.number.to_string())));
        fixed.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(added).collect()
    }

    /// Workers, depth and rate of a job; its exact rate first.
    fn pace(&self, wanted: f64) -> (f64, Vec<(&'static str, String)>) {
        let workers = (wanted / MOST_OF_A_WORKER).ceil().max(1.0);
        let each = (wanted / workers).round().max(1.0);
        let depth = (ROOM * wanted * self.limit.as_secs_f64()).clamp(LEAST_DEPTH, MOST_DEPTH);
        let process = match self.arrivals {
            Arrivals::Poisson => "poisson",
            Arrivals::Even => "linear",
        };
        let options = vec![
            ("numjobs", workers.to_string()),
            ("iodepth", format!("{:.0}", (depth / workers).ceil())),
            ("rate_iops", each.to_string()),
            ("rate_process", process.to_owned()),
        ];
        (each * workers, options)
    }
}

/// Options that the command sets itself, and so refuses from the user.
const OWN: [&str; 26] = [
    "name",
    "rw",
    "readwrite",
    "ioengine",
    "filename",
    "directory",
    "size",
    "filesize",
    "direct",
    "buffered",
    "bs",
    "blocksize",
    "time_based",
    "runtime",
    "ramp_time",
    "randrepeat",
    "randseed",
    "norandommap",
    "random_generator",
    "fallocate",
    "numjobs",
    "iodepth",
    "rate",
    "rate_iops",
    "rate_process",
    "rwmixread",
];

/// Parses an option of fio that is added to the jobs of a trial, like `hipri=1`.
///
/// # Errors
/// It has no name, or is one that a trial sets itself.
pub fn added_option(text: &str) -> Result<(String, String), SurveyError> {
    let option = text.trim_start_matches('-');
    let (name, value) = option.split_once('=').unwrap_or((option, "1"));
    if name.is_empty() {
        return Err(SurveyError(format!("{text} is not an option of fio; write it like hipri=1")));
    }
    if OWN.contains(&name) {
        let own = format!("{name} is set by plumb capacity itself; its own options are in --help");
        return Err(SurveyError(own));
    }
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
#[path = "open_loop_tests.rs"]
mod tests;
