//! What a ring can be asked for beyond reads and writes: that it does what the option says where the kernel has it,
//! that the note says so, and that an older kernel is an error by name.

use crate::place::Place;
use crate::rig::{BLOCK, Rig, io, options};
use crate::sandbox::{Lacks, forbidding, on_older_kernel};
use engine::{Completion, Engine, EngineClock, EngineError, Io, Operation, Submitted, Target, Visitor, dispatch};
use measure::{Clock, Nanos, SystemClock};
use plan::option::Value;
use std::io::Write as _;
use std::os::fd::AsRawFd;

/// Constants of linux/io_uring.h.
const DEFER_TASKRUN: u32 = 1 << 13;
const COOP_TASKRUN: u32 = 1 << 8;
const NO_SQARRAY: u32 = 1 << 16;
const HYBRID_IOPOLL: u32 = 1 << 17;
const MIN_TIMEOUT: u32 = 1 << 15;
const MEM_REGION: i64 = 34;
const RING_FDS: i64 = 20;

type Values<'a> = &'a [(&'static str, Value)];

/// Opens a ring, has it read, and returns its note.
struct Note<'a>(&'a Place, Values<'a>);

impl Visitor for Note<'_> {
    type Out = Result<String, EngineError>;

    fn visit<E: Engine>(self) -> Self::Out {
        let clock = E::Clock::for_worker(&SystemClock::start());
        let mut rig = Rig::<E>::open(&options(self.1), &self.0.targets(), 4, clock)?;
        assert_eq!(rig.results(&[io(Operation::Read, 0, 0, BLOCK); 9]), [BLOCK as i64; 9]);
        Ok(rig.engine.note().unwrap_or_default())
    }
}

fn note(values: Values<'_>) -> Result<String, EngineError> {
    dispatch("io_uring", Note(&Place::memory(), values)).unwrap()
}

fn word(text: &str) -> Value {
    Value::Text(text.to_owned())
}

const ON: Value = Value::Flag(true);

#[test]
fn the_note_says_what_was_asked_for_and_got() {
    let wait = || Value::Integer(50_000);
    for (values, expected) in [
        (vec![("batch_wait", wait())], ", waits 50 us for a batch"),
        (vec![("registerwaits", ON)], ", registered waits"),
        (vec![("busy_poll", wait())], ", polls for 50000 ns before a wait"),
        (vec![("submit_and_wait", ON)], ", submits and waits in one call"),
        (vec![], ", registered ring"),
        (vec![("taskrun", word("latest"))], "io_uring: SINGLE_ISSUER|DEFER_TASKRUN|NO_SQARRAY|SUBMIT_ALL"),
        (vec![("taskrun", word("defer"))], "io_uring: SINGLE_ISSUER|DEFER_TASKRUN|NO_SQARRAY|SUBMIT_ALL"),
        (vec![("taskrun", word("coop"))], "io_uring: SINGLE_ISSUER|COOP_TASKRUN|NO_SQARRAY|SUBMIT_ALL"),
        (vec![("taskrun", word("interrupt"))], "io_uring: SINGLE_ISSUER|NO_SQARRAY|SUBMIT_ALL"),
    ] {
        let note = note(&values).unwrap();
        assert!(note.contains(expected), "{values:?}: {note}");
    }
    let plain = note(&[("registerring", Value::Flag(false))]).unwrap();
    for absent in ["registered ring", "registered waits", "one call", "polls", "for a batch"] {
        assert!(!plain.contains(absent), "{absent}: {plain}");
    }
}

#[test]
fn an_older_kernel_without_what_was_asked_for_is_an_error() {
    let too_old = |lacks: Lacks, values: Values<'_>, expected: &str| {
        let error = on_older_kernel(lacks, || note(values)).unwrap_err();
        assert_eq!(error.errno, libc::EINVAL, "{error}");
        assert!(error.message.ends_with(expected), "{error}");
    };
    let (setup, features) =
        (|setup_flags| Lacks { setup_flags, ..Lacks::default() }, Lacks { features: MIN_TIMEOUT, ..Lacks::default() });
    too_old(features, &[("batch_wait", Value::Integer(1000))], "batch_wait needs Linux 6.12");
    let registrations = Lacks { registrations: &[MEM_REGION], ..Lacks::default() };
    too_old(registrations, &[("registerwaits", ON)], "registerwaits needs Linux 6.13");
    too_old(setup(HYBRID_IOPOLL), &[("hipri", ON), ("hipri_hybrid", ON)], "hipri_hybrid needs Linux 6.13");
    too_old(setup(DEFER_TASKRUN), &[("taskrun", word("defer"))], "taskrun=defer needs Linux 6.1");
    too_old(setup(COOP_TASKRUN), &[("taskrun", word("coop"))], "taskrun=coop needs Linux 5.19");
}

