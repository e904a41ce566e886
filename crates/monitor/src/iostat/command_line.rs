//! iostat's command line: one table of its options, of which the parser, the usage and the man page are made. Letters
//! may be grouped; options and names may be in any order.

use super::IostatError;
use crate::listing::DeviceFiles;
use plan::{Placing, WrittenOption, WrittenValue};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

/// The action of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// `-V`.
    Version,
    /// `--help`.
    Help,
    /// Print reports.
    Show(Box<Request>),
}

/// The settings of a valid command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The options without a value.
    pub(super) flags: BTreeSet<Flag>,
    /// `--dec`.
    pub decimals: Option<usize>,
    /// The source of the list of devices.
    pub listing: Listing,
    /// Names, in the order given.
    pub names: Vec<Name>,
    /// The number of names before the first `-g`, `-p` alone or `-p ALL`: these are sorted, the later ones are not.
    pub(super) sorted: Option<usize>,
    /// `-f` and `+f`.
    pub(super) user_space: Option<UserSpace>,
    /// `--root`.
    pub root: Option<PathBuf>,
    /// Seconds between reports.
    pub interval: Option<NonZeroU64>,
    /// The number of reports; `None` for endless.
    pub count: Option<u64>,
}

impl Request {
    /// True if the option was given, or is implied by another one.
    pub fn has(&self, flag: Flag) -> bool {
        self.flags.contains(&flag)
    }

    /// Rejects what has no latencies.
    fn check_latency(&self) -> Result<(), String> {
        let refused = [
            (self.interval.is_none(), "wants an interval: iostat --latency 1"),
            (self.root.is_some(), "is measured on this machine: leave out --root"),
            (self.has(Flag::SumsOnly), "has no sums of groups: leave out -H"),
        ];
        let why = refused.into_iter().find_map(|(is_given, why)| is_given.then_some(why));
        why.map_or(Ok(()), |why| Err(format!("--latency {why}")))
    }

    /// True if a device is named, in a group or not.
    pub fn names_devices(&self) -> bool {
        self.names.iter().any(|name| matches!(name, Name::Device(_) | Name::WithPartitions(_)))
    }

    /// True if partitions are listed, too.
    pub(super) fn lists_partitions(&self) -> bool {
        matches!(self.listing, Listing::UsedPartitions | Listing::Partitions)
    }

    /// The number of groups. A name that is given again is that of the group before.
    pub(super) fn groups(&self) -> usize {
        let headings = self.names.iter().filter_map(|name| match name {
            Name::Group(heading) => Some(heading),
            Name::Device(_) | Name::WithPartitions(_) | Name::Links(_) => None,
        });
        headings.collect::<BTreeSet<_>>().len()
    }

    /// The type of the links whose names are shown: the last `-j`.
    pub(super) fn links(&self) -> Option<&str> {
        self.names.iter().rev().find_map(|name| match name {
            Name::Links(kind) => Some(kind.as_str()),
            Name::Device(_) | Name::WithPartitions(_) | Name::Group(_) => None,
        })
    }

    /// The files of the devices under `root`, of which a recording has all.
    pub(super) fn device_files(&self, root: &Path) -> Vec<DeviceFiles> {
        let kernel = DeviceFiles::Kernel(root.to_owned());
        let in_user_space = |path: &Path| {
            // A path that is relative does not start at the root.
            DeviceFiles::UserSpace(path.strip_prefix("/").map_or_else(|_| path.to_owned(), |path| root.join(path)))
        };
        match &self.user_space {
            None => vec![kernel],
            Some(UserSpace::Alone(path)) => vec![in_user_space(path)],
            Some(UserSpace::Added(path)) => vec![kernel, in_user_space(path)],
        }
    }
}

/// An option without a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flag {
    /// `-c`: report processors.
    Cpu,
    /// `-d`: report devices.
    Devices,
    /// `-x`.
    Extended,
    /// `-s`.
    Short,
    /// `-t`: the time of each report.
    Time,
    /// `-y`: no report since boot.
    SkipFirst,
    /// `-z`: only devices with activity.
    BusyOnly,
    /// `-N`.
    MapperNames,
    /// `-H`: only the sums of groups.
    SumsOnly,
    /// `-k`.
    Kilobytes,
    /// `-m`.
    Megabytes,
    /// `-G`.
    Gigabytes,
    /// `-U`: the time of each report in seconds since the epoch.
    EpochSeconds,
    /// `--human`.
    Human,
    /// `--pretty`.
    Pretty,
    /// `--compact`.
    Compact,
    /// `-o JSON`.
    Json,
    /// `--compat=9`.
    OldColumns,
    /// `--compat=12.8`: the colours and empty lines of sysstat 12.8.
    NewLook,
    /// `--latency`.
    Latency,
}

