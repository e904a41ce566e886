//! Where events come from: programs in the kernel, or instances of tracefs. Both have the same events.

use crate::ObserveError;
use crate::bpf::{Programs, usual_ring};
use crate::event::{Event, Of, PAGE_CACHE, Thread};
use crate::process::now;
use crate::tracefs::{Instance, Tracefs};
use measure::Nanos;
use std::time::Duration;
use sys::devices::identity::DeviceNumber;

/// Events of tracefs that are younger may have company that is not readable yet.
const SLACK: Nanos = Nanos(5_000_000);
/// Longest time to wait for a record that is being written.
const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// A way of reading events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// BPF programs on tracepoints.
    Bpf,
    /// Instances of tracefs.
    Tracefs,
}

/// All ways.
pub const WAYS: [Way; 2] = [Way::Bpf, Way::Tracefs];

impl Way {
    /// Its name on the command line and in documents.
    pub fn name(self) -> &'static str {
        match self {
            Way::Bpf => "bpf",
            Way::Tracefs => "tracefs",
        }
    }

    /// The way of a name.
    pub fn named(name: &str) -> Option<Self> {
        WAYS.into_iter().find(|way| way.name() == name)
    }
}

#[derive(Debug)]
enum Source {
    Bpf(Box<Programs>),
    /// Of calls, if they are recorded, and of the block layer behind it.
    Tracefs(Vec<Instance>),
}

/// Events that are recorded.
#[derive(Debug)]
pub(crate) struct Events {
    source: Source,
    /// Why programs are not used, if tracefs was not asked for.
    pub(crate) why_not: Option<String>,
}

impl Events {
    /// Prepares the events of calls, rings and the block layer; nothing is recorded until there are threads to follow.
    pub(crate) fn of_calls(asked: Option<Way>) -> Result<Self, ObserveError> {
        let events = Self::prepare(asked, &[Of::Threads, Of::Rings, Of::Block], |tracefs| {
            let mut calls = Instance::make(tracefs, "calls")?;
            calls.stop()?;
            calls.enable_calls()?;
            let mut block = Instance::make(tracefs, "block")?;
            block.enable_block(&[])?;
            block.enable_rings()?;
            Ok(vec![calls, block])
        })?;
        if let Source::Bpf(programs) = &events.source {
            programs.record_devices(&[]);
        }
        Ok(events)
    }

    /// Prepares the events of the block layer; [`Events::record_devices`] begins.
    pub(crate) fn of_block(asked: Option<Way>, name: &str) -> Result<Self, ObserveError> {
        Self::prepare(asked, &[Of::Block], |tracefs| Ok(vec![Instance::make(tracefs, name)?]))
    }

    fn prepare(
        asked: Option<Way>,
        kinds: &[Of],
        make: impl Fn(&Tracefs) -> Result<Vec<Instance>, ObserveError>,
    ) -> Result<Self, ObserveError> {
        let loaded = (asked != Some(Way::Tracefs)).then(|| Programs::load(kinds, usual_ring()));
        let why_not = match loaded {
            Some(Ok(programs)) => {
                // Those of a killed process would go on.
                if let Some(tracefs) = Tracefs::if_mounted() {
                    tracefs.remove_orphans();
                }
                return Ok(Events { source: Source::Bpf(Box::new(programs)), why_not: None });
            }
            Some(Err(why)) if asked == Some(Way::Bpf) => {
                return Err(ObserveError::Unavailable(format!(
                    "--events bpf: {why}; --events tracefs needs none of it"
                )));
            }
            Some(Err(why)) => Some(why),
            None => None,
        };
        let tracefs = Tracefs::find()?;
        tracefs.remove_orphans();
        Ok(Events { source: Source::Tracefs(make(&tracefs)?), why_not })
    }

    pub(crate) fn way(&self) -> Way {
        match &self.source {
            Source::Bpf(_) => Way::Bpf,
            Source::Tracefs(_) => Way::Tracefs,
        }
    }

