//! The leader of a run as a state machine: an event and its time in, actions out. It reads no clock and waits for
//! nothing; the caller, who carries the lines, does.
//!
//! No member is waited for without end: each of its states has a time after which it is given up. What was finished
//! stays in the outcome, whatever comes later.

use crate::clock::{MOST_PINGS, Measurement, MemberClock, Ping};
use crate::member_result::has_failed;
use crate::message::{Answer, Beat, Facts, Instruction, MemberEnd, PROTOCOL, Stage, Task};
use measure::Nanos;
use model::JobResult;

/// Least time between the last member that is ready and the start of all.
const LEAST_LEAD: Nanos = Nanos::from_millis(200);
/// The same in round trips of the farthest member.
const LEAD_ROUND_TRIPS: u64 = 20;
/// Time that a member has to exit.
const EXIT: Nanos = Nanos::from_secs(3);
/// Least time that a member has to greet, and to begin or to end while it gives signs of life.
const PATIENCE: Nanos = Nanos::from_secs(60);
/// Silence after which a member is named, if it may be silent longer than that.
const NAMED: Nanos = Nanos::from_secs(10);
/// Begin of the reason of a loss without a word or an end: the machine cannot be reached, or its member is stopped.
pub const SAID_NOTHING: &str = "it said nothing for";
/// Time after which a ping is not answered any more.
const LOST_PING: Nanos = Nanos::SECOND;
/// Beats that are kept of a member. Beyond it every second one is left out.
const MOST_BEATS: usize = 4096;

/// Settings of a leader.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Program and version that the members must have.
    pub program: String,
    /// Silence after which a member is given up.
    pub silence: Nanos,
    /// Consequence of a lost member.
    pub on_loss: OnLoss,
    /// Number of rounds.
    pub rounds: Rounds,
}

/// Number of rounds, in each of which every member carries out a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounds {
    /// One: a member that has finished exits.
    One,
    /// Until [`Leader::dismiss_all`]: members that have finished rest until all have.
    Several,
}

/// Consequence for the others of a member that is lost after the start. Before the start all end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLoss {
    /// They end, in order.
    Stop,
    /// They go on.
    GoOn,
}

/// An event.
#[derive(Clone, Debug)]
pub enum Event {
    /// A message of a member, by its number.
    Answer(usize, Answer),
    /// The connection to a member has ended, or it sent what is not a message; with the reason.
    Ended(usize, String),
    /// A signal to the leader.
    Signal(i32),
    /// Time has passed.
    Time,
}

/// An action.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Send a message to a member.
    Send(usize, Instruction),
    /// Kill a member, or what carries its lines.
    Kill(usize),
    /// Print a sentence about a member.
    Say(usize, String),
    /// A member is lost, for this reason, which [`Action::Say`] has said.
    Lost(usize, String),
    /// A round is over, and its members rest: now [`Leader::take_round`], and then [`Leader::again`] or
    /// [`Leader::dismiss_all`].
    Rest,
    /// All is over; sent once, last.
    Finish,
}

/// Where a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It was started, and has not greeted.
    Starting,
    /// Its clock is being measured.
    Timing,
    /// Its clock is known; another member has not come as far. Nothing is laid out before all members have greeted.
    Waiting,
    /// It reads the job and lays out files.
    LayingOut,
    /// Its workers wait for the start.
    Ready,
    /// Its workers run.
    Running,
    /// Its result has arrived.
    Finished,
    /// Its clock was measured once more, and it waits for the next round.
    Resting,
    /// It has exited, or was given up.
    Gone,
}

/// Everything about a member.
#[derive(Clone, Debug)]
struct Member {
    task: Task,
    standing: Standing,
    facts: Option<Facts>,
    clock: MemberClock,
    /// Number and time of the ping that is under way.
    ping: (u32, Nanos),
    heard: Nanos,
    /// True once its silence was named.
    named: bool,
    /// Time at which it is given up whatever it says.
    ends_by: Option<Nanos>,
    beats: Vec<Beat>,
    /// I/Os of its fastest worker when the time of all its workers was over.
    out_of_time: Option<u64>,
    finished: Option<Box<MemberEnd>>,
    /// Reason why it is lost, and when.
    lost: Option<(String, Nanos)>,
}

