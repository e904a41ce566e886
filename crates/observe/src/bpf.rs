//! Events by BPF programs on tracepoints, through one ring of records.
//!
//! A program runs at the tracepoint itself, with its arguments: that of a completion also runs within an interrupt of
//! another one. Programs on the records of tracepoints (by perf_event_open) do not, and lost 1 completion in 1,000 at
//! 50,000 I/Os per second; and the kernel took 70 ms to remove each.

use crate::btf::Btf;
use crate::calls::{CALLS, Call};
use crate::event::{Event, LINKS, Name, Of, Op, SOURCES, Source, Span, Thread, What, device, low_half};
use crate::process::now;
use crate::program::{self, Arguments, Does, Maps, Only, Plan, Shared, Value};
use measure::Nanos;
use sys::SysError;
use sys::devices::identity::DeviceNumber;
use sys::machine::bpf::{Hook, Program, Ring, SharedWords};

/// Memory for the records: 4 MiB for each processor, within bounds.
const OF_PROCESSOR: usize = 4 << 20;
const LEAST: usize = 8 << 20;
const MOST: usize = 64 << 20;
/// Flags of I/Os, as the kernel names them: the caller does not need it yet; the cache is flushed before it.
const AHEAD: &str = "__REQ_RAHEAD";
const AFTER_FLUSH: &str = "__REQ_PREFLUSH";
/// Operations of drivers, which have no sectors: REQ_OP_DRV_IN, REQ_OP_DRV_OUT.
const OF_DRIVERS: [u64; 2] = [34, 35];
/// Places of these flags.
#[derive(Clone, Copy, Debug)]
struct Bits {
    ahead: u32,
    after_flush: u32,
}

/// Stacks of the kernel begin at multiples of it.
const STACK_BITS: u32 = 14;

/// Meaning of the values of a record.
#[derive(Clone, Copy, Debug)]
enum Form {
    Enter,
    Exit,
    Switch,
    Waking,
    DirectBegin,
    RingSubmit,
    RingFile,
    RingComplete,
    Queue,
    Remap,
    Block(fn(Span) -> What),
    Plain(What),
    /// Its program makes no records.
    Silent,
}

/// A program that is attached.
#[derive(Debug)]
struct Attached {
    program: Program,
    form: Form,
}

/// The programs with their ring.
#[derive(Debug)]
pub(crate) struct Programs {
    attached: Vec<Attached>,
    shared: SharedWords,
    ring: Ring,
    /// The calls by their numbers.
    calls: Vec<Option<&'static Call>>,
    bits: Bits,
    /// Events that this kernel has not.
    pub(crate) missing: Vec<String>,
    pub(crate) events: u64,
    pub(crate) unrecorded: Nanos,
    last: Nanos,
    /// All events before this moment were read.
    complete: Nanos,
    /// Events without room up to the last record, and programs that did not run.
    lost: u32,
    missed: u64,
}

/// The size of a ring for this machine.
pub(crate) fn usual_ring() -> u32 {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let bytes = processors.saturating_mul(OF_PROCESSOR).clamp(LEAST, MOST).next_power_of_two();
    u32::try_from(bytes).unwrap_or(1 << 23)
}

impl Programs {
    /// Loads programs for these kinds of events. They record nothing yet. The reason if the kernel has them not.
    pub(crate) fn load(kinds: &[Of], ring: u32) -> Result<Self, String> {
        if cfg!(not(target_arch = "x86_64")) {
            return Err("on this kind of processor the arguments of calls are not known".to_owned());
        }
        let shown = |error: SysError| error.to_string();
        let btf = Btf::of_kernel()?;
        let bit = |name: &str| btf.flag(name).ok_or_else(|| format!("the kernel's types have no {name}"));
        let shared = SharedWords::new(program::WORDS).map_err(shown)?;
        let ring = Ring::new(ring).map_err(shown)?;
        let mut programs = Programs {
            attached: Vec::new(),
            shared,
            ring,
            calls: Vec::new(),
            bits: Bits { ahead: bit(AHEAD)?, after_flush: bit(AFTER_FLUSH)? },
            missing: Vec::new(),
            events: 0,
            unrecorded: Nanos::ZERO,
            last: now(),
            complete: now(),
            lost: 0,
            missed: 0,
        };
        if kinds.contains(&Of::Threads) {
            programs.attach_calls(&btf)?;
        }
        for source in SOURCES.iter().filter(|source| kinds.contains(&source.of)) {
            programs.attach_source(&btf, source)?;
        }
        Ok(programs)
    }

