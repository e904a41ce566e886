//! `plumb fidelity`: how like two loads are, as text, as JSON and as an exit status.

use crate::context::{PLUMB, place, plumb};
use house::Place;
use serde_json::Value;
use std::fmt::Write;

/// A trace in Alibaba's format: reads of a hot set and writes of a stream, at random moments.
pub(crate) fn trace(ios: u64, bytes_per_read: u64) -> String {
    let mut state = 1_u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut text = String::new();
    let (mut moment_us, mut stream) = (1_577_808_000_000_000_u64, 1_u64 << 32);
    for _ in 0..ios {
        moment_us += 50 + random(300);
        if random(4) == 0 {
            writeln!(text, "0,W,{stream},16384,{moment_us}").unwrap();
            stream += 16_384;
        } else {
            let hot = 1 + random(4096);
            writeln!(text, "0,R,{},{bytes_per_read},{moment_us}", random(hot) * 4096).unwrap();
        }
    }
    text
}

/// A directory with two traces that differ in the sizes of reads, and a short one.
fn stage() -> Place {
    let place = place();
    place.write("a.csv", trace(12_000, 1024));
    place.write("b.csv", trace(12_000, 2048));
    place.write("few.csv", trace(9_999, 1024));
    place
}

fn distance<'a>(document: &'a Value, name: &str) -> &'a Value {
    let distances = document["distances"].as_array().unwrap();
    distances.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name}: {document:#}"))
}

#[test]
fn a_trace_is_wholly_faithful_to_itself() {
    let place = stage();
    let text = plumb(&place, "fidelity a.csv a.csv").stdout();
    assert!(text.starts_with("faithful to 100 %\n") && text.contains("a.csv: Alibaba, level device"), "{text}");
    assert_eq!(plumb(&place, "fidelity --quiet a.csv a.csv").stdout(), "faithful to 100 %\n");
    let timed = plumb(&place, "fidelity --timed --json a.csv a.csv").json();
    assert_eq!((&timed["answer"], &timed["score"]), (&"faithful".into(), &1.0.into()), "{timed:#}");
    assert_eq!((&timed["fidelity_schema"], &timed["paired_ios"]), (&1.into(), &12_000.into()), "{timed:#}");
    for (name, is_known) in
        [("mix", true), ("bursts", true), ("kept time", true), ("in flight", false), ("order", false)]
    {
        assert_eq!(distance(&timed, name)["score"] == 1.0, is_known, "{name}: {timed:#}");
    }
}

#[test]
fn other_sizes_are_unlike_and_few_ios_cannot_tell() {
    let place = stage();
    let unlike = plumb(&place, "fidelity a.csv b.csv").exits(1);
    let text = &unlike.stdout;
    assert!(text.starts_with("unlike: faithful to 2") && text.contains("weakest: mix"), "{text}");
    let few = plumb(&place, "fidelity a.csv few.csv").exits(2);
    assert!(few.stdout.contains("cannot tell: the replay has 9,999 I/Os, and 10,000 are needed"), "{}", few.stdout);
    let wrong = plumb(&place, "fidelity --timed a.csv b.csv").exits(2);
    assert!(wrong.stdout.contains("leave --timed out"), "{}", wrong.stdout);
}

#[test]
fn a_coarse_clock_is_said_and_arrivals_are_not_judged() {
    let place = stage();
    let seconds: String = trace(12_000, 1024)
        .lines()
        .map(|line| {
            let (rest, moment) = line.rsplit_once(',').unwrap();
            format!("{rest},{}000000\n", &moment[..moment.len() - 6])
        })
        .collect();
    place.write("seconds.csv", seconds);
    let run = plumb(&place, "fidelity a.csv seconds.csv").exits(0);
    assert!(run.stderr.contains("seconds.csv: its moments are multiples of 1 s"), "{}", run.stderr);
    assert!(
        run.stdout.contains("arrivals: cannot tell") && run.stdout.contains("the clock has steps of 1 s"),
        "{}",
        run.stdout
    );
}

