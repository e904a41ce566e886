//! `plumb fio` from outside: what goes where, in which order, and the exit status.

use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const JOB: [&str; 4] = ["--name=a", "--ioengine=null", "--size=1m", "--bs=4k"];

fn fio(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plumb"));
    command.arg("fio").args(words);
    command
}

/// Status, standard output and standard error.
fn outcome(words: &[&str]) -> (Option<i32>, String, String) {
    let output = fio(words).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn with_job(words: &[&str]) -> Vec<String> {
    words.iter().chain(&JOB).map(|&word| word.to_owned()).collect()
}

fn outcome_with_job(words: &[&str]) -> (Option<i32>, String, String) {
    let words = with_job(words);
    outcome(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Byte offsets of `parts` in `text`, in which they must all be.
fn places<const N: usize>(text: &str, parts: [&str; N]) -> [usize; N] {
    parts.map(|part| text.find(part).unwrap_or_else(|| panic!("`{part}` is missing in\n{text}")))
}

#[test]
fn a_run_prints_job_version_start_and_report_in_this_order() {
    let (status, shown, error) = outcome_with_job(&[]);
    assert_eq!((status, error.as_str()), (Some(0), ""), "{shown}");
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with("a: (g=0): rw=read, bs=(R) 4096B-4096B"), "{shown}");
    assert!(lines[1].starts_with("fio-3.42-plumb-"), "{shown}");
    assert_eq!(lines[2..4], ["Starting 1 process", ""], "{shown}");
    assert!(lines[4].starts_with("a: (groupid=0, jobs=1): err= 0: pid="), "{shown}");
    assert!(shown.contains("Run status group 0 (all jobs):"), "{shown}");
}

#[test]
fn json_alone_is_nothing_but_json() {
    let (status, shown, _) = outcome_with_job(&["--output-format=json"]);
    assert_eq!(status, Some(0));
    let parsed: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(parsed["jobs"][0]["read"]["total_ios"], 256);
}

#[test]
fn json_comes_before_the_report_however_they_are_asked_for() {
    for formats in ["--output-format=json,normal", "--output-format=normal,json", "--output-format=normal,json+"] {
        let (status, shown, _) = outcome_with_job(&[formats]);
        assert_eq!(status, Some(0), "{shown}");
        let found = places(&shown, ["rw=read", "Starting 1 process", "\n{", "\"jobs\" :", "(groupid=0", "Run status"]);
        assert!(found.is_sorted(), "{formats}: {found:?}");
        assert_eq!(shown.contains("\"bins\""), formats.ends_with("json+"), "{formats}");
    }
}

#[test]
fn terse_comes_first_however_it_is_asked_for() {
    for (words, parts) in [
        (&["--output-format=normal,json,terse"][..], &["rw=read", "\n3;fio-3.42", "\n{", "(groupid=0"][..]),
        (&["--append-terse"], &["rw=read", "\n3;fio-3.42", "(groupid=0"]),
        (&["--output-format=json", "--append-terse", "--terse-version=5"], &["5;fio-3.42", "\n{"]),
    ] {
        let (status, shown, _) = outcome_with_job(words);
        assert_eq!(status, Some(0), "{shown}");
        let found: Vec<usize> = parts.iter().map(|&part| places(&shown, [part])[0]).collect();
        assert!(found.is_sorted(), "{words:?}: {found:?}");
        assert_eq!(shown.contains("(groupid=0"), parts.contains(&"(groupid=0"), "{words:?}");
    }
}

#[test]
fn minimal_is_one_line_per_job_and_the_last_format_wins() {
    for (words, fields) in [
        (&["--minimal"][..], 121),
        (&["--output-format=terse"], 121),
        (&["--output-format=csv", "--append-terse"], 121),
        (&["--output-format=json", "--minimal", "--terse-version=2"], 161),
        (&["--terse-version=4", "--minimal"], 162),
        (&["--minimal", "--terse-version=5"], 180),
    ] {
        let (status, shown, error) = outcome_with_job(words);
        assert_eq!((status, error.as_str(), shown.lines().count()), (Some(0), "", 1), "{words:?}: {shown}");
        assert_eq!(shown.split(';').count(), fields, "{words:?}: {shown}");
    }
    let (_, shown, _) = outcome_with_job(&["--minimal", "--output-format=json"]);
    assert!(shown.starts_with('{'), "{shown}");
}

#[test]
fn output_goes_to_a_file_and_nothing_to_the_screen() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("o.txt");
    let option = format!("--output={}", path.display());
    let (status, shown, error) = outcome_with_job(&[&option]);
    assert_eq!((status, shown.as_str(), error.as_str()), (Some(0), "", ""));
    let written = std::fs::read_to_string(&path).unwrap();
    places(&written, ["a: (g=0)", "Starting 1 process", "Run status group 0"]);
}

#[test]
fn mistakes_are_printed_with_status_one() {
    for (words, hint) in [
        (&["--nosuch"][..], "nosuch"),
        (&["--name=x", "--bs=foo"], "foo"),
        (&["--name=x", "--rww=read"], "rw"),
        (&["--name=x", "--ioengine=nosuch", "--size=1m"], "nosuch"),
        (&["/does/not/exist.fio"], "/does/not/exist.fio"),
        (&[], "No job"),
    ] {
        let (status, _, error) = outcome(words);
        assert_eq!(status, Some(1), "{words:?}");
        assert!(error.contains(hint), "{words:?}\n{error}");
    }
}

#[test]
fn mistakes_go_to_the_output_file_too() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("o.txt");
    let option = format!("--output={}", path.display());
    let (status, _, _) = outcome(&[&option, "--name=x", "--bs=foo"]);
    assert_eq!(status, Some(1));
    assert!(std::fs::read_to_string(&path).unwrap().contains("foo"));
}

