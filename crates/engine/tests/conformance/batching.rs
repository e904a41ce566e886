//! Which system calls an engine makes for a batch: as many as it must, counted in the kernel's own terms.

use crate::place::Place;
use crate::rig::{BLOCK, Rig, io, options};
use crate::sandbox::{Call, forbidding, watching};
use crate::works::is_left_out;
use engine::{Completion, Engine, EngineClock, Io, JobFacts, Operation, Submitted, Visitor, dispatch};
use measure::SystemClock;
use plan::option::Value;

const DEPTH: u32 = 16;
const BATCH: u32 = 8;

/// What a worker does after its I/Os are submitted.
#[derive(Clone, Copy)]
enum Step {
    Submit,
    Flush,
    Reap(u32, u32),
    ReapUntil(u32),
    FlushAndReap(u32, u32),
}

/// Carries out steps and returns what each of them counted.
struct Steps<'a> {
    place: &'a Place,
    values: &'a [(&'static str, Value)],
    steps: &'a [Step],
}

impl Visitor for Steps<'_> {
    type Out = Vec<u32>;

    fn visit<E: Engine>(self) -> Vec<u32> {
        let clock = E::Clock::for_worker(&SystemClock::start());
        let mut rig = Rig::<E>::open(&options(self.values), &self.place.targets(), DEPTH, clock).unwrap();
        let mut done: Vec<Completion> = Vec::with_capacity(DEPTH as usize);
        let mut counts = Vec::new();
        for step in self.steps {
            counts.push(match *step {
                Step::Submit => submit_batch(&mut rig),
                Step::Flush => rig.engine.flush().unwrap(),
                Step::Reap(min, max) => rig.engine.reap(min, max, &mut done).unwrap(),
                Step::ReapUntil(count) => reap_until(&mut rig, count, &mut done),
                Step::FlushAndReap(min, max) => {
                    let (taken, reaped) = rig.engine.flush_and_reap(min, max, &mut done).unwrap();
                    assert_eq!(taken, BATCH);
                    reaped
                }
            });
        }
        assert!(done.iter().all(|completion| completion.result == BLOCK as i64), "{done:?}");
        counts
    }
}

fn submit_batch<E: Engine>(rig: &mut Rig<E>) -> u32 {
    for slot in 0..BATCH {
        let offset = u64::from(slot) * BLOCK as u64;
        let io = Io { slot, ..io(Operation::Read, 0, offset, BLOCK) };
        assert_eq!(rig.engine.submit(io), Submitted::Queued);
    }
    BATCH
}

/// Polls without waiting until this number has come.
fn reap_until<E: Engine>(rig: &mut Rig<E>, count: u32, done: &mut Vec<Completion>) -> u32 {
    let mut reaped = 0;
    while reaped < count {
        reaped += rig.engine.reap(0, DEPTH, done).unwrap();
    }
    reaped
}

#[test]
fn libaio_submits_a_batch_in_one_call_and_reaps_it_in_one() {
    let place = Place::loop_device();
    let steps = [Step::Submit, Step::Flush, Step::Reap(8, 16), Step::Flush];
    let watched = [libc::SYS_io_submit, libc::SYS_io_getevents];
    let visitor = Steps { place: &place, values: &[], steps: &steps };
    let (counts, seen) = watching(&watched, || dispatch("libaio", visitor).unwrap());
    assert_eq!(counts, [8, 8, 8, 0]);
    let shape: Vec<_> = seen.iter().map(|call| (call.number, call.second, call.returned)).collect();
    assert_eq!(shape, [(libc::SYS_io_submit, 8, 8), (libc::SYS_io_getevents, 8, 8)]);
    assert_eq!(seen[1].third, 16, "room for the whole depth");
}

#[test]
fn libaio_reaps_between_min_and_max() {
    let place = Place::loop_device();
    let steps = [Step::Submit, Step::Flush, Step::Reap(3, 3), Step::Reap(2, 2), Step::Reap(9, 16)];
    let visitor = Steps { place: &place, values: &[], steps: &steps };
    let (counts, seen) = watching(&[libc::SYS_io_getevents], || dispatch("libaio", visitor).unwrap());
    assert_eq!(counts, [8, 8, 3, 2, 3]);
    let asked: Vec<_> = seen.iter().map(|call| (call.second, call.third, call.returned)).collect();
    assert_eq!(asked, [(3, 3, 3), (2, 2, 2), (3, 16, 3)], "never waits for more than is in flight");
}

