//! The command line options of fio.sh, for compatibility.

use crate::error::SurveyError;
use crate::kind::TestKind;
use crate::parse_values;
use crate::preconditioning::Precondition;
use crate::request::SurveyRequest;
use measure::push_new;
use plan::{Placing, WrittenOption, WrittenValue};
use std::fmt::Write;
use std::path::PathBuf;

/// A parsed command line of fio.sh.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FioShOptions {
    /// The survey.
    pub request: SurveyRequest,
    /// The usage was requested; nothing is run.
    pub help: bool,
    /// Skip confirmation prompts.
    pub force: bool,
    /// Recreate the data of an existing work file.
    pub recreate: bool,
    /// Remarks on options that are accepted but have no effect, with the reason.
    pub remarks: Vec<String>,
}

/// Defaults of fio.sh.
const SECONDS: u64 = 60;
const MEGABYTES: u64 = 65_536;
const PER_USER_MEGABYTES: u64 = 100;
const MIB: u64 = 1 << 20;

/// An option: its letter, the placeholder of its value (empty without one), and its help.
type Letter = (char, &'static str, &'static str);

/// All options. The parser, the usage and the man page are made of these rows.
const LETTERS: &[Letter] = &[
    ('h', "", "show this message"),
    ('w', "directory", "where the work file is made; it must exist (default ./workdir)"),
    ('o', "directory", "where job files, outputs and the result go; made if needed (default .)"),
    ('t', "tests", "readrand, read, write, randrw or all (default: readrand, write and read)"),
    ('s', "seconds", "measuring time of each run (default 60)"),
    ('m', "megabytes", "size of the work file, or of what is used of all devices (default 65536; devices: all)"),
    ('i', "", "a file for each user, of 100 MB or of -m"),
    ('f', "", "ask no questions"),
    ('c', "", "write the work file again, even if it exists"),
    ('u', "users", "only this number of users"),
    ('l', "kilobytes", "only this block size"),
    ('x', "", "remove the work file after the runs"),
    ('r', "devices", "raw devices instead of a file, separated by colons; they are only read, unless"),
    OVERWRITE,
    ('y', "", "write the devices twice before the runs"),
    ('z', "sizes", "sizes of the devices; they are asked themselves, only the count is compared"),
    ('b', "program", "accepted, with a remark: no other fio is needed"),
    ('d', "", "accepted, with a remark: DTrace is not needed"),
    ('e', "size", "accepted, with a remark: no file system is made, so there is no record size"),
];

/// The one option with a name, which the caller of [`FioShOptions::parse`] reads.
const OVERWRITE: Letter = ('-', "IDENTITY", "repeats a device's serial number, WWID or UUID; once per device");

/// How an option is written, without its value.
fn spelling(letter: char) -> String {
    if letter == OVERWRITE.0 { "--overwrite".to_owned() } else { format!("-{letter}") }
}

/// The text of `-h`.
pub fn fio_sh_usage() -> String {
    let mut text = String::from(
        "usage: plumb fio.sh [options]\nrun fio.sh's set of I/O benchmarks; what is done differently, and why: docs/survey.md\nOPTIONS:\n",
    );
    for &(letter, value, help) in LETTERS {
        let between = match (letter == OVERWRITE.0, value.is_empty()) {
            (true, _) => "=",
            (false, true) => "",
            (false, false) => " ",
        };
        let _ = writeln!(text, "  {:<14} {help}", format!("{}{between}{value}", spelling(letter)));
    }
    text
}

/// All options for man pages and completions.
pub fn fio_sh_written_options() -> Vec<WrittenOption> {
    let written = |&(letter, value, help): &Letter| {
        let placing = match (letter == OVERWRITE.0, value.is_empty()) {
            (true, _) => Placing::OnlyJoined,
            (false, true) => Placing::Nowhere,
            (false, false) => Placing::Next,
        };
        let tests = ["readrand", "read", "write", "randrw", "all"].map(|test| (test, ""));
        let words = tests.into_iter().filter(|_| letter == 't');
        WrittenOption::new("Options", spelling(letter), WrittenValue::new(placing, value).of_words(words), help)
    };
    LETTERS.iter().map(written).collect()
}

