//! Which pictures the results allow, and in which order they stand.

use super::native::{Test, words};
use super::{Source, Wishes};
use crate::Chart;
use crate::data::{
    Axis, Blocks, Card, Cdf, Curve, Devices, Distribution, Measured, Overlay, Series, Surface, Sweep, Table, card,
    singles, sweeps as sweeps_of,
};
use crate::page::Picture;
use analysis::Load;
use model::reading::{Measurement, ReadKind};
use serde::Serialize;

/// Systems that are drawn over each other; of more no eye tells the colours apart.
const MOST_OVERLAID: usize = 12;
/// Workloads measured at one load only that get a picture each.
const MOST_SINGLES: usize = 12;
/// Distributions over each other.
const MOST_DISTRIBUTIONS: usize = 8;
/// Block sizes that make a curve.
const LEAST_SIZES: usize = 4;

/// (system, workload, sweep): of all that was measured at several loads, or at one where there is nothing else.
pub(super) fn sweeps(sources: &[Source], wishes: &Wishes) -> Vec<(String, String, Sweep)> {
    let mut all = Vec::new();
    for source in sources.iter().filter(|source| !source.tests.is_empty()) {
        all.extend(counted(source, wishes));
    }
    for (system, rows) in systems(sources) {
        let rows = by_direction(rows);
        let mut found = sweeps_of(&system, &rows, wishes.target_ns);
        if found.is_empty() {
            found = singles(&system, &rows, wishes.target_ns);
            found.truncate(MOST_SINGLES);
        }
        all.extend(found.into_iter().map(|sweep| (system.clone(), workload(&system, &sweep), sweep)));
    }
    all
}

/// Every picture, the most telling first.
pub(super) fn all(sources: &[Source], wishes: &Wishes) -> Vec<Picture> {
    let mut pictures = Vec::new();
    let sweeps = sweeps(sources, wishes);
    pictures.extend(overlays(&sweeps));
    pictures.extend(cards(sources, wishes));
    pictures.extend(sweeps.iter().map(|(_, _, sweep)| picture("sweep", &sweep.title, sweep)));
    pictures.extend(curves(&sweeps));
    pictures.extend(sweeps.iter().filter_map(|(_, _, sweep)| blocks(sweep)));
    pictures.extend(distributions(sources, wishes));
    pictures.extend(over_time(sources));
    pictures.extend(sources.iter().filter_map(devices));
    pictures.extend(sources.iter().flat_map(surfaces));
    pictures.into_iter().flatten().collect()
}

/// `None` only if a chart of this name were missing or its data no JSON, which the tests exclude.
fn picture(chart: &str, title: &str, data: &impl Serialize) -> Option<Picture> {
    let chart = Chart::named(chart)?;
    let data = serde_json::to_value(data).ok()?;
    Some(Picture { chart, title: title.to_owned(), size: chart.size, data })
}

/// The rows of foreign results by system: a file's own `system`, else the file; files of one row each are one sweep.
fn systems(sources: &[Source]) -> Vec<(String, Vec<Measurement>)> {
    let foreign: Vec<&Source> =
        sources.iter().filter(|source| source.tests.is_empty() && !source.rows.is_empty()).collect();
    let pooled = foreign.len() > 1 && foreign.iter().all(|source| source.rows.len() <= 2 && same_load(&source.rows));
    let mut found: Vec<(String, Vec<Measurement>)> = Vec::new();
    let pool = foreign.first().map(|first| format!("{} and {} more", first.name, foreign.len() - 1));
    for source in &foreign {
        for row in &source.rows {
            let file = if pooled { pool.as_deref().unwrap_or(&source.name) } else { &source.name };
            let system = row.system.as_deref().unwrap_or(file);
            match found.iter_mut().find(|(known, _)| known == system) {
                Some((_, rows)) => rows.push(row.clone()),
                None => found.push((system.to_owned(), vec![row.clone()])),
            }
        }
    }
    found
}

fn same_load(rows: &[Measurement]) -> bool {
    rows.windows(2).all(|pair| pair[0].users == pair[1].users)
}

/// Reads and writes of one run are workloads of their own.
fn by_direction(mut rows: Vec<Measurement>) -> Vec<Measurement> {
    let mixed = |name: &str, rows: &[Measurement]| {
        let kinds = |kind| rows.iter().any(|row| row.name == name && row.kind == Some(kind));
        kinds(ReadKind::Read) && kinds(ReadKind::Write)
    };
    let names: Vec<bool> = rows.iter().map(|row| mixed(&row.name, &rows)).collect();
    for (row, mixed) in rows.iter_mut().zip(names) {
        if let (true, Some(kind)) = (mixed, row.kind) {
            row.name = format!("{}, {}s", words(&row.name), kind.word());
        }
    }
    rows
}

