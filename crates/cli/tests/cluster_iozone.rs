//! `plumb cluster ... iozone`: a member for each child, iozone's output, no file that stays.

use crate::cluster::{check_refusals, names_of, place, run};
use std::fs;

/// Two tests on small files, with the amounts of each child.
const WORDS: &str = "iozone -i 0 -i 1 -s 256 -r 4 -C -+n";

#[test]
fn each_member_is_a_child_and_the_files_are_gone_at_the_end() {
    let place = place();
    let (status, text, error) = run(place.path(), &format!("--local 3 {WORDS}"));
    assert_eq!(status, 0, "{text}{error}");
    for line in ["Children see throughput for  3 initial writers", "Children see throughput for  3 readers"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let amounts: Vec<&str> =
        text.lines().filter(|line| line.contains("Child[") && line.contains("xfer count")).collect();
    assert_eq!(amounts.len(), 6, "{text}");
    assert!(text.contains("Test cleanup:") && text.ends_with("iozone test complete.\n"), "{text}");
    assert!(names_of(place.path()).is_empty(), "{:?}", names_of(place.path()));
}

#[test]
fn files_are_kept_on_request_and_earlier_ones_stay() {
    let place = place();
    let (status, text, error) = run(place.path(), &format!("--local 2 {WORDS} -w -t 2"));
    assert_eq!(status, 0, "{text}{error}");
    assert_eq!(names_of(place.path()), ["iozone.DUMMY.0", "iozone.DUMMY.1"]);
    assert_eq!(fs::metadata(place.path().join("iozone.DUMMY.1")).unwrap().len(), 256 << 10);
    let (status, text, error) = run(place.path(), &format!("--local 2 {WORDS}"));
    assert_eq!(status, 0, "{text}{error}");
    assert_eq!(names_of(place.path()), ["iozone.DUMMY.0", "iozone.DUMMY.1"]);
}

#[test]
fn what_members_cannot_do_is_refused_by_name() {
    let place = place();
    let rows = [
        ("iozone -i 0", "which members?"),
        ("--local 2 iozone -i 0 -s 64 -t 3", "-t 2"),
        ("--local 2 iozone -i 0 -s 64 -l 1 -u 2", "-t 2"),
        ("--local 2 --repeat 2 iozone -i 0", "--repeat is not for iozone"),
        ("--local 2 --wear-out iozone -i 0", "--wear-out is not for iozone"),
        ("--local 2 --json iozone -i 0", "after its name"),
    ];
    check_refusals(place.path(), &rows);
    // Only members see that the directory is not there: iozone's heading is printed by then.
    let (status, _, error) = run(place.path(), "--local 2 --directory /does/not/exist iozone -i 0 -s 64");
    assert!(status == 1 && error.contains("/does/not/exist"), "{status}: {error}");
    assert!(names_of(place.path()).is_empty(), "{:?}", names_of(place.path()));
}
