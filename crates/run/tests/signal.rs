//! SIGTERM to the whole process; alone in its file, because it would end other tests' runs too.

#[cfg(test)]
#[expect(dead_code, reason = "of the plans for tests only some are needed here")]
#[path = "run/support.rs"]
mod support;

#[cfg(test)]
mod tests {
    use crate::support::{children, job, run_processes};
    use measure::Nanos;
    use plumb_run::{Observer, Progress};
    use rustix::process::{Signal, getpid, kill_process};
    use std::time::Instant;

    struct Interrupter {
        sent: bool,
    }

    impl Observer for Interrupter {
        fn finding(&mut self, _text: &str) {}
        fn progress(&mut self, progress: &Progress) {
            if !self.sent && progress.workers[0].ios.read > 20 {
                self.sent = true;
                kill_process(getpid(), Signal::TERM).unwrap();
            }
        }
    }

    #[test]
    fn a_terminated_run_ends_in_order_with_what_ran() {
        let mut endless = job("endless", "null");
        endless.limits.runtime = Some(Nanos::from_secs(60));
        endless.limits.time_based = true;
        endless.pace.iops.read = Some(1000);
        let mut never = endless.clone();
        never.name = "never".to_owned();
        never.start.stonewall = true;
        let started = Instant::now();
        let result = run_processes(vec![endless, never], &mut Interrupter { sent: false });
        assert!(started.elapsed().as_secs() < 5);
        assert_eq!(result.ended_by_signal, Some(15));
        assert_eq!((result.jobs[0].error.clone(), result.jobs[1].error.clone()), (None, None));
        assert!(result.jobs[0].directions.read.ios > 20);
        assert_eq!(result.jobs[1].directions.read.ios, 0);
        assert!(children().is_empty(), "no worker outlives its run");
    }
}
