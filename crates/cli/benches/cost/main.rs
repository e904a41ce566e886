//! What measuring costs: CPU time per I/O of plumb, of fio and of the bare loop, in alternating rounds.
//!
//! Random I/O with all latencies on, without a random map, as plumb and fio take the same words: engines,
//! distributions, sizes, buffers and digests (`rows.rs`). User and system time come from the kernel's account of the
//! whole process tree (wait4), once for many I/Os and once for few; the difference, divided by the I/Os, is free of
//! what starting up costs. Kernels that share out time by what they find at each tick (250 or 1,000 a second) make one
//! short round inexact, so a mean over all rounds is judged, with the interval that its rounds leave it. Wall-clock
//! time is shown and not judged: on a shared machine it proves nothing.
//!
//! With the times come the instructions per I/O and the allocations in the loop under callgrind, which no neighbour
//! changes.
//!
//! Then come pauses and rates: how late I/Os are and what waiting takes of a processor (`pauses.rs`, `--only waiting`).
//! Last comes what the monitor of a run takes of one.
//!
//! `--short` judges: fewer I/Os, and a failure when plumb certainly takes more user time per I/O than its budget, by
//! what fio and the bare loop take in the same rounds, when a row takes more instructions than it may, or when it
//! cannot be measured at all. `--only WORD` measures the rows whose name contains the word.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "what a bench finds is for a person to read")]

mod bare;
mod instructions;
mod looking;
mod pauses;
mod rows;

use house::{LoopDevice, Tmpfs};
use rows::{Budget, NEAR, Place, ROWS, Row};
use serde_json::Value;
use std::io::{self, Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The region that is read.
const BYTES: u64 = 128 << 20;
/// The I/Os of the small run: enough to have started everything once.
const FEW: u64 = 8_000;

/// What one run may take; the longest takes a tenth of it.
const PATIENCE: Duration = Duration::from_secs(120);

const TOOLS: [&str; 3] = ["plumb", "fio", "bare"];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["--bare", kind, path, ios] => bare_process(kind, Path::new(path), ios),
        [] => bench(Form { divisor: 1, judged: false }, ""),
        ["--only", word] => bench(Form { divisor: 1, judged: false }, word),
        ["--short"] => bench(Form { divisor: 2, judged: true }, ""),
        _ => Err(io::Error::other(format!(
            "{words:?} is nothing that this bench takes; try --short, --only WORD or nothing"
        ))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cost: {error}");
            ExitCode::FAILURE
        }
    }
}

fn bare_process(kind: &str, path: &Path, ios: &str) -> io::Result<()> {
    let ios: u64 = ios.parse().map_err(io::Error::other)?;
    let seconds = bare::run(kind, path, BYTES, ios)?;
    println!("{{\"ios\": {ios}, \"seconds\": {seconds}}}");
    Ok(())
}

/// Name of what waiting costs, behind those of the rows.
const WAITING: &str = "waiting";
/// Rounds of each row.
const ROUNDS: usize = 7;

/// How much is done, and whether the result can fail the gate.
#[derive(Clone, Copy)]
struct Form {
    divisor: u64,
    judged: bool,
}

/// What one tool took in one round, per I/O.
#[derive(Clone, Copy, Debug)]
struct Cost {
    user_ns: f64,
    system_ns: f64,
    iops: f64,
}

fn bench(form: Form, only: &str) -> io::Result<()> {
    let tmpfs = Tmpfs::new(3 * BYTES)?;
    let file = tmpfs.file("file", BYTES)?;
    let device = LoopDevice::new(tmpfs.path(), BYTES);
    println!("random I/O, all latencies on, no random map; {ROUNDS} rounds; mean (lowest to highest)");
    let names: Vec<&str> = ROWS.iter().map(|row| row.name).chain([WAITING]).collect();
    if !names.iter().any(|name| name.contains(only)) {
        return Err(io::Error::other(format!("--only {only} is in no name of a row; they are: {}", names.join("; "))));
    }
    let mut failures = Vec::new();
    for row in ROWS.iter().filter(|row| row.name.contains(only)) {
        let path = match (&device, row.place) {
            (_, Place::File) => file.clone(),
            (Ok(device), Place::Device) => device.path().to_path_buf(),
            (Err(error), Place::Device) => {
                println!("\n{}: SKIPPED, NOT MEASURED: no loop device here: {error}", row.name);
                failures.push(format!("{} was not measured", row.name));
                continue;
            }
        };
        let costs = rounds(row, &path, form)?;
        show(row, &costs);
        failures.extend(judge(row, &costs));
        failures.extend(count_instructions(row, &path)?);
    }
    if WAITING.contains(only) {
        failures.extend(pauses::show(&file)?);
    }
    if let Some(device) = device.as_ref().ok().filter(|_| only.is_empty()) {
        let (line, failure) = looking::message(looking::share(device, if form.judged { 3 } else { 10 })?);
        println!("\n{line}");
        failures.extend(failure);
    }
    if form.judged && !failures.is_empty() {
        return Err(io::Error::other(failures.join("; ")));
    }
    Ok(())
}

