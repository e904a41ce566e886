//! The two sides of a comparison, from files of any format that plumb reads: their tests in pairs, and what differs
//! around them.

use crate::failure::Failure;
use crate::input;
use crate::output::Verbosity;
use analysis::Cause;
use analysis::compare::{Difference, FactSet, Matches, Observation, StatedFacts, observe, pair};
use formats::results::LocatedResult;
use measure::text;
use model::{RunResult, Surroundings};
use serde::Deserialize;
use serde_json::Value;
use session::arguments::AcceptArgs;
use std::path::{Path, PathBuf};

pub(crate) struct Sides {
    pub(crate) matches: Matches,
    pub(crate) surroundings: Vec<Difference>,
    /// Remarks on the results of each side.
    pub(crate) notes: Vec<String>,
    /// Number of results of each side.
    pub(crate) results: [usize; 2],
    /// Of each side, the first result whose numbers are not of the storage and that another run would not change, with
    /// the reason.
    pub(crate) not_storage: [Option<String>; 2],
    /// Number of places that could not be read.
    pub(crate) damaged: usize,
}

/// Reads the old and the new results. Results that are accepted count like those of a storage.
pub(crate) fn read(words: [&[PathBuf]; 2], accept: &AcceptArgs, verbosity: Verbosity) -> Result<Sides, Failure> {
    let (old, new) = (side(words[0], accept, verbosity)?, side(words[1], accept, verbosity)?);
    let mut surroundings = old.facts.differences(&new.facts);
    let notes = notes(&old, &new);
    let not_storage = [&old, &new].map(SideResults::set_up);
    let matches = pair(old.observations, new.observations);
    surroundings.extend(matches.differences());
    Ok(Sides {
        matches,
        surroundings,
        notes,
        results: [old.results, new.results],
        not_storage,
        damaged: old.damaged + new.damaged,
    })
}

/// The results of one side.
#[derive(Debug, Default)]
struct SideResults {
    /// The numbers of each test in each result.
    observations: Vec<Observation>,
    facts: FactSet,
    /// Results whose numbers are not of the storage, with the reason.
    not_storage: Vec<(Cause, String)>,
    /// Those of them that are accepted.
    accepted: Vec<String>,
    /// Results that other programs made slower, with how.
    disturbed: Vec<String>,
    results: usize,
    damaged: usize,
    accept: AcceptArgs,
}

/// Reads all results in these files; a word may be a list of files with commas. Damage is reported on standard error.
fn side(words: &[PathBuf], accept: &AcceptArgs, verbosity: Verbosity) -> Result<SideResults, Failure> {
    let mut found = SideResults { accept: accept.clone(), ..SideResults::default() };
    for (number, path) in words.iter().flat_map(|word| files(word)).enumerate() {
        let bytes = input::read_bytes(&path)?;
        match survey(&path, &bytes)? {
            Some((tests, surroundings)) => {
                surroundings.iter().for_each(|surroundings| found.facts.add_surroundings(surroundings));
                tests.into_iter().for_each(|(said, result)| found.add(&path, number, Some(&said), result));
            }
            None => {
                let (results, damaged) = input::results_in(&path, &bytes, verbosity);
                found.damaged += damaged;
                results.into_iter().for_each(|LocatedResult { result, .. }| found.add(&path, number, None, result));
            }
        }
    }
    Ok(found)
}

/// The files of a word: itself if there is such a file, else the list that it is.
pub(crate) fn files(word: &Path) -> Vec<PathBuf> {
    match word.to_str().filter(|text| text.contains(',') && !word.exists()) {
        Some(list) => list.split(',').filter(|file| !file.is_empty()).map(PathBuf::from).collect(),
        None => vec![word.to_owned()],
    }
}

impl SideResults {
    /// The first result that is not of the storage for a reason that another run would not change.
    fn set_up(&self) -> Option<String> {
        self.not_storage.iter().find(|(cause, _)| *cause == Cause::SetUp).map(|(_, why)| why.clone())
    }

