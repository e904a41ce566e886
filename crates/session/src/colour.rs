//! Colour for verdicts on a terminal. The words stay the same, so that nothing is lost where there is no colour.

use std::io::IsTerminal;

/// How good a verdict is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Green: it can be relied on; yes.
    Good,
    /// Yellow: with limits, or not known.
    Limited,
    /// Red: it cannot be relied on; no.
    Bad,
}

impl Tone {
    /// The sequence that begins bold text in this colour, of the terminal's own eight.
    const fn begin(self) -> &'static str {
        match self {
            Tone::Good => "\x1b[1;32m",
            Tone::Limited => "\x1b[1;33m",
            Tone::Bad => "\x1b[1;31m",
        }
    }
}

/// The verdicts of the checks, with the colon that every sentence with a verdict has behind it.
pub const GRADES: [(&str, Tone); 4] = [
    ("NOT A STORAGE RESULT:", Tone::Bad),
    ("VALID WITH LIMITS:", Tone::Limited),
    ("NOT CHECKED:", Tone::Limited),
    ("TRUSTED:", Tone::Good),
];

/// The grades at the end of a remark.
pub const MARKS: [(&str, Tone); 3] =
    [("[NOT A STORAGE RESULT]", Tone::Bad), ("[VALID WITH LIMITS]", Tone::Limited), ("[NOT CHECKED]", Tone::Limited)];

/// Verdicts on a change from one side to the other: sentences, then the words of a row of a table.
pub const CHANGES: [(&str, Tone); 18] = [
    ("No answer", Tone::Limited),
    ("New errors", Tone::Bad),
    ("Worse: ", Tone::Bad),
    ("Better: ", Tone::Good),
    ("Nothing changed by more than", Tone::Good),
    ("No change beyond the noise", Tone::Limited),
    ("B is slower", Tone::Bad),
    ("B is faster", Tone::Good),
    ("A and B are the same", Tone::Good),
    ("Cannot tell if A and B differ", Tone::Limited),
    ("▼ worse", Tone::Bad),
    ("▲ better", Tone::Good),
    ("= same", Tone::Good),
    ("≠ differs", Tone::Limited),
    ("Worse, perhaps by less than", Tone::Bad),
    ("Better, perhaps by less than", Tone::Good),
    ("? cannot tell", Tone::Limited),
    ("NOT A STORAGE RESULT", Tone::Bad),
];

/// Use of colours in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    /// A terminal that shows them.
    Shown,
    /// Plain text: a pipe, a file, a terminal without colours, or the user wants none.
    Plain,
}

impl Colours {
    /// Colours on standard output: a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`.
    pub fn of_stdout() -> Self {
        Self::of(&std::io::stdout())
    }

    /// The same on standard error.
    pub fn of_stderr() -> Self {
        Self::of(&std::io::stderr())
    }

    fn of(stream: &impl IsTerminal) -> Self {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        if stream.is_terminal() && !is_set("NO_COLOR") && !is_dumb { Colours::Shown } else { Colours::Plain }
    }

    /// The text with its first verdict of each line in colour. The text must be safe to print already.
    pub fn paint(self, text: &str, verdicts: &[(&str, Tone)]) -> String {
        if self == Colours::Plain {
            return text.to_owned();
        }
        text.split_inclusive('\n').map(|line| painted(line, verdicts)).collect()
    }
}

fn painted(line: &str, verdicts: &[(&str, Tone)]) -> String {
    let found = verdicts.iter().find_map(|&(words, tone)| Some((line.find(words)?, words, tone)));
    let Some((at, words, tone)) = found else { return line.to_owned() };
    let (before, rest) = line.split_at(at);
    format!("{before}{}{words}\x1b[0m{}", tone.begin(), &rest[words.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Grade;

    #[test]
    fn a_verdict_is_coloured_and_its_words_stay() {
        let text = "plumb: verdict: NOT A STORAGE RESULT: cache; limits: depth.\nIOPS 3\n";
        let shown = Colours::Shown.paint(text, &GRADES);
        assert_eq!(
            shown.lines().next(),
            Some("plumb: verdict: \x1b[1;31mNOT A STORAGE RESULT:\x1b[0m cache; limits: depth.")
        );
        assert_eq!(shown.lines().nth(1), Some("IOPS 3"));
        assert_eq!(Colours::Plain.paint(text, &GRADES), text);
    }

    #[test]
    fn every_grade_has_its_colour() {
        for grade in [Grade::Trusted, Grade::NotChecked, Grade::ValidWithLimits, Grade::NotAStorageResult] {
            let line = format!("{}: x", analysis::grade_title(grade));
            assert_ne!(Colours::Shown.paint(&line, &GRADES), line, "{line}");
        }
    }
}
