//! Carries out what the leader decides: passes messages on, and shows what the members send.

use super::carrier::{Arrival, Arrivals, Carrier, Connection, Origin, Place, Reply};
use super::{now, until};
use crate::failure::Failure;
use crate::output::Verbosity;
use cluster::{Action, Answer, Event, Instruction, Leader, Outcome, Settings, Task};
use measure::Nanos;
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;
use sys::processes::signals::Watch;

/// Longest wait before signals are looked for.
const POLL: Duration = Duration::from_millis(50);
/// Time between two looks after which this process itself was stopped, or had no processor.
const STOPPED: Nanos = Nanos::SECOND;
/// Signs of life of the leader in the time after which its members miss it.
const SIGNS_OF_LIFE: u64 = 4;

/// The view of a run while it goes on.
pub(crate) trait View {
    /// A message of a member.
    fn heard(&mut self, _rank: usize, _answer: &Answer) {}
    /// A sentence about a member.
    fn say(&mut self, _rank: usize, _text: &str) {}
    /// A member is lost; the sentence about it was said.
    fn lost(&mut self, _rank: usize, _why: &str) {}
    fn draw(&mut self, _leader: &Leader) {}
    /// Removes the progress, before something else is printed.
    fn clear(&mut self) {}
    /// An order for all members at work that the user has asked for.
    fn instruction(&mut self, _leader: &Leader) -> Option<Instruction> {
        None
    }
}

pub(crate) struct NoView;

impl View for NoView {}

/// A leader with the connections to its members.
pub(crate) struct Connections {
    leader: Leader,
    connections: Vec<Connection>,
    arrivals: Arrivals,
    signals: Arc<Watch>,
    seen_signals: u32,
    /// Time of the next sign of life to the members.
    alive_due: Nanos,
    /// Time of the latest look at the members.
    looked: Nanos,
    /// Where the members are, once a round is over.
    end: Option<RoundEnd>,
}

/// Where the members are after a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoundEnd {
    /// They wait for the next one.
    Resting,
    Gone,
}

impl Connections {
    pub(crate) fn new(leader: Leader, connections: Vec<Connection>, arrivals: Arrivals, signals: Arc<Watch>) -> Self {
        let looked = now();
        Connections {
            leader,
            connections,
            arrivals,
            signals,
            seen_signals: 0,
            alive_due: Nanos::ZERO,
            looked,
            end: None,
        }
    }

    /// Leads until a round is over.
    pub(crate) fn round(&mut self, view: &mut dyn View) -> (Outcome, RoundEnd) {
        loop {
            if let Some(end) = self.end.take() {
                view.clear();
                return (self.leader.take_round(), end);
            }
            self.one_event(view);
        }
    }

    pub(crate) fn again(&mut self, tasks: Vec<Task>, view: &mut dyn View) {
        self.looked = now();
        let actions = self.leader.again(tasks, self.looked);
        self.carry_out(actions, view);
    }

    /// Lets all members exit after the last round, and waits until they are gone.
    pub(crate) fn dismiss(mut self, view: &mut dyn View) {
        self.looked = now();
        let actions = self.leader.dismiss_all(self.looked);
        self.carry_out(actions, view);
        while self.end != Some(RoundEnd::Gone) {
            self.one_event(view);
        }
        view.clear();
    }

    /// One more round with the members that are left, which one that is lost does not end; then all are gone.
    pub(crate) fn last_round(mut self, tasks: Vec<Task>, view: &mut dyn View) -> Outcome {
        self.leader.go_on_without_lost();
        self.again(tasks, view);
        let (outcome, end) = self.round(view);
        if end == RoundEnd::Resting {
            self.dismiss(view);
        }
        outcome
    }

