//! Contents of a few blocks of the targets that were read, after the run: zeros, and blocks that are all the same.
//!
//! A separate descriptor reads them, past the page cache, so that nothing in memory changes. Targets that cannot be
//! read so are left out, and those with dirty pages, which the kernel would write first.

use crate::targets::Target;
use measure::Nanos;
use model::{Monitored, SampledBlocks, TargetFacts};
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};
use sys::files::operations::{OpenFlags, open};
use sys::machine::buffers::{Arena, Source};
use sys::processes::usage::thread_cpu_ns;

/// Size of a sampled block, a multiple of the logical block of all common devices.
const BLOCK: u64 = 4096;
const BYTES: usize = 4096;
/// Most blocks of one target, and of all.
const BLOCKS_PER_TARGET: u64 = 16;
const BLOCKS_MAX: u64 = 64;
/// No further block is read after this time, on slow devices.
const LONGEST: Duration = Duration::from_millis(200);

/// Reads blocks of these regions, and adds the findings to the facts of their targets, and the CPU time to that of the
/// monitoring.
pub fn sample_contents(read: &[Target], monitored: &mut Monitored) {
    let began = thread_cpu_ns();
    sample(read, &mut monitored.targets);
    let taken = Nanos(thread_cpu_ns().saturating_sub(began));
    monitored.own_cpu = monitored.own_cpu.saturating_add(taken);
}

fn sample(read: &[Target], known: &mut [TargetFacts]) {
    let Ok(mut arena) = Arena::new(&Source::Private, 1, BYTES, 0) else { return };
    let began = Instant::now();
    let mut left = BLOCKS_MAX;
    for target in read {
        if left == 0 || began.elapsed() >= LONGEST {
            return;
        }
        let facts = known.iter_mut().find(|facts| Path::new(&facts.path) == target.path && facts.sampled.is_none());
        let Some(facts) = facts else { continue };
        // Where this is not known, as before Linux 6.5, a page in the cache may be dirty.
        let dirty = facts.cached_after.map_or(0, |cached| cached.dirty_bytes.unwrap_or(cached.bytes));
        let Some(file) = open(&target.path, OpenFlags::RDONLY | OpenFlags::DIRECT, 0).ok().filter(|_| dirty == 0)
        else {
            continue;
        };
        let Some(block) = arena.slot_mut(0) else { return };
        let end = target.end.min(facts.size_bytes);
        let mut contents = Contents { file: &file, block: &mut block[..BYTES], until: began + LONGEST };
        let offsets = offsets(target.start, end, BLOCKS_PER_TARGET.min(left));
        left = left.saturating_sub(offsets.len() as u64);
        facts.sampled = contents.sample(&offsets);
    }
}

/// Offsets of up to `count` blocks: one at an arbitrary place of each of as many equal parts of the region.
fn offsets(start: u64, end: u64, count: u64) -> Vec<u64> {
    let first = start.div_ceil(BLOCK);
    let blocks = (end / BLOCK).saturating_sub(first);
    let count = count.min(blocks);
    let place = |part: u64| {
        let from = u128::from(blocks) * u128::from(part) / u128::from(count);
        let to = u128::from(blocks) * u128::from(part + 1) / u128::from(count);
        // A fixed sequence without a period that a file could have.
        let draw = u128::from((part + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11);
        let block = from + draw % (to - from);
        (u64::try_from(block).unwrap_or(0) + first) * BLOCK
    };
    (0..count).map(place).collect()
}

/// One target while its blocks are read.
struct Contents<'a> {
    file: &'a File,
    block: &'a mut [u8],
    until: Instant,
}

impl Contents<'_> {
    /// `None` if no block could be read.
    fn sample(&mut self, offsets: &[u64]) -> Option<SampledBlocks> {
        let mut found = SampledBlocks::default();
        let mut seen: HashMap<Vec<u8>, u32> = HashMap::new();
        for &offset in offsets {
            if Instant::now() > self.until || self.file.read_exact_at(self.block, offset).is_err() {
                break;
            }
            found.blocks += 1;
            if self.block.iter().all(|&byte| byte == 0) {
                found.zeros += 1;
            } else {
                *seen.entry(self.block.to_vec()).or_default() += 1;
            }
        }
        found.alike = seen.into_values().max().filter(|&count| count > 1).unwrap_or(0);
        (found.blocks > 0).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::TargetAccess;

    #[test]
    fn blocks_are_taken_from_all_parts_of_a_region() {
        let found = offsets(1, 1 << 30, 16);
        assert_eq!(found.len(), 16);
        for (part, offset) in found.iter().enumerate() {
            let part = part as u64;
            assert!(offset % BLOCK == 0 && (part << 26) <= *offset && *offset <= (part + 1) << 26, "{part}: {offset}");
        }
        assert_eq!(offsets(0, 3 * BLOCK, 16), [0, BLOCK, 2 * BLOCK]);
        assert_eq!(offsets(BLOCK / 2, 2 * BLOCK, 16), [BLOCK]);
        for (start, end) in [(0, 0), (0, BLOCK - 1), (BLOCK, 0), (1, BLOCK)] {
            assert_eq!(offsets(start, end, 16), [0; 0]);
        }
        assert!(offsets(u64::MAX - 3 * BLOCK, u64::MAX, 16).len() <= 2, "no overflow");
    }

    #[test]
    fn zeros_and_equal_blocks_are_counted_outside_the_page_cache() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("file");
        let mut data = vec![0; 4 * BYTES];
        data.extend(vec![7; 8 * BYTES]);
        data.extend((0..4 * BLOCK / 8).flat_map(|word| (word + 1).to_le_bytes()));
        std::fs::write(&path, &data).unwrap();
        let file = File::open(&path).unwrap();
        file.sync_all().unwrap();
        let size_bytes = data.len() as u64;
        let facts = TargetFacts { path: path.display().to_string(), size_bytes, ..TargetFacts::default() };
        let sampled = |cached_after, target: Target| {
            let targets = vec![TargetFacts { cached_after, ..facts.clone() }];
            let mut monitored = Monitored { targets, ..Monitored::default() };
            sample_contents(&[target.clone(), target], &mut monitored);
            assert!(monitored.own_cpu > Nanos::ZERO);
            monitored.targets[0].sampled
        };
        let target = Target { path: path.clone(), start: 0, end: u64::MAX, access: TargetAccess::Reads };
        let dirty = model::CachedBytes { bytes: BLOCK, dirty_bytes: Some(BLOCK) };
        assert_eq!(sampled(Some(dirty), target.clone()), None, "reading it would write it first");
        let Some(found) = sampled(None, target.clone()) else { return };
        assert_eq!(found, SampledBlocks { blocks: 16, zeros: 4, alike: 8 });
        assert_eq!(sampled(None, Target { path: "/nowhere".into(), ..target }), None);
    }
}
