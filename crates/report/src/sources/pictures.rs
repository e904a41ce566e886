//! Choice and order of the pictures for the results.

use super::native::Test;
use super::{PageRequest, Source};
use crate::Chart;
use crate::data::measured::size;
use crate::data::{
    Axis, Blocks, Card, Cdf, Curve, Devices, Distribution, Measured, Overlay, Series, Surface, Sweep, Table, card,
    singles, sweeps as sweeps_of, test_in_words,
};
use crate::page::Picture;
use analysis::Load;
use model::Measurement;
use model::measurement::TestName;
use model::reading::ReadKind;
use serde::Serialize;

/// Most systems overlaid in one chart; more colours cannot be distinguished.
const MOST_OVERLAID: usize = 12;
/// Most workloads with a single load level that get a picture each.
const MOST_SINGLES: usize = 12;
/// Most overlaid distributions.
const MOST_DISTRIBUTIONS: usize = 8;
/// Fewest block sizes for a curve.
const LEAST_SIZES: usize = 4;

/// (system, workload, sweep) of everything measured at several loads; single-load workloads only if there is nothing
/// else.
pub(super) fn sweeps(sources: &[Source], request: &PageRequest) -> Vec<(String, String, Sweep)> {
    let mut all = Vec::new();
    for source in sources.iter().filter(|source| !source.tests.is_empty()) {
        all.extend(counted(source, request));
    }
    for (system, rows) in systems(sources) {
        let rows = by_direction(rows);
        let mut found = sweeps_of(&system, &rows, request.target_ns);
        if found.is_empty() {
            found = singles(&system, &rows, request.target_ns);
            found.truncate(MOST_SINGLES);
        }
        all.extend(found.into_iter().map(|sweep| (system.clone(), workload(&system, &sweep), sweep)));
    }
    all
}

/// All pictures, the most informative first.
pub(super) fn all(sources: &[Source], request: &PageRequest) -> Vec<Picture> {
    let mut pictures = Vec::new();
    let sweeps = sweeps(sources, request);
    pictures.extend(overlays(&sweeps));
    pictures.extend(cards(sources, request));
    pictures.extend(sweeps.iter().map(|(_, _, sweep)| picture("sweep", &sweep.title, sweep)));
    pictures.extend(curves(&sweeps));
    pictures.extend(sweeps.iter().filter_map(|(_, _, sweep)| blocks(sweep)));
    pictures.extend(distributions(sources, request));
    pictures.extend(over_time(sources));
    pictures.extend(sources.iter().filter_map(devices));
    pictures.extend(sources.iter().flat_map(surfaces));
    pictures.into_iter().flatten().collect()
}

/// `None` only if the chart did not exist or its data could not be serialized, which the tests rule out.
fn picture(chart: &str, title: &str, data: &impl Serialize) -> Option<Picture> {
    let chart = Chart::named(chart)?;
    let data = serde_json::to_value(data).ok()?;
    Some(Picture { chart, title: title.to_owned(), size: chart.size, data })
}

/// Measurement rows of other tools by system: the `system` column, otherwise the file name; files with one row each
/// form one sweep.
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

/// Treats reads and writes of one run as separate workloads.
fn by_direction(mut rows: Vec<Measurement>) -> Vec<Measurement> {
    let mixed = |test: &TestName, rows: &[Measurement]| {
        let kinds = |kind| rows.iter().any(|row| row.test == *test && row.kind == Some(kind));
        kinds(ReadKind::Read) && kinds(ReadKind::Write)
    };
    let both: Vec<bool> = rows.iter().map(|row| mixed(&row.test, &rows)).collect();
    for (row, both) in rows.iter_mut().zip(both) {
        if let (true, Some(kind)) = (both, row.kind) {
            row.test = TestName::Other(format!("{}, {}s", test_in_words(&row.test), kind.word()));
        }
    }
    rows
}

/// The sweeps of plumb's own results, from all counters.
fn counted(source: &Source, request: &PageRequest) -> Vec<(String, String, Sweep)> {
    let mut tables: Vec<Table> = Vec::new();
    let table = |workload: String, plural: String, axis: Axis| Table {
        system: source.name.clone(),
        workload,
        plural,
        axis,
        target_ns: request.target_ns,
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
        if let Some(bytes) = test.block_bytes.filter(|_| test.users == 1) {
            put(format!("{}, 1 user", test_in_words(&test.test)), plural(test), Axis::BlockSize, level(bytes));
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

/// `8 KiB random reads`; a name that is not a pattern stays unchanged.
fn plural(test: &Test) -> String {
    let pattern = test_in_words(&test.test);
    match (test.test.pattern(), test.block_bytes) {
        (None, _) => test.workload.clone(),
        (_, Some(bytes)) => format!("{} {pattern}s", size(bytes)),
        (_, None) => format!("{pattern}s"),
    }
}

/// The workload in a sweep's title, without the system and the load range.
fn workload(system: &str, sweep: &Sweep) -> String {
    let rest = sweep.title.strip_prefix(system).unwrap_or(&sweep.title).trim_start_matches(" · ");
    rest.split(" · ").next().unwrap_or(rest).to_owned()
}

/// Overlays sweeps of the same workload on several systems.
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

/// A report card per system with at least one workload that can be graded.
fn cards(sources: &[Source], request: &PageRequest) -> Vec<Option<Picture>> {
    let own = sources.iter().filter(|source| !source.tests.is_empty());
    let own = own.map(|source| (source.name.clone(), source.rows.clone()));
    let cards = own.chain(systems(sources)).map(|(system, rows)| card(&system, &rows, request.profile));
    let graded = |card: &Card| !card.rows.is_empty();
    cards.filter(graded).map(|card| picture("card", &card.title, &card)).collect()
}

/// Load/latency curves per system.
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

/// The cost model of a block size sweep.
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

/// Latency distributions: from histograms for plumb's own results, from printed percentiles for others.
fn distributions(sources: &[Source], request: &PageRequest) -> Vec<Option<Picture>> {
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
            all.push(cdf(&format!("{} · {workload} · latency distribution", source.name), found, request));
        }
        let printed: Vec<Distribution> =
            source.runs.iter().flat_map(|run| &run.jobs).flat_map(printed).take(MOST_DISTRIBUTIONS).collect();
        all.push(cdf(&format!("{} · latency distribution", source.name), printed, request));
    }
    all
}

fn cdf(title: &str, systems: Vec<Distribution>, request: &PageRequest) -> Option<Picture> {
    if systems.is_empty() {
        return None;
    }
    let target_ns = Some(request.target_ns);
    picture("cdf", title, &Cdf { title: title.to_owned(), target_ns, systems, ..Cdf::default() })
}

fn distribution(test: &Test) -> Option<Distribution> {
    let merged = test.merged()?;
    let moved = &merged.directions[test.direction];
    let histogram = moved.latency_distribution()?.histogram.as_ref()?;
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

/// Runs over time: from the monitor for plumb's own results, from logs for others, all on one axis.
fn over_time(sources: &[Source]) -> Vec<Option<Picture>> {
    let mut all = Vec::new();
    for source in sources {
        // Only the highest load of each workload: the other levels are in the sweep.
        let watched = || source.tests.iter().chain(&source.monitored_runs);
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

/// Counters of the program and of the devices, at the highest load.
fn devices(source: &Source) -> Option<Option<Picture>> {
    let heaviest = source.tests.iter().chain(&source.monitored_runs).max_by_key(|test| test.users)?;
    let title = format!("{} · {} · with its devices", source.name, heaviest.shown());
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
