//! Names of files that a job creates or finds.

use crate::error::file_error;
use model::JobError;
use std::path::{Path, PathBuf};

/// A generated file name: the variables of `format` are replaced, in any case. The job's name may be a path. Otherwise
/// a replacement never leads to another directory than the format says: a path component that becomes `.` or `..` by
/// replacement is written as underscores, and one that becomes empty is omitted.
pub(super) fn generated(format: &str, job: &str, clone: u32, file: u32) -> String {
    let (clone, file) = (clone.to_string(), file.to_string());
    // There is no client without a server, so `$clientuid` is replaced by nothing.
    let words = [("$jobname", job), ("$jobnum", clone.as_str()), ("$filenum", file.as_str()), ("$clientuid", "")];
    let parts = format.split('/').filter_map(|part| match replaced(part, &words) {
        name if name == part => Some(name),
        name if name.is_empty() => None,
        name if name == "." || name == ".." => Some("_".repeat(name.len())),
        name => Some(name),
    });
    parts.collect::<Vec<_>>().join("/")
}

fn replaced(part: &str, words: &[(&str, &str)]) -> String {
    let mut name = String::new();
    let mut rest = part;
    while let Some(letter) = rest.chars().next() {
        let word =
            words.iter().find(|(word, _)| rest.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)));
        match word {
            Some((word, meaning)) => {
                name.push_str(meaning);
                rest = &rest[word.len()..];
            }
            None => {
                name.push(letter);
                rest = &rest[letter.len_utf8()..];
            }
        }
    }
    name
}

/// Adds every regular file below a directory, in the order of their names. Symbolic links are not followed: they may
/// lead anywhere, and form loops.
pub(super) fn below(directory: &Path, paths: &mut Vec<PathBuf>) -> Result<(), JobError> {
    let wrong = |error: std::io::Error| file_error("read the directory", directory, error, "");
    let mut entries = std::fs::read_dir(directory).map_err(wrong)?.collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    entries.sort_by_cached_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let kind = entry.file_type().map_err(wrong)?;
        if kind.is_dir() {
            below(&entry.path(), paths)?;
        } else if kind.is_file() {
            paths.push(entry.path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::generated;

    #[test]
    fn the_words_of_a_format_are_replaced_whatever_their_case() {
        for (format, expected) in [
            ("$jobname.$jobnum.$filenum", "a.2.7"),
            ("$JOBNAME/x$JobNum_$filenum", "a/x2_7"),
            ("$clientuid$jobnames$other$", "as$other$"),
            ("\u{e4}$\u{e4}", "\u{e4}$\u{e4}"),
        ] {
            assert_eq!(generated(format, "a", 2, 7), expected, "{format}");
        }
    }

    #[test]
    fn what_a_word_stands_for_leads_nowhere() {
        for (format, job, expected) in [
            ("$jobname/x", "..", "__/x"),
            ("$jobname/$jobname/x.$filenum", "..", "__/__/x.7"),
            (".$clientuid./x", "a", "__/x"),
            (".$jobname/x", ".", "__/x"),
            ("$clientuid/etc/x", "a", "etc/x"),
            ("$clientuid.$jobname", ".", "__"),
            ("../$jobname", "a", "../a"),
            ("/data//$jobname", "..a", "/data//..a"),
        ] {
            assert_eq!(generated(format, job, 2, 7), expected, "{format}");
        }
    }
}
