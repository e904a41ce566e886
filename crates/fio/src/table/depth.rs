//! Options about the engine and how many I/Os are in flight.

use super::row::{Row, Set, kind, put, refused, works};
use plan::option::Kind;
use plan::{DEFAULT_ENGINE, EngineOptions};

/// Reason why data placement options are refused.
const PLACEMENT: &str = "it needs an NVMe device with data placement and the engine io_uring_cmd";

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
        "Which engine does the I/O",
    )
    .default(DEFAULT_ENGINE)
    .first(),
    works("iodepth", kind::POSITIVE, put!(Count, job.depth.depth), "I/Os in flight at most").default("1"),
    works(
        "iodepth_batch",
        kind::COUNT,
        put!(Count, job.depth.batch),
        "I/Os submitted in one go; 0 for as many as iodepth",
    )
    .default("1")
    .alias(&["iodepth_batch_submit"]),
    works(
        "iodepth_batch_complete_min",
        kind::COUNT,
        put!(Count, job.depth.reap_min),
        "I/Os reaped in one go at least; 0 polls",
    )
    .default("1")
    .alias(&["iodepth_batch_complete"]),
    works("iodepth_batch_complete_max", kind::COUNT, put!(Count, reap_max), "I/Os reaped in one go at most"),
    works("iodepth_low", kind::COUNT, put!(Count, low), "Once full, drain to this many before filling again"),
    works(
        "serialize_overlap",
        Kind::Bool,
        put!(Switch, job.depth.serialises_overlap),
        "Hold back I/Os that overlap one in flight",
    )
    .default("0"),
    works(
        "io_submit_mode",
        Kind::Word(&[("inline", "by the worker itself"), ("offload", "by threads, one for each I/O of iodepth")]),
        put!(Word, job.depth.offload, |word| word == "offload"),
        "Who hands I/Os to the engine",
    )
    .default("inline"),
    refused("fdp", Kind::Bool, PLACEMENT, "Flexible data placement").default("0"),
    refused("dataplacement", Kind::Text, PLACEMENT, "Kind of data placement")
        .default("none")
        .alias(&["data_placement"]),
    refused("plid_select", Kind::Text, PLACEMENT, "How placement ids are chosen")
        .default("roundrobin")
        .alias(&["fdp_pli_select"]),
    refused("plids", Kind::Text, PLACEMENT, "Placement ids").alias(&["fdp_pli"]),
    refused("dp_scheme", Kind::Text, PLACEMENT, "File with the placement scheme"),
    refused(
        "gpu_dev_id",
        kind::COUNT,
        "it needs a GPU and a library that plumb does not link",
        "GPU whose memory is used",
    )
    .default("0"),
];