/// The devices to report; a later one is wider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Listing {
    /// The named devices; without names, the whole devices that have done I/O.
    #[default]
    Named,
    /// `ALL`: every whole device.
    Whole,
    /// `-p` alone: also partitions, if they have done I/O.
    UsedPartitions,
    /// `-p ALL`: also partitions.
    Partitions,
}

/// The directory with the files of devices in user space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum UserSpace {
    /// `-f`: read instead of the kernel's files.
    Alone(PathBuf),
    /// `+f`: read in addition to them.
    Added(PathBuf),
}

/// A name on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// A device or partition.
    Device(String),
    /// `-p DEVICE`.
    WithPartitions(String),
    /// `-g NAME`: a group of the devices that follow, if there is none of this name yet.
    Group(String),
    /// `-j TYPE`, in lower case: the names that follow may be links in /dev/disk/by-TYPE.
    Links(String),
}

/// An option of the command line.
struct SwitchRow {
    /// How it is written. One that ends with `=` has its value behind it.
    spelling: &'static str,
    /// Placeholder of its value; empty if it has none, in brackets if it may be left out.
    value: &'static str,
    /// Values that are offered.
    words: &'static [&'static str],
    help: &'static str,
    effect: Effect,
}

#[derive(Clone, Copy)]
enum Effect {
    Set(&'static [Flag]),
    /// Reads the option as it is written, with the value behind its `=`.
    Read(fn(&mut Reader<'_>, &str, &str) -> Result<(), String>),
}

const fn flags(spelling: &'static str, set: &'static [Flag], help: &'static str) -> SwitchRow {
    SwitchRow { spelling, value: "", words: &[], help, effect: Effect::Set(set) }
}

const fn valued(
    spelling: &'static str,
    value: &'static str,
    words: &'static [&'static str],
    read: fn(&mut Reader<'_>, &str, &str) -> Result<(), String>,
    help: &'static str,
) -> SwitchRow {
    SwitchRow { spelling, value, words, help, effect: Effect::Read(read) }
}

/// All options, in the order of the usage. Those of one letter without a value may be grouped.
const ROWS: &[SwitchRow] = &[
    flags("-c", &[Flag::Cpu], "processors"),
    flags("-d", &[Flag::Devices], "devices"),
    flags("-x", &[Flag::Extended], "extended columns"),
    flags("-s", &[Flag::Short], "narrow columns, with -x too"),
    flags("-k", &[Flag::Kilobytes], "kilobytes, the default"),
    flags("-m", &[Flag::Megabytes], "megabytes"),
    flags("-G", &[Flag::Gigabytes], "gigabytes"),
    flags("-h", &[Flag::Human, Flag::Pretty], "--human --pretty"),
    flags("-N", &[Flag::MapperNames], "names of device-mapper devices"),
    valued(
        "-j",
        "TYPE",
        &["ID", "LABEL", "PATH", "UUID"],
        |reader, _, _| reader.links(),
        "names of the links in /dev/disk/by-TYPE: ID, LABEL, PATH, UUID, ...",
    ),
    valued("-p", "[DEVICE,...]", &[], |reader, _, _| reader.partitions(), "partitions too; -p ALL the unused as well"),
    valued("-g", "NAME", &[], |reader, _, _| reader.group(), "a group of the devices that follow, with its sum"),
    flags("-H", &[Flag::SumsOnly], "the sums of groups only"),
    valued(
        "-f",
        "DIR",
        &[],
        |reader, word, _| reader.user_space(word, UserSpace::Alone),
        "devices in user space: DIR/diskstats and DIR/block",
    ),
    valued(
        "+f",
        "DIR",
        &[],
        |reader, word, _| reader.user_space(word, UserSpace::Added),
        "the same in addition to those of the kernel",
    ),
    flags("-t", &[Flag::Time], "the time of each report"),
    flags("-U", &[Flag::Time, Flag::EpochSeconds], "the same in seconds since the epoch"),
    flags("-y", &[Flag::SkipFirst], "no report since boot"),
    flags("-z", &[Flag::BusyOnly], "only devices at work"),
    valued("-o", "JSON", &["JSON"], |reader, _, _| reader.format(), "print JSON"),
    flags("--human", &[Flag::Human], "sizes with a unit that fits"),
    flags("--pretty", &[Flag::Pretty], "the device in the last column"),
    flags("--compact", &[Flag::Compact], "all columns of a device in one line"),
    valued(
        "--dec=",
        "0|1|2",
        &["0", "1", "2"],
        |reader, word, value| reader.decimals(word, value),
        "number of decimals",
    ),
    flags("--compat=9", &[Flag::OldColumns], "the columns of sysstat 9: avgrq-sz, avgqu-sz, svctm"),
    flags("--compat=12.8", &[Flag::NewLook], "the colours of sysstat 12.8; -y leaves one empty line"),
    flags("--latency", &[Flag::Latency], "p50, p99, p99.9 of queue and device; needs root"),
    valued(
        "--root=",
        "DIR",
        &[],
        |reader, _, value| reader.root(value),
        "read DIR/proc and DIR/sys; or replay DIR/0, DIR/1, ... (also PLUMB_ROOT=DIR)",
    ),
    valued("-V", "", &[], |reader, _, _| reader.answer(Command::Version), "the version"),
    valued("--help", "", &[], |reader, _, _| reader.answer(Command::Help), "this text"),
];

/// Parses the words after the program's name.
///
/// # Errors
/// The first word that is invalid; the message names it.
pub fn parse(words: &[String]) -> Result<Command, IostatError> {
    let mut reader = Reader { request: Request::default(), rest: words, numbers: Vec::new(), answer: None };
    while let Some(word) = reader.next() {
        reader.word(word).map_err(IostatError::CommandLine)?;
        if let Some(command) = reader.answer {
            return Ok(command);
        }
    }
    reader.finish().map(|request| Command::Show(Box::new(request))).map_err(IostatError::CommandLine)
}

struct Reader<'a> {
    request: Request,
    rest: &'a [String],
    numbers: Vec<u64>,
    /// The text in place of reports.
    answer: Option<Command>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let (word, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(word)
    }

    fn word(&mut self, word: &'a str) -> Result<(), String> {
        let option = ROWS.iter().find_map(|row| {
            let value = word.strip_prefix(row.spelling)?;
            (row.spelling.ends_with('=') || value.is_empty()).then_some((row, value))
        });
        if let Some((row, value)) = option {
            return match row.effect {
                Effect::Set(flags) => self.set(flags),
                Effect::Read(read) => read(self, word, value),
            };
        }
        if let Some(version) = word.strip_prefix("--compat=") {
            return Err(format!("--compat={version}: the other versions are --compat=9 and --compat=12.8"));
        } else if word.starts_with("--") {
            return Err(format!("{word} is not an option"));
        } else if let Some(letters) = word.strip_prefix('-') {
            return letters.chars().try_for_each(|letter| self.letter(letter));
        } else if is_number(word) {
            self.numbers.push(word.parse().unwrap_or(u64::MAX));
        } else if word == "ALL" {
            self.list(Listing::Whole);
        } else {
            self.request.names.push(Name::Device(word.to_owned()));
        }
        Ok(())
    }

    /// Applies one of several letters in a word.
    fn letter(&mut self, letter: char) -> Result<(), String> {
        let spelled = format!("-{letter}");
        let row = ROWS.iter().find(|row| row.spelling == spelled);
        match row.map(|row| (row.effect, row.value)) {
            Some((Effect::Set(flags), _)) => self.set(flags),
            Some((Effect::Read(read), "")) => read(self, &spelled, ""),
            // Here it takes no names.
            Some((_, value)) if value.starts_with('[') => {
                self.list(Listing::UsedPartitions);
                Ok(())
            }
            Some(_) => Err(format!("{spelled} must stand alone, with its value behind it")),
            None => Err(format!("{spelled} is not an option")),
        }
    }

    fn answer(&mut self, command: Command) -> Result<(), String> {
        self.answer = Some(command);
        Ok(())
    }

    /// Sets flags; of the units only one can be set.
    fn set(&mut self, flags: &[Flag]) -> Result<(), String> {
        self.request.flags.extend(flags);
        let units = [Flag::Kilobytes, Flag::Megabytes, Flag::Gigabytes];
        if units.into_iter().filter(|unit| self.request.has(*unit)).count() > 1 {
            return Err("-k, -m and -G exclude each other: give one of them".into());
        }
        Ok(())
    }

    fn format(&mut self) -> Result<(), String> {
        match self.next() {
            Some("JSON") => self.set(&[Flag::Json]),
            other => Err(format!("-o {}: the only output format is JSON", other.unwrap_or_default())),
        }
    }

    fn group(&mut self) -> Result<(), String> {
        let name = self.next().filter(|name| !name.starts_with('-'));
        let name = name.ok_or("-g wants the name of a group, then its devices: -g data sda sdb")?;
        self.end_of_sorted();
        self.request.names.push(Name::Group(name.to_owned()));
        Ok(())
    }

    fn links(&mut self) -> Result<(), String> {
        let kind = self.next().ok_or("-j wants a type of links in /dev/disk, such as ID, LABEL, PATH or UUID")?;
        self.request.names.push(Name::Links(kind.to_lowercase()));
        self.set(&[Flag::Pretty])
    }

    fn decimals(&mut self, word: &str, value: &str) -> Result<(), String> {
        let decimals = ["0", "1", "2"].into_iter().position(|known| known == value);
        self.request.decimals = Some(decimals.ok_or_else(|| format!("{word}: write --dec=0, --dec=1 or --dec=2"))?);
        Ok(())
    }

    fn root(&mut self, value: &str) -> Result<(), String> {
        self.request.root = Some(directory(value).map_err(|error| error.to_string())?);
        Ok(())
    }

    /// Parses `-p` and its value: any word except an option or a number.
    fn partitions(&mut self) -> Result<(), String> {
        match self.rest.first().filter(|word| !word.starts_with('-') && !is_number(word)) {
            None => self.list(Listing::UsedPartitions),
            Some(value) => {
                self.rest = &self.rest[1..];
                // A name without letters is a name of nothing, and as such no request for all devices.
                for name in value.split(',') {
                    if name == "ALL" {
                        self.list(Listing::Partitions);
                    } else {
                        self.request.names.push(Name::WithPartitions(name.to_owned()));
                    }
                }
            }
        }
        Ok(())
    }

    /// Parses the directory of `-f` and `+f`.
    fn user_space(&mut self, word: &str, given: fn(PathBuf) -> UserSpace) -> Result<(), String> {
        let path =
            self.next().ok_or_else(|| format!("{word} wants a directory with diskstats and block/DEVICE/stat"))?;
        match self.request.user_space.replace(given(path.into())) {
            None => Ok(()),
            Some(_) => Err(format!("{word} {path}: there can be one directory, of -f or of +f")),
        }
    }

    /// The names that follow keep the order in which they are given.
    fn end_of_sorted(&mut self) {
        self.request.sorted.get_or_insert(self.request.names.len());
    }

    /// Sets the listing; of several the widest is used. `ALL` and `-p` alone are `-p ALL`.
    fn list(&mut self, listing: Listing) {
        if listing > Listing::Whole {
            self.end_of_sorted();
        }
        let both = [self.request.listing, listing];
        let all = both.contains(&Listing::Whole) && both.contains(&Listing::UsedPartitions);
        self.request.listing = if all { Listing::Partitions } else { self.request.listing.max(listing) };
    }

    /// Assigns the numbers and rejects options that exclude each other.
    fn finish(self) -> Result<Request, String> {
        let mut request = self.request;
        let (interval, count) = match *self.numbers.as_slice() {
            [] => (0, None),
            [interval] => (interval, None),
            [interval, count] => (interval, Some(count)),
            _ => return Err("there are more than two numbers: give an interval and a count".into()),
        };
        request.interval = NonZeroU64::new(interval);
        request.count = count;
        if count == Some(0) {
            return Err("the count is 0: give how many reports to show".into());
        }
        if count.is_some() && request.interval.is_none() {
            return Err("a count needs an interval of at least one second".into());
        }
        if request.has(Flag::SumsOnly) && request.groups() == 0 {
            return Err("-H shows the sums of groups: name one with -g NAME DEVICE…".into());
        }
        let newer = [Flag::Short, Flag::Json, Flag::Pretty, Flag::Human];
        if request.has(Flag::OldColumns) && newer.iter().any(|flag| request.has(*flag)) {
            return Err("--compat=9 has no -s, -h, -j, --human, --pretty or -o JSON: they came later".into());
        }
        if request.has(Flag::Latency) {
            request.check_latency()?;
        }
        // The heading of a group names no device.
        let wants_devices = request.has(Flag::Extended)
            || request.names_devices()
            || request.listing != Listing::Named
            || !request.has(Flag::Cpu);
        if !request.has(Flag::Devices) {
            request.flags.insert(Flag::Cpu);
        }
        if wants_devices {
            request.flags.insert(Flag::Devices);
        }
        Ok(request)
    }
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the path if it is an existing directory.
///
/// # Errors
/// There is no such directory.
pub fn directory(path: &str) -> Result<PathBuf, IostatError> {
    let path = PathBuf::from(path);
    if path.is_dir() {
        return Ok(path);
    }
    Err(IostatError::CommandLine(format!("root {}: no such directory", path.display())))
}

/// The text of `--help`: every option with its value and one line of help.
pub fn usage() -> String {
    let mut text = String::from("Usage: iostat [options] [interval [count]]\n");
    for row in ROWS {
        let space = if row.value.is_empty() || row.spelling.ends_with('=') { "" } else { " " };
        let _ = writeln!(text, "  {:<16} {}", format!("{}{space}{}", row.spelling, row.value), row.help);
    }
    text + "  DEVICE... | ALL  these devices only; unused ones as well\n\n\
            Examples:\n  iostat -dx 2\n  iostat -xy -o JSON 1 10 sda\n"
}

/// All options for man pages and completions.
pub fn written_options() -> Vec<WrittenOption> {
    let written = |row: &SwitchRow| {
        let placing = match row.value.chars().next() {
            None => Placing::Nowhere,
            Some('[') => Placing::NextOrAbsent,
            Some(_) if row.spelling.ends_with('=') => Placing::OnlyJoined,
            Some(_) => Placing::Next,
        };
        let value = WrittenValue::new(placing, row.value.trim_matches(['[', ']']))
            .of_words(row.words.iter().map(|&word| (word, "")));
        WrittenOption::new("Options", row.spelling.trim_end_matches('='), value, row.help)
    };
    ROWS.iter().map(written).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, IostatError> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    fn request(line: &str) -> Request {
        match parsed(line) {
            Ok(Command::Show(request)) => *request,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn letters_may_be_grouped_and_words_stand_in_any_order() {
        assert_eq!(request("-dx -t sda 2 5"), request("2 sda -t 5 -x -d"));
        assert_eq!(request("-h -d"), request("-d --human --pretty"));
        assert_eq!((request("3").interval, request("3").count), (NonZeroU64::new(3), None));
    }

    #[test]
    fn p_takes_what_is_neither_number_nor_option() {
        let names = |line| request(line).names;
        assert_eq!(names("-p sda,sdb 1"), ["sda", "sdb"].map(|name| Name::WithPartitions(name.into())));
        assert_eq!(
            (request("-p 5 1").listing, request("-p -x").listing),
            (Listing::UsedPartitions, Listing::UsedPartitions)
        );
        assert_eq!(request("-p ALL -p").listing, Listing::Partitions);
        assert_eq!(names("-xp sda"), [Name::Device("sda".into())]);
    }

    #[test]
    fn c_alone_leaves_the_devices_out() {
        let shown = |line| (request(line).has(Flag::Cpu), request(line).has(Flag::Devices));
        assert_eq!((shown(""), shown("-c"), shown("-d")), ((true, true), (true, false), (false, true)));
        assert_eq!((shown("-c sda"), shown("-cx"), shown("-cp")), ((true, true), (true, true), (true, true)));
        // A group's heading names no device.
        assert_eq!((shown("-c -g a"), shown("-c -g a sda")), ((true, false), (true, true)));
    }

    #[test]
    fn what_cannot_be_done_is_refused_by_name() {
        for (line, part) in [
            ("1 0", "count is 0"),
            ("0 3", "interval"),
            ("1 2 3", "more than two"),
            ("-km", "-k, -m and -G"),
            ("-G -k", "-k, -m and -G"),
            ("-T", "-T is not an option"),
            ("--dec=A", "--dec=A"),
            ("-o XML", "-o XML"),
            ("-xo JSON", "must stand alone"),
            ("-H", "-g"),
            ("-g", "name of a group"),
            ("-j", "-j wants"),
            ("-jID", "must stand alone"),
            ("-f", "-f wants a directory"),
            ("-f /tmp +f /tmp", "one directory"),
            ("-df /tmp", "must stand alone"),
            ("--compat=8", "--compat=9"),
            ("--compat=9 -s", "came later"),
            ("--root=/no/such", "/no/such"),
            ("--latency", "--latency wants an interval"),
            ("--latency --root=/ 1", "leave out --root"),
            ("--latency -H -g a sda 1", "leave out -H"),
            ("--foo", "--foo is not an option"),
        ] {
            let error = parsed(line).expect_err(line).to_string();
            assert!(error.contains(part), "{line}: {error}");
        }
    }
}
