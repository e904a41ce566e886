//! Clusters: each child is a plumb on another host, started by the remote shell and controlled through its standard
//! input and output. Nothing listens on a port. All hosts must run the same version.

use super::iozone_run::PassError;
use crate::failure::Failure;
use iozone::{Member, Pass, PassFailure, Settings};
use model::RunResult;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Command to start a program on another host, unless `RSH` names another one. It never prompts, and has timeouts.
const REMOTE_SHELL: &str = "ssh -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=15";
/// Time in which all members must be ready.
const READY_TIMEOUT: Duration = Duration::from_secs(60);
/// Time that a member has to exit after its input is closed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum size in bytes of all answers of a member: a result with its histograms.
const LARGEST_ANSWER: u64 = 256 << 20;

/// A request to a member: one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Order {
    /// Run one child of a test.
    Run(Task),
    /// Remove the child's file.
    Remove { directory: String, file: PathBuf },
}

/// One child of a test.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Task {
    pub(super) words: Vec<String>,
    pub(super) test: u8,
    pub(super) pass: u8,
    pub(super) index: u32,
    pub(super) count: u32,
    pub(super) directory: String,
    pub(super) file: PathBuf,
    pub(super) size_kb: u64,
    pub(super) record_kb: u64,
}

/// An answer from a member: one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// The member is ready to start, or has processed a request that has no result.
    Ready,
    /// The result, and true if the file existed before.
    Done { result: Box<RunResult>, was_there: bool },
    /// The reason for a missing result.
    Failed { why: String },
}

struct MemberProcess {
    child: Child,
    stdin: Option<ChildStdin>,
    place: String,
}

impl MemberProcess {
    fn send(&mut self, line: &str) {
        if let Some(stdin) = &mut self.stdin {
            // A write error means that the member has exited, which the end of its output reports.
            let _ = stdin.write_all(format!("{line}\n").as_bytes()).and_then(|()| stdin.flush());
        }
    }

    /// Returns the failure of a member that exited without a result.
    fn ended(&mut self) -> PassFailure {
        let status = self.wait_for_exit().map_or_else(|| "nothing".to_owned(), |status| status.to_string());
        let shell = remote_shell();
        PassFailure::of_member(
            &self.place,
            &format!("it ended without a result; the remote shell, `{shell}`, ended with {status}"),
        )
    }

    /// Waits for the member to exit, which it does when its input is closed. A remote shell that is still connecting is
    /// killed after [`EXIT_TIMEOUT`].
    fn wait_for_exit(&mut self) -> Option<ExitStatus> {
        self.stdin = None;
        let until = Instant::now() + EXIT_TIMEOUT;
        while Instant::now() < until {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(2)),
                Ok(Some(status)) => return Some(status),
                Err(_) => return None,
            }
        }
        let _ = self.child.kill();
        self.child.wait().ok()
    }
}

impl Drop for MemberProcess {
    fn drop(&mut self) {
        self.wait_for_exit();
    }
}

/// The index of a member and its answer; `None` at the end of its output.
type Received = (usize, Option<Answer>);

/// Runs one test on the first `count` members: they start when all are ready, and get a message when the first one has
/// finished.
pub(super) fn measure(
    settings: &Settings,
    pass: Pass,
    count: u32,
    (size_kb, record_kb): (u64, u64),
) -> Result<RunResult, PassError> {
    let (sender, receiver) = channel();
    let words = words(settings);
    let mut processes = Vec::new();
    for (index, member) in (0..count).zip(&settings.members) {
        let task = Task {
            words: words.clone(),
            test: pass.test.number(),
            pass: pass.number,
            index,
            count,
            directory: member.directory.clone(),
            file: file(member, index),
            size_kb,
            record_kb,
        };
        processes.push(start(member, &Order::Run(task), (index as usize, &sender))?);
    }
    // From here on only the listener threads have senders, so the channel disconnects when all members have ended.
    drop(sender);
    Ok(lead(&mut processes, &receiver, READY_TIMEOUT)?)
}

/// Waits for all members to be ready, starts them and collects their results.
fn lead(
    processes: &mut [MemberProcess],
    received: &Receiver<Received>,
    timeout: Duration,
) -> Result<RunResult, PassFailure> {
    let until = Instant::now() + timeout;
    let mut ready = vec![false; processes.len()];
    let mut results: Vec<Option<RunResult>> = processes.iter().map(|_| None).collect();
    let is_under_way = |ready: &[bool]| ready.iter().all(|ready| *ready);
    loop {
        // The timeout covers the start only: a test may take hours. A member that dies during the test closes its
        // output, which arrives as `None`.
        let next = if is_under_way(&ready) {
            received.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            received.recv_timeout(until.saturating_duration_since(Instant::now()))
        };
        let (index, answer) = match next {
            Ok(next) => next,
            Err(RecvTimeoutError::Timeout) => {
                let late = ready.iter().position(|ready| !ready).unwrap_or(0);
                let why = format!("it was not ready within {} s; can its machine be reached?", timeout.as_secs());
                return Err(PassFailure::of_member(&processes[late].place, &why));
            }
            Err(RecvTimeoutError::Disconnected) => break,
        };
        match answer {
            Some(Answer::Ready) => {
                ready[index] = true;
                if is_under_way(&ready) {
                    processes.iter_mut().for_each(|process| process.send("go"));
                }
            }
            // The others stop or only mark their progress, as the test requires: either way rates can be computed for
            // the time in which all members were running.
            Some(Answer::Done { result, .. }) => {
                if results.iter().all(Option::is_none) {
                    processes
                        .iter_mut()
                        .enumerate()
                        .filter(|(other, _)| *other != index)
                        .for_each(|(_, process)| process.send("stop"));
                }
                results[index] = Some(*result);
            }
            Some(Answer::Failed { why }) => return Err(PassFailure::of_member(&processes[index].place, &why)),
            None if results[index].is_none() => return Err(processes[index].ended()),
            None => {}
        }
        if results.iter().all(Option::is_some) {
            break;
        }
    }
    let mut all = results.into_iter().flatten();
    let mut first = all.next().unwrap_or_default();
    all.for_each(|result| first.jobs.extend(result.jobs));
    let fault = first.jobs.iter().zip(processes.iter()).find_map(|(job, process)| Some((job.error.as_ref()?, process)));
    match fault {
        Some((error, process)) => Err(PassFailure::of_member(&process.place, &error.message)),
        None => Ok(first),
    }
}