    fn attach_calls(&mut self, btf: &Btf) -> Result<(), String> {
        for call in &CALLS {
            let Ok(number) = u16::try_from(call.number) else { continue };
            let ends = if call.has_end() { program::ENDS } else { 0 };
            self.shared().record_call(u32::from(number), program::BEGINS | ends);
            self.calls.resize(self.calls.len().max(usize::from(number) + 1), None);
            self.calls[usize::from(number)] = Some(call);
        }
        // Threads that are started come first: none is missed.
        for name in ["sched_process_fork", "sched_process_exit", "sys_enter", "sys_exit"] {
            let (plan, form) = typed(btf, name).ok_or_else(|| unknown(name))?;
            self.attach(btf, name, &plan, form).map_err(|error| format!("{name}: {error}"))?;
        }
        Ok(())
    }

    fn attach_source(&mut self, btf: &Btf, source: &Source) -> Result<(), String> {
        let name = |path: &'static str| path.rsplit('/').next().unwrap_or(path);
        let is_there = |path: &&'static str| btf.tracepoint(name(path)).is_some();
        let path = source.older.filter(|older| !is_there(&source.path) && is_there(older)).unwrap_or(source.path);
        let name = name(path);
        let made = match plain(name) {
            Some(plan) => Some(plan),
            None if btf.tracepoint(name).is_some() => Some(typed(btf, name).ok_or_else(|| unknown(name))?),
            None => None,
        };
        let attached = made.map(|(plan, form)| self.attach(btf, name, &plan, form));
        let is_absent = |error: &SysError| error.errno() == Some(libc::ENOENT);
        match attached {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) if !is_absent(&error) => Err(format!("{name}: {error}")),
            _ if source.is_needed => Err(format!("this kernel has no event {path}")),
            _ => {
                self.missing.push(path.to_owned());
                Ok(())
            }
        }
    }

    fn attach(&mut self, btf: &Btf, name: &str, plan: &Plan, form: Form) -> Result<(), SysError> {
        let maps = Maps { shared: self.shared.number(), ring: self.ring.number() };
        let number = u16::try_from(self.attached.len()).unwrap_or(u16::MAX);
        let hook = match (form, btf.tracepoint(name)) {
            (Form::Plain(_), _) if plain(name).is_some() => Hook::Named(name),
            (_, Some(tracepoint)) => Hook::Typed(tracepoint.id),
            (_, None) => Hook::Named(name),
        };
        let program = Program::attach(hook, &plan.instructions(maps, number))?;
        self.attached.push(Attached { program, form });
        Ok(())
    }

    fn shared(&self) -> Shared<'_> {
        Shared(self.shared.words())
    }

    /// Records these threads, besides those before, and all that they start.
    pub(crate) fn follow(&self, threads: &[Thread]) {
        threads.iter().for_each(|thread| self.shared().follow(*thread));
    }

    /// True if this thread is recorded.
    pub(crate) fn follows(&self, thread: Thread) -> bool {
        self.shared().follows(thread)
    }

    /// Records I/Os of these devices, besides those before; of all if there are none.
    pub(crate) fn record_devices(&self, devices: &[DeviceNumber]) {
        self.shared().record_devices(devices);
    }

    /// Records from now on.
    pub(crate) fn go_on(&mut self) {
        self.last = now();
        self.shared().go_on();
    }

    /// Records no more.
    pub(crate) fn stop(&self) {
        self.shared().stop();
    }

    /// Events that had no room, and those of programs that did not run.
    pub(crate) fn lost(&self) -> u64 {
        let missed: u64 = self.attached.iter().map(|attached| attached.program.missed()).sum();
        self.shared().lost().saturating_add(missed)
    }

    /// Adds the events that there are. Returns the moment before which there are all.
    ///
    /// A record has its place before its time. So what is behind the last one is of later, unless one is not complete:
    /// its program was interrupted, or its processor has no time (of a virtual machine).
    pub(crate) fn read(&mut self, events: &mut Vec<Event>) -> Nanos {
        let (before, begun) = (events.len(), now());
        let Programs { attached, ring, calls, bits, lost, last, unrecorded, .. } = self;
        let mut count = 0;
        let is_complete = ring.read(|bytes| {
            let Some(record) = Record::of(bytes) else { return };
            count += 1;
            let gap = |what| Event { time: record.time, cpu: record.cpu, thread: Thread(0), context: 0, what };
            if record.lost != *lost {
                *unrecorded += record.time.saturating_sub(*last);
                *lost = record.lost;
                events.push(gap(What::Lost));
            }
            *last = (*last).max(record.time);
            let form = attached.get(usize::try_from(record.number).unwrap_or(usize::MAX)).map(|attached| attached.form);
            let what = form.and_then(|form| record.what(form, calls, *bits));
            events.extend(what.map(|what| Event { thread: record.thread, context: record.context, ..gap(what) }));
        });
        self.events += count;
        if is_complete {
            self.complete = begun;
        }
        // What was missed is about as old as the oldest event.
        let missed = self.missed();
        if missed != self.missed {
            self.missed = missed;
            let time = events.get(before).map_or_else(now, |event| event.time);
            events.push(Event { time, cpu: 0, thread: Thread(0), context: 0, what: What::Lost });
        }
        self.complete
    }

    /// Completions that were missed: one within an interrupt of the same program.
    fn missed(&self) -> u64 {
        let is_completion = |attached: &&Attached| match attached.form {
            Form::Block(make) => matches!(make(NO_SPAN), What::Complete(_) | What::BioComplete(_)),
            _ => false,
        };
        self.attached.iter().filter(is_completion).map(|attached| attached.program.missed()).sum()
    }
}

