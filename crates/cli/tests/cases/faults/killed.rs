//! Runs that are killed: what they had measured is on disk, and is shown.

use super::{Bench, Row, SOON, Shown, run_tool};
use house::{Run, wait_for};
use rustix::process::Signal;
use std::path::Path;
use std::time::{Duration, Instant};

/// One command whose result is kept while it runs.
struct Case {
    fault: &'static str,
    words: &'static str,
}

/// After this long there is a result of the run so far, for it is written every 5 s.
const UNTIL: Duration = Duration::from_secs(9);

/// From the first file of a run on: some of its I/Os are done, and most are not.
const A_WHILE: Duration = Duration::from_millis(700);

#[rustfmt::skip]
const CASES: &[Case] = &[
    Case { fault: "plumb fio is killed", words: "fio --output=text --result=kept.json --name=a --ioengine=psync --size=1m --rw=randrw \
        --time_based --runtime=60 --rate_iops=500" },
    Case { fault: "a survey is killed", words: "survey --output kept.json --size 16M --time 60 --tests randread --users 1 --buffered data" },
    Case { fault: "iozone is killed", words: "iozone --json=kept.json -i 0 -s 8m -r 4 -J 20 -f data/z" },
];

pub(crate) fn rows() -> Vec<Row> {
    let row =
        |case: &'static Case| Row::new(case.fault, "SIGKILL once a result is there", move |bench| run(bench, case));
    let mut rows: Vec<Row> = CASES.iter().map(row).collect();
    rows.push(Row::new("Ctrl-C, iozone", "SIGINT after 0.7 s", |bench| {
        let (status, took, message) =
            interrupted(bench, "iozone --json=kept.json -i 0 -s 8m -r 4 -J 20 -f data/z", "data/z", A_WHILE)?;
        let nothing_left = !bench.file("data/z").exists();
        let kept = has_numbers(&bench.file("kept.json"));
        if status != Some(130) || took > SOON || !nothing_left || !kept {
            return Err(format!(
                "status {status:?} after {took:?}, its file removed: {nothing_left}, kept: {kept}; {message}"
            ));
        }
        let did = format!("ended within {} ms, its file removed", took.as_millis());
        Ok(Shown { did, status: "130".into(), kept: "the rows until then, the pass under way".into() })
    }));
    rows.push(Row::new("Ctrl-C, a separate group", "SIGINT after 0.7 s, cgroup=", |bench| {
        let group = format!("plumb-faults-ctrl-c-{}", std::process::id());
        let words = format!(
            "fio --name=a --size=1m --rw=randread --time_based --runtime=20 --rate_iops=100 --cgroup={group} --output=out"
        );
        let (status, took, message) = interrupted(bench, &words, "a.0.0", A_WHILE)?;
        let left = run_tool("find", &["/sys/fs/cgroup", "-maxdepth", "3", "-name", &group])?;
        if status != Some(128) || took > SOON || !left.is_empty() {
            return Err(format!("status {status:?} after {took:?}, groups left: {left:?}; {message}"));
        }
        let did = format!("ended within {} ms, its group removed", took.as_millis());
        Ok(Shown { did, status: "128".into(), kept: "the report".into() })
    }));
    rows.push(Row::new("Ctrl-C, survey", "SIGINT after 1 s, or when its work file is filled", |bench| {
        let words = "survey --output kept.json --size 16M --time 30 --tests randread --users 1 --buffered data";
        let mut found = interrupted(bench, words, "data", Duration::from_secs(1))?;
        // On a busy machine the work file takes longer, and before the first I/O there is nothing to keep.
        for seconds in [3, 9] {
            if !has_numbers(&bench.file("kept.json")) {
                found = interrupted(bench, words, "data", Duration::from_secs(seconds))?;
            }
        }
        let (status, took, message) = found;
        let left: Vec<_> = std::fs::read_dir(bench.file("data")).map_err(|e| e.to_string())?.flatten().collect();
        let kept = has_numbers(&bench.file("kept.json"));
        if status != Some(130) || took > SOON || !left.is_empty() || !kept {
            return Err(format!("status {status:?} after {took:?}, left {left:?}, kept: {kept}; {message}"));
        }
        let did = format!("ended within {} ms, its work file removed", took.as_millis());
        Ok(Shown { did, status: "130".into(), kept: "the tests until then, the one under way".into() })
    }));
    rows
}

/// `plumb` with these words, next to a directory for its files.
pub(crate) fn plumb(bench: &Bench, words: &str) -> Result<Run, String> {
    std::fs::create_dir_all(bench.file("data")).map_err(|error| error.to_string())?;
    Ok(bench.plumb(words))
}

/// Status, time from the signal to the end, and standard error of a run that is interrupted a while after it has this
/// file.
fn interrupted(
    bench: &Bench,
    words: &str,
    file: &str,
    after: Duration,
) -> Result<(Option<i32>, Duration, String), String> {
    let running = plumb(bench, words)?.start();
    wait_for("its file", || bench.file(file).exists().then_some(()));
    std::thread::sleep(after);
    let at = Instant::now();
    running.signal(Signal::INT);
    let ended = running.end();
    Ok((ended.status, at.elapsed(), ended.stderr))
}

fn run(bench: &Bench, case: &Case) -> Result<Shown, String> {
    let running = plumb(bench, case.words)?.start();
    let (path, begun) = (bench.file("kept.json"), Instant::now());
    while !has_numbers(&path) && begun.elapsed() < UNTIL {
        std::thread::sleep(Duration::from_millis(50));
    }
    let waited = begun.elapsed();
    running.signal(Signal::KILL);
    running.end();
    if !has_numbers(&path) {
        return Err(format!("nothing is kept after {waited:?}"));
    }
    let parsed = shown(bench, "parse --format json kept.json")?;
    let ios: u64 = numbers_after(&parsed, "\"ios\"").into_iter().sum();
    if ios == 0 {
        return Err(format!("no I/Os are shown: {parsed}"));
    }
    shown(bench, "report kept.json --output page.html")?;
    let page = std::fs::read_to_string(bench.file("page.html")).map_err(|error| error.to_string())?;
    if !page.contains("had not ended when this was written") {
        return Err("the report does not say that the run had not ended".into());
    }
    let kept = format!("{ios} I/Os, {:.1} s after the start; parse and report show them", waited.as_secs_f64());
    Ok(Shown { did: "its result was on disk".into(), status: "signal 9".into(), kept })
}

/// Whether a whole result with I/Os is there.
pub(crate) fn has_numbers(path: &Path) -> bool {
    let Ok(text) = std::fs::read_to_string(path) else { return false };
    serde_json::from_str::<serde_json::Value>(&text).is_ok()
        && numbers_after(&text, "\"ios\"").iter().any(|&ios| ios > 0)
}

/// The numbers that follow a key.
fn numbers_after(text: &str, key: &str) -> Vec<u64> {
    let number = |rest: &str| {
        let digits: String =
            rest.trim_start_matches([':', ' ', '[', '\n']).chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    };
    text.split(key).skip(1).filter_map(number).collect()
}

fn shown(bench: &Bench, words: &str) -> Result<String, String> {
    let ended = bench.plumb(words).end();
    if ended.status == Some(0) { Ok(ended.stdout) } else { Err(ended.to_string()) }
}
