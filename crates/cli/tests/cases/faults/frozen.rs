//! A file system that is frozen under a run: its writes hang in the kernel, where not even SIGKILL reaches them.

use super::devices::Device;
use super::killed::{has_numbers, plumb};
use super::{Bench, Row, Shown, run_tool};
use house::{Process, Run};
use rustix::process::Signal;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A separate ext4 on a loop device. Thawed and unmounted when dropped, whatever happened: what hangs on it ends then.
struct Frozen {
    place: PathBuf,
    _device: Device,
}

impl Frozen {
    fn mount(bench: &Bench) -> Result<Self, String> {
        let make = |backing: &Path| run_tool("mkfs.ext4", &["-q", "-F", &backing.display().to_string()]).map(drop);
        let device = Device::over(bench, 64 << 20, make)?;
        let place = bench.file("frozen");
        std::fs::create_dir(&place).map_err(|error| error.to_string())?;
        run_tool("mount", &[&device.name(), &place.display().to_string()])?;
        Ok(Frozen { place, _device: device })
    }

    fn freeze(&self) -> Result<(), String> {
        run_tool("fsfreeze", &["--freeze", &self.place.display().to_string()]).map(drop)
    }

    fn thaw(&self) -> Result<(), String> {
        run_tool("fsfreeze", &["--unfreeze", &self.place.display().to_string()]).map(drop)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        // It may be thawed already.
        let _ = self.thaw();
        let place = self.place.display().to_string();
        // What hung on it has to end first.
        for _ in 0..50 {
            if run_tool("umount", &[&place]).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let _ = run_tool("umount", &["--lazy", &place]);
    }
}

/// A run that is left alone: what it says goes to files, for its workers may hold a pipe longer than it lives. Until
/// its end.
struct Alone(Option<Process>);

impl Alone {
    fn start(bench: &Bench, run: Run) -> Result<Self, String> {
        let file = |name: &str| File::create(bench.file(name)).map_err(|error| error.to_string());
        Ok(Alone(Some(run.output_to(file("said")?).errors_to(file("complained")?).start())))
    }

    fn process(&mut self) -> Result<&mut Process, String> {
        self.0.as_mut().ok_or_else(|| "it has ended".to_owned())
    }

    fn interrupt(&mut self) -> Result<(), String> {
        self.process().map(|process| process.signal(Signal::INT))
    }

    /// An error if it is over.
    fn goes_on(&mut self) -> Result<(), String> {
        if self.process()?.has_ended() { Err("was over before it could be frozen".to_owned()) } else { Ok(()) }
    }

