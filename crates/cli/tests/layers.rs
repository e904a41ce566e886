//! `--layers`: where the time of the I/Os of plumb's own runs goes.

use crate::context::{place, plumb};
use house::{Group, LoopDevice, Place, Run};
use model::{Limiter, RunResult};
use serde_json::Value;

/// The group of a direction.
fn group<'a>(layers: &'a Value, direction: &str) -> &'a Value {
    let mut groups = layers["groups"].as_array().unwrap().iter();
    groups.find(|group| group["direction"] == direction).unwrap_or_else(|| panic!("no {direction}: {layers:#}"))
}

/// The largest part of a sum besides waiting for a processor, which is up to what else runs.
fn largest(sum: &Value) -> &str {
    let parts = sum.as_object().unwrap().iter().filter(|(name, _)| *name != "waking up");
    parts.max_by_key(|(_, time)| time.as_u64()).unwrap().0
}

/// Two jobs of psync with `--layers` on a device. Its reads are so long that the events cost little of their time.
fn with_layers(device: &LoopDevice) -> String {
    let job = "fio --layers --name=a --numjobs=2 --ioengine=psync --rw=randread --bs=1m --size=256m --number_ios=200";
    format!("{job} --group_reporting --direct=1 --filename={}", device.path().display())
}

#[test]
fn layers_of_a_run_are_the_ios_of_its_jobs() {
    let place = place();
    let device = LoopDevice::direct(place.path(), 256 << 20).unwrap();
    let run = format!("{} --output-format=json --output=fio.json --result=run.json", with_layers(&device));
    plumb(&place, &run).succeeds();
    let report = place.json("fio.json");
    let (layers, job) = (&report["plumb"]["layers"], &report["jobs"][0]["read"]);
    let reads = group(layers, "read");
    let counted = (&reads["count"], &layers["ios"], &reads["bytes"]);
    assert_eq!(counted, (&400.into(), &job["total_ios"], &job["io_bytes"]), "{layers:#}");
    let time = |value: &Value| value.as_f64().unwrap();
    let parts: f64 = reads["parts_ns"].as_object().unwrap().values().map(time).sum();
    let sum = time(&job["clat_ns"]["mean"]) * 400.0;
    // A job that loses its processor after the call has the pause in its time.
    assert!(parts < 1.02 * sum, "{parts} ns of {sum} ns that the jobs measured: {layers:#}");
    let medians = time(&reads["time_ns"]["p50"]) / time(&job["clat_ns"]["percentile"]["50.000000"]);
    assert!((0.9..1.05).contains(&medians), "{medians} of the median that the jobs measured: {layers:#}");
    assert_eq!(largest(&reads["middle"]["parts_ns"]), "device", "{layers:#}");
    assert_eq!(&place.json("run.json")["result"]["layers"], layers, "one form");
    let again = formats::native::read(&place.read("run.json")).unwrap().layers;
    assert_eq!(&serde_json::to_value(again).unwrap(), layers, "read again");
    let text = plumb(&place, with_layers(&device)).succeeds().stdout;
    assert!(text.contains("\nTime of the I/Os by part:\ndoes   400 reads of 1 MiB, "), "{text}");
}

#[test]
fn layers_that_cannot_be_seen_are_refused_by_name() {
    let place = place();
    for (words, why) in [
        ("--ioengine=mmap", "--layers: job `a`: ioengine=mmap copies from and to mapped files, without calls"),
        ("--ioengine=null", "ioengine=null does no I/O"),
    ] {
        let run = format!("fio --layers {words} --name=a --rw=read --size=64k");
        plumb(&place, &run).fails().complains(why);
    }
    place.write("a.fio", "[a]\nrw=read\nsize=64k\n");
    let of_client = plumb(&place, "fio --layers --client=localhost a.fio").fails();
    of_client.complains("--layers has no meaning with --client");
    for (words, why) in [
        ("cluster --local 1 fio --layers --name=a --rw=read --size=64k", "--layers"),
        ("cluster --local 1 survey --layers --quick .", "--layers is not for members: it records one machine"),
        ("cluster --local 1 knee --layers .", "--layers is not for members: it records one machine"),
        ("knee --layers --iozone -i 0", "cannot be used with"),
        ("survey --layers --engine null --size 16M .", "--layers: job `random_read`: ioengine=null does no I/O"),
        ("capacity --layers --engine sim --size 16M --slo p99<1s .", "--layers: job `alone`: ioengine=sim"),
    ] {
        plumb(&place, words).fails().complains(why);
    }
    assert_eq!(place.names(), ["a.fio"], "refused before anything is written");
}

/// The results of the tests of a survey, each with its I/Os and those that were recorded.
fn recorded_tests(place: &Place, name: &str) -> Vec<(u64, u64, Value)> {
    let tests = place.json(name)["tests"].as_array().unwrap().clone();
    let of = |test: &Value| {
        let result = formats::native::of_value(&test["result"]).unwrap();
        let ios = result.jobs.iter().map(|job| job.ios()).sum();
        (ios, result.layers.unwrap().ios, test["result"]["layers"].clone())
    };
    tests.iter().map(of).collect()
}