/// State of the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Not all members are ready.
    Starting,
    /// All were asked to begin at this time of the leader's clock.
    Running { at: Nanos },
    /// The round is over, and all members rest.
    Resting,
    /// All were asked to end.
    Ending,
    /// All are gone.
    Over,
}

/// An end of the patience with a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deadline {
    /// Its silence is said, once.
    Warning,
    /// It was silent for too long, and is given up.
    Silence,
    /// It did not begin or end in time, and is given up.
    End,
}

/// The leader.
#[derive(Debug)]
pub struct Leader {
    settings: Settings,
    members: Vec<Member>,
    phase: Phase,
    /// Number of the round.
    round: u32,
    began: Nanos,
    go: Option<Nanos>,
    /// I/Os that every worker does, once it is known how many the fastest one has done.
    until: Option<u64>,
    signal: Option<i32>,
    actions: Vec<Action>,
}

/// All that is known at the end, member by member.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Time of the leader's clock at which all were asked to begin; `None` if that was never reached.
    pub go: Option<Nanos>,
    /// The signal that ended the run.
    pub signal: Option<i32>,
    /// The members in order.
    pub members: Vec<MemberOutcome>,
}

/// All that is known about a member at the end.
#[derive(Clone, Debug)]
pub struct MemberOutcome {
    pub(crate) facts: Option<Facts>,
    pub(crate) clock: MemberClock,
    pub(crate) beats: Vec<Beat>,
    pub(crate) out_of_time: Option<u64>,
    pub(crate) finished: Option<MemberEnd>,
    /// The reason, and the time of the leader's clock.
    pub(crate) lost: Option<(String, Nanos)>,
}

impl Leader {
    /// A leader of these members, which were started at `now`.
    pub fn new(settings: Settings, tasks: Vec<Task>, now: Nanos) -> Self {
        assert!(!tasks.is_empty(), "a leader without members would never finish");
        let member = |task| Member {
            task,
            standing: Standing::Starting,
            facts: None,
            clock: MemberClock::default(),
            ping: (0, now),
            heard: now,
            named: false,
            ends_by: None,
            beats: Vec::new(),
            out_of_time: None,
            finished: None,
            lost: None,
        };
        let members = tasks.into_iter().map(member).collect();
        Leader {
            settings,
            members,
            phase: Phase::Starting,
            round: 0,
            began: now,
            go: None,
            until: None,
            signal: None,
            actions: Vec::new(),
        }
    }

    /// Everything that was found in the round that is over, or until the end.
    pub fn take_round(&mut self) -> Outcome {
        let member = |member: &mut Member| MemberOutcome {
            facts: member.facts.clone(),
            clock: member.clock.clone(),
            beats: std::mem::take(&mut member.beats),
            out_of_time: member.out_of_time,
            finished: member.finished.take().map(|finished| *finished),
            lost: member.lost.clone(),
        };
        Outcome { go: self.go, signal: self.signal, members: self.members.iter_mut().map(member).collect() }
    }

    /// From now on a lost member does not end the others, and rounds begin without it.
    pub fn go_on_without_lost(&mut self) {
        self.settings.on_loss = OnLoss::GoOn;
    }

    /// Begins the next round with these tasks, and returns the actions that follow. A member that has exited meanwhile
    /// is lost: no round begins without it, unless the others are to go on.
    pub fn again(&mut self, tasks: Vec<Task>, now: Nanos) -> Vec<Action> {
        if self.phase != Phase::Resting {
            return Vec::new();
        }
        self.round = self.round.saturating_add(1);
        (self.phase, self.go, self.began, self.until) = (Phase::Starting, None, now, None);
        for (member, task) in self.members.iter_mut().zip(tasks) {
            (member.task, member.clock) = (Task { round: self.round, ..task }, member.clock.of_next_round());
            member.beats.clear();
            (member.finished, member.ends_by, member.out_of_time) = (None, None, None);
        }
        for rank in 0..self.members.len() {
            if self.members[rank].standing != Standing::Gone {
                continue;
            }
            let why = "it ended between two rounds".to_owned();
            match self.settings.on_loss {
                OnLoss::Stop => self.lose(rank, why, now),
                OnLoss::GoOn => self.keep_loss(rank, why, now),
            }
        }
        if self.phase == Phase::Starting {
            let there = self.members.iter_mut().enumerate().filter(|(_, member)| member.standing != Standing::Gone);
            for (rank, member) in there {
                (member.standing, member.heard, member.named) = (Standing::LayingOut, now, false);
                self.actions.push(Action::Send(rank, Instruction::Prepare(Box::new(member.task.clone()))));
            }
        }
        self.go_on(now);
        self.taken()
    }

