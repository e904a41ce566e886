//! Verification of a job: settings that follow from the load, and checks that are impossible.

use super::Findings;
use crate::options::draft::Draft;
use crate::options::values::Amount;
use measure::Direction;
use plan::option::Value;
use plan::{
    BlockSize, Distribution, EngineSpec, FileService, LoadPlan, Mix, Step, TrimPlan, VerifyFormat, VerifyMethod,
    VerifyPlan, VerifyPolicy, Work, ZonePlan,
};

/// Builds the verify plan of a draft; `None` without verification. `verify_pattern` without `verify` means
/// verify=pattern.
pub(super) fn plan(draft: &Draft, load: &LoadPlan) -> Option<VerifyPlan> {
    let asked = &draft.verify.plan;
    let writes = load.mix.contains(Direction::Write);
    let given = |name: &str, wanted: bool, by_load: bool| wanted && (draft.given(name) || by_load);
    let overlaps = overlaps(draft, load);
    let unordered = overlaps && draft.job.depth.depth > 1;
    // The expected sequence number is known only if this job wrote the block, in one size and one pass. If blocks may
    // be written twice, writes at a depth above 1 may complete in any order.
    let numbered = writes && single_size(load) && !draft.job.limits.time_based && !asked.only && !unordered;
    Some(VerifyPlan {
        method: method(draft)?,
        interval: interval(draft, load),
        // The number of a write is known to the job that wrote it.
        sequence: writes && given("verify_write_sequence", asked.sequence, numbered),
        seed: given("verify_header_seed", asked.seed, writes && asked.backlog.is_none() && !overlaps && !asked.only),
        trim: trim(draft),
        compares: compares(draft),
        ..asked.clone()
    })
}

fn method(draft: &Draft) -> Option<VerifyMethod> {
    let implied = !draft.given("verify") && !draft.verify.plan.pattern.is_empty();
    draft.verify.method.or(implied.then_some(VerifyMethod::Pattern))
}

/// True if a block may be written twice in one pass.
fn overlaps(draft: &Draft, load: &LoadPlan) -> bool {
    let mapped = load.cover_all && load.distribution == Distribution::Uniform && load.percent_random.write >= 100;
    let longer = draft.files.io_size.is_some_and(|amount| amount != Amount::Bytes(0));
    // Zones come round, and a file that is chosen often starts over.
    let wraps = matches!(load.zones, ZonePlan::Strided(_));
    let starts_over = match draft.job.files.handling.service {
        FileService::RoundRobin(_) | FileService::Random(_) | FileService::Sequential => false,
        FileService::Zipf(..) | FileService::Pareto(..) | FileService::Normal(..) => true,
    };
    load.step != Step::Plain || longer || wraps || starts_over || (load.random && !mapped)
}

fn single_size(load: &LoadPlan) -> bool {
    matches!(load.block_size.write, BlockSize::Fixed(_))
}

/// Distance between verify headers, in bytes. Every I/O must begin with a header, whatever its size: the interval must
/// divide all block sizes. If it does not, their greatest common divisor is used.
fn interval(draft: &Draft, load: &LoadPlan) -> Option<u32> {
    let moving = [Direction::Read, Direction::Write].into_iter().filter(|&direction| load.mix.contains(direction));
    let sizes = moving.map(|direction| &load.block_size[direction]);
    let all = sizes.fold(0, |all, size| greatest_common(all, divisor(size)));
    let fixed = single_size(load) && matches!(load.block_size.read, BlockSize::Fixed(_)) && load.mix != Mix::ReadWrite;
    match draft.verify.plan.interval {
        _ if load.unaligned_sizes => None,
        Some(interval) if all > 0 && all % interval == 0 => Some(interval),
        _ => (!fixed && all > 0).then_some(all),
    }
}

fn divisor(size: &BlockSize) -> u32 {
    match size {
        BlockSize::Fixed(size) => *size,
        BlockSize::Range(low, high) => greatest_common(*low, *high),
        BlockSize::Split(parts) => parts.iter().fold(0, |all, &(size, _)| greatest_common(all, size)),
    }
}

const fn greatest_common(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common(b, a % b) }
}

/// True if the device compares.
fn compares(draft: &Draft) -> bool {
    matches!(draft.job.engine_options.get("verify_mode"), Some(Value::Text(mode)) if mode == "compare")
}

fn trim(draft: &Draft) -> Option<TrimPlan> {
    let trim = draft.verify.trim;
    (trim.percent > 0 && trim.backlog > 0).then_some(trim)
}

/// Rejects or warns about checks that could never fail or can never run.
pub(super) fn check(draft: &Draft, engine: &EngineSpec, load: &LoadPlan, findings: &mut Findings<'_>) {
    if draft.verify.plan.only && engine.capabilities.work == Work::Background {
        let what = format!("engine {} moves no bytes: there is nothing to read back, and no end to it", engine.name);
        findings.reject(&["verify_only", "ioengine"], what, "leave verify_only out");
    }
    let verify = &draft.verify.plan;
    let method = method(draft);
    let by_pattern = matches!(method, Some(VerifyMethod::Pattern | VerifyMethod::PatternHeader));
    if by_pattern && verify.pattern.is_empty() {
        let help = "give the pattern with verify_pattern, or choose a digest such as crc32c";
        findings.reject(&["verify"], "there is no pattern to verify", help);
    }
    if verify.only && draft.job.limits.time_based {
        let what = "verify_only writes nothing, so there is no amount of it that a time would give";
        findings.reject(&["verify_only", "time_based"], what, "leave time_based out");
    }
    if verify.only && method.is_none() {
        findings.reject(&["verify_only"], "verify_only needs a way to verify", "give it with verify=");
    }
    if draft.verify.trim.percent > 0 && (method.is_none() || draft.verify.trim.backlog == 0) {
        let what = "trim_percentage trims blocks that are verified, after trim_backlog of them; it has no effect here";
        findings.warn(&["trim_percentage"], what, "give verify and trim_backlog, or leave trim_percentage out");
    }
    let by_plain_pattern = method == Some(VerifyMethod::Pattern) && draft.verify.trim.percent == 0;
    if compares(draft) && !(by_plain_pattern && load.mix == Mix::Only(Direction::Write)) {
        let what = "verify_mode=compare is for jobs that write a pattern";
        findings.reject(&["verify_mode", "verify", "rw"], what, "give verify=pattern, verify_pattern and rw=write");
    }
    let header = if verify.format == VerifyFormat::Fio3_33 { 40 } else { 48 };
    if verify.offset > 0 && verify.offset < header {
        let what = format!("verify_offset is {}, within the header of {header} bytes", verify.offset);
        findings.reject(&["verify_offset"], what, format!("give {header} or more"));
    }
    let unchecked = draft.job.limits.time_based && verify.check && verify.backlog.is_none() && method.is_some();
    if unchecked && load.mix == Mix::Only(Direction::Write) {
        let what = "a time_based job that writes ends with its time: nothing is verified";
        findings.warn(&["time_based", "verify"], what, "give verify_backlog, or size in place of time");
    }
    let synced = verify.policy == VerifyPolicy::Synced && method.is_some();
    if synced && load.fsync_every == 0 && load.fdatasync_every == 0 && !load.end_fsync && !load.fsync_on_close {
        let what = "verify_policy=fsynced checks writes that a flush followed, and nothing flushes";
        findings.warn(&["verify_policy"], what, "give fsync or end_fsync");
    }
}