#[test]
fn parse_only_runs_nothing() {
    let (status, shown, _) = outcome_with_job(&["--parse-only"]);
    assert_eq!(status, Some(0));
    assert!(!shown.contains("Run status"), "{shown}");
}

#[test]
fn showcmd_gives_a_command_line() {
    let (status, shown, _) = outcome_with_job(&["--showcmd"]);
    assert_eq!(status, Some(0));
    assert!(shown.starts_with("fio ") && shown.contains("--name=a") && shown.contains("--ioengine=null"), "{shown}");
}

#[test]
fn help_has_examples_and_engines_and_options_are_listed() {
    let (status, shown, _) = outcome(&["--help"]);
    assert_eq!(status, Some(0));
    assert!(shown.contains("--output-format"), "{shown}");
    let (status, shown, _) = outcome(&["--enghelp"]);
    assert_eq!(status, Some(0));
    assert!(shown.contains("libaio") && shown.contains("io_uring"), "{shown}");
    assert_eq!(outcome(&["--enghelp=nosuch"]).0, Some(1));
    let (status, shown, _) = outcome(&["--cmdhelp=bs"]);
    assert_eq!(status, Some(0));
    assert!(shown.contains("blocksize"), "{shown}");
}

/// Words of a job whose every clone fails: nothing can be made in /sys.
fn failing(clones: u32) -> Vec<String> {
    ["--name=a", "--thread", "--rw=write", "--size=4k", "--ioengine=psync", "--filename=/sys/kernel/nope/f"]
        .iter()
        .map(|&word| word.to_owned())
        .chain([format!("--numjobs={clones}")])
        .collect()
}

