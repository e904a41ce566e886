//! `plumb fio --client` and `--server` with real processes: what is broken in fio's (docs/fio.md), deaths, silence, who
//! may do what.

use crate::cluster::with_all_below;
use crate::context::{fio, place};
use house::{
    Place, Process, Run, Transcript, bytes_read, children, descendants, oracle, signal, wait_for, wait_for_end_of,
};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

/// Reads for a time at a known rate.
const READS: &str = "[r]\nrw=randread\nsize=64k\nrate_iops=200\ntime_based\nruntime=";

/// Less than the minute of the jobs that are ended, and more than a machine that does other work needs for it.
const SOON: Duration = Duration::from_secs(30);

pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A server that ends with the test.
pub(crate) struct Server {
    process: Process,
    pub(crate) place: Place,
    port: u16,
}

impl Server {
    pub(crate) fn start(words: &[&str]) -> Server {
        let (place, port) = (place(), free_port());
        let run = fio(&place, format!("--server=127.0.0.1,{port}")).words(words);
        let mut process = run.errors_to(fs::File::create(place.file("said")).unwrap()).start();
        assert_eq!(process.line(), format!("fio: server listening on 127.0.0.1,{port}\n"));
        Server { process, place, port }
    }

    pub(crate) fn client(&self) -> String {
        format!("--client=127.0.0.1,{}", self.port)
    }

    /// What it printed on standard error.
    fn said(&self) -> String {
        self.place.read("said")
    }

    /// Its members, once each has a worker of [`READS`] that has read fifty blocks.
    fn members(&self) -> Vec<u32> {
        wait_for("members that read", || {
            let found = children(self.process.id());
            let is_reading = |member: &u32| descendants(*member).into_iter().any(|pid| bytes_read(pid) > 50 * 4096);
            (!found.is_empty() && found.iter().all(is_reading)).then_some(found)
        })
    }
}

/// A client's run in a directory with this job file, `x.fio`.
pub(crate) fn client(directory: &Place, job: &str, words: &[&str]) -> Run {
    directory.write("x.fio", job);
    fio(directory, words).env("PLUMB_REMARKS", "never")
}

/// The same in a new directory, to its end.
fn run(job: &str, words: &[&str]) -> Transcript {
    let place = place();
    client(&place, job, words).end()
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
    let name = missing.trim_start_matches("--client=").replace(',', ":");
    let refused = run(job, &words).exits(1).complains(&format!("client <{name}>: cannot connect"));
    assert_eq!(refused.complains("nothing was begun").stdout, "");
    assert!(!server.place.has("w.0.0"));
    let run = run(job, &[&words[..], &["--partial", "--output-format=json"]].concat()).exits(0).complains(&name);
    assert_eq!(run.json()["client_stats"][0]["write"]["total_ios"], 16);
}

#[test]
fn the_document_is_alone_on_standard_output_whatever_fails() {
    let server = Server::start(&["--trust-clients"]);
    let words = [&server.client(), "x.fio", "--output-format=json"];
    let full = run("[w]\nrw=write\nsize=64k\nfilename=/dev/full\n", &words).exits(1);
    assert_eq!(full.json()["client_stats"][0]["error"], 28, "{full}");
    assert!(full.stderr.contains("exited with error 1") || full.stderr.contains("No space left"), "{full}");
    let none = run("[r]\nrw=read\nsize=64k\nfilename=nowhere\nallow_file_create=0\n", &words).exits(1);
    assert_eq!(none.json()["client_stats"], Value::Array(Vec::new()), "{none}");
    none.complains("allow_file_create=0");
}

#[test]
fn nothing_begins_on_any_server_if_a_job_cannot_begin_on_one() {
    let (one, other) = (Server::start(&[]), Server::start(&[]));
    let place = place();
    place.write("bad.fio", "[r]\nrw=read\nsize=64k\nfilename=nowhere\nallow_file_create=0\n");
    let words = [&other.client(), "x.fio", &one.client(), "bad.fio"];
    let job = "[w]\nrw=write\nsize=64k\nwrite_iolog=trace\n";
    let refused = client(&place, job, &words).exits(1).complains(&format!("client <127.0.0.1:{}>: ", one.port));
    let refused = refused.complains("allow_file_create").complains("2 of 2 servers have no result");
    assert!(!refused.stdout.contains("All clients"), "{refused}");
    // A trace has a line for each I/O.
    let trace = fs::read_to_string(other.place.file("trace")).unwrap_or_default();
    assert!(!trace.contains(" write "), "{trace}");
    run(job, &[&other.client(), "x.fio"]).exits(0);
    assert!(other.place.read("trace").contains(" write "));
}

