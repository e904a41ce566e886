//! The calls that `plumb why` sees of real programs, against strace of the same run: both follow a shell that waits, and
//! then becomes the program.

use crate::context::{PLUMB, place};
use crate::programs::{ended, free_port, run, wait_for};
use house::{Cases, Place};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};

/// Calls that both follow.
const CALLS: &str = "read,pread64,readv,preadv,preadv2,write,pwrite64,writev,pwritev,pwritev2,fsync,fdatasync,\
                     sync_file_range,msync";

/// Calls of one name.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    count: u64,
    /// Those of them that moved no byte: the end of a file, an error. They are of storage if their descriptor is still
    /// there.
    idle: u64,
    bytes: u64,
}

type Calls = BTreeMap<String, Sum>;

/// Rows of `make programs`, and one of the gate.
pub(super) fn groups() -> Vec<Cases> {
    let jobs = |at: usize| move || judged(JOBS[at].0, of_job(JOBS[at].1));
    let seen = Cases::new("seen", 1).case(JOBS[0].0, jobs(0));
    let asked =
        Cases::new("programs", 1).on_request("why_sees_sqlite", jobs(1)).on_request("why_sees_rocksdb", jobs(2));
    let servers = asked
        .on_request("why_sees_postgresql", || judged("PostgreSQL", postgresql()))
        .on_request("why_sees_etcd", || judged("etcd", etcd()));
    vec![seen, servers]
}

/// Programs that end by themselves, each as a script of the shell.
const JOBS: &[(&str, &str)] = &[
    (
        "fio",
        "exec fio --name=a --ioengine=psync --rw=randrw --bsrange=4k-32k --size=2m --fsync=8 --verify=crc32c \
         --output=out",
    ),
    (
        "sqlite",
        "for at in 1 2 3; do printf '%s\\n' 'create table if not exists t (a integer primary key, b text);' \
         'begin;' \"insert into t (b) with recursive n(x) as (select 1 union all select x + 1 from n where x < 2000) \
         select hex(randomblob(40)) from n;\" 'commit;' 'select count(*), sum(length(b)) from t;' | \
         sqlite3 data.db >out; done",
    ),
    (
        "rocksdb",
        "exec db_bench --benchmarks=fillrandom,overwrite,readrandom --num=4000 --value_size=400 --sync=1 --db=data \
         --use_direct_reads=1 --write_buffer_size=300000 >out 2>&1",
    ),
];

/// Fails if a call is seen by one of them alone, or another number of times, or with other bytes.
fn judged(name: &str, (seen, traced): (Calls, Calls)) -> Result<(), String> {
    let mut text = format!("{name}:\n");
    let names: BTreeSet<&String> = seen.keys().chain(traced.keys()).collect();
    let mut is_alike = true;
    for call in names {
        let [ours, theirs] = [&seen, &traced].map(|calls| calls.get(call).copied().unwrap_or_default());
        let Sum { count, idle, bytes } = theirs;
        is_alike &= ours.bytes == bytes && (count - idle..=count).contains(&ours.count);
        let _ = writeln!(
            text,
            "  {call}: {} calls, {} B; strace {count} calls, {idle} of them of no byte, {bytes} B",
            ours.count, ours.bytes
        );
    }
    print!("{text}");
    let count: u64 = traced.values().map(|sum| sum.count).sum();
    if is_alike && count > 100 { Ok(()) } else { Err(text) }
}

/// A shell that waits for a line, with a recording and strace of it.
struct Watched {
    place: Place,
    shell: Child,
    line: ChildStdin,
    others: [Child; 2],
}

impl Watched {
    /// The script becomes the program; `before` are the words of what runs the shell, if another user does.
    fn new(place: Place, before: &[&str], script: &str) -> Self {
        let words = ["sh", "-c", &format!("read line; {script}")];
        let all: Vec<&str> = before.iter().chain(&words).copied().collect();
        let mut command = Command::new(all[0]);
        command.args(&all[1..]).current_dir(place.path()).stdin(Stdio::piped());
        let mut shell = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let (pid, line) = (shell.id().to_string(), shell.stdin.take().unwrap());
        let words = ["why", "--json", "-o", "why.json", "--for", "600s", "--pid", &pid];
        let mut why = Command::new(PLUMB);
        why.args(words).env("PLUMB_STORE", "off").current_dir(place.path()).stderr(Stdio::piped());
        let mut why = why.spawn().unwrap();
        let mut said = String::new();
        BufReader::new(why.stderr.take().unwrap()).read_line(&mut said).unwrap();
        assert!(said.contains("recording"), "{said}");
        let calls = format!("trace={CALLS}");
        let strace = ["-f", "-y", "-qq", "-s", "0", "-e", &calls, "-e", "signal=none", "-o", "trace", "-p", &pid];
        let strace = Command::new("strace").args(strace).current_dir(place.path()).spawn().unwrap();
        house::wait_for("strace to attach", || {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
            status.lines().any(|line| line.starts_with("TracerPid:") && !line.ends_with("\t0")).then_some(())
        });
        Watched { place, shell, line, others: [why, strace] }
    }

    fn begin(&mut self) {
        self.line.write_all(b"\n").unwrap();
    }

