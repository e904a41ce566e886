//! Faults that a system call answers with: strace puts the answer in, plumb has to live with it.

use super::{Bench, Ran, Row, Shown};

/// One answer of the kernel.
struct Answer {
    fault: &'static str,
    /// strace's words after `inject=`; the call stands first.
    inject: &'static str,
    /// Only for calls on this file, where one is named.
    on: Option<&'static str>,
    words: &'static str,
    status: i32,
    says: &'static [&'static str],
    /// Direction, least and most I/Os that are counted as issued: one that failed was issued.
    counted: (&'static str, u64, u64),
}

const READ: &str = "--name=a --size=64k --rw=read --fallocate=none";
const WRITE: &str = "--name=a --size=64k --rw=write --fallocate=none";
const FILE: Option<&str> = Some("a.0.0");

#[rustfmt::skip]
const ANSWERS: &[Answer] = &[
    Answer { fault: "EIO on a read", inject: "pread64:error=EIO:when=3", on: FILE, words: READ, status: 1,
        says: &["a: read of 4096 bytes at offset 8192 of a.0.0"], counted: ("read", 3, 3) },
    Answer { fault: "EIO on a write", inject: "pwrite64:error=EIO:when=3", on: FILE, words: WRITE, status: 1,
        says: &["a: write of 4096 bytes at offset 8192 of a.0.0"], counted: ("write", 3, 3) },
    Answer { fault: "ENOSPC on a write", inject: "pwrite64:error=ENOSPC:when=5", on: FILE, words: WRITE, status: 1,
        says: &["at offset 16384 of a.0.0", "No space left"], counted: ("write", 5, 5) },
    Answer { fault: "EDQUOT on a write", inject: "pwrite64:error=EDQUOT:when=3", on: FILE, words: WRITE, status: 1,
        says: &["quota exceeded", "a.0.0"], counted: ("write", 3, 3) },
    Answer { fault: "ETIMEDOUT on a read", inject: "pread64:error=ETIMEDOUT:when=3", on: FILE, words: READ, status: 1,
        says: &["timed out", "a.0.0"], counted: ("read", 3, 3) },
    Answer { fault: "EIO forgiven (continue_on_error)", inject: "pread64:error=EIO:when=3", on: FILE,
        words: "--name=a --size=64k --rw=read --fallocate=none --continue_on_error=io", status: 0,
        says: &["a.0.0"], counted: ("read", 15, 16) },
    Answer { fault: "EIO forgiven (ignore_error)", inject: "pread64:error=EIO:when=3", on: FILE,
        words: "--name=a --size=64k --rw=read --fallocate=none --ignore_error=EIO", status: 0,
        says: &[], counted: ("read", 15, 16) },
    Answer { fault: "EIO in one of two jobs", inject: "pread64:error=EIO:when=3", on: FILE,
        words: "--size=64k --rw=read --fallocate=none --name=a --name=b", status: 1,
        says: &["a: read of 4096 bytes at offset 8192 of a.0.0"], counted: ("read", 19, 19) },
    Answer { fault: "EIO, exitall_on_error", inject: "pread64:error=EIO:when=3", on: FILE,
        words: "--size=64k --rw=read --fallocate=none --exitall_on_error --name=a --name=b --time_based --runtime=20", status: 1,
        says: &["a.0.0"], counted: ("read", 2, u64::MAX) },
    Answer { fault: "EIO in a thread", inject: "pread64:error=EIO:when=3", on: FILE,
        words: "--size=64k --rw=read --fallocate=none --thread --name=a --name=b", status: 1,
        says: &["a: read of 4096 bytes at offset 8192 of a.0.0"], counted: ("read", 19, 19) },
    Answer { fault: "short read", inject: "pread64:retval=512:when=3", on: FILE, words: READ, status: 0,
        says: &[], counted: ("read", 16, 17) },
    Answer { fault: "short write", inject: "pwrite64:retval=512:when=3", on: FILE, words: WRITE, status: 0,
        says: &[], counted: ("write", 16, 17) },
    Answer { fault: "write of nothing", inject: "pwrite64:retval=0:when=3", on: FILE, words: WRITE, status: 1,
        says: &["a.0.0"], counted: ("write", 2, 3) },
    Answer { fault: "EIO at the final fsync", inject: "fsync:error=EIO", on: FILE,
        words: "--name=a --size=64k --rw=write --fallocate=none --end_fsync=1 --create_fsync=0", status: 1,
        says: &["a.0.0"], counted: ("write", 16, 16) },
    Answer { fault: "EIO at an fdatasync between", inject: "fdatasync:error=EIO:when=2", on: FILE,
        words: "--name=a --size=64k --rw=write --fallocate=none --fdatasync=4", status: 1,
        says: &["a.0.0"], counted: ("write", 8, 9) },
    Answer { fault: "ENOSPC while laying out", inject: "fallocate:error=ENOSPC", on: None,
        words: "--name=a --size=64k --rw=read", status: 1,
        says: &["a.0.0", "No space left"], counted: ("read", 0, 0) },
    Answer { fault: "EFBIG while laying out", inject: "ftruncate:error=EFBIG", on: FILE, words: READ, status: 1,
        says: &["a.0.0", "too large"], counted: ("read", 0, 0) },
    Answer { fault: "EIO while laying out", inject: "write,pwrite64:error=EIO:when=1", on: FILE,
        words: READ, status: 1, says: &["a.0.0"], counted: ("read", 0, 0) },
    Answer { fault: "EMFILE at open", inject: "open,openat:error=EMFILE", on: FILE, words: READ, status: 1,
        says: &["a.0.0", "Too many open files"], counted: ("read", 0, 0) },
    Answer { fault: "EACCES at open", inject: "open,openat:error=EACCES", on: FILE, words: READ, status: 1,
        says: &["a.0.0", "Permission denied"], counted: ("read", 0, 0) },
    Answer { fault: "io_uring forbidden", inject: "io_uring_setup:error=EPERM", on: None,
        words: "--name=a --size=64k --rw=read --ioengine=io_uring", status: 0,
        says: &["io_uring is forbidden here"], counted: ("read", 16, 16) },
    Answer { fault: "io_uring not in the kernel", inject: "io_uring_setup:error=ENOSYS", on: None,
        words: "--name=a --size=64k --rw=read --ioengine=io_uring", status: 0,
        says: &["io_uring"], counted: ("read", 16, 16) },
    Answer { fault: "no aio context left", inject: "io_setup:error=EAGAIN", on: None,
        words: "--name=a --size=64k --rw=read --ioengine=libaio", status: 1,
        says: &["aio-max-nr"], counted: ("read", 0, 0) },
    Answer { fault: "EIO at io_submit", inject: "io_submit:error=EIO:when=3", on: None,
        words: "--name=a --size=64k --rw=read --ioengine=libaio", status: 1,
        says: &["a: "], counted: ("read", 0, 3) },
    Answer { fault: "EAGAIN at io_submit, once", inject: "io_submit:error=EAGAIN:when=3", on: None,
        words: "--name=a --size=64k --rw=read --ioengine=libaio --iodepth=4", status: 0,
        says: &[], counted: ("read", 16, 16) },
    Answer { fault: "EINTR at io_getevents, once", inject: "io_getevents,io_pgetevents:error=EINTR:when=2", on: None,
        words: "--name=a --size=64k --rw=read --ioengine=libaio", status: 0,
        says: &[], counted: ("read", 16, 16) },
    Answer { fault: "no CPU of the list", inject: "sched_setaffinity:error=EINVAL", on: None,
        words: "--name=a --size=64k --rw=read --cpus_allowed=0", status: 1,
        says: &["job `a`"], counted: ("read", 0, 0) },
    Answer { fault: "nice not allowed", inject: "setpriority:error=EACCES", on: None,
        words: "--name=a --size=64k --rw=read --nice=-5", status: 1,
        says: &["job `a`"], counted: ("read", 0, 0) },
    Answer { fault: "memory may not be pinned", inject: "mlock,mlock2:error=ENOMEM", on: None,
        words: "--name=a --size=64k --rw=read --lockmem=1m", status: 1,
        says: &["lock"], counted: ("read", 0, 0) },
    Answer { fault: "stuck I/O is named", inject: "pread64:delay_enter=5000000:when=3", on: FILE,
        words: "--name=a --size=64k --rw=read --fallocate=none --stuck_after=2s", status: 0,
        says: &["job `a`: I/O is stuck: pread64 at offset 8192 of", "a.0.0 has not completed for"],
        counted: ("read", 16, 16) },
    Answer { fault: "slow I/O", inject: "pread64:delay_enter=300000:when=3", on: FILE,
        words: "--name=a --size=64k --rw=read --fallocate=none --max_latency=100ms", status: 1,
        says: &["a: "], counted: ("read", 2, 3) },
];

