//! The command line of `plumb survey`.

use crate::failure::Failure;
use clap::Parser;
use std::path::{Path, PathBuf};
use survey::{Axis, SurveyError, SurveyRequest, WarmUp};

/// Survey a disk: random reads, sequential reads, log writes and mixes, with checks
#[derive(Debug, Default, Parser)]
#[command(
    next_line_help = false,
    long_about = "\
Measures the disk under a directory, or block devices, and says whether the numbers are true.

In a directory, plumb makes a work file of random data, reads it past the page cache \
(8k random reads with 1 to 64 users, 1M sequential reads), writes to it as a database \
writes its log, and removes it. A file that is there, and a device, are only read: nothing \
is written to them, and tests that write are left out, unless --overwrite names the device.",
    after_help = "\
Examples:
  plumb survey .                          the disk under this directory, about five minutes
  plumb survey --quick .                  the same in under a minute
  plumb survey --size 64G --time 1m .     more data than a cache holds, longer tests
  plumb survey --tests all /data          every test at every level: half an hour
  plumb survey --tests all --dry-run .    only what that would do, with time, bytes and wear
  plumb survey --vary bs=512..16m --vary iodepth=1,2,4..64 /data
  plumb survey --tests randread --users 1,4,16 --repeat 3 --shuffle /data
  plumb survey --config nightly.toml /data
  plumb survey --resume plumb-survey-001.json   go on after Ctrl-C
  sudo plumb survey /dev/nvme0n1          read a device itself

Tests: randread, read, write, randrw, all. An axis of --vary is bs, users, size or any job option of fio;
values are words between commas, a..b doubles from a to b, a..b+c counts in steps of c.
Ctrl-C ends the survey and keeps the tests that were finished, and the one under way.
Exit status: 0; 1 when something could not be measured; 4 with --strict if a check found a problem; 128 + signal after a signal"
)]
pub(crate) struct Args {
    /// A directory on the disk, a file (read only), or block devices (read only)
    #[arg(value_name = "PATH|DEVICE", required_unless_present_any = ["config", "resume"])]
    targets: Vec<PathBuf>,
    /// Size of the work file, like 512M or 16G [default: 16G or a quarter of the free space; 1G with --quick]
    #[arg(long, value_parser = survey::size)]
    size: Option<u64>,
    /// Space that stays free next to the work file [default: a twentieth of the file system, at most 16G]
    #[arg(long, value_name = "SIZE", value_parser = survey::room)]
    reserve: Option<u64>,
    /// Measuring time per test, like 10s or 2m [default: 30s; 4s with --quick]
    #[arg(long, visible_alias = "seconds", value_parser = survey::seconds)]
    time: Option<u64>,
    /// A small file and short tests: at most 40 s of measuring
    #[arg(long)]
    quick: bool,
    /// Where the result goes as JSON [default: plumb-survey-NNN.json here]
    #[arg(long, short, value_name = "FILE", conflicts_with = "output_dir")]
    output: Option<PathBuf>,
    /// The directory of the result, made if it is not there
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
    /// Leave the work file in place for the next survey
    #[arg(long)]
    keep: bool,
    /// Which tests, like randread,write or all [default: the usual nine]
    #[arg(long, value_name = "TESTS")]
    tests: Vec<String>,
    /// User counts in place of the tests' own, like 1,8,64 or 1..64
    #[arg(long, value_name = "LIST")]
    users: Option<String>,
    /// Block sizes in place of the tests' own, like 4k,1m or 512..16m
    #[arg(long, value_name = "LIST")]
    block_sizes: Option<String>,
    /// Sweep an option, like iodepth=1,2,4..64; may be given several times
    #[arg(long, value_name = "OPTION=VALUES", value_parser = Axis::parse)]
    vary: Vec<Axis>,
    /// The I/O engine [default: psync; libaio where iodepth is swept]
    #[arg(long, value_name = "ENGINE")]
    engine: Option<String>,
    /// Past the page cache, or not at all
    #[arg(long, conflicts_with = "buffered")]
    direct: bool,
    /// Through the page cache, which is dropped before each test
    #[arg(long)]
    buffered: bool,
    /// I/O before each test that does not count: a time, or `steady` [default: a tenth of the time]
    #[arg(long, value_name = "TIME|steady", value_parser = survey::warm_up)]
    warm_up: Option<WarmUp>,
    /// Number of times that everything is measured [default: 1]
    #[arg(long, value_name = "COUNT")]
    repeat: Option<u32>,
    /// Run the tests in random order
    #[arg(long)]
    shuffle: bool,
    /// The seed of that order, to repeat it
    #[arg(long, value_name = "NUMBER", requires = "shuffle")]
    seed: Option<u64>,
    /// Write the whole target twice before the first test
    #[arg(long)]
    precondition: bool,
    /// A file for each user, instead of one for all
    #[arg(long)]
    file_per_user: bool,
    /// Report an I/O that has been in flight for this time, like 10s; 0 to never report one [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = survey::patience)]
    stuck_after: Option<u64>,
    /// Exit with status 4 if a check finds a problem
    #[arg(long)]
    strict: bool,
    /// Consent to overwrite a device: repeats its serial number, WWID or size; once per device
    #[arg(long, value_name = "IDENTITY")]
    overwrite: Vec<String>,
    /// Take what is not given here from a file (TOML, keys like the options, and tests of your own)
    #[arg(long, value_name = "FILE", group = "given")]
    config: Option<PathBuf>,
    /// The survey file, or the result to go on with, is a stranger's: no devices, no commands, nothing outside of this directory
    #[arg(long, requires = "given")]
    untrusted: bool,
    /// Go on with a survey that was cut short; all it was asked is in its result
    #[arg(long, value_name = "RESULT", group = "given", conflicts_with_all = ASKED)]
    pub(crate) resume: Option<PathBuf>,
    /// Show what would be done, with bytes, time and wear, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Options that a resumed survey takes from its result, so they cannot be given with `--resume`.
#[rustfmt::skip]
const ASKED: &[&str] = &[
    "targets", "size", "reserve", "time", "quick", "output", "output_dir", "keep", "tests", "users", "block_sizes", "vary",
    "engine", "direct", "buffered", "warm_up", "repeat", "shuffle", "seed", "precondition", "file_per_user", "strict",
    "stuck_after", "overwrite", "config",
];

impl Args {
    /// Returns the request of an earlier survey, or an error if `--untrusted` does not allow it.
    pub(crate) fn resumed(&self, asked: SurveyRequest, path: &Path) -> Result<SurveyRequest, Failure> {
        self.trusted(&asked, path).map(|()| asked)
    }

