//! R reads a survey: Debian's r-base-core on a real one. On request only: `make test-r` installs R and runs it.

use crate::context::{place, plumb};
use house::{Cases, Place, Run};
use serde_json::Value;
use std::path::Path;
/// The requests per second that a survey's result holds, test by test.
fn iops(saved: &Value) -> Vec<f64> {
    let rate = |test: &Value| -> f64 {
        let jobs = test["result"]["jobs"].as_array().expect("jobs");
        let ios: f64 = jobs.iter().filter_map(|job| job["directions"]["read"]["ios"].as_f64()).sum();
        let nanos = jobs.iter().filter_map(|job| job["directions"]["read"]["runtime"].as_f64()).fold(0.0, f64::max);
        ios / nanos * 1e9
    };
    saved["tests"].as_array().expect("tests").iter().map(rate).collect()
}

/// What R says of `m`, which these lines make.
fn check(place: &Place, make: &str, mean: &str, expected: &[f64]) {
    let script = format!(
        "{make}\nstopifnot(is.numeric(m$iops), is.numeric(m${mean}), is.numeric(m$users))\ncat(nrow(m), m$users, m$iops)\n"
    );
    let said = Run::new("Rscript", place).words(["-e", &script]).stdout();
    let numbers: Vec<f64> = said.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    assert_eq!(numbers[..4], [3.0, 1.0, 2.0, 4.0], "{said}");
    for (read, known) in numbers[4..].iter().zip(expected) {
        assert!((read / known - 1.0).abs() < 0.02, "{said}: {known}");
    }
}

/// The one test, on request.
pub(super) fn groups() -> Vec<Cases> {
    vec![Cases::new("in_r", 1).on_request("r_reads_surveys_of_a_disk_and_of_a_loop_device", || {
        r_reads_surveys_of_a_disk_and_of_a_loop_device();
        Ok(())
    })]
}

fn r_reads_surveys_of_a_disk_and_of_a_loop_device() {
    let place = place();
    let device = house::LoopDevice::new(Path::new(env!("CARGO_TARGET_TMPDIR")), 64 << 20).expect("a loop device");
    let disk = place.directory("disk");
    for target in [disk.as_path(), device.path()] {
        let words = "survey --tests randread --users 1,2,4 --size 64M --time 1 --output s.json";
        plumb(&place, words).words([target]).succeeds();
        let expected = iops(&place.json("s.json"));
        plumb(&place, "parse -r -n lab -o s.R s.json").succeeds();
        check(&place, "source('s.R'); stopifnot(testtype == 'lab', ncol(m) == 38)", "lat", &expected);
        plumb(&place, "parse --format r -o u.R s.json").succeeds();
        check(&place, "source('u.R')", "mean_ms", &expected);
        plumb(&place, "parse --format csv -o s.csv s.json").succeeds();
        check(&place, "m <- read.csv('s.csv')", "mean_ms", &expected);
    }
}
