//! Jobs that check what an earlier run wrote: their own writes are skipped, and blocks that the earlier run did not
//! finish are not read.

use super::verify::state::State;
use super::{Load, Next};
use measure::{Direction, Nanos};
use plan::Operation;
use plan::{JobPlan, Mix};

/// The I/Os of a load's sequence that are skipped.
#[derive(Clone, Debug)]
pub(super) struct Detour {
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Skip every I/O except for verify reads.
    Dry,
    /// Skip reads of writes that did not complete; stop after the last write.
    Known { state: State, reads: u64 },
}

impl Detour {
    /// The detour of a job with verify_only.
    pub(super) fn new(job: &JobPlan) -> Option<Box<Detour>> {
        let only = job.verify.as_ref().is_some_and(|plan| plan.only) && job.load.mix.contains(Direction::Write);
        only.then(|| Box::new(Detour { kind: Kind::Dry }))
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
            self.detour = Some(Box::new(Detour { kind: Kind::Known { state, reads: 0 } }));
        }
    }

    /// The next step that is not skipped, starting with `next`.
    #[cold]
    pub(super) fn take_detour(&mut self, mut next: Next, now: Nanos) -> Next {
        loop {
            let Next::Issue(request) = next else { return next };
            match self.detour.as_deref_mut().map(|detour| &mut detour.kind) {
                Some(Kind::Dry) => {}
                Some(Kind::Known { state, reads }) if request.operation == Operation::Read => {
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
