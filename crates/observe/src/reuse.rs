//! How often blocks of files are used again, and how much else is used in between: a pure function of I/Os.
//!
//! A block is kept by memory if fewer bytes of others were used since it was. A sample of the blocks stands for all, by
//! their hashes: what is kept does not grow with the number of I/Os. Source: SHARDS, Waldspurger and others, FAST 2015.

use crate::io::{Direction, Io};
use crate::process::OpenFile;
use measure::float;
use rustc_hash::FxHashMap;

/// The least size of a block: a page.
const PAGE: u64 = 4096;
/// Blocks that are followed at a time; of more it is every second, fourth ...
const MOST_BLOCKS: usize = 32_768;
/// Uses of blocks in all; of more the blocks are larger.
const MOST_USES: u64 = 1 << 24;
/// More bytes than a call can move.
const MOST_BYTES: u64 = 1 << 31;

/// How an I/O uses its blocks again.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reuse {
    /// Number of I/Os that it stands for: 0 if none of its blocks is in the sample.
    pub weight: f64,
    /// Bytes of other blocks that were used since; `None` if one of its blocks is used for the first time.
    pub between_bytes: Option<f64>,
    /// Bytes of all blocks that were used before.
    pub before_bytes: f64,
}

/// Where an I/O is in which file.
struct Place {
    file: u64,
    from: u64,
    bytes: u64,
}

/// True if the page cache has a part in it, as far as its file is known.
pub fn uses_page_cache(io: &Io, files: &[Option<OpenFile>]) -> bool {
    let is_direct = |file: &OpenFile| file.flags.split(' ').any(|flag| flag == "direct");
    let file = io.file.and_then(|file| files.get(file)?.as_ref());
    matches!(io.direction, Direction::Read | Direction::Write) && !file.is_some_and(is_direct)
}

/// How each I/O uses its blocks again; `None` of those whose place is not known, and of those that do not use the page
/// cache.
pub fn reuse(ios: &[Io], files: &[Option<OpenFile>]) -> Vec<Option<Reuse>> {
    let places = places(ios, files);
    let uses = |shift: u32| {
        let of = |place: &Place| (place.bytes >> shift) + 2;
        places.iter().flatten().map(of).fold(0_u64, u64::saturating_add)
    };
    let shift = (PAGE.trailing_zeros()..MOST_BYTES.trailing_zeros()).find(|shift| uses(*shift) <= MOST_USES);
    let shift = shift.unwrap_or(MOST_BYTES.trailing_zeros());
    let size = float(1_u64 << shift);
    let mut stack = Stack::default();
    let of_place = |place: &Option<Place>| {
        let Place { file, from, bytes } = place.as_ref()?;
        let blocks = from >> shift..=from.saturating_add(bytes - 1) >> shift;
        let count = float(blocks.end() - blocks.start() + 1);
        let before_bytes = float(stack.last.len() as u64) * stack.stands_for() * size;
        let mut found = Reuse { weight: 0.0, between_bytes: Some(0.0), before_bytes };
        for block in blocks {
            let Some(used) = stack.uses(mixed(mixed(*file).wrapping_add(block))) else { continue };
            found.weight += used.stands_for / count;
            let between = used.others.map(|others| float(others) * used.stands_for * size);
            found.between_bytes = found.between_bytes.zip(between).map(|(one, other)| one.max(other));
        }
        Some(found)
    };
    places.iter().map(of_place).collect()
}

/// Files are numbered as they occur: the same in a recording without their names.
fn places(ios: &[Io], files: &[Option<OpenFile>]) -> Vec<Option<Place>> {
    let mut numbers: FxHashMap<(u64, &str), u64> = FxHashMap::default();
    let place = |io: &Io| {
        let file = files.get(io.file?)?.as_ref()?;
        let next = numbers.len() as u64;
        let file = *numbers.entry((file.inode, &file.path)).or_insert(next);
        let bytes = io.bytes.min(MOST_BYTES);
        (bytes > 0 && uses_page_cache(io, files)).then_some(Place { file, from: io.offset?, bytes })
    };
    ios.iter().map(place).collect()
}

/// A hash whose values are spread evenly (the end of SplitMix64).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// A use of a sampled block.
struct Use {
    /// Sampled blocks that were used since its last use; `None` if it had none.
    others: Option<u64>,
    /// Number of blocks that each sampled one stands for.
    stands_for: f64,
}

/// Sampled blocks in the order of their last use.
#[derive(Default)]
struct Stack {
    /// Place in the order by hash.
    last: FxHashMap<u64, usize>,
    /// Hashes by place; a place is empty once its block is used again.
    order: Vec<Option<u64>>,
    /// Sums over the places that are not empty: a Fenwick tree.
    sums: Vec<u32>,
    /// One block of 2^rarity is sampled.
    rarity: u32,
}

impl Stack {
    /// Notes a use; `None` for a block that is not sampled.
    fn uses(&mut self, hash: u64) -> Option<Use> {
        if !self.is_sampled(hash) {
            return None;
        }
        let others = self.last.get(&hash).copied().map(|place| {
            let later = self.last.len() as u64 - self.before(place + 1);
            self.add(place, u32::wrapping_sub);
            self.order[place] = None;
            later
        });
        if self.order.len() == 2 * MOST_BLOCKS {
            self.renumber();
        }
        let stands_for = self.stands_for();
        self.push(hash);
        while self.last.len() > MOST_BLOCKS {
            self.rarity += 1;
            self.renumber();
        }
        Some(Use { others, stands_for })
    }

