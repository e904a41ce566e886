//! What the tests stand on: a small catalogue of engines, files in memory, a machine of four CPUs.

use fio::{Action, Files, Invocation, JobError, OutputFormat, Parser, Surroundings};
use plan::JobPlan;
use plan::option::{Kind, OptionSpec, Support};
use plan::{Capabilities, EngineSpec, Plan, Submission, Work};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

const fn engine(name: &'static str, submission: Submission, options: &'static [OptionSpec]) -> EngineSpec {
    let capabilities = Capabilities { trim: true, ..Capabilities::new(submission, Work::Data) };
    EngineSpec { name, help: "an engine", capabilities, options }
}

const fn own(name: &'static str, kind: Kind) -> OptionSpec {
    let support = Support::Works;
    OptionSpec { name, aliases: &[], kind, default: None, help: "its own", support, effect: None }
}

const LIBAIO: &[OptionSpec] = &[
    own("userspace_reap", Kind::Flag),
    own("nowait", Kind::Bool),
    OptionSpec { support: Support::Refused("its kernel has none"), ..own("cmdprio", Kind::Bool) },
];
const URING: &[OptionSpec] = &[own("fixedbufs", Kind::Flag), own("force_async", Kind::Integer { least: 0, most: 9 })];

/// The same engine with atomic writes.
const fn atomic(engine: EngineSpec) -> EngineSpec {
    EngineSpec { capabilities: Capabilities { atomic_writes: true, ..engine.capabilities }, ..engine }
}

/// The engines of the tests.
pub(crate) const ENGINES: &[EngineSpec] = &[
    EngineSpec {
        capabilities: Capabilities { trim: true, ..Capabilities::new(Submission::ByDepth, Work::Null) },
        ..engine("null", Submission::ByDepth, &[])
    },
    engine("sync", Submission::Synchronous, &[]),
    engine("psync", Submission::Synchronous, &[]),
    EngineSpec {
        capabilities: Capabilities::new(Submission::Synchronous, Work::Data),
        ..engine("mmap", Submission::Synchronous, &[])
    },
    atomic(engine("libaio", Submission::Asynchronous, LIBAIO)),
    atomic(engine("io_uring", Submission::Asynchronous, URING)),
];

/// Files in memory.
#[derive(Default)]
pub(crate) struct Memory {
    texts: BTreeMap<PathBuf, String>,
    special: Vec<PathBuf>,
}

impl Files for Memory {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let missing = || io::Error::new(io::ErrorKind::NotFound, "no such file");
        self.texts.get(path).map(|text| text.clone().into_bytes()).ok_or_else(missing)
    }

    fn is_special(&self, path: &Path) -> bool {
        self.special.iter().any(|known| known == path)
    }
}

/// Reads a command line, with these job files around.
/// Formats with an alias, one that includes another, and the two that fio's options name.
const FORMATS: [OutputFormat; 4] = [
    OutputFormat { word: OutputFormat::TERSE, aliases: &["minimal", "csv"], includes: &[] },
    OutputFormat { word: "json", aliases: &[], includes: &[] },
    OutputFormat { word: "json+", aliases: &[], includes: &["json"] },
    OutputFormat { word: OutputFormat::NORMAL, aliases: &[], includes: &[] },
];

pub(crate) fn invoke(words: &[&str], files: &[(&str, &str)]) -> Result<Invocation, JobError> {
    let memory = Memory {
        texts: files.iter().map(|&(path, text)| (PathBuf::from(path), text.to_owned())).collect(),
        special: vec![PathBuf::from("/dev/sdz")],
    };
    let environment = |name: &str| match name {
        "SIZE" => Some("8".to_owned()),
        "OPTION" => Some("bs=2k".to_owned()),
        _ => None,
    };
    let surroundings =
        Surroundings { environment: &environment, files: &memory, page_size: 4096, memory_mib: 2000, cpus: 4 };
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    Parser::new(ENGINES).with_formats(FORMATS.to_vec()).command_line(&words, &surroundings)
}

/// The plan of an invocation that runs.
pub(crate) fn plan_of(invocation: Result<Invocation, JobError>) -> Plan {
    match invocation {
        Ok(Invocation { action: Action::Run(plan), .. }) => plan,
        Ok(other) => panic!("not a run: {:?}", other.action),
        Err(error) => panic!("{error}"),
    }
}

/// The plan of a command line.
pub(crate) fn plan(words: &[&str]) -> Plan {
    plan_of(invoke(words, &[]))
}

/// The plan of one job file.
pub(crate) fn file_plan(text: &str) -> Plan {
    plan_of(invoke(&["mix.fio"], &[("mix.fio", text)]))
}

/// The only job of `fio --name=x --ioengine=null --size=1m` with these further words.
pub(crate) fn job(words: &[&str]) -> JobPlan {
    let all = [&["--name=x", "--ioengine=null", "--size=1m"], words].concat();
    let mut plan = plan(&all);
    assert_eq!(plan.jobs.len(), 1);
    plan.jobs.remove(0)
}

/// The messages of a command line that must fail.
pub(crate) fn titles(words: &[&str], files: &[(&str, &str)]) -> Vec<String> {
    match invoke(words, files) {
        Ok(invocation) => panic!("accepted: {words:?} {files:?} as {:?}", invocation.action),
        Err(error) => error.titles(),
    }
}
