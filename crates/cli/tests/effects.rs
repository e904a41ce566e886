//! No option is accepted and ignored: every option of a job that works has a case of the comparison with fio that
//! notices when it does nothing, or a test that is named here; every other one is refused by name.
//!
//! The cases are the rows of `NOTICED` in `differential/omitted.rs`, where each is tried: the program under test gets
//! the case once more without the option, and must differ from fio. An option that fio 3.33 does not know, or whose
//! effect shows neither in a report nor in I/Os, calls and files, has its test in [`TESTS`]: the test must exist.

use crate::context::fio;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Options whose effect another test shows: the option, the test's file, and its name.
const TESTS: &[(&str, &str, &str)] = &[
    ("log_issue_time", "crates/run/tests/run/logs.rs", "offsets_priorities_and_moments_of_issue_have_their_columns"),
    ("log_window_value", "crates/run/tests/run/logs.rs", "a_window_keeps_its_mean_its_largest_or_both"),
    (
        "log_compression_cpus",
        "crates/run/src/drive/log/stream.rs",
        "the_writer_runs_on_the_cpus_it_was_given_or_says_so",
    ),
    ("exitall_on_error", "crates/run/tests/run/life.rs", "exitall_on_error_ends_the_others_only_after_an_error"),
    ("allow_mounted_write", "crates/run/tests/run/files.rs", "a_block_device_gives_its_size_and_is_guarded_while_held"),
    ("jobs_per_thread", "crates/cli/tests/turns.rs", "one_call_submits_and_waits_for_the_jobs_of_a_thread"),
    ("stuck_after", "crates/cli/tests/cases/faults/fuse.rs", "FUSE: stuck I/O is named"),
    ("write_consent", "crates/cli/tests/cases/faults/guard.rs", "guard: mounted"),
    ("unit_base", "crates/formats/tests/fio_output.rs", "kept_outputs_of_fio_3_33_are_printed_again_line_by_line"),
    ("significant_figures", "crates/formats/tests/fio_output.rs", "what_we_print_from_fios_json_is_what_fio_printed"),
    (
        "iodepth_batch_complete_max",
        "crates/run/tests/run/sim.rs",
        "a_minimum_of_0_polls_after_each_io_and_waits_only_when_full",
    ),
    ("thinktime_spin", "crates/run/tests/run/sim.rs", "think_time_separates_ios"),
    ("rate_process", "crates/load/src/tests/pacing.rs", "poisson_gaps_have_the_mean_and_deviation_of_exponentials"),
    ("rate_profile", "crates/load/src/tests/pacing.rs", "a_profile_changes_the_rate_at_its_seconds_exactly"),
    ("rate_ignore_thinktime", "crates/load/src/tests/pacing.rs", "pauses_are_caught_up_unless_the_rate_ignores_them"),
    (
        "flow_watermark",
        "crates/fio/tests/words/semantics.rs",
        "withdrawn_options_are_accepted_with_a_warning_as_in_fio",
    ),
    ("threads", "crates/cli/tests/cases/differential/words.rs", "threads_has_no_effect"),
    ("verifysort", "crates/fio/tests/words/semantics.rs", "withdrawn_options_are_accepted_with_a_warning_as_in_fio"),
    ("verifysort_nr", "crates/fio/tests/words/semantics.rs", "withdrawn_options_are_accepted_with_a_warning_as_in_fio"),
    ("iomem_align", "crates/sys/src/machine/buffers.rs", "anonymous_slots_are_aligned_and_apart"),
    ("hugepage-size", "crates/sys/src/machine/buffers.rs", "what_cannot_be_had_says_what_would_help"),
    ("cpumask", "crates/run/src/worker/place.rs", "a_worker_runs_where_it_may"),
    ("cpus_allowed_policy", "crates/run/src/worker/place.rs", "a_worker_runs_where_it_may"),
    ("bwavgtime", "crates/run/tests/run/logs.rs", "samples_keep_to_their_own_intervals"),
    ("iopsavgtime", "crates/run/tests/run/logs.rs", "samples_keep_to_their_own_intervals"),
    ("create_fsync", "crates/cli/tests/calls.rs", "a_laid_out_file_is_flushed_unless_create_fsync_is_off"),
    ("end_syncfs", "crates/cli/tests/calls.rs", "end_syncfs_flushes_the_file_system_of_each_file"),
    ("write_hint", "crates/cli/tests/calls.rs", "a_write_hint_is_given_to_the_kernel"),
    ("fdp", "crates/engine/src/io_uring_cmd/placement.rs", "identifiers_follow_in_turn_for_each_target"),
    ("dataplacement", "crates/engine/src/io_uring_cmd/placement.rs", "identifiers_follow_in_turn_for_each_target"),
    ("plid_select", "crates/engine/src/io_uring_cmd/placement.rs", "all_identifiers_are_drawn"),
    ("plids", "crates/engine/src/io_uring_cmd/placement.rs", "indices_name_handles_and_others_are_refused"),
    ("dp_scheme", "crates/engine/src/io_uring_cmd/placement.rs", "a_scheme_places_by_offset_and_the_rest_by_default"),
    ("atomic", "crates/cli/tests/calls.rs", "an_atomic_write_carries_its_flag"),
    ("filetype", "crates/cli/tests/calls.rs", "a_file_type_is_believed_without_a_look"),
    ("ioscheduler", "crates/cli/tests/calls.rs", "a_scheduler_is_switched_and_an_unknown_one_is_refused"),
    ("thinkcycles", "crates/cli/tests/calls.rs", "cycles_of_thinking_take_their_time"),
    ("latency_percentile", "crates/cli/tests/calls.rs", "the_percentile_of_a_latency_target_says_how_many_may_miss_it"),
    ("verify_pattern_interval", "crates/cli/tests/calls.rs", "a_verify_pattern_restarts_at_each_interval"),
    (
        "dedupe_working_set_percentage",
        "crates/cli/tests/calls.rs",
        "a_larger_working_set_repeats_more_different_blocks",
    ),
    ("steadystate_check_interval", "crates/cli/tests/calls.rs", "steadiness_is_judged_by_samples_as_often_as_asked"),
    ("cgroup_nodelete", "crates/cli/tests/calls.rs", "a_control_group_stays_where_that_is_said"),
    ("comm", "crates/cli/tests/calls.rs", "a_worker_takes_its_name_priority_hint_and_cpus"),
    ("priohint", "crates/cli/tests/calls.rs", "a_worker_takes_its_name_priority_hint_and_cpus"),
    ("numa_cpu_nodes", "crates/cli/tests/calls.rs", "a_worker_takes_its_name_priority_hint_and_cpus"),
    ("ramp_size", "crates/run/tests/run/timing.rs", "a_ramp_of_bytes_leaves_out_what_came_before"),
    ("job_start_clock_id", "crates/run/tests/run/timing.rs", "the_start_is_recorded_by_the_chosen_clock"),
    ("latency_run", "crates/run/tests/run/timing.rs", "latency_run_goes_on_at_the_depth_that_was_found"),
    ("random_sequence_stride", "crates/load/src/tests/newest.rs", "a_sequence_of_blocks_is_read_again_and_again"),
    ("sprandom", "crates/load/src/tests/newest.rs", "sprandom_writes_every_block_and_some_of_them_again"),
    ("spr_num_regions", "crates/load/src/sprandom.rs", "a_part_of_each_region_is_written_again_in_the_next"),
    ("spr_op", "crates/load/src/sprandom.rs", "regions_are_the_more_valid_the_later_they_are_written"),
    ("spr_cs", "crates/load/src/sprandom.rs", "a_part_of_each_region_is_written_again_in_the_next"),
    ("write_zone_remainder", "crates/load/src/tests/handling.rs", "a_zones_remainder_is_left_out_or_written"),
    ("verify_policy", "crates/load/src/review_tests.rs", "only_flushed_writes_are_read_back_where_the_policy_says_so"),
    ("verify_state_load", "crates/cli/tests/verify.rs", "states_are_exchanged_with_fio_in_both_directions"),
    ("verify_write_sequence", "crates/cli/tests/verify.rs", "numbers_and_seeds_are_checked_where_known_or_asked_for"),
    ("verify_header_seed", "crates/cli/tests/verify.rs", "numbers_and_seeds_are_checked_where_known_or_asked_for"),
    ("verify_format", "crates/cli/tests/verify.rs", "what_we_write_in_its_format_fio_verifies_with_every_method"),
    ("trim_percentage", "crates/cli/tests/verify.rs", "trimmed_blocks_of_the_history_read_as_zeros"),
    ("trim_backlog", "crates/cli/tests/verify.rs", "trimmed_blocks_of_the_history_read_as_zeros"),
    (
        "trim_backlog_batch",
        "crates/load/src/review_tests.rs",
        "trims_take_blocks_of_the_history_which_must_then_be_zero",
    ),
    ("trim_verify_zero", "crates/load/src/review_tests.rs", "trims_take_blocks_of_the_history_which_must_then_be_zero"),
    ("write_iolog", "crates/cli/tests/replay/names.rs", "the_same_seed_gives_the_same_record_on_every_engine"),
    ("read_iolog", "crates/cli/tests/replay/oracle.rs", "what_fio_recorded_is_replayed_io_by_io"),
    ("read_iolog_chunked", "crates/run/tests/run/replay.rs", "a_long_record_is_played_in_pieces_as_it_is_whole"),
    (
        "merge_blktrace_file",
        "crates/cli/tests/replay/names.rs",
        "traces_are_merged_and_replayed_and_may_be_merged_only",
    ),
    (
        "merge_blktrace_scalars",
        "crates/cli/tests/replay/names.rs",
        "traces_are_merged_and_replayed_and_may_be_merged_only",
    ),
    (
        "merge_blktrace_iters",
        "crates/cli/tests/replay/names.rs",
        "traces_are_merged_and_replayed_and_may_be_merged_only",
    ),
    ("replay_no_stall", "crates/run/tests/run/replay.rs", "time_scale_no_stall_loops_and_number_ios"),
    ("replay_time_scale", "crates/run/tests/run/replay.rs", "time_scale_no_stall_loops_and_number_ios"),
    ("replay_redirect", "crates/cli/tests/replay/names.rs", "a_replay_is_moved_and_thinned_as_its_job_says"),
    ("replay_align", "crates/cli/tests/replay/names.rs", "a_replay_is_moved_and_thinned_as_its_job_says"),
    ("replay_scale", "crates/cli/tests/replay/names.rs", "a_replay_is_moved_and_thinned_as_its_job_says"),
    ("replay_skip", "crates/cli/tests/replay/names.rs", "a_replay_is_moved_and_thinned_as_its_job_says"),
    ("error_dump", "crates/run/tests/run/verify.rs", "a_list_of_errors_forgives_errors_outside_of_the_medium"),
    ("experimental_verify", "crates/run/tests/run/verify.rs", "a_replay_reads_back_the_same_blocks_as_a_memory"),
    ("fill_device", "crates/cli/tests/calls.rs", "a_full_device_is_a_success"),
    ("lockfile", "crates/cli/tests/calls.rs", "locks_are_exclusive_or_shared_by_reads"),
    ("pre_read", "crates/cli/tests/calls.rs", "files_are_read_ahead_and_laid_out_as_asked"),
    ("create_serialize", "crates/cli/tests/calls.rs", "files_are_read_ahead_and_laid_out_as_asked"),
    ("zero_buffers", "crates/cli/tests/calls.rs", "options_of_buffers_show_in_what_is_written"),
    ("scramble_buffers", "crates/cli/tests/calls.rs", "options_of_buffers_show_in_what_is_written"),
    ("refill_buffers", "crates/cli/tests/calls.rs", "options_of_buffers_show_in_what_is_written"),
    ("buffer_pattern", "crates/cli/tests/calls.rs", "options_of_buffers_show_in_what_is_written"),
    ("buffer_compress_percentage", "crates/cli/tests/calls.rs", "options_of_buffers_show_in_what_is_written"),
    ("buffer_compress_chunk", "crates/cli/tests/calls.rs", "options_of_buffers_show_in_what_is_written"),
    ("dedupe_percentage", "crates/cli/tests/calls.rs", "options_of_buffers_show_in_what_is_written"),
    ("dedupe_mode", "crates/cli/tests/calls.rs", "a_larger_working_set_repeats_more_different_blocks"),
    ("dedupe_global", "crates/cli/tests/calls.rs", "jobs_repeat_from_one_set_where_it_is_global"),
    ("ramp_time", "crates/cli/tests/calls.rs", "options_of_time_take_the_time_they_name"),
    ("thinktime", "crates/cli/tests/calls.rs", "options_of_time_take_the_time_they_name"),
    ("thinktime_blocks", "crates/cli/tests/calls.rs", "options_of_time_take_the_time_they_name"),
    ("thinktime_iotime", "crates/cli/tests/calls.rs", "options_of_time_take_the_time_they_name"),
    ("latency_target", "crates/cli/tests/calls.rs", "options_of_time_take_the_time_they_name"),
    ("latency_window", "crates/cli/tests/calls.rs", "options_of_time_take_the_time_they_name"),
    ("iodepth", "crates/cli/tests/calls.rs", "options_of_time_take_the_time_they_name"),
    ("startdelay", "crates/cli/tests/calls.rs", "a_start_is_delayed"),
    ("random_generator", "crates/cli/tests/calls.rs", "seeds_and_generators_draw_other_repeatable_sequences"),
    ("randrepeat", "crates/cli/tests/calls.rs", "seeds_and_generators_draw_other_repeatable_sequences"),
    ("randseed", "crates/cli/tests/calls.rs", "seeds_and_generators_draw_other_repeatable_sequences"),
    ("verify_async", "crates/cli/tests/calls.rs", "checks_are_made_by_verify_async_threads"),
    ("verify_async_cpus", "crates/cli/tests/verify.rs", "verify_threads_find_what_the_loop_finds_on_their_cpus"),
    ("verify_dump", "crates/cli/tests/verify.rs", "bad_blocks_are_dumped_as_read_and_as_they_should_be"),
    ("verify_fatal", "crates/cli/tests/verify.rs", "a_forgiving_job_ends_well_and_shows_its_errors"),
    ("verify_interval", "crates/cli/tests/verify.rs", "layouts_of_headers_agree_both_ways"),
    ("verify_offset", "crates/cli/tests/verify.rs", "layouts_of_headers_agree_both_ways"),
    ("softrandommap", "crates/load/src/tests/handling.rs", "a_map_that_does_not_fit_is_an_error_or_done_without"),
    ("block_error_percentiles", "crates/cli/tests/outputs.rs", "lives_of_blocks_are_shown_by_state_and_by_trims"),
    ("thinktime_blocks_type", "crates/run/tests/run/timing.rs", "think_time_counts_issued_blocks_or_time"),
    ("serialize_overlap", "crates/run/tests/run/timing.rs", "ios_that_overlap_one_in_flight_wait_for_it"),
    ("flow", "crates/run/tests/run/timing.rs", "jobs_of_one_flow_share_their_ios_by_weight"),
    ("flow_id", "crates/run/tests/run/timing.rs", "jobs_of_one_flow_share_their_ios_by_weight"),
    ("flow_sleep", "crates/run/tests/run/timing.rs", "jobs_of_one_flow_share_their_ios_by_weight"),
    ("rate_cycle", "crates/run/tests/run/timing.rs", "a_rate_below_rate_min_fails_the_job_after_grace_and_cycle"),
    ("clocksource", "crates/run/tests/run/timing.rs", "a_clock_and_a_policy_that_are_not_there_are_named"),
    ("cgroup", "crates/run/tests/run/timing.rs", "a_worker_joins_the_control_group_it_names"),
    ("cgroup_weight", "crates/run/tests/run/timing.rs", "a_worker_joins_the_control_group_it_names"),
    ("exit_what", "crates/run/tests/run/timing.rs", "exitall_ends_the_jobs_that_it_names"),
    ("steadystate", "crates/run/tests/run/timing.rs", "a_settling_device_is_steady_at_the_known_second"),
    ("steadystate_duration", "crates/run/tests/run/timing.rs", "a_settling_device_is_steady_at_the_known_second"),
    ("steadystate_ramp_time", "crates/run/tests/run/timing.rs", "a_settling_device_is_steady_at_the_known_second"),
    ("log_entries", "crates/cli/tests/calls.rs", "rows_of_logs_are_written_as_many_at_a_time_as_asked"),
    ("log_compression", "crates/cli/tests/calls.rs", "rows_of_logs_are_written_as_many_at_a_time_as_asked"),
    ("cpus_allowed", "crates/run/src/worker/place.rs", "a_worker_runs_where_it_may"),
    ("disable_bw_measurement", "crates/cli/tests/calls.rs", "the_result_has_what_is_measured_and_asked_for"),
    ("slat_percentiles", "crates/cli/tests/calls.rs", "the_result_has_what_is_measured_and_asked_for"),
    ("exitall", "crates/run/tests/run/timing.rs", "exitall_ends_the_jobs_that_it_names"),
    ("iodepth_low", "crates/run/tests/run/sim.rs", "batches_of_4_at_depth_8_refill_at_the_low_mark_of_2"),
    (
        "ignore_zone_limits",
        "crates/load/src/tests/device_zones.rs",
        "the_limit_of_a_device_is_left_to_it_if_the_job_ignores_it",
    ),
    (
        "recover_zbd_write_error",
        "crates/load/src/tests/device_zones.rs",
        "a_write_that_failed_is_looked_up_if_the_job_recovers",
    ),
    ("max_open_zones", "crates/cli/tests/calls.rs", "zones_are_open_and_reset_as_the_options_say"),
    ("job_max_open_zones", "crates/cli/tests/calls.rs", "zones_are_open_and_reset_as_the_options_say"),
    ("zone_reset_threshold", "crates/cli/tests/calls.rs", "zones_are_open_and_reset_as_the_options_say"),
    ("zone_reset_frequency", "crates/cli/tests/calls.rs", "zones_are_open_and_reset_as_the_options_say"),
    ("zonemode", "crates/cli/tests/calls.rs", "zones_are_open_and_reset_as_the_options_say"),
    ("zonesize", "crates/cli/tests/calls.rs", "zones_are_open_and_reset_as_the_options_say"),
    ("log_alternate_epoch", "crates/run/tests/run/logs.rs", "times_count_from_another_clock_where_that_is_asked_for"),
    (
        "log_alternate_epoch_clock_id",
        "crates/run/tests/run/logs.rs",
        "times_count_from_another_clock_where_that_is_asked_for",
    ),
    ("log_prio", "crates/cli/tests/outputs.rs", "a_compressed_log_is_unpacked_by_us_and_by_fio_alike"),
    ("mem", "crates/sys/src/machine/buffers.rs", "shared_files_take_what_is_written_and_private_ones_do_not"),
    ("overwrite", "crates/run/tests/run/files.rs", "overwrite_lays_the_file_out_in_full_before_it_is_written"),
    ("wait_for", "crates/run/tests/run/life.rs", "wait_for_waits_for_that_job_only"),
    ("size", "crates/cli/tests/calls.rs", "options_of_time_take_the_time_they_name"),
    ("runtime", "crates/cli/tests/calls.rs", "options_of_time_take_the_time_they_name"),
    ("time_based", "crates/cli/tests/calls.rs", "options_of_time_take_the_time_they_name"),
    ("rate", "crates/cli/tests/calls.rs", "options_of_time_take_the_time_they_name"),
    ("rate_iops", "crates/cli/tests/calls.rs", "options_of_time_take_the_time_they_name"),
    ("rate_min", "crates/run/tests/run/timing.rs", "a_rate_below_rate_min_fails_the_job_after_grace_and_cycle"),
    ("rate_iops_min", "crates/run/tests/run/timing.rs", "a_rate_below_rate_min_fails_the_job_after_grace_and_cycle"),
    (
        "iodepth_batch_complete_min",
        "crates/run/tests/run/sim.rs",
        "a_minimum_of_0_polls_after_each_io_and_waits_only_when_full",
    ),
    ("stonewall", "crates/run/tests/run/life.rs", "a_stonewalled_job_starts_after_all_before_it_ended"),
    (
        "sim_sigma",
        "crates/engine/tests/conformance/simulated.rs",
        "the_spread_of_lognormal_times_is_that_of_their_logarithm",
    ),
    ("sim_noise", "crates/engine/tests/conformance/simulated.rs", "a_series_of_runs_has_its_own_level_drift_and_draws"),
    ("sim_run", "crates/engine/tests/conformance/simulated.rs", "a_series_of_runs_has_its_own_level_drift_and_draws"),
    ("sim_level", "crates/engine/tests/conformance/simulated.rs", "a_series_of_runs_has_its_own_level_drift_and_draws"),
    ("sim_drift", "crates/engine/tests/conformance/simulated.rs", "a_series_of_runs_has_its_own_level_drift_and_draws"),
    ("sim_bucket", "crates/engine/tests/conformance/regimes.rs", "credits_are_named"),
    ("sim_cliff", "crates/engine/tests/conformance/regimes.rs", "a_full_write_cache_is_named"),
    ("sim_stall", "crates/engine/tests/conformance/regimes.rs", "recurring_stalls_are_named"),
    ("sim_change", "crates/engine/tests/conformance/regimes.rs", "a_change_is_a_new_level"),
    ("io_submit_mode", "crates/cli/tests/calls.rs", "each_io_of_the_depth_has_its_thread_and_its_cpu_time"),
];

