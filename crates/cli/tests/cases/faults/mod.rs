//! What happens on the worst days: each row injects one fault, runs plumb, and says what must come of it.
//!
//! Each row is a test, `faults::NAME`; `make faults` prints the table. Rows that make a device need root, as the
//! comparison with fio does.

mod devices;
mod frozen;
mod fuse;
mod guard;
mod guard_commands;
mod guard_links;
mod injected;
mod killed;
mod personalities;
mod surroundings;
mod untrusted;

use crate::context;
pub(super) use fuse::SlowFuse;
use house::{Cases, Run};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One fault and what is to come of it.
struct Row {
    /// Its name.
    fault: &'static str,
    /// How it is brought about.
    injected: String,
    /// Brings it about in a separate directory; what came of it, or why that is wrong.
    run: Box<Deed>,
}

/// What is done, in a separate directory.
type Deed = dyn Fn(&Bench) -> Result<Shown, String> + Send + Sync;

impl Row {
    fn new(
        fault: &'static str,
        injected: impl Into<String>,
        run: impl Fn(&Bench) -> Result<Shown, String> + Send + Sync + 'static,
    ) -> Self {
        Row { fault, injected: injected.into(), run: Box::new(run) }
    }
}

/// What came of a fault.
struct Shown {
    /// What plumb said, its first line.
    did: String,
    /// Its exit status.
    status: String,
    /// What is still there.
    kept: String,
}

/// A directory for one row.
struct Bench {
    directory: tempfile::TempDir,
}

/// A run that has ended.
struct Ran {
    status: Option<i32>,
    stderr: String,
    /// The result, where one was written.
    json: Option<Value>,
}

/// No row takes longer; one that does hangs.
const LONGEST: Duration = Duration::from_secs(30);

/// How soon a run has ended after a signal, on a machine that does other work, too.
const SOON: Duration = Duration::from_secs(6);

impl Bench {
    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Puts a file there.
    fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> Result<(), String> {
        std::fs::write(self.file(name), contents).map_err(|error| format!("{name}: {error}"))
    }

    /// plumb with these words.
    fn plumb(&self, words: &str) -> Run {
        context::plumb(self.path(), words)
    }

    /// `plumb fio` with these words, its JSON going to a file.
    fn fio(&self, words: &str) -> Run {
        self.plumb("fio --output-format=json --output=out.json").words(words)
    }

    /// The same, started by another program.
    fn fio_under(&self, starter: &[String], words: &str) -> Run {
        self.fio(words).under(starter)
    }

    /// Runs to the end; a run that hangs is killed and is an error.
    fn run(&self, run: Run) -> Result<Ran, String> {
        self.run_with(run, |_| {})
    }

    /// The same, with something done to it meanwhile.
    fn run_with(&self, run: Run, meanwhile: impl FnOnce(u32)) -> Result<Ran, String> {
        let running = run.start();
        meanwhile(running.id());
        let ended = running.end_within(LONGEST).ok_or_else(|| format!("hangs: not over after {LONGEST:?}"))?;
        // As with fio, lines about failed jobs stand before the document.
        let text = std::fs::read_to_string(self.file("out.json")).unwrap_or_default();
        let json = text.find("{\n").map(|at| serde_json::from_str(&text[at..]));
        let json = json.map(|read| read.map_err(|error| format!("out.json: {error}")));
        if ended.stderr.contains("panicked") {
            return Err(format!("panics: {ended}"));
        }
        Ok(Ran { status: ended.status, stderr: ended.stderr, json: json.transpose()? })
    }
}

impl Ran {
    /// Checks status and words, and takes the first line that says one of the words.
    fn expect(&self, status: i32, says: &[&str]) -> Result<Shown, String> {
        if self.status != Some(status) {
            return Err(format!("exit status {:?}, not {status}: {}", self.status, self.stderr));
        }
        for word in says {
            if !self.stderr.contains(word) {
                return Err(format!("does not say `{word}`: {}", self.stderr));
            }
        }
        let line = self.stderr.lines().find(|line| says.iter().any(|word| line.contains(word))).unwrap_or("");
        Ok(Shown { did: line.to_owned(), status: status.to_string(), kept: self.numbers() })
    }

    /// The numbers that were kept, in a line.
    fn numbers(&self) -> String {
        let Some(json) = &self.json else { return "nothing had begun".into() };
        let jobs = json["jobs"].as_array().map_or(0, Vec::len);
        let [reads, writes, trims] = ["read", "write", "trim"].map(|direction| self.ios(direction));
        format!("{jobs} job(s): {reads} reads, {writes} writes, {trims} trims")
    }

    /// I/Os of all jobs in a direction.
    fn ios(&self, direction: &str) -> u64 {
        let jobs = self.json.as_ref().and_then(|json| json["jobs"].as_array()).cloned().unwrap_or_default();
        jobs.iter().filter_map(|job| job[direction]["total_ios"].as_u64()).sum()
    }

    /// I/Os of one job in a direction.
    fn ios_of(&self, job: usize, direction: &str) -> u64 {
        let job = self.json.as_ref().map(|json| &json["jobs"][job]);
        job.and_then(|job| job[direction]["total_ios"].as_u64()).unwrap_or(0)
    }

    /// Checks a count.
    fn expect_ios(&self, direction: &str, wanted: std::ops::RangeInclusive<u64>) -> Result<(), String> {
        let found = self.ios(direction);
        if wanted.contains(&found) { Ok(()) } else { Err(format!("{found} {direction}s, not {wanted:?}")) }
    }
}

/// Runs a tool that must work; what it printed.
fn run_tool(tool: &str, words: &[&str]) -> Result<String, String> {
    let ended = Run::new(tool, &std::env::temp_dir()).words(words).end();
    if ended.status == Some(0) { Ok(ended.stdout.trim().to_owned()) } else { Err(ended.to_string()) }
}

fn rows() -> Vec<Row> {
    let mut rows = guard::rows();
    rows.extend(guard_commands::rows());
    rows.extend(guard_links::rows());
    rows.extend(injected::rows());
    rows.extend(devices::rows());
    rows.extend(fuse::rows());
    rows.extend(frozen::rows());
    rows.extend(killed::rows());
    rows.extend(surroundings::rows());
    rows.extend(personalities::rows());
    rows.extend(untrusted::rows());
    rows
}

/// The rows; each prints what plumb did.
pub(super) fn groups() -> Vec<Cases> {
    // Most of a row is waiting.
    let mut cases = Cases::new("faults", 4);
    for row in rows() {
        cases = cases.case(row.fault, move || {
            let bench = Bench { directory: tempfile::tempdir().map_err(|error| error.to_string())? };
            let shown = (row.run)(&bench)?;
            let did: String = shown.did.chars().take(160).collect();
            println!("{} | {} | {did} | {} | {}", row.fault, row.injected, shown.status, shown.kept);
            Ok(())
        });
    }
    vec![house::tests!(cases, enough_faults_are_injected)]
}

fn enough_faults_are_injected() {
    let rows = rows().len();
    assert!(rows >= 40, "only {rows} rows");
}
