//! `plumb fio --client` and `--server` with real processes: what is broken in fio's (docs/fio.md), deaths, silence, who may do what.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PLUMB: &str = env!("CARGO_BIN_EXE_plumb");
/// Reads for a time at a known rate.
const READS: &str = "[r]\nrw=randread\nsize=64k\nrate_iops=200\ntime_based\nruntime=";

pub(crate) fn place() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A server that ends with the test.
pub(crate) struct Server {
    process: Child,
    pub(crate) place: TempDir,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    pub(crate) fn start(words: &[&str]) -> Server {
        let (place, port) = (place(), free_port());
        let mut process = Command::new(PLUMB)
            .current_dir(place.path())
            .args(["fio", &format!("--server=127.0.0.1,{port}")])
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(place.path().join("said")).unwrap())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, format!("fio: server listening on 127.0.0.1,{port}\n"));
        Server { process, place, port }
    }

    pub(crate) fn client(&self) -> String {
        format!("--client=127.0.0.1,{}", self.port)
    }

    /// What it printed on standard error.
    fn said(&self) -> String {
        fs::read_to_string(self.place.path().join("said")).unwrap()
    }

    /// Its members, once one has this number of workers.
    fn members(&self, workers: usize) -> Vec<u32> {
        let begun = Instant::now();
        loop {
            let found = children(self.process.id());
            if !found.is_empty() && found.iter().all(|&member| below(member).len() >= workers) {
                return found;
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "the jobs did not begin");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Children of all threads of a process.
fn children(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("children")).unwrap_or_default();
    threads.map(of).collect::<String>().split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

fn below(pid: u32) -> Vec<u32> {
    children(pid).iter().flat_map(|&child| std::iter::once(child).chain(below(child))).collect()
}

fn all_gone(processes: &[u32]) {
    let is_gone = |pid: &u32| {
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).ok();
        state.is_none_or(|text| text.rsplit(')').next().unwrap_or_default().trim().starts_with('Z'))
    };
    let begun = Instant::now();
    while !processes.iter().all(is_gone) {
        assert!(begun.elapsed() < Duration::from_secs(10), "orphans: {processes:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();
}

/// A client's command in a directory with this job file, `x.fio`.
pub(crate) fn client(directory: &Path, job: &str, words: &[&str]) -> Command {
    fs::write(directory.join("x.fio"), job).unwrap();
    let mut command = Command::new(PLUMB);
    command.current_dir(directory).arg("fio").args(words).env("PLUMB_REMARKS", "never").stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(crate) fn shown(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

fn run(job: &str, words: &[&str]) -> (i32, String, String) {
    shown(&client(place().path(), job, words).output().unwrap())
}

pub(crate) fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn documents(text: &str) -> Vec<Value> {
    serde_json::Deserializer::from_str(text).into_iter::<Value>().map(|document| document.unwrap()).collect()
}

#[test]
fn a_missing_server_is_named_unless_it_may_be_left_out() {
    let server = Server::start(&[]);
    let (job, missing) = ("[w]\nrw=write\nsize=64k\n", format!("--client=127.0.0.1,{}", free_port()));
    let words = [server.client(), "x.fio".to_owned(), missing.clone(), "x.fio".to_owned()];
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (status, text, error) = run(job, &words);
    assert_eq!((status, text.as_str()), (1, ""), "{error}");
    let name = missing.trim_start_matches("--client=").replace(',', ":");
    assert!(
        error.contains(&format!("client <{name}>: cannot connect")) && error.contains("nothing was begun"),
        "{error}"
    );
    assert!(!server.place.path().join("w.0.0").exists());
    let (status, text, error) = run(job, &[&words[..], &["--partial", "--output-format=json"]].concat());
    assert_eq!(status, 0, "{error}");
    assert!(error.contains(&name), "{error}");
    assert_eq!(document(&text)["client_stats"][0]["write"]["total_ios"], 16);
}

#[test]
fn the_document_is_alone_on_standard_output_whatever_fails() {
    let server = Server::start(&["--trust-clients"]);
    let (status, text, error) =
        run("[w]\nrw=write\nsize=64k\nfilename=/dev/full\n", &[&server.client(), "x.fio", "--output-format=json"]);
    assert_eq!((status, &document(&text)["client_stats"][0]["error"]), (1, &28.into()), "{error}");
    assert!(error.contains("exited with error 1") || error.contains("No space left"), "{error}");
    let begins = [&server.client(), "x.fio", "--output-format=json"];
    let (status, text, error) = run("[r]\nrw=read\nsize=64k\nfilename=nowhere\nallow_file_create=0\n", &begins);
    assert_eq!((status, &document(&text)["client_stats"]), (1, &Value::Array(Vec::new())), "{error}");
    assert!(error.contains("allow_file_create=0"), "{error}");
}

#[test]
fn nothing_begins_on_any_server_if_a_job_cannot_begin_on_one() {
    let (one, other) = (Server::start(&[]), Server::start(&[]));
    let place = place();
    fs::write(place.path().join("bad.fio"), "[r]\nrw=read\nsize=64k\nfilename=nowhere\nallow_file_create=0\n").unwrap();
    let words = [&other.client(), "x.fio", &one.client(), "bad.fio"];
    let job = "[w]\nrw=write\nsize=64k\nwrite_iolog=trace\n";
    let (status, text, error) = shown(&client(place.path(), job, &words).output().unwrap());
    assert_eq!(status, 1, "{text}");
    assert!(
        error.contains(&format!("client <127.0.0.1:{}>: ", one.port)) && error.contains("allow_file_create"),
        "{error}"
    );
    assert!(error.contains("2 of 2 servers have no result") && !text.contains("All clients"), "{text}{error}");
    // A trace has a line for each I/O.
    let trace = fs::read_to_string(other.place.path().join("trace")).unwrap_or_default();
    assert!(!trace.contains(" write "), "{trace}");
    assert_eq!(run(job, &[&other.client(), "x.fio"]).0, 0);
    assert!(fs::read_to_string(other.place.path().join("trace")).unwrap().contains(" write "));
}

#[test]
fn benchmark_wrapper_and_k8s_io_find_what_they_look_for() {
    let (one, other) = (Server::start(&[]), Server::start(&[]));
    let job = "[global]\nrw=write\nsize=64k\nbs=4k\ngroup_reporting\n[w]\nnumjobs=2\n";
    let place = place();
    fs::write(place.path().join("hosts"), format!("127.0.0.1,{}\n\n127.0.0.1,{} # two\n", one.port, other.port))
        .unwrap();
    let output = client(place.path(), job, &["--client=hosts", "x.fio", "--output-format=json"]).output().unwrap();
    let (status, text, error) = shown(&output);
    assert_eq!(status, 0, "{error}");
    let found = document(&text);
    assert_eq!(found["global options"]["rw"], "write");
    let stats = found["client_stats"].as_array().unwrap();
    let jobs: Vec<&Value> = stats.iter().filter(|entry| entry["jobname"] != "All clients").collect();
    let ports: Vec<u64> = jobs.iter().map(|entry| entry["port"].as_u64().unwrap()).collect();
    assert_eq!(ports, [u64::from(one.port), u64::from(other.port)]);
    let all = stats.last().unwrap();
    assert_eq!((&all["jobname"], &all["write"]["total_ios"]), (&"All clients".into(), &64.into()));
    assert!(all["write"]["bw"].as_u64().unwrap() > 0 && all["write"]["clat_ns"]["percentile"]["99.000000"].is_u64());
    assert!(found["plumb"]["cluster"]["rates"][0]["over_all"].is_f64());
}

#[test]
fn interim_reports_are_documents_with_growing_amounts() {
    let (one, other) = (Server::start(&[]), Server::start(&[]));
    let words = [&one.client(), "x.fio", &other.client(), "x.fio", "--status-interval=500ms", "--output-format=json"];
    let (status, text, error) = run(&format!("{READS}1600ms\n"), &words);
    assert_eq!(status, 0, "{error}");
    let found = documents(&text);
    assert!(found.len() >= 3, "{}", found.len());
    let amounts: Vec<u64> =
        found.iter().map(|one| one["client_stats"][2]["read"]["total_ios"].as_u64().unwrap()).collect();
    assert!(amounts.is_sorted() && amounts[0] > 0 && amounts[0] < amounts[amounts.len() - 1], "{amounts:?}");
    let words = [&one.client(), "x.fio", &other.client(), "x.fio", "--eta=always", "--eta-interval=250ms"];
    let (_, text, error) = run(&format!("{READS}1200ms\n"), &words);
    assert!(text.contains("Jobs: 2 (f=2), 0-400 IOPS"), "{text}{error}");
    let host = text.split_once("hostname=").unwrap().1.split(',').next().unwrap();
    for port in [one.port, other.port] {
        assert!(text.contains(&format!("<{host}:{port}> r: (g=0): rw=randread")), "{text}");
        assert!(text.contains(&format!("<{host}:{port}> Starting 1 process")), "{text}");
    }
    assert!(text.contains("All clients: (groupid=0, jobs=2): err= 0: pid=0:"), "{text}");
}

#[test]
fn logs_of_two_servers_on_a_host_do_not_overwrite_each_other() {
    let (one, other) = (Server::start(&[]), Server::start(&[]));
    let place = place();
    fs::create_dir(place.path().join("logs")).unwrap();
    let job = "[w]\nrw=write\nsize=64k\nwrite_bw_log=logs/l\nwrite_lat_log=l\n";
    let words = [&one.client(), "x.fio", &other.client(), "x.fio"];
    let (status, _, error) = shown(&client(place.path(), job, &words).output().unwrap());
    assert_eq!(status, 0, "{error}");
    for port in [one.port, other.port] {
        for name in ["logs/l_bw.1.log", "l_lat.1.log", "l_clat.1.log"] {
            let path = place.path().join(format!("{name}.127.0.0.1,{port}"));
            let rows = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert_eq!(rows.lines().count(), 16, "{rows}");
        }
    }
    // A server that is missing is on the host, too: the next run finds and names files as the one before.
    fs::remove_file(place.path().join(format!("l_lat.1.log.127.0.0.1,{}", one.port))).unwrap();
    let missing = format!("--client=127.0.0.1,{}", free_port());
    let words = [&words[..2], &[&missing, "x.fio", "--partial"]].concat();
    let (status, _, error) = shown(&client(place.path(), job, &words).output().unwrap());
    assert_eq!(status, 0, "{error}");
    assert!(place.path().join(format!("l_lat.1.log.127.0.0.1,{}", one.port)).exists());
    assert!(!place.path().join("l_lat.1.log.127.0.0.1").exists());
    // One alone is named as in fio, and nothing stays on the server.
    let (status, _, error) = shown(&client(place.path(), job, &words[..2]).output().unwrap());
    assert_eq!(status, 0, "{error}");
    assert!(place.path().join("logs/l_bw.1.log.127.0.0.1").exists());
    let left: Vec<_> = fs::read_dir(one.place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| ["said", "w.0.0"].contains(&name.to_str().unwrap())), "{left:?}");
}

#[test]
fn latencies_of_flushes_and_verified_blocks_are_in_the_sum() {
    let (one, other) = (Server::start(&[]), Server::start(&[]));
    let words = [&one.client(), "x.fio", &other.client(), "x.fio", "--output-format=json"];
    let (status, text, error) = run("[w]\nrw=write\nsize=64k\nfsync=4\nverify=crc32c\n", &words);
    assert_eq!(status, 0, "{error}");
    let sum = &document(&text)["client_stats"][2];
    assert_eq!((&sum["sync"]["lat_ns"]["N"], &sum["read"]["total_ios"]), (&6.into(), &32.into()), "{sum}");
}

#[test]
fn a_sum_that_is_not_what_was_moved_in_the_time_has_a_remark() {
    let server = Server::start(&[]);
    let place = place();
    let half = "rw=randread\nsize=64k\nrate_iops=200\ntime_based\nruntime=700ms\n";
    let job = format!("[a]\n{half}[b]\nstonewall\n{half}");
    let mut command = client(place.path(), &job, &[&server.client(), "x.fio"]);
    let (status, _, error) = shown(&command.env("PLUMB_REMARKS", "always").output().unwrap());
    let remark = error.lines().find(|line| line.contains("plumb: remark: All clients: reads at 1."));
    let over_all = remark.and_then(|line| line.split("it was ").nth(1)?.strip_suffix(" KiB/s")?.parse::<u64>().ok());
    // 400 reads of 4 KiB per second, one half after the other.
    assert!(status == 0 && over_all.is_some_and(|rate| (400..=800).contains(&rate)), "{error}");
}

/// The quickest of three times: other tests run at the same time.
fn quickest<T>(work: impl Fn() -> T) -> (Duration, T) {
    let timed = |_| {
        let begun = Instant::now();
        let found = work();
        (begun.elapsed(), found)
    };
    (0..3).map(timed).min_by_key(|(elapsed, _)| *elapsed).unwrap()
}

#[test]
fn a_real_fio_at_either_end_is_named_in_less_than_a_second() {
    let (place, port) = (place(), free_port());
    let mut fio = Command::new("fio")
        .arg(format!("--server=127.0.0.1,{port}"))
        .current_dir(place.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let words = [&format!("--client=127.0.0.1,{port}"), "x.fio"];
    let (elapsed, (status, _, error)) = quickest(|| run("[w]\nrw=write\nsize=64k\n", &words));
    let _ = fio.kill();
    let _ = fio.wait();
    assert!(status == 1 && elapsed < Duration::from_secs(1), "{status} {elapsed:?}");
    assert!(error.contains(&format!("127.0.0.1:{port}>: it is a real fio (its protocol, version 97)")), "{error}");
    let server = Server::start(&[]);
    fs::write(place.path().join("x.fio"), "[w]\nrw=write\nsize=64k\n").unwrap();
    let client = || Command::new("fio").current_dir(place.path()).args([&server.client(), "x.fio"]).output().unwrap();
    let (elapsed, output) = quickest(client);
    assert!(!output.status.success() && elapsed < Duration::from_secs(1), "{elapsed:?}");
    assert!(
        server.said().contains("127.0.0.1: the client is a real fio (its protocol, version 97)"),
        "{}",
        server.said()
    );
}

/// Connects as a client does, and returns what the server answers to this first line.
fn answer_to(server: &Server, line: &str) -> String {
    let mut socket = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    socket.write_all(line.as_bytes()).unwrap();
    let mut answer = String::new();
    let _ = BufReader::new(socket).read_line(&mut answer);
    answer
}

#[test]
fn another_version_or_program_is_refused_by_name() {
    let server = Server::start(&[]);
    let answer = answer_to(&server, "{\"client\":{\"protocol\":77,\"program\":\"plumb 9.9\"}}\n");
    let ours = ::cluster::PROTOCOL;
    for text in ["plumb 9.9 with protocol 77".to_owned(), format!("this server has protocol {ours}")] {
        assert!(answer.contains(&text) && server.said().contains(&text), "{answer}{}", server.said());
    }
    assert!(answer_to(&server, "GET / HTTP/1.1\r\nHost: here\r\n\r\n").contains("not plumb"));
    // The other way: a server of another version.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let greeter = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut line = String::new();
        BufReader::new(socket.try_clone().unwrap()).read_line(&mut line).unwrap();
        socket.write_all(b"{\"hello\":{\"protocol\":77,\"program\":\"plumb 9.9\"}}\n").unwrap();
        let _ = socket.read(&mut [0]);
    });
    let (status, _, error) = run("[w]\nrw=write\nsize=64k\n", &[&format!("--client=127.0.0.1,{port}"), "x.fio"]);
    greeter.join().unwrap();
    assert_eq!(status, 1);
    assert!(
        error.contains("plumb 9.9") && error.contains("protocol 77") && error.contains(&format!("protocol {ours}")),
        "{error}"
    );
    // After all that it serves.
    assert_eq!(run("[w]\nrw=write\nsize=64k\n", &[&server.client(), "x.fio"]).0, 0);
}

#[test]
fn a_stopped_server_is_named_and_the_other_result_is_kept() {
    let (one, other) = (Server::start(&[]), Server::start(&[]));
    let place = place();
    let words = [&one.client(), "x.fio", &other.client(), "x.fio", "--silence=2", "--output-format=json"];
    let running = client(place.path(), &format!("{READS}60\n"), &words).spawn().unwrap();
    let (stopped, members) = (one.members(1), other.members(1));
    std::thread::sleep(Duration::from_millis(700));
    stopped.iter().for_each(|&member| signal(member, Signal::STOP));
    let begun = Instant::now();
    let (status, text, error) = shown(&running.wait_with_output().unwrap());
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    assert_eq!(status, 1, "{error}");
    assert!(error.contains(&format!("client <127.0.0.1:{}>: it said nothing for 2s", one.port)), "{error}");
    let stats = document(&text)["client_stats"].as_array().unwrap().clone();
    assert_eq!((stats.len(), &stats[0]["port"]), (1, &other.port.into()), "no sum of all");
    all_gone(&members);
    // A server that is stopped before anyone connects accepts connections, by its kernel.
    signal(one.process.id(), Signal::STOP);
    let (status, _, error) = run(&format!("{READS}1\n"), &[&one.client(), "x.fio", "--silence=1"]);
    signal(one.process.id(), Signal::CONT);
    assert!(status == 1 && error.contains("said nothing for 1s"), "{error}");
    stopped.iter().for_each(|&member| signal(member, Signal::CONT));
    all_gone(&stopped);
}

#[test]
fn a_killed_server_is_named_at_once_and_leaves_no_process() {
    let (mut one, other) = (Server::start(&[]), Server::start(&[]));
    let place = place();
    let words = [&one.client(), "x.fio", &other.client(), "x.fio", "--output-format=json"];
    let running = client(place.path(), &format!("{READS}60\n"), &words).spawn().unwrap();
    let (members, others) = (one.members(1), other.members(1));
    let processes: Vec<u32> = members.iter().flat_map(|&member| [vec![member], below(member)].concat()).collect();
    std::thread::sleep(Duration::from_millis(600));
    one.process.kill().unwrap();
    let begun = Instant::now();
    let (status, text, error) = shown(&running.wait_with_output().unwrap());
    assert!(status == 1 && begun.elapsed() < Duration::from_secs(8), "{error}");
    assert!(error.contains(&format!("client <127.0.0.1:{}>: the server closed the connection", one.port)), "{error}");
    assert_eq!(document(&text)["client_stats"][0]["port"], other.port);
    all_gone(&processes);
    all_gone(&others);
}

#[test]
fn partial_goes_on_without_a_lost_server() {
    let (one, other) = (Server::start(&[]), Server::start(&[]));
    let place = place();
    let words = [&one.client(), "x.fio", &other.client(), "x.fio", "--partial", "--output-format=json"];
    let running = client(place.path(), &format!("{READS}1500ms\n"), &words).spawn().unwrap();
    let members = one.members(1);
    other.members(1);
    std::thread::sleep(Duration::from_millis(700));
    members.iter().for_each(|&member| signal(member, Signal::KILL));
    let (status, text, error) = shown(&running.wait_with_output().unwrap());
    assert_eq!(status, 0, "{error}");
    let found = document(&text);
    let ios = found["client_stats"][0]["read"]["total_ios"].as_u64().unwrap();
    assert!((200..=310).contains(&ios) && found["client_stats"][0]["port"] == other.port, "{text}");
    assert!(error.contains("1 of 2 servers have no result"), "{error}");
}

#[test]
fn a_server_ends_the_jobs_of_a_killed_client_and_serves_on() {
    let server = Server::start(&[]);
    let place = place();
    let mut running = client(place.path(), &format!("{READS}60\n"), &[&server.client(), "x.fio"]).spawn().unwrap();
    let members = server.members(1);
    let processes: Vec<u32> = members.iter().flat_map(|&member| [vec![member], below(member)].concat()).collect();
    std::thread::sleep(Duration::from_millis(500));
    running.kill().unwrap();
    running.wait().unwrap();
    all_gone(&processes);
    let (status, text, error) = run("[w]\nrw=write\nsize=64k\n", &[&server.client(), "x.fio"]);
    assert!(status == 0 && text.contains("issued rwts: total=0,16,0,0"), "{error}");
}

#[test]
fn logs_of_a_killed_member_do_not_stay() {
    let server = Server::start(&[]);
    let (place, job) = (place(), format!("{READS}60\nwrite_lat_log=l\n"));
    let running = client(place.path(), &job, &[&server.client(), "x.fio"]).spawn().unwrap();
    let member = server.members(1)[0];
    let folder = std::env::temp_dir().join(format!("plumb-logs-{member}-0"));
    assert!(folder.exists());
    signal(member, Signal::KILL);
    assert_eq!(shown(&running.wait_with_output().unwrap()).0, 1);
    let begun = Instant::now();
    while folder.exists() {
        assert!(begun.elapsed() < Duration::from_secs(10), "{}", folder.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_second_client_is_refused_with_the_name_of_the_first() {
    let server = Server::start(&[]);
    let place = place();
    let running = client(place.path(), &format!("{READS}60\n"), &[&server.client(), "x.fio"]).spawn().unwrap();
    server.members(1);
    let (status, _, error) = run(&format!("{READS}1\n"), &[&server.client(), "x.fio"]);
    assert!(status == 1 && error.contains("the client 127.0.0.1 has been running jobs for"), "{error}");
    signal(running.id(), Signal::INT);
    let (status, text, error) = shown(&running.wait_with_output().unwrap());
    assert_eq!(status, 128, "{error}");
    assert!(text.contains("r: (groupid=0, jobs=1): err= 0"), "{text}{error}");
}

#[test]
fn untrusted_clients_are_held_to_what_the_server_allows() {
    let outside = place();
    let allowed = outside.path().join("allowed");
    fs::create_dir(&allowed).unwrap();
    let server = Server::start(&[&format!("--allow={}", allowed.display())]);
    assert!(
        server.said().contains("clients without the secret may do what --untrusted lets a job file do"),
        "{}",
        server.said()
    );
    let job = |more: &str| format!("[w]\nrw=write\nsize=16k\n{more}\n");
    let touched = outside.path().join("touched");
    for (more, complaint) in [
        (format!("exec_prerun=touch {}", touched.display()), "runs a command"),
        (format!("filename={}/f", outside.path().display()), "leads out of this directory"),
        (format!("filename={}/../f", allowed.display()), "leads out of this directory"),
        (format!("write_iolog={}/l", outside.path().display()), "leads out of this directory"),
        ("filename=/dev/null".to_owned(), "leads out of this directory"),
    ] {
        let (status, _, error) = run(&job(&more), &[&server.client(), "x.fio"]);
        assert!(status == 1 && error.contains(complaint) && error.contains("--allow PATH"), "{more}: {error}");
    }
    assert!(!touched.exists());
    let (status, _, error) = run(&job(&format!("filename={}/f", allowed.display())), &[&server.client(), "x.fio"]);
    assert!(status == 0 && allowed.join("f").exists(), "{error}");
    // A job file of the server's machine.
    for (path, complaint) in [("/etc/hostname", "an untrusted client may name files"), ("../x", "an untrusted client")]
    {
        let (status, _, error) = run("", &[&server.client(), &format!("--remote-config={path}")]);
        assert!(status == 1 && error.contains(complaint), "{error}");
    }
    fs::write(server.place.path().join("own.fio"), job("")).unwrap();
    assert_eq!(run("", &[&server.client(), "--remote-config=own.fio"]).0, 0);
    // Trusted clients may.
    let trusting = Server::start(&["--trust-clients"]);
    let more = format!("exec_prerun=touch {}", touched.display());
    let (status, _, error) = run(&job(&more), &[&trusting.client(), "x.fio"]);
    assert!(status == 0 && touched.exists(), "{error}");
}

#[test]
fn clients_with_the_secret_are_trusted_others_are_refused() {
    let files = place();
    let file = |name: &str, text: &str| {
        fs::write(files.path().join(name), text).unwrap();
        format!("--secret-file={}", files.path().join(name).display())
    };
    let right = file("right", "0123456789abcdef0123456789abcdef");
    let wrong = file("wrong", "another secret of at least 32 letters");
    let short = file("short", "secret");
    let server = Server::start(&[&right]);
    let touched = files.path().join("touched");
    let job =
        format!("[w]\nrw=write\nsize=256k\nnumjobs=4\nexec_prerun=touch {}\nwrite_lat_log=l\n", touched.display());
    let client_words = [&server.client(), "x.fio", "--output-format=json"];
    let (status, text, error) = run(&job, &[&client_words[..], &[&right]].concat());
    assert_eq!(status, 0, "{error}");
    assert_eq!(document(&text)["client_stats"][4]["write"]["total_ios"], 256);
    assert!(touched.exists());
    for (secret, complaint) in [
        (Some(&wrong), "the secret of the client is not that of this server"),
        (Some(&short), "at least 32 characters"),
        (None, "runs a command"),
    ] {
        let words: Vec<&str> = client_words.iter().copied().chain(secret.map(String::as_str)).collect();
        let (status, _, error) = run(&job, &words);
        assert!(status == 1 && error.contains(complaint), "{secret:?}: {error}");
    }
    let without = Server::start(&[]);
    let (status, _, error) = run(&job, &[&without.client(), "x.fio", &right]);
    assert!(status == 1 && error.contains("this server was started without --secret-file"), "{error}");
    // A server that does not prove the secret gets nothing.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let impostor = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        socket.write_all(b"{\"hello\":{\"protocol\":2,\"program\":\"plumb\"}}\n").unwrap();
        let mut got = String::new();
        let _ = socket.take(4096).read_to_string(&mut got);
        got
    });
    let (status, _, error) = run(&job, &[&format!("--client=127.0.0.1,{port}"), "x.fio", &right]);
    assert!(status == 1 && error.contains("it answered without the secret"), "{error}");
    assert!(!impostor.join().unwrap().contains("prepare"));
}

#[test]
fn a_leader_with_other_words_or_another_command_is_refused() {
    let server = Server::start(&[]);
    let place = place();
    let outside = place.path().join("made");
    let task = |words: Vec<String>, command: ::cluster::LeaderCommand| ::cluster::Task {
        words,
        command,
        members: 1,
        directory: "/".to_owned(),
        beat: ::measure::Nanos::from_millis(500),
        ..::cluster::Task::default()
    };
    let served = ::cluster::LeaderCommand::Client(Box::default());
    for (task, complaint) in [
        (task(vec![format!("--output={}", outside.display())], served.clone()), "does not take"),
        (task(vec!["--name=a".to_owned(), "--exec_prerun=true".to_owned()], served), "does not take"),
        (
            task(vec!["--name=a".to_owned(), "--size=1m".to_owned()], ::cluster::LeaderCommand::Cluster),
            "fio --client only",
        ),
        (
            task(Vec::new(), ::cluster::LeaderCommand::Trigger { command: format!("touch {}", outside.display()) }),
            "runs a command",
        ),
    ] {
        let mut socket = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let opening = ::cluster::Opening {
            protocol: ::cluster::PROTOCOL,
            program: "plumb".to_owned(),
            ..::cluster::Opening::default()
        };
        socket.write_all(opening.line().as_bytes()).unwrap();
        let prepare = ::cluster::line(&::cluster::Order::Prepare(Box::new(task))).unwrap();
        socket.write_all(prepare.as_bytes()).unwrap();
        let mut answers = String::new();
        let _ = socket.read_to_string(&mut answers);
        assert!(answers.contains("\"failed\"") && answers.contains(complaint), "{answers}");
    }
    assert!(!outside.exists());
}

#[test]
fn a_socket_in_the_file_system_is_trusted_and_for_its_user() {
    let place = place();
    let path = place.path().join("s");
    let address = format!("sock:{}", path.display());
    let mut server = Command::new(PLUMB)
        .current_dir(place.path())
        .args(["fio", &format!("--server={address}")])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let file = place.path().join("f");
    let job = format!("[w]\nrw=write\nsize=16k\nfilename={}\n", file.display());
    let (status, text, error) = run(&job, &[&format!("--client={address}"), "x.fio", "--output-format=json"]);
    assert_eq!(status, 0, "{error}");
    assert_eq!(document(&text)["client_stats"][0]["hostname"], path.to_str().unwrap());
    signal(server.id(), Signal::TERM);
    assert_eq!(server.wait().unwrap().code(), Some(128));
    assert!(!path.exists());
}

#[test]
fn a_server_in_the_background_listens_when_the_command_returns() {
    let (place, port) = (place(), free_port());
    let pid_file = place.path().join("pid");
    let start = |file: &Path| {
        let words = [format!("--server=127.0.0.1,{port}"), format!("--daemonize={}", file.display())];
        shown(&Command::new(PLUMB).arg("fio").args(words).current_dir(place.path()).output().unwrap())
    };
    let (status, text, error) = start(&pid_file);
    assert_eq!((status, text.as_str()), (0, ""), "{error}");
    let pid: u32 = fs::read_to_string(&pid_file).unwrap().trim().parse().unwrap();
    let served = run("[w]\nrw=write\nsize=64k\n", &[&format!("--client=127.0.0.1,{port}"), "x.fio"]);
    let again = start(&place.path().join("other"));
    signal(pid, Signal::TERM);
    assert_eq!(served.0, 0, "{}", served.2);
    assert!(again.0 == 1 && again.2.contains("in use") && !place.path().join("other").exists(), "{}", again.2);
    all_gone(&[pid]);
}

#[test]
fn command_lines_without_a_job_or_server_are_refused() {
    let place = place();
    fs::write(place.path().join("x.fio"), "[w]\nrw=write\nsize=64k\n").unwrap();
    fs::write(place.path().join("empty"), "# none\n").unwrap();
    for (words, complaint) in [
        ("--client=a", "there is no job file for this server"),
        ("--client=a --client=b x.fio", "client=a: there is no job file"),
        ("--client=a x.fio --remote-config=y", "both a job file and a --remote-config"),
        ("--client=a x.fio --client=a x.fio", "named twice"),
        ("--client=a --name=x --size=1m", "job options on the command line are not sent"),
        ("--client=a,0 x.fio", "is not a port"),
        ("--client=empty x.fio", "names no server"),
        ("--client=a nowhere.fio", "unable to open the job file"),
        ("--client=a x.fio --result=r", "--result has no meaning"),
        ("--client=a x.fio --parse-only", "--parse-only has no meaning"),
        ("--client=a x.fio --trigger-remote=t", "--trigger-remote: nothing starts this command"),
        ("--name=a --size=1m --trigger-remote=t", "--trigger-remote is an option of --client"),
        ("--server --trigger-file=t", "--trigger has no meaning with --server"),
        ("--server --client=a x.fio", "either a --client or a --server"),
        ("--server --name=a --size=1m", "gets its jobs from clients"),
        ("--server --output=o", "--output has no meaning with --server"),
        ("--server --output-format=json", "--output-format has no meaning with --server"),
        ("--server --metrics=m", "--metrics has no meaning with --server"),
        ("--server --eta=always", "--eta has no meaning with --server"),
        ("--server --readonly", "has no meaning with --server"),
        ("--secret-file=s --name=a --size=1m", "--secret-file is an option of --server or --client"),
        ("--client=a x.fio --metrics-listen=127.0.0.1:0", "--metrics-listen has no meaning"),
        ("--client=a x.fio --otlp=http://127.0.0.1:1", "--otlp has no meaning"),
        ("--server=9000", "written ,9000"),
        ("--server=127.0.0.1,9 --section=a", "has no meaning with --server"),
        ("--server=127.0.0.1,1 --allow=nowhere", "--allow=nowhere"),
        ("--daemonize=f", "--daemonize is an option of --server"),
        ("--partial --name=a --size=1m", "--partial is an option of --client"),
        ("--client=a x.fio --silence=10ms", "too short"),
    ] {
        let words: Vec<&str> = words.split_whitespace().collect();
        let output = Command::new(PLUMB).current_dir(place.path()).arg("fio").args(&words).output().unwrap();
        let (status, _, error) = shown(&output);
        assert!(status == 1 && error.contains(complaint), "{words:?}: {status} {error}");
    }
}
