//! Which options are drawn, and what values they are given.
//!
//! The kind of an option gives its values, its smallest and largest among them; options whose values would take long or
//! much, or are text, have their own pool. A new option of text has no values until it stands here, and a test says so.

use super::draw::Draw;
use plan::option::{Kind, OptionSpec, Support, TimeUnit};

/// Options that a file is built around, or that must not be drawn, and why.
const LEFT_OUT: &[(&str, &str)] = &[
    ("name", "the section says it"),
    ("ioengine", "the case says it"),
    ("rw", "the case says it"),
    ("size", "the case says it"),
    ("runtime", "the case bounds it"),
    ("filename", "the case says which device"),
    ("cgroup_nodelete", "would leave groups on the machine"),
    ("ioscheduler", "would change devices that are not the case's"),
    ("fill_device", "writes until 48 MiB are full, with blocks of 512 bytes for minutes"),
    // Engines' own.
    ("cmd_type", "needs an NVMe device"),
    ("hostname", "needs a peer"),
    ("port", "needs a peer"),
    ("protocol", "needs a peer"),
    ("listen", "needs a peer"),
    ("pingpong", "needs a peer"),
    ("nodelay", "needs a peer"),
    ("interface", "needs a peer"),
    ("ttl", "needs a peer"),
    ("window_size", "needs a peer"),
    ("mss", "needs a peer"),
    ("skip_bad", "needs raw flash"),
    ("readfua", "needs a SCSI disk"),
    ("writefua", "needs a SCSI disk"),
    ("sg_write_mode", "needs a SCSI disk"),
    ("stream_id", "needs a SCSI disk"),
    ("fdp", "needs an NVMe device"),
    ("dataplacement", "needs an NVMe device"),
    ("plid_select", "needs an NVMe device"),
    ("plids", "needs an NVMe device"),
    ("dp_scheme", "needs an NVMe device"),
    ("write_mode", "needs an NVMe device"),
    ("verify_mode", "needs an NVMe device"),
    ("deac", "needs an NVMe device"),
    ("md_per_io_size", "needs an NVMe device"),
    ("pi_act", "needs an NVMe device"),
    ("pi_chk", "needs an NVMe device"),
    ("apptag", "needs an NVMe device"),
    ("apptag_mask", "needs an NVMe device"),
];

/// Engines that need what a test has not: a peer, raw flash, a SCSI disk.
pub(crate) const ENGINES_LEFT_OUT: &[&str] = &["net", "netsplice", "mtd", "sg", "io_uring_cmd"];

