//! Devices that this machine does not have: NVMe with metadata, SCSI, SATA, USB and zoned disks of a guest
//! (tools/guest). Each row is a device and the words of a job; fio and plumb get both, one after the other, and must end
//! alike, with the same keys and counts in their JSON.
//!
//! All rows of a boot run in one guest, which the first test starts. The short rows are part of `make test`; the others
//! run on request (`make guest`).

mod guard;
mod machines;
mod network;
mod power;
mod rows;
mod why;
mod zones;

use crate::context::PLUMB;
use house::{Amounts, Cases, compare_results, split_output};
use rows::{Device, Row, Work};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

/// Functions of the script that runs in the guest.
const PRELUDE: &str = include_str!("prelude.sh");

/// The root of the project.
const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The rows of a guest, which starts with the first test that asks for its answers.
struct Boot {
    name: &'static str,
    rows: Vec<Row>,
    /// How the guest ended.
    ended: OnceLock<Result<(), String>>,
}

/// The tests: a row each.
pub(super) fn groups() -> Vec<Cases> {
    let short = cases(Cases::new("guest", 1), "guest", rows::short(), Cases::case);
    // A guest with some of the rows only is sooner done.
    let wanted = std::env::var("GUEST_ROWS").unwrap_or_default();
    let some = |rows: Vec<Row>| -> Vec<Row> {
        rows.into_iter().filter(|row| wanted.split(',').any(|part| row.name.contains(part))).collect()
    };
    let all = cases(Cases::new("devices", 1), "devices", some(rows::all()), Cases::on_request);
    let newer = cases(Cases::new("newer", 1), "newer", some(rows::newer()), Cases::on_request);
    vec![house::tests!(short, planted_differences_are_named), all, newer, power::cases(), machines::group()]
}

