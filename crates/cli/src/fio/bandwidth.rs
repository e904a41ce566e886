//! `--bandwidth-log`: aggregate bandwidth of all jobs, one file per direction.

use crate::failure::Failure;
use formats::fio::log::{LogLayout, LogRow, push_row};
use measure::{Direction, Nanos};
use run::Progress;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Time between two rows.
pub(crate) const INTERVAL: Nanos = Nanos::from_millis(500);

/// The three logs, and the bytes moved up to their last rows.
#[derive(Debug)]
pub(crate) struct BandwidthLog {
    files: Vec<(Direction, String, File)>,
    before: [u64; 3],
    last: Nanos,
    /// The first write that failed.
    failed: Option<Failure>,
}

impl BandwidthLog {
    /// Creates `STEM-read_bw.log` and the files of the other directions.
    pub(crate) fn create(stem: &str) -> Result<BandwidthLog, Failure> {
        let create = |direction: Direction| {
            let path = format!("{stem}-{}_bw.log", direction.word());
            let file = sys::files::output_file::create(Path::new(&path));
            let file = file.map_err(|error| Failure::new(format!("bandwidth-log {path}: {error}")))?;
            Ok((direction, path, file))
        };
        let files = Direction::ALL.into_iter().map(create).collect::<Result<_, Failure>>()?;
        Ok(BandwidthLog { files, before: [0; 3], last: Nanos::ZERO, failed: None })
    }

    /// Writes a row per direction: KiB/s since the last row. Rows are rare, so they are not buffered.
    pub(crate) fn record(&mut self, progress: &Progress) {
        let elapsed_ms = progress.elapsed.get() / 1_000_000;
        // From the rounded times in the rows, so that rate times interval adds up to the bytes moved.
        let since_ms = elapsed_ms - (self.last.get() / 1_000_000).min(elapsed_ms);
        if since_ms == 0 || self.failed.is_some() {
            return;
        }
        for (direction, path, file) in &mut self.files {
            let bytes: u64 = progress.workers.iter().map(|worker| worker.bytes[*direction]).sum();
            let moved = bytes.saturating_sub(self.before[*direction as usize]);
            self.before[*direction as usize] = bytes;
            let value = u64::try_from(u128::from(moved) * 1000 / 1024 / u128::from(since_ms)).unwrap_or(u64::MAX);
            let row = LogRow {
                at_ms: elapsed_ms,
                value,
                largest: value,
                direction: *direction,
                block: 0,
                offset: 0,
                priority: 0,
                issued_ns: 0,
            };
            let mut text = Vec::new();
            push_row(&mut text, LogLayout::default(), &row);
            if let Err(error) = file.write_all(&text) {
                self.failed = Some(Failure::new(format!("bandwidth-log {path}: {error}")));
                break;
            }
        }
        self.last = progress.elapsed;
    }

    /// Returns the first write error, if any.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        self.failed.map_or(Ok(()), Err)
    }
}
