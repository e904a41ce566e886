//! `plumb cluster`: the same job on many machines at once, and one result of all.
//!
//! Owns the command line and the exit status. `job` makes the tasks of the members, `carrier` starts them, or MPI has (`relayed`), or they join (`tcp`, `gathering`,
//! `joining`); `lead` carries out what the leader decides,
//! `member` is the other end; `keep` writes and reads results, `shown`, `page` and `screen` show them. The crate `cluster` decides.

pub(crate) mod carrier;
mod clock;
mod gathering;
mod iozone;
pub(crate) mod job;
mod joining;
mod keep;
pub(crate) mod lead;
mod manifest;
pub(crate) mod member;
mod member_survey;
mod page;
mod per;
mod relayed;
mod repeat;
mod rounds;
mod screen;
pub(crate) mod served;
mod shown;
mod spread;
pub(crate) mod states;
mod survey;
mod tcp;
mod trigger_command;

use crate::failure::{Failure, signal_status};
use crate::input;
use crate::knee::KneeArgs;
use crate::output::{self, Output};
use crate::streams::Written;
use crate::survey::SurveyArgs;
use carrier::{Arrival, Connection, Place};
use clock::time;
pub(crate) use clock::{PROGRAM, SILENCE, START_WITHIN, now};
use cluster::{
    Answer, Host, Leader, MemberResult, OnLoss, Order, Outcome, Repetition, Rounds, Settings, Sharing, Task,
};
use gathering::{Gathered, OwnMember};
use job::Shift;
use lead::{After, Face, Led};
use measure::Nanos;
use per::Per;
use relayed::Relayed;
use repeat::{Ending, Repetitions, Run};
use screen::Screen;
use served::{Rights, Trust};
use session::publish::MembersStream;
use shown::{Completeness, Form};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
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
    #[arg(long, value_name = "LIST", conflicts_with = "local")]
    hosts: Option<String>,
    /// The same from a file, one host or list a line
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
    /// plumb on the other hosts [default: plumb]
    #[arg(long, value_name = "COMMAND", conflicts_with = "local")]
    program: Option<String>,
    /// Directory of the members, from which relative paths start [default: this one]
    #[arg(long, value_name = "DIR")]
    directory: Option<String>,
    /// Of one file or device, each member has its region, or each has all of it [default: all]
    #[arg(long, value_name = "region|all", value_parser = spread::spread)]
    spread: Option<Sharing>,
    /// Makes ${PLUMB_SHIFTED_RANK} the number N members on, or of the next one on another host
    #[arg(long, value_name = "N|host", value_parser = shift)]
    shift: Option<Shift>,
    /// Run the job N times with the same members: highest, lowest, mean and standard deviation of the rates
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_REPETITIONS))]
    repeat: Option<u32>,
    /// After the runtime, go on until every worker has done as many I/Os as the fastest one of all members
    #[arg(long)]
    wear_out: bool,
    /// Give up a member that says nothing for so long, at least 1s [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = silence)]
    silence: Option<Nanos>,
    /// Largest time between the first start and the last one without a remark [default: 10ms]
    #[arg(long, value_name = "TIME", value_parser = time)]
    start_within: Option<Nanos>,
    /// The others go on if a member is lost after the start, and their rates are shown
    #[arg(long)]
    partial: bool,
    /// New directory for each member's own result, as it came
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

#[derive(Debug, clap::Subcommand)]
enum ClusterCommand {
    Fio(JobArgs),
    Iozone(IozoneArgs),
    Survey(Box<SurveyArgs>),
    Knee(Box<KneeArgs>),
    Merge(MergeArgs),
    Manifest(manifest::ManifestArgs),
    /// Be a member: started by the leader
    #[command(hide = true)]
    Member(MemberArgs),
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
        let trust = if self.untrusted { Trust::Untrusted { allowed: self.allow.clone() } } else { Trust::Full };
        match &self.client {
            Some(client) => Rights::Served { client: client.clone(), trust },
            None if self.joined => Rights::Joined(trust),
            None => Rights::Leader,
        }
    }
}

/// Run an fio command line or job files on all members
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  plumb cluster --hosts 'node[1-4]' fio job.fio
  plumb cluster --local 2 fio --name=a --rw=randread --size=1g --filename='f.${PLUMB_RANK}'
  plumb fio --help                fio's own options")]
