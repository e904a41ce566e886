//! Options about the kind and order of I/Os.

use super::row::{Row, Set, kind, place, put, refused, words, works};
use crate::error::Complaint;
use crate::options::values::{UnitBase, distribution, floats, integer};
use plan::option::Kind;
use plan::{Generator, RwPattern, Step};

const MOVEMENT: Kind = Kind::Word(&[
    ("read", "sequential reads"),
    ("write", "sequential writes"),
    ("trim", "sequential trims"),
    ("randread", "random reads"),
    ("randwrite", "random writes"),
    ("randtrim", "random trims"),
    ("rw", "sequential reads and writes"),
    ("readwrite", "same as rw"),
    ("randrw", "random reads and writes"),
    ("trimwrite", "each block trimmed, then written"),
    ("randtrimwrite", "the same at random offsets"),
]);

const SEQUENCER: Kind = Kind::Word(&[
    ("sequential", "N consecutive blocks per random offset"),
    ("identical", "the same block N times per random offset"),
]);

words!(GENERATOR, generator -> Generator {
    "tausworthe" => Generator::Tausworthe, "three-component generator";
    "lfsr" => Generator::Lfsr, "linear-feedback shift register: each block once without a map";
    "tausworthe64" => Generator::Tausworthe64, "the same with 64 bits";
});

const MODIFIER_EXAMPLE: &str =
    "write rw=read:8k to leave 8 KiB out after each block, rw=randread:8 for 8 blocks per draw";

/// Parses the N of `rw=...:N`: bytes for sequential I/O, a count for random I/O.
fn modifier(text: &str, base: UnitBase) -> Result<i64, Complaint> {
    match integer(text, base) {
        Ok(0) | Err(_) => Err(Complaint::new(format!("has no offset modifier in `{text}`"), MODIFIER_EXAMPLE)),
        Ok(number) => Ok(number),
    }
}

/// A share in percent.
fn share(percent: u64) -> Result<u8, Complaint> {
    let share = u8::try_from(percent).ok().filter(|&share| share <= 100);
    share.ok_or_else(|| Complaint::new(format!("has a share of {percent}"), "give 0 to 100"))
}

pub(super) const ROWS: &[Row] = &[
    works(
        "rw",
        MOVEMENT,
        Set::Word(|draft, word, rest| {
            let load = &mut draft.job.load;
            let pattern = RwPattern::parse(word).ok_or_else(|| Complaint::plain("is not a pattern"))?;
            (load.mix, load.random) = (pattern.mix, pattern.random);
            load.step = match rest.map(|rest| modifier(rest, draft.unit_base)).transpose()? {
                None => Step::Plain,
                Some(bytes) if !load.random => Step::Skip(bytes),
                Some(blocks) if blocks < 1 => {
                    return Err(Complaint::new("draws less than one block at a time", MODIFIER_EXAMPLE));
                }
                Some(blocks) => Step::Run(u32::try_from(blocks).unwrap_or(1)),
            };
            Ok(())
        }),
        "Type of I/O pattern",
    )
    .default("read")
    .alias(&["readwrite"]),
    works(
        "rw_sequencer",
        SEQUENCER,
        put!(Word, identical, |word| word == "identical"),
        "How the N of rw=rand..:N modifies offsets",
    )
    .default("sequential"),
    works(
        "rwmixread",
        kind::PERCENT,
        put!(Small, job.load.read_percent),
        "Percentage of a mixed workload that is reads",
    )
    .default("50"),
    works(
        "rwmixwrite",
        kind::PERCENT,
        put!(Small, job.load.read_percent, |percent| 100 - percent),
        "Percentage of a mixed workload that is writes; the last of the two given applies",
    )
    .default("50"),
    refused(
        "rwmixcycle",
        Kind::Text,
        "withdrawn: the mix is drawn for each I/O",
        "Interval over which the mix is balanced",
    )
    .never(),
    works(
        "randrepeat",
        Kind::Bool,
        put!(Switch, job.load.repeat_per_loop),
        "Use the same random sequence in every run",
    )
    .default("1")
    .alias(&["allrandrepeat"]),
    works("randseed", kind::BYTES, put!(Number, job.load.seed), "Seed of the random generators").default("0x89"),
    works(
        "random_generator",
        GENERATOR,
        put!(Word, job.load.generator, |word| generator(word)?),
        "Random generator for offsets",
    )
    .default("tausworthe"),
    works(
        "random_distribution",
        Kind::Text,
        Set::Text(|draft, text, _| {
            draft.job.load.distribution = distribution(text, draft.unit_base)?;
            Ok(())
        }),
        "Distribution of random offsets",
    )
    .default("random"),
    works(
        "random_sequence_stride",
        Kind::Bool,
        put!(Switch, job.load.sequence_strides),
        "Each round of random_distribution=sequence goes on after the last one",
    )
    .default("0"),
    works(
        "percentage_random",
        Kind::ThreeWay,
        Set::Three(|draft, values| place(&mut draft.job.load.percent_random, values, share)),
        "Percentage of a random workload that is random instead of sequential",
    )
    .default("100,100,100"),
    refused(
        "percentage_sequential",
        Kind::Text,
        "withdrawn: use percentage_random",
        "Percentage of I/Os that are sequential",
    )
    .never(),
    works(
        "norandommap",
        Kind::Flag,
        put!(Switch, job.load.cover_all, |off| !off),
        "Do not track past blocks: some may be used more than once, others never",
    ),
    works(
        "softrandommap",
        Kind::Bool,
        put!(Switch, job.load.soft_map),
        "Continue without a random map if there is not enough memory for it",
    )
    .default("0"),
    works(
        "sprandom",
        Kind::Bool,
        put!(Switch, sprandom),
        "Bring an SSD into the state of long random writing in one pass",
    )
    .default("0"),
    works(
        "spr_num_regions",
        kind::COUNT,
        put!(Count, sprandom_plan.regions),
        "Number of regions that sprandom writes the flash in",
    )
    .default("100"),
    works(
        "spr_op",
        Kind::Floats { most: 1 },
        Set::Text(|draft, text, _| {
            let share = floats(text, 1)?.first().copied().unwrap_or(0.0);
            if !(share > 0.0 && share <= 1.0) {
                return Err(Complaint::new(format!("is a fraction of {share}"), "give more than 0 and at most 1"));
            }
            draft.sprandom_plan.over_provisioning = share;
            Ok(())
        }),
        "Flash that the device does not show, as a fraction of its size, for sprandom",
    )
    .default("0.15"),
    works(
        "spr_cs",
        kind::BYTES,
        put!(Number, sprandom_plan.cache_bytes),
        "Size of the device's write cache for sprandom; 0 for none",
    )
    .default("0"),
    works("loops", kind::POSITIVE, put!(Count, job.limits.loops), "Number of times to run the job").default("1"),
    works(
        "number_ios",
        kind::BYTES,
        put!(Number, job.limits.ios, |ios| (ios > 0).then_some(ios)),
        "Number of I/Os after which the job ends; 0 for no limit",
    )
    .default("0"),
    refused(
        "num_range",
        kind::COUNT,
        "only engines that pass NVMe commands through trim several ranges at once",
        "Number of ranges per trim",
    )
    .default("1"),
];
