//! What random job files have found, each with its fact.

use std::process::Command;

struct Ran {
    place: tempfile::TempDir,
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

fn fio(words: &str) -> Ran {
    let place = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(env!("CARGO_BIN_EXE_plumb"));
    command.arg("fio").args(words.split_whitespace()).current_dir(place.path());
    let output = command.output().expect("plumb runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran { place, status: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

pub(super) fn a_job_that_locks_its_files_logs_every_io() {
    for lock in ["exclusive", "readwrite"] {
        let ran =
            fio(&format!("--name=a --size=100k --rw=randrw --lockfile={lock} --write_lat_log=x --write_bw_log=x"));
        assert_eq!(ran.status, Some(0), "{}", ran.stderr);
        for log in ["x_lat.1.log", "x_clat.1.log", "x_bw.1.log"] {
            let rows = std::fs::read_to_string(ran.place.path().join(log)).unwrap().lines().count();
            assert_eq!(rows, 25, "{log} with lockfile={lock}");
        }
    }
}

pub(super) fn an_engine_without_files_has_nothing_to_lock_and_ends() {
    let ran = fio("--name=a --ioengine=cpuio --cpuload=10 --runtime=100ms --lockfile=exclusive");
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
}

pub(super) fn time_goes_on_where_the_simulated_device_takes_none() {
    let ran = fio("--name=a --ioengine=sim --size=1m --rw=read --time_based --runtime=2ms --sim_service_time=0");
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
}

pub(super) fn a_ramp_of_bytes_is_refused_where_no_bytes_move() {
    let ran = fio("--name=a --ioengine=cpuio --cpuload=10 --runtime=100ms --ramp_size=100k");
    assert_eq!(ran.status, Some(1));
    assert!(ran.stderr.contains("a ramp of bytes would never end"), "{}", ran.stderr);
}

pub(super) fn what_moves_no_bytes_has_nothing_to_read_back() {
    for engine in ["cpuio --cpuload=10", "exec --program=true"] {
        let ran = fio(&format!("--name=a --ioengine={engine} --rw=randrw --verify=md5 --verify_only --runtime=100ms"));
        assert_eq!(ran.status, Some(1), "{engine}");
        assert!(ran.stderr.contains("there is nothing to read back"), "{}", ran.stderr);
    }
}

pub(super) fn a_shift_register_stays_within_places_that_lie_apart() {
    let words =
        "--name=b --ioengine=null --filename=n --rw=randread --bs=4k --size=3m --ba=64k --random_generator=lfsr";
    let ran = fio(&format!("{words} --loops=2"));
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("issued rwts: total=1536,0,0,0"), "{}", ran.stdout);
}
