//! Debug output during a run (`--debug`).

/// Subject of debug messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Subject {
    /// Start and end of workers.
    Process,
    /// Opened files.
    File,
    /// Issue and completion of each I/O.
    Io,
    /// Parsed options.
    Parse,
    /// Verified blocks.
    Verify,
    /// Seeds of the random generators.
    Random,
    /// Waits for rate limits.
    Rate,
    /// Clock, and start and end of the measurement.
    Time,
    /// Samples of steady state detection.
    SteadyState,
}

impl Subject {
    /// All subjects, in the order of the help.
    pub const ALL: [Subject; 9] = [
        Subject::Process,
        Subject::File,
        Subject::Io,
        Subject::Parse,
        Subject::Verify,
        Subject::Random,
        Subject::Rate,
        Subject::Time,
        Subject::SteadyState,
    ];

    /// Name in options, and at the start of each line.
    pub const fn word(self) -> &'static str {
        match self {
            Subject::Process => "process",
            Subject::File => "file",
            Subject::Io => "io",
            Subject::Parse => "parse",
            Subject::Verify => "verify",
            Subject::Random => "random",
            Subject::Rate => "rate",
            Subject::Time => "time",
            Subject::SteadyState => "steadystate",
        }
    }

    const fn bit(self) -> u16 {
        1 << self as u8
    }
}

/// Subjects and workers of the debug output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DebugPlan {
    subjects: u16,
    /// Number of the only worker to report on, from 1 over the whole run; `None` for all.
    pub worker: Option<u32>,
}

impl DebugPlan {
    /// Adds a subject.
    pub const fn add(&mut self, subject: Subject) {
        self.subjects |= subject.bit();
    }

    /// True if messages on this subject are printed.
    pub const fn has(self, subject: Subject) -> bool {
        self.subjects & subject.bit() != 0
    }

    /// True if any messages on this worker are printed.
    pub fn is_of(self, worker: u32) -> bool {
        self.subjects != 0 && self.worker.is_none_or(|only| only == worker)
    }

    /// True if the completion of each I/O is reported.
    pub const fn follows_ios(self) -> bool {
        self.has(Subject::Io)
    }
}
