//! What the parser must know of an I/O engine: its name, its abilities and its own options.

use crate::option::{OptionSpec, Value};
use std::collections::BTreeMap;

/// How an engine takes an I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submission {
    /// `submit` returns when the I/O is done: one I/O in flight per worker, no submission latency.
    Synchronous,
    /// `submit` only queues: many in flight, submission and completion are told apart.
    Asynchronous,
    /// Synchronous at depth 1, asynchronous above (the null engine).
    ByDepth,
}

/// What one I/O of an engine is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Work {
    /// Data goes to a file or comes from it.
    #[default]
    Data,
    /// Data goes to a peer or comes from one, in order and in one direction; no file is opened.
    Stream,
    /// A call on an open file that moves no data: it reserves, cuts or moves space.
    Space,
    /// A call on the name of a file or directory, once per file and pass; none is opened.
    Names,
    /// Nothing at all, which counts as if data had moved.
    Pretence,
    /// Something that is no I/O: burning CPU, watching a program. It moves no bytes and goes on until others are done.
    Company,
}

impl Work {
    /// Whether what was written can be read back and compared.
    pub const fn moves_data(self) -> bool {
        matches!(self, Work::Data | Work::Stream)
    }

    /// Whether the engine works on descriptors of its files.
    pub const fn opens_files(self) -> bool {
        matches!(self, Work::Data | Work::Space)
    }
}

/// What an engine can and needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// How it takes an I/O.
    pub submission: Submission,
    /// What one of its I/Os is.
    pub work: Work,
    /// Does I/O on files that must exist; without it nothing is laid out and no disk is watched.
    pub needs_files: bool,
    /// Can discard ranges.
    pub trim: bool,
    /// Runs in virtual time.
    pub virtual_time: bool,
}

/// One I/O engine as the words see it. The engine's own file declares it; the registry collects them.
#[derive(Clone, Copy, Debug)]
pub struct EngineSpec {
    /// The word after `ioengine=`.
    pub name: &'static str,
    /// One line for `--enghelp` and the docs.
    pub help: &'static str,
    /// What it can and needs.
    pub capabilities: Capabilities,
    /// Options that exist only with this engine.
    pub options: &'static [OptionSpec],
}

/// The values given to an engine's own options, by main name. Absent means not given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EngineOptions {
    values: BTreeMap<&'static str, Value>,
}

impl EngineOptions {
    /// Sets an option by its main name.
    pub fn set(&mut self, name: &'static str, value: Value) {
        self.values.insert(name, value);
    }

    /// The value of an option, if it was given.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// Whether a flag or bool option is on; absent is off.
    pub fn is_on(&self, name: &str) -> bool {
        match self.values.get(name) {
            Some(Value::Flag(on)) => *on,
            Some(Value::Integer(number)) => *number != 0,
            _ => false,
        }
    }

    /// The value of an integer, size or time option, if it was given.
    pub fn integer(&self, name: &str) -> Option<i64> {
        match self.values.get(name) {
            Some(Value::Integer(number)) => Some(*number),
            _ => None,
        }
    }

    /// The value of a text or word option, if it was given.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.values.get(name) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }
}