/// Values of options whose kind does not bound them well enough.
#[rustfmt::skip]
const POOLS: &[(&str, &[&str])] = &[
    // Amounts: a case has 48 MiB.
    ("nrfiles", &["1", "2", "7", "40"]),
    ("openfiles", &["0", "1", "3", "1000"]),
    ("io_size", &["0", "4k", "100k", "1m", "8m", "50%", "100%"]),
    ("filesize", &["4k", "64k", "1m", "8k-256k", "512-1m"]),
    ("offset", &["0", "4k", "33k", "10%", "99%", "1z"]),
    ("offset_increment", &["0", "4k", "64k", "5%"]),
    ("offset_align", &["0", "512", "4k", "1m"]),
    ("number_ios", &["0", "1", "17", "1000", "9223372036854775807"]),
    ("numjobs", &["1", "2", "3", "5"]),
    ("jobs_per_thread", &["1", "2", "3", "4294967295"]),
    ("loops", &["1", "2", "3", "4294967295"]),
    ("iodepth", &["1", "2", "4", "16", "33", "128"]),
    ("iodepth_batch", &["0", "1", "3", "16", "4294967295"]),
    ("bs", &["512", "4k", "1000", "64k", "4k,8k", "1k,2k,4k", "1m", "0", "3"]),
    ("ba", &["0", "512", "4k", "4k,512", "64k"]),
    ("bsrange", &["512-4k", "1k-16k", "4k-4k", "4k-64k,512-1k", "1-100"]),
    ("bssplit", &["4k/50:8k/50", "512/10:4k/90", "4k/100", "4k:8k:16k", "1k/10:4k/,8k/100", ",8k/30", "4k/60:8k/50"]),
    ("ramp_size", &["0", "4k", "100k"]),
    ("ramp_time", &["0", "10ms", "50ms"]),
    ("startdelay", &["0", "20ms", "10ms-60ms"]),
    ("thinktime", &["0", "1", "100", "2ms"]),
    ("thinktime_spin", &["0", "50", "1ms"]),
    ("thinkcycles", &["0", "10", "10000"]),
    ("thinktime_blocks", &["1", "3", "100", "4294967295"]),
    ("thinktime_iotime", &["0", "1ms", "20ms"]),
    ("rate", &["1m", "512k,1m", ",2m", "0", "1t", "9223372036854775807"]),
    ("rate_min", &["1k", "1,1", "1g"]),
    ("rate_iops", &["1000", "200,300", "1", "4294967295", "0"]),
    ("rate_iops_min", &["1", "10,10"]),
    ("rate_cycle", &["0", "1", "1000", "4294967295"]),
    ("flow_sleep", &["0", "100", "5000"]),
    ("percentage_random", &["0", "50", "100", "10,90", "100,0,50"]),
    ("fsync", &["0", "1", "16", "4294967295"]),
    ("fdatasync", &["0", "1", "16", "4294967295"]),
    // Memory of the machine.
    ("lockmem", &["0", "4k", "64k"]),
    ("iomem_align", &["0", "512", "4096", "65536", "3"]),
    ("hugepage-size", &["2m", "4m"]),
    ("mem", &["malloc", "shm", "mmap", "mmapshared", "mmap:buffers", "mmaphuge", "shmhuge"]),
    ("buffer_compress_chunk", &["512", "4k", "0", "1m"]),
    ("verify_async", &["0", "1", "3"]),
    ("log_compression", &["1k", "64k", "1m"]),
    // Times that a case has.
    ("latency_window", &["10ms", "50ms", "1", "5s"]),
    ("max_latency", &["0", "10us", "1ms", "1s", "1s,1ms"]),
    ("stuck_after", &["0", "1s", "30s"]),
    ("steadystate_duration", &["0", "1", "10"]),
    ("steadystate_ramp_time", &["0", "10ms"]),
    ("steadystate_check_interval", &["1", "2", "3600"]),
    ("replay_align", &["1", "512", "4096", "3"]),
    ("replay_scale", &["1", "2", "1000"]),
    ("replay_time_scale", &["1000", "10000", "4294967295"]),
    // Text.
    ("description", &["soak", "a \"quoted\" text", "<b>&amp;", "=1+1"]),
    ("directory", &["sub", "sub:other", "."]),
    ("opendir", &["sub", "other"]),
    ("filename_format", &["$jobname.$jobnum.$filenum", "f.$filenum", "g.$clientuid.$jobnum"]),
    ("wait_for", &["a", "b", "absent"]),
    ("exec_prerun", &["true", "false", "echo before"]),
    ("exec_postrun", &["true", "false", "echo after"]),
    ("comm", &["soak", "a name of more than fifteen letters"]),
    ("cpumask", &["1", "2", "3"]),
    ("cpus_allowed", &["0", "1", "0-1", "0,1"]),
    ("numa_cpu_nodes", &["0"]),
    ("numa_mem_policy", &["default", "local", "prefer:0", "bind:0", "interleave:0"]),
    ("cgroup", &["plumb-soak"]),
    ("uid", &["0", "65534"]),
    ("gid", &["0", "65534"]),
    ("nice", &["0", "1", "19", "-5"]),
    ("buffer_pattern", &["0xdeadbeef", "\"text\"", "0x00", "-1", "0xff\"a\"17", "'in.bin'"]),
    ("verify_pattern", &["0xdeadbeef", "\"text\"", "0x00", "%o", "0xff%o\"a\""]),
    ("verify_async_cpus", &["0", "0-1"]),
    ("random_distribution", &["random", "zipf:1.1", "zipf:0.5:0.9", "pareto:0.2", "normal:10", "zoned:60/10:30/20:8/30:2/40",
        "zoned_abs:60/64k:40/64k", "zoned:50/50:50/50,100/100"]),
    ("write_iolog", &["record.log"]),
    ("rate_profile", &["profile.txt"]),
    ("read_iolog", &["replay.log", "replay3.log"]),
    ("merge_blktrace_file", &["merged.bin"]),
    ("merge_blktrace_scalars", &["100", "50:200"]),
    ("merge_blktrace_iters", &["1", "2:3"]),
    ("replay_redirect", &["redirected"]),
    ("replay_skip", &["read", "write,trim", "sync"]),
    ("zone_reset_threshold", &["0", "0.5", "1"]),
    ("zone_reset_frequency", &["0", "0.5", "1"]),
    ("zonerange", &["0", "64k", "256k"]),
    ("zonesize", &["0", "16k", "64k"]),
    ("zonecapacity", &["0", "16k", "48k"]),
    ("zoneskip", &["0", "16k", "1z"]),
    ("steadystate", &["iops:10%", "bw:100", "iops_slope:1%", "bw_slope:0.5%"]),
    ("ignore_error", &["EIO", "ENOSPC:EDQUOT", "5,28", ":EIO:EIO"]),
    ("percentile_list", &["50", "0:100", "1:50:99:99.99", "99.999999"]),
    ("latency_percentile", &["50", "99.9", "100"]),
    ("write_consent", &["16777216", "SERIAL,1"]),
    ("write_bw_log", &["bw", ""]),
    ("write_lat_log", &["lat", ""]),
    ("write_iops_log", &["iops", ""]),
    ("write_hist_log", &["hist", ""]),
    ("log_compression_cpus", &["0", "0-1"]),
    ("log_hist_msec", &["0", "10", "100"]),
    ("flow_watermark", &["1"]),
    ("verifysort", &["1"]),
    ("verifysort_nr", &["1"]),
    ("sync_file_range", &["write:8", "wait_before,write,wait_after:1", "wait_after:100"]),
    ("file_service_type", &["roundrobin", "roundrobin:3", "random:8", "sequential", "zipf:1.2", "pareto:0.3", "normal:20"]),
    // Engines' own.
    ("sim_faults", &["read:100:error=EIO", "any:7:short=512", "write:50:error=ENOSPC,read:30:delay=500", "sync:2:error=EIO"]),
    ("sim_journal", &["journal.txt"]),
    ("sim_sigma", &["0", "0.5", "5"]),
    ("sim_noise", &["0.03", "0.1:0.8", "0.5:0.99:0.001"]),
    ("sim_run", &["1", "7", "100000"]),
    ("sim_level", &["0.03", "0.1:0.9"]),
    ("sim_drift", &["0", "0.001", "-0.0001"]),
    ("sim_parallelism", &["1", "2", "64"]),
    ("sim_rate", &["1m", "1g", "1"]),
    // None at all is a nanosecond of virtual time per I/O, and 300 ms of that are minutes of ours: found.rs has a short
    // one.
    ("sim_service_time", &["1", "100", "10ms"]),
    ("sim_bucket", &["1000:5000", "1000000:10000"]),
    ("sim_cliff", &["65536:2", "1:1.5"]),
    ("sim_stall", &["0.1:0.01", "10:2"]),
    ("sim_change", &["0.05:2", "60:0.5"]),
    ("sim_settling", &["0", "50ms", "10s"]),
    ("program", &["true", "false", "sleep", "no-such-program"]),
    ("arguments", &["0.05", "%r", ""]),
    ("grace_time", &["0", "1"]),
    ("donorname", &["donor"]),
    ("cpuload", &["1", "50", "100"]),
    ("cpuchunks", &["0", "1000", "50000"]),
    ("cmdprio_percentage", &["0", "50", "100", "10,90"]),
    ("cmdprio_class", &["1", "2,3"]),
    ("cmdprio_hint", &["0", "1023"]),
    ("cmdprio", &["0", "7", "1,2"]),
    ("cmdprio_bssplit", &["4k/50", "4k/10/1/2:8k/90/2/3"]),
    ("sqthread_poll_cpu", &["0", "1"]),
    ("batch_wait", &["0", "1", "50", "2ms"]),
    ("busy_poll", &["0", "1", "50", "2ms"]),
];

