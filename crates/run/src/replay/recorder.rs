//! Writes an I/O log of a run: fio's iolog, version 3. Rows are collected in memory that is allocated at the start, and
//! written to the file when it is full.

use crate::error::{file_error, job_refusal};
use crate::files::PlannedFile;
use formats::iolog::{self, FileAction};
use load::{RecordFailure, Request, Witness};
use measure::Nanos;
use model::JobError;
use plan::JobPlan;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

/// Rows that are collected before they are written.
const ROWS: usize = 4096;

#[derive(Clone, Copy, Debug)]
enum LoggedAction {
    Io(Request),
    /// The file of this number was closed.
    Close(u32),
}

/// The I/O log of one worker.
#[derive(Debug)]
pub(crate) struct Recorder {
    path: PathBuf,
    file: File,
    /// The names of all files of the job, of which fewer may be open at a time.
    names: Vec<String>,
    /// Per file: true if its `open` line has been written.
    open: Vec<bool>,
    started: Nanos,
    rows: Vec<(Nanos, LoggedAction)>,
    text: Vec<u8>,
    failure: Option<RecordFailure>,
}

impl Recorder {
    /// Opens the job's I/O log for appending; `None` if it asks for none. Fails if it cannot be opened, or the format
    /// cannot represent a file name.
    pub(crate) fn open(job: &JobPlan, files: &[PlannedFile]) -> Result<Option<Box<Recorder>>, JobError> {
        let Some(path) = &job.record.iolog else { return Ok(None) };
        let mut names = Vec::with_capacity(files.len());
        for planned in files {
            let name = planned.path.to_str().filter(|name| iolog::is_writable_name(name)).ok_or_else(|| {
                let what = format_args!(
                    "the name {:?} cannot stand in the record of write_iolog: it must be UTF-8 text \
                     without line breaks and without blanks at its ends",
                    planned.path
                );
                job_refusal(job, libc::EINVAL, "write_iolog", what)
            })?;
            names.push(name.to_owned());
        }
        let file = sys::files::output_file::append(path).map_err(|error| file_error("write_iolog", path, error, ""))?;
        let mut text = Vec::with_capacity(ROWS * 48);
        iolog::header(&mut text);
        for name in &names {
            iolog::file_line(&mut text, Nanos::ZERO, name, FileAction::Add);
        }
        Ok(Some(Box::new(Recorder {
            path: path.clone(),
            file,
            open: vec![false; names.len()],
            names,
            started: Nanos::ZERO,
            rows: Vec::with_capacity(ROWS),
            text,
            failure: None,
        })))
    }

    fn add(&mut self, now: Nanos, row: LoggedAction) {
        self.rows.push((now, row));
        if self.rows.len() == ROWS {
            self.write_out();
        }
    }

    #[cold]
    fn write_out(&mut self) {
        for (now, row) in self.rows.drain(..) {
            let at = now.saturating_sub(self.started);
            let (LoggedAction::Io(Request { file, .. }) | LoggedAction::Close(file)) = row;
            let (name, open) = (&self.names[file as usize], &mut self.open[file as usize]);
            let was_open = std::mem::replace(open, matches!(row, LoggedAction::Io(_)));
            match row {
                LoggedAction::Io(Request { operation, offset, length, .. }) => {
                    if !was_open {
                        iolog::file_line(&mut self.text, at, name, FileAction::Open);
                    }
                    iolog::operation_line(&mut self.text, at, name, operation, offset, length);
                }
                LoggedAction::Close(_) if was_open => iolog::file_line(&mut self.text, at, name, FileAction::Close),
                LoggedAction::Close(_) => {}
            }
        }
        let written = self.file.write_all(&self.text);
        self.text.clear();
        if let Err(error) = written
            && self.failure.is_none()
        {
            let JobError { errno, message, .. } = file_error("write_iolog", &self.path, error, "");
            self.failure = Some(RecordFailure { errno, operation: "write_iolog", message });
        }
    }
}

impl Witness for Recorder {
    fn begin(&mut self, now: Nanos) {
        self.started = now;
    }

    fn issued(&mut self, now: Nanos, request: &Request) {
        self.add(now, LoggedAction::Io(*request));
    }

    fn closed(&mut self, now: Nanos, file: u32) {
        self.add(now, LoggedAction::Close(file));
    }

    fn finish(&mut self, now: Nanos) -> Result<(), RecordFailure> {
        self.write_out();
        let at = now.saturating_sub(self.started);
        for (name, _) in self.names.iter().zip(&self.open).filter(|&(_, &open)| open) {
            iolog::file_line(&mut self.text, at, name, FileAction::Close);
        }
        self.write_out();
        self.failure.take().map_or(Ok(()), Err)
    }
}
