//! A reap that waits no longer than it is asked to: for I/Os that do not end, and for those that have.

use crate::place::Place;
use crate::rig::{BLOCK, Rig, io, options};
use crate::works::follows_the_script;
use engine::{Completion, Engine, EngineClock, Operation, Submitted, Target, Visitor, dispatch};
use measure::{Clock, Nanos, SystemClock};
use plan::option::Value;
use std::os::fd::AsRawFd;

const LONGEST: Nanos = Nanos::from_millis(30);

/// Reads a pipe that is empty, then one that is not.
struct Pipe;

impl Visitor for Pipe {
    type Out = ();

    fn visit<E: Engine>(self) {
        let (reader, writer) = std::io::pipe().unwrap();
        let target = Target {
            path: "pipe".into(),
            descriptor: Some(reader.as_raw_fd()),
            size: 1 << 20,
            block_device: false,
            writable: false,
            zone_size: None,
        };
        let system = SystemClock::start();
        let mut rig = Rig::<E>::open(&options(&[]), &[target], 4, E::Clock::for_worker(&system)).unwrap();
        // Closed before the ring, which waits for its read: it ends when a check fails.
        let mut writer = writer;
        let mut done: Vec<Completion> = Vec::new();
        let began = system.now();
        assert_eq!(rig.engine.reap_within(LONGEST, 4, &mut done).unwrap(), 0);
        assert!(system.now().saturating_sub(began) < LONGEST, "with nothing in flight nothing is waited for");
        assert_eq!(rig.engine.submit(io(Operation::Read, 0, 0, BLOCK)), Submitted::Queued);
        rig.engine.flush().unwrap();
        let began = system.now();
        assert_eq!(rig.engine.reap_within(LONGEST, 4, &mut done).unwrap(), 0);
        let waited = system.now().saturating_sub(began);
        assert!((LONGEST..Nanos::from_secs(10)).contains(&waited), "{waited:?}");
        std::io::Write::write_all(&mut writer, &[7; 100]).unwrap();
        let began = system.now();
        while rig.engine.reap_within(Nanos::from_secs(10), 4, &mut done).unwrap() == 0 {
            assert!(system.now().saturating_sub(began) < Nanos::from_secs(20));
        }
        assert_eq!((done[0].slot, done.len()), (0, 1));
        assert!(system.now().saturating_sub(began) < Nanos::from_secs(9), "it does not sleep beyond a completion");
    }
}

#[test]
fn a_ring_waits_for_a_pipe_as_long_as_asked() {
    dispatch("io_uring", Pipe).unwrap();
}

/// Reads a block that is there.
struct Block<'a>(&'a Place);

impl Visitor for Block<'_> {
    type Out = ();

    fn visit<E: Engine>(self) {
        let clock = E::Clock::for_worker(&SystemClock::start());
        let mut rig = Rig::<E>::open(&options(&[]), &self.0.targets(), 4, clock).unwrap();
        let mut done: Vec<Completion> = Vec::new();
        let Submitted::Queued = rig.engine.submit(io(Operation::Read, 0, 0, BLOCK)) else { return };
        rig.engine.flush().unwrap();
        while rig.engine.reap_within(Nanos::from_secs(5), 4, &mut done).unwrap() == 0 {}
        assert_eq!((done.len(), done[0].result), (1, BLOCK as i64));
    }
}

#[test]
fn every_engine_reaps_what_has_ended_before_the_time() {
    let place = Place::memory();
    for engine in engine::ENGINES.iter().filter(|engine| follows_the_script(engine)) {
        dispatch(engine.name, Block(&place)).unwrap();
    }
}

/// The simulated device in its own time.
struct Simulated;

impl Visitor for Simulated {
    type Out = ();

    fn visit<E: Engine>(self) {
        let clock = E::Clock::for_worker(&SystemClock::start());
        let values = [("sim_service_time", Value::Integer(100_000))];
        let mut rig = Rig::<E>::open(&options(&values), &[], 4, clock.clone()).unwrap();
        let mut done: Vec<Completion> = Vec::new();
        assert_eq!(rig.engine.submit(io(Operation::Read, 0, 0, BLOCK)), Submitted::Queued);
        rig.engine.flush().unwrap();
        assert_eq!(rig.engine.reap_within(Nanos::from_micros(60), 4, &mut done).unwrap(), 0);
        assert_eq!(clock.now(), Nanos::from_micros(60));
        assert_eq!(rig.engine.reap_within(Nanos::from_micros(60), 4, &mut done).unwrap(), 1);
        assert_eq!(clock.now(), Nanos::from_micros(100), "no later than its completion");
    }
}

#[test]
fn the_simulated_device_waits_in_virtual_time() {
    dispatch("sim", Simulated).unwrap();
}
