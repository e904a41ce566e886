//! BPF programs, one for each event: which threads and devices it is of, and the values that its record has.
//!
//! A program is some 50 instructions (kernel doc: bpf/standardization/instruction-set), made here for the kernel that
//! runs: no compiler, and no object file, which is all that well-kept libraries such as aya load. Words that are shared
//! with it say whether to record, which calls, of which devices and threads. Threads that a recorded one starts are
//! recorded, too.

use crate::btf::{Btf, Load, Tracepoint};
use crate::event::Thread;
use std::sync::atomic::{AtomicU64, Ordering};
use sys::devices::identity::DeviceNumber;

/// First bytes of the shared words: whether to record, and events that had no room.
const IS_ON: i16 = 0;
const LOST: i16 = 8;
/// First byte of the calls, a byte each by number; of the bits of devices; and of those of threads.
const CALLS: i16 = 64;
const DEVICES: i16 = 1024;
const THREADS: i16 = 16384;
/// Calls with larger numbers are not recorded.
const MOST_CALLS: u32 = 512;
/// Bits of devices, each for all numbers that are mixed to it, and of threads: the kernel has no larger numbers.
const DEVICE_BITS: u32 = 1 << 16;
const THREAD_BITS: u32 = 1 << 22;
/// Number of shared words.
pub(crate) const WORDS: u32 = THREADS as u32 / 8 + THREAD_BITS / 64;

/// Bits of a call: its begin is recorded, its end, or both.
pub(crate) const BEGINS: u8 = 1;
pub(crate) const ENDS: u8 = 2;

/// Bytes of a record before its values: time, place of the stack, thread, processor, number of the program, lost events.
pub(crate) const HEAD: usize = 32;

/// The shared words, as this process uses them.
#[derive(Clone, Copy)]
pub(crate) struct Shared<'words>(pub(crate) &'words [AtomicU64]);

impl Shared<'_> {
    pub(crate) fn go_on(&self) {
        self.0[IS_ON as usize / 8].store(1, Ordering::SeqCst);
    }

    pub(crate) fn stop(&self) {
        self.0[IS_ON as usize / 8].store(0, Ordering::SeqCst);
    }

    pub(crate) fn lost(&self) -> u64 {
        self.0[LOST as usize / 8].load(Ordering::Relaxed)
    }

    pub(crate) fn record_call(&self, number: u32, bits: u8) {
        if number < MOST_CALLS {
            let (word, byte) = (CALLS as usize / 8 + number as usize / 8, number % 8);
            self.0[word].fetch_or(u64::from_le_bytes([bits, 0, 0, 0, 0, 0, 0, 0]) << (8 * byte), Ordering::Relaxed);
        }
    }

    /// The word and bit of a thread.
    fn place(&self, thread: Thread) -> (&AtomicU64, u64) {
        let number = u32::try_from(thread.0).unwrap_or(0) % THREAD_BITS;
        (&self.0[THREADS as usize / 8 + number as usize / 64], 1 << (number % 64))
    }

    pub(crate) fn follow(&self, thread: Thread) {
        let (word, bit) = self.place(thread);
        word.fetch_or(bit, Ordering::SeqCst);
    }

    pub(crate) fn follows(&self, thread: Thread) -> bool {
        let (word, bit) = self.place(thread);
        word.load(Ordering::Relaxed) & bit != 0
    }

    /// Records these devices besides those before; all if there are none.
    pub(crate) fn record_devices(&self, devices: &[DeviceNumber]) {
        let words = &self.0[DEVICES as usize / 8..][..DEVICE_BITS as usize / 64];
        if devices.is_empty() {
            words.iter().for_each(|word| word.store(u64::MAX, Ordering::Relaxed));
        }
        for device in devices {
            let number = crate::event::device_word(*device);
            let bit = usize::try_from((number ^ (number >> MIX)) % u64::from(DEVICE_BITS)).unwrap_or(0);
            words[bit / 64].fetch_or(1 << (bit % 64), Ordering::Relaxed);
        }
    }
}

/// The number of a device is mixed with itself, this far down: then the major number counts.
const MIX: i32 = 12;

/// Numbers of registers: the arguments of the tracepoint, the shared words, the thread, and the record.
const CONTEXT: u8 = 6;
const THREAD: u8 = 7;
const RECORD: u8 = 8;
const SHARED: u8 = 9;
const STACK: u8 = 10;

/// Numbers of the kernel's functions for programs.
const KTIME_GET_NS: i32 = 5;
const GET_SMP_PROCESSOR_ID: i32 = 8;
const GET_CURRENT_PID_TGID: i32 = 14;
const GET_CURRENT_COMM: i32 = 16;
const RINGBUF_RESERVE: i32 = 131;
const RINGBUF_SUBMIT: i32 = 132;
/// No thread is woken for a record: it is read within some milliseconds.
const NO_WAKEUP: i32 = 1;

