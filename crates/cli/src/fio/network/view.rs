//! A run on servers while it goes on: fio's lines before the results, the status line, interim reports, and the logs
//! that servers send.

use super::client::{Parts, Server, write_results};
use super::trigger;
use crate::fio::live::{LiveLine, live};
use crate::fio::results::has_text;
use crate::fio::trigger::Trigger;
use crate::members::lead::View;
use crate::members::now;
use crate::output::{Output, Verbosity, print_error};
use cluster::{Answer, Beat, Facts, Instruction, Leader, Live, Stage, Standing};
use fio::Invocation;
use formats::fio::clients::Sums;
use formats::fio::status_line::{Activity, Estimate, LiveRate, LiveStatus, RateLimit};
use formats::printable;
use measure::{Bytes, BytesPerSecond, Nanos, PerDirection};
use model::RunResult;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Time before which no time left is shown: the first seconds do not predict the rest of a run.
const SETTLED: Nanos = Nanos::from_secs(3);

/// A server of the run, as far as it is known.
#[derive(Default)]
struct ServerState {
    facts: Option<Facts>,
    live: Option<Live>,
    report: Option<RunResult>,
}

pub(super) struct ViewEnd {
    /// Names in front of lines of text.
    pub(super) labels: Vec<String>,
    /// The first error of an output.
    pub(super) failed: Option<crate::failure::Failure>,
    pub(super) fired: bool,
}

pub(super) struct ClientView<'a> {
    servers: &'a [Server],
    invocation: &'a Invocation,
    out: &'a mut Output,
    known: Vec<ServerState>,
    /// Logs that are being written.
    logs: BTreeMap<PathBuf, File>,
    /// Servers whose interim result has not arrived.
    awaited: BTreeSet<usize>,
    /// The trigger, until it has fired.
    trigger: Option<Trigger<'a>>,
    next_report: Option<Nanos>,
    line: LiveLine,
    /// The first error of an output.
    failed: Option<crate::failure::Failure>,
}

impl<'a> ClientView<'a> {
    pub(super) fn new(servers: &'a [Server], invocation: &'a Invocation, out: &'a mut Output) -> Self {
        ClientView {
            servers,
            invocation,
            out,
            known: servers.iter().map(|_| ServerState::default()).collect(),
            logs: BTreeMap::new(),
            awaited: BTreeSet::new(),
            trigger: Some(Trigger::new(&invocation.trigger)),
            next_report: invocation.side.status_interval,
            line: LiveLine::new(live(invocation, Verbosity::Usual)),
            failed: None,
        }
    }

    pub(super) fn finish(mut self) -> ViewEnd {
        self.clear();
        let labels = (0..self.servers.len()).map(|rank| self.label(rank)).collect();
        ViewEnd { labels, failed: self.failed, fired: self.trigger.is_none() }
    }

    /// The name in front of a server's lines: that of its machine, with the port if several servers are on one.
    fn label(&self, rank: usize) -> String {
        let (server, own) = (&self.servers[rank], self.known[rank].facts.as_ref());
        let host = own.map_or(server.address.host(), |facts| facts.host.as_str());
        let is_like = |other: usize| {
            let theirs = self.known[other].facts.as_ref().map(|facts| facts.host.as_str());
            other != rank && (self.servers[other].address.host() == server.address.host() || theirs == Some(host))
        };
        let is_shared = (0..self.servers.len()).any(is_like);
        match server.address.port() {
            port if is_shared && port > 0 => format!("{host}:{port}"),
            _ if is_shared => server.address.name(),
            _ => host.to_owned(),
        }
    }

    fn print(&mut self, text: &str) {
        if has_text(self.invocation) && self.failed.is_none() {
            self.clear();
            self.failed = self.out.write(text).err();
        }
    }

    fn greeted(&mut self, rank: usize, facts: &Facts) {
        let architecture = facts.architecture.replace('_', "-");
        let (host, program) = (printable::line(&facts.host), facts.program.rsplit(' ').next().unwrap_or_default());
        let line =
            format!("hostname={host}, be=0, 64-bit, os=Linux, arch={architecture}, fio=fio-3.42-plumb-{program}\n");
        self.known[rank].facts = Some(facts.clone());
        self.print(&line);
    }

