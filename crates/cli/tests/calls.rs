//! Options whose effect neither the report nor the files show: what the kernel is asked for, seen by strace; and what
//! a run reports of itself.

use crate::context::{PLUMB, fio, fio_json, place};
use house::{LoopDevice, Run, oracle};
use std::collections::BTreeSet;
use std::path::Path;

/// The lines of strace with one of these calls, process by process; the status of the run is not checked.
pub(crate) fn traced(calls: &str, words: &str) -> Vec<String> {
    let directory = place();
    // A file for each process: in one, calls of two processes at the same time are cut into pieces.
    let options = format!("-ff -qq -e trace={calls} -o trace {PLUMB} fio");
    Run::new("strace", &directory).words(options).words(words).end();
    let traces = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
    let mut traces: Vec<(u32, String)> = traces
        .filter_map(|path| {
            let process = path.file_name()?.to_str()?.strip_prefix("trace.")?.parse().ok()?;
            Some((process, std::fs::read_to_string(&path).unwrap()))
        })
        .collect();
    traces.sort();
    let lines = traces.iter().flat_map(|(process, text)| text.lines().map(move |line| format!("{process} {line}")));
    lines.filter(|line| calls.split(',').any(|call| line.contains(&format!("{call}(")))).collect()
}

#[test]
fn a_laid_out_file_is_flushed_unless_create_fsync_is_off() {
    let flushes = |on| traced("fsync", &format!("--name=a --size=64k --rw=read --create_fsync={on}")).len();
    assert_eq!((flushes(1), flushes(0)), (1, 0));
}

#[test]
fn data_to_be_verified_is_flushed_only_if_the_page_cache_has_it() {
    let flushes =
        |direct| traced("fdatasync", &format!("--name=a --size=64k --rw=write --verify=md5 --direct={direct}")).len();
    assert_eq!((flushes(0), flushes(1)), (1, 0));
}

#[test]
fn end_syncfs_flushes_the_file_system_of_each_file() {
    let words = "--name=a --size=64k --rw=write --nrfiles=2";
    assert_eq!(traced("syncfs", &format!("{words} --end_syncfs=1")).len(), 2);
    assert_eq!(traced("syncfs", words).len(), 0);
}

#[test]
fn a_write_hint_is_given_to_the_kernel() {
    let lines = traced("fcntl", "--name=a --size=16k --rw=write --write_hint=short");
    assert!(lines.iter().any(|line| line.contains("F_SET_RW_HINT") || line.contains("0x40c")), "{lines:?}");
}

#[test]
fn an_atomic_write_carries_its_flag() {
    let lines = traced("pwritev2", "--name=a --size=16k --rw=write --ioengine=pvsync2 --direct=1 --atomic=1");
    let flagged = |line: &String| line.contains("0x40") || line.contains("RWF_ATOMIC");
    assert!(!lines.is_empty() && lines.iter().all(flagged), "{lines:?}");
}

#[test]
fn ranges_are_synced_after_four_writes() {
    let lines = traced("sync_file_range", "--name=a --size=64k --bs=4k --rw=write --sync_file_range=write:4");
    // Nothing follows the last four, as in fio.
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines.iter().all(|line| line.contains(", 16384, SYNC_FILE_RANGE_WRITE")), "{lines:?}");
}

#[test]
fn memory_is_locked_as_asked() {
    let lines = traced("mmap,mlock,mlock2,munlock", "--name=a --size=16k --ioengine=null --lockmem=1m");
    assert!(lines.iter().any(|line| line.contains("lock") && line.contains("1048576")), "{lines:?}");
}

#[test]
fn a_worker_takes_its_name_priority_hint_and_cpus() {
    let words =
        "--name=a --size=4k --ioengine=null --comm=tuned --prioclass=2 --prio=3 --priohint=1 --numa_cpu_nodes=0";
    let lines = traced("prctl,ioprio_set,sched_setaffinity", words).join("\n");
    assert!(lines.contains("PR_SET_NAME, \"tuned\""), "{lines}");
    // The kernel's number of a level holds the hint: 1 << 3 | 3.
    assert!(lines.contains("IOPRIO_CLASS_BE, 11)") || lines.contains("0x400b"), "{lines}");
    assert!(lines.contains("sched_setaffinity("), "{lines}");
}

#[test]
fn a_file_type_is_believed_without_a_look() {
    let directory = place();
    let words = "--name=a --filename=f --rw=read --size=16k";
    // A device is never made.
    fio(&directory, format!("{words} --filetype=block")).fails().complains("No such file");
    fio(&directory, format!("{words} --filetype=file")).succeeds();
}

