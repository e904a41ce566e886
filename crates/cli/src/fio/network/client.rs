//! `plumb fio --client`: which server gets which job files, and the report of all of them.

use super::connect::ServerLink;
use super::trigger::{self, Commands};
use super::view::ClientView;
use crate::failure::Failure;
use crate::fio::members::tasks::{WordReader, own_variables};
use crate::fio::results::{ENDED_BY_SIGNAL, has_text, status};
use crate::input;
use crate::members::carrier::Arrivals;
use crate::members::lead::{self, Connections, RoundEnd};
use crate::members::now;
use crate::members::program::BEAT;
use crate::members::{PROGRAM, SILENCE, START_WITHIN};
use crate::network::secret::Secret;
use crate::output::{Output, Verbosity, print_error};
use crate::remarks;
use cluster::{Address, ClientTask, Leader, LeaderCommand, OnLoss, Rounds, ServerTrigger, Settings, Task};
use fio::{Action, ClientRequest, Invocation, LostServer, ServerJobs, TriggerRequest};
use formats::fio::clients::{ServerResult, ServerResults, Sums};
use formats::{View, printable};
use measure::Nanos;
use measure::text;
use model::{JobResult, RunResult, SCHEMA};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

/// A server with its task.
pub(super) struct Server {
    pub(super) address: Address,
    /// Beginnings of the names of logs that its jobs write.
    pub(super) log_stems: Vec<String>,
    /// Its name in names of files.
    pub(super) name_in_files: String,
}

/// The servers, the names in front of their lines of text, and their results.
#[derive(Clone, Copy)]
pub(super) struct Parts<'a> {
    pub(super) servers: &'a [Server],
    pub(super) labels: &'a [String],
    pub(super) results: &'a [Option<&'a RunResult>],
}

/// Runs the job files of a request on its servers.
pub(crate) fn run(request: &ClientRequest, invocation: &Invocation, out: &mut Output) -> Result<u8, Failure> {
    refuse(request, invocation)?;
    let (servers, tasks) = tasks(request, invocation)?;
    let silence = request.silence.unwrap_or(SILENCE);
    let signals = lead::signals()?;
    let secret = Secret::given(request.secret.as_deref())?;
    let links = meet(&servers, silence, secret.as_ref());
    let mut missing = Vec::new();
    let mut there = Vec::new();
    for ((server, task), link) in servers.into_iter().zip(tasks).zip(links) {
        match link {
            Ok(link) => there.push((server, task, link)),
            Err(failure) => missing.push(format!("fio: client <{}>: {}", server.address.name(), failure.message())),
        }
    }
    missing.iter().for_each(|text| print_error(&printable::lines(text)));
    if there.is_empty() || !missing.is_empty() && request.lost == LostServer::EndsAll {
        let how = if there.is_empty() { "" } else { "; --partial runs the jobs on the others" };
        return Err(Failure::new(format!(
            "{} of the servers cannot be used, so nothing was begun{how}",
            missing.len()
        )));
    }
    let arrivals = Arrivals::new();
    let members = u32::try_from(there.len()).unwrap_or(u32::MAX);
    let (mut servers, mut tasks, mut connections) = (Vec::new(), Vec::new(), Vec::new());
    for (rank, (server, task, link)) in there.into_iter().enumerate() {
        connections.push(link.connection(arrivals.mailbox(rank))?);
        tasks.push(Task { rank: u32::try_from(rank).unwrap_or(u32::MAX), members, ..task });
        servers.push(server);
    }
    let on_loss = if request.lost == LostServer::IsLeftOut { OnLoss::GoOn } else { OnLoss::Stop };
    let rounds = if request.trigger_command.is_some() { Rounds::Several } else { Rounds::One };
    let settings = Settings { program: PROGRAM.to_owned(), silence, on_loss, rounds };
    let leader = Leader::new(settings, tasks, now());
    let mut view = ClientView::new(&servers, invocation, out);
    let mut connections = Connections::new(leader, connections, arrivals, signals);
    let (outcome, end) = connections.round(&mut view);
    let seen = view.finish();
    let signal = outcome.signal;
    let names: Vec<String> = servers.iter().map(|server| server.address.name()).collect();
    let members = outcome.into_results(&names);
    let status = report(&servers, &seen.labels, &members, on_loss, invocation, out)?;
    seen.failed.map_or(Ok(()), Err)?;
    let commands = Commands { servers: &servers, here: &invocation.trigger, there: request.trigger_command.as_deref() };
    let without = members.iter().filter(|member| member.result.is_none()).count();
    let connections = (end == RoundEnd::Resting).then_some(connections);
    let later = match without {
        _ if !seen.fired || signal.is_some() => commands.leave_out(connections),
        missing if missing > 0 && on_loss == OnLoss::Stop => {
            let all = members.len();
            print_error(&format!(
                "fio: {missing} of {all} servers sent no states, so no command of the trigger is run"
            ));
            commands.leave_out(connections)
        }
        _ => commands.run(connections),
    };
    Ok(if signal.or(later).is_some() { ENDED_BY_SIGNAL } else { status })
}

