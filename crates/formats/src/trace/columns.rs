//! Traces whose lines are columns of numbers and words: those that were published, biosnoop's, and any CSV by `--columns`.

use super::lines::{MOST_WORDS, Words, decimal, whole, wrong};
use super::{ColumnsError, Sink, Wrong};
use measure::Nanos;
use model::TraceIo;
use plan::Operation;

/// Bytes of a sector in all of these traces.
pub(super) const SECTOR: u64 = 512;
/// Time before the first stamp of those that are of ends: the first begin may be before it.
const BEFORE: u64 = 3_600_000_000_000;

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    /// It is not read.
    Other,
    /// Moment, with the ns of its unit.
    Time(u64),
    /// Offset, with the bytes of its unit.
    Offset(u64),
    /// Length, with the bytes of its unit.
    Length(u64),
    /// Operation as letters, `R` or `Write`.
    Letters,
    /// Operation as `0` for reads and `1` for writes.
    Digit,
    /// Operation as a command of SCSI, in hex.
    Scsi,
    /// Operation as the letters of the block layer, `WS`.
    Flags,
    /// Latency, with the ns of its unit.
    Latency(u64),
    /// File or device; several columns are one name.
    Target,
    /// Thread.
    Thread,
}

use Column::{Digit, Flags, Latency, Length, Letters, Offset, Other, Scsi, Target, Thread, Time};

/// The columns of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    list: Vec<Column>,
    /// Between the columns; blanks if `None`. Found from the first line unless it is fixed.
    separator: Option<Option<u8>>,
    /// The column behind the first may be several words.
    has_blanks: bool,
    /// Stamps are of ends.
    is_end: bool,
    /// More columns may follow.
    is_open: bool,
}

const SECOND: u64 = 1_000_000_000;

impl Columns {
    fn with_commas(list: &[Column]) -> Self {
        let list = list.to_vec();
        Columns { list, separator: Some(Some(b',')), has_blanks: false, is_end: false, is_open: false }
    }

    /// Alibaba's block traces. Source: the README of alibaba/block-traces.
    pub(super) fn alibaba() -> Self {
        Self::with_commas(&[Target, Letters, Offset(1), Length(1), Time(1000)])
    }

    /// Tencent's traces of cloud block storage. Source: their README at SNIA IOTTA.
    pub(super) fn tencent() -> Self {
        Self::with_commas(&[Time(SECOND), Offset(SECTOR), Length(SECTOR), Digit, Target])
    }

    /// Traces of Microsoft Research Cambridge, in Windows file time. Source: their README at SNIA IOTTA.
    pub(super) fn msr() -> Self {
        Self::with_commas(&[Time(100), Target, Target, Letters, Offset(1), Length(1), Latency(100)])
    }

    /// Traces of the SYSTOR'17 paper. Source: their README at SNIA IOTTA.
    pub(super) fn systor() -> Self {
        Self::with_commas(&[Time(SECOND), Latency(SECOND), Letters, Target, Offset(1), Length(1)])
    }

    /// Traces of the Storage Performance Council, published by UMass. Source: SPC trace file format specification.
    pub(super) fn spc() -> Self {
        let columns = Self::with_commas(&[Target, Offset(SECTOR), Length(1), Letters, Time(SECOND)]);
        Columns { is_open: true, ..columns }
    }

    /// CloudPhysics' traces of virtual SCSI disks, as text.
    pub(super) fn vscsi() -> Self {
        Self::with_commas(&[Other, Time(SECOND), Scsi, Length(1), Offset(SECTOR)])
    }

    /// biosnoop's text, by its heading. Source: biosnoop(8).
    pub(super) fn biosnoop(heading: &[u8]) -> Option<Self> {
        let words = Words::of(heading, None);
        let column = |word: &&[u8]| match *word {
            b"TIME(s)" => Time(SECOND),
            b"PID" => Thread,
            b"DISK" => Target,
            b"T" => Flags,
            b"SECTOR" => Offset(SECTOR),
            b"BYTES" => Length(1),
            b"LAT(ms)" => Latency(1_000_000),
            _ => Other,
        };
        let list: Vec<Column> = words.all().iter().map(column).collect();
        let is_whole = list.starts_with(&[Time(SECOND), Other]) && list.len() >= 8 && !list[2..7].contains(&Other);
        is_whole.then_some(Columns { list, separator: Some(None), has_blanks: true, is_end: true, is_open: false })
    }

