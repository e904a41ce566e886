//! The files of a worker: names, actual sizes, and the region of each that it works on.

use crate::error::{file_error, job_refusal, refusal};
use crate::shared::capabilities::needs_files;
use load::{Reach, Region};
use measure::Direction;
use model::JobError;
use plan::{Extent, FileType, JobPlan, Mix, Part, Work, ZonePlan, Zoned};
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// A file or device as a worker will use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlannedFile {
    /// Its path.
    pub(crate) path: PathBuf,
    /// File type.
    pub(crate) kind: FileKind,
    /// The part of it that the worker uses.
    pub(crate) region: Region,
    /// Size before layout, in bytes; 0 if it does not exist.
    pub(crate) real_size: u64,
    /// Start and end of what the job asks for, if its region was cut to whole zones.
    pub(crate) cut_to_zones: Option<(u64, u64)>,
    /// Size of its zones, if it is a zoned device.
    pub(crate) zone_size: Option<u64>,
    /// Bytes that it can hold, if it is a sequential zone of zonefs.
    pub(crate) zone_room: Option<u64>,
}

/// Bytes of the regions of all files.
pub(crate) fn total_bytes(files: &[PlannedFile]) -> u64 {
    files.iter().map(|file| file.region.bytes()).fold(0, u64::saturating_add)
}

/// The type of file that a path refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// A regular file, or one that does not exist yet.
    Regular,
    /// A block device.
    Block,
    /// A character device, a pipe, a socket.
    Other,
    /// Only a name: the engine opens no files.
    NameOnly,
}

/// The clone number used in file names and for offset increments: fio numbers the first clone 0 and then counts down.
pub(crate) fn clone_index(clone: u32, clones: u32) -> u32 {
    if clone == 0 { 0 } else { clones - clone }
}

/// The files of one worker. Fails if a size is missing, too small or out of range, or the size of a device cannot be
/// determined.
pub(crate) fn plan_files(job: &JobPlan, clone: u32) -> Result<Vec<PlannedFile>, JobError> {
    if job.work == Work::Background {
        return Ok(vec![endless()]);
    }
    let index = clone_index(clone, job.clones);
    let paths = paths(job, index)?;
    let count = paths.len() as u64;
    let smallest = smallest_block(job);
    if let (None, Some(Extent::Bytes(size))) = (job.files.file_size, job.files.size)
        && size > 0
        && size < smallest
    {
        let what = format_args!(
            "size={size} is smaller than its smallest block of {smallest} bytes; give a larger size= or a smaller bs="
        );
        return Err(job_refusal(job, libc::EINVAL, "size", what));
    }
    let mut files = Vec::with_capacity(paths.len());
    for (number, path) in (0..).zip(paths) {
        let (kind, real_size) = match job.files.handling.file_type {
            _ if !needs_files(job) => (FileKind::NameOnly, 0),
            None => {
                let found = kind_and_size(&path)?;
                refuse_below_dev(&path, found.0)?;
                found
            }
            Some(said) => take_as(said, &path)?,
        };
        let zone_size = zone_size(&path, kind)?;
        let zone_room = if kind == FileKind::Regular { sys::files::zonefs::sequential(&path) } else { None };
        // A zone that is only written counts with all that it can hold.
        let is_emptied = job.load.mix == Mix::Only(Direction::Write) && !job.files.handling.append;
        let real_size = zone_room.filter(|_| is_emptied).unwrap_or(real_size);
        let wanted = wanted(job, index, number, count, &Sizes { real_size, zone_size });
        let mut file =
            PlannedFile { path, kind, region: NOT_PLANNED, real_size, cut_to_zones: None, zone_size, zone_room };
        file.region = region(job, index, &file, wanted)?;
        if let ZonePlan::Zoned(zones) = &job.load.zones {
            let asked = (file.region.start, file.region.end);
            file.region = whole_zones(job, zones, &file)?;
            file.cut_to_zones = (asked != (file.region.start, file.region.end)).then_some(asked);
        }
        files.push(file);
    }
    Ok(files)
}

/// The sizes that parts of a file are counted in.
struct Sizes {
    real_size: u64,
    /// Size of a zoned device's zones.
    zone_size: Option<u64>,
}

