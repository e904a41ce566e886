//! What the disks of a program do at its pattern: results of the same disks in the store.

use crate::failure::Failure;
use ::store::Store;
use analysis::{denies_storage, grade, regime};
use model::{DeviceFacts, DiskRate, DiskRates, JobResult, Limiter, Monitored, RunResult, Surroundings};
use observe::{Group, Io, Summary};
use plan::{Mix, Order};
use serde::Deserialize;
use serde_json::Value;
use session::keep::{answers, store_of_option};
use session::layers::Recorded;
use std::collections::HashMap;
use std::path::Path;
use sys::devices::identity::{BlockDevice, DeviceNumber};

/// The newest results that are looked at.
const MOST_RUNS: usize = 100;
/// A depth that gives this share of the most is the best: more costs latency alone.
const NEARLY: f64 = 0.9;
/// Most concurrent I/Os that count as one at a time.
const ALONE: u32 = 1;

/// The I/Os of a group as a disk sees them.
#[derive(Debug)]
struct Pattern {
    direction: measure::Direction,
    block: u64,
    is_sequential: bool,
    device: DeviceNumber,
}

/// Rates of the disks of a recording; empty without results of them.
pub(super) fn of_store(recorded: &Recorded) -> Vec<DiskRates> {
    let summary = Summary::of(&recorded.seen.ios, recorded.seen.cost.time);
    let patterns: Vec<Pattern> = summary.groups.iter().filter_map(|group| pattern(recorded, group)).collect();
    if patterns.is_empty() {
        return Vec::new();
    }
    // Without a store that can be read, nothing is known of the disk.
    let runs = runs().unwrap_or_default();
    let own = session::result_file::surroundings(std::iter::empty());
    let of_pattern = |pattern: Pattern| {
        let whole = BlockDevice::by_number(Path::new("/"), pattern.device)?.whole();
        let place = SameDisk { whole: &whole, machine: own.machine.as_deref() };
        runs.iter().rev().find_map(|run| run.disk(&pattern, &place))
    };
    patterns.into_iter().filter_map(of_pattern).collect()
}

/// The pattern of a group, if most of its I/Os wait for one device and have one size.
fn pattern(recorded: &Recorded, group: &Group) -> Option<Pattern> {
    let direction = match group.direction {
        observe::Direction::Read => measure::Direction::Read,
        observe::Direction::Write => measure::Direction::Write,
        observe::Direction::Sync | observe::Direction::Fault => return None,
    };
    let size = group.size.filter(|size| size.count * 2 > group.count)?;
    let is_own = |io: &&Io| io.direction == group.direction && io.reach == group.reach && io.waited_for > 0;
    let mut devices: HashMap<DeviceNumber, u64> = HashMap::new();
    for device in recorded.seen.ios.iter().filter(is_own).filter_map(|io| io.device) {
        *devices.entry(device).or_default() += 1;
    }
    let (device, count) = devices.into_iter().max_by_key(|(_, count)| *count)?;
    let is_sequential = group.sequential? > 0.5;
    (count * 2 > group.count).then_some(Pattern { direction, block: size.bytes, is_sequential, device })
}

/// Results of a run in the store.
struct StoredRun {
    command: String,
    began_unix_ms: u64,
    results: Vec<RunResult>,
    surroundings: Surroundings,
}

fn runs() -> Result<Vec<StoredRun>, Failure> {
    let path = store_of_option(None)?;
    if !path.exists() {
        return Ok(Vec::new());
    }
    answers(&path)?;
    let Some(store) = Store::to_read(&path)? else { return Ok(Vec::new()) };
    let lines = store.runs()?;
    let newest = lines.len().saturating_sub(MOST_RUNS);
    let stored = |line: &::store::RunLine| {
        let root: Value = serde_json::from_slice(&store.export(&line.id).ok()?).ok()?;
        let of_test = |test: &Value| formats::native::of_value(test.get("result")?).ok();
        let results = match root.get("tests").and_then(Value::as_array) {
            Some(tests) => tests.iter().filter_map(of_test).collect(),
            None => vec![formats::native::of_value(&root).ok()?],
        };
        let stated = [root.get("surroundings"), root.pointer("/result/surroundings")].into_iter().flatten().next();
        let surroundings = stated.and_then(|stated| Surroundings::deserialize(stated).ok()).unwrap_or_default();
        Some(StoredRun { command: line.command.clone(), began_unix_ms: line.began_unix_ms, results, surroundings })
    };
    Ok(lines[newest..].iter().filter_map(stored).collect())
}

