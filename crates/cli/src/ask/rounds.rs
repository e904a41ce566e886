//! Measures the tests of a question, round after round.

use super::question::Question;
use crate::failure::{Cut, Failure};
use analysis::question::{Number, Part, Rule, RuleObservation};
use measure::{Direction, Nanos};
use model::{PhaseKind, RunResult};
use plan::Plan;
use report::sources::PlaceFacts;
use run::VirtualIntervals;
use session::arguments::Findings;
use session::machine::{Machine, parser};
use session::{Run, Session};
use std::path::{Path, PathBuf};
use survey::{ProfileTest, SentenceNumber};

/// A new directory for the files of the tests; dropping it removes them.
#[derive(Debug)]
pub(crate) struct WorkDirectory {
    path: PathBuf,
}

impl WorkDirectory {
    /// Makes it in a directory. One that is there is not touched.
    pub(crate) fn make(parent: &Path) -> Result<Self, Failure> {
        let path = parent.join(format!("plumb-ask-{}", std::process::id()));
        std::fs::create_dir(&path).map_err(|error| Failure::at(&path, format!("cannot be made: {error}")))?;
        Ok(WorkDirectory { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for WorkDirectory {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.path) {
            Failure::at(&self.path, format!("cannot be removed: {error}")).print();
        }
    }
}

/// The rounds of a question.
#[derive(Debug, Default)]
pub(crate) struct RoundResults {
    /// For each test: for each rule: what each round said.
    pub(crate) rules: Vec<Vec<Vec<RuleObservation>>>,
    /// For each test: for each number of its sentence: its value in each round that had enough I/Os for it.
    pub(crate) sentences: Vec<Vec<Vec<f64>>>,
    /// For each test: the rates that each round had.
    pub(crate) rates: Vec<Vec<Vec<Rate>>>,
    /// Host, disk and date.
    pub(crate) place: PlaceFacts,
    /// Findings that results are not of the storage.
    pub(crate) findings: Findings,
    /// The seconds after which a burst or a cache was spent, in the round where this was first, and the sentence.
    pub(crate) until: Option<(f64, String)>,
    /// The signal or failure that ended it early. What was measured before it is here.
    pub(crate) cut: Option<Cut>,
}

/// Rate of a direction in a round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    pub(crate) direction: Direction,
    pub(crate) iops: f64,
    pub(crate) bytes_per_second: f64,
    /// 99th percentile of latency in nanoseconds; `None` with too few I/Os.
    pub(crate) p99: Option<f64>,
}

/// Measures all rounds, up to the first that is cut short.
pub(crate) fn measure(question: &Question, directory: &Path, session: &mut Session) -> RoundResults {
    let tests = &question.profile.tests;
    let mut found = RoundResults {
        rules: tests.iter().map(|test| vec![Vec::new(); test.rules.len()]).collect(),
        sentences: tests.iter().map(|test| vec![Vec::new(); numbers(test).len()]).collect(),
        rates: vec![Vec::new(); tests.len()],
        ..RoundResults::default()
    };
    let mut display = session.display(Nanos::ZERO);
    let [length, all] = [1, question.runs()].map(|runs| Nanos::from_secs(runs * question.seconds()));
    for run in 0..question.runs() {
        let (round, test) = (run / tests.len() as u64, run % tests.len() as u64);
        let test = usize::try_from(test).unwrap_or(0);
        let units = if question.profile.most.is_some() { question.scale() } else { String::new() };
        let title = format!("round {} of {}{units}, {}", round + 1, question.rounds, tests[test].name);
        display.round(title.clone(), [Nanos::from_secs(run * question.seconds()), length], Some(all));
        let plan = plan(question, test, run + 1, directory).map_err(Cut::Failed);
        let ran = plan.and_then(|plan| {
            let mut run = Run::new(&title, &plan);
            run.options.virtual_intervals = VirtualIntervals::Kept;
            session.run(run, &mut display)
        });
        match ran {
            Ok(result) => {
                found.keep(question, test, &result);
                found.findings.add(&result, &session.args().accept);
            }
            Err(cut) => {
                found.cut = Some(cut);
                break;
            }
        }
    }
    display.clear();
    found
}

/// The Plan of a test in a directory; `number` is that of the run.
pub(super) fn plan(question: &Question, test: usize, number: u64, directory: &Path) -> Result<Plan, Failure> {
    let name = &question.profile.tests[test].name;
    let written =
        |(option, value): &(String, String)| format!("{option}={}", value.replace("{run}", &number.to_string()));
    let mut added = vec![format!("directory={}", directory.display().to_string().replace(':', "\\:"))];
    added.extend(question.added.iter().map(written));
    let text = fio::with_options(&question.job_file(test)?, &added);
    let machine = Machine::here();
    let parser = parser();
    let parsed = parser.job_file(&format!("{}, {name}", question.name), &text, &machine.surroundings());
    parsed.map(|(plan, _)| plan).map_err(|error| Failure::new(error.to_string()))
}

/// The numbers of the sentence of a test, which was read with its profile.
fn numbers(test: &ProfileTest) -> Vec<SentenceNumber> {
    test.numbers().unwrap_or_default()
}

/// Refuses in the job file of a test what `--untrusted` refuses. The options that are added to it are the user's.
pub(super) fn check_trust(question: &Question, test: usize) -> Result<(), Failure> {
    let name = format!("{}, {}", question.name, question.profile.tests[test].name);
    let parser = parser().untrusting();
    let parsed = parser.job_file(&name, &question.job_file(test)?, &Machine::here().surroundings());
    parsed.map(drop).map_err(|error| Failure::new(error.to_string()))
}

/// The rates of the directions that had I/O, over the time that counts.
fn rates(result: &RunResult) -> Vec<Rate> {
    let rate = |(part, direction): (Part, Direction)| {
        let of = |number| Rule { part, number, limit: 0.0 };
        let iops = of(Number::Iops).rate(result);
        let p99 = of(Number::Percentile(99.0)).observe(result).value;
        let bytes_per_second = of(Number::Bandwidth).rate(result);
        (iops > 0.0).then_some(Rate { direction, iops, bytes_per_second, p99 })
    };
    [(Part::Read, Direction::Read), (Part::Write, Direction::Write)].into_iter().filter_map(rate).collect()
}

impl RoundResults {
    /// Keeps what a run of a test says.
    fn keep(&mut self, question: &Question, test: usize, result: &RunResult) {
        for (rule, rounds) in question.profile.tests[test].rules.iter().zip(&mut self.rules[test]) {
            // The profile was read with its rules before anything was measured.
            rounds.extend(rule.rule(question.units()).map(|rule| rule.observe(result)));
        }
        for (number, values) in numbers(&question.profile.tests[test]).into_iter().zip(&mut self.sentences[test]) {
            let SentenceNumber { factor, part, number } = number;
            let value = Rule { part, number, limit: 0.0 }.observe(result).value;
            values.extend(value.map(|value| value * factor));
        }
        self.rates[test].push(rates(result));
        self.place.add(result);
        let spent = [PhaseKind::Burst, PhaseKind::WriteCache];
        let first = result.phases.first().filter(|first| result.phases.len() > 1 && spent.contains(&first.kind));
        if let Some((first, sentence)) = first.zip(result.lasting.as_ref().map(|lasting| lasting.sentence.clone())) {
            let seconds = first.until.as_secs_f64();
            if self.until.as_ref().is_none_or(|(known, _)| seconds < *known) {
                self.until = Some((seconds, sentence));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Extent;
    use std::collections::BTreeMap;
    use survey::{PROFILES, Profile};

    #[test]
    fn the_files_of_every_profile_fit_in_its_space() {
        for (name, text) in PROFILES {
            let profile = Profile::from_toml(text).unwrap();
            let space = profile.bytes().unwrap();
            let tests = profile.tests.len();
            let (units, time, rounds) = (profile.most, 60, 3);
            let question = Question { name: (*name).to_owned(), profile, units, time, rounds, added: Vec::new() };
            // Jobs of the same name in later tests use the same files.
            let mut files: BTreeMap<String, u64> = BTreeMap::new();
            for test in 0..tests {
                for job in plan(&question, test, 1, Path::new(".")).unwrap().jobs {
                    let Some(Extent::Bytes(size)) = job.files.size else { panic!("{name}: no size") };
                    let bytes = files.entry(job.name.clone()).or_default();
                    *bytes = size.saturating_mul(u64::from(job.clones)).max(*bytes);
                }
            }
            assert!(files.values().sum::<u64>() <= space, "{name}: {files:?} do not fit in {space}");
        }
    }
}