/// Options of jobs and of the engines that are drawn from.
pub(crate) fn drawn() -> impl Iterator<Item = &'static str> {
    all().filter(|spec| spec.support == Support::Works && !is_left_out(spec.name)).map(|spec| spec.name)
}

/// Options of a job that are drawn whatever its engine is.
pub(crate) fn of_jobs() -> impl Iterator<Item = &'static OptionSpec> {
    fio::options().filter(|spec| spec.support == Support::Works && !is_left_out(spec.name))
}

/// Options of an engine that are drawn.
pub(crate) fn of_engine(engine: &str) -> impl Iterator<Item = &'static OptionSpec> {
    let engine = engine::ENGINES.iter().find(|spec| spec.name == engine);
    let options = engine.into_iter().flat_map(|spec| spec.options);
    options.filter(|spec| spec.support == Support::Works && !is_left_out(spec.name))
}

/// Names that stand in the lists above.
pub(crate) fn listed() -> impl Iterator<Item = &'static str> {
    LEFT_OUT.iter().map(|&(name, _)| name).chain(POOLS.iter().map(|&(name, _)| name))
}

/// The declaration of an option.
pub(crate) fn spec(name: &str) -> Option<&'static OptionSpec> {
    all().find(|spec| spec.name == name)
}

fn all() -> impl Iterator<Item = &'static OptionSpec> {
    fio::options().chain(engine::ENGINES.iter().flat_map(|engine| engine.options))
}

