//! `plumb versus` on the simulated device, whose truth is known: virtual time, fixed seeds.

use crate::context::{place, plumb};
use house::{Directory, Run, Words, names, signal, wait_for};
use rustix::process::Signal;
use serde_json::Value;

/// A job on the simulated device with noise between runs of 3 %, and a percent of the noise within them: the same
/// machine for both sides.
const JOB: &str = "--name=reads --ioengine=sim --rw=randread --bs=4k --size=1g --runtime=1 --time_based --sim_run={run} \
                   --sim_distribution=lognormal --sim_level=0.03 --sim_noise=0.02:0.5:0.1";

fn versus(directory: impl Directory, options: impl Words, job: &str) -> Run {
    let run = plumb(directory, "versus --rest 0").words(options);
    if job.is_empty() { run } else { run.words("--").words(job) }
}

const ACCEPT: [&str; 2] = ["--accept", "nothing-moved"];

#[test]
fn a_slower_side_is_found_and_read_by_other_commands() {
    let place = place();
    let options = [&ACCEPT[..], &["--seed", "7", "--b", "sim_service_time=115us"]].concat();
    let text = versus(&place, &options, JOB)
        .succeeds()
        .silent()
        .prints("B: sim_service_time=115us\n")
        .prints("random order from seed 7.\n")
        .prints("B is slower: IOPS −1")
        .prints(" rounds with this noise show a change of")
        .prints("NOT A STORAGE RESULT, and accepted: nothing moved")
        .stdout;
    let folder = place.path().join("plumb-versus-001");
    let found = names(&folder);
    let rounds = (found.len() - 1) / 2;
    assert!(rounds >= 4 && found[0] == "a-001.json" && found[found.len() - 1] == "versus.json", "{found:?}");
    let document: Value = serde_json::from_slice(&std::fs::read(folder.join("versus.json")).unwrap()).unwrap();
    assert_eq!((&document["verdict"], &document["rounds"]), (&Value::from("differs"), &Value::from(rounds)));
    let change = document["questions"][0]["change"].as_f64().unwrap();
    assert!((change - (1.0 / 1.15 - 1.0)).abs() < 0.06, "{change}");
    // Read by the commands that compare files.
    let side =
        |name: &str| (1..=rounds).map(|at| format!("{}/{name}-{at:03}.json", folder.display())).collect::<Vec<_>>();
    let run = |words: &[String]| plumb(&place, words).end();
    let words = [
        vec!["compare".to_owned(), "--accept=nothing-moved".to_owned(), "--old".to_owned()],
        side("a"),
        vec!["--new".to_owned()],
        side("b"),
    ]
    .concat();
    let compared = run(&words).stdout;
    assert!(compared.contains(" runs, in turns") && compared.contains("▼ worse"), "{compared}");
    assert!(
        text.contains(
            "plumb compare --accept nothing-moved --old plumb-versus-001/a-*.json --new plumb-versus-001/b-*.json"
        ),
        "{text}"
    );
}

