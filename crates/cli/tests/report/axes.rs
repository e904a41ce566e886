//! Depth and the system are axes: in pictures, tables and models, of fio's JSON and of several files.

use super::{plumb, text_of_pdf, write};
use crate::context::place;
use house::Transcript;
use serde_json::json;

/// IOPS of a disk that follows the scalability law: 10,000 at depth 1, the most at depth 30.
fn iops_at(depth: u32) -> f64 {
    let depth = f64::from(depth);
    1e4 * depth / (1.0 + 0.1 * (depth - 1.0) + 0.001 * depth * (depth - 1.0))
}

/// fio's JSON of random reads at one depth.
fn run(depth: u32, slower: f64) -> String {
    run_in(depth, slower, None)
}

/// The same with a size of the data: an option and its value.
fn run_in(depth: u32, slower: f64, size: Option<(&str, &str)>) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive number")]
    let ios = (iops_at(depth) / slower * 2.0).round() as u64;
    let iops = ios as f64 / 2.0;
    let mean_ns = f64::from(depth) * 1e9 / iops;
    let percentiles: serde_json::Map<String, serde_json::Value> =
        [("50.000000", 0.9), ("95.000000", 1.5), ("99.000000", 2.0)]
            .map(|(name, factor)| (name.to_owned(), json!((mean_ns * factor).round())))
            .into_iter()
            .collect();
    let latency = json!({"min": 1000, "max": mean_ns * 9.0, "mean": mean_ns, "stddev": 10.0, "N": ios, "percentile": percentiles});
    let read = json!({
        "io_bytes": ios * 4096, "bw_bytes": ios * 2048, "bw": ios * 2, "iops": iops, "runtime": 2000,
        "total_ios": ios, "clat_ns": latency, "lat_ns": latency,
    });
    let mut options =
        json!({"rw": "randread", "bs": "4k", "iodepth": depth.to_string(), "ioengine": "libaio", "direct": "1"});
    if let Some((option, bytes)) = size {
        options[option] = json!(bytes);
    }
    let levels: serde_json::Map<String, serde_json::Value> = [1, 2, 4, 8, 16, 32, 64]
        .into_iter()
        .map(|level| {
            (
                if level == 64 { ">=64".to_owned() } else { level.to_string() },
                json!(if level == depth { 100.0 } else { 0.0 }),
            )
        })
        .collect();
    let job = json!({
        "jobname": "randread", "groupid": 0, "error": 0, "job options": options, "read": read, "iodepth_level": levels,
        "latency_depth": depth,
    });
    json!({"fio version": "fio-3.33", "timestamp": 1, "jobs": [job]}).to_string()
}

fn files(directory: &std::path::Path, disks: &[(&str, f64)], depths: &[u32]) -> Vec<String> {
    let file = |(disk, slower): &(&str, f64), depth: u32| {
        write(directory, &format!("{disk}-{depth}.json"), &run(depth, *slower))
    };
    disks.iter().flat_map(|disk| depths.iter().map(move |&depth| file(disk, depth))).collect()
}

/// The data in the page of these files.
fn page_of_files(files: &[String], directory: &std::path::Path) -> serde_json::Value {
    let page = directory.join("r.html").to_string_lossy().into_owned();
    plumb(with(&["report", "-o", &page], files)).succeeds().silent();
    let text = std::fs::read_to_string(&page).expect("written");
    let (_, rest) = text.split_once("<script type=\"application/json\" id=\"data\">").expect("data");
    serde_json::from_str(rest.split_once("</script>").expect("an end").0).expect("JSON")
}

fn with<'a>(words: &[&'a str], files: &'a [String]) -> Vec<&'a str> {
    words.iter().copied().chain(files.iter().map(String::as_str)).collect()
}

#[test]
fn seven_depths_are_one_picture_over_depth() {
    let directory = place();
    let files = files(directory.path(), &[("randread", 1.0)], &[1, 2, 4, 8, 16, 32, 64]);
    plumb(with(&["plot"], &files))
        .succeeds()
        .silent()
        .prints("random read 4 KiB · depth 1–64")
        .prints("depth 32")
        .prints("10k to 62.8k, most with depth 32");
    let page = page_of_files(&files, directory.path());
    let sweep = &page["pictures"][0]["data"];
    assert_eq!(sweep["load"], "depth");
    assert_eq!(sweep["levels"].as_array().map(Vec::len), Some(7));
    assert_eq!(sweep["target_ns"], serde_json::Value::Null, "a target is drawn only if it was asked for");
}

