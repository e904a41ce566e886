//! `plumb store`, `plumb history`, `plumb trend`: what is kept and when, how runs are found again, and what is said of
//! them.

use crate::context::{place, plumb};
use house::{Place, Run, Transcript};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A store with eight nights of one test, and one more result that is not in it.
pub(crate) fn eight_nights() -> (Vec<u8>, Vec<u8>) {
    let home = Home::new();
    let one = home.measured();
    (0..9).for_each(|day| {
        let words: &[&str] = if day < 8 { &["store", "add", "night.json"] } else { &["store", "where"] };
        home.written_night(&one, day, 80_000 + 400 * (day % 3), "6.12");
        home.good(words);
    });
    let read = |path: PathBuf| std::fs::read(path).unwrap();
    (read(home.usual()), read(home.path("night.json")))
}

/// A home directory for one test, with a directory to measure.
struct Home(Place);

impl Home {
    fn new() -> Self {
        Home(place())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.file(name)
    }

    /// The usual store.
    fn usual(&self) -> PathBuf {
        self.path("data/plumb/plumb.db")
    }

    fn run(&self, words: &[&str]) -> Run {
        plumb(&self.0, words).without_env("PLUMB_STORE").env("XDG_DATA_HOME", self.path("data"))
    }

    fn good(&self, words: &[&str]) -> String {
        let run = self.run(words).succeeds();
        // A survey shows its progress there.
        assert!(complaints(&run.stderr).is_empty(), "{run}");
        run.stdout
    }

    /// A result of fio, in half a second.
    fn measured(&self) -> Value {
        let words =
            ["fio", "--name=a", "--rw=randread", "--size=1m", "--runtime=500ms", "--time_based", "--result=one.json"];
        self.good(&words);
        self.0.json("one.json")
    }

    /// Adds a night of this rate, as it was measured here on a later day.
    fn night(&self, one: &Value, day: u64, iops: u64, kernel: &str) {
        self.written_night(one, day, iops, kernel);
        self.good(&["store", "add", "night.json"]);
    }

    /// Writes such a night to night.json.
    fn written_night(&self, one: &Value, day: u64, iops: u64, kernel: &str) {
        let mut night = one.clone();
        let result = &mut night["result"];
        let began = 1_700_000_000_000_u64 + day * 86_400_000;
        result["jobs"][0]["started_unix_ms"] = json!(began);
        result["monitored"]["began_unix_ms"] = json!(began);
        result["jobs"][0]["echo"]["paths"] = json!([self.path("a.0.0")]);
        result["jobs"][0]["directions"]["read"]["ios"] = json!(iops);
        result["jobs"][0]["directions"]["read"]["runtime"] = json!(1_000_000_000_u64);
        result["environment"]["kernel"] = json!(kernel);
        result["notes"] = json!([]);
        let path = self.path("night.json");
        std::fs::write(&path, night.to_string()).unwrap();
    }
}

/// The messages on standard error.
fn complaints(error: &str) -> Vec<&str> {
    error.lines().filter(|line| line.starts_with("plumb: ")).collect()
}

const SURVEY: [&str; 10] =
    ["survey", "--size", "16M", "--time", "1", "--warm-up", "0", "--tests", "randread", "--users=1"];

fn survey<'words>(more: &[&'words str]) -> Vec<&'words str> {
    [&SURVEY[..], more, &["."]].concat()
}

#[test]
fn tests_do_not_write_into_the_store_of_a_person() {
    assert_eq!(
        std::env::var("PLUMB_STORE").as_deref(),
        Ok("off"),
        ".cargo/config.toml says so; run tests through cargo"
    );
}