/// Sectors of nothing.
const NO_SPAN: Span = Span {
    device: DeviceNumber { major: 0, minor: 0 },
    sector: 0,
    sectors: 0,
    op: Op::Other,
    is_ahead: false,
    is_after_flush: false,
};

fn unknown(name: &str) -> String {
    format!("the event {name} of this kernel has other arguments")
}

/// An event that only has to be there.
fn plain(name: &str) -> Option<(Plan, Form)> {
    let what = match name {
        "mm_filemap_get_pages" => What::PageCache,
        "mm_filemap_fault" => What::Fault,
        "ext4_da_write_begin" | "ext4_write_begin" | "xfs_file_buffered_write" | "f2fs_write_begin" => What::CacheWrite,
        "xlog_iclog_wait_on" | "xfs_log_cil_wait" | "xfs_log_grant_sleep" => What::LogWait,
        "jbd2_start_commit" => What::Commits,
        _ => return None,
    };
    let only = if matches!(what, What::Commits) { Only::All } else { Only::Threads(vec![None]) };
    Some((Plan::plain(only), Form::Plain(what)))
}

/// An event with values; `None` if its arguments are not those that are known.
fn typed(btf: &Btf, name: &str) -> Option<(Plan, Form)> {
    let arguments = Arguments { btf, tracepoint: btf.tracepoint(name)? };
    let records = |only, values| Plan { only, does: Does::Records { values, has_name: false } };
    let value = |argument, path: &str| arguments.value(argument, path);
    let made = match name {
        "sys_enter" | "sys_exit" => {
            let regs = arguments.of("pt_regs")?;
            let (is_enter, second) = (name == "sys_enter", Arguments::plain(regs + 1));
            let number = if is_enter { second.clone() } else { value(regs, "orig_ax")? };
            let bit = if is_enter { program::BEGINS } else { program::ENDS };
            let only = Only::Calls { number: number.clone(), bit, segment: value(regs, "cs")? };
            let rest = if is_enter {
                // The first, second and fourth argument of the call.
                vec![value(regs, "di")?, value(regs, "si")?, value(regs, "r10")?]
            } else {
                vec![second]
            };
            let values = [vec![number], rest].concat();
            (records(only, values), if is_enter { Form::Enter } else { Form::Exit })
        }
        "sched_process_fork" | "sched_process_exit" => {
            let first = arguments.of("task_struct")?;
            let does = if name == "sched_process_fork" {
                Does::Follows { parent: value(first, "pid")?, child: value(first + 1, "pid")? }
            } else {
                Does::Forgets(value(first, "pid")?)
            };
            (Plan { only: Only::All, does }, Form::Silent)
        }
        "sched_switch" => {
            let from = arguments.of("task_struct")?;
            let (before, after) = (value(from, "pid")?, value(from + 1, "pid")?);
            let (preempted, state) = (Arguments::plain(from.checked_sub(1)?), arguments.named("prev_state")?);
            let only = Only::Threads(vec![Some(before.clone()), Some(after.clone())]);
            (records(only, vec![before, preempted, state, after]), Form::Switch)
        }
        "sched_waking" => {
            let woken = value(arguments.of("task_struct")?, "pid")?;
            (records(Only::Threads(vec![Some(woken.clone())]), vec![woken]), Form::Waking)
        }
        "balance_dirty_pages" => {
            (Plan::plain(Only::Positive(arguments.named("pause")?)), Form::Plain(What::DirtyPause))
        }
        "iomap_dio_rw_begin" => {
            let count = value(arguments.of("iov_iter")?, "count")?;
            (records(Only::Threads(vec![None]), vec![count]), Form::DirectBegin)
        }
        _ if name.starts_with("block_") => of_block(&arguments, name)?,
        _ => of_ring(&arguments, name)?,
    };
    Some(made)
}

