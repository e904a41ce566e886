//! `fio --client` with two servers: Debian's fio and plumb, each client with two servers of the same program, which
//! stay up over the table.
//!
//! Both must end with the same exit status, leave files of the same names on the servers, and print a document with the
//! same keys in the same order and the same counts. What is better here is named where it is taken out: `normal`.

use crate::context::{PLUMB, place};
use house::{Amounts, Cases, Place, Process, Run, compare_results, names, split_output, wait_for};
use serde_json::Value;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};

/// How the servers are named to the client.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    /// Each by --client, with the job file.
    Each,
    /// By its port: it is on this machine.
    Port,
    /// By a file with one server a line.
    HostFile,
    /// The first one alone.
    One,
    /// The job file is on the machines of the servers.
    RemoteConfig,
}

/// A job file, and the servers that run it.
struct Row {
    name: &'static str,
    job: &'static str,
    named: Named,
    words: &'static str,
    counts: Amounts,
}

const fn row(name: &'static str, job: &'static str) -> Row {
    Row { name, job, named: Named::Each, words: "", counts: Amounts::Fixed }
}

const ROWS: &[Row] = &[
    row("writes", "[w]\nrw=write\nsize=64k\nfilename=f\n"),
    row("reads", "[r]\nrw=read\nsize=64k\nfilename=f\n"),
    row(
        "random_reads_and_a_random_order_of_writes",
        "[r]\nrw=randread\nsize=64k\n[w]\nrw=randwrite\nsize=64k\nbs=8k\n",
    ),
    Row {
        counts: Amounts::Free,
        ..row("a_mix_whose_amounts_are_drawn", "[m]\nrw=randrw\nsize=256k\nrwmixread=70\nfilename=f\n")
    },
    row("clones", "[w]\nrw=write\nsize=64k\nnumjobs=2\n"),
    row("clones_reported_as_one", "[global]\ngroup_reporting\n[w]\nrw=write\nsize=64k\nnumjobs=3\n"),
    row(
        "two_jobs_one_after_the_other",
        "[a]\nrw=write\nsize=64k\nfilename=f\n[b]\nstonewall\nrw=read\nsize=64k\nfilename=f\n",
    ),
    row(
        "two_groups_each_reported_as_one",
        "[global]\ngroup_reporting\nsize=64k\n[a]\nrw=write\nnumjobs=2\n[b]\nnew_group\nrw=randwrite\nnumjobs=2\n",
    ),
    row("options_for_all_jobs", "[global]\nrw=randread\nsize=64k\nbs=8k\nioengine=psync\n[a]\n[b]\nbs=16k\n"),
    row("flushes", "[w]\nrw=write\nsize=64k\nfsync=4\nfilename=f\n"),
    row("verified_writes", "[w]\nrw=write\nsize=64k\nverify=crc32c\nfilename=f\n"),
    row("several_files", "[w]\nrw=write\nsize=96k\nnrfiles=3\n"),
    row("depth", "[r]\nrw=randread\nioengine=libaio\niodepth=4\nsize=128k\nfilename=f\n"),
    row("percentiles_of_total_latency", "[r]\nrw=read\nsize=64k\nlat_percentiles=1\nclat_percentiles=0\nfilename=f\n"),
    row("chosen_percentiles", "[r]\nrw=read\nsize=64k\npercentile_list=50:90:99.9\nfilename=f\n"),
    row("a_description", "[w]\nrw=write\nsize=64k\ndescription=some words\nfilename=f\n"),
    row("directions_as_one", "[m]\nrw=write\nsize=64k\nunified_rw_reporting=mixed\nfilename=f\n"),
    row("threads", "[w]\nthread\nrw=write\nsize=64k\nnumjobs=2\n"),
    row("a_full_device", "[w]\nrw=write\nsize=64k\nfilename=/dev/full\n"),
    row(
        "a_directory",
        "[w]\nrw=write\nsize=16k\ndirectory=.\nnrfiles=2\n[n]\nrw=write\nsize=16k\ndirectory=.\nfilename=named\n",
    ),
    row("a_directory_without_the_address_of_the_client", "[w]\nrw=write\nsize=16k\ndirectory=.\nunique_filename=0\n"),
    row(
        "the_address_of_the_client_in_a_format",
        "[w]\nrw=write\nsize=16k\nfilename_format=$clientuid-$jobname.$filenum\n",
    ),
    Row {
        counts: Amounts::Free,
        ..row("a_time", "[r]\nrw=randread\nsize=64k\ntime_based\nruntime=300ms\nrate_iops=200\nfilename=f\n")
    },
    Row { words: "--output-format=json+", ..row("bins", "[r]\nrw=read\nsize=64k\nfilename=f\n") },
    Row { named: Named::One, ..row("one_server_and_one_row", "[w]\nrw=write\nsize=64k\nfilename=f\n") },
    Row { named: Named::One, ..row("one_server_and_two_rows", "[w]\nrw=write\nsize=64k\nnumjobs=2\n") },
    Row { named: Named::Port, ..row("servers_without_a_host", "[w]\nrw=write\nsize=64k\nfilename=f\n") },
    Row { named: Named::HostFile, ..row("a_file_of_servers", "[w]\nrw=write\nsize=64k\nfilename=f\n") },
    Row { named: Named::RemoteConfig, ..row("a_job_file_on_the_servers", "[w]\nrw=write\nsize=64k\nfilename=f\n") },
];

