//! Options about zones.

use super::row::{Row, Set, kind, put, refused, words, works};
use crate::error::Complaint;
use crate::options::draft::ZoneMode;
use crate::options::values::{Amount, floats};
use plan::option::Kind;

words!(MODE, mode -> ZoneMode {
    "none" => ZoneMode::None, "no zones";
    "strided" => ZoneMode::Strided, "windows with gaps between them";
    "zbd" => ZoneMode::Zoned, "zones that are written sequentially and reset as a whole";
});

/// The most open zones that fio accepts.
const OPEN_ZONES: Kind = Kind::Integer { least: 0, most: 4096 };

/// Parses a share from 0 to 1; 0 means the same as none.
fn share(text: &str) -> Result<Option<f64>, Complaint> {
    match floats(text, 1)?.first() {
        Some(&share) if (0.0..=1.0).contains(&share) => Ok((share > 0.0).then_some(share)),
        _ => Err(Complaint::new("is not a fraction", "give 0 to 1, like 0.5")),
    }
}

const NO_REPORT: &str = "an ordinary device reports no zones, and zoned devices are not driven yet";

pub(super) const ROWS: &[Row] = &[
    works("zonemode", MODE, put!(Word, zones.mode, |word| mode(word)?), "Zone mode").default("none"),
    works("zonerange", kind::BYTES, put!(Number, zones.range), "Size of a window of strided zones").default("0"),
    works("zonesize", kind::BYTES, put!(Number, zones.size), "Bytes of I/O per window, or size of a zone").default("0"),
    works("zonecapacity", kind::BYTES, put!(Number, zones.zoned.capacity), "Writable bytes of a zone").default("0"),
    works(
        "zoneskip",
        kind::SHARE,
        Set::Amount(|draft, amount| match amount {
            Amount::Percent(101..) => Err(Complaint::new("is more than all of the region", "give up to 100%")),
            amount => {
                draft.zones.skip = amount;
                Ok(())
            }
        }),
        "Gap after a window of strided zones",
    )
    .default("0"),
    works(
        "read_beyond_wp",
        Kind::Bool,
        put!(Switch, zones.zoned.reads_anywhere),
        "Allow reads beyond the write pointer",
    )
    .default("0"),
    works(
        "max_open_zones",
        OPEN_ZONES,
        put!(Count, zones.zoned.open_most, |most| (most > 0).then_some(most)),
        "Maximum number of open zones; 0 for no limit",
    )
    .default("0"),
    works(
        "job_max_open_zones",
        OPEN_ZONES,
        put!(Count, zones.zoned.opened_by_job_most, |most| (most > 0).then_some(most)),
        "Maximum number of open zones per job; 0 for no limit",
    )
    .default("0"),
    refused("ignore_zone_limits", Kind::Bool, NO_REPORT, "Ignore the device's limits of open zones").default("0"),
    works(
        "zone_reset_threshold",
        Kind::Floats { most: 1 },
        put!(Text, zones.zoned.reset_threshold, |text| share(text)?),
        "Fraction of the region that is written before zone resets begin",
    ),
    works(
        "zone_reset_frequency",
        Kind::Floats { most: 1 },
        put!(Text, zones.zoned.reset_frequency, |text| share(text)?.unwrap_or(1.0)),
        "Fraction of writes that a zone reset precedes, beyond the threshold",
    ),
    refused("recover_zbd_write_error", Kind::Bool, NO_REPORT, "Continue after a failed zone write").default("0"),
    works(
        "write_zone_remainder",
        Kind::Bool,
        put!(Switch, zones.zoned.writes_remainder),
        "Write also the remainder of a zone that is smaller than a block",
    )
    .default("0"),
];
