//! `plumb gate`: is it worse than a baseline, by more than a tolerance? Yes, no, or cannot tell, as an exit status.
//!
//! Owns options, files and exit status; `judge` draws the conclusion and `shown` writes it.

mod judge;
mod shown;

use crate::failure::Failure;
use crate::input;
use crate::output::Output;
use crate::sides::{self, Sides};
use crate::streams::OutputArgs;
use analysis::compare::{Design, Matches, Metric, RunOrder, order_of};
use analysis::statistics::Answer;
use clap::ValueEnum;
use formats::printable;
use judge::{Conclusion, GateMetrics};
use session::arguments::AcceptArgs;
use std::path::PathBuf;

/// Fail a build when storage got slower: compare results with a baseline
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  plumb gate new-*.json --against main-*.json
  plumb gate --against main-1.json,main-2.json,main-3.json new-1.json,new-2.json,new-3.json
  plumb gate --tolerance 10% --numbers iops,p99 new.json --against main.json
  plumb gate --format github new-*.json --against main-*.json
  plumb gate --format junit -o gate.xml new-*.json --against main-*.json
  plumb gate --quiet new-*.json --against main-*.json    the last line alone
  plumb gate --pairs new-*.json --against main-*.json    five pairs in turns
  plumb gate --pairs=10 new-*.json --against main-*.json    ten are planned
  git bisect run sh -c './measure >new.json; plumb gate --bisect new.json --against good.json'

Each result is a run. It needs two or more a side, better five; a single new run can be compared
with eight or more of the baseline. The last line of the output is for a log; with -o it is printed,
too.
More: docs/decisions.md
Exit status: 0 not worse by more than the tolerance; 1 worse; 2 cannot tell;
3 an error, or a result that is not of the storage. With --bisect: 125 for 2 and for a new result
that is not of the storage, 128 for other errors")]
pub(crate) struct GateArgs {
    /// Files with the new results, or lists of files with commas
    #[arg(required = true, value_name = "RESULT")]
    results: Vec<PathBuf>,
    /// Files with the results of the baseline
    #[arg(long, num_args = 1.., required = true, value_name = "BASELINE")]
    against: Vec<PathBuf>,
    /// Largest loss that is accepted: 5% means that a rate is 1/1.05 of the baseline's, a latency 1.05 times
    #[arg(long, default_value = "5%", value_parser = input::share, value_name = "SHARE")]
    tolerance: f64,
    /// Numbers that are judged: iops, mean, p50, p99, p99.9, and of jobs with a rate response-p50, response-p99,
    /// response-p99.9. The answer is about the first; another can only make it worse [default: iops,p99, p99 where it
    /// is known]
    #[arg(long, value_delimiter = ',', value_parser = input::metric, value_name = "LIST")]
    numbers: Vec<Metric>,
    /// Compare the n-th results of both sides as a pair, measured in turns in random order. May be asked after any pair,
    /// and is most certain after as many as are planned [default: 5]
    #[arg(long, value_name = "PLANNED", num_args = 0..=1, require_equals = true, default_missing_value = "5",
        value_parser = clap::value_parser!(u32).range(2..=999))]
    pairs: Option<u32>,
    /// Exit status for git bisect run: 125 for cannot tell, 128 for an error
    #[arg(long)]
    bisect: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Format::Text, conflicts_with = "json")]
    format: Format,
    #[command(flatten)]
    accept: AcceptArgs,
    #[command(flatten)]
    written: OutputArgs,
}

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Lines for people and logs
    Text,
    /// JSON
    Json,
    /// XML that build servers show as tests
    Junit,
    /// Annotations of a GitHub workflow
    Github,
}

/// The numbers that are judged unless others are asked for.
const USUAL: [Metric; 2] = [Metric::Iops, Metric::Percentile(99.0)];
/// Exit status after an error. 1 and 2 are answers.
const ERROR: u8 = 3;
/// The same for git bisect, which ends at 128 and takes 3 for a bad commit.
const BISECT_ERROR: u8 = 128;
/// Exit status at which git bisect skips a commit.
const BISECT_SKIP: u8 = 125;

/// Returns the exit status of a command line that could not be parsed, so that no mistake looks like an answer.
pub(crate) fn status_of_mistake(words: &[std::ffi::OsString]) -> u8 {
    if words.iter().any(|word| word == "--bisect") { BISECT_ERROR } else { ERROR }
}

