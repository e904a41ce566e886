//! The newest fio that Debian has, which `tools/oracles` unpacks, and the cases in which it answers otherwise.

use house::Program;
use std::path::Path;

/// Cases in which the newest fio differs from Debian's stable one and from plumb, each with the reason.
pub(super) const DIFFERS: &[(&str, &str)] = &[
    ("cmdprio_percentage", PRIORITIES),
    ("cmdprio_percentage_on_io_uring", PRIORITIES),
    ("cmdprio_next_to_the_priority_of_the_job", PRIORITIES),
    ("cmdprio_of_total_latency", PRIORITIES),
    ("cmdprio_bssplit", PRIORITIES),
    ("cmdprio_of_a_group", PRIORITIES),
    ("engine_net_of_threads", "global options are in another order in JSON"),
    ("protection_information", "it aborts (signal 6), where both others refuse"),
    ("ios_some_at_random", "it draws other positions for percentage_random; both are as random as asked for"),
];

const PRIORITIES: &str = "it prints the hint of a priority as a third number; plumb has it in JSON";

/// True if the newest fio answers this case as Debian's stable one does.
pub(super) fn is_alike(name: &str) -> bool {
    DIFFERS.iter().all(|(differs, _)| *differs != name)
}

pub(super) fn fio() -> Program {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../oracles/newest/fio");
    Program { path: path.canonicalize().unwrap_or(path), first: Vec::new() }
}

pub(super) fn each_row_names_a_case_that_is_there() {
    let cases = super::all_cases();
    for (name, why) in DIFFERS {
        assert!(cases.iter().any(|case| case.name == *name), "there is no case `{name}`");
        assert!(why.len() > 10, "`{name}` has no reason");
    }
}
