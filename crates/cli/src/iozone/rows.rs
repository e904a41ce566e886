//! Single, list and automatic mode: a row per file size and record size.

use super::ill::Ill;
use super::latency::{self, Crew, Whose};
use super::session::Session;
use crate::failure::Failure;
use crate::output::Output;
use formats::iozone_text::{self, Columns, Table};
use formats::{iozone_sheet, iozone_text::COMPLETE};
use iozone::{Mode, Pass, PassTime, SINGLE, Scene, Settings, Test};
use std::collections::BTreeMap;
use std::path::Path;

/// Runs all rows; the status.
pub(crate) fn run(session: &mut Session<'_>) -> Result<u8, Failure> {
    let settings = session.settings;
    session.write(&heading(settings))?;
    let (rows, refused) = iozone::rows(settings);
    let mut values = Values::default();
    for &(size_kb, record_kb) in &rows {
        session.settle()?;
        let shown_kb = if settings.has_telemetry() { 0 } else { record_kb };
        session.write(&iozone_text::row_start(size_kb, shown_kb))?;
        for test in SINGLE.iter().filter(|test| has_column(settings, test.number)) {
            if let Err(ill) = run_test(session, *test, (size_kb, record_kb), &mut values)? {
                return session.fail(&ill);
            }
        }
        session.write("\n")?;
    }
    if let Some((size, record)) = refused {
        session.write(&format!(
            "Error: record length {} is greater than filesize {size} kB\n ",
            record.saturating_mul(1024)
        ))?;
        session.files.clean(settings);
        return Ok(23);
    }
    session.files.clean(settings);
    session.write(COMPLETE)?;
    let tables = tables(settings, &rows, &values);
    report(session, &tables)?;
    Ok(0)
}

/// The first six columns of the obsolete -A end its table.
fn is_short(settings: &Settings) -> bool {
    settings.splash.iter().any(|line| line.starts_with("\tAuto Mode 2"))
}

fn heading(settings: &Settings) -> String {
    let columns = match (settings.without_stdio(), settings.extensions) {
        (false, false) => Columns::Usual,
        (true, false) => Columns::WithoutStdio,
        (false, true) => Columns::Extended,
        (true, true) => Columns::ExtendedWithoutStdio,
    };
    let text = iozone_text::heading(columns);
    if !is_short(settings) {
        return text;
    }
    text.lines().map(|line| format!("{}\n", &line[..SHORT])).collect()
}

/// Where the table of -A ends.
const SHORT: usize = 60;

fn has_column(settings: &Settings, test: u8) -> bool {
    match test {
        0 | 1 => true,
        _ if is_short(settings) => false,
        9 | 10 => settings.extensions,
        // Without plain calls there is no stdio; of the two only the first leaves its place empty.
        7 => !settings.without_stdio(),
        6 => !(settings.without_stdio() && settings.runs(6)),
        _ => true,
    }
}

/// The values of all passes: by test and pass, then by size and record.
#[derive(Debug, Default)]
struct Values {
    by_pass: BTreeMap<(u8, u8), BTreeMap<(u64, u64), u64>>,
}

/// Runs the passes of a test and prints their values.
fn run_test(
    session: &mut Session<'_>,
    test: Test,
    (size_kb, record_kb): (u64, u64),
    values: &mut Values,
) -> Result<Result<(), Ill>, Failure> {
    let settings = session.settings;
    if !settings.runs(test.number) {
        session.write(iozone_text::blank(test.number))?;
        return Ok(Ok(()));
    }
    // Backwards the file is read twice, and the first time counts.
    let passes =
        if test.number == 3 && !settings.no_retest { 2 } else { u8::try_from(test.reports.len()).unwrap_or(1) };
    for number in 0..passes {
        let pass = Pass { test: test.number, number };
        let name = test.reports.get(usize::from(number)).copied();
        let dropped = number > 0 && test.retests && settings.no_retest;
        let value = if dropped || size_kb < record_kb {
            0
        } else {
            match measure(session, pass, name.unwrap_or("Backward read again"), (size_kb, record_kb))? {
                Ok(value) => value,
                Err(ill) => return Ok(Err(ill)),
            }
        };
        if name.is_some() {
            session.write(&iozone_text::value(test.number, number, value))?;
            values.by_pass.entry((test.number, number)).or_default().insert((size_kb, record_kb), value);
        }
    }
    Ok(Ok(()))
}

fn measure(
    session: &mut Session<'_>,
    pass: Pass,
    title: &str,
    (size_kb, record_kb): (u64, u64),
) -> Result<Result<u64, Ill>, Failure> {
    let settings = session.settings;
    session.files.use_file(&settings.file);
    let scene = Scene {
        file: settings.file.clone(),
        is_there: settings.file.exists(),
        size_kb,
        record_kb,
        latency_log: latency::stem(settings, 0),
        cpus: session.cpus,
    };
    let plan = iozone::pass_plan(settings, pass, &scene);
    let result = match session.measure(&plan, title, pass)? {
        Ok(result) => result,
        Err(ill) => return Ok(Err(ill)),
    };
    latency::convert(settings, pass, &result.jobs, (Whose::Only, Crew::all(&result.jobs)))?;
    let value = result
        .jobs
        .first()
        .map_or(0, |job| iozone::rate(PassTime::of(job, settings.computing(pass.test)), settings.unit));
    session.keep(title, (size_kb, record_kb), result);
    Ok(Ok(value))
}

/// The tables behind the rows: one per pass that was shown.
fn tables(settings: &Settings, rows: &[(u64, u64)], values: &Values) -> Vec<Table> {
    let records_kb = columns(settings, rows);
    let mut tables = Vec::new();
    for test in SINGLE {
        for (number, name) in (0..).zip(test.reports) {
            let Some(found) = values.by_pass.get(&(test.number, number)) else { continue };
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

/// The records that have a column.
fn columns(settings: &Settings, rows: &[(u64, u64)]) -> Vec<u64> {
    if settings.mode == Mode::Auto || settings.records_kb.is_empty() {
        let (least, most) = settings.record_range_kb;
        let most = most.unwrap_or(Settings::LARGEST_RECORD_KB);
        let factor = settings.multiplier.max(2);
        let steps =
            std::iter::successors(Some(least.unwrap_or(Settings::RECORD_KB)), |&record| record.checked_mul(factor));
        return steps.take_while(|&record| record <= most).collect();
    }
    let mut records: Vec<u64> = rows.iter().map(|&(_, record)| record).collect();
    records.sort_unstable();
    records.dedup();
    records
}

fn report(session: &mut Session<'_>, tables: &[Table]) -> Result<(), Failure> {
    let settings = session.settings;
    if settings.report.text || settings.report.sheet.is_some() {
        session.write(&iozone_text::tables(tables))?;
    }
    if let Some(path) = &settings.report.sheet {
        let bytes = sheet(path, &session.command, tables)?;
        sys::aside::write(path, &bytes).map_err(|error| Failure::writing(&path.display().to_string(), &error))?;
    }
    if let Some(path) = &settings.csv {
        let text = iozone_sheet::csv(tables);
        Output::made(path)?.write(&text)?;
    }
    Ok(())
}

/// A workbook where the name says so, else the worksheet of the original.
fn sheet(path: &Path, command: &str, tables: &[Table]) -> Result<Vec<u8>, Failure> {
    if super::is_workbook(path) {
        return iozone_sheet::xlsx(command, tables)
            .map_err(|error| Failure::new(format!("{}: {error}", path.display())));
    }
    Ok(iozone_sheet::biff(&format!("{command} "), tables))
}
