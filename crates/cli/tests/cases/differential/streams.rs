//! What shows only in the I/Os themselves or in what the kernel is asked for, held against fio.
//!
//! The I/Os come from `--debug=io`, one `queue:` line each. Where a workload fixes them, both programs issue the same,
//! in the same order or as a set; where chance draws them, both issue as many, and their shares agree: by place, by
//! size, by direction, by file, of those that go on where the last one ended, and of the most frequent places. What the
//! kernel is asked for comes from strace: as many lines with the same words.

use super::case::Case;
use std::collections::{BTreeMap, BTreeSet};

/// How closely the I/Os of both are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Ios {
    /// One by one.
    Same,
    /// The same, in any order.
    SameSet,
    /// As many, and shares within 6 %.
    Alike,
    /// The same, whatever the places: the frequent ones are scattered by each program's own hash.
    Scattered,
}

/// One I/O, as `--debug=io` prints it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Io {
    file: String,
    direction: u8,
    offset: u64,
    length: u64,
}

/// The I/Os that a run prints.
fn message(output: &str) -> Vec<Io> {
    let queued = output.lines().filter(|line| line.starts_with("io ")).filter_map(|line| line.split_once("queue: "));
    queued.filter_map(|(_, io)| read(io.split_once(": ")?.1)).collect()
}

fn read(text: &str) -> Option<Io> {
    let (text, file) = text.split_once(",file=")?;
    let field = |name: &str| text.split(',').find_map(|pair| pair.strip_prefix(name)).map(str::to_owned);
    let hex = |name: &str| u64::from_str_radix(field(name)?.trim_start_matches("0x"), 16).ok();
    let direction = field("ddir=")?.parse().ok()?;
    // fio shows the place of the write before a sync as the sync's.
    let (offset, length) = if direction >= 3 { (0, 0) } else { (hex("off=")?, hex("len=")?) };
    Some(Io { file: file.to_owned(), direction, offset, length })
}

/// What differs, in words.
pub(super) fn differences(how: Ios, oracle: &str, ours: &str) -> Vec<String> {
    let (mut theirs, mut mine) = (message(oracle), message(ours));
    if theirs.is_empty() {
        return vec!["fio prints no I/O".to_owned()];
    }
    if how == Ios::SameSet {
        theirs.sort();
        mine.sort();
    }
    if matches!(how, Ios::Alike | Ios::Scattered) {
        return unlike(how, &theirs, &mine);
    }
    match theirs.iter().zip(&mine).position(|(theirs, mine)| theirs != mine) {
        Some(at) => vec![format!("I/O {at}: fio {:?}, ours {:?}", theirs[at], mine[at])],
        None if theirs.len() != mine.len() => vec![format!("I/Os: fio {}, ours {}", theirs.len(), mine.len())],
        None => Vec::new(),
    }
}

/// A share may differ by as much. A thousand draws of a half scatter by 1.6 %, and both seeds are fixed.
const TOLERANCE: f64 = 0.06;

fn unlike(how: Ios, theirs: &[Io], mine: &[Io]) -> Vec<String> {
    let mut found = Vec::new();
    if theirs.len().abs_diff(mine.len()) * 10 > theirs.len() {
        found.push(format!("I/Os: fio {}, ours {}", theirs.len(), mine.len()));
    }
    let end = theirs.iter().chain(mine).map(|io| io.offset + io.length).max().unwrap_or(1);
    let (theirs, mine) = (shares(theirs, end), shares(mine, end));
    let names: BTreeSet<&String> = theirs.keys().chain(mine.keys()).collect();
    let names = names.into_iter().filter(|name| how == Ios::Alike || !name.contains("place in"));
    for name in names {
        let [fio, ours] = [&theirs, &mine].map(|shares| shares.get(name).copied().unwrap_or(0.0));
        if (fio - ours).abs() > TOLERANCE {
            found.push(format!("share of {name}: fio {fio:.3}, ours {ours:.3}"));
        }
    }
    found
}

