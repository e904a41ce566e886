//! `--untrusted`: options that job files of unknown authors may not use. Survey files and iozone's files are checked
//! against the same lists.
//!
//! Words on the command line are the user's and are not restricted. Only the text is checked: where a symbolic link
//! inside the directory leads is left to the kernel's permissions.

use crate::error::Problem;
use crate::options::table;
use crate::sections::{Assignment, Section};
use InUntrustedFiles::{Checked, Refused};
use plan::EngineSpec;
use std::fmt;

/// Trust in the author of job files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The author is the user, or as trusted as the user.
    #[default]
    Full,
    /// The author is unknown.
    None,
}

/// Adds a problem for everything in these sections that an untrusted file may not use.
pub(crate) fn check(sections: &[Section], engines: &[EngineSpec], allowed: &[String], problems: &mut Vec<Problem>) {
    for section in sections {
        if names_a_path_outside(&section.title) {
            let what =
                format!("--untrusted: the files of a job called `{}` are outside of this directory", section.title);
            problems.push(Problem::at(section.place.clone(), what, Some("give it another name".to_owned())));
        }
        let problems_here =
            section.assignments.iter().filter_map(|given| problem(given, &section.title, engines, allowed));
        problems.extend(problems_here);
    }
}

fn problem(given: &Assignment, job: &str, engines: &[EngineSpec], allowed: &[String]) -> Option<Problem> {
    let name = main_name(&given.name);
    let value = given.value.as_deref().unwrap_or("");
    let objection = objection(name, &without_allowed(value, allowed), engines)?;
    let what = format!("--untrusted: {name}={value} {objection}");
    let (place, help) = match objection {
        Objection::Forbidden(_) => (&given.name_place, "leave it out, or give it on the command line if you want it"),
        Objection::Outside => (&given.value_place, "name files in this directory or below it"),
    };
    Some(Problem::at(place.clone(), what, Some(help.to_owned())).of_job(Some(job)))
}

/// The value without its parts that are allowed paths, or below one of them without a step up.
fn without_allowed(value: &str, allowed: &[String]) -> String {
    if allowed.is_empty() {
        return value.to_owned();
    }
    let is_allowed = |part: &str| {
        let is_below = |path: &String| {
            part.strip_prefix(path.trim_end_matches('/')).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        allowed.iter().any(is_below) && !part.split('/').any(|step| step == "..")
    };
    let parts = value.split(SEPARATORS).map(str::trim).filter(|part| !is_allowed(part));
    parts.collect::<Vec<_>>().join(":")
}

/// True if an untrusted author may name this file: it is in the directory, or one of the allowed paths or below one of
/// them.
pub fn may_name(path: &str, allowed: &[String]) -> bool {
    !leads_outside(&without_allowed(path, allowed))
}

/// Characters between the parts of a value.
const SEPARATORS: [char; 7] = [':', ',', '=', '"', '\'', ' ', '\\'];

/// Reason why an untrusted file may not set an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objection {
    /// The option is not allowed at all; the text is the reason.
    Forbidden(&'static str),
    /// The value names a file outside the working directory.
    Outside,
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Objection::Forbidden(why) => why,
            Objection::Outside => "leads out of this directory",
        })
    }
}

/// Returns the objection to an untrusted file that sets an option, by any of its names, to this value; `None` if it is
/// allowed.
pub fn objection(option: &str, value: &str, engines: &[EngineSpec]) -> Option<Objection> {
    let name = main_name(option);
    let refused = refused_in_untrusted_files(name);
    let asked = if name == "ioengine" { value.split(':').next() } else { None };
    let engine = engines.iter().find(|engine| asked == Some(engine.name));
    match refused.or(engine.and_then(|engine| engine.capabilities.untrusted)) {
        Some(why) => Some(Objection::Forbidden(why)),
        None if name == "description" => None,
        None => (leads_outside(value) || name == "name" && names_a_path_outside(value)).then_some(Objection::Outside),
    }
}

/// True if a part of the value (options separate parts with `:`, `,` and `=`) is an absolute path or contains `..`.
pub fn leads_outside(value: &str) -> bool {
    let parts = value.split(SEPARATORS);
    parts.map(str::trim).any(|part| part.starts_with('/') || part.split('/').any(|step| step == ".."))
}

/// True if the files of a job with this name may be elsewhere: the name is an absolute path, or a step of it is `.` or
/// `..`, to which a filename_format may add another dot.
fn names_a_path_outside(name: &str) -> bool {
    name.starts_with('/') || name.split('/').any(|step| step == "." || step == "..")
}

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

