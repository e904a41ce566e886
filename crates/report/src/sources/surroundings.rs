//! Environment of results, the command to repeat them, and the checks on them.

use super::Source;
use crate::data::measured::size;
use crate::page::Surroundings;
use measure::text;
use model::RunResult;

/// Stands where a file has no kernel, processor and so on: reports of fio and of iozone, tables, logs.
const NO_MACHINE: &str = "not stated in this file";

/// Facts about a source.
pub(super) fn of(source: &Source) -> Surroundings {
    let mut facts = vec![("result".to_owned(), source.path.clone())];
    let first = source.tests.iter().chain(&source.monitored_runs).next().map(|test| &test.result);
    if let Some(result) = first {
        machine(&mut facts, result);
        devices(&mut facts, result);
    }
    let engine = source.rows.iter().find_map(|row| row.numbers.engine.clone());
    let stated = [("program", source.program.clone()), ("engine", engine), ("host", source.host.clone())];
    facts.extend(stated.into_iter().filter_map(|(what, which)| Some((what.to_owned(), which?))));
    if first.is_none_or(|result| result.environment.kernel.is_empty()) {
        facts.push(("machine".to_owned(), NO_MACHINE.to_owned()));
    }
    let words = first.map_or(&[][..], |result| &result.environment.command);
    let command = words.iter().map(|word| text::shell_word(word)).collect::<Vec<_>>().join(" ");
    let command = Some(command).filter(|command| !command.is_empty());
    Surroundings { source: source.name.clone(), facts, command }
}

fn machine(facts: &mut Vec<(String, String)>, result: &RunResult) {
    let here = &result.environment;
    let mut fact = |what: &str, which: String| {
        if !which.is_empty() {
            facts.push((what.to_owned(), which));
        }
    };
    fact("host", here.host.clone().unwrap_or_default());
    fact("program", here.program.clone());
    fact("kernel", here.kernel.clone());
    fact("processor", here.processor.clone());
    fact("CPUs", if here.cpus > 0 { here.cpus.to_string() } else { String::new() });
    fact("memory", if here.memory_bytes > 0 { text::rounded_size(here.memory_bytes as f64) } else { String::new() });
    if let Some(clock) = &here.clock {
        let drift = clock.drift_ppm.map(|drift| format!(", drift {drift:.3} ppm")).unwrap_or_default();
        let why = clock.why_not_tsc.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
        fact("clock", format!("{}{drift}{why}", clock.source));
    }
    for note in &here.engine_notes {
        fact("engine", note.clone());
    }
    for system in &here.file_systems {
        fact("file system", format!("{}: {}", system.path, system.kind));
    }
    if let Some(monitored) = &result.monitored {
        fact("virtual machine", monitored.hypervisor.clone().unwrap_or_default());
        for target in &monitored.targets {
            let device = target.device.as_ref().map(|device| format!(" on {device}")).unwrap_or_default();
            let mount = target.mount.as_ref().map(|at| format!(", {} at {} ({})", at.kind, at.point, at.options));
            fact(
                "target",
                format!(
                    "{}, {}{device}{}",
                    target.path,
                    text::rounded_size(target.size_bytes as f64),
                    mount.unwrap_or_default()
                ),
            );
        }
        if let Some(limits) = &monitored.group_limits {
            let cpus = limits.cpus.map(|cpus| format!("{cpus} CPUs"));
            let memory = limits.memory_bytes.map(|bytes| format!("{} of memory", text::rounded_size(bytes as f64)));
            fact("control group", [cpus, memory].into_iter().flatten().collect::<Vec<_>>().join(", "));
        }
    }
}

fn devices(facts: &mut Vec<(String, String)>, result: &RunResult) {
    let Some(monitored) = &result.monitored else {
        facts.extend(result.devices.iter().map(|device| ("device".to_owned(), device.name.clone())));
        return;
    };
    for device in &monitored.devices {
        let kind = device.rotational.map(|moving| if moving { "rotating" } else { "not rotating" }.to_owned());
        let cache = device.write_back.map(|back| if back { "write-back cache" } else { "write-through" }.to_owned());
        let parts = [
            device.model.clone(),
            device.size_bytes.map(|bytes| text::rounded_size(bytes as f64)),
            kind,
            device.scheduler.as_ref().map(|scheduler| format!("scheduler {scheduler}")),
            device.queue_requests.map(|requests| format!("{requests} requests per queue")),
            device.hardware_queues.map(|queues| text::counted(queues, "hardware queue")),
            device.logical_block_bytes.map(|bytes| format!("blocks of {}", size(bytes))),
            cache,
        ];
        let said: Vec<String> = parts.into_iter().flatten().collect();
        facts.push((format!("device {}", device.name), said.join(", ")));
    }
}
