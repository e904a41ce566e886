//! The member protocol: lines of JSON over standard input and output of a member, or over any other pair of streams.
//!
//! The first line of a member is its greeting, with the number of the protocol. A line of another number is refused by
//! name, so that two versions never talk past each other.

use measure::Nanos;
use model::{Interval, RunResult};
use serde::{Deserialize, Serialize};

/// Number of the protocol. It changes with every change of a message.
pub const PROTOCOL: u32 = 8;
/// Length of the longest line in bytes: a result with its histograms.
pub const LONGEST_LINE: usize = 256 << 20;

/// A message of the leader to a member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Instruction {
    /// Answer with the time of the clock.
    Ping {
        /// Number of the ping.
        number: u32,
    },
    /// Read the job, lay out its files and start its workers, which wait.
    Prepare(Box<Task>),
    /// Begin the I/O at this time of the member's clock.
    Go {
        /// The time.
        at: Nanos,
        /// Number of the round.
        round: u32,
    },
    /// Another member has finished first: send the amounts of this moment.
    Mark,
    /// Go on until every worker has done this number of I/Os, which is that of the fastest worker of all members when
    /// the time was over.
    Until {
        /// The number.
        ios: u64,
        /// Number of the round.
        round: u32,
    },
    /// The leader is there. A member on another machine, whose connection may never end, is alone once it has heard
    /// nothing for as long as this.
    Alive {
        /// The silence.
        silence: Nanos,
    },
    /// Send the result so far.
    Report,
    /// The client's trigger has fired: end all workers in order, and send the states of verify jobs before the result.
    Trigger,
    /// End all workers in order, and send the result.
    Stop {
        /// The reason, for people.
        why: String,
    },
    /// Exit.
    Bye,
}

/// The work of one member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Number of the member, from 0.
    pub rank: u32,
    /// Number of members.
    pub members: u32,
    /// Number of the round, from 0: a member carries out one task after the other. Messages of earlier rounds have no
    /// effect.
    #[serde(default)]
    pub round: u32,
    /// Number of other members on its host.
    #[serde(default)]
    pub others_on_host: u32,
    /// fio's command line, without the program's name.
    pub words: Vec<String>,
    /// The files that the words name, such as job files, by their names, as the leader read them.
    pub files: Vec<(String, String)>,
    /// Values of `${NAME}` in job files. A name that is not here is not set.
    pub variables: Vec<(String, String)>,
    /// Directory in which relative paths start.
    pub directory: String,
    /// Text in front of names of files that the job does not give.
    pub prefix: String,
    /// Time between two beats.
    pub beat: Nanos,
    /// True if the leader wants each interval of the monitor.
    #[serde(default)]
    pub intervals: bool,
    /// How members share one file or device.
    #[serde(default)]
    pub sharing: Sharing,
    /// True if workers go on after their runtime until all have done as many I/Os.
    #[serde(default)]
    pub wears_out: bool,
    /// For which command the member works.
    #[serde(default)]
    pub command: LeaderCommand,
}

/// How members share one file or device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// Each works on all of it.
    #[default]
    All,
    /// Each has a part.
    Region,
}

/// The command of the leader.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeaderCommand {
    /// `plumb cluster`: the member's directory is that of the task, and generated names of files begin with its prefix.
    #[default]
    Cluster,
    /// `plumb fio --client`: the member sends the lines that fio prints at the start, the states of its workers, and
    /// its logs.
    Client(Box<ClientTask>),
    /// `plumb fio --client --trigger-remote=COMMAND`: run the command, after a round that the trigger has ended.
    Trigger {
        /// The command, for a shell.
        command: String,
    },
    /// `plumb cluster ... survey`: the member opens the survey's target in the first round, fills its work file before
    /// its first test, and keeps it until it exits.
    Survey(Box<SurveyTask>),
    /// `plumb iozone -+m`: the words are iozone's, without the options of clusters; the member is the child with its
    /// number.
    Iozone(Box<IozoneTask>),
}

/// The work of a server for a client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientTask {
    /// Job file on the member's machine, which the words name; `None` if all files are sent.
    pub remote_config: Option<String>,
    /// Consequence of the client's trigger; `None` if it has none.
    #[serde(default)]
    pub trigger: Option<ServerTrigger>,
    /// States of verify jobs of earlier runs that the client has.
    #[serde(default)]
    pub states: Vec<VerifyState>,
}

/// Consequence of a client's trigger for a server, after the end of its jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerTrigger {
    /// The command that follows as [`LeaderCommand::Trigger`] once the client has all states; `None` for none.
    pub command: Option<String>,
}

/// The file with the state of a verify job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyState {
    /// Name of the file on the server, without a directory: `local-NAME-N-verify.state`.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// The work of a child of iozone's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IozoneTask {
    /// Its file, in the member's directory.
    pub file: String,
    /// The pass over it, or its removal.
    pub work: IozoneWork,
    /// True if the member removes the file when it exits, unless it was there before.
    #[serde(default)]
    pub removes: bool,
}

