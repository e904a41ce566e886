//! What random job files have found, each with its fact.

use crate::context::{fio, place};

pub(super) fn a_job_that_locks_its_files_logs_every_io() {
    for lock in ["exclusive", "readwrite"] {
        let place = place();
        let words = "--name=a --size=100k --rw=randrw --write_lat_log=x --write_bw_log=x";
        fio(&place, words).words([format!("--lockfile={lock}")]).succeeds();
        for log in ["x_lat.1.log", "x_clat.1.log", "x_bw.1.log"] {
            assert_eq!(place.read(log).lines().count(), 25, "{log} with lockfile={lock}");
        }
    }
}

pub(super) fn an_engine_without_files_has_nothing_to_lock_and_ends() {
    fio(place(), "--name=a --ioengine=cpuio --cpuload=10 --runtime=100ms --lockfile=exclusive").succeeds();
}

pub(super) fn time_goes_on_where_the_simulated_device_takes_none() {
    let words = "--name=a --ioengine=sim --size=1m --rw=read --time_based --runtime=2ms --sim_service_time=0";
    fio(place(), words).succeeds();
}

pub(super) fn a_ramp_of_bytes_is_refused_where_no_bytes_move() {
    let run = fio(place(), "--name=a --ioengine=cpuio --cpuload=10 --runtime=100ms --ramp_size=100k").exits(1);
    run.complains("a ramp of bytes would never end");
}

pub(super) fn what_moves_no_bytes_has_nothing_to_read_back() {
    for engine in ["cpuio --cpuload=10", "exec --program=true"] {
        let words = format!("--name=a --ioengine={engine} --rw=randrw --verify=md5 --verify_only --runtime=100ms");
        fio(place(), words).exits(1).complains("there is nothing to read back");
    }
}

pub(super) fn a_shift_register_stays_within_places_that_lie_apart() {
    let words = "--name=b --ioengine=null --filename=n --rw=randread --bs=4k --size=3m --ba=64k --loops=2 \
                 --random_generator=lfsr";
    fio(place(), words).succeeds().prints("issued rwts: total=1536,0,0,0");
}
