//! `plumb cluster`, `fio --client` and `iozone -+m` on three machines with their own clocks (`network`), and one of
//! them stopped, killed or cut off. On request only: `make guests` runs it.

use super::network::{Answer, COUNT, KEEPS, Machines, NETWORK, Offset, Question};
use house::Cases;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Time between two reads of a job.
const INTERVAL: i64 = 20 * MILLISECOND;
/// Error of a start that needs no explanation by the clocks.
const MILLISECOND: i64 = 1_000_000;
/// `--silence` of the runs in which a machine is lost.
const SILENCE: Duration = Duration::from_secs(5);
/// No one waits longer than that and this.
const GRACE: Duration = Duration::from_secs(3);
/// `--silence` of iozone's clusters.
const SILENCE_OF_IOZONE: Duration = Duration::from_secs(60);
/// Time in which a test is given and answered.
const ASKING: Duration = Duration::from_secs(1);
/// The machine that is lost; the first one leads.
const LOST: usize = 3;

/// Waits until a machine has no process of plumb, for a minute and a half at most.
const UNTIL_NONE_IS_LEFT: &str = "for time in $(seq 300); do pgrep -x plumb >/dev/null || break; sleep 0.3; done";

/// How leader and members find each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Carrier {
    /// `plumb cluster --hosts`.
    Ssh,
    /// `plumb cluster --lead` and `--join`.
    Join,
    /// `plumb fio --client` and `--server`.
    Client,
}

/// What is done to a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// It is stopped, with its clock.
    Paused,
    /// It has no power any more.
    Killed,
    /// Its cable is pulled out.
    Cut,
}

const CARRIERS: [Carrier; 3] = [Carrier::Ssh, Carrier::Join, Carrier::Client];

/// The tests: one boot is for all of them.
pub(super) fn group() -> Cases {
    let machines = Arc::new(OnceLock::new());
    let mut cases = Cases::new("machines", 1);
    let mut add = |name: &str, body: Box<dyn FnOnce(&mut Machines) + Send>| {
        let machines = machines.clone();
        let test = move || {
            let machines = machines.get_or_init(|| Mutex::new(Machines::boot()));
            let mut machines = machines.lock().unwrap_or_else(PoisonError::into_inner);
            heal(&mut machines);
            body(&mut machines);
            Ok(())
        };
        cases = std::mem::replace(&mut cases, Cases::new("machines", 1)).on_request(name, test);
    };
    for carrier in CARRIERS {
        add(&format!("clocks::{carrier:?}"), Box::new(move |machines| clocks(machines, carrier, 0)));
        add(&format!("drift::{carrier:?}"), Box::new(move |machines| clocks(machines, carrier, 500)));
    }
    for carrier in CARRIERS {
        for fault in [Fault::Paused, Fault::Cut, Fault::Killed] {
            let body = move |machines: &mut Machines| lose(machines, carrier, fault);
            add(&format!("{fault:?}::{carrier:?}"), Box::new(body));
        }
    }
    add("the_others_go_on_with_partial", Box::new(go_on));
    add("that_lose_their_leader_end", Box::new(lose_leader));
    add("survey", Box::new(survey));
    add("iozone", Box::new(|machines| iozone(machines, Carrier::Ssh)));
    add("iozone::Join", Box::new(|machines| iozone(machines, Carrier::Join)));
    add("iozone::Cut", Box::new(lose_of_iozone));
    add("real_fio_is_named", Box::new(real_fio));
    add("durable", Box::new(durable));
    cases
}

/// Ends what an earlier test has left.
fn heal(machines: &mut Machines) {
    for number in 1..=COUNT {
        if !machines.is_there(number) {
            machines.start(number);
            machines.wait_until_up(number);
        }
        machines.resume(number);
        machines.set_link(number, "on");
    }
    each(machines, "pkill -KILL -x plumb; /busybox adjtimex -q -f 0; rm -rf /tmp/work/*; true");
}