struct JobArgs {
    /// fio's own options, or job files
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// Run iozone's throughput tests with a member for each child
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  plumb cluster --hosts 'node[1-4]' iozone -i 0 -i 1 -s 1g          a member for each child
  plumb iozone -h                 iozone's own options")]
struct IozoneArgs {
    /// iozone's own options; -t is the number of members
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
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
    /// Largest time between the first start and the last one without a remark [default: 10ms]
    #[arg(long, value_name = "TIME", value_parser = time)]
    start_within: Option<Nanos>,
    /// A table of all hosts or of all members in the text
    #[arg(long, value_name = "host|member", hide_possible_values = true)]
    per: Option<Per>,
    /// A page with the members over time: .html or .pdf
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    #[command(flatten)]
    written: Written,
}

fn silence(text: &str) -> Result<Nanos, String> {
    let found = time(text)?;
    if found < Nanos::SECOND {
        return Err(format!("`{text}` is too short: members send a sign of life twice a second; give at least 1s"));
    }
    Ok(found)
}

fn shift(text: &str) -> Result<Shift, String> {
    match text {
        "host" => Ok(Shift::ToOtherHosts),
        number => number.parse().map(Shift::By).map_err(|_| format!("`{number}` is neither a number nor `host`")),
    }
}

/// Runs the command.
pub(crate) fn run(args: &ClusterArgs) -> Result<u8, Failure> {
    let is_bare = args.lead == LeadArgs::default();
    let Some(command) = &args.command else { return args.lead.join() };
    let runs = matches!(
        command,
        ClusterCommand::Fio(_) | ClusterCommand::Iozone(_) | ClusterCommand::Survey(_) | ClusterCommand::Knee(_)
    );
    if runs && args.lead.tcp.part()? == Part::Joins {
        return args.lead.join_as_one_of_all();
    }
    match command {
        ClusterCommand::Fio(job) => args.lead.run(&input::words(&job.words)?),
        ClusterCommand::Iozone(iozone) => iozone::run(&args.lead, &input::words(&iozone.words)?),
        ClusterCommand::Survey(survey) => survey::survey(&args.lead, survey),
        ClusterCommand::Knee(knee) => survey::knee(&args.lead, knee),
        ClusterCommand::Merge(merge) if is_bare => merge.run(),
        ClusterCommand::Manifest(manifest) if is_bare => manifest.run(),
        ClusterCommand::Member(member) if is_bare => member::serve(&member.rights(), member.parent),
        ClusterCommand::Merge(_) | ClusterCommand::Manifest(_) | ClusterCommand::Member(_) => Err(Failure::new(
            "cluster: the options before the command are those of a run; merge and manifest have theirs after it",
        )),
    }
}

/// Where the messages of members arrive.
type Arrivals = (Sender<Arrival>, Receiver<Arrival>);

/// The way of messages to all members.
enum Carrier {
    /// Each member is a process that is started here or by the remote shell, as this program.
    Shell(String),
    /// MPI has started all of them.
    Mpi(Relayed),
    /// They have joined.
    Joined(Vec<Connection>),
}

impl Carrier {
    /// The connections to all members, which are started where they are not yet. Messages go to `arrivals`.
    fn connections(self, places: &[Place], arrivals: &Sender<Arrival>) -> Result<Vec<Connection>, Failure> {
        let ranked = places.iter().enumerate();
        match self {
            Carrier::Shell(program) => {
                ranked.map(|(rank, place)| Connection::start(place, &program, (rank, arrivals))).collect()
            }
            Carrier::Joined(connections) => Ok(connections),
            Carrier::Mpi(members) => Ok(ranked.map(|(rank, _)| Connection::relayed(members.of(rank))).collect()),
        }
    }
}

/// The members, and the way to them.
struct Reached {
    places: Vec<Place>,
    carrier: Carrier,
    /// Name of the carrier.
    name: &'static str,
    /// Name and number of the MPI library.
    library: Option<String>,
    arrivals: Arrivals,
}

impl LeadArgs {
    fn run(&self, words: &[String]) -> Result<u8, Failure> {
        if self.quiet {
            output::keep_quiet();
        }
        if let Some(library) = self.mpi.as_deref().filter(|_| !self.relayed) {
            return relayed::become_relay(library);
        }
        self.check_before_members_wait(words)?;
        let Some(Reached { places, carrier, name, library, arrivals }) = self.reach()? else { return Ok(0) };
        let directory = self.directory()?;
        let mut tasks = job::tasks(words, &places, self.shift.unwrap_or_default(), &directory)?;
        if let Some(sharing) = self.spread {
            spread::apply(sharing, &mut tasks)?;
        }
        if self.wear_out {
            tasks.iter_mut().for_each(|task| task.wears_out = true);
            let first = tasks.first().map_or(Ok(()), |task| job::plan(&job::invocation(task)?, task).map(|_| ()));
            first?;
        }
        let prints = MembersStream::prints(self.stream.as_deref());
        if prints && (self.json || self.output.as_deref().is_some_and(crate::streams::is_stdout)) {
            return Err(Failure::new(
                "--stream -: standard output is for the result already; name a file for one of them",
            ));
        }
        let mut stream = self.stream.as_deref().map(MembersStream::open).transpose()?;
        if let Some(stream) = &mut stream {
            tasks.iter_mut().for_each(|task| task.intervals = true);
            begin(stream, &tasks, &places)?;
        }
        let mut out = match prints && self.output.is_none() {
            true => Output::nowhere(),
            false => Output::asked(self.output.as_deref())?,
        };
        self.page.as_deref().map_or(Ok(()), crate::pages::check_to_mail)?;
        let mut kept = self.keep.as_deref().map(keep::make).transpose()?;
        let on_loss = if self.partial { OnLoss::GoOn } else { OnLoss::Stop };
        let rounds = if self.repetitions() > 1 { Rounds::Several } else { Rounds::One };
        let settings = Settings { program: PROGRAM.to_owned(), silence: self.silence(), on_loss, rounds };
        let names: Vec<String> = places.iter().map(Place::name).collect();
        let (mut runs, mut saved, mut signal) = (Vec::new(), Ok(()), None);
        let mut screen = Streamed { screen: Screen::new(&places), stream };
        let repetitions = self.repetitions();
        start((&places, carrier, arrivals), (tasks, settings, repetitions), &mut screen, &mut |outcome, stream| {
            signal = signal.or(outcome.signal);
            let run = self.run_of(outcome, &names, (name, library.as_deref()), runs.len());
            // Without --keep, too, the results of those that finished outlast a run that is incomplete.
            if kept.is_none() && run.is_lost_in_part() {
                kept = Some(keep::make_next()?);
                saved = runs.iter().try_for_each(|run: &Run| keep_of(kept.as_deref(), run));
            }
            saved = std::mem::replace(&mut saved, Ok(())).and(keep_of(kept.as_deref(), &run));
            if let Some(stream) = stream {
                stream.ended(&run.members);
            }
            runs.push(run);
            Ok(())
        })?;
        self.show(&runs, &mut out, kept.as_deref())?;
        saved.and(screen.stream.map_or(Ok(()), MembersStream::finish))?;
        Ok(signal.map_or_else(|| status(&runs), signal_status))
    }

