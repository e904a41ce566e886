//! Damaged and hostile text: nothing panics, what is whole is returned, what is not is named with its line.

use formats::stream::{Event, Parser, parse};
use formats::sweep::measurements;
use model::reading::{Content, Damage, Reading};
use std::collections::BTreeMap;

fn page(name: &str) -> String {
    std::fs::read_to_string(format!("{}/tests/{name}", env!("CARGO_MANIFEST_DIR"))).expect("the test's own data")
}

/// One report of fio 2.0.13, 35 lines.
pub(crate) fn report() -> String {
    let text = page("seeds/fio_2.0.13.txt");
    let start = text.find("test_for_sync: (g=0): rw=read,").expect("the test's own data");
    let end = text.find("测试序列写").expect("the test's own data");
    text[start..end].to_owned()
}

fn modern() -> String {
    page("golden/fio-3.33/null-randrw.txt")
}

const IOSTAT: &str = "\
Device            r/s     rkB/s   w/s  wkB/s  %util
vda              1.00      4.00  2.00   8.00   0.50
vdb              3.00     12.00  0.00   0.00   0.10
";
const TABLE: &str = "\
                                                              random    random     bkwd    record    stride                                    
              kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read   fwrite frewrite    fread  freread
              64       4   969761  2358717  4564786  4274062                                                                                  
             128       4   969761  2358717  4564786  4274062                                                                                  

iozone test complete.
";
const MATRIX: &str = "\
m <- matrix(c(
\"read\", 1, \"8K\", 35.647, 0.217, 0.2, 8, 0.1, 4562 , 0, 0,92, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,0.266,0.438,0.506,0.572,0.756,4.080
, \"read\", 1, \"32K\", 98.439, 0.315, 0.1, 22, 0.2, 3150 , 0, 0, 4,94, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,0.418,0.490,0.604,0.772,0.948,3.632
),nrow=31)
";
const CSV: &str = "\
system,name,users,bs,MB,lat,min,max,std,iops
lab,read,1,8K,1.5,0.2,0.1,3,0.4,5
lab,write,1,8K,1.5,0.2,0.1,3,0.4,5
";
const LOG: &str = "1, 10, 0, 4096\n2, 30, 0, 4096\n3, 5, 1, 4096\n";
const JSON: &str = r#"{
  "fio version" : "fio-3.33",
  "jobs" : [
    {"jobname" : "a", "error" : 0, "read" : {"io_bytes" : 4096, "io_kbytes" : 4, "total_ios" : 1, "iops" : 10.0}},
    {"jobname" : "b", "error" : 0, "read" : {"io_bytes" : 8192, "io_kbytes" : 8, "total_ios" : 2, "iops" : 20.0}}
  ]
}
"#;

/// A damaged input: what is done to which text, how many measurements remain, and which line is named.
struct Case {
    name: &'static str,
    text: String,
    rows: usize,
    named: Option<(u64, &'static str)>,
}

fn case(name: &'static str, text: impl Into<String>, rows: usize, named: Option<(u64, &'static str)>) -> Case {
    Case { name, text: text.into(), rows, named }
}

fn cut(text: &str, at: &str) -> String {
    text[..text.find(at).unwrap_or_else(|| panic!("no {at}"))].to_owned()
}

/// The report of another process.
fn another(report: &str) -> String {
    let pid = report.split(": pid=").nth(1).and_then(|rest| rest.split(':').next()).unwrap();
    report.replace(&format!(": pid={pid}:"), ": pid=1:")
}

