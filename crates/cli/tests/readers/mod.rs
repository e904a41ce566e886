//! Other people's readers of fio's output, given ours: bench-fio drives a link named `fio`, fio-plot draws what came
//! out, pandas reads results and logs. `tools/oracles` installs them in the versions that tools/readers.txt pins.

use crate::context::{PLUMB, place, plumb};
use house::{Place, Run, Transcript};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A program of the readers' own environment.
fn reader(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../oracles/readers/bin").join(name);
    assert!(path.exists(), "{} is missing; run `make oracles`", path.display());
    path
}

/// Ends a run that must succeed and must not complain.
fn ends_well(run: Run) -> Transcript {
    let run = run.succeeds();
    assert!(!run.both().contains("Traceback") && !run.both().contains("error occurred"), "{run}");
    run
}

/// What a Python script prints, by the readers' own environment.
fn python(place: &Place, script: &str) -> String {
    ends_well(Run::new(reader("python"), place).words(["-c", script])).stdout
}

/// A PATH in which `fio` is ours.
fn path_with_our_fio(place: &Place) -> std::ffi::OsString {
    let programs = place.directory("programs");
    std::os::unix::fs::symlink(PLUMB, programs.join("fio")).expect("a link");
    let known = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(programs).chain(std::env::split_paths(&known));
    std::env::join_paths(all).expect("a PATH")
}

/// Drives plumb through bench-fio; the results are in the directory that is returned.
fn measured(place: &Place) -> PathBuf {
    let target = tempfile::Builder::new().prefix("target-").tempdir_in(place.path()).expect("a directory");
    let name = target.path().file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
    let words = "--type directory --size 1m --mode randread --iodepth 1 4 --numjobs 1 2 --runtime 1 --time-based \
                 --loginterval 100 --engine libaio --quiet --output results --target";
    let bench = Run::new(reader("bench-fio"), place).words(words).words([target.path()]);
    ends_well(bench.env("PATH", path_with_our_fio(place)));
    // It leaves its job file there.
    let _ = std::fs::remove_file(Path::new("/tmp").join(format!("{name}-tmpjobfile.fio")));
    place.file("results").join(name).join("4k")
}

/// Every chart that fio-plot has.
const CHARTS: &[&[&str]] = &[
    &["-l"],
    &["-N"],
    &["-L", "-t", "iops"],
    &["-H", "-d", "1", "-n", "1"],
    &["-g", "-t", "iops", "lat", "bw", "-d", "1", "4", "-n", "1"],
    &["-C", "-d", "1", "-n", "1", "--xlabel-parent", "2"],
];

#[test]
fn bench_fio_drives_plumb_and_fio_plot_draws_what_it_found() {
    let place = place();
    let results = measured(&place);
    for (depth, jobs) in [(1, 1), (1, 2), (4, 1), (4, 2)] {
        let file = results.join(format!("randread-{depth}-{jobs}.json"));
        let result: Value = serde_json::from_slice(&std::fs::read(&file).expect("a result")).expect("JSON");
        assert_eq!(result["jobs"][0]["job options"]["iodepth"], depth.to_string(), "{}", file.display());
        assert!(result["fio version"].as_str().is_some_and(|version| version.contains("plumb")), "not ours");
        assert_eq!(result["jobs"].as_array().map(Vec::len), Some(jobs), "{}", file.display());
    }
    let plot = reader("fio-plot");
    std::thread::scope(|scope| {
        for (half, charts) in CHARTS.chunks(CHARTS.len() / 2).enumerate() {
            let (plot, place, results) = (&plot, &place, &results);
            scope.spawn(move || {
                for (number, chart) in charts.iter().enumerate() {
                    let picture = format!("{half}-{number}.png");
                    // A comparison needs two of them.
                    let compared = vec![results; if chart.contains(&"-C") { 2 } else { 1 }];
                    let run = Run::new(plot, place).words("-T title -s source -r randread -i").words(compared);
                    ends_well(run.words(*chart).words(["-o", &picture]).env("MPLBACKEND", "agg"));
                    let bytes = place.bytes(&picture);
                    assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 10_000, "{chart:?}: {}", bytes.len());
                }
            });
        }
    });
}

/// What a line of Python must print, taken from the result itself.
type Answer = fn(&Value) -> String;

/// One line of Python each, with what it must print.
const LINES: &[(&str, Answer)] = &[
    ("pd.json_normalize(result['jobs'])['read.total_ios'].sum()", |result| {
        result["jobs"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|job| job["read"]["total_ios"].as_u64())
            .sum::<u64>()
            .to_string()
    }),
    ("pd.json_normalize(result['jobs']).set_index('jobname').loc['b', 'write.io_bytes']", |result| {
        result["jobs"][1]["write"]["io_bytes"].to_string()
    }),
    ("int(pd.json_normalize(result, 'jobs')['write.clat_ns.percentile.99.000000'].iloc[1])", |result| {
        result["jobs"][1]["write"]["clat_ns"]["percentile"]["99.000000"].to_string()
    }),
    ("int(pd.Series(result['jobs'][1]['write']['clat_ns']['bins']).sum())", |result| {
        result["jobs"][1]["write"]["total_ios"].to_string()
    }),
    ("round(pd.Series(result['jobs'][0]['iodepth_level']).sum())", |_| "100".to_owned()),
    ("pd.DataFrame(result['jobs']).shape[0]", |_| "2".to_owned()),
];

