//! `plumb compare`: what changed between two sets of results, and is it more than noise?
//!
//! Owns options, files and exit status. `analysis::compare` pairs the tests and judges them.

pub(crate) mod documents;
mod picture;
mod read;
pub(crate) mod text;

use crate::failure::Failure;
use crate::input;
use crate::output::Output;
use crate::streams::{Streams, is_stdout};
use analysis::compare::{
    ComparedTest, Design, Difference, Matches, Metric, Summary, compare, compare_usual, pair, summary,
};
use clap::ValueEnum;
use formats::printable;
pub(crate) use read::{SideResults, side};
use session::arguments::AcceptArgs;
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
≈ it differs, by less than the tolerance         ? cannot tell
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
    #[arg(long, default_value = "5%", value_parser = tolerance, value_name = "SHARE")]
    tolerance: f64,
    /// Compare the latency at p10, p20 .. p90, p99 and p99.9, too
    #[arg(long)]
    shift: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Format::Text, conflicts_with = "json")]
    format: Format,
    #[arg(help = crate::drawing::DRAWN, short, long, value_name = "FILE")]
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

/// Parses a share: `5%`, `0.5 %`. Returns 0.05.
pub(crate) fn tolerance(text: &str) -> Result<f64, String> {
    let wrong = || format!("{text} is not a share above 0 % and below 100 %; write it like 5% or 0.5%");
    let digits = text.strip_suffix('%').ok_or_else(wrong)?.trim_end();
    let percent: f64 = digits.parse().map_err(|_| wrong())?;
    if percent > 0.0 && percent < 100.0 { Ok(percent / 100.0) } else { Err(wrong()) }
}

/// Everything that a comparison shows.
pub(crate) struct Comparison {
    pub(crate) tests: Vec<ComparedTest>,
    /// The shift functions, if they are wanted.
    pub(crate) shifts: Vec<ComparedTest>,
    pub(crate) surroundings: Vec<Difference>,
    pub(crate) summary: Summary,
    /// Facts about the results, in sentences.
    pub(crate) notes: Vec<String>,
    pub(crate) tolerance: f64,
    pub(crate) results: [usize; 2],
}

/// Reads both sides and prints the comparison.
pub(crate) fn run(args: &CompareArgs) -> Result<u8, Failure> {
    args.streams.apply();
    let picture = args.output.as_deref();
    // The destination is checked before anything is read.
    picture.filter(|path| !is_stdout(path)).map(crate::drawing::check_output).transpose()?;
    let words = match args.results.as_slice() {
        [old, new] => [std::slice::from_ref(old), std::slice::from_ref(new)],
        _ => [args.old.as_slice(), &args.new],
    };
    let (old, new) = (side(words[0], &args.accept)?, side(words[1], &args.accept)?);
    let damaged = old.damaged + new.damaged;
    let results = [old.results, new.results];
    let mut surroundings = old.facts.differences(&new.facts);
    let mut notes = notes(&old, &new);
    let matches = pair(old.observations, new.observations);
    surroundings.extend(matches.differences());
    notes.extend(notes_on(&matches));
    if matches.both.is_empty() && matches.refused.is_empty() {
        let why = "no test is in both: plumb pairs tests of equal pattern, block size, users and depth";
        return Err(Failure::new(notes.into_iter().fold(why.to_owned(), |text, note| format!("{text}\n{note}"))));
    }
    let of = |metrics: &[Metric]| compare(&matches.both, metrics, args.tolerance, Design::AsMade);
    let tests = compare_usual(&matches.both, &[], args.tolerance, Design::AsMade);
    let comparison = Comparison {
        summary: summary(&tests, args.tolerance),
        shifts: if args.shift { shifts(of(&Metric::SHIFT)) } else { Vec::new() },
        tests,
        surroundings,
        notes,
        tolerance: args.tolerance,
        results,
    };
    let text = match args.format {
        _ if args.streams.json => documents::json(&comparison)?,
        Format::Json => documents::json(&comparison)?,
        Format::Markdown => printable::lines(&documents::markdown(&comparison)).into_owned(),
        Format::Text => printable::lines(&text::render(&comparison)).into_owned(),
    };
    match picture {
        Some(file) if is_stdout(file) => Output::stdout().write(&picture::svg(&comparison, words)?)?,
        Some(file) => {
            Output::stdout().write(&text)?;
            picture::write(&comparison, words, file)?;
        }
        None => Output::stdout().write(&text)?,
    }
    Ok(input::status(comparison.tests.len(), damaged + matches.refused.len()))
}

/// The percentiles that both sides have. A report lists some of them only.
fn shifts(mut tests: Vec<ComparedTest>) -> Vec<ComparedTest> {
    tests.iter_mut().for_each(|test| test.rows.retain(|row| row.old.is_some() && row.new.is_some()));
    tests
}

/// Notes about the results of both sides, before their tests are paired.
pub(crate) fn notes(old: &SideResults, new: &SideResults) -> Vec<String> {
    let mut found = Vec::new();
    for (side, name) in [(old, "old"), (new, "new")] {
        for (results, grade) in
            [(&side.not_storage, "NOT A STORAGE RESULT"), (&side.accepted, "NOT A STORAGE RESULT, and accepted")]
        {
            let first = results
                .first()
                .map(|first| format!("{} of {} {name} results: {grade}, {first}", results.len(), side.results));
            found.extend(first);
        }
    }
    for (side, name) in [(old, "old"), (new, "new")] {
        if let Some(first) = side.disturbed.first() {
            found.push(format!("{} of {} {name} results were disturbed: {first}", side.disturbed.len(), side.results));
        }
    }
    let missing = old.facts.not_known(&new.facts);
    if !missing.is_empty() {
        found.push(format!("Only one side states these, so they may differ: {}", missing.join(", ")));
    }
    found
}

/// Notes about what could not be paired.
pub(crate) fn notes_on(matches: &Matches) -> Vec<String> {
    let mut found = matches.refused.clone();
    found.extend(matches.only_old.iter().map(|label| format!("Only in the old results: {label}")));
    found.extend(matches.only_new.iter().map(|label| format!("Only in the new results: {label}")));
    found.extend(matches.not_stated.iter().cloned());
    if matches.repeated > 0 {
        found.push(format!("{} results were given more than once; each counts once", matches.repeated));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tolerance_is_a_share_in_percent() {
        for (text, expected) in [("5%", 0.05), ("0.5 %", 0.005), ("99%", 0.99)] {
            assert!(tolerance(text).is_ok_and(|found| (found - expected).abs() < 1e-12), "{text}");
        }
        for text in ["", "5", "0%", "-1%", "100%", "NaN%", "x%", "inf%"] {
            assert!(tolerance(text).is_err(), "{text}");
        }
    }
}
