//! Events: what a record of the kernel says, without its form.

use crate::calls::Call;
use crate::format::{Field, Format};
use crate::page::Record;
use measure::Nanos;
use sys::devices::identity::DeviceNumber;

/// A thread of this machine, by its number; 0 is an idle processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Thread(pub i32);

/// Direction of a request of the block layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Read,
    Write,
    Other,
}

/// Sectors of a device, as an event names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) device: DeviceNumber,
    pub(crate) sector: u64,
    /// 0 for a flush of the cache.
    pub(crate) sectors: u64,
    pub(crate) op: Op,
    /// True if the caller does not need it yet.
    pub(crate) is_ahead: bool,
    /// True if the device's cache is flushed before it.
    pub(crate) is_after_flush: bool,
}

impl Span {
    pub(crate) fn end(&self) -> u64 {
        self.sector.saturating_add(self.sectors)
    }

    /// Sectors that both have.
    pub(crate) fn overlap(&self, other: &Span) -> u64 {
        self.end().min(other.end()).saturating_sub(self.sector.max(other.sector))
    }
}

/// Name of a thread, as the kernel cuts it off.
pub(crate) type Name = [u8; 16];

/// Kinds of events, each with its facts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    /// The thread began a system call.
    Enter { call: &'static Call, descriptor: Option<i32>, offset: Option<u64> },
    /// The thread ended it.
    Exit { call: &'static Call, result: i64 },
    /// The thread gave an I/O to the block layer.
    Queue { span: Span, name: Name },
    /// It got a separate request.
    Request(Span),
    /// It became part of a request that was there.
    Merge(Span),
    /// The driver got a request.
    Issue(Span),
    /// The driver gave it back.
    Requeue(Span),
    /// Sectors of a request are done.
    Complete(Span),
    /// An I/O of a device without requests is done.
    BioComplete(Span),
    /// An I/O goes on to another device.
    Remap { to: Span, from: DeviceNumber, from_sector: u64 },
    /// A processor went on from one thread to another.
    Switch { from: Thread, is_runnable: bool, to: Thread },
    /// A thread that slept may run.
    Waking { thread: Thread },
    /// The thread is about to sleep, because too much is dirty.
    DirtyPause,
    /// The thread is about to sleep for the log of xfs.
    LogWait,
    /// The thread asks the page cache.
    PageCache,
    /// The thread gives data to it.
    CacheWrite,
    /// The thread needs a page of a mapped file.
    Fault,
    /// The thread begins a direct I/O of a file.
    DirectBegin { bytes: u64 },
    /// A ring of io_uring got a request.
    RingSubmit { request: u64, opcode: u64, is_linked: bool },
    /// It is of a descriptor.
    RingFile { request: u64, descriptor: i32 },
    /// It is complete.
    RingComplete { request: u64, result: i64 },
    /// The thread commits transactions of a file system.
    Commits,
    /// Events of this processor were lost.
    Lost,
}

/// An event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) time: Nanos,
    pub(crate) cpu: u32,
    /// Thread that ran there; during an interrupt, the one that was interrupted.
    pub(crate) thread: Thread,
    /// Where it ran: an interrupt has another number than the thread that it interrupts.
    pub(crate) context: u64,
    pub(crate) what: What,
}

/// An event of the kernel that is used, with the form of its records.
#[derive(Debug)]
pub(crate) struct Layout {
    thread: Field,
    flags: Field,
    form: Form,
}

/// Bits of `common_flags`: within an interrupt or a softirq.
const IN_INTERRUPT: u64 = 0x08 | 0x10;

/// Fields of a span.
#[derive(Debug)]
struct SpanFields {
    device: Field,
    sector: Field,
    sectors: Field,
    flags: Field,
}

