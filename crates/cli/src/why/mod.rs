//! `plumb why`: where the time of the I/O of any program goes.
//!
//! Owns the command line, the loop and the exit status. `observe` records and sums up, `gains` has what would help and
//! `sentences` says it, `shown` and `document` print it, `page` draws it, `session` keeps it in a file. `stored` finds what
//! the disk can do.

mod answer;
mod disk;
mod document;
mod gains;
mod group;
mod live;
mod page;
mod sentences;
mod shown;
#[cfg(feature = "store")]
mod stored;

use crate::failure::{Failure, signal_status};
use crate::features::Feature;
use crate::output::Output;
use crate::safe_files::{self, AtomicFile, Durability};
use crate::streams::{OutputArgs, is_stdout};
use answer::Answer;
use live::Live;
use measure::Nanos;
use observe::{Going, Recording, Way};
use session::layers::{self, Recorded};
use session::publish::{MembersStream, PublishArgs};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use sys::processes::signals::Watch;

/// See where the time of a program's I/O goes: cache, file system, throttle, queue, device
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "plumb why --pid PID [OPTIONS]\n       plumb why --cgroup GROUP [OPTIONS]\n       plumb why --unit UNIT [OPTIONS]\n       plumb why --device DEVICE [OPTIONS]\n       plumb why [OPTIONS] -- COMMAND...\n       plumb why FILE [OPTIONS]",
    long_about = "\
Records what a program that plumb did not start reads, writes and syncs, and divides the time of each call: page cache, file system, waits, journal, dirty limit, throttle, tags, scheduler, device, waking up. Then it says whether a faster disk would help. It reads events of the kernel and needs root.",
    after_help = "\
Examples:
  plumb why --pid 4711 --for 30s       a process, its threads and children
  plumb why -- pg_dump bench           a command, from its start to its end
  plumb why --unit postgresql          a systemd service
  plumb why --cgroup system.slice/docker-4f1c.scope
  plumb why --device nvme0n1           all programs on a device
  plumb why --record slow.parquet --pid 4711
  plumb why slow.parquet               the recording again, on any machine
  plumb why slow.parquet -o page.html  as a page with pictures; .pdf, too
  plumb why --stream - --pid 4711      lines of JSON while it records

Ctrl-C ends the recording, and what was recorded is shown.
More: docs/why.md
Exit status: 0 recorded; 1 an error; 128 + signal, with what was recorded"
)]
pub(crate) struct WhyArgs {
    /// Process to record, with its threads and all that it starts
    #[arg(long, value_name = "PID", conflicts_with_all = ["cgroup", "unit", "device", "file", "command"], required_unless_present_any = ["cgroup", "unit", "device", "file", "command"])]
    pid: Option<u32>,
    /// Control group, with those below it, whose processes are recorded: a directory, or its name below the root of the groups
    #[arg(long, value_name = "GROUP", conflicts_with_all = ["device", "file", "command"])]
    cgroup: Option<PathBuf>,
    /// systemd unit whose processes are recorded; a service if it has no suffix
    #[arg(long, value_name = "UNIT", conflicts_with_all = ["cgroup", "device", "file", "command"])]
    unit: Option<String>,
    /// Block device or partition: all programs on it
    #[arg(long, value_name = "DEVICE", conflicts_with_all = ["file", "command"])]
    device: Option<PathBuf>,
    /// Time of the recording; a command is recorded to its end [default: 10s]
    #[arg(long = "for", value_name = "TIME", value_parser = time, conflicts_with_all = ["file", "command"])]
    limit: Option<Nanos>,
    /// Way of reading events: tracefs, bpf, or auto for bpf where it works
    #[arg(long, value_name = "WAY", value_parser = way, default_value = "tracefs", conflicts_with = "file")]
    events: Chosen,
    /// File that keeps the I/Os, as Parquet
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    record: Option<PathBuf>,
    /// With --record: hashes instead of paths, the target, the host and groups
    #[arg(long, requires = "record")]
    anonymise: bool,
    /// Recording that --record wrote
    #[arg(value_name = "FILE", conflicts_with = "command")]
    file: Option<PathBuf>,
    /// Write a line of JSON per second while it records, then the document, to a file, to - (standard output) or to the descriptor N
    #[arg(long, value_name = "FILE|-|fd:N", conflicts_with = "file")]
    stream: Option<String>,
    /// Command to start and record
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    #[command(flatten)]
    written: OutputArgs,
}

