//! Options about verification.

use super::row::{Row, Set, kind, put, words, works};
use crate::options::values::{cpu_list, pattern_with_offsets};
use plan::option::Kind;
use plan::{Digest, VerifyFormat, VerifyMethod, VerifyPolicy};

words!(METHOD, method -> Option<VerifyMethod> {
    "0" => None, "no verification";
    "md5" => Some(VerifyMethod::Digest(Digest::Md5)), "digest of 16 bytes";
    "crc64" => Some(VerifyMethod::Digest(Digest::Crc64)), "digest of 8 bytes";
    "crc32" => Some(VerifyMethod::Digest(Digest::Crc32)), "digest of 4 bytes";
    "crc32c" => Some(VerifyMethod::Digest(Digest::Crc32c)), "digest of 4 bytes";
    "crc32c-intel" => Some(VerifyMethod::Digest(Digest::Crc32c)), "same as crc32c";
    "crc16" => Some(VerifyMethod::Digest(Digest::Crc16)), "digest of 2 bytes";
    "crc7" => Some(VerifyMethod::Digest(Digest::Crc7)), "digest of 1 byte";
    "sha1" => Some(VerifyMethod::Digest(Digest::Sha1)), "digest of 20 bytes";
    "sha256" => Some(VerifyMethod::Digest(Digest::Sha256)), "digest of 32 bytes";
    "sha512" => Some(VerifyMethod::Digest(Digest::Sha512)), "digest of 64 bytes";
    "sha3-224" => Some(VerifyMethod::Digest(Digest::Sha3_224)), "digest of 28 bytes";
    "sha3-256" => Some(VerifyMethod::Digest(Digest::Sha3_256)), "digest of 32 bytes";
    "sha3-384" => Some(VerifyMethod::Digest(Digest::Sha3_384)), "digest of 48 bytes";
    "sha3-512" => Some(VerifyMethod::Digest(Digest::Sha3_512)), "digest of 64 bytes";
    "xxhash" => Some(VerifyMethod::Digest(Digest::XxHash)), "digest of 4 bytes";
    "meta" => Some(VerifyMethod::Meta), "header only";
    "pattern" => Some(VerifyMethod::Pattern), "verify_pattern without a header";
    "pattern_hdr" => Some(VerifyMethod::PatternHeader), "verify_pattern after a header";
    "null" => Some(VerifyMethod::Null), "read back without comparison";
});

/// The names of all digests.
pub(crate) fn digest_words() -> impl Iterator<Item = &'static str> {
    let words = if let Kind::Word(words) = METHOD { words } else { &[] };
    words.iter().map(|&(word, _)| word).filter(|word| digest(word).is_some())
}

/// Returns the digest with this name.
pub(crate) fn digest(word: &str) -> Option<Digest> {
    match method(word) {
        Ok(Some(VerifyMethod::Digest(digest))) => Some(digest),
        _ => None,
    }
}

words!(POLICY, policy -> VerifyPolicy {
    "completed" => VerifyPolicy::Completed, "all that completed without an error";
    "fsynced" => VerifyPolicy::Synced, "those followed by a flush of their file";
});

words!(FORMAT, format -> VerifyFormat {
    "3.42" => VerifyFormat::Fio3_42, "48 bytes, state files of version 7";
    "3.33" => VerifyFormat::Fio3_33, "40 bytes, state files of version 3";
});

/// Number of verify threads. Each has two block buffers.
const THREADS: Kind = Kind::Integer { least: 0, most: 1024 };

/// The smallest `verify_interval` that fio accepts is 80 bytes, two headers of 40.
const INTERVAL: Kind = Kind::Integer { least: 80, most: u32::MAX as i64 };
/// The smallest `verify_offset` that fio accepts is 40 bytes, one header: the header is exchanged with the bytes at
/// this offset.
const OFFSET: Kind = Kind::Integer { least: 40, most: u32::MAX as i64 };