impl FioShOptions {
    /// Parses the arguments of a fio.sh command line, without the program's name.
    ///
    /// # Errors
    /// The first option that is unknown or has an invalid value; the message has a valid example.
    pub fn parse(words: &[String]) -> Result<FioShOptions, SurveyError> {
        let mut found = Raw::default();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let Some(cluster) = word.strip_prefix('-').filter(|cluster| !cluster.is_empty()) else {
                return Err(SurveyError(format!(
                    "`{word}` is not an option of fio.sh; its letters begin with - (see fio.sh -h)"
                )));
            };
            if cluster == "-help" {
                found.set('h', String::new());
                continue;
            }
            for (at, letter) in cluster.char_indices() {
                let row = LETTERS.iter().find(|(known, ..)| *known == letter && letter != OVERWRITE.0);
                let Some((_, placeholder, _)) = row else {
                    return Err(SurveyError(format!("fio.sh has no letter -{letter} (see fio.sh -h)")));
                };
                if placeholder.is_empty() {
                    found.set(letter, String::new());
                    continue;
                }
                let joined = &cluster[at + letter.len_utf8()..];
                let value = match joined {
                    "" => rest
                        .next()
                        .cloned()
                        .ok_or_else(|| SurveyError(format!("-{letter} needs a value (see fio.sh -h)")))?,
                    joined => joined.to_owned(),
                };
                found.set(letter, value);
                break;
            }
        }
        found.settle()
    }
}

/// Options in the order given; if one is repeated, the last counts.
#[derive(Default)]
struct Raw(Vec<(char, String)>);

impl Raw {
    fn set(&mut self, letter: char, value: String) {
        self.0.push((letter, value));
    }

    fn get(&self, letter: char) -> Option<&str> {
        self.0.iter().rev().find(|(known, _)| *known == letter).map(|(_, value)| value.as_str())
    }

    fn has(&self, letter: char) -> bool {
        self.get(letter).is_some()
    }

    fn number(&self, letter: char, most: u64) -> Result<Option<u64>, SurveyError> {
        let Some(text) = self.get(letter) else { return Ok(None) };
        let number = text.parse::<u64>().ok().filter(|number| (1..=most).contains(number));
        number.map(Some).ok_or_else(|| SurveyError(format!("-{letter} {text}: is not a whole number from 1 to {most}")))
    }

    fn settle(&self) -> Result<FioShOptions, SurveyError> {
        let raw = self.get('r').map(devices).unwrap_or_default();
        let megabytes = self.number('m', 1 << 40)?;
        let mut request = SurveyRequest {
            fio_sh: true,
            tests: self.get('t').map_or_else(|| Ok(ALL.to_vec()), tests)?,
            time: Some(self.number('s', 86_400)?.unwrap_or(SECONDS)),
            users: self.get('u').map(parse_values::user_counts).transpose()?.unwrap_or_default(),
            block_sizes: self.kilobytes()?,
            file_per_user: self.has('i'),
            keep: !self.has('x'),
            precondition: if self.has('y') { Precondition::Twice } else { Precondition::Off },
            output_dir: Some(PathBuf::from(self.get('o').unwrap_or("."))),
            ..SurveyRequest::default()
        };
        // Raw devices are used whole unless -m limits them; fio.sh uses 64 GiB whatever the size of the device.
        if raw.is_empty() || megabytes.is_some() {
            request.size = Some(self.bytes(megabytes, raw.len(), &request)?);
        }
        request.targets = if raw.is_empty() { vec![PathBuf::from(self.get('w').unwrap_or("./workdir"))] } else { raw };
        self.check_raw(&request)?;
        Ok(FioShOptions {
            help: self.has('h'),
            force: self.has('f'),
            recreate: self.has('c'),
            remarks: self.remarks(),
            request,
        })
    }

    fn kilobytes(&self) -> Result<Vec<u32>, SurveyError> {
        let Some(kilobytes) = self.number('l', 1024)? else { return Ok(Vec::new()) };
        parse_values::block_sizes(&format!("{kilobytes}k"))
    }

    /// Size of the work file or of each device; with -i, of each file.
    fn bytes(&self, megabytes: Option<u64>, devices: usize, request: &SurveyRequest) -> Result<u64, SurveyError> {
        let whole = match (megabytes, request.file_per_user) {
            (Some(megabytes), _) => megabytes,
            (None, true) => PER_USER_MEGABYTES,
            (None, false) => MEGABYTES,
        };
        // Divided among the devices, as in fio.sh.
        let each = whole.checked_mul(MIB).map(|bytes| bytes / devices.max(1) as u64 / MIB * MIB);
        let each = each.ok_or_else(|| SurveyError(format!("-m {whole}: is more than 64 bits can hold")))?;
        parse_values::size(&each.to_string())
    }

    fn check_raw(&self, request: &SurveyRequest) -> Result<(), SurveyError> {
        if !self.has('r') {
            if let Some(letter) = ['y', 'z'].into_iter().find(|letter| self.has(*letter)) {
                return Err(SurveyError(format!("-{letter} is for raw devices; name them with -r")));
            }
            return Ok(());
        }
        if self.has('i') {
            return Err(SurveyError("-i makes files, and -r measures devices; give one of them".to_owned()));
        }
        let Some(sizes) = self.get('z') else { return Ok(()) };
        let count = sizes.split(':').count();
        if count != request.targets.len() {
            return Err(SurveyError(format!("-z names {count} sizes and -r {} devices", request.targets.len())));
        }
        Ok(())
    }

