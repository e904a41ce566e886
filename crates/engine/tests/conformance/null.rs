//! The null engine's own queue.

use crate::rig::{BLOCK, Rig, io, options};
use engine::{Completion, Engine, EngineClock, Io, Operation, Submitted, Visitor, dispatch};
use measure::SystemClock;

struct Queue;

impl Visitor for Queue {
    type Out = ();

    fn visit<E: Engine>(self) {
        let clock = E::Clock::for_worker(&SystemClock::start());
        let mut rig = Rig::<E>::open(&options(&[]), &[], 4, clock).unwrap();
        let mut submit = |slot| rig.engine.submit(Io { slot, ..io(Operation::Write, 0, 0, BLOCK) });
        assert_eq!([3, 1, 0].map(&mut submit), [Submitted::Queued; 3]);
        let mut done: Vec<Completion> = Vec::with_capacity(4);
        assert_eq!(rig.engine.reap(0, 4, &mut done), Ok(0), "nothing before a flush");
        assert_eq!(rig.engine.flush(), Ok(3));
        let mut submit = |slot| rig.engine.submit(Io { slot, ..io(Operation::Write, 0, 0, BLOCK) });
        assert_eq!([submit(2), submit(2)], [Submitted::Queued, Submitted::Full]);
        assert_eq!(rig.engine.reap(1, 2, &mut done), Ok(2), "at most max");
        assert_eq!(rig.engine.flush(), Ok(1));
        assert_eq!(rig.engine.reap(1, 4, &mut done), Ok(2));
        assert_eq!(done, [3, 1, 0, 2].map(|slot| Completion { slot, result: BLOCK as i64 }));
    }
}

#[test]
fn null_completes_in_order_and_only_what_was_flushed() {
    dispatch("null", Queue).unwrap();
}
