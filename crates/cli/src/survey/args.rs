//! The command line of `plumb survey`.

use crate::failure::Failure;
use clap::Parser;
use session::arguments::SessionArgs;
use std::path::{Path, PathBuf};
use survey::{Axis, Precondition, SurveyRequest, WarmUp};

/// Numbers in one value of an option, like `1,8,64`. An alias, because clap takes a field of type `Vec` for an option
/// that is given several times.
pub(crate) type Numbers = Vec<u32>;

/// Measure a disk: random reads, sequential reads, log writes and mixes, with checks
#[derive(Debug, Default, Parser)]
#[command(
    next_line_help = false,
    long_about = "\
Measures the disk under a directory, or block devices, and checks if the numbers are true.

In a directory, plumb creates a work file of random data, reads it with O_DIRECT (8k random reads with 1 to 64 users, \
1M sequential reads), writes to it as a database writes its log, and removes it. An existing file or a device is only \
read, and tests that write are skipped, unless --overwrite names the device. A user is a process with one I/O in \
flight.",
    after_help = "\
Examples:
  plumb survey .                          the disk under this directory, about five minutes
  plumb survey --quick .                  the same in less than a minute
  plumb survey --tests all --dry-run .    only show the tests, with time, bytes and wear
All options, more examples: plumb survey --help",
    after_long_help = "\
Examples:
  plumb survey .                          the disk under this directory, about five minutes
  plumb survey --quick .                  the same in less than a minute
  plumb survey --size 64G --time 1m .     more data than a cache holds, longer tests
  plumb survey --tests all /data          every test at every level: half an hour
  plumb survey --tests all --dry-run .    only show the tests, with time, bytes and wear
  plumb survey --vary bs=512..16m --vary iodepth=1,2,4..64 /data
  plumb survey --tests randread --users 1,4,16 --repeat 3 --shuffle /data
  plumb survey --config nightly.toml /data
  plumb survey --precondition=steady --budget 2h --size 64G /data
  plumb survey --resume plumb-survey-001.json   continue after Ctrl-C
  plumb survey --quick --json --quiet . | jq .sentences
  sudo plumb survey /dev/nvme0n1          read a device directly

Tests: randread, read, write, randrw, all.
An axis of --vary is bs, users, size or any job option of fio.
Lists: values with commas between them; a..b doubles from a to b, a..b+c counts in steps of c.
Ctrl-C ends the survey and keeps the finished tests and the results of the interrupted one.
More: docs/survey.md
Exit status: 0; 1 if a test failed; 4 with --strict if a check found a problem;
128 + signal after a signal"
)]
pub(crate) struct SurveyArgs {
    /// Directory on the disk, existing file (only read) or block devices (only read)
    #[arg(value_name = "PATH|DEVICE", required_unless_present_any = ["config", "resume"])]
    targets: Vec<PathBuf>,
    /// Tests to run, like randread,write or all [default: ten tests of randread, read and write]
    #[arg(long, value_name = "TESTS")]
    tests: Vec<String>,
    /// Numbers of users instead of those of the tests, like 1,8,64 or 1..64
    #[arg(long, value_name = "LIST", value_parser = survey::user_counts)]
    users: Option<Numbers>,
    /// Sweep an option of fio, like iodepth=1,2,4..64; repeat it for several options
    #[arg(hide_short_help = true, long, value_name = "OPTION=LIST", value_parser = Axis::parse)]
    vary: Vec<Axis>,
    /// Measured time per test, like 10s or 2m [default: 30s; 4s with --quick]
    #[arg(long, visible_alias = "seconds", value_name = "TIME", value_parser = survey::seconds)]
    time: Option<u64>,
    /// Use a file of 1G and tests of 4s: at most 40s of measuring
    #[arg(long)]
    quick: bool,
    /// Size of the work file, like 512M or 16G [default: 16G or a quarter of the free space; 1G with --quick]
    #[arg(long, value_parser = survey::size)]
    size: Option<u64>,
    /// Free space that the work file leaves, like 1G [default: 5 % of the file system, at most 16G]
    #[arg(hide_short_help = true, long, value_name = "SIZE", value_parser = survey::room)]
    reserve: Option<u64>,
    /// Keep the work file for the next survey
    #[arg(hide_short_help = true, long)]
    keep: bool,
    #[command(flatten)]
    io: IoArgs,
    /// I/O engine of fio [default: psync; libaio if iodepth is swept]
    #[arg(hide_short_help = true, long, value_name = "ENGINE")]
    engine: Option<String>,
    /// Unmeasured I/O before each test: a time, or `steady` to go on until the rate is steady [default: 10 % of --time]
    #[arg(hide_short_help = true, long, value_name = "TIME|steady", value_parser = survey::warm_up)]
    warm_up: Option<WarmUp>,
    /// Write the whole target twice before the first test; with `steady`, go on until the rate of the writes is steady
    #[arg(hide_short_help = true, long, value_name = "steady", num_args = 0..=1, require_equals = true, default_missing_value = "twice", value_parser = Precondition::read)]
    precondition: Option<Precondition>,
    /// Longest time of --precondition=steady, like 2h [default: 25 min after the target is written twice]
    #[arg(hide_short_help = true, long, value_name = "TIME", requires = "precondition", value_parser = survey::seconds)]
    budget: Option<u64>,
    /// Number of times that every test is run [default: 1]
    #[arg(long, value_name = "COUNT")]
    repeat: Option<u32>,
    /// Run the tests in random order
    #[arg(hide_short_help = true, long)]
    shuffle: bool,
    /// Seed of the random order, to repeat it [default: from the clock]
    #[arg(hide_short_help = true, long, value_name = "NUMBER", requires = "shuffle")]
    seed: Option<u64>,
    /// File for the result as JSON; - is standard output, and no file [default: plumb-survey-NNN.json in the current
    /// directory]
    #[arg(long, short, value_name = "FILE", conflicts_with = "output_dir")]
    output: Option<PathBuf>,
    /// Directory for the result, which is created if needed [default: the current directory]
    #[arg(hide_short_help = true, long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
    /// Print all remarks instead of the first five
    #[arg(hide_short_help = true, long)]
    pub(crate) remarks: bool,
    /// Read options that are not given here, and custom tests, from a survey file (TOML)
    #[arg(hide_short_help = true, long, value_name = "FILE", group = "given")]
    config: Option<PathBuf>,
    /// Continue an interrupted survey with the options in its result
    #[arg(long, value_name = "RESULT", group = "given", conflicts_with_all = REQUESTED)]
    pub(crate) resume: Option<PathBuf>,
    /// Refuse devices, commands and paths outside of this directory in the file of --config or --resume
    #[arg(hide_short_help = true, long, requires = "given")]
    untrusted: bool,
    /// Show the tests with time, bytes and wear, and do not run them
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) result: ResultArgs,
}

