//! `plumb iostat`: the command line and the reports of sysstat's iostat.
//!
//! Owns the loop, its timing, its end by a signal, and the environment. Leaves options and samples to `monitor::iostat`
//! and layout to `formats::iostat`.

use crate::failure::Failure;
use crate::latency::Latency;
use crate::output::Output;
use crate::output::Verbosity;
use formats::iostat::{
    Colours, Columns, Host, Latencies, Layout, NamedLatency, Naming, Report, Spelling, Thresholds, Unit, json, text,
};
use model::DeviceActivity;
use monitor::iostat::{self, Command, Difference, Flag, IostatError, Request, Sampling};
use observe::LatencyInterval;
use std::ffi::{CStr, OsString};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use sys::machine::locale::Locale;

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
    if request.has(Flag::Latency) && surroundings.root.is_some() {
        return Err(Failure::new("iostat: --latency is measured on this machine: unset PLUMB_ROOT"));
    }
    let mut latency = request.has(Flag::Latency).then(|| Latency::prepare(request.names_devices())).transpose()?;
    let status = show(&request, &source, &surroundings, latency.as_mut())?;
    if let Some(latency) = latency {
        Verbosity::Usual.remark(&format!("plumb: iostat: {}", latency.cost()));
    }
    Ok(status)
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

fn show(
    request: &Request,
    source: &Source,
    surroundings: &Surroundings,
    mut latency: Option<&mut Latency>,
) -> Result<u8, Failure> {
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
        let names = difference.kernel_names.iter().flatten();
        let taken = latency.as_mut().map(|latency| latency.next(names)).transpose()?.flatten();
        if number == 0 && request.has(Flag::SkipFirst) && request.interval.is_some() {
            // sysstat 12.8 has no second empty line here.
            output.write(if request.has(Flag::NewLook) { "" } else { "\n" })?;
        } else {
            let latency = taken.map(|taken| latencies(&taken, &difference));
            let report = Report {
                latency,
                moment: request.has(Flag::Time).then(|| surroundings.now(surroundings.formats[1])),
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

/// The latencies of the devices that are shown, under the names that they are shown by.
fn latencies(taken: &LatencyInterval, difference: &Difference) -> Latencies {
    let of_device = |(activity, name): (&DeviceActivity, &Option<String>)| {
        let latency = taken.of(name.as_ref()?)?;
        Some(NamedLatency { name: activity.name.clone(), latency })
    };
    let devices = difference.devices.iter().zip(&difference.kernel_names).filter_map(of_device).collect();
    Latencies { devices, lost: taken.lost, forgotten: taken.forgotten }
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
        decimal_point: surroundings.locale.decimal_point(),
    }
}

/// Describes the machine of a root directory; facts that the root does not contain come from uname(2).
fn host(root: &Path, surroundings: &Surroundings) -> Host {
    let names = rustix::system::uname();
    let text = |name: &CStr| name.to_string_lossy().into_owned();
    Host {
        system: text(names.sysname()),
        release: sys::machine::host::kernel(root).unwrap_or_else(|| text(names.release())),
        name: sys::machine::host::name(root).unwrap_or_else(|| text(names.nodename())),
        machine: text(names.machine()),
        cpus: monitor::cpu_count(root),
        date: surroundings.now(surroundings.formats[0]),
    }
}

struct Surroundings {
    root: Option<String>,
    /// True if amounts are blocks of 512 bytes: `POSIXLY_CORRECT`.
    blocks: bool,
    /// `S_COLORS`, `S_COLORS_SGR`.
    colours: Option<Colours>,
    /// Formats of dates and of times.
    formats: [&'static CStr; 2],
    /// `LC_TIME` and `LC_NUMERIC`.
    locale: Locale,
}

/// The locale's own: `11/20/26 11:25:04` in the C locale.
const OF_LOCALE: [&CStr; 2] = [c"%x", c"%x %X"];
/// `S_TIME_FORMAT=ISO`: `2026-11-20T11:25:04+0000`.
const ISO: [&CStr; 2] = [c"%Y-%m-%d", c"%Y-%m-%dT%H:%M:%S%z"];

impl Surroundings {
    /// Reads the environment of this process; what the command line requests comes first.
    fn of(request: &Request) -> Result<Self, Failure> {
        let variable = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        let coloured = match variable("S_COLORS").as_deref() {
            Some("never") => false,
            Some("always") => true,
            _ => std::io::stdout().is_terminal(),
        };
        let thresholds = if request.has(Flag::NewLook) { Thresholds::Sysstat12_8 } else { Thresholds::Sysstat12_6 };
        let colours = || Colours::chosen(thresholds, &variable("S_COLORS_SGR").unwrap_or_default());
        let mut formats = if variable("S_TIME_FORMAT").as_deref() == Some("ISO") { ISO } else { OF_LOCALE };
        if request.has(Flag::EpochSeconds) {
            formats[1] = c"%s";
        }
        // As in locale(7): an empty variable counts as absent.
        let chosen = |category| {
            let mut names = ["LC_ALL", category, "LANG"].into_iter().filter_map(variable);
            names.find(|name| !name.is_empty()).unwrap_or_default()
        };
        let locale = Locale::named(&chosen("LC_TIME"), &chosen("LC_NUMERIC"));
        Ok(Surroundings {
            root: variable("PLUMB_ROOT").filter(|root| !root.is_empty()),
            blocks: variable("POSIXLY_CORRECT").is_some(),
            colours: coloured.then(colours),
            formats,
            locale: locale.map_err(|error| Failure::new(format!("iostat: {error}")))?,
        })
    }

    /// The current date, or date and time.
    fn now(&self, format: &CStr) -> String {
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.locale.time(format, i64::try_from(since_epoch.as_secs()).unwrap_or(i64::MAX))
    }
}