    /// Records I/Os of these devices, besides those before; of all if there are none.
    pub(crate) fn record_devices(&mut self, devices: &[DeviceNumber]) -> Result<(), ObserveError> {
        match &mut self.source {
            Source::Bpf(programs) => {
                programs.record_devices(devices);
                programs.go_on();
                Ok(())
            }
            Source::Tracefs(instances) => instances.last_mut().map_or(Ok(()), |block| block.enable_block(devices)),
        }
    }

    /// Records events of these threads, and of all that they start.
    pub(crate) fn follow(&mut self, threads: &[Thread]) -> Result<(), ObserveError> {
        match &mut self.source {
            Source::Bpf(programs) => {
                programs.follow(threads);
                programs.go_on();
                Ok(())
            }
            Source::Tracefs(instances) => instances.first().map_or(Ok(()), |calls| calls.follow(threads)),
        }
    }

    /// True if this thread is one of those that are recorded.
    pub(crate) fn follows(&self, thread: Thread) -> bool {
        match &self.source {
            Source::Bpf(programs) => programs.follows(thread),
            Source::Tracefs(instances) => instances.first().is_some_and(|calls| calls.follows(thread)),
        }
    }

    /// Adds the events that there are. Returns the moment before which there are all.
    pub(crate) fn read(&mut self, events: &mut Vec<Event>) -> Result<Nanos, ObserveError> {
        match &mut self.source {
            Source::Bpf(programs) => Ok(programs.read(events)),
            Source::Tracefs(instances) => {
                let begun = now();
                instances.iter_mut().try_for_each(|instance| instance.read(events))?;
                Ok(begun.saturating_sub(SLACK))
            }
        }
    }

    /// Adds the last events, once no more are recorded.
    pub(crate) fn read_rest(&mut self, events: &mut Vec<Event>) -> Result<(), ObserveError> {
        let (begun, mut wait) = (now(), Duration::from_micros(100));
        while self.read(events)? < begun && matches!(self.source, Source::Bpf(_)) && wait < LONGEST_WAIT {
            std::thread::sleep(wait);
            wait *= 2;
        }
        Ok(())
    }

    /// Records again, or for the first time.
    pub(crate) fn go_on(&mut self) -> Result<(), ObserveError> {
        match &mut self.source {
            Source::Bpf(programs) => {
                programs.go_on();
                Ok(())
            }
            Source::Tracefs(instances) => instances.iter_mut().try_for_each(Instance::go_on),
        }
    }

    /// Records no more.
    pub(crate) fn stop(&mut self) -> Result<(), ObserveError> {
        match &mut self.source {
            Source::Bpf(programs) => {
                programs.stop();
                Ok(())
            }
            Source::Tracefs(instances) => instances.iter().try_for_each(Instance::stop),
        }
    }

    /// Events that were read.
    pub(crate) fn count(&self) -> u64 {
        match &self.source {
            Source::Bpf(programs) => programs.events,
            Source::Tracefs(instances) => instances.iter().map(|instance| instance.events).sum(),
        }
    }

    /// Events that the kernel could not keep.
    pub(crate) fn lost(&self) -> u64 {
        match &self.source {
            Source::Bpf(programs) => programs.lost(),
            Source::Tracefs(instances) => instances.iter().map(Instance::lost).sum(),
        }
    }

    /// Time between the events around lost ones.
    pub(crate) fn unrecorded(&self) -> Nanos {
        match &self.source {
            Source::Bpf(programs) => programs.unrecorded,
            Source::Tracefs(instances) => {
                instances.iter().map(|instance| instance.unrecorded).max().unwrap_or(Nanos::ZERO)
            }
        }
    }

    /// Events that this kernel has not.
    pub(crate) fn missing(&self) -> Vec<String> {
        match &self.source {
            Source::Bpf(programs) => programs.missing.clone(),
            Source::Tracefs(instances) => {
                instances.iter().flat_map(|instance| instance.missing.iter().cloned()).collect()
            }
        }
    }

    /// True if this kernel has the events of the page cache.
    pub(crate) fn sees_cache(&self) -> bool {
        !self.missing().iter().any(|name| name == PAGE_CACHE)
    }
}