/// Options of `plumb survey` and `plumb knee`: what is made of the result.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ResultArgs {
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// Do not write a page of the result
    #[arg(long)]
    pub(crate) no_report: bool,
    /// Divide the time of the I/Os of each test: cache, waits, throttle, queue, device; needs root
    #[arg(hide_short_help = true, long)]
    pub(crate) layers: bool,
}

/// Options of `plumb survey` and `plumb knee`: the I/O of all tests.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct IoArgs {
    /// Block sizes instead of those of the tests, like 4k,1m or 512..16m
    #[arg(hide_short_help = true, long, value_name = "LIST", value_parser = survey::block_sizes)]
    block_sizes: Option<Numbers>,
    /// Use O_DIRECT, and fail if the file system does not support it [default: O_DIRECT if supported]
    #[arg(hide_short_help = true, long, conflicts_with = "buffered")]
    direct: bool,
    /// Use the page cache, which is dropped before each test
    #[arg(hide_short_help = true, long)]
    buffered: bool,
    /// Create a file for each user [default: one file for all]
    #[arg(hide_short_help = true, long)]
    file_per_user: bool,
    /// Report an I/O that is in flight for this time, like 10s; 0 to report none [default: 30s]
    #[arg(hide_short_help = true, long, value_name = "TIME", value_parser = survey::patience)]
    stuck_after: Option<u64>,
    /// Allow writes to the device with this serial number, WWID or UUID; repeat it for several devices
    #[arg(hide_short_help = true, long, value_name = "IDENTITY")]
    overwrite: Vec<String>,
}

impl IoArgs {
    /// Returns a request with these settings.
    pub(crate) fn request(&self) -> SurveyRequest {
        SurveyRequest {
            block_sizes: self.block_sizes.clone().unwrap_or_default(),
            direct: (self.direct || self.buffered).then_some(self.direct),
            file_per_user: self.file_per_user,
            stuck_after: self.stuck_after,
            overwrite: self.overwrite.clone(),
            ..SurveyRequest::default()
        }
    }
}

