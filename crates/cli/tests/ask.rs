//! `plumb ask`: answers by published limits, profiles of users, and which files stay.

use crate::context::{self, plumb, wait_for_interval};
use house::{Place, Run, Transcript, names, oracle};
use rustix::process::Signal;
use serde_json::Value;

/// Writes with a limit that every disk keeps, one that none keeps, and one that is advice only.
const PROFILE: &str = r#"
question = "Is it enough?"
load = "writes of 4 KiB with fdatasync"
not_asked = "Everything else."
space = "16m"
unit = "vCPU"

[[test]]
name = "writes"
jobs = """
[writes]
rw=write
bs=4k
size=16m
ioengine=sync
fdatasync=1
"""

[[test.rule]]
number = "sync p99"
below = "60s"
source = "here"
date = "2026-11"

[[test.rule]]
number = "write iops"
at_least = "1000000"
advice = true
source = "there"
date = "2026-11"
"#;

fn place(profile: &str) -> Place {
    let place = context::place();
    place.directory("disk");
    place.write("disk/precious", "precious");
    place.write("mine.toml", profile);
    place
}

fn ask(place: &Place, words: &str) -> Run {
    plumb(place, "ask").words(words)
}

#[test]
fn a_disk_that_is_enough_gets_a_yes_and_one_that_is_not_a_no() {
    let place = place(PROFILE);
    let short = "--profile mine.toml disk --time 18s --rounds 1 --accept cache,backing,nothing-moved --json";
    let missed = PROFILE.replace("advice = true\n", "");
    place.write("missed.toml", missed);
    let answers: Vec<_> = std::thread::scope(|scope| {
        let both = [
            format!("{short} --page answer.html"),
            short.replace("mine.toml", "missed.toml --scale 4 --page answer.pdf"),
        ];
        let started = both.map(|words| scope.spawn(|| (ask(&place, &words).end(), words).0));
        started.map(|thread| thread.join().unwrap()).into_iter().collect()
    });
    let documents: Vec<Value> = answers.iter().map(Transcript::json).collect();
    assert_eq!(answers.iter().map(|run| run.status).collect::<Vec<_>>(), [Some(0), Some(1)], "{answers:?}");
    assert_eq!((&documents[0]["answer"], &documents[1]["answer"]), (&"yes".into(), &"no".into()));
    for fact in ["target", "host", "measured", "disk"] {
        assert!(documents[0]["place"][fact].is_string(), "{fact}: {}", documents[0]["place"]);
    }
    let rules = &documents[1]["tests"][0]["rules"];
    assert_eq!((&rules[0]["answer"], &rules[1]["answer"]), (&"yes".into(), &"no".into()), "{rules}");
    assert_eq!(rules[1]["limit"], 4e6, "--scale multiplies limits on rates");
    let [sync, writes] = [0, 1].map(|at| rules[at]["rounds"][0]["value"].as_f64());
    // A slow disk does too few for a 99th percentile.
    assert!(sync.is_none_or(|sync| sync > 1000.0 && sync < 6e10), "p99 of fdatasync: {sync:?} ns");
    let writes = writes.expect("a rate");
    assert!(writes > 1.0 && writes < 1e6, "writes: {writes}/s");
    let shown = documents[1]["tests"][0]["rounds"][0][0]["iops"].as_f64().unwrap();
    assert_eq!(shown, writes, "the rate of the test is that of its rule");
    let sentences = documents[0]["sentences"].as_array().unwrap();
    assert!(sentences.iter().any(|said| said == "Is it enough? Yes, on disk for 1 vCPU."), "{}", documents[0]);
    let page = place.read("answer.html");
    assert!(page.contains("Is it enough? Yes, on disk for 1 vCPU.") && page.contains("here (2026-11)"), "{page}");
    let pdf = place.bytes("answer.pdf");
    assert!(pdf.starts_with(b"%PDF-"), "{} bytes", pdf.len());
    assert_eq!(names(&place.file("disk")), ["precious"]);
}

#[test]
fn numbers_that_do_not_decide_have_their_status() {
    let place = place(PROFILE);
    let simulated = "--profile mine.toml disk --with ioengine=sim --time 5s --rounds 2";
    let refused =
        ask(&place, simulated).exits(3).prints("NOT A STORAGE RESULT: nothing moved").prints(": not judged (");
    let answer = "Is it enough? No answer, on disk for 1 vCPU: the numbers are not of the storage";
    assert!(refused.stdout.contains(answer) && !refused.stdout.contains("say yes"), "{}", refused.stdout);
    let document = ask(&place, &format!("{simulated} --json")).exits(3).json();
    assert_eq!((&document["answer"], &document["tests"][0]["rules"][0]["answer"]), (&Value::Null, &Value::Null));
    ask(&place, &format!("{simulated} --page refused.html")).exits(3);
    let page = place.read("refused.html");
    assert!(page.contains("No answer, on disk") && page.contains("\"not judged\""), "the page says it too");
    ask(&place, &format!("{simulated} --accept nothing-moved"))
        .exits(2)
        .complains("--time 5s cannot be enough: a round is judged by 15 half seconds or more")
        .prints("2 of 2 rounds too short: 10 whole half seconds, and 15 are needed")
        .prints("NOT A STORAGE RESULT, and accepted: nothing moved")
        .prints("Is it enough? Cannot tell, on disk for 1 vCPU: ")
        .prints("here (2026-11)")
        .prints("advised 1,000,000/s or more");
    // In virtual time fixed times keep the limit, in each half second.
    ask(&place, &format!("{} --accept nothing-moved", simulated.replace("5s", "10s")))
        .exits(0)
        .prints("Is it enough? Yes, on disk for 1 vCPU.");
    let bare = PROFILE.split("\n[[test.rule]]").next().unwrap();
    place.write("bare.toml", bare);
    ask(&place, &format!("{} --accept nothing-moved", simulated.replace("mine", "bare")))
        .succeeds()
        .prints("No limit is published");
    sentences_of_those_without_limits(&place, &simulated.replace("mine", "worded"), bare);
    assert_eq!(names(&place.file("disk")), ["precious"]);
}

