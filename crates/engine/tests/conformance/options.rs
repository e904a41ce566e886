//! What an engine's own options change, and that they do.

use crate::place::Place;
use crate::rig::{BLOCK, Rig, io, options};
use crate::script::{self, WHOLE};
use engine::{Engine, EngineClock, EngineError, Operation, Visitor, dispatch};
use measure::SystemClock;
use plan::option::Value;

#[test]
fn options_change_the_way_and_not_the_result() {
    let on = Value::Flag(true);
    let variants: &[(&str, &[(&str, Value)])] = &[
        ("libaio", &[("userspace_reap", on.clone())]),
        ("libaio", &[("libaio_vectored", on.clone())]),
        ("io_uring", &[("fixedbufs", on.clone()), ("registerfiles", on.clone())]),
        ("io_uring", &[("nonvectored", Value::Integer(0))]),
        ("io_uring", &[("force_async", Value::Integer(2))]),
        ("io_uring", &[("sqthread_poll", on.clone())]),
        ("io_uring", &[("submit_and_wait", on.clone())]),
        ("io_uring", &[("busy_poll", Value::Integer(5_000)), ("batch_wait", Value::Integer(20_000))]),
        ("io_uring", &[("batch_wait", Value::Integer(20_000)), ("submit_and_wait", on.clone())]),
        ("io_uring", &[("batch_wait", Value::Integer(20_000)), ("registerwaits", on.clone())]),
        ("io_uring", &[("registerring", Value::Flag(false)), ("taskrun", Value::Text("defer".into()))]),
        ("io_uring", &[("taskrun", Value::Text("coop".into()))]),
        ("io_uring", &[("taskrun", Value::Text("interrupt".into())), ("registerwaits", on.clone())]),
        (
            "io_uring",
            &[("sqthread_poll", on.clone()), ("registerwaits", on.clone()), ("batch_wait", Value::Integer(20_000))],
        ),
        ("io_uring", &[("sqthread_poll", on.clone()), ("sqthread_poll_cpu", Value::Integer(0)), ("fixedbufs", on)]),
    ];
    for place in [Place::memory(), Place::loop_device()] {
        for (name, values) in variants {
            script::check(&place, name, values);
        }
    }
}

/// One read with options; its result and the engine's note.
struct Read<'a> {
    place: &'a Place,
    values: &'a [(&'static str, Value)],
}

impl Visitor for Read<'_> {
    type Out = Result<(i64, String), EngineError>;

    fn visit<E: Engine>(self) -> Self::Out {
        let clock = E::Clock::for_worker(&SystemClock::start());
        let mut rig = Rig::<E>::open(&options(self.values), &self.place.targets(), 2, clock)?;
        let results = rig.results(&[io(Operation::Read, 0, 0, BLOCK)]);
        Ok((results[0], rig.engine.note().unwrap_or_default()))
    }
}

fn read(place: &Place, engine: &str, values: &[(&'static str, Value)]) -> (i64, String) {
    dispatch(engine, Read { place, values }).unwrap().unwrap()
}

#[test]
fn nowait_and_uncached_reach_the_kernel() {
    // tmpfs refuses both flags by name.
    let place = Place::memory();
    let refused = -i64::from(libc::EOPNOTSUPP);
    for (engine, option) in [
        ("pvsync2", "nowait"),
        ("libaio", "nowait"),
        ("io_uring", "nowait"),
        ("pvsync2", "uncached"),
        ("io_uring", "uncached"),
    ] {
        let (on, off) = (Value::Flag(true), Value::Flag(false));
        assert_eq!(read(&place, engine, &[(option, on)]).0, refused, "{engine} {option}=1");
        assert_eq!(read(&place, engine, &[(option, off)]).0, WHOLE, "{engine} {option}=0");
    }
}

/// How many workers of the kernel serve this process's rings after this number of reads.
struct Workers<'a>(&'a Place, i64);

impl Visitor for Workers<'_> {
    type Out = usize;

    fn visit<E: Engine>(self) -> usize {
        let clock = E::Clock::for_worker(&SystemClock::start());
        let options = options(&[("force_async", Value::Integer(self.1))]);
        let mut rig = Rig::<E>::open(&options, &self.0.targets(), 1, clock).unwrap();
        assert_eq!(rig.results(&[io(Operation::Read, 0, 0, BLOCK); 4]), [WHOLE; 4]);
        let threads = std::fs::read_dir("/proc/self/task").unwrap();
        let names =
            threads.map(|thread| std::fs::read_to_string(thread.unwrap().path().join("comm")).unwrap_or_default());
        names.filter(|name| name.starts_with("iou-wrk-")).count()
    }
}

