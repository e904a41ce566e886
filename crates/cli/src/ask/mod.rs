//! `plumb ask`: is this storage enough for a program? Measures its I/O in rounds and holds it against published limits.
//!
//! Owns the command line, the page to send to others, and the exit status. `survey` has the profiles,
//! `analysis::question` judges, `rounds` measures, `shown` prints.

mod least;
mod page;
mod question;
mod rounds;
mod shown;
#[cfg(test)]
mod simulated_tests;
mod units;

use crate::failure::{Failure, NOT_STORAGE};
use crate::output::Output;
use crate::streams::is_stdout;
use analysis::question::Answer;
use measure::text;
use plan::Plan;
use question::Question;
use session::Session;
use session::arguments::SessionArgs;
use shown::Report;
use std::path::{Path, PathBuf};
use survey::{PROFILES, Profile};

/// Ask if storage is enough for a program: etcd, TiKV, SAP HANA, Splunk and others
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "plumb ask [OPTIONS] NAME PATH\n       plumb ask --list\n       plumb ask --show NAME\n       plumb ask --profile FILE PATH",
    long_about = "\
Does the I/O of a program in new files under a directory, three times for a minute. Compares the numbers with published limits and answers yes, no or cannot tell. A program without published limits gets its numbers and no answer.",
    after_help = "\
Examples:
  plumb ask --list                            all programs
  plumb ask etcd /var/lib/etcd
  plumb ask cockroachdb /data --scale 8       a node of 8 vCPUs
  plumb ask nvr /data                         how many cameras; --scale 40: enough for 40?
  plumb ask --show etcd >etcd.fio             a job file that any fio runs, with limits and sources
  plumb ask --profile mine.toml /data
  plumb ask sap-hana /hana --page answer.pdf

The files are in a new directory plumb-ask-PID under PATH, which is removed.
More: docs/ask.md
Exit status: 0 yes, or there is no limit; 1 no; 2 cannot tell; 3 an error, or a result that is
not of the storage; 4 with --strict if a check found a problem; 128 + signal after a signal"
)]
pub(crate) struct AskArgs {
    /// Name of the program, and a directory on the disk
    #[arg(value_name = "NAME PATH", num_args = 0..=2)]
    words: Vec<String>,
    /// List the programs
    #[arg(long, conflicts_with = "show")]
    list: bool,
    /// Print the job file of a program with its limits; measure nothing
    #[arg(long)]
    show: bool,
    /// File with a profile, instead of the name of a program
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Refuse commands, devices and paths outside of the new directory in the file of --profile
    #[arg(long, requires = "profile")]
    untrusted: bool,
    /// Number of units, like vCPUs [default: 1; of cameras, streams and desktops the largest number is searched]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    scale: Option<u32>,
    /// Time of each test in a round, after a warm-up of a tenth of it
    #[arg(long, value_name = "TIME", value_parser = survey::seconds, default_value = "60s")]
    time: u64,
    /// Number of rounds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100), default_value_t = 3)]
    rounds: u32,
    /// Option of fio that is added to each job, like ioengine=io_uring; {run} is the number of the run; repeat it for
    /// several
    #[arg(long, value_name = "OPTION=VALUE", value_parser = Profile::added_option)]
    with: Vec<(String, String)>,
    /// Page with the answer, to send to others: .html or .pdf; or only the picture of its rounds: .svg or .png
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// File for the output; - is standard output [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    session: SessionArgs,
}

/// Exit status after an error, and of a result that is not of the storage. 1 and 2 are answers.
pub(crate) const ERROR: u8 = 3;

pub(crate) fn run(args: &AskArgs) -> Result<u8, Failure> {
    let failed = |failure: Failure| failure.with_status(ERROR);
    let mut session = Session::open(&args.session).map_err(failed)?;
    let answered = answer(args, &mut session).map_err(failed);
    session.close(answered).map_err(failed)
}

fn answer(args: &AskArgs, session: &mut Session) -> Result<u8, Failure> {
    let is_json = args.session.streams.json;
    let prints = args.output.as_deref().is_none_or(is_stdout);
    let mut out = if prints { session.stdout() } else { Output::asked(args.output.as_deref())? };
    if (args.list || args.show)
        && let Some(option) = args.session.given()
    {
        return Err(Failure::new(format!("{option} is for what is measured; --list and --show measure nothing")));
    }
    if args.list {
        if !args.words.is_empty() || args.profile.is_some() {
            return Err(Failure::new("--list takes no names"));
        }
        out.write(&listed(is_json)?)?;
        return Ok(0);
    }
    let (question, rest) = args.question()?;
    if args.show {
        if !rest.is_empty() || is_json {
            return Err(Failure::new("--show prints a job file, as text, and takes no directory"));
        }
        out.write(&question.job_files()?)?;
        return Ok(0);
    }
    let [path] = rest else {
        return Err(Failure::new(format!("name a directory on the disk: plumb ask {} PATH", question.name)));
    };
    args.page.as_deref().map(|page| page::check(page, &question)).transpose()?;
    measured(&question, Path::new(path), session, &mut out, args)
}

