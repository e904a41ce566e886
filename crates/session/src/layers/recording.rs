//! A recording as a Parquet file: its I/Os as rows, all else as JSON in its head. docs/why.md has the columns.

use super::recorded::Recorded;
use crate::failure::Failure;
use formats::columnar::{Cells, GROUP, Kind, TableColumn, TableReader, TableWriter};
use measure::Nanos;
use model::DiskRates;
use observe::{Cost, DeviceBusy, Direction, Io, OpenFile, PARTS, Part, Parts, Reach, Seen, Thread, Way};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashMap;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use sys::devices::identity::DeviceNumber;
use sys::processes::cgroup::{IoLimit, PageCache};

/// Name of the table.
const TABLE: &str = formats::trace::RECORDING;
/// Number of the form that is written and read.
const SCHEMA: u64 = 1;

/// More is in no recording: 3 years in ns.
const MOST: u64 = 100_000_000_000_000_000;
/// The program that made a recording.
const MADE_BY: &str = concat!("plumb ", env!("CARGO_PKG_VERSION"));

/// The columns before those of the parts.
const COLUMNS: [(&str, Kind); 22] = [
    ("begin_ns", Kind::Whole),
    ("time_ns", Kind::Whole),
    ("program", Kind::Text),
    ("process", Kind::Whole),
    ("thread", Kind::Whole),
    ("direction", Kind::Text),
    ("reach", Kind::Text),
    ("call", Kind::Text),
    ("descriptor", Kind::Whole),
    ("inode", Kind::Whole),
    ("path", Kind::Text),
    ("flags", Kind::Text),
    ("device", Kind::Text),
    ("offset_bytes", Kind::Whole),
    ("bytes", Kind::Whole),
    ("depth", Kind::Whole),
    ("follows", Kind::Whole),
    ("failed", Kind::Whole),
    ("sequential", Kind::Whole),
    ("block_ios", Kind::Whole),
    ("waker_thread", Kind::Whole),
    ("waker", Kind::Text),
];

fn columns() -> Vec<TableColumn> {
    let first = COLUMNS.iter().map(|(name, kind)| TableColumn { name: (*name).to_owned(), kind: *kind });
    first.chain(PARTS.map(|part| TableColumn { name: name_of(part), kind: Kind::Whole })).collect()
}

fn name_of(part: Part) -> String {
    part.name().replace(' ', "_") + "_ns"
}

/// All of a recording but its I/Os.
#[derive(Serialize, Deserialize)]
struct Head {
    recording_schema: u64,
    program: String,
    target: String,
    host: Option<String>,
    ended_unix_ms: u64,
    is_device: bool,
    is_full: bool,
    wait_status: Option<i32>,
    recorded_ns: u64,
    processor_ns: u64,
    events: u64,
    events_lost: u64,
    unrecorded_ns: u64,
    broken_calls: u64,
    events_by: Option<String>,
    not_by_bpf: Option<String>,
    open_calls: u64,
    outside_of_calls: u64,
    not_followed: u64,
    unknown_descriptors: u64,
    ended_before_asked: u64,
    unclear_requests: u64,
    missing_events: Vec<String>,
    limits: Vec<Limit>,
    disks: Vec<DiskRates>,
    /// Recordings of before have none.
    #[serde(default)]
    devices_busy: Vec<Busy>,
    #[serde(default)]
    page_cache: Option<Cache>,
}

impl Head {
    /// The name of a number that cannot be, and with which sums might overflow.
    fn check(&self) -> Result<(), &'static str> {
        let numbers = [
            ("ended_unix_ms", self.ended_unix_ms),
            ("recorded_ns", self.recorded_ns),
            ("processor_ns", self.processor_ns),
            ("events", self.events),
            ("events_lost", self.events_lost),
            ("unrecorded_ns", self.unrecorded_ns),
            ("broken_calls", self.broken_calls),
            ("open_calls", self.open_calls),
            ("outside_of_calls", self.outside_of_calls),
            ("not_followed", self.not_followed),
            ("unknown_descriptors", self.unknown_descriptors),
            ("ended_before_asked", self.ended_before_asked),
            ("unclear_requests", self.unclear_requests),
        ];
        numbers.into_iter().find(|(_, number)| *number >= MOST).map_or(Ok(()), |(name, _)| Err(name))
    }
}

#[derive(Serialize, Deserialize)]
struct Busy {
    device: String,
    busy_ns: u64,
}