#[test]
fn the_status_counts_failed_jobs_and_never_wraps_to_success() {
    for (clones, expected) in [(1, 1), (3, 3), (256, 255)] {
        let words = failing(clones);
        let (status, shown, error) = outcome(&words.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(status, Some(expected), "{clones} clones\n{shown}{error}");
    }
}

#[test]
fn an_interrupt_still_reports_and_ends_with_128() {
    let child = fio(&["--name=a", "--ioengine=null", "--size=1t", "--time_based", "--runtime=60"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    kill_process(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(128), "{shown}");
    let found = places(&shown, ["Starting 1 process", "fio: terminating on signal 2", "Run status group 0"]);
    assert!(found.is_sorted(), "{shown}");
}

#[test]
fn a_closed_pipe_ends_quietly_with_a_failure() {
    let words = with_job(&["--output-format=normal,json"]).join(" ");
    let script = format!("{} fio {words} | exec true; echo ${{PIPESTATUS[0]}}", env!("CARGO_BIN_EXE_plumb"));
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "1\n");
}

#[test]
fn a_full_disk_under_the_results_is_reported() {
    let (status, _, error) = outcome_with_job(&["--output=/dev/full"]);
    assert_eq!(status, Some(1));
    assert!(error.contains("/dev/full: no space left for the results"), "{error}");
    let to_full = fio(&["--version"]).stdout(std::fs::File::create("/dev/full").unwrap()).output().unwrap();
    assert_eq!(to_full.status.code(), Some(1));
    assert!(String::from_utf8(to_full.stderr).unwrap().contains("standard output: no space left"));
}

#[test]
fn a_job_file_is_run_section_by_section() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("two.fio");
    std::fs::write(&path, "[global]\nioengine=null\nsize=1m\n[first]\nrw=read\n[second]\nrw=randwrite\n").unwrap();
    let run = |words: &[&str]| {
        let mut all = words.to_vec();
        all.push(path.to_str().unwrap());
        outcome(&all)
    };
    let (status, shown, _) = run(&[]);
    assert_eq!(status, Some(0), "{shown}");
    places(
        &shown,
        ["first: (g=0)", "second: (g=0)", "Starting 2 processes", "first: (groupid=0", "second: (groupid=0"],
    );
    let (_, shown, _) = run(&["--section=second"]);
    assert!(!shown.contains("first: (g=0)") && shown.contains("second: (groupid=0"), "{shown}");
}

#[test]
fn a_job_file_may_come_through_a_pipe() {
    let place = tempfile::tempdir().unwrap();
    let text = "[piped]\nioengine=null\nsize=64k\n";
    let pipe = place.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::write(pipe, text)
    });
    let (status, shown, error) = outcome(&[pipe.to_str().unwrap()]);
    writer.join().unwrap().unwrap();
    assert!(status == Some(0) && shown.contains("piped: "), "{shown}{error}");
    let given = place.path().join("given");
    std::fs::write(&given, text).unwrap();
    for name in ["-", "/dev/stdin"] {
        let output = fio(&[name]).stdin(std::fs::File::open(&given).unwrap()).output().unwrap();
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && shown.contains("piped: "), "{name}: {shown}");
    }
}

#[test]
fn the_live_line_is_drawn_when_asked_for_and_only_then() {
    let job = ["--name=a", "--ioengine=null", "--size=1t", "--time_based", "--runtime=2"];
    let live = |option: &str| outcome(&[&[option][..], &job].concat()).1;
    assert!(live("--eta=always").contains("Jobs: 1 (f="));
    assert!(!live("--eta=never").contains("Jobs: 1"));
    assert!(!live("--eta=auto").contains("Jobs: 1"), "no terminal, no live line");
}

#[test]
fn read_only_refuses_to_write() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("f");
    let name = format!("--filename={}", file.display());
    let (status, ..) = outcome(&["--readonly", "--name=a", "--rw=write", "--size=1m", "--ioengine=psync", &name]);
    assert_eq!(status, Some(1));
    assert!(!Path::new(&file).exists());
}