    fn repetitions(&self) -> u32 {
        self.repeat.unwrap_or(1)
    }

    /// The results of a run, after `before` others.
    fn run_of(
        &self,
        outcome: Outcome,
        names: &[String],
        (carrier, library): (&str, Option<&str>),
        before: usize,
    ) -> Run {
        let ending = if outcome.signal.is_some() { Ending::BySignal } else { Ending::ByItself };
        let mut members = outcome.into_results(names);
        members.iter_mut().for_each(|member| member.sharing = self.spread.unwrap_or_default());
        cluster::name_neighbours(&mut members);
        if self.repetitions() > 1 {
            let number = u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1);
            let place = Repetition { number, of: self.repetitions() };
            members.iter_mut().for_each(|member| member.repetition = Some(place));
        }
        let mut summary = cluster::summary(&members, carrier, self.start_within.unwrap_or(START_WITHIN));
        summary.library = library.map(str::to_owned);
        let on_loss = if self.partial { OnLoss::GoOn } else { OnLoss::Stop };
        let completeness = Completeness::of(&summary, on_loss);
        Run { members, summary, completeness, ending }
    }

    fn show(&self, runs: &[Run], out: &mut Output, kept: Option<&Path>) -> Result<(), Failure> {
        let form = if self.json { Form::Json } else { Form::Text };
        let repeated = Repetitions { runs, of: self.repetitions() };
        repeated.write(out, form, (self.page.as_deref(), kept, self.per))
    }