#[test]
fn benchmark_wrapper_and_k8s_io_find_what_they_look_for() {
    let (one, other) = (Server::start(&[]), Server::start(&[]));
    // Long enough for a rate: 64 KiB took less than the resolution of the clocks between the servers.
    let job = "[global]\nrw=write\nsize=4m\nbs=4k\ngroup_reporting\n[w]\nnumjobs=2\n";
    let place = place();
    place.write("hosts", format!("127.0.0.1,{}\n\n127.0.0.1,{} # two\n", one.port, other.port));
    let found = client(&place, job, &["--client=hosts", "x.fio", "--output-format=json"]).json();
    assert_eq!(found["global options"]["rw"], "write");
    let stats = found["client_stats"].as_array().unwrap();
    let jobs: Vec<&Value> = stats.iter().filter(|entry| entry["jobname"] != "All clients").collect();
    let ports: Vec<u64> = jobs.iter().map(|entry| entry["port"].as_u64().unwrap()).collect();
    assert_eq!(ports, [u64::from(one.port), u64::from(other.port)]);
    let all = stats.last().unwrap();
    assert_eq!((&all["jobname"], &all["write"]["total_ios"]), (&"All clients".into(), &4096.into()));
    assert!(all["write"]["bw"].as_u64().unwrap() > 0 && all["write"]["clat_ns"]["percentile"]["99.000000"].is_u64());
    assert!(found["plumb"]["cluster"]["rates"][0]["over_all"].is_f64());
}

#[test]
fn interim_reports_are_documents_with_growing_amounts() {
    let (one, other) = (Server::start(&[]), Server::start(&[]));
    let words = [&one.client(), "x.fio", &other.client(), "x.fio", "--status-interval=500ms", "--output-format=json"];
    let found = documents(&run(&format!("{READS}1600ms\n"), &words).exits(0).stdout);
    assert!(found.len() >= 3, "{}", found.len());
    let amounts: Vec<u64> =
        found.iter().map(|one| one["client_stats"][2]["read"]["total_ios"].as_u64().unwrap()).collect();
    assert!(amounts.is_sorted() && amounts[0] > 0 && amounts[0] < amounts[amounts.len() - 1], "{amounts:?}");
    let words = [&one.client(), "x.fio", &other.client(), "x.fio", "--eta=always", "--eta-interval=250ms"];
    let text = run(&format!("{READS}1200ms\n"), &words).prints("Jobs: 2 (f=2), 0-400 IOPS").stdout;
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
    place.directory("logs");
    let job = "[w]\nrw=write\nsize=64k\nwrite_bw_log=logs/l\nwrite_lat_log=l\n";
    let words = [&one.client(), "x.fio", &other.client(), "x.fio"];
    client(&place, job, &words).exits(0);
    for port in [one.port, other.port] {
        for name in ["logs/l_bw.1.log", "l_lat.1.log", "l_clat.1.log"] {
            let rows = place.read(format!("{name}.127.0.0.1,{port}"));
            assert_eq!(rows.lines().count(), 16, "{rows}");
        }
    }
    // A server that is missing is on the host, too: the next run finds and names files as the one before.
    fs::remove_file(place.file(format!("l_lat.1.log.127.0.0.1,{}", one.port))).unwrap();
    let missing = format!("--client=127.0.0.1,{}", free_port());
    let words = [&words[..2], &[&missing, "x.fio", "--partial"]].concat();
    client(&place, job, &words).exits(0);
    assert!(place.has(format!("l_lat.1.log.127.0.0.1,{}", one.port)));
    assert!(!place.has("l_lat.1.log.127.0.0.1"));
    // One alone is named as in fio, and nothing stays on the server.
    client(&place, job, &words[..2]).exits(0);
    assert!(place.has("logs/l_bw.1.log.127.0.0.1"));
    let left = one.place.names();
    assert!(left.iter().all(|name| ["said", "w.0.0"].contains(&name.as_str())), "{left:?}");
}

