//! Choice and order of the pictures for the results.

use super::native::Test;
use super::placing::{self, AllPlaced};
use super::{PageRequest, Source, histograms, judged, systems};
use crate::Chart;
use crate::data::measured::size;
use crate::data::of_measurements::with_notes;
use crate::data::placed::{self, AllDrawn, ChartRow, Subject, SweepChart};
use crate::data::{
    Axis, Blocks, Cdf, Curve, Devices, Distribution, Level, Overlay, Parts, RecordedIos, Series, Surface, Sweep, card,
};
use crate::page::Picture;
use analysis::report_card::{self, ProfileChoice, profile_of};
use analysis::samples_needed;
use measure::{distinct, text};
use model::Measurement;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};

/// Most systems overlaid in one chart; more colours cannot be distinguished.
const MOST_OVERLAID: usize = 12;
/// Most systems with sentences at the top of a page.
const MOST_BEST: usize = 3;
/// Most tests of a run with a sentence at the top of a page.
const MOST_KINDS: usize = 4;
const MOST_DISTRIBUTIONS: usize = 8;
/// Most recorded tests of a workload in one picture.
const MOST_RECORDED: usize = 10;
/// Most levels of a sweep for which half of the width of a page of A4 is enough.
const MOST_ON_HALF: usize = 4;
/// Size of such a picture.
const HALF: (u32, Option<u32>) = (520, None);
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
        let unplaced = sources.iter().filter(|source| source.rows.is_empty() || !source.is_of_runs());
        let systems = placed.rows.iter().map(|row| &row.system).chain(unplaced.map(|source| &source.name));
        let names = distinct(systems.cloned());
        let remarks = placed.remarks.iter().chain(&drawn.remarks).cloned().collect();
        Material { placed, drawn, names, remarks }
    }

    pub(super) fn sweeps(&self) -> impl Iterator<Item = &Sweep> {
        self.drawn.sweeps.iter().map(|drawn| &drawn.sweep)
    }

    /// The results with several tests in one run: unlike jobs, or the reads and writes of a mix. They share a disk at
    /// the same time, and compete for nothing.
    fn shared_runs(&self, sources: &[Source]) -> BTreeSet<Subject> {
        let rows: &[ChartRow] = &self.placed.rows;
        let first: HashMap<Subject, &str> = rows.iter().map(|row| (row.subject, row.test.as_str())).collect();
        let is_shared = |row: &&ChartRow| {
            first.get(&row.subject) != Some(&row.test.as_str()) || judged::is_of_unlike_jobs(sources, row.subject)
        };
        rows.iter().filter(is_shared).map(|row| row.subject).collect()
    }

    /// The first sentence on each test of runs that have several, at most [`MOST_KINDS`]; empty without such a run.
    pub(super) fn each_of_a_run(&self, sources: &[Source]) -> Vec<String> {
        let shared = self.shared_runs(sources);
        let kinds = self.drawn.sweeps.iter().filter(|one| one.subjects.iter().any(|subject| shared.contains(subject)));
        let sentences = kinds.filter_map(|one| {
            let sentence = one.sweep.sentences.first()?;
            Some(if self.names.len() > 1 { format!("{}: {sentence}", one.system) } else { sentence.clone() })
        });
        let mut all: Vec<String> = sentences.collect();
        let more = all.len().saturating_sub(MOST_KINDS);
        if more > 0 {
            all.truncate(MOST_KINDS);
            all.push(format!("{} of the same runs are drawn below.", text::counted(more as u64, "more test")));
        }
        all
    }

    /// The most IOPS and bytes of each system over all of its rows, if these are in several sweeps.
    pub(super) fn best_of_all(&self, sources: &[Source]) -> Vec<String> {
        let several = |system: &&String| self.drawn.sweeps.iter().filter(|one| one.system == **system).count() > 1;
        let shared = self.shared_runs(sources);
        let compete = |system: &&String| {
            let mut rows = self.placed.rows.iter().filter(|row| row.system == **system);
            !rows.any(|row| shared.contains(&row.subject))
        };
        let systems = self.names.iter().filter(several).filter(compete).take(MOST_BEST);
        systems.flat_map(|system| placed::best_of_all(&self.placed.rows, system)).collect()
    }

    /// All pictures, the most informative first, each marked with the findings on its results.
    pub(super) fn all(&self, sources: &[Source], request: &PageRequest, cards: Vec<Option<Drawing>>) -> Vec<Picture> {
        let mut pictures: Vec<Option<Drawing>> = Vec::new();
        let sweeps = &self.drawn.sweeps;
        pictures.extend(self.overlays());
        pictures.extend(cards);
        pictures.extend(sweeps.iter().map(|one| drawing("sweep", &one.sweep.title, &one.sweep, &one.subjects)));
        pictures.extend(curves(sweeps));
        pictures.extend(sweeps.iter().filter_map(blocks));
        pictures.extend(self.distributions(request));
        pictures.extend(histograms::picture(sources, request).map(|data| drawing("cdf", &data.title, &data, &[])));
        pictures.extend(sources.iter().enumerate().flat_map(|(number, source)| parts(number, source)));
        pictures.extend(over_time(sources));
        pictures.extend(sources.iter().enumerate().filter_map(|(number, source)| devices(number, source)));
        pictures.extend(sources.iter().flat_map(surfaces));
        let marked = |drawing: Drawing| Picture { mark: judged::mark(sources, &drawing.subjects), ..drawing.picture };
        pictures.into_iter().flatten().map(marked).collect()
    }

    /// Sweeps of the same workload on several systems, over one another.
    pub(super) fn overlaid(&self) -> Vec<Overlay> {
        self.alike().iter().map(|group| self.overlay(group)).collect()
    }

    /// Which system is best, for each workload that several have; with its name if there is more than one.
    pub(super) fn compared(&self) -> Vec<String> {
        let groups = self.alike();
        let sentence = |group: &Vec<&SweepChart>| {
            let peaks = self.overlay(group).sentences.into_iter().take(2).collect::<Vec<_>>().join(" ");
            if groups.len() > 1 { format!("{}: {peaks}", group[0].workload) } else { peaks }
        };
        groups.iter().map(sentence).filter(|sentence| !sentence.is_empty()).collect()
    }

    fn overlays(&self) -> Vec<Option<Drawing>> {
        let drawn = |group: &Vec<&SweepChart>| {
            let overlay = self.overlay(group);
            let shown = group.iter().take(MOST_OVERLAID);
            let subjects: Vec<Subject> = shown.flat_map(|one| one.subjects.iter().copied()).collect();
            drawing("overlay", &overlay.title, &overlay, &subjects)
        };
        self.alike().iter().map(drawn).collect()
    }

    /// The sweeps that several systems have.
    fn alike(&self) -> Vec<Vec<&SweepChart>> {
        let mut groups: Vec<Vec<&SweepChart>> = Vec::new();
        for one in &self.drawn.sweeps {
            let alike = |group: &&mut Vec<&SweepChart>| group[0].workload == one.workload && group[0].axis == one.axis;
            match groups.iter_mut().find(alike) {
                Some(group) => group.push(one),
                None => groups.push(vec![one]),
            }
        }
        groups.retain(|group| group.len() > 1);
        groups
    }

    /// The first of a group over one another; the others are named.
    fn overlay(&self, group: &[&SweepChart]) -> Overlay {
        let shown = &group[..group.len().min(MOST_OVERLAID)];
        let names: Vec<String> = shown.iter().map(|one| one.system.clone()).collect();
        let levels = || shown.iter().flat_map(|one| &one.sweep.levels);
        let by_load = |one: &&Level, other: &&Level| one.load.total_cmp(&other.load);
        let ends = levels().min_by(by_load).zip(levels().max_by(by_load));
        let range = ends.map(|(first, last)| format!(" · {}", group[0].axis.range(first, last))).unwrap_or_default();
        let title = format!("{} · {}{range}", listed(&names), group[0].workload);
        // Those without a colour are compared, too.
        let systems = group.iter().map(|one| (one.system.clone(), one.sweep.clone())).collect();
        let mut overlay = Overlay::of(&title, systems);
        overlay.systems.truncate(shown.len());
        overlay.colours = names.iter().map(|name| self.colour(name)).collect();
        overlay.notes.extend(of_sizes(shown));
        if group.len() > shown.len() {
            let left: Vec<String> = group[shown.len()..].iter().map(|one| one.system.clone()).collect();
            overlay
                .notes
                .insert(0, format!("Not drawn, because only {MOST_OVERLAID} have a colour: {}.", left.join(", ")));
        }
        overlay
    }

    fn colour(&self, system: &str) -> usize {
        self.names.iter().position(|name| name == system).unwrap_or(0)
    }

    /// Latency distributions: of the levels of each sweep, unless another sweep has them, and of levels in no sweep.
    fn distributions(&self, request: &PageRequest) -> Vec<Option<Drawing>> {
        let mut all = Vec::new();
        for one in self.drawn.sweeps.iter().filter(|one| one.has_new_levels) {
            let title = format!("{} · {} · latency distribution", one.system, one.workload);
            all.push(cdf(&title, &one.distributions, &one.subjects, request));
        }
        for one in &self.drawn.others {
            let title = format!("{} · {} · latency distribution", one.system, one.workload);
            all.push(cdf(&title, &one.distributions, &[one.subject], request));
        }
        all
    }
}

