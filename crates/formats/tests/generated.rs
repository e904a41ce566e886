//! Plausible reports made of real runs of fio: text, terse lines or JSON of a run, in the wrapping of another program,
//! behind the stamps of a log, and some of them cut. What is read is held against the JSON of the same run.
//!
//! `PLUMB_GENERATED` is the number of reports (200). Each is made of its number alone: a finding is found again.
//! `PLUMB_GENERATED_KEEP` is a directory that gets the reports, to look at them.

use super::fio_output::workloads::WORKLOADS;
use fio::TerseVersion;
use formats::fio::json as fio_json;
use formats::stream::parse;
use formats::sweep::measurements;
use model::Measurement;
use model::reading::{Content, Damage, Reading};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The workloads of the runs: one for each thing that formats state differently.
const CHOSEN: [&str; 14] = [
    "null-randrw",
    "psync-write-fsync",
    "group-reporting",
    "two-groups",
    "numjobs",
    "no-such-file",
    "disk-full",
    "kb-base-1000",
    "bits",
    "trimwrite",
    "forgiven-errors",
    "description",
    "threads",
    "stonewalls",
];
/// A run whose second job fails.
const SECOND_FAILS: &str = "--size=1m --name=a --ioengine=null --rw=randread --name=b --ioengine=psync --rw=read \
                            --filename=missing/f1 --readonly --allow_file_create=0";

/// Output of one run.
struct Base {
    text: String,
    terse: String,
    json: Value,
    truth: Vec<Measurement>,
    users: Vec<f64>,
}

impl Base {
    /// Runs fio in this directory.
    fn of(fio: &Path, directory: &Path, arguments: &str, version: TerseVersion) -> Base {
        std::fs::create_dir_all(directory).unwrap();
        std::fs::write(directory.join("file"), vec![0x5a; 16 << 20]).unwrap();
        let output = Command::new("timeout")
            .args(["--kill-after=1", "60"])
            .arg(fio)
            .current_dir(directory)
            .env("TZ", "UTC")
            .args(["--output-format=normal,terse,json", "--terse-version", version.word()])
            .args(arguments.split_whitespace())
            .output()
            .expect("fio is installed: make oracles");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let document = fio_json::last_document(&printed).unwrap_or_else(|| panic!("{arguments}: {printed}"));
        let (before, after) = printed.split_once(document).unwrap();
        let is_terse = |line: &&str| line.starts_with(&format!("{};", version.word())) || line.starts_with(';');
        let terse: String = before.lines().filter(is_terse).map(|line| format!("{line}\n")).collect();
        let head: String = before.lines().filter(|line| !is_terse(line)).map(|line| format!("{line}\n")).collect();
        let (readings, damages) = parse(document.as_bytes());
        assert!(damages.is_empty(), "{arguments}: {damages:?}");
        Base {
            text: head + after,
            terse,
            json: serde_json::from_str(document).unwrap(),
            truth: rows(&readings),
            users: users(&readings),
        }
    }

    fn all(directory: &Path) -> Vec<Base> {
        let newest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/oracles/newest/fio");
        let fios: Vec<PathBuf> = [PathBuf::from("fio"), newest.clone()]
            .into_iter()
            .filter(|fio| *fio != newest || newest.exists())
            .collect();
        let chosen = WORKLOADS.iter().filter(|workload| CHOSEN.contains(&workload.name));
        let runs: Vec<&str> = chosen.map(|workload| workload.arguments).chain([SECOND_FAILS]).collect();
        assert_eq!(runs.len(), CHOSEN.len() + 1);
        std::thread::scope(|scope| {
            let run = |(at, arguments): (usize, &&'static str)| {
                let fio = fios[at % fios.len()].clone();
                let (directory, arguments) = (directory.join(at.to_string()), *arguments);
                // Lines of version 3 have no trims.
                let version = TerseVersion::ALL[at % TerseVersion::ALL.len()];
                let version = if arguments.contains("trim") { TerseVersion::V5 } else { version };
                scope.spawn(move || Base::of(&fio, &directory, arguments, version))
            };
            let started: Vec<_> = runs.iter().enumerate().map(run).collect();
            started.into_iter().map(|run| run.join().unwrap()).collect()
        })
    }
}

