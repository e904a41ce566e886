//! Numbers as large as words can say: sizes of 2^64-1 bytes, offsets of 2^63, rates of 10^12, and what comes of adding
//! and multiplying them. Every one ends in a result or in an error that names it; none in a panic, and none silently in
//! a small number. Tests are compiled with checks of overflow, so that an overlooked sum is a panic here.

use crate::context;
use fio::{Parser, RealFiles, Surroundings};
use house::{Tmpfs, Transcript, Words};
use plan::option::{Kind, OptionSpec, Support, TimeUnit};
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};

/// Whole numbers at the ends of their types, and beyond.
const NUMBERS: &[&str] = &[
    "4294967295",
    "1000000000000",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-1",
    "-9223372036854775808",
];

/// Options whose large values ask for as much of the machine, or wait that long in earnest.
const REAL: &[(&str, &str)] = &[
    ("nrfiles", "opens files"),
    ("numjobs", "starts processes"),
    ("iodepth", "allocates buffers"),
    ("startdelay", "waits"),
    ("thinkcycles", "computes"),
    ("thinktime_spin", "computes"),
    ("grace_time", "waits"),
    ("lockmem", "so much memory"),
    ("cgroup_weight", "needs a group"),
    ("uid", "another user"),
    ("gid", "another group"),
];

/// No run may take longer: the simulated device takes no time, and the null device 20 ms.
const LONGEST: Duration = Duration::from_secs(20);

fn plumb(words: impl Words, directory: &Path) -> Transcript {
    let begun = Instant::now();
    // What is too large must fail to get its memory, not take that of the machine.
    let run = context::plumb(directory, words).under("prlimit --as=4294967296").end();
    assert!(!run.stderr.contains("panicked") && run.status.is_some(), "{run}");
    assert!(begun.elapsed() < LONGEST, "it took {:?}: {run}", begun.elapsed());
    run
}

fn values(kind: Kind) -> Vec<String> {
    let plain = || NUMBERS.iter().map(|&number| number.to_owned());
    match kind {
        Kind::Integer { least, most } => plain().chain([least.to_string(), most.to_string()]).collect(),
        Kind::Size { percent } => {
            let share = if percent { vec!["100%".to_owned(), "4294967295%".to_owned()] } else { Vec::new() };
            plain().chain(["8191p", "8192p", "9999999z"].map(str::to_owned)).chain(share).collect()
        }
        Kind::ThreeWay => {
            plain().chain(["18446744073709551615,9223372036854775807,1000000000000".to_owned()]).collect()
        }
        Kind::Range => vec!["1-18446744073709551615".into(), "9223372036854775807-9223372036854775808".into()],
        Kind::Time(TimeUnit::Seconds) => plain().chain(["106751991167300d".to_owned()]).collect(),
        Kind::Time(_) => plain().collect(),
        Kind::Floats { .. } => vec!["1e308".into(), "99.99999999999999999".into(), "-1e308".into()],
        Kind::Text | Kind::Word(_) | Kind::Bool | Kind::Flag => Vec::new(),
    }
}

/// A separate job for each value of each option that the parser takes.
fn jobs(engine: &str) -> Vec<String> {
    let parser = Parser::new(engine::ENGINES);
    let around = Surroundings { environment: &|_| None, files: &RealFiles, page_size: 4096, memory_mib: 4096, cpus: 2 };
    let own = engine::ENGINES.iter().find(|spec| spec.name == engine).expect("an engine").options;
    let works = |spec: &&OptionSpec| spec.support == Support::Works && !REAL.iter().any(|(name, _)| *name == spec.name);
    let mut jobs = Vec::new();
    for spec in fio::options().chain(own).filter(works) {
        for value in values(spec.kind) {
            let job = format!("[j]\nioengine={engine}\nrw=randrw\nsize=1m\nruntime=20ms\n{}={value}\n", spec.name);
            if parser.job_file("extreme.fio", &job, &around).is_ok() {
                jobs.push(job);
            }
        }
    }
    jobs
}

/// Jobs run at the same time: each is the result of its process.
#[test]
fn every_option_takes_or_refuses_the_largest_numbers() {
    let place = Tmpfs::new(16 << 20).expect("a tmpfs (needs root)");
    for engine in ["sim", "null"] {
        let jobs = jobs(engine);
        assert!(jobs.len() > 150, "only {} values are taken", jobs.len());
        for (index, some) in jobs.chunks(48).enumerate() {
            let name = format!("{engine}-{index}.fio");
            std::fs::write(place.path().join(&name), some.concat()).expect("a file");
            let run = plumb(["fio", "--output-format=json", "--output=out.json", &name], place.path());
            let message = &run.stderr;
            let report = std::fs::read_to_string(place.path().join("out.json")).unwrap_or_default();
            let begun = report.find("{\n").and_then(|at| serde_json::from_str::<Value>(&report[at..]).ok());
            let ran = begun.as_ref().and_then(|json| json["jobs"].as_array()).map_or(0, Vec::len);
            assert!(ran == some.len(), "{ran} of {} jobs have a result: {message}\n{}", some.len(), some.concat());
        }
    }
}

