//! iozone's command line: getopt(3) parsing, and iozone's messages and exit statuses, in the order iozone checks them.
//!
//! Leaves the table of options to `settings`, and parsing of values to `values`.

use crate::modes::{Data, Mapping, Member, Mode, Test, Unit};
use crate::settings::{Children, Does, SettingOutcome, SettingRow, Settings, find};
use crate::values::{Refusal, number};
use fio::untrusted::leads_outside;
use std::path::{Path, PathBuf};
use sys::files::read_limited;

/// iozone's own message and status.
fn original<T>(status: u8, out: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::Original { status, out: out.into(), err: String::new() })
}

/// iozone's message for missing or invalid arguments.
const USAGE: &str = "\tUsage: For usage information type iozone -h \n\n";
/// iozone's message for an option without its value.
const NO_ARGUMENT: &str = "Unsupported option -> (null) <-\n";
/// Most children.
const MOST_CHILDREN: u32 = 1024;
/// Largest file with a list of machines or names, in bytes.
const LONGEST_LIST: u64 = 16 << 20;

/// Parses the arguments after the program's name.
///
/// # Errors
/// Everything that is not a run; see [`Refusal`].
pub fn read(program: &str, words: &[String]) -> Result<Settings, Refusal> {
    if words.is_empty() {
        return original(255, USAGE);
    }
    let mut reader = Reader {
        program,
        words,
        at: 0,
        strays: Vec::new(),
        kept: Vec::new(),
        settings: Settings::default(),
        given: Given::default(),
    };
    reader.read()?;
    if reader.given.untrusted {
        let from = FromFiles { members: reader.given.cluster, names: reader.given.names_from_file };
        check(&reader.settings, from)?;
    }
    reader.finish()
}

/// Option values that are combined after all arguments have been parsed.
#[derive(Debug, Default)]
pub(crate) struct Given {
    pub(crate) lower: Option<u32>,
    pub(crate) upper: Option<u32>,
    pub(crate) throughput: bool,
    pub(crate) with_copy: bool,
    pub(crate) without_copy: bool,
    pub(crate) each_record_flush: bool,
    pub(crate) names_from_file: bool,
    pub(crate) stride: bool,
    /// Bounds of the matrix (-n, -g, -y, -q).
    pub(crate) range: bool,
    pub(crate) cluster: bool,
    pub(crate) untrusted: bool,
}

/// Parser state: takes one argument after the other.
pub(crate) struct Reader<'a> {
    program: &'a str,
    words: &'a [String],
    at: usize,
    strays: Vec<String>,
    kept: Vec<String>,
    pub(crate) settings: Settings,
    pub(crate) given: Given,
}

