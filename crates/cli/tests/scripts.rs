//! plumb's own commands in pipes and scripts: JSON alone on standard output, quiet, exit statuses, closed pipes.
//!
//! Owns the table of commands and exit statuses, which is compared with that of docs/scripts.md.

use crate::context::{place, plumb};
use house::{Place, Run, Transcript};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;

/// A sweep over users in which everyone is busy: IOPS × latency is the number of users.
const SWEEP: &str = "name,users,bs,MB,lat,min,max,std,iops\n\
                     randread,1,8K,7.8125,1,0.9,2,0.1,1000\n\
                     randread,2,8K,15.625,1,0.9,2,0.1,2000\n\
                     randread,4,8K,29.7619,1.05,0.9,2,0.1,3809.5\n\
                     randread,8,8K,54.3478,1.15,0.9,2,0.1,6956.5\n\
                     randread,16,8K,83.3333,1.5,0.9,4,0.1,10666.7\n\
                     randread,32,8K,100,2.5,0.9,9,0.1,12800\n";

/// A row of a sweep in which half of the users were idle.
const IDLE: &str = "name,users,bs,MB,lat,min,max,std,iops\nrandread,32,8K,50,2.5,0.9,9,0.1,6400\n";

/// The words of a survey that moves nothing and lasts a second.
const SIMULATED: &str = "--engine sim --tests randread --users 1 --time 1 --warm-up 0 --size 16M";

/// A command, the words after it, and its exit status.
const STATUSES: &[(&str, &str, i32)] = &[
    ("survey", "--engine sim --tests randread --users 1 --time 1 --warm-up 0 --size 16M --no-report disk", 0),
    ("survey", "/does/not/exist", 1),
    ("survey", "--engine null --strict --tests randread --users 1 --time 1 --warm-up 0 --size 16M --no-report disk", 4),
    ("knee", "--users 1,2 --time 1s --size 16M --no-report disk", 0),
    ("knee", "/does/not/exist", 1),
    ("parse", "sweep.csv", 0),
    ("parse", "none.txt", 1),
    ("parse", "part.csv", 3),
    ("grade", "sweep.csv", 0),
    ("grade", "none.txt", 1),
    ("grade", "part.csv", 3),
    ("check", "sweep.csv", 0),
    ("check", "none.txt", 1),
    ("check", "part.csv", 3),
    ("check", "--strict idle.csv", 4),
    ("explain", "sweep.csv", 0),
    ("explain", "none.txt", 1),
    ("explain", "part.csv", 3),
    ("model", "sweep.csv", 0),
    ("model", "none.txt", 1),
    ("report", "sweep.csv -o -", 0),
    ("report", "none.txt -o -", 1),
    ("report", "part.csv -o -", 3),
    ("plot", "sweep.csv", 0),
    ("plot", "none.txt", 1),
    ("plot", "part.csv", 3),
    ("compare", "sweep.csv sweep.csv", 0),
    ("compare", "sweep.csv none.txt", 1),
    ("compare", "part.csv sweep.csv", 3),
    ("store", "where", 0),
    ("store", "name last nightly", 1),
    ("history", "", 1),
    ("watch", "--json --count 1 --interval 0.1", 0),
    ("watch", "", 1),
    ("capacity", "--slo p99<2ms --engine sim --size 16M --to 6000 disk --no-report", 3),
    ("capacity", "--slo p99<2ms --engine sim --accept nothing-moved --size 16M --to 6000 disk --no-report", 0),
    (
        "capacity",
        "--slo p99<2ms --engine sim --accept nothing-moved --size 16M --to 6000 disk --time 3s --no-report",
        2,
    ),
    ("capacity", "--slo p99<2ms /does/not/exist", 1),
    ("calibrate", "--engine sim", 0),
    ("calibrate", "--engine none", 1),
    ("versus", "--accept nothing-moved --rest 0 -- --name=a --ioengine=sim --size=1m --rw=read", 0),
    ("versus", "--accept nothing-moved --rest 0 --rounds 1 -- --name=a --ioengine=sim --size=1m --rw=read", 2),
    ("versus", "none.txt", 3),
    ("cluster", "--local 2 fio --name=a --ioengine=sim --size=1m --rw=read", 0),
    ("cluster", "fio --name=a --ioengine=sim --size=1m", 1),
    ("cluster merge", "none.txt", 1),
    ("why", "--pid 0", 1),
];

