//! The logs of the real etcd and PostgreSQL under strace, against the I/O of their profiles in `plumb ask`. On request
//! only: `make programs` installs the programs of Debian and runs it.

use crate::context::{place, plumb};
use house::Cases;
use std::fmt::Write as _;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Largest total variation between the writes of a program and those of its profile.
const MOST: f64 = 0.05;
/// Two sizes that differ by less are the same: etcd fills its records up to 8 bytes, and the number of a key has
/// digits.
const SAME: f64 = 0.01;
/// Values with which etcd writes the 2,300 bytes of its profile: a record has about 92 bytes more, with a short key.
const VALUE: usize = 2208;
/// Values that are put, one after the other.
const PUTS: usize = 200;
/// Transactions of pgbench.
const TRANSACTIONS: &str = "400";
/// Time that a server has to begin.
const PATIENCE: Duration = Duration::from_secs(30);

/// The tests, on request.
pub(super) fn groups() -> Vec<Cases> {
    let named = |cases: Cases, name: &str, body: fn()| {
        cases.on_request(name, move || {
            body();
            Ok(())
        })
    };
    let cases = named(Cases::new("programs", 1), "etcd_writes_as_its_profile_does", etcd);
    vec![named(cases, "postgresql_writes_its_log_as_its_profile_does", postgresql)]
}

/// A call of the program on its log.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Call {
    /// Bytes of a write.
    Write(f64),
    Sync,
}

fn etcd() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let trace = place.path().join("trace");
    let [client, peer] = [0, 1].map(|_| format!("http://127.0.0.1:{}", free_port()));
    let words = [
        "--data-dir",
        "data",
        "--listen-client-urls",
        &client,
        "--advertise-client-urls",
        &client,
        "--listen-peer-urls",
        &peer,
        "--initial-advertise-peer-urls",
        &peer,
        "--initial-cluster",
        &format!("default={peer}"),
    ]
    .map(str::to_owned);
    let mut server = traced(place.path(), &[], "etcd", &words);
    let asked = |words: &[&str]| {
        let mut command = Command::new("etcdctl");
        command.env("ETCDCTL_API", "3").args(["--endpoints", &client]).args(words);
        command
    };
    wait_for(&mut server, || asked(&["endpoint", "health"]));
    let begin = read(&trace).len();
    let value = "x".repeat(VALUE);
    (0..PUTS).for_each(|at| drop(run(&mut asked(&["put", &format!("key{at}"), &value]))));
    stop(server);
    held("etcd", "etcd", &read(&trace)[begin..], "/wal/");
}

fn postgresql() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = place.path();
    let programs = std::fs::read_dir("/usr/lib/postgresql").expect("PostgreSQL of Debian");
    let newest = programs.map(|entry| entry.unwrap().path()).max().unwrap().join("bin");
    // The server does not run as root.
    run(Command::new("chown").arg("postgres:postgres").arg(path));
    let user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"];
    let of_user = |program: &Path| {
        let mut command = Command::new(user[0]);
        command.args(&user[1..]).arg(program).current_dir(path);
        command
    };
    run(of_user(&newest.join("initdb")).args(["-D", "data", "--no-sync"]));
    let (port, here) = (free_port().to_string(), path.display().to_string());
    let words = ["-D", "data", "-k", &here, "-p", &port, "-c", "listen_addresses="].map(str::to_owned);
    let mut server = traced(path, &user, newest.join("postgres").to_str().unwrap(), &words);
    let bench = |words: &[&str]| {
        let mut command = of_user(&newest.join("pgbench"));
        command.args(["-h", &here, "-p", &port]).args(words).arg("postgres");
        command
    };
    wait_for(&mut server, || {
        let mut ready = of_user(&newest.join("pg_isready"));
        ready.args(["-h", &here, "-p", &port]);
        ready
    });
    run(&mut bench(&["-i", "-q"]));
    let begin = read(&path.join("trace")).len();
    run(&mut bench(&["-t", TRANSACTIONS, "-c", "1"]));
    stop(server);
    held("PostgreSQL", "postgres-wal", &read(&path.join("trace"))[begin..], "/pg_wal/");
}

