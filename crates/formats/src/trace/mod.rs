//! Traces of I/Os by many tools, each as a stream of [`TraceIo`]s in the order of their begins.
//!
//! Owns the table of formats with their detection, the order within a window, and the clock. Memory does not grow with
//! the trace, but for the names of its files or devices. Leaves to `iolog` what can be replayed, to others what is
//! concluded.

mod blocks;
mod calls;
mod columns;
mod lines;
mod order;
#[cfg(feature = "parquet")]
mod recording;

use crate::{FormatError, iolog};
pub use columns::Columns;
use flate2::read::MultiGzDecoder;
use lines::Lines;
use measure::Nanos;
use model::{Level, TraceClock, TraceIo};
use order::Order;
use plan::Operation;
use rustc_hash::FxHashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read, Seek};
use std::path::Path;

/// Name of the table in recordings of `plumb why`.
pub const RECORDING: &str = "plumb_why";
/// Bytes that a format is detected by.
const HEAD: u64 = 64 * 1024;
/// Files and devices of a trace, at most.
const MOST_TARGETS: u32 = 1 << 20;
/// Largest read or write: Linux moves no more than 2 GiB with a call.
const MOST_BYTES: u64 = 1 << 31;

/// An error of `--columns`.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ColumnsError(String);

/// Error of a line, without its place.
#[derive(Debug)]
struct Wrong(String);

/// A text format.
#[derive(Clone, Copy)]
struct TextFormat {
    name: &'static str,
    level: Option<Level>,
    /// A reader, by the first line.
    reader: fn(&[u8]) -> Option<Dialect>,
}

/// Reader of the lines of a text.
enum Dialect {
    Columns(Columns),
    Blocks(blocks::Blocks),
    Calls(Box<calls::Calls>),
}

impl Dialect {
    fn line(&mut self, line: &[u8], to: &mut Sink) -> Result<(), Wrong> {
        match self {
            Dialect::Columns(columns) => columns.line(line, to),
            Dialect::Blocks(blocks) => blocks.line(line, to),
            Dialect::Calls(calls) => calls.line(line, to),
        }
    }

    fn finish(&mut self, to: &mut Sink) {
        if let Dialect::Blocks(blocks) = self {
            blocks.finish(to);
        }
    }
}

/// The text formats. A trace has the first one whose reader understands most of its first lines.
const TEXTS: &[TextFormat] = &[
    device("biosnoop", |first| Columns::biosnoop(first).map(Dialect::Columns)),
    device("tracefs", |_| Some(Dialect::Blocks(blocks::Blocks::new(blocks::Dialect::Tracefs)))),
    device("blkparse", |_| Some(Dialect::Blocks(blocks::Blocks::new(blocks::Dialect::Blkparse)))),
    TextFormat { level: Some(Level::Call), ..device("strace", |_| Some(Dialect::Calls(Box::default()))) },
    device("SYSTOR'17", |_| Some(Dialect::Columns(Columns::systor()))),
    device("MSR Cambridge", |_| Some(Dialect::Columns(Columns::msr()))),
    device("Alibaba", |_| Some(Dialect::Columns(Columns::alibaba()))),
    device("Tencent CBS", |_| Some(Dialect::Columns(Columns::tencent()))),
    device("SPC", |_| Some(Dialect::Columns(Columns::spc()))),
    device("CloudPhysics", |_| Some(Dialect::Columns(Columns::vscsi()))),
];

const fn device(name: &'static str, reader: fn(&[u8]) -> Option<Dialect>) -> TextFormat {
    TextFormat { name, level: Some(Level::Device), reader }
}

/// How a trace is to be read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The columns of a text that is in no known format.
    pub columns: Option<Columns>,
    /// The level whose I/Os are read.
    pub level: Option<Level>,
}

/// Reads a trace.
pub struct Reader<'input> {
    name: String,
    format: &'static str,
    level: Option<Level>,
    source: Source<'input>,
    sink: Sink,
    is_over: bool,
}

