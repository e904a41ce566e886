//! What many I/Os have in common: a pure function of them.

use crate::io::{Direction, Io, PARTS, Part, Parts, Reach};
use measure::{Nanos, float};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::hash::Hash;

/// Everything about a recording's I/Os.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Those of one direction and reach.
    pub groups: Vec<Group>,
    /// By program, those with the most time first; of I/Os of the block layer alone.
    pub programs: Vec<By>,
    /// Time of all I/Os by part.
    pub parts: Parts,
    /// Share of the time with a call in progress, of any thread; `None` without calls. No disk can save more.
    pub in_calls: Option<f64>,
}

/// I/Os of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct By {
    /// Its name, as the kernel cuts it off.
    pub name: String,
    /// Number of I/Os.
    pub count: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Their time.
    pub time: Nanos,
}

/// I/Os that do the same.
#[derive(Clone, Debug)]
pub struct Group {
    /// Their direction.
    pub direction: Direction,
    /// How much of them was seen.
    pub reach: Reach,
    /// Number of I/Os.
    pub count: u64,
    /// Those that failed.
    pub failed: u64,
    /// Bytes of all.
    pub bytes: u64,
    /// Most frequent calls with their numbers.
    pub calls: Vec<By>,
    /// The most frequent size, if they have one.
    pub size: Option<Frequent>,
    /// Mean number in flight at the begin of one, with it.
    pub depth: f64,
    /// The number in flight that 99 of 100 begin with at most.
    pub depth_p99: u64,
    /// Share that begins where the one before ended, of those where that is known.
    pub sequential: Option<f64>,
    /// Those that memory answered.
    pub cached: u64,
    /// Their times, from the shortest to the longest.
    pub times: Vec<Nanos>,
    /// Time of all by part.
    pub parts: Parts,
    /// Those around the median: from 45 to 55 % of them.
    pub middle: Slow,
    /// Those around each percentile of which there are enough.
    pub around: Vec<Around>,
    /// The slowest 1 of 100, at least one.
    pub slowest: Slow,
}

/// A frequent size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frequent {
    /// Bytes.
    pub bytes: u64,
    /// Number of I/Os.
    pub count: u64,
}

/// The I/Os around a percentile.
#[derive(Clone, Debug)]
pub struct Around {
    /// `p99`, or `max`.
    pub name: &'static str,
    /// The I/Os.
    pub ios: Slow,
}

/// The I/Os around a percentile in ranks of 10,000.
struct Ranks {
    name: &'static str,
    from: usize,
    to: usize,
    /// Number of I/Os from which on there is one beyond it.
    least: usize,
}

const AROUND: [Ranks; 5] = [
    Ranks { name: "p50", from: 4500, to: 5500, least: 2 },
    Ranks { name: "p90", from: 8900, to: 9100, least: 10 },
    Ranks { name: "p99", from: 9890, to: 9910, least: 100 },
    Ranks { name: "p99.9", from: 9989, to: 9991, least: 1000 },
    Ranks { name: "max", from: 10_000, to: 10_000, least: 1 },
];

impl Ranks {
    /// Of I/Os from the shortest to the longest, at least one.
    fn of(&self, sorted: &[&Io]) -> Option<Around> {
        let count = sorted.len();
        let from = (count * self.from / 10_000).min(count.checked_sub(1)?);
        let to = (count * self.to).div_ceil(10_000).max(from + 1);
        (count >= self.least).then(|| Around { name: self.name, ios: Slow::of(&sorted[from..to]) })
    }
}

/// Some I/Os between two ranks.
#[derive(Clone, Debug)]
pub struct Slow {
    /// Their number.
    pub count: u64,
    /// The shortest.
    pub least: Nanos,
    /// Sum of their times.
    pub time: Nanos,
    /// The same by part.
    pub parts: Parts,
    /// How many have which part as their largest, the most frequent first.
    pub largest: Vec<Largest>,
}

/// A part that is the largest of some I/Os.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Largest {
    /// The part.
    pub part: Part,
    /// Number of I/Os.
    pub count: u64,
}

