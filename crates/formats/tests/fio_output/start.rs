//! The lines before a run: what fio printed against what we print for the same words.

use super::workloads::Workload;
use fio::{Action, JobError, Parser, RealFiles, Surroundings};
use formats::fio::text as fio_text;
use plan::Isolation;
use plan::{Capabilities, EngineSpec, Plan, Submission, Work};

/// Engines as the words see them; the lines name them and nothing more.
const ENGINES: &[EngineSpec] = &[
    engine("null", Submission::ByDepth),
    engine("psync", Submission::Synchronous),
    engine("vsync", Submission::Synchronous),
    engine("mmap", Submission::Synchronous),
    engine("libaio", Submission::Asynchronous),
    engine("io_uring", Submission::Asynchronous),
    engine("posixaio", Submission::Asynchronous),
];

const fn engine(name: &'static str, submission: Submission) -> EngineSpec {
    let capabilities = Capabilities { trim: true, ..Capabilities::new(submission, Work::Data) };
    EngineSpec { name, help: "", capabilities, options: &[] }
}

/// Differences in the job lines and the line that says how many workers start.
pub(crate) fn differences(workload: &Workload, printed: &str) -> Vec<String> {
    let plan = match plan(workload) {
        Ok(plan) => plan,
        Err(error) => return vec![format!("{}: {error}", workload.name)],
    };
    let workers = |wanted| plan.jobs.iter().filter(|job| job.isolation == wanted).map(|job| job.clones).sum();
    let ours = format!(
        "{}fio-3.33\n{}\n",
        fio_text::job_lines(&plan),
        fio_text::starting_line(workers(Isolation::Thread), workers(Isolation::Process))
    );
    if printed.starts_with(&ours) {
        return Vec::new();
    }
    let theirs: Vec<&str> = printed.lines().take(ours.lines().count()).collect();
    vec![format!("{}: start\n  fio  {theirs:?}\n  ours {:?}", workload.name, ours.lines().collect::<Vec<_>>())]
}

fn plan(workload: &Workload) -> Result<Plan, JobError> {
    let words: Vec<String> = workload.arguments.split_whitespace().map(str::to_owned).collect();
    let surroundings =
        Surroundings { environment: &|_| None, files: &RealFiles, page_size: 4096, memory_mib: 1024, cpus: 2 };
    match Parser::new(ENGINES).command_line(&words, &surroundings)?.action {
        Action::Run(plan) => Ok(plan),
        other => panic!("{}: {other:?}", workload.name),
    }
}