/// The answers of all machines to a script.
fn each(machines: &Machines, script: &str) -> Vec<Answer> {
    let asked: Vec<Question> = (1..=COUNT).map(|number| machines.ask(number, script)).collect();
    asked.iter().map(Question::answer).collect()
}

/// A job that reads a part of the disk that no other one reads, at a rate; and the sector where it begins.
fn job(machines: &Machines, seconds: u32) -> (String, u64) {
    let mib = 64 + u64::try_from(machines.next()).unwrap() % 60;
    let words = format!(
        "--name=r --filename=/dev/vda --direct=1 --rw=read --bs=4k --offset={mib}m --size=1m --rate_iops=50 --time_based --runtime={seconds}"
    );
    (words, mib << 11)
}

/// Starts a run of a job on all machines. The first one leads.
fn begin(machines: &Machines, carrier: Carrier, options: &str, job: &str) -> Question {
    let secret = "--secret-file /etc/plumb_secret";
    let and_results = "status=$?; ls plumb-cluster-*/* 2>/dev/null; exit $status";
    match carrier {
        Carrier::Ssh => machines.ask(1, &format!("plumb cluster --hosts m1,m2,m3 {options} fio {job}; {and_results}")),
        Carrier::Join => {
            let words = |rank: usize| {
                format!("plumb cluster --lead 3 --join m1 --rank {rank} {secret} {options} fio {job}; {and_results}")
            };
            (1..COUNT).for_each(|rank| drop(machines.ask(rank + 1, &words(rank))));
            machines.ask(1, &words(0))
        }
        Carrier::Client => {
            // The server of the run before still listens.
            each(machines, &format!("pkill -KILL -x plumb; {UNTIL_NONE_IS_LEFT}"));
            for answer in each(machines, &format!("plumb fio --server --daemonize=/tmp/server {secret}")) {
                assert_eq!(answer.status, 0, "{answer:?}");
            }
            let lines = job.replace("--name=r", "[r]").replace(" --", "\n");
            let options = options.replace("--silence ", "--silence=").replace("--json", "--output-format=json");
            let clients = (1..=COUNT).map(|number| format!("--client=m{number} job.fio ")).collect::<String>();
            let secret = secret.replace(' ', "=");
            machines.ask(
                1,
                &format!("cat >job.fio <<END\n{lines}\nEND\nplumb fio {clients} {secret} {options}; {and_results}"),
            )
        }
    }
}

/// Clock of a machine minus that of the first one, with the bound of its error.
fn relative(clocks: &[Offset], at: usize) -> (i64, i64) {
    (clocks[at].middle() - clocks[0].middle(), clocks[at].error() + clocks[0].error())
}

fn nanoseconds(of: &Value) -> i64 {
    of.as_i64().unwrap_or_else(|| panic!("{of} are no nanoseconds"))
}

/// What a run showed of a member's clock and start, against what qemu saw.
#[derive(Clone, Copy, Debug)]
struct Shown {
    /// How far the offset is from the true one, beyond what is known of that, and the bound that is shown with it.
    off: i64,
    bound: i64,
    /// How far its start is from the true one, after the first start of all, and the bound of that.
    late: i64,
    late_bound: i64,
}

/// Clocks and starts as shown, against those that qemu saw: each clock within the bound that is shown with it, and in
/// one run of three the starts within a millisecond, or that bound where it is larger. In the others a processor may
/// have done something else between the time that is noted and the I/O. The clock of the last machine gains `ppm`
/// millionths.
fn clocks(machines: &mut Machines, carrier: Carrier, ppm: i64) {
    machines.run(COUNT, &format!("/busybox adjtimex -q -f {}", ppm << 16));
    let run = |run: usize| clocks_of(machines, carrier, ppm, run);
    let runs: Vec<Vec<Shown>> = (1..=3).map(run).collect();
    let all: Vec<&Shown> = runs.iter().flatten().collect();
    let known = all.iter().filter(|shown| shown.bound <= MILLISECOND).count();
    let worst = all.iter().map(|shown| shown.bound).max().unwrap();
    let allowed = |shown: &Shown| shown.late.abs() <= shown.late_bound.max(MILLISECOND);
    let together = runs.iter().filter(|run| run.iter().all(allowed)).count();
    let within = |run: &&Vec<Shown>| run.iter().all(|shown| shown.late.abs() <= MILLISECOND);
    println!(
        "{carrier:?} {ppm} ppm: {known} of {} clocks are judged by 1 ms, the others by the bound that is shown, at most \
         {worst} ns; the starts are right within 1 ms or it in {together} of 3 runs, within 1 ms in {}",
        all.len(),
        runs.iter().filter(within).count()
    );
    assert!(all.iter().all(|shown| shown.off <= shown.bound), "{runs:#?}");
    assert!(together > 0, "{runs:#?}");
}

