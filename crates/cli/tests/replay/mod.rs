//! Records of I/Os as their users meet them: fio's are replayed by plumb and plumb's by fio, with the same I/Os; and
//! every way to name a record, to change it and to get it wrong.

mod names;
mod oracle;

use crate::context::fio;
use house::Directory;
use std::path::Path;

/// Standard output of a `plumb fio` that must succeed.
fn succeed(directory: impl Directory, words: &[&str]) -> String {
    fio(directory, words).stdout()
}

/// Standard error of a `plumb fio` that must fail.
fn fail(directory: impl Directory, words: &[&str]) -> String {
    fio(directory, words).stderr()
}

/// The I/Os of a record: `FILE ACTION OFFSET LENGTH`, without their times.
fn ios(directory: &Path, log: &str) -> Vec<String> {
    let text = std::fs::read_to_string(directory.join(log)).expect("a record");
    let io = |line: &str| {
        let words: Vec<&str> = line.split(' ').skip(1).collect();
        (words.len() == 4).then(|| words.join(" "))
    };
    text.lines().skip(1).filter_map(io).collect()
}
