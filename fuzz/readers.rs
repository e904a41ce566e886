//! Every reader of foreign bytes by its name, each as one function that must come back whatever it is given.
//!
//! Shared by the fuzz targets (`fuzz/targets`) and by the test of the gate that gives each reader the inputs kept in
//! `fuzz/corpus`. What comes out is used as the program uses it: shown in every view, written and read again. Nothing
//! here touches a disk or starts I/O.

use fio::{Files, Parser, Surroundings};
use formats::fio::log as fio_log;
use formats::iolog;
use formats::stream::{Event, Parser as Stream, parse};
use formats::sweep::{self, ColumnNames, Detail, Layout, LogKind, ParquetWriter};
use formats::trace;
use formats::{FORMATS, View, result_as_reading, results};
use model::Measurement;
use model::reading::{Content, Reading};
use std::io;
use std::path::Path;

/// A reader.
pub struct Reader {
    /// What the target and the directory of its inputs are called.
    pub name: &'static str,
    /// Reads bytes; anything but a panic, a hang or a greed for memory is right.
    pub read: fn(&[u8]),
}

/// All of them.
pub const READERS: &[Reader] = &[
    Reader { name: "any", read: any },
    Reader { name: "fio-text", read: |bytes| of_format("fio-text", bytes) },
    Reader { name: "fio-json", read: |bytes| of_format("fio-json", bytes) },
    Reader { name: "fio-terse", read: |bytes| of_format("fio-terse", bytes) },
    Reader { name: "native", read: |bytes| of_format("native", bytes) },
    Reader { name: "fio-log", read: any },
    Reader { name: "fio-log-packed", read: packed_log },
    Reader { name: "iozone", read: any },
    Reader { name: "iostat-text", read: any },
    Reader { name: "iostat-json", read: any },
    Reader { name: "r-matrix", read: any },
    Reader { name: "csv", read: any },
    Reader { name: "iolog", read: iolog },
    Reader { name: "blktrace", read: iolog },
    Reader { name: "job-file", read: job_file },
    Reader { name: "fio-words", read: fio_words },
    Reader { name: "iozone-words", read: iozone_words },
    Reader { name: "fio-sh-letters", read: fio_sh_letters },
    Reader { name: "survey-file", read: survey_file },
    Reader { name: "kernel-counters", read: kernel_counters },
    Reader { name: "cluster-lines", read: cluster_lines },
    Reader { name: "acknowledgements", read: acknowledgements },
    Reader { name: "why-recording", read: why_recording },
    Reader { name: "trace-alibaba", read: trace_of_any },
    Reader { name: "trace-tencent", read: trace_of_any },
    Reader { name: "trace-msr", read: trace_of_any },
    Reader { name: "trace-systor", read: trace_of_any },
    Reader { name: "trace-spc", read: trace_of_any },
    Reader { name: "trace-cloudphysics", read: trace_of_any },
    Reader { name: "trace-biosnoop", read: trace_of_any },
    Reader { name: "trace-blkparse", read: trace_of_any },
    Reader { name: "trace-tracefs", read: trace_of_any },
    Reader { name: "trace-strace", read: trace_of_any },
    Reader { name: "trace-columns", read: trace_columns },
    Reader { name: "trace-recording", read: trace_of_any },
];

/// Gives bytes to the reader of this name.
///
/// # Panics
/// When there is none, and where the reader does.
pub fn read(name: &str, bytes: &[u8]) {
    let reader = READERS.iter().find(|reader| reader.name == name);
    (reader.unwrap_or_else(|| panic!("no reader is called {name}")).read)(bytes);
}

/// Inputs up to this size are given in pieces, too.
const SMALL: usize = 4096;

/// The reader of all outputs, which finds out itself what they are.
fn any(bytes: &[u8]) {
    let (readings, damages) = parse(bytes);
    if bytes.len() <= SMALL {
        let (mut again, mut other_damages) = (Vec::new(), Vec::new());
        let mut stream = Stream::new(|event| match event {
            Event::Reading(reading) => again.push(reading),
            Event::Damage(damage) => other_damages.push(damage),
            Event::Repeated(_) => {}
        });
        bytes.chunks(7).for_each(|piece| stream.feed(piece));
        stream.finish();
        assert_eq!(readings, again, "in pieces of 7 it is something else");
        assert_eq!(damages, other_damages, "in pieces of 7 it is damaged elsewhere");
    }
    show(&readings);
    for located in results::results(bytes).found {
        write_all(&located.result);
    }
}

