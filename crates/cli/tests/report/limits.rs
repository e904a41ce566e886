//! What drawing may cost: CPU time and memory of the whole program, as the kernel counted them.

use crate::cost::cost;
use std::path::Path;

/// CPU time, because the machine may be busy; a build without the last optimisation may take what the issued one may.
#[test]
fn a_picture_takes_under_1500_ms_and_a_report_under_6_s() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).to_string_lossy().into_owned();
    let survey = path("survey.json");
    // All tests with all levels, in virtual time: as many pictures as a survey of a real disk has.
    let surveyed = path("disk");
    std::fs::create_dir(&surveyed).expect("a directory");
    super::survey_in_virtual_time(Path::new(&surveyed), &survey);
    for (what, words, seconds) in [
        ("a picture", vec!["plot", &survey, "--chart", "sweep:1", "-o", &path("one.png")], 1.5),
        ("a page", vec!["report", &survey, "-o", &path("all.html")], 6.0),
        ("a PDF", vec!["report", &survey, "-o", &path("all.pdf")], 6.0),
    ] {
        let (cpu, memory) = cost(&words);
        println!("{what}: {cpu:.2} s, {memory:.0} MiB");
        assert!(cpu < seconds, "{what}: {cpu} s");
        assert!(memory < 300.0, "{what}: {memory} MiB");
    }
}
