//! Flush effect: a flush that does not reach the device makes nothing durable.
//!
//! Signals: flushes of the jobs, mount options of all layers under the targets, write caches as the kernel and as the
//! devices themselves report them.

use super::note;
use crate::run_facts::{busy_jobs, bytes_asked, float};
use measure::Direction;
use model::{Grade, JobResult, Monitored, Note, RunResult};

pub(super) const ID: &str = "flush effect";

/// Mount options that keep flushes from the device, and the effect of each.
const OPTIONS: &[(&str, &str)] = &[
    ("nobarrier", "a flush does not reach the device"),
    ("barrier=0", "a flush does not reach the device"),
    ("barrier=none", "a flush does not reach the device"),
    ("fsync_mode=nobarrier", "a flush does not reach the device"),
    ("volatile", "fsync does nothing there"),
    ("fsync=volatile", "fsync does nothing there"),
];

/// Reports settings under which flushes have no effect.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let Some(monitored) = &result.monitored else { return Vec::new() };
    if bytes_asked(result, Direction::Write) == 0 {
        return Vec::new();
    }
    let asked = flushes_asked(result);
    let mut notes: Vec<Note> = Vec::new();
    if asked > 0 || busy_jobs(result).any(flushes) {
        notes.extend(option(monitored, asked));
    }
    notes.extend(hidden_cache(monitored));
    notes
}

fn flushes(job: &JobResult) -> bool {
    job.directions.write.bytes > 0 && job.workload.as_ref().is_some_and(|workload| workload.flushes.any())
}

/// Calls of fsync and fdatasync that completed.
fn flushes_asked(result: &RunResult) -> u64 {
    result.jobs.iter().map(|job| job.sync.count).fold(0, u64::saturating_add)
}

fn option(monitored: &Monitored, asked: u64) -> Option<Note> {
    let layers = monitored.targets.iter().flat_map(|target| &target.layers);
    let options = layers.filter_map(|layer| Some((layer, layer.options.as_ref()?)));
    let mut found = options.flat_map(|(layer, options)| options.split(',').map(move |option| (layer, option)));
    let (layer, (option, effect)) =
        found.find_map(|(layer, option)| Some((layer, OPTIONS.iter().find(|(known, _)| *known == option)?)))?;
    let sentence = format!("{} ({}) is mounted with {option}: {effect}", layer.name, layer.kind);
    Some(note(ID, Grade::ValidWithLimits, sentence, &[("flushes_asked", float(asked))]))
}

/// A device with a cache that the kernel is set to ignore: no flush is sent.
fn hidden_cache(monitored: &Monitored) -> Option<Note> {
    let is_hidden = |write_back, own| write_back == Some(false) && own == Some(true);
    let device = monitored.devices.iter().find(|device| is_hidden(device.write_back, device.own_write_back))?;
    let sentence = format!(
        "{} has a write-back cache, and the kernel is set to write through (queue/write_cache): no flush is sent to it",
        device.name
    );
    Some(note(ID, Grade::ValidWithLimits, sentence, &[]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{watched_random_read, workload};
    use model::Layer;

    fn flushed_writes() -> RunResult {
        let mut result = watched_random_read();
        let job = &mut result.jobs[0];
        job.directions.write = std::mem::take(&mut job.directions.read);
        workload(&mut result).flushes.fsync_every = 4;
        result
    }

    fn sentences(result: &RunResult) -> Vec<String> {
        run(result).into_iter().map(|note| note.sentence).collect()
    }

    #[test]
    fn options_that_swallow_flushes_are_named_if_there_are_flushes() {
        for (option, effect) in
            [("nobarrier", "a flush does not reach the device"), ("fsync=volatile", "fsync does nothing there")]
        {
            let mut result = flushed_writes();
            assert_eq!(sentences(&result), [""; 0]);
            let options = Some(format!("rw,relatime,{option}"));
            let layer = Layer { name: "/data".into(), kind: "ext4".into(), options, ..Layer::default() };
            result.monitored.as_mut().unwrap().targets[0].layers = vec![layer];
            assert_eq!(sentences(&result), [format!("/data (ext4) is mounted with {option}: {effect}")]);
            workload(&mut result).flushes.fsync_every = 0;
            assert_eq!(sentences(&result), [""; 0]);
        }
    }

    #[test]
    fn a_cache_that_the_kernel_was_set_to_ignore_is_named() {
        let mut result = flushed_writes();
        let device = |result: &mut RunResult, kernel, own| {
            let device = &mut result.monitored.as_mut().unwrap().devices[0];
            (device.write_back, device.own_write_back) = (kernel, own);
        };
        for (kernel, own) in [(Some(true), Some(true)), (Some(false), Some(false)), (Some(false), None)] {
            device(&mut result, kernel, own);
            assert_eq!(sentences(&result), [""; 0], "{kernel:?} {own:?}");
        }
        device(&mut result, Some(false), Some(true));
        assert!(
            sentences(&result)[0].starts_with("sda has a write-back cache, and the kernel is set to write through")
        );
    }
}