/// Every view of `plumb parse`.
fn show(readings: &[Reading]) {
    if readings.is_empty() {
        return;
    }
    let layout = Layout::new(Detail {
        buckets: true,
        percentiles: true,
        systems: true,
        hosts: true,
        rounds: true,
        origins: true,
        width: None,
    });
    let mut file = ParquetWriter::new(Vec::new()).expect("a Parquet file in memory");
    let (mut matrix, mut table, mut rows, mut plain) =
        (String::from(sweep::r_head()), sweep::csv_head(ColumnNames::Units), 0, true);
    for reading in readings {
        serde_json::to_string(reading).expect("a reading as JSON");
        for log in [None, Some(LogKind::Bandwidth), Some(LogKind::Iops), Some(LogKind::Total), Some(LogKind::Part)] {
            for row in sweep::measurements(reading, log) {
                layout.table_row(&row, "a.json");
                layout.markdown_row(&row, "a.json");
                matrix += &sweep::r_row(&row, "a.json", rows);
                table += &sweep::csv_row(&row, "a \"b\", c", reading.line);
                rows += 1;
                plain &= is_plain(&row);
                file.row(&row, "a", reading.line).expect("a row of a Parquet file");
            }
        }
    }
    file.finish().expect("the end of a Parquet file");
    if rows > 0 && plain {
        let count = |text: &str| parse(text.as_bytes()).0.len();
        assert_eq!(count(&(matrix + &sweep::r_tail(Some("a"), ColumnNames::Units))), rows, "rows of our own R code");
        assert_eq!(count(&table), rows, "rows of our own CSV");
    }
}

/// Whether its words cannot be taken for a line of something else, such as a job called `3;a` or `b: (groupid=0`.
fn is_plain(row: &Measurement) -> bool {
    let words = [Some(row.test.as_str()), row.system.as_deref(), row.engine.as_deref(), row.host.as_deref()];
    let letter = |letter: char| letter.is_ascii_alphanumeric() || " ,\"\\'-_".contains(letter);
    words.into_iter().flatten().all(|word| word.chars().all(letter))
}

/// A reader of one format: what it takes is written in every format.
fn of_format(name: &str, bytes: &[u8]) {
    any(bytes);
    let format = FORMATS.iter().find(|format| format.name == name).expect("a format of this name");
    let text = String::from_utf8_lossy(bytes);
    if let Some(Ok(result)) = format.read.map(|read| read(&text)) {
        write_all(&result);
        result_as_reading::reading(&result, "again", 1);
    }
    for reading in parse(bytes).0 {
        if let Content::Run(run) = reading.found {
            write_all(&result_as_reading::result(*run));
        }
    }
}

fn write_all(result: &model::RunResult) {
    let view = View::in_zone(jiff::tz::TimeZone::UTC);
    for write in FORMATS.iter().filter_map(|format| format.write) {
        // What cannot be written is refused; that is right, too.
        let _ = write(result, &view);
    }
}

fn packed_log(bytes: &[u8]) {
    // A few KiB can hold gigabytes of zeros.
    struct Limited(usize);
    impl io::Write for Limited {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(text.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(text.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let _ = fio_log::inflate(bytes, Limited(1 << 20));
}

/// Records of I/Os, fio's and blktrace's: read alone, and two of them merged.
fn iolog(bytes: &[u8]) {
    if let Ok(mut reader) = iolog::Reader::new("a", bytes) {
        while let Ok(Some(_)) = reader.next() {}
        reader.places();
    }
    let _ = iolog::merge(&[trace(bytes, 100.0, 1), trace(bytes, 50.0, 2)], &mut io::sink());
}

fn trace(bytes: &[u8], scalar: f64, rounds: u64) -> iolog::Trace<'_> {
    let open = Box::new(move || Ok(Box::new(io::Cursor::new(bytes.to_vec())) as Box<dyn io::BufRead>));
    iolog::Trace { name: "a".to_owned(), open, scalar, rounds }
}

/// Traces, whose format is found: all that is read must be in order.
fn trace_of_any(bytes: &[u8]) {
    trace_with(bytes, &trace::Options::default());
}

/// The first line has the columns, the rest the trace.
fn trace_columns(bytes: &[u8]) {
    let line_ends = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (first, rest) = bytes.split_at(line_ends);
    if let Ok(columns) = trace::Columns::parse(&String::from_utf8_lossy(first)) {
        trace_with(rest, &trace::Options { columns: Some(columns), level: None });
    }
}

fn trace_with(bytes: &[u8], options: &trace::Options) {
    let Ok(mut reader) = trace::Reader::of_bytes("a", bytes, options) else { return };
    let mut last = measure::Nanos::ZERO;
    while let Ok(Some(io)) = reader.next() {
        assert!(io.begin >= last, "an I/O begins before the one in front of it");
        last = io.begin;
    }
    let _ = (reader.clock(), reader.late(), reader.lost(), reader.others());
}

/// No file but the ones that a job file includes from itself.
struct Nowhere;

impl Files for Nowhere {
    fn read(&self, _: &Path) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::NotFound.into())
    }
    fn is_special(&self, path: &Path) -> bool {
        path.starts_with("/dev")
    }
}

fn surroundings() -> Surroundings<'static> {
    Surroundings {
        environment: &|name| (name == "SIZE").then(|| "1m".to_owned()),
        files: &Nowhere,
        page_size: 4096,
        memory_mib: 4096,
        cpus: 2,
    }
}

