//! The part of a member that a server of `plumb fio --server` has started: the words and files of a client, names of
//! files as fio makes them there, lines of fio's text, and logs, which the client writes.

use super::tasks;
use crate::failure::Failure;
use crate::members::program::Rights;
use crate::network::log_folders::LogFolder;
use cluster::{Answer, Task};
use fio::{Action, Files, Invocation, RealFiles};
use formats::fio::text as fio_text;
use plan::Plan;
use session::machine::parser;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Length of a part of a log in bytes.
const LOG_PART: usize = 1 << 20;
/// The variable of the environment that untrusted clients may read.
const HOST_VARIABLE: &str = "HOSTNAME";

/// Refuses a command that a client without the right to it wants to run after its trigger.
pub(super) fn check_trigger(rights: &Rights, command: Option<&str>) -> Result<(), Failure> {
    match command.filter(|_| rights.limits.is_some()) {
        None => Ok(()),
        Some(command) => {
            let refused = Failure::new(format!("--untrusted: trigger-remote={command} runs a command"));
            Err(with_remedy(refused, rights.limits.as_deref()))
        }
    }
}

/// Reads the words of a client's task.
pub(super) fn invocation(task: &Task, remote: Option<&str>, rights: &Rights) -> Result<Invocation, Failure> {
    let limits = rights.limits.as_deref();
    let mut words = vec![];
    for word in task.words.iter().take_while(|word| *word != "--") {
        // The words come over the network: only these have a meaning for a job file that is sent.
        let is_known = word.starts_with("--section=")
            || ["--readonly", "--warnings-fatal", "--untrusted"].contains(&word.as_str());
        if !is_known {
            return Err(Failure::new(format!("the client sent the option `{word}`, which a server does not take")));
        }
        words.push(word.clone());
    }
    if limits.is_some() {
        words.push("--untrusted".to_owned());
    }
    words.push("--".to_owned());
    let files: Vec<String> = match remote {
        Some(path) => vec![path.to_owned()],
        None => task.words.iter().skip_while(|word| *word != "--").skip(1).cloned().collect(),
    };
    words.extend(files);
    let given: BTreeMap<&str, &str> =
        task.variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    // As in fio a variable is that of the server. Others may hold secrets, so an untrusted client reads only its name.
    let environment = |name: &str| {
        let is_readable = limits.is_none() || name == HOST_VARIABLE;
        let own = || if is_readable { std::env::var(name).ok() } else { None };
        let sent = given.get(name).map(|value| (*value).to_owned());
        if name.starts_with("PLUMB_") { sent } else { own().or(sent) }
    };
    let sent = tasks::SentFiles::of(task);
    let here = Here { limits };
    let files: &dyn Files = if remote.is_some() { &here } else { &sent };
    let parser = parser().allowing(limits.map(<[String]>::to_vec).unwrap_or_default());
    let parsed = tasks::parse(&parser, &words, &environment, files);
    parsed.map_err(|failure| with_remedy(failure, limits))
}

/// Adds how the user of the server allows what an untrusted client may not do.
fn with_remedy(failure: Failure, limits: Option<&[String]>) -> Failure {
    if limits.is_none() || !failure.message().contains("--untrusted:") {
        return failure;
    }
    Failure::new(format!(
        "{}\nThe server lets this client do what --untrusted lets a job file do. On the server, --allow PATH lets clients use a directory or device; \
         --secret-file FILE at both ends, or --trust-clients, lets them do all that the server's user may",
        failure.message().trim_end()
    ))
}

/// The files of this machine, for a job file that the client only names.
struct Here<'a> {
    /// Paths outside of the directory that may be read; `None` for all.
    limits: Option<&'a [String]>,
}

impl Files for Here<'_> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let text = path.to_string_lossy();
        // Standard input carries the protocol.
        if text == "-" {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "a server reads no job file from standard input"));
        }
        if self.limits.is_some_and(|allowed| !fio::untrusted::may_name(&text, allowed)) {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "an untrusted client may name files in the server's directory, or below --allow PATH",
            ));
        }
        RealFiles.read(path)
    }

    fn is_special(&self, path: &Path) -> bool {
        RealFiles.is_special(path)
    }
}

