//! Options about the content of buffers and their memory.

use super::row::{Row, Set, kind, put, works};
use crate::error::Complaint;
use crate::options::values::pattern;
use plan::option::Kind;
use plan::{Fill, Memory};
use std::path::PathBuf;

const MEMORY: Kind = Kind::Word(&[
    ("malloc", "malloc(3)"),
    ("shm", "System V shared memory"),
    ("shmhuge", "System V shared memory in huge pages"),
    ("mmap", "mapped anonymous memory, or a file after `:`"),
    ("mmaphuge", "the same in huge pages, or a file on hugetlbfs after `:`"),
    ("mmapshared", "shared mapping of anonymous memory, or of a file after `:`"),
    ("cudamalloc", "memory of a GPU"),
]);

pub(super) const ROWS: &[Row] = &[
    works("zero_buffers", Kind::Flag, put!(Switch, buffers.zero), "Fill buffers with zeros"),
    works("refill_buffers", Kind::Flag, put!(Switch, buffers.refill), "Refill buffers before each write"),
    works(
        "scramble_buffers",
        Kind::Bool,
        put!(Switch, job.buffers.scramble),
        "Slightly change the data before each write, against deduplication",
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
        "Percentage by which the data can be compressed",
    ),
    works(
        "buffer_compress_chunk",
        kind::COUNT,
        put!(Count, job.buffers.compress_chunk),
        "Size of the chunks to which buffer_compress_percentage applies",
    )
    .default("512"),
    works(
        "dedupe_percentage",
        kind::PERCENT,
        put!(Small, job.buffers.dedupe_percent),
        "Percentage of writes that repeat an earlier block",
    ),
    works(
        "dedupe_mode",
        Kind::Word(&[("repeat", "the previous block"), ("working_set", "any block of the working set")]),
        put!(Word, buffers.dedupe_by_set, |word| word == "working_set"),
        "How the block to repeat is chosen",
    )
    .default("repeat"),
    works(
        "dedupe_working_set_percentage",
        kind::PERCENT,
        put!(Small, buffers.working_set.percent),
        "Size of the working set of unique blocks, in percent of the job's size",
    )
    .default("5"),
    works(
        "dedupe_global",
        Kind::Bool,
        put!(Switch, buffers.working_set.shared),
        "Share one working set with the other jobs that set this option",
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
        "Type of memory of the I/O buffers",
    )
    .default("malloc")
    .alias(&["iomem"]),
    works(
        "iomem_align",
        kind::COUNT,
        put!(Count, job.buffers.align),
        "Alignment of I/O buffers in bytes; 0 for the page size",
    )
    .default("0")
    .alias(&["mem_align"]),
    works("hugepage-size", kind::BYTES, put!(Number, job.buffers.huge_page), "Size of a huge page").default("2m"),
    works(
        "lockmem",
        kind::BYTES,
        put!(Number, job.place.lock_memory),
        "Amount of memory to lock (mlock(2)) during the job",
    )
    .default("0"),
];
