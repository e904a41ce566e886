//! The example job files of Debian's fio: read as fio reads them, and those that need nothing special run.
//!
//! `tools/oracles` unpacks them (package fio-examples). What cannot run here stands in lists: [`ELSEWHERE`], files that
//! need hardware, a service, a library or what another run left; [`DOOMED`], files that fail in fio, too;
//! [`RACES`], files that may end either way; [`UNRUN`], those that are only read. A file that works although it is
//! listed fails the test: take it off the list.

mod reduced;

use crate::context::{fio, job_file, place};
use house::{Cases, Run, Transcript, oracle};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Files that need what no test machine has, each with the word that our refusal must hold.
const ELSEWHERE: &[(&str, &str)] = &[
    ("cpp_null", "cpp_null"),
    ("dev-dax", "dev-dax"),
    ("dfs", "dfs"),
    ("exec", "turbostat"),
    ("gfapi", "gfapi"),
    ("gpudirect-rdmaio-client", "GPU"),
    ("gpudirect-rdmaio-server", "GPU"),
    ("http-s3-crypto", "http"),
    ("http-s3-storage-class", "http"),
    ("http-s3", "http"),
    ("http-swift", "http"),
    ("http-webdav", "http"),
    ("ime", "ime"),
    ("libcufile-cufile", "libcufile"),
    ("libcufile-posix", "libcufile"),
    ("libhdfs", "libhdfs"),
    ("libiscsi", "libiscsi"),
    ("libpmem", "libpmem"),
    ("librpma_apm-client", "librpma_apm_client"),
    ("librpma_apm-server", "librpma_apm_server"),
    ("librpma_gpspm-client", "librpma_gpspm_client"),
    ("librpma_gpspm-server", "librpma_gpspm_server"),
    ("libzbc-rand-write", "libzbc"),
    ("libzbc-seq-read", "libzbc"),
    ("mtd", "mtd"),
    ("nbd", "nbd"),
    ("nfs", "nfs"),
    ("pmemblk", "pmemblk"),
    ("rados", "rados"),
    ("rbd", "rbd"),
    ("rdmaio-client", "rdma"),
    ("rdmaio-server", "rdma"),
    ("sg_verify-fail", "sg"),
    ("sg_verify", "sg"),
    ("sg_write_same_ndob", "sg"),
    ("surface-scan", "bad magic header"),
    ("uring-cmd-ng", "io_uring_cmd"),
    ("uring-cmd-zoned", "zonesize"),
    ("xnvme-compare", "rw="),
    ("xnvme-zoned", "rw="),
    ("zbd-rand-write", "zonesize"),
    ("zbd-seq-read", "zonesize"),
];

/// Files whose jobs cannot come out well, in fio neither, each with a word of what is said: trims of a regular file.
const DOOMED: &[(&str, &str)] = &[("enospc-pressure", "Inappropriate ioctl")];

/// How often a doomed example is run until it fails: its jobs end each other (exitall), on a busy machine at times
/// before the doomed one has begun.
const TURNS_OF_DOOMED: usize = 5;

fn is_doomed(name: &str) -> bool {
    DOOMED.iter().any(|&(doomed, _)| doomed == name)
}

/// Files whose jobs race, in fio as well: several verify a file that all of them write and one moves. They come out
/// well, or one of these words is said.
const RACES: &[(&str, [&str; 2])] = &[
    ("e4defrag", ["bad header", "Device or resource busy"]),
    ("e4defrag2", ["bad header", "Device or resource busy"]),
];

/// A file that is read and not run: two of its jobs answer each other in a multicast, which plumb refuses, and the
/// third waits for them.
const UNRUN: &[&str] = &["netio_multicast"];

/// Every example by its name, in order.
fn examples() -> Vec<(String, PathBuf)> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../oracles/fio-examples");
    // The other tables run without them; a test says that they are missing.
    let Ok(entries) = std::fs::read_dir(&directory) else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("readable").path());
    let named = |path: PathBuf| Some((path.file_stem()?.to_str()?.to_owned(), path));
    let mut found: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "fio")).filter_map(named).collect();
    found.sort();
    found
}

/// What becomes of an example in a test: nothing to say, or what is wrong.
type Verdict = Result<(), String>;

/// Each example is two tests: read as fio reads it, and run.
pub(super) fn groups() -> Vec<Cases> {
    let mut cases = Cases::new("examples", 2);
    for (name, path) in examples() {
        let (read_name, read_path) = (name.clone(), path.clone());
        cases = cases.case(&format!("read::{name}"), move || is_read_as_by_fio(&read_name, &read_path));
        cases = cases.case(&format!("run::{name}"), move || runs_or_is_refused(&name, &path));
    }
    for &(name, _) in DOOMED {
        cases = cases.case(&format!("fails_in_fio_too::{name}"), move || fails_in_fio_too(name));
    }
    vec![house::tests!(
        cases,
        examples_are_there,
        every_name_on_the_list_is_an_example_and_stands_there_once,
        reduced::an_example_is_cut_down_to_small_files_here,
    )]
}

fn examples_are_there() {
    let found = examples().len();
    assert!(found >= 80, "only {found} examples; run `make oracles`");
}