/// Remark on systems that were measured in different sizes of the data.
fn of_sizes(shown: &[&SweepChart]) -> Option<String> {
    let known: Vec<&&SweepChart> =
        shown.iter().filter(|one| one.axis != Axis::DataSize && !one.regions.is_empty()).collect();
    let differ = known.windows(2).any(|pair| pair[0].regions != pair[1].regions);
    let of = |one: &&&SweepChart| {
        let sizes: Vec<String> = one.regions.iter().map(|&bytes| size(bytes)).collect();
        format!("{} {}", one.system, sizes.join(" and "))
    };
    differ.then(|| format!("The sizes of the data differ: {}.", known.iter().map(of).collect::<Vec<_>>().join("; ")))
}

/// Names in a title: `a, b and c`.
pub(super) fn listed(names: &[String]) -> String {
    text::listed_up_to(names, MOST_OVERLAID)
}

pub(super) struct Drawing {
    picture: Picture,
    subjects: Vec<Subject>,
}

/// `None` only if the chart did not exist or its data could not be serialized, which the tests rule out.
fn drawing(chart: &str, title: &str, data: &impl Serialize, subjects: &[Subject]) -> Option<Drawing> {
    let chart = Chart::named(chart)?;
    let data = serde_json::to_value(data).ok()?;
    let (title, heading) = (title.to_owned(), title.to_owned());
    let levels = |sweep: &Value| sweep["levels"].as_array().map_or(0, Vec::len);
    // Systems of one level each are bars.
    let systems = || data["systems"].as_array().into_iter().flatten();
    let is_small = match chart.name {
        "sweep" => levels(&data) <= MOST_ON_HALF,
        "overlay" => systems().all(|system| levels(&system[1]) == 1),
        _ => false,
    };
    let paper = if is_small { HALF } else { chart.paper };
    let picture = Picture { chart, title, heading, mark: None, size: chart.size, paper, data };
    Some(Drawing { picture, subjects: subjects.to_vec() })
}

