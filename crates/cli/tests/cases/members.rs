//! Members of `plumb cluster` in network namespaces, each with a name, an address and an sshd, led by ssh and by MPI;
//! and 256 members that are simulated. On request only: `make cluster` runs it, as root.

use crate::context::PLUMB;
use house::Cases;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The network between the namespaces and the leader.
const NETWORK: &str = "10.213.77";
/// The bridge that connects them.
const BRIDGE: &str = "plumb-bridge";
/// Simulated members.
const MANY: u32 = 256;
/// Memory that the leader of these may use, in KiB.
const MOST_MEMORY: u64 = 200 << 10;

/// The tests.
pub(super) fn groups() -> Vec<Cases> {
    let named = |cases: Cases, name: &str, body: fn()| {
        cases.on_request(name, move || {
            body();
            Ok(())
        })
    };
    let cases = named(Cases::new("members", 1), "in_namespaces_do_equal_amounts_and_start_together", equal_amounts);
    let cases = named(cases, "one_of_half_the_rate_is_named_and_the_rates_are_those_by_hand", half_the_rate);
    let cases = named(cases, "twenty_equal_runs_name_no_one", twenty_equal_runs);
    let cases = named(cases, "one_whose_link_is_cut_is_named", cut_link);
    let cases = named(cases, "in_namespaces_are_ranks_of_mpi", ranks_of_mpi);
    let cases = named(cases, "in_namespaces_run_the_command_of_the_pods_of_a_manifest", pods);
    let cases = named(cases, "whose_clock_is_1000_s_ahead_begin_within_2_ms_and_say_so", far_clock);
    let cases = named(cases, "eight_on_this_machine_begin_within_10_ms_in_20_of_20_runs", twenty_starts);
    let cases = named(cases, "that_joined_and_whose_link_is_cut_are_named", cut_link_of_joined);
    vec![named(cases, "simulated_256_take_less_than_a_core_and_200_mib", many_members)]
}