/// Compares the calls on files of a folder with the first test of a profile.
fn held(program: &str, profile: &str, trace: &str, folder: &str) {
    let calls = calls(trace, folder);
    let (sizes, syncs) = variation(&calls, &sizes_of(profile));
    let mut text = format!("{program}: {} calls on its log\n", calls.len());
    let _ = writeln!(text, "  sizes: total variation {sizes:.3}; writes without a sync before the next: {syncs:.3}");
    print!("{text}");
    assert!(calls.len() > 300, "{text}");
    assert!(sizes <= MOST && syncs <= MOST, "{text}{:?}", &calls[..20]);
}

/// Total variation of the sizes, and of the sync pattern: a sync after each write.
fn variation(calls: &[Call], profile: &[(f64, f64)]) -> (f64, f64) {
    let writes: Vec<f64> =
        calls.iter().filter_map(|call| if let Call::Write(bytes) = call { Some(*bytes) } else { None }).collect();
    let count = measure::float(writes.len() as u64).max(1.0);
    let is = |bytes: f64, size: f64| (bytes / size - 1.0).abs() <= SAME;
    let share = |size: f64| measure::float(writes.iter().filter(|bytes| is(**bytes, size)).count() as u64) / count;
    let common: f64 = profile.iter().map(|&(size, part)| part.min(share(size))).sum();
    let unsynced = calls.windows(2).filter(|pair| matches!(pair, [Call::Write(_), Call::Write(_)])).count();
    (1.0 - common, measure::float(unsynced as u64) / count)
}

/// Writes and syncs on files of a folder, in the order in which they began.
fn calls(trace: &str, folder: &str) -> Vec<Call> {
    let call = |line: &str| {
        let (before, after) = line.split_once('(')?;
        let (file, rest) = after.split_once('>')?;
        match before.rsplit(' ').next()? {
            _ if !file.contains(folder) => None,
            "fdatasync" | "fsync" => Some(Call::Sync),
            "write" | "pwrite64" => {
                let digits = rest.split("..., ").nth(1)?.split(|letter: char| !letter.is_ascii_digit()).next()?;
                digits.parse().ok().map(Call::Write)
            }
            _ => None,
        }
    };
    trace.lines().filter_map(call).collect()
}

/// Sizes of the writes of a profile's first test, with their shares.
fn sizes_of(profile: &str) -> Vec<(f64, f64)> {
    let shown = plumb(place(), ["ask", "--show", profile]).stdout();
    let bytes = |text: &str| match text.strip_suffix('k') {
        Some(kibibytes) => kibibytes.parse::<f64>().unwrap() * 1024.0,
        None => text.parse().unwrap(),
    };
    let of_line = |line: &str| match line.split_once('=')? {
        ("bs", size) => Some(vec![(bytes(size), 1.0)]),
        ("bssplit", sizes) => {
            let part = |text: &str| {
                let (size, percent) = text.split_once('/').unwrap();
                (bytes(size), percent.parse::<f64>().unwrap() / 100.0)
            };
            Some(sizes.split(':').map(part).collect())
        }
        _ => None,
    };
    shown.lines().find_map(of_line).expect("a block size")
}

/// Starts a server under strace, as a user if one is named. The process is the server itself (`-D`).
fn traced(place: &Path, user: &[&str], program: &str, words: &[String]) -> Child {
    let strace = ["strace", "-D", "-f", "-y", "-s", "0", "-e", "trace=write,pwrite64,fsync,fdatasync", "-o", "trace"];
    let all: Vec<&str> = user.iter().chain(&strace).copied().chain([program]).collect();
    let mut command = Command::new(all[0]);
    command.args(&all[1..]).args(words).current_dir(place);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

pub(super) fn wait_for(server: &mut Child, ready: impl Fn() -> Command) {
    let until = Instant::now() + PATIENCE;
    while !ready().stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success() {
        assert!(server.try_wait().unwrap().is_none() && Instant::now() < until, "the server does not begin");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Asks a server to end as its documentation says: SIGINT.
pub(super) fn ended(server: &Child) {
    rustix::process::kill_process(rustix::process::Pid::from_child(server), rustix::process::Signal::INT).unwrap();
}

fn stop(mut server: Child) {
    ended(&server);
    server.wait().unwrap();
}

pub(super) fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// A port that no one listens on now.
pub(super) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
