//! The first screen of a page, and the pages of paper.

use super::{in_a_browser, plumb, survey_in_virtual_time, table, text_of_pdf, write};
use crate::context::place;
use std::path::Path;

/// The data in a page.
fn data(page: &str) -> serde_json::Value {
    let text = std::fs::read_to_string(page).expect("written");
    let (_, rest) = text.split_once("<script type=\"application/json\" id=\"data\">").expect("data");
    serde_json::from_str(rest.split_once("</script>").expect("an end").0).expect("JSON")
}

fn path(directory: &Path, name: &str) -> String {
    directory.join(name).to_string_lossy().into_owned()
}

#[test]
fn the_page_begins_with_the_verdict_that_the_survey_printed() {
    let directory = place();
    let (place, result) = (path(directory.path(), "data"), path(directory.path(), "s.json"));
    std::fs::create_dir(&place).expect("a directory");
    let words = ["survey", "--size", "16M", "--time", "1", "--tests", "randread", "--users", "1,4", "--warm-up", "0"];
    let words: Vec<&str> = words.into_iter().chain(["--output", &result, &place]).collect();
    let shown = plumb(&words).stdout();
    let printed = shown.split_once("Verdict: ").expect("a verdict").1;
    let page = data(&path(directory.path(), "s.html"));
    let line = page["verdict"]["line"].as_str().expect("a line");
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(plain(printed).starts_with(&plain(line)), "{line}\n{shown}");
    // The title stands once; the reason below it does not repeat it.
    let html = std::fs::read_to_string(path(directory.path(), "s.html")).expect("written");
    let band = html.split_once("<div class=\"band").and_then(|(_, rest)| rest.split_once("</div>")).expect("a band").0;
    let title = line.split(':').next().expect("a title");
    assert_eq!(band.matches(title).count(), 1, "{band}");
    // Each picture of these results has a mark if anything was found.
    let findings = page["verdict"]["findings"].as_array().expect("findings");
    let graded = findings.iter().any(|finding| finding["verdict"] != "NOT CHECKED");
    let sweep = page["pictures"].as_array().expect("pictures").iter().find(|picture| picture["chart"] == "sweep");
    assert_eq!(sweep.expect("a sweep")["mark"].is_object(), graded, "{page}");
    let facts = page["places"][0]["facts"].to_string();
    for word in ["\"target\"", "\"host\"", "\"measured\""] {
        assert!(facts.contains(word), "{word}: {facts}");
    }
    assert!(facts.contains(&place), "{facts}");
}

#[test]
fn headings_have_no_path_that_all_have_in_common() {
    let directory = place();
    let survey = path(directory.path(), "s.json");
    let place = directory.path().to_string_lossy().into_owned();
    survey_in_virtual_time(directory.path(), &survey);
    let page = data(&path(directory.path(), "s.html"));
    for picture in page["pictures"].as_array().expect("pictures") {
        let heading = picture["heading"].as_str().expect("a heading");
        assert!(!heading.contains(&place), "{heading}");
        assert!(picture["title"].as_str().is_some_and(|title| title.contains(&place)), "{picture}");
    }
}

#[test]
fn a_table_of_rates_says_that_nothing_was_checked() {
    let directory = place();
    let log = write(directory.path(), "x_iops.1.log", "1000, 900, 1, 0, 0\n2000, 910, 1, 0, 0\n3000, 905, 1, 0, 0\n");
    let page = path(directory.path(), "r.html");
    plumb(["report", &log, "-o", &page]).succeeds();
    let line = data(&page)["verdict"]["line"].as_str().expect("a line").to_owned();
    assert_eq!(line, "NOT CHECKED: fio-log states rates or times without the jobs that they are of.");
}

#[test]
fn the_profile_is_chosen_by_the_disk_unless_it_is_asked_for() {
    let directory = place();
    let csv = write(directory.path(), "a.csv", &table("ssd", 1.0));
    let page = path(directory.path(), "r.html");
    let note = |words: &[&str]| {
        let words: Vec<&str> = ["report", &csv, "-o", &page].into_iter().chain(words.iter().copied()).collect();
        plumb(&words).succeeds();
        let pictures = data(&page)["pictures"].clone();
        let card = pictures.as_array().expect("pictures").iter().find(|picture| picture["chart"] == "card").cloned();
        card.expect("a card")["data"]["notes"][0].as_str().expect("a note").to_owned()
    };
    let chosen = note(&[]);
    let does = "it does what NVMe flash does: random read 8K takes 60 µs by 1 user";
    let reason = format!("Profile nvme-2026, because the disk is of a kind that is not known, and {does}, and ");
    assert!(chosen.starts_with(&reason) && chosen.ends_with("; --profile chooses another."), "{chosen}");
    assert!(note(&["--profile", "nvme-2026"]).starts_with("Thresholds: profile nvme-2026"));
}

/// As PDF, and printed from the page by a browser.
#[test]
fn a_quick_survey_is_at_most_six_pages_of_paper() {
    let directory = place();
    let (place, result) = (path(directory.path(), "data"), path(directory.path(), "s.json"));
    std::fs::create_dir(&place).expect("a directory");
    let words = ["survey", "--quick", "--size", "128M", "--engine", "sim", "--output", &result, &place];
    plumb(words).succeeds();
    let pdf = path(directory.path(), "s.pdf");
    plumb(["report", &result, "-o", &pdf]).succeeds();
    let text = text_of_pdf(&pdf);
    let pages = text.matches('\u{c}').count();
    assert!((2..=6).contains(&pages), "{pages} pages\n{text}");
    let said = in_a_browser("paper.py", &path(directory.path(), "s.html"));
    let printed: usize = said.trim().parse().unwrap_or_else(|_| panic!("{said}"));
    assert!((2..=6).contains(&printed), "{printed} pages printed");
}