#[test]
fn latencies_of_flushes_and_verified_blocks_are_in_the_sum() {
    let (one, other) = (Server::start(&[]), Server::start(&[]));
    let words = [&one.client(), "x.fio", &other.client(), "x.fio", "--output-format=json"];
    let found = run("[w]\nrw=write\nsize=64k\nfsync=4\nverify=crc32c\n", &words).exits(0).json();
    let sum = &found["client_stats"][2];
    assert_eq!((&sum["sync"]["lat_ns"]["N"], &sum["read"]["total_ios"]), (&6.into(), &32.into()), "{sum}");
}

#[test]
fn a_sum_that_is_not_what_was_moved_in_the_time_has_a_remark() {
    let server = Server::start(&[]);
    let place = place();
    let half = "rw=randread\nsize=64k\nrate_iops=200\ntime_based\nruntime=700ms\n";
    let job = format!("[a]\n{half}[b]\nstonewall\n{half}");
    let words = [&server.client(), "x.fio"];
    let error = client(&place, &job, &words).env("PLUMB_REMARKS", "always").exits(0).stderr;
    let remark = error.lines().find(|line| line.contains("plumb: remark: All clients: reads at 1."));
    let over_all = remark.and_then(|line| line.split("it was ").nth(1)?.strip_suffix(" KiB/s")?.parse::<u64>().ok());
    // 400 reads of 4 KiB per second, one half after the other.
    assert!(over_all.is_some_and(|rate| (400..=800).contains(&rate)), "{error}");
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
    let fio = Run::new("fio", &place).words(format!("--server=127.0.0.1,{port}")).start();
    wait_for("fio's server", || TcpStream::connect(("127.0.0.1", port)).ok());
    let words = [&format!("--client=127.0.0.1,{port}"), "x.fio"];
    let (elapsed, refused) = quickest(|| run("[w]\nrw=write\nsize=64k\n", &words));
    drop(fio);
    assert!(elapsed < Duration::from_secs(1), "{elapsed:?}");
    refused.exits(1).complains(&format!("127.0.0.1:{port}>: it is a real fio (its protocol, version 97)"));
    let server = Server::start(&[]);
    place.write("x.fio", "[w]\nrw=write\nsize=64k\n");
    let client = || oracle(&place, [&server.client(), "x.fio"]);
    let (elapsed, refused) = quickest(client);
    assert!(refused.status != Some(0) && elapsed < Duration::from_secs(1), "{elapsed:?}: {refused}");
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
        assert!(answer.contains(&text), "{answer}");
        // It says so itself after it has answered.
        house::wait_for(&text, || server.said().contains(&text).then_some(()));
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
    let refused = run("[w]\nrw=write\nsize=64k\n", &[&format!("--client=127.0.0.1,{port}"), "x.fio"]).exits(1);
    greeter.join().unwrap();
    refused.complains("plumb 9.9").complains("protocol 77").complains(&format!("protocol {ours}"));
    // After all that it serves.
    run("[w]\nrw=write\nsize=64k\n", &[&server.client(), "x.fio"]).exits(0);
}

#[test]
fn a_stopped_server_is_named_and_the_other_result_is_kept() {
    let (one, other) = (Server::start(&[]), Server::start(&[]));
    let place = place();
    let words = [&one.client(), "x.fio", &other.client(), "x.fio", "--silence=2", "--output-format=json"];
    let running = client(&place, &format!("{READS}60\n"), &words).start();
    let (stopped, members) = (one.members(), other.members());
    stopped.iter().for_each(|&member| signal(member, Signal::STOP));
    let begun = Instant::now();
    let ended = running.end().exits(1);
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    let ended = ended.complains(&format!("client <127.0.0.1:{}>: it said nothing for 2s", one.port));
    let stats = ended.json()["client_stats"].as_array().unwrap().clone();
    assert_eq!((stats.len(), &stats[0]["port"]), (1, &other.port.into()), "no sum of all");
    wait_for_end_of(&members);
    // A server that is stopped before anyone connects accepts connections, by its kernel.
    signal(one.process.id(), Signal::STOP);
    let silent = run(&format!("{READS}1\n"), &[&one.client(), "x.fio", "--silence=1"]);
    signal(one.process.id(), Signal::CONT);
    silent.exits(1).complains("said nothing for 1s");
    stopped.iter().for_each(|&member| signal(member, Signal::CONT));
    wait_for_end_of(&stopped);
}