/// The clocks and starts of one run.
fn clocks_of(machines: &Machines, carrier: Carrier, ppm: i64, run: usize) -> Vec<Shown> {
    let (job, sector) = job(machines, 2);
    let seen: Vec<usize> = (1..=COUNT).map(|number| machines.reads(number).len()).collect();
    let before = machines.clocks();
    let answer = begin(machines, carrier, "--json", &job).answer();
    let after = machines.clocks();
    let found = document(&answer);
    // Each I/O has its time after the start, so the one that was least late shows it best.
    let start = |number: usize| {
        let interval = INTERVAL - if number == COUNT { ppm * INTERVAL / 1_000_000 } else { 0 };
        let reads = machines.reads(number);
        // The contents of some blocks are read after the job.
        let own = reads[seen[number - 1]..].iter().skip_while(|read| read.1 != sector).zip(0..);
        let own = own.take_while(|(read, at)| read.1 == sector + at * 8);
        let begun = own.map(|(read, at)| read.0 - i64::try_from(at).unwrap() * interval);
        begun.min().unwrap_or_else(|| panic!("m{number}: no read"))
    };
    let starts: Vec<i64> = (1..=COUNT).map(start).collect();
    let earliest = *starts.iter().min().unwrap();
    // That of a time between two members.
    let late_bound = nanoseconds(&found["start"]["clock_error_ns"]);
    let shown = |(at, member): (usize, &Value)| {
        assert_eq!(member["host"], format!("m{}", at + 1), "{member}");
        let (offset, bound) = (nanoseconds(&member["clock_offset_ns"]), nanoseconds(&member["clock_error_ns"]));
        let late = nanoseconds(&member["start_late_ns"]) - (starts[at] - earliest);
        let ((first, first_error), (last, last_error)) = (relative(&before, at), relative(&after, at));
        let (least, most, known) = (first.min(last), first.max(last), first_error.max(last_error));
        let off = (offset - most).max(least - offset).max(0);
        println!(
            "{carrier:?} {ppm} ppm, run {run}, m{}: offset {offset} ± {bound} ns, true {least} to {most} ± {known}, off {off}; \
             start after {} ns, true {}, off {late}",
            at + 1,
            member["start_late_ns"],
            starts[at] - earliest
        );
        Shown { off: off - known, bound, late, late_bound }
    };
    found["each"].as_array().unwrap().iter().enumerate().map(shown).collect()
}

/// What is said of the cluster in the document of a run.
fn document(answer: &Answer) -> Value {
    assert_eq!(answer.status, 0, "{answer:?}");
    let text = &answer.output;
    let from = text.find('{').unwrap_or_else(|| panic!("{answer:?}"));
    let mut documents = serde_json::Deserializer::from_str(&text[from..]).into_iter::<Value>();
    let found = documents.next().unwrap().unwrap_or_else(|error| panic!("{error}: {text}"));
    let own = found.get("cluster").or_else(|| found.get("plumb")?.get("cluster"));
    own.cloned().unwrap_or_else(|| panic!("{text}"))
}

/// Waits until a machine reads this sector, in a read that it had not done when there were `seen` ones.
fn wait_for_read(machines: &Machines, number: usize, sector: u64, seen: usize) {
    let begun = Instant::now();
    while !machines.reads(number)[seen..].iter().any(|read| read.1 == sector) {
        assert!(begun.elapsed() < Duration::from_secs(120), "m{number} does not begin");
        std::thread::sleep(Duration::from_millis(100));
    }
    // Until all have sent a sign of life.
    std::thread::sleep(Duration::from_secs(2));
}

