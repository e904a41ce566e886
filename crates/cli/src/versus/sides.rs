//! The two sides: words → the Plan of a run, or one Plan of both sides at the same time, and its result taken apart.
//!
//! A side is the job's words with its own: a target, a job file, or options of fio. Its options are added to every job,
//! so that nothing of the job hides them.

use crate::failure::Failure;
use fio::{Action, EtaRequest, Files, Invocation, RealFiles, SideOutputs, Surroundings, TriggerRequest};
use model::{Origin, RunResult};
use plan::Plan;
use session::machine::{Machine, parser};
use std::io;
use std::path::{Path, PathBuf};
use sys::devices::identity::BlockDevice;

pub(super) const NAMES: [&str; 2] = ["A", "B"];

/// The words of the job and of each side.
pub(super) struct Words {
    job: Vec<String>,
    sides: [Own; 2],
}

/// A side's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Own {
    /// Options that are added to each job.
    Options(Vec<String>),
    /// A job file, in place of the job's words.
    File(String),
}

/// The place of a run in the measurement, for `{round}` and `{run}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    /// Number of the round, from 1.
    pub(super) round: usize,
    /// Number of the run over both sides, from 1.
    pub(super) run: usize,
}

/// The Plan of a run, with what its words say about it.
pub(super) struct SidePlan {
    pub(super) plan: Plan,
    /// `--readonly` forbids writes.
    pub(super) is_read_only: bool,
    pub(super) warnings: Vec<String>,
}

impl Words {
    /// Reads the words of the command line: of each side if it was given, and of the job.
    pub(super) fn new(sides: [Option<&str>; 2], job: Vec<String>) -> Result<Self, Failure> {
        let [a, b] = sides.map(|side| own(side.unwrap_or_default(), &job));
        let words = Words { job, sides: [a?, b?] };
        if words.job.is_empty() && words.sides.iter().any(|own| *own == Own::Options(Vec::new())) {
            return Err(Failure::new(
                "there is no job: name it after --, like plumb versus --a direct=0 --b direct=1 -- job.fio",
            ));
        }
        Ok(words)
    }

    /// True if a file of unknown authors may be read: `--untrusted` is among the words.
    pub(super) fn has_untrusted(&self) -> bool {
        let of_sides = self.sides.iter().flat_map(|own| match own {
            Own::Options(words) => words.as_slice(),
            Own::File(_) => &[],
        });
        // Abbreviations, too.
        let is_it = |word: &String| {
            let name = word.trim_start_matches('-');
            word.starts_with('-') && name.len() > 1 && "untrusted".starts_with(name)
        };
        self.job.iter().chain(of_sides).any(is_it)
    }

    /// The words of a side for people.
    pub(super) fn describe(&self, side: usize) -> String {
        match &self.sides[side] {
            Own::File(path) => path.clone(),
            Own::Options(words) if words.is_empty() => "the job as it is".to_owned(),
            Own::Options(words) => words.iter().map(|word| word.trim_start_matches('-')).collect::<Vec<_>>().join(" "),
        }
    }

    /// The words of the job for people.
    pub(super) fn job(&self) -> String {
        self.job.join(" ")
    }

    /// The Plan of a side's run.
    pub(super) fn plan(&self, side: usize, turn: Turn) -> Result<SidePlan, Failure> {
        let (words, added) = match &self.sides[side] {
            Own::File(path) => (vec![path.clone()], Vec::new()),
            Own::Options(own) => (in_each_job(&self.job, own), own.clone()),
        };
        let filled = |words: &[String]| words.iter().map(|word| fill(word, turn)).collect::<Vec<_>>();
        let machine = Machine::here();
        let files = EachSection { files: &words, added: &filled(&added) };
        let around = Surroundings { files: &files, ..machine.surroundings() };
        let parser = parser();
        let name = NAMES[side];
        let invocation = parser.command_line(&filled(&words), &around).map_err(|error| {
            // With a mistake in the job itself, its own message has the right line.
            let alone = parser.command_line(&filled(&self.job), &machine.surroundings());
            match alone {
                Err(own) if !self.job.is_empty() && !added.is_empty() => Failure::new(own.to_string()),
                _ => Failure::new(format!("side {name}: {error}")),
            }
        })?;
        let mut found = parsed(invocation).map_err(|why| Failure::new(format!("side {name}: {why}")))?;
        keep_own_files(&mut found.plan, &filled(&added));
        Ok(found)
    }
}

