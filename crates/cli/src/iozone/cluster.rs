//! Clusters (`-+m`): each child is a member on another host, which the remote shell starts with plumb's protocol of
//! members. Here is how a test becomes tasks, and how the members' results become that of the test; `member` is the
//! other end.

use super::iozone_run::PassError;
use crate::failure::Failure;
use crate::members::carrier::{Arrivals, Connection, Mailbox};
use crate::members::lead::Members;
use crate::members::lead::{self, Connections, View};
use crate::members::now;
use crate::members::program::BEAT;
use crate::members::{PROGRAM, SILENCE};
use crate::output::print_error;
use cluster::{
    Answer, IozoneTask, IozoneWork, Leader, LeaderCommand, OnLoss, Outcome, Rounds, Settings as LeaderSettings, Task,
};
use formats::printable;
use iozone::{Cause, Member, Pass, PassFailure, Settings, Sizes};
use model::RunResult;
use std::ops::Range;
use std::sync::Arc;
use sys::processes::signals::Watch;

/// Runs one test on the first `count` members: they begin at an agreed moment, once all are ready, and get a message
/// when the first one has finished.
pub(super) fn measure(
    settings: &Settings,
    pass: Pass,
    count: u32,
    sizes: Sizes,
    members: Option<&mut Members>,
) -> Result<RunResult, PassError> {
    let (size_kb, record_kb) = (sizes.file_kb, sizes.record_kb);
    let work = IozoneWork::Test { test: pass.test.number(), pass: pass.number, size_kb, record_kb };
    let RoundResult { outcome, failure } = match members {
        None => {
            let work = IozoneTask { work, removes: false, file: String::new() };
            carry_out(settings, 0..count, count, &work, lead::signals()?)?
        }
        Some(members) => {
            // They stay, and remove their files at the end.
            let work = IozoneTask { work, removes: !settings.keep, file: String::new() };
            let each = (0..count).zip(&settings.members);
            let tasks = each.map(|(rank, member)| task(settings, member, rank, count, &work));
            let mut failures = Failures { first: 0, said: None, lost: None };
            let outcome = members.round(tasks.collect(), &mut failures)?;
            RoundResult { outcome, failure: failures.found() }
        }
    };
    if let Some(signal) = outcome.signal {
        return Err(PassFailure::interrupted(signal).into());
    }
    if let Some(LostMember { rank, why, .. }) = failure {
        let failure = PassFailure::of_member(&place(&settings.members[rank as usize]), &why);
        // One that was killed has a machine, which removes its file.
        let cause = if why.starts_with(cluster::SAID_NOTHING) { Cause::Lost(rank) } else { failure.cause };
        return Err(PassFailure { cause, ..failure }.into());
    }
    let places: Vec<String> = settings.members.iter().map(place).collect();
    let mut all: Option<RunResult> = None;
    for (member, place) in outcome.into_results(&places).into_iter().zip(&places) {
        let result = member.result.unwrap_or_default();
        if let Some(error) = result.jobs.iter().find_map(|job| job.error.as_ref()) {
            return Err(PassFailure::of_member(place, &error.message).into());
        }
        match &mut all {
            None => all = Some(result),
            Some(all) => all.jobs.extend(result.jobs),
        }
    }
    Ok(all.unwrap_or_default())
}