#[derive(Serialize, Deserialize)]
struct Cache {
    bytes: u64,
    group: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Limit {
    group: String,
    device: String,
    bytes_read_per_second: Option<u64>,
    bytes_written_per_second: Option<u64>,
    reads_per_second: Option<u64>,
    writes_per_second: Option<u64>,
}

/// How names are written: as they are, or as hashes with a key that is kept nowhere.
pub struct Names(Option<RandomState>);

impl Names {
    /// Hashes, if they are to be hidden.
    pub fn hidden_if(is_hidden: bool) -> Self {
        Names(is_hidden.then(RandomState::new))
    }

    fn of(&self, name: &str) -> String {
        match &self.0 {
            Some(key) => format!("{:016x}", key.hash_one(name)),
            None => name.to_owned(),
        }
    }
}

/// The file's bytes.
///
/// # Errors
/// The library cannot write them.
pub fn written(recorded: &Recorded, names: &Names) -> Result<Vec<u8>, Failure> {
    let head = serde_json::to_string(&head(recorded, names))?;
    let mut file = TableWriter::new(Vec::new(), TABLE, &columns(), Some(head))?;
    let ios = &recorded.seen.ios;
    let (depths, follows) = (observe::depths(ios), follows(ios));
    for from in (0..ios.len()).step_by(GROUP) {
        let rows = from..ios.len().min(from + GROUP);
        let rows = Rows { ios: &ios[rows.clone()], depths: &depths[rows.clone()], follows: &follows[rows] };
        file.group(rows.cells(&recorded.seen, names).into_iter())?;
    }
    Ok(file.finish()?)
}

fn head(recorded: &Recorded, names: &Names) -> Head {
    let Recorded { seen, .. } = recorded;
    let limit = |limit: &IoLimit| Limit {
        group: names.of(&limit.group),
        device: limit.device.to_string(),
        bytes_read_per_second: limit.read_bytes_per_second,
        bytes_written_per_second: limit.write_bytes_per_second,
        reads_per_second: limit.read_iops,
        writes_per_second: limit.write_iops,
    };
    let busy = |one: &DeviceBusy| Busy { device: one.device.to_string(), busy_ns: one.time.0 };
    let cache = |one: &PageCache| Cache { bytes: one.bytes, group: one.group.as_deref().map(|group| names.of(group)) };
    Head {
        recording_schema: SCHEMA,
        program: MADE_BY.to_owned(),
        target: names.of(&recorded.target),
        host: recorded.host.as_ref().map(|host| names.of(host)),
        ended_unix_ms: recorded.ended_unix_ms,
        is_device: recorded.is_device,
        is_full: recorded.is_full,
        wait_status: seen.status,
        recorded_ns: seen.cost.time.0,
        processor_ns: seen.cost.processor.0,
        events: seen.cost.events,
        events_lost: seen.cost.lost,
        unrecorded_ns: seen.cost.unrecorded.0,
        broken_calls: seen.cost.broken,
        events_by: seen.cost.way.map(|way| way.name().to_owned()),
        not_by_bpf: seen.cost.why_not_bpf.clone(),
        open_calls: seen.open_calls,
        outside_of_calls: seen.outside,
        not_followed: seen.not_followed,
        unknown_descriptors: seen.unknown,
        ended_before_asked: seen.ended_before,
        unclear_requests: seen.unclear,
        missing_events: seen.missing.clone(),
        limits: seen.limits.iter().map(limit).collect(),
        disks: recorded.disks.clone(),
        devices_busy: seen.busy.iter().map(busy).collect(),
        page_cache: seen.cache.as_ref().map(cache),
    }
}

/// For each I/O the last of its thread that had ended when it began.
fn follows(ios: &[Io]) -> Vec<Option<usize>> {
    let mut ends: HashMap<Thread, Vec<(Nanos, usize)>> = HashMap::new();
    let follows = |(at, io): (usize, &Io)| {
        let of_thread = ends.entry(io.thread).or_default();
        let before = of_thread.partition_point(|(end, _)| *end <= io.begin);
        of_thread.push((io.begin.saturating_add(io.time), at));
        before.checked_sub(1).map(|last| of_thread[last].1)
    };
    ios.iter().enumerate().map(follows).collect()
}

/// I/Os of a group.
struct Rows<'io> {
    ios: &'io [Io],
    depths: &'io [u64],
    follows: &'io [Option<usize>],
}