impl Reader<'_> {
    fn read(&mut self) -> Result<(), Refusal> {
        while let Some(word) = self.words.get(self.at).cloned() {
            self.at += 1;
            if word == "--" {
                self.strays.extend(self.words[self.at..].iter().cloned());
                break;
            }
            if let Some(own) = word.strip_prefix("--") {
                self.own(own)?;
                continue;
            }
            if !word.starts_with('-') || word == "-" {
                self.strays.push(word);
                continue;
            }
            self.kept.push(word.clone());
            self.letters(&word[1..])?;
        }
        Ok(())
    }

    /// Parses plumb's own options, which getopt would reject.
    fn own(&mut self, word: &str) -> Result<(), Refusal> {
        let (name, glued) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value.to_owned())));
        match find(&format!("-{name}")) {
            Some(row) if row.value.is_empty() && glued.is_none() => self.take(row, ""),
            Some(row) if row.value.starts_with('[') => self.take(row, &glued.unwrap_or_default()),
            Some(row) if !row.value.is_empty() => {
                let Some(value) = glued.or_else(|| self.next_word()) else {
                    let kind = match row.value {
                        "SECONDS" => "a time",
                        "FILE" => "a file",
                        _ => "a value",
                    };
                    return Err(Refusal::NotBuilt(format!("--{name} wants {kind}: --{name}={}", row.value)));
                };
                self.take(row, &value)
            }
            _ => {
                let err = format!("{}: invalid option -- '-'\n", self.program);
                Err(Refusal::Original { status: 255, out: USAGE.to_owned(), err })
            }
        }
    }

    fn next_word(&mut self) -> Option<String> {
        let word = self.words.get(self.at).cloned();
        self.at += usize::from(word.is_some());
        word
    }

    /// Parses a word of option letters; an option with a value takes the rest of the word, or the next word.
    fn letters(&mut self, letters: &str) -> Result<(), Refusal> {
        for (index, letter) in letters.char_indices() {
            let row = match find(&letter.to_string()) {
                Some(row) if row.value.is_empty() => {
                    self.take(row, "")?;
                    continue;
                }
                None if letter != '+' => return self.complain("invalid option", letter, USAGE),
                row => row,
            };
            let rest = &letters[index + letter.len_utf8()..];
            let value = if rest.is_empty() {
                let Some(value) = self.next_word() else {
                    return self.complain("option requires an argument", letter, NO_ARGUMENT);
                };
                self.kept.push(value.clone());
                value
            } else {
                rest.to_owned()
            };
            return match row {
                Some(row) => self.take(row, &value),
                None => self.plus(&value),
            };
        }
        Ok(())
    }

    /// Prints getopt's message about an option letter, and iozone's.
    fn complain(&self, what: &str, letter: char, out: &str) -> Result<(), Refusal> {
        let err = format!("{}: {what} -- '{letter}'\n", self.program);
        Err(Refusal::Original { status: 255, out: out.to_owned(), err })
    }

    /// Parses an option after `-+`, of which iozone reads a single letter; its value is the next word.
    fn plus(&mut self, letters: &str) -> Result<(), Refusal> {
        // plumb's own option among the `-+` options.
        if letters == "report" {
            return self.own(letters);
        }
        let letter = letters.chars().next().unwrap_or('?');
        let Some(row) = find(&format!("+{letter}")) else {
            return original(255, format!("Unsupported Plus option -> {letter} <-\n"));
        };
        if row.value.is_empty() {
            return self.take(row, "");
        }
        let Some(value) = self.next_word() else {
            return match letter {
                'm' => original(201, "-+m takes an operand. ( filename )\n"),
                'K' => original(204, "-+K takes an operand !!\n"),
                _ => original(200, format!("-+{letter} takes an operand !!\n")),
            };
        };
        self.kept.push(value.clone());
        self.take(row, &value)
    }

    /// Applies an option, and stores the line that it prints.
    fn take(&mut self, row: &SettingRow, value: &str) -> Result<(), Refusal> {
        let line = match row.does {
            Does::Set(set, line) => {
                set(&mut self.settings);
                Some(line.to_owned()).filter(|line| !line.is_empty())
            }
            Does::Number(take) => take(&mut self.settings, number(value)),
            Does::Read(read) => read(self, value)?,
            Does::Session => {
                let is_alone = row.value.is_empty() || row.value.starts_with('[') && value.is_empty();
                let value = if is_alone { String::new() } else { format!("={value}") };
                self.settings.session.push(format!("-{}{value}", row.name));
                None
            }
            Does::Refused(reason) => return Err(Refusal::NotBuilt(format!("-{}: {reason}", row.name))),
        };
        self.settings.splash.extend(line.map(|line| format!("\t{line}\n")));
        Ok(())
    }

    /// Selects a test; returns the line that iozone prints for an unknown number.
    pub(crate) fn select_test(&mut self, number: i64) -> Option<String> {
        let test = Test::of_number(number);
        self.settings.tests.insert(test.unwrap_or(Test::Write));
        (number > 0 && test.is_none()).then(|| "Selected test not available on the version.".to_owned())
    }

    /// Sets the file of a single worker.
    pub(crate) fn file(&mut self, path: &str) -> SettingOutcome {
        if !self.settings.files.is_empty() {
            return original(10, "invalid options: -f and -F are mutually exclusive\n");
        }
        self.settings.file = Some(PathBuf::from(path));
        Ok(None)
    }

    /// Sets the mount point that is unmounted and mounted again between tests (-U).
    pub(crate) fn remount(&mut self, place: &str) -> SettingOutcome {
        if self.given.throughput {
            return original(16, "Can not run throughput tests with unmount & remounts.\n");
        }
        self.settings.remount = Some(place.to_owned());
        Ok(None)
    }

    /// Reads the records of test 0 (`write`) or 1 (`read`) from a telemetry file.
    pub(crate) fn telemetry(&mut self, way: &str, path: &str) -> SettingOutcome {
        // iozone checks that the file exists before any other check.
        if !Path::new(path).is_file() {
            return original(174, format!("Unable to open {way} telemetry file \"{path}\"\n"));
        }
        let letter = if way == "write" { 'X' } else { 'Y' };
        let records =
            crate::telemetry::read(Path::new(path)).map_err(|why| Refusal::NotBuilt(format!("-{letter}: {why}")))?;
        let slot = if way == "write" { &mut self.settings.written } else { &mut self.settings.read };
        *slot = Some(records);
        Ok(Some(format!("Using {way} telemetry file \"{path}\"")))
    }

    /// Sets the number of children, or its lower or upper bound.
    pub(crate) fn children(&mut self, text: &str, which: Children) -> SettingOutcome {
        if which == Children::Exactly && self.settings.remount.is_some() {
            return original(15, "Can not run throughput tests with unmount & remounts.\n");
        }
        let asked = number(text);
        let count = if asked <= 0 { 8 } else { u32::try_from(asked).unwrap_or(u32::MAX) };
        if count > MOST_CHILDREN {
            return original(
                14,
                format!("invalid options: maximum streams for throughput is MAXSTREAMS\nNumchild {count} {count}\n"),
            );
        }
        self.given.throughput = true;
        match which {
            Children::Exactly => self.settings.children.push(count),
            Children::Least => self.given.lower = Some(count),
            Children::Most => self.given.upper = Some(count),
        }
        Ok(None)
    }

    /// Takes one file name per child, even if it looks like an option.
    pub(crate) fn names(&mut self, first: &str) -> SettingOutcome {
        if self.settings.file.is_some() {
            return original(11, "invalid options: -f and -F are mutually exclusive\n");
        }
        let most = self.settings.children.iter().copied().chain(self.given.upper).max();
        let Some(most) = most else {
            return original(12, "invalid options: must specify -t N before -F\n");
        };
        self.settings.files = vec![PathBuf::from(first)];
        for _ in 1..most {
            let Some(name) = self.next_word() else {
                return original(13, format!("invalid options: not enough filenames for {most} streams\n"));
            };
            self.kept.push(name.clone());
            self.settings.files.push(PathBuf::from(name));
        }
        Ok(None)
    }

    /// Reads the list of cluster machines.
    pub(crate) fn members_from(&mut self, path: &str) -> SettingOutcome {
        let text = read_limited::read_text(Path::new(path), LONGEST_LIST).map_err(|error| Refusal::Original {
            status: 176,
            out: format!("Unable to open client file \"{path}\"\n"),
            err: format!("plumb: iozone: -+m {path}: cannot be read: {error}\n"),
        })?;
        self.settings.members = Member::all(path, &text).map_err(|why| Refusal::NotBuilt(format!("-+m: {why}")))?;
        self.given.cluster = true;
        Ok(Some("Network distribution mode enabled.".to_owned()))
    }

    /// Reads the names of the children's files, one per line.
    pub(crate) fn names_from(&mut self, path: &str) -> SettingOutcome {
        // iozone asks for the file before anything else.
        if let Err(error) = std::fs::metadata(path) {
            return Err(Refusal::Original {
                status: 2,
                out: format!("Failed to stat the iozone input file: {path}\n"),
                err: format!("plumb: iozone: -+R {path}: the file of names cannot be read: {error}\n"),
            });
        }
        let most = self.settings.children.iter().copied().chain(self.given.upper).max().unwrap_or(0);
        if most == 0 {
            return original(13, "invalid options: not enough filenames for 0 streams\n");
        }
        let text = read_limited::read_text(Path::new(path), LONGEST_LIST)
            .map_err(|error| Refusal::NotBuilt(format!("-+R {path}: the file of names cannot be read: {error}")))?;
        self.settings.files = text.lines().filter(|line| !line.trim().is_empty()).map(PathBuf::from).collect();
        self.given.names_from_file = true;
        // iozone's line ends with a newline and a blank; both are kept.
        self.settings.splash.push(format!("\tFilenames from a file option enabled. File: {path}\n "));
        Ok(None)
    }

    /// Resolves settings that depend on several options.
    fn finish(mut self) -> Result<Settings, Refusal> {
        let given = self.given;
        let settings = &mut self.settings;
        if given.lower.is_some() || given.upper.is_some() {
            let least = given.lower.unwrap_or(1);
            let most = given.upper.unwrap_or(least);
            settings.bounds = Some((least, most));
            if settings.children.is_empty() {
                settings.children = (least..=most).collect();
            }
        }
        let most = settings.children.iter().copied().max().unwrap_or(0);
        if given.cluster && (most == 0 || settings.members.len() < most as usize) {
            let why = format!(
                "-+m names {} machines for {most} children; there is one line for each, and -t says how many",
                settings.members.len()
            );
            return Err(Refusal::NotBuilt(why));
        }
        if given.names_from_file && (most == 0 || settings.files.len() < most as usize) {
            return original(13, format!("invalid options: not enough filenames for {most} streams\n"));
        }
        if given.each_record_flush && settings.mapping.is_some() {
            settings.mapping = Some(Mapping::EachRecord);
        }
        select_telemetry_tests(settings, &given);
        settings.conflict = conflict(settings, &given);
        if given.throughput {
            settings.mode = Mode::Throughput;
        }
        // Without -s the files of children have their default size.
        if !given.throughput || !settings.sizes_kb.is_empty() {
            settings.sizes_kb = settings.telemetry_kb().map_or_else(|| settings.sizes_kb.clone(), |size| vec![size]);
        }
        settings.words = self.kept;
        settings.words.append(&mut self.strays);
        Ok(self.settings)
    }
}

