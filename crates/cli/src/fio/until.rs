//! `--until-regime`: a run that ends at a change of its rate, or once its rate is settled.

use crate::failure::Failure;
use analysis::regime::RegimeWatch;
use model::Until;
use plan::Plan;

/// Reads the value of the option for this plan.
pub(super) fn read(word: Option<&str>, plan: &Plan) -> Result<Option<RegimeWatch>, Failure> {
    let Some(word) = word else { return Ok(None) };
    let until = match word {
        "change" => Until::Change,
        "settled" => Until::Settled,
        _ => {
            return Err(Failure::new(format!(
                "--until-regime={word}: it takes change (end when the rate changes) or settled (end once it is settled)"
            )));
        }
    };
    let is_virtual =
        |name: &str| engine::ENGINES.iter().any(|engine| engine.name == name && engine.capabilities.virtual_time);
    match plan.jobs.iter().find(|job| is_virtual(job.engine)) {
        Some(job) => Err(Failure::new(format!(
            "--until-regime={word}: job `{}` runs in simulated time (ioengine={}), of which no samples are taken; what works is \
             an engine that does I/O",
            job.name, job.engine
        ))),
        None => Ok(Some(RegimeWatch::new(until))),
    }
}
