//! Where the bytes of a record come from: a file, or what a pipe or socket said, kept in an unnamed file.

use formats::iolog::Reader;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

/// Read from a record at a time.
const PIECE: usize = 256 << 10;

/// As much of a stream tells whether it is a record.
const HEAD: u64 = 16 << 10;

/// The bytes of a record. Workers share it, each with a place of its own in it.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Its name, for messages.
    pub(crate) name: String,
    file: Arc<File>,
}

/// A worker's own reading of a source.
#[derive(Debug)]
pub(crate) struct Reading {
    file: Arc<File>,
    offset: u64,
}

impl Read for Reading {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read_at(buffer, self.offset)?;
        self.offset += bytes as u64;
        Ok(bytes)
    }
}

impl Source {
    /// Opens the file, connects to the Unix socket, or reads standard input (`-`) or a pipe to its end.
    ///
    /// # Errors
    /// When it cannot be opened or read.
    pub(crate) fn open(path: &Path) -> io::Result<Source> {
        let name = if path.as_os_str() == "-" { "standard input".to_owned() } else { path.display().to_string() };
        let kind = match path.as_os_str() {
            dash if dash == "-" => None,
            _ => Some(std::fs::metadata(path)?.file_type()),
        };
        let file = match kind {
            None => keep(&name, io::stdin().lock())?,
            Some(kind) if kind.is_socket() => keep(&name, UnixStream::connect(path)?)?,
            Some(kind) if kind.is_file() || kind.is_block_device() => File::open(path)?,
            Some(kind) if kind.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Some(_) => keep(&name, File::open(path)?)?,
        };
        Ok(Source { name, file: Arc::new(file) })
    }

    /// The bytes from the first on.
    pub(crate) fn read(&self) -> BufReader<Reading> {
        BufReader::with_capacity(PIECE, Reading { file: Arc::clone(&self.file), offset: 0 })
    }
}

/// Everything that a stream says, in a file without a name: it is read twice, and it may be longer than the memory.
///
/// What does not begin as a record does is cut short, for it may have no end: whoever reads it refuses it by its head.
fn keep(name: &str, mut stream: impl Read) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    let unnamed = |directory: &str| rustix::fs::open(directory, flags, mode);
    let mut file = File::from(unnamed("/var/tmp").or_else(|_| unnamed("/tmp")).or_else(|_| unnamed("."))?);
    let head = job::bounded::head(&mut stream, HEAD)?;
    file.write_all(&head)?;
    if Reader::new(name, &head[..]).is_ok() {
        io::copy(&mut stream, &mut file)?;
    }
    file.flush()?;
    Ok(file)
}
