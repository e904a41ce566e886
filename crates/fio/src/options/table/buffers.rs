//! Options about the content of buffers and their memory.

use super::row::rows;
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

const DEDUPE: Kind = Kind::Word(&[("repeat", "the previous block"), ("working_set", "any block of the working set")]);

fn memory(word: &str, rest: Option<&str>) -> Result<Memory, Complaint> {
    let file = rest.filter(|rest| !rest.is_empty()).map(PathBuf::from);
    Ok(match (word, file) {
        ("malloc", None) => Memory::Malloc,
        ("shm", None) => Memory::Shm(false),
        ("shmhuge", None) => Memory::Shm(true),
        ("mmap", file) => Memory::Mmap(false, file),
        ("mmaphuge", file) => Memory::Mmap(true, file),
        ("mmapshared", file) => Memory::MmapShared(file),
        ("cudamalloc", _) => return Err(Complaint::plain("asks for memory of a GPU, which is not supported")),
        _ => return Err(Complaint::new("takes no file", "only mmap, mmaphuge and mmapshared take one")),
    })
}

rows! {
    "zero_buffers": FLAG => Switch(buffers.zero); "Fill buffers with zeros";
    "refill_buffers": FLAG => Switch(buffers.refill); "Refill buffers before each write";
    "scramble_buffers": BOOL, "1" => Switch(job.buffers.scramble);
        "Slightly change the data before each write, against deduplication";
    "buffer_pattern": TEXT => Text(job.buffers.fill, |text, context| Fill::Pattern(pattern(text, context.read)?));
        "Fill buffers with this pattern: 0xhex, \"text\", 'file' or a number";
    "buffer_compress_percentage": PERCENT => Small(job.buffers.compress_percent);
        "Percentage by which the data can be compressed";
    "buffer_compress_chunk": COUNT, "512" => Count(job.buffers.compress_chunk);
        "Size of the chunks to which buffer_compress_percentage applies";
    "dedupe_percentage": PERCENT => Small(job.buffers.dedupe_percent);
        "Percentage of writes that repeat an earlier block";
    "dedupe_mode": DEDUPE, "repeat" => Word(buffers.dedupe_by_set, |word| word == "working_set");
        "How the block to repeat is chosen";
    "dedupe_working_set_percentage": PERCENT, "5" => Small(buffers.working_set.percent);
        "Size of the working set of unique blocks, in percent of the job's size";
    "dedupe_global": BOOL, "0" => Switch(buffers.working_set.shared);
        "Share one working set with the other jobs that set this option";
    "mem" | "iomem": MEMORY, "malloc" => Word(job.buffers.memory, |word, rest| memory(word, rest)?);
        "Type of memory of the I/O buffers";
    "iomem_align" | "mem_align": COUNT, "0" => Count(job.buffers.align);
        "Alignment of I/O buffers in bytes; 0 for the page size";
    "hugepage-size": BYTES, "2m" => Number(job.buffers.huge_page); "Size of a huge page";
    "lockmem": BYTES, "0" => Number(job.place.lock_memory); "Amount of memory to lock (mlock(2)) during the job";
}