/// Statuses of the document that other tests show: signals, the terminal of `watch`, and what takes a minute.
const ELSEWHERE: &[(&str, &str)] = &[
    ("survey", "128 + signal"),   // survey::an_interrupt_keeps_what_is_done
    ("knee", "128 + signal"),     // a_signal_is_in_the_status
    ("watch", "128 + signal"),    // a_signal_is_in_the_status, device::screen
    ("watch", "129"),             // device::screen::the_screen_ends_with_its_terminal
    ("model", "4"),               // the same function as in survey
    ("model", "128 + signal"),    // a_signal_is_in_the_status
    ("history", "0"),             // store::history_is_for_programs_too
    ("capacity", "128 + signal"), // capacity::an_interrupt_keeps_the_trials
    ("knee", "4"),                // sessions::strict_fails_on_findings_that_are_not_accepted
    ("capacity", "4"),            // the same
    ("versus", "4"),              // the same
    ("versus", "1"),              // a_closed_pipe_ends_every_command_quietly
    ("cluster", "128 + signal"),  // cluster::an_interrupt_ends_all_members_and_keeps_their_results
    ("cluster merge", "0"),       // cluster::results_of_members_are_merged_again_from_their_files
    ("why", "0"),                 // why::direct_reads_are_counted_and_wait_for_the_device
    ("why", "128 + signal"),      // why::an_interrupt_ends_the_recording_with_what_it_has
    ("versus", "128 + signal"),   // versus::an_interrupt_keeps_the_complete_rounds
];

/// The options that commands share: a cell of docs/scripts.md each.
const SHARED: [&str; 5] = ["--json", "-o out.txt", "-o -", "--quiet", "--no-report"];

/// A command of the table in docs/scripts.md, and its words; `{}` stands for the option.
const CELLS: &[(&str, &str)] = &[
    ("survey", "survey {} --engine sim --tests randread --users 1 --time 1 --warm-up 0 --size 16M disk"),
    ("knee", "knee {} --users 1 --time 1s --size 16M disk"),
    ("knee --iozone", "knee {} --iozone -i 0 -s 64k -r 4k -t 1 -F disk/f"),
    ("capacity", "capacity {} --slo p99<2ms --engine sim --accept nothing-moved --size 16M --to 6000 disk"),
    ("ask", "ask {} --list"),
    ("calibrate", "calibrate {} --engine sim"),
    ("durable", "durable {} --after-cut acks disk --storage-only"),
    ("fidelity", "fidelity {} trace.csv trace.csv"),
    ("why", "why {} -- true"),
    ("parse", "parse {} sweep.csv"),
    ("grade", "grade {} sweep.csv"),
    ("check", "check {} sweep.csv"),
    ("explain", "explain {} sweep.csv"),
    ("model", "model {} sweep.csv"),
    ("report", "report {} sweep.csv"),
    ("plot", "plot {} sweep.csv"),
    ("watch", "watch {} --count 1 --interval 0.1"),
    ("compare", "compare {} sweep.csv sweep.csv"),
    ("versus", "versus {} --accept nothing-moved --rest 0 -- --name=a --ioengine=sim --size=1m --rw=read"),
    ("cluster", "cluster {} --local 2 fio --name=a --ioengine=sim --size=1m --rw=read"),
    (
        "gate",
        "gate {} --tolerance 50% new-1.json,new-2.json,new-3.json,new-4.json,new-5.json --against old-1.json,old-2.json,old-3.json,old-4.json,old-5.json",
    ),
    ("history", "history {} --store plumb.db"),
    ("trend", "trend {} --store plumb.db"),
    ("store where", "store where {} --store plumb.db"),
    ("store list", "store list {} --store plumb.db"),
    ("store add", "store add {} --store plumb.db more.json"),
    ("store check", "store check {} --store plumb.db"),
    ("store export", "store export {} --store plumb.db last"),
    ("store forget", "store forget {} --store plumb.db last"),
    ("store rebuild", "store rebuild {} --store plumb.db"),
    ("store name", "store name {} --store plumb.db last nightly"),
    ("store off", "store off {} --store plumb.db"),
    ("store on", "store on {} --store plumb.db"),
];

