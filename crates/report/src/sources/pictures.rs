//! Choice and order of the pictures for the results.

use super::placing::{self, AllPlaced};
use super::{PageRequest, Source, systems};
use crate::Chart;
use crate::data::of_measurements::with_notes;
use crate::data::placed::{self, AllDrawn, Drawn};
use crate::data::{
    Axis, Blocks, Card, Cdf, Curve, Devices, Distribution, Level, Measured, Overlay, Series, Surface, Sweep, card,
};
use crate::page::Picture;
use model::Measurement;
use serde::Serialize;

/// Most systems overlaid in one chart; more colours cannot be distinguished.
const MOST_OVERLAID: usize = 12;
/// Most systems with sentences at the top of a page.
const MOST_BEST: usize = 3;
/// Most overlaid distributions.
const MOST_DISTRIBUTIONS: usize = 8;
/// Fewest block sizes for a curve.
const LEAST_SIZES: usize = 4;

/// The results as rows with their places, and the sweeps over them.
pub(super) struct Material {
    placed: AllPlaced,
    drawn: AllDrawn,
    /// The systems, in order; the place of a name is its colour.
    pub(super) names: Vec<String>,
    /// Sentences that name the results that no sweep holds.
    pub(super) remarks: Vec<String>,
}

impl Material {
    /// Places all rows and draws the sweeps.
    pub(super) fn of(sources: &[Source], request: &PageRequest) -> Material {
        let placed = placing::all(sources);
        let mut drawn = placed::sweeps(&placed.rows, request.target_ns);
        drawn.others.extend(placed.others.iter().cloned());
        for (system, notes) in &placed.notes {
            for one in drawn.sweeps.iter_mut().filter(|one| one.system == *system) {
                one.sweep = with_notes(std::mem::take(&mut one.sweep), notes);
            }
        }
        let mut names: Vec<String> = Vec::new();
        let unplaced = sources.iter().filter(|source| source.rows.is_empty() || !source.is_of_runs());
        let systems = placed.rows.iter().map(|row| &row.system).chain(unplaced.map(|source| &source.name));
        for system in systems {
            if !names.contains(system) {
                names.push(system.clone());
            }
        }
        let remarks = placed.remarks.iter().chain(&drawn.remarks).cloned().collect();
        Material { placed, drawn, names, remarks }
    }

    /// The sweeps.
    pub(super) fn sweeps(&self) -> impl Iterator<Item = &Sweep> {
        self.drawn.sweeps.iter().map(|drawn| &drawn.sweep)
    }

    /// The most IOPS and bytes of each system over all of its rows, if these are in several sweeps.
    pub(super) fn best_of_all(&self) -> Vec<String> {
        let several = |system: &&String| self.drawn.sweeps.iter().filter(|one| one.system == **system).count() > 1;
        let systems = self.names.iter().filter(several).take(MOST_BEST);
        systems.flat_map(|system| placed::best_of_all(&self.placed.rows, system)).collect()
    }

    /// All pictures, the most informative first.
    pub(super) fn all(&self, sources: &[Source], request: &PageRequest) -> Vec<Picture> {
        let mut pictures = Vec::new();
        let sweeps = &self.drawn.sweeps;
        pictures.extend(self.overlays());
        pictures.extend(cards(sources, request));
        pictures.extend(sweeps.iter().map(|one| picture("sweep", &one.sweep.title, &one.sweep)));
        pictures.extend(curves(sweeps));
        pictures.extend(sweeps.iter().filter_map(blocks));
        pictures.extend(self.distributions(request));
        pictures.extend(over_time(sources));
        pictures.extend(sources.iter().filter_map(devices));
        pictures.extend(sources.iter().flat_map(surfaces));
        pictures.into_iter().flatten().collect()
    }

    /// Overlays sweeps of the same workload on several systems.
    fn overlays(&self) -> Vec<Option<Picture>> {
        let mut groups: Vec<Vec<&Drawn>> = Vec::new();
        for one in &self.drawn.sweeps {
            let alike = |group: &&mut Vec<&Drawn>| group[0].workload == one.workload && group[0].axis == one.axis;
            match groups.iter_mut().find(alike) {
                Some(group) => group.push(one),
                None => groups.push(vec![one]),
            }
        }
        groups.iter().filter(|group| group.len() > 1).map(|group| self.overlay(group)).collect()
    }

    fn overlay(&self, group: &[&Drawn]) -> Option<Picture> {
        let shown = &group[..group.len().min(MOST_OVERLAID)];
        let names: Vec<String> = shown.iter().map(|one| one.system.clone()).collect();
        let levels: Vec<Measured> = shown.iter().flat_map(|one| &one.sweep.levels).map(place_of).collect();
        let ends = levels.iter().min_by_key(|level| level.load).zip(levels.iter().max_by_key(|level| level.load));
        let range = ends.map(|(first, last)| format!(" · {}", group[0].axis.range(first, last))).unwrap_or_default();
        let title = format!("{} · {}{range}", listed(&names), group[0].workload);
        let systems = shown.iter().map(|one| (one.system.clone(), one.sweep.clone())).collect();
        let mut overlay = Overlay::of(&title, systems);
        overlay.colours = names.iter().map(|name| self.colour(name)).collect();
        if group.len() > shown.len() {
            let left: Vec<String> = group[shown.len()..].iter().map(|one| one.system.clone()).collect();
            overlay.notes.insert(
                0,
                format!("Not drawn, because {MOST_OVERLAID} are the most whose colours differ: {}.", left.join(", ")),
            );
        }
        picture("overlay", &title, &overlay)
    }

