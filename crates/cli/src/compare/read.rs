//! The results of one side of a comparison, from files of any format that plumb reads.

use crate::failure::Failure;
use crate::input;
use analysis::compare::{FactSet, Observation, StatedFacts, observe};
use formats::results::Located;
use model::{RunResult, Surroundings};
use serde::Deserialize;
use serde_json::Value;
use session::arguments::AcceptArgs;
use std::path::{Path, PathBuf};

/// The results of one side.
#[derive(Debug, Default)]
pub(crate) struct SideResults {
    /// The numbers of each test in each result.
    pub(crate) observations: Vec<Observation>,
    /// Facts about the surroundings.
    pub(crate) facts: FactSet,
    /// Results whose numbers are not of the storage, with the reason.
    pub(crate) not_storage: Vec<String>,
    /// Those of them that are accepted.
    pub(crate) accepted: Vec<String>,
    /// Results that other programs made slower, with how.
    pub(crate) disturbed: Vec<String>,
    /// Number of results.
    pub(crate) results: usize,
    /// Number of places that could not be read.
    pub(crate) damaged: usize,
    accept: AcceptArgs,
}

/// Reads all results in these files; a word may be a list of files with commas. Damage is reported on standard error. Results that are
/// accepted count like those of a storage.
pub(crate) fn side(words: &[PathBuf], accept: &AcceptArgs) -> Result<SideResults, Failure> {
    let mut found = SideResults { accept: accept.clone(), ..SideResults::default() };
    for (number, path) in words.iter().flat_map(|word| files(word)).enumerate() {
        let bytes = input::read_bytes(&path)?;
        match survey(&path, &bytes)? {
            Some((tests, surroundings)) => {
                surroundings.iter().for_each(|surroundings| found.facts.add_surroundings(surroundings));
                tests.into_iter().for_each(|(said, result)| found.add(&path, number, Some(&said), result));
            }
            None => {
                let (results, damaged) = input::results_in(&path, &bytes);
                found.damaged += damaged;
                results.into_iter().for_each(|Located { result, .. }| found.add(&path, number, None, result));
            }
        }
    }
    Ok(found)
}

/// The files of a word: itself if there is such a file, else the list that it is.
pub(super) fn files(word: &Path) -> Vec<PathBuf> {
    match word.to_str().filter(|text| text.contains(',') && !word.exists()) {
        Some(list) => list.split(',').filter(|file| !file.is_empty()).map(PathBuf::from).collect(),
        None => vec![word.to_owned()],
    }
}

impl SideResults {
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
        self.not_storage.extend(why.map(|why| format!("{}: {why}", path.display())));
        let how = observations.iter().find_map(|found| found.disturbed.clone());
        self.disturbed.extend(how.map(|how| format!("{}: {how}", path.display())));
        self.observations.extend(observations);
    }
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
