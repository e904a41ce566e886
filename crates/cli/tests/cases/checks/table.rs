//! The detector as a detector: of the set-ups in which a number is not what it seems, how many are found by their
//! cause; of honest runs and genuine reports, how many are accused. By class, with the time that each took.
//!
//! A row that is wrong while other processes are at work is repeated. A set-up that is missed then, too, is missed. An
//! honest run of which only is said what is true of a busy machine is disturbed: it counts neither as silent nor as
//! accused.

use super::other_work::{Tried, retried};
use super::setups::{Rig, Setup};
use super::{Finding, LISTS, honest};
use crate::elsewhere;
use std::path::Path;
use std::time::{Duration, Instant};

/// The least of set-ups that are caught, and the most of honest runs that are accused, in percent.
const CAUGHT: usize = 95;
const ACCUSED: usize = 2;
/// Fewer rows would make these percentages mean little.
const SETUPS_MIN: usize = 80;
const HONEST_MIN: usize = 60;

/// A class of what makes a number untrue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    MemoryBelow,
    NothingStored,
    FlushWithoutEffect,
    Plan,
    Time,
    HiddenLimits,
    Neighbours,
    Elsewhere,
}

impl Class {
    const ALL: [Class; 8] = [
        Class::MemoryBelow,
        Class::NothingStored,
        Class::FlushWithoutEffect,
        Class::Plan,
        Class::Time,
        Class::HiddenLimits,
        Class::Neighbours,
        Class::Elsewhere,
    ];

    fn title(self) -> &'static str {
        match self {
            Class::MemoryBelow => "memory below",
            Class::NothingStored => "nothing stored there",
            Class::FlushWithoutEffect => "flush without effect",
            Class::Plan => "the plan",
            Class::Time => "time",
            Class::HiddenLimits => "hidden limits",
            Class::Neighbours => "neighbours",
            Class::Elsewhere => "reports from elsewhere",
        }
    }

    /// The class of what a check finds; each check has one.
    pub(super) fn of(check: &str) -> Option<Class> {
        Some(match check {
            "backing" | "cache" | "small set" | "link ceiling" => Class::MemoryBelow,
            "holes" | "contents" | "compressible" | "nothing moved" | "file properties" | "errors" => {
                Class::NothingStored
            }
            "no flush" | "flush effect" | "buffered latency" => Class::FlushWithoutEffect,
            "impossible plan" | "overlap" | "busy users" | "depth" | "mixed group" | "too short" | "amplification"
            | "split / merge" => Class::Plan,
            "not steady" | "two latencies" | "coordinated omission" => Class::Time,
            "limiter" | "throttled" | "client CPU" | "late sender" | "tool share" => Class::HiddenLimits,
            "neighbour" => Class::Neighbours,
            "contradiction" => Class::Elsewhere,
            _ => return None,
        })
    }
}

/// The numbers of one class.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    setups: usize,
    caught: usize,
    time: Duration,
    honest: usize,
    accused: usize,
}

/// What came of an honest run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Silent,
    Accused,
    Disturbed,
}

/// The table, and its rows that are wrong.
#[derive(Default)]
struct Table {
    classes: [Counts; Class::ALL.len()],
    /// Honest runs that were judged, those of them that were accused, those that were not judged, and the time of all.
    /// A run that is accused by checks of two classes is in both, and one run here.
    honest: usize,
    accused: usize,
    disturbed: usize,
    time: Duration,
    wrong: Vec<String>,
}

impl Table {
    fn class(&mut self, class: Class) -> &mut Counts {
        &mut self.classes[Class::ALL.iter().position(|known| *known == class).expect("all are listed")]
    }

    /// Adds a set-up; `missed` is what was found instead.
    fn add_setup(&mut self, class: Class, name: &str, missed: Option<&str>, took: Duration) {
        let counts = self.class(class);
        (counts.setups, counts.time) = (counts.setups + 1, counts.time + took);
        counts.caught += usize::from(missed.is_none());
        let word = if missed.is_none() { "caught" } else { "MISSED" };
        self.say(word, class.title(), name, took, missed);
    }

    /// Adds an honest run, with what accused it.
    fn add_honest(&mut self, run: &honest::Run, tried: &Tried<Vec<Finding>>) {
        self.time += tried.took;
        let found = tried.found.as_slice();
        let verdict = match found.is_empty() {
            true => Verdict::Silent,
            false if run.is_explained_by_others(found, tried.others) => Verdict::Disturbed,
            false => Verdict::Accused,
        };
        let classes: Vec<Class> = match verdict {
            Verdict::Accused => found.iter().filter_map(|(check, _)| Class::of(check)).collect(),
            Verdict::Silent | Verdict::Disturbed => Vec::new(),
        };
        self.disturbed += usize::from(verdict == Verdict::Disturbed);
        if verdict != Verdict::Disturbed {
            self.honest += 1;
            self.accused += usize::from(verdict == Verdict::Accused);
            for class in Class::ALL.into_iter().filter(|&class| class != Class::Elsewhere) {
                let counts = self.class(class);
                counts.honest += 1;
                counts.accused += usize::from(classes.contains(&class));
            }
        }
        let word = match verdict {
            Verdict::Silent => "silent",
            Verdict::Accused => "ACCUSED",
            Verdict::Disturbed => "disturbed",
        };
        let sentences = (!found.is_empty()).then(|| format!("{}{}", joined(found), disturbed(tried)));
        self.say(word, "", &format!("{:?}: {}", run.place, run.name), tried.took, sentences.as_deref());
    }