#[test]
fn what_cannot_be_read_is_said_with_file_and_line() {
    let place = stage();
    let mut damaged = trace(12_000, 1024);
    damaged.insert_str(0, "0,R,4096,4096,1577808000000000\n0,R,4096,many,1577808000000000\n");
    place.write("damaged.csv", damaged);
    place.write("text", "hello\n");
    place.write("empty", "");
    place.directory("directory");
    for (words, expected) in [
        ("a.csv damaged.csv", "damaged.csv:2: `many` is not a size"),
        ("text a.csv", "text:1: `hello` is of no known trace"),
        ("a.csv empty", "empty: is empty"),
        ("a.csv absent", "absent: No such file"),
        ("a.csv directory", "directory: is not a file"),
        ("--level call a.csv b.csv", "it has no I/Os of the level call"),
        ("--columns time,offset a.csv b.csv", "0 columns named size"),
        ("a.csv", "REPLAY"),
    ] {
        let run = plumb(&place, "fidelity").words(words).exits(3);
        assert!(run.stderr.contains(expected), "{words}: {}", run.stderr);
    }
}

#[test]
fn other_columns_are_read_by_their_names() {
    let place = stage();
    let text = trace(12_000, 1024).replace(",W,", ",write,").replace(',', ";");
    place.write("other.txt", text);
    let columns = "fidelity --columns target,op,offset,size,time:us";
    assert_eq!(plumb(&place, columns).words("--quiet other.txt other.txt").stdout(), "faithful to 100 %\n");
}

#[test]
fn two_recordings_of_one_job_are_alike() {
    let place = place();
    let job = "fio --name=a --filename=data --size=32m --io_size=1g --norandommap --ioengine=psync --rw=randrw \
               --bssplit=4k/60:16k/40 --number_ios=12000 --rate_iops=4000,4000 --rate_process=poisson --thread";
    plumb(&place, job).succeeds();
    for name in ["a.parquet", "b.parquet"] {
        plumb(&place, format!("why --json -o why.json --record {name} -- {PLUMB} {job}")).succeeds();
    }
    let document = plumb(&place, "fidelity --json a.parquet b.parquet").end();
    let document: Value = serde_json::from_str(&document.stdout).unwrap_or_else(|_| panic!("{document}"));
    for (name, most) in [("mix", 0.02), ("runs", 0.01), ("locality", 0.02), ("in flight", 0.01)] {
        let found = distance(&document, name)["distance"].as_f64().unwrap();
        assert!(found <= most, "{name}: {found}: {document:#}");
    }
    let same = plumb(&place, "fidelity --json a.parquet a.parquet").json();
    assert_eq!((&same["score"], &same["original"]["level"]), (&1.0.into(), &"call".into()), "{same:#}");
    assert_eq!(distance(&same, "order")["score"], 1.0, "{same:#}");
}

#[test]
fn a_replay_of_a_record_keeps_its_moments() {
    let place = place();
    let job = "fio --name=a --filename=data --size=32m --io_size=1g --norandommap --ioengine=psync --rw=randrw \
               --bssplit=4k/60:16k/40 --number_ios=10000 --rate_iops=2000,2000 --write_iolog=original.log";
    plumb(&place, job).succeeds();
    let replay = "fio --name=r --read_iolog=original.log --ioengine=psync --thread";
    let compared = || {
        plumb(&place, format!("why --json -o why.json --record replay.parquet -- {PLUMB} {replay}")).succeeds();
        let document = plumb(&place, "fidelity --timed --json original.log replay.parquet").end();
        serde_json::from_str::<Value>(&document.stdout).unwrap_or_else(|_| panic!("{document}"))
    };
    // A recorder that gets no processor loses events, which is said.
    let mut document = compared();
    for _ in 0..4 {
        if !document["sentence"].as_str().unwrap().contains("lost") {
            break;
        }
        document = compared();
    }
    assert_eq!(document["paired_ios"], 10_000, "{document:#}");
    // Other tests take the processors meanwhile.
    assert!(distance(&document, "kept time")["score"].as_f64().unwrap() > 0.5, "{document:#}");
    assert!(distance(&document, "mix")["distance"].as_f64().unwrap() < 0.01, "{document:#}");
}
