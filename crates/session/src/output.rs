//! Output of results: standard output or a file. Every failed write is reported. Messages go to standard error.

use crate::colour::{Colours, Tone};
use crate::failure::Failure;
use crate::width;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::Path;

/// Name of the place that keeps nothing; no path is empty.
const NOWHERE: &str = "";

/// A place for results.
pub struct Output {
    name: String,
    writer: Box<dyn Write + Send>,
    to_stdout: bool,
    /// A second handle of the file, for [`Output::twin`]; `None` for standard output.
    file: Option<File>,
}

impl Output {
    /// Standard output.
    pub fn stdout() -> Self {
        let writer: Box<dyn Write + Send> = if sys::processes::standard_output::output_was_closed() {
            Box::new(NoStandardOutput)
        } else {
            Box::new(io::stdout())
        };
        Output { name: "standard output".into(), writer, to_stdout: true, file: None }
    }

    /// No place: for the text of a run whose result alone goes to standard output.
    pub fn nowhere() -> Self {
        Output { name: NOWHERE.into(), writer: Box::new(io::sink()), to_stdout: false, file: None }
    }

    /// A file that plumb creates, or created earlier; other existing files are refused.
    pub fn made(path: &Path) -> Result<Self, Failure> {
        Ok(Self::of(path, crate::safe_files::stream(path)?))
    }

    /// Standard output if no file or `-` is asked for, else the file as in [`Output::made`].
    pub fn asked(path: Option<&Path>) -> Result<Self, Failure> {
        match path.filter(|path| !crate::streams::is_stdout(path)) {
            Some(path) => Self::made(path),
            None => Ok(Self::stdout()),
        }
    }

    /// A file that is created or truncated, even if plumb did not create it, as fio and iozone do.
    pub fn file(path: &Path) -> Result<Self, Failure> {
        let failed = |error| Failure::at(path, format!("cannot be written: {error}"));
        let file = sys::files::output_file::create(path).map_err(failed)?;
        Ok(Self::of(path, file))
    }

    fn of(path: &Path, file: File) -> Self {
        let twin = file.try_clone().ok();
        Output { name: path.display().to_string(), writer: Box::new(file), to_stdout: false, file: twin }
    }

    /// True if the results go to standard output.
    pub fn is_stdout(&self) -> bool {
        self.to_stdout
    }

    /// True if the text goes to no place.
    pub fn is_nowhere(&self) -> bool {
        self.name == NOWHERE
    }

    /// Returns another handle of the same open file; of standard error if the text goes to no place. Both share the
    /// file offset, so neither overwrites the other's output.
    pub fn twin(&self) -> Result<File, Failure> {
        let twin = match &self.file {
            Some(file) => file.try_clone(),
            None if self.is_nowhere() => io::stderr().as_fd().try_clone_to_owned().map(File::from),
            None => io::stdout().as_fd().try_clone_to_owned().map(File::from),
        };
        twin.map_err(|error| Failure::writing(&self.name, &error))
    }

    /// Writes text for people, with the first of these verdicts of each line in colour where that is a terminal. The
    /// text must be safe to print already.
    pub fn write_painted(&mut self, text: &str, verdicts: &[(&str, Tone)]) -> Result<(), Failure> {
        let colours = if self.is_stdout() { Colours::of_stdout() } else { Colours::Plain };
        self.write(&colours.paint(text, verdicts))
    }

    /// Writes text unchanged and flushes it.
    pub fn write(&mut self, text: &str) -> Result<(), Failure> {
        let written = self.writer.write_all(text.as_bytes()).and_then(|()| self.writer.flush());
        written.map_err(|error| Failure::writing(&self.name, &error))
    }
}

/// Amount of text that a command prints besides its result and errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verbosity {
    /// Remarks, headings and progress.
    #[default]
    Usual,
    /// Nothing, as `--quiet` asks.
    Quiet,
}

impl Verbosity {
    /// Quiet if this is so.
    pub fn quiet_if(is_quiet: bool) -> Self {
        if is_quiet { Verbosity::Quiet } else { Verbosity::Usual }
    }

    /// True if nothing but the result and errors is printed.
    pub fn is_quiet(self) -> bool {
        self == Verbosity::Quiet
    }

    /// True if progress goes to standard error: it is a terminal.
    pub fn shows_progress(self) -> bool {
        !self.is_quiet() && io::stderr().is_terminal()
    }

    /// Prints a remark like an error.
    pub fn remark(self, text: &str) {
        if !self.is_quiet() {
            print_error(text);
        }
    }
}

/// Prints text and a line end to standard error, without control characters. A line is wrapped at the width of a
/// terminal; several lines are printed as they are, because one may point at a place in another.
pub fn print_error(text: &str) {
    print_painted(text, Colours::Plain, &[]);
}

/// The same with these verdicts in colour.
pub(crate) fn print_painted(text: &str, colours: Colours, verdicts: &[(&str, Tone)]) {
    // Errors are ignored: standard error may be closed.
    let _ = io::stderr().write_all(colours.paint(&error_text(text, width::of_stderr()), verdicts).as_bytes());
}

/// The text of a message for standard error of this width, with its line end.
fn error_text(text: &str, columns: Option<usize>) -> String {
    let safe = formats::printable::lines(text);
    if safe.contains('\n') { safe.into_owned() + "\n" } else { width::for_people(&safe, "  ", columns) }
}

/// A standard output that was closed before the program started: every write fails with EBADF.
struct NoStandardOutput;

impl Write for NoStandardOutput {
    fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
        Err(rustix::io::Errno::BADF.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_does_not_control_the_terminal() {
        assert_eq!(error_text("plumb: \x1b[31mx: gone", None), "plumb: ␛[31mx: gone\n");
    }

    #[test]
    fn a_long_message_is_wrapped_unless_a_caret_points_into_it() {
        let long = format!("plumb: check: {}", "seven77 ".repeat(20));
        let shown = error_text(&long, Some(60));
        assert!(shown.lines().count() > 2 && shown.lines().all(|line| line.chars().count() <= 60), "{shown}");
        assert!(shown.lines().skip(1).all(|line| line.starts_with("  seven77")), "{shown}");
        assert_eq!(error_text(&long, None).lines().count(), 1);
        let pointed = format!("{}\n{}^", "x".repeat(70), " ".repeat(66));
        assert_eq!(error_text(&pointed, Some(60)), pointed.clone() + "\n");
    }
}