#[test]
fn a_survey_is_kept_and_says_where_once() {
    let home = Home::new();
    let first = home.good(&survey(&[]));
    assert!(first.contains("\nKept: 2") && first.contains("data/plumb/plumb.db from now on"), "{first}");
    let second = home.good(&survey(&[]));
    assert!(second.contains("\nKept: 2") && !second.contains("from now on"), "{second}");
    let history = home.good(&["history", "."]);
    assert!(history.contains("random reads 8k, 1 user") && history.contains("2 runs since"), "{history}");
    assert!(home.good(&["store", "where"]).contains("2 runs"), "where");
    // A series for each number of users: too few runs of each, in one line.
    home.good(&["survey", "--size", "16M", "--time", "1", "--warm-up", "0", "--tests", "randread", "--users=2", "."]);
    let trend = home.run(&["trend"]).exits(2).stdout;
    assert_eq!(trend.lines().count(), 1, "{trend}");
    // Not kept: an option, the variable, and the word `off`.
    assert!(!home.good(&survey(&["--no-store", "--output", "later.json"])).contains("Kept"));
    let Transcript { status, stdout: out, .. } = home.run(&survey(&[])).env("PLUMB_STORE", "off").end();
    assert!(status == Some(0) && !out.contains("Kept"), "{out}");
    // What was kept before is read all the same.
    for words in [&["history", "."][..], &["store", "list"]] {
        let Transcript { stdout: out, stderr: error, .. } = home.run(words).env("PLUMB_STORE", "off").succeeds();
        assert_eq!(out, home.good(words), "{error}");
    }
    home.good(&["store", "off"]);
    assert!(!home.good(&survey(&[])).contains("Kept"));
    assert!(home.good(&survey(&["--store", "own.db"])).contains("Kept"), "a store that is named is meant");
    home.good(&["store", "on"]);
    assert!(home.good(&survey(&[])).contains("Kept"));
    assert_eq!(home.good(&["store", "list"]).lines().count(), 4);
    // A result states its surroundings, so it belongs to the series of those that were kept at once.
    home.good(&["store", "add", "later.json"]);
    let history = home.good(&["history", "."]);
    assert!(history.contains("random reads 8k, 1 user, ") && history.contains("4 runs since"), "{history}");
}

/// The scheduler of a loop device, which gets its earlier one back: the next file on it would have this one.
struct Scheduler(PathBuf, String);

impl Scheduler {
    fn set(device: &Path, word: &str) -> Self {
        let file = Path::new("/sys/block").join(device.file_name().unwrap()).join("queue/scheduler");
        let known = std::fs::read_to_string(&file).unwrap();
        let before = known.split_once('[').unwrap().1.split_once(']').unwrap().0.to_owned();
        std::fs::write(&file, word).unwrap();
        Scheduler(file, before)
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        let _ = std::fs::write(&self.0, &self.1);
    }
}

#[test]
fn a_changed_loop_scheduler_is_the_only_difference() {
    let home = Home::new();
    let device = house::LoopDevice::new(home.0.path(), 16 << 20).expect("a loop device: are we root?");
    let run = |result: &str, more: &str| {
        let node = format!("--filename={}", device.path().display());
        let result = format!("--result={result}");
        let words = ["fio", "--name=a", "--rw=randread", "--runtime=500ms", "--time_based", "--output=/dev/null"];
        home.good(&[&words[..], &[&node, &result, more]].concat());
    };
    run("none.json", "--store=own.db");
    let scheduler = Scheduler::set(device.path(), "mq-deadline");
    run("deadline.json", "--direct=0");
    drop(scheduler);
    let compared = home.good(&["compare", "none.json", "deadline.json"]);
    let facts: Vec<&str> = compared.lines().skip(1).take_while(|line| !line.is_empty()).collect();
    let name = device.path().file_name().unwrap().to_string_lossy().into_owned();
    assert_eq!(facts, [format!("  scheduler of {name}: none → mq-deadline")], "{compared}");
    assert!(!compared.contains("Only one side states"), "{compared}");
    // The file that is added later is in the series of the run that kept itself.
    home.good(&["store", "--store", "own.db", "add", "deadline.json"]);
    let history = home.good(&["history", "--store", "own.db"]);
    assert!(history.contains(": 2 runs since"), "{history}");
}

#[test]
fn replaced_programs_keep_results_only_on_request() {
    let home = Home::new();
    home.measured();
    assert!(!home.path("data").exists(), "fio leaves no file");
    let words = ["fio", "--name=a", "--rw=read", "--size=1m", "--output=/dev/null"];
    home.good(&[&words[..], &["--store=own.db"]].concat());
    assert_eq!(home.good(&["store", "--store", "own.db", "list"]).lines().count(), 1);
    let run = home.run(&words).env("PLUMB_STORE", home.path("own.db")).succeeds().silent();
    assert_eq!(run.stdout, "");
    let iozone = ["iozone", "-i", "0", "-s", "64k", "-r", "4k", "-w", "--json", "iozone.json"];
    home.run(&iozone).env("PLUMB_STORE", home.path("own.db")).succeeds();
    let list = home.good(&["store", "--store", "own.db", "list"]);
    assert!(list.lines().count() == 3 && list.contains("iozone"), "{list}");
    let saved = home.0.json("iozone.json");
    assert!(saved.pointer("/surroundings/facts/0/key").is_some(), "{saved}");
    assert!(!home.path("data").exists());
}

