//! What the monitor of a run costs: CPU time of looking at devices, processors and eight workers, as a share of one
//! processor.

use house::LoopDevice;
use serde_json::Value;
use std::io;

/// What it may take.
const MOST_SHARE: f64 = 0.002;

/// Runs eight paced workers for some seconds; the share that looking took, or why it is too much.
pub(super) fn share(device: &LoopDevice, seconds: u32) -> io::Result<f64> {
    let mut command = super::plumb();
    command.args(["--output-format=json-full", "--name=watched", "--rw=randread", "--bs=4k", "--direct=1"]);
    command.args(["--ioengine=psync", "--numjobs=8", "--rate_iops=50", "--time_based", "--size=16m"]);
    command.arg(format!("--runtime={seconds}")).arg(format!("--filename={}", device.path().display()));
    let (_, _, output) = super::counted(command)?;
    let found: Value = serde_json::from_str(output.get(output.find('{').unwrap_or(0)..).unwrap_or_default())
        .map_err(|error| io::Error::other(format!("plumb: {error}: {output}")))?;
    let seen = &found["plumb"]["monitored"];
    let lasted = seen["intervals"].as_array().and_then(|intervals| intervals.last()?["until"].as_f64());
    match (seen["own_cpu"].as_f64(), lasted) {
        (Some(taken), Some(lasted)) if lasted > 0.0 => Ok(taken / lasted),
        _ => Err(io::Error::other(format!("plumb says nothing of what looking took: {seen}"))),
    }
}

/// The line of the report, and the failure where it takes too much.
pub(super) fn message(share: f64) -> (String, Option<String>) {
    let line = format!(
        "looking at devices, processors and 8 workers: {:.4} % of a processor, at most {:.1} %",
        100.0 * share,
        100.0 * MOST_SHARE
    );
    let failure = (share > MOST_SHARE).then(|| line.clone());
    (line, failure)
}