/// Shares of the I/Os by what they have in common.
fn shares(ios: &[Io], end: u64) -> BTreeMap<String, f64> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut places: BTreeMap<(&str, u64), usize> = BTreeMap::new();
    let mut last: BTreeMap<(&str, u8), &Io> = BTreeMap::new();
    for io in ios {
        let mut count = |name: String| *counts.entry(name).or_default() += 1;
        count(format!("direction {}", io.direction));
        count(format!("file {}", io.file));
        count(format!("length {}", io.length.next_power_of_two()));
        count(format!("place in eighth {}", io.offset * 8 / end));
        for step in [512, 4096, 8192].into_iter().filter(|step| io.offset.is_multiple_of(*step)) {
            count(format!("place in steps of {step}"));
        }
        if let Some(before) = last.insert((&io.file, io.direction), io) {
            if before.offset + before.length == io.offset {
                count("going on".to_owned());
            }
            if before.offset == io.offset {
                count("again".to_owned());
            }
        }
        *places.entry((&io.file, io.offset)).or_default() += 1;
    }
    let mut often: Vec<usize> = places.values().copied().collect();
    often.sort_unstable_by(|one, other| other.cmp(one));
    counts.insert("the eight places used most".to_owned(), often.iter().take(8).sum());
    counts.insert("different places".to_owned(), places.len());
    counts.into_iter().map(|(name, count)| (name, count as f64 / ios.len() as f64)).collect()
}

/// How many lines of a trace hold each of these words: `call words`, of which all must be there.
pub(super) fn asked(trace: &str, wanted: &[&str]) -> Vec<usize> {
    let holds = |line: &str, words: &str| words.split(' ').all(|word| line.contains(word));
    wanted.iter().map(|words| trace.lines().filter(|line| holds(line, words)).count()).collect()
}

/// Cases whose I/Os are compared.
pub(super) fn ios() -> Vec<Case> {
    let io = Case::ios;
    vec![
        io("ios_zipf", Ios::Scattered, "--filename=f --size=4m --rw=randread --random_distribution=zipf:1.2"),
        io("ios_pareto", Ios::Scattered, "--filename=f --size=4m --rw=randread --random_distribution=pareto:0.2"),
        io(
            "ios_zoned",
            Ios::Alike,
            "--filename=f --size=4m --rw=randread --random_distribution=zoned:60/10:30/20:10/70",
        ),
        io(
            "ios_zoned_by_size",
            Ios::Alike,
            "--filename=f --size=4m --rw=randread --random_distribution=zoned_abs:60/1m:40/3m",
        ),
        io("ios_some_at_random", Ios::Alike, "--filename=f --size=4m --rw=randread --percentage_random=30"),
        io("ios_a_share_of_reads", Ios::Alike, "--filename=f --size=4m --rw=randrw --rwmixread=80"),
        io("ios_a_share_of_writes", Ios::Alike, "--filename=f --size=4m --rw=randrw --rwmixwrite=80"),
        io("ios_sizes_of_a_range", Ios::Alike, "--filename=f --size=16m --rw=randread --bsrange=4k-64k --norandommap"),
        io("ios_split_sizes", Ios::Alike, "--filename=f --size=8m --rw=read --bssplit=4k/30:8k/30:16k/40"),
        io("ios_without_a_map", Ios::Alike, "--filename=f --size=4m --rw=randread --norandommap"),
        io("ios_aligned_to_less", Ios::Alike, "--filename=f --size=4m --rw=randread --ba=512"),
        io("ios_aligned_to_more", Ios::Alike, "--filename=f --size=4m --rw=randread --blockalign=8k"),
        io("ios_the_same_again", Ios::Alike, "--filename=f --size=16m --rw=randread:4 --rw_sequencer=identical"),
        io("ios_runs_of_four", Ios::Alike, "--filename=f --size=4m --rw=randread:4 --rw_sequencer=sequential"),
        io("ios_unaligned_sizes", Ios::Alike, "--filename=f --size=4m --rw=write --bsrange=1000-3000 --bs_unaligned"),
        io("ios_files_in_sequence", Ios::Same, "--size=256k --nrfiles=4 --rw=read --file_service_type=sequential"),
        io("ios_files_by_eights", Ios::Same, "--size=256k --nrfiles=4 --rw=write --file_service_type=roundrobin:8"),
        io("ios_few_files_open", Ios::Same, "--size=256k --nrfiles=8 --rw=write --openfiles=3"),
        io("ios_sizes_by_order", Ios::Same, "--filename=f --size=256k --rw=write --bs=4k,8k --bs_is_seq_rand=1"),
        io("ios_from_an_offset", Ios::Same, "--filename=f --size=256k --rw=read --offset=64k"),
        io(
            "ios_from_an_aligned_offset",
            Ios::Same,
            "--filename=f --size=16k --offset=10% --offset_align=512 --rw=read",
        )
        .file("f", &"x".repeat(100_000)),
        io(
            "ios_clones_further_on",
            Ios::SameSet,
            "--filename=f --size=64k --numjobs=3 --offset_increment=64k --rw=read",
        )
        .file("f", &"x".repeat(262_144)),
        io("ios_holes", Ios::Same, "--filename=f --size=256k --rw=read:8k"),
        io("ios_behind_the_end", Ios::Same, "--filename=f --size=16k --rw=write --file_append=1")
            .file("f", &"x".repeat(8_192)),
        io(
            "ios_a_backlog",
            Ios::Same,
            "--filename=f --size=256k --rw=write --verify=crc32c --verify_backlog=16 --verify_state_save=0",
        ),
        io(
            "ios_a_backlog_by_batches",
            Ios::Same,
            "--filename=f --size=256k --rw=write --verify=crc32c --verify_backlog=16 --verify_backlog_batch=4 --verify_state_save=0",
        ),
        io(
            "ios_strides",
            Ios::Same,
            "--filename=f --size=256k --rw=read --zonemode=strided --zonesize=8k --zonerange=16k --zoneskip=8k",
        ),
        io("ios_syncs_between", Ios::Same, "--filename=f --size=64k --rw=write --fsync=4"),
        io("ios_trims_before_writes", Ios::Same, "--size=64k --rw=trimwrite --ioengine=null"),
    ]
}

