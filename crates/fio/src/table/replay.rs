//! Options about recorded I/O.

use super::row::{Row, Set, kind, put, works};
use crate::error::Complaint;
use crate::values::split_escaped;
use plan::option::Kind;
use plan::{Hold, Timing};
use std::path::PathBuf;

/// At least 1: the recorded values are divided by it.
const FACTOR: Kind = kind::POSITIVE;

pub(super) const ROWS: &[Row] = &[
    works(
        "write_iolog",
        Kind::Text,
        Set::Text(|draft, path, _| {
            if path.is_empty() {
                return Err(Complaint::new("names no file", "write it like write_iolog=run.iolog"));
            }
            draft.job.record.iolog = Some(PathBuf::from(path));
            Ok(())
        }),
        "Append a record of the I/Os to this file",
    ),
    works(
        "read_iolog",
        Kind::Text,
        Set::Text(|draft, list, _| {
            draft.replay.plan.logs = split_escaped(list).into_iter().map(PathBuf::from).collect();
            if draft.replay.plan.logs.is_empty() {
                return Err(Complaint::new("names no file", "write it like read_iolog=run.iolog"));
            }
            Ok(())
        }),
        "Replay this record: fio's (v2, v3) or blktrace's; several by `:`, one for each clone; - is standard input",
    ),
    works(
        "read_iolog_chunked",
        Kind::Bool,
        put!(Switch, replay.plan.hold, |pieces| if pieces { Hold::Pieces } else { Hold::Ahead }),
        "Hold only a small piece of the record",
    )
    .default("0"),
    works(
        "merge_blktrace_file",
        Kind::Text,
        put!(Text, replay.merge.file, |path| path.into()),
        "Merge the traces of read_iolog into this file and replay it",
    ),
    works(
        "merge_blktrace_scalars",
        Kind::Floats { most: 64 },
        put!(Text, replay.merge.scalars, |list| numbers(list, |value| (0.0..=1e9).contains(&value))?),
        "Times of each merged trace in percent of those recorded",
    ),
    works(
        "merge_blktrace_iters",
        Kind::Floats { most: 64 },
        put!(Text, replay.merge.rounds, |list| rounds(list)?),
        "How often each merged trace is repeated",
    ),
    works("replay_no_stall", Kind::Bool, put!(Switch, replay.no_stall), "Replay without the recorded pauses")
        .default("0"),
    works(
        "replay_time_scale",
        FACTOR,
        put!(Count, replay.plan.timing, |percent| Timing::Percent(percent)),
        "Speed of the replay in percent",
    )
    .default("100"),
    works("replay_redirect", Kind::Text, put!(Text, replay.plan.redirect), "Replay all I/Os onto this file or device"),
    works(
        "replay_align",
        kind::COUNT,
        Set::Count(|draft, bytes| {
            if bytes > 0 && !bytes.is_power_of_two() {
                return Err(Complaint::new("is not a power of two", "write it like 4096"));
            }
            draft.replay.plan.align = u64::from(bytes.max(1));
            Ok(())
        }),
        "Round replayed offsets down to multiples of this power of two",
    ),
    works("replay_scale", FACTOR, put!(Count, replay.plan.scale), "Divide replayed offsets by this").default("1"),
    works(
        "replay_skip",
        Kind::Text,
        Set::Text(|draft, list, _| {
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
        }),
        "What is left out of the replay: read, write, trim, sync",
    ),
];

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
