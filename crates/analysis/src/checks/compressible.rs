//! Compressible: a target that compresses or deduplicates is as fast as the data is simple.
//!
//! Signals: what the jobs put into their buffers, and whether something below is known to compress.

use super::note;
use crate::evidence::{busy_jobs, is_on, option};
use model::{Grade, JobResult, Note, RunResult};

/// The name in notes.
pub(super) const ID: &str = "compressible";

/// Below this share of compressible or repeated bytes data is as good as random.
const LEAST_PERCENT: f64 = 20.0;

/// Buffers that are simple, and places that compress.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let writes = busy_jobs(result).find(|job| job.directions.write.bytes > 0 && !job.echo.paths.is_empty());
    let simple = writes.and_then(|job| simple_buffers(job, result));
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

/// What makes a job's buffers simple, and how much of them is.
fn simple_buffers(job: &JobResult, result: &RunResult) -> Option<(&'static str, f64)> {
    let percent = |names: &[&str]| option(job, result, names)?.trim().parse::<f64>().ok();
    if is_on(job, result, &["zero_buffers"]) {
        return Some(("all zeros were written", 100.0));
    }
    if option(job, result, &["buffer_pattern"]).is_some() {
        return Some(("one pattern was written over and over", 100.0));
    }
    let compress = percent(&["buffer_compress_percentage"]).unwrap_or(0.0);
    if compress >= LEAST_PERCENT {
        return Some(("the written data can be compressed", compress));
    }
    let repeated = percent(&["dedupe_percentage"]).unwrap_or(0.0);
    (repeated >= LEAST_PERCENT).then_some(("the written blocks repeat", repeated))
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
    use crate::fixtures::watched_random_read;
    use model::MountFacts;

    #[test]
    fn zeros_are_told_and_random_data_is_silent() {
        let mut result = watched_random_read();
        let job = &mut result.jobs[0];
        job.directions.write = job.directions.read.clone();
        assert_eq!(run(&result), []);
        result.jobs[0].echo.options.push(("zero_buffers".into(), "1".into()));
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