fn reports() -> Vec<Case> {
    let report = report();
    let swap = |from: &str, to: &str| report.replacen(from, to, 1);
    vec![
        case("whole", report.clone(), 1, None),
        case("cut before the results", cut(&report, "test_for_sync: (groupid"), 0, Some((1, "has no result"))),
        case("cut in the head", cut(&report, " err= 0"), 0, Some((7, "damaged head"))),
        case("cut behind the head", cut(&report, "  read : io="), 0, Some((7, "the job has no numbers"))),
        case("cut in the rate", cut(&report, "iops=28074"), 1, Some((8, "damaged rate"))),
        case("cut behind the rate", cut(&report, "    clat (usec)"), 1, Some((8, "before its `Run status group`"))),
        case("cut in a latency", cut(&report, "avg=281.03"), 1, Some((9, "damaged latencies"))),
        case("cut in the percentiles", cut(&report, "10.00th=[  100]"), 1, Some((12, "before its"))),
        case("cut in one percentile", cut(&report, "0.00th=[  100]"), 1, Some((12, "before its"))),
        case("cut in the samples", cut(&report, "max=17056"), 1, Some((17, "damaged line of a job"))),
        case("cut in the bins", cut(&report, "9.80%, 250="), 1, Some((18, "damaged line of a job"))),
        case("cut in the processor line", cut(&report, "ctx=2984386"), 1, Some((21, "damaged line of a job"))),
        case("cut in the depths", cut(&report, "16=0.0%"), 1, Some((22, "damaged line of a job"))),
        case("cut in the issued line", cut(&report, "w=0/d=0, short"), 1, Some((25, "damaged line of a job"))),
        case("cut in the group", cut(&report, "minb=112297"), 1, Some((28, "damaged line of a group"))),
        case("cut in the disks", cut(&report, "in_queue=130762"), 1, Some((31, "damaged line of a disk"))),
        case("a rate without digits", swap("bw=112297KB/s", "bw=fast"), 1, Some((8, "damaged rate"))),
        case("an unknown unit", swap("io=6580.3MB", "io=6580.3QB"), 1, Some((8, "damaged rate"))),
        case("a latency without digits", swap("max=10252 ", "max=ages "), 1, Some((9, "damaged latencies"))),
        case("a percentile without its value", swap("[  612]", "[     ]"), 1, Some((14, "damaged percentiles"))),
        case("a share without its sign", swap("100=9.80%", "100 9.80%"), 1, Some((18, "damaged line of a job"))),
        case("a processor line of letters", swap("usr=1.83%", "usr=x%"), 1, Some((21, "damaged line of a job"))),
        case("letters in the disk line", swap("ios=1683677/19", "ios=many"), 1, Some((31, "damaged line of a disk"))),
        case(
            "the block size is gone",
            swap("bs=4K-4K/4K-4K/4K-4K, ", ""),
            1,
            Some((1, "the line of this job is damaged")),
        ),
        case("NUL bytes in a line", swap("iops=28074", "iops=\0\x0028074"), 1, None),
        case("an escape sequence without an end", swap("iops=28074", "\x1b[iops=28074"), 1, Some((8, "damaged rate"))),
        case(
            "a number beyond any machine",
            swap("iops=28074 ", "iops=9999999999999999999999999999999999999999 "),
            1,
            None,
        ),
        case("the same report twice in a row", format!("{report}{report}"), 1, None),
        case("two runs in a row", format!("{report}{}", another(&report)), 2, None),
        case(
            "the second one cut",
            format!("{report}{}", cut(&another(&report), "avg=281.03")),
            2,
            Some((41, "damaged latencies")),
        ),
        case("quoted as a mail", report.lines().map(|line| format!("> {line}\n")).collect::<String>(), 1, None),
        case("indented and CRLF", report.lines().map(|line| format!("\t    {line}\r\n")).collect::<String>(), 1, None),
        case(
            "every line stamped",
            report.lines().map(|line| format!("2026-01-02T03:04:05Z {line}\n")).collect::<String>(),
            1,
            None,
        ),
        case("in HTML", report.replace('>', "&gt;").replace('"', "&quot;"), 1, None),
        case("coloured", report.lines().map(|line| format!("\x1b[1;32m{line}\x1b[0m\n")).collect::<String>(), 1, None),
    ]
}

fn others() -> Vec<Case> {
    let modern = modern();
    vec![
        case("text and JSON of one run", modern.clone(), 2, None),
        case("JSON cut in its head", cut(&modern, "\"jobs\""), 0, Some((9, "too early"))),
        case(
            "JSON cut in its first job",
            cut(JSON, "\"b\"").replace("\"jobname\" : \"a\"", "\"jobname\" : "),
            0,
            Some((4, "damaged JSON")),
        ),
        case("JSON cut in its second job", cut(JSON, "\"io_bytes\" : 8192"), 1, Some((5, "too early"))),
        case("JSON without its last brace", cut(JSON, "\n}\n"), 2, Some((6, "too early"))),
        case(
            "a quotation mark without an escape",
            JSON.replace("\"a\"", "\"say \"hi\"\""),
            1,
            Some((4, "damaged JSON")),
        ),
        case("JSON of another program", "{\n \"hello\" : 1\n}\n", 0, None),
        case("JSON without jobs", "{\n \"fio version\" : \"fio-3.33\"\n}\n", 0, Some((1, "without its list"))),
        case(
            "JSON with jobs that are none",
            "{\n \"fio version\" : \"fio-3.33\", \"jobs\" : [1, 2]\n}\n",
            0,
            Some((1, "without a job")),
        ),
        case("a brace and text", "{\nand so on\n", 0, None),
    ]
}

