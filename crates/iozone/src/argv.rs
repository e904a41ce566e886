//! iozone's command line: getopt's rules, the order in which iozone complains, and its statuses.

use crate::option::{Shape, plus_shape, refused, shape};
use crate::settings::{Asynchronous, Data, Mapping, Member, Mode, Settings, Unit};
use crate::untrusted::{self, FromFiles};
use job::bounded;
use measure::Nanos;
use std::path::{Path, PathBuf};

/// Why nothing is run, or what is to be told instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// iozone's own words to standard output, and getopt's to standard error, with a status.
    Original {
        /// The status.
        status: u8,
        /// To standard output.
        out: String,
        /// To standard error.
        err: String,
    },
    /// plumb does not do it: a message.
    NotBuilt(String),
    /// This process is to be a member of a cluster: the rest is told through standard input.
    Member,
    /// The help was asked for.
    Help,
    /// The version was asked for.
    Version,
}

fn original<T>(status: u8, out: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::Original { status, out: out.into(), err: String::new() })
}

/// What iozone says to no words, or wrong ones.
const USAGE: &str = "\tUsage: For usage information type iozone -h \n\n";
/// The most children.
const MOST_CHILDREN: u32 = 1024;
/// The longest list of machines or names.
const LONGEST_LIST: u64 = 16 << 20;

/// Reads the words behind the program's name.
///
/// # Errors
/// Everything that is not a run.
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
        untrusted::check(&reader.settings, from)?;
    }
    reader.finish()
}

/// What was said on the way and matters only together.
#[derive(Debug, Default)]
struct Given {
    file: bool,
    lower: Option<u32>,
    upper: Option<u32>,
    throughput: bool,
    with_copy: bool,
    without_copy: bool,
    each_record_flush: bool,
    names_from_file: bool,
    stride: bool,
    cluster: bool,
    untrusted: bool,
}

/// How long an I/O may take before it is named: whole seconds, up to a day; 0 is for ever.
fn patience(text: &str) -> Result<Option<Nanos>, Refusal> {
    let seconds = text.parse::<u64>().ok().filter(|&seconds| seconds <= 86_400);
    let wrong = || format!("--stuck-after={text}: it is no number of seconds up to 86400; 0 is for never");
    let limit = Nanos::from_secs(seconds.ok_or_else(|| Refusal::NotBuilt(wrong()))?);
    Ok(Some(limit).filter(|limit| !limit.is_zero()))
}

