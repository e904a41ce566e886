//! What fio printed against what we print from its JSON.

use formats::View;
use formats::fio::{json as fio_json, text as fio_text};
use serde_json::Value;

/// Keys that fio 3.42 has and 3.33 has not.
const ADDED_KEYS: [&str; 9] = [
    "job_start",
    "latency_target_ns",
    "latency_window_us",
    "read_sectors",
    "write_sectors",
    "aggr_read_sectors",
    "aggr_write_sectors",
    "aggr_util",
    "aggr_in_queue",
];

/// Every difference between what fio printed (JSON with bins, then text) and what we print from that JSON.
pub(crate) fn differences(name: &str, printed: &str) -> Vec<String> {
    let document = fio_json::last_document(printed).unwrap_or_else(|| panic!("{name}: no JSON in\n{printed}"));
    let end = document.as_ptr() as usize - printed.as_ptr() as usize + document.len();
    let report = printed[end..].strip_prefix('\n').unwrap();
    let mut result = fio_json::read(printed).unwrap();
    take_pids(&mut result, report);
    let view = View::in_zone(jiff::tz::TimeZone::UTC);
    let mut found = lines(name, report, &fio_text::write(&result, &view));
    let ours = fio_json::write_with_bins(&result, &view);
    found.extend(layout(name, document, &ours));
    let (theirs, ours): (Value, Value) =
        (serde_json::from_str(document).unwrap(), serde_json::from_str(&ours).unwrap());
    trees(name, &theirs, &ours, &mut found);
    found
}

/// The JSON has no process ids and no number of merged workers: they come from the text, in its order.
fn take_pids(result: &mut model::RunResult, report: &str) {
    let number = |line: &str, after: &str| {
        let rest = &line[line.find(after)? + after.len()..];
        rest[..rest.find(|letter: char| !letter.is_ascii_digit())?].parse().ok()
    };
    let mut heads = report.lines().filter(|line| line.contains(": (groupid="));
    for job in result.jobs.iter_mut().filter(|job| job.ios() > 0) {
        let head = heads.next().unwrap();
        (job.pid, job.workers) = (number(head, ": pid=").unwrap(), number(head, ", jobs=").unwrap());
    }
}

/// Folds what 3.42 prints and 3.33 does not, zone resets of jobs without zones, which 3.33 prints, places in fio's own
/// source, and the date of a block, which fio takes again for its text and may be a second after the JSON's.
fn folded(line: &str) -> String {
    let line = line.strip_suffix("; 0 zone resets").unwrap_or(line);
    // Times of a latency target have units in 3.42; no kept output has one.
    let line = line.replace("latency   : target=0, window=0,", "latency   : target=0.00ns, window=0.00ns,");
    let mut line = line.replace("/syncfs:", ":");
    while let Some(start) = line.find("sectors=").map(|at| line[..at].rfind(", ").unwrap_or(at)) {
        let length = line[start + 2..].find(", ").map_or(line.len() - start, |length| length + 2);
        line.replace_range(start..start + length, "");
    }
    if let (Some(start), Some(end)) = (line.find(" (file:"), line.find("): pid=")) {
        line.replace_range(start..=end, " (why)");
    }
    if let Some(start) = line.find(": pid=") {
        let date = line[start + 6..].find(": ").map(|at| start + 6 + at);
        line.truncate(date.unwrap_or(line.len()));
    }
    line
}

fn lines(name: &str, theirs: &str, ours: &str) -> Vec<String> {
    let (theirs, ours): (Vec<&str>, Vec<String>) = (theirs.lines().collect(), ours.lines().map(folded).collect());
    let mut found = Vec::new();
    for index in 0..theirs.len().max(ours.len()) {
        let (their, our) = (theirs.get(index).copied().map(folded), ours.get(index).cloned());
        let tie = matches!((&their, &our), (Some(their), Some(our)) if differ_by_a_tie(their, our));
        if their != our && !tie && !is_bandwidth_in_kilobytes(our.as_deref()) {
            found.push(format!("{name}: text line {}\n  fio  {their:?}\n  ours {our:?}", index + 1));
        }
    }
    found
}

/// fio keeps a running mean in floating point, we keep exact sums: 0.875 may be 0.87499 there and round the other way.
/// Only then may a mean or a deviation differ, by one in its last digit.
fn differ_by_a_tie(their: &str, our: &str) -> bool {
    let parts = |line: &str| line.split(", ").map(str::to_owned).collect::<Vec<_>>();
    let (their, our) = (parts(their), parts(our));
    let last_digit = |their: &str, our: &str| {
        let number = |part: &str| part.split_once('=').and_then(|(_, number)| number.trim().parse::<f64>().ok());
        let rounded = their.starts_with("avg=") || their.starts_with("stdev=");
        rounded && matches!((number(their), number(our)), (Some(their), Some(our)) if (their - our).abs() < 0.0101)
    };
    their.len() == our.len() && their.iter().zip(&our).all(|(their, our)| their == our || last_digit(their, our))
}

/// fio prints KiB/s under the name kB/s when kb_base is 1000, and then MiB/s; we print kB/s and MB/s.
fn is_bandwidth_in_kilobytes(line: Option<&str>) -> bool {
    line.is_some_and(|line| line.starts_with("   bw (   kB/s)") || line.starts_with("   bw (   MB/s)"))
}

/// Keys in the same order with the same indent, values aside.
fn layout(name: &str, theirs: &str, ours: &str) -> Vec<String> {
    let is_added = |line: &&str| ADDED_KEYS.iter().any(|key| line.trim_start().starts_with(&format!("\"{key}\"")));
    let shape = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !is_added(line));
        lines.map(|line| line.split(" : ").next().unwrap_or_default().trim_end_matches(',').to_owned()).collect()
    };
    let (theirs, ours) = (shape(theirs), shape(ours));
    let first = theirs.iter().zip(&ours).position(|(their, our)| their != our);
    match first.or((theirs.len() != ours.len()).then_some(theirs.len().min(ours.len()))) {
        Some(at) => vec![format!("{name}: JSON shape line {at}: fio {:?}, ours {:?}", theirs.get(at), ours.get(at))],
        None => Vec::new(),
    }
}

fn trees(path: &str, theirs: &Value, ours: &Value, found: &mut Vec<String>) {
    match (theirs, ours) {
        (Value::Object(their), Value::Object(our)) => {
            // fio states 0 or "unknown" here, by whether its estimate was ever made.
            for (key, value) in their.iter().filter(|(key, _)| *key != "eta") {
                match our.get(key) {
                    Some(our) => trees(&format!("{path}/{key}"), value, our, found),
                    None => found.push(format!("{path}/{key}: missing in ours")),
                }
            }
            let extra = our.keys().filter(|key| !their.contains_key(*key) && !ADDED_KEYS.contains(&key.as_str()));
            found.extend(extra.map(|key| format!("{path}/{key}: only in ours")));
        }
        (Value::Array(their), Value::Array(our)) if their.len() == our.len() => {
            for (index, (their, our)) in their.iter().zip(our).enumerate() {
                trees(&format!("{path}[{index}]"), their, our, found);
            }
        }
        (Value::Number(their), Value::Number(our)) => {
            let (their_value, our_value) = (their.as_f64().unwrap(), our.as_f64().unwrap());
            let close = (their_value - our_value).abs() <= 3e-6_f64.max(their_value.abs() * 1e-8);
            if !close || their.is_f64() != our.is_f64() {
                found.push(format!("{path}: fio {their}, ours {our}"));
            }
        }
        (their, our) if their == our => {}
        (their, our) => found.push(format!("{path}: fio {their}, ours {our}")),
    }
}
