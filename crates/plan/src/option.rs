//! Declaration of an option, from which parsing, help, job echo and documentation are derived.

pub use measure::text::TimeUnit;

/// Type of an option's value, with its limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Any text.
    Text,
    /// One of these words.
    Word(&'static [(&'static str, &'static str)]),
    /// A whole number between two bounds, inclusive.
    Integer {
        /// The smallest value allowed.
        least: i64,
        /// The largest value allowed.
        most: i64,
    },
    /// A number of bytes: `4k`, `1m`, or `10%` if `percent` is set.
    Size {
        /// True if `N%` is allowed.
        percent: bool,
    },
    /// Up to three sizes or numbers, for reads, writes and trims.
    ThreeWay,
    /// Up to three ranges `a-b`, for reads, writes and trims.
    Range,
    /// A time; numbers without a unit are in this one.
    Time(TimeUnit),
    /// 0 or 1.
    Bool,
    /// 0, 1 or nothing (which means 1).
    Flag,
    /// Floats separated by `:`.
    Floats {
        /// Maximum count.
        most: usize,
    },
}

/// Support for an option in this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// Supported.
    Works,
    /// Known but not supported: use of it is refused with this reason.
    Refused(&'static str),
}

/// One option, declared once.
#[derive(Clone, Copy, Debug)]
pub struct OptionSpec {
    /// The main name.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// Type of its value.
    pub kind: Kind,
    /// Default value as text; `None` for no default.
    pub default: Option<&'static str>,
    /// One line of help.
    pub help: &'static str,
    /// Supported or refused.
    pub support: Support,
    /// An effect that other crates must know; `None` for most options.
    pub effect: Option<Effect>,
}

/// An effect of an engine option that other crates must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Workers poll for completions on the CPU.
    Polls,
    /// A write reaches the medium before it completes (FUA).
    DurableWrites,
    /// Some I/Os have a higher priority than others.
    RaisesPriority,
    /// The job ends with the jobs that do I/O.
    EndsWithOthers,
}

/// An option that works, without other names or an effect.
pub const fn works(name: &'static str, kind: Kind, default: Option<&'static str>, help: &'static str) -> OptionSpec {
    OptionSpec { name, aliases: &[], kind, default, help, support: Support::Works, effect: None }
}

impl OptionSpec {
    /// The same option, refused with this reason.
    pub const fn refused(mut self, reason: &'static str) -> Self {
        self.support = Support::Refused(reason);
        self
    }

    /// The same option with an effect.
    pub const fn with(mut self, effect: Effect) -> Self {
        self.effect = Some(effect);
        self
    }
}

/// A parsed value of an engine option.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A flag or bool.
    Flag(bool),
    /// An integer, a size in bytes, or a time in nanoseconds.
    Integer(i64),
    /// Text or a word.
    Text(String),
    /// Floats in order.
    Floats(Vec<f64>),
}