#[test]
fn tests_of_survey_and_knee_have_the_parts_of_their_ios() {
    let place = place();
    let usual = "--layers --tests randread --time 1s --size 16M --no-report --no-store";
    for (words, tests) in [("survey --users 1,2 --warm-up 0 -o s.json", 2), ("knee --users 1,2,4 -o s.json", 3)] {
        let text = plumb(&place, format!("{words} {usual} .")).succeeds().stdout;
        let found = recorded_tests(&place, "s.json");
        assert!(found.len() >= tests - 1, "{text}");
        for (ios, recorded, layers) in &found {
            let share = *recorded as f64 / *ios as f64;
            // A busy machine begins workers one after another: I/Os before all are there are recorded, and not counted.
            assert!((0.95..1.1).contains(&share), "{recorded} of {ios} I/Os: {layers:#}");
            assert_eq!(group(layers, "read")["frequent_bytes"], 8192, "{layers:#}");
            assert!(largest(&group(layers, "read")["middle"]["parts_ns"]) != "cache", "direct: {layers:#}");
        }
        let lines = text.lines().skip_while(|line| *line != "Largest part of the time of usual I/Os:");
        let lines: Vec<&str> = lines.skip(1).take(found.len()).collect();
        for (line, users) in lines.iter().zip(["1 user", "2 users", "4 users"]) {
            assert!(
                line.starts_with(&format!("8k rand read, {users}: ")) && line.contains(" %; the slowest 1 of 100: "),
                "{text}"
            );
        }
        plumb(&place, "report s.json -o s.html").succeeds();
        let page = place.read("s.html");
        assert!(page.contains("random read 8 KiB · where the time goes") && page.contains("2 users: "), "{words}");
        std::fs::remove_file(place.path().join("s.json")).unwrap();
    }
}

#[test]
fn trials_of_a_capacity_have_the_parts_of_their_ios() {
    let place = place();
    let words = "capacity --layers --slo p99<10s --from 200 --to 400 --confirm 0 --time 30s --size 16M --no-report \
                 --no-store -o c.json .";
    let text = plumb(&place, words).succeeds().stdout;
    assert!(text.contains("usually in") && text.contains("slowest 1 % in"), "{text}");
    let document = place.json("c.json");
    let trials = document["trials"].as_array().unwrap();
    assert!(trials.len() >= 2, "{document:#}");
    for trial in trials {
        let (layers, done) = (&trial["layers"], trial["done"].as_f64().unwrap());
        // The first fifth of a trial is not counted, and not recorded.
        let expected = done * 0.8 * trial["seconds"].as_f64().unwrap();
        let recorded = layers["ios"].as_f64().unwrap();
        assert!((0.9..1.1).contains(&(recorded / expected)), "{recorded} of {expected} I/Os: {trial:#}");
    }
}

/// The result of a job with `--layers`, in this group or on this processor.
fn result_of(place: &Place, words: &str, around: impl Fn(Run) -> Run) -> RunResult {
    let job = "fio --layers --name=a --ioengine=psync --time_based --runtime=2 --result=run.json --output=fio.txt";
    around(plumb(place, format!("{job} {words}"))).exits(0);
    formats::native::read(&place.read("run.json")).unwrap()
}

/// The sentence of the limit, which is this one, and those of a check.
fn said(result: &RunResult, limiter: Limiter, check: &str) -> (String, Vec<String>) {
    let limit = result.limited_by.clone().unwrap_or_else(|| panic!("{limiter:?}: {:#?}", result.layers));
    assert_eq!(limit.limiter, limiter, "{limit:?} {:#?}", result.layers);
    let notes = result.notes.iter().filter(|note| note.check == check);
    (limit.sentence, notes.map(|note| note.sentence.clone()).collect())
}

#[test]
fn a_limit_of_the_group_is_measured_by_limit_and_check() {
    let place = place();
    let device = LoopDevice::direct(place.path(), 4 << 20).unwrap();
    let name = device.path().file_name().unwrap().to_str().unwrap().to_owned();
    let reads = format!("--rw=randread --bs=4k --direct=1 --filename={}", device.path().display());
    let group = Group::with_read_iops(&name, 50).unwrap();
    let (limit, notes) = said(&result_of(&place, &reads, |run| group.inside(run)), Limiter::Cap, "limiter");
    assert!(
        limit.starts_with("throttle had ") && limit.contains(" of the time of the I/Os, measured: control group "),
        "{limit}"
    );
    assert!(limit.contains(&group.name()) && limit.ends_with(", 50 reads per second"), "{limit}");
    assert_eq!(notes, [format!("{limit}: a limiter, not a device")]);

    let clean = result_of(&place, &reads, |run| run);
    let limit = clean.limited_by.unwrap();
    assert!(![Limiter::Cap, Limiter::FileSystemLock].contains(&limit.limiter), "{limit:?}");
    assert!(limit.sentence.contains(" of the time of the I/Os, measured"), "{limit:?} {:#?}", clean.layers);
    assert!(!clean.notes.iter().any(|note| note.check == "limiter"), "{:?}", clean.notes);
}

#[test]
fn waits_for_the_lock_of_a_file_are_measured() {
    let place = place();
    let result = result_of(&place, "--rw=write --bs=1m --size=64m --numjobs=8 --filename=one", |run| run);
    let (limit, _) = said(&result, Limiter::FileSystemLock, "limiter");
    assert!(limit.starts_with("lock or other wait had ") && limit.ends_with(", measured"), "{limit}");
}

#[test]
fn waits_for_the_only_processor_are_measured() {
    let place = place();
    let burner = || Run::new("sh", place.path()).words(["-c", "while :; do :; done"]).under(["taskset", "-c", "0"]);
    let burners = [(); 4].map(|()| burner().start());
    let reads = "--rw=randread --bs=4k --direct=1 --numjobs=2 --size=64m --filename=data";
    let result = result_of(&place, reads, |run| run.under(["taskset", "-c", "0"]));
    drop(burners);
    let (limit, notes) = said(&result, Limiter::ClientCpu, "client CPU");
    assert!(limit.starts_with("waking up had ") && limit.ends_with(", measured"), "{limit}");
    assert_eq!(notes, [format!("{limit}: the tester, not the disk, was the limit")]);
}
