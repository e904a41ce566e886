//! Nothing is allocated between open and drop.

use crate::place::Place;
use crate::rig::{BLOCK, Rig, io, options};
use crate::works::follows_the_script;
use engine::{Completion, ENGINES, Engine, EngineClock, Io, Operation, Submitted, Visitor, dispatch};
use measure::SystemClock;
use plan::EngineSpec;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counting the calls of each thread.
struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: the caller keeps GlobalAlloc's promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps GlobalAlloc's promises.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: the caller keeps GlobalAlloc's promises.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Counts allocations while many I/Os pass through an engine.
struct Busy<'a> {
    place: &'a Place,
    depth: u32,
}

impl Visitor for Busy<'_> {
    type Out = u64;

    fn visit<E: Engine>(self) -> u64 {
        let clock = E::Clock::for_worker(&SystemClock::start());
        let mut rig = Rig::<E>::open(&options(&[]), &self.place.targets(), self.depth, clock).unwrap();
        let mut done: Vec<Completion> = Vec::with_capacity(self.depth as usize);
        let mut idle: Vec<u32> = (0..self.depth).collect();
        let before = CALLS.get();
        let mut submitted = 0;
        while submitted < 500 {
            while let Some(slot) = idle.pop() {
                let operation = if submitted % 7 == 0 { Operation::Write } else { Operation::Read };
                let io = Io { slot, ..io(operation, 0, (submitted % 64 * BLOCK) as u64, BLOCK) };
                match rig.engine.submit(io) {
                    Submitted::Done(completion) => done.push(completion),
                    Submitted::Queued => {}
                    Submitted::Full => {
                        idle.push(slot);
                        break;
                    }
                }
                submitted += 1;
            }
            rig.engine.flush().unwrap();
            if done.is_empty() {
                rig.engine.reap(1, self.depth, &mut done).unwrap();
            }
            idle.extend(done.drain(..).map(|completion| completion.slot));
        }
        CALLS.get() - before
    }
}

#[test]
fn the_count_sees_an_allocation() {
    let before = CALLS.get();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(CALLS.get() - before, 1);
}

/// Whether an engine works on that place by itself, without another end, a device or a program; names are looked at
/// where they are plain files, and are not removed.
fn allocations_count(engine: &EngineSpec, place: &Place) -> bool {
    let on_names = ["filestat", "filecreate"].contains(&engine.name) && !place.block_device;
    on_names || follows_the_script(engine) || ["falloc", "ftruncate"].contains(&engine.name)
}

#[test]
fn no_engine_allocates_after_open() {
    for place in [Place::memory(), Place::loop_device()] {
        for engine in ENGINES.iter().filter(|engine| allocations_count(engine, &place)) {
            for depth in [1, 8] {
                let calls = dispatch(engine.name, Busy { place: &place, depth }).unwrap();
                assert_eq!(calls, 0, "{} at depth {depth} on {}", engine.name, place.name);
            }
        }
    }
}
