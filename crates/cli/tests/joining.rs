//! `plumb cluster --lead` and `--join` with real processes: who is taken and who is refused by name, what a leader may
//! do, deaths and silence.

use crate::context::{SIMULATED_JOB, SIMULATED_SURVEY, cluster, place};
use house::{Place, Process, Transcript, bytes_read, children, signal, wait_for, wait_for_end_of};
use rustix::process::Signal;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

const WRITES: &str = "--name=w --rw=write --bs=16k --size=256k";
const READS: &str = "--name=r --rw=randread --bs=4k --size=4m --rate_iops=200 --time_based --runtime=60";

/// How long a leader waits for members that come.
const TIME_TO_JOIN: &str = "60s";

/// Less than the minute of the jobs that are ended, and more than a machine that does other work needs for it.
const SOON: Duration = Duration::from_secs(30);

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A leader that waits for members.
struct Waiting {
    process: Process,
    place: Place,
    port: u16,
}

impl Waiting {
    /// Starts `--lead` with these options and words, and returns once it listens.
    fn start(options: &str, words: &str) -> Waiting {
        Waiting::start_within(TIME_TO_JOIN, options, words)
    }

    fn start_within(within: &str, options: &str, words: &str) -> Waiting {
        Waiting::leading(within, options, &format!("fio {words}"))
    }

    fn leading(within: &str, options: &str, words: &str) -> Waiting {
        let (place, port) = (place(), free_port());
        let listen = format!("127.0.0.1:{port}");
        let words: Vec<&str> = ["--listen", &listen, "--join-within", within]
            .into_iter()
            .chain(options.split_whitespace())
            .chain(words.split_whitespace())
            .collect();
        let process = cluster(place.path(), &words).start();
        wait_for("a leader that listens", || TcpStream::connect(&listen).ok());
        Waiting { process, place, port }
    }

    fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn member(&self, directory: &Path, more: &[&str]) -> Process {
        cluster(directory, [&["--join", &self.address()], more].concat()).start()
    }

    /// The answer to these bytes.
    fn answer(&self, bytes: &str) -> String {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(8))).unwrap();
        stream.write_all(bytes.as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line
    }
}

/// A process below another one, once there is one that deep.
fn below(pid: u32, depth: usize) -> u32 {
    let child = |pid: u32| children(pid).first().copied();
    wait_for("a process below it", || (0..depth).try_fold(pid, |pid, _| child(pid)))
}

/// The worker of a member that runs [`READS`], once it has read a hundred blocks: the moment at which all begin is
/// past.
fn reading(member: &Process) -> u32 {
    wait_for("a worker that reads", || {
        let worker = below(member.id(), 2);
        (bytes_read(worker) > 100 * 4096).then_some(worker)
    })
}

#[test]
fn members_join_in_any_order_and_one_too_many_is_refused() {
    let (first, second, port) = (place(), place(), free_port());
    let (leader, place) = (format!("127.0.0.1:{port}"), place());
    let mut early = cluster(first.path(), ["--join", &leader, "--rank", "1"]).start();
    early.line_with("yet (Connection refused");
    let words = format!("--lead 2 --listen {leader} --json fio {WRITES} --time_based --runtime=1 --rate_iops=200");
    let leading = cluster(place.path(), words).start();
    let late = cluster(second.path(), ["--join", &leader]).start();
    // Both are at work.
    below(early.id(), 2);
    below(late.id(), 2);
    let third = cluster(place.path(), ["--join", &leader]).end();
    third.exits(1).complains("all 2 members of this run are there already");
    let found = leading.end().exits(0).json();
    assert_eq!((&found["cluster"]["carrier"], &found["cluster"]["members"]), (&"tcp".into(), &2.into()));
    let (early, late) = (early.end(), late.end());
    early.exits(0).complains("member 1 of 2, led from");
    late.exits(0).complains("member 0 of 2");
    // Each worked where it was started, with its number in the names.
    for (directory, rank) in [(&first, ".1.w.0.0"), (&second, ".0.w.0.0")] {
        let names: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(names.len() == 1 && names[0].to_str().unwrap().ends_with(rank), "{names:?}");
    }
}

