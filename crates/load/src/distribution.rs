//! Non-uniform random blocks: zipf, pareto, normal and zoned distributions.
//!
//! For zipf, pareto and normal a rank is drawn (0 is the hottest) and then mapped to a block by a permutation, so that
//! hot blocks are not adjacent. The hottest block is at the centre that the job asks for.

use super::lfsr::Permutation;
use super::random::Random;
use measure::{Direction, PerDirection, float};
use plan::Distribution;

/// Draws block numbers of one target.
#[derive(Clone, Debug)]
pub(super) enum Skew {
    /// A rank, mapped to a block.
    Ranked(Ranks, Scatter),
    /// Zones, with the percentage of I/Os to each.
    Zoned(PerDirection<Box<[Zone]>>),
}

/// Distribution of ranks.
#[derive(Clone, Debug)]
pub(super) enum Ranks {
    Zipf(Zipf),
    /// The exponent of self-similar data: `blocks * u ^ exponent`.
    SelfSimilar {
        blocks: f64,
        exponent: f64,
    },
    /// Standard deviation in blocks.
    Normal {
        blocks: f64,
        deviation: f64,
    },
}

/// Mapping from ranks to blocks.
#[derive(Clone, Debug)]
pub(super) struct Scatter {
    permutation: Permutation,
    blocks: u64,
    /// Offset added so that rank 0 is at the centre.
    turn: u64,
}

/// Part of a region.
#[derive(Clone, Copy, Debug)]
pub(super) struct Zone {
    /// Running sum of the percentages up to this zone.
    upto: u64,
    first: u64,
    blocks: u64,
}

impl Skew {
    /// The distribution over `blocks` blocks (per direction, as sizes may differ); `None` for the uniform distribution.
    pub(super) fn new(
        plan: &Distribution,
        blocks: PerDirection<u64>,
        units: PerDirection<u32>,
        key: u64,
    ) -> Option<Self> {
        // Ranks are drawn for the direction with the most blocks; the others reduce them modulo their own number.
        let most = blocks.read.max(blocks.write).max(blocks.trim);
        let ranked = |ranks, centre| Some(Skew::Ranked(ranks, Scatter::new(most, key, centre)));
        match plan {
            Distribution::Uniform | Distribution::Sequence(_) => None,
            Distribution::Zipf(exponent, centre) => ranked(Ranks::zipf(most, *exponent), *centre),
            Distribution::Pareto(share, centre) => ranked(Ranks::pareto(most, *share), *centre),
            Distribution::Normal(percent, centre) => ranked(Ranks::normal(most, *percent), *centre),
            Distribution::Zoned(zones) => Some(Skew::zoned(|direction| {
                let all = blocks[direction];
                let bound = |percent: u64| part(all, percent);
                cut(zones[direction].iter().map(|&(share, percent)| (share, u64::from(percent))), bound, all)
            })),
            Distribution::ZonedAbsolute(zones) => Some(Skew::zoned(|direction| {
                let unit = u64::from(units[direction]).max(1);
                cut(zones[direction].iter().copied(), |bytes| bytes / unit, blocks[direction])
            })),
        }
    }

    fn zoned(zones: impl Fn(Direction) -> Box<[Zone]>) -> Self {
        Skew::Zoned(PerDirection::each(zones))
    }

    /// The next block number, less than `blocks`.
    pub(super) fn draw(&mut self, random: &mut Random, direction: Direction, blocks: u64) -> u64 {
        match self {
            Skew::Ranked(ranks, scatter) => scatter.place(ranks.draw(random)) % blocks,
            Skew::Zoned(zones) => {
                let zones = &zones[direction];
                let drawn = random.below(zones.last().map_or(0, |zone| zone.upto));
                match zones.iter().find(|zone| drawn < zone.upto) {
                    Some(zone) => zone.first + random.below(zone.blocks),
                    None => random.below(blocks),
                }
            }
        }
    }
}