fn measured(
    question: &Question,
    path: &Path,
    session: &mut Session,
    out: &mut Output,
    args: &AskArgs,
) -> Result<u8, Failure> {
    let is_json = args.session.streams.json;
    if !path.is_dir() {
        return Err(Failure::at(path, "is not a directory; name one on the disk, for new files"));
    }
    question.profile.check_room(path)?;
    // Mistakes of the job files come before any I/O.
    let tests = 0..question.profile.tests.len();
    let plans: Vec<Plan> = tests.map(|test| rounds::plan(question, test, 1, path)).collect::<Result<_, Failure>>()?;
    if let Some(remark) = least::remark(question, &plans) {
        Failure::new(remark).remark(session.verbosity());
    }
    let place = rounds::WorkDirectory::make(path)?;
    let seconds = question.runs() * question.seconds();
    if !is_json && !session.verbosity().is_quiet() {
        let what = &question.profile.load;
        let rounds = text::counted(u64::from(question.rounds), "round");
        let all = text::span(measure::float(seconds));
        let all = if question.is_searched() { format!("of {all} for each number") } else { format!("{all} in all") };
        out.write(&shown::on_terminal(&format!("{what}; {rounds}, {all}"), ""))?;
    }
    let (asked, found, search) = units::measured(question, place.path(), session);
    drop(place);
    let report = Report { question: &asked, path, found: &found, search: search.as_ref() };
    if found.rates.iter().any(|rounds| !rounds.is_empty()) {
        match is_json {
            true => out.write(&report.document()?)?,
            false => out.write_painted(&report.text(), &shown::ANSWERS)?,
        }
        args.page.as_deref().map(|page| page::write(page, &report)).transpose()?;
    }
    let answer = report.answer();
    match found.cut {
        Some(cut) => cut.outcome(),
        None => Ok(match answer {
            _ if !found.findings.refused.is_empty() => NOT_STORAGE,
            None | Some(Answer::Yes) => 0,
            Some(Answer::No) => 1,
            Some(Answer::CannotTell) => 2,
        }),
    }
}

impl AskArgs {
    /// The question, and the words after its name.
    fn question(&self) -> Result<(Question, &[String]), Failure> {
        let (name, text, rest) = match (&self.profile, self.words.split_first()) {
            (Some(file), _) => {
                let text = std::fs::read_to_string(file).map_err(|error| Failure::at(file, error))?;
                (file.display().to_string(), text, &self.words[..])
            }
            (None, Some((name, rest))) => {
                let found = PROFILES.iter().find(|(known, _)| known == name);
                let (_, text) = found.ok_or_else(|| {
                    let like = survey::profiles_like(name);
                    let like = if like.is_empty() { String::new() } else { format!("{}, or ", like.join(", ")) };
                    Failure::new(format!("there is no program {name}; give {like}one of plumb ask --list"))
                })?;
                (name.clone(), (*text).to_owned(), rest)
            }
            (None, None) => return Err(Failure::new("name a program and a directory: plumb ask etcd /var/lib/etcd")),
        };
        let profile = Profile::from_toml(&text).map_err(|error| Failure::new(format!("{name}: {error}")))?;
        if self.scale.is_some() && profile.unit.is_none() {
            return Err(Failure::new(format!("--scale: the limits of {name} are not for a number of units")));
        }
        if let (Some(units), Some(most)) = (self.scale, profile.most)
            && units > most
        {
            return Err(Failure::new(format!("--scale {units}: the I/O of {name} is for {most} units at most")));
        }
        let question = Question {
            name,
            profile,
            units: self.scale,
            time: self.time,
            rounds: self.rounds,
            added: self.with.clone(),
        };
        if self.untrusted {
            (0..question.profile.tests.len()).try_for_each(|test| rounds::check_trust(&question, test))?;
        }
        Ok((question, rest))
    }
}

fn listed(is_json: bool) -> Result<String, Failure> {
    let mut rows = Vec::new();
    for (name, text) in PROFILES {
        let profile = Profile::from_toml(text)?;
        let judges = profile.tests.iter().any(|test| !test.rules.is_empty());
        rows.push((*name, profile.question, judges));
    }
    if is_json {
        let row = |(name, question, judges): &(&str, String, bool)| serde_json::json!({"name": name, "question": question, "has_limits": judges});
        return crate::streams::document(
            "ask_list",
            serde_json::json!({"programs": rows.iter().map(row).collect::<Vec<_>>()}),
        );
    }
    let width = rows.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
    let line = |(name, question, judges): &(&str, String, bool)| {
        let without = if *judges { "" } else { " (numbers only: no limit is published)" };
        format!("{name:width$}  {question}{without}\n")
    };
    Ok(rows.iter().map(line).collect())
}