/// A run of a minute that has begun on all machines.
fn begin_long(machines: &Machines, carrier: Carrier, options: &str) -> Question {
    let (job, sector) = job(machines, 60);
    let seen = machines.reads(LOST).len();
    let run = begin(machines, carrier, &format!("--silence {}s {options}", SILENCE.as_secs()), &job);
    wait_for_read(machines, LOST, sector, seen);
    run
}

/// A run of a minute, and the time at which the fault came.
fn begin_and_lose(machines: &mut Machines, carrier: Carrier, options: &str, fault: Fault) -> (Question, Instant) {
    let run = begin_long(machines, carrier, options);
    let begun = Instant::now();
    harm(machines, LOST, fault);
    (run, begun)
}

/// How long a run that loses a member may go on: its silence, and 3 s. A busy emulated processor needs longer than that
/// to make a result; then it is twice the time in which a run ends whose members are all there.
fn limit(machines: &mut Machines, carrier: Carrier, silence: Duration) -> Duration {
    static ENDINGS: Mutex<BTreeMap<Carrier, Duration>> = Mutex::new(BTreeMap::new());
    let known = ENDINGS.lock().unwrap().get(&carrier).copied();
    let ending = known.unwrap_or_else(|| {
        let run = begin_long(machines, carrier, "");
        let leader = match carrier {
            Carrier::Ssh => "cluster --hosts",
            Carrier::Join => "cluster --lead",
            Carrier::Client => "fio --client",
        };
        let begun = Instant::now();
        machines.run(1, &format!("pkill -INT -o -f 'plumb {leader}'"));
        let answer = run.answer();
        let took = begun.elapsed();
        assert_ne!(answer.status, 0, "{answer:?}");
        heal(machines);
        took
    });
    ENDINGS.lock().unwrap().insert(carrier, ending);
    let grace = GRACE.max(2 * ending);
    println!(
        "{carrier:?}: a run ends {ending:?} after a signal; one that loses a member has {silence:?} and {grace:?}"
    );
    silence + grace
}

fn harm(machines: &mut Machines, number: usize, fault: Fault) {
    match fault {
        Fault::Paused => machines.pause(number),
        Fault::Killed => machines.kill(number),
        Fault::Cut => machines.set_link(number, "off"),
    }
}

/// The lost machine is named, the results of the others are there, and the run ends in time.
fn lose(machines: &mut Machines, carrier: Carrier, fault: Fault) {
    let limit = limit(machines, carrier, SILENCE);
    let (run, begun) = begin_and_lose(machines, carrier, "", fault);
    let is_left = if carrier == Carrier::Client { "pgrep -P $(cat /tmp/server)" } else { "pgrep -x plumb" };
    let wait = format!("for time in $(seq 300); do {is_left} || exit 0; sleep 0.3; done; exit 1");
    // One that is cut off ends alone.
    let lost = (fault == Fault::Cut).then(|| (machines.ask(LOST, &wait), Instant::now()));
    let named = || run.errors().contains("it said nothing for 5s") || run.now().is_some();
    while !named() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let named = begun.elapsed();
    let answer = run.answer();
    let took = begun.elapsed();
    println!("{fault:?} {carrier:?}: named {named:?} after it, ended {took:?}\n{}{}", answer.errors, answer.output);
    assert!(named < SILENCE + GRACE && took < limit, "named {named:?}, ended {took:?}, limit {limit:?}: {answer:?}");
    assert_eq!(answer.status, 1, "{answer:?}");
    assert!(answer.errors.contains("m3") && answer.errors.contains("it said nothing for 5s"), "{answer:?}");
    match carrier {
        Carrier::Client => {
            for machine in ["<m1>", "<m2>"] {
                assert!(answer.output.contains(machine), "{answer:?}");
            }
        }
        _ => {
            assert!(answer.output.contains("INCOMPLETE: 1 of 3"), "{answer:?}");
            assert_eq!(answer.output.matches("plumb-cluster-001/member-").count(), 2, "{answer:?}");
        }
    }
    if fault == Fault::Killed {
        return;
    }
    machines.resume(LOST);
    let (lost, begun) = lost.unwrap_or_else(|| (machines.ask(LOST, &wait), Instant::now()));
    let answer = lost.answer();
    println!("{fault:?} {carrier:?}: the lost one ended at most {:?} later", begun.elapsed());
    assert_eq!(answer.status, 0, "it goes on: {answer:?}");
}

