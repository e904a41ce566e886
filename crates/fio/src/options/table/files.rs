//! Options about files and devices: names, directories, creation.

use super::row::{Row, Set, kind, put, refused, words, works};
use crate::error::Complaint;
use crate::options::values::split_escaped;
use plan::option::Kind;
use plan::{AccessAdvice, Allocate, SyncMode};
use std::path::PathBuf;

words!(ALLOCATE, allocate -> Allocate {
    "native" => Allocate::Native, "fallocate if the file system supports it";
    "none" => Allocate::None, "do not allocate";
    "posix" => Allocate::Posix, "posix_fallocate";
    "keep" => Allocate::KeepSize, "fallocate without changing the file size";
    "truncate" => Allocate::Truncate, "ftruncate: only set the size";
    "0" => Allocate::None, "same as none";
    "1" => Allocate::Posix, "same as posix";
});

words!(ADVICE, advice -> AccessAdvice {
    "1" => AccessAdvice::ByLoad, "random or sequential, according to rw";
    "0" => AccessAdvice::None, "no advice";
    "sequential" => AccessAdvice::Sequential, "sequential access";
    "random" => AccessAdvice::Random, "random access";
    "noreuse" => AccessAdvice::NoReuse, "data is accessed once";
});

words!(SYNC, sync -> SyncMode {
    "none" => SyncMode::None, "no O_SYNC";
    "0" => SyncMode::None, "same as none";
    "sync" => SyncMode::Sync, "open with O_SYNC";
    "1" => SyncMode::Sync, "same as sync";
    "dsync" => SyncMode::DataSync, "open with O_DSYNC";
});

fn paths(text: &str) -> Result<Vec<PathBuf>, Complaint> {
    let parts = split_escaped(text);
    if parts.is_empty() {
        return Err(Complaint::new("names no path", r"separate paths by `:`, write `\:` for a colon in a name"));
    }
    Ok(parts.into_iter().map(PathBuf::from).collect())
}

pub(super) const ROWS: &[Row] = &[
    works(
        "filename",
        Kind::Text,
        put!(Text, job.files.names, |text| paths(text)?),
        "Files or devices to use, separated by `:`; all clones use them",
    )
    .last(),
    works(
        "directory",
        Kind::Text,
        put!(Text, job.files.directories, |text| paths(text)?),
        "Directories for the files, separated by `:`; clones are distributed over them",
    ),
    works("nrfiles", kind::POSITIVE, put!(Count, job.files.count), "Number of files among which size is divided")
        .default("1")
        .alias(&["nr_files"]),
    works("create_fsync", Kind::Bool, put!(Switch, job.files.create_fsync), "fsync files after layout").default("1"),
    works("create_only", Kind::Bool, put!(Switch, job.files.create_only), "Lay out the files only, without I/O")
        .default("0"),
    works("allow_file_create", Kind::Bool, put!(Switch, job.files.may_create), "Allow the job to create files")
        .default("1"),
    works(
        "allow_mounted_write",
        Kind::Bool,
        put!(Switch, job.files.may_write_mounted),
        "Allow writes to mounted block devices, if write_consent names them as well",
    )
    .default("0"),
    works(
        "write_consent",
        Kind::Text,
        Set::Text(|draft, text, _| {
            draft.job.files.consent = text.split(',').map(|word| word.trim().to_owned()).collect();
            if draft.job.files.consent.iter().any(String::is_empty) {
                return Err(Complaint::new(
                    "names no device",
                    "write the serial number, the WWID or the size in bytes of the device that may be overwritten",
                ));
            }
            Ok(())
        }),
        "Overwrite the block devices with these serial numbers, WWIDs or sizes in bytes, separated by `,`, although \
         they hold data",
    ),
    works(
        "pre_read",
        Kind::Bool,
        put!(Switch, job.files.pre_read),
        "Read the files into the page cache before the job; turns invalidate off",
    )
    .default("0"),
    works("unlink", Kind::Bool, put!(Switch, job.files.unlink), "Remove the files after the job").default("0"),
    works(
        "fallocate",
        ALLOCATE,
        put!(Word, job.files.allocate, |word| allocate(word)?),
        "How to allocate space when a file is laid out",
    )
    .default("native"),
    works(
        "fadvise_hint",
        ADVICE,
        put!(Word, job.files.advice, |word| advice(word)?),
        "Advice to the kernel about the access pattern (posix_fadvise(2))",
    )
    .default("1"),
    works("direct", Kind::Bool, put!(Switch, job.files.direct), "Use non-buffered I/O (O_DIRECT)").default("0"),
    works(
        "buffered",
        Kind::Bool,
        put!(Switch, job.files.direct, |on| !on),
        "Use buffered I/O; the opposite of direct, of which the last one given applies",
    )
    .default("1"),
    works("atomic", Kind::Bool, put!(Switch, job.files.atomic), "Use writes that a crash cannot tear (RWF_ATOMIC)")
        .default("0"),
    works(
        "invalidate",
        Kind::Bool,
        put!(Switch, job.files.invalidate),
        "Drop the files from the page cache before the job",
    )
    .default("1"),
    works("sync", SYNC, put!(Word, job.files.sync, |word| sync(word)?), "Open with O_SYNC or O_DSYNC").default("none"),
    works("overwrite", Kind::Bool, put!(Switch, job.files.overwrite), "Lay out the file in full before writing to it")
        .default("0"),
    works(
        "fsync",
        kind::COUNT,
        put!(Count, job.load.fsync_every),
        "Number of writes after which to fsync; 0 for never",
    )
    .default("0"),
    works(
        "fdatasync",
        kind::COUNT,
        put!(Count, job.load.fdatasync_every),
        "Number of writes after which to fdatasync; 0 for never",
    )
    .default("0"),
    works("end_fsync", Kind::Bool, put!(Switch, job.load.end_fsync), "fsync the files at the end of the job")
        .default("0"),
    works("fsync_on_close", Kind::Bool, put!(Switch, job.load.fsync_on_close), "fsync a file when it is closed")
        .default("0"),
    refused(
        "write_barrier",
        kind::COUNT,
        "Linux has had no barrier writes since 2.6.37, and in fio it has no effect; use fdatasync",
        "Number of writes after which one is a barrier",
    )
    .default("0"),
];