#[test]
fn one_command_for_all_machines_leads_and_joins_on_the_first() {
    let (places, port) = ([place(), place(), place()], free_port());
    let command = |rank: usize| {
        let words = format!(
            "--lead 3 --listen :{port} --join 127.0.0.1:{port} --rank {rank} --trust-leader \
             --join-within {TIME_TO_JOIN} --json fio {WRITES}"
        );
        cluster(places[rank].path(), words).start()
    };
    let all = [2, 0, 1].map(command).map(Process::end);
    let all = all.map(|run| run.exits(0));
    let found = all[1].json();
    let each = found["cluster"]["each"].as_array().unwrap();
    assert_eq!(each.iter().map(|member| member["bytes"].as_u64().unwrap()).collect::<Vec<_>>(), [256 << 10; 3]);
    assert!(all[0].stdout.is_empty() && all[2].stdout.is_empty(), "the result is printed once");
    for (rank, place) in places.iter().enumerate() {
        let name = fs::read_dir(place.path()).unwrap().next().unwrap().unwrap().file_name();
        assert!(name.to_str().unwrap().ends_with(&format!(".{rank}.w.0.0")), "{name:?}");
    }
}

#[test]
fn leader_and_member_prove_their_secret_and_mistakes_are_named() {
    let files = place();
    let file = |name: &str, text: &str| {
        files.write(name, text);
        files.path().join(name).to_str().unwrap().to_owned()
    };
    let right = file("right", "0123456789abcdef0123456789abcdef");
    let wrong = file("wrong", "another secret of at least 32 letters");
    let touched = files.path().join("touched");
    let words = format!("{WRITES} --exec_prerun=touch\\ {}", touched.display()).replace("\\ ", "\u{a0}");
    let words: Vec<String> = words.split(' ').map(|word| word.replace('\u{a0}', " ")).collect();
    let (place, port) = (place(), free_port());
    let address = format!("127.0.0.1:{port}");
    let lead = |more: &[&str]| {
        let options = [&["--lead", "1", "--listen", &address, "--json"], more, &["fio"]].concat();
        let all: Vec<&str> = options.into_iter().chain(words.iter().map(String::as_str)).collect();
        cluster(place.path(), &all).start()
    };
    let join = |more: &[&str]| cluster(place.path(), [&["--join", &address], more].concat()).end();
    let leader = lead(&["--secret-file", &right]);
    for (secret, complaint) in [
        (&["--secret-file", &wrong][..], "the secret of the member is not that of this leader"),
        (&[], "this leader has a secret; give the member the same --secret-file"),
    ] {
        join(secret).exits(1).complains(complaint);
    }
    assert!(!touched.exists());
    join(&["--secret-file", &right]).exits(0);
    assert!(touched.exists());
    let end = leader.end().exits(0);
    assert_eq!(end.json()["cluster"]["rates"][0]["ios"], 16, "{end}");
    end.complains("127.0.0.1 is refused: the secret of the member");
    // The leader has none: the member does not run its job without the proof.
    fs::remove_file(&touched).unwrap();
    let leader = lead(&[]);
    join(&["--secret-file", &right]).exits(1).complains("this leader was started without --secret-file");
    join(&[]).exits(1);
    assert!(!touched.exists());
    leader.end().exits(1).complains("runs a command").complains("--trust-leader");
    let leader = lead(&[]);
    join(&["--trust-leader"]).exits(0);
    leader.end().exits(0);
    assert!(touched.exists());
}

#[test]
fn an_untrusted_leader_is_held_to_what_the_member_allows() {
    let outside = place();
    let run = |word: String| {
        let leader = Waiting::start("--lead 1", &format!("{WRITES} {word}"));
        let member = leader.member(leader.place.path(), &["--allow", outside.path().to_str().unwrap()]);
        let error = leader.process.end().stderr;
        (member.end().status, error)
    };
    let (status, error) = run("--filename=/dev/null".to_owned());
    assert!(
        status == Some(1) && error.contains("leads out of this directory") && error.contains("--allow PATH"),
        "{error}"
    );
    let (status, error) = run(format!("--filename={}/f", outside.path().display()));
    assert_eq!(status, Some(0), "{error}");
    assert_eq!(fs::metadata(outside.path().join("f")).unwrap().len(), 256 << 10);
}

