//! Options that name, multiply and order jobs.

use super::row::{Row, Set, kind, put, refused, words, works};
use plan::option::Kind;
use plan::{ExitScope, Isolation};

/// Reason why profiles are refused.
const PROFILE: &str = "fio 3.33's tiobench ignores its options, and how its act judges a device is not documented; \
     docs/fio-profiles.md has job files for both";

words!(SCOPE, scope -> ExitScope {
    "group" => ExitScope::Group, "the jobs of its group";
    "stonewall" => ExitScope::Stonewall, "the jobs up to the next stonewall";
    "all" => ExitScope::All, "all jobs";
});

pub(super) const ROWS: &[Row] = &[
    works(
        "name",
        Kind::Text,
        put!(Text, job.name, |text| text.to_owned()),
        "Name of the job; on the command line, starts a new job",
    )
    .first(),
    works("description", Kind::Text, put!(Text, job.description), "Text description of the job, printed in the report"),
    works("numjobs", kind::POSITIVE, put!(Count, job.clones), "Number of clones of the job").default("1"),
    works(
        "jobs_per_thread",
        kind::POSITIVE,
        put!(Count, job.jobs_per_thread),
        "Clones that take turns on one process or thread, with one queue for the I/Os of all",
    )
    .default("1"),
    works(
        "thread",
        Kind::Flag,
        put!(Switch, job.isolation, |on| if on { Isolation::Thread } else { Isolation::Process }),
        "Use threads instead of processes",
    ),
    works("threads", kind::COUNT, Set::NoEffect, "No effect, as in fio; jobs become threads with thread"),
    works(
        "stonewall",
        Kind::Flag,
        put!(Switch, job.start.stonewall),
        "Wait for all preceding jobs to end before starting this one; starts a reporting group",
    )
    .alias(&["wait_for_previous"]),
    works("new_group", Kind::Flag, put!(Switch, new_group), "Start a reporting group with this job"),
    works(
        "group_reporting",
        Kind::Flag,
        put!(Switch, job.record.group_reporting),
        "Report per group instead of per job",
    ),
    works(
        "wait_for",
        Kind::Text,
        put!(Text, job.start.wait_for),
        "Wait for all clones of this job to end before starting",
    ),
    works("exitall", Kind::Flag, put!(Switch, job.limits.exit_all), "Terminate the other jobs when this one ends"),
    works("exit_what", SCOPE, put!(Word, job.limits.exit_scope, |word| scope(word)?), "Jobs that exitall terminates")
        .default("group"),
    works(
        "exitall_on_error",
        Kind::Flag,
        put!(Switch, job.limits.exit_all_on_error),
        "Terminate the other jobs when this one fails",
    ),
    refused("profile", Kind::Text, PROFILE, "Run a built-in workload such as tiobench or act").never(),
    works(
        "exec_prerun",
        Kind::Text,
        put!(Text, job.start.before),
        "Shell command to run before the job; its output goes to NAME.prerun.txt",
    ),
    works(
        "exec_postrun",
        Kind::Text,
        put!(Text, job.start.after),
        "Shell command to run after the job; its output goes to NAME.postrun.txt",
    ),
];