    fn text(&mut self, rank: usize, lines: &str) {
        let label = self.label(rank);
        let lines: String = lines.lines().map(|line| format!("<{label}> {}\n", printable::line(line))).collect();
        self.print(&lines);
    }

    /// Appends rows to a log, whose name ends with the server's.
    fn log(&mut self, rank: usize, name: &str, rows: &str) {
        let path = log_path(name, &self.servers[rank].log_stems, &self.servers[rank].name_in_files);
        let result = match self.logs.entry(path.clone()) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut().write_all(rows.as_bytes()),
            std::collections::btree_map::Entry::Vacant(entry) => {
                sys::files::output_file::create(&path).and_then(|file| entry.insert(file).write_all(rows.as_bytes()))
            }
        };
        if let (Err(error), None) = (result, &self.failed) {
            self.failed = Some(crate::failure::Failure::writing(&path.display().to_string(), &error));
        }
    }

    /// Prints the results so far once all servers at work have sent theirs.
    fn report(&mut self) {
        if !self.awaited.is_empty() || self.failed.is_some() {
            return;
        }
        let labels: Vec<String> = (0..self.servers.len()).map(|rank| self.label(rank)).collect();
        self.clear();
        let results: Vec<Option<&RunResult>> = self.known.iter().map(|known| known.report.as_ref()).collect();
        self.failed = write_results(
            Parts { servers: self.servers, labels: &labels, results: &results },
            None,
            Sums::Shown,
            self.invocation,
            self.out,
        )
        .err();
    }

    fn status(&self, leader: &Leader) -> LiveStatus {
        let mut status = LiveStatus { unit_base: 1024, ..LiveStatus::default() };
        let (mut bytes, mut ios) = (0_u64, 0_u64);
        let mut estimates: Vec<(Option<f64>, Option<Nanos>)> = Vec::new();
        let mut rates = [[0_u64; 3]; 2];
        for (rank, known) in self.known.iter().enumerate() {
            let Some(live) = &known.live else { continue };
            status.workers.extend(live.workers.chars().filter_map(Activity::of_letter));
            status.open_files = status.open_files.saturating_add(live.open_files);
            (bytes, ios) = (bytes.saturating_add(live.limits[0]), ios.saturating_add(live.limits[1]));
            if leader.standing(rank) != Standing::Running {
                continue;
            }
            let (latest, before) = leader.latest_beats(rank);
            estimates.push((latest.and_then(|beat| beat.done), live.remaining));
            if let (Some(latest), Some(before)) = (latest, before) {
                add_rates(&mut rates, latest, before);
            }
        }
        status.limit = match (bytes, ios) {
            (0, 0) => None,
            (0, ios) => Some(RateLimit::Iops(0, ios)),
            (bytes, _) => Some(RateLimit::Bandwidth(BytesPerSecond(0), BytesPerSecond(bytes))),
        };
        let rate = |at: usize| LiveRate { bandwidth: BytesPerSecond(rates[0][at]), iops: rates[1][at] };
        status.rates = PerDirection { read: rate(0), write: rate(1), trim: rate(2) };
        status.estimate =
            leader.go().filter(|go| now().saturating_sub(*go) >= SETTLED).and_then(|_| estimate(&estimates));
        status
    }
}

/// The file of a log that a server has named. It is in the directory that the job files of this client name, or else in
/// the current one, whatever the server says.
fn log_path(name: &str, stems: &[String], suffix: &str) -> PathBuf {
    let name = Path::new(name);
    let file = name.file_name().unwrap_or_else(|| OsStr::new("log")).to_owned();
    let is_of = |stem: &&String| {
        let stem = Path::new(stem.as_str());
        let begins = stem.file_name().unwrap_or_default().as_encoded_bytes();
        stem.parent() == name.parent() && file.as_encoded_bytes().starts_with(begins)
    };
    let directory = stems.iter().find(is_of).and_then(|stem| Path::new(stem.as_str()).parent());
    let mut named = file.clone();
    named.push(format!(".{suffix}"));
    directory.map_or_else(|| PathBuf::from(&named), |directory| directory.join(&named))
}

/// The run is as far as the server that is last.
fn estimate(estimates: &[(Option<f64>, Option<Nanos>)]) -> Option<Estimate> {
    let remaining = estimates.iter().filter_map(|(_, remaining)| *remaining).max()?;
    let done = estimates.iter().filter_map(|(done, _)| *done).min_by(f64::total_cmp);
    Some(Estimate { done, remaining })
}

