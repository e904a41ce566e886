//! `plumb cluster --mpi` under real launchers: the same job under every MPI, and the death and silence of each of its
//! processes. With Debian's Open MPI in every gate as far as it takes seconds; all of it on request: `make mpi`
//! installs four MPIs and runs it.

use crate::context::{PLUMB, SIMULATED_JOB, SIMULATED_SURVEY};
use house::Cases;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longest silence of a member or of the leader in these runs.
const SILENCE: Duration = Duration::from_secs(3);
/// Time that may follow it, on a machine that does other work, too.
const THEN: Duration = Duration::from_secs(10);
/// System calls of a relay in a second of measuring, with those of the MPI library's threads. It looks 50 times a
/// second, with 3 to 5 calls each (159 to 286 were counted under four MPIs); twice that is not a storm, but 1 ms
/// between looks, as before the start, would be 3000.
const MOST_CALLS: f64 = 500.0;
/// Random reads of a file for this time.
const READS: &str = "--name=r --rw=randread --bs=4k --size=4m --time_based --runtime=";

/// An MPI with its launcher.
#[derive(Clone, Copy, Debug)]
struct Mpi {
    name: &'static str,
    /// Of Debian, or the directory of PyPI's package below target/oracles.
    launcher: &'static str,
    words: &'static [&'static str],
    /// The library, if it is not found by the launcher.
    library: Option<&'static str>,
    /// As the result names it.
    called: &'static str,
}

/// As root, with more ranks than processors, and without binding each rank to one.
const OPEN_MPI: &[&str] = &["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"];

const DEBIAN_OPEN_MPI: Mpi =
    Mpi { name: "openmpi", launcher: "mpirun.openmpi", words: OPEN_MPI, library: None, called: "Open MPI 4." };
const DEBIAN_MPICH: Mpi =
    Mpi { name: "mpich", launcher: "mpirun.mpich", words: &[], library: None, called: "MPICH 4." };
const OTHERS: [Mpi; 3] = [
    Mpi {
        name: "openmpi_5",
        launcher: "mpi-openmpi",
        words: OPEN_MPI,
        library: Some("mpi-openmpi/lib/libmpi.so.40"),
        called: "Open MPI 5.",
    },
    Mpi {
        name: "mpich_5",
        launcher: "mpi-mpich",
        words: &[],
        library: Some("mpi-mpich/lib/libmpi.so.12"),
        called: "MPICH 5.",
    },
    Mpi {
        name: "standard_abi",
        launcher: "mpi-mpich",
        words: &[],
        library: Some("mpi-mpich/lib/libmpi_abi.so.1"),
        called: "MPICH 5.",
    },
];

fn oracles() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("../oracles")
}

