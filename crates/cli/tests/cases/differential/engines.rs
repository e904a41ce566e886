//! Cases about the engines that do something else than plain reads and writes, and about options of single engines.

use super::case::Case;

/// Engines on files: pipes, space, names.
pub(super) fn on_files() -> Vec<Case> {
    let space = |name, words: &str| Case::report(name, &format!("--name=a --size=256k --bs=16k {words}"));
    let names = |name, words: &str| Case::report(name, &format!("--name=a --filesize=4k --nrfiles=8 {words}"));
    vec![
        space("engine_splice_writes", "--ioengine=splice --rw=write"),
        space("engine_splice_reads", "--ioengine=splice --rw=randread"),
        space("engine_splice_mixed", "--ioengine=splice --rw=randrw").mixed(),
        // The oracle leaves its state behind.
        Case::status(
            "engine_splice_verified",
            "--name=a --size=64k --ioengine=splice --rw=write --verify=crc32c --verify_state_save=0",
        ),
        space("engine_falloc_reserves", "--ioengine=falloc --rw=read"),
        space("engine_falloc_extends", "--ioengine=falloc --rw=write --fallocate=none"),
        space("engine_falloc_punches", "--ioengine=falloc --rw=trim"),
        space("engine_ftruncate", "--ioengine=ftruncate --rw=write"),
        Case::status("engine_ftruncate_cannot_read", "--name=a --size=64k --ioengine=ftruncate --rw=read").ends(1),
        names("engine_filecreate", "--ioengine=filecreate"),
        names("engine_filecreate_as_writes", "--ioengine=filecreate --rw=write"),
        Case::report("engine_filecreate_of_larger_files", "--name=a --filesize=64k --nrfiles=4 --ioengine=filecreate"),
        names("engine_filestat", "--ioengine=filestat"),
        names("engine_filestat_by_lstat", "--ioengine=filestat --stat_type=lstat"),
        names("engine_filestat_twice", "--ioengine=filestat --loops=2"),
        names("engine_filedelete", "--ioengine=filedelete"),
        names("engine_filedelete_of_clones", "--ioengine=filedelete --numjobs=2"),
        Case::status("engine_e4defrag_without_a_donor", "--name=a --size=64k --ioengine=e4defrag --rw=write").ends(1),
        Case::status("engine_sg_without_a_device", "--name=a --size=64k --ioengine=sg --filename=/dev/null").ends(1),
        Case::status("engine_mtd_without_a_device", "--name=a --size=64k --ioengine=mtd --filename=/dev/null").ends(1),
        Case::status(
            "engine_io_uring_cmd_without_a_device",
            "--name=a --size=4k --ioengine=io_uring_cmd --filename=/dev/null",
        )
        .ends(1),
    ]
}

/// A job file of two ends. So little is sent that it arrives in one piece: the oracle counts pieces as
/// short reads, and stops before all is there.
fn ends(engine: &str, port: u32, global: &str, receiver: &str, sender: &str) -> String {
    format!(
        "[global]\n{global}\nioengine={engine}\nport={port}\nbs=4k\nsize=32k\n\
         [receiver]\nrw=read\n{receiver}\n[sender]\nrw=write\nstartdelay=300ms\nrate_iops=500\n{sender}\n"
    )
}

/// Engines on connections.
pub(super) fn on_connections() -> Vec<Case> {
    let over = |name, text: String| Case::report(name, "ends.fio").file("ends.fio", &text);
    let refused =
        |name, words: &str| Case::status(name, &format!("--name=a --size=64k --ioengine=net {words}")).ends(1);
    const HOST: &str = "hostname=localhost";
    vec![
        over("engine_net_by_tcp", ends("net", 21_101, "", "listen", HOST)),
        over("engine_net_by_tcp_with_answers", ends("net", 21_102, "pingpong\nnodelay=1", "listen", HOST)),
        over("engine_net_in_bytes", ends("net", 21_103, "unit_base=8\nwindow_size=128k", "listen", HOST)),
        over("engine_net_with_less_to_send", ends("net", 21_104, "", "listen", "hostname=localhost\nsize=16k")),
        over("engine_net_by_udp", ends("net", 21_105, "protocol=udp", "", "hostname=localhost")),
        over("engine_netsplice", ends("netsplice", 21_106, "", "listen", HOST)),
        over("engine_net_of_threads", ends("net", 21_107, "thread", "listen", HOST)),
        refused("engine_net_without_a_peer", "--rw=write --hostname=localhost --port=21108"),
        refused("engine_net_without_a_host", "--rw=write --port=21109"),
        refused("engine_net_without_a_port", "--rw=write --hostname=localhost"),
        refused("engine_net_listening_for_datagrams", "--rw=read --port=21110 --protocol=udp --listen"),
    ]
}