#[test]
fn too_few_members_end_the_wait_with_missing_and_refused_names() {
    let leader = Waiting::start_within("2s", "--lead 3", WRITES);
    let here = place();
    let mut member = leader.member(here.path(), &["--rank", "1"]);
    member.line_with(", led from ");
    // A version that is not this one, another program, and a client of fio's servers.
    for (bytes, complaint) in [
        ("{\"member\":{\"protocol\":77,\"program\":\"plumb 9.9\"}}\n", "plumb 9.9 with protocol 77"),
        ("GET / HTTP/1.1\r\nHost: here\r\n\r\n", "not plumb"),
        ("{\"client\":{\"protocol\":1,\"program\":\"plumb\"}}\n", "a client of plumb fio --server"),
    ] {
        let answer = leader.answer(bytes);
        assert!(answer.contains("refused") && answer.contains(complaint), "{answer}");
    }
    // Three say nothing, and the fourth is served.
    let mute: Vec<TcpStream> = (0..3).map(|_| TcpStream::connect(leader.address()).unwrap()).collect();
    let again = cluster(here.path(), ["--join", &leader.address(), "--rank", "1"]).end();
    again.exits(1).complains("member 1 is there already, from 127.0.0.1");
    leader.process.end().exits(1).complains("1 of 3 members joined within 2s, missing: 0, 2; refused were 127.0.0.1: ");
    drop(mute);
    member.end().exits(1);
    // The other way round.
    cluster(here.path(), ["--join", &format!("127.0.0.1:{}", free_port()), "--join-within", "1s"])
        .end()
        .exits(1)
        .complains("no leader within 1s: Connection refused");
}

#[test]
fn a_member_that_leaves_early_makes_room_for_another() {
    let mut leader = Waiting::start("--lead 2 --json", WRITES);
    let here = place();
    let mut leaves = leader.member(here.path(), &["--rank", "0"]);
    leaves.line_with(", led from ");
    drop(leaves);
    leader.process.line_with("member 0 (127.0.0.1) has gone: its connection ended");
    let others = ["0", "1"].map(|rank| leader.member(here.path(), &["--rank", rank]));
    let end = leader.process.end().exits(0);
    assert_eq!(end.json()["cluster"]["rates"][0]["ios"], 32);
    others.into_iter().for_each(|other| drop(other.end().exits(0)));
}

#[test]
fn dead_members_are_named_and_a_dead_leader_has_no_processes() {
    // Killed: the connection ends at once.
    let (leader, here) = (Waiting::start("--lead 2 --silence 2s", READS), place());
    let members = [leader.member(here.path(), &["--rank", "0"]), leader.member(here.path(), &["--rank", "1"])];
    let workers = members.each_ref().map(reading);
    signal(members[1].id(), Signal::KILL);
    let begun = Instant::now();
    let Transcript { status, stdout: text, stderr: error, .. } = leader.process.end();
    assert!(status == Some(1) && begun.elapsed() < SOON, "{:?}", begun.elapsed());
    assert!(error.contains("member 1 (") && error.contains("its connection ended"), "{error}");
    assert!(text.contains("INCOMPLETE: 1 of 2 members"), "{text}");
    members.into_iter().for_each(|member| drop(member.end()));
    wait_for_end_of(&workers);
    // Stopped: it is silent.
    let leader = Waiting::start("--lead 2 --silence 2s", READS);
    let members = [leader.member(here.path(), &["--rank", "0"]), leader.member(here.path(), &["--rank", "1"])];
    let stopped = below(members[1].id(), 1);
    let workers = members.each_ref().map(reading);
    signal(stopped, Signal::STOP);
    let begun = Instant::now();
    let Transcript { status, stderr: error, .. } = leader.process.end();
    assert!(status == Some(1) && begun.elapsed() < SOON, "{:?}", begun.elapsed());
    assert!(error.contains("it said nothing for 2s"), "{error}");
    // It ends when it goes on.
    signal(stopped, Signal::CONT);
    let statuses = members.map(|member| member.end().status);
    assert_eq!(statuses, [Some(0), Some(1)], "one was asked to end, the other one lost its leader");
    wait_for_end_of(&workers);
    // Without their leader members end in order, and keep what they measured.
    let leader = Waiting::start("--lead 1", READS);
    let member = leader.member(leader.place.path(), &[]);
    let worker = reading(&member);
    signal(leader.process.id(), Signal::KILL);
    member.end().exits(1).complains("member 0: the leader is gone");
    wait_for_end_of(&[worker]);
    cluster(&leader.place, "merge plumb-cluster-member-000-001.json").end().prints("read    sum");
}