#[test]
fn nine_files_of_three_disks_lie_over_one_another() {
    let directory = place();
    let files = files(directory.path(), &[("INTEL", 1.0), ("SAMSUNG", 1.5), ("PM833", 2.0)], &[1, 8, 64]);
    let listed = plumb(with(&["plot", "--list"], &files)).end().stdout;
    assert!(listed.starts_with("overlay:1    INTEL, SAMSUNG and PM833 · random read 4 KiB · depth 1–64\n"), "{listed}");
    let page = page_of_files(&files, directory.path());
    let overlay = &page["pictures"][0]["data"];
    for (at, (name, slower)) in [("INTEL", 1.0), ("SAMSUNG", 1.5), ("PM833", 2.0)].into_iter().enumerate() {
        let system = &overlay["systems"][at];
        assert_eq!(system[0], name);
        let levels = system[1]["levels"].as_array().expect("levels");
        assert_eq!(
            levels.iter().map(|level| level["load"].as_f64()).collect::<Vec<_>>(),
            [Some(1.0), Some(8.0), Some(64.0)]
        );
        assert!((levels[2]["iops"].as_f64().expect("a rate") - iops_at(64) / slower).abs() < 1.0, "{name}");
    }
    assert_eq!(page["title"], "Storage report: INTEL, SAMSUNG and PM833");
    // The same as a drawing, on paper and in letters.
    let path = |name: &str| directory.word(name);
    let (svg, pdf) = (path("nine.svg"), path("nine.pdf"));
    for file in [&svg, &pdf] {
        plumb(with(&["plot", "--quiet", "-o", file], &files)).succeeds();
    }
    let drawn = std::fs::read_to_string(&svg).expect("written");
    let paper = text_of_pdf(&pdf);
    let letters = plumb(with(&["plot"], &files)).stdout();
    for (name, colour) in [("INTEL", "#0072b2"), ("SAMSUNG", "#d55e00"), ("PM833", "#00845f")] {
        // Average, p95, p99 and max; the average from 0; the throughput.
        let is_curve = |path: &&str| {
            let head = path.split('>').next().unwrap_or_default();
            head.contains(&format!("stroke=\"{colour}\"")) && head.contains("fill=\"none\"")
        };
        let curves = drawn.split("<path").filter(is_curve).count();
        assert!(curves >= 6, "{name}: {curves} curves");
        assert!(drawn.contains(&format!(">{name}</text>")) && paper.contains(name), "{name}\n{paper}");
    }
    assert!(paper.contains("INTEL, SAMSUNG and PM833 · random read 4 KiB · depth 1–64"), "{paper}");
    assert!(letters.starts_with("INTEL, SAMSUNG and PM833 · random read 4 KiB · depth 1–64\n"), "{letters}");
    assert!(letters.lines().all(|line| line.chars().count() <= 80), "{letters}");
    let row = |name: &str| {
        letters.lines().find(|line| line.starts_with(&format!("  {name} "))).unwrap_or_else(|| panic!("{letters}"))
    };
    for (name, curve, last) in [("INTEL", "▂▇█", "56.5k"), ("SAMSUNG", "▂▅▆", "37.7k"), ("PM833", "▂▄▅", "28.2k")]
    {
        assert!(row(name).contains(curve) && row(name).ends_with(last), "{letters}");
    }
}

/// At otherwise equal loads; where the size follows from the depth, depth is the axis.
#[test]
fn sizes_of_the_data_are_an_axis_where_nothing_else_differs() {
    let directory = place();
    let file = |name: &str, depth, slower, size| write(directory.path(), name, &run_in(depth, slower, Some(size)));
    let sizes = [
        file("a.json", 4, 1.0, ("size", "64m")),
        file("b.json", 4, 2.0, ("size", "1g")),
        file("c.json", 4, 3.0, ("filesize", "16g")),
    ];
    plumb(with(&["plot"], &sizes)).succeeds().silent().prints("random read 4 KiB, depth 4 · 64 MiB to 16 GiB of data");
    let page = page_of_files(&sizes, directory.path());
    let sweep = &page["pictures"][0]["data"];
    assert_eq!(sweep["load"], "size of the data");
    let loads: Vec<Option<f64>> =
        sweep["levels"].as_array().expect("levels").iter().map(|level| level["load"].as_f64()).collect();
    assert_eq!(loads, [26, 30, 34].map(|power| Some(f64::from(2_u32).powi(power))));
    let columns = page["numbers"]["columns"].as_array().expect("columns");
    assert!(columns.iter().any(|column| column["id"] == "data_bytes"), "{columns:?}");
    let depths = [
        file("1.json", 1, 1.0, ("size", "4g")),
        file("2.json", 2, 1.0, ("size", "2g")),
        file("4.json", 4, 1.0, ("size", "1g")),
    ];
    let page = page_of_files(&depths, directory.path());
    let sweep = &page["pictures"][0]["data"];
    assert_eq!((&sweep["load"], sweep["levels"].as_array().map(Vec::len)), (&json!("depth"), Some(3)));
    let note = "The size of the data is not the same at all levels: 1 GiB to 4 GiB.";
    assert!(sweep["notes"].as_array().expect("notes").contains(&json!(note)), "{sweep}");
}

