//! Options about the amount of I/O, and the offsets in the file.

use super::row::{Row, Set, kind, put};
use crate::error::Complaint;
use crate::values::{Amount, UnitBase, integer};
use plan::option::Kind;

const GROUP: &str = "Amount and place";

const fn works(name: &'static str, kind: Kind, set: Set, help: &'static str) -> Row {
    Row::works(GROUP, name, kind, set, help)
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

pub(super) const ROWS: &[Row] = &[
    works(
        "size",
        kind::SHARE,
        Set::Amount(|draft, amount| {
            draft.files.size = Some(at_most_all(amount)?);
            Ok(())
        }),
        "Size of the region worked on, all files together; 20% of what is there",
    ),
    works(
        "io_size",
        kind::SHARE,
        Set::Amount(|draft, amount| {
            draft.files.io_size = Some(at_most_all(amount)?);
            Ok(())
        }),
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
            draft.files.file_size = Some((low.min(high), low.max(high)));
            Ok(())
        }),
        "Size of each file, or a range it is drawn from",
    ),
    works(
        "offset",
        kind::SHARE,
        Set::Amount(|draft, amount| {
            draft.files.offset = at_most_all(amount)?;
            Ok(())
        }),
        "Where the region starts in each file",
    )
    .default("0")
    .alias(&["fileoffset"]),
    works(
        "offset_increment",
        kind::SHARE,
        Set::Amount(|draft, amount| {
            draft.files.offset_increment = at_most_all(amount)?;
            Ok(())
        }),
        "How much later it starts for each next clone",
    )
    .default("0"),
    works("offset_align", kind::BYTES, put!(Number, files.handling.offset_align), "Alignment of a relative offset")
        .default("0"),
    works(
        "kb_base",
        Kind::Word(&[("1024", "k is 1024, ki is 1000"), ("1000", "k is 1000, ki is 1024")]),
        Set::Word(|draft, word, _| {
            draft.unit_base = if word == "1000" { UnitBase::Decimal } else { UnitBase::Binary };
            Ok(())
        }),
        "What k means in sizes and in reports",
    )
    .default("1024")
    .first(),
    works(
        "unit_base",
        Kind::Word(&[("0", "bytes"), ("8", "bytes"), ("1", "bits")]),
        Set::Word(|draft, word, _| {
            draft.record.bits = word == "1";
            Ok(())
        }),
        "Report rates in bytes (8) or bits (1)",
    )
    .default("0")
    .first(),
];