/// A test of iozone's, or the cleanup after all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IozoneWork {
    /// A pass of a test.
    Test {
        /// iozone's number of the test.
        test: u8,
        /// Number of the pass.
        pass: u8,
        /// Size of the file in KiB.
        size_kb: u64,
        /// Size of a record in KiB.
        record_kb: u64,
    },
    /// Remove the file.
    Remove,
}

/// A test of a survey.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurveyTask {
    /// The survey's request as JSON, as in its result.
    pub request: String,
    /// Key of the test.
    pub test: String,
    /// I/O at the start that is not measured.
    pub ramp: Nanos,
    /// Measured time.
    pub time: Nanos,
}

/// A message of a member to the leader.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The greeting: who and where the member is.
    Hello(Box<Facts>),
    /// The answer to a ping.
    Pong {
        /// Number of the ping.
        number: u32,
        /// Time of the member's clock.
        at: Nanos,
    },
    /// All workers wait for their start.
    Ready {
        /// Number of the round.
        round: u32,
    },
    /// A sign of life, with the amounts so far.
    Beat(Beat),
    /// A message about the run for people.
    Finding(String),
    /// An interval of the monitor, if the task wants them.
    Interval(Box<MemberInterval>),
    /// Lines of fio's text before the results.
    Text(String),
    /// States of the workers, with each beat.
    Live(Box<Live>),
    /// The result so far.
    Report(Box<RunResult>),
    /// A part of a log. Parts of a log follow each other.
    Log {
        /// Name of the log's file.
        name: String,
        /// The rows.
        rows: String,
    },
    /// The state of a verify job, after the client's trigger.
    State(VerifyState),
    /// The run is over.
    Done(Box<MemberEnd>),
    /// Nothing could be measured.
    Failed {
        /// The reason.
        why: String,
    },
}

/// Facts about a member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Number of the protocol.
    pub protocol: u32,
    /// Program and version.
    pub program: String,
    /// Name of the machine.
    pub host: String,
    /// ID that the kernel draws at each boot: equal only on one machine. `None` if it cannot be read.
    pub boot_id: Option<String>,
    /// Release of the kernel.
    pub kernel: String,
    /// Instruction set of the processors.
    #[serde(default)]
    pub architecture: String,
    /// Number of online processors.
    pub cpus: u32,
    /// Processors on which the member may run.
    pub allowed_cpus: Vec<u32>,
    /// The link to other machines; `None` if its speed is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
}

/// A network device with its speed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Name of the device.
    pub device: String,
    /// Speed in 10^6 bits per second, in each direction.
    pub megabits: u64,
}

/// State of a member's run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Reading the job, and laying out files.
    #[default]
    LayingOut,
    /// All workers wait for their start.
    Ready,
    /// At work.
    Running,
    /// The result has been sent, and the next task may come.
    Resting,
}

/// A sign of life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Beat {
    /// Time of the member's clock.
    pub at: Nanos,
    /// Number of the round.
    #[serde(default)]
    pub round: u32,
    /// State of the run.
    pub stage: Stage,
    /// Bytes since the start: read, written, trimmed.
    pub bytes: [u64; 3],
    /// I/Os since the start: reads, writes, trims.
    pub ios: [u64; 3],
    /// Completed share of the run or of the layout, 0 to 1; `None` while unknown.
    pub done: Option<f64>,
    /// I/Os of the member's fastest worker, once the time of all its workers is over and they wait for
    /// [`Instruction::Until`].
    #[serde(default)]
    pub out_of_time: Option<u64>,
}

/// An interval of a member's monitor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemberInterval {
    /// Start of the monitoring, in milliseconds since 1970 UTC on the member's clock.
    pub began_unix_ms: u64,
    /// Names of the devices, in the order of the interval.
    pub devices: Vec<String>,
    /// The interval.
    pub interval: Interval,
}

/// States of a member's workers, for fio's status line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Live {
    /// A letter for each worker, as in fio's status line.
    pub workers: String,
    /// Open files of all workers.
    pub open_files: u32,
    /// Rate limits of the running workers: bytes and I/Os per second, 0 without one.
    pub limits: [u64; 2],
    /// Time left; `None` while unknown.
    pub remaining: Option<Nanos>,
}

/// The end of a member's run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemberEnd {
    /// Number of the round.
    #[serde(default)]
    pub round: u32,
    /// Start of the first workers on the member's clock; `None` if none was started.
    pub started: Option<Nanos>,
    /// End of the last worker.
    pub ended: Nanos,
    /// The result.
    pub result: RunResult,
}

/// A line, a member or a file that does not belong to this cluster: the reason, and what would work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ClusterError(pub(crate) String);

/// Names of the messages of a member.
const ANSWERS: [&str; 13] = [
    "hello", "pong", "ready", "beat", "finding", "interval", "text", "live", "report", "log", "state", "done", "failed",
];

/// The part of a greeting that all versions have.
#[derive(Deserialize)]
struct Greeting {
    hello: GreetingHead,
}

#[derive(Deserialize)]
struct GreetingHead {
    protocol: u32,
    #[serde(default)]
    program: String,
}

