//! The source of an I/O log: a file, or the data of a pipe or socket, saved in an unnamed file.

use crate::error::{file_error, job_refusal};
use formats::FormatError;
use formats::iolog::Reader;
use model::JobError;
use plan::JobPlan;
use rustix::fs::{Mode, OFlags, fstatvfs};
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

/// Bytes read from a log at a time.
const PIECE: usize = 256 << 10;

/// The bytes of a log. Workers share the file, each with its own read position.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Its name, for messages.
    pub(crate) name: String,
    file: Arc<File>,
}

/// A reader of a source with its own position.
#[derive(Debug)]
pub(crate) struct SourceReader {
    file: Arc<File>,
    offset: u64,
}

impl Read for SourceReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read_at(buffer, self.offset)?;
        self.offset += bytes as u64;
        Ok(bytes)
    }
}

impl Source {
    /// Opens the file, connects to the Unix socket, or reads standard input (`-`), a pipe or a character device to its
    /// end. Fails if it cannot be opened or read, or if a stream is not an I/O log.
    pub(crate) fn open(job: &JobPlan, path: &Path) -> Result<Source, JobError> {
        let name = if path.as_os_str() == "-" { "standard input".to_owned() } else { path.display().to_string() };
        let file = match Source::lasting(path).map_err(|error| file_error("read_iolog", path, error, ""))? {
            LogInput::File(file) => file,
            LogInput::Stream(stream) => keep(&name, stream, MOST_LEFT_FREE).map_err(|error| {
                let full =
                    matches!(&error, FormatError::Trace { source, .. } if source.kind() == io::ErrorKind::StorageFull);
                job_refusal(job, if full { libc::ENOSPC } else { error.errno() }, "read_iolog", error)
            })?,
        };
        Ok(Source { name, file: Arc::new(file) })
    }

    fn lasting(path: &Path) -> io::Result<LogInput> {
        if path.as_os_str() == "-" {
            return Ok(LogInput::Stream(Box::new(io::stdin().lock())));
        }
        let kind = std::fs::metadata(path)?.file_type();
        Ok(match () {
            () if kind.is_socket() => LogInput::Stream(Box::new(UnixStream::connect(path)?)),
            () if kind.is_file() || kind.is_block_device() => LogInput::File(File::open(path)?),
            () if kind.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            () => LogInput::Stream(Box::new(File::open(path)?)),
        })
    }

    /// A reader at the first byte.
    pub(crate) fn read(&self) -> BufReader<SourceReader> {
        BufReader::with_capacity(PIECE, SourceReader { file: Arc::clone(&self.file), offset: 0 })
    }
}

/// A stream is read once, so its bytes are saved; a file can be read again.
enum LogInput {
    File(File),
    Stream(Box<dyn Read>),
}

/// Bytes left free on the file system where a stream is saved, or a tenth of the free space if that is less.
const MOST_LEFT_FREE: u64 = 1 << 30;

/// Saves a stream in a file without a name: it is read twice, and may be larger than memory. It is parsed while it is
/// saved, so that a stream that is not an I/O log fails at once, however much data would follow.
fn keep(name: &str, stream: impl Read, most_left_free: u64) -> Result<File, FormatError> {
    let failed = |source| FormatError::Trace { name: name.to_owned(), source };
    let (file, directory) = unnamed().map_err(|error| failed(error.into()))?;
    let left_free = room(&file).map_err(failed)? / 10;
    let kept = SavedStream { stream, file: &file, directory, left_free: left_free.min(most_left_free) };
    let mut reader = Reader::new(name, BufReader::with_capacity(PIECE, kept))?;
    while reader.next()?.is_some() {}
    Ok(file)
}

/// A file without a name (O_TMPFILE), and the directory that holds its data.
fn unnamed() -> rustix::io::Result<(File, &'static str)> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let open = |directory| rustix::fs::open(directory, flags, Mode::RUSR | Mode::WUSR);
    let unnamed = |directory| open(directory).map(|file| (File::from(file), directory));
    unnamed("/var/tmp").or_else(|_| unnamed("/tmp")).or_else(|_| unnamed("."))
}

/// Free bytes of the file system of this file.
fn room(file: &File) -> io::Result<u64> {
    let found = fstatvfs(file)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

/// A stream whose bytes are saved as they are read.
struct SavedStream<'a, R> {
    stream: R,
    file: &'a File,
    directory: &'static str,
    left_free: u64,
}

impl<R: Read> Read for SavedStream<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.stream.read(buffer)?;
        if bytes > 0 && room(self.file)? < self.left_free.saturating_add(bytes as u64) {
            let message = format!(
                "it is kept below {} while it is read, and that has no more room for it; write it to a file where there \
                 is room, and name that",
                self.directory
            );
            return Err(io::Error::new(io::ErrorKind::StorageFull, message));
        }
        (&mut &*self.file).write_all(&buffer[..bytes])?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_parse_as_a_record_is_refused_at_once() {
        let endless = [&b"fio version 3 iolog\n"[..], b"fio version 3 iolog\n0 a add\n"];
        for (begins, expected) in [(&b""[..], "is not a record of I/Os"), (endless[0], ":2: "), (endless[1], ":3: ")] {
            let mut read = 0_u64;
            let zeros = io::repeat(0).take(1 << 30);
            let error = keep("a pipe", CountingReader(begins.chain(zeros), &mut read), 0).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
            assert!(read <= 2 * PIECE as u64, "{read} bytes were read");
        }
    }

    #[test]
    fn a_stream_is_kept_whole_and_only_where_there_is_room() {
        let record = b"fio version 2 iolog\na add\na open\na read 0 4096\na close\n";
        let mut file = keep("a pipe", &record[..], 0).unwrap();
        let mut kept = Vec::new();
        rustix::fs::seek(&file, rustix::fs::SeekFrom::Start(0)).unwrap();
        file.read_to_end(&mut kept).unwrap();
        assert_eq!(kept, record);
        let mut full = SavedStream { stream: &record[..], file: &file, directory: "/var/tmp", left_free: u64::MAX };
        let error = full.read(&mut [0; 64]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(error.to_string().contains("/var/tmp"), "{error}");
    }

    /// Counts the bytes taken from a stream.
    struct CountingReader<'a, R>(R, &'a mut u64);

    impl<R: Read> Read for CountingReader<'_, R> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let bytes = self.0.read(buffer)?;
            *self.1 += bytes as u64;
            Ok(bytes)
        }
    }
}
