//! How many units (desktops, streams, cameras) are enough for: the search as a state machine.
//!
//! An observation goes in, the next number or the answer comes out. Looks are short and taken at their value: the
//! number doubles until one misses a limit (twice, as another program may have disturbed it), then the gap is halved.
//! Rounds have intervals: they go down from there until the answer is yes, and up until it says no.

use crate::question::Answer;

/// Part of the number at which the gap is narrow enough.
const NARROW: u32 = 20;
/// How many numbers above the largest yes are tried.
const MOST_ABOVE: u32 = 4;

/// A search.
#[derive(Clone, Debug)]
pub struct UnitSearch {
    /// Largest number that is tried.
    most: u32,
    state: State,
    size: Size,
}

/// The next step of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitStep {
    /// Look at this number of units, shortly.
    Look(u32),
    /// All rounds at this number.
    Rounds(u32),
    /// The search has ended.
    Ended(Size),
}

/// The answer: a number between two others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Largest number for which the rounds said yes.
    pub enough_for: Option<u32>,
    /// Smallest number for which the rounds said no.
    pub too_many: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// The largest number that was kept, the smallest that was missed, the number now, and if it was missed before.
    Look {
        kept: u32,
        missed: Option<u32>,
        number: u32,
        again: bool,
    },
    /// Rounds go down; the smallest number that a look missed, and the number of steps so far.
    Down {
        number: u32,
        looked: Option<u32>,
        steps: u32,
    },
    /// Rounds go up.
    Up {
        number: u32,
        steps: u32,
    },
    Ended,
}

impl UnitSearch {
    /// Begins a search for the largest number, up to `most`.
    pub fn new(most: u32) -> Self {
        let state = State::Look { kept: 0, missed: None, number: 1, again: false };
        UnitSearch { most: most.max(1), state, size: Size::default() }
    }

    /// The next step. It stays the same until an observation is given.
    pub const fn next_step(&self) -> UnitStep {
        match self.state {
            State::Look { number, .. } => UnitStep::Look(number),
            State::Down { number, .. } | State::Up { number, .. } => UnitStep::Rounds(number),
            State::Ended => UnitStep::Ended(self.size),
        }
    }

    /// Takes the answer of a look: yes if every number kept its limit.
    pub fn observe_look(&mut self, found: Answer) {
        let State::Look { kept, missed, number, again } = self.state else { return };
        self.state = match (found == Answer::Yes, again) {
            (false, false) => State::Look { kept, missed, number, again: true },
            (true, _) => self.looked(number, missed),
            (false, true) => self.looked(kept, Some(number)),
        };
    }

    /// The next look, or the first rounds.
    fn looked(&self, kept: u32, missed: Option<u32>) -> State {
        let next = match missed {
            None if kept >= self.most => None,
            None => Some(kept.saturating_mul(2).clamp(1, self.most)),
            Some(missed) if missed - kept <= step(kept, 0) => None,
            Some(missed) => Some(kept + (missed - kept) / 2),
        };
        match next {
            Some(number) => State::Look { kept, missed, number, again: false },
            None => State::Down { number: kept.max(1), looked: missed, steps: 0 },
        }
    }

    /// Takes the answer of the rounds.
    pub fn observe_rounds(&mut self, answer: Answer) {
        match (self.state, answer) {
            (State::Down { number, looked, .. }, Answer::Yes) => {
                self.size.enough_for = Some(number);
                let above = looked.filter(|&looked| looked > number).unwrap_or(number + step(number, 0));
                self.up(above, 0);
            }
            (State::Down { number, looked, steps }, _) => {
                self.miss(number, answer);
                self.state = match number.saturating_sub(step(number, steps)) {
                    _ if number == 1 => State::Ended,
                    lower => State::Down { number: lower.max(1), looked, steps: steps + 1 },
                };
            }
            (State::Up { number, .. }, Answer::No) => {
                self.miss(number, answer);
                self.state = State::Ended;
            }
            (State::Up { number, steps }, _) => {
                if answer == Answer::Yes {
                    self.size.enough_for = Some(number);
                }
                self.up(number + step(number, steps + 1), steps + 1);
            }
            _ => {}
        }
    }