fn of_ring(arguments: &Arguments<'_>, name: &str) -> Option<(Plan, Form)> {
    let value = |argument, path: &str| arguments.value(argument, path);
    let (values, form) = match name {
        "io_uring_submit_req" => {
            let request = arguments.of("io_kiocb")?;
            let values = vec![Arguments::plain(request), value(request, "opcode")?, value(request, "flags")?];
            (values, Form::RingSubmit)
        }
        "io_uring_file_get" => {
            let request = arguments.of("io_kiocb")?;
            (vec![Arguments::plain(request), Arguments::plain(request + 1)], Form::RingFile)
        }
        "io_uring_complete" => {
            let result = match arguments.of("io_uring_cqe") {
                Some(entry) => value(entry, "res")?,
                None => arguments.named("res")?,
            };
            (vec![arguments.named("req")?, result], Form::RingComplete)
        }
        _ => return None,
    };
    Some((Plan { only: Only::All, does: Does::Records { values, has_name: false } }, form))
}

fn of_block(arguments: &Arguments<'_>, name: &str) -> Option<(Plan, Form)> {
    let form = match name {
        "block_bio_queue" => Form::Queue,
        "block_bio_remap" => Form::Remap,
        "block_getrq" => Form::Block(What::Request),
        "block_bio_backmerge" | "block_bio_frontmerge" => Form::Block(What::Merge),
        "block_bio_complete" => Form::Block(What::BioComplete),
        "block_rq_issue" => Form::Block(What::Issue),
        "block_rq_requeue" => Form::Block(What::Requeue),
        "block_rq_complete" => Form::Block(What::Complete),
        _ => return None,
    };
    let value = |argument, path: &str| arguments.value(argument, path);
    let mut values: Vec<Value> = if name.starts_with("block_rq_") {
        let request = arguments.of("request")?;
        // Of a completion, those that are done.
        let bytes =
            if name == "block_rq_complete" { arguments.named("nr_bytes") } else { value(request, "__data_len") };
        let device = value(request, "q->disk->part0->bd_dev")?;
        vec![device, value(request, "__sector")?, bytes?, value(request, "cmd_flags")?]
    } else {
        let bio = arguments.of("bio")?;
        let (sector, bytes) = (value(bio, "bi_iter.bi_sector")?, value(bio, "bi_iter.bi_size")?);
        vec![value(bio, "bi_bdev->bd_dev")?, sector, bytes, value(bio, "bi_opf")?]
    };
    if matches!(form, Form::Remap) {
        values.extend([arguments.named("dev")?, arguments.named("from")?]);
    }
    let only = Only::Devices(values.first()?.clone());
    Some((Plan { only, does: Does::Records { values, has_name: matches!(form, Form::Queue) } }, form))
}

