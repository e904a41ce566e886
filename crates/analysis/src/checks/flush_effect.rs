//! Flush effect: a flush that does not reach the device makes nothing durable.
//!
//! Signals: flushes of the jobs and the time that they took, flushes counted by the devices, mount options of all
//! layers under the targets, write caches as the kernel and as the devices themselves report them.

use super::note;
use crate::run_facts::{busy_jobs, bytes_asked, float};
use measure::{Direction, Nanos, text};
use model::{Grade, JobResult, Monitored, Note, RunResult};

/// Fewer flushes show nothing.
const LEAST_FLUSHES: u64 = 10;
/// No flush of a device's cache is this short: it takes a command and an interrupt.
const SHORTEST_FLUSH: Nanos = Nanos::from_micros(5);

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
    if asked > 0 || busy_jobs(result).any(flushes) {
        notes.extend(hidden_cache(monitored));
    }
    notes.extend(switched_off(monitored));
    notes.extend(busy_jobs(result).find_map(never_reached));
    notes.extend(busy_jobs(result).find_map(|job| ranges(job, monitored)));
    if notes.is_empty() {
        notes.extend(swallowed(result, monitored));
    }
    notes
}

/// A period of flushes that is longer than the writes of each worker.
fn never_reached(job: &JobResult) -> Option<Note> {
    let period = job.workload.as_ref()?.flushes.only_period()?;
    let writes = job.directions.write.ios;
    (writes > 0 && job.sync.count == 0 && !job.echo.paths.is_empty()).then(|| {
        let sentence = format!(
            "job `{}` asks for a flush after every {} writes and wrote {} times: no flush came",
            job.echo.name,
            text::number(float(period)),
            text::number(float(writes))
        );
        note(Grade::ValidWithLimits, sentence, &[("period_writes", float(period)), ("writes", float(writes))])
    })
}

/// Flushes by sync_file_range alone, over a device with a write cache.
fn ranges(job: &JobResult, monitored: &Monitored) -> Option<Note> {
    let uses = job.directions.write.ios > 0 && job.workload.as_ref()?.flushes.only_ranges() && job.sync.count > 0;
    let device = monitored.devices.iter().find(|device| device.leaf && device.write_back == Some(true))?;
    uses.then(|| {
        let sentence = format!(
            "job `{}` uses sync_file_range, which writes pages and flushes neither metadata nor the write cache of {}",
            job.echo.name, device.name
        );
        note(Grade::ValidWithLimits, sentence, &[("calls", float(job.sync.count))])
    })
}

/// Flushes that returned too soon to have been on a device with a write cache, and that no such device counted.
///
/// The count alone is not enough: the head of a multipath NVMe does not count flushes.
fn swallowed(result: &RunResult, monitored: &Monitored) -> Option<Note> {
    let flushing = || busy_jobs(result).filter(|job| job.directions.write.ios > 0 && job.sync.count > 0);
    let asked = flushing().map(|job| job.sync.count).fold(0, u64::saturating_add);
    let time: u128 = flushing().map(|job| job.sync.latency.moments.sum()).fold(0, u128::saturating_add);
    let mean = u64::try_from(time / u128::from(asked.max(1))).unwrap_or(u64::MAX);
    if asked < LEAST_FLUSHES || time == 0 || mean >= SHORTEST_FLUSH.get() {
        return None;
    }
    let whole = monitored.whole();
    let leaves = || monitored.devices.iter().zip(&whole.devices).filter(|(device, _)| device.leaf);
    if leaves().next().is_none() || leaves().any(|(device, _)| device.write_back != Some(true)) {
        return None;
    }
    let counted = leaves().filter_map(|(_, gain)| gain.flushes).map(|(count, _)| count).fold(0, u64::saturating_add);
    // Workers that flush at the same time share a flush; those of other processes are counted, too.
    let workers = flushing().map(|job| u64::from(job.workers.max(1))).fold(0, u64::saturating_add);
    if counted > asked / workers / 10 {
        return None;
    }
    let names: Vec<&str> = leaves().map(|(device, _)| device.name.as_str()).collect();
    let sentence = format!(
        "{} flushes took {} each, and {} counted {}: they do not reach the device (a preloaded library, a filter of \
         system calls)",
        text::number(float(asked)),
        text::time(float(mean)),
        names.join(", "),
        text::number(float(counted))
    );
    let evidence = [("flushes_asked", float(asked)), ("flushes_counted", float(counted)), ("mean_ns", float(mean))];
    Some(note(Grade::NotAStorageResult, sentence, &evidence))
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
    Some(note(Grade::ValidWithLimits, sentence, &[("flushes_asked", float(asked))]))
}

