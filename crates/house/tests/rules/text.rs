//! House rule about text for people: a number becomes text in `measure::text`, so that 1 ms is one text.

use super::language::production;
use super::{check, code};

/// Where numbers are written by other rules, and why.
const ELSEWHERE: &[(&str, &str)] = &[
    ("crates/measure/src/text/", "the one place"),
    ("crates/formats/", "the digits of fio, iostat and iozone"),
    ("crates/fio/", "words of fio"),
    ("crates/iozone/", "words of iozone"),
    ("crates/cli/src/fio/", "lines of fio"),
    ("crates/cli/src/iozone/", "lines of iozone"),
    ("crates/plan/", "values of options"),
    ("crates/analysis/src/identities/", "factors that people multiply again"),
    ("crates/analysis/src/statistics/proofs.rs", "a test"),
    ("crates/analysis/src/statistics/simulated.rs", "a test"),
    ("crates/analysis/src/capacity/queue.rs", "a test"),
    ("crates/cli/src/cost_model/", "fitted numbers, with the decimals of their intervals"),
    ("crates/house/", "tests"),
    ("crates/run/src/shared/steady.rs", "a line of fio's"),
    ("crates/report/src/page/text_pages.rs", "coordinates of a drawing"),
];

/// Functions that make a `String` of one of these have at most this number; it falls. What is left builds sentences
/// around numbers, or bars.
const FUNCTIONS: usize = 17;
const NUMBERS: [&str; 6] = ["f64", "Nanos", "Bytes", "BytesPerSecond", "Duration", "Ratio"];

/// Numbers in braces with a fixed count of decimals, `{ms:.1}`: at most this many; it falls. Without decimals they are
/// counts.
const DECIMALS: usize = 17;

fn is_elsewhere(path: &str) -> bool {
    ELSEWHERE.iter().any(|(prefix, _)| path.starts_with(prefix))
}

/// The functions in this code that have a parameter of a number and return a `String`.
fn writers(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("fn ") {
        let head = &text[at + 3..];
        let end = head.find(['{', ';']).unwrap_or(head.len());
        let Some((signature, result)) = head[..end].split_once("->") else { continue };
        let Some((name, parameters)) = signature.split_once('(') else { continue };
        let of_number = |parameter: &str| {
            let kind = parameter.rsplit(':').next().unwrap_or_default();
            NUMBERS.contains(&kind.trim_matches([' ', '&', ')', ',', '\n']))
        };
        let is_name = name.chars().all(|letter| letter.is_alphanumeric() || "_<>'".contains(letter));
        if is_name && result.trim() == "String" && parameters.split(',').any(of_number) {
            found.push(name.to_owned());
        }
    }
    found
}

/// Numbers with a fixed count of decimals in the braces of a line.
fn decimals(line: &str) -> usize {
    let line = line.split("//").next().unwrap_or_default();
    let inside = |part: &&str| {
        let form = part.split('}').next().unwrap_or_default().split_once(':').map_or("", |(_, form)| form);
        let digits = form.split_once('.').map_or("", |(_, digits)| digits);
        !["", "0"].contains(&digits) && digits.chars().all(|letter| letter.is_alphanumeric() || "_$*".contains(letter))
    };
    line.split('{').skip(1).filter(inside).count()
}

#[test]
fn numbers_become_text_in_one_place() {
    let (mut functions, mut lines) = (Vec::new(), Vec::new());
    for (path, production) in production().into_iter().filter(|(path, _)| !is_elsewhere(path)) {
        let text: String = production.iter().map(|(_, line)| code(line) + "\n").collect();
        functions.extend(writers(&text).into_iter().map(|name| format!("{path}: {name}")));
        let fixed = production.iter().map(|(number, line)| (number, decimals(line))).filter(|(_, count)| *count > 0);
        lines.extend(fixed.flat_map(|(number, count)| vec![format!("{path}:{number}"); count]));
    }
    let mut findings = Vec::new();
    let mut compare = |what: &str, found: &[String], most: usize| {
        if found.len() != most {
            findings.push(format!("{} {what}, and the rule says {most}: {}", found.len(), found.join(", ")));
        }
    };
    compare("functions make a text of a number", &functions, FUNCTIONS);
    compare("numbers have fixed decimals", &lines, DECIMALS);
    check(findings);
}

#[test]
fn a_function_and_decimals_are_found() {
    assert_eq!(
        writers("pub(crate) fn time(ns: f64) -> String {\nfn rate(of: &Row, rate: Bytes) -> String {"),
        ["time", "rate"]
    );
    assert_eq!(writers("fn size(text: &str) -> String {\nfn time(ns: f64) -> f64 {").len(), 0);
    assert_eq!(decimals("format!(\"{ms:.1} {:>8.2} {rate:>9.digits$} {path:?} {left:>5} {{\")"), 3);
}
