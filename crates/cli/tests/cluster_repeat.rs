//! `plumb cluster --repeat`: the table, what is kept, and the end by a signal.

use crate::cluster::{PLUMB, cluster, document, names_of, place, run, shown, signal};
use rustix::process::Signal;
use std::process::Command;
use std::time::{Duration, Instant};

/// A simulated disk whose rate is known: 40,000 IOPS for each member.
const SIMULATED: &str = "--name=s --ioengine=sim --rw=randread --bs=4k --size=1g --iodepth=4 --sim_service_time=100us \
                         --sim_parallelism=4 --time_based --runtime=1";

#[test]
fn repetitions_are_merged_read_and_have_the_known_mean() {
    let place = place();
    let (status, text, error) =
        run(place.path(), &format!("--local 2 --repeat 3 --json --keep kept --page page.html fio {SIMULATED}"));
    assert_eq!(status, 0, "{text}{error}");
    let all = document(&text);
    let rates = &all["repetitions"]["rates"][0];
    let iops = |key: &str| rates["iops"][key].as_f64().unwrap();
    // The rate over all counts the skew of the starts, too; a machine that does other work starts late.
    let sums: Vec<f64> =
        (0..3).map(|run| all["tests"][run]["cluster"]["rates"][0]["sum_iops"].as_f64().unwrap()).collect();
    assert!(sums.iter().all(|sum| (sum - 80_000.0).abs() < 1.0), "{sums:?}");
    assert!(iops("max") <= 80_000.1 && iops("min") <= iops("mean") && iops("mean") <= iops("max"), "{rates}");
    assert_eq!((&all["repetitions"]["asked"], &all["repetitions"]["counted"]), (&3.into(), &3.into()));
    assert_eq!(names_of(&place.path().join("kept")).len(), 6);
    let files = names_of(&place.path().join("kept")).into_iter().rev().map(|name| format!("kept/{name}"));
    let files: Vec<String> = files.collect();
    let (status, again, error) = run(place.path(), &format!("merge --json {}", files.join(" ")));
    assert_eq!(status, 0, "{error}");
    assert_eq!(document(&again)["repetitions"], all["repetitions"]);
    let (status, again, _) = run(place.path(), &format!("merge {}", files.join(" ")));
    let table = again.lines().find(|line| line.starts_with("read     3 ")).expect(&again);
    assert_eq!((status, table.split_whitespace().count()), (0, 11), "{table}");
    assert!(again.contains("on average of 3 repetitions"), "{again}");
    // A repetition that is missing is missed.
    let (_, fewer, _) = run(place.path(), &format!("merge {}", files[..4].join(" ")));
    assert!(fewer.contains("INCOMPLETE: 2 of 3 repetitions"), "{fewer}");
    std::fs::write(place.path().join("all.json"), &text).unwrap();
    let parsed = Command::new(PLUMB).current_dir(place.path()).args(["parse", "all.json"]).output().unwrap();
    let rows = shown(&parsed).1.lines().filter(|line| line.contains("4K")).count();
    assert_eq!(rows, 3, "{:?}", shown(&parsed));
    let page = std::fs::read_to_string(place.path().join("page.html")).unwrap();
    assert!(page.contains("on average of 3 repetitions") && page.contains(" IOPS, ") && !page.contains("std dev"));
    assert!(["1", "2", "3"].iter().all(|number| page.contains(&format!("Repetition {number}: 2 members"))));
}

