//! Cases of logs and of reports in between, and how logs over windows are compared.
//!
//! A log of single I/Os has as many rows of as many fields on both sides. Where rows are windows their number hangs on
//! the moment at which a helper of fio's looks: it may differ by a few, and every value stays below what the pace
//! allows.

use super::case::Case;
use std::collections::BTreeSet;

/// What is fixed in a log over windows.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    rows: usize,
    /// Numbers of fields, of which there should be one.
    fields: BTreeSet<usize>,
    directions: BTreeSet<String>,
    /// Times never fall.
    in_order: bool,
}

impl Shape {
    pub(super) fn of(text: &str) -> Shape {
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(", ").collect()).collect();
        let times: Vec<u64> = rows.iter().filter_map(|row| row.first()?.parse().ok()).collect();
        // Behind time and value comes the direction; in histograms it comes second.
        let direction = |row: &Vec<&str>| (*row.get(if row.len() > 10 { 1 } else { 2 }).unwrap_or(&"")).to_owned();
        Shape {
            rows: rows.len(),
            fields: rows.iter().map(Vec::len).collect(),
            directions: rows.iter().map(direction).collect(),
            in_order: times.is_sorted() && times.len() == rows.len(),
        }
    }

    /// What differs, in words.
    pub(super) fn differences(&self, ours: &Shape, name: &str) -> Vec<String> {
        let mut found = Vec::new();
        if self.rows > 0 && (self.fields != ours.fields || self.directions != ours.directions) {
            found.push(format!("{name}: fio has {self:?}, ours {ours:?}"));
        }
        if self.rows.abs_diff(ours.rows) > 3 + self.rows / 2 {
            found.push(format!("{name}: fio has {} rows, ours {}", self.rows, ours.rows));
        }
        if !ours.in_order {
            found.push(format!("{name}: our times fall"));
        }
        found
    }
}

/// Every option of logs that Debian's fio knows.
pub(super) fn options() -> Vec<Case> {
    let job = |name, words: &str| {
        let base = "--output-format=json --name=a --size=64k --rw=write --ioengine=libaio";
        Case::own_format(name, &format!("{base} {words}")).logged()
    };
    // 200 I/Os a second in each direction for a second and a half.
    let paced = |name, words: &str| {
        let base = "--output-format=json --name=a --size=1m --rw=rw --rate_iops=200 --runtime=1500ms --time_based";
        Case::own_format(name, &format!("{base} {words}")).free_amounts().windowed()
    };
    vec![
        job("a_log_with_offsets", "--write_lat_log=x --write_bw_log=x --write_iops_log=x --log_offset=1"),
        job("a_log_with_priorities", "--write_lat_log=x --log_prio=1 --prioclass=2 --prio=3"),
        job("a_log_with_offsets_and_priorities", "--write_lat_log=x --log_offset=1 --log_prio=1 --ioengine=psync"),
        job("a_log_of_many_entries", "--write_iops_log=x --log_entries=2048"),
        job("a_log_in_pieces", "--write_bw_log=x --log_compression=1k"),
        // Their main names are others since 3.42, so the echo in JSON differs.
        job("a_log_since_1970", "--output-format=normal --write_lat_log=x --log_unix_epoch=1"),
        job("a_log_by_another_clock", "--write_lat_log=x --log_alternate_epoch=1 --log_alternate_epoch_clock_id=1"),
        job(
            "a_log_of_single_ios_with_the_largest",
            "--output-format=normal --write_lat_log=x --write_bw_log=x --log_window_value=both",
        )
        .newest_only(),
        job("a_log_without_all_latencies", "--write_lat_log=x --disable_lat=1"),
        paced("a_compressed_log", "--write_lat_log=x --log_store_compressed=1 --log_compression=4k"),
        paced("a_log_compressed_on_a_cpu", "--write_bw_log=x --log_store_compressed=1 --log_compression_cpus=0"),
        paced("logs_of_10_ms", "--write_lat_log=x --write_bw_log=x --write_iops_log=x --log_avg_msec=10"),
        paced("logs_of_100_ms", "--write_lat_log=x --write_bw_log=x --write_iops_log=x --log_avg_msec=100"),
        paced("logs_of_1_s", "--write_lat_log=x --write_bw_log=x --write_iops_log=x --log_avg_msec=1000"),
        paced("a_log_of_the_largest", "--output-format=normal --write_lat_log=x --log_avg_msec=100 --log_max_value=1"),
        paced("a_histogram_log", "--write_hist_log=x --log_hist_msec=100"),
        paced("a_coarse_histogram_log", "--write_hist_log=x --log_hist_msec=300 --log_hist_coarseness=4"),
        paced("logs_of_100_ms_with_offsets", "--write_lat_log=x --log_avg_msec=100 --log_offset=1"),
        Case::refused("too_few_entries", "--name=a --ioengine=null --size=1m --write_bw_log=x --log_entries=10"),
        Case::refused("too_small_a_piece", "--name=a --ioengine=null --size=1m --log_compression=1"),
        Case::refused("a_log_that_is_not_there", "--inflate-log=none.fz"),
    ]
}

/// All directions as one, and reports in between.
pub(super) fn reports() -> Vec<Case> {
    const MIX: &str = "--name=a --size=1m --rw=rw";
    const PACED: &str = "--name=a --size=1m --rw=write --rate_iops=100 --runtime=2500ms --time_based";
    let own = |name, words: &str| Case::own_format(name, words);
    vec![
        own("no_disks", "--output-format=json,normal --name=a --size=64k --disk_util=0"),
        own("mixed_in_text_and_json", &format!("--output-format=json,normal {MIX} --unified_rw_reporting=mixed")),
        own("both_in_json", &format!("--output-format=json {MIX} --unified_rw_reporting=both")).mixed(),
        own("mixed_in_terse_3", &format!("--minimal {MIX} --unified_rw_reporting=1")),
        own("mixed_in_terse_5", &format!("--minimal --terse-version=5 {MIX} --unified_rw_reporting=mixed")),
        own("both_in_terse_3", &format!("--minimal {MIX} --unified_rw_reporting=2")).free_amounts(),
        own("both_in_terse_5", &format!("--minimal --terse-version=5 {MIX} --unified_rw_reporting=both"))
            .free_amounts(),
        own(
            "mixed_of_a_group",
            &format!("--output-format=json,normal {MIX} --numjobs=2 --group_reporting --unified_rw_reporting=mixed"),
        ),
        own("terse_once_a_second", &format!("--minimal {PACED} --status-interval=1")).free_amounts(),
        own("text_once_a_second", &format!("--output-format=normal {PACED} --status-interval=1")).free_amounts(),
        own("a_report_on_request", &format!("--minimal {PACED}")).signal(1200, "USR1").ends(0).free_amounts(),
        Case::refused("a_status_interval_without_a_time", &format!("{PACED} --status-interval=x")),
    ]
}