/// Sums and products of what words may say, and what is said where they cannot be done; nothing where they can.
const TOGETHER: &[(&str, &str)] = &[
    ("--size=9223372036854775807 --offset=9223372036854775807", ""),
    ("--size=9223372036854775807 --offset=4k --io_size=9223372036854775807", ""),
    ("--size=9223372036854775807 --offset=4k --io_size=18446744073709551615", "is above the largest number"),
    ("--size=9223372036854775807 --offset_increment=4611686018427387904 --numjobs=5", "is at or beyond the end"),
    ("--size=1m --offset_increment=100% --numjobs=5", ""),
    ("--size=1m --rate=1000000000000 --bs=1", ""),
    ("--size=1m --rate_iops=4294967295 --rate_cycle=4294967295", ""),
    ("--size=1m --rate=9223372036854775807,1,1 --rate_min=9223372036854775807,1,1 --number_ios=9", ""),
    ("--size=8191p --bs=512 --rw=randread --io_size=64k", ""),
    ("--size=8191p --bs=512 --rw=randread --io_size=64k --norandommap --randrepeat=0", ""),
    ("--size=8191p --rw=randread --random_distribution=zipf:1.2 --io_size=64k", ""),
    ("--size=8191p --rw=randread --random_distribution=zoned_abs:50/4095p:50/4095p --io_size=64k", ""),
    ("--size=8191p --rw=randread --random_distribution=zoned_abs:30/8191p:30/8191p:40/8191p --io_size=64k", ""),
    (
        "--size=8191p --zonemode=strided --zonesize=4611686018427387904 --zonerange=4611686018427387904 \
         --zoneskip=9223372036854775807",
        "",
    ),
    ("--size=8191p --zonemode=strided --zonesize=4k --zonerange=4095p --zoneskip=8191p --io_size=64k", ""),
    ("--size=1m --runtime=18446744073 --number_ios=100", ""),
    ("--size=1m --startdelay=0 --runtime=18446744073709551us --number_ios=10", ""),
    ("--size=1m --startdelay=0 --runtime=18446744073709551615us --number_ios=10", "longer than 500 years"),
    ("--filesize=1-9223372036854775807 --nrfiles=2 --io_size=64k", ""),
    ("--size=8191p --filesize=1-8191p --nrfiles=1000 --number_ios=3", ""),
    ("--filesize=8191p --nrfiles=1000 --loops=4294967295 --number_ios=3", ""),
    ("--filesize=8191p --nrfiles=100 --rw=randrw --file_service_type=zipf:1.2 --io_size=100% --number_ios=3", ""),
    ("--size=8191p --offset=50% --io_size=100% --offset_align=4095p --number_ios=3", ""),
    ("--size=4294967295% --offset=4294967295% --offset_align=9223372036854775807", "more than all of the file"),
    ("--size=1m --loops=4294967295 --io_size=9223372036854775807 --number_ios=9", ""),
    ("--size=1m --thinktime=18446744073709551 --thinktime_blocks=1 --number_ios=3 --runtime=1", ""),
    ("--filesize=4k-9223372036854775807 --nrfiles=3 --io_size=64k", ""),
    ("--size=1m --bsrange=1-4294967295 --io_size=64k", "no memory for its buffers"),
    ("--size=9223372036854775807 --rw=write:9223372036854775807 --io_size=64k", ""),
    ("--size=9223372036854775807 --rw=write --verify=crc32c --verify_backlog=9223372036854775807 --io_size=64k", ""),
    ("--size=1m --sim_rate=1 --bs=1m --number_ios=3", ""),
    ("--size=1m --sim_service_time=9223372036854775807 --number_ios=3", "longer than 500 years"),
    // A century of nothing between two I/Os is stepped over.
    ("--size=1m --sim_service_time=3000000000000000 --number_ios=3", ""),
    ("--size=1m --thinktime=3000000000000000 --thinktime_blocks=1 --number_ios=3 --runtime=18446744073", ""),
    (
        "--size=1m --sim_service_time=3000000000000000 --number_ios=3 --write_bw_log=j --write_hist_log=j --log_avg_msec=500 \
         --log_hist_msec=700 --bwavgtime=300 --iopsavgtime=900",
        "",
    ),
    ("--size=1m --latency_target=18446744073709551 --latency_window=18446744073709551 --runtime=1", ""),
];

#[test]
fn sums_and_products_of_large_numbers_do_not_wrap() {
    let place = Tmpfs::new(16 << 20).expect("a tmpfs (needs root)");
    for &(words, refusal) in TOGETHER {
        for engine in ["sim", "null", "psync"].into_iter().filter(|&name| name == "sim" || !words.contains("sim_")) {
            let line = format!("fio --name=j --ioengine={engine} --runtime=20ms {words} --output-format=json");
            let mut words: Vec<&str> = line.split_whitespace().collect();
            if line.matches("--runtime").count() > 1 && engine != "sim" {
                // In earnest it would run that long.
                words.push("--runtime=20ms");
            }
            let run = plumb(&words, place.path());
            let (message, succeeded) = (&run.stderr, run.status == Some(0));
            // Real files of these sizes have no room here, which is only found out behind all arithmetic.
            let no_room = engine == "psync" && message.contains("fallocate j.");
            let as_stated = match refusal {
                "" => succeeded || no_room,
                word => !succeeded && message.contains(word),
            };
            assert!(as_stated, "`{refusal}` was to be said: {run}");
        }
    }
}

