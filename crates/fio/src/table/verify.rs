//! Options about verification.

use super::row::{Row, Set, kind, put, works};
use crate::values::{cpu_list, pattern_with_offsets};
use plan::option::Kind;
use plan::{Digest, VerifyFormat, VerifyMethod, VerifyPolicy};

const METHODS: &[(&str, &str)] = &[
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
];

const METHOD: Kind = Kind::Word(METHODS);

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

/// The names of all digests.
pub(crate) fn digest_words() -> impl Iterator<Item = &'static str> {
    METHODS.iter().map(|&(word, _)| word).filter(|word| digest(word).is_some())
}

/// Returns the digest with this name.
pub(crate) fn digest(word: &str) -> Option<Digest> {
    match method(word) {
        Some(VerifyMethod::Digest(digest)) => Some(digest),
        _ => None,
    }
}

const POLICY: Kind = Kind::Word(&[
    ("completed", "all writes that came back without an error"),
    ("fsynced", "writes that a flush of their file has followed"),
]);

const FORMAT: Kind =
    Kind::Word(&[("3.42", "48 bytes, state files of version 7"), ("3.33", "40 bytes, state files of version 3")]);

/// Number of verify threads. Each has two block buffers.
const THREADS: Kind = Kind::Integer { least: 0, most: 1024 };

/// The smallest `verify_interval` that fio accepts is 80 bytes, two headers of 40.
const INTERVAL: Kind = Kind::Integer { least: 80, most: u32::MAX as i64 };
/// The smallest `verify_offset` that fio accepts is 40 bytes, one header: the header is exchanged with the bytes at
/// this offset.
const OFFSET: Kind = Kind::Integer { least: 40, most: u32::MAX as i64 };

pub(super) const ROWS: &[Row] = &[
    works("verify", METHOD, put!(Word, verify.method, |word| method(word)), "How written blocks are checked")
        .default("0"),
    works("verify_only", Kind::Flag, put!(Switch, verify.plan.only), "Write nothing, check what an earlier run wrote"),
    works("do_verify", Kind::Bool, put!(Switch, verify.plan.check), "Check after writing").default("1"),
    works("verify_offset", OFFSET, put!(Count, verify.plan.offset), "Where the header lies in its block"),
    works("verify_interval", INTERVAL, put!(Count, verify.plan.interval), "Bytes per header"),
    works(
        "verify_pattern",
        Kind::Text,
        Set::Text(|draft, text, context| {
            draft.verify.plan.pattern = pattern_with_offsets(text, context.read)?;
            Ok(())
        }),
        "Pattern of the payload; %o is the offset, in 8 bytes",
    ),
    works(
        "verify_pattern_interval",
        kind::COUNT,
        put!(Count, verify.plan.pattern_interval, |bytes| (bytes > 0).then_some(bytes)),
        "The pattern starts anew every so many bytes",
    )
    .default("0"),
    works(
        "verify_policy",
        POLICY,
        put!(Word, verify.plan.policy, |word| match word {
            "fsynced" => VerifyPolicy::Synced,
            _ => VerifyPolicy::Completed,
        }),
        "Which writes are checked",
    )
    .default("completed"),
    works("verify_fatal", Kind::Bool, put!(Switch, verify.plan.fatal), "End at the first mismatch").default("0"),
    works("verify_dump", Kind::Bool, put!(Switch, verify.plan.dump), "Write mismatching blocks to files").default("0"),
    works("verify_async", THREADS, put!(Count, verify.plan.threads), "Threads that check").default("0"),
    works(
        "verify_async_cpus",
        Kind::Text,
        Set::Text(|draft, text, context| {
            draft.verify.plan.thread_cpus = cpu_list(text, context.cpus)?;
            Ok(())
        }),
        "CPUs of these threads: 0,2,4-7",
    ),
    works(
        "verify_backlog",
        kind::BYTES,
        put!(Number, verify.plan.backlog, |blocks| (blocks > 0).then_some(blocks)),
        "Check after so many blocks rather than at the end",
    ),
    works(
        "verify_backlog_batch",
        kind::COUNT,
        put!(Count, verify.plan.backlog_batch, |blocks| (blocks > 0).then_some(blocks.into())),
        "How many blocks are then checked",
    ),
    works(
        "verify_state_save",
        Kind::Bool,
        put!(Switch, verify.plan.state_save),
        "Leave a file that tells how far writes came",
    )
    .default("1"),
    works(
        "verify_state_load",
        Kind::Bool,
        put!(Switch, verify.plan.state_load),
        "Check only what such a file tells of",
    ),
    works(
        "experimental_verify",
        Kind::Bool,
        put!(Switch, verify.plan.replay),
        "Replay the sequence rather than remember it",
    ),
    works(
        "verify_write_sequence",
        Kind::Bool,
        put!(Switch, verify.plan.sequence),
        "Check the numbers of writes in headers",
    )
    .default("1"),
    works("verify_header_seed", Kind::Bool, put!(Switch, verify.plan.seed), "Check the seed in headers").default("1"),
    works(
        "verify_format",
        FORMAT,
        put!(Word, verify.plan.format, |word| match word {
            "3.33" => VerifyFormat::Fio3_33,
            _ => VerifyFormat::Fio3_42,
        }),
        "plumb's own: which fio can read what is written",
    )
    .default("3.42"),
    works("verifysort", Kind::Text, Set::Withdrawn, "Withdrawn: checks need no sorting"),
    works("verifysort_nr", Kind::Text, Set::Withdrawn, "Withdrawn: checks need no sorting"),
    works(
        "trim_percentage",
        kind::PERCENT,
        put!(Small, verify.trim.percent),
        "Share of written blocks that are trimmed before they are checked",
    )
    .default("0"),
    works("trim_verify_zero", Kind::Bool, put!(Switch, verify.trim.zero), "Trimmed blocks must read as zeros")
        .default("1"),
    works("trim_backlog", kind::BYTES, put!(Number, verify.trim.backlog), "Trim after so many blocks"),
    works(
        "trim_backlog_batch",
        kind::COUNT,
        put!(Count, verify.trim.batch, |blocks| (blocks > 0).then_some(blocks.into())),
        "How many blocks are then trimmed",
    ),
];
