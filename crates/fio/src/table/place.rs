//! Options about CPUs, memory nodes, priority and identity of a worker.

use super::row::{Row, Set, kind, put, works};
use crate::error::Complaint;
use crate::values::cpu_list;
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

pub(super) const ROWS: &[Row] = &[
    works("comm", Kind::Text, put!(Text, job.place.name), "Name of the worker in the process list"),
    works("nice", Kind::Integer { least: -20, most: 19 }, put!(Signed, job.place.nice), "Change of the nice value")
        .default("0"),
    works(
        "prio",
        Kind::Integer { least: 0, most: 7 },
        put!(Small, place.io_level),
        "I/O priority within its class, 0 is highest",
    ),
    works(
        "prioclass",
        Kind::Integer { least: 0, most: 3 },
        put!(Small, place.io_class),
        "I/O priority class: 1 realtime, 2 best effort, 3 idle",
    ),
    works(
        "priohint",
        Kind::Integer { least: 0, most: 1023 },
        put!(Count, job.place.io_hint, |hint| u16::try_from(hint).unwrap_or(0)),
        "Hint that goes with the I/O priority",
    ),
    works(
        "cpumask",
        kind::COUNT,
        Set::Text(|draft, text, context| {
            let mask = crate::values::integer(text, draft.unit_base)?;
            let mask = u32::try_from(mask)
                .ok()
                .filter(|&mask| mask > 0)
                .ok_or_else(|| Complaint::new("is not a mask of 32 CPUs", "write it like 3 for CPUs 0 and 1"))?;
            let list: Vec<u32> = (0..32).filter(|cpu| mask & (1 << cpu) != 0).collect();
            if let Some(cpu) = list.iter().find(|&&cpu| cpu >= context.cpus) {
                return Err(Complaint::plain(format!(
                    "names CPU {cpu}, but this machine has 0 to {}",
                    context.cpus.saturating_sub(1)
                )));
            }
            draft.job.place.cpus = list;
            Ok(())
        }),
        "CPUs the worker may use, as bits",
    ),
    works(
        "cpus_allowed",
        Kind::Text,
        Set::Text(|draft, text, context| {
            draft.job.place.cpus = cpu_list(text, context.cpus)?;
            Ok(())
        }),
        "CPUs the worker may use: 0,2,4-7",
    ),
    works(
        "cpus_allowed_policy",
        Kind::Word(&[("shared", "all clones use all of them"), ("split", "each clone gets one")]),
        put!(Word, job.place.split_cpus, |word| word == "split"),
        "How clones share the allowed CPUs",
    ),
    works(
        "numa_cpu_nodes",
        Kind::Text,
        put!(Text, job.place.nodes, |text| nodes(text)?),
        "Run on the CPUs of these NUMA nodes: 0,2-3",
    ),
    works(
        "numa_mem_policy",
        Kind::Text,
        put!(Text, job.place.memory, |text| Some(memory_policy(text)?)),
        "Where memory comes from: default, local, prefer:N, bind:LIST or interleave:LIST",
    ),
    works(
        "cgroup",
        Kind::Text,
        Set::Text(|draft, text, _| {
            if text.split('/').any(|part| part == "..") {
                return Err(Complaint::new("leaves the hierarchy", "name a group below its root, like bench/slow"));
            }
            draft.place.cgroup.name = text.trim_start_matches('/').to_owned();
            Ok(())
        }),
        "Put the worker into this cgroup, which is made where it is not there",
    ),
    works(
        "cgroup_weight",
        Kind::Integer { least: 100, most: 1000 },
        put!(Count, place.cgroup.weight),
        "Weight of that cgroup for I/O",
    ),
    works("cgroup_nodelete", Kind::Bool, put!(Switch, place.cgroup.keep), "Keep that cgroup afterwards").default("0"),
    works("uid", kind::COUNT, put!(Count, job.place.user), "Run as this user, by number"),
    works("gid", kind::COUNT, put!(Count, job.place.group), "Run as this group, by number"),
];
