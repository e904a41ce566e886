//! `cpuio`: burns CPU in cycles instead of doing I/O, as company for jobs that do.

use crate::contract::{Completion, Engine, EngineError, Io, Setup, Submitted};
use job::option::{Kind, OptionSpec, Support, TimeUnit};
use job::{Capabilities, EngineSpec, Submission, Work};
use measure::{Clock, Nanos, SystemClock};

const NAME: &str = "cpuio";

/// What an engine can that does no I/O.
pub(crate) const COMPANY: Capabilities = Capabilities {
    submission: Submission::Synchronous,
    work: Work::Company,
    needs_files: false,
    trim: false,
    virtual_time: false,
};

/// Numbers that `cpumode=qsort` sorts at a time: 1 MiB, more than most caches of one core.
const SORTED: usize = 1 << 17;

/// A cycle that is longer goes on at the next call: between two the worker looks whether it shall end.
const WITHOUT_A_LOOK: Nanos = Nanos::from_millis(100);

/// Burns for a cycle, then rests as long as the load asks.
#[derive(Debug)]
pub(crate) struct Cpuio {
    clock: SystemClock,
    cycle: Nanos,
    /// Percent of the time, 1 to 100.
    load: u64,
    /// When the cycle at hand began, where it is not over.
    begun: Option<Nanos>,
    /// What the last cycle took.
    burned: Nanos,
    /// Numbers to sort; empty where nothing is sorted.
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
            message: "how much CPU shall it use? give cpuload=, 1 to 100 percent".to_owned(),
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
    /// Sorts fresh random numbers.
    fn sort(&mut self) {
        for number in &mut self.numbers {
            // Marsaglia's xorshift: enough disorder for a sort.
            self.seed ^= self.seed << 13;
            self.seed ^= self.seed >> 7;
            self.seed ^= self.seed << 17;
            *number = self.seed;
        }
        self.numbers.sort_unstable();
        std::hint::black_box(&self.numbers);
    }
}

const fn works(name: &'static str, kind: Kind, default: Option<&'static str>, help: &'static str) -> OptionSpec {
    OptionSpec { name, aliases: &[], kind, default, help, group: "Company", support: Support::Works }
}

const OPTIONS: &[OptionSpec] = &[
    works("cpuload", Kind::Integer { least: 0, most: i32::MAX as i64 }, None, "Share of one CPU to use, in percent"),
    works("cpuchunks", Kind::Time(TimeUnit::Microseconds), Some("50000"), "How long it burns before it rests"),
    works(
        "cpumode",
        Kind::Word(&[("noop", "spin"), ("qsort", "sort a megabyte of numbers")]),
        Some("noop"),
        "How it burns",
    ),
    works("exit_on_io_done", Kind::Bool, Some("0"), "End with the last job that does I/O, whatever runtime says"),
];
