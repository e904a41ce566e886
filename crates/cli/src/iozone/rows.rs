//! Single, list and automatic mode: one row per file size and record size.

use super::iozone_run::{IozoneRun, PassError};
use super::latency::{self, ChildRange, Whose};
use super::sheet_file;
use crate::failure::Failure;
use crate::output::Output;
use formats::iozone::text::{self as iozone_text, Columns, Table};
use formats::iozone::{sheet as iozone_sheet, text::COMPLETE};
use iozone::{Pass, PassTime, RowTest, SINGLE, Scene, Settings, ShownColumns, Test};
use std::collections::BTreeMap;

/// Runs all rows. Returns the exit status.
pub(crate) fn run(run: &mut IozoneRun<'_>) -> Result<u8, Failure> {
    let settings = run.settings;
    run.write(&heading(settings))?;
    let (rows, refused) = iozone::rows(settings);
    let mut values = Values::default();
    for &(size_kb, record_kb) in &rows {
        run.settle()?;
        let shown_kb = if settings.has_telemetry() { 0 } else { record_kb };
        run.write(&iozone_text::row_start(size_kb, shown_kb))?;
        for test in iozone::row_tests(settings) {
            match run_test(run, test, (size_kb, record_kb), &mut values) {
                Ok(()) => {}
                Err(PassError::Pass(failure)) => return run.fail(&failure),
                Err(PassError::Program(failure)) => return Err(failure),
            }
        }
        run.write("\n")?;
    }
    if let Some((size, record)) = refused {
        run.write(&format!(
            "Error: record length {} is greater than filesize {size} kB\n ",
            record.saturating_mul(1024)
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
        (false, false) => Columns::Usual,
        (true, false) => Columns::WithoutStdio,
        (false, true) => Columns::Extended,
        (true, true) => Columns::ExtendedWithoutStdio,
    };
    let text = iozone_text::heading(columns);
    match settings.columns {
        ShownColumns::All => text,
        ShownColumns::FirstTwoTests => text.lines().map(|line| format!("{}\n", &line[..SHORT])).collect(),
    }
}

/// Width in characters of the heading above the first two tests.
const SHORT: usize = 60;

/// The values of all passes, by test and pass, then by size and record.
#[derive(Debug, Default)]
struct Values {
    by_pass: BTreeMap<(Test, u8), BTreeMap<(u64, u64), u64>>,
}

/// Runs the passes of a test and prints their values.
fn run_test(
    run: &mut IozoneRun<'_>,
    row: &RowTest,
    (size_kb, record_kb): (u64, u64),
    values: &mut Values,
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
        let is_too_small = size_kb < record_kb && settings.listed(test, pass.moves()).is_none();
        let value = if row.drops(number, settings) || is_too_small {
            0
        } else {
            let title = name.unwrap_or("Backward read again");
            measure(run, pass, title, (size_kb, record_kb))?
        };
        if name.is_some() {
            run.write(&iozone_text::value(test.number(), number, value))?;
            values.by_pass.entry((test, number)).or_default().insert((size_kb, record_kb), value);
        }
    }
    Ok(())
}

fn measure(
    run: &mut IozoneRun<'_>,
    pass: Pass,
    title: &str,
    (size_kb, record_kb): (u64, u64),
) -> Result<u64, PassError> {
    let settings = run.settings;
    let file = settings.single_file();
    run.files.use_file(file);
    let scene = Scene {
        file: file.to_owned(),
        is_there: file.exists(),
        size_kb,
        record_kb,
        latency_log: latency::stem(settings, 0),
        cpus: run.cpus,
    };
    let plan = iozone::pass_plan(settings, pass, &scene);
    let result = run.measure(&plan, title, pass)?;
    latency::convert(settings, pass, &result.jobs, (Whose::Only, ChildRange::all(&result.jobs)))?;
    let computing = settings.computing(pass.test, pass.moves());
    let value = result.jobs.first().map_or(0, |job| iozone::rate(PassTime::of(job, computing), settings.unit));
    run.keep(title, (size_kb, record_kb), result);
    Ok(value)
}

/// The tables after the rows: one per pass that was printed.
fn tables(settings: &Settings, rows: &[(u64, u64)], values: &Values) -> Vec<Table> {
    let records_kb = iozone::report_records_kb(settings);
    let mut tables = Vec::new();
    for row in SINGLE {
        for (number, name) in (0..).zip(row.reports) {
            let Some(found) = values.by_pass.get(&(row.test, number)) else { continue };
            let sizes: Vec<u64> = rows.iter().map(|&(size, _)| size).collect();
            let mut lines: Vec<(u64, Vec<u64>)> = Vec::new();
            for size in sizes {
                if lines.last().is_some_and(|(last, _)| *last == size) {
                    continue;
                }
                let last = rows.iter().filter(|&&(of, _)| of == size).map(|&(_, record)| record).max().unwrap_or(0);
                let of_row = records_kb.iter().filter(|&&record| record <= last);
                lines.push((size, of_row.map(|&record| found.get(&(size, record)).copied().unwrap_or(0)).collect()));
            }
            tables.push(Table { name: (*name).to_owned(), records_kb: records_kb.clone(), rows: lines });
        }
    }
    tables
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
