//! Random writes that bring an SSD into the state of long random writing in one pass (`sprandom`).
//!
//! An SSD has more flash than it shows. After long random writing, the regions of its flash that were written last hold
//! valid data only, and those written first hold the least, because most of it was written again since. One pass over
//! the flash reaches that state if a part of each region's blocks is written again in the next region: the larger a
//! part, the earlier the region.

use super::lfsr::Lfsr;
use super::random::Random;
use measure::float;
use plan::SprandomPlan;
use std::collections::VecDeque;

/// The writes of one pass.
#[derive(Clone, Debug)]
pub(super) struct Sprandom {
    /// Blocks that were not written yet.
    new: Lfsr,
    draws: Random,
    key: u64,
    /// The part of each region that is valid at the end, from the first region to the last.
    valid: Box<[f64]>,
    writes_per_region: u64,
    region: usize,
    /// Number of writes in this region so far.
    written: u64,
    /// Blocks of the last region that are written again in this one.
    again: VecDeque<u64>,
    /// Blocks of this region that are written again in the next one.
    marked: VecDeque<u64>,
    when: When,
}

/// When blocks are written again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// At the start of a region, after its first new block.
    First,
    /// At the end of a region, so that the device's cache never holds both writes of a block.
    Last,
}

impl Sprandom {
    /// The writes to `blocks` blocks of `unit` bytes.
    pub(super) fn new(plan: &SprandomPlan, blocks: u64, unit: u32, key: u64) -> Self {
        let regions = plan.regions.max(1);
        Sprandom {
            new: Lfsr::new(blocks, key),
            draws: Random::new(key),
            key,
            valid: validity(plan.over_provisioning, regions as usize),
            writes_per_region: plan.region_bytes(blocks * u64::from(unit)) / u64::from(unit.max(1)),
            region: 0,
            written: 0,
            again: VecDeque::new(),
            marked: VecDeque::new(),
            when: if plan.cache_bytes == 0 { When::First } else { When::Last },
        }
    }

    /// The block of the next write; `None` when all blocks have been written.
    pub(super) fn next_block(&mut self) -> Option<u64> {
        if self.written >= self.writes_per_region {
            self.region += 1;
            self.written = 0;
            self.again.append(&mut self.marked);
        }
        let left = self.writes_per_region.saturating_sub(self.written);
        let is_due = match self.when {
            When::First => self.written > 0,
            When::Last => self.again.len() as u64 >= left,
        };
        let repeated = if is_due { self.again.pop_front() } else { None };
        let block = match repeated {
            Some(block) => block,
            None => self.new.next_block()?,
        };
        self.written += 1;
        let valid = self.valid.get(self.region).copied().unwrap_or(1.0);
        if self.draws.unit() >= valid {
            self.marked.push_back(block);
        }
        Some(block)
    }

    /// Starts the same pass again.
    pub(super) fn restart(&mut self) {
        self.new.restart();
        self.draws = Random::new(self.key);
        (self.region, self.written) = (0, 0);
        self.again.clear();
        self.marked.clear();
    }
}

/// The part of the oldest region that is valid after long random writing: the solution of
/// (1 - v) / -ln v = 1 / (1 + op).
fn oldest(over_provisioning: f64) -> f64 {
    let wanted = 1.0 / (1.0 + over_provisioning);
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..64 {
        let middle = f64::midpoint(low, high);
        // Grows from 0 to 1.
        if (1.0 - middle) / -middle.ln() < wanted { low = middle } else { high = middle }
    }
    low
}

/// The valid part of each region. A region is the longer in a state, the less of it is written again: the values from
/// 1 down to the oldest region's, each weighted by its inverse, are read off in equal steps of the running sum.
fn validity(over_provisioning: f64, regions: usize) -> Box<[f64]> {
    let (oldest, steps) = (oldest(over_provisioning), float(regions.saturating_sub(1).max(1) as u64));
    let value = |index: usize| 1.0 - (1.0 - oldest) * float(index as u64) / steps;
    let mut sum = 0.0;
    let sums: Vec<f64> = (0..regions)
        .map(|index| {
            sum += 1.0 / value(index);
            sum
        })
        .collect();
    let (first, last) = (sums[0], sums[regions - 1]);
    let mut found: Vec<f64> = (0..regions)
        .map(|index| {
            let wanted = first + (last - first) * float(index as u64) / steps;
            let after = sums.partition_point(|&sum| sum < wanted).clamp(1, regions.max(2) - 1).min(regions - 1);
            let before = after.saturating_sub(1);
            let width = sums[after] - sums[before];
            let part = if width > 0.0 { (wanted - sums[before]) / width } else { 0.0 };
            value(before) + (value(after) - value(before)) * part.clamp(0.0, 1.0)
        })
        .collect();
    found.reverse();
    found.into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_oldest_region_solves_the_equation() {
        for (op, expected) in [(0.05, 0.91), (0.10, 0.82), (0.15, 0.75), (0.25, 0.63), (0.28, 0.60), (0.5, 0.41)] {
            assert!((oldest(op) - expected).abs() < 0.01, "{op}: {}", oldest(op));
        }
    }

    #[test]
    fn regions_are_the_more_valid_the_later_they_are_written() {
        let found = validity(0.25, 8);
        let expected = [0.63, 0.67, 0.72, 0.77, 0.82, 0.88, 0.94, 1.00];
        assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 0.01), "{found:?}");
        assert_eq!(validity(0.25, 1).len(), 1);
    }

    /// 4 MiB with 25 % more flash in 8 regions: 160 writes each, as fio's.
    fn writes(cache_bytes: u64) -> Vec<u64> {
        let plan = SprandomPlan { over_provisioning: 0.25, regions: 8, cache_bytes };
        let mut load = Sprandom::new(&plan, 1024, 4096, 7);
        let writes: Vec<u64> = std::iter::from_fn(|| load.next_block()).collect();
        load.restart();
        assert_eq!(writes, std::iter::from_fn(|| load.next_block()).collect::<Vec<u64>>());
        writes
    }

    #[test]
    fn a_part_of_each_region_is_written_again_in_the_next() {
        for cache_bytes in [0, 65_536] {
            let writes = writes(cache_bytes);
            assert!((1230..=1330).contains(&writes.len()), "{}", writes.len());
            let mut last: BTreeMap<u64, usize> = BTreeMap::new();
            let mut repeats = vec![0_u32; 10];
            for (number, &block) in writes.iter().enumerate() {
                let region = number / 160;
                if let Some(before) = last.insert(block, region) {
                    assert_eq!(before + 1, region, "block {block} is written again in the next region");
                    repeats[region] += 1;
                    let place = number % 160;
                    let is_first = place > 0 && place <= 70;
                    assert!(if cache_bytes == 0 { is_first } else { place >= 90 }, "{cache_bytes}: {place}");
                }
            }
            assert_eq!(last.len(), 1024, "every block is written");
            // Of 160 draws with these probabilities: 61, 53, 48, 36, 31, 19 and 10 in fio.
            let expected = [0_u32, 59, 53, 45, 37, 28, 19, 10];
            let near = |(found, expected): (&u32, u32)| found.abs_diff(expected) <= 18;
            assert!(repeats.iter().zip(expected).all(near), "{repeats:?}");
        }
    }
}