struct Reader<'a> {
    program: &'a str,
    words: &'a [String],
    at: usize,
    strays: Vec<String>,
    kept: Vec<String>,
    settings: Settings,
    given: Given,
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

    /// plumb's own options, which getopt would not know.
    fn own(&mut self, word: &str) -> Result<(), Refusal> {
        let (name, glued) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value.to_owned())));
        let value = |reader: &mut Self| {
            let wants = if name == "stuck-after" { ("a time", "SECONDS") } else { ("a file", "FILE") };
            glued
                .clone()
                .or_else(|| reader.next_word())
                .ok_or_else(|| Refusal::NotBuilt(format!("--{name} wants {}: --{name}={}", wants.0, wants.1)))
        };
        match name {
            "json" => self.settings.json = Some(PathBuf::from(value(self)?)),
            "csv" => self.settings.csv = Some(PathBuf::from(value(self)?)),
            "report" => self.settings.pictures = Some(PathBuf::from(value(self)?)),
            "stuck-after" => self.settings.stuck_after = patience(&value(self)?)?,
            "strict" if glued.is_none() => self.settings.strict = true,
            "untrusted" if glued.is_none() => self.given.untrusted = true,
            "member" => return Err(Refusal::Member),
            _ => {
                let err = format!("{}: invalid option -- '-'\n", self.program);
                return Err(Refusal::Original { status: 255, out: USAGE.to_owned(), err });
            }
        }
        Ok(())
    }

    fn next_word(&mut self) -> Option<String> {
        let word = self.words.get(self.at).cloned();
        self.at += usize::from(word.is_some());
        word
    }

    /// A word of letters, the last of which may take the rest or the next word as its value.
    fn letters(&mut self, letters: &str) -> Result<(), Refusal> {
        for (index, letter) in letters.char_indices() {
            let complain = |what: &str| {
                let err = format!("{}: {what} -- '{letter}'\n", self.program);
                Err(Refusal::Original { status: 255, out: USAGE.to_owned(), err })
            };
            match shape(letter) {
                None => return complain("invalid option"),
                Some(Shape::Alone) => self.flag(letter)?,
                Some(Shape::WithValue) => {
                    let rest = &letters[index + letter.len_utf8()..];
                    let value = if rest.is_empty() {
                        let Some(value) = self.words.get(self.at).cloned() else {
                            return complain("option requires an argument");
                        };
                        self.at += 1;
                        self.kept.push(value.clone());
                        value
                    } else {
                        rest.to_owned()
                    };
                    return self.value(letter, &value);
                }
            }
        }
        Ok(())
    }

    fn say(&mut self, text: impl AsRef<str>) {
        self.settings.splash.push(format!("\t{}\n", text.as_ref()));
    }

    fn flag(&mut self, letter: char) -> Result<(), Refusal> {
        refuse(&letter.to_string())?;
        match letter {
            'h' => return Err(Refusal::Help),
            'v' => return Err(Refusal::Version),
            'G' => self.given.each_record_flush = true,
            'M' => self.settings.splash.push(MACHINE.to_owned()),
            _ => set_flag(&mut self.settings, letter),
        }
        if let Some(text) = splash_of(letter) {
            self.say(text);
        }
        Ok(())
    }

    fn value(&mut self, letter: char, value: &str) -> Result<(), Refusal> {
        match letter {
            '+' => return self.plus(value),
            's' | 'r' | 'g' | 'n' | 'y' | 'q' => return self.size(letter, value),
            't' | 'l' | 'u' | 'F' | 'f' | 'd' => return self.children(letter, value),
            'i' => {
                match number(value) {
                    11 => {}
                    test @ 0..=10 => {
                        self.settings.tests.insert(u8::try_from(test).unwrap_or(0));
                    }
                    _ => {
                        self.say("Selected test not available on the version.");
                        self.settings.tests.insert(0);
                    }
                }
                if number(value) == 11 {
                    // Known by its number, and without a test behind it: a run of nothing.
                    self.settings.tests.insert(11);
                }
            }
            'j' => {
                self.given.stride = true;
                self.settings.stride = number(value).max(1).unsigned_abs();
            }
            'J' => self.settings.compute = Nanos::from_millis(number(value).max(0).unsigned_abs()),
            'H' => {
                self.given.with_copy = true;
                let depth = depth(value);
                self.settings.asynchronous = Some(Asynchronous { depth });
                self.say(format!("POSIX async I/O (with bcopy). Depth {depth}"));
            }
            'k' => {
                self.given.without_copy = true;
                let depth = depth(value);
                self.settings.asynchronous = Some(Asynchronous { depth });
                self.say(format!("POSIX Async I/O (no bcopy). Depth {depth} "));
            }
            'V' => {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "the lowest byte, as iozone takes it"
                )]
                let byte = number(value) as u8;
                let byte = if byte == 0 { PATTERN } else { byte };
                self.settings.data = Data::Full(byte);
                self.say(format!("Verify Mode. Pattern {:x}", u32::from(byte) * 0x0101_0101));
                self.say("Performance measurements are invalid in this mode.");
            }
            'b' => self.settings.report.sheet = Some(PathBuf::from(value)),
            'L' => self.settings.cache.1 = number(value).max(1).unsigned_abs(),
            'S' => self.settings.cache.0 = number(value).max(1).unsigned_abs(),
            'P' => {
                let first = u32::try_from(number(value).max(0)).unwrap_or(0);
                self.settings.first_cpu = Some(first);
                self.say(format!("Binding of processors beginning with {first} "));
            }
            'U' => {
                if self.given.throughput {
                    return original(16, "Can not run throughput tests with unmount & remounts.\n");
                }
                self.settings.remount = Some(value.to_owned());
            }
            'X' | 'Y' => return self.telemetry_from(letter, value),
            _ => {}
        }
        Ok(())
    }

    /// The records of a pass.
    fn telemetry_from(&mut self, letter: char, path: &str) -> Result<(), Refusal> {
        let way = if letter == 'X' { "write" } else { "read" };
        telemetry(path, way)?;
        let records = crate::telemetry::read(std::path::Path::new(path))
            .map_err(|why| Refusal::NotBuilt(format!("-{letter}: {why}")))?;
        let slot = if letter == 'X' { &mut self.settings.written } else { &mut self.settings.read };
        *slot = Some(records);
        self.say(format!("Using {way} telemetry file \"{path}\""));
        Ok(())
    }

    fn size(&mut self, letter: char, value: &str) -> Result<(), Refusal> {
        let kb = kilobytes(value);
        let settings = &mut self.settings;
        let text = match letter {
            's' => {
                let kb = if kb == 0 { Settings::SIZE_KB } else { kb };
                settings.sizes_kb.push(kb);
                format!("File size set to {kb} kB")
            }
            'r' => {
                let kb = if kb == 0 { Settings::RECORD_KB } else { kb };
                if kb > Settings::LARGEST_RECORD_KB {
                    return original(
                        23,
                        format!(
                            "Error: maximum record size {kb} kB is greater than maximum buffer size {} kB\n ",
                            Settings::LARGEST_RECORD_KB
                        ),
                    );
                }
                settings.records_kb.push(kb);
                format!("Record Size {kb} kB")
            }
            'n' => {
                settings.size_range_kb.0 = kb.max(4);
                format!("Using minimum file size of {} kilobytes.", kb.max(4))
            }
            'g' => {
                settings.size_range_kb.1 = kb.max(4);
                format!("Using maximum file size of {} kilobytes.", kb.max(4))
            }
            'y' => {
                let kb = if kb == 0 { Settings::RECORD_KB } else { kb };
                settings.record_range_kb.0 = Some(kb);
                format!("Using Minimum Record Size {kb} kB")
            }
            _ => {
                let kb = if kb == 0 { Settings::LARGEST_RECORD_KB } else { kb };
                if kb > Settings::LARGEST_RECORD_KB {
                    return original(
                        23,
                        format!(
                            "Error: maximum record size {kb} kB is greater than maximum buffer size {} kB\n ",
                            Settings::LARGEST_RECORD_KB
                        ),
                    );
                }
                settings.record_range_kb.1 = Some(kb);
                format!("Using Maximum Record Size {kb} kB")
            }
        };
        self.say(text);
        Ok(())
    }

    fn children(&mut self, letter: char, value: &str) -> Result<(), Refusal> {
        match letter {
            't' | 'l' | 'u' => {
                if letter == 't' && self.settings.remount.is_some() {
                    return original(15, "Can not run throughput tests with unmount & remounts.\n");
                }
                let asked = number(value);
                let count = if asked <= 0 { 8 } else { u32::try_from(asked).unwrap_or(u32::MAX) };
                if count > MOST_CHILDREN {
                    return original(
                        14,
                        format!(
                            "invalid options: maximum streams for throughput is MAXSTREAMS\nNumchild {count} {count}\n"
                        ),
                    );
                }
                self.given.throughput = true;
                match letter {
                    't' => self.settings.children.push(count),
                    'l' => self.given.lower = Some(count),
                    _ => self.given.upper = Some(count),
                }
            }
            'F' => return self.names(value),
            'f' => {
                if !self.settings.files.is_empty() {
                    return original(10, "invalid options: -f and -F are mutually exclusive\n");
                }
                self.given.file = true;
                self.settings.file = PathBuf::from(value);
            }
            _ => self.settings.release_gap = Nanos::from_micros(number(value).max(0).unsigned_abs()),
        }
        Ok(())
    }

    /// As many words as there are children, whatever they look like.
    fn names(&mut self, first: &str) -> Result<(), Refusal> {
        if self.given.file {
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
        Ok(())
    }

    fn plus(&mut self, letters: &str) -> Result<(), Refusal> {
        // plumb's own, among iozone's.
        if letters == "report" {
            return self.own(letters);
        }
        let letter = letters.chars().next().unwrap_or('?');
        let value = match plus_shape(letter) {
            None => return original(255, format!("Unsupported Plus option -> {letter} <-\n")),
            Some(Shape::Alone) => String::new(),
            Some(Shape::WithValue) => match self.next_word() {
                Some(value) => value,
                None if letter == 'm' => return original(201, "-+m takes an operand. ( filename )\n"),
                None => return original(200, format!("-+{letter} takes an operand !!\n")),
            },
        };
        refuse(&format!("+{letter}"))?;
        if plus_shape(letter) == Some(Shape::WithValue) {
            self.kept.push(value.clone());
        }
        match letter {
            'R' => return self.names_from(&value),
            'm' => return self.members_from(&value),
            'h' => self.say(format!("Hostname = {value}")),
            'b' => self.settings.burst = Some(burst(&value)),
            _ => {
                if let Some(text) = set_plus(&mut self.settings, letter, number(&value)) {
                    self.say(text);
                }
            }
        }
        Ok(())
    }

    /// The machines of a cluster.
    fn members_from(&mut self, path: &str) -> Result<(), Refusal> {
        let members = bounded::read_text(Path::new(path), LONGEST_LIST)
            .map_err(|error| format!("{path}: cannot be read: {error}"))
            .and_then(|text| Member::all(path, &text))
            .map_err(|why| Refusal::NotBuilt(format!("-+m: {why}")))?;
        self.settings.members = members;
        self.given.cluster = true;
        self.say("Network distribution mode enabled.");
        Ok(())
    }

    /// The children's files, a name in each line.
    fn names_from(&mut self, path: &str) -> Result<(), Refusal> {
        let most = self.settings.children.iter().copied().chain(self.given.upper).max().unwrap_or(0);
        if most == 0 {
            return original(13, "invalid options: not enough filenames for 0 streams\n");
        }
        let text = bounded::read_text(Path::new(path), LONGEST_LIST)
            .map_err(|error| Refusal::NotBuilt(format!("-+R {path}: the file of names cannot be read: {error}")))?;
        self.settings.files = text.lines().filter(|line| !line.trim().is_empty()).map(PathBuf::from).collect();
        self.given.names_from_file = true;
        // The original's line ends in a blank, on the next line.
        self.settings.splash.push(format!("\tFilenames from a file option enabled. File: {path}\n "));
        Ok(())
    }

    /// What all words mean together.
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
        if settings.purge_bytes > 0 {
            settings.purge_bytes =
                usize::try_from(settings.cache.0.saturating_mul(1024)).unwrap_or(1 << 20).min(1 << 30);
        }
        if given.each_record_flush && settings.mapping.is_some() {
            settings.mapping = Some(Mapping::EachRecord);
        }
        let auto = settings.mode == Mode::Auto;
        settings.conflict = if auto && given.throughput {
            Some((17, "\n\tCan not mix throughput mode and auto-mode flags.\n\n".to_owned()))
        } else if settings.mapping.is_some() && settings.asynchronous.is_some() {
            Some((18, "\n\tSorry ... Only mmap or async but not both\n\n".to_owned()))
        } else if given.with_copy && given.without_copy {
            Some((20, "\n\tCan not do both -H and -k\n".to_owned()))
        } else if settings.rare.diagnoses && settings.rare.duplicates.is_some() {
            Some((20, "\n\tCan not do both -+d and -+w\n".to_owned()))
        } else if given.throughput && settings.unit == Unit::Microseconds {
            Some((17, "\n\tMicrosecond mode not supported in throughput mode.\n\n".to_owned()))
        } else if settings.foreign_file && settings.tests.is_empty() {
            Some((19, "You must specify which tests ( -i # ) when using -+E\n".to_owned()))
        } else if settings.has_telemetry() && auto {
            Some((17, "\n\tAuto mode not supported in telemetry mode.\n\tTry:   -i 0 -i 1 \n\n".to_owned()))
        } else if settings.has_telemetry() && !settings.sizes_kb.is_empty() {
            Some((17, "\n\tSize of file is determined by telemetry file.\n\n".to_owned()))
        } else if settings.has_telemetry() && !settings.records_kb.is_empty() {
            Some((17, "\n\tRecord size of file is determined by telemetry file.\n\n".to_owned()))
        } else if settings.has_telemetry() && given.stride {
            Some((17, "\n\tStride size is determined by telemetry file.\n\n".to_owned()))
        } else {
            None
        };
        if given.throughput {
            settings.mode = Mode::Throughput;
        }
        if settings.foreign_file {
            for test in [0, 4, 6, 8, 9] {
                settings.tests.remove(&test);
            }
        }
        if let Some(size) = settings.telemetry_kb() {
            settings.sizes_kb = vec![size];
        }
        settings.words = self.kept;
        settings.words.append(&mut self.strays);
        Ok(self.settings)
    }
}

