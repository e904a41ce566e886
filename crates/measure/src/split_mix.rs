//! SplitMix64 (Steele, Lea and Flood, 2014): a hash of a number, for seeds and small generators.

/// Added to the state by each step of the generator.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the hash of a number, in which every bit depends on all bits of the number. A bijection.
#[inline]
pub const fn split_mix(value: u64) -> u64 {
    let value = value.wrapping_add(STEP);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// A generator of 64 well mixed bits at a time, from any seed, including 0.
#[derive(Clone, Debug)]
pub struct SplitMix(u64);

impl SplitMix {
    /// Starts with a seed.
    pub const fn new(seed: u64) -> Self {
        SplitMix(seed)
    }

    /// Returns the next 64 bits.
    #[inline]
    pub const fn next_word(&mut self) -> u64 {
        let word = split_mix(self.0);
        self.0 = self.0.wrapping_add(STEP);
        word
    }

    /// Returns a number in [0, 1), with 53 random bits.
    #[inline]
    pub const fn fraction(&mut self) -> f64 {
        crate::float(self.next_word() >> 11) / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first words of the reference implementation (Vigna, splitmix64.c) from the seed 1234567.
    #[test]
    fn the_words_are_the_published_ones() {
        let mut generator = SplitMix::new(1_234_567);
        let words: Vec<u64> = (0..3).map(|_| generator.next_word()).collect();
        assert_eq!(words, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }
}