#[test]
fn a_store_that_cannot_be_opened_is_one_line() {
    let home = Home::new();
    home.0.write("thesis", "mine ".repeat(100));
    for store in ["thesis", "thesis/below.db", "."] {
        let Transcript { stdout: out, stderr: error, .. } = home.run(&survey(&["--store", store])).succeeds();
        assert_eq!(complaints(&error).len(), 1, "{store}: {error}");
        assert!(error.contains("the result is not in the store: ") && out.contains("Result: "), "{error}");
    }
    assert_eq!(home.0.read("thesis"), "mine ".repeat(100));
    home.run(&["history"]).exits(1).complains("there are no results yet");
    home.run(&["trend"]).exits(3).complains("there are no results yet");
    assert!(!home.usual().exists(), "reading makes no store");
}

/// A file system that does not go on until this is dropped.
struct Frozen<'a>(&'a Path);

impl<'a> Frozen<'a> {
    fn new(place: &'a Path) -> Self {
        Run::new("fsfreeze", "/").words("-f").words([place]).succeeds();
        Frozen(place)
    }
}

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        Run::new("fsfreeze", "/").words("-u").words([self.0]).end();
    }
}

#[test]
fn a_store_on_a_file_system_that_hangs_holds_nothing_up() {
    let home = Home::new();
    let device = house::LoopDevice::sparse(home.0.path(), 32 << 20).expect("a loop device: are we root?");
    let mounted = house::Mounted::on(device, "mkfs.ext4 -q", "rw").unwrap();
    let store = mounted.path().join("plumb.db").display().to_string();
    let words = ["fio", "--name=a", "--rw=read", "--size=1m", "--result=one.json", &format!("--store={store}")];
    assert!(!home.good(&words).is_empty());
    let frozen = Frozen::new(mounted.path());
    let begun = std::time::Instant::now();
    let Transcript { status, stdout: out, stderr: error, .. } = home.run(&words).env("PLUMB_STORE_SECONDS", "1").end();
    assert!(begun.elapsed() < std::time::Duration::from_secs(15), "{:?}", begun.elapsed());
    assert!(status == Some(0) && out.contains("READ: bw="), "{status:?} {out}");
    assert_eq!(complaints(&error).len(), 1, "{error}");
    assert!(error.contains("plumb.db: does not answer within 1 s: is it on a network or FUSE file system"), "{error}");
    assert!(home.path("one.json").exists(), "the result is complete");
    for (words, status) in [
        (&["history"][..], 1),
        (&["trend"], 3),
        (&["store", "list"], 1),
        (&["store", "off"], 1),
        (&["parse", "last"], 1),
    ] {
        let run = home.run(words).env("PLUMB_STORE_SECONDS", "1").env("PLUMB_STORE", &store).exits(status);
        let run = run.complains("plumb.db: does not answer within 1 s");
        assert_eq!((run.stdout.as_str(), complaints(&run.stderr).len()), ("", 1), "{run}");
    }
    assert!(begun.elapsed() < std::time::Duration::from_secs(60), "{:?}", begun.elapsed());
    drop(frozen);
    // The process that waited for it may have kept the run, or was ended before that: the store is whole.
    assert!(home.good(&["store", "--store", &store, "check"]).contains("no damage"));
}

#[test]
fn a_run_is_read_by_its_id_its_name_and_as_the_last() {
    let home = Home::new();
    let one = home.measured();
    home.night(&one, 1, 1000, "6.12");
    home.night(&one, 2, 2000, "6.12");
    home.good(&["store", "name", "last~1", "main"]);
    let list = home.good(&["store", "list"]);
    assert!(list.contains("2023-11-15-0001") && list.contains("[main]"), "{list}");
    for (word, iops) in [("last", "2000"), ("last~1", "1000"), ("main", "1000"), ("2023-11-15-0001", "1000")] {
        let table = home.good(&["parse", "--format", "csv", word]);
        assert!(table.contains(iops), "{word}: {table}");
        assert!(home.good(&["check", word]).contains("1 result judged"), "{word}");
    }
    // What was added is given back, byte by byte.
    let night = std::fs::read(home.path("night.json")).unwrap();
    assert_eq!(home.run(&["store", "export", "last"]).stdout().into_bytes(), night);
    // A file comes before a run, and a word that is neither is a file that does not exist.
    home.0.write("main", "no result");
    home.run(&["check", "main"]).exits(1);
    home.run(&["check", "last~7"]).exits(1).complains("last~7: cannot be read");
    assert!(home.good(&["store", "forget", "main"]).contains("2023-11-15-0001"));
    home.run(&["store", "export", "2023-11-15-0001"]).fails().complains("there is no run");
}

