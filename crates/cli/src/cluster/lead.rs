//! Carries out what the leader decides: passes messages on, and shows what the members send.

use super::carrier::{Arrival, Arrived, Connection};
use super::{now, until};
use crate::failure::Failure;
use cluster::{Action, Answer, Event, Leader, Order, Outcome};
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
    /// The progress.
    fn draw(&mut self, leader: &Leader);
    /// Removes the progress, before something else is printed.
    fn clear(&mut self);
    /// An order for all members at work that the user has asked for.
    fn order(&mut self, leader: &Leader) -> Option<Order>;
}

/// Leads members until all of them are gone.
pub(crate) fn lead(
    mut leader: Leader,
    mut connections: Vec<Connection>,
    (arrivals, signals): (&Receiver<Arrival>, &Watch),
    face: &mut dyn Face,
) -> Outcome {
    let mut seen_signals = 0;
    loop {
        let wait = leader.due().map_or(POLL, |due| until(due, now()).min(POLL));
        let (event, at) = match arrivals.recv_timeout(wait) {
            Ok(Arrival { rank, at, what: Arrived::Answer(answer) }) => {
                face.heard(rank, &answer);
                (Event::Answer(rank, *answer), at)
            }
            Ok(Arrival { rank, at, what: Arrived::End(why) }) => {
                let why = why.unwrap_or_else(|| connections[rank].ending());
                (Event::Ended(rank, why), at)
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => (Event::Time, now()),
        };
        let mut actions = leader.step(event, at);
        if signals.count() > seen_signals {
            seen_signals += 1;
            face.clear();
            let signal = signals.caught().unwrap_or_default();
            actions.extend(leader.step(Event::Signal(signal), now()));
        }
        for action in actions {
            match action {
                Action::Send(rank, order) => connections[rank].send(&order),
                Action::Kill(rank) => connections[rank].kill(),
                Action::Say(rank, text) => {
                    face.clear();
                    face.say(rank, &text);
                }
                Action::Finish => {
                    face.clear();
                    return leader.into_outcome();
                }
            }
        }
        if let Some(order) = face.order(&leader) {
            connections.iter().for_each(|connection| connection.send(&order));
        }
        face.draw(&leader);
    }
}

/// The signals that end a run in order. They are watched before anything is started.
pub(crate) fn signals() -> Result<Watch, Failure> {
    Ok(Watch::begin()?)
}
