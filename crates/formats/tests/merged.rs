//! Workers merged by us are shown as fio shows a group: from a kept run of three jobs without group_reporting.

use formats::View;
use formats::fio::{json as fio_json, text as fio_text};
use model::RunResult;

fn three_jobs() -> RunResult {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/fio-3.33/numjobs.txt");
    fio_json::read(&std::fs::read_to_string(path).expect("kept output")).expect("fio's own JSON")
}

fn merged(mut result: RunResult) -> RunResult {
    result.jobs.iter_mut().for_each(|job| job.style.group_reporting = true);
    result
}

fn view() -> View {
    View::in_zone(jiff::tz::TimeZone::UTC)
}

fn line<'text>(text: &'text str, start: &str) -> &'text str {
    text.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("no line {start:?} in\n{text}"))
}

#[test]
fn three_workers_become_one_block_with_their_sums() {
    let result = three_jobs();
    let text = fio_text::write(&merged(result.clone()), &view());
    assert_eq!(text.matches(": (groupid=").count(), 1);
    assert!(line(&text, "r: (groupid=0").starts_with("r: (groupid=0, jobs=3): err= 0: pid="), "{text}");
    let ios: u64 = result.jobs.iter().map(|job| job.ios()).sum();
    assert_eq!(
        line(&text, "     issued rwts"),
        format!("     issued rwts: total={ios},0,0,0 short=0,0,0,0 dropped=0,0,0,0")
    );
    let samples: u64 = result.jobs.iter().map(|job| job.directions.read.bandwidth_samples.count).sum();
    assert!(line(&text, "   bw (").ends_with(&format!(", samples={samples}")), "{text}");
}

#[test]
fn a_groups_total_does_not_depend_on_merging_but_its_range_does() {
    let (apart, together) = (fio_text::write(&three_jobs(), &view()), fio_text::write(&merged(three_jobs()), &view()));
    let parts = |text: &str| line(text, "   READ: bw=").split(", ").map(str::to_owned).collect::<Vec<_>>();
    let (apart, together) = (parts(&apart), parts(&together));
    assert_eq!((&apart[0], &apart[2]), (&together[0], &together[2]));
    assert_ne!(apart[1], together[1]);
    let rate = together[0].trim_start_matches("   READ: bw=").split(' ').next().expect("a rate");
    assert!(together[1].starts_with(&format!("{rate}-{rate}")), "{together:?}");
}

#[test]
fn cpu_shares_of_a_group_lie_within_those_of_its_workers() {
    let result = three_jobs();
    let shares = |result: &RunResult| -> Vec<f64> {
        let json: serde_json::Value = serde_json::from_str(&fio_json::write(result, &view())).expect("our JSON");
        let jobs = json["jobs"].as_array().expect("jobs").clone();
        jobs.iter().map(|job| job["sys_cpu"].as_f64().expect("a share")).collect()
    };
    let (apart, together) = (shares(&result), shares(&merged(result)));
    let least = apart.iter().copied().fold(f64::MAX, f64::min);
    let most = apart.iter().copied().fold(0.0, f64::max);
    assert_eq!((apart.len(), together.len()), (3, 1));
    assert!((least..=most).contains(&together[0]), "{together:?} outside of {apart:?}");
}
