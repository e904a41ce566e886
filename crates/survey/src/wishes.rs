//! What is asked of a survey: by the command line, by a file, or by an earlier survey that is to be finished.

use crate::axis::Axis;
use crate::kind::Kind;
use crate::own::{self, OwnTests};
use crate::word;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::path::PathBuf;

/// What goes before each test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUp {
    /// So much I/O that does not count.
    Seconds(u64),
    /// I/O until two looks in a row agree.
    Steady,
}

/// Everything that can be asked; what is absent has its usual value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Wishes {
    /// Directories, files or devices.
    #[serde(serialize_with = "shown_all")]
    pub targets: Vec<PathBuf>,
    /// The tests, in their order; empty for the usual ones.
    #[serde(with = "kinds")]
    pub tests: Vec<Kind>,
    /// Tests of one's own, which run behind those.
    #[serde(rename = "test", deserialize_with = "own::read", skip_serializing_if = "OwnTests::is_empty")]
    pub own: OwnTests,
    /// The levels are those of fio.sh.
    pub fio_sh: bool,
    /// User counts in place of the tests' own.
    #[serde(deserialize_with = "users", skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<u32>,
    /// Block sizes in place of the tests' own.
    #[serde(deserialize_with = "blocks", skip_serializing_if = "Vec::is_empty")]
    pub block_sizes: Vec<u32>,
    /// Axes of a sweep.
    #[serde(with = "axes")]
    pub vary: Vec<Axis>,
    /// Seconds that each test measures.
    #[serde(deserialize_with = "seconds", skip_serializing_if = "Option::is_none")]
    pub time: Option<u64>,
    /// What goes before each test.
    #[serde(with = "warming", skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<WarmUp>,
    /// Bytes of the work file, or of each device.
    #[serde(deserialize_with = "size", skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Bytes of the file system that stay free beside the work file.
    #[serde(deserialize_with = "room", skip_serializing_if = "Option::is_none")]
    pub reserve: Option<u64>,
    /// Seconds after which an I/O that does not come back is told; 0 for never.
    #[serde(deserialize_with = "patience", skip_serializing_if = "Option::is_none")]
    pub stuck_after: Option<u64>,
    /// A small file and short tests.
    pub quick: bool,
    /// The I/O engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// Past the page cache (true), through it (false).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direct: Option<bool>,
    /// How often everything is measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u32>,
    /// In random order.
    pub shuffle: bool,
    /// The seed of that order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The whole target is written twice first.
    pub precondition: bool,
    /// Each user has a file of its own.
    pub file_per_user: bool,
    /// The work file stays.
    pub keep: bool,
    /// A check that speaks makes the survey's status a failure.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// Identities of devices that may be overwritten.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overwrite: Vec<String>,
    /// The file of the result.
    #[serde(serialize_with = "shown", skip_serializing_if = "Option::is_none")]
    pub output: Option<PathBuf>,
    /// The directory of the result.
    #[serde(serialize_with = "shown", skip_serializing_if = "Option::is_none")]
    pub output_dir: Option<PathBuf>,
}

/// Paths as they are shown: one that is no UTF-8 must not cost the result that it stands in.
fn shown_all<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| path.to_string_lossy()))
}

#[expect(clippy::ref_option, reason = "serde's signature")]
fn shown<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path.to_string_lossy()).serialize(serializer)
}

impl Wishes {
    /// Reads a survey file.
    ///
    /// # Errors
    /// What is wrong with it, with line and column.
    pub fn from_toml(text: &str) -> Result<Wishes, String> {
        toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())
    }

    /// These wishes, where they are silent those of `file`.
    pub fn or(self, file: Wishes) -> Wishes {
        fn list<T>(ours: Vec<T>, theirs: Vec<T>) -> Vec<T> {
            if ours.is_empty() { theirs } else { ours }
        }
        let vary = {
            let mut axes = file.vary;
            axes.retain(|axis| !self.vary.iter().any(|ours| ours.name == axis.name));
            axes.extend(self.vary);
            axes
        };
        Wishes {
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
            precondition: self.precondition || file.precondition,
            file_per_user: self.file_per_user || file.file_per_user,
            keep: self.keep || file.keep,
            strict: self.strict || file.strict,
            overwrite: list(self.overwrite, file.overwrite),
            output: self.output.or(file.output),
            output_dir: self.output_dir.or(file.output_dir),
        }
    }

    /// The tests that a list of words names: `randread,write`, or `all`.
    ///
    /// # Errors
    /// Which word is no test, and which are.
    pub fn tests_named(text: &str) -> Result<Vec<Kind>, String> {
        let mut found = Vec::new();
        for word in text.split(',').map(str::trim) {
            let kinds = match (word, Kind::named(word)) {
                ("all", _) => Kind::ALL.to_vec(),
                (_, Some(kind)) => vec![kind],
                _ => return Err(format!("`{word}` is no test; there are randread, read, write, randrw and all")),
            };
            for kind in kinds {
                if !found.contains(&kind) {
                    found.push(kind);
                }
            }
        }
        Ok(found)
    }

    /// Adds an axis; values of one that is there already are added to it.
    pub fn add_axis(&mut self, axis: Axis) {
        match self.vary.iter_mut().find(|known| known.name == axis.name) {
            Some(known) => {
                for value in axis.values {
                    if !known.values.contains(&value) {
                        known.values.push(value);
                    }
                }
            }
            None => self.vary.push(axis),
        }
    }
}

