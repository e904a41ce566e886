//! Zone options: their combined meaning, and which of them contradict each other.

use super::{Findings, about};
use crate::draft::{Draft, ZoneDraft, ZoneMode};
use crate::values::Amount;
use measure::Direction;
use plan::{Gap, LoadPlan, Strides, ZonePlan, Zoned};

/// Builds the zone plan of a job.
pub(super) fn plan(zones: &ZoneDraft) -> ZonePlan {
    let or = |value: u64, other: u64| if value == 0 { other } else { value };
    match zones.mode {
        ZoneMode::None => ZonePlan::None,
        ZoneMode::Strided => ZonePlan::Strided(Strides {
            amount: zones.size,
            window: or(zones.range, zones.size),
            skip: match zones.skip {
                Amount::Bytes(bytes) => Gap::Bytes(bytes),
                Amount::Zones(count) => Gap::Bytes(count.saturating_mul(zones.size)),
                Amount::Percent(percent) => Gap::Percent(percent),
            },
        }),
        ZoneMode::Zoned => ZonePlan::Zoned(Zoned {
            size: zones.size,
            capacity: or(zones.zoned.capacity, zones.size),
            open_most: [zones.zoned.open_most.unwrap_or(0), zones.job_open_most]
                .into_iter()
                .filter(|&most| most > 0)
                .min(),
            ..zones.zoned
        }),
    }
}

/// Options that require zonemode=zbd.
const OF_ZONED: [&str; 7] = [
    "zonecapacity",
    "read_beyond_wp",
    "max_open_zones",
    "job_max_open_zones",
    "zone_reset_threshold",
    "zone_reset_frequency",
    "write_zone_remainder",
];

/// Rejects zone options that contradict each other or the rest of the job.
pub(super) fn check(draft: &Draft, load: &LoadPlan, findings: &mut Findings<'_>) {
    let zones = &draft.zones;
    let mut wrong = |options: &[&str], what: &str, help: &str| {
        findings.problems.push(about(draft, options, what, Some(help.to_owned())));
    };
    let counted = [draft.files.size, draft.files.io_size, Some(draft.files.offset), Some(draft.files.offset_increment)];
    let in_zones = counted.into_iter().flatten().any(|amount| matches!(amount, Amount::Zones(_)));
    match zones.mode {
        ZoneMode::None => {
            if zones.size > 0 || zones.range > 0 || zones.skip != Amount::Bytes(0) || in_zones {
                let options = ["zonesize", "zonerange", "zoneskip", "size", "io_size", "offset", "offset_increment"];
                wrong(&options, "zones need zonemode", "set zonemode=strided or zonemode=zbd");
            }
            if let Some(option) = OF_ZONED.iter().find(|option| draft.given(option)) {
                let meant = draft.zones != ZoneDraft::default();
                if meant {
                    wrong(&[option], "this needs zonemode=zbd", "set zonemode=zbd and zonesize");
                }
            }
        }
        _ if zones.size == 0 => wrong(&["zonemode"], "zones have no size", "give zonesize"),
        ZoneMode::Strided => {}
        ZoneMode::Zoned => {
            if zones.zoned.capacity > zones.size {
                wrong(&["zonecapacity", "zonesize"], "a zone's capacity is beyond its size", "make it smaller");
            }
            if zones.job_open_most > 0 && zones.zoned.open_most.is_none() {
                let help = "give max_open_zones";
                wrong(&["job_max_open_zones"], "job_max_open_zones needs a limit of all jobs", help);
            }
            if load.mix.contains(Direction::Trim) {
                let help = "an ordinary device has nothing to reset: a worker's zones are empty when it starts";
                wrong(&["rw", "zonemode"], "zonemode=zbd takes no trims", help);
            }
        }
    }
}