impl Mpi {
    /// `mpirun -n RANKS plumb cluster --mpi WORDS` in this directory.
    fn command(self, place: &Path, ranks: u32, words: &str) -> Command {
        let launcher = match self.library {
            None => PathBuf::from(self.launcher),
            Some(_) => oracles().join(self.launcher).join("bin/mpirun"),
        };
        let mut command = Command::new(launcher);
        command.args(self.words).args(["-n", &ranks.to_string(), PLUMB, "cluster"]);
        match self.library {
            None => command.arg("--mpi"),
            Some(library) => command.arg(format!("--mpi={}", oracles().join(library).display())),
        };
        command.args(words.split_whitespace()).current_dir(place);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(self, place: &Path, ranks: u32, words: &str) -> (i32, String, String) {
        let output = self.command(place, ranks, words).output();
        shown(
            &output
                .unwrap_or_else(|error| panic!("{}: {error}; tools/oracles and tools/mpi install it", self.launcher)),
        )
    }
}

fn shown(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

fn place() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// The document in an output: launchers print their own lines around it.
fn document(text: &str) -> Value {
    let from = text.find('{').unwrap_or_else(|| panic!("no document: {text}"));
    let mut documents = serde_json::Deserializer::from_str(&text[from..]).into_iter::<Value>();
    documents.next().expect("a document").unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The tests.
pub(super) fn groups() -> Vec<Cases> {
    let name = |mpi: Mpi, what: &str| format!("{}::{what}", mpi.name);
    let mut cases = Cases::waiting("mpi", 2)
        .test(&name(DEBIAN_OPEN_MPI, "equal_bytes_and_ios"), || equal_bytes_and_ios(DEBIAN_OPEN_MPI))
        .test(&name(DEBIAN_OPEN_MPI, "member_killed"), || dies(DEBIAN_OPEN_MPI, Role::Member, Signal::KILL))
        .test("launchers_that_started_others_than_mpi_knows_are_named", contradictions)
        .test("libraries_that_fit_no_table_are_refused_by_name", refusals);
    let on_request = |cases: Cases, name: String, body: Box<dyn FnOnce() + Send>| {
        cases.on_request(&name, move || {
            body();
            Ok(())
        })
    };
    for mpi in [DEBIAN_MPICH].into_iter().chain(OTHERS) {
        cases = on_request(cases, name(mpi, "equal_bytes_and_ios"), Box::new(move || equal_bytes_and_ios(mpi)));
    }
    for mpi in [DEBIAN_OPEN_MPI, DEBIAN_MPICH] {
        for (what, body) in ROUNDS {
            cases = on_request(cases, name(mpi, what), Box::new(move || body(mpi)));
        }
    }
    for mpi in [DEBIAN_OPEN_MPI, DEBIAN_MPICH, OTHERS[0], OTHERS[2]] {
        cases = on_request(cases, name(mpi, "a_relay_sleeps"), Box::new(move || a_relay_sleeps(mpi)));
        cases = on_request(cases, name(mpi, "a_relay_makes_few_calls"), Box::new(move || a_relay_makes_few_calls(mpi)));
        cases = on_request(cases, name(mpi, "interrupt"), Box::new(move || interrupt(mpi)));
        for (role, called) in ROLES {
            for (signal, how) in [(Signal::KILL, "killed"), (Signal::STOP, "stopped")] {
                if (mpi.name, role, signal) != (DEBIAN_OPEN_MPI.name, Role::Member, Signal::KILL) {
                    let body = Box::new(move || dies(mpi, role, signal));
                    cases = on_request(cases, name(mpi, &format!("{called}_{how}")), body);
                }
            }
        }
    }
    vec![on_request(cases, "slurm::tasks_of_srun_are_members".to_owned(), Box::new(slurm))]
}

/// Words in a Slurm of this machine, which ends with them.
fn srun(place: &Path, words: &str) -> (i32, String, String) {
    with_slurm(place, &format!("srun {words}"), &std::env::var("PATH").unwrap())
}

fn with_slurm(place: &Path, words: &str, path: &str) -> (i32, String, String) {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/slurm");
    let mut command = Command::new(tool);
    command.args(words.split_whitespace()).current_dir(place).stdin(Stdio::null()).env("PATH", path);
    shown(&command.output().unwrap())
}

fn slurm() {
    let place = place();
    let job = "--name=w --rw=write --bs=16k --size=1m --numjobs=2 --filename=f.${PLUMB_RANK}";
    let plumb = format!("{PLUMB} cluster --mpi");
    let (status, text, error) =
        srun(place.path(), &format!("-n 4 --overcommit --mpi=pmix --cpu-bind=none {plumb} --json fio {job}"));
    assert_eq!(status, 0, "{text}{error}");
    let found = document(&text);
    let summary = &found["cluster"];
    assert_eq!((&summary["members"], &summary["rates"][0]["bytes"]), (&4.into(), &(4 * (2 << 20)).into()), "{summary}");
    assert!((0..4).all(|rank| place.path().join(format!("f.{rank}")).exists()));
    // Each rank on one processor, which its workers share.
    let cpus = std::thread::available_parallelism().unwrap().get();
    let (status, text, error) =
        srun(place.path(), &format!("-n 2 --mpi=pmix --cpu-bind=core {plumb} --json fio {job}"));
    let notes = document(&text)["cluster"]["notes"].clone();
    let is_bound = notes.as_array().unwrap().iter().any(|note| note["check"] == "bound");
    assert!(status == 0 && is_bound == (cpus > 1), "{notes}{error}");
    // MPICH by PMI-2.
    let mpich = format!("{PLUMB} cluster --mpi=libmpich.so.12");
    let (status, text, error) = srun(place.path(), &format!("-n 2 --mpi=pmi2 {mpich} --json fio {job}"));
    assert!(status == 0 && document(&text)["cluster"]["members"] == 2, "{text}{error}");
    // The script for sbatch.
    let script = Command::new(PLUMB)
        .args("cluster manifest --slurm --members 2 -- --json -o all.json fio".split(' '))
        .args(job.split(' '))
        .output()
        .unwrap();
    fs::write(place.path().join("run.sh"), shown(&script).1).unwrap();
    let path = format!("{}:{}", Path::new(PLUMB).parent().unwrap().display(), std::env::var("PATH").unwrap());
    let (status, text, error) = with_slurm(place.path(), "sbatch --overcommit --wait run.sh", &path);
    let written = fs::read_to_string(place.path().join("all.json")).unwrap_or_else(|_| panic!("{text}{error}"));
    assert!(status == 0 && document(&written)["cluster"]["members"] == 2, "{text}{error}");
    // Tasks that do not know of each other: nothing is written.
    let (status, text, error) =
        srun(place.path(), &format!("-n 2 --mpi=none {mpich} fio --name=w --size=4k --rw=write --filename=g"));
    assert!(
        status != 0 && error.contains("srun started 2 tasks, but MPICH 4.0.2 knows 1 rank: use srun --mpi=pmix"),
        "{text}{error}"
    );
    let (status, text, error) =
        srun(place.path(), &format!("-n 2 --mpi=none {plumb} fio --name=w --size=4k --rw=write --filename=g"));
    assert!(status != 0 && error.contains("if they do not: srun --mpi=pmix"), "{text}{error}");
    assert!(!place.path().join("g").exists());
}

fn equal_bytes_and_ios(mpi: Mpi) {
    let place = place();
    let job = "--name=w --rw=write --bs=16k --size=1m --nrfiles=2 --numjobs=2";
    let (status, text, error) = mpi.run(place.path(), 3, &format!("--json --keep kept fio {job}"));
    assert_eq!(status, 0, "{text}{error}");
    let found = document(&text);
    let summary = &found["cluster"];
    let library = summary["library"].as_str().unwrap();
    assert!(library.starts_with(mpi.called), "{library}");
    assert_eq!(
        (&summary["carrier"], &summary["members"], &summary["complete"]),
        (&"mpi".into(), &3.into(), &true.into())
    );
    let each = summary["each"].as_array().unwrap();
    for member in each {
        assert_eq!((&member["bytes"], &member["ios"]), (&(2 << 20).into(), &128.into()), "{member}");
    }
    assert_eq!(summary["rates"][0]["bytes"], 3 * (2 << 20));
    // The bound of clocks is the round trip through two relays, each of which may wait for a processor on a machine
    // that does other work.
    assert!(summary["start"]["clock_error_ns"].as_u64().unwrap() < 1_000_000_000, "{}", summary["start"]);
    assert_eq!(fs::read_dir(place.path().join("kept")).unwrap().count(), 3);
    let (status, text, error) = mpi.run(place.path(), 2, "fio --name=a --size=4k --bs=4q");
    assert!(status != 0 && error.matches("bs=4q is not").count() == 1, "one rank says it: {text}{error}");
}

/// A test with an MPI.
type Body = fn(Mpi);

/// Runs in several rounds.
const ROUNDS: [(&str, Body); 4] =
    [("repetitions", repetitions), ("survey", survey), ("knee", knee), ("iozone_by_children", iozone)];

/// The document that a run of three members has written.
fn written(mpi: Mpi, words: &str) -> Value {
    let place = place();
    let (status, text, error) = mpi.run(place.path(), 3, &format!("{words} -o all.json ."));
    assert_eq!(status, 0, "{text}{error}");
    let found = document(&fs::read_to_string(place.path().join("all.json")).unwrap());
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "the files of the members are gone");
    found
}

fn repetitions(mpi: Mpi) {
    let place = place();
    let (status, text, error) = mpi.run(place.path(), 3, &format!("--json --repeat 2 fio {SIMULATED_JOB}"));
    assert_eq!(status, 0, "{text}{error}");
    let found = document(&text);
    assert_eq!((&found["repetitions"]["counted"], &found["tests"][1]["cluster"]["members"]), (&2.into(), &3.into()));
    let rate = found["tests"][1]["cluster"]["rates"][0]["sum_iops"].as_f64().unwrap();
    assert!((rate - 30_000.0).abs() < 1.0, "{rate}");
}

fn survey(mpi: Mpi) {
    let found = written(mpi, &format!("survey --users 1,4 {SIMULATED_SURVEY} --no-store --no-report"));
    for (test, users) in found["tests"].as_array().unwrap().iter().zip([3, 12]) {
        let rate = test["cluster"]["rates"][0]["sum_iops"].as_f64().unwrap();
        assert!(test["users"] == users && (rate - 10_000.0 * f64::from(users)).abs() < 1.0, "{users}: {rate}");
        assert_eq!((&test["cluster"]["carrier"], &test["cluster"]["members"]), (&"mpi".into(), &3.into()));
    }
    assert_eq!(found["tests"].as_array().unwrap().len(), 2);
}

fn knee(mpi: Mpi) {
    let found = written(mpi, "knee --time 1 --most 2 --size 16M --no-store --no-report");
    let users: Vec<&Value> = found["tests"].as_array().unwrap().iter().map(|test| &test["users"]).collect();
    assert_eq!(users, [3, 6]);
}

fn iozone(mpi: Mpi) {
    let place = place();
    let (status, text, error) = mpi.run(place.path(), 3, "iozone -i 0 -i 1 -s 256k -r 64k");
    assert_eq!(status, 0, "{text}{error}");
    for rate in ["for  3 initial writers", "for  3 rewriters", "for  3 readers", "for 3 re-readers"] {
        assert!(text.contains(&format!("Children see throughput {rate}")), "{rate}: {text}{error}");
    }
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "the files of the children are gone");
}

/// A process of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// The member of a rank that is not 0.
    Member,
    Leader,
    /// The relay of that rank.
    Relay,
    /// The relay of rank 0.
    FirstRelay,
}

