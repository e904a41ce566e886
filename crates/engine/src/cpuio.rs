//! `cpuio`: burns CPU time in cycles instead of doing I/O, as background load for jobs that do.

use crate::contract::{Completion, Engine, EngineError, Io, Setup, Submitted};
use measure::{Clock, Nanos, SystemClock};
use plan::option::{Effect, Kind, OptionSpec};
use plan::{Capabilities, EngineSpec, Submission, Work, options};

const NAME: &str = "cpuio";

/// Capabilities of an engine that does no I/O.
pub(crate) const COMPANY: Capabilities = Capabilities::new(Submission::Synchronous, Work::Background);

/// Count of numbers that `cpumode=qsort` sorts at a time: 1 MiB, more than the L2 cache of most cores.
const SORTED: usize = 1 << 17;

/// A longer cycle is split over several calls, so that the worker can check for the end of the job in between.
const WITHOUT_A_LOOK: Nanos = Nanos::from_millis(100);

/// Burns CPU for one cycle, then rests for as long as the load requires.
#[derive(Debug)]
pub(crate) struct Cpuio {
    clock: SystemClock,
    cycle: Nanos,
    /// `cpuload`: percent of CPU time to burn, 1 to 100.
    load: u64,
    /// Start of the current cycle; `None` between cycles.
    begun: Option<Nanos>,
    /// Duration of the last cycle.
    burned: Nanos,
    /// Numbers to sort; empty unless `cpumode=qsort`.
    numbers: Vec<u64>,
    seed: u64,
}

impl Engine for Cpuio {
    type Clock = SystemClock;

    const SPEC: EngineSpec =
        EngineSpec { name: NAME, help: "Burns CPU and does no I/O", capabilities: COMPANY, options: OPTIONS };

    fn open(setup: Setup<'_, SystemClock>) -> Result<Self, EngineError> {
        let options = setup.options;
        let load = options.integer("cpuload").and_then(|load| u64::try_from(load).ok()).filter(|&load| load > 0);
        let load = load.ok_or_else(|| EngineError {
            engine: NAME,
            operation: "options",
            message: "the CPU load is missing: give cpuload=, 1 to 100 percent".to_owned(),
            errno: libc::EINVAL,
        })?;
        let cycle = options.integer("cpuchunks").and_then(|cycle| u64::try_from(cycle).ok());
        let sorts = options.text("cpumode") == Some("qsort");
        Ok(Cpuio {
            clock: setup.clock,
            cycle: cycle.map_or(Nanos::from_millis(50), Nanos),
            load: load.min(100),
            begun: None,
            burned: Nanos::ZERO,
            numbers: vec![0; if sorts { SORTED } else { 0 }],
            seed: 1,
        })
    }

    fn submit(&mut self, io: Io) -> Submitted {
        let present = self.clock.now();
        let begun = *self.begun.get_or_insert(present);
        let (end, look) = (begun.saturating_add(self.cycle), present.saturating_add(WITHOUT_A_LOOK));
        loop {
            if self.numbers.is_empty() {
                (0..64).for_each(|_| std::hint::spin_loop());
            } else {
                self.sort();
            }
            let now = self.clock.now();
            if now >= end {
                self.begun = None;
                self.burned = now.saturating_sub(begun);
                return Submitted::Done(Completion { slot: io.slot, result: i64::from(io.length) });
            }
            if now >= look {
                return Submitted::Done(Completion { slot: io.slot, result: 0 });
            }
        }
    }

    fn rest_after(&self) -> Nanos {
        Nanos(self.burned.get() / self.load * (100 - self.load))
    }
}

impl Cpuio {
    /// Fills the array with random numbers and sorts it.
    fn sort(&mut self) {
        for number in &mut self.numbers {
            // Marsaglia's xorshift generator: random enough for sorting.
            self.seed ^= self.seed << 13;
            self.seed ^= self.seed >> 7;
            self.seed ^= self.seed << 17;
            *number = self.seed;
        }
        self.numbers.sort_unstable();
        std::hint::black_box(&self.numbers);
    }
}

const OPTIONS: &[OptionSpec] = options! {
    "cpuload": between(0, i32::MAX as i64); "Share of one CPU to use, in percent";
    "cpuchunks": MICROSECONDS, "50000"; "How long it burns before it rests";
    "cpumode": Kind::Word(&[("noop", "spin"), ("qsort", "sort a megabyte of numbers")]), "noop"; "How it burns";
    "exit_on_io_done": BOOL, "0" => with(Effect::EndsWithOthers);
        "End with the last job that does I/O, whatever runtime says";
};
