//! The generators that jobs select with `random_generator`: combined Tausworthe generators of 32 and 64 bits.
//!
//! Sources: P. L'Ecuyer, "Maximally equidistributed combined Tausworthe generators" (Math. Comp. 65, 1996) for taus88
//! and "Tables of maximally equidistributed combined LFSR generators" (Math. Comp. 68, 1999) for LFSR258.

use super::random::scale;
use measure::split_mix;

/// Draws block numbers.
#[derive(Clone, Debug)]
pub(super) enum Tausworthe {
    /// taus88: three components, 32 bits per draw, period 2^88.
    Bits32([u32; 3]),
    /// LFSR258: five components, 64 bits per draw, period 2^258.
    Bits64([u64; 5]),
}

impl Tausworthe {
    /// The 32-bit generator; `seed` is spread over its components.
    pub(super) fn bits32(seed: u64) -> Self {
        // Each component needs a bit above its lowest ones, or it stays zero forever.
        let word = |index: u64| u32::try_from(split_mix(seed.wrapping_add(index)) >> 32).unwrap_or(u32::MAX) | 0x100;
        Tausworthe::Bits32([word(1), word(2), word(3)])
    }

    /// The 64-bit generator.
    pub(super) fn bits64(seed: u64) -> Self {
        let word = |index: u64| split_mix(seed.wrapping_add(index)) | (1 << 32);
        Tausworthe::Bits64([word(1), word(2), word(3), word(4), word(5)])
    }

    /// A number in `0..bound`; for the 32-bit generator `bound` is at most 2^32.
    #[inline(always)]
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        match self {
            Tausworthe::Bits32(state) => (u64::from(step32(state)) * bound) >> 32,
            Tausworthe::Bits64(state) => scale(step64(state), bound),
        }
    }
}

#[inline(always)]
fn step32(state: &mut [u32; 3]) -> u32 {
    let [a, b, c] = state;
    *a = ((*a & 0xffff_fffe) << 12) ^ (((*a << 13) ^ *a) >> 19);
    *b = ((*b & 0xffff_fff8) << 4) ^ (((*b << 2) ^ *b) >> 25);
    *c = ((*c & 0xffff_fff0) << 17) ^ (((*c << 3) ^ *c) >> 11);
    *a ^ *b ^ *c
}

#[inline(never)]
fn step64(state: &mut [u64; 5]) -> u64 {
    let [a, b, c, d, e] = state;
    *a = ((*a & 0xffff_ffff_ffff_fffe) << 10) ^ (((*a << 1) ^ *a) >> 53);
    *b = ((*b & 0xffff_ffff_ffff_fe00) << 5) ^ (((*b << 24) ^ *b) >> 50);
    *c = ((*c & 0xffff_ffff_ffff_f000) << 29) ^ (((*c << 3) ^ *c) >> 23);
    *d = ((*d & 0xffff_ffff_fffe_0000) << 23) ^ (((*d << 5) ^ *d) >> 24);
    *e = ((*e & 0xffff_ffff_ff80_0000) << 8) ^ (((*e << 3) ^ *e) >> 33);
    *a ^ *b ^ *c ^ *d ^ *e
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_even(mut generator: Tausworthe, bound: u64) {
        let mut counts = [0u32; 16];
        for _ in 0..160_000 {
            let block = generator.below(bound);
            assert!(block < bound);
            counts[usize::try_from(u128::from(block) * 16 / u128::from(bound)).unwrap()] += 1;
        }
        assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 400), "{counts:?}");
    }

    #[test]
    fn draws_are_even_within_four_sigma() {
        check_even(Tausworthe::bits32(1), 1000 * 16);
        check_even(Tausworthe::bits32(2), 1 << 32);
        check_even(Tausworthe::bits64(3), 1 << 40);
    }
}
