//! Selection of the next file, and the set of open files.
//!
//! Owns the order among files that have data left (`file_service_type`) and, if fewer files may be open than exist
//! (`openfiles`), the assignment of open files to the engine's targets. Opening is done by the worker.

use super::distribution::{Ranks, Scatter};
use super::places::Place;
use super::random::{Purpose, Random, stream_seed};
use super::{LoadSetup, Next, Request};
use plan::FileService;

/// The order of files.
#[derive(Clone, Debug)]
pub(super) struct Service {
    order: Order,
    /// Index of the current file.
    turn: usize,
    /// Number of I/Os that it still gets.
    left: u32,
    draws: Random,
    seed: u64,
    pub(super) seats: Option<Seats>,
}

#[derive(Clone, Debug)]
enum Order {
    RoundRobin(u32),
    Random(u32),
    Sequential,
    /// A rank, and the mapping from ranks to files.
    Ranked(Ranks, Placed),
}

/// The mapping from ranks to files.
#[derive(Clone, Debug)]
enum Placed {
    Scattered(Scatter),
    /// Centred on this file.
    Around(u64),
}

/// Number of redraws before files are tried in order: finding the last one left of a thousand should not take a
/// thousand draws.
const REDRAWS: u32 = 16;

impl Service {
    /// `None` if all files are open and served in turn with one I/O each: the simple case needs no service.
    pub(super) fn new(setup: &LoadSetup<'_>) -> Option<Service> {
        let handling = &setup.job.files.handling;
        let files = setup.regions.len();
        let open = handling.open_at_once.map_or(files, |open| (open as usize).min(files));
        let plain = handling.service == FileService::RoundRobin(1) && open == files;
        if plain || files < 2 {
            return None;
        }
        let seed = stream_seed(setup.job.load.seed.unwrap_or(setup.system_seed), setup.number, Purpose::File);
        Some(Service {
            order: Order::new(handling.service, files as u64, seed),
            turn: 0,
            left: 0,
            draws: Random::new(seed),
            seed,
            seats: (open < files).then(|| Seats::new(open)),
        })
    }

    /// The file for the next I/O; the same until [`Service::served`] is called for it, unless it is used up.
    pub(super) fn next(&mut self, places: &[Place]) -> Option<usize> {
        let seats = &self.seats;
        let ready = |&file: &usize| !places[file].is_over() && seats.as_ref().is_none_or(|seats| seats.may_serve(file));
        if self.left > 0 && ready(&self.turn) {
            return Some(self.turn);
        }
        let files = places.len();
        let from = |start: usize| (start..files).find(ready).or_else(|| (0..start.min(files)).find(ready));
        let (file, times) = match &self.order {
            Order::RoundRobin(times) => (from(self.turn)?, *times),
            Order::Sequential => (from(self.turn)?, u32::MAX),
            Order::Random(times) => {
                let draws = &mut self.draws;
                let drawn = (0..REDRAWS).map(|_| number(draws.below(files as u64))).find(ready);
                (drawn.or_else(|| from(number(self.draws.below(files as u64))))?, *times)
            }
            Order::Ranked(ranks, placed) => {
                let file = number(placed.file(ranks.draw(&mut self.draws), files as u64));
                (if ready(&file) { file } else { from(file)? }, 1)
            }
        };
        (self.turn, self.left) = (file, times);
        Some(file)
    }

    /// Counts an I/O to the current file.
    pub(super) fn served(&mut self, file: usize) {
        if let Some(seats) = &mut self.seats {
            seats.take_into_service(file);
        }
        self.left = self.left.saturating_sub(1);
        if self.left == 0 && matches!(self.order, Order::RoundRobin(_)) {
            self.turn = file + 1;
        }
    }

    /// Marks a file as used up: another may be opened in its place.
    pub(super) fn finished(&mut self, file: usize) {
        self.left = 0;
        if let Some(seats) = &mut self.seats {
            seats.release(file);
        }
    }

