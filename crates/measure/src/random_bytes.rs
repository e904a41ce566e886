//! Random bytes for buffers at memory speed: xorshift128+ (Vigna, 2017) in lanes for vector instructions.

use super::SplitMix;

/// Generators side by side. The bytes are theirs in turn, so they are the same on every processor.
const LANES: usize = 16;
/// Bytes of one step of all generators.
const STEP: usize = LANES * 8;

/// A source of random bytes that do not compress.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct RandomBytes {
    first: [u64; LANES],
    second: [u64; LANES],
}

impl RandomBytes {
    /// Starts with a seed; equal seeds give equal bytes.
    pub fn new(seed: u64) -> Self {
        let mut words = SplitMix::new(seed);
        let mut lanes = || std::array::from_fn(|_| words.next_word());
        RandomBytes { first: lanes(), second: lanes() }
    }

    /// Fills `buffer` with the next bytes. What the last step has more than it needs is left out.
    #[cfg_attr(
        target_arch = "x86_64",
        expect(unsafe_code, reason = "a function of instructions that not all processors have")
    )]
    pub fn fill(&mut self, buffer: &mut [u8]) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has these instructions.
            return unsafe { self.fill_by_avx512(buffer) };
        }
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has these instructions.
            return unsafe { self.fill_by_avx2(buffer) };
        }
        self.fill_lanes(buffer);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    fn fill_by_avx512(&mut self, buffer: &mut [u8]) {
        self.fill_lanes(buffer);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn fill_by_avx2(&mut self, buffer: &mut [u8]) {
        self.fill_lanes(buffer);
    }

    /// Compiled for the instructions of its caller.
    #[inline(always)]
    fn fill_lanes(&mut self, buffer: &mut [u8]) {
        let RandomBytes { mut first, mut second } = *self;
        let (steps, rest) = buffer.as_chunks_mut::<STEP>();
        for bytes in steps {
            step(&mut first, &mut second, bytes);
        }
        if !rest.is_empty() {
            let mut bytes = [0; STEP];
            step(&mut first, &mut second, &mut bytes);
            rest.copy_from_slice(&bytes[..rest.len()]);
        }
        *self = RandomBytes { first, second };
    }
}

#[inline(always)]
fn step(first: &mut [u64; LANES], second: &mut [u64; LANES], bytes: &mut [u8; STEP]) {
    for ((old, new), bytes) in first.iter_mut().zip(second).zip(bytes.as_chunks_mut::<8>().0) {
        *bytes = old.wrapping_add(*new).to_le_bytes();
        let mixed = *old ^ (*old << 23);
        let (kept, drawn) = (*new, mixed ^ *new ^ (mixed >> 18) ^ (*new >> 5));
        *old = kept;
        *new = drawn;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(length: usize) -> Vec<u8> {
        let mut buffer = vec![0; length];
        RandomBytes::new(7).fill(&mut buffer);
        buffer
    }

    #[test]
    fn the_bytes_are_those_of_the_published_generator_in_every_lane() {
        let mut seeds = SplitMix::new(7);
        let mut states: [[u64; 2]; LANES] = Default::default();
        (0..2).for_each(|half| states.iter_mut().for_each(|state| state[half] = seeds.next_word()));
        let expected: Vec<u8> = (0..3)
            .flat_map(|_| {
                states.each_mut().map(|state| {
                    let ([mut mixed, kept], sum) = (*state, state[0].wrapping_add(state[1]));
                    mixed ^= mixed << 23;
                    *state = [kept, mixed ^ kept ^ (mixed >> 18) ^ (kept >> 5)];
                    sum.to_le_bytes()
                })
            })
            .flatten()
            .collect();
        assert_eq!(bytes(3 * STEP), expected);
    }

    #[test]
    #[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "see `fill`"))]
    fn every_processor_fills_alike() {
        let mut portable = vec![0; 1003];
        RandomBytes::new(7).fill_lanes(&mut portable);
        assert_eq!(bytes(1003), portable);
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            let mut by_avx2 = vec![0; 1003];
            // SAFETY: the processor has these instructions.
            unsafe { RandomBytes::new(7).fill_by_avx2(&mut by_avx2) };
            assert_eq!(by_avx2, portable);
        }
    }

    #[test]
    fn parts_that_end_with_a_step_continue_each_other() {
        let mut random = RandomBytes::new(7);
        let mut buffer = vec![0; 4 * STEP];
        buffer.chunks_mut(2 * STEP).for_each(|part| random.fill(part));
        assert_eq!(buffer, bytes(4 * STEP));
    }
}