    /// Lets all members exit after the last round, and returns the actions that follow.
    pub fn dismiss_all(&mut self, now: Nanos) -> Vec<Action> {
        if self.phase == Phase::Resting {
            self.end_all("there is no other round", now);
        }
        self.go_on(now);
        self.taken()
    }

    /// Processes an event, and returns the actions that follow.
    pub fn step(&mut self, event: Event, now: Nanos) -> Vec<Action> {
        match event {
            Event::Answer(rank, answer) => self.answer(rank, answer, now),
            Event::Ended(rank, why) => self.ended(rank, why, now),
            Event::Signal(signal) => self.signalled(signal, now),
            Event::Time => {}
        }
        self.give_up(now);
        self.go_on(now);
        self.taken()
    }

    /// The leader itself was stopped for this long. What members said meanwhile may not have been read yet, so the time
    /// does not count as their silence.
    pub fn was_stopped(&mut self, time: Nanos) {
        for member in &mut self.members {
            member.heard = member.heard.saturating_add(time);
            member.ends_by = member.ends_by.map(|at| at.saturating_add(time));
        }
    }

    /// The ping to a member leaves now, later than it was asked for.
    pub fn ping_leaves(&mut self, rank: usize, now: Nanos) {
        self.members[rank].ping.1 = now;
    }

    /// The actions that an event had.
    fn taken(&mut self) -> Vec<Action> {
        self.check();
        std::mem::take(&mut self.actions)
    }

    /// Checks the invariants between two events.
    fn check(&self) {
        let is_gone = |member: &Member| member.standing == Standing::Gone;
        if self.phase == Phase::Over {
            assert!(self.members.iter().all(is_gone), "the run is over while a member is there: {:?}", self.members);
        }
        if self.phase == Phase::Resting {
            let rests = |member: &Member| matches!(member.standing, Standing::Resting | Standing::Gone);
            assert!(self.members.iter().all(rests), "the round is over while a member works: {:?}", self.members);
        }
        debug_assert!(!matches!(self.phase, Phase::Running { at } if self.go != Some(at)), "{:?}", self.phase);
        for (rank, member) in self.members.iter().enumerate() {
            debug_assert!(
                member.finished.as_ref().is_none_or(|finished| finished.round == self.round),
                "member {rank} has the result of another round"
            );
            debug_assert!(
                member.beats.iter().zip(member.beats.iter().skip(1)).all(|(before, after)| before.at < after.at),
                "beats of member {rank} are not in the order of their times"
            );
        }
    }

    /// The next time at which [`Event::Time`] changes something; `None` once all is over.
    pub fn due(&self) -> Option<Nanos> {
        (0..self.members.len()).filter_map(|rank| self.deadline(rank).map(|(at, _)| at)).min()
    }

    /// Where a member is.
    pub fn standing(&self, rank: usize) -> Standing {
        self.members[rank].standing
    }

    /// The latest beat of a member, and the one before it.
    pub fn latest_beats(&self, rank: usize) -> (Option<&Beat>, Option<&Beat>) {
        let mut beats = self.members[rank].beats.iter().rev();
        (beats.next(), beats.next())
    }

    /// Silence after which a member is given up, and a member without its leader ends.
    pub fn silence(&self) -> Nanos {
        self.settings.silence
    }

    /// Time at which all were asked to begin.
    pub fn go(&self) -> Option<Nanos> {
        self.go
    }

