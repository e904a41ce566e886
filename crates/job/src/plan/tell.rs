//! What a run tells of itself while it lasts (`--debug`).

/// A subject to tell of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Subject {
    /// The life of the workers.
    Process,
    /// Files that are opened.
    File,
    /// Each I/O, when it is issued and when it came back.
    Io,
    /// Options as they are read.
    Parse,
    /// Blocks that are read back.
    Verify,
    /// The seeds of all random decisions.
    Random,
    /// Waits that keep a rate.
    Rate,
    /// The clock, and when measuring begins and ends.
    Time,
    /// The samples that steady state is judged by.
    SteadyState,
}

impl Subject {
    /// All of them, in the order in which help lists them.
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

    /// The word in options, and in front of each line.
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

/// What is told of, and of whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TellPlan {
    subjects: u16,
    /// Only of the worker with this number over the whole run, from 1; `None` of all.
    pub worker: Option<u32>,
}

impl TellPlan {
    /// Adds a subject.
    pub const fn add(&mut self, subject: Subject) {
        self.subjects |= subject.bit();
    }

    /// Whether this subject is told of.
    pub const fn has(self, subject: Subject) -> bool {
        self.subjects & subject.bit() != 0
    }

    /// Whether anything is told of this worker.
    pub fn is_of(self, worker: u32) -> bool {
        self.subjects != 0 && self.worker.is_none_or(|only| only == worker)
    }

    /// Whether each I/O has to be looked at when it came back.
    pub const fn follows_ios(self) -> bool {
        self.has(Subject::Io)
    }
}
