//! `plumb knee`: the number of threads at which the throughput of a storage device stops growing.
//!
//! Owns the command line. The native form is a survey over users that ends when growth ends. The other form, which
//! `native` gives to iozone, runs iozone's throughput tests with rising numbers of children.

use super::members::{self, Surveyors};
use super::{IoArgs, Numbers, ResultArgs, find_knee, tests_named};
use crate::failure::Failure;
use ::survey::{SurveyRequest, doubling};
use session::arguments::SessionArgs;
use std::path::PathBuf;

/// Find the number of users at which throughput stops growing
#[derive(Debug, clap::Args)]
#[command(
    long_about = "\
Raises the number of users until two further levels bring less than 5 % more throughput, and names that number. Does so for each test and block size. A user is a process with one I/O in flight. The result is like that of a survey: plumb report, plot and model read it.",
    after_help = "\
Examples:
  plumb knee .                                   random reads of 8k, 1 to 256 users
  plumb knee --tests randread,write --block-sizes 4k,64k,1m /data
  plumb knee --most 1024 --time 10s /dev/nvme0n1
  plumb knee --iozone -i 0 -i 2 -r 4k -r 64k -s 256m -I          up to 256 children of iozone
  plumb knee --iozone -t 6 -i 0 -s 1g -I -F /m1/f /m2/f /m3/f /m4/f /m5/f /m6/f

After --iozone follow iozone's options: -t or -u is the largest number of children, each -r is
a sweep.
Lists: values with commas between them; a..b doubles from a to b, a..b+c counts in steps of c.
More: docs/knee.md
Exit status: 0; 1 if a test failed; 4 with --strict if a check found a problem;
128 + signal after a signal"
)]
pub(crate) struct KneeArgs {
    /// Directory on the disk, existing file (only read) or block devices (only read)
    #[arg(value_name = "PATH|DEVICE", required_unless_present = "iozone")]
    targets: Vec<PathBuf>,
    /// Tests to run: randread, read, write, randrw or all
    #[arg(long, value_name = "TESTS", default_value = "randread")]
    tests: Vec<String>,
    /// Largest number of users; the levels are 1, 2, 4 and so on up to it
    #[arg(long, value_name = "COUNT", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=4096))]
    most: u32,
    /// Numbers of users instead of 1, 2, 4 and so on, like 1..16+1
    #[arg(long, value_name = "LIST", conflicts_with = "most", value_parser = ::survey::user_counts)]
    users: Option<Numbers>,
    /// Measured time per level, like 10s
    #[arg(long, value_parser = ::survey::seconds, default_value = "5s")]
    time: u64,
    /// Size of the work file, like 512M or 16G [default: 1G]
    #[arg(long, value_parser = ::survey::size)]
    size: Option<u64>,
    #[command(flatten)]
    io: IoArgs,
    /// File for the result as JSON; - is standard output, and no file [default: plumb-survey-NNN.json, or
    /// plumb-knee-NNN.json with --iozone]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) result: ResultArgs,
    /// Run iozone's throughput tests with these options of iozone; must be the last option
    #[arg(
        long,
        value_name = "OPTIONS",
        num_args = 1..,
        allow_hyphen_values = true,
        conflicts_with_all = ["targets", "tests", "block_sizes", "most", "users", "time", "size", "direct", "buffered", "no_calibrate",
                              "file_per_user", "stuck_after", "overwrite", "accept", "layers"]
    )]
    pub(crate) iozone: Vec<String>,
}

/// Runs the search for the knee.
pub(crate) fn run(args: &KneeArgs) -> Result<u8, Failure> {
    find_knee(args.request()?, args.result.clone(), None)
}

/// The same by members of a cluster.
pub(super) fn run_by(args: &KneeArgs, members: Surveyors<'_>) -> Result<u8, Failure> {
    find_knee(args.request_by_members()?, args.result.clone(), Some(members))
}

impl KneeArgs {
    /// The options of the session for `--iozone`.
    pub(crate) fn of_iozone(&self) -> Result<&SessionArgs, Failure> {
        if self.result.no_report {
            return Err(Failure::new("knee --iozone writes no page; leave out --no-report"));
        }
        Ok(&self.result.session)
    }

    /// Returns the request of a search by members.
    pub(super) fn request_by_members(&self) -> Result<SurveyRequest, Failure> {
        if !self.iozone.is_empty() {
            return Err(Failure::new(
                "cluster: knee --iozone is not for members: iozone has its own clusters, -+m FILE",
            ));
        }
        members::check(&self.result)?;
        self.request()
    }

    fn request(&self) -> Result<SurveyRequest, Failure> {
        let users = self.users.clone().unwrap_or_else(|| doubling(1, self.most));
        if !users.is_sorted() {
            return Err(Failure::new("--users: the levels must rise: growth is looked for"));
        }
        Ok(SurveyRequest {
            targets: self.targets.clone(),
            tests: tests_named(&self.tests)?,
            users,
            time: Some(self.time),
            size: self.size,
            // `quick` selects a small file unless a size is given; the time is always given above.
            quick: true,
            output: self.output.clone(),
            host: self.result.session.host.clone(),
            strict: self.result.session.strict.clone(),
            ..self.io.request()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        args: KneeArgs,
    }

    #[test]
    fn iozones_words_are_taken_as_they_stand() {
        let words = ["knee", "-o", "r.json", "--iozone", "-i", "0", "-t", "2", "-F", "a", "--time", "-+n"];
        let args = Words::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).args;
        assert_eq!(args.iozone, ["-i", "0", "-t", "2", "-F", "a", "--time", "-+n"]);
        assert_eq!(args.output, Some(PathBuf::from("r.json")));
    }

    #[test]
    fn levels_that_fall_are_refused() {
        let args =
            Words::try_parse_from(["knee", "--users", "4,2", "."]).unwrap_or_else(|error| panic!("{error}")).args;
        assert!(args.request().is_err());
    }
}
