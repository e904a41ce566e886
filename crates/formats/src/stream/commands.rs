//! JSON of plumb's own commands: what it holds as readings, or a sentence that says what it is.
//!
//! Results in it (those of `plumb versus`) are found as in any document. Trials of `plumb capacity` and rounds of
//! `plumb ask` are rows; judgements, such as those of `plumb gate`, are no results.

use crate::event::{Event, Sink};
use crate::tree::{Object, Tree};
use model::Measurement;
use model::measurement::PERCENTS;
use model::reading::{Content, ReadKind, Reading};

/// The ending of the key that states a document's command.
const SCHEMA: &str = "_schema";

/// Contents of the documents of a command.
struct Command {
    name: &'static str,
    /// Completes: this is the JSON of `plumb NAME`: ...
    holds: &'static str,
    /// The rows in it.
    rows: fn(&Object<'_>) -> Vec<Measurement>,
}

const COMMANDS: &[Command] = &[
    Command { name: "capacity", holds: "a search that tried no rate", rows: trials },
    Command { name: "ask", holds: "an answer without rounds", rows: rounds },
    Command { name: "ask_list", holds: "the programs that plumb ask knows", rows: none },
    Command { name: "versus", holds: "a decision; its results are in the directory of --results", rows: none },
    Command { name: "compare", holds: "a comparison; give the results that were compared", rows: none },
    Command { name: "gate", holds: "a verdict; give the results that were judged", rows: none },
    Command { name: "calibrate", holds: "what plumb adds to latencies; plumb explain has it of a result", rows: none },
    Command { name: "durable", holds: "what a power cut has left of acknowledged writes", rows: none },
    Command { name: "why", holds: "where the time of a program's I/O went", rows: none },
    Command { name: "check", holds: "remarks; give the results that were checked", rows: none },
    Command { name: "explain", holds: "equations; give the results that were explained", rows: none },
    Command { name: "report", holds: "a page; give the results that it shows", rows: none },
    Command { name: "plot", holds: "pictures; give the results that they show", rows: none },
    Command { name: "grade", holds: "a report card; give the results that were graded", rows: none },
    Command { name: "model", holds: "cost models; give the sweeps that they were fitted to", rows: none },
    Command { name: "history", holds: "numbers of the store; plumb store export writes its results", rows: none },
    Command { name: "trend", holds: "numbers of the store; plumb store export writes its results", rows: none },
    Command { name: "store", holds: "what the store said; plumb store export writes its results", rows: none },
    Command {
        name: "watch",
        holds: "the activity of devices; plumb iostat -o JSON has it in a form that is read",
        rows: none,
    },
    Command { name: "parse", holds: "readings; give the files that were parsed, or --format csv of them", rows: none },
];

/// The command whose document this is, and its name in the document.
fn command<'object>(object: &'object Object<'_>) -> Option<(&'object str, Option<&'static Command>)> {
    let name = object.iter().find_map(|(key, _)| key.strip_suffix(SCHEMA))?;
    Some((name, COMMANDS.iter().find(|command| command.name == name)))
}

/// True for the JSON of a command.
pub(super) fn is_of_command(object: &Object<'_>) -> bool {
    command(object).is_some_and(|(_, command)| command.is_some())
}

/// Passes on the rows in the JSON of a command; true if there are any.
pub(super) fn read(object: &Object<'_>, line: u64, sink: &mut Sink<'_>) -> bool {
    let Some((_, Some(command))) = command(object) else { return false };
    let rows = (command.rows)(object);
    let found = !rows.is_empty();
    rows.into_iter().for_each(|row| sink(Event::Reading(Reading::new("plumb", line, Content::Row(Box::new(row))))));
    found
}

/// Describes a document that has no results, and says how to see it.
pub(super) fn explained(object: &Object<'_>) -> Option<String> {
    let (_, command) = command(object)?;
    let Command { name, holds, .. } = command?;
    let shown = name.split('_').next().unwrap_or(name);
    Some(format!("this is the JSON of plumb {shown}: {holds}; plumb {shown} without --json shows it as text"))
}

fn none(_: &Object<'_>) -> Vec<Measurement> {
    Vec::new()
}

