//! Reports from elsewhere: `plumb check` calls no genuine report of fio false, and finds each number that cannot be.
//!
//! In the gate: a part of the loads, each run once by Debian's fio and reported in one form; all kept reports; kept
//! reports with one number changed. On request (`make checks`): all loads in several forms by each fio there is, with a
//! table of what was said of them.

mod doctored;
mod loads;

use crate::context::{place, plumb};
use doctored::DOCTORED;
use house::{Cases, Run, Tmpfs, oracle_run};
use loads::{GROUPS, Load, OFTEN, SELDOM};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

/// The forms of a report, by the words that ask for them.
const FORMS: [&[&str]; 8] = [
    &["--output-format=normal"],
    &["--output-format=json"],
    &["--output-format=json+"],
    &["--output-format=terse", "--terse-version=2"],
    &["--output-format=terse", "--terse-version=3"],
    &["--output-format=terse", "--terse-version=4"],
    &["--output-format=terse", "--terse-version=5"],
    &["--output-format=normal,json"],
];

pub(super) fn groups() -> Vec<Cases> {
    let mut live = Cases::new("elsewhere", 4);
    for (number, load) in OFTEN.iter().enumerate() {
        let form = FORMS[number % FORMS.len()];
        live = live.case(&format!("live::{}", load.name), move || live_run(load, form));
    }
    for case in DOCTORED {
        live = live.case(&format!("doctored::{}", case.name), || case.is_found());
    }
    live = house::tests!(live, kept_reports_are_not_called_false, no_form_of_fio_2_is_called_false);
    // The processors are shared by all its runs.
    let all = Cases::new("elsewhere", 1)
        .on_request("all_loads_in_all_forms_of_each_fio", all_loads)
        .on_request("groups_of_each_fio", groups_of_each_fio);
    vec![live, all]
}

/// What `plumb check` prints of a report.
fn said_of(file: &Path) -> String {
    plumb(place(), "check").words([file]).end().stdout
}

/// The lines that call a report false. What a load really does is not an accusation: see [`Load::is_true_of`].
fn accusations(said: &str, load: Option<&Load>) -> Vec<String> {
    let lines = said.lines().filter(|line| line.ends_with("[NOT A STORAGE RESULT]"));
    lines.filter(|line| !load.is_some_and(|load| load.is_true_of(line))).map(str::to_owned).collect()
}

/// The report of a load, in a file of `directory`; the words that ask for direct I/O are for disks.
fn report(fio: &Path, load: &Load, direct: &str, form: &[&str], directory: &Path) -> Result<PathBuf, String> {
    let words = load.words.replace("{direct}", direct);
    let name = if words.contains("--name=") { "" } else { "--name=job" };
    let place = format!("--directory={}", directory.display());
    // Some versions of fio do not end under some loads.
    let run = || Run::new(fio, directory).words([&place]).words(name).words(&words).words(form);
    let ended = oracle_run(run).ok_or_else(|| format!("{} does not end: {words}", fio.display()))?;
    if ended.stdout.is_empty() {
        return Err(ended.to_string());
    }
    let file = directory.join("report");
    std::fs::write(&file, ended.stdout).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(file)
}

fn live_run(load: &Load, form: &[&str]) -> Result<(), String> {
    let memory = Tmpfs::new(64 << 20).expect("a tmpfs: are we root?");
    let file = report(Path::new("fio"), load, "", form, memory.path())?;
    let said = said_of(&file);
    let found = accusations(&said, Some(load));
    if !said.contains(" judged, ") {
        return Err(format!("nothing was judged: {said}"));
    }
    if found.is_empty() { Ok(()) } else { Err(format!("{form:?}: {}", found.join("\n"))) }
}

fn folder(path: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension != "numbers"));
    files.sort();
    files
}

const KEPT: &str = "tests/cases/elsewhere/kept";

