//! Options about the content of buffers and their memory.

use super::row::{Row, Set, kind, put, works};
use crate::error::Complaint;
use crate::values::pattern;
use plan::option::Kind;
use plan::{Fill, Memory};
use std::path::PathBuf;

const MEMORY: Kind = Kind::Word(&[
    ("malloc", "private pages"),
    ("shm", "System V shared memory"),
    ("shmhuge", "the same in huge pages"),
    ("mmap", "mapped anonymous memory, or a file after `:`"),
    ("mmaphuge", "the same in huge pages; the file lies on hugetlbfs"),
    ("mmapshared", "shared mapping"),
    ("cudamalloc", "memory of a GPU"),
]);

pub(super) const ROWS: &[Row] = &[
    works("zero_buffers", Kind::Flag, put!(Switch, buffers.zero), "Fill buffers with zeros"),
    works("refill_buffers", Kind::Flag, put!(Switch, buffers.refill), "Fill buffers anew before every write"),
    works(
        "scramble_buffers",
        Kind::Bool,
        put!(Switch, job.buffers.scramble),
        "Change a little in every buffer before every write",
    )
    .default("1"),
    works(
        "buffer_pattern",
        Kind::Text,
        Set::Text(|draft, text, context| {
            draft.job.buffers.fill = Fill::Pattern(pattern(text, context.read)?);
            Ok(())
        }),
        "Fill buffers with this pattern: 0xhex, \"text\", 'file' or a number",
    ),
    works(
        "buffer_compress_percentage",
        kind::PERCENT,
        put!(Small, job.buffers.compress_percent),
        "Share of each buffer that compresses away",
    ),
    works(
        "buffer_compress_chunk",
        kind::COUNT,
        put!(Count, job.buffers.compress_chunk),
        "Pieces within which that share holds",
    )
    .default("512"),
    works(
        "dedupe_percentage",
        kind::PERCENT,
        put!(Small, job.buffers.dedupe_percent),
        "Share of buffers that repeat an earlier one",
    ),
    works(
        "dedupe_mode",
        Kind::Word(&[("repeat", "the buffer before"), ("working_set", "any of the first unique ones")]),
        put!(Word, buffers.dedupe_by_set, |word| word == "working_set"),
        "Which earlier buffers are repeated",
    )
    .default("repeat"),
    works(
        "dedupe_working_set_percentage",
        kind::PERCENT,
        put!(Small, buffers.working_set.percent),
        "Size of the set of repeated buffers, as a share of the job's size",
    )
    .default("5"),
    works(
        "dedupe_global",
        Kind::Bool,
        put!(Switch, buffers.working_set.shared),
        "One such set for all jobs that want it",
    )
    .default("0"),
    works(
        "mem",
        MEMORY,
        Set::Word(|draft, word, rest| {
            let file = rest.filter(|rest| !rest.is_empty()).map(PathBuf::from);
            draft.job.buffers.memory = match (word, file) {
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
    works("iomem_align", kind::COUNT, put!(Count, job.buffers.align), "Alignment of buffers; 0 for a page")
        .default("0")
        .alias(&["mem_align"]),
    works("hugepage-size", kind::BYTES, put!(Number, job.buffers.huge_page), "Size of a huge page").default("2m"),
    works("lockmem", kind::BYTES, put!(Number, job.place.lock_memory), "Pin so much memory before the run")
        .default("0"),
];