impl Rows<'_> {
    fn whole(&self, of: impl Fn(&Io) -> Option<u64>) -> Cells {
        Cells::Whole(self.ios.iter().map(|io| of(io).map(whole)).collect())
    }

    fn text(&self, of: impl Fn(&Io) -> Option<String>) -> Cells {
        Cells::Text(self.ios.iter().map(of).collect())
    }

    /// In the order of the columns.
    fn cells(&self, seen: &Seen, names: &Names) -> Vec<Cells> {
        let file = |io: &Io| io.file.and_then(|file| seen.files.get(file)?.as_ref());
        let name = |thread: &Thread| seen.names.get(thread).filter(|name| !name.is_empty()).cloned();
        let thread = |thread: Thread| u64::try_from(thread.0).ok();
        let first = [
            self.whole(|io| Some(io.begin.saturating_sub(seen.begun).0)),
            self.whole(|io| Some(io.time.0)),
            self.text(|io| io.program.clone().or_else(|| name(&io.thread))),
            self.whole(|io| seen.processes.get(&io.thread).copied().map(u64::from)),
            self.whole(|io| thread(io.thread)),
            self.text(|io| Some(io.direction.name().to_owned())),
            self.text(|io| Some(io.reach.name().to_owned())),
            self.text(|io| Some(io.call.to_owned()).filter(|call| !call.is_empty())),
            self.whole(|io| io.descriptor.and_then(|number| u64::try_from(number).ok())),
            self.whole(|io| file(io).filter(|_| names.0.is_none()).map(|file| file.inode)),
            self.text(|io| file(io).map(|file| names.of(&file.path))),
            self.text(|io| file(io).map(|file| file.flags.clone())),
            self.text(|io| io.device.map(|device| device.to_string())),
            self.whole(|io| io.offset),
            self.whole(|io| Some(io.bytes)),
            Cells::Whole(self.depths.iter().map(|depth| Some(whole(*depth))).collect()),
            Cells::Whole(self.follows.iter().map(|follows| follows.map(|row| whole(row as u64))).collect()),
            self.whole(|io| Some(u64::from(io.has_failed))),
            self.whole(|io| io.is_sequential.map(u64::from)),
            self.whole(|io| Some(u64::from(io.waited_for))),
            self.whole(|io| io.waker.and_then(thread)),
            self.text(|io| io.waker.and_then(|waker| name(&waker))),
        ];
        let parts = PARTS.map(|part| self.whole(|io| Some(io.parts[part].0)));
        first.into_iter().chain(parts).collect()
    }
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Reads a recording.
///
/// # Errors
/// It cannot be read, or is not a recording.
pub fn read(path: &Path) -> Result<Recorded, Failure> {
    let file = File::open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Failure::at(path, format!("{error}; a command to record is named after --")),
        _ => Failure::at(path, error),
    })?;
    read_file(file).map_err(|why| Failure::at(path, why.message()))
}

/// Reads a recording from an open file.
///
/// # Errors
/// It cannot be read, or is not a recording; without the name of the file.
pub fn read_file(mut file: File) -> Result<Recorded, Failure> {
    check_ends(&mut file).map_err(Failure::new)?;
    let damaged = |error: formats::FormatError| Failure::new(format!("is damaged: {error}"));
    let Some(table) = guarded(|| TableReader::open(file, TABLE))?.map_err(damaged)? else {
        return Err(Failure::new("is a Parquet file, but not a recording of plumb why"));
    };
    let head = read_head(table.head()).map_err(Failure::new)?;
    if table.columns() != columns() {
        return Err(Failure::new("is damaged: its columns are not those of its schema"));
    }
    let mut recorded = of_head(head);
    let (mut known, mut sums) = (HashMap::new(), Sums::default());
    for group in 0..table.groups() {
        let cells = guarded(|| table.group(group))?.map_err(damaged)?;
        let group = Group { cells: &cells, first_row: group.saturating_mul(GROUP) };
        group
            .read(&mut recorded.seen, &mut known, &mut sums)
            .map_err(|why| Failure::new(format!("is damaged: {why}")))?;
    }
    Ok(recorded)
}

/// Calls the library, which panics on some damaged files.
fn guarded<Found>(read: impl FnOnce() -> Found) -> Result<Found, Failure> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let found = catch_unwind(AssertUnwindSafe(read));
    std::panic::set_hook(hook);
    found.map_err(|_| Failure::new("is damaged: it is not whole Parquet"))
}

