//! The places in which a re-implementation of fio goes wrong: each has a test, or a case of the comparison with fio,
//! that is named here and must exist.

use std::path::Path;

/// The file, and the name of the test or case.
const TESTS: &[(&str, &str)] = &[
    ("cli/tests/calls.rs", "a_full_device_is_a_success"),
    ("cli/tests/calls.rs", "an_error_names_its_job_and_a_wrong_job_stops_all"),
    ("cli/tests/calls.rs", "zeros_are_scrambled_only_where_that_is_said"),
    ("cli/tests/cases/differential/logs.rs", "a_status_interval_without_a_time"),
    ("cli/tests/cases/differential/places.rs", "a_missing_directory_is_not_made"),
    ("cli/tests/cases/differential/places.rs", "a_size_is_spread_over_files"),
    ("cli/tests/cases/differential/places.rs", "an_offset_in_percent_is_rounded_up"),
    ("cli/tests/cases/differential/places.rs", "clones_are_spread_over_directories"),
    ("cli/tests/cases/differential/places.rs", "holes_backwards"),
    ("cli/tests/cases/differential/places.rs", "number_ios_in_loops"),
    ("cli/tests/verify.rs", "a_forgiving_job_ends_well_and_shows_its_errors"),
    ("cli/tests/verify.rs", "a_state_is_left_by_every_job_that_writes_and_verifies"),
    ("cli/tests/verify.rs", "headers_are_judged_in_fios_order"),
    ("cli/tests/verify.rs", "trimmed_blocks_of_the_history_read_as_zeros"),
    ("cli/tests/verify.rs", "what_fio_writes_we_verify_with_every_method"),
    ("formats/tests/fio_output.rs", "kept_outputs_of_fio_3_33_are_printed_again_line_by_line"),
    ("fio/tests/words/echo.rs", "a_job_keeps_its_raw_options_under_their_main_names"),
    ("fio/tests/words/semantics.rs", "groups_open_with_stonewall_and_new_group_after_the_first"),
    ("fio/tests/words/semantics.rs", "units_of_reports_follow_kb_base_and_unit_base"),
    ("load/src/content.rs", "a_percentage_that_compresses_is_met_within_two_percent"),
    ("load/src/content.rs", "scrambled_sectors_differ_and_change_in_24_bytes_only"),
    ("load/src/review_tests.rs", "a_batch_is_read_back_whenever_a_backlog_is_there_as_fio_does"),
    ("load/src/tests/handling.rs", "a_block_larger_than_the_rest_ends_the_file_ranges_fit"),
    ("load/src/tests/handling.rs", "a_seed_of_ones_own_does_not_start_again_with_each_loop"),
    ("load/src/tests/handling.rs", "aligned_random_blocks_start_at_multiples_and_may_repeat"),
    ("load/src/tests/handling.rs", "each_direction_goes_on_from_its_own_position"),
    ("load/src/tests/handling.rs", "random_strides_draw_inside_their_window_and_move_on"),
    ("load/src/tests/handling.rs", "skewed_ranks_are_scattered_as_a_permutation_per_pass"),
    ("load/src/tests/handling.rs", "the_share_of_reads_holds_in_the_long_run"),
    ("load/src/tests/handling.rs", "zones_are_written_in_order_whatever_is_drawn"),
    ("measure/src/histogram.rs", "ranks_are_those_seen_in_fios_output"),
    ("model/tests/merge.rs", "cpu_time_of_a_group_is_shared_by_the_sum_of_its_run_times"),
    ("model/tests/merge.rs", "samples_of_a_group_are_sums"),
    ("monitor/tests/recorded.rs", "a_file_on_a_partition_counts_for_its_disk"),
    ("run/tests/run/files.rs", "a_block_device_gives_its_size_and_is_guarded_while_held"),
    ("run/tests/run/files.rs", "a_large_file_is_left_alone_and_a_small_one_is_recreated"),
    ("run/tests/run/files.rs", "files_are_called_and_sized_as_fio_has_it"),
    ("run/tests/run/life.rs", "a_layout_error_of_one_job_does_not_stop_the_others"),
    ("run/tests/run/life.rs", "a_stonewalled_job_starts_after_all_before_it_ended"),
    ("run/tests/run/logs.rs", "a_histogram_log_adds_up_to_the_bins_of_the_result"),
    ("run/tests/run/logs.rs", "clones_without_a_number_share_one_log"),
    ("run/tests/run/logs.rs", "rows_over_windows_add_up_to_the_result_and_end_at_multiples"),
    ("run/tests/run/logs.rs", "samples_keep_to_their_own_intervals"),
    ("run/tests/run/sim.rs", "a_minimum_of_0_polls_after_each_io_and_waits_only_when_full"),
    ("run/tests/run/sim.rs", "a_ramp_does_not_count_and_ends_to_the_nanosecond"),
    ("run/tests/run/sim.rs", "batches_of_4_at_depth_8_refill_at_the_low_mark_of_2"),
    ("run/tests/run/sim.rs", "short_transfers_are_continued_and_counted"),
    ("run/tests/run/sim.rs", "submission_and_completion_sum_to_total_with_any_service"),
    ("run/tests/run/timing.rs", "a_settling_device_is_steady_at_the_known_second"),
    ("run/tests/run/timing.rs", "a_latency_target_that_depth_1_misses_is_a_timeout"),
    ("run/tests/run/timing.rs", "a_least_rate_is_judged_only_after_the_ramp"),
    ("run/tests/run/timing.rs", "a_rate_below_rate_min_fails_the_job_after_grace_and_cycle"),
    ("run/tests/run/timing.rs", "a_rate_catches_up_after_a_pause_unless_it_ignores_think_time"),
    ("run/tests/run/timing.rs", "a_worker_starts_after_its_delay_and_those_it_waits_for"),
    ("run/tests/run/timing.rs", "exitall_ends_the_jobs_that_it_names"),
    ("run/tests/run/timing.rs", "jobs_of_one_flow_share_their_ios_by_weight"),
    ("run/tests/run/timing.rs", "syncs_are_counted_apart_from_the_writes_they_follow"),
    ("run/tests/run/timing.rs", "the_runtime_counts_from_the_end_of_the_ramp"),
    ("run/tests/run/verify.rs", "engines_that_move_nothing_compare_nothing"),
    ("run/tests/run/verify.rs", "only_listed_errors_are_forgiven_where_a_list_is_given"),
];

#[test]
fn each_pitfall_has_its_test() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for &(file, test) in TESTS {
        let text = std::fs::read_to_string(crates.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let exists = text.contains(&format!("fn {test}()")) || text.contains(&format!("\"{test}\""));
        assert!(exists, "there is no {test} in {file}");
    }
}
