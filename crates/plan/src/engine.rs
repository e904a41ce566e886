//! Description of an I/O engine for everything outside the engine: name, capabilities and options.

use crate::option::{Effect, OptionSpec, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Submission mode of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submission {
    /// `submit` returns when the I/O has completed: one I/O in flight per worker, no submission latency.
    Synchronous,
    /// `submit` only queues: many I/Os in flight, with separate submission and completion latencies.
    Asynchronous,
    /// Synchronous at depth 1, asynchronous above (the null engine).
    ByDepth,
}

/// The kind of work that one I/O of an engine does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Reads and writes the data of files.
    #[default]
    Data,
    /// Sends data to a peer or receives it, in order and in one direction; opens no file.
    Stream,
    /// Calls on an open file that move no data: allocate, truncate or swap its space (fallocate(2), ftruncate(2)).
    Allocation,
    /// Calls on the path of a file or directory (open, stat, unlink), once per file and pass; opens no file.
    Metadata,
    /// Transfers nothing, but counts as if data had moved.
    Null,
    /// Does no I/O: burns CPU time or runs a program, until the other jobs are done.
    Background,
}

impl Work {
    /// True if written data can be read back and compared.
    pub const fn moves_data(self) -> bool {
        matches!(self, Work::Data | Work::Stream)
    }

    /// True if the engine uses descriptors of its files.
    pub const fn opens_files(self) -> bool {
        matches!(self, Work::Data | Work::Allocation)
    }
}

/// Condition under which an engine keeps state about its open files, which then cannot be closed or replaced while it
/// runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeepsFiles {
    /// Never: each I/O uses the current descriptor.
    #[default]
    Never,
    /// Always.
    Always,
    /// Only with this option of the engine.
    WithOption(&'static str),
    /// Only if threads do its I/Os (`io_submit_mode=offload`).
    WhenOffloaded,
}

/// Condition under which an engine gives the I/Os of its queue to the device in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeepsOrder {
    /// Never.
    #[default]
    Never,
    /// Always.
    Always,
    /// While the device takes each I/O at once and whole: the kernel gives the others to threads.
    TakenAtOnce,
    /// If this option has this word, the device puts the writes of a zone one behind the other.
    InZones {
        /// Its name.
        option: &'static str,
        /// Its value.
        word: &'static str,
    },
}

impl KeepsOrder {
    /// True if the device puts the writes of a job with these options one behind the other.
    pub fn in_zones(self, given: &EngineOptions) -> bool {
        matches!(self, KeepsOrder::InZones { option, word } if given.text(option) == Some(word))
    }
}

/// Capabilities and requirements of an engine. Parsing, planning and checks use these, never the engine's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Submission mode.
    pub submission: Submission,
    /// Kind of work of one I/O.
    pub work: Work,
    /// Does I/O on files that must exist; otherwise no files are laid out and no disks are monitored.
    pub needs_files: bool,
    /// Supports trims.
    pub trim: bool,
    /// Runs in virtual time.
    pub virtual_time: bool,
    /// Does the I/Os of a file one after another, whatever the depth is.
    pub one_per_file: bool,
    /// When it gives the I/Os of its queue to the device in their order.
    pub keeps_order: KeepsOrder,
    /// Supports untorn writes (RWF_ATOMIC).
    pub atomic_writes: bool,
    /// Sends commands to the device directly, without the checks of the block layer and file systems.
    pub raw_commands: bool,
    /// Can tell the device where to place writes (`dataplacement`).
    pub places_writes: bool,
    /// The kernel may read the buffer of an I/O after the I/O has completed.
    pub lends_buffers: bool,
    /// Reports show its rates in bits unless the job says otherwise.
    pub rates_in_bits: bool,
    /// Condition under which its files cannot be replaced while it runs.
    pub keeps_files: KeepsFiles,
    /// Options that apply to a whole queue and therefore cannot be used with one engine per thread.
    pub one_queue_options: &'static [&'static str],
    /// Can give the I/Os of several jobs to the kernel through one queue (`jobs_per_thread`).
    pub shares_queue: bool,
    /// Options with which a queue cannot be shared.
    pub alone_options: &'static [&'static str],
    /// Reason why an untrusted job file may not use it; `None` if it may.
    pub untrusted: Option<&'static str>,
    /// Reason why the kernel's events of calls do not show its I/Os (`--layers`); `None` if they do.
    pub unrecorded: Option<&'static str>,
}

impl Capabilities {
    /// Capabilities of an engine that does this work, needs files if it opens any, and has no special features.
    pub const fn new(submission: Submission, work: Work) -> Self {
        Capabilities {
            submission,
            work,
            needs_files: work.opens_files(),
            trim: false,
            virtual_time: false,
            one_per_file: false,
            keeps_order: KeepsOrder::Never,
            atomic_writes: false,
            raw_commands: false,
            places_writes: false,
            lends_buffers: false,
            rates_in_bits: false,
            keeps_files: KeepsFiles::Never,
            one_queue_options: &[],
            shares_queue: false,
            alone_options: &[],
            untrusted: None,
            unrecorded: match work {
                Work::Data => None,
                Work::Stream => Some("sends and receives, and uses no disk"),
                Work::Allocation | Work::Metadata => Some("reads and writes no data"),
                Work::Null | Work::Background => Some("does no I/O"),
            },
        }
    }
}

/// Engine of jobs without `ioengine=`.
pub const DEFAULT_ENGINE: &str = "psync";

/// Description of an I/O engine for parsing, help and planning. Each engine declares its own; the registry lists them
/// all.
#[derive(Clone, Copy, Debug)]
pub struct EngineSpec {
    /// Value of `ioengine=`.
    pub name: &'static str,
    /// One line for `--enghelp` and the documentation.
    pub help: &'static str,
    /// Capabilities and requirements.
    pub capabilities: Capabilities,
    /// Options that only this engine has.
    pub options: &'static [OptionSpec],
}

impl EngineSpec {
    /// Stands for an engine that is not known, such as that of another tool's report: asynchronous I/O on files.
    pub const UNKNOWN: EngineSpec = EngineSpec {
        name: "",
        help: "",
        capabilities: Capabilities { trim: true, ..Capabilities::new(Submission::Asynchronous, Work::Data) },
        options: &[],
    };

    /// True if one of the given options of the engine has this effect.
    pub fn has(&self, effect: Effect, given: &EngineOptions) -> bool {
        self.options.iter().filter(|option| option.effect == Some(effect)).any(|option| match given.get(option.name) {
            Some(Value::Flag(_) | Value::Integer(_)) => given.is_on(option.name),
            value => value.is_some(),
        })
    }
}

/// Values of an engine's own options, by main name. Options that were not given are absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EngineOptions {
    values: BTreeMap<&'static str, Value>,
}

impl EngineOptions {
    /// Sets an option by its main name.
    pub fn set(&mut self, name: &'static str, value: Value) {
        self.values.insert(name, value);
    }

    /// Returns the value of an option, if it was given.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// True if a flag or bool option is given and on.
    pub fn is_on(&self, name: &str) -> bool {
        match self.values.get(name) {
            Some(Value::Flag(on)) => *on,
            Some(Value::Integer(number)) => *number != 0,
            _ => false,
        }
    }

    /// Returns the value of an integer, size or time option, if it was given.
    pub fn integer(&self, name: &str) -> Option<i64> {
        match self.values.get(name) {
            Some(Value::Integer(number)) => Some(*number),
            _ => None,
        }
    }

    /// Returns the value of a text or word option, if it was given.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.values.get(name) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }
}