/// Options, including those of engines, with an outside effect whatever their value is.
const EFFECTS: &[(&str, &str, InUntrustedFiles)] = &[
    ("allow_mounted_write", GUARD, Refused),
    ("arguments", COMMAND, Checked),
    ("cgroup", MACHINE, Refused),
    ("cgroup_nodelete", MACHINE, Checked),
    ("cgroup_weight", MACHINE, Refused),
    ("directory", FILES, Checked),
    ("donorname", FILES, Checked),
    ("dp_scheme", FILES, Checked),
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
    use crate::error::Place;
    use crate::options::table;
    use plan::option::Kind;
    use plan::{Capabilities, Submission, Work};

    const fn engine(name: &'static str, untrusted: Option<&'static str>) -> EngineSpec {
        let capabilities = Capabilities { untrusted, ..Capabilities::new(Submission::Synchronous, Work::Data) };
        EngineSpec { name, help: "", capabilities, options: &[] }
    }

    const ENGINES: &[EngineSpec] = &[engine("reads", None), engine("starts", Some("runs a command"))];

    fn given(name: &str, value: &str) -> Assignment {
        let place = Place { source: 0, span: 0..0 };
        Assignment {
            name: name.to_owned(),
            value: Some(value.to_owned()),
            name_place: place.clone(),
            value_place: place,
        }
    }

    #[test]
    fn no_option_that_takes_text_takes_a_path_that_leads_outside() {
        let takes_text =
            |row: &&table::OptionRow| matches!(row.spec.kind, Kind::Text) && row.spec.name != "description";
        for row in table::rows().filter(takes_text) {
            for name in std::iter::once(&row.spec.name).chain(row.spec.aliases) {
                for value in ["/etc/passwd", "a:/dev/sda", "../x", "sub/../../x"] {
                    assert!(problem(&given(name, value), "a", ENGINES, &[]).is_some(), "{name}={value}");
                }
            }
        }
    }

    #[test]
    fn what_runs_a_command_or_changes_the_machine_is_refused() {
        for name in ["exec_prerun", "read_iolog", "ioscheduler", "cgroup", "uid", "write_consent", "sim_journal"] {
            assert!(problem(&given(name, "1"), "a", ENGINES, &[]).is_some(), "{name}");
        }
        assert!(problem(&given("ioengine", "starts"), "a", ENGINES, &[]).is_some());
        assert!(problem(&given("ioengine", "reads"), "a", ENGINES, &[]).is_none());
    }

    #[test]
    fn only_an_allowed_path_and_what_is_below_it_may_be_named() {
        let allowed = ["/mnt/x".to_owned(), "/dev/sdb".to_owned(), "/data/".to_owned()];
        for (value, expected) in [
            ("/mnt/x", true),
            ("/mnt/x/a:/dev/sdb", true),
            ("/data/a", true),
            ("/mnt/xy", false),
            ("/mnt", false),
            ("/dev/sdb1", false),
            ("/mnt/x/../../etc/shadow", false),
            ("/mnt/x/a:/etc/shadow", false),
            ("/mnt/x\\:/etc/shadow", false),
            ("//mnt/x", false),
        ] {
            let found = problem(&given("filename", value), "a", ENGINES, &allowed);
            assert_eq!(found.is_none(), expected, "{value}");
        }
        assert!(problem(&given("exec_prerun", "/mnt/x"), "a", ENGINES, &allowed).is_some());
    }

    #[test]
    fn the_words_of_an_untrusted_author_are_held_to_the_same() {
        let files = &crate::RealFiles;
        let around = crate::Surroundings { environment: &|_| None, files, page_size: 4096, memory_mib: 1024, cpus: 2 };
        let parser = crate::Parser::new(ENGINES).untrusting().allowing(vec!["/data".to_owned()]);
        let read = |words: &[&str]| {
            let words: Vec<String> =
                ["--name=a", "--size=4k", "--ioengine=reads"].iter().chain(words).map(ToString::to_string).collect();
            parser.command_line(&words, &around).map(|_| ()).map_err(|error| error.to_string())
        };
        assert_eq!((read(&["--rw=write"]), read(&["--filename=/data/f", "--aux-path=/data"])), (Ok(()), Ok(())));
        for (word, complaint) in [
            ("--exec_prerun=ls", "runs a command"),
            ("--filename=/etc/f", "leads out of this directory"),
            ("--name=/etc/f", "outside of this directory"),
            ("--aux-path=/etc", "leads out of this directory"),
            ("--aux-path=..", "leads out of this directory"),
        ] {
            let error = read(&[word, "--size=4k"]).unwrap_err();
            assert!(error.contains("--untrusted: ") && error.contains(complaint), "{word}: {error}");
        }
        // Words of the user are not restricted.
        let own = crate::Parser::new(ENGINES);
        let words = ["--name=a", "--size=4k", "--ioengine=reads", "--filename=/etc/f"].map(str::to_owned);
        assert!(own.command_line(&words, &around).is_ok());
    }

    #[test]
    fn a_value_leads_outside_by_an_absolute_path_or_by_going_up() {
        for (value, expected) in [
            ("a", false),
            ("a/b:c", false),
            ("4k/60:8k/40", false),
            ("zoned:60/10:40/90", false),
            ("..a", false),
            ("/dev/sda", true),
            ("a:/dev/sda", true),
            ("../a", true),
            ("a/../../b", true),
            ("mmap:/tmp/x", true),
            ("\"/etc/shadow\"", true),
            ("a\\:/dev/sda", true),
        ] {
            assert_eq!(leads_outside(value), expected, "{value}");
        }
    }
}

#[cfg(test)]
mod outside_effects_tests {
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
        "plids",
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
