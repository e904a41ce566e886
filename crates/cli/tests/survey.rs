//! The survey from outside: what it leaves behind, what it refuses, and how it ends.

use crate::context::{PLUMB, place, plumb, wait_for_interval};
use house::{LoopDevice, Place, Run, Words, oracle};
use rustix::process::Signal;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

const WORK_FILE: &str = "plumb-survey.dat";

/// A survey of a separate directory, with results written into another.
struct Stage {
    surveyed: Place,
    results: Place,
}

impl Stage {
    fn new() -> Self {
        Stage { surveyed: place(), results: place() }
    }

    fn result(&self) -> PathBuf {
        self.results.file("result.json")
    }

    fn survey(&self, words: impl Words) -> Run {
        self.survey_of(&[self.surveyed.path()], words)
    }

    /// A survey of other targets.
    fn survey_of<T: AsRef<OsStr>>(&self, targets: &[T], words: impl Words) -> Run {
        // A line for each test, as standard error is not a terminal here.
        let survey = plumb(&self.results, "survey --output").words([self.result()]);
        survey.words(words).words(targets).env("PLUMB_REMARKS", "always")
    }

    fn resumed(&self) -> Run {
        plumb(&self.results, "survey --resume result.json").env("PLUMB_REMARKS", "always")
    }

    fn saved(&self) -> Value {
        self.results.json("result.json")
    }
}

