//! Good data is never reported as damaged, whatever decides the order of writes; damaged data always is.
//!
//! Each row is a test, `orders::NAME`: the options that decide in which order blocks are written, and how often. The job
//! writes and verifies, once with the order generated again (`experimental_verify`); `verify_only` and a job that only
//! reads check what it wrote, the latter with the seeds of the blocks, too. Then a byte is changed.

use crate::context::{fio, place};
use house::{Cases, Place};
use std::os::unix::fs::FileExt;

/// Who else can check what a job wrote.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Checked {
    /// `verify_only`, and a job that only reads.
    Later,
    /// A job that only reads: the amount is that of a time.
    ByReader,
    /// `verify_only`: a mix does not write all that it covers.
    ByWalk,
}

use Checked::{ByReader, ByWalk, Later};

#[rustfmt::skip]
const ROWS: &[(&str, Checked, &str)] = &[
    ("in_order", Later, "--rw=write"),
    ("at_random", Later, "--rw=randwrite"),
    ("one_file_open_of_four", Later, "--rw=write --nrfiles=4 --openfiles=1"),
    ("two_files_open_of_four_at_random", Later, "--rw=randwrite --nrfiles=4 --openfiles=2"),
    ("files_at_random", Later, "--rw=randwrite --nrfiles=4 --file_service_type=random:3"),
    ("files_at_random_of_which_three_are_open", Later, "--rw=write --nrfiles=8 --openfiles=3 --file_service_type=random"),
    ("files_in_sequence_of_which_one_is_open", Later, "--rw=write --nrfiles=4 --openfiles=1 --file_service_type=sequential"),
    ("files_by_fives_of_which_two_are_open", Later, "--rw=write --nrfiles=4 --openfiles=2 --file_service_type=roundrobin:5"),
    ("files_by_zipf_start_over", Later, "--rw=write --nrfiles=4 --file_service_type=zipf:1.2"),
    ("files_by_pareto_at_random", Later, "--rw=randwrite --nrfiles=4 --file_service_type=pareto:0.3"),
    ("files_around_a_centre_of_which_two_are_open", Later, "--rw=write --nrfiles=8 --openfiles=2 --file_service_type=normal:30"),
    ("files_of_different_sizes", Later, "--rw=write --filesize=64k-256k --nrfiles=6 --openfiles=2"),
    ("files_without_a_map_of_which_one_is_open", Later, "--rw=randwrite --norandommap --nrfiles=4 --openfiles=1"),
    ("strides_that_wrap", Later, "--rw=write --zonemode=strided --zonesize=64k --zonerange=64k --zoneskip=64k"),
    ("strides_written_twice", Later, "--rw=write --zonemode=strided --zonesize=64k --zonerange=32k"),
    ("strides_at_random", Later, "--rw=randwrite --zonemode=strided --zonesize=64k --zonerange=32k"),
    ("strides_of_two_files", Later, "--rw=randwrite --zonemode=strided --zonesize=64k --zonerange=256k --nrfiles=2 --openfiles=1"),
    ("a_mix", ByWalk, "--rw=randrw"),
    ("a_mix_of_files_of_which_one_is_open", ByWalk, "--rw=randrw --rwmixread=20 --nrfiles=3 --openfiles=1"),
    ("sizes_of_a_split", Later, "--rw=randwrite --bssplit=4k/50:8k/50"),
    ("sizes_of_a_range_on_files", Later, "--rw=write --bsrange=4k-16k --nrfiles=3 --openfiles=2"),
    ("without_a_map", Later, "--rw=randwrite --norandommap"),
    ("without_a_map_in_loops", Later, "--rw=randwrite --norandommap --loops=2"),
    ("by_a_register", Later, "--rw=randwrite --random_generator=lfsr"),
    ("by_zipf", Later, "--rw=randwrite --random_distribution=zipf:1.1"),
    ("by_zones_of_a_distribution", Later, "--rw=randwrite --random_distribution=zoned:60/10:40/90"),
    ("half_at_random", Later, "--rw=randwrite --percentage_random=50"),
    ("runs_of_eight", Later, "--rw=randwrite:8"),
    ("with_holes", Later, "--rw=write:8k"),
    ("aligned_to_more", Later, "--rw=randwrite --blockalign=8k"),
    ("in_loops", Later, "--rw=randwrite --loops=3"),
    ("in_loops_with_two_files_open", Later, "--rw=randwrite --loops=3 --nrfiles=4 --openfiles=2"),
    ("by_clones", Later, "--rw=randwrite --numjobs=3"),
    ("at_depth", Later, "--rw=randwrite --ioengine=libaio --iodepth=16"),
    ("at_depth_with_two_files_open", Later, "--rw=randwrite --ioengine=io_uring --iodepth=16 --nrfiles=4 --openfiles=2"),
    ("with_a_backlog", Later, "--rw=randwrite --verify_backlog=16"),
    ("with_a_backlog_and_one_file_open", Later, "--rw=write --nrfiles=4 --openfiles=1 --verify_backlog=16"),
    ("with_batches_and_two_files_open", Later, "--rw=randwrite --nrfiles=4 --openfiles=2 --verify_backlog=16 --verify_backlog_batch=8"),
    ("more_than_the_region", Later, "--rw=write --io_size=1m"),
    ("more_than_the_region_at_random", Later, "--rw=randwrite --io_size=1m"),
    ("less_than_the_region", Later, "--rw=randwrite --io_size=128k"),
    ("a_number_of_ios", Later, "--rw=randwrite --number_ios=50 --nrfiles=4 --openfiles=1"),
    ("with_syncs", Later, "--rw=randwrite --fsync=8"),
    ("with_a_rate", Later, "--rw=randwrite --rate_iops=4000 --rate_process=poisson --nrfiles=2 --openfiles=1"),
    ("for_a_time", ByReader, "--rw=randwrite --time_based --runtime=200ms --verify_backlog=16 --nrfiles=4 --openfiles=1"),
];

