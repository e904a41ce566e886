//! Compressible: on a target that compresses or deduplicates, speed depends on the contents of the data.
//!
//! Signals: buffer contents of the jobs, and layers under the files that are known to compress.

use super::note;
use crate::run_facts::busy_jobs;
use model::{Grade, JobResult, Note, RunResult};
use plan::Filling;

pub(super) const ID: &str = "compressible";

/// With a smaller percentage of compressible or duplicate bytes, data behaves like random data.
const LEAST_PERCENT: f64 = 20.0;

/// Reports compressible buffers, and layers that compress.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let writes = busy_jobs(result).find(|job| job.directions.write.bytes > 0 && !job.echo.paths.is_empty());
    let simple = writes.and_then(simple_buffers);
    let place = writes.or_else(|| busy_jobs(result).next()).and_then(|_| compressing(result));
    let sentence = match (simple, place) {
        (Some((what, _)), Some(place)) => {
            format!("{what} on {place}, which compresses: valid only for data like yours")
        }
        (Some((what, _)), None) => {
            format!("{what}: valid only for data like yours wherever the target compresses or deduplicates")
        }
        (None, Some(place)) => format!("{place} compresses: valid only for data like yours"),
        (None, None) => return Vec::new(),
    };
    let percent = simple.map_or(0.0, |(_, percent)| percent);
    vec![note(ID, Grade::ValidWithLimits, sentence, &[("simple_percent", percent)])]
}

/// Reason why a job's data is compressible, and the percentage.
fn simple_buffers(job: &JobResult) -> Option<(&'static str, f64)> {
    let contents = job.workload.as_ref()?.contents;
    let (compressible, repeated) = (f64::from(contents.compressible_percent), f64::from(contents.repeated_percent));
    match contents.filling {
        Filling::Zeros => Some(("all zeros were written", 100.0)),
        Filling::Pattern => Some(("one pattern was written over and over", 100.0)),
        Filling::Random if compressible >= LEAST_PERCENT => Some(("the written data can be compressed", compressible)),
        Filling::Random => (repeated >= LEAST_PERCENT).then_some(("the written blocks repeat", repeated)),
    }
}

/// A device or file system under the targets that compresses.
fn compressing(result: &RunResult) -> Option<String> {
    let monitored = result.monitored.as_ref()?;
    let zram = monitored.devices.iter().find(|device| device.name.starts_with("zram"));
    if let Some(device) = zram {
        return Some(device.name.clone());
    }
    let mounts = monitored.targets.iter().filter_map(|target| target.mount.as_ref());
    let mut compresses = mounts.filter(|mount| {
        mount.kind == "zfs"
            || mount.kind == "bcachefs"
            || mount.options.split(',').any(|one| one.starts_with("compress"))
    });
    compresses.next().map(|mount| format!("{} ({})", mount.point, mount.kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{watched_random_read, workload};
    use model::MountFacts;

    #[test]
    fn zeros_are_named_and_random_data_is_silent() {
        let mut result = watched_random_read();
        let job = &mut result.jobs[0];
        job.directions.write = job.directions.read.clone();
        assert_eq!(run(&result), []);
        workload(&mut result).contents.filling = Filling::Zeros;
        assert!(run(&result)[0].sentence.starts_with("all zeros were written: valid only"));
    }

    #[test]
    fn a_place_that_compresses_is_named() {
        let mut result = watched_random_read();
        result.monitored.as_mut().unwrap().devices[0].name = "zram0".into();
        assert_eq!(run(&result)[0].sentence, "zram0 compresses: valid only for data like yours");
        result.monitored.as_mut().unwrap().devices[0].name = "sda".into();
        result.monitored.as_mut().unwrap().targets[0].mount =
            Some(MountFacts { point: "/data".into(), kind: "btrfs".into(), options: "rw,compress=zstd:3".into() });
        assert_eq!(run(&result)[0].sentence, "/data (btrfs) compresses: valid only for data like yours");
    }
}