#[test]
fn a_scheduler_is_switched_and_an_unknown_one_is_refused() {
    let directory = place();
    let device = LoopDevice::new(directory.path(), 1 << 20).unwrap();
    let name = device.path().file_name().unwrap().to_str().unwrap().to_owned();
    let queue = format!("/sys/block/{name}/queue/scheduler");
    let known = std::fs::read_to_string(&queue).unwrap();
    let base = format!("--name=a --filename={} --rw=read", device.path().display());
    for scheduler in known.split_whitespace().map(|word| word.trim_matches(['[', ']'])) {
        fio(&directory, format!("{base} --ioscheduler={scheduler}")).succeeds();
        let now = std::fs::read_to_string(&queue).unwrap();
        assert!(now.contains(&format!("[{scheduler}]")) || now.trim() == scheduler, "{scheduler}: {now}");
    }
    fio(&directory, format!("{base} --ioscheduler=no-such")).fails().complains("ioscheduler=no-such");
    // A loop device keeps its scheduler for the next file: with bfq, I/Os wait in submission.
    let before =
        known.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or(known.trim(), |(word, _)| word);
    std::fs::write(&queue, before).unwrap();
}

#[test]
fn a_device_is_opened_without_access_times_a_file_with_them() {
    let directory = place();
    let device = LoopDevice::new(directory.path(), 1 << 20).unwrap();
    let without_times = |name: &str, words: &str| {
        let lines = traced("open,openat", &format!("--name=a --size=64k {words}"));
        let opened: Vec<&String> = lines.iter().filter(|line| line.contains(name)).collect();
        assert!(!opened.is_empty(), "{lines:#?}");
        opened.iter().any(|line| line.contains("O_NOATIME"))
    };
    let path = device.path().display();
    for pattern in ["randread", "randwrite"] {
        assert!(without_times(&path.to_string(), &format!("--filename={path} --rw={pattern}")), "{pattern}");
        assert!(!without_times("a.0.0", &format!("--rw={pattern}")), "{pattern}");
    }
}

#[test]
fn cycles_of_thinking_take_their_time() {
    let directory = place();
    let runtime = |cycles: &str| {
        let words = format!("--name=a --ioengine=null --size=16k --thinktime=1 --thinktime_blocks=1 {cycles}");
        fio_json(&directory, words)["jobs"][0]["job_runtime"].as_u64().unwrap()
    };
    let (with, without) = (runtime("--thinkcycles=50000000"), runtime(""));
    assert!(with > without + 40, "{with} ms with, {without} ms without");
}

#[test]
fn the_percentile_of_a_latency_target_says_how_many_may_miss_it() {
    let directory = place();
    // Every tenth I/O takes two milliseconds.
    let base = "--name=a --ioengine=sim --size=1g --sim_service_time=100us --sim_faults=read:10:delay=2000 --iodepth=1 \
                --latency_target=500 --latency_window=50ms --runtime=1";
    fio(&directory, format!("{base} --latency_percentile=80")).succeeds();
    fio(&directory, format!("{base} --latency_percentile=95")).fails().complains("latency");
}

#[test]
fn a_verify_pattern_restarts_at_each_interval() {
    let directory = place();
    let words = "--name=a --filename=f --size=64k --bs=8k --rw=write --verify=pattern --verify_pattern=%o \
                 --verify_state_save=0 --verify_pattern_interval=512";
    fio(&directory, words).succeeds();
    let data = directory.bytes("f");
    for (index, piece) in data.chunks(512).enumerate() {
        assert_eq!(piece[..8], (index as u64 * 512).to_le_bytes(), "piece {index}");
    }
}

#[test]
fn a_larger_working_set_repeats_more_different_blocks() {
    let directory = place();
    let repeated = |percent: u32| {
        let base =
            "--name=a --filename=f --size=2m --bs=4k --rw=write --dedupe_percentage=50 --dedupe_mode=working_set";
        fio(&directory, format!("{base} --dedupe_working_set_percentage={percent}")).succeeds();
        let data = directory.bytes("f");
        let mut seen = BTreeSet::new();
        data.chunks(4096).filter(|block| !seen.insert(block.to_vec())).collect::<BTreeSet<_>>().len()
    };
    let (small, large) = (repeated(1), repeated(40));
    assert!(small <= 8 && large > 40, "{small} of 512 blocks are repeated with 1 %, {large} with 40 %");
}

#[test]
fn steadiness_is_judged_by_samples_as_often_as_asked() {
    let directory = place();
    let samples = |interval: &str| {
        let words = format!(
            "--debug=steadystate --name=a --ioengine=sim --size=100g --sim_service_time=100us --time_based --runtime=60 \
             --steadystate=iops:1% --steadystate_duration=4 --steadystate_check_interval={interval}"
        );
        fio(&directory, words).stdout().lines().filter(|line| line.starts_with("steadystate ")).count()
    };
    // One line for the beginning of the first interval, and one for the end of each.
    assert_eq!((samples("1s"), samples("2s")), (5, 3));
}