    fn add(&mut self, path: &Path, file: usize, said: Option<&StatedFacts>, mut result: RunResult) {
        analysis::judge(&mut result);
        self.results += 1;
        if let Some(note) = result.notes.iter().find(|note| self.accept.accepts(note)) {
            self.accepted.push(format!("{}: {}: {}", path.display(), note.check, note.sentence));
        }
        result.notes.retain(|note| !self.accept.accepts(note));
        self.facts.add(&result);
        let observations = observe(&result, said, file);
        let why = observations.iter().find_map(|found| found.not_storage.clone());
        let how = observations.iter().find_map(|found| found.disturbed.clone()).filter(|_| why.is_none());
        self.not_storage.extend(why.map(|why| (why.cause, format!("{}: {why}", path.display()))));
        self.disturbed.extend(how.map(|how| format!("{}: {how}", path.display())));
        self.observations.extend(observations);
    }
}

/// Remarks on the results of both sides, before their tests are paired.
fn notes(old: &SideResults, new: &SideResults) -> Vec<String> {
    let mut found = Vec::new();
    for (side, name) in [(old, "old"), (new, "new")] {
        let not_storage: Vec<String> = side.not_storage.iter().map(|(_, why)| why.clone()).collect();
        for (results, grade) in
            [(&not_storage, "NOT A STORAGE RESULT"), (&side.accepted, "NOT A STORAGE RESULT, and accepted")]
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

/// Most tests of one side alone that are named.
const MOST_ALONE: usize = 4;

/// Remarks on what could not be paired.
pub(crate) fn unpaired(matches: &Matches) -> Vec<String> {
    let mut found = matches.refused.clone();
    for (side, labels) in [("old", &matches.only_old), ("new", &matches.only_new)] {
        if !labels.is_empty() {
            found.push(format!("Only in the {side} results: {}", text::listed_up_to(labels, MOST_ALONE)));
        }
    }
    found.extend(matches.not_stated.iter().cloned());
    if matches.repeated > 0 {
        found.push(format!("{} results were given more than once; each counts once", matches.repeated));
    }
    found
}

/// The tests of a survey, and its surroundings if it states them.
type Survey = (Vec<(StatedFacts, RunResult)>, Option<Surroundings>);

/// The finished tests of a survey or of plumb iozone --json; `None` for any other file.
fn survey(path: &Path, bytes: &[u8]) -> Result<Option<Survey>, Failure> {
    let is_ours = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    let Some(root) = serde_json::from_slice::<Value>(bytes).ok().filter(|_| is_ours) else { return Ok(None) };
    let Some(tests) = root.get("tests").and_then(Value::as_array).filter(|_| root.get("schema").is_some()) else {
        return Ok(None);
    };
    let mut found = Vec::new();
    for (number, test) in (1..).zip(tests) {
        if test.get("under_way") == Some(&Value::Bool(true)) {
            continue;
        }
        let result = test.get("result").ok_or_else(|| Failure::at(path, format!("test {number} has no result")))?;
        let result = formats::native::of_value(result)
            .map_err(|error| Failure::at(path, format!("test {number} cannot be read: {error}")))?;
        found.push((said(test), result));
    }
    let surroundings = root.get("surroundings").map(Surroundings::deserialize).transpose();
    let surroundings =
        surroundings.map_err(|error| Failure::at(path, format!("`surroundings` cannot be read: {error}")))?;
    Ok(Some((found, surroundings)))
}

fn said(test: &Value) -> StatedFacts {
    let number = |key: &str| test.get(key).and_then(Value::as_u64);
    let option = |pair: &Value| Some((pair.get(0)?.as_str()?.to_owned(), pair.get(1)?.as_str()?.to_owned()));
    let options = test.get("options").and_then(Value::as_array).into_iter().flatten().filter_map(option);
    StatedFacts {
        test: test.get("test").and_then(Value::as_str).map(str::to_owned),
        users: number("users").and_then(|users| u32::try_from(users).ok()),
        set_bytes: number("set_bytes").or_else(|| number("file_kb").map(|kb| kb.saturating_mul(1024))),
        options: options.collect(),
    }
}
