//! Options about zones.

use super::row::{NOT_YET, Row, kind};
use crate::option::Kind;

const GROUP: &str = "Zones";

const fn refused(name: &'static str, kind: Kind, reason: &'static str, help: &'static str) -> Row {
    Row::refused(GROUP, name, kind, reason, help)
}

pub(super) const ROWS: &[Row] = &[
    refused("zonemode", Kind::Text, NOT_YET, "strided or zbd").default("none"),
    refused("zonerange", kind::BYTES, NOT_YET, "Distance from zone to zone").default("0"),
    refused("zonesize", kind::BYTES, NOT_YET, "Size of a zone").default("0"),
    refused("zonecapacity", kind::BYTES, NOT_YET, "Usable size of a zone").default("0"),
    refused("zoneskip", kind::SHARE, NOT_YET, "Bytes skipped after a zone").default("0"),
    refused("read_beyond_wp", Kind::Bool, NOT_YET, "Read beyond the write pointer").default("0"),
    refused("max_open_zones", kind::COUNT, NOT_YET, "Zones open at a time").default("0"),
    refused("job_max_open_zones", kind::COUNT, NOT_YET, "Zones open at a time in one job").default("0"),
    refused("ignore_zone_limits", Kind::Bool, NOT_YET, "Disregard the device's zone limits").default("0"),
    refused("zone_reset_threshold", Kind::Floats { most: 1 }, NOT_YET, "Share of written zones that triggers a reset"),
    refused("zone_reset_frequency", Kind::Floats { most: 1 }, NOT_YET, "Share of writes followed by a reset"),
    refused("recover_zbd_write_error", Kind::Bool, NOT_YET, "Go on after a failed zone write").default("0"),
    refused("write_zone_remainder", Kind::Bool, NOT_YET, "Write the rest of a zone that is smaller than a block")
        .default("0"),
];
