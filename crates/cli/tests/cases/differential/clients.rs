//! Cases of words as unmodified clients of fio write them: benchmarks of storage clusters, test suites, plotters.

use super::case::Case;

/// Names of jobs and files that are paths.
pub(super) fn paths() -> Vec<Case> {
    let write = |name, words: &str| Case::report(name, &format!("--size=16k --rw=write {words}"));
    vec![
        write("a_job_name_that_is_a_path", "--name=mnt/osd/host-0-0 --nrfiles=2"),
        write("a_job_name_that_goes_up", "--name=mnt/../host"),
        write("a_job_name_that_is_a_path_below_a_directory", "--directory=d --name=/k/m").file("d/already", "here"),
        write("a_file_name_that_starts_with_a_slash_below_a_directory", "--name=a --directory=d --filename=/k/m")
            .file("d/already", "here"),
        write("a_path_in_a_format", "--name=mnt/a --filename_format=$jobname/x.$filenum"),
        Case::report("logs_of_a_job_name_that_is_a_path", "x.fio")
            .file("x.fio", "[mnt/a]\nsize=16k\nrw=write\nwrite_bw_log\nwrite_iops_log=\nwrite_lat_log\n")
            .logged(),
        write("a_command_before_a_job_whose_name_is_a_path", "--name=mnt/a --exec_prerun=true"),
        write("a_verify_state_of_a_job_whose_name_is_a_path", "--name=mnt/a --verify=crc32c"),
    ]
}

/// Letters in place of options.
pub(super) fn letters() -> Vec<Case> {
    const TWO: &str = "[a]\nsize=64k\nrw=write\n[b]\nsize=64k\nrw=write\n";
    let two = |name, words: &str| Case::report(name, &format!("{words} x.fio")).file("x.fio", TWO);
    vec![
        Case::status("letter_version", "-v").ends(0),
        Case::status("letter_help", "-h").ends(0),
        Case::status("letter_cmdhelp", "-cbs").ends(0),
        Case::status("letter_enghelp", "-i null").ends(0),
        two("letter_output", "-o out.txt").report_in("out.txt"),
        two("letter_output_in_the_same_word", "-oout.txt").report_in("out.txt"),
        two("letter_section", "-x b"),
        two("letter_eta", "-e never"),
        Case::own_format("letter_output_format", "-F json --name=a --size=64k --rw=write"),
        Case::words("letter_showcmd", "-s x.fio").file("x.fio", TWO),
        Case::refused("letter_readonly", "-r --name=a --size=64k --rw=write"),
        Case::refused("letter_warnings_fatal", "-w --name=a --size=64k --nosuch"),
        Case::refused("letter_profile_without_a_name", "-p nosuch"),
        Case::refused("an_unknown_letter", "-q --name=a --size=64k"),
        Case::refused("a_letter_behind_two_dashes", "--v"),
    ]
}

/// Numbers that programs print: with a fraction of zero, as products, with two percent signs.
pub(super) fn numbers() -> Vec<Case> {
    let job = |name, words: &str| Case::report(name, &format!("--name=a {words}"));
    vec![
        job("fractions_of_zero", "--size=262144.0 --bs=8192.0 --rw=write --nrfiles=2.0"),
        job("a_mix_with_a_fraction_of_zero", "--size=4m --rw=randrw --rwmixread=70.0").mixed(),
        job("a_runtime_with_a_fraction_of_zero", "--size=64k --rw=read --time_based --runtime=1.0").free_amounts(),
        job("a_depth_times_one", "--size=256k --rw=read --ioengine=libaio --iodepth=4*1").free_depths(),
        job(
            "two_percent_signs",
            "--ioengine=null --size=1t --rate_iops=500 --ss=iops:20%% --ss_dur=2 --runtime=20 --rw=read",
        )
        .free_amounts()
        .sampled(),
        job("samples_with_few_looks_at_the_clock", "--size=1m --rw=randread --gtod_reduce=1 --time_based --runtime=2")
            .free_amounts()
            .sampled(),
        job("a_split_of_writes_alone", "--size=1m --rw=write --bs=32k --bssplit=,4k/63:8k/34:16k/3").free_amounts(),
        job("a_split_of_writes_leaves_reads_alone", "--size=1m --rw=read --bssplit=,4k/63:8k/34:16k/3 --bs=32k"),
        job("a_split_of_writes_whatever_the_order", "--size=1m --rw=write --bssplit=,4k/63:8k/37 --bs=32k")
            .free_amounts(),
        job("a_split_of_trims_alone", "--ioengine=null --size=1g --rw=trim --bssplit=,,2m/1:4m/1").free_amounts(),
        job("a_split_without_a_share", "--ioengine=null --size=1g --rw=trim --bssplit=,,64MB"),
        job("a_split_of_99_percent", "--ioengine=null --size=64m --rw=read --bssplit=256K/33:512K/33:2M/33")
            .free_amounts(),
    ]
}