    fn answer(&mut self, rank: usize, answer: Answer, now: Nanos) {
        let Some(member) = self.members.get_mut(rank).filter(|member| member.standing != Standing::Gone) else {
            return;
        };
        // A member that rests although it has work never got its task, or its result was lost.
        let is_of_now = match &answer {
            Answer::Beat(beat) => {
                let rests = matches!(member.standing, Standing::Finished | Standing::Resting);
                beat.round == self.round && (rests || beat.stage != Stage::Resting)
            }
            _ => true,
        };
        if is_of_now {
            (member.heard, member.named) = (now.max(member.heard), false);
        }
        match answer {
            Answer::Hello(facts) => self.greeted(rank, *facts, now),
            Answer::Pong { number, at } => self.pong(rank, number, at, now),
            Answer::Ready { round } if round == self.round => self.ready(rank),
            Answer::Ready { .. } => {}
            Answer::Beat(beat) => self.beat(rank, beat, now),
            Answer::Finding(text) => self.actions.push(Action::Say(rank, text)),
            // The caller shows them.
            Answer::Interval(_)
            | Answer::Text(_)
            | Answer::Live(_)
            | Answer::Report(_)
            | Answer::Log { .. }
            | Answer::State(_) => {}
            Answer::Done(finished) => self.done(rank, finished, now),
            Answer::Failed { why } => self.lose(rank, why, now),
        }
    }

    fn greeted(&mut self, rank: usize, facts: Facts, now: Nanos) {
        if self.members[rank].standing != Standing::Starting {
            return;
        }
        let (theirs, ours) = (facts.program.clone(), self.settings.program.clone());
        let is_same = facts.protocol == PROTOCOL && theirs == ours;
        self.members[rank].facts = Some(facts);
        if !is_same {
            let why = format!("it runs {theirs}, and this is {ours}; use one version of plumb on all machines");
            return self.lose(rank, why, now);
        }
        if self.phase == Phase::Starting {
            self.members[rank].standing = Standing::Timing;
            self.ping(rank, 0, now);
        }
    }

    fn ping(&mut self, rank: usize, number: u32, now: Nanos) {
        self.members[rank].ping = (number, now);
        self.actions.push(Action::Send(rank, Instruction::Ping { number }));
    }

    fn pong(&mut self, rank: usize, number: u32, at: Nanos, now: Nanos) {
        let member = &mut self.members[rank];
        let measurement = match member.standing {
            Standing::Timing => Measurement::Before,
            Standing::Finished if member.ends_by.is_none() => Measurement::After,
            _ => return,
        };
        // An answer to an earlier ping would measure a time that was not taken.
        if number != member.ping.0 {
            return;
        }
        if !member.clock.add(measurement, Ping { sent: member.ping.1, answered: at, received: now }) {
            return self.ping(rank, number + 1, now);
        }
        match measurement {
            Measurement::Before => member.standing = Standing::Waiting,
            Measurement::After => self.rest(rank, now),
        }
    }

    fn ready(&mut self, rank: usize) {
        if self.members[rank].standing == Standing::LayingOut {
            self.members[rank].standing = Standing::Ready;
        }
    }

    fn beat(&mut self, rank: usize, beat: Beat, now: Nanos) {
        let member = &mut self.members[rank];
        let is_timed = member.standing == Standing::Finished && member.ends_by.is_none();
        if is_timed && beat.stage == Stage::Resting && now.saturating_sub(member.ping.1) > LOST_PING {
            return self.rest(rank, now);
        }
        let is_over = beat.stage == Stage::Resting || member.finished.is_some() || beat.round != self.round;
        if is_over || member.beats.last().is_some_and(|last| beat.at <= last.at) {
            return;
        }
        member.beats.push(beat);
        if member.beats.len() > MOST_BEATS {
            let mut number = 0;
            // The last one stays: it is the latest.
            member.beats.retain(|_| {
                number += 1;
                number % 2 == 1
            });
        }
        if beat.stage == Stage::Running && member.standing == Standing::Ready {
            member.standing = Standing::Running;
            member.ends_by = if self.phase == Phase::Ending { member.ends_by } else { None };
        }
        // The message may have been lost that said so.
        if beat.stage == Stage::Ready {
            self.ready(rank);
        }
        if let Some(ios) = beat.out_of_time {
            self.members[rank].out_of_time = Some(ios);
            // It waits still: the number may have been lost.
            if let Some(ios) = self.until {
                self.actions.push(Action::Send(rank, Instruction::Until { ios, round: self.round }));
            }
        }
    }

