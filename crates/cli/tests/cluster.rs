//! `plumb cluster` with real processes: equal amounts, one start, deaths, silence, interrupts, and members by ssh.

use crate::context::{PLUMB, SIMULATED_JOB, cluster, fio, place, plumb};
use crate::iozone::ssh::Server;
use house::{Place, Process, Run, bytes_read, descendants, names, signal, wait_for, wait_for_end_of};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Random reads of a file for this time.
const READS: &str = "--name=r --rw=randread --bs=4k --size=4m --time_based --runtime=";

/// Less than the minute of the jobs that are ended, and more than a machine that does other work needs for it.
const SOON: Duration = Duration::from_secs(30);

/// Runs plumb cluster with the words of each row, which it refuses with this text.
pub(crate) fn check_refusals(place: &Place, rows: &[(&str, &str)]) {
    for (words, says) in rows {
        let run = cluster(place, words).fails().complains(says);
        assert!(run.stdout.is_empty(), "{run}");
    }
}

/// True for a worker of [`READS`] that has been measuring for a while: neither its start nor a calibration reads as
/// much.
fn is_reading(pid: u32) -> bool {
    bytes_read(pid) > 16 << 20
}

/// The members of a leader, once each of them is reading.
fn members(leader: &Process, count: usize) -> Vec<u32> {
    wait_for("members that read", || {
        let found = house::children(leader.id());
        let is_at_work = |member: &u32| descendants(*member).into_iter().any(is_reading);
        (found.len() == count && found.iter().all(is_at_work)).then_some(found)
    })
}

/// These processes and all below them.
pub(crate) fn with_all_below(members: &[u32]) -> Vec<u32> {
    members.iter().flat_map(|&member| std::iter::once(member).chain(descendants(member))).collect()
}

#[test]
fn three_members_do_as_much_as_three_runs_by_hand() {
    let place = place();
    let job = "--name=w --rw=write --bs=16k --size=3m --nrfiles=2 --numjobs=2";
    let all = cluster(&place, format!("--local 3 --json fio {job}")).json();
    let one = fio(&place, "--result=-").words(job).json();
    let sum = |document: &Value, key: &str| -> u64 {
        let jobs = document["result"]["jobs"].as_array().unwrap();
        jobs.iter().map(|job| job["directions"]["write"][key].as_u64().unwrap()).sum()
    };
    assert_eq!((sum(&one, "bytes"), sum(&one, "ios")), (6 << 20, 384));
    assert_eq!((sum(&all, "bytes"), sum(&all, "ios")), (3 * sum(&one, "bytes"), 3 * sum(&one, "ios")));
    let summary = &all["cluster"];
    assert_eq!((&summary["members"], &summary["hosts"], &summary["complete"]), (&3.into(), &1.into(), &true.into()));
    for member in summary["each"].as_array().unwrap() {
        assert_eq!((&member["bytes"], &member["ios"]), (&(6 << 20).into(), &384.into()), "{member}");
    }
    assert!(summary["start"]["clock_error_ns"].as_u64().unwrap() < 100_000_000, "{}", summary["start"]);
    // Each has its own files, whose names the job does not give.
    let own = |rank: u32| place.names().iter().filter(|name| name.contains(&format!(".{rank}.w."))).count();
    assert_eq!((own(0), own(1), own(2)), (4, 4, 4), "{:?}", place.names());
}

#[test]
fn simulated_members_add_up_and_keep_the_percentiles_of_one() {
    let place = place();
    let job = format!("{SIMULATED_JOB} --iodepth=4 --sim_parallelism=4");
    let all = cluster(&place, format!("--local 4 --json fio {job}")).json();
    let rates = &all["cluster"]["rates"][0];
    let sum = rates["sum_iops"].as_f64().unwrap();
    assert!((sum - 160_000.0).abs() < 1.0, "{sum}");
    // The rate over all counts the skew of the starts, too.
    assert!(rates["over_all_iops"].as_f64().unwrap() <= sum * 1.000_001);
    for member in all["cluster"]["each"].as_array().unwrap() {
        let p99 = member["latency_ns"][1].as_u64().unwrap();
        assert!(p99.abs_diff(100_000) < 1_000, "{member}");
    }
}

