//! Whether the comparison would notice an option that is accepted and ignored.
//!
//! For each row of [`NOTICED`] the program under test gets the case once more without the option, and the answer is
//! held to fio's with it: there must be a difference, not only in the echo of the options themselves. So a row means
//! that the option's effect is looked at, and `effects.rs` asks for a row, or for a separate test, for each option that
//! works.
//!
//! `search::NAME`, on request, tries all options of a case and prints which it notices.

use super::case::{Case, Held};
use super::{Answer, answer, compare, ours};
use std::collections::BTreeSet;

/// An option, as its case spells it, and a case that notices when it does nothing.
pub(super) const NOTICED: &[(&str, &str)] = &[
    ("allow_file_create", "no_file_may_be_made"),
    ("ba", "ios_aligned_to_less"),
    ("blockalign", "ios_aligned_to_more"),
    ("bs", "engine_sync"),
    ("bs_is_seq_rand", "ios_sizes_by_order"),
    ("bs_unaligned", "ios_unaligned_sizes"),
    ("bsrange", "ios_unaligned_sizes"),
    ("bssplit", "ios_split_sizes"),
    ("buffer_pattern", "a_pattern_of_text"),
    ("buffered", "calls_not_buffered"),
    ("clat_percentiles", "percentiles_of_lat"),
    ("continue_on_error", "terse_2_of_no_errors_forgiven"),
    ("create_fsync", "calls_no_sync_of_a_layout"),
    ("create_on_open", "calls_made_when_opened"),
    ("create_only", "create_only"),
    ("description", "a_description"),
    ("direct", "calls_direct"),
    ("directory", "a_directory"),
    ("disable_clat", "without_clat"),
    ("disable_lat", "without_lat"),
    ("disable_slat", "without_slat"),
    ("disk_util", "no_disks"),
    ("do_verify", "verify_written_only"),
    ("end_fsync", "calls_end_fsync"),
    ("exec_postrun", "commands_before_and_after"),
    ("exec_prerun", "commands_before_and_after"),
    ("fadvise_hint", "calls_advice_of_ones_own"),
    ("fallocate", "calls_no_space_ahead"),
    ("fdatasync", "calls_fdatasync"),
    ("file_append", "appended_to_a_file"),
    ("file_service_type", "ios_files_by_eights"),
    ("filename", "ios_zipf"),
    ("filename_format", "names_by_a_format"),
    ("filesize", "a_filesize_and_a_larger_size"),
    ("fixedbufs", "calls_fixed_buffers"),
    ("fsync", "fsync"),
    ("fsync_on_close", "calls_fsync_on_close"),
    ("gid", "calls_another_user"),
    ("group_reporting", "a_new_group"),
    ("gtod_reduce", "gtod_reduce"),
    ("hipri", "calls_polled_completions"),
    ("ignore_error", "verify_errors_that_may_come"),
    ("invalidate", "calls_no_invalidation"),
    ("io_size", "io_size_above_size"),
    ("iodepth", "calls_batches"),
    ("iodepth_batch", "calls_batches"),
    ("ioengine", "terse_2"),
    ("kb_base", "units_with_b"),
    ("lat_percentiles", "percentiles_of_lat"),
    ("lockmem", "calls_locked_memory"),
    ("log_avg_msec", "a_log_of_the_largest"),
    ("log_hist_coarseness", "a_coarse_histogram_log"),
    ("log_hist_msec", "a_histogram_log"),
    ("log_offset", "a_log_with_offsets"),
    ("log_store_compressed", "a_compressed_log"),
    ("loops", "loops"),
    ("max_latency", "an_io_slower_than_max_latency"),
    ("new_group", "a_new_group"),
    ("nice", "calls_nice"),
    ("norandommap", "ios_without_a_map"),
    ("nr_files", "aliases"),
    ("nrfiles", "several_files"),
    ("numa_mem_policy", "calls_memory_of_a_node"),
    ("number_ios", "a_number_of_ios"),
    ("numjobs", "clones"),
    ("offset", "an_offset"),
    ("offset_align", "ios_from_an_aligned_offset"),
    ("offset_increment", "ios_clones_further_on"),
    ("opendir", "every_file_below_a_directory"),
    ("openfiles", "ios_few_files_open"),
    ("per_job_logs", "one_log_for_all_clones"),
    ("percentage_random", "ios_some_at_random"),
    ("percentile_list", "a_list_of_percentiles"),
    ("prio", "calls_a_priority"),
    ("prioclass", "calls_a_priority"),
    ("random_distribution", "ios_zipf"),
    ("read_beyond_wp", "reads_beyond_what_is_written"),
    ("registerfiles", "calls_fixed_buffers"),
    ("rw", "ios_zipf"),
    ("rw_sequencer", "ios_the_same_again"),
    ("rwmixread", "ios_a_share_of_reads"),
    ("rwmixwrite", "ios_a_share_of_writes"),
    ("stats", "a_job_that_is_not_shown"),
    ("sync", "calls_sync"),
    ("sync_file_range", "calls_syncs_of_ranges"),
    ("thp", "calls_huge_pages"),
    ("thread", "threads"),
    ("uid", "calls_another_user"),
    ("unified_rw_reporting", "both_in_json"),
    ("unlink", "unlink"),
    ("unlink_each_loop", "calls_removed_each_time"),
    ("verify", "verify_meta"),
    ("verify_backlog", "ios_a_backlog"),
    ("verify_backlog_batch", "ios_a_backlog_by_batches"),
    ("verify_only", "verify_only_what_is_not_there"),
    ("verify_pattern", "verify_a_pattern_without_the_word"),
    ("verify_state_save", "verify_meta"),
    ("write_bw_log", "a_bandwidth_log"),
    ("write_hist_log", "a_histogram_log"),
    ("write_iops_log", "an_iops_log"),
    ("write_lat_log", "latency_logs"),
    ("zero_buffers", "zero_buffers"),
    ("zonecapacity", "zones_with_less_capacity"),
    ("zonerange", "ios_strides"),
    ("zoneskip", "ios_strides"),
];

