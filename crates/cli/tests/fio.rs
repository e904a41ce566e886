//! `plumb fio` from outside: what goes where, in which order, and the exit status.

use crate::context::{PLUMB, fio, job_file, place, plumb};
use house::{Process, Run, Transcript, Words, catches, children, processor_ticks, signal, wait_for};
use rustix::process::Signal;
use std::path::Path;
use std::time::Duration;

const JOB: &str = "--name=a --ioengine=null --size=1m --bs=4k";

/// `plumb fio` in a directory of the test.
fn run(words: impl Words) -> Run {
    fio(place(), words)
}

/// The same with a job.
fn job(words: impl Words) -> Run {
    run(words).words(JOB)
}

/// Byte offsets of `parts` in `text`, in which they must all be.
fn places<const N: usize>(text: &str, parts: [&str; N]) -> [usize; N] {
    parts.map(|part| text.find(part).unwrap_or_else(|| panic!("`{part}` is missing in\n{text}")))
}

#[test]
fn a_run_prints_job_version_start_and_report_in_this_order() {
    let shown = job("").succeeds().silent().stdout;
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with("a: (g=0): rw=read, bs=(R) 4096B-4096B"), "{shown}");
    assert!(lines[1].starts_with("fio-3.42-plumb-"), "{shown}");
    assert_eq!(lines[2..4], ["Starting 1 process", ""], "{shown}");
    assert!(lines[4].starts_with("a: (groupid=0, jobs=1): err= 0: pid="), "{shown}");
    assert!(shown.contains("Run status group 0 (all jobs):"), "{shown}");
}

#[test]
fn json_alone_is_nothing_but_json() {
    let parsed = job(["--output-format=json"]).json();
    assert_eq!(parsed["jobs"][0]["read"]["total_ios"], 256);
}

#[test]
fn json_comes_before_the_report_however_they_are_asked_for() {
    for formats in ["--output-format=json,normal", "--output-format=normal,json", "--output-format=normal,json+"] {
        let shown = job([formats]).stdout();
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
        let shown = job(words).stdout();
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
        let shown = job(words).succeeds().silent().stdout;
        assert_eq!(shown.lines().count(), 1, "{words:?}: {shown}");
        assert_eq!(shown.split(';').count(), fields, "{words:?}: {shown}");
    }
    let shown = job(["--minimal", "--output-format=json"]).end().stdout;
    assert!(shown.starts_with('{'), "{shown}");
}

#[test]
fn output_goes_to_a_file_and_nothing_to_the_screen() {
    let directory = place();
    let path = directory.path().join("o.txt");
    let option = format!("--output={}", path.display());
    let shown = job([&option]).succeeds().silent().stdout;
    assert_eq!(shown.as_str(), "");
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
        run(words).exits(1).complains(hint);
    }
}

#[test]
fn mistakes_go_to_the_output_file_too() {
    let directory = place();
    let path = directory.path().join("o.txt");
    let option = format!("--output={}", path.display());
    run([&option, "--name=x", "--bs=foo"]).exits(1);
    assert!(std::fs::read_to_string(&path).unwrap().contains("foo"));
}

#[test]
fn parse_only_runs_nothing() {
    let shown = job(["--parse-only"]).stdout();
    assert!(!shown.contains("Run status"), "{shown}");
}

#[test]
fn showcmd_gives_a_command_line() {
    let shown = job(["--showcmd"]).stdout();
    assert!(shown.starts_with("fio ") && shown.contains("--name=a") && shown.contains("--ioengine=null"), "{shown}");
}

#[test]
fn help_has_examples_and_engines_and_options_are_listed() {
    run(["--help"]).succeeds().prints("--output-format");
    run(["--enghelp"]).succeeds().prints("libaio").prints("io_uring");
    run("--enghelp=nosuch").exits(1);
    run(["--cmdhelp=bs"]).succeeds().prints("blocksize");
}

#[test]
fn the_status_counts_failed_jobs_and_never_wraps_to_success() {
    for (clones, expected) in [(1, 1), (3, 3), (256, 255)] {
        // Nothing can be made in /sys.
        let words = "--name=a --thread --rw=write --size=4k --ioengine=psync --filename=/sys/kernel/nope/f";
        run(words).words([format!("--numjobs={clones}")]).exits(expected);
    }
}