#[test]
fn a_good_run_leaves_standard_error_empty() {
    let place = tempfile::tempdir().unwrap();
    let file = format!("--filename={}", place.path().join("f").display());
    let job = ["--name=a", "--rw=write", "--size=64k", &file];
    let ring = outcome(&[&job[..], &["--ioengine=io_uring"]].concat());
    assert_eq!((ring.0, ring.2.as_str()), (Some(0), ""));
    let followed = outcome(&[&job[..], &["--ioengine=io_uring", "--debug=process"]].concat());
    assert!(
        followed.1.lines().any(|line| line.starts_with("process ") && line.contains(" io_uring: ")),
        "{followed:?}"
    );
    let doubtful = [&job[..], &["--ioengine=psync", "--iodepth=8"]].concat();
    let (status, shown, error) = outcome(&doubtful);
    let doubt = "fio: job `a` (command line): engine psync does one I/O at a time; iodepth=8 is capped at 1";
    assert_eq!((status, error.as_str()), (Some(0), ""));
    assert!(shown.starts_with(doubt), "{shown}");
    let (_, json, error) = outcome(&[&doubtful[..], &["--output-format=json"]].concat());
    let parsed: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(parsed["plumb"]["warnings"][0].as_str().unwrap().contains("iodepth=8 is capped at 1"), "{json}");
    assert_eq!(error, "");
}

#[test]
fn json_has_the_remarks_and_json_full_all_that_was_measured() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("r.json");
    let run = |format: &str| {
        let (_, json, _) = outcome_with_job(&["--bs=512", &format!("--output-format={format}")]);
        std::fs::write(&file, &json).unwrap();
        let found: serde_json::Value = serde_json::from_str(&json).unwrap();
        let plumb = |words: &[&str]| {
            let output =
                Command::new(env!("CARGO_BIN_EXE_plumb")).args(words).current_dir(place.path()).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        let checked = plumb(&["check", "r.json"]);
        plumb(&["report", "r.json", "-o", "page.html"]);
        let page = std::fs::read_to_string(place.path().join("page.html")).unwrap();
        (found["plumb"].clone(), checked, plumb(&["explain", "r.json"]), page)
    };
    for format in ["json", "json+"] {
        let (own, checked, explained, page) = run(format);
        assert!(own["notes"].is_array() && own["monitored"].is_null() && own["lowest_traffic"].is_null(), "{own}");
        for note in own["notes"].as_array().unwrap().iter().filter(|note| note["grade"] != "not_checked") {
            let sentence = note["sentence"].as_str().unwrap();
            assert!(checked.contains(sentence) && explained.contains(sentence), "{note}: {checked}{explained}");
            assert!(page.contains(sentence), "{note} is not in the page");
        }
        assert!(!checked.contains("not checked"), "the run has made all checks: {checked}");
    }
    assert!(run("json-full").0["monitored"]["intervals"].is_array());
}

/// The map of 16 Mi blocks is given back after the job's last I/O, which takes about as long as its thousand I/Os.
#[test]
fn cpu_time_is_that_of_the_measured_part() {
    let words = ["--name=a", "--ioengine=null", "--rw=randread", "--bsrange=4k-8k", "--size=64g", "--number_ios=10000"];
    let (status, shown, message) = outcome(&[&words[..], &["--output-format=json"]].concat());
    assert_eq!(status, Some(0), "{message}");
    let json: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let job = &json["jobs"][0];
    let percent = job["usr_cpu"].as_f64().unwrap() + job["sys_cpu"].as_f64().unwrap();
    assert!(percent > 0.0 && percent < 115.0, "{percent} % of one processor in one thread");
}

#[test]
fn a_job_name_does_not_steer_the_terminal() {
    let (status, shown, _) = outcome(&["--name=a\x1b[31m\nb", "--ioengine=null", "--size=1m"]);
    assert_eq!(status, Some(0));
    assert!(!shown.contains('\x1b') && shown.contains("\na␛[31m␊b: (groupid=0"), "{shown}");
    let (_, json, _) = outcome(&["--name=a\x1b[31m\nb", "--ioengine=null", "--size=1m", "--output-format=json"]);
    let parsed: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(parsed["jobs"][0]["jobname"], "a\x1b[31m\nb", "data is not changed");
}

