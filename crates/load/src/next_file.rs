//! Selection of the next file, and the set of open files.
//!
//! Owns the order among files that have data left (`file_service_type`) and, if fewer files may be open than exist
//! (`openfiles`), the assignment of open files to the engine's targets. Opening is done by the worker.

use super::distribution::{Ranks, Scatter};
use super::next_offset::Target;
use super::random::{Purpose, Random, stream_seed};
use super::{LoadSetup, Next, Request};
use plan::FileService;

/// The order of files.
#[derive(Clone, Debug)]
pub(super) struct FileSelector {
    order: FileOrder,
    /// Index of the current file.
    turn: usize,
    /// Number of I/Os that it still gets.
    left: u32,
    draws: Random,
    seed: u64,
    pub(super) open: Option<OpenFiles>,
}

#[derive(Clone, Debug)]
enum FileOrder {
    RoundRobin(u32),
    Random(u32),
    Sequential,
    /// A rank, and the mapping from ranks to files.
    Ranked(Ranks, RankToFile),
}

/// The mapping from ranks to files.
#[derive(Clone, Debug)]
enum RankToFile {
    Scattered(Scatter),
    /// Centred on this file.
    Around(u64),
}

/// Number of redraws before files are tried in order: finding the last one left of a thousand should not take a
/// thousand draws.
const REDRAWS: u32 = 16;

impl FileSelector {
    /// `None` if all files are open and get one I/O each in turn: the simple case needs no selector.
    pub(super) fn new(setup: &LoadSetup<'_>) -> Option<FileSelector> {
        let handling = &setup.job.files.handling;
        let files = setup.regions.len();
        let open = setup.job.open_at_once(files);
        let plain = handling.service == FileService::RoundRobin(1) && open == files;
        if plain || files < 2 {
            return None;
        }
        let seed = stream_seed(setup.job.load.seed.unwrap_or(setup.system_seed), setup.number, Purpose::File);
        Some(FileSelector {
            order: FileOrder::new(handling.service, files as u64, seed),
            turn: 0,
            left: 0,
            draws: Random::new(seed),
            seed,
            open: (open < files).then(|| OpenFiles::new(open)),
        })
    }

    /// The file for the next I/O; the same until [`FileSelector::selected`] is called for it, unless it is used up.
    pub(super) fn next(&mut self, targets: &[Target]) -> Option<usize> {
        // Without room for another, only files that are in use can be next: there are few of them among many.
        let open = self.open.as_ref().filter(|open| !open.has_room());
        let ready = |&file: &usize| !targets[file].is_over() && open.is_none_or(|open| open.uses(file));
        if self.left > 0 && ready(&self.turn) {
            return Some(self.turn);
        }
        let files = targets.len();
        let from = |start: usize| match open {
            Some(open) => open.files().filter(ready).min_by_key(|&file| (file < start, file)),
            None => (start..files).find(ready).or_else(|| (0..start.min(files)).find(ready)),
        };
        let (file, times) = match &mut self.order {
            FileOrder::RoundRobin(times) => (from(self.turn)?, *times),
            FileOrder::Sequential => (from(self.turn)?, u32::MAX),
            FileOrder::Random(times) => {
                let draws = &mut self.draws;
                let drawn = (0..REDRAWS).map(|_| number(draws.below(files as u64))).find(ready);
                (drawn.or_else(|| from(number(self.draws.below(files as u64))))?, *times)
            }
            FileOrder::Ranked(ranks, placed) => {
                let file = number(placed.file(ranks.draw(&mut self.draws), files as u64));
                (if ready(&file) { file } else { from(file)? }, 1)
            }
        };
        (self.turn, self.left) = (file, times);
        Some(file)
    }

    /// Counts an I/O of this length to the current file.
    pub(super) fn selected(&mut self, file: usize, length: u32) {
        if let Some(open) = &mut self.open {
            open.count(file, length);
        }
        self.left = self.left.saturating_sub(1);
        if self.left == 0 && matches!(self.order, FileOrder::RoundRobin(_)) {
            self.turn = file + 1;
        }
    }

    /// Marks a file as used up: another may be opened in its place.
    pub(super) fn finished(&mut self, file: usize) {
        self.left = 0;
        if let Some(open) = &mut self.open {
            open.release(file);
        }
    }

    /// True if an open file has had as many bytes as it has room for, and makes room for another: one that starts over by
    /// itself would stay open for good.
    pub(super) fn has_had_enough(&self, file: usize, target: &Target) -> bool {
        let bytes = self.open.as_ref().and_then(|open| open.bytes_of(file));
        bytes.is_some_and(|bytes| bytes >= target.whole_bytes()) && !target.has_trimmed()
    }

    /// Makes room for another file in the place of this one, which gets more I/Os when it is its turn again.
    pub(super) fn make_way(&mut self, file: usize) {
        self.finished(file);
        self.turn = file + 1;
    }

    /// True if a file that is used up starts over, because its share of the I/O does not depend on its size.
    pub(super) const fn starts_over(&self) -> bool {
        matches!(self.order, FileOrder::Ranked(..))
    }

