//! Options about the engine and how many I/Os are in flight.

use super::row::{Row, Set, kind, put, refused, works};
use plan::option::Kind;
use plan::{DEFAULT_ENGINE, EngineOptions};

/// Reason why data placement options are refused.
const PLACEMENT: &str = "it needs an NVMe device with data placement and the engine io_uring_cmd";

const PLACEMENTS: Kind = Kind::Word(&[("none", "none"), ("fdp", "flexible data placement"), ("streams", "streams")]);

const SELECTIONS: Kind =
    Kind::Word(&[("roundrobin", "in turn"), ("random", "at random"), ("scheme", "by the offset, as dp_scheme says")]);

pub(super) const ROWS: &[Row] = &[
    works(
        "ioengine",
        Kind::Text,
        Set::Text(|draft, text, _| {
            if draft.engine != text {
                draft.job.engine_options = EngineOptions::default();
            }
            draft.engine = text.to_owned();
            Ok(())
        }),
        "I/O engine",
    )
    .default(DEFAULT_ENGINE),
    works("iodepth", kind::POSITIVE, put!(Count, job.depth.depth), "Number of I/Os to keep in flight").default("1"),
    works(
        "iodepth_batch",
        kind::COUNT,
        put!(Count, job.depth.batch),
        "Maximum number of I/Os per submission; 0 for iodepth",
    )
    .default("1")
    .alias(&["iodepth_batch_submit"]),
    works(
        "iodepth_batch_complete_min",
        kind::COUNT,
        put!(Count, job.depth.reap_min),
        "Minimum number of completions to wait for; 0 polls without waiting",
    )
    .default("1")
    .alias(&["iodepth_batch_complete"]),
    works(
        "iodepth_batch_complete_max",
        kind::COUNT,
        put!(Count, reap_max),
        "Maximum number of completions to retrieve at once",
    ),
    works(
        "iodepth_low",
        kind::COUNT,
        put!(Count, low),
        "Number of I/Os in flight at which a full queue is filled again",
    ),
    works(
        "serialize_overlap",
        Kind::Bool,
        put!(Switch, job.depth.serialises_overlap),
        "Delay an I/O that overlaps one in flight",
    )
    .default("0"),
    works(
        "io_submit_mode",
        Kind::Word(&[
            ("inline", "the worker submits them"),
            ("offload", "threads submit them, one per I/O of iodepth"),
        ]),
        put!(Word, job.depth.offload, |word| word == "offload"),
        "Which thread submits I/Os",
    )
    .default("inline"),
    refused("fdp", Kind::Bool, PLACEMENT, "Flexible data placement").default("0"),
    refused("dataplacement", PLACEMENTS, PLACEMENT, "Type of data placement")
        .default("none")
        .alias(&["data_placement"]),
    refused("plid_select", SELECTIONS, PLACEMENT, "How placement identifiers are selected")
        .default("roundrobin")
        .alias(&["fdp_pli_select"]),
    refused("plids", Kind::Text, PLACEMENT, "Placement identifiers").alias(&["fdp_pli"]),
    refused("dp_scheme", Kind::Text, PLACEMENT, "File that holds the placement scheme"),
    refused(
        "gpu_dev_id",
        kind::COUNT,
        "it needs a GPU and a library that plumb does not link",
        "GPU of memory type cudamalloc",
    )
    .default("0"),
];
