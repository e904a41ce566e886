//! The options that all commands that measure have, with one meaning and one help text.

use crate::failure::Failure;
use crate::keep::KeepArgs;
use crate::publish::PublishArgs;
use crate::streams::Streams;
use analysis::{NotStorage, Strictness, denies_storage, not_storage};
use clap::Parser;
use clap::error::{ContextKind, ErrorKind};
use model::{Note, RunResult};
use std::error::Error;

/// Options of commands that measure.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct SessionArgs {
    /// Form of the output.
    #[command(flatten)]
    pub streams: Streams,
    /// Places that get the runs while they go on.
    #[command(flatten)]
    pub publish: PublishArgs,
    /// Checks that do not end a command.
    #[command(flatten)]
    pub accept: AcceptArgs,
    /// Exit with status 4 if a check finds a problem, or one of a LIST of checks or worse than a grade, like
    /// cache,no-flush or not-a-storage-result
    #[arg(hide_short_help = true, long, value_name = "LIST", num_args = 0..=1, require_equals = true, default_missing_value = "usual", value_parser = Strictness::read)]
    pub strict: Option<Strictness>,
    /// Name of the machine in the result; an empty one records none [default: the environment variable PLUMB_HOST, or
    /// the machine's own]
    #[arg(hide_short_help = true, long, value_name = "NAME")]
    pub host: Option<String>,
    /// Do not measure plumb's own share of latencies before each run (less than 100 ms)
    #[arg(hide_short_help = true, long)]
    pub no_calibrate: bool,
    /// The store of the results.
    #[command(flatten)]
    pub store: KeepArgs,
}

impl SessionArgs {
    /// Reads options that the own parser of fio or iozone leaves to it: `--NAME` or `--NAME=VALUE` each.
    pub fn of_words(words: &[String]) -> Result<Self, Failure> {
        #[derive(clap::Parser)]
        #[command(no_binary_name = true, args_override_self = true)]
        struct Words {
            #[command(flatten)]
            args: SessionArgs,
        }
        let failed = |error: clap::Error| {
            let of = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
            let (option, value) = (of(ContextKind::InvalidArg), of(ContextKind::InvalidValue));
            let option = option.split(['[', '<', ' ']).next().unwrap_or_default().trim_end_matches('=').to_owned();
            match (error.kind(), error.source()) {
                (ErrorKind::ValueValidation, Some(why)) => Failure::new(format!("{option}={value}: {why}")),
                _ => Failure::new(error.to_string().trim_start_matches("error: ").lines().next().unwrap_or_default()),
            }
        };
        Words::try_parse_from(words).map(|words| words.args).map_err(failed)
    }

    /// The first option that is about runs and was given; `--json` and `--quiet` are of all commands.
    pub fn given(&self) -> Option<&'static str> {
        let all = [
            ("--accept", !self.accept.accept.is_empty()),
            ("--strict", self.strict.is_some()),
            ("--host", self.host.is_some()),
            ("--no-calibrate", self.no_calibrate),
        ];
        let own = all.into_iter().find_map(|(option, is_given)| is_given.then_some(option));
        own.or_else(|| self.publish.given()).or_else(|| self.store.given())
    }
}

/// The option for results that are not of the storage.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct AcceptArgs {
    /// Count results although these checks find that they are not of the storage, like cache,nothing-moved
    #[arg(hide_short_help = true, long, value_name = "LIST", value_delimiter = ',', value_parser = check_named)]
    accept: Vec<&'static str>,
}

fn check_named(word: &str) -> Result<&'static str, String> {
    analysis::check_named(word).ok_or_else(|| {
        let known: Vec<String> = analysis::check_words().collect();
        format!("there is no check `{word}`; there are: {}", known.join(", "))
    })
}

impl AcceptArgs {
    /// True for a finding that a result is not of the storage, of a check that is accepted.
    pub fn accepts(&self, note: &Note) -> bool {
        denies_storage(note.grade) && self.accept.iter().any(|check| *check == note.check)
    }

    /// Why a result with these notes is not of the storage, unless that is accepted.
    pub fn refused(&self, notes: &[Note]) -> Option<NotStorage> {
        not_storage(notes, &self.accept)
    }

    /// The checks that are accepted.
    pub fn checks(&self) -> &[&'static str] {
        &self.accept
    }
}

/// Findings that results are not of the storage, in sentences; each check once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Those that count.
    pub refused: Vec<String>,
    /// Those that are accepted.
    pub accepted: Vec<String>,
}

impl Findings {
    /// Adds those of a result that was judged.
    pub fn add(&mut self, result: &RunResult, accept: &AcceptArgs) {
        for note in result.notes.iter().filter(|note| denies_storage(note.grade)) {
            let (kept, grade) = match accept.accepts(note) {
                true => (&mut self.accepted, "NOT A STORAGE RESULT, and accepted"),
                false => (&mut self.refused, "NOT A STORAGE RESULT"),
            };
            let begins = format!("{grade}: {}: ", note.check);
            if !kept.iter().any(|known| known.starts_with(&begins)) {
                kept.push(begins + &note.sentence);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Grade;

    fn note(check: &str, grade: Grade) -> Note {
        Note { check: check.into(), grade, sentence: "of memory".into(), evidence: Vec::new() }
    }

    #[test]
    fn a_check_has_blanks_or_dashes_and_an_unknown_one_is_refused() {
        assert_eq!(check_named("nothing-moved"), check_named("nothing moved"));
        assert!(check_named("cache").is_ok());
        assert_eq!(check_named("client-cpu").as_deref(), Ok("client CPU"), "as --strict takes it");
        assert!(check_named("cash").unwrap_err().contains("`cash`"));
    }

    #[test]
    fn what_is_accepted_is_a_result_of_no_storage_and_nothing_else() {
        let args = AcceptArgs { accept: vec!["cache"] };
        let notes = [note("cache", Grade::ValidWithLimits), note("cache", Grade::NotAStorageResult)];
        assert_eq!([args.accepts(&notes[0]), args.accepts(&notes[1])], [false, true]);
        assert_eq!(args.refused(&notes), None);
        assert_eq!(AcceptArgs::default().refused(&notes).map(|found| found.note), Some(notes[1].clone()));
        let (mut findings, result) = (Findings::default(), RunResult { notes: notes.to_vec(), ..RunResult::default() });
        findings.add(&result, &args);
        findings.add(&result, &args);
        findings.add(&result, &AcceptArgs::default());
        assert_eq!(findings.accepted, ["NOT A STORAGE RESULT, and accepted: cache: of memory"]);
        assert_eq!(findings.refused, ["NOT A STORAGE RESULT: cache: of memory"]);
    }
}
