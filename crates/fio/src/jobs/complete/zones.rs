//! Zone options: their combined meaning, and which of them contradict each other.

use super::Findings;
use crate::options::draft::{Draft, ZoneDraft, ZoneMode};
use crate::options::values::Amount;
use measure::Direction;
use plan::{BlockSize, Gap, LoadPlan, Strides, ZONE_BYTES_MAX, ZonePlan, Zoned};

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
        ZoneMode::Zoned => {
            ZonePlan::Zoned(Zoned { size: zones.size, capacity: or(zones.zoned.capacity, zones.size), ..zones.zoned })
        }
    }
}

/// Options that require zonemode=zbd.
const OF_ZONED: [&str; 9] = [
    "ignore_zone_limits",
    "recover_zbd_write_error",
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
    let counted = [draft.files.size, draft.files.io_size, Some(draft.files.offset), Some(draft.files.offset_increment)];
    let in_zones = counted.into_iter().flatten().any(|amount| matches!(amount, Amount::Zones(_)));
    match zones.mode {
        ZoneMode::None => {
            if zones.size > 0 || zones.range > 0 || zones.skip != Amount::Bytes(0) || in_zones {
                let options = ["zonesize", "zonerange", "zoneskip", "size", "io_size", "offset", "offset_increment"];
                findings.reject(&options, "zones need zonemode", "set zonemode=strided or zonemode=zbd");
            }
            if let Some(option) = OF_ZONED.iter().find(|option| draft.given(option)) {
                let meant = draft.zones != ZoneDraft::default();
                if meant {
                    findings.reject(&[option], "this needs zonemode=zbd", "set zonemode=zbd and zonesize");
                }
            }
        }
        ZoneMode::Strided if zones.size == 0 => findings.reject(&["zonemode"], "zones have no size", "give zonesize"),
        ZoneMode::Strided => {}
        ZoneMode::Zoned => check_zoned(draft, load, findings),
    }
}

/// Rejects what zones that are written sequentially cannot do.
fn check_zoned(draft: &Draft, load: &LoadPlan, findings: &mut Findings<'_>) {
    let (zones, size) = (&draft.zones, draft.zones.size);
    if zones.zoned.recovers && !draft.job.limits.continue_on_error.write {
        let help = "add continue_on_error=write";
        findings.reject(&["recover_zbd_write_error"], "the job ends with its first failed write", help);
    }
    // A zoned device states the size; what depends on it is checked when the device is known.
    if size == 0 {
        return check_without_size(draft, load, findings);
    }
    if !(512..ZONE_BYTES_MAX).contains(&size) {
        findings.reject(&["zonesize"], "a zone has at least 512 bytes and less than 16 TiB", "give another zonesize");
    }
    if zones.zoned.capacity > size {
        findings.reject(&["zonecapacity", "zonesize"], "a zone's capacity is beyond its size", "make it smaller");
    }
    let least = u64::from(load.block_size.write.smallest());
    if load.mix.contains(Direction::Write) && (1..least).contains(&zones.zoned.capacity) {
        let help = "give a smaller bs";
        findings.reject(&["zonecapacity", "bs"], "a written block is larger than a zone's capacity", help);
    }
    if zones.zoned.opened_by_job_most.is_some() && zones.zoned.open_most.is_none() {
        let help = "give max_open_zones";
        findings.reject(&["job_max_open_zones"], "job_max_open_zones needs a limit of all jobs", help);
    }
    if let Amount::Bytes(skip) = zones.skip
        && skip % size.max(1) > 0
    {
        findings.reject(&["zoneskip", "zonesize"], "zoneskip is not a multiple of the zone size", "give a multiple");
    }
    check_without_size(draft, load, findings);
    let trims = &load.block_size.trim;
    if load.mix.contains(Direction::Trim) && *trims != BlockSize::Fixed(u32::try_from(size).unwrap_or(u32::MAX)) {
        let help = "a trim resets a whole zone: give bs=,,SIZE with the zone size";
        findings.reject(&["bs", "zonesize"], "trims are not of the zone size", help);
    }
    if load.mix.contains(Direction::Write) && u64::from(load.block_size.write.largest()) > size {
        findings.reject(&["bs", "zonesize"], "a written block is larger than a zone", "give a smaller bs");
    }
}

/// Rejects what no size of zones makes possible.
fn check_without_size(draft: &Draft, load: &LoadPlan, findings: &mut Findings<'_>) {
    if draft.verify.plan.replay && draft.given("verify") {
        let help = "where a write goes in a zone depends on the others";
        let what = "zones are not verified by generating their writes again";
        findings.reject(&["experimental_verify", "zonemode"], what, help);
    }
    let trims = &load.block_size.trim;
    if load.mix.contains(Direction::Trim) && !matches!(trims, BlockSize::Fixed(_)) {
        let help = "a trim resets a whole zone: give bs=,,SIZE with the zone size";
        findings.reject(&["bs"], "trims are not of the zone size", help);
    }
}
