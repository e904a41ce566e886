//! Backing: what stores the bytes is a disk, memory, or cannot be seen from this machine.
//!
//! Signals: the layers under each target down to their bottoms: loop devices, partitions, stacked devices, overlays.

use super::note;
use crate::run_facts::{busy_jobs, float};
use model::{Bottom, Grade, Layer, Note, RunResult, ways_down};

/// Reports targets whose bytes are in memory, and those whose storage is not visible; each sentence once.
pub(super) fn run(result: &RunResult) -> Vec<Note> {
    let Some(monitored) = &result.monitored else { return Vec::new() };
    if busy_jobs(result).all(|job| job.echo.paths.is_empty()) {
        return Vec::new();
    }
    let mut notes: Vec<Note> = Vec::new();
    for found in monitored.targets.iter().filter_map(|target| judge(&target.layers)) {
        if notes.iter().all(|note| note.sentence != found.sentence) {
            notes.push(found);
        }
    }
    notes
}

fn judge(layers: &[Layer]) -> Option<Note> {
    let ways = ways_down(layers);
    let bottom = |way: &Vec<usize>| way.last().and_then(|&at| layers[at].bottom.as_ref());
    let in_memory = || ways.iter().filter(|way| bottom(way) == Some(&Bottom::Memory));
    let evidence = |count: usize| [("ways_down", float(ways.len() as u64)), ("ways_in_question", float(count as u64))];
    if let Some(way) = in_memory().next() {
        let (count, steps) = (in_memory().count(), steps(layers, way));
        let (grade, sentence) = match (way.as_slice(), layers[way[0]].device) {
            ([only], false) => {
                let Layer { name, kind, .. } = &layers[*only];
                let sentence = format!("{name} is {kind}: its files live in memory, no device took part");
                (Grade::NotAStorageResult, sentence)
            }
            _ if count == ways.len() => (Grade::NotAStorageResult, format!("{steps}: this measures memory")),
            _ => (Grade::ValidWithLimits, format!("{steps}: a part of this is memory")),
        };
        return Some(note(grade, sentence, &evidence(count)));
    }
    let unknown = || ways.iter().filter(|way| matches!(bottom(way), Some(Bottom::Unknown(_))));
    let way = unknown().next()?;
    let Some(Bottom::Unknown(why)) = bottom(way) else { return None };
    let last = way.last().map_or_else(String::new, |&at| named(&layers[at]));
    let place = if way.len() > 1 { format!("{}; {last}", steps(layers, way)) } else { last };
    let sentence = format!("{place}: {why}, so it is not known what stores the data");
    Some(note(Grade::NotChecked, sentence, &evidence(unknown().count())))
}

/// A layer by name, with its type if it is a file system.
fn named(layer: &Layer) -> String {
    if layer.device { layer.name.clone() } else { format!("{} ({})", layer.name, layer.kind) }
}

/// The way down in words: `/data (ext4) is on loop3, loop3 is backed by a file on tmpfs`.
fn steps(layers: &[Layer], way: &[usize]) -> String {
    let pairs = way.windows(2).map(|pair| step(&layers[pair[0]], &layers[pair[1]]));
    let mut steps: Vec<String> = pairs.collect();
    if let Some(last) =
        way.last().map(|&at| &layers[at]).filter(|last| last.device && last.bottom == Some(Bottom::Memory))
    {
        steps.push(format!("{} keeps its data in memory", last.name));
    }
    steps.join(", ")
}

fn step(upper: &Layer, lower: &Layer) -> String {
    let (above, kind) = (named(upper), upper.kind.as_str());
    let below = if lower.bottom == Some(Bottom::Memory) && !lower.device { lower.kind.clone() } else { named(lower) };
    match kind {
        "loop" => format!("{above} is backed by a file on {below}"),
        "overlay" => format!("{above} keeps its files on {below}"),
        "partition" => format!("{above} is a part of {below}"),
        _ if upper.device => format!("{above} is built on {below}"),
        _ => format!("{above} is on {below}"),
    }
}

