//! System calls of a run, recorded by strace.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Traces a command; returns one log per thread, in the order in which they began. `calls` is strace's list of system
/// calls, `more` are additional strace options; the log files are in `place`, the program's working directory.
pub fn traced(calls: &str, more: &[&str], command: &[&str], place: &Path) -> Vec<String> {
    let status = Command::new("strace")
        .args(["-ff", "-qq", "-e", "signal=none", "-e", &format!("trace={calls}")])
        .args(more)
        .arg("-o")
        .arg(place.join("strace"))
        .args(command)
        .current_dir(place)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("strace, which tools/oracles installs");
    assert!(status.success(), "{command:?}: {status}");
    let entries = std::fs::read_dir(place).expect("as made before").flatten().map(|entry| entry.path());
    let logs = entries.filter(|path| path.file_stem().is_some_and(|stem| stem == "strace"));
    let number = |path: &Path| path.extension()?.to_str()?.parse::<u32>().ok();
    let mut logs: Vec<(u32, PathBuf)> = logs.filter_map(|path| Some((number(&path)?, path))).collect();
    logs.sort();
    let first = first_after_the_largest_gap(&logs.iter().map(|&(id, _)| id).collect::<Vec<_>>());
    logs.rotate_left(first);
    logs.iter().map(|(_, path)| std::fs::read_to_string(path).expect("a log")).collect()
}

/// Index of the oldest of sorted thread ids. After pid_max, which can be as low as 32,768, they begin again at a low
/// id: then the oldest is not the lowest, but the one before which most ids are missing.
fn first_after_the_largest_gap(ids: &[u32]) -> usize {
    let around = ids.first().zip(ids.last()).map_or(0, |(first, last)| PID_MAX_LEAST.saturating_sub(last - first));
    let gaps = ids.windows(2).map(|pair| pair[1] - pair[0]);
    std::iter::once(around)
        .chain(gaps)
        .enumerate()
        .max_by_key(|&(at, gap)| (gap, std::cmp::Reverse(at)))
        .map_or(0, |(at, _)| at)
}

/// The smallest pid_max that Linux sets by itself.
const PID_MAX_LEAST: u32 = 32_768;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_process_is_the_first_when_ids_begin_again() {
        for (ids, first) in [
            (&[][..], 0),
            (&[7], 0),
            (&[300, 301, 310], 0),
            (&[301, 305, 32_760, 32_767], 2),
            (&[2, 40_000, 40_001], 1),
        ] {
            assert_eq!(first_after_the_largest_gap(ids), first, "{ids:?}");
        }
    }
}
