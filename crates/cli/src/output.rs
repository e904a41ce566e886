//! Where results go: standard output or a file, with every failed write told.

use crate::failure::Failure;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::Path;

/// Whether a path leads to a block device: what is written there overwrites somebody's data.
pub(crate) fn is_block_device(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| std::os::unix::fs::FileTypeExt::is_block_device(&found.file_type()))
}

/// A place for results.
pub(crate) struct Output {
    name: String,
    writer: Box<dyn Write>,
    to_stdout: bool,
    /// The file, once more.
    file: Option<File>,
}

impl Output {
    /// Standard output.
    pub(crate) fn stdout() -> Self {
        let writer: Box<dyn Write> =
            if sys::standard::output_was_closed() { Box::new(Closed) } else { Box::new(io::stdout()) };
        Output { name: "standard output".into(), writer, to_stdout: true, file: None }
    }

    /// A file that plumb makes, or made before.
    pub(crate) fn made(path: &Path) -> Result<Self, Failure> {
        Ok(Self::of(path, crate::made::stream(path)?))
    }

    /// A file, made or emptied, whoever's it was: as the old tools do it.
    pub(crate) fn file(path: &Path) -> Result<Self, Failure> {
        let failed = |error| Failure::new(format!("{}: cannot be written: {error}", path.display()));
        let file = sys::aside::create(path).map_err(failed)?;
        Ok(Self::of(path, file))
    }

    fn of(path: &Path, file: File) -> Self {
        let twin = file.try_clone().ok();
        Output { name: path.display().to_string(), writer: Box::new(file), to_stdout: false, file: twin }
    }

    /// Whether results go to standard output.
    pub(crate) fn is_stdout(&self) -> bool {
        self.to_stdout
    }

    /// A second way to the same place, for others; both continue where the other ended.
    pub(crate) fn twin(&self) -> Result<File, Failure> {
        let twin = match &self.file {
            Some(file) => file.try_clone(),
            None => io::stdout().as_fd().try_clone_to_owned().map(File::from),
        };
        twin.map_err(|error| Failure::writing(&self.name, &error))
    }

    /// Writes text as it is and hands it on at once.
    pub(crate) fn write(&mut self, text: &str) -> Result<(), Failure> {
        let written = self.writer.write_all(text.as_bytes()).and_then(|()| self.writer.flush());
        written.map_err(|error| Failure::writing(&self.name, &error))
    }
}

/// A standard output that was closed before the program began: no write comes to anything.
struct Closed;

impl Write for Closed {
    fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
        Err(rustix::io::Errno::BADF.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