pub(super) const ROWS: &[Row] = &[
    works("verify", METHOD, put!(Word, verify.method, |word| method(word)?), "Method to verify written blocks")
        .default("0"),
    works("verify_only", Kind::Flag, put!(Switch, verify.plan.only), "Do not write; verify the data of an earlier run"),
    works("do_verify", Kind::Bool, put!(Switch, verify.plan.check), "Run the verify phase after writing").default("1"),
    works("verify_offset", OFFSET, put!(Count, verify.plan.offset), "Offset of the verify header in its block"),
    works("verify_interval", INTERVAL, put!(Count, verify.plan.interval), "Bytes per verify header"),
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
        "Number of bytes after which the pattern starts again",
    )
    .default("0"),
    works("verify_policy", POLICY, put!(Word, verify.plan.policy, |word| policy(word)?), "Writes that are verified")
        .default("completed"),
    works("verify_fatal", Kind::Bool, put!(Switch, verify.plan.fatal), "Stop at the first verification failure")
        .default("0"),
    works("verify_dump", Kind::Bool, put!(Switch, verify.plan.dump), "Write blocks that failed verification to files")
        .default("0"),
    works(
        "verify_async",
        THREADS,
        put!(Count, verify.plan.threads),
        "Number of verify threads; 0 verifies in the worker",
    )
    .default("0"),
    works(
        "verify_async_cpus",
        Kind::Text,
        Set::Text(|draft, text, context| {
            draft.verify.plan.thread_cpus = cpu_list(text, context.cpus)?;
            Ok(())
        }),
        "CPUs of the verify threads: 0,2,4-7",
    ),
    works(
        "verify_backlog",
        kind::BYTES,
        put!(Number, verify.plan.backlog, |blocks| (blocks > 0).then_some(blocks)),
        "Number of written blocks after which to verify, instead of at the end",
    ),
    works(
        "verify_backlog_batch",
        kind::COUNT,
        put!(Count, verify.plan.backlog_batch, |blocks| (blocks > 0).then_some(blocks.into())),
        "Number of blocks to verify at a time",
    ),
    works(
        "verify_state_save",
        Kind::Bool,
        put!(Switch, verify.plan.state_save),
        "Save the progress of the writes in a state file",
    )
    .default("1"),
    works(
        "verify_state_load",
        Kind::Bool,
        put!(Switch, verify.plan.state_load),
        "Verify only the writes that a state file lists",
    ),
    works(
        "experimental_verify",
        Kind::Bool,
        put!(Switch, verify.plan.replay),
        "Generate the sequence of writes again instead of remembering it",
    ),
    works(
        "verify_write_sequence",
        Kind::Bool,
        put!(Switch, verify.plan.sequence),
        "Verify the sequence number of the write in each header",
    )
    .default("1"),
    works(
        "verify_header_seed",
        Kind::Bool,
        put!(Switch, verify.plan.seed),
        "Verify the seed of the write in each header",
    )
    .default("1"),
    works(
        "verify_format",
        FORMAT,
        put!(Word, verify.plan.format, |word| format(word)?),
        "Version of fio that can read the headers and state files (plumb only)",
    )
    .default("3.42"),
    works("verifysort", Kind::Text, Set::NoEffect, "Withdrawn: verification needs no sorting"),
    works("verifysort_nr", Kind::Text, Set::NoEffect, "Withdrawn: verification needs no sorting"),
    works(
        "trim_percentage",
        kind::PERCENT,
        put!(Small, verify.trim.percent),
        "Percentage of written blocks to trim before verification",
    )
    .default("0"),
    works("trim_verify_zero", Kind::Bool, put!(Switch, verify.trim.zero), "Trimmed blocks must read as zeros")
        .default("1"),
    works("trim_backlog", kind::BYTES, put!(Number, verify.trim.backlog), "Number of blocks after which to trim"),
    works(
        "trim_backlog_batch",
        kind::COUNT,
        put!(Count, verify.trim.batch, |blocks| (blocks > 0).then_some(blocks.into())),
        "Number of blocks to trim at a time",
    ),
];
