//! What would help, and how much: a row for each thing that can be changed. docs/why.md, "What would help".
//!
//! A thread does its next I/O when one has ended. So of the time of its I/Os, what a change takes off makes its rate
//! larger, and the time between I/Os stays.

use analysis::statistics::series_interval;
use measure::{Nanos, float, text};
use model::{DiskRate, DiskRates};
use observe::{Direction, Group, Io, Part, Reach, Reuse, Summary, Thread};
use serde_json::{Value, json};
use session::layers::Recorded;
use std::collections::HashMap;

/// Parts of the recording, of which each gives a value for the interval.
const BATCHES: usize = 32;
/// A gain that changes what one should do.
const WORTH: f64 = 1.1;
/// More is not said.
const MOST_TIMES: f64 = 1000.0;
/// A disk that has requests for this share of the time is saturated.
const SATURATED: f64 = 0.95;
/// A queue that is kept full has this share of its length in flight.
const NEARLY_FULL: f64 = 0.8;
/// Syncs that one replaces.
const GROUPED: f64 = 10.0;
/// Places of reads that must be known, as a share of the time of those that wait.
const KNOWN: f64 = 0.9;
/// Name of the row of a faster device.
pub(super) const DEVICE: &str = "device twice as fast";

/// A thing that may be changed, and its gain.
pub(super) struct Gain {
    pub(super) name: &'static str,
    /// The rate over that of now; `None` if it is not known.
    pub(super) times: Option<Times>,
    /// A sentence; without a rate the reason.
    pub(super) why: String,
    /// True if the queue before the device shrinks, too.
    pub(super) is_with_queue: bool,
}

/// A rate over that of now, with the ends of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Times {
    pub(super) middle: f64,
    pub(super) within: Option<[f64; 2]>,
}

impl Times {
    /// True if it changes what one should do.
    pub(super) fn is_worth_it(&self) -> bool {
        self.middle >= WORTH && self.within.is_some_and(|[low, _]| low > 1.0)
    }

    pub(super) fn shown(&self) -> String {
        let within = self.within.map(|[low, high]| format!(" ({} to {})", text::number(low), text::number(high)));
        format!("{} times{}", text::number(self.middle), within.unwrap_or_default())
    }
}

impl Gain {
    pub(super) fn is_worth_it(&self) -> bool {
        self.times.is_some_and(|times| times.is_worth_it())
    }

    pub(super) fn document(&self) -> Value {
        let within = self.times.and_then(|times| times.within);
        json!({
            "name": self.name,
            "rate_low": within.map(|[low, _]| low),
            "rate": self.times.map(|times| times.middle),
            "rate_high": within.map(|[_, high]| high),
            "why": self.why,
        })
    }
}

/// A thing that can be changed: its rate and a sentence, or why there is none.
struct Change {
    name: &'static str,
    gain: fn(&Work<'_>) -> Result<Known, String>,
}

struct Known {
    times: Times,
    says: String,
}

const CHANGES: [Change; 6] = [
    Change { name: DEVICE, gain: device },
    Change { name: "more depth", gain: depth },
    Change { name: "page cache twice as large", gain: memory },
    Change { name: "one sync in place of ten", gain: syncs },
    Change { name: "no limit", gain: limit },
    Change { name: "no wait for a processor", gain: processor },
];

/// All gains; none are known of a device's I/Os of all programs.
pub(super) fn gains(recorded: &Recorded, summary: &Summary) -> Vec<Gain> {
    let Some(work) = Work::of(recorded, summary) else { return Vec::new() };
    let gain = |change: &Change| {
        let is_with_queue = change.name == DEVICE && work.is_saturated();
        match (change.gain)(&work) {
            Ok(Known { times, says }) => Gain { name: change.name, times: Some(times), why: says, is_with_queue },
            Err(why) => Gain { name: change.name, times: None, why, is_with_queue },
        }
    };
    CHANGES.iter().map(gain).collect()
}

/// True for a part that shrinks with the time of the device.
pub(super) fn shrinks(part: Part, is_with_queue: bool) -> bool {
    match part {
        Part::Device | Part::Flush => true,
        Part::Tags | Part::Scheduler | Part::Stack => is_with_queue,
        _ => false,
    }
}

/// A thread's I/Os in each batch.
#[derive(Clone, Default)]
struct Worker {
    from: Nanos,
    until: Nanos,
    depths: Vec<u64>,
    /// I/Os that wait for something.
    waits: [f64; BATCHES],
    /// Its time for I/Os: as often as it has some in flight.
    time: [f64; BATCHES],
}

/// The calls of a recording by thread and batch.
struct Work<'why> {
    recorded: &'why Recorded,
    summary: &'why Summary,
    threads: HashMap<Thread, usize>,
    workers: Vec<Worker>,
    from: Nanos,
    until: Nanos,
}

