//! Options about zones.

use super::row::{rows, words};
use crate::error::Complaint;
use crate::options::draft::ZoneMode;
use crate::options::values::{Amount, floats};

words!(MODE, mode -> ZoneMode {
    "none" => ZoneMode::None, "no zones";
    "strided" => ZoneMode::Strided, "windows with gaps between them";
    "zbd" => ZoneMode::Zoned, "zones that are written sequentially and reset as a whole";
});

/// The most open zones that fio accepts.
const OPEN_MOST: i64 = 4096;

/// Parses a share from 0 to 1; 0 means the same as none.
fn share(text: &str) -> Result<Option<f64>, Complaint> {
    match floats(text, 1)?.first() {
        Some(&share) if (0.0..=1.0).contains(&share) => Ok((share > 0.0).then_some(share)),
        _ => Err(Complaint::new("is not a fraction", "give 0 to 1, like 0.5")),
    }
}

fn gap(amount: Amount) -> Result<Amount, Complaint> {
    match amount {
        Amount::Percent(101..) => Err(Complaint::new("is more than all of the region", "give up to 100%")),
        amount => Ok(amount),
    }
}

rows! {
    "zonemode": MODE, "none" => Word(zones.mode, mode); "Zone mode";
    "zonerange": BYTES, "0" => Number(zones.range); "Size of a window of strided zones";
    "zonesize": BYTES, "0" => Number(zones.size); "Bytes of I/O per window, or size of a zone; a zoned device has its own";
    "zonecapacity": BYTES, "0" => Number(zones.zoned.capacity); "Writable bytes of a zone";
    "zoneskip": SHARE, "0" => Amount(zones.skip, gap); "Gap after a window of strided zones";
    "read_beyond_wp": BOOL, "0" => Switch(zones.zoned.reads_anywhere); "Allow reads beyond the write pointer";
    "max_open_zones": between(0, OPEN_MOST), "0" => Count(zones.zoned.open_most, |most| (most > 0).then_some(most));
        "Maximum number of open zones; 0 for no limit";
    "job_max_open_zones": between(0, OPEN_MOST), "0"
        => Count(zones.zoned.opened_by_job_most, |most| (most > 0).then_some(most));
        "Maximum number of open zones per job; 0 for no limit";
    "ignore_zone_limits": BOOL, "0" => Switch(zones.zoned.ignores_limits); "Ignore the device's limits of open zones";
    "zone_reset_threshold": floats(1) => Text(zones.zoned.reset_threshold, share);
        "Fraction of the region that is written before zone resets begin";
    "zone_reset_frequency": floats(1)
        => Text(zones.zoned.reset_frequency, |text| share(text)?.unwrap_or(1.0));
        "Fraction of writes that a zone reset precedes, beyond the threshold";
    "recover_zbd_write_error": BOOL, "0" => Switch(zones.zoned.recovers);
        "Ask a zoned device for the write pointer after a failed write, and go on there";
    "write_zone_remainder": BOOL, "0" => Switch(zones.zoned.writes_remainder);
        "Write also the remainder of a zone that is smaller than a block";
}