#[test]
fn a_small_survey_ends_with_a_table_sentences_and_a_result() {
    let stage = Stage::new();
    let shown = stage.survey("--size 64M --time 1").stdout();
    for (name, rows) in [("rand read", 5), ("seq read", 2), ("log write", 3)] {
        let found = shown.lines().filter(|line| line.starts_with(name)).count();
        assert_eq!(found, rows, "rows of {name}\n{shown}");
    }
    assert!(shown.contains("8k random reads"), "{shown}");
    let path = stage.result();
    assert!(shown.ends_with(&format!("Result: {}\n", path.display())), "{shown}");
    assert_eq!(stage.surveyed.names(), [""; 0], "the work file is gone");
    let saved = stage.saved();
    let tests = saved["tests"].as_array().unwrap();
    assert_eq!(tests.len(), 10);
    for test in tests {
        assert_eq!(test["result"]["jobs"].as_array().unwrap().len() as u64, test["users"].as_u64().unwrap());
        let direction = if test["test"] == "log_write" { "write" } else { "read" };
        let ios: u64 = test["result"]["jobs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|job| job["directions"][direction]["ios"].as_u64().unwrap())
            .sum();
        assert!(ios > 0, "{test}");
    }
    assert_eq!(saved["sentences"].as_array().unwrap().len(), 2);
}

#[test]
fn a_kept_work_file_is_full_of_data_that_never_repeats() {
    let stage = Stage::new();
    stage.survey("--size 16M --time 1 --keep").succeeds();
    assert_eq!(stage.surveyed.names(), [WORK_FILE]);
    let data = stage.surveyed.bytes(WORK_FILE);
    assert_eq!(data.len(), 16 << 20);
    let mut blocks: Vec<&[u8]> = data.chunks(512).collect();
    blocks.sort_unstable();
    blocks.dedup();
    assert_eq!(blocks.len(), data.len() / 512, "every 512-byte block is different from every other");
    let error = stage.survey("--size 16M --time 1").end().stderr;
    assert!(!error.contains("writing"), "a kept work file is not written again\n{error}");
    assert_eq!(stage.surveyed.names(), [""; 0]);
}

#[test]
fn a_file_of_someone_else_stays_as_it_is() {
    let stage = Stage::new();
    let precious = stage.surveyed.path().join(WORK_FILE);
    std::fs::write(&precious, "precious").unwrap();
    stage.survey("--size 16M --time 1").exits(1).complains("plumb did not make it");
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
    assert_eq!(stage.results.names(), [""; 0], "no result of nothing");
}

#[test]
fn a_file_that_does_not_fit_is_refused_before_it_is_written() {
    let stage = Stage::new();
    let error = stage
        .survey("--size 1000T")
        .exits(1)
        .complains("1000T do not fit: ")
        .complains(" free and a reserve stays untouched")
        .stderr;
    // Sizes as people write them: no thousands of M.
    let (_, most) = error.trim().rsplit_once("at most --size ").unwrap();
    let (digits, unit) = most.split_at(most.len() - 1);
    assert!(digits.parse::<u64>().is_ok_and(|number| number < 10_000) && "MGT".contains(unit), "{error}");
    assert_eq!(stage.surveyed.names(), [""; 0]);
}

#[test]
fn places_that_cannot_be_surveyed_are_named() {
    for (path, hint) in [
        ("/does/not/exist", "No such file"),
        ("/proc/version", "neither a directory nor a block device"),
        ("/sys/kernel", "plumb-survey.dat"),
    ] {
        let stage = Stage::new();
        stage.survey_of(&[path], "--quick --size 16M").exits(1).complains(hint);
    }
}

#[test]
fn a_job_file_in_place_of_a_target_gets_its_command() {
    let directory = place();
    let job = directory.write("job.fio", "; a comment\n[global]\nrw=read\n").display().to_string();
    let survey = directory.write("nightly.toml", "size = \"1g\"\n").display().to_string();
    let hints = [(&job, format!("plumb fio {job} runs")), (&survey, format!("with --config {survey}"))];
    for (path, hint) in hints {
        plumb(&directory, ["survey", path, "--dry-run"]).exits(1).complains(&hint);
    }
}

#[test]
fn an_interrupt_keeps_what_is_done() {
    let stage = Stage::new();
    let streamed = place();
    let words = format!("--size 16M --time 2 --stream {}", streamed.word("s.ndjson"));
    let running = stage.survey(words).start();
    // The first run fills the work file; the third one is the second test.
    wait_for_interval(&streamed.file("s.ndjson"), 3);
    running.signal(Signal::INT);
    let shown = running.end().exits(130).prints("Cut short by signal 2").stdout;
    let saved = stage.saved();
    assert!(
        shown.contains("The interrupted test, ") && shown.contains("measures the interrupted test again"),
        "{shown}"
    );
    let under_way: Vec<_> = saved["tests"].as_array().unwrap().iter().map(|test| test["under_way"] == true).collect();
    assert_eq!(under_way, [false, true], "what was cut short is kept apart");
    assert!(saved["tests"][1]["result"].to_string().contains("the run had not ended"), "and says so");
    assert_eq!(saved["ended_by_signal"], 2);
    assert_eq!(stage.surveyed.names(), [""; 0], "the work file is gone");
    assert_eq!(stage.results.names(), ["result.html", "result.json"]);
}

#[test]
fn an_unwritable_result_is_reported_before_anything_runs() {
    let stage = Stage::new();
    plumb(&stage.surveyed, "survey --quick --output /does/not/exist/r.json .")
        .exits(1)
        .complains("cannot write the results");
    assert_eq!(stage.surveyed.names(), [""; 0]);
}

/// A shell script with `$plumb`, in a separate mount namespace.
fn in_own_mounts(script: &str) -> Run {
    Run::new("unshare", "/").words(["--mount", "bash", "-c", script]).env("plumb", PLUMB)
}

/// 32 MiB of random-looking data.
fn data(bytes: u32) -> Vec<u8> {
    (0..bytes).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// A device and the word that allows to overwrite it.
fn device() -> (LoopDevice, String) {
    let device = LoopDevice::new(Path::new(env!("CARGO_TARGET_TMPDIR")), 32 << 20).expect("a loop device (needs root)");
    let identity = format!("{}:{}", device.path().file_name().unwrap().display(), 32 << 20);
    (device, identity)
}

#[test]
fn a_device_is_read_and_left_as_it_was() {
    let (device, _) = device();
    let before = std::fs::read(device.backing()).unwrap();
    let stage = Stage::new();
    stage.survey_of(&[device.path()], "--time 1").succeeds().prints("Log writes: skipped");
    assert_eq!(stage.saved()["tests"].as_array().unwrap().len(), 7);
    assert!(std::fs::read(device.backing()).unwrap() == before, "the device was written to");
}

#[test]
fn a_tmpfs_is_called_memory() {
    let script =
        "mount -t tmpfs -o size=128m none /mnt && cd /mnt && mkdir d && $plumb survey --strict --size 16M --time 1 d";
    // A finding, and --strict was asked for.
    let run = in_own_mounts(script).exits(4);
    let shown = run.both().split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "is tmpfs: its files live in memory",
        "NOT A STORAGE RESULT",
        "; no answer: the numbers are not of the storage (backing).",
        "plumb-survey-001.json",
    ] {
        assert!(shown.contains(part), "{part}: {run}");
    }
}

#[test]
fn a_full_file_system_is_reported_and_left_clean() {
    let script = "mount -t tmpfs -o size=24m none /mnt && cd / && \
                  $plumb survey --size 16M --time 1 --output /dev/shm/plumb-test-r.json /mnt; s=$?; ls -A /mnt; exit $s";
    let run = in_own_mounts(script).exits(1).complains("16M do not fit");
    assert!(run.both().lines().all(|line| line != WORK_FILE), "{run}");
}

#[test]
fn a_read_only_directory_is_named() {
    let script = "mount -t tmpfs -o ro none /mnt && $plumb survey --size 16M --output /dev/shm/plumb-test-ro.json /mnt";
    in_own_mounts(script).exits(1).complains("cannot be made: Read-only file system");
}

#[test]
fn all_tests_run_in_virtual_time_and_each_has_its_row() {
    let stage = Stage::new();
    let shown = stage.survey("--size 128M --time 1 --tests all --engine sim --warm-up 0").stdout();
    for (name, rows) in [("rand read", 5), ("seq read", 8), ("log write", 12), ("mix read", 5), ("mix write", 5)] {
        let found = shown.lines().filter(|line| line.starts_with(name)).count();
        assert_eq!(found, rows, "rows of {name}\n{shown}");
    }
    assert_eq!(stage.saved()["tests"].as_array().unwrap().len(), 30);
    assert_eq!(stage.saved()["tests_planned"], 30);
}

#[test]
fn a_sweep_has_a_column_for_each_option_and_says_what_was_best() {
    let stage = Stage::new();
    let words = "--size 16M --time 1 --vary bs=4k..16k --vary iodepth=1,4 --engine sim";
    let shown = stage.survey(format!("{words} --accept nothing-moved")).stdout();
    assert!(shown.lines().any(|line| line.contains("iodepth")), "{shown}");
    assert_eq!(shown.lines().filter(|line| line.starts_with("rand read")).count(), 6, "{shown}");
    assert!(shown.contains(" levels of ") && shown.contains("the most MiB/s with"), "{shown}");
    let saved = stage.saved();
    assert_eq!(saved["tests"][1]["options"], serde_json::json!([["iodepth", "4"]]));
    assert_eq!(saved["request"]["vary"]["bs"], serde_json::json!(["4k", "8k", "16k"]));
}

#[test]
fn a_dry_run_prints_time_bytes_and_wear_and_touches_nothing() {
    let stage = Stage::new();
    let shown = stage.survey("--size 1G --time 60 --tests all --dry-run").stdout();
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("a work file of 1G") && shown.contains("30 8k rand mix, 64 users"), "{shown}");
    assert!(shown.contains("30 tests of 60 s are 30:00 min") && shown.contains("33:00 min in all"), "{shown}");
    assert!(shown.contains("Wear: 1G are written before the first test"), "{shown}");
    assert_eq!(stage.surveyed.names(), [""; 0]);
    assert_eq!(stage.results.names(), [""; 0]);
}