pub(crate) fn rows() -> Vec<Row> {
    ANSWERS
        .iter()
        .map(|answer| {
            Row::new(answer.fault, format!("strace inject={}", answer.inject), move |bench| run(bench, answer))
        })
        .collect()
}

fn run(bench: &Bench, answer: &Answer) -> Result<Shown, String> {
    // Layout would take answers that are meant for the run.
    let laid_out = !answer.fault.contains("laying out");
    for name in ["a.0.0", "b.0.0"].iter().filter(|_| laid_out) {
        bench.write(name, vec![7; 64 << 10])?;
    }
    let calls = answer.inject.split(':').next().unwrap_or_default();
    let mut strace: Vec<String> = ["strace", "-f", "-qq", "-o", "trace.txt", "-e"].map(str::to_owned).into();
    strace.push(format!("trace={calls}"));
    strace.extend(["-e".to_owned(), format!("inject={}", answer.inject)]);
    if let Some(file) = answer.on {
        let absolute = bench.file(file).display().to_string();
        strace.extend(["-P".to_owned(), file.to_owned(), "-P".to_owned(), absolute]);
    }
    let ran = bench.run(bench.fio_under(&strace, answer.words))?;
    let trace = std::fs::read_to_string(bench.file("trace.txt")).unwrap_or_default();
    if !trace.contains("INJECTED") && !trace.contains("DELAYED") {
        return Err(format!("the fault was never met: {trace}"));
    }
    let shown = ran.expect(answer.status, answer.says)?;
    let (direction, least, most) = answer.counted;
    ran.expect_ios(direction, least..=most)?;
    failed_jobs_are_marked(&ran, answer.status)?;
    Ok(shown)
}

/// The status counts the jobs that carry an error in the result.
fn failed_jobs_are_marked(ran: &Ran, status: i32) -> Result<(), String> {
    let Some(json) = &ran.json else { return Err("no result was written".into()) };
    let jobs = json["jobs"].as_array().ok_or("no jobs in the result")?;
    let failed = jobs.iter().filter(|job| job["error"].as_i64() != Some(0)).count();
    if i64::try_from(failed).ok() == Some(i64::from(status)) || status == 0 {
        Ok(())
    } else {
        Err(format!("{failed} jobs are marked as failed, and the status is {status}"))
    }
}
