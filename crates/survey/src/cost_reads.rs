//! Plans of `plumb model --run`: reads of one size, from the device or from memory.

use measure::{Direction, Nanos, PerDirection};
use plan::{BlockSize, Extent, FilePlan, JobPlan, Limits, LoadPlan, Mix, Plan};
use std::path::Path;

/// Reads of one measurement.
#[derive(Clone, Debug)]
pub struct CostReads {
    /// Name of the job.
    pub name: String,
    /// Bytes of a read.
    pub block: u64,
    /// At least 1; with several, each is a worker.
    pub users: u32,
    /// In milliseconds; `None` for one pass over the target.
    pub time: Option<u64>,
    /// Their order, and what they find in memory.
    pub way: ReadWay,
}

/// Order of the reads, and what they find in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadWay {
    /// At random, with O_DIRECT.
    Device,
    /// In order, from an empty page cache.
    Cold,
    /// In order, from the page cache as it is.
    Cached,
}

impl CostReads {
    /// The Plan of the options that it states.
    pub fn plan(&self, path: &Path, size: u64) -> Plan {
        let mut job = JobPlan::with_defaults(&self.name, "model", plan::DEFAULT_ENGINE);
        let is_direct = self.way == ReadWay::Device;
        job.clones = self.users;
        job.limits = Limits {
            runtime: self.time.map(Nanos::from_millis),
            time_based: self.time.is_some(),
            error_dump: true,
            ..Limits::default()
        };
        job.files = FilePlan {
            names: vec![path.to_owned()],
            size: Some(Extent::Bytes(size)),
            direct: is_direct,
            invalidate: self.way != ReadWay::Cached,
            // Files that are read are laid out with data.
            overwrite: true,
            ..FilePlan::default()
        };
        // At most the largest of the block sizes.
        let block = BlockSize::Fixed(u32::try_from(self.block).unwrap_or(u32::MAX));
        let mix = Mix::Only(Direction::Read);
        job.load = LoadPlan { mix, random: is_direct, block_size: PerDirection::all(block), ..LoadPlan::default() };
        job.record.completion_percentiles = false;
        job.record.group_reporting = self.users > 1;
        job.written = self.options(path, size);
        Plan { jobs: vec![job], global_options: Vec::new() }
    }

    /// The options of a job file that does the same.
    fn options(&self, path: &Path, size: u64) -> Vec<(String, String)> {
        let escaped = path.display().to_string().replace(':', "\\:");
        let mut options = vec![("name", self.name.clone()), ("filename", escaped), ("size", size.to_string())];
        options.extend([("ioengine", plan::DEFAULT_ENGINE.to_owned()), ("clat_percentiles", "0".to_owned())]);
        match self.way {
            ReadWay::Device => options.extend([("direct", "1".to_owned()), ("rw", "randread".to_owned())]),
            ReadWay::Cold => options.push(("rw", "read".to_owned())),
            ReadWay::Cached => options.extend([("invalidate", "0".to_owned()), ("rw", "read".to_owned())]),
        }
        options.push(("bs", self.block.to_string()));
        if self.users > 1 {
            options.extend([("numjobs", self.users.to_string()), ("group_reporting", "1".to_owned())]);
        }
        if let Some(time) = self.time {
            options.extend([("runtime", format!("{time}ms")), ("time_based", "1".to_owned())]);
        }
        options.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::no_files::NoFiles;
    use fio::Surroundings;

    const SURROUNDINGS: Surroundings<'_> =
        Surroundings { environment: &|_| None, files: &NoFiles, page_size: 4096, memory_mib: 1024, cpus: 2 };

    #[test]
    fn a_measurement_is_that_of_the_options_that_it_states() {
        let path = Path::new("/x/a:b");
        for (users, time, way) in
            [(1, None, ReadWay::Cold), (1, Some(300), ReadWay::Cached), (8, Some(1000), ReadWay::Device)]
        {
            let reads = CostReads { name: "a".to_owned(), block: 4096, users, time, way };
            let own = reads.plan(path, 1 << 20).jobs.remove(0);
            let words: Vec<String> = own.written.iter().map(|(name, value)| format!("--{name}={value}")).collect();
            let parsed = fio::Parser::new(engine::ENGINES)
                .command_line(&words, &SURROUNDINGS)
                .unwrap_or_else(|error| panic!("{error}"));
            let fio::Action::Run(mut plan) = parsed.action else { panic!("{words:?} is not a run") };
            let theirs = JobPlan { origin: own.origin.clone(), written: own.written.clone(), ..plan.jobs.remove(0) };
            assert_eq!(format!("{own:?}"), format!("{theirs:?}"));
        }
    }
}