fn job_file(bytes: &[u8]) {
    match Parser::new(engine::ENGINES).job_file("a.fio", &String::from_utf8_lossy(bytes), &surroundings()) {
        Ok((plan, warnings)) => drop((format!("{plan:?}"), format!("{warnings:?}"))),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Words, one per line.
fn words(bytes: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect()
}

fn fio_words(bytes: &[u8]) {
    if let Err(error) = Parser::new(engine::ENGINES).command_line(&words(bytes), &surroundings()) {
        assert!(!error.to_string().is_empty());
    }
}

fn iozone_words(bytes: &[u8]) {
    if let Ok(settings) = iozone::read("iozone", &words(bytes)) {
        iozone::rows(&settings);
    }
}

fn fio_sh_letters(bytes: &[u8]) {
    if let Ok(options) = survey::FioShOptions::parse(&words(bytes)) {
        let _ = survey::suite(&options.request, survey::Writes::Allowed);
    }
}

/// A survey file, and each of its lines as an axis of a sweep.
fn survey_file(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(request) = survey::SurveyRequest::from_toml(&text) {
        let _ = request.check_untrusted(engine::ENGINES);
        let _ = survey::suite(&request, survey::Writes::Allowed);
        let _ = survey::suite(&request, survey::Writes::Forbidden);
    }
    for line in text.lines().take(8) {
        let _ = survey::Axis::parse(line);
    }
}

/// What the kernel prints in /proc and /sys.
fn kernel_counters(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    monitor::diskstats(&text);
    monitor::CpuCounters::parse(&text);
    monitor::counters::parse(&text);
    monitor::uptime_centiseconds(&text);
    monitor::io_bytes(&text);
}

/// The file of a witness of `plumb durable`, and what is there of it: nothing.
fn acknowledgements(bytes: &[u8]) {
    use analysis::durability::{Acknowledgements, Cut, Place, Survivors, Way, answer, kept};
    struct Nothing;
    impl Survivors for Nothing {
        fn record(&mut self, _: Way, _: &Place) -> io::Result<Vec<u8>> {
            Ok(Vec::new())
        }
        fn numbers(&self, _: Way) -> Vec<u64> {
            Vec::new()
        }
    }
    let Ok(Some(acks)) = Acknowledgements::read(bytes) else { return };
    let found: Vec<_> = acks.started.ways.iter().filter_map(|way| kept(&acks, *way, &mut Nothing).ok()).collect();
    let _ = answer(&acks, Cut::Rebooted, &found);
}

/// Messages between leader and members, first lines of connections, addresses, lists of hosts, and the kept result of a
/// member.
fn cluster_lines(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for line in text.lines() {
        if let Ok(Some(answer)) = cluster::answer(line) {
            let written = cluster::line(&answer).expect("it was read");
            let again = cluster::answer(&written).expect("what is written can be read");
            // NaN cannot be read, so all numbers are equal to themselves.
            assert_eq!(again, Some(answer));
        }
        let _ = (cluster::instruction(line), cluster::hosts(line), cluster::opening(line.as_bytes()));
        let _ = (cluster::refusal(line.as_bytes()), cluster::client_address(line), cluster::server_address(Some(line)));
        let _ = (
            cluster::joining(line.as_bytes()),
            cluster::writing(line.as_bytes()),
            cluster::admission(line.as_bytes()),
            cluster::leader_address(line, None),
        );
    }
    let _ = cluster::opening(bytes);
    let _ = cluster::hosts_file(&text);
    if let Ok(member) = cluster::kept(&text, 0, 2) {
        let members = [member.clone(), member];
        let _ = (cluster::summary(&members, "files", measure::Nanos::MILLISECOND), cluster::merged(&members));
    }
}

/// A recording of `plumb why`: what it shows of it, and the same recording written and read again.
fn why_recording(bytes: &[u8]) {
    use measure::Nanos;
    use session::layers::{self, Names, Recorded};
    use std::io::{Seek, Write};
    let read = |bytes: &[u8]| -> Option<Recorded> {
        let memory = rustix::fs::memfd_create("recording", rustix::fs::MemfdFlags::CLOEXEC).expect("a file in memory");
        let mut file = std::fs::File::from(memory);
        file.write_all(bytes).expect("room in memory");
        file.rewind().expect("the begin of a file");
        layers::read_file(file).map_err(|error| assert!(!error.message().is_empty())).ok()
    };
    let Some(recorded) = read(bytes) else { return };
    let seen = &recorded.seen;
    let summary = observe::Summary::of(&seen.ios, seen.cost.time);
    for group in summary.groups.iter().map(layers::group) {
        drop((layers::does(&group, seen.cost.time), layers::times_of(&group), layers::slowest(&group)));
    }
    layers::costs(&layers::cost(&seen.cost), seen.cost.time, seen.ios.len() as u64);
    drop((layers::remarks(seen, recorded.is_full), observe::in_flight(&seen.ios, Nanos::ZERO, seen.cost.time, 240)));
    drop((observe::reuse(&seen.ios, &seen.files), observe::depths_of_threads(&seen.ios)));
    let written = layers::written(&recorded, &Names::hidden_if(false)).expect("a file in memory");
    let again = read(&written).expect("what is written can be read");
    assert_eq!(layers::written(&again, &Names::hidden_if(false)).ok(), Some(written), "it is another one");
}
