//! The options of the command itself, as opposed to those of jobs: one row each.

use plan::option::Support;

/// The value of a command option: none, required or optional.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    /// The option takes no value.
    None,
    /// The option requires a value; the text is the placeholder in help.
    Needed(&'static str),
    /// The value is optional and follows `=`.
    Possible(&'static str),
}

/// The effect of a command option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Output,
    OutputFormat,
    Minimal,
    AppendTerse,
    TerseVersion,
    Version,
    Help,
    CommandHelp,
    EngineHelp,
    ShowCommand,
    ParseOnly,
    ReadOnly,
    Untrusted,
    Section,
    Eta,
    EtaNewline,
    EtaInterval,
    WarningsFatal,
    StatusInterval,
    BandwidthLog,
    UntilRegime,
    ResultFile,
    /// It is of plumb's sessions, which read it: its word is kept.
    Session,
    InflateLog,
    MaxJobs,
    MergeOnly,
    IdleProfile,
    TriggerFile,
    TriggerTimeout,
    Trigger,
    TriggerRemote,
    AuxPath,
    Debug,
    TimeDigests,
    TimeCopies,
    CheckClock,
    Client,
    Server,
    Daemonize,
    RemoteConfig,
    Partial,
    Silence,
    Allow,
    SecretFile,
    TrustClients,
    /// None: the option is refused by name.
    Refuse,
}

/// One option of the command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommandOption {
    pub name: &'static str,
    pub argument: Argument,
    pub effect: Effect,
    pub support: Support,
    pub help: &'static str,
}

const fn works(name: &'static str, argument: Argument, effect: Effect, help: &'static str) -> CommandOption {
    CommandOption { name, argument, effect, support: Support::Works, help }
}

const fn refused(name: &'static str, argument: Argument, reason: &'static str, help: &'static str) -> CommandOption {
    CommandOption { name, argument, effect: Effect::Refuse, support: Support::Refused(reason), help }
}

use Argument::{Needed, None as Nothing, Possible};

/// Letters that are short for an option, behind one dash.
pub(crate) const LETTERS: &[(char, &str)] = &[
    ('v', "version"),
    ('h', "help"),
    ('m', "minimal"),
    ('o', "output"),
    ('d', "debug"),
    ('e', "eta"),
    ('r', "readonly"),
    ('s', "showcmd"),
    ('w', "warnings-fatal"),
    ('x', "section"),
    ('c', "cmdhelp"),
    ('i', "enghelp"),
    ('p', "profile"),
    ('P', "parse-only"),
    ('b', "bandwidth-log"),
    ('F', "output-format"),
    ('V', "terse-version"),
    ('E', "eta-newline"),
    ('L', "status-interval"),
    ('I', "idle-prof"),
    ('T', "cpuclock-test"),
    ('X', "inflate-log"),
    ('C', "client"),
    ('S', "server"),
];

