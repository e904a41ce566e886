//! Readers of traces: samples of each format with what is in them, damage with its line, packed input, and speed.

use flate2::{Compression, write::GzEncoder};
use formats::trace::{Options, Reader};
use model::{Level, TraceIo};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/traces").join(name)
}

fn all(mut reader: Reader<'_>) -> (Vec<TraceIo>, Reader<'_>) {
    let mut found = Vec::new();
    while let Some(io) = reader.next().unwrap() {
        found.push(io);
    }
    (found, reader)
}

/// A line per I/O: begin in ns, operation, offset + bytes, target, latency in ns, thread.
fn shown(ios: &[TraceIo]) -> String {
    ios.iter().fold(String::new(), |mut text, io| {
        let or_none = |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
        let (begin, operation, bytes, target) = (io.begin.get(), io.operation, io.bytes, io.target);
        let (offset, latency) = (or_none(io.offset), or_none(io.latency.map(measure::Nanos::get)));
        let thread = or_none(io.thread.map(u64::from));
        writeln!(text, "{begin} {operation:?} {offset}+{bytes} {target} {latency} {thread}").unwrap();
        text
    })
}

/// The I/Os of each sample, and a line of it that is damaged with what is said then.
const SAMPLES: &[(&str, &str, &str)] = &[
    (
        "alibaba.csv",
        "Alibaba",
        "0 Read 126703644672+4096 0 - -\n200000 Write 126703648768+16384 0 - -\n500000 Write 8192+4096 1 - -\n",
    ),
    (
        "tencent.csv",
        "Tencent CBS",
        "0 Read 6610407424+65536 0 - -\n333333333 Write 3245408256+4096 1 - -\n\
         666666666 Read 974902272+196608 2 - -\n1000000000 Write 175556608+131072 0 - -\n",
    ),
    (
        "msr.csv",
        "MSR Cambridge",
        "0 Read 383496192+32768 0 11373600 -\n1332052600 Write 2822144000+4096 1 232600 -\n\
         2332061600 Read 383528960+65536 0 14912300 -\n",
    ),
    (
        "systor.csv",
        "SYSTOR'17",
        "0 Read 3321152512+16384 0 389000 -\n468000 Write 10487808+4096 1 - -\n\
         100647000 Read 3321168896+16384 0 1500000 -\n",
    ),
    (
        "spc.csv",
        "SPC",
        "0 Write 10721927168+8192 0 - -\n2335000 Write 10721198080+8192 0 - -\n460026000 Read 1759379456+15872 1 - -\n",
    ),
    (
        "cloudphysics.csv",
        "CloudPhysics",
        "0 Read 21981565440+512 0 - -\n500000000 Read 21981565952+69632 0 - -\n\
         1000000000 Write 3154148864+4096 0 - -\n",
    ),
    (
        "biosnoop.txt",
        "biosnoop",
        "0 Write 6703390720+4096 0 740000 1950\n814000 Read 6703325184+8192 0 100000 1950\n\
         2004426000 Write 32205574144+8192 1 230000 456\n",
    ),
    (
        "blkparse.txt",
        "blkparse",
        "0 Write 114426880+4096 0 900000 697\n5000 Write 114430976+4096 0 895000 697\n\
         400000 Read 512000+65536 0 1100000 812\n2000000 Read 2560000+4096 0 100000 813\n",
    ),
    (
        "tracefs.txt",
        "tracefs",
        "0 Write 0+65536 0 356000 18665\n376000 Write 65536+65536 0 116000 18665\n\
         508000 Write 131072+65536 0 95000 18665\n611000 Sync -+0 0 - 18665\n\
         2597000 Read 409600+4096 0 37000 18666\n4192000 Read 413696+4096 0 51000 18666\n\
         4264000 Read 417792+4096 0 9000 18666\n",
    ),
    (
        "strace.txt",
        "strace",
        "0 Write 0+8192 0 23000 4711\n74000 Read 4096+4096 0 8000 4711\n106000 Write 16384+4096 0 13000 4711\n\
         283430000 Read 16384+4096 0 19000 4712\n283492000 DataSync -+0 0 2287000 4712\n\
         286063000 Sync -+0 0 170000 4711\n",
    ),
    ("iolog.log", "iolog", "0 Read 4096+4096 0 - -\n15000 Write 8192+16384 0 - -\n20000 DataSync -+0 0 - -\n"),
];

