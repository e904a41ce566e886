//! The order and the clock of a trace: I/Os are sorted within a window, and what a coarse clock gave one moment is spread.

use measure::Nanos;
use model::{TraceClock, TraceIo};

/// I/Os that are held to be sorted: one that stands farther from its place is late.
const WINDOW: usize = 1 << 17;
/// Gaps that the clock is found from.
const GAPS: usize = 100_000;

/// I/Os between a reader and its caller.
#[derive(Default)]
pub(super) struct Order {
    /// As they were read; the first ones are sorted.
    held: Vec<TraceIo>,
    /// In order, from `at` on.
    ready: Vec<TraceIo>,
    at: usize,
    /// The moment of the first I/O, as it was read.
    first: Option<Nanos>,
    /// The moment of the last I/O that was given out.
    last: Nanos,
    clock: Option<TraceClock>,
    late: u64,
}

impl Order {
    pub(super) fn push(&mut self, io: TraceIo) {
        self.held.push(io);
    }

    pub(super) fn extend(&mut self, ios: impl IntoIterator<Item = TraceIo>) {
        self.held.extend(ios);
    }

    /// True if enough are held for sorting.
    pub(super) fn is_full(&self) -> bool {
        self.held.len() >= WINDOW
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// The clock, as soon as a first part is sorted.
    pub(super) fn clock(&self) -> Option<TraceClock> {
        self.clock
    }

    /// I/Os that stood too far from their place: they are given out at the moment of the I/O before.
    pub(super) fn late(&self) -> u64 {
        self.late
    }

    /// The next I/O of those that are sorted.
    pub(super) fn next(&mut self) -> Option<TraceIo> {
        let io = self.ready.get(self.at).copied()?;
        self.at += 1;
        Some(io)
    }

    /// Sorts what is held. Half of it is given out, at the end all of it.
    pub(super) fn sort(&mut self, is_end: bool) {
        // Stable, and nearly nothing to do for what is in order.
        self.held.sort_by_key(|io| io.begin);
        let clock = *self.clock.get_or_insert_with(|| clock(&self.held));
        let mut count = if is_end { self.held.len() } else { self.held.len() / 2 };
        let stamp = self.held.get(count).map(|io| io.begin).filter(|_| !is_end);
        if let Some(whole) = self.held[..count].iter().rposition(|io| Some(io.begin) != stamp) {
            // What has one moment stays together.
            count = whole + 1;
        }
        self.ready.clear();
        self.ready.extend(self.held.drain(..count));
        self.at = 0;
        if let Some(tick) = clock.coarse_tick().filter(|tick| *tick < Nanos::MAX) {
            spread(&mut self.ready, tick);
        }
        let Some(first) = self.first.or(self.ready.first().map(|io| io.begin)) else { return };
        self.first = Some(first);
        for io in &mut self.ready {
            let begin = io.begin.saturating_sub(first);
            self.late += u64::from(begin < self.last || io.begin < first);
            io.begin = begin.max(self.last);
            self.last = io.begin;
        }
    }
}

fn clock(sorted: &[TraceIo]) -> TraceClock {
    let gaps = sorted.windows(2).take(GAPS).map(|pair| pair[1].begin.get() - pair[0].begin.get());
    let (mut divisor, mut zero, mut count) = (0, 0_u64, 0_u64);
    for gap in gaps {
        count += 1;
        zero += u64::from(gap == 0);
        if divisor != 1 {
            divisor = greatest_divisor(divisor, gap);
        }
    }
    let zero_gaps = if count == 0 { 0.0 } else { measure::float(zero) / measure::float(count) };
    TraceClock { resolution: (divisor > 0).then_some(Nanos(divisor)), zero_gaps }
}

fn greatest_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Gives the I/Os of each moment equal distances within its tick.
fn spread(ios: &mut [TraceIo], tick: Nanos) {
    for of_moment in ios.chunk_by_mut(|a, b| a.begin == b.begin) {
        let count = of_moment.len() as u128;
        for (at, io) in (0_u128..).zip(of_moment) {
            let part = u64::try_from(u128::from(tick.get()) * at / count).unwrap_or(0);
            io.begin = io.begin.saturating_add(Nanos(part));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Operation;

    fn io(begin: u64) -> TraceIo {
        let (offset, latency, thread) = (Some(0), None, None);
        TraceIo { begin: Nanos(begin), operation: Operation::Read, offset, bytes: 512, target: 0, latency, thread }
    }

    fn through(moments: &[u64]) -> (Vec<u64>, Order) {
        let mut order = Order::default();
        let mut out = Vec::new();
        for moment in moments {
            order.push(io(*moment));
            if order.is_full() {
                order.sort(false);
                out.extend(std::iter::from_fn(|| order.next()).map(|io| io.begin.get()));
            }
        }
        order.sort(true);
        out.extend(std::iter::from_fn(|| order.next()).map(|io| io.begin.get()));
        (out, order)
    }

    #[test]
    fn moments_begin_at_0_and_are_in_order() {
        let (out, order) = through(&[700, 500, 900]);
        assert_eq!(out, [0, 200, 400]);
        assert_eq!(order.clock(), Some(TraceClock { resolution: Some(Nanos(200)), zero_gaps: 0.0 }));
    }

    #[test]
    fn what_a_clock_of_seconds_has_in_one_second_is_spread_in_it() {
        let second = Nanos::SECOND.get();
        let (out, order) = through(&[5 * second, 5 * second, 5 * second, 5 * second, 6 * second, 8 * second]);
        assert_eq!(out, [0, second / 4, second / 2, 3 * second / 4, second, 3 * second]);
        assert_eq!(order.clock().and_then(|clock| clock.coarse_tick()), Some(Nanos::SECOND));
    }

    #[test]
    fn what_stands_too_far_from_its_place_is_counted() {
        let mut moments: Vec<u64> = (0..3 * WINDOW as u64).map(|at| 1000 + at).collect();
        moments.push(1003);
        let (out, order) = through(&moments);
        assert!(out.is_sorted() && out.len() == moments.len());
        assert_eq!(order.late(), 1);
    }
}