/// The sweeps of our own results, from everything that was counted.
fn counted(source: &Source, wishes: &Wishes) -> Vec<(String, String, Sweep)> {
    let mut tables: Vec<Table> = Vec::new();
    let table = |workload: String, plural: String, axis: Axis| Table {
        system: source.name.clone(),
        workload,
        plural,
        axis,
        target_ns: wishes.target_ns,
        levels: Vec::new(),
        notes: Vec::new(),
    };
    let mut put = |workload: String, plural: String, axis: Axis, level: Option<Measured>| {
        let Some(level) = level else { return };
        match tables.iter_mut().find(|table| table.axis == axis && table.workload == workload) {
            Some(found) => found.levels.push(level),
            None => tables.push(Table { levels: vec![level], ..table(workload, plural, axis) }),
        }
    };
    for test in &source.tests {
        let level = |load| Measured::of(load, &test.result, test.direction);
        put(test.workload.clone(), plural(test), Axis::Load(Load::Users), level(test.users));
        if test.users == 1 && test.block_bytes > 0 {
            put(format!("{}, 1 user", words(&test.pattern)), plural(test), Axis::BlockSize, level(test.block_bytes));
        }
    }
    let several = tables.iter().any(|table| table.levels.len() > 1);
    tables.retain(|table| match table.axis {
        Axis::BlockSize => table.levels.len() >= 3,
        Axis::Load(_) => table.levels.len() > 1 || !several,
    });
    tables.truncate(4 * MOST_SINGLES);
    tables.into_iter().map(|table| (source.name.clone(), table.workload.clone(), Sweep::of(table))).collect()
}

/// `8 KiB random reads`; a name that is no pattern stays as it is.
fn plural(test: &Test) -> String {
    match words(&test.pattern) {
        name if name == test.pattern && name != "read" && name != "write" => test.workload.clone(),
        pattern if test.block_bytes > 0 => format!("{} {pattern}s", super::native::size(test.block_bytes)),
        pattern => format!("{pattern}s"),
    }
}

/// What a sweep is of, without whose and how much.
fn workload(system: &str, sweep: &Sweep) -> String {
    let rest = sweep.title.strip_prefix(system).unwrap_or(&sweep.title).trim_start_matches(" · ");
    rest.split(" · ").next().unwrap_or(rest).to_owned()
}

/// The same workload of several systems over each other.
fn overlays(sweeps: &[(String, String, Sweep)]) -> Vec<Option<Picture>> {
    let mut workloads: Vec<&str> = Vec::new();
    for (_, workload, _) in sweeps {
        if !workloads.contains(&workload.as_str()) {
            workloads.push(workload);
        }
    }
    let mut all = Vec::new();
    for workload in workloads {
        let mut same: Vec<(String, Sweep)> = sweeps
            .iter()
            .filter(|(_, of, _)| of == workload)
            .map(|(system, _, sweep)| (system.clone(), sweep.clone()))
            .collect();
        let found = same.len();
        if found < 2 {
            continue;
        }
        same.truncate(MOST_OVERLAID);
        let title = format!("{workload} · {} systems", same.len());
        let mut overlay = Overlay::of(&title, same);
        if found > MOST_OVERLAID {
            overlay.notes.insert(0, format!("The first {MOST_OVERLAID} of {found} systems."));
        }
        all.push(picture("overlay", &title, &overlay));
    }
    all
}

/// A card per system of which any workload can be graded.
fn cards(sources: &[Source], wishes: &Wishes) -> Vec<Option<Picture>> {
    let own = sources.iter().filter(|source| !source.tests.is_empty());
    let own = own.map(|source| (source.name.clone(), source.rows.clone()));
    let cards = own.chain(systems(sources)).map(|(system, rows)| card(&system, &rows, wishes.profile));
    let graded = |card: &Card| !card.rows.is_empty();
    cards.filter(graded).map(|card| picture("card", &card.title, &card)).collect()
}

/// What latency a rate costs, per system.
fn curves(sweeps: &[(String, String, Sweep)]) -> Vec<Option<Picture>> {
    let loads = |sweep: &Sweep| sweep.load != Axis::BlockSize.plural() && sweep.levels.len() >= 3;
    let mut systems: Vec<&str> = Vec::new();
    for (system, _, sweep) in sweeps {
        if loads(sweep) && !systems.contains(&system.as_str()) {
            systems.push(system);
        }
    }
    let curve = |system: &str| {
        let of: Vec<(String, &Sweep)> = sweeps
            .iter()
            .filter(|(whose, _, sweep)| whose == system && loads(sweep))
            .map(|(_, workload, sweep)| (workload.clone(), sweep))
            .take(MOST_OVERLAID)
            .collect();
        let title = format!("{system} · latency over IOPS");
        picture("curve", &title, &Curve::of(&title, &of))
    };
    systems.into_iter().map(curve).collect()
}

