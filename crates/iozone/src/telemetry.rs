//! Telemetry files: the records of a pass, one per line, with offset and length in bytes, and milliseconds of compute
//! time before the record if all lines have them.

use measure::Nanos;
use plan::Listed;
use std::path::Path;
use std::sync::Arc;

/// Longest record of a telemetry file in bytes: the size of iozone's buffer.
const LONGEST: u32 = 16 << 20;

/// Largest telemetry file in bytes: some 60 million records.
const LARGEST: u64 = 1 << 30;

/// Reads the records of a file, in order. Fails if the file cannot be read or a line is invalid; the message names file
/// and line.
pub(crate) fn read(path: &Path) -> Result<Arc<[Listed]>, String> {
    let shown = path.display();
    let text = sys::files::read_limited::read_text(path, LARGEST)
        .map_err(|error| format!("{shown}: cannot be read: {error}"))?;
    let mut records = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            records.push(record(line).map_err(|why| format!("{shown}:{number}: `{line}`: {why}"))?);
        }
    }
    if records.is_empty() {
        return Err(format!("{shown}: has no record; a line is like `8192 4096`, offset and length in bytes"));
    }
    Ok(records.into())
}

fn record(line: &str) -> Result<Listed, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (offset, length, compute) = match *words.as_slice() {
        [offset, length] => (offset, length, "0"),
        [offset, length, compute] => (offset, length, compute),
        _ => return Err("a line is an offset and a length in bytes, and may have milliseconds of delay".to_owned()),
    };
    let offset: u64 = offset.parse().map_err(|_| "the offset is not a number of bytes".to_owned())?;
    let length: u32 = length.parse().map_err(|_| "the length is not a number of bytes".to_owned())?;
    let compute: u64 = compute.parse().map_err(|_| "the delay is not a number of milliseconds".to_owned())?;
    if length == 0 || length > LONGEST || offset.checked_add(u64::from(length)).is_none() {
        return Err(format!("the length must be 1 to {LONGEST}, and the end below 2^64"));
    }
    Ok(Listed { offset, length, compute: Nanos::from_millis(compute) })
}

/// End of the record that ends farthest into the file, in bytes.
pub(crate) fn end(records: &[Listed]) -> u64 {
    records.iter().map(|record| record.offset + u64::from(record.length)).max().unwrap_or(0)
}

/// True if there is compute time before a record.
pub(crate) fn computes(records: &[Listed]) -> bool {
    records.iter().any(|record| !record.compute.is_zero())
}

/// Length of the longest record in bytes.
pub(crate) fn longest(records: &[Listed]) -> u32 {
    records.iter().map(|record| record.length).max().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_offset_and_a_length() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("t");
        std::fs::write(&file, "# first\n\n0 4096\n8192 8192\n4096 1024\n").unwrap();
        let records = read(&file).unwrap();
        assert_eq!(records.len(), 3);
        assert_eq!((end(&records), longest(&records)), (16384, 8192));
    }

    #[test]
    fn a_damaged_line_is_named() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("t");
        for (text, why) in [
            ("0 4096\n8192\n", "t:2: `8192`"),
            ("foo bar\n", "the offset is not a number"),
            ("0 4096 soon\n", "the delay is not a number"),
            ("0 4096 5 6\n", "may have milliseconds"),
            ("0 0\n", "the length must be"),
            ("18446744073709551615 4096\n", "the end below"),
            ("# nothing\n", "has no record"),
        ] {
            std::fs::write(&file, text).unwrap();
            assert!(read(&file).unwrap_err().contains(why), "{text}");
        }
    }
}
