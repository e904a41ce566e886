//! Text as wide as the terminal, by the environment variable COLUMNS as by a terminal itself; in a pipe a finding is a
//! line.

use crate::context::{place, plumb};
use house::Place;

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

fn shown(words: &str, columns: Option<usize>, place: &Place) -> String {
    let run = plumb(place, words).without_env("COLUMNS");
    let run = if let Some(columns) = columns { run.env("COLUMNS", columns.to_string()) } else { run };
    let end = run.end();
    assert!(end.status <= Some(1), "{end}");
    end.stdout
}

#[test]
fn text_is_as_wide_as_the_terminal() {
    let place = place();
    place.write("sweep.csv", ROWS);
    for words in COMMANDS {
        for columns in [60, 80, 200] {
            let text = shown(words, Some(columns), &place);
            let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > columns).collect();
            assert_eq!(wide, [""; 0], "{words} at {columns}:\n{text}");
            assert!(!text.is_empty(), "{words}");
        }
    }
}

#[test]
fn in_a_pipe_a_finding_is_a_line() {
    let place = place();
    place.write("sweep.csv", ROWS);
    let text = shown("check --remarks sweep.csv", None, &place);
    let findings: Vec<&str> = text.lines().filter(|line| line.starts_with("sweep.csv:")).collect();
    assert_eq!(findings.len(), 2, "{text}");
    assert!(findings.iter().all(|line| line.ends_with(']') && line.len() > 100), "{text}");
}
