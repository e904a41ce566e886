//! Settings of a survey, from the command line, from a file, or from an earlier survey that is to be resumed.

use crate::axis::Axis;
use crate::custom_tests::{self as own, CustomTests};
use crate::error::SurveyError;
use crate::kind::TestKind;
use crate::parse_values;
use crate::preconditioning::{Precondition, SwitchOrText};
use analysis::Strictness;
use fio::untrusted::{leads_outside, objection};
use measure::{Nanos, push_new};
use plan::{EngineSpec, Plan};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::path::{Path, PathBuf};

/// Warm-up before each test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUp {
    /// I/O for this number of seconds, not measured.
    Seconds(u64),
    /// I/O until two consecutive samples agree.
    Steady,
}

/// All settings of a survey; absent ones have their defaults.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct SurveyRequest {
    /// Directories, files or devices.
    #[serde(serialize_with = "shown_all")]
    pub targets: Vec<PathBuf>,
    /// Tests in order; empty for the defaults.
    #[serde(with = "kinds")]
    pub tests: Vec<TestKind>,
    /// Custom tests, which run after those.
    #[serde(rename = "test", deserialize_with = "own::read", skip_serializing_if = "CustomTests::is_empty")]
    pub own: CustomTests,
    /// True to use the levels of fio.sh.
    pub fio_sh: bool,
    /// User counts that replace those of the tests.
    #[serde(deserialize_with = "users", skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<u32>,
    /// Block sizes in bytes that replace those of the tests.
    #[serde(deserialize_with = "blocks", skip_serializing_if = "Vec::is_empty")]
    pub block_sizes: Vec<u32>,
    /// Axes of a sweep.
    #[serde(with = "axes")]
    pub vary: Vec<Axis>,
    /// Measured time of each test in seconds.
    #[serde(deserialize_with = "seconds", skip_serializing_if = "Option::is_none")]
    pub time: Option<u64>,
    /// Warm-up before each test.
    #[serde(with = "warming", skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<WarmUp>,
    /// Size of the work file, or of the used part of each device, in bytes.
    #[serde(deserialize_with = "size", skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Bytes of the file system to leave free next to the work file.
    #[serde(deserialize_with = "room", skip_serializing_if = "Option::is_none")]
    pub reserve: Option<u64>,
    /// Seconds after which an I/O is reported as stuck; 0 for never.
    #[serde(deserialize_with = "patience", skip_serializing_if = "Option::is_none")]
    pub stuck_after: Option<u64>,
    /// True for a small file and short tests.
    pub quick: bool,
    /// I/O engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// True for O_DIRECT, false for buffered I/O.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direct: Option<bool>,
    /// Number of times that everything is measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u32>,
    /// True to run the tests in random order.
    pub shuffle: bool,
    /// Seed of the random order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Writes before the first test.
    #[serde(skip_serializing_if = "Precondition::is_unset")]
    pub precondition: Precondition,
    /// Longest time of these writes in seconds.
    #[serde(deserialize_with = "seconds", skip_serializing_if = "Option::is_none")]
    pub budget: Option<u64>,
    /// True to give each user a separate file.
    pub file_per_user: bool,
    /// True to keep the work file.
    pub keep: bool,
    /// The findings of checks that return a failure status.
    #[serde(deserialize_with = "strictness", serialize_with = "strict_text", skip_serializing_if = "Option::is_none")]
    pub strict: Option<Strictness>,
    /// Identities of devices that may be overwritten.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overwrite: Vec<String>,
    /// Path of the result file.
    #[serde(serialize_with = "shown", skip_serializing_if = "Option::is_none")]
    pub output: Option<PathBuf>,
    /// Directory for the result file.
    #[serde(serialize_with = "shown", skip_serializing_if = "Option::is_none")]
    pub output_dir: Option<PathBuf>,
    /// Name of the machine, for the results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

/// Reads `strict` of a survey file: true, false, or the findings as text.
fn strictness<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Strictness>, D::Error> {
    match SwitchOrText::deserialize(deserializer)? {
        SwitchOrText::Switch(on) => Ok(on.then(Strictness::default)),
        SwitchOrText::Text(text) => Strictness::read(&text).map(Some).map_err(serde::de::Error::custom),
    }
}

#[expect(clippy::ref_option, reason = "serde's signature")]
fn strict_text<S: Serializer>(strict: &Option<Strictness>, serializer: S) -> Result<S::Ok, S::Error> {
    strict.as_ref().map(Strictness::text).serialize(serializer)
}

/// Serializes paths lossily: a path that is not UTF-8 must not prevent the result from being written.
fn shown_all<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| path.to_string_lossy()))
}

#[expect(clippy::ref_option, reason = "serde's signature")]
fn shown<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path.to_string_lossy()).serialize(serializer)
}

