//! The lines that a writer sends to its witness, which keeps them as they are: what the writer is, then a line per
//! acknowledged write. One reader and one writer.
//!
//! Each acknowledgement has a check: a serial line may lose bytes, and the console of a kernel may be on it.

use super::ways::{Way, is_record};
use measure::{Nanos, split_mix};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};

/// Number of the form of these lines and of the records.
pub const SCHEMA: u32 = 1;
/// Acknowledgements of a way that are kept: more than can be judged.
const KEPT: usize = 1024;
/// Longest line in bytes.
const LONGEST: u64 = 1 << 16;

/// The first line of a writer, before it writes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// Number of the form of the lines and of the records. Its name and place make the file one of plumb's.
    pub schema: u32,
    /// Program and version.
    pub program: String,
    /// A number that no other run has.
    pub run: u64,
    /// The machine.
    pub host: String,
    /// The start of its kernel (/proc/sys/kernel/random/boot_id).
    pub boot: String,
    /// Absolute path of the directory or device.
    pub target: String,
    /// Number of the file system (statfs(2)); `None` for a device.
    pub file_system: Option<u64>,
    /// A word that names the device; `None` for a directory.
    pub identity: Option<String>,
    /// True if the kernel sends no flushes to the device, because it has no write cache.
    pub is_write_through: Option<bool>,
    /// Size of a record in bytes.
    pub record: u64,
    /// The ways.
    pub ways: Vec<Way>,
}

/// A line other than an acknowledgement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// A writer begins; what was before it belongs to another run.
    Writer(Box<Started>),
    /// A write or what makes it durable failed.
    Failed {
        /// The way.
        way: Way,
        /// Its record.
        number: u64,
        /// The error.
        why: String,
    },
    /// The writer was ended in order.
    Ended(String),
    /// The witness has started the command that cuts the power.
    Cut(String),
}

/// A line with its end.
///
/// # Errors
/// Never, in practice.
pub fn line(line: &Line) -> Result<String, serde_json::Error> {
    serde_json::to_string(line).map(|text| text + "\n")
}

/// The line of an acknowledgement: way, number, microseconds since the writer began, and a check of these.
pub fn acknowledgement(way: Way, number: u64, micros: u64) -> String {
    format!("{} {number} {micros} {:04x}\n", way.name(), check(way, number, micros))
}

fn check(way: Way, number: u64, micros: u64) -> u64 {
    split_mix(split_mix(split_mix(way as u64) ^ number) ^ micros) >> 48
}

fn acknowledged(text: &str) -> Option<(Way, u64, Nanos)> {
    let mut words = text.split(' ');
    let way = Way::named(words.next()?)?;
    let (number, micros) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let is_whole = u64::from_str_radix(words.next()?, 16).ok()? == check(way, number, micros);
    (is_whole && words.next().is_none() && number > 0).then(|| (way, number, Nanos(micros.saturating_mul(1000))))
}

/// Acknowledgements of one way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acknowledged {
    /// Number of acknowledgements.
    pub count: u64,
    /// The last ones, by number, with their times since the writer began.
    pub recent: BTreeMap<u64, Nanos>,
}

/// The last run in the file of a witness.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acknowledgements {
    /// The writer.
    pub started: Started,
    /// Acknowledgements of each way.
    pub ways: BTreeMap<Way, Acknowledged>,
    /// Time of the last acknowledgement since the writer began.
    pub last: Nanos,
    /// The sentence about a write that failed.
    pub failed: Option<String>,
    /// Reason for which the writer was ended in order; `None` if it was not.
    pub ended: Option<String>,
    /// The command that cut the power.
    pub cut: Option<String>,
    /// Lines that cannot be read. The last line of a run may be cut off and does not count.
    pub damaged: u64,
}