/// What a letter without a value means.
fn set_flag(settings: &mut Settings, letter: char) {
    match letter {
        'a' => settings.mode = Mode::Auto,
        'A' => {
            settings.mode = Mode::Auto;
            settings.no_crossover = true;
            settings.tests.extend([0, 1]);
        }
        'B' | 'D' => settings.mapping = settings.mapping.or(Some(Mapping::AtEnd)),
        'c' => settings.times_close = true,
        'C' => settings.each_child = true,
        'e' => settings.times_flush = true,
        'E' => settings.extensions = true,
        'I' => settings.direct = true,
        'N' => settings.unit = Unit::Microseconds,
        'o' => settings.sync = true,
        'O' if settings.unit == Unit::Rate => settings.unit = Unit::Operations,
        'p' => settings.purge_bytes = 1,
        'Q' => settings.latencies = true,
        'R' => settings.report.text = true,
        'T' => settings.threads = true,
        'w' => settings.keep = true,
        'W' => settings.lock = true,
        'x' => settings.no_stonewall = true,
        'z' => settings.no_crossover = true,
        _ => crate::rare::flag(settings, letter),
    }
}

/// What a letter without a value says of itself.
fn splash_of(letter: char) -> Option<&'static str> {
    Some(match letter {
        'a' => "Auto Mode",
        'A' => "Auto Mode 2. This option is obsolete. Use -az -i0 -i1 ",
        'B' => "Using mmap files",
        'c' => "Include close in write timing",
        'D' => "Using msync(MS_ASYNC) on mmap files",
        'e' => "Include fsync in write timing",
        'G' => "Using msync(MS_SYNC) on mmap files",
        'I' => "O_DIRECT feature enabled",
        'N' => "Microseconds/op Mode. Output is in microseconds per operation.",
        'o' => "SYNC Mode. ",
        'O' => "OPS Mode. Output is in operations per second.",
        'p' => "Purge Mode On",
        'Q' => "Offset/latency files enabled.",
        'R' => "Excel chart generation enabled",
        'w' => "Setting no_unlink",
        'W' => "Lock file when reading/writing.",
        'x' => "Stonewall disabled",
        'z' => "Cross over of record size disabled.",
        _ => return crate::rare::splash(letter),
    })
}

