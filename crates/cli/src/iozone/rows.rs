//! Single, list and automatic mode: one row per file size and record size.

use super::child_files::{self, ChildRange, Whose};
use super::iozone_run::{IozoneRun, PassError};
use super::sheet_file;
use crate::failure::Failure;
use crate::output::Output;
use formats::iozone::text::{self as iozone_text, Columns, Quantity, Table};
use formats::iozone::{sheet as iozone_sheet, text::COMPLETE};
use iozone::{Pass, PassTime, RowTest, Scene, Settings, ShownColumns, Sizes, Test};
use model::RunResult;
use plan::Plan;
use std::collections::BTreeMap;

/// Runs all rows. Returns the exit status.
pub(crate) fn run(run: &mut IozoneRun<'_>) -> Result<u8, Failure> {
    let settings = run.settings;
    run.write(&heading(settings))?;
    let (rows, refused) = iozone::rows(settings);
    let mut values = Values::default();
    for &sizes in &rows {
        run.settle()?;
        let shown_kb = if settings.has_telemetry() { 0 } else { sizes.record_kb };
        run.write(&iozone_text::row_start(sizes.file_kb, shown_kb))?;
        let mut unseen = BTreeMap::new();
        for test in iozone::row_tests(settings) {
            match run_test(run, test, sizes, &mut values, &mut unseen) {
                Ok(()) => {}
                Err(PassError::Pass(failure)) => return run.fail(&failure),
                Err(PassError::Program(failure)) => return Err(failure),
            }
        }
        run.write("\n")?;
    }
    if let Some(Sizes { file_kb, record_kb }) = refused {
        run.write(&format!(
            "Error: record length {} is greater than filesize {file_kb} kB\n ",
            record_kb.saturating_mul(1024)
        ))?;
        run.files.clean(settings);
        return Ok(23);
    }
    run.files.clean(settings);
    run.write(COMPLETE)?;
    let tables = tables(settings, &rows, &values);
    report(run, &tables)?;
    Ok(0)
}

fn heading(settings: &Settings) -> String {
    let columns = match (settings.without_stdio(), settings.extensions) {
        (_, true) => Columns::Extended,
        (true, false) => Columns::WithoutStdio,
        (false, false) => Columns::Usual,
    };
    let text = iozone_text::heading(columns);
    match settings.columns {
        ShownColumns::FirstTwoTests if !settings.extensions => {
            text.lines().map(|line| format!("{}\n", &line[..SHORT])).collect()
        }
        _ => text,
    }
}

/// Width in characters of the heading above the first two tests.
const SHORT: usize = 60;

/// The values of all passes, by test and pass, then by size and record.
type Values = BTreeMap<(Test, u8), BTreeMap<Sizes, Value>>;

/// The numbers that are shown of a pass.
#[derive(Clone, Copy, Debug, Default)]
struct Value {
    rate: u64,
    cpu_percent: f64,
}

impl Value {
    fn shown(self, quantity: Quantity) -> f64 {
        match quantity {
            Quantity::Rate => self.rate as f64,
            Quantity::Processor => self.cpu_percent,
        }
    }
}

/// Runs the passes of a test and prints their values.
fn run_test(
    run: &mut IozoneRun<'_>,
    row: &RowTest,
    sizes: Sizes,
    values: &mut Values,
    unseen: &mut PassValues,
) -> Result<(), PassError> {
    let settings = run.settings;
    let test = row.test;
    if !settings.runs(test) {
        run.write(iozone_text::blank(test.number()))?;
        return Ok(());
    }
    for number in 0..row.passes(settings) {
        let name = row.reports.get(usize::from(number)).copied();
        let pass = Pass { test, number };
        let whose = if values.contains_key(&(test, number)) { Whose::Single } else { Whose::SingleFirst };
        let is_measured = is_measured(settings, row, number, sizes);
        if is_measured && run.are_unseen(sizes.file_kb) && !unseen.contains_key(&(test, number)) {
            unseen.extend(measure_unseen(run, row, sizes)?);
        }
        let value = if !is_measured {
            child_files::convert_latencies(settings, pass, &[], whose, ChildRange::all(&[]))?;
            Value::default()
        } else if let Some(value) = unseen.remove(&(test, number)) {
            value?
        } else {
            let title = name.unwrap_or("Backward read again");
            measure(run, pass, whose, title, sizes)?
        };
        if name.is_some() {
            run.write(&iozone_text::value(test.number(), number, value.rate))?;
            values.entry((test, number)).or_default().insert(sizes, value);
        }
    }
    Ok(())
}

/// False for a pass that is dropped, or whose file is too small for a record.
fn is_measured(settings: &Settings, row: &RowTest, number: u8, sizes: Sizes) -> bool {
    let pass = Pass { test: row.test, number };
    let is_too_small = sizes.file_kb < sizes.record_kb && settings.listed(row.test, pass.moves()).is_none();
    !row.drops(number, settings) && !is_too_small
}

/// The file and sizes of the passes of a test.
fn scene(run: &mut IozoneRun<'_>, sizes: Sizes) -> Scene {
    let settings = run.settings;
    let file = settings.single_file();
    run.files.use_file(file);
    Scene {
        file: file.to_owned(),
        is_there: file.exists(),
        sizes,
        latency_log: child_files::latency_stem(settings, 0),
        measures_latency: run.measures_latency(),
        cpus: run.cpus,
    }
}

