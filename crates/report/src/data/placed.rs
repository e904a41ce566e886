//! Measured rows with their places on all axes → sweeps, each over one axis. Every row is in a sweep or is named.
//!
//! Owns the axis of a sweep and what its title says of others. Numbers are `measured`'s, sentences `analysis`'.

use super::measured::{Axis, Table, size};
use super::{Distribution, Sweep};
use analysis::{Elsewhere, Level, Load, Rank, best_value, median_round};
use measure::distinct;
use std::collections::{HashMap, HashSet};

/// Most sweeps of one system; further ones are named.
const MOST_SWEEPS: usize = 48;
/// Most levels that get a picture each where nothing varies.
const MOST_SINGLES: usize = 12;
/// Fewest block sizes for a picture over block sizes, if all of them are in other pictures.
const LEAST_SIZES: u64 = 3;
/// Most rows that a remark names.
const MOST_NAMED: usize = 6;

/// Value of a row on one axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Coordinate {
    pub(crate) axis: Axis,
    pub(crate) value: Value,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Value {
    /// A number: users, depth, bytes, or the value of an option.
    Number(u64),
    /// Smallest and largest block size.
    Range(u64, u64),
    /// A word.
    Word(String),
}

impl Value {
    /// Position on the axis; a range stands at its middle, which is also its mean.
    fn number(&self) -> Option<u64> {
        match self {
            Value::Number(number) => Some(*number),
            Value::Range(low, high) => Some(low.midpoint(*high)),
            Value::Word(_) => None,
        }
    }
}

/// Number of a source, and number of the result in it from 1: of the test, or of the reading.
pub(crate) type Subject = (usize, usize);

/// A measured row with its place.
#[derive(Clone, Debug)]
pub(crate) struct ChartRow {
    /// The machine or disk that was measured.
    pub(crate) system: String,
    /// For example `random read`.
    pub(crate) test: String,
    /// For example `random reads`.
    pub(crate) plural: String,
    /// At most one per axis, in a fixed order.
    pub(crate) coordinates: Vec<Coordinate>,
    pub(crate) level: Level,
    /// Number of the run that it belongs to: two rows of one run at one place are jobs next to each other, not rounds.
    pub(crate) run: usize,
    /// Size of the data in bytes, if the result states it; [`size_axis`] decides if it is an axis.
    pub(crate) region_bytes: Option<u64>,
    pub(crate) subject: Subject,
    pub(crate) distribution: Option<Distribution>,
    /// The distribution of its response time, if it had a rate.
    pub(crate) response: Option<Distribution>,
}

#[derive(Clone, Debug)]
pub(crate) struct SweepChart {
    pub(crate) system: String,
    /// The workload, without the system and the range: sweeps of several systems with equal workloads compare.
    pub(crate) workload: String,
    pub(crate) axis: Axis,
    pub(crate) sweep: Sweep,
    /// Latency distributions of the levels, each with its level's label.
    pub(crate) distributions: Vec<Distribution>,
    /// Sizes of the data of its levels in bytes, each once, as far as they are known.
    pub(crate) regions: Vec<u64>,
    /// The results of its levels, with all rounds.
    pub(crate) subjects: Vec<Subject>,
    /// True if an earlier sweep lacks some of its levels.
    pub(crate) has_new_levels: bool,
}

/// The distribution of a level that is in no sweep.
#[derive(Clone, Debug)]
pub(crate) struct Other {
    pub(crate) system: String,
    pub(crate) workload: String,
    /// Of its latency, and of its response time if it had a rate.
    pub(crate) distributions: Vec<Distribution>,
    pub(crate) subject: Subject,
}

/// The sweeps, and what is in none of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct AllDrawn {
    pub(crate) sweeps: Vec<SweepChart>,
    /// Distributions of levels that are in no sweep.
    pub(crate) others: Vec<Other>,
    /// Sentences that name the rows that no sweep holds.
    pub(crate) remarks: Vec<String>,
}

/// All rows at one place: one, or its rounds.
struct Cell<'rows> {
    first: &'rows ChartRow,
    level: Level,
    subjects: Vec<Subject>,
    drawn: bool,
}

/// A group of cells that differ on one axis only.
struct Group {
    axis: Axis,
    /// Indexes of its cells, in the order of the axis.
    members: Vec<usize>,
    has_new_levels: bool,
}

