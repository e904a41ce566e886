//! Three guests on one network: machines with their own kernels, clocks and addresses. A test asks one to run a
//! script; a machine is stopped, killed or cut off from outside, as its power switch or its cable would do it.

use super::PROJECT;
use crate::context::PLUMB;
use rustix::process::{Pid, Signal, kill_process};
use std::cell::Cell;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Machines.
pub(super) const COUNT: usize = 3;
/// Their addresses end with their numbers, from 1.
pub(super) const NETWORK: &str = "10.213.78";
/// Reads of a disk by which a clock is measured, one after the other.
const CLOCK_READS: usize = 60;
/// The machine with a disk of which the data stay when its power is cut: `/dev/nvme0n1`.
pub(super) const KEEPS: usize = 3;
/// A guest on a busy machine boots in a minute.
const BOOT: Duration = Duration::from_secs(240);

/// The machines; they end with the test.
pub(super) struct Machines {
    place: PathBuf,
    guests: Vec<Option<Child>>,
    /// Number of scripts and of measured clocks.
    asked: Cell<usize>,
}

/// A script that a machine carries out.
pub(super) struct Question {
    answers: PathBuf,
    name: String,
}

/// An answer to a script.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) status: i32,
    pub(super) output: String,
    pub(super) errors: String,
}

impl Machines {
    pub(super) fn boot() -> Machines {
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("machines");
        drop(fs::remove_dir_all(&place));
        fs::create_dir_all(&place).unwrap();
        let mut machines = Machines { place, guests: (0..COUNT).map(|_| None).collect(), asked: Cell::new(0) };
        for key in ["host", "user"] {
            let path = machines.place.join(key);
            let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(path).status();
            assert!(made.expect("ssh-keygen, which tools/oracles installs").success());
        }
        fs::write(machines.place.join("secret"), "7".repeat(64)).unwrap();
        let mut strip = Command::new("strip");
        strip.args(["--strip-all", "-o"]).arg(machines.place.join("plumb")).arg(PLUMB);
        assert!(strip.status().unwrap().success());
        (1..=COUNT).for_each(|number| machines.start(number));
        (1..=COUNT).for_each(|number| machines.wait_until_up(number));
        machines
    }

    /// What the machine sees as /share.
    fn share(&self, number: usize) -> PathBuf {
        self.place.join(number.to_string())
    }

    /// Starts one that is not there.
    pub(super) fn start(&mut self, number: usize) {
        let share = self.share(number);
        drop(fs::remove_dir_all(&share));
        ["ask", "answers"].iter().for_each(|folder| fs::create_dir_all(share.join(folder)).unwrap());
        for name in ["host", "user", "user.pub", "secret", "plumb"] {
            fs::hard_link(self.place.join(name), share.join(name)).unwrap();
        }
        let script = format!("number={number} network={NETWORK}\n{}", include_str!("machine.sh"));
        fs::write(share.join("script"), script).unwrap();
        fs::write(share.join("clock.py"), include_str!("clock.py")).unwrap();
        // Another run of the tests has another network.
        let port = 20_000 + std::process::id() % 40_000;
        let mut command = Command::new(format!("{PROJECT}/tools/guest"));
        command.arg("run").arg(&share).args(["virtio", &format!("net:{number}")]);
        command.env("GUEST_NETWORK", format!("230.0.0.1:{port}")).env("GUEST_LIMIT", "7200");
        if number == KEEPS {
            let kept = self.place.join("kept");
            fs::File::options().create(true).append(true).open(&kept).unwrap().set_len(64 << 20).unwrap();
            let drive = format!("-drive if=none,id=kept,format=raw,cache=unsafe,file={}", kept.display());
            command.env("GUEST_WORDS", format!("{drive} -device nvme,drive=kept,serial=PLUMBKEPT"));
        }
        let log = fs::File::create(share.join("tool")).unwrap();
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.guests[number - 1] = Some(command.spawn().unwrap());
    }

