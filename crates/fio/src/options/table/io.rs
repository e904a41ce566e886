//! Options about the kind and order of I/Os.

use super::row::{Outcome, rows, words};
use crate::error::Complaint;
use crate::options::draft::Draft;
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

fn movement(draft: &mut Draft, word: &str, rest: Option<&str>) -> Outcome {
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
}

/// The flash that a device does not show, as a fraction.
fn over_provisioning(text: &str) -> Result<f64, Complaint> {
    let share = floats(text, 1)?.first().copied().unwrap_or(0.0);
    if share > 0.0 && share <= 1.0 {
        return Ok(share);
    }
    Err(Complaint::new(format!("is a fraction of {share}"), "give more than 0 and at most 1"))
}

rows! {
    "rw" | "readwrite": MOVEMENT, "read" => Word(fn movement); "Type of I/O pattern";
    "rw_sequencer": SEQUENCER, "sequential" => Word(identical, |word| word == "identical");
        "How the N of rw=rand..:N modifies offsets";
    "rwmixread": PERCENT, "50" => Small(job.load.read_percent); "Percentage of a mixed workload that is reads";
    "rwmixwrite": PERCENT, "50" => Small(job.load.read_percent, |percent| 100 - percent);
        "Percentage of a mixed workload that is writes; the last of the two given applies";
    "rwmixcycle": TEXT => Never("withdrawn: the mix is drawn for each I/O"); "Interval over which the mix is balanced";
    "randrepeat" | "allrandrepeat": BOOL, "1" => Switch(job.load.repeat_per_loop);
        "Use the same random sequence in every run";
    "randseed": BYTES, "0x89" => Number(job.load.seed); "Seed of the random generators";
    "random_generator": GENERATOR, "tausworthe" => Word(job.load.generator, generator); "Random generator for offsets";
    "random_distribution": TEXT, "random"
        => Text(job.load.distribution, |text, context| distribution(text, context.unit_base)?);
        "Distribution of random offsets";
    "random_sequence_stride": BOOL, "0" => Switch(job.load.sequence_strides);
        "Each round of random_distribution=sequence goes on after the last one";
    "percentage_random": THREE, "100,100,100" => Three(job.load.percent_random, share);
        "Percentage of a random workload that is random instead of sequential";
    "percentage_sequential": TEXT => Never("withdrawn: use percentage_random");
        "Percentage of I/Os that are sequential";
    "norandommap": FLAG => Switch(job.load.cover_all, |off| !off);
        "Do not track past blocks: some may be used more than once, others never";
    "softrandommap": BOOL, "0" => Switch(job.load.soft_map);
        "Continue without a random map if there is not enough memory for it";
    "sprandom": BOOL, "0" => Switch(sprandom); "Bring an SSD into the state of long random writing in one pass";
    "spr_num_regions": COUNT, "100" => Count(sprandom_plan.regions);
        "Number of regions that sprandom writes the flash in";
    "spr_op": floats(1), "0.15" => Text(sprandom_plan.over_provisioning, over_provisioning);
        "Flash that the device does not show, as a fraction of its size, for sprandom";
    "spr_cs": BYTES, "0" => Number(sprandom_plan.cache_bytes);
        "Size of the device's write cache for sprandom; 0 for none";
    "loops": POSITIVE, "1" => Count(job.limits.loops); "Number of times to run the job";
    "number_ios": BYTES, "0" => Number(job.limits.ios, |ios| (ios > 0).then_some(ios));
        "Number of I/Os after which the job ends; 0 for no limit";
    "num_range": COUNT, "1" => Refused("each trim of plumb has one range");
        "Number of ranges per trim";
}
