//! `sim`: a simulated device in virtual time, whose correct results are known. It moves no data and does not wait; the
//! same I/Os at the same times complete identically on every machine.
//!
//! The device is `sim_parallelism` servers with one first-in, first-out queue. A flushed I/O starts on the first server
//! that is free and ends after its service time: `sim_service_time`, drawn from `sim_distribution` with that mean, plus
//! its length divided by `sim_rate`, plus the delays of the fault plan. Depth 4 with 4 servers of 100 µs is therefore
//! exactly 40,000 I/Os per second.

mod faults;
mod journal;

use crate::contract::{Completion, Engine, EngineError, Io, Setup, Submitted};
use faults::FaultPlan;
use journal::Journal;
use measure::{Clock, Nanos, SplitMix, VirtualClock};
use plan::option::{Kind, OptionSpec, TimeUnit, works};
use plan::{Capabilities, EngineOptions, EngineSpec, Submission, Work};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const NAME: &str = "sim";
/// Default service time.
const SERVICE_TIME: Nanos = Nanos::from_micros(100);

/// The simulated device.
#[derive(Debug)]
pub(crate) struct Sim {
    clock: VirtualClock,
    depth: usize,
    service: ServiceTime,
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
            service: ServiceTime::new(setup.options),
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
        let time = self.service.draw(io.length, now).saturating_add(verdict.delay);
        let moment = match self.servers.peek_mut() {
            Some(mut server) => {
                let end = server.0.max(now).saturating_add(time);
                server.0 = end;
                end
            }
            None => now.saturating_add(time),
        };
        self.sequence += 1;
        Ending { moment, sequence: self.sequence, slot: io.slot, result: verdict.result }
    }
}

/// Service time of an I/O.
#[derive(Clone, Debug)]
struct ServiceTime {
    mean: Nanos,
    distribution: Distribution,
    /// Bytes per second; `None` for no transfer time.
    rate: Option<u64>,
    /// Period over which the mean falls from twice its value to its value (`sim_settling`); zero for none.
    settling: Nanos,
    random: SplitMix,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Distribution {
    Fixed,
    Uniform,
    Exponential,
}

impl ServiceTime {
    fn new(options: &EngineOptions) -> Self {
        let positive = |name: &str| options.integer(name).and_then(|value| u64::try_from(value).ok());
        ServiceTime {
            mean: positive("sim_service_time").map_or(SERVICE_TIME, Nanos),
            distribution: match options.text("sim_distribution") {
                Some("uniform") => Distribution::Uniform,
                Some("exponential") => Distribution::Exponential,
                _ => Distribution::Fixed,
            },
            rate: positive("sim_rate").filter(|&rate| rate > 0),
            settling: positive("sim_settling").map_or(Nanos::ZERO, Nanos),
            random: SplitMix::new(positive("sim_seed").unwrap_or(1)),
        }
    }

    #[inline]
    fn draw(&mut self, length: u32, now: Nanos) -> Nanos {
        let own = self.mean_at(now);
        let mean = own.as_f64();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time ≥ 0; the cast saturates")]
        let access = match self.distribution {
            Distribution::Fixed => own,
            Distribution::Uniform => Nanos((2.0 * mean * self.random.fraction()) as u64),
            Distribution::Exponential => Nanos((-mean * (1.0 - self.random.fraction()).ln()) as u64),
        };
        let transfer = self.rate.map_or(0, |rate| {
            let nanoseconds = u128::from(length) * u128::from(Nanos::SECOND.get()) / u128::from(rate);
            u64::try_from(nanoseconds).unwrap_or(u64::MAX)
        });
        // At least 1 ns: with no time at all, virtual time would stand still, and a job with a runtime would never end.
        access.saturating_add(Nanos(transfer)).max(Nanos(1))
    }

    /// Mean service time of an I/O that is flushed at `now`.
    #[inline]
    fn mean_at(&self, now: Nanos) -> Nanos {
        let left = self.settling.saturating_sub(now).get();
        if left == 0 {
            return self.mean;
        }
        let more = u128::from(self.mean.get()) * u128::from(left) / u128::from(self.settling.get());
        self.mean.saturating_add(Nanos(u64::try_from(more).unwrap_or(u64::MAX)))
    }
}

fn wrong_options(message: String) -> EngineError {
    EngineError { engine: NAME, operation: "options", message, errno: libc::EINVAL }
}

const OPTIONS: &[OptionSpec] = &[
    works(
        "sim_service_time",
        Kind::Time(TimeUnit::Microseconds),
        Some("100"),
        "Time a server takes for one I/O, before any transfer time; 1 ns at least",
    ),
    works(
        "sim_distribution",
        Kind::Word(&[
            ("fixed", "Always the service time"),
            ("uniform", "Anything between 0 and twice the service time"),
            ("exponential", "Exponential with the service time as its mean"),
        ]),
        Some("fixed"),
        "How service times are spread",
    ),
    works(
        "sim_seed",
        Kind::Integer { least: 0, most: i64::MAX },
        Some("1"),
        "Seed of the service times that are drawn",
    ),
    works(
        "sim_parallelism",
        Kind::Integer { least: 1, most: 1 << 20 },
        None,
        "I/Os served at the same time; without it all that are in flight",
    ),
    works(
        "sim_rate",
        Kind::Size { percent: false },
        None,
        "Bytes per second at which a server moves data, after the service time; without it at once",
    ),
    works(
        "sim_settling",
        Kind::Time(TimeUnit::Seconds),
        None,
        "The service time begins at twice its value and falls evenly to it over so long",
    ),
    works(
        "sim_faults",
        Kind::Text,
        None,
        "What goes wrong: read|write|trim|sync|any:EVERY:error=ERRNO|short=BYTES|delay=MICROSECONDS, several with commas",
    ),
    works(
        "sim_journal",
        Kind::Text,
        None,
        "File to write one line to for each flush (submit COUNT) and reap (reap MIN MAX COUNT)",
    ),
];