impl Slow {
    /// The sums of I/Os from the shortest to the longest.
    pub fn of(sorted: &[&Io]) -> Self {
        let mut parts = Parts::default();
        sorted.iter().for_each(|io| parts.add(&io.parts));
        let count = |part| sorted.iter().filter(|io| io.parts.largest() == part).count() as u64;
        let mut largest: Vec<Largest> = PARTS.map(|part| Largest { part, count: count(part) }).into();
        largest.retain(|one| one.count > 0);
        largest.sort_by_key(|one| Reverse(one.count));
        let least = sorted.first().map_or(Nanos::ZERO, |io| io.time);
        let time = sorted.iter().map(|io| io.time).sum();
        Slow { count: sorted.len() as u64, least, time, parts, largest }
    }
}

impl Group {
    /// The time that this share of them take at most, the longest for 1.0; `None` if none is beyond it.
    pub fn percentile(&self, share: f64) -> Option<Nanos> {
        if share < 1.0 && (1.0 - share) * float(self.count) < 1.0 - 1e-9 {
            return None;
        }
        // The rank is at most the number of I/Os, which is far below 2^53.
        let rank = (share * float(self.count)).ceil().max(1.0);
        let index = (1..=self.times.len()).find(|rank_of| float(*rank_of as u64) >= rank)?;
        self.times.get(index - 1).copied()
    }

    fn of(ios: &[&Io], depths: &[u64]) -> Option<Self> {
        let first = ios.first()?;
        let mut sorted = ios.to_vec();
        sorted.sort_by_key(|io| io.time);
        let mut parts = Parts::default();
        ios.iter().for_each(|io| parts.add(&io.parts));
        let known: Vec<bool> = ios.iter().filter_map(|io| io.is_sequential).collect();
        let followed = known.iter().filter(|follows| **follows).count() as u64;
        let mut depths = depths.to_vec();
        depths.sort_unstable();
        let count = sorted.len();
        let hundredth = (count / 100).max(1);
        // At least one, also of few.
        let (from, to) = (count * 45 / 100, (count * 55).div_ceil(100));
        Some(Group {
            direction: first.direction,
            reach: first.reach,
            count: count as u64,
            failed: ios.iter().filter(|io| io.has_failed).count() as u64,
            bytes: ios.iter().map(|io| io.bytes).sum(),
            calls: by(ios, |io| io.call),
            size: frequent(ios),
            depth: depths.iter().copied().map(float).sum::<f64>() / float(count as u64),
            depth_p99: depths.get((count * 99).div_ceil(100).saturating_sub(1)).copied().unwrap_or(1),
            sequential: (!known.is_empty()).then(|| float(followed) / float(known.len() as u64)),
            cached: ios.iter().filter(|io| !io.parts[Part::Cache].is_zero()).count() as u64,
            times: sorted.iter().map(|io| io.time).collect(),
            parts,
            middle: Slow::of(&sorted[from..to]),
            around: AROUND.iter().filter_map(|ranks| ranks.of(&sorted)).collect(),
            slowest: Slow::of(&sorted[count - hundredth..]),
        })
    }
}

fn frequent(ios: &[&Io]) -> Option<Frequent> {
    let mut counts: HashMap<u64, u64> = HashMap::new();
    for io in ios.iter().filter(|io| io.bytes > 0) {
        *counts.entry(io.bytes).or_default() += 1;
    }
    let most = counts.into_iter().map(|(bytes, count)| Frequent { bytes, count });
    most.max_by_key(|size| (size.count, size.bytes))
}

fn by<'io>(ios: &[&'io Io], name: impl Fn(&'io Io) -> &'io str) -> Vec<By> {
    let mut found: BTreeMap<&str, By> = BTreeMap::new();
    for io in ios {
        let name = name(io);
        let one =
            found.entry(name).or_insert_with(|| By { name: name.to_owned(), count: 0, bytes: 0, time: Nanos::ZERO });
        one.count += 1;
        one.bytes = one.bytes.saturating_add(io.bytes);
        one.time += io.time;
    }
    let mut found: Vec<By> = found.into_values().collect();
    found.sort_by_key(|one| Reverse(one.time));
    found
}

/// Number of I/Os in flight at the begin of each, with it.
pub fn depths(ios: &[Io]) -> Vec<u64> {
    depths_among(ios, |_| ())
}