/// Selects the tests of telemetry files: 0 for writes; 0 and 1 for reads, but an existing file can be read by 1 alone.
/// Other tests have no records, except the sequential mix.
fn select_telemetry_tests(settings: &mut Settings, given: &Given) {
    if !settings.has_telemetry() {
        return;
    }
    if settings.written.is_some() || !settings.tests.contains(&Test::Read) {
        settings.tests.insert(Test::Write);
    }
    if settings.read.is_some() {
        settings.tests.insert(Test::Read);
    }
    let mixes = given.throughput && settings.mix_sequential;
    settings.tests.retain(|&test| matches!(test, Test::Write | Test::Read) || test == Test::Mix && mixes);
}

/// Mutually exclusive options: iozone's exit status and message, printed below its heading.
fn conflict(settings: &Settings, given: &Given) -> Option<(u8, String)> {
    let (least, most) = settings.record_bounds_kb();
    if least > most {
        let text = format!("Error: minimum record size {least} kB is greater than maximum record size {most} kB\n ");
        return Some((23, text));
    }
    let (telemetry, writes) = (settings.has_telemetry(), settings.written.is_some());
    let matrix = settings.is_matrix();
    // In the order in which iozone checks them.
    let rules = [
        (
            given.throughput && settings.unit == Unit::Microseconds,
            (17, "\n\tMicrosecond mode not supported in throughput mode.\n\n"),
        ),
        (
            telemetry && matches!(settings.data, Data::Full(_)),
            (17, "\n\tFull verification not supported in telemetry mode.\n\n"),
        ),
        (telemetry && matrix, (17, "\n\tAuto mode not supported in telemetry mode.\n\tTry:   -i 0 -i 1 \n\n")),
        (writes && !settings.sizes_kb.is_empty(), (17, "\n\tSize of file is determined by telemetry file.\n\n")),
        (
            writes && !settings.records_kb.is_empty(),
            (17, "\n\tRecord size of file is determined by telemetry file.\n\n"),
        ),
        (telemetry && given.stride, (17, "\n\tStride size is determined by telemetry file.\n\n")),
        (given.throughput && (matrix || given.range), (17, "\n\tCan not mix throughput mode and auto-mode flags.\n\n")),
        (
            given.throughput && settings.file.is_some(),
            (17, "\n\tYou must use -F when using multiple threads or processes.\n\n"),
        ),
        (
            settings.mapping.is_some() && settings.asynchronous.is_some(),
            (18, "\n\tSorry ... Only mmap or async but not both\n\n"),
        ),
    ];
    let later = [
        (given.with_copy && given.without_copy, (20, "\n\tCan not do both -H and -k\n")),
        (settings.rare.diagnoses && settings.rare.duplicates.is_some(), (20, "\n\tCan not do both -+d and -+w\n")),
    ];
    let first = |rules: &[(bool, (u8, &'static str))]| rules.iter().find(|rule| rule.0).map(|rule| rule.1);
    let (status, text) = first(&rules).or_else(|| settings.foreign_conflict()).or_else(|| first(&later))?;
    Some((status, settings.compute_lines() + text))
}

/// Placeholder in the splash for the line about the machine, which only the caller knows.
pub const MACHINE: &str = "\0machine";

/// Placeholder in the splash for the line about CPUs (-P), whose number only the caller knows.
pub const BINDING: &str = "\0binding";

/// The parts of a command line that were read from files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FromFiles {
    /// True if the cluster machines came from a file.
    pub(crate) members: bool,
    /// True if the names of the children's files came from a file.
    pub(crate) names: bool,
}

/// Rejects cluster machines from a file, and file names from a file that point outside of the current directory.
pub(crate) fn check(settings: &Settings, from: FromFiles) -> Result<(), Refusal> {
    if from.members {
        let why =
            "--untrusted: the file of -+m names programs that are run on other machines; leave one of the two out";
        return Err(Refusal::NotBuilt(why.to_owned()));
    }
    let outside = |path: &&std::path::PathBuf| leads_outside(&path.to_string_lossy());
    match settings.files.iter().find(outside).filter(|_| from.names) {
        Some(path) => Err(Refusal::NotBuilt(format!(
            "--untrusted: the file of -+R names {path:?}, which leads out of this directory; name files in it or below it"
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Result<Settings, Refusal> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        read("iozone", &words)
    }

    fn status(text: &str) -> u8 {
        match words(text) {
            Err(Refusal::Original { status, .. }) => status,
            Ok(Settings { conflict: Some((status, _)), .. }) => status,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn values_may_be_glued_and_strays_come_last() {
        let settings = words("-+n foo -s64 -i0 -r 1m").unwrap();
        assert_eq!((settings.sizes_kb, settings.records_kb), (vec![64], vec![1024]));
        assert_eq!(settings.words.join(" "), "-+n -s64 -i0 -r 1m foo");
        assert!(settings.no_retest && settings.tests.contains(&Test::Write));
    }

    #[test]
    fn names_are_taken_even_if_they_look_like_options() {
        let settings = words("-t 2 -F a -+n -i 0").unwrap();
        assert_eq!(settings.files, [PathBuf::from("a"), PathBuf::from("-+n")]);
        assert!(!settings.no_retest);
    }

    #[test]
    fn statuses_are_those_of_the_original() {
        let cases = [
            ("-i", 255),
            ("-9", 255),
            ("-+m", 201),
            ("-+q", 200),
            ("-+o", 255),
            ("-f x -F a b", 11),
            ("-F a b -t 2", 12),
            ("-t 2 -F a", 13),
            ("-t 2000", 14),
            ("-U /m -t 2", 15),
            ("-t 2 -U /m", 16),
            ("-B -H 2", 18),
            ("-H 2 -k 2", 20),
            ("-r 32m", 23),
            ("-t 2 -a", 17),
            ("-N -t 2", 17),
            ("-+E", 19),
            ("-+E -i 12 -f old", 20),
            ("-t 2 -f x -i 0", 17),
            ("-y 8 -q 4 -t 2", 23),
            ("-r 8 -r 4", 23),
            ("-X no-such-file -i 0", 174),
            ("-+m no-such-file", 176),
            ("-+b 4", 144),
            ("-+b 0,5", 144),
            ("-t 2 -+R no-such-file", 2),
            ("-+R no-such-file", 2),
            ("-+K", 204),
        ];
        for (text, expected) in cases {
            assert_eq!(status(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_built_is_refused_by_name() {
        for text in ["-+t", "-+H host", "-+P 1", "-+c host", "-+s"] {
            assert!(matches!(words(text), Err(Refusal::NotBuilt(_))), "{text}");
        }
    }

    #[test]
    fn garbage_falls_back_to_the_defaults() {
        let settings = words("-s abc -r 0 -t 0").unwrap();
        assert_eq!((settings.sizes_kb, settings.records_kb, settings.children), (vec![512], vec![4], vec![8]));
    }
}

#[cfg(test)]
mod untrusted_tests {
    use super::*;

    fn read_words(text: &str) -> Result<Settings, Refusal> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        crate::argv::read("iozone", &words)
    }

    #[test]
    fn files_from_others_name_no_machines_and_nothing_outside() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
            folder.path().join(name).display().to_string()
        };
        let (hosts, names) = (file("hosts", "node1 /data /bin/plumb\n"), file("names", "a\n../b\n"));
        for text in [format!("--untrusted -+m {hosts} -t 1 -i 0"), format!("-t 2 -+R {names} -i 0 --untrusted")] {
            let refused = read_words(&text);
            assert!(
                matches!(&refused, Err(Refusal::NotBuilt(why)) if why.starts_with("--untrusted: ")),
                "{text}: {refused:?}"
            );
        }
        let harmless = file("harmless", "a\nsub/b\n");
        assert!(read_words(&format!("--untrusted -t 2 -+R {harmless} -i 0")).is_ok());
        assert!(read_words("--untrusted -i 0 -t 1 -F /data/of/my/own").is_ok());
    }
}
