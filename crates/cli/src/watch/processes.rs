//! Processes that cause I/O at devices: the difference of two samples of /proc/PID/io.

use std::collections::BTreeMap;
use std::path::Path;

/// Maximum number of processes kept for the screen.
const SHOWN_MAX: usize = 50;

/// The I/O rates of one process.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rate {
    /// The process ID.
    pub(super) process: u32,
    /// The command name.
    pub(super) name: String,
    /// Bytes per second read from devices (`read_bytes` in /proc/PID/io).
    pub(super) read_bytes: f64,
    /// Bytes per second to be written to devices, at once or by later writeback (`write_bytes`).
    pub(super) written_bytes: f64,
}

/// Counters of the last sample, by process ID.
#[derive(Debug, Default)]
pub(super) struct Processes {
    last: BTreeMap<u32, [u64; 2]>,
}

impl Processes {
    /// Takes a sample. Returns the rates since the last one `seconds` ago, highest first, and the number of processes
    /// whose counters may not be read.
    pub(super) fn look(&mut self, root: &Path, seconds: Option<f64>) -> (Vec<Rate>, usize) {
        let mut now = BTreeMap::new();
        let (mut rates, mut hidden) = (Vec::new(), 0);
        let entries = std::fs::read_dir(root.join("proc")).into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        for process in numbers {
            let folder = root.join("proc").join(process.to_string());
            let account = match std::fs::read_to_string(folder.join("io")) {
                Ok(text) => monitor::io_bytes(&text),
                Err(error) => {
                    hidden += usize::from(error.kind() == std::io::ErrorKind::PermissionDenied);
                    None
                }
            };
            let Some([_, _, read, written]) = account else { continue };
            now.insert(process, [read, written]);
            let (Some(seconds), Some(before)) = (seconds, self.last.get(&process)) else { continue };
            let gained = [read.saturating_sub(before[0]), written.saturating_sub(before[1])];
            if gained != [0, 0] {
                let name = std::fs::read_to_string(folder.join("comm")).unwrap_or_default();
                let [read_bytes, written_bytes] = gained.map(|bytes| float(bytes) / seconds);
                rates.push(Rate { process, name: name.trim_end().to_owned(), read_bytes, written_bytes });
            }
        }
        self.last = now;
        let weight = |rate: &Rate| rate.read_bytes + rate.written_bytes;
        rates.sort_by(|a, b| weight(b).total_cmp(&weight(a)).then(a.process.cmp(&b.process)));
        rates.truncate(SHOWN_MAX);
        (rates, hidden)
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
fn float(bytes: u64) -> f64 {
    bytes as f64
}
