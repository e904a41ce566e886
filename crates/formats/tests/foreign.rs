//! Readers of foreign text: nothing panics, and what is not there is said.

use formats::fio::{json as fio_json, text as fio_text};
use formats::{FORMATS, FormatError, View, sniff};
use proptest::prelude::*;

fn golden(name: &str) -> String {
    let path = format!("{}/tests/golden/fio-3.33/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("kept output")
}

fn utc() -> View {
    View::in_zone(jiff::tz::TimeZone::UTC)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in "(\\{\n)?[\\PC\n]{0,200}(\n\\}\n)?") {
        for read in FORMATS.iter().filter_map(|format| format.read) {
            let _ = read(&text);
        }
        let _ = formats::results::results(text.as_bytes());
    }

    #[test]
    fn a_document_with_a_number_gone_wrong_is_still_shown(at in 0usize..2000, wrong in "(-1|0|1e300|18446744073709551615|\"x\"|null|[0-9]{1,25})") {
        let text = golden("group-reporting");
        let lines = text.lines().enumerate();
        let spoilt: Vec<String> = lines.map(|(index, line)| match line.split_once(" : ") {
            Some((key, value)) if index % 400 == at % 400 && !value.ends_with(['{', '[']) =>
                format!("{key} : {wrong}{}", if value.ends_with(',') { "," } else { "" }),
            _ => line.to_owned(),
        }).collect();
        if let Ok(mut result) = fio_json::read(&spoilt.join("\n")) {
            fio_text::write(&result, &utc());
            fio_json::write_with_bins(&result, &utc());
            let again = result.jobs.clone();
            result.jobs.extend(again);
            result.jobs.iter_mut().for_each(|job| job.style.group_reporting = true);
            fio_text::write(&result, &utc());
        }
    }
}

#[test]
fn without_bins_the_percentiles_survive() {
    for name in ["null-randrw", "libaio-randread", "all-percentiles", "psync-write-fsync"] {
        let with_bins = fio_json::read(&golden(name)).unwrap();
        let plain = fio_json::write(&with_bins, &utc());
        assert!(!plain.contains("\"bins\""));
        let again = fio_json::read(&plain).unwrap();
        assert_eq!(fio_json::write(&again, &utc()), plain, "{name}");
    }
}

#[test]
fn of_several_documents_the_last_is_read() {
    let one = fio_json::write(&fio_json::read(&golden("null-randrw")).unwrap(), &utc());
    let later = one.replace("\"jobname\" : \"a\"", "\"jobname\" : \"later\"");
    let result = fio_json::read(&format!("note: x\n{one}{later}\na: (groupid=0, jobs=1)\n")).unwrap();
    assert_eq!(result.jobs[0].echo.name, "later");
}

#[test]
fn text_without_a_document_is_refused_with_what_would_work() {
    let error = fio_json::read("fio: no such thing\n").unwrap_err();
    assert!(matches!(&error, FormatError::Refused { format: "fio-json", line: 1, .. }), "{error:?}");
    assert!(error.to_string().contains("--output-format=json"), "{error}");
    let error = fio_json::read("{\n\"a\" : 1\n}\n").unwrap_err();
    assert!(error.to_string().contains("`jobs`"), "{error}");
}

#[test]
fn each_kind_of_output_is_recognised() {
    let name = |text: &str| sniff(text.as_bytes()).map(|format| format.name);
    let report = golden("null-randrw");
    let result = fio_json::read(&report).unwrap();
    assert_eq!(name(&fio_json::write(&result, &utc())), Some("fio-json"));
    assert_eq!(name(&fio_text::write(&result, &utc())), Some("fio-text"));
    assert_eq!(name(&formats::native::write(&result).unwrap()), Some("native"));
    assert_eq!(name("time,iops\n"), None);
}

#[test]
fn strings_are_escaped_where_fio_forgets_to() {
    let mut result = fio_json::read(&golden("null-randrw")).unwrap();
    result.jobs[0].echo.description = Some("say \"hi\"\\\n".to_owned());
    let again = fio_json::read(&fio_json::write(&result, &utc())).unwrap();
    assert_eq!(again.jobs[0].echo.description, result.jobs[0].echo.description);
}
