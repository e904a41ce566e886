//! Throughput mode: several children at the same time, a block of lines per test.

use super::child_files::{self, ChildRange, Whose};
use super::cluster;
use super::iozone_run::{IozoneRun, PassError};
use super::unit_name;
use crate::failure::Failure;
use crate::members::lead::NoView;
use crate::output::Output;
use formats::iozone::text::{self as iozone_text, Block, BlockPlace, COMPLETE, ChildKind, ThroughputTable};
use iozone::{Cause, Figures, Pass, Scene, Settings, Sizes, Test, ThroughputTest, throughput_tests};
use model::RunResult;
use std::path::PathBuf;

/// A test's values, one per number of children.
struct Line {
    name: &'static str,
    throughput: Vec<f64>,
    cpu_percent: Vec<f64>,
}

/// Runs all tests for each number of children. Returns the exit status.
pub(crate) fn run(run: &mut IozoneRun<'_>) -> Result<u8, Failure> {
    let settings = run.settings;
    let kind = if settings.threads { ChildKind::Thread } else { ChildKind::Process };
    let first = settings.bounds.map_or_else(|| settings.children.last().copied().unwrap_or(1), |(least, _)| least);
    run.write(&iozone_text::throughput_start(kind, first, settings.bounds))?;
    let record_kb = settings.records_kb.first().copied().unwrap_or(Settings::RECORD_KB);
    let size_kb = settings.sizes_kb.first().copied().unwrap_or(Settings::SIZE_KB);
    let line = |test: &ThroughputTest| Line { name: test.report, throughput: Vec::new(), cpu_percent: Vec::new() };
    let mut lines: Vec<Line> = throughput_tests(settings).map(line).collect();
    for &count in &settings.children {
        let file_kb = if settings.divides { size_kb / u64::from(count.max(1)) } else { size_kb };
        run.write(&if settings.written.is_some() {
            iozone_text::each_writes_by_telemetry(kind, file_kb)
        } else {
            iozone_text::each_writes(kind, file_kb, record_kb)
        })?;
        for (test, line) in throughput_tests(settings).zip(&mut lines) {
            if test.retest && settings.no_retest {
                line.throughput.push(0.0);
                line.cpu_percent.push(0.0);
                continue;
            }
            match run_test(run, test, count, Sizes { file_kb, record_kb }) {
                Ok(figures) => {
                    show(run, test, &figures, kind)?;
                    line.throughput.push(figures.together());
                    line.cpu_percent.push(iozone_text::percent(figures.cpu_s(), figures.wall_s()));
                }
                Err(PassError::Pass(failure)) => {
                    let lost = if let Cause::Lost(rank) = failure.cause { Some(rank) } else { None };
                    clean_members(run, lost)?;
                    return run.fail(&failure);
                }
                Err(PassError::Program(failure)) => return Err(failure),
            }
            run.settle()?;
        }
        if settings.members.is_empty() {
            run.write("\n\n")?;
        }
    }
    if !settings.members.is_empty() {
        run.write("\n\tTest cleanup:\n\n")?;
        clean_members(run, None)?;
    }
    run.files.clean(settings);
    report(run, kind, record_kb, &lines)?;
    run.write(COMPLETE)?;
    Ok(0)
}

/// Requests the members of a cluster to remove their files, but for one that says nothing any more.
fn clean_members(run: &mut IozoneRun<'_>, lost: Option<u32>) -> Result<(), Failure> {
    let settings = run.settings;
    let most = settings.children.iter().copied().max().unwrap_or(0);
    match &mut run.members {
        // They remove their files when they exit.
        Some(members) => members.end(&mut NoView),
        None if settings.members.is_empty() || settings.keep => {}
        None => cluster::clean(settings, most, lost)?,
    }
    Ok(())
}

