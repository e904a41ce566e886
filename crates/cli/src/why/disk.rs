//! What a disk does at the program's pattern, and what more depth would give.

use crate::pages;
use measure::{float, text};
use serde::{Deserialize, Serialize};

/// Rates of a disk at one pattern.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Disk {
    /// `read` or `write`.
    pub(super) direction: String,
    pub(super) block_bytes: u64,
    pub(super) is_sequential: bool,
    /// At depth 1.
    pub(super) alone: Rate,
    /// At the best depth.
    pub(super) best: Rate,
    /// The command that measured, and when.
    pub(super) command: String,
    pub(super) began_unix_ms: u64,
    /// The gain of the program at the best depth, where that is known.
    pub(super) gain: Option<Gain>,
}

/// A rate at a depth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Rate {
    pub(super) depth: u32,
    pub(super) per_second: f64,
    /// True if the tester was the limit: the disk may do more.
    pub(super) at_least: bool,
    /// Ends of its 95 % interval.
    pub(super) within: Option<[f64; 2]>,
}

/// A rate over that at depth 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Gain {
    pub(super) depth: u32,
    pub(super) times: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Disk {
    /// The line of the text.
    pub(super) fn line(&self) -> String {
        let order = if self.is_sequential { "sequential" } else { "random" };
        let rate = |rate: &Rate| {
            let least = if rate.at_least { "at least " } else { "" };
            format!("{least}{}", text::number(rate.per_second))
        };
        let mut line = format!(
            "does {} {order} {}s of {} per second one at a time",
            rate(&self.alone),
            self.direction,
            text::rounded_size(float(self.block_bytes))
        );
        if self.best.depth > self.alone.depth {
            line += &format!(", {} at depth {}", rate(&self.best), self.best.depth);
        }
        format!("{line} ({} of {})", self.command, pages::moment(self.began_unix_ms, "%Y-%m-%d"))
    }
}

impl Gain {
    /// Its sentence.
    pub(super) fn sentence(&self) -> String {
        let number = text::number;
        format!(
            "Depth {} would give {} times as many per second ({} to {}) if its I/Os are independent.",
            self.depth,
            number(self.times),
            number(self.low),
            number(self.high)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_has_its_rates_with_their_depths_and_date() {
        let rate = |depth, per_second| Rate { depth, per_second, at_least: false, within: None };
        let mut disk = Disk {
            direction: "read".to_owned(),
            block_bytes: 8192,
            is_sequential: false,
            alone: rate(1, 12_100.0),
            best: rate(64, 412_000.0),
            command: "survey".to_owned(),
            began_unix_ms: 1_795_132_800_000,
            gain: Some(Gain { depth: 8, times: 6.9, low: 5.9, high: 7.6 }),
        };
        let alone = "does 12,100 random reads of 8 KiB per second one at a time";
        assert_eq!(disk.line(), format!("{alone}, 412,000 at depth 64 (survey of 2026-11-20)"));
        let gain = disk.gain.unwrap().sentence();
        assert_eq!(gain, "Depth 8 would give 6.9 times as many per second (5.9 to 7.6) if its I/Os are independent.");
        disk.best.at_least = true;
        assert!(disk.line().contains(", at least 412,000 at depth 64"), "{}", disk.line());
        disk.best = disk.alone;
        assert_eq!(disk.line(), format!("{alone} (survey of 2026-11-20)"));
    }
}
