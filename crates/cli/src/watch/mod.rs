//! `plumb watch`: live activity of the disks on a terminal.
//!
//! Owns the command, the loop and the terminal, which is restored after any end: a key, a signal, a panic. Leaves
//! reading to `sampling`, input to `keys`, the meaning of keys to `state` and drawing to `screen`.

mod keys;
mod lines;
mod sampling;
mod screen;
mod state;
#[cfg(test)]
mod tests;

use crate::failure::{Failure, signal_status};
use crate::latency::Latency;
use crate::output::Output;
use crate::streams::OutputArgs;
use clap::Parser;
use keys::{Heard, Keys};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{Event, KeyEventKind};
use sampling::Machine;
use session::publish::{PublishArgs, Publisher};
use state::{State, Then};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use sys::processes::signals::Watch;

/// Interval at which signals and the terminal are polled.
const SIGNAL_PAUSE: Duration = Duration::from_millis(100);

/// Exit status after the terminal was closed: 128 + SIGHUP, even if the process did not get the signal.
const CLOSED: u8 = 129;

/// Show the activity of the disks live, and the processes that cause it
#[derive(Debug, Parser)]
#[command(
    next_line_help = false,
    long_about = "\
Shows the activity of the disks live on the terminal: reads, writes and discards per second, bytes, request size, queue length, await and \
utilisation of each device with its curve, and the processes that cause the most I/O.",
    after_help = "\
Keys: q quit, p pause, s sort, arrows choose a device, + - interval, w save, ? help

Examples:
  plumb watch                     all disks that have done I/O since boot
  plumb watch nvme0n1 sda1        these devices
  plumb watch --interval 0.5      two samples per second
  sudo plumb watch                show the processes of all users
  sudo plumb watch --latency      p50, p99 and p99.9 of reads and writes, too
  plumb watch --json --count 60 -o minute.jsonl

Without a terminal (pipes, logs) use --json: a line for each interval; or plumb iostat -x 1.
--stream has the same counters as the streams of the commands that measure.
More: docs/watch.md
Exit status: 0; 1 if it cannot be shown; 128 + signal after a signal, 129 if its terminal was closed"
)]
pub(crate) struct WatchArgs {
    /// Devices or partitions, with or without /dev/ [default: disks that have done I/O]
    #[arg(value_name = "DEVICE")]
    devices: Vec<String>,
    /// Seconds between two samples, from 0.1 to 3600
    #[arg(long, short, value_name = "SECONDS", default_value = "1", value_parser = parse_interval)]
    interval: Duration,
    /// End after this number of lines, with --json, --output or --stream [default: until a signal]
    #[arg(long, value_name = "LINES", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Percentiles of the times of I/Os of each device in each interval, queue and device apart; needs root
    #[arg(long)]
    latency: bool,
    /// Read DIR/proc and DIR/sys instead of /proc and /sys [default: the environment variable PLUMB_ROOT, or /]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    #[command(flatten)]
    written: OutputArgs,
    #[command(flatten)]
    feed: PublishArgs,
}

fn parse_interval(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.1..=3600.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "it is not a number of seconds from 0.1 to 3600".to_owned())
}

/// Shows the screen until the user quits. Returns 0, or 128 + signal.
pub(crate) fn run(args: &WatchArgs) -> Result<u8, Failure> {
    let feed = Publisher::open(&args.feed, None, args.written.streams.verbosity())?;
    let root = args.root.clone().or_else(|| std::env::var_os("PLUMB_ROOT").map(PathBuf::from));
    let root = root.filter(|root| !root.as_os_str().is_empty()).unwrap_or_else(|| PathBuf::from("/"));
    let names: Vec<String> = args.devices.iter().map(|name| kernel_name(name)).collect();
    if args.latency && root != Path::new("/") {
        return Err(Failure::new("--latency is measured on this machine: leave out --root, and unset PLUMB_ROOT"));
    }
    let mut machine = Machine::default();
    machine.look(&root, &names)?;
    if let Some(missing) = names.iter().find(|name| !machine.devices.contains_key(*name)) {
        return Err(Failure::new(format!(
            "{missing}: there is no such block device; lsblk shows those that there are"
        )));
    }
    let host = sys::machine::host::name(&root).unwrap_or_default();
    let latency = args.latency.then(|| Latency::prepare(!names.is_empty())).transpose()?;
    let mut source = Source { root: &root, names: &names, host: &host, latency };
    source.time(&mut machine)?;
    let shown = show(args, &mut source, &mut machine, feed);
    if let (Some(latency), Ok(_)) = (&source.latency, &shown) {
        args.written.streams.verbosity().remark(&format!("plumb: watch: {}", latency.cost()));
    }
    shown
}