fn count_instructions(row: &Row, path: &Path) -> io::Result<Vec<String>> {
    let Some(most) = row.instructions else { return Ok(Vec::new()) };
    let instructions::Taken { instructions_per_io, allocations } = instructions::count(row, path)?;
    let line = format!("{instructions_per_io:.0} instructions per I/O in user space, at most {most}");
    println!("  {line}; allocations of the worker between the small and the large run: {allocations}, at most 0");
    let mut failures = Vec::new();
    failures.extend((instructions_per_io > most).then(|| format!("{}: {line}", row.name)));
    failures.extend((allocations > 0).then(|| format!("{}: the worker allocates: {allocations} calls", row.name)));
    Ok(failures)
}

/// All rounds of a row; the tools take turns, so that what disturbs the machine disturbs them alike.
fn rounds(row: &Row, path: &Path, form: Form) -> io::Result<[Vec<Cost>; 3]> {
    let mut costs: [Vec<Cost>; 3] = Default::default();
    for _ in 0..ROUNDS {
        for (tool, costs) in TOOLS.iter().zip(&mut costs).filter(|(tool, _)| **tool != "bare" || row.bare.is_some()) {
            let few = measure(tool, row, path, FEW)?;
            let many = measure(tool, row, path, row.ios / form.divisor)?;
            let ios = many.ios - few.ios;
            costs.push(Cost {
                user_ns: (many.user_s - few.user_s) * 1e9 / ios,
                system_ns: (many.system_s - few.system_s) * 1e9 / ios,
                iops: many.iops,
            });
        }
    }
    Ok(costs)
}

