//! The latest version of some bytes, for a process that was forked: in a file in memory that both have open.
//!
//! The writer never waits for the reader. A version that is odd is being written: the reader looks again.

use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// Bytes before the text: its version and its length.
const HEAD: usize = 16;
/// How many times a reader looks for a version that is whole, and how long it waits in between.
const LOOKS: u32 = 50;
const BETWEEN: Duration = Duration::from_millis(2);

/// The end that writes.
#[derive(Debug)]
pub(super) struct Latest {
    file: File,
    version: u64,
}

/// The end that reads.
#[derive(Debug)]
pub(super) struct Reader(File);

impl Latest {
    /// Nothing yet, which is read as no bytes.
    pub(super) fn new() -> io::Result<Self> {
        let file = File::from(memfd_create("plumb", MemfdFlags::CLOEXEC)?);
        let mut latest = Latest { file, version: 0 };
        latest.write(&[])?;
        Ok(latest)
    }

    pub(super) fn reader(&self) -> io::Result<Reader> {
        self.file.try_clone().map(Reader)
    }

    /// Replaces the bytes.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let head = |version: u64| [version.to_ne_bytes(), (bytes.len() as u64).to_ne_bytes()].concat();
        self.file.write_all_at(&head(self.version + 1), 0)?;
        self.file.write_all_at(bytes, HEAD as u64)?;
        self.version += 2;
        self.file.write_all_at(&head(self.version), 0)
    }
}

impl Reader {
    /// The latest bytes. Fails if the writer ended while it wrote.
    pub(super) fn read(&self) -> io::Result<Vec<u8>> {
        for _ in 0..LOOKS {
            let (before, length) = self.head()?;
            let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
            // A longer version may have become a shorter one: the file is never cut, so this reads old bytes at worst.
            self.0.read_exact_at(&mut bytes, HEAD as u64)?;
            if before % 2 == 0 && self.head()?.0 == before {
                return Ok(bytes);
            }
            std::thread::sleep(BETWEEN);
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    fn head(&self) -> io::Result<(u64, u64)> {
        let mut head = [0; HEAD];
        self.0.read_exact_at(&mut head, 0)?;
        let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| head[at + byte]));
        Ok((word(0), word(8)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_has_the_latest_bytes_and_never_half_of_them() {
        let mut latest = Latest::new().unwrap();
        let reader = latest.reader().unwrap();
        assert_eq!(reader.read().unwrap(), b"");
        std::thread::scope(|scope| {
            let looks = scope.spawn(|| {
                let mut versions = std::collections::BTreeSet::new();
                while versions.len() < 50 {
                    let bytes = reader.read().unwrap();
                    assert!(bytes.windows(2).all(|pair| pair[0] == pair[1]), "bytes of two versions");
                    versions.insert((bytes.len(), bytes.first().copied()));
                }
            });
            let mut version = 0_u32;
            while !looks.is_finished() {
                version = version.wrapping_add(1);
                let length = 1 + usize::try_from(version.wrapping_mul(7919) % 20_011).unwrap();
                latest.write(&vec![(version % 251) as u8; length]).unwrap();
                // Who only writes leaves no moment for a look; a run writes twice a second.
                std::thread::sleep(Duration::from_micros(100));
            }
        });
        latest.write(b"end").unwrap();
        assert_eq!(reader.read().unwrap(), b"end");
    }
}