/// A run whose worker has computed for a while.
fn begun(run: Run) -> Process {
    let running = run.start();
    let is_at_work = || children(running.id()).into_iter().any(|worker| processor_ticks(worker) > 20);
    wait_for("a worker that computes", || is_at_work().then_some(()));
    running
}

#[test]
fn an_interrupt_still_reports_and_ends_with_128() {
    let running = begun(run("--name=a --ioengine=null --size=1t --time_based --runtime=60"));
    running.signal(Signal::INT);
    let shown = running.end().exits(128).stdout;
    let found = places(&shown, ["Starting 1 process", "fio: terminating on signal 2", "Run status group 0"]);
    assert!(found.is_sorted(), "{shown}");
}

#[test]
fn a_closed_pipe_ends_quietly_with_a_failure() {
    let script = format!("{PLUMB} fio --output-format=normal,json {JOB} | exec true; echo ${{PIPESTATUS[0]}}");
    assert_eq!(Run::new("bash", place()).words(["-c", &script]).end().silent().stdout, "1\n");
}

#[test]
fn a_full_disk_under_the_results_is_reported() {
    job(["--output=/dev/full"]).exits(1).complains("/dev/full: no space left for the results");
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    run("--version").output_to(full).exits(1).complains("standard output: no space left");
}

#[test]
fn a_job_file_is_run_section_by_section() {
    let place = place();
    let text = "[global]\nioengine=null\nsize=1m\n[first]\nrw=read\n[second]\nrw=randwrite\n";
    let shown = job_file(&place, text, "").stdout();
    places(
        &shown,
        ["first: (g=0)", "second: (g=0)", "Starting 2 processes", "first: (groupid=0", "second: (groupid=0"],
    );
    let shown = job_file(&place, text, "--section=second").end().stdout;
    assert!(!shown.contains("first: (g=0)") && shown.contains("second: (groupid=0"), "{shown}");
}

#[test]
fn a_job_file_may_come_through_a_pipe() {
    let place = place();
    let text = "[piped]\nioengine=null\nsize=64k\n";
    let pipe = place.path().join("pipe");
    Run::new("mkfifo", &place).words([&pipe]).succeeds();
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::write(pipe, text)
    });
    let Transcript { status, stdout: shown, stderr: error, .. } = run([pipe.to_str().unwrap()]).end();
    writer.join().unwrap().unwrap();
    assert!(status == Some(0) && shown.contains("piped: "), "{shown}{error}");
    for name in ["-", "/dev/stdin"] {
        run(name).input(text).succeeds().prints("piped: ");
    }
}

#[test]
fn the_live_line_is_drawn_when_asked_for_and_only_then() {
    let job = ["--name=a", "--ioengine=null", "--size=1t", "--time_based", "--runtime=2"];
    let live = |option: &str| run([&[option][..], &job].concat()).stdout();
    assert!(live("--eta=always").contains("Jobs: 1 (f="));
    assert!(!live("--eta=never").contains("Jobs: 1"));
    assert!(!live("--eta=auto").contains("Jobs: 1"), "no terminal, no live line");
}

#[test]
fn read_only_refuses_to_write() {
    let directory = place();
    let file = directory.path().join("f");
    let name = format!("--filename={}", file.display());
    run(["--readonly", "--name=a", "--rw=write", "--size=1m", "--ioengine=psync", &name]).exits(1);
    assert!(!Path::new(&file).exists());
}

#[test]
fn a_good_run_leaves_standard_error_empty() {
    let place = place();
    let file = format!("--filename={}", place.path().join("f").display());
    let job = ["--name=a", "--rw=write", "--size=64k", &file];
    run(job).words("--ioengine=io_uring").succeeds().silent();
    let followed = run(job).words("--ioengine=io_uring --debug=process").stdout();
    let is_followed = |line: &str| line.starts_with("process ") && line.contains(" io_uring: ");
    assert!(followed.lines().any(is_followed), "{followed}");
    let doubtful = [&job[..], &["--ioengine=psync", "--iodepth=8"]].concat();
    let Transcript { status, stdout: shown, stderr: error, .. } = run(&doubtful).end();
    let doubt = "fio: job `a` (command line): engine psync does one I/O at a time; iodepth=8 is capped at 1";
    assert_eq!((status, error.as_str()), (Some(0), ""));
    assert!(shown.starts_with(doubt), "{shown}");
    let Transcript { stdout: json, stderr: error, .. } = run([&doubtful[..], &["--output-format=json"]].concat()).end();
    let parsed: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(parsed["plumb"]["warnings"][0].as_str().unwrap().contains("iodepth=8 is capped at 1"), "{json}");
    assert_eq!(error, "");
}