#[test]
fn a_signal_to_a_member_ends_its_jobs_with_its_result() {
    let (leader, here) = (Waiting::start("--lead 1 --json", READS), place());
    let member = leader.member(here.path(), &[]);
    reading(&member);
    signal(member.id(), Signal::TERM);
    let end = leader.process.end();
    assert!(end.json()["cluster"]["rates"][0]["ios"].as_u64().unwrap() > 50, "{end}");
    member.end();
}

#[test]
fn options_that_have_no_meaning_together_are_refused() {
    let here = place();
    for (words, says) in [
        ("--join a fio --name=a --size=4k", "the leader has the job"),
        ("--lead 2 --join a fio --name=a --size=4k", "need --rank N"),
        ("--lead 2 --join a --rank 2 fio --name=a --size=4k", "--rank 2: with --lead 2 it is 0 to 1"),
        ("--lead 2 --directory / fio --name=a --size=4k", "--directory is not for --lead"),
        ("--lead 2 fio --name=a --size=4q", "4q"),
        ("--local 2 --secret-file s fio --name=a --size=4k", "--secret-file is for --lead and --join"),
        ("--lead 2 --hosts a fio --name=a --size=4k", "cannot be used with"),
        ("--join a --json", "the leader has the other options"),
        ("--join a:0", "`0` is not a port"),
        ("--join a --allow / --secret-file s", "s: "),
        ("--quiet", "which command?"),
    ] {
        cluster(&here, words).fails().complains(says);
    }
}

#[test]
fn what_answers_and_does_not_lead_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let other = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        let _ = socket.read(&mut [0; 512]);
    });
    let run = cluster(place(), ["--join", &address]).end();
    other.join().unwrap();
    run.exits(1).complains("it is not plumb: its first bytes are `HTTP/1.1 400");
}

#[test]
fn members_that_have_joined_run_what_takes_several_rounds() {
    let survey = format!("survey --users 1,2 {SIMULATED_SURVEY} --no-store --no-report -o all.json .");
    let job = format!("fio {SIMULATED_JOB}");
    let led = [
        ("--repeat 2 --json -o all.json", job.as_str()),
        ("", &survey),
        ("", "knee --time 1 --most 1 --size 16M --no-store --no-report -o all.json ."),
        ("", "iozone -i 0 -i 1 -s 256k -r 64k"),
    ]
    .map(|(options, words)| Waiting::leading(TIME_TO_JOIN, &format!("--lead 2 {options}"), words));
    let places = led.each_ref().map(|_| [place(), place()]);
    let members: Vec<Process> = led
        .iter()
        .zip(&places)
        .flat_map(|(led, places)| places.each_ref().map(|place| led.member(place.path(), &["--trust-leader"])))
        .collect();
    let [repeated, survey, knee, iozone] = led.map(|led| (led.process.end().exits(0), led.place));
    members.into_iter().for_each(|member| drop(member.end().exits(0)));
    for ((_, place), (count, users, rate)) in
        [(&repeated, (2, None, 20_000.0)), (&survey, (2, Some(2), 20_000.0)), (&knee, (1, Some(2), 0.0))]
    {
        let tests = place.json("all.json")["tests"].clone();
        let first = &tests[0];
        let found = first["cluster"]["rates"][0]["sum_iops"].as_f64().unwrap();
        assert!(tests.as_array().unwrap().len() == count && first["cluster"]["carrier"] == "tcp", "{first}");
        assert!(
            users.is_none_or(|users| first["users"] == users) && (rate == 0.0 || (found - rate).abs() < 1.0),
            "{found}"
        );
    }
    iozone.0.prints("Children see throughput for 2 re-readers");
}
