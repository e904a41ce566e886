//! Members that carry out one task after the other: they are started with the first one, and exit at the end.

use super::carrier::{Arrival, Connection, Place};
use super::clock::{PROGRAM, now};
use super::lead::{self, After, Face, Led};
use super::{Carrier, LeadArgs, Reached};
use crate::failure::Failure;
use cluster::{Leader, OnLoss, Outcome, Rounds, Settings, Task};
use std::sync::mpsc::{Receiver, Sender};
use sys::processes::signals::Watch;

/// The members of a run that consists of several.
pub(super) struct InRounds<'a> {
    settings: Settings,
    pub(super) places: Vec<Place>,
    /// The carrier, until it has started them.
    start: Option<(Carrier, Sender<Arrival>)>,
    arrivals: &'a Receiver<Arrival>,
    signals: &'a Watch,
    led: Option<Led<'a>>,
}

/// The way to all members.
pub(super) struct Origin {
    /// Name of the carrier.
    pub(super) carrier: &'static str,
    /// Name and number of the MPI library.
    pub(super) library: Option<String>,
}

/// Reaches the members that the options name, and passes them on; nothing happens in processes of MPI that only carry messages.
pub(super) fn with_members(
    lead: &LeadArgs,
    run: &mut dyn FnMut(InRounds<'_>, Origin) -> Result<u8, Failure>,
) -> Result<u8, Failure> {
    if let Some(library) = lead.mpi.as_deref().filter(|_| !lead.relayed) {
        return super::relayed::become_relay(library);
    }
    if lead.quiet {
        crate::output::keep_quiet();
    }
    let Some(Reached { places, carrier, name, library, arrivals: (sender, arrivals) }) = lead.reach()? else {
        return Ok(0);
    };
    let signals = lead::signals()?;
    let settings = Settings {
        program: PROGRAM.to_owned(),
        silence: lead.silence(),
        on_loss: OnLoss::Stop,
        rounds: Rounds::Several,
    };
    let start = Some((carrier, sender));
    let members = InRounds { settings, places, start, arrivals: &arrivals, signals: &signals, led: None };
    run(members, Origin { carrier: name, library })
}

impl InRounds<'_> {
    /// One task by each.
    pub(super) fn round(&mut self, tasks: Vec<Task>, face: &mut dyn Face) -> Result<Outcome, Failure> {
        let mut led = match (self.led.take(), self.start.take()) {
            (Some(mut led), _) => {
                led.again(tasks, face);
                led
            }
            (None, Some((carrier, sender))) => {
                let leader = Leader::new(self.settings.clone(), tasks, now());
                let connections: Vec<Connection> = carrier.connections(&self.places, &sender)?;
                Led::new(leader, connections, (self.arrivals, self.signals))
            }
            (None, None) => return Err(Failure::new("cluster: the members have ended")),
        };
        let (outcome, after) = led.round(face);
        self.led = (after == After::Resting).then_some(led);
        Ok(outcome)
    }

    /// Lets them exit.
    pub(super) fn end(&mut self, face: &mut dyn Face) {
        if let Some(led) = self.led.take() {
            led.dismiss(face);
        }
    }
}
