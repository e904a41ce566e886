//! What a picture can be drawn of: our runs as fio and as iozone, and what other tools print.

use super::{plumb, write};
use crate::context::place;
use house::Transcript;
use serde_json::Value;

/// The pictures that a file allows, as `--list` names them.
fn listed(file: &str) -> String {
    plumb(["plot", "--list", file]).succeeds().silent().stdout
}

/// The data of a page.
fn page_of(file: &str, page: &str) -> Value {
    plumb(["report", file, "-o", page]).succeeds().silent();
    let text = std::fs::read_to_string(page).expect("written");
    let (_, rest) = text.split_once("<script type=\"application/json\" id=\"data\">").expect("data");
    serde_json::from_str(rest.split_once("</script>").expect("an end").0).expect("JSON")
}

/// Unlike jobs, with and without `group_reporting`: each has its own name, block size, depth and users.
#[test]
fn unlike_jobs_are_drawn_and_read_as_what_they_are() {
    let directory = place();
    let jobs =
        "[a]\nrw=randread\nbs=4k\niodepth=16\nioengine=libaio\n[b]\nrw=write\nbs=64k\n[c]\nrw=randread\nbs=16k\n";
    let file =
        write(directory.path(), "unlike.fio", &format!("[global]\nsize=4m\ndirectory={}\n{jobs}", directory.word("")));
    for group in ["--group_reporting=0", "--group_reporting=1"] {
        let native = directory.word("own.json");
        plumb(["fio", group, &file, "--quiet", &format!("--result={native}")]).succeeds();
        let shown = listed(&native);
        for job in [
            "random read of job a 4 KiB · depth 16",
            "random read of job c 16 KiB · 1 user",
            "sequential write 64 KiB · 1 user",
        ] {
            assert!(shown.contains(job), "{group} {job}\n{shown}");
        }
        assert!(!shown.contains("reads 4 KiB, depth 16 · 3 users") && !shown.contains("writes 4 KiB"), "{shown}");
        let page = page_of(&native, &directory.word("own.html"));
        let said: Vec<&str> = page["sentences"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
        // On a busy machine a file of 4 MiB may be answered by memory, and the sentence begins with that.
        for name in ["4 KiB random reads of job a ", "16 KiB random reads of job c ", "64 KiB sequential writes "] {
            assert!(said.iter().any(|sentence| sentence.contains(name)), "{group} {name}: {said:?}");
        }
        assert!(!page.to_string().contains("levels of"), "jobs of one run compete for nothing");
        let pictures = page["pictures"].as_array().expect("a list");
        assert!(pictures.iter().all(|picture| picture["mark"].is_null()), "the findings are at the top, once");
        assert!(!page.to_string().contains("depth 16 of job"), "a depth is of its job: {page}");
        let explained = plumb(["explain", &native]).succeeds().stdout;
        let broken: Vec<&str> = explained.lines().filter(|line| line.contains("BROKEN")).collect();
        assert!(broken.iter().all(|line| !line.contains("runtime")), "each has its own block size: {explained}");
        let table = plumb(["parse", &native]).succeeds().stdout;
        let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        for (size, depth) in [("4K", "16"), ("64K", "1"), ("16K", "1")] {
            let row = rows.iter().find(|row| row.contains(&size)).unwrap_or_else(|| panic!("{group} {size}\n{table}"));
            assert_eq!(row[2..5], ["1", depth, size], "{group}\n{table}");
        }
    }
}

/// The reads and writes of a mix share a disk at the same time.
#[test]
fn reads_and_writes_of_a_mix_do_not_compete() {
    let directory = place();
    let (native, page) = (directory.word("mix.json"), directory.word("mix.html"));
    let data = format!("--filename={}", directory.word("mix.dat"));
    plumb(["fio", "--name=a", "--rw=randrw", "--bs=4k", "--size=1m", &data, "--quiet", &format!("--result={native}")])
        .succeeds();
    let data = page_of(&native, &page);
    let said: Vec<&str> = data["sentences"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    let begins = |begin: &str| said.iter().any(|sentence| sentence.starts_with(begin));
    assert!(begins("4 KiB reads of random mixes reach") && begins("4 KiB writes of random mixes reach"), "{said:?}");
    assert!(!data.to_string().contains("levels of"), "{said:?}");
}

/// fio's JSON as plumb writes it: a run of three seconds, every panel on one axis, and what was seen during it.
#[test]
fn our_run_in_fios_json_is_drawn_over_time_with_percentiles() {
    let directory = place();
    let path = |name: &str| directory.word(name);
    let (json, data) = (path("run.json"), path("data"));
    let place = format!("--filename={data}");
    let words = ["--name=mine", "--rw=randread", "--bs=8k", "--size=8m", "--runtime=3", "--time_based", &place];
    let output = [format!("--output={json}"), "--output-format=json-full".to_owned()];
    let words: Vec<&str> = ["fio"].into_iter().chain(words).chain(output.iter().map(String::as_str)).collect();
    plumb(&words).succeeds();
    let shown = listed(&json);
    for picture in ["sweep:1", "cdf:1", "series:1"] {
        assert!(shown.contains(picture), "{picture}\n{shown}");
    }
    let page = page_of(&json, &path("run.html"));
    let pictures = page["pictures"].as_array().expect("pictures");
    let series = pictures.iter().find(|picture| picture["chart"] == "series").expect("a series");
    let panels = series["data"]["panels"].as_array().expect("panels");
    let named = |name: &str| panels.iter().find(|panel| panel["name"] == name).unwrap_or_else(|| panic!("{name}"));
    for name in ["IOPS", "throughput", "processors"] {
        named(name);
    }
    let latency = named("latency")["lines"].as_array().expect("lines");
    let names: Vec<&str> = latency.iter().filter_map(|line| line["name"].as_str()).collect();
    assert!(names.starts_with(&["p50", "p95", "p99"]), "{names:?}");
    // Reads from memory take microseconds, and a rank above takes no less.
    // An interval in which a busy machine did few I/Os has no high ranks.
    let at = |interval: usize, line: usize| latency[line]["points"][interval][1].as_f64();
    let intervals = latency[0]["points"].as_array().map_or(0, Vec::len);
    let first = (1..intervals).find_map(|interval| Some([at(interval, 0)?, at(interval, 1)?, at(interval, 2)?]));
    let first = first.unwrap_or_else(|| panic!("no interval has latencies: {latency:?}"));
    assert!((100.0..1e8).contains(&first[0]) && first.is_sorted(), "{latency:?}");
    assert!(
        page["runs"][0]["command"].as_str().is_some_and(|command| command.contains("--name=mine"))
            || page["runs"][0]["facts"].as_array().is_some_and(|facts| facts.len() > 2)
    );
    assert!(!page["checks"].as_array().expect("checks").is_empty(), "the checks of the run are there");
}

#[test]
fn a_run_of_ours_as_iozone_is_a_heat_map_of_each_test() {
    let directory = place();
    let place = directory.word("data");
    let words =
        ["iozone", "-a", "-n", "64k", "-g", "256k", "-y", "4k", "-q", "64k", "-i", "0", "-i", "1", "-f", &place];
    let shown = plumb(words).stdout();
    let listed = listed(&write(directory.path(), "ioz.txt", &shown));
    for test in ["surface:1    ioz.txt · write", "surface:3    ioz.txt · read"] {
        assert!(listed.contains(test), "{test}\n{listed}");
    }
}

#[test]
fn iostats_reports_are_drawn_over_time() {
    let directory = place();
    let head = "Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz     d/s     dkB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util";
    let report = |reads: f64| {
        format!(
            "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n          10.00    0.00    5.00    2.00    0.00   83.00\n\n{head}\n\
             sda             {reads:.2}    800.00     0.00   0.00    1.50     8.00    0.00      0.00     0.00   0.00    0.00     0.00    0.00      0.00     0.00   0.00    0.00     0.00    0.00    0.00    0.15  12.00\n\n"
        )
    };
    let text = format!("Linux 6.1.0 (host) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n{}{}", report(100.0), report(300.0));
    let file = write(directory.path(), "iostat.txt", &text);
    assert!(listed(&file).contains("series:1     iostat.txt · over time"), "{}", listed(&file));
    let page = page_of(&file, &directory.path().join("r.html").to_string_lossy());
    let panels = &page["pictures"][0]["data"]["panels"];
    assert_eq!(panels[0]["lines"][0]["points"], serde_json::json!([[1.0, 100.0], [2.0, 300.0]]));
    assert_eq!((panels[2]["name"].as_str(), &panels[2]["lines"][0]["points"][0][1]), (Some("latency"), &1.5e6.into()));
    assert_eq!(page["pictures"][0]["data"]["ticks"], "reports");
}

/// Histograms are all that some readers keep: the distribution, and percentiles over time.
#[test]
fn histogram_logs_are_a_distribution_and_percentiles_over_time() {
    let directory = place();
    let path = |name: &str| directory.word(name);
    let (data, log) = (format!("--filename={}", path("data")), format!("--write_hist_log={}", path("l")));
    let words =
        ["--name=a", "--rw=randrw", "--bs=4k", "--size=4m", "--runtime=2", "--time_based", "--log_hist_msec=200"];
    let words: Vec<&str> = ["fio"].into_iter().chain(words).chain([data.as_str(), log.as_str()]).collect();
    plumb(&words).succeeds();
    let log = path("l_clat_hist.1.log");
    let shown = listed(&log);
    assert_eq!(shown.lines().count(), 2, "{shown}");
    assert!(shown.contains("cdf:1        l_clat_hist.1.log · distribution of completion latency"), "{shown}");
    assert!(shown.contains("series:1     l_clat_hist.1.log · over time"), "{shown}");
    let page = page_of(&log, &path("r.html"));
    // The percentiles are those of the table.
    let cdf = &page["pictures"][0]["data"];
    let columns = page["numbers"]["columns"].as_array().expect("columns");
    let p95 = columns.iter().position(|column| column["id"] == "p95_ms").expect("p95");
    for (system, row) in
        cdf["systems"].as_array().expect("systems").iter().zip(page["numbers"]["rows"].as_array().expect("rows"))
    {
        let points = system["points"].as_array().expect("points");
        let point = points.iter().find(|point| point[0] == 95.0).and_then(|point| point[1].as_f64()).expect("p95");
        assert!((point / 1e6 / row[p95].as_f64().expect("p95") - 1.0).abs() < 0.01, "{system} {row}");
    }
    assert_eq!((&cdf["systems"][0]["name"], &cdf["systems"][1]["name"]), (&"reads".into(), &"writes".into()));
    let sentences = page["sentences"].as_array().expect("sentences");
    assert!(
        sentences[0]
            .as_str()
            .is_some_and(|text| text.starts_with("Half of the ") && text.contains(" reads completed within ")),
        "{sentences:?}"
    );
    let lines = page["pictures"][1]["data"]["panels"][0]["lines"].as_array().expect("lines");
    let names: Vec<&str> = lines.iter().filter_map(|line| line["name"].as_str()).collect();
    assert!(names.contains(&"reads p50") && names.contains(&"writes p95"), "{names:?}");
    let text = plumb(["plot", &log]).succeeds().silent().stdout;
    for word in ["distribution of completion latency", "reads", "writes", "avg", "≤"] {
        assert!(text.contains(word), "{word}\n{text}");
    }
    assert!(!text.contains("IOPS"), "{text}");
}

/// A matrix of R's scripts, as fioparse.sh prints it with -r.
#[test]
fn a_matrix_of_r_is_a_sweep() {
    let directory = place();
    let csv = write(directory.path(), "a.csv", &super::table("ssd", 1.0));
    let matrix = plumb(["parse", "--format", "r", &csv]).succeeds().silent().stdout;
    let listed = listed(&write(directory.path(), "m.r", &matrix));
    assert!(listed.contains("sweep:1") && listed.contains("random read 8 KiB"), "{listed}");
}

#[test]
fn size_title_theme_and_target_are_those_asked_for() {
    let directory = place();
    let data = write(directory.path(), "a.csv", &super::table("ssd", 1.0));
    let path = directory.word("p.svg");
    let look =
        ["--width", "900", "--height", "1100", "--title", "Mine & <yours>", "--theme", "dark", "--target", "3ms"];
    let words: Vec<&str> = ["plot", &data, "--chart", "sweep:1", "-o", &path].into_iter().chain(look).collect();
    assert_eq!(plumb(&words).succeeds().silent().stdout, "");
    let svg = std::fs::read_to_string(&path).expect("written");
    for part in ["width=\"900\" height=\"1100\"", "Mine &amp; &lt;yours&gt;", "#141a22", ">3 ms</text>"] {
        assert!(svg.contains(part), "{part}");
    }
    for (words, says) in [(["--width", "1"], "200"), (["--target", "soon"], "10ms"), (["--theme", "pink"], "dark")] {
        let Transcript { status, stderr: error, .. } = plumb(["plot", &data, "-o", &path, words[0], words[1]]).end();
        assert!(status != Some(0) && error.contains(says), "{words:?}: {error}");
    }
}
