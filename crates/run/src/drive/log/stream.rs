//! Transfers log rows from the loop to their files: full pieces go to a thread that formats and writes them.
//!
//! The number of pieces is fixed, and they are reused: the loop fills them, the thread empties them. If the loop
//! produces rows faster than the disk takes them, it waits for an empty piece, so memory does not grow with the log.
//! The mutex is taken once per piece, not per row.

use crate::error::{file_error, refusal};
use formats::fio::log::{COLUMNS, LogLayout, LogRow, Packer, coarser, push_histogram, push_row};
use measure::Direction;
use model::JobError;
use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// The bins of a histogram row.
pub(super) type Bins = Box<[u64; COLUMNS]>;

/// A histogram of one window and direction.
#[derive(Debug)]
pub(super) struct HistogramRow {
    pub(super) at_ms: u64,
    pub(super) direction: Direction,
    pub(super) block: u64,
    pub(super) bins: Bins,
}

/// A unit of transfer from the loop to the thread, with the index of its log.
#[derive(Debug)]
enum Piece {
    Rows(usize, Vec<LogRow>),
    Histogram(usize, HistogramRow),
}

/// An open log file.
#[derive(Debug)]
pub(super) struct Sink {
    pub(super) path: PathBuf,
    pub(super) file: File,
    pub(super) layout: LogLayout,
    /// Compresses the rows, if the job asks for it.
    pub(super) packer: Option<Packer>,
    /// Base-2 logarithm of the number of histogram bins that are summed into one (`log_hist_coarseness`).
    pub(super) coarseness: u32,
}

/// The pieces in circulation.
#[derive(Debug, Default)]
struct Pieces {
    filled: VecDeque<Piece>,
    empty_rows: Vec<Vec<LogRow>>,
    empty_bins: Vec<Bins>,
    over: bool,
    /// The first error of writing a row.
    failure: Option<JobError>,
}