#[test]
fn a_percentile_is_shown_only_if_there_are_enough_ios_for_it() {
    let place = place();
    for (reads, shown, hidden) in [(1, vec!["max "], vec!["p50 ", "p99 "]), (400, vec!["p50 ", "max "], vec!["p99 "])] {
        let words = format!("--local 1 --per member fio --name=r --rw=read --bs=4k --size={}k", 4 * reads);
        let text = cluster(&place, &words).stdout();
        let line = text.lines().find(|line| line.starts_with("read")).expect(&text);
        assert!(shown.iter().all(|word| line.contains(word)), "{reads}: {line}");
        assert!(hidden.iter().all(|word| !line.contains(word)), "{reads}: {line}");
        assert!(text.lines().any(|line| line.starts_with("member 0") && line.contains("  -  ")), "{text}");
    }
}

#[test]
fn job_files_are_read_by_the_leader_and_know_their_member() {
    let place = place();
    place.directory("there");
    let job = "[w]\nrw=write\nbs=4k\nsize=${AMOUNT}\nfilename=f.${PLUMB_RANK}.of.${PLUMB_MEMBERS}.${PLUMB_RANK_ON_HOST}.${PLUMB_HOSTS}.${PLUMB_SHIFTED_RANK}\n";
    place.write("job.fio", job);
    cluster(&place, "--local 2 --shift 1 --directory there fio job.fio").env("AMOUNT", "64k").succeeds();
    assert_eq!(names(&place.file("there")), ["f.0.of.2.0.1.1", "f.1.of.2.1.1.0"]);
    assert_eq!(fs::metadata(place.file("there/f.0.of.2.0.1.1")).unwrap().len(), 64 << 10);
    // A shift that nothing uses would be a setting that does nothing.
    cluster(&place, "--local 2 --shift 1 fio --name=a --size=4k --filename=g").exits(1).complains("PLUMB_SHIFTED_RANK");
    // All on one host: there is no other one to shift to.
    cluster(&place, "--local 2 --shift host fio job.fio").exits(1).complains("--shift host");
}

#[test]
fn a_killed_member_ends_the_run_and_other_results_are_merged() {
    let place = place();
    let leader = cluster(&place, format!("--local 3 --silence 3s fio {READS}60")).start();
    let found = members(&leader, 3);
    let all = with_all_below(&found);
    signal(found[1], Signal::KILL);
    let begun = Instant::now();
    let run = leader.end().exits(1).complains("plumb: cluster: member 1 (local): it was ended by signal 9");
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    let run = run.prints("INCOMPLETE: 1 of 3 members");
    assert!(!run.stdout.contains("read    all"), "no rate of all: {run}");
    wait_for_end_of(&all);
    assert_eq!(names(&place.file("plumb-cluster-001")), ["member-000.json", "member-002.json"]);
    let files = "plumb-cluster-001/member-000.json plumb-cluster-001/member-002.json";
    let run = cluster(&place, format!("merge {files}")).exits(1);
    run.prints("INCOMPLETE").prints("member 1: there is no file of it");
    cluster(&place, format!("merge --partial {files}")).succeeds().prints("PARTIAL").prints("read    all");
}

#[test]
fn with_partial_others_finish_without_a_stopped_member() {
    let place = place();
    let leader = cluster(&place, format!("--local 3 --silence 3s --partial --json fio {READS}5")).start();
    let found = members(&leader, 3);
    let all = with_all_below(&found);
    signal(found[2], Signal::STOP);
    let begun = Instant::now();
    let run = leader.end().exits(0).complains("member 2 (local): it said nothing for 3s");
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    let found = run.json();
    let each = found["cluster"]["each"].as_array().unwrap();
    assert_eq!(found["cluster"]["completeness"], "partial");
    assert!(each[2]["lost"].is_string() && each[2]["ios"] == 0, "{}", each[2]);
    for member in &each[..2] {
        assert!(member["elapsed_s"].as_f64().unwrap() > 4.9, "the others went on to their end: {member}");
    }
    wait_for_end_of(&all);
}