#[test]
fn userspace_reap_needs_no_system_call() {
    let values = [("userspace_reap", Value::Flag(true))];
    let place = Place::loop_device();
    let steps = [Step::Submit, Step::Flush, Step::ReapUntil(8), Step::Reap(0, 16)];
    let visitor = Steps { place: &place, values: &values, steps: &steps };
    // A call would fail, and the engine with it.
    let counts = forbidding(&[(libc::SYS_io_getevents, libc::EPERM)], || dispatch("libaio", visitor).unwrap());
    assert_eq!(counts, [8, 8, 8, 0]);
}

#[test]
fn a_signal_ends_a_reap_early() {
    let place = Place::loop_device();
    let steps = [Step::Submit, Step::Flush, Step::Reap(8, 16)];
    let visitor = Steps { place: &place, values: &[], steps: &steps };
    let counts = forbidding(&[(libc::SYS_io_getevents, libc::EINTR)], || dispatch("libaio", visitor).unwrap());
    assert_eq!(counts, [8, 8, 0]);
}

#[test]
fn io_uring_submits_and_waits_in_one_call() {
    let place = Place::loop_device();
    let visitor = Steps { place: &place, values: &[], steps: &[Step::Submit, Step::FlushAndReap(8, 16)] };
    let (counts, seen) = watching(&[libc::SYS_io_uring_enter], || dispatch("io_uring", visitor).unwrap());
    assert_eq!(counts, [8, 8]);
    assert_eq!(seen, [Call { number: libc::SYS_io_uring_enter, second: 8, third: 8, returned: 8 }]);
}

#[test]
fn io_uring_submits_and_waits_for_a_time_in_one_call() {
    let place = Place::loop_device();
    let values = [("batch_wait", Value::Integer(10_000_000_000)), ("registerwaits", Value::Flag(true))];
    for values in [&values[..1], &values[..]] {
        let visitor = Steps { place: &place, values, steps: &[Step::Submit, Step::FlushAndReap(8, 16)] };
        let (counts, seen) = watching(&[libc::SYS_io_uring_enter], || dispatch("io_uring", visitor).unwrap());
        assert_eq!(counts, [8, 8]);
        assert_eq!(seen, [Call { number: libc::SYS_io_uring_enter, second: 8, third: 8, returned: 8 }]);
    }
}

#[test]
fn io_uring_that_polls_before_a_wait_does_not_wait() {
    let place = Place::loop_device();
    let steps = [Step::Submit, Step::Flush, Step::Reap(8, 16)];
    for taskrun in ["defer", "interrupt"] {
        let minute = ("busy_poll", Value::Integer(60_000_000_000));
        let values = [minute, ("taskrun", Value::Text(taskrun.to_owned()))];
        let visitor = Steps { place: &place, values: &values, steps: &steps };
        let (counts, seen) = watching(&[libc::SYS_io_uring_enter], || dispatch("io_uring", visitor).unwrap());
        assert_eq!(counts, [8, 8, 8]);
        assert!(seen.iter().all(|call| call.third == 0), "{taskrun}: {seen:?}");
    }
}

#[test]
fn io_uring_submits_a_batch_in_one_call_and_waits_in_one() {
    let place = Place::loop_device();
    let steps = [Step::Submit, Step::Flush, Step::Reap(8, 16), Step::Reap(0, 16)];
    let visitor = Steps { place: &place, values: &[], steps: &steps };
    let (counts, seen) = watching(&[libc::SYS_io_uring_enter], || dispatch("io_uring", visitor).unwrap());
    assert_eq!(counts, [8, 8, 8, 0]);
    assert_eq!(seen[0], Call { number: libc::SYS_io_uring_enter, second: 8, third: 0, returned: 8 });
    // What was done when the first call ended is in the ring already.
    assert!(seen.len() <= 2 && seen[1..].iter().all(|call| call.second == 0 && call.third <= 8), "{seen:?}");
}

