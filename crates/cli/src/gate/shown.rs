//! The conclusion of the gate as text, JSON, JUnit's XML and annotations of GitHub.

use super::judge::{Conclusion, JudgedRow};
use crate::failure::Failure;
use analysis::compare::Design;
use analysis::statistics::{Answer, Rank};
use measure::text;
use serde_json::{Value, json};
use session::colour::Tone;

/// The answers in the line for a log, with their colours on a terminal.
pub(super) const ANSWERS: [(&str, Tone); 4] = [
    ("gate: ok:", Tone::Good),
    ("gate: worse:", Tone::Bad),
    ("gate: cannot tell:", Tone::Limited),
    ("gate: error:", Tone::Bad),
];

/// A line per number, remarks, and the line for a log.
pub(super) fn text(conclusion: &Conclusion) -> String {
    let mut text = String::new();
    for difference in &conclusion.surroundings {
        text.push_str(&format!("{}: {} → {}\n", difference.fact, difference.old, difference.new));
    }
    for row in &conclusion.rows {
        text.push_str(&format!("{:<12} {}\n", word(row.answer), line(row)));
    }
    conclusion.notes.iter().for_each(|note| text.push_str(&format!("! {note}\n")));
    text + &last_line(conclusion)
}

/// The answer in one line with its end: `gate: worse: random reads 8K ×16 IOPS −11.6 % (−13.1 to −10.1), tolerance 5
/// %`.
pub(super) fn last_line(conclusion: &Conclusion) -> String {
    let answer = word(conclusion.answer);
    let tolerance = format!("tolerance {}", text::chosen_percent(conclusion.tolerance));
    if conclusion.answer == Answer::Ok {
        let title = |judged: &JudgedRow| judged.row().map_or_else(String::new, |row| row.metric.title());
        let named = |rows: Vec<&JudgedRow>| {
            let first = rows.first().map(|judged| title(judged)).unwrap_or_default();
            let same = rows.iter().all(|judged| title(judged) == first);
            let count = rows.len() as u64;
            if same { format!("{first} of {}", text::counted(count, "test")) } else { text::counted(count, "number") }
        };
        let loss = text::percent(conclusion.largest_loss().unwrap_or(0.0).max(0.0) / 100.0);
        let open: Vec<&JudgedRow> = conclusion.open().collect();
        let open = if open.is_empty() { String::new() } else { format!("; not known: {}", named(open)) };
        let decisive = named(conclusion.decisive().collect());
        return format!("gate: {answer}: {decisive}, none can have lost more than {loss}{open}, {tolerance}\n");
    }
    let more = match conclusion.decisive().count().saturating_sub(1) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let first = conclusion.decisive().next().map(line).unwrap_or_default();
    format!("gate: {answer}: {first}{more}, {tolerance}\n")
}

/// The line in place of an answer, with its end.
pub(super) fn line_of_error(message: &str) -> String {
    format!("gate: error: {}\n", message.lines().next().unwrap_or_default())
}

/// The document in place of one with an answer.
pub(super) fn json_of_error(line: &str) -> String {
    let document = json!({ "gate_schema": 1, "verdict": "error", "pairs": [], "line": line.trim_end() });
    format!("{document:#}\n")
}

/// JUnit's XML in place of one with an answer.
pub(super) fn junit_of_error(line: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"plumb gate\" tests=\"1\" errors=\"1\">\n  \
         <testcase classname=\"plumb gate\" name=\"results\"><error message=\"{}\"/></testcase>\n</testsuite>\n",
        xml(line.trim_end())
    )
}

/// One number: `random reads 8K ×16 IOPS −11.6 % (−13.1 to −10.1)`.
fn line(judged: &JudgedRow) -> String {
    let label = &judged.test.label;
    let Some(row) = judged.row() else {
        return format!("{label}: {}", judged.reason.as_deref().unwrap_or_default());
    };
    let change = row.change_text().map_or_else(String::new, |change| format!(" {change}"));
    let head = format!("{label} {}{change}", row.metric.title());
    let interval = row.interval_text().map_or_else(String::new, |ends| format!(" {ends}"));
    if let Some(reason) = &judged.reason {
        return format!("{head}{interval}: {reason}");
    }
    let to_go = match (judged.answer, judged.runs_to_go, judged.design) {
        (Answer::CannotTell, Some(runs), Design::AsMade) => format!("; about {runs} runs a side would settle it"),
        (Answer::CannotTell, Some(pairs), Design::Rounds { .. }) => {
            format!("; about {pairs} pairs would settle it, planned with --pairs={pairs}")
        }
        (Answer::CannotTell, None, _) => "; 200 runs a side would not settle it".to_owned(),
        _ => String::new(),
    };
    format!("{head}{interval}{to_go}")
}