    /// True if a file that is used up starts over, because its share of the I/O does not depend on its size.
    pub(super) const fn starts_over(&self) -> bool {
        matches!(self.order, Order::Ranked(..))
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

impl Order {
    fn new(service: FileService, files: u64, seed: u64) -> Order {
        let scattered = |ranks, centre| Order::Ranked(ranks, Placed::Scattered(Scatter::new(files, seed, centre)));
        match service {
            FileService::RoundRobin(times) => Order::RoundRobin(times.max(1)),
            FileService::Random(times) => Order::Random(times.max(1)),
            FileService::Sequential => Order::Sequential,
            FileService::Zipf(theta, centre) => scattered(Ranks::zipf(files, theta), centre),
            FileService::Pareto(shape, centre) => scattered(Ranks::pareto(files, shape), centre),
            FileService::Normal(deviation, centre) => {
                let middle = Ranks::centre(files, centre.unwrap_or(0.5));
                Order::Ranked(Ranks::normal(files, deviation), Placed::Around(middle))
            }
        }
    }
}

impl Placed {
    fn file(&self, rank: u64, files: u64) -> u64 {
        match self {
            Placed::Scattered(scatter) => scatter.place(rank) % files,
            Placed::Around(middle) => (rank + middle) % files,
        }
    }
}

/// The open files: a seat per file that may be open, and the file in each.
#[derive(Clone, Debug)]
pub(super) struct Seats {
    seats: Box<[Seat]>,
    /// The step to do as soon as its file is open.
    waiting: Option<Next>,
}

#[derive(Clone, Copy, Debug)]
struct Seat {
    file: usize,
    /// True if the file will get more I/Os; otherwise its seat may be given to another file.
    in_service: bool,
}

impl Seats {
    /// Seats for the first files, which the worker opens before it starts.
    fn new(seats: usize) -> Self {
        Seats { seats: (0..seats).map(|file| Seat { file, in_service: false }).collect(), waiting: None }
    }

    fn may_serve(&self, file: usize) -> bool {
        self.seats.iter().any(|seat| seat.file == file || !seat.in_service)
    }

    fn seat_of(&self, file: usize) -> Option<usize> {
        self.seats.iter().position(|seat| seat.file == file)
    }

    fn take_into_service(&mut self, file: usize) {
        // A file without a seat gets one when its I/O is handed out.
        let seat = self.seat_of(file).or_else(|| self.seats.iter().position(|seat| !seat.in_service));
        if let Some(seat) = seat
            && self.seats[seat].file == file
        {
            self.seats[seat].in_service = true;
        }
    }

    fn release(&mut self, file: usize) {
        if let Some(seat) = self.seat_of(file) {
            self.seats[seat].in_service = false;
        }
    }

    /// The step that was held back until its file was open.
    pub(super) fn take_waiting(&mut self) -> Option<Next> {
        self.waiting.take()
    }

    /// Replaces the file number by its target, or asks for the file to be opened first. `None` for a step about a file
    /// that is not open and does not have to be.
    pub(super) fn hand_out(&mut self, next: Next) -> Option<Next> {
        let file = match next {
            Next::Issue(request) | Next::Review { request, .. } => request.target,
            Next::SyncRange { target, .. } | Next::DropCache(target) => target,
            other => return Some(other),
        };
        let Some(seat) = self.seat_of(file as usize) else {
            return match next {
                // It was synced and dropped from the cache when it was closed.
                Next::SyncRange { .. } | Next::DropCache(_) => None,
                next => {
                    let idle = self.seats.iter().position(|seat| !seat.in_service).unwrap_or(0);
                    self.seats[idle] = Seat { file: file as usize, in_service: matches!(next, Next::Issue(_)) };
                    self.waiting = Some(next);
                    Some(Next::Open { target: target(idle), file })
                }
            };
        };
        let sits = |request: Request| Request { target: target(seat), ..request };
        Some(match next {
            Next::Issue(request) => Next::Issue(sits(request)),
            Next::Review { request, expects } => Next::Review { request: sits(request), expects },
            Next::SyncRange { offset, length, .. } => Next::SyncRange { target: target(seat), offset, length },
            _ => Next::DropCache(target(seat)),
        })
    }
}

fn number(file: u64) -> usize {
    usize::try_from(file).unwrap_or(usize::MAX)
}

fn target(seat: usize) -> u32 {
    u32::try_from(seat).unwrap_or(u32::MAX)
}
