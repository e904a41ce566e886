//! SIGTERM to the whole process, which is the test's own: it would end the runs of other tests too.

use crate::support::{children, job, run_processes};
use measure::Nanos;
use run::{Event, Observer};
use rustix::process::{Signal, getpid, kill_process};
use std::time::Instant;

struct Interrupter {
    sent: bool,
}

impl Observer for Interrupter {
    fn event(&mut self, event: Event<'_>) {
        let Event::Progress(progress) = event else { return };
        if !self.sent && progress.workers[0].ios.read > 20 {
            self.sent = true;
            kill_process(getpid(), Signal::TERM).unwrap();
        }
    }
}

#[test]
fn a_terminated_run_ends_in_order_with_what_ran() {
    house::in_own_process("signal::a_terminated_run_ends_in_order_with_what_ran", terminate_a_run);
}

fn terminate_a_run() {
    let mut endless = job("endless", "null");
    endless.limits.runtime = Some(Nanos::from_secs(60));
    endless.limits.time_based = true;
    endless.pace.iops.read = Some(1000);
    let mut never = endless.clone();
    never.name = "never".to_owned();
    never.start.stonewall = true;
    let started = Instant::now();
    let result = run_processes(vec![endless, never], &mut Interrupter { sent: false });
    assert!(started.elapsed().as_secs() < 30, "of the 60 s that it would take");
    assert_eq!(result.ended_by_signal, Some(15));
    assert_eq!((result.jobs[0].error.clone(), result.jobs[1].error.clone()), (None, None));
    assert!(result.jobs[0].directions.read.ios > 20);
    assert_eq!(result.jobs[1].directions.read.ios, 0);
    assert!(children().is_empty(), "no worker outlives its run");
}
