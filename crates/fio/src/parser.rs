//! The parser: from a command line and the job files that it names to an [`Invocation`].

use crate::command_line::invocation::{Action, IdleProfile, Invocation, OutputFormat};
use crate::command_line::network::OtherWords;
use crate::command_line::reader::{self, Words};
use crate::command_line::showcmd;
use crate::error::{JobError, Place, Problem, Sources, Warning, did_you_mean};
use crate::jobs::{Maker, Outcome};
use crate::options::applier::Depth;
use crate::options::table;
use crate::sections::{self, Section, SectionKind};
use crate::surroundings::Surroundings;
use crate::untrusted::{self, Trust};
use plan::{EngineSpec, Subject};

/// Parser for fio's command line and job files, with a given set of engines.
///
/// ```
/// use fio::{Parser, RealFiles, Surroundings};
/// use plan::{Capabilities, EngineSpec, Submission, Work};
///
/// const PSYNC: Capabilities = Capabilities::new(Submission::Synchronous, Work::Data);
/// const ENGINES: &[EngineSpec] = &[EngineSpec { name: "psync", help: "", capabilities: PSYNC, options: &[] }];
/// let files = &RealFiles;
/// let around = Surroundings { environment: &|_| None, files, page_size: 4096, memory_mib: 1024, cpus: 2 };
/// let (plan, _) = Parser::new(ENGINES).job_file("scan.fio", "[scan]\nbs=8k\nsize=1m\n", &around)?;
/// assert_eq!(plan.jobs[0].load.size_ranges().read, (8192, 8192));
/// let error = Parser::new(ENGINES).job_file("scan.fio", "[scan]\nbs=4q\n", &around);
/// assert!(error.is_err());
/// # Ok::<(), fio::JobError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Parser {
    pub(crate) engines: &'static [EngineSpec],
    formats: Vec<OutputFormat>,
    /// Trust in the author of command lines and of the texts of [`Parser::job_file`].
    trust: Trust,
    /// Paths outside of the directory that untrusted files may name.
    allowed: Vec<String>,
}

impl Parser {
    /// Creates a parser that knows these engines.
    pub const fn new(engines: &'static [EngineSpec]) -> Self {
        Parser { engines, formats: Vec::new(), trust: Trust::Full, allowed: Vec::new() }
    }

    /// Adds result formats, in the order in which they are printed.
    pub fn with_formats(self, formats: Vec<OutputFormat>) -> Self {
        Parser { formats, ..self }
    }

    /// Refuses in command lines and in the texts of [`Parser::job_file`] what `--untrusted` refuses in files.
    #[must_use]
    pub fn untrusting(self) -> Self {
        Parser { trust: Trust::None, ..self }
    }

    /// Lets untrusted files name these absolute paths and what is below them.
    #[must_use]
    pub fn allowing(self, allowed: Vec<String>) -> Self {
        Parser { allowed, ..self }
    }

    /// Parses a command line; `words` does not include the program's name.
    ///
    /// # Errors
    /// All mistakes in the words, each with its place and a suggestion.
    pub fn command_line(&self, words: &[String], surroundings: &Surroundings<'_>) -> Result<Invocation, JobError> {
        let mut sources = Sources::default();
        let mut problems = Vec::new();
        let mut words = reader::Reader::new(words, self.engines, &self.formats, &mut sources, &mut problems).read();
        if let Some(answer) = words.answer.take() {
            return match answer {
                Ok(action) => Ok(invocation(words, action, Vec::new())),
                Err(problem) => Err(JobError { problems: vec![*problem], sources, wants_usage: false }),
            };
        }
        if let Some(action) = network_action(&mut words) {
            if let (Ok(action), true) = (&action, problems.is_empty()) {
                return Ok(invocation(words, action.clone(), Vec::new()));
            }
            problems.extend(action.err());
            return Err(JobError { problems, sources, wants_usage: false });
        }
        if self.trust == Trust::None {
            words.trust = Trust::None;
            untrusted::check(&words.sections, self.engines, &self.allowed, &mut problems);
            problems.extend(states_elsewhere(&words, &self.allowed));
        }
        let mut sections = words.sections.clone();
        sections.extend(read_files(&words, self.engines, &self.allowed, surroundings, &mut sources, &mut problems));
        let depth = if words.parse_only || words.show_command { Depth::ParseOnly } else { Depth::Complete };
        let maker = Maker { engines: self.engines, surroundings, sources: &sources, read_only: words.read_only, depth };
        let outcome = maker.plan(&sections);
        conclude(words, &sections, outcome, problems, sources)
    }

