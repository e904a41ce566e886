//! The paths that an I/O can take, and what each may cost.

/// A path that an I/O can take.
pub(super) struct Row {
    pub(super) name: &'static str,
    /// What plumb and fio are given.
    pub(super) words: &'static str,
    /// Options that plumb is given as well, because fio lacks them.
    pub(super) own: &'static [&'static str],
    /// Bytes per I/O on average.
    pub(super) bytes: u64,
    pub(super) budget: Budget,
    /// The bare loop to compare with.
    pub(super) bare: Option<&'static str>,
    /// Instructions per I/O that plumb may take at most, batches of the kernel's choice included; `None` if they are
    /// not counted.
    pub(super) instructions: Option<f64>,
    /// I/Os of a round in full form.
    pub(super) ios: u64,
    pub(super) place: Place,
}

/// What is read or written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A file on tmpfs.
    File,
    /// The loop device.
    Device,
}

/// User time per I/O that plumb may take. Where a row has a bare loop and [`NEAR`] times its time is more, that is what
/// counts: no program is faster.
#[derive(Clone, Copy)]
pub(super) enum Budget {
    /// These ns on the machine on which the budget was set, where fio took `fio`: processors differ, their ratio does
    /// much less.
    Scaled { ns: f64, fio: f64 },
    /// By the bare loop alone.
    NearBare,
    /// Half of what fio takes.
    Half,
}

/// What plumb may take where the bare loop is the measure, as a part of it.
pub(super) const NEAR: f64 = 1.15;

const K: u64 = 1024;

/// A row on a file of 4 KiB I/Os, at most half of fio.
const HALF: Row = Row {
    name: "",
    words: "",
    own: &[],
    bytes: 4 * K,
    budget: Budget::Half,
    bare: None,
    instructions: None,
    ios: 2_400_000,
    place: Place::File,
};

const RING: &str = "--ioengine=io_uring --rw=randread --bs=4k --direct=1 --iodepth=32 --iodepth_batch=8 \
    --iodepth_batch_complete_min=8 --fixedbufs --registerfiles";