enum Source<'input> {
    Text(Lines<'input>, Dialect),
    Iolog(Box<iolog::Reader<Box<dyn BufRead + 'input>>>),
    #[cfg(feature = "parquet")]
    Recording(recording::Recording),
}

impl Reader<'static> {
    /// Opens a trace, packed with gzip or not.
    ///
    /// # Errors
    /// It cannot be read, is in no known format, or has no I/Os of the level.
    pub fn open(path: &Path, options: &Options) -> Result<Self, FormatError> {
        let name = path.display().to_string();
        let unreadable = |source| FormatError::Trace { name: name.clone(), source };
        let mut file = File::open(path).map_err(unreadable)?;
        let mut first = Vec::new();
        file.by_ref().take(4).read_to_end(&mut first).map_err(unreadable)?;
        if first == b"PAR1" {
            file.rewind().map_err(unreadable)?;
            #[cfg(feature = "parquet")]
            return Self::of_recording(name, file, options);
        }
        Reader::of_input(name, Box::new(Cursor::new(first).chain(file)), options)
    }

    #[cfg(feature = "parquet")]
    fn of_recording<R>(name: String, file: R, options: &Options) -> Result<Self, FormatError>
    where
        R: parquet::file::reader::ChunkReader + 'static,
    {
        let mut sink = Sink::default();
        let recording =
            recording::Recording::open(file, options.level, &mut sink).map_err(|error| placed(&name, error))?;
        let level = Some(recording.level);
        Ok(Reader {
            name,
            format: "recording of plumb",
            level,
            source: Source::Recording(recording),
            sink,
            is_over: false,
        })
    }
}

impl<'input> Reader<'input> {
    /// Reads a trace that is in memory.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn of_bytes(name: &str, bytes: &'input [u8], options: &Options) -> Result<Self, FormatError> {
        #[cfg(feature = "parquet")]
        if bytes.starts_with(b"PAR1") {
            let file = crate::columnar::InMemory(bytes.to_vec());
            return Reader::of_recording(name.to_owned(), file, options);
        }
        Self::of_input(name.to_owned(), Box::new(bytes), options)
    }

    fn of_input(name: String, mut input: Box<dyn Read + 'input>, options: &Options) -> Result<Self, FormatError> {
        let unreadable = |source| FormatError::Trace { name: name.clone(), source };
        let mut head = Vec::new();
        input.by_ref().take(HEAD).read_to_end(&mut head).map_err(unreadable)?;
        let packed: [(&[u8], &str); 4] =
            [(b"\x28\xb5\x2f\xfd", "zstd"), (b"\xfd7zXZ", "xz"), (b"BZh", "bzip2"), (b"PAR1", "as Parquet")];
        if let Some((_, by)) = packed.iter().find(|(magic, _)| head.starts_with(magic)) {
            return Err(FormatError::Damaged(format!(
                "{name}: is packed ({by}), and this build reads gzip; unpack it"
            )));
        }
        if head.starts_with(b"\x1f\x8b") {
            let inner = MultiGzDecoder::new(BufReader::new(Cursor::new(head).chain(input)));
            return Self::unpacked(name, Box::new(inner), options);
        }
        let whole = Box::new(Cursor::new(head).chain(input));
        Self::unpacked(name, whole, options)
    }

    fn unpacked(name: String, mut input: Box<dyn Read + 'input>, options: &Options) -> Result<Self, FormatError> {
        let unreadable = |source| FormatError::Trace { name: name.clone(), source };
        let mut head = Vec::new();
        input.by_ref().take(HEAD).read_to_end(&mut head).map_err(unreadable)?;
        let is_blktrace = head.first_chunk::<4>().is_some_and(|magic| iolog::Endian::of_magic(*magic).is_some());
        let is_iolog = is_blktrace || head.starts_with(b"fio version ");
        let found = if is_iolog { None } else { Some(detected(&name, &head, options)?) };
        let input: Box<dyn Read + 'input> = Box::new(Cursor::new(head).chain(input));
        let (format, level, source) = match found {
            Some((format, dialect)) => (format.name, format.level, Source::Text(Lines::new(input), dialect)),
            None => {
                let input: Box<dyn BufRead + 'input> = Box::new(BufReader::with_capacity(1 << 20, input));
                let reader = Box::new(iolog::Reader::new(name.clone(), input)?);
                let level = is_blktrace.then_some(Level::Device);
                (if is_blktrace { "blktrace" } else { "iolog" }, level, Source::Iolog(reader))
            }
        };
        match (options.level, level) {
            (Some(wanted), Some(level)) if wanted != level => Err(FormatError::Damaged(format!(
                "{name}: is a trace of the level {} ({format}); it has no I/Os of the level {}",
                level.name(),
                wanted.name()
            ))),
            (Some(_), None) => {
                Err(FormatError::Damaged(format!("{name}: {format} does not say its level; leave the level out")))
            }
            _ => Ok(Reader { name, format, level, source, sink: Sink::default(), is_over: false }),
        }
    }

    /// Name of its format.
    pub fn format(&self) -> &'static str {
        self.format
    }

    /// The level of its I/Os, if its format has one.
    pub fn level(&self) -> Option<Level> {
        self.level
    }

    /// The clock of its moments, known with the first I/O.
    pub fn clock(&self) -> Option<TraceClock> {
        self.sink.order.clock()
    }

    /// I/Os that stand so far from their place that they were given the moment of the I/O before them.
    pub fn late(&self) -> u64 {
        self.sink.order.late()
    }

    /// I/Os of a recording that are left out, because they are of the other level.
    pub fn others(&self) -> u64 {
        match &self.source {
            #[cfg(feature = "parquet")]
            Source::Recording(recording) => recording.others,
            _ => 0,
        }
    }

    /// Share of the events that the recorder lost, as far as it says so.
    pub fn lost(&self) -> f64 {
        let (lost, seen) = (measure::float(self.sink.lost), measure::float(self.sink.events));
        if lost > 0.0 { lost / (lost + seen) } else { 0.0 }
    }

    /// The next I/O; `None` at the end.
    ///
    /// # Errors
    /// The trace is damaged; the error has the line, byte or row.
    #[expect(clippy::should_implement_trait, reason = "it can fail, and what is known of the trace grows meanwhile")]
    pub fn next(&mut self) -> Result<Option<TraceIo>, FormatError> {
        loop {
            if let Some(io) = self.sink.order.next() {
                return Ok(Some(io));
            }
            if self.is_over && self.sink.order.is_empty() {
                return Ok(None);
            }
            while !self.is_over && !self.sink.order.is_full() {
                self.is_over = !self.read()?;
            }
            self.sink.order.sort(self.is_over);
        }
    }

    /// Reads some I/Os; `false` at the end.
    fn read(&mut self) -> Result<bool, FormatError> {
        let Reader { name, source, sink, .. } = self;
        match source {
            Source::Text(lines, dialect) => {
                let unreadable = |source| FormatError::Trace { name: name.clone(), source };
                let Some(line) = lines.next().map_err(unreadable)? else {
                    dialect.finish(sink);
                    return Ok(false);
                };
                let read = dialect.line(line, sink);
                read.map(|()| true).map_err(|Wrong(what)| at_line(name, lines.number, &what))
            }
            Source::Iolog(reader) => {
                let Some(event) = reader.next()? else { return Ok(false) };
                let is_sync = matches!(event.operation, Operation::Sync | Operation::DataSync);
                sink.order.push(TraceIo {
                    begin: event.at,
                    operation: event.operation,
                    offset: (!is_sync).then_some(event.offset),
                    bytes: u64::from(event.length),
                    target: event.place,
                    latency: None,
                    thread: None,
                });
                Ok(true)
            }
            #[cfg(feature = "parquet")]
            Source::Recording(recording) => recording.group(sink).map_err(|error| placed(name, error)),
        }
    }
}