    fn one_event(&mut self, view: &mut dyn View) {
        if now() >= self.alive_due {
            let silence = self.leader.silence();
            self.alive_due = now().saturating_add(Nanos(silence.get() / SIGNS_OF_LIFE));
            self.connections.iter().for_each(|connection| connection.say_alive(silence));
        }
        let wait = self.leader.due().map_or(POLL, |due| until(due, now()).min(POLL));
        let (event, at) = match self.arrivals.receiver.recv_timeout(wait) {
            Ok(Arrival { rank, at, reply: Reply::Answer(answer) }) => {
                view.heard(rank, &answer);
                (Event::Answer(rank, *answer), at)
            }
            Ok(Arrival { rank, at, reply: Reply::End(why) }) => {
                let why = why.unwrap_or_else(|| self.connections[rank].ending());
                (Event::Ended(rank, why), at)
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => (Event::Time, now()),
        };
        let looked = std::mem::replace(&mut self.looked, now());
        let away = self.looked.saturating_sub(looked);
        if away > STOPPED {
            self.leader.was_stopped(away);
        }
        let mut actions = self.leader.step(event, at);
        if self.signals.count() > self.seen_signals && !actions.contains(&Action::Rest) {
            self.seen_signals += 1;
            view.clear();
            let signal = self.signals.caught().unwrap_or_default();
            actions.extend(self.leader.step(Event::Signal(signal), now()));
        }
        self.carry_out(actions, view);
        if let Some(instruction) = view.instruction(&self.leader) {
            self.connections.iter().for_each(|connection| connection.send(&instruction));
        }
        view.draw(&self.leader);
    }

    fn carry_out(&mut self, actions: Vec<Action>, view: &mut dyn View) {
        for action in actions {
            match action {
                Action::Send(rank, instruction) => {
                    if matches!(instruction, Instruction::Ping { .. }) {
                        self.leader.ping_leaves(rank, now());
                    }
                    self.connections[rank].send(&instruction);
                }
                Action::Kill(rank) => self.connections[rank].kill(),
                Action::Say(rank, text) => {
                    view.clear();
                    view.say(rank, &text);
                }
                Action::Lost(rank, why) => view.lost(rank, &why),
                Action::Rest => self.end = Some(RoundEnd::Resting),
                Action::Finish => self.end = Some(RoundEnd::Gone),
            }
        }
    }
}

/// The signals that end a run in order. They are watched before anything is started.
pub(crate) fn signals() -> Result<Arc<Watch>, Failure> {
    Ok(Arc::new(Watch::begin()?))
}

pub(crate) struct Members {
    pub(crate) settings: Settings,
    pub(crate) places: Vec<Place>,
    pub(crate) origin: Origin,
    pub(crate) directory: String,
    /// How far apart their starts may be.
    pub(crate) start_within: Nanos,
    /// The carrier, until it has started them.
    pub(crate) start: Option<(Carrier, Arrivals)>,
    pub(crate) signals: Arc<Watch>,
    pub(crate) connections: Option<Connections>,
    pub(crate) verbosity: Verbosity,
}

impl Members {
    /// One task by each.
    pub(crate) fn round(&mut self, tasks: Vec<Task>, view: &mut dyn View) -> Result<Outcome, Failure> {
        let mut connections = match (self.connections.take(), self.start.take()) {
            (Some(mut connections), _) => {
                connections.again(tasks, view);
                connections
            }
            (None, Some((carrier, arrivals))) => {
                let leader = Leader::new(self.settings.clone(), tasks, now());
                let started = carrier.connections(&self.places, &arrivals)?;
                Connections::new(leader, started, arrivals, Arc::clone(&self.signals))
            }
            (None, None) => return Err(Failure::new("cluster: the members have ended")),
        };
        let (outcome, end) = connections.round(view);
        self.connections = (end == RoundEnd::Resting).then_some(connections);
        Ok(outcome)
    }

    /// Lets them exit.
    pub(crate) fn end(&mut self, view: &mut dyn View) {
        if let Some(connections) = self.connections.take() {
            connections.dismiss(view);
        }
    }
}