/// iozone's words and the survey's; `{}` is a file system of 1 MiB.
const OTHERS: &[&str] = &[
    "iozone -i 0 -s 9223372036854775807 -r 16m -f {}/z",
    "iozone -i 0 -s 9223372036854775807g -r 4 -f {}/z",
    "iozone -i 0 -s 18446744073709551615 -r 4 -f {}/z",
    "iozone -i 0 -t 2 -s 9223372036854775807g -F {}/a {}/b",
    "iozone -a -n 9223372036854775807g -g 9223372036854775807g -f {}/z",
    "iozone -i 0 -n 64 -g 256 -+x 9223372036854775807 -a -f {}/z",
    "iozone -i 0 -i 5 -j 9223372036854775807 -s 64 -f {}/z",
    "iozone -i 0 -s 64 -P 9223372036854775807 -f {}/z",
    "iozone -i 0 -s 64 -S 9223372036854775807 -L 9223372036854775807 -f {}/z",
    "iozone -i 0 -s 64 -+O 9223372036854775807 -f {}/z",
    "iozone -t 9223372036854775807 -i 0",
    "survey --dry-run --size 16E {}",
    "survey --dry-run --size 18446744073709551615 {}",
    "survey --dry-run --reserve 18446744073709551615 {}",
    "survey --dry-run --time 9223372036854775807 {}",
    "survey --dry-run --time 18446744073 --repeat 4294967295 --tests all {}",
    "survey --dry-run --users 4294967295 {}",
    "survey --dry-run --users 1..4294967295+1 {}",
    "survey --dry-run --block-sizes 9223372036854775807 {}",
    "survey --dry-run --block-sizes 1..4294967295+1 {}",
    "survey --dry-run --vary size=1G..16E {}",
    "survey --dry-run --vary iodepth=1..18446744073709551615 {}",
    "survey --dry-run --warm-up 18446744073709551615 {}",
    "survey --size 18446744073709551615 --output r.json {}",
    "fio.sh -f -w {} -o {} -m 18446744073709551615 -s 9223372036854775807 -t readrand",
    "iostat 18446744073709551615 1",
];

#[test]
fn iozone_the_survey_and_iostat_take_them_or_say_what_is_wrong() {
    let place = Tmpfs::new(1 << 20).expect("a tmpfs (needs root)");
    let shown = place.path().display().to_string();
    for line in OTHERS {
        let line = line.replace("{}", &shown);
        let run = plumb(line, place.path());
        assert!(run.status == Some(0) || !run.both().is_empty(), "without a word: {run}");
    }
}

/// A number that follows from the ones before (splitmix64).
fn drawn(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 27)
}

/// Makes one in `part` of the whole numbers of a document as large as a number can be.
fn swell(value: &mut Value, part: u64, state: &mut u64) {
    const LARGE: [u64; 4] = [u64::MAX, u64::MAX - 1, i64::MAX.unsigned_abs(), u32::MAX as u64];
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| swell(item, part, state)),
        Value::Object(fields) => {
            // A document of another schema is not read at all.
            let fields = fields.iter_mut().filter(|(key, _)| !key.contains("schema"));
            fields.for_each(|(_, field)| swell(field, part, state));
        }
        Value::Number(number) if number.is_u64() && drawn(state).is_multiple_of(part) => {
            *value = LARGE[usize::try_from(drawn(state) % 4).expect("below 4")].into();
        }
        _ => {}
    }
}

#[test]
fn results_of_others_may_hold_the_largest_numbers() {
    let place = Tmpfs::new(32 << 20).expect("a tmpfs (needs root)");
    let words = "fio --output-format=json+ --output=fio.json --result=own.json --runtime=600ms --time_based --size=1m \
                 --name=a --rw=randrw --name=b --rw=read --ioengine=libaio --iodepth=4";
    plumb(words, place.path());
    let mut state = 1;
    for (name, round) in ["fio.json", "own.json"].iter().flat_map(|&name| (0..8).map(move |round| (name, round))) {
        let text = std::fs::read_to_string(place.path().join(name)).expect("a result");
        let mut document: Value = serde_json::from_str(&text).expect("JSON");
        swell(&mut document, [2, 5, 20, 80][round % 4], &mut state);
        std::fs::write(place.path().join("large.json"), document.to_string()).expect("a file");
        for words in ["check", "explain", "model", "parse --format csv", "report -o page.html"] {
            plumb(format!("{words} large.json"), place.path());
        }
    }
}
