//! Jobs that check what an earlier run wrote: their own writes are not done, and what that run did not finish is not
//! read.

use super::verify::state::State;
use super::{Load, Next};
use engine::Operation;
use job::plan::{JobPlan, Mix};
use measure::{Direction, Nanos};

/// What of a load's sequence is left out.
#[derive(Clone, Debug)]
pub(super) struct Detour {
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Every I/O that is not a check.
    Dry,
    /// Reads of writes that did not come back, and all after them.
    Known { state: State, reads: u64 },
}

impl Detour {
    /// The detour of a job that only verifies.
    pub(super) fn new(job: &JobPlan) -> Option<Box<Detour>> {
        let only = job.verify.as_ref().is_some_and(|plan| plan.only) && job.load.mix.contains(Direction::Write);
        only.then(|| Box::new(Detour { kind: Kind::Dry }))
    }
}

impl Load {
    /// Checks only what `state` tells of: the writes of a job that writes (or would), and where a job only reads, the
    /// reads with their numbers.
    pub fn resume(&mut self, state: State) {
        if let Some(review) = &mut self.review {
            review.resume(state);
        } else if self.mix() == Mix::Only(Direction::Read) {
            self.decide_each();
            self.detour = Some(Box::new(Detour { kind: Kind::Known { state, reads: 0 } }));
        }
    }

    /// The next answer that is not left out, from `next` on.
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
