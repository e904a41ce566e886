//! Old output as it lies about: interim reports, one run in several formats, output of clients, coarse logs, progress
//! lines, runs that ended early. Each file is from fio 3.33 or 3.41, iozone or iostat.

use formats::stream::{Event, Parser, Repeat, parse};
use formats::sweep::measurements;
use model::reading::{Content, Damage, LogSummary, ReadKind, ReadRun, Reading};

fn sample(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/golden/repeats/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[derive(Default)]
struct Read {
    readings: Vec<Reading>,
    repeated: Vec<(Repeat, u64, u64)>,
    damages: Vec<Damage>,
}

fn read(bytes: &[u8]) -> Read {
    let mut read = Read::default();
    let mut parser = Parser::new(|event| match event {
        Event::Reading(reading) => read.readings.push(reading),
        Event::Repeated(one) => read.repeated.push((one.repeat, one.reading.line, one.line)),
        Event::Damage(damage) => read.damages.push(damage),
    });
    parser.feed(bytes);
    parser.finish();
    read
}

fn run(reading: &Reading) -> &ReadRun {
    match &reading.found {
        Content::Run(run) => run,
        other => panic!("{other:?}"),
    }
}

fn log(name: &str) -> LogSummary {
    match &parse(&sample(name)).0[..] {
        [Reading { found: Content::Log(log), .. }] => (**log).clone(),
        other => panic!("{other:?}"),
    }
}

/// (format, runtime in ms) of each reading.
fn counted(read: &Read) -> Vec<(&'static str, f64)> {
    let runtime = |reading: &Reading| run(reading).jobs[0].directions[0].runtime_ms.unwrap();
    read.readings.iter().map(|reading| (reading.format, runtime(reading))).collect()
}

fn kinds(read: &Read) -> Vec<Repeat> {
    read.repeated.iter().map(|(kind, ..)| *kind).collect()
}

#[test]
fn of_the_reports_of_a_run_the_last_one_counts() {
    for (name, format, runtime) in [
        ("interim.txt", "fio-text", 3000.0),
        ("interim.json", "fio-json", 3001.0),
        ("interim.terse", "fio-terse", 3002.0),
    ] {
        let found = read(&sample(name));
        assert_eq!(kinds(&found), [Repeat::Interim; 3], "{name}");
        let [(counted_format, counted_runtime)] = counted(&found)[..] else { panic!("{name}: {:?}", found.readings) };
        assert_eq!(counted_format, format, "{name}");
        assert!((counted_runtime - runtime).abs() < 2.0, "{name}: {counted_runtime}");
        assert!(found.repeated.iter().all(|(_, own, later)| own < later), "{name}: {:?}", found.repeated);
        assert_eq!(found.damages, [], "{name}");
    }
}

#[test]
fn a_run_in_three_formats_is_one_run_and_its_json_counts() {
    for name in ["three.txt", "three-3.41.txt"] {
        let found = read(&sample(name));
        assert_eq!(kinds(&found), [Repeat::OtherFormat; 3], "{name}: two terse lines and the text");
        assert_eq!(found.readings.len(), 1, "{name}");
        assert_eq!(found.readings[0].format, "fio-json", "{name}");
        assert_eq!(run(&found.readings[0]).jobs.len(), 2, "{name}");
    }
    let found = read(&sample("interim-three.txt"));
    assert_eq!(counted(&found), [("fio-json", 3001.0)]);
    assert_eq!(found.repeated.len(), 11, "{:?}", found.repeated);
}

#[test]
fn runs_that_follow_each_other_are_all_counted() {
    let text = String::from_utf8(sample("interim.json")).unwrap();
    let document = &text[text.rfind("\n{\n").unwrap()..];
    let ended = |seconds: u64| document.replace("1795424558912", &(1_795_424_558_912 + 1000 * seconds).to_string());
    assert!(ended(4) != ended(0), "the document states its time");
    // It runs for 3 s, so a document of 4 s later is another run, even if its numbers are the same.
    let found = read((ended(0) + &ended(4) + &ended(8)).as_bytes());
    assert_eq!((found.readings.len(), found.repeated.len()), (3, 0));
    // The same one twice is one.
    let found = read((ended(0) + &ended(0)).as_bytes());
    assert_eq!((found.readings.len(), kinds(&found)), (1, vec![Repeat::Again]));
    // Two machines that did the same at the same time: the I/Os differ by more than a moment.
    let other = ended(0).replace("1795424558912", "1795424558990").replace(": 30095,", ": 36000,");
    let found = read((ended(0) + &other).as_bytes());
    assert_eq!((found.readings.len(), found.repeated.len()), (2, 0));
    // Reports of other processes.
    let text = String::from_utf8(sample("interim.txt")).unwrap();
    let pid = text.split(": pid=").nth(1).and_then(|rest| rest.split(':').next()).unwrap();
    let first = text.replacen(&format!(": pid={pid}:"), ": pid=1:", 1);
    let found = read(first.as_bytes());
    assert_eq!((found.readings.len(), found.repeated.len()), (2, 2));
}

#[test]
fn clones_are_no_interim_reports_of_each_other() {
    let lines = String::from_utf8(sample("interim.terse")).unwrap();
    let last = lines.lines().last().unwrap();
    let found = read(format!("{last}\n{last}\n{last}\n").as_bytes());
    assert_eq!((found.readings.len(), found.repeated.len()), (3, 0));
    // Runs of one, two and three seconds: their runtimes are whole seconds.
    let line = |seconds: u64| {
        let mut fields: Vec<String> = last.split(';').map(str::to_owned).collect();
        (fields[5], fields[8]) = ((46_000 * seconds).to_string(), (1000 * seconds + 1).to_string());
        fields.join(";") + "\n"
    };
    let found = read((line(1) + &line(2) + &line(3)).as_bytes());
    assert_eq!((found.readings.len(), found.repeated.len()), (3, 0));
}

#[test]
fn the_output_of_a_client_has_its_jobs_without_the_sum() {
    for name in ["client.txt", "client-3.41.txt", "client.json"] {
        let found = read(&sample(name));
        assert_eq!(found.damages, [], "{name}");
        assert_eq!(kinds(&found), [Repeat::Sum], "{name}");
        let [only] = &found.readings[..] else { panic!("{name}: {:?}", found.readings) };
        let jobs: Vec<_> = run(only).jobs.iter().map(|job| (job.name.as_deref(), job.pattern.as_deref())).collect();
        assert_eq!(jobs, [(Some("a"), Some("randread")), (Some("b"), Some("write"))], "{name}");
        let rows = measurements(only, None);
        assert_eq!(rows[0].block, Some((4096, 4096)), "{name}");
    }
}

#[test]
fn coarse_histograms_are_histograms() {
    for name in ["coarse4_clat_hist.1.log", "coarse6_clat_hist.1.log"] {
        let log = log(name);
        assert!(log.histograms, "{name}");
        let reads = log.directions.iter().find(|direction| direction.kind == ReadKind::Read).unwrap();
        assert!(
            reads.count > 1000.0 && reads.bins.iter().map(|(_, count)| count).sum::<f64>() == reads.count,
            "{name}"
        );
        // A read of this file takes 40 to 200 µs; the bins of the coarsest are factors of two.
        assert!((40e3..200e3).contains(&reads.mean), "{name}: {}", reads.mean);
    }
}

#[test]
fn the_largest_of_a_window_is_the_largest() {
    let rows: Vec<Vec<f64>> = String::from_utf8(sample("both_clat.1.log"))
        .unwrap()
        .lines()
        .map(|line| line.split(',').map(|field| field.trim().parse().unwrap()).collect())
        .collect();
    let log = log("both_clat.1.log");
    for (direction, kind) in [(0.0, ReadKind::Read), (1.0, ReadKind::Write)] {
        let of = |column: usize| rows.iter().filter(|row| row[3] == direction).map(move |row| row[column]);
        let found = log.directions.iter().find(|found| found.kind == kind).unwrap();
        assert_eq!(found.max, of(2).fold(0.0, f64::max));
        assert!((found.mean - of(1).sum::<f64>() / of(1).count() as f64).abs() < 1.0, "the mean is that of the means");
    }
}

#[test]
fn a_run_without_space_has_its_error() {
    for name in ["enospc.txt", "enospc.json"] {
        let found = read(&sample(name));
        let job = &run(&found.readings[0]).jobs[0];
        assert_eq!((job.errno, job.directions.len(), found.damages.len()), (Some(28.0), 1, 0), "{name}");
    }
    let found = read(&sample("enospc-layout.txt"));
    assert_eq!(run(&found.readings[0]).jobs[0].errno, Some(28.0));
    assert_eq!((found.readings.len(), found.damages.len()), (1, 0), "{:?}", found.damages);
}

#[test]
fn progress_lines_are_progress_and_no_result() {
    let found = read(&sample("progress.txt"));
    assert_eq!((found.readings.len(), found.damages.len()), (1, 0), "{:?}", found.damages);
    let run = run(&found.readings[0]);
    let progress = run.progress.as_ref().unwrap();
    assert_eq!((progress.jobs, progress.percent, progress.eta_s), (Some(1.0), Some(100.0), Some(0.0)));
    assert_eq!(&progress.iops, &[17_700.0]);
    assert_eq!(run.jobs.len(), 1);
}

#[test]
fn a_job_without_io_is_whole() {
    let found = read(&sample("cpuio.txt"));
    assert_eq!((found.readings.len(), found.damages), (1, Vec::new()));
    let job = &run(&found.readings[0]).jobs[0];
    assert!(job.directions.is_empty() && job.user_percent > Some(0.0), "{job:?}");
    // What it did is known by its engine, so that a check can say that nothing moved.
    let result = formats::results::results(&sample("cpuio.txt")).found.remove(0).result;
    assert_eq!(result.jobs[0].workload.as_ref().map(|workload| workload.work), Some(plan::Work::Background));
}

#[test]
fn a_survey_has_percentiles_and_is_read_as_far_as_it_is_whole() {
    let text = String::from_utf8(sample("survey.json")).unwrap();
    let found = read(text.as_bytes());
    assert_eq!((found.readings.len(), found.damages.len(), found.repeated.len()), (2, 0, 0));
    assert!(measurements(&found.readings[1], None)[0].percentiles_ns[0].is_some(), "its 95 %");
    let results = formats::results::results(text.as_bytes()).found;
    assert_eq!(results.len(), 2);
    assert!(results.iter().all(|one| one.result.monitored.is_some()), "with all that it holds");
    let second = text.match_indices("\"result\":").nth(1).unwrap().0;
    let found = read(&text.as_bytes()[..second + 200]);
    assert_eq!((found.readings.len(), found.damages.len()), (1, 1), "{:?}", found.damages);
}

#[test]
fn every_document_of_a_file_is_a_result_with_its_options() {
    let text =
        String::from_utf8([sample("enospc.json"), sample("interim.json"), sample("client.json")].concat()).unwrap();
    let results = formats::results::results(text.as_bytes());
    let engines: Vec<_> = results.found.iter().map(|one| one.result.jobs[0].echo.options.len() > 3).collect();
    assert_eq!(engines, [true; 3]);
    let messages = results.repeats.messages();
    assert!(messages.iter().any(|(_, text)| text.starts_with("3 interim reports of the run in line")), "{messages:?}");
    assert_eq!(results.found[2].result.jobs.len(), 2, "the sum over the clients is not a job");
}

#[test]
fn short_rows_of_iozones_reports_are_whole() {
    let text = String::from_utf8(sample("iozone-report.txt")).unwrap();
    let found = read(text.as_bytes());
    assert_eq!(found.damages, []);
    assert_eq!(found.readings.len(), 18, "its rows; the reports repeat them");
    // Without the table before them, the reports are all there is.
    let report = &text[text.find("\"Writer report\"").unwrap()..];
    let found = read(report.as_bytes());
    assert_eq!((found.readings.len(), found.damages.len()), (36, 0));
    let found = read(report.replacen(" 929467 ", " ", 1).as_bytes());
    assert_eq!((found.readings.len(), found.damages.len()), (31, 1), "a value is missing");
}

#[test]
fn seconds_since_1970_are_the_time_of_an_iostat_report() {
    let found = read(&sample("iostat-U.txt"));
    let dates: Vec<_> = found
        .readings
        .iter()
        .map(|reading| match &reading.found {
            Content::Device(row) | Content::Processors(row) => row.date.as_deref(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(dates.len() > 2 && dates.iter().all(|date| *date == Some("1795425710")), "{dates:?}");
}

/// The numbers of a value by their paths.
fn numbers(path: &str, value: &serde_json::Value, into: &mut std::collections::BTreeMap<String, f64>) {
    match value {
        serde_json::Value::Number(number) => {
            into.insert(path.to_owned(), number.as_f64().unwrap());
        }
        serde_json::Value::Array(list) => {
            list.iter().enumerate().for_each(|(at, value)| numbers(&format!("{path}/{at}"), value, into));
        }
        serde_json::Value::Object(object) => {
            object.iter().for_each(|(key, value)| numbers(&format!("{path}/{key}"), value, into));
        }
        _ => {}
    }
}

#[test]
fn no_number_is_taken_from_a_word_that_is_cut() {
    let mut wrong = Vec::new();
    for name in ["enospc.txt", "enospc.json", "three.txt", "client.txt", "iozone-report.txt", "iostat-U.txt"] {
        let bytes = sample(name);
        let whole: Vec<Reading> = parse(&bytes).0;
        for end in (0..bytes.len()).step_by(if bytes.len() > 5000 { 7 } else { 1 }) {
            let (readings, damages) = parse(&bytes[..end]);
            for reading in &readings {
                // A run whose JSON is cut is read from its terse line or its text.
                let same = |other: &&Reading| other.format == reading.format && other.line == reading.line;
                let Some(other) = whole.iter().find(same) else { continue };
                let (mut found, mut known) = Default::default();
                numbers("", &serde_json::to_value(&reading.found).unwrap(), &mut found);
                numbers("", &serde_json::to_value(&other.found).unwrap(), &mut known);
                for (path, value) in found {
                    let expected = known.get(&path);
                    if expected.is_none_or(|expected| (expected - value).abs() > 1e-6 * expected.abs()) {
                        wrong.push(format!("{name} cut at {end}: {path} is {value}, not {expected:?}; {damages:?}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}

/// (KiB, ms) of the terse lines that fio 3.33 printed with this `--status-interval` on a busy machine.
const SHORT_INTERVALS: [(&str, &[(u64, u64)]); 4] = [
    ("500ms", &[(0, 0), (3240, 469), (5516, 996), (7456, 1533), (9180, 2010), (9180, 2010)]),
    ("300ms", &[(316, 163), (1324, 491), (6412, 814), (8104, 1150), (11_592, 1450), (14_004, 1750), (15_476, 2003)]),
    ("700ms", &[(2936, 491), (9472, 1243), (15_516, 1951), (15_920, 2004)]),
    ("100ms", &[(0, 0), (792, 105), (1640, 205), (2428, 308), (3280, 414), (4116, 514)]),
];

#[test]
fn terse_reports_of_less_than_a_second_apart_are_one_run() {
    let lines = String::from_utf8(sample("interim.terse")).unwrap();
    let line = |&(kib, ms): &(u64, u64)| {
        let mut fields: Vec<String> = lines.lines().last().unwrap().split(';').map(str::to_owned).collect();
        let iops = (kib * 250).checked_div(ms).unwrap_or(0);
        for (at, value) in [(5, kib), (6, kib * 1000 / ms.max(1)), (7, iops), (8, ms)] {
            fields[at] = value.to_string();
        }
        fields.join(";") + "\n"
    };
    for (interval, reports) in SHORT_INTERVALS {
        let found = read(reports.iter().map(line).collect::<String>().as_bytes());
        let last = reports.last().unwrap().1;
        assert_eq!(counted(&found), [("fio-terse", last as f64)], "{interval}");
        assert_eq!(kinds(&found), vec![Repeat::Interim; reports.len() - 1], "{interval}");
    }
    // Runs of half a second and of a second, of one size at two speeds, and of two speeds.
    for runs in [[(23_000, 500), (46_000, 1001)], [(46_000, 300), (46_000, 700)], [(46_000, 400), (400_000, 900)]] {
        let found = read(runs.iter().map(line).collect::<String>().as_bytes());
        assert_eq!((found.readings.len(), found.repeated.len()), (2, 0), "{runs:?}");
    }
}

/// Rounds of a simulated engine have the same numbers, and tests of rising load contain each other.
#[test]
fn the_tests_of_a_survey_are_all_counted_however_equal_they_are() {
    let whole: serde_json::Value = serde_json::from_slice(&sample("survey.json")).unwrap();
    let mut survey = whole.clone();
    let tests = survey["tests"].as_array_mut().unwrap();
    let first = tests[0].clone();
    tests.clear();
    for round in 1..=3 {
        let mut test = first.clone();
        test["round"] = round.into();
        tests.push(test);
    }
    let found = read(survey.to_string().as_bytes());
    let rounds: Vec<Option<f64>> = found.readings.iter().map(|reading| run(reading).round).collect();
    assert_eq!((rounds, found.repeated.len()), (vec![Some(1.0), Some(2.0), Some(3.0)], 0));
    // The file twice is one survey.
    let twice = format!("{survey}\n{survey}\n");
    let found = read(twice.as_bytes());
    assert_eq!((found.readings.len(), kinds(&found)), (3, vec![Repeat::Again; 3]));
}