/// Size of the zones of a device; `None` if it is not a zoned one.
fn zone_size(path: &Path, kind: FileKind) -> Result<Option<u64>, JobError> {
    let Some(disk) = zone_device(path, kind) else { return Ok(None) };
    let device = std::fs::File::open(&disk).map_err(|error| file_error("open", &disk, error, ""))?;
    Ok(sys::devices::zones::size(device.as_fd()))
}

/// The block device that reports and resets the zones: of a node for raw commands, that of the same disk.
pub(crate) fn zone_device(path: &Path, kind: FileKind) -> Option<PathBuf> {
    match kind {
        FileKind::Block => Some(path.to_owned()),
        FileKind::Other => sys::devices::claims::behind(Path::new("/"), path),
        FileKind::Regular | FileKind::NameOnly => None,
    }
}

/// The region of a file before it is known.
pub(crate) const NOT_PLANNED: Region = Region { start: 0, end: 0, reach: Reach::Part };

/// The region of a job that does no I/O: it ends by time or with the other jobs, never because its data end.
fn endless() -> PlannedFile {
    let region = Region { start: 0, end: 1 << 62, reach: Reach::Whole };
    let (path, kind) = (PathBuf::new(), FileKind::NameOnly);
    PlannedFile { path, kind, region, real_size: 0, cut_to_zones: None, zone_size: None, zone_room: None }
}

fn paths(job: &JobPlan, index: u32) -> Result<Vec<PathBuf>, JobError> {
    let files = &job.files;
    let directory = match files.directories.len() {
        0 => None,
        // Clones that share named files share the first directory.
        _ if !files.names.is_empty() => files.directories.first(),
        many => files.directories.get(index as usize % many),
    };
    // A name is below the directory even if it starts with a slash, as in fio.
    let below = |name: &Path, directory: &PathBuf| directory.join(name.strip_prefix("/").unwrap_or(name));
    let place = |name: &Path| directory.map_or_else(|| name.to_owned(), |directory| below(name, directory));
    if !files.names.is_empty() || !files.handling.below.is_empty() {
        let mut paths: Vec<PathBuf> = files.names.iter().map(|name| place(name)).collect();
        for directory in &files.handling.below {
            add_below(directory, &mut paths)?;
        }
        return Ok(paths);
    }
    // A single job whose name is the path of a device uses that device: name=/dev/sdb.
    let named = Path::new(&job.name);
    let is_device = || std::fs::metadata(named).is_ok_and(|found| !found.is_file() && !found.is_dir());
    if needs_files(job) && job.clones == 1 && files.count == 1 && is_device() {
        return Ok(vec![named.to_owned()]);
    }
    let format = files.handling.name_format.as_deref();
    let name = |number: u32| match format {
        None => format!("{}.{index}.{number}", job.name),
        Some(format) => generated(format, &job.name, index, number),
    };
    Ok((0..files.count.max(1)).map(|number| place(Path::new(&name(number)))).collect())
}

/// The file type that the job states (`filetype`); only the size is looked up. A path that exists as something other
/// than a regular file is never treated as one, because regular files are created, extended and removed.
fn take_as(said: FileType, path: &Path) -> Result<(FileKind, u64), JobError> {
    if said == FileType::Regular && std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return kind_and_size(path);
    }
    let size = || match std::fs::File::open(path) {
        Ok(mut file) => io::Seek::seek(&mut file, io::SeekFrom::End(0)).or(Ok(0)),
        Err(error) if error.kind() == io::ErrorKind::NotFound && said == FileType::Regular => Ok(0),
        Err(error) => Err(file_error("open", path, error, "")),
    };
    Ok(match said {
        FileType::Regular => (FileKind::Regular, size()?),
        FileType::Block => (FileKind::Block, size()?),
        FileType::Character => (FileKind::Other, 0),
    })
}

/// File type and size of a path. Fails if it cannot be examined, or is a directory.
pub(crate) fn kind_and_size(path: &Path) -> Result<(FileKind, u64), JobError> {
    let found = match std::fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((FileKind::Regular, 0)),
        Err(error) => return Err(file_error("stat", path, error, "")),
    };
    let kind = found.file_type();
    if kind.is_file() {
        Ok((FileKind::Regular, found.len()))
    } else if kind.is_block_device() {
        let device = std::fs::File::open(path).map_err(|error| file_error("open", path, error, ""))?;
        let size = rustix::fs::seek(&device, rustix::fs::SeekFrom::End(0))
            .map_err(|error| file_error("find the end of", path, error, ""))?;
        Ok((FileKind::Block, size))
    } else if kind.is_dir() {
        let message = format!("{} is a directory; give filename= a file, or use directory=", path.display());
        Err(refusal(libc::EISDIR, "open", message))
    } else {
        Ok((FileKind::Other, size_behind(path)))
    }
}