/// Places zones one after another; those that begin beyond the region are omitted.
fn cut(zones: impl Iterator<Item = (u8, u64)>, bound: impl Fn(u64) -> u64, all: u64) -> Box<[Zone]> {
    let (mut upto, mut end) = (0, 0);
    zones
        .filter_map(|(share, size)| {
            let first = bound(end);
            end = end.saturating_add(size);
            let blocks = bound(end).min(all).saturating_sub(first);
            if blocks == 0 || share == 0 {
                return None;
            }
            upto += u64::from(share);
            Some(Zone { upto, first, blocks })
        })
        .collect()
}

impl Ranks {
    pub(super) fn zipf(blocks: u64, exponent: f64) -> Self {
        Ranks::Zipf(Zipf::new(blocks, exponent))
    }

    pub(super) fn pareto(blocks: u64, share: f64) -> Self {
        Ranks::SelfSimilar { blocks: float(blocks), exponent: share.ln() / (1.0 - share).ln() }
    }

    pub(super) fn normal(blocks: u64, percent: f64) -> Self {
        Ranks::Normal { blocks: float(blocks), deviation: float(blocks) * percent / 100.0 }
    }

    /// The block at this fraction of all blocks.
    pub(super) fn centre(blocks: u64, share: f64) -> u64 {
        whole((float(blocks) * share).min(float(blocks) - 1.0).max(0.0))
    }

    pub(super) fn draw(&mut self, random: &mut Random) -> u64 {
        match self {
            Ranks::Zipf(zipf) => zipf.draw(random),
            // J. Gray et al., "Quickly generating billion-record synthetic databases" (1994), self-similar
            // distribution.
            &mut Ranks::SelfSimilar { blocks, exponent } => {
                whole((blocks * random.unit().powf(exponent)).min(blocks - 1.0))
            }
            &mut Ranks::Normal { blocks, deviation } => {
                // Box and Muller (1958); one value of the pair is enough.
                let radius = (-2.0 * random.positive_unit().ln()).sqrt();
                let distance = radius * (std::f64::consts::TAU * random.unit()).cos() * deviation;
                whole(distance.round().rem_euclid(blocks).min(blocks - 1.0))
            }
        }
    }
}

impl Scatter {
    pub(super) fn new(blocks: u64, key: u64, centre: Option<f64>) -> Self {
        let permutation = Permutation::new(blocks, key);
        let turn = centre.map_or(0, |share| {
            let centre = Ranks::centre(blocks, share);
            (centre + blocks - permutation.at(0)) % blocks.max(1)
        });
        Scatter { permutation, blocks: blocks.max(1), turn }
    }

    // The permutation alone would move the hottest block to a random place; the rotation puts it at the centre.
    pub(super) fn place(&self, rank: u64) -> u64 {
        (self.permutation.at(rank.min(self.blocks - 1)) + self.turn) % self.blocks
    }
}

/// Zipf's law over ranks by rejection-inversion (W. Hörmann, G. Derflinger, "Rejection-inversion to generate variates
/// from monotone discrete distributions", ACM TOMACS 6, 1996): exact for any exponent. The ranks that are drawn often
/// come from a table of the same function, so that most draws need no logarithm.
#[derive(Clone, Debug)]
pub(super) struct Zipf {
    exponent: f64,
    blocks: f64,
    from: f64,
    upto: f64,
    accept: f64,
    /// Draws until the table is made: it costs as much as 4,000 of them, and a job may have many files.
    draws_left: u32,
    /// The rank of each part of 0..1, counted from 1; 0 where a part has several, or some that are not accepted at
    /// once.
    ranks: Box<[u16]>,
}

