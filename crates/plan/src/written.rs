//! An option as it is written on a command line. Man pages and completions are made of these, whichever table they come
//! from.

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