/// Largest file, in kB, of which all tests of a row follow each other directly. What lies between two tests otherwise
/// takes as long as a pass over a file of this size; larger files show their numbers test by test.
const TOGETHER_KB: u64 = 512;

/// The values of passes that are not printed yet.
type PassValues = BTreeMap<(Test, u8), Result<Value, PassError>>;

/// Runs the passes of a test of which nothing but these values is seen; of a small file also those of the tests after
/// it.
fn measure_unseen(run: &mut IozoneRun<'_>, row: &RowTest, sizes: Sizes) -> Result<PassValues, PassError> {
    let (settings, scene) = (run.settings, scene(run, sizes));
    let most = if sizes.file_kb <= TOGETHER_KB { usize::MAX } else { 1 };
    let from_here = iozone::row_tests(settings).skip_while(|other| other.test != row.test);
    let rows = from_here.filter(|row| settings.runs(row.test)).take(most);
    let numbered = rows.flat_map(|row| (0..row.passes(settings)).map(move |number| (row, number)));
    let measured = numbered.filter(|&(row, number)| is_measured(settings, row, number, sizes));
    let passes: Vec<Pass> = measured.map(|(row, number)| Pass { test: row.test, number }).collect();
    let plan = |&pass: &Pass| {
        // A test before it has made the file, or has failed.
        let scene = Scene { is_there: scene.is_there || pass.test != row.test, ..scene.clone() };
        iozone::pass_plan(settings, pass, &scene)
    };
    let plans: Vec<Plan> = passes.iter().map(plan).collect();
    let title = if most == 1 { row.reports.join(", ") } else { format!("{} kB", sizes.file_kb) };
    let results = run.measure_unseen(&plans, &title, &passes)?;
    let value = |(pass, result): (&Pass, Result<_, _>)| {
        ((pass.test, pass.number), result.map(|result| value(settings, *pass, &result)))
    };
    Ok(passes.iter().zip(results).map(value).collect())
}

fn value(settings: &Settings, pass: Pass, result: &RunResult) -> Value {
    let computing = settings.computing(pass.test, pass.moves());
    result.jobs.first().map_or(Value::default(), |job| Value {
        rate: iozone::rate(PassTime::of(job, computing), settings.unit),
        cpu_percent: PassTime::cpu_percent(job),
    })
}

fn measure(run: &mut IozoneRun<'_>, pass: Pass, whose: Whose, title: &str, sizes: Sizes) -> Result<Value, PassError> {
    let settings = run.settings;
    let plan = iozone::pass_plan(settings, pass, &scene(run, sizes));
    let result = run.measure(&plan, title, sizes, pass)?;
    child_files::convert_latencies(settings, pass, &result.jobs, whose, ChildRange::all(&result.jobs))?;
    let value = value(settings, pass, &result);
    run.keep(title, sizes, result);
    Ok(value)
}

/// The tables after the rows, one per pass: rates, then with `-+u` CPU utilization.
fn tables(settings: &Settings, rows: &[Sizes], values: &Values) -> Vec<Table> {
    let records_kb = iozone::report_records_kb(settings);
    let kinds: &[Quantity] = if settings.cpu { &[Quantity::Rate, Quantity::Processor] } else { &[Quantity::Rate] };
    let mut tables = Vec::new();
    for &quantity in kinds {
        for row in iozone::report_tests(settings) {
            for (number, name) in (0..).zip(row.reports) {
                let none = BTreeMap::new();
                let found = values.get(&(row.test, number)).unwrap_or(&none);
                let rows =
                    table_rows(rows, &records_kb, |sizes| found.get(&sizes).map_or(0.0, |value| value.shown(quantity)));
                tables.push(Table { name: (*name).to_owned(), quantity, records_kb: records_kb.clone(), rows });
            }
        }
    }
    tables
}

/// A line per file size, with a value for each column up to the largest record of that file.
fn table_rows(rows: &[Sizes], records_kb: &[u64], value: impl Fn(Sizes) -> f64) -> Vec<(u64, Vec<f64>)> {
    let mut largest: BTreeMap<u64, u64> = BTreeMap::new();
    for &Sizes { file_kb, record_kb } in rows {
        let last = largest.entry(file_kb).or_default();
        *last = record_kb.max(*last);
    }
    let columns = |last: u64| records_kb.iter().filter(move |&&record| record <= last);
    let line =
        |(file_kb, last)| (file_kb, columns(last).map(|&record_kb| value(Sizes { file_kb, record_kb })).collect());
    largest.into_iter().map(line).collect()
}

fn report(run: &mut IozoneRun<'_>, tables: &[Table]) -> Result<(), Failure> {
    let settings = run.settings;
    if settings.report.text || settings.report.sheet.is_some() {
        run.write(&iozone_text::tables(tables))?;
    }
    if let Some(path) = &settings.report.sheet {
        sheet_file::write_tables(path, &run.command, tables)?;
    }
    if let Some(path) = &settings.csv {
        let text = iozone_sheet::csv(tables);
        Output::made(path)?.write(&text)?;
    }
    Ok(())
}
