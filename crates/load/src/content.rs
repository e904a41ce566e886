//! The content of write buffers: random words, zeros or a pattern, with the compressibility and duplication that the
//! plan asks for.

use super::Request;
use super::random::{Purpose, Random, stream_seed};
use measure::{Nanos, RandomBytes, split_mix};
use plan::{BufferPlan, Fill, PlacedBytes, PlacedCheck};

/// Unit of scrambling in bytes: the smallest block that deduplication compares.
const SECTOR: usize = 512;

/// Largest number of buffers that are kept for repetition: each takes a word of memory.
const MOST_REPEATED: u64 = 1 << 24;

/// Fills the buffers of a worker.
#[derive(Debug)]
pub struct Content {
    fill: Fill,
    work: Work,
    /// The bytes of buffers that nothing repeats.
    bytes: RandomBytes,
    /// The seeds of buffers that may be repeated.
    seeds: Random,
    /// Percent of each piece that is filled with zeros or the pattern, so that it compresses.
    compress_percent: usize,
    /// Bytes per piece (`buffer_compress_chunk`).
    piece: usize,
    /// Percent of buffers that repeat an earlier one.
    dedupe_percent: u64,
    repeats: Random,
    /// Seed of the previous buffer.
    last: Option<u64>,
    /// The buffers that may be repeated; `None` if only the previous one may.
    set: Option<WorkingSet>,
    /// Present if each byte is determined by its position in the file.
    placed: Option<Box<PlacedBytes>>,
}

/// The seeds of the buffers that may be repeated (the dedupe working set).
#[derive(Debug)]
enum WorkingSet {
    /// The first unique buffers of this worker, up to the capacity.
    Own(Vec<u64>),
    /// A set that all workers share: the seed it is generated from, and the number of buffers.
    Shared(u64, u64),
}

impl WorkingSet {
    fn draw(&self, random: &mut Random) -> Option<u64> {
        match self {
            WorkingSet::Own(seeds) => {
                let drawn = random.below(seeds.len() as u64);
                seeds.get(usize::try_from(drawn).unwrap_or(usize::MAX)).copied()
            }
            WorkingSet::Shared(seed, buffers) => Some(split_mix(seed.wrapping_add(random.below(*buffers)))),
        }
    }
}

/// The change to the buffer before each write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Nothing,
    Scramble,
    Refill,
    ByPosition,
}

impl Content {
    /// Prepares the generators; `seed` and `number` are those of the worker.
    pub fn new(plan: &BufferPlan, seed: u64, number: u32) -> Content {
        let varied = match plan.fill {
            Fill::Random => plan.compress_percent < 100,
            Fill::Pattern(_) => (1..100).contains(&plan.compress_percent),
            Fill::Zero => false,
        };
        let work = match plan {
            BufferPlan { placed: Some(_), .. } => Work::ByPosition,
            BufferPlan { refill: true, .. } if varied => Work::Refill,
            BufferPlan { scramble: true, .. } => Work::Scramble,
            _ => Work::Nothing,
        };
        Content {
            fill: if plan.compress_percent >= 100 { Fill::Zero } else { plan.fill.clone() },
            work,
            bytes: RandomBytes::new(stream_seed(seed, number, Purpose::Content)),
            seeds: Random::new(stream_seed(seed, number, Purpose::Content)),
            compress_percent: usize::from(plan.compress_percent),
            piece: usize::try_from(plan.compress_chunk).unwrap_or(usize::MAX).max(1),
            dedupe_percent: u64::from(plan.dedupe_percent),
            repeats: Random::new(stream_seed(seed, number, Purpose::Repeat)),
            last: None,
            set: None,
            placed: plan.placed.clone(),
        }
    }

    /// Repeats buffers of a working set instead of the previous one, if the plan says so. The size of the set is a
    /// percentage of the `blocks` that fit into the job's size; `seed` is the job's, the same for all workers that
    /// share the set.
    #[must_use]
    pub fn with_working_set(mut self, plan: &BufferPlan, seed: u64, blocks: u64) -> Content {
        let room = |percent: u8| (blocks / 100 * u64::from(percent) + blocks % 100 * u64::from(percent) / 100).max(1);
        self.set = plan.working_set.map(|set| match (room(set.percent), set.shared) {
            (room, false) => WorkingSet::Own(Vec::with_capacity(usize::try_from(room.min(MOST_REPEATED)).unwrap_or(1))),
            (room, true) => WorkingSet::Shared(stream_seed(seed, 0, Purpose::WorkingSet), room),
        });
        self
    }

