//! Effects of options outside the I/O of their job: files that they name, commands, the machine. For front ends that
//! let others choose options but must touch nothing except the target, such as the survey's sweeps.

use crate::options::table;

const FILES: &str = "names files other than the job's";
const COMMAND: &str = "runs a command";
const MACHINE: &str = "changes the machine";
const HOSTS: &str = "reaches other hosts";
const IDENTITY: &str = "changes who does the I/O";
const GUARD: &str = "lifts the guard of devices";
const REMOVES: &str = "removes files";

/// Handling of an option in an untrusted file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InUntrustedFiles {
    /// Refused, whatever its value is.
    Refused,
    /// Accepted, if its value names nothing outside of the working directory.
    Checked,
}

use InUntrustedFiles::{Checked, Refused};

/// Options, including those of engines, with an outside effect whatever their value is.
const EFFECTS: &[(&str, &str, InUntrustedFiles)] = &[
    ("allow_mounted_write", GUARD, Refused),
    ("arguments", COMMAND, Checked),
    ("cgroup", MACHINE, Refused),
    ("cgroup_nodelete", MACHINE, Checked),
    ("cgroup_weight", MACHINE, Refused),
    ("directory", FILES, Checked),
    ("donorname", FILES, Checked),
    ("exec_postrun", COMMAND, Refused),
    ("exec_prerun", COMMAND, Refused),
    ("filename", FILES, Checked),
    ("filename_format", FILES, Checked),
    ("gid", IDENTITY, Refused),
    ("hostname", HOSTS, Checked),
    ("interface", HOSTS, Checked),
    ("ioscheduler", MACHINE, Refused),
    ("merge_blktrace_file", FILES, Checked),
    ("opendir", FILES, Checked),
    ("program", COMMAND, Checked),
    ("rate_profile", FILES, Refused),
    ("read_iolog", FILES, Refused),
    ("replay_redirect", FILES, Checked),
    ("sim_journal", FILES, Refused),
    ("uid", IDENTITY, Refused),
    ("unlink", REMOVES, Checked),
    ("unlink_each_loop", REMOVES, Checked),
    ("write_bw_log", FILES, Checked),
    ("write_consent", GUARD, Refused),
    ("write_hist_log", FILES, Checked),
    ("write_iolog", FILES, Checked),
    ("write_iops_log", FILES, Checked),
    ("write_lat_log", FILES, Checked),
];

/// Returns the main name of a job option; any other name is returned unchanged.
pub fn main_name(option: &str) -> &str {
    table::find(option).map_or(option, |row| row.spec.name)
}

/// Returns the outside effect of an option, given by any of its names, with this value; `None` if it has none. Reading
/// a file for a buffer pattern does not count.
pub fn outside_effect(option: &str, value: &str) -> Option<&'static str> {
    let name = main_name(option);
    let listed = EFFECTS.iter().find(|(listed, ..)| *listed == name).map(|&(_, effect, _)| effect);
    // The `mmap` kinds of `mem` may name a file (`mem=mmap:FILE`), onto which the buffers are mapped.
    listed.or_else(|| (name == "mem" && value.contains(':')).then_some(FILES))
}

/// Returns the outside effect of an option, by its main name, that an untrusted file may not set.
pub(crate) fn refused_in_untrusted_files(name: &str) -> Option<&'static str> {
    EFFECTS.iter().find(|&&(listed, _, untrusted)| listed == name && untrusted == Refused).map(|&(_, effect, _)| effect)
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
    fn every_option_that_takes_text_has_a_known_reach() {
        for row in table::rows().filter(|row| matches!(row.spec.kind, Kind::Text)) {
            let name = row.spec.name;
            if matches!(row.spec.support, Support::Refused(_)) {
                continue;
            }
            assert_ne!(
                outside_effect(name, "x").is_some(),
                HARMLESS.contains(&name),
                "{name}: put it into one of the two lists"
            );
            for alias in row.spec.aliases {
                assert_eq!(outside_effect(alias, "x"), outside_effect(name, "x"), "{alias}");
            }
        }
    }

    #[test]
    fn memory_reaches_a_file_where_it_names_one() {
        assert_eq!(outside_effect("iomem", "mmapshared:userfile"), Some(FILES));
        assert_eq!(outside_effect("mem", "mmap:userfile"), Some(FILES));
        assert_eq!(outside_effect("iomem", "mmap"), None);
    }
}