impl Acknowledgements {
    /// Reads the last run of a file of acknowledgements; `None` if there is none.
    ///
    /// # Errors
    /// If it cannot be read, or is of another version.
    pub fn read(mut from: impl BufRead) -> io::Result<Option<Self>> {
        let mut found: Option<Acknowledgements> = None;
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            if (&mut from).take(LONGEST).read_until(b'\n', &mut bytes)? == 0 {
                return Ok(found);
            }
            // A line that a cut has left without its end may be one of another number.
            if !bytes.ends_with(b"\n") {
                continue;
            }
            let text = String::from_utf8_lossy(&bytes);
            match serde_json::from_str(text.trim_end()) {
                Ok(Line::Writer(started)) => {
                    if started.schema != SCHEMA {
                        return Err(other_version(&started));
                    }
                    if !is_record(started.record) {
                        let why = format!("it says that its records have {} bytes", started.record);
                        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
                    }
                    found = Some(Acknowledgements { started: *started, ..Acknowledgements::default() });
                }
                Ok(line) => found.iter_mut().for_each(|found| found.take(&line)),
                Err(_) => found.iter_mut().for_each(|found| found.acknowledge(text.trim_end())),
            }
        }
    }

    fn take(&mut self, line: &Line) {
        match line {
            Line::Writer(_) => {}
            Line::Failed { way, number, why } => self.failed = Some(format!("{} number {number}: {why}", way.name())),
            Line::Ended(why) => self.ended = Some(why.clone()),
            Line::Cut(command) => self.cut = Some(command.clone()),
        }
    }

    fn acknowledge(&mut self, text: &str) {
        let Some((way, number, at)) = acknowledged(text).filter(|(way, ..)| self.started.ways.contains(way)) else {
            self.damaged += 1;
            return;
        };
        let of_way = self.ways.entry(way).or_default();
        of_way.count += 1;
        of_way.recent.insert(number, at);
        if of_way.recent.len() > KEPT {
            of_way.recent.pop_first();
        }
        self.last = self.last.max(at);
    }
}

fn other_version(started: &Started) -> io::Error {
    let Started { program, schema, .. } = started;
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("it is of {program} with form {schema}, and this plumb reads form {SCHEMA}; use the plumb that wrote"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn started() -> String {
        let ways = vec![Way::Fsync, Way::None];
        line(&Line::Writer(Box::new(Started { schema: SCHEMA, run: 5, ways, record: 4096, ..Started::default() })))
            .unwrap()
    }

    fn read(text: &str) -> Acknowledgements {
        Acknowledgements::read(text.as_bytes()).unwrap().unwrap()
    }

    #[test]
    fn the_last_run_is_read_back() {
        let first = acknowledgement(Way::Fsync, 70, 5);
        let rest = acknowledgement(Way::Fsync, 1, 2) + &acknowledgement(Way::None, 3, 9);
        let text = [started(), first, started(), rest, line(&Line::Cut("off".to_owned())).unwrap()].concat();
        let found = read(&text);
        assert_eq!(
            (found.ways[&Way::Fsync].count, found.ways[&Way::Fsync].recent.clone()),
            (1, [(1, Nanos(2_000))].into())
        );
        assert_eq!((found.ways[&Way::None].recent.clone(), found.last), ([(3, Nanos(9_000))].into(), Nanos(9_000)));
        assert_eq!((found.cut.as_deref(), found.ended, found.damaged), (Some("off"), None, 0));
    }

    #[test]
    fn a_line_that_was_damaged_or_cut_off_acknowledges_nothing() {
        let whole = acknowledgement(Way::Fsync, 1234, 9);
        // Of a way that this run has not.
        let text = started() + &acknowledgement(Way::Fua, 1, 0) + "[    0.1] kernel\n";
        assert_eq!((read(&text).damaged, read(&text).ways.len()), (2, 0));
        for at in 0..whole.len() - 1 {
            let mut lost = whole.clone();
            lost.remove(at);
            let found = read(&(started() + &lost));
            assert_eq!((found.ways.len(), found.damaged), (0, 1), "{lost}");
        }
        for end in 0..whole.len() {
            let found = read(&(started() + &whole[..end]));
            assert_eq!((found.ways.len(), found.damaged), (0, 0));
        }
    }

    #[test]
    fn a_file_without_a_run_or_of_another_version_is_not_read() {
        assert_eq!(Acknowledgements::read(&b"fsync 1 2 abcd\n"[..]).unwrap(), None);
        let newer = started().replace("\"schema\":1", "\"schema\":9");
        let large = started().replace("\"record\":4096", "\"record\":4096000000");
        assert!(Acknowledgements::read(large.as_bytes()).unwrap_err().to_string().contains("4096000000 bytes"));
        let error = Acknowledgements::read(newer.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("form 9") && error.contains("form 1"), "{error}");
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = Acknowledgements::read(&[started().as_bytes(), &bytes].concat()[..]);
        }
    }
}
