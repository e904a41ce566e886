//! Files other than those of the I/O, under names that no option gives: each is met by a link to a device that holds
//! data. Not a byte of the device changes, and it is reported.

use super::Row;
use super::guard_commands::{Case, run};

/// The name of the link, and what would write through it.
struct Linked {
    name: &'static str,
    case: Case,
}

const fn linked(fault: &'static str, name: &'static str, words: &'static str, status: i32) -> Linked {
    Linked { name, case: Case { fault, words, status, says: "is a block device" } }
}

#[rustfmt::skip]
const CASES: &[Linked] = &[
    linked("guard: a latency log by a link", "m_lat.1.log", "fio --name=a --ioengine=null --size=64k --write_lat_log=m", 1),
    linked("guard: a bandwidth log by a link", "m_bw.1.log", "fio --name=a --ioengine=null --size=64k --write_bw_log=m", 1),
    linked("guard: a log of all jobs by a link", "m_iops.log",
        "fio --name=a --ioengine=null --size=64k --write_iops_log=m --per_job_logs=0", 1),
    linked("guard: a histogram log by a link", "m_clat_hist.1.log",
        "fio --name=a --ioengine=null --size=64k --write_hist_log=m --log_hist_msec=100", 1),
    linked("guard: --bandwidth-log by a link", "m-read_bw.log", "fio --name=a --ioengine=null --size=64k --bandwidth-log=m", 1),
    linked("guard: what exec_prerun prints, by a link", "a.prerun.txt", "fio --name=a --ioengine=null --size=64k --exec_prerun=date", 1),
    linked("guard: what exec_postrun prints, by a link", "a.postrun.txt", "fio --name=a --ioengine=null --size=64k --exec_postrun=date", 1),
    // The blocks are written and checked; that their state is not kept is reported.
    linked("guard: the state of verify by a link", "local-v-0-verify.state", "fio --name=v --size=64k --rw=write --verify=crc32c", 0),
    linked("guard: output of the engine exec by a link", "e.stdout",
        "fio --name=e --ioengine=exec --program=/bin/date --std_redirect=1 --size=4k", 1),
    linked("guard: errors of the engine exec by a link", "e.stderr",
        "fio --name=e --ioengine=exec --program=/bin/date --std_redirect=1 --size=4k", 1),
    linked("guard: a record by a link", "record.log", "fio --name=a --size=64k --rw=read --write_iolog=record.log", 1),
    linked("guard: iozone -Q by a link", "wol.dat", "iozone -i 0 -s 64 -r 4 -f z -Q", 1),
    linked("guard: iozone -Q by a link, rewrite", "rwol.dat", "iozone -i 0 -s 64 -r 4 -f z -Q", 1),
    linked("guard: iozone -Q by a link, a child", "Child_0_wol.dat", "iozone -i 0 -s 64 -r 4 -t 1 -Q", 1),
    linked("guard: iozone -+T by a link", "Child_0.log", "iozone -i 0 -s 64 -r 4 -t 1 -+T", 1),
    linked("guard: iozone -+z by a link", "Iozone_histogram_child_0.txt", "iozone -i 0 -s 64 -r 4 -t 1 -+z", 1),
];

pub(crate) fn rows() -> Vec<Row> {
    let row = |linked: &'static Linked| {
        let injected = format!("an ext4, {} a link to it, {}", linked.name, linked.case.words);
        Row::new(linked.case.fault, injected, move |bench| run(bench, &linked.case, Some(linked.name)))
    };
    CASES.iter().map(row).collect()
}