#[derive(Debug)]
enum Form {
    Enter { call: &'static Call, descriptor: Option<Field>, offset: Option<Field> },
    Exit { call: &'static Call, result: Field },
    Queue { span: SpanFields, name: Field },
    Block { span: SpanFields, make: fn(Span) -> What },
    Remap { span: SpanFields, from: Field, from_sector: Field },
    Switch { from: Field, state: Field, to: Field },
    Waking { thread: Field },
    DirectBegin { bytes: Field },
    RingSubmit { request: Field, opcode: Field, flags: Field },
    RingFile { request: Field, descriptor: Field },
    RingComplete { request: Field, result: Field },
    Plain(What),
}

/// Flags of an entry of io_uring that link the next to it: IOSQE_IO_LINK, IOSQE_IO_HARDLINK.
pub(crate) const LINKS: u64 = 0x04 | 0x08;

/// Where an event belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// Recorded of the watched threads alone.
    Threads,
    /// The block layer, recorded of all threads.
    Block,
    /// Rings of io_uring: threads of the kernel serve them, too.
    Rings,
}

/// Events besides system calls.
pub(crate) struct Source {
    /// Group and name in tracefs.
    pub(crate) path: &'static str,
    /// Its name in older kernels, if it had another.
    pub(crate) older: Option<&'static str>,
    pub(crate) of: Of,
    /// True if a recording makes no sense without it.
    pub(crate) is_needed: bool,
}

/// A pause that is not positive is none.
pub(crate) const PAUSES: &str = "pause > 0";

/// A read that asks the page cache.
pub(crate) const PAGE_CACHE: &str = "filemap/mm_filemap_get_pages";

/// An event of watched threads.
const fn of_threads(path: &'static str) -> Source {
    Source { path, older: None, of: Of::Threads, is_needed: false }
}

/// An event of the block layer, without which no I/O can be followed.
const fn of_block(path: &'static str) -> Source {
    Source { path, older: None, of: Of::Block, is_needed: true }
}

/// An event of rings.
const fn of_rings(path: &'static str) -> Source {
    Source { path, older: None, of: Of::Rings, is_needed: false }
}

impl Source {
    const fn needed(self) -> Self {
        Source { is_needed: true, ..self }
    }
}

pub(crate) static SOURCES: [Source; 26] = [
    of_threads("sched/sched_switch").needed(),
    of_threads("sched/sched_waking").needed(),
    of_threads("writeback/balance_dirty_pages"),
    of_threads(PAGE_CACHE),
    of_threads("filemap/mm_filemap_fault"),
    of_threads("ext4/ext4_da_write_begin"),
    of_threads("ext4/ext4_write_begin"),
    of_threads("xfs/xfs_file_buffered_write"),
    of_threads("xfs/xlog_iclog_wait_on"),
    of_threads("xfs/xfs_log_cil_wait"),
    of_threads("xfs/xfs_log_grant_sleep"),
    of_threads("f2fs/f2fs_write_begin"),
    of_threads("iomap/iomap_dio_rw_begin"),
    Source { older: Some("io_uring/io_uring_submit_sqe"), ..of_rings("io_uring/io_uring_submit_req") },
    of_rings("io_uring/io_uring_file_get"),
    of_rings("io_uring/io_uring_complete"),
    Source { of: Of::Block, ..of_threads("jbd2/jbd2_start_commit") },
    of_block("block/block_bio_queue"),
    of_block("block/block_getrq"),
    of_block("block/block_bio_backmerge"),
    of_block("block/block_bio_frontmerge"),
    of_block("block/block_bio_remap"),
    of_block("block/block_bio_complete"),
    of_block("block/block_rq_issue"),
    of_block("block/block_rq_requeue"),
    of_block("block/block_rq_complete"),
];

impl Layout {
    /// The layout of an event of [`SOURCES`]; `None` if a field is missing.
    pub(crate) fn of(path: &str, format: &Format) -> Option<Self> {
        let field = |name: &str| format.field(name);
        let span = || {
            Some(SpanFields {
                device: field("dev")?,
                sector: field("sector")?,
                sectors: field("nr_sector")?,
                flags: field("rwbs")?,
            })
        };
        let block = |make: fn(Span) -> What| Some(Form::Block { span: span()?, make });
        let form = match path.rsplit('/').next()? {
            "sched_switch" => {
                Form::Switch { from: field("prev_pid")?, state: field("prev_state")?, to: field("next_pid")? }
            }
            "sched_waking" => Form::Waking { thread: field("pid")? },
            "balance_dirty_pages" => Form::Plain(What::DirtyPause),
            "xlog_iclog_wait_on" | "xfs_log_cil_wait" | "xfs_log_grant_sleep" => Form::Plain(What::LogWait),
            "mm_filemap_get_pages" => Form::Plain(What::PageCache),
            "mm_filemap_fault" => Form::Plain(What::Fault),
            "ext4_da_write_begin" | "ext4_write_begin" | "xfs_file_buffered_write" | "f2fs_write_begin" => {
                Form::Plain(What::CacheWrite)
            }
            "iomap_dio_rw_begin" => Form::DirectBegin { bytes: field("count")? },
            "io_uring_submit_req" | "io_uring_submit_sqe" => {
                Form::RingSubmit { request: field("req")?, opcode: field("opcode")?, flags: field("flags")? }
            }
            "io_uring_file_get" => Form::RingFile { request: field("req")?, descriptor: field("fd")? },
            "io_uring_complete" => Form::RingComplete { request: field("req")?, result: field("res")? },
            "jbd2_start_commit" => Form::Plain(What::Commits),
            "block_bio_queue" => Form::Queue { span: span()?, name: field("comm")? },
            "block_bio_remap" => {
                Form::Remap { span: span()?, from: field("old_dev")?, from_sector: field("old_sector")? }
            }
            "block_getrq" => block(What::Request)?,
            "block_bio_backmerge" | "block_bio_frontmerge" => block(What::Merge)?,
            "block_bio_complete" => block(What::BioComplete)?,
            "block_rq_issue" => block(What::Issue)?,
            "block_rq_requeue" => block(What::Requeue)?,
            "block_rq_complete" => block(What::Complete)?,
            _ => return None,
        };
        Self::with(format, form)
    }