/// What a plus option means, and what it says of itself.
fn set_plus(settings: &mut Settings, letter: char, asked: i64) -> Option<String> {
    let text = match letter {
        'B' => {
            settings.mix_sequential = true;
            ">>> Sequential Mixed workload. <<<"
        }
        'D' => {
            settings.data_sync = true;
            ">>> O_DSYNC mode enabled. <<<"
        }
        'T' => {
            settings.start_log = true;
            return None;
        }
        'V' => {
            settings.shared_file = true;
            ">>> Shared file mode enabled. <<<"
        }
        'X' => {
            settings.marks_byte = SHORT_CIRCUIT;
            "Short circuit mode. For\n\t filesystem development testing ONLY !"
        }
        'z' => {
            settings.histograms = true;
            "Histogram summary enabled."
        }
        'Z' => {
            settings.marks_byte = OLD_DATA;
            "Using old data sets.\n\t Performance measurements may be invalid in this\n\t mode due to published hack."
        }
        'E' => {
            settings.foreign_file = true;
            settings.keep = true;
            ">>> No Verify mode. <<<"
        }
        'J' => {
            settings.compute_counts = true;
            ">>> Think time is included in throughput cal. <<<"
        }
        'K' => {
            settings.mix_readers = Some(u32::try_from(asked.max(0)).unwrap_or(0));
            "Manual control of test 8. >>> Very Experimental. Sony special <<<"
        }
        'n' => {
            settings.no_retest = true;
            "No retest option selected"
        }
        'r' => {
            (settings.sync, settings.sync_reads) = (true, true);
            "Read & Write sync mode active."
        }
        _ => return set_plus_number(settings, letter, asked),
    };
    Some(text.to_owned())
}