#[test]
fn a_killed_server_is_named_at_once_and_leaves_no_process() {
    let (one, other) = (Server::start(&[]), Server::start(&[]));
    let place = place();
    let words = [&one.client(), "x.fio", &other.client(), "x.fio", "--output-format=json"];
    let running = client(&place, &format!("{READS}60\n"), &words).start();
    let (members, others) = (one.members(), other.members());
    let processes = with_all_below(&members);
    one.process.signal(Signal::KILL);
    let begun = Instant::now();
    let ended = running.end().exits(1);
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    let ended = ended.complains(&format!("client <127.0.0.1:{}>: the server closed the connection", one.port));
    assert_eq!(ended.json()["client_stats"][0]["port"], other.port);
    wait_for_end_of(&processes);
    wait_for_end_of(&others);
}

#[test]
fn partial_goes_on_without_a_lost_server() {
    let (one, other) = (Server::start(&[]), Server::start(&[]));
    let place = place();
    let words = [&one.client(), "x.fio", &other.client(), "x.fio", "--partial", "--output-format=json"];
    // Long enough to be met at work on a machine that does other work.
    let running = client(&place, &format!("{READS}3\n"), &words).start();
    let members = one.members();
    other.members();
    members.iter().for_each(|&member| signal(member, Signal::KILL));
    let ended = running.end().exits(0).complains("1 of 2 servers have no result");
    let found = ended.json();
    let ios = found["client_stats"][0]["read"]["total_ios"].as_u64().unwrap();
    assert!((400..=620).contains(&ios) && found["client_stats"][0]["port"] == other.port, "{ended}");
}

#[test]
fn a_server_ends_the_jobs_of_a_killed_client_and_serves_on() {
    let server = Server::start(&[]);
    let place = place();
    let running = client(&place, &format!("{READS}60\n"), &[&server.client(), "x.fio"]).start();
    let processes = with_all_below(&server.members());
    running.signal(Signal::KILL);
    wait_for_end_of(&processes);
    let run = run("[w]\nrw=write\nsize=64k\n", &[&server.client(), "x.fio"]);
    run.exits(0).prints("issued rwts: total=0,16,0,0");
}

#[test]
fn logs_of_a_killed_member_do_not_stay() {
    let server = Server::start(&[]);
    let (place, job) = (place(), format!("{READS}60\nwrite_lat_log=l\n"));
    let running = client(&place, &job, &[&server.client(), "x.fio"]).start();
    let member = server.members()[0];
    let folder = std::env::temp_dir().join(format!("plumb-logs-{member}-0"));
    assert!(folder.exists());
    signal(member, Signal::KILL);
    running.end().exits(1);
    wait_for("the end of the folder of its logs", || (!folder.exists()).then_some(()));
}

#[test]
fn a_second_client_is_refused_with_the_name_of_the_first() {
    let server = Server::start(&[]);
    let place = place();
    let running = client(&place, &format!("{READS}60\n"), &[&server.client(), "x.fio"]).start();
    server.members();
    let second = run(&format!("{READS}1\n"), &[&server.client(), "x.fio"]);
    second.exits(1).complains("the client 127.0.0.1 has been running jobs for");
    running.signal(Signal::INT);
    running.end().exits(128).prints("r: (groupid=0, jobs=1): err= 0");
}

#[test]
fn untrusted_clients_are_held_to_what_the_server_allows() {
    let outside = place();
    let allowed = outside.directory("allowed");
    let server = Server::start(&[&format!("--allow={}", allowed.display())]);
    assert!(
        server.said().contains("clients without the secret may do what --untrusted lets a job file do"),
        "{}",
        server.said()
    );
    let job = |more: &str| format!("[w]\nrw=write\nsize=16k\n{more}\n");
    let touched = outside.file("touched");
    for (more, complaint) in [
        (format!("exec_prerun=touch {}", touched.display()), "runs a command"),
        (format!("filename={}/f", outside.path().display()), "leads out of this directory"),
        (format!("filename={}/../f", allowed.display()), "leads out of this directory"),
        (format!("write_iolog={}/l", outside.path().display()), "leads out of this directory"),
        ("filename=/dev/null".to_owned(), "leads out of this directory"),
    ] {
        let refused = run(&job(&more), &[&server.client(), "x.fio"]).exits(1);
        refused.complains(complaint).complains("--allow PATH");
    }
    assert!(!touched.exists());
    run(&job(&format!("filename={}/f", allowed.display())), &[&server.client(), "x.fio"]).exits(0);
    assert!(allowed.join("f").exists());
    // A job file of the server's machine.
    for (path, complaint) in [("/etc/hostname", "an untrusted client may name files"), ("../x", "an untrusted client")]
    {
        run("", &[&server.client(), &format!("--remote-config={path}")]).exits(1).complains(complaint);
    }
    server.place.write("own.fio", job(""));
    run("", &[&server.client(), "--remote-config=own.fio"]).exits(0);
    // Trusted clients may.
    let trusting = Server::start(&["--trust-clients"]);
    let more = format!("exec_prerun=touch {}", touched.display());
    run(&job(&more), &[&trusting.client(), "x.fio"]).exits(0);
    assert!(touched.exists());
}

