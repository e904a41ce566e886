//! One case: a job file that the parser accepts, run in a separate directory, looked at from all sides.

use super::draw::Draw;
use super::{invariants, values};
use crate::context::PLUMB;
use fio::{Files, Parser, Surroundings};
use house::{LoopDevice, Tmpfs};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read, Seek};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A case lasts a few hundred milliseconds, but for a ramp of many bytes at few bytes a second and the like: one that
/// takes longer than this is interrupted.
const LONGEST: Duration = Duration::from_secs(20);
/// One that takes longer than this to end then hangs.
const LONGEST_END: Duration = Duration::from_secs(10);

/// Where cases run, one after the other.
pub(crate) struct Place {
    tmpfs: Tmpfs,
    device: LoopDevice,
}

impl Place {
    pub(crate) fn new() -> io::Result<Place> {
        Ok(Place { tmpfs: Tmpfs::new(48 << 20)?, device: LoopDevice::new(&std::env::temp_dir(), 16 << 20)? })
    }
}

/// How a case ended.
pub(crate) struct End {
    pub(crate) file: String,
    pub(crate) options: BTreeSet<&'static str>,
    pub(crate) status: Option<i32>,
    pub(crate) ios: u64,
    pub(crate) bytes: u64,
    /// Identities that were looked at and held.
    pub(crate) checks: u64,
    pub(crate) verdict: Result<(), String>,
}

/// What a case does its I/O on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Sim,
    Tmpfs,
    Device,
}

/// A drawn option; those of the case itself stay.
#[derive(Clone, Debug)]
struct Line {
    name: &'static str,
    value: String,
    stays: bool,
}

/// A drawn file: the lines of all jobs, then of each.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    sections: Vec<(String, Vec<Line>)>,
    /// Words of the command in addition to the file.
    words: Vec<&'static str>,
}

impl Drawn {
    fn text(&self) -> String {
        // Written in the file, so that it says all that there is to a case.
        let mut text = if self.words.is_empty() { String::new() } else { format!("# {}\n", self.words.join(" ")) };
        for (title, lines) in &self.sections {
            text.push_str(&format!("[{title}]\n"));
            for line in lines {
                let value = if line.value.is_empty() { String::new() } else { format!("={}", line.value) };
                text.push_str(&format!("{}{value}\n", line.name));
            }
        }
        text
    }

    fn options(&self) -> BTreeSet<&'static str> {
        self.sections.iter().flat_map(|(_, lines)| lines.iter().map(|line| line.name)).collect()
    }

    /// Takes one drawn line away; `false` where none is left.
    fn drop_one(&mut self, draw: &mut Draw) -> bool {
        let of = |(section, (_, lines)): (usize, &(String, Vec<Line>))| -> Vec<(usize, usize)> {
            let free = lines.iter().enumerate().filter(|(_, line)| !line.stays);
            free.map(|(line, _)| (section, line)).collect()
        };
        let free: Vec<(usize, usize)> = self.sections.iter().enumerate().flat_map(of).collect();
        if free.is_empty() {
            return false;
        }
        let &(section, line) = draw.one(&free);
        self.sections[section].1.remove(line);
        true
    }
}

const MOVES: &[&str] = &[
    "read",
    "write",
    "randread",
    "randwrite",
    "rw",
    "randrw",
    "trim",
    "randtrim",
    "trimwrite",
    "randtrimwrite",
    "read:8",
    "randwrite:4",
    "rw:4k",
    "write:1m",
];
/// Words of the command that change what is done in addition to the I/O.
const WORDS: &[&str] = &[
    "--eta=always",
    "--eta-newline=1",
    "--idle-prof=system",
    "--idle-prof=percpu",
    "--bandwidth-log=sum",
    "--status-interval=1",
    "--result=own.json",
    "--strict",
    "--aux-path=sub",
    "--trigger-timeout=1",
    "--debug=all",
];
const SIZES: &[&str] = &["4k", "64k", "100k", "1m", "3m"];