#[test]
fn an_older_kernel_gives_what_it_has() {
    let lacks = |setup_flags| Lacks { setup_flags, features: MIN_TIMEOUT, registrations: &[MEM_REGION, RING_FDS] };
    for (setup_flags, expected) in [
        (0, "io_uring: SINGLE_ISSUER|DEFER_TASKRUN|NO_SQARRAY|SUBMIT_ALL"),
        (NO_SQARRAY, "io_uring: SINGLE_ISSUER|DEFER_TASKRUN|SUBMIT_ALL"),
        (NO_SQARRAY | DEFER_TASKRUN, "io_uring: SINGLE_ISSUER|COOP_TASKRUN|SUBMIT_ALL"),
        (NO_SQARRAY | DEFER_TASKRUN | COOP_TASKRUN, "io_uring: SINGLE_ISSUER|SUBMIT_ALL"),
    ] {
        assert_eq!(on_older_kernel(lacks(setup_flags), || note(&[])).unwrap(), expected);
    }
}

#[test]
fn polling_may_sleep_first_where_a_device_can_be_polled() {
    struct Refused<'a>(&'a Place);
    impl Visitor for Refused<'_> {
        type Out = (i64, String);
        fn visit<E: Engine>(self) -> Self::Out {
            let clock = E::Clock::for_worker(&SystemClock::start());
            let values = options(&[("hipri", ON), ("hipri_hybrid", ON), ("registerwaits", ON)]);
            let mut rig = Rig::<E>::open(&values, &self.0.targets(), 2, clock).unwrap();
            (rig.results(&[io(Operation::Read, 0, 0, BLOCK)])[0], rig.engine.note().unwrap())
        }
    }
    // The ring is there; a loop device has no queue for polling.
    let (result, note) = dispatch("io_uring", Refused(&Place::loop_device())).unwrap();
    assert_eq!(result, -i64::from(libc::EOPNOTSUPP));
    assert!(note.starts_with("io_uring: IOPOLL|HYBRID_IOPOLL|") && note.ends_with("registered waits"), "{note}");
}

#[test]
fn what_changes_a_ring_is_named_where_libaio_stands_in() {
    let forbidden = [(libc::SYS_io_uring_setup, libc::EPERM)];
    let values = [("submit_and_wait", ON), ("registerwaits", ON)];
    let found = forbidding(&forbidden, || note(&values)).unwrap();
    assert!(found.ends_with("without effect: submit_and_wait, registerwaits"), "{found}");
    for option in ["batch_wait", "busy_poll"] {
        let error = forbidding(&forbidden, || note(&[(option, Value::Integer(1000))])).unwrap_err();
        assert!(error.message.ends_with(&format!("nothing can stand in for {option}")), "{error}");
    }
}

/// Reads two pipes with a time for a batch of 200 ms, within which a busy machine completes what is there.
struct Pipes<'a>(Values<'a>);

const LONGEST: Nanos = Nanos::from_millis(200);
/// No step takes as long unless a wait has no end.
const NO_END: Nanos = Nanos::from_secs(20);