/// Writes a message as a line, with its line end.
///
/// # Errors
/// Never, in practice: all messages can be written as JSON.
pub fn line<M: Serialize>(message: &M) -> Result<String, serde_json::Error> {
    serde_json::to_string(message).map(|text| text + "\n")
}

/// Reads a line of a member. `None` for one that is not a message: a login shell may print a greeting.
///
/// # Errors
/// The greeting of another protocol, or a message that is damaged.
pub fn answer(line: &str) -> Result<Option<Answer>, ClusterError> {
    let line = line.trim();
    if !line.starts_with(['{', '"']) {
        return Ok(None);
    }
    if let Ok(Greeting { hello }) = serde_json::from_str::<Greeting>(line)
        && hello.protocol != PROTOCOL
    {
        let GreetingHead { protocol, program } = hello;
        return Err(ClusterError(format!(
            "it is {program} with cluster protocol {protocol}, and this is protocol {PROTOCOL}; use one version of \
             plumb on all machines"
        )));
    }
    let names_a_message = |root: &serde_json::Value| {
        root.as_str()
            .or_else(|| root.as_object()?.keys().next().map(String::as_str))
            .is_some_and(|key| ANSWERS.contains(&key))
    };
    match serde_json::from_str(line) {
        Ok(answer) => Ok(Some(answer)),
        Err(error) => match serde_json::from_str(line) {
            Ok(root) if names_a_message(&root) => Err(unreadable(&error)),
            _ => Ok(None),
        },
    }
}

/// Reads a line of the leader.
///
/// # Errors
/// The line is not a message of this protocol.
pub fn instruction(line: &str) -> Result<Instruction, ClusterError> {
    serde_json::from_str(line).map_err(|error| unreadable(&error))
}

fn unreadable(error: &serde_json::Error) -> ClusterError {
    ClusterError(format!("a message of it cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_are_read_back_as_they_were_written() {
        let orders = [
            Instruction::Ping { number: 3 },
            Instruction::Prepare(Box::new(Task { rank: 1, words: vec!["--name=a".to_owned()], ..Task::default() })),
            Instruction::Go { at: Nanos(u64::MAX), round: 1 },
            Instruction::Mark,
            Instruction::Until { ios: 9, round: 1 },
            Instruction::Report,
            Instruction::Trigger,
            Instruction::Stop { why: "a \"line\"\nend".to_owned() },
            Instruction::Bye,
        ];
        for message in orders {
            let text = line(&message).unwrap();
            assert_eq!(text.matches('\n').count(), 1, "{text}");
            assert_eq!(instruction(&text), Ok(message));
        }
        let finished = MemberEnd { round: 3, started: Some(Nanos(1)), ended: Nanos(2), result: RunResult::default() };
        let answers = [
            Answer::Hello(Box::new(Facts { protocol: PROTOCOL, ..Facts::default() })),
            Answer::Pong { number: 3, at: Nanos(9) },
            Answer::Ready { round: 2 },
            Answer::Interval(Box::new(MemberInterval { devices: vec!["sda".to_owned()], ..MemberInterval::default() })),
            Answer::Beat(Beat { done: Some(0.5), ..Beat::default() }),
            Answer::Text("a\nb".to_owned()),
            Answer::Live(Box::new(Live { workers: "rr".to_owned(), ..Live::default() })),
            Answer::Report(Box::default()),
            Answer::Log { name: "a_bw.1.log".to_owned(), rows: "1, 2\n".to_owned() },
            Answer::State(VerifyState { name: "local-a-0-verify.state".to_owned(), bytes: vec![0, 255] }),
            Answer::Done(Box::new(finished)),
            Answer::Failed { why: "no".to_owned() },
        ];
        for message in answers {
            assert_eq!(answer(&line(&message).unwrap()), Ok(Some(message)));
        }
    }

    #[test]
    fn another_protocol_is_refused_with_both_numbers() {
        let other = PROTOCOL + 1;
        let theirs = format!(r#"{{"hello":{{"protocol":{other},"program":"plumb 9.9.9","new":[1,2]}}}}"#);
        let error = answer(&theirs).unwrap_err().to_string();
        assert!(
            error.contains("plumb 9.9.9")
                && error.contains(&format!("protocol {other}"))
                && error.contains(&format!("protocol {PROTOCOL}")),
            "{error}"
        );
    }

    #[test]
    fn a_login_greeting_is_skipped_and_a_damaged_message_an_error() {
        for text in ["Welcome to Debian", "{ not json", "{\"motd\": 1}", "", "\"hi\""] {
            assert_eq!(answer(text), Ok(None), "{text}");
        }
        assert!(answer("{\"pong\":{\"number\":true}}").unwrap_err().0.starts_with("a message of it cannot be read"));
    }

    proptest! {
        #[test]
        fn no_line_makes_the_reader_panic(text in "\\PC{0,200}") {
            let _ = (answer(&text), instruction(&text), answer(&format!("{{\"done\":{text}}}")));
        }
    }
}
