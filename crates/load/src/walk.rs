//! Orders of records given by a formula: iozone's shuffle, backward, one record repeatedly, strides.

use super::replay::{RecordFailure, Recording, TimedRequest};
use super::{LoadSetup, Region, Request};
use measure::{Direction, Nanos};
use plan::{Listed, Mix, Operation, RecordOrder};
use std::sync::Arc;

/// A walk over the records of one target; each follows as soon as the previous one is complete.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    path: Path,
    operation: Operation,
    start: u64,
    length: u32,
    records: u64,
    /// Number of steps done.
    taken: u64,
}

#[derive(Clone, Debug)]
enum Path {
    Shuffled(Box<[u32]>),
    Backward,
    Same,
    Strided { stride: u64, at: u64, round: u64 },
    Listed(Arc<[Listed]>),
}

impl Walk {
    /// The walk that the job's pass asks for; `None` if the load uses its own order.
    pub(super) fn new(setup: &LoadSetup<'_>) -> Option<Walk> {
        let pass = setup.job.pass.as_deref()?;
        let load = &setup.job.load;
        let length = load.smallest();
        let region = setup.regions.first().copied().unwrap_or(Region { start: 0, end: 0, reach: super::Reach::Whole });
        let records = match &pass.order {
            RecordOrder::Listed(list) => list.len() as u64,
            _ => region.bytes() / u64::from(length),
        };
        let path = match &pass.order {
            RecordOrder::ByLoad => return None,
            RecordOrder::Shuffled => Path::Shuffled(shuffled(u32::try_from(records).unwrap_or(u32::MAX))),
            RecordOrder::Backward => Path::Backward,
            RecordOrder::Same => Path::Same,
            RecordOrder::Strided(stride) => Path::Strided { stride: *stride, at: 0, round: 0 },
            RecordOrder::Listed(list) => Path::Listed(Arc::clone(list)),
        };
        let operation = match load.mix {
            Mix::Only(Direction::Read) => Operation::Read,
            _ => Operation::Write,
        };
        Some(Walk { path, operation, start: region.start, length, records, taken: 0 })
    }

    /// The operation of every step.
    pub(super) const fn operation(&self) -> Operation {
        self.operation
    }

    /// Number of steps left.
    pub(super) const fn left(&self) -> u64 {
        self.records - self.taken
    }

    /// The next step; there must be one left.
    // Not inlined, because all other loads take the other branch.
    #[cold]
    #[inline(never)]
    pub(super) fn step(&mut self) -> Request {
        let (offset, length) = self.place();
        self.taken += 1;
        Request::new(self.operation, 0, self.start + offset, length)
    }

    /// Offset and length of the record of this step.
    fn place(&mut self) -> (u64, u32) {
        if let Path::Listed(list) = &self.path {
            let listed = usize::try_from(self.taken).ok().and_then(|at| list.get(at));
            return listed.map_or((0, self.length), |listed| (listed.offset, listed.length.min(self.length)));
        }
        (self.record() * u64::from(self.length), self.length)
    }

    /// The record number of this step.
    fn record(&mut self) -> u64 {
        match &mut self.path {
            Path::Shuffled(order) => {
                usize::try_from(self.taken).ok().and_then(|at| order.get(at)).map_or(0, |&record| u64::from(record))
            }
            Path::Backward => self.records - 1 - self.taken,
            // A list has offsets, not record numbers.
            Path::Same | Path::Listed(_) => 0,
            Path::Strided { stride, at, round } => {
                let this = *at;
                // A round ends if the record after the next would reach the last one.
                *at = if this + *stride + 2 >= self.records {
                    *round += 1;
                    if self.records <= *stride { 0 } else { *round % self.records }
                } else {
                    this + *stride
                };
                this
            }
        }
    }
}

impl Recording for Walk {
    fn next(&mut self) -> Result<Option<TimedRequest>, RecordFailure> {
        if self.taken >= self.records {
            return Ok(None);
        }
        Ok(Some(TimedRequest { at: Nanos::ZERO, request: self.step() }))
    }

    fn rest(&mut self) {}

    fn rewind(&mut self) -> Result<(), RecordFailure> {
        self.taken = 0;
        if let Path::Strided { at, round, .. } = &mut self.path {
            (*at, *round) = (0, 0);
        }
        Ok(())
    }
}

/// The numbers 0 to `count` - 1 in the order in which iozone 3.489 visits its records: swapped from the end, with
/// remainders of a Mersenne Twister.
fn shuffled(count: u32) -> Box<[u32]> {
    let mut order: Box<[u32]> = (0..count).collect();
    let mut twister = Twister::new(&[0x12345, 0x23456, 0x34567, 0x45678]);
    for last in (1..order.len()).rev() {
        let drawn = twister.next() % (last as u64 + 1);
        order.swap(last, usize::try_from(drawn).unwrap_or(0));
    }
    order
}

/// The 64-bit Mersenne Twister, MT19937-64 (Matsumoto and Nishimura, 2004).
struct Twister {
    state: Box<[u64; Twister::WORDS]>,
    at: usize,
}

