//! `--metrics`, `--metrics-listen` and `plumb parse --format openmetrics`. What Prometheus' own programs make of them
//! is in tools/metrics.

use crate::context::{self, place};
use house::{Process, Run, Words, wait_for};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

fn plumb(directory: impl AsRef<Path>, words: impl Words) -> Run {
    let directory = directory.as_ref();
    context::plumb(directory, words).env("TMPDIR", directory).env("PLUMB_REMARKS", "never")
}

/// The samples of a text: name with labels, and the number with its time, if it has one.
fn samples(text: &str) -> Vec<(&str, &str)> {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split_once("} ").unwrap()).collect()
}

/// The totals of a result by family and direction.
fn totals(result: &Value) -> BTreeMap<(String, String), u64> {
    let jobs = result["result"]["jobs"].as_array().unwrap();
    let mut found = BTreeMap::new();
    for (family, member) in [("plumb_io_bytes_total", "bytes"), ("plumb_ios_total", "ios")] {
        for direction in ["read", "write", "trim"] {
            let sum = jobs.iter().map(|job| job["directions"][direction][member].as_u64().unwrap()).sum();
            found.insert((family.to_owned(), direction.to_owned()), sum);
        }
    }
    found
}

#[test]
fn totals_of_both_forms_are_those_of_the_result() {
    let directory = place();
    let words = "fio --name=a --rw=randrw --size=4m --rate_iops=500 --numjobs=2 --time_based --runtime=1200ms \
                 --metrics=m.prom --result=r.json";
    plumb(&directory, words).succeeds();
    let result = directory.json("r.json");
    let shown = directory.read("m.prom");
    let backfill = plumb(&directory, "parse --format openmetrics r.json").end().stdout;
    assert!(!shown.contains("# EOF") && backfill.ends_with("\n# EOF\n"));
    for ((family, direction), total) in totals(&result) {
        let is_wanted = |name: &str| {
            name.starts_with(&format!("{family}{{")) && name.contains(&format!("direction=\"{direction}\""))
        };
        let of = |text| samples(text).into_iter().filter(|(name, _)| is_wanted(name)).map(|(_, value)| value).collect();
        let now: Vec<&str> = of(&shown);
        assert_eq!(now, [total.to_string()], "{family} {direction}: without a time");
        let then: Vec<&str> = of(&backfill);
        let last = then.last().unwrap().split_once(' ').unwrap();
        assert_eq!(last.0, total.to_string(), "{family} {direction}");
        let times: Vec<f64> = then.iter().map(|value| value.split_once(' ').unwrap().1.parse().unwrap()).collect();
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
        let intervals = result["result"]["monitored"]["intervals"].as_array().unwrap().len();
        assert_eq!(times.len(), intervals + 1, "the start, and each interval");
    }
    assert!(shown.contains("state=\"ended\"} 1\n") && shown.contains("plumb_run_info{run=\"1\",job=\"a\","), "{shown}");
    assert_eq!(shown.matches("\nplumb_check_state{").count(), analysis::CHECKS.len());
}

#[test]
fn only_a_file_of_metrics_is_replaced() {
    let directory = place();
    let job = "fio --name=a --ioengine=null --size=1m --metrics=m.prom";
    directory.write("m.prom", "# HELP mine\nmine 1\n");
    plumb(&directory, job).exits(1).complains("plumb did not make it");
    std::fs::remove_file(directory.path().join("m.prom")).unwrap();
    for _ in 0..2 {
        plumb(&directory, job).succeeds();
    }
    assert_eq!(directory.names(), ["m.prom"], "no part of it is left");
}

#[test]
fn the_file_of_a_matrix_is_whole_and_has_its_last_runs() {
    let directory = place();
    let words = "iozone --metrics m.prom -a -i 0 -i 1 -i 2 -i 3 -i 5 -n 64k -g 256k -f f";
    let mut run = plumb(&directory, words).start();
    let (mut seen, mut last) = (std::collections::BTreeSet::new(), 0);
    while !run.has_ended() {
        let Ok(text) = std::fs::read_to_string(directory.path().join("m.prom")) else { continue };
        let runs = text.matches("\nplumb_run_info{").count();
        assert!(text.ends_with('\n') && text.starts_with("# HELP plumb_run_info "), "{text}");
        assert_eq!(text.matches("\nplumb_run_state{").count(), 3 * runs);
        assert_eq!(text.matches("\nplumb_ios_total{").count(), 3 * runs);
        assert!(runs <= 50, "{runs} runs");
        let newest = |line: &str| line.strip_prefix("plumb_run_info{run=\"")?.split('"').next()?.parse::<u64>().ok();
        last = text.lines().filter_map(newest).max().unwrap();
        seen.insert(text.len());
        std::thread::sleep(Duration::from_millis(1));
    }
    run.end().exits(0);
    let text = directory.read("m.prom");
    let runs = text.matches("\nplumb_run_info{").count();
    assert!(runs == 50 && seen.len() > 20, "{runs} runs are left, and {} sizes were seen", seen.len());
    assert!(last > 50, "{last} passes");
}