    /// What both saw, once the program has ended.
    fn calls(mut self) -> (Calls, Calls) {
        self.shell.wait().unwrap();
        for other in &mut self.others {
            assert!(other.wait().unwrap().success());
        }
        let text = std::fs::read_to_string(self.place.path().join("trace")).unwrap();
        (seen(&self.place.json("why.json")), traced(&text))
    }
}

fn seen(document: &Value) -> Calls {
    assert_eq!(document["open_calls"], 0);
    assert_eq!(document["cost"]["events_lost"], 0);
    let groups = document["groups"].as_array().unwrap().iter().filter(|group| group["direction"] != "page fault");
    let of_group = |group: &Value| {
        let call = |call: &Value| {
            let number = |key: &str| call[key].as_u64().unwrap();
            let sum = Sum { count: number("count"), bytes: number("bytes"), idle: 0 };
            (call["name"].as_str().unwrap().to_owned(), sum)
        };
        group["calls"].as_array().unwrap().iter().map(call).collect::<Vec<_>>()
    };
    groups.flat_map(of_group).collect()
}

/// Calls on files that are stored.
fn traced(text: &str) -> Calls {
    let mut calls = Calls::new();
    let mut begun: BTreeMap<&str, (&str, bool)> = BTreeMap::new();
    for line in text.lines() {
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        let rest = rest.trim_start();
        let (call, is_stored) = match rest.strip_prefix("<... ") {
            Some(_) => begun.remove(thread).unwrap_or_default(),
            None => {
                let Some((call, words)) = rest.split_once('(') else { continue };
                (call, is_stored(call, words))
            }
        };
        if rest.ends_with("<unfinished ...>") {
            begun.insert(thread, (call, is_stored));
            continue;
        }
        let Some((_, result)) = rest.rsplit_once(" = ").filter(|_| is_stored) else { continue };
        let result: i64 = result.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(-1);
        let bytes = if call.contains("sync") { 0 } else { u64::try_from(result).unwrap_or(0) };
        let sum = calls.entry(call.to_owned()).or_default();
        sum.count += 1;
        sum.bytes += bytes;
        sum.idle += u64::from(bytes == 0 && !call.contains("sync"));
    }
    calls
}

/// True of files; not of sockets, pipes, terminals and files of the kernel.
fn is_stored(call: &str, words: &str) -> bool {
    let path = words.split_once('<').and_then(|(_, rest)| rest.split_once('>')).map_or("", |(path, _)| path);
    let is_of_kernel = ["/proc/", "/sys/", "/dev/"].iter().any(|folder| path.starts_with(folder));
    call == "msync" || path.starts_with("/dev/shm/") || (path.starts_with('/') && !is_of_kernel)
}

fn of_job(script: &str) -> (Calls, Calls) {
    let mut watched = Watched::new(place(), &[], script);
    watched.begin();
    watched.calls()
}

/// A server, and its load once it answers.
fn of_server(
    place: Place,
    before: &[&str],
    script: &str,
    ready: &dyn Fn() -> Command,
    load: &dyn Fn(),
) -> (Calls, Calls) {
    let mut watched = Watched::new(place, before, script);
    watched.begin();
    wait_for(&mut watched.shell, ready);
    load();
    ended(&watched.shell);
    watched.calls()
}

fn postgresql() -> (Calls, Calls) {
    let place = place();
    let path = place.path().to_owned();
    let programs = std::fs::read_dir("/usr/lib/postgresql").expect("PostgreSQL of Debian");
    let newest: PathBuf = programs.map(|entry| entry.unwrap().path()).max().unwrap().join("bin");
    // The server does not run as root.
    run(Command::new("chown").arg("postgres:postgres").arg(&path));
    let user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"];
    let of_user = |program: &str| {
        let mut command = Command::new(user[0]);
        command.args(&user[1..]).arg(newest.join(program)).current_dir(&path);
        command
    };
    run(of_user("initdb").args(["-D", "data", "--no-sync"]));
    let (port, here) = (free_port().to_string(), path.display().to_string());
    let script =
        format!("exec {}/postgres -D data -k {here} -p {port} -c listen_addresses= >log 2>&1", newest.display());
    let client = |program: &str, words: &[&str]| {
        let mut command = of_user(program);
        command.args(["-h", &here, "-p", &port]).args(words);
        command
    };
    let load = || {
        run(&mut client("pgbench", &["-i", "-q", "postgres"]));
        run(&mut client("pgbench", &["-t", "200", "-c", "2", "postgres"]));
    };
    of_server(place, &user, &script, &|| client("pg_isready", &[]), &load)
}

fn etcd() -> (Calls, Calls) {
    let place = place();
    let [client, peer] = [0, 1].map(|_| format!("http://127.0.0.1:{}", free_port()));
    let script = format!(
        "exec etcd --data-dir data --listen-client-urls {client} --advertise-client-urls {client} --listen-peer-urls \
         {peer} --initial-advertise-peer-urls {peer} --initial-cluster default={peer} >log 2>&1"
    );
    let asked = |words: &[&str]| {
        let mut command = Command::new("etcdctl");
        command.env("ETCDCTL_API", "3").args(["--endpoints", &client]).args(words);
        command
    };
    let load = || (0..100).for_each(|at| drop(run(&mut asked(&["put", &format!("key{at}"), &"x".repeat(2000)]))));
    of_server(place, &[], &script, &|| asked(&["endpoint", "health"]), &load)
}