/// The plan of a client's task: names of files in directories begin with the client's address, and logs are written
/// aside.
pub(super) fn plan(invocation: &Invocation, rights: &Rights) -> Result<(Plan, Logs), Failure> {
    let Action::Run(plan) = &invocation.action else { return Err(tasks::nothing_to_run()) };
    let mut plan = plan.clone();
    for job in &mut plan.jobs {
        let handling = &mut job.files.handling;
        let client = rights.client.as_deref().unwrap_or_default();
        let own_format = handling.name_format.take().map(|format| with_client(&format, client));
        handling.name_format = own_format;
        if !job.files.directories.is_empty() && handling.unique_names && !client.is_empty() {
            let format = handling.name_format.as_deref().unwrap_or("$jobname.$jobnum.$filenum");
            handling.name_format = Some(format!("{client}.{format}"));
            for name in &mut job.files.names {
                *name = PathBuf::from(format!("{client}.{}", name.display()));
            }
        }
    }
    let logs = Logs::aside(&mut plan)?;
    Ok((plan, logs))
}

/// `$clientuid` of a format, in any case, is the client's address.
fn with_client(format: &str, client: &str) -> String {
    const WORD: &str = "$clientuid";
    let mut rest = format;
    let mut made = String::new();
    while let Some(letter) = rest.chars().next() {
        let is_word = rest.get(..WORD.len()).is_some_and(|start| start.eq_ignore_ascii_case(WORD));
        let length = if is_word { WORD.len() } else { letter.len_utf8() };
        made.push_str(if is_word { client } else { &rest[..length] });
        rest = &rest[length..];
    }
    made
}

/// The logs of a run, in a temporary directory until they are sent.
#[derive(Debug, Default)]
pub(super) struct Logs {
    folder: Option<LogFolder>,
    /// Directories of the names that the job gives: `0` of the temporary directory is the first of them.
    directories: Vec<PathBuf>,
}

impl Logs {
    /// Lets the jobs of a plan write their logs into a temporary directory.
    fn aside(plan: &mut Plan) -> Result<Self, Failure> {
        let mut logs = Logs::default();
        for job in &mut plan.jobs {
            let record = &mut job.record.logs;
            let is_packed = record.packed;
            for stem in [&mut record.bandwidth, &mut record.latency, &mut record.iops, &mut record.histogram] {
                let Some(stem) = stem else { continue };
                if is_packed {
                    let name = &job.name;
                    return Err(Failure::new(format!(
                        "job `{name}`: log_store_compressed=1: logs are sent to the client as text; leave it out"
                    )));
                }
                let given = PathBuf::from(stem.as_str());
                let directory = given.parent().map(Path::to_owned).unwrap_or_default();
                let number = logs.directories.iter().position(|known| *known == directory).unwrap_or_else(|| {
                    logs.directories.push(directory);
                    logs.directories.len() - 1
                });
                let into = LogFolder::below(&mut logs.folder, &number.to_string())?;
                let file = given.file_name().unwrap_or_default();
                *stem = into.join(file).to_string_lossy().into_owned();
            }
        }
        Ok(logs)
    }

    /// Sends all logs, each in parts of whole rows.
    pub(super) fn send(&self, say: &mut dyn FnMut(Answer) -> Result<(), Failure>) -> Result<(), Failure> {
        let Some(folder) = &self.folder else { return Ok(()) };
        for (number, directory) in self.directories.iter().enumerate() {
            let into = folder.path().join(number.to_string());
            let mut names: Vec<_> =
                std::fs::read_dir(&into)?.filter_map(|entry| entry.ok().map(|entry| entry.file_name())).collect();
            names.sort();
            for name in names {
                let full = directory.join(&name).to_string_lossy().into_owned();
                send_rows(&into.join(&name), &full, say)?;
            }
        }
        Ok(())
    }
}

fn send_rows(path: &Path, name: &str, say: &mut dyn FnMut(Answer) -> Result<(), Failure>) -> Result<(), Failure> {
    let mut reader = BufReader::new(File::open(path)?);
    let mut rows = String::new();
    loop {
        let is_end = reader.read_line(&mut rows)? == 0;
        if is_end || rows.len() >= LOG_PART {
            say(Answer::Log { name: name.to_owned(), rows: std::mem::take(&mut rows) })?;
        }
        if is_end {
            return Ok(());
        }
    }
}

/// The lines that fio prints before it starts workers.
pub(super) fn lines_before(invocation: &Invocation, plan: &Plan) -> String {
    let warnings: String = invocation.warnings.iter().map(|warning| format!("fio: {}\n", warning.title)).collect();
    warnings + &fio_text::job_lines(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clientuid_is_the_address_of_the_client() {
        assert_eq!(with_client("$clientuid.$jobname", "10.0.0.7"), "10.0.0.7.$jobname");
        assert_eq!(with_client("é$ClientUID$clientui", "a"), "éa$clientui");
    }
}
