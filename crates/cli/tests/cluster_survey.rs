//! `plumb cluster ... survey` and `knee`: rows of known rates by all members, an interrupted one that goes on, a member
//! that dies.

use crate::cluster::check_refusals;
use crate::context::{SIMULATED_SURVEY, cluster, place, plumb};
use house::{children, signal, wait_for};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A survey of the simulated disk with nothing around it.
fn simulated() -> String {
    format!("{SIMULATED_SURVEY} --no-store --quiet -o s.json .")
}

fn tests(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    serde_json::from_str::<Value>(&text).map_or_else(|_| Vec::new(), |all| all["tests"].as_array().unwrap().clone())
}

/// Waits until a survey has saved some tests.
fn wait_for_tests(path: &Path, count: usize) {
    wait_for("the end of some tests", || (tests(path).len() >= count).then_some(()));
}

#[test]
fn a_survey_by_three_members_has_all_rates_in_each_row() {
    let place = place();
    let text = cluster(&place, format!("--local 3 survey --users 1,4 {}", simulated())).stdout();
    assert!(text.contains("By 3 members on 1 host (local)"), "{text}");
    let rows = tests(&place.file("s.json"));
    for (row, users) in rows.iter().zip([1, 4]) {
        let sum = row["cluster"]["rates"][0]["sum_iops"].as_f64().unwrap();
        let expected = 30_000.0 * f64::from(users);
        assert!((sum - expected).abs() < 1.0, "{sum}");
        let read = &row["result"]["jobs"][0]["directions"]["read"];
        assert_eq!(read["ios"].as_u64().unwrap(), 30_000 * u64::try_from(users).unwrap());
        // From the first start to the last end, not the runtime of one.
        assert_eq!(read["runtime"], row["cluster"]["rates"][0]["elapsed"], "{read}");
        assert_eq!(row["cluster"]["each"].as_array().unwrap().len(), 3);
        let all_users = u64::try_from(3 * users).unwrap();
        assert!(row["users"] == all_users && text.contains(&format!(" {all_users} users, sim")), "{text}");
    }
    assert_eq!(rows.len(), 2);
    // The members' own work files are gone; the result and its page are there.
    assert_eq!(place.names(), ["s.html", "s.json"]);
    // What members found by their samples, which are not in the result.
    let graded = plumb(&place, "check s.json").end().stdout;
    assert!(
        graded.contains("nothing moved: members 0, 1, 2: engine `sim`") && !graded.contains("throttled"),
        "{graded}"
    );
}

#[test]
fn an_interrupted_survey_by_members_resumes_where_it_ended() {
    let place = place();
    let words = format!("--local 2 survey --users 1,2,4 --repeat 3 --no-report {}", simulated());
    let leader = cluster(&place, &words).start();
    let file = place.file("s.json");
    wait_for_tests(&file, 2);
    leader.signal(Signal::INT);
    leader.end().exits(130);
    let before: Vec<Value> = tests(&file).into_iter().filter(|test| test.get("under_way").is_none()).collect();
    assert!((2..9).contains(&before.len()), "{}", before.len());
    cluster(&place, "--local 2 survey --resume s.json --no-report --no-store --quiet").succeeds();
    let rows = tests(&file);
    assert!(rows.iter().all(|row| row["cluster"]["members"] == 2), "those of before, too");
    assert_eq!((rows.len(), &rows[0]["cluster"]["rates"]), (9, &before[0]["cluster"]["rates"]));
    assert_eq!(place.names(), ["s.json"]);
}

#[test]
fn a_member_that_dies_ends_a_survey_that_keeps_its_tests() {
    let place = place();
    let words = format!("--local 2 survey --users 1,2,4 --repeat 20 --no-report {}", simulated());
    let leader = cluster(&place, &words).start();
    let file = place.file("s.json");
    wait_for_tests(&file, 2);
    signal(children(leader.id())[1], Signal::KILL);
    leader.end().exits(1).complains("member 1 (local)").complains("the tests before it are kept");
    assert!((2..60).contains(&tests(&file).len()), "{}", tests(&file).len());
}

#[test]
fn the_knee_of_members_is_found_with_the_same_levels_for_each() {
    let place = place();
    let words = "--local 2 knee --time 1 --most 2 --size 16M --no-store --no-report -o k.json .";
    let text = cluster(&place, words).stdout();
    let users: Vec<u64> = tests(&place.file("k.json")).iter().map(|row| row["users"].as_u64().unwrap()).collect();
    assert_eq!(users, [2, 4], "those of both");
    assert!(text.contains("By 2 members on 1 host"), "{text}");
}

#[test]
fn what_is_not_for_a_survey_by_members_is_refused_by_name() {
    let place = place();
    let rows = [
        ("survey .", "which members?"),
        ("--local 2 --shift 1 survey .", "--shift is not for a survey"),
        ("--local 2 --repeat 2 survey .", "survey has --repeat"),
        ("--local 2 --partial survey .", "--partial"),
        ("--local 2 --keep k survey .", "--keep"),
        ("--local 2 --stream x survey .", "--stream"),
        ("--local 2 --page x.html survey .", "--page"),
        ("--local 2 --json survey .", "after its name"),
        ("--local 2 survey --stream x .", "--stream"),
        ("--local 2 survey --no-calibrate .", "--no-calibrate"),
        ("--local 2 survey --precondition=steady .", "--precondition=steady"),
        ("--local 2 knee --iozone -i 0", "-+m"),
        ("--local 2 survey /does/not/exist", "/does/not/exist"),
    ];
    check_refusals(&place, &rows);
    assert!(place.names().is_empty(), "nothing was begun: {:?}", place.names());
    cluster(&place, "--local 2 survey --dry-run --quick .").succeeds().prints("Dry run");
}
