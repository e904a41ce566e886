//! Rates that are the speed of a network link all the time: that of a machine's own link, or of one like theirs at the
//! storage.

use super::{by_machine, limited, ranks};
use crate::member_result::MemberResult;
use crate::message::Link;
use measure::{Nanos, text};
use model::Note;

pub(super) const ID: &str = "network bound";

/// Share of a link's speed that each interval reaches. Ethernet, IP and TCP need 5 to 6 % of it.
const LEAST: f64 = 0.90;
/// Share that none exceeds: more bytes than a link carries did not go through it. Amounts between two reports of a
/// member are interpolated.
const MOST: f64 = 1.05;
/// Least number of intervals, and their length.
const INTERVALS: usize = 3;
const INTERVAL: Nanos = Nanos::SECOND;
/// File systems in memory.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

pub(super) fn note(members: &[MemberResult]) -> Option<Note> {
    let machines = by_machine(members);
    for of_machine in machines.values() {
        let Some(link) = of_machine.first().and_then(|member| link(member)) else { continue };
        if let Some(found) = full(of_machine, link) {
            let numbers: Vec<u32> = of_machine.iter().map(|member| member.rank).collect();
            let whose = format!("members {} on {}", ranks(&numbers), of_machine[0].host());
            return Some(found.note(&whose, &format!("the machine's link {} ({})", link.device, speed(link))));
        }
    }
    let all: Vec<&MemberResult> = members.iter().collect();
    let slowest = all
        .iter()
        .map(|member| link(member))
        .collect::<Option<Vec<_>>>()?
        .into_iter()
        .min_by_key(|link| link.megabits)?;
    let found = full(&all, slowest).filter(|_| machines.len() > 1)?;
    let storage = format!("one link like theirs ({}), such as the storage may have", speed(slowest));
    Some(found.note("all members together", &storage))
}

fn link(member: &MemberResult) -> Option<&Link> {
    member.facts.as_ref()?.link.as_ref()
}

/// `10 Gbit/s`.
fn speed(link: &Link) -> String {
    match link.megabits {
        megabits if megabits.is_multiple_of(1000) => format!("{} Gbit/s", megabits / 1000),
        megabits => format!("{megabits} Mbit/s"),
    }
}

/// A link that was full all the time.
struct Full {
    /// The direction of I/O.
    word: &'static str,
    bytes_per_second: f64,
    /// Mean share of the link's speed, and the least of an interval.
    share: f64,
    least: f64,
    intervals: usize,
}

impl Full {
    fn note(&self, whose: &str, link: &str) -> Note {
        limited(
            ID,
            format!(
                "the {} of {whose} came to {}, {} of the speed of {link}, in each of {} seconds {} or more: if the storage is behind a network, this \
                 is the rate of the link",
                self.word,
                text::rate(self.bytes_per_second),
                text::percent(self.share),
                self.intervals,
                text::percent((100.0 * self.least).floor() / 100.0)
            ),
            &[
                ("bytes_per_second", self.bytes_per_second),
                ("share_of_link", self.share),
                ("least_share_of_link", self.least),
                ("intervals", self.intervals as f64),
            ],
        )
    }
}

/// The direction in which these members filled the link in each interval in which all of them were at work.
fn full(members: &[&MemberResult], link: &Link) -> Option<Full> {
    let is_in_memory = |member: &&MemberResult| {
        let systems = member.result.iter().flat_map(|result| &result.environment.file_systems);
        systems.into_iter().any(|system| IN_MEMORY.contains(&system.kind.as_str()))
    };
    if members.iter().any(is_in_memory) {
        return None;
    }
    let from =
        members.iter().map(|member| member.samples.first().map(|sample| sample.at)).collect::<Option<Vec<_>>>()?;
    let until =
        members.iter().map(|member| member.samples.last().map(|sample| sample.at)).collect::<Option<Vec<_>>>()?;
    let (from, until) = (*from.iter().max()?, *until.iter().min()?);
    let intervals = usize::try_from(until.saturating_sub(from).get() / INTERVAL.get()).unwrap_or(usize::MAX);
    if intervals < INTERVALS {
        return None;
    }
    let bytes_per_second = link.megabits as f64 * 1e6 / 8.0;
    // A link carries reads in one direction and writes in the other.
    ["reads", "writes"].into_iter().enumerate().find_map(|(direction, word)| {
        let at = |number: usize| {
            let at = Nanos(from.get().saturating_add(INTERVAL.get().saturating_mul(number as u64)));
            members.iter().map(|member| amount(member, direction, at)).sum::<f64>()
        };
        let amounts: Vec<f64> = (0..=intervals).map(at).collect();
        let shares: Vec<f64> = amounts.windows(2).map(|pair| (pair[1] - pair[0]) / bytes_per_second).collect();
        let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
        let most = shares.iter().copied().fold(0.0, f64::max);
        let share = shares.iter().sum::<f64>() / shares.len() as f64;
        let is_full = least >= LEAST && most <= MOST && share <= 1.0;
        is_full.then_some(Full { word, bytes_per_second: share * bytes_per_second, share, least, intervals })
    })
}