    fn say(&mut self, word: &str, class: &str, name: &str, took: Duration, wrong: Option<&str>) {
        let line = format!("{word:<10}{class:<23} {name:<62} {:>6.1} s", took.as_secs_f64());
        println!("{line}");
        if let Some(why) = wrong {
            println!("          {why}");
            self.wrong.push(format!("{}\n          {why}", line.trim_end()));
        }
    }

    fn print(&self) {
        let head = ["class", "set-ups", "caught", "missed", "seconds", "honest runs", "wrongly accused"];
        println!(
            "\n{:<24}{:>9}{:>9}{:>9}{:>10}{:>13}{:>17}",
            head[0], head[1], head[2], head[3], head[4], head[5], head[6]
        );
        let row = |title: &str, of: &Counts| {
            let missed = of.setups - of.caught;
            let seconds = of.time.as_secs_f64();
            println!(
                "{title:<24}{:>9}{:>9}{missed:>9}{seconds:>10.1}{:>13}{:>17}",
                of.setups, of.caught, of.honest, of.accused
            );
        };
        Class::ALL.iter().zip(&self.classes).for_each(|(class, counts)| row(class.title(), counts));
        row("all", &self.sum());
        println!(
            "The honest runs took {:.0} s; {} of them were disturbed by other processes and not judged.",
            self.time.as_secs_f64(),
            self.disturbed
        );
        if !self.wrong.is_empty() {
            println!("\nWrong rows:\n{}", self.wrong.join("\n"));
        }
    }

    fn sum(&self) -> Counts {
        let elsewhere = self.classes[Class::ALL.len() - 1];
        Counts {
            setups: self.classes.iter().map(|class| class.setups).sum(),
            caught: self.classes.iter().map(|class| class.caught).sum(),
            time: self.classes.iter().map(|class| class.time).sum(),
            honest: self.honest + elsewhere.honest,
            accused: self.accused + elsewhere.accused,
        }
    }

    /// The reasons why the table does not pass.
    fn shortcomings(&self) -> Vec<String> {
        let sum = self.sum();
        let rules = [
            (sum.setups < SETUPS_MIN, format!("{} set-ups, fewer than {SETUPS_MIN}", sum.setups)),
            (self.honest < HONEST_MIN, format!("{} honest runs were judged, fewer than {HONEST_MIN}", self.honest)),
            (
                100 * sum.caught < CAUGHT * sum.setups,
                format!("{} of {} set-ups caught, fewer than {CAUGHT} %", sum.caught, sum.setups),
            ),
            (
                100 * self.accused > ACCUSED * self.honest,
                format!("{} of {} honest runs accused, more than {ACCUSED} %", self.accused, self.honest),
            ),
            (
                100 * sum.accused > ACCUSED * sum.honest,
                format!("{} of {} honest runs and reports accused, more than {ACCUSED} %", sum.accused, sum.honest),
            ),
        ];
        rules.into_iter().filter(|(broken, _)| *broken).map(|(_, why)| why).collect()
    }
}

/// The findings in one line.
fn joined(found: &[Finding]) -> String {
    let each: Vec<String> = found.iter().map(|(check, sentence)| format!("{check}: {sentence}")).collect();
    if each.is_empty() { "nothing was found".to_owned() } else { each.join("; ") }
}

/// A note for a row during which other processes worked.
fn disturbed<T>(tried: &Tried<T>) -> String {
    match tried.others.are_busy() {
        true => format!(" [{}]", tried.others),
        false => String::new(),
    }
}

/// Makes the table and prints it.
pub(super) fn detector() -> Result<(), String> {
    let mut table = Table::default();
    for setup in LISTS.iter().flat_map(|(setups, _)| setups.iter()) {
        add_setup(&mut table, setup);
    }
    for (name, is_found) in elsewhere::doctored_reports() {
        let started = Instant::now();
        let missed = is_found().err();
        table.add_setup(Class::Elsewhere, name, missed.as_deref(), started.elapsed());
    }
    for (file, accusations) in elsewhere::genuine_reports() {
        add_genuine(&mut table, &file, &accusations);
    }
    for (name, accusations) in elsewhere::reports_of_groups() {
        add_genuine(&mut table, Path::new(&name), &accusations);
    }
    for place in honest::PLACES {
        let made = honest::Made::new(place);
        for run in honest::runs_at(place) {
            table.add_honest(&run, &honest::judged(&made, &run));
        }
    }
    table.print();
    match table.shortcomings() {
        none if none.is_empty() => Ok(()),
        why => Err(why.join("\n")),
    }
}

fn add_setup(table: &mut Table, setup: &'static Setup) {
    let is_caught = |found: &Vec<Finding>| found.iter().any(|(check, _)| check == setup.check);
    let tried = retried(|| (setup.run)(&Rig::new()), is_caught);
    let missed = (!is_caught(&tried.found)).then(|| format!("instead: {}{}", joined(&tried.found), disturbed(&tried)));
    let class = Class::of(setup.check).expect("each check has a class");
    table.add_setup(class, &format!("{}: {}", setup.check, setup.how), missed.as_deref(), tried.took);
}

/// A kept report counts as an honest run of the last class.
fn add_genuine(table: &mut Table, file: &Path, accusations: &[String]) {
    let counts = table.class(Class::Elsewhere);
    counts.honest += 1;
    counts.accused += usize::from(!accusations.is_empty());
    if !accusations.is_empty() {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        table.say("ACCUSED", Class::Elsewhere.title(), &name, Duration::ZERO, Some(&accusations.join("; ")));
    }
}
