//! `plumb-mpi`: one process of it for each rank of an MPI job. It starts a member, and on rank 0 the leader, and then
//! only carries their messages.
//!
//! Both are started before MPI is: a process with MPI in it must not fork, and plumb forks its workers. `plumb cluster
//! --mpi` replaces itself by this program, so the process that mpirun or srun has started is the one that calls MPI.

#![forbid(unsafe_code)]

mod carry;
mod launcher;
mod member;
mod pace;
mod pipe;

use carry::Relay;
use launcher::Launcher;
use member::Member;
use pipe::LeaderPipe;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::process::ExitCode;
use sys::processes::mpi::{Loaded, load};

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let launcher = Launcher::here();
    match run(&words, &launcher) {
        Ok(status) => ExitCode::from(status),
        Err(RelayError::All(why)) if launcher.is_first() => failed(&why),
        Err(RelayError::All(_)) => ExitCode::FAILURE,
        Err(RelayError::One(why)) => failed(&why),
    }
}

/// The end of a relay that has not carried to the end.
enum RelayError {
    /// All processes of the launcher fail in this way, and one of them says so.
    All(String),
    One(String),
}

fn failed(why: &str) -> ExitCode {
    say(why);
    ExitCode::FAILURE
}

/// Words of `plumb cluster`: `--program PLUMB [--library LIBRARY] -- WORD ...`.
struct RelayWords<'a> {
    program: &'a OsStr,
    library: Option<&'a OsStr>,
    words: &'a [OsString],
}

impl<'a> RelayWords<'a> {
    fn read(words: &'a [OsString]) -> Option<Self> {
        match words {
            [first, program, rest @ ..] if first == "--program" => match rest {
                [end, words @ ..] if end == "--" => Some(RelayWords { program, library: None, words }),
                [name, library, end, words @ ..] if name == "--library" && end == "--" => {
                    Some(RelayWords { program, library: Some(library), words })
                }
                _ => None,
            },
            _ => None,
        }
    }
}

fn run(words: &[OsString], launcher: &Launcher) -> Result<u8, RelayError> {
    if words == ["--version"] {
        // Nothing can be done about a closed output.
        let _ = writeln!(std::io::stdout(), "plumb-mpi {}", env!("CARGO_PKG_VERSION"));
        return Ok(0);
    }
    let usage = "plumb cluster --mpi starts this program: mpirun -n 8 plumb cluster --mpi fio job.fio";
    let asked = RelayWords::read(words).ok_or_else(|| RelayError::All(usage.to_owned()))?;
    let library = library(asked.library, launcher).map_err(RelayError::All)?;
    let name = library.name();
    let failed = |error: std::io::Error| RelayError::One(format!("{}: {error}", asked.program.display()));
    // A launcher waits until its own descriptors are closed everywhere.
    sys::files::inherited::keep_from_others();
    let member = Member::start(asked.program).map_err(failed)?;
    let leader = LeaderPipe::start(asked.program, asked.words).map_err(failed)?;
    launcher.doubt().filter(|_| launcher.is_first()).iter().for_each(|doubt| say(doubt));
    let world = library.initialise().map_err(|error| RelayError::One(format!("{name}: {error}")))?;
    if let Some(why) = launcher.contradiction(world.size(), &name) {
        return Err(RelayError::All(why));
    }
    // The others' leaders find the end of their input, and have nothing to lead.
    let leader = (world.rank() == 0).then_some(leader);
    Relay::new(world, &name, member, leader).and_then(Relay::carry).map_err(RelayError::One)
}

/// Loads the library that was named, or the first one that fits.
fn library(named: Option<&OsStr>, launcher: &Launcher) -> Result<Loaded, String> {
    if let Some(name) = named {
        return load(name).map_err(|error| format!("--mpi={}: {error}", name.display()));
    }
    let mut reasons = Vec::new();
    for name in launcher.libraries() {
        match load(OsStr::new(name)) {
            Ok(library) => return Ok(library),
            Err(error) => reasons.push(format!("{name}: {error}")),
        }
    }
    let reasons = reasons.join("\n  ");
    Err(format!(
        "no MPI library can be loaded; load the module of your site, or name it with --mpi=/path/of/libmpi.so\n  {reasons}"
    ))
}

fn say(text: &str) {
    // Standard error may be closed.
    let _ = writeln!(std::io::stderr(), "plumb-mpi: {text}");
}
