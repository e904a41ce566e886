//! The judgement against a simulated disk with a volatile cache, of which the truth is known.

use super::*;
use measure::SplitMix;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

const SECTOR: usize = 512;
const SIZE: u64 = 8 * SECTOR as u64;
const RUN: u64 = 0x1234;

/// A kind of disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Disk {
    Honest,
    /// A flush does nothing.
    IgnoresFlush,
    /// A flush keeps the records, but not a sector that is drawn.
    FlushTears,
}

type Key = (String, u64);

/// Sectors by file and offset: on the medium, and those in the cache.
struct Simulated {
    disk: Disk,
    medium: BTreeMap<Key, Vec<u8>>,
    cache: BTreeMap<Key, Vec<u8>>,
    random: SplitMix,
}

impl Simulated {
    fn below(&mut self, end: u64) -> u64 {
        self.random.next_word() % end
    }

    fn write(&mut self, way: Way, number: u64) {
        let mut record = vec![0; usize::try_from(SIZE).unwrap()];
        fill(RUN, way, number, &mut record);
        let place = way.place(number, SIZE);
        for (index, sector) in record.chunks(SECTOR).enumerate() {
            let key = (place.file.clone(), place.offset + (index * SECTOR) as u64);
            self.cache.insert(key, sector.to_vec());
        }
        // A disk writes back what it likes, when it likes.
        if self.below(4) == 0 {
            let at = usize::try_from(self.below(self.cache.len() as u64)).unwrap();
            let key = self.cache.keys().nth(at).cloned().unwrap();
            let sector = self.cache.remove(&key).unwrap();
            self.medium.insert(key, sector);
        }
        if let Some(name) = way.removes(number) {
            self.medium.retain(|(file, _), _| *file != name);
            self.cache.retain(|(file, _), _| *file != name);
        }
    }

    fn flush(&mut self) {
        let torn = match self.disk {
            Disk::IgnoresFlush => return,
            Disk::Honest => None,
            Disk::FlushTears => Some(usize::try_from(self.below(self.cache.len() as u64)).unwrap()),
        };
        for (index, (key, sector)) in std::mem::take(&mut self.cache).into_iter().enumerate() {
            if Some(index) != torn {
                self.medium.insert(key, sector);
            }
        }
    }

    /// Loses what is in the cache, but for what was being written back: of a place all sectors, some or none.
    fn cut(&mut self) {
        let mut shares: BTreeMap<Key, u64> = BTreeMap::new();
        for (key, sector) in std::mem::take(&mut self.cache) {
            let drawn = [0, 0, 0, 1, 1, 4][usize::try_from(self.below(6)).unwrap()];
            let share = *shares.entry((key.0.clone(), key.1 / SIZE)).or_insert(drawn);
            if self.below(4) < share {
                self.medium.insert(key, sector);
            }
        }
    }
}

impl Survivors for Simulated {
    fn record(&mut self, _way: Way, place: &Place) -> io::Result<Vec<u8>> {
        let sectors = (0..SIZE / SECTOR as u64).map(|index| {
            let key = (place.file.clone(), place.offset + index * SECTOR as u64);
            self.medium.get(&key).cloned().unwrap_or_else(|| vec![0; SECTOR])
        });
        Ok(sectors.flatten().collect())
    }

    fn numbers(&self, way: Way) -> Vec<u64> {
        let number = |file: &str| file.strip_prefix(way.name())?.strip_prefix('.')?.parse().ok();
        self.medium.keys().filter_map(|(file, _)| number(file)).collect()
    }
}

/// The truth about a way.
struct Truth {
    /// All acknowledged records that are lost, and that no later one had begun to replace.
    lost: BTreeSet<u64>,
    /// Those that the next one would not have replaced either. The judge cannot know that it had not begun.
    certain: BTreeSet<u64>,
}