/// The same of those whose text holds a number, or that have none.
fn set_plus_number(settings: &mut Settings, letter: char, asked: i64) -> Option<String> {
    match letter {
        'k' => settings.divides = true,
        'N' => settings.reuse = true,
        'x' => settings.multiplier = asked.max(2).unsigned_abs(),
        'O' => {
            settings.operations_per_second = Some(asked.max(1).unsigned_abs());
            return Some(format!("Rate control active {asked} Ops/sec ."));
        }
        'p' => {
            let percent = u32::try_from(asked.clamp(0, 100)).unwrap_or(0);
            settings.mix_percent = Some(percent);
            return Some(format!("Percent read in mix test is {percent}"));
        }
        'q' => {
            settings.rest = Nanos::from_secs(asked.max(0).unsigned_abs());
            return Some(format!("Delay {} seconds between tests enabled.", asked.max(0)));
        }
        'u' => {
            settings.cpu = true;
            return Some(
                "CPU utilization Resolution = 0.000 seconds.\n\tCPU utilization Excel chart enabled".to_owned(),
            );
        }
        _ => return crate::rare::plus(settings, letter, asked),
    }
    None
}

/// Stands in the splash where the machine's own line comes; only who runs knows it.
pub const MACHINE: &str = "\0machine";

/// iozone 3.489's byte.
pub(crate) const PATTERN: u8 = b'_';
/// The byte of -+X.
const SHORT_CIRCUIT: u8 = 0xbb;
/// The byte of -+Z.
const OLD_DATA: u8 = 0xa5;

