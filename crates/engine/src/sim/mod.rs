//! `sim`: a simulated device in virtual time, whose correct results are known. It moves no data and does not wait; the
//! same I/Os at the same times complete identically on every machine.
//!
//! The device is `sim_parallelism` servers with one first-in, first-out queue. A flushed I/O starts on the first server
//! that is free and ends after its service time: `sim_service_time`, drawn from `sim_distribution` with that mean, plus
//! its length divided by `sim_rate`, plus the delays of the fault plan. Depth 4 with 4 servers of 100 µs is therefore
//! exactly 40,000 I/Os per second.
//!
//! `sim_bucket`, `sim_cliff`, `sim_stall` and `sim_change` give a run phases. `sim_noise` makes some intervals of a run
//! slower than others. `sim_run` is the number of a run in a series; `sim_level` and `sim_drift` make some runs slower
//! than others.

mod faults;
mod noise;
mod regime;
mod service;

use crate::contract::{Completion, Engine, EngineError, Io, Setup, Submitted};
use faults::FaultPlan;
use measure::{Clock, Nanos, VirtualClock};
use plan::option::{Kind, OptionSpec};
use plan::{Capabilities, EngineSpec, Submission, Work, options};
use regime::Regime;
use service::ServiceTime;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufWriter, Error, Read, Write};
use std::path::Path;

const NAME: &str = "sim";

/// The simulated device.
#[derive(Debug)]
pub(crate) struct Sim {
    clock: VirtualClock,
    depth: usize,
    service: ServiceTime,
    regime: Regime,
    faults: FaultPlan,
    journal: Option<Journal>,
    /// Submitted, not yet flushed.
    queued: Vec<Io>,
    /// Time at which each server is free, earliest first; empty if there are as many servers as I/Os in flight.
    servers: BinaryHeap<Reverse<Nanos>>,
    /// Flushed and not yet reaped, earliest completion first.
    in_flight: BinaryHeap<Reverse<Ending>>,
    /// Counter of I/Os, which keeps completions at the same time in order.
    sequence: u64,
}

/// Completion time and result of an I/O. Ordered by time, then by order of submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ending {
    moment: Nanos,
    sequence: u64,
    slot: u32,
    result: i64,
}

impl Engine for Sim {
    type Clock = VirtualClock;

    const OWN_LOOP: bool = true;

    const SPEC: EngineSpec = EngineSpec {
        name: NAME,
        help: "A simulated device in virtual time, whose every number is known beforehand",
        capabilities: Capabilities {
            trim: true,
            virtual_time: true,
            ..Capabilities::new(Submission::Asynchronous, Work::Null)
        },
        options: OPTIONS,
    };

    fn open(setup: Setup<'_, VirtualClock>) -> Result<Self, EngineError> {
        let depth = setup.depth as usize;
        let servers = match setup.options.integer("sim_parallelism").map(usize::try_from) {
            Some(Ok(servers)) if servers < depth => vec![Reverse(Nanos::ZERO); servers].into(),
            _ => BinaryHeap::new(),
        };
        Ok(Sim {
            clock: setup.clock,
            depth,
            service: ServiceTime::new(setup.options).map_err(wrong_options)?,
            regime: Regime::new(setup.options).map_err(wrong_options)?,
            faults: FaultPlan::parse(setup.options.text("sim_faults").unwrap_or_default()).map_err(wrong_options)?,
            journal: setup.options.text("sim_journal").map(Journal::create).transpose()?,
            queued: Vec::with_capacity(depth),
            servers,
            in_flight: BinaryHeap::with_capacity(depth),
            sequence: 0,
        })
    }

    #[inline]
    fn submit(&mut self, io: Io) -> Submitted {
        if self.queued.len() + self.in_flight.len() >= self.depth {
            return Submitted::Full;
        }
        self.queued.push(io);
        Submitted::Queued
    }

    fn flush(&mut self) -> Result<u32, EngineError> {
        let now = self.clock.now();
        #[expect(clippy::cast_possible_truncation, reason = "at most the depth, a u32")]
        let count = self.queued.len() as u32;
        for index in 0..self.queued.len() {
            let ending = self.serve(self.queued[index], now);
            self.in_flight.push(Reverse(ending));
        }
        self.queued.clear();
        if let Some(journal) = &mut self.journal {
            journal.submitted(count)?;
        }
        Ok(count)
    }

    fn reap(&mut self, min: u32, max: u32, done: &mut Vec<Completion>) -> Result<u32, EngineError> {
        let mut count = 0;
        while count < max {
            let Some(&Reverse(next)) = self.in_flight.peek() else { break };
            if next.moment > self.clock.now() {
                if count >= min {
                    break;
                }
                self.clock.advance_to(next.moment);
            }
            self.in_flight.pop();
            done.push(Completion { slot: next.slot, result: next.result });
            count += 1;
        }
        if let Some(journal) = &mut self.journal {
            journal.reaped(min, max, count)?;
        }
        Ok(count)
    }

