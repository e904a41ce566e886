//! What the readers find in iostat's text is what iostat's JSON says of the same interval, in all of its forms.

use super::recording::{Moment, server};
use super::{Variables, compile_locales, real, without_moments};
use formats::stream::parse;
use model::reading::{Content, IostatRow};
use std::path::Path;

/// The options of each form: how the text is printed, and of both text and JSON which devices and units.
const FORMS: &[&str] = &[
    "",
    "-h",
    "--human",
    "--pretty",
    "-s",
    "-s -h",
    "-x",
    "-x -h",
    "-x --human",
    "-x --pretty",
    "-x --pretty --compact",
    "-x -h --compact",
    "-xs",
    "-xs -h",
    "-xs --human",
    "-xs --pretty",
    "--human --dec=0",
    "-x -h --dec=1",
    "-x --pretty --dec=0",
    "-c -x -h",
];

/// Other options and variables, which both have.
const SURROUNDINGS: &[(&str, Variables)] = &[
    ("", &[]),
    ("-m", &[]),
    ("-k -p ALL", &[("POSIXLY_CORRECT", "1")]),
    ("-p ALL", &[("POSIXLY_CORRECT", "1")]),
    ("-t -m", &[("LC_ALL", "de_DE.UTF-8")]),
    ("-t", &[("LC_ALL", "fa_IR.UTF-8")]),
    ("-t -m -z", &[("LC_ALL", "fi_FI.UTF-8")]),
    ("-t", &[("LC_ALL", "zh_CN.UTF-8")]),
    ("-t -p", &[("S_TIME_FORMAT", "ISO"), ("LC_ALL", "de_DE.UTF-8")]),
    ("-t -k", &[("LC_ALL", "en_US.UTF-8"), ("S_COLORS", "always")]),
    ("-y -t -g both sda sdb -g one nvme0n1 1 1", &[]),
];

/// The installed iostat and the newest that Debian has, where it is unpacked.
fn programs() -> Vec<String> {
    let newest = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../oracles/newest/iostat");
    let newest = newest.exists().then(|| newest.to_str().expect("a plain path").to_owned());
    ["iostat".to_owned()].into_iter().chain(newest).collect()
}

/// Each form in each surrounding is a test.
pub(super) fn add_to(mut cases: house::Cases) -> house::Cases {
    for &form in FORMS {
        for &(also, variables) in SURROUNDINGS {
            let named: String = variables.iter().map(|(name, value)| format!(":{name}_{value}")).collect();
            cases = cases.case(&format!("read_back::{form} {also}{named}"), move || {
                compile_locales();
                programs().iter().try_for_each(|program| check(program, form, also, variables))
            });
        }
    }
    cases
}

/// The devices and the processors that iostat printed, in their order.
fn rows(program: &str, moments: &[Moment], words: &str, variables: Variables) -> Result<Vec<IostatRow>, String> {
    let (status, text) = real(program, moments, words, variables);
    let (readings, damages) = parse(text.as_bytes());
    if status != Some(0) || !damages.is_empty() {
        return Err(format!("{program} {words}: status {status:?}, {damages:?}\n{text}"));
    }
    let row = |found| if let Content::Device(row) | Content::Processors(row) = found { Some(*row) } else { None };
    Ok(readings.into_iter().filter_map(|reading| row(reading.found)).collect())
}

fn check(program: &str, form: &str, also: &str, variables: Variables) -> Result<(), String> {
    // A moment more than one is needed only where the first report is left out.
    let moments = server().into_iter().take(if also.contains("-y") { 2 } else { 1 }).collect::<Vec<_>>();
    let words = format!("{form} {also}");
    let of_text = rows(program, &moments, &words, variables)?;
    let of_json = rows(program, &moments, &format!("{words} -o JSON"), variables)?;
    let devices = |rows: &[IostatRow]| rows.iter().map(|row| row.device.trim().to_owned()).collect::<Vec<_>>();
    if devices(&of_text) != devices(&of_json) || of_text.len() < 3 {
        return Err(format!("{program} {words}: {:?} of text, {:?} of JSON", devices(&of_text), devices(&of_json)));
    }
    // Of the four tables of a group iostat itself adds up only the first, and that wrong.
    let is_cut =
        form.contains("-x") && (form.contains("-h") || form.contains("--pretty")) && !form.contains("--compact");
    let moment = |row: &IostatRow| row.date.as_deref().map(|date| without_moments(date).replace(char::is_numeric, "0"));
    for (text, json) in of_text.iter().zip(&of_json) {
        if moment(text) != moment(json) {
            return Err(format!("{program} {words}: at {:?}, in JSON at {:?}", text.date, json.date));
        }
        if is_cut && json.device.starts_with(' ') {
            continue;
        }
        for (column, &found) in text.columns.iter().zip(&text.values) {
            let expected = expected(json, column).ok_or_else(|| format!("{words}: JSON has no {column}"))?;
            if (found - expected).abs() > tolerance(form, column, expected) {
                return Err(format!("{program} {words}: {column} of {} is {found}, not {expected}", text.device));
            }
        }
        let least = if form.contains('s') || text.device.is_empty() { 5 } else { json.columns.len() };
        if text.columns.len() < least || text.columns.len() != text.values.len() {
            return Err(format!("{program} {words}: {:?} of {:?}", text.columns, json.columns));
        }
    }
    Ok(())
}

/// The value in JSON, where writes and discards are never one.
fn expected(row: &IostatRow, column: &str) -> Option<f64> {
    let name = column.replace('%', "");
    match name.split_once("_w+d") {
        Some((unit, rest)) => {
            let part = |part: &str| row.value(&[&format!("{unit}_{part}{rest}")]);
            Some(part("wrtn")? + part("dscd")?)
        }
        None => row.value(&[&name]),
    }
}

/// Half of the last digit that is printed, of a number that is at least 1 in its own unit; JSON has whole units of sums.
fn tolerance(form: &str, column: &str, expected: f64) -> f64 {
    let half = match (form.contains("--dec=0"), form.contains('h')) {
        (true, _) => 0.5,
        (false, true) => 0.05,
        (false, false) if form.contains("--dec=1") => 0.05,
        (false, false) => 0.005,
    };
    let sums = if column.contains('_') && !column.contains("/s") && !column.ends_with("await") { 2.0 } else { 0.0 };
    half * expected.abs().max(2.0) + sums + 0.011
}