/// Makes the size of the data an axis of tests whose runs differ in nothing else; elsewhere users often decide it.
pub(crate) fn size_axis(rows: &mut [ChartRow]) {
    let mut first: HashMap<String, (usize, u64)> = HashMap::new();
    let mut over_sizes: HashSet<(String, String)> = HashSet::new();
    for row in rows.iter() {
        let Some(bytes) = row.region_bytes else { continue };
        let place = format!("{} {} {:?}", row.system, row.test, row.coordinates);
        let &mut (run, known) = first.entry(place).or_insert((row.run, bytes));
        // Jobs of one run do I/O at the same time.
        if run != row.run && known != bytes {
            over_sizes.insert((row.system.clone(), row.test.clone()));
        }
    }
    for row in rows {
        let is_wanted = over_sizes.contains(&(row.system.clone(), row.test.clone()));
        let value = row.region_bytes.filter(|_| is_wanted).map(Value::Number);
        row.coordinates.extend(value.map(|value| Coordinate { axis: Axis::DataSize, value }));
    }
}

pub(crate) fn sweeps(rows: &[ChartRow], target_ns: Option<f64>) -> AllDrawn {
    let mut all = AllDrawn::default();
    let systems = distinct(rows.iter().map(|row| row.system.as_str()));
    let tests = distinct(rows.iter().map(|row| row.test.as_str()));
    let varying: HashMap<&str, Vec<Axis>> =
        tests.iter().map(|&test| (test, varying_axes(rows.iter().filter(|row| row.test == test)))).collect();
    for system in systems {
        let of_system: Vec<&ChartRow> = rows.iter().filter(|row| row.system == system).collect();
        let mut one = OneSystem { system, target_ns, varying: &varying, cells: Vec::new() };
        all.remarks.extend(one.take(&of_system));
        one.draw(&mut all);
    }
    // Sweeps over load first, then those over block sizes.
    all.sweeps.sort_by_key(|drawn| drawn.axis == Axis::BlockSize);
    all
}

fn varying_axes<'rows>(rows: impl Iterator<Item = &'rows ChartRow>) -> Vec<Axis> {
    let mut seen: Vec<(&Axis, &Value)> = Vec::new();
    let mut found: Vec<Axis> = Vec::new();
    for coordinate in rows.flat_map(|row| &row.coordinates) {
        match seen.iter().find(|(axis, _)| **axis == coordinate.axis) {
            Some((_, first)) if **first != coordinate.value && !found.contains(&coordinate.axis) => {
                found.push(coordinate.axis.clone());
            }
            Some(_) => {}
            None => seen.push((&coordinate.axis, &coordinate.value)),
        }
    }
    found
}

/// The distributions of a row, with this name: of its latency, and of its response time if it had a rate.
fn named(row: &ChartRow, name: &str) -> Vec<Distribution> {
    let latency = row.distribution.iter().map(|found| Distribution { name: name.to_owned(), ..found.clone() });
    let response =
        row.response.iter().map(|found| Distribution { name: format!("{name}, response time"), ..found.clone() });
    latency.chain(response).collect()
}

impl ChartRow {
    fn value(&self, axis: &Axis) -> Option<&Value> {
        self.coordinates.iter().find(|coordinate| coordinate.axis == *axis).map(|coordinate| &coordinate.value)
    }

    fn others(&self, axis: &Axis) -> Vec<&Coordinate> {
        self.coordinates.iter().filter(|coordinate| coordinate.axis != *axis).collect()
    }
}

struct OneSystem<'all, 'rows> {
    system: &'all str,
    target_ns: Option<f64>,
    /// By test: the axes on which any two rows differ.
    varying: &'all HashMap<&'rows str, Vec<Axis>>,
    cells: Vec<Cell<'rows>>,
}

