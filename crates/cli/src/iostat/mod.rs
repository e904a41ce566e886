//! `plumb iostat`: the command line and the reports of sysstat's iostat.
//!
//! Owns the loop, its timing, its end by a signal, and the environment. Leaves options and samples to `monitor::iostat`
//! and layout to `formats::iostat`.

mod surroundings;

use crate::failure::Failure;
use crate::output::Output;
use formats::iostat::{Columns, Host, Layout, Naming, Report, Spelling, Unit, json, text};
use monitor::iostat::{self, Command, Flag, IostatError, Request, Sampling};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use surroundings::Surroundings;

/// Runs iostat's command line and returns the exit status.
pub(crate) fn run(words: &[OsString]) -> Result<u8, Failure> {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mistake = |error: IostatError| Failure::new(format!("iostat: {error}\n{}", iostat::usage()));
    let request = match iostat::parse(&words).map_err(mistake)? {
        Command::Help => return Output::stdout().write(&iostat::usage()).map(|()| 0),
        Command::Version => {
            let version = env!("CARGO_PKG_VERSION");
            return Output::stdout().write(&format!("sysstat version 12.6.1 (plumb {version})\n")).map(|()| 0);
        }
        Command::Show(request) => *request,
    };
    let surroundings = Surroundings::of(&request)?;
    let root = match (&request.root, &surroundings.root) {
        (Some(root), _) => root.clone(),
        (None, Some(root)) => iostat::directory(root).map_err(mistake)?,
        (None, None) => PathBuf::from("/"),
    };
    let source = Source::under(root);
    request.check(source.sample(0).unwrap_or(Path::new("/"))).map_err(mistake)?;
    show(&request, &source, &surroundings)
}

/// The source of samples: a live system or a recording.
enum Source {
    /// A root directory whose files change.
    Live(PathBuf),
    /// Recorded roots, one for each sample.
    Recorded(Vec<PathBuf>),
}

impl Source {
    /// A directory that contains `0`, `1` and so on is a recording.
    fn under(root: PathBuf) -> Self {
        let samples: Vec<PathBuf> =
            (0..).map(|number: u64| root.join(number.to_string())).take_while(|sample| sample.is_dir()).collect();
        if samples.is_empty() { Source::Live(root) } else { Source::Recorded(samples) }
    }

    /// Returns the root of the sample with this number; `None` after the end of a recording.
    fn sample(&self, number: u64) -> Option<&Path> {
        match self {
            Source::Live(root) => Some(root),
            Source::Recorded(samples) => samples.get(usize::try_from(number).ok()?).map(PathBuf::as_path),
        }
    }
}

fn show(request: &Request, source: &Source, surroundings: &Surroundings) -> Result<u8, Failure> {
    let signals = sys::processes::signals::Watch::begin().map_err(|error| Failure::new(format!("iostat: {error}")))?;
    let layout = layout(request, surroundings);
    let mut output = Output::stdout();
    let first = source.sample(0).unwrap_or(Path::new("/"));
    let host = host(first, surroundings);
    output.write(&if request.has(Flag::Json) { json::head(&host) } else { text::head(&host) })?;
    let mut sampling = Sampling::default();
    let (began, mut shown) = (Instant::now(), 0_u64);
    for number in 0_u64.. {
        let Some(root) = source.sample(number) else { break };
        let difference = sampling.next(root, request).map_err(|error| Failure::new(format!("iostat: {error}")))?;
        if number == 0 && request.has(Flag::SkipFirst) && request.interval.is_some() {
            // sysstat 12.8 has no second empty line here.
            output.write(if request.has(Flag::NewLook) { "" } else { "\n" })?;
        } else {
            let report = Report {
                moment: request.has(Flag::Time).then(|| surroundings.moment()),
                cpu: request.has(Flag::Cpu).then_some(difference.cpu),
                devices: request.has(Flag::Devices).then_some(difference.devices),
            };
            if request.has(Flag::Json) {
                let before = if shown > 0 { json::SEPARATOR } else { "" };
                output.write(&(before.to_owned() + &json::report(&report, layout.columns, layout.unit)))?;
            } else {
                output.write(&text::report(&report, &layout))?;
            }
            shown += 1;
        }
        let Some(interval) = request.interval else { break };
        if request.count.is_some_and(|count| shown >= count) {
            break;
        }
        // Relative to the start of the program and not to the last report, so that the intervals do not drift.
        let next = Duration::from_secs(interval.get().saturating_mul(number + 1));
        if matches!(source, Source::Live(_)) && wait(began, next, &signals) == Woken::BySignal {
            break;
        }
    }
    if request.has(Flag::Json) {
        let end = if shown > 0 { "\n" } else { "" };
        output.write(&(end.to_owned() + json::TAIL))?;
    }
    Ok(0)
}

/// The reason why a wait ended.
#[derive(PartialEq, Eq)]
enum Woken {
    InTime,
    BySignal,
}

/// Waits until `next` after `began`, in steps of 200 ms, because a signal that arrives between the check and the sleep
/// would otherwise be noticed only at the end.
fn wait(began: Instant, next: Duration, signals: &sys::processes::signals::Watch) -> Woken {
    const PIECE: Duration = Duration::from_millis(200);
    loop {
        if signals.count() > 0 {
            return Woken::BySignal;
        }
        let Some(left) = next.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) else { return Woken::InTime };
        let piece = left.min(PIECE);
        let time = rustix::time::Timespec { tv_sec: 0, tv_nsec: piece.subsec_nanos().into() };
        // It does not matter if a signal ended the sleep early: the loop checks the time again.
        let _ = rustix::thread::nanosleep(&time);
    }
}

fn layout(request: &Request, surroundings: &Surroundings) -> Layout {
    let columns = match (request.has(Flag::Extended), request.has(Flag::Short), request.has(Flag::OldColumns)) {
        (true, _, true) => Columns::ExtendedOld,
        (false, _, true) => Columns::BasicOld,
        (true, true, _) => Columns::ExtendedShort,
        (true, false, _) => Columns::Extended,
        (false, true, _) => Columns::BasicShort,
        (false, false, _) => Columns::Basic,
    };
    let naming = match (request.has(Flag::Pretty), columns, request.has(Flag::Compact)) {
        (false, _, _) => Naming::First,
        (true, Columns::Extended, false) => Naming::LastCut,
        (true, _, _) => Naming::Last,
    };
    Layout {
        columns,
        unit: match [Flag::Kilobytes, Flag::Megabytes, Flag::Gigabytes].map(|unit| request.has(unit)) {
            [_, true, _] => Unit::Megabytes,
            [_, _, true] => Unit::Gigabytes,
            [false, _, _] if surroundings.blocks => Unit::Blocks,
            _ => Unit::Kilobytes,
        },
        decimals: request.decimals.unwrap_or(2),
        spelling: if request.has(Flag::Human) { Spelling::Human } else { Spelling::Plain },
        naming,
        colours: surroundings.colours.clone(),
        decimal_point: surroundings.decimal_point(),
    }
}

/// Describes the machine of a root directory; facts that the root does not contain come from uname(2).
fn host(root: &Path, surroundings: &Surroundings) -> Host {
    let names = rustix::system::uname();
    let text = |name: &std::ffi::CStr| name.to_string_lossy().into_owned();
    Host {
        system: text(names.sysname()),
        release: sys::machine::host::kernel(root).unwrap_or_else(|| text(names.release())),
        name: sys::machine::host::name(root).unwrap_or_else(|| text(names.nodename())),
        machine: text(names.machine()),
        cpus: monitor::cpu_count(root),
        date: surroundings.date(),
    }
}