fn draw_file(device: &Path, target: Target, draw: &mut Draw) -> Drawn {
    let runtime = format!("{}ms", 40 + draw.below(260));
    let mut common = vec![line("runtime", runtime), line("size", *draw.one(SIZES)), line("exitall_on_error", "0")];
    if target == Target::Device {
        common.push(line("filename", device.display().to_string()));
    }
    common.extend(some_of(values::of_jobs(), 4, draw));
    let mut sections = vec![("global".to_owned(), common)];
    let jobs = 1 + draw.below(3);
    for name in ["a", "b", "c"].into_iter().take(jobs) {
        let engines: Vec<&str> = match target {
            Target::Sim => vec!["sim"],
            _ => engine::ENGINES.iter().map(|engine| engine.name).filter(|&name| name != "sim").collect(),
        };
        let engines: Vec<&str> = engines.into_iter().filter(|name| !values::ENGINES_LEFT_OUT.contains(name)).collect();
        let engine = *draw.one(&engines);
        let trims = engine::ENGINES.iter().any(|spec| spec.name == engine && spec.capabilities.trim);
        let moves: Vec<&str> = MOVES.iter().copied().filter(|words| trims || !words.contains("trim")).collect();
        let mut lines = vec![line("ioengine", engine), line("rw", *draw.one(&moves))];
        lines.extend(some_of(values::of_jobs(), 10, draw));
        let own: Vec<&'static str> = values::of_engine(engine).map(|spec| spec.name).collect();
        lines.extend(some_named(&own, 3, draw));
        // A program of an engine that needs one is not a choice.
        if engine == "exec" {
            lines.push(line("program", *draw.one(&["true", "false", "sleep", "no-such-program"])));
        }
        if draw.once_in(2) {
            lines.extend([line("write_lat_log", format!("exact-{name}")), line("per_job_logs", "1")]);
        }
        sections.push((name.to_owned(), lines));
    }
    let words = if draw.once_in(3) { vec![*draw.one(WORDS), *draw.one(WORDS)] } else { Vec::new() };
    Drawn { sections, words }
}

fn line(name: &'static str, value: impl Into<String>) -> Line {
    Line { name, value: value.into(), stays: true }
}

fn some_of(specs: impl Iterator<Item = &'static plan::option::OptionSpec>, most: usize, draw: &mut Draw) -> Vec<Line> {
    some_named(&specs.map(|spec| spec.name).collect::<Vec<_>>(), most, draw)
}

fn some_named(names: &[&'static str], most: usize, draw: &mut Draw) -> Vec<Line> {
    if names.is_empty() {
        return Vec::new();
    }
    let count = draw.below(most + 1);
    let one = |_| {
        let name = *draw.one(names);
        let value = values::of(name, draw).expect("a test sees to it");
        let value = if name == "cgroup" { format!("{value}-{}-{}", std::process::id(), draw.next()) } else { value };
        Line { name, value, stays: false }
    };
    (0..count).map(one).collect()
}

/// Files that options name, in the directory of a case.
pub(crate) fn furnish(directory: &Path) -> io::Result<()> {
    for sub in ["sub", "other"] {
        fs::create_dir(directory.join(sub))?;
        fs::write(directory.join(sub).join("there"), vec![1; 8192])?;
    }
    fs::write(directory.join("in.bin"), "pattern")?;
    fs::write(directory.join("donor"), vec![0; 65536])?;
    let v2 = "fio version 2 iolog\nr.0 add\nr.0 open\nr.0 read 0 4096\nr.0 write 4096 8192\nr.0 sync\nr.0 close\n";
    fs::write(directory.join("replay.log"), v2)?;
    let v3 = "fio version 3 iolog\n0 r.0 add\n0 r.0 open\n1 r.0 read 0 4096\n30 r.0 write 512 1024\n40 r.0 close\n";
    fs::write(directory.join("replay3.log"), v3)?;
    fs::write(directory.join("profile.txt"), "0 2000\n0.01 0\n0.02 50000\n")
}

/// Files as a program in that directory sees them.
struct In<'a>(&'a Path);

impl Files for In<'_> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        fs::read(self.0.join(path))
    }

    fn is_special(&self, path: &Path) -> bool {
        fs::metadata(self.0.join(path)).is_ok_and(|found| !found.is_file() && !found.is_dir())
    }
}

/// Takes options away until the parser accepts the file.
fn accepted(drawn: &mut Drawn, directory: &Path, draw: &mut Draw) -> Result<(), String> {
    let parser = Parser::new(engine::ENGINES);
    let files = In(directory);
    let cpus = std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).expect("few"));
    let around = Surroundings { environment: &|_| None, files: &files, page_size: 4096, memory_mib: 4096, cpus };
    loop {
        match parser.job_file("soak.fio", &drawn.text(), &around) {
            Ok(_) => return Ok(()),
            Err(error) => {
                if !drawn.drop_one(draw) {
                    return Err(format!("the frame of the case itself is refused: {error}"));
                }
            }
        }
    }
}

/// What case `number` does its I/O on.
fn draw_target(draw: &mut Draw) -> Target {
    *draw.one(&[Target::Sim, Target::Tmpfs, Target::Tmpfs, Target::Device])
}

/// The options that the parser leaves in the file of case `number`; `directory` has been furnished.
pub(crate) fn admitted(directory: &Path, seed: u64, number: u64) -> Result<BTreeSet<&'static str>, String> {
    let mut draw = Draw::new(seed, number);
    let target = draw_target(&mut draw);
    let mut drawn = draw_file(Path::new("/dev/null"), target, &mut draw);
    accepted(&mut drawn, directory, &mut draw).map(|()| drawn.options())
}