impl<'rows> OneSystem<'_, 'rows> {
    /// Merges rounds into cells. Returns remarks on rows that are no rounds.
    fn take(&mut self, rows: &[&'rows ChartRow]) -> Option<String> {
        let mut places: Vec<Vec<&'rows ChartRow>> = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut jobs_alike: Vec<&ChartRow> = Vec::new();
        for row in rows {
            let key = format!("{} {:?}", row.test, row.coordinates);
            let at = *known.entry(key).or_insert(places.len());
            if at == places.len() {
                places.push(vec![row]);
            } else if places[at].iter().any(|one| one.run == row.run) {
                jobs_alike.push(row);
            } else {
                places[at].push(row);
            }
        }
        self.cells = places.iter().filter_map(|rounds| cell(rounds)).collect();
        let first = jobs_alike.first()?;
        Some(format!(
            "{}: {} in no picture, because another job of the same run has the same test and load (first: {}); all numbers are in the table.",
            self.system,
            counted(jobs_alike.len()),
            self.name(first)
        ))
    }

    fn varies(&self, row: &ChartRow, axis: &Axis) -> bool {
        self.varying.get(row.test.as_str()).is_some_and(|axes| axes.contains(axis))
    }

    /// Chooses the groups and makes their sweeps.
    fn draw(&mut self, all: &mut AllDrawn) {
        let mut groups: Vec<Group> = Vec::new();
        for test in distinct(self.cells.iter().map(|cell| cell.first.test.as_str())) {
            groups.extend(self.groups(test));
        }
        let nothing_varies = groups.is_empty();
        let too_many = groups.len().saturating_sub(MOST_SWEEPS);
        for group in groups.iter().take(MOST_SWEEPS) {
            let drawn = self.drawn(group);
            all.sweeps.push(drawn);
        }
        let mut left: Vec<usize> = (0..self.cells.len()).filter(|&at| !self.cells[at].drawn).collect();
        if nothing_varies {
            for &at in left.iter().take(MOST_SINGLES) {
                let drawn = self.drawn(&Group { axis: self.single_axis(at), members: vec![at], has_new_levels: true });
                all.sweeps.push(drawn);
            }
            left.drain(..left.len().min(MOST_SINGLES));
        }
        for &at in left.iter().take(MOST_SINGLES) {
            let cell = &self.cells[at];
            let distributions = named(cell.first, &self.name(cell.first));
            if !distributions.is_empty() {
                all.others.push(Other {
                    system: self.system.to_owned(),
                    workload: self.name(cell.first),
                    distributions,
                    subject: cell.first.subject,
                });
            }
        }
        if too_many > 0 {
            all.remarks.push(format!("{}: the first {MOST_SWEEPS} sweeps are drawn, {too_many} are not.", self.system));
        } else if !left.is_empty() {
            let names: Vec<String> = left.iter().take(MOST_NAMED).map(|&at| self.name(self.cells[at].first)).collect();
            let more = left.len().saturating_sub(MOST_NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let names = names.join("; ");
            all.remarks.push(format!(
                "{}: {} in no picture of a sweep, because nothing that it differs from others in has a second level: {names}{more}.",
                self.system,
                counted(left.len())
            ));
        }
    }

    /// The groups of a test: over the load with most levels, over other axes for the rest, then over block sizes.
    fn groups(&mut self, test: &str) -> Vec<Group> {
        let of_test: Vec<usize> = (0..self.cells.len()).filter(|&at| self.cells[at].first.test == test).collect();
        let mut axes: Vec<Axis> = Vec::new();
        for coordinate in of_test.iter().flat_map(|&at| &self.cells[at].first.coordinates) {
            if !axes.contains(&coordinate.axis) && self.varies(self.cells[of_test[0]].first, &coordinate.axis) {
                axes.push(coordinate.axis.clone());
            }
        }
        let mut split: Vec<(Vec<Group>, usize)> = Vec::new();
        for axis in axes {
            let groups = self.split(&of_test, &axis);
            let levels = groups.iter().map(|group| group.members.len()).max().unwrap_or(0);
            split.push((groups, levels));
        }
        // Loads before other options, block sizes last; among equals, the one with the most levels.
        let rank = |axis: &Axis| match axis {
            Axis::Load(_) => 0,
            Axis::DataSize | Axis::Option(_) => 1,
            Axis::BlockSize => 2,
        };
        split.retain(|(groups, levels)| !groups.is_empty() && *levels > 1);
        split.sort_by_key(|(groups, levels)| (rank(&groups[0].axis), usize::MAX - levels));
        let mut chosen: Vec<Group> = Vec::new();
        for (place, (groups, _)) in split.into_iter().enumerate() {
            for mut group in groups.into_iter().filter(|group| group.members.len() > 1) {
                let has_new = group.members.iter().any(|&at| !self.cells[at].drawn);
                group.has_new_levels = has_new;
                let is_wanted = match group.axis {
                    Axis::BlockSize => {
                        has_new || (group.members.len() as u64 >= LEAST_SIZES && self.at_lowest_load(&group))
                    }
                    _ => has_new || place == 0,
                };
                if is_wanted {
                    group.members.iter().for_each(|&at| self.cells[at].drawn = true);
                    chosen.push(group);
                }
            }
        }
        chosen
    }

    /// Groups of cells that differ on this axis only, each in its order.
    fn split(&self, cells: &[usize], axis: &Axis) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        for &at in cells {
            let cell = &self.cells[at];
            if cell.first.value(axis).is_none() {
                continue;
            }
            let key = format!("{:?}", cell.first.others(axis));
            let place = *known.entry(key).or_insert(groups.len());
            if place == groups.len() {
                groups.push(Group { axis: axis.clone(), members: Vec::new(), has_new_levels: true });
            }
            groups[place].members.push(at);
        }
        for group in &mut groups {
            group.members.sort_by(|&a, &b| {
                let value = |at: usize| self.cells[at].first.value(axis);
                let number = |at: usize| value(at).and_then(Value::number);
                number(a).cmp(&number(b)).then_with(|| value(a).cmp(&value(b)))
            });
        }
        groups
    }

    /// True if no other row of this test has fewer users or less depth.
    fn at_lowest_load(&self, group: &Group) -> bool {
        let first = self.cells[group.members[0]].first;
        [Axis::Load(Load::Users), Axis::Load(Load::Depth)].iter().all(|axis| {
            let here = first.value(axis).and_then(Value::number);
            self.cells.iter().filter(|cell| cell.first.test == first.test).all(|cell| {
                let there = cell.first.value(axis).and_then(Value::number);
                there.is_none() || here.is_none() || here <= there
            })
        })
    }

    /// The axis of a level that stands alone: users, or depth if that is the load; else the block size.
    fn single_axis(&self, at: usize) -> Axis {
        let number = |load| self.cells[at].first.value(&Axis::Load(load)).and_then(Value::number);
        match (number(Load::Users), number(Load::Depth)) {
            (None, None) => Axis::BlockSize,
            (None, Some(_)) => Axis::Load(Load::Depth),
            (Some(1), Some(depth)) if depth > 1 => Axis::Load(Load::Depth),
            _ => Axis::Load(Load::Users),
        }
    }

    fn drawn(&self, group: &Group) -> SweepChart {
        let first = self.cells[group.members[0]].first;
        let axis = &group.axis;
        let levels: Vec<Level> =
            group.members.iter().zip(1_u64..).map(|(&at, place)| self.level(at, axis, place)).collect();
        let each = group.members.iter().zip(&levels);
        let distributions = each.flat_map(|(&at, level)| named(self.cells[at].first, &axis.name_of(level))).collect();
        let workload = self.workload(first, axis);
        let elsewhere =
            if self.cells.len() == group.members.len() { Elsewhere::Nothing } else { Elsewhere::OtherLevels };
        let mut regions: Vec<u64> = group.members.iter().filter_map(|&at| self.cells[at].first.region_bytes).collect();
        regions.sort_unstable();
        regions.dedup();
        let table = Table {
            system: self.system.to_owned(),
            workload: workload.clone(),
            plural: self.subject(first, axis),
            axis: axis.clone(),
            target_ns: self.target_ns,
            levels,
            elsewhere,
            notes: of_sizes(axis, &regions),
        };
        SweepChart {
            regions,
            system: self.system.to_owned(),
            workload,
            axis: axis.clone(),
            sweep: Sweep::of(table),
            distributions,
            subjects: group.members.iter().flat_map(|&at| self.cells[at].subjects.iter().copied()).collect(),
            has_new_levels: group.has_new_levels,
        }
    }

    /// A cell's numbers at its place on an axis; words stand in their order.
    fn level(&self, at: usize, axis: &Axis, place: u64) -> Level {
        let cell = &self.cells[at];
        let (load, word) = match cell.first.value(axis) {
            Some(Value::Word(word)) => (place, Some(word.clone())),
            Some(value) => (value.number().unwrap_or(place), None),
            None => (place, None),
        };
        Level { load: load as f64, word, ..cell.level.clone() }
    }

    /// For example `random read 8 KiB, depth 4, io_uring`: all that does not vary and is not self-evident.
    fn workload(&self, row: &ChartRow, axis: &Axis) -> String {
        let mut text = row.test.clone();
        if let Some(block) = row.value(&Axis::BlockSize).filter(|_| *axis != Axis::BlockSize) {
            text.push_str(&format!(" {}", spelled(block)));
        }
        for coordinate in self.conditions(row, axis) {
            text.push_str(&format!(", {}", in_a_title(coordinate)));
        }
        text
    }

    /// For example `8 KiB random reads at depth 4 with io_uring`.
    fn subject(&self, row: &ChartRow, axis: &Axis) -> String {
        let block = row.value(&Axis::BlockSize).filter(|_| *axis != Axis::BlockSize);
        let mut text = block.map_or_else(String::new, |block| format!("{} ", spelled(block)));
        text.push_str(&row.plural);
        for coordinate in self.conditions(row, axis) {
            let word = match coordinate.axis {
                Axis::Load(Load::Depth) => "at",
                Axis::DataSize => "in",
                _ => "with",
            };
            text.push_str(&format!(" {word} {}", in_a_title(coordinate).trim_start_matches("in ")));
        }
        text
    }

    fn conditions<'row>(&self, row: &'row ChartRow, axis: &Axis) -> Vec<&'row Coordinate> {
        let is_said = |coordinate: &&Coordinate| match &coordinate.axis {
            Axis::BlockSize => false,
            Axis::Load(Load::Users) => {
                *axis == Axis::BlockSize || coordinate.value != Value::Number(1) || self.varies(row, &coordinate.axis)
            }
            Axis::Load(Load::Depth) => coordinate.value != Value::Number(1) || self.varies(row, &coordinate.axis),
            Axis::Option(name) if name != ENGINE => true,
            Axis::DataSize | Axis::Option(_) => self.varies(row, &coordinate.axis),
        };
        row.coordinates.iter().filter(|coordinate| coordinate.axis != *axis).filter(is_said).collect()
    }

    /// The whole place of a row.
    fn name(&self, row: &ChartRow) -> String {
        let users = Axis::Load(Load::Users);
        let workload = self.workload(row, &users);
        match row.value(&users).and_then(Value::number) {
            Some(count) => format!("{workload}, {}", users.label(count)),
            None => workload,
        }
    }
}