impl SurveyRequest {
    /// Parses a survey file.
    ///
    /// # Errors
    /// The file is invalid; the message has line and column.
    pub fn from_toml(text: &str) -> Result<SurveyRequest, SurveyError> {
        toml::from_str(text).map_err(|error| SurveyError(error.to_string().trim_end().to_owned()))
    }

    /// The Plan with the patience of `stuck_after`.
    pub fn patient(&self, mut plan: Plan) -> Plan {
        if let Some(seconds) = self.stuck_after {
            let limit = Some(Nanos::from_secs(seconds)).filter(|limit| !limit.is_zero());
            plan.jobs.iter_mut().for_each(|job| job.limits.stuck_after = limit);
        }
        plan
    }

    /// This request, with missing settings taken from `file`.
    pub fn or(self, file: SurveyRequest) -> SurveyRequest {
        fn list<T>(ours: Vec<T>, theirs: Vec<T>) -> Vec<T> {
            if ours.is_empty() { theirs } else { ours }
        }
        let vary = {
            let mut axes = file.vary;
            axes.retain(|axis| !self.vary.iter().any(|ours| ours.name == axis.name));
            axes.extend(self.vary);
            axes
        };
        SurveyRequest {
            targets: list(self.targets, file.targets),
            tests: list(self.tests, file.tests),
            own: if self.own.is_empty() { file.own } else { self.own },
            fio_sh: self.fio_sh || file.fio_sh,
            users: list(self.users, file.users),
            block_sizes: list(self.block_sizes, file.block_sizes),
            vary,
            time: self.time.or(file.time),
            warm_up: self.warm_up.or(file.warm_up),
            size: self.size.or(file.size),
            reserve: self.reserve.or(file.reserve),
            stuck_after: self.stuck_after.or(file.stuck_after),
            quick: self.quick || file.quick,
            engine: self.engine.or(file.engine),
            direct: self.direct.or(file.direct),
            repeat: self.repeat.or(file.repeat),
            shuffle: self.shuffle || file.shuffle,
            seed: self.seed.or(file.seed),
            precondition: if self.precondition.is_unset() { file.precondition } else { self.precondition },
            budget: self.budget.or(file.budget),
            file_per_user: self.file_per_user || file.file_per_user,
            keep: self.keep || file.keep,
            strict: self.strict.or(file.strict),
            overwrite: list(self.overwrite, file.overwrite),
            output: self.output.or(file.output),
            output_dir: self.output_dir.or(file.output_dir),
            host: self.host.or(file.host),
        }
    }

    /// Parses a list of test names: `randread,write`, or `all`.
    ///
    /// # Errors
    /// A name is unknown; the message lists the known ones.
    pub fn tests_named(text: &str) -> Result<Vec<TestKind>, SurveyError> {
        let mut found = Vec::new();
        for word in text.split(',').map(str::trim) {
            let kinds = match (word, TestKind::named(word)) {
                ("all", _) => TestKind::ALL.to_vec(),
                (_, Some(kind)) => vec![kind],
                _ => {
                    return Err(SurveyError(format!(
                        "`{word}` is not a test; there are randread, read, write, randrw and all"
                    )));
                }
            };
            kinds.into_iter().for_each(|kind| push_new(&mut found, kind));
        }
        Ok(found)
    }

    /// Adds an axis; if it exists already, the values are appended to it.
    pub fn add_axis(&mut self, axis: Axis) {
        match self.vary.iter_mut().find(|known| known.name == axis.name) {
            Some(known) => {
                axis.values.into_iter().for_each(|value| push_new(&mut known.values, value));
            }
            None => self.vary.push(axis),
        }
    }
}

/// Deserializes a string, a number or a list of them into one comma-separated string.
struct Text;

impl<'de> Visitor<'de> for Text {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a word, a number or a list of them")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<String, A::Error> {
        let mut words: Vec<String> = Vec::new();
        while let Some(TextValue(word)) = list.next_element()? {
            words.push(word);
        }
        Ok(words.join(","))
    }
}

pub(crate) struct TextValue(pub(crate) String);

impl<'de> Deserialize<'de> for TextValue {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Text).map(TextValue)
    }
}

fn read<'de, D: Deserializer<'de>, T>(from: D, parse: fn(&str) -> Result<T, SurveyError>) -> Result<T, D::Error> {
    let TextValue(text) = TextValue::deserialize(from)?;
    parse(&text).map_err(D::Error::custom)
}

fn users<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u32>, D::Error> {
    read(from, parse_values::user_counts)
}

fn blocks<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u32>, D::Error> {
    read(from, parse_values::block_sizes)
}

fn seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    read(from, parse_values::seconds).map(Some)
}