fn tasks(request: &ClientRequest, invocation: &Invocation) -> Result<(Vec<Server>, Vec<Task>), Failure> {
    let jobs = servers(request)?;
    let mut servers = Vec::with_capacity(jobs.len());
    let mut tasks = Vec::with_capacity(jobs.len());
    let addresses: Vec<Address> = jobs.iter().map(|(address, _)| address.clone()).collect();
    let hosts: Vec<String> = addresses.iter().map(|address| address.host().to_owned()).collect();
    let beat = BEAT.min(invocation.eta.interval);
    let trigger = (invocation.trigger != TriggerRequest::default())
        .then(|| ServerTrigger { command: request.trigger_command.clone() });
    for (rank, (address, jobs)) in jobs.into_iter().enumerate() {
        let made = task(&jobs, &request.words, own_variables(&hosts, rank, 0))?;
        let name_in_files = name_in_files(&addresses, rank);
        servers.push(Server { address, log_stems: made.log_stems, name_in_files });
        tasks.push((Task { beat, ..made.task }, jobs.remote_config, made.may_load_states));
    }
    let tasks = tasks.into_iter().enumerate().map(|(rank, (task, remote_config, may_load_states))| {
        let states = match may_load_states {
            true => trigger::states_of(&servers[rank].name_in_files)?,
            false => Vec::new(),
        };
        let command = LeaderCommand::Client(Box::new(ClientTask { remote_config, trigger: trigger.clone(), states }));
        Ok(Task { command, ..task })
    });
    let tasks = tasks.collect::<Result<Vec<Task>, Failure>>()?;
    Ok((servers, tasks))
}

/// The name of a server in names of files: with its port if several servers on its host were named, also those that are
/// missing, so that an earlier run's files are found by the same names.
fn name_in_files(named: &[Address], rank: usize) -> String {
    let (host, port) = (named[rank].host(), named[rank].port());
    let is_shared = named.iter().filter(|address| address.host() == host).count() > 1;
    match port > 0 && is_shared {
        true => format!("{host},{port}"),
        false => host.replace('/', "_"),
    }
}

/// Connects to all servers at the same time.
fn meet(servers: &[Server], silence: Nanos, secret: Option<&Secret>) -> Vec<Result<ServerLink, Failure>> {
    std::thread::scope(|scope| {
        let each: Vec<_> =
            servers.iter().map(|server| scope.spawn(|| ServerLink::meet(&server.address, silence, secret))).collect();
        let ended = || Err(Failure::new("the connection failed"));
        each.into_iter().map(|thread| thread.join().unwrap_or_else(|_| ended())).collect()
    })
}

/// Refuses the options of one machine, and a command that nothing can start.
fn refuse(request: &ClientRequest, invocation: &Invocation) -> Result<(), Failure> {
    if request.trigger_command.is_some() && invocation.trigger.file.is_none() && invocation.trigger.timeout.is_none() {
        return Err(Failure::new(
            "--trigger-remote: nothing starts this command; give --trigger-timeout=TIME or --trigger-file=FILE",
        ));
    }
    match super::of_one_run(invocation) {
        Some(option) => Err(Failure::new(format!(
            "--{option} has no meaning with --client: it is of a run on one machine. The JSON has the results and intervals of all servers"
        ))),
        None => Ok(()),
    }
}