/// Operations: class, size and kind.
mod op {
    pub(super) const LOAD_WIDE: u8 = 0x18;
    pub(super) const LOAD: u8 = 0x61;
    pub(super) const STORE: u8 = 0x63;
    pub(super) const STORE_NUMBER: u8 = 0x62;
    pub(super) const ATOMIC: u8 = 0xdb;
    pub(super) const BYTES_8: u8 = 0x18;
    pub(super) const BYTES_2: u8 = 0x08;
    pub(super) const BYTES_1: u8 = 0x10;
    pub(super) const MOVE: u8 = 0xbf;
    pub(super) const MOVE_HALF: u8 = 0xbc;
    pub(super) const MOVE_NUMBER: u8 = 0xb7;
    pub(super) const ADD: u8 = 0x0f;
    pub(super) const ADD_NUMBER: u8 = 0x07;
    pub(super) const AND_NUMBER: u8 = 0x57;
    pub(super) const XOR: u8 = 0xaf;
    pub(super) const XOR_NUMBER: u8 = 0xa7;
    pub(super) const SHIFT_LEFT: u8 = 0x6f;
    pub(super) const SHIFT_RIGHT: u8 = 0x7f;
    pub(super) const SHIFT_RIGHT_NUMBER: u8 = 0x77;
    pub(super) const CALL: u8 = 0x85;
    pub(super) const EXIT: u8 = 0x95;
    pub(super) const JUMP: u8 = 0x05;
    pub(super) const IF_EQUAL: u8 = 0x15;
    pub(super) const IF_OTHER: u8 = 0x55;
    pub(super) const IF_ABOVE: u8 = 0x25;
    pub(super) const IF_AT_MOST_SIGNED: u8 = 0xd5;
}

/// Kinds of addresses in wide loads: a map, and the value of a map.
const MAP: u8 = 1;
const VALUE: u8 = 2;
/// The function of an atomic operation.
const ATOMIC_ADD: i32 = 0x00;
const ATOMIC_AND: i32 = 0x50;
const ATOMIC_OR: i32 = 0x40;

/// Places in a program to which it jumps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    /// The thread is recorded.
    Follows,
    End,
    Lost,
}

/// Bits among the shared words.
#[derive(Clone, Copy)]
struct Bits {
    base: i16,
    count: u32,
}

/// A program that is being written.
#[derive(Debug, Default)]
struct Code {
    instructions: Vec<u64>,
    jumps: Vec<(usize, To)>,
    places: Vec<(To, usize)>,
}

impl Code {
    fn put(&mut self, op: u8, to: u8, from: u8, offset: i16, number: i32) {
        let [offset_low, offset_high] = offset.to_ne_bytes();
        let [a, b, c, d] = number.to_ne_bytes();
        let word = [op, to | from << 4, offset_low, offset_high, a, b, c, d];
        self.instructions.push(u64::from_ne_bytes(word));
    }

    fn number(&mut self, op: u8, to: u8, number: i32) {
        self.put(op, to, 0, 0, number);
    }

    fn register(&mut self, op: u8, to: u8, from: u8) {
        self.put(op, to, from, 0, 0);
    }

    fn wide(&mut self, to: u8, kind: u8, number: i32) {
        self.put(op::LOAD_WIDE, to, kind, 0, number);
        self.put(0, 0, 0, 0, 0);
    }

    fn jump(&mut self, op: u8, register: u8, number: i32, to: To) {
        self.jumps.push((self.instructions.len(), to));
        self.put(op, register, 0, 0, number);
    }

    fn place(&mut self, place: To) {
        self.places.push((place, self.instructions.len()));
    }

    fn load(&mut self, to: u8, from: u8, load: Load) {
        let size = match load.size {
            8 => op::BYTES_8,
            2 => op::BYTES_2,
            1 => op::BYTES_1,
            _ => 0,
        };
        self.put(op::LOAD | size, to, from, load.offset, 0);
    }

    fn argument(&mut self, to: u8, argument: usize) {
        let offset = i16::try_from(8 * argument).unwrap_or(0);
        self.load(to, CONTEXT, Load { offset, size: 8 });
    }

    /// Loads a value into register 1.
    fn value(&mut self, value: &Value) {
        self.argument(1, value.argument);
        value.loads.iter().for_each(|load| self.load(1, 1, *load));
    }

    /// Makes of the number in register 1 the address of its word in register 2, and its bit in register 1.
    fn bit(&mut self, count: u32) {
        self.register(op::MOVE, 2, 1);
        self.number(op::SHIFT_RIGHT_NUMBER, 2, 3);
        self.number(op::AND_NUMBER, 2, (count / 8 - 8).cast_signed());
        self.register(op::ADD, 2, SHARED);
        self.number(op::AND_NUMBER, 1, 63);
    }