/// Removes the members' files, but for that of one that says nothing. Each for itself: one that cannot be reached keeps
/// no other from it.
pub(super) fn clean(settings: &Settings, count: u32, lost: Option<u32>) -> Result<(), Failure> {
    let signals = lead::signals()?;
    let work = IozoneTask { work: IozoneWork::Remove, removes: false, file: String::new() };
    let remove = |rank: u32| carry_out(settings, rank..rank + 1, count, &work, Arc::clone(&signals));
    let found: Vec<Result<RoundResult, Failure>> = std::thread::scope(|scope| {
        let each: Vec<_> = (0..count)
            .filter(|&rank| lost != Some(rank))
            .map(|rank| {
                scope.spawn({
                    let remove = &remove;
                    move || remove(rank)
                })
            })
            .collect();
        each.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    for round in found {
        if let Some(LostMember { rank, why, is_said: true }) = round?.failure {
            return Err(Failure::new(format!("iozone: {}: {why}", place(&settings.members[rank as usize]))));
        }
    }
    Ok(())
}

struct RoundResult {
    outcome: Outcome,
    /// The first one that was lost.
    failure: Option<LostMember>,
}

struct LostMember {
    rank: u32,
    why: String,
    /// True if it said so; false if it cannot be reached, or has ended.
    is_said: bool,
}

/// Has these members do this.
fn carry_out(
    settings: &Settings,
    ranks: Range<u32>,
    count: u32,
    work: &IozoneTask,
    signals: Arc<Watch>,
) -> Result<RoundResult, Failure> {
    let arrivals = Arrivals::new();
    let (mut tasks, mut connections) = (Vec::new(), Vec::new());
    for (number, rank) in ranks.clone().enumerate() {
        let Some(member) = settings.members.get(rank as usize) else { break };
        connections.push(start(member, arrivals.mailbox(number))?);
        tasks.push(task(settings, member, rank, count, work));
    }
    let settings_of_leader =
        LeaderSettings { program: PROGRAM.to_owned(), silence: SILENCE, on_loss: OnLoss::Stop, rounds: Rounds::One };
    let leader = Leader::new(settings_of_leader, tasks, now());
    let mut failures = Failures { first: ranks.start, said: None, lost: None };
    let (outcome, _) = Connections::new(leader, connections, arrivals, signals).round(&mut failures);
    Ok(RoundResult { outcome, failure: failures.found() })
}

fn task(settings: &Settings, member: &Member, rank: u32, count: u32, work: &IozoneTask) -> Task {
    let file = member.file.as_ref().map_or_else(|| format!("iozone.DUMMY.{rank}"), |file| file.display().to_string());
    let task = IozoneTask { file, ..work.clone() };
    let is_there = |other: &&Member| other.host == member.host;
    let on_host = settings.members.iter().take(count as usize).filter(is_there).count();
    Task {
        rank,
        members: count,
        others_on_host: u32::try_from(on_host).unwrap_or(u32::MAX).saturating_sub(1),
        words: words(settings),
        directory: member.directory.clone(),
        beat: BEAT,
        command: LeaderCommand::Iozone(Box::new(task)),
        ..Task::default()
    }
}

/// The command line without the cluster options: each member runs on its own.
fn words(settings: &Settings) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = settings.words.iter();
    while let Some(word) = words.next() {
        if ["-+m", "-+h", "-+i"].contains(&word.as_str()) {
            words.next();
        } else {
            kept.push(word.clone());
        }
    }
    // `settings.words` does not contain plumb's own options.
    kept.push(format!("--stuck-after={}", settings.stuck_after.map_or(0, |limit| limit.as_duration().as_secs())));
    kept
}

fn place(member: &Member) -> String {
    format!("{} ({})", member.host, member.directory)
}

/// Starts a member. Its program is plumb, or a link to it that is named iozone.
fn start(member: &Member, mailbox: Mailbox) -> Result<Connection, Failure> {
    let program = measure::text::shell_quoted(&member.program);
    let is_link = member.program.rsplit('/').next() == Some("iozone");
    let line = if is_link { format!("{program} --member") } else { format!("{program} iozone --member") };
    Connection::remote(&member.host, &line, mailbox)
        .map_err(|failure| Failure::new(format!("iozone: {}", failure.message())))
}

/// The first member that was lost. Other sentences of members go to standard error.
struct Failures {
    /// Rank of the first member.
    first: u32,
    /// The first one that said that it cannot do its part.
    said: Option<u32>,
    lost: Option<(u32, String)>,
}

impl Failures {
    fn found(self) -> Option<LostMember> {
        let (rank, why) = self.lost?;
        Some(LostMember { rank, why, is_said: self.said == Some(rank) })
    }

    fn rank(&self, number: usize) -> u32 {
        self.first.saturating_add(u32::try_from(number).unwrap_or(u32::MAX))
    }
}

impl View for Failures {
    fn heard(&mut self, number: usize, answer: &Answer) {
        let rank = self.rank(number);
        match answer {
            Answer::Finding(text) => print_error(&format!("plumb: child {rank}: {}", printable::lines(text))),
            Answer::Failed { .. } => self.said = self.said.or(Some(rank)),
            _ => {}
        }
    }

    fn lost(&mut self, number: usize, why: &str) {
        let rank = self.rank(number);
        self.lost.get_or_insert_with(|| (rank, why.to_owned()));
    }
}

/// The block of lines as printed for clusters: with `Test running:`, and without the line `Parent sees`, because the
/// parent's clock is not that of the members.
pub(super) fn block(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with("\tParent sees"));
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    text.replacen('\n', "\n\tTest running:\n", 1)
}
