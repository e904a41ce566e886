//! Clusters: each child is a plumb on a machine of its own, started by the remote shell and led through its standard
//! input and output. Nothing listens on a port, and both ends are of one version.

use super::ill::Ill;
use crate::failure::Failure;
use iozone::{Member, Pass, Settings};
use model::RunResult;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Starts a command on another machine; `RSH` says otherwise. It asks nobody, and gives up on who does not answer.
const REMOTE_SHELL: &str = "ssh -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=15";
/// So long may it take until every member is ready.
const PATIENCE: Duration = Duration::from_secs(60);
/// So long a member may take to end when it has nothing to do any more.
const FAREWELL: Duration = Duration::from_secs(3);
/// The longest answer: a result with its histograms.
const LONGEST: u64 = 256 << 20;

/// What a member is asked for, in a line.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Order {
    /// A child of a test.
    Run(Task),
    /// The file is to go.
    Remove { directory: String, file: PathBuf },
}

/// A child of a test.
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

/// What a member says, in a line.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// It can begin, or has done what needs no result.
    Ready,
    /// What it found, and whether its file was there before.
    Done { result: Box<RunResult>, was_there: bool },
    /// Why it could not.
    Failed { why: String },
}

/// A member at work.
struct Hand {
    child: Child,
    stdin: Option<ChildStdin>,
    place: String,
}

impl Hand {
    fn tell(&mut self, line: &str) {
        if let Some(stdin) = &mut self.stdin {
            // A member that is gone is heard of by the end of its output.
            let _ = stdin.write_all(format!("{line}\n").as_bytes()).and_then(|()| stdin.flush());
        }
    }

    /// It ended, and was not to.
    fn ended(&mut self) -> Ill {
        let status = self.farewell().map_or_else(|| "nothing".to_owned(), |status| status.to_string());
        let shell = remote_shell();
        ill(&self.place, &format!("it ended without a result; the remote shell, `{shell}`, ended with {status}"))
    }