    /// Columns as they are written after `--columns`: `time:us,offset:sectors,size,op,-`.
    ///
    /// # Errors
    /// A word is not a column, or time, size or operation are missing.
    pub fn parse(text: &str) -> Result<Self, ColumnsError> {
        let refused = |what: String| {
            ColumnsError(format!(
                "{what}; columns are time, offset, size, op, latency, target, thread and - for others, as in \
                 time:us,offset:sectors,size,op (times: s, ms, us, ns or filetime; offset and size: bytes, sectors, \
                 kib or 4k)"
            ))
        };
        let mut list = Vec::new();
        for word in text.split(',').map(str::trim) {
            let (name, unit) = word.split_once(':').unwrap_or((word, ""));
            let time = match unit {
                "" | "s" => Some(SECOND),
                "ms" => Some(1_000_000),
                "us" | "µs" => Some(1000),
                "filetime" => Some(100),
                "ns" => Some(1),
                _ => None,
            };
            let bytes = match unit {
                "" | "bytes" => Some(1),
                "sectors" => Some(SECTOR),
                "kib" => Some(1024),
                "4k" => Some(4096),
                _ => None,
            };
            let plain = |column| unit.is_empty().then_some(column);
            let column = match name {
                "time" => time.map(Time),
                "latency" => time.map(Latency),
                "offset" => bytes.map(Offset),
                "size" => bytes.map(Length),
                "op" => plain(Letters),
                "target" => plain(Target),
                "thread" => plain(Thread),
                "-" => plain(Other),
                _ => None,
            };
            list.push(column.ok_or_else(|| refused(format!("{word} is not a column")))?);
        }
        let has = |of: fn(&Column) -> bool| list.iter().filter(|column| of(column)).count();
        let once: [(&str, usize); 3] = [
            ("time", has(|column| matches!(column, Time(_)))),
            ("size", has(|column| matches!(column, Length(_)))),
            ("op", has(|column| matches!(column, Letters))),
        ];
        if has(|column| matches!(column, Target)) > 1 {
            return Err(refused(format!("{text} has several columns named target")));
        }
        if let Some((name, count)) = once.into_iter().find(|(_, count)| *count != 1) {
            return Err(refused(format!("{text} has {count} columns named {name}, and needs one")));
        }
        if list.len() > MOST_WORDS {
            return Err(refused(format!("{} columns are more than {MOST_WORDS}", list.len())));
        }
        Ok(Columns { list, separator: None, has_blanks: false, is_end: false, is_open: true })
    }

    /// Takes a line.
    pub(super) fn line(&mut self, line: &[u8], to: &mut Sink) -> Result<(), Wrong> {
        let is_first = std::mem::take(&mut to.is_first);
        if line.trim_ascii().is_empty() || line.starts_with(b"#") {
            return Ok(());
        }
        let separator = *self.separator.get_or_insert_with(|| separator_of(line));
        let words = Words::of(line, separator);
        let io = self.io(line, words.all(), to);
        // A heading has no number where the time is.
        let has_time = |at: usize| words.all().get(at).is_some_and(|word| word.iter().any(u8::is_ascii_digit));
        let is_heading =
            is_first && !self.list.iter().position(|column| matches!(column, Time(_))).is_some_and(has_time);
        match io {
            Ok(Some(io)) => to.order.push(io),
            Err(wrong) if !is_heading => return Err(wrong),
            _ => {}
        }
        Ok(())
    }