/// What a profile without limits says is in the words of its sentence; the page has the place, and no empty column.
fn sentences_of_those_without_limits(place: &Place, words: &str, bare: &str) {
    let sentence = "sentence = \"2 users get {2 * write iops} commits per second, p99 {sync p99}\"\njobs = ";
    place.write("worded.toml", bare.replacen("jobs = ", sentence, 1));
    let words = format!("{words} --accept nothing-moved");
    // A write and its sync of 100 µs each.
    let answer = "Is it enough? On disk, 2 users get 10,000 commits per second, p99 99.8 µs.";
    let unjudged = "No limit is published, so there is no yes or no.";
    let document = ask(place, &format!("{words} --json --page worded.html")).succeeds().json();
    assert_eq!(document["tests"][0]["sentence"], "2 users get 10,000 commits per second, p99 99.8 µs");
    let sentences: Vec<&str> = document["sentences"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(sentences[1..], [answer, unjudged, "Not covered: Everything else."]);
    let page = place.read("worded.html");
    for part in [answer, unjudged, "<dt>target</dt><dd dir=\"auto\">disk</dd>", "<dt>host</dt>", "<dt>measured</dt>"] {
        assert!(page.contains(part), "{part}");
    }
    let columns = ["test", "number", "lowest round", "highest round"].map(|title| format!("\"title\":\"{title}\""));
    assert!(columns.iter().all(|column| page.contains(column)), "{page}");
    assert!(["limit", "answer", "source", "value"].iter().all(|id| !page.contains(&format!("{{\"id\":\"{id}\""))));
}

/// How many users, of ten random reads per second each, have a median response below a limit that every disk keeps?
const SIZED: &str = r#"
question = "How many users can read here?"
load = "10 random reads per second of each user"
not_asked = "Writes."
space = "16m"
unit = "user"
most = 1000

[[test]]
name = "reads"
jobs = """
[reads]
rw=randread
bs=4k
size=16m
rate_iops={10 * units}
rate_process=poisson
iodepth=256
ioengine=libaio
direct=1
"""

[[test.rule]]
number = "read p50"
below = "300ms"
source = "here"
date = "2026-11"
"#;

#[test]
fn a_number_of_units_is_between_enough_and_too_much() {
    let words = "--profile mine.toml disk --time 20s --rounds 1 --accept cache,backing,nothing-moved";
    // No disk reads in a microsecond, with the system call.
    let none = SIZED.replace("300ms", "1us");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let place = place(&SIZED.replace("most = 1000", "most = 2"));
            at_least_two(&ask(&place, &format!("{words} --json --page a.svg")).json(), &place);
        });
        scope.spawn(|| {
            ask(&place(&none), words)
                .exits(1)
                .prints("How many users can read here? Not even 1, on disk: read p50 of reads is");
        });
        ask(&place(&none), &format!("{words} --scale 3"))
            .exits(1)
            .prints("How many users can read here? No, on disk for 3 users: read p50 of reads is");
    });
}

/// The answer of a search that ends at the largest number that is tried.
fn at_least_two(document: &Value, place: &Place) {
    let search = &document["search"];
    assert_eq!((&search["enough_for"], &search["too_many"]), (&2.into(), &Value::Null), "{search}");
    let tried: Vec<_> =
        search["tried"].as_array().unwrap().iter().map(|tried| tried["units"].as_u64().unwrap()).collect();
    assert_eq!(tried, [1, 2, 2], "{search}");
    let first = document["sentences"][0].as_str().unwrap();
    assert_eq!(first, "How many users can read here? At least 2 users, on disk: no larger number was tried.");
    let rates = &document["tests"][0]["rounds"][0][0]["iops"];
    assert!((rates.as_f64().unwrap() / 20.0 - 1.0).abs() < 0.5, "two users are 20 reads per second: {rates}");
    let svg = place.read("a.svg");
    assert!(svg.contains("reads: read p50 below 300 ms") && svg.contains("round 1"), "{svg}");
}

