//! `plumb report` and `plumb plot` as programs: what they write, what they refuse, and the page in a browser (Debian's
//! chromium, driven by playwright from `tools/readers.txt`).

mod axes;
mod first_screen;
mod limits;
mod origins;

use crate::context::{self, place};
use house::{Run, Words};
use std::fmt::Write;
use std::path::Path;

fn plumb(words: impl Words) -> Run {
    context::plumb(env!("CARGO_TARGET_TMPDIR"), words)
}

#[test]
fn a_directory_of_other_files_gets_a_few_lines() {
    let directory = place();
    let others: Vec<String> =
        (0..60).map(|number| directory.write(format!("{number}.txt"), "other\n").display().to_string()).collect();
    let result = directory.write("result.csv", table("a", 1.0)).display().to_string();
    let words = [&["report", "-o", "r.html", &result].map(str::to_owned)[..], &others].concat();
    let shown = context::plumb(&directory, words).exits(3).complains("and 56 messages more");
    assert_eq!(shown.stderr.lines().count(), 5, "{shown}");
    let of_directory =
        context::plumb(&directory, ["report", ".", "-o", "r.html"]).fails().complains("is a directory; name its files");
    assert!(of_directory.stderr.lines().count() <= 2, "{of_directory}");
}

/// A sweep as fio_scripts kept them: one system, three workloads over users.
fn table(system: &str, slower: f64) -> String {
    let mut text = "system,name,users,bs,MB,lat,min,max,std,iops,us50,us100,us250,us500,ms1,ms2,ms4,ms10,ms20,ms50,\
        ms100,ms250,ms500,s1,s2,s5,p95_00,p99_00,p99_50,p99_90,p99_95,p99_99\n"
        .to_owned();
    let system = format!("\"{}\"", system.replace('"', "\"\""));
    for (name, bs, mib) in [("randread", "8K", 8.0 / 1024.0), ("read", "1M", 1.0), ("write", "8K", 8.0 / 1024.0)] {
        for users in [1.0_f64, 8.0, 16.0, 32.0] {
            let latency = slower * (0.05 + 0.01 * users);
            let iops = users * 1000.0 / latency;
            let (rate, max, p95, p99, p9999) =
                (iops * mib, latency * 50.0, latency * 1.2, latency * 2.0, latency * 20.0);
            writeln!(
                text,
                "{system},{name},{users},{bs},{rate},{latency},0.01,{max},0.1,{iops},10,60,20,5,3,1,1,0,0,0,0,0,0,0,0,0,\
                 {p95},{p99},{p99},{p99},{p99},{p9999}"
            )
            .expect("a string");
        }
    }
    text
}

fn write(directory: &Path, name: &str, text: &str) -> String {
    let path = directory.join(name);
    std::fs::write(&path, text).expect("a temporary file");
    path.to_string_lossy().into_owned()
}

/// A survey of all tests at all levels, without a disk.
fn survey_in_virtual_time(place: &Path, result: &str) {
    let place = place.to_string_lossy().into_owned();
    let words = ["survey", "--size", "128M", "--time", "1", "--tests", "all", "--engine", "sim", "--warm-up", "0"];
    let words: Vec<&str> = words.into_iter().chain(["--output", result, &place]).collect();
    plumb(&words).succeeds();
}

/// The time of its flushes is in no latency of its writes.
#[test]
fn the_user_of_commits_was_at_work() {
    let place = place();
    let words = "fio --name=a --rw=write --bs=8k --size=1m --fsync=1 --output-format=json --output=r.json";
    context::plumb(&place, words).succeeds();
    context::plumb(&place, "report r.json -o r.html").succeeds();
    let page = place.read("r.html");
    assert!(page.contains("IOPS") && !page.contains("Busy-user check failed"), "{page}");
}

