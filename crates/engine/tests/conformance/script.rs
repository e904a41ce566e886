//! The script: writes, syncs, reads back, short transfers, errors and trims, the same for every engine.

use crate::place::{Place, SIZE};
use crate::rig::{BLOCK, Rig, io, options};
use crate::works::follows_the_script;
use engine::{Completion, ENGINES, Engine, EngineClock, Io, Operation, Submitted, Visitor, dispatch};
use measure::SystemClock;
use plan::option::Value;
use plan::{EngineOptions, Submission};
use std::os::unix::fs::FileExt;

const BLOCKS: usize = 64;
pub(crate) const WHOLE: i64 = BLOCK as i64;

/// Runs the script on an engine's type.
struct Script<'a> {
    place: &'a Place,
    depth: u32,
    options: &'a EngineOptions,
}

impl Visitor for Script<'_> {
    type Out = ();

    fn visit<E: Engine>(self) {
        let clock = E::Clock::for_worker(&SystemClock::start());
        let mut rig = Rig::<E>::open(self.options, &self.place.targets(), self.depth, clock).unwrap();
        let label = format!("{} at depth {} on {}", E::SPEC.name, self.depth, self.place.name);
        write_and_sync(&mut rig, &label);
        if E::SPEC.capabilities.needs_files {
            look_past_the_engine(self.place, &label);
            read_back(&mut rig, &label);
            end_of_file(&mut rig, self.place, &label);
            errors(&mut rig, &label);
            trims(&mut rig, self.place, &label);
        } else {
            assert_eq!(rig.results(&blocks(Operation::Read)), [WHOLE; BLOCKS], "{label}");
            assert_eq!(rig.results(&blocks(Operation::Trim)), [WHOLE; BLOCKS], "{label}");
        }
    }
}

fn blocks(operation: Operation) -> Vec<Io> {
    (0..BLOCKS).map(|block| io(operation, 0, (block * BLOCK) as u64, BLOCK)).collect()
}

