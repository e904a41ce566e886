//! Profiles: the I/O of a program as job files of fio, and the limits that its makers publish.
//!
//! A profile is TOML, built in or a user's file; a test has a job file without directory, and rules with sources.

use crate::error::SurveyError;
use crate::work_file;
use analysis::question::{Number, Part, Rule};
use measure::Nanos;
use measure::text::{TimeUnit, duration};
use serde::Deserialize;
use std::path::Path;

/// A profile.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The question that it answers.
    pub question: String,
    /// Its I/O in a few words.
    pub load: String,
    /// Parts of the question that it leaves open.
    pub not_asked: String,
    /// Space for its files, like `4g`.
    space: String,
    /// Unit that limits on rates are for, like `vCPU`; none if they are absolute.
    #[serde(default)]
    pub unit: Option<String>,
    /// Of a profile that asks for the number of units: the largest one tried. Its jobs have `units` in braces.
    #[serde(default)]
    pub most: Option<u32>,
    /// Its tests, in order.
    #[serde(rename = "test")]
    pub tests: Vec<ProfileTest>,
}

/// A test of a profile.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileTest {
    /// Its name.
    pub name: String,
    /// Sections of a job file of fio.
    pub jobs: String,
    /// Its numbers in the words of those who ask, like `1 user gets {write iops} commits per second`.
    #[serde(default)]
    pub sentence: Option<String>,
    /// Its limits; none if nothing is published.
    #[serde(default, rename = "rule")]
    pub rules: Vec<ProfileRule>,
}

/// A number in the sentence of a test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SentenceNumber {
    /// The number that is shown is this many times the measured one.
    pub factor: f64,
    /// I/Os of which it is a number.
    pub part: Part,
    /// The measured number.
    pub number: Number,
}

impl SentenceNumber {
    fn read(text: &str) -> Result<Self, SurveyError> {
        let (factor, name) = match text.split_once('*') {
            Some((factor, name)) => (factor_of(factor), name),
            None => (Some(1.0), text),
        };
        let wrong = || SurveyError(format!("{text}: a multiple of a number is like {{8 * write iops}}"));
        let (part, number) = number_of(name.trim())?;
        Ok(SentenceNumber { factor: factor.ok_or_else(wrong)?, part, number })
    }
}

/// A limit with its source.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileRule {
    /// The number that it limits: `sync p99`, `read iops`, `write mean`.
    pub number: String,
    /// The time that the number must stay below, like `10ms`.
    #[serde(default)]
    pub below: Option<String>,
    /// The least that is enough: I/Os per second, or bytes per second like `250MB/s`.
    #[serde(default)]
    pub at_least: Option<String>,
    /// Advice only: the answer does not depend on it.
    #[serde(default)]
    pub advice: bool,
    /// Its public source.
    pub source: String,
    /// Month in which the source was read, like `2026-09`.
    pub date: String,
}

macro_rules! profiles {
    ($($name:literal),+ $(,)?) => { &[$(($name, include_str!(concat!("../profiles/", $name, ".toml")))),+] };
}

/// The profiles of the program: name and text.
pub const PROFILES: &[(&str, &str)] = profiles![
    "ceph-osd",
    "cockroachdb",
    "etcd",
    "etcd-openshift",
    "ethereum",
    "gitaly",
    "k8s-pvc",
    "kafka",
    "nvr",
    "oracle-redo",
    "oracle-slob",
    "postgres-wal",
    "proxmox",
    "redpanda",
    "rocksdb",
    "sap-hana",
    "splunk",
    "tikv",
    "vdi",
    "video-edit",
    "vm-boot-storm",
    "zeebe",
    "zfs-slog",
];

/// The names of profiles that are like a word: those whose I/O is nearest to that of a program by this name, those with
/// a part that begins like it, else the closest one.
pub fn profiles_like(word: &str) -> Vec<&'static str> {
    const LEAST: usize = 3;
    let word = word.to_lowercase();
    let is_like =
        |part: &str| part.len() >= LEAST && word.len() >= LEAST && (part.starts_with(&word) || word.starts_with(part));
    if let Some((_, like)) = ALIKE.iter().find(|(others, _)| others.contains(&word.as_str())) {
        return like.to_vec();
    }
    let names = PROFILES.iter().map(|(name, _)| *name);
    let like: Vec<&str> = names.clone().filter(|name| name.split('-').any(is_like)).collect();
    if like.is_empty() { fio::closest(&word, names).into_iter().collect() } else { like }
}