/// The bytes of a member until a moment, between its reports.
fn amount(member: &MemberResult, direction: usize, at: Nanos) -> f64 {
    let after = member.samples.partition_point(|sample| sample.at < at);
    let bytes = |number: usize| member.samples.get(number).map_or(0.0, |sample| sample.bytes[direction] as f64);
    match (after.checked_sub(1), member.samples.get(after)) {
        (None, _) => bytes(0),
        (Some(before), None) => bytes(before),
        (Some(before), Some(next)) => {
            let earlier = member.samples[before].at;
            let share = at.saturating_sub(earlier).get() as f64 / next.at.saturating_sub(earlier).get().max(1) as f64;
            bytes(before) + share * (bytes(after) - bytes(before))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_members::{at_work, with_samples};

    /// A member of this machine with a link of 1 Gbit/s (125 MB/s), that writes this number of bytes in each half
    /// second.
    fn member(rank: u32, machine: u32, amounts: &[u64]) -> MemberResult {
        let mut member = at_work(rank, 1 << 30, (0, 10_000));
        let facts = member.facts.as_mut().unwrap();
        (facts.boot_id, facts.host) = (Some(format!("boot {machine}")), format!("node{machine}"));
        facts.link = Some(Link { device: "eth0".to_owned(), megabits: 1000 });
        let mut sum = 0;
        let samples: Vec<(u64, u64)> = std::iter::once((0, 0))
            .chain((1..).zip(amounts).map(|(half, bytes)| {
                sum += bytes;
                // Members report at their own moments.
                (half * 500 + u64::from(rank) * 7, sum)
            }))
            .collect();
        with_samples(&mut member, &samples);
        member
    }

    fn found(members: &[MemberResult]) -> Option<Note> {
        note(members)
    }

    /// Bytes of half a second at a share of the link.
    fn half(percent: u64) -> u64 {
        625_000 * percent
    }

    #[test]
    fn it_fires_if_a_machine_fills_its_link_in_each_interval() {
        let full = [half(94); 12];
        let note = found(&[member(0, 1, &full), member(1, 2, &[half(20); 12])]).unwrap();
        assert!(
            note.sentence.starts_with("the writes of members 0 on node1 came to 112 MiB/s, 94 % of the speed of the machine's link eth0 (1 Gbit/s), in each of"),
            "{}",
            note.sentence
        );
        assert!((note.evidence[1].1 - 0.94).abs() < 0.01, "{:?}", note.evidence);
        // Two members of a machine share it.
        let shared = found(&[member(0, 1, &[half(40); 12]), member(1, 1, &[half(54); 12])]).unwrap().sentence;
        assert!(shared.contains("members 0, 1 on node1"), "{shared}");
    }

    #[test]
    fn it_fires_if_all_machines_together_come_to_one_link() {
        let members: Vec<MemberResult> = (0..4).map(|rank| member(rank, rank, &[half(24); 12])).collect();
        let note = found(&members).unwrap().sentence;
        assert!(note.starts_with("the writes of all members together came to 114 MiB/s, 96 % of the speed of one link like theirs (1 Gbit/s)"), "{note}");
        // One of them has a faster link: the slowest counts. Without a speed of one of them nothing is known.
        let mut faster = members.clone();
        faster[2].facts.as_mut().unwrap().link.as_mut().unwrap().megabits = 10_000;
        assert!(found(&faster).is_some());
        faster[2].facts.as_mut().unwrap().link = None;
        assert_eq!(found(&faster), None);
    }

    #[test]
    fn it_is_silent_below_the_speed_and_without_time() {
        for (what, amounts) in [
            ("slower", vec![half(80); 12]),
            ("faster than the link: it did not go through it", vec![half(130); 12]),
            ("one interval that is slower", [vec![half(95); 6], vec![half(60); 2], vec![half(95); 6]].concat()),
            ("short", vec![half(95); 5]),
        ] {
            assert_eq!(found(&[member(0, 1, &amounts)]), None, "{what}");
        }
        let mut unknown = member(0, 1, &[half(95); 12]);
        unknown.facts.as_mut().unwrap().link = None;
        assert_eq!(found(&[unknown]), None);
        let mut memory = member(0, 1, &[half(95); 12]);
        let system = model::FileSystem { path: "/t".to_owned(), kind: "tmpfs".to_owned() };
        memory.result.as_mut().unwrap().environment.file_systems = vec![system];
        assert_eq!(found(&[memory]), None, "a file system in memory");
    }
}