/// Systems of one level each are bars with names, and their picture is as high as they need.
#[test]
fn disks_of_one_level_have_a_bar_each() {
    let directory = place();
    let sized = |name: &str, slower, size| write(directory.path(), name, &run_in(8, slower, Some(("size", size))));
    let files = [sized("A.json", 1.0, "1g"), sized("B.json", 2.0, "1g"), sized("C.json", 3.0, "2g")];
    let named = [format!("disk A={}", files[0]), format!("disk B={}", files[1]), format!("disk C={}", files[2])];
    let page = page_of_files(&named, directory.path());
    let overlay = &page["pictures"][0];
    assert_eq!((&overlay["chart"], &overlay["size"][1]), (&json!("overlay"), &serde_json::Value::Null));
    assert_eq!(
        overlay["data"]["notes"],
        json!(["The sizes of the data differ: disk A 1 GiB; disk B 1 GiB; disk C 2 GiB."])
    );
    let path = directory.word("bars.svg");
    let Transcript { status, .. } = plumb(with(&["plot", "--chart", "overlay", "-o", &path], &named)).end();
    let svg = std::fs::read_to_string(&path).expect("written");
    let head = &svg[..svg.find("viewBox").expect("a size")];
    let height: u32 =
        head.split("height=\"").nth(1).and_then(|rest| rest.split('"').next()?.parse().ok()).expect("a height");
    assert!(status == Some(0) && height < 450, "{head}");
    for word in ["disk A", "disk B", "disk C", "depth 8", "45.6k IOPS", "22.8k IOPS", "15.2k IOPS", "avg 176 µs"] {
        assert!(svg.contains(&format!(">{word}</text>")), "{word}\n{svg}");
    }
}

#[test]
fn a_given_name_is_the_system_of_the_files_after_it() {
    let directory = place();
    let files = files(directory.path(), &[("a", 1.0), ("b", 2.0)], &[1, 8]);
    let named = [
        format!("old disk={}", files[0]),
        files[1].clone(),
        "new disk=".to_owned(),
        files[2].clone(),
        files[3].clone(),
    ];
    let listed = plumb(with(&["plot", "--list"], &named)).end().stdout;
    assert!(listed.starts_with("overlay:1    old disk and new disk · random read 4 KiB · depth 1–8\n"), "{listed}");
    let csv = plumb(with(&["parse", "--format", "csv"], &named)).end().stdout;
    let systems: Vec<&str> = csv.lines().skip(1).map(|line| line.split(',').next().unwrap_or_default()).collect();
    assert_eq!(systems, ["\"old disk\"", "\"old disk\"", "\"new disk\"", "\"new disk\""]);
}

#[test]
fn the_table_has_depth_and_system() {
    let directory = place();
    let files = files(directory.path(), &[("INTEL", 1.0), ("PM833", 2.0)], &[1, 64]);
    let table = plumb(with(&["parse"], &files)).succeeds().silent().stdout;
    let rows: Vec<Vec<&str>> = table.lines().skip(2).map(|line| line.split_whitespace().take(4).collect()).collect();
    // The users of this JSON are not stated.
    assert_eq!(rows[1][1..4].iter().copied().filter(|cell| *cell == "64").count(), 1, "{table}");
    assert!(rows.iter().take(2).all(|row| row[1] == "INTEL") && rows[3][1] == "PM833", "{table}");
    let again = plumb(["parse", &write(directory.path(), "table.txt", &table)]).end().silent().stdout;
    assert_eq!(again.lines().count(), 6, "the table is read back: {again}");
}

#[test]
fn the_model_says_depth_where_it_was_fitted_over_depth() {
    let directory = place();
    let files = files(directory.path(), &[("randread", 1.0)], &[1, 2, 4, 8, 16]);
    let text = plumb(with(&["model"], &files))
        .succeeds()
        .silent()
        .prints("5 files: randread of 4096 B by depth\n  depth 1 ")
        .stdout;
    assert!(!text.contains("user"), "{text}");
}
