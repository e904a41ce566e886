//! The options of the command itself, as opposed to those of jobs: one row each. `Reader::command` has their effects.

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

/// One option of the command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommandOption {
    pub name: &'static str,
    pub argument: Argument,
    /// True if plumb's sessions read it: its word is kept.
    pub of_session: bool,
    pub support: Support,
    pub help: &'static str,
}

const fn works(name: &'static str, argument: Argument, help: &'static str) -> CommandOption {
    CommandOption { name, argument, of_session: false, support: Support::Works, help }
}

const fn session(name: &'static str, argument: Argument, help: &'static str) -> CommandOption {
    CommandOption { of_session: true, ..works(name, argument, help) }
}

const fn refused(name: &'static str, argument: Argument, reason: &'static str, help: &'static str) -> CommandOption {
    CommandOption { name, argument, of_session: false, support: Support::Refused(reason), help }
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
    works("help", Nothing, "Print this text"),
    works("version", Nothing, "Print the version"),
    works("parse-only", Nothing, "Parse options only, do not run"),
    works("readonly", Nothing, "Reject jobs that write or trim"),
    works("untrusted", Nothing, "Untrusted job files: no commands or other paths"),
    works("section", Needed("NAME"), "Run only this job file section; repeatable"),
    works("output", Needed("FILE"), "Write output to this file"),
    works("output-format", Needed("LIST"), "some of {formats}"),
    works("minimal", Nothing, "Terse output only; same as --output-format=terse"),
    works("append-terse", Nothing, "Print terse output in addition"),
    works("terse-version", Needed("N"), "Version of terse output: 2, 3, 4 or 5"),
    works("eta", Needed("WHEN"), "Show the status line: always, never or auto"),
    works("eta-newline", Needed("TIME"), "Start a new status line every TIME"),
    works("eta-interval", Needed("TIME"), "Update the status line every TIME, 250ms or more"),
    works("warnings-fatal", Nothing, "Treat parser warnings as errors"),
    works("showcmd", Nothing, "Print the job files as a command line"),
    works("cmdhelp", Possible("OPTION|all"), "Print help on one or all job options"),
    works("enghelp", Possible("ENGINE[,OPTION]"), "List the engines, or print help on one"),
    works("max-jobs", Needed("N"), "No effect: the maximum is always 4096 jobs"),
    works("status-interval", Needed("TIME"), "Print interim results every TIME"),
    works("bandwidth-log", Possible("STEM"), "Write a log of the aggregate bandwidth"),
    works("result", Needed("FILE"), "Write plumb's own result, every 5 s (plumb only)"),
    session("json", Nothing, "Print plumb's own result alone (plumb only)"),
    session("quiet", Nothing, "No status line and no remarks (plumb only)"),
    session("stream", Needed("FILE|-|fd:N"), "Lines of JSON during the run (plumb only)"),
    session("metrics", Needed("FILE"), "Metrics for Prometheus, every 5 s (plumb only)"),
    session("metrics-listen", Needed("PORT"), "Answer scrapes: [ADDRESS:]PORT (plumb only)"),
    session("metrics-linger", Needed("TIME"), "Answer them for TIME after the end (plumb only)"),
    session("otlp", Needed("URL"), "Send metrics by OTLP, every 5 s (plumb only)"),
    session("accept", Needed("LIST"), "Findings that --strict leaves out (plumb only)"),
    session("strict", Possible("LIST"), "Exit with 4 if a check has a remark (plumb only)"),
    session("host", Needed("NAME"), "Name of the machine in the result (plumb only)"),
    session("no-calibrate", Nothing, "Leave plumb's own share unmeasured (plumb only)"),
    session("store", Needed("FILE"), "Keep the result in this store (plumb only)"),
    session("no-store", Nothing, "Do not keep the result in a store (plumb only)"),
    works("layers", Nothing, "Time of I/Os by part; needs root (plumb only)"),
    works("until-regime", Needed("WHAT"), "End at a change, or once settled (plumb only)"),
    refused("alloc-size", Needed("KB"), "memory is allocated as needed", "Size of the shared memory pool"),
    works("client", Needed("HOST"), "Run the job files that follow on this server"),
    works("remote-config", Needed("FILE"), "A job file on the server's machine"),
    works("partial", Nothing, "Go on without lost servers (plumb only)"),
    works("silence", Needed("TIME"), "Give up a server after this silence (plumb only)"),
    works("server", Possible("ADDRESS"), "Run jobs of clients, on [HOST][,PORT], sock:PATH"),
    works("daemonize", Needed("FILE"), "Server in the background, process ID in FILE"),
    works("allow", Needed("PATH"), "Server: clients may use this path (plumb only)"),
    works("secret-file", Needed("FILE"), "Secret of server and clients (plumb only)"),
    works("trust-clients", Nothing, "Server: clients may do all you may (plumb only)"),
    works("idle-prof", Needed("MODE"), "Report CPU idle time: system, percpu, calibrate"),
    works("crctest", Possible("LIST"), "Measure the speed of checksums, run no jobs"),
    works("memcpytest", Possible("LIST"), "Measure the speed of memory copies, run no jobs"),
    works("cpuclock-test", Nothing, "Test the CPU clock, run no jobs"),
    works("inflate-log", Needed("FILE"), "Decompress a log and print it"),
    works("merge-blktrace-only", Nothing, "Merge the traces of read_iolog, run no jobs"),
    refused("latency-log", Possible("STEM"), "withdrawn: use write_lat_log", "Write latency logs"),
    works("trigger-file", Needed("FILE"), "Run the trigger command when this file appears"),
    works("trigger-timeout", Needed("TIME"), "Run the trigger command after TIME"),
    works("trigger", Needed("COMMAND"), "Trigger command; all jobs end after it"),
    works("trigger-remote", Needed("COMMAND"), "Trigger command on the servers"),
    works("aux-path", Needed("DIR"), "Directory of verify state files"),
    works("debug", Needed("LIST"), "Print debug messages on these subjects; or help"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::reader::Reader;
    use crate::error::Sources;

    #[test]
    fn every_option_that_works_has_an_effect() {
        for option in OPTIONS.iter().filter(|option| option.support == Support::Works) {
            let words = match option.argument {
                Nothing => vec![format!("--{}", option.name)],
                Needed(_) | Possible(_) => vec![format!("--{}=2", option.name)],
            };
            let (mut sources, mut problems) = (Sources::default(), Vec::new());
            Reader::new(&words, &[], &[], &mut sources, &mut problems).read();
            let is_unread = |problem: &crate::error::Problem| problem.what.ends_with("has no effect");
            assert!(!problems.iter().any(is_unread), "{}", option.name);
        }
    }
}
