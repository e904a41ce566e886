//! I/Os of a replay paired with those of its original: were they begun at their moments, and after the same I/O?

use measure::{Nanos, float};
use model::TraceIo;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// I/Os of the original among which the one of a replay is searched.
const WINDOW: usize = 256;
/// One that was passed by more is given up.
const PASSED: u64 = 128;
/// Pairs that are remembered for those that follow them.
const REMEMBERED: usize = 1 << 16;
/// Differences of moments are counted in steps of this time.
const STEP: Nanos = Nanos(50_000);
/// A moment is kept within this time.
const KEPT: Nanos = Nanos::MILLISECOND;

/// One of the two traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The load that was recorded first.
    Original,
    /// The one that played it again.
    Replay,
}

/// Pairs of I/Os with the same operation, offset and length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// I/Os of the original.
    pub ios: u64,
    /// Those that the replay has, too.
    pub paired: u64,
    /// Those of them that began within 1 ms of their moment.
    pub kept: u64,
    /// Those of them that follow the end of the same I/O of their thread.
    pub same_order: u64,
}

impl Pairs {
    /// The replay has at least nine tenths of the I/Os, in nearly their order.
    pub fn are_of_a_replay(&self) -> bool {
        self.ios > 0 && self.paired >= self.ios - self.ios / 10
    }

    /// Shares of all I/Os of the original: kept moments, same order.
    pub fn shares(&self) -> [f64; 2] {
        [self.kept, self.same_order].map(|count| float(count) / float(self.ios.max(1)))
    }
}

/// Finds for each I/O the last one of its thread that had ended when it began.
#[derive(Default)]
struct Threads {
    known: FxHashMap<u32, Thread>,
    count: u64,
}

/// The I/Os of a thread in flight, with their ends and numbers, and the one that ended last.
#[derive(Default)]
struct Thread {
    in_flight: BinaryHeap<Reverse<(Nanos, u64)>>,
    last: Option<u64>,
}

impl Threads {
    /// The number of the I/O, and of the one that it follows.
    fn add(&mut self, io: &TraceIo) -> [Option<u64>; 2] {
        let number = self.count;
        self.count += 1;
        let Thread { in_flight, last } = self.known.entry(io.thread.unwrap_or_default()).or_default();
        while in_flight.peek().is_some_and(|Reverse((end, _))| *end <= io.begin) {
            *last = in_flight.pop().map(|Reverse((_, ended))| ended);
        }
        if let Some(end) = io.end() {
            in_flight.push(Reverse((end, number)));
        }
        [Some(number), *last]
    }
}

/// The differences of the moments of pairs, in steps. The clock of a replay begins with its first recorded I/O, so
/// what the clocks differ by is not known: it is taken to be the time at which most moments are kept.
#[derive(Default)]
struct Moments(FxHashMap<i128, u64>);

impl Moments {
    fn add(&mut self, original: Nanos, replayed: Nanos) {
        let difference = i128::from(replayed.get()) - i128::from(original.get());
        *self.0.entry(difference.div_euclid(i128::from(STEP.get()))).or_default() += 1;
    }

    /// Most pairs whose differences are within 1 ms of one time.
    fn kept(self) -> u64 {
        let width = i128::from(2 * KEPT.get() / STEP.get());
        let mut counts: Vec<(i128, u64)> = self.0.into_iter().collect();
        counts.sort_unstable();
        let (mut from, mut sum, mut most) = (0, 0, 0);
        for (step, count) in &counts {
            sum += count;
            while counts[from].0 + width <= *step {
                sum -= counts[from].1;
                from += 1;
            }
            most = most.max(sum);
        }
        most
    }
}

