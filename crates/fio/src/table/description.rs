//! Options that name, multiply and order jobs.

use super::row::{Row, kind, put, refused, works};
use plan::option::Kind;
use plan::{ExitScope, Isolation};

/// Reason why profiles are refused.
const PROFILE: &str = "fio 3.33's tiobench takes no notice of its own options, and how its act judges a device is written nowhere; \
     docs/fio.md has the jobs of both as job files";

pub(super) const ROWS: &[Row] = &[
    works(
        "name",
        Kind::Text,
        put!(Text, job.name, |text| text.to_owned()),
        "What the job is called; on the command line it opens a job",
    )
    .first(),
    works("description", Kind::Text, put!(Text, job.description), "Free text printed with the job's result"),
    works("numjobs", kind::POSITIVE, put!(Count, job.clones), "How many workers do the same job").default("1"),
    works(
        "thread",
        Kind::Flag,
        put!(Switch, job.isolation, |on| if on { Isolation::Thread } else { Isolation::Process }),
        "Workers are threads of one process rather than processes",
    )
    .alias(&["threads"]),
    works(
        "stonewall",
        Kind::Flag,
        put!(Switch, job.start.stonewall),
        "Start only when every job before this one has ended; opens a reporting group",
    )
    .alias(&["wait_for_previous"]),
    works("new_group", Kind::Flag, put!(Switch, new_group), "Open a reporting group with this job"),
    works(
        "group_reporting",
        Kind::Flag,
        put!(Switch, job.record.group_reporting),
        "Report all workers of the group as one",
    ),
    works(
        "wait_for",
        Kind::Text,
        put!(Text, job.start.wait_for),
        "Start only when all workers of this earlier job have ended",
    ),
    works("exitall", Kind::Flag, put!(Switch, job.limits.exit_all), "When one job ends, end the others"),
    works(
        "exit_what",
        Kind::Word(&[
            ("group", "the jobs of its group"),
            ("stonewall", "the jobs up to the next stonewall"),
            ("all", "all jobs"),
        ]),
        put!(Word, job.limits.exit_scope, |word| match word {
            "stonewall" => ExitScope::Stonewall,
            "all" => ExitScope::All,
            _ => ExitScope::Group,
        }),
        "Whom exitall ends",
    )
    .default("group"),
    works(
        "exitall_on_error",
        Kind::Flag,
        put!(Switch, job.limits.exit_all_on_error),
        "When one job fails, end the others",
    ),
    refused("profile", Kind::Text, PROFILE, "Run a built-in workload such as tiobench or act"),
    works(
        "exec_prerun",
        Kind::Text,
        put!(Text, job.start.before),
        "Run this shell command before the job; its output goes to NAME.prerun.txt",
    ),
    works(
        "exec_postrun",
        Kind::Text,
        put!(Text, job.start.after),
        "Run this shell command after the job; its output goes to NAME.postrun.txt",
    ),
];