/// What block `block` holds: its number, mixed, in every 8 bytes.
fn pattern(block: usize) -> Vec<u8> {
    let word = |index: usize| ((block * BLOCK + index) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
    (0..BLOCK / 8).flat_map(word).collect()
}

fn write_and_sync<E: Engine>(rig: &mut Rig<E>, label: &str) {
    let results = rig.run(
        &blocks(Operation::Write),
        |block, memory| memory[..BLOCK].copy_from_slice(&pattern(block)),
        |_, _, _| (),
    );
    assert_eq!(results, [WHOLE; BLOCKS], "{label}: write");
    assert_eq!(rig.results(&[io(Operation::Sync, 0, 0, 0), io(Operation::DataSync, 0, 0, 0)]), [0, 0], "{label}: sync");
}

fn look_past_the_engine(place: &Place, label: &str) {
    let mut memory = crate::rig::Buffers::new(1);
    for block in 0..BLOCKS {
        place.file().read_exact_at(&mut memory.slot(0)[..BLOCK], (block * BLOCK) as u64).unwrap();
        assert!(memory.slot(0)[..BLOCK] == pattern(block), "{label}: block {block} was not written");
    }
}

fn read_back<E: Engine>(rig: &mut Rig<E>, label: &str) {
    let clear = |_: usize, memory: &mut [u8]| memory.fill(0);
    let compare = |block: usize, _: i64, memory: &[u8]| {
        assert!(memory[..BLOCK] == pattern(block), "{label}: block {block} was not read");
        assert!(memory[BLOCK..].iter().all(|&byte| byte == 0), "{label}: block {block} overran its buffer");
    };
    assert_eq!(rig.run(&blocks(Operation::Read), clear, compare), [WHOLE; BLOCKS], "{label}: read");
    // The rest of a short transfer goes to the middle of the buffer.
    let rest = Io { buffer_offset: 4096, ..io(Operation::Read, 1, 3 * BLOCK as u64, BLOCK) };
    let compare = |_: usize, _: i64, memory: &[u8]| assert!(memory[BLOCK..] == pattern(3), "{label}: buffer offset");
    assert_eq!(rig.run(&[rest], clear, compare), [WHOLE], "{label}: buffer offset");
}

fn end_of_file<E: Engine>(rig: &mut Rig<E>, place: &Place, label: &str) {
    let across = io(Operation::Read, 0, SIZE - BLOCK as u64, 2 * BLOCK);
    let past = io(Operation::Read, 0, SIZE, BLOCK);
    assert_eq!(rig.results(&[across, past]), [WHOLE, 0], "{label}: reads at the end are short");
    // Adjacent ones too, which an engine may gather into one call.
    let at = |offset| io(Operation::Read, 0, offset, BLOCK);
    let (last, size) = (SIZE - BLOCK as u64, SIZE);
    assert_eq!(rig.results(&[at(last), at(size)]), [WHOLE, 0], "{label}: reads across the end");
    if !place.block_device {
        let reads = [at(last), at(size), at(size + BLOCK as u64), at(size + 2 * BLOCK as u64)];
        assert_eq!(rig.results(&reads), [WHOLE, 0, 0, 0], "{label}: reads across the end and on");
    }
    if place.block_device {
        let past = io(Operation::Write, 0, SIZE, BLOCK);
        assert_eq!(rig.results(&[past]), [-i64::from(libc::ENOSPC)], "{label}: a write past the end has no space");
    }
}

fn errors<E: Engine>(rig: &mut Rig<E>, label: &str) {
    let good = io(Operation::Read, 0, 0, BLOCK);
    let read_only = io(Operation::Write, 1, 0, BLOCK);
    let negative = io(Operation::Read, 0, 1 << 63, BLOCK);
    let results = rig.results(&[good, read_only, good, negative, good]);
    let expected = [WHOLE, -i64::from(libc::EBADF), WHOLE, -i64::from(libc::EINVAL), WHOLE];
    assert_eq!(results, expected, "{label}: one I/O's error is its own");
}

fn trims<E: Engine>(rig: &mut Rig<E>, place: &Place, label: &str) {
    let trim = io(Operation::Trim, 0, 0, 4 * BLOCK);
    if !place.block_device {
        assert_eq!(rig.results(&[trim]), [-i64::from(libc::ENOTTY)], "{label}: a file has no trim");
        return;
    }
    assert_eq!(rig.results(&[trim]), [4 * WHOLE], "{label}: trim");
    let zeros = |_: usize, _: i64, memory: &[u8]| assert!(memory[..BLOCK].iter().all(|&byte| byte == 0), "{label}");
    rig.run(&blocks(Operation::Read)[..4], |_, memory| memory.fill(1), zeros);
}

pub(crate) fn check(place: &Place, name: &str, values: &[(&'static str, Value)]) {
    let options = options(values);
    for depth in [1, 8] {
        dispatch(name, Script { place, depth, options: &options }).expect("the engine is in the list");
    }
}

#[test]
fn every_engine_keeps_the_contract_on_a_file_in_memory() {
    let place = Place::memory();
    for engine in ENGINES.iter().filter(|engine| follows_the_script(engine)) {
        check(&place, engine.name, &[]);
    }
}

#[test]
fn every_engine_keeps_the_contract_on_a_direct_loop_device() {
    let place = Place::loop_device();
    for engine in ENGINES.iter().filter(|engine| follows_the_script(engine)) {
        check(&place, engine.name, &[]);
    }
}

/// Submits one write at a depth.
struct Answer<'a> {
    place: &'a Place,
    depth: u32,
}

impl Visitor for Answer<'_> {
    type Out = Submitted;

    fn visit<E: Engine>(self) -> Submitted {
        let clock = E::Clock::for_worker(&SystemClock::start());
        let mut rig = Rig::<E>::open(&options(&[]), &self.place.targets(), self.depth, clock).unwrap();
        rig.engine.submit(io(Operation::Write, 0, 0, BLOCK))
    }
}

#[test]
fn an_io_is_done_or_queued_as_the_capabilities_say() {
    let place = Place::memory();
    let done = Submitted::Done(Completion { slot: 0, result: WHOLE });
    for engine in ENGINES.iter().filter(|engine| follows_the_script(engine)) {
        for depth in [1, 8] {
            let expected = match engine.capabilities.submission {
                Submission::Synchronous => done,
                Submission::ByDepth if depth == 1 => done,
                Submission::ByDepth | Submission::Asynchronous => Submitted::Queued,
            };
            let answer = dispatch(engine.name, Answer { place: &place, depth }).unwrap();
            assert_eq!(answer, expected, "{} at depth {depth}", engine.name);
        }
    }
}

#[test]
fn an_unknown_engine_is_none() {
    let options = EngineOptions::default();
    let place = Place::memory();
    assert!(dispatch("nosuch", Script { place: &place, depth: 1, options: &options }).is_none());
}