/// Runs case `number`.
pub(crate) fn run(place: &Place, seed: u64, number: u64) -> End {
    let mut draw = Draw::new(seed, number);
    let target = draw_target(&mut draw);
    let mut drawn = draw_file(place.device.path(), target, &mut draw);
    let directory = place.tmpfs.path().join(format!("case-{number}"));
    let outcome = prepare(&directory)
        .and_then(|()| accepted(&mut drawn, &directory, &mut draw))
        .and_then(|()| fs::write(directory.join("soak.fio"), drawn.text()).map_err(|error| error.to_string()))
        .and_then(|()| carry_out(&directory, &drawn.words));
    let mut end = End {
        file: drawn.text(),
        options: drawn.options(),
        status: None,
        ios: 0,
        bytes: 0,
        checks: 0,
        verdict: Ok(()),
    };
    end.verdict = outcome.and_then(|ran| {
        end.status = ran.status;
        if !fs::metadata(place.device.path()).is_ok_and(|found| found.file_type().is_block_device()) {
            return Err("the device's node is gone".to_owned());
        }
        let seen = invariants::check(&ran, &drawn.text(), &directory)?;
        (end.ios, end.bytes, end.checks) = (seen.ios, seen.bytes, seen.checks);
        Ok(())
    });
    let _ = fs::remove_dir_all(&directory);
    end
}

fn prepare(directory: &PathBuf) -> Result<(), String> {
    fs::create_dir(directory)
        .and_then(|()| furnish(directory))
        .map_err(|error| format!("the case's place: {error}"))?;
    // Jobs of another user write here, too.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    fs::set_permissions(directory, open).map_err(|error| error.to_string())
}

/// A run that has ended.
pub(crate) struct Ran {
    pub(crate) status: Option<i32>,
    pub(crate) stderr: String,
    pub(crate) output: String,
}

fn carry_out(directory: &Path, words: &[&str]) -> Result<Ran, String> {
    let mut command = Command::new("prlimit");
    // A depth or a block that is too large must fail to get its memory, not take that of the machine.
    command.args(["--as=6442450944", PLUMB, "fio"]);
    command.args(["--output-format=json-full", "--output=out.json"]).args(words).arg("soak.fio").current_dir(directory);
    // Not in the place of the case, which a case may fill.
    let mut said = tempfile::tempfile().map_err(|error| error.to_string())?;
    let stderr = said.try_clone().map_err(|error| error.to_string())?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr).process_group(0);
    let begun = Instant::now();
    let mut child = command.spawn().map_err(|error| format!("prlimit: {error}"))?;
    let group = rustix::process::Pid::from_child(&child);
    let mut interrupted = false;
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if begun.elapsed() > LONGEST && !interrupted => {
                let _ = rustix::process::kill_process_group(group, rustix::process::Signal::INT);
                interrupted = true;
            }
            None if begun.elapsed() > LONGEST + LONGEST_END => {
                let message = waits_of(group);
                let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
                let _ = child.wait();
                return Err(format!("hangs: not over {LONGEST_END:?} after SIGINT\n{message}"));
            }
            None => std::thread::sleep(Duration::from_millis(3)),
        }
    };
    let left = rustix::process::test_kill_process_group(group).is_ok();
    let _ = left.then(|| rustix::process::kill_process_group(group, rustix::process::Signal::KILL));
    let mut stderr = Vec::new();
    said.rewind().and_then(|()| said.read_to_end(&mut stderr)).map_err(|error| format!("what it said: {error}"))?;
    let output = fs::read(directory.join("out.json")).unwrap_or_default();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let ran = Ran { status: status.code(), stderr: text(stderr), output: text(output) };
    if left {
        return Err(format!("a process of it was not ended: {}", ran.stderr));
    }
    match ran.status {
        _ if ran.stderr.contains("panicked") => Err(format!("panics: {}", ran.stderr)),
        None => Err(format!("dies of {status}: {}", ran.stderr)),
        Some(_) => Ok(ran),
    }
}

/// Where the processes of a group wait.
fn waits_of(group: rustix::process::Pid) -> String {
    let script = format!(
        "ps -L -o pid,lwp,stat,wchan:20,comm -g {0} --no-headers; ps -L -o pid,lwp,stat,wchan:20,comm -p {0} --no-headers",
        group.as_raw_nonzero()
    );
    Command::new("sh")
        .args(["-c", &script])
        .output()
        .map_or_else(|error| error.to_string(), |output| String::from_utf8_lossy(&output.stdout).into_owned())
}