#[test]
fn pandas_reads_results_and_logs() {
    let place = place();
    let words = "fio --output-format=json+ --output=result.json --ioengine=psync --size=1m --write_lat_log=log \
                 --write_iolog=record.log --name=a --rw=read --name=b --rw=randwrite";
    ends_well(plumb(&place, words));
    let result = place.json("result.json");
    let mut script = String::from("import json, pandas as pd\nresult = json.load(open('result.json'))\n");
    for (line, _) in LINES {
        script.push_str(&format!("print({line})\n"));
    }
    // A log: one row per I/O, whose values are the latencies of the result.
    script.push_str("log = pd.read_csv('log_clat.2.log', header=None, skipinitialspace=True)\n");
    script.push_str("print(*log.shape, log[1].max(), log[3].sum())\n");
    let printed = python(&place, &script);
    let latency = &result["jobs"][1]["write"]["clat_ns"];
    let mut expected: Vec<String> = LINES.iter().map(|(_, answer)| answer(&result)).collect();
    expected.push(format!("256 5 {} 1048576", latency["max"]));
    assert_eq!(printed.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn pandas_duckdb_and_polars_read_surveys_of_two_targets() {
    let place = place();
    let device = house::LoopDevice::new(Path::new(env!("CARGO_TARGET_TMPDIR")), 64 << 20).expect("a loop device");
    let disk = place.directory("disk");
    for target in [disk.as_path(), device.path()] {
        let words = "survey --tests randread --users 1,2,4 --size 64M --time 1 --output s.json";
        ends_well(plumb(&place, words).words([target]));
        ends_well(plumb(&place, "parse --format parquet -o s.parquet s.json"));
        ends_well(plumb(&place, "parse --format csv -o s.csv s.json"));
        // All four readers find the numbers of the result itself.
        let script = "
import json, duckdb, pandas as pd, polars
known = [sum(job['directions']['read']['ios'] for job in test['result']['jobs'])
         / max(job['directions']['read']['runtime'] for job in test['result']['jobs']) * 1e9
         for test in json.load(open('s.json'))['tests']]
columns = pd.read_parquet('s.parquet'), pd.read_csv('s.csv')
rows = [list(zip(m['users'], m['iops'])) for m in columns]
rows.append(duckdb.sql(\"SELECT users, iops FROM 's.parquet' ORDER BY users\").fetchall())
rows.append(polars.read_parquet('s.parquet').select('users', 'iops').rows())
for read in rows:
    assert [int(users) for users, _ in read] == [1, 2, 4], read
    for (_, iops), true in zip(read, known):
        assert abs(float(iops) / true - 1) < 0.02, (iops, true)
print(len(rows))
";
        assert_eq!(python(&place, script), "4\n");
    }
}

/// Reads the worksheet, the workbook and the CSV of a run, and holds each number against the text of `-R`.
const SHEETS: &str = r#"
import re, csv, sys, xlrd, openpyxl
def of_text(path):
    tables, name, records = {}, None, []
    for line in open(path).read().split('Excel output is below:')[1].splitlines():
        if m := re.fullmatch(r'"(.*) report"\s*', line):
            name = m[1].lower()
        elif m := re.fullmatch(r'"(\d+)"((?:\s+\d+)+)\s*', line):
            for record, value in zip(records, m[2].split()):
                tables[name, int(m[1]), record] = float(value)
        elif line.strip().startswith('"'):
            records = [int(word) for word in re.findall(r'"(\d+)"', line)]
    return tables
def of_biff(path):
    sheet, tables, name, records = xlrd.open_workbook(path, encoding_override='utf-8').sheet_by_index(0), {}, None, []
    for row in (sheet.row_values(at) for at in range(sheet.nrows)):
        first, rest = row[0], [value for value in row[1:] if value != '']
        if isinstance(first, str) and first.endswith(' Report'):
            name = first[:-7].lower()
        elif first == '':
            records = rest
        elif isinstance(first, float):
            for record, value in zip(records, rest):
                tables[name, first, record] = value
    return tables
def of_book(path):
    tables = {}
    for sheet in openpyxl.load_workbook(path):
        rows = list(sheet.iter_rows(values_only=True))
        for row in rows[2:]:
            for record, value in zip(rows[1][1:], row[1:]):
                if value is not None:
                    tables[sheet.title.lower(), row[0], record] = value
    return tables
def of_csv(path):
    return {(row['test'].lower(), int(row['file_kb']), int(row['record_kb'])): float(row['value'])
            for row in csv.DictReader(open(path))}
for name, read in (('x.xls', of_biff), ('x.xlsx', of_book)):
    text = of_text(name + '.out')
    assert text and read(name) == text, (name, text, read(name))
    assert of_csv(name + '.csv') == text, name
    print(name, len(text))
"#;

#[test]
fn spreadsheets_of_iozone_open_elsewhere_and_hold_its_numbers() {
    let place = place();
    for sheet in ["x.xls", "x.xlsx"] {
        let words = format!("iozone -a -n 64 -g 128 -i 0 -i 1 -b {sheet} --csv={sheet}.csv");
        place.write(format!("{sheet}.out"), ends_well(plumb(&place, words)).stdout);
    }
    // Four passes over eleven pairs of sizes.
    assert_eq!(python(&place, SHEETS), "x.xls 44\nx.xlsx 44\n");
}