#[test]
fn vsync_gathers_adjacent_blocks_into_one_call() {
    let place = Place::loop_device();
    let visitor = Steps { place: &place, values: &[], steps: &[Step::Submit, Step::Flush, Step::Reap(1, 16)] };
    let (counts, seen) = watching(&[libc::SYS_readv], || dispatch("vsync", visitor).unwrap());
    assert_eq!(counts, [8, 8, 8]);
    let shape: Vec<_> = seen.iter().map(|call| (call.third, call.returned)).collect();
    assert_eq!(shape, [(8, 8 * BLOCK as i64)]);
}

#[test]
fn no_engine_reaps_more_than_max() {
    let place = Place::memory();
    let steps = [Step::Submit, Step::Flush, Step::Reap(3, 3), Step::Reap(2, 2), Step::Reap(9, 16), Step::Reap(1, 1)];
    let engines = ["vsync", "posixaio", "libaio", "io_uring", "null", "sim"];
    for engine in engines.into_iter().filter(|engine| !is_left_out(engine)) {
        let counts = dispatch(engine, Steps { place: &place, values: &[], steps: &steps }).unwrap();
        assert_eq!(counts, [8, 8, 3, 2, 3, 0], "{engine}");
    }
}

/// Offers a sync and a trim while a write is queued, and again after a flush, in a job whose trims are alone.
struct Overtake<'a>(&'a Place);

impl Visitor for Overtake<'_> {
    type Out = [Submitted; 3];

    fn visit<E: Engine>(self) -> Self::Out {
        let clock = E::Clock::for_worker(&SystemClock::start());
        let facts = JobFacts { trims_alone: true, ..JobFacts::default() };
        let mut rig = Rig::<E>::of_job(facts, &options(&[]), &self.0.targets(), DEPTH, clock).unwrap();
        let at = |slot, operation, length| Io { slot, ..io(operation, 0, 0, length) };
        assert_eq!(rig.engine.submit(at(0, Operation::Write, BLOCK)), Submitted::Queued);
        let trim = rig.engine.submit(at(1, Operation::Trim, BLOCK));
        let sync = rig.engine.submit(at(2, Operation::Sync, 0));
        rig.engine.flush().unwrap();
        let after = rig.engine.submit(at(1, Operation::Trim, BLOCK));
        rig.engine.reap(1, DEPTH, &mut Vec::with_capacity(DEPTH as usize)).unwrap();
        [trim, sync, after]
    }
}

#[test]
fn plain_calls_do_not_overtake_what_is_queued() {
    let place = Place::loop_device();
    let trimmed = Submitted::Done(Completion { slot: 1, result: BLOCK as i64 });
    for (engine, sync) in [("vsync", Submitted::Full), ("libaio", Submitted::Full), ("io_uring", Submitted::Queued)] {
        let answers = dispatch(engine, Overtake(&place)).unwrap();
        assert_eq!(answers, [Submitted::Full, sync, trimmed], "{engine}");
    }
}

/// Offers vsync an I/O that does not continue the one before.
struct Apart<'a>(&'a Place);

impl Visitor for Apart<'_> {
    type Out = [Submitted; 4];

    fn visit<E: Engine>(self) -> Self::Out {
        let clock = E::Clock::for_worker(&SystemClock::start());
        let mut rig = Rig::<E>::open(&options(&[]), &self.0.targets(), DEPTH, clock).unwrap();
        let at = |slot, operation, block: usize| Io { slot, ..io(operation, 0, (block * BLOCK) as u64, BLOCK) };
        [
            rig.engine.submit(at(0, Operation::Read, 4)),
            rig.engine.submit(at(1, Operation::Read, 6)),
            rig.engine.submit(at(1, Operation::Write, 5)),
            rig.engine.submit(at(1, Operation::Read, 5)),
        ]
    }
}

#[test]
fn vsync_asks_for_a_flush_before_what_is_not_adjacent() {
    let place = Place::memory();
    let answers = dispatch("vsync", Apart(&place)).unwrap();
    assert_eq!(answers, [Submitted::Queued, Submitted::Full, Submitted::Full, Submitted::Queued]);
}