#[test]
fn a_report_is_a_small_file_that_replaces_only_reports() {
    let directory = place();
    let data = write(directory.path(), "a.csv", &table("ssd", 1.0));
    let page = directory.word("r.html");
    for _ in 0..2 {
        let shown = plumb(["report", &data, "-o", &page]).succeeds().silent().stdout;
        assert_eq!(shown, format!("Report: {page}\n"));
    }
    let text = std::fs::read_to_string(&page).expect("written");
    assert!(text.len() < 2_500_000, "{} bytes", text.len());
    assert!(text.contains("<noscript><svg "), "readable without scripts");
    for fetched in ["src=\"http", "href=\"http", "url(http", "@import"] {
        assert!(!text.contains(fetched), "{fetched}");
    }
    std::fs::write(&page, "<!doctype html><p>my thesis").expect("a temporary file");
    plumb(["report", &data, "-o", &page]).exits(1).complains("plumb did not make it");
    assert_eq!(std::fs::read_to_string(&page).expect("there"), "<!doctype html><p>my thesis");
}

#[test]
fn a_picture_is_drawn_as_svg_png_and_pdf() {
    let directory = place();
    let data = write(directory.path(), "a.csv", &table("ssd", 1.0));
    for (name, begins) in [("p.svg", &b"<svg "[..]), ("p.png", b"\x89PNG"), ("p.pdf", b"%PDF-")] {
        let path = directory.word(name);
        for _ in 0..2 {
            let words = ["plot", &data, "--chart", "sweep:2", "--target", "2ms", "--theme", "dark", "-o", &path];
            assert_eq!(plumb(words).succeeds().silent().stdout, "");
        }
        assert!(std::fs::read(&path).expect("written").starts_with(begins), "{name}");
    }
    let theirs = write(directory.path(), "theirs.pdf", "%PDF-1.4 theirs");
    plumb(["plot", &data, "-o", &theirs]).exits(1).complains("plumb did not make it");
}

/// Read back by poppler, another program than the one that wrote it.
#[test]
fn a_pdf_report_has_filled_pages_and_text_that_can_be_searched() {
    let directory = place();
    let data = write(directory.path(), "a.csv", &table("ssd", 1.0));
    let pdf = directory.word("r.pdf");
    assert_eq!(plumb(["report", &data, "-o", &pdf]).succeeds().silent().stdout, format!("Report: {pdf}\n"));
    let listed = plumb(["plot", "--list", &data]).end().stdout;
    let text = text_of_pdf(&pdf);
    // A page ends with a form feed; the pictures, the numbers and where it was measured share them.
    let pages = text.matches('\u{c}').count();
    assert!(pages * 3 <= (listed.lines().count() + 2) * 2, "{pages} pages\n{listed}{text}");
    for word in
        ["Storage report: ssd", "random read 8 KiB", "saturated", "All numbers", "Where it was measured", "370 µs"]
    {
        assert!(text.contains(word), "{word}\n{text}");
    }
    assert!(std::fs::metadata(&pdf).expect("written").len() < 1_000_000);
}

#[test]
fn the_list_names_pictures_and_a_wrong_name_names_the_list() {
    let directory = place();
    let data = write(directory.path(), "a.csv", &table("ssd", 1.0));
    let shown = plumb(["plot", "--list", &data]).stdout();
    for word in ["card:1 ", "sweep:1 ", "sweep:3 ", "random read 8 KiB"] {
        assert!(shown.contains(word), "{word}\n{shown}");
    }
    plumb(["plot", &data, "--chart", "pie", "-o", "x.svg"])
        .exits(1)
        .complains("no chart is named pie")
        .complains("sweep");
    let empty = write(directory.path(), "b.txt", "nothing\n");
    plumb(["plot", &empty]).exits(1).complains("no result of plumb");
}

#[test]
fn without_a_file_a_sweep_is_drawn_in_80_columns() {
    let directory = place();
    let data = write(directory.path(), "a.csv", &table("ssd", 1.0));
    let shown = plumb(["plot", &data, "--chart", "sweep:1"]).succeeds().silent().stdout;
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    for word in ["IOPS ▂▆▇█ 16.7k to 86.5k", "≤100 µs", "60%", "avg", "370 µs"] {
        assert!(shown.contains(word), "{word}\n{shown}");
    }
}

