//! Options about recorded I/O.

use super::row::{Row, Set, kind, put};
use crate::error::Complaint;
use crate::values::split_escaped;
use plan::option::Kind;
use std::path::PathBuf;

const GROUP: &str = "Replay";

const fn works(name: &'static str, kind: Kind, set: Set, help: &'static str) -> Row {
    Row::works(GROUP, name, kind, set, help)
}

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
            draft.replay.written_log = Some(PathBuf::from(path));
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
    works("read_iolog_chunked", Kind::Bool, put!(Switch, replay.chunked), "Hold only a small piece of the record")
        .default("0"),
    works(
        "merge_blktrace_file",
        Kind::Text,
        Set::Text(|draft, path, _| {
            draft.replay.merged = Some(PathBuf::from(path));
            Ok(())
        }),
        "Merge the traces of read_iolog into this file and replay it",
    ),
    works(
        "merge_blktrace_scalars",
        Kind::Floats { most: 64 },
        Set::Text(|draft, list, _| {
            draft.replay.scalars = numbers(list, |value: f64| value.is_finite() && (0.0..=1e9).contains(&value))?;
            Ok(())
        }),
        "Times of each merged trace in percent of those recorded",
    ),
    works(
        "merge_blktrace_iters",
        Kind::Floats { most: 64 },
        Set::Text(|draft, list, _| {
            draft.replay.rounds = numbers(list, |value: f64| value >= 1.0 && value.fract() == 0.0 && value <= 1e6)?;
            Ok(())
        }),
        "How often each merged trace is repeated",
    ),
    works("replay_no_stall", Kind::Bool, put!(Switch, replay.no_stall), "Replay without the recorded pauses")
        .default("0"),
    works("replay_time_scale", FACTOR, put!(Count, replay.percent), "Speed of the replay in percent").default("100"),
    works(
        "replay_redirect",
        Kind::Text,
        Set::Text(|draft, path, _| {
            draft.replay.plan.redirect = Some(PathBuf::from(path));
            Ok(())
        }),
        "Replay all I/Os onto this file or device",
    ),
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
    works(
        "replay_scale",
        FACTOR,
        Set::Count(|draft, factor| {
            draft.replay.plan.scale = u64::from(factor);
            Ok(())
        }),
        "Divide replayed offsets by this",
    )
    .default("1"),
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