/// The cards of all systems.
#[derive(Default)]
pub(super) struct Cards {
    pub(super) drawn: Vec<Option<Drawing>>,
    /// Those without any grade: why, and what to run.
    pub(super) lines: Vec<String>,
}

/// A card per system of which a run is a test of the card.
pub(super) fn cards(sources: &[Source], request: &PageRequest) -> Cards {
    let names = systems::names(sources);
    let mut cards = Cards::default();
    for (system, rows) in by_system(sources, &names) {
        let of: Vec<usize> = (0..sources.len()).filter(|&number| names[number] == system).collect();
        let chosen = chosen(sources, &of, &rows, request);
        let judged = report_card::card(&system, &rows, chosen.profile);
        if !judged.is_measured() {
            continue;
        }
        if let Some(line) = judged.without_grades() {
            cards.lines.push(format!("{line}."));
            continue;
        }
        let data = card(&judged, &rows, &chosen);
        let judged = |&number: &usize| sources[number].judged.iter().map(move |one| (number, one.number));
        let subjects: Vec<Subject> = of.iter().flat_map(judged).collect();
        cards.drawn.push(drawing("card", &data.title, &data, &subjects));
    }
    cards
}

/// The rows of each system: plumb's own first.
fn by_system(sources: &[Source], names: &[String]) -> Vec<(String, Vec<Measurement>)> {
    let numbers = |source: &Source| -> Vec<Measurement> { source.rows.iter().map(|row| row.numbers.clone()).collect() };
    let mut all: Vec<(String, Vec<Measurement>)> = Vec::new();
    for (source, name) in sources.iter().zip(names).filter(|(source, _)| !source.tests.is_empty()) {
        match all.iter_mut().find(|(known, _)| known == name) {
            Some((_, rows)) => rows.extend(numbers(source)),
            None => all.push((name.clone(), numbers(source))),
        }
    }
    let foreign = placing::by_system(sources, names).into_iter();
    all.extend(foreign.map(|(system, rows)| (system, rows.into_iter().map(|(_, row)| row.numbers).collect())));
    all
}