fn word(answer: Answer) -> &'static str {
    match answer {
        Answer::Ok => "ok",
        Answer::Worse => "worse",
        Answer::CannotTell => "cannot tell",
    }
}

/// JSON; shares in place of percent.
pub(super) fn json(conclusion: &Conclusion) -> Result<String, Failure> {
    let pair = |judged: &JudgedRow| {
        let mut value = match judged.test.documents().next() {
            Some(number) => json!(number),
            None => json!({ "test": judged.test.label, "reason": judged.reason }),
        };
        value["verdict"] = Value::from(id(judged.answer));
        value["decides"] = Value::from(judged.rank == Rank::First);
        value["runs_to_go"] = Value::from(judged.runs_to_go);
        value
    };
    let document = json!({
        "gate_schema": 1,
        "verdict": id(conclusion.answer),
        "tolerance": conclusion.tolerance,
        "pairs": conclusion.rows.iter().map(pair).collect::<Vec<_>>(),
        "surroundings": conclusion.surroundings,
        "notes": conclusion.notes,
        "line": last_line(conclusion).trim_end(),
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn id(answer: Answer) -> &'static str {
    match answer {
        Answer::CannotTell => "cannot_tell",
        other => word(other),
    }
}

/// JUnit's XML: a test case per number; *cannot tell* is skipped, with its reason.
pub(super) fn junit(conclusion: &Conclusion) -> String {
    let count = |answer: Answer| conclusion.rows.iter().filter(|row| row.answer == answer).count();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"plumb gate\" tests=\"{}\" failures=\"{}\" \
         skipped=\"{}\">\n",
        conclusion.rows.len(),
        count(Answer::Worse),
        count(Answer::CannotTell)
    );
    for judged in &conclusion.rows {
        let name = judged.row().map_or_else(|| "presence and errors".to_owned(), |row| row.metric.title());
        let [class, name, line] = [judged.test.label.clone(), name, line(judged)].map(|text| xml(&text).into_owned());
        let body = match judged.answer {
            Answer::Ok => format!("<system-out>{line}</system-out>"),
            Answer::Worse => format!("<failure message=\"{line}\"/>"),
            Answer::CannotTell => format!("<skipped message=\"{line}\"/>"),
        };
        text.push_str(&format!("  <testcase classname=\"{class}\" name=\"{name}\">{body}</testcase>\n"));
    }
    let notes: Vec<String> = conclusion.notes.iter().map(|note| xml(note).into_owned() + "\n").collect();
    text + &format!(
        "  <system-out>{}{}</system-out>\n</testsuite>\n",
        notes.concat(),
        xml(last_line(conclusion).trim_end())
    )
}

/// Text for XML, also within quotes. Control characters are not allowed there.
fn xml(text: &str) -> std::borrow::Cow<'_, str> {
    let text = formats::printable::line(text);
    if !text.contains(['&', '<', '>', '"']) {
        return text;
    }
    let safe = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    std::borrow::Cow::Owned(safe)
}

/// Annotations of a workflow: an error per number that is worse, a warning per one that is not settled, then the text.
pub(super) fn github(conclusion: &Conclusion) -> String {
    let mut text = String::new();
    for judged in &conclusion.rows {
        let level = match judged.answer {
            Answer::Ok => continue,
            Answer::Worse => "error",
            Answer::CannotTell => "warning",
        };
        // A percent sign or a line end would end the message.
        let message = line(judged).replace('%', "%25").replace('\n', " ");
        text.push_str(&format!("::{level} title=plumb gate: {}::{message}\n", word(judged.answer)));
    }
    text + &self::text(conclusion)
}
