//! The rounds: runs both sides in random order, again and again, until it is enough.

use super::shown::Screen;
use super::sides::{NAMES, SidePlan, Turn, Words, apart, check_together, merged, workers};
use crate::failure::{Cut, Failure};
use crate::output::Verbosity;
use crate::safe_files::{AtomicFile, Durability, result_directory};
use analysis::compare::{Goal, Metric, Observation, Round, Standing, observe, standing, turns_progress};
use measure::{Nanos, SplitMix};
use model::RunResult;
use session::arguments::Findings;
use session::progress::Display;
use session::{Run, Session};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a pause goes on without a look at the signals.
const NAP: Duration = Duration::from_millis(50);

pub(super) struct Settings {
    pub(super) words: Words,
    /// Shell commands before each run of A and of B.
    pub(super) before: [Option<String>; 2],
    pub(super) limits: Limits,
    /// The numbers that have to be decided.
    pub(super) metrics: Vec<Metric>,
    pub(super) tolerance: f64,
    pub(super) rest: Duration,
    pub(super) seed: u64,
    pub(super) pairing: Pairing,
}

/// When the rounds end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limits {
    pub(super) goal: Goal,
    pub(super) most: usize,
    /// Fewer are enough once the goal is reached.
    pub(super) may_end_early: bool,
    /// No round is begun that would end later.
    pub(super) time: Duration,
}

/// How the two runs of a round are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pairing {
    InTurns,
    Together,
}

/// Reason why the rounds ended.
#[derive(Debug)]
pub(super) enum Ending {
    Settled,
    Rounds,
    Time,
    /// A signal came, or a run failed.
    Cut(Cut),
}

impl Settings {
    /// Checks both sides before anything is measured.
    pub(super) fn check(&self, verbosity: Verbosity) -> Result<(), Failure> {
        let [a, b] = [0, 1].map(|side| self.words.plan(side, Turn { round: 1, run: side + 1 }));
        let (a, b) = (a?, b?);
        let mut warnings = [a.warnings, b.warnings].concat();
        warnings.dedup();
        warnings.iter().for_each(|warning| verbosity.remark(&format!("plumb: {warning}")));
        match self.pairing {
            Pairing::InTurns => Ok(()),
            Pairing::Together => check_together([&a.plan, &b.plan]),
        }
    }
}

pub(super) struct Measurement<'a> {
    settings: &'a Settings,
    session: &'a mut Session,
    pub(super) folder: Folder,
    display: Display,
    pub(super) rounds: Vec<Round>,
    /// The results of each round, A and B, if they are printed at the end.
    pub(super) results: Vec<[RunResult; 2]>,
    pub(super) standing: Option<Standing>,
    /// Findings that results are not of the storage.
    pub(super) findings: Findings,
    began: Instant,
    /// Number of runs that were begun.
    runs: usize,
    /// Time that runs took, with what is around them.
    took: Duration,
    random: SplitMix,
}

impl<'a> Measurement<'a> {
    pub(super) fn new(settings: &'a Settings, session: &'a mut Session, folder: Folder) -> Self {
        let display = session.display(Nanos::ZERO);
        Measurement {
            settings,
            session,
            folder,
            display,
            rounds: Vec::new(),
            results: Vec::new(),
            standing: None,
            findings: Findings::default(),
            began: Instant::now(),
            runs: 0,
            took: Duration::ZERO,
            random: SplitMix::new(settings.seed),
        }
    }

    pub(super) fn clear(&mut self) {
        self.display.clear();
    }

    /// True if the goal is reached.
    pub(super) fn is_settled(&self) -> bool {
        self.standing.as_ref().is_some_and(Standing::is_settled)
    }

    /// The checks whose findings that results are not of the storage are accepted.
    pub(super) fn accepted(&self) -> &[&'static str] {
        self.session.args().accept.checks()
    }

