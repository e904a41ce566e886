//! Width of the text that plumb prints: that of the terminal.

use std::os::fd::AsFd;

/// Width of text that goes to no terminal.
pub(crate) const USUAL: usize = 80;
/// Width beyond which running text is hard to read; tables may be wider.
const LONGEST_LINE: usize = 100;
/// Least width that is believed; less is taken for a terminal that does not know its size.
const LEAST: usize = 20;

/// Columns of standard output: those of the environment variable `COLUMNS`, else of its terminal; `None` if it is not a terminal.
pub(crate) fn of_stdout() -> Option<usize> {
    asked().or_else(|| columns(&std::io::stdout()))
}

/// The same of standard error.
pub(crate) fn of_stderr() -> Option<usize> {
    asked().or_else(|| columns(&std::io::stderr()))
}

/// Width of running text in a terminal of this width.
pub(crate) fn of_text(terminal: Option<usize>) -> usize {
    terminal.map_or(USUAL, |width| width.min(LONGEST_LINE))
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
}