/// kB, and milliseconds of rest behind them, with anything between the two.
fn burst(text: &str) -> (u64, Nanos) {
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (kb, rest) = text.split_at(digits);
    let rest = rest.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    (number(kb).max(1).unsigned_abs(), Nanos::from_millis(number(rest).max(0).unsigned_abs()))
}

fn refuse(name: &str) -> Result<(), Refusal> {
    match refused(name) {
        Some(reason) => Err(Refusal::NotBuilt(format!("-{name}: {reason}"))),
        None => Ok(()),
    }
}

/// iozone looks for a telemetry file before anything else is said.
fn telemetry(value: &str, way: &str) -> Result<(), Refusal> {
    if std::path::Path::new(value).is_file() {
        return Ok(());
    }
    original(174, format!("Unable to open {way} telemetry file \"{value}\"\n"))
}

fn depth(value: &str) -> u32 {
    u32::try_from(number(value).max(1)).unwrap_or(1)
}

/// The digits at the beginning, as atoi(3) reads them; 0 without any.
fn number(text: &str) -> i64 {
    let text = text.trim_start();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse::<i64>().map_or(0, |value| sign * value)
}

/// A size in kB: digits, then k, m or g.
fn kilobytes(text: &str) -> u64 {
    let count = number(text).max(0).unsigned_abs();
    match text.chars().last() {
        Some('m' | 'M') => count.saturating_mul(1 << 10),
        Some('g' | 'G') => count.saturating_mul(1 << 20),
        _ => count,
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
        assert!(settings.no_retest && settings.tests.contains(&0));
    }

    #[test]
    fn names_are_eaten_whatever_they_look_like() {
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
            ("-X no-such-file -i 0", 174),
        ];
        for (text, expected) in cases {
            assert_eq!(status(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_built_is_refused_by_name() {
        for text in ["-+m no-such-file", "-+t", "-+H host", "-+P 1", "-+c host", "-+i 1", "-+s", "-+Q 4"] {
            assert!(matches!(words(text), Err(Refusal::NotBuilt(_))), "{text}");
        }
    }

    #[test]
    fn garbage_falls_back_to_the_defaults() {
        let settings = words("-s abc -r 0 -t 0").unwrap();
        assert_eq!((settings.sizes_kb, settings.records_kb, settings.children), (vec![512], vec![4], vec![8]));
    }
}
