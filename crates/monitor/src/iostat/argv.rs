//! iostat's command line. Letters may be grouped; options and names may be in any order.

use super::IostatError;
use super::options::{self, Does, Row};
use super::request::{Flag, Listing, Name, Request, UserSpace};
use std::num::NonZeroU64;
use std::path::PathBuf;

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

/// Parses the words after the program's name.
///
/// # Errors
/// The first word that is invalid; the message names it.
pub fn parse(words: &[String]) -> Result<Command, IostatError> {
    let mut reader = Reader { request: Request::default(), rest: words, numbers: Vec::new() };
    while let Some(word) = reader.next() {
        if let Some(command) = reader.word(word).map_err(IostatError::CommandLine)? {
            return Ok(command);
        }
    }
    reader.finish().map(|request| Command::Show(Box::new(request))).map_err(IostatError::CommandLine)
}

struct Reader<'a> {
    request: Request,
    rest: &'a [String],
    numbers: Vec<u64>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let (word, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(word)
    }

    fn word(&mut self, word: &'a str) -> Result<Option<Command>, String> {
        if let Some((row, value)) = options::find(word) {
            return self.option(row, word, value);
        }
        if let Some(version) = word.strip_prefix("--compat=") {
            return Err(format!("--compat={version}: the other versions are --compat=9 and --compat=12.8"));
        } else if word.starts_with("--") {
            return Err(format!("{word} is not an option"));
        } else if let Some(letters) = word.strip_prefix('-') {
            return self.letters(letters);
        } else if !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit()) {
            self.numbers.push(word.parse().unwrap_or(u64::MAX));
        } else if word == "ALL" {
            self.list(Listing::Whole);
        } else {
            self.request.names.push(Name::Device(word.to_owned()));
        }
        Ok(None)
    }

    /// Applies an option that is a whole word, with the value behind its `=`.
    fn option(&mut self, row: &Row, word: &str, value: &str) -> Result<Option<Command>, String> {
        match row.does {
            Does::Set(flags) => self.set(flags)?,
            Does::Version => return Ok(Some(Command::Version)),
            Does::Help => return Ok(Some(Command::Help)),
            Does::Partitions => self.partitions(),
            Does::Format => match self.next() {
                Some("JSON") => drop(self.request.flags.insert(Flag::Json)),
                other => return Err(format!("-o {}: the only output format is JSON", other.unwrap_or_default())),
            },
            Does::Group => match self.next() {
                Some(name) if !name.starts_with('-') => self.request.names.push(Name::Group(name.to_owned())),
                _ => return Err("-g wants the name of a group, then its devices: -g data sda sdb".into()),
            },
            Does::Links => {
                let kind =
                    self.next().ok_or("-j wants a type of links in /dev/disk, such as ID, LABEL, PATH or UUID")?;
                self.request.names.push(Name::Links(kind.to_lowercase()));
                self.request.flags.insert(Flag::Pretty);
            }
            Does::UserSpace(given) => self.user_space(word, given)?,
            Does::Decimals => {
                self.request.decimals = match value {
                    "0" => Some(0),
                    "1" => Some(1),
                    "2" => Some(2),
                    _ => return Err(format!("{word}: write --dec=0, --dec=1 or --dec=2")),
                };
            }
            Does::Root => self.request.root = Some(directory(value).map_err(|error| error.to_string())?),
        }
        Ok(None)
    }

    fn letters(&mut self, letters: &str) -> Result<Option<Command>, String> {
        for letter in letters.chars() {
            match options::find_letter(letter).map(|row| row.does) {
                Some(Does::Set(flags)) => self.set(flags)?,
                Some(Does::Partitions) if self.request.listing == Listing::Named => {
                    self.request.listing = Listing::UsedPartitions;
                }
                Some(Does::Partitions) => {}
                Some(Does::Version) => return Ok(Some(Command::Version)),
                Some(_) => return Err(format!("-{letter} must stand alone, with its value behind it")),
                None => return Err(format!("-{letter} is not an option")),
            }
        }
        Ok(None)
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

    /// Parses `-p` and its value: any word except an option or a number.
    fn partitions(&mut self) {
        let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        let value = self.rest.first().filter(|word| !word.starts_with('-') && !is_number(word));
        let Some(value) = value else { return self.list(Listing::UsedPartitions) };
        self.rest = &self.rest[1..];
        for name in value.split(',').filter(|name| !name.is_empty()) {
            if name == "ALL" {
                self.list(Listing::Partitions);
            } else {
                self.request.names.push(Name::WithPartitions(name.to_owned()));
            }
        }
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

    /// Sets the listing; of several the widest is used.
    fn list(&mut self, listing: Listing) {
        let width = |listing| match listing {
            Listing::Named => 0,
            Listing::Whole => 1,
            Listing::UsedPartitions => 2,
            Listing::Partitions => 3,
        };
        if width(listing) > width(self.request.listing) {
            self.request.listing = listing;
        }
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
        let grouped = request.groups() > 0;
        if request.has(Flag::SumsOnly) && !grouped {
            return Err("-H shows the sums of groups: name one with -g NAME DEVICE…".into());
        }
        let newer = [Flag::Short, Flag::Json, Flag::Pretty, Flag::Human];
        if request.has(Flag::OldColumns) && newer.iter().any(|flag| request.has(*flag)) {
            return Err("--compat=9 has no -s, -h, -j, --human, --pretty or -o JSON: they came later".into());
        }
        let wants_devices = grouped
            || request.has(Flag::Extended)
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
            ("--foo", "--foo is not an option"),
        ] {
            let error = parsed(line).expect_err(line).to_string();
            assert!(error.contains(part), "{line}: {error}");
        }
    }
}
