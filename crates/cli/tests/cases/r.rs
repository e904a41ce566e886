//! R reads a survey: Debian's r-base-core on a real one. On request only: `make test-r` installs R and runs it.

use house::Cases;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}{}", text(&output.stdout), text(&output.stderr));
    output
}

/// The requests per second that a survey's result holds, test by test.
fn iops(result: &Path) -> Vec<f64> {
    let saved: Value = serde_json::from_slice(&std::fs::read(result).expect("a result")).expect("JSON");
    let rate = |test: &Value| -> f64 {
        let jobs = test["result"]["jobs"].as_array().expect("jobs");
        let ios: f64 = jobs.iter().filter_map(|job| job["directions"]["read"]["ios"].as_f64()).sum();
        let nanos = jobs.iter().filter_map(|job| job["directions"]["read"]["runtime"].as_f64()).fold(0.0, f64::max);
        ios / nanos * 1e9
    };
    saved["tests"].as_array().expect("tests").iter().map(rate).collect()
}

/// What R says of `m`, which these lines make.
fn check(place: &Path, make: &str, expected: &[f64]) {
    let script = format!(
        "{make}\nstopifnot(is.numeric(m$iops), is.numeric(m$lat), is.numeric(m$users))\ncat(nrow(m), m$users, m$iops)\n"
    );
    let said = text(&run(Command::new("Rscript").args(["-e", &script]).current_dir(place)).stdout);
    let numbers: Vec<f64> = said.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    assert_eq!(numbers[..4], [3.0, 1.0, 2.0, 4.0], "{said}");
    for (read, known) in numbers[4..].iter().zip(expected) {
        assert!((read / known - 1.0).abs() < 0.02, "{said}: {known}");
    }
}

/// The one test, on request.
pub(super) fn groups() -> Vec<Cases> {
    vec![Cases::new("r", 1).on_request("r_reads_surveys_of_a_disk_and_of_a_loop_device", || {
        r_reads_surveys_of_a_disk_and_of_a_loop_device();
        Ok(())
    })]
}

fn r_reads_surveys_of_a_disk_and_of_a_loop_device() {
    let under = env!("CARGO_TARGET_TMPDIR");
    let place = tempfile::tempdir_in(under).expect("a directory");
    let device = house::LoopDevice::new(Path::new(under), 64 << 20).expect("a loop device");
    let disk = place.path().join("disk");
    std::fs::create_dir(&disk).expect("a directory");
    let result = place.path().join("s.json");
    for target in [disk.as_path(), device.path()] {
        let words = "survey --tests randread --users 1,2,4 --size 64M --time 1 --output s.json";
        let plumb = env!("CARGO_BIN_EXE_plumb");
        run(Command::new(plumb).args(words.split(' ')).arg(target).current_dir(place.path()));
        let expected = iops(&result);
        run(Command::new(plumb).args(["parse", "-r", "-n", "lab", "-o", "s.R", "s.json"]).current_dir(place.path()));
        check(place.path(), "source('s.R'); stopifnot(testtype == 'lab', ncol(m) == 38)", &expected);
        let words = ["parse", "--format", "csv", "-o", "s.csv", "s.json"];
        run(Command::new(plumb).args(words).current_dir(place.path()));
        check(place.path(), "m <- read.csv('s.csv')", &expected);
    }
}