    pub(super) fn wait_until_up(&mut self, number: usize) {
        let begun = Instant::now();
        while !self.share(number).join("answers/up").exists() {
            let ended = self.guests[number - 1].as_mut().unwrap().try_wait().unwrap();
            assert!(ended.is_none() && begun.elapsed() < BOOT, "m{number}: {ended:?}\n{}", self.said(number));
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// What a machine and its qemu said.
    fn said(&self, number: usize) -> String {
        let read = |name: &&str| fs::read_to_string(self.share(number).join(name)).unwrap_or_default();
        ["tool", "log", "console"].iter().map(read).collect()
    }

    /// Gives a machine a script, which it begins within half a second.
    pub(super) fn ask(&self, number: usize, script: &str) -> Question {
        let (share, name) = (self.share(number), self.next().to_string());
        fs::write(share.join(&name), script).unwrap();
        fs::rename(share.join(&name), share.join("ask").join(&name)).unwrap();
        Question { answers: share.join("answers"), name }
    }

    /// Gives a machine a file, which is below its /share.
    pub(super) fn put(&self, number: usize, name: &str, text: &str) {
        fs::write(self.share(number).join(name), text).unwrap();
    }

    /// A number that was not given before.
    pub(super) fn next(&self) -> usize {
        self.asked.set(self.asked.get() + 1);
        self.asked.get()
    }

    /// The answer to a script that must succeed.
    #[track_caller]
    pub(super) fn run(&self, number: usize, script: &str) -> Answer {
        let answer = self.ask(number, script).answer();
        assert_eq!(answer.status, 0, "m{number}: {script}: {answer:?}");
        answer
    }

    pub(super) fn is_there(&self, number: usize) -> bool {
        self.guests[number - 1].is_some()
    }

    fn signal(&self, number: usize, signal: Signal) {
        let pid = fs::read_to_string(self.share(number).join("pid")).unwrap();
        kill_process(Pid::from_raw(pid.trim().parse().unwrap()).unwrap(), signal).unwrap();
    }

    pub(super) fn pause(&self, number: usize) {
        self.signal(number, Signal::STOP);
    }

    pub(super) fn resume(&self, number: usize) {
        self.signal(number, Signal::CONT);
    }

    /// Takes its power.
    pub(super) fn kill(&mut self, number: usize) {
        self.signal(number, Signal::KILL);
        self.guests[number - 1].take().unwrap().wait().unwrap();
    }

    /// Pulls out or puts in its cable.
    pub(super) fn set_link(&self, number: usize, state: &str) {
        let mut monitor = UnixStream::connect(self.share(number).join("monitor")).unwrap();
        monitor.write_all(format!("set_link net {state}\n").as_bytes()).unwrap();
        monitor.shutdown(std::net::Shutdown::Write).unwrap();
        let mut said = String::new();
        let _ = monitor.read_to_string(&mut said);
        assert!(said.contains("set_link net") && !said.contains("not found"), "{said}");
    }

    /// Reads of the disk of a machine that qemu got: nanoseconds of this machine's clock and sector.
    pub(super) fn reads(&self, number: usize) -> Vec<(i64, u64)> {
        let trace = fs::read_to_string(self.share(number).join("trace")).unwrap_or_default();
        trace.lines().filter_map(read_of).collect()
    }

    /// The monotonic clocks of all machines minus the time of this one.
    pub(super) fn clocks(&self) -> Vec<Offset> {
        let first = CLOCK_READS * (self.next() % 200);
        let script = format!("python3 /share/clock.py /dev/vda {first} {CLOCK_READS}");
        let asked: Vec<Question> = (1..=COUNT).map(|number| self.ask(number, &script)).collect();
        let clock = |(at, asked): (usize, &Question)| {
            let (answer, reads) = (asked.answer(), self.reads(at + 1));
            let offset = |line: &str| {
                let mut words = line.split(' ').map(|word| word.parse::<i64>().unwrap());
                let (sector, before, after) = (words.next()?, words.next()?, words.next()?);
                let at = reads.iter().rev().find(|read| read.1 == u64::try_from(sector).unwrap())?.0;
                Some(Offset { least: before - at, most: after - at })
            };
            let known = answer.output.lines().filter_map(offset).min_by_key(|offset| offset.most - offset.least);
            known.unwrap_or_else(|| panic!("m{}: {answer:?}", at + 1))
        };
        asked.iter().enumerate().map(clock).collect()
    }
}

/// The clock of a machine minus the time of this one: it is between these.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offset {
    least: i64,
    most: i64,
}

impl Offset {
    pub(super) fn middle(self) -> i64 {
        self.least + (self.most - self.least) / 2
    }

    /// Bound of the error of that.
    pub(super) fn error(self) -> i64 {
        (self.most - self.least) / 2
    }
}

/// A line of qemu's trace: `12@1732809600.123456:virtio_blk_handle_read vdev ... sector 8 nsectors 8`.
fn read_of(line: &str) -> Option<(i64, u64)> {
    let (_, rest) = line.split_once('@')?;
    let (time, rest) = rest.split_once(":virtio_blk_handle_read ")?;
    let (seconds, micros) = time.split_once('.')?;
    let nanoseconds = seconds.parse::<i64>().ok()? * 1_000_000_000 + micros.parse::<i64>().ok()? * 1_000;
    let (_, sector) = rest.split_once("sector ")?;
    Some((nanoseconds, sector.split(' ').next()?.parse().ok()?))
}

impl Question {
    /// The answer, once it is there.
    #[track_caller]
    pub(super) fn answer(&self) -> Answer {
        let begun = Instant::now();
        loop {
            if let Some(answer) = self.now() {
                return answer;
            }
            assert!(begun.elapsed() < Duration::from_secs(300), "no answer: {}", self.read("out") + &self.read("err"));
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The answer, if it is there.
    pub(super) fn now(&self) -> Option<Answer> {
        let status = self.read("status").trim().parse().ok()?;
        Some(Answer { status, output: self.read("out"), errors: self.read("err") })
    }

    /// What it has printed as errors until now.
    pub(super) fn errors(&self) -> String {
        self.read("err")
    }

    fn read(&self, kind: &str) -> String {
        fs::read_to_string(self.answers.join(format!("{}.{kind}", self.name))).unwrap_or_default()
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        for number in 1..=COUNT {
            if let Some(mut guest) = self.guests[number - 1].take() {
                if guest.try_wait().is_ok_and(|ended| ended.is_none()) && self.share(number).join("pid").exists() {
                    self.signal(number, Signal::KILL);
                }
                let _ = guest.wait();
            }
        }
    }
}