    fn miss(&mut self, number: u32, answer: Answer) {
        if answer == Answer::No {
            self.size.too_many = Some(self.size.too_many.map_or(number, |known| known.min(number)));
        }
    }

    /// Goes on with a number above the largest yes, if it is not known yet that there are too many.
    fn up(&mut self, number: u32, steps: u32) {
        let is_over = self.size.too_many.is_some() || number > self.most || steps > MOST_ABOVE;
        self.state = if is_over { State::Ended } else { State::Up { number, steps } };
    }
}

/// A step from a number: a twentieth, and twice as much with every step before.
fn step(number: u32, steps: u32) -> u32 {
    (number / NARROW).max(1).saturating_mul(1 << steps.min(20))
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::SplitMix;

    /// Searches a target of which the truth is known. Rounds within `blur` of it cannot tell.
    fn search(most: u32, truth: f64, blur: f64, mut disturbed: impl FnMut() -> bool) -> (Size, u32) {
        let mut search = UnitSearch::new(most);
        for steps in 0..200 {
            match search.next_step() {
                UnitStep::Look(number) => search.observe_look(match f64::from(number) <= truth && !disturbed() {
                    true => Answer::Yes,
                    false => Answer::No,
                }),
                UnitStep::Rounds(number) => {
                    let distance = f64::from(number) / truth.max(1e-9) - 1.0;
                    search.observe_rounds(match distance {
                        _ if distance.abs() < blur => Answer::CannotTell,
                        _ if distance <= 0.0 => Answer::Yes,
                        _ => Answer::No,
                    });
                }
                UnitStep::Ended(size) => return (size, steps),
            }
        }
        panic!("{search:?}")
    }

    #[test]
    fn the_truth_is_between_the_largest_yes_and_the_smallest_no() {
        for truth in [1.0, 1.5, 2.0, 3.7, 7.0, 38.0, 99.9, 100.0, 777.0, 9999.0] {
            let (size, steps) = search(100_000, truth, 0.0, || false);
            let (yes, no) = (size.enough_for.unwrap(), size.too_many.unwrap());
            assert!(f64::from(yes) <= truth && f64::from(no) > truth, "{truth}: {size:?}");
            assert!(f64::from(no - yes) <= (0.16 * truth).max(1.0) && steps < 40, "{truth}: {size:?}, {steps} steps");
        }
    }

    #[test]
    fn where_rounds_decide_nothing_the_answer_is_wider_and_true() {
        for truth in [5.0, 38.0, 400.0] {
            let (size, steps) = search(100_000, truth, 0.08, || false);
            let (yes, no) = (size.enough_for.unwrap(), size.too_many.unwrap());
            assert!(f64::from(yes) <= truth && f64::from(no) > truth && steps < 40, "{truth}: {size:?}");
        }
    }

    #[test]
    fn the_ends_are_none_one_and_the_most() {
        assert_eq!(search(100, 0.0, 0.0, || false).0, Size { enough_for: None, too_many: Some(1) });
        assert_eq!(search(100, 1e9, 0.0, || false).0, Size { enough_for: Some(100), too_many: None });
        assert_eq!(search(1, 1.0, 0.0, || false).0, Size { enough_for: Some(1), too_many: None });
        // Rounds that never tell.
        assert_eq!(search(100, 50.0, 2.0, || false).0, Size::default());
    }

    #[test]
    fn one_disturbed_look_in_ten_changes_nothing_but_its_length() {
        let mut random = SplitMix::new(7);
        let right = (0..100).filter(|_| {
            let (size, _) = search(10_000, 38.0, 0.0, || random.fraction() < 0.1);
            size.enough_for.is_some_and(|yes| (33..=38).contains(&yes)) && size.too_many.is_some_and(|no| no > 38)
        });
        assert!(right.count() >= 90);
    }
}
