//! Options about the amount of I/O, and the offsets in the file.

use super::row::{Outcome, rows};
use crate::error::Complaint;
use crate::options::draft::Draft;
use crate::options::values::{Amount, UnitBase, integer};
use plan::option::Kind;

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
    "size": SHARE => Amount(files.size, |amount| Some(at_most_all(amount)?));
        "Total size of all files of the job, in bytes or percent of existing files";
    "io_size" | "io_limit": SHARE => Amount(files.io_size, |amount| Some(at_most_all(amount)?));
        "Amount of I/O, if it differs from size";
    "filesize": BYTES => Text(job.files.file_size, |text, context| Some(sizes(text, context.unit_base)?));
        "Size of each file, or a range of sizes";
    "offset" | "fileoffset": SHARE, "0" => Amount(files.offset, at_most_all);
        "Start of the I/O in each file";
    "offset_increment": SHARE, "0" => Amount(files.offset_increment, at_most_all);
        "Increment of offset from each clone to the next";
    "offset_align": BYTES, "0" => Number(job.files.handling.offset_align);
        "Alignment to which relative offsets are rounded up";
    "kb_base": BASES, "1024" => Word(fn unit_base), first;
        "Unit base of sizes and reports";
    "unit_base": Kind::Word(&[("0", "bytes"), ("8", "bytes"), ("1", "bits")]), "0"
        => Word(job.record.bits, |word| word == "1"), first;
        "Report rates in bytes or in bits";
}