    fn reap_within(&mut self, longest: Nanos, max: u32, done: &mut Vec<Completion>) -> Result<u32, EngineError> {
        let until = self.clock.now().saturating_add(longest);
        match self.in_flight.peek() {
            Some(Reverse(next)) if next.moment <= until => self.reap(1, max, done),
            _ => {
                self.clock.advance_to(until);
                Ok(0)
            }
        }
    }
}

impl Sim {
    /// Computes when and how `io`, flushed at `now`, completes.
    #[inline]
    fn serve(&mut self, io: Io, now: Nanos) -> Ending {
        let verdict = self.faults.judge(&io);
        let time = self.service.draw(io.length, now, self.regime.factor(&io, now)).saturating_add(verdict.delay);
        let moment = match self.servers.peek_mut() {
            Some(mut server) => {
                let end = self.regime.begin(server.0.max(now)).saturating_add(time);
                server.0 = end;
                end
            }
            None => self.regime.begin(now).saturating_add(time),
        };
        self.sequence += 1;
        Ending { moment, sequence: self.sequence, slot: io.slot, result: verdict.result }
    }
}

fn wrong_options(message: String) -> EngineError {
    EngineError { engine: NAME, operation: "options", message, errno: libc::EINVAL }
}

const DISTRIBUTIONS: Kind = Kind::Word(&[
    ("fixed", "Always the service time"),
    ("uniform", "Anything between 0 and twice the service time"),
    ("exponential", "Exponential with the service time as its mean"),
    ("lognormal", "Lognormal with the service time as its mean and sim_sigma as its spread"),
]);

const OPTIONS: &[OptionSpec] = options! {
    "sim_service_time": MICROSECONDS, "100"; "Time a server takes for one I/O, before any transfer time; 1 ns at least";
    "sim_distribution": DISTRIBUTIONS, "fixed"; "How service times are spread";
    "sim_seed": between(0, i64::MAX), "1"; "Seed of the service times that are drawn";
    "sim_sigma": floats(1), "0.5"; "Spread of lognormal service times: the deviation of their logarithm";
    "sim_noise": floats(3);
        "Slow and fast intervals of a run, DEVIATION:CORRELATION:SECONDS like 0.03:0.8:0.5: a factor on the \
         service time, the logarithm of which is an AR(1) process over intervals of this length (0.5)";
    "sim_run": between(1, 100_000), "1";
        "Number of this run in a series: its service times are drawn separately, and sim_level and sim_drift are of \
         this run";
    "sim_level": floats(2);
        "Slow and fast runs of a series, DEVIATION:CORRELATION like 0.02:0.9: a factor on the service time of run \
         sim_run, the logarithm of which is an AR(1) process over runs";
    "sim_drift": floats(1);
        "Share by which each run of a series is slower than the one before, like 0.002; below 0 if it is faster";
    "sim_parallelism": between(1, 1 << 20); "I/Os served at the same time; without it all that are in flight";
    "sim_rate": BYTES; "Bytes per second at which a server moves data, after the service time; without it at once";
    "sim_settling": SECONDS; "The service time begins at twice its value and falls evenly to it over so long";
    "sim_bucket": floats(2);
        "Credits, IOS:RATE like 54000:300: each I/O takes one of IOS, and waits for one if there are none; RATE return \
         per second";
    "sim_cliff": floats(2);
        "Write cache, BYTES:FACTOR like 1073741824:4: once a worker has written BYTES, its writes take FACTOR \
         times as long";
    "sim_stall": floats(2); "Stalls, EVERY:FOR in seconds like 10:2: nothing begins in the last 2 of each 10 s";
    "sim_change": floats(2);
        "A change of the device, AT:FACTOR like 60:1.5: from second AT on an I/O takes FACTOR times as long";
    "sim_faults": TEXT;
        "What goes wrong: read|write|trim|sync|any:EVERY:error=ERRNO|short=BYTES|delay=MICROSECONDS, several with \
         commas";
    "sim_journal": TEXT; "File to write one line to for each flush (submit COUNT) and reap (reap MIN MAX COUNT)";
};

/// Writes one line per flush and reap. Dropping the engine writes what is still buffered.
#[derive(Debug)]
struct Journal {
    file: BufWriter<File>,
}

impl Journal {
    fn create(path: &str) -> Result<Self, EngineError> {
        let not_created = |error: Error| broken(&format!("cannot create {path}"), &error);
        let there = Path::new(path);
        if there.is_file() && !File::open(there).and_then(|file| is_journal(&file)).map_err(not_created)? {
            let what = format!("{path} holds something else than a journal; name another file or move it away");
            return Err(broken(&what, &Error::from_raw_os_error(libc::EEXIST)));
        }
        let file = sys::files::output_file::create(there).map_err(not_created)?;
        Ok(Journal { file: BufWriter::new(file) })
    }

    fn submitted(&mut self, count: u32) -> Result<(), EngineError> {
        writeln!(self.file, "submit {count}").map_err(|error| broken("cannot write", &error))
    }

    fn reaped(&mut self, min: u32, max: u32, count: u32) -> Result<(), EngineError> {
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