#[test]
fn an_interim_report_says_how_steady_a_job_or_group_is() {
    for group in ["", "--numjobs=2 --group_reporting"] {
        let directory = place();
        let words = format!(
            "--output-format=json --status-interval=1300ms --name=a --ioengine=null --size=1m --rate_iops=500 --time_based \
             --runtime=5 --steadystate=iops:0.000001% --steadystate_duration=10 {group}"
        );
        let shown = fio(&directory, words).stdout();
        let reports = serde_json::Deserializer::from_str(&shown).into_iter::<serde_json::Value>();
        let samples: Vec<usize> = reports
            .map(|report| report.unwrap()["jobs"][0]["steadystate"]["data"]["iops"].clone())
            .map(|iops| iops.as_array().unwrap().iter().filter(|rate| rate.as_u64() > Some(0)).count())
            .collect();
        assert!(samples.len() >= 3 && samples[0] >= 1 && samples.is_sorted(), "{group}: {samples:?}");
    }
}

#[test]
fn a_control_group_stays_where_that_is_said() {
    let directory = place();
    let name = format!("plumb-stays-{}", std::process::id());
    let words = format!("--name=a --ioengine=null --size=4k --cgroup={name} --cgroup_nodelete=1");
    let run = fio(&directory, words).end();
    let folders = ["blkio/", "unified/", ""].map(|top| Path::new("/sys/fs/cgroup").join(top).join(&name));
    let left = folders.iter().filter(|folder| std::fs::remove_dir(folder).is_ok()).count();
    if run.status == Some(0) {
        assert!(left > 0, "the group is gone");
    } else {
        // A sandbox may keep them from us.
        run.complains("cgroup");
    }
}

#[test]
fn zeros_are_scrambled_only_where_that_is_said() {
    let directory = place();
    let is_zero = |words: &str| {
        fio(&directory, format!("--name=a --filename=f --size=16k --rw=write --zero_buffers {words}")).succeeds();
        directory.bytes("f").iter().all(|&byte| byte == 0)
    };
    assert!(is_zero(""));
    assert!(!is_zero("--scramble_buffers=1"));
}

#[test]
fn a_full_device_is_a_success() {
    let directory = place();
    let device = LoopDevice::new(directory.path(), 1 << 20).unwrap();
    let words =
        format!("--name=a --filename={} --rw=write --bs=64k --fill_device=1 --size=64m", device.path().display());
    let result = fio_json(&directory, words);
    assert_eq!(result["jobs"][0]["error"], 0);
    assert_eq!(result["jobs"][0]["write"]["io_bytes"], 1 << 20);
}

#[test]
fn an_error_names_its_job_and_a_wrong_job_stops_all() {
    let directory = place();
    fio(
        directory.path(),
        "--name=good --ioengine=null --size=4k --name=lost --filename=no/f --rw=read --size=4k --allow_file_create=0",
    )
    .fails()
    .complains("lost")
    .complains("fio: pid=");
    let run = fio(&directory, "--name=good --ioengine=null --size=4k --name=wrong --rw=sideways --size=4k").fails();
    assert!(run.stdout.is_empty() && !run.stderr.is_empty(), "{run}");
}

#[test]
fn each_io_is_printed_at_its_issue_and_at_its_completion() {
    for engine in ["psync", "libaio --iodepth=4 --direct=1", "io_uring --iodepth=4"] {
        let directory = place();
        let words =
            format!("--debug=io --name=a --filename=f --size=64k --bs=4k --rw=randwrite --fsync=8 --ioengine={engine}");
        let shown = fio(&directory, words).stdout();
        let lines = |what: &str| {
            let message = shown.lines().filter(|line| line.starts_with("io ")).filter_map(|line| line.split_once(what));
            message.map(|(_, io)| io.split_once(": ").unwrap().1.to_owned()).collect::<Vec<_>>()
        };
        let (mut issued, mut back) = (lines("queue: "), lines("complete: "));
        let writes: BTreeSet<&str> = issued.iter().filter(|io| io.contains("ddir=1")).map(String::as_str).collect();
        assert_eq!(writes.len(), 16, "{engine}: {shown}");
        assert!(writes.contains("off=0xf000,len=0x1000,ddir=1,file=f"), "{engine}: {writes:?}");
        assert!(issued.iter().any(|io| io.contains("ddir=3")), "{engine}: {issued:?}");
        issued.sort();
        back.sort();
        assert_eq!(issued, back, "{engine}");
    }
}