#[test]
fn a_stopped_member_without_partial_ends_the_run() {
    let place = place();
    let leader = cluster(&place, format!("--local 2 --silence 2s fio {READS}60")).start();
    let found = members(&leader, 2);
    let all = with_all_below(&found);
    signal(found[0], Signal::STOP);
    let begun = Instant::now();
    leader.end().exits(1).complains("member 0 (local): it said nothing for 2s");
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    wait_for_end_of(&all);
}

#[test]
fn an_interrupt_ends_all_members_and_keeps_their_results() {
    let place = place();
    let leader = cluster(&place, format!("--local 3 --json --keep kept fio {READS}60")).start();
    let found = members(&leader, 3);
    let all = with_all_below(&found);
    signal(leader.id(), Signal::INT);
    let begun = Instant::now();
    let found = leader.end().exits(130).json();
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    let each = found["cluster"]["each"].as_array().unwrap();
    assert!(each.iter().all(|member| member["ios"].as_u64().unwrap() > 0), "{each:?}");
    assert_eq!(names(&place.file("kept")).len(), 3);
    wait_for_end_of(&all);
}

#[test]
fn a_dead_leader_has_no_members_and_results_can_be_merged() {
    let place = place();
    let leader = cluster(&place, format!("--local 2 fio {READS}60")).start();
    let all = with_all_below(&members(&leader, 2));
    leader.signal(Signal::KILL);
    wait_for_end_of(&all);
    cluster(&place, "merge plumb-cluster-member-000-001.json plumb-cluster-member-001-001.json")
        .succeeds()
        .prints("read    sum");
}

#[test]
fn remote_members_of_a_leader_that_says_nothing_end_alone() {
    let place = place();
    let words = format!("--hosts a,b --program {PLUMB} --silence 2s fio {READS}60");
    let leader = cluster(&place, words).env("RSH", shell(&place, "")).start();
    let all = with_all_below(&members(&leader, 2));
    signal(leader.id(), Signal::STOP);
    let begun = Instant::now();
    wait_for_end_of(&all);
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    let merged = cluster(&place, "merge plumb-cluster-member-000-001.json plumb-cluster-member-001-001.json");
    merged.succeeds().prints("read    sum");
    signal(leader.id(), Signal::CONT);
    leader.end().exits(1).complains("member 0: the leader is gone; the result of this member is in");
}

#[test]
fn a_leader_that_was_stopped_itself_gives_no_one_up() {
    let place = place();
    let leader = cluster(&place, format!("--local 3 --silence 2s --json fio {READS}8")).start();
    members(&leader, 3);
    signal(leader.id(), Signal::STOP);
    std::thread::sleep(Duration::from_secs(4));
    signal(leader.id(), Signal::CONT);
    assert_eq!(leader.end().exits(0).json()["cluster"]["complete"], true);
}

#[test]
fn a_waiting_member_of_a_leader_that_says_nothing_ends() {
    let place = place();
    // The login on b takes long, so that the member on a has no task.
    let slow = place.program("shell", "#!/bin/sh\n[ $1 = a ] || exec sleep 60\nexec sh -c \"$2\"\n");
    let words = format!("--hosts a,b --program {PLUMB} --silence 3s fio {READS}60");
    let leader = cluster(&place, words).env("RSH", slow).start();
    let is_member =
        |pid: &u32| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|words| words.ends_with(b"\0member\0"));
    let all = wait_for("a member", || {
        let found: Vec<u32> = descendants(leader.id()).into_iter().filter(is_member).collect();
        (!found.is_empty()).then_some(found)
    });
    signal(leader.id(), Signal::STOP);
    wait_for_end_of(&all);
    signal(leader.id(), Signal::KILL);
}