fn size<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    read(from, parse_values::size).map(Some)
}

fn room<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    read(from, parse_values::room).map(Some)
}

fn patience<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    read(from, parse_values::patience).map(Some)
}

mod warming {
    //! Serialization of a warm-up: seconds, or `steady`.

    use super::{Deserializer, Serializer, WarmUp, parse_values, read};

    pub(super) fn serialize<S: Serializer>(value: &Option<WarmUp>, to: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(WarmUp::Seconds(seconds)) => to.serialize_u64(*seconds),
            Some(WarmUp::Steady) => to.serialize_str("steady"),
            None => to.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<WarmUp>, D::Error> {
        read(from, parse_values::warm_up).map(Some)
    }
}

mod kinds {
    //! Serialization of tests by name.

    use super::{Deserializer, Serializer, SurveyRequest, TestKind, read};

    pub(super) fn serialize<S: Serializer>(kinds: &[TestKind], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(kinds.iter().map(|kind| kind.word()))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<TestKind>, D::Error> {
        // A survey of the default tests saves an empty list.
        let named = |text: &str| if text.is_empty() { Ok(Vec::new()) } else { SurveyRequest::tests_named(text) };
        read(from, named)
    }
}

mod axes {
    //! Serialization of axes as a table: option name → values.

    use super::{
        Axis, Deserializer, Error, MapAccess, SerializeMap, Serializer, SurveyRequest, TextValue, Visitor, fmt,
    };

    pub(super) fn serialize<S: Serializer>(axes: &[Axis], to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(axes.len()))?;
        for axis in axes {
            map.serialize_entry(&axis.name, &axis.values)?;
        }
        map.end()
    }

    struct Table;