#[test]
fn each_subject_has_its_lines_and_others_are_refused() {
    let directory = place();
    let base =
        "--name=a --filename=f --size=32k --bs=4k --rw=randwrite --verify=crc32c --verify_state_save=0 --rate_iops=400";
    for (subject, expected) in [
        ("process", "runstate SETTING_UP -> RUNNING"),
        ("file", "fd open f"),
        ("parse", "handle_option=verify, ptr=crc32c"),
        ("verify", "get_next_verify: ret io_u 0x10: off=0x"),
        ("random", "rand_seeds[0]="),
        ("rate", "wait "),
        ("time", "measuring begins at "),
    ] {
        let shown = fio(&directory, format!("--debug={subject} {base}")).stdout();
        let head = format!("{subject:<8} ");
        assert!(shown.lines().any(|line| line.starts_with(&head) && line.contains(expected)), "{subject}: {shown}");
        let other = fio(&directory, format!("--debug={subject},job:2 {base}")).stdout();
        assert!(subject == "parse" || !other.lines().any(|line| line.starts_with(&head)), "{subject}: {other}");
    }
    let silent = fio(&directory, format!("--debug=mutex,nosuch {base}")).stdout();
    assert!(
        silent.starts_with(
            "fio: set debug option mutex: plumb prints nothing on it\nfio: command line: debug mask nosuch not found"
        ),
        "{silent}"
    );
    assert!(fio(&directory, "--debug=help").stdout().contains("process,file,io,parse,verify"));
    let thresholds = fio(
        directory.path(),
        "--parse-only --debug=parse --ss_dur=10s --ss=iops:10 --ss=iops:.1% --ss=bw:12 --ss=bw:1m --ss=bw_slope:2k \
         --ss=lat:100 --ss=lat:1ms --ss_ramp=5",
    )
    .stdout();
    for line in [
        "IOPS threshold to 10.000000",
        "threshold to 0.100000%",
        "BW threshold to 12",
        "BW threshold to 1048576",
        "BW threshold to 2048",
        "latency threshold to 100 nsec",
        "latency threshold to 1000000 nsec",
    ] {
        assert!(thresholds.contains(&format!(" set steady state {line}\n")), "{line}: {thresholds}");
    }
    fio(&directory, format!("--debug=io --output=o {base}")).succeeds();
    let report = directory.read("o");
    assert!(report.contains("\nio ") && report.ends_with('\n') && report.contains("Run status"), "{report}");
}

#[test]
fn debug_lines_have_the_shape_and_the_number_of_fios() {
    let message = |program: &str, subject: &str, words: &str| {
        let words = format!("{program} --debug={subject} --name=a --filename=f --size=64k --bs=4k {words}");
        let shown = Run::new("env", place()).words(words).stdout();
        // The subject in eight columns, the process in five, the text.
        let lines = shown.lines().filter_map(|line| line.strip_prefix(&format!("{subject:<8} ")));
        lines.filter_map(|line| line.get(6..).map(|text| text.trim_start().to_owned())).collect::<Vec<_>>()
    };
    for (subject, words, starts, deep) in [
        ("parse", "--rw=randwrite --rwmixread=30 --direct=0", &["handle_option="][..], usize::MAX),
        ("io", "--rw=write --fsync=4", &["queue: io_u", "complete: io_u"], 14),
        ("random", "--rw=randread --norandommap", &["off rand"], 8),
        ("random", "--rw=read", &["off rand"], 8),
        ("verify", "--rw=write --verify=crc32c --verify_state_save=0", &["get_next_verify: ret io_u"], 25),
        ("file", "--rw=write", &["fd close f"], usize::MAX),
    ] {
        let shape = |lines: Vec<String>| {
            let wanted = lines.iter().filter(|line| starts.iter().any(|start| line.starts_with(start)));
            let mut shape: Vec<String> = wanted.map(|line| line.chars().take(deep).collect()).collect();
            shape.sort();
            shape
        };
        let ours = shape(message(&format!("{PLUMB} fio"), subject, words));
        let theirs = shape(message("fio", subject, words));
        assert_eq!(ours.is_empty(), words == "--rw=read", "{subject} {words}");
        let (ours, theirs) =
            if subject == "file" { (ours[..1].to_vec(), theirs[..1].to_vec()) } else { (ours, theirs) };
        assert_eq!(ours, theirs, "{subject} {words}");
    }
}

#[test]
fn state_files_lie_where_aux_path_says() {
    let directory = place();
    directory.directory("aux");
    let base = "--aux-path=aux --name=a --filename=f --size=16k --verify=crc32c";
    fio(&directory, format!("{base} --rw=write")).succeeds();
    assert!(directory.has("aux/local-a-0-verify.state"));
    assert!(!directory.has("local-a-0-verify.state"));
    fio(&directory, format!("{base} --rw=write --verify_only --verify_state_load=1")).succeeds();
}

