//! Facts about the surroundings of a run, and which of them differ between two runs.

use analysis::compare::{follows_another, moved_little};
use model::{DeviceFacts, Fact, GroupLimits, RunResult};
use std::collections::{BTreeMap, BTreeSet};

/// A fact that differs between two runs; `None` where it is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its name.
    pub key: String,
    /// Its value in the earlier run.
    pub before: Option<String>,
    /// Its value in the later run.
    pub after: Option<String>,
}

/// The facts that differ, by name.
pub fn changes(before: &[Fact], after: &[Fact]) -> Vec<Change> {
    let by_key = |facts: &[Fact]| -> BTreeMap<String, String> {
        facts.iter().map(|fact| (fact.key.clone(), fact.value.clone())).collect()
    };
    let (before, after) = (by_key(before), by_key(after));
    let differs = |key: &str| before.get(key) != after.get(key);
    let follows = |key: &str| follows_another(key, |cause| differs(cause));
    let moved_little = |key: &str| {
        let value = |facts: &BTreeMap<String, String>| facts.get(key).cloned();
        moved_little(key, value(&before).as_slice(), value(&after).as_slice())
    };
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    keys.into_iter()
        .filter(|key| differs(key) && !follows(key) && !moved_little(key))
        .map(|key| Change { key: key.clone(), before: before.get(key).cloned(), after: after.get(key).cloned() })
        .collect()
}

/// The facts that the results of a run state.
pub(crate) fn of_result(results: &[RunResult]) -> Vec<Fact> {
    let mut facts = Vec::new();
    let Some(first) = results.first() else { return facts };
    let environment = &first.environment;
    let mut condition = |key: &str, value: Option<String>| {
        facts.extend(value.filter(|value| !value.is_empty()).map(|value| Fact::condition(key, value)));
    };
    condition("kernel", Some(environment.kernel.clone()));
    condition("plumb", Some(environment.program.clone()));
    condition("processor", Some(environment.processor.clone()));
    condition("processors", (environment.cpus > 0).then(|| environment.cpus.to_string()));
    condition("memory", (environment.memory_bytes > 0).then(|| gib(environment.memory_bytes)));
    condition("clock", environment.clock.as_ref().map(|clock| clock.source.clone()));
    if let Some(monitored) = &first.monitored {
        condition("hypervisor", monitored.hypervisor.clone());
        if let Some(limits) = &monitored.group_limits {
            condition("limits of the control group", limits_text(limits));
        }
        for (key, value) in DEVICE_FACTS {
            condition(key, of_devices(&monitored.devices, *value));
        }
        let mount = monitored.targets.first().and_then(|target| target.mount.as_ref());
        condition("file system", mount.map(|mount| mount.kind.clone()));
        condition("mount options", mount.map(|mount| mount.options.clone()));
    }
    facts
}

/// The value of a fact of a device.
type OfDevice = fn(&DeviceFacts) -> Option<String>;

/// Facts of devices: each from the top of the stack to its bottom.
const DEVICE_FACTS: &[(&str, OfDevice)] = &[
    ("device model", |device| device.model.clone()),
    ("device size", |device| device.size_bytes.map(gib)),
    ("scheduler", |device| device.scheduler.clone()),
    ("write cache", |device| {
        device.write_back.map(|is_on| if is_on { "write back" } else { "write through" }.to_owned())
    }),
    ("requests per queue", |device| device.queue_requests.map(|count| count.to_string())),
    ("hardware queues", |device| device.hardware_queues.map(|count| count.to_string())),
    ("largest request KiB", |device| device.request_max_bytes.map(|bytes| (bytes >> 10).to_string())),
    ("read-ahead KiB", |device| device.read_ahead_bytes.map(|bytes| (bytes >> 10).to_string())),
    ("logical block", |device| device.logical_block_bytes.map(|bytes| bytes.to_string())),
    ("NUMA node of the device", |device| device.numa_node.map(|node| node.to_string())),
    ("link MB/s", |device| device.link_bytes_per_second.map(|rate| (rate / 1_000_000).to_string())),
];

/// A value of several devices: one if all have the same, else each in the order of the stack.
fn of_devices(devices: &[DeviceFacts], value: OfDevice) -> Option<String> {
    let values: Vec<String> = devices.iter().filter_map(value).collect();
    joined(&values)
}

/// One value if all are the same, else each.
fn joined(values: &[String]) -> Option<String> {
    let first = values.first()?;
    Some(if values.iter().all(|value| value == first) { first.clone() } else { values.join(" / ") })
}

fn gib(bytes: u64) -> String {
    format!("{:.1} GiB", measure::float(bytes) / measure::float(1 << 30))
}

fn limits_text(limits: &GroupLimits) -> Option<String> {
    let mut parts = Vec::new();
    parts.extend(limits.cpus.map(|cpus| format!("{cpus} processors")));
    parts.extend(limits.memory_bytes.map(|bytes| format!("{} of memory", gib(bytes))));
    for cap in &limits.io {
        let rates = [
            (cap.read_bytes_per_second, "B/s read"),
            (cap.write_bytes_per_second, "B/s written"),
            (cap.read_iops, "reads/s"),
            (cap.write_iops, "writes/s"),
        ];
        parts.extend(rates.into_iter().filter_map(|(rate, unit)| Some(format!("{} {unit}", rate?))));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(pairs: &[(&str, &str)]) -> Vec<Fact> {
        pairs.iter().map(|(key, value)| Fact::condition(key, *value)).collect()
    }

    #[test]
    fn a_changed_scheduler_shows_as_that_line_alone() {
        let before = facts(&[
            ("scheduler", "none"),
            ("requests per queue", "128"),
            ("kernel", "6.12"),
            ("temperature °C", "40"),
            ("free space %", "55"),
        ]);
        let after = facts(&[
            ("scheduler", "mq-deadline"),
            ("requests per queue", "256"),
            ("kernel", "6.12"),
            ("temperature °C", "45"),
            ("free space %", "50"),
        ]);
        let found = changes(&before, &after);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(
            (found[0].key.as_str(), found[0].before.as_deref(), found[0].after.as_deref()),
            ("scheduler", Some("none"), Some("mq-deadline"))
        );
    }

    #[test]
    fn requests_alone_a_hot_disk_and_an_unknown_fact_are_shown() {
        let before = facts(&[("scheduler", "none"), ("requests per queue", "128"), ("temperature °C", "40")]);
        let after =
            facts(&[("requests per queue", "64"), ("scheduler", "none"), ("temperature °C", "60"), ("kernel", "x")]);
        let keys: Vec<String> = changes(&before, &after).into_iter().map(|change| change.key).collect();
        assert_eq!(keys, ["kernel", "requests per queue", "temperature °C"]);
        assert_eq!(changes(&before, &after)[0].before, None);
    }

    #[test]
    fn devices_of_a_stack_have_one_value_or_each_their_own() {
        let device = |scheduler: &str| DeviceFacts { scheduler: Some(scheduler.to_owned()), ..DeviceFacts::default() };
        let scheduler: OfDevice = |device| device.scheduler.clone();
        assert_eq!(of_devices(&[device("none"), device("none")], scheduler).as_deref(), Some("none"));
        assert_eq!(of_devices(&[device("none"), device("bfq")], scheduler).as_deref(), Some("none / bfq"));
        assert_eq!(of_devices(&[], scheduler), None);
    }
}