/// The disk of this machine that results must be of.
struct SameDisk<'own> {
    whole: &'own BlockDevice,
    machine: Option<&'own str>,
}

impl SameDisk<'_> {
    /// True if all bytes of a run were on it: by its serial number, or else the file of a loop device, or model and
    /// size on the same machine.
    fn is_of(&self, monitored: &Monitored, surroundings: &Surroundings) -> bool {
        let leaves: Vec<&DeviceFacts> = monitored.devices.iter().filter(|device| device.leaf).collect();
        let [leaf] = leaves[..] else { return false };
        if let (Some(own), Some(other)) = (self.whole.serial(), surroundings.serials.get(&leaf.name)) {
            return own == *other;
        }
        let is_same_machine = self.machine.is_some() && self.machine == surroundings.machine.as_deref();
        let layers = monitored.targets.iter().flat_map(|target| &target.layers);
        let held = layers.filter(|layer| layer.kind == "loop").find_map(|layer| layer.held_by.as_ref());
        let own_file = self.whole.backing_file();
        let is_same_file = own_file.as_deref() == held.map(Path::new);
        let is_alike =
            leaf.name == self.whole.name() && leaf.model == self.whole.model() && leaf.size_bytes == self.whole.size();
        is_same_machine && is_same_file && (own_file.is_some() || is_alike)
    }
}

impl StoredRun {
    /// Rates of the disk in this run at a pattern, if one at a time was measured, too.
    fn disk(&self, pattern: &Pattern, place: &SameDisk<'_>) -> Option<DiskRates> {
        let of_disk = |result: &&RunResult| {
            let monitored = result.monitored.as_ref();
            !denies_storage(grade(&result.notes))
                && monitored.is_some_and(|monitored| place.is_of(monitored, &self.surroundings))
        };
        let mut rates: Vec<DiskRate> =
            self.results.iter().filter(of_disk).filter_map(|result| rate(result, pattern)).collect();
        rates.sort_by_key(|rate| rate.depth);
        rates.dedup_by_key(|rate| rate.depth);
        let alone = rates.iter().copied().find(|rate| rate.depth == ALONE)?;
        let most = rates.iter().map(|rate| rate.per_second).fold(0.0, f64::max);
        let best =
            rates.iter().copied().filter(|rate| rate.per_second >= NEARLY * most).min_by_key(|rate| rate.depth)?;
        Some(DiskRates {
            direction: pattern.direction.word().to_owned(),
            block_bytes: pattern.block,
            is_sequential: pattern.is_sequential,
            alone,
            best,
            rates,
            command: self.command.clone(),
            began_unix_ms: self.began_unix_ms,
        })
    }
}

/// The rate of a run of one job with this pattern and nothing else.
fn rate(result: &RunResult, pattern: &Pattern) -> Option<DiskRate> {
    let jobs = result.reported_jobs();
    let [job] = &jobs[..] else { return None };
    let workload = job.workload.as_ref()?;
    let is_sequential = workload.order == Order::Sequential;
    let size = u32::try_from(pattern.block).ok()?;
    let is_same = workload.mix == Mix::Only(pattern.direction)
        && is_sequential == pattern.is_sequential
        && job.echo.block_sizes[pattern.direction] == (size, size)
        && workload.pace == plan::Pace::default()
        && workload.flushes == plan::Flushes::default()
        && job.echo.direct;
    let per_second = job.directions[pattern.direction].iops().filter(|rate| is_same && *rate > 0.0)?;
    let within = match &regime::phases(result)[..] {
        [phase] => phase.iops_low.zip(phase.iops_high).map(|(low, high)| [low, high]),
        _ => None,
    };
    let at_least = result.limited_by.as_ref().is_some_and(|limit| limit.limiter == Limiter::ClientCpu);
    Some(DiskRate { depth: depth(job), per_second, at_least, within })
}

fn depth(job: &JobResult) -> u32 {
    job.workers.max(1).saturating_mul(analysis::costs::depth_of(job))
}