/// Number of I/Os of the same thread in flight at the begin of each, with it.
pub fn depths_of_threads(ios: &[Io]) -> Vec<u64> {
    depths_among(ios, |io| io.thread)
}

fn depths_among<Key: Eq + Hash>(ios: &[Io], key: impl Fn(&Io) -> Key) -> Vec<u64> {
    let mut order: Vec<usize> = (0..ios.len()).collect();
    order.sort_by_key(|index| ios[*index].begin);
    let mut all: HashMap<Key, BinaryHeap<Reverse<Nanos>>> = HashMap::new();
    let mut depths = vec![0; ios.len()];
    for index in order {
        let io = &ios[index];
        let ends = all.entry(key(io)).or_default();
        while ends.peek().is_some_and(|Reverse(end)| *end <= io.begin) {
            ends.pop();
        }
        ends.push(Reverse(io.begin.saturating_add(io.time)));
        depths[index] = ends.len() as u64;
    }
    depths
}

/// Mean number of I/Os in flight in each of some equal intervals of a time.
pub fn in_flight(ios: &[Io], begun: Nanos, time: Nanos, intervals: usize) -> Vec<f64> {
    let (time, count) = (u128::from(time.0), intervals as u128);
    if time == 0 {
        return Vec::new();
    }
    // Of the intervals at its ends an I/O has a part; those in between are between two steps.
    let (mut parts, mut steps) = (vec![0.0; intervals + 1], vec![0.0; intervals + 1]);
    let place = |at: Nanos| {
        let place = u128::from(at.saturating_sub(begun).0).min(time) * count;
        let (whole, rest) = (place / time, place % time);
        let share = float(u64::try_from(rest).unwrap_or(u64::MAX)) / float(u64::try_from(time).unwrap_or(u64::MAX));
        (usize::try_from(whole).unwrap_or(intervals), share)
    };
    for io in ios {
        let ((first, after), (last, before)) = (place(io.begin), place(io.begin.saturating_add(io.time)));
        steps[first] += 1.0;
        steps[last] -= 1.0;
        parts[first] -= after;
        parts[last] += before;
    }
    let mut depth = 0.0;
    let mean = |(part, step): (&f64, &f64)| {
        depth += step;
        (depth + part).max(0.0)
    };
    let mut means: Vec<f64> = parts.iter().zip(&steps).map(mean).collect();
    means.truncate(intervals);
    means
}

/// Time with at least one of them in progress; `None` if there are none.
fn in_progress<'io>(ios: impl Iterator<Item = &'io Io>) -> Option<Nanos> {
    let mut ios: Vec<&Io> = ios.collect();
    ios.sort_by_key(|io| io.begin);
    let (mut sum, mut until) = (Nanos::ZERO, ios.first()?.begin);
    for io in ios {
        let end = io.begin.saturating_add(io.time);
        sum += end.saturating_sub(until.max(io.begin));
        until = until.max(end);
    }
    Some(sum)
}

