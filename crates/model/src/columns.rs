//! The columns of measured rows: one table of names, units and values for CSV, R, Parquet, workbooks, JSON and pages.
//!
//! Owns what a column is called and which value it has. The writers own the syntax of their formats and the order.

use crate::Measurement;
use crate::measurement::{BUCKETS, ms};
use crate::reading::ReadKind;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredColumn {
    /// Name, with its unit behind it: `mean_ms`.
    pub name: &'static str,
    /// Name in the tables of fio_scripts, or the same name where fio_scripts do not have the column.
    pub of_scripts: &'static str,
    value: Value,
}

#[derive(Clone, Copy, Debug)]
enum Value {
    Text(for<'row> fn(&'row Measurement) -> Option<Cow<'row, str>>),
    Number(fn(&Measurement) -> Option<f64>),
    Share(usize),
    Percentile(usize),
}

/// The value of a column in a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'row> {
    /// A word; `None` if unknown.
    Text(Option<Cow<'row, str>>),
    /// A number; `None` if unknown.
    Number(Option<f64>),
}

/// A row whose shares were summed once, for all columns.
#[derive(Clone, Copy, Debug)]
pub struct RowOfCells<'row> {
    /// The row.
    pub row: &'row Measurement,
    /// The shares in the ranges of the R matrix; `None` if no percentages are known.
    pub shares: Option<[f64; BUCKETS]>,
}

impl<'row> RowOfCells<'row> {
    /// The cells of a row.
    pub fn new(row: &'row Measurement) -> Self {
        RowOfCells { row, shares: row.buckets() }
    }
}

impl MeasuredColumn {
    /// True for a column of numbers, false for one of words.
    pub const fn is_number(&self) -> bool {
        !matches!(self.value, Value::Text(_))
    }

    /// The value in a row.
    pub fn cell<'row>(&self, cells: &RowOfCells<'row>) -> Cell<'row> {
        match self.value {
            Value::Text(of) => Cell::Text(of(cells.row)),
            Value::Number(of) => Cell::Number(of(cells.row)),
            Value::Share(at) => Cell::Number(cells.shares.map(|shares| shares[at])),
            Value::Percentile(at) => Cell::Number(ms(cells.row.percentiles_ns[at])),
        }
    }

    /// Its column in the ranges of the R matrix, if it is a share.
    pub const fn share(&self) -> Option<usize> {
        match self.value {
            Value::Share(at) => Some(at),
            _ => None,
        }
    }

    /// Its place among the percentiles of a row, if it is one.
    pub const fn percentile(&self) -> Option<usize> {
        match self.value {
            Value::Percentile(at) => Some(at),
            _ => None,
        }
    }
}

const fn text(
    name: &'static str,
    of_scripts: &'static str,
    of: for<'row> fn(&'row Measurement) -> Option<Cow<'row, str>>,
) -> MeasuredColumn {
    MeasuredColumn { name, of_scripts, value: Value::Text(of) }
}

const fn number(name: &'static str, of_scripts: &'static str, of: fn(&Measurement) -> Option<f64>) -> MeasuredColumn {
    MeasuredColumn { name, of_scripts, value: Value::Number(of) }
}

const fn share(at: usize, name: &'static str, of_scripts: &'static str) -> MeasuredColumn {
    MeasuredColumn { name, of_scripts, value: Value::Share(at) }
}

const fn percentile(at: usize, name: &'static str, of_scripts: &'static str) -> MeasuredColumn {
    MeasuredColumn { name, of_scripts, value: Value::Percentile(at) }
}

fn word(text: Option<&String>) -> Option<Cow<'_, str>> {
    text.map(|text| Cow::Borrowed(text.as_str()))
}