/// Programs without a profile, and things by another name, with the profiles whose I/O is nearest to theirs: a commit of
/// MySQL waits for its redo log as one of PostgreSQL does for its WAL; TiDB keeps its data in TiKV, GitLab in Gitaly.
const ALIKE: [(&[&str], &[&str]); 8] = [
    (&["mysql", "mariadb", "innodb", "percona"], &["postgres-wal"]),
    (&["kubernetes", "rke2"], &["etcd", "k8s-pvc"]),
    (&["tidb", "pingcap"], &["tikv"]),
    (&["gitlab"], &["gitaly"]),
    (&["camunda"], &["zeebe"]),
    (&["geth"], &["ethereum"]),
    (&["camera", "cameras", "surveillance"], &["nvr"]),
    (&["desktop", "desktops", "citrix"], &["vdi", "vm-boot-storm"]),
];

/// Options that are not of a profile: the command sets them.
const SET: [&str; 6] = ["directory", "filename", "runtime", "time_based", "ramp_time", "name"];

impl Profile {
    /// Reads an option of fio that is added to each job.
    ///
    /// # Errors
    /// It has no value, or the command sets it.
    pub fn added_option(text: &str) -> Result<(String, String), SurveyError> {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| SurveyError(format!("{text} is not an option of fio; write it like ioengine=io_uring")))?;
        if SET.contains(&name) {
            return Err(SurveyError(format!("{name} is set by plumb ask itself")));
        }
        Ok((name.to_owned(), value.to_owned()))
    }

    /// Reads a profile.
    ///
    /// # Errors
    /// It is not valid TOML (the message has line and column), has no test, or a rule that cannot be read.
    pub fn from_toml(text: &str) -> Result<Self, SurveyError> {
        let found: Profile =
            toml::from_str(text).map_err(|error| SurveyError(error.to_string().trim_end().to_owned()))?;
        if found.tests.is_empty() {
            return Err(SurveyError("there is no [[test]]".to_owned()));
        }
        found.bytes()?;
        for test in &found.tests {
            test.numbers()?;
        }
        for rule in found.tests.iter().flat_map(|test| &test.rules) {
            let limit = rule.rule(1)?;
            if found.most.is_some() && !limit.is_time() {
                return Err(SurveyError(format!("{}: with `most`, limits are on latencies", rule.number)));
            }
            if rule.source.trim().is_empty() || rule.date.trim().is_empty() {
                return Err(SurveyError(format!("{}: a rule needs its source and date", rule.number)));
            }
        }
        found.check_units()?;
        Ok(found)
    }

    /// The number of units is in the jobs of a profile that asks for it, and in no other one.
    fn check_units(&self) -> Result<(), SurveyError> {
        let mut names_units = false;
        for test in &self.tests {
            names_units |= test.jobs_for(1)? != test.jobs;
        }
        let has_limit = self.tests.iter().flat_map(|test| &test.rules).any(|rule| !rule.advice);
        let wrong = match self.most {
            Some(0) => "most = 0: write the largest number of units that is tried",
            Some(_) if self.unit.is_none() => "with `most`, there is a `unit`, such as \"camera\"",
            Some(_) if !names_units => "with `most`, the jobs name the number of units, like rate_iops={2.5 * units}",
            Some(_) if !has_limit => "with `most`, there is a rule that is not advice",
            None if names_units => "jobs with {units} need `most`, the largest number that is tried",
            _ => return Ok(()),
        };
        Err(SurveyError(wrong.to_owned()))
    }

    /// Space for its files.
    ///
    /// # Errors
    /// It is not a size.
    pub fn bytes(&self) -> Result<u64, SurveyError> {
        crate::parse_values::size(&self.space)
    }

    /// Refuses a directory whose file system has not the space for its files and a reserve of a twentieth.
    ///
    /// # Errors
    /// There is less, or it cannot be asked.
    pub fn check_room(&self, directory: &Path) -> Result<(), SurveyError> {
        let (wanted, room) = (self.bytes()?, work_file::room(directory)?);
        if wanted.saturating_add(room.total / 20) <= room.free {
            return Ok(());
        }
        let [wanted, free] = [wanted, room.free].map(crate::short_size);
        Err(SurveyError::at(
            directory,
            format!("its files take {wanted}, and of {free} free a reserve of 5 % of the disk stays untouched"),
        ))
    }
}

