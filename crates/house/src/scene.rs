//! Runs a program in a new directory, and records its output, exit status and the files it leaves.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A program and its fixed first arguments: `fio`, or `plumb fio`.
#[derive(Clone, Debug)]
pub struct Program {
    /// The path or name of the program.
    pub path: PathBuf,
    /// Arguments before those of a call.
    pub first: Vec<String>,
}

/// Input of a program. `{dir}` and `{dev}` in arguments and files are replaced by the scene's directory and device.
#[derive(Clone, Debug, Default)]
pub struct Call {
    /// Command line arguments.
    pub words: Vec<String>,
    /// Files created in the directory before the start: name and contents.
    pub files: Vec<(String, String)>,
    /// Environment variables.
    pub variables: Vec<(String, String)>,
    /// Text for its standard input.
    pub input: String,
    /// Name of a signal, and the time after the start at which it is sent.
    pub signal: Option<(Duration, &'static str)>,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It exited with this status.
    Status(i32),
    /// It was killed by this signal.
    Signal(i32),
    /// It did not end in time.
    TooLate,
}

/// Result of running a program.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Exit status or signal.
    pub end: End,
    /// Standard output, with the scene's paths replaced by `{dir}` and `{dev}`.
    pub stdout: String,
    /// Standard error, with the same replacements.
    pub stderr: String,
    /// Every file and directory in its directory after the run, with sizes in bytes (`None` for directories).
    pub left: BTreeMap<PathBuf, Option<u64>>,
}

/// A directory in which one program runs once.
#[derive(Debug)]
pub struct Scene {
    directory: tempfile::TempDir,
    device: Option<PathBuf>,
}

/// Time limit of a run; the slowest case takes a fifth of it.
const PATIENCE: Duration = Duration::from_secs(30);

impl Scene {
    /// Creates an empty directory under `parent`; `device` is the value of `{dev}`.
    ///
    /// # Errors
    /// The directory cannot be created.
    pub fn new(parent: &Path, device: Option<&Path>) -> io::Result<Self> {
        fs::create_dir_all(parent)?;
        let directory = tempfile::Builder::new().prefix("scene-").tempdir_in(parent)?;
        Ok(Scene { directory, device: device.map(Path::to_path_buf) })
    }

    /// Path of the directory.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Runs the program until it ends.
    ///
    /// # Errors
    /// The program cannot be started, or its files cannot be created or read.
    pub fn run(&self, program: &Program, call: &Call) -> io::Result<Outcome> {
        for (name, text) in &call.files {
            let path = self.directory().join(name);
            fs::create_dir_all(path.parent().unwrap_or(self.directory()))?;
            fs::write(path, self.placed(text))?;
        }
        // Output goes to files outside of the directory: a full pipe would block the program.
        let (mut stdout, mut stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
        let mut child = Command::new(&program.path)
            .args(&program.first)
            .args(call.words.iter().map(|word| self.placed(word)))
            .envs(call.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.directory())
            .stdin(self.input(&call.input)?)
            .stdout(stdout.try_clone()?)
            .stderr(stderr.try_clone()?)
            .process_group(0)
            .spawn()?;
        let end = wait(&mut child, call.signal)?;
        Ok(Outcome {
            end,
            stdout: self.unplaced(&text_of(&mut stdout)?),
            stderr: self.unplaced(&text_of(&mut stderr)?),
            left: listing(self.directory())?,
        })
    }

    fn input(&self, text: &str) -> io::Result<Stdio> {
        if text.is_empty() {
            return Ok(Stdio::null());
        }
        let mut file = tempfile::tempfile()?;
        file.write_all(self.placed(text).as_bytes())?;
        io::Seek::rewind(&mut file)?;
        Ok(Stdio::from(file))
    }

    fn placed(&self, text: &str) -> String {
        let text = text.replace("{dir}", &self.directory().to_string_lossy());
        match &self.device {
            Some(device) => text.replace("{dev}", &device.to_string_lossy()),
            None => text,
        }
    }

    fn unplaced(&self, text: &str) -> String {
        let text = text.replace(&*self.directory().to_string_lossy(), "{dir}");
        match &self.device {
            Some(device) => text.replace(&*device.to_string_lossy(), "{dev}"),
            None => text,
        }
    }
}

fn text_of(file: &mut File) -> io::Result<String> {
    io::Seek::rewind(file)?;
    let mut bytes = Vec::new();
    io::Read::read_to_end(file, &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Waits for the program to end, sends the signal when it is due, and kills it with all that it started at the time limit.
fn wait(child: &mut Child, mut signal: Option<(Duration, &'static str)>) -> io::Result<End> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(end_of(status));
        }
        if let Some((_, name)) = signal.filter(|(after, _)| started.elapsed() >= *after) {
            send(name, &child.id().to_string())?;
            signal = None;
        }
        if started.elapsed() > PATIENCE {
            crate::processes::kill_with_descendants(child.id());
            child.wait()?;
            return Ok(End::TooLate);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn send(signal: &str, target: &str) -> io::Result<()> {
    Command::new("kill").args([&format!("-{signal}"), "--", target]).status().map(drop)
}

fn end_of(status: ExitStatus) -> End {
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Status(code),
        (None, Some(signal)) => End::Signal(signal),
        (None, None) => End::TooLate,
    }
}

/// All files and directories below a directory, by relative path.
fn listing(root: &Path) -> io::Result<BTreeMap<PathBuf, Option<u64>>> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            let path = entry.path();
            let relative = path.strip_prefix(root).unwrap_or(&path).to_path_buf();
            found.insert(relative, metadata.is_file().then_some(metadata.len()));
            if metadata.is_dir() {
                open.push(path);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, signal: Option<(Duration, &'static str)>) -> Outcome {
        let scene = Scene::new(&std::env::temp_dir(), Some(Path::new("/dev/zero"))).expect("a directory");
        let program = Program { path: "sh".into(), first: vec!["-c".into(), script.into()] };
        let call = Call { files: vec![("in/a".into(), "{dev}".into())], signal, ..Call::default() };
        scene.run(&program, &call).expect("runs")
    }

    #[test]
    fn an_outcome_is_the_end_the_output_and_the_files() {
        let outcome = shell("cat in/a; pwd >&2; printf 123 > b; exit 3", None);
        assert_eq!(outcome.end, End::Status(3));
        assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("{dev}", "{dir}\n"));
        let left: Vec<_> = outcome.left.into_iter().collect();
        assert_eq!(left, [("b".into(), Some(3)), ("in".into(), None), ("in/a".into(), Some(9))]);
    }

    #[test]
    fn a_signal_reaches_the_program() {
        assert_eq!(shell("sleep 30", Some((Duration::from_millis(50), "TERM"))).end, End::Signal(15));
    }
}