    /// Mean time of a round, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        let rounds = u32::try_from(self.rounds.len()).unwrap_or(u32::MAX).max(1);
        (self.took / rounds).as_secs_f64()
    }

    /// Makes rounds until they are enough. All complete ones are kept, however it ends.
    pub(super) fn all(&mut self, screen: &mut Screen) -> Ending {
        let Limits { most, may_end_early, time, .. } = self.settings.limits;
        while self.rounds.len() < most {
            let next = Duration::from_secs_f64(if self.rounds.is_empty() { 0.0 } else { self.seconds() });
            if self.began.elapsed() + next > time {
                return Ending::Time;
            }
            if let Err(cut) = self.round(screen) {
                return Ending::Cut(cut);
            }
            if may_end_early && self.is_settled() {
                return Ending::Settled;
            }
        }
        Ending::Rounds
    }

    fn round(&mut self, screen: &mut Screen) -> Result<(), Cut> {
        let began = Instant::now();
        let first = usize::from(self.random.fraction() >= 0.5);
        let (results, first) = match self.settings.pairing {
            Pairing::Together => (self.fit(first, Self::both)?, None),
            Pairing::InTurns => {
                let [one] = self.fit(first, Self::one)?;
                let [other] = self.fit(1 - first, Self::one)?;
                (if first == 0 { [one, other] } else { [other, one] }, Some(first))
            }
        };
        let number = self.rounds.len() + 1;
        let sides: [Vec<Observation>; 2] = [0, 1].map(|side| {
            let mut found = observe(&results[side], None, number);
            // What is not accepted has ended the rounds.
            found.iter_mut().for_each(|one| one.not_storage = None);
            found
        });
        self.rounds.push(Round { first, sides });
        let Settings { metrics, limits, tolerance, .. } = self.settings;
        let found = standing(&self.rounds, limits.most, metrics, limits.goal, *tolerance).map_err(|why| {
            self.rounds.pop();
            Failure::from(why)
        })?;
        self.folder.round(number, [&results[0], &results[1]])?;
        if self.folder.path().is_none() {
            self.results.push(results);
        }
        self.took += began.elapsed();
        let shown = &self.rounds;
        self.display.between(|| screen.round(shown, &found, limits.goal))?;
        self.standing = Some(found);
        Ok(())
    }

    /// Runs, once more if a result is not of the storage.
    fn fit<const COUNT: usize>(
        &mut self,
        side: usize,
        run: impl Fn(&mut Self, usize) -> Result<[RunResult; COUNT], Cut>,
    ) -> Result<[RunResult; COUNT], Cut> {
        let mut found = run(self, side)?;
        if self.session.check_storage(&found).is_err() {
            found = run(self, side)?;
        }
        found.iter().for_each(|result| self.findings.add(result, &self.session.args().accept));
        self.session.check_storage(&found).map_err(|cut| match cut {
            Cut::NotStorage(why) => Cut::Failed(Failure::new(format!(
                "round {}: NOT A STORAGE RESULT, twice: {}: {}; to compare it all the same: --accept {}",
                self.rounds.len() + 1,
                why.check,
                why.sentence,
                analysis::check_word(&why.check)
            ))),
            cut => cut,
        })?;
        Ok(found)
    }

    fn one(&mut self, side: usize) -> Result<[RunResult; 1], Cut> {
        self.rest()?;
        self.prepare(side)?;
        let parsed = self.settings.words.plan(side, self.next_turn())?;
        Ok([self.execute(parsed, NAMES[side])?])
    }

    /// Both sides at the same time.
    fn both(&mut self, _side: usize) -> Result<[RunResult; 2], Cut> {
        self.rest()?;
        let turn = self.next_turn();
        let a = self.settings.words.plan(0, turn)?;
        let b = self.settings.words.plan(1, self.next_turn())?;
        let workers = workers(&a.plan);
        let result = self.execute(merged([a, b]), "A and B")?;
        Ok(apart(result, workers))
    }

    fn next_turn(&mut self) -> Turn {
        self.runs += 1;
        Turn { round: self.rounds.len() + 1, run: self.runs }
    }

    fn rest(&self) -> Result<(), Cut> {
        let until = Instant::now() + if self.runs == 0 { Duration::ZERO } else { self.settings.rest };
        loop {
            if let Some(signal) = self.session.caught() {
                return Err(Cut::Signal(signal));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(NAP));
        }
    }

    /// Runs the command before a side.
    fn prepare(&self, side: usize) -> Result<(), Cut> {
        let Some(command) = &self.settings.before[side] else { return Ok(()) };
        // Standard output is for the result.
        let status = Command::new("/bin/sh").arg("-c").arg(command).stdout(Stdio::from(std::io::stderr())).status();
        if let Some(signal) = self.session.caught() {
            return Err(Cut::Signal(signal));
        }
        let why = match status {
            Ok(status) if status.success() => return Ok(()),
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        Err(Cut::Failed(Failure::new(format!("the command before {} failed: {command}: {why}", NAMES[side]))))
    }

    fn execute(&mut self, parsed: SidePlan, name: &str) -> Result<RunResult, Cut> {
        self.show(name);
        let title = format!("round {}, {name}", self.rounds.len() + 1);
        let mut run = Run::new(&title, &parsed.plan);
        run.options.read_only = parsed.is_read_only;
        self.session.run(run, &mut self.display)
    }

    /// Shows the run that begins, the change so far, and the time that is left.
    fn show(&mut self, name: &str) {
        let Limits { goal, most, time, .. } = self.settings.limits;
        let done = self.rounds.len();
        let question = self.standing.as_ref().and_then(|found| found.questions.first());
        let change = question.and_then(|question| turns_progress(question, goal));
        let change = change.map(|change| format!("  B ÷ A {change}")).unwrap_or_default();
        let title = format!("round {} of at most {most}, {name}{change}", done + 1);
        let needed = self.standing.as_ref().and_then(Standing::rounds).filter(|&needed| needed > done);
        let total = Duration::from_secs_f64(self.seconds() * measure::float(needed.unwrap_or(most).min(most) as u64));
        let this = Duration::from_secs_f64(self.seconds() / 2.0);
        let nanos = |time: Duration| Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        let left = if done == 0 { None } else { Some(nanos(total.min(time))) };
        self.display.round(title, [nanos(self.took), nanos(this)], left);
    }
}