impl ProfileTest {
    /// The sections for this many units: `{units}` is their number, `{2.5 * units}` 2.5 times it, at least 1.
    ///
    /// # Errors
    /// Something else is in braces.
    pub fn jobs_for(&self, units: u32) -> Result<String, SurveyError> {
        let wrong = |inside: &str| {
            SurveyError(format!("{}: {{{inside}: write a number of units like {{units}} or {{2.5 * units}}", self.name))
        };
        in_braces(&self.jobs, |inside| times_units(inside, units).ok_or_else(|| wrong(inside)))
    }

    /// The numbers of its sentence, in order: `{write iops}`, or a multiple like `{8 * write iops}`.
    ///
    /// # Errors
    /// Something else is in braces.
    pub fn numbers(&self) -> Result<Vec<SentenceNumber>, SurveyError> {
        let mut numbers = Vec::new();
        let mut keep = |inside: &str| {
            numbers.push(SentenceNumber::read(inside)?);
            Ok(String::new())
        };
        in_braces(self.sentence.as_deref().unwrap_or_default(), &mut keep)
            .map_err(|error| SurveyError(format!("sentence of {}: {error}", self.name)))?;
        Ok(numbers)
    }

    /// Its sentence with these texts for its numbers; `None` without one.
    pub fn filled_sentence(&self, numbers: impl IntoIterator<Item = String>) -> Option<String> {
        let mut numbers = numbers.into_iter();
        in_braces(self.sentence.as_deref()?, |_| Ok(numbers.next().unwrap_or_default())).ok()
    }
}

/// A text with something else in place of each pair of braces.
fn in_braces(text: &str, mut other: impl FnMut(&str) -> Result<String, SurveyError>) -> Result<String, SurveyError> {
    let (mut all, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('{') {
        let Some((inside, after)) = after.split_once('}') else {
            let line = after.lines().next().unwrap_or_default();
            return Err(SurveyError(format!("{{{line}: the brace is not closed")));
        };
        all.push_str(before);
        all.push_str(&other(inside)?);
        rest = after;
    }
    Ok(all + rest)
}

/// The number of a text like `sync p99`, `read iops` or `write mean`.
fn number_of(text: &str) -> Result<(Part, Number), SurveyError> {
    let wrong = |what: &str| SurveyError(format!("{text}: {what}"));
    let (part, number) =
        text.split_once(' ').ok_or_else(|| wrong("write a number like `sync p99`, `read iops` or `write mean`"))?;
    let part = match part {
        "read" => Part::Read,
        "write" => Part::Write,
        "all" => Part::All,
        "sync" => Part::Sync,
        _ => return Err(wrong("a number is of read, write, all or sync")),
    };
    let number = match (number, number.strip_prefix('p').and_then(|digits| digits.parse::<f64>().ok())) {
        ("iops", _) => Number::Iops,
        ("bandwidth", _) if part != Part::Sync => Number::Bandwidth,
        ("mean", _) => Number::Mean,
        _ if part == Part::All => return Err(wrong("of all I/Os together a number is iops, bandwidth or mean")),
        (_, Some(percent)) if (50.0..=99.99).contains(&percent) => Number::Percentile(percent),
        _ => return Err(wrong("a number is mean, iops, bandwidth, or a percentile from p50 to p99.99")),
    };
    Ok((part, number))
}

/// The number that a text in braces stands for.
fn times_units(text: &str, units: u32) -> Option<String> {
    let factor = match text.trim().strip_suffix("units")?.trim_end() {
        "" => 1.0,
        factor => factor_of(factor.strip_suffix('*')?)?,
    };
    Some(format!("{:.0}", (factor * f64::from(units)).max(1.0)))
}

fn factor_of(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|factor| (1e-6..=1e6).contains(factor))
}

