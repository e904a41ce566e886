//! Options about how files are selected, opened, locked and created.

use super::row::{Context, Outcome, rows, words};
use crate::error::Complaint;
use crate::options::draft::Draft;
use crate::options::values::{UnitBase, integer, skewed, split_escaped};
use plan::option::Kind;
use plan::{FileLock, FileService, FileType, RangeSync, WriteHint};
use std::path::PathBuf;

words!(FILE_TYPE, file_type -> Option<FileType> {
    "none" => None, "look it up";
    "file" => Some(FileType::Regular), "a regular file";
    "block" => Some(FileType::Block), "a block device";
    "char" => Some(FileType::Character), "a character device";
});

words!(LOCK, lock -> FileLock {
    "none" => FileLock::None, "no locks";
    "exclusive" => FileLock::Exclusive, "one worker at a time";
    "readwrite" => FileLock::ReadWrite, "many readers or one writer";
});

const SERVICE: Kind = Kind::Word(&[
    ("roundrobin", "each in turn; :N for N I/Os per file"),
    ("random", "any; :N for N I/Os per file"),
    ("sequential", "one after the other, each to its end"),
    ("zipf", "Zipf distribution :theta[:centre]"),
    ("pareto", "Pareto distribution :shape[:centre]"),
    ("normal", "normal distribution :deviation[:centre]"),
    ("gauss", "same as normal"),
]);

words!(HINT, hint -> WriteHint {
    "none" => WriteHint::None, "no particular lifetime";
    "short" => WriteHint::Short, "short";
    "medium" => WriteHint::Medium, "medium";
    "long" => WriteHint::Long, "long";
    "extreme" => WriteHint::Extreme, "extreme";
});

/// Parses file_service_type: the word and the text after it.
fn service(word: &str, rest: Option<&str>, base: UnitBase) -> Result<FileService, Complaint> {
    let times = || match rest.map(|rest| integer(rest, base)).transpose()? {
        None => Ok(1),
        Some(times) => u32::try_from(times)
            .ok()
            .filter(|&times| times > 0)
            .ok_or_else(|| Complaint::new(format!("has {times} I/Os per file"), "write it like roundrobin:8")),
    };
    let between = |what: &str, value: f64, least: f64, most: f64| {
        let inside = value > least && value < most;
        inside
            .then_some(())
            .ok_or_else(|| Complaint::plain(format!("has {what} that is not between {least} and {most}")))
    };
    Ok(match word {
        "random" => FileService::Random(times()?),
        "sequential" => FileService::Sequential,
        "zipf" => {
            let (theta, centre) = skewed(rest, 1.1)?;
            between("an exponent", theta, 0.0, f64::INFINITY)?;
            FileService::Zipf(theta, centre)
        }
        "pareto" => {
            let (shape, centre) = skewed(rest, 0.2)?;
            between("a shape", shape, 0.0, 1.0)?;
            FileService::Pareto(shape, centre)
        }
        "normal" | "gauss" => {
            let (deviation, centre) = skewed(rest, 0.0)?;
            if !(0.0..=100.0).contains(&deviation) {
                return Err(Complaint::plain("has a deviation that is not 0 to 100 percent"));
            }
            FileService::Normal(deviation, centre)
        }
        _ => FileService::RoundRobin(times()?),
    })
}

/// Parses `wait_before,write,wait_after:N`, in any selection and order; without N after every write. Given again, it
/// adds words, and its N replaces the one before.
fn range_sync(draft: &mut Draft, text: &str, _: &Context<'_>) -> Outcome {
    let help = "write it like wait_before,write:8: what to do, after how many writes";
    let (words, every) = text.split_once(':').unwrap_or((text, "1"));
    let every = every.trim().parse::<u64>().ok().filter(|&every| every > 0);
    let every = every.ok_or_else(|| Complaint::new("has no number of writes after the colon", help))?;
    let before = draft.job.load.range_sync.unwrap_or_default();
    let mut sync = RangeSync { every, ..before };
    for word in words.split(',').map(str::trim) {
        match word {
            "wait_before" => sync.wait_before = true,
            "write" => sync.write = true,
            "wait_after" => sync.wait_after = true,
            _ => return Err(Complaint::new(format!("has a word it does not know: `{word}`"), help)),
        }
    }
    draft.job.load.range_sync = Some(sync);
    Ok(())
}

/// fio's default format of file names.
const DEFAULT_NAMES: &str = "$jobname.$jobnum.$filenum";

fn name_format(text: &str) -> Option<String> {
    (text != DEFAULT_NAMES).then(|| text.to_owned())
}

fn open_below(draft: &mut Draft, text: &str, _: &Context<'_>) -> Outcome {
    draft.job.files.handling.below.extend(split_escaped(text).into_iter().map(PathBuf::from));
    Ok(())
}

fn choose_files(draft: &mut Draft, word: &str, rest: Option<&str>) -> Outcome {
    draft.job.files.handling.service = service(word, rest, draft.unit_base)?;
    Ok(())
}

fn scheduler(text: &str) -> Result<Option<String>, Complaint> {
    if text.contains(|letter: char| !(letter.is_ascii_alphanumeric() || "-_".contains(letter))) {
        let help = "write it like none, mq-deadline, bfq or kyber";
        return Err(Complaint::new("is not the name of a scheduler", help));
    }
    Ok(Some(text.to_owned()))
}

rows! {
    "filename_format": TEXT, DEFAULT_NAMES => Text(job.files.handling.name_format, |text| name_format(text)), last;
        "Format of generated file names";
    "filetype": FILE_TYPE, "none" => Word(job.files.handling.file_type, file_type);
        "Type of the files, instead of looking it up";
    "opendir": TEXT => Text(fn open_below); "Use all files in this directory and below";
    "lockfile": LOCK, "none" => Word(job.files.handling.lock, lock), first; "How workers lock files during I/O";
    "openfiles": COUNT => Count(job.files.handling.open_at_once, |count| (count > 0).then_some(count));
        "Maximum number of files open at the same time; all without it";
    "file_service_type": SERVICE, "roundrobin" => Word(fn choose_files); "How to choose the file of the next I/O";
    "ioscheduler": TEXT => Text(job.files.handling.scheduler, scheduler);
        "Switch the devices to this I/O scheduler, which remains set after the run";
    "create_serialize": BOOL, "1" => Switch(job.files.handling.laid_out_first);
        "Lay out the files of all jobs one after the other before any job starts";
    "create_on_open": BOOL, "0" => Switch(job.files.handling.create_on_open);
        "Create files when the job opens them, without laying them out";
    "unlink_each_loop": BOOL, "0" => Switch(job.files.handling.unlink_each_pass);
        "Remove the files after each loop except the last";
    "write_hint": HINT => Word(job.files.handling.write_hint, |word| Some(hint(word)?));
        "Expected lifetime of the written data";
    "fill_device" | "fill_fs": BOOL, "0" => Switch(job.files.handling.fill); "Write until the space runs out (ENOSPC)";
    "file_append": BOOL, "0" => Switch(job.files.handling.append); "Write after the end of each file";
    "end_syncfs": BOOL, "0" => Switch(job.load.end_syncfs); "syncfs at the end of the job";
    "sync_file_range": TEXT => Text(fn range_sync);
        "sync_file_range after every N writes: wait_before,write,wait_after:N";
    "unique_filename": BOOL, "1" => Switch(job.files.handling.unique_names);
        "On a server: names of files in a directory= begin with the client's address";
}