    fn colour(&self, system: &str) -> usize {
        self.names.iter().position(|name| name == system).unwrap_or(0)
    }

    /// Latency distributions: of the levels of each sweep, unless another sweep has them, and of levels in no sweep.
    fn distributions(&self, request: &PageRequest) -> Vec<Option<Picture>> {
        let mut all = Vec::new();
        for one in self.drawn.sweeps.iter().filter(|one| one.has_new_levels) {
            let title = format!("{} · {} · latency distribution", one.system, one.workload);
            all.push(cdf(&title, &one.distributions, request));
        }
        for (system, workload, found) in &self.drawn.others {
            let title = format!("{system} · {workload} · latency distribution");
            all.push(cdf(&title, std::slice::from_ref(found), request));
        }
        all
    }
}

/// The place of a level on its axis.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "was a whole number")]
fn place_of(level: &Level) -> Measured {
    Measured { load: level.load as u64, word: level.word.clone(), ..Measured::default() }
}

/// Names in a title: `a, b and c`.
pub(super) fn listed(names: &[String]) -> String {
    let shown = &names[..names.len().min(MOST_OVERLAID)];
    match (shown.split_last(), names.len() - shown.len()) {
        (None, _) => String::new(),
        (Some((one, [])), 0) => one.clone(),
        (Some((last, rest)), 0) => format!("{} and {last}", rest.join(", ")),
        (_, more) => format!("{} and {more} more", shown.join(", ")),
    }
}

/// `None` only if the chart did not exist or its data could not be serialized, which the tests rule out.
fn picture(chart: &str, title: &str, data: &impl Serialize) -> Option<Picture> {
    let chart = Chart::named(chart)?;
    let data = serde_json::to_value(data).ok()?;
    Some(Picture { chart, title: title.to_owned(), size: chart.size, data })
}

/// A report card per system with at least one workload that can be graded.
fn cards(sources: &[Source], request: &PageRequest) -> Vec<Option<Picture>> {
    let names = systems::names(sources);
    let mut own: Vec<(String, Vec<Measurement>)> = Vec::new();
    for (source, name) in sources.iter().zip(&names).filter(|(source, _)| !source.tests.is_empty()) {
        match own.iter_mut().find(|(known, _)| known == name) {
            Some((_, rows)) => rows.extend(source.rows.iter().cloned()),
            None => own.push((name.clone(), source.rows.clone())),
        }
    }
    let foreign = placing::by_system(sources, &names).into_iter();
    let foreign = foreign.map(|(system, rows)| (system, rows.into_iter().map(|(row, _)| row).collect()));
    let cards = own.into_iter().chain(foreign).map(|(system, rows)| card(&system, &rows, request.profile));
    let graded = |card: &Card| !card.rows.is_empty();
    cards.filter(graded).map(|card| picture("card", &card.title, &card)).collect()
}

/// Load/latency curves per system.
fn curves(sweeps: &[Drawn]) -> Vec<Option<Picture>> {
    let loads = |one: &&Drawn| matches!(one.axis, Axis::Load(_)) && one.sweep.levels.len() >= 3;
    let mut systems: Vec<&str> = Vec::new();
    for one in sweeps.iter().filter(loads) {
        if !systems.contains(&one.system.as_str()) {
            systems.push(&one.system);
        }
    }
    let curve = |system: &str| {
        let of: Vec<(String, &Sweep)> = sweeps
            .iter()
            .filter(loads)
            .filter(|one| one.system == system)
            .map(|one| (one.workload.clone(), &one.sweep))
            .take(MOST_OVERLAID)
            .collect();
        let title = format!("{system} · latency over IOPS");
        picture("curve", &title, &Curve::of(&title, &of))
    };
    systems.into_iter().map(curve).collect()
}

/// The cost model of a block size sweep.
fn blocks(drawn: &Drawn) -> Option<Option<Picture>> {
    let sweep = &drawn.sweep;
    if drawn.axis != Axis::BlockSize || sweep.levels.len() < LEAST_SIZES {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a size in bytes; saturates")]
    let bytes = |load: f64| load as u64;
    let points: Vec<(u64, f64, f64)> =
        sweep.levels.iter().map(|level| (bytes(level.load), level.average_ns, level.rate)).collect();
    let title = format!("{} · cost of an I/O", sweep.title);
    Some(picture("blocks", &title, &Blocks::of(&title, &points, Vec::new())))
}

fn cdf(title: &str, systems: &[Distribution], request: &PageRequest) -> Option<Picture> {
    if systems.is_empty() {
        return None;
    }
    let shown = &systems[..systems.len().min(MOST_DISTRIBUTIONS)];
    let left: Vec<&str> = systems[shown.len()..].iter().map(|one| one.name.as_str()).collect();
    let notes = if left.is_empty() { Vec::new() } else { vec![format!("Not drawn: {}.", left.join(", "))] };
    let data =
        Cdf { title: title.to_owned(), target_ns: request.target_ns, systems: shown.to_vec(), notes, ..Cdf::default() };
    picture("cdf", title, &data)
}

/// The distribution that a report prints: percentiles of completion latency, otherwise of total latency.
pub(super) fn printed(direction: &model::reading::ReadDirection) -> Option<Distribution> {
    let latency = direction.completion.as_ref().or(direction.total.as_ref())?;
    let points: Vec<(f64, f64)> = latency.percentiles.iter().copied().filter(|&(_, ns)| ns > 0.0).collect();
    (points.len() > 2).then_some(Distribution { name: String::new(), points })
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