/// Cases whose system calls are compared.
pub(super) fn calls() -> Vec<Case> {
    let call = Case::calls;
    vec![
        call("calls_advice_of_random_reads", "fadvise64", &["FADV_RANDOM", "FADV_DONTNEED"], "--rw=randread"),
        call("calls_advice_of_ones_own", "fadvise64", &["FADV_SEQUENTIAL"], "--rw=randread --fadvise_hint=sequential"),
        call("calls_no_invalidation", "fadvise64", &["FADV_DONTNEED"], "--filename=f --rw=read --invalidate=0")
            .file("f", &"x".repeat(65_536)),
        call(
            "calls_space_beyond_the_size",
            "fallocate",
            &["fallocate( KEEP_SIZE 65536"],
            "--rw=write --fallocate=keep",
        ),
        call("calls_space_by_truncation", "ftruncate", &["ftruncate( 65536"], "--rw=write --fallocate=truncate"),
        call("calls_no_space_ahead", "fallocate", &["fallocate("], "--rw=write --fallocate=none"),
        call("calls_fsync_on_close", "fsync", &["fsync("], "--rw=write --fsync_on_close=1"),
        call("calls_end_fsync", "fsync", &["fsync("], "--rw=write --end_fsync=1"),
        call("calls_fsync", "fsync", &["fsync("], "--rw=write --fsync=4"),
        call("calls_fdatasync", "fdatasync", &["fdatasync("], "--rw=write --fdatasync=4"),
        call(
            "calls_syncs_of_ranges",
            "sync_file_range",
            &["sync_file_range("],
            "--rw=write --sync_file_range=write,wait_after:4",
        ),
        call("calls_no_sync_of_a_layout", "fsync", &["fsync("], "--rw=read --create_fsync=0"),
        call("calls_direct", "open,openat", &["a.0.0 O_DIRECT"], "--rw=write --direct=1"),
        call("calls_not_buffered", "open,openat", &["a.0.0 O_DIRECT"], "--rw=write --buffered=0"),
        call("calls_dsync", "open,openat", &["a.0.0 O_DSYNC"], "--rw=write --sync=dsync"),
        call("calls_sync", "open,openat", &["a.0.0 O_SYNC"], "--rw=write --sync=1"),
        call("calls_made_when_opened", "open,openat", &["a.0.0 O_CREAT"], "--rw=write --create_on_open=1"),
        call("calls_a_priority", "ioprio_set", &["CLASS_RT, 3)"], "--ioengine=null --prio=3 --prioclass=1"),
        call("calls_nice", "setpriority", &["setpriority( 5)"], "--ioengine=null --nice=5"),
        call("calls_locked_memory", "mlock,mlock2", &["1048576"], "--ioengine=null --lockmem=1m"),
        call(
            "calls_another_user",
            "setuid,setreuid,setresuid,setgid,setregid,setresgid",
            &["65534", "65533"],
            "--ioengine=null --uid=65534 --gid=65533",
        ),
        call(
            "calls_memory_of_a_node",
            "set_mempolicy,mbind",
            &["MPOL_BIND"],
            "--ioengine=null --numa_mem_policy=bind:0",
        ),
        call("calls_removed_each_time", "unlink,unlinkat", &["a.0.0"], "--rw=write --loops=3 --unlink_each_loop=1"),
        call("calls_a_files_own_size", "fallocate", &["131072"], "--filesize=128k --rw=write"),
        call("calls_vectors", "preadv", &["preadv("], "--ioengine=pvsync"),
        call(
            "calls_fixed_buffers",
            "io_uring_register",
            &["REGISTER_BUFFERS", "REGISTER_FILES"],
            "--ioengine=io_uring --fixedbufs --registerfiles",
        ),
        call(
            "calls_batches",
            "io_submit",
            &["io_submit( 4,"],
            "--direct=1 --ioengine=libaio --iodepth=8 --iodepth_batch=4 --iodepth_batch_complete_min=4",
        ),
        call("calls_polled_completions", "preadv2", &["HIPRI"], "--direct=1 --ioengine=pvsync2 --hipri"),
        call("calls_huge_pages", "madvise", &["MADV_HUGEPAGE"], "--ioengine=mmap --rw=read --thp=1"),
        call("calls_order_of_a_mapping", "madvise", &["MADV_RANDOM"], "--ioengine=mmap --rw=randread"),
        call(
            "calls_no_order_of_a_mapping",
            "madvise",
            &["MADV_RANDOM"],
            "--ioengine=mmap --rw=randread --fadvise_hint=0",
        ),
    ]
}