fn add_rates(rates: &mut [[u64; 3]; 2], latest: &Beat, before: &Beat) {
    if before.stage != Stage::Running {
        return;
    }
    let elapsed = latest.at.saturating_sub(before.at);
    for direction in 0..3 {
        let amounts = [
            latest.bytes[direction].saturating_sub(before.bytes[direction]),
            latest.ios[direction].saturating_sub(before.ios[direction]),
        ];
        for (rate, amount) in rates.iter_mut().zip(amounts) {
            let found = BytesPerSecond::over(Bytes(amount), elapsed).map_or(0, |found| found.get());
            rate[direction] = rate[direction].saturating_add(found);
        }
    }
}

impl View for ClientView<'_> {
    fn heard(&mut self, rank: usize, answer: &Answer) {
        match answer {
            Answer::Hello(facts) => self.greeted(rank, facts),
            Answer::Text(lines) => self.text(rank, lines),
            Answer::Live(live) => self.known[rank].live = Some((**live).clone()),
            Answer::Log { name, rows } => self.log(rank, name, rows),
            Answer::State(state) => {
                let written = trigger::write(state, &self.servers[rank].name_in_files);
                self.failed = self.failed.take().or(written.err());
            }
            Answer::Report(so_far) => {
                self.known[rank].report = Some((**so_far).clone());
                if self.awaited.remove(&rank) {
                    self.report();
                }
            }
            Answer::Done(finished) => {
                let is_shown = self.invocation.side.status_interval.is_some();
                self.known[rank].report = is_shown.then(|| finished.result.clone());
                if self.awaited.remove(&rank) {
                    self.report();
                }
            }
            _ => {}
        }
    }

    fn say(&mut self, rank: usize, text: &str) {
        let name = self.servers[rank].address.name();
        print_error(&format!("fio: client <{name}>: {}", printable::lines(text.trim_end())));
    }

    fn instruction(&mut self, leader: &Leader) -> Option<Instruction> {
        let is_at_work = |rank: &usize| leader.standing(*rank) == Standing::Running;
        if let Some(go) = leader.go().filter(|go| now() >= *go && (0..self.servers.len()).any(|rank| is_at_work(&rank)))
            && self.trigger.as_mut().is_some_and(|trigger| trigger.is_pulled(now().saturating_sub(go)))
        {
            self.trigger = None;
            return Some(Instruction::Trigger);
        }
        let lost = self.awaited.iter().copied().find(|rank| !is_at_work(rank));
        if let Some(rank) = lost {
            self.awaited.remove(&rank);
            self.report();
        }
        let (every, next, go) = (self.invocation.side.status_interval?, self.next_report?, leader.go()?);
        let elapsed = now().saturating_sub(go);
        if elapsed < next || !self.awaited.is_empty() {
            return None;
        }
        // A late poll does not delay the next report: due times are multiples of the interval.
        let passed = elapsed.get() / every.get().max(1);
        self.next_report = Some(Nanos((passed + 1).saturating_mul(every.get())));
        self.awaited = (0..self.servers.len()).filter(is_at_work).collect();
        (!self.awaited.is_empty()).then_some(Instruction::Report)
    }

    fn draw(&mut self, leader: &Leader) {
        let at = now();
        let Some(go) = leader.go().filter(|go| at >= *go && self.line.is_due(at.saturating_sub(*go))) else { return };
        let status = self.status(leader);
        self.line.draw(at.saturating_sub(go), &status);
    }

    fn clear(&mut self) {
        self.line.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_written_where_the_job_file_says_and_nowhere_else() {
        let stems = ["logs/l".to_owned(), "m".to_owned(), "/abs/n".to_owned()];
        for (name, expected) in [
            ("logs/l_bw.1.log", "logs/l_bw.1.log.h"),
            ("m_lat.2.log", "m_lat.2.log.h"),
            ("/abs/n_lat.2.log", "/abs/n_lat.2.log.h"),
            ("other/l_bw.1.log", "l_bw.1.log.h"),
            ("logs/x", "x.h"),
            ("logs/l/../../../etc/passwd", "passwd.h"),
            ("/etc/passwd", "passwd.h"),
            ("..", "log.h"),
        ] {
            assert_eq!(log_path(name, &stems, "h"), Path::new(expected), "{name}");
        }
    }
}