    /// Parses the text of one job file; `name` is its name in messages.
    ///
    /// # Errors
    /// All mistakes in the text.
    pub fn job_file(
        &self,
        name: &str,
        text: &str,
        surroundings: &Surroundings<'_>,
    ) -> Result<(plan::Plan, Vec<Warning>), JobError> {
        let given = TextAsFile { name, text, files: surroundings.files };
        let around = Surroundings { files: &given, ..*surroundings };
        let restricted = (self.trust == Trust::None).then_some("--untrusted");
        let words: Vec<String> = restricted.into_iter().chain(["--", name]).map(str::to_owned).collect();
        let invocation = self.command_line(&words, &around)?;
        match invocation.action {
            Action::Run(plan) => Ok((plan, invocation.warnings)),
            _ => Ok((plan::Plan::default(), invocation.warnings)),
        }
    }
}

/// The objection to an untrusted command line that keeps verify states outside of the directory.
fn states_elsewhere(words: &Words, allowed: &[String]) -> Option<Problem> {
    let directory = words.states_in.as_ref()?.to_string_lossy();
    let what = || format!("--untrusted: --aux-path={directory} leads out of this directory");
    let place = Place { source: 0, span: 0..0 };
    (!untrusted::may_name(&directory, allowed)).then(|| Problem::at(place, what(), None))
}

/// The action of `--client` or `--server`; `None` without them.
fn network_action(words: &mut Words) -> Option<Result<Action, Problem>> {
    let mut sent: Vec<String> = words.only.iter().map(|(name, _)| format!("--section={name}")).collect();
    sent.extend(words.read_only.then(|| "--readonly".to_owned()));
    sent.extend(words.warnings_fatal.then(|| "--warnings-fatal".to_owned()));
    sent.extend((words.trust == Trust::None).then(|| "--untrusted".to_owned()));
    let instead = [
        ("parse-only", words.parse_only),
        ("showcmd", words.show_command),
        ("merge-blktrace-only", words.merge_only),
        ("idle-prof", words.idle.is_some()),
        ("aux-path", words.states_in.is_some()),
        ("debug", !words.announced.is_empty()),
    ];
    let others = OtherWords {
        files: words.files.iter().map(|(path, _)| path.clone()).collect(),
        job_option: words.sections.first().map(|section| &section.place),
        sent,
        instead: instead.iter().find(|(_, is_given)| *is_given).map(|(name, _)| *name),
    };
    std::mem::take(&mut words.network).action(others)
}

/// A text in place of a file, for [`Parser::job_file`].
struct TextAsFile<'a> {
    name: &'a str,
    text: &'a str,
    files: &'a dyn crate::surroundings::Files,
}

impl crate::surroundings::Files for TextAsFile<'_> {
    fn read(&self, path: &std::path::Path) -> std::io::Result<Vec<u8>> {
        if path == std::path::Path::new(self.name) {
            return Ok(self.text.as_bytes().to_vec());
        }
        self.files.read(path)
    }

    fn is_special(&self, path: &std::path::Path) -> bool {
        self.files.is_special(path)
    }
}