    /// Waits for its end, not longer than this.
    fn end(&mut self, longest: Duration) -> Result<i32, String> {
        let began = Instant::now();
        while !self.process()?.has_ended() {
            if began.elapsed() > longest {
                return Err(format!("not over after {longest:?}"));
            }
            pause(20);
        }
        let ended = self.0.take().map(Process::end).ok_or("it has ended")?;
        ended.status.ok_or_else(|| ended.to_string())
    }
}

impl Drop for Alone {
    /// Does not wait: what is stuck ends when the file system is thawed, which comes after this.
    fn drop(&mut self) {
        if let Some(mut process) = self.0.take() {
            if !process.has_ended() {
                process.signal(Signal::KILL);
            }
            std::mem::forget(process);
        }
    }
}

fn complained(bench: &Bench) -> String {
    std::fs::read_to_string(bench.file("complained")).unwrap_or_default()
}

fn expect(bench: &Bench, status: i32, says: &[&str]) -> Result<Shown, String> {
    let text = complained(bench);
    if let Some(word) = says.iter().find(|word| !text.contains(**word)) {
        return Err(format!("does not say `{word}`: {text}"));
    }
    let line = text.lines().find(|line| says.iter().any(|word| line.contains(word))).unwrap_or_default();
    Ok(Shown { did: line.to_owned(), status: status.to_string(), kept: String::new() })
}

/// How long a run may take that was signalled twice: half a second of patience, the rest for a busy machine.
const AT_ONCE: Duration = Duration::from_secs(5);

fn pause(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

/// Waits until the run has made a file, and then as long as is given: a busy machine starts programs slowly.
fn let_it_run(bench: &Bench, milliseconds: u64) {
    let began = Instant::now();
    let made = || {
        let entries = std::fs::read_dir(bench.file("frozen")).into_iter().flatten().flatten();
        entries.filter(|entry| entry.file_name() != "lost+found").count() > 0
    };
    while !made() && began.elapsed() < Duration::from_secs(10) {
        pause(10);
    }
    pause(milliseconds);
}

/// Waits until the run has written to a file.
fn until_written(bench: &Bench, run: &mut Alone, file: &str) -> Result<(), String> {
    let began = Instant::now();
    while std::fs::metadata(bench.file(file)).map_or(0, |file| file.len()) == 0 {
        run.goes_on()?;
        if began.elapsed() > Duration::from_secs(30) {
            return Err(format!("has written nothing to {file}: {}", complained(bench)));
        }
        pause(10);
    }
    Ok(())
}

/// Until it says so on standard error.
fn wait_for(bench: &Bench, word: &str) -> Result<(), String> {
    let began = Instant::now();
    while !complained(bench).contains(word) {
        if began.elapsed() > Duration::from_secs(8) {
            return Err(format!("does not say `{word}`: {}", complained(bench)));
        }
        pause(100);
    }
    Ok(())
}

/// A run that is frozen for a while and then goes on to its end.
fn named(bench: &Bench, words: &str, file: &str, frozen_after: u64) -> Result<Shown, String> {
    let frozen = Frozen::mount(bench)?;
    let run = Alone::start(bench, plumb(bench, words)?)?;
    let_it_run(bench, frozen_after);
    frozen_and_thawed(bench, &frozen, run, file)
}

/// The same for a run of iozone, which lasts three seconds from its first record on: on a busy machine one that is
/// waited for is over before it can be frozen.
fn named_by_iozone(bench: &Bench, words: &str) -> Result<Shown, String> {
    let frozen = Frozen::mount(bench)?;
    let mut run = Alone::start(bench, plumb(bench, words)?)?;
    until_written(bench, &mut run, "frozen/z")?;
    frozen_and_thawed(bench, &frozen, run, "frozen/z")
}

fn frozen_and_thawed(bench: &Bench, frozen: &Frozen, mut run: Alone, file: &str) -> Result<Shown, String> {
    frozen.freeze()?;
    run.goes_on()?;
    let stuck = format!("{file} has not completed for");
    let named = wait_for(bench, &stuck);
    frozen.thaw()?;
    named?;
    let status = run.end(Duration::from_secs(15))?;
    if status != 0 {
        return Err(format!("exit status {status}: {}", complained(bench)));
    }
    let shown = expect(bench, 0, &["I/O is stuck: ", &stuck])?;
    Ok(Shown { kept: "all: it went on when it was thawed".into(), ..shown })
}

const FIO: &str = "fio --output-format=json --output=out.json --name=a --filename=frozen/f --size=1m --rw=randwrite \
    --time_based --runtime=60 --rate_iops=200";

/// Freezes under a run and signals it twice to end; how it goes on is for the caller to see.
fn signalled_twice(bench: &Bench, words: &str, frozen_after: u64) -> Result<(Frozen, Alone), String> {
    let frozen = Frozen::mount(bench)?;
    let mut run = Alone::start(bench, plumb(bench, words)?)?;
    let_it_run(bench, frozen_after);
    frozen.freeze()?;
    pause(500);
    run.interrupt()?;
    pause(500);
    run.interrupt()?;
    Ok((frozen, run))
}

fn ios(bench: &Bench, direction: &str) -> Option<u64> {
    let text = std::fs::read_to_string(bench.file("out.json")).ok()?;
    let json: serde_json::Value = serde_json::from_str(&text[text.find("{\n")?..]).ok()?;
    json["jobs"][0][direction]["total_ios"].as_u64()
}

fn processes(bench: &Bench) -> Result<Shown, String> {
    let (_frozen, mut run) = signalled_twice(bench, FIO, 1500)?;
    let status = run.end(AT_ONCE)?;
    let shown = expect(bench, status, &["left in the kernel: pid"])?;
    match ios(bench, "write") {
        Some(ios) if ios > 20 && status == 128 => Ok(Shown { kept: format!("the report: {ios} writes"), ..shown }),
        found => Err(format!("status {status}, {found:?} writes; {}", complained(bench))),
    }
}

fn threads(bench: &Bench) -> Result<Shown, String> {
    let (frozen, mut run) = signalled_twice(bench, &format!("{FIO} --thread=1"), 1500)?;
    let began = Instant::now();
    while ios(bench, "write").is_none() && began.elapsed() < AT_ONCE {
        pause(50);
    }
    let found = ios(bench, "write");
    // Its process ends with the last of its threads.
    frozen.thaw()?;
    let status = run.end(AT_ONCE)?;
    let shown = expect(bench, status, &["left in the kernel: pid"])?;
    match found {
        Some(ios) if ios > 20 && status == 128 => Ok(Shown { kept: format!("the report: {ios} writes"), ..shown }),
        _ => Err(format!("status {status}, {found:?} writes; {}", complained(bench))),
    }
}

const LAID_OUT: &str =
    "fio --output-format=json --output=out.json --name=a --filename=frozen/f --size=1m --rw=read --stuck_after=1";

/// Freezes before a run begins: its layout is what hangs, and is named.
fn stuck_layout(bench: &Bench) -> Result<(Frozen, Alone), String> {
    let frozen = Frozen::mount(bench)?;
    frozen.freeze()?;
    let run = Alone::start(bench, plumb(bench, LAID_OUT)?)?;
    wait_for(bench, "job `a`: I/O is stuck: ")?;
    wait_for(bench, "/f has not completed for")?;
    Ok((frozen, run))
}

fn layout(bench: &Bench) -> Result<Shown, String> {
    let (frozen, mut run) = stuck_layout(bench)?;
    frozen.thaw()?;
    let status = run.end(Duration::from_secs(15))?;
    let shown = expect(bench, status, &["I/O is stuck: "])?;
    match ios(bench, "read") {
        Some(256) if status == 0 => Ok(Shown { kept: "all: it went on when it was thawed".into(), ..shown }),
        found => Err(format!("status {status}, {found:?} reads; {}", complained(bench))),
    }
}

/// Interrupts a run twice, which then says that it leaves something in the kernel, and thaws the file system: a process
/// ends with the last of its threads.
fn give_up(bench: &Bench, frozen: &Frozen, run: &mut Alone, said: &str) -> Result<(), String> {
    run.interrupt()?;
    pause(500);
    run.interrupt()?;
    wait_for(bench, said)?;
    frozen.thaw()
}

fn layout_signalled_twice(bench: &Bench) -> Result<Shown, String> {
    let (frozen, mut run) = stuck_layout(bench)?;
    give_up(bench, &frozen, &mut run, "left in the kernel: the layout of its files")?;
    match run.end(AT_ONCE)? {
        1 => Ok(Shown { kept: "no job had begun".into(), ..expect(bench, 1, &["left in the kernel"])? }),
        status => Err(format!("status {status}; {}", complained(bench))),
    }
}

fn survey(bench: &Bench) -> Result<Shown, String> {
    let words =
        "survey --output kept.json --size 16M --time 60 --warm-up 0 --tests write --users 1 --block-sizes 8k frozen";
    let (_frozen, mut run) = signalled_twice(bench, words, 3000)?;
    let status = run.end(AT_ONCE)?;
    let shown = expect(bench, status, &["left in the kernel: pid", "with the interrupted test: kept.json"])?;
    if status != 130 || !has_numbers(&bench.file("kept.json")) {
        return Err(format!("status {status}, or nothing is kept; {}", complained(bench)));
    }
    Ok(Shown { kept: "the test under way".into(), ..shown })
}

fn iozone(bench: &Bench) -> Result<Shown, String> {
    let words = "iozone --json=kept.json -o -i 0 -s 8m -r 4 -J 20 -f frozen/z";
    let (_frozen, mut run) = signalled_twice(bench, words, 1500)?;
    let status = run.end(AT_ONCE)?;
    let shown = expect(bench, status, &["left in the kernel: pid"])?;
    if status != 130 || !has_numbers(&bench.file("kept.json")) {
        return Err(format!("status {status}, or nothing is kept; {}", complained(bench)));
    }
    Ok(Shown { kept: "the pass under way".into(), ..shown })
}

fn iozone_matrix(bench: &Bench) -> Result<Shown, String> {
    let words = "iozone --json=kept.json -o -a -n 8m -g 8m -y 4 -q 4 -i 0 -J 20 -f frozen/z";
    let (frozen, mut run) = signalled_twice(bench, words, 1500)?;
    wait_for(bench, "left in the kernel: pid")?;
    // Its process ends with the last of its threads.
    frozen.thaw()?;
    let status = run.end(AT_ONCE)?;
    let shown = expect(bench, status, &["left in the kernel: pid"])?;
    if status != 130 || !has_numbers(&bench.file("kept.json")) {
        return Err(format!("status {status}, or nothing is kept; {}", complained(bench)));
    }
    Ok(Shown { kept: "the pass under way".into(), ..shown })
}

/// The same where the calling thread does the passes, and another one sees that it is stuck.
fn iozone_alone(bench: &Bench) -> Result<Shown, String> {
    let words = "iozone -o -a -n 8m -g 8m -y 4 -q 4 -i 0 -J 20 -f frozen/z --stuck-after=1";
    let frozen = Frozen::mount(bench)?;
    let mut run = Alone::start(bench, plumb(bench, words)?)?;
    until_written(bench, &mut run, "frozen/z")?;
    frozen.freeze()?;
    wait_for(bench, "frozen/z has not completed for")?;
    give_up(bench, &frozen, &mut run, "left in the kernel: pid")?;
    match run.end(AT_ONCE)? {
        130 => Ok(Shown { kept: "nothing: it only prints".into(), ..expect(bench, 130, &["I/O is stuck: "])? }),
        status => Err(format!("status {status}; {}", complained(bench))),
    }
}

pub(crate) fn rows() -> Vec<Row> {
    vec![
        Row::new("stuck I/O is named, survey", "fsfreeze under its writes", |bench| {
            let words = "survey --output kept.json --size 16M --time 7 --warm-up 0 --tests write --users 1 --block-sizes 8k \
                         --stuck-after 1 frozen";
            named(bench, words, "plumb-survey.dat", 3000)
        }),
        Row::new("stuck I/O is named, iozone", "fsfreeze under its writes", |bench| {
            named_by_iozone(bench, "iozone -o -i 0 -s 600k -r 4 -J 20 -+n -f frozen/z --stuck-after=1")
        }),
        Row::new("stuck I/O is named, iozone -t", "fsfreeze under its writes", |bench| {
            named_by_iozone(bench, "iozone -o -i 0 -s 600k -r 4 -J 20 -+n -t 2 -F frozen/y frozen/z --stuck-after 1")
        }),
        Row::new("stuck I/O is named, layout", "fsfreeze under its layout", layout),
        Row::new("SIGINT twice, I/O stuck", "fsfreeze under a process", processes),
        Row::new("SIGINT twice, I/O stuck, threads", "fsfreeze under a thread", threads),
        Row::new("SIGINT twice, I/O stuck, layout", "fsfreeze under its layout", layout_signalled_twice),
        Row::new("SIGINT twice, I/O stuck, survey", "fsfreeze under its writes", survey),
        Row::new("SIGINT twice, I/O stuck, iozone", "fsfreeze under its writes", iozone),
        Row::new("SIGINT twice, I/O stuck, iozone -a", "fsfreeze under its writes", iozone_matrix),
        Row::new("SIGINT twice, I/O stuck, iozone -a alone", "fsfreeze under its writes", iozone_alone),
    ]
}