fn own(text: &str, job: &[String]) -> Result<Own, Failure> {
    let path = Path::new(text);
    let found = std::fs::metadata(path).ok().filter(|_| !text.is_empty());
    Ok(match found {
        Some(found) if found.is_dir() => Own::Options(vec![format!("--directory={}", escaped(text))]),
        Some(found) if found.is_file() && job.is_empty() => Own::File(text.to_owned()),
        Some(_) => Own::Options(vec![format!("--filename={}", escaped(text))]),
        None => Own::Options(options(&split(text)?)),
    })
}

/// A path as a value: `:` separates paths there.
fn escaped(path: &str) -> String {
    path.replace(':', "\\:")
}

/// Options with their dashes: `bs=4k` is `--bs=4k`, and so is `--bs 4k`.
fn options(words: &[String]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in words {
        match found.last_mut() {
            Some(before) if !word.contains('=') && !word.starts_with('-') && !before.contains('=') => {
                *before = format!("{before}={word}");
            }
            _ if word.starts_with('-') => found.push(word.clone()),
            _ => found.push(format!("--{word}")),
        }
    }
    found
}

/// Splits words at spaces, except between quotes.
fn split(text: &str) -> Result<Vec<String>, Failure> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in text.chars() {
        match quote {
            Some(open) if open == letter => quote = None,
            None if letter == '\'' || letter == '"' => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            None if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    if let Some(open) = quote {
        return Err(Failure::new(format!("`{text}`: the quote {open} is not closed")));
    }
    words.extend(word);
    Ok(words)
}

/// Replaces `{round}` and `{run}`.
fn fill(word: &str, turn: Turn) -> String {
    word.replace("{round}", &turn.round.to_string()).replace("{run}", &turn.run.to_string())
}

/// The job's words with these options at the end of each job, and before the first if none is opened there.
fn in_each_job(job: &[String], own: &[String]) -> Vec<String> {
    let opens = |word: &String| {
        let name = word.trim_start_matches('-').split('=').next();
        word.starts_with('-') && name == Some("name")
    };
    let mut words = Vec::new();
    let mut is_in_job = false;
    for word in job {
        if opens(word) {
            if is_in_job {
                words.extend(own.iter().cloned());
            }
            is_in_job = true;
        }
        words.push(word.clone());
    }
    // A job file comes last: a word after it would be read as the name of another one only without dashes.
    words.extend(own.iter().cloned());
    words
}

/// Job files with options added to each of their sections, so that a setting of the file does not hide them.
struct EachSection<'a> {
    /// The words, some of which are the names of job files.
    files: &'a [String],
    added: &'a [String],
}

impl Files for EachSection<'_> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let bytes = RealFiles.read(path)?;
        let is_job_file = self.files.iter().any(|word| Path::new(word) == path);
        if !is_job_file || self.added.is_empty() {
            return Ok(bytes);
        }
        let text = String::from_utf8_lossy(&bytes);
        Ok(fio::with_options(&text, self.added).into_bytes())
    }

    fn is_special(&self, path: &Path) -> bool {
        RealFiles.is_special(path)
    }
}

/// The plan of an invocation that only measures.
fn parsed(invocation: Invocation) -> Result<SidePlan, String> {
    let none = |what: &str| Err(format!("{what} has no place here: plumb versus prints and saves the results itself"));
    let Invocation { action, output, eta, side, read_only, idle, trigger, announced, warnings, .. } = invocation;
    if output.file.is_some() || output.formats != [fio::OutputFormat::NORMAL] {
        return none("an option of the output");
    }
    if side != SideOutputs::default() {
        return none("an option such as --result, --store, --strict or --status-interval");
    }
    if eta != EtaRequest::default() || idle.is_some() || trigger != TriggerRequest::default() || !announced.is_empty() {
        return none("an option such as --eta, --idle-prof, --trigger or --debug");
    }
    let Action::Run(plan) = action else { return Err("its words are not a job that can be run".to_owned()) };
    let warnings = warnings.iter().map(|warning| warning.title.clone()).collect();
    Ok(SidePlan { plan, is_read_only: read_only, warnings })
}

/// The files that a side names are in place of the job's: in fio they would be used together.
fn keep_own_files(plan: &mut Plan, own: &[String]) {
    let values = own.iter().filter_map(|option| option.trim_start_matches('-').strip_prefix("filename="));
    let count: usize = values.map(|names| fio::split_escaped(names).len()).sum();
    for names in plan.jobs.iter_mut().map(|job| &mut job.files.names).filter(|_| count > 0) {
        names.drain(..names.len().saturating_sub(count));
    }
}