/// Size of the disk that takes the raw commands of a node (/dev/ng0n1, /dev/sg0); 0 if it is not one.
fn size_behind(path: &Path) -> u64 {
    let end = |disk| rustix::fs::seek(&std::fs::File::open(disk).ok()?, rustix::fs::SeekFrom::End(0)).ok();
    sys::devices::claims::behind(Path::new("/"), path).and_then(end).unwrap_or(0)
}

/// Refuses to create a file among the nodes of devices, where a mistyped name would measure memory.
fn refuse_below_dev(path: &Path, kind: FileKind) -> Result<(), JobError> {
    use std::os::unix::fs::MetadataExt;
    // Directories that are missing would be made, too.
    let real = |folder: &Path| std::fs::canonicalize(if folder == Path::new("") { Path::new(".") } else { folder });
    let folder = path.ancestors().skip(1).find_map(|folder| real(folder).ok());
    // Memory that is mounted there, or for that purpose a directory there, is for files.
    let is_below = |folder: PathBuf| {
        let device = |path: &Path| std::fs::metadata(path).ok().map(|found| found.dev());
        folder.starts_with("/dev") && !folder.starts_with("/dev/shm") && device(&folder) == device(Path::new("/dev"))
    };
    if kind != FileKind::Regular || path.exists() || !folder.is_some_and(is_below) {
        return Ok(());
    }
    let message = format!(
        "{} does not exist, and a file of this name would be in memory, among the nodes of devices; name a device that \
         is there (lsblk lists them), or a file elsewhere",
        path.display()
    );
    Err(refusal(libc::ENOENT, "open", message))
}

/// The smallest block of the job, in bytes.
pub(crate) fn smallest_block(job: &JobPlan) -> u64 {
    u64::from(job.load.smallest())
}

/// The largest block of the job, in bytes.
pub(crate) fn largest_block(job: &JobPlan) -> u64 {
    u64::from(job.load.largest())
}

/// The part of one file that a job asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestedPart {
    /// All of the file.
    All,
    /// This number of bytes from `offset` on (`size`).
    Bytes(u64),
    /// Up to this number of bytes from `offset` on, without making the file longer (`size` in percent).
    Share(u64),
    /// Up to `bytes` from `offset` on, all below this size of the file (`filesize`), which no I/O passes.
    Below { size: u64, bytes: u64 },
}

fn wanted(job: &JobPlan, index: u32, number: u64, count: u64, of: &Sizes) -> RequestedPart {
    let smallest = smallest_block(job);
    let whole = |bytes: u64| bytes - bytes % smallest;
    let size = match job.files.size {
        Some(Extent::Zones(zones)) => Some(Extent::Bytes(zones.saturating_mul(of.zone_size.unwrap_or(0)))),
        other => other,
    };
    match (size, file_size(job, index, number)) {
        (Some(Extent::Percent(percent)), Some(size)) => {
            RequestedPart::Below { size, bytes: whole(share(size, percent)) }
        }
        (_, Some(size)) => RequestedPart::Below { size, bytes: u64::MAX },
        (None | Some(Extent::Bytes(0)), None) => RequestedPart::All,
        (Some(Extent::Bytes(total)), None) if total < count => RequestedPart::All,
        (Some(Extent::Bytes(total)), None) => RequestedPart::Bytes(total / count),
        (Some(Extent::Percent(percent)), None) => RequestedPart::Share(whole(share(of.real_size, percent))),
        // Became bytes above.
        (Some(Extent::Zones(_)), None) => RequestedPart::All,
    }
}

/// The size of one file (`filesize`), drawn from a range if one is given; `None` if it is not given.
fn file_size(job: &JobPlan, index: u32, number: u64) -> Option<u64> {
    let (least, most) = job.files.file_size?;
    if least >= most {
        return Some(least);
    }
    let seed = job.load.seed.unwrap_or(0).wrapping_add(u64::from(index) << 32).wrapping_add(number + 1);
    let drawn = least + measure::split_mix(seed) % (most - least).saturating_add(1);
    Some((drawn - drawn % smallest_block(job)).max(least))
}

