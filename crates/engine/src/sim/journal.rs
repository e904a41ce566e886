//! The journal of the simulated device: sizes of submissions and reaps, for tests of batching.

use super::NAME;
use crate::contract::EngineError;
use std::fs::File;
use std::io::{BufWriter, Error, Write};
use std::path::Path;

/// One line per flush and reap. What is still buffered is written when the engine is dropped.
#[derive(Debug)]
pub(super) struct Journal {
    file: BufWriter<File>,
}

impl Journal {
    pub(super) fn create(path: &str) -> Result<Self, EngineError> {
        let file =
            sys::aside::create(Path::new(path)).map_err(|error| broken(&format!("cannot create {path}"), &error))?;
        Ok(Journal { file: BufWriter::new(file) })
    }

    pub(super) fn submitted(&mut self, count: u32) -> Result<(), EngineError> {
        writeln!(self.file, "submit {count}").map_err(|error| broken("cannot write", &error))
    }

    pub(super) fn reaped(&mut self, min: u32, max: u32, count: u32) -> Result<(), EngineError> {
        writeln!(self.file, "reap {min} {max} {count}").map_err(|error| broken("cannot write", &error))
    }
}

fn broken(what: &str, error: &Error) -> EngineError {
    EngineError {
        engine: NAME,
        operation: "sim_journal",
        message: format!("{what}: {error}"),
        errno: sys::aside::errno(error),
    }
}