fn at_line(name: &str, line: u64, what: &str) -> FormatError {
    FormatError::Damaged(format!("{name}:{line}: {what}"))
}

#[cfg(feature = "parquet")]
fn placed(name: &str, error: FormatError) -> FormatError {
    FormatError::Damaged(format!("{name}: {error}"))
}

/// The format of a text and its reader.
fn detected(name: &str, head: &[u8], options: &Options) -> Result<(TextFormat, Dialect), FormatError> {
    let complete = if head.len() < usize::try_from(HEAD).unwrap_or(0) { head.len() } else { last_line_end(head) };
    let lines = || head[..complete].split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
    let first = lines().find(|line| !line.is_empty());
    let first = first.ok_or_else(|| FormatError::Damaged(format!("{name}: is empty; a trace has a line or more")))?;
    if let Some(columns) = &options.columns {
        let format = TextFormat { name: "columns", level: None, reader: |_| None };
        return Ok((format, Dialect::Columns(columns.clone())));
    }
    for format in TEXTS {
        let Some(mut dialect) = (format.reader)(first) else { continue };
        let mut sink = Sink::default();
        let (mut right, mut wrong) = (0, 0);
        for line in lines().filter(|line| !line.is_empty()) {
            let read = dialect.line(line, &mut sink);
            *(if read.is_ok() { &mut right } else { &mut wrong }) += 1;
        }
        let has_found = sink.events > 0 || !sink.order.is_empty();
        if has_found && right > wrong {
            return (format.reader)(first).map(|dialect| (*format, dialect)).ok_or_else(|| at_line(name, 1, ""));
        }
    }
    let known: Vec<&str> = TEXTS.iter().map(|format| format.name).collect();
    let what = format!(
        "{} is of no known trace; known are recordings of plumb why, fio's iolog, blktrace, {}; other columns are read \
         with --columns time:us,offset:sectors,size,op",
        lines::quoted(first),
        known.join(", ")
    );
    Err(at_line(name, 1, &what))
}