fn kept_reports_are_not_called_false() {
    let reports = genuine_reports();
    assert!(reports.len() >= 25, "{reports:?}");
    let found: Vec<String> = reports.into_iter().flat_map(|(_, accusations)| accusations).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Each kept report of fio, with the lines of `plumb check` that call it false.
pub(super) fn genuine_reports() -> Vec<(PathBuf, Vec<String>)> {
    // What is true of them: jobs that failed, and an engine that drops its I/Os.
    const TRUE: [&str; 2] = [": errors: ", ": nothing moved: engine `null`"];
    let folders = [KEPT, "../formats/tests/golden/fio-3.33", "../formats/tests/seeds"];
    let judged = folders.into_iter().flat_map(folder).map(|file| {
        let mut found = accusations(&said_of(&file), None);
        found.retain(|line| TRUE.iter().all(|known| !line.contains(known)));
        (file, found)
    });
    judged.collect()
}

/// Groups of jobs, like and unlike, in JSON by each fio program on the disk, with the lines that call them false.
pub(super) fn reports_of_groups() -> Vec<(String, Vec<String>)> {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let of = |(version, program): &(String, PathBuf), load: &Load| {
        let made = report(program, load, "--direct=1", &["--output-format=json"], directory.path());
        let lines = made.map_or_else(|why| vec![why], |file| accusations(&said_of(&file), Some(load)));
        (format!("{version}: {}", load.name), lines)
    };
    programs().iter().flat_map(|program| GROUPS.iter().map(move |load| of(program, load))).collect()
}

fn groups_of_each_fio() -> Result<(), String> {
    let reports = reports_of_groups();
    println!("{} reports of groups", reports.len());
    let found: Vec<String> =
        reports.into_iter().filter(|(_, lines)| !lines.is_empty()).map(|row| format!("{row:?}")).collect();
    if found.is_empty() { Ok(()) } else { Err(found.join("\n")) }
}

/// The name of each changed report, and the test that the change is found.
pub(super) fn doctored_reports() -> impl Iterator<Item = (&'static str, impl Fn() -> Result<(), String>)> {
    DOCTORED.iter().map(|case| (case.name, || case.is_found()))
}

/// fio 2 states neither the options nor the number of workers.
fn no_form_of_fio_2_is_called_false() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let file = directory.path().join("report");
    let documents = folder(KEPT).into_iter().filter(|file| file.extension().is_some_and(|kind| kind == "json"));
    let mut number = 0;
    for document in documents {
        let text = std::fs::read_to_string(&document).expect("readable");
        std::fs::write(&file, doctored::as_of_fio_2(&text)).expect("as made just before");
        let said = said_of(&file);
        assert!(accusations(&said, None).is_empty(), "{}: {said}", document.display());
        let unchecked = said.lines().find(|line| line.starts_with("not checked")).expect("a list");
        assert!(unchecked.contains("busy users"), "{}: {said}", document.display());
        number += 1;
    }
    assert!(number >= 6, "{number} documents");
}

/// The fio programs: Debian's, the newest, and those that the environment names (`PLUMB_MORE_FIO=/a/fio:/b/fio`).
fn programs() -> Vec<(String, PathBuf)> {
    let newest = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../oracles/newest/fio");
    let more = std::env::var_os("PLUMB_MORE_FIO").unwrap_or_default();
    let all = [PathBuf::from("fio"), newest].into_iter().chain(std::env::split_paths(&more));
    all.filter(|program| !program.as_os_str().is_empty())
        .map(|program| {
            let version = Run::new(&program, &std::env::temp_dir()).words("--version").end().stdout;
            (version.trim().to_owned(), program)
        })
        .collect()
}

/// Of each version and form: the number of reports, and of those called false.
type Table = BTreeMap<(String, &'static str), [usize; 2]>;

fn all_loads() -> Result<(), String> {
    const REPORTS: usize = 300;
    /// Forms of each load and version, one after the other in the list of forms.
    const EACH: usize = 3;
    let mut runs = Vec::new();
    for (version, program) in programs() {
        for (number, load) in OFTEN.iter().chain(SELDOM).enumerate() {
            let forms = (0..EACH).map(|step| FORMS[(number + 3 * step) % FORMS.len()]);
            runs.extend(forms.map(|form| (version.clone(), program.clone(), load, form)));
        }
    }
    let (runs, table, wrong) = (Mutex::new(runs), Mutex::new(Table::new()), Mutex::new(Vec::new()));
    let next = || runs.lock().ok()?.pop();
    let work = || {
        while let Some((version, program, load, form)) = next() {
            let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
            // An older fio may not know an option.
            let Ok(file) = report(&program, load, "--direct=1", form, directory.path()) else { continue };
            let found = accusations(&said_of(&file), Some(load));
            let count = &mut *table.lock().expect("no panic");
            let [reports, accused] = count.entry((version.clone(), form[0])).or_default();
            (*reports, *accused) = (*reports + 1, *accused + usize::from(!found.is_empty()));
            wrong.lock().expect("no panic").extend(found.iter().map(|line| format!("{version} {}: {line}", load.name)));
        }
    };
    thread::scope(|scope| {
        [scope.spawn(work), scope.spawn(work)].map(thread::ScopedJoinHandle::join).into_iter().for_each(drop)
    });
    let (table, wrong) = (table.into_inner().expect("no panic"), wrong.into_inner().expect("no panic"));
    println!("{:<22} {:<30} {:>7} {:>13}", "version", "form", "reports", "called false");
    for ((version, form), [reports, accused]) in &table {
        println!("{version:<22} {form:<30} {reports:>7} {accused:>13}");
    }
    let reports: usize = table.values().map(|[reports, _]| reports).sum();
    println!("{:<22} {:<30} {reports:>7} {:>13}", "all", "", wrong.len());
    match (reports, wrong.as_slice()) {
        (reports, _) if reports < REPORTS => Err(format!("{reports} reports were made, fewer than {REPORTS}")),
        (_, []) => Ok(()),
        (_, wrong) => Err(wrong.join("\n")),
    }
}