#[test]
fn the_seed_repeats_the_order_and_json_is_alone() {
    let place = place();
    let options = |seed: &'static str, output: &'static str| {
        [&ACCEPT[..], &["--rounds", "6", "--quiet", "--json", "--seed", seed, "-o", output]].concat()
    };
    let of = |seed: &'static str, output: &'static str| -> Value {
        let text = versus(&place, options(seed, output), JOB).end().silent().stdout;
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    let (one, again, other) = (of("3", "x"), of("3", "-"), of("7", "y"));
    assert_eq!((&one["first"], &one["pairs"]), (&again["first"], &again["pairs"]), "virtual time repeats itself");
    assert_ne!(one["first"], other["first"]);
    assert_eq!(again["a"].as_array().map(Vec::len), Some(6), "-o - has the results");
    assert_eq!((again["results"].is_null(), one["results"].as_str()), (true, Some("x")));
    assert_eq!(place.names(), ["x", "y"]);
    versus(&place, options("3", "x"), JOB).exits(3).complains("x: is not empty");
}

#[test]
fn equal_sides_are_the_same_and_a_width_can_be_asked_for() {
    let place = place();
    let exact = "--name=a --ioengine=sim --rw=randread --size=1g --runtime=1 --time_based";
    versus(&place, ACCEPT, exact)
        .succeeds()
        .prints("A and B are the same within 5 %: IOPS 0.0 % (0.0 to 0.0 %).")
        .prints("All 4 rounds were equal");
    let wide = [&ACCEPT[..], &["--until", "3%", "--b", "sim_service_time=104us", "--seed", "1", "-o", "wide"]].concat();
    versus(&place, &wide, JOB).succeeds().prints("B ÷ A is known to ±3 %: IOPS −");
    let short = [&ACCEPT[..], &["--until", "0.1%", "--max-rounds", "5", "-o", "short"]].concat();
    versus(&place, &short, JOB).exits(2).prints("is not known to ±0.1 %").complains("not settled");
}

#[test]
fn sides_that_cannot_be_compared_end_with_status_3() {
    let place = place();
    let plain = "--name=a --ioengine=sim --size=1m --rw=read";
    place.write("plain.fio", "[a]\nioengine=sim\nsize=1m\n");
    for (options, job, expected) in [
        (&["--b", "bs=4q"][..], plain, "side B: "),
        (&[], "", "there is no job"),
        (&[], plain, "NOT A STORAGE RESULT, twice: nothing moved"),
        (&["--rounds", "0"], plain, "--rounds"),
        (&["--until", "soon"], plain, "soon is neither"),
        (&["--numbers", "p98"], plain, "p98 is not a number"),
        (&["--together"], plain, "--together: "),
        (&["--before-a", "true"], "--untrusted plain.fio", "--untrusted forbids"),
        (
            &["--accept", "nothing-moved", "--before-b", "exit 7"],
            plain,
            "the command before B failed: exit 7: exit status: 7",
        ),
        (&["--accept", "nothing-moved", "--b", "rw=write"], plain, "the sides have different tests"),
    ] {
        versus(&place, options, job).exits(3).complains(expected);
    }
    assert_eq!(place.names(), ["plain.fio"]);
}

#[test]
fn a_command_runs_before_each_run_of_its_side() {
    let place = place();
    let options = [
        &ACCEPT[..],
        &["--rounds", "3", "--before-a", "echo a >>log", "--before-b", "echo b >>log; echo noise", "--json"],
    ]
    .concat();
    let job = "--name=a --ioengine=sim --size=1m --rw=read";
    versus(&place, &options, job).exits(2).complains("noise").json();
    let mut log: Vec<String> = place.read("log").lines().map(str::to_owned).collect();
    log.sort();
    assert_eq!(log, ["a", "a", "a", "b", "b", "b"]);
}

#[test]
fn an_interrupt_keeps_the_complete_rounds() {
    let place = place();
    // The third round waits in the command before B, as a long run would.
    let wait = "echo x >>count; test $(wc -l <count) -lt 3 || { echo $$ >pid; exec sleep 20; }";
    let options = [&ACCEPT[..], &["--rounds", "9", "--before-b", wait]].concat();
    let job = "--name=a --ioengine=sim --size=1m --rw=read";
    let running = versus(&place, &options, job).start();
    let shell = wait_for("the third round", || std::fs::read_to_string(place.file("pid")).ok()?.trim().parse().ok());
    // As a terminal does: to all of them.
    running.signal(Signal::INT);
    signal(shell, Signal::INT);
    running.end().exits(130).prints("Cut short by signal 2 after 2 complete rounds.");
    let found = names(&place.path().join("plumb-versus-001"));
    assert_eq!(found, ["a-001.json", "a-002.json", "b-001.json", "b-002.json", "versus.json"]);
}

#[test]
fn both_sides_run_at_the_same_time_on_different_disks() {
    let memory = house::Tmpfs::new(64 << 20).unwrap();
    let [a, b] = [0, 1].map(|_| house::LoopDevice::sparse(memory.path(), 16 << 20).unwrap());
    let [a, b] = [&a, &b].map(|device| device.path().display().to_string());
    let place = place();
    let job = "--name=r --rw=randread --bs=4k --direct=1 --runtime=200ms --time_based";
    let options = ["--together", "--accept", "backing", "--rounds", "2", "--json", "--a", &a, "--b", &b];
    let ended = versus(&place, options, job).end();
    // Two rounds seldom settle which of two equal devices is faster.
    assert!(ended.status.is_some_and(|status| status < 3), "{ended}");
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&document["together"], &document["first"]), (&Value::from(true), &Value::from(vec![None::<&str>; 2])));
    let paths = |name: &str| {
        let bytes = std::fs::read(place.path().join("plumb-versus-001").join(name)).unwrap();
        let native: Value = serde_json::from_slice(&bytes).unwrap();
        let jobs = native["result"]["jobs"].as_array().unwrap();
        jobs.iter().map(|job| job["echo"]["paths"][0].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!((paths("a-001.json"), paths("b-001.json")), (vec![a.clone()], vec![b]), "each has the jobs of its side");
    versus(&place, ["--together", "--a", &a, "--b", &a], job).exits(3).complains("both sides are on loop");
}

/// The share of seeds at which the program finds this change of the service time.
fn found(seeds: std::ops::RangeInclusive<u64>, service: &str) -> Vec<(String, u64)> {
    let place = place();
    let (side, directory) = (format!("sim_service_time={service}"), place.path());
    let one = |seed: u64| {
        let (seed, folder) = (seed.to_string(), format!("seed-{seed}"));
        let options = [&ACCEPT[..], &["--json", "--quiet", "--seed", &seed, "-o", &folder, "--b", &side]].concat();
        let document = versus(directory, &options, &format!("{JOB} --sim_seed={seed}")).end().json();
        (document["verdict"].as_str().unwrap().to_owned(), document["rounds"].as_u64().unwrap())
    };
    seeds.map(one).collect()
}

/// Number of seeds: two, or those of `PLUMB_SEEDS` (`make test-full`).
fn seeds() -> u64 {
    std::env::var("PLUMB_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2)
}

#[test]
fn two_deviations_are_found_and_equal_sides_are_equal() {
    // Two deviations of the difference of a pair: 2·√2·3.2 % are 9 %, with the noise within runs.
    let (equal, slower) = (found(1..=seeds(), "100us"), found(1..=seeds(), "110us"));
    println!("A/A: {equal:?}\n2 sd: {slower:?}");
    let count = |all: &[(String, u64)]| all.iter().filter(|(verdict, _)| verdict == "differs").count() as u64;
    // At 4.4 % and at 97 %, rounded to whole seeds: none of two, one of twenty.
    assert!(count(&equal) <= seeds() / 20, "{equal:?}");
    assert!(count(&slower) >= seeds() - seeds() / 20, "{slower:?}");
}