    /// Number of blocks that each sampled one stands for.
    fn stands_for(&self) -> f64 {
        2_f64.powi(i32::try_from(self.rarity).unwrap_or(i32::MAX))
    }

    fn is_sampled(&self, hash: u64) -> bool {
        hash.trailing_zeros() >= self.rarity
    }

    fn push(&mut self, hash: u64) {
        let place = self.order.len();
        self.order.push(Some(hash));
        self.sums.resize(2 * MOST_BLOCKS, 0);
        self.add(place, u32::wrapping_add);
        self.last.insert(hash, place);
    }

    /// Closes the gaps, and drops those that are not sampled any more.
    fn renumber(&mut self) {
        let order = std::mem::take(&mut self.order);
        self.last.clear();
        self.sums.clear();
        let kept: Vec<u64> = order.into_iter().flatten().filter(|hash| self.is_sampled(*hash)).collect();
        kept.into_iter().for_each(|hash| self.push(hash));
    }

    fn add(&mut self, place: usize, change: fn(u32, u32) -> u32) {
        let mut at = place + 1;
        while let Some(sum) = self.sums.get_mut(at - 1) {
            *sum = change(*sum, 1);
            at += at & at.wrapping_neg();
        }
    }

    /// Number of blocks before a place.
    fn before(&self, place: usize) -> u64 {
        let (mut sum, mut at) = (0, place);
        while at > 0 {
            sum += u64::from(self.sums[at - 1]);
            at &= at - 1;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::tests::io;

    fn read(offset: u64, bytes: u64) -> Io {
        Io { file: Some(0), offset: Some(offset), bytes, ..io(0, 1) }
    }

    fn file(flags: &str) -> Vec<Option<OpenFile>> {
        vec![Some(OpenFile { inode: 5, path: "/a".to_owned(), flags: flags.to_owned() })]
    }

    #[test]
    fn a_loop_over_a_file_has_all_of_it_in_between() {
        let ios: Vec<Io> = (0..3000).map(|number| read(number % 1000 * PAGE, PAGE)).collect();
        let found: Vec<Reuse> = reuse(&ios, &file("")).into_iter().flatten().collect();
        assert!(found.iter().all(|reuse| reuse.weight == 1.0) && found.len() == 3000);
        assert!(found[..1000].iter().all(|reuse| reuse.between_bytes.is_none()), "first uses");
        assert!(found[1000..].iter().all(|reuse| reuse.between_bytes == Some(float(999 * PAGE))));
        assert_eq!((found[600].before_bytes, found[2600].before_bytes), (float(600 * PAGE), float(1000 * PAGE)));
    }

    #[test]
    fn a_sample_stands_for_all_blocks() {
        // A million blocks, in a random order each time.
        let blocks = 1 << 20;
        let ios: Vec<Io> = (0..2 * blocks).map(|number| read(mixed(number) % blocks * PAGE, PAGE)).collect();
        let found = reuse(&ios, &file(""));
        let late = || found[ios.len() / 2..].iter().flatten();
        let all: f64 = late().map(|reuse| reuse.weight).sum();
        let within = |quarters: u64| {
            let is_within =
                |reuse: &&Reuse| reuse.between_bytes.is_some_and(|bytes| bytes < float(quarters * blocks / 4 * PAGE));
            late().filter(is_within).map(|reuse| reuse.weight).sum::<f64>() / all
        };
        // A random block is one of the last c of n different ones: c of n.
        assert!((within(1) - 0.25).abs() < 0.02 && (within(2) - 0.5).abs() < 0.02, "{} {}", within(1), within(2));
        assert!((all / float(blocks) - 1.0).abs() < 0.05, "{all}");
    }

    #[test]
    fn what_is_followed_is_bounded() {
        let mut stack = Stack::default();
        for number in 0..300_000 {
            stack.uses(mixed(number));
            assert!(stack.last.len() <= MOST_BLOCKS && stack.order.len() <= 2 * MOST_BLOCKS);
        }
        assert!(stack.rarity >= 3 && stack.last.len() > MOST_BLOCKS / 3, "{} {}", stack.rarity, stack.last.len());
        let huge: Vec<Io> = (0..20_000).map(|number| read(u64::MAX - number, u64::MAX)).collect();
        let begun = std::time::Instant::now();
        reuse(&huge, &file(""));
        assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
    }

    #[test]
    fn direct_ios_and_unknown_places_are_not_followed() {
        let ios =
            [read(0, PAGE), Io { offset: None, ..read(0, PAGE) }, Io { direction: Direction::Sync, ..read(0, 0) }];
        assert_eq!(reuse(&ios, &file("sync direct")), [None, None, None]);
        let first = Some(Reuse { weight: 1.0, between_bytes: None, before_bytes: 0.0 });
        assert_eq!(reuse(&ios, &file("sync")), [first, None, None]);
        assert_eq!(reuse(&ios, &[None]), [None, None, None]);
    }
}
