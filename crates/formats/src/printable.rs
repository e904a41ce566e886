//! Untrusted text on a terminal: job names, paths and messages must not inject control sequences.

use std::borrow::Cow;

/// Makes `text` safe to print on one line: control characters become their visible symbols (`␛` for escape); Unicode
/// characters that change the direction of text or break lines become U+FFFD.
pub fn line(text: &str) -> Cow<'_, str> {
    replaced(text, steers)
}

/// The same for text of several lines: newlines and tabs are kept.
pub fn lines(text: &str) -> Cow<'_, str> {
    replaced(text, |letter| steers(letter) && !matches!(letter, '\n' | '\t'))
}

/// True for control characters, for the marks, embeddings, overrides and isolates of bidirectional text, which can
/// disguise a name as another, and for Unicode's line and paragraph separators.
fn steers(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

fn replaced(text: &str, wrong: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&wrong) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|letter| if wrong(letter) { picture(letter) } else { letter }).collect())
}

/// The symbol for a control character: Unicode has symbols for 0 to 31 and 127; others become U+FFFD.
fn picture(control: char) -> char {
    match u32::from(control) {
        code @ 0..=0x1f => char::from_u32(0x2400 + code).unwrap_or(char::REPLACEMENT_CHARACTER),
        0x7f => '\u{2421}',
        _ => char::REPLACEMENT_CHARACTER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_do_nothing() {
        for (text, one, many) in [
            ("plain µ ✓", "plain µ ✓", "plain µ ✓"),
            ("a\x1b[31m\"x\nb", "a␛[31m\"x␊b", "a␛[31m\"x\nb"),
            (
                "a\u{202e}b\u{2028}c\u{200f}\u{2066}d",
                "a\u{fffd}b\u{fffd}c\u{fffd}\u{fffd}d",
                "a\u{fffd}b\u{fffd}c\u{fffd}\u{fffd}d",
            ),
            ("שלום é \u{200d}", "שלום é \u{200d}", "שלום é \u{200d}"),
            ("\r\t\0\x7f\u{9b}2J", "␍␉␀␡\u{fffd}2J", "␍\t␀␡\u{fffd}2J"),
        ] {
            assert_eq!((line(text).as_ref(), lines(text).as_ref()), (one, many), "{text:?}");
        }
        assert!(matches!(lines("two\nlines"), Cow::Borrowed(_)));
    }
}