    /// Starts a new pass, which draws other files.
    pub(super) const fn restart(&mut self) {
        (self.turn, self.left) = (0, 0);
    }

    /// Starts a new pass, which draws the same files in the same order.
    pub(super) fn repeat(&mut self) {
        self.restart();
        self.draws = Random::new(self.seed);
    }
}

impl FileOrder {
    fn new(service: FileService, files: u64, seed: u64) -> FileOrder {
        let scattered =
            |ranks, centre| FileOrder::Ranked(ranks, RankToFile::Scattered(Scatter::new(files, seed, centre)));
        match service {
            FileService::RoundRobin(times) => FileOrder::RoundRobin(times.max(1)),
            FileService::Random(times) => FileOrder::Random(times.max(1)),
            FileService::Sequential => FileOrder::Sequential,
            FileService::Zipf(theta, centre) => scattered(Ranks::zipf(files, theta), centre),
            FileService::Pareto(shape, centre) => scattered(Ranks::pareto(files, shape), centre),
            FileService::Normal(deviation, centre) => {
                let middle = Ranks::centre(files, centre.unwrap_or(0.5));
                FileOrder::Ranked(Ranks::normal(files, deviation), RankToFile::Around(middle))
            }
        }
    }
}

impl RankToFile {
    fn file(&self, rank: u64, files: u64) -> u64 {
        match self {
            RankToFile::Scattered(scatter) => scatter.place(rank) % files,
            RankToFile::Around(middle) => (rank + middle) % files,
        }
    }
}

/// The files that are open, one per target of the engine.
///
/// Which file is next depends on the files in use alone. A block that is read back, a sync or a trim of a block that was
/// written may open another file meanwhile, and change nothing of the order: it can be generated a second time.
#[derive(Clone, Debug)]
pub(super) struct OpenFiles {
    of_target: Box<[usize]>,
    /// The files that will get more I/Os, at most one per target.
    in_use: Vec<InUse>,
    /// The step to do as soon as its file is open.
    waiting: Option<Next>,
}

#[derive(Clone, Copy, Debug)]
struct InUse {
    file: usize,
    /// Bytes issued to it since it is in use.
    bytes: u64,
}

impl OpenFiles {
    /// The first files, which the worker opens before it starts.
    fn new(targets: usize) -> Self {
        OpenFiles { of_target: (0..targets).collect(), in_use: Vec::with_capacity(targets), waiting: None }
    }

    /// True if a file can be opened in the place of one that gets no more I/Os.
    fn has_room(&self) -> bool {
        self.in_use.len() < self.of_target.len()
    }

    fn files(&self) -> impl Iterator<Item = usize> {
        self.in_use.iter().map(|used| used.file)
    }

    fn target_of(&self, file: usize) -> Option<usize> {
        self.of_target.iter().position(|&open| open == file)
    }

    fn uses(&self, file: usize) -> bool {
        self.in_use.iter().any(|used| used.file == file)
    }

    /// Bytes issued to a file in use.
    fn bytes_of(&self, file: usize) -> Option<u64> {
        self.in_use.iter().find(|used| used.file == file).map(|used| used.bytes)
    }

    fn count(&mut self, file: usize, length: u32) {
        let bytes = u64::from(length);
        match self.in_use.iter_mut().find(|used| used.file == file) {
            Some(used) => used.bytes += bytes,
            None => self.in_use.push(InUse { file, bytes }),
        }
    }

    fn release(&mut self, file: usize) {
        self.in_use.retain(|used| used.file != file);
    }

    /// The step that was held back until its file was open.
    pub(super) fn take_waiting(&mut self) -> Option<Next> {
        self.waiting.take()
    }

    /// Sets the target of a step about a file, or asks for the file to be opened first. `None` for a step about a file
    /// that is not open and does not have to be.
    pub(super) fn assign(&mut self, next: Next) -> Option<Next> {
        let file = match next {
            Next::Issue(request) | Next::Review { request, .. } | Next::SyncRange { request, .. } => request.file,
            Next::DropCache(file) => file,
            other => return Some(other),
        };
        let Some(open) = self.target_of(file as usize) else {
            return match next {
                // It was synced and dropped from the cache when it was closed.
                Next::SyncRange { .. } | Next::DropCache(_) => None,
                next => {
                    let idle = self.of_target.iter().position(|&open| !self.uses(open)).unwrap_or(0);
                    self.of_target[idle] = file as usize;
                    self.waiting = Some(next);
                    Some(Next::Open { target: target(idle), file })
                }
            };
        };
        let on_target = |request: Request| Request { target: target(open), ..request };
        Some(match next {
            Next::Issue(request) => Next::Issue(on_target(request)),
            Next::Review { request, expects } => Next::Review { request: on_target(request), expects },
            Next::SyncRange { request, length } => Next::SyncRange { request: on_target(request), length },
            _ => Next::DropCache(target(open)),
        })
    }
}

fn number(file: u64) -> usize {
    usize::try_from(file).unwrap_or(usize::MAX)
}

fn target(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
