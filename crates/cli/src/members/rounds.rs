//! Members that carry out one task after the other: they are started with the first one, and exit at the end.

use super::carrier::{Arrivals, Carrier, Origin, Place};
use super::lead::{Connections, RoundEnd, View};
use super::now;
use crate::failure::Failure;
use cluster::{Leader, Outcome, Settings, Task};
use measure::Nanos;
use std::sync::Arc;
use sys::processes::signals::Watch;

/// The members of a run that consists of several.
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