#[test]
fn mistakes_are_named_before_anything_is_measured() {
    let place = place(PROFILE);
    place.write("broken.toml", "question = 'x'\nload = 3\n");
    place.write("unsourced.toml", PROFILE.replace("\"there\"", "\"\""));
    place.write("large.toml", PROFILE.replace("space = \"16m\"", "space = \"1000t\""));
    place.write("job.toml", PROFILE.replace("bs=4k", "bs=4q"));
    for (name, line) in [("command", "exec_prerun=touch precious"), ("outside", "filename=../precious")] {
        let text = PROFILE.replace("bs=4k", &format!("bs=4k\n{line}"));
        place.write(format!("{name}.toml"), text);
    }
    for (words, expected) in [
        ("", "name a program and a directory"),
        ("nothing disk", "no program nothing; give one of plumb ask --list"),
        ("postgres disk", "no program postgres; give postgres-wal, or one of plumb ask --list"),
        ("postgresql disk", "no program postgresql; give postgres-wal, or one of"),
        ("mysql disk", "no program mysql; give postgres-wal, or one of"),
        ("oracle disk", "no program oracle; give oracle-redo, oracle-slob, or one of"),
        ("etdc disk", "no program etdc; give etcd, or one of"),
        ("etcd", "name a directory on the disk: plumb ask etcd PATH"),
        ("etcd mine.toml", "mine.toml: is not a directory"),
        ("etcd disk --scale 2", "--scale: the limits of etcd are not for a number of units"),
        ("--profile none.toml disk", "none.toml: "),
        ("--profile broken.toml disk", "line 2"),
        ("--profile unsourced.toml disk", "a rule needs its source and date"),
        ("--profile large.toml disk", "its files take 1000T"),
        ("--profile job.toml disk", "4q"),
        ("--list etcd", "--list takes no names"),
        ("--show etcd disk", "--show prints a job file"),
        ("etcd disk --with runtime=3", "runtime is set by plumb ask itself"),
        ("etcd disk --time 0", "--time"),
        ("etcd disk --untrusted", "--profile <FILE>"),
        ("--profile command.toml disk --untrusted", "--untrusted: exec_prerun=touch precious "),
        ("--profile outside.toml --show --untrusted", "--untrusted: filename=../precious leads out of this directory"),
        (
            "etcd disk --page answer.txt",
            "answer.txt: the page of an answer is .html or .pdf, its picture alone .svg or .png",
        ),
        ("kafka disk --page answer.svg", "answer.svg: kafka has no limits to draw"),
        ("nvr disk --scale 9999", "--scale 9999: the I/O of nvr is for 5000 units at most"),
    ] {
        let run = ask(&place, words).exits(3).complains(expected);
        assert_eq!(run.stdout, "", "{run}");
    }
    assert_eq!(names(&place.file("disk")), ["precious"]);
}

#[test]
fn a_signal_ends_it_with_the_rounds_so_far_without_its_files() {
    let place = place(PROFILE);
    let words =
        "--profile mine.toml disk --time 1s --rounds 100 --accept cache,backing,nothing-moved --stream s.ndjson";
    let running = ask(&place, words).start();
    // A round takes two seconds with its warm-up.
    wait_for_interval(&place.file("s.ndjson"), 2);
    running.signal(Signal::INT);
    let end = running.end().exits(130).prints("No answer, on disk for 1 vCPU: it was ended after 1 of 100 runs");
    end.prints("  write ").prints(" IOPS, ");
    assert_eq!(names(&place.file("disk")), ["precious"]);
}

#[test]
fn all_job_files_of_programs_run_in_fio_and_in_plumb() {
    let place = place(PROFILE);
    let list = ask(&place, "--list --json").end().json();
    let programs = list["programs"].as_array().unwrap();
    assert!(programs.len() >= 18 && programs.iter().filter(|program| program["has_limits"] == true).count() >= 10);
    let check = |name: &str| {
        let jobs = ask(&place, &format!("--show {name} --time 1s")).stdout();
        let here = place.path().join(name);
        std::fs::create_dir(&here).unwrap();
        // As it is, but for the size of its files.
        let size = |line: &str| match line.split_once('=') {
            Some((option @ ("size" | "filesize"), _)) => format!("{option}=32m\n"),
            _ => format!("{line}\n"),
        };
        let small: String = jobs.lines().map(size).collect();
        std::fs::write(here.join("one.fio"), &small).unwrap();
        std::fs::write(here.join("whole.fio"), &jobs).unwrap();
        plumb(&here, "fio --parse-only whole.fio").succeeds();
        let document = oracle(&here, "--output-format=json one.fio").exits(0).json();
        for job in document["jobs"].as_array().unwrap() {
            let ios = |direction: &str| job[direction]["total_ios"].as_u64().unwrap();
            assert!(job["error"] == 0 && ios("read") + ios("write") > 0, "{name}: {job}");
        }
    };
    let names: Vec<&str> = programs.iter().map(|program| program["name"].as_str().unwrap()).collect();
    std::thread::scope(|scope| {
        for part in names.chunks(names.len().div_ceil(6)) {
            scope.spawn(move || part.iter().for_each(|name| check(name)));
        }
    });
}