#[test]
fn each_format_is_known_and_read_from_a_file() {
    for (name, format, expected) in SAMPLES {
        let reader = Reader::open(&sample(name), &Options::default()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(reader.format(), *format);
        let (found, reader) = all(reader);
        assert_eq!(shown(&found), *expected, "{name}");
        assert!(reader.late() == 0 && reader.lost() == 0.0, "{name}");
    }
    let files = std::fs::read_dir(sample("")).unwrap().count();
    assert_eq!(files, SAMPLES.len(), "each sample has its row");
}

#[test]
fn packed_traces_are_read_and_other_packers_named() {
    let text = std::fs::read(sample("alibaba.csv")).unwrap();
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&text).unwrap();
    let packed = packed.finish().unwrap();
    let read = |bytes| shown(&all(Reader::of_bytes("t", bytes, &Options::default()).unwrap()).0);
    assert_eq!(read(&packed), read(&text));
    let cut = Reader::of_bytes("t", &packed[..packed.len() - 9], &Options::default()).and_then(|mut cut| cut.next());
    assert!(cut.is_err_and(|error| error.to_string().starts_with("t: ")), "a packed trace that is cut off");
    let refused = |bytes| Reader::of_bytes("t", bytes, &Options::default()).map(|_| ()).unwrap_err().to_string();
    assert!(refused(b"\x28\xb5\x2f\xfd....").starts_with("t: is packed (zstd)"));
    assert!(refused(b"").starts_with("t: is empty"));
    assert!(refused(b"hello\n").contains("t:1: `hello` is of no known trace"));
}

#[test]
fn damage_is_named_by_file_and_line() {
    for (name, line, damage, expected) in [
        ("alibaba.csv", 3, "0,W,x,4096,1577808000000626", "`x` is not an offset"),
        ("tencent.csv", 4, "1538323201,342884,256,2,1063", "`2` is not 0 for a read or 1 for a write"),
        ("msr.csv", 2, "128166372016382155,hm,1,Write,2822144000,4096", "the line has 6 columns, not 7"),
        ("systor.csv", 3, "1456210800.0048x,,W,2,10487808,4096", "`1456210800.0048x` is not a time"),
        ("spc.csv", 2, "0,20939840,99999999999,W,0.5", "the size 99999999999 is above 2 GiB"),
        ("cloudphysics.csv", 4, "1,5633899,2b,4096,6160447", "`2b` is not a command like 28 or 2a"),
        ("biosnoop.txt", 3, "0.000178 p 1950 xvda1 R 13092432 8192 x", "`x` is not a latency"),
        ("blkparse.txt", 5, "  8,0 0 4 now 812 Q RS 1000 + 128", "`now` is not a time of blkparse"),
        (
            "tracefs.txt",
            14,
            "dd-1 [001] ..... 3854.7: block_rq_issue: 7,1 WS 9 () 0 + x",
            "`x` is not a number of sectors",
        ),
        ("strace.txt", 2, "4711 17:00:01 read(3, \"\", 1) = 1", "`17:00:01` is not a time like"),
        ("iolog.log", 4, "10 /dev/sda read 4096 x", "`x` is not a number of bytes"),
    ] {
        let text = std::fs::read_to_string(sample(name)).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        lines[line - 1] = damage;
        let text = lines.join("\n");
        let mut reader = Reader::of_bytes("t", text.as_bytes(), &Options::default()).unwrap();
        let error = reader.next().unwrap_err().to_string();
        assert!(error.starts_with(&format!("t:{line}: ")) && error.contains(expected), "{name}: {error}");
    }
}

/// Made with `plumb why --anonymise --record FILE -- dd if=/dev/zero of=FILE bs=16k count=20 oflag=direct`.
const RECORDING: &str = "../../../../../fuzz/corpus/trace-recording/sample";

