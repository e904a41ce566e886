//! A child that is killed from outside.

use super::{PLUMB, text};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The processes that this one started.
fn children(pid: u32) -> Vec<i32> {
    let found = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    found.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

fn kill_one_of(words: &str, place: &Path) {
    let mut plumb = Command::new(PLUMB);
    plumb.arg("iozone").args(words.split_whitespace()).current_dir(place).stdin(Stdio::null());
    let run = plumb.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("plumb");
    let begun = Instant::now();
    let victim = loop {
        let grown = std::fs::metadata(place.join("iozone.DUMMY.1")).is_ok_and(|file| file.len() >= 8192);
        if let (Some(&victim), true) = (children(run.id()).last(), grown) {
            break victim;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "no child writes");
        std::thread::sleep(Duration::from_millis(5));
    };
    let killed = Command::new("kill").args(["-KILL", &victim.to_string()]).status();
    assert!(killed.expect("kill").success());
    let output = run.wait_with_output().expect("plumb");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("SIGKILL"), "{}", text(&output.stderr));
    assert!(!text(&output.stdout).contains("iozone test complete"));
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    let left: Vec<_> =
        std::fs::read_dir(place).expect("a directory").flatten().map(|entry| entry.file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_killed_child_ends_the_run_with_its_name_and_no_files() {
    let place = tempfile::tempdir().expect("a directory");
    // A millisecond of computing before each record: most of a second, in which one is killed.
    kill_one_of("-t 3 -i 0 -s 3m -r 4 -J 1", place.path());
}