/// The servers with their jobs: a file with one server a line is all of these with the same jobs.
fn servers(request: &ClientRequest) -> Result<Vec<(Address, ServerJobs)>, Failure> {
    let mut servers: Vec<(Address, ServerJobs)> = Vec::new();
    for jobs in &request.servers {
        let path = Path::new(&jobs.address);
        let lines = match !jobs.address.starts_with("sock:") && path.is_file() {
            true => host_lines(path)?,
            false => vec![jobs.address.clone()],
        };
        for line in lines {
            let wrong = |error: cluster::AddressError| Failure::new(format!("client={line}: {error}"));
            let address = cluster::client_address(&line).map_err(wrong)?;
            if servers.iter().any(|(known, _)| *known == address) {
                return Err(Failure::new(format!(
                    "client={line}: the server is named twice, and runs the jobs of one client at a time; name all of its job files after one \
                     --client"
                )));
            }
            servers.push((address, jobs.clone()));
        }
    }
    Ok(servers)
}

fn host_lines(path: &Path) -> Result<Vec<String>, Failure> {
    let text = String::from_utf8_lossy(&input::read_bytes(path)?).into_owned();
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let lines: Vec<String> = lines.filter(|line| !line.is_empty()).map(str::to_owned).collect();
    match lines.is_empty() {
        true => Err(Failure::at(path, "names no server; give one a line, such as node1 or node1,8765")),
        false => Ok(lines),
    }
}

struct ServerTask {
    task: Task,
    /// Beginnings of the names of its logs.
    log_stems: Vec<String>,
    /// True if a job may load the state of an earlier one: its words are not known here, or say so.
    may_load_states: bool,
}

fn task(jobs: &ServerJobs, words: &[String], own: BTreeMap<String, String>) -> Result<ServerTask, Failure> {
    let mut words = words.to_vec();
    words.push("--".to_owned());
    words.extend(jobs.files.iter().cloned());
    let mut variables = own.clone();
    let mut made = ServerTask {
        task: Task { words: words.clone(), ..Task::default() },
        log_stems: Vec::new(),
        may_load_states: true,
    };
    if jobs.remote_config.is_none() {
        let read = RefCell::new(BTreeMap::new());
        let reader = WordReader::new(&read, own);
        match reader.invocation(&words) {
            Ok(Invocation { action: Action::Run(plan), .. }) => {
                made.log_stems = log_stems(&plan);
                let loads = |job: &plan::JobPlan| job.verify.as_ref().is_some_and(|verify| verify.state_load);
                made.may_load_states = plan.jobs.iter().any(loads);
            }
            Ok(_) => {}
            Err(failure) => {
                // Variables are those of the server, so a text with one may be right there.
                let has_variable = reader.files()?.iter().any(|(_, text)| text.contains("${"));
                if !has_variable {
                    return Err(failure);
                }
            }
        }
        made.task.files = reader.files()?;
        variables.extend(reader.variables.into_inner());
    }
    made.task.variables = variables.into_iter().collect();
    Ok(made)
}

fn log_stems(plan: &plan::Plan) -> Vec<String> {
    let of_job = |job: &plan::JobPlan| {
        let logs = &job.record.logs;
        [&logs.bandwidth, &logs.latency, &logs.iops, &logs.histogram].map(Clone::clone)
    };
    plan.jobs.iter().flat_map(of_job).flatten().collect()
}