/// Commands that change something and print what they did, which `--quiet` leaves out.
const QUIET_CHANGES: [&str; 5] = ["store forget", "store rebuild", "store name", "store off", "store on"];

/// The reasons for which a command has not one of these options.
const REASONS: [&str; 2] = [
    "only plumb survey, plumb knee and plumb capacity write a page next to their result",
    "knee --iozone writes no page; leave out --no-report",
];

/// A directory with the files of the table.
fn stage() -> Place {
    let place = place();
    place.write("sweep.csv", SWEEP);
    place.write("idle.csv", IDLE);
    place.write("part.csv", format!("{SWEEP}randread,64,8K,many,3,1,2,3,4\n"));
    place.write("none.txt", "hello\n");
    place.directory("disk");
    place
}

/// A run whose store is in the directory.
fn start(place: &Place, command: &str, words: &str) -> Run {
    plumb(place, command).words(words).env("XDG_DATA_HOME", place.file("data"))
}

fn run(place: &Place, command: &str, words: &str) -> Transcript {
    start(place, command, words).end()
}

#[test]
fn every_command_ends_with_its_documented_statuses() {
    let place = stage();
    for &(command, words, status) in STATUSES {
        let run = run(&place, command, words).exits(status);
        assert!(status == 0 || status == 4 || !run.stderr.is_empty(), "it does not say why: {run}");
    }
}

#[test]
fn the_document_has_the_statuses_that_were_tested() {
    let document = include_str!("../../../docs/scripts.md");
    let (_, table) = document.split_once("| status |").expect("the table of statuses");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let mut documented: BTreeSet<(String, String)> = BTreeSet::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let commands = cells[2].split(',').map(|name| name.trim().trim_matches('`').to_owned());
        documented.extend(commands.map(|command| (command, cells[0].to_owned())));
    }
    let tested = STATUSES.iter().map(|(command, _, status)| (command.to_string(), status.to_string()));
    let elsewhere = ELSEWHERE.iter().map(|&(command, status)| (command.to_owned(), status.to_owned()));
    assert_eq!(documented, tested.chain(elsewhere).collect());
}

/// The cells of the first table in the document, by command and option.
fn documented_cells() -> Vec<(String, Vec<bool>)> {
    let document = include_str!("../../../docs/scripts.md");
    let (_, table) = document.split_once("| command |").expect("the table of options");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim().trim_start_matches('|').split('|').map(str::trim).collect();
        let works: Vec<bool> = cells[1..=SHARED.len()].iter().map(|cell| !cell.is_empty()).collect();
        let commands = cells[0].split(',').map(|name| name.trim().trim_matches('`').to_owned());
        commands.map(|command| (command, works.clone())).collect::<Vec<_>>()
    };
    rows.flat_map(row).collect()
}

/// The files of [`stage`], six results of two sets, a store and one result that is not in it.
fn stage_with_store() -> Place {
    static STORE: std::sync::LazyLock<(Vec<u8>, Vec<u8>)> = std::sync::LazyLock::new(crate::store::eight_nights);
    let place = stage();
    crate::compare::write(place.path(), "old", &crate::compare::OLD, 1_700_000_000);
    crate::compare::write(place.path(), "new", &crate::compare::OLD, 1_700_000_050);
    place.write("trace.csv", crate::fidelity::trace(10_000, 1));
    place.write("plumb.db", &STORE.0);
    place.write("more.json", &STORE.1);
    place
}