#[test]
fn a_signal_ends_the_repetitions_with_a_table_so_far() {
    let place = place();
    let leader =
        cluster(place.path(), &format!("--local 2 --repeat 500 --json --keep kept fio {SIMULATED}")).spawn().unwrap();
    let second = place.path().join("kept/repetition-002-member-001.json");
    let begun = Instant::now();
    while !second.exists() {
        assert!(begun.elapsed() < Duration::from_secs(30), "there is no second repetition");
        std::thread::sleep(Duration::from_millis(5));
    }
    signal(leader.id(), Signal::INT);
    let (status, text, error) = shown(&leader.wait_with_output().unwrap());
    assert_eq!(status, 130, "{text}{error}");
    let all = document(&text);
    let counted = all["repetitions"]["counted"].as_u64().unwrap();
    assert!((2..500).contains(&counted), "{}", all["repetitions"]);
    assert_eq!(all["repetitions"]["rates"][0]["repetitions"].as_u64(), Some(counted));
}

#[test]
fn with_wear_out_the_slow_member_does_as_many_ios() {
    let place = place();
    // 100 and 110 µs for each I/O. In a second, the slow one ends 9,090 of them, and the one that is in flight.
    let disk = SIMULATED.replace("iodepth=4", "iodepth=1").replace("=100us", "=1${PLUMB_RANK}0us");
    let (status, text, error) = run(place.path(), &format!("--local 2 --wear-out --repeat 2 --json fio {disk}"));
    assert_eq!(status, 0, "{text}{error}");
    for run in document(&text)["tests"].as_array().unwrap() {
        let each = run["cluster"]["each"].as_array().unwrap();
        let of = |key: &str| [&each[0][key], &each[1][key]].map(|value| value.as_f64().unwrap());
        assert_eq!((of("ios_in_time"), of("ios"), of("elapsed_s")), ([10_000.0, 9_091.0], [10_000.0; 2], [1.0, 1.1]));
        let rates = &run["cluster"]["rates"][0];
        assert!((rates["sum_iops"].as_f64().unwrap() - 19_090.9).abs() < 1.0, "10,000 in 1 s and in 1.1 s: {rates}");
        let skew = run["cluster"]["start"]["skew_ns"].as_f64().unwrap();
        let elapsed = rates["elapsed"].as_f64().unwrap();
        // The simulated times are exact; the starts may be apart, in either order.
        assert!((elapsed - 1.1e9).abs() <= skew + 1.0, "{rates}");
        assert!((rates["first_done"].as_f64().unwrap() - 1e9).abs() <= skew + 1.0, "{rates}");
        let over_all = rates["over_all_iops"].as_f64().unwrap();
        assert!((over_all - 20_000.0 / (elapsed / 1e9)).abs() < 1.0, "{rates}");
    }
    let (_, text, _) = run(place.path(), &format!("--local 2 --wear-out fio {disk}"));
    let expected = "a worker had done 9,091 I/Os on member 1 and 10,000 on member 0; all went on to 10,000";
    assert!(text.contains(expected), "{text}");
    for (words, why) in [
        ("--local 2 --wear-out fio --name=a --size=4k", "no runtime"),
        ("--local 2 --wear-out fio --runtime=1 --name=a --size=4k --name=b --size=4k", "for one job"),
        ("--local 2 --wear-out survey .", "--wear-out is not for a survey"),
    ] {
        let (status, _, error) = run(place.path(), words);
        assert!(status == 1 && error.contains(why), "{words}: {error}");
    }
}

#[test]
fn a_repetition_that_fails_is_the_last_one() {
    let place = place();
    let (status, text, error) =
        run(place.path(), &format!("--local 2 --repeat 4 fio {SIMULATED} --sim_faults=read:100:error=EIO"));
    assert_eq!(status, 1, "{text}{error}");
    assert!(text.contains("repetition 1 of 4") && !text.contains("repetition 2"), "{text}");
    assert!(text.contains("INCOMPLETE: none of 4 repetitions came to its end"), "{text}");
    for words in ["--local 1 --repeat 0 fio --name=a --size=4k", "--repeat 3 merge x.json"] {
        let (status, _, error) = run(place.path(), words);
        assert!(
            status != 0 && error.contains(if words.contains("merge") { "those of a run" } else { "--repeat" }),
            "{words}: {error}"
        );
    }
}