#[test]
fn digests_copies_and_the_clock_are_tried_without_a_run() {
    let directory = place();
    let shown = fio(&directory, "--crctest=crc32c,md5").stdout();
    let rates: Vec<&str> = shown.lines().collect();
    assert!(rates.len() == 2 && rates[0].starts_with("crc32c:") && rates[1].ends_with(" MiB/sec"), "{shown}");
    assert!(fio(&directory, "--crctest=murmur3").stderr().contains("crctest=murmur3"));
    let shown = fio(&directory, "--memcpytest=memcpy").stdout();
    assert!(shown.starts_with("memcpy\n\t8 bytes:\t") && shown.lines().count() == 12, "{shown}");
    let run = fio(&directory, "--cpuclock-test").end();
    let answer = if run.status == Some(0) { "cs: reliable_tsc: yes" } else { "cs: reliable_tsc: no" };
    assert!(run.stdout.starts_with(answer), "{run}");
}

#[test]
fn the_ios_in_debug_lines_are_those_of_fio() {
    let message = |program: &str, words: &str| {
        let words = format!("{program} --debug=io --name=a --filename=f --size=64k --bs=4k {words}");
        let shown = Run::new("env", place()).words(words).stdout();
        let queued = shown.lines().filter(|line| line.starts_with("io ")).filter_map(|line| line.split_once("queue: "));
        let ios = queued.map(|(_, io)| io.split_once(": ").unwrap().1);
        // fio shows the place of the write before a sync as the sync's.
        let ios = ios.map(|io| if io.contains("ddir=3") { "sync".to_owned() } else { io.to_owned() });
        ios.collect::<Vec<_>>()
    };
    for words in [
        "--rw=read",
        "--rw=write --fsync=4 --bs=8k",
        "--rw=write:4k --io_size=32k",
        "--rw=read --offset=16k --size=32k --bs=3k",
        "--rw=read --zonemode=strided --zonesize=8k --zonerange=16k",
        "--rw=trimwrite --ioengine=null",
        "--rw=write --verify=crc32c --verify_state_save=0",
    ] {
        let ours = message(&format!("{PLUMB} fio"), words);
        assert!(!ours.is_empty(), "{words}");
        assert_eq!(ours, message("fio", words), "{words}");
    }
}

/// I/Os of a second of `--rate_iops=100` whose every write takes 50 ms.
fn issued_in_a_second(words: &str) -> u64 {
    let directory = place();
    let strace = format!(
        "-f -qq -e trace=pwrite64 -e inject=pwrite64:delay_enter=50000 -o trace {PLUMB} fio --output-format=json \
         --output=report --name=a --size=1m --rw=randwrite --time_based --runtime=1 --rate_iops=100 --iodepth=12"
    );
    Run::new("strace", &directory).words(strace).words(words).succeeds();
    let report = directory.json("report");
    let write = &report["jobs"][0]["write"];
    assert!(write["clat_ns"]["min"].as_f64().unwrap() >= 50e6, "{write}");
    assert!(write["lat_ns"]["mean"].as_f64().unwrap() >= write["clat_ns"]["mean"].as_f64().unwrap(), "{write}");
    assert_eq!(write["slat_ns"]["N"].as_u64().unwrap_or(0), 0, "fio has none either");
    write["total_ios"].as_u64().unwrap()
}

#[test]
fn offloaded_writes_that_block_do_not_hold_up_the_schedule() {
    for words in ["--rate_process=linear", "--rate_process=poisson"] {
        let (inline, offload) =
            (issued_in_a_second(words), issued_in_a_second(&format!("{words} --io_submit_mode=offload")));
        assert!(inline <= 21 && offload >= 50, "{words}: {inline} inline, {offload} by threads");
    }
}

#[test]
fn each_io_of_the_depth_has_its_thread_and_its_cpu_time() {
    let words = "--name=a --size=256k --rw=randwrite --number_ios=64 --iodepth=4 --io_submit_mode=offload";
    let lines = traced("pwrite64", words);
    let threads: BTreeSet<&str> = lines.iter().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!((lines.len(), threads.len()), (64, 4), "{lines:?}");
    let directory = place();
    let words = "--name=a --size=4m --bs=1m --rw=write --iodepth=2 --time_based --runtime=1 --io_submit_mode=offload";
    for isolation in ["", "--thread"] {
        let report = fio_json(&directory, format!("{words} {isolation}"));
        let job = &report["jobs"][0];
        let [percent, runtime_ms, ios] = [&job["sys_cpu"], &job["job_runtime"], &job["write"]["total_ios"]]
            .map(|number| number.as_f64().expect("a number"));
        // The loop itself only waits. No processor copies 1 MiB into the page cache in 40 µs.
        let system_us = percent / 100.0 * runtime_ms * 1000.0 / ios;
        assert!(system_us > 40.0, "{isolation} {system_us} µs of system time per I/O: {job}");
    }
}