/// With --partial the others have their time, and their results are shown.
fn go_on(machines: &mut Machines) {
    let (job, sector) = job(machines, 15);
    let seen = machines.reads(LOST).len();
    let run = begin(machines, Carrier::Ssh, "--silence 5s --partial", &job);
    wait_for_read(machines, LOST, sector, seen);
    machines.pause(LOST);
    let answer = run.answer();
    println!("{}{}", answer.errors, answer.output);
    assert_eq!(answer.status, 0, "{answer:?}");
    assert!(answer.output.contains("PARTIAL") && answer.errors.contains("m3"), "{answer:?}");
}

/// Members whose leader has no power any more end, and keep their results.
fn lose_leader(machines: &mut Machines) {
    for carrier in [Carrier::Ssh, Carrier::Join] {
        let limit = limit(machines, carrier, SILENCE);
        let _ = begin_long(machines, carrier, "");
        let begun = Instant::now();
        machines.kill(1);
        let wait = format!("{UNTIL_NONE_IS_LEFT}; ls /root /tmp/work; pgrep -af plumb");
        let asked: Vec<Question> = [2, 3].iter().map(|&number| machines.ask(number, &wait)).collect();
        for question in asked {
            let answer = question.answer();
            let took = begun.elapsed();
            println!("{carrier:?}: {took:?} after its leader\n{}", answer.output);
            assert!(answer.output.contains("plumb-cluster-member-"), "{answer:?}");
            assert!(took < limit + 2 * ASKING, "{took:?}, limit {limit:?}");
        }
        heal(machines);
    }
}

fn survey(machines: &mut Machines) {
    let words = "plumb cluster --hosts m1,m2,m3 survey --tests randread --users 1,2 --time 1 --warm-up 0 --size 16M -o s.json . && cat s.json";
    let answer = machines.run(1, words);
    println!("{}", answer.output);
    assert!(answer.output.contains("By 3 members on 3 hosts (ssh)"), "{answer:?}");
}

/// The words of iozone on all machines.
fn iozone_words(size: &str) -> String {
    let hosts = (1..=COUNT).map(|number| format!("m{number} /tmp/work /usr/local/bin/plumb\n")).collect::<String>();
    format!("cat >/tmp/hosts <<END\n{hosts}END\nplumb iozone -+m /tmp/hosts -t 3 -i 0 -i 1 -r 64k -s {size}")
}

fn iozone(machines: &mut Machines, carrier: Carrier) {
    let answer = match carrier {
        Carrier::Join => {
            let secret = "--secret-file /etc/plumb_secret";
            let member = |rank: usize| format!("plumb cluster --join m1 --rank {rank} {secret}");
            (1..COUNT).for_each(|rank| drop(machines.ask(rank + 1, &member(rank))));
            machines
                .run(1, &format!("plumb cluster --lead 3 --join m1 --rank 0 {secret} iozone -i 0 -i 1 -r 64k -s 4m"))
        }
        _ => machines.run(1, &iozone_words("4m")),
    };
    println!("{}", answer.output);
    for line in ["Children see throughput for  3 initial writers", "Children see throughput for  3 readers"] {
        assert!(answer.output.contains(line), "{answer:?}");
    }
    for answer in each(machines, &format!("{UNTIL_NONE_IS_LEFT}; ls -A /tmp/work")) {
        assert_eq!(answer.output, "", "files of children are removed");
    }
}

