//! `--latency` of `iostat` and `watch`: percentiles of devices in each interval, from events of the kernel.

use crate::failure::Failure;
use measure::{float, text};
use observe::{Latencies, LatencyInterval};
use session::layers;

/// A recording that goes on while devices are shown.
#[derive(Debug)]
pub(crate) struct Latency {
    recording: Latencies,
    is_begun: bool,
    /// True if only devices that are shown are recorded.
    is_filtered: bool,
}

impl Latency {
    /// Prepares it; `is_filtered` if only devices that are shown are recorded.
    pub(crate) fn prepare(is_filtered: bool) -> Result<Self, Failure> {
        Ok(Latency { recording: Latencies::prepare().map_err(failed)?, is_begun: false, is_filtered })
    }

    /// The interval that ends now, of devices by the kernel's names; `None` the first time, when it begins.
    pub(crate) fn next<'name>(
        &mut self,
        names: impl Iterator<Item = &'name String>,
    ) -> Result<Option<LatencyInterval>, Failure> {
        let interval = self.recording.take().map_err(failed)?;
        let names: Vec<String> = if self.is_filtered { names.cloned().collect() } else { Vec::new() };
        // Without a name nothing is shown yet.
        if names.is_empty() != self.is_filtered && (self.is_filtered || !self.is_begun) {
            self.recording.follow(&names).map_err(failed)?;
        }
        Ok(std::mem::replace(&mut self.is_begun, true).then_some(interval))
    }

    /// Its costs, in a line.
    pub(crate) fn cost(&self) -> String {
        let cost = self.recording.cost();
        let share = cost.processor.as_f64() / cost.time.as_f64().max(1.0);
        format!(
            "plumb used {} of a processor for {} events{}, {} lost",
            text::percent(share),
            text::grouped(float(cost.events)),
            layers::way(&layers::cost(&cost)),
            text::grouped(float(cost.lost))
        )
    }
}

fn failed(error: observe::ObserveError) -> Failure {
    Failure::new(format!("--latency: {error}"))
}