    /// True if [`Content::before_write`] never has to change a buffer.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.work == Work::Nothing
    }

    /// Fills a slot's buffer before the first I/O.
    pub fn prepare_start(&mut self, buffer: &mut [u8]) {
        match &self.fill {
            Fill::Zero => buffer.fill(0),
            Fill::Pattern(pattern) if self.compress_percent == 0 => fill_pattern(pattern, buffer),
            Fill::Random if self.compress_percent == 0 && self.dedupe_percent == 0 => {
                self.bytes.fill(buffer);
            }
            Fill::Random | Fill::Pattern(_) => self.fill_pieces(buffer),
        }
    }

    /// Prepares the buffer of a write; `buffer` has the length of the request.
    #[inline]
    pub fn before_write(&mut self, buffer: &mut [u8], request: &Request, now: Nanos) {
        match self.work {
            Work::Nothing => {}
            Work::Scramble => scramble(buffer, request.offset, now),
            Work::Refill => self.prepare_start(buffer),
            Work::ByPosition => {
                if let Some(plan) = &self.placed {
                    fill(plan, request.offset, buffer);
                }
            }
        }
    }

    /// The first byte of a record that was read which differs from the data of its position; `None` if all are correct,
    /// or if the job does not check positions.
    pub fn first_mismatch(&self, buffer: &[u8], request: &Request) -> Option<Mismatch> {
        let plan = self.placed.as_ref().filter(|plan| plan.check == PlacedCheck::All)?;
        first_mismatch(plan, request.offset, buffer)
    }

    /// Fills each piece with random bytes, then zeros or the pattern. The seed decides the random bytes, so a repeated
    /// seed repeats the whole buffer.
    fn fill_pieces(&mut self, buffer: &mut [u8]) {
        let seed = self.next_seed();
        let mut random = RandomBytes::new(seed);
        for piece in buffer.chunks_mut(self.piece) {
            let (head, tail) = piece.split_at_mut(piece.len() - piece.len() * self.compress_percent / 100);
            random.fill(head);
            match &self.fill {
                Fill::Pattern(pattern) => fill_pattern(pattern, tail),
                Fill::Random | Fill::Zero => tail.fill(0),
            }
        }
    }
}

impl Content {
    /// The seed of the next buffer: an earlier one, or a new one.
    fn next_seed(&mut self) -> u64 {
        let repeats = self.repeats.below(100) < self.dedupe_percent;
        let before = match &self.set {
            _ if !repeats => None,
            None => self.last,
            Some(set) => set.draw(&mut self.repeats),
        };
        let seed = before.unwrap_or_else(|| {
            let new = self.seeds.word();
            match &mut self.set {
                Some(WorkingSet::Own(seeds)) if seeds.len() < seeds.capacity() => seeds.push(new),
                _ => {}
            }
            new
        });
        self.last = Some(seed);
        seed
    }
}

/// Writes the offset (8 bytes) and the time (16 bytes) into every sector, so that no two writes are equal.
#[inline]
fn scramble(buffer: &mut [u8], offset: u64, now: Nanos) {
    let time = now.get();
    let mut at = offset;
    for sector in buffer.chunks_exact_mut(SECTOR) {
        sector[..8].copy_from_slice(&at.to_le_bytes());
        sector[8..16].copy_from_slice(&(time / 1_000_000_000).to_le_bytes());
        sector[16..24].copy_from_slice(&(time % 1_000_000_000).to_le_bytes());
        at += SECTOR as u64;
    }
}

fn fill_pattern(pattern: &[u8], buffer: &mut [u8]) {
    if pattern.is_empty() {
        return buffer.fill(0);
    }
    for piece in buffer.chunks_mut(pattern.len()) {
        piece.copy_from_slice(&pattern[..piece.len()]);
    }
}

/// Bytes that are generated together.
const WORD: usize = 8;

/// A byte that differs from the data of its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// The value that was read.
    pub found: u8,
    /// The value that was expected.
    pub expected: u8,
}

/// The word at a position of a file.
fn word(plan: &PlacedBytes, position: u64) -> u64 {
    let record = u64::from(plan.record.max(1));
    let inside = position % record;
    let everywhere = u64::from(plan.everywhere);
    let within = everywhere + u64::from(plan.within);
    let across = within + u64::from(plan.across);
    let drawn = |from: u64, position: u64| split_mix(split_mix(from) ^ position);
    let word = match inside {
        // A separate stream (the inverted seed): a position in a record is also a position in the first record of a
        // file.
        _ if inside < everywhere => drawn(!plan.set, inside),
        _ if inside < within => drawn(!plan.own, inside),
        _ if inside < across => drawn(plan.set, position),
        _ if inside < record.saturating_sub(u64::from(plan.zeros)) => drawn(plan.own, position),
        _ => 0,
    };
    with_zeros(word, plan.zero_words_percent)
}