impl<'why> Work<'why> {
    fn of(recorded: &'why Recorded, summary: &'why Summary) -> Option<Self> {
        let calls = || recorded.seen.ios.iter().filter(|io| io.reach == Reach::Call);
        let from = calls().map(|io| io.begin).min().filter(|_| !recorded.is_device)?;
        let until = calls().map(end).max()?;
        let mut work = Work { recorded, summary, threads: HashMap::new(), workers: Vec::new(), from, until };
        let depths = observe::depths_of_threads(&recorded.seen.ios);
        for (io, depth) in recorded.seen.ios.iter().zip(depths).filter(|(io, _)| io.reach == Reach::Call) {
            let batch = work.batch(io);
            let next = work.workers.len();
            let place = *work.threads.entry(io.thread).or_insert(next);
            if place == next {
                work.workers.push(Worker { from: io.begin, ..Worker::default() });
            }
            let worker = &mut work.workers[place];
            worker.from = worker.from.min(io.begin);
            worker.until = worker.until.max(end(io));
            worker.depths.push(depth);
            worker.waits[batch] += f64::from(u8::from(io.parts[Part::Cache].is_zero()));
        }
        let each = until.saturating_sub(from).as_f64() / float(BATCHES as u64);
        for worker in &mut work.workers {
            worker.depths.sort_unstable();
            let depth = worker.depths[(worker.depths.len() * 99).div_ceil(100) - 1];
            let (first, last) = (worker.from.saturating_sub(from).as_f64(), worker.until.saturating_sub(from).as_f64());
            for (batch, time) in worker.time.iter_mut().enumerate() {
                let begin = each * float(batch as u64);
                *time = (last.min(begin + each) - first.max(begin)).max(0.0) * float(depth);
            }
        }
        Some(work)
    }

    fn batch(&self, io: &Io) -> usize {
        let (at, all) = (io.begin.saturating_sub(self.from).0, self.until.saturating_sub(self.from).0.max(1));
        let batch = u128::from(at) * BATCHES as u128 / u128::from(all);
        usize::try_from(batch).unwrap_or(0).min(BATCHES - 1)
    }

    fn ios(&self) -> &'why [Io] {
        &self.recorded.seen.ios
    }

    /// The rate if each call took this much less time, in ns.
    fn without(&self, taken: impl Fn(usize, &Io) -> f64) -> Times {
        let mut taken_of = vec![[0.0; BATCHES]; self.workers.len()];
        for (number, io) in self.ios().iter().enumerate().filter(|(_, io)| io.reach == Reach::Call) {
            taken_of[self.threads[&io.thread]][self.batch(io)] += taken(number, io);
        }
        // Threads that wait more often have more of the rate.
        let rate = |left_out: Option<usize>| {
            let sum =
                |values: &[f64; BATCHES]| values.iter().sum::<f64>() - left_out.map_or(0.0, |batch| values[batch]);
            let (mut waits, mut faster) = (0.0, 0.0);
            for (worker, taken) in self.workers.iter().zip(&taken_of) {
                let (own, time) = (sum(&worker.waits), sum(&worker.time));
                let left = (time - sum(taken)).max(time / MOST_TIMES);
                waits += own;
                faster += own * if left > 0.0 { time / left } else { 1.0 };
            }
            if waits > 0.0 { (faster / waits).max(1.0) } else { 1.0 }
        };
        let middle = rate(None);
        let has_ios = |batch: &usize| self.workers.iter().any(|worker| worker.waits[*batch] > 0.0);
        let batches: Vec<usize> = (0..BATCHES).filter(has_ios).collect();
        // The jackknife, on a logarithmic scale: each batch's part in the result.
        let count = float(batches.len() as u64);
        let part = |batch: &usize| count * middle.ln() - (count - 1.0) * rate(Some(*batch)).ln();
        let parts: Vec<f64> = batches.iter().map(part).collect();
        let ends = |half: f64| [(middle * (-half).exp()).max(1.0), middle * half.exp()];
        Times { middle, within: series_interval(&parts).map(|interval| ends(interval.half)) }
    }

    /// True if the disk of most I/Os had requests all the time.
    fn is_saturated(&self) -> bool {
        let mut counts = HashMap::new();
        self.ios().iter().filter_map(|io| io.device).for_each(|device| *counts.entry(device).or_insert(0_u64) += 1);
        let Some((device, _)) = counts.into_iter().max_by_key(|(device, count)| (*count, device.major, device.minor))
        else {
            return false;
        };
        let time = self.recorded.seen.cost.time.as_f64();
        self.recorded.seen.busy.iter().any(|busy| busy.device == device && busy.time.as_f64() >= SATURATED * time)
    }

    fn share(&self, shrinks: impl Fn(Part) -> bool) -> f64 {
        let parts = observe::PARTS.into_iter().filter(|part| shrinks(*part));
        let time: Nanos = parts.map(|part| self.summary.parts[part]).sum();
        time.as_f64() / self.summary.parts.sum().as_f64().max(1.0)
    }
}