#[test]
fn neither_showcmd_nor_debug_steers_the_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("strange.fio");
    std::fs::write(&path, "[a\x1b[31m\u{202e}]\nsize=4k\nioengine=null\ndescription=b\x07\n").unwrap();
    let file = path.to_str().unwrap();
    let (_, shown, _) = outcome(&["--untrusted", "--showcmd", file]);
    for word in [r"--name=$'a\033[31m\342\200\256' ", r"--description=$'b\007'"] {
        assert!(shown.contains(word), "{shown}");
    }
    assert!(!shown.contains(['\x1b', '\x07', '\u{202e}']), "{shown}");
    for subjects in ["parse", "all"] {
        let (status, shown, message) = outcome(&["--untrusted", &format!("--debug={subjects}"), file]);
        assert_eq!(status, Some(0), "{message}");
        assert!(shown.contains("ptr=a␛[31m\u{fffd}") && shown.contains("ptr=b␇"), "{shown}");
        let steers = |text: &str| text.contains(['\x1b', '\x07', '\u{202e}']);
        assert!(!steers(&shown) && !steers(&message), "{shown}{message}");
    }
}

#[test]
fn a_signal_ends_company_within_a_cycle_of_many_years() {
    for mode in ["noop", "qsort"] {
        let words = ["--name=a", "--ioengine=cpuio", "--cpuload=50", "--cpuchunks=9223372036854775us", "--runtime=600"];
        let child = fio(&[&words[..], &[&format!("--cpumode={mode}")]].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(1500));
        let begun = std::time::Instant::now();
        kill_process(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), Signal::TERM).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(128), "{mode}");
        assert!(begun.elapsed() < Duration::from_secs(20), "{mode}: {:?}", begun.elapsed());
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(shown.contains("fio: terminating on signal 15") && shown.contains("Run status group 0"), "{shown}");
    }
}

#[test]
fn a_runtime_ends_company_within_a_cycle() {
    let begun = std::time::Instant::now();
    let (status, ..) =
        outcome(&["--name=a", "--ioengine=cpuio", "--cpuload=50", "--cpuchunks=100000000", "--runtime=1"]);
    assert_eq!(status, Some(0));
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn a_file_whose_layout_is_interrupted_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("f");
    let name = format!("--filename={}", file.display());
    let mut child = fio(&["--name=a", "--size=8g", "--rw=read", "--ioengine=psync", &name])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = std::time::Instant::now();
    while !file.exists() && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(128));
    assert!(!file.exists(), "its full size would be taken for a file that is laid out");
}

#[test]
fn the_help_fits_a_terminal_of_80_columns() {
    let (status, shown, _) = outcome(&["--help"]);
    assert_eq!(status, Some(0));
    let wide: Vec<&str> = shown.lines().filter(|line| line.chars().count() > 79).collect();
    assert!(wide.is_empty(), "{wide:#?}");
    assert!(shown.contains("--minimal") && shown.contains("--output=FILE"), "{shown}");
}

#[test]
fn a_terminal_that_hangs_up_ends_the_run_with_its_report() {
    // nohup makes all processes below it ignore the signal; this one is to end.
    let mut child = std::process::Command::new("env")
        .args(["--default-signal=HUP", env!("CARGO_BIN_EXE_plumb"), "fio", "--name=a", "--ioengine=null", "--size=1t"])
        .args(["--time_based", "--runtime=20"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(1));
    kill_process(Pid::from_child(&child), Signal::HUP).unwrap();
    let mut shown = String::new();
    std::io::Read::read_to_string(child.stdout.as_mut().unwrap(), &mut shown).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(128));
    assert!(shown.contains("terminating on signal 1") && shown.contains("read: IOPS="), "{shown}");
}

