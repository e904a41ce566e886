//! `plumb cluster --repeat`: the table, what is kept, and the end by a signal.

use crate::cluster::check_refusals;
use crate::context::{SIMULATED_JOB, cluster, place, plumb};
use house::{names, wait_for};
use rustix::process::Signal;

/// Four I/Os at a time on the simulated disk: 40,000 IOPS for each member.
fn simulated() -> String {
    format!("{SIMULATED_JOB} --iodepth=4 --sim_parallelism=4")
}

#[test]
fn repetitions_are_merged_read_and_have_the_known_mean() {
    let place = place();
    let words = format!("--local 2 --repeat 3 --json --keep kept --page page.html fio {}", simulated());
    let run = cluster(&place, words).succeeds();
    let all = run.json();
    let rates = &all["repetitions"]["rates"][0];
    let iops = |key: &str| rates["iops"][key].as_f64().unwrap();
    // The rate over all counts the skew of the starts, too; a machine that does other work starts late.
    let sums: Vec<f64> =
        (0..3).map(|run| all["tests"][run]["cluster"]["rates"][0]["sum_iops"].as_f64().unwrap()).collect();
    assert!(sums.iter().all(|sum| (sum - 80_000.0).abs() < 1.0), "{sums:?}");
    assert!(iops("max") <= 80_000.1 && iops("min") <= iops("mean") && iops("mean") <= iops("max"), "{rates}");
    assert_eq!((&all["repetitions"]["asked"], &all["repetitions"]["counted"]), (&3.into(), &3.into()));
    assert_eq!(names(&place.file("kept")).len(), 6);
    let files = names(&place.file("kept")).into_iter().rev().map(|name| format!("kept/{name}"));
    let files: Vec<String> = files.collect();
    let again = cluster(&place, format!("merge --json {}", files.join(" "))).json();
    assert_eq!(again["repetitions"], all["repetitions"]);
    let again = cluster(&place, format!("merge {}", files.join(" "))).stdout();
    let table = again.lines().find(|line| line.starts_with("read     3 ")).expect(&again);
    assert_eq!(table.split_whitespace().count(), 11, "{table}");
    assert!(again.contains("on average of 3 repetitions"), "{again}");
    // A repetition that is missing is missed.
    let fewer = cluster(&place, format!("merge {}", files[..4].join(" "))).end();
    fewer.prints("INCOMPLETE: 2 of 3 repetitions");
    place.write("all.json", &run.stdout);
    let parsed = plumb(&place, "parse all.json").end();
    assert_eq!(parsed.stdout.lines().filter(|line| line.contains("4K")).count(), 3, "{parsed}");
    let page = place.read("page.html");
    assert!(page.contains("on average of 3 repetitions") && page.contains(" IOPS, ") && !page.contains("std dev"));
    assert!(["1", "2", "3"].iter().all(|number| page.contains(&format!("Repetition {number}: 2 members"))));
}

#[test]
fn a_signal_ends_the_repetitions_with_a_table_so_far() {
    let place = place();
    let leader = cluster(&place, format!("--local 2 --repeat 500 --json --keep kept fio {}", simulated())).start();
    wait_for("a second repetition", || place.has("kept/repetition-002-member-001.json").then_some(()));
    leader.signal(Signal::INT);
    let all = leader.end().exits(130).json();
    let counted = all["repetitions"]["counted"].as_u64().unwrap();
    assert!((2..500).contains(&counted), "{}", all["repetitions"]);
    assert_eq!(all["repetitions"]["rates"][0]["repetitions"].as_u64(), Some(counted));
}

#[test]
fn with_wear_out_the_slow_member_does_as_many_ios() {
    let place = place();
    // 100 and 110 µs for each I/O. In a second, the slow one ends 9,090 of them, and the one that is in flight.
    let disk = SIMULATED_JOB.replace("=100us", "=1${PLUMB_RANK}0us");
    let all = cluster(&place, format!("--local 2 --wear-out --repeat 2 --json fio {disk}")).json();
    for run in all["tests"].as_array().unwrap() {
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
    let expected = "a worker had done 9,091 I/Os on member 1 and 10,000 on member 0; all went on to 10,000";
    cluster(&place, format!("--local 2 --wear-out fio {disk}")).end().prints(expected);
    for (words, why) in [
        ("--local 2 --wear-out fio --name=a --size=4k", "no runtime"),
        ("--local 2 --wear-out fio --runtime=1 --name=a --size=4k --name=b --size=4k", "for one job"),
        ("--local 2 --wear-out survey .", "--wear-out is not for a survey"),
    ] {
        cluster(&place, words).exits(1).complains(why);
    }
}

#[test]
fn a_repetition_that_fails_is_the_last_one() {
    let place = place();
    let words = format!("--local 2 --repeat 4 fio {} --sim_faults=read:100:error=EIO", simulated());
    let run = cluster(&place, words).exits(1).prints("repetition 1 of 4");
    assert!(!run.stdout.contains("repetition 2"), "{run}");
    run.prints("INCOMPLETE: none of 4 repetitions came to its end");
    let rows =
        [("--local 1 --repeat 0 fio --name=a --size=4k", "--repeat"), ("--repeat 3 merge x.json", "those of a run")];
    check_refusals(&place, &rows);
}