    fn with(format: &Format, form: Form) -> Option<Self> {
        Some(Layout { thread: format.field("common_pid")?, flags: format.field("common_flags")?, form })
    }

    pub(crate) fn of_enter(call: &'static Call, format: &Format) -> Option<Self> {
        let argument = |name: &str| if name.is_empty() { Some(None) } else { format.field(name).map(Some) };
        let form = Form::Enter { call, descriptor: argument(call.descriptor)?, offset: argument(call.offset)? };
        Self::with(format, form)
    }

    pub(crate) fn of_exit(call: &'static Call, format: &Format) -> Option<Self> {
        Self::with(format, Form::Exit { call, result: format.field("ret")? })
    }

    /// Reads a record; `None` if it is too short.
    pub(crate) fn read(&self, record: &Record<'_>, cpu: u32) -> Option<Event> {
        let bytes = record.bytes;
        let thread = |field: Field| Some(Thread(i32::try_from(field.number(bytes)?).ok()?));
        let what = match &self.form {
            Form::Enter { call, descriptor, offset } => What::Enter {
                call,
                // The kernel widens it to a word; its upper half may be anything.
                descriptor: descriptor.and_then(|field| Some(low_half(field.number(bytes)?))),
                offset: offset.and_then(|field| u64::try_from(field.number(bytes)?).ok()),
            },
            Form::Exit { call, result } => What::Exit { call, result: result.number(bytes)? },
            Form::Queue { span, name } => {
                What::Queue { span: span.read(bytes)?, name: name.bytes(bytes)?.try_into().ok()? }
            }
            Form::Block { span, make } => make(span.read(bytes)?),
            Form::Remap { span, from, from_sector } => What::Remap {
                to: span.read(bytes)?,
                from: device(from.unsigned(bytes)?),
                from_sector: from_sector.unsigned(bytes)?,
            },
            Form::Switch { from, state, to } => What::Switch {
                from: thread(*from)?,
                // Bits of states that end by a wake-up; those above say that it was preempted.
                is_runnable: state.unsigned(bytes)? & 0xff == 0,
                to: thread(*to)?,
            },
            Form::Waking { thread: woken } => What::Waking { thread: thread(*woken)? },
            Form::DirectBegin { bytes: count } => What::DirectBegin { bytes: count.unsigned(bytes)? },
            Form::RingSubmit { request, opcode, flags } => What::RingSubmit {
                request: request.unsigned(bytes)?,
                opcode: opcode.unsigned(bytes)?,
                is_linked: flags.unsigned(bytes)? & LINKS != 0,
            },
            Form::RingFile { request, descriptor } => {
                What::RingFile { request: request.unsigned(bytes)?, descriptor: low_half(descriptor.number(bytes)?) }
            }
            Form::RingComplete { request, result } => {
                What::RingComplete { request: request.unsigned(bytes)?, result: result.number(bytes)? }
            }
            Form::Plain(what) => *what,
        };
        let context = u64::from(self.flags.unsigned(bytes)? & IN_INTERRUPT != 0);
        Some(Event { time: record.time, cpu, thread: thread(self.thread)?, context, what })
    }
}

pub(crate) fn low_half(word: i64) -> i32 {
    let [a, b, c, d, ..] = word.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

/// A device number as tracepoints have it.
pub(crate) fn device(word: u64) -> DeviceNumber {
    let part = |word: u64| u32::try_from(word).unwrap_or(u32::MAX);
    DeviceNumber { major: part(word >> 20), minor: part(word & 0xf_ffff) }
}

/// The same number as a word, for filters.
pub(crate) fn device_word(device: DeviceNumber) -> u64 {
    (u64::from(device.major) << 20) | u64::from(device.minor)
}

impl SpanFields {
    fn read(&self, bytes: &[u8]) -> Option<Span> {
        let flags = self.flags.bytes(bytes)?;
        let end = flags.iter().position(|letter| *letter == 0).unwrap_or(flags.len());
        let flags = &flags[..end];
        // A leading F is a flush before it: `FWS`. The letter after the operation may be an F for FUA: `WFS`.
        let operation = flags.iter().find(|letter| **letter != b'F');
        let op = match operation {
            Some(b'R') => Op::Read,
            Some(b'W') => Op::Write,
            _ => Op::Other,
        };
        Some(Span {
            device: device(self.device.unsigned(bytes)?),
            sector: self.sector.unsigned(bytes)?,
            sectors: self.sectors.unsigned(bytes)?,
            op,
            is_ahead: flags.contains(&b'A'),
            is_after_flush: flags.first() == Some(&b'F'),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of a processor, the forms of its events, and its first lines as the kernel prints them: the time in
    /// microseconds, the thread, the event, its sector and number of sectors. Linux 6.18.
    #[test]
    fn a_page_of_the_kernel_has_the_events_that_it_prints() {
        let formats: Vec<Format> =
            include_str!("golden/formats.txt").split("name: ").skip(1).map(Format::parse).collect();
        let names: Vec<&str> =
            include_str!("golden/formats.txt").split("name: ").skip(1).filter_map(|text| text.lines().next()).collect();
        let layout = crate::page::PageLayout::parse(crate::page::HEADER_PAGE).unwrap();
        let page = layout.read(include_bytes!("golden/page.bin")).unwrap();
        let line = |record: &Record<'_>| {
            let id = u16::from_ne_bytes(record.bytes[..2].try_into().unwrap());
            let at = formats.iter().position(|format| format.id == id).unwrap();
            let event = Layout::of(names[at], &formats[at]).unwrap().read(record, 0).unwrap();
            let (What::Queue { span, .. } | What::Issue(span) | What::Complete(span)) = event.what else {
                panic!("{event:?}")
            };
            assert_eq!((span.op, span.device, span.is_ahead), (Op::Read, DeviceNumber { major: 254, minor: 0 }, false));
            let micros = (event.time.0 + 500) / 1000;
            format!("{micros} {} {} {} {}", event.thread.0, names[at], span.sector, span.sectors)
        };
        let lines: Vec<String> = page.records.iter().map(line).collect();
        let printed: Vec<&str> = include_str!("golden/trace.txt").lines().collect();
        assert_eq!(lines[..printed.len()], printed);
    }

    #[test]
    fn numbers_of_devices_are_those_of_filters() {
        let number = DeviceNumber { major: 259, minor: 70_000 };
        assert_eq!(device(device_word(number)), number);
    }

    #[test]
    fn a_descriptor_is_the_lower_half_of_a_word() {
        assert_eq!((low_half(3), low_half(0xffff_ffff), low_half(-1)), (3, -1, -1));
    }

    #[test]
    fn spans_know_what_they_share() {
        let device = DeviceNumber { major: 8, minor: 0 };
        let span =
            |sector, sectors| Span { device, sector, sectors, op: Op::Read, is_ahead: false, is_after_flush: false };
        assert_eq!(span(0, 16).overlap(&span(8, 16)), 8);
        assert_eq!(span(0, 8).overlap(&span(8, 8)), 0);
        assert_eq!(span(8, 8).overlap(&span(0, 64)), 8);
    }
}
