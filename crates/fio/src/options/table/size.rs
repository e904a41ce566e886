//! Options about the sizes of single I/Os, the amount of I/O, and the offsets in the file.

use super::row::{Context, Outcome, place, rows};
use crate::error::Complaint;
use crate::options::draft::Draft;
use crate::options::values::{Amount, UnitBase, block_splits, integer};
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

fn splits(draft: &mut Draft, text: &str, context: &Context<'_>) -> Outcome {
    place(&mut draft.splits, block_splits(text, context.unit_base)?, |split| Ok(Some(BlockSize::Split(split))))
}

fn alignment(bytes: u64) -> Result<Option<u32>, Complaint> {
    let wrong = |_| Complaint::plain(format!("has {bytes}, above the largest value, {LARGEST}"));
    Ok(Some(u32::try_from(bytes).map_err(wrong)?).filter(|&bytes| bytes > 0))
}

/// Rejects percentages above 100. Zones become bytes later, when their size is known.
fn at_most_all(amount: Amount) -> Result<Amount, Complaint> {
    match amount {
        Amount::Percent(percent) if percent > 100 => {
            Err(Complaint::new("is more than all of the file", "give up to 100%"))
        }
        amount => Ok(amount),
    }
}

/// The smallest and the largest size of a file.
fn sizes(text: &str, base: UnitBase) -> Result<(u64, u64), Complaint> {
    let bytes = |part: &str| {
        let bytes = u64::try_from(integer(part, base)?).ok().filter(|&value| value > 0);
        bytes.ok_or_else(|| Complaint::new("is not a size", "write it like 1g, or 1m-1g"))
    };
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    let (low, high) = (bytes(low)?, bytes(high)?);
    Ok((low.min(high), low.max(high)))
}

const BASES: Kind = Kind::Word(&[("1024", "k is 1024, ki is 1000"), ("1000", "k is 1000, ki is 1024")]);

fn unit_base(draft: &mut Draft, word: &str, _: Option<&str>) -> Outcome {
    let decimal = word == "1000";
    draft.unit_base = if decimal { UnitBase::Decimal } else { UnitBase::Binary };
    draft.job.record.unit_base = if decimal { 1000 } else { 1024 };
    Ok(())
}

rows! {
    "bs" | "blocksize": THREE, "4096" => Three(job.load.block_size, |bytes| BlockSize::Fixed(size(bytes)?));
        "Block size: bytes per I/O, for reads, writes, trims";
    "bsrange" | "blocksize_range": RANGE
        => Ranges(job.load.block_size, |range| BlockSize::Range(size(range.0)?, size(range.1)?));
        "Range of block sizes, in multiples of the smaller one";
    "bssplit": TEXT => Text(fn splits); "Block sizes and the percentage of I/Os of each: 4k/60:64k/40";
    "bs_unaligned" | "blocksize_unaligned": FLAG => Switch(job.load.unaligned_sizes);
        "Allow any size in bsrange, not only multiples of the smallest";
    "bs_is_seq_rand": BOOL, "0" => Switch(job.load.sizes_by_order);
        "Use the read block size for sequential and the write block size for random I/Os";
    "ba" | "blockalign": THREE => Three(job.load.align, alignment);
        "Alignment of random offsets, for reads, writes, trims";
    "size": SHARE => Amount(files.size, |amount| Some(at_most_all(amount)?));
        "Total size of all files of the job, in bytes or percent of existing files";
    "io_size" | "io_limit": SHARE => Amount(files.io_size, |amount| Some(at_most_all(amount)?));
        "Amount of I/O, if it differs from size";
    "filesize": BYTES => Text(job.files.file_size, |text, context| Some(sizes(text, context.unit_base)?));
        "Size of each file, or a range of sizes";
    "offset" | "fileoffset": SHARE, "0" => Amount(files.offset, at_most_all); "Start of the I/O in each file";
    "offset_increment": SHARE, "0" => Amount(files.offset_increment, at_most_all);
        "Increment of offset from each clone to the next";
    "offset_align": BYTES, "0" => Number(job.files.handling.offset_align);
        "Alignment to which relative offsets are rounded up";
    "kb_base": BASES, "1024" => Word(fn unit_base), first; "Unit base of sizes and reports";
    "unit_base": Kind::Word(&[("0", "bytes"), ("8", "bytes"), ("1", "bits")]), "0"
        => Word(job.record.bits, |word| word == "1"), first;
        "Report rates in bytes or in bits";
}