/// The directory with a native result for each run and the conclusion, if there is one.
#[derive(Debug)]
pub(super) struct Folder {
    path: Option<PathBuf>,
}

impl Folder {
    /// No directory: the results are printed.
    pub(super) const fn none() -> Self {
        Folder { path: None }
    }

    /// Creates this directory, which may exist if it is empty, or the first free `plumb-versus-NNN`.
    pub(super) fn make(asked: Option<&Path>) -> Result<Self, Failure> {
        result_directory(asked, "plumb-versus", "-o").map(|path| Folder { path: Some(path) })
    }

    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Writes the results of a round, A and B.
    pub(super) fn round(&self, number: usize, results: [&RunResult; 2]) -> Result<(), Failure> {
        for (side, result) in ["a", "b"].into_iter().zip(results) {
            self.put(&format!("{side}-{number:03}.json"), &formats::native::write(result)?)?;
        }
        Ok(())
    }

    /// Writes the conclusion; removes a directory without results.
    pub(super) fn conclusion(&self, text: &str) -> Result<(), Failure> {
        let Some(path) = &self.path else { return Ok(()) };
        // Fails if there is something in it.
        if std::fs::remove_dir(path).is_ok() { Ok(()) } else { self.put("versus.json", text) }
    }

    fn put(&self, name: &str, text: &str) -> Result<(), Failure> {
        let Some(path) = &self.path else { return Ok(()) };
        AtomicFile::at(&path.join(name))?.write(text.as_bytes(), Durability::Synced)
    }
}
