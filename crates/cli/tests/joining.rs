//! `plumb cluster --lead` and `--join` with real processes: who is taken and who is refused by name, what a leader may do, deaths and silence.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PLUMB: &str = env!("CARGO_BIN_EXE_plumb");
const WRITES: &str = "--name=w --rw=write --bs=16k --size=256k";
const READS: &str = "--name=r --rw=randread --bs=4k --size=4m --rate_iops=200 --time_based --runtime=60";

fn place() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn plumb(directory: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(PLUMB);
    command.arg("cluster").args(words).current_dir(directory).env_remove("PLUMB_SECRET_FILE");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn shown(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

fn ended(process: Child) -> (i32, String, String) {
    shown(&process.wait_with_output().unwrap())
}

fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A leader that waits for members.
struct Waiting {
    process: Child,
    place: TempDir,
    port: u16,
}

impl Waiting {
    /// Starts `--lead` with these options and words, and returns once it listens.
    fn start(options: &str, words: &str) -> Waiting {
        Waiting::start_within("20s", options, words)
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
        let process = plumb(place.path(), &words).spawn().unwrap();
        let begun = Instant::now();
        while TcpStream::connect(&listen).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(20), "the leader does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
        Waiting { process, place, port }
    }

    fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn member(&self, directory: &Path, more: &[&str]) -> Child {
        plumb(directory, &[&["--join", &self.address()], more].concat()).spawn().unwrap()
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

/// Waits until a leader has taken a member.
fn taken(member: &mut Child) {
    let mut errors = BufReader::new(member.stderr.as_mut().unwrap());
    let mut line = String::new();
    while !line.contains(", led from ") {
        line.clear();
        assert!(errors.read_line(&mut line).unwrap() > 0, "it is not taken");
    }
}

/// A process below another one, once there is one that deep.
fn below(pid: u32, depth: usize) -> u32 {
    let begun = Instant::now();
    loop {
        let child = |pid: u32| -> Option<u32> {
            let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
            let of = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            threads.map(of).collect::<String>().split_whitespace().next()?.parse().ok()
        };
        if let Some(found) = (0..depth).try_fold(pid, |pid, _| child(pid)) {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "it has no process below it");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();
}

fn gone(pid: u32) {
    let begun = Instant::now();
    let is_gone = || {
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).ok();
        state.is_none_or(|text| text.rsplit(')').next().unwrap_or_default().trim().starts_with('Z'))
    };
    while !is_gone() {
        assert!(begun.elapsed() < Duration::from_secs(10), "{pid} is an orphan");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn members_join_in_any_order_and_one_too_many_is_refused() {
    let (first, second, port) = (place(), place(), free_port());
    let (leader, place) = (format!("127.0.0.1:{port}"), place());
    let early = plumb(first.path(), &["--join", &leader, "--rank", "1"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let words = format!("--lead 2 --listen {leader} --json fio {WRITES} --time_based --runtime=1 --rate_iops=200");
    let leading = plumb(place.path(), &words.split(' ').collect::<Vec<_>>()).spawn().unwrap();
    let late = plumb(second.path(), &["--join", &leader]).spawn().unwrap();
    // Both are at work.
    below(early.id(), 2);
    below(late.id(), 2);
    let third = shown(&plumb(place.path(), &["--join", &leader]).output().unwrap());
    assert!(third.0 == 1 && third.2.contains("all 2 members of this run are there already"), "{}", third.2);
    let (status, text, error) = ended(leading);
    assert_eq!(status, 0, "{error}");
    let found = document(&text);
    assert_eq!((&found["cluster"]["carrier"], &found["cluster"]["members"]), (&"tcp".into(), &2.into()));
    let (early, late) = (ended(early), ended(late));
    assert_eq!((early.0, late.0), (0, 0), "{}{}", early.2, late.2);
    assert!(early.2.contains("yet (Connection refused") && early.2.contains("member 1 of 2, led from"), "{}", early.2);
    assert!(late.2.contains("member 0 of 2"), "{}", late.2);
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
            "--lead 3 --listen :{port} --join 127.0.0.1:{port} --rank {rank} --trust-leader --join-within 20s --json fio {WRITES}"
        );
        plumb(places[rank].path(), &words.split(' ').collect::<Vec<_>>()).spawn().unwrap()
    };
    let all = [2, 0, 1].map(command).map(ended);
    assert!(all.iter().all(|(status, ..)| *status == 0), "{all:?}");
    let found = document(&all[1].1);
    let each = found["cluster"]["each"].as_array().unwrap();
    assert_eq!(each.iter().map(|member| member["bytes"].as_u64().unwrap()).collect::<Vec<_>>(), [256 << 10; 3]);
    assert!(all[0].1.is_empty() && all[2].1.is_empty(), "the result is printed once");
    for (rank, place) in places.iter().enumerate() {
        let name = fs::read_dir(place.path()).unwrap().next().unwrap().unwrap().file_name();
        assert!(name.to_str().unwrap().ends_with(&format!(".{rank}.w.0.0")), "{name:?}");
    }
}

#[test]
fn leader_and_member_prove_their_secret_and_mistakes_are_named() {
    let files = place();
    let file = |name: &str, text: &str| {
        fs::write(files.path().join(name), text).unwrap();
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
        plumb(place.path(), &all).spawn().unwrap()
    };
    let join = |more: &[&str]| shown(&plumb(place.path(), &[&["--join", &address], more].concat()).output().unwrap());
    let leader = lead(&["--secret-file", &right]);
    for (secret, complaint) in [
        (&["--secret-file", &wrong][..], "the secret of the member is not that of this leader"),
        (&[], "this leader has a secret; give the member the same --secret-file"),
    ] {
        let (status, _, error) = join(secret);
        assert!(status == 1 && error.contains(complaint), "{error}");
    }
    assert!(!touched.exists());
    let (status, _, error) = join(&["--secret-file", &right]);
    assert!(status == 0 && touched.exists(), "{error}");
    let (status, text, error) = ended(leader);
    assert_eq!((status, &document(&text)["cluster"]["rates"][0]["ios"]), (0, &16.into()), "{error}");
    assert!(error.contains("127.0.0.1 is refused: the secret of the member"), "{error}");
    // The leader has none: the member does not run its job without the proof.
    fs::remove_file(&touched).unwrap();
    let leader = lead(&[]);
    let (status, _, error) = join(&["--secret-file", &right]);
    assert!(status == 1 && error.contains("this leader was started without --secret-file"), "{error}");
    let (status, _, error) = join(&[]);
    assert!(status == 1 && !touched.exists(), "{error}");
    let (status, _, error) = ended(leader);
    assert!(status == 1 && error.contains("runs a command") && error.contains("--trust-leader"), "{error}");
    let leader = lead(&[]);
    assert_eq!(join(&["--trust-leader"]).0, 0);
    assert!(ended(leader).0 == 0 && touched.exists());
}

#[test]
fn an_untrusted_leader_is_held_to_what_the_member_allows() {
    let outside = place();
    let run = |word: String| {
        let leader = Waiting::start("--lead 1", &format!("{WRITES} {word}"));
        let member = leader.member(leader.place.path(), &["--allow", outside.path().to_str().unwrap()]);
        let error = ended(leader.process).2;
        (ended(member).0, error)
    };
    let (status, error) = run("--filename=/dev/null".to_owned());
    assert!(status == 1 && error.contains("leads out of this directory") && error.contains("--allow PATH"), "{error}");
    let (status, error) = run(format!("--filename={}/f", outside.path().display()));
    assert_eq!(status, 0, "{error}");
    assert_eq!(fs::metadata(outside.path().join("f")).unwrap().len(), 256 << 10);
}

#[test]
fn too_few_members_end_the_wait_with_missing_and_refused_names() {
    let leader = Waiting::start_within("2s", "--lead 3", WRITES);
    let here = place();
    let mut member = leader.member(here.path(), &["--rank", "1"]);
    taken(&mut member);
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
    let again = shown(&plumb(here.path(), &["--join", &leader.address(), "--rank", "1"]).output().unwrap());
    assert!(again.0 == 1 && again.2.contains("member 1 is there already, from 127.0.0.1"), "{}", again.2);
    let (status, _, error) = ended(leader.process);
    assert_eq!(status, 1);
    assert!(error.contains("1 of 3 members joined within 2s, missing: 0, 2; refused were 127.0.0.1: "), "{error}");
    drop(mute);
    let (status, _, error) = ended(member);
    assert!(status == 1, "the leader is gone: {error}");
    // The other way round.
    let (status, _, error) = shown(
        &plumb(here.path(), &["--join", &format!("127.0.0.1:{}", free_port()), "--join-within", "1s"])
            .output()
            .unwrap(),
    );
    assert!(status == 1 && error.contains("no leader within 1s: Connection refused"), "{error}");
}

#[test]
fn a_member_that_leaves_early_makes_room_for_another() {
    let leader = Waiting::start("--lead 2 --json", WRITES);
    let here = place();
    let mut leaves = leader.member(here.path(), &["--rank", "0"]);
    taken(&mut leaves);
    leaves.kill().unwrap();
    leaves.wait().unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let others = ["0", "1"].map(|rank| leader.member(here.path(), &["--rank", rank]));
    let (status, text, error) = ended(leader.process);
    assert!(status == 0 && error.contains("member 0 (127.0.0.1) has gone: its connection ended"), "{error}");
    assert_eq!(document(&text)["cluster"]["rates"][0]["ios"], 32);
    assert!(others.map(ended).iter().all(|(status, ..)| *status == 0));
}

#[test]
fn dead_members_are_named_and_a_dead_leader_has_no_processes() {
    // Killed: the connection ends at once.
    let (leader, here) = (Waiting::start("--lead 2 --silence 2s", READS), place());
    let members = [leader.member(here.path(), &["--rank", "0"]), leader.member(here.path(), &["--rank", "1"])];
    let workers = members.each_ref().map(|member| below(member.id(), 2));
    std::thread::sleep(Duration::from_millis(500));
    signal(members[1].id(), Signal::KILL);
    let begun = Instant::now();
    let (status, text, error) = ended(leader.process);
    assert!(status == 1 && begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(error.contains("member 1 (") && error.contains("its connection ended"), "{error}");
    assert!(text.contains("INCOMPLETE: 1 of 2 members"), "{text}");
    members.into_iter().for_each(|member| drop(ended(member)));
    workers.into_iter().for_each(gone);
    // Stopped: it is silent.
    let leader = Waiting::start("--lead 2 --silence 2s", READS);
    let members = [leader.member(here.path(), &["--rank", "0"]), leader.member(here.path(), &["--rank", "1"])];
    let stopped = below(members[1].id(), 1);
    let workers = members.each_ref().map(|member| below(member.id(), 2));
    std::thread::sleep(Duration::from_millis(500));
    signal(stopped, Signal::STOP);
    let begun = Instant::now();
    let (status, _, error) = ended(leader.process);
    assert!(status == 1 && begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(error.contains("it said nothing for 2s"), "{error}");
    // It ends when it goes on.
    signal(stopped, Signal::CONT);
    let statuses = members.map(|member| ended(member).0);
    assert_eq!(statuses, [0, 1], "one was asked to end, the other one lost its leader");
    workers.into_iter().for_each(gone);
    // Without their leader members end in order, and keep what they measured.
    let mut leader = Waiting::start("--lead 1", READS);
    let member = leader.member(leader.place.path(), &[]);
    let worker = below(member.id(), 2);
    std::thread::sleep(Duration::from_millis(900));
    leader.process.kill().unwrap();
    leader.process.wait().unwrap();
    let (status, _, error) = ended(member);
    assert!(status == 1 && error.contains("member 0: the leader is gone"), "{error}");
    gone(worker);
    let merged = plumb(leader.place.path(), &["merge", "plumb-cluster-member-000-001.json"]).output().unwrap();
    assert!(shown(&merged).1.contains("read    sum"), "{:?}", shown(&merged));
}

#[test]
fn a_signal_to_a_member_ends_its_jobs_with_its_result() {
    let (leader, here) = (Waiting::start("--lead 1 --json", READS), place());
    let member = leader.member(here.path(), &[]);
    below(member.id(), 2);
    // On a busy machine the moment at which all begin is later than its processes.
    std::thread::sleep(Duration::from_secs(2));
    signal(member.id(), Signal::TERM);
    let (_, text, error) = ended(leader.process);
    assert!(document(&text)["cluster"]["rates"][0]["ios"].as_u64().unwrap() > 50, "{text}{error}");
    ended(member);
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
        let (status, _, error) = shown(&plumb(here.path(), &words.split(' ').collect::<Vec<_>>()).output().unwrap());
        assert!(status != 0 && error.contains(says), "{words}: {error}");
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
    let (status, _, error) = shown(&plumb(place().path(), &["--join", &address]).output().unwrap());
    other.join().unwrap();
    assert!(status == 1 && error.contains("it is not plumb: its first bytes are `HTTP/1.1 400"), "{error}");
}

#[test]
fn members_that_have_joined_run_what_takes_several_rounds() {
    let simulated = "survey --tests randread --users 1,2 --time 1 --warm-up 0 --size 16M --engine sim --vary sim_service_time=100us \
         --no-store --no-report -o all.json .";
    let job = "fio --name=r --ioengine=sim --sim_service_time=100us --rw=randread --size=1g --time_based --runtime=1";
    let led = [
        ("--repeat 2 --json -o all.json", job),
        ("", simulated),
        ("", "knee --time 1 --most 1 --size 16M --no-store --no-report -o all.json ."),
        ("", "iozone -i 0 -i 1 -s 256k -r 64k"),
    ]
    .map(|(options, words)| Waiting::leading("20s", &format!("--lead 2 {options}"), words));
    let places = led.each_ref().map(|_| [place(), place()]);
    let members: Vec<Child> = led
        .iter()
        .zip(&places)
        .flat_map(|(led, places)| places.each_ref().map(|place| led.member(place.path(), &["--trust-leader"])))
        .collect();
    let [repeated, survey, knee, iozone] = led.map(|led| (ended(led.process), led.place));
    members.into_iter().map(ended).for_each(|(status, text, error)| assert_eq!(status, 0, "{text}{error}"));
    for ((status, text, error), _) in [&repeated, &survey, &knee, &iozone] {
        assert_eq!(*status, 0, "{text}{error}");
    }
    for ((_, place), (count, users, rate)) in
        [(&repeated, (2, None, 20_000.0)), (&survey, (2, Some(2), 20_000.0)), (&knee, (1, Some(2), 0.0))]
    {
        let tests = document(&fs::read_to_string(place.path().join("all.json")).unwrap())["tests"].clone();
        let first = &tests[0];
        let found = first["cluster"]["rates"][0]["sum_iops"].as_f64().unwrap();
        assert!(tests.as_array().unwrap().len() == count && first["cluster"]["carrier"] == "tcp", "{first}");
        assert!(
            users.is_none_or(|users| first["users"] == users) && (rate == 0.0 || (found - rate).abs() < 1.0),
            "{found}"
        );
    }
    assert!(iozone.0.1.contains("Children see throughput for 2 re-readers"), "{:?}", iozone.0);
}
