//! Facts about the surroundings of results: machine, devices, mounts, engine; and how those of two sets differ.

use measure::text;
use measure::text::{SizeStyle, exact_size};
use model::{DeviceFacts, JobResult, RunResult, Surroundings};
use serde::{Serialize, Serializer};

/// Facts by name with their values, in the order of their first mention.
type Values = Vec<(String, Vec<String>)>;

/// Facts of a set of results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FactSet {
    /// Those that are in the results themselves, also in those of other programs.
    stated: Values,
    /// Those that plumb reads of the machine after a run.
    settings: Values,
}

/// A fact that two sets state differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The fact, `scheduler of sda`.
    pub fact: String,
    /// Its value in the old set.
    pub old: String,
    /// Its value in the new set.
    pub new: String,
}

impl Serialize for Difference {
    /// As `["scheduler", "none", "mq-deadline"]`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        [&self.fact, &self.old, &self.new].serialize(serializer)
    }
}

/// Facts that the kernel changes together with another one: not shown where that one changed.
const FOLLOWS: &[(&str, &str)] = &[("requests per queue", "scheduler"), ("write-back throttling", "scheduler")];

/// Facts that move by themselves: a change of up to this much is not shown.
const MOVES: &[(&str, f64)] = &[("free space %", 5.0), ("temperature °C", 5.0)];

/// True for a fact that follows from another one that differs. Both may be `of` a device: `requests per queue of sda`.
pub fn follows_another(fact: &str, differs: impl Fn(&str) -> bool) -> bool {
    FOLLOWS.iter().any(|(follower, cause)| {
        let of = fact.strip_prefix(follower).filter(|of| of.is_empty() || of.starts_with(" of "));
        of.is_some_and(|of| differs(&format!("{cause}{of}")))
    })
}

/// True for a fact that moves by itself, with values of two sides that are not far apart.
pub fn moved_little(fact: &str, old: &[String], new: &[String]) -> bool {
    let Some((_, limit)) = MOVES.iter().find(|(name, _)| *name == fact) else { return false };
    let bounds = |side: &[String]| {
        let numbers: Option<Vec<f64>> = side.iter().map(|value| value.parse().ok()).collect();
        let numbers = numbers.filter(|numbers| !numbers.is_empty())?;
        Some((numbers.iter().copied().fold(f64::MAX, f64::min), numbers.iter().copied().fold(f64::MIN, f64::max)))
    };
    let gap = bounds(old).zip(bounds(new)).map(|(old, new)| (new.0 - old.1).max(old.0 - new.1));
    gap.is_some_and(|gap| gap <= *limit)
}

impl FactSet {
    /// Adds the facts that a result states.
    pub fn add(&mut self, result: &RunResult) {
        self.include(facts(result));
        if let Some(surroundings) = &result.surroundings {
            self.add_surroundings(surroundings);
        }
    }

    /// Adds the surroundings of a run.
    pub fn add_surroundings(&mut self, surroundings: &Surroundings) {
        let Surroundings { epoch, machine, facts, .. } = surroundings;
        let epoch = epoch.map(|epoch| ("way of measuring".to_owned(), format!("epoch {epoch}")));
        let machine = machine.clone().map(|machine| ("machine".to_owned(), machine));
        let facts = facts.iter().map(|fact| (fact.key.clone(), fact.value.clone()));
        include(&mut self.settings, epoch.into_iter().chain(machine).chain(facts));
    }

    /// Adds facts of a job.
    pub(super) fn include(&mut self, facts: Vec<(String, String)>) {
        include(&mut self.stated, facts);
    }

    fn all(&self) -> impl Iterator<Item = &(String, Vec<String>)> {
        self.stated.iter().chain(&self.settings)
    }

    fn values(&self, fact: &str) -> Option<&[String]> {
        self.all().find(|(known, _)| known == fact).map(|(_, values)| values.as_slice())
    }

    /// The facts that both sets state and that differ, but for those that follow from others and small moves.
    pub fn differences(&self, new: &FactSet) -> Vec<Difference> {
        let shown = |values: &[String]| values.join(" or ");
        let differs = |fact: &str| {
            let sides = self.values(fact).zip(new.values(fact));
            sides.is_some_and(|(old, new)| old.len() != new.len() || !old.iter().all(|value| new.contains(value)))
        };
        let of = |(fact, old): &(String, Vec<String>)| {
            let new = new.values(fact)?;
            let is_shown = differs(fact) && !follows_another(fact, differs) && !moved_little(fact, old, new);
            is_shown.then(|| Difference { fact: fact.clone(), old: shown(old), new: shown(new) })
        };
        self.all().filter_map(of).collect()
    }

