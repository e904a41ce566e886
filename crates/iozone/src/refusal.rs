//! The ends of reading a command line that are not a run.

/// Why nothing is run, or what is printed instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// iozone's own words to standard output, and getopt's to standard error, with a status.
    Original {
        /// The status.
        status: u8,
        /// To standard output.
        out: String,
        /// To standard error.
        err: String,
    },
    /// plumb does not do it: a message.
    NotBuilt(String),
    /// This process is a member of a cluster: the rest comes through standard input.
    Member,
    /// The help was asked for.
    Help,
    /// The version was asked for.
    Version,
}
