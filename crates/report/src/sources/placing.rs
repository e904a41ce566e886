//! Sources → rows with their systems and their places on all axes.

use super::native::Test;
use super::{Source, systems};
use crate::data::Level;
use crate::data::of_measurements::{MeasuredRow, by_direction, coordinates, has_place, notes, place, test_in_words};
use crate::data::placed::{ChartRow, Other, Subject, size_axis};

/// All rows that can be drawn.
#[derive(Debug, Default)]
pub(super) struct AllPlaced {
    pub(super) rows: Vec<ChartRow>,
    /// Remarks on rows that cannot be drawn.
    pub(super) remarks: Vec<String>,
    /// By system: remarks on its data.
    pub(super) notes: Vec<(String, Vec<String>)>,
    /// Distributions of rows that have no place on any axis.
    pub(super) others: Vec<Other>,
}

pub(super) fn all(sources: &[Source]) -> AllPlaced {
    let mut all = AllPlaced::default();
    let names = systems::names(sources);
    let mut run = 0;
    let own = sources.iter().zip(&names).enumerate().filter(|(_, (source, _))| !source.tests.is_empty());
    for (number, (source, name)) in own {
        for test in &source.tests {
            run += 1;
            let rows = &source.rows[source.rows.partition_point(|row| row.run < test.number)..];
            let rows = &rows[..rows.partition_point(|row| row.run == test.number)];
            let found = of_test(test, rows, name, run, (number, test.number));
            if found.is_empty() {
                all.remarks.push(format!(
                    "{}: {} has no latency and is in no picture of a sweep.",
                    source.name,
                    test.shown()
                ));
            }
            all.rows.extend(found);
        }
    }
    for (system, rows) in by_system(sources, &names) {
        all.notes.push((system.clone(), notes(rows.iter().map(|(_, row)| &row.numbers))));
        let (of_sources, mut rows): (Vec<usize>, Vec<MeasuredRow>) = rows.into_iter().unzip();
        by_direction(&mut rows);
        let (mut without_numbers, mut without_place) = (0, 0);
        for (number, mut row) in of_sources.into_iter().zip(rows) {
            let (source, subject) = (&sources[number], (number, row.run));
            // Runs are numbered per source.
            row.run += run + 1 + number * super::MOST;
            if has_place(&row.numbers) {
                match place(&system, row, subject) {
                    Some(placed) => all.rows.push(placed),
                    None => without_numbers += usize::from(source.is_of_runs()),
                }
            } else if source.is_of_runs() {
                without_place += 1;
                let workload = test_in_words(&row.numbers.test).to_owned();
                let other = |found| Other { system: system.clone(), workload, distributions: vec![found], subject };
                all.others.extend(row.distribution.map(other));
            }
        }
        let reasons = [
            (without_numbers, "no mean latency, no throughput or no IOPS"),
            (without_place, "neither users nor depth nor block size"),
        ];
        for (count, reason) in reasons.into_iter().filter(|&(count, _)| count > 0) {
            let (state, them) = if count == 1 { ("result states", "it") } else { ("results state", "them") };
            all.remarks.push(format!("{system}: {count} {state} {reason}; no picture of a sweep has {them}."));
        }
    }
    size_axis(&mut all.rows);
    all
}

/// Rows of other tools, with the number of their source, by system: the `system` column, or that of the source.
pub(super) fn by_system(sources: &[Source], names: &[String]) -> Vec<(String, Vec<(usize, MeasuredRow)>)> {
    let mut found: Vec<(String, Vec<(usize, MeasuredRow)>)> = Vec::new();
    for (number, source) in sources.iter().enumerate().filter(|(_, source)| source.tests.is_empty()) {
        for row in &source.rows {
            let mut row = row.clone();
            let stated = row.numbers.system.take();
            let system = source.given.clone().or(stated).unwrap_or_else(|| names[number].clone());
            match found.iter_mut().find(|(known, _)| *known == system) {
                Some((_, rows)) => rows.push((number, row)),
                None => found.push((system, vec![(number, row)])),
            }
        }
    }
    found
}

/// The places of the rows of a source, as text.
pub(super) fn places(source: &Source) -> Vec<String> {
    let place = |row: &MeasuredRow| {
        let numbers = &row.numbers;
        format!("{} {:?} {:?} {:?}", numbers.test.as_str(), numbers.kind, coordinates(numbers), row.region_bytes)
    };
    source.rows.iter().map(place).collect()
}

fn of_test(test: &Test, rows: &[MeasuredRow], system: &str, run: usize, subject: Subject) -> Vec<ChartRow> {
    let place = |row: &MeasuredRow| {
        let direction = row.numbers.kind?.direction()?;
        let of = if rows.len() > 1 { format!(", {}s", direction.word()) } else { String::new() };
        Some(ChartRow {
            system: system.to_owned(),
            test: format!("{}{of}", test.words),
            plural: if rows.len() > 1 {
                format!("{}s of {}", direction.word(), test.plural)
            } else {
                test.plural.clone()
            },
            coordinates: test.coordinates(direction),
            level: Level::of_row(1.0, &row.numbers)?.with_notes(&test.result.notes),
            run,
            region_bytes: row.region_bytes,
            subject,
            distribution: row.distribution.clone(),
            response: row.response.clone(),
        })
    };
    rows.iter().filter_map(place).collect()
}
