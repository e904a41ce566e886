//! This machine: what job files may refer to, and the parser of fio's words that all commands use.

use fio::{Parser, RealFiles, Surroundings};
use std::time::{SystemTime, UNIX_EPOCH};

/// The facts that job files may use.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    memory_mib: u64,
    /// Number of CPUs.
    pub cpus: u32,
}

impl Machine {
    /// Reads the facts of this machine.
    pub fn here() -> Self {
        let information = rustix::system::sysinfo();
        let memory = information.totalram.saturating_mul(u64::from(information.mem_unit));
        let cpus = std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(1));
        Machine { memory_mib: memory >> 20, cpus }
    }

    /// The facts in the form that the parser takes.
    pub fn surroundings(&self) -> Surroundings<'_> {
        Surroundings {
            environment: &variable,
            files: &RealFiles,
            page_size: rustix::param::page_size() as u64,
            memory_mib: self.memory_mib,
            cpus: self.cpus,
        }
    }
}

/// The parser of fio's words, with all engines and output formats of this build.
pub fn parser() -> Parser {
    Parser::new(engine::ENGINES).with_formats(formats::output_formats())
}

/// A seed that differs from run to run.
pub fn seed_from_clock() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Below 2^53, so that every JSON reader can represent the seed exactly.
    u64::from(now.subsec_nanos()) ^ now.as_secs()
}

/// Returns a variable of the environment; one that is not UTF-8 counts as unset.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
