//! Width of the text that plumb prints: that of the terminal.

use std::iter;
use std::os::fd::AsFd;
use textwrap::core::Word;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Width of text that goes to no terminal.
pub const USUAL: usize = 80;
/// Width beyond which running text is hard to read; tables may be wider.
const LONGEST_LINE: usize = 100;
/// Least width that is believed; less is taken for a terminal that does not know its size.
const LEAST: usize = 20;

/// Columns of standard output: those of the environment variable `COLUMNS`, else of its terminal; `None` if it is not a
/// terminal.
pub fn of_stdout() -> Option<usize> {
    asked().or_else(|| columns(&std::io::stdout()))
}

/// The same of standard error.
pub fn of_stderr() -> Option<usize> {
    asked().or_else(|| columns(&std::io::stderr()))
}

/// Columns of a drawing in letters on standard output.
pub fn of_drawing() -> usize {
    of_stdout().unwrap_or(USUAL)
}

/// Width of running text in a terminal of this width.
pub fn of_text(terminal: Option<usize>) -> usize {
    terminal.map_or(USUAL, |width| width.min(LONGEST_LINE))
}

/// Wraps text at a width; all lines except the first begin with `indent`. Ends with a line break. A number is never
/// separated from its unit.
pub fn wrapped(text: &str, indent: &str, width: usize) -> String {
    let options = Options::new(width)
        .subsequent_indent(indent)
        .word_separator(WordSeparator::Custom(words))
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit)
        .break_words(false);
    textwrap::fill(text.trim_end(), options) + "\n"
}

/// Splits a text into words; a number and the word after it count as one, and so does a grade in brackets.
fn words(text: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    let is_number = |word: &str| word.chars().any(|c| c.is_ascii_digit()) && !word.contains(char::is_alphabetic);
    let goes_on =
        move |word: &str| is_number(word.trim_start_matches('(')) && !word.ends_with(['.', ',', ';', ':', ')']);
    let is_grade = |word: &str| word.chars().all(|c| c.is_ascii_uppercase() || c == '[');
    let mut rest = text;
    Box::new(iter::from_fn(move || {
        let mut end = 0;
        for word in rest.split_inclusive(' ') {
            end += word.len();
            let in_grade = rest.starts_with('[') && is_grade(word.trim_end());
            if !goes_on(word.trim_end()) && !in_grade {
                break;
            }
        }
        let (word, behind) = rest.split_at(end);
        rest = behind;
        (end > 0).then(|| Word::from(word))
    }))
}

/// A line of a command whose output scripts read line by line: wrapped for a terminal of this width, otherwise as it
/// is.
pub fn for_people(text: &str, indent: &str, width: Option<usize>) -> String {
    match width {
        Some(width) => wrapped(text, indent, width.min(LONGEST_LINE)),
        None => text.trim_end().to_owned() + "\n",
    }
}

fn asked() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok().filter(|&columns| columns >= LEAST)
}

fn columns(stream: &impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|&columns| columns >= LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_as_wide_as_the_terminal_up_to_what_is_readable() {
        for (terminal, width) in [(None, 80), (Some(60), 60), (Some(80), 80), (Some(200), 100)] {
            assert_eq!(of_text(terminal), width);
        }
    }

    #[test]
    fn text_is_wrapped_at_words() {
        let text = wrapped(&"seven77 ".repeat(25), "  ", USUAL);
        for line in text.lines() {
            assert!(line.chars().count() <= USUAL, "{text}");
        }
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.lines().nth(1).unwrap().starts_with("  seven77 "));
        assert_eq!(wrapped("a b", "", USUAL), "a b\n");
    }

    #[test]
    fn a_number_stays_with_its_unit() {
        let text = wrapped(&format!("{} and 9 tests of 4 s, 12,345 IOPS (95 %), 3.", "x".repeat(73)), "", USUAL);
        assert_eq!(text, format!("{} and\n9 tests of 4 s, 12,345 IOPS (95 %), 3.\n", "x".repeat(73)));
    }

    #[test]
    fn a_line_is_wrapped_for_a_terminal_only() {
        let line = "word ".repeat(40);
        assert_eq!(for_people(&line, "  ", None).lines().count(), 1);
        for columns in [60, 80, 200] {
            let text = for_people(&line, "  ", Some(columns));
            assert!(text.lines().count() > 1 && text.lines().all(|line| line.len() <= columns.min(100)), "{text}");
        }
    }
}
