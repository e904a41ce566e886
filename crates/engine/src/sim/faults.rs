//! Fault plan of the simulated device: which I/Os fail, are short or are late.

use crate::contract::{Io, Operation};
use measure::Nanos;

/// All faults, in the order of the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FaultPlan {
    faults: Vec<Fault>,
}

/// Every Nth I/O of one kind has this effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fault {
    kind: Kind,
    every: u64,
    seen: u64,
    effect: Effect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
    Trim,
    Sync,
    Any,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// Fails with this errno.
    Error(i32),
    /// Moves at most this many bytes.
    Short(u32),
    /// Takes this much longer.
    Delay(Nanos),
}

/// Effect of the plan on one I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) result: i64,
    pub(super) delay: Nanos,
}

impl FaultPlan {
    /// Parses `KIND:EVERY:EFFECT=VALUE,...`; an empty text is a plan without faults.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let faults = text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(parse_fault);
        Ok(FaultPlan { faults: faults.collect::<Result<_, _>>()? })
    }

    /// Counts one I/O and returns its result. Of several errors the last in the plan applies; delays add up.
    #[inline]
    pub(super) fn judge(&mut self, io: &Io) -> Verdict {
        let mut verdict = Verdict { result: i64::from(io.length), delay: Nanos::ZERO };
        for fault in self.faults.iter_mut().filter(|fault| fault.kind.contains(io.operation)) {
            fault.seen += 1;
            if !fault.seen.is_multiple_of(fault.every) {
                continue;
            }
            match fault.effect {
                Effect::Error(errno) => verdict.result = -i64::from(errno),
                Effect::Short(bytes) => verdict.result = verdict.result.min(i64::from(bytes)),
                Effect::Delay(time) => verdict.delay = verdict.delay.saturating_add(time),
            }
        }
        verdict
    }
}

impl Kind {
    #[inline]
    fn contains(self, operation: Operation) -> bool {
        match self {
            Kind::Read => operation == Operation::Read,
            Kind::Write => operation == Operation::Write,
            Kind::Trim => operation == Operation::Trim,
            Kind::Sync => matches!(operation, Operation::Sync | Operation::DataSync),
            Kind::Any => true,
        }
    }
}

fn parse_fault(text: &str) -> Result<Fault, String> {
    let wrong = |what: &str| {
        format!("sim_faults: `{text}` {what}; write it like read:100:error=EIO, write:7:short=512 or any:50:delay=300")
    };
    let mut parts = text.split(':').map(str::trim);
    let (Some(kind), Some(every), Some(effect), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        return Err(wrong("does not have three parts"));
    };
    let kind = match kind {
        "read" => Kind::Read,
        "write" => Kind::Write,
        "trim" => Kind::Trim,
        "sync" => Kind::Sync,
        "any" => Kind::Any,
        _ => return Err(wrong("does not begin with read, write, trim, sync or any")),
    };
    let every = every.parse().ok().filter(|&every| every > 0).ok_or_else(|| wrong("has no count of at least 1"))?;
    let effect = match effect.split_once('=') {
        Some(("error", name)) => errno_called(name).map(Effect::Error),
        Some(("short", bytes)) => bytes.parse().ok().map(Effect::Short),
        Some(("delay", time)) => time.parse().ok().map(|time| Effect::Delay(Nanos::from_micros(time))),
        _ => None,
    };
    let effect = effect.ok_or_else(|| wrong("has no effect error=ERRNO, short=BYTES or delay=MICROSECONDS"))?;
    Ok(Fault { kind, every, seen: 0, effect })
}

/// Parses an errno: a number, or the name of one that storage uses.
fn errno_called(name: &str) -> Option<i32> {
    const NAMES: &[(&str, i32)] = &[
        ("EAGAIN", libc::EAGAIN),
        ("EILSEQ", libc::EILSEQ),
        ("EINVAL", libc::EINVAL),
        ("EIO", libc::EIO),
        ("ENODATA", libc::ENODATA),
        ("ENODEV", libc::ENODEV),
        ("ENOLINK", libc::ENOLINK),
        ("ENOSPC", libc::ENOSPC),
        ("EOPNOTSUPP", libc::EOPNOTSUPP),
        ("EREMOTEIO", libc::EREMOTEIO),
        ("EROFS", libc::EROFS),
        ("ETIMEDOUT", libc::ETIMEDOUT),
    ];
    let by_name = NAMES.iter().find(|(known, _)| *known == name).map(|&(_, errno)| errno);
    by_name.or_else(|| name.parse().ok().filter(|errno| (1..4096).contains(errno)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn io(operation: Operation) -> Io {
        Io { slot: 0, operation, target: 0, offset: 0, length: 4096, buffer_offset: 0 }
    }

    #[test]
    fn every_third_read_fails_and_writes_do_not() {
        let mut plan = FaultPlan::parse("read:3:error=EIO").unwrap();
        let results: Vec<i64> = (0..6).map(|_| plan.judge(&io(Operation::Read)).result).collect();
        assert_eq!(results, [4096, 4096, -5, 4096, 4096, -5]);
        assert!((0..6).all(|_| plan.judge(&io(Operation::Write)).result == 4096));
    }

    #[test]
    fn short_and_late_hold_together() {
        let mut plan = FaultPlan::parse("write:1:short=512, any:1:delay=300").unwrap();
        assert_eq!(plan.judge(&io(Operation::Write)), Verdict { result: 512, delay: Nanos::from_micros(300) });
        assert_eq!(plan.judge(&io(Operation::Sync)).delay, Nanos::from_micros(300));
    }

    #[test]
    fn a_wrong_fault_names_its_text_and_what_would_work() {
        for wrong in ["reed:1:error=EIO", "read:0:error=EIO", "read:1:error=EFOO", "read:1", "read:1:short", "a:b:c:d"]
        {
            let message = FaultPlan::parse(wrong).unwrap_err();
            assert!(message.contains(wrong) && message.contains("read:100:error=EIO"), "{message}");
        }
    }
}