pub(super) const ROWS: [Row; 24] = [
    Row {
        name: "null",
        words: "--ioengine=null --rw=randread --bs=4k",
        budget: Budget::Scaled { ns: 20.0, fio: 116.0 },
        bare: Some("null"),
        instructions: Some(220.0),
        ios: 8_000_000,
        ..HALF
    },
    // Each I/O is due at once, so that what a rate costs is all that is added, with response time and lateness.
    Row {
        name: "null, even rate",
        words: "--ioengine=null --rw=randread --bs=4k --rate_iops=1000000000",
        instructions: Some(400.0),
        ios: 8_000_000,
        ..HALF
    },
    Row {
        name: "null, Poisson",
        words: "--ioengine=null --rw=randread --bs=4k --rate_iops=1000000000 --rate_process=poisson",
        instructions: Some(450.0),
        ios: 8_000_000,
        ..HALF
    },
    Row {
        name: "psync",
        words: "--ioengine=psync --rw=randread --bs=4k",
        budget: Budget::NearBare,
        bare: Some("psync"),
        instructions: Some(240.0),
        ..HALF
    },
    Row { name: "pvsync2", words: "--ioengine=pvsync2 --rw=randread --bs=4k", ..HALF },
    Row {
        name: "libaio",
        words: "--ioengine=libaio --rw=randread --bs=4k --direct=1 --iodepth=32 --iodepth_batch=8 --iodepth_batch_complete_min=8",
        budget: Budget::Scaled { ns: 35.0, fio: 224.0 },
        bare: Some("libaio"),
        instructions: Some(300.0),
        ios: 1_200_000,
        place: Place::Device,
        ..HALF
    },
    Row {
        name: "io_uring",
        words: RING,
        budget: Budget::Scaled { ns: 30.0, fio: 194.0 },
        bare: Some("io_uring"),
        instructions: Some(320.0),
        ios: 4_000_000,
        place: Place::Device,
        ..HALF
    },
    // The call that waits submits the last batch: half of the calls, and no latency of submissions.
    Row {
        name: "io_uring, one call",
        words: RING,
        own: &["--submit_and_wait=1"],
        budget: Budget::NearBare,
        bare: Some("io_uring, one call"),
        ios: 4_000_000,
        place: Place::Device,
        ..HALF
    },
    Row {
        name: "posixaio",
        words: "--ioengine=posixaio --rw=randread --bs=4k --iodepth=8",
        bare: Some("posixaio"),
        ios: 400_000,
        ..HALF
    },
    Row { name: "splice, 64k", words: "--ioengine=splice --rw=randread --bs=64k", bytes: 64 * K, ios: 300_000, ..HALF },
    Row {
        name: "mmap",
        words: "--ioengine=mmap --rw=randread --bs=4k",
        bare: Some("mmap 4096"),
        ios: 1_200_000,
        ..HALF
    },
    Row {
        name: "mmap, 64k",
        words: "--ioengine=mmap --rw=randread --bs=64k",
        bytes: 64 * K,
        bare: Some("mmap 65536"),
        ios: 200_000,
        ..HALF
    },
    Row {
        name: "zipf:1.2",
        words: "--ioengine=null --rw=randread --bs=4k --random_distribution=zipf:1.2",
        instructions: Some(450.0),
        ..HALF
    },
    Row { name: "pareto:0.2", words: "--ioengine=null --rw=randread --bs=4k --random_distribution=pareto:0.2", ..HALF },
    Row {
        name: "bsrange",
        words: "--ioengine=null --rw=randread --bsrange=4k-64k",
        // fio draws up to 64k above the least, then takes the most for those above it.
        bytes: 36 * K,
        ..HALF
    },
    Row {
        name: "bssplit",
        words: "--ioengine=null --rw=randread --bssplit=4k/50:8k/30:64k/20",
        bytes: 17 * K,
        instructions: Some(500.0),
        ..HALF
    },
    Row {
        name: "refill",
        words: "--ioengine=null --rw=randwrite --bs=4k --refill_buffers",
        // Callgrind has AVX2, with twice the instructions of AVX-512.
        instructions: Some(1900.0),
        ..HALF
    },
    Row {
        name: "refill, 64k",
        words: "--ioengine=null --rw=randwrite --bs=64k --refill_buffers",
        bytes: 64 * K,
        ios: 150_000,
        ..HALF
    },
    Row {
        name: "compress, 64k",
        words: "--ioengine=null --rw=randwrite --bs=64k --buffer_compress_percentage=50",
        bytes: 64 * K,
        ios: 150_000,
        ..HALF
    },
    Row {
        name: "dedupe, 64k",
        words: "--ioengine=null --rw=randwrite --bs=64k --dedupe_percentage=50",
        bytes: 64 * K,
        ios: 150_000,
        ..HALF
    },
    Row {
        name: "both, 64k",
        words: "--ioengine=null --rw=randwrite --bs=64k --buffer_compress_percentage=50 --dedupe_percentage=50",
        bytes: 64 * K,
        ios: 150_000,
        ..HALF
    },
    Row {
        name: "verify crc32c",
        words: "--ioengine=null --rw=randwrite --bs=4k --verify=crc32c --do_verify=0",
        instructions: Some(4700.0),
        ios: 600_000,
        ..HALF
    },
    // One block is one chain of steps, each of which waits for the one before: a digest is as fast as the processor.
    Row {
        name: "verify md5",
        words: "--ioengine=null --rw=randwrite --bs=4k --verify=md5 --do_verify=0",
        bare: Some("md5"),
        ios: 60_000,
        ..HALF
    },
    Row {
        name: "verify sha512",
        words: "--ioengine=null --rw=randwrite --bs=4k --verify=sha512 --do_verify=0",
        bare: Some("sha512"),
        ios: 60_000,
        ..HALF
    },
];