/// Checks that it begins and ends as Parquet files do.
fn check_ends(file: &mut File) -> Result<(), String> {
    let [mut first, mut last] = [[0; 4]; 2];
    let read = file.read_exact(&mut first).and_then(|()| {
        file.seek(SeekFrom::End(-4))?;
        file.read_exact(&mut last)
    });
    match read {
        Err(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => Err(error.to_string()),
        Ok(()) if &first == b"PAR1" && &last == b"PAR1" => Ok(()),
        Ok(()) if &first == b"PAR1" => Err("is cut off: the end of the recording is missing".to_owned()),
        _ => Err("is not a recording; plumb why --record FILE writes one".to_owned()),
    }
}

fn read_head(text: &str) -> Result<Head, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("is damaged: {error}"))?;
    match value["recording_schema"].as_u64() {
        Some(SCHEMA) => {
            let head: Head = serde_json::from_value(value).map_err(|error| format!("is damaged: {error}"))?;
            head.check().map(|()| head).map_err(|what| format!("is damaged: {what} is too large"))
        }
        Some(other) => Err(format!("is a recording with schema {other}; this plumb reads schema {SCHEMA}")),
        None => Err("is damaged: its schema is not known".to_owned()),
    }
}

fn of_head(head: Head) -> Recorded {
    let limit = |limit: Limit| {
        Some(IoLimit {
            device: DeviceNumber::parse(&limit.device)?,
            group: limit.group,
            read_bytes_per_second: limit.bytes_read_per_second,
            write_bytes_per_second: limit.bytes_written_per_second,
            read_iops: limit.reads_per_second,
            write_iops: limit.writes_per_second,
        })
    };
    let busy = |busy: &Busy| Some(DeviceBusy { device: DeviceNumber::parse(&busy.device)?, time: Nanos(busy.busy_ns) });
    let cost = Cost {
        time: Nanos(head.recorded_ns),
        processor: Nanos(head.processor_ns),
        events: head.events,
        lost: head.events_lost,
        unrecorded: Nanos(head.unrecorded_ns),
        broken: head.broken_calls,
        way: head.events_by.as_deref().and_then(Way::named),
        why_not_bpf: head.not_by_bpf,
    };
    let seen = Seen {
        cost,
        open_calls: head.open_calls,
        outside: head.outside_of_calls,
        not_followed: head.not_followed,
        unknown: head.unknown_descriptors,
        ended_before: head.ended_before_asked,
        unclear: head.unclear_requests,
        missing: head.missing_events,
        limits: head.limits.into_iter().filter_map(limit).collect(),
        busy: head.devices_busy.iter().filter_map(busy).collect(),
        cache: head.page_cache.map(|cache| PageCache { bytes: cache.bytes, group: cache.group }),
        status: head.wait_status,
        ..Seen::default()
    };
    Recorded {
        target: head.target,
        host: head.host,
        ended_unix_ms: head.ended_unix_ms,
        seen,
        disks: head.disks,
        is_device: head.is_device,
        is_full: head.is_full,
    }
}

/// Sums over all rows: where these can be, each sum of some can.
#[derive(Default)]
struct Sums {
    times: Nanos,
    bytes: u64,
}

impl Sums {
    /// Adds an I/O; `None` if they are too large.
    fn add(&mut self, io: &Io) -> Option<()> {
        let mut times = PARTS.iter().map(|part| io.parts[*part].0).chain([io.time.0, self.times.0]);
        self.times = Nanos(times.try_fold(0_u64, u64::checked_add)?);
        self.bytes = self.bytes.checked_add(io.bytes)?;
        Some(())
    }
}

/// A group of rows, and the number of rows before it.
struct Group<'table> {
    cells: &'table [Cells],
    first_row: usize,
}

