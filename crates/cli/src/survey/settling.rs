//! The observer of the writes of `--precondition=steady`: shows their rounds, and ends them once the rate is settled.

use measure::Nanos;
use run::{Event, Observer, Request};
use session::progress::Display;
use survey::Rounds;

/// Shows the rounds and ends them.
pub(super) struct Settling<'a> {
    display: &'a mut Display,
    rounds: &'a mut Rounds,
    /// Least bytes of all rounds.
    bytes: u64,
}

impl<'a> Settling<'a> {
    /// Begins the first of these rounds, which write `bytes` at least.
    pub(super) fn new(display: &'a mut Display, rounds: &'a mut Rounds, bytes: u64) -> Self {
        display.settling(rounds.describe(), bytes);
        Settling { display, rounds, bytes }
    }
}

impl Observer for Settling<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Sampled { so_far: samples, .. } => {
                if self.rounds.look(samples) && !self.rounds.is_over() {
                    self.display.settling(self.rounds.describe(), self.bytes);
                }
            }
            other => self.display.event(other),
        }
    }

    fn request(&mut self, _: Nanos) -> Option<Request> {
        self.rounds.is_over().then_some(Request::End)
    }
}