/// Remark on levels whose sizes of the data differ though that is not their axis.
fn of_sizes(axis: &Axis, regions: &[u64]) -> Vec<String> {
    match regions {
        [least, .., most] if *axis != Axis::DataSize => {
            vec![format!("The size of the data is not the same at all levels: {} to {}.", size(*least), size(*most))]
        }
        _ => Vec::new(),
    }
}

/// The axis of engines, whose values need no name.
pub(crate) const ENGINE: &str = "engine";

/// The cell of the rounds at one place; its numbers are those of the median round.
fn cell<'rows>(rounds: &[&'rows ChartRow]) -> Option<Cell<'rows>> {
    let rates: Vec<f64> = rounds.iter().map(|row| row.level.iops).collect();
    let first = *rounds.get(median_round(&rates)?)?;
    let mut level = first.level.clone();
    if rates.len() > 1 {
        level.rates = rates;
    }
    level.not_storage = rounds.iter().find_map(|row| row.level.not_storage.clone());
    let subjects = rounds.iter().map(|row| row.subject).collect();
    Some(Cell { first, level, subjects, drawn: false })
}

/// The most IOPS and bytes of all rows of a system with several; over all of them, not over one sweep.
pub(crate) fn best_of_all(rows: &[ChartRow], system: &str) -> Vec<String> {
    let of_system: Vec<&ChartRow> = rows.iter().filter(|row| row.system == system).collect();
    let varying: HashMap<&str, Vec<Axis>> = of_system
        .iter()
        .map(|row| (row.test.as_str(), varying_axes(of_system.iter().copied().filter(|other| other.test == row.test))))
        .collect();
    let mut one = OneSystem { system, target_ns: None, varying: &varying, cells: Vec::new() };
    one.take(&of_system);
    if one.cells.len() < 2 {
        return Vec::new();
    }
    let named: Vec<_> = one.cells.iter().map(|cell| (one.name(cell.first), cell.level.clone())).collect();
    let what = format!("the {} levels of {system}", named.len());
    [Rank::Ios, Rank::Bytes].into_iter().filter_map(|rank| best_value(&what, rank, &named)).collect()
}

fn counted(rows: usize) -> String {
    if rows == 1 { "1 result is".to_owned() } else { format!("{rows} results are") }
}

/// A value in words: `8 KiB`, `4K-16K`.
fn spelled(value: &Value) -> String {
    match value {
        Value::Number(bytes) => size(*bytes),
        Value::Range(low, high) => format!("{} to {}", size(*low), size(*high)),
        Value::Word(word) => word.clone(),
    }
}

fn in_a_title(coordinate: &Coordinate) -> String {
    match (&coordinate.axis, &coordinate.value) {
        (Axis::DataSize, value) => format!("in {}", spelled(value)),
        (Axis::Option(name), Value::Word(word)) if name != ENGINE => format!("{name}={word}"),
        (_, Value::Word(word)) => word.clone(),
        (Axis::BlockSize, value) => spelled(value),
        (axis, value) => value.number().map_or_else(String::new, |number| axis.label(number)),
    }
}
