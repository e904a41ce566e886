//! Identities of the devices' counters, alone and compared with the jobs.

use super::{Equation, Identity, unknown};
use crate::run_facts::{block_size, bytes_asked, bytes_at_devices, float, unseen_by_devices, watched_devices};
use measure::{Direction, text};
use model::{DeviceUsage, RunResult};

const COUNTERS: (f64, &str) = (0.03, "the kernel counts milliseconds, and requests in flight at the edges");
/// Milliseconds by which time in the queue can differ from reads plus writes: each of the three is cut to whole ones.
const QUEUE_GRAIN_MS: f64 = 3.0;
const TOO_COARSE: &str = "the report's program reads the counters of disks too rarely for a run this short";
const SAMPLED: (f64, &str) =
    (0.05, "devices are read just before and after the jobs, others and file systems add a little");

/// Identities of every device, then those that compare jobs with devices.
pub(super) fn identities(result: &RunResult) -> Vec<Identity> {
    let mut found: Vec<Identity> = watched_devices(result).iter().flat_map(of_device).collect();
    for direction in [Direction::Read, Direction::Write] {
        found.extend(asked_and_moved(result, direction));
        found.extend(requests(result, direction));
    }
    found
}

fn of_device(device: &DeviceUsage) -> Vec<Identity> {
    let subject = format!("device {}", device.name);
    let requests = device.ios[0] + device.ios[1];
    if requests == 0 {
        return Vec::new();
    }
    let Some(elapsed_ms) = device.elapsed_ms else {
        return vec![unknown(&subject, "queue = requests/s × await", "how long it was watched is not stated")];
    };
    let seconds = float(elapsed_ms) / 1e3;
    let per_second = float(requests) / seconds;
    let await_ms = float(device.ticks_ms[0] + device.ticks_ms[1]) / float(requests);
    let mut all = vec![
        Equation {
            equation: "queue = requests/s × await",
            unit: "requests",
            left: float(device.in_queue_ms) / float(elapsed_ms),
            right: per_second * await_ms / 1e3,
            numbers: format!("{per_second:.2} /s × {await_ms:.4} ms"),
            tolerance: COUNTERS,
            broken: "discards and flushes waited in its queue, too, or the counters wrapped",
        }
        .of(&subject)
        .within_grain(float(elapsed_ms), QUEUE_GRAIN_MS),
    ];
    let busy = 100.0 * float(device.busy_ms) / float(elapsed_ms);
    all.push(
        Equation {
            equation: "%util = busy time ÷ elapsed",
            unit: "%",
            left: device.utilisation_percent().unwrap_or(0.0),
            right: busy,
            numbers: format!("{} ms ÷ {} ms", device.busy_ms, elapsed_ms),
            tolerance: COUNTERS,
            broken: "it was busy for longer than it was watched: the counter is read late",
        }
        .of(&subject),
    );
    let Some(sectors) = device.sectors else {
        all.push(unknown(&subject, "rkB/s = r/s × rareq-sz", "its sectors are not stated"));
        return all;
    };
    for (at, name) in [(0, "r"), (1, "w")].into_iter().filter(|&(at, _)| device.ios[at] > 0) {
        let rate = float(device.ios[at]) / seconds;
        let kib = float(sectors[at]) / 2.0 / float(device.ios[at]);
        all.push(
            Equation {
                equation: if at == 0 { "rkB/s = r/s × rareq-sz" } else { "wkB/s = w/s × wareq-sz" },
                unit: "KiB/s",
                left: float(sectors[at]) / 2.0 / seconds,
                right: rate * kib,
                numbers: format!("{rate:.2} {name}/s × {kib:.2} KiB"),
                tolerance: (0.001, "both come from the same counters"),
                broken: "the device's counters contradict each other",
            }
            .of(&subject),
        );
    }
    all
}

/// Each requested byte is transferred by the disks exactly once.
fn asked_and_moved(result: &RunResult, direction: Direction) -> Option<Identity> {
    const EQUATION: &str = "bytes at the device = bytes asked";
    let asked = bytes_asked(result, direction);
    if asked == 0 {
        return None;
    }
    let subject = if direction == Direction::Read { "all jobs, read" } else { "all jobs, write" };
    let Some(unseen) = unseen_by_devices(result) else { return Some(unknown(subject, EQUATION, TOO_COARSE)) };
    let Some(moved) = bytes_at_devices(result, direction) else {
        let why = match result.devices.is_empty() {
            true => "no device was watched under the files",
            false => "the sectors of the devices are not stated",
        };
        return Some(unknown(subject, EQUATION, why));
    };
    let identity = Equation {
        equation: EQUATION,
        unit: "B",
        left: float(moved),
        right: float(asked),
        numbers: format!("{} B by the jobs", text::number(float(asked))),
        tolerance: (SAMPLED.0 + unseen, SAMPLED.1),
        broken: if moved < asked {
            "memory answered, or holds what was written"
        } else {
            "read-ahead, journals, sub-page writes, or other programs"
        },
    };
    Some(identity.of(subject))
}

/// Each direct I/O is one request at the device, if nothing was split or merged.
fn requests(result: &RunResult, direction: Direction) -> Option<Identity> {
    const EQUATION: &str = "device requests × bs = io";
    let asked = bytes_asked(result, direction);
    if asked == 0 {
        return None;
    }
    let at = usize::from(direction == Direction::Write);
    let subject = if direction == Direction::Read { "all jobs, read" } else { "all jobs, write" };
    let tops: Vec<&DeviceUsage> = result.devices.iter().collect();
    let [device] = tops.as_slice() else {
        return Some(unknown(subject, EQUATION, "there is not one device, but several or none"));
    };
    let Some(block) = block_size(result, direction) else {
        return Some(unknown(subject, EQUATION, "there is not one block size"));
    };
    if !result.jobs.iter().all(|job| job.echo.direct) {
        return Some(unknown(subject, EQUATION, "the page cache chooses its own requests without direct=1"));
    }
    let Some(unseen) = unseen_by_devices(result) else { return Some(unknown(subject, EQUATION, TOO_COARSE)) };
    let count = device.ios[at];
    let identity = Equation {
        equation: EQUATION,
        unit: "B",
        left: float(asked),
        right: float(count) * f64::from(block),
        numbers: format!("{} requests × {block} B, {} merged", text::number(float(count)), device.merges[at]),
        tolerance: (SAMPLED.0 + unseen, SAMPLED.1),
        broken: if float(count) * f64::from(block) > float(asked) {
            "the device split the blocks (max_sectors_kb), or others were at work"
        } else {
            "requests were merged, or memory answered"
        },
    };
    Some(identity.of(subject))
}