fn rows(readings: &[Reading]) -> Vec<Measurement> {
    readings.iter().flat_map(|reading| measurements(reading, None)).collect()
}

fn users(readings: &[Reading]) -> Vec<f64> {
    let run = |reading: &Reading| match &reading.found {
        Content::Run(run) => run.jobs.iter().filter_map(|job| job.user_percent).collect(),
        _ => Vec::new(),
    };
    readings.iter().flat_map(run).collect()
}

/// A separate small generator, so that a finding is found again.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

type Form = (&'static str, fn(&Base) -> String);

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap() + "\n"
}

/// The forms of a run: what fio prints, and what other programs make of it.
const FORMS: &[Form] = &[
    ("text", |base| base.text.clone()),
    ("text", |base| base.text.clone()),
    ("terse", |base| base.terse.clone()),
    ("terse", |base| base.terse.clone()),
    ("JSON", |base| pretty(&base.json)),
    ("JSON in a line", |base| base.json.to_string() + "\n"),
    ("JSON in an object", |base| pretty(&json!({ "name": "run", "result": base.json }))),
    ("JSON in a list", |base| json!([{ "fio": base.json }]).to_string() + "\n"),
    ("JSON in a pretty list", |base| pretty(&json!([{ "host": "a", "fio": base.json }]))),
    ("a list around JSON", |base| format!("[\n{}]\n", pretty(&base.json))),
    ("JSON below", |base| pretty(&json!({ "a": { "b": [1, { "c": base.json }] }, "d": "x" }))),
    ("JSON in a string", |base| pretty(&json!({ "changed": true, "stdout": pretty(&base.json) }))),
    ("text in a string", |base| {
        let lines: Vec<&str> = base.text.lines().collect();
        pretty(&json!({ "changed": true, "stdout": base.text, "stdout_lines": lines }))
    }),
    ("lines of Docker's file", |base| {
        let line = |line: &str| json!({ "log": format!("{line}\n"), "stream": "stdout" }).to_string() + "\n";
        base.text.lines().map(line).collect()
    }),
    ("jobs alone", |base| {
        let jobs = base.json["jobs"].as_array().unwrap();
        jobs.iter().map(|job| json!({ "uuid": "1", "fio": job }).to_string() + "\n").collect()
    }),
    ("JSON and text", |base| pretty(&base.json) + &base.text),
    ("all formats", |base| base.terse.clone() + &pretty(&base.json) + &base.text),
];

/// Stamps that a log puts before each line.
const STAMPS: &[&str] = &[
    "Nov 27 07:40:54 ",
    "Nov  7 07:40:54 lab fio[712]: ",
    "Nov 27 07:40:54.123456 lab run.sh[712]: ",
    "2026-11-27T07:40:54+0100 lab fio[712]: ",
    "2026-11-27T07:40:54.123456789Z ",
    "2026-11-27T07:40:54.123456789Z stdout F ",
    "1795765607.123456 ",
    "00:01:07 ",
    "2026/11/27 07:40:54 ",
    "[07:40:54] ",
    "fio-1  | ",
    "my_fio_1  | 2026-11-27T07:40:54.123456789Z ",
    "[pod/fio-abc/fio] 2026-11-27T07:40:54.1Z ",
    "build\tRun fio\t2026-11-27T07:40:54.1234567Z ",
];

/// A generated report.
struct Case {
    name: String,
    bytes: Vec<u8>,
    is_cut: bool,
    /// True if each line is a report, and the one that was cut has too little to show what it was.
    may_be_silent: bool,
}

