//! The line about what a disk does at the program's pattern.

use crate::pages;
use measure::{float, text};
use model::{DiskRate, DiskRates};

/// The line of the text.
pub(super) fn line(disk: &DiskRates) -> String {
    let order = if disk.is_sequential { "sequential" } else { "random" };
    let rate = |rate: &DiskRate| {
        let least = if rate.at_least { "at least " } else { "" };
        format!("{least}{}", text::number(rate.per_second))
    };
    let mut line = format!(
        "does {} {order} {}s of {} per second one at a time",
        rate(&disk.alone),
        disk.direction,
        text::rounded_size(float(disk.block_bytes))
    );
    if disk.best.depth > disk.alone.depth {
        line += &format!(", {} at depth {}", rate(&disk.best), disk.best.depth);
    }
    format!("{line} ({} of {})", disk.command, pages::moment(disk.began_unix_ms, "%Y-%m-%d"))
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_has_its_rates_with_their_depths_and_date() {
        let rate = |depth, per_second| DiskRate { depth, per_second, ..DiskRate::default() };
        let mut disk = DiskRates {
            direction: "read".to_owned(),
            block_bytes: 8192,
            is_sequential: false,
            alone: rate(1, 12_100.0),
            best: rate(64, 412_000.0),
            command: "survey".to_owned(),
            began_unix_ms: 1_795_132_800_000,
            rates: Vec::new(),
        };
        let alone = "does 12,100 random reads of 8 KiB per second one at a time";
        assert_eq!(line(&disk), format!("{alone}, 412,000 at depth 64 (survey of 2026-11-20)"));
        disk.best.at_least = true;
        assert!(line(&disk).contains(", at least 412,000 at depth 64"), "{}", line(&disk));
        disk.best = disk.alone;
        assert_eq!(line(&disk), format!("{alone} (survey of 2026-11-20)"));
    }
}
