//! Faults around a run: limits, signals, files that change under it, places where nothing can be written.

use super::guard::SWAP;
use super::{Bench, Ran, Row, SOON, Shown, run_tool};
use house::wait_for;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

const KIB_64: &str = "--size=64k --rw=read --fallocate=none";

/// What strace or prlimit starts plumb with.
fn starter(words: &str) -> Vec<String> {
    words.split_whitespace().map(str::to_owned).collect()
}

/// A run that something is done to a while after its file is laid out: a busy machine starts programs slowly.
fn disturbed(
    bench: &Bench,
    words: &str,
    after: Duration,
    disturb: impl FnOnce(u32) -> Result<(), String>,
) -> Result<(Ran, Duration), String> {
    let (mut done, mut at) = (Ok(()), Instant::now());
    let ran = bench.run_with(bench.fio(words), |id| {
        wait_for("its file", || bench.file("a.0.0").exists().then_some(()));
        std::thread::sleep(after);
        done = disturb(id);
        at = Instant::now();
    })?;
    done?;
    Ok((ran, at.elapsed()))
}

/// The processes that a process has started.
fn children(id: u32) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).map_err(|error| error.to_string())?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

/// Waits until a process that `id` has started maps a file: only then can it be cut under it.
fn until_mapped(id: u32, file: &str) -> Result<(), String> {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(5) {
        let maps = |child: &String| std::fs::read_to_string(format!("/proc/{child}/maps")).unwrap_or_default();
        if children(id)?.iter().chain([&id.to_string()]).any(|process| maps(process).contains(file)) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Err(format!("no process maps {file}"))
}

fn signal(name: &str, id: &str) -> Result<(), String> {
    run_tool("kill", &[&format!("-{name}"), id]).map(drop)
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = limits();
    rows.extend(changes());
    rows.extend(ends());
    rows.extend(places());
    rows
}

fn limits() -> Vec<Row> {
    vec![
        Row::new("limit of descriptors", "prlimit --nofile=24", |bench| {
            let ran = bench.run(bench.fio_under(
                &starter("prlimit --nofile=24:24"),
                "--name=a --size=4m --nrfiles=64 --rw=read --fallocate=none",
            ))?;
            ran.expect(1, &["Too many open files"])
        }),
        Row::new("limit of memory", "prlimit --as=1G, buffers of 2 GiB", |bench| {
            let ran = bench.run(bench.fio_under(
                &starter("prlimit --as=1073741824"),
                "--name=a --ioengine=null --size=1t --io_size=8g --rw=read --bs=1g --iodepth=2",
            ))?;
            ran.expect(1, &["job `a`", "no memory"])
        }),
        Row::new("limit of file size", "prlimit --fsize=32K", |bench| {
            let words = "--name=a --size=64k --rw=write --fallocate=none";
            let ran = bench.run(bench.fio_under(&starter("prlimit --fsize=32768"), words))?;
            // SIGXFSZ ends a process that does not handle it.
            ran.expect(1, &["write of 4096 bytes at offset 32768 of a.0.0: File too large"])
        }),
        Row::new("limit of file size, a thread", "prlimit --fsize=32K, --thread", |bench| {
            let words = "--thread --size=64k --rw=write --fallocate=none --name=a --name=b --size=16k";
            let ran = bench.run(bench.fio_under(&starter("prlimit --fsize=32768"), words))?;
            let shown = ran.expect(1, &["write of 4096 bytes at offset 32768 of a.0.0: File too large"])?;
            if ran.ios_of(1, "write") == 4 { Ok(shown) } else { Err("the other job did not go on".into()) }
        }),
        Row::new("io_uring forbidden by seccomp", "a filter answers io_uring_setup with EPERM", |bench| {
            let python = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../oracles/readers/bin/python");
            let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/faults/filtered_calls.py");
            let call = [libc::EPERM.to_string(), libc::SYS_io_uring_setup.to_string()];
            let starter = [python, script].map(|path| path.display().to_string());
            let starter: Vec<String> = starter.into_iter().chain(call).collect();
            let words = format!("--name=a {KIB_64} --ioengine=io_uring");
            let ran = bench.run(bench.fio_under(&starter, &words))?;
            let shown = ran.expect(0, &["io_uring is forbidden here"])?;
            ran.expect_ios("read", 16..=16)?;
            Ok(shown)
        }),
        Row::new("no process can be made", "strace: clone and fork answer EAGAIN", |bench| {
            let strace = "strace -f -qq -o trace.txt -e trace=clone,clone3,fork,vfork \
                          -e inject=clone,clone3,fork,vfork:error=EAGAIN";
            let ran = bench.run(bench.fio_under(&starter(strace), &format!("--name=a {KIB_64}")))?;
            ran.expect(1, &["Resource temporarily unavailable"])
        }),
    ]
}

/// Debian's libfaketime: what clock_gettime(CLOCK_REALTIME) says comes from a file.
const FAKED_CLOCK: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

fn clock_jump(bench: &Bench, jump: &'static str) -> Result<Shown, String> {
    let offset = bench.file("offset");
    let set = |text: &str| std::fs::write(&offset, text).map_err(|error| error.to_string());
    if !std::path::Path::new(FAKED_CLOCK).exists() {
        return Err(format!("{FAKED_CLOCK} is missing; run `make oracles`"));
    }
    set("+0\n")?;
    let words = "--name=a --size=1m --rw=randread --time_based --runtime=1500ms --rate_iops=200";
    let run = bench.fio(words).env("LD_PRELOAD", FAKED_CLOCK).env("FAKETIME_TIMESTAMP_FILE", &offset);
    let run = run.env("FAKETIME_NO_CACHE", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    let begun = Instant::now();
    let ran = bench.run_with(run, |_| {
        std::thread::sleep(Duration::from_millis(700));
        let _ = set(jump);
    })?;
    let shown = ran.expect(0, &[])?;
    ran.expect_ios("read", 200..=301)?;
    let runtime = ran.json.as_ref().and_then(|json| json["jobs"][0]["read"]["runtime"].as_u64()).unwrap_or(0);
    if !(1500..2500).contains(&runtime) || begun.elapsed() > Duration::from_secs(6) {
        return Err(format!("a run of 1.5 s was measured as {runtime} ms and took {:?}", begun.elapsed()));
    }
    Ok(Shown { did: format!("a run of 1.5 s is one of {runtime} ms"), ..shown })
}

fn cut_under_mmap(bench: &Bench, thread: &str) -> Result<Shown, String> {
    let words = format!(
        "{thread} --size=4m --rw=randread --time_based --runtime=1 --name=a --ioengine=mmap --name=b --ioengine=psync \
         --rate_iops=100"
    );
    let file = bench.file("a.0.0");
    let (ran, _) = disturbed(bench, &words, Duration::from_millis(300), |id| {
        until_mapped(id, "a.0.0")?;
        run_tool("truncate", &["--size=0", &file.display().to_string()]).map(drop)
    })?;
    let shown = ran.expect(1, &["of a.0.0: Input/output error"])?;
    if ran.ios_of(0, "read") == 0 {
        return Err("what it had measured is lost".into());
    }
    if ran.ios_of(1, "read") < 50 { Err("the other job did not go on".into()) } else { Ok(shown) }
}

fn changes() -> Vec<Row> {
    vec![
        Row::new("clock set a day ahead", "faketime +86400 after 0.7 s", |bench| clock_jump(bench, "+86400\n")),
        Row::new("clock set a day back", "faketime -86400 after 0.7 s", |bench| clock_jump(bench, "-86400\n")),
        Row::new("file cut under mmap (SIGBUS)", "truncate --size=0 after 0.4 s", |bench| cut_under_mmap(bench, "")),
        Row::new("file cut under mmap, threads", "truncate --size=0 after 0.4 s, --thread", |bench| {
            cut_under_mmap(bench, "--thread")
        }),
        Row::new("file removed while it is read", "rm after 0.3 s", |bench| {
            let words = "--name=a --size=1m --rw=randread --time_based --runtime=1 --rate_iops=100";
            let file = bench.file("a.0.0");
            let (ran, _) = disturbed(bench, words, Duration::from_millis(300), |_| {
                std::fs::remove_file(&file).map_err(|error| error.to_string())
            })?;
            ran.expect(0, &[])
        }),
        Row::new("file that may not be made", "allow_file_create=0", |bench| {
            bench.run(bench.fio(&format!("--name=a {KIB_64} --allow_file_create=0")))?.expect(1, &["a.0.0"])
        }),
        Row::new("file shorter than it was", "truncate --size=16K before verify_only", |bench| {
            bench.run(bench.fio("--name=a --size=64k --rw=write --verify=crc32c"))?.expect(0, &[])?;
            run_tool("truncate", &["--size=16K", &bench.file("a.0.0").display().to_string()])?;
            let ran = bench.run(bench.fio("--name=a --size=64k --rw=write --verify=crc32c --verify_only"))?;
            ran.expect(1, &["a.0.0"])
        }),
        Row::new("a byte that flipped", "one byte at 20000, then verify_only", |bench| {
            bench.run(bench.fio("--name=a --size=64k --rw=write --verify=crc32c"))?.expect(0, &[])?;
            let mut file = std::fs::File::options().write(true).open(bench.file("a.0.0")).map_err(|e| e.to_string())?;
            file.seek(SeekFrom::Start(20_000)).and_then(|_| file.write_all(b"!")).map_err(|e| e.to_string())?;
            let ran = bench.run(bench.fio("--name=a --size=64k --rw=write --verify=crc32c --verify_only"))?;
            ran.expect(1, &["offset 16384"])
        }),
        Row::new("record that ends in the middle", "an iolog without its end", |bench| {
            bench.write("r.log", "fio version 2 iolog\na.0.0 add\na.0.0 open\na.0.0 read 0")?;
            bench.run(bench.fio("--name=a --size=64k --rw=read --read_iolog=r.log"))?.expect(1, &["r.log"])
        }),
    ]
}

fn ends() -> Vec<Row> {
    const LONG: &str = "--name=a --size=1m --rw=randread --time_based --runtime=25 --rate_iops=200 --numjobs=3";
    let orderly = |name: &'static str, thread: &'static str| {
        move |bench: &Bench| -> Result<Shown, String> {
            let mut workers = Vec::new();
            let words = format!("{LONG} {thread}");
            let (ran, took) = disturbed(bench, &words, Duration::from_millis(700), |id| {
                workers = children(id)?;
                signal(name, &id.to_string())
            })?;
            let shown = ran.expect(128, &[])?;
            ran.expect_ios("read", 100..=1000)?;
            if took > SOON {
                return Err(format!("ended {took:?} after the signal"));
            }
            match workers.iter().find(|id| std::path::Path::new(&format!("/proc/{id}")).exists()) {
                Some(id) => Err(format!("worker {id} is still there")),
                None => Ok(Shown { did: format!("ended in order within {} ms", took.as_millis()), ..shown }),
            }
        }
    };
    vec![
        Row::new("Ctrl-C once", "SIGINT after 0.7 s", orderly("INT", "")),
        Row::new("Ctrl-C once, threads", "SIGINT after 0.7 s", orderly("INT", "--thread")),
        Row::new("asked to end", "SIGTERM after 0.7 s", orderly("TERM", "")),
        Row::new("Ctrl-C twice, a worker is stuck", "SIGSTOP to one of two, then SIGINT twice", |bench| {
            let words = "--size=1m --rw=randread --time_based --runtime=20 --rate_iops=100 --name=a --name=b";
            let (ran, took) = disturbed(bench, words, Duration::from_millis(600), |id| {
                signal("STOP", children(id)?.first().ok_or("no worker")?)?;
                signal("INT", &id.to_string())?;
                std::thread::sleep(Duration::from_millis(200));
                signal("INT", &id.to_string())
            })?;
            let shown = ran.expect(128, &["killed"])?;
            ran.expect_ios("read", 10..=300)?;
            if took > SOON { Err(format!("took {took:?}")) } else { Ok(shown) }
        }),
        Row::new("worker killed", "SIGKILL to one of two", |bench| {
            let words = "--size=1m --rw=randread --time_based --runtime=2 --rate_iops=100 --name=a --name=b";
            let (ran, _) = disturbed(bench, words, Duration::from_millis(600), |id| {
                signal("KILL", children(id)?.first().ok_or("no worker")?)
            })?;
            let shown = ran.expect(1, &["signal 9"])?;
            ran.expect_ios("read", 180..=420)?;
            Ok(shown)
        }),
        Row::new("worker out of memory", "memory cgroup of 48 MiB, 256 MiB pinned", out_of_memory),
        Row::new("everybody killed", "SIGKILL to the supervisor", |bench| {
            let words = "--name=a --size=1m --rw=randread --time_based --runtime=20 --rate_iops=100";
            let mut workers = Vec::new();
            let (ran, _) = disturbed(bench, words, Duration::from_millis(600), |id| {
                workers = children(id)?;
                signal("KILL", &id.to_string())
            })?;
            std::thread::sleep(Duration::from_millis(300));
            if let Some(id) = workers.iter().find(|id| is_alive(id)) {
                let _ = signal("KILL", id);
                return Err(format!("worker {id} runs on without a supervisor"));
            }
            let kept = "no worker is left".to_owned();
            Ok(Shown { did: "the workers end with it".into(), status: format!("{:?}", ran.status), kept })
        }),
    ]
}

fn is_alive(id: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let state = state.rsplit(") ").next().and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

/// A control group, removed when dropped.
struct Group(std::path::PathBuf);

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

fn out_of_memory(bench: &Bench) -> Result<Shown, String> {
    // Where there is swap space, a group that is full of memory moves some of it there.
    let _alone = SWAP.lock().unwrap_or_else(PoisonError::into_inner);
    let (folder, limit) = if std::path::Path::new("/sys/fs/cgroup/memory").is_dir() {
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
    } else {
        ("/sys/fs/cgroup", "memory.max")
    };
    let group = Group(std::path::Path::new(folder).join(format!("plumb-faults-{}", std::process::id())));
    if std::fs::create_dir(&group.0).is_err() || std::fs::write(group.0.join(limit), "50331648").is_err() {
        return Err(format!(
            "{}: a memory group cannot be made; run it as root where the kernel has them",
            group.0.display()
        ));
    }
    let script = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", group.0.display());
    let starter = ["sh".to_owned(), "-c".to_owned(), script, "sh".to_owned()];
    let words = "--size=64k --rw=read --fallocate=none --name=a --lockmem=256m --name=b";
    let ran = bench.run(bench.fio_under(&starter, words))?;
    let shown = ran.expect(1, &["a"])?;
    if ran.ios_of(1, "read") == 16 { Ok(shown) } else { Err("the other job did not go on".into()) }
}

fn places() -> Vec<Row> {
    vec![
        Row::new("full output disk", "--output=/dev/full", |bench| {
            bench.run(bench.fio(&format!("--output=/dev/full --name=a {KIB_64}")))?.expect(1, &["/dev/full"])
        }),
        Row::new("output into a directory that is not there", "--output=none/x", |bench| {
            let ran = bench.run(bench.fio(&format!("--output=none/x --name=a {KIB_64}")))?;
            ran.expect(1, &["none/x"])
        }),
        Row::new("log that cannot be made", "write_bw_log below a directory that is not there", |bench| {
            let ran = bench.run(bench.fio(&format!("--name=a {KIB_64} --write_bw_log=none/x")))?;
            ran.expect(1, &["none/x_bw.1.log"])
        }),
        Row::new("directory that is not there", "directory=none", |bench| {
            bench.run(bench.fio(&format!("--name=a {KIB_64} --directory=none")))?.expect(1, &["none"])
        }),
    ]
}
