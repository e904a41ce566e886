//! Jobs that check what an earlier run wrote: their own writes are skipped, and blocks that the earlier run did not
//! finish are not read.

use super::review::Numbers;
use super::verify::state::State;
use super::{Load, Next};
use measure::{Direction, Nanos};
use plan::{JobPlan, Mix, Operation};

/// How the I/Os of a load's sequence are changed.
#[derive(Debug)]
pub(super) enum Skips {
    /// Every I/O is skipped except for verify reads; the writes that are walked through are counted: number and bytes.
    AllButVerify { writes: u64, bytes: u64 },
    /// None is skipped; each read must return what the write with its number wrote.
    None { reads: u64, numbers: Numbers },
    /// Reads of writes that did not complete are skipped; the load stops after the last write.
    Incomplete { state: State, reads: u64, numbers: Option<Numbers> },
}

impl Skips {
    /// Returns the changes to a job's sequence before a state is known.
    pub(super) fn new(job: &JobPlan) -> Option<Box<Skips>> {
        let verify = job.verify.as_ref()?;
        if verify.only && job.load.mix.contains(Direction::Write) {
            return Some(Box::new(Skips::AllButVerify { writes: 0, bytes: 0 }));
        }
        // A job that only reads knows the seeds of blocks if it goes through the same sequence as the job that wrote.
        let numbered = verify.seed && verify.check && job.load.mix == Mix::Only(Direction::Read);
        numbered.then(|| Box::new(Skips::None { reads: 0, numbers: Numbers::InTurn }))
    }

    /// Sets the numbers of the writes that are to be found, in a job that knows them.
    pub(super) fn number(&mut self, numbers_of: impl FnOnce() -> Numbers) {
        if let Skips::None { numbers, .. } = self {
            *numbers = numbers_of();
        }
    }

    /// True if I/Os are skipped, which takes no time.
    pub(super) fn walks(&self) -> bool {
        matches!(self, Skips::AllButVerify { .. })
    }
}

impl Load {
    /// Restricts verification to the writes in `state`: for a job that writes (or would), its writes; for a job that
    /// only reads, the reads with the same numbers.
    pub fn resume(&mut self, state: State) {
        if let Some(review) = &mut self.review {
            review.resume(state);
        } else if self.mix() == Mix::Only(Direction::Read) {
            self.decide_each();
            let mut numbers = match self.skips.take().map(|skips| *skips) {
                Some(Skips::None { numbers, .. }) => Some(numbers),
                _ => None,
            };
            if let Some(numbers) = &mut numbers {
                numbers.resume(&state);
            }
            self.skips = Some(Box::new(Skips::Incomplete { state, reads: 0, numbers }));
        }
    }

    /// Number and bytes of the writes that were walked through without I/O so far; `None` if the job does all its I/O.
    pub fn walked(&self) -> Option<(u64, u64)> {
        match self.skips.as_deref() {
            Some(&Skips::AllButVerify { writes, bytes }) => Some((writes, bytes)),
            _ => None,
        }
    }

    /// The next step that is not skipped, starting with `next`.
    #[cold]
    pub(super) fn next_unskipped(&mut self, mut next: Next, now: Nanos) -> Next {
        loop {
            let Next::Issue(request) = next else { return next };
            match self.skips.as_deref_mut() {
                Some(Skips::AllButVerify { writes, bytes }) if request.operation == Operation::Write => {
                    let known = self.review.as_ref().is_none_or(|review| review.looks_back_to(*writes));
                    *writes += u64::from(known);
                    *bytes += if known { u64::from(request.length) } else { 0 };
                }
                Some(Skips::AllButVerify { .. }) => {}
                Some(Skips::None { reads, numbers }) if request.operation == Operation::Read => {
                    *reads += 1;
                    let expected = numbers.expected(&request, *reads);
                    return expected.map_or(next, |expects| Next::Review { request, expects });
                }
                Some(Skips::Incomplete { state, reads, numbers }) if request.operation == Operation::Read => {
                    let number = *reads;
                    *reads += 1;
                    if number >= state.writes {
                        self.stop();
                        return Next::Stop;
                    }
                    if state.has(number) {
                        let expected = numbers.as_ref().and_then(|numbers| numbers.expected(&request, number + 1));
                        return expected.map_or(next, |expects| Next::Review { request, expects });
                    }
                }
                _ => return next,
            }
            next = self.choose(now);
        }
    }
}
