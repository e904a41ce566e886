//! Lines printed before the measurement begins.

use crate::printable;
use crate::write_number::{Step, scaled};
use measure::Direction;
use model::JobError;
use plan::{JobPlan, Mix, Plan, Work};
use std::ops::Range;
use std::path::Path;

/// One line per job, `...` for its clones.
pub fn job_lines(plan: &Plan) -> String {
    let mut text = String::new();
    for job in &plan.jobs {
        // Background jobs do no I/O, so they have no such line; fio has the dots of their clones all the same.
        if job.work != Work::Background {
            text.push_str(&job_line(job, job.depth.asked()));
            text.push('\n');
        }
        if job.clones > 1 {
            text.push_str("...\n");
        }
    }
    text
}

fn job_line(job: &JobPlan, depth: u32) -> String {
    let step = Step::of_base(job.record.unit_base);
    let figures = job.record.significant_figures;
    let mut sizes: Vec<String> = job
        .load
        .block_size
        .iter()
        .map(|(direction, size)| {
            let letter = match direction {
                Direction::Read => 'R',
                Direction::Write => 'W',
                Direction::Trim => 'T',
            };
            let spelled = |size: u32| scaled(u64::from(size), figures, step, "B");
            format!("({letter}) {}-{}", spelled(size.smallest()), spelled(size.largest()))
        })
        .collect();
    if job.load.sizes_by_order {
        // The two sizes are those of sequential and random I/Os, although the line labels them R and W.
        sizes.truncate(2);
        sizes.push("bs_is_seq_rand".to_owned());
    }
    format!(
        "{}: (g={}): rw={}, bs={}, ioengine={}, iodepth={}",
        printable::line(&job.name),
        job.group,
        access_word(job),
        sizes.join(", "),
        job.engine,
        depth
    )
}

/// The value of `rw=` for a job.
fn access_word(job: &JobPlan) -> String {
    let mix = match job.load.mix {
        Mix::Only(direction) => direction.word(),
        Mix::ReadWrite => "rw",
        Mix::TrimWrite => "trimwrite",
    };
    format!("{}{mix}", if job.load.random { "rand" } else { "" })
}

/// The version line in a form that scripts accept as fio's: `fio-3.42-plumb-0.1.0` for `plumb 0.1.0`.
pub fn version_line(program: &str) -> String {
    if program.starts_with("fio-") {
        return program.to_owned();
    }
    format!("fio-3.42-plumb-{}", program.rsplit(' ').next().unwrap_or(program))
}

/// Notes that a job uses whole zones only: less of a file than it asks for.
pub fn whole_zones_lines(path: &Path, asked: Range<u64>, used: Range<u64>) -> String {
    let path = path.display();
    let mut lines = String::new();
    if used.start > asked.start {
        lines += &format!("{path}: offset={} is rounded up to {}, the start of a zone\n", asked.start, used.start);
    }
    if used.end < asked.end {
        let (asked, used) = (asked.end.saturating_sub(used.start), used.end.saturating_sub(used.start));
        lines += &format!("{path}: {asked} bytes from there are rounded down to {used}, the end of a zone\n");
    }
    lines
}

/// Notes that offsets of a file are drawn from 64 bits, because its blocks are more than 32 bits can number.
pub fn wide_offsets_lines(path: &Path) -> String {
    let path = printable::line(&path.display().to_string()).into_owned();
    format!(
        "fio: file {path} exceeds 32-bit tausworthe random generator.\nfio: Switching to tausworthe64: \
         random_generator=tausworthe64 says so and omits these lines.\n"
    )
}

/// A line for each worker that burns CPU time: `a (noop): ioengine=cpuio, cpuload=50, cpucycle=50000`.
pub fn burner_lines(plan: &Plan) -> String {
    let mut text = String::new();
    for job in plan.jobs.iter().filter(|job| job.work == Work::Background) {
        let options = &job.engine_options;
        let number = |name: &str| options.integer(name).and_then(|number| u64::try_from(number).ok());
        // Other programs have no load; without one the job fails with its own message.
        let Some(load) = number("cpuload").filter(|&load| load > 0) else { continue };
        let cycle_us = number("cpuchunks").unwrap_or(50_000_000) / 1000;
        let (name, mode) = (printable::line(&job.name), options.text("cpumode").unwrap_or("noop"));
        let (engine, load) = (&job.engine, load.min(100));
        let line = format!("{name} ({mode}): ioengine={engine}, cpuload={load}, cpucycle={cycle_us}\n");
        (0..job.clones).for_each(|_| text.push_str(&line));
    }
    text
}

/// `Starting 2 threads and 1 process`.
pub fn starting_line(threads: u32, processes: u32) -> String {
    let counted = |count: u32, one: &str, many: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{count} {many}")),
    };
    let parts: Vec<String> = [counted(threads, "thread", "threads"), counted(processes, "process", "processes")]
        .into_iter()
        .flatten()
        .collect();
    format!("Starting {}", parts.join(" and "))
}

/// `a: Laying out IO files (4 files / total 16MiB)`.
pub fn layout_line(job: &str, files: u32, bytes: u64) -> String {
    let (job, mebibytes) = (printable::line(job), bytes >> 20);
    match files {
        1 => format!("{job}: Laying out IO file (1 file / {mebibytes}MiB)"),
        files => format!("{job}: Laying out IO files ({files} files / total {mebibytes}MiB)"),
    }
}

/// The line printed when a job ends with an error.
pub fn error_line(pid: u32, error: &JobError) -> String {
    format!("fio: pid={pid}, err={}/{}", error.errno, error_origin(error.errno, &error.operation))
}

/// The cause of a job error in fio's layout; a constant stands for the place in fio's source, which would not help.
pub(super) fn error_origin(errno: i32, operation: &str) -> String {
    format!("file:plumb:0, func={operation}, error={}", errno_text(errno))
}

/// The system's message for an errno; `Success` for 0.
pub(super) fn errno_text(errno: i32) -> String {
    if errno == 0 {
        return "Success".to_owned();
    }
    let text = std::io::Error::from_raw_os_error(errno).to_string();
    match text.rsplit_once(" (os error") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}
