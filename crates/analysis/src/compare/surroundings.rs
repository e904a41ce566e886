//! Facts about the surroundings of results: machine, devices, mounts, engine; and how those of two sets differ.

use measure::text::{SizeStyle, exact_size};
use model::{DeviceFacts, JobResult, RunResult};

/// Facts of a set of results: the values of each, in the order of their first mention.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FactSet(Vec<(String, Vec<String>)>);

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

impl FactSet {
    /// Adds the facts that a result states.
    pub fn add(&mut self, result: &RunResult) {
        self.include(facts(result));
    }

    /// Adds facts of a job.
    pub(super) fn include(&mut self, facts: Vec<(String, String)>) {
        for (fact, value) in facts.into_iter().filter(|(_, value)| !value.is_empty()) {
            match self.0.iter_mut().find(|(known, _)| *known == fact) {
                Some((_, values)) if values.contains(&value) => {}
                Some((_, values)) => values.push(value),
                None => self.0.push((fact, vec![value])),
            }
        }
    }

    fn values(&self, fact: &str) -> Option<&[String]> {
        self.0.iter().find(|(known, _)| known == fact).map(|(_, values)| values.as_slice())
    }

    /// The facts that both sets state and that are not the same.
    pub fn differences(&self, new: &FactSet) -> Vec<Difference> {
        let shown = |values: &[String]| values.join(" or ");
        let of = |(fact, old): &(String, Vec<String>)| {
            let new = new.values(fact)?;
            let is_same = old.len() == new.len() && old.iter().all(|value| new.contains(value));
            (!is_same).then(|| Difference { fact: fact.clone(), old: shown(old), new: shown(new) })
        };
        self.0.iter().filter_map(of).collect()
    }

    /// The facts that only one of the sets states.
    pub fn not_known(&self, new: &FactSet) -> Vec<String> {
        let only = |one: &FactSet, other: &FactSet| -> Vec<String> {
            one.0.iter().map(|(fact, _)| fact.clone()).filter(|fact| other.values(fact).is_none()).collect()
        };
        [only(self, new), only(new, self)].concat()
    }
}

/// Facts of one job.
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
    add("memory", if here.memory_bytes > 0 { about(here.memory_bytes) } else { String::new() });
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
        add("memory of the control group", limits.memory_bytes.map(about).unwrap_or_default());
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
            ("size", device.size_bytes.map(about).unwrap_or_default()),
            ("kind", yes(device.rotational, ["rotating", "not rotating"])),
            ("scheduler", device.scheduler.clone().unwrap_or_default()),
            ("write cache", yes(device.write_back, ["write back", "write through"])),
            ("requests per queue", device.queue_requests.map(number).unwrap_or_default()),
            ("hardware queues", device.hardware_queues.map(number).unwrap_or_default()),
            ("largest request", device.request_max_bytes.map(size).unwrap_or_default()),
            ("read-ahead", device.read_ahead_bytes.map(size).unwrap_or_default()),
            ("logical blocks", device.logical_block_bytes.map(size).unwrap_or_default()),
            ("link", device.link_bytes_per_second.map(|rate| format!("{}/s", about(rate))).unwrap_or_default()),
        ];
        found.extend(values.into_iter().map(|(fact, value)| (format!("{fact}{of}"), value)));
    }
    found
}

fn number(value: u64) -> String {
    if value > 0 { value.to_string() } else { String::new() }
}

fn about(bytes: u64) -> String {
    measure::text::rounded_size(measure::float(bytes))
}

fn size(bytes: u64) -> String {
    exact_size(bytes, SizeStyle::Spelled)
}
