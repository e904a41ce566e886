//! The tasks of the members: fio's words with the files and variables that they name, read here and sent.

use crate::failure::Failure;
use crate::members::carrier::Place;
use crate::members::program::Shift;
use crate::members::program::{BEAT, HERE, others_on};
use cluster::{LeaderCommand, Sharing, Task};
use fio::{Action, EtaRequest, Files, Invocation, OutputFormat, Parser, Surroundings, TriggerRequest};
use plan::{AfterRuntime, DebugPlan, Extent, JobPlan, LaidOutBy, Part, Plan, Work, ZonePlan};
use session::machine::{Machine, parser};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

/// The variable that `--shift` sets.
const SHIFTED: &str = "PLUMB_SHIFTED_RANK";

/// The task of each member. The words are read here for every one of them, so that a mistake is found before anything
/// is started.
pub(super) fn tasks(words: &[String], places: &[Place], shift: Shift, directory: &str) -> Result<Vec<Task>, Failure> {
    let hosts: Vec<String> = places.iter().map(Place::host).collect();
    let by = match shift {
        Shift::By(count) => count,
        Shift::ToOtherHosts => cluster::shift_to_other_hosts(&hosts).ok_or_else(|| {
            Failure::new(
                "cluster: --shift host: no shift moves every member to another host; more than half of them are on one",
            )
        })?,
    };
    let members = u32::try_from(places.len()).unwrap_or(u32::MAX);
    let read = RefCell::new(BTreeMap::new());
    let mut tasks = Vec::with_capacity(places.len());
    for (rank, host) in (0..members).zip(&hosts) {
        let reader = WordReader::new(&read, own_variables(&hosts, rank as usize, by));
        let prefix = format!("{host}.{rank}.");
        let words: Vec<String> = words.iter().map(|word| reader.expanded(word)).collect();
        let invocation = reader.invocation(&words)?;
        check(&invocation)?;
        let is_used = reader.variables.borrow().contains_key(SHIFTED);
        if shift != Shift::default() && !is_used {
            return Err(Failure::new(format!("cluster: --shift: the job does not name ${{{SHIFTED}}}, which it sets")));
        }
        if rank == 0 {
            invocation.warnings.iter().for_each(|warning| crate::output::print_error(&warning.to_string()));
        }
        tasks.push(Task {
            rank,
            members,
            others_on_host: others_on(&hosts, host),
            words,
            files: reader.files()?,
            variables: reader.variables.into_inner().into_iter().collect(),
            directory: directory.to_owned(),
            prefix,
            beat: BEAT,
            command: LeaderCommand::Cluster,
            ..Task::default()
        });
    }
    Ok(tasks)
}

