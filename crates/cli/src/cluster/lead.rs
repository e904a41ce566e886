//! Carries out what the leader decides: passes messages on, and shows what the members send.

use super::carrier::{Arrival, Arrived, Connection};
use super::clock::{now, until};
use crate::failure::Failure;
use cluster::{Action, Answer, Event, Leader, Order, Outcome, Task};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;
use sys::processes::signals::Watch;

/// Longest wait before signals are looked for.
const POLL: Duration = Duration::from_millis(50);

/// The view of a run while it goes on.
pub(crate) trait Face {
    /// A message of a member.
    fn heard(&mut self, rank: usize, answer: &Answer);
    /// A sentence about a member.
    fn say(&mut self, rank: usize, text: &str);
    /// A member is lost; the sentence about it was said.
    fn lost(&mut self, _rank: usize, _why: &str) {}
    /// The progress.
    fn draw(&mut self, leader: &Leader);
    /// Removes the progress, before something else is printed.
    fn clear(&mut self);
    /// An order for all members at work that the user has asked for.
    fn order(&mut self, leader: &Leader) -> Option<Order>;
}

/// Members that are led, and the ways to them.
pub(crate) struct Led<'a> {
    leader: Leader,
    connections: Vec<Connection>,
    arrivals: &'a Receiver<Arrival>,
    signals: &'a Watch,
    seen_signals: u32,
    /// Where the members are, once a round is over.
    after: Option<After>,
}

/// Where the members are after a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// They wait for the next one.
    Resting,
    /// All are gone.
    Gone,
}

impl<'a> Led<'a> {
    pub(crate) fn new(
        leader: Leader,
        connections: Vec<Connection>,
        (arrivals, signals): (&'a Receiver<Arrival>, &'a Watch),
    ) -> Self {
        Led { leader, connections, arrivals, signals, seen_signals: 0, after: None }
    }

    /// Leads until a round is over.
    pub(crate) fn round(&mut self, face: &mut dyn Face) -> (Outcome, After) {
        loop {
            if let Some(after) = self.after.take() {
                face.clear();
                return (self.leader.take_round(), after);
            }
            self.one_event(face);
        }
    }

    /// Begins the next round.
    pub(crate) fn again(&mut self, tasks: Vec<Task>, face: &mut dyn Face) {
        let actions = self.leader.again(tasks, now());
        self.carry_out(actions, face);
    }

    /// Lets all members exit after the last round, and waits until they are gone.
    pub(crate) fn dismiss(mut self, face: &mut dyn Face) {
        let actions = self.leader.dismiss_all(now());
        self.carry_out(actions, face);
        while self.after != Some(After::Gone) {
            self.one_event(face);
        }
        face.clear();
    }

    /// One more round with the members that are left, which one that is lost does not end; then all are gone.
    pub(crate) fn last_round(mut self, tasks: Vec<Task>, face: &mut dyn Face) -> Outcome {
        self.leader.go_on_without_lost();
        self.again(tasks, face);
        let (outcome, after) = self.round(face);
        if after == After::Resting {
            self.dismiss(face);
        }
        outcome
    }

    fn one_event(&mut self, face: &mut dyn Face) {
        let wait = self.leader.due().map_or(POLL, |due| until(due, now()).min(POLL));
        let (event, at) = match self.arrivals.recv_timeout(wait) {
            Ok(Arrival { rank, at, what: Arrived::Answer(answer) }) => {
                face.heard(rank, &answer);
                (Event::Answer(rank, *answer), at)
            }
            Ok(Arrival { rank, at, what: Arrived::End(why) }) => {
                let why = why.unwrap_or_else(|| self.connections[rank].ending());
                (Event::Ended(rank, why), at)
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => (Event::Time, now()),
        };
        let mut actions = self.leader.step(event, at);
        if self.signals.count() > self.seen_signals && !actions.contains(&Action::Rest) {
            self.seen_signals += 1;
            face.clear();
            let signal = self.signals.caught().unwrap_or_default();
            actions.extend(self.leader.step(Event::Signal(signal), now()));
        }
        self.carry_out(actions, face);
        if let Some(order) = face.order(&self.leader) {
            self.connections.iter().for_each(|connection| connection.send(&order));
        }
        face.draw(&self.leader);
    }

    fn carry_out(&mut self, actions: Vec<Action>, face: &mut dyn Face) {
        for action in actions {
            match action {
                Action::Send(rank, order) => self.connections[rank].send(&order),
                Action::Kill(rank) => self.connections[rank].kill(),
                Action::Say(rank, text) => {
                    face.clear();
                    face.say(rank, &text);
                }
                Action::Lost(rank, why) => face.lost(rank, &why),
                Action::Rest => self.after = Some(After::Resting),
                Action::Finish => self.after = Some(After::Gone),
            }
        }
    }
}

/// The signals that end a run in order. They are watched before anything is started.
pub(crate) fn signals() -> Result<Watch, Failure> {
    Ok(Watch::begin()?)
}
