//! `plumb cluster ... iozone`: a member for each child, iozone's output, no file that stays.

use crate::cluster::check_refusals;
use crate::context::{cluster, place};
use std::fs;

/// Two tests on small files, with the amounts of each child.
const WORDS: &str = "iozone -i 0 -i 1 -s 256 -r 4 -C -+n";

#[test]
fn each_member_is_a_child_and_the_files_are_gone_at_the_end() {
    let place = place();
    let text = cluster(&place, format!("--local 3 {WORDS}")).stdout();
    for line in ["Children see throughput for  3 initial writers", "Children see throughput for  3 readers"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let amounts: Vec<&str> =
        text.lines().filter(|line| line.contains("Child[") && line.contains("xfer count")).collect();
    assert_eq!(amounts.len(), 6, "{text}");
    assert!(text.contains("Test cleanup:") && text.ends_with("iozone test complete.\n"), "{text}");
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn files_are_kept_on_request_and_earlier_ones_stay() {
    let place = place();
    cluster(&place, format!("--local 2 {WORDS} -w -t 2")).succeeds();
    assert_eq!(place.names(), ["iozone.DUMMY.0", "iozone.DUMMY.1"]);
    assert_eq!(fs::metadata(place.file("iozone.DUMMY.1")).unwrap().len(), 256 << 10);
    cluster(&place, format!("--local 2 {WORDS}")).succeeds();
    assert_eq!(place.names(), ["iozone.DUMMY.0", "iozone.DUMMY.1"]);
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
    check_refusals(&place, &rows);
    // Only members see that the directory is not there: iozone's heading is printed by then.
    let words = "--local 2 --directory /does/not/exist iozone -i 0 -s 64";
    cluster(&place, words).exits(1).complains("/does/not/exist");
    assert!(place.names().is_empty(), "{:?}", place.names());
}