#[test]
fn a_recording_of_plumb_has_the_calls_of_dd() {
    let path = sample(RECORDING);
    let (found, reader) = all(Reader::open(&path, &Options::default()).unwrap());
    assert_eq!((reader.format(), reader.level()), ("recording of plumb", Some(Level::Call)));
    let writes: Vec<u64> =
        found.iter().filter(|io| io.operation == plan::Operation::Write).map(|io| io.bytes).collect();
    assert_eq!(writes, [16_384; 20]);
    assert!(found.iter().all(|io| io.latency.is_some() && io.thread.is_some()));
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(all(Reader::of_bytes("t", &bytes, &Options::default()).unwrap()).0, found, "from memory");
    for at in (4..bytes.len()).step_by(211) {
        let error = Reader::of_bytes("t", &bytes[..at], &Options::default()).map(|_| ()).unwrap_err().to_string();
        assert!(error.starts_with("t: "), "{error}");
    }
}

#[test]
fn a_level_that_a_trace_has_not_is_refused() {
    for (name, level, other) in
        [("strace.txt", Level::Call, Level::Device), ("blkparse.txt", Level::Device, Level::Call)]
    {
        let open = |level| Reader::open(&sample(name), &Options { level: Some(level), columns: None });
        assert!(open(level).is_ok());
        let error = open(other).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(&format!("it has no I/Os of the level {}", other.name())), "{error}");
    }
}

#[test]
fn a_short_input_of_any_bytes_is_read_or_refused() {
    let mut texts: Vec<Vec<u8>> = SAMPLES.iter().map(|(name, ..)| std::fs::read(sample(name)).unwrap()).collect();
    let mut state = 7_u64;
    for round in 0..4000 {
        let count = texts.len();
        let text = &mut texts[round % count];
        let mut changed = text.clone();
        for _ in 0..1 + round % 3 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = usize::try_from(state >> 33).unwrap() % changed.len();
            changed[at] = state.to_be_bytes()[7 - round % 4];
        }
        let Ok(mut reader) = Reader::of_bytes("t", &changed, &Options::default()) else { continue };
        while let Ok(Some(_)) = reader.next() {}
    }
}

/// Prints MB/s and the largest memory of each reader. `PLUMB_TRACE_LINES=10000000 cargo test --release -p formats
/// long_traces -- --nocapture` is a measurement.
#[test]
fn long_traces_are_read_whole() {
    let lines: usize = std::env::var("PLUMB_TRACE_LINES").map_or(20_000, |lines| lines.parse().unwrap());
    for (name, format, _) in SAMPLES {
        let text = std::fs::read_to_string(sample(name)).unwrap();
        let is_heading = |line: &&str| {
            line.starts_with(['T', 'v', 'f', '#'])
                || line.ends_with("add")
                || line.ends_with("open")
                || line.contains("openat")
        };
        let before_sums = text.lines().take_while(|line| !line.starts_with("CPU"));
        let (mut head, rest): (Vec<&str>, Vec<&str>) = before_sums.partition(is_heading);
        head.push("");
        let rest: Vec<&str> =
            rest.into_iter().filter(|line| !line.ends_with("close") && !line.contains("close(")).collect();
        let (head, block) = (head.join("\n").replace("\n\n", "\n"), rest.join("\n") + "\n");
        let rounds = lines / rest.len();
        let path = tempfile::NamedTempFile::new().unwrap();
        let mut file = std::io::BufWriter::new(path.as_file());
        file.write_all(head.as_bytes()).unwrap();
        (0..rounds).for_each(|_| file.write_all(block.as_bytes()).unwrap());
        file.flush().unwrap();
        let bytes = head.len() + rounds * block.len();
        let begun = Instant::now();
        let mut reader = Reader::open(path.path(), &Options::default()).unwrap();
        let mut count = 0_u64;
        while reader.next().unwrap().is_some() {
            count += 1;
        }
        let seconds = begun.elapsed().as_secs_f64();
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let memory = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default().to_owned();
        #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
        let rate = bytes as f64 / 1e6 / seconds;
        println!("{format:15} {count:9} I/Os {rate:6.0} MB/s {memory}");
        assert!(count >= rounds as u64, "{format}: {count} I/Os of {rounds} rounds");
    }
}
