//! Text as wide as the terminal, by the environment variable COLUMNS as by a terminal itself; in a pipe a finding is a line.

use std::path::Path;
use std::process::Command;

/// Rows in which half of the users were idle, at two loads.
const ROWS: &str = "name,users,bs,MB,lat,min,max,std,iops,us50,us100,us250,us500,ms1,ms2,ms4,ms10,ms20,ms50,ms100,ms250,ms500,s1,s2,s5,p95_00,p99_00\n\
                    randread,16,8K,25,2.5,0.9,9,0.1,3200,0,0,0,0,0,20,80,0,0,0,0,0,0,0,0,0,3,4\n\
                    randread,32,8K,50,2.5,0.9,9,0.1,6400,0,0,0,0,0,20,80,0,0,0,0,0,0,0,0,0,3,4\n";

const COMMANDS: [&str; 7] = [
    "check sweep.csv",
    "check --remarks sweep.csv",
    "explain sweep.csv",
    "grade sweep.csv",
    "parse sweep.csv",
    "parse -v -p sweep.csv",
    "survey --dry-run --size 16M .",
];

fn shown(words: &str, columns: Option<usize>, place: &Path) -> String {
    let mut plumb = Command::new(env!("CARGO_BIN_EXE_plumb"));
    plumb.args(words.split(' ')).current_dir(place).env_remove("COLUMNS");
    if let Some(columns) = columns {
        plumb.env("COLUMNS", columns.to_string());
    }
    let output = plumb.output().unwrap();
    assert!(output.status.code() <= Some(1), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn text_is_as_wide_as_the_terminal() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::write(place.path().join("sweep.csv"), ROWS).unwrap();
    for words in COMMANDS {
        for columns in [60, 80, 200] {
            let text = shown(words, Some(columns), place.path());
            let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > columns).collect();
            assert_eq!(wide, [""; 0], "{words} at {columns}:\n{text}");
            assert!(!text.is_empty(), "{words}");
        }
    }
}

#[test]
fn in_a_pipe_a_finding_is_a_line() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::write(place.path().join("sweep.csv"), ROWS).unwrap();
    let text = shown("check --remarks sweep.csv", None, place.path());
    let findings: Vec<&str> = text.lines().filter(|line| line.starts_with("sweep.csv:")).collect();
    assert_eq!(findings.len(), 2, "{text}");
    assert!(findings.iter().all(|line| line.ends_with(']') && line.len() > 100), "{text}");
}
