//! fio's normal text output: the lines at the start of a run, the job blocks, group and disk lines.
//!
//! Owns layout, units and rounding, and the reader of reports of fio 1.5x to 3.42. Leaves merging to `model`.

mod job_block;
mod latency;
mod read;
mod start;

use crate::View;
use crate::fio::group;
use crate::fio::group::{Group, GroupSum, RowPart, each_once};
use crate::write_number::{Step, rate, scaled};
pub(crate) use job_block::cpu_percent;
use measure::Direction;
use model::{CpuIdleness, DeviceUsage, JobResult, ReportStyle, RunResult};
pub(crate) use read::TextReader;
pub use start::{
    burner_lines, error_line, job_lines, layout_line, starting_line, version_line, whole_zones_lines,
    wide_offsets_lines,
};
use std::fmt::Write;

/// The report after a run, from the blank line before the first job block to the last disk line.
pub fn write(result: &RunResult, view: &View) -> String {
    let rows = group::printed_rows(result);
    let groups = group::of_rows(&rows);
    let mut text = String::from("\n");
    for row in &rows {
        job_block::write(&mut text, row, &groups, &job_block::When { unix_ms: result.ended_unix_ms, zone: &view.zone });
    }
    for group in &groups {
        write_group(&mut text, group);
    }
    write_disks(&mut text, &result.devices);
    if let Some(found) = &result.cpu_idleness {
        text.push('\n');
        text.push_str(&idleness(found));
    }
    text
}

/// The block of one row, for the sum of several servers.
pub(crate) fn block(row: &JobResult, ended_unix_ms: u64, view: &View) -> String {
    let mut text = String::new();
    let groups = group::of_rows(std::slice::from_ref(row));
    job_block::write(&mut text, row, &groups, &job_block::When { unix_ms: ended_unix_ms, zone: &view.zone });
    text
}

/// The CPU idleness lines (`--idle-prof`); CPUs that were not measured are omitted.
pub fn idleness(found: &CpuIdleness) -> String {
    let mut text = format!("CPU idleness:\n  system: {:.2}%\n", found.system);
    if !found.cpus.is_empty() {
        let cpus: Vec<String> = found.cpus.iter().map(|idle| format!("{idle:.2}%")).collect();
        text.push_str(&format!("  percpu: {}\n", cpus.join(", ")));
    }
    text + &unit_of_work(found)
}

/// The line with the unit work time of `--idle-prof`.
pub fn unit_of_work(found: &CpuIdleness) -> String {
    format!("  unit work: mean={:.2}us, stddev={:.2}\n", found.unit_mean_us, found.unit_deviation_us)
}

/// Appends the group's header and its lines.
fn write_group(text: &mut String, group: &Group) {
    let _ = writeln!(text, "\nRun status group {} (all jobs):", group.number);
    for direction in Direction::ALL {
        if let Some(sum) = &group.sums[direction] {
            text.push_str(&group_line(RowPart::One(direction), sum, &group.style));
        }
    }
    if let Some(sum) = &group.mixed {
        text.push_str(&group_line(RowPart::Mixed, sum, &group.style));
    }
}

fn group_line(kind: RowPart, sum: &GroupSum, style: &ReportStyle) -> String {
    let step = Step::of_base(style.unit_base);
    let rates = |step| {
        let rate = |value| rate(value, style, step);
        (rate(sum.bytes_per_second()), rate(sum.slowest), rate(sum.fastest))
    };
    let (first, second) = (rates(step), rates(step.other()));
    let amount = |step| scaled(sum.bytes, style.significant_figures, step, "B");
    format!(
        "{:>7}: bw={} ({}), {}-{} ({}-{}), io={} ({}), run={}-{}msec\n",
        kind.word().to_uppercase(),
        first.0,
        second.0,
        first.1,
        first.2,
        second.1,
        second.2,
        amount(step),
        amount(step.other()),
        sum.shortest_ms,
        sum.longest_ms
    )
}

/// Appends the section, or nothing if no disk was sampled.
fn write_disks(text: &mut String, devices: &[DeviceUsage]) {
    if devices.is_empty() {
        return;
    }
    text.push_str("\nDisk stats (read/write):\n");
    for device in each_once(devices) {
        write_device(text, device);
    }
}

fn write_device(text: &mut String, device: &DeviceUsage) {
    let _ = match mean_of(&device.members) {
        None => writeln!(text, "  {}: {}", device.name, usage(device, OWN)),
        Some(mean) => writeln!(text, "    {}: {}, {}", device.name, usage(device, OWN), usage(&mean, MEAN)),
    };
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
        // As a run has them: a disk is below a stacked device, and for itself.
        write_disks(&mut text, &[top, disk("sdao", 3, 24, 0.32)]);
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
        write_disks(&mut text, &[]);
        assert_eq!(text, "");
    }
}