    /// Goes there if the bit of the number in register 1 is as `jump` wants it.
    fn if_bit(&mut self, of: Bits, jump: u8, to: To) {
        self.bit(of.count);
        self.load(2, 2, Load { offset: of.base, size: 8 });
        self.register(op::SHIFT_RIGHT, 2, 1);
        self.number(op::AND_NUMBER, 2, 1);
        self.jump(jump, 2, 0, to);
    }

    /// Goes on if one of the threads in these values is recorded.
    fn only_threads(&mut self, threads: &[Option<Value>]) {
        for thread in threads {
            match thread {
                Some(thread) => self.value(thread),
                None => self.register(op::MOVE, 1, THREAD),
            }
            self.if_bit(Bits { base: THREADS, count: THREAD_BITS }, op::IF_OTHER, To::Follows);
        }
        self.jump(op::JUMP, 0, 0, To::End);
        self.place(To::Follows);
    }

    fn done(mut self) -> Vec<u64> {
        self.place(To::End);
        self.number(op::MOVE_NUMBER, 0, 0);
        self.put(op::EXIT, 0, 0, 0, 0);
        // The verifier refuses what is never reached.
        if self.jumps.iter().any(|(_, to)| *to == To::Lost) {
            self.place(To::Lost);
            self.number(op::MOVE_NUMBER, 1, 1);
            self.put(op::ATOMIC, SHARED, 1, LOST, ATOMIC_ADD);
            self.jump(op::JUMP, 0, 0, To::End);
        }
        for (at, to) in self.jumps {
            let place = self.places.iter().find(|(place, _)| *place == to).map_or(at, |(_, place)| *place);
            // From the instruction behind the jump on.
            let distance = i16::try_from(place.cast_signed() - at.cast_signed() - 1).unwrap_or(0);
            let mut bytes = self.instructions[at].to_ne_bytes();
            bytes[2..4].copy_from_slice(&distance.to_ne_bytes());
            self.instructions[at] = u64::from_ne_bytes(bytes);
        }
        self.instructions
    }
}

/// A value of a record: an argument of the tracepoint, or what it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Value {
    argument: usize,
    loads: Vec<Load>,
}

/// The events of a tracepoint that are recorded.
#[derive(Clone, Debug)]
pub(crate) enum Only {
    /// All.
    All,
    /// Those of recorded threads: `None` is the thread that runs.
    Threads(Vec<Option<Value>>),
    /// Begins and ends of calls by recorded threads: the call's number, the bit that it has, and the code segment.
    Calls { number: Value, bit: u8, segment: Value },
    /// Those of recorded devices.
    Devices(Value),
    /// Of recorded threads, those with a value above zero.
    Positive(Value),
}

/// The work of a program.
#[derive(Clone, Debug)]
pub(crate) enum Does {
    /// Records values, and the name of the thread behind them.
    Records { values: Vec<Value>, has_name: bool },
    /// A thread is recorded from now on, because the first one is.
    Follows { parent: Value, child: Value },
    /// A thread is recorded no more.
    Forgets(Value),
}

/// The maps of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Maps {
    pub(crate) shared: i32,
    pub(crate) ring: i32,
}

/// A program.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) only: Only,
    pub(crate) does: Does,
}

/// The code segment of 32-bit programs, whose calls have other numbers.
const SEGMENT_32: i32 = 0x23;

impl Plan {
    /// A program that records that the event was there.
    pub(crate) fn plain(only: Only) -> Self {
        Plan { only, does: Does::Records { values: Vec::new(), has_name: false } }
    }

    /// Its instructions; `number` is in its records.
    pub(crate) fn instructions(&self, maps: Maps, number: u16) -> Vec<u64> {
        let mut code = Code::default();
        code.register(op::MOVE, CONTEXT, 1);
        code.wide(SHARED, VALUE, maps.shared);
        match &self.does {
            Does::Records { values, has_name } => {
                code.load(1, SHARED, Load { offset: IS_ON, size: 8 });
                code.jump(op::IF_EQUAL, 1, 0, To::End);
                code.number(op::CALL, 0, GET_CURRENT_PID_TGID);
                code.register(op::MOVE_HALF, THREAD, 0);
                self.select(&mut code);
                record(&mut code, maps, number, values, *has_name);
            }
            // Also while nothing is recorded.
            Does::Follows { parent, child } => {
                code.only_threads(&[Some(parent.clone())]);
                code.value(child);
                code.change_thread(ATOMIC_OR);
            }
            Does::Forgets(thread) => {
                code.value(thread);
                code.change_thread(ATOMIC_AND);
            }
        }
        code.done()
    }

