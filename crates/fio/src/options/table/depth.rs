//! Options about the engine and how many I/Os are in flight.

use super::row::{Context, Outcome, rows, words};
use crate::error::Complaint;
use crate::options::draft::Draft;
use plan::option::Kind;
use plan::{DEFAULT_ENGINE, EngineOptions, PlacementChoice, PlacementKind};

words! { PLACEMENTS, placement -> Option<PlacementKind> {
    "none" => None, "none";
    "fdp" => Some(PlacementKind::Handles), "flexible data placement";
    "streams" => Some(PlacementKind::Streams), "streams";
} }

words! { SELECTIONS, selection -> PlacementChoice {
    "roundrobin" => PlacementChoice::InTurn, "in turn";
    "random" => PlacementChoice::AtRandom, "at random";
    "scheme" => PlacementChoice::ByOffset(String::new()), "by the offset, as dp_scheme says";
} }

const SUBMISSION: Kind =
    Kind::Word(&[("inline", "the worker submits them"), ("offload", "threads submit them, one per I/O of iodepth")]);

/// Placement identifiers: numbers and ranges of them.
fn identifiers(text: &str) -> Result<Vec<u16>, Complaint> {
    let mut all = Vec::new();
    for part in text.split(',').map(str::trim) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<u16>().ok();
        match number(first).zip(number(last)) {
            Some((first, last)) if first <= last => all.extend(first..=last),
            _ => return Err(Complaint::new("is not a list of identifiers", "write it like 0,2-4")),
        }
    }
    Ok(all)
}

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
    "fdp": BOOL, "0" => Switch(placement.kind, |on| on.then_some(PlacementKind::Handles)); "Flexible data placement";
    "dataplacement" | "data_placement": PLACEMENTS, "none" => Word(placement.kind, placement); "Type of data placement";
    "plid_select" | "fdp_pli_select": SELECTIONS, "roundrobin" => Word(placement.choice, selection);
        "How placement identifiers are selected";
    "plids" | "fdp_pli": TEXT => Text(placement.identifiers, identifiers); "Placement identifiers, such as 0,2-4";
    "dp_scheme": TEXT => Text(placement.scheme); "File that holds the placement scheme: lines of START, END, IDENTIFIER";
    "gpu_dev_id": COUNT, "0" => Refused("it needs a GPU and a library that plumb does not link");
        "GPU of memory type cudamalloc";
}
