//! Sources → rows with their systems and their places on all axes.

use super::native::Test;
use super::{Source, systems};
use crate::data::of_measurements::{by_direction, coordinates, has_place, notes, place, test_in_words};
use crate::data::placed::{Other, Placed, Subject, size_axis};
use crate::data::{Distribution, Level};
use measure::Direction;
use model::Measurement;

/// All rows that can be drawn.
#[derive(Debug, Default)]
pub(super) struct AllPlaced {
    pub(super) rows: Vec<Placed>,
    /// Remarks on rows that cannot be drawn.
    pub(super) remarks: Vec<String>,
    /// By system: remarks on its data.
    pub(super) notes: Vec<(String, Vec<String>)>,
    /// Distributions of rows that have no place on any axis.
    pub(super) others: Vec<Other>,
}

/// Places all rows of all sources.
pub(super) fn all(sources: &[Source]) -> AllPlaced {
    let mut all = AllPlaced::default();
    let names = systems::names(sources);
    let mut run = 0;
    let own = sources.iter().zip(&names).enumerate().filter(|(_, (source, _))| !source.tests.is_empty());
    for (number, (source, name)) in own {
        for (test, at) in source.tests.iter().zip(1..) {
            run += 1;
            let found = of_test(test, name, run, (number, at));
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
        let (measurements, origins): (Vec<Measurement>, Vec<(usize, &Source, usize)>) = rows.into_iter().unzip();
        let measurements = by_direction(measurements);
        all.notes.push((system.clone(), notes(&measurements)));
        let (mut without_numbers, mut without_place) = (0, 0);
        for (row, (of_source, source, at)) in measurements.iter().zip(origins) {
            let mut origin = source.origins.get(at).cloned().unwrap_or_default();
            origin.subject = (of_source, origin.run);
            // Runs are numbered per source.
            origin.run += run + 1 + of_source * super::MOST;
            if has_place(row) {
                match place(&system, row, origin) {
                    Some(placed) => all.rows.push(placed),
                    None => without_numbers += usize::from(source.is_of_runs()),
                }
            } else if source.is_of_runs() {
                without_place += 1;
                let workload = test_in_words(&row.test).to_owned();
                let subject = origin.subject;
                let other = |found| Other { system: system.clone(), workload, distributions: vec![found], subject };
                all.others.extend(origin.distribution.map(other));
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

/// A row, its source's number, its source, and its number there.
type FromSource<'a> = (Measurement, (usize, &'a Source, usize));

/// Rows of other tools by system: the `system` column, otherwise the name of the source's system.
pub(super) fn by_system<'a>(sources: &'a [Source], names: &[String]) -> Vec<(String, Vec<FromSource<'a>>)> {
    let mut found: Vec<(String, Vec<FromSource<'a>>)> = Vec::new();
    for (number, source) in sources.iter().enumerate().filter(|(_, source)| source.tests.is_empty()) {
        for (at, row) in source.rows.iter().enumerate() {
            let system = source.given.as_deref().or(row.system.as_deref()).unwrap_or(&names[number]);
            let row = (Measurement { system: None, ..row.clone() }, (number, source, at));
            match found.iter_mut().find(|(known, _)| known == system) {
                Some((_, rows)) => rows.push(row),
                None => found.push((system.to_owned(), vec![row])),
            }
        }
    }
    found
}

/// The places of the rows of a source, as text.
pub(super) fn places(source: &Source) -> Vec<String> {
    let place = |(at, row): (usize, &Measurement)| {
        format!("{} {:?} {:?} {:?}", row.test.as_str(), row.kind, coordinates(row), source.region_bytes(at))
    };
    source.rows.iter().enumerate().map(place).collect()
}

/// One row per direction with I/O.
fn of_test(test: &Test, system: &str, run: usize, subject: Subject) -> Vec<Placed> {
    let Some(merged) = test.merged() else { return Vec::new() };
    let moved = |direction: &Direction| merged.directions[*direction].ios > 0;
    let directions: Vec<Direction> = Direction::ALL.into_iter().filter(moved).collect();
    let row = |direction: Direction| {
        let histogram = merged.directions[direction].latency_distribution().and_then(|found| found.histogram.as_ref());
        let distribution = histogram.map(|histogram| Distribution::of("", histogram));
        let response = merged.directions[direction].response.as_ref().and_then(|found| found.histogram.as_ref());
        let of = if directions.len() > 1 { format!(", {}s", direction.word()) } else { String::new() };
        Some(Placed {
            system: system.to_owned(),
            test: format!("{}{of}", test.words),
            plural: format!("{}{of}", test.plural),
            coordinates: test.coordinates(direction),
            level: Level::of(1.0, &test.result, direction, &test.result.notes)?,
            run,
            region_bytes: test.region_bytes,
            subject,
            distribution: distribution.filter(|found| found.points.len() > 2),
            response: response.map(|found| Distribution::of("", found)).filter(|found| found.points.len() > 2),
        })
    };
    directions.iter().filter_map(|&direction| row(direction)).collect()
}
