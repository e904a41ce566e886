//! `plumb parse --format openmetrics`: the intervals of results with their times, for promtool's backfill.

use crate::failure::Failure;
use crate::input::{self, NamedFile};
use crate::streams::Written;
use session::publish::of_result;

/// Writes all results that have intervals. A file with one run is the run; of several, each is `FILE:NUMBER`.
pub(super) fn run(files: &[NamedFile], written: &Written) -> Result<u8, Failure> {
    let mut out = written.open()?;
    let (mut runs, mut damages) = (Vec::new(), 0);
    for NamedFile { name, path } in files {
        let (found, damaged) = input::read_results(path)?;
        damages += damaged;
        let shown = name.clone().unwrap_or_else(|| path.display().to_string());
        let is_one = found.len() == 1;
        for (number, located) in (1..).zip(&found) {
            let run = if is_one { shown.clone() } else { format!("{shown}:{number}") };
            match of_result(&run, &located.result) {
                Some(metrics) => runs.push(metrics),
                None => {
                    damages += 1;
                    let why = "has no intervals: only plumb fio --result, survey, knee and iozone --json write them";
                    Failure::new(format!("{run}: {} {why}", located.title)).print();
                }
            }
        }
    }
    if !runs.is_empty() {
        out.write(&formats::openmetrics::open_metrics(&runs))?;
    }
    Ok(input::status(runs.len(), damages))
}
