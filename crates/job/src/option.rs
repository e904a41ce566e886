//! One row per option: the shape from which parser, help, echo and docs derive.

/// What kind of value an option takes, with its limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Any text.
    Text,
    /// One of these words.
    Word(&'static [(&'static str, &'static str)]),
    /// A whole number between the two bounds, both included.
    Integer {
        /// The smallest value allowed.
        least: i64,
        /// The largest value allowed.
        most: i64,
    },
    /// An amount of bytes: `4k`, `1m`, `10%` where `percent` allows it.
    Size {
        /// Whether `N%` is allowed.
        percent: bool,
    },
    /// Up to three amounts or numbers, for reads, writes and trims.
    ThreeWay,
    /// Up to three ranges `a-b`, for reads, writes and trims.
    Range,
    /// A span of time; a bare number is in this unit.
    Time(TimeUnit),
    /// 0 or 1.
    Bool,
    /// 0, 1 or nothing (which means 1).
    Flag,
    /// Floats separated by `:`.
    Floats {
        /// How many at most.
        most: usize,
    },
}

/// The unit of a bare number in a time option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
}

/// Whether an option works in this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// It works.
    Works,
    /// Known and not done: using it is refused by name with this reason.
    Refused(&'static str),
}

/// One option, declared once.
#[derive(Clone, Copy, Debug)]
pub struct OptionSpec {
    /// The main name.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// What it takes.
    pub kind: Kind,
    /// What holds when it is not given, as text; `None` for "no default".
    pub default: Option<&'static str>,
    /// One line of help.
    pub help: &'static str,
    /// The heading it stands under in the docs.
    pub group: &'static str,
    /// Whether it works.
    pub support: Support,
}

/// A parsed value of an engine option.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A flag or bool.
    Flag(bool),
    /// An integer, an amount in bytes, or a time in nanoseconds.
    Integer(i64),
    /// Text or a word.
    Text(String),
    /// Floats in order.
    Floats(Vec<f64>),
}

/// Every option of a job, in the order in which help lists them.
pub fn all() -> impl Iterator<Item = &'static OptionSpec> {
    crate::table::rows().map(|row| &row.spec)
}

/// A plain amount of bytes, as written in an engine's option that holds several: `4k`, `1m`, `4096`.
pub fn bytes(text: &str) -> Option<u64> {
    match crate::values::amount(text.trim(), crate::values::UnitBase::Binary) {
        Ok(crate::values::Amount::Bytes(bytes)) => Some(bytes),
        _ => None,
    }
}