/// Says what is wrong with a cell, if anything is.
fn wrong_with(words: &str, option: &str, works: bool) -> Option<String> {
    if words.starts_with("why") && !rustix::process::geteuid().is_root() {
        // why::without_root_it_is_refused_with_what_would_work
        return None;
    }
    let place = stage_with_store();
    if words.starts_with("durable") {
        crate::durable::write_until_killed(&place, "fsync");
    }
    let run = run(&place, "", &words.replace("{}", option));
    let Transcript { status, stdout: shown, stderr: error, .. } = &run;
    let complaint = |why: &str| Some(format!("{why}: {run}"));
    if !works {
        let has_reason = REASONS.iter().any(|reason| error.contains(reason));
        // 1 would be an answer of `versus`.
        let refused = if ["versus", "gate", "ask", "durable", "fidelity"].iter().any(|name| words.starts_with(name)) {
            3
        } else {
            1
        };
        return if *status == Some(refused) && has_reason { None } else { complaint("no reason") };
    }
    if *status != Some(0) {
        return complaint("it fails");
    }
    let is_json = |text: &str| serde_json::from_str::<Value>(text).is_ok();
    let is_written = |name: &str| std::fs::metadata(place.file(name)).is_ok_and(|file| file.len() > 0);
    match option {
        "--json" if !is_json(shown) => complaint("no JSON"),
        "-o out.txt" | "-o out.svg" if !is_written(&option[3..]) => complaint("no file"),
        "--quiet" if QUIET_CHANGES.iter().any(|name| words.starts_with(name)) && !shown.is_empty() => {
            complaint("it is not quiet")
        }
        "-o -" if shown.is_empty() || place.has("-") => complaint("a file called -"),
        "-o -" if ["survey", "knee", "capacity"].iter().any(|name| words.starts_with(name)) && !is_json(shown) => {
            complaint("not the result alone")
        }
        _ => None,
    }
}

