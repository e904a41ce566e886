//! Where the kernel or a sandbox forbids asynchronous I/O.

use crate::place::Place;
use crate::rig::{BLOCK, Rig, io, options};
use crate::sandbox::forbidding;
use engine::{Engine, EngineClock, EngineError, Operation, Visitor, dispatch};
use libc::{SYS_io_setup, SYS_io_uring_setup, c_long};
use measure::SystemClock;
use plan::option::Value;

/// Opens an engine, has it read, and returns its note.
struct Read<'a> {
    place: &'a Place,
    values: &'a [(&'static str, Value)],
}

impl Visitor for Read<'_> {
    type Out = Result<String, EngineError>;

    fn visit<E: Engine>(self) -> Self::Out {
        let clock = E::Clock::for_worker(&SystemClock::start());
        let mut rig = Rig::<E>::open(&options(self.values), &self.place.targets(), 4, clock)?;
        let reads = [io(Operation::Read, 0, 0, BLOCK); 9];
        assert_eq!(rig.results(&reads), [BLOCK as i64; 9]);
        Ok(rig.engine.note().unwrap_or_default())
    }
}

fn check(engine: &str, forbidden: &[(c_long, i32)], values: &[(&'static str, Value)]) -> Result<String, EngineError> {
    let place = Place::memory();
    forbidding(forbidden, || dispatch(engine, Read { place: &place, values }).unwrap())
}

#[test]
fn the_note_names_the_flags_of_the_ring() {
    let note = check("io_uring", &[], &[("fixedbufs", Value::Flag(true))]).unwrap();
    assert!(note.starts_with("io_uring: ") && note.contains("registered buffers"), "{note}");
}

#[test]
fn a_forbidden_ring_is_stood_in_for_by_libaio_and_says_so() {
    for errno in [libc::EPERM, libc::ENOSYS] {
        let note = check("io_uring", &[(SYS_io_uring_setup, errno)], &[("fixedbufs", Value::Flag(true))]).unwrap();
        assert!(note.starts_with("io_uring is forbidden here ("), "{note}");
        assert!(note.contains("using libaio's path instead") && note.ends_with("without effect: fixedbufs"), "{note}");
    }
}

#[test]
fn where_libaio_is_forbidden_too_psync_stands_in() {
    let forbidden = [(SYS_io_uring_setup, libc::EPERM), (SYS_io_setup, libc::ENOSYS)];
    let note = check("io_uring", &forbidden, &[]).unwrap();
    assert!(note.contains("using psync's path instead"), "{note}");
}

#[test]
fn nothing_stands_in_for_what_only_a_ring_can_do() {
    for option in ["hipri", "sqthread_poll"] {
        let error =
            check("io_uring", &[(SYS_io_uring_setup, libc::EPERM)], &[(option, Value::Flag(true))]).unwrap_err();
        assert_eq!((error.operation, error.errno), ("io_uring_setup", libc::EPERM));
        assert!(error.message.contains(option), "{error}");
    }
}

#[test]
fn a_forbidden_libaio_is_an_error_that_says_what_would_work() {
    let error = check("libaio", &[(SYS_io_setup, libc::ENOSYS)], &[]).unwrap_err();
    assert_eq!((error.operation, error.errno), ("io_setup", libc::ENOSYS));
    assert!(error.message.contains("ioengine=psync"), "{error}");
    let error = check("libaio", &[(SYS_io_setup, libc::EAGAIN)], &[]).unwrap_err();
    assert!(error.message.contains("fs.aio-max-nr"), "{error}");
}
