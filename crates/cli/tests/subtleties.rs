//! The fifty places in which a re-implementation of fio goes wrong, by their numbers in the specification: each has a
//! test, or a case of the comparison with fio, that is named here and must exist.

use std::path::Path;

/// The number, the file, and the name of the test or case.
const TESTS: &[(u32, &str, &str)] = &[
    (1, "cli/tests/differential/places.rs", "subtlety_1_a_size_is_spread_over_files"),
    (2, "cli/tests/differential/places.rs", "subtlety_2_number_ios_in_loops"),
    (3, "cli/tests/differential/places.rs", "subtlety_3_an_offset_in_percent_is_rounded_up"),
    (4, "run/tests/run/timing.rs", "the_runtime_counts_from_the_end_of_the_ramp"),
    (5, "run/tests/run/timing.rs", "a_least_rate_is_judged_only_after_the_ramp"),
    (5, "run/tests/run/sim.rs", "a_ramp_does_not_count_and_ends_to_the_nanosecond"),
    (6, "cli/tests/differential/places.rs", "subtlety_6_clones_are_spread_over_directories"),
    (6, "run/tests/run/files.rs", "files_are_called_and_sized_as_fio_has_it"),
    (7, "run/tests/run/life.rs", "a_stonewalled_job_starts_after_all_before_it_ended"),
    (7, "job/tests/words/semantics.rs", "groups_open_with_stonewall_and_new_group_but_not_at_the_first_job"),
    (8, "model/tests/merge.rs", "samples_of_a_group_are_sums"),
    (8, "model/tests/merge.rs", "cpu_time_of_a_group_is_shared_by_the_sum_of_its_run_times"),
    (9, "run/tests/run/timing.rs", "exitall_takes_along_whom_it_is_told_to"),
    (10, "load/src/tests/handling.rs", "subtlety_10_the_share_of_reads_holds_in_the_long_run"),
    (11, "cli/tests/differential/places.rs", "subtlety_11_holes_backwards"),
    (12, "load/src/tests/handling.rs", "subtlety_12_aligned_random_blocks_start_at_multiples_fit_and_may_come_twice"),
    (
        13,
        "load/src/tests/handling.rs",
        "subtlety_13_skewed_ranks_are_scattered_and_a_register_is_a_permutation_per_pass",
    ),
    (14, "load/src/tests/handling.rs", "subtlety_14_a_seed_of_ones_own_does_not_start_again_with_each_loop"),
    (15, "cli/tests/verify.rs", "subtlety_15_trimmed_blocks_of_the_history_read_as_zeros"),
    (16, "load/src/tests/handling.rs", "subtlety_16_a_block_larger_than_what_is_left_ends_the_file_and_ranges_fit"),
    (17, "load/src/tests/handling.rs", "subtlety_17_each_direction_goes_on_from_its_own_position"),
    (18, "load/src/tests/handling.rs", "subtlety_18_random_strides_draw_inside_their_window_and_go_on_to_the_next"),
    (19, "load/src/tests/handling.rs", "subtlety_19_zones_are_written_in_order_whatever_is_drawn"),
    (20, "run/tests/run/sim.rs", "a_minimum_of_0_polls_after_each_io_and_waits_only_when_full"),
    (20, "run/tests/run/sim.rs", "batches_of_4_at_depth_8_refill_at_the_low_mark_of_2"),
    (21, "run/tests/run/sim.rs", "submission_and_completion_sum_to_total_also_where_services_differ"),
    (22, "run/tests/run/logs.rs", "subtlety_22_a_histogram_log_adds_up_to_the_bins_of_the_result"),
    (22, "measure/src/histogram.rs", "ranks_are_those_seen_in_fios_output"),
    (23, "formats/tests/fio.rs", "kept_outputs_of_fio_3_33_are_printed_again_line_by_line"),
    (24, "run/tests/run/logs.rs", "subtlety_24_samples_keep_to_their_own_intervals"),
    (25, "run/tests/run/logs.rs", "subtlety_25_rows_over_windows_add_up_to_the_result_and_end_at_multiples"),
    (26, "monitor/tests/recorded.rs", "a_file_on_a_partition_is_watched_as_its_disk"),
    (27, "job/tests/words/semantics.rs", "units_of_reports_follow_kb_base_and_unit_base"),
    (28, "cli/tests/differential/places.rs", "subtlety_28_a_missing_directory_is_not_made"),
    (28, "run/tests/run/files.rs", "a_file_that_is_large_enough_is_left_alone_and_one_that_must_grow_is_made_anew"),
    (29, "load/src/content.rs", "scrambled_sectors_are_all_different_and_change_in_24_bytes_only"),
    (29, "cli/tests/calls.rs", "subtlety_29_zeros_are_scrambled_only_where_that_is_said"),
    (30, "load/src/content.rs", "a_percentage_that_compresses_is_met_within_two_percent"),
    (31, "cli/tests/verify.rs", "subtlety_31_what_fio_writes_we_verify_with_every_method"),
    (32, "cli/tests/verify.rs", "subtlety_32_headers_are_judged_in_fios_order"),
    (33, "cli/tests/verify.rs", "subtlety_33_a_forgiving_job_ends_well_and_shows_its_errors"),
    (34, "load/src/review.rs", "subtlety_34_a_batch_is_read_back_whenever_a_backlog_is_there_as_fio_does"),
    (35, "cli/tests/verify.rs", "subtlety_35_a_state_is_left_by_every_job_that_writes_and_verifies"),
    (36, "run/tests/run/verify.rs", "subtlety_36_only_listed_errors_are_forgiven_where_a_list_is_given"),
    (37, "cli/tests/calls.rs", "subtlety_37_a_full_device_is_a_success"),
    (37, "run/tests/run/sim.rs", "short_transfers_are_continued_and_counted"),
    (38, "run/tests/run/timing.rs", "a_rate_catches_up_after_a_pause_unless_it_ignores_think_time"),
    (39, "run/tests/run/timing.rs", "a_rate_below_rate_min_fails_the_job_after_its_grace_and_one_cycle"),
    (40, "run/tests/run/timing.rs", "a_latency_target_that_depth_1_misses_is_a_timeout"),
    (41, "run/tests/run/timing.rs", "a_device_that_settles_is_steady_at_the_known_second_by_all_six_criteria"),
    (42, "run/tests/run/timing.rs", "syncs_are_counted_apart_from_the_writes_they_follow"),
    (43, "run/tests/run/timing.rs", "jobs_of_one_flow_share_their_ios_by_weight"),
    (44, "run/tests/run/logs.rs", "subtlety_44_clones_without_a_number_share_one_log"),
    (45, "cli/tests/calls.rs", "subtlety_45_an_error_names_its_job_and_a_wrong_job_stops_all"),
    (45, "run/tests/run/life.rs", "a_layout_error_of_one_job_does_not_stop_the_others"),
    (46, "run/tests/run/timing.rs", "a_worker_starts_after_its_delay_and_after_whom_it_waits_for"),
    (47, "job/tests/words/echo.rs", "a_job_keeps_its_own_options_raw_under_their_main_names_flags_as_nothing"),
    (48, "cli/tests/differential/logs.rs", "a_status_interval_that_is_no_time"),
    (49, "run/tests/run/verify.rs", "subtlety_49_engines_that_move_nothing_compare_nothing"),
    (50, "run/tests/run/files.rs", "a_block_device_gives_its_size_and_is_guarded_while_somebody_holds_it"),
];

#[test]
fn each_of_the_fifty_has_its_test() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for &(number, file, test) in TESTS {
        let text = std::fs::read_to_string(crates.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let exists = text.contains(&format!("fn {test}()")) || text.contains(&format!("\"{test}\""));
        assert!(exists, "{number}: there is no {test} in {file}");
    }
    let without: Vec<u32> = (1..=50).filter(|number| TESTS.iter().all(|(tested, ..)| tested != number)).collect();
    assert!(without.is_empty(), "without a test: {without:?}");
}
