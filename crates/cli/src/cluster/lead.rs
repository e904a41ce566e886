//! Carries out what the leader decides: starts members, passes messages on, draws the progress.

use super::carrier::{Arrival, Arrived, Connection, Place};
use super::screen::Screen;
use super::{PROGRAM, now, until};
use crate::failure::Failure;
use crate::feed::MembersStream;
use crate::output::print_error;
use cluster::{Action, Answer, Event, Leader, OnLoss, Outcome, Settings, Task};
use formats::printable;
use measure::Nanos;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use sys::processes::signals::Watch;

/// Longest wait before signals are looked for.
const POLL: Duration = Duration::from_millis(50);

/// Runs the tasks in these places until all members are gone.
pub(super) fn lead(
    places: &[Place],
    tasks: Vec<Task>,
    (silence, on_loss): (Nanos, OnLoss),
    program: &str,
    mut stream: Option<&mut MembersStream>,
) -> Result<Outcome, Failure> {
    let signals = Watch::begin()?;
    let (sender, arrivals) = channel::<Arrival>();
    let settings = Settings { program: PROGRAM.to_owned(), silence, on_loss };
    let mut leader = Leader::new(settings, tasks, now());
    let mut connections = Vec::with_capacity(places.len());
    for (rank, place) in places.iter().enumerate() {
        connections.push(Connection::start(place, program, (rank, &sender))?);
    }
    let mut screen = Screen::new(places);
    let mut seen_signals = 0;
    loop {
        let wait = leader.due().map_or(POLL, |due| until(due, now()).min(POLL));
        let (event, at) = match arrivals.recv_timeout(wait) {
            Ok(Arrival { rank, at, what: Arrived::Answer(answer) }) => {
                if let (Answer::Interval(sampled), Some(stream)) = (&*answer, stream.as_deref_mut()) {
                    stream.interval(rank, sampled);
                }
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
            screen.clear();
            let signal = signals.caught().unwrap_or_default();
            actions.extend(leader.step(Event::Signal(signal), now()));
        }
        for action in actions {
            match action {
                Action::Send(rank, order) => connections[rank].send(&order),
                Action::Kill(rank) => connections[rank].kill(),
                Action::Say(rank, text) => {
                    if let Some(stream) = stream.as_deref_mut() {
                        stream.finding(rank, &text);
                    }
                    screen.clear();
                    let name = places[rank].name();
                    print_error(&format!("plumb: cluster: member {rank} ({name}): {}", printable::line(&text)));
                }
                Action::Finish => {
                    screen.clear();
                    return Ok(leader.into_outcome());
                }
            }
        }
        screen.draw(&leader);
    }
}