#[derive(Debug, Default)]
struct Shared {
    pieces: Mutex<Pieces>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Pieces> {
        // Each update leaves the pieces consistent, so that a panic of another thread does not invalidate them.
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `ready` returns a value.
    fn wait<T>(&self, mut ready: impl FnMut(&mut Pieces) -> Option<T>) -> T {
        let mut pieces = self.lock();
        loop {
            if let Some(found) = ready(&mut pieces) {
                return found;
            }
            pieces = self.changed.wait(pieces).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The loop's end of the stream.
#[derive(Debug)]
pub(super) struct Stream {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// Empty pieces in addition to the one that each log is filling.
const SPARE: usize = 4;

impl Stream {
    /// Starts the thread that writes to `sinks`; pieces hold `rows` rows.
    pub(super) fn start(sinks: Vec<Sink>, rows: usize, cpus: Vec<u32>) -> std::io::Result<Stream> {
        let shared = Arc::new(Shared::default());
        {
            let mut pieces = shared.lock();
            let count = sinks.len() + SPARE;
            pieces.empty_rows = (0..count).map(|_| Vec::with_capacity(rows)).collect();
            pieces.empty_bins = (0..SPARE).map(|_| Box::new([0; COLUMNS])).collect();
            pieces.filled = VecDeque::with_capacity(count + SPARE);
        }
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("log".to_owned());
        let thread = thread.spawn(move || write_all(&theirs, sinks, &cpus))?;
        Ok(Stream { shared, thread: Some(thread) })
    }

    /// An empty piece for a log to fill.
    pub(super) fn empty(&self) -> Vec<LogRow> {
        self.shared.wait(|pieces| pieces.empty_rows.pop())
    }

    /// Empty bins for a histogram.
    pub(super) fn empty_bins(&self) -> Bins {
        self.shared.wait(|pieces| pieces.empty_bins.pop())
    }

    /// Passes the rows of a log to the thread and returns an empty piece; waits if there is none.
    pub(super) fn exchange(&self, log: usize, rows: Vec<LogRow>) -> Vec<LogRow> {
        self.push(Piece::Rows(log, rows));
        self.empty()
    }

    /// Passes a histogram to the thread.
    pub(super) fn histogram(&self, log: usize, row: HistogramRow) {
        self.push(Piece::Histogram(log, row));
    }

    fn push(&self, piece: Piece) {
        self.shared.lock().filled.push_back(piece);
        self.shared.changed.notify_all();
    }

    /// Passes the remaining rows of each log, waits until all are written, and returns the first error.
    pub(super) fn finish(mut self, rest: impl Iterator<Item = (usize, Vec<LogRow>)>) -> Result<(), JobError> {
        rest.for_each(|(log, rows)| self.push(Piece::Rows(log, rows)));
        self.end();
        self.shared.lock().failure.take().map_or(Ok(()), Err)
    }

    fn end(&mut self) {
        self.shared.lock().over = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            let message = "the thread that writes logs panicked: this is a bug in plumb".to_owned();
            self.shared.lock().failure.get_or_insert(refusal(libc::EIO, "write log", message));
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.end();
    }
}

/// The writer thread: takes pieces until the stream ends. After an error it still takes them, but drops them, so that
/// the job's I/O is not blocked.
fn write_all(shared: &Shared, mut sinks: Vec<Sink>, cpus: &[u32]) {
    let mut failure = None;
    if !cpus.is_empty()
        && let Err(error) = sys::processes::placement::set_affinity(cpus)
    {
        let errno = error.errno().unwrap_or(libc::EINVAL);
        failure = Some(refusal(errno, "log_compression_cpus", format!("log_compression_cpus: {error}")));
    }
    let mut bytes = Vec::new();
    loop {
        let piece = shared.wait(|pieces| match pieces.filled.pop_front() {
            Some(piece) => Some(Some(piece)),
            None => pieces.over.then_some(None),
        });
        let Some(piece) = piece else { break };
        let log = match &piece {
            Piece::Rows(log, _) | Piece::Histogram(log, _) => *log,
        };
        format_piece(&mut sinks[log], &piece, &mut bytes);
        write_out(&mut sinks[log], &mut bytes, &mut failure);
        give_back(shared, piece);
    }
    for sink in &mut sinks {
        if let Some(packer) = &mut sink.packer {
            packer.finish(&mut bytes);
        }
        write_out(sink, &mut bytes, &mut failure);
    }
    if let Some(failure) = failure {
        shared.lock().failure.get_or_insert(failure);
    }
}

fn format_piece(sink: &mut Sink, piece: &Piece, bytes: &mut Vec<u8>) {
    match (piece, &mut sink.packer) {
        (Piece::Rows(_, rows), Some(packer)) => rows.iter().for_each(|row| packer.push(row, bytes)),
        (Piece::Rows(_, rows), None) => rows.iter().for_each(|row| push_row(bytes, sink.layout, row)),
        (Piece::Histogram(_, row), _) => {
            let bins = coarser(&row.bins, sink.coarseness);
            push_histogram(bytes, row.at_ms, row.direction, row.block, bins);
        }
    }
}

fn write_out(sink: &mut Sink, bytes: &mut Vec<u8>, failure: &mut Option<JobError>) {
    if failure.is_none()
        && let Err(error) = sink.file.write_all(bytes)
    {
        *failure = Some(file_error("write log", &sink.path, error, ""));
    }
    bytes.clear();
}

fn give_back(shared: &Shared, piece: Piece) {
    let mut pieces = shared.lock();
    match piece {
        Piece::Rows(_, mut rows) => {
            rows.clear();
            pieces.empty_rows.push(rows);
        }
        Piece::Histogram(_, row) => pieces.empty_bins.push(row.bins),
    }
    drop(pieces);
    shared.changed.notify_all();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn sink(directory: &Path, packer: Option<Packer>) -> Sink {
        let path = directory.join("log");
        let file = File::create(&path).unwrap();
        Sink { path, file, layout: LogLayout::default(), packer, coarseness: 0 }
    }

    const ROW: LogRow = LogRow {
        at_ms: 1,
        value: 2,
        largest: 2,
        direction: Direction::Read,
        block: 4096,
        offset: 0,
        priority: 0,
        issued_ns: 0,
    };

    #[test]
    fn pieces_go_round_and_their_number_never_grows() {
        let directory = tempfile::tempdir().unwrap();
        let stream = Stream::start(vec![sink(directory.path(), None)], 8, Vec::new()).unwrap();
        let mut rows = stream.empty();
        let first = rows.as_ptr();
        let mut seen = vec![first];
        for _ in 0..500 {
            rows.extend([ROW; 8]);
            assert_eq!(rows.capacity(), 8, "a piece grew");
            rows = stream.exchange(0, rows);
            if !seen.contains(&rows.as_ptr()) {
                seen.push(rows.as_ptr());
            }
        }
        assert!(seen.len() <= 1 + SPARE, "{} pieces", seen.len());
        stream.finish([(0, rows)].into_iter()).unwrap();
        let text = std::fs::read_to_string(directory.path().join("log")).unwrap();
        assert_eq!(text.lines().count(), 4000);
    }

    #[test]
    fn a_full_disk_is_an_error_that_names_the_log_and_stops_nothing() {
        let full = Path::new("/dev/full");
        let file = File::options().write(true).open(full).unwrap();
        let sink = Sink { path: full.to_owned(), file, layout: LogLayout::default(), packer: None, coarseness: 0 };
        let stream = Stream::start(vec![sink], 8, Vec::new()).unwrap();
        let mut rows = stream.empty();
        for _ in 0..50 {
            rows.extend([ROW; 8]);
            rows = stream.exchange(0, rows);
        }
        let error = stream.finish([(0, rows)].into_iter()).unwrap_err();
        assert_eq!(error.errno, libc::ENOSPC);
        assert!(error.message.contains("write log /dev/full"), "{}", error.message);
    }

    #[test]
    fn the_writer_runs_on_the_cpus_it_was_given_or_says_so() {
        let directory = tempfile::tempdir().unwrap();
        let stream = Stream::start(vec![sink(directory.path(), None)], 8, vec![0]).unwrap();
        stream.finish(std::iter::empty()).unwrap();
        let stream = Stream::start(vec![sink(directory.path(), None)], 8, vec![100_000]).unwrap();
        let error = stream.finish(std::iter::empty()).unwrap_err();
        assert!(error.message.contains("log_compression_cpus"), "{}", error.message);
    }

    #[test]
    fn a_piece_is_a_separate_zlib_stream() {
        let directory = tempfile::tempdir().unwrap();
        let packer = Some(Packer::new(LogLayout::default(), 10 * 32));
        let stream = Stream::start(vec![sink(directory.path(), packer)], 8, Vec::new()).unwrap();
        let mut rows = stream.empty();
        for _ in 0..5 {
            rows.extend([ROW; 8]);
            rows = stream.exchange(0, rows);
        }
        stream.finish([(0, rows)].into_iter()).unwrap();
        let bytes = std::fs::read(directory.path().join("log")).unwrap();
        assert_eq!(bytes.windows(2).filter(|pair| pair == &[0x78, 0x9c]).count(), 4, "40 rows are four pieces of ten");
        let mut text = Vec::new();
        assert_eq!(formats::fio::log::inflate(bytes.as_slice(), &mut text).unwrap(), 40);
    }
}