#[test]
fn a_second_interrupt_ends_a_run_whose_thread_is_stuck() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // No process writes to the pipe, so opening it waits forever.
    let name = format!("--filename={}", pipe.display());
    let mut child = fio(&["--name=stuck", &name, "--size=4k", "--thread"]).stdout(Stdio::piped()).spawn().unwrap();
    let pid = Pid::from_child(&child);
    let began = std::time::Instant::now();
    for _ in 0..2 {
        std::thread::sleep(Duration::from_millis(700));
        kill_process(pid, Signal::INT).unwrap();
    }
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > Duration::from_secs(20) {
            child.kill().unwrap();
            panic!("it is still there");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(128));
    assert!(String::from_utf8_lossy(&output.stdout).contains("terminating on signal 2"));
}

#[test]
fn a_trigger_file_ends_the_run_and_its_command_is_run() {
    let folder = tempfile::tempdir().unwrap();
    let (pull, mark) = (folder.path().join("pull"), folder.path().join("mark"));
    std::fs::write(&pull, "").unwrap();
    let words = [
        format!("--trigger-file={}", pull.display()),
        format!("--trigger=touch {}", mark.display()),
        "--runtime=30".to_owned(),
        "--time_based".to_owned(),
        "--rate_iops=100".to_owned(),
    ];
    let began = std::time::Instant::now();
    let (status, _, _) = outcome_with_job(&words.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(status, Some(0));
    assert!(mark.exists() && !pull.exists() && began.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_run_that_waits_for_a_regime_says_how_it_ended() {
    let (status, out, error) =
        outcome_with_job(&["--until-regime=settled", "--runtime=1", "--time_based", "--output-format=json"]);
    assert_eq!(status, Some(0), "{error}");
    assert!(error.contains("it ran to its end: its rate had not settled after"), "{error}");
    let found: serde_json::Value = serde_json::from_str(&out).unwrap();
    let ended = &found["plumb"]["until_regime"];
    assert!(ended["until"] == "settled" && ended["reached"] == false, "{ended}");
    let (status, _, error) = outcome_with_job(&["--until-regime=noise"]);
    assert_eq!(status, Some(1));
    assert!(error.contains("--until-regime=noise: it takes change"), "{error}");
    let (status, _, error) =
        outcome(&["--until-regime=change", "--name=a", "--ioengine=sim", "--rw=read", "--size=1m", "--filename=a"]);
    assert_eq!(status, Some(1));
    assert!(error.contains("runs in simulated time (ioengine=sim)"), "{error}");
}

#[test]
fn no_trigger_fires_after_a_signal_to_a_worker() {
    let folder = tempfile::tempdir().unwrap();
    // The trigger falls due while the worker, which was ended by its signal, still runs its last command.
    let words = with_job(&[
        "--trigger-timeout=2",
        "--trigger=touch mark",
        "--exec_postrun=sleep 3",
        "--runtime=30",
        "--time_based",
        "--rate_iops=100",
    ]);
    let mut run = fio(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let mut run = run.current_dir(folder.path()).stdout(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(700));
    let id = run.id();
    let worker = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
    assert!(Command::new("kill").args(["-TERM", worker.trim()]).status().unwrap().success());
    run.wait().unwrap();
    assert!(folder.path().join("a.postrun.txt").exists() && !folder.path().join("mark").exists());
}

#[test]
fn idle_cpus_are_in_text_and_json() {
    let (status, text, _) =
        outcome_with_job(&["--idle-prof=percpu", "--output-format=json,normal", "--runtime=1", "--time_based"]);
    assert_eq!(status, Some(0));
    for part in ["\"cpu_idleness\" : {", "\"cpu-0\" : ", "\"unit_mean\" : ", "CPU idleness:\n  system: ", "  percpu: "]
    {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}
