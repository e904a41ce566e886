//! Options about the amount of I/O, and the offsets in the file.

use super::row::{Row, Set, kind, put, works};
use crate::error::Complaint;
use crate::values::{Amount, UnitBase, integer};
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

pub(super) const ROWS: &[Row] = &[
    works(
        "size",
        kind::SHARE,
        put!(Amount, files.size, |amount| Some(at_most_all(amount)?)),
        "Size of the region worked on, all files together; 20% of what is there",
    ),
    works(
        "io_size",
        kind::SHARE,
        put!(Amount, files.io_size, |amount| Some(at_most_all(amount)?)),
        "Amount of I/O, where it differs from size",
    )
    .alias(&["io_limit"]),
    works(
        "filesize",
        kind::BYTES,
        Set::Text(|draft, text, _| {
            let bytes = |part: &str| {
                let value = integer(part, draft.unit_base)?;
                u64::try_from(value)
                    .ok()
                    .filter(|&value| value > 0)
                    .ok_or_else(|| Complaint::new("is not a size", "write it like 1g, or 1m-1g"))
            };
            let (low, high) = text.split_once('-').unwrap_or((text, text));
            let (low, high) = (bytes(low)?, bytes(high)?);
            draft.job.files.file_size = Some((low.min(high), low.max(high)));
            Ok(())
        }),
        "Size of each file, or a range it is drawn from",
    ),
    works(
        "offset",
        kind::SHARE,
        put!(Amount, files.offset, |amount| at_most_all(amount)?),
        "Where the region starts in each file",
    )
    .default("0")
    .alias(&["fileoffset"]),
    works(
        "offset_increment",
        kind::SHARE,
        put!(Amount, files.offset_increment, |amount| at_most_all(amount)?),
        "How much later it starts for each next clone",
    )
    .default("0"),
    works("offset_align", kind::BYTES, put!(Number, job.files.handling.offset_align), "Alignment of a relative offset")
        .default("0"),
    works(
        "kb_base",
        Kind::Word(&[("1024", "k is 1024, ki is 1000"), ("1000", "k is 1000, ki is 1024")]),
        Set::Word(|draft, word, _| {
            let decimal = word == "1000";
            draft.unit_base = if decimal { UnitBase::Decimal } else { UnitBase::Binary };
            draft.job.record.unit_base = if decimal { 1000 } else { 1024 };
            Ok(())
        }),
        "What k means in sizes and in reports",
    )
    .default("1024")
    .first(),
    works(
        "unit_base",
        Kind::Word(&[("0", "bytes"), ("8", "bytes"), ("1", "bits")]),
        put!(Word, job.record.bits, |word| word == "1"),
        "Report rates in bytes (8) or bits (1)",
    )
    .default("0")
    .first(),
];
