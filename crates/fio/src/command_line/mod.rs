//! The command line: its words, the options of the command itself, and the texts that answer a request for help.

pub(crate) mod debug;
pub(crate) mod help;
pub(crate) mod invocation;
pub(crate) mod network;
mod options;
pub(crate) mod reader;
pub(crate) mod showcmd;
pub(crate) mod written;