/// The files and directories of a plan.
fn paths(plan: &Plan) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for job in &plan.jobs {
        let files = &job.files;
        let here = [PathBuf::from(".")];
        let directories = if files.directories.is_empty() { &here[..] } else { &files.directories };
        for directory in directories {
            if files.names.is_empty() {
                found.push(directory.clone());
            }
            found.extend(files.names.iter().map(|name| directory.join(name)));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Most layers of loop devices that are looked through.
const MOST_LAYERS: usize = 8;

/// Fails if the sides have a disk in common, or one is not visible, or a job waits for others.
pub(super) fn check_together(plans: [&Plan; 2]) -> Result<(), Failure> {
    for (plan, name) in plans.into_iter().zip(NAMES) {
        let waits = |job: &&plan::JobPlan| job.start.stonewall || job.start.wait_for.is_some() || job.limits.exit_all;
        if let Some(job) = plan.jobs.iter().find(waits) {
            return Err(Failure::new(format!(
                "--together: job `{}` of {name} has stonewall, wait_for or exitall, which would hold for both sides",
                job.name
            )));
        }
    }
    let [a, b] = plans.map(disks);
    let (a, b) = (a?, b?);
    match a.iter().find(|disk| b.contains(disk)) {
        Some(disk) => Err(Failure::new(format!(
            "--together: both sides are on {disk}, so they would slow each other down; leave out --together to take turns"
        ))),
        None => Ok(()),
    }
}

/// The disks under the files of a plan.
fn disks(plan: &Plan) -> Result<Vec<String>, Failure> {
    let mut found = Vec::new();
    for path in paths(plan) {
        let there = path.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
        let there = if there.as_os_str().is_empty() { Path::new(".") } else { there };
        let invisible = || {
            Failure::new(format!(
                "--together: no disk is visible under {}; leave out --together to take turns",
                path.display()
            ))
        };
        let device = BlockDevice::under(Path::new("/"), there)?.ok_or_else(invisible)?;
        leaves(&device, MOST_LAYERS, &mut found);
    }
    Ok(found)
}

/// The disks below a device; below a loop device those of its file.
fn leaves(device: &BlockDevice, layers: usize, found: &mut Vec<String>) {
    let root = Path::new("/");
    for leaf in device.leaves(root) {
        let file = leaf.backing_file().filter(|_| layers > 0);
        match file.and_then(|file| BlockDevice::under(root, &file).ok().flatten()) {
            Some(below) => leaves(&below, layers - 1, found),
            None => found.push(leaf.whole().name().to_owned()),
        }
    }
}

pub(super) fn merged([a, b]: [SidePlan; 2]) -> SidePlan {
    let mut jobs = a.plan.jobs;
    let groups = jobs.iter().map(|job| job.group + 1).max().unwrap_or(0);
    jobs.extend(b.plan.jobs.into_iter().map(|job| plan::JobPlan { group: job.group + groups, ..job }));
    let is_read_only = a.is_read_only || b.is_read_only;
    SidePlan { plan: Plan { jobs, ..Plan::default() }, is_read_only, warnings: Vec::new() }
}

/// The results of A, which has this number of workers, and of B. What was sampled is of both together, so it is left
/// out.
pub(super) fn apart(mut result: RunResult, workers: usize) -> [RunResult; 2] {
    let of_b = result.jobs.split_off(workers.min(result.jobs.len()));
    result.monitored = None;
    result.origin = Origin::Side;
    result.devices = Vec::new();
    result.lowest_traffic = None;
    result.limited_by = None;
    result.phases = Vec::new();
    result.lasting = None;
    let b = RunResult { jobs: of_b, ..result.clone() };
    [result, b]
}

/// Number of workers of a plan.
pub(super) fn workers(plan: &Plan) -> usize {
    plan.jobs.iter().map(|job| job.clones as usize).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Turn = Turn { round: 3, run: 6 };

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn planned(sides: [&str; 2], job: &str) -> Result<[Plan; 2], Failure> {
        let words = Words::new(sides.map(Some), words(job))?;
        Ok([words.plan(0, FIRST)?.plan, words.plan(1, FIRST)?.plan])
    }

    #[test]
    fn a_sides_options_are_those_of_every_job() {
        let job = "--ioengine=null --size=1m --name=a --rw=read --bs=8k --name=b --rw=randread";
        let [a, b] = planned(["bs=4k", "--bs=64k --iodepth=2"], job).unwrap();
        let sizes = |plan: &Plan| plan.jobs.iter().map(|job| job.load.size_ranges().read.0).collect::<Vec<_>>();
        assert_eq!((sizes(&a), sizes(&b)), (vec![4096, 4096], vec![65536, 65536]));
    }

    #[test]
    fn a_sides_options_are_those_of_every_section_of_a_job_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("job.fio");
        std::fs::write(&path, "[global]\nioengine=null\nsize=1m\n[a]\nbs=8k\n[b]\nbs=16k\n").unwrap();
        let [a, b] = planned(["bs=4k", ""], &path.display().to_string()).unwrap();
        let sizes = |plan: &Plan| plan.jobs.iter().map(|job| job.load.size_ranges().read.0).collect::<Vec<_>>();
        assert_eq!((sizes(&a), sizes(&b)), (vec![4096, 4096], vec![8192, 16384]));
        // An included file holds options only.
        let other = directory.path().join("other.fio");
        std::fs::write(&other, "ioengine=null\nsize=1m\nbs=8k\n").unwrap();
        std::fs::write(&path, format!("[a]\ninclude {}\n", other.display())).unwrap();
        let [a, b] = planned(["bs=4k", ""], &path.display().to_string()).unwrap();
        assert_eq!((sizes(&a), sizes(&b)), (vec![4096], vec![8192]));
    }

    #[test]
    fn a_side_is_a_directory_a_file_or_a_job_file() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("data");
        std::fs::write(&file, "[x]\nioengine=null\nsize=1m\n").unwrap();
        let (folder, file) = (directory.path().display().to_string(), file.display().to_string());
        let [a, b] = planned([&folder, &file], "--name=x --size=1m --rw=read").unwrap();
        assert_eq!(a.jobs[0].files.directories, [directory.path()]);
        assert_eq!(b.jobs[0].files.names, [PathBuf::from(&file)]);
        assert_eq!((paths(&a), paths(&b)), (vec![directory.path().to_owned()], vec![PathBuf::from(&file)]));
        let [a, b] = planned([&file, "--name=y --ioengine=null --size=1m"], "").unwrap();
        assert_eq!((a.jobs[0].name.as_str(), b.jobs[0].name.as_str()), ("x", "y"));
    }

    #[test]
    fn a_sides_files_are_in_place_of_the_jobs() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("job.fio");
        std::fs::write(&path, "[global]\nioengine=null\nsize=1m\nfilename=g\n[a]\nfilename=x\n").unwrap();
        let named =
            |sides: [&str; 2], job: &str| planned(sides, job).unwrap().map(|plan| plan.jobs[0].files.names.clone());
        let names = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let job = "--name=x --ioengine=null --size=1m --filename=g";
        for job in [job, &path.display().to_string()] {
            let [a, b] = named(["filename=a:b", "--filename c"], job);
            assert_eq!((a, b), (names(&["a", "b"]), names(&["c"])), "{job}");
        }
        assert_eq!(named(["filename=a", "bs=4k"], job)[1], names(&["g"]));
    }

    #[test]
    fn rounds_and_runs_are_filled_in() {
        let [a, _] = planned(["sim_run={run}", ""], "--name=x --ioengine=sim --size=1m --randseed={round}").unwrap();
        assert_eq!(a.jobs[0].engine_options.integer("sim_run"), Some(6));
        assert!(a.jobs[0].written.contains(&("randseed".to_owned(), "3".to_owned())), "{:?}", a.jobs[0].written);
    }

    #[test]
    fn what_is_wrong_names_its_side_and_outputs_have_no_place() {
        let job = "--name=x --ioengine=null --size=1m";
        for (sides, job, expected) in [
            (["", "bs=4q"], job, "side B: "),
            (["", ""], "--name=x --ioengine=null --size=1q", "1q"),
            (["output=x", ""], job, "side A: an option of the output"),
            (["output-format=json", ""], job, "side A: an option of the output"),
            (["", "result=x"], job, "side B: an option such as --result"),
            (["", "eta=always"], job, "side B: an option such as --eta"),
            (["", "version"], job, "side B: its words are not a job"),
            (["'bs=4k", ""], job, "is not closed"),
            (["", ""], "", "there is no job"),
        ] {
            let failure = planned(sides, job).err().unwrap();
            assert!(failure.message().contains(expected), "{sides:?}: {}", failure.message());
        }
    }

    #[test]
    fn words_are_split_at_spaces_outside_of_quotes() {
        assert_eq!(split("a 'b c'  d=\"e f\"").unwrap(), ["a", "b c", "d=e f"]);
        assert_eq!(split("  ").unwrap(), Vec::<String>::new());
        let trusted = |text: &str| Words::new([Some(text), None], words("--name=x")).unwrap().has_untrusted();
        assert!(trusted("untrusted") && trusted("--untru") && !trusted("bs=4k") && !trusted("unlink=1"));
    }
}
