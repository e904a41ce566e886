//! Compressible: on a target that compresses or deduplicates, speed depends on the contents of the data.
//!
//! Signals: buffer contents of the jobs, attributes and extents of the files, and layers under them that compress.

use super::note;
use crate::run_facts::{busy_jobs, float, is_pass};
use measure::text;
use model::{FileAttribute, Grade, JobResult, Note, RunResult, TargetFacts};
use plan::Filling;

/// With a smaller percentage of compressible or duplicate bytes, data behaves like random data.
const LEAST_PERCENT: f64 = 20.0;

/// From this many writes of each buffer on, most blocks are repeats.
const WRITES_OF_A_BUFFER: u64 = 2;

/// Reports compressible buffers, and layers that compress.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let writes = busy_jobs(result).find(|job| job.directions.write.bytes > 0 && !job.echo.paths.is_empty());
    let simple = writes.and_then(simple_buffers);
    let place = writes.or_else(|| busy_jobs(result).next()).and_then(|_| compressing(result));
    let sentence = match (simple, place) {
        (Some((what, _)), Some(place)) => {
            format!("{what} on {place}, which compresses: valid only for data like yours")
        }
        // iozone's data is what it is; on a target that stores it as it is, that changes nothing.
        (Some(_), None) if is_pass(result) => return Vec::new(),
        (Some((what, _)), None) => {
            format!("{what}: valid only for data like yours wherever the target compresses or deduplicates")
        }
        (None, Some(place)) => format!("{place} compresses: valid only for data like yours"),
        (None, None) => return Vec::new(),
    };
    let percent = simple.map_or(0.0, |(_, percent)| percent);
    vec![note(Grade::ValidWithLimits, sentence, &[("simple_percent", percent)])]
}

/// Reason why a job's data is compressible, and the percentage.
fn simple_buffers(job: &JobResult) -> Option<(&'static str, f64)> {
    let contents = job.workload.as_ref()?.contents;
    let (compressible, repeated) = (f64::from(contents.compressible_percent), f64::from(contents.repeated_percent));
    match contents.filling {
        Filling::Zeros => Some(("all zeros were written", 100.0)),
        Filling::Pattern => Some(("one pattern was written over and over", 100.0)),
        Filling::Random if compressible >= LEAST_PERCENT => Some(("the written data can be compressed", compressible)),
        Filling::Random if repeated >= LEAST_PERCENT => Some(("the written blocks repeat", repeated)),
        // Each slot of the queue has one buffer.
        Filling::Random => {
            let buffers = u64::from(job.workers.max(1)).saturating_mul(u64::from(job.echo.iodepth.max(1)));
            let is_few = job.directions.write.ios >= WRITES_OF_A_BUFFER * buffers;
            (contents.unchanged && is_few)
                .then_some(("the same buffer was written over and over (scramble_buffers=0)", 100.0))
        }
    }
}

/// A device or file system under the targets that compresses.
fn compressing(result: &RunResult) -> Option<String> {
    let monitored = result.monitored.as_ref()?;
    let zram = monitored.devices.iter().find(|device| device.name.starts_with("zram"));
    if let Some(device) = zram {
        return Some(device.name.clone());
    }
    let own = monitored.targets.iter().find_map(compressing_file);
    let layers = monitored.targets.iter().flat_map(|target| target.layers.iter().skip(1));
    let lower = || {
        layers
            .filter(|layer| compresses(&layer.kind, layer.options.as_deref().unwrap_or_default()))
            .map(|layer| if layer.device { layer.name.clone() } else { format!("{} ({})", layer.name, layer.kind) })
    };
    own.or_else(|| lower().next())
}

/// The target's own file system or file, if it compresses.
fn compressing_file(target: &TargetFacts) -> Option<String> {
    let has = |attribute| target.attributes.contains(&attribute);
    if has(FileAttribute::Compressed) {
        return Some(format!("{} (chattr +c)", target.path));
    }
    let share = target.compressed_bytes.map_or(0.0, |bytes| float(bytes) / float(target.region_bytes.max(1)));
    if share >= LEAST_PERCENT / 100.0 {
        return Some(format!("{} ({} of it)", target.path, text::percent(share.min(1.0))));
    }
    let mount = target.mount.as_ref().filter(|_| !has(FileAttribute::OverwrittenInPlace));
    mount
        .filter(|mount| compresses(&mount.kind, &mount.options))
        .map(|mount| format!("{} ({})", mount.point, mount.kind))
}

