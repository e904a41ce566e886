//! Options about the sizes of single I/Os.

use super::row::{Row, Set, place, put, works};
use crate::error::Complaint;
use crate::options::values::block_splits;
use plan::BlockSize;
use plan::option::Kind;

/// The largest size of one I/O.
const LARGEST: u64 = u32::MAX as u64;

fn size(bytes: u64) -> Result<u32, Complaint> {
    match u32::try_from(bytes) {
        Ok(0) => Err(Complaint::new("is below the smallest value, 1", "write it like 4k")),
        Ok(size) => Ok(size),
        Err(_) => Err(Complaint::plain(format!("is above the largest value, {LARGEST}"))),
    }
}

pub(super) const ROWS: &[Row] = &[
    works(
        "bs",
        Kind::ThreeWay,
        Set::Three(|draft, values| {
            place(&mut draft.job.load.block_size, values, |bytes| size(bytes).map(BlockSize::Fixed))
        }),
        "Block size: bytes per I/O, for reads, writes, trims",
    )
    .default("4096")
    .alias(&["blocksize"]),
    works(
        "bsrange",
        Kind::Range,
        Set::Ranges(|draft, values| {
            place(&mut draft.job.load.block_size, values, |(low, high)| Ok(BlockSize::Range(size(low)?, size(high)?)))
        }),
        "Range of block sizes, in multiples of the smaller one",
    )
    .alias(&["blocksize_range"]),
    works(
        "bssplit",
        Kind::Text,
        Set::Text(|draft, text, _| {
            place(&mut draft.splits, block_splits(text, draft.unit_base)?, |split| Ok(Some(BlockSize::Split(split))))
        }),
        "Block sizes and the percentage of I/Os of each: 4k/60:64k/40",
    ),
    works(
        "bs_unaligned",
        Kind::Flag,
        put!(Switch, job.load.unaligned_sizes),
        "Allow any size in bsrange, not only multiples of the smallest",
    )
    .alias(&["blocksize_unaligned"]),
    works(
        "bs_is_seq_rand",
        Kind::Bool,
        put!(Switch, job.load.sizes_by_order),
        "Use the read block size for sequential and the write block size for random I/Os",
    )
    .default("0"),
    works(
        "ba",
        Kind::ThreeWay,
        Set::Three(|draft, values| {
            place(&mut draft.job.load.align, values, |bytes| {
                let wrong = |_| Complaint::plain(format!("has {bytes}, above the largest value, {LARGEST}"));
                Ok(Some(u32::try_from(bytes).map_err(wrong)?).filter(|&bytes| bytes > 0))
            })
        }),
        "Alignment of random offsets, for reads, writes, trims",
    )
    .alias(&["blockalign"]),
];