#[expect(clippy::cast_possible_truncation, reason = "a share of at most 100 % of a u64; more saturates before")]
fn share(size: u64, percent: u32) -> u64 {
    (u128::from(size) * u128::from(percent) / 100).min(u128::from(u64::MAX)) as u64
}

fn start(job: &JobPlan, index: u32, file: &PlannedFile) -> u64 {
    let (files, real_size) = (&job.files, file.real_size);
    if files.handling.append && file.kind == FileKind::Regular {
        return real_size;
    }
    let multiple = match files.handling.offset_align {
        0 => smallest_block(job),
        bytes => bytes,
    };
    let bytes = |extent: Extent| match extent {
        Extent::Bytes(bytes) => bytes,
        Extent::Zones(zones) => zones.saturating_mul(file.zone_size.unwrap_or(0)),
        Extent::Percent(percent) => share(real_size, percent).checked_next_multiple_of(multiple).unwrap_or(u64::MAX),
    };
    bytes(files.offset).saturating_add(bytes(files.offset_increment).saturating_mul(u64::from(index)))
}

fn region(job: &JobPlan, index: u32, file: &PlannedFile, wanted: RequestedPart) -> Result<Region, JobError> {
    let (path, real_size, start) = (&file.path, file.real_size, start(job, index, file));
    let may_grow = match file.kind {
        FileKind::Regular | FileKind::NameOnly => true,
        FileKind::Other => real_size == 0,
        FileKind::Block => false,
    };
    let fills = job.files.handling.fill && may_grow;
    let most = if may_grow { u64::MAX } else { real_size };
    let end = match wanted {
        RequestedPart::All if fills => start.saturating_add(ENDLESS),
        RequestedPart::All => real_size,
        RequestedPart::Bytes(bytes) => start.saturating_add(bytes).min(most),
        RequestedPart::Share(bytes) => start.saturating_add(bytes).min(real_size),
        RequestedPart::Below { size, bytes } => start.saturating_add(bytes).min(size).min(most),
    };
    if matches!(wanted, RequestedPart::All | RequestedPart::Share(0)) && real_size == 0 && !fills {
        let what = format_args!("{} has no size yet; give size= (or filesize=)", path.display());
        return Err(job_refusal(job, libc::EINVAL, "size", what));
    }
    if let RequestedPart::Below { size, .. } = wanted
        && start.saturating_add(smallest_block(job)) > end
    {
        let what =
            format_args!("offset {start} leaves no room for a block below filesize={size}; give a smaller offset=");
        return Err(job_refusal(job, libc::EINVAL, "offset", what));
    }
    if end <= start {
        let what = format_args!("offset {start} is at or beyond the end of {} ({real_size} bytes)", path.display());
        return Err(job_refusal(job, libc::EINVAL, "offset", what));
    }
    let (start, end) = match job.files.part {
        None => (start, end),
        Some(part) => part_of(job, part, path, start..end)?,
    };
    let reach = if start == 0 && end >= real_size { Reach::Whole } else { Reach::Part };
    Ok(Region { start, end, reach })
}

/// The part of a region that this run works on, while others work on theirs.
fn part_of(job: &JobPlan, part: Part, path: &Path, region: Range<u64>) -> Result<(u64, u64), JobError> {
    let smallest = smallest_block(job);
    let found = part.within(region.start, region.end, smallest);
    if found.1.saturating_sub(found.0) < smallest {
        let (bytes, of) = (region.end - region.start, part.of);
        let what = format_args!(
            "the {bytes} bytes of {} are less than a block of {smallest} for each of {of} members",
            path.display()
        );
        return Err(job_refusal(job, libc::EINVAL, "size", what));
    }
    Ok(found)
}

/// A size larger than any file system: a job that fills one ends when the file system is full.
const ENDLESS: u64 = 1 << 62;