/// True if a target compresses whatever is written. f2fs lists its algorithm, and compresses marked files.
fn compresses(kind: &str, options: &str) -> bool {
    let by_option = |option: &str| option.starts_with("compress") && option != "compress=none";
    matches!(kind, "zfs" | "bcachefs" | "vdo" | "squashfs" | "zram")
        || (kind != "f2fs" && options.split(',').any(by_option))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{watched_random_read, workload};
    use model::{Layer, MountFacts};

    #[test]
    fn what_iozone_writes_matters_only_to_a_target_that_compresses() {
        let mut result = watched_random_read();
        let job = &mut result.jobs[0];
        job.directions.write = job.directions.read.clone();
        job.workload.as_mut().unwrap().contents.filling = Filling::Pattern;
        assert_eq!(run(&result).len(), 1);
        result.jobs[0].pass = Some(model::PassResult::default());
        assert_eq!(run(&result), []);
        result.monitored.as_mut().unwrap().devices[0].name = "zram0".into();
        assert!(run(&result)[0].sentence.contains("zram0, which compresses"));
    }

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
    fn a_buffer_that_is_written_unchanged_again_and_again_repeats() {
        let written = |unchanged: bool, ios: u64| {
            let mut result = watched_random_read();
            let job = &mut result.jobs[0];
            job.directions.write = job.directions.read.clone();
            job.directions.write.ios = ios;
            workload(&mut result).contents.unchanged = unchanged;
            run(&result).into_iter().next().map(|note| note.sentence)
        };
        assert!(
            written(true, 20_000)
                .unwrap()
                .starts_with("the same buffer was written over and over (scramble_buffers=0)")
        );
        assert_eq!(written(false, 20_000), None);
        assert_eq!(written(true, 8), None, "each of 8 buffers once");
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
        let target = &mut result.monitored.as_mut().unwrap().targets[0];
        target.attributes = vec![FileAttribute::OverwrittenInPlace];
        assert_eq!(run(&result), [], "chattr +C switches it off");
    }

    #[test]
    fn a_file_or_a_layer_below_that_compresses_is_named() {
        let place = |change: fn(&mut TargetFacts)| {
            let mut result = watched_random_read();
            change(&mut result.monitored.as_mut().unwrap().targets[0]);
            run(&result).first().map(|note| note.sentence.split(" compresses").next().unwrap_or_default().to_owned())
        };
        let layer = |kind: &str, options: Option<&str>| Layer {
            name: "x".into(),
            kind: kind.into(),
            device: options.is_none(),
            options: options.map(str::to_owned),
            ..Layer::default()
        };
        assert_eq!(place(|target| target.attributes = vec![FileAttribute::Compressed]), Some("a (chattr +c)".into()));
        assert_eq!(
            place(|target| target.compressed_bytes = Some(target.region_bytes / 2)),
            Some("a (50 % of it)".into())
        );
        assert_eq!(place(|target| target.compressed_bytes = Some(0)), None);
        let stack = |lower: Layer| {
            let mut result = watched_random_read();
            result.monitored.as_mut().unwrap().targets[0].layers = vec![layer("ext4", Some("rw")), lower];
            run(&result).first().map(|note| note.sentence.clone())
        };
        let named = |place: &str| Some(format!("{place} compresses: valid only for data like yours"));
        assert_eq!(stack(layer("vdo", None)), named("x"));
        assert_eq!(stack(layer("btrfs", Some("rw,compress-force=zstd"))), named("x (btrfs)"));
        assert_eq!(stack(layer("f2fs", Some("rw,compress_algorithm=lz4"))), None);
        assert_eq!(stack(layer("disk", None)), None);
    }
}
