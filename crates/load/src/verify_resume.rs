//! Jobs that check what an earlier run wrote: their own writes are skipped, and blocks that the earlier run did not
//! finish are not read.

use super::verify::state::State;
use super::{Load, Next};
use measure::{Direction, Nanos};
use plan::{JobPlan, Mix, Operation};

/// The I/Os of a load's sequence that are skipped.
#[derive(Clone, Debug)]
pub(super) enum Skips {
    /// Every I/O except for verify reads.
    AllButVerify,
    /// Reads of writes that did not complete; the load stops after the last write.
    Incomplete { state: State, reads: u64 },
}

impl Skips {
    /// The I/Os that a job with verify_only skips.
    pub(super) fn new(job: &JobPlan) -> Option<Box<Skips>> {
        let only = job.verify.as_ref().is_some_and(|plan| plan.only) && job.load.mix.contains(Direction::Write);
        only.then(|| Box::new(Skips::AllButVerify))
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
            self.skips = Some(Box::new(Skips::Incomplete { state, reads: 0 }));
        }
    }

    /// The next step that is not skipped, starting with `next`.
    #[cold]
    pub(super) fn next_unskipped(&mut self, mut next: Next, now: Nanos) -> Next {
        loop {
            let Next::Issue(request) = next else { return next };
            match self.skips.as_deref_mut() {
                Some(Skips::AllButVerify) => {}
                Some(Skips::Incomplete { state, reads }) if request.operation == Operation::Read => {
                    let number = *reads;
                    *reads += 1;
                    if number >= state.writes {
                        self.stop();
                        return Next::Stop;
                    }
                    if state.has(number) {
                        return next;
                    }
                }
                _ => return next,
            }
            next = self.choose(now);
        }
    }
}