    /// The members, and the way to them; `None` in all processes of MPI but one.
    fn reach(&self) -> Result<Option<Reached>, Failure> {
        let arrivals: Arrivals = channel();
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
            let Gathered { places, connections } = gathering::gather(&self.tcp, own, (&arrivals.0, &arrivals.1))?;
            let carrier = Carrier::Joined(connections);
            return Ok(Some(Reached { places, carrier, name: "tcp", library: None, arrivals }));
        }
        if self.mpi.is_some() {
            let world = relayed::world(&arrivals.0, self.silence())?;
            return Ok(world.map(|relayed::World { relayed, library, places }| {
                let (carrier, library) = (Carrier::Mpi(relayed), Some(library));
                Reached { places, carrier, name: "mpi", library, arrivals }
            }));
        }
        let (places, name) = self.places()?;
        let carrier = Carrier::Shell(self.program.clone().unwrap_or_else(|| "plumb".to_owned()));
        Ok(Some(Reached { places, carrier, name, library: None, arrivals }))
    }

    /// Finds a mistake in the words before anyone waits for members.
    fn check_before_members_wait(&self, words: &[String]) -> Result<(), Failure> {
        let Some(members) = self.tcp.lead else { return Ok(()) };
        let anywhere: Vec<Place> = (0..members).map(|rank| Place::Host(format!("host{rank}"))).collect();
        let mut tasks = job::tasks(words, &anywhere, self.shift.unwrap_or_default(), job::HERE)?;
        self.spread.map_or(Ok(()), |sharing| spread::apply(sharing, &mut tasks))
    }

    /// Is a member by the command that all machines have.
    fn join_as_one_of_all(&self) -> Result<u8, Failure> {
        if self.quiet {
            output::keep_quiet();
        }
        if self.tcp.lead.is_none() {
            return Err(Failure::new(
                "cluster: the leader has the job; leave out the command and its words, or give --lead and --rank, too",
            ));
        }
        joining::join(&self.tcp, self.directory.as_deref())
    }

    /// Is a member without words: `plumb cluster --join`.
    fn join(&self) -> Result<u8, Failure> {
        if self.quiet {
            output::keep_quiet();
        }
        let of_member = LeadArgs {
            tcp: self.tcp.clone(),
            directory: self.directory.clone(),
            quiet: self.quiet,
            ..LeadArgs::default()
        };
        match self.tcp.part()? {
            Part::Joins if self.tcp.lead.is_none() && *self == of_member => {
                joining::join(&self.tcp, self.directory.as_deref())
            }
            Part::Joins if self.tcp.lead.is_none() => Err(Failure::new(
                "cluster: --join takes --directory, --rank, --secret-file, --allow, --trust-leader and --join-within; the leader has the other options",
            )),
            _ => Err(Failure::new("cluster: which command? plumb cluster --hosts LIST fio job.fio; merge; manifest")),
        }
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
            return Ok(job::HERE.to_owned());
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
fn begin(stream: &mut MembersStream, tasks: &[Task], places: &[Place]) -> Result<(), Failure> {
    tasks.iter().zip(places).try_for_each(|(task, place)| {
        let plan = job::plan(&job::invocation(task)?, task)?;
        stream.begin(task, &place.name(), &plan)
    })
}

/// Writes the members' results of a run, if they are kept.
fn keep_of(folder: Option<&Path>, run: &Run) -> Result<(), Failure> {
    folder.map_or(Ok(()), |folder| keep::write(folder, &run.members))
}

/// Called after each run with what was found.
type EachRun<'each> = &'each mut dyn FnMut(Outcome, Option<&mut MembersStream>) -> Result<(), Failure>;

/// Starts members in these places, and leads them through all repetitions, until all are gone. A repetition that did not come to its end is the last one.
fn start(
    (places, carrier, (sender, arrivals)): (&[Place], Carrier, Arrivals),
    (mut tasks, settings, repetitions): (Vec<Task>, Settings, u32),
    face: &mut Streamed,
    each: EachRun<'_>,
) -> Result<(), Failure> {
    let signals = lead::signals()?;
    let leader = Leader::new(settings, tasks.clone(), now());
    let connections = carrier.connections(places, &sender)?;
    let mut led = Led::new(leader, connections, (&arrivals, &signals));
    for number in 1..=repetitions {
        let (outcome, after) = led.round(face);
        let is_whole = outcome.is_whole() && outcome.signal.is_none();
        each(outcome, face.stream.as_mut())?;
        if after == After::Gone {
            return Ok(());
        }
        if !is_whole || number == repetitions {
            break;
        }
        tasks.iter_mut().for_each(|task| task.round = number);
        if let Some(stream) = &mut face.stream {
            begin(stream, &tasks, places)?;
        }
        led.again(tasks.clone(), face);
    }
    led.dismiss(face);
    Ok(())
}

/// The screen, and a stream that has the members' intervals and sentences.
struct Streamed {
    screen: Screen,
    stream: Option<MembersStream>,
}

impl Face for Streamed {
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

    fn order(&mut self, _leader: &Leader) -> Option<Order> {
        None
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
            let ending = if members.iter().any(by_signal) { Ending::BySignal } else { Ending::ByItself };
            Run { members, summary, completeness, ending }
        };
        let runs: Vec<Run> = keep::read(&self.files)?.into_iter().map(run).collect();
        let of =
            runs.iter().flat_map(|run| &run.members).find_map(|member| member.repetition).map_or(1, |place| place.of);
        let form = if self.written.streams.json { Form::Json } else { Form::Text };
        Repetitions { runs: &runs, of }.write(&mut out, form, (self.page.as_deref(), None, self.per))?;
        Ok(status(&runs))
    }
}

/// 0 if all is well: no job failed, and no member is missing against the user's will.
fn status(runs: &[Run]) -> u8 {
    let failed = |run: &Run| run.summary.each.iter().any(|member| member.error.is_some());
    u8::from(runs.iter().any(|run| failed(run) || run.completeness == Completeness::Incomplete))
}