/// Engines for company: they do no I/O.
pub(super) fn for_company() -> Vec<Case> {
    const READER: &str = "--name=b --ioengine=null --size=1m --rate_iops=256";
    vec![
        Case::report("engine_cpuio", "--name=a --ioengine=cpuio --cpuload=20 --runtime=1").free_amounts(),
        Case::report(
            "engine_cpuio_until_the_others_are_done",
            &format!("--name=a --ioengine=cpuio --cpuload=10 --exit_on_io_done=1 {READER}"),
        )
        .free_amounts(),
        Case::own_format(
            "engine_cpuio_announces_itself",
            "--name=a --ioengine=cpuio --cpuload=20 --runtime=1 --numjobs=2 --cpuchunks=7777 --cpumode=qsort",
        )
        .free_amounts(),
        Case::status("engine_cpuio_without_a_load", "--name=a --ioengine=cpuio --runtime=1").ends(1),
        Case::report("engine_exec", "--name=a --ioengine=exec --runtime=1 --program=/bin/echo")
            .word("--arguments=%n for %r seconds")
            .free_amounts()
            .same_contents(),
        Case::report(
            "engine_exec_outlives_no_job",
            "--name=a --ioengine=exec --runtime=1 --program=/bin/sleep --arguments=60",
        )
        .free_amounts(),
        Case::status("engine_exec_without_a_program", "--name=a --ioengine=exec --runtime=1").ends(1),
    ]
}

/// Options of single engines.
pub(super) fn own_options() -> Vec<Case> {
    let raised = |name, words: &str| {
        Case::own_format(name, &format!("--name=a --size=1m --rw=randread --direct=1 {words}")).free_depths()
    };
    let refused = |name, words: &str| Case::status(name, &format!("--name=a --size=64k {words}")).ends(1);
    vec![
        raised("cmdprio_percentage", "--ioengine=libaio --cmdprio_percentage=50 --cmdprio_class=2 --cmdprio=1"),
        raised(
            "cmdprio_percentage_on_io_uring",
            "--ioengine=io_uring --iodepth=8 --cmdprio_percentage=50 --cmdprio_class=3",
        ),
        raised("cmdprio_of_all_is_the_same_priority", "--ioengine=libaio --cmdprio_percentage=100"),
        raised(
            "cmdprio_next_to_the_priority_of_the_job",
            "--ioengine=libaio --cmdprio_percentage=30 --prio=3 --prioclass=2",
        ),
        raised("cmdprio_of_total_latency", "--ioengine=libaio --cmdprio_percentage=50 --lat_percentiles=1"),
        raised("cmdprio_bssplit", "--ioengine=libaio --bsrange=4k-8k --cmdprio_bssplit=4k/50/1/2:8k/100")
            .free_amounts(),
        raised("cmdprio_of_a_group", "--ioengine=libaio --cmdprio_percentage=50 --numjobs=2 --group_reporting"),
        refused("cmdprio_percentage_and_bssplit", "--ioengine=libaio --cmdprio_percentage=50 --cmdprio_bssplit=4k/50"),
        refused("cmdprio_bssplit_of_three_fields", "--ioengine=libaio --cmdprio_bssplit=4k/50/0"),
        refused("protection_information", "--ioengine=io_uring --filename=nosuch --md_per_io_size=8"),
    ]
}