    /// Once the time of all is over: how far everyone goes on. A member that came to the end of its job has its number,
    /// too; one that is lost has none.
    fn wear_out(&mut self) {
        let fastest = |finished: &MemberEnd| finished.result.jobs.iter().map(JobResult::ios).max();
        let is_over = |member: &Member| {
            let is_done = matches!(member.standing, Standing::Finished | Standing::Resting | Standing::Gone);
            is_done || member.out_of_time.is_some()
        };
        let waits = |member: &Member| member.standing == Standing::Running && member.out_of_time.is_some();
        if self.until.is_some() || !self.members.iter().all(is_over) || !self.members.iter().any(waits) {
            return;
        }
        let of_finished = self.members.iter().filter_map(|member| fastest(member.finished.as_ref()?));
        let of_waiting = self.members.iter().filter(|&member| waits(member)).filter_map(|member| member.out_of_time);
        let Some(ios) = of_finished.chain(of_waiting).max() else { return };
        self.until = Some(ios);
        let waiting = (0..self.members.len()).filter(|&rank| waits(&self.members[rank]));
        self.actions.extend(waiting.map(|rank| Action::Send(rank, Instruction::Until { ios, round: self.round })));
    }

    fn done(&mut self, rank: usize, finished: Box<MemberEnd>, now: Nanos) {
        let before = self.members[rank].standing;
        let is_expected = matches!(before, Standing::LayingOut | Standing::Ready | Standing::Running);
        if !is_expected || self.members[rank].finished.is_some() || finished.round != self.round {
            return;
        }
        let fault = finished.result.jobs.iter().find_map(|job| job.error.as_ref()).map(|error| error.message.clone());
        let is_first = self.members.iter().all(|member| member.finished.is_none());
        let member = &mut self.members[rank];
        (member.finished, member.standing) = (Some(finished), Standing::Finished);
        member.ends_by = None;
        match self.phase {
            // It waited for a start that never came.
            Phase::Ending if self.go.is_none() => {
                member.finished = None;
                member.standing = Standing::Timing;
                self.dismiss(rank, now);
            }
            // All its workers ended while they were set up.
            Phase::Starting => {
                let why = fault.unwrap_or_else(|| "its run ended before the start".to_owned());
                member.finished = None;
                self.lose(rank, why, now);
            }
            Phase::Running { .. } => {
                if is_first {
                    self.mark(rank);
                }
                self.ping(rank, MOST_PINGS, now);
            }
            Phase::Resting | Phase::Ending | Phase::Over => self.dismiss(rank, now),
        }
    }

    /// Lets a member exit that has finished the only round, or rest.
    fn rest(&mut self, rank: usize, now: Nanos) {
        match self.settings.rounds {
            Rounds::One => self.dismiss(rank, now),
            Rounds::Several => self.members[rank].standing = Standing::Resting,
        }
    }

    /// Asks all others for their amounts.
    fn mark(&mut self, first: usize) {
        let at_work = |standing| matches!(standing, Standing::Ready | Standing::Running);
        let others = (0..self.members.len()).filter(|&other| other != first && at_work(self.members[other].standing));
        self.actions.extend(others.map(|other| Action::Send(other, Instruction::Mark)));
    }

    /// Lets a member exit.
    fn dismiss(&mut self, rank: usize, now: Nanos) {
        self.members[rank].ends_by = Some(now.saturating_add(EXIT));
        self.actions.push(Action::Send(rank, Instruction::Bye));
    }

