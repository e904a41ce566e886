//! Problems in job files and command lines, and their messages: place, mistake, and a value that would work.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use std::fmt;
use std::ops::Range;

/// A text that is parsed: a job file, or the command line as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// The file's name as given, or `command line`.
    pub name: String,
    /// The text itself.
    pub text: String,
}

/// All texts of one invocation; a [`Place`] points into one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sources {
    texts: Vec<Source>,
}

/// A byte range within one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Index of the source.
    pub source: usize,
    /// Byte range within its text.
    pub span: Range<usize>,
}

impl Sources {
    /// Adds a text and returns its index.
    pub(crate) fn add(&mut self, name: &str, text: String) -> usize {
        self.texts.push(Source { name: name.to_owned(), text });
        self.texts.len() - 1
    }

    /// The text of a source.
    pub(crate) fn text(&self, source: usize) -> &str {
        self.texts.get(source).map_or("", |source| &source.text)
    }

    /// Describes a place: `mix.fio:12`, or `command line`.
    pub(crate) fn describe(&self, place: &Place) -> String {
        match self.texts.get(place.source) {
            Some(source) if source.name != COMMAND_LINE => {
                let start = place.span.start.min(source.text.len());
                let line = source.text.as_bytes()[..start].iter().filter(|&&byte| byte == b'\n').count() + 1;
                format!("{}:{line}", source.name)
            }
            _ => COMMAND_LINE.to_owned(),
        }
    }
}

/// The name under which the command line appears in messages.
pub(crate) const COMMAND_LINE: &str = "command line";

/// A mistake in a value, without the place of the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    /// The mistake as the end of a sentence: `is not a size` follows `bs=4q`.
    pub what: String,
    /// A suggestion: `write it like 4k, 1m or 4096`.
    pub help: Option<String>,
}

impl Complaint {
    /// A complaint with a suggestion.
    pub(crate) fn new(what: impl Into<String>, help: impl Into<String>) -> Self {
        Complaint { what: what.into(), help: Some(help.into()) }
    }

    /// A complaint without a suggestion.
    pub(crate) fn plain(what: impl Into<String>) -> Self {
        Complaint { what: what.into(), help: None }
    }
}

/// One error or warning, with the places that show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The job it belongs to, if any.
    pub job: Option<String>,
    /// The mistake.
    pub what: String,
    /// A suggestion.
    pub help: Option<String>,
    /// The words concerned; the first one gives the file and line.
    pub places: Vec<Place>,
}

impl Problem {
    /// A problem without a place.
    pub(crate) fn bare(what: impl Into<String>, help: Option<String>) -> Self {
        Problem { job: None, what: what.into(), help, places: Vec::new() }
    }

    /// A problem at one place.
    pub(crate) fn at(place: Place, what: impl Into<String>, help: Option<String>) -> Self {
        Problem { job: None, what: what.into(), help, places: vec![place] }
    }

    /// The same problem, attributed to a job.
    pub(crate) fn of_job(mut self, job: Option<&str>) -> Self {
        self.job = job.map(str::to_owned);
        self
    }

    /// The mistake and what would work: ``bs=4q is not a size; write it like 4k, 1m or 4096``.
    fn mistake(&self) -> String {
        let help = self.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        format!("{}{help}", self.what)
    }

    /// One line: ``job `a` (mix.fio:12): bs=4q is not a size; write it like 4k, 1m or 4096``.
    fn title(&self, sources: &Sources) -> String {
        let place = self.places.first().map(|place| sources.describe(place));
        let head = match (&self.job, place) {
            (Some(job), Some(place)) => format!("job `{job}` ({place}): "),
            (Some(job), None) => format!("job `{job}`: "),
            (None, Some(place)) => format!("{place}: "),
            (None, None) => String::new(),
        };
        head + &self.mistake()
    }

    /// The title and the lines concerned, with the words underlined.
    fn render(&self, sources: &Sources, level: Level<'_>) -> String {
        let title = self.title(sources);
        let mut group = Group::with_title(level.primary_title(title));
        let mut shown: Vec<usize> = Vec::new();
        for place in &self.places {
            let Some(source) = sources.texts.get(place.source) else { continue };
            if shown.contains(&place.source) {
                continue;
            }
            shown.push(place.source);
            let mut snippet = Snippet::source(source.text.as_str()).path(source.name.as_str());
            for (index, other) in self.places.iter().enumerate().filter(|(_, other)| other.source == place.source) {
                let kind = if index == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
                snippet = snippet.annotation(kind.span(clamp(&source.text, &other.span)));
            }
            group = group.element(snippet);
        }
        Renderer::plain().render(&[group])
    }
}

