//! `plumb parse` and `plumb grade` as programs: what Debian's fio prints in all formats is one run, damage shows in
//! the exit status, and what is written is read by others.

use crate::context::{place, plumb};
use formats::stream::{Event, Parser, Repeat};
use house::{Call, End, Program, Scene, Transcript};
use model::reading::{Content, ReadDirection, ReadJob, ReadLatency, Reading};
use std::path::Path;

fn seed(name: &str) -> String {
    format!("{}/../formats/tests/seeds/{name}.txt", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn gibibytes_and_german_dates_of_iostat_are_read() {
    let report = |second: u32| {
        format!(
            "20.11.2026 12:00:0{second}\n\
             Device            r/s     rGB/s r_await  %util\n\
             sda             48,22      0,50    1,00  75,00\n\n"
        )
    };
    plumb(place(), ["parse", "--format", "json", "-"])
        .input(report(1) + &report(2))
        .succeeds()
        .silent()
        .prints("20.11.2026 12:00:02");
    plumb(place(), ["parse", "-f", "csv", "-"]).input(report(1)).end().prints(",sda,,,512,");
    let drawn = place();
    let (input, page) = (drawn.path().join("iostat.txt"), drawn.path().join("page.html"));
    std::fs::write(&input, report(1) + &report(2)).expect("the test's own directory");
    let words = ["report", &input.to_string_lossy(), "-o", &page.to_string_lossy()].map(str::to_owned);
    plumb(place(), words.each_ref().map(String::as_str)).succeeds();
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.contains("536870912"), "half a gibibyte per second is in the page's data");
}

/// 60 workloads: patterns by sizes, depths, clones, percentiles and what shifts a report.
fn jobs() -> Vec<String> {
    let patterns = ["read", "write", "randread", "randwrite", "rw", "randrw"];
    let manners = [
        "bs=4k",
        "bs=8k numjobs=2 group_reporting=1",
        "bs=1k,4k",
        "bs=64k iodepth=8 ioengine=libaio",
        "bsrange=4k-16k lat_percentiles=1",
        "bs=4k slat_percentiles=1 lat_percentiles=1 ioengine=libaio iodepth=4",
        "bs=4k percentile_list=50:99:99.9",
        "bs=512 kb_base=1000 unit_base=1",
        "bs=4k clat_percentiles=0 description=words_of_a_job",
        "bs=16k numjobs=3",
    ];
    let job = |pattern: &str, manner: &str| {
        let engine = if manner.contains("ioengine") { "" } else { "ioengine=null\n" };
        format!("[j_{pattern}]\n{engine}rw={pattern}\nsize=256k\nfilename=f\n{}\n", manner.replace(' ', "\n"))
    };
    patterns.iter().flat_map(|pattern| manners.iter().map(move |manner| job(pattern, manner))).collect()
}

fn blocks(readings: Vec<Reading>) -> [Vec<ReadJob>; 3] {
    let mut blocks = [const { Vec::new() }; 3];
    for reading in readings {
        let at = ["fio-text", "fio-json", "fio-terse"]
            .iter()
            .position(|format| *format == reading.format)
            .expect("the test's own data");
        match reading.found {
            Content::Run(run) => blocks[at].extend(run.jobs),
            other => panic!("{other:?}"),
        }
    }
    blocks
}

/// Equal as far as the other format prints it.
fn near(what: &str, found: Option<f64>, truth: Option<f64>, part: f64, step: f64) {
    match (found, truth) {
        (Some(found), Some(truth)) => {
            assert!((found - truth).abs() <= part * truth.abs() + step, "{what}: {found}, JSON says {truth}");
        }
        (None, Some(truth)) => assert!(truth.abs() <= step, "{what}: lost, JSON says {truth}"),
        (found, None) => assert!(found.is_none_or(|found| found == 0.0), "{what}: {found:?}, JSON has none"),
    }
}

fn same_latency(what: &str, found: Option<&ReadLatency>, truth: Option<&ReadLatency>, part: f64, step: f64) {
    let get = |get: fn(&ReadLatency) -> Option<f64>| (found.and_then(get), truth.and_then(get));
    for (name, (found, truth)) in [
        ("min", get(|latency| latency.min_ns)),
        ("max", get(|latency| latency.max_ns)),
        ("mean", get(|latency| latency.mean_ns)),
        ("deviation", get(|latency| latency.deviation_ns)),
    ] {
        near(&format!("{what} {name}"), found, truth, part, step);
    }
    for (percent, value) in found.into_iter().flat_map(|found| &found.percentiles) {
        let truth = truth.and_then(|truth| truth.percentiles.iter().find(|(known, _)| (known - percent).abs() < 1e-6));
        near(&format!("{what} {percent} %"), Some(*value), truth.map(|(_, value)| *value), part, step);
    }
}

fn same(what: &str, found: &ReadDirection, truth: &ReadDirection, is_terse: Terse) {
    // Text has four figures, and its latencies are whole µs once they are large; terse has whole KiB and µs.
    let (part, step, rate_step) = match is_terse {
        Terse::Yes => (1e-6, 1024.0, 1.0),
        Terse::No => (0.011, 512.0, 1.0),
    };
    near(&format!("{what} bytes"), found.bytes, truth.bytes, part, step);
    near(&format!("{what} rate"), found.bytes_per_second, truth.bytes_per_second, part, step);
    near(&format!("{what} iops"), found.iops, truth.iops, part, rate_step);
    near(&format!("{what} runtime"), found.runtime_ms, truth.runtime_ms, 0.0, 0.0);
    let step_ns = 1000.0;
    same_latency(&format!("{what} slat"), found.submission.as_ref(), truth.submission.as_ref(), part, step_ns);
    same_latency(&format!("{what} clat"), found.completion.as_ref(), truth.completion.as_ref(), part, step_ns);
    same_latency(&format!("{what} lat"), found.total.as_ref(), truth.total.as_ref(), part, step_ns);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Terse {
    Yes,
    No,
}

#[test]
fn text_terse_and_json_of_debians_fio_agree_in_60_job_files() {
    let fio = Program { path: "fio".into(), first: Vec::new() };
    let jobs = jobs();
    assert_eq!(jobs.len(), 60);
    // fio sleeps more than it works.
    let numbered: Vec<(usize, String)> = jobs.into_iter().enumerate().collect();
    std::thread::scope(|scope| {
        for part in numbered.chunks(8) {
            scope.spawn(|| part.iter().for_each(|(number, job)| one_job_file(&fio, *number, job)));
        }
    });
}

/// What was read of an output in three formats. Only the JSON counts: all three are of one run.
fn all_formats(job: &str, output: &str) -> Vec<Reading> {
    let (mut counted, mut all) = (Vec::new(), Vec::new());
    let mut parser = Parser::new(|event| match event {
        Event::Reading(reading) => {
            counted.push(reading.format);
            all.push(reading);
        }
        Event::Repeated(repeated) => {
            assert_eq!(repeated.repeat, Repeat::OtherFormat, "{job}{output}");
            all.push(repeated.reading);
        }
        Event::Damage(damage) => panic!("{job}{damage:?}\n{output}"),
    });
    parser.feed(output.as_bytes());
    parser.finish();
    assert_eq!(counted, ["fio-json"], "{job}{output}");
    all
}

fn one_job_file(fio: &Program, number: usize, job: &str) {
    let scene = Scene::new(Path::new("/dev/shm"), None).expect("the test's own data");
    let words = ["--output-format=normal,terse,json+", "j.fio"].map(str::to_owned).to_vec();
    let call = Call { words, files: vec![("j.fio".to_owned(), job.to_owned())], ..Call::default() };
    let outcome = scene.run(fio, &call).expect("the test's own data");
    assert_eq!(outcome.end, End::Status(0), "{job}{}", outcome.stderr);
    let [text, json, terse] = blocks(all_formats(job, &outcome.stdout));
    assert!(!json.is_empty() && text.len() == json.len() && terse.len() == json.len(), "{job}{}", outcome.stdout);
    for ((truth, text), terse) in json.iter().zip(&text).zip(&terse) {
        let what = format!("case {number}, {}", truth.name.as_deref().unwrap_or_default());
        assert_eq!((&text.name, &terse.name), (&truth.name, &truth.name), "{what}");
        assert_eq!((text.group, text.errno), (truth.group, truth.errno), "{what}");
        assert_eq!((text.switches, text.minor_faults), (truth.switches, truth.minor_faults), "{what}");
        assert_eq!(text.issued, truth.issued, "{what}");
        assert_eq!(text.directions.len(), truth.directions.len(), "{what}");
        assert_eq!(terse.directions.len(), truth.directions.len(), "{what}");
        for ((truth, text), terse) in truth.directions.iter().zip(&text.directions).zip(&terse.directions) {
            same(&format!("{what} text {}", truth.kind.word()), text, truth, Terse::No);
            let mut terse = terse.clone();
            // A terse line does not say whose percentiles it has: those of the total latency, if a job asks for them.
            if job.contains("lat_percentiles=1\n") && !job.contains("clat_percentiles=0") {
                let percentiles = terse.completion.as_mut().map(|latency| std::mem::take(&mut latency.percentiles));
                if let (Some(total), Some(percentiles)) = (&mut terse.total, percentiles) {
                    total.percentiles = percentiles;
                }
            }
            same(&format!("{what} terse {}", truth.kind.word()), &terse, truth, Terse::Yes);
        }
    }
}

#[test]
fn the_exit_status_says_all_part_or_nothing() {
    plumb(place(), ["parse", &seed("fio_2.0.13")]).succeeds().silent().prints("109.665").prints("28074");
    plumb(place(), ["parse", &seed("fio_2.0.8_iostat")])
        .exits(3)
        .complains("fio_2.0.8_iostat.txt:14: the run of `regular_read`");
    let Transcript { stdout: table, stderr: errors, .. } =
        plumb(place(), ["parse", "-"]).input("nothing of interest\n").exits(1);
    assert_eq!(table.as_str(), "");
    assert!(errors.contains("nothing found"), "{errors}");
    plumb(place(), ["parse", "no-such-file", &seed("fio_2.0.13")]).exits(3).complains("no-such-file: cannot be read");
}

#[test]
fn an_empty_log_is_not_damage() {
    let logs = place();
    let names = ["a_lat.1.log", "a_slat.1.log"].map(|name| logs.path().join(name).to_string_lossy().into_owned());
    std::fs::write(&names[0], "1, 10, 0, 4096\n").expect("the test's own directory");
    std::fs::write(&names[1], "").expect("the test's own directory");
    let ended = plumb(place(), ["parse", &names[0], &names[1]]).succeeds();
    assert!(ended.stderr.contains("a_slat.1.log: is empty"), "{}", ended.stderr);
    plumb(place(), ["parse", &names[1]]).exits(1);
}

#[test]
fn a_killed_worker_and_a_document_without_results_are_named() {
    let killed = "a: (g=0): rw=read, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=psync, iodepth=1\n\
                  fio-3.33\nStarting 1 process\nfio: pid=43, got signal=9\n\n\
                  a: (groupid=0, jobs=1): err= 0: pid=43: Fri Nov 27 07:47:01 2026\n  \
                  cpu          : usr=0.00%, sys=0.00%, ctx=0, majf=0, minf=0\n     \
                  issued rwts: total=211626,0,0,0 short=0,0,0,0 dropped=0,0,0,0\n\n\
                  Run status group 0 (all jobs):\n";
    let ended = plumb(place(), ["check", "--strict", "-"]).input(killed).exits(4);
    assert!(ended.stdout.contains("ended with an error (killed by signal 9)"), "{}", ended.stdout);
    for command in ["parse", "check", "explain", "report"] {
        let ended = plumb(place(), [command, "-"]).input("{\"gate_schema\": 1, \"verdict\": \"ok\"}\n").exits(1);
        assert!(ended.stderr.contains("this is the JSON of plumb gate: a verdict"), "{command}: {}", ended.stderr);
    }
}

#[test]
fn every_format_holds_the_same_rows() {
    let file = seed("fio_2.0.13");
    let csv = plumb(place(), ["parse", "--format", "csv", &file]).end().stdout;
    assert_eq!(csv.lines().count(), 5);
    let begin = "system,name,users,block_size,mib_per_second,mean_ms,min_ms,max_ms,deviation_ms,iops,to_50us_percent,";
    assert!(csv.starts_with(begin), "{csv}");
    let again = plumb(place(), ["parse", "-v", "-p", "-"]).input(csv.as_str()).succeeds().silent().stdout;
    let table = plumb(place(), ["parse", "-v", "-p", &file]).end().stdout;
    assert_eq!(again, table, "the CSV read back is the same table");
    let of_scripts = |words: &[&str]| plumb(place(), [words, &[&*file]].concat()).end();
    of_scripts(&["parse", "-r", "-n", "lab"]).prints("nrow=38").prints("testtype <- \"lab\"").prints("\"MB\",\"lat\"");
    of_scripts(&["parse", "--format", "r"]).prints("nrow=38").prints("\"mib_per_second\",\"mean_ms\"");
    let old = of_scripts(&["parse", "--format", "csv", "--fio-scripts"]).stdout;
    assert!(old.starts_with("system,name,users,bs,MB,lat,min,max,std,iops,us50,"), "{old}");
    assert_eq!(old.lines().skip(1).collect::<Vec<_>>(), csv.lines().skip(1).collect::<Vec<_>>());
    assert_eq!(plumb(place(), ["parse", "-v", "-p", "-"]).input(old).succeeds().stdout, table);
    of_scripts(&["parse", "--format", "markdown", "--fio-scripts"]).complains("only --format csv and --format r");
    let markdown = plumb(place(), ["parse", "--format", "markdown", &file]).end().stdout;
    assert_eq!(markdown.lines().count(), 6);
    let json = plumb(place(), ["parse", "--format", "json", &file]).end().json();
    assert_eq!(json["readings"].as_array().expect("the test's own data").len(), 4);
    assert_eq!(json["readings"][0]["run"]["jobs"][0]["directions"][0]["iops"], 28074.0);
}

#[test]
fn a_sweep_has_the_same_names_of_columns_in_csv_r_and_json() {
    let rows = "name,users,bs,MB,lat,min,max,std,iops,us50,us100,us250,us500,ms1,ms2,ms4,ms10,ms20,ms50,ms100,ms250,\
                ms500,s1,s2,s5,p95_00,p99_00,p99_50,p99_90,p99_95,p99_99\n\
                randread,16,8K,25,2.5,0.9,9,0.1,3200,0,0,0,0,0,20,80,0,0,0,0,0,0,0,0,0,3,4,5,6,7,8\n";
    let as_format = |format: &str| plumb(place(), ["parse", "--format", format, "-"]).input(rows).succeeds();
    let (csv, r, json) = (as_format("csv").stdout, as_format("r").stdout, as_format("json").json());
    let mut lines = csv.lines().map(|line| line.split(','));
    let (names, cells) = (lines.next().expect("a heading"), lines.next().expect("a row"));
    let row = json["readings"][0]["row"].as_object().expect("a row");
    let mut known = 0;
    for (name, cell) in names.zip(cells).filter(|(name, cell)| !cell.is_empty() && !["source", "line"].contains(name)) {
        let value = row.get(name).unwrap_or_else(|| panic!("JSON has no {name}: {row:?}"));
        let same = value.as_f64().map_or(value.as_str() == Some(cell), |value| cell.parse() == Ok(value));
        assert!(same && r.contains(&format!("\"{name}\"")), "{name}: {cell}, {value}\n{r}");
        known += 1;
    }
    assert_eq!((known, row.len()), (31, 31), "{row:?}");
}

#[test]
fn a_percentile_of_too_few_ios_is_in_no_table() {
    // 20 KiB of 4 KiB reads: five I/Os, of which fio prints twenty percentiles.
    let place = place();
    plumb(&place, "fio --name=a --ioengine=null --rw=read --bs=4k --size=20k --output=short.txt").succeeds();
    plumb(&place, "fio --name=a --ioengine=null --rw=read --bs=4k --size=40m --output=long.txt").succeeds();
    for (format, between, absent) in [("csv", ',', ""), ("r", ',', "NA"), ("markdown", '|', "-"), ("table", ' ', "-")] {
        let missing = |file: &'static str| {
            let text = plumb(&place, ["parse", "-p", "--format", format, file]).succeeds().stdout;
            let row = text.lines().find(|line| line.contains("4K")).expect("a row");
            row.split(between).filter(|cell| cell.trim() == absent).count()
        };
        // 10,240 I/Os are enough for p95 and p99.
        assert_eq!(missing("short.txt"), missing("long.txt") + 2, "{format}");
    }
    let csv = plumb(&place, "parse --format csv short.txt").succeeds().stdout;
    assert!(csv.lines().nth(1).is_some_and(|row| row.contains(",,,,,,read,")), "{csv}");
}

#[test]
fn foreign_words_are_text_in_markdown() {
    for (name, expected) in [
        ("<script>alert(1)</script>", "| &lt;script&gt;alert(1)&lt;/script&gt; |"),
        ("<img src=x onerror=alert(1)>", "| &lt;img src=x onerror=alert(1)&gt; |"),
        ("[x](javascript:alert(1))", r"| \[x\](javascript:alert(1)) |"),
        ("a|b`c`*d*_e_~f~\\&amp;", r"| a\|b\`c\`\*d\*\_e\_\~f\~\\&amp; |"),
        ("a\u{2028}b\u{202e}c", "| a\u{fffd}b\u{fffd}c |"),
    ] {
        let rows = format!("system,name,users,bs,MB,lat,min,max,std,iops\nlab,{name},16,8K,25,5,1,9,1,3200\n");
        let markdown = plumb(place(), ["parse", "--format", "markdown", "-"]).input(rows).stdout();
        assert!(markdown.lines().nth(2).is_some_and(|row| row.starts_with(expected)), "{markdown}");
    }
}

#[test]
fn a_parquet_file_needs_a_name_and_has_its_marks_at_both_ends() {
    plumb(place(), ["parse", "--format", "parquet", &seed("fio_2.0.13")]).exits(1).complains("--output FILE");
    let directory = place();
    let path = directory.path().join("a.parquet");
    plumb(
        place(),
        ["parse", "--format", "parquet", "-o", path.to_str().expect("the test's own data"), &seed("fio_2.0.13")],
    )
    .succeeds()
    .silent();
    let bytes = std::fs::read(path).expect("the test's own data");
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1") && bytes.len() > 1000);
}

#[test]
fn files_of_others_are_not_overwritten() {
    // Not below /tmp, which may be without extended attributes.
    let directory = place();
    for format in ["r", "csv", "json", "parquet", "markdown", "table"] {
        let path = directory.path().join(format);
        let name = path.to_str().expect("the test's own data");
        std::fs::write(&path, "my thesis\n").expect("the test's own data");
        let words = ["parse", "--format", format, "-o", name, &seed("fio_2.0.13")];
        plumb(place(), words).exits(1).complains(name).complains("plumb did not make it");
        assert_eq!(std::fs::read_to_string(&path).expect("the test's own data"), "my thesis\n");
        std::fs::remove_file(&path).expect("the test's own data");
        for _ in 0..2 {
            plumb(place(), words).succeeds();
        }
    }
}

#[test]
fn a_card_is_text_and_json_and_an_unknown_profile_is_refused() {
    let rows = "system,name,users,bs,MB,lat,min,max,std,iops,p95_00,p99_00\n\
                lab,randread,16,8K,25,5,1,9,1,3200,8,14\nlab,randread,32,8K,25,10,1,9,1,3200,15,20\n";
    let missing =
        "not measured: sequential read 256K to 4M by 1 or 2 users, log write 512B to 32K by 2 to 8 users; plumb";
    plumb(place(), ["grade", "--profile", "oracle-2012", "-"])
        .input(rows)
        .succeeds()
        .prints("A-/D")
        .prints("5.000/1.00")
        .prints(missing);
    // A disk that is not named and whose runs do not show what it does: numbers, no grades.
    plumb(place(), ["grade", "-"]).input(rows).succeeds().prints("lab: no profile").prints(" -/D  5.000/1.00");
    let json = plumb(place(), ["grade", "--format", "json", "--profile", "nvme-2026", "-"]).input(rows).end().json();
    assert_eq!(json["cards"][0]["lines"][0]["marks"][0]["latency"]["graded"]["grade"], "D");
    let errors = plumb(place(), ["grade", "--profile", "best", "-"]).input(rows).exits(1).stderr;
    assert!(["oracle-2012 (", "ssd-2026 (", "nvme-2026 ("].iter().all(|name| errors.contains(name)), "{errors}");
}
