//! What the disks under the files did.

use model::DeviceUsage;
use std::fmt::Write;

/// Appends the lines, or nothing when no disk was watched.
pub(super) fn write(text: &mut String, devices: &[DeviceUsage]) {
    if devices.is_empty() {
        return;
    }
    text.push_str("\nDisk stats (read/write):\n");
    for device in devices {
        let indent = if device.members.is_empty() { "  " } else { "    " };
        text.push_str(&format!("{indent}{}: {}", device.name, own(device, "")));
        if let Some(members) = Members::of(&device.members) {
            text.push_str(&members.line());
        }
        text.push('\n');
        for member in &device.members {
            let _ = writeln!(text, "  {}: {}", member.name, own(member, ""));
        }
    }
}

fn own(device: &DeviceUsage, prefix: &str) -> String {
    let pair = |values: [u64; 2]| format!("{}/{}", values[0], values[1]);
    format!(
        "{prefix}ios={}, {prefix}sectors={}, {prefix}merge={}, {prefix}ticks={}, {prefix}in_queue={}, {prefix}util={:.2}%",
        pair(device.ios),
        pair(device.sectors),
        pair(device.merges),
        pair(device.ticks_ms),
        device.in_queue_ms,
        device.utilisation_percent().unwrap_or(0.0)
    )
}

/// The mean over the devices below a stacked one; utilisation is the highest.
pub(crate) struct Members {
    pub(crate) mean: DeviceUsage,
}

impl Members {
    /// `None` without members.
    pub(crate) fn of(members: &[DeviceUsage]) -> Option<Members> {
        let count = u64::try_from(members.len()).ok().filter(|&count| count > 0)?;
        let mean = |get: fn(&DeviceUsage) -> u64| members.iter().map(get).sum::<u64>() / count;
        let highest = members.iter().filter_map(DeviceUsage::utilisation_percent).fold(0.0, f64::max);
        Some(Members {
            mean: DeviceUsage {
                ios: [mean(|device| device.ios[0]), mean(|device| device.ios[1])],
                sectors: [mean(|device| device.sectors[0]), mean(|device| device.sectors[1])],
                merges: [mean(|device| device.merges[0]), mean(|device| device.merges[1])],
                ticks_ms: [mean(|device| device.ticks_ms[0]), mean(|device| device.ticks_ms[1])],
                in_queue_ms: mean(|device| device.in_queue_ms),
                stated_utilisation_percent: Some(highest),
                ..DeviceUsage::default()
            },
        })
    }

    fn line(&self) -> String {
        format!(", {}", own(&self.mean, "aggr"))
    }
}