/// Set for the process that runs one test alone.
const ALONE: &str = "ENGINE_TEST_ALONE";

/// A worker's name has a number that the process cannot know of itself in a PID namespace, so all workers are counted,
/// in a process that runs this test alone.
#[test]
fn force_async_hands_every_nth_io_to_a_kernel_worker() {
    if std::env::var_os(ALONE).is_none() {
        let name = "options::force_async_hands_every_nth_io_to_a_kernel_worker";
        let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
        let output = alone.args([name, "--exact"]).env(ALONE, "1").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        return assert!(output.status.success() && text.contains("1 passed"), "{text}");
    }
    let place = Place::loop_device();
    let workers = |every| dispatch("io_uring", Workers(&place, every)).unwrap();
    assert_eq!(workers(0), 0);
    assert_eq!(workers(5), 0, "only four I/Os");
    assert!(workers(4) > 0);
}

#[test]
fn hipri_polls_the_device_and_a_loop_device_cannot_be_polled() {
    let place = Place::loop_device();
    let (result, note) = read(&place, "io_uring", &[("hipri", Value::Flag(true))]);
    assert_eq!(result, -i64::from(libc::EOPNOTSUPP));
    assert!(note.starts_with("io_uring: IOPOLL|"), "{note}");
}

#[test]
fn hipri_percentage_of_0_polls_nothing_and_reads_as_ever() {
    let place = Place::loop_device();
    for percent in [0, 50, 100] {
        let values = [("hipri", Value::Flag(true)), ("hipri_percentage", Value::Integer(percent))];
        let whole_or_refused = [WHOLE, -i64::from(libc::EOPNOTSUPP)];
        let result = read(&place, "pvsync2", &values).0;
        assert!(whole_or_refused.contains(&result) && (percent > 0 || result == WHOLE), "{percent} %: {result}");
    }
}

#[test]
fn a_cpu_for_a_polling_thread_that_is_not_there_is_noted() {
    let (result, note) = read(&Place::memory(), "io_uring", &[("sqthread_poll_cpu", Value::Integer(0))]);
    assert_eq!(result, WHOLE);
    assert!(note.contains("sqthread_poll_cpu idle") && !note.contains("SQ_AFF"), "{note}");
}

#[test]
fn a_cpu_that_does_not_exist_is_an_error_that_says_so() {
    let values = [("sqthread_poll", Value::Flag(true)), ("sqthread_poll_cpu", Value::Integer(1 << 20))];
    let place = Place::memory();
    let error = dispatch("io_uring", Read { place: &place, values: &values }).unwrap().unwrap_err();
    assert_eq!((error.operation, error.errno), ("io_uring_setup", libc::EINVAL));
}

#[test]
fn a_wrong_fault_plan_is_an_error_of_the_options() {
    let values = [("sim_faults", Value::Text("read:often:error=EIO".into()))];
    let place = Place::memory();
    let error = dispatch("sim", Read { place: &place, values: &values }).unwrap().unwrap_err();
    assert_eq!(error.operation, "options");
    assert!(error.to_string().contains("read:often:error=EIO"), "{error}");
}

#[test]
fn a_wrong_noise_is_an_error_of_the_options() {
    for (values, expected) in [
        (vec![("sim_noise", Value::Floats(vec![0.1, 1.5]))], "sim_noise: a correlation of 1.5"),
        (vec![("sim_sigma", Value::Floats(vec![0.5]))], "add sim_distribution=lognormal"),
    ] {
        let place = Place::memory();
        let error = dispatch("sim", Read { place: &place, values: &values }).unwrap().unwrap_err();
        assert!(error.operation == "options" && error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn names_of_options_are_one_word_and_their_help_is_one_line() {
    for engine in engine::ENGINES {
        for option in engine.options {
            assert!(option.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'));
            assert!(
                !option.help.is_empty() && !option.help.contains('\n') && !option.help.ends_with('.'),
                "{}",
                option.name
            );
        }
    }
}