    /// Waits for its end: a member whose input ends, ends in order. A shell that still tries to reach one is ended.
    fn farewell(&mut self) -> Option<ExitStatus> {
        self.stdin = None;
        let until = Instant::now() + FAREWELL;
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

impl Drop for Hand {
    fn drop(&mut self) {
        self.farewell();
    }
}

/// What came from which member; `None` when nothing more will.
type Heard = (usize, Option<Answer>);

/// One test by the first `count` members: everybody begins when all are ready, and stops when the first is done.
pub(super) fn measure(
    settings: &Settings,
    pass: Pass,
    count: u32,
    (size_kb, record_kb): (u64, u64),
) -> Result<Result<RunResult, Ill>, Failure> {
    let (sender, receiver) = channel();
    let words = words(settings);
    let mut hands = Vec::new();
    for (index, member) in (0..count).zip(&settings.members) {
        let task = Task {
            words: words.clone(),
            test: pass.test,
            pass: pass.number,
            index,
            count,
            directory: member.directory.clone(),
            file: file(member, index),
            size_kb,
            record_kb,
        };
        hands.push(start(member, &Order::Run(task), (index as usize, &sender))?);
    }
    drop(sender);
    Ok(lead(&mut hands, &receiver, PATIENCE))
}

/// From the start of all to the last result.
fn lead(hands: &mut [Hand], heard: &Receiver<Heard>, patience: Duration) -> Result<RunResult, Ill> {
    let until = Instant::now() + patience;
    let mut ready = vec![false; hands.len()];
    let mut results: Vec<Option<RunResult>> = hands.iter().map(|_| None).collect();
    let is_under_way = |ready: &[bool]| ready.iter().all(|ready| *ready);
    loop {
        let told = if is_under_way(&ready) {
            heard.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            heard.recv_timeout(until.saturating_duration_since(Instant::now()))
        };
        let (index, answer) = match told {
            Ok(told) => told,
            Err(RecvTimeoutError::Timeout) => {
                let late = ready.iter().position(|ready| !ready).unwrap_or(0);
                let why = format!("it was not ready within {} s; can its machine be reached?", patience.as_secs());
                return Err(ill(&hands[late].place, &why));
            }
            Err(RecvTimeoutError::Disconnected) => break,
        };
        match answer {
            Some(Answer::Ready) => {
                ready[index] = true;
                if is_under_way(&ready) {
                    hands.iter_mut().for_each(|hand| hand.tell("go"));
                }
            }
            Some(Answer::Done { result, .. }) => {
                if results.iter().all(Option::is_none) {
                    hands
                        .iter_mut()
                        .enumerate()
                        .filter(|(other, _)| *other != index)
                        .for_each(|(_, hand)| hand.tell("stop"));
                }
                results[index] = Some(*result);
            }
            Some(Answer::Failed { why }) => return Err(ill(&hands[index].place, &why)),
            None if results[index].is_none() => return Err(hands[index].ended()),
            None => {}
        }
        if results.iter().all(Option::is_some) {
            break;
        }
    }
    let mut all = results.into_iter().flatten();
    let mut first = all.next().unwrap_or_default();
    all.for_each(|result| first.jobs.extend(result.jobs));
    let fault = first.jobs.iter().zip(hands.iter()).find_map(|(job, hand)| Some((job.error.as_ref()?, hand)));
    match fault {
        Some((error, hand)) => Err(ill(&hand.place, &error.message)),
        None => Ok(first),
    }
}

fn ill(place: &str, why: &str) -> Ill {
    Ill { status: 1, out: String::new(), err: format!("plumb: iozone: {place}: {why}\n"), is_interruption: false }
}

/// Takes the members' files away.
pub(super) fn clean(settings: &Settings, count: u32) -> Result<(), Failure> {
    let (sender, receiver) = channel();
    let mut hands = Vec::new();
    for (index, member) in (0..count).zip(&settings.members) {
        let order = Order::Remove { directory: member.directory.clone(), file: file(member, index) };
        hands.push(start(member, &order, (index as usize, &sender))?);
    }
    drop(sender);
    for (index, answer) in receiver {
        if let Some(Answer::Failed { why }) = answer {
            return Err(Failure::new(format!("iozone: {}: {why}", hands[index].place)));
        }
    }
    Ok(())
}

fn file(member: &Member, index: u32) -> PathBuf {
    member.file.clone().unwrap_or_else(|| PathBuf::from(format!("iozone.DUMMY.{index}")))
}

/// The words without those about the cluster: a member is alone.
fn words(settings: &Settings) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = settings.words.iter();
    while let Some(word) = words.next() {
        if word == "-+m" || word == "-+h" {
            words.next();
        } else {
            kept.push(word.clone());
        }
    }
    // plumb's own options are not among the words.
    kept.push(format!("--stuck-after={}", settings.stuck_after.map_or(0, |limit| limit.as_duration().as_secs())));
    kept
}

/// What starts a command on another machine.
fn remote_shell() -> String {
    std::env::var("RSH").unwrap_or_else(|_| REMOTE_SHELL.to_owned())
}

/// Starts a member and hands it its order; what it says comes by the channel.
fn start(member: &Member, order: &Order, (index, sender): (usize, &Sender<Heard>)) -> Result<Hand, Failure> {
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
    let mut hand = Hand { child, stdin, place: format!("{} ({})", member.host, member.directory) };
    hand.tell(&serde_json::to_string(order).map_err(|error| Failure::new(error.to_string()))?);
    Ok(hand)
}

/// Passes on what a member says, until it ends.
fn listen(index: usize, stdout: impl Read, sender: &Sender<Heard>) {
    let mut lines = BufReader::new(stdout.take(LONGEST)).lines();
    while let Some(Ok(line)) = lines.next() {
        // A login shell may greet.
        let Ok(answer) = serde_json::from_str(&line) else { continue };
        if sender.send((index, Some(answer))).is_err() {
            return;
        }
    }
    // Nobody may be waiting for it any more.
    let _ = sender.send((index, None));
}

/// A block as members have it: announced, and without the parent's line, whose clock is another.
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
        let mut hands = vec![Hand { child, stdin: None, place: "far (/data)".to_owned() }];
        let ill = lead(&mut hands, &receiver, Duration::from_millis(50)).unwrap_err();
        assert_eq!(ill.status, 1);
        assert!(ill.err.contains("far (/data): it was not ready within"), "{}", ill.err);
        drop(hands);
        assert!(begun.elapsed() < Duration::from_secs(30), "it is ended, too");
    }
}
