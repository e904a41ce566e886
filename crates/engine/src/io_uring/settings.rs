//! What the options ask of a ring, and which of them exclude each other.

use super::setup;
use crate::contract::EngineError;
use measure::Nanos;
use plan::EngineOptions;

/// Ring settings that the options ask for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RingSettings {
    /// IORING_SETUP_IOPOLL.
    pub(super) polled: bool,
    /// IORING_SETUP_HYBRID_IOPOLL.
    pub(super) hybrid: bool,
    /// IORING_SETUP_SQPOLL.
    pub(super) poller: bool,
    /// The CPU of the polling thread.
    pub(super) poller_cpu: Option<u32>,
    /// How the kernel finishes I/Os.
    pub(super) task_work: TaskWork,
    /// False if calls name the ring by its descriptor.
    pub(super) registered_ring: bool,
    /// Times of waits are in registered memory.
    pub(super) registered_waits: bool,
    /// Longest wait for a whole batch in microseconds; 0 for as long as it takes.
    pub(super) batch_us: u32,
    /// Time for which completions are polled for before a wait; zero for none.
    pub(super) busy_poll: Nanos,
    /// The last entries before a wait are submitted by the call that waits.
    pub(super) joins_calls: bool,
}

/// Where the kernel finishes I/Os that a device has completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TaskWork {
    /// The latest of these that the kernel has.
    #[default]
    Latest,
    /// In calls of the worker that submit or wait (IORING_SETUP_DEFER_TASKRUN).
    Deferred,
    /// In any system call of the worker (IORING_SETUP_COOP_TASKRUN).
    Cooperative,
    /// At once: the worker is interrupted.
    Interrupting,
}

impl TaskWork {
    /// Values of the option `taskrun`.
    pub(super) const WORDS: &'static [(&'static str, &'static str)] = &[
        ("latest", "The first of the others that the kernel has"),
        ("defer", "In calls of the job that submit or wait (IORING_SETUP_DEFER_TASKRUN)"),
        ("coop", "In any system call of the job (IORING_SETUP_COOP_TASKRUN)"),
        ("interrupt", "At once: the job is interrupted"),
    ];

    fn from_word(word: &str) -> TaskWork {
        match word {
            "defer" => TaskWork::Deferred,
            "coop" => TaskWork::Cooperative,
            "interrupt" => TaskWork::Interrupting,
            _ => TaskWork::Latest,
        }
    }
}

impl RingSettings {
    /// Reads the options. Fails if two of them exclude each other.
    pub(super) fn from_options(options: &EngineOptions) -> Result<Self, EngineError> {
        let batch_ns = options.integer("batch_wait").and_then(|wait| u64::try_from(wait).ok()).unwrap_or(0);
        let Ok(batch_us) = u32::try_from(batch_ns.div_ceil(1000)) else {
            return Err(setup::failed("options", libc::EINVAL, "batch_wait is at most 4294s"));
        };
        let settings = RingSettings {
            polled: options.is_on("hipri"),
            hybrid: options.is_on("hipri_hybrid"),
            poller: options.is_on("sqthread_poll"),
            poller_cpu: options.integer("sqthread_poll_cpu").and_then(|cpu| u32::try_from(cpu).ok()),
            task_work: TaskWork::from_word(options.text("taskrun").unwrap_or_default()),
            registered_ring: options.get("registerring").is_none() || options.is_on("registerring"),
            registered_waits: options.is_on("registerwaits"),
            batch_us,
            busy_poll: Nanos(options.integer("busy_poll").and_then(|time| u64::try_from(time).ok()).unwrap_or(0)),
            joins_calls: options.is_on("submit_and_wait"),
        };
        match settings.contradiction() {
            Some(message) => Err(setup::failed("options", libc::EINVAL, message)),
            None => Ok(settings),
        }
    }

    /// Says why the options cannot be had together.
    fn contradiction(&self) -> Option<&'static str> {
        let busy = !self.busy_poll.is_zero();
        let rules = [
            (busy && self.polled, "hipri polls until the end already; drop busy_poll"),
            (busy && self.poller, "with sqthread_poll the job polls before it waits already; drop busy_poll"),
            (busy && self.joins_calls, "submit_and_wait leaves no moment for busy_poll; drop one of them"),
            (self.hybrid && !self.polled, "hipri_hybrid is a way of polling; add hipri, or drop hipri_hybrid"),
            (self.batch_us > 0 && self.polled, "a ring with hipri polls and has no wait that batch_wait could end"),
            (self.joins_calls && self.poller, "with sqthread_poll no call submits; drop submit_and_wait"),
            (
                self.poller && self.task_work != TaskWork::Latest,
                "with sqthread_poll the kernel's thread finishes I/Os; drop taskrun",
            ),
        ];
        rules.into_iter().find(|(holds, _)| *holds).map(|(_, message)| message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::option::Value;

    fn settings(values: &[(&'static str, Value)]) -> Result<RingSettings, EngineError> {
        let mut options = EngineOptions::default();
        values.iter().for_each(|(name, value)| options.set(name, value.clone()));
        RingSettings::from_options(&options)
    }

    #[test]
    fn a_time_of_a_batch_is_rounded_up_to_whole_microseconds() {
        for (ns, us) in [(0, 0), (1, 1), (1000, 1), (1001, 2)] {
            assert_eq!(settings(&[("batch_wait", Value::Integer(ns))]).unwrap().batch_us, us, "{ns} ns");
        }
        assert!(settings(&[("batch_wait", Value::Integer(i64::MAX))]).unwrap_err().message.contains("at most 4294s"));
    }

    #[test]
    fn options_that_exclude_each_other_are_refused_by_name() {
        let on = || Value::Flag(true);
        for (values, expected) in [
            (vec![("hipri_hybrid", on())], "add hipri"),
            (vec![("hipri", on()), ("batch_wait", Value::Integer(5000))], "batch_wait"),
            (vec![("sqthread_poll", on()), ("submit_and_wait", on())], "drop submit_and_wait"),
            (vec![("sqthread_poll", on()), ("busy_poll", Value::Integer(1))], "drop busy_poll"),
            (vec![("hipri", on()), ("busy_poll", Value::Integer(1))], "drop busy_poll"),
            (vec![("submit_and_wait", on()), ("busy_poll", Value::Integer(1))], "drop one of them"),
            (vec![("sqthread_poll", on()), ("taskrun", Value::Text("coop".into()))], "drop taskrun"),
        ] {
            let error = settings(&values).unwrap_err();
            assert!(error.operation == "options" && error.message.contains(expected), "{error}");
        }
        assert!(settings(&[("hipri", on()), ("hipri_hybrid", on()), ("sqthread_poll", on())]).is_ok());
    }
}