#[test]
fn a_survey_file_says_what_to_do_and_its_mistakes_have_lines() {
    let stage = Stage::new();
    let file = stage.results.path().join("nightly.toml");
    let text = "tests = [\"randread\"]\nusers = [1, 2]\nsize = \"16M\"\ntime = 1\nengine = \"sim\"\nrepeat = 2\nshuffle = true\n";
    std::fs::write(&file, text).unwrap();
    let config = file.to_str().unwrap();
    let shown = stage.survey(["--config", config]).stdout();
    assert_eq!(shown.lines().filter(|line| line.starts_with("rand read")).count(), 4, "{shown}");
    assert!(shown.contains("The rates of 2 repetitions of one test differ by"), "{shown}");
    std::fs::write(&file, format!("{text}sise = 3\n")).unwrap();
    stage
        .survey(["--config", config])
        .exits(1)
        .complains("nightly.toml")
        .complains("line 8")
        .complains("unknown field `sise`");
}

#[test]
fn custom_tests_have_their_names_in_table_result_and_dry_run() {
    let stage = Stage::new();
    let file = stage.results.path().join("own.toml");
    let text = "size = \"16M\"\ntime = 1\nengine = \"sim\"\n\
                [test.checkout]\nrw = \"randrw\"\nbs = \"4k\"\nusers = \"1,2\"\nmix = 25\nsync = \"dsync\"\n\
                [test.bulk]\nrw = \"write\"\nbs = \"64k\"\n";
    std::fs::write(&file, text).unwrap();
    let config = file.to_str().unwrap();
    stage
        .survey(["--config", config, "--dry-run"])
        .succeeds()
        .prints("1  64k bulk, 1 user\n")
        .prints("3  4k checkout, 2 users, rwmixread=25, sync=dsync\n");
    let shown = stage.survey(["--config", config]).stdout();
    for (name, rows) in [("bulk", 1), ("checkout read", 2), ("checkout write", 2), ("rand read", 0)] {
        assert_eq!(shown.lines().filter(|line| line.starts_with(name)).count(), rows, "rows of {name}\n{shown}");
    }
    let saved = stage.saved();
    let bytes = |test: usize, way: &str| -> u64 {
        let jobs = saved["tests"][test]["result"]["jobs"].as_array().unwrap();
        jobs.iter().map(|job| job["directions"][way]["bytes"].as_u64().unwrap()).sum()
    };
    assert_eq!((saved["tests"][0]["test"].as_str(), bytes(0, "read")), (Some("bulk"), 0));
    assert_eq!(saved["tests"][2]["options"], serde_json::json!([["rwmixread", "25"], ["sync", "dsync"]]));
    let (read, written) = (bytes(2, "read"), bytes(2, "write"));
    assert!((2 * read..5 * read).contains(&written), "a quarter are reads: {read} and {written} bytes");
    assert_eq!(saved["request"]["test"]["checkout"]["mix"], 25);
}