impl Group<'_> {
    fn cells(&self, name: &str) -> Option<&Cells> {
        let index = COLUMNS.iter().position(|(column, _)| *column == name)?;
        self.cells.get(index)
    }

    fn whole(&self, name: &str, row: usize) -> Option<u64> {
        match self.cells(name)? {
            Cells::Whole(cells) => u64::try_from((*cells.get(row)?)?).ok(),
            _ => None,
        }
    }

    fn small<N: TryFrom<u64>>(&self, name: &str, row: usize) -> Option<N> {
        N::try_from(self.whole(name, row)?).ok()
    }

    fn text(&self, name: &str, row: usize) -> Option<&str> {
        match self.cells(name)? {
            Cells::Text(cells) => cells.get(row)?.as_deref(),
            _ => None,
        }
    }

    fn read(&self, seen: &mut Seen, known: &mut HashMap<OpenFile, usize>, sums: &mut Sums) -> Result<(), String> {
        let rows = match self.cells.first() {
            Some(Cells::Whole(cells)) => cells.len(),
            _ => 0,
        };
        for row in 0..rows {
            let mut io =
                self.io(row).map_err(|what| format!("row {} has no known {what}", self.first_row + row + 1))?;
            sums.add(&io).ok_or_else(|| format!("row {} has too large numbers", self.first_row + row + 1))?;
            io.file = self.file(row).map(|file| {
                *known.entry(file).or_insert_with_key(|file| {
                    seen.files.push(Some(file.clone()));
                    seen.files.len() - 1
                })
            });
            if let Some(waker) = io.waker {
                seen.names.entry(waker).or_insert_with(|| self.text("waker", row).unwrap_or_default().to_owned());
            }
            if let Some(name) = self.text("program", row).filter(|_| io.reach == Reach::Call) {
                seen.names.entry(io.thread).or_insert_with(|| name.to_owned());
            }
            seen.processes.extend(self.small("process", row).map(|process| (io.thread, process)));
            seen.ios.push(io);
        }
        Ok(())
    }

    fn file(&self, row: usize) -> Option<OpenFile> {
        let path = self.text("path", row)?.to_owned();
        let flags = self.text("flags", row).unwrap_or_default().to_owned();
        Some(OpenFile { inode: self.whole("inode", row).unwrap_or_default(), path, flags })
    }

    /// The I/O of a row; the name of a column that has no value that can be.
    fn io(&self, row: usize) -> Result<Io, &'static str> {
        let time = |name: &'static str| self.whole(name, row).map(Nanos).ok_or(name);
        let reach = self.text("reach", row).and_then(Reach::named).ok_or("reach")?;
        let mut parts = Parts::default();
        for (part, cells) in PARTS.into_iter().zip(&self.cells[COLUMNS.len()..]) {
            let Cells::Whole(cells) = cells else { return Err("parts") };
            let time = cells.get(row).copied().flatten().and_then(|time| u64::try_from(time).ok());
            parts[part] = Nanos(time.ok_or("parts")?);
        }
        Ok(Io {
            begin: time("begin_ns")?,
            time: time("time_ns")?,
            thread: Thread(self.small("thread", row).ok_or("thread")?),
            program: (reach == Reach::Block).then(|| self.text("program", row).unwrap_or_default().to_owned()),
            direction: self.text("direction", row).and_then(Direction::named).ok_or("direction")?,
            reach,
            call: self.text("call", row).map_or(Some(""), observe::named).ok_or("call")?,
            descriptor: self.small("descriptor", row),
            file: None,
            offset: self.whole("offset_bytes", row),
            bytes: self.whole("bytes", row).ok_or("bytes")?,
            has_failed: self.whole("failed", row) == Some(1),
            is_sequential: self.whole("sequential", row).map(|follows| follows == 1),
            is_of_storage: true,
            waited_for: self.small("block_ios", row).unwrap_or_default(),
            device: self.text("device", row).and_then(DeviceNumber::parse),
            waker: self.small("waker_thread", row).map(Thread),
            parts,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn io(number: u64, part: Part) -> Io {
        let mut parts = Parts::default();
        parts[part] = Nanos(900 + number);
        Io {
            begin: Nanos(5_000 + number * 1000),
            time: parts.sum(),
            thread: Thread(7),
            call: "pread64",
            descriptor: Some(3),
            file: Some(0),
            offset: Some(number * 4096),
            bytes: 4096,
            is_sequential: (number > 0).then_some(true),
            is_of_storage: true,
            waited_for: 1,
            device: Some(DeviceNumber { major: 8, minor: 1 }),
            waker: Some(Thread(9)),
            parts,
            ..Io::default()
        }
    }

    fn recorded() -> Recorded {
        let mut ios: Vec<Io> = (0..40).map(|number| io(number, Part::Device)).collect();
        ios.push(Io { direction: Direction::Write, call: "write", file: None, offset: None, ..io(40, Part::Wait) });
        let of_ring =
            Io { reach: Reach::Block, call: "io_uring_enter", program: Some("a".to_owned()), ..io(41, Part::Tags) };
        ios.push(Io { descriptor: None, file: None, waker: None, is_sequential: None, ..of_ring });
        let file = OpenFile { inode: 12, path: "/data/a b".to_owned(), flags: "direct".to_owned() };
        let limit = IoLimit {
            group: "/a".to_owned(),
            device: DeviceNumber { major: 8, minor: 0 },
            read_bytes_per_second: None,
            write_bytes_per_second: Some(1),
            read_iops: Some(2),
            write_iops: None,
        };
        let seen = Seen {
            cost: Cost {
                time: Nanos(50_000),
                events: 99,
                way: Some(Way::Tracefs),
                why_not_bpf: Some("no types".to_owned()),
                ..Cost::default()
            },
            begun: Nanos(5_000),
            names: [(Thread(7), "reader".to_owned()), (Thread(9), "kworker".to_owned())].into(),
            processes: [(Thread(7), 6)].into(),
            files: vec![Some(file)],
            missing: vec!["filemap/mm_filemap_get_pages".to_owned()],
            limits: vec![limit],
            busy: vec![DeviceBusy { device: DeviceNumber { major: 8, minor: 0 }, time: Nanos(40_000) }],
            cache: Some(PageCache { bytes: 12_345, group: Some("/a".to_owned()) }),
            status: Some(256),
            not_followed: 3,
            ended_before: 4,
            ios,
            ..Seen::default()
        };
        let (target, host) = ("reader (process 6)".to_owned(), Some("here".to_owned()));
        Recorded {
            target,
            host,
            ended_unix_ms: 1_700_000_000_000,
            seen,
            disks: vec![DiskRates { command: "survey".to_owned(), ..DiskRates::default() }],
            is_device: false,
            is_full: true,
        }
    }

    fn read_again(bytes: &[u8]) -> Result<Recorded, Failure> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        read(file.path())
    }

    #[test]
    fn a_recording_is_what_was_recorded() {
        let recorded = recorded();
        let bytes = written(&recorded, &Names::hidden_if(false)).unwrap();
        let again = read_again(&bytes).unwrap();
        let heads = [&recorded, &again].map(|one| serde_json::to_string(&head(one, &Names(None))).unwrap());
        assert_eq!(heads[0], heads[1]);
        assert_eq!(written(&again, &Names(None)).unwrap(), bytes, "what was read is written as it was");
        let of_file = |one: &Recorded| one.seen.ios[3].file.and_then(|file| one.seen.files[file].clone());
        assert_eq!(of_file(&recorded), of_file(&again));
        assert_eq!(again.seen.ios[3].begin, Nanos(3_000), "from the begin of the recording on");
        assert_eq!(again.seen.names, recorded.seen.names);
        assert_eq!(again.seen.processes, recorded.seen.processes);
        assert_eq!(follows(&again.seen.ios)[..3], [None, Some(0), Some(1)]);
    }

    #[test]
    fn numbers_that_cannot_be_are_an_error() {
        let refused = |change: &dyn Fn(&mut Recorded), why: &str| {
            let mut one = recorded();
            change(&mut one);
            let error = read_again(&written(&one, &Names::hidden_if(false)).unwrap()).unwrap_err();
            assert!(error.message().contains(why), "{error:?}");
        };
        refused(&|one| one.seen.ios.iter_mut().for_each(|io| io.parts[Part::Tags] = Nanos(u64::MAX / 4)), "row 4 has");
        refused(&|one| one.seen.ios.iter_mut().for_each(|io| io.bytes = u64::MAX / 4), "row 5 has too large numbers");
        refused(&|one| one.seen.not_followed = u64::MAX, "not_followed is too large");
    }

    #[test]
    fn a_damaged_recording_is_an_error_or_another_number() {
        let bytes = written(&recorded(), &Names::hidden_if(false)).unwrap();
        for at in (0..bytes.len()).step_by(13) {
            let mut other = bytes.clone();
            other[at] ^= 0xff;
            // Not all bytes are checked by the format.
            let _ = read_again(&other);
        }
        for at in (0..bytes.len()).step_by(101) {
            let cut = read_again(&bytes[..at]);
            assert!(cut.is_err(), "cut off at {at}");
        }
    }
}
