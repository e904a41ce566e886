//! `Disk stats` section: counters of the disks under the job files.

use model::DeviceUsage;
use std::fmt::Write;

/// Appends the section, or nothing if no disk was sampled.
pub(super) fn write(text: &mut String, devices: &[DeviceUsage]) {
    if devices.is_empty() {
        return;
    }
    text.push_str("\nDisk stats (read/write):\n");
    for device in devices {
        write_device(text, device);
    }
}

/// Writes the line of a device and those of the devices below it.
fn write_device(text: &mut String, device: &DeviceUsage) {
    let _ = match mean_of(&device.members) {
        None => writeln!(text, "  {}: {}", device.name, usage(device, OWN)),
        Some(mean) => writeln!(text, "    {}: {}, {}", device.name, usage(device, OWN), usage(&mean, MEAN)),
    };
    for member in &device.members {
        write_device(text, member);
    }
}

/// Prefix of `ios` and the other keys, and of `sectors`.
type Prefixes = [&'static str; 2];
/// Prefixes of a device's own numbers.
const OWN: Prefixes = ["", ""];
/// Prefixes of the means over lower devices; fio spells the one of sectors `agg`.
const MEAN: Prefixes = ["aggr", "agg"];

fn usage(device: &DeviceUsage, [prefix, before_sectors]: Prefixes) -> String {
    let pair = |values: [u64; 2]| format!("{}/{}", values[0], values[1]);
    let sectors = device.sectors.map_or_else(String::new, |both| format!("{before_sectors}sectors={}, ", pair(both)));
    format!(
        "{prefix}ios={}, {sectors}{prefix}merge={}, {prefix}ticks={}, {prefix}in_queue={}, {prefix}util={:.2}%",
        pair(device.ios),
        pair(device.merges),
        pair(device.ticks_ms),
        device.in_queue_ms,
        device.utilisation_percent().unwrap_or(0.0)
    )
}

/// Means over the devices below a stacked device, with the maximum of their utilization; `None` if there are none.
pub(crate) fn mean_of(members: &[DeviceUsage]) -> Option<DeviceUsage> {
    let count = u64::try_from(members.len()).ok().filter(|&count| count > 0)?;
    let mean = |get: fn(&DeviceUsage) -> u64| members.iter().map(get).sum::<u64>() / count;
    let highest = members.iter().filter_map(DeviceUsage::utilisation_percent).fold(0.0, f64::max);
    Some(DeviceUsage {
        ios: [mean(|device| device.ios[0]), mean(|device| device.ios[1])],
        sectors: members.iter().all(|member| member.sectors.is_some()).then(|| {
            let of = |device: &DeviceUsage, at: usize| device.sectors.map_or(0, |both| both[at]);
            [0, 1].map(|at| members.iter().map(|member| of(member, at)).sum::<u64>() / count)
        }),
        merges: [mean(|device| device.merges[0]), mean(|device| device.merges[1])],
        ticks_ms: [mean(|device| device.ticks_ms[0]), mean(|device| device.ticks_ms[1])],
        in_queue_ms: mean(|device| device.in_queue_ms),
        stated_utilisation_percent: Some(highest),
        ..DeviceUsage::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(name: &str, reads: u64, sectors: u64, util: f64) -> DeviceUsage {
        DeviceUsage {
            name: name.to_owned(),
            ios: [reads, 56],
            sectors: Some([sectors, 448]),
            ticks_ms: [1000, 10],
            in_queue_ms: 1010,
            stated_utilisation_percent: Some(util),
            ..DeviceUsage::default()
        }
    }

    #[test]
    fn a_stacked_device_shows_mean_and_highest_utilisation() {
        let below = vec![disk("sdh", 39_323, 314_584, 99.81), disk("sdao", 3, 24, 0.32)];
        let stacked = DeviceUsage { members: below, ..disk("dm-7", 39_320, 314_560, 99.82) };
        let top = DeviceUsage { members: vec![stacked], ..disk("dm-31", 1, 8, 1.0) };
        let mut text = String::new();
        write(&mut text, &[top]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..2], ["", "Disk stats (read/write):"]);
        assert!(lines[2].starts_with("    dm-31: ios=1/56, sectors=8/448, "), "{}", lines[2]);
        assert_eq!(
            lines[3],
            "    dm-7: ios=39320/56, sectors=314560/448, merge=0/0, ticks=1000/10, in_queue=1010, util=99.82%, \
             aggrios=19663/56, aggsectors=157304/448, aggrmerge=0/0, aggrticks=1000/10, aggrin_queue=1010, aggrutil=99.81%"
        );
        assert_eq!(lines[5], "  sdao: ios=3/56, sectors=24/448, merge=0/0, ticks=1000/10, in_queue=1010, util=0.32%");
        assert_eq!(lines.len(), 6);
    }

    #[test]
    fn without_disks_there_is_no_heading() {
        let mut text = String::new();
        write(&mut text, &[]);
        assert_eq!(text, "");
    }
}