impl Zipf {
    fn new(blocks: u64, exponent: f64) -> Self {
        let blocks = float(blocks.max(1));
        let draws_left = Zipf::DRAWS_WITHOUT_TABLE;
        let mut zipf = Zipf { exponent, blocks, from: 0.0, upto: 0.0, accept: 0.0, draws_left, ranks: Box::default() };
        zipf.from = zipf.integral(1.5) - 1.0;
        zipf.upto = zipf.integral(zipf.blocks + 0.5);
        zipf.accept = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    const DRAWS_WITHOUT_TABLE: u32 = 4096;
    const PARTS: u16 = 2048;

    #[inline]
    fn draw(&mut self, random: &mut Random) -> u64 {
        if self.draws_left == 0 {
            let unit = random.unit();
            let part = whole(unit * f64::from(Zipf::PARTS));
            let rank = usize::try_from(part).ok().and_then(|part| self.ranks.get(part)).copied().unwrap_or(0);
            return if rank != 0 { u64::from(rank) - 1 } else { self.search(unit, random) };
        }
        self.draws_left -= 1;
        if self.draws_left == 0 {
            self.ranks = self.table();
        }
        self.search(random.unit(), random)
    }

    /// The rank of this number of 0..1, or of a later one if it is rejected.
    #[inline(never)]
    fn search(&self, mut unit: f64, random: &mut Random) -> u64 {
        loop {
            let area = self.area(unit);
            let point = self.inverse(area);
            let rank = self.rank(point);
            if rank - point <= self.accept || area >= self.integral(rank + 0.5) - self.density(rank) {
                return whole(rank - 1.0);
            }
            unit = random.unit();
        }
    }

    /// The ranks of those parts of which both ends have the same one and are accepted at once: then so is all between
    /// them.
    #[cold]
    fn table(&self) -> Box<[u16]> {
        /// The functions are monotone but for rounding.
        const MARGIN: f64 = 1e-6;
        let point = |part: u16| self.inverse(self.area(f64::from(part) / f64::from(Zipf::PARTS)));
        let rank_of = |part: u16| {
            let (one, other) = (point(part), point(part + 1));
            let rank = self.rank(one);
            let is_clear = |point: f64| (rank - point).abs() < 0.5 - MARGIN && rank - point <= self.accept - MARGIN;
            let fits = rank <= f64::from(u16::MAX) && is_clear(one) && is_clear(other);
            u16::try_from(if fits { whole(rank) } else { 0 }).unwrap_or(0)
        };
        (0..Zipf::PARTS).map(rank_of).collect()
    }

    fn area(&self, unit: f64) -> f64 {
        self.upto + unit * (self.from - self.upto)
    }

    /// The nearest rank, counted from 1.
    fn rank(&self, point: f64) -> f64 {
        point.round().clamp(1.0, self.blocks)
    }

    fn density(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        let t = (1.0 - self.exponent) * log;
        // (e^t - 1) / t, by its series near 0, where the quotient loses precision.
        let ratio = if t.abs() > 1e-8 { t.exp_m1() / t } else { 1.0 + t / 2.0 };
        ratio * log
    }

    fn inverse(&self, area: f64) -> f64 {
        let t = (area * (1.0 - self.exponent)).max(-1.0);
        let ratio = if t.abs() > 1e-8 { t.ln_1p() / t } else { 1.0 - t / 2.0 };
        (ratio * area).exp()
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "callers clamp to 0 and the block count")]
fn whole(number: f64) -> u64 {
    number as u64
}

/// `percent` per cent of `all`, without overflow.
fn part(all: u64, percent: u64) -> u64 {
    let percent = percent.min(100);
    all / 100 * percent + all % 100 * percent / 100
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCKS: u64 = 1000;
    const DRAWS: u32 = 200_000;

    fn counts(plan: &Distribution) -> Vec<u32> {
        let alike = |value| PerDirection { read: value, write: value, trim: value };
        let units = PerDirection { read: 4096, write: 4096, trim: 4096 };
        let mut skew = Skew::new(plan, alike(BLOCKS), units, 5).unwrap();
        let mut random = Random::new(3);
        let mut counts = vec![0; usize::try_from(BLOCKS).unwrap()];
        for _ in 0..DRAWS {
            counts[usize::try_from(skew.draw(&mut random, Direction::Read, BLOCKS)).unwrap()] += 1;
        }
        counts
    }

    fn share(count: u32) -> f64 {
        f64::from(count) / f64::from(DRAWS)
    }

    fn descending(plan: &Distribution) -> Vec<u32> {
        let mut counts = counts(plan);
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts
    }

    fn check_zipf(exponent: f64) {
        let weight: f64 = (1..=BLOCKS).map(|rank| float(rank).powf(-exponent)).sum();
        let counts = descending(&Distribution::Zipf(exponent, None));
        for (rank, &count) in (1..).zip(&counts).take(5) {
            let expected = float(rank).powf(-exponent) / weight;
            assert!((share(count) - expected).abs() < 0.004, "zipf {exponent} rank {rank}: {count}, {expected}");
        }
        let top: u32 = counts[..100].iter().sum();
        let expected: f64 = (1..=100).map(|rank| float(rank).powf(-exponent) / weight).sum();
        assert!((share(top) - expected).abs() < 0.01, "zipf {exponent} top 100: {top}, {expected}");
    }

    #[test]
    fn a_zipf_with_its_table_draws_what_it_draws_without() {
        for (blocks, exponent) in [(1, 1.2), (3, 0.5), (1000, 0.8), (1 << 18, 1.2), (1 << 40, 1.01), (1 << 40, 3.0)] {
            let (mut with, mut without) = (Zipf::new(blocks, exponent), Zipf::new(blocks, exponent));
            with.draws_left = 1;
            without.draws_left = u32::MAX;
            let (mut first, mut second) = (Random::new(blocks), Random::new(blocks));
            for draw in 0..DRAWS {
                let ranks = (with.draw(&mut first), without.draw(&mut second));
                assert_eq!(ranks.0, ranks.1, "draw {draw} of zipf:{exponent} over {blocks} blocks");
            }
            assert!(
                with.ranks.iter().any(|&rank| rank != 0),
                "zipf:{exponent} over {blocks} blocks has no use of its table"
            );
        }
    }

    #[test]
    fn zipf_gives_each_rank_its_share() {
        [0.5, 0.8, 1.0, 1.2, 2.0].into_iter().for_each(check_zipf);
    }

    #[test]
    fn pareto_of_a_fifth_gives_four_fifths_to_a_fifth() {
        let top: u32 = descending(&Distribution::Pareto(0.2, None))[..200].iter().sum();
        assert!((share(top) - 0.8).abs() < 0.01, "{top}");
    }

    #[test]
    fn normal_gives_two_thirds_to_one_deviation_on_each_side() {
        let top: u32 = descending(&Distribution::Normal(10.0, None))[..200].iter().sum();
        assert!((share(top) - 0.683).abs() < 0.01, "{top}");
    }

    #[test]
    fn the_hottest_block_is_at_the_centre() {
        for plan in [Distribution::Zipf(1.2, Some(0.25)), Distribution::Pareto(0.2, Some(0.25))] {
            let counts = counts(&plan);
            let hottest = (0..counts.len()).max_by_key(|&block| counts[block]);
            assert_eq!(hottest, Some(250), "{plan:?}");
        }
    }

    #[test]
    fn zones_get_their_shares_and_no_more() {
        let zones = vec![(60, 10), (30, 20), (10, 70)];
        let all = PerDirection { read: zones.clone(), write: zones.clone(), trim: zones };
        let counts = counts(&Distribution::Zoned(all));
        for (range, expected) in [(0..100, 0.6), (100..300, 0.3), (300..1000, 0.1)] {
            assert!((share(counts[range].iter().sum()) - expected).abs() < 0.005);
        }
        let zones = vec![(60, 400 << 10), (40, 400 << 10)];
        let all = PerDirection { read: zones.clone(), write: zones.clone(), trim: zones };
        let counts = super::tests::counts(&Distribution::ZonedAbsolute(all));
        assert!((share(counts[..100].iter().sum()) - 0.6).abs() < 0.005);
        assert_eq!(counts[200..].iter().sum::<u32>(), 0);
    }
}
