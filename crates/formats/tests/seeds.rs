//! The outputs in five web pages of 2012 to 2021: every number that fio, fioparse.sh, R, iozone and iostat printed
//! there is extracted, and nothing that is not there. `NAME.numbers` lists them, one per line: which output of the
//! page, which field, and its value in base units.

use formats::stream::parse;
use formats::sweep::{ColumnNames, measurements, r_head, r_row, r_tail};
use model::reading::{Content, Reading};
use serde_json::Value;
use std::collections::BTreeMap;

fn page(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/seeds/{name}.txt", env!("CARGO_MANIFEST_DIR"))).expect("the test's own data")
}

/// The numbers of a value by their paths.
fn numbers(path: &str, value: &Value, into: &mut BTreeMap<String, f64>) {
    match value {
        Value::Number(number) => {
            into.insert(path.to_owned(), number.as_f64().expect("the test's own data"));
        }
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(at, value)| numbers(&format!("{path}/{at}"), value, into));
        }
        Value::Object(object) => {
            // Where it stands is ours, not the page's.
            object
                .iter()
                .filter(|(key, _)| *key != "line")
                .for_each(|(key, value)| numbers(&format!("{path}/{key}"), value, into));
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn found(readings: &[Reading]) -> BTreeMap<String, f64> {
    let mut sorted: Vec<&Reading> = readings.iter().collect();
    sorted.sort_by_key(|reading| reading.line);
    let mut all = BTreeMap::new();
    for (at, reading) in sorted.into_iter().enumerate() {
        let value = serde_json::to_value(&reading.found).expect("the test's own data");
        numbers(
            &at.to_string(),
            value.as_object().expect("the test's own data").values().next().expect("the test's own data"),
            &mut all,
        );
    }
    all
}

fn check(name: &str, damaged_lines: &[u64]) {
    let (readings, damages) = parse(&page(name));
    let listed = std::fs::read_to_string(format!("{}/tests/seeds/{name}.numbers", env!("CARGO_MANIFEST_DIR")))
        .expect("the test's own data");
    let expected: BTreeMap<String, f64> = listed
        .lines()
        .map(|line| line.split_once(' ').expect("the test's own data"))
        .map(|(path, value)| (path.to_owned(), value.parse().expect("the test's own data")))
        .collect();
    let found = found(&readings);
    let mut wrong = Vec::new();
    for path in expected.keys().chain(found.keys()) {
        let (expected, found) = (expected.get(path), found.get(path));
        let same = matches!((expected, found), (Some(a), Some(b)) if (a - b).abs() <= 1e-9 * a.abs().max(1e-9));
        if !same {
            wrong.push(format!("{path}: printed {expected:?}, read {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{name}: {} of {}\n{}", wrong.len(), expected.len(), wrong.join("\n"));
    assert_eq!(damages.iter().map(|damage| damage.line).collect::<Vec<_>>(), damaged_lines, "{damages:?}");
}

#[test]
fn every_number_of_the_page_of_fio_scripts_is_read() {
    check("fio_scripts", &[]);
}

#[test]
fn every_number_of_fio_2_0_13_is_read() {
    check("fio_2.0.13", &[]);
}

#[test]
fn every_number_of_the_elided_mixed_runs_is_read() {
    check("fio_mixed", &[]);
}

#[test]
fn every_number_of_iozone_and_of_iostat_with_13_columns_is_read() {
    check("iozone_iostat", &[]);
}

#[test]
fn every_number_of_fio_2_0_8_and_iostat_is_read() {
    check("fio_2.0.8_iostat", &[14]);
}

/// The columns of `m`, 31 of them those of fio_scripts, from the reports of fio 2.0.13: what fioparse.sh would have
/// made of them, without its defects.
#[test]
fn the_r_matrix_of_the_raw_reports_has_what_fioparse_lost() {
    let (readings, _) = parse(&page("fio_2.0.13"));
    let rows: Vec<_> = readings.iter().flat_map(|reading| measurements(reading, None)).collect();
    let lines: Vec<String> = rows.iter().enumerate().map(|(at, row)| r_row(row, "page", at)).collect();
    assert_eq!(
        lines,
        [
            "  \"read\", 8, \"4K\", 109.665039, 0.28152, 0.036, 10.253, 0.20633, 28074, 0.01, 9.8, 43.21, 35.96, 10.37, 0.56, 0.08, 0.01, 0.01, 0, 0, 0, 0, 0, 0, 0, 0.612, 0.892, 1.096, 1.96, 2.384, 4.576, 1, \"sync\", NA, \"page\", NA, \"2015-01-15T12:59:35\", NA\n",
            ", \"write\", 8, \"4K\", 11.759766, 2.56556, 0.18, 360.367, 15.23585, 3010, 0, 0, 25, 71.04, 0.99, 0.32, 0.07, 0.02, 0.01, 0.03, 2.23, 0.26, 0.03, 0, 0, 0, 0.43, 83.456, 89.6, 201.728, 238.592, 305.152, 1, \"sync\", NA, \"page\", NA, \"2015-01-15T12:57:28\", NA\n",
            ", \"randread\", 8, \"4K\", 4.114355, 7.5867, 0.063, 541.653, 18.59884, 1053, 0, 0.87, 37.45, 5.08, 2, 1.56, 7.69, 23.95, 12.04, 7.99, 1.04, 0.21, 0.1, 0.01, 0, 0, 28.8, 55.04, 75.264, 333.824, 411.648, 505.856, 1, \"sync\", NA, \"page\", NA, \"2015-01-15T13:01:58\", NA\n",
            ", \"randwrite\", 8, \"4K\", 9.946289, 0.81503, 0.178, 576.925, 9.22133, 2546, 0, 0, 22.61, 74.73, 1.6, 0.4, 0.07, 0.04, 0.01, 0.07, 0.39, 0.04, 0.04, 0.01, 0, 0, 0.41, 1.08, 44.288, 89.6, 205.824, 403.456, 1, \"sync\", NA, \"page\", NA, \"2015-01-15T13:04:49\", NA\n",
        ]
    );
    let r = format!("{}{}{}", r_head(), lines.concat(), r_tail(Some("lab"), ColumnNames::FioScripts));
    let (again, damages) = parse(r.as_bytes());
    assert_eq!((again.len(), damages.len()), (4, 0), "our own R code is read back");
}

/// The page's R matrix goes in and comes out: the same 31 values in each of 22 rows, twice.
#[test]
fn the_r_matrix_of_the_page_is_reproduced() {
    let (readings, _) = parse(&page("fio_scripts"));
    let rows: Vec<_> = readings.iter().flat_map(|reading| measurements(reading, None)).collect();
    assert_eq!(rows.len(), 66, "22 of the table, 22 of the matrix, 22 of the data frame");
    let matrix = &rows[22..44];
    let code: String = matrix.iter().enumerate().map(|(at, row)| r_row(row, "page", at)).collect();
    let code = format!("{}{code}{}", r_head(), r_tail(None, ColumnNames::Units));
    let (again, _) = parse(code.as_bytes());
    let again: Vec<_> = again
        .iter()
        .map(|reading| match &reading.found {
            Content::Row(row) => (**row).clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(again, matrix);
}
