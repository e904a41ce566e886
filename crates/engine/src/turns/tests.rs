//! Jobs in turns, without a loop: who runs when, and what becomes of the others.

use super::lane::TurnClock;
use super::*;
use crate::contract::EngineClock;
use measure::{Clock, Nanos, SystemClock};
use std::cell::RefCell;

type Jobs<'a> = Vec<Box<dyn FnOnce() + 'a>>;

#[test]
fn a_job_that_sleeps_lets_others_run_and_wakes_in_its_order() {
    let system = SystemClock::start();
    let order = RefCell::new(Vec::new());
    let begun = system.now();
    let job = |number: u64| {
        let order = &order;
        move || {
            let clock = TurnClock::for_worker(&system);
            for step in 1..=2 {
                let moment = begun + Nanos::from_millis(10 * (step * 3 - number));
                clock.sleep_until(moment);
                assert!(clock.now() >= moment);
                order.borrow_mut().push((step, number));
            }
        }
    };
    take_turns(&system, (0..3).map(|number| Box::new(job(number)) as Box<dyn FnOnce()>).collect()).unwrap();
    assert_eq!(*order.borrow(), [(1, 2), (1, 1), (1, 0), (2, 2), (2, 1), (2, 0)]);
    let elapsed = system.now() - begun;
    assert!(elapsed >= Nanos::from_millis(60), "{elapsed:?}");
}

#[test]
fn a_job_that_panics_ends_alone() {
    let system = SystemClock::start();
    let ended = RefCell::new(Vec::new());
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let jobs: Jobs<'_> = (0..3)
        .map(|number| {
            let ended = &ended;
            Box::new(move || {
                TurnClock::for_worker(&system).sleep_until(system.now() + Nanos::MILLISECOND);
                assert_ne!(number, 1, "this one fails");
                TurnClock::for_worker(&system).sleep_until(system.now() + Nanos::MILLISECOND);
                ended.borrow_mut().push(number);
            }) as Box<dyn FnOnce()>
        })
        .collect();
    take_turns(&system, jobs).unwrap();
    std::panic::set_hook(quiet);
    assert_eq!(*ended.borrow(), [0, 2]);
}

#[test]
fn only_a_job_that_has_company_ends_its_turn_at_a_gate() {
    assert!(!pause_at_gate(), "a thread of one job waits by itself");
    let looks = RefCell::new(0);
    let open = RefCell::new(false);
    let waiting = || {
        while !*open.borrow() {
            assert!(pause_at_gate());
            *looks.borrow_mut() += 1;
        }
    };
    let opening = || *open.borrow_mut() = true;
    take_turns(&SystemClock::start(), vec![Box::new(waiting), Box::new(opening)]).unwrap();
    assert_eq!(*looks.borrow(), 1, "the other one opened it in its turn");
    assert!(!pause_at_gate(), "and the thread is again one of one job");
}
