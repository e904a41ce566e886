//! How long a relay sleeps between two looks at MPI, by what its member does. MPI cannot wake a process that sleeps
//! outside of it, and one that waits inside uses a whole processor.

use cluster::Instruction;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Longest order that says a pace. Tasks are longer.
const LONGEST: usize = 4096;
/// Time after which a clock that was measured is measured no more: a ping that is lost must not keep a processor busy.
const TIMING: Duration = Duration::from_millis(200);

/// State of members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Pace {
    /// Their clocks are measured: the shorter the sleep, the smaller the error.
    Timing,
    /// They start, lay out files, or end.
    Starting,
    /// They measure, and nothing here may take their processor.
    Measuring,
}

impl Pace {
    pub(super) fn nap(self) -> Duration {
        match self {
            Pace::Timing => Duration::from_micros(20),
            Pace::Starting => Duration::from_millis(1),
            Pace::Measuring => Duration::from_millis(20),
        }
    }

    fn of(line: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(line).ok().filter(|text| text.len() <= LONGEST);
        match text.map(|text| cluster::instruction(text.trim())) {
            Some(Ok(Instruction::Ping { .. })) => Some(Pace::Timing),
            Some(Ok(Instruction::Go { .. })) => Some(Pace::Measuring),
            Some(Ok(Instruction::Mark | Instruction::Until { .. })) => None,
            _ => Some(Pace::Starting),
        }
    }
}

/// The paces of the members whose orders pass here.
#[derive(Debug, Default)]
pub(super) struct Paces {
    members: BTreeMap<u32, Pace>,
    timed: Option<Instant>,
}

impl Paces {
    /// Takes note of an instruction to a member.
    pub(super) fn instruction(&mut self, rank: u32, line: &[u8]) {
        if let Some(pace) = Pace::of(line) {
            self.members.insert(rank, pace);
            if pace == Pace::Timing {
                self.timed = Some(Instant::now());
            }
        }
    }

    /// The pace of this relay: that of the member that needs it most.
    pub(super) fn now(&self) -> Pace {
        let pace = self.members.values().copied().min().unwrap_or(Pace::Starting);
        let is_over = self.timed.is_none_or(|at| at.elapsed() > TIMING);
        if pace == Pace::Timing && is_over { Pace::Starting } else { pace }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relay_sleeps_long_only_while_all_its_members_measure() {
        let line = |instruction: &Instruction| cluster::line(instruction).unwrap().into_bytes();
        let mut paces = Paces::default();
        assert_eq!(paces.now(), Pace::Starting);
        paces.instruction(0, &line(&Instruction::Ping { number: 0 }));
        assert_eq!(paces.now(), Pace::Timing);
        paces.instruction(0, &line(&Instruction::Prepare(Box::default())));
        assert_eq!(paces.now(), Pace::Starting);
        paces.instruction(0, &line(&Instruction::Go { at: measure::Nanos(5), round: 0 }));
        paces.instruction(1, &line(&Instruction::Prepare(Box::default())));
        assert_eq!(paces.now(), Pace::Starting);
        paces.instruction(1, &line(&Instruction::Go { at: measure::Nanos(5), round: 0 }));
        paces.instruction(1, &line(&Instruction::Mark));
        assert_eq!(paces.now(), Pace::Measuring);
        paces.instruction(1, &line(&Instruction::Stop { why: "x".to_owned() }));
        assert_eq!(paces.now(), Pace::Starting);
        paces.instruction(1, b"not an instruction");
        assert_eq!(paces.now(), Pace::Starting);
    }
}