/// Our fio, or what `PLUMB_UNDER_TEST` puts in its place (fio itself, to see how steady the bench is).
fn plumb() -> Command {
    if let Some(path) = std::env::var_os("PLUMB_UNDER_TEST") {
        return Command::new(path);
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_plumb"));
    command.arg("fio");
    command
}

/// What a process and its workers took.
struct Taken {
    user_s: f64,
    system_s: f64,
    ios: f64,
    iops: f64,
}

fn measure(tool: &str, row: &Row, path: &Path, ios: u64) -> io::Result<Taken> {
    let mut command = match tool {
        "plumb" => plumb(),
        "fio" => Command::new("fio"),
        _ => Command::new(std::env::current_exe()?),
    };
    if tool == "bare" {
        command.arg("--bare").arg(row.bare.unwrap_or_default()).arg(path).arg(ios.to_string());
    } else {
        command.arg("--output-format=json").args(words_of(row, path, ios));
        command.args(if tool == "plumb" { row.own } else { &[] });
    }
    let (user_s, system_s, output) = counted(command)?;
    let json =
        |output: &str| serde_json::from_str::<Value>(output.get(output.find('{').unwrap_or(0)..).unwrap_or_default());
    let result = json(&output).map_err(|error| io::Error::other(format!("{tool}: {error}: {output}")))?;
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    let (done, iops) = if tool == "bare" {
        (number(&result["ios"]), number(&result["ios"]) / number(&result["seconds"]))
    } else {
        let sum =
            |key: &str| ["read", "write"].map(|direction| number(&result["jobs"][0][direction][key])).iter().sum();
        (sum("total_ios"), sum("iops"))
    };
    // Where sizes are drawn, their mean is not quite what the row says.
    if (done / ios as f64 - 1.0).abs() > 0.1 && (done - ios as f64).abs() > 64.0 {
        return Err(io::Error::other(format!("{tool} did {done} I/Os of {ios} with {}", row.words)));
    }
    Ok(Taken { user_s, system_s, ios: done, iops })
}

/// What plumb and fio are given for these I/Os.
fn words_of(row: &Row, path: &Path, ios: u64) -> Vec<String> {
    let mut words =
        vec!["--name=cost".to_owned(), "--norandommap".to_owned(), format!("--filename={}", path.display())];
    words.extend([format!("--size={BYTES}"), format!("--io_size={}", ios * row.bytes)]);
    words.extend(row.words.split(' ').filter(|word| !word.is_empty()).map(str::to_owned));
    words
}

/// Runs a command to its end; its user and system seconds with all its children, and what it printed.
fn counted(mut command: Command) -> io::Result<(f64, f64, String)> {
    let mut output = tempfile::tempfile()?;
    let child = command.stdin(Stdio::null()).stdout(output.try_clone()?).process_group(0).spawn()?;
    let pid = libc::pid_t::try_from(child.id()).map_err(io::Error::other)?;
    let (status, usage) = ended(pid).map_err(|error| io::Error::other(format!("{command:?}: {error}")))?;
    let mut text = String::new();
    output.rewind()?;
    output.read_to_string(&mut text)?;
    let status = ExitStatus::from_raw(status);
    if !status.success() {
        return Err(io::Error::other(format!("{command:?} ended with {status}: {text}")));
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok((seconds(usage.ru_utime), seconds(usage.ru_stime), text))
}

/// Waits for a child, with the account of it and of all that it waited for itself; ends it when it takes too long.
fn ended(pid: libc::pid_t) -> io::Result<(i32, libc::rusage)> {
    let started = Instant::now();
    let mut status = 0;
    // SAFETY: rusage is plain numbers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are valid for the call, and nothing else waits for this child.
        match unsafe { libc::wait4(pid, &raw mut status, libc::WNOHANG, &raw mut usage) } {
            0 if started.elapsed() > PATIENCE => {
                // SAFETY: the group is the child's own and the child is not waited for yet, so the number is its.
                unsafe { libc::kill(-pid, libc::SIGKILL) };
                // SAFETY: as above.
                unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
                return Err(io::Error::other(format!("no end after {} s", PATIENCE.as_secs())));
            }
            0 => std::thread::sleep(Duration::from_millis(2)),
            waited if waited == pid => return Ok((status, usage)),
            _ => return Err(io::Error::last_os_error()),
        }
    }
}

/// The mean of the rounds.
fn mean(costs: &[Cost], of: impl Fn(&Cost) -> f64) -> f64 {
    costs.iter().map(of).sum::<f64>() / costs.len() as f64
}

/// Half of the interval of 95 % around the mean of user time, by the spread of the rounds.
fn half_width(costs: &[Cost]) -> f64 {
    /// Student's t for the 7 rounds of both forms.
    const T: f64 = 2.447;
    let middle = mean(costs, |cost| cost.user_ns);
    let squares: f64 = costs.iter().map(|cost| (cost.user_ns - middle).powi(2)).sum();
    let rounds = costs.len() as f64;
    T * (squares / (rounds - 1.0) / rounds).sqrt()
}

/// Says whether the budget is kept; a failure if it is missed beyond the doubt that the rounds leave.
fn judge(row: &Row, costs: &[Vec<Cost>; 3]) -> Option<String> {
    let of = |tool: usize, part: f64| (part * mean(&costs[tool], |cost| cost.user_ns), part * half_width(&costs[tool]));
    let plumb = of(0, 1.0);
    let by_fio = match row.budget {
        Budget::Scaled { ns, fio } => Some((of(1, ns / fio), format!("{ns} ns where fio takes {fio}"))),
        Budget::Half => Some((of(1, 0.5), "half of fio".to_owned())),
        Budget::NearBare => None,
    };
    let by_bare = row.bare.map(|_| (of(2, NEAR), format!("{NEAR} times the bare loop")));
    // The larger of both, where there are both.
    let (most, why) = by_fio.into_iter().chain(by_bare).max_by(|(one, _), (other, _)| one.0.total_cmp(&other.0))?;
    let doubt = plumb.1.hypot(most.1);
    let verdict = match plumb.0 - most.0 {
        over if over > doubt => "MISSED",
        over if over > 0.0 => "cannot tell: the rounds differ too much",
        _ => "kept",
    };
    println!(
        "  budget: {why}, here {:.1} \u{b1} {:.1} ns of user time: {verdict} with {:.1} \u{b1} {:.1}",
        most.0, most.1, plumb.0, plumb.1,
    );
    (verdict == "MISSED").then(|| {
        let name = row.name;
        format!(
            "{name}: plumb takes {:.1} \u{b1} {:.1} ns of user time per I/O, at most {:.1}",
            plumb.0, plumb.1, most.0
        )
    })
}

fn show(row: &Row, costs: &[Vec<Cost>; 3]) {
    type Kind = (&'static str, fn(&Cost) -> f64);
    let kinds: [Kind; 3] = [
        ("user ns per I/O", |cost| cost.user_ns),
        ("system ns per I/O", |cost| cost.system_ns),
        ("IOPS", |cost| cost.iops),
    ];
    println!(
        "\n{:<18}{:>34}{:>34}{:>34}{:>11}{:>12}",
        row.name, TOOLS[0], TOOLS[1], TOOLS[2], "plumb/fio", "plumb/bare"
    );
    for (kind, of) in kinds {
        let cells = costs.each_ref().map(|costs| {
            let ends =
                costs.iter().map(of).fold((f64::MAX, f64::MIN), |ends, value| (ends.0.min(value), ends.1.max(value)));
            if costs.is_empty() {
                "-".to_owned()
            } else {
                format!("{:.0} ({:.0} to {:.0})", mean(costs, of), ends.0, ends.1)
            }
        });
        let [plumb, fio, bare] = costs.each_ref().map(|costs| mean(costs, of));
        // Below a nanosecond nothing was measured that could be divided by.
        let ratio = |other: f64| if other >= 1.0 { format!("{:.2}", plumb / other) } else { "-".to_owned() };
        println!("  {kind:<18}{:>32}{:>34}{:>34}{:>11}{:>12}", cells[0], cells[1], cells[2], ratio(fio), ratio(bare));
    }
}