impl ProfileRule {
    /// The limit, for this many units.
    ///
    /// # Errors
    /// The number or the limit cannot be read.
    pub fn rule(&self, units: u32) -> Result<Rule, SurveyError> {
        let wrong = |what: &str| SurveyError(format!("{}: {what}", self.number));
        let (part, number) = number_of(&self.number)?;
        let limit = match (number, self.below.as_deref(), self.at_least.as_deref()) {
            (Number::Percentile(_) | Number::Mean, Some(below), None) => time(below),
            (Number::Iops, None, Some(least)) => scaled(least, 1.0, units),
            (Number::Bandwidth, None, Some(least)) => {
                least.strip_suffix("MB/s").and_then(|number| scaled(number, 1e6, units))
            }
            _ => return Err(wrong("a latency has `below`, a rate `at_least`")),
        };
        let limit =
            limit.ok_or_else(|| wrong("write a limit like below = \"10ms\", at_least = \"500\" or \"250MB/s\""))?;
        Ok(Rule { part, number, limit })
    }
}

fn scaled(number: &str, factor: f64, units: u32) -> Option<f64> {
    let number: f64 = number.trim().parse().ok()?;
    (number > 0.0 && number.is_finite()).then_some(number * factor * f64::from(units))
}

/// A time with its unit, in nanoseconds.
fn time(text: &str) -> Option<f64> {
    let found = duration(text, TimeUnit::Seconds).ok()?;
    (text.ends_with(char::is_alphabetic) && found > Nanos::ZERO).then(|| found.as_f64())
}

