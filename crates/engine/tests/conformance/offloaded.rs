//! Threads behind one engine: what they promise in addition to what every engine does.

use crate::place::Place;
use crate::rig::{BLOCK, Buffers, STRIDE, io, options};
use engine::{Completion, Engine, Io, JobFacts, Offload, Operation, Setup, Submitted};
use measure::{Clock, Nanos, SystemClock};

const DEPTH: u32 = 4;
const BEHIND: [&str; 9] = ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "libaio", "io_uring", "splice"];

fn open(place: &Place, behind: &str, buffers: &Buffers, clock: SystemClock) -> Offload {
    let job = JobFacts { name: "rig", offloads_to: Some(behind), ..JobFacts::default() };
    let (options, targets) = (options(&[]), place.targets());
    let setup = Setup {
        options: &options,
        job,
        targets: &targets,
        depth: DEPTH,
        buffers: buffers.start(),
        buffer_stride: STRIDE,
        clock,
    };
    Offload::open(setup).unwrap()
}

/// One I/O in each slot, all at once; the completions by slot.
fn all_slots(engine: &mut Offload, operation: Operation) -> Vec<i64> {
    let mut done: Vec<Completion> = Vec::new();
    for slot in 0..DEPTH {
        let at = Io { slot, ..io(operation, 0, u64::from(DEPTH - slot) * BLOCK as u64, BLOCK) };
        assert_eq!(engine.submit(at), Submitted::Queued);
    }
    assert_eq!(engine.reap(0, DEPTH, &mut done).unwrap(), 0, "nothing begins before a flush");
    assert_eq!(engine.flush().unwrap(), DEPTH);
    while done.len() < DEPTH as usize {
        engine.reap(1, DEPTH, &mut done).unwrap();
    }
    done.sort_by_key(|completion| completion.slot);
    done.iter().map(|completion| completion.result).collect()
}

#[test]
fn threads_move_each_slots_own_block_whatever_engine_they_have() {
    let clock = SystemClock::start();
    for behind in BEHIND {
        let place = Place::memory();
        let mut buffers = Buffers::new(DEPTH);
        let mut engine = open(&place, behind, &buffers, clock);
        for round in 0..20_u8 {
            for (slot, byte) in (0..DEPTH).zip(round * 4..) {
                buffers.slot(slot)[..BLOCK].fill(byte);
            }
            assert_eq!(all_slots(&mut engine, Operation::Write), [BLOCK as i64; 4], "{behind}");
            (0..DEPTH).for_each(|slot| buffers.slot(slot).fill(0));
            assert_eq!(all_slots(&mut engine, Operation::Read), [BLOCK as i64; 4], "{behind}");
            for (slot, expected) in (0..DEPTH).zip(round * 4..) {
                assert!(buffers.slot(slot)[..BLOCK].iter().all(|&byte| byte == expected), "{behind} slot {slot}");
            }
        }
        let used = engine.helpers_usage().unwrap();
        assert!(used.user_ns + used.system_ns > 0, "{behind}");
    }
}

#[test]
fn a_thread_stamps_its_io_between_hand_over_and_reap() {
    let clock = SystemClock::start();
    let place = Place::memory();
    let buffers = Buffers::new(DEPTH);
    let mut engine = open(&place, "psync", &buffers, clock);
    let before = clock.now();
    all_slots(&mut engine, Operation::Write);
    let after = clock.now();
    for slot in 0..DEPTH {
        let (begun, ended) = engine.stamps(slot).unwrap();
        assert!(before <= begun && begun <= ended && ended <= after, "{before:?} {begun:?} {ended:?} {after:?}");
    }
}

#[test]
fn an_engine_that_cannot_open_is_an_error_and_waits_end() {
    let clock = SystemClock::start();
    let place = Place::memory();
    let buffers = Buffers::new(DEPTH);
    let mut engine = open(&place, "psync", &buffers, clock);
    let before = clock.now();
    let mut done = Vec::new();
    assert_eq!(engine.reap_within(Nanos::from_millis(50), 1, &mut done).unwrap(), 0, "nothing is in flight");
    assert!(clock.now().saturating_sub(before) < Nanos::from_millis(40), "there is nothing to wait for");
    let setup = Setup {
        options: &options(&[]),
        job: JobFacts { name: "rig", offloads_to: Some("warp"), ..JobFacts::default() },
        targets: &place.targets(),
        depth: DEPTH,
        buffers: buffers.start(),
        buffer_stride: STRIDE,
        clock,
    };
    let error = Offload::open(setup).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("there is no engine `warp`"), "{error}");
}