    fn trusted(&self, file: &SurveyRequest, path: &Path) -> Result<(), Failure> {
        if !self.untrusted {
            return Ok(());
        }
        file.check_untrusted(engine::ENGINES).map_err(|why| Failure::new(format!("{}: {why}", path.display())))
    }

    /// Returns the request, from the command line and the survey file.
    pub(crate) fn request(&self) -> Result<SurveyRequest, Failure> {
        let list = |option: &str, error: SurveyError| Failure::new(format!("--{option}: {error}"));
        let tests = match self.tests.as_slice() {
            [] => Vec::new(),
            words => SurveyRequest::tests_named(&words.join(",")).map_err(|error| list("tests", error))?,
        };
        let users = self.users.as_deref().map(survey::user_counts).transpose();
        let blocks = self.block_sizes.as_deref().map(survey::block_sizes).transpose();
        let mut request = SurveyRequest {
            targets: self.targets.clone(),
            tests,
            users: users.map_err(|error| list("users", error))?.unwrap_or_default(),
            block_sizes: blocks.map_err(|error| list("block-sizes", error))?.unwrap_or_default(),
            time: self.time,
            warm_up: self.warm_up,
            size: self.size,
            reserve: self.reserve,
            stuck_after: self.stuck_after,
            quick: self.quick,
            engine: self.engine.clone(),
            direct: if self.direct || self.buffered { Some(self.direct) } else { None },
            repeat: self.repeat,
            shuffle: self.shuffle,
            seed: self.seed,
            precondition: self.precondition,
            file_per_user: self.file_per_user,
            keep: self.keep,
            strict: self.strict,
            overwrite: self.overwrite.clone(),
            output: self.output.clone(),
            output_dir: self.output_dir.clone(),
            ..SurveyRequest::default()
        };
        self.vary.iter().for_each(|axis| request.add_axis(axis.clone()));
        let Some(path) = &self.config else { return Ok(request) };
        let file = read_config(path)?;
        self.trusted(&file, path)?;
        let request = request.or(file);
        if request.targets.is_empty() {
            let shown = path.display();
            return Err(Failure::new(format!(
                "{shown}: names no targets; give a PATH, or write targets = [\"/data\"]"
            )));
        }
        Ok(request)
    }
}

/// Maximum size of a survey file, in bytes.
const LONGEST_FILE: u64 = 16 << 20;

fn read_config(path: &Path) -> Result<SurveyRequest, Failure> {
    let shown = path.display();
    let text = sys::files::read_limited::read_text(path, LONGEST_FILE);
    let text = text.map_err(|error| Failure::new(format!("{shown}: cannot be read: {error}")))?;
    SurveyRequest::from_toml(&text).map_err(|error| Failure::new(format!("{shown}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory, error::ErrorKind};

    #[test]
    fn a_result_to_go_on_with_says_all_that_was_asked() {
        let own = ["untrusted", "resume", "dry_run"];
        let all: Vec<String> = Args::command().get_arguments().map(|argument| argument.get_id().to_string()).collect();
        let others: Vec<&str> = all.iter().map(String::as_str).filter(|name| !own.contains(name)).collect();
        assert!(others.iter().all(|name| ASKED.contains(name)), "{others:?}");
        let refused = |words: &[&str]| Args::try_parse_from(words).err().map(|error| error.kind());
        assert_eq!(refused(&["survey", "--resume", "r", "--quick"]), Some(ErrorKind::ArgumentConflict));
        assert_eq!(refused(&["survey", "--untrusted", "."]), Some(ErrorKind::MissingRequiredArgument));
        for given in ["--resume", "--config"] {
            assert_eq!(refused(&["survey", "--untrusted", "--dry-run", given, "x"]), None, "{given}");
        }
    }
}