pub(super) fn run_test(
    run: &mut IozoneRun<'_>,
    test: &ThroughputTest,
    count: u32,
    sizes: Sizes,
) -> Result<Figures, PassError> {
    let settings = run.settings;
    let pass = Pass { test: test.test, number: test.pass };
    if !settings.members.is_empty() {
        let result = cluster::measure(settings, pass, count, sizes, run.members.as_deref_mut())?;
        return Ok(keep(run, test, sizes, result));
    }
    let mut scenes = Vec::new();
    for index in 0..count {
        let number = if settings.shared_file { 0 } else { index as usize };
        let made_up = || PathBuf::from(format!("iozone.DUMMY.{number}"));
        let file = settings.files.get(number).cloned().unwrap_or_else(made_up);
        run.files.use_file(&file);
        scenes.push(Scene {
            is_there: file.exists(),
            file,
            sizes,
            latency_log: child_files::latency_stem(settings, index),
            measures_latency: run.measures_latency(),
            cpus: run.cpus,
        });
    }
    if sizes.file_kb < sizes.record_kb && settings.listed(pass.test, pass.moves()).is_none() {
        return Ok(Figures { children: vec![iozone::Child::default(); scenes.len()], ..Figures::default() });
    }
    let plan = iozone::throughput_plan(settings, pass, &scenes);
    let start = child_files::began();
    let result = run.measure(&plan, &format!("{count} {}", test.title), sizes, pass)?;
    let range = ChildRange::all(&result.jobs);
    child_files::convert_latencies(settings, pass, &result.jobs, Whose::Child, range)?;
    if child_files::are_wanted(settings) {
        child_files::write(settings, pass, &start, range, &result.jobs)?;
    }
    Ok(keep(run, test, sizes, result))
}

/// Stores the result of a test and returns its numbers.
fn keep(run: &mut IozoneRun<'_>, test: &ThroughputTest, sizes: Sizes, result: RunResult) -> Figures {
    let settings = run.settings;
    let pass = Pass { test: test.test, number: test.pass };
    let count = ChildRange::all(&result.jobs).count;
    let computing = |index| settings.computing(pass.test, iozone::child_pass(settings, pass, index, count).moves());
    let figures = Figures::of(&result.jobs, settings.unit, computing);
    run.keep(&format!("{} {}", figures.children.len(), test.title), sizes, result);
    figures
}

fn show(run: &mut IozoneRun<'_>, test: &ThroughputTest, figures: &Figures, kind: ChildKind) -> Result<(), Failure> {
    let settings = run.settings;
    let child =
        |child: &iozone::Child| (f64::from(child.amount), f64::from(child.throughput), child.wall_s, child.cpu_s);
    let block = Block {
        title: test.title,
        together: figures.together(),
        parent: figures.parent,
        spread: (figures.least(), figures.most(), figures.mean()),
        least_amount: figures.least_amount(),
        cpu: settings.cpu.then(|| (figures.wall_s(), figures.cpu_s())),
        children: if settings.each_child { figures.children.iter().map(child).collect() } else { Vec::new() },
        count: u32::try_from(figures.children.len()).unwrap_or(u32::MAX),
    };
    let order = if (test.test, test.pass) == (Test::Write, 0) { BlockPlace::First } else { BlockPlace::Later };
    let text = iozone_text::block(&block, kind, unit_name(settings.unit), order);
    run.write(&if settings.members.is_empty() { text } else { cluster::block(&text) })
}

fn report(run: &mut IozoneRun<'_>, kind: ChildKind, record_kb: u64, lines: &[Line]) -> Result<(), Failure> {
    let settings = run.settings;
    let rates = lines.iter().map(|line| (line.name, line.throughput.clone())).collect();
    let mut tables = vec![ThroughputTable::of_rates(kind, unit_name(settings.unit), record_kb, rates)];
    if settings.cpu {
        let percent = lines.iter().map(|line| (line.name, line.cpu_percent.clone())).collect();
        tables.push(ThroughputTable::of_processor(kind, record_kb, percent));
    }
    if settings.report.text || settings.report.sheet.is_some() {
        for table in &tables {
            run.write(&format!("\n{}", table.text()))?;
        }
    }
    if let Some(path) = &settings.report.sheet {
        super::sheet_file::write_throughput(path, &run.command, &settings.children, &tables)?;
    }
    if let Some(path) = &settings.csv {
        let mut text = String::from("test,children,value\n");
        for line in lines {
            for (count, value) in settings.children.iter().zip(&line.throughput) {
                text.push_str(&format!("{},{count},{value:.2}\n", line.name));
            }
        }
        Output::made(path)?.write(&text)?;
    }
    Ok(())
}