/// Runs a command of the system, which has to succeed.
fn system(words: &str) {
    let mut all = words.split(' ');
    let output = Command::new(all.next().expect("a program")).args(all).output().expect("iproute2");
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Namespaces that end with the test.
struct Machines {
    place: TempDir,
    servers: Vec<Child>,
}

impl Machines {
    /// Makes `m1` and so on.
    fn make(count: usize) -> Self {
        let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let mut machines = Machines { place, servers: Vec::new() };
        machines.remove();
        system(&format!("ip link add {BRIDGE} type bridge"));
        system(&format!("ip address add {NETWORK}.1/24 dev {BRIDGE}"));
        system(&format!("ip link set {BRIDGE} up"));
        for name in ["host", "user"] {
            let path = machines.at(name);
            let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(path).status();
            assert!(made.expect("ssh-keygen, which tools/oracles installs").success());
        }
        fs::copy(machines.at("user.pub"), machines.at("authorized")).unwrap();
        fs::create_dir_all("/run/sshd").expect("a directory (needs root)");
        let mut hosts = String::new();
        for number in 1..=count {
            hosts += &machines.start(number);
        }
        fs::write(machines.at("ssh_config"), hosts).unwrap();
        for number in 1..=count {
            let begun = Instant::now();
            while TcpStream::connect((address(number), 22)).is_err() {
                assert!(begun.elapsed() < Duration::from_secs(20), "sshd of m{number} does not listen");
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        machines
    }

    /// Starts one; returns its part of ssh's configuration.
    fn start(&mut self, number: usize) -> String {
        let (name, address) = (format!("plumb-m{number}"), address(number));
        system(&format!("ip netns add {name}"));
        system(&format!("ip link add plumb-v{number} type veth peer name eth0 netns {name}"));
        system(&format!("ip link set plumb-v{number} master {BRIDGE} up"));
        system(&format!("ip -n {name} address add {address}/24 dev eth0"));
        system(&format!("ip -n {name} link set eth0 up"));
        system(&format!("ip -n {name} link set lo up"));
        let config = format!(
            "ListenAddress {address}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\nUsePAM no\n\
             PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\nUseDNS no\n",
            self.at("host").display(),
            self.at("authorized").display()
        );
        let path = self.at(&format!("sshd_{number}"));
        fs::write(&path, config).unwrap();
        let script = format!("hostname m{number} && exec /usr/sbin/sshd -D -e -f {}", path.display());
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &name, "unshare", "--uts", "sh", "-c", &script]);
        let log = fs::File::create(self.at(&format!("log_{number}"))).unwrap();
        self.servers.push(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap());
        format!(
            "Host m{number}\nHostName {address}\nIdentityFile {}\nIdentitiesOnly yes\nUserKnownHostsFile /dev/null\n\
             StrictHostKeyChecking no\nBatchMode yes\nLogLevel ERROR\nServerAliveInterval 1\n",
            self.at("user").display()
        )
    }

    /// Removes what this or an earlier run has made.
    fn remove(&mut self) {
        for server in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
        for number in 1..=8 {
            let quiet = |words: &[&str]| drop(Command::new("ip").args(words).stderr(Stdio::null()).status());
            let name = format!("plumb-m{number}");
            // A session of ssh whose link is cut waits for a quarter of an hour, and its member with it.
            let left = Command::new("ip").args(["netns", "pids", &name]).stderr(Stdio::null()).output();
            let left = left.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
            for pid in left.split_whitespace().filter_map(|pid| pid.parse().ok()).filter_map(Pid::from_raw) {
                // It may have ended meanwhile.
                let _ = kill_process(pid, Signal::KILL);
            }
            quiet(&["netns", "del", &name]);
            quiet(&["link", "del", &format!("plumb-v{number}")]);
        }
        drop(Command::new("ip").args(["link", "del", BRIDGE]).stderr(Stdio::null()).status());
    }

    fn at(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn shell(&self) -> String {
        format!("ssh -F {}", self.at("ssh_config").display())
    }

    /// `plumb cluster` on all of them by ssh.
    fn cluster(&self, words: &str) -> Command {
        let mut command = Command::new(PLUMB);
        command.args(["cluster", "--program", PLUMB, "--hosts"]).arg(format!("m[1-{}]", self.servers.len()));
        command.args(words.split_whitespace()).current_dir(self.place.path()).env("RSH", self.shell());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn document(&self, words: &str) -> Value {
        document(&self.cluster(words).output().unwrap())
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        self.remove();
    }
}

fn address(number: usize) -> String {
    format!("{NETWORK}.{}", 10 + number)
}

fn document(output: &Output) -> Value {
    let (text, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}{error}");
    let from = text.find('{').expect("a document");
    let mut documents = serde_json::Deserializer::from_str(&text[from..]).into_iter::<Value>();
    documents.next().expect("a document").unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// All members did as much as was asked for, on machines of their names.
fn did_equal_amounts(found: &Value, names: &[&str]) {
    let summary = &found["cluster"];
    let each = summary["each"].as_array().unwrap();
    let hosts: Vec<&str> = each.iter().map(|member| member["host"].as_str().unwrap()).collect();
    assert_eq!(hosts, names);
    for member in each {
        assert_eq!((&member["bytes"], &member["ios"]), (&(4 << 20).into(), &256.into()), "{member}");
    }
    // Both are the truth on a machine that does other work, too: the error contains the skew of an agreed moment.
    let start = &summary["start"];
    let (skew, error) = (start["skew_ns"].as_u64().unwrap(), start["clock_error_ns"].as_u64().unwrap());
    assert!(error > 0 && error < 50_000_000 && skew < 100_000_000, "{start}");
    let notes = summary["notes"].as_array().unwrap();
    assert!(notes.iter().any(|note| note["check"] == "one machine"), "they are containers of one: {notes:?}");
}

const WRITES: &str = "--name=w --rw=write --bs=16k --size=2m --numjobs=2";

fn equal_amounts() {
    let machines = Machines::make(4);
    let found = machines.document(&format!("--json fio {WRITES}"));
    did_equal_amounts(&found, &["m1", "m2", "m3", "m4"]);
    assert_eq!(found["cluster"]["hosts"], 4);
}

fn half_the_rate() {
    let machines = Machines::make(4);
    let job = "[r]\nrw=randread\nbs=4k\nsize=4m\nrate_iops=(400-(${PLUMB_RANK}/3)*200)\nnumber_ios=800\n";
    fs::write(machines.at("job.fio"), job).unwrap();
    let found = machines.document("--json fio job.fio");
    let slow = found["cluster"]["stragglers"].as_array().unwrap();
    assert_eq!((slow.len(), &slow[0]["ranks"], &slow[0]["host"]), (1, &json!([3]), &"m4".into()), "{slow:?}");
    let rates = &found["cluster"]["rates"][0];
    let is_near = |key: &str, expected: f64| (rates[key].as_f64().unwrap() / expected - 1.0).abs() < 0.05;
    // 3 members need 2 s, one 4 s: 3200 in 4 s over all, 3 × 400 + 200 added.
    assert!(is_near("over_all_iops", 800.0) && is_near("sum_iops", 1400.0), "{rates}");
}

fn twenty_equal_runs() {
    let machines = Machines::make(3);
    for run in 1..=20 {
        let job = "--name=r --rw=randread --bs=4k --size=4m --rate_iops=500 --number_ios=500";
        let found = machines.document(&format!("--json fio {job}"));
        assert_eq!(found["cluster"]["stragglers"], json!([]), "run {run}");
    }
}

/// A job that pauses between its I/Os, and one that never does, whose eight workers need the two processors all the
/// time.
const PACED: &str = "--name=r --ioengine=null --rw=randread --bs=4k --size=16m --rate_iops=200 --number_ios=20";
const BUSY: &str = "--name=r --ioengine=null --rw=randread --bs=4k --size=16m --time_based --runtime=300ms";

fn nanoseconds(of: &Value) -> u64 {
    of.as_u64().unwrap_or_else(|| panic!("{of} are no nanoseconds"))
}

/// Several runs, because a machine that does other work begins later; one of them has to be as good as this. The offset
/// is right in all of them.
fn far_clock() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let shell = place.path().join("shell");
    let text = "#!/bin/sh\n[ $1 = a ] && exec unshare --time --monotonic 1000 --fork sh -c \"$2\"\nexec sh -c \"$2\"\n";
    fs::write(&shell, text).unwrap();
    fs::set_permissions(&shell, PermissionsExt::from_mode(0o755)).unwrap();
    let mut skews = Vec::new();
    for run in 1..=5 {
        let mut command = Command::new(PLUMB);
        command.args(["cluster", "--hosts", "a,b", "--program", PLUMB, "--json", "fio"]).args(PACED.split(' '));
        command.current_dir(place.path()).env("RSH", &shell).stdin(Stdio::null());
        let found = document(&command.output().unwrap());
        for (member, ahead) in found["cluster"]["each"].as_array().unwrap().iter().zip([1_000_000_000_000_i64, 0]) {
            let (offset, bound) = (member["clock_offset_ns"].as_i64().unwrap(), nanoseconds(&member["clock_error_ns"]));
            assert!(offset.abs_diff(ahead) <= bound && bound < 50_000_000, "run {run}: {offset} ± {bound} ns");
        }
        skews.push(nanoseconds(&found["cluster"]["start"]["skew_ns"]));
    }
    assert!(skews.iter().any(|&skew| skew < 2_000_000), "{skews:?}");
}

fn twenty_starts() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for job in [PACED, BUSY] {
        let skew = |_| {
            let mut command = Command::new(PLUMB);
            command.args(["cluster", "--local", "8", "--json", "fio"]).args(job.split(' '));
            let found = document(&command.current_dir(place.path()).stdin(Stdio::null()).output().unwrap());
            assert_eq!(found["cluster"]["members"], 8);
            nanoseconds(&found["cluster"]["start"]["skew_ns"])
        };
        let skews: Vec<u64> = (1..=20).map(skew).collect();
        println!("{job}: {skews:?}");
        assert!(skews.iter().all(|&skew| skew > 0 && skew < 10_000_000), "{job}: {skews:?}");
    }
}

fn cut_link() {
    let machines = Machines::make(3);
    let job = "--name=r --rw=randread --bs=4k --size=4m --time_based --runtime=60";
    let leader = machines.cluster(&format!("--silence 3s fio {job}")).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(5));
    system("ip link set plumb-v2 down");
    let begun = Instant::now();
    let output = leader.wait_with_output().unwrap();
    let (text, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(begun.elapsed() < Duration::from_secs(6), "{:?}: {text}{error}", begun.elapsed());
    assert!(error.contains("member 1 (m2): ") && text.contains("INCOMPLETE: 1 of 3"), "{text}{error}");
    assert_eq!(fs::read_dir(machines.at("plumb-cluster-001")).unwrap().count(), 2);
}

/// mpirun reaches them by ssh, too, and Open MPI connects them by TCP.
fn ranks_of_mpi() {
    let machines = Machines::make(3);
    let mut command = Command::new("mpirun.openmpi");
    let network = format!("{NETWORK}.0/24");
    command.args(["--allow-run-as-root", "--bind-to", "none", "--host", "m1,m2,m3", "-n", "3"]);
    command.args(["--mca", "plm_rsh_agent", &machines.shell(), "--mca", "plm_rsh_no_tree_spawn", "1"]);
    command.args(["--mca", "oob_tcp_if_include", &network, "--mca", "btl_tcp_if_include", &network]);
    command.args(["--mca", "btl", "tcp,self", "--mca", "pml", "ob1", PLUMB, "cluster", "--mpi", "--json", "fio"]);
    command.args(WRITES.split(' ')).current_dir(machines.place.path()).stdin(Stdio::null());
    let found = document(&command.output().expect("mpirun.openmpi, which tools/oracles installs"));
    did_equal_amounts(&found, &["m1", "m2", "m3"]);
    assert!(found["cluster"]["library"].as_str().unwrap().starts_with("Open MPI"));
}

/// A root directory with the places of a pod, in which a command of words in `$@` is run: JOB, SECRET and DATA are
/// directories of this machine.
const POD: &str = r#"set -eu
root=$1 data=$2
shift 2
mount -t tmpfs none "$root"
for place in usr bin lib lib64 sbin etc proc dev sys ${PROGRAMS#/} ${PLACE#/}; do
    [ -d "/$place" ] || continue
    mkdir -p "$root/$place"
    mount --rbind "/$place" "$root/$place"
done
mkdir -p "$root/job" "$root/secret" "$root/data" "$root/tmp"
mount --bind "$PLACE/job" "$root/job"
mount --bind "$PLACE/secret" "$root/secret"
mount --bind "$data" "$root/data"
exec chroot "$root" sh -c 'cd /job && exec "$@"' sh "$@"
"#;

/// YAML as JSON, by PyYAML, which reads what Kubernetes reads.
fn yaml(path: &std::path::Path) -> Vec<Value> {
    let python = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("../oracles/readers/bin/python");
    let program = "import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1])))))";
    let output = Command::new(python).args(["-c", program]).arg(path).output().expect("PyYAML of make oracles");
    serde_json::from_slice(&output.stdout).expect("documents")
}

fn pods() {
    let machines = Machines::make(4);
    for name in ["job", "secret", "root"] {
        fs::create_dir(machines.at(name)).unwrap();
    }
    fs::write(machines.at("job.fio"), "[w]\nrw=write\nbs=16k\nsize=2m\nnumjobs=2\nexec_prerun=true\n").unwrap();
    let words = "cluster manifest --kubernetes --members 4 --image i --claim c -o run.yaml -- --json fio job.fio";
    let made = Command::new(PLUMB).args(words.split(' ')).current_dir(machines.place.path()).status().unwrap();
    assert!(made.success());
    // The validators of tools/manifests: schemas of Kubernetes, and a linter.
    let checked = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/manifests"))
        .arg(machines.at("run.yaml"))
        .status();
    assert!(checked.expect("tools/manifests").success());
    let found: Vec<Value> = yaml(&machines.at("run.yaml")).into_iter().filter(|part| !part.is_null()).collect();
    fs::write(machines.at("job/job.fio"), found[0]["data"]["job.fio"].as_str().unwrap()).unwrap();
    fs::write(machines.at("secret/secret"), found[1]["stringData"]["secret"].as_str().unwrap()).unwrap();
    let container = &found[3]["spec"]["template"]["spec"]["containers"][0];
    let words: Vec<&str> = container["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    let secret_file = container["env"][1]["value"].as_str().unwrap();
    let programs = std::path::Path::new(PLUMB).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let start = |rank: usize| {
        // ip shows a namespace the files that are in its directory here.
        let own = format!("/etc/netns/plumb-m{}", rank + 1);
        fs::create_dir_all(&own).unwrap();
        fs::write(format!("{own}/hosts"), format!("127.0.0.1 localhost\n{} plumb-0.plumb\n", address(1))).unwrap();
        let data = machines.at(&format!("data{rank}"));
        fs::create_dir(&data).unwrap();
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &format!("plumb-m{}", rank + 1), "unshare", "--uts", "--mount", "sh", "-c"]);
        command.arg(format!("hostname plumb-{rank}\n{POD}")).arg("sh").arg(machines.at("root")).arg(data);
        command.args(words.iter().map(|word| word.replace("$(RANK)", &rank.to_string())));
        command.env("PATH", &path).env("PLUMB_SECRET_FILE", secret_file);
        command.env("PROGRAMS", programs).env("PLACE", machines.place.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    // The first one comes last.
    let started = [3, 2, 1, 0].map(start);
    let outputs = started.map(|pod| pod.wait_with_output().unwrap());
    (1..=4).for_each(|number| drop(fs::remove_dir_all(format!("/etc/netns/plumb-m{number}"))));
    for output in &outputs {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let found = document(&outputs[3]);
    let each = found["cluster"]["each"].as_array().unwrap();
    let hosts: Vec<&str> = each.iter().map(|member| member["host"].as_str().unwrap()).collect();
    assert_eq!(hosts, ["plumb-0", "plumb-1", "plumb-2", "plumb-3"]);
    assert!(each.iter().all(|member| member["bytes"] == 4 << 20), "{each:?}");
    for rank in 0..4 {
        let names = fs::read_dir(machines.at(&format!("data{rank}"))).unwrap().count();
        assert_eq!(names, 3, "each has two files and the output of its command in its own volume");
    }
}

fn cut_link_of_joined() {
    let machines = Machines::make(2);
    let words = format!(
        "cluster --lead 2 --listen {NETWORK}.1:8766 --silence 3s fio --name=r --rw=randread --bs=4k --size=4m --time_based --runtime=60"
    );
    let mut leader = Command::new(PLUMB);
    leader.args(words.split(' ')).current_dir(machines.place.path()).stdin(Stdio::null());
    let leader = leader.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut members = [1, 2].map(|number| {
        let words = format!("netns exec plumb-m{number} {PLUMB} cluster --join {NETWORK}.1 --rank {}", number - 1);
        let mut command = Command::new("ip");
        command.args(words.split(' ')).current_dir(machines.place.path()).stdin(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    });
    std::thread::sleep(Duration::from_secs(4));
    system("ip link set plumb-v2 down");
    let begun = Instant::now();
    let output = leader.wait_with_output().unwrap();
    let (text, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(begun.elapsed() < Duration::from_secs(6), "{:?}: {text}{error}", begun.elapsed());
    assert!(error.contains("member 1 (") && text.contains("INCOMPLETE: 1 of 2"), "{text}{error}");
    // The one that is cut off ends, too: nothing that it sends is acknowledged.
    assert!(members[0].wait().unwrap().success());
    assert!(!members[1].wait().unwrap().success());
    let alone = begun.elapsed();
    println!("the member that was cut off ended after {alone:?}");
    assert!(alone < Duration::from_secs(100), "{alone:?}");
}

/// A member that does nothing but speak, in bash: greeting, clock, beats, and the result of a real one.
const SIMULATED: &str = r#"#!/bin/bash
IFS= read -r greeting <GREETING
echo "$greeting"
now() { clock=${EPOCHREALTIME/./}000; }
go= partial= stage=laying_out
while true; do
    if IFS= read -r -t 0.5 part; then
        line=$partial$part partial=
        case $line in
        '{"ping"'*) number=${line//[^0-9]/}; now; echo "{\"pong\":{\"number\":$number,\"at\":$clock}}" ;;
        '{"prepare"'*) stage=ready; echo '{"ready":{"round":0}}' ;;
        '{"go"'*) go=${line//[^0-9]/} ;;
        '"bye"') exit ;;
        esac
    elif [ $? -gt 128 ]; then
        partial=$partial$part
    else
        exit
    fi
    now
    if [ -z "$go" ] || [ "$clock" -le "$go" ]; then
        echo "{\"beat\":{\"at\":$clock,\"stage\":\"$stage\",\"bytes\":[0,0,0],\"ios\":[0,0,0],\"done\":null}}"
    else
        echo "{\"beat\":{\"at\":$clock,\"stage\":\"running\",\"bytes\":[$((clock - go)),0,0],\"ios\":[$(((clock - go) / 4096)),0,0],\"done\":0.5}}"
        if [ $((clock - go)) -gt 10000000000 ]; then
            IFS= read -r result <RESULT
            echo "{\"done\":{\"started\":$go,\"ended\":$clock,\"result\":$result}}"
            go= stage=running
        fi
    fi
done
"#;

/// Memory at its highest in KiB, and CPU time, of a process.
fn usage(pid: u32) -> Option<(u64, Duration)> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let times = stat.rsplit(')').next()?.split_whitespace().skip(11).take(2);
    let ticks: u64 = times.filter_map(|word| word.parse::<u64>().ok()).sum();
    Some((line.split_whitespace().next()?.parse().ok()?, Duration::from_millis(10 * ticks)))
}

fn many_members() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let at = |name: &str| place.path().join(name);
    // A real result of ten seconds, with its histograms and samples.
    let words =
        "cluster --local 1 --keep kept --json fio --name=r --rw=randread --bs=4k --size=4m --time_based --runtime=10";
    let real = document(&Command::new(PLUMB).args(words.split(' ')).current_dir(place.path()).output().unwrap());
    let kept: Value = serde_json::from_slice(&fs::read(at("kept/member-000.json")).unwrap()).unwrap();
    fs::write(at("RESULT"), kept["result"].to_string() + "\n").unwrap();
    fs::write(at("GREETING"), json!({ "hello": kept["member"]["facts"] }).to_string() + "\n").unwrap();
    fs::write(at("shell"), SIMULATED).unwrap();
    fs::set_permissions(at("shell"), PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = Command::new(PLUMB);
    command.args(["cluster", "--hosts", &format!("m[1-{MANY}]"), "--json", "-o", "all.json", "fio"]);
    command.args(["--name=r", "--rw=randread", "--size=4m"]).current_dir(place.path());
    command.env("RSH", at("shell")).stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(fs::File::create(at("errors")).unwrap());
    let begun = Instant::now();
    let mut leader = command.spawn().unwrap();
    let mut most = (0, Duration::ZERO);
    let status = loop {
        most = usage(leader.id()).filter(|(memory, _)| *memory > 0).unwrap_or(most);
        match leader.try_wait().unwrap() {
            Some(status) => break status,
            None => std::thread::sleep(Duration::from_millis(20)),
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "256 members do not end");
    };
    let elapsed = begun.elapsed();
    let errors = fs::read_to_string(at("errors")).unwrap();
    assert!(status.success(), "{:?}", errors.lines().take(5).collect::<Vec<_>>());
    let found: Value = serde_json::from_slice(&fs::read(at("all.json")).unwrap()).unwrap();
    let ios = |document: &Value| document["cluster"]["rates"][0]["ios"].as_u64().unwrap();
    assert_eq!((&found["cluster"]["members"], ios(&found)), (&MANY.into(), u64::from(MANY) * ios(&real)));
    println!("{MANY} members: {most:?} (KiB, CPU time) in {elapsed:?}");
    assert!(most.0 < MOST_MEMORY, "{} KiB", most.0);
    assert!(most.1 < elapsed, "{:?} of CPU time in {elapsed:?}", most.1);
}
