//! Numbers that follow from a seed alone.

/// A separate sequence for each case.
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64, case: u64) -> Draw {
        let mut draw = Draw(seed ^ case.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        draw.next();
        draw
    }

    /// splitmix64 (Steele, Lea, Flood 2014).
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end.max(1) as u64).expect("below a usize")
    }

    /// Once in `times`.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of a list.
    pub(crate) fn one<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}