/// The cost model of a sweep over block sizes.
fn blocks(sweep: &Sweep) -> Option<Option<Picture>> {
    if sweep.load != Axis::BlockSize.plural() || sweep.levels.len() < LEAST_SIZES {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a size in bytes; saturates")]
    let bytes = |load: f64| load as u64;
    let points: Vec<(u64, f64, f64)> =
        sweep.levels.iter().map(|level| (bytes(level.load), level.average_ns, level.rate)).collect();
    let title = format!("{} · cost of an I/O", sweep.title);
    Some(picture("blocks", &title, &Blocks::of(&title, &points, Vec::new())))
}

/// Latency distributions: of our own results from histograms, of others' from the percentiles they print.
fn distributions(sources: &[Source], wishes: &Wishes) -> Vec<Option<Picture>> {
    let mut all = Vec::new();
    for source in sources {
        let mut workloads: Vec<&str> = Vec::new();
        for test in &source.tests {
            if !workloads.contains(&test.workload.as_str()) {
                workloads.push(&test.workload);
            }
        }
        for workload in workloads {
            let same = source.tests.iter().filter(|test| test.workload == workload);
            let found: Vec<Distribution> = same.filter_map(distribution).take(MOST_DISTRIBUTIONS).collect();
            all.push(cdf(&format!("{} · {workload} · latency distribution", source.name), found, wishes));
        }
        let printed: Vec<Distribution> =
            source.runs.iter().flat_map(|run| &run.jobs).flat_map(printed).take(MOST_DISTRIBUTIONS).collect();
        all.push(cdf(&format!("{} · latency distribution", source.name), printed, wishes));
    }
    all
}

fn cdf(title: &str, systems: Vec<Distribution>, wishes: &Wishes) -> Option<Picture> {
    if systems.is_empty() {
        return None;
    }
    let target_ns = Some(wishes.target_ns);
    picture("cdf", title, &Cdf { title: title.to_owned(), target_ns, systems, ..Cdf::default() })
}

fn distribution(test: &Test) -> Option<Distribution> {
    let merged = test.merged()?;
    let moved = &merged.directions[test.direction];
    let histogram = moved.total.as_ref().or(moved.completion.as_ref())?.histogram.as_ref()?;
    let name = Axis::Load(Load::Users).label(test.users);
    Some(Distribution::of(&name, histogram)).filter(|found| found.points.len() > 2)
}

fn printed(job: &model::reading::ReadJob) -> Vec<Distribution> {
    let name = job.name.as_deref().unwrap_or("job");
    let several = job.directions.len() > 1;
    let of = |direction: &model::reading::ReadDirection| {
        let latency = direction.completion.as_ref().or(direction.total.as_ref())?;
        let shown = if several { format!("{name}, {}s", direction.kind.word()) } else { name.to_owned() };
        let points: Vec<(f64, f64)> = latency.percentiles.iter().copied().filter(|&(_, ns)| ns > 0.0).collect();
        (points.len() > 2).then_some(Distribution { name: shown, points })
    };
    job.directions.iter().filter_map(of).collect()
}

/// Runs over time: our own from what was seen beside the jobs, others' from their logs, all on one axis.
fn over_time(sources: &[Source]) -> Vec<Option<Picture>> {
    let mut all = Vec::new();
    for source in sources {
        // The heaviest load of each workload: the others stand in the sweep.
        let watched = || source.tests.iter().chain(&source.beside);
        for (at, test) in watched().enumerate() {
            let heavier = watched()
                .enumerate()
                .any(|(other, one)| one.workload == test.workload && (one.users, other) > (test.users, at));
            let Some(monitored) = test.result.monitored.as_ref().filter(|_| !heavier) else { continue };
            let title = format!("{} · {} · over time", source.name, test.shown());
            all.extend(super::time::series(&title, monitored).map(|series| picture("series", &title, &series)));
        }
    }
    for source in sources {
        let title = format!("{} · over time", source.name);
        all.extend(source.iostat.series(&title).map(|series| picture("series", &title, &series)));
    }
    let panels: Vec<_> = sources.iter().filter_map(|source| Some((source, source.log.as_ref()?.panel()))).collect();
    if let Some((first, _)) = panels.first() {
        let more = if panels.len() > 1 { format!(" and {} more", panels.len() - 1) } else { String::new() };
        let title = format!("{}{more} · over time", first.name);
        let panels = panels.iter().map(|(_, panel)| panel.clone()).collect();
        all.push(picture("series", &title, &Series::of(&title, panels, Vec::new())));
    }
    all
}

/// What the program counted beside what the devices counted, at the heaviest load.
fn devices(source: &Source) -> Option<Option<Picture>> {
    let heaviest = source.tests.iter().chain(&source.beside).max_by_key(|test| test.users)?;
    let title = format!("{} · {} · beside its devices", source.name, heaviest.shown());
    Devices::of(&title, &heaviest.result).map(|devices| picture("devices", &title, &devices))
}

fn surfaces(source: &Source) -> Vec<Option<Picture>> {
    let rows: Vec<_> = source.iozone.iter().collect();
    let several = |surface: &Surface| surface.records.len() > 1 || surface.files.len() > 1;
    Surface::of(&source.name, &rows)
        .iter()
        .filter(|(_, surface)| several(surface))
        .map(|(_, surface)| picture("surface", &surface.title, surface))
        .collect()
}