/// The lines or the screen, until the end.
fn show(args: &WatchArgs, source: &mut Source<'_>, machine: &mut Machine, mut feed: Publisher) -> Result<u8, Failure> {
    let is_written = args.written.streams.json || args.written.output.is_some();
    if is_written || feed.is_fed() {
        let out = if is_written { args.written.open()? } else { Output::nowhere() };
        args.feed.check_stdout(out.is_stdout().then_some("--json"))?;
        let shown = lines::run(source, machine, out, &mut feed, args, &Watch::begin()?);
        return feed.linger(shown);
    }
    if args.count.is_some() {
        return Err(Failure::new(
            "--count is the number of lines of --json, --output or --stream; the screen ends with q",
        ));
    }
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        return Err(Failure::new(
            "plumb watch needs a terminal; without one, plumb watch --json or plumb iostat -x 1 prints the same numbers",
        ));
    }
    let signals = Watch::begin()?;
    let mut screen = Screen::open()?;
    let mut state = State::new(args.interval);
    watch(&mut screen.terminal, source, machine, &mut state, &signals)
}

/// Returns the sysfs name of a device: `/dev/disk/by-id/x` becomes `sda`.
fn kernel_name(given: &str) -> String {
    let path = Path::new(given);
    let real = if given.starts_with('/') { path.canonicalize().ok() } else { None };
    let real = real.as_deref().unwrap_or(path);
    real.strip_prefix("/dev").unwrap_or(real).to_string_lossy().into_owned()
}

/// The terminal while the screen is shown; dropping it restores the terminal. A panic also restores it, before its
/// message is printed.
struct Screen {
    terminal: DefaultTerminal,
}

impl Screen {
    fn open() -> Result<Self, Failure> {
        let terminal = ratatui::try_init();
        terminal.map(|terminal| Screen { terminal }).map_err(|error| {
            let _ = ratatui::try_restore();
            Failure::new(format!("the terminal cannot be used: {error}"))
        })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // After a panic the terminal has been restored already, and restoring it again would move the cursor over the
        // panic message.
        if !std::thread::panicking() {
            let _ = ratatui::try_restore();
        }
    }
}

struct Source<'a> {
    root: &'a Path,
    names: &'a [String],
    host: &'a str,
    /// The recording of `--latency`.
    latency: Option<Latency>,
}

impl Source<'_> {
    /// Takes a sample, with the latencies of the interval that it ends.
    fn look(&mut self, machine: &mut Machine) -> Result<(), Failure> {
        machine.look(self.root, self.names)?;
        self.time(machine)
    }

    fn time(&mut self, machine: &mut Machine) -> Result<(), Failure> {
        let Some(latency) = &mut self.latency else { return Ok(()) };
        if let Some(taken) = latency.next(machine.devices.keys())? {
            machine.time(&taken);
        }
        Ok(())
    }
}

fn watch(
    terminal: &mut DefaultTerminal,
    source: &mut Source<'_>,
    machine: &mut Machine,
    state: &mut State,
    signals: &Watch,
) -> Result<u8, Failure> {
    let failed = |error: std::io::Error| Failure::new(format!("the terminal cannot be used: {error}"));
    let keys = Keys::listen();
    let mut looked = Instant::now();
    loop {
        match terminal.draw(|frame| screen::draw(frame, machine, state, source.host)) {
            Err(_) if keys::is_gone() => return Ok(CLOSED),
            drawn => drawn.map_err(failed)?,
        };
        let mut redraw = false;
        while !redraw {
            if let Some(signal) = signals.caught() {
                return Ok(signal_status(signal));
            }
            let left = state.interval.saturating_sub(looked.elapsed());
            if left.is_zero() {
                looked = Instant::now();
                if !state.paused {
                    source.look(machine)?;
                    redraw = true;
                }
            }
            let event = match keys.wait(left.min(SIGNAL_PAUSE)).map_err(failed)? {
                Heard::Nothing => continue,
                Heard::Gone => return Ok(CLOSED),
                Heard::Event(event) => event,
            };
            redraw = true;
            match event {
                Event::Key(key) if key.kind == KeyEventKind::Press => match state.press(key, machine) {
                    Then::Quit => return Ok(0),
                    Then::Save => state.message = Some(saved(source, machine)),
                    Then::Stay => {}
                },
                _ => {}
            }
        }
    }
}

fn saved(source: &Source<'_>, machine: &Machine) -> String {
    match lines::save(Path::new("."), source.host, machine) {
        Ok(path) => format!("saved: {}", path.display()),
        Err(error) => format!("not saved: {error}"),
    }
}