    /// The facts that only one of the sets states.
    pub fn not_known(&self, new: &FactSet) -> Vec<String> {
        let only = |one: &Values, other: &FactSet| -> Vec<String> {
            one.iter().map(|(fact, _)| fact.clone()).filter(|fact| other.values(fact).is_none()).collect()
        };
        let mut found = [only(&self.stated, new), only(&new.stated, self)].concat();
        if self.settings.is_empty() == new.settings.is_empty() {
            found.extend([only(&self.settings, new), only(&new.settings, self)].concat());
        } else {
            // A result of another program has none of them: one phrase instead of forty names.
            found.push("settings of machine and device (governor, huge pages, mitigations, firmware ...)".to_owned());
        }
        found
    }
}

/// Adds facts to those of their name.
fn include(all: &mut Values, facts: impl IntoIterator<Item = (String, String)>) {
    for (fact, value) in facts.into_iter().filter(|(_, value)| !value.is_empty()) {
        match all.iter_mut().find(|(known, _)| *known == fact) {
            Some((_, values)) if values.contains(&value) => {}
            Some((_, values)) => values.push(value),
            None => all.push((fact, vec![value])),
        }
    }
}

pub(super) fn of_job(job: &JobResult) -> Vec<(String, String)> {
    let mut found = vec![("engine".to_owned(), job.echo.engine.clone())];
    if let Some(workload) = job.workload.as_ref().filter(|workload| !workload.is_outline) {
        found.push(("O_DIRECT".to_owned(), if job.echo.direct { "yes" } else { "no" }.to_owned()));
        let time = workload.runtime.map(|time| format!("{} s", time.as_secs_f64()));
        found.push(("time of a run".to_owned(), time.unwrap_or_default()));
    }
    found
}

fn facts(result: &RunResult) -> Vec<(String, String)> {
    let here = &result.environment;
    let mut found = Vec::new();
    let mut add = |fact: &str, value: String| found.push((fact.to_owned(), value));
    add("program", here.program.clone());
    add("kernel", here.kernel.clone());
    add("processor", here.processor.clone());
    add("CPUs", number(u64::from(here.cpus)));
    add(
        "memory",
        if here.memory_bytes > 0 { text::rounded_size(measure::float(here.memory_bytes)) } else { String::new() },
    );
    add("clock", here.clock.as_ref().map(|clock| clock.source.clone()).unwrap_or_default());
    for system in &here.file_systems {
        add("file system", system.kind.clone());
    }
    let Some(monitored) = &result.monitored else { return found };
    add("virtual machine", monitored.hypervisor.clone().unwrap_or_default());
    for mount in monitored.targets.iter().filter_map(|target| target.mount.as_ref()) {
        add("mount options", mount.options.clone());
    }
    if let Some(limits) = &monitored.group_limits {
        add("CPUs of the control group", limits.cpus.map(|cpus| cpus.to_string()).unwrap_or_default());
        add(
            "memory of the control group",
            limits.memory_bytes.map(|bytes| text::rounded_size(measure::float(bytes))).unwrap_or_default(),
        );
    }
    found.extend(devices(&monitored.devices));
    found
}

/// Facts about the devices. The only disk needs no name, so that two disks are compared.
fn devices(devices: &[DeviceFacts]) -> Vec<(String, String)> {
    let leaves: Vec<&DeviceFacts> = devices.iter().filter(|device| device.leaf).collect();
    let mut found = Vec::new();
    for device in devices {
        let of = match leaves.as_slice() {
            [only] if only.name == device.name => String::new(),
            _ => format!(" of {}", device.name),
        };
        if of.is_empty() {
            found.push(("disk".to_owned(), device.name.clone()));
        }
        let yes = |value: Option<bool>, [yes, no]: [&str; 2]| {
            value.map(|value| if value { yes } else { no }.to_owned()).unwrap_or_default()
        };
        let values = [
            ("model", device.model.clone().unwrap_or_default()),
            ("size", device.size_bytes.map(|bytes| text::rounded_size(measure::float(bytes))).unwrap_or_default()),
            ("kind", yes(device.rotational, ["rotating", "not rotating"])),
            ("scheduler", device.scheduler.clone().unwrap_or_default()),
            ("write cache", yes(device.write_back, ["write back", "write through"])),
            ("requests per queue", device.queue_requests.map(number).unwrap_or_default()),
            ("hardware queues", device.hardware_queues.map(number).unwrap_or_default()),
            ("largest request", device.request_max_bytes.map(size).unwrap_or_default()),
            ("read-ahead", device.read_ahead_bytes.map(size).unwrap_or_default()),
            ("logical blocks", device.logical_block_bytes.map(size).unwrap_or_default()),
            ("link", device.link_bytes_per_second.map(|rate| text::rate(measure::float(rate))).unwrap_or_default()),
        ];
        found.extend(values.into_iter().map(|(fact, value)| (format!("{fact}{of}"), value)));
    }
    found
}

fn number(value: u64) -> String {
    if value > 0 { value.to_string() } else { String::new() }
}

fn size(bytes: u64) -> String {
    exact_size(bytes, SizeStyle::Spelled)
}