/// Options that have nothing to act upon here, and why.
const IDLE: &[(&str, &str)] = &[
    ("name", "it is in every case, and opens its job"),
    ("unique_filename", "it is of the jobs of a server, in `servers::a_directory_without_the_address_of_the_client`"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What `--cmdhelp` says of an option.
struct Row {
    names: Vec<String>,
    works: bool,
}

/// Every row of the option table.
fn rows() -> Vec<Row> {
    let list = fio(&root(), "--cmdhelp=all").stdout();
    let options = list.lines().filter_map(|line| line.split_once(" : ").or_else(|| line.split_once(": ")));
    let row = |(name, help): (&str, &str)| {
        let name = name.trim();
        let detail = fio(&root(), [format!("--cmdhelp={name}")]).stdout();
        let aliases = detail.lines().filter_map(|line| line.trim().strip_prefix("alias: "));
        let aliases = aliases.flat_map(|list| list.split(", ")).map(str::to_owned);
        Row { names: std::iter::once(name.to_owned()).chain(aliases).collect(), works: !help.contains("(refused: ") }
    };
    options.map(row).collect()
}

/// The options whose omission a case of the comparison notices.
fn noticed() -> BTreeSet<String> {
    let file = root().join("crates/cli/tests/cases/differential/omitted.rs");
    let text = std::fs::read_to_string(file).expect("readable");
    let (_, table) = text.split_once("NOTICED: &[(&str, &str)] = &[").expect("the table");
    let (table, _) = table.split_once("\n];").expect("its end");
    let rows = table.lines().filter_map(|line| line.trim().strip_prefix("(\"")?.split_once('"'));
    rows.map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn every_option_that_works_has_a_case_or_a_test_of_its_effect() {
    let (rows, noticed) = (rows(), noticed());
    assert!(rows.len() > 200, "{} rows: the list of options is not read any more", rows.len());
    let idle = IDLE.iter().map(|&(name, _)| name);
    let tested: BTreeSet<&str> = TESTS.iter().map(|&(name, ..)| name).chain(idle).collect();
    let is_shown = |row: &Row| row.names.iter().any(|name| noticed.contains(name) || tested.contains(name.as_str()));
    let working: Vec<&Row> = rows.iter().filter(|row| row.works).collect();
    assert!(working.len() > 100, "{} rows work", working.len());
    let missing: Vec<&str> = working.iter().filter(|row| !is_shown(row)).map(|row| row.names[0].as_str()).collect();
    assert!(missing.is_empty(), "options that work and whose effect no case and no test shows: {missing:?}");
}

#[test]
fn every_test_that_is_named_here_exists() {
    for &(option, file, test) in TESTS {
        let text = std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let exists = text.contains(&format!("fn {test}()")) || text.contains(&format!("\"{test}\""));
        assert!(exists, "{option}: there is no test and no row {test} in {file}");
    }
}

#[test]
fn every_option_that_does_not_work_is_refused_by_name() {
    for row in rows().into_iter().filter(|row| !row.works) {
        let name = &row.names[0];
        let words = format!("--name=a --ioengine=null --size=4k --{name}=not-its-default");
        fio(&root(), &words).fails().complains(name);
    }
}
