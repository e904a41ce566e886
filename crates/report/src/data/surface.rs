//! Data of an iozone surface: throughput by file size and record size.

use super::measured::size;
use measure::text;
use model::reading::{IozoneRow, IozoneUnit};
use serde::{Deserialize, Serialize};

/// A heat map.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Surface {
    /// For example `iozone · random read`.
    pub title: String,
    /// Sentences under the title.
    pub sentences: Vec<String>,
    /// Record sizes, the columns, for example `4 KiB`.
    pub records: Vec<String>,
    /// File sizes, the rows, smallest first.
    pub files: Vec<String>,
    /// Throughput in bytes per second, one list per file size; `None` if not measured.
    pub rates: Vec<Vec<Option<f64>>>,
    /// Footnotes.
    pub notes: Vec<String>,
}

impl Surface {
    /// The surfaces in the rows of iozone's table, with the test's name; rows not in KiB/s are skipped.
    pub fn of(title: &str, rows: &[&IozoneRow]) -> Vec<(&'static str, Surface)> {
        let rows: Vec<&IozoneRow> =
            rows.iter().copied().filter(|row| row.head.unit == IozoneUnit::KibPerSecond).collect();
        let mut tests: Vec<&'static str> = Vec::new();
        for (test, rate) in rows.iter().flat_map(|row| &row.values) {
            // iozone prints 0 for a second pass that was skipped (-+n).
            if *rate > 0.0 && !tests.contains(test) {
                tests.push(test);
            }
        }
        tests.into_iter().map(|test| (test, of_test(title, test, &rows))).collect()
    }
}

fn of_test(title: &str, test: &str, rows: &[&IozoneRow]) -> Surface {
    let value = |row: &IozoneRow| row.values.iter().find(|(name, _)| *name == test).map(|&(_, kib)| kib * 1024.0);
    let sorted = |of: fn(&IozoneRow) -> u64| {
        let mut sizes: Vec<u64> = rows.iter().filter(|row| value(row).is_some()).map(|row| of(row)).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    };
    let (files, records) = (sorted(file_bytes), sorted(record_bytes));
    let at = |file: u64, record: u64| {
        let mut here = rows.iter().rev().filter(|row| file_bytes(row) == file && record_bytes(row) == record);
        here.find_map(|row| value(row))
    };
    let rates: Vec<Vec<Option<f64>>> =
        files.iter().map(|&file| records.iter().map(|&record| at(file, record)).collect()).collect();
    let best = rates
        .iter()
        .enumerate()
        .flat_map(|(file, row)| row.iter().enumerate().map(move |(record, rate)| (file, record, *rate)));
    let best = best
        .filter_map(|(file, record, rate)| Some((file, record, rate?)))
        .max_by(|one, other| one.2.total_cmp(&other.2));
    let sentence = best.map(|(file, record, rate)| {
        let rate = text::rate(rate);
        format!("The highest is {rate} with records of {} in a file of {}.", size(records[record]), size(files[file]))
    });
    Surface {
        title: format!("{title} · {test}"),
        sentences: sentence.into_iter().collect(),
        records: records.into_iter().map(size).collect(),
        files: files.into_iter().map(size).collect(),
        rates,
        notes: vec!["A file that fits into memory shows the speed of memory, one that fits into the processor's cache that of the cache.".to_owned()],
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes; saturates")]
fn file_bytes(row: &IozoneRow) -> u64 {
    row.file_bytes as u64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes; saturates")]
fn record_bytes(row: &IozoneRow) -> u64 {
    row.record_bytes as u64
}