impl Twister {
    const WORDS: usize = 312;
    const MIDDLE: usize = 156;

    fn new(key: &[u64]) -> Self {
        let mut state = Box::new([0; Self::WORDS]);
        state[0] = 19_650_218;
        for index in 1..Self::WORDS {
            let before: u64 = state[index - 1];
            state[index] =
                6_364_136_223_846_793_005_u64.wrapping_mul(before ^ (before >> 62)).wrapping_add(index as u64);
        }
        let mut twister = Twister { state, at: Self::WORDS };
        twister.stir(key);
        twister
    }

    fn stir(&mut self, key: &[u64]) {
        let state = &mut self.state;
        let (mut at, mut from) = (1, 0);
        let mixed = |state: &[u64; Self::WORDS], at: usize, factor: u64| {
            let before = state[at - 1];
            state[at] ^ (before ^ (before >> 62)).wrapping_mul(factor)
        };
        let advance = |state: &mut [u64; Self::WORDS], at: usize| {
            if at + 1 < Self::WORDS {
                return at + 1;
            }
            state[0] = state[Self::WORDS - 1];
            1
        };
        for _ in 0..Self::WORDS.max(key.len()) {
            state[at] = mixed(state, at, 3_935_559_000_370_003_845).wrapping_add(key[from]).wrapping_add(from as u64);
            at = advance(state, at);
            from = (from + 1) % key.len();
        }
        for _ in 0..Self::WORDS - 1 {
            state[at] = mixed(state, at, 2_862_933_555_777_941_757).wrapping_sub(at as u64);
            at = advance(state, at);
        }
        state[0] = 1 << 63;
    }

    fn next(&mut self) -> u64 {
        if self.at >= Self::WORDS {
            self.turn();
        }
        let mut word = self.state[self.at];
        self.at += 1;
        word ^= (word >> 29) & 0x5555_5555_5555_5555;
        word ^= (word << 17) & 0x71d6_7fff_eda6_0000;
        word ^= (word << 37) & 0xfff7_eee0_0000_0000;
        word ^ (word >> 43)
    }

    fn turn(&mut self) {
        const UPPER: u64 = 0xffff_ffff_8000_0000;
        const LOWER: u64 = 0x7fff_ffff;
        for index in 0..Self::WORDS {
            let next = self.state[(index + 1) % Self::WORDS];
            let joined = (self.state[index] & UPPER) | (next & LOWER);
            let twist = if joined & 1 == 1 { 0xb502_6f5a_a966_19e9 } else { 0 };
            self.state[index] = self.state[(index + Self::MIDDLE) % Self::WORDS] ^ (joined >> 1) ^ twist;
        }
        self.at = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{JobPlan, PassPlan};

    fn walk(order: RecordOrder, records: u64) -> Vec<u64> {
        let mut job = JobPlan::with_defaults("x", "test", "null");
        job.pass = Some(Box::new(PassPlan { order, ..PassPlan::default() }));
        let region = [Region { start: 0, end: records * 4096, reach: super::super::Reach::Whole }];
        let setup = LoadSetup { job: &job, number: 1, regions: &region, zones: &[], system_seed: 0 };
        let mut walk = Walk::new(&setup).unwrap();
        std::iter::from_fn(|| walk.next().unwrap()).map(|recorded| recorded.request.offset / 4096).collect()
    }

    /// The first words that the authors of MT19937-64 publish for this key (mt19937-64.out.txt).
    #[test]
    fn the_twister_gives_the_published_words() {
        let mut twister = Twister::new(&[0x12345, 0x23456, 0x34567, 0x45678]);
        let words: Vec<u64> = (0..3).map(|_| twister.next()).collect();
        assert_eq!(words, [7_266_447_313_870_364_031, 4_946_485_549_665_804_864, 16_945_909_448_695_747_420]);
    }

    /// As observed with iozone 3.489 under strace.
    #[test]
    fn walks_go_where_iozone_goes() {
        assert_eq!(walk(RecordOrder::Shuffled, 4), [1, 2, 0, 3]);
        assert_eq!(walk(RecordOrder::Backward, 4), [3, 2, 1, 0]);
        assert_eq!(walk(RecordOrder::Same, 4), [0; 4]);
        assert_eq!(walk(RecordOrder::Strided(2), 8), [0, 2, 4, 1, 3, 5, 2, 4]);
        assert_eq!(walk(RecordOrder::Strided(17), 16), [0; 16]);
        assert_eq!(walk(RecordOrder::Strided(17), 18), (0..18).collect::<Vec<_>>());
        assert_eq!(walk(RecordOrder::Strided(1), 4), [0, 1, 1, 2]);
    }

    #[test]
    fn a_shuffle_visits_each_record_once() {
        let mut visited = walk(RecordOrder::Shuffled, 1000);
        visited.sort_unstable();
        assert_eq!(visited, (0..1000).collect::<Vec<_>>());
    }
}