/// The variables that each member has for itself.
pub(crate) fn own_variables(hosts: &[String], rank: usize, shift: u32) -> BTreeMap<String, String> {
    let host = hosts.get(rank).cloned().unwrap_or_default();
    let before = hosts.iter().take(rank).filter(|other| **other == host).count();
    let distinct: BTreeSet<&String> = hosts.iter().collect();
    let own = [
        ("PLUMB_RANK", rank.to_string()),
        ("PLUMB_MEMBERS", hosts.len().to_string()),
        ("PLUMB_HOST", host),
        ("PLUMB_HOSTS", distinct.len().to_string()),
        ("PLUMB_RANK_ON_HOST", before.to_string()),
        (SHIFTED, ((rank as u64 + u64::from(shift)) % (hosts.len().max(1) as u64)).to_string()),
    ];
    own.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Reads the words of a task as its member does.
pub(super) fn invocation(task: &Task) -> Result<Invocation, Failure> {
    invocation_by(&parser(), task)
}

/// Reads the words of a task of a leader that is not trusted: they are held to what `--untrusted` lets a job file do,
/// and to these paths.
pub(super) fn untrusted_invocation(task: &Task, allowed: &[String]) -> Result<Invocation, Failure> {
    if task.directory != HERE || task.prefix.contains('/') {
        return Err(Failure::new(
            "the leader is not trusted and names a directory; its words name files in the directory of this member",
        ));
    }
    let invocation = invocation_by(&parser().untrusting().allowing(allowed.to_vec()), task)?;
    check(&invocation)?;
    Ok(invocation)
}

fn invocation_by(parser: &Parser, task: &Task) -> Result<Invocation, Failure> {
    let variables: BTreeMap<&str, &str> =
        task.variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let environment = |name: &str| variables.get(name).map(|value| (*value).to_owned());
    parse(parser, &task.words, &environment, &SentFiles::of(task))
}

/// The plan of a member: names of files that the job does not give begin with the member's prefix.
pub(super) fn plan(invocation: &Invocation, task: &Task) -> Result<Plan, Failure> {
    let Action::Run(plan) = &invocation.action else { return Err(nothing_to_run()) };
    let mut plan = plan.clone();
    let part = (task.sharing == Sharing::Region).then_some(Part { number: task.rank, of: task.members });
    // Files of a name that the job gives may be those of other members, on a file system that they share.
    let laid_out_by = if task.members > 1 { LaidOutBy::Members } else { LaidOutBy::ThisRun };
    for job in &mut plan.jobs {
        job.files.part = part;
        job.files.laid_out_by = if names_its_files(job) { LaidOutBy::ThisRun } else { laid_out_by };
    }
    if task.wears_out {
        check_wear_out(&plan)?;
        plan.jobs.iter_mut().for_each(|job| job.limits.after_runtime = AfterRuntime::WaitForOthers);
    }
    for job in plan.jobs.iter_mut().filter(|job| names_its_files(job)) {
        let format = job.files.handling.name_format.as_deref().unwrap_or("$jobname.$jobnum.$filenum");
        job.files.handling.name_format = Some(format!("{}{format}", task.prefix));
    }
    Ok(plan)
}

/// Refuses what has no fastest worker, or no time after which it is known.
fn check_wear_out(plan: &Plan) -> Result<(), Failure> {
    let why = match plan.jobs.as_slice() {
        [job] if job.limits.runtime.is_some() => return Ok(()),
        [_] => "the job has no runtime, so all do all of it",
        _ => "it is for one job: of several it is not defined which is the fastest",
    };
    Err(Failure::new(format!("cluster: --wear-out: {why}")))
}

/// True if the names of a job's files are made from its own name.
pub(super) fn names_its_files(job: &JobPlan) -> bool {
    job.files.names.is_empty() && job.files.handling.below.is_empty()
}

pub(super) fn parse(
    parser: &Parser,
    words: &[String],
    environment: &dyn Fn(&str) -> Option<String>,
    files: &dyn Files,
) -> Result<Invocation, Failure> {
    let machine = Machine::here();
    let surroundings = Surroundings { environment, files, ..machine.surroundings() };
    parser.command_line(words, &surroundings).map_err(|error| Failure::new(error.to_string()))
}

pub(super) fn nothing_to_run() -> Failure {
    Failure::new("cluster: these words run no job; help on fio's options: plumb fio --help")
}

/// Refuses what has no meaning for a member.
fn check(invocation: &Invocation) -> Result<(), Failure> {
    let Action::Run(plan) = &invocation.action else { return Err(nothing_to_run()) };
    let side = &invocation.side;
    let outputs = "the result of all members is written by plumb cluster: -o FILE, --json, --keep DIR";
    if let Some(word) = side.session.first() {
        let option = word.split('=').next().unwrap_or_default();
        let why = match option {
            "--json" | "--store" | "--no-store" => outputs,
            "--stream" | "--quiet" => "give it to plumb cluster, before fio",
            "--strict" | "--accept" => "the checks of each member are in its result",
            "--host" | "--no-calibrate" => "members are of several machines",
            _ => "plumb cluster --stream has the intervals of all members",
        };
        return Err(Failure::new(format!("cluster: {option} is not for members: {why}")));
    }
    let given = [
        ("--output", invocation.output.file.is_some(), outputs),
        ("--output-format", invocation.output.formats != [OutputFormat::NORMAL], outputs),
        ("--result", side.result.is_some(), outputs),
        ("--bandwidth-log", side.bandwidth_log.is_some(), "members send their intervals with their results"),
        ("--status-interval", side.status_interval.is_some(), "the progress of all members is on the screen"),
        ("--eta", invocation.eta != EtaRequest::default(), "the progress of all members is on the screen"),
        ("--until-regime", side.until_regime.is_some(), "members end together, by runtime or size"),
        ("--layers", side.layers, "it records one machine"),
        ("--idle-prof", invocation.idle.is_some(), "it is a measurement of one machine"),
        ("--trigger", invocation.trigger != TriggerRequest::default(), "it is a command of one machine"),
        ("--debug", plan.jobs.iter().any(|job| job.record.debug != DebugPlan::default()), "it prints on one machine"),
    ];
    if let Some((option, _, why)) = given.iter().find(|(_, is_given, _)| *is_given) {
        return Err(Failure::new(format!("cluster: {option} is not for members: {why}")));
    }
    for job in &plan.jobs {
        if names_its_files(job) && job.name.contains('/') {
            let name = &job.name;
            return Err(Failure::new(format!(
                "cluster: job `{name}`: members make names of files from the job's name, which cannot have a /; give filename=, or another name"
            )));
        }
        let logs = &job.record.logs;
        if [&logs.bandwidth, &logs.latency, &logs.iops, &logs.histogram].iter().any(|name| name.is_some()) {
            let name = &job.name;
            return Err(Failure::new(format!(
                "cluster: job `{name}`: logs of members in one directory would overwrite each other; their intervals are in their results (--keep)"
            )));
        }
    }
    Ok(())
}

/// The files and variables that words name, as they are read for one member.
pub(crate) struct WordReader<'a> {
    /// Files that were read for any member: each is read once.
    read: &'a RefCell<BTreeMap<PathBuf, Vec<u8>>>,
    own: BTreeMap<String, String>,
    named: RefCell<BTreeSet<PathBuf>>,
    pub(crate) variables: RefCell<BTreeMap<String, String>>,
}

