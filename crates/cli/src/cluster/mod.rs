//! `plumb cluster`: the same job on many machines at once, and one result of all.
//!
//! Owns the command line and the exit status. A program of the table (`crate::programs`) makes the tasks of the
//! members, and `crate::members` carries them. Members join by `tcp`, `gathering` and `joining`. `keep` writes and
//! reads results, `shown` and `page` show them. The crate `cluster` decides.

mod gathering;
mod joining;
mod keep;
mod manifest;
mod page;
mod repeat;
mod shown;
mod tcp;

use crate::failure::{Failure, signal_status};
use crate::input;
use crate::members::carrier::{Arrivals, Carrier, Origin, Place, Route};
use crate::members::lead::Members;
use crate::members::lead::{self, View};
use crate::members::program::{HERE, Job, Program, Rights, Share, Shift, Tests, Work};
use crate::members::screen::Screen;
use crate::members::time;
use crate::members::{self, PROGRAM, SILENCE, START_WITHIN};
use crate::output::{Output, Verbosity};
use crate::programs::PROGRAMS;
use crate::safe_files::result_directory;
use crate::streams::{Form, OutputArgs};
use clap::{ArgMatches, Command, FromArgMatches, Subcommand};
use cluster::{Answer, Host, Leader, MemberResult, OnLoss, Outcome, Repetition, Rounds, Settings, Sharing, Task};
use gathering::OwnMember;
use measure::Nanos;
use repeat::{Repetitions, Run, Views};
use session::publish::MembersStream;
use shown::{Completeness, Per};
use std::path::{Path, PathBuf};
use tcp::{Part, TcpArgs};

/// Largest number of members on this machine.
const MOST_LOCAL: i64 = 1024;
/// Largest number of repetitions: all their results are in memory.
const MOST_REPETITIONS: i64 = 1000;

