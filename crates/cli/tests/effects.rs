//! No option is accepted and ignored: every option of a job that works is used where its effect is compared with fio's,
//! or in a test that is named here; every other one is refused by name.
//!
//! Found by itself: an option that occurs as `--option`, or as a line of a job file, in the cases of the comparison with
//! fio. What is compared there is all that a report, the files left behind and the exit status show. An option that fio
//! 3.33 does not know, or whose effect shows nowhere in these, has its test in [`TESTS`]: the test must exist.

use assert_cmd::Command;
use std::collections::BTreeMap;
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
    (
        "allow_mounted_write",
        "crates/run/tests/run/files.rs",
        "a_block_device_gives_its_size_and_is_guarded_while_somebody_holds_it",
    ),
    ("stuck_after", "crates/cli/tests/faults/main.rs", "every_fault_ends_as_the_table_says"),
    ("write_consent", "crates/cli/tests/faults/main.rs", "every_fault_ends_as_the_table_says"),
    ("unit_base", "crates/formats/tests/fio.rs", "kept_outputs_of_fio_3_33_are_printed_again_line_by_line"),
    ("significant_figures", "crates/formats/tests/fio.rs", "what_we_print_from_fios_json_is_what_fio_printed"),
    (
        "iodepth_batch_complete_max",
        "crates/run/tests/run/sim.rs",
        "a_minimum_of_0_polls_after_each_io_and_waits_only_when_full",
    ),
    ("thinktime_spin", "crates/run/tests/run/sim.rs", "think_time_separates_ios"),
    (
        "rate_process",
        "crates/load/src/tests/pacing.rs",
        "poisson_gaps_have_the_mean_and_the_deviation_of_an_exponential",
    ),
    ("rate_ignore_thinktime", "crates/load/src/tests/pacing.rs", "pauses_are_caught_up_unless_the_rate_ignores_them"),
    (
        "flow_watermark",
        "crates/job/tests/words/semantics.rs",
        "withdrawn_options_are_accepted_with_a_warning_as_in_fio",
    ),
    ("verifysort", "crates/job/tests/words/semantics.rs", "withdrawn_options_are_accepted_with_a_warning_as_in_fio"),
    ("verifysort_nr", "crates/job/tests/words/semantics.rs", "withdrawn_options_are_accepted_with_a_warning_as_in_fio"),
    ("iomem_align", "crates/sys/src/buffers.rs", "anonymous_slots_are_aligned_and_apart"),
    ("hugepage-size", "crates/sys/src/buffers.rs", "what_cannot_be_had_says_what_would_help"),
    ("cpumask", "crates/run/src/worker/place.rs", "a_worker_runs_where_it_may"),
    ("cpus_allowed_policy", "crates/run/src/worker/place.rs", "a_worker_runs_where_it_may"),
    ("bwavgtime", "crates/run/tests/run/logs.rs", "subtlety_24_samples_keep_to_their_own_intervals"),
    ("iopsavgtime", "crates/run/tests/run/logs.rs", "subtlety_24_samples_keep_to_their_own_intervals"),
];

/// Options that still lack a test of their effect. It may only become shorter.
const OPEN: &[&str] = &["create_fsync"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What `--cmdhelp` says of an option.
struct Row {
    names: Vec<String>,
    works: bool,
}

fn plumb(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_plumb")).arg("fio").args(words).output().expect("plumb runs");
    assert!(output.status.success(), "{words:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// Every row of the option table.
fn rows() -> Vec<Row> {
    let list = plumb(&["--cmdhelp=all"]);
    let options = list.lines().filter_map(|line| line.split_once(" : ").or_else(|| line.split_once(": ")));
    let row = |(name, help): (&str, &str)| {
        let name = name.trim();
        let detail = plumb(&[&format!("--cmdhelp={name}")]);
        let aliases = detail.lines().filter_map(|line| line.trim().strip_prefix("alias: "));
        let aliases = aliases.flat_map(|list| list.split(", ")).map(str::to_owned);
        Row { names: std::iter::once(name.to_owned()).chain(aliases).collect(), works: !help.contains("(refused: ") }
    };
    options.map(row).collect()
}

/// The sources of the comparison with fio.
fn cases() -> String {
    let directory = root().join("crates/cli/tests/differential");
    let files = std::fs::read_dir(directory).expect("the cases").flatten().map(|entry| entry.path());
    files.map(|path| std::fs::read_to_string(path).expect("readable")).collect()
}

/// Whether an option is used: `--name`, or `name` at the start of a line of a job file, in a text of Rust.
fn occurs(cases: &str, name: &str) -> bool {
    cases.match_indices(name).any(|(at, _)| {
        let (before, after) = (&cases[..at], &cases[at + name.len()..]);
        let begins = before.ends_with("--") || before.ends_with("\\n") || before.ends_with('\n');
        let ends = after.starts_with(['=', ' ', '"']) || after.starts_with("\\n");
        begins && ends
    })
}

#[test]
fn every_option_that_works_has_a_case_or_a_test_of_its_effect() {
    let (rows, cases) = (rows(), cases());
    assert!(rows.len() > 200, "{} rows: the list of options is not read any more", rows.len());
    let tested: BTreeMap<&str, ()> = TESTS.iter().map(|&(name, ..)| (name, ())).collect();
    let is_shown = |row: &Row| row.names.iter().any(|name| occurs(&cases, name) || tested.contains_key(name.as_str()));
    let working: Vec<&Row> = rows.iter().filter(|row| row.works).collect();
    assert!(working.len() > 100, "{} rows work", working.len());
    let missing: Vec<&str> = working.iter().filter(|row| !is_shown(row)).map(|row| row.names[0].as_str()).collect();
    assert_eq!(missing, OPEN, "options that work and whose effect no case and no test shows");
}

#[test]
fn every_test_that_is_named_here_exists() {
    for &(option, file, test) in TESTS {
        let text = std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(text.contains(&format!("fn {test}()")), "{option}: there is no test {test} in {file}");
    }
}

#[test]
fn every_option_that_does_not_work_is_refused_by_name() {
    for row in rows().into_iter().filter(|row| !row.works) {
        let name = &row.names[0];
        let words = ["fio", "--parse-only", "--name=a", &format!("--{name}=not-its-default")];
        let output = Command::new(env!("CARGO_BIN_EXE_plumb")).args(words).output().expect("plumb runs");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && told.contains(name.as_str()), "{name}: {told}");
    }
}