fn end(io: &Io) -> Nanos {
    io.begin.saturating_add(io.time)
}

/// Half of the device's time, and of the queue before one that is saturated.
fn device(work: &Work<'_>) -> Result<Known, String> {
    let is_with_queue = work.is_saturated();
    let times = work.without(|_, io| {
        let parts = observe::PARTS.into_iter().filter(|part| shrinks(*part, is_with_queue));
        parts.map(|part| io.parts[part]).sum::<Nanos>().as_f64() / 2.0
    });
    let queue = if is_with_queue { ", the queue before it and flushes" } else { " and flushes" };
    let share = text::percent(work.share(|part| shrinks(part, is_with_queue)));
    Ok(Known { times, says: format!("The device{queue} have {share} of the time, of which half is left.") })
}

/// The gain without a part, if it took any time.
fn taken_by(work: &Work<'_>, part: Part, none: &str) -> Result<Times, String> {
    match work.summary.parts[part].is_zero() {
        true => Err(none.to_owned()),
        false => Ok(work.without(|_, io| io.parts[part].as_f64())),
    }
}

fn limit(work: &Work<'_>) -> Result<Known, String> {
    let times = taken_by(work, Part::Throttle, "no limit held its I/Os back")?;
    let is_alone = work.summary.groups.iter().all(|group| group.depth_p99 == 1);
    // More of them may be in the device at a time then.
    let unless = if is_alone { "" } else { " if the device is as fast then" };
    Ok(Known { times, says: format!("Without the limit it would do {} as many per second{unless}.", times.shown()) })
}

fn processor(work: &Work<'_>) -> Result<Known, String> {
    let mut waits: Vec<Nanos> =
        work.ios().iter().map(|io| io.parts[Part::WakingUp]).filter(|one| !one.is_zero()).collect();
    waits.sort_unstable();
    // Some time passes until a thread runs on a free processor, too.
    let Some(usual) = waits.get(waits.len() / 10).copied() else { return Err("it waited for no processor".to_owned()) };
    let times = work.without(|_, io| io.parts[Part::WakingUp].saturating_sub(usual).as_f64());
    Ok(Known { times, says: format!("With a free processor it would do {} as many per second.", times.shown()) })
}

/// Syncs that are grouped write the same data: the time in the device may be left.
fn syncs(work: &Work<'_>) -> Result<Known, String> {
    let group = |group: &&Group| group.direction == Direction::Sync && group.reach == Reach::Call;
    let Some(group) = work.summary.groups.iter().find(group) else { return Err("it calls no sync".to_owned()) };
    let saved = |io: &Io, kept: Nanos| match io.direction {
        Direction::Sync => io.time.saturating_sub(kept).as_f64() * (1.0 - 1.0 / GROUPED),
        _ => 0.0,
    };
    let most = work.without(|_, io| saved(io, Nanos::ZERO));
    let least = work.without(|_, io| saved(io, io.parts[Part::Device]));
    let within = most.within.zip(least.within).map(|(most, least)| [least[0], most[1]]);
    let times = Times { within, ..most };
    let per_second = float(group.count) * 1e9 / work.recorded.seen.cost.time.as_f64().max(1.0);
    let says = format!(
        "One sync in place of ten ({} per second now) would give {} the rate.",
        text::number(per_second),
        times.shown()
    );
    Ok(Known { times, says })
}

