//! Facts about this machine that job files may refer to.

use fio::{RealFiles, Surroundings};
use std::path::PathBuf;

/// The facts that job files may use.
pub(crate) struct Machine {
    memory_mib: u64,
    pub(crate) cpus: u32,
}

impl Machine {
    /// Reads the facts of this machine.
    pub(crate) fn here() -> Self {
        let information = rustix::system::sysinfo();
        let memory = information.totalram.saturating_mul(u64::from(information.mem_unit));
        let cpus = std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(1));
        Machine { memory_mib: memory >> 20, cpus }
    }

    /// The facts in the form that the parser takes.
    pub(crate) fn surroundings(&self) -> Surroundings<'_> {
        Surroundings {
            environment: &variable,
            files: &RealFiles,
            page_size: rustix::param::page_size() as u64,
            memory_mib: self.memory_mib,
            cpus: self.cpus,
        }
    }
}

/// The path of the file that requests an interim report: `fio-dump-status` in the temporary directory.
pub(crate) fn dump_request() -> PathBuf {
    let directory = ["TMPDIR", "TEMP"].into_iter().find_map(std::env::var_os).filter(|name| !name.is_empty());
    PathBuf::from(directory.unwrap_or_else(|| "/tmp".into())).join("fio-dump-status")
}

/// Returns a variable of the environment; one that is not UTF-8 counts as unset.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