fn lose_of_iozone(machines: &mut Machines) {
    let limit = limit(machines, Carrier::Ssh, SILENCE_OF_IOZONE);
    let run = machines.ask(1, &iozone_words("200m -+O 50"));
    let begun = Instant::now();
    let is_at_work = || machines.run(LOST, "find /tmp/work -size +64k").output.len() > 1;
    while !is_at_work() {
        assert!(begun.elapsed() < Duration::from_secs(120), "m{LOST} does not begin");
    }
    let begun = Instant::now();
    machines.set_link(LOST, "off");
    let answer = run.answer();
    let took = begun.elapsed();
    println!("iozone: ended {took:?} after it\n{}{}", answer.errors, answer.output);
    assert!(took < limit, "{took:?}, limit {limit:?}");
    assert!(answer.status == 1 && answer.errors.contains("m3"), "{answer:?}");
}

/// The real fio speaks another protocol: each is named at the other end.
fn real_fio(machines: &mut Machines) {
    machines.run(2, "fio --server --daemonize=/tmp/fio >/tmp/fio.log 2>&1");
    let job = "printf '[r]\\nioengine=null\\nsize=4k\\n' >job.fio";
    let answer = machines.ask(1, &format!("{job}; plumb fio --client=m2 job.fio")).answer();
    println!("{answer:?}");
    assert!(answer.status == 1 && answer.errors.contains("m2") && answer.errors.contains("fio"), "{answer:?}");
    // One that is detached says nothing.
    machines.run(2, "pkill -x fio; setsid plumb fio --server </dev/null >/tmp/out 2>/tmp/said & echo $! >/tmp/server");
    let answer = machines.ask(1, &format!("{job}; timeout 60 fio --client=m2 job.fio")).answer();
    let said = machines.run(2, "kill $(cat /tmp/server); cat /tmp/said").output;
    println!("{answer:?}\n{said}");
    assert!(said.contains("fio"), "{said}");
    // The addresses are those of the network, so neither was asked on one machine.
    assert!(said.contains(NETWORK), "{said}");
}

/// What a machine wrote until its power was cut, as acknowledged to another machine.
fn durable(machines: &mut Machines) {
    let secret = "--secret-file /etc/plumb_secret";
    let _ = machines.ask(1, &format!("plumb durable --serve /tmp/acks {secret}"));
    let refused = "plumb durable /dev/nvme0n1 --witness /dev/null --record 4k 2>&1";
    let consent = machines.run(KEEPS, &format!("{refused} | sed -n 's/.*add --overwrite \\([^ ]*\\).*/\\1/p'")).output;
    let words = format!("--witness m1 --record 4k {secret} --overwrite {}", consent.trim());
    let writer = machines.ask(KEEPS, &format!("plumb durable /dev/nvme0n1 {words}"));
    let begun = Instant::now();
    let count = || machines.run(1, "wc -l </tmp/acks || echo 0").output.trim().parse::<u32>().unwrap_or_default();
    while count() < 500 {
        assert!(writer.now().is_none() && begun.elapsed() < Duration::from_secs(120), "{:?}", writer.now());
        std::thread::sleep(Duration::from_millis(500));
    }
    machines.kill(KEEPS);
    let acks = machines.run(1, "cat /tmp/acks").output;
    machines.start(KEEPS);
    machines.wait_until_up(KEEPS);
    machines.put(KEEPS, "acks", &acks);
    let judge = |file: &str| machines.ask(KEEPS, &format!("plumb durable --after-cut {file} /dev/nvme0n1")).answer();
    let answer = judge("/share/acks");
    println!("{}{}", answer.errors, answer.output);
    assert!(answer.status == 0 && answer.output.contains("Yes: all"), "{answer:?}");
    // The same file after the disk has lost what it was given.
    machines.run(KEEPS, "dd if=/dev/zero of=/dev/nvme0n1 bs=1M count=44 oflag=direct");
    let answer = judge("/share/acks");
    assert!(answer.status == 1, "{answer:?}");
}
