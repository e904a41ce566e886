//! The columns of measured rows with those of their origin: the order of CSV, and which names are asked for.
//!
//! `model` owns what a column is called and which value it has. The writers own the syntax of their formats.

use model::measurement::BUCKETS;
use model::{Cell, MEASURED_COLUMNS, MeasuredColumn, Measurement, RowOfCells};
use std::borrow::Cow;

/// Names of the columns in CSV and in R.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColumnNames {
    /// Those of all formats, with units: `mean_ms`.
    #[default]
    Units,
    /// Those of fio_scripts: `lat`.
    FioScripts,
}

/// A row and where it was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct SourceRow<'row> {
    pub(super) row: &'row Measurement,
    pub(super) source: &'row str,
    pub(super) line: u64,
    cells: RowOfCells<'row>,
}

impl<'row> SourceRow<'row> {
    pub(super) fn new(row: &'row Measurement, source: &'row str, line: u64) -> Self {
        SourceRow { row, source, line, cells: RowOfCells::new(row) }
    }

    /// The shares in the ranges of the R matrix; `None` if no percentages are known.
    pub(super) const fn buckets(&self) -> Option<&[f64; BUCKETS]> {
        self.cells.shares.as_ref()
    }
}

/// A column of a row, or of its origin.
#[derive(Clone, Copy, Debug)]
pub(super) enum Column {
    Measured(MeasuredColumn),
    Source,
    Line,
}

impl Column {
    pub(super) const fn name(&self, names: ColumnNames) -> &'static str {
        match (self, names) {
            (Column::Measured(column), ColumnNames::Units) => column.name,
            (Column::Measured(column), ColumnNames::FioScripts) => column.of_scripts,
            (Column::Source, _) => "source",
            (Column::Line, _) => "line",
        }
    }

    pub(super) const fn is_number(&self) -> bool {
        match self {
            Column::Measured(column) => column.is_number(),
            Column::Source => false,
            Column::Line => true,
        }
    }

    pub(super) fn cell<'row>(&self, placed: &SourceRow<'row>) -> Cell<'row> {
        match self {
            Column::Measured(column) => column.cell(&placed.cells),
            Column::Source => Cell::Text(Some(Cow::Borrowed(placed.source))),
            Column::Line => Cell::Number(Some(measure::float(placed.line))),
        }
    }

    /// The number; `None` if it is unknown, or the column one of words.
    pub(super) fn number(&self, placed: &SourceRow<'_>) -> Option<f64> {
        match self.cell(placed) {
            Cell::Number(value) => value,
            Cell::Text(_) => None,
        }
    }

    /// The word; `None` if it is unknown, or the column one of numbers.
    pub(super) fn text<'row>(&self, placed: &SourceRow<'row>) -> Option<Cow<'row, str>> {
        match self.cell(placed) {
            Cell::Text(word) => word,
            Cell::Number(_) => None,
        }
    }
}

/// All columns, in the order of CSV: those of a row, with its origin before its host.
pub(super) fn all() -> impl Iterator<Item = Column> {
    let is_of_run = |column: &MeasuredColumn| ["host", "time", "round"].contains(&column.name);
    let measured = move |of_run: bool| {
        MEASURED_COLUMNS.into_iter().filter(move |column| is_of_run(column) == of_run).map(Column::Measured)
    };
    measured(false).chain([Column::Source, Column::Line]).chain(measured(true))
}

/// The column of this name.
pub(super) fn named(name: &str) -> Column {
    match name {
        "source" => Column::Source,
        "line" => Column::Line,
        name => Column::Measured(*model::measured_column(name).unwrap_or(&MEASURED_COLUMNS[0])),
    }
}

/// Names of the columns of shares, from the lowest latency.
pub(super) fn shares() -> impl Iterator<Item = &'static str> {
    MEASURED_COLUMNS.iter().filter(|column| column.share().is_some()).map(|column| column.name)
}

/// Names of the columns of percentiles, from the lowest.
pub(super) fn percentiles() -> impl Iterator<Item = &'static str> {
    MEASURED_COLUMNS.iter().filter(|column| column.percentile().is_some()).map(|column| column.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_column_is_found_by_its_name() {
        for names in [ColumnNames::Units, ColumnNames::FioScripts] {
            let all: Vec<&str> = all().map(|column| column.name(names)).collect();
            assert_eq!(all.iter().map(|name| named(name).name(names)).collect::<Vec<_>>(), all);
        }
    }
}
