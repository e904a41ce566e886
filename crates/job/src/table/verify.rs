//! Options about write-then-check.

use super::row::{NOT_YET, Row, Set, kind, put};
use crate::option::Kind;
use crate::plan::{Digest, VerifyMethod};
use crate::values::pattern;

const GROUP: &str = "Verification";

const fn works(name: &'static str, kind: Kind, set: Set, help: &'static str) -> Row {
    Row::works(GROUP, name, kind, set, help)
}

const fn refused(name: &'static str, kind: Kind, reason: &'static str, help: &'static str) -> Row {
    Row::refused(GROUP, name, kind, reason, help)
}

const NO_STATE: &str = "plumb keeps no state file of what was written";

const METHOD: Kind = Kind::Word(&[
    ("0", "no check"),
    ("md5", "digest of 16 bytes"),
    ("crc64", "digest of 8 bytes"),
    ("crc32", "digest of 4 bytes"),
    ("crc32c", "digest of 4 bytes"),
    ("crc32c-intel", "same as crc32c"),
    ("crc16", "digest of 2 bytes"),
    ("crc7", "digest of 1 byte"),
    ("sha1", "digest of 20 bytes"),
    ("sha256", "digest of 32 bytes"),
    ("sha512", "digest of 64 bytes"),
    ("sha3-224", "digest of 28 bytes"),
    ("sha3-256", "digest of 32 bytes"),
    ("sha3-384", "digest of 48 bytes"),
    ("sha3-512", "digest of 64 bytes"),
    ("xxhash", "digest of 4 bytes"),
    ("meta", "header only"),
    ("pattern", "verify_pattern without a header"),
    ("pattern_hdr", "verify_pattern behind a header"),
    ("null", "read back, compare nothing"),
]);

fn method(word: &str) -> Option<VerifyMethod> {
    let digest = match word {
        "md5" => Digest::Md5,
        "crc64" => Digest::Crc64,
        "crc32" => Digest::Crc32,
        "crc32c" | "crc32c-intel" => Digest::Crc32c,
        "crc16" => Digest::Crc16,
        "crc7" => Digest::Crc7,
        "sha1" => Digest::Sha1,
        "sha256" => Digest::Sha256,
        "sha512" => Digest::Sha512,
        "sha3-224" => Digest::Sha3_224,
        "sha3-256" => Digest::Sha3_256,
        "sha3-384" => Digest::Sha3_384,
        "sha3-512" => Digest::Sha3_512,
        "xxhash" => Digest::XxHash,
        "meta" => return Some(VerifyMethod::Meta),
        "pattern" => return Some(VerifyMethod::Pattern),
        "pattern_hdr" => return Some(VerifyMethod::PatternHeader),
        "null" => return Some(VerifyMethod::Null),
        _ => return None,
    };
    Some(VerifyMethod::Digest(digest))
}

pub(super) const ROWS: &[Row] = &[
    works(
        "verify",
        METHOD,
        Set::Word(|draft, word, _| {
            draft.verify.method = method(word);
            Ok(())
        }),
        "How written blocks are checked",
    )
    .default("0"),
    refused("verify_only", Kind::Flag, NOT_YET, "Check what an earlier run wrote"),
    works("do_verify", Kind::Bool, put!(Switch, verify.check), "Check after writing").default("1"),
    refused("verify_offset", kind::COUNT, NOT_YET, "Where the header lies in its block"),
    works(
        "verify_interval",
        kind::COUNT,
        Set::Count(|draft, bytes| {
            draft.verify.interval = (bytes > 0).then_some(bytes);
            Ok(())
        }),
        "Bytes per header",
    ),
    works(
        "verify_pattern",
        Kind::Text,
        Set::Text(|draft, text, context| {
            draft.verify.pattern = pattern(text, context.read)?;
            Ok(())
        }),
        "Pattern of the payload",
    ),
    refused("verify_pattern_interval", kind::COUNT, NOT_YET, "Bytes per pattern").default("0"),
    refused("verify_policy", Kind::Text, NOT_YET, "Which writes are checked").default("completed"),
    works("verify_fatal", Kind::Bool, put!(Switch, verify.fatal), "End at the first mismatch").default("0"),
    refused("verify_dump", Kind::Bool, NOT_YET, "Write mismatching blocks to files").default("0"),
    refused("verify_async", kind::COUNT, NOT_YET, "Threads that check").default("0"),
    refused("verify_async_cpus", Kind::Text, NOT_YET, "CPUs of these threads"),
    works(
        "verify_backlog",
        kind::BYTES,
        Set::Number(|draft, blocks| {
            draft.verify.backlog = (blocks > 0).then_some(blocks);
            Ok(())
        }),
        "Check after so many blocks rather than at the end",
    ),
    refused("verify_backlog_batch", kind::COUNT, NOT_YET, "How many blocks are then checked"),
    refused("verify_state_save", Kind::Bool, NO_STATE, "Keep what was written in a state file").default("0"),
    refused("verify_state_load", Kind::Bool, NOT_YET, "Use such a state file"),
    refused("experimental_verify", Kind::Bool, NOT_YET, "Replay the sequence rather than remember it"),
    refused("verify_write_sequence", Kind::Bool, NOT_YET, "Check the sequence numbers of writes").default("1"),
    refused("verify_header_seed", Kind::Bool, NOT_YET, "Check the seed in headers").default("1"),
    works("verifysort", Kind::Text, Set::Withdrawn, "Withdrawn: checks need no sorting"),
    works("verifysort_nr", Kind::Text, Set::Withdrawn, "Withdrawn: checks need no sorting"),
    refused("trim_percentage", kind::PERCENT, NOT_YET, "Share of checked blocks that are trimmed").default("0"),
    refused("trim_verify_zero", Kind::Bool, NOT_YET, "Trimmed blocks must read as zeros").default("1"),
    refused("trim_backlog", kind::BYTES, NOT_YET, "Trim after so many blocks"),
    refused("trim_backlog_batch", kind::COUNT, NOT_YET, "How many blocks are then trimmed"),
];
