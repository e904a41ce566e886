//! Options about the engine and how many I/Os are in flight.

use super::row::{Context, Outcome, rows};
use crate::options::draft::Draft;
use plan::option::Kind;
use plan::{DEFAULT_ENGINE, EngineOptions};

/// Reason why data placement options are refused.
const PLACEMENT: &str = "it needs an NVMe device with data placement and the engine io_uring_cmd";

const PLACEMENTS: Kind = Kind::Word(&[("none", "none"), ("fdp", "flexible data placement"), ("streams", "streams")]);

const SELECTIONS: Kind =
    Kind::Word(&[("roundrobin", "in turn"), ("random", "at random"), ("scheme", "by the offset, as dp_scheme says")]);

const SUBMISSION: Kind =
    Kind::Word(&[("inline", "the worker submits them"), ("offload", "threads submit them, one per I/O of iodepth")]);

fn engine(draft: &mut Draft, text: &str, _: &Context<'_>) -> Outcome {
    if draft.engine != text {
        draft.job.engine_options = EngineOptions::default();
    }
    draft.engine = text.to_owned();
    Ok(())
}

rows! {
    "ioengine": TEXT, DEFAULT_ENGINE => Text(fn engine); "I/O engine";
    "iodepth": POSITIVE, "1" => Count(job.depth.depth); "Number of I/Os to keep in flight";
    "iodepth_batch" | "iodepth_batch_submit": COUNT, "1" => Count(job.depth.batch);
        "Maximum number of I/Os per submission; 0 for iodepth";
    "iodepth_batch_complete_min" | "iodepth_batch_complete": COUNT, "1" => Count(job.depth.reap_min);
        "Minimum number of completions to wait for; 0 polls without waiting";
    "iodepth_batch_complete_max": COUNT => Count(reap_max); "Maximum number of completions to retrieve at once";
    "iodepth_low": COUNT => Count(low); "Number of I/Os in flight at which a full queue is filled again";
    "serialize_overlap": BOOL, "0" => Switch(job.depth.serialises_overlap); "Delay an I/O that overlaps one in flight";
    "io_submit_mode": SUBMISSION, "inline" => Word(job.depth.offload, |word| word == "offload");
        "Which thread submits I/Os";
    "fdp": BOOL, "0" => Refused(PLACEMENT); "Flexible data placement";
    "dataplacement" | "data_placement": PLACEMENTS, "none" => Refused(PLACEMENT); "Type of data placement";
    "plid_select" | "fdp_pli_select": SELECTIONS, "roundrobin" => Refused(PLACEMENT);
        "How placement identifiers are selected";
    "plids" | "fdp_pli": TEXT => Refused(PLACEMENT); "Placement identifiers";
    "dp_scheme": TEXT => Refused(PLACEMENT); "File that holds the placement scheme";
    "gpu_dev_id": COUNT, "0" => Refused("it needs a GPU and a library that plumb does not link");
        "GPU of memory type cudamalloc";
}
