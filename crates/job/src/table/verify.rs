//! Options about write-then-check.

use super::row::{NOT_YET, Row, kind};
use crate::option::Kind;

const GROUP: &str = "Verification";

const fn refused(name: &'static str, kind: Kind, reason: &'static str, help: &'static str) -> Row {
    Row::refused(GROUP, name, kind, reason, help)
}

pub(super) const ROWS: &[Row] = &[
    refused("verify", Kind::Text, NOT_YET, "How written blocks are checked").default("0"),
    refused("verify_only", Kind::Flag, NOT_YET, "Check what an earlier run wrote"),
    refused("do_verify", Kind::Bool, NOT_YET, "Check after writing").default("1"),
    refused("verify_offset", kind::COUNT, NOT_YET, "Where the header lies in its block"),
    refused("verify_interval", kind::COUNT, NOT_YET, "Bytes per header"),
    refused("verify_pattern", Kind::Text, NOT_YET, "Pattern of the payload"),
    refused("verify_pattern_interval", kind::COUNT, NOT_YET, "Bytes per pattern").default("0"),
    refused("verify_policy", Kind::Text, NOT_YET, "Which writes are checked").default("completed"),
    refused("verify_fatal", Kind::Bool, NOT_YET, "End at the first mismatch").default("0"),
    refused("verify_dump", Kind::Bool, NOT_YET, "Write mismatching blocks to files").default("0"),
    refused("verify_async", kind::COUNT, NOT_YET, "Threads that check").default("0"),
    refused("verify_async_cpus", Kind::Text, NOT_YET, "CPUs of these threads"),
    refused("verify_backlog", kind::BYTES, NOT_YET, "Check after so many blocks rather than at the end"),
    refused("verify_backlog_batch", kind::COUNT, NOT_YET, "How many blocks are then checked"),
    refused("verify_state_save", Kind::Bool, NOT_YET, "Keep what was written in a state file").default("1"),
    refused("verify_state_load", Kind::Bool, NOT_YET, "Use such a state file"),
    refused("experimental_verify", Kind::Bool, NOT_YET, "Replay the sequence rather than remember it"),
    refused("verify_write_sequence", Kind::Bool, NOT_YET, "Check the sequence numbers of writes").default("1"),
    refused("verify_header_seed", Kind::Bool, NOT_YET, "Check the seed in headers").default("1"),
    refused("verifysort", Kind::Text, "withdrawn: checks need no sorting", "Sort blocks before checking"),
    refused("verifysort_nr", Kind::Text, "withdrawn: checks need no sorting", "How many blocks are sorted at a time"),
    refused("trim_percentage", kind::PERCENT, NOT_YET, "Share of checked blocks that are trimmed").default("0"),
    refused("trim_verify_zero", Kind::Bool, NOT_YET, "Trimmed blocks must read as zeros").default("1"),
    refused("trim_backlog", kind::BYTES, NOT_YET, "Trim after so many blocks"),
    refused("trim_backlog_batch", kind::COUNT, NOT_YET, "How many blocks are then trimmed"),
];
