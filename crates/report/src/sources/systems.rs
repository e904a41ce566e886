//! Which disk or machine each result is of: results of one form its sweeps, several lie over one another.
//!
//! A given name counts first, then what the result states, then how files differ: device, folder, label.

use super::Source;
use super::placing::places;
use formats::sweep::{folder_of, label_of};
use std::collections::HashMap;

/// Results with more rows than this are a sweep each.
const MOST_ROWS: usize = 2;

pub(super) fn names(sources: &[Source]) -> Vec<String> {
    let mut names: Vec<Option<String>> = sources.iter().map(|source| source.given.clone()).collect();
    let open = |names: &[Option<String>], wanted: fn(&Source) -> bool| -> Vec<usize> {
        (0..sources.len()).filter(|&at| names[at].is_none() && wanted(&sources[at])).collect()
    };
    let surveys = open(&names, |source| source.is_survey);
    for at in surveys {
        names[at] = Some(sources[at].name.clone());
    }
    let runs = open(&names, |source| !source.is_survey);
    let keys = keys(sources, &runs);
    for (&at, key) in runs.iter().zip(keys) {
        names[at] = Some(key);
    }
    names.into_iter().map(Option::unwrap_or_default).collect()
}

/// Names of results of single runs, from the properties on which they differ.
fn keys(sources: &[Source], runs: &[usize]) -> Vec<String> {
    let several = runs.len() > 1;
    let own_name = |at: usize| sources[at].name.clone();
    if !several {
        return runs.iter().map(|&at| own_name(at)).collect();
    }
    let properties: [Vec<Option<String>>; 3] = [
        runs.iter().map(|&at| devices(&sources[at])).collect(),
        runs.iter().map(|&at| folder_of(&sources[at].path)).collect(),
        runs.iter().map(|&at| label_of(&sources[at].path)).collect(),
    ];
    let labels = &properties[2];
    let is_sweep = |at: usize| sources[at].rows.len() > MOST_ROWS;
    // Names like a.json and b.json are no systems if each holds one level and all levels differ.
    let pooled = !runs.iter().any(|&at| is_sweep(at)) && distinct(labels) == runs.len() && places_differ(sources, runs);
    let used = properties.iter().take(if pooled { 2 } else { 3 });
    let varying: Vec<&Vec<Option<String>>> = used.filter(|values| distinct(values) > 1 && all_known(values)).collect();
    let tuple = |at: usize| varying.iter().filter_map(|values| values[at].clone()).collect::<Vec<_>>();
    let tuples: Vec<Vec<String>> = (0..runs.len()).map(tuple).collect();
    let groups = count_distinct(&tuples);
    // The shortest name that distinguishes all of them: one property, if it does.
    let single = varying.iter().rev().find(|values| distinct(values) == groups);
    (0..runs.len())
        .map(|at| match single {
            Some(values) if groups > 1 => values[at].clone().unwrap_or_else(|| own_name(runs[at])),
            _ if groups > 1 => tuples[at].join(" "),
            // Files of one system: what they have in common.
            _ if !pooled && all_known(labels) => labels[at].clone().unwrap_or_default(),
            _ if runs.iter().any(|&run| is_sweep(run)) => own_name(runs[at]),
            _ => common(&properties, runs.len()),
        })
        .collect()
}

/// The name of files that nothing distinguishes.
fn common(properties: &[Vec<Option<String>>; 3], files: usize) -> String {
    let [devices, folders, _] = properties;
    let of = |values: &[Option<String>]| values.first().cloned().flatten();
    of(folders).or_else(|| of(devices)).unwrap_or_else(|| format!("{files} files"))
}

fn distinct(values: &[Option<String>]) -> usize {
    count_distinct(values)
}

fn count_distinct<T: PartialEq>(values: &[T]) -> usize {
    values.iter().enumerate().filter(|(at, value)| !values[..*at].contains(value)).count()
}

fn all_known(values: &[Option<String>]) -> bool {
    values.iter().all(Option::is_some)
}

/// True if no two of these results have a row at the same place.
fn places_differ(sources: &[Source], runs: &[usize]) -> bool {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let all = runs.iter().flat_map(|&at| places(&sources[at]).into_iter().map(move |place| (at, place)));
    for (at, place) in all {
        if *seen.entry(place).or_insert(at) != at {
            return false;
        }
    }
    true
}

/// The disks that a result names.
fn devices(source: &Source) -> Option<String> {
    let own = source.tests.iter().flat_map(|test| &test.result.devices).map(|device| device.name.as_str());
    let mut names: Vec<&str> = own.chain(source.disks.iter().map(String::as_str)).collect();
    names.sort_unstable();
    names.dedup();
    (!names.is_empty()).then(|| names.join("+"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::of_measurements::MeasuredRow;
    use model::Measurement;
    use model::measurement::TestName;

    fn source(path: &str, depths: &[f64]) -> Source {
        let row = |&depth: &f64| {
            let test = TestName::from("randread");
            let numbers = Measurement { test, depth: Some(depth), ..Measurement::default() };
            MeasuredRow { numbers, ..MeasuredRow::default() }
        };
        let name = path.rsplit('/').next().unwrap_or(path).to_owned();
        Source { name, path: path.to_owned(), rows: depths.iter().map(row).collect(), ..Source::default() }
    }

    fn named(paths: &[(&str, f64)]) -> Vec<String> {
        names(&paths.iter().map(|(path, depth)| source(path, &[*depth])).collect::<Vec<_>>())
    }

    #[test]
    fn nine_files_of_three_disks_are_three_systems() {
        let of = |label: &str| [1.0, 8.0, 64.0].map(|depth| (format!("{label}-{depth}.json"), depth)).to_vec();
        let files: Vec<(String, f64)> = ["INTEL", "SAMSUNG", "PM833"].iter().flat_map(|label| of(label)).collect();
        let files: Vec<(&str, f64)> = files.iter().map(|(path, depth)| (path.as_str(), *depth)).collect();
        let found = named(&files);
        assert_eq!(found, ["INTEL", "INTEL", "INTEL", "SAMSUNG", "SAMSUNG", "SAMSUNG", "PM833", "PM833", "PM833"]);
    }

    #[test]
    fn folders_are_systems_and_equal_names_within_them_are_not() {
        assert_eq!(
            named(&[("a/1.json", 1.0), ("a/8.json", 8.0), ("b/1.json", 1.0), ("b/8.json", 8.0)]),
            ["a", "a", "b", "b"]
        );
    }

    #[test]
    fn files_of_one_level_each_are_one_sweep() {
        assert_eq!(named(&[("one.json", 1.0), ("two.json", 2.0), ("four.json", 4.0)]), ["3 files"; 3]);
        assert_eq!(named(&[("d/randread-1.json", 1.0), ("d/randread-2.json", 2.0)]), ["d"; 2]);
        // The same level twice compares two systems.
        assert_eq!(named(&[("before.json", 1.0), ("after.json", 1.0)]), ["before", "after"]);
    }

    #[test]
    fn a_given_name_counts_first() {
        let mut sources = [source("x-1.json", &[1.0]), source("y-1.json", &[1.0]), source("y-2.json", &[2.0])];
        sources[0].given = Some("disk A".into());
        assert_eq!(names(&sources), ["disk A", "y", "y"]);
    }
}