#[test]
fn every_shared_option_works_as_documented_or_is_refused() {
    let documented = documented_cells();
    let names: Vec<&str> = documented.iter().map(|(command, _)| command.as_str()).collect();
    assert_eq!(names, CELLS.iter().map(|(name, _)| *name).collect::<Vec<_>>(), "the rows of docs/scripts.md");
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let cells = CELLS.iter().zip(&documented).flat_map(|((_, words), (_, works))| {
            SHARED.iter().zip(works).map(move |(option, works)| (*words, *option, *works))
        });
        let started: Vec<_> = cells
            .map(|(words, option, works)| {
                // The lines of `watch` are JSON in any case.
                let words = if words.starts_with("watch") && option != "--json" {
                    words.replace("{}", "{} --json")
                } else {
                    words.to_owned()
                };
                // A drawing has its format by the name of its file.
                let option = match words.split(' ').next() {
                    Some("report" | "plot" | "compare") if option == "-o out.txt" => "-o out.svg",
                    _ => option,
                };
                scope.spawn(move || wrong_with(&words, option, works))
            })
            .collect();
        started.into_iter().filter_map(|cell| cell.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{} cells:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_result_of_fio_and_iozone_goes_into_a_pipe_alone() {
    let place = stage();
    let before = place.names();
    let fio = "--name=a --ioengine=null --size=1m --result=-";
    let iozone = "-i 0 -s 64k -r 4k -f disk/f";
    for (command, words) in
        [("fio", fio), ("fio", &format!("{fio} --eta=always --debug=io")), ("iozone", &format!("{iozone} --json -"))]
    {
        let run = run(&place, command, words).exits(0);
        let value = run.json();
        assert!(value["result"]["jobs"].is_array() || value["tests"].is_array(), "{value}");
        assert_eq!(run.stderr.is_empty(), !words.contains("--debug"), "debug lines of workers stay visible");
    }
    // fio's own output stays where it was asked for.
    run(&place, "fio", &format!("{fio} --output=fio.txt")).json();
    let report = place.read("fio.txt");
    assert!(report.contains("Run status group 0"), "{report}");
    std::fs::remove_file(place.file("fio.txt")).unwrap();
    assert_eq!(place.names(), before, "no file called -");
    // What went through the pipe is a result like any other.
    place.write("piped.json", run(&place, "iozone", &format!("{iozone} --json -")).stdout);
    let parsed = run(&place, "parse", "piped.json").stdout;
    assert_eq!(parsed.lines().filter(|line| line.contains(" 4K w ")).count(), 2, "write and rewrite: {parsed}");
    // A failure is stated, and is not a result.
    let failed = run(&place, "iozone", "-i 0 -s 64k -r 4k -f /does/not/exist --json -").fails();
    assert!(failed.stdout.is_empty() && !failed.stderr.is_empty(), "{failed}");
}

#[test]
fn a_signal_is_in_the_status() {
    let place = stage();
    for (command, words) in [
        ("knee", "--users 1 --time 30s --size 16M --no-report disk"),
        ("watch", "--json --interval 0.1"),
        ("model", "--run disk --size 64M --time 5s"),
    ] {
        let mut running = start(&place, command, words).start();
        assert!(!running.line().is_empty(), "it has begun");
        running.signal(Signal::TERM);
        running.end().exits(143);
    }
}

#[test]
fn a_closed_pipe_ends_every_command_quietly() {
    let place = stage();
    for &(command, words, _) in STATUSES.iter().filter(|(.., status)| *status == 0) {
        for form in ["", "--json"] {
            let words = match (command, form) {
                ("watch", _) => words.to_owned(),
                ("report", "--json") => "--json sweep.csv".to_owned(),
                _ => format!("{form} {words}"),
            };
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            let run = start(&place, command, &words).output_to(writer).exits(1);
            // A survey has said what it will write before it meets the pipe.
            assert!(run.stderr.lines().all(|line| line.starts_with("plumb: Wear: ")), "{run}");
        }
    }
}

#[test]
fn json_is_alone_on_standard_output() {
    let place = stage();
    for (command, words, key) in [
        ("survey", SIMULATED, "tests"),
        ("knee", "--users 1 --time 1s --size 16M", "tests"),
        ("parse", "sweep.csv", "readings"),
        ("grade", "sweep.csv", "cards"),
        ("check", "idle.csv", "results"),
        ("explain", "sweep.csv", "results"),
        ("model", "sweep.csv", "models"),
        ("report", "sweep.csv", "numbers"),
        ("plot", "sweep.csv", "pictures"),
        ("versus", "--accept nothing-moved --rest 0 -- --name=a --ioengine=sim --size=1m --rw=read", "pairs"),
        ("watch", "--count 1 --interval 0.1", "devices"),
    ] {
        let target = if ["survey", "knee"].contains(&command) { "disk" } else { "" };
        let value = run(&place, command, &format!("--json {words} {target}")).exits(0).json();
        let shown = &value[key];
        assert!(
            shown.is_object() || shown.as_array().is_some_and(|list| !list.is_empty() || command == "watch"),
            "{value}"
        );
    }
}

#[test]
fn a_result_goes_into_a_pipe_without_a_file() {
    let place = stage();
    let survey = run(&place, "survey", &format!("{SIMULATED} -o - {}", place.word("disk"))).exits(0);
    assert_eq!(survey.json()["tests"].as_array().map(Vec::len), Some(1));
    let before = ["disk", "idle.csv", "none.txt", "part.csv", "sweep.csv"];
    assert_eq!(place.names(), before, "no result, no page, no file called -");
    let error = &survey.stderr;
    assert!(
        error.starts_with("plumb: Wear: 16M are written before the first test") && error.lines().count() == 1,
        "{error}"
    );
    // What came through the pipe is a result like any other.
    place.write("s.json", &survey.stdout);
    run(&place, "parse", "s.json").prints("randread");
}

#[test]
fn quiet_is_the_result_and_nothing_else() {
    let place = stage();
    let quiet = run(&place, "survey", &format!("--quiet --no-report {SIMULATED} disk")).exits(0).silent();
    let shown = &quiet.stdout;
    assert!(shown.trim_start().starts_with("test "), "the table is first: {shown}");
    assert!(!shown.contains("Survey of") && !shown.contains("Result:") && !shown.contains("Report:"), "{shown}");
    let usual = run(&place, "survey", &format!("--no-report {SIMULATED} disk"));
    usual.prints("Wear: 16M are written before the first test").prints("Result:");
    assert!(!place.names().iter().any(|name| name.ends_with(".html")), "--no-report");

    // The same run as JSON and as text: one of the two counts, and a remark says so.
    let words = "--name=a --ioengine=null --size=1m --output-format=json,normal --output=twice.txt";
    run(&place, "fio", words).exits(0);
    for command in ["parse", "check", "explain"] {
        let loud = run(&place, command, "twice.txt").complains("twice.txt:");
        let still = run(&place, command, "--quiet twice.txt").silent();
        assert_eq!(still.status, loud.status);
    }
    let summed = run(&place, "check", "twice.txt").prints("1 result judged").stdout;
    let findings = run(&place, "check", "--quiet twice.txt").stdout;
    assert!(summed.starts_with(&findings) && !findings.is_empty(), "{findings}");
}

#[test]
fn output_goes_to_a_file_or_to_standard_output() {
    let place = stage();
    for command in ["parse", "grade", "check", "explain"] {
        let plain = run(&place, command, "sweep.csv").stdout;
        assert_eq!(run(&place, command, "-o - sweep.csv").stdout, plain, "{command}");
        assert_eq!(run(&place, command, "-o out.txt sweep.csv").stdout, "", "{command}");
        assert_eq!(place.read("out.txt"), plain, "{command}");
    }
    let svg = run(&place, "plot", "sweep.csv -o -").stdout;
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{}", &svg[..svg.len().min(200)]);
    let page = run(&place, "report", "sweep.csv -o -").stdout;
    assert!(page.to_lowercase().starts_with("<!doctype html>"), "{}", &page[..page.len().min(200)]);
}

#[test]
fn a_host_has_its_own_name_unless_another_is_asked_for() {
    let place = stage();
    // Not simulated: rounds of equal numbers would count as one report that was copied.
    let saved = |words: &str| -> Value {
        let tests = "--tests randread --users 1 --time 1 --warm-up 0 --size 16M";
        run(&place, "survey", &format!("{tests} -o - -q {words} disk")).json()
    };
    let host = |value: &Value| value["tests"][0]["result"]["environment"]["host"].clone();
    assert_eq!(host(&saved("--host=")), Value::Null);
    let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert_eq!(host(&saved("")), own.trim());
    let named = saved("--host=rack-7 --repeat 2");
    assert_eq!(host(&named), "rack-7");
    place.write("named.json", named.to_string());
    let table = run(&place, "parse", "-l named.json").stdout;
    let heads: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(heads[..7], ["test", "host", "round", "time", "source", "users", "depth"], "{table}");
    let rounds: Vec<&str> = table.lines().skip(2).map(|line| line.split_whitespace().nth(2).unwrap()).collect();
    assert_eq!(rounds, ["1", "2"], "{table}");
    for (format, cells) in [("csv", ",rack-7,20"), ("markdown", "| rack-7 | 2 | 20"), ("r", "\"rack-7\", \"20")] {
        run(&place, "parse", &format!("-l -f {format} named.json")).prints(cells);
    }
    run(&place, "parse", "-f xlsx -o a.xlsx named.json").exits(0);
    let script = "import zipfile; print(zipfile.ZipFile('a.xlsx').read('xl/sharedStrings.xml').decode())";
    let cells = Run::new("python3", &place).words(["-c", script]).succeeds();
    cells.prints(">host<").prints(">rack-7<").prints(">mib_per_second<");
    // The page has the host among its facts.
    run(&place, "report", "named.json -o -").prints("rack-7");
}