#[test]
fn results_of_members_are_merged_again_from_their_files() {
    let place = place();
    let run = cluster(&place, format!("--local 3 --json --keep kept --page page.html fio {READS}2")).succeeds();
    let files = ["kept/member-002.json", "kept/member-000.json", "kept/member-001.json"].join(" ");
    let (first, second) = (run.json(), cluster(&place, format!("merge --json {files}")).json());
    for key in ["rates", "each", "start", "members", "complete"] {
        assert_eq!(first["cluster"][key], second["cluster"][key], "{key}");
    }
    assert_eq!(first["result"]["jobs"], second["result"]["jobs"]);
    let page = place.read("page.html");
    assert!(page.contains("Members over time"));
    let grades = ["VALID WITH LIMITS: ", "NOT A STORAGE RESULT: "];
    assert!(grades.iter().any(|grade| page.contains(&format!("\"line\":\"{grade}"))), "the page has a verdict");
    let text = cluster(&place, format!("merge {files}")).stdout();
    let found = |line: &str| line.starts_with("check   too short: members 0, 1, 2: ") && line.ends_with(" LIMITS]");
    assert!(text.lines().any(found), "what was found is said without another run: {text}");
    // The result is one like any other: other commands read it.
    place.write("all.json", &run.stdout);
    plumb(&place, "parse all.json").end().prints("4K");
    // A result of one machine alone is a member whose times are not known: there is only a sum.
    for name in ["a.json", "b.json"] {
        fio(&place, format!("{READS}1 --result={name}")).succeeds();
    }
    cluster(&place, "merge a.json b.json").succeeds().prints("read    sum");
    cluster(&place, "merge a.json kept/member-000.json").exits(1).complains("is of another run");
    cluster(&place, "merge kept/member-000.json kept/member-000.json").exits(1).complains("which another file has");
}

#[test]
fn the_kept_file_of_a_member_accuses_none_of_its_machine() {
    let place = place();
    let job = "--name=r --rw=randread --bs=64k --size=16m --time_based --runtime=3 --direct=1 --invalidate=1";
    cluster(&place, format!("--local 3 --keep kept fio {job}")).succeeds();
    for rank in 0..3 {
        let path = format!("kept/member-00{rank}.json");
        let kept = place.json(&path);
        assert_eq!(kept["result"]["environment"]["other_members"], 2);
        let text = plumb(&place, ["check", "--json", &path]).end().stdout;
        assert!(!text.contains("other programs made"), "{text}");
    }
}

#[test]
fn a_table_of_members_or_hosts_has_rates_and_latencies() {
    let place = place();
    let job = format!("{SIMULATED_JOB} --iodepth=4 --sim_parallelism=4");
    let text = cluster(&place, format!("--local 3 --per member --keep kept fio {job}")).stdout();
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("member ")).collect();
    assert_eq!(rows.len(), 3, "{text}");
    for (rank, row) in rows.iter().enumerate() {
        let cells: Vec<&str> = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        let [name, _, rate, iops, p50, p99, p999, max, began] = cells.as_slice() else { panic!("{row}") };
        assert_eq!((*name, *rate, *iops), (format!("member {rank}").as_str(), "156 MiB/s", "40,000"), "{row}");
        assert_eq!([*p50, *p99, *max].map(|cell| cell.ends_with("µs")), [true; 3], "{row}");
        assert_eq!(*p999, "-", "of 40,000 I/Os, which are too few for it: {row}");
        assert!(began.starts_with('+'), "{row}");
    }
    // Their histograms together: equal members have the percentiles of one.
    let files = ["kept/member-000.json", "kept/member-001.json"].join(" ");
    let text = cluster(&place, format!("merge --partial --per host {files}")).stdout();
    let row = text.lines().find(|line| line.starts_with("host ") && line.contains("2 members")).expect(&text);
    assert!(row.contains("80,000") && row.contains("312 MiB/s"), "{row}");
    assert!(
        text.lines().any(|line| line.starts_with("host") && line.contains("lost")),
        "the third one has no file: {text}"
    );
}