/// Commands that read a result, with its word as W.
const READERS: [&str; 14] = [
    "parse W",
    "parse --format csv W",
    "check W",
    "grade W",
    "explain W",
    "model W",
    "plot --list W",
    "plot W --chart cdf -o picture.svg",
    "report W -o page.html",
    "report A=W -o page.html",
    "compare W W",
    "compare W,last~1 last~1,W",
    "compare --old W --new last~1",
    "gate W last~1 --against last~1 W --tolerance 60%",
];

#[test]
fn each_command_that_reads_a_result_takes_a_run_of_the_store() {
    let home = Home::new();
    let one = home.measured();
    // Two surveys over users, with separate rates.
    for day in 1..=2_u64 {
        let test = |users: u64| {
            let mut result = one["result"].clone();
            result.as_object_mut().unwrap().remove("surroundings");
            result["jobs"][0]["workers"] = json!(users);
            result["jobs"][0]["directions"]["read"]["ios"] = json!(20_000 + 700 * users + 90 * day);
            let began = 1_700_000_000_000_u64 + day * 100_000 + users * 1000;
            result["monitored"]["began_unix_ms"] = json!(began);
            result["jobs"][0]["started_unix_ms"] = json!(began);
            (result["ended_unix_ms"], result["notes"]) = (json!(began + 500), json!([]));
            json!({ "test": "random_read", "users": users, "block_bytes": 4096, "result": result })
        };
        let tests: Vec<Value> = [1, 2, 4, 8].into_iter().map(test).collect();
        let survey = json!({ "schema": 1, "program": "plumb 0.1.0", "command": "survey",
            "target": { "path": "/data" }, "tests": tests });
        home.0.write("survey.json", survey.to_string());
        home.good(&["store", "add", "survey.json"]);
    }
    home.good(&["store", "name", "last", "upgrade"]);
    std::fs::copy(home.path("survey.json"), home.path("sameone")).unwrap();
    let run = |command: &str, word: &str| {
        let words: Vec<String> = command.split_whitespace().map(|part| part.replace('W', word)).collect();
        let Transcript { status, stdout: out, stderr: error, .. } =
            home.run(&words.iter().map(String::as_str).collect::<Vec<_>>()).end();
        (status, out.replace(word, "W"), error.replace(word, "W"))
    };
    for command in READERS {
        let of_file = run(command, "sameone");
        // Nothing of this result can be graded, and the gate cannot tell.
        let is_answer = command.starts_with("grade") || command.starts_with("gate");
        assert!(of_file.0 == Some(0) || is_answer, "{command}: {of_file:?}");
        // A name as long as that of the file: tables have the same widths.
        assert_eq!(run(command, "upgrade"), of_file, "{command} of a name");
        for word in ["2023-11-14-0002", "last"] {
            let (status, _, error) = run(command, word);
            assert!(status == of_file.0 && !error.contains("cannot be read"), "{command} of {word}: {error}");
        }
    }
}

#[test]
fn an_export_can_leave_out_names_of_places() {
    let home = Home::new();
    let mut one = home.measured();
    let secret = home.path("a").display().to_string();
    one["result"]["environment"]["command"] = json!(["plumb", format!("--filename={secret}")]);
    home.night(&one, 1, 1000, "6.12");
    let text = home.good(&["store", "export", "last", "--redact"]);
    assert!(!text.contains(&secret) && text.contains("redacted-") && text.contains("\"ios\""), "{text}");
    let place = home.0.path().display().to_string();
    for words in [&["history"][..], &["history", "--format", "json"], &["store", "list"]] {
        assert!(home.good(words).contains(&place), "{words:?}");
        let shown = home.good(&[words, &["--redact"]].concat());
        assert!(!shown.contains(&place) && shown.contains("redacted-"), "{words:?}: {shown}");
    }
    home.good(&["store", "export", "last", "-o", "kept.json"]);
    assert!(home.0.read("kept.json").contains(&secret));
}

