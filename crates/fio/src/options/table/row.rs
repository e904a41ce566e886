//! A row of the option table: the declaration of an option and its effect on a draft.

use crate::error::{Complaint, did_you_mean};
use crate::options::draft::Draft;
use crate::options::values::{Amount, Triple, UnitBase, amount, count, integer, ranges, span_of_time, triple};
use measure::{Nanos, PerDirection};
use plan::option::{Kind, OptionSpec};

/// Facts about the machine that a value may refer to.
pub(crate) struct Context<'a> {
    /// Number of CPUs.
    pub cpus: u32,
    /// Unit base of numbers.
    pub unit_base: UnitBase,
    /// Reads a file named in a value.
    pub read: &'a dyn Fn(&str) -> Option<Vec<u8>>,
}

/// The end of a setter.
pub(super) type Outcome = Result<(), Complaint>;

/// The effect of an option on a draft, by the type of its value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Set {
    /// Takes the text unchanged.
    Text(fn(&mut Draft, &str, &Context<'_>) -> Outcome),
    /// Takes a word of the list, and the text after `:`.
    Word(fn(&mut Draft, &str, Option<&str>) -> Outcome),
    /// Takes a number that fits 32 bits.
    Count(fn(&mut Draft, u32) -> Outcome),
    /// Takes a number that fits 8 bits.
    Small(fn(&mut Draft, u8) -> Outcome),
    /// Takes a non-negative number.
    Number(fn(&mut Draft, u64) -> Outcome),
    /// Takes a signed number.
    Signed(fn(&mut Draft, i32) -> Outcome),
    /// Takes an amount in bytes, percent or zones.
    Amount(fn(&mut Draft, Amount) -> Outcome),
    /// Takes up to three numbers: for reads, writes and trims.
    Three(fn(&mut Draft, Triple<u64>) -> Outcome),
    /// Takes up to three ranges: for reads, writes and trims.
    Ranges(fn(&mut Draft, Triple<(u64, u64)>) -> Outcome),
    /// Takes a time.
    Time(fn(&mut Draft, Nanos) -> Outcome),
    /// Takes a Boolean.
    Switch(fn(&mut Draft, bool) -> Outcome),
    /// Has no effect, as in fio; giving it is a warning.
    NoEffect,
    /// Refused with this reason, unless nothing is run or the value is the default.
    Refused(&'static str),
    /// Refused with this reason even if nothing is run, as in fio.
    Never(&'static str),
}

/// One option: its declaration and its effect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OptionRow {
    /// The declaration.
    pub spec: OptionSpec,
    /// The effect.
    pub set: Set,
    /// Options with a lower number are applied first within a section, and shown first by `--showcmd` and in JSON.
    pub order: u8,
}

impl OptionRow {
    /// An option with this effect.
    pub(super) const fn new(spec: OptionSpec, set: Set) -> Self {
        match set {
            Set::Refused(reason) | Set::Never(reason) => OptionRow { spec: spec.refused(reason), set, order: 1 },
            _ => OptionRow { spec, set, order: 1 },
        }
    }

    /// Applies the option before the others of its section.
    pub(crate) const fn first(mut self) -> Self {
        self.order = 0;
        self
    }

    /// Applies the option after the others of its section, but for those of an engine.
    pub(crate) const fn last(mut self) -> Self {
        self.order = 2;
        self
    }

    /// Parses `text` by the option's kind and passes the value to the setter.
    pub(crate) fn apply(&self, draft: &mut Draft, text: Option<&str>, context: &Context<'_>) -> Outcome {
        let base = context.unit_base;
        let text = match (text.map(str::trim), self.spec.kind) {
            (Some(""), Kind::Text) | (None, Kind::Text) if self.spec.name.starts_with("write_") => "",
            (None, Kind::Flag) => "1",
            (None | Some(""), _) => return Err(needs_a_value(&self.spec)),
            (Some(text), _) => text,
        };
        match self.set {
            Set::Text(set) => set(draft, text, context),
            Set::Word(set) => {
                let Kind::Word(words) = self.spec.kind else { return Err(Complaint::plain("takes no word")) };
                let (word, rest) = text.split_once(':').map_or((text, None), |(word, rest)| (word, Some(rest)));
                check_word(word, words)?;
                set(draft, word, rest)
            }
            Set::Count(set) => {
                let number = bounded(self.spec.kind, text, base)?;
                set(draft, u32::try_from(number).map_err(|_| Complaint::plain("is too large"))?)
            }
            Set::Small(set) => {
                let number = bounded(self.spec.kind, text, base)?;
                set(draft, u8::try_from(number).map_err(|_| Complaint::plain("is too large"))?)
            }
            Set::Number(set) => {
                let number = bounded(self.spec.kind, text, base)?;
                set(draft, u64::try_from(number).map_err(|_| Complaint::plain("is negative"))?)
            }
            Set::Signed(set) => {
                let number = bounded(self.spec.kind, text, base)?;
                set(draft, i32::try_from(number).map_err(|_| Complaint::plain("is too large"))?)
            }
            Set::Amount(set) => set(draft, amount(text, base)?),
            Set::Three(set) => set(draft, triple(text, base)?),
            Set::Ranges(set) => set(draft, ranges(text, base)?),
            Set::Time(set) => {
                let Kind::Time(bare) = self.spec.kind else { return Err(Complaint::plain("takes no time")) };
                set(draft, span_of_time(text, bare)?)
            }
            Set::Switch(set) => set(draft, switch(text)?),
            Set::NoEffect if self.spec.kind == Kind::Text => Ok(()),
            Set::NoEffect => bounded(self.spec.kind, text, base).map(|_| ()),
            Set::Refused(_) | Set::Never(_) => Err(Complaint::plain("is not supported")),
        }
    }
}

/// Parses a number within the bounds of the kind.
pub(crate) fn bounded(kind: Kind, text: &str, base: UnitBase) -> Result<i64, Complaint> {
    let (number, least, most) = match kind {
        Kind::Integer { least, most } => (count(text, base)?, least, most),
        _ => (integer(text, base)?, 0, i64::MAX),
    };
    if number < least {
        return Err(Complaint::plain(format!("is below the smallest value, {least}")));
    }
    if number > most {
        return Err(Complaint::plain(format!("is above the largest value, {most}")));
    }
    Ok(number)
}

/// Rejects a word that is not in the list.
pub(crate) fn check_word(word: &str, words: &[(&'static str, &'static str)]) -> Outcome {
    let known = || words.iter().map(|&(known, _)| known);
    if known().any(|known| known == word) {
        return Ok(());
    }
    let list = known().collect::<Vec<_>>().join(", ");
    let help = match did_you_mean(word, known()) {
        Some(guess) => format!("{guess} It takes {list}"),
        None => format!("it takes {list}"),
    };
    Err(Complaint::new("is not one of its values", help))
}

/// The mistake of an option without a value, with an example.
pub(crate) fn needs_a_value(spec: &OptionSpec) -> Complaint {
    let example = match spec.kind {
        Kind::Text => None,
        Kind::Word(words) => words.first().map(|&(word, _)| word),
        Kind::Integer { .. } | Kind::Bool | Kind::Flag => Some("1"),
        Kind::Size { .. } => Some("4k"),
        Kind::ThreeWay => spec.default.or(Some("4k")),
        Kind::Range => Some("4k-16k"),
        Kind::Time(_) => Some("10s"),
        Kind::Floats { .. } => Some("50:99"),
    };
    let help = example.map(|value| format!("write it like {}={value}", spec.name));
    Complaint { what: "needs a value".into(), help }
}

/// Parses 0 or 1.
pub(crate) fn switch(text: &str) -> Result<bool, Complaint> {
    match text {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err(Complaint::new("is neither 0 nor 1", "write 1 for yes, 0 for no")),
    }
}

/// Stores the converted values of the directions that were given; the others keep theirs.
pub(super) fn place<T, V>(
    target: &mut PerDirection<T>,
    values: Triple<V>,
    convert: impl Fn(V) -> Result<T, Complaint>,
) -> Outcome {
    let [read, write, trim] = values;
    for (slot, value) in [(&mut target.read, read), (&mut target.write, write), (&mut target.trim, trim)] {
        if let Some(value) = value {
            *slot = convert(value)?;
        }
    }
    Ok(())
}

/// Declares the rows of a file: `NAME | ALIAS: KIND, DEFAULT => SETTER, ORDER; HELP;`.
///
/// A setter is a variant of [`Set`] with the field of the draft that it fills: `Switch(job.files.direct)` as it is,
/// `Word(job.files.sync, sync)` by a function that may refuse the value, `Count(reap_max, |count| ...)` by an
/// expression, `Text(fn engine)` by a function on the draft.
macro_rules! rows {
    ($($name:literal $(| $alias:literal)*: $kind:expr $(, $default:expr)? => $set:ident($($how:tt)*)
        $(, $order:ident)?; $help:expr;)*) => {
        pub(super) const ROWS: &[$crate::options::table::OptionRow] = {
            #[allow(unused_imports, reason = "no file has options of all kinds")]
            use {
                $crate::options::table::row::{OptionRow, Set, place, set},
                plan::option::{OptionSpec, kind::*},
            };
            &[$(
                OptionRow::new(
                    OptionSpec::new($name, &[$($alias),*], $kind, $help)$(.default($default))?,
                    set!($set: $($how)*),
                )$(.$order())?
            ),*]
        };
    };
}
pub(crate) use rows;

/// The setter of a row, as [`rows`] describes it.
macro_rules! set {
    (NoEffect:) => { Set::NoEffect };
    (Refused: $reason:expr) => { Set::Refused($reason) };
    (Never: $reason:expr) => { Set::Never($reason) };
    ($kind:ident: fn $set:ident) => { Set::$kind($set) };
    (Text: $($field:ident).+) => { set!(Text: $($field).+, |text| Some(text.into())) };
    ($kind:ident: $($field:ident).+) => { set!($kind: $($field).+, |value| value.into()) };
    ($kind:ident: $($field:ident).+, $convert:ident) => { set!($kind: $($field).+, |value| $convert(value)?) };
    (Text: $($field:ident).+, |$text:ident| $value:expr) => {
        Set::Text(|draft, $text, _| { draft.$($field).+ = $value; Ok(()) })
    };
    (Text: $($field:ident).+, |$text:ident, $context:ident| $value:expr) => {
        Set::Text(|draft, $text, $context| { draft.$($field).+ = $value; Ok(()) })
    };
    (Word: $($field:ident).+, |$word:ident| $value:expr) => {
        Set::Word(|draft, $word, _| { draft.$($field).+ = $value; Ok(()) })
    };
    (Word: $($field:ident).+, |$word:ident, $rest:ident| $value:expr) => {
        Set::Word(|draft, $word, $rest| { draft.$($field).+ = $value; Ok(()) })
    };
    (Three: $($field:ident).+, |$number:ident| $value:expr) => {
        Set::Three(|draft, values| place(&mut draft.$($field).+, values, |$number| Ok($value)))
    };
    (Ranges: $($field:ident).+, |$range:ident| $value:expr) => {
        Set::Ranges(|draft, values| place(&mut draft.$($field).+, values, |$range| Ok($value)))
    };
    ($kind:ident: $($field:ident).+, |$given:ident| $value:expr) => {
        Set::$kind(|draft, $given| { draft.$($field).+ = $value; Ok(()) })
    };
}
pub(crate) use set;

/// Declares the words of an option, each with its value and help: their kind, and the function that returns the value
/// of a word.
macro_rules! words {
    ($kind:ident, $value_of:ident -> $type:ty { $($word:literal => $value:expr, $help:literal;)* }) => {
        const $kind: plan::option::Kind = plan::option::Kind::Word(&[$(($word, $help)),*]);

        fn $value_of(word: &str) -> Result<$type, $crate::error::Complaint> {
            match word {
                $($word => Ok($value),)*
                _ => Err($crate::error::Complaint::plain("is not one of its values")),
            }
        }
    };
}
pub(crate) use words;