/// The profile that was asked for, or that of the disks of these sources and of what they do.
fn chosen(sources: &[Source], of: &[usize], rows: &[Measurement], request: &PageRequest) -> ProfileChoice {
    let disks = || distinct(of.iter().flat_map(|&number| sources[number].places.kinds.iter().cloned()));
    request.profile.map_or_else(|| profile_of(&disks(), rows), ProfileChoice::asked)
}

/// Load/latency curves per system.
fn curves(sweeps: &[SweepChart]) -> Vec<Option<Drawing>> {
    let loads = |one: &&SweepChart| matches!(one.axis, Axis::Load(_)) && one.sweep.levels.len() >= 3;
    let systems = distinct(sweeps.iter().filter(loads).map(|one| one.system.as_str()));
    let curve = |system: &str| {
        let drawn = || sweeps.iter().filter(loads).filter(|one| one.system == system).take(MOST_OVERLAID);
        let of: Vec<(String, &Sweep)> = drawn().map(|one| (one.workload.clone(), &one.sweep)).collect();
        let subjects: Vec<Subject> = drawn().flat_map(|one| one.subjects.iter().copied()).collect();
        let title = format!("{system} · latency over IOPS");
        drawing("curve", &title, &Curve::of(&title, &of), &subjects)
    };
    systems.into_iter().map(curve).collect()
}

/// The cost model of a block size sweep.
fn blocks(drawn: &SweepChart) -> Option<Option<Drawing>> {
    let sweep = &drawn.sweep;
    if drawn.axis != Axis::BlockSize || sweep.levels.len() < LEAST_SIZES {
        return None;
    }
    let points: Vec<(u64, f64, f64)> =
        sweep.levels.iter().map(|level| (level.count(), level.average_ns, level.rate)).collect();
    let title = format!("{} · cost of an I/O", sweep.title);
    Some(self::drawing("blocks", &title, &Blocks::of(&title, &points, Vec::new()), &drawn.subjects))
}

fn cdf(title: &str, systems: &[Distribution], subjects: &[Subject], request: &PageRequest) -> Option<Drawing> {
    if systems.is_empty() {
        return None;
    }
    let shown = &systems[..systems.len().min(MOST_DISTRIBUTIONS)];
    let left: Vec<&str> = systems[shown.len()..].iter().map(|one| one.name.as_str()).collect();
    let notes = if left.is_empty() { Vec::new() } else { vec![format!("Not drawn: {}.", left.join(", "))] };
    let data =
        Cdf { title: title.to_owned(), target_ns: request.target_ns, systems: shown.to_vec(), notes, ..Cdf::default() };
    drawing("cdf", title, &data, subjects)
}

/// The distribution that a report prints: percentiles of completion latency, otherwise of total latency. Those with too
/// few I/Os for a fact are omitted, if the report states how many it had.
pub(super) fn printed(direction: &model::reading::ReadDirection) -> Option<Distribution> {
    let latency = direction.completion.as_ref().or(direction.total.as_ref())?;
    let count = latency.count.or(direction.ios);
    let is_fact = |percent: f64| count.is_none_or(|count| count >= samples_needed(percent) as f64);
    let percentiles = latency.percentiles.iter().copied();
    let points: Vec<(f64, f64)> = percentiles.filter(|&(percent, ns)| ns > 0.0 && is_fact(percent)).collect();
    (points.len() > 2).then_some(Distribution { name: String::new(), points })
}