/// A disk whose write cache was switched off: its writes take as long as if each were flushed.
fn switched_off(monitored: &Monitored) -> Option<Note> {
    let device = monitored.devices.iter().find(|device| device.cache_switched_off == Some(true))?;
    let sentence = format!(
        "the write cache of {} is switched off (hdparm -W0): each write waits for the medium, flushed or not",
        device.name
    );
    Some(note(Grade::ValidWithLimits, sentence, &[]))
}

/// A device with a cache that the kernel is set to ignore: no flush is sent.
fn hidden_cache(monitored: &Monitored) -> Option<Note> {
    let is_hidden = |write_back, own| write_back == Some(false) && own == Some(true);
    let device = monitored.devices.iter().find(|device| is_hidden(device.write_back, device.own_write_back))?;
    let sentence = format!(
        "{} has a write-back cache, and the kernel is set to write through (queue/write_cache): no flush is sent to it",
        device.name
    );
    Some(note(Grade::ValidWithLimits, sentence, &[]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{watched_random_read, workload};
    use model::Layer;
    use plan::Flushes;

    fn flushed_writes() -> RunResult {
        let mut result = watched_random_read();
        let job = &mut result.jobs[0];
        job.directions.write = std::mem::take(&mut job.directions.read);
        workload(&mut result).flushes.fsync_every = 4;
        result.jobs[0].sync.count = 5_000;
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
            result.jobs[0].sync.count = 0;
            assert_eq!(sentences(&result), [""; 0]);
        }
    }

    #[test]
    fn a_period_that_is_not_reached_is_named() {
        let mut result = flushed_writes();
        workload(&mut result).flushes.fsync_every = 1_000_000;
        result.jobs[0].sync.count = 0;
        let sentence =
            "job `reads` asks for a flush after every 1,000,000 writes and wrote 20,000 times: no flush came";
        assert_eq!(sentences(&result), [sentence]);
        workload(&mut result).flushes.at_end = true;
        assert_eq!(sentences(&result), [""; 0]);
    }

    #[test]
    fn sync_file_range_alone_does_not_reach_a_write_cache() {
        let mut result = flushed_writes();
        workload(&mut result).flushes = Flushes { range_every: 8, ..Flushes::default() };
        let device = |result: &mut RunResult, cache| result.monitored.as_mut().unwrap().devices[0].write_back = cache;
        device(&mut result, Some(false));
        assert_eq!(sentences(&result), [""; 0]);
        device(&mut result, Some(true));
        assert!(sentences(&result)[0].ends_with("flushes neither metadata nor the write cache of sda"));
        workload(&mut result).flushes.fsync_every = 64;
        assert_eq!(sentences(&result), [""; 0]);
    }

    #[test]
    fn flushes_that_are_too_short_and_not_counted_are_swallowed() {
        let with = |mean: u64, counted: Option<u64>, write_back: bool| {
            let mut result = flushed_writes();
            for _ in 0..result.jobs[0].sync.count {
                result.jobs[0].sync.latency.moments.record(Nanos(mean));
            }
            let monitored = result.monitored.as_mut().unwrap();
            monitored.devices[0].write_back = Some(write_back);
            monitored.intervals[0].devices[0].flushes = counted.map(|count| (count, count));
            sentences(&result)
        };
        assert_eq!(
            with(300, Some(0), true),
            [
                "5,000 flushes took 300 ns each, and sda counted 0: they do not reach the device (a preloaded library, a \
              filter of system calls)"
            ]
        );
        assert_eq!(with(300, None, true).len(), 1, "a kernel that does not count flushes");
        assert_eq!(with(300, Some(600), true), [""; 0], "8 users share flushes");
        assert_eq!(with(20_000, Some(0), true), [""; 0], "a device that does not count them");
        assert_eq!(with(300, Some(0), false), [""; 0], "nothing to flush");
    }

    #[test]
    fn a_cache_that_was_switched_off_is_named_for_writes() {
        let mut result = flushed_writes();
        let off = |result: &mut RunResult, off| {
            result.monitored.as_mut().unwrap().devices[0].cache_switched_off = off;
        };
        off(&mut result, Some(false));
        assert_eq!(sentences(&result), [""; 0]);
        off(&mut result, Some(true));
        assert!(sentences(&result)[0].starts_with("the write cache of sda is switched off (hdparm -W0)"));
        let job = &mut result.jobs[0];
        job.directions.read = std::mem::take(&mut job.directions.write);
        assert_eq!(sentences(&result), [""; 0], "reads do not use it");
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
        workload(&mut result).flushes.fsync_every = 0;
        result.jobs[0].sync.count = 0;
        assert_eq!(sentences(&result), [""; 0], "no flush is asked for");
    }
}
