//! Custom tests in a survey file: `[test.NAME]` with a pattern and load levels.

use crate::error::SurveyError;
use crate::kind::TestKind;
use crate::request::{SurveyRequest, TextValue};
use crate::test::SurveyTest;
use crate::{axis, parse_values};
use serde::de::Error;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// All custom tests, by name.
pub type CustomTests = BTreeMap<String, CustomTest>;

/// Longest name in characters: the table's column width.
const LONGEST_NAME: usize = 24;
/// Values of fio's `sync` option for writes; `sync` and `dsync` reach stable storage before the next write starts.
const SYNCS: &[&str] = &["none", "sync", "dsync"];

/// A custom test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomTest {
    /// Pattern of its I/O.
    pub kind: TestKind,
    /// Block sizes in bytes, each combined with every user count.
    pub block_sizes: Vec<u32>,
    /// User counts.
    pub users: Vec<u32>,
    /// Additional fio options and their values.
    pub options: Vec<(String, String)>,
}

/// The same test in the form of the survey file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct TestEntry {
    rw: String,
    #[serde(alias = "block-sizes")]
    bs: Option<TextValue>,
    users: Option<TextValue>,
    /// Percentage of reads.
    mix: Option<u64>,
    sync: Option<String>,
    #[serde(default)]
    options: BTreeMap<String, TextValue>,
}

impl TryFrom<TestEntry> for CustomTest {
    type Error = SurveyError;

    fn try_from(written: TestEntry) -> Result<Self, SurveyError> {
        let kind = TestKind::of_pattern(&written.rw).ok_or_else(|| {
            SurveyError(format!(
                "`{}` is not a pattern; there are read, write, randread, randwrite, rw and randrw",
                written.rw
            ))
        })?;
        let mut options = Vec::new();
        if let Some(mix) = written.mix {
            if !kind.is_mixed() {
                return Err(SurveyError(format!(
                    "mix says how much of rw and randrw is reads; rw = \"{}\" has one way",
                    written.rw
                )));
            }
            if mix > 100 {
                return Err(SurveyError(format!("mix = {mix} is not from 0 to 100: the percent that are reads")));
            }
            options.push(("rwmixread".to_owned(), mix.to_string()));
        }
        if let Some(sync) = written.sync {
            if !kind.writes() {
                return Err(SurveyError(format!(
                    "sync says how writes are made safe; rw = \"{}\" writes nothing",
                    written.rw
                )));
            }
            if !SYNCS.contains(&sync.as_str()) {
                return Err(SurveyError(format!("sync = \"{sync}\" is none of {}", SYNCS.join(", "))));
            }
            options.push(("sync".to_owned(), sync));
        }
        for (name, TextValue(value)) in written.options {
            if ["bs", "blocksize", "users", "numjobs", "size", "rwmixread", "rwmixwrite", "sync"].contains(&&*name) {
                return Err(SurveyError(format!(
                    "`{name}` cannot be an option; the test's keys are rw, bs, users, mix and sync"
                )));
            }
            axis::may_be_set(&name, &value)?;
            options.push((name, value));
        }
        let blocks = written.bs.map(|TextValue(text)| parse_values::block_sizes(&text)).transpose()?;
        let users = written.users.map(|TextValue(text)| parse_values::user_counts(&text)).transpose()?;
        Ok(CustomTest {
            kind,
            block_sizes: blocks.unwrap_or_else(|| vec![kind.usual_block()]),
            users: users.unwrap_or_else(|| vec![1]),
            options,
        })
    }
}

impl<'de> Deserialize<'de> for CustomTest {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        CustomTest::try_from(TestEntry::deserialize(from)?).map_err(D::Error::custom)
    }
}

impl Serialize for CustomTest {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let said = |wanted: &str| self.options.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
        let further: BTreeMap<&String, &String> = self
            .options
            .iter()
            .filter(|(name, _)| !["rwmixread", "sync"].contains(&&**name))
            .map(|(n, v)| (n, v))
            .collect();
        let mut table = to.serialize_struct("test", 6)?;
        table.serialize_field("rw", self.kind.pattern())?;
        table.serialize_field("bs", &self.block_sizes)?;
        table.serialize_field("users", &self.users)?;
        if let Some(mix) = said("rwmixread").and_then(|mix| mix.parse::<u64>().ok()) {
            table.serialize_field("mix", &mix)?;
        }
        if let Some(sync) = said("sync") {
            table.serialize_field("sync", sync)?;
        }
        if !further.is_empty() {
            table.serialize_field("options", &further)?;
        }
        table.end()
    }
}

/// Reads all custom tests and checks their names.
pub(crate) fn read<'de, D: Deserializer<'de>>(from: D) -> Result<CustomTests, D::Error> {
    let tests = CustomTests::deserialize(from)?;
    tests.keys().try_for_each(|name| may_be_called(name)).map_err(D::Error::custom)?;
    Ok(tests)
}

fn may_be_called(name: &str) -> Result<(), SurveyError> {
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(letters) {
        return Err(SurveyError(format!(
            "`{name}` is not a name for a test: use letters, digits, - and _, at most {LONGEST_NAME}"
        )));
    }
    if name == "all" || TestKind::is_taken(name) {
        return Err(SurveyError(format!("`{name}` is the name of a built-in test; choose another name")));
    }
    Ok(())
}

