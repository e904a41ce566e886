//! Options about verification.

use super::row::{rows, words};
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

/// The smallest `verify_interval` that fio accepts is 80 bytes, two headers of 40. Its smallest `verify_offset` is one
/// header, which is exchanged with the bytes at this offset.
const HEADER: i64 = 40;

rows! {
    "verify": METHOD, "0" => Word(verify.method, method); "Method to verify written blocks";
    "verify_only": FLAG => Switch(verify.plan.only); "Do not write; verify the data of an earlier run";
    "do_verify": BOOL, "1" => Switch(verify.plan.check); "Run the verify phase after writing";
    "verify_offset": between(HEADER, u32::MAX as i64) => Count(verify.plan.offset);
        "Offset of the verify header in its block";
    "verify_interval": between(2 * HEADER, u32::MAX as i64) => Count(verify.plan.interval); "Bytes per verify header";
    "verify_pattern": TEXT => Text(verify.plan.pattern, |text, context| pattern_with_offsets(text, context.read)?);
        "Pattern of the payload; %o is the offset, in 8 bytes";
    "verify_pattern_interval": COUNT, "0" => Count(verify.plan.pattern_interval, |bytes| (bytes > 0).then_some(bytes));
        "Number of bytes after which the pattern starts again";
    "verify_policy": POLICY, "completed" => Word(verify.plan.policy, policy); "Writes that are verified";
    "verify_fatal": BOOL, "0" => Switch(verify.plan.fatal); "Stop at the first verification failure";
    "verify_dump": BOOL, "0" => Switch(verify.plan.dump); "Write blocks that failed verification to files";
    "verify_async": between(0, 1024), "0" => Count(verify.plan.threads);
        "Number of verify threads; 0 verifies in the worker";
    "verify_async_cpus": TEXT => Text(verify.plan.thread_cpus, |text, context| cpu_list(text, context.cpus)?);
        "CPUs of the verify threads: 0,2,4-7";
    "verify_backlog": BYTES => Number(verify.plan.backlog, |blocks| (blocks > 0).then_some(blocks));
        "Number of written blocks after which to verify, instead of at the end";
    "verify_backlog_batch": COUNT => Count(verify.plan.backlog_batch, |blocks| (blocks > 0).then_some(blocks.into()));
        "Number of blocks to verify at a time";
    "verify_state_save": BOOL, "1" => Switch(verify.plan.state_save); "Save the progress of the writes in a state file";
    "verify_state_load": BOOL => Switch(verify.plan.state_load); "Verify only the writes that a state file lists";
    "experimental_verify": BOOL => Switch(verify.plan.replay);
        "Generate the sequence of writes again instead of remembering it";
    "verify_write_sequence": BOOL, "1" => Switch(verify.plan.sequence);
        "Verify the sequence number of the write in each header";
    "verify_header_seed": BOOL, "1" => Switch(verify.plan.seed); "Verify the seed of the write in each header";
    "verify_format": FORMAT, "3.42" => Word(verify.plan.format, format);
        "Version of fio that can read the headers and state files (plumb only)";
    "verifysort": TEXT => NoEffect(); "Withdrawn: verification needs no sorting";
    "verifysort_nr": TEXT => NoEffect(); "Withdrawn: verification needs no sorting";
    "trim_percentage": PERCENT, "0" => Small(verify.trim.percent);
        "Percentage of written blocks to trim before verification";
    "trim_verify_zero": BOOL, "1" => Switch(verify.trim.zero); "Trimmed blocks must read as zeros";
    "trim_backlog": BYTES => Number(verify.trim.backlog); "Number of blocks after which to trim";
    "trim_backlog_batch": COUNT => Count(verify.trim.batch, |blocks| (blocks > 0).then_some(blocks.into()));
        "Number of blocks to trim at a time";
}