#[test]
fn offload_verifies_syncs_thinks_and_locks_as_inline_does() {
    let base = "--name=a --filename=f --size=256k --bs=4k --iodepth=8 --verify_state_save=0 --io_submit_mode=offload";
    for engine in ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "posixaio", "libaio", "io_uring", "splice"] {
        let directory = place();
        let report = fio_json(&directory, format!("{base} --ioengine={engine} --rw=randwrite --verify=crc32c"));
        let job = &report["jobs"][0];
        assert_eq!((job["write"]["total_ios"].as_u64(), job["read"]["total_ios"].as_u64()), (Some(64), Some(64)));
    }
    for words in ["--fsync=4", "--thinktime=100", "--lockfile=exclusive", "--serialize_overlap=1 --norandommap"] {
        let directory = place();
        let report = fio_json(&directory, format!("{base} --rw=randwrite {words}"));
        assert_eq!(report["jobs"][0]["write"]["total_ios"].as_u64(), Some(64), "{words}");
        let syncs = if words.starts_with("--fsync") { 15 } else { 0 };
        assert_eq!(report["jobs"][0]["sync"]["total_ios"].as_u64().unwrap_or(0), syncs, "{words}");
    }
}

#[test]
fn an_offloaded_error_is_the_jobs_and_the_rest_is_refused() {
    let directory = place();
    directory.write("f", vec![0; 65536]);
    let words = "--name=a --size=64k --io_submit_mode=offload --iodepth=4";
    fio(&directory, format!("{words} --filename=f --rw=randtrim")).fails().complains("Inappropriate ioctl");
    for (words, expected) in [
        ("--ioengine=sim", "cannot be driven by other threads"),
        ("--ioengine=cpuio --cpuload=5", "cannot be driven by other threads"),
        ("--ioengine=io_uring --sqthread_poll=1", "sqthread_poll is for one queue"),
        ("--ioengine=libaio --cmdprio_percentage=5", "cmdprio_percentage is for one queue"),
        ("--ioengine=sync --nrfiles=4 --openfiles=2", "keeps its files"),
    ] {
        fio(&directory, format!("--name=a --size=64k --io_submit_mode=offload {words}")).fails().complains(expected);
    }
}

#[test]
fn zones_that_are_written_again_are_reset_and_counted() {
    let directory = place();
    directory.write("f", vec![0; 4 << 20]);
    let words = "--name=a --filename=f --size=4m --bs=256k --rw=randwrite --zonemode=zbd --zonesize=1m";
    for (loops, expected) in [(1, 0), (3, 8)] {
        fio(&directory, format!("{words} --loops={loops}")).succeeds().prints(&format!("; {expected} zone resets"));
        oracle(&directory, format!("{words} --loops={loops}")).exits(0).prints(&format!("; {expected} zone resets"));
    }
}

#[test]
fn repeats_without_room_in_the_working_set_are_refused() {
    let directory = place();
    for (repeats, set, works) in [(50, 50, true), (50, 60, false), (80, 21, false), (0, 30, true), (100, 1, false)] {
        let words = format!(
            "--name=a --size=64k --rw=write --dedupe_mode=working_set --dedupe_percentage={repeats} \
             --dedupe_working_set_percentage={set}"
        );
        for run in [fio(&directory, &words).end(), oracle(&directory, &words)] {
            assert_eq!(run.status == Some(0), works, "{run}");
        }
    }
}

#[test]
fn options_of_time_take_the_time_they_name() {
    // A hundred reads of 100 µs on a disk of virtual time: 10 ms.
    let base = "--name=a --ioengine=sim --sim_service_time=100us --size=400k";
    for (words, runtime_ms, ios) in [
        ("", 10, 100),
        ("--thinktime=1ms", 110, 100),
        ("--thinktime=1ms --thinktime_blocks=10", 20, 100),
        ("--thinktime=10ms --thinktime_iotime=3ms --thinktime_blocks=1000", 40, 100),
        ("--ramp_time=50ms --runtime=100ms --time_based", 100, 1000),
        ("--runtime=4ms", 4, 40),
        ("--time_based --runtime=20ms", 20, 200),
        ("--rate=4m", 96, 100),
        ("--rate_iops=1000", 99, 100),
        ("--loops=3", 30, 300),
        ("--io_size=40k", 1, 10),
        ("--number_ios=30", 3, 30),
        ("--iodepth=4", 2, 100),
        ("--latency_target=1ms --latency_window=100ms --iodepth=8 --time_based --runtime=1", 100, 7692),
    ] {
        let result = fio_json(place(), format!("{base} {words}"));
        let job = &result["jobs"][0];
        let found = (job["job_runtime"].as_u64().unwrap(), job["read"]["total_ios"].as_u64().unwrap());
        assert_eq!(found, (runtime_ms, ios), "{words}");
    }
}

#[test]
fn a_start_is_delayed() {
    let result = fio_json(place(), "--ioengine=null --size=4k --name=a --name=b --startdelay=300ms");
    let start = |job: usize| result["jobs"][job]["job_start"].as_u64().unwrap();
    let delay = start(1) - start(0);
    assert!((250..3000).contains(&delay), "{delay} ms");
}