/// Cuts the span to the text and widens it to whole characters, as the renderer requires.
fn clamp(text: &str, span: &Range<usize>) -> Range<usize> {
    let mut start = span.start.min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let mut end = span.end.clamp(start, text.len());
    while !text.is_char_boundary(end) {
        end += 1;
    }
    start..end
}

/// Maximum number of problems that are shown in full; a file in another format would give one per line.
const MOST_SHOWN: usize = 20;

/// All problems found in a command line or job file, in the order of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobError {
    pub(crate) problems: Vec<Problem>,
    pub(crate) sources: Sources,
    /// True if the command line asked for nothing; the usage then follows the message.
    pub(crate) wants_usage: bool,
}

impl JobError {
    /// One line for each problem: where, what, and what would work.
    pub fn titles(&self) -> Vec<String> {
        self.problems.iter().map(|problem| problem.title(&self.sources)).collect()
    }

    /// The mistakes and what would work, without places: for options that were not written on a command line.
    pub fn mistakes(&self) -> String {
        self.problems.iter().map(Problem::mistake).collect::<Vec<_>>().join("; ")
    }

    /// True if the command line asked for nothing, so that the usage should follow the message.
    pub const fn wants_usage(&self) -> bool {
        self.wants_usage
    }
}

impl fmt::Display for JobError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().take(MOST_SHOWN).enumerate() {
            if index > 0 {
                writeln!(formatter)?;
            }
            write!(formatter, "{}", problem.render(&self.sources, Level::ERROR))?;
        }
        match self.problems.len().saturating_sub(MOST_SHOWN) {
            0 => Ok(()),
            more => write!(formatter, "\n... and {more} more"),
        }
    }
}

impl std::error::Error for JobError {}

/// A doubtful setting that did not prevent the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// One line: place and message.
    pub title: String,
    /// The line concerned, with the words underlined.
    pub rendered: String,
}

impl Warning {
    /// Converts a problem to a warning.
    pub(crate) fn of(problem: &Problem, sources: &Sources) -> Self {
        Warning { title: problem.title(sources), rendered: problem.render(sources, Level::WARNING) }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.rendered)
    }
}

/// Longest word, in characters, for which a similar name is searched: twice the longest option name.
const LONGEST_WORD: usize = 64;

/// Returns the candidate closest to a mistyped word, if it is close enough to be the one meant.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    // The result must be within half of the word's length, so a longer word has no match. The comparison's time and
    // memory grow with the product of both lengths.
    if length > LONGEST_WORD {
        return None;
    }
    let mut best = ((length / 2).max(1) + 1, None);
    for candidate in candidates {
        // The edit distance is at least the difference of the lengths, so most candidates need no comparison.
        if candidate.chars().count().abs_diff(length) < best.0 {
            let distance = strsim::damerau_levenshtein(word, candidate);
            if distance < best.0 {
                best = (distance, Some(candidate));
            }
        }
    }
    best.1
}

/// `did you mean X?`, if a candidate is close enough.
pub(crate) fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    closest(word, candidates).map(|candidate| format!("did you mean `{candidate}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn what_is_close_is_meant_and_what_is_far_is_not() {
        let names = ["iodepth", "iodepth_batch", "size", "bs", "größe"];
        assert_eq!(closest("iodeph", names), Some("iodepth"));
        assert_eq!(closest("isze", names), Some("size"));
        assert_eq!(closest("b", names), Some("bs"));
        assert_eq!(closest("gröse", names), Some("größe"));
        assert_eq!(closest("filename", names), None);
        assert_eq!(closest("", names), None);
    }

    /// Before the limit a file with 20,000 unknown words took 15 s, and one word of a megabyte would have exhausted
    /// memory.
    #[test]
    fn thousands_of_long_wrong_words_are_compared_with_few() {
        let names: Vec<String> = (0..500).map(|number| format!("an_option_{number}")).collect();
        let names = || names.iter().map(String::as_str);
        let began = Instant::now();
        for number in 0..20_000 {
            assert_eq!(closest(&format!("kq{number}{}", "x".repeat(56)), names()), None);
        }
        assert_eq!(closest(&"x".repeat(1 << 20), names()), None);
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    }
}
