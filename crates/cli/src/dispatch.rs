//! Selects the command: by the name that the program was called by, or by its first word.

use crate::failure::Failure;
use crate::{fio, iostat, iozone, native, survey};
use std::ffi::OsString;
use std::path::Path;

/// Programs that plumb replaces when it is called by their name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DropIn {
    Fio,
    FioSh,
    Iozone,
    Iostat,
}

/// Runs the command in `words` (program name first). Returns the exit status, or the reason why nothing was done.
pub(crate) fn run(words: &[OsString]) -> Result<u8, Failure> {
    match choose(words) {
        Some((DropIn::Fio, rest)) => fio::run(rest),
        Some((DropIn::FioSh, rest)) => survey::run_fio_sh(rest),
        Some((DropIn::Iozone, rest)) => iozone::run(rest),
        Some((DropIn::Iostat, rest)) => iostat::run(rest),
        None => native::run(words),
    }
}

/// Returns the drop-in program and its words; `None` for plumb's native commands.
fn choose(words: &[OsString]) -> Option<(DropIn, &[OsString])> {
    let (program, rest) = words.split_first()?;
    let called = Path::new(program).file_name()?.to_str()?;
    if let Some(drop_in) = named(called) {
        return Some((drop_in, rest));
    }
    let (first, rest) = rest.split_first()?;
    Some((named(first.to_str()?)?, rest))
}

fn named(name: &str) -> Option<DropIn> {
    match name {
        "fio" => Some(DropIn::Fio),
        "fio.sh" => Some(DropIn::FioSh),
        "iozone" => Some(DropIn::Iozone),
        "iostat" => Some(DropIn::Iostat),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_name_wins_over_the_first_word() {
        let cases = [
            (&["fio", "--version"][..], Some((DropIn::Fio, &["--version"][..]))),
            (&["/usr/local/bin/fio", "iostat"], Some((DropIn::Fio, &["iostat"]))),
            (&["plumb", "fio", "job.fio"], Some((DropIn::Fio, &["job.fio"]))),
            (&["fio.sh", "-h"], Some((DropIn::FioSh, &["-h"]))),
            (&["plumb", "iostat"], Some((DropIn::Iostat, &[]))),
            (&["iozone", "-a"], Some((DropIn::Iozone, &["-a"]))),
            (&["plumb", "survey", "."], None),
            (&["plumb"], None),
            (&[], None),
        ];
        for (words, expected) in cases {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            let found = choose(&words).map(|(drop_in, rest)| (drop_in, rest.to_vec()));
            let expected = expected.map(|(drop_in, rest)| (drop_in, rest.iter().map(OsString::from).collect()));
            assert_eq!(found, expected, "{words:?}");
        }
    }
}