pub(super) fn planted_differences_among_ios_are_named() {
    let line = |offset: u64, direction: u8| {
        format!("io       1     queue: io_u 0x1: off={offset:#x},len=0x1000,ddir={direction},file=f\n")
    };
    let lines = |offsets: &[u64]| offsets.iter().map(|&offset| line(offset, 0)).collect::<String>();
    let even: Vec<u64> = (0..400).map(|block| block * 4096).collect();
    let differs = |how, theirs: &[u64], mine: &[u64]| !differences(how, &lines(theirs), &lines(mine)).is_empty();
    let backwards: Vec<u64> = even.iter().rev().copied().collect();
    assert!(!differs(Ios::Same, &even, &even) && differs(Ios::Same, &even, &backwards));
    assert!(differs(Ios::Same, &even, &even[1..]) && differs(Ios::Same, &[], &[]));
    assert!(!differs(Ios::SameSet, &even, &backwards) && differs(Ios::SameSet, &even, &even[1..]));
    let first_half: Vec<u64> = even.iter().map(|offset| offset / 8192 * 4096).collect();
    let ends_swapped: Vec<u64> = even[200..].iter().chain(&even[..200]).copied().collect();
    assert!(!differs(Ios::Alike, &even, &ends_swapped));
    assert!(differs(Ios::Alike, &even, &backwards) && differs(Ios::Alike, &even, &first_half));
    assert_ne!(message(&line(4096, 0)), message(&line(4096, 1)));
    assert_eq!(message(&line(4096, 3)), message(&line(0, 3)));
    assert_eq!(asked("1 fsync(3) = 0\n1 fsync(4) = 0\n", &["fsync(", "fsync( (4)", "open"]), [2, 1, 0]);
}
