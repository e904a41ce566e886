//! Options about where and with which rights a worker runs.

use super::row::{NOT_YET, Row, Set, kind, put};
use crate::error::Complaint;
use crate::option::Kind;
use crate::values::cpu_list;

const GROUP: &str = "CPU, priority, rights";

const fn works(name: &'static str, kind: Kind, set: Set, help: &'static str) -> Row {
    Row::works(GROUP, name, kind, set, help)
}

const fn refused(name: &'static str, kind: Kind, reason: &'static str, help: &'static str) -> Row {
    Row::refused(GROUP, name, kind, reason, help)
}

pub(super) const ROWS: &[Row] = &[
    refused("comm", Kind::Text, NOT_YET, "Name of the worker in the process list"),
    works("nice", Kind::Integer { least: -20, most: 19 }, put!(Signed, place.nice), "Change of the nice value")
        .default("0"),
    works(
        "prio",
        Kind::Integer { least: 0, most: 7 },
        Set::Count(|draft, level| {
            draft.place.io_level = u8::try_from(level).ok();
            Ok(())
        }),
        "I/O priority within its class, 0 is highest",
    ),
    works(
        "prioclass",
        Kind::Integer { least: 0, most: 3 },
        Set::Count(|draft, class| {
            draft.place.io_class = u8::try_from(class).ok();
            Ok(())
        }),
        "I/O priority class: 1 realtime, 2 best effort, 3 idle",
    ),
    refused("priohint", kind::COUNT, NOT_YET, "Hint that goes with the I/O priority"),
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
            draft.place.cpus = list;
            Ok(())
        }),
        "CPUs the worker may use, as bits",
    ),
    works(
        "cpus_allowed",
        Kind::Text,
        Set::Text(|draft, text, context| {
            draft.place.cpus = cpu_list(text, context.cpus)?;
            Ok(())
        }),
        "CPUs the worker may use: 0,2,4-7",
    ),
    works(
        "cpus_allowed_policy",
        Kind::Word(&[("shared", "all clones use all of them"), ("split", "each clone gets one")]),
        Set::Word(|draft, word, _| {
            draft.place.split_cpus = word == "split";
            Ok(())
        }),
        "How clones share the allowed CPUs",
    ),
    refused("numa_cpu_nodes", Kind::Text, NOT_YET, "Run on these NUMA nodes"),
    refused("numa_mem_policy", Kind::Text, NOT_YET, "Take memory from these NUMA nodes"),
    refused("cgroup", Kind::Text, NOT_YET, "Put the worker into this cgroup"),
    refused("cgroup_weight", kind::COUNT, NOT_YET, "Weight of that cgroup"),
    refused("cgroup_nodelete", Kind::Bool, NOT_YET, "Keep that cgroup afterwards").default("0"),
    refused("uid", kind::COUNT, NOT_YET, "Run as this user"),
    refused("gid", kind::COUNT, NOT_YET, "Run as this group"),
];
