//! Options about the sizes of single I/Os.

use super::row::{Row, Set, place, put};
use crate::error::Complaint;
use crate::values::block_split;
use measure::PerDirection;
use plan::BlockSize;
use plan::option::Kind;

const GROUP: &str = "Block sizes";

const fn works(name: &'static str, kind: Kind, set: Set, help: &'static str) -> Row {
    Row::works(GROUP, name, kind, set, help)
}

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
            let mut sizes = [None, None, None];
            for (slot, value) in sizes.iter_mut().zip(values) {
                *slot = value.map(size).transpose()?.map(BlockSize::Fixed);
            }
            place(&mut draft.load.block_size, sizes);
            Ok(())
        }),
        "Size of one I/O, for reads, writes, trims",
    )
    .default("4096")
    .alias(&["blocksize"]),
    works(
        "bsrange",
        Kind::Range,
        Set::Ranges(|draft, values| {
            let mut sizes = [None, None, None];
            for (slot, value) in sizes.iter_mut().zip(values) {
                *slot = match value {
                    Some((low, high)) => Some(BlockSize::Range(size(low)?, size(high)?)),
                    None => None,
                };
            }
            place(&mut draft.load.block_size, sizes);
            Ok(())
        }),
        "Sizes drawn between two ends, in multiples of the smaller",
    )
    .alias(&["blocksize_range"]),
    works(
        "bssplit",
        Kind::Text,
        Set::Text(|draft, text, _| {
            let [read, write, trim] = block_split(text, draft.unit_base)?.map(BlockSize::Split);
            draft.load.block_size = PerDirection { read, write, trim };
            Ok(())
        }),
        "Sizes with their shares in percent, 4k/60:64k/40",
    ),
    works(
        "bs_unaligned",
        Kind::Flag,
        put!(Switch, load.unaligned_sizes),
        "Sizes between the ends of bsrange need not be multiples",
    )
    .alias(&["blocksize_unaligned"]),
    works(
        "bs_is_seq_rand",
        Kind::Bool,
        put!(Switch, load.sizes_by_order),
        "Read size for sequential, write size for random I/Os",
    )
    .default("0"),
    works(
        "ba",
        Kind::ThreeWay,
        Set::Three(|draft, values| {
            if let Some(wrong) = values.into_iter().flatten().find(|&bytes| u32::try_from(bytes).is_err()) {
                return Err(Complaint::plain(format!("has {wrong}, above the largest value, {LARGEST}")));
            }
            place(&mut draft.load.align, values);
            Ok(())
        }),
        "Alignment of random offsets",
    )
    .alias(&["blockalign"]),
];