/// Where the time of the I/Os of recorded runs went: a picture per workload with its tests, those of one user first.
fn parts(number: usize, source: &Source) -> Vec<Option<Drawing>> {
    let recorded = |test: &&Test| test.result.layers.as_ref().is_some_and(|layers| !layers.groups.is_empty());
    let mut tests: Vec<&Test> = source.tests.iter().chain(&source.monitored_runs).filter(recorded).collect();
    tests.sort_by_key(|test| test.users);
    let picture = |workload: &str| {
        let of: Vec<&Test> = tests.iter().copied().filter(|test| test.workload == workload).collect();
        let title = format!("{} · {workload} · where the time goes", source.shown_name());
        let (mut ios, mut sentences, mut remarks) = (Vec::new(), Vec::new(), Vec::new());
        for test in of.iter().take(MOST_RECORDED) {
            let Some(layers) = &test.result.layers else { continue };
            let before = if of.len() > 1 { format!("{}: ", test.level()) } else { String::new() };
            sentences.push(format!("{before}{}", analysis::parts::brief(layers)));
            remarks.extend(layers.limits.iter().map(|limit| format!("{before}{}", analysis::parts::limit(limit))));
            remarks.extend(layers.remarks.iter().map(|remark| format!("{before}{remark}")));
            ios.extend(layers.groups.iter().map(|group| RecordedIos { before: before.clone(), group }));
        }
        remarks.extend((of.len() > MOST_RECORDED).then(|| format!("Not drawn: {} tests.", of.len() - MOST_RECORDED)));
        let bars = Parts::of(&title, &ios);
        let subjects: Vec<Subject> = of.iter().map(|test| (number, test.number)).collect();
        drawing("parts", &title, &Parts { sentences, notes: [bars.notes, remarks].concat(), ..bars }, &subjects)
    };
    distinct(tests.iter().map(|test| test.workload.as_str())).into_iter().map(picture).collect()
}

/// Runs over time: from the monitor for plumb's own results, from logs for others, all on one axis.
fn over_time(sources: &[Source]) -> Vec<Option<Drawing>> {
    let mut all = Vec::new();
    for (number, source) in sources.iter().enumerate() {
        // Only the highest load of each workload: the other levels are in the sweep.
        let watched = || source.tests.iter().chain(&source.monitored_runs);
        for test in watched() {
            let is_heavier = |one: &Test| (one.users, one.number) > (test.users, test.number);
            let heavier = watched().any(|one| one.workload == test.workload && is_heavier(one));
            let Some(monitored) = test.result.monitored.as_ref().filter(|_| !heavier) else { continue };
            let title = format!("{} · {} · over time", source.shown_name(), test.shown());
            all.extend(
                super::time::series(&title, monitored)
                    .map(|series| series.with_phases(&test.result.phases))
                    .map(|series| drawing("series", &title, &series, &[(number, test.number)])),
            );
        }
    }
    for source in sources {
        let title = format!("{} · over time", source.shown_name());
        all.extend(source.iostat.series(&title).map(|series| drawing("series", &title, &series, &[])));
    }
    let panels: Vec<_> = sources.iter().filter_map(|source| Some((source, source.log.as_ref()?.panel()))).collect();
    if let Some((first, _)) = panels.first() {
        let more = if panels.len() > 1 { format!(" and {} more", panels.len() - 1) } else { String::new() };
        let title = format!("{}{more} · over time", first.shown_name());
        let panels = panels.iter().map(|(_, panel)| panel.clone()).collect();
        all.push(drawing("series", &title, &Series::of(&title, panels, Vec::new()), &[]));
    }
    all
}

/// Counters of the program and of the devices, at the highest load.
fn devices(number: usize, source: &Source) -> Option<Option<Drawing>> {
    let heaviest = source.tests.iter().chain(&source.monitored_runs).max_by_key(|test| test.users)?;
    let title = format!("{} · {} · with its devices", source.shown_name(), heaviest.shown());
    Devices::of(&title, &heaviest.result)
        .map(|devices| drawing("devices", &title, &devices, &[(number, heaviest.number)]))
}

fn surfaces(source: &Source) -> Vec<Option<Drawing>> {
    let rows: Vec<_> = source.iozone.iter().collect();
    let several = |surface: &Surface| surface.records.len() > 1 || surface.files.len() > 1;
    Surface::of(source.shown_name(), &rows)
        .iter()
        .filter(|(_, surface)| several(surface))
        .map(|(_, surface)| drawing("surface", &surface.title, surface, &[]))
        .collect()
}