#[test]
fn seeds_and_generators_draw_other_repeatable_sequences() {
    let drawn = |words: &str| {
        let directory = place();
        fio(&directory, format!("--name=a --ioengine=null --size=1m --rw=randread --write_iolog=out {words}"))
            .succeeds();
        let text = directory.read("out");
        let offsets =
            text.lines().filter(|line| line.contains(" read ")).map(|line| line.split(' ').nth(3).unwrap().to_owned());
        offsets.collect::<Vec<_>>()
    };
    let plain = drawn("");
    assert_eq!(plain, drawn("--randrepeat=1"));
    let mut all = vec![plain];
    for words in
        ["--randseed=5", "--random_generator=lfsr", "--norandommap", "--norandommap --random_generator=tausworthe64"]
    {
        let sequence = drawn(words);
        assert_eq!(sequence, drawn(words), "{words}");
        all.push(sequence);
    }
    all.extend([drawn("--randrepeat=0"), drawn("--randrepeat=0")]);
    let different: BTreeSet<&Vec<String>> = all.iter().collect();
    assert_eq!(different.len(), all.len(), "some draw the same: {all:?}");
    assert_eq!(all[0].iter().collect::<BTreeSet<_>>(), all[2].iter().collect::<BTreeSet<_>>(), "each block once");
}

#[test]
fn checks_are_made_by_verify_async_threads() {
    let words = "--name=a --size=64k --rw=write --verify=md5 --verify_state_save=0";
    let threads = |words: &str| {
        let lines = traced("clone,clone3", words);
        lines.iter().filter(|line| line.contains("CLONE_THREAD")).count()
    };
    let (with, without) = (threads(&format!("{words} --verify_async=3")), threads(words));
    assert_eq!(with, without + 3);
}

/// What a job of 64 blocks of 4 KiB leaves in its file.
fn written(words: &str) -> Vec<u8> {
    let directory = place();
    fio(&directory, format!("--name=a --filename=f --size=256k --bs=4k --rw=write {words}")).succeeds();
    directory.bytes("f")
}

#[test]
fn options_of_buffers_show_in_what_is_written() {
    // Blocks that repeat an earlier one, per cent of zeros, bytes in which the first two blocks differ, and the longest
    // run of zeros in the second.
    for (words, repeats, zeros, differences, run) in [
        ("", 0..=0, 0..=9, 8..=200, 0..=64),
        ("--scramble_buffers=0", 63..=63, 0..=1, 0..=0, 0..=9),
        ("--refill_buffers", 0..=0, 0..=1, 4000..=4096, 0..=9),
        ("--zero_buffers", 63..=63, 100..=100, 0..=0, 4096..=4096),
        ("--dedupe_percentage=50", 20..=42, 0..=1, 0..=4096, 0..=9),
        ("--buffer_compress_percentage=50", 0..=0, 48..=52, 1900..=2200, 256..=258),
        ("--buffer_compress_percentage=50 --buffer_compress_chunk=4k", 0..=0, 48..=52, 1900..=2200, 2048..=2050),
        ("--buffer_pattern=0xdeadbeef", 63..=63, 0..=0, 0..=0, 0..=0),
    ] {
        let data = written(words);
        let blocks: Vec<&[u8]> = data.chunks(4096).collect();
        let found_repeats = blocks.len() - blocks.iter().collect::<BTreeSet<_>>().len();
        let found_zeros = data.iter().filter(|&&byte| byte == 0).count() * 100 / data.len();
        let found_differences = blocks[0].iter().zip(blocks[1]).filter(|(one, other)| one != other).count();
        let found_run = blocks[1].split(|&byte| byte != 0).map(<[u8]>::len).max().unwrap_or(0);
        let found = (found_repeats, found_zeros, found_differences, found_run);
        let agrees = repeats.contains(&found.0) && zeros.contains(&found.1);
        assert!(agrees && differences.contains(&found.2) && run.contains(&found.3), "{words}: {found:?}");
    }
}

#[test]
fn files_are_read_ahead_and_laid_out_as_asked() {
    let reads = |words: &str| {
        let base = "--name=a --filename=f --size=64k --rw=write --overwrite=1";
        // The loader of programs reads with pread64, too; the file is read in one call.
        let whole_file = |line: &&String| line.contains("65536, 0)");
        traced("pread64", &format!("{base} {words}")).iter().filter(whole_file).count()
    };
    assert_eq!((reads("--pre_read=1"), reads("")), (1, 0));
    // The processes that make the files of two clones: the first one of all, or each clone its own.
    let makers = |serialize: u32| {
        let words = format!("--name=a --size=8k --rw=write --overwrite=1 --numjobs=2 --create_serialize={serialize}");
        let lines = traced("open,openat", &words);
        let made = lines.iter().filter(|line| line.contains(".0\"") && line.contains("O_WRONLY|O_CREAT"));
        made.map(|line| line.split(' ').next().unwrap().to_owned()).collect::<BTreeSet<_>>().len()
    };
    assert_eq!((makers(1), makers(0)), (1, 2));
}