/// Run a job on many machines at once, and merge what they measured
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  plumb cluster --hosts node1,node2 fio --name=w --rw=write --bs=1m --size=4g --directory=/scratch
  plumb cluster --hosts 'node[1-8]:2' --page run.html fio job.fio   two members on each host
  plumb cluster --local 3 fio --name=r --rw=randread --size=1g      three members here, to try it
  mpirun -n 8 --bind-to none plumb cluster --mpi fio job.fio        every rank is a member
  plumb cluster --hosts-file hosts --keep results --json fio job.fio
  plumb cluster --hosts 'node[1-4]' --repeat 5 fio job.fio          five times, and their mean
  plumb cluster --hosts 'node[1-4]' iozone -i 0 -i 1 -s 1g          a member for each child
  plumb cluster --hosts 'node[1-4]' survey /scratch                 the database sweep by all
  plumb cluster --hosts 'node[1-4]' knee --most 64 /scratch         until growth ends
  plumb cluster --lead 4 --secret-file s fio job.fio                four members, which join it
  plumb cluster --join node1 --secret-file s                        one of them
  plumb cluster merge results/*.json                                one result of all members
  plumb cluster manifest --slurm --members 64 -- fio job.fio        a script for sbatch

Members are started by ssh, by the command in $RSH, or by mpirun and srun (--mpi), or they join;
plumb must be on all hosts in one version.
Job files are read here and sent. In them, and in fio's words, ${PLUMB_RANK} is the number of a
member, from 0; others are PLUMB_MEMBERS, PLUMB_HOST, PLUMB_HOSTS, PLUMB_RANK_ON_HOST,
PLUMB_SHIFTED_RANK. All members begin at an agreed moment, once all have laid out their files.
More: docs/cluster.md
Exit status: 0; 1 if a job failed, or a member is lost (not with --partial); 128 + signal"
)]
pub(crate) struct ClusterArgs {
    #[command(flatten)]
    lead: LeadArgs,
    #[command(subcommand)]
    command: Option<ClusterCommand>,
}

/// Options of a run.
#[derive(Clone, Debug, Default, PartialEq, clap::Args)]
struct LeadArgs {
    /// Start this number of members on this machine
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_LOCAL))]
    local: Option<u32>,
    /// Start members on these hosts: node1,node[2-8],user@host:4; HOST:N has N members
    #[arg(long, alias = "host", value_name = "LIST", conflicts_with = "local")]
    hosts: Option<String>,
    /// Start members on the hosts in this file, one host or list per line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["local", "hosts"])]
    hosts_file: Option<PathBuf>,
    /// All ranks that mpirun or srun has started are members; LIBRARY is the MPI to load [default: as the launcher]
    #[arg(long, value_name = "LIBRARY", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with_all = ["local", "hosts", "hosts_file", "program"])]
    mpi: Option<String>,
    #[command(flatten)]
    tcp: TcpArgs,
    /// Lead members through the relay that is at standard input
    #[arg(long, hide = true)]
    relayed: bool,
    /// Command that starts plumb on the other hosts [default: plumb]
    #[arg(long, value_name = "COMMAND", conflicts_with = "local")]
    program: Option<String>,
    /// Directory of the members, from which relative paths start [default: this one]
    #[arg(long, value_name = "DIR")]
    directory: Option<String>,
    /// How members share one file or device: each has its own region, or each uses all of it [default: all]
    #[arg(long, value_name = "region|all", value_parser = spread)]
    spread: Option<Sharing>,
    /// Set ${PLUMB_SHIFTED_RANK} to the number of the Nth member after this one, or of the next one on another host
    #[arg(long, value_name = "N|host", value_parser = shift)]
    shift: Option<Shift>,
    /// Run the job N times with the same members: highest, lowest, mean and standard deviation of the rates
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_REPETITIONS))]
    repeat: Option<u32>,
    /// After the runtime, go on until every worker has done as many I/Os as the fastest one of all members
    #[arg(long)]
    wear_out: bool,
    /// Give up a member that sends nothing for this time, at least 1s [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = silence)]
    silence: Option<Nanos>,
    /// Largest time between the first start and the last one; a longer time gets a remark [default: 10ms]
    #[arg(long, value_name = "TIME", value_parser = time)]
    start_within: Option<Nanos>,
    /// If a member is lost after the start, the others go on, and their rates are shown
    #[arg(long)]
    partial: bool,
    /// New directory for the result of each member
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Write lines of JSON while it measures, each member a run: to a file, to - or to the descriptor N
    #[arg(long, value_name = "FILE|-|fd:N")]
    stream: Option<String>,
    /// A table of all hosts or of all members in the text
    #[arg(long, value_name = "host|member", hide_possible_values = true)]
    per: Option<Per>,
    /// A page with the members over time: .html or .pdf
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Print the result as JSON on standard output, and nothing else there
    #[arg(long = "json", id = "run_json")]
    json: bool,
    /// Print only the result and errors
    #[arg(long = "quiet", short = 'q', id = "run_quiet")]
    quiet: bool,
    /// File for the output; - is standard output [default: standard output]
    #[arg(long = "output", short = 'o', id = "run_output", value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug)]
enum ClusterCommand {
    /// A program of the table, with its words.
    Program(&'static dyn Program, ArgMatches),
    Own(OwnCommand),
}

/// The commands that are no program of members.
#[derive(Debug, clap::Subcommand)]
enum OwnCommand {
    Merge(MergeArgs),
    Manifest(manifest::ManifestArgs),
    /// Be a member: started by the leader
    #[command(hide = true)]
    Member(MemberArgs),
}

/// The program of the table with this name.
fn program_named(name: &str) -> Option<&'static dyn Program> {
    PROGRAMS.iter().copied().find(|program| program.command().get_name() == name)
}

impl FromArgMatches for ClusterCommand {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let program = matches.subcommand().and_then(|(name, words)| Some((program_named(name)?, words)));
        match program {
            Some((program, words)) => Ok(ClusterCommand::Program(program, words.clone())),
            None => OwnCommand::from_arg_matches(matches).map(ClusterCommand::Own),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for ClusterCommand {
    fn augment_subcommands(command: Command) -> Command {
        OwnCommand::augment_subcommands(command.subcommands(PROGRAMS.iter().map(|program| program.command())))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        program_named(name).is_some() || OwnCommand::has_subcommand(name)
    }
}

/// Origin of a member, and the rights of its leader.
#[derive(Debug, clap::Args)]
struct MemberArgs {
    /// Address of the client of the server that starts it
    #[arg(long, value_name = "ADDRESS")]
    client: Option<String>,
    /// Process that carries or holds its connection: it ends with this one
    #[arg(long, value_name = "PID")]
    parent: Option<i32>,
    /// It has joined its leader
    #[arg(long, conflicts_with = "client")]
    joined: bool,
    /// The client or leader is untrusted
    #[arg(long)]
    untrusted: bool,
    /// Path that an untrusted client or leader may use
    #[arg(long, value_name = "PATH", requires = "untrusted")]
    allow: Vec<String>,
}

impl MemberArgs {
    fn rights(&self) -> Rights {
        let limits = self.untrusted.then(|| self.allow.clone());
        Rights { client: self.client.clone(), is_joined: self.joined, limits }
    }
}

/// Merge results of members: those of --keep, or of plumb fio --result on machines without a network
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  plumb cluster merge results/*.json
  plumb cluster merge --partial plumb-cluster-001/*.json     without the members that have no result
  plumb cluster merge --json node1.json node2.json > all.json")]
struct MergeArgs {
    /// Files with results of members
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Show rates although members of the run are missing
    #[arg(long)]
    partial: bool,
    /// Largest time between the first start and the last one; a longer time gets a remark [default: 10ms]
    #[arg(long, value_name = "TIME", value_parser = time)]
    start_within: Option<Nanos>,
    /// A table of all hosts or of all members in the text
    #[arg(long, value_name = "host|member", hide_possible_values = true)]
    per: Option<Per>,
    /// A page with the members over time: .html or .pdf
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    #[command(flatten)]
    written: OutputArgs,
}

fn silence(text: &str) -> Result<Nanos, String> {
    let found = time(text)?;
    if found < Nanos::SECOND {
        return Err(format!("`{text}` is too short: members send a sign of life twice a second; give at least 1s"));
    }
    Ok(found)
}

/// Reads the option's value.
fn spread(text: &str) -> Result<Sharing, String> {
    match text {
        "region" => Ok(Sharing::Region),
        "all" => Ok(Sharing::All),
        other => Err(format!("`{other}` is not a way to spread; give region or all")),
    }
}

fn shift(text: &str) -> Result<Shift, String> {
    match text {
        "host" => Ok(Shift::ToOtherHosts),
        number => number.parse().map(Shift::By).map_err(|_| format!("`{number}` is neither a number nor `host`")),
    }
}

pub(crate) fn run(args: &ClusterArgs) -> Result<u8, Failure> {
    let is_bare = args.lead == LeadArgs::default();
    match &args.command {
        None => args.lead.join(),
        Some(ClusterCommand::Program(program, words)) => match args.lead.tcp.part()? {
            Part::Joins => args.lead.join_as_one_of_all(),
            _ => args.lead.lead(*program, words),
        },
        Some(ClusterCommand::Own(_)) if !is_bare => Err(Failure::new(
            "cluster: the options before the command are those of a run; merge and manifest have theirs after it",
        )),
        Some(ClusterCommand::Own(OwnCommand::Merge(merge))) => merge.run(),
        Some(ClusterCommand::Own(OwnCommand::Manifest(manifest))) => manifest.run(),
        Some(ClusterCommand::Own(OwnCommand::Member(member))) => {
            members::member::serve(PROGRAMS, &member.rights(), member.parent)
        }
    }
}

impl LeadArgs {
    /// Leads members that do the work of a program.
    fn lead(&self, program: &dyn Program, words: &ArgMatches) -> Result<u8, Failure> {
        match program.work(words)? {
            Work::Job(job) => self.run(&*job),
            Work::Tests(tests) => match tests.run_alone() {
                Some(status) => status,
                None => self.check(program).and_then(|()| self.run_tests(&*tests)),
            },
        }
    }

    fn verbosity(&self) -> Verbosity {
        Verbosity::quiet_if(self.quiet)
    }

    /// Refuses options that have no meaning for a program.
    fn check(&self, program: &dyn Program) -> Result<(), Failure> {
        let given = [
            ("--shift", self.shift.is_some()),
            ("--spread", self.spread.is_some()),
            ("--repeat", self.repeat.is_some()),
            ("--wear-out", self.wear_out),
            ("--partial", self.partial),
            ("--keep", self.keep.is_some()),
            ("--stream", self.stream.is_some()),
            ("--per", self.per.is_some()),
            ("--page", self.page.is_some()),
            ("--json", self.json),
            ("--output", self.output.is_some()),
            ("--start-within", self.start_within.is_some()),
        ];
        let unused = program.unused();
        match unused.options.iter().find(|(option, _)| given.contains(&(*option, true))) {
            Some((option, why)) => Err(Failure::new(format!("cluster: {option} is not for {}: {why}", unused.by))),
            None => Ok(()),
        }
    }

    /// Reaches the members that the options name, for tests; nothing happens in processes of MPI that only carry
    /// messages.
    fn run_tests(&self, tests: &dyn Tests) -> Result<u8, Failure> {
        if let Some(library) = self.mpi.as_deref().filter(|_| !self.relayed) {
            return members::become_relay(library);
        }
        let Some(route) = self.reach()? else { return Ok(0) };
        tests.run(&mut self.members(route, OnLoss::Stop, Rounds::Several)?)
    }

    /// The members of a route, which are started with their first task.
    fn members(&self, route: Route, on_loss: OnLoss, rounds: Rounds) -> Result<Members, Failure> {
        let Route { places, carrier, arrivals, origin } = route;
        Ok(Members {
            settings: Settings { program: PROGRAM.to_owned(), silence: self.silence(), on_loss, rounds },
            places,
            origin,
            directory: self.directory()?,
            start_within: self.start_within.unwrap_or(START_WITHIN),
            start: Some((carrier, arrivals)),
            signals: lead::signals()?,
            connections: None,
            verbosity: self.verbosity(),
        })
    }

    /// How members share a job in this directory.
    fn share(&self, directory: String) -> Share {
        let shift = self.shift.unwrap_or_default();
        Share { shift, spread: self.spread, wears_out: self.wear_out, directory }
    }

    fn run(&self, job: &dyn Job) -> Result<u8, Failure> {
        if let Some(library) = self.mpi.as_deref().filter(|_| !self.relayed) {
            return members::become_relay(library);
        }
        self.check_before_members_wait(job)?;
        let Some(route) = self.reach()? else { return Ok(0) };
        let mut tasks = job.tasks(&route.places, &self.share(self.directory()?))?;
        let prints = MembersStream::prints(self.stream.as_deref());
        if prints && (self.json || self.output.as_deref().is_some_and(crate::streams::is_stdout)) {
            return Err(Failure::new(
                "--stream -: standard output is for the result already; name a file for one of them",
            ));
        }
        let mut stream = self.stream.as_deref().map(MembersStream::open).transpose()?;
        if let Some(stream) = &mut stream {
            tasks.iter_mut().for_each(|task| task.intervals = true);
            begin(stream, job, &tasks, &route.places)?;
        }
        let mut out = match prints && self.output.is_none() {
            true => Output::nowhere(),
            false => Output::asked(self.output.as_deref())?,
        };
        self.page.as_deref().map_or(Ok(()), crate::pages::check_to_mail)?;
        let mut kept = self.keep.as_deref().map(|_| self.result_directory()).transpose()?;
        let rounds = if self.repetitions() > 1 { Rounds::Several } else { Rounds::One };
        let names: Vec<String> = route.places.iter().map(Place::name).collect();
        let (mut runs, mut saved, mut signal) = (Vec::new(), Ok(()), None);
        let mut view = RunView { screen: Screen::new(&route.places, self.verbosity()), stream };
        let mut members = self.members(route, self.on_loss(), rounds)?;
        for number in 0..self.repetitions() {
            tasks.iter_mut().for_each(|task| task.round = number);
            if let Some(stream) = view.stream.as_mut().filter(|_| number > 0) {
                begin(stream, job, &tasks, &members.places)?;
            }
            let outcome = members.round(tasks.clone(), &mut view)?;
            // One that did not come to its end is the last one.
            let is_last = members.connections.is_none() || !outcome.is_whole() || outcome.signal.is_some();
            signal = signal.or(outcome.signal);
            let run = self.run_of(outcome, &names, &members.origin, runs.len());
            // Without --keep, too, the results of those that finished outlast a run that is incomplete.
            if kept.is_none() && run.is_lost_in_part() {
                kept = Some(self.result_directory()?);
                saved = runs.iter().try_for_each(|run: &Run| keep_of(kept.as_deref(), run));
            }
            saved = saved.and(keep_of(kept.as_deref(), &run));
            view.stream.iter_mut().for_each(|stream| stream.ended(&run.members));
            runs.push(run);
            if is_last {
                break;
            }
        }
        members.end(&mut view);
        self.show(&runs, &mut out, kept.as_deref())?;
        saved.and(view.stream.map_or(Ok(()), MembersStream::finish))?;
        Ok(signal.map_or_else(|| status(&runs), signal_status))
    }

    fn result_directory(&self) -> Result<PathBuf, Failure> {
        result_directory(self.keep.as_deref(), "plumb-cluster", "--keep")
    }

    fn on_loss(&self) -> OnLoss {
        if self.partial { OnLoss::GoOn } else { OnLoss::Stop }
    }

    fn repetitions(&self) -> u32 {
        self.repeat.unwrap_or(1)
    }

    /// The results of a run, after `before` others.
    fn run_of(&self, outcome: Outcome, names: &[String], origin: &Origin, before: usize) -> Run {
        let is_interrupted = outcome.signal.is_some();
        let mut members = outcome.into_results(names);
        members.iter_mut().for_each(|member| member.sharing = self.spread.unwrap_or_default());
        cluster::name_neighbours(&mut members);
        if self.repetitions() > 1 {
            let number = u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1);
            let place = Repetition { number, of: self.repetitions() };
            members.iter_mut().for_each(|member| member.repetition = Some(place));
        }
        let mut summary = cluster::summary(&members, origin.carrier, self.start_within.unwrap_or(START_WITHIN));
        summary.library.clone_from(&origin.library);
        let completeness = Completeness::of(&summary, self.on_loss());
        Run { members, summary, completeness, is_interrupted }
    }

    fn show(&self, runs: &[Run], out: &mut Output, kept: Option<&Path>) -> Result<(), Failure> {
        let form = Form::json_if(self.json);
        let repeated = Repetitions { runs, of: self.repetitions() };
        repeated.write(out, form, Views { page: self.page.as_deref(), kept, per: self.per })
    }

    /// The members, and the way to them; `None` in all processes of MPI but one.
    fn reach(&self) -> Result<Option<Route>, Failure> {
        let arrivals = Arrivals::new();
        if self.tcp.lead.is_some() {
            let own = match self.tcp.part()? {
                Part::LeadsHere => OwnMember::First(self.directory.as_deref()),
                _ => OwnMember::None,
            };
            if own == OwnMember::None && self.directory.is_some() {
                return Err(Failure::new(
                    "cluster: --directory is not for --lead: each member works where it was started; give it to --join",
                ));
            }
            let (places, carrier) = gathering::gather(&self.tcp, own, &arrivals, self.verbosity())?;
            return Ok(Some(Route { places, carrier, arrivals, origin: Origin { carrier: "tcp", library: None } }));
        }
        if self.mpi.is_some() {
            let world = members::world(&arrivals.sender, self.silence())?;
            return Ok(world.map(|members::World { relayed, library, places }| {
                let origin = Origin { carrier: "mpi", library: Some(library) };
                Route { places, carrier: Carrier::Mpi(relayed), arrivals, origin }
            }));
        }
        let (places, carrier) = self.places()?;
        let origin = Origin { carrier, library: None };
        let carrier = Carrier::Shell(self.program.clone().unwrap_or_else(|| "plumb".to_owned()));
        Ok(Some(Route { places, carrier, arrivals, origin }))
    }

    /// Finds a mistake in the words before anyone waits for members.
    fn check_before_members_wait(&self, job: &dyn Job) -> Result<(), Failure> {
        let Some(members) = self.tcp.lead else { return Ok(()) };
        let anywhere: Vec<Place> = (0..members).map(|rank| Place::Host(format!("host{rank}"))).collect();
        job.tasks(&anywhere, &self.share(HERE.to_owned())).map(|_| ())
    }

    /// Is a member by the command that all machines have.
    fn join_as_one_of_all(&self) -> Result<u8, Failure> {
        match self.tcp.lead {
            Some(_) => joining::join(&self.tcp, self.directory.as_deref(), self.verbosity()),
            None => Err(Failure::new(
                "cluster: the leader has the job; leave out the command and its words, or give --lead and --rank, too",
            )),
        }
    }

    /// Is a member without words: `plumb cluster --join`.
    fn join(&self) -> Result<u8, Failure> {
        if self.tcp.part()? != Part::Joins || self.tcp.lead.is_some() {
            return Err(Failure::new(
                "cluster: which command? plumb cluster --hosts LIST fio job.fio; merge; manifest",
            ));
        }
        let LeadArgs { tcp, directory, quiet, .. } = self.clone();
        if *self != (LeadArgs { tcp, directory, quiet, ..LeadArgs::default() }) {
            return Err(Failure::new(
                "cluster: --join takes --directory, --rank, --secret-file, --allow, --trust-leader and --join-within; the leader has the other options",
            ));
        }
        joining::join(&self.tcp, self.directory.as_deref(), self.verbosity())
    }

    /// Refuses what the pods of a manifest have by it.
    fn check_pods(&self) -> Result<(), Failure> {
        let LeadArgs { tcp, keep, page, stream, output, .. } = self;
        let given = [
            ("--keep", keep.is_some()),
            ("--page", page.is_some()),
            ("--stream", stream.is_some()),
            ("--output", output.is_some()),
        ];
        if let Some((option, _)) = given.iter().find(|(_, is_given)| *is_given) {
            return Err(Failure::new(format!(
                "cluster manifest: {option} writes a file into a pod that ends with the run; take --json from the log of the first pod"
            )));
        }
        tcp.check_pods()
    }

    fn silence(&self) -> Nanos {
        self.silence.unwrap_or(SILENCE)
    }

    /// The members' places, and the name of what starts them.
    fn places(&self) -> Result<(Vec<Place>, &'static str), Failure> {
        let refused = |error: cluster::HostsError| Failure::new(format!("cluster: {error}"));
        let hosts = match (self.local, &self.hosts, &self.hosts_file) {
            (Some(count), ..) => return Ok(((0..count).map(|_| Place::Local).collect(), "local")),
            (None, Some(list), _) => cluster::hosts(list).map_err(refused)?,
            (None, None, Some(path)) => {
                let text = String::from_utf8_lossy(&input::read_bytes(path)?).into_owned();
                cluster::hosts_file(&text).map_err(|error| Failure::at(path, error))?
            }
            (None, None, None) => {
                return Err(Failure::new(
                    "cluster: which members? give --hosts LIST, --hosts-file FILE, --mpi, --lead N or --local N",
                ));
            }
        };
        let of = |host: Host| std::iter::repeat_n(Place::Host(host.name), host.members as usize);
        Ok((hosts.into_iter().flat_map(of).collect(), "ssh"))
    }

    fn directory(&self) -> Result<String, Failure> {
        if self.tcp.lead.is_some() {
            // Each member is where it is to work.
            return Ok(HERE.to_owned());
        }
        if let Some(directory) = &self.directory {
            return Ok(directory.clone());
        }
        let here = std::env::current_dir().map_err(|error| Failure::new(format!("the current directory: {error}")))?;
        let text = here.to_str().map(str::to_owned);
        text.ok_or_else(|| Failure::at(&here, "is not UTF-8; name the members' directory with --directory"))
    }
}

/// The members of a stream are going to run.
fn begin(stream: &mut MembersStream, job: &dyn Job, tasks: &[Task], places: &[Place]) -> Result<(), Failure> {
    let mut pairs = tasks.iter().zip(places);
    pairs.try_for_each(|(task, place)| stream.begin(task, &place.name(), &job.plan(task)?))
}

/// Writes the members' results of a run, if they are kept.
fn keep_of(folder: Option<&Path>, run: &Run) -> Result<(), Failure> {
    folder.map_or(Ok(()), |folder| keep::write(folder, &run.members))
}

/// The screen, and a stream that has the members' intervals and sentences.
struct RunView {
    screen: Screen,
    stream: Option<MembersStream>,
}

impl View for RunView {
    fn heard(&mut self, rank: usize, answer: &Answer) {
        if let (Answer::Interval(sampled), Some(stream)) = (answer, &mut self.stream) {
            stream.interval(rank, sampled);
        }
    }

    fn say(&mut self, rank: usize, text: &str) {
        if let Some(stream) = &mut self.stream {
            stream.finding(rank, text);
        }
        self.screen.say(rank, text);
    }

    fn draw(&mut self, leader: &Leader) {
        self.screen.draw(leader);
    }

    fn clear(&mut self) {
        self.screen.clear();
    }
}

impl MergeArgs {
    fn run(&self) -> Result<u8, Failure> {
        let mut out = self.written.open()?;
        self.page.as_deref().map_or(Ok(()), crate::pages::check_to_mail)?;
        let on_loss = if self.partial { OnLoss::GoOn } else { OnLoss::Stop };
        let run = |members: Vec<MemberResult>| {
            let summary = cluster::summary(&members, "files", self.start_within.unwrap_or(START_WITHIN));
            let completeness = Completeness::of(&summary, on_loss);
            let by_signal =
                |member: &MemberResult| member.result.as_ref().is_some_and(|result| result.ended_by_signal.is_some());
            let is_interrupted = members.iter().any(by_signal);
            Run { members, summary, completeness, is_interrupted }
        };
        let runs: Vec<Run> = keep::read(&self.files)?.into_iter().map(run).collect();
        let of =
            runs.iter().flat_map(|run| &run.members).find_map(|member| member.repetition).map_or(1, |place| place.of);
        let form = Form::json_if(self.written.streams.json);
        Repetitions { runs: &runs, of }.write(
            &mut out,
            form,
            Views { page: self.page.as_deref(), kept: None, per: self.per },
        )?;
        Ok(status(&runs))
    }
}

/// 0 if all is well: no job failed, and no member is missing against the user's will.
fn status(runs: &[Run]) -> u8 {
    let failed = |run: &Run| run.summary.each.iter().any(|member| member.error.is_some());
    u8::from(runs.iter().any(|run| failed(run) || run.completeness == Completeness::Incomplete))
}
