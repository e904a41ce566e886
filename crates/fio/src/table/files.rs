//! Options about files and devices: names, directories, creation.

use super::row::{Row, Set, kind, put, refused, works};
use crate::error::Complaint;
use crate::values::split_escaped;
use plan::option::Kind;
use plan::{AccessAdvice, Allocate, SyncMode};
use std::path::PathBuf;

const ALLOCATE: Kind = Kind::Word(&[
    ("native", "fallocate where the file system has it"),
    ("none", "reserve nothing"),
    ("posix", "posix_fallocate"),
    ("keep", "fallocate, file size unchanged"),
    ("truncate", "set the size only"),
    ("0", "same as none"),
    ("1", "same as posix"),
]);

const ADVICE: Kind = Kind::Word(&[
    ("1", "random or sequential, as rw says"),
    ("0", "nothing"),
    ("sequential", "it is read in order"),
    ("random", "it is read in no order"),
    ("noreuse", "it is read once"),
]);

const SYNC: Kind = Kind::Word(&[
    ("none", "no O_SYNC"),
    ("0", "same as none"),
    ("sync", "open with O_SYNC"),
    ("1", "same as sync"),
    ("dsync", "open with O_DSYNC"),
]);

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
        "Files or devices, separated by `:`; shared by all clones",
    ),
    works(
        "directory",
        Kind::Text,
        put!(Text, job.files.directories, |text| paths(text)?),
        "Directories for the files, separated by `:`; clones are spread over them",
    ),
    works("nrfiles", kind::POSITIVE, put!(Count, job.files.count), "Number of files the size is divided among")
        .default("1")
        .alias(&["nr_files"]),
    works("create_fsync", Kind::Bool, put!(Switch, job.files.create_fsync), "Flush files after they were laid out")
        .default("1"),
    works("create_only", Kind::Bool, put!(Switch, job.files.create_only), "Lay out the files and stop").default("0"),
    works("allow_file_create", Kind::Bool, put!(Switch, job.files.may_create), "Make files that do not exist")
        .default("1"),
    works(
        "allow_mounted_write",
        Kind::Bool,
        put!(Switch, job.files.may_write_mounted),
        "Write to block devices that are mounted; write_consent must name them as well",
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
        "Read the files into the page cache first; switches invalidate off",
    )
    .default("0"),
    works("unlink", Kind::Bool, put!(Switch, job.files.unlink), "Remove the files when the job is done").default("0"),
    works(
        "fallocate",
        ALLOCATE,
        put!(Word, job.files.allocate, |word| match word {
            "none" | "0" => Allocate::None,
            "posix" | "1" => Allocate::Posix,
            "keep" => Allocate::KeepSize,
            "truncate" => Allocate::Truncate,
            _ => Allocate::Native,
        }),
        "How space is reserved when a file is made",
    )
    .default("native"),
    works(
        "fadvise_hint",
        ADVICE,
        put!(Word, job.files.advice, |word| match word {
            "0" => AccessAdvice::None,
            "sequential" => AccessAdvice::Sequential,
            "random" => AccessAdvice::Random,
            "noreuse" => AccessAdvice::NoReuse,
            _ => AccessAdvice::ByLoad,
        }),
        "What the kernel is told of the access pattern",
    )
    .default("1"),
    works("direct", Kind::Bool, put!(Switch, job.files.direct), "Open with O_DIRECT, past the page cache").default("0"),
    works(
        "buffered",
        Kind::Bool,
        put!(Switch, job.files.direct, |on| !on),
        "Go through the page cache; the opposite of direct, the later one holds",
    )
    .default("1"),
    works("atomic", Kind::Bool, put!(Switch, job.files.atomic), "Writes that no crash can tear (RWF_ATOMIC)")
        .default("0"),
    works("invalidate", Kind::Bool, put!(Switch, job.files.invalidate), "Drop the file's pages from the cache first")
        .default("1"),
    works(
        "sync",
        SYNC,
        put!(Word, job.files.sync, |word| match word {
            "sync" | "1" => SyncMode::Sync,
            "dsync" => SyncMode::DataSync,
            _ => SyncMode::None,
        }),
        "Open with O_SYNC or O_DSYNC",
    )
    .default("none"),
    works("overwrite", Kind::Bool, put!(Switch, job.files.overwrite), "Lay out the file in full before writing to it")
        .default("0"),
    works("fsync", kind::COUNT, put!(Count, job.load.fsync_every), "fsync after so many writes; 0 never").default("0"),
    works("fdatasync", kind::COUNT, put!(Count, job.load.fdatasync_every), "fdatasync after so many writes; 0 never")
        .default("0"),
    works("end_fsync", Kind::Bool, put!(Switch, job.load.end_fsync), "fsync when the job's I/O is done").default("0"),
    works("fsync_on_close", Kind::Bool, put!(Switch, job.load.fsync_on_close), "fsync a file whenever it is closed")
        .default("0"),
    refused(
        "write_barrier",
        kind::COUNT,
        "Linux has had no barrier writes since 2.6.37, and in fio it has no effect; use fdatasync",
        "Make every so many writes a barrier",
    )
    .default("0"),
];