/// All options of the command.
pub(crate) const OPTIONS: &[CommandOption] = &[
    works("help", Nothing, Effect::Help, "Print this text"),
    works("version", Nothing, Effect::Version, "Print the version"),
    works("parse-only", Nothing, Effect::ParseOnly, "Parse options only, do not run"),
    works("readonly", Nothing, Effect::ReadOnly, "Reject jobs that write or trim"),
    works("untrusted", Nothing, Effect::Untrusted, "Untrusted job files: no commands or other paths"),
    works("section", Needed("NAME"), Effect::Section, "Run only this job file section; repeatable"),
    works("output", Needed("FILE"), Effect::Output, "Write output to this file"),
    works("output-format", Needed("LIST"), Effect::OutputFormat, "some of {formats}"),
    works("minimal", Nothing, Effect::Minimal, "Terse output only; same as --output-format=terse"),
    works("append-terse", Nothing, Effect::AppendTerse, "Print terse output in addition"),
    works("terse-version", Needed("N"), Effect::TerseVersion, "Version of terse output: 2, 3, 4 or 5"),
    works("eta", Needed("WHEN"), Effect::Eta, "Show the status line: always, never or auto"),
    works("eta-newline", Needed("TIME"), Effect::EtaNewline, "Start a new status line every TIME"),
    works("eta-interval", Needed("TIME"), Effect::EtaInterval, "Update the status line every TIME, 250ms or more"),
    works("warnings-fatal", Nothing, Effect::WarningsFatal, "Treat parser warnings as errors"),
    works("showcmd", Nothing, Effect::ShowCommand, "Print the job files as a command line"),
    works("cmdhelp", Possible("OPTION|all"), Effect::CommandHelp, "Print help on one or all job options"),
    works("enghelp", Possible("ENGINE[,OPTION]"), Effect::EngineHelp, "List the engines, or print help on one"),
    works("max-jobs", Needed("N"), Effect::MaxJobs, "No effect: the maximum is always 4096 jobs"),
    works("status-interval", Needed("TIME"), Effect::StatusInterval, "Print interim results every TIME"),
    works("bandwidth-log", Possible("STEM"), Effect::BandwidthLog, "Write a log of the aggregate bandwidth"),
    works("result", Needed("FILE"), Effect::ResultFile, "Write plumb's own result, every 5 s (plumb only)"),
    works("json", Nothing, Effect::Session, "Print plumb's own result alone (plumb only)"),
    works("quiet", Nothing, Effect::Session, "No status line and no remarks (plumb only)"),
    works("stream", Needed("FILE|-|fd:N"), Effect::Session, "Lines of JSON during the run (plumb only)"),
    works("metrics", Needed("FILE"), Effect::Session, "Metrics for Prometheus, every 5 s (plumb only)"),
    works("metrics-listen", Needed("PORT"), Effect::Session, "Answer scrapes: [ADDRESS:]PORT (plumb only)"),
    works("metrics-linger", Needed("TIME"), Effect::Session, "Answer them for TIME after the end (plumb only)"),
    works("otlp", Needed("URL"), Effect::Session, "Send metrics by OTLP, every 5 s (plumb only)"),
    works("accept", Needed("LIST"), Effect::Session, "Findings that --strict leaves out (plumb only)"),
    works("strict", Possible("LIST"), Effect::Session, "Exit with 4 if a check has a remark (plumb only)"),
    works("host", Needed("NAME"), Effect::Session, "Name of the machine in the result (plumb only)"),
    works("no-calibrate", Nothing, Effect::Session, "Leave plumb's own share unmeasured (plumb only)"),
    works("store", Needed("FILE"), Effect::Session, "Keep the result in this store (plumb only)"),
    works("no-store", Nothing, Effect::Session, "Do not keep the result in a store (plumb only)"),
    works("until-regime", Needed("WHAT"), Effect::UntilRegime, "End at a change, or once settled (plumb only)"),
    refused("alloc-size", Needed("KB"), "memory is allocated as needed", "Size of the shared memory pool"),
    works("client", Needed("HOST"), Effect::Client, "Run the job files that follow on this server"),
    works("remote-config", Needed("FILE"), Effect::RemoteConfig, "A job file on the server's machine"),
    works("partial", Nothing, Effect::Partial, "Go on without lost servers (plumb only)"),
    works("silence", Needed("TIME"), Effect::Silence, "Give up a server after this silence (plumb only)"),
    works("server", Possible("ADDRESS"), Effect::Server, "Run jobs of clients, on [HOST][,PORT], sock:PATH"),
    works("daemonize", Needed("FILE"), Effect::Daemonize, "Server in the background, process ID in FILE"),
    works("allow", Needed("PATH"), Effect::Allow, "Server: clients may use this path (plumb only)"),
    works("secret-file", Needed("FILE"), Effect::SecretFile, "Secret of server and clients (plumb only)"),
    works("trust-clients", Nothing, Effect::TrustClients, "Server: clients may do all you may (plumb only)"),
    works("idle-prof", Needed("MODE"), Effect::IdleProfile, "Report CPU idle time: system, percpu, calibrate"),
    works("crctest", Possible("LIST"), Effect::TimeDigests, "Measure the speed of checksums, run no jobs"),
    works("memcpytest", Possible("LIST"), Effect::TimeCopies, "Measure the speed of memory copies, run no jobs"),
    works("cpuclock-test", Nothing, Effect::CheckClock, "Test the CPU clock, run no jobs"),
    works("inflate-log", Needed("FILE"), Effect::InflateLog, "Decompress a log and print it"),
    works("merge-blktrace-only", Nothing, Effect::MergeOnly, "Merge the traces of read_iolog, run no jobs"),
    refused("latency-log", Possible("STEM"), "withdrawn: use write_lat_log", "Write latency logs"),
    works("trigger-file", Needed("FILE"), Effect::TriggerFile, "Run the trigger command when this file appears"),
    works("trigger-timeout", Needed("TIME"), Effect::TriggerTimeout, "Run the trigger command after TIME"),
    works("trigger", Needed("COMMAND"), Effect::Trigger, "Trigger command; all jobs end after it"),
    works("trigger-remote", Needed("COMMAND"), Effect::TriggerRemote, "Trigger command on the servers"),
    works("aux-path", Needed("DIR"), Effect::AuxPath, "Directory of verify state files"),
    works("debug", Needed("LIST"), Effect::Debug, "Print debug messages on these subjects; or help"),
];