/// Sets this percentage of half words to zero.
fn with_zeros(word: u64, percent: u8) -> u64 {
    if percent == 0 {
        return word;
    }
    let drawn = split_mix(word);
    let keeps = |drawn: u64, half: u64| if drawn % 100 < u64::from(percent) { 0 } else { half };
    keeps(drawn & 0xffff_ffff, 0xffff_ffff) & word | keeps(drawn >> 32, 0xffff_ffff_0000_0000) & word
}

/// Fills a buffer with the data of `offset`.
pub(super) fn fill(plan: &PlacedBytes, offset: u64, buffer: &mut [u8]) {
    for (position, bytes) in (offset..).step_by(WORD).zip(buffer.chunks_mut(WORD)) {
        bytes.copy_from_slice(&word(plan, position).to_le_bytes()[..bytes.len()]);
    }
}

/// The first byte of data read from `offset` that differs from the data of its position.
pub(super) fn first_mismatch(plan: &PlacedBytes, offset: u64, buffer: &[u8]) -> Option<Mismatch> {
    for (position, bytes) in (offset..).step_by(WORD).zip(buffer.chunks(WORD)) {
        let expected = word(plan, position).to_le_bytes();
        if *bytes != expected[..bytes.len()] {
            let found = (position..).zip(bytes.iter().zip(expected)).find(|(_, (found, expected))| *found != expected);
            return found.map(|(offset, (&found, expected))| Mismatch { offset, found, expected });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::tests::buffers;
    use super::*;
    use flate2::{Compression, write::DeflateEncoder};
    use plan::Operation;
    use std::collections::HashSet;
    use std::io::Write;

    const BLOCK: usize = 4096;

    /// The data that this number of single-block writes from one slot would put on a disk.
    fn written(plan: &BufferPlan, blocks: u32) -> Vec<u8> {
        let mut content = Content::new(plan, 1, 1);
        let mut buffer = vec![0; BLOCK];
        content.prepare_start(&mut buffer);
        let mut disk = Vec::new();
        for block in 0..u64::from(blocks) {
            let offset = block * BLOCK as u64;
            let request = Request::new(Operation::Write, 0, offset, 4096);
            content.before_write(&mut buffer, &request, Nanos(block * 1000));
            disk.extend_from_slice(&buffer);
        }
        disk
    }

    /// Compressed size as a fraction of the original size.
    fn compressed(data: &[u8]) -> f64 {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(data).unwrap();
        let share = |size: usize| f64::from(u32::try_from(size).unwrap());
        share(encoder.finish().unwrap().len()) / share(data.len())
    }

    fn distinct(data: &[u8], piece: usize) -> usize {
        data.chunks(piece).collect::<HashSet<_>>().len()
    }

    #[test]
    fn refilled_buffers_do_not_compress_and_use_all_bytes_alike() {
        let disk = written(&BufferPlan { refill: true, ..buffers() }, 256);
        assert!(compressed(&disk) > 0.999);
        let mut counts = [0u32; 256];
        disk.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
        assert!(counts.iter().all(|&count| count.abs_diff(4096) < 320));
    }

    #[test]
    fn a_percentage_that_compresses_is_met_within_two_percent() {
        for (percent, chunk) in [(20, 512), (50, 512), (50, 4096), (90, 16384)] {
            let plan = BufferPlan { refill: true, compress_percent: percent, compress_chunk: chunk, ..buffers() };
            let ratio = compressed(&written(&plan, 256));
            assert!((ratio - (1.0 - f64::from(percent) / 100.0)).abs() < 0.02, "{percent} of {chunk}: {ratio}");
        }
    }

    #[test]
    fn the_rest_of_a_compressible_piece_is_the_pattern() {
        let fill = Fill::Pattern(b"abcd".to_vec());
        let disk = written(&BufferPlan { fill, refill: true, compress_percent: 50, ..buffers() }, 2);
        assert!(disk.chunks(512).all(|piece| piece[256..] == b"abcd".repeat(64)));
        assert_ne!(disk[..256], disk[512..768]);
    }

    #[test]
    fn blocks_repeat_as_the_percentage_says() {
        for percent in [30, 50, 80] {
            let plan = BufferPlan { refill: true, dedupe_percent: percent, ..buffers() };
            let blocks = distinct(&written(&plan, 2000), BLOCK);
            let expected = 20 * (100 - usize::from(percent));
            assert!(blocks.abs_diff(expected) < 100, "{percent}: {blocks}");
        }
    }

    #[test]
    fn scrambled_sectors_differ_and_change_in_24_bytes_only() {
        for fill in [Fill::Random, Fill::Zero] {
            let scrambled = written(&BufferPlan { fill: fill.clone(), scramble: true, ..buffers() }, 64);
            assert_eq!(distinct(&scrambled, SECTOR), 64 * 8);
            let plain = written(&BufferPlan { fill, ..buffers() }, 64);
            let pairs = || scrambled.chunks(SECTOR).zip(plain.chunks(SECTOR));
            assert!(pairs().all(|(ours, before)| ours[24..] == before[24..]));
        }
    }

    #[test]
    fn a_rewrite_of_the_same_block_differs_by_its_time() {
        let mut content = Content::new(&BufferPlan { scramble: true, ..buffers() }, 1, 1);
        let request = Request::new(Operation::Write, 0, 8192, 4096);
        let mut at = |now| {
            let mut buffer = vec![7; BLOCK];
            content.before_write(&mut buffer, &request, Nanos(now));
            buffer
        };
        assert_ne!(at(1_000_000_000), at(2_000_000_000));
        assert_eq!(at(5), at(5));
    }

    #[test]
    fn patterns_and_zeros_stay_as_they_are_and_cost_nothing() {
        for (fill, expected) in [(Fill::Zero, vec![0; 4]), (Fill::Pattern(b"abc".to_vec()), b"abca".to_vec())] {
            let plan = BufferPlan { fill, refill: true, ..buffers() };
            assert!(Content::new(&plan, 1, 1).is_idle());
            let disk = written(&plan, 2);
            assert_eq!(disk[..4], expected);
            assert_eq!(distinct(&disk, BLOCK), 1);
        }
        assert!(!Content::new(&BufferPlan { scramble: true, ..buffers() }, 1, 1).is_idle());
    }

    #[test]
    fn slots_and_workers_hold_different_bytes() {
        let mut contents = [Content::new(&buffers(), 1, 1), Content::new(&buffers(), 1, 2)];
        let mut filled = HashSet::new();
        for content in &mut contents {
            for _slot in 0..4 {
                let mut buffer = vec![0; 1003];
                content.prepare_start(&mut buffer);
                filled.insert(buffer);
            }
        }
        assert_eq!(filled.len(), 8);
    }
}

#[cfg(test)]
mod position_pattern_tests {
    use super::*;

    const RECORD: usize = 4096;

    fn file(plan: PlacedBytes) -> Vec<u8> {
        let mut bytes = vec![0; 8 * RECORD];
        for (offset, record) in (0..).step_by(RECORD).zip(bytes.chunks_mut(RECORD)) {
            fill(&plan, offset, record);
        }
        bytes
    }

    fn records(bytes: &[u8], from: usize, to: usize) -> Vec<&[u8]> {
        bytes.chunks(RECORD).map(|record| &record[from..to]).collect()
    }

    #[test]
    fn each_part_of_a_record_is_where_it_should_be_and_nowhere_else() {
        let plan = PlacedBytes {
            own: 1,
            set: 9,
            record: 4096,
            everywhere: 1024,
            within: 512,
            across: 512,
            zeros: 1024,
            ..PlacedBytes::default()
        };
        let (first, second) = (file(plan), file(PlacedBytes { own: 2, ..plan }));
        let same = |from, to| records(&first, from, to).iter().zip(records(&second, from, to)).all(|(a, b)| *a == b);
        let alike = |from, to| records(&first, from, to).windows(2).all(|pair| pair[0] == pair[1]);
        assert!(same(0, 1024) && alike(0, 1024));
        assert!(!same(1024, 1536) && alike(1024, 1536));
        assert!(same(1536, 2048) && !alike(1536, 2048));
        assert!(!same(2048, 3072) && !alike(2048, 3072));
        assert!(first.chunks(RECORD).all(|record| record[3072..].iter().all(|&byte| byte == 0)));
    }

    #[test]
    fn words_are_zero_as_the_percentage_says() {
        let plan = PlacedBytes { record: 4096, zero_words_percent: 40, ..PlacedBytes::default() };
        let zeros = file(plan).chunks(4).filter(|word| *word == [0; 4]).count();
        assert!(zeros.abs_diff(8192 * 40 / 100) < 200, "{zeros} of 8192");
    }

    #[test]
    fn every_byte_that_is_not_as_written_is_found() {
        let plan = PlacedBytes { own: 5, record: 4096, ..PlacedBytes::default() };
        let mut bytes = file(plan);
        assert_eq!(first_mismatch(&plan, 0, &bytes), None);
        assert_eq!(first_mismatch(&plan, 8192, &bytes[8192..8192 + 100]), None, "any length will do");
        bytes[9001] ^= 1;
        let found = first_mismatch(&plan, 0, &bytes).unwrap();
        assert_eq!((found.offset, found.found), (9001, bytes[9001]));
        assert_eq!(found.expected, found.found ^ 1);
        assert!(first_mismatch(&plan, 4096, &bytes[..4096]).is_some(), "a record that lies elsewhere");
    }
}