fn last_line_end(head: &[u8]) -> usize {
    memchr::memrchr(b'\n', head).unwrap_or(head.len())
}

/// Where readers put what they find.
struct Sink {
    order: Order,
    targets: FxHashMap<Box<[u8]>, u32>,
    /// The target that was named last: mostly it is named again.
    last: Vec<u8>,
    last_target: u32,
    /// No line was read yet.
    is_first: bool,
    events: u64,
    lost: u64,
}

impl Default for Sink {
    fn default() -> Self {
        Sink {
            order: Order::default(),
            targets: FxHashMap::default(),
            last: Vec::new(),
            last_target: u32::MAX,
            is_first: true,
            events: 0,
            lost: 0,
        }
    }
}

impl Sink {
    /// The number of a file or device.
    fn target(&mut self, name: &[u8]) -> Result<u32, Wrong> {
        if self.last_target < u32::MAX && self.last == name {
            return Ok(self.last_target);
        }
        let next = u32::try_from(self.targets.len()).unwrap_or(u32::MAX);
        let target = match self.targets.get(name) {
            Some(known) => *known,
            None if next < MOST_TARGETS => {
                self.targets.insert(name.into(), next);
                next
            }
            None => return Err(Wrong(format!("the trace names more than {MOST_TARGETS} files or devices"))),
        };
        self.last.clear();
        self.last.extend_from_slice(name);
        self.last_target = target;
        Ok(target)
    }
}

/// Checks length and offset; `None` if the I/O moves nothing.
fn checked(io: TraceIo) -> Result<Option<TraceIo>, Wrong> {
    if matches!(io.operation, Operation::Sync | Operation::DataSync) {
        return Ok(Some(TraceIo { bytes: 0, offset: None, ..io }));
    }
    if io.bytes > MOST_BYTES && io.operation != Operation::Trim {
        return Err(Wrong(format!("the size {} is above 2 GiB: are the units right?", io.bytes)));
    }
    let end = io.offset.unwrap_or_default().checked_add(io.bytes).filter(|end| i64::try_from(*end).is_ok());
    let end_moment = io.latency.unwrap_or(Nanos::ZERO).get().checked_add(io.begin.get());
    match (end, end_moment) {
        (Some(_), Some(_)) => Ok((io.bytes > 0).then_some(io)),
        (None, _) => Err(Wrong("it ends beyond the largest offset, 2^63 - 1".to_owned())),
        (_, None) => Err(Wrong("it ends beyond the largest time".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str, options: &Options) -> Result<Vec<TraceIo>, FormatError> {
        let mut reader = Reader::of_bytes("t", text.as_bytes(), options)?;
        let mut found = Vec::new();
        while let Some(io) = reader.next()? {
            found.push(io);
        }
        Ok(found)
    }

    #[test]
    fn what_columns_are_wrong_is_said() {
        for (text, part) in [
            ("time,offset,size", "0 columns named op"),
            ("time:h,size,op", "time:h is not a column"),
            ("time,time,size,op", "2 columns named time"),
            ("", "is not a column"),
            ("time,size,op,target,target", "several columns named target"),
        ] {
            let error = Columns::parse(text).unwrap_err().to_string();
            assert!(error.contains(part) && error.contains("time:us,offset:sectors,size,op"), "{text}: {error}");
        }
    }

    #[test]
    fn columns_of_any_text_are_read_by_their_names() {
        let options = Options {
            columns: Some(Columns::parse("op,-,time:ms,offset:4k,size:sectors,latency:us,thread").unwrap()),
            level: None,
        };
        let found = all("kind;x;when;where;much;lat;tid\nW;?;10.5;2;8;70.25;9\nread;?;11;3;16;;9\n", &options).unwrap();
        let thread = Some(9);
        let first = TraceIo {
            begin: Nanos::ZERO,
            operation: Operation::Write,
            offset: Some(8192),
            bytes: 4096,
            target: 0,
            latency: Some(Nanos(70_250)),
            thread,
        };
        let second = TraceIo {
            begin: Nanos(500_000),
            operation: Operation::Read,
            offset: Some(12_288),
            bytes: 8192,
            latency: None,
            ..first
        };
        assert_eq!(found, [first, second]);
        let error = all("W;?;10.5;2;8;70;9\nW;?;11;x;8;70;9\n", &options).unwrap_err().to_string();
        assert_eq!(error, "t:2: `x` is not an offset");
    }
}