#[test]
fn a_survey_that_was_cut_short_is_resumed() {
    let stage = Stage::new();
    let mut running = stage.survey("--size 16M --time 1 --tests randread --users 1,2,4 --keep").start();
    running.line_with("[1/3]");
    // Killed outright: what was finished is on disk already, whole.
    drop(running);
    let before = stage.saved();
    assert_eq!(before["tests"].as_array().unwrap().len(), 1);
    let error = stage.resumed().succeeds().prints("Resumed: 1 test finished before.").stderr;
    assert!(!error.contains("[1/3]") && error.contains("[3/3]"), "{error}");
    let after = stage.saved();
    assert_eq!(after["tests"].as_array().unwrap().len(), 3);
    assert_eq!(after["tests"][0], before["tests"][0], "what was measured stays as it was");
    let error = stage.resumed().succeeds().stderr;
    assert!(!error.contains("/3]"), "{error}");
}

#[test]
fn what_cannot_be_resumed_is_named() {
    let stage = Stage::new();
    for (text, says) in [
        ("{}", "not a survey that can be resumed"),
        ("{\"command\":\"survey\",\"tests\":[]}", "missing field `request`"),
        ("not json", "not a survey that can be resumed"),
    ] {
        stage.results.write("result.json", text);
        stage.resumed().exits(1).complains(says);
    }
}

#[test]
fn each_user_has_a_separate_file() {
    let stage = Stage::new();
    let shown =
        stage.survey("--size 16M --time 1 --tests read --users 1,3 --block-sizes 64k --file-per-user --keep").stdout();
    let files: Vec<String> = (1..=3).map(|number| format!("{WORK_FILE}.{number}")).collect();
    assert_eq!(stage.surveyed.names(), files);
    assert!(shown.contains("3 work files of 16M"), "{shown}");
    assert_eq!(stage.saved()["tests"][1]["result"]["jobs"].as_array().unwrap().len(), 3);
}

#[test]
fn a_file_of_others_is_read_and_left_as_it_was() {
    let stage = Stage::new();
    let file = stage.surveyed.path().join("theirs.dat");
    let data = data(17 << 20);
    std::fs::write(&file, &data).unwrap();
    stage
        .survey_of(&[&file], "--time 1 --users 2 --tests all --block-sizes 8k")
        .succeeds()
        .prints("Log writes and mixes: skipped, they would overwrite the file");
    assert!(std::fs::read(&file).unwrap() == data, "the file was written to");
}