/// Reads that wait, and would not if the page cache was twice as large.
fn memory(work: &Work<'_>) -> Result<Known, String> {
    let seen = &work.recorded.seen;
    let is_read = |io: &Io| {
        io.direction == Direction::Read && io.reach == Reach::Call && observe::uses_page_cache(io, &seen.files)
    };
    let is_missed = |io: &Io| is_read(io) && io.waited_for > 0;
    let missed: Nanos = seen.ios.iter().filter(|io| is_missed(io)).map(|io| io.time).sum();
    if missed.is_zero() {
        return Err("no read through the page cache waited for a device".to_owned());
    }
    let cache = seen.cache.as_ref().ok_or("the size of the page cache is not known")?;
    let uses = observe::reuse(&seen.ios, &seen.files);
    let reread = |(io, of_io): (&Io, &Option<Reuse>)| Some(Reread { of_io: (*of_io)?, is_missed: io.waited_for > 0 });
    let reads = seen.ios.iter().zip(&uses).filter(|(io, _)| is_read(io)).filter_map(reread).collect();
    let of_known = seen.ios.iter().zip(&uses).filter(|(io, of_io)| is_missed(io) && of_io.is_some());
    if of_known.map(|(io, _)| io.time).sum::<Nanos>().as_f64() < KNOWN * missed.as_f64() {
        return Err("where in their files its reads are is not known".to_owned());
    }
    let hits: Vec<f64> =
        seen.ios.iter().filter(|io| is_read(io) && io.waited_for == 0).map(|io| io.time.as_f64()).collect();
    let hit = hits.iter().sum::<f64>() / float(hits.len().max(1) as u64);
    let share = kept_by_twice(reads, float(cache.bytes));
    let times = work.without(|_, io| if is_missed(io) { share * (io.time.as_f64() - hit).max(0.0) } else { 0.0 });
    let now = float(hits.len() as u64) / float(seen.ios.iter().filter(|io| is_read(io)).count() as u64);
    let whose = cache.group.as_ref().map_or("of this machine".to_owned(), |group| format!("of group {group}"));
    let says = format!(
        "Twice the page cache {whose} ({} now) would answer {} of the reads, not {}: {} as many per second.",
        text::rounded_size(float(cache.bytes)),
        text::percent(now + share * (1.0 - now)),
        text::percent(now),
        times.shown()
    );
    Ok(Known { times, says })
}

/// A read of which it is known when its blocks were used before.
struct Reread {
    of_io: Reuse,
    is_missed: bool,
}

/// The share of missed reads that a page cache of twice this size had kept.
fn kept_by_twice(mut reads: Vec<Reread>, cache_bytes: f64) -> f64 {
    // Of the first reads it is not known if their blocks were used before.
    let is_late = |read: &Reread| read.of_io.before_bytes >= 2.0 * cache_bytes;
    if reads.iter().any(|read| is_late(read) && read.is_missed) {
        reads.retain(is_late);
    }
    let sum = |reads: &mut dyn Iterator<Item = &Reread>| reads.map(|read| read.of_io.weight).sum::<f64>();
    let all_missed = sum(&mut reads.iter().filter(|read| read.is_missed));
    reads.retain(|read| read.of_io.between_bytes.is_some());
    let between = |read: &Reread| read.of_io.between_bytes.unwrap_or(f64::MAX);
    reads.sort_by(|one, other| between(one).total_cmp(&between(other)));
    let hits = sum(&mut reads.iter().filter(|read| !read.is_missed));
    // It answers as many reads as a cache that keeps what was used last: of which size?
    let mut within = 0.0;
    let first_beyond = reads.iter().find(|read| {
        within += read.of_io.weight;
        within > hits
    });
    let size = first_beyond.map_or(cache_bytes, between).min(cache_bytes);
    let kept = sum(&mut reads.iter().take_while(|read| between(read) < 2.0 * size));
    if all_missed > 0.0 { ((kept - hits) / all_missed).clamp(0.0, 1.0) } else { 0.0 }
}

/// The disk at its best depth, by a kept result, of a program that waits for it and has fewer I/Os in flight.
fn depth(work: &Work<'_>) -> Result<Known, String> {
    let disks = &work.recorded.disks;
    if disks.is_empty() {
        return Err("no result in the store has this disk at this pattern".to_owned());
    }
    let known: Vec<Known> = disks.iter().filter_map(|disk| of_disk(work, disk)).collect();
    let most = known.into_iter().max_by(|one, other| one.times.middle.total_cmp(&other.times.middle));
    most.ok_or_else(|| "it does not wait for the disk most of the time, or has enough in flight".to_owned())
}