    fn ended(&mut self, rank: usize, why: String, now: Nanos) {
        let Some(member) = self.members.get_mut(rank).filter(|member| member.standing != Standing::Gone) else {
            return;
        };
        let is_complete = member.finished.is_some() || member.standing == Standing::Resting;
        // A member that was asked to end before its start has no result to send.
        let has_not_begun =
            matches!(member.standing, Standing::Starting | Standing::Timing | Standing::Waiting | Standing::LayingOut);
        let was_asked = self.phase == Phase::Ending && has_not_begun;
        // A second host that refused would end after the first one made all end: it is named, too.
        let was_refused = member.standing == Standing::Starting && self.signal.is_none() && has_failed(&why);
        if is_complete || (was_asked && !was_refused) {
            member.standing = Standing::Gone;
            self.actions.push(Action::Kill(rank));
        } else {
            self.lose(rank, why, now);
        }
    }

    /// Gives up a member. Before the start nothing begins; after it the others end, unless they are to go on.
    fn lose(&mut self, rank: usize, why: String, now: Nanos) {
        let member = &mut self.members[rank];
        let has_result = member.finished.is_some() || member.standing == Standing::Resting;
        member.standing = Standing::Gone;
        if !has_result {
            self.keep_loss(rank, why, now);
        }
        self.actions.push(Action::Kill(rank));
        let ends_all = match self.phase {
            Phase::Starting => true,
            Phase::Running { .. } => self.settings.on_loss == OnLoss::Stop && self.members[rank].lost.is_some(),
            Phase::Resting | Phase::Ending | Phase::Over => false,
        };
        if ends_all {
            self.end_all(&format!("member {rank} is lost"), now);
        }
    }

    /// Says that a member is lost, once.
    fn keep_loss(&mut self, rank: usize, why: String, now: Nanos) {
        let lost = &mut self.members[rank].lost;
        if lost.is_none() {
            *lost = Some((why.clone(), now));
            self.actions.push(Action::Say(rank, why.clone()));
            self.actions.push(Action::Lost(rank, why));
        }
    }

    /// The time in which a member that gives signs of life has to do what it was asked to. One that gives none is given up
    /// before.
    fn patience(&self) -> Nanos {
        self.settings.silence.max(PATIENCE)
    }

    /// Silence after which a member is given up. A login on another machine takes its time, and says nothing.
    fn silence_of(&self, rank: usize) -> Nanos {
        if self.members[rank].standing == Standing::Starting { self.patience() } else { self.settings.silence }
    }

    /// Asks all members to end.
    fn end_all(&mut self, why: &str, now: Nanos) {
        self.phase = Phase::Ending;
        for rank in 0..self.members.len() {
            match self.members[rank].standing {
                Standing::Gone => {}
                Standing::Starting | Standing::Timing | Standing::Waiting | Standing::Finished | Standing::Resting => {
                    self.dismiss(rank, now)
                }
                Standing::LayingOut | Standing::Ready | Standing::Running => {
                    self.members[rank].ends_by = Some(now.saturating_add(self.patience()));
                    self.actions.push(Action::Send(rank, Instruction::Stop { why: why.to_owned() }));
                }
            }
        }
    }

    /// The first signal ends all in order, the second one at once.
    fn signalled(&mut self, signal: i32, now: Nanos) {
        if self.signal.replace(signal).is_none() {
            self.end_all(&format!("the leader got signal {signal}"), now);
            return;
        }
        for rank in 0..self.members.len() {
            if self.members[rank].standing != Standing::Gone {
                self.phase = Phase::Ending;
                self.lose(rank, format!("it had not ended at the second signal {signal}"), now);
            }
        }
    }