fn elsewhere(name: &str) -> Option<&'static str> {
    ELSEWHERE.iter().chain(DOOMED).find(|(listed, _)| *listed == name).map(|&(_, word)| word)
}

/// The longest that a reduced example may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Ends a run; one that does not end is killed.
fn ended(run: Run) -> Result<Transcript, String> {
    run.start().end_within(PATIENCE).ok_or_else(|| format!("still running after {PATIENCE:?}"))
}

/// The words of a command line, sorted, without quotes.
fn words_of(shown: &str) -> Vec<String> {
    let text = shown.replace(['"', '\''], "");
    let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    words.retain(|word| word != "plumb" && word != "fio");
    words.sort();
    words
}

fn is_read_as_by_fio(name: &str, path: &Path) -> Verdict {
    let said = |&(listed, word): &(&str, &str)| listed == name && !matches!(word, "turbostat" | "bad magic header");
    if ELSEWHERE.iter().any(said) {
        return Ok(());
    }
    let text = path.to_str().expect("a path in text");
    let place = place();
    let theirs = oracle(&place, ["--showcmd", text]);
    let ours = ended(fio(&place, ["--showcmd", text]))?;
    if ours.status != theirs.status {
        return Err(format!("fio ends with {:?}, and this: {ours}", theirs.status));
    }
    let parsed = ended(fio(&place, ["--parse-only", text]))?;
    if parsed.status != ours.status {
        return Err(parsed.to_string());
    }
    // fio shows a `name=` inside of a section as one more `--name`, which would open another job.
    let mut expected = words_of(&theirs.stdout);
    let job_file = std::fs::read_to_string(path).expect("the example");
    for name in job_file.lines().filter_map(|line| line.trim().strip_prefix("name=")) {
        let again = format!("--name={name}");
        if let Some(at) = expected.iter().position(|word| *word == again) {
            expected.remove(at);
        }
    }
    let ours = words_of(&ours.stdout);
    if ours == expected { Ok(()) } else { Err(format!("shown as {ours:?}, by fio as {expected:?}")) }
}

fn runs_or_is_refused(name: &str, path: &Path) -> Verdict {
    if UNRUN.contains(&name) {
        return Ok(());
    }
    let place = place();
    let text = std::fs::read_to_string(path).expect("the example");
    let reduced = reduced::reduced(&text);
    let mut run = ended(job_file(&place, &reduced, "--output-format=json"))?;
    for _ in 1..TURNS_OF_DOOMED {
        if is_doomed(name) && run.status == Some(0) {
            run = ended(job_file(&place, &reduced, "--output-format=json"))?;
        }
    }
    let (errors, succeeded) = (&run.stderr, run.status == Some(0));
    if errors.contains("panicked") {
        return Err(run.to_string());
    }
    if let Some((_, ends)) = RACES.iter().find(|(listed, _)| *listed == name) {
        let known = succeeded || ends.iter().any(|end| errors.contains(end));
        return if known { Ok(()) } else { Err(format!("ends as no race of its does: {errors}")) };
    }
    match (succeeded, elsewhere(name)) {
        (true, None) => has_moved(&run.stdout),
        (true, Some(_)) => Err("it works: take it off the list in crates/cli/tests/cases/examples/mod.rs".to_owned()),
        (false, Some(word)) if errors.contains(word) => Ok(()),
        (false, Some(word)) => Err(format!("is refused without `{word}`: {errors}")),
        (false, None) => Err(run.to_string()),
    }
}

fn fails_in_fio_too(name: &str) -> Verdict {
    let place = place();
    let (_, path) = examples().into_iter().find(|(listed, _)| listed == name).ok_or("it is not an example")?;
    let text = std::fs::read_to_string(path).expect("the example");
    place.write("job.fio", reduced::reduced(&text));
    let works = (0..TURNS_OF_DOOMED).all(|_| oracle(&place, "job.fio").status == Some(0));
    if works { Err(format!("it works in fio, {TURNS_OF_DOOMED} times")) } else { Ok(()) }
}

/// The report of a run in which every job did some I/O.
fn has_moved(report: &str) -> Verdict {
    let result: serde_json::Value = serde_json::from_str(report).map_err(|error| format!("its JSON: {error}"))?;
    let jobs = result["jobs"].as_array().filter(|jobs| !jobs.is_empty()).ok_or("no job reported")?;
    for job in jobs {
        let ios: u64 = ["read", "write", "trim"].iter().filter_map(|name| job[*name]["total_ios"].as_u64()).sum();
        if ios == 0 {
            return Err(format!("job {} did nothing", job["jobname"]));
        }
    }
    Ok(())
}

fn every_name_on_the_list_is_an_example_and_stands_there_once() {
    let known: Vec<String> = examples().into_iter().map(|(name, _)| name).collect();
    let mut listed: Vec<&str> =
        ELSEWHERE.iter().chain(DOOMED).map(|&(name, _)| name).chain(UNRUN.iter().copied()).collect();
    listed.extend(RACES.iter().map(|&(name, _)| name));
    assert!(listed.iter().all(|name| known.iter().any(|known| known == name)), "{listed:?}");
    let count = listed.len();
    listed.sort_unstable();
    listed.dedup();
    assert_eq!(listed.len(), count, "a name stands on the list twice");
}
