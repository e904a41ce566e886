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

impl OptionSpec {
    /// An option that works, without a default or an effect.
    pub const fn new(name: &'static str, aliases: &'static [&'static str], kind: Kind, help: &'static str) -> Self {
        OptionSpec { name, aliases, kind, default: None, help, support: Support::Works, effect: None }
    }

    /// The same option with a default.
    pub const fn default(mut self, text: &'static str) -> Self {
        self.default = Some(text);
        self
    }

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

/// Declares the options of an engine: `NAME | ALIAS: KIND, DEFAULT => METHOD(ARGUMENT); HELP;`, with a method of
/// [`OptionSpec`]. After `with` stand options that other engines have, too.
///
/// ```
/// use plan::option::{Effect, OptionSpec};
///
/// const OPTIONS: &[OptionSpec] = plan::options! {
///     "hipri": FLAG, "0" => with(Effect::Polls); "Poll the device for completions";
///     "protocol" | "proto": TEXT; "How the ends speak";
/// };
/// assert_eq!((OPTIONS[0].default, OPTIONS[1].aliases), (Some("0"), ["proto"].as_slice()));
/// ```
#[macro_export]
macro_rules! options {
    ($($name:literal $(| $alias:literal)*: $kind:expr $(, $default:expr)? $(=> $method:ident($argument:expr))?;
        $help:expr;)* $(with $($other:expr),+;)?) => {{
        #[allow(unused_imports, reason = "no engine has options of all kinds")]
        use $crate::option::kind::*;
        &[
            $($crate::option::OptionSpec::new($name, &[$($alias),*], $kind, $help)
                $(.default($default))? $(.$method($argument))?,)*
            $($($other),+)?
        ]
    }};
}

/// Kinds that many options share.
pub mod kind {
    use super::{Kind, TimeUnit};

    /// Any text.
    pub const TEXT: Kind = Kind::Text;
    /// 0 or 1.
    pub const BOOL: Kind = Kind::Bool;
    /// 0, 1 or nothing.
    pub const FLAG: Kind = Kind::Flag;
    /// Up to three sizes or numbers.
    pub const THREE: Kind = Kind::ThreeWay;
    /// Up to three ranges.
    pub const RANGE: Kind = Kind::Range;
    /// Times whose numbers without a unit are seconds.
    pub const SECONDS: Kind = Kind::Time(TimeUnit::Seconds);
    /// Times whose numbers without a unit are microseconds.
    pub const MICROSECONDS: Kind = Kind::Time(TimeUnit::Microseconds);
    /// 0 to 2^32 - 1.
    pub const COUNT: Kind = between(0, u32::MAX as i64);
    /// 1 to 2^32 - 1.
    pub const POSITIVE: Kind = between(1, u32::MAX as i64);
    /// 0 to 100.
    pub const PERCENT: Kind = between(0, 100);
    /// Bytes; percentages are not accepted.
    pub const BYTES: Kind = Kind::Size { percent: false };
    /// Bytes or a percentage of the file.
    pub const SHARE: Kind = Kind::Size { percent: true };

    /// A whole number between two bounds, inclusive.
    pub const fn between(least: i64, most: i64) -> Kind {
        Kind::Integer { least, most }
    }

    /// Up to this many fractions separated by `:`.
    pub const fn floats(most: usize) -> Kind {
        Kind::Floats { most }
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

/// An option of a command line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WrittenOption {
    /// The heading that it is listed under.
    pub heading: String,
    /// All spellings with their dashes: `-o`, `--output`. Never empty.
    pub spellings: Vec<String>,
    /// Its value.
    pub value: WrittenValue,
    /// One sentence on its effect, without a full stop.
    pub help: String,
    /// Further facts: its default, the reason why it is refused.
    pub facts: Vec<String>,
}

/// The value of an option.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WrittenValue {
    /// Where it is written.
    pub placing: Placing,
    /// Its placeholder, such as `FILE`; empty without a value.
    pub placeholder: String,
    /// The words that it can be, each with its help; empty if it is free.
    pub words: Vec<(String, String)>,
}

/// The place of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placing {
    /// There is no value.
    #[default]
    Nowhere,
    /// In the next word: `-o FILE`.
    Next,
    /// After `=`, or in the next word: `--output=FILE`.
    Joined,
    /// After `=` only, and it may be left out: `--strict[=LIST]`.
    JoinedOrAbsent,
    /// After `=` only: `--dec=N`.
    OnlyJoined,
    /// In the next word, unless that is another option: `-p [DEVICE]`.
    NextOrAbsent,
}

impl WrittenValue {
    /// A value with this placeholder.
    pub fn new(placing: Placing, placeholder: &str) -> Self {
        WrittenValue { placing, placeholder: placeholder.to_owned(), words: Vec::new() }
    }

    /// The same value, of which only these words are valid.
    pub fn of_words<'a>(self, words: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let words = words.into_iter().map(|(word, help)| (word.to_owned(), help.to_owned())).collect();
        WrittenValue { words, ..self }
    }
}

impl WrittenOption {
    /// An option with one spelling.
    pub fn new(heading: &str, spelling: impl Into<String>, value: WrittenValue, help: &str) -> Self {
        let (heading, help) = (heading.to_owned(), help.to_owned());
        WrittenOption { heading, spellings: vec![spelling.into()], value, help, facts: Vec::new() }
    }
}