/// Adds a test per row, all of one boot.
fn cases<Add>(mut cases: Cases, name: &'static str, rows: Vec<Row>, add: Add) -> Cases
where
    Add: Fn(Cases, &str, Box<dyn FnOnce() -> Result<(), String> + Send>) -> Cases,
{
    let count = rows.len();
    let boot = Arc::new(Boot { name, rows, ended: OnceLock::new() });
    for at in 0..count {
        let (boot, row) = (boot.clone(), boot.rows[at].name.clone());
        cases = add(cases, &row, Box::new(move || boot.answer(at)));
    }
    cases
}

impl Boot {
    /// Whether the answers to a row are what it says. A guest that ended too early has answered the first rows.
    fn answer(&self, at: usize) -> Result<(), String> {
        let ended = self.ended.get_or_init(|| self.run());
        let judged = self.rows[at].judge(&self.share().join("said"));
        judged.map_err(|found| [Some(found), ended.clone().err()].into_iter().flatten().collect::<Vec<_>>().join("\n"))
    }

    /// Folder that the guest sees as /share.
    fn share(&self) -> PathBuf {
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(self.name)
    }

    /// Boots the guest, in which all rows run.
    fn run(&self) -> Result<(), String> {
        let share = self.share();
        let failed = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
        drop(std::fs::remove_dir_all(&share));
        std::fs::create_dir_all(&share).map_err(|error| failed("the guest's share", &error))?;
        std::fs::write(share.join("script"), self.script()).map_err(|error| failed("the guest's script", &error))?;
        let program = share.join("plumb");
        // Without symbols, so that less is read through the share.
        for (name, words) in [
            ("strip", vec!["--strip-all".into(), "-o".into(), program.clone().into_os_string(), PLUMB.into()]),
            (&format!("{PROJECT}/tools/guest"), self.words(&share)),
        ] {
            let mut command = Command::new(name);
            // The newer kernel is for the rows that say so.
            let kind = if self.name == "newer" { "newer" } else { "standard" };
            let output = command.env("GUEST", kind).args(words).output().map_err(|error| failed(name, &error))?;
            if !output.status.success() {
                let log = std::fs::read_to_string(share.join("log")).unwrap_or_default();
                let said = String::from_utf8_lossy(&output.stderr).into_owned() + &log;
                return Err(failed(name, &format!("{}\n{said}", output.status)));
            }
        }
        Ok(())
    }

    /// Words of `tools/guest`.
    fn words(&self, share: &Path) -> Vec<std::ffi::OsString> {
        let mut kinds: Vec<&str> = self.rows.iter().filter_map(|row| row.device.hardware()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let before = [Path::new("run").as_os_str(), share.as_os_str()].map(Into::into);
        before.into_iter().chain(kinds.into_iter().map(Into::into)).collect()
    }

    /// What runs in the guest.
    fn script(&self) -> String {
        let newest = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../oracles/newest/fio");
        let mut script = format!("newest={}\n{PRELUDE}", newest.display());
        let mut devices: Vec<Device> = self.rows.iter().map(|row| row.device).collect();
        devices.sort_unstable();
        devices.dedup();
        for device in devices {
            let _ = writeln!(script, "{}", device.found());
        }
        // Scripts of plumb alone use what all devices share; pairs of runs on different devices take turns on the two
        // processors of the guest.
        let (own, pairs): (Vec<&Row>, Vec<&Row>) =
            self.rows.iter().partition(|row| matches!(row.work, Work::Own { .. }));
        let lines = |rows: &[&Row]| rows.iter().map(|row| row.line() + "\n").collect::<String>();
        script += &lines(&own);
        let half: Vec<Device> = pairs.iter().take(pairs.len() / 2).map(|row| row.device).collect();
        let (first, second): (Vec<&Row>, Vec<&Row>) = pairs.iter().copied().partition(|row| half.contains(&row.device));
        for (number, rows) in [first, second].iter().enumerate() {
            let _ = writeln!(script, "(\nlane=/tmp/lane{number}\nmkdir $lane\n{}) &", lines(rows));
        }
        script + "wait\n"
    }
}

/// What a program answered to a row.
#[derive(Clone, Default)]
struct Answer {
    status: String,
    json: String,
    errors: String,
}

impl Answer {
    fn read(said: &Path, row: &Row, program: &str) -> Result<Answer, String> {
        let said = |kind: &str| {
            let path = said.join(format!("{}.{program}.{kind}", row.name));
            std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
        };
        Ok(Answer { status: said("status")?.trim().to_owned(), json: said("json")?, errors: said("err")? })
    }
}

impl Row {
    /// Whether the answers in this folder are what the row says.
    fn judge(&self, said: &Path) -> Result<(), String> {
        let both = || Ok::<_, String>((Answer::read(said, self, "fio")?, Answer::read(said, self, "plumb")?));
        match &self.work {
            Work::Alike(_) => {
                let (fio, ours) = both()?;
                let found = differences(&fio, &ours);
                if found.is_empty() { Ok(()) } else { Err(self.explained(&found, &fio, &ours)) }
            }
            Work::Differs { words: _, why, only } => {
                let (fio, ours) = both()?;
                let found = differences(&fio, &ours);
                let others = found.iter().any(|sentence| !only.iter().any(|known| sentence.contains(known)));
                match (found.is_empty(), others) {
                    (true, _) => Err(format!("both answer alike, but the table says that they differ: {why}")),
                    (false, false) => Ok(()),
                    (false, true) => Err(self.explained(&found, &fio, &ours)),
                }
            }
            Work::Own { script: _, says } => {
                let path = said.join(&self.name);
                let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
                match says.iter().find(|wanted| !text.contains(**wanted)) {
                    None => Ok(()),
                    Some(wanted) => Err(format!("no {wanted:?} in\n{text}")),
                }
            }
        }
    }

    fn explained(&self, found: &[String], fio: &Answer, ours: &Answer) -> String {
        let end = |answer: &Answer| answer.errors.lines().take(3).collect::<Vec<_>>().join(" | ");
        let errors = [("fio", fio), ("ours", ours)].map(|(who, answer)| format!("errors of {who}: {}", end(answer)));
        [found, &[format!("given: {:?} on {}", self.work, self.device.name())], &errors].concat().join("\n    ")
    }
}

/// Differences between the two answers, one sentence each.
fn differences(fio: &Answer, ours: &Answer) -> Vec<String> {
    let mut found = Vec::new();
    if fio.status != ours.status {
        found.push(format!("status: fio {}, ours {}", fio.status, ours.status));
    }
    let [theirs, mut mine] = [fio, ours].map(|answer| split_output(&answer.json).ok().and_then(|(json, _)| json));
    // fio needs no consent.
    let options = mine.as_mut().and_then(|mine| mine.pointer_mut("/jobs/0/job options")?.as_object_mut());
    options.map(|options| options.remove("write_consent"));
    match (theirs, mine) {
        (Some(theirs), Some(mine)) => found.extend(compare_results(&theirs, &mine, Amounts::Fixed)),
        (None, None) => {}
        (theirs, _) => found.push(format!("only {} has JSON", if theirs.is_some() { "fio" } else { "ours" })),
    }
    found
}

fn planted_differences_are_named() {
    let json = |ios: u32| format!("{{\n\"jobs\": [{{\"error\": 0, \"read\": {{\"total_ios\": {ios}}}}}]\n}}\n");
    let answer = |status: &str, json: String| Answer { status: status.to_owned(), json, errors: String::new() };
    let fio = answer("0", json(256));
    assert_eq!(differences(&fio, &fio.clone()), Vec::<String>::new());
    for (ours, wanted) in [
        (answer("1", json(256)), "status: fio 0, ours 1"),
        (answer("0", json(255)), "total_ios: fio is 256, ours 255"),
        (answer("0", String::new()), "only fio has JSON"),
    ] {
        let found = differences(&fio, &ours).join("\n");
        assert!(found.contains(wanted), "{found}");
    }
}