/// Judges the results against the baseline.
pub(crate) fn run(args: &GateArgs) -> Result<u8, Failure> {
    let error = if args.bisect { BISECT_ERROR } else { ERROR };
    let mut out = args.written.open().map_err(|failure| failure.with_status(error))?;
    match conclude(args) {
        Ok(conclusion) => {
            let text = args.text(&conclusion).map_err(|failure| failure.with_status(error))?;
            print(&mut out, &text, &shown::last_line(&conclusion)).map_err(|failure| failure.with_status(error))?;
            Ok(match conclusion.answer {
                Answer::Ok => 0,
                Answer::Worse => 1,
                Answer::CannotTell if args.bisect => BISECT_SKIP,
                Answer::CannotTell => 2,
            })
        }
        Err(Inconclusive { failure, is_of_new_results }) => {
            // The reason goes to standard error like that of any command, the line for a log to standard output.
            let line = shown::line_of_error(failure.message());
            print(&mut out, &args.text_of_error(&line), &line).map_err(|failure| failure.with_status(error))?;
            // Another commit may be measured well, so that this one is skipped.
            Err(failure.with_status(if args.bisect && is_of_new_results { BISECT_SKIP } else { error }))
        }
    }
}

impl GateArgs {
    fn format(&self) -> Format {
        if self.written.streams.json { Format::Json } else { self.format }
    }

    fn text(&self, conclusion: &Conclusion) -> Result<String, Failure> {
        Ok(match self.format() {
            Format::Text if self.written.streams.quiet => shown::last_line(conclusion),
            Format::Text => printable::lines(&shown::text(conclusion)).into_owned(),
            Format::Json => shown::json(conclusion)?,
            Format::Junit => shown::junit(conclusion),
            Format::Github => printable::lines(&shown::github(conclusion)).into_owned(),
        })
    }

    fn text_of_error(&self, line: &str) -> String {
        match self.format() {
            Format::Text | Format::Github => line.to_owned(),
            Format::Json => shown::json_of_error(line),
            Format::Junit => shown::junit_of_error(line),
        }
    }
}

/// Writes the output; the line for a log goes to standard output in any case.
fn print(out: &mut Output, text: &str, line: &str) -> Result<(), Failure> {
    out.write_painted(&printable::lines(text), &shown::ANSWERS)?;
    if out.is_stdout() { Ok(()) } else { Output::stdout().write_painted(&printable::lines(line), &shown::ANSWERS) }
}

/// Why there is no conclusion.
struct Inconclusive {
    failure: Failure,
    /// True if the new results are not of the storage.
    is_of_new_results: bool,
}

impl From<Failure> for Inconclusive {
    fn from(failure: Failure) -> Self {
        Inconclusive { failure, is_of_new_results: false }
    }
}

fn conclude(args: &GateArgs) -> Result<Conclusion, Inconclusive> {
    let Sides { matches, surroundings, notes, not_storage: [old, new], damaged, .. } =
        sides::read([&args.against, &args.results], &args.accept, args.written.streams.verbosity())?;
    if damaged > 0 {
        return Err(Failure::new("a part of the results could not be read: see above").into());
    }
    let is_of_new_results = old.is_none();
    if let Some(why) = old.or(new) {
        let failure = Failure::new(format!("NOT A STORAGE RESULT: {why}"));
        return Err(Inconclusive { failure, is_of_new_results });
    }
    if let Some(refused) = matches.refused.first() {
        return Err(Failure::new(refused.clone()).into());
    }
    if matches.both.is_empty() {
        return Err(Failure::new(
            "no test of the baseline is in the results: plumb pairs tests of equal pattern, block size, users and depth",
        )
        .into());
    }
    let design = match args.pairs {
        Some(planned) => pairs_of(&matches, planned)?,
        None => Design::AsMade,
    };
    let wanted = match args.numbers.as_slice() {
        [] => GateMetrics::WhereKnown(&USUAL),
        metrics => GateMetrics::All(metrics),
    };
    let mut conclusion = judge::conclude(&matches, wanted, args.tolerance, design);
    conclusion.notes.extend(notes);
    // What the baseline has alone is a row.
    conclusion.notes.extend(sides::unpaired(&Matches { only_old: Vec::new(), ..matches }));
    conclusion.surroundings = surroundings;
    Ok(conclusion)
}

/// Checks that the runs can be pairs.
fn pairs_of(matches: &Matches, planned: u32) -> Result<Design, Failure> {
    for test in &matches.both {
        let (old, new) = (test.old.runs.len(), test.new.runs.len());
        let why = match order_of(test) {
            _ if old != new => format!("{old} runs of the baseline and {new} new ones"),
            RunOrder::Turns | RunOrder::NotKnown => continue,
            _ if old == 1 => continue,
            _ => "the runs were not made in turns".to_owned(),
        };
        return Err(Failure::new(format!(
            "--pairs: {}: {why}; leave out --pairs to compare them as sets",
            test.old.label()
        )));
    }
    Ok(Design::Rounds { planned: planned as usize })
}