/// True if the layers under any target say that no counter of a disk can be compared with its bytes.
pub(super) fn explains_missing_counters(result: &RunResult) -> bool {
    result.monitored.iter().flat_map(|monitored| &monitored.targets).any(|target| judge(&target.layers).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::watched_random_read;

    fn device(name: &str, kind: &str, below: &[usize]) -> Layer {
        Layer { name: name.into(), kind: kind.into(), device: true, below: below.into(), ..Layer::default() }
    }

    fn file_system(name: &str, kind: &str, below: &[usize]) -> Layer {
        Layer { device: false, ..device(name, kind, below) }
    }

    fn ends(layer: Layer, bottom: Bottom) -> Layer {
        Layer { bottom: Some(bottom), ..layer }
    }

    fn check(layers: Vec<Layer>) -> Option<(Grade, String)> {
        let mut result = watched_random_read();
        let target = &mut result.monitored.as_mut().unwrap().targets[0];
        target.layers = layers;
        // A second file of the same mount adds nothing.
        let second = target.clone();
        result.monitored.as_mut().unwrap().targets.push(second);
        let notes = run(&result);
        assert!(notes.len() <= 1, "{notes:?}");
        notes.into_iter().next().map(|note| (note.grade, note.sentence))
    }

    fn memory() -> Layer {
        ends(file_system("/tmp", "tmpfs", &[]), Bottom::Memory)
    }

    #[test]
    fn what_is_on_disks_is_silent() {
        let disk = ends(device("sda", "disk", &[]), Bottom::Disk);
        assert_eq!(check(Vec::new()), None);
        assert_eq!(check(vec![file_system("/", "ext4", &[1]), device("sda1", "partition", &[2]), disk.clone()]), None);
        assert_eq!(check(vec![device("loop0", "loop", &[1]), file_system("/", "ext4", &[2]), disk]), None);
    }

    #[test]
    fn memory_is_named_with_the_way_that_leads_there() {
        let all = |sentence: &str| Some((Grade::NotAStorageResult, sentence.to_owned()));
        assert_eq!(check(vec![memory()]), all("/tmp is tmpfs: its files live in memory, no device took part"));
        assert_eq!(
            check(vec![device("loop3", "loop", &[1]), memory()]),
            all("loop3 is backed by a file on tmpfs: this measures memory")
        );
        let layers = vec![
            file_system("/data", "xfs", &[1]),
            device("loop3p1", "partition", &[2]),
            device("loop3", "loop", &[3]),
            file_system("/mnt/o", "overlay", &[4]),
            memory(),
        ];
        let sentence = "/data (xfs) is on loop3p1, loop3p1 is a part of loop3, loop3 is backed by a file on /mnt/o \
                        (overlay), /mnt/o (overlay) keeps its files on tmpfs: this measures memory";
        assert_eq!(check(layers), all(sentence));
        let zram = ends(device("zram0", "zram", &[]), Bottom::Memory);
        assert_eq!(check(vec![zram]), all("zram0 keeps its data in memory: this measures memory"));
    }

    #[test]
    fn a_mirror_of_disk_and_memory_is_a_part() {
        let disk = ends(device("sda", "disk", &[]), Bottom::Disk);
        let ram = ends(device("ram0", "brd", &[]), Bottom::Memory);
        assert_eq!(
            check(vec![device("md0", "md", &[1, 2]), disk, ram]),
            Some((
                Grade::ValidWithLimits,
                "md0 is built on ram0, ram0 keeps its data in memory: a part of this is memory".into()
            ))
        );
    }

    #[test]
    fn what_cannot_be_followed_is_not_checked() {
        let server = ends(file_system("/mnt/n", "nfs4", &[]), Bottom::Unknown("a server answers".into()));
        let unknown = |sentence: &str| Some((Grade::NotChecked, sentence.to_owned()));
        assert_eq!(
            check(vec![server.clone()]),
            unknown("/mnt/n (nfs4): a server answers, so it is not known what stores the data")
        );
        assert_eq!(
            check(vec![device("loop0", "loop", &[1]), server]),
            unknown(
                "loop0 is backed by a file on /mnt/n (nfs4); /mnt/n (nfs4): a server answers, so it is not known what \
                 stores the data"
            )
        );
    }
}