pub(super) fn groups() -> Vec<Cases> {
    let mut cases = Cases::new("orders", 4);
    for &(name, checked, words) in ROWS {
        cases = cases.case(name, move || hold(checked, words));
    }
    vec![cases]
}

fn hold(checked: Checked, words: &str) -> Result<(), String> {
    let place = place();
    let job = format!("--name=w --size=256k --bs=4k --verify=md5 --output-format=terse {words}");
    let reader = job.replace("write", "read");
    let mut later = Vec::new();
    if checked != ByReader {
        later.push(format!("{job} --verify_only"));
    }
    if checked != ByWalk {
        later.push(reader.clone());
        later.push(format!("{reader} --verify_header_seed=1"));
    }
    let again = format!("{job} --experimental_verify=1");
    for words in [&job, &again].into_iter().chain(&later) {
        let run = fio(&place, words).end();
        if run.status != Some(0) {
            return Err(format!("good data, and the status of {words} is not 0\n{run}"));
        }
    }
    damage(&place)?;
    for words in &later {
        let run = fio(&place, words).end();
        if run.status != Some(1) || !run.stderr.contains("verify failed") {
            return Err(format!("a byte was changed, and {words} does not say so\n{run}"));
        }
    }
    Ok(())
}

/// Changes a byte of the payload of the first block that was written.
fn damage(place: &Place) -> Result<(), String> {
    let said = |error: std::io::Error| error.to_string();
    let files = std::fs::read_dir(place.path()).map_err(said)?;
    let mut names: Vec<_> = files.filter_map(|entry| Some(entry.ok()?.path())).collect();
    names.sort();
    for name in names {
        let bytes = std::fs::read(&name).map_err(said)?;
        let Some(block) = bytes.chunks(4096).position(|block| block.starts_with(&[0xca, 0xac])) else { continue };
        let at = block * 4096 + 2000;
        let file = std::fs::OpenOptions::new().write(true).open(&name).map_err(said)?;
        return file.write_all_at(&[bytes[at] ^ 0x10], at as u64).map_err(said);
    }
    Err("no file has a block with a header".to_owned())
}
