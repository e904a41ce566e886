//! A child that is killed from outside.

use super::iozone;
use crate::context::place;
use house::{children, signal, wait_for};
use rustix::process::Signal;
use std::time::{Duration, Instant};

#[test]
fn a_killed_child_ends_the_run_with_its_name_and_no_files() {
    let place = place();
    // A millisecond of computing before each record: most of a second, in which one is killed.
    let run = iozone("-t 3 -i 0 -s 3m -r 4 -J 1", &place).start();
    let begun = Instant::now();
    let victim = wait_for("a child that writes", || {
        let grown = std::fs::metadata(place.file("iozone.DUMMY.1")).is_ok_and(|file| file.len() >= 8192);
        children(run.id()).last().copied().filter(|_| grown)
    });
    signal(victim, Signal::KILL);
    let run = run.end().exits(1).complains("SIGKILL");
    assert!(!run.stdout.contains("iozone test complete"), "{run}");
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    assert_eq!(place.names(), [""; 0]);
}
