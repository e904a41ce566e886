//! Telemetry files: the records of a pass, one per line, as offset and length in bytes, and milliseconds of computing
//! before it where all lines have them.

use job::plan::Listed;
use measure::Nanos;
use std::path::Path;
use std::sync::Arc;

/// The longest record of a telemetry file: iozone's buffer.
const LONGEST: u32 = 16 << 20;

/// The largest telemetry file: some 60 million records.
const LARGEST: u64 = 1 << 30;

/// The records of a file, in their order.
///
/// # Errors
/// What cannot be read, and where.
pub(crate) fn read(path: &Path) -> Result<Arc<[Listed]>, String> {
    let shown = path.display();
    let text = job::bounded::read_text(path, LARGEST).map_err(|error| format!("{shown}: cannot be read: {error}"))?;
    let mut records = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            records.push(record(line).map_err(|why| format!("{shown}:{number}: `{line}`: {why}"))?);
        }
    }
    if records.is_empty() {
        return Err(format!("{shown}: holds no record; a line is like `8192 4096`, offset and length in bytes"));
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
    let offset: u64 = offset.parse().map_err(|_| "the offset is no number of bytes".to_owned())?;
    let length: u32 = length.parse().map_err(|_| "the length is no number of bytes".to_owned())?;
    let compute: u64 = compute.parse().map_err(|_| "the delay is no number of milliseconds".to_owned())?;
    if length == 0 || length > LONGEST || offset.checked_add(u64::from(length)).is_none() {
        return Err(format!("the length must be 1 to {LONGEST}, and the end below 2^64"));
    }
    Ok(Listed { offset, length, compute: Nanos::from_millis(compute) })
}

/// Where the farthest record ends.
pub(crate) fn end(records: &[Listed]) -> u64 {
    records.iter().map(|record| record.offset + u64::from(record.length)).max().unwrap_or(0)
}

/// The longest record.
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
            ("foo bar\n", "the offset is no number"),
            ("0 4096 soon\n", "the delay is no number"),
            ("0 4096 5 6\n", "may have milliseconds"),
            ("0 0\n", "the length must be"),
            ("18446744073709551615 4096\n", "the end below"),
            ("# nothing\n", "holds no record"),
        ] {
            std::fs::write(&file, text).unwrap();
            assert!(read(&file).unwrap_err().contains(why), "{text}");
        }
    }
}