fn is_left_out(name: &str) -> bool {
    LEFT_OUT.iter().any(|&(listed, _)| listed == name)
}

/// A value for an option; `None` where nothing shows what it takes.
pub(crate) fn of(name: &str, draw: &mut Draw) -> Option<String> {
    if let Some((_, pool)) = POOLS.iter().find(|&&(listed, _)| listed == name) {
        return Some((*draw.one(pool)).to_owned());
    }
    let one = |draw: &mut Draw, pool: &[&str]| (*draw.one(pool)).to_owned();
    Some(match spec(name)?.kind {
        Kind::Text => return None,
        Kind::Word(words) => draw.one(words).0.to_owned(),
        Kind::Integer { least, most } => {
            let near = least.saturating_add(i64::try_from(draw.below(20)).expect("small")).min(most);
            draw.one(&[near, near, near, least, least.saturating_add(1).min(most), most]).to_string()
        }
        Kind::Size { percent: true } => one(draw, &["0", "512", "4k", "1m", "1%", "50%", "100%"]),
        Kind::Size { percent: false } => one(draw, &["0", "1", "512", "4k", "64k", "1m", "9223372036854775807"]),
        Kind::ThreeWay => one(draw, &["0", "1", "100", "50,50", "1,2,3"]),
        Kind::Range => one(draw, &["1-2", "512-4k"]),
        Kind::Time(TimeUnit::Seconds) => one(draw, &["0", "10ms", "100ms"]),
        Kind::Time(_) => one(draw, &["0", "1", "100", "1ms", "20ms"]),
        Kind::Bool => one(draw, &["0", "1"]),
        Kind::Flag => one(draw, &["", "1", "0"]),
        Kind::Floats { .. } => one(draw, &["50", "1", "99.9"]),
    })
}