/// A few at a time: fio's client waits more than a second for the end of its servers.
const AT_ONCE: usize = 5;

pub(super) fn groups() -> Vec<Cases> {
    let rigs: Arc<Mutex<Vec<Rig>>> = Arc::default();
    let mut cases = Cases::waiting("servers", AT_ONCE);
    for row in ROWS {
        let rigs = Arc::clone(&rigs);
        cases = cases.case(row.name, move || {
            let free = rigs.lock().unwrap().pop();
            let mut rig = free.unwrap_or_else(Rig::start);
            let outcome = rig.compare(row);
            rigs.lock().unwrap().push(rig);
            outcome
        });
    }
    vec![cases]
}

/// Two servers of one program.
struct Side {
    program: &'static [&'static str],
    /// For the servers.
    words: &'static [&'static str],
    place: Place,
    servers: Vec<(Process, u16)>,
}

/// Two servers of each program.
struct Rig {
    oracle: Side,
    ours: Side,
}

impl Side {
    fn start(program: &'static [&'static str], words: &'static [&'static str]) -> Side {
        let place = place();
        let mut side = Side { program, words, place, servers: Vec::new() };
        for number in 0..2 {
            let port = free_port();
            let directory = side.directory(number);
            fs::create_dir(&directory).unwrap();
            let server = side.run_in(&directory).words([format!("--server=127.0.0.1,{port}")]).words(words);
            let nowhere = || fs::File::options().write(true).open("/dev/null").unwrap();
            side.servers.push((server.output_to(nowhere()).errors_to(nowhere()).start(), port));
            wait_for("a server that listens", || TcpStream::connect(("127.0.0.1", port)).ok());
        }
        side
    }

    fn run_in(&self, directory: &Path) -> Run {
        Run::new(self.program[0], directory).words(&self.program[1..])
    }

    fn directory(&self, number: usize) -> PathBuf {
        self.place.file(format!("server{number}"))
    }

    /// Runs a row: the exit status, the document, and the names of the files on the servers.
    fn run(&self, row: &Row) -> Result<(Option<i32>, Value, Vec<String>), String> {
        for number in 0..2 {
            for entry in fs::read_dir(self.directory(number)).unwrap() {
                fs::remove_file(entry.unwrap().path()).unwrap();
            }
        }
        let job = self.place.write("x.fio", row.job);
        let addresses = self.servers.iter().map(|(_, port)| format!("127.0.0.1,{port}"));
        let clients = addresses.map(|address| format!("--client={address}")).collect::<Vec<_>>();
        let words: Vec<String> = match row.named {
            Named::Each => clients.iter().flat_map(|client| [client.clone(), "x.fio".to_owned()]).collect(),
            Named::Port => {
                let ports = self.servers.iter().zip(["", "ip:"]).map(|((_, port), kind)| format!("{kind},{port}"));
                ports.flat_map(|address| [format!("--client={address}"), "x.fio".to_owned()]).collect()
            }
            Named::One => vec![clients[0].clone(), "x.fio".to_owned()],
            Named::HostFile => {
                let lines: String = self.servers.iter().map(|(_, port)| format!("127.0.0.1,{port}\n")).collect();
                self.place.write("hosts", lines);
                vec!["--client=hosts".to_owned(), "x.fio".to_owned()]
            }
            Named::RemoteConfig => {
                let remote = format!("--remote-config={}", job.display());
                clients.iter().flat_map(|client| [client.clone(), remote.clone()]).collect()
            }
        };
        let client = self.run_in(self.place.path()).words(words).words("--output-format=json").words(row.words);
        let ended = client.end();
        let (document, _) = split_output(&ended.stdout).map_err(|error| format!("{error}: {ended}"))?;
        let document = document.ok_or_else(|| format!("no document: {ended}"))?;
        let mut document = self.with_numbers(document);
        if row.named == Named::Port {
            // fio has no name for such a server: none at all (3.33), or an empty one.
            for list in ["client_stats", "disk_util"] {
                let entries = document[list].as_array_mut().into_iter().flatten();
                entries.filter_map(Value::as_object_mut).for_each(|entry| drop(entry.shift_remove("hostname")));
            }
        }
        Ok((ended.status, document, self.files()))
    }

    /// The numbers of the servers in place of their ports.
    fn with_numbers(&self, mut document: Value) -> Value {
        for list in ["client_stats", "disk_util"] {
            for entry in document[list].as_array_mut().into_iter().flatten() {
                let number = self.servers.iter().position(|(_, port)| entry["port"] == *port);
                entry["port"] = number.into();
            }
        }
        document
    }

    fn files(&self) -> Vec<String> {
        let of = |number: usize| names(&self.directory(number)).into_iter().map(move |name| format!("{number}/{name}"));
        (0..2).flat_map(of).collect()
    }
}