const ROLES: [(Role, &str); 4] =
    [(Role::Member, "member"), (Role::Leader, "leader"), (Role::Relay, "relay"), (Role::FirstRelay, "first_relay")];

/// The processes of plumb in a directory: number, parent, words.
fn processes(place: &Path) -> Vec<(u32, u32, Vec<String>)> {
    let here = place.canonicalize().unwrap();
    let one = |entry: fs::DirEntry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        if fs::read_link(entry.path().join("cwd")).ok()? != here {
            return None;
        }
        let words = fs::read_to_string(entry.path().join("cmdline")).ok()?;
        let words: Vec<String> = words.split_terminator('\0').map(str::to_owned).collect();
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let mut rest = stat.rsplit(')').next()?.split_whitespace();
        let (state, parent) = (rest.next()?, rest.next()?.parse().ok()?);
        let is_plumb = words.first()?.rsplit('/').next()?.starts_with("plumb");
        (is_plumb && state != "Z").then_some((pid, parent, words))
    };
    fs::read_dir("/proc").unwrap().flatten().filter_map(one).collect()
}

/// System calls that read, of the children of a member.
fn reads_of_workers(place: &Path, member: u32) -> u64 {
    let calls = |pid: u32| -> Option<u64> {
        let counts = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
        counts.lines().find_map(|line| line.strip_prefix("syscr: "))?.parse().ok()
    };
    let workers = processes(place).into_iter().filter(|(_, parent, _)| *parent == member);
    workers.filter_map(|(pid, ..)| calls(pid)).sum()
}