fn other_tools() -> Vec<Case> {
    vec![
        case("iostat cut in a line", cut(IOSTAT, "  0.00   0.00   0.10"), 2, Some((3, "within a line"))),
        case("iostat cut behind its heading", cut(IOSTAT, "vda"), 0, Some((1, "without a device"))),
        case(
            "iostat with a value of letters",
            IOSTAT.replace("12.00", "dozen"),
            2,
            Some((3, "damaged line of iostat")),
        ),
        case(
            "iozone cut before its end",
            format!("Iozone: Performance Test of File I/O\n{}", cut(TABLE, "\niozone")),
            8,
            Some((5, "iozone's output ends")),
        ),
        case(
            "a row out of line with its heading",
            TABLE.replace("   969761  235", " 9697   61235"),
            0,
            Some((3, "damaged row of iozone")),
        ),
        case("letters in a row", TABLE.replacen("2358717", "23x8717", 1), 4, Some((3, "damaged row of iozone"))),
        case(
            "throughput without its value",
            "Children see throughput for  6 readers \t= \nMin xfer = 5.00 kB\n",
            1,
            Some((1, "without its value")),
        ),
        case(
            "throughput cut short",
            "Children see throughput for  6 readers \t= 6.00 kB/sec\n",
            1,
            Some((1, "is cut short")),
        ),
        case("a matrix without an end", cut(MATRIX, "),nrow"), 2, Some((1, "has no end"))),
        case("a matrix cut in a row", cut(MATRIX, ",0.604"), 1, Some((3, "damaged row"))),
        case(
            "CSV cut in a row",
            cut(CSV, ",0.1,3,0.4,5\nlab,write") + "\nlab,read,1,8K,1,1,1,1,1,1\n",
            1,
            Some((2, "damaged row")),
        ),
        case("CSV with letters", CSV.replacen("1.5", "fast", 1), 1, Some((2, "damaged row"))),
        case(
            "a log with a torn line",
            LOG.replace("2, 30, 0, 4096", "2, 30, 0,x"),
            2,
            Some((2, "damaged line of a log")),
        ),
        case(
            "a terse line cut short",
            "3;fio-3.33;a;0;0;3872;3872000\n",
            0,
            Some((1, "ends within its first direction")),
        ),
        case("nothing at all", "", 0, None),
        case("prose about fio", "fio is a tool. read : it well. Jobs: many.\n", 0, None),
    ]
}

fn all(readings: &[Reading]) -> usize {
    readings.iter().map(|reading| measurements(reading, None).len()).sum()
}

