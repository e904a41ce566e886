//! `plumb knee`: the number of threads at which the throughput of a storage device stops growing.
//!
//! Owns the command line. The native form is a survey over users that ends when growth ends; the other form runs
//! iozone's throughput tests with rising numbers of children.

use crate::failure::Failure;
use crate::{iozone, survey};
use ::survey::{SurveyError, SurveyRequest};
use std::path::PathBuf;

/// Raise the number of threads until throughput stops growing, and name it
#[derive(Debug, clap::Args)]
#[command(
    long_about = "\
Raises the number of users, each with one I/O at a time, until two further levels bring less than 5 % more, \
for each block size; stops by itself and names the number. The result is a survey's: plumb report, plot and \
model read it.",
    after_help = "\
Examples:
  plumb knee .                                   random reads of 8k, 1 to 256 users
  plumb knee --tests randread,write --block-sizes 4k,64k,1m /data
  plumb knee --most 1024 --time 10s /dev/nvme0n1
  plumb knee --iozone -i 0 -i 2 -r 4k -r 64k -s 256m -I          children of iozone, up to 256
  plumb knee --iozone -t 6 -i 0 -s 1g -I -F /m1/f /m2/f /m3/f /m4/f /m5/f /m6/f

After --iozone come iozone's words; -t or -u is then the most children, several -r are several sweeps.
How to read it: docs/knee.md
Exit status: 0; 1 when something could not be measured; 128 + signal after a signal"
)]
pub(crate) struct Args {
    /// A directory on the disk, a file (read only), or block devices (read only)
    #[arg(value_name = "PATH|DEVICE", required_unless_present = "iozone")]
    targets: Vec<PathBuf>,
    /// Which tests: randread, read, write, randrw or all
    #[arg(long, value_name = "TESTS", default_value = "randread")]
    tests: String,
    /// Block sizes, a sweep for each, like 4k,64k,1m [default: each test's own]
    #[arg(long, value_name = "LIST")]
    block_sizes: Option<String>,
    /// The most users; 1, 2, 4 and so on are tried until then
    #[arg(long, value_name = "COUNT", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=4096))]
    most: u32,
    /// The levels themselves, in place of 1, 2, 4 …, like 1..16+1
    #[arg(long, value_name = "LIST", conflicts_with = "most")]
    users: Option<String>,
    /// Measuring time per level, like 10s
    #[arg(long, value_parser = ::survey::seconds, default_value = "5s")]
    time: u64,
    /// Size of the work file, like 512M or 16G [default: 1G]
    #[arg(long, value_parser = ::survey::size)]
    size: Option<u64>,
    /// Past the page cache, or not at all
    #[arg(long, conflicts_with = "buffered")]
    direct: bool,
    /// Through the page cache, which is dropped before each level
    #[arg(long)]
    buffered: bool,
    /// A file for each user, instead of one for all
    #[arg(long)]
    file_per_user: bool,
    /// Report an I/O that has been in flight for this time, like 10s; 0 to never report one [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = ::survey::patience)]
    stuck_after: Option<u64>,
    /// Consent to overwrite a device: repeats its serial number, WWID or size; once per device
    #[arg(long, value_name = "IDENTITY")]
    overwrite: Vec<String>,
    /// Where the result goes as JSON [default: plumb-survey-NNN.json, with --iozone plumb-knee-NNN.json here]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// iozone's words for its throughput tests; they come last
    #[arg(
        long,
        value_name = "WORDS",
        num_args = 1..,
        allow_hyphen_values = true,
        conflicts_with_all = ["targets", "tests", "block_sizes", "most", "users", "time", "size", "direct", "buffered",
                              "file_per_user", "stuck_after", "overwrite"]
    )]
    iozone: Vec<String>,
}

/// Runs the search for the knee.
pub(crate) fn run(args: &Args) -> Result<u8, Failure> {
    if args.iozone.is_empty() {
        survey::find_knee(args.request()?)
    } else {
        iozone::find_knee(&args.iozone, args.output.as_deref())
    }
}

impl Args {
    fn request(&self) -> Result<SurveyRequest, Failure> {
        let list = |option: &str, error: SurveyError| Failure::new(format!("--{option}: {error}"));
        let blocks = self.block_sizes.as_deref().map(::survey::block_sizes).transpose();
        let users = match &self.users {
            Some(words) => ::survey::user_counts(words).map_err(|error| list("users", error))?,
            None => levels(1, self.most),
        };
        if !users.is_sorted() {
            return Err(Failure::new("--users: the levels must rise: growth is looked for"));
        }
        Ok(SurveyRequest {
            targets: self.targets.clone(),
            tests: SurveyRequest::tests_named(&self.tests).map_err(|error| list("tests", error))?,
            users,
            block_sizes: blocks.map_err(|error| list("block-sizes", error))?.unwrap_or_default(),
            time: Some(self.time),
            size: self.size,
            // `quick` selects a small file unless a size is given; the time is always given above.
            quick: true,
            direct: if self.direct || self.buffered { Some(self.direct) } else { None },
            file_per_user: self.file_per_user,
            stuck_after: self.stuck_after,
            overwrite: self.overwrite.clone(),
            output: self.output.clone(),
            ..SurveyRequest::default()
        })
    }
}

/// Levels from `least`, doubling each time, up to and including `most`.
pub(crate) fn levels(least: u32, most: u32) -> Vec<u32> {
    let mut levels: Vec<u32> = std::iter::successors(Some(least.max(1)), |level| level.checked_mul(2))
        .take_while(|level| *level < most)
        .collect();
    levels.push(most.max(1));
    levels
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn levels_double_and_end_with_the_most() {
        assert_eq!(levels(1, 6), [1, 2, 4, 6]);
        assert_eq!(levels(1, 8), [1, 2, 4, 8]);
        assert_eq!(levels(3, 3), [3]);
        assert_eq!(levels(1, 1), [1]);
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