    /// The next time at which patience with a member ends, and what follows.
    fn deadline(&self, rank: usize) -> Option<(Nanos, Deadline)> {
        let member = &self.members[rank];
        if member.standing == Standing::Gone {
            return None;
        }
        // One that waits has nothing to say.
        let speaks = member.standing != Standing::Waiting;
        let silence = self.silence_of(rank);
        let silent = speaks.then(|| (member.heard.saturating_add(silence), Deadline::Silence));
        let named = (speaks && !member.named && silence > NAMED)
            .then(|| (member.heard.saturating_add(NAMED), Deadline::Warning));
        let by = member.ends_by.map(|at| (at, Deadline::End));
        [silent, named, by].into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    /// Gives up the members whose time is over.
    fn give_up(&mut self, now: Nanos) {
        for rank in 0..self.members.len() {
            while let Some((at, kind)) = self.deadline(rank) {
                if at > now {
                    break;
                }
                let quiet = now.saturating_sub(self.members[rank].heard).get() / Nanos::SECOND.get();
                match kind {
                    Deadline::Warning => {
                        self.members[rank].named = true;
                        self.actions.push(Action::Say(rank, format!("it has said nothing for {quiet} s")));
                    }
                    Deadline::Silence => {
                        let (after, limit) = (self.since_start(now), self.silence_of(rank).as_duration());
                        self.lose(rank, format!("{SAID_NOTHING} {limit:?}, and was given up {after}"), now);
                    }
                    Deadline::End => self.lose(rank, self.lateness(rank), now),
                }
            }
        }
    }

    fn lateness(&self, rank: usize) -> String {
        match (self.phase, self.members[rank].standing) {
            (Phase::Running { .. }, _) => "it did not begin when it was asked to".to_owned(),
            (_, Standing::Starting | Standing::Timing | Standing::Waiting) => "it did not exit".to_owned(),
            _ => "it did not end when it was asked to".to_owned(),
        }
    }

    /// `12 s after the start`.
    fn since_start(&self, now: Nanos) -> String {
        let since = |from: Nanos| now.saturating_sub(from).get() / Nanos::SECOND.get();
        match self.go {
            Some(go) => format!("{} s after the start", since(go)),
            None => format!("before the start, after {} s", since(self.began)),
        }
    }

    /// Lays out files once all members have greeted, starts the I/O once all are ready, and ends once all are gone.
    fn go_on(&mut self, now: Nanos) {
        self.prepare_all(now);
        // Those that are gone were lost in an earlier round: a loss in this one ends all.
        let is_ready = |member: &Member| matches!(member.standing, Standing::Ready | Standing::Gone);
        let is_one_there = self.members.iter().any(|member| member.standing == Standing::Ready);
        if self.phase == Phase::Starting && is_one_there && self.members.iter().all(is_ready) {
            self.start(now);
        }
        if matches!(self.phase, Phase::Running { .. }) {
            self.wear_out();
        }
        let at_rest = |member: &Member| matches!(member.standing, Standing::Resting | Standing::Gone);
        let is_any_left = self.members.iter().any(|member| member.standing == Standing::Resting);
        if matches!(self.phase, Phase::Running { .. }) && is_any_left && self.members.iter().all(at_rest) {
            self.phase = Phase::Resting;
            self.actions.push(Action::Rest);
        }
        if self.phase != Phase::Over && self.members.iter().all(|member| member.standing == Standing::Gone) {
            self.phase = Phase::Over;
            self.actions.push(Action::Finish);
        }
    }

    /// Sends the tasks once the clocks of all members are known: a host that cannot be reached leaves no files on others.
    fn prepare_all(&mut self, now: Nanos) {
        let is_awaited = |member: &Member| matches!(member.standing, Standing::Starting | Standing::Timing);
        if self.phase != Phase::Starting || self.members.iter().any(is_awaited) {
            return;
        }
        let waiting = self.members.iter_mut().enumerate().filter(|(_, member)| member.standing == Standing::Waiting);
        for (rank, member) in waiting {
            (member.standing, member.heard) = (Standing::LayingOut, now);
            self.actions.push(Action::Send(rank, Instruction::Prepare(Box::new(member.task.clone()))));
        }
    }

    fn start(&mut self, now: Nanos) {
        debug_assert!(self.go.is_none(), "a round begins once");
        let farthest = self.members.iter().map(|member| member.clock.round_trip()).max().unwrap_or_default();
        let lead = Nanos(farthest.get().saturating_mul(LEAD_ROUND_TRIPS)).max(LEAST_LEAD);
        let (at, patience) = (now.saturating_add(lead), self.patience());
        (self.phase, self.go) = (Phase::Running { at }, Some(at));
        let ready = self.members.iter_mut().enumerate().filter(|(_, member)| member.standing == Standing::Ready);
        for (rank, member) in ready {
            // A member that never begins beats on as one that is ready.
            member.ends_by = Some(at.saturating_add(patience));
            self.actions
                .push(Action::Send(rank, Instruction::Go { at: member.clock.to_member(at), round: self.round }));
        }
    }
}