fn number(object: &Object<'_>, key: &str) -> Option<f64> {
    object.get(key).and_then(Tree::as_number)
}

fn text(object: &Object<'_>, key: &str) -> Option<String> {
    object.get(key).and_then(Tree::as_text).map(str::to_owned)
}

fn objects<'tree, 'text>(value: Option<&'tree Tree<'text>>) -> impl Iterator<Item = &'tree Object<'text>> {
    value.and_then(Tree::as_list).unwrap_or_default().iter().filter_map(Tree::as_object)
}

fn percentiles(found: &[(f64, Option<f64>)]) -> [Option<f64>; PERCENTS.len()] {
    PERCENTS.map(|percent| found.iter().find(|(known, _)| (known - percent).abs() < 1e-9).and_then(|(_, ns)| *ns))
}

/// The rates that `plumb capacity` tried, as I/Os per second that were done.
fn trials(root: &Object<'_>) -> Vec<Measurement> {
    let reads = number(root, "read_percent");
    let kind = match reads {
        Some(100.0) => ReadKind::Read,
        Some(0.0) => ReadKind::Write,
        _ => ReadKind::Mixed,
    };
    let test = match kind {
        ReadKind::Read => "randread",
        ReadKind::Write => "randwrite",
        _ => "randrw",
    };
    let block = root.get("block_bytes").and_then(Tree::as_whole).map(|bytes| (bytes, bytes));
    let row = |trial: &Object<'_>| Measurement {
        test: test.into(),
        kind: Some(kind),
        block,
        engine: text(root, "engine"),
        iops: number(trial, "done"),
        bytes_per_second: number(trial, "done").zip(block).map(|(rate, (bytes, _))| rate * bytes as f64),
        percentiles_ns: percentiles(&[(99.0, number(trial, "p99_ns")), (99.9, number(trial, "p99_9_ns"))]),
        ..Measurement::default()
    };
    objects(root.get("trials")).map(row).collect()
}

/// The rates of each round of `plumb ask`.
fn rounds(root: &Object<'_>) -> Vec<Measurement> {
    let mut rows = Vec::new();
    for test in objects(root.get("tests")) {
        let rounds = test.get("rounds").and_then(Tree::as_list).unwrap_or_default();
        for (number_of_round, round) in (1..).zip(rounds) {
            let row = |rate: &Object<'_>| Measurement {
                test: text(test, "name").unwrap_or_default().as_str().into(),
                kind: text(rate, "direction").and_then(|word| {
                    [ReadKind::Read, ReadKind::Write, ReadKind::Trim].into_iter().find(|kind| kind.word() == word)
                }),
                iops: number(rate, "iops"),
                bytes_per_second: number(rate, "bytes_per_second"),
                percentiles_ns: percentiles(&[(99.0, number(rate, "p99_ns"))]),
                round: Some(f64::from(number_of_round)),
                ..Measurement::default()
            };
            rows.extend(objects(Some(round)).map(row));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use crate::stream::parse;

    #[test]
    fn each_document_of_a_command_has_rows_or_says_what_it_is() {
        let rows = |text: &str| {
            let (readings, damages) = parse(text.as_bytes());
            (readings.len(), damages.first().map(|damage| damage.what.clone()).unwrap_or_default())
        };
        let capacity = r#"{"capacity_schema": 1, "block_bytes": 8192, "read_percent": 100,
            "trials": [{"done": 1500.0, "p99_ns": 90000}, {"done": 3000.0, "p99_ns": null}]}"#;
        assert_eq!(rows(capacity), (2, String::new()));
        let ask = r#"{"ask_schema": 1, "tests": [{"name": "wal", "rounds": [[{"direction": "write", "iops": 5.0}]]}]}"#;
        assert_eq!(rows(ask), (1, String::new()));
        for command in super::COMMANDS.iter().filter(|command| command.name != "ask_list") {
            let (found, what) = rows(&format!("{{\"{}_schema\": 1, \"pairs\": [1]}}\n", command.name));
            assert_eq!(found, 0);
            assert!(what.starts_with(&format!("this is the JSON of plumb {}: ", command.name)), "{what}");
        }
    }
}