pub(crate) fn tests_named(words: &[String]) -> Result<Vec<survey::TestKind>, Failure> {
    match words {
        [] => Ok(Vec::new()),
        words => {
            SurveyRequest::tests_named(&words.join(",")).map_err(|error| Failure::new(format!("--tests: {error}")))
        }
    }
}

/// Options that a resumed survey takes from its result, so they cannot be given with `--resume`.
#[rustfmt::skip]
const REQUESTED: &[&str] = &[
    "targets", "size", "reserve", "time", "quick", "output", "output_dir", "keep", "tests", "users", "block_sizes", "vary",
    "engine", "direct", "buffered", "warm_up", "repeat", "shuffle", "seed", "precondition", "budget", "file_per_user", "strict",
    "stuck_after", "overwrite", "config", "host",
];

impl SurveyArgs {
    /// Checks a request from a survey file or a result if it is untrusted.
    pub(crate) fn check_trust(&self, file: &SurveyRequest, path: &Path) -> Result<(), Failure> {
        if !self.untrusted {
            return Ok(());
        }
        file.check_untrusted(engine::ENGINES).map_err(|error| Failure::at(path, error))
    }

    /// Returns the request of a survey that members begin, with the survey file if one is named.
    pub(crate) fn request_by_members(&self) -> Result<(SurveyRequest, Option<&Path>), Failure> {
        if self.resume.is_some() {
            return Err(Failure::new("--resume goes on with a result of this machine, which no other has"));
        }
        super::members::check(&self.result)?;
        let request = self.request()?;
        super::members::check_request(&request)?;
        Ok((request, self.config.as_deref()))
    }

    /// Returns the request, from the command line and the survey file.
    pub(crate) fn request(&self) -> Result<SurveyRequest, Failure> {
        let mut request = SurveyRequest {
            targets: self.targets.clone(),
            tests: tests_named(&self.tests)?,
            users: self.users.clone().unwrap_or_default(),
            time: self.time,
            warm_up: self.warm_up,
            size: self.size,
            reserve: self.reserve,
            quick: self.quick,
            engine: self.engine.clone(),
            repeat: self.repeat,
            shuffle: self.shuffle,
            seed: self.seed,
            precondition: self.precondition.unwrap_or_default(),
            budget: self.budget,
            keep: self.keep,
            strict: self.result.session.strict.clone(),
            output: self.output.clone(),
            output_dir: self.output_dir.clone(),
            host: self.result.session.host.clone(),
            ..self.io.request()
        };
        self.vary.iter().for_each(|axis| request.add_axis(axis.clone()));
        let Some(path) = &self.config else { return Ok(request) };
        let file = read_config(path)?;
        self.check_trust(&file, path)?;
        let request = request.or(file);
        if request.targets.is_empty() {
            return Err(Failure::at(path, "names no targets; give a PATH, or write targets = [\"/data\"]"));
        }
        Ok(request)
    }
}

/// Maximum size of a survey file, in bytes.
const LONGEST_FILE: u64 = 16 << 20;

fn read_config(path: &Path) -> Result<SurveyRequest, Failure> {
    let text = sys::files::read_limited::read_text(path, LONGEST_FILE);
    let text = text.map_err(|error| Failure::at(path, format!("cannot be read: {error}")))?;
    SurveyRequest::from_toml(&text).map_err(|error| Failure::at(path, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory, error::ErrorKind};

    #[test]
    fn a_result_to_go_on_with_says_all_that_was_asked() {
        let own = [
            "untrusted",
            "resume",
            "dry_run",
            "remarks",
            "json",
            "quiet",
            "no_report",
            "layers",
            "store",
            "no_store",
            "stream",
            "metrics",
            "metrics_listen",
            "metrics_linger",
            "otlp",
            "no_calibrate",
            "accept",
        ];
        let all: Vec<String> =
            SurveyArgs::command().get_arguments().map(|argument| argument.get_id().to_string()).collect();
        let others: Vec<&str> = all.iter().map(String::as_str).filter(|name| !own.contains(name)).collect();
        assert!(others.iter().all(|name| REQUESTED.contains(name)), "{others:?}");
        let refused = |words: &[&str]| SurveyArgs::try_parse_from(words).err().map(|error| error.kind());
        assert_eq!(refused(&["survey", "--resume", "r", "--quick"]), Some(ErrorKind::ArgumentConflict));
        assert_eq!(refused(&["survey", "--untrusted", "."]), Some(ErrorKind::MissingRequiredArgument));
        for given in ["--resume", "--config"] {
            assert_eq!(refused(&["survey", "--untrusted", "--dry-run", given, "x"]), None, "{given}");
        }
    }
}