impl Visitor for Pipes<'_> {
    type Out = ();

    fn visit<E: Engine>(self) {
        let [(reader, writer), (other_reader, other_writer)] = std::array::from_fn(|_| std::io::pipe().unwrap());
        let targets = [&reader, &other_reader].map(|reader| Target {
            path: "pipe".into(),
            descriptor: Some(reader.as_raw_fd()),
            size: 1 << 20,
            block_device: false,
            writable: false,
            zone_size: None,
        });
        let clock = SystemClock::start();
        let mut values = self.0.to_vec();
        values.push(("batch_wait", Value::Integer(i64::try_from(LONGEST.get()).unwrap())));
        let mut rig = Rig::<E>::open(&options(&values), &targets, 4, E::Clock::for_worker(&clock)).unwrap();
        // Closed before the ring, which waits for its reads: they end when a check fails.
        let writers = [writer, other_writer];
        let mut done: Vec<Completion> = Vec::new();
        let read = |rig: &mut Rig<E>, slot: u32| {
            let io = Io { slot, ..io(Operation::Read, slot, 0, BLOCK) };
            assert_eq!(rig.engine.submit(io), Submitted::Queued);
        };
        let fill = |pipe: usize| (&writers[pipe]).write_all(&[7; 100]).unwrap();

        // One of two has come: it is returned when the time is over, by the call that submits and by one that only
        // waits.
        fill(0);
        read(&mut rig, 0);
        read(&mut rig, 1);
        let began = clock.now();
        assert_eq!(rig.engine.flush_and_reap(2, 4, &mut done).unwrap(), (2, 1));
        let waited = clock.now().saturating_sub(began);
        assert!((LONGEST..NO_END).contains(&waited), "{waited:?}");
        fill(0);
        read(&mut rig, 0);
        rig.engine.flush().unwrap();
        let began = clock.now();
        assert_eq!(rig.engine.reap(2, 4, &mut done).unwrap(), 1);
        let waited = clock.now().saturating_sub(began);
        assert!((LONGEST..NO_END).contains(&waited), "{waited:?}");

        // None has come when the time is over: the first one is waited for, and returned alone.
        read(&mut rig, 0);
        rig.engine.flush().unwrap();
        let late = Nanos::from_millis(300);
        std::thread::scope(|scope| {
            let began = clock.now();
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_nanos(late.get()));
                fill(1);
            });
            assert_eq!(rig.engine.reap(2, 4, &mut done).unwrap(), 1);
            assert!((late..NO_END).contains(&clock.now().saturating_sub(began)));
        });
        assert_eq!(done.iter().map(|completion| completion.slot).collect::<Vec<_>>(), [0, 0, 1]);

        // All have come: nothing is waited for. A round may be held up by what else the machine does, but not all.
        let is_at_once = (0..20).any(|_| {
            fill(0);
            fill(1);
            read(&mut rig, 1);
            let began = clock.now();
            let (_, mut taken) = rig.engine.flush_and_reap(2, 4, &mut done).unwrap();
            if taken == 2 && clock.now().saturating_sub(began) < LONGEST {
                return true;
            }
            while taken < 2 {
                taken += rig.engine.reap(1, 4, &mut done).unwrap();
            }
            read(&mut rig, 0);
            rig.engine.flush().unwrap();
            false
        });
        assert!(is_at_once, "it waits although all have come");
    }
}

#[test]
fn a_batch_is_waited_for_until_its_time_then_one_is_enough() {
    for values in [&[][..], &[("registerwaits", ON)], &[("taskrun", word("coop"))], &[("sqthread_poll", ON)]] {
        dispatch("io_uring", Pipes(values)).unwrap();
    }
}

#[test]
fn a_submission_that_goes_on_to_wait_has_no_seen_end() {
    struct Sees<'a>(&'a Place, Values<'a>);
    impl Visitor for Sees<'_> {
        type Out = bool;
        fn visit<E: Engine>(self) -> bool {
            let clock = E::Clock::for_worker(&SystemClock::start());
            Rig::<E>::open(&options(self.1), &self.0.targets(), 2, clock).unwrap().engine.sees_submission()
        }
    }
    let place = Place::memory();
    assert!(dispatch("io_uring", Sees(&place, &[])).unwrap());
    assert!(!dispatch("io_uring", Sees(&place, &[("submit_and_wait", ON)])).unwrap());
}