fn of_disk(work: &Work<'_>, disk: &DiskRates) -> Option<Known> {
    let is_of_disk = |group: &&Group| group.direction.name() == disk.direction && group.reach == Reach::Call;
    let group = work.summary.groups.iter().find(is_of_disk)?;
    // Other reads of the program, as of its libraries, are not of the pattern.
    let is_of_pattern = |io: &&Io| io.bytes == disk.block_bytes && io.waited_for > 0 && io.direction == group.direction;
    let of_pattern = || work.ios().iter().filter(|io| io.reach == Reach::Call).filter(is_of_pattern);
    let span = of_pattern().map(end).max()?.saturating_sub(of_pattern().map(|io| io.begin).min()?);
    let own = float(of_pattern().count() as u64) * 1e9 / span.as_f64().max(1.0);
    let waits = [Part::Device, Part::Tags, Part::Scheduler].map(|part| group.parts[part]).into_iter().sum::<Nanos>();
    let mean = of_pattern().map(|io| io.time).sum::<Nanos>().as_f64() / span.as_f64().max(1.0);
    // A queue that is kept full has its length, but for the moments between two I/Os.
    let full = float(group.depth_p99);
    let depth = if mean >= NEARLY_FULL * full { full } else { mean.max(1.0) };
    let now = at_depth(&disk.rates, depth)?;
    let is_waiting = waits.as_f64() >= 0.5 * group.parts.sum().as_f64() && own >= 0.8 * now.per_second;
    let within = now.within.zip(disk.best.within).map(|(now, best)| [best[0] / now[1], best[1] / now[0]]);
    let times = Times { middle: disk.best.per_second / now.per_second, within };
    let is_of_disk = !now.at_least && !disk.best.at_least;
    let is_deeper = f64::from(disk.best.depth) > depth && times.within.map_or(times.middle, |[low, _]| low) > 1.0;
    let says = format!(
        "Depth {} would give {} as many per second if its I/Os are independent.",
        disk.best.depth,
        times.shown()
    );
    (is_waiting && is_of_disk && is_deeper && times.middle.is_finite()).then_some(Known { times, says })
}

