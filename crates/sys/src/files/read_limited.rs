//! Reads whole files into memory, such as job files, lists and earlier results. The size is limited, because files like
//! /dev/zero have no end.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Reads all of a file or pipe of at most `most` bytes.
///
/// # Errors
/// If it cannot be read or is larger.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_from(File::open(path)?, most)
}

/// Like [`read`], for text.
///
/// # Errors
/// If it cannot be read, is larger, or is not UTF-8.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

/// Like [`read`], from an open source such as standard input.
///
/// # Errors
/// If it cannot be read or is larger.
pub fn read_from(source: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let why = format!("it is larger than {}, the most that is read; give a smaller file", shown(most));
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

/// Reads the first `most` bytes of a file, or fewer if it is shorter.
///
/// # Errors
/// If it cannot be read.
pub fn head(source: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn shown(bytes: u64) -> String {
    match bytes {
        _ if bytes >= 1 << 30 && bytes.is_multiple_of(1 << 30) => format!("{} GiB", bytes >> 30),
        _ if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_much_as_the_limit_is_read_and_no_more() {
        assert_eq!(read_from(&b"four"[..], 4).unwrap(), b"four");
        let refused = read_from(&b"fives"[..], 4).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(refused.to_string(), "it is larger than 4 bytes, the most that is read; give a smaller file");
        assert_eq!((shown(64 << 20), shown(1 << 30)), ("64 MiB".to_owned(), "1 GiB".to_owned()));
    }

    #[test]
    fn what_has_no_end_is_refused() {
        let refused = read(Path::new("/dev/zero"), 1 << 20).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(head(File::open("/dev/zero").unwrap(), 512).unwrap(), [0; 512]);
    }
}
