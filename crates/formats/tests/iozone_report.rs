//! iozone's reports for spreadsheets: next to its table nothing is read twice, alone they say what the table said.

use formats::stream::parse;
use formats::sweep::measurements;
use model::reading::{Content, IozoneRow, IozoneThroughput, IozoneUnit, Reading};
use std::collections::BTreeSet;

const MATRIX: &str = include_str!("golden/iozone-3.489/matrix-report.txt");
const THROUGHPUT: &str = include_str!("golden/iozone-3.489/throughput-report.txt");

fn whole(text: &str) -> Vec<Reading> {
    let (readings, damages) = parse(text.as_bytes());
    assert!(damages.is_empty(), "{damages:?}");
    readings
}

fn rows(readings: &[Reading]) -> Vec<&IozoneRow> {
    readings
        .iter()
        .filter_map(|reading| if let Content::Iozone(row) = &reading.found { Some(&**row) } else { None })
        .collect()
}

fn blocks(readings: &[Reading]) -> Vec<&IozoneThroughput> {
    let block = |reading| {
        if let &Reading { found: Content::Throughput(ref block), .. } = reading { Some(&**block) } else { None }
    };
    readings.iter().filter_map(block).collect()
}

/// File size, record size, test and value of every cell.
fn cells(rows: &[&IozoneRow]) -> BTreeSet<(u64, u64, &'static str, u64)> {
    let cell = |row: &IozoneRow, test, value: f64| {
        (row.file_bytes.to_bits(), row.record_bytes.to_bits(), test, value.to_bits())
    };
    rows.iter().flat_map(|row| row.values.iter().map(move |&(test, value)| cell(row, test, value))).collect()
}

#[test]
fn a_report_behind_its_table_adds_only_processor_times() {
    let readings = whole(MATRIX);
    let rows = rows(&readings);
    let (table, reports): (Vec<&IozoneRow>, Vec<&IozoneRow>) = rows.iter().partition(|row| !row.values.is_empty());
    assert_eq!((table.len(), cells(&table).len()), (6, 36));
    assert_eq!(reports.len(), 36, "a processor time per cell");
    assert!(reports.iter().all(|row| row.processor_percent.len() == 1));
    assert_eq!(readings.iter().flat_map(|reading| measurements(reading, None)).count(), 36);
}

#[test]
fn reports_alone_say_what_the_table_said() {
    let (before, reports) = MATRIX.split_once("Excel output is below:").expect("the test's own data");
    let (table, alone) = (whole(before), whole(reports));
    assert_eq!(cells(&rows(&alone)), cells(&rows(&table)));
    let indented: String = reports.lines().map(|line| format!("> \t{line}\r\n")).collect();
    assert_eq!(cells(&rows(&whole(&indented))), cells(&rows(&table)));
}

#[test]
fn what_was_not_measured_is_a_zero_and_no_row() {
    let readings = whole("\"Writer report\"\n        \"4\"  \"8\"\n\"64\"   100  0 \n\"128\"   0  300 \n");
    let found: Vec<_> = rows(&readings).iter().map(|row| (row.file_bytes, row.record_bytes, row.values[0])).collect();
    assert_eq!(found, [(65536.0, 4096.0, ("write", 100.0)), (131072.0, 8192.0, ("write", 300.0))]);
}

#[test]
fn blocks_have_their_cpu_times_and_reports_add_only_their_own() {
    let readings = whole(THROUGHPUT);
    let blocks = blocks(&readings);
    let (printed, reported): (Vec<&IozoneThroughput>, Vec<&IozoneThroughput>) =
        blocks.iter().partition(|block| block.workers.is_some());
    assert_eq!(printed.len(), 8, "4 tests by 1 and by 2");
    assert!(printed.iter().all(|block| block.wall_s.is_some() && block.processor_percent.is_some()), "{printed:?}");
    assert!(reported.iter().all(|block| block.children.is_none() && block.processor_percent.is_some()), "{reported:?}");
    assert_eq!(reported.len(), 8);
}

#[test]
fn a_throughput_report_alone_gives_rates_and_no_users() {
    let (_, report) = THROUGHPUT.split_once("\"Throughput report").expect("the test's own data");
    let readings = whole(&format!("\"Throughput report{report}"));
    let rates: Vec<&IozoneThroughput> =
        blocks(&readings).into_iter().filter(|block| block.children.is_some()).collect();
    assert_eq!(rates.len(), 8);
    assert!(rates.iter().all(|block| block.workers.is_none() && block.head.record_bytes == Some(4096.0)));
    assert_eq!((rates[0].test.as_str(), rates[7].test.as_str()), ("Initial write", "Re-read"));
    let operations = report.replace("Output is in kBytes/sec", "Output is in ops/sec");
    let readings = whole(&format!("\"Throughput report{operations}"));
    assert!(blocks(&readings)[0].head.unit == IozoneUnit::OperationsPerSecond);
}

#[test]
fn a_damaged_report_is_named_and_what_is_whole_is_kept() {
    for (text, rows_left, line) in [
        ("\"Reader report\"\n\"4\" \"8\"\n\"64\" 1 2 \n\"128\" 3 \n", 2, 4),
        ("\"Reader report\"\n\"4\" \"8\"\n\"64\" 1 x \n\"128\" 3 4\n", 2, 3),
        ("\"Reader report\"\n\"four\"\n\"64\" 1\n", 0, 2),
    ] {
        let (readings, damages) = parse(text.as_bytes());
        assert_eq!((rows(&readings).len(), damages.len(), damages[0].line), (rows_left, 1, line), "{text}");
    }
    let (_, damages) =
        parse(b"\"Throughput report Y-axis is type of test X-axis is number of processes\"\n\"  Read \"  fast \n");
    assert_eq!((damages.len(), damages[0].line), (1, 2));
}