/// The sections of all job files, without those that `--section` excludes.
fn read_files(
    words: &Words,
    engines: &[EngineSpec],
    allowed: &[String],
    surroundings: &Surroundings<'_>,
    sources: &mut Sources,
    problems: &mut Vec<Problem>,
) -> Vec<Section> {
    let trust = words.trust;
    let mut all = Vec::new();
    let mut found = Vec::new();
    let mut standard_input: Option<&Place> = None;
    for (scope, (path, place)) in words.files.iter().enumerate() {
        if path == "-" && standard_input.replace(place).is_some() {
            problems.push(Problem::at(place.clone(), "standard input can be read only once", None));
            continue;
        }
        let mut reader =
            sections::Reader { surroundings, sources, problems, sections: Vec::new(), scope, trust, includes: 0 };
        reader.file(path, place);
        let mut of_file = reader.sections;
        of_file.iter_mut().for_each(sort);
        if trust == Trust::None {
            untrusted::check(&of_file, engines, allowed, problems);
        }
        let jobs = of_file.iter().filter(|section| section.kind == SectionKind::Job);
        found.extend(jobs.map(|section| section.title.clone()));
        let wanted = |section: &Section| {
            section.kind == SectionKind::Global || words.only.iter().any(|(name, _)| *name == section.title)
        };
        if !words.only.is_empty() {
            of_file.retain(wanted);
        }
        if let Some(first) = of_file.iter_mut().find(|section| section.kind == SectionKind::Job) {
            first.implied_stonewall = scope > 0;
        }
        all.extend(of_file);
    }
    if !found.is_empty() && !all.iter().any(|section| section.kind == SectionKind::Job) {
        problems.extend(words.only.iter().map(|(name, place)| no_such_section(name, place, &found)));
    }
    all
}

fn no_such_section(name: &str, place: &Place, found: &[String]) -> Problem {
    let known = format!("they have {}", found.join(", "));
    let help = match did_you_mean(name, found.iter().map(String::as_str)) {
        Some(guess) => format!("{guess} They have {}", found.join(", ")),
        None => known,
    };
    Problem::at(place.clone(), format!("section={name} is in none of the job files"), Some(help))
}

/// Sorts options as fio does: units and locks first, names of files towards the end, an engine's own options last.
pub(crate) fn sort(section: &mut Section) {
    section.assignments.sort_by_key(|given| table::find(&given.name).map_or(3, |row| row.order));
}

/// Combines everything into an invocation, or returns the errors.
fn conclude(
    mut words: Words,
    sections: &[Section],
    mut outcome: Outcome,
    mut problems: Vec<Problem>,
    sources: Sources,
) -> Result<Invocation, JobError> {
    problems.append(&mut outcome.problems);
    outcome.doubts.splice(0..0, std::mem::take(&mut words.doubts));
    if words.warnings_fatal {
        problems.append(&mut outcome.doubts);
    }
    if !problems.is_empty() {
        return Err(JobError { problems, sources, wants_usage: false });
    }
    let warnings = outcome.doubts.iter().map(|doubt| Warning::of(doubt, &sources)).collect();
    if words.show_command {
        let text = showcmd::show(sections);
        return Ok(invocation(words, Action::ShowCmd(text), warnings));
    }
    let parsed =
        if words.debug.has(Subject::Parse) { crate::command_line::debug::parsed(sections) } else { Vec::new() };
    if words.parse_only {
        return Ok(Invocation { parsed, ..invocation(words, Action::ParseOnly, warnings) });
    }
    if words.idle == Some(IdleProfile::Calibrate) {
        return Ok(invocation(words, Action::CalibrateIdle, warnings));
    }
    if outcome.plan.jobs.is_empty() {
        let help = Some("open a job with --name=... or name a job file".to_owned());
        let problems = vec![Problem::bare("No job(s) defined", help)];
        return Err(JobError { problems, sources, wants_usage: true });
    }
    if words.merge_only {
        if !outcome.plan.jobs.iter().any(|job| job.replay.as_ref().is_some_and(|replay| replay.merge.is_some())) {
            let help = Some("name the traces with read_iolog and the result with merge_blktrace_file".to_owned());
            let problems = vec![Problem::bare("merge-blktrace-only: no job merges traces", help)];
            return Err(JobError { problems, sources, wants_usage: false });
        }
        return Ok(invocation(words, Action::MergeTraces(outcome.plan), warnings));
    }
    for job in &mut outcome.plan.jobs {
        (job.record.debug, job.record.states_in) = (words.debug, words.states_in.clone());
    }
    Ok(Invocation { parsed, ..invocation(words, Action::Run(outcome.plan), warnings) })
}

fn invocation(words: Words, action: Action, warnings: Vec<Warning>) -> Invocation {
    let Words { output, eta, side, read_only, idle, trigger, announced, .. } = words;
    Invocation { action, output, eta, side, read_only, idle, trigger, announced, parsed: Vec::new(), warnings }
}
