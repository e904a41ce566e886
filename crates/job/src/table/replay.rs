//! Options about recorded I/O.

use super::row::{NOT_YET, Row, kind};
use crate::option::Kind;

const GROUP: &str = "Replay";

const fn refused(name: &'static str, kind: Kind, reason: &'static str, help: &'static str) -> Row {
    Row::refused(GROUP, name, kind, reason, help)
}

pub(super) const ROWS: &[Row] = &[
    refused("write_iolog", Kind::Text, NOT_YET, "Record the I/Os in this file"),
    refused("read_iolog", Kind::Text, NOT_YET, "Replay the I/Os of this file"),
    refused("read_iolog_chunked", Kind::Bool, NOT_YET, "Read the record piece by piece").default("0"),
    refused("merge_blktrace_file", Kind::Text, NOT_YET, "Where merged traces go"),
    refused("merge_blktrace_scalars", Kind::Floats { most: 64 }, NOT_YET, "Speed of each merged trace"),
    refused("merge_blktrace_iters", Kind::Floats { most: 64 }, NOT_YET, "Rounds of each merged trace"),
    refused("replay_no_stall", Kind::Bool, NOT_YET, "Replay without the recorded pauses").default("0"),
    refused("replay_time_scale", kind::COUNT, NOT_YET, "Speed of the replay in percent").default("100"),
    refused("replay_redirect", Kind::Text, NOT_YET, "Replay onto this device"),
    refused("replay_align", kind::COUNT, NOT_YET, "Align replayed offsets"),
    refused("replay_scale", kind::COUNT, NOT_YET, "Divide replayed offsets").default("1"),
    refused("replay_skip", Kind::Text, NOT_YET, "Directions left out of the replay"),
];
