//! The moments that jobs wait for: a heap in which each job has one place at most, so that a thread of many jobs finds
//! the next moment without looking at all of them, and forgets one when a completion arrives first. Nothing is
//! allocated after the start.

use measure::Nanos;

/// No place in the heap.
const NOWHERE: usize = usize::MAX;

/// The next moment of each job that waits for one.
#[derive(Debug)]
pub(super) struct Deadlines {
    /// Moments and jobs; each is due no earlier than the one at half its index.
    heap: Vec<(Nanos, u32)>,
    /// Index in `heap` by job.
    places: Box<[usize]>,
}

impl Deadlines {
    pub(super) fn new(jobs: usize) -> Deadlines {
        Deadlines { heap: Vec::with_capacity(jobs), places: vec![NOWHERE; jobs].into() }
    }

    /// The earliest moment; `None` if no job waits for one.
    pub(super) fn next(&self) -> Option<Nanos> {
        self.heap.first().map(|&(moment, _)| moment)
    }

    /// Sets the moment of a job that waits for none yet.
    pub(super) fn set(&mut self, job: u32, moment: Nanos) {
        self.forget(job);
        self.heap.push((moment, job));
        self.rise(self.heap.len() - 1);
    }

    /// Forgets the moment of a job, if it waits for one.
    pub(super) fn forget(&mut self, job: u32) {
        let at = std::mem::replace(&mut self.places[job as usize], NOWHERE);
        if at == NOWHERE {
            return;
        }
        self.heap.swap_remove(at);
        if at < self.heap.len() {
            self.sink(at);
            self.rise(at);
        }
    }

    /// Takes a job whose moment has come by `now`, the earliest first.
    pub(super) fn take_due(&mut self, now: Nanos) -> Option<u32> {
        let &(moment, job) = self.heap.first()?;
        (moment <= now).then(|| {
            self.forget(job);
            job
        })
    }

    fn rise(&mut self, mut at: usize) {
        while at > 0 && self.heap[at] < self.heap[(at - 1) / 2] {
            self.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
        self.places[self.heap[at].1 as usize] = at;
    }

    fn sink(&mut self, mut at: usize) {
        loop {
            let children = 2 * at + 1..(2 * at + 3).min(self.heap.len());
            let Some(least) = children.min_by_key(|&child| self.heap[child]) else { break };
            if self.heap[at] <= self.heap[least] {
                break;
            }
            self.swap(at, least);
            at = least;
        }
        self.places[self.heap[at].1 as usize] = at;
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.heap.swap(one, other);
        self.places[self.heap[one].1 as usize] = one;
        self.places[self.heap[other].1 as usize] = other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::SplitMix;

    #[test]
    fn moments_come_in_order_whatever_was_changed_or_forgotten() {
        let mut deadlines = Deadlines::new(50);
        let mut known = [None; 50];
        let mut random = SplitMix::new(3);
        let mut below = |most: u64| random.next_word() % most;
        let mut taken = 0;
        for _ in 0..20_000 {
            let job = u32::try_from(below(50)).unwrap();
            let moment = Nanos(below(1000));
            match below(3) {
                0 => {
                    deadlines.forget(job);
                    known[job as usize] = None;
                }
                1 => {
                    deadlines.set(job, moment);
                    known[job as usize] = Some(moment);
                }
                _ => {
                    let earliest = known.iter().flatten().min().copied().filter(|&earliest| earliest <= moment);
                    let due = deadlines.take_due(moment);
                    assert_eq!(due.and_then(|job| known[job as usize].take()), earliest);
                    taken += u32::from(due.is_some());
                }
            }
            assert_eq!(deadlines.next(), known.iter().flatten().min().copied());
        }
        assert!(taken > 3000, "{taken}");
    }
}