/// The rate at a depth between those that were measured, on a line of logarithms.
fn at_depth(rates: &[DiskRate], depth: f64) -> Option<DiskRate> {
    let of = |rate: &DiskRate| f64::from(rate.depth);
    let above = rates.iter().position(|rate| of(rate) >= depth)?;
    let (before, after) = (rates[above.saturating_sub(1)], rates[above]);
    if depth < of(&before) || before.depth == after.depth {
        return (depth == of(&after)).then_some(after);
    }
    let share = (depth / of(&before)).ln() / (of(&after) / of(&before)).ln();
    let between = |one: f64, other: f64| one * (other / one).powf(share);
    let within =
        before.within.zip(after.within).map(|(one, other)| [between(one[0], other[0]), between(one[1], other[1])]);
    let per_second = between(before.per_second, after.per_second);
    Some(DiskRate { depth: before.depth, per_second, at_least: before.at_least || after.at_least, within })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use observe::{DeviceBusy, OpenFile, Parts, Seen};
    use sys::devices::identity::DeviceNumber;
    use sys::processes::cgroup::PageCache;

    const DISK: DeviceNumber = DeviceNumber { major: 8, minor: 0 };

    /// A read that begins at a time in µs, with parts in µs.
    pub(in crate::why) fn read(begin: u64, parts: &[(Part, u64)]) -> Io {
        let mut sums = Parts::default();
        parts.iter().for_each(|(part, time)| sums[*part] = Nanos(time * 1000));
        Io {
            begin: Nanos(begin * 1000),
            time: sums.sum(),
            thread: Thread(7),
            call: "pread64",
            descriptor: Some(3),
            file: Some(0),
            offset: Some(begin % 1000 * 4096),
            bytes: 4096,
            is_of_storage: true,
            waited_for: 1,
            device: Some(DISK),
            parts: sums,
            ..Io::default()
        }
    }

    pub(in crate::why) fn recorded(ios: Vec<Io>) -> Recorded {
        let time = ios.iter().map(end).max().unwrap();
        let file = OpenFile { inode: 3, path: "/a".to_owned(), flags: String::new() };
        let cost = observe::Cost { time, ..observe::Cost::default() };
        let seen = Seen { ios, files: vec![Some(file)], cost, ..Seen::default() };
        let (target, disks) = ("a".to_owned(), Vec::new());
        Recorded { target, host: None, ended_unix_ms: 0, seen, disks, is_device: false, is_full: false }
    }

    #[track_caller]
    fn gain(recorded: &Recorded, name: &str) -> Gain {
        let summary = Summary::of(&recorded.seen.ios, recorded.seen.cost.time);
        gains(recorded, &summary).into_iter().find(|gain| gain.name == name).unwrap()
    }

    #[track_caller]
    fn near(gain: &Gain, wanted: f64) {
        let times = gain.times.unwrap_or_else(|| panic!("{}", gain.why));
        assert!((times.middle / wanted - 1.0).abs() < 0.01, "{times:?} {}", gain.why);
        let [low, high] = times.within.unwrap();
        assert!(low <= wanted * 1.01 && wanted * 0.99 <= high, "{times:?}");
    }

    #[test]
    fn a_limit_is_worth_its_part_and_not_the_pauses() {
        let of = |pause: u64| {
            let reads =
                (0..1000).map(|number| read(number * (1000 + pause), &[(Part::Throttle, 900), (Part::Device, 100)]));
            recorded(reads.collect())
        };
        near(&gain(&of(0), "no limit"), 10.0);
        near(&gain(&of(1000), "no limit"), 2000.0 / 1100.0);
        near(&gain(&of(0), DEVICE), 1000.0 / 950.0);
        assert!(!gain(&of(0), DEVICE).is_worth_it() && gain(&of(0), "no limit").is_worth_it());
        assert!(gain(&of(0), "one sync in place of ten").times.is_none());
    }

    #[test]
    fn threads_that_wait_more_often_have_more_of_the_rate() {
        let slow = (0..100).map(|number| read(number * 10_000, &[(Part::Throttle, 9000), (Part::Device, 1000)]));
        let fast = (0..900).map(|number| Io { thread: Thread(8), ..read(number * 1111, &[(Part::Device, 1111)]) });
        near(&gain(&recorded(slow.chain(fast).collect()), "no limit"), 0.1 * 10.0 + 0.9);
    }

    #[test]
    fn the_interval_has_what_changes_from_batch_to_batch() {
        let part = |number: u64| 500 + 400 * (number / 100 % 2);
        let reads = (0..3200)
            .map(|number| read(number * 1000, &[(Part::Throttle, part(number)), (Part::Device, 1000 - part(number))]));
        let times = gain(&recorded(reads.collect()), "no limit").times.unwrap();
        let [low, high] = times.within.unwrap();
        assert!(low < times.middle * 0.9 && times.middle * 1.1 < high, "{times:?}");
        let few = (0..10).map(|number| read(number * 1000, &[(Part::Throttle, 900), (Part::Device, 100)]));
        let few = gain(&recorded(few.collect()), "no limit");
        assert!(few.times.unwrap().within.is_none() && !few.is_worth_it(), "ten I/Os have no interval");
    }

    #[test]
    fn the_queue_before_a_saturated_disk_shrinks_with_it() {
        let reads = (0..1000).map(|number| read(number * 1000, &[(Part::Tags, 600), (Part::Device, 400)]));
        let mut recorded = recorded(reads.collect());
        near(&gain(&recorded, DEVICE), 1000.0 / 800.0);
        recorded.seen.busy = vec![DeviceBusy { device: DISK, time: recorded.seen.cost.time }];
        near(&gain(&recorded, DEVICE), 2.0);
        assert!(gain(&recorded, DEVICE).is_with_queue);
    }

    #[test]
    fn memory_is_worth_the_reads_that_it_had_kept() {
        // A loop over 1000 pages, of which each read waits.
        let reads = (0..3000)
            .map(|number| Io { offset: Some(number % 1000 * 4096), ..read(number * 100, &[(Part::Device, 100)]) });
        let mut recorded = recorded(reads.collect());
        let pages = |pages: u64| Some(PageCache { bytes: pages * 4096, group: None });
        recorded.seen.cache = pages(400);
        near(&gain(&recorded, "page cache twice as large"), 1.0);
        recorded.seen.cache = pages(600);
        // Those of the first time wait again, as far as is known.
        near(&gain(&recorded, "page cache twice as large"), 3.0);
        assert!(gain(&recorded, "page cache twice as large").why.contains("67 % of the reads, not 0 %"));
        recorded.seen.cache = pages(500);
        near(&gain(&recorded, "page cache twice as large"), MOST_TIMES);
        // Each second read finds its block: the cache keeps half of the loop, by chance.
        recorded.seen.ios.iter_mut().step_by(2).for_each(|io| io.waited_for = 0);
        let says = |recorded: &Recorded| gain(recorded, "page cache twice as large").why;
        assert!(says(&recorded).contains("100 % of the reads, not 50 %"), "{}", says(&recorded));
        recorded.seen.cache = pages(400);
        assert!(says(&recorded).contains("50 % of the reads, not 50 %"), "{}", says(&recorded));
        recorded.seen.ios.iter_mut().for_each(|io| io.offset = None);
        let unknown = gain(&recorded, "page cache twice as large");
        assert!(unknown.times.is_none() && unknown.why.contains("not known"), "{}", unknown.why);
    }

    #[test]
    fn grouped_syncs_may_have_to_write_the_same_data() {
        let syncs = (0..1000).map(|number| Io {
            direction: Direction::Sync,
            ..read(number * 1000, &[(Part::Device, 500), (Part::Flush, 500)])
        });
        let times = gain(&recorded(syncs.collect()), "one sync in place of ten").times.unwrap();
        let [low, high] = times.within.unwrap();
        assert!(
            (times.middle - 10.0).abs() < 0.1 && (low - 1.0 / 0.55).abs() < 0.1 && high >= times.middle,
            "{times:?}"
        );
    }

    #[test]
    fn what_waking_up_usually_takes_is_left() {
        let wait = |number: u64| if number.is_multiple_of(2) { 1990 } else { 10 };
        let reads = (0..2000).map(|number| read(number * 2100, &[(Part::Device, 100), (Part::WakingUp, wait(number))]));
        near(&gain(&recorded(reads.collect()), "no wait for a processor"), 2100.0 / 1110.0);
    }

    /// The gain by depth of a program with these I/Os.
    fn deeper(ios: Vec<Io>, alone: f64) -> Option<Times> {
        let mut recorded = recorded(ios);
        let rate = |depth, times: f64| DiskRate {
            depth,
            per_second: alone * times,
            at_least: false,
            within: Some([alone * times * 0.9, alone * times * 1.1]),
        };
        recorded.disks = vec![DiskRates {
            direction: "read".to_owned(),
            block_bytes: 4096,
            alone: rate(1, 1.0),
            best: rate(16, 8.0),
            rates: vec![rate(1, 1.0), rate(4, 4.0), rate(16, 8.0)],
            ..DiskRates::default()
        }];
        gain(&recorded, "more depth").times
    }

    #[test]
    fn more_depth_helps_who_waits_for_the_device_with_less() {
        let reads = |part, depth: u64| {
            let in_turn = move |number: u64| read(number / depth * 1000, &[(part, 1000)]);
            (0..400).map(in_turn).collect::<Vec<_>>()
        };
        let alone = deeper(reads(Part::Device, 1), 1000.0).unwrap();
        assert!((alone.middle - 8.0).abs() < 0.01 && (alone.within.unwrap()[0] - 8.0 * 0.9 / 1.1).abs() < 0.01);
        assert!(deeper(reads(Part::Throttle, 1), 1000.0).is_none(), "a limit holds it back");
        assert!(deeper(reads(Part::Device, 1), 2000.0).is_none(), "it does something else half of the time");
        assert!(deeper(reads(Part::Device, 16), 1000.0).is_none(), "it has as many in flight");
    }

    #[test]
    fn a_rate_between_two_depths_is_on_their_line() {
        let rate = |depth, per_second| DiskRate { depth, per_second, ..DiskRate::default() };
        let rates = [rate(1, 100.0), rate(4, 400.0), rate(16, 800.0)];
        let at = |depth| at_depth(&rates, depth).map(|rate| rate.per_second.round());
        assert_eq!([at(1.0), at(2.0), at(4.0), at(8.0), at(16.0)], [100.0, 200.0, 400.0, 566.0, 800.0].map(Some));
        assert_eq!([at(0.5), at(17.0)], [None, None], "no result is so shallow or deep");
    }
}