/// Time of a recording without `--for`.
const USUAL: Nanos = Nanos(10_000_000_000);
/// Time between two readings of the events.
const STEP: Duration = Duration::from_millis(20);

/// Records, or reads a recording, and shows.
pub(crate) fn run(args: &WhyArgs) -> Result<u8, Failure> {
    // It may be a descriptor of the caller.
    let live = Live::open(args)?;
    let mut shown = Shown::open(args)?;
    if let Some(file) = &args.file {
        shown.show(&read(file)?, args)?;
        return Ok(0);
    }
    let record = args.record.as_deref().map(place_of_record).transpose()?;
    let signals = Watch::begin()?;
    let is_document = args.written.streams.json && matches!(&shown, Shown::Text(out) if out.is_stdout());
    let answer = recorded(args, &signals, is_document || args.streams_to_stdout(), live)?;
    // What was recorded is shown, also if there is no room for the file.
    let kept = record.map_or(Ok(()), |file| keep(file, &answer, args.anonymise));
    shown.show(&answer, args)?;
    kept?;
    Ok(signals.caught().map_or(0, signal_status))
}

impl WhyArgs {
    /// True if standard output is for the lines of `--stream`.
    fn streams_to_stdout(&self) -> bool {
        MembersStream::prints(self.stream.as_deref())
    }
}

/// Where the answer goes.
enum Shown<'args> {
    Text(Output),
    Page(&'args Path),
}

impl<'args> Shown<'args> {
    /// Refuses a file that cannot be written, before anything is recorded.
    fn open(args: &'args WhyArgs) -> Result<Self, Failure> {
        match args.written.output.as_deref().filter(|path| page::is_page(path)) {
            Some(path) if args.written.streams.json => {
                Err(Failure::at(path, "is a page; --json writes to another file"))
            }
            Some(path) => crate::pages::check_to_mail(path).map(|()| Shown::Page(path)),
            None if args.streams_to_stdout() && args.written.output.as_deref().is_none_or(is_stdout) => {
                let publish = PublishArgs { stream: args.stream.clone(), ..PublishArgs::default() };
                publish.check_stdout(args.written.streams.json.then_some("--json"))?;
                Ok(Shown::Text(Output::nowhere()))
            }
            None => Ok(Shown::Text(args.written.open()?)),
        }
    }

    fn show(&mut self, answer: &Answer, args: &WhyArgs) -> Result<(), Failure> {
        match self {
            Shown::Text(out) if args.written.streams.json => out.write(&document::document(answer)?),
            Shown::Text(out) => out.write(&shown::shown(answer, &args.written)),
            Shown::Page(path) => page::write(path, answer),
        }
    }
}

/// The file of a recording, which is written whole or not at all.
fn place_of_record(path: &Path) -> Result<AtomicFile, Failure> {
    Feature::Parquet.require("--record")?;
    if is_stdout(path) {
        return Err(Failure::new("why: --record needs the name of a file"));
    }
    safe_files::check(path)?;
    AtomicFile::at(path)
}

#[cfg(feature = "parquet")]
fn keep(mut file: AtomicFile, answer: &Answer, is_anonymous: bool) -> Result<(), Failure> {
    file.write(&layers::written(&answer.recorded, &layers::Names::hidden_if(is_anonymous))?, Durability::Synced)
}

#[cfg(not(feature = "parquet"))]
fn keep(_: AtomicFile, _: &Answer, _: bool) -> Result<(), Failure> {
    Feature::Parquet.require("--record")
}

#[cfg(feature = "parquet")]
fn read(path: &Path) -> Result<Answer, Failure> {
    layers::read(path).map(Answer::of)
}

