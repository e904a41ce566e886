//! The columns of measured rows: one table of names and values for CSV, R, Parquet, workbooks and tables.
//!
//! Owns what a column is called and which value it has. The writers own the syntax of their formats and the order.

use super::{BUCKET_NAMES, PERCENTILE_NAMES};
use model::Measurement;
use model::measurement::{BUCKETS, PERCENTS, ms};
use model::reading::ReadKind;
use std::borrow::Cow;
use std::sync::LazyLock;

/// A row and where it was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct SourceRow<'row> {
    pub(super) row: &'row Measurement,
    pub(super) source: &'row str,
    pub(super) line: u64,
    /// The shares in the ranges of the R matrix, computed once per row.
    buckets: Option<[f64; BUCKETS]>,
}

impl<'row> SourceRow<'row> {
    pub(super) fn new(row: &'row Measurement, source: &'row str, line: u64) -> Self {
        SourceRow { row, source, line, buckets: row.buckets() }
    }

    /// The shares in the ranges of the R matrix; `None` if no percentages are known.
    pub(super) const fn buckets(&self) -> Option<&[f64; BUCKETS]> {
        self.buckets.as_ref()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell<'row> {
    /// A word; `None` if unknown.
    Text(Option<Cow<'row, str>>),
    /// A number; `None` if unknown.
    Number(Option<f64>),
}

#[derive(Clone, Copy, Debug)]
enum Value {
    Text(for<'row> fn(&SourceRow<'row>) -> Option<Cow<'row, str>>),
    Number(fn(&SourceRow<'_>) -> Option<f64>),
    Bucket(usize),
    Percentile(usize),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    /// Name in CSV and R: that of fio_scripts, where it has the column.
    pub(super) name: &'static str,
    /// Name in Parquet and in workbooks, with the unit.
    #[cfg_attr(
        not(any(feature = "parquet", feature = "workbook")),
        expect(dead_code, reason = "only these formats have it")
    )]
    pub(super) long_name: &'static str,
    value: Value,
}

impl Column {
    pub(super) const fn is_number(&self) -> bool {
        !matches!(self.value, Value::Text(_))
    }

    pub(super) fn cell<'row>(&self, placed: &SourceRow<'row>) -> Cell<'row> {
        match self.value {
            Value::Text(of) => Cell::Text(of(placed)),
            _ => Cell::Number(self.number(placed)),
        }
    }

    /// The number; `None` if it is unknown, or the column one of words.
    pub(super) fn number(&self, placed: &SourceRow<'_>) -> Option<f64> {
        match self.value {
            Value::Text(_) => None,
            Value::Number(of) => of(placed),
            Value::Bucket(at) => placed.buckets.map(|buckets| buckets[at]),
            Value::Percentile(at) => ms(placed.row.percentiles_ns[at]),
        }
    }

    /// The word; `None` if it is unknown, or the column one of numbers.
    pub(super) fn text<'row>(&self, placed: &SourceRow<'row>) -> Option<Cow<'row, str>> {
        match self.value {
            Value::Text(of) => of(placed),
            _ => None,
        }
    }
}

const fn text(
    name: &'static str,
    long_name: &'static str,
    of: for<'row> fn(&SourceRow<'row>) -> Option<Cow<'row, str>>,
) -> Column {
    Column { name, long_name, value: Value::Text(of) }
}

const fn number(name: &'static str, long_name: &'static str, of: fn(&SourceRow<'_>) -> Option<f64>) -> Column {
    Column { name, long_name, value: Value::Number(of) }
}

/// The columns before the buckets: `system`, which is not in the R matrix, and the first of the matrix.
const FIRST: [Column; 10] = [
    text("system", "system", |placed| placed.row.system.as_deref().map(Cow::Borrowed)),
    text("name", "name", |placed| Some(Cow::Borrowed(placed.row.test.as_str()))),
    number("users", "users", |placed| placed.row.users),
    text("bs", "block_size", |placed| placed.row.block_text().map(Cow::Owned)),
    number("MB", "mib_per_second", |placed| placed.row.mib_per_second()),
    number("lat", "mean_ms", |placed| ms(placed.row.mean_ns)),
    number("min", "min_ms", |placed| ms(placed.row.min_ns)),
    number("max", "max_ms", |placed| ms(placed.row.max_ns)),
    number("std", "deviation_ms", |placed| ms(placed.row.deviation_ns)),
    number("iops", "iops", |placed| placed.row.iops),
];

/// The columns that fio_scripts do not have.
const MORE: [Column; 9] = [
    text("direction", "direction", |placed| placed.row.kind.map(ReadKind::word).map(Cow::Borrowed)),
    number("depth", "depth", |placed| placed.row.depth),
    text("engine", "engine", |placed| placed.row.engine.as_deref().map(Cow::Borrowed)),
    number("errno", "errno", |placed| placed.row.errno),
    text("source", "source", |placed| Some(Cow::Borrowed(placed.source))),
    number("line", "line", |placed| Some(measure::float(placed.line))),
    text("host", "host", |placed| placed.row.host.as_deref().map(Cow::Borrowed)),
    text("time", "time", |placed| placed.row.time.as_deref().map(Cow::Borrowed)),
    number("round", "round", |placed| placed.row.round),
];

/// All columns, in the order of CSV: `system`, the 31 of fio_scripts, and those that fio_scripts do not have.
pub(super) fn all() -> &'static [Column] {
    static ALL: LazyLock<Vec<Column>> = LazyLock::new(|| {
        let named = |name, value| Column { name, long_name: name, value };
        let buckets = (0..BUCKETS).map(|at| named(BUCKET_NAMES[at], Value::Bucket(at)));
        let percentiles = (0..PERCENTS.len()).map(|at| named(PERCENTILE_NAMES[at], Value::Percentile(at)));
        FIRST.into_iter().chain(buckets).chain(percentiles).chain(MORE).collect()
    });
    &ALL
}

pub(super) fn named(name: &str) -> &'static Column {
    let all = all();
    all.iter().find(|column| column.name == name).unwrap_or(&all[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_columns_share_a_name_and_each_is_found_by_its_own() {
        let names: BTreeSet<&str> = all().iter().map(|column| column.name).collect();
        let long: BTreeSet<&str> = all().iter().map(|column| column.long_name).collect();
        assert_eq!((names.len(), long.len()), (all().len(), all().len()));
        assert!(all().iter().all(|column| named(column.name).name == column.name));
    }
}