/// Writes until a cut. Returns what was acknowledged, what was kept, and the truth.
fn after_cut(disk: Disk, seed: u64) -> (Acknowledgements, Vec<Kept>, BTreeMap<Way, Truth>) {
    let ways = [Way::Fsync, Way::Append, Way::Create, Way::Direct];
    let started = Started { schema: SCHEMA, run: RUN, record: SIZE, ways: ways.to_vec(), ..Started::default() };
    let mut lines = line(&Line::Writer(Box::new(started))).unwrap();
    let mut simulated =
        Simulated { disk, medium: BTreeMap::new(), cache: BTreeMap::new(), random: SplitMix::new(seed) };
    let mut numbers = BTreeMap::new();
    let (rounds, last_way) = (1 + simulated.below(60), simulated.below(ways.len() as u64));
    for round in 0..=rounds {
        for (at, way) in ways.into_iter().enumerate() {
            let is_last = round == rounds && at as u64 == last_way;
            for _ in 0..16 {
                let number = numbers.entry(way).and_modify(|number| *number += 1).or_insert(1_u64);
                simulated.write(way, *number);
                // The power is cut between a write and its flush, or between the flush and its acknowledgement.
                if is_last && simulated.below(8) == 0 {
                    if way != Way::Direct && simulated.below(2) == 0 {
                        simulated.flush();
                    }
                    break;
                }
                if way != Way::Direct {
                    simulated.flush();
                }
                lines += &acknowledgement(way, *number, round * 64 + *number);
            }
            if is_last {
                break;
            }
        }
        if round == rounds {
            break;
        }
    }
    simulated.cut();
    let acks = Acknowledgements::read(lines.as_bytes()).unwrap().unwrap();
    let found = ways.map(|way| kept(&acks, way, &mut simulated).unwrap());
    let mut truth = BTreeMap::new();
    for (way, of_way) in &acks.ways {
        let mut lost = |begun: u64| {
            let place = |number: u64| way.place(number, SIZE);
            let newest: BTreeMap<Key, u64> =
                (1..=begun).map(|number| ((place(number).file, place(number).offset), number)).collect();
            let removed: BTreeSet<String> = (1..=begun).filter_map(|number| way.removes(number)).collect();
            let is_last = |number: u64| {
                let Place { file, offset } = place(number);
                !removed.contains(&file) && newest[&(file, offset)] == number
            };
            let mut wanted = vec![0; usize::try_from(SIZE).unwrap()];
            let mut is_lost = |number: u64| {
                fill(RUN, *way, number, &mut wanted);
                simulated.record(*way, &way.place(number, SIZE)).unwrap() != wanted
            };
            of_way.recent.keys().copied().filter(|&number| is_last(number) && is_lost(number)).collect()
        };
        truth.insert(*way, Truth { lost: lost(numbers[way]), certain: lost(numbers[way] + 1) });
    }
    (acks, found.to_vec(), truth)
}

fn seeds() -> std::ops::Range<u64> {
    0..std::env::var("PLUMB_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(20)
}

#[test]
fn an_honest_disk_is_never_accused() {
    let mut facts = 0;
    for seed in seeds() {
        let (acks, found, _) = after_cut(Disk::Honest, seed);
        assert_eq!(answer(&acks, Cut::Rebooted, &found), Answer::Yes, "seed {seed}: {found:?}");
        facts += u64::from(found.iter().any(|kept| !kept.lost.is_empty()));
    }
    // In a quarter of all cuts it was the turn of the way without a flush.
    assert!(facts > seeds().end / 10, "only {facts} cuts lost writes that nothing had flushed");
}

#[test]
fn what_is_lost_is_what_is_said() {
    for disk in [Disk::Honest, Disk::IgnoresFlush, Disk::FlushTears] {
        for seed in seeds() {
            let (_, found, truth) = after_cut(disk, seed);
            for kept in &found {
                let said: BTreeSet<u64> = kept.lost.iter().map(|lost| lost.number).collect();
                let Some(truth) = truth.get(&kept.way) else { continue };
                assert!(said.is_subset(&truth.lost), "{disk:?}, seed {seed}: {said:?} of {:?}", truth.lost);
                assert!(said.is_superset(&truth.certain), "{disk:?}, seed {seed}: {said:?} of {:?}", truth.certain);
            }
        }
    }
}

#[test]
fn a_disk_that_ignores_flushes_is_found_with_the_order() {
    let (mut reordered, mut found_of) = (0, 0);
    for seed in seeds() {
        let (acks, found, truth) = after_cut(Disk::IgnoresFlush, seed);
        let is_lost = truth
            .iter()
            .any(|(way, lost): (&Way, &Truth)| way.promise() != Promise::Nothing && !lost.certain.is_empty());
        assert_eq!(answer(&acks, Cut::Rebooted, &found) == Answer::No, is_lost, "seed {seed}");
        found_of += u64::from(is_lost);
        reordered += u64::from(found.iter().any(|kept| kept.reordered() > 0));
    }
    assert!(found_of == seeds().end && reordered > found_of / 2, "{found_of} found, {reordered} reordered");
}

#[test]
fn a_flush_that_tears_is_found_as_torn() {
    let mut torn = 0;
    for seed in seeds() {
        let (acks, found, _) = after_cut(Disk::FlushTears, seed);
        assert_eq!(answer(&acks, Cut::Rebooted, &found), Answer::No, "seed {seed}");
        torn += u64::from(found.iter().any(|kept| kept.count(Loss::Torn) > 0));
    }
    assert_eq!(torn, seeds().end);
}

#[test]
fn without_a_cut_and_after_an_end_in_order_it_cannot_tell() {
    let (mut acks, found, _) = after_cut(Disk::Honest, 1);
    assert!(matches!(answer(&acks, Cut::None, &found), Answer::CannotTell(why) if why.contains("--storage-only")));
    assert_eq!(answer(&acks, Cut::StorageOnly, &found), Answer::Yes);
    acks.ended = Some("signal 15".to_owned());
    assert!(matches!(answer(&acks, Cut::Rebooted, &found), Answer::CannotTell(why) if why.contains("signal 15")));
    let none: Vec<Kept> = found.into_iter().filter(|kept| kept.way == Way::Direct).collect();
    acks.ended = None;
    assert!(matches!(answer(&acks, Cut::Rebooted, &none), Answer::CannotTell(why) if why.contains("--way")));
    // What is lost is lost, however the writer ended.
    let (mut acks, found, _) = after_cut(Disk::IgnoresFlush, 1);
    acks.ended = Some("signal 15".to_owned());
    assert_eq!(answer(&acks, Cut::Rebooted, &found), Answer::No);
}
