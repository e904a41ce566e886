//! Options about CPUs, memory nodes, priority and identity of a worker.

use super::row::{Context, rows};
use crate::error::Complaint;
use crate::options::values::{cpu_list, integer};
use plan::MemoryPolicy;
use plan::option::Kind;

/// Number of NUMA nodes: one per bit of a 64-bit mask.
const NODES: u32 = 64;

fn nodes(text: &str) -> Result<Vec<u32>, Complaint> {
    cpu_list(text, NODES).map_err(|_| Complaint::new("is not a list of NUMA nodes", "write it like 0,2-3"))
}

fn memory_policy(text: &str) -> Result<MemoryPolicy, Complaint> {
    let (mode, list) = text.split_once(':').map_or((text, None), |(mode, list)| (mode, Some(list)));
    let wanted = |list: Option<&str>| nodes(list.unwrap_or_default());
    match mode {
        "default" => Ok(MemoryPolicy::Default),
        "local" => Ok(MemoryPolicy::Local),
        "prefer" => match wanted(list)?.as_slice() {
            &[node] => Ok(MemoryPolicy::Prefer(node)),
            _ => Err(Complaint::new("prefers more than one node", "name one, like prefer:0")),
        },
        "bind" => wanted(list).map(MemoryPolicy::Bind),
        "interleave" => wanted(list).map(MemoryPolicy::Interleave),
        _ => {
            let help = "it takes default, local, prefer:N, bind:N,.. and interleave:N,..";
            Err(Complaint::new("is not a memory policy", help))
        }
    }
}

const DISTRIBUTION: Kind = Kind::Word(&[("shared", "all clones share all CPUs"), ("split", "each clone gets one CPU")]);

fn cpu_mask(text: &str, context: &Context<'_>) -> Result<Vec<u32>, Complaint> {
    let mask = u32::try_from(integer(text, context.unit_base)?).ok().filter(|&mask| mask > 0);
    let mask = mask.ok_or_else(|| Complaint::new("is not a mask of 32 CPUs", "write it like 3 for CPUs 0 and 1"))?;
    let list: Vec<u32> = (0..32).filter(|cpu| mask & (1 << cpu) != 0).collect();
    match list.iter().find(|&&cpu| cpu >= context.cpus) {
        None => Ok(list),
        Some(cpu) => {
            let last = context.cpus.saturating_sub(1);
            Err(Complaint::plain(format!("names CPU {cpu}, but this machine has 0 to {last}")))
        }
    }
}

fn control_group(text: &str) -> Result<String, Complaint> {
    if text.split('/').any(|part| part == "..") {
        return Err(Complaint::new("leaves the hierarchy", "name a group below its root, like bench/slow"));
    }
    Ok(text.trim_start_matches('/').to_owned())
}

rows! {
    "comm": TEXT => Text(job.place.name); "Process name of the worker";
    "nice": between(-20, 19), "0" => Signed(job.place.nice); "Increment of the nice value";
    "prio": between(0, 7) => Small(place.io_level); "I/O priority level within its class; 0 is the highest";
    "prioclass": between(0, 3) => Small(place.io_class); "I/O priority class: 1 realtime, 2 best effort, 3 idle";
    "priohint": between(0, 1023)
        => Count(job.place.io_hint, |hint| u16::try_from(hint).unwrap_or(0));
        "I/O priority hint";
    "cpumask": COUNT => Text(job.place.cpus, |text, context| cpu_mask(text, context)?);
        "CPUs that the job may use, as a bit mask";
    "cpus_allowed": TEXT => Text(job.place.cpus, |text, context| cpu_list(text, context.cpus)?);
        "CPUs that the job may use: 0,2,4-7";
    "cpus_allowed_policy": DISTRIBUTION => Word(job.place.split_cpus, |word| word == "split");
        "Distribution of cpus_allowed over clones";
    "numa_cpu_nodes": TEXT => Text(job.place.nodes, nodes); "Run on the CPUs of these NUMA nodes: 0,2-3";
    "numa_mem_policy": TEXT => Text(job.place.memory, |text| Some(memory_policy(text)?));
        "NUMA memory policy: default, local, prefer:N, bind:LIST or interleave:LIST";
    "cgroup": TEXT => Text(place.cgroup.name, control_group);
        "Add the job to this control group, which is created if it does not exist";
    "cgroup_weight": between(100, 1000) => Count(place.cgroup.weight); "I/O weight of the control group";
    "cgroup_nodelete": BOOL, "0" => Switch(place.cgroup.keep); "Do not delete the control group after the run";
    "uid": COUNT => Count(job.place.user); "Run as this user ID";
    "gid": COUNT => Count(job.place.group); "Run as this group ID";
}