#[test]
fn nothing_begins_if_one_member_cannot() {
    let place = place();
    place.directory("d.0");
    let words = "--local 2 fio --name=w --rw=write --size=64k --directory=d.${PLUMB_RANK}";
    let run = cluster(&place, words).exits(1).complains("member 1 (local)").complains("d.1");
    run.prints("INCOMPLETE: nothing began");
    assert_eq!(place.names(), ["d.0"], "no results are kept of what never began");
    let run = cluster(&place, "--local 2 --directory /does/not/exist fio --name=w --size=4k").exits(1);
    run.complains("/does/not/exist").complains("--directory");
}

#[test]
fn what_is_not_for_members_is_refused_by_name() {
    let place = place();
    let rows = [
        ("fio --name=a --size=4k", "which members?"),
        ("--local 2 fio --name=a --size=4k --output=x", "--output is not for members"),
        ("--local 2 fio --name=a --size=4k --output-format=json", "--output-format is not for members"),
        ("--local 2 fio --name=a --size=4k --status-interval=1", "--status-interval is not for members"),
        ("--local 2 fio --name=a --size=4k --write_bw_log=l", "logs of members"),
        ("--local 2 fio --name=a/b --size=4k", "job `a/b`"),
        ("--local 2 fio --version", "run no job"),
        ("--local 2 fio --name=a --bs=4q", "bs=4q"),
        ("--local 2 merge x.json", "those of a run"),
        ("--hosts a,,b fio --name=a --size=4k", "is not a host"),
        ("--host a,,b fio --name=a --size=4k", "is not a host"),
        ("--hosts-file none fio --name=a --size=4k", "none"),
        ("--local 2 --silence 10ms fio --name=a --size=4k", "too short"),
        ("--local 2 --start-within soon fio --name=a --size=4k", "not a time"),
        ("--local 2 --page x.txt fio --name=a --size=4k", "x.txt"),
    ];
    check_refusals(&place, &rows);
    assert!(place.names().is_empty(), "nothing was started: {:?}", place.names());
}

