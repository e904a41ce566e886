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
