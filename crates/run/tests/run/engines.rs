//! Engines that do something else than plain reads and writes, through `execute`: which jobs end together, what is
//! counted.

use crate::support::{job, run_jobs, run_one};
use measure::{BytesPerSecond, Direction, Nanos, PerDirection};
use plan::option::Value;
use plan::{JobPlan, Mix};

fn with(mut job: JobPlan, values: &[(&'static str, Value)]) -> JobPlan {
    for (name, value) in values {
        job.engine_options.set(name, value.clone());
    }
    job
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// Reads nothing for about half a second.
fn half_a_second() -> JobPlan {
    let mut reader = job("reader", "null");
    reader.pace.rate = PerDirection::all(Some(BytesPerSecond(2 << 20)));
    reader
}

#[test]
fn a_job_without_io_ends_with_the_last_other_and_counts_none() {
    for mut company in [
        with(job("burner", "cpuio"), &[("cpuload", Value::Integer(20)), ("cpuchunks", Value::Integer(10_000_000))]),
        with(
            job("sleeper", "exec"),
            &[("program", text("/bin/sleep")), ("arguments", text("60")), ("std_redirect", Value::Flag(false))],
        ),
    ] {
        company.files.size = None;
        let began = std::time::Instant::now();
        let result = run_jobs(vec![company, half_a_second()]);
        assert!(began.elapsed().as_secs() < 20, "{}", result.jobs[0].echo.name);
        let company = &result.jobs[0];
        assert_eq!((&company.error, &result.jobs[1].error), (&None, &None));
        assert_eq!(company.directions.read.bytes, 0);
        assert!(company.directions.read.ios >= 3, "{}", company.directions.read.ios);
        assert_eq!(result.jobs[1].directions.read.bytes, 1 << 20);
    }
}

#[test]
fn a_job_without_io_keeps_its_own_runtime_by_default() {
    let with_runtime = |values: &[(&'static str, Value)]| {
        let mut burner = with(job("burner", "cpuio"), &[("cpuload", Value::Integer(10))]);
        burner.limits.runtime = Some(Nanos::from_millis(1200));
        run_jobs(vec![with(burner, values), half_a_second()]).jobs[0].runtime
    };
    assert!(with_runtime(&[]) >= Nanos::from_millis(1150));
    assert!(with_runtime(&[("exit_on_io_done", Value::Flag(true))]) < Nanos::from_millis(1150));
}

#[test]
fn calls_on_names_are_timed_once_and_all_blocks_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let mut stat = job("names", "filestat");
    stat.files.directories = vec![directory.path().to_owned()];
    stat.files.count = 4;
    let found = run_one(stat).directions.read;
    assert_eq!((found.bytes, found.ios), (1 << 20, 256));
    assert_eq!(found.completion.unwrap().moments.count(), 4);
    assert_eq!(found.total.unwrap().moments.count(), 0);
}

#[test]
fn both_ends_of_a_connection_moved_the_same_bytes() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let end = |name, mix, values: &[(&'static str, Value)]| {
        let mut end = with(job(name, "net"), &[("port", Value::Integer(i64::from(port)))]);
        end.load.mix = Mix::Only(mix);
        with(end, values)
    };
    let receiver = end("receiver", Direction::Read, &[("listen", Value::Flag(true))]);
    let sender = end("sender", Direction::Write, &[("hostname", text("127.0.0.1"))]);
    // In this order none could connect if the ends met before both are set up.
    let result = run_jobs(vec![sender, receiver]);
    assert_eq!((&result.jobs[0].error, &result.jobs[1].error), (&None, &None));
    assert_eq!(result.jobs[0].directions.write.bytes, 1 << 20);
    assert_eq!(result.jobs[1].directions.read.bytes, 1 << 20);
    assert_eq!(result.jobs[1].directions.read.short_ios, 0);
}

#[test]
fn latencies_by_priority_sum_to_those_of_all() {
    let directory = tempfile::tempdir().unwrap();
    for (engine, depth) in [("libaio", 1), ("io_uring", 8)] {
        let mut raised = job("raised", engine);
        raised.files.directories = vec![directory.path().to_owned()];
        crate::support::depth(&mut raised, depth);
        let raised =
            with(raised, &[("cmdprio_percentage", text("40")), ("cmdprio_class", text("2")), ("cmdprio", text("5"))]);
        let found = run_one(raised).directions.read;
        let [own, higher] = found.priorities.as_slice() else { panic!("{engine}: {:?}", found.priorities.len()) };
        assert_eq!([(own.class, own.level), (higher.class, higher.level)], [(0, 0), (2, 5)], "{engine}");
        let counts = [own, higher].map(|priority| priority.latency.moments.count());
        assert_eq!(counts.iter().sum::<u64>(), 256, "{engine}");
        assert!((60..=145).contains(&counts[1]), "{engine}: {counts:?}");
        let all = found.completion.unwrap().moments;
        let longest = [own, higher].iter().filter_map(|priority| priority.latency.moments.maximum()).max();
        assert_eq!(longest, all.maximum(), "{engine}");
    }
}

#[test]
fn the_cpu_of_the_kernels_polling_thread_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let mut polled = with(job("polled", "io_uring"), &[("sqthread_poll", Value::Flag(true))]);
    polled.files.directories = vec![directory.path().to_owned()];
    crate::support::depth(&mut polled, 4);
    let result = run_jobs(vec![polled]);
    let notes = &result.environment.engine_notes;
    assert!(notes.iter().any(|note| note.contains("ms of CPU in the kernel's polling thread")), "{notes:?}");
}
