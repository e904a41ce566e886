//! The size of the next I/O of a direction.

use super::random::Random;
use plan::{BlockSize, LoadPlan};

/// Number of redraws before the smallest size is used; it is reached only if almost no size fits.
const REDRAWS: u32 = 64;

/// Block sizes of one direction.
#[derive(Clone, Debug)]
pub(super) enum Sizes {
    /// One size.
    Fixed(u32),
    /// Multiples of `least` up to `most`, and `most` itself.
    Steps { least: u32, most: u32 },
    /// Any number of bytes from `least` to `most`.
    Unaligned { least: u32, most: u32 },
    /// Sizes with the running sum of their percentages.
    Split(Box<[(u32, u64)]>),
}

/// The steps in which the sizes of a range are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SizeSteps {
    /// Multiples of the smallest size.
    Smallest,
    /// Single bytes (`bs_unaligned`).
    Bytes,
}

impl SizeSteps {
    /// The steps that a job asks for.
    pub(super) const fn of(plan: &LoadPlan) -> Self {
        if plan.unaligned_sizes { SizeSteps::Bytes } else { SizeSteps::Smallest }
    }
}

impl Sizes {
    pub(super) fn new(plan: &BlockSize, steps: SizeSteps) -> Self {
        match plan {
            BlockSize::Fixed(size) => Sizes::Fixed(*size),
            BlockSize::Range(least, most) if least == most => Sizes::Fixed(*least),
            BlockSize::Range(least, most) if steps == SizeSteps::Bytes => {
                Sizes::Unaligned { least: *least, most: *most }
            }
            BlockSize::Range(least, most) => Sizes::Steps { least: *least, most: *most },
            BlockSize::Split(parts) => Sizes::Split(
                parts
                    .iter()
                    .scan(0, |sum, &(size, share)| {
                        *sum += u64::from(share);
                        Some((size, *sum))
                    })
                    .collect(),
            ),
        }
    }

    /// A random size that fits into `room` bytes; `None` if not even the smallest does.
    #[inline]
    pub(super) fn draw(&self, random: &mut Random, room: u64) -> Option<u32> {
        match self {
            Sizes::Fixed(size) => (u64::from(*size) <= room).then_some(*size),
            varied => varied.draw_varied(random, room),
        }
    }

    fn draw_varied(&self, random: &mut Random, room: u64) -> Option<u32> {
        if u64::from(self.least()) > room {
            return None;
        }
        (0..REDRAWS).map(|_| self.draw_once(random)).find(|&size| u64::from(size) <= room).or(Some(self.least()))
    }

    fn draw_once(&self, random: &mut Random) -> u32 {
        match self {
            Sizes::Fixed(size) => *size,
            // fio's rule: least + most * random, rounded down to a multiple of least, limited to most.
            Sizes::Steps { least, most } => {
                let size = least.saturating_add(narrow(random.below(u64::from(*most))));
                (size - size % least).min(*most)
            }
            Sizes::Unaligned { least, most } => {
                narrow((u64::from(*least) + random.below(u64::from(*most))).min(u64::from(*most)))
            }
            Sizes::Split(parts) => {
                let all = parts.last().map_or(1, |&(_, sum)| sum);
                let drawn = random.below(all);
                parts.iter().find(|&&(_, sum)| drawn < sum).map_or(0, |&(size, _)| size)
            }
        }
    }

    /// The smallest size.
    pub(super) fn least(&self) -> u32 {
        match self {
            Sizes::Fixed(size) => *size,
            Sizes::Steps { least, .. } | Sizes::Unaligned { least, .. } => *least,
            Sizes::Split(parts) => parts.iter().map(|&(size, _)| size).min().unwrap_or(0),
        }
    }
}

fn narrow(size: u64) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn shares(plan: &BlockSize, room: u64) -> BTreeMap<u32, f64> {
        let sizes = Sizes::new(plan, SizeSteps::Smallest);
        let mut random = Random::new(1);
        let mut shares = BTreeMap::new();
        for _ in 0..100_000 {
            *shares.entry(sizes.draw(&mut random, room).unwrap()).or_default() += 1e-5;
        }
        shares
    }

    fn check(plan: &BlockSize, room: u64, expected: &[(u32, f64)]) {
        let shares = shares(plan, room);
        assert_eq!(shares.len(), expected.len(), "{shares:?}");
        for (size, share) in expected {
            assert!((shares[size] - share).abs() < 0.007, "{size}: {shares:?}");
        }
    }

    #[test]
    fn every_step_of_a_range_is_as_likely() {
        check(&BlockSize::Range(4096, 16384), 1 << 20, &[(4096, 0.25), (8192, 0.25), (12288, 0.25), (16384, 0.25)]);
    }

    #[test]
    fn a_largest_size_that_is_not_a_multiple_takes_the_rest() {
        check(&BlockSize::Range(3072, 8192), 1 << 20, &[(3072, 0.375), (6144, 0.375), (8192, 0.25)]);
    }

    #[test]
    fn split_sizes_come_in_their_shares() {
        check(
            &BlockSize::Split(vec![(4096, 60), (8192, 10), (65536, 30)]),
            1 << 20,
            &[(4096, 0.6), (8192, 0.1), (65536, 0.3)],
        );
    }

    #[test]
    fn little_room_leaves_the_sizes_that_fit_in_their_proportion() {
        check(&BlockSize::Split(vec![(4096, 60), (8192, 20), (65536, 20)]), 8192, &[(4096, 0.75), (8192, 0.25)]);
        assert_eq!(
            Sizes::new(&BlockSize::Range(4096, 8192), SizeSteps::Smallest).draw(&mut Random::new(1), 4095),
            None
        );
    }

    #[test]
    fn unaligned_sizes_lie_between_the_ends() {
        let sizes = Sizes::new(&BlockSize::Range(1000, 3000), SizeSteps::Bytes);
        let mut random = Random::new(1);
        let drawn: Vec<u32> = (0..1000).filter_map(|_| sizes.draw(&mut random, 1 << 20)).collect();
        assert!(drawn.iter().all(|size| (1000..=3000).contains(size)));
        assert!(drawn.iter().any(|size| size % 1000 != 0));
    }
}