/// A run that has begun.
struct Run {
    place: TempDir,
    launcher: Child,
    relays: Vec<u32>,
    leader: u32,
    first_relay: u32,
    members: Vec<(u32, u32)>,
}

/// Starts three members, and waits until they are at work.
fn begin(mpi: Mpi, words: &str) -> Run {
    let place = place();
    let launcher = mpi.command(place.path(), 3, words).spawn();
    let launcher = launcher.unwrap_or_else(|error| panic!("{}: {error}; make mpi installs it", mpi.launcher));
    let mut run = Run { place, launcher, relays: Vec::new(), leader: 0, first_relay: 0, members: Vec::new() };
    let begun = Instant::now();
    loop {
        let found = processes(run.place.path());
        let is = |words: &[String], word: &str| words.iter().any(|each| each == word);
        let relays: Vec<u32> =
            found.iter().filter(|(_, _, words)| words[0].ends_with("plumb-mpi")).map(|(pid, ..)| *pid).collect();
        let of_relay = |parent: &u32| relays.contains(parent);
        let leaders: Vec<(u32, u32)> = found
            .iter()
            .filter(|(_, parent, words)| is(words, "--relayed") && of_relay(parent))
            .map(|(pid, parent, _)| (*pid, *parent))
            .collect();
        let members: Vec<(u32, u32)> = found
            .iter()
            .filter(|(_, parent, words)| is(words, "member") && of_relay(parent))
            .map(|(pid, parent, _)| (*pid, *parent))
            .collect();
        let works = |member: &(u32, u32)| found.iter().any(|(_, parent, _)| *parent == member.0);
        if let ([(leader, first_relay)], 3, 3) = (leaders.as_slice(), relays.len(), members.len())
            && members.iter().all(works)
        {
            // They wait for their start, and calibrations have workers, too.
            std::thread::sleep(Duration::from_secs(2));
            while !members.iter().all(|&(member, _)| reads_of_workers(run.place.path(), member) > 20) {
                assert!(begun.elapsed() < Duration::from_secs(40), "the members do not read");
                std::thread::sleep(Duration::from_millis(50));
            }
            (run.leader, run.first_relay) = (*leader, *first_relay);
            (run.relays, run.members) = (relays, members);
            return run;
        }
        assert!(begun.elapsed() < Duration::from_secs(40), "the members did not begin: {found:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl Run {
    fn process(&self, role: Role) -> u32 {
        let relay = *self.relays.iter().find(|relay| **relay != self.first_relay).expect("another rank");
        match role {
            Role::Member => self.members.iter().find(|(_, parent)| *parent == relay).expect("its member").0,
            Role::Leader => self.leader,
            Role::Relay => relay,
            Role::FirstRelay => self.first_relay,
        }
    }

    /// Waits for the end. Returns how long it took, with the outputs and the place.
    fn end(self, begun: Instant) -> (Duration, (i32, String, String), TempDir) {
        let output = self.launcher.wait_with_output().unwrap();
        let took = begun.elapsed();
        // Members that lost their leader write their results.
        while !processes(self.place.path()).is_empty() {
            assert!(begun.elapsed() < SILENCE + THEN + THEN, "orphans: {:?}", processes(self.place.path()));
            std::thread::sleep(Duration::from_millis(20));
        }
        (took, shown(&output), self.place)
    }
}

fn signal(pid: u32, signal: Signal) -> Instant {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();
    Instant::now()
}

/// The kept results of members in a directory.
fn kept(place: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for directory in [place.to_owned(), place.join("plumb-cluster-001")] {
        let names = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
        found.extend(names.filter(|path| path.extension().is_some_and(|extension| extension == "json")));
    }
    found.iter().map(|path| path.display().to_string()).collect()
}

/// The run ends in time, says who it was, leaves no process, and what was measured can be merged.
fn dies(mpi: Mpi, role: Role, with: Signal) {
    let run = begin(mpi, &format!("--silence 3s fio {READS}60"));
    let begun = signal(run.process(role), with);
    let (took, (status, text, error), place) = run.end(begun);
    assert!(took < SILENCE + THEN, "{took:?}: {text}{error}");
    assert_ne!(status, 0, "{text}{error}");
    let says = match (role, with) {
        (Role::Member, Signal::KILL) => "it was ended by signal 9",
        (Role::Member | Role::Relay, Signal::STOP) => "it said nothing for 3s, and was given up",
        (Role::Leader, Signal::KILL) => "the leader: it was ended by signal 9",
        (Role::Leader, _) => "the leader said nothing for 3s",
        (Role::FirstRelay, Signal::STOP) => "nothing was heard of the leader and of rank 0 for 3s",
        // The launcher names it.
        _ => "Killed",
    };
    assert!(error.contains(says) || text.contains(says), "{text}{error}");
    assert!(!text.contains("read    all"), "there is no rate of all: {text}");
    let files = kept(place.path());
    assert!(!files.is_empty(), "no member has kept its result: {text}{error}");
    let merged = Command::new(PLUMB).args(["cluster", "merge", "--partial"]).args(&files).output().unwrap();
    let (status, text, error) = shown(&merged);
    assert!(status == 0 && text.contains("read  "), "{files:?}: {text}{error}");
}

/// Ctrl-C at the launcher: all end in order, and the result is written.
fn interrupt(mpi: Mpi) {
    let run = begin(mpi, &format!("-o all.json --json --keep kept fio {READS}60"));
    let begun = signal(run.launcher.id(), Signal::INT);
    let (took, (_, text, error), place) = run.end(begun);
    assert!(took < THEN, "{took:?}: {text}{error}");
    // Open MPI 5 passes on nothing that is printed after Ctrl-C.
    let found = document(&fs::read_to_string(place.path().join("all.json")).unwrap());
    let each = found["cluster"]["each"].as_array().unwrap();
    assert!(each.iter().all(|member| member["ios"].as_u64().unwrap() > 0), "{each:?}");
    assert_eq!(fs::read_dir(place.path().join("kept")).unwrap().count(), 3);
}

/// CPU time of a process in nanoseconds.
fn cpu_time(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap();
    text.split_whitespace().next().unwrap().parse().unwrap()
}

/// A relay uses less than a hundredth of a processor while its member measures, and so does the leader.
fn a_relay_sleeps(mpi: Mpi) {
    let run = begin(mpi, &format!("fio {READS}12 --rate_iops=100"));
    let watched: Vec<u32> = run.relays.iter().copied().chain([run.leader]).collect();
    let all = |pids: &[u32]| pids.iter().map(|&pid| cpu_time(pid)).collect::<Vec<_>>();
    let (begun, before) = (Instant::now(), all(&watched));
    std::thread::sleep(Duration::from_secs(5));
    let elapsed = begun.elapsed().as_nanos();
    for (pid, (before, after)) in watched.iter().zip(before.into_iter().zip(all(&watched))) {
        let used = u128::from(after - before);
        assert!(used * 100 < elapsed, "process {pid} used {used} of {elapsed} ns; the relays are {:?}", run.relays);
    }
    let (_, (status, text, error), _) = run.end(Instant::now());
    assert_eq!(status, 0, "{text}{error}");
}

/// strace counts the calls of all relays while their members measure.
fn a_relay_makes_few_calls(mpi: Mpi) {
    let run = begin(mpi, &format!("fio {READS}12 --rate_iops=100"));
    let counts = place();
    let counted = |pid: &u32| counts.path().join(pid.to_string());
    let count = |pid: &u32| {
        let mut command = Command::new("strace");
        command.args(["-f", "-c", "-p", &pid.to_string(), "-o"]).arg(counted(pid)).stderr(Stdio::null());
        command.spawn().expect("strace, which tools/oracles installs")
    };
    let begun = Instant::now();
    let counters: Vec<Child> = run.relays.iter().map(count).collect();
    std::thread::sleep(Duration::from_secs(4));
    for mut counter in counters {
        signal(counter.id(), Signal::INT);
        counter.wait().unwrap();
    }
    let elapsed = begun.elapsed().as_secs_f64();
    for pid in &run.relays {
        let text = fs::read_to_string(counted(pid)).unwrap();
        let total = text.lines().find(|line| line.ends_with(" total")).and_then(|line| line.split_whitespace().nth(3));
        let calls: f64 = total.and_then(|calls| calls.parse().ok()).unwrap_or_else(|| panic!("no total: {text}"));
        println!("{}: {:.0} calls per second", mpi.name, calls / elapsed);
        // A relay that is not seen to look at all was not counted.
        assert!((40.0..MOST_CALLS).contains(&(calls / elapsed)), "process {pid} in {elapsed} s:\n{text}");
    }
    let (_, (status, text, error), _) = run.end(Instant::now());
    assert_eq!(status, 0, "{text}{error}");
}

/// One process, as a launcher of another MPI starts it.
fn alone(variables: &[(&str, &str)], words: &str) -> (i32, String, String, usize) {
    let place = place();
    let mut command = Command::new(PLUMB);
    command.arg("cluster").args(words.split_whitespace()).current_dir(place.path()).stdin(Stdio::null());
    command
        .envs(variables.iter().copied())
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    let (status, text, error) = shown(&command.output().unwrap());
    (status, text, error, fs::read_dir(place.path()).unwrap().count())
}

fn contradictions() {
    let job = "--mpi=libmpi.so.40 fio --name=w --rw=write --size=4k";
    for (variables, says) in [
        (
            [("SLURM_STEP_NUM_TASKS", "8"), ("SLURM_PROCID", "0")],
            "srun started 8 tasks, but Open MPI 4.1.4 knows 1 rank: use srun --mpi=pmix",
        ),
        ([("PMI_SIZE", "4"), ("PMI_RANK", "0")], "mpirun started 4 processes, but Open MPI 4.1.4 knows 1 rank"),
    ] {
        let (status, text, error, files) = alone(&variables, job);
        assert!(status == 1 && error.contains(says), "{text}{error}");
        assert_eq!(files, 0, "nothing was written");
    }
    // One rank speaks for all.
    let (status, text, error, _) = alone(&[("SLURM_STEP_NUM_TASKS", "8"), ("SLURM_PROCID", "5")], job);
    assert!(status == 1 && text.is_empty() && error.is_empty(), "{text}{error}");
    let (status, text, error, files) = alone(&[], job);
    assert!(status == 0 && text.starts_with("1 member on 1 host (Open MPI 4.1.4)") && files == 1, "{text}{error}");
}

fn refusals() {
    for (words, says) in [
        ("--mpi=libc.so.6 fio --name=a --size=4k", "--mpi=libc.so.6: "),
        ("--mpi=libc.so.6 fio --name=a --size=4k", "MPI_Get_library_version"),
        ("--mpi=/does/not/exist.so fio --name=a --size=4k", "/does/not/exist.so"),
        ("--mpi --local 2 fio --name=a --size=4k", "--local"),
        ("--mpi --hosts a fio --name=a --size=4k", "--hosts"),
    ] {
        let (status, text, error, files) = alone(&[], words);
        assert!(status != 0 && error.contains(says) && files == 0, "{words}: {text}{error}");
    }
    // A library with MPI's functions whose name no table knows.
    let place = place();
    let source = "#include <string.h>\nint MPI_Get_library_version(char *v, int *n) { strcpy(v, \"Other MPI 1.0\"); *n = 13; return 0; }\n";
    fs::write(place.path().join("other.c"), source).unwrap();
    let library = place.path().join("libother.so");
    let compiled =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(place.path().join("other.c")).status();
    assert!(compiled.unwrap().success());
    let words = format!("--mpi={} fio --name=a --size=4k", library.display());
    let (status, text, error, _) = alone(&[], &words);
    assert!(status == 1 && error.contains("it calls itself `Other MPI 1.0`"), "{text}{error}");
}