/// Prints the results of all servers. The exit status is 1 if a job failed, or a server is missing against the user's
/// will.
fn report(
    servers: &[Server],
    labels: &[String],
    members: &[cluster::MemberResult],
    on_loss: OnLoss,
    invocation: &Invocation,
    out: &mut Output,
) -> Result<u8, Failure> {
    let summary = cluster::summary(members, "fio", START_WITHIN);
    let is_whole = summary.complete || on_loss == OnLoss::GoOn;
    let failed: Vec<usize> = (0..members.len())
        .filter(|&rank| members[rank].result.as_ref().is_some_and(|result| status(result) > 0))
        .collect();
    for &rank in &failed {
        let line = format!("client <{}>: exited with error 1", servers[rank].address.host());
        if has_text(invocation) {
            out.write(&format!("{line}\n"))?;
        }
        let jobs = members[rank].result.iter().flat_map(|result| &result.jobs);
        for error in jobs.filter_map(|job| Some((job, job.error.as_ref()?))) {
            let (job, error) = error;
            let text = format!("fio: <{}> job `{}`: {}", labels[rank], job.echo.name, error.message);
            print_error(&printable::line(&text));
        }
    }
    let mut own = serde_json::to_value(&summary)?;
    if !is_whole {
        own["rates"] = json!([]);
    }
    let own = json!({ "schema": SCHEMA, "cluster": own });
    let results: Vec<Option<&RunResult>> = members.iter().map(|member| member.result.as_ref()).collect();
    let parts = Parts { servers, labels, results: &results };
    let sums = if is_whole { Sums::Shown } else { Sums::LeftOut };
    write_results(parts, Some(own), sums, invocation, out)?;
    for (label, result) in labels.iter().zip(&results) {
        if let Some(result) = result.filter(|result| remarks::are_wanted(Verbosity::Usual) && !result.notes.is_empty())
        {
            print_error(&format!("plumb: server {}:", printable::line(label)));
            remarks::print(result, Verbosity::Usual);
        }
    }
    if remarks::are_wanted(Verbosity::Usual) {
        for note in &summary.notes {
            print_error(&format!("plumb: check: {}", printable::line(&remarks::line(note))));
        }
    }
    if remarks::are_wanted(Verbosity::Usual) && is_whole {
        let all = all(parts, None, Sums::Shown);
        for text in other_rates(&summary, &formats::fio::clients::sums(&all)) {
            print_error(&format!("plumb: remark: {text}"));
        }
    }
    let missing = members.iter().filter(|member| member.result.is_none()).count();
    if missing > 0 {
        let sum = if is_whole { "the sum is that of the others" } else { "so there is no sum of all" };
        print_error(&format!("fio: {missing} of {} servers have no result, {sum}", members.len()));
    }
    Ok(u8::from(!failed.is_empty() || !is_whole))
}

/// The results of those servers that have one.
fn all(parts: Parts<'_>, own: Option<Value>, sums: Sums) -> ServerResults<'_> {
    let each = parts.servers.iter().zip(parts.labels).zip(parts.results).filter_map(|((server, label), result)| {
        let address = &server.address;
        Some(ServerResult { host: address.host(), port: address.port(), label, result: (*result)? })
    });
    ServerResults { servers: each.collect(), own, sums }
}

/// Sums whose rate is not that of the bytes that were moved from the first start to the last end: fio divides by the
/// longest time of a job.
fn other_rates(summary: &cluster::Summary, sums: &[JobResult]) -> Vec<String> {
    let [sum] = sums else { return Vec::new() };
    let sentence = |found: &cluster::DirectionRates| {
        let (over_all, elapsed) = (found.over_all?, found.elapsed?);
        let of_sum = measure::float(sum.directions[found.direction].bytes_per_second()?);
        let differ = elapsed >= Nanos::SECOND && found.is_other(of_sum);
        differ.then(|| {
            format!(
                "All clients: {}s at {} divide by the longest time of a job; from the first start to the last end it was {}",
                found.direction.word(),
                text::rate(of_sum),
                text::rate(over_all)
            )
        })
    };
    summary.rates.iter().filter_map(sentence).collect()
}

/// Prints results: so far, or at the end with what is known of all servers.
pub(super) fn write_results(
    parts: Parts<'_>,
    own: Option<Value>,
    sums: Sums,
    invocation: &Invocation,
    out: &mut Output,
) -> Result<(), Failure> {
    let all = all(parts, own, sums);
    let view = View { zone: jiff::tz::TimeZone::system(), terse_version: invocation.output.terse_version };
    for word in &invocation.output.formats {
        out.write(&formats::fio::clients::write(word, &all, &view)?)?;
    }
    Ok(())
}