#[test]
fn a_slower_kernel_is_found_with_the_kernel_as_what_changed() {
    let home = Home::new();
    let one = home.measured();
    for day in 0..12 {
        home.night(&one, day, 80_000 + 400 * (day % 3), "6.12.48");
    }
    home.run(&["trend"]).succeeds();
    home.night(&one, 12, 71_000, "6.12.51");
    let history = home.good(&["history", "--last", "3", "."]);
    assert!(history.contains("! unusual: IOPS −11.") && history.contains("run it once more"), "{history}");
    assert_eq!(history.lines().filter(|line| line.starts_with("  20")).count(), 3, "{history}");
    home.night(&one, 13, 71_300, "6.12.51");
    assert!(home.good(&["history"]).contains("changed, twice in a row"));
    home.night(&one, 14, 70_900, "6.12.51");
    let trend = home
        .run(&["trend"])
        .exits(1)
        .prints("IOPS changed between 2023-11-25-0001 and 2023-11-26-0001: 80.4k -> 71.1k, −11.6 % (")
        .stdout;
    let between: Vec<&str> = trend.lines().skip_while(|line| !line.contains("In between")).skip(1).collect();
    assert_eq!(between, ["    kernel: 6.12.48 -> 6.12.51"], "{trend}");
    let json = home.run(&["trend", "--format", "json"]).end().json();
    let json = &json["series"];
    assert_eq!(json[0]["changes"][0]["facts"], json!([["kernel", "6.12.48", "6.12.51"]]), "{json}");
    // Dismissed, it is not shown; accepted, the history starts again with it, and is too short then.
    assert!(home.good(&["trend", "--dismiss", "2023-11-26-0001"]).contains("dismissed"));
    home.run(&["trend"]).succeeds();
    assert!(home.good(&["trend", ".", "--accept", "2023-11-26-0001"]).contains("accepted"));
    home.run(&["trend"]).exits(2).prints("cannot tell: 3 runs");
}

#[test]
fn history_is_for_programs_too() {
    let home = Home::new();
    let one = home.measured();
    home.night(&one, 1, 1000, "6.12");
    home.night(&one, 2, 1100, "6.12");
    let csv = home.good(&["history", "--format", "csv"]);
    assert!(
        csv.starts_with("series,test,path,run,began,grade,number,value\n") && csv.contains(",iops,1100\n"),
        "{csv}"
    );
    let json: Value = serde_json::from_str(&home.good(&["history", "--format", "json"])).unwrap();
    let series = &json["series"][0];
    assert_eq!((&series["runs"][1]["values"]["iops"], &series["runs_in_all"]), (&json!(1100.0), &json!(2)));
    let id = series["series"].as_str().unwrap();
    assert!(home.good(&["history", &id[..4]]).contains("2 runs"));
    home.run(&["history", "/nowhere"]).exits(1).complains("there is no series of `/nowhere`");
    let rebuilt = home.good(&["store", "rebuild"]);
    assert!(rebuilt.starts_with("2 runs"), "{rebuilt}");
    assert_eq!(home.good(&["history", "--format", "csv"]), csv);
    assert!(home.good(&["store", "check"]).contains("no damage"));
}

#[test]
fn what_cannot_be_done_names_the_reason() {
    let home = Home::new();
    home.0.write("text.json", "{\"a\": 1}");
    home.run(&["store", "add", "text.json", "gone.json"])
        .exits(1)
        .complains("text.json: is not a result of plumb: it has no `schema`")
        .complains("gone.json: cannot be read");
    let one = home.measured();
    home.night(&one, 1, 1000, "6.12");
    for (words, why) in [
        (&["store", "name", "last", "last~3"][..], "stands for a run already"),
        (&["store", "name", "last", "a b"], "cannot be the name of a run"),
        (&["store", "name", "--remove", "main"], "there is no run with the name"),
        (&["store", "forget", "yesterday"], "there is no run `yesterday`"),
        (&["trend", "--accept", "yesterday"], "there is no run `yesterday`"),
        (&["store", "--store", "text.json", "list"], "is not a store of plumb"),
        (&["store", "export", "last", "-o", "text.json"], "plumb did not make it"),
    ] {
        let Transcript { status, stderr: error, .. } = home.run(words).end();
        assert!(status.is_some_and(|status| status > 0) && error.contains(why), "{words:?}: {error}");
    }
    assert!(Path::new(&home.usual()).exists());
}
