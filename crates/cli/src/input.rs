//! Input of commands: words as text, files or standard input, damage in results, and the exit status.

use crate::failure::Failure;
use crate::output::Verbosity;
use analysis::compare::Metric;
use analysis::report_card::{self, PROFILES, Profile};
use formats::results::{LocatedResult, LocatedRow, Results, results};
use formats::stream::Repeats;
use formats::sweep::LogKind;
use model::reading::Damage;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use sys::files::read_limited;

/// Exit status if a part of the input could not be read.
pub(crate) const PARTIAL: u8 = 3;
/// Maximum size in bytes of a file that is held in memory.
pub(crate) const LARGEST: u64 = 1 << 30;

/// Maximum number of messages about damage per file; further damage is only counted.
pub(crate) const MOST_MESSAGES: usize = 50;

/// Converts a command line to UTF-8.
pub(crate) fn words(words: &[OsString]) -> Result<Vec<String>, Failure> {
    let text = |word: &OsString| {
        let shown = word.display();
        let refused = || format!("{shown} is not UTF-8; options and job files are text, so give the file another name");
        word.to_str().map(str::to_owned).ok_or_else(|| Failure::new(refused()))
    };
    words.iter().map(text).collect()
}

/// Returns the kind of values in a log, by its file name.
pub(crate) fn log_kind(path: &Path) -> Option<LogKind> {
    LogKind::of_file(&path.file_name()?.to_string_lossy())
}

/// True for a log of fio without a line, as `*_slat.1.log` of an engine that has no such latency.
pub(crate) fn is_empty_log(path: &Path) -> bool {
    log_kind(path).is_some() && path.metadata().is_ok_and(|found| found.is_file() && found.len() == 0)
}

/// Says that a log is empty, which is not an error.
pub(crate) fn remark_empty_log(path: &Path, verbosity: Verbosity) {
    Failure::at(path, "is empty: fio logged no value of this kind").remark(verbosity);
}

/// Parses a share that is a tolerance or a precision: `5%`, `0.5 %`. Returns 0.05.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let wrong = || format!("{text} is not a share above 0 % and below 100 %; write it like 5% or 0.5%");
    let digits = text.strip_suffix('%').ok_or_else(wrong)?.trim_end();
    let percent: f64 = digits.parse().map_err(|_| wrong())?;
    if percent > 0.0 && percent < 100.0 { Ok(percent / 100.0) } else { Err(wrong()) }
}

/// Parses a number that comparisons judge.
pub(crate) fn metric(word: &str) -> Result<Metric, String> {
    let known = || Metric::asked_for().map(Metric::word).collect::<Vec<_>>().join(", ");
    let found = Metric::asked_for().find(|metric| metric.word() == word);
    found.ok_or_else(|| format!("{word} is not a number that is compared; there are {}", known()))
}

/// The profile of grades with this name.
pub(crate) fn profile_of_grades(name: &str) -> Result<&'static Profile, Failure> {
    report_card::profile(name).ok_or_else(|| {
        let known: Vec<String> = PROFILES.iter().map(|known| format!("{} ({})", known.name, known.help)).collect();
        let known = known.join(", ");
        Failure::new(format!("--profile {name} is not known; there are {known}; without --profile the disk chooses"))
    })
}

/// A file of results, and the name of the system that it was measured on, if one was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedFile {
    pub(crate) name: Option<String>,
    pub(crate) path: PathBuf,
}

/// Splits `NAME=FILE`; the name is that of the files that follow, too, up to the next name. A file whose own name holds
/// `=` is a file if it exists.
pub(crate) fn named(files: &[PathBuf]) -> Vec<NamedFile> {
    let mut name: Option<String> = None;
    let mut found = Vec::new();
    for path in files {
        let split = path
            .to_str()
            .and_then(|text| text.split_once('='))
            .filter(|(name, _)| !name.is_empty() && !name.contains('/'));
        match split.filter(|_| !path.exists()) {
            Some((given, file)) => {
                name = Some(given.to_owned());
                if !file.is_empty() {
                    found.push(NamedFile { name: name.clone(), path: PathBuf::from(file) });
                }
            }
            None => found.push(NamedFile { name: name.clone(), path: path.clone() }),
        }
    }
    found
}

/// Opens a file, the result of a run in the store (by its ID, a name, `last`), or standard input for `-`. A file comes
/// first.
pub(crate) fn open(path: &Path) -> Result<Box<dyn Read>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin()));
    }
    match File::open(path) {
        Ok(file) => Ok(Box::new(file)),
        #[cfg(feature = "store")]
        Err(error) if error.kind() == ErrorKind::NotFound => match crate::store::stored(path)? {
            Some(bytes) => Ok(Box::new(io::Cursor::new(bytes))),
            None => Err(unreadable(path, &error)),
        },
        Err(error) => Err(unreadable(path, &error)),
    }
}

pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::IsADirectory => Failure::at(path, format!("is a directory; name its files: {}/*", path.display())),
        _ => Failure::at(path, format!("cannot be read: {error}")),
    }
}

/// Reads a whole file into memory.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    read_limited::read_from(open(path)?, LARGEST).map_err(|error| match error.kind() {
        ErrorKind::FileTooLarge => Failure::at(path, "is larger than 1 GiB; split it"),
        _ => unreadable(path, &error),
    })
}

/// Reads the results in a file and reports damage on standard error. Returns them with the number of damaged places; a
/// file without results counts as one.
pub(crate) fn read_results(path: &Path, verbosity: Verbosity) -> Result<(Vec<LocatedResult>, usize), Failure> {
    if is_empty_log(path) {
        remark_empty_log(path, verbosity);
        return Ok((Vec::new(), 0));
    }
    Ok(results_in(path, &read_bytes(path)?, verbosity))
}

/// The same with the rows of iozone's tables, which checks judge though they are no results.
pub(crate) fn read_with_rows(
    path: &Path,
    verbosity: Verbosity,
) -> Result<(Vec<LocatedResult>, Vec<LocatedRow>, usize), Failure> {
    if is_empty_log(path) {
        remark_empty_log(path, verbosity);
        return Ok((Vec::new(), Vec::new(), 0));
    }
    let mut all = results(&read_bytes(path)?);
    let rows = std::mem::take(&mut all.iozone);
    if !rows.is_empty() && all.found.is_empty() && all.damages.is_empty() {
        return Ok((Vec::new(), rows, 0));
    }
    if !rows.is_empty() {
        all.without_result.clear();
    }
    let (found, damaged) = reported(path, all, verbosity);
    Ok((found, rows, damaged))
}

/// The same for the content of a file.
pub(crate) fn results_in(path: &Path, bytes: &[u8], verbosity: Verbosity) -> (Vec<LocatedResult>, usize) {
    reported(path, results(bytes), verbosity)
}

/// Reports damage, and that there is no result.
fn reported(path: &Path, all: Results, verbosity: Verbosity) -> (Vec<LocatedResult>, usize) {
    let Results { found, damages, repeats, without_result, iozone: _ } = all;
    damages.iter().for_each(|damage| print_damage(path, damage));
    print_repeats(path, &repeats, verbosity);
    // A damaged place says itself why there is none.
    if found.is_empty() && (damages.is_empty() || !without_result.is_empty()) {
        let why = match without_result.as_slice() {
            [] => "no result was found; give a file that plumb parse can read".to_owned(),
            formats => format!(
                "{} states rates or times without the jobs that they are of, so there is no result; give the report of \
                 the run",
                formats.join(", ")
            ),
        };
        Failure::at(path, why).print();
    }
    let count = damages.len() + usize::from(found.is_empty());
    (found, count)
}

/// Prints a message about a damaged place in a file.
pub(crate) fn print_damage(path: &Path, damage: &Damage) {
    Failure::new(format!("{}:{}: {}", path.display(), damage.line, damage.what)).print();
}

/// Prints which reports of a file are not counted, because another one has the same run.
pub(crate) fn print_repeats(path: &Path, repeats: &Repeats, verbosity: Verbosity) {
    for (line, message) in repeats.messages() {
        Failure::new(format!("{}:{line}: {message}", path.display())).remark(verbosity);
    }
}

/// Returns the exit status of a command that found `found` results and `damaged` places that could not be read: 1 if
/// nothing was found.
pub(crate) fn status(found: usize, damaged: usize) -> u8 {
    match (found, damaged) {
        (0, _) => 1,
        (_, 0) => 0,
        _ => PARTIAL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tolerance_is_a_share_in_percent() {
        for (text, expected) in [("5%", 0.05), ("0.5 %", 0.005), ("99%", 0.99)] {
            assert!(share(text).is_ok_and(|found| (found - expected).abs() < 1e-12), "{text}");
        }
        for text in ["", "5", "0%", "-1%", "100%", "NaN%", "x%", "inf%"] {
            assert!(share(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_name_belongs_to_the_files_after_it() {
        let words = ["first.json", "Disk A=a-1.json", "a-8.json", "B=", "b-1.json", "./c=d.json"].map(PathBuf::from);
        let found = named(&words);
        let shown: Vec<(Option<&str>, &str)> =
            found.iter().map(|file| (file.name.as_deref(), file.path.to_str().unwrap_or_default())).collect();
        assert_eq!(
            shown,
            [
                (None, "first.json"),
                (Some("Disk A"), "a-1.json"),
                (Some("Disk A"), "a-8.json"),
                (Some("B"), "b-1.json"),
                (Some("B"), "./c=d.json"),
            ]
        );
    }
}
