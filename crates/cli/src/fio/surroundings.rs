//! What job files may refer to outside themselves, read from this machine.

use job::{RealFiles, Surroundings};
use std::path::PathBuf;

/// The facts about the machine that words may use.
pub(crate) struct Machine {
    memory_mib: u64,
    cpus: u32,
}

impl Machine {
    /// The machine we run on.
    pub(crate) fn here() -> Self {
        let information = rustix::system::sysinfo();
        let memory = information.totalram.saturating_mul(u64::from(information.mem_unit));
        let cpus = std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(1));
        Machine { memory_mib: memory >> 20, cpus }
    }

    /// As the parser wants it.
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

/// The file whose appearance asks for a report: `fio-dump-status` in the directory of temporary files.
pub(crate) fn dump_request() -> PathBuf {
    let directory = ["TMPDIR", "TEMP"].into_iter().find_map(std::env::var_os).filter(|name| !name.is_empty());
    PathBuf::from(directory.unwrap_or_else(|| "/tmp".into())).join("fio-dump-status")
}

/// A variable of the environment; one that is no text counts as not set.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
