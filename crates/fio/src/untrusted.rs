//! `--untrusted`: options that job files of unknown authors may not use. Survey files and iozone's files are checked
//! against the same lists.
//!
//! Words on the command line are the user's and are not restricted. Only the text is checked: where a symbolic link
//! inside the directory leads is left to the kernel's permissions.

use crate::error::Problem;
use crate::outside_effects::{self, main_name};
use crate::sections::{Assignment, Section};
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
    let refused = outside_effects::refused_in_untrusted_files(name);
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
        let takes_text = |row: &&table::Row| matches!(row.spec.kind, Kind::Text) && row.spec.name != "description";
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