/// A port below those that the kernel gives to connections, so that nothing else takes it before the server does.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 10_000 + (std::process::id() % 1_000) as u16 * 20;
    loop {
        let port = first + NEXT.fetch_add(1, Ordering::Relaxed);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

fn is_sum(entry: &Value) -> bool {
    entry["jobname"] == "All clients"
}

impl Rig {
    fn start() -> Rig {
        Rig { oracle: Side::start(&["fio"], &[]), ours: Side::start(&[PLUMB, "fio"], &["--trust-clients"]) }
    }

    /// With busy processors a server of fio may stop to answer: it closes each connection, and the client ends without
    /// a word. Such servers are replaced.
    fn oracle(&mut self, row: &Row) -> Result<(Option<i32>, Value, Vec<String>), String> {
        const MOST: usize = 3;
        for _ in 1..MOST {
            let found = self.oracle.run(row);
            let whole = |document: &Value| {
                document["client_stats"].as_array().is_some_and(|entries| entries.iter().any(is_sum))
            };
            if found.as_ref().is_ok_and(|(_, document, _)| row.named == Named::One || whole(document)) {
                return found;
            }
            self.oracle = Side::start(self.oracle.program, self.oracle.words);
        }
        self.oracle.run(row)
    }

    fn compare(&mut self, row: &Row) -> Result<(), String> {
        let (status, oracle, files) = self.oracle(row)?;
        let (our_status, ours, our_files) = self.ours.run(row)?;
        let (oracle, ours) = normal(oracle, ours)?;
        let mut differences = compare_results(&oracle, &ours, row.counts);
        if status != our_status {
            differences.push(format!("fio ends with {status:?}, ours with {our_status:?}"));
        }
        if files != our_files {
            differences.push(format!("fio's servers have {files:?}, ours {our_files:?}"));
        }
        if differences.is_empty() { Ok(()) } else { Err(differences.join("\n")) }
    }
}

/// Both documents without what is better in ours, which is checked here.
fn normal(mut oracle: Value, mut ours: Value) -> Result<(Value, Value), String> {
    // fio prints the servers as they end; ours are in the order of the command line.
    let stats = |document: &Value| document["client_stats"].as_array().cloned().unwrap_or_default();
    let is_in_order = |entries: &[Value]| entries.is_sorted_by_key(|entry| entry["port"].as_u64());
    let (mut theirs, mut mine) = (stats(&oracle), stats(&ours));
    let (mut their_sums, mut our_sums) = (take_sums(&mut theirs), take_sums(&mut mine));
    if !is_in_order(&mine) {
        return Err("ours are not in the order of the command line".to_owned());
    }
    theirs.sort_by_key(|entry| entry["port"].as_u64());
    // fio 3.33 leaves the options out of all rows of a server but the first.
    for (their, my) in theirs.iter().zip(&mut mine) {
        if their.get("job options").is_none() {
            my.as_object_mut().ok_or("a row that is not an object")?.shift_remove("job options");
        }
    }
    check_sums(&their_sums, &our_sums)?;
    // Of several groups fio has one sum, and ours one for each. Percentiles of a sum are only in ours.
    if our_sums.len() == their_sums.len() {
        for sum in their_sums.iter_mut().chain(&mut our_sums) {
            sum["port"] = Value::Null;
            // fio's has no error, ours the first of a job.
            sum["error"] = Value::Null;
            for key in ["read", "write", "trim", "mixed", "sync"] {
                for latency in ["slat_ns", "clat_ns", "lat_ns"] {
                    if let Some(found) = sum.get_mut(key).and_then(|part| part.get_mut(latency)?.as_object_mut()) {
                        found.shift_remove("percentile");
                        found.shift_remove("bins");
                    }
                }
            }
        }
        theirs.extend(their_sums);
        mine.extend(our_sums);
    }
    (oracle["client_stats"], ours["client_stats"]) = (theirs.into(), mine.into());
    if let Some(disks) = oracle["disk_util"].as_array_mut() {
        disks.sort_by_key(|disk| disk["port"].as_u64());
    }
    Ok((oracle, ours))
}

fn take_sums(entries: &mut Vec<Value>) -> Vec<Value> {
    let (sums, others) = entries.drain(..).partition(is_sum);
    *entries = others;
    sums
}

/// The sums count the same, and ours have percentiles wherever a job has them.
fn check_sums(theirs: &[Value], ours: &[Value]) -> Result<(), String> {
    if theirs.is_empty() != ours.is_empty() {
        return Err(format!("fio has {} sums, ours {}", theirs.len(), ours.len()));
    }
    for direction in ["read", "write"] {
        let total =
            |sums: &[Value]| -> u64 { sums.iter().filter_map(|sum| sum[direction]["total_ios"].as_u64()).sum() };
        let rates_are_measured = theirs.iter().any(|sum| sum[direction]["runtime"].as_u64() > Some(200));
        if !rates_are_measured && total(theirs) != total(ours) && !is_drawn(theirs) {
            return Err(format!("fio's sums have {} {direction}s, ours {}", total(theirs), total(ours)));
        }
        for sum in ours.iter().filter(|sum| sum[direction]["lat_ns"]["N"].as_u64() > Some(0)) {
            let has = |latency: &str| sum[direction][latency].get("percentile").is_some();
            if !has("clat_ns") && !has("lat_ns") {
                return Err(format!("our sum has no percentiles of {direction}s: {sum}"));
            }
        }
    }
    Ok(())
}

/// True if a mix was drawn: its two amounts are equal only together.
fn is_drawn(sums: &[Value]) -> bool {
    sums.iter().any(|sum| ["read", "write"].iter().all(|direction| sum[direction]["total_ios"].as_u64() > Some(0)))
}