/// The options that this case must notice.
pub(super) fn noticed_by(case: &str) -> impl Iterator<Item = &'static str> {
    NOTICED.iter().filter(move |(_, name)| *name == case).map(|(option, _)| *option)
}

/// What is wrong: the case does not notice that the option is left out.
pub(super) fn unnoticed(case: &Case, oracle: &Answer, option: &str) -> Result<Vec<String>, String> {
    if !spelled(case).contains(option) {
        return Ok(vec![format!("the case does not give {option}")]);
    }
    let noticed = what_is_noticed(case, oracle, option)?;
    Ok(if noticed.is_none() { vec![format!("does not notice when {option} does nothing")] } else { Vec::new() })
}

/// The first difference that shows when the option is left out.
fn what_is_noticed(case: &Case, oracle: &Answer, option: &str) -> Result<Option<String>, String> {
    let less = without(case, option);
    let mut ours = answer(&less, &ours())?;
    let mut theirs = oracle.clone();
    // A job file without a line is shorter, which shows nothing.
    for ((name, _), _) in case.call.files.iter().zip(&less.call.files).filter(|(one, other)| one != other) {
        theirs.outcome.left.remove(std::path::Path::new(name));
        ours.outcome.left.remove(std::path::Path::new(name));
    }
    for report in [&mut theirs.report, &mut ours.report] {
        *report = without_echo(report);
    }
    Ok(compare(&less, &theirs, &ours).map_or_else(Some, |differences| differences.into_iter().next()))
}

/// The options that a case gives, as it spells them.
fn spelled(case: &Case) -> BTreeSet<&str> {
    let words = case.call.words.iter().filter_map(|word| word.strip_prefix("--").or_else(|| word.strip_prefix('-')));
    let lines = case.call.files.iter().flat_map(|(_, text)| text.lines()).map(str::trim);
    let name = |word| str::split(word, '=').next().unwrap_or_default();
    words.chain(lines).map(name).filter(|name| !name.is_empty()).collect()
}

fn without(case: &Case, option: &str) -> Case {
    let is = |word: &str| word.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='));
    let mut less = case.clone();
    less.call.words.retain(|word| !word.starts_with('-') || !is(word.trim_start_matches('-')));
    for (_, text) in &mut less.call.files {
        if text.lines().any(is) {
            *text = text.lines().filter(|line| !is(line)).map(|line| format!("{line}\n")).collect();
        }
    }
    less
}

/// A report that does not say what was asked: neither options in JSON nor a job's first line.
fn without_echo(report: &str) -> String {
    let report: String =
        report.lines().filter(|line| !line.contains(": (g=")).map(|line| format!("{line}\n")).collect();
    let Ok((Some(mut json), text)) = house::split_output(&report) else { return report };
    let forget = |from: &mut serde_json::Value, key| from.as_object_mut().and_then(|map| map.shift_remove(key));
    forget(&mut json, "global options");
    for job in json["jobs"].as_array_mut().into_iter().flatten() {
        forget(job, "job options");
    }
    format!("{json:#}\n{text}")
}

/// Prints what each option of the case shows, for the person who fills the table.
pub(super) fn search(case: &Case, oracle: &Answer) -> Result<(), String> {
    const NO_OPTIONS: [&str; 6] = ["name", "output-format", "output", "terse-version", "minimal", "debug"];
    for option in spelled(case).into_iter().filter(|option| !NO_OPTIONS.contains(option)) {
        if case.held != Held::Refusal {
            let found = what_is_noticed(case, oracle, option)?.unwrap_or_else(|| "nothing".to_owned());
            println!("{option} in {}: {}", case.name, found.replace('\n', " "));
        }
    }
    Ok(())
}

pub(super) fn each_row_names_a_case_that_is_there() {
    let cases = super::all_cases();
    for (option, name) in NOTICED {
        let case = cases.iter().find(|case| case.name == *name);
        let case = case.unwrap_or_else(|| panic!("{option}: there is no case {name}"));
        assert!(spelled(case).contains(option), "{name} does not give {option}");
        assert!(case.held != Held::Refusal, "{name}: a refusal shows no effect");
    }
}