impl CustomTest {
    /// The request as it applies to this test: with the test's levels, unless the request sets them.
    pub(crate) fn request(&self, request: &SurveyRequest) -> SurveyRequest {
        let or = |theirs: &Vec<u32>, own: &Vec<u32>| if theirs.is_empty() { own.clone() } else { theirs.clone() };
        SurveyRequest {
            users: or(&request.users, &self.users),
            block_sizes: or(&request.block_sizes, &self.block_sizes),
            ..request.clone()
        }
    }

    /// Gives a test this custom name and options. Options of the sweep take precedence.
    pub(crate) fn name(&self, name: &str, mut test: SurveyTest) -> SurveyTest {
        let swept = std::mem::take(&mut test.extras);
        let own = self.options.iter().filter(|(option, _)| !swept.iter().any(|(other, _)| other == option));
        SurveyTest { name: Some(name.to_owned()), extras: own.cloned().chain(swept.iter().cloned()).collect(), ..test }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::{Writes, suite};

    const FILE: &str = "\
[test.checkout]
rw = \"randrw\"
bs = [\"4k\", \"16k\"]
users = \"1,8\"
mix = 70
sync = \"dsync\"
options = { iodepth = 4, random_distribution = \"zipf:1.2\" }

[test.archive]
rw = \"write\"
";

    #[test]
    fn tests_of_ones_own_run_at_their_levels() {
        let request = SurveyRequest::from_toml(FILE).unwrap();
        let found =
            suite(&SurveyRequest { engine: Some("libaio".into()), ..request.clone() }, Writes::Allowed).unwrap().tests;
        let message: Vec<String> = found.iter().map(SurveyTest::describe).collect();
        assert_eq!(message.len(), 5, "{message:?}");
        assert_eq!(message[0], "1M archive, 1 user");
        assert_eq!(
            message[2],
            "4k checkout, 8 users, rwmixread=70, sync=dsync, iodepth=4, random_distribution=zipf:1.2"
        );
        let with = SurveyRequest { tests: vec![TestKind::RandomRead], users: vec![2], ..request.clone() };
        let message: Vec<String> =
            suite(&with, Writes::Allowed).unwrap().tests.iter().map(SurveyTest::describe).collect();
        assert_eq!(
            (message.len(), message[0].as_str(), message[1].as_str()),
            (4, "8k rand read, 2 users", "1M archive, 2 users")
        );
        let mut swept = request.clone();
        swept.add_axis(crate::Axis::parse("iodepth=1,2").unwrap());
        let found = suite(&swept, Writes::Allowed).unwrap().tests;
        assert_eq!(found.len(), 2 + 8);
        assert!(found.iter().all(|test| test.extras.iter().filter(|(name, _)| name == "iodepth").count() == 1));
        let saved = serde_json::to_string(&request).unwrap();
        assert_eq!(serde_json::from_str::<SurveyRequest>(&saved).unwrap(), request, "{saved}");
    }

    #[test]
    fn ten_thousand_tests_are_planned_at_once_and_more_are_refused() {
        let file = |tests: u32| (0..tests).map(|at| format!("[test.t{at}]\nrw = \"read\"\n")).collect::<String>();
        let begun = std::time::Instant::now();
        assert_eq!(
            suite(&SurveyRequest::from_toml(&file(10_000)).unwrap(), Writes::Allowed).unwrap().tests.len(),
            10_000
        );
        let message =
            suite(&SurveyRequest::from_toml(&file(20_000)).unwrap(), Writes::Allowed).unwrap_err().to_string();
        assert!(message.contains("10000 is the most"), "{message}");
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    }

    #[test]
    fn a_test_that_writes_is_refused_where_nothing_may_be_written() {
        let request = SurveyRequest::from_toml(FILE).unwrap();
        let message = suite(&request, Writes::Forbidden).unwrap_err().to_string();
        assert!(message.contains("`archive` would overwrite"), "{message}");
    }

    #[test]
    fn mistakes_in_a_custom_test_are_reported() {
        for (text, says) in [
            ("[test.a]\nbs = \"4k\"\n", "missing field `rw`"),
            ("[test.a]\nrw = \"random\"\n", "there are read, write"),
            ("[test.a]\nrw = \"read\"\nmix = 50\n", "has one way"),
            ("[test.a]\nrw = \"rw\"\nmix = 101\n", "from 0 to 100"),
            ("[test.a]\nrw = \"read\"\nsync = \"dsync\"\n", "writes nothing"),
            ("[test.a]\nrw = \"write\"\nsync = \"always\"\n", "none of none, sync, dsync"),
            ("[test.a]\nrw = \"read\"\nbs = \"4q\"\n", "block size"),
            ("[test.a]\nrw = \"read\"\nsise = 3\n", "unknown field `sise`"),
            ("[test.a]\nrw = \"read\"\noptions = { filename = \"/dev/sda\" }\n", "sets it itself"),
            ("[test.a]\nrw = \"read\"\noptions = { iomem = \"mmapshared:thesis\" }\n", "iomem=mmapshared:thesis"),
            ("[test.a]\nrw = \"read\"\noptions = { sim_journal = \"thesis\" }\n", "names files"),
            ("[test.a]\nrw = \"read\"\noptions = { ioscheduler = \"none\" }\n", "changes the machine"),
            ("[test.a]\nrw = \"read\"\noptions = { bs = \"4k\" }\n", "cannot be an option"),
            ("[test.randread]\nrw = \"read\"\n", "a built-in test"),
            ("[test.\"a b\"]\nrw = \"read\"\n", "not a name for a test"),
        ] {
            let message = SurveyRequest::from_toml(text).unwrap_err().to_string();
            assert!(message.contains(says), "{text}\n{message}");
        }
    }
}