/// A word, a number or a list of them, as one text with commas.
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
        while let Some(Worded(word)) = list.next_element()? {
            words.push(word);
        }
        Ok(words.join(","))
    }
}

/// A value as its text.
pub(crate) struct Worded(pub(crate) String);

impl<'de> Deserialize<'de> for Worded {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Text).map(Worded)
    }
}

fn read<'de, D: Deserializer<'de>, T>(from: D, parse: fn(&str) -> Result<T, String>) -> Result<T, D::Error> {
    let Worded(text) = Worded::deserialize(from)?;
    parse(&text).map_err(D::Error::custom)
}

fn users<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u32>, D::Error> {
    read(from, word::user_counts)
}

fn blocks<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u32>, D::Error> {
    read(from, word::block_sizes)
}

fn seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    read(from, word::seconds).map(Some)
}

fn size<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    read(from, word::size).map(Some)
}

fn room<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    read(from, word::room).map(Some)
}

fn patience<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    read(from, word::patience).map(Some)
}

mod warming {
    //! A warm-up: seconds, or `steady`.

    use super::{Deserializer, Serializer, WarmUp, read, word};

    pub(super) fn serialize<S: Serializer>(value: &Option<WarmUp>, to: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(WarmUp::Seconds(seconds)) => to.serialize_u64(*seconds),
            Some(WarmUp::Steady) => to.serialize_str("steady"),
            None => to.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<WarmUp>, D::Error> {
        read(from, word::warm_up).map(Some)
    }
}

mod kinds {
    //! Tests by their words.

    use super::{Deserializer, Kind, Serializer, Wishes, read};

    pub(super) fn serialize<S: Serializer>(kinds: &[Kind], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(kinds.iter().map(|kind| kind.word()))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Kind>, D::Error> {
        // An empty list is what a survey of the usual tests has saved.
        let named = |text: &str| if text.is_empty() { Ok(Vec::new()) } else { Wishes::tests_named(text) };
        read(from, named)
    }
}

mod axes {
    //! Axes as a table: the option's name, then its values.

    use super::{Axis, Deserializer, Error, MapAccess, SerializeMap, Serializer, Visitor, Wishes, Worded, fmt};

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
            let mut wishes = Wishes::default();
            while let Some((name, Worded(values))) = map.next_entry::<String, Worded>()? {
                wishes.add_axis(Axis::new(&name, &values).map_err(A::Error::custom)?);
            }
            Ok(wishes.vary)
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Axis>, D::Error> {
        from.deserialize_map(Table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let wishes = Wishes::from_toml(FILE).unwrap();
        assert_eq!(wishes.targets, [PathBuf::from("/data")]);
        assert_eq!(wishes.tests, [Kind::RandomRead, Kind::LogWrite]);
        assert_eq!(wishes.users, [1, 2, 4, 8, 16]);
        assert_eq!(wishes.block_sizes, [8192, 65536]);
        assert_eq!((wishes.time, wishes.warm_up, wishes.size), (Some(120), Some(WarmUp::Steady), Some(4 << 30)));
        assert_eq!((wishes.direct, wishes.repeat, wishes.shuffle), (Some(true), Some(3), true));
        let axes: Vec<_> = wishes.vary.iter().map(|axis| (axis.name.as_str(), axis.values.len())).collect();
        assert_eq!(axes, [("iodepth", 2), ("random_distribution", 2)]);
    }

    #[test]
    fn a_mistake_in_a_file_is_told_with_its_line() {
        for (text, line, says) in [
            ("time = 5\nsise = \"4G\"\n", "line 2", "unknown field `sise`"),
            ("size = \"4q\"\n", "line 1", "write it like 512M"),
            ("\n\nusers = [1, 0]\n", "line 3", "number of users"),
            ("[vary]\nfilename = \"/dev/sda\"\n", "line", "cannot be swept"),
            ("tests = [\"sequential\"]\n", "line 1", "there are randread"),
            ("time = \n", "line 1", ""),
            ("direct = 3\n", "line 1", "boolean"),
        ] {
            let told = Wishes::from_toml(text).unwrap_err();
            assert!(told.contains(line) && told.contains(says), "{text}\n{told}");
        }
    }

    #[test]
    fn what_is_saved_is_read_back() {
        let wishes = Wishes::from_toml(FILE).unwrap();
        let saved = serde_json::to_string(&wishes).unwrap();
        assert_eq!(serde_json::from_str::<Wishes>(&saved).unwrap(), wishes, "{saved}");
        let none = serde_json::to_string(&Wishes::default()).unwrap();
        assert_eq!(serde_json::from_str::<Wishes>(&none).unwrap(), Wishes::default(), "{none}");
    }

    #[test]
    fn the_command_line_wins_over_the_file() {
        let file = Wishes::from_toml(FILE).unwrap();
        let mut line = Wishes { time: Some(5), users: vec![1], ..Wishes::default() };
        line.add_axis(Axis::parse("iodepth=8").unwrap());
        let both = line.or(file);
        assert_eq!((both.time, both.size, both.users.as_slice()), (Some(5), Some(4 << 30), &[1][..]));
        assert_eq!(both.vary.iter().find(|axis| axis.name == "iodepth").unwrap().values, ["8"]);
    }
}
