//! Readings that have the same run: interim reports, one report in several formats, sums over clients.
//!
//! Readings of one document are different runs, however equal their numbers: tests and rounds of a survey.
//!
//! Owns which of them counts. A run is held back until others have followed; what is read after it waits behind it, so
//! that the order stays. fio's JSON and text state when or by which process they were printed; terse lines do not,
//! so these are taken for interim reports only if they are an interval apart.

mod signature;

use crate::event::{Event, Repeat, Repeated, Sink};
use crate::fio::CLIENTS_SUM;
use model::reading::{Content, Reading};
use signature::{Chain, Signature};
use std::collections::VecDeque;

/// Most runs held back.
const MOST_RUNS: usize = 16;
/// Most jobs of the runs held back.
const MOST_JOBS: usize = 4096;
/// Most readings held back behind them.
const MOST: usize = 512;
/// Most signatures kept of runs that were passed on as repeated.
const MOST_KNOWN: usize = 32;

/// A reading that waits.
#[derive(Debug)]
struct HeldRun {
    reading: Reading,
    /// `None` for anything but a run.
    signature: Option<Signature>,
    chain: Chain,
}

/// The readings held back.
#[derive(Debug, Default)]
pub(super) struct HeldRuns {
    held: VecDeque<HeldRun>,
    runs: usize,
    jobs: usize,
    /// Signature and line of runs that were passed on as repeated.
    known: VecDeque<(Signature, u64)>,
}

impl HeldRuns {
    /// Takes an event; passes on what is decided.
    pub(super) fn pass(&mut self, event: Event, sink: &mut Sink<'_>) {
        let reading = match event {
            Event::Reading(reading) => reading,
            other => return sink(other),
        };
        let Some(signature) = Signature::of(&reading) else {
            if self.held.is_empty() {
                return sink(Event::Reading(reading));
            }
            self.held.push_back(HeldRun { reading, signature: None, chain: Chain::Begins });
            return self.shorten(sink);
        };
        if let Some((repeat, line)) = self.superseded(&reading, &signature) {
            self.remember(signature, line);
            return sink(Event::Repeated(Repeated { reading, repeat, line }));
        }
        let chain = self.supersede(&signature, reading.line, sink);
        self.runs += 1;
        self.jobs += jobs(&reading);
        self.held.push_back(HeldRun { reading, signature: Some(signature), chain });
        self.shorten(sink);
    }

    /// Passes on everything that waits.
    pub(super) fn finish(&mut self, sink: &mut Sink<'_>) {
        self.held.drain(..).for_each(|held| sink(Event::Reading(held.reading)));
    }

    /// The relation of this reading to a run before it that counts instead, and that run's line.
    fn superseded(&self, reading: &Reading, new: &Signature) -> Option<(Repeat, u64)> {
        if let Some(line) = self.summed(reading) {
            return Some((Repeat::Sum, line));
        }
        let runs = self.held.iter().filter_map(|held| Some((held.signature.as_ref()?, held.reading.line)));
        for (old, line) in runs.filter(|&(_, line)| line != reading.line) {
            if old.is_again(new) {
                return Some((Repeat::Again, line));
            }
            if new.states_less_than(old) && new.is_same(old) {
                return Some((Repeat::OtherFormat, line));
            }
        }
        // The text of an interim report can follow the JSON of a later one.
        let same = self.known.iter().find(|(old, _)| new.is_same(old))?;
        Some((Repeat::Interim, same.1))
    }

    /// The line of the first of the runs that this one sums up.
    fn summed(&self, reading: &Reading) -> Option<u64> {
        let Content::Run(sum) = &reading.found else { return None };
        let [job] = sum.jobs.as_slice() else { return None };
        if job.name.as_deref() != Some(CLIENTS_SUM) {
            return None;
        }
        let runs = self.held.iter().rev().filter_map(|held| match &held.reading.found {
            Content::Run(run) => Some((run, held.reading.line)),
            _ => None,
        });
        let Some(mut left) = job.workers else {
            // JSON does not state the workers of the sum, but has it in one document with the runs.
            let mut same = runs.filter(|(run, _)| run.ended_unix_s == sum.ended_unix_s);
            return same.next_back().map(|(_, line)| line);
        };
        for (run, line) in runs {
            left -= run.jobs.iter().filter_map(|job| job.workers).sum::<f64>();
            if left < 0.5 {
                return (left > -0.5).then_some(line);
            }
        }
        None
    }

    /// Passes on the held runs that the new one makes superfluous; returns if one of them was an interim report.
    fn supersede(&mut self, new: &Signature, line: u64, sink: &mut Sink<'_>) -> Chain {
        let mut chain = Chain::Begins;
        let mut at = 0;
        while at < self.held.len() {
            let held = &self.held[at];
            let other = held.signature.as_ref().filter(|_| held.reading.line != line);
            let repeat = other.and_then(|old| {
                if old.states_less_than(new) && old.is_same(new) {
                    Some(Repeat::OtherFormat)
                } else {
                    old.is_interim_of(new, held.chain).then_some(Repeat::Interim)
                }
            });
            // Clones of a job have one name: a terse line follows the first one that it can follow.
            let is_next = repeat.is_some() && !(repeat == Some(Repeat::Interim) && chain == Chain::Continued);
            match repeat.filter(|_| is_next) {
                Some(repeat) => {
                    if repeat == Repeat::Interim {
                        chain = Chain::Continued;
                    }
                    if let Some(held) = self.held.remove(at) {
                        self.runs -= 1;
                        self.jobs -= jobs(&held.reading);
                        held.signature.into_iter().for_each(|signature| self.remember(signature, line));
                        sink(Event::Repeated(Repeated { reading: held.reading, repeat, line }));
                    }
                }
                None => at += 1,
            }
        }
        chain
    }

    fn remember(&mut self, signature: Signature, line: u64) {
        if self.known.len() >= MOST_KNOWN {
            self.known.pop_front();
        }
        self.known.push_back((signature, line));
    }

    /// Passes on the first ones while too many wait, and those that wait for nothing.
    fn shorten(&mut self, sink: &mut Sink<'_>) {
        while self.runs > MOST_RUNS
            || (self.jobs > MOST_JOBS && self.runs > 1)
            || self.held.len() > MOST
            || self.held.front().is_some_and(|held| held.signature.is_none())
        {
            let Some(held) = self.held.pop_front() else { break };
            if held.signature.is_some() {
                self.runs -= 1;
                self.jobs -= jobs(&held.reading);
            }
            sink(Event::Reading(held.reading));
        }
    }
}

/// Number of jobs of a run.
fn jobs(reading: &Reading) -> usize {
    if let Content::Run(run) = &reading.found { run.jobs.len() } else { 0 }
}