#[test]
fn a_result_without_intervals_is_named() {
    let directory = place();
    let job = "fio --name=a --ioengine=null --size=1m --output-format=json --output=plain.json";
    plumb(&directory, job).succeeds();
    plumb(&directory, "parse --format openmetrics plain.json").exits(1).complains("has no intervals");
}

/// A run whose metrics are scraped, and their address.
fn listening(directory: &Path, words: &str) -> (Process, String) {
    let mut process = plumb(directory, words).words("--metrics-listen 0").start();
    let line = process.line_with("metrics: http://");
    let address = line.trim_end().strip_prefix("plumb: metrics: http://").and_then(|url| url.strip_suffix("/metrics"));
    let address = address.unwrap_or_else(|| panic!("no address: {line}")).to_owned();
    (process, address)
}

/// The head and the body of an answer.
fn scraped(address: &str) -> std::io::Result<(String, String)> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: test\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or(std::io::ErrorKind::InvalidData)?;
    Ok((head.to_owned(), body.to_owned()))
}

fn read_so_far(text: &str) -> u64 {
    let found = samples(text).into_iter().filter(|(name, _)| name.starts_with("plumb_ios_total{"));
    found.filter(|(name, _)| name.contains("direction=\"read\"")).map(|(_, value)| value.parse::<u64>().unwrap()).sum()
}

#[test]
fn scrapes_are_answered_during_the_run_and_a_while_after() {
    let directory = place();
    let job = "fio --name=a --rw=randread --size=4m --rate_iops=1000 --time_based --runtime=1500ms --result=r.json \
               --metrics-linger=5s";
    let (run, address) = listening(directory.path(), job);
    // As many connections as are taken at a time but one, which send nothing.
    let silent: Vec<TcpStream> = (0..7).map(|_| TcpStream::connect(&address).unwrap()).collect();
    let (mut seen, until) = (Vec::new(), Instant::now() + Duration::from_secs(20));
    while !seen.last().is_some_and(|text: &String| text.contains("state=\"ended\"} 1\n")) {
        assert!(Instant::now() < until, "{seen:?}");
        let (head, body) = scraped(&address).unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("text/plain; version=0.0.4"), "{head}");
        seen.push(body);
        std::thread::sleep(Duration::from_millis(50));
    }
    let reads: Vec<u64> = seen.iter().map(|text| read_so_far(text)).collect();
    assert!(reads.is_sorted() && reads.iter().any(|&count| 0 < count && count < 1500), "{reads:?}");
    drop(silent);
    run.end().exits(0);
    let result = directory.json("r.json");
    let total = totals(&result)[&("plumb_ios_total".to_owned(), "read".to_owned())];
    assert_eq!(reads.last(), Some(&total));
    assert!(scraped(&address).is_err(), "it no longer answers");
}

#[test]
fn no_process_answers_after_a_command_that_was_killed() {
    let directory = place();
    let job = "fio --name=a --ioengine=null --size=1g --rate_iops=100 --time_based --runtime=60 --metrics-linger=60s";
    for (signal, status) in [(Signal::INT, Some(128)), (Signal::KILL, None)] {
        let (run, address) = listening(directory.path(), job);
        wait_for("a run that reads", || (read_so_far(&scraped(&address).unwrap().1) > 0).then_some(()));
        run.signal(signal);
        assert_eq!(run.end().status, status);
        wait_for("the end of all that answers", || TcpStream::connect(&address).is_err().then_some(()));
    }
}

#[test]
fn an_unusable_address_is_refused_before_the_measurement() {
    let directory = place();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (options, expected) in [
        (format!("--metrics-listen={taken}"), "name another port, or 0 for one that is free"),
        ("--metrics-listen=here".to_owned(), "write it as PORT"),
        ("--metrics-linger=5s".to_owned(), "--metrics-listen PORT"),
        ("--otlp=https://here".to_owned(), if cfg!(feature = "otlp") { "not supported" } else { "the feature `otlp`" }),
    ] {
        plumb(&directory, format!("fio --name=a --size=1m {options}")).exits(1).complains(expected);
    }
    assert_eq!(directory.names(), [""; 0], "nothing was written");
}

#[test]
fn the_dashboard_asks_for_families_that_exist() {
    let dashboard =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../contrib/grafana/plumb.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let queries = panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let queries: Vec<&str> = queries.map(|target| target["expr"].as_str().unwrap()).collect();
    assert!(queries.len() >= 8, "{queries:?}");
    for query in queries {
        let names = query.split(|letter: char| !letter.is_ascii_lowercase() && letter != '_');
        let names: Vec<&str> = names.filter(|name| name.starts_with("plumb_")).collect();
        assert!(!names.is_empty(), "{query}");
        for name in names {
            let known = formats::openmetrics::FAMILIES.iter().any(|family| {
                name == family.name || ["_total", "_bucket"].iter().any(|end| *name == format!("{}{end}", family.name))
            });
            assert!(known, "{name} in {query}");
        }
    }
}