/// The page as its reader uses it; the script says what it finds wrong.
#[test]
fn a_reader_can_use_the_page_in_a_browser() {
    let directory = place();
    let hostile = format!(
        "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">\u{202e}لا😀{}",
        "x".repeat(300)
    );
    // Two of the three workloads are enough of each kind of picture.
    let is_kept = |line: &&str| !line.contains(",write,");
    let fewer = |text: String| text.lines().filter(is_kept).map(|line| format!("{line}\n")).collect::<String>();
    let one = write(directory.path(), "one.csv", &fewer(table(&hostile, 1.0)));
    let two = write(directory.path(), "two.csv", &fewer(table("=cmd|' /C calc'!A0", 2.0)));
    let (iops, latency) = logs(directory.path());
    let page = directory.word("r.html");
    let title = "</title><script>alert(1)</script>";
    plumb(["report", &one, &two, &iops, &latency, "--title", title, "-o", &page]).succeeds().silent();
    let said = in_a_browser("browser.py", &page);
    assert!(said.ends_with("all is well\n"), "{said}");
}

/// The text of a PDF, by another program than the one that wrote it.
fn text_of_pdf(pdf: &str) -> String {
    Run::new("pdftotext", env!("CARGO_TARGET_TMPDIR")).words(["-layout", pdf, "-"]).succeeds().silent().stdout
}

/// What a script of this directory says of a page.
fn in_a_browser(script: &str, page: &str) -> String {
    let python = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../oracles/readers/bin/python");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/report").join(script);
    Run::new(python, env!("CARGO_TARGET_TMPDIR")).words([script.as_path(), Path::new(page)]).stdout()
}

/// fio's logs of a run that becomes slower after a minute.
fn logs(directory: &Path) -> (String, String) {
    let (mut iops, mut latency) = (String::new(), String::new());
    for second in 0..120_u32 {
        let rate = if second < 60 { 90_000 } else { 12_000 } + second * 7919 % 170;
        writeln!(iops, "{}, {rate}, 1, 0, 0", second * 1000).expect("a string");
        writeln!(latency, "{}, {}, 0, 0, 0", second * 1000, 4_000_000_000_u64 / u64::from(rate)).expect("a string");
    }
    (write(directory, "x_iops.1.log", &iops), write(directory, "x_lat.1.log", &latency))
}

/// CPU time of the loop of many.py on the machine for which the limits below were set.
const LOOP_MS: u64 = 300;

#[test]
fn two_hundred_results_in_one_page_stay_smooth() {
    let directory = place();
    let file = |at: u32| {
        write(directory.path(), &format!("{at}.csv"), &table(&format!("system {at}"), 1.0 + f64::from(at) / 50.0))
    };
    let files: Vec<String> = (0..200).map(file).collect();
    let page = directory.word("r.html");
    let mut words: Vec<&str> = vec!["report", "-o", &page];
    words.extend(files.iter().map(String::as_str));
    plumb(&words).succeeds().silent();
    let size = std::fs::metadata(&page).expect("written").len();
    // Other tests share the processors: of three looks one is smooth. Where a loop takes longer, so may all else.
    let is_smooth = || {
        let said = in_a_browser("many.py", &page);
        println!("{said} {size} bytes");
        let found: serde_json::Value = serde_json::from_str(&said).expect("JSON");
        let of = |what: &str| found[what].as_u64().expect(what);
        assert!(of("pictures") > 600 && size < 30_000_000, "{said} {size} bytes");
        assert!(of("live") <= 40, "what is not seen is not drawn: {said}");
        let most = |ms: u64| ms * of("loop").max(LOOP_MS) / LOOP_MS;
        of("load") < most(6_000) && of("toggle") < most(1_000) && of("sort") < most(1_000) && of("scroll") < most(6_000)
    };
    assert!((0..3).any(|_| is_smooth()), "the times are above");
}
