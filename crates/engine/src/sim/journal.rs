//! Journal of the simulated device: sizes of submissions and reaps, for tests of batching.

use super::NAME;
use crate::contract::EngineError;
use std::fs::File;
use std::io::{BufWriter, Error, Read, Write};
use std::path::Path;

/// Writes one line per flush and reap. Dropping the engine writes what is still buffered.
#[derive(Debug)]
pub(super) struct Journal {
    file: BufWriter<File>,
}

impl Journal {
    pub(super) fn create(path: &str) -> Result<Self, EngineError> {
        let not_created = |error: Error| broken(&format!("cannot create {path}"), &error);
        let there = Path::new(path);
        if there.is_file() && !File::open(there).and_then(|file| is_journal(&file)).map_err(not_created)? {
            let what = format!("{path} holds something else than a journal; name another file or move it away");
            return Err(broken(&what, &Error::from_raw_os_error(libc::EEXIST)));
        }
        let file = sys::files::output_file::create(there).map_err(not_created)?;
        Ok(Journal { file: BufWriter::new(file) })
    }

    pub(super) fn submitted(&mut self, count: u32) -> Result<(), EngineError> {
        writeln!(self.file, "submit {count}").map_err(|error| broken("cannot write", &error))
    }

    pub(super) fn reaped(&mut self, min: u32, max: u32, count: u32) -> Result<(), EngineError> {
        writeln!(self.file, "reap {min} {max} {count}").map_err(|error| broken("cannot write", &error))
    }
}

/// True if a file is empty or begins like an earlier journal: other files are not overwritten.
fn is_journal(mut file: &File) -> std::io::Result<bool> {
    const LOOKED_AT: u64 = 4096;
    let mut head = Vec::new();
    Read::by_ref(&mut file).take(LOOKED_AT).read_to_end(&mut head)?;
    // The last line may continue past the bytes read, or may be incomplete.
    let whole = head.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let Ok(lines) = std::str::from_utf8(&head[..whole]) else { return Ok(false) };
    let entry = |line: &str| {
        let mut words = line.split(' ');
        let numbers = match words.next() {
            Some("submit") => 1,
            Some("reap") => 3,
            _ => return false,
        };
        let words: Vec<&str> = words.collect();
        words.len() == numbers && words.iter().all(|word| word.parse::<u32>().is_ok())
    };
    Ok(head.is_empty() || whole > 0 && lines.lines().all(entry))
}

fn broken(what: &str, error: &Error) -> EngineError {
    EngineError {
        engine: NAME,
        operation: "sim_journal",
        message: format!("{what}: {error}"),
        errno: sys::files::output_file::errno(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_empty_file_or_an_earlier_journal_is_written_over() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        let shown = path.to_str().unwrap();
        for round in 1..=2 {
            let mut journal = Journal::create(shown).unwrap();
            journal.submitted(round).unwrap();
            journal.reaped(1, 4, round).unwrap();
            drop(journal);
            assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("submit {round}\nreap 1 4 {round}\n"));
        }
        for text in ["my thesis\n", "my thesis", "submit 1\nmy thesis\n", "submit\n", "reap 1 2\n", "\n"] {
            std::fs::write(&path, text).unwrap();
            let error = Journal::create(shown).unwrap_err();
            assert!(error.message.contains("something else than a journal"), "{text}: {error}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }
}