    fn select(&self, code: &mut Code) {
        match &self.only {
            Only::All => {}
            Only::Threads(threads) => code.only_threads(threads),
            Only::Calls { number, bit, segment } => {
                code.only_threads(&[None]);
                code.value(segment);
                code.number(op::AND_NUMBER, 1, 0xff);
                code.jump(op::IF_EQUAL, 1, SEGMENT_32, To::End);
                code.value(number);
                code.jump(op::IF_ABOVE, 1, (MOST_CALLS - 1).cast_signed(), To::End);
                code.register(op::ADD, 1, SHARED);
                code.load(1, 1, Load { offset: CALLS, size: 1 });
                code.number(op::AND_NUMBER, 1, i32::from(*bit));
                code.jump(op::IF_EQUAL, 1, 0, To::End);
            }
            Only::Devices(device) => {
                code.value(device);
                code.register(op::MOVE, 2, 1);
                code.number(op::SHIFT_RIGHT_NUMBER, 2, MIX);
                code.register(op::XOR, 1, 2);
                code.if_bit(Bits { base: DEVICES, count: DEVICE_BITS }, op::IF_EQUAL, To::End);
            }
            Only::Positive(value) => {
                code.only_threads(&[None]);
                code.value(value);
                code.jump(op::IF_AT_MOST_SIGNED, 1, 0, To::End);
            }
        }
    }
}

impl Code {
    /// Sets or takes away the bit of the thread in register 1.
    fn change_thread(&mut self, function: i32) {
        self.bit(THREAD_BITS);
        self.number(op::MOVE_NUMBER, 3, 1);
        self.register(op::SHIFT_LEFT, 3, 1);
        if function == ATOMIC_AND {
            self.number(op::XOR_NUMBER, 3, -1);
        }
        self.put(op::ATOMIC, 2, 3, THREADS, function);
    }
}

/// Puts a record into the ring.
fn record(code: &mut Code, maps: Maps, number: u16, values: &[Value], has_name: bool) {
    let bytes = HEAD + 8 * values.len() + if has_name { 16 } else { 0 };
    let place = |bytes: usize| i16::try_from(bytes).unwrap_or(i16::MAX);
    code.wide(1, MAP, maps.ring);
    code.number(op::MOVE_NUMBER, 2, i32::from(place(bytes)));
    code.number(op::MOVE_NUMBER, 3, 0);
    code.number(op::CALL, 0, RINGBUF_RESERVE);
    code.jump(op::IF_EQUAL, 0, 0, To::Lost);
    code.register(op::MOVE, RECORD, 0);
    code.number(op::CALL, 0, KTIME_GET_NS);
    code.put(op::STORE | op::BYTES_8, RECORD, 0, 0, 0);
    // Within an interrupt it is another stack.
    code.put(op::STORE | op::BYTES_8, RECORD, STACK, 8, 0);
    code.put(op::STORE, RECORD, THREAD, 16, 0);
    code.number(op::CALL, 0, GET_SMP_PROCESSOR_ID);
    code.put(op::STORE, RECORD, 0, 20, 0);
    code.put(op::STORE_NUMBER, RECORD, 0, 24, i32::from(number));
    code.load(1, SHARED, Load { offset: LOST, size: 8 });
    code.put(op::STORE, RECORD, 1, 28, 0);
    for (index, value) in values.iter().enumerate() {
        code.value(value);
        code.put(op::STORE | op::BYTES_8, RECORD, 1, place(HEAD + 8 * index), 0);
    }
    if has_name {
        code.register(op::MOVE, 1, RECORD);
        code.number(op::ADD_NUMBER, 1, i32::from(place(HEAD + 8 * values.len())));
        code.number(op::MOVE_NUMBER, 2, 16);
        code.number(op::CALL, 0, GET_CURRENT_COMM);
    }
    code.register(op::MOVE, 1, RECORD);
    code.number(op::MOVE_NUMBER, 2, NO_WAKEUP);
    code.number(op::CALL, 0, RINGBUF_SUBMIT);
}

/// A tracepoint of the running kernel, whose arguments are looked for.
pub(crate) struct Arguments<'btf> {
    pub(crate) btf: &'btf Btf,
    pub(crate) tracepoint: Tracepoint,
}

impl Arguments<'_> {
    /// The argument that points to such a structure.
    pub(crate) fn of(&self, structure: &str) -> Option<usize> {
        self.btf.argument(&self.tracepoint, structure)
    }

    /// The argument of a name.
    pub(crate) fn named(&self, name: &str) -> Option<Value> {
        self.btf.argument_named(&self.tracepoint, name).map(Self::plain)
    }

    /// An argument as it is.
    pub(crate) fn plain(argument: usize) -> Value {
        Value { argument, loads: Vec::new() }
    }

    /// A value to which an argument leads.
    pub(crate) fn value(&self, argument: usize, path: &str) -> Option<Value> {
        Some(Value { argument, loads: self.btf.path(&self.tracepoint, argument, path)? })
    }
}