#[test]
fn json_has_the_remarks_and_json_full_all_that_was_measured() {
    let place = place();
    let file = place.path().join("r.json");
    let run = |format: &str| {
        let json = job(["--bs=512", &format!("--output-format={format}")]).end().stdout;
        std::fs::write(&file, &json).unwrap();
        let found: serde_json::Value = serde_json::from_str(&json).unwrap();
        let plumb = |words: &str| plumb(&place, words).end().stdout;
        let checked = plumb("check r.json");
        plumb("report r.json -o page.html");
        let page = place.read("page.html");
        (found["plumb"].clone(), checked, plumb("explain r.json"), page)
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
    let json = run([&words[..], &["--output-format=json"]].concat()).json();
    let job = &json["jobs"][0];
    let percent = job["usr_cpu"].as_f64().unwrap() + job["sys_cpu"].as_f64().unwrap();
    assert!(percent > 0.0 && percent < 115.0, "{percent} % of one processor in one thread");
}

#[test]
fn a_job_name_does_not_steer_the_terminal() {
    let shown = run(["--name=a\x1b[31m\nb", "--ioengine=null", "--size=1m"]).stdout();
    assert!(!shown.contains('\x1b') && shown.contains("\na␛[31m␊b: (groupid=0"), "{shown}");
    let parsed = run(["--name=a\x1b[31m\nb", "--ioengine=null", "--size=1m", "--output-format=json"]).end().json();
    assert_eq!(parsed["jobs"][0]["jobname"], "a\x1b[31m\nb", "data is not changed");
}

#[test]
fn neither_showcmd_nor_debug_steers_the_terminal() {
    let (place, text) = (place(), "[a\x1b[31m\u{202e}]\nsize=4k\nioengine=null\ndescription=b\x07\n");
    let shown = job_file(&place, text, "--untrusted --showcmd").end().stdout;
    for word in [r"--name=$'a\033[31m\342\200\256' ", r"--description=$'b\007'"] {
        assert!(shown.contains(word), "{shown}");
    }
    assert!(!shown.contains(['\x1b', '\x07', '\u{202e}']), "{shown}");
    for subjects in ["parse", "all"] {
        let Transcript { stdout: shown, stderr: message, .. } =
            job_file(&place, text, ["--untrusted", &format!("--debug={subjects}")])
                .succeeds()
                .prints("ptr=a␛[31m\u{fffd}")
                .prints("ptr=b␇");
        let steers = |text: &str| text.contains(['\x1b', '\x07', '\u{202e}']);
        assert!(!steers(&shown) && !steers(&message), "{shown}{message}");
    }
}

#[test]
fn a_signal_ends_company_within_a_cycle_of_many_years() {
    for mode in ["noop", "qsort"] {
        let words = ["--name=a", "--ioengine=cpuio", "--cpuload=50", "--cpuchunks=9223372036854775us", "--runtime=600"];
        let running = begun(run(words).words([format!("--cpumode={mode}")]));
        let signalled = std::time::Instant::now();
        running.signal(Signal::TERM);
        running.end().exits(128).prints("fio: terminating on signal 15").prints("Run status group 0");
        assert!(signalled.elapsed() < Duration::from_secs(20), "{mode}: {:?}", signalled.elapsed());
    }
}

#[test]
fn a_runtime_ends_company_within_a_cycle() {
    let begun = std::time::Instant::now();
    run("--name=a --ioengine=cpuio --cpuload=50 --cpuchunks=100000000 --runtime=1").succeeds();
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn a_file_whose_layout_is_interrupted_is_removed() {
    let directory = place();
    let file = directory.path().join("f");
    let name = format!("--filename={}", file.display());
    let running = run("--name=a --size=8g --rw=read --ioengine=psync").words([name]).start();
    wait_for("the file", || file.exists().then_some(()));
    running.signal(Signal::INT);
    running.end().exits(128);
    assert!(!file.exists(), "its full size would be taken for a file that is laid out");
}

#[test]
fn the_help_fits_a_terminal_of_80_columns() {
    let shown = run(["--help"]).stdout();
    let wide: Vec<&str> = shown.lines().filter(|line| line.chars().count() > 79).collect();
    assert!(wide.is_empty(), "{wide:#?}");
    assert!(shown.contains("--minimal") && shown.contains("--output=FILE"), "{shown}");
}

#[test]
fn a_terminal_that_hangs_up_ends_the_run_with_its_report() {
    // nohup makes all processes below it ignore the signal; this one is to end.
    let run = run("--name=a --ioengine=null --size=1t --time_based --runtime=60").under("env --default-signal=HUP");
    let running = begun(run);
    running.signal(Signal::HUP);
    running.end().exits(128).prints("terminating on signal 1").prints("read: IOPS=");
}

#[test]
fn a_second_interrupt_ends_a_run_whose_thread_is_stuck() {
    let folder = place();
    let pipe = folder.path().join("pipe");
    Run::new("mkfifo", &folder).words([&pipe]).succeeds();
    // No process writes to the pipe, so opening it waits forever.
    let name = format!("--filename={}", pipe.display());
    let running = run("--name=stuck --size=4k --thread").words([name]).start();
    wait_for("its handler", || catches(running.id(), Signal::INT).then_some(()));
    for _ in 0..2 {
        // Its thread opens the pipe a moment after that, and two signals at once are one.
        std::thread::sleep(Duration::from_millis(700));
        running.signal(Signal::INT);
    }
    running.end().exits(128).prints("terminating on signal 2");
}

#[test]
fn a_trigger_file_ends_the_run_and_its_command_is_run() {
    let folder = place();
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
    job(words).succeeds();
    assert!(mark.exists() && !pull.exists() && began.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_run_that_waits_for_a_regime_says_how_it_ended() {
    let out = job(["--until-regime=settled", "--runtime=1", "--time_based", "--output-format=json"])
        .succeeds()
        .complains("it ran to its end: its rate had not settled after")
        .stdout;
    let found: serde_json::Value = serde_json::from_str(&out).unwrap();
    let ended = &found["plumb"]["until_regime"];
    assert!(ended["until"] == "settled" && ended["reached"] == false, "{ended}");
    job(["--until-regime=noise"]).exits(1).complains("--until-regime=noise: it takes change");
    run(["--until-regime=change", "--name=a", "--ioengine=sim", "--rw=read", "--size=1m", "--filename=a"])
        .exits(1)
        .complains("runs in simulated time (ioengine=sim)");
}

#[test]
fn no_trigger_fires_after_a_signal_to_a_worker() {
    let folder = place();
    // The trigger falls due while the worker, which was ended by its signal, still runs its last command.
    let words = ["--trigger-timeout=5", "--trigger=touch mark", "--exec_postrun=sleep 6", "--runtime=30"];
    let running = fio(&folder, words).words("--time_based").words(JOB).start();
    let is_at_work = |worker: &u32| processor_ticks(*worker) > 20;
    let worker = wait_for("a worker that computes", || children(running.id()).into_iter().find(is_at_work));
    signal(worker, Signal::TERM);
    running.end();
    assert!(folder.has("a.postrun.txt") && !folder.has("mark"));
}

#[test]
fn idle_cpus_are_in_text_and_json() {
    let text = job(["--idle-prof=percpu", "--output-format=json,normal", "--runtime=1", "--time_based"]).stdout();
    for part in ["\"cpu_idleness\" : {", "\"cpu-0\" : ", "\"unit_mean\" : ", "CPU idleness:\n  system: ", "  percpu: "]
    {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}

#[test]
fn a_mistyped_device_does_not_become_a_file_in_memory() {
    let name = format!("/dev/plumb-no-such-{}", std::process::id());
    // Also below a directory that is not there, as /dev/mapper without device mapper.
    for name in [name.clone(), format!("{name}/x")] {
        for words in ["--rw=write", "--rw=read", "--rw=randrw --ioengine=libaio --direct=1"] {
            let run = fio(place(), format!("--name=a --filename={name} --size=64k")).words(words);
            run.exits(1).complains(&format!("{name} does not exist, and a file of this name would be in memory"));
            assert!(!Path::new(&name).exists(), "{words} made {name}");
        }
    }
    assert!(!Path::new(&name).exists(), "no directory is made either");
    let memory = format!("/dev/shm/plumb-{}", std::process::id());
    fio(place(), format!("--name=a --filename={memory} --size=64k --rw=write --unlink=1")).succeeds();
}
