//! Text as wide as the terminal, by the environment variable COLUMNS as by a terminal itself; in a pipe a finding is a
//! line.

use crate::context::{PLUMB, place, plumb};
use house::{Place, Run};

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

/// The output of a command on a terminal.
fn on_terminal(words: &str, environment: &str, place: &Place) -> String {
    let command = format!("{environment} {PLUMB} {words}");
    let run = Run::new("script", place).words(["-qec", &command, "/dev/null"]);
    run.env("TERM", "xterm").env("COLUMNS", "100").env("PLUMB_STORE", "off").without_env("NO_COLOR").end().stdout
}

#[test]
fn verdicts_have_colours_on_a_terminal_alone() {
    let place = place();
    place.write("sweep.csv", ROWS);
    let (good, limited, bad) = ("\x1b[1;32m", "\x1b[1;33m", "\x1b[1;31m");
    let job = "--name=a --ioengine=sim --rw=randread --size=1g --runtime=1 --time_based";
    let versus = format!("versus --rest 0 --accept nothing-moved --b sim_service_time=200us -o v -- {job}");
    let again = "compare --accept nothing-moved --old v/a-*.json --new v/b-*.json";
    let queue = "capacity . --engine sim --size 16M --slo 'p99<2ms' --seed 1 --no-report --accept nothing-moved -o c.json \
                 --with sim_distribution=exponential --with sim_seed={run} --with sim_parallelism=1";
    for (words, painted) in [
        ("check sweep.csv", format!("{limited}[VALID WITH LIMITS]")),
        (versus.as_str(), format!("{bad}B is slower")),
        (again, format!("{bad}Worse: ")),
        (again, format!("{bad}▼ worse")),
        (queue, format!("{good} holds ")),
    ] {
        let shown = on_terminal(words, "", &place);
        assert!(shown.contains(&painted), "{words}\n{shown:?}");
        if words != versus {
            let plain = on_terminal(words, "NO_COLOR=1", &place);
            assert!(!plain.contains("\x1b[1;3"), "{words}\n{plain:?}");
        }
    }
}

#[test]
fn an_option_is_suggested_by_the_name_that_the_usage_has() {
    let place = place();
    plumb(&place, "survey --sec 3 .").exits(1).complains("a similar argument exists: '--time'");
    plumb(&place, "survey --tim 3 .").exits(1).complains("a similar argument exists: '--time'");
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
