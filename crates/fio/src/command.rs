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
    Strict,
    ResultFile,
    InflateLog,
    MaxJobs,
    MergeOnly,
    IdleProfile,
    TriggerFile,
    TriggerTimeout,
    Trigger,
    AuxPath,
    Debug,
    TimeDigests,
    TimeCopies,
    CheckClock,
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

/// fio's client/server protocol changes with each version and is not documented.
const NO_NETWORK: &str = "plumb does not run on other hosts; run it there, with ssh say";

/// All options of the command.
pub(crate) const OPTIONS: &[CommandOption] = &[
    works("help", Nothing, Effect::Help, "Show this text"),
    works("version", Nothing, Effect::Version, "Show the version"),
    works("parse-only", Nothing, Effect::ParseOnly, "Read everything, run nothing"),
    works("readonly", Nothing, Effect::ReadOnly, "Refuse jobs that write or trim"),
    works("untrusted", Nothing, Effect::Untrusted, "Job files are a stranger's: no commands or paths"),
    works("section", Needed("NAME"), Effect::Section, "Only this section of job files; may be repeated"),
    works("output", Needed("FILE"), Effect::Output, "Write results to this file"),
    works("output-format", Needed("LIST"), Effect::OutputFormat, "{formats}; commas between"),
    works("minimal", Nothing, Effect::Minimal, "Terse output alone, as --output-format=terse"),
    works("append-terse", Nothing, Effect::AppendTerse, "Terse output besides the others"),
    works("terse-version", Needed("N"), Effect::TerseVersion, "Version of terse output: 2, 3, 4 or 5"),
    works("eta", Needed("WHEN"), Effect::Eta, "Live status line: always, never or auto"),
    works("eta-newline", Needed("TIME"), Effect::EtaNewline, "Start a new status line after so long"),
    works("eta-interval", Needed("TIME"), Effect::EtaInterval, "Renew the status line so often, 250 ms or more"),
    works("warnings-fatal", Nothing, Effect::WarningsFatal, "Treat warnings as errors"),
    works("showcmd", Nothing, Effect::ShowCommand, "Show job files as a command line"),
    works("cmdhelp", Possible("OPTION|all"), Effect::CommandHelp, "Help on one or all options of jobs"),
    works("enghelp", Possible("ENGINE[,OPTION]"), Effect::EngineHelp, "List engines, or help on one and its options"),
    works("max-jobs", Needed("N"), Effect::MaxJobs, "Accepted; the limit stays at 4096 jobs"),
    works("status-interval", Needed("TIME"), Effect::StatusInterval, "Report the run so far, so often"),
    works("bandwidth-log", Possible("STEM"), Effect::BandwidthLog, "Log the sum of all jobs' bandwidth"),
    works("result", Needed("FILE"), Effect::ResultFile, "plumb's own result, every 5 s (plumb only)"),
    works("strict", Nothing, Effect::Strict, "Status 4 where a check speaks up (plumb only)"),
    refused("alloc-size", Needed("KB"), "memory is taken as needed", "Size of the shared pool"),
    refused("client", Needed("HOST"), NO_NETWORK, "Run on another host"),
    refused("server", Possible("ADDRESS"), NO_NETWORK, "Run for another host"),
    refused("daemonize", Needed("FILE"), NO_NETWORK, "Server in the background"),
    refused("remote-config", Needed("FILE"), NO_NETWORK, "Job file on the other host"),
    works("idle-prof", Needed("MODE"), Effect::IdleProfile, "Report idle CPU: system, percpu, calibrate"),
    works("crctest", Possible("LIST"), Effect::TimeDigests, "Time the digests of verify, and run nothing"),
    works("memcpytest", Possible("LIST"), Effect::TimeCopies, "Time memcpy, memmove, simple; and run nothing"),
    works("cpuclock-test", Nothing, Effect::CheckClock, "Check the CPU's clock, and run nothing"),
    works("inflate-log", Needed("FILE"), Effect::InflateLog, "Unpack a compressed log"),
    works("merge-blktrace-only", Nothing, Effect::MergeOnly, "Merge the traces of read_iolog and stop"),
    refused("latency-log", Possible("STEM"), "withdrawn: use write_lat_log", "Log latencies"),
    works("trigger-file", Needed("FILE"), Effect::TriggerFile, "Pull the trigger when this file appears"),
    works("trigger-timeout", Needed("TIME"), Effect::TriggerTimeout, "Pull the trigger after so long"),
    works("trigger", Needed("COMMAND"), Effect::Trigger, "What the trigger runs; then all jobs end"),
    refused("trigger-remote", Needed("COMMAND"), "there is no other host", "What the trigger runs on the other host"),
    works("aux-path", Needed("DIR"), Effect::AuxPath, "Where state files of verify lie"),
    works("debug", Needed("LIST"), Effect::Debug, "Tell more: subjects, job:N, all or help"),
];