fn case(number: u64, base: &Base, dice: &mut Dice) -> Case {
    let (form, make) = FORMS[dice.below(FORMS.len())];
    // Docker's file has the time of a line behind it.
    let is_stamped = dice.below(2) == 0 && !form.contains("Docker");
    let stamp = if is_stamped { STAMPS[dice.below(STAMPS.len())] } else { "" };
    let end = ["\n", "\n", "\n", "\n", "\r\n", "\r"][dice.below(6)];
    let text: String = make(base).lines().map(|line| format!("{stamp}{line}{end}")).collect();
    let is_cut = dice.below(3) == 0;
    let mut bytes = text.into_bytes();
    if is_cut {
        bytes.truncate(dice.below(bytes.len()));
    }
    /// Letters of the longest stamp, and of a line that begins.
    const LITTLE: usize = 100;
    let last = bytes.iter().rev().take_while(|byte| !b"\r\n".contains(byte)).count();
    let may_be_silent = matches!(form, "terse" | "jobs alone") && last < LITTLE;
    let cut = if is_cut { format!(", cut at {}", bytes.len()) } else { String::new() };
    Case { name: format!("{number}: {form}, {stamp:?}, {end:?}{cut}"), bytes, is_cut, may_be_silent }
}

/// True if a row states nothing that the truth denies.
fn fits(found: &Measurement, truth: &Measurement) -> bool {
    let near = |one: Option<f64>, other: Option<f64>, share: f64, room: f64| {
        one.zip(other).is_none_or(|(one, other)| (one - other).abs() <= share * other.abs() + room)
    };
    // A job without any I/O has no direction in some formats.
    (found.kind == truth.kind || found.kind.is_none() && found.iops.is_none())
        && found.errno == truth.errno
        // Texts have three digits and do not carry; terse lines have whole numbers.
        && near(found.iops, truth.iops, 0.02, 1.0)
        && near(found.bytes_per_second, truth.bytes_per_second, 0.12, 1024.0)
        && near(found.mean_ns, truth.mean_ns, 0.02, 1500.0)
}

/// Returns why the readings of a report are wrong.
fn wrong(case: &Case, base: &Base, readings: &[Reading], damages: &[Damage]) -> Option<String> {
    let found = rows(readings);
    let mut open: Vec<&Measurement> = base.truth.iter().collect();
    let is_silent = damages.is_empty();
    for row in &found {
        match open.iter().position(|truth| fits(row, truth)) {
            Some(at) => drop(open.remove(at)),
            // A part of another format of the run, which says so.
            None if case.is_cut && !is_silent && base.truth.iter().any(|truth| fits(row, truth)) => {}
            None => return Some(format!("{row:?} is not a row of {:#?}", base.truth)),
        }
    }
    let is_near = |user: &f64| base.users.iter().any(|truth| (user - truth).abs() < 0.1);
    if let Some(user) = users(readings).iter().find(|user| !is_near(user)) {
        return Some(format!("usr={user}% is none of {:?}", base.users));
    }
    match (case.is_cut, open.is_empty()) {
        (false, true) if is_silent => None,
        (false, _) => Some(format!("{} of {} rows; {damages:?}", found.len(), base.truth.len())),
        // Nothing at all is status 1.
        (true, false) if is_silent && !found.is_empty() && !case.may_be_silent => {
            Some(format!("{} rows, nothing is said", found.len()))
        }
        (true, _) => None,
    }
}

fn asked(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().map_or(usual, |number| number.parse().expect("a number"))
}

#[test]
fn plausible_reports_are_read_as_the_json_of_the_same_run() {
    let directory = tempfile::tempdir().unwrap();
    let bases = Base::all(directory.path());
    let keep = std::env::var_os("PLUMB_GENERATED_KEEP").map(PathBuf::from);
    let count = asked("PLUMB_GENERATED", 200);
    let mut found = Vec::new();
    for number in 0..count {
        let mut dice = Dice(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        dice.below(2);
        let base = &bases[dice.below(bases.len())];
        let case = case(number, base, &mut dice);
        if let Some(keep) = &keep {
            std::fs::write(keep.join(number.to_string()), &case.bytes).unwrap();
        }
        let (readings, damages) = parse(&case.bytes);
        found.extend(wrong(&case, base, &readings, &damages).map(|why| format!("{}: {why}", case.name)));
    }
    assert!(found.is_empty(), "{} of {count} reports are read wrongly:\n{}", found.len(), found.join("\n"));
}
