//! Effects of options outside the I/O of their job: files that they name, commands, the machine. For front ends that
//! let others choose options but must touch nothing except the target, such as the survey's sweeps.

use crate::table;

const FILES: &str = "names files other than the job's";
const COMMAND: &str = "runs a command";
const MACHINE: &str = "changes the machine";
const HOSTS: &str = "reaches other hosts";
const IDENTITY: &str = "changes the user that does the I/O";
const GUARD: &str = "lifts the guard of devices";
const REMOVES: &str = "removes files";

/// Options, including those of engines, with an outside effect whatever their value is, and the kind of effect.
const BEYOND: &[(&str, &str)] = &[
    ("allow_mounted_write", GUARD),
    ("arguments", COMMAND),
    ("cgroup", MACHINE),
    ("cgroup_nodelete", MACHINE),
    ("cgroup_weight", MACHINE),
    ("directory", FILES),
    ("donorname", FILES),
    ("exec_postrun", COMMAND),
    ("exec_prerun", COMMAND),
    ("filename", FILES),
    ("filename_format", FILES),
    ("gid", IDENTITY),
    ("hostname", HOSTS),
    ("interface", HOSTS),
    ("ioscheduler", MACHINE),
    ("merge_blktrace_file", FILES),
    ("opendir", FILES),
    ("program", COMMAND),
    ("read_iolog", FILES),
    ("replay_redirect", FILES),
    ("sim_journal", FILES),
    ("uid", IDENTITY),
    ("unlink", REMOVES),
    ("unlink_each_loop", REMOVES),
    ("write_bw_log", FILES),
    ("write_consent", GUARD),
    ("write_hist_log", FILES),
    ("write_iolog", FILES),
    ("write_iops_log", FILES),
    ("write_lat_log", FILES),
];

/// Returns the main name of a job option; any other name is returned unchanged.
pub fn main_name(option: &str) -> &str {
    table::find(option).map_or(option, |row| row.spec.name)
}

/// Returns the outside effect of an option, given by any of its names, with this value; `None` if it has none. Reading
/// a file for a buffer pattern does not count.
pub fn beyond(option: &str, value: &str) -> Option<&'static str> {
    let name = main_name(option);
    let listed = BEYOND.iter().find(|(listed, _)| *listed == name).map(|(_, how)| *how);
    // The `mmap` kinds of `mem` may name a file (`mem=mmap:FILE`), onto which the buffers are mapped.
    listed.or_else(|| (name == "mem" && value.contains(':')).then_some(FILES))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::option::{Kind, Support};

    /// Options with text values and no outside effect.
    const HARMLESS: &[&str] = &[
        "bssplit",
        "buffer_pattern",
        "comm",
        "cpus_allowed",
        "description",
        "flow_watermark",
        "ignore_error",
        "ioengine",
        "log_compression_cpus",
        "max_latency",
        "name",
        "numa_cpu_nodes",
        "numa_mem_policy",
        "percentage_sequential",
        "random_distribution",
        "replay_skip",
        "rwmixcycle",
        "steadystate",
        "sync_file_range",
        "verify_async_cpus",
        "verify_pattern",
        "verifysort",
        "verifysort_nr",
        "wait_for",
    ];

    #[test]
    fn every_option_that_takes_text_reaches_something_or_is_known_to_reach_nothing() {
        for row in table::rows().filter(|row| matches!(row.spec.kind, Kind::Text)) {
            let name = row.spec.name;
            if matches!(row.spec.support, Support::Refused(_)) {
                continue;
            }
            assert_ne!(
                beyond(name, "x").is_some(),
                HARMLESS.contains(&name),
                "{name}: put it into one of the two lists"
            );
            for alias in row.spec.aliases {
                assert_eq!(beyond(alias, "x"), beyond(name, "x"), "{alias}");
            }
        }
    }

    #[test]
    fn memory_reaches_a_file_where_it_names_one() {
        assert_eq!(beyond("iomem", "mmapshared:userfile"), Some(FILES));
        assert_eq!(beyond("mem", "mmap:userfile"), Some(FILES));
        assert_eq!(beyond("iomem", "mmap"), None);
    }

    #[test]
    fn what_no_stranger_may_change_reaches_beyond_the_job() {
        let refused = table::rows().map(|row| row.spec.name).filter(|name| {
            matches!(crate::untrusted::objection(name, "1", &[]), Some(crate::untrusted::Objection::Forbidden(_)))
        });
        for name in refused {
            assert!(beyond(name, "1").is_some(), "{name}");
        }
    }
}