/// The zones that are entirely inside the region of a file: it is shortened to zone boundaries.
fn whole_zones(job: &JobPlan, zones: &Zoned, file: &PlannedFile) -> Result<Region, JobError> {
    let (path, real_size, Region { start, end, .. }) = (&file.path, file.real_size, file.region);
    let refuse =
        |what: String| Err(job_refusal(job, libc::EINVAL, "zones", format_args!("{}: {what}", path.display())));
    let size = match (file.zone_size, zones.size) {
        (None, 0) => return refuse("it is not a zoned device; give zonesize= to emulate zones".to_owned()),
        (Some(own), given) if given > 0 && given != own => {
            return refuse(format!("its zones have {own} bytes, not zonesize={given}; leave zonesize out"));
        }
        (own, given) => own.unwrap_or(given),
    };
    if real_size < size {
        return refuse(format!("its {real_size} bytes are less than one zone of {size}; give a smaller zonesize="));
    }
    let start = start.checked_next_multiple_of(size).unwrap_or(u64::MAX);
    let end = end.min(real_size) / size * size;
    if end <= start {
        return refuse(format!("no whole zone of {size} bytes lies between offset and end of the region"));
    }
    Ok(Region { start, end, reach: Reach::Part })
}

/// A generated file name: the variables of `format` are replaced, in any case. The job's name may be a path. Otherwise
/// a replacement never leads to another directory than the format says: a path component that becomes `.` or `..` by
/// replacement is written as underscores, and one that becomes empty is omitted.
fn generated(format: &str, job: &str, clone: u32, file: u32) -> String {
    let (clone, file) = (clone.to_string(), file.to_string());
    // There is no client without a server, so `$clientuid` is replaced by nothing.
    let words = [("$jobname", job), ("$jobnum", clone.as_str()), ("$filenum", file.as_str()), ("$clientuid", "")];
    let parts = format.split('/').filter_map(|part| match replaced(part, &words) {
        name if name == part => Some(name),
        name if name.is_empty() => None,
        name if name == "." || name == ".." => Some("_".repeat(name.len())),
        name => Some(name),
    });
    parts.collect::<Vec<_>>().join("/")
}

fn replaced(part: &str, words: &[(&str, &str)]) -> String {
    let mut name = String::new();
    let mut rest = part;
    while let Some(letter) = rest.chars().next() {
        let word =
            words.iter().find(|(word, _)| rest.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)));
        match word {
            Some((word, meaning)) => {
                name.push_str(meaning);
                rest = &rest[word.len()..];
            }
            None => {
                name.push(letter);
                rest = &rest[letter.len_utf8()..];
            }
        }
    }
    name
}

/// Adds every regular file below a directory, in the order of their names. Symbolic links are not followed: they may
/// lead anywhere, and form loops.
fn add_below(directory: &Path, paths: &mut Vec<PathBuf>) -> Result<(), JobError> {
    let wrong = |error: std::io::Error| file_error("read the directory", directory, error, "");
    let mut entries = std::fs::read_dir(directory).map_err(wrong)?.collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    entries.sort_by_cached_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let kind = entry.file_type().map_err(wrong)?;
        if kind.is_dir() {
            add_below(&entry.path(), paths)?;
        } else if kind.is_file() {
            paths.push(entry.path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::generated;

    #[test]
    fn the_words_of_a_format_are_replaced_whatever_their_case() {
        for (format, expected) in [
            ("$jobname.$jobnum.$filenum", "a.2.7"),
            ("$JOBNAME/x$JobNum_$filenum", "a/x2_7"),
            ("$clientuid$jobnames$other$", "as$other$"),
            ("\u{e4}$\u{e4}", "\u{e4}$\u{e4}"),
        ] {
            assert_eq!(generated(format, "a", 2, 7), expected, "{format}");
        }
    }

    #[test]
    fn what_a_word_stands_for_leads_nowhere() {
        for (format, job, expected) in [
            ("$jobname/x", "..", "__/x"),
            ("$jobname/$jobname/x.$filenum", "..", "__/__/x.7"),
            (".$clientuid./x", "a", "__/x"),
            (".$jobname/x", ".", "__/x"),
            ("$clientuid/etc/x", "a", "etc/x"),
            ("$clientuid.$jobname", ".", "__"),
            ("../$jobname", "a", "../a"),
            ("/data//$jobname", "..a", "/data//..a"),
        ] {
            assert_eq!(generated(format, job, 2, 7), expected, "{format}");
        }
    }
}
