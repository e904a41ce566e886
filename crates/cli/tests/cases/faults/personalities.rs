//! iozone, the survey, iostat and the readers of results on their worst days: what they say, their status, and what of
//! their results is still shown.

use super::fuse::{self, Fuse, Script};
use super::{Bench, LONGEST, Row, Shown};
use house::{Run, Transcript};
use std::fs::File;
use std::time::Duration;

/// What is done to a command. `{}` in its words stands for the place that is meant.
#[derive(Clone, Copy)]
enum Fault {
    /// strace puts this in (its words after `inject=`), for calls on this file.
    Answer(&'static str, &'static str),
    /// The place is a tmpfs of this number of bytes.
    Small(u64),
    /// The place is a file whose file system answers by a script.
    Scripted(Script),
    /// Standard output is /dev/full.
    FullOutput,
    /// Who reads standard output has gone.
    ReaderGone,
    /// There is no standard output.
    NoOutput,
    /// prlimit sets this limit.
    Limit(&'static str),
    /// This signal after this number of milliseconds, this often.
    Signal(&'static str, u64, u32),
}

struct Case {
    fault: &'static str,
    inject: Fault,
    words: &'static str,
    status: i32,
    /// What it must say on standard error, or where iozone says such things.
    says: &'static [&'static str],
    /// What of its results must still be on standard output.
    shows: &'static str,
}

const SURVEY: &str =
    "survey --output r.json --size 16M --time 1 --warm-up 0 --tests randread --users 1 --buffered data";

const FIO: &str = "fio --name=a --size=64k --rw=read";

#[rustfmt::skip]
const CASES: &[Case] = &[
    Case { fault: "iozone: EIO on a read", inject: Fault::Answer("read,pread64:error=EIO:when=3", "z"),
        words: "iozone -i 0 -i 1 -s 64 -r 4 -f z", status: 61, says: &["z"], shows: "" },
    Case { fault: "iozone: EIO on a write", inject: Fault::Answer("write,pwrite64:error=EIO:when=3", "z"),
        words: "iozone -i 0 -i 1 -s 64 -r 4 -f z", status: 74, says: &["z"], shows: "" },
    Case { fault: "iozone: EIO in one of two children", inject: Fault::Answer("write,pwrite64:error=EIO:when=3", "b"),
        words: "iozone -i 0 -s 64 -r 4 -t 2 -F a b", status: 74, says: &["b"], shows: "" },
    Case { fault: "iozone: full file system", inject: Fault::Small(256 << 10),
        words: "iozone -i 0 -s 1m -r 4 -f {}/z", status: 74, says: &["No space left"], shows: "" },
    Case { fault: "iozone: EIO of a file system (FUSE)", inject: Fault::Scripted(fuse::at(fuse::ask::READ, 5, fuse::Answer::Error(libc::EIO))),
        words: "iozone -i 1 -+E -s 64 -r 4 -f {}", status: 61, says: &["Input/output error"], shows: "" },
    Case { fault: "iozone: late I/O (FUSE)", inject: Fault::Scripted(fuse::at(fuse::ask::READ, 5, fuse::Answer::Late(Duration::from_millis(300)))),
        words: "iozone -i 1 -+E -s 64 -r 4 -f {}", status: 0, says: &[], shows: "iozone test complete" },
    Case { fault: "iozone: no standard output", inject: Fault::NoOutput, words: "iozone -i 0 -s 64 -r 4 -f z", status: 1,
        says: &["standard output: cannot write"], shows: "" },
    Case { fault: "iozone: full output disk", inject: Fault::FullOutput,
        words: "iozone -i 0 -s 64 -r 4 -f z", status: 1, says: &["no space left"], shows: "" },
    Case { fault: "iozone: closed standard output", inject: Fault::ReaderGone,
        words: "iozone -i 0 -s 64 -r 4 -f z", status: 1, says: &[], shows: "" },
    Case { fault: "iozone: a full disk under --json", inject: Fault::Small(4 << 10),
        words: "iozone -i 0 -s 64 -r 4 -f z --json={}/r.json", status: 1, says: &["no space left"], shows: "64" },
    Case { fault: "iozone: limit of file size", inject: Fault::Limit("--fsize=32768"),
        words: "iozone -i 0 -s 64 -r 4 -f z", status: 74, says: &["at offset 32768 of z: File too large"], shows: "" },
    Case { fault: "iozone: Ctrl-C twice", inject: Fault::Signal("INT", 700, 2),
        words: "iozone -i 0 -s 8m -r 4 -J 20 -f z", status: 130, says: &[], shows: "" },
    Case { fault: "survey: EIO on a read", inject: Fault::Answer("pread64:error=EIO:when=5", "data/plumb-survey.dat"),
        words: SURVEY, status: 1, says: &["Input/output error"], shows: "Result: r.json" },
    Case { fault: "survey: limit of file size", inject: Fault::Limit("--fsize=4194304"), words: SURVEY, status: 1,
        says: &["plumb-survey.dat", "File too large"], shows: "" },
    Case { fault: "survey: ENOSPC for its work file", inject: Fault::Answer("fallocate:error=ENOSPC", "data/plumb-survey.dat"),
        words: SURVEY, status: 1, says: &["cannot be reserved", "No space left"], shows: "" },
    Case { fault: "survey: EIO while it fills its file", inject: Fault::Answer("pwrite64:error=EIO:when=3", "data/plumb-survey.dat"),
        words: SURVEY, status: 1, says: &["plumb-survey.dat", "Input/output error"], shows: "" },
    Case { fault: "survey: a full disk under its result", inject: Fault::Small(4 << 10),
        words: "survey --output {}/r.json --size 16M --time 1 --warm-up 0 --tests randread --users 1 --buffered data", status: 1,
        says: &["no space left"], shows: "rand read" },
    Case { fault: "survey: closed standard output", inject: Fault::ReaderGone, words: SURVEY, status: 1, says: &[], shows: "" },
    Case { fault: "survey: no standard output", inject: Fault::NoOutput, words: SURVEY, status: 1,
        says: &["standard output: cannot write"], shows: "" },
    Case { fault: "survey: full output disk", inject: Fault::FullOutput, words: SURVEY, status: 1, says: &["no space left"], shows: "" },
    Case { fault: "survey: Ctrl-C twice", inject: Fault::Signal("INT", 700, 2),
        words: "survey --output r.json --size 16M --time 30 --tests randread --users 1 --buffered data", status: 130, says: &[], shows: "" },
    Case { fault: "fio: closed standard output", inject: Fault::ReaderGone, words: FIO, status: 1, says: &[], shows: "" },
    Case { fault: "fio: no standard output", inject: Fault::NoOutput, words: FIO, status: 1,
        says: &["standard output: cannot write"], shows: "" },
    Case { fault: "fio: no standard output, and no need of it", inject: Fault::NoOutput, words: "fio --output=kept.txt --name=a --size=64k",
        status: 0, says: &[], shows: "" },
    // /dev/zero has no end; the limit of memory stands for the machine's.
    Case { fault: "fio: a job file without end", inject: Fault::Limit(ROOM), words: "fio /dev/zero", status: 1, says: &["/dev/zero", "64 MiB"], shows: "" },
    Case { fault: "fio: an include without end", inject: Fault::Limit(ROOM), words: "fio endless.fio", status: 1,
        says: &["endless.fio:2", "/dev/zero", "64 MiB"], shows: "" },
    Case { fault: "fio: a record without end", inject: Fault::Limit("--fsize=67108864"),
        words: "fio --name=a --ioengine=null --size=4k --read_iolog=/dev/zero", status: 1, says: &["/dev/zero", "is not a record of I/Os"],
        shows: "" },
    Case { fault: "fio: a pattern without end", inject: Fault::Limit(ROOM),
        words: "fio --name=a --ioengine=null --size=4k --buffer_pattern='/dev/zero'", status: 1, says: &["/dev/zero", "1 MiB"], shows: "" },
    Case { fault: "survey: a file without end", inject: Fault::Limit(ROOM), words: "survey --config /dev/zero", status: 1,
        says: &["/dev/zero", "16 MiB"], shows: "" },
    Case { fault: "survey: an earlier result without end", inject: Fault::Limit(ROOM), words: "survey --resume /dev/zero", status: 1,
        says: &["/dev/zero", "1 GiB"], shows: "" },
    Case { fault: "iozone: a list of machines without end", inject: Fault::Limit(ROOM), words: "iozone -i 0 -t 1 -+m /dev/zero", status: 176,
        says: &["/dev/zero", "16 MiB"], shows: "" },
    Case { fault: "iozone: a list of names without end", inject: Fault::Limit(ROOM), words: "iozone -i 0 -s 64 -t 1 -+R /dev/zero", status: 1,
        says: &["/dev/zero", "16 MiB"], shows: "" },
    Case { fault: "iozone: telemetry without end", inject: Fault::Limit(ROOM), words: "iozone -i 0 -f z -X endless.dat", status: 1,
        says: &["endless.dat", "1 GiB"], shows: "" },
    Case { fault: "iostat: no standard output", inject: Fault::NoOutput, words: "iostat 1 2", status: 1,
        says: &["standard output: cannot write"], shows: "" },
    Case { fault: "iostat: full output disk", inject: Fault::FullOutput, words: "iostat 1 2", status: 1, says: &["no space left"], shows: "" },
    Case { fault: "iostat: closed standard output", inject: Fault::ReaderGone, words: "iostat 1 5", status: 1, says: &[], shows: "" },
    Case { fault: "parse: no standard output", inject: Fault::NoOutput, words: "parse given.csv", status: 1,
        says: &["standard output: cannot write"], shows: "" },
    Case { fault: "parse: full output disk", inject: Fault::FullOutput, words: "parse given.csv", status: 1, says: &["no space left"], shows: "" },
    Case { fault: "report: a full disk under its page", inject: Fault::Small(4 << 10), words: "report given.csv --output {}/page.html",
        status: 1, says: &["no space left"], shows: "" },
];

/// Address space enough for the largest file that is taken into memory, but not for one without end.
const ROOM: &str = "--as=4294967296";

/// A sweep to read.
pub(crate) const GIVEN: &str = "name,users,bs,MB,lat,min,max,std,iops,us50,us100,us250,us500,ms1,ms2,ms4,ms10,ms20,ms50,ms100,ms250,\
    ms500,s1,s2,s5,p95_00,p99_00,p99_50,p99_90,p99_95,p99_99\n\
    randread,1,8K,28,0.27,0,19,0.2,3608,11,34,2,44,6,0,0,0,0,0,0,0,0,0,0,0,0.5,0.5,0.5,0.6,0.7,1.6\n";

pub(crate) fn rows() -> Vec<Row> {
    let row = |case: &'static Case| Row::new(case.fault, injected(case), move |bench| run(bench, case));
    CASES.iter().map(row).collect()
}

fn injected(case: &Case) -> String {
    match case.inject {
        Fault::Answer(inject, file) => format!("strace inject={inject} on {file}"),
        Fault::Small(bytes) => format!("tmpfs of {} KiB", bytes >> 10),
        Fault::Scripted(_) => "the 5th READ".to_owned(),
        Fault::FullOutput => "standard output is /dev/full".to_owned(),
        Fault::ReaderGone => "a reader that has gone".to_owned(),
        Fault::NoOutput => ">&-".to_owned(),
        Fault::Limit(limit) => format!("prlimit {limit}"),
        Fault::Signal(name, after, times) => format!("SIG{name} after {after} ms, {times} times"),
    }
}

/// The programs that stand before plumb.
fn starter(bench: &Bench, inject: Fault) -> Vec<String> {
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    match inject {
        Fault::Answer(inject, file) => {
            let calls = inject.split(':').next().unwrap_or_default();
            let absolute = bench.file(file).display().to_string();
            let (trace, inject) = (format!("trace={calls}"), format!("inject={inject}"));
            words(&["strace", "-f", "-qq", "-o", "trace.txt", "-e", &trace, "-e", &inject, "-P", file, "-P", &absolute])
        }
        Fault::Limit(limit) => words(&["prlimit", limit]),
        Fault::NoOutput => words(&["sh", "-c", "exec \"$@\" >&-", "sh"]),
        _ => Vec::new(),
    }
}

fn run(bench: &Bench, case: &Case) -> Result<Shown, String> {
    let failed = |error: std::io::Error| error.to_string();
    std::fs::create_dir_all(bench.file("data")).map_err(failed)?;
    std::fs::write(bench.file("given.csv"), GIVEN).map_err(failed)?;
    // Read as zeros, and takes no room.
    File::create(bench.file("endless.dat")).and_then(|file| file.set_len(8 << 30)).map_err(failed)?;
    bench.write("endless.fio", "[a]\ninclude /dev/zero\nsize=4k\n")?;
    let tmpfs = match case.inject {
        Fault::Small(bytes) => Some(house::Tmpfs::new(bytes).map_err(failed)?),
        _ => None,
    };
    let fuse = match case.inject {
        Fault::Scripted(script) => Some(Fuse::mount(bench, script)?),
        _ => None,
    };
    let place = tmpfs.as_ref().map(|tmpfs| tmpfs.path().display().to_string());
    let place = place.or_else(|| fuse.as_ref().map(Fuse::file)).unwrap_or_default();
    let run = bench.plumb(&case.words.replace("{}", &place));
    let starter = starter(bench, case.inject);
    let run = if starter.is_empty() { run } else { run.under(starter) };
    let ended = carry_out(run, case)?;
    let trace = std::fs::read_to_string(bench.file("trace.txt")).unwrap_or_default();
    if matches!(case.inject, Fault::Answer(..)) && !trace.contains("INJECTED") {
        return Err(format!("the fault was never met: {trace}"));
    }
    judge(case, &ended)
}

fn carry_out(run: Run, case: &Case) -> Result<Transcript, String> {
    let failed = |error: std::io::Error| error.to_string();
    let running = match case.inject {
        Fault::FullOutput => run.output_to(File::options().write(true).open("/dev/full").map_err(failed)?),
        Fault::ReaderGone => run.output_to(std::io::pipe().map_err(failed)?.1),
        _ => run,
    };
    let running = running.start();
    if let Fault::Signal(name, after, times) = case.inject {
        std::thread::sleep(Duration::from_millis(after));
        for _ in 0..times {
            super::run_tool("kill", &[&format!("-{name}"), &running.id().to_string()])?;
            std::thread::sleep(Duration::from_millis(100));
        }
    }
    running.end_within(LONGEST).ok_or_else(|| format!("hangs: not over after {LONGEST:?}"))
}

fn judge(case: &Case, ended: &Transcript) -> Result<Shown, String> {
    let Transcript { status, stdout: out, stderr: err, .. } = ended;
    let message = format!("{err}{out}");
    if message.contains("panicked") || *status != Some(case.status) {
        return Err(format!("exit status {status:?}, not {}: {message}", case.status));
    }
    if let Some(word) = case.says.iter().find(|word| !message.contains(**word)) {
        return Err(format!("does not say `{word}`: {message}"));
    }
    if !out.contains(case.shows) {
        return Err(format!("does not show `{}`: {message}", case.shows));
    }
    let line = message.lines().find(|line| case.says.first().is_some_and(|word| line.contains(word)));
    let line = line.or_else(|| err.lines().next()).unwrap_or("it ended").trim();
    let kept = if case.shows.is_empty() { "it ended at once, in order" } else { "what was measured is shown" };
    Ok(Shown { did: line.to_owned(), status: case.status.to_string(), kept: kept.to_owned() })
}