impl Summary {
    /// The summary of I/Os within this time.
    pub fn of(ios: &[Io], time: Nanos) -> Self {
        let depths = depths(ios);
        let mut groups = Vec::new();
        for direction in [Direction::Read, Direction::Write, Direction::Sync, Direction::Fault] {
            for reach in [Reach::Call, Reach::Block] {
                let is_of_group = |io: &Io| io.direction == direction && io.reach == reach;
                let found: Vec<&Io> = ios.iter().filter(|io| is_of_group(io)).collect();
                let of_found = ios.iter().zip(&depths).filter(|(io, _)| is_of_group(io));
                let depths: Vec<u64> = of_found.map(|(_, depth)| *depth).collect();
                groups.extend(Group::of(&found, &depths));
            }
        }
        let mut parts = Parts::default();
        ios.iter().for_each(|io| parts.add(&io.parts));
        let in_calls = in_progress(ios.iter().filter(|io| io.reach == Reach::Call)).filter(|_| !time.is_zero());
        let named: Vec<&Io> = ios.iter().filter(|io| io.program.is_some()).collect();
        Summary {
            groups,
            programs: by(&named, |io| io.program.as_deref().unwrap_or_default()),
            parts,
            in_calls: in_calls.map(|busy| (busy.as_f64() / time.as_f64()).min(1.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Thread;

    fn io(begin: u64, time: u64, part: Part) -> Io {
        let mut parts = Parts::default();
        parts[part] = Nanos(time);
        Io { is_sequential: Some(begin > 0), parts, ..crate::io::tests::io(begin, time) }
    }

    #[test]
    fn a_hundred_reads_have_a_middle_and_a_slowest() {
        let mut ios: Vec<Io> = (0..99).map(|number| io(number * 1000, 100 + number, Part::Device)).collect();
        ios.push(io(99_000, 50_000, Part::Throttle));
        let summary = Summary::of(&ios, Nanos(150_000));
        let [group] = &summary.groups[..] else { panic!("one direction: {:?}", summary.groups) };
        assert_eq!((group.count, group.bytes, group.depth_p99), (100, 409_600, 1));
        assert_eq!((group.percentile(0.5), group.percentile(1.0)), (Some(Nanos(149)), Some(Nanos(50_000))));
        assert_eq!((group.middle.count, group.middle.least), (10, Nanos(145)));
        let around: Vec<(&str, u64, Nanos)> =
            group.around.iter().map(|around| (around.name, around.ios.count, around.ios.least)).collect();
        let few = [("p50", 10, Nanos(145)), ("p90", 2, Nanos(189)), ("p99", 2, Nanos(198)), ("max", 1, Nanos(50_000))];
        assert_eq!(around, few);
        assert_eq!((group.percentile(0.99), group.percentile(0.999)), (Some(Nanos(198)), None), "none is beyond it");
        assert_eq!(group.slowest.largest, [Largest { part: Part::Throttle, count: 1 }]);
        assert_eq!(group.size, Some(Frequent { bytes: 4096, count: 100 }));
        assert_eq!(group.sequential, Some(0.99));
        let busy: u64 = ios.iter().map(|io| io.time.0).sum();
        assert_eq!(summary.in_calls, Some(float(busy) / 150_000.0));
        assert_eq!(summary.parts.sum(), Nanos(busy));
    }

    #[test]
    fn depth_counts_what_is_in_flight_at_the_begin() {
        let ios = [io(0, 100, Part::Device), io(50, 100, Part::Device), io(100, 10, Part::Device)];
        assert_eq!(depths(&ios), [1, 2, 2]);
        let other = [ios[0].clone(), Io { thread: Thread(8), ..ios[1].clone() }, ios[1].clone()];
        assert_eq!(depths_of_threads(&other), [1, 1, 2]);
    }

    #[test]
    fn depth_over_time_is_a_mean_of_each_interval() {
        let ios = [io(1000, 100, Part::Device), io(1050, 100, Part::Device), io(1390, 500, Part::Device)];
        let found = in_flight(&ios, Nanos(1000), Nanos(400), 4);
        let expected = [1.5, 0.5, 0.0, 0.1];
        assert!(found.iter().zip(expected).all(|(found, wanted)| (found - wanted).abs() < 1e-9), "{found:?}");
        let sum: f64 = in_flight(&ios, Nanos(1000), Nanos(1000), 3).iter().sum();
        assert!((sum * 1000.0 / 3.0 - 700.0).abs() < 1e-9, "{sum}");
        assert_eq!(in_flight(&ios, Nanos(0), Nanos(0), 3), Vec::<f64>::new());
    }

    #[test]
    fn threads_in_turn_are_in_calls_all_the_time() {
        let of =
            |number: u64| Io { thread: Thread(i32::try_from(number).unwrap()), ..io(number * 100, 100, Part::Device) };
        let ios: Vec<Io> = (0..20).chain([3, 3]).map(of).collect();
        assert_eq!(Summary::of(&ios, Nanos(4_000)).in_calls, Some(0.5), "20 threads, each for a fortieth of the time");
    }

    #[test]
    fn no_ios_have_no_groups() {
        let summary = Summary::of(&[], Nanos(5));
        assert!(summary.groups.is_empty() && summary.in_calls.is_none() && summary.programs.is_empty());
    }
}