impl<'a> WordReader<'a> {
    pub(crate) fn new(read: &'a RefCell<BTreeMap<PathBuf, Vec<u8>>>, own: BTreeMap<String, String>) -> Self {
        WordReader { read, own, named: RefCell::default(), variables: RefCell::default() }
    }

    /// A word of the command line with the member's own variables in it. fio expands none there, and a shell not these.
    fn expanded(&self, word: &str) -> String {
        let mut word = word.to_owned();
        for (name, value) in &self.own {
            let reference = format!("${{{name}}}");
            if word.contains(&reference) {
                self.variables.borrow_mut().insert(name.clone(), value.clone());
                word = word.replace(&reference, value);
            }
        }
        word
    }

    pub(crate) fn invocation(&self, words: &[String]) -> Result<Invocation, Failure> {
        let environment = |name: &str| {
            let value = self.own.get(name).cloned().or_else(|| std::env::var(name).ok())?;
            self.variables.borrow_mut().insert(name.to_owned(), value.clone());
            Some(value)
        };
        parse(&parser(), words, &environment, self)
    }

    pub(crate) fn files(&self) -> Result<Vec<(String, String)>, Failure> {
        let (named, read) = (self.named.borrow(), self.read.borrow());
        let file = |path: &PathBuf| {
            let bytes = read.get(path).cloned().unwrap_or_default();
            let text = String::from_utf8(bytes)
                .map_err(|_| Failure::at(path, "is not text, and only text is sent to members"))?;
            Ok((path.to_string_lossy().into_owned(), text))
        };
        named.iter().map(file).collect()
    }
}

impl Files for WordReader<'_> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let known = self.read.borrow().get(path).cloned();
        let bytes = match known {
            Some(bytes) => bytes,
            None => fio::RealFiles.read(path)?,
        };
        self.read.borrow_mut().insert(path.to_owned(), bytes.clone());
        self.named.borrow_mut().insert(path.to_owned());
        Ok(bytes)
    }

    fn is_special(&self, path: &Path) -> bool {
        fio::RealFiles.is_special(path)
    }
}

pub(super) struct SentFiles<'a>(BTreeMap<PathBuf, &'a str>);

impl<'a> SentFiles<'a> {
    pub(super) fn of(task: &'a Task) -> Self {
        SentFiles(task.files.iter().map(|(name, text)| (PathBuf::from(name), text.as_str())).collect())
    }
}

impl Files for SentFiles<'_> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let found = self.0.get(path).map(|text| text.as_bytes().to_vec());
        found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the leader did not send it"))
    }

    fn is_special(&self, path: &Path) -> bool {
        fio::RealFiles.is_special(path)
    }
}

/// Lets each member work on its part, as asked. Refuses jobs for which that has no meaning.
pub(super) fn spread(sharing: Sharing, tasks: &mut [Task]) -> Result<(), Failure> {
    let mut first: Option<Vec<PathBuf>> = None;
    for task in tasks {
        task.sharing = sharing;
        let invocation = invocation(task)?;
        let Action::Run(plan) = &invocation.action else { return Err(nothing_to_run()) };
        for job in &plan.jobs {
            if let Some(why) = objection(job, sharing) {
                return Err(Failure::new(format!("cluster: --spread: job `{}` {why}", job.name)));
            }
        }
        let names: Vec<PathBuf> = plan.jobs.iter().flat_map(|job| job.files.names.clone()).collect();
        if *first.get_or_insert_with(|| names.clone()) != names {
            return Err(Failure::new(
                "cluster: --spread is of one file or device; members have files of different names in this job",
            ));
        }
    }
    Ok(())
}

/// The reason why members cannot share what a job works on.
fn objection(job: &JobPlan, sharing: Sharing) -> Option<&'static str> {
    let files = &job.files;
    let is_one = files.names.len() == 1 && files.directories.len() <= 1 && files.handling.below.is_empty();
    if !is_one {
        return Some("does not name one file or device for all members (filename=)");
    }
    if !matches!(job.work, Work::Data | Work::Null) {
        return Some("does not read or write the data of a file");
    }
    if sharing == Sharing::All {
        return None;
    }
    let refused = [
        (job.replay.is_some(), "replays a record, whose I/Os are where they are"),
        (
            matches!(job.load.zones, ZonePlan::Zoned(_)),
            "writes zones, which cannot be cut; give each member its offset with ${PLUMB_RANK}",
        ),
        (files.handling.fill, "fills a device, and has no end that could be divided"),
        (files.handling.append, "appends, and parts would begin where others write"),
        (files.offset_increment != Extent::Bytes(0), "gives its clones different offsets (offset_increment)"),
        (files.unlink, "removes the file at its end, while others may use it"),
    ];
    refused.iter().find(|(is_so, _)| *is_so).map(|(_, why)| *why)
}