#[cfg(test)]
#[path = "profile_tests.rs"]
mod disks;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_a_profile_has_one_whose_io_is_near() {
        assert_eq!(profiles_like("MySQL"), ["postgres-wal"]);
        assert_eq!(profiles_like("tidb"), ["tikv"]);
        assert_eq!(profiles_like("oracle"), ["oracle-redo", "oracle-slob"]);
        assert_eq!(profiles_like("nothing"), [""; 0]);
        for (others, like) in ALIKE {
            let known = |word: &str| PROFILES.iter().any(|(name, _)| *name == word);
            assert!(like.iter().all(|name| known(name)) && !others.iter().any(|name| known(name)), "{others:?}");
        }
    }

    #[test]
    fn every_profile_can_be_read_and_ten_judge() {
        let all: Vec<Profile> = PROFILES.iter().map(|(_, text)| Profile::from_toml(text).unwrap()).collect();
        let judging = all.iter().filter(|profile| profile.tests.iter().any(|test| !test.rules.is_empty())).count();
        assert!(all.len() >= 18 && judging >= 10, "{} profiles, {judging} with rules", all.len());
        for ((name, _), profile) in PROFILES.iter().zip(&all) {
            assert!(profile.question.ends_with('?') && profile.not_asked.ends_with('.'), "{name}");
            for rule in profile.tests.iter().flat_map(|test| &test.rules) {
                let year = rule.date.split('-').next().and_then(|year| year.parse::<u32>().ok());
                assert!(year.is_some_and(|year| (2010..=2026).contains(&year)), "{name}: {}", rule.date);
            }
        }
    }

    #[test]
    fn the_number_of_units_is_in_the_jobs_of_a_profile_that_asks() {
        let test =
            |jobs: &str| ProfileTest { name: "x".to_owned(), jobs: jobs.to_owned(), sentence: None, rules: Vec::new() };
        for (jobs, units, expected) in [
            ("numjobs={units}\nbs=4k\n", 7, "numjobs=7\nbs=4k\n"),
            ("rate_iops={2.21 * units}\nrate={0.1*units}m\n", 10, "rate_iops=22\nrate=1m\n"),
            ("rate_iops={0.119 * units}\n", 1, "rate_iops=1\n"),
            ("bs=4k\n", 3, "bs=4k\n"),
        ] {
            assert_eq!(test(jobs).jobs_for(units).unwrap(), expected);
        }
        for jobs in ["a={units", "a={unit}", "a={x * units}", "a={-1 * units}", "a={inf * units}", "a={2 units}"] {
            assert!(test(jobs).jobs_for(1).is_err(), "{jobs}");
        }
        let (_, text) = PROFILES.iter().find(|(name, _)| *name == "vdi").unwrap();
        for (from, to) in [
            ("most = ", "# "),
            ("unit = ", "# "),
            ("most = ", "most = 0 # "),
            ("{8 * units}", "8"),
            ("below = \"10ms\"", "at_least = \"10\"\nadvice = false"),
            ("[[test.rule]]", "[[test.rule]]\nadvice = true"),
        ] {
            assert!(text.contains(from) && Profile::from_toml(&text.replace(from, to)).is_err(), "{from} as {to}");
        }
    }

    #[test]
    fn every_profile_without_a_limit_has_a_sentence_of_numbers() {
        let test = |sentence: &str| ProfileTest {
            name: "x".to_owned(),
            jobs: String::new(),
            sentence: Some(sentence.to_owned()),
            rules: Vec::new(),
        };
        let commits = test("1 user gets {write iops}, 8 users {8 * write iops}, p99 {sync p99}");
        let numbers = commits.numbers().unwrap();
        let syncs = SentenceNumber { factor: 1.0, part: Part::Sync, number: Number::Percentile(99.0) };
        assert_eq!((numbers.len(), numbers[1].factor, numbers[2]), (3, 8.0, syncs));
        let filled = commits.filled_sentence(["500", "4,000", "2 ms"].map(str::to_owned)).unwrap();
        assert_eq!(filled, "1 user gets 500, 8 users 4,000, p99 2 ms");
        for sentence in ["{write}", "{write iops", "{x * write iops}", "{all p99}", "{8 write iops}"] {
            assert!(test(sentence).numbers().is_err(), "{sentence}");
        }
        for (name, text) in PROFILES {
            let profile = Profile::from_toml(text).unwrap();
            let is_judged = profile.tests.iter().any(|test| !test.rules.is_empty());
            let has_number = |test: &ProfileTest| !test.numbers().unwrap().is_empty();
            assert!(is_judged || profile.tests.iter().all(has_number), "{name}");
            assert!(Profile::from_toml(&text.replace("iops}", "iopses}")).is_err() != is_judged, "{name}");
        }
    }

    #[test]
    fn rules_have_a_number_and_a_limit_of_its_kind() {
        let rule = |number: &str, below: Option<&str>, at_least: Option<&str>| ProfileRule {
            number: number.to_owned(),
            below: below.map(str::to_owned),
            at_least: at_least.map(str::to_owned),
            advice: false,
            source: "x".to_owned(),
            date: "2026".to_owned(),
        };
        let found = rule("sync p99.9", Some("10ms"), None).rule(1).unwrap();
        assert_eq!(found, Rule { part: Part::Sync, number: Number::Percentile(99.9), limit: 1e7 });
        let found = rule("read iops", None, Some("500")).rule(8).unwrap();
        assert_eq!(found, Rule { part: Part::Read, number: Number::Iops, limit: 4000.0 });
        let found = rule("all iops", None, Some("800")).rule(1).unwrap();
        assert_eq!((found.part, found.number), (Part::All, Number::Iops));
        let found = rule("write bandwidth", None, Some("250MB/s")).rule(1).unwrap();
        assert_eq!(found.limit, 2.5e8);
        assert_eq!(rule("write mean", Some("250us"), None).rule(9).unwrap().limit, 250_000.0);
        for (number, below, at_least) in [
            ("p99", Some("1ms"), None),
            ("trim iops", None, Some("1")),
            ("read p100", Some("1ms"), None),
            ("read iops", Some("1ms"), None),
            ("read iops", None, Some("-1")),
            ("read p99", Some("1"), None),
            ("sync bandwidth", None, Some("1MB/s")),
            ("read bandwidth", None, Some("1MiB/s")),
            ("all p99", Some("1ms"), None),
        ] {
            assert!(rule(number, below, at_least).rule(1).is_err(), "{number}");
        }
        let broken = Profile::from_toml("question = 1\n").unwrap_err().to_string();
        assert!(broken.contains("line 1"), "{broken}");
    }
}
