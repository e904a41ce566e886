//! Options about the sizes of single I/Os.

use super::row::{Context, Outcome, place, rows};
use crate::error::Complaint;
use crate::options::draft::Draft;
use crate::options::values::block_splits;
use plan::BlockSize;

/// The largest size of one I/O.
const LARGEST: u64 = u32::MAX as u64;

fn size(bytes: u64) -> Result<u32, Complaint> {
    match u32::try_from(bytes) {
        Ok(0) => Err(Complaint::new("is below the smallest value, 1", "write it like 4k")),
        Ok(size) => Ok(size),
        Err(_) => Err(Complaint::plain(format!("is above the largest value, {LARGEST}"))),
    }
}

fn splits(draft: &mut Draft, text: &str, context: &Context<'_>) -> Outcome {
    place(&mut draft.splits, block_splits(text, context.unit_base)?, |split| Ok(Some(BlockSize::Split(split))))
}

fn alignment(bytes: u64) -> Result<Option<u32>, Complaint> {
    let wrong = |_| Complaint::plain(format!("has {bytes}, above the largest value, {LARGEST}"));
    Ok(Some(u32::try_from(bytes).map_err(wrong)?).filter(|&bytes| bytes > 0))
}

rows! {
    "bs" | "blocksize": THREE, "4096" => Three(job.load.block_size, |bytes| BlockSize::Fixed(size(bytes)?));
        "Block size: bytes per I/O, for reads, writes, trims";
    "bsrange" | "blocksize_range": RANGE
        => Ranges(job.load.block_size, |range| BlockSize::Range(size(range.0)?, size(range.1)?));
        "Range of block sizes, in multiples of the smaller one";
    "bssplit": TEXT => Text(fn splits);
        "Block sizes and the percentage of I/Os of each: 4k/60:64k/40";
    "bs_unaligned" | "blocksize_unaligned": FLAG => Switch(job.load.unaligned_sizes);
        "Allow any size in bsrange, not only multiples of the smallest";
    "bs_is_seq_rand": BOOL, "0" => Switch(job.load.sizes_by_order);
        "Use the read block size for sequential and the write block size for random I/Os";
    "ba" | "blockalign": THREE => Three(job.load.align, alignment);
        "Alignment of random offsets, for reads, writes, trims";
}