    fn remarks(&self) -> Vec<String> {
        let remark = |letter: char, why: &str| {
            self.get(letter).map(|value| format!("-{letter} {value}").trim_end().to_owned() + why)
        };
        [
            remark('b', ": no other fio is needed; plumb does the I/O itself"),
            remark('d', ": DTrace is not needed; latencies and the devices' counters are in the result"),
            remark('e', ": no file system is made; the record size is that of the one that is there"),
            remark('z', ": the devices are asked for their sizes"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// The tests that `all` selects in fio.sh, in its order.
const ALL: [TestKind; 3] = [TestKind::RandomRead, TestKind::LogWrite, TestKind::SequentialRead];

fn tests(text: &str) -> Result<Vec<TestKind>, SurveyError> {
    let mut found = Vec::new();
    for word in text.split([' ', ',']).filter(|word| !word.is_empty()) {
        let kinds = match word {
            "all" => ALL.to_vec(),
            "readrand" | "randread" => vec![TestKind::RandomRead],
            "read" => vec![TestKind::SequentialRead],
            "write" => vec![TestKind::LogWrite],
            "randrw" => vec![TestKind::Mixed],
            _ => {
                return Err(SurveyError(format!(
                    "-t {word}: is not a test; there are readrand, read, write, randrw and all"
                )));
            }
        };
        kinds.into_iter().for_each(|kind| push_new(&mut found, kind));
    }
    if found.is_empty() { Err(SurveyError("-t names no test".to_owned())) } else { Ok(found) }
}

fn devices(text: &str) -> Vec<PathBuf> {
    text.split(':').filter(|name| !name.is_empty()).map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::{Writes, suite};

    fn parsed(line: &str) -> Result<FioShOptions, SurveyError> {
        FioShOptions::parse(&line.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn without_letters_it_is_what_fio_sh_does() {
        let found = parsed("").unwrap().request;
        assert_eq!(found.targets, [PathBuf::from("./workdir")]);
        assert_eq!((found.time, found.size, found.keep), (Some(60), Some(64 << 30), true));
        assert_eq!(suite(&found, Writes::Allowed).unwrap().tests.len(), 22);
    }

    #[test]
    fn the_example_in_its_usage_works() {
        let found = parsed("-w /domain0/fiotest -t randread -s 10 -m 1000 -f").unwrap();
        assert!(found.force);
        assert_eq!(found.request.tests, [TestKind::RandomRead]);
        assert_eq!((found.request.time, found.request.size), (Some(10), Some(1000 << 20)));
    }

    #[test]
    fn a_user_count_alone_and_a_block_size_alone_work() {
        let users = suite(&parsed("-u 3").unwrap().request, Writes::Allowed).unwrap().tests;
        assert!(users.iter().all(|test| test.users == 3 && test.block >= 1024));
        let blocks = suite(&parsed("-l 16").unwrap().request, Writes::Allowed).unwrap().tests;
        assert!(blocks.iter().all(|test| test.block == 16 << 10));
        assert_eq!(blocks.len(), 5 + 3 + 5);
    }

    #[test]
    fn d_swallows_nothing_and_letters_may_stand_together() {
        let found = parsed("-d -s 1 -o out -fx").unwrap();
        assert_eq!((found.request.time, found.force, found.request.keep), (Some(1), true, false));
        assert_eq!(found.request.output_dir, Some("out".into()));
        assert_eq!(found.remarks.len(), 1, "{:?}", found.remarks);
        assert_eq!(parsed("-s5").unwrap().request.time, Some(5));
    }

    #[test]
    fn every_device_counts() {
        let found = parsed("-r /dev/a:/dev/b:/dev/c -m 3000").unwrap().request;
        assert_eq!((found.targets.len(), found.size), (3, Some(1000 << 20)));
    }

    #[test]
    fn two_tests_are_two_tests() {
        let words = ["-t", "read readrand"].map(str::to_owned);
        assert_eq!(
            FioShOptions::parse(&words).unwrap().request.tests,
            [TestKind::SequentialRead, TestKind::RandomRead]
        );
    }

    #[test]
    fn what_makes_no_sense_is_reported() {
        for (line, says) in [
            ("-q", "no letter -q"),
            ("-s", "-s needs a value"),
            ("-s 0", "from 1 to"),
            ("-t sequential", "there are readrand"),
            ("-y", "name them with -r"),
            ("-r /dev/a -z 1:2", "2 sizes"),
            ("-r /dev/a -i", "one of them"),
            ("-m 1", "too small"),
            ("out", "begin with -"),
        ] {
            let printed = parsed(line).unwrap_err().to_string();
            assert!(printed.contains(says), "{line}\n{printed}");
        }
    }
}
