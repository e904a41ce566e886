//! `plumb compare`: what changed between two sets of results, and is it more than noise?
//!
//! Owns options, files and exit status. `analysis::compare` pairs the tests and judges them.

mod picture;
mod shown;

use crate::failure::Failure;
use crate::output::Output;
use crate::sides::{self, unpaired};
use crate::streams::{Streams, is_stdout};
use crate::{drawing, input};
use analysis::compare::{ComparedTest, Design, Difference, Metric, Summary, compare, compare_usual, summary};
use clap::ValueEnum;
use formats::printable;
use session::arguments::AcceptArgs;
use session::colour::CHANGES;
use std::path::PathBuf;

/// Compare two sets of results: what changed, and is it more than noise?
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  plumb compare before.json after.json        two surveys with --repeat: their rounds are the runs
  plumb compare a1.json,a2.json b1.json,b2.json
  plumb compare --old before/*.json --new after/*.json
  plumb compare --format markdown old.txt new.txt     for a pull request
  plumb compare --shift old.json new.json     at which percentiles the latency moved
  plumb compare old.json new.json -o changes.html     as a picture; .svg, .png and .pdf, too
  plumb compare old.json new.json -o - >changes.svg   the picture alone

A file is anything that plumb parse reads: results of plumb, text, JSON and terse lines of fio,
sweeps. Tests are paired by what was asked: pattern, block size, users, depth. Each result is a run;
only the noise between runs decides, so make five of each side, taking turns.

= the whole interval is within the tolerance     ▲ better, ▼ worse: beyond the tolerance
≈ it differs, by less than the tolerance         ≠ it differs, by less or by more
? cannot tell
More: docs/decisions.md
Exit status: 0; 1 if there was nothing to compare; 3 if a part could not be read or compared")]
pub(crate) struct CompareArgs {
    /// The old and the new results: a file each, or lists of files with commas
    #[arg(value_names = ["OLD", "NEW"], num_args = 2, required_unless_present = "old", conflicts_with_all = ["old", "new"])]
    results: Vec<PathBuf>,
    /// Files with old results
    #[arg(long, num_args = 1.., value_name = "FILE", requires = "new")]
    old: Vec<PathBuf>,
    /// Files with new results
    #[arg(long, num_args = 1.., value_name = "FILE", requires = "old")]
    new: Vec<PathBuf>,
    /// Largest change that counts as the same, like 5% or 0.5%
    #[arg(long, default_value = "5%", value_parser = input::share, value_name = "SHARE")]
    tolerance: f64,
    /// Compare the latency at p10, p20 .. p90, p99 and p99.9, too
    #[arg(long)]
    shift: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Format::Text, conflicts_with = "json")]
    format: Format,
    #[arg(help = drawing::DRAWN, short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    accept: AcceptArgs,
    #[command(flatten)]
    streams: Streams,
}

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table for people
    Text,
    /// Markdown, for a pull request
    Markdown,
    /// JSON
    Json,
}

pub(crate) struct Comparison {
    pub(crate) tests: Vec<ComparedTest>,
    /// The shift functions, if they are wanted.
    pub(crate) shifts: Vec<ComparedTest>,
    pub(crate) surroundings: Vec<Difference>,
    /// Two sentences on all changes.
    pub(crate) sentences: [String; 2],
    /// Remarks on the numbers, then on the results.
    pub(crate) notes: Vec<String>,
    pub(crate) tolerance: f64,
    pub(crate) results: [usize; 2],
}

/// Reads both sides and prints the comparison.
pub(crate) fn run(args: &CompareArgs) -> Result<u8, Failure> {
    let picture = args.output.as_deref();
    // The destination is checked before anything is read.
    picture.filter(|path| !is_stdout(path)).map(drawing::check_output).transpose()?;
    let words = match args.results.as_slice() {
        [old, new] => [std::slice::from_ref(old), std::slice::from_ref(new)],
        _ => [args.old.as_slice(), &args.new],
    };
    let mut sides = sides::read(words, &args.accept, args.streams.verbosity())?;
    let matches = &sides.matches;
    sides.notes.extend(unpaired(matches));
    if matches.both.is_empty() && matches.refused.is_empty() {
        let why = "no test is in both: plumb pairs tests of equal pattern, block size, users and depth";
        return Err(Failure::new([&[why.to_owned()], &sides.notes[..]].concat().join("\n")));
    }
    let of = |metrics: &[Metric]| compare(&matches.both, metrics, args.tolerance, Design::AsMade);
    let tests = compare_usual(&matches.both, &[], args.tolerance, Design::AsMade);
    let Summary { sentences, remarks } = summary(&tests, args.tolerance);
    let comparison = Comparison {
        shifts: if args.shift { shifts(of(&Metric::SHIFT)) } else { Vec::new() },
        tests,
        surroundings: sides.surroundings,
        sentences,
        notes: [remarks, sides.notes].concat(),
        tolerance: args.tolerance,
        results: sides.results,
    };
    let text = match args.format {
        _ if args.streams.json => shown::json(&comparison)?,
        Format::Json => shown::json(&comparison)?,
        Format::Markdown => printable::lines(&shown::markdown(&comparison)).into_owned(),
        Format::Text => printable::lines(&shown::text(&comparison)).into_owned(),
    };
    let mut out = Output::stdout();
    let verdicts: &[_] = if args.format == Format::Text && !args.streams.json { &CHANGES } else { &[] };
    match picture {
        Some(file) if is_stdout(file) => out.write(&drawing::svg_of(&picture::page(&comparison, words)?)?)?,
        Some(file) => {
            out.write_painted(&text, verdicts)?;
            drawing::drawn(file, &picture::page(&comparison, words)?)?;
        }
        None => out.write_painted(&text, verdicts)?,
    }
    Ok(input::status(comparison.tests.len(), sides.damaged + matches.refused.len()))
}

/// The percentiles that both sides have. A report lists some of them only.
fn shifts(mut tests: Vec<ComparedTest>) -> Vec<ComparedTest> {
    tests.iter_mut().for_each(|test| test.rows.retain(|row| row.old.is_some() && row.new.is_some()));
    tests
}
