//! The rows of files as the report card needs them: judged, by system, with the disks that they are of.

use crate::failure::Failure;
use crate::input::{self, NamedFile};
use crate::output::Verbosity;
use analysis::measured;
use analysis::report_card::{Disk, disks_of, mark_unstable_writes};
use formats::results::{Own, of_reading, own};
use formats::stream::{Event, Parser, Repeats};
use measure::Direction;
use model::measurement::TestName;
use model::{Measurement, RunResult};
use std::path::{Path, PathBuf};
use survey::push_new;

/// A system with its sweep.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    pub(super) system: String,
    pub(super) rows: Vec<Measurement>,
    pub(super) disks: Vec<Disk>,
}

/// The sweeps of some files, and the number of places that could not be read.
#[derive(Debug, Default)]
pub(super) struct Sweeps {
    pub(super) all: Vec<Sweep>,
    pub(super) damaged: usize,
    /// Name of the rows of single runs, which form one sweep: the first file with any.
    unnamed: Option<String>,
}

impl Sweeps {
    /// Reads the files. A survey is a sweep; so are all single runs and rows that name no system.
    pub(super) fn read(files: &[PathBuf], verbosity: Verbosity) -> Result<Sweeps, Failure> {
        let mut sweeps = Sweeps::default();
        for file in &input::named(files) {
            let bytes = input::read_bytes(&file.path)?;
            match std::str::from_utf8(&bytes).ok().and_then(own) {
                Some(own) => sweeps.add_own(file, own),
                None => sweeps.add_foreign(file, &bytes, verbosity),
            }
        }
        Ok(sweeps)
    }

    fn add_own(&mut self, file: &NamedFile, own: Own) {
        let survey = own.is_survey.then(|| file.path.display().to_string());
        for mut located in own.found {
            let rows = rows_of(&located.result);
            self.add(file, survey.as_deref(), rows, Some(&mut located.result));
        }
    }

    fn add_foreign(&mut self, file: &NamedFile, bytes: &[u8], verbosity: Verbosity) {
        let path: &Path = &file.path;
        let mut repeats = Repeats::default();
        let mut damages = 0;
        let mut parser = Parser::of_results(|event| match event {
            Event::Repeated(repeated) => repeats.add(&repeated),
            Event::Damage(damage) => {
                damages += 1;
                if damages <= input::MOST_MESSAGES {
                    input::print_damage(path, &damage);
                }
            }
            Event::Reading(reading) => {
                let rows = formats::sweep::measurements(&reading, input::log_kind(path));
                let located = of_reading(reading);
                self.add(file, None, rows, located.map(|located| located.result).as_mut());
            }
        });
        parser.feed(bytes);
        parser.finish();
        self.damaged += damages;
        input::print_repeats(path, &repeats, verbosity);
    }

    /// Adds rows to their systems, marked if they say nothing of the storage, and if they are averages of phases that
    /// differ.
    fn add(
        &mut self,
        file: &NamedFile,
        survey: Option<&str>,
        mut rows: Vec<Measurement>,
        result: Option<&mut RunResult>,
    ) {
        let mut disks = Vec::new();
        if let Some(result) = result {
            analysis::judge(result);
            let (limited_by, lasting) = (result.limited_by.as_ref(), result.lasting.as_ref());
            rows.iter_mut().for_each(|row| analysis::mark(row, &result.notes, limited_by, lasting));
            disks = disks_of(result);
        }
        for mut row in rows {
            let stated = file.name.clone().or(row.system.take()).or(survey.map(str::to_owned));
            let unnamed = || self.unnamed.get_or_insert_with(|| file.path.display().to_string()).clone();
            let system = stated.unwrap_or_else(unnamed);
            let known = self.all.iter().position(|sweep| sweep.system == system);
            let at = known.unwrap_or(self.all.len());
            if known.is_none() {
                self.all.push(Sweep { system, ..Sweep::default() });
            }
            let sweep = &mut self.all[at];
            sweep.rows.push(row);
            disks.iter().for_each(|disk| push_new(&mut sweep.disks, disk.clone()));
        }
    }
}

/// The rows of a result of plumb, as the page has them: unlike jobs apart, like ones together, one row per direction
/// with I/O.
fn rows_of(result: &RunResult) -> Vec<Measurement> {
    let kinds = result.kinds_of_jobs();
    let count = kinds.iter().max().map_or(0, |last| last + 1);
    let of_kind = |kind: usize| {
        let jobs = result.jobs.iter().zip(&kinds).filter(|(_, of)| **of == kind).map(|(job, _)| job.clone());
        RunResult { jobs: jobs.collect(), ..RunResult::default() }
    };
    (0..count).flat_map(|kind| rows_of_kind(&of_kind(kind))).collect()
}

fn rows_of_kind(result: &RunResult) -> Vec<Measurement> {
    let Some(merged) = measured::merged(result) else { return Vec::new() };
    let test = formats::echoed::pattern(&merged).unwrap_or(&merged.echo.name).into();
    let of = |direction| measured::measurement(&merged, direction);
    let rows = Direction::ALL.into_iter().filter_map(of);
    let mut rows: Vec<Measurement> = rows.map(|row| Measurement { test: TestName::clone(&test), ..row }).collect();
    mark_unstable_writes(result, rows.iter_mut());
    rows
}