    /// The I/O of a line; `None` if it moves nothing.
    fn io(&self, line: &[u8], words: &[&[u8]], to: &mut Sink) -> Result<Option<TraceIo>, Wrong> {
        let needed = self.list.len();
        let extra = words.len().checked_sub(needed).filter(|extra| *extra == 0 || self.has_blanks || self.is_open);
        let Some(extra) = extra else {
            return Err(Wrong(format!("the line has {} columns, not {needed}", words.len())));
        };
        let mut io = TraceIo {
            begin: Nanos::ZERO,
            operation: Operation::Read,
            offset: None,
            bytes: 0,
            target: 0,
            latency: None,
            thread: None,
        };
        let mut target: Option<&[u8]> = None;
        for (at, column) in self.list.iter().enumerate() {
            let word = words[if self.has_blanks && at > 1 { at + extra } else { at }];
            match column {
                Other => {}
                Time(unit) => io.begin = time(word, *unit, "is not a time")?,
                Latency(_) if word.is_empty() || word == b"-" => {}
                Latency(unit) => io.latency = Some(time(word, *unit, "is not a latency")?),
                Offset(unit) => io.offset = Some(amount(word, *unit, "is not an offset")?),
                Length(unit) => io.bytes = amount(word, *unit, "is not a size")?,
                Thread => io.thread = Some(thread(word)?),
                Letters => {
                    io.operation = letters(word).ok_or_else(|| wrong(word, "is not an operation like R or W"))?
                }
                Digit => {
                    io.operation = digit(word).ok_or_else(|| wrong(word, "is not 0 for a read or 1 for a write"))?
                }
                Scsi => io.operation = scsi(word).ok_or_else(|| wrong(word, "is not a command like 28 or 2a"))?,
                Flags => match flags(word) {
                    Some(operation) => io.operation = operation,
                    None => return Ok(None),
                },
                Target => {
                    target = Some(target.map_or(word, |first| span(line, first, word)));
                }
            }
        }
        io.target = to.target(target.unwrap_or_default())?;
        if self.is_end {
            let since = io.begin.get().checked_add(BEFORE).and_then(|end| end.checked_sub(io.latency?.get()));
            io.begin = Nanos(since.ok_or_else(|| Wrong("the latency is longer than the trace".to_owned()))?);
        }
        super::checked(io)
    }
}

/// The text from the first of two words to the end of the second: a name of two columns that stand side by side.
fn span<'line>(line: &'line [u8], first: &[u8], last: &[u8]) -> &'line [u8] {
    let place = |word: &[u8]| (word.as_ptr() as usize).saturating_sub(line.as_ptr() as usize);
    line.get(place(first)..place(last) + last.len()).unwrap_or_default()
}

fn separator_of(line: &[u8]) -> Option<u8> {
    [b',', b';', b'\t', b'|'].into_iter().find(|separator| line.contains(separator))
}

fn time(word: &[u8], unit: u64, what: &str) -> Result<Nanos, Wrong> {
    decimal(word, unit).map(Nanos).ok_or_else(|| wrong(word, what))
}

fn amount(word: &[u8], unit: u64, what: &str) -> Result<u64, Wrong> {
    whole(word).and_then(|number| number.checked_mul(unit)).ok_or_else(|| wrong(word, what))
}

pub(super) fn thread(word: &[u8]) -> Result<u32, Wrong> {
    whole(word).and_then(|number| u32::try_from(number).ok()).ok_or_else(|| wrong(word, "is not a thread"))
}

fn letters(word: &[u8]) -> Option<Operation> {
    const KNOWN: [(&str, Operation); 14] = [
        ("r", Operation::Read),
        ("w", Operation::Write),
        ("read", Operation::Read),
        ("write", Operation::Write),
        ("0", Operation::Read),
        ("1", Operation::Write),
        ("t", Operation::Trim),
        ("d", Operation::Trim),
        ("trim", Operation::Trim),
        ("discard", Operation::Trim),
        ("f", Operation::Sync),
        ("flush", Operation::Sync),
        ("sync", Operation::Sync),
        ("datasync", Operation::DataSync),
    ];
    KNOWN.iter().find(|(known, _)| word.eq_ignore_ascii_case(known.as_bytes())).map(|(_, operation)| *operation)
}

fn digit(word: &[u8]) -> Option<Operation> {
    match word {
        b"0" => Some(Operation::Read),
        b"1" => Some(Operation::Write),
        _ => None,
    }
}

/// Reads and writes of SCSI, with 6, 10, 12 and 16 bytes.
fn scsi(word: &[u8]) -> Option<Operation> {
    let word = word.strip_prefix(b"0x").unwrap_or(word);
    if [b"28".as_slice(), b"88", b"08", b"a8", b"A8"].contains(&word) {
        return Some(Operation::Read);
    }
    let is_write = [b"2a".as_slice(), b"2A", b"8a", b"8A", b"0a", b"0A", b"aa", b"AA"].contains(&word);
    is_write.then_some(Operation::Write)
}

/// The operation in the letters of the block layer; `None` for those that move nothing. A flush without data is a sync.
pub(super) fn flags(word: &[u8]) -> Option<Operation> {
    match () {
        () if word.contains(&b'D') => Some(Operation::Trim),
        () if word.contains(&b'R') => Some(Operation::Read),
        () if word.contains(&b'W') => Some(Operation::Write),
        () if word.contains(&b'F') => Some(Operation::Sync),
        () => None,
    }
}
