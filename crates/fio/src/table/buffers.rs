//! Options about the content of buffers and their memory.

use super::row::{Row, Set, kind, put};
use crate::error::Complaint;
use crate::values::pattern;
use plan::Memory;
use plan::option::Kind;
use std::path::PathBuf;

const GROUP: &str = "Buffers and memory";

const fn works(name: &'static str, kind: Kind, set: Set, help: &'static str) -> Row {
    Row::works(GROUP, name, kind, set, help)
}

const MEMORY: Kind = Kind::Word(&[
    ("malloc", "private pages"),
    ("shm", "System V shared memory"),
    ("shmhuge", "the same in huge pages"),
    ("mmap", "mapped anonymous memory, or a file after `:`"),
    ("mmaphuge", "the same in huge pages; the file lies on hugetlbfs"),
    ("mmapshared", "shared mapping"),
    ("cudamalloc", "memory of a GPU"),
]);

fn percent(value: u32) -> u8 {
    u8::try_from(value).unwrap_or(100)
}

pub(super) const ROWS: &[Row] = &[
    works(
        "zero_buffers",
        Kind::Flag,
        Set::Switch(|draft, on| {
            draft.buffers.zero = on;
            Ok(())
        }),
        "Fill buffers with zeros",
    ),
    works(
        "refill_buffers",
        Kind::Flag,
        Set::Switch(|draft, on| {
            draft.buffers.refill = Some(on);
            Ok(())
        }),
        "Fill buffers anew before every write",
    ),
    works(
        "scramble_buffers",
        Kind::Bool,
        put!(Switch, buffers.scramble),
        "Change a little in every buffer before every write",
    )
    .default("1"),
    works(
        "buffer_pattern",
        Kind::Text,
        Set::Text(|draft, text, context| {
            draft.buffers.pattern = Some(pattern(text, context.read)?);
            Ok(())
        }),
        "Fill buffers with this pattern: 0xhex, \"text\", 'file' or a number",
    ),
    works(
        "buffer_compress_percentage",
        kind::PERCENT,
        Set::Count(|draft, value| {
            draft.buffers.compress_percent = percent(value);
            Ok(())
        }),
        "Share of each buffer that compresses away",
    ),
    works(
        "buffer_compress_chunk",
        kind::COUNT,
        put!(Count, buffers.compress_chunk),
        "Pieces within which that share holds",
    )
    .default("512"),
    works(
        "dedupe_percentage",
        kind::PERCENT,
        Set::Count(|draft, value| {
            draft.buffers.dedupe_percent = percent(value);
            Ok(())
        }),
        "Share of buffers that repeat an earlier one",
    ),
    works(
        "dedupe_mode",
        Kind::Word(&[("repeat", "the buffer before"), ("working_set", "any of the first unique ones")]),
        Set::Word(|draft, word, _| {
            draft.buffers.dedupe_by_set = word == "working_set";
            Ok(())
        }),
        "Which earlier buffers are repeated",
    )
    .default("repeat"),
    works(
        "dedupe_working_set_percentage",
        kind::PERCENT,
        Set::Count(|draft, value| {
            draft.buffers.set_percent = percent(value);
            Ok(())
        }),
        "Size of the set of repeated buffers, as a share of the job's size",
    )
    .default("5"),
    works("dedupe_global", Kind::Bool, put!(Switch, buffers.set_shared), "One such set for all jobs that want it")
        .default("0"),
    works(
        "mem",
        MEMORY,
        Set::Word(|draft, word, rest| {
            let file = rest.filter(|rest| !rest.is_empty()).map(PathBuf::from);
            draft.buffers.memory = match (word, file) {
                ("malloc", None) => Memory::Malloc,
                ("shm", None) => Memory::Shm(false),
                ("shmhuge", None) => Memory::Shm(true),
                ("mmap", file) => Memory::Mmap(false, file),
                ("mmaphuge", file) => Memory::Mmap(true, file),
                ("mmapshared", file) => Memory::MmapShared(file),
                ("cudamalloc", _) => return Err(Complaint::plain("asks for memory of a GPU, which is not supported")),
                _ => return Err(Complaint::new("takes no file", "only mmap, mmaphuge and mmapshared take one")),
            };
            Ok(())
        }),
        "Which memory buffers come from",
    )
    .default("malloc")
    .alias(&["iomem"]),
    works("iomem_align", kind::COUNT, put!(Count, buffers.align), "Alignment of buffers; 0 for a page")
        .default("0")
        .alias(&["mem_align"]),
    works("hugepage-size", kind::BYTES, put!(Number, buffers.huge_page), "Size of a huge page").default("2m"),
    works("lockmem", kind::BYTES, put!(Number, place.lock_memory), "Pin so much memory before the run").default("0"),
];