#[test]
fn the_manifest_for_slurm_is_a_script_with_the_given_words() {
    let place = place();
    let words = ["--silence", "30s", "fio", "--name=w", "--size=4k", "--filename=f of ${PLUMB_RANK}'s"];
    let script = cluster(&place, "manifest --slurm --members 64 --nodes 8 --").words(words).stdout();
    assert!(script.contains("#SBATCH --ntasks=64\n#SBATCH --nodes=8\n"), "{script}");
    // A shell that starts another srun: its words are these.
    place.program("srun", "#!/bin/sh\nprintf '%s\\n' \"$@\"\n");
    place.write("run.sh", &script);
    let path = format!("{}:{}", place.path().display(), std::env::var("PATH").unwrap());
    let started = Run::new("bash", &place).words("run.sh").env("PATH", path).stdout();
    let expected = ["--mpi=pmix", "--cpu-bind=none", "plumb", "cluster", "--mpi"].into_iter().chain(words);
    assert_eq!(started.lines().collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    for words in
        ["survey --quick /scratch", "knee --most 8 /scratch", "iozone -i 0 -s 1m", "--directory /scratch iozone -i 0"]
    {
        let run = cluster(&place, format!("manifest --slurm --members 2 -- {words}")).succeeds();
        run.prints(&format!("plumb cluster --mpi {words}\n"));
    }
    let script = cluster(&place, "manifest --slurm --members 2 -- fio --name=a --size=4k").stdout();
    assert!(!script.contains("--nodes"), "{script}");
}

/// Reads YAML by PyYAML, which reads what Kubernetes reads, into JSON.
pub(super) fn yaml(text: &str) -> Vec<Value> {
    let python = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../oracles/readers/bin/python");
    let program = "import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(sys.stdin))))";
    let read = Run::new(python, &std::env::temp_dir()).words(["-c", program]).input(text).json();
    read.as_array().unwrap().clone()
}

#[test]
fn the_manifest_for_kubernetes_holds_the_job_file_and_runs() {
    let place = place();
    let job = "; a \"job\" of two: \\ lines\n[w]\nrw=write\nsize=4k\nfilename=f.${PLUMB_RANK}\n";
    place.write("job.fio", job);
    let words = "manifest --mpijob --members 8 --nodes 4 --image r/plumb:1 --claim shared -- --shift host fio job.fio";
    // The words are read.
    cluster(&place, words).exits(1).complains("PLUMB_SHIFTED_RANK");
    let text = cluster(&place, words.replace("--shift host ", "")).stdout();
    let found = yaml(&text);
    let [map, mpi] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((&map["kind"], &map["data"]["job.fio"]), (&"ConfigMap".into(), &job.into()));
    assert_eq!((&mpi["apiVersion"], &mpi["kind"]), (&"kubeflow.org/v2beta1".into(), &"MPIJob".into()));
    let (launcher, worker) = (&mpi["spec"]["mpiReplicaSpecs"]["Launcher"], &mpi["spec"]["mpiReplicaSpecs"]["Worker"]);
    assert_eq!(
        (&mpi["spec"]["slotsPerWorker"], &launcher["replicas"], &worker["replicas"]),
        (&2.into(), &1.into(), &4.into())
    );
    let command = &launcher["template"]["spec"]["containers"][0]["command"];
    let expected = "mpirun -n 8 --bind-to none -wdir /job plumb cluster --mpi --directory /data fio job.fio";
    assert_eq!(command, &serde_json::json!(expected.split(' ').collect::<Vec<_>>()));
    let pod = &worker["template"]["spec"];
    assert_eq!(pod["containers"][0]["image"], "r/plumb:1");
    let mounts: Vec<_> = pod["containers"][0]["volumeMounts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|mount| (&mount["name"], &mount["mountPath"]))
        .collect();
    assert_eq!(mounts, [(&"job".into(), &"/job".into()), (&"data".into(), &"/data".into())]);
    assert_eq!(pod["volumes"][0]["configMap"]["name"], map["metadata"]["name"]);
    assert_eq!(pod["volumes"][1]["persistentVolumeClaim"]["claimName"], "shared");
    // Without a job file the map is empty, and with a directory of the user that is the members'.
    let words = "manifest --mpijob --members 2 --image i --claim c -- --directory /scratch fio --name=a --size=4k";
    let text = cluster(&place, words).stdout();
    let found = yaml(&text);
    assert_eq!(found[0]["data"], serde_json::json!({}));
    assert!(!text.contains("\"/data\"") && text.contains("\"/scratch\""), "{text}");
}

#[test]
fn a_manifest_that_could_not_run_is_refused() {
    let place = place();
    place.directory("jobs");
    place.write("jobs/a.fio", "[w]\nrw=write\nsize=4k\n");
    let rows = [
        ("manifest --members 2 -- fio --name=a --size=4k", "--slurm"),
        ("manifest --slurm -- fio --name=a --size=4k", "--members"),
        ("manifest --slurm --members 2 --image i -- fio --name=a --size=4k", "--image"),
        ("manifest --slurm --members 2 -- fio --name=a --bs=4q", "bs=4q"),
        ("manifest --slurm --members 2 -- fio --name=a --size=4k --output=x", "--output is not for members"),
        ("manifest --slurm --members 2 -- --local 3 fio --name=a --size=4k", "--local"),
        ("manifest --slurm --members 2 -- --sillence 3s fio --name=a --size=4k", "--sillence"),
        ("manifest --slurm --members 2 -- merge x.json", "after -- are options of a run"),
        ("manifest --slurm --members 2 -- --keep d survey .", "--keep is not for a survey"),
        ("manifest --slurm --members 2 -- survey --resume r.json", "--resume goes on with a result of this machine"),
        ("manifest --slurm --members 2 -- survey --precondition=steady .", "would settle at another time"),
        ("manifest --slurm --members 2 -- knee --iozone -i 0", "knee --iozone is not for members"),
        ("manifest --slurm --members 2 -- iozone -t 3 -i 0", "-t 2, or none"),
        ("manifest --mpijob --members 2 --image i --claim c -- survey -o - .", "name the volume: survey /data"),
        ("manifest --mpijob --members 2 --image i --claim c -- survey /data", "where a pod cannot write"),
        ("manifest --mpijob --members 2 --claim c -- fio --name=a --size=4k", "--image"),
        ("manifest --mpijob --members 2 --image i -- fio --name=a --size=4k", "--claim"),
        ("manifest --mpijob --members 3 --nodes 2 --image i --claim c -- fio --name=a --size=4k", "equally"),
        ("manifest --mpijob --members 2 --image i --claim c -- fio jobs/a.fio", "call it by its name"),
        ("--silence 3s manifest --slurm --members 2 -- fio --name=a --size=4k", "have theirs after it"),
    ];
    check_refusals(&place, &rows);
}

#[test]
fn a_member_of_another_version_is_refused_with_both() {
    let place = place();
    for (greeting, expected) in [
        (r#"{"hello":{"protocol":9,"program":"plumb 9.9.9"}}"#, "cluster protocol 9"),
        (
            r#"{"hello":{"protocol":8,"program":"plumb 9.9.9","host":"h","boot_id":null,"kernel":"k","cpus":1,"allowed_cpus":[]}}"#,
            "it runs plumb 9.9.9",
        ),
    ] {
        let text = format!("#!/bin/sh\necho Welcome\necho '{greeting}'\nexec cat >/dev/null\n");
        let shell = place.program("shell", text);
        let run = cluster(&place, "--hosts other fio --name=a --size=4k").env("RSH", &shell).exits(1);
        run.complains("member 0 (other)").complains(expected).complains("one version of plumb");
    }
}

#[test]
fn a_member_bound_to_one_core_is_named() {
    let place = place();
    let wrapper = shell(&place, "taskset -c 0");
    let words = format!("--hosts one --program {PLUMB} --json fio {READS}1 --numjobs=4");
    let notes = cluster(&place, words).env("RSH", wrapper).json()["cluster"]["notes"].clone();
    let cpus = std::thread::available_parallelism().unwrap().get();
    let is_bound = notes.as_array().unwrap().iter().any(|note| note["check"] == "bound");
    assert_eq!(is_bound, cpus > 1, "{notes}");
}

/// A remote shell that runs the command here, in this way.
fn shell(place: &Place, way: &str) -> PathBuf {
    place.program("shell", format!("#!/bin/sh\nshift\nexec {way} sh -c \"$1\"\n"))
}

#[test]
fn clocks_that_are_a_quarter_of_an_hour_apart_begin_together() {
    let place = place();
    // Host a is in a time namespace whose monotonic clock is 1000 s ahead.
    let text = "#!/bin/sh\n[ $1 = a ] && exec unshare --time --monotonic 1000 --fork sh -c \"$2\"\nexec sh -c \"$2\"\n";
    let script = place.program("shell", text);
    let words = format!("--hosts a,b --program {PLUMB} --json fio {READS}2");
    let found = cluster(&place, words).env("RSH", script).json();
    let skew = found["cluster"]["start"]["skew_ns"].as_u64().unwrap();
    // Milliseconds where nothing else runs; a machine that does other work is later.
    assert!(skew < 1_000_000_000, "{skew}");
    let elapsed = found["cluster"]["rates"][0]["elapsed"].as_u64().unwrap();
    assert!((2_000_000_000..4_000_000_000).contains(&elapsed), "{elapsed}");
    let error = found["cluster"]["start"]["clock_error_ns"].as_u64().unwrap();
    assert!(error > 0 && error < 500_000_000, "{error}");
    for (member, ahead) in found["cluster"]["each"].as_array().unwrap().iter().zip([1_000_000_000_000_i64, 0]) {
        let (offset, bound) = (&member["clock_offset_ns"], &member["clock_error_ns"]);
        assert!(offset.as_i64().unwrap().abs_diff(ahead) <= bound.as_u64().unwrap(), "{offset} ± {bound}");
    }
}

#[test]
fn a_member_of_half_the_rate_is_named_with_three_true_rates() {
    let place = place();
    let job = "[r]\nrw=randread\nbs=4k\nsize=4m\nrate_iops=(400-(${PLUMB_RANK}/3)*200)\nnumber_ios=800\n";
    place.write("job.fio", job);
    let found = cluster(&place, "--local 4 --json fio job.fio").json();
    let slow = found["cluster"]["stragglers"].as_array().unwrap();
    assert_eq!((slow.len(), &slow[0]["ranks"], &slow[0]["reason"]), (1, &serde_json::json!([3]), &"elapsed".into()));
    let rates = &found["cluster"]["rates"][0];
    let number = |value: &Value| value.as_f64().unwrap();
    assert_eq!(rates["ios"], 3200);
    // 3 members need 2 s, one 4 s: 3200 in 4 s over all, 3 × 400 + 200 added, and as much while all are at work.
    let is_near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 0.05;
    assert!(is_near(number(&rates["over_all_iops"]), 800.0), "{rates}");
    assert!(is_near(number(&rates["sum_iops"]), 1400.0), "{rates}");
    let window = &rates["common_window"];
    let truth = 1400.0 * 4096.0;
    assert!(number(&window["low"]) < truth * 1.02 && number(&window["high"]) > truth * 0.98, "{rates}");
    assert!(number(&window["low"]) > truth * 0.7, "the range is of use: {rates}");
    let run = cluster(&place, "--local 4 fio job.fio").end();
    let run = run.prints("slow    member 3 on ").prints("while all were at work");
    run.prints("remark  the members' own rates of reads add up to");
}

#[test]
fn members_are_led_over_ssh() {
    let server = Server::start();
    let place = place();
    let words = format!(
        "--hosts near:2,far --program {PLUMB} --json fio --name=w --rw=write --bs=4k --size=256k --filename=f.${{PLUMB_RANK}}"
    );
    let found = cluster(&place, words).env("RSH", server.shell()).json();
    let summary = &found["cluster"];
    assert_eq!((&summary["carrier"], &summary["members"]), (&"ssh".into(), &3.into()));
    assert_eq!(summary["rates"][0]["bytes"], 3 * (256 << 10));
    let notes = summary["notes"].as_array().unwrap();
    assert!(notes.iter().any(|note| note["check"] == "one machine"), "two names of this machine: {notes:?}");
    assert_eq!(place.names(), ["f.0", "f.1", "f.2"]);
    // A host that cannot be reached, and one whose key is refused.
    for host in ["closed", "shut"] {
        let words = format!(
            "--hosts near,{host} --program {PLUMB} fio --name=w --rw=write --size=4k --filename=g.${{PLUMB_RANK}}"
        );
        let begun = Instant::now();
        let run = cluster(&place, words).env("RSH", server.shell()).exits(1);
        run.complains(&format!("member 1 ({host}): it ended with status 255"));
        assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    }
    assert_eq!(place.names(), ["f.0", "f.1", "f.2"], "nothing began");
}

#[test]
fn a_remote_member_that_is_killed_is_named_and_leaves_nothing() {
    let server = Server::start();
    let place = place();
    let words = format!("--hosts near,far --program {PLUMB} --silence 5s fio {READS}60");
    let leader = cluster(&place, words).env("RSH", server.shell()).start();
    // The members are processes of sshd, in the directory of this test.
    let here = place.path().canonicalize().unwrap();
    let found = wait_for("two members that read", || {
        let found = processes_in(&here, leader.id());
        (found.iter().filter(|&&pid| is_reading(pid)).count() == 2).then_some(found)
    });
    let is_member = |pid: &&u32| descendants(**pid).len() == 1;
    signal(*found.iter().find(is_member).expect("a member with its worker"), Signal::KILL);
    let begun = Instant::now();
    leader.end().exits(1).prints("INCOMPLETE: 1 of 2");
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    wait_for_end_of(&found);
}

/// The processes of plumb whose current directory is this one.
fn processes_in(directory: &Path, leader: u32) -> Vec<u32> {
    let pids = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|&pid: &u32| {
        let link = |name: &str| fs::read_link(format!("/proc/{pid}/{name}")).ok();
        pid != leader && link("cwd").as_deref() == Some(directory) && link("exe").as_deref() == Some(Path::new(PLUMB))
    })
    .collect()
}