/// A record of a program.
struct Record<'ring> {
    time: Nanos,
    context: u64,
    thread: Thread,
    cpu: u32,
    number: u32,
    lost: u32,
    values: &'ring [u8],
}

impl<'ring> Record<'ring> {
    fn of(bytes: &'ring [u8]) -> Option<Self> {
        let (head, values) = bytes.split_at_checked(program::HEAD)?;
        let half = |at: usize| Some(u32::from_ne_bytes(head.get(at..at + 4)?.try_into().ok()?));
        Some(Record {
            time: Nanos(word(head, 0)?),
            context: word(head, 1)? >> STACK_BITS,
            thread: Thread(half(16)?.cast_signed()),
            cpu: half(20)?,
            number: half(24)?,
            lost: half(28)?,
            values,
        })
    }

    fn what(&self, form: Form, calls: &[Option<&'static Call>], bits: Bits) -> Option<What> {
        let value = |index: usize| word(self.values, index);
        let thread = |index: usize| Some(Thread(low_half(value(index)?.cast_signed())));
        let call = || *calls.get(usize::try_from(value(0)?).ok()?)?;
        let what = match form {
            Form::Enter => {
                let call = call()?;
                let descriptor = match call.descriptor {
                    "" => None,
                    "newfd" => Some(low_half(value(2)?.cast_signed())),
                    _ => Some(low_half(value(1)?.cast_signed())),
                };
                let offset = value(3)?.cast_signed();
                What::Enter { call, descriptor, offset: u64::try_from(offset).ok().filter(|_| !call.offset.is_empty()) }
            }
            Form::Exit => What::Exit { call: call()?, result: value(1)?.cast_signed() },
            Form::Switch => {
                let is_runnable = value(1)? & 1 != 0 || low_half(value(2)?.cast_signed()) == 0;
                What::Switch { from: thread(0)?, is_runnable, to: thread(3)? }
            }
            Form::Waking => What::Waking { thread: thread(0)? },
            Form::DirectBegin => What::DirectBegin { bytes: value(0)? },
            Form::RingSubmit => {
                What::RingSubmit { request: value(0)?, opcode: value(1)?, is_linked: value(2)? & LINKS != 0 }
            }
            Form::RingFile => What::RingFile { request: value(0)?, descriptor: low_half(value(1)?.cast_signed()) },
            Form::RingComplete => {
                What::RingComplete { request: value(0)?, result: i64::from(low_half(value(1)?.cast_signed())) }
            }
            Form::Queue => {
                let name: Name = self.values.get(32..48)?.try_into().ok()?;
                What::Queue { span: self.span(bits)?, name }
            }
            Form::Remap => What::Remap { to: self.span(bits)?, from: device(value(4)? & HALF), from_sector: value(5)? },
            Form::Block(make) => make(self.span(bits)?),
            Form::Plain(what) => what,
            Form::Silent => return None,
        };
        Some(what)
    }

    fn span(&self, bits: Bits) -> Option<Span> {
        let value = |index: usize| word(self.values, index);
        let (number, flags) = (value(0)?, value(3)?);
        let op = match flags & 0xff {
            0 => Op::Read,
            1 => Op::Write,
            _ => Op::Other,
        };
        let is_of_driver = OF_DRIVERS.contains(&(flags & 0xff));
        // A flush has no sector.
        let sector = value(1)?.checked_add(1).filter(|_| !is_of_driver).map_or(0, |next| next - 1);
        let sectors = if is_of_driver { 0 } else { (value(2)? & HALF) >> 9 };
        let is_set = |bit: u32| flags >> bit & 1 != 0;
        let (is_ahead, is_after_flush) = (is_set(bits.ahead), is_set(bits.after_flush));
        Some(Span { device: device(number), sector, sectors, op, is_ahead, is_after_flush })
    }
}

/// The lower half of a word.
const HALF: u64 = 0xffff_ffff;

fn word(bytes: &[u8], index: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(8 * index..8 * index + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Programs that record what this thread starts.
    fn following(ring: u32) -> Programs {
        let mut programs = Programs::load(&[Of::Threads, Of::Rings, Of::Block], ring).unwrap();
        programs.record_devices(&[]);
        programs.follow(&[Thread(i32::try_from(sys::processes::placement::thread_id()).unwrap())]);
        programs.go_on();
        programs
    }

    fn copies(count: u32) {
        let words = format!("if=/dev/zero of=/dev/null bs=4096 count={count}");
        assert!(Command::new("dd").args(words.split(' ')).output().unwrap().status.success());
    }

    #[test]
    fn calls_of_a_child_have_their_begins_and_ends() {
        let mut programs = following(1 << 20);
        copies(100);
        programs.stop();
        let mut events = Vec::new();
        programs.read(&mut events);
        let of_calls = |name: &str| {
            let is_begin = |event: &&Event| matches!(event.what, What::Enter { call, .. } if call.name == name);
            let is_end = |event: &&Event| matches!(event.what, What::Exit { call, result: 4096 } if call.name == name);
            (events.iter().filter(is_begin).count(), events.iter().filter(is_end).count())
        };
        let (reads, writes) = (of_calls("read"), of_calls("write"));
        assert!(reads.0 > 100 && reads.1 >= 100 && writes.0 >= 100 && writes.1 == 100, "{reads:?} {writes:?}");
        let own = Thread(i32::try_from(sys::processes::placement::thread_id()).unwrap());
        let is_of_child = |event: &&Event| event.thread != own && matches!(event.what, What::Exit { .. });
        let child = events.iter().find(is_of_child).unwrap().thread;
        assert!(programs.follows(own) && !programs.follows(child), "it has ended");
        assert_eq!(programs.lost(), 0);
    }

    #[test]
    fn events_without_room_are_counted_and_seen() {
        let mut programs = following(1 << 12);
        let mut events = Vec::new();
        copies(2000);
        programs.read(&mut events);
        copies(10);
        programs.read(&mut events);
        assert!(programs.lost() > 4000, "{}", programs.lost());
        assert!(events.iter().any(|event| matches!(event.what, What::Lost)), "{}", events.len());
        assert!(!programs.unrecorded.is_zero());
    }

    #[test]
    fn a_flush_has_no_sectors_and_a_write_has_its_own() {
        let values = |device: u64, sector: u64, bytes: u64, flags: u64| -> Vec<u8> {
            let head = [1000u64, 5 << STACK_BITS, 7, 3 << 32].map(u64::to_ne_bytes).concat();
            [head, [device, sector, bytes, flags].map(u64::to_ne_bytes).concat()].concat()
        };
        let span = |bytes: &[u8]| Record::of(bytes).unwrap().span(Bits { ahead: 19, after_flush: 18 }).unwrap();
        let write = span(&values(8 << 20 | 1, 64, 4096, 1 | 3 << 18));
        assert_eq!((write.device, write.sector, write.sectors), (DeviceNumber { major: 8, minor: 1 }, 64, 8));
        assert_eq!((write.op, write.is_ahead, write.is_after_flush), (Op::Write, true, true));
        let flush = span(&values(8 << 20, u64::MAX, 0, 2));
        assert_eq!((flush.sector, flush.sectors, flush.op, flush.is_ahead), (0, 0, Op::Other, false));
        let record = values(0, 0, 0, 0);
        let record = Record::of(&record).unwrap();
        assert_eq!((record.time, record.context, record.thread, record.lost), (Nanos(1000), 5, Thread(7), 3));
    }
}