#[test]
fn locks_are_exclusive_or_shared_by_reads() {
    let locks = |words: &str, kind: &str| {
        let lines = traced("flock", &format!("--name=a --filename=f --size=8k {words}"));
        lines.iter().filter(|line| line.contains(kind)).count()
    };
    assert_eq!(locks("--rw=read --lockfile=exclusive", "LOCK_EX"), 2);
    assert_eq!(locks("--rw=read --lockfile=readwrite", "LOCK_SH"), 2);
    assert_eq!(locks("--rw=write --lockfile=readwrite", "LOCK_EX"), 2);
    assert_eq!(locks("--rw=read", "LOCK"), 0);
    // A target has one file after the other, and each I/O releases the lock that it took.
    let lines = traced("flock", "--name=a --nrfiles=4 --openfiles=1 --size=64k --rw=write --lockfile=exclusive");
    let count = |kind: &str| lines.iter().filter(|line| line.contains(kind)).count();
    assert_eq!((count("LOCK_EX"), count("LOCK_UN")), (16, 16));
}

#[test]
fn jobs_repeat_from_one_set_where_it_is_global() {
    let common = |words: &str| {
        let directory = place();
        let base = "--name=a --numjobs=2 --size=1m --bs=4k --rw=write --dedupe_percentage=50 --dedupe_mode=working_set";
        fio(&directory, format!("{base} {words}")).succeeds();
        let [one, other] = ["a.0.0", "a.1.0"].map(|name| directory.bytes(name));
        let known: BTreeSet<&[u8]> = one.chunks(4096).collect();
        other.chunks(4096).filter(|block| known.contains(block)).count()
    };
    assert_eq!(common(""), 0);
    assert!(common("--dedupe_global=1") > 20);
}

#[test]
fn rows_of_logs_are_written_as_many_at_a_time_as_asked() {
    let writes = |words: &str| {
        let lines = traced("write", &format!("--name=a --ioengine=null --size=20m --write_iops_log=x {words}"));
        lines.iter().filter(|line| line.contains(", 4096, 0\\n")).count()
    };
    // 5120 rows.
    let (few, default, many) = (writes("--log_entries=6000"), writes(""), writes("--log_compression=1k"));
    assert!(few < default && default < many, "{few}, {default} and {many} writes");
}

#[test]
fn zones_are_open_and_reset_as_the_options_say() {
    // The most zones that are partly written at once, and how often a zone was begun again.
    let zones = |words: &str| {
        let directory = place();
        directory.write("f", vec![0; 8 << 20]);
        let base =
            "--name=a --filename=f --size=8m --bs=64k --rw=randwrite --zonemode=zbd --zonesize=1m --write_iolog=out";
        fio(&directory, format!("{base} {words}")).succeeds();
        let text = directory.read("out");
        let (mut filled, mut most, mut resets) = ([0; 8], 0, 0);
        for line in text.lines().filter(|line| line.contains(" write ")) {
            let offset: usize = line.split(' ').nth(3).unwrap().parse().unwrap();
            let (zone, place) = (offset >> 20, offset % (1 << 20));
            resets += usize::from(place == 0 && filled[zone] > 0);
            filled[zone] = place + (64 << 10);
            most = most.max(filled.iter().filter(|&&filled| (1..1 << 20).contains(&filled)).count());
        }
        (most, resets)
    };
    assert_eq!(zones("").0, 8);
    assert_eq!(zones("--max_open_zones=2").0, 2);
    assert_eq!(zones("--max_open_zones=4 --job_max_open_zones=2").0, 2);
    let again = "--io_size=32m --zone_reset_threshold=0.3";
    let (few, some, many) = (
        zones("--io_size=32m").1,
        zones(&format!("{again} --zone_reset_frequency=0.3")).1,
        zones(&format!("{again} --zone_reset_frequency=1")).1,
    );
    assert!(few < some && some < many, "{few}, {some}, {many} resets");
}

#[test]
fn the_result_has_what_is_measured_and_asked_for() {
    let directory = place();
    let samples = |words: &str| {
        let base = "--name=a --ioengine=sim --size=1g --runtime=2 --time_based";
        fio_json(&directory, format!("{base} {words}"))["jobs"][0]["read"]["bw_samples"].as_u64().unwrap()
    };
    assert_eq!((samples(""), samples("--disable_bw=1")), (4, 0));
    let percentiles = |words: &str| {
        let base = "--name=a --ioengine=libaio --iodepth=2 --size=64k";
        !fio_json(&directory, format!("{base} {words}"))["jobs"][0]["read"]["slat_ns"]["percentile"].is_null()
    };
    assert!(percentiles("--slat_percentiles=1") && !percentiles(""));
}