#[cfg(not(feature = "parquet"))]
fn read(path: &Path) -> Result<Answer, Failure> {
    Feature::Parquet.require(&path.display().to_string())?;
    Err(Failure::at(path, "is not read by this build"))
}

fn recorded(args: &WhyArgs, signals: &Watch, is_for_programs: bool, mut live: Live) -> Result<Answer, Failure> {
    let mut recording = begin(args, is_for_programs)?;
    let target = target(args);
    let limit = args.command.is_empty().then_some(args.limit.unwrap_or(USUAL));
    if let Some(limit) = limit {
        let time = measure::text::time(limit.as_f64());
        args.written.streams.verbosity().remark(&format!("plumb: why: recording {target} for {time}; Ctrl-C ends it"));
    }
    live.begin(&target, limit)?;
    let begun = Instant::now();
    let is_full = loop {
        let going = recording.step()?;
        live.step(&recording);
        match going {
            Going::On if signals.caught().is_some() => break false,
            Going::On if limit.is_some_and(|limit| begun.elapsed() >= Duration::from_nanos(limit.0)) => break false,
            Going::On => std::thread::sleep(STEP),
            Going::Ended => break false,
            Going::Full => break true,
        }
    };
    let seen = recording.end()?;
    let recorded = Recorded {
        target,
        host: sys::machine::host::name(Path::new("/")),
        ended_unix_ms: measure::unix_ms(),
        seen,
        disks: Vec::new(),
        is_device: args.device.is_some(),
        is_full,
    };
    #[cfg(feature = "store")]
    let recorded = Recorded { disks: stored::of_store(&recorded), ..recorded };
    let answer = Answer::of(recorded);
    live.end(&answer)?;
    Ok(answer)
}

fn begin(args: &WhyArgs, is_document_on_stdout: bool) -> Result<Recording, Failure> {
    let failed = |error: observe::ObserveError| Failure::new(format!("why: {error}"));
    if let Some(unit) = &args.unit {
        return Recording::of_group(&group::of_unit(Path::new("/"), unit)?, args.events.0).map_err(failed);
    }
    let begun = match (args.pid, &args.cgroup, &args.device) {
        (Some(pid), ..) => Recording::of_process(pid, args.events.0),
        (_, Some(group), _) => Recording::of_group(&group::directory(group)?, args.events.0),
        (.., Some(device)) => Recording::of_device(device, args.events.0),
        _ => {
            let mut words = args.command.iter();
            let program = words.next().ok_or_else(|| Failure::new("why: name a command after --"))?;
            let mut command = Command::new(program);
            command.args(words);
            if is_document_on_stdout {
                // Standard output is for the document alone.
                command.stdout(Stdio::from(std::io::stderr()));
            }
            Recording::of_command(command, args.events.0)
        }
    };
    begun.map_err(failed)
}

fn target(args: &WhyArgs) -> String {
    if let Some(unit) = &args.unit {
        return format!("unit {unit}");
    }
    match (args.pid, &args.cgroup, &args.device) {
        (Some(pid), ..) => {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            format!("{} (process {pid})", name.trim_end())
        }
        (_, Some(group), _) => group.display().to_string(),
        (.., Some(device)) => device.display().to_string(),
        _ => {
            let words = args.command.iter().map(|word| measure::text::shell_word(&word.to_string_lossy()));
            words.collect::<Vec<_>>().join(" ")
        }
    }
}

/// The way of reading events; `None` for BPF where it works.
#[derive(Clone, Copy, Debug)]
struct Chosen(Option<Way>);

fn way(word: &str) -> Result<Chosen, String> {
    match Way::named(word) {
        None if word != "auto" => Err(format!("the ways are {} and auto", observe::WAYS.map(Way::name).join(", "))),
        way => Ok(Chosen(way)),
    }
}

fn time(word: &str) -> Result<Nanos, String> {
    crate::members::time(word).and_then(|time| match time {
        Nanos::ZERO => Err("a recording of no time has no I/O; write a time like 10s".to_owned()),
        time => Ok(time),
    })
}