    impl<'de> Visitor<'de> for Table {
        type Value = Vec<Axis>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("options and their values, like bs = \"512..16m\"")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<Axis>, A::Error> {
            let mut request = SurveyRequest::default();
            while let Some((name, TextValue(values))) = map.next_entry::<String, TextValue>()? {
                request.add_axis(Axis::new(&name, &values).map_err(A::Error::custom)?);
            }
            Ok(request.vary)
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Axis>, D::Error> {
        from.deserialize_map(Table)
    }
}

// Restrictions of `--untrusted` on survey files.
//
// Arguments on the command line are trusted. As with job files, only the text is checked: access through symbolic
// links inside the directory is left to the kernel's permission checks.

impl SurveyRequest {
    /// Checks that an untrusted file may request these settings.
    ///
    /// # Errors
    /// The setting that is refused, with an alternative.
    pub fn check_untrusted(&self, engines: &[EngineSpec]) -> Result<(), SurveyError> {
        if let Some(identity) = self.overwrite.first() {
            return Err(SurveyError(format!(
                "--untrusted: overwrite = {identity:?} lifts the guard of devices; give --overwrite on the command line if \
                 you want it"
            )));
        }
        let places = self.targets.iter().map(|path| ("targets", path));
        let places = places.chain(self.output.iter().map(|path| ("output", path)));
        for (key, path) in places.chain(self.output_dir.iter().map(|path| ("output-dir", path))) {
            check_path(key, path)?;
        }
        let axes = self.vary.iter().flat_map(|axis| axis.values.iter().map(|value| (axis.name.as_str(), value)));
        let own = self.own.values().flat_map(|test| test.options.iter().map(|(name, value)| (name.as_str(), value)));
        for (option, value) in axes.chain(own).chain(self.engine.iter().map(|name| ("ioengine", name))) {
            if let Some(why) = objection(option, value, engines) {
                return Err(SurveyError(format!(
                    "--untrusted: {option} = {value:?} {why}; leave it out, or give it on the command line if you want it"
                )));
            }
        }
        Ok(())
    }
}

fn check_path(key: &str, path: &Path) -> Result<(), SurveyError> {
    let shown = path.display().to_string();
    if !leads_outside(&shown) {
        return Ok(());
    }
    Err(SurveyError(format!(
        "--untrusted: {key} = {shown:?} leads out of this directory; name a place in it or below it"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{Capabilities, Submission, Work};

    const FILE: &str = "\
targets = [\"/data\"]
tests = [\"randread\", \"write\"]
users = \"1,2,4..16\"
block-sizes = [8192, \"64k\"]
time = \"2m\"
warm-up = \"steady\"
size = \"4G\"
engine = \"libaio\"
direct = true
repeat = 3
shuffle = true

[vary]
iodepth = [1, 4]
random_distribution = \"random,zipf:1.2\"
";

    #[test]
    fn a_file_says_what_the_command_line_can_say() {
        let request = SurveyRequest::from_toml(FILE).unwrap();
        assert_eq!(request.targets, [PathBuf::from("/data")]);
        assert_eq!(request.tests, [TestKind::RandomRead, TestKind::LogWrite]);
        assert_eq!(request.users, [1, 2, 4, 8, 16]);
        assert_eq!(request.block_sizes, [8192, 65536]);
        assert_eq!((request.time, request.warm_up, request.size), (Some(120), Some(WarmUp::Steady), Some(4 << 30)));
        assert_eq!((request.direct, request.repeat, request.shuffle), (Some(true), Some(3), true));
        let axes: Vec<_> = request.vary.iter().map(|axis| (axis.name.as_str(), axis.values.len())).collect();
        assert_eq!(axes, [("iodepth", 2), ("random_distribution", 2)]);
    }

    #[test]
    fn a_mistake_in_a_file_is_reported_with_its_line() {
        for (text, line, says) in [
            ("time = 5\nsise = \"4G\"\n", "line 2", "unknown field `sise`"),
            ("size = \"4q\"\n", "line 1", "write it like 512M"),
            ("\n\nusers = [1, 0]\n", "line 3", "number of users"),
            ("[vary]\nfilename = \"/dev/sda\"\n", "line", "cannot be swept"),
            ("tests = [\"sequential\"]\n", "line 1", "there are randread"),
            ("time = \n", "line 1", ""),
            ("direct = 3\n", "line 1", "boolean"),
        ] {
            let printed = SurveyRequest::from_toml(text).unwrap_err().to_string();
            assert!(printed.contains(line) && printed.contains(says), "{text}\n{printed}");
        }
    }

    #[test]
    fn what_is_saved_is_read_back() {
        let request = SurveyRequest::from_toml(FILE).unwrap();
        let saved = serde_json::to_string(&request).unwrap();
        assert_eq!(serde_json::from_str::<SurveyRequest>(&saved).unwrap(), request, "{saved}");
        let none = serde_json::to_string(&SurveyRequest::default()).unwrap();
        assert_eq!(serde_json::from_str::<SurveyRequest>(&none).unwrap(), SurveyRequest::default(), "{none}");
    }

    #[test]
    fn the_command_line_wins_over_the_file() {
        let file = SurveyRequest::from_toml(FILE).unwrap();
        let mut line = SurveyRequest { time: Some(5), users: vec![1], ..SurveyRequest::default() };
        line.add_axis(Axis::parse("iodepth=8").unwrap());
        let both = line.or(file);
        assert_eq!((both.time, both.size, both.users.as_slice()), (Some(5), Some(4 << 30), &[1][..]));
        assert_eq!(both.vary.iter().find(|axis| axis.name == "iodepth").unwrap().values, ["8"]);
    }

    const fn refused(name: &'static str, why: &'static str) -> EngineSpec {
        let capabilities = Capabilities::new(Submission::Synchronous, Work::Data);
        EngineSpec { name, help: "", capabilities: Capabilities { untrusted: Some(why), ..capabilities }, options: &[] }
    }

    const ENGINES: &[EngineSpec] = &[refused("exec", "runs a command"), refused("net", "connects to other hosts")];

    #[test]
    fn an_untrusted_survey_stays_in_its_directory_and_runs_nothing() {
        for text in [
            "targets = [\"/dev/sda\"]",
            "targets = [\"here\", \"../there\"]",
            "output = \"/etc/cron.d/x\"",
            "output-dir = \"sub/../..\"",
            "overwrite = [\"SERIAL\"]",
            "engine = \"exec\"",
            "engine = \"net\"",
            "[vary]\nioengine = \"psync,exec\"",
            "[vary]\nbuffer_pattern = \"'/etc/shadow'\"",
            "[test.a]\nrw = \"read\"\noptions = { ioengine = \"exec\" }",
            "[test.a]\nrw = \"read\"\noptions = { buffer_pattern = \"'/etc/shadow'\" }",
        ] {
            let request = SurveyRequest::from_toml(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let message = request.check_untrusted(ENGINES).expect_err(text).to_string();
            assert!(message.starts_with("--untrusted: "), "{text}: {message}");
        }
        // These options are not available in any survey.
        for option in ["ioscheduler = \"none\"", "write_consent = \"16777216\"", "cgroup = \"a,b\""] {
            assert!(SurveyRequest::from_toml(&format!("[vary]\n{option}")).is_err(), "{option}");
            assert!(
                SurveyRequest::from_toml(&format!("[test.a]\nrw = \"read\"\noptions = {{ {option} }}")).is_err(),
                "{option}"
            );
        }
        let harmless = "targets = [\"data\"]\nengine = \"libaio\"\noutput = \"r.json\"\n[vary]\niodepth = [1, 4]\n";
        assert!(SurveyRequest::from_toml(harmless).unwrap().check_untrusted(ENGINES).is_ok());
    }
}