#[test]
fn fifty_damaged_inputs_give_what_is_whole_and_name_what_is_not() {
    let mut cases = reports();
    cases.extend(others());
    cases.extend(other_tools());
    assert!(cases.len() >= 50, "{}", cases.len());
    let mut wrong = Vec::new();
    for Case { name, text, rows, named } in cases {
        let (readings, damages) = parse(text.as_bytes());
        let found = all(&readings);
        if found != rows {
            wrong.push(format!("{name}: {found} rows, expected {rows}; {damages:?}"));
        }
        let is_named =
            |(line, what): (u64, &str)| damages.iter().any(|damage| damage.line == line && damage.what.contains(what));
        match named {
            Some(named) if !is_named(named) => wrong.push(format!("{name}: {named:?} is not among {damages:?}")),
            None if !damages.is_empty() => wrong.push(format!("{name}: {damages:?}")),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn corpus() -> Vec<Vec<u8>> {
    let terse = "3;fio-3.33;a;0;0;3872;3872000;484000;1;0;0;0.000000;0.000000;0;8;0.050744;0.430242;".to_owned()
        + &"1.000000%=0;".repeat(20)
        + "0;9;0.077424;0.458066;0;0;0.000000%;0.000000;0.000000;";
    let histogram = format!("1, 0, 4096, {}\n", vec!["1"; 1856].join(", "));
    [
        report(),
        modern(),
        IOSTAT.into(),
        TABLE.into(),
        MATRIX.into(),
        CSV.into(),
        LOG.into(),
        JSON.into(),
        terse,
        histogram,
    ]
    .into_iter()
    .chain(
        ["fio_scripts", "fio_mixed", "iozone_iostat", "fio_2.0.8_iostat"]
            .map(|name| page(&format!("seeds/{name}.txt"))),
    )
    .map(String::into_bytes)
    .collect()
}

/// A separate small generator, so that a finding is found again.
fn next(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    usize::try_from(*state >> 33).expect("the test's own data")
}

#[test]
fn mutated_outputs_never_panic() {
    let corpus = corpus();
    let mut state = 2026;
    let interesting: &[&[u8]] = &[
        b"\0",
        b"\n",
        b"\r",
        b"=",
        b",",
        b"{",
        b"}",
        b"\"",
        b"-1",
        b"99999999999999999999",
        b"\x1b[",
        b"&",
        b">",
        b"\xff",
        b"%",
        b"[",
        b"]",
        b"'",
        b"e308",
        b"NaN",
    ];
    for round in 0..1500 {
        let mut text = corpus[round % corpus.len()].clone();
        text.truncate(12_000);
        for _ in 0..=next(&mut state) % 6 {
            if text.is_empty() {
                break;
            }
            let at = next(&mut state) % text.len();
            let to = (at + next(&mut state) % 40).min(text.len());
            match next(&mut state) % 4 {
                0 => drop(text.drain(at..to)),
                1 => {
                    let with = interesting[next(&mut state) % interesting.len()];
                    drop(text.splice(at..to.min(at + 2), with.iter().copied()));
                }
                2 => text.truncate(at),
                _ => {
                    let part = text[at..to].to_vec();
                    drop(text.splice(at..at, part));
                }
            }
        }
        let (readings, _) = parse(&text);
        for reading in &readings {
            measurements(reading, None);
            if let Content::Run(run) = &reading.found {
                let _ = formats::result_as_reading::result((**run).clone());
            }
        }
    }
}

#[test]
fn text_in_pieces_is_the_text_in_one() {
    for text in corpus() {
        let whole = parse(&text);
        for size in [1, 3, 1000] {
            let (mut readings, mut damages) = (Vec::<Reading>::new(), Vec::<Damage>::new());
            let mut parser = Parser::new(|event| match event {
                Event::Reading(reading) => readings.push(reading),
                Event::Damage(damage) => damages.push(damage),
                Event::Repeated(_) => {}
            });
            text.chunks(size).for_each(|chunk| parser.feed(chunk));
            parser.finish();
            assert!((&readings, &damages) == (&whole.0, &whole.1), "pieces of {size}");
        }
    }
}

#[test]
fn utf_16_is_read_as_utf_8() {
    let text = report();
    let expected = parse(text.as_bytes());
    for (mark, encode) in [
        (vec![0xff, 0xfe], u16::to_le_bytes as fn(u16) -> [u8; 2]),
        (vec![0xfe, 0xff], u16::to_be_bytes),
        (vec![], u16::to_le_bytes),
    ] {
        let wide: Vec<u8> = mark.into_iter().chain(text.encode_utf16().flat_map(encode)).collect();
        assert!(parse(&wide) == expected);
    }
}

#[test]
fn a_log_is_summed_up_by_direction() {
    let (readings, _) = parse(LOG.as_bytes());
    let Content::Log(log) = &readings[0].found else { panic!("{readings:?}") };
    let sums: BTreeMap<_, _> =
        log.directions.iter().map(|found| (found.kind, (found.count, found.min, found.max, found.mean))).collect();
    let expected = BTreeMap::from([
        (model::reading::ReadKind::Read, (2.0, 10.0, 30.0, 20.0)),
        (model::reading::ReadKind::Write, (1.0, 5.0, 5.0, 5.0)),
    ]);
    assert_eq!((log.rows, log.span_ms, sums), (3, (1.0, 3.0), expected));
}