/// All columns: `system`, the 31 of fio_scripts, and those that fio_scripts do not have. The shares are percentages of
/// the I/Os between the range before and this latency.
#[rustfmt::skip]
pub const MEASURED_COLUMNS: [MeasuredColumn; 39] = [
    text("system", "system", |row| word(row.system.as_ref())),
    text("name", "name", |row| Some(Cow::Borrowed(row.test.as_str()))),
    number("users", "users", |row| row.users),
    text("block_size", "bs", |row| row.block_text().map(Cow::Owned)),
    number("mib_per_second", "MB", |row| row.mib_per_second()),
    number("mean_ms", "lat", |row| ms(row.mean_ns)),
    number("min_ms", "min", |row| ms(row.min_ns)),
    number("max_ms", "max", |row| ms(row.max_ns)),
    number("deviation_ms", "std", |row| ms(row.deviation_ns)),
    number("iops", "iops", |row| row.iops),
    share(0, "to_50us_percent", "us50"),
    share(1, "to_100us_percent", "us100"),
    share(2, "to_250us_percent", "us250"),
    share(3, "to_500us_percent", "us500"),
    share(4, "to_1ms_percent", "ms1"),
    share(5, "to_2ms_percent", "ms2"),
    share(6, "to_4ms_percent", "ms4"),
    share(7, "to_10ms_percent", "ms10"),
    share(8, "to_20ms_percent", "ms20"),
    share(9, "to_50ms_percent", "ms50"),
    share(10, "to_100ms_percent", "ms100"),
    share(11, "to_250ms_percent", "ms250"),
    share(12, "to_500ms_percent", "ms500"),
    share(13, "to_1s_percent", "s1"),
    share(14, "to_2s_percent", "s2"),
    share(15, "over_2s_percent", "s5"),
    percentile(0, "p95_ms", "p95_00"),
    percentile(1, "p99_ms", "p99_00"),
    percentile(2, "p99_5_ms", "p99_50"),
    percentile(3, "p99_9_ms", "p99_90"),
    percentile(4, "p99_95_ms", "p99_95"),
    percentile(5, "p99_99_ms", "p99_99"),
    text("direction", "direction", |row| row.kind.map(ReadKind::word).map(Cow::Borrowed)),
    number("depth", "depth", |row| row.depth),
    text("engine", "engine", |row| word(row.engine.as_ref())),
    number("errno", "errno", |row| row.errno),
    text("host", "host", |row| word(row.host.as_ref())),
    text("time", "time", |row| word(row.time.as_ref())),
    number("round", "round", |row| row.round),
];

/// The column with this name, or with this name in the tables of fio_scripts.
pub fn measured_column(name: &str) -> Option<&'static MeasuredColumn> {
    const ALL: &[MeasuredColumn] = &MEASURED_COLUMNS;
    ALL.iter().find(|column| column.name == name || column.of_scripts == name)
}

impl Serialize for Measurement {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let cells = RowOfCells::new(self);
        let mut map = serializer.serialize_map(None)?;
        for column in &MEASURED_COLUMNS {
            match column.cell(&cells) {
                Cell::Text(Some(word)) => map.serialize_entry(column.name, &word)?,
                Cell::Number(Some(value)) => map.serialize_entry(column.name, &value)?,
                Cell::Text(None) | Cell::Number(None) => {}
            }
        }
        if !self.unplaced_shares.is_empty() {
            map.serialize_entry("unplaced_percent", &self.unplaced_shares)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_columns_share_a_name_and_each_is_found_by_both() {
        let names: BTreeSet<&str> =
            MEASURED_COLUMNS.iter().flat_map(|column| [column.name, column.of_scripts]).collect();
        for column in &MEASURED_COLUMNS {
            assert_eq!(measured_column(column.name).map(|found| found.name), Some(column.name));
            assert_eq!(measured_column(column.of_scripts).map(|found| found.name), Some(column.name));
        }
        let renamed = MEASURED_COLUMNS.iter().filter(|column| column.name != column.of_scripts).count();
        assert_eq!(names.len(), MEASURED_COLUMNS.len() + renamed);
    }

    #[test]
    fn a_name_of_a_share_or_percentile_is_that_of_its_bound() {
        let shares: Vec<&MeasuredColumn> = MEASURED_COLUMNS.iter().filter(|column| column.share().is_some()).collect();
        for (at, column) in shares.iter().enumerate() {
            let bound = measurement::bucket_edge_ns(at).map_or("over_2s_percent".to_owned(), |ns| match ns {
                ns if ns < 1e6 => format!("to_{}us_percent", ns / 1e3),
                ns if ns < 1e9 => format!("to_{}ms_percent", ns / 1e6),
                ns => format!("to_{}s_percent", ns / 1e9),
            });
            assert_eq!((column.share(), column.name), (Some(at), bound.as_str()));
        }
        let percentiles = MEASURED_COLUMNS.iter().filter(|column| column.percentile().is_some());
        let named: Vec<String> = measurement::PERCENTS
            .iter()
            .map(|percent| format!("p{}_ms", percent.to_string().replace('.', "_")))
            .collect();
        assert_eq!(percentiles.map(|column| column.name).collect::<Vec<_>>(), named);
    }
}
