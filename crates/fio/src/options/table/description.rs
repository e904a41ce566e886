//! Options that name, multiply and order jobs.

use super::row::{rows, words};
use plan::{ExitScope, Isolation};

/// Reason why profiles are refused.
const PROFILE: &str = "fio 3.33's tiobench ignores its options, and how its act judges a device is not documented; \
     docs/fio-profiles.md has job files for both";

words!(SCOPE, scope -> ExitScope {
    "group" => ExitScope::Group, "the jobs of its group";
    "stonewall" => ExitScope::Stonewall, "the jobs up to the next stonewall";
    "all" => ExitScope::All, "all jobs";
});

rows! {
    "name": TEXT => Text(job.name, |text| text.to_owned()), first;
        "Name of the job; on the command line, starts a new job";
    "description": TEXT => Text(job.description); "Text description of the job, printed in the report";
    "numjobs": POSITIVE, "1" => Count(job.clones); "Number of clones of the job";
    "jobs_per_thread": POSITIVE, "1" => Count(job.jobs_per_thread);
        "Clones that take turns on one process or thread, with one queue for the I/Os of all";
    "thread": FLAG => Switch(job.isolation, |on| if on { Isolation::Thread } else { Isolation::Process });
        "Use threads instead of processes";
    "threads": COUNT => NoEffect(); "No effect, as in fio; jobs become threads with thread";
    "stonewall" | "wait_for_previous": FLAG => Switch(job.start.stonewall);
        "Wait for all preceding jobs to end before starting this one; starts a reporting group";
    "new_group": FLAG => Switch(new_group); "Start a reporting group with this job";
    "group_reporting": FLAG => Switch(job.record.group_reporting); "Report per group instead of per job";
    "wait_for": TEXT => Text(job.start.wait_for); "Wait for all clones of this job to end before starting";
    "exitall": FLAG => Switch(job.limits.exit_all); "Terminate the other jobs when this one ends";
    "exit_what": SCOPE, "group" => Word(job.limits.exit_scope, scope); "Jobs that exitall terminates";
    "exitall_on_error": FLAG => Switch(job.limits.exit_all_on_error); "Terminate the other jobs when this one fails";
    "profile": TEXT => Never(PROFILE); "Run a built-in workload such as tiobench or act";
    "exec_prerun": TEXT => Text(job.start.before);
        "Shell command to run before the job; its output goes to NAME.prerun.txt";
    "exec_postrun": TEXT => Text(job.start.after);
        "Shell command to run after the job; its output goes to NAME.postrun.txt";
}
