//! The map from what newer versions of the real tools were seen to do to the tests that hold it: one row per subject.
//!
//! A name without a path is that of a case of this program, as `--list` shows it; with a path it is a test function in
//! that file. Both must exist.

use house::Cases;
use std::collections::BTreeSet;
use std::path::Path;

/// A subject, and the names of its tests.
type Row = (&'static str, &'static [&'static str]);

/// The newest fio.
const FIO: [Row; 19] = [
    (
        "region: filesize is a wall",
        &[
            "differential::filesize_and_an_offset",
            "differential::filesize_of_two_files",
            "differential::strides_end_with_filesize",
            "differential::no_room_for_a_block_below_filesize",
        ],
    ),
    (
        "patterns: buffer_pattern and verify_pattern",
        &[
            "differential::verify_an_offset_in_a_pattern",
            "crates/fio/src/options/values/pattern.rs patterns_are_bytes_one_after_the_other",
        ],
    ),
    (
        "rows of logs",
        &[
            "newest_fio::a_log_of_single_ios_with_the_largest",
            "crates/run/tests/run/logs.rs a_window_keeps_its_mean_its_largest_or_both",
            "crates/run/tests/run/logs.rs offsets_priorities_and_moments_of_issue_have_their_columns",
        ],
    ),
    (
        "verify: the header and its numbers",
        &[
            "crates/cli/tests/verify.rs headers_number_the_writes_of_their_job",
            "crates/cli/tests/verify.rs headers_are_judged_in_fios_order",
            "crates/cli/tests/verify.rs a_job_that_only_reads_compares_seeds_on_request",
        ],
    ),
    (
        "verify: blocks that are written more than once",
        &[
            "crates/load/src/tests/newest.rs blocks_that_are_written_more_than_once_are_verified_once",
            "crates/load/src/tests/newest.rs verification_alone_wants_what_the_last_pass_wrote",
        ],
    ),
    (
        "verify_only counts the writes that it walks through",
        &[
            "differential::verify_only_counts_the_writes_it_walks_through",
            "crates/formats/tests/walked.rs fios_formats_count_writes_that_were_walked_through",
            "crates/cli/tests/verify.rs no_check_takes_writes_that_were_walked_through_for_done",
        ],
    ),
    (
        "verify_policy: what a flush makes safe",
        &["crates/load/src/review_tests.rs only_flushed_writes_are_read_back_where_the_policy_says_so"],
    ),
    (
        "trims of a job that verifies later",
        &["newest_fio::trims_of_a_history", "crates/load/src/tests/newest.rs trims_of_a_history_need_no_verification"],
    ),
    (
        "sprandom: the state of an SSD after long random writing",
        &["newest_fio::sprandom", "crates/load/src/sprandom.rs the_oldest_region_solves_the_equation"],
    ),
    (
        "random_distribution: a sequence of blocks",
        &["crates/load/src/tests/newest.rs a_sequence_of_blocks_is_read_again_and_again"],
    ),
    (
        "random offsets beyond 32 bits",
        &["differential::more_blocks_than_32_bits_can_number", "crates/load/src/lfsr.rs huge_regions_stay_inside"],
    ),
    (
        "zones on an ordinary device",
        &[
            "differential::zones_in_order",
            "differential::a_reader_finds_the_zones_of_another",
            "differential::jobs_write_the_same_zones",
            "differential::zones_verified_in_loops",
            "newest_fio::a_trim_closes_a_zone",
        ],
    ),
    (
        "lines for debugging",
        &[
            "differential::debug_words_never_stop_a_run",
            "crates/cli/tests/calls.rs debug_lines_have_the_shape_and_the_number_of_fios",
        ],
    ),
    (
        "steady state",
        &[
            "differential::not_steady",
            "differential::a_steady_state_whose_ramp_is_not_over",
            "crates/cli/tests/calls.rs steadiness_is_judged_by_samples_as_often_as_asked",
        ],
    ),
    (
        "order and form of --showcmd",
        &[
            "newest_fio::showcmd_in_order",
            "differential::showcmd_of_threads",
            "crates/fio/tests/words/echo.rs options_are_shown_in_fios_order",
        ],
    ),
    (
        "--parse-only and --showcmd accept what cannot be run here",
        &["differential::parse_only_knows_the_words_of_sg", "differential::showcmd_of_the_words_of_sg"],
    ),
    (
        "client and server: refused by name",
        &["crates/cli/tests/effects.rs every_option_that_does_not_work_is_refused_by_name"],
    ),
    (
        "small things in the report",
        &[
            "differential::an_eta_newline_of_zero",
            "differential::engine_cpuio_announces_itself",
            "differential::verify_that_a_time_leaves_out_of_a_mix",
            "crates/formats/src/fio/text/job_block.rs \
             a_time_is_divided_from_2000_up_and_at_most_to_seconds",
        ],
    ),
    ("options by age", &["crates/cli/tests/effects.rs every_option_that_works_has_a_case_or_a_test_of_its_effect"]),
];

/// iostat.
const IOSTAT: [Row; 6] = [
    ("persistent names", &["iostat::plugged::-d_-j_ID_1_4", "iostat::refused::-j_nosuch"]),
    ("dates, times and the decimal sign", &["iostat::locales::-tx_1_2:LC_ALL_de_DE.UTF-8"]),
    ("order of lines", &["iostat::plugged::-ds_-p_ALL_1_4", "iostat::plugged::-ds_-N_vg-root_nvme0n1"]),
    ("counters of devices in user space", &["iostat::plugged::-ds__f__mnt_1_3", "iostat::refused::-df__mnt"]),
    (
        "the newest version only",
        &[
            "iostat::new_options::-dxsG_sdb",
            "iostat::seconds_since_the_epoch_replace_the_time_of_a_report",
            "iostat::newest::--compat_12.8_-xs",
        ],
    ),
    ("sums of milliseconds", &["crates/monitor/src/counters.rs milliseconds_wrap_at_32_bits"]),
];

/// iozone.
const IOZONE: [Row; 8] = [
    (
        "files of others are only read",
        &["iozone_differential::refused-_E_-i_0_-f_old", "iozone_differential::alike-_E_-i_1_-f_old_-s_64"],
    ),
    ("words that exclude each other", &["iozone_differential::refused-t_2_-f_old_-i_0"]),
    (
        "several sizes of files or records",
        &["iozone_differential::alike-s_64_-s_128_-i_0", "iozone_differential::alike-r_4_-r_8_-g_256_-i_0"],
    ),
    (
        "telemetry",
        &[
            "iozone_differential::alike-X_records",
            "iozone_differential::trace::telemetry_files_say_which_records_there_are",
            "crates/cli/tests/iozone/rare.rs reads_behind_what_a_telemetry_file_wrote_end_the_run",
        ],
    ),
    ("utilization of processors", &["iozone_differential::alike-s_64_-r_64_-i_0_-i_1_-i_2_-i_3_-_u_-R"]),
    (
        "files that are left",
        &[
            "iozone_differential::alike-a_-n_16_-g_16_-q_8_-i_0_-i_1_-Q",
            "crates/formats/src/iozone/sheet.rs a_worksheet_has_the_records_of_the_original",
        ],
    ),
    ("status of tests that fail", &["iozone_differential::failing-i_2_-f_old_-s_64_-w"]),
    ("words that are accepted", &["iozone_differential::alike-s_16_-i_0_-_Q_4"]),
];

/// A test for each subject: all of its tests exist.
pub(super) fn group(listed: &BTreeSet<String>) -> Cases {
    let mut cases = Cases::new("paragraphs", 2);
    for (tool, rows) in [("fio", &FIO[..]), ("iostat", &IOSTAT), ("iozone", &IOZONE)] {
        for (subject, names) in rows {
            let missing: Vec<&str> = names.iter().copied().filter(|name| !exists(name, listed)).collect();
            cases = cases.case(&format!("{tool}::{subject}"), move || match missing[..] {
                [] => Ok(()),
                _ => Err(format!("{subject}: there is no test {}", missing.join(", "))),
            });
        }
    }
    cases
}

fn exists(name: &str, listed: &BTreeSet<String>) -> bool {
    let Some((path, function)) = name.split_once(' ') else { return listed.contains(name) };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join(path)).unwrap_or_default();
    text.split("#[test]").skip(1).any(|test| {
        let head = test.split('{').next().unwrap_or_default();
        head.contains(&format!("fn {}()", function.trim()))
    })
}