#[test]
fn clients_with_the_secret_are_trusted_others_are_refused() {
    let files = place();
    let file = |name: &str, text: &str| format!("--secret-file={}", files.write(name, text).display());
    let right = file("right", "0123456789abcdef0123456789abcdef");
    let wrong = file("wrong", "another secret of at least 32 letters");
    let short = file("short", "secret");
    let server = Server::start(&[&right]);
    let touched = files.file("touched");
    let job =
        format!("[w]\nrw=write\nsize=256k\nnumjobs=4\nexec_prerun=touch {}\nwrite_lat_log=l\n", touched.display());
    let client_words = [&server.client(), "x.fio", "--output-format=json"];
    let found = run(&job, &[&client_words[..], &[&right]].concat()).exits(0).json();
    assert_eq!(found["client_stats"][4]["write"]["total_ios"], 256);
    assert!(touched.exists());
    for (secret, complaint) in [
        (Some(&wrong), "the secret of the client is not that of this server"),
        (Some(&short), "at least 32 characters"),
        (None, "runs a command"),
    ] {
        let words: Vec<&str> = client_words.iter().copied().chain(secret.map(String::as_str)).collect();
        run(&job, &words).exits(1).complains(complaint);
    }
    let without = Server::start(&[]);
    let refused = run(&job, &[&without.client(), "x.fio", &right]);
    refused.exits(1).complains("this server was started without --secret-file");
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
    let refused = run(&job, &[&format!("--client=127.0.0.1,{port}"), "x.fio", &right]);
    refused.exits(1).complains("it answered without the secret");
    assert!(!impostor.join().unwrap().contains("prepare"));
}

#[test]
fn a_leader_with_other_words_or_another_command_is_refused() {
    let server = Server::start(&[]);
    let place = place();
    let outside = place.file("made");
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
        let prepare = ::cluster::line(&::cluster::Instruction::Prepare(Box::new(task))).unwrap();
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
    let path = place.file("s");
    let address = format!("sock:{}", path.display());
    let mut server = fio(&place, format!("--server={address}")).start();
    server.line();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let job = format!("[w]\nrw=write\nsize=16k\nfilename={}\n", place.file("f").display());
    let found = run(&job, &[&format!("--client={address}"), "x.fio", "--output-format=json"]).exits(0).json();
    assert_eq!(found["client_stats"][0]["hostname"], path.to_str().unwrap());
    server.signal(Signal::TERM);
    server.end().exits(128);
    assert!(!path.exists());
}

#[test]
fn a_server_in_the_background_listens_when_the_command_returns() {
    let (place, port) = (place(), free_port());
    let start = |file: &str| {
        fio(&place, [format!("--server=127.0.0.1,{port}"), format!("--daemonize={}", place.word(file))]).end()
    };
    assert_eq!(start("pid").exits(0).stdout, "");
    let pid: u32 = place.read("pid").trim().parse().unwrap();
    let served = run("[w]\nrw=write\nsize=64k\n", &[&format!("--client=127.0.0.1,{port}"), "x.fio"]);
    let again = start("other");
    signal(pid, Signal::TERM);
    served.exits(0);
    again.exits(1).complains("in use");
    assert!(!place.has("other"));
    wait_for_end_of(&[pid]);
}

#[test]
fn command_lines_without_a_job_or_server_are_refused() {
    let place = place();
    place.write("x.fio", "[w]\nrw=write\nsize=64k\n");
    place.write("empty", "# none\n");
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
        fio(&place, words).exits(1).complains(complaint);
    }
}
