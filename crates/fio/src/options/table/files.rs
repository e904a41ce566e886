//! Options about files and devices: names, directories, creation.

use super::row::{Context, Outcome, rows, words};
use crate::error::Complaint;
use crate::options::draft::Draft;
use crate::options::values::split_escaped;
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

/// Adds files to those that were named before, in this section or a `[global]` one.
fn add_names(draft: &mut Draft, text: &str, _: &Context<'_>) -> Outcome {
    draft.job.files.names.extend(paths(text)?);
    Ok(())
}

fn consent(text: &str) -> Result<Vec<String>, Complaint> {
    let names: Vec<String> = text.split(',').map(|word| word.trim().to_owned()).collect();
    if names.iter().any(String::is_empty) {
        let help = "write the serial number, WWID or UUID of the device that may be overwritten";
        return Err(Complaint::new("names no device", help));
    }
    Ok(names)
}

/// Reason why barriers are refused.
const BARRIER: &str = "Linux has had no barrier writes since 2.6.37, and in fio it has no effect; use fdatasync";

rows! {
    "filename": TEXT => Text(fn add_names), last;
        "Files or devices to use, separated by `:`; all clones use them; given again, it adds to them";
    "directory": TEXT => Text(job.files.directories, paths);
        "Directories for the files, separated by `:`; clones are distributed over them, or use the first with filename";
    "nrfiles" | "nr_files": POSITIVE, "1" => Count(job.files.count); "Number of files among which size is divided";
    "create_fsync": BOOL, "1" => Switch(job.files.create_fsync); "fsync files after layout";
    "create_only": BOOL, "0" => Switch(job.files.create_only); "Lay out the files only, without I/O";
    "allow_file_create": BOOL, "1" => Switch(job.files.may_create); "Allow the job to create files";
    "allow_mounted_write": BOOL, "0" => Switch(job.files.may_write_mounted);
        "Allow writes to mounted block devices, if write_consent names them as well";
    "write_consent": TEXT => Text(job.files.consent, consent);
        "Overwrite the block devices with these serial numbers, WWIDs or UUIDs, separated by `,`, although \
         they hold data";
    "pre_read": BOOL, "0" => Switch(job.files.pre_read);
        "Read the files into the page cache before the job; turns invalidate off";
    "unlink": BOOL, "0" => Switch(job.files.unlink); "Remove the files after the job";
    "fallocate": ALLOCATE, "native" => Word(job.files.allocate, allocate);
        "How to allocate space when a file is laid out";
    "fadvise_hint": ADVICE, "1" => Word(job.files.advice, advice);
        "Advice to the kernel about the access pattern (posix_fadvise(2))";
    "direct": BOOL, "0" => Switch(job.files.direct); "Use non-buffered I/O (O_DIRECT)";
    "buffered": BOOL, "1" => Switch(job.files.direct, |on| !on);
        "Use buffered I/O; the opposite of direct, of which the last one given applies";
    "atomic": BOOL, "0" => Switch(job.files.atomic); "Use writes that a crash cannot tear (RWF_ATOMIC)";
    "invalidate": BOOL, "1" => Switch(job.files.invalidate); "Drop the files from the page cache before the job";
    "sync": SYNC, "none" => Word(job.files.sync, sync); "Open with O_SYNC or O_DSYNC";
    "overwrite": BOOL, "0" => Switch(job.files.overwrite); "Lay out the file in full before writing to it";
    "fsync": COUNT, "0" => Count(job.load.fsync_every); "Number of writes after which to fsync; 0 for never";
    "fdatasync": COUNT, "0" => Count(job.load.fdatasync_every);
        "Number of writes after which to fdatasync; 0 for never";
    "end_fsync": BOOL, "0" => Switch(job.load.end_fsync); "fsync the files at the end of the job";
    "fsync_on_close": BOOL, "0" => Switch(job.load.fsync_on_close); "fsync a file when it is closed";
    "write_barrier": COUNT, "0" => Refused(BARRIER); "Number of writes after which one is a barrier";
}
