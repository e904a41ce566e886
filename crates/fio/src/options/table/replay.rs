//! Options about recorded I/O.

use super::row::{Context, Outcome, rows};
use crate::error::Complaint;
use crate::options::draft::Draft;
use crate::options::values::split_escaped;
use plan::{Hold, Timing};
use std::path::PathBuf;

fn iolog(path: &str) -> Result<Option<PathBuf>, Complaint> {
    match path {
        "" => Err(Complaint::new("names no file", "write it like write_iolog=run.iolog")),
        path => Ok(Some(path.into())),
    }
}

fn logs(list: &str) -> Result<Vec<PathBuf>, Complaint> {
    let logs: Vec<PathBuf> = split_escaped(list).into_iter().map(PathBuf::from).collect();
    if logs.is_empty() {
        return Err(Complaint::new("names no file", "write it like read_iolog=run.iolog"));
    }
    Ok(logs)
}

fn held(in_pieces: bool) -> Hold {
    if in_pieces { Hold::Pieces } else { Hold::Ahead }
}

fn alignment(bytes: u32) -> Result<u64, Complaint> {
    if bytes > 0 && !bytes.is_power_of_two() {
        return Err(Complaint::new("is not a power of two", "write it like 4096"));
    }
    Ok(u64::from(bytes.max(1)))
}

fn skip(draft: &mut Draft, list: &str, _: &Context<'_>) -> Outcome {
    for word in list.split(',').map(str::trim) {
        let skip = &mut draft.replay.plan.skip;
        match word {
            "read" => skip.moves.read = true,
            "write" => skip.moves.write = true,
            "trim" => skip.moves.trim = true,
            "sync" => skip.syncs = true,
            _ => {
                let what = format!("has a part that cannot be skipped: `{word}`");
                return Err(Complaint::new(what, "it takes read, write, trim and sync, with commas between"));
            }
        }
    }
    Ok(())
}

fn scalars(list: &str) -> Result<Vec<f64>, Complaint> {
    numbers(list, |value| (0.0..=1e9).contains(&value))
}

rows! {
    "write_iolog": TEXT => Text(job.record.iolog, iolog); "Write the issued I/O pattern to this file";
    "read_iolog": TEXT => Text(replay.plan.logs, logs);
        "Replay this log of fio (v2, v3) or blktrace; several separated by `:`, one per clone; - for standard input";
    "read_iolog_chunked": BOOL, "0" => Switch(replay.plan.hold, |pieces| held(pieces)); "Read the log in small chunks";
    "merge_blktrace_file": TEXT => Text(replay.merge.file, |path| path.into());
        "Merge the traces of read_iolog into this file, and replay it";
    "merge_blktrace_scalars": floats(64) => Text(replay.merge.scalars, scalars);
        "Percentages by which to scale the times of each merged trace";
    "merge_blktrace_iters": floats(64) => Text(replay.merge.rounds, rounds);
        "Number of repetitions of each merged trace";
    "replay_no_stall": BOOL, "0" => Switch(replay.no_stall); "Replay as fast as possible, ignoring recorded times";
    "replay_time_scale": POSITIVE, "100" => Count(replay.plan.timing, |percent| Timing::Percent(percent));
        "Replay speed in percent of the recorded speed";
    "replay_redirect": TEXT => Text(replay.plan.redirect); "Replay all I/Os to this file or device";
    "replay_align": COUNT => Count(replay.plan.align, alignment); "Alignment of replayed offsets, a power of two";
    "replay_scale": POSITIVE, "1" => Count(replay.plan.scale); "Divisor of replayed offsets";
    "replay_skip": TEXT => Text(fn skip); "Types of I/O to skip in the replay: read, write, trim, sync";
}

/// Parses numbers of repetitions separated by `:`, such as `2:1`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole numbers from 1 to a million")]
fn rounds(list: &str) -> Result<Vec<u64>, Complaint> {
    let numbers = numbers(list, |value| value >= 1.0 && value.fract() == 0.0 && value <= 1e6)?;
    Ok(numbers.into_iter().map(|rounds| rounds as u64).collect())
}

/// Parses numbers separated by `:`, such as `50:100`.
fn numbers(list: &str, allowed: fn(f64) -> bool) -> Result<Vec<f64>, Complaint> {
    let number = |part: &str| part.trim().parse().ok().filter(|&value| allowed(value));
    let wrong = |part: &str| {
        Complaint::new(
            format!("has a part that does not fit: `{part}`"),
            "write it like 50:100 (scalars, percent) or 2:1 (rounds, whole)",
        )
    };
    list.split(':').map(|part| number(part).ok_or_else(|| wrong(part))).collect()
}