#[test]
fn no_option_of_a_survey_reaches_a_file_of_others() {
    let data = data(17 << 20);
    let (own, removing) = ("[test.a]\nrw = \"read\"\noptions", "ioengine = \"filedelete\"");
    for (words, config, says) in [
        ("--vary iomem=mmapshared:theirs.dat", String::new(), "iomem=mmapshared:theirs.dat"),
        ("--engine sim --vary sim_journal=theirs.dat", String::new(), "sim_journal=theirs.dat"),
        ("--vary unlink_each_loop=1", String::new(), "removes files"),
        ("--engine filedelete", String::new(), "the engine filedelete"),
        ("--vary ioengine=psync,filedelete", String::new(), "the engine filedelete"),
        ("--engine ftruncate", String::new(), "ftruncate"),
        ("--engine cpuio", String::new(), "cpuio"),
        ("--config s.toml", "engine = \"filedelete\"\n".to_owned(), "the engine filedelete"),
        ("--config s.toml", format!("[vary]\n{removing}\n"), "the engine filedelete"),
        ("--config s.toml", format!("{own} = {{ {removing} }}\n"), "the engine filedelete"),
        ("--config s.toml", "[vary]\niomem = \"mmap:theirs.dat\"\n".to_owned(), "iomem=mmap:theirs.dat"),
    ] {
        let place = place();
        place.write("theirs.dat", &data);
        place.write("s.toml", &config);
        // Of a directory and of the file itself.
        for target in [".", "theirs.dat"] {
            let survey = plumb(&place, "survey --time 1 --size 16M --warm-up 0 --users 1 --output r.json");
            survey.words(words).words([target]).exits(1).complains(says);
            assert!(place.bytes("theirs.dat") == data, "{words} {config}: the file has changed");
            assert_eq!(place.names(), ["s.toml", "theirs.dat"], "{words} {config} {target}");
        }
    }
}

#[test]
fn a_device_is_overwritten_only_for_who_repeats_its_identity() {
    let ((one, first), (two, second)) = (device(), device());
    let stage = Stage::new();
    let devices = [one.path(), two.path()];
    let before = std::fs::read(one.backing()).unwrap();
    let writes = ["--tests", "write", "--users", "2", "--block-sizes", "8k"];
    for (consent, says) in [
        (&[][..], "nothing is left to measure"),
        (&["--overwrite", "yes"], &*format!("this one is {first}")),
        (&["--overwrite", &first], &*format!("this one is {second}")),
        (
            &["--overwrite", &first, "--overwrite", &second, "--overwrite", "x"],
            "no device has this serial number, WWID or NAME:SIZE",
        ),
    ] {
        let words: Vec<&str> = writes.iter().chain(consent).copied().collect();
        stage.survey_of(&devices, "--time 1 --warm-up 0").words(&words).exits(1).complains(says);
    }
    assert!(std::fs::read(one.backing()).unwrap() == before, "written to without consent");
    let words: Vec<&str> = writes.into_iter().chain(["--overwrite", &first, "--overwrite", &second]).collect();
    let shown = stage.survey_of(&devices, "--time 1 --warm-up 0").words(&words).stdout();
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("each of 2 devices, overwritten"), "{shown}");
    for device in [&one, &two] {
        assert!(std::fs::read(device.backing()).unwrap() != before, "{} was not written to", device.path().display());
    }
}

#[test]
fn a_device_with_a_file_system_is_not_overwritten() {
    let (device, identity) = device();
    Run::new("mkfs.ext4", "/").words("-q -F").words([device.path()]).succeeds();
    let stage = Stage::new();
    stage
        .survey_of(&[device.path()], ["--time", "1", "--overwrite", &identity])
        .exits(1)
        .complains("ext4")
        .complains("wipefs");
}

#[test]
fn fio_sh_writes_job_files_for_fio_and_outputs_for_parse() {
    let stage = Stage::new();
    let results = &stage.results;
    let run = |words: &str| {
        let places = ["-w".as_ref(), stage.surveyed.path(), "-o".as_ref(), results.path()];
        plumb(results, "fio.sh").words(places).words(words)
    };
    // DTrace's letter swallows nothing; two tests are two tests.
    run("-d -f -s 1 -m 16 -u 2 -l 8 -t").words(["read readrand"]).succeeds().complains("DTrace is not needed");
    for name in ["read_u02_kb0008", "readrand_u02_kb0008"] {
        let job = results.read(format!("{name}.job"));
        let kind = if name.starts_with("readrand") { "rw=randread\n" } else { "rw=read\n" };
        assert!(job.contains(kind) && job.contains("numjobs=2\n") && job.contains("bs=8192\n"), "{job}");
        let table = plumb(results, format!("parse {name}.out")).stdout();
        let row: Vec<&str> = table.lines().last().unwrap_or_default().split_whitespace().collect();
        assert_eq!(row.get(1..4), Some(&["2", "1", "8K"][..]), "{table}");
        oracle(results, format!("--parse-only {name}.job")).exits(0);
    }
    assert!(results.read("fio_summary.out").contains("rand read"));
    assert_eq!(stage.surveyed.names(), [WORK_FILE], "kept without -x, as fio.sh does");
    // Without -f it asks, and no one said yes.
    run("-s 1").exits(1).complains("-f asks no questions");
    run("-w /does/not/exist -f").exits(1).complains("is not a directory");
}