/// Removes the members' files.
pub(super) fn clean(settings: &Settings, count: u32) -> Result<(), Failure> {
    let (sender, receiver) = channel();
    let mut processes = Vec::new();
    for (index, member) in (0..count).zip(&settings.members) {
        let order = Order::Remove { directory: member.directory.clone(), file: file(member, index) };
        processes.push(start(member, &order, (index as usize, &sender))?);
    }
    drop(sender);
    for (index, answer) in receiver {
        if let Some(Answer::Failed { why }) = answer {
            return Err(Failure::new(format!("iozone: {}: {why}", processes[index].place)));
        }
    }
    Ok(())
}

fn file(member: &Member, index: u32) -> PathBuf {
    member.file.clone().unwrap_or_else(|| PathBuf::from(format!("iozone.DUMMY.{index}")))
}

/// The command line without the cluster options: each member runs on its own.
fn words(settings: &Settings) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = settings.words.iter();
    while let Some(word) = words.next() {
        if ["-+m", "-+h", "-+i"].contains(&word.as_str()) {
            words.next();
        } else {
            kept.push(word.clone());
        }
    }
    // `settings.words` does not contain plumb's own options.
    kept.push(format!("--stuck-after={}", settings.stuck_after.map_or(0, |limit| limit.as_duration().as_secs())));
    kept
}

/// The command that starts a program on another host.
fn remote_shell() -> String {
    std::env::var("RSH").unwrap_or_else(|_| REMOTE_SHELL.to_owned())
}

/// Starts a member and sends it its request; the answers arrive through the channel.
fn start(
    member: &Member,
    order: &Order,
    (index, sender): (usize, &Sender<Received>),
) -> Result<MemberProcess, Failure> {
    let shell = remote_shell();
    let mut words = shell.split_whitespace();
    let is_link = member.program.rsplit('/').next() == Some("iozone");
    let quoted = format!("'{}'", member.program.replace('\'', "'\\''"));
    let command = if is_link { format!("{quoted} --member") } else { format!("{quoted} iozone --member") };
    let failed = |error: std::io::Error| Failure::new(format!("iozone: the remote shell `{shell}` ($RSH): {error}"));
    let mut child = Command::new(words.next().unwrap_or("ssh"))
        .args(words)
        .arg(&member.host)
        .arg(command)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let Some(stdout) = child.stdout.take() {
        let sender = sender.clone();
        std::thread::Builder::new().spawn(move || listen(index, stdout, &sender)).map_err(failed)?;
    }
    let stdin = child.stdin.take();
    let mut process = MemberProcess { child, stdin, place: format!("{} ({})", member.host, member.directory) };
    process.send(&serde_json::to_string(order)?);
    Ok(process)
}

/// Forwards a member's answers until its output ends.
fn listen(index: usize, stdout: impl Read, sender: &Sender<Received>) {
    let mut lines = BufReader::new(stdout.take(LARGEST_ANSWER)).lines();
    while let Some(Ok(line)) = lines.next() {
        // Lines that are not JSON are skipped: a login shell may print a greeting.
        let Ok(answer) = serde_json::from_str(&line) else { continue };
        if sender.send((index, Some(answer))).is_err() {
            return;
        }
    }
    // The receiver may have been dropped already.
    let _ = sender.send((index, None));
}

/// The block of lines as printed for clusters: with `Test running:`, and without the line `Parent sees`, because the
/// parent's clock is not that of the members.
pub(super) fn block(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with("\tParent sees"));
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    text.replacen('\n', "\n\tTest running:\n", 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_says_nothing_is_not_waited_for() {
        let begun = Instant::now();
        let child = Command::new("sleep").arg("60").stdin(Stdio::piped()).spawn().unwrap();
        let (_sender, receiver) = channel();
        let mut processes = vec![MemberProcess { child, stdin: None, place: "far (/data)".to_owned() }];
        let ill = lead(&mut processes, &receiver, Duration::from_millis(50)).unwrap_err();
        assert_eq!(ill.status, 1);
        assert!(ill.err.contains("far (/data): it was not ready within"), "{}", ill.err);
        drop(processes);
        assert!(begun.elapsed() < Duration::from_secs(30), "it is ended, too");
    }
}
