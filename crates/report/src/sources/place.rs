//! Where and when results were measured, for the first screen of a page: target, host, date, disk.

use super::{Source, systems};
use crate::page::Place;
use analysis::report_card::{Disk, disks_of};
use jiff::Timestamp;
use measure::{push_new, text};
use model::{DeviceFacts, RunResult};

/// Most systems on the first screen.
const MOST_PLACES: usize = 4;
const MOST_VALUES: usize = 3;

/// Facts about results, each once: target, host, date and disk.
#[derive(Clone, Debug, Default)]
pub struct PlaceFacts {
    /// Target of a survey, which names its work files itself.
    pub(super) surveyed: Option<String>,
    targets: Vec<String>,
    hosts: Vec<String>,
    /// Disks in words.
    disks: Vec<String>,
    /// The same disks, for the choice of a profile.
    pub(super) kinds: Vec<Disk>,
    /// End of the first and of the last run, in milliseconds since 1970.
    ended: Option<(u64, u64)>,
}

impl PlaceFacts {
    /// The place, for the first screen of a page: these results are of files in this directory or on this device.
    pub fn place(&self, target: String) -> Place {
        let facts = PlaceFacts { surveyed: Some(target), ..self.clone() };
        Place { system: String::new(), facts: facts.shown() }
    }

    /// Adds those of a result.
    pub fn add(&mut self, result: &RunResult) {
        let monitored = result.monitored.as_ref();
        for target in monitored.into_iter().flat_map(|monitored| &monitored.targets) {
            push_new(&mut self.targets, target.path.clone());
        }
        result.environment.host.iter().for_each(|host| push_new(&mut self.hosts, host.clone()));
        let bottom = monitored.into_iter().flat_map(|monitored| &monitored.devices).filter(|device| device.leaf);
        for device in bottom {
            push_new(&mut self.disks, in_words(device));
        }
        if monitored.is_none() {
            for device in &result.devices {
                push_new(&mut self.disks, device.name.clone());
            }
        }
        disks_of(result).into_iter().for_each(|disk| push_new(&mut self.kinds, disk));
        let at = result.ended_unix_ms;
        if at > 0 {
            let (first, last) = self.ended.unwrap_or((at, at));
            self.ended = Some((first.min(at), last.max(at)));
        }
    }

    /// Adds those of another source of the same system.
    fn merge(&mut self, other: &PlaceFacts) {
        self.surveyed = self.surveyed.take().or_else(|| other.surveyed.clone());
        other.targets.iter().for_each(|target| push_new(&mut self.targets, target.clone()));
        other.hosts.iter().for_each(|host| push_new(&mut self.hosts, host.clone()));
        other.disks.iter().for_each(|disk| push_new(&mut self.disks, disk.clone()));
        if let Some((first, last)) = other.ended {
            let (earliest, latest) = self.ended.unwrap_or((first, last));
            self.ended = Some((earliest.min(first), latest.max(last)));
        }
    }

    fn shown(&self) -> Vec<(&'static str, String)> {
        let all = [
            ("target", self.surveyed.clone().unwrap_or_else(|| listed(&self.targets))),
            ("host", listed(&self.hosts)),
            ("measured", self.ended.map(|(first, last)| dates(first, last)).unwrap_or_default()),
            ("disk", listed(&self.disks)),
        ];
        all.into_iter().filter(|(_, value)| !value.is_empty()).collect()
    }
}

fn listed(values: &[String]) -> String {
    let shown = values.iter().take(MOST_VALUES).cloned().collect::<Vec<_>>().join("; ");
    if values.len() > MOST_VALUES { format!("{shown} and {} more", values.len() - MOST_VALUES) } else { shown }
}

/// For example `sda, Samsung SSD 870, 931.5 GiB, flash`.
fn in_words(device: &DeviceFacts) -> String {
    let kind =
        device.rotational.map(|moving| if moving { "reports itself as rotating" } else { "not rotating" }.to_owned());
    let parts = [
        Some(device.name.clone()),
        device.model.clone(),
        device.size_bytes.map(|bytes| text::rounded_size(bytes as f64)),
        kind,
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// For example `2026-11-23 12:05 to 12:41 UTC`.
fn dates(first: u64, last: u64) -> String {
    let text = |ms: u64, format: &str| {
        let moment = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
        moment.map(|moment| moment.strftime(format).to_string()).unwrap_or_default()
    };
    let (day, minute) = ("%Y-%m-%d", "%H:%M");
    let (from, to) = (text(first, day), text(last, day));
    let (began, ended) = (text(first, minute), text(last, minute));
    if (&from, &began) == (&to, &ended) {
        format!("{from} {began} UTC")
    } else if from == to {
        format!("{from} {began} to {ended} UTC")
    } else {
        format!("{from} to {to}")
    }
}

/// The places of all systems, the first few of them.
pub(super) fn all(sources: &[Source]) -> Vec<Place> {
    let mut found: Vec<(String, PlaceFacts)> = Vec::new();
    for (source, name) in sources.iter().zip(systems::names(sources)) {
        match found.iter_mut().find(|(system, _)| *system == name) {
            Some((_, facts)) => facts.merge(&source.places),
            None => found.push((name, source.places.clone())),
        }
    }
    let places = found.into_iter().map(|(system, facts)| Place { system, facts: facts.shown() });
    places.filter(|place| !place.facts.is_empty()).take(MOST_PLACES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_as_short_as_they_can_be() {
        let day = 86_400_000;
        assert_eq!(dates(0, 59_000), "1970-01-01 00:00 UTC");
        assert_eq!(dates(0, 3_600_000), "1970-01-01 00:00 to 01:00 UTC");
        assert_eq!(dates(0, 3 * day), "1970-01-01 to 1970-01-04");
    }
}