/// Pairs two traces, of which `next` gives the next I/O of each.
///
/// # Errors
/// That of `next`.
pub fn pairs<E>(mut next: impl FnMut(Side) -> Result<Option<TraceIo>, E>) -> Result<Pairs, E> {
    let mut found = Pairs::default();
    let mut waiting: VecDeque<(TraceIo, [Option<u64>; 2])> = VecDeque::with_capacity(WINDOW);
    let (mut of_original, mut of_replay) = (Threads::default(), Threads::default());
    let mut partner: Vec<[u64; 2]> = vec![[u64::MAX; 2]; REMEMBERED];
    let place = |number: u64| usize::try_from(number).unwrap_or_default() % REMEMBERED;
    let (mut is_over, mut moments, mut lag) = (false, Moments::default(), None);
    loop {
        while waiting.len() < WINDOW && !is_over {
            match next(Side::Original)? {
                Some(io) => {
                    waiting.push_back((io, of_original.add(&io)));
                    found.ios += 1;
                }
                None => is_over = true,
            }
        }
        let Some(replayed) = next(Side::Replay)? else { break };
        let [number, follows] = of_replay.add(&replayed);
        let key = |io: &TraceIo| (io.operation, io.offset, io.bytes);
        let Some(at) = waiting.iter().position(|(io, _)| key(io) == key(&replayed)) else {
            // Another I/O. Originals that are long past are given up.
            let now = lag.map(|lag| i128::from(replayed.begin.get()) - lag - i128::from(Nanos::SECOND.get()));
            let is_past = |io: &TraceIo| now.is_some_and(|now| i128::from(io.begin.get()) < now);
            while waiting.front().is_some_and(|(io, _)| is_past(io)) {
                waiting.pop_front();
            }
            continue;
        };
        let Some((original, [of, followed])) = waiting.remove(at) else { continue };
        let (Some(number), Some(of)) = (number, of) else { continue };
        found.paired += 1;
        while waiting.front().is_some_and(|(_, [front, _])| front.is_some_and(|front| front + PASSED < of)) {
            waiting.pop_front();
        }
        moments.add(original.begin, replayed.begin);
        lag = Some(i128::from(replayed.begin.get()) - i128::from(original.begin.get()));
        let partner_of =
            |number: u64| Some(partner[place(number)]).filter(|pair| pair[0] == number).map(|pair| pair[1]);
        found.same_order +=
            u64::from(follows.and_then(partner_of) == followed && follows.is_some() == followed.is_some());
        partner[place(number)] = [number, of];
    }
    while !is_over {
        match next(Side::Original)? {
            Some(_) => found.ios += 1,
            None => is_over = true,
        }
    }
    Ok(Pairs { kept: moments.kept(), ..found })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Operation;

    fn io(number: u64, shift: u64, thread: u32) -> TraceIo {
        TraceIo {
            begin: Nanos(number * 2_000_000 + shift),
            operation: Operation::Read,
            offset: Some(number % 977 * 4096),
            bytes: 4096,
            target: 0,
            latency: Some(Nanos(500_000)),
            thread: Some(thread),
        }
    }

    fn paired(original: &[TraceIo], replay: &[TraceIo]) -> Pairs {
        let (mut original, mut replay) = (original.iter(), replay.iter());
        let next = |side| Ok::<_, ()>(if side == Side::Original { original.next() } else { replay.next() }.copied());
        pairs(next).unwrap()
    }

    #[test]
    fn a_trace_and_itself_are_pairs_in_all() {
        let ios: Vec<TraceIo> = (0..5000).map(|at| io(at, 0, u32::from(at % 3 == 0))).collect();
        assert_eq!(paired(&ios, &ios), Pairs { ios: 5000, paired: 5000, kept: 5000, same_order: 5000 });
    }

    #[test]
    fn late_lost_and_foreign_ios_are_seen() {
        let ios: Vec<TraceIo> = (0..5000).map(|at| io(at, 0, 1)).collect();
        // The clock of the replay is 5 s ahead: its recording began with ten other I/Os.
        let late = (0..5000).map(|at| io(at, 5_000_000_000 + if at % 10 == 0 { 2_600_000 } else { 400_000 }, 1));
        let late: Vec<TraceIo> = (0..10).map(|at| TraceIo { bytes: 1, ..io(at, 0, 1) }).chain(late).collect();
        let found = paired(&ios, &late);
        assert_eq!((found.paired, found.kept), (5000, 4500));
        let gaps: Vec<TraceIo> = ios.iter().enumerate().filter(|(at, _)| at % 50 != 7).map(|(_, io)| *io).collect();
        let found = paired(&ios, &gaps);
        assert_eq!((found.paired, found.kept), (4900, 4900));
        assert!(found.are_of_a_replay() && found.same_order > 4750, "{found:?}");
        let other: Vec<TraceIo> = ios.iter().map(|io| TraceIo { bytes: 8192, ..*io }).collect();
        assert!(!paired(&ios, &other).are_of_a_replay());
    }

    #[test]
    fn another_thread_breaks_the_order_alone() {
        let ios: Vec<TraceIo> = (0..5000).map(|at| io(at, 0, 1)).collect();
        let split: Vec<TraceIo> = (0..5000).map(|at| io(at, 0, u32::from(at % 2 == 0))).collect();
        let found = paired(&ios, &split);
        assert_eq!((found.paired, found.kept), (5000, 5000));
        assert!(found.same_order < 100, "{found:?}");
    }
}
